"""Map of a table: documents in a plane, coloured by any column; hovering over one shows its text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from densray.explorer.python_code import table_map_code
from densray.explorer.settings import DEFAULTS
from densray.explorer.table_bench import LabelChoice, TableBench, opened, spread_evenly
from densray.explorer.table_sidebar import (
    choose_document,
    choose_labels,
    document_table,
    find_documents,
    run,
    show_document,
)
from densray.explorer.views.map import how_to_move, picture
from densray.explorer.widgets import chart, choice, controls, download, heading, plain, show_code, write_setting
from densray.explorer.window import is_narrow
from densray.explorer.words import file_stem
from densray.figures import document_map
from densray.report import Column, show_count, show_share

TITLE, ICON = "Map", ":material/scatter_plot:"
LEAD = (
    "Documents with similar vectors are close to each other. Point at one to read it. Click it to see its neighbours."
)

_POINTS = ["2000", "5000", "10000", "20000"]
_KINDS = {"png": "A picture.", "svg": "For print.", "html": "A page that zooms and works offline."}
_SIZE = (760, 600)
#: Heights on the page, in a wide window and in a narrow one, where the map is about square.
_HEIGHTS = (480, 380)
_FEW = 800  # up to this many points are drawn as SVG; only a canvas moves more points smoothly
AXIS = "axis"
_NO_COLOR = "(none)"


def show() -> None:
    """Show the documents in a plane."""
    bench = opened()
    wanted = choose_labels(bench)
    with controls("documents"):
        *three, last = st.columns(4)
        sides, color = _choose_axes(bench, wanted, three)
    with last:
        found = find_documents(bench)
    titles = (_title(bench, sides[0], wanted), _title(bench, sides[1], wanted))
    places = _choose_points(bench, found)
    coordinates = tuple(_coordinates(bench, side, wanted) for side in sides)
    draw = partial(
        document_map,
        map_rows(bench, places, coordinates, color, marked=found),
        titles=titles,
        color=color,
        size=_SIZE,
        title=f"{len(places):,} documents of {bench.name}",  # for files; the page shows it around the map
    )
    drawn = draw(interactive=True, title="", size=(_SIZE[0], _HEIGHTS[is_narrow()]))
    if len(places) > _FEW:
        drawn = drawn.properties(usermeta={"embedOptions": {"renderer": "canvas"}})
    chart(drawn, key="documents map", on_select=_pick, selection_mode="picked")
    _show_caption(bench, places)
    place = choose_document(bench, found)
    if place is not None:
        show_card(bench, place)
    heading("Downloads")
    _offer_downloads(bench, draw)
    show_code(table_map_code(bench.source, bench.text_column, wanted if AXIS in sides else None, sides, color))


def _pick() -> None:
    """Open the card of the clicked document; for callbacks."""
    picked = st.session_state["documents map"]["selection"].get("picked") or []
    if picked:
        write_setting("document", str(picked[0]["row"]))


def _choose_axes(
    bench: TableBench, wanted: LabelChoice | None, containers: Sequence[Any]
) -> tuple[tuple[str, str], str | None]:
    """Show the lists of coordinates and columns; return the two coordinates and the column of the colour."""
    components = {f"pc{number + 1}": f"Component {number + 1}" for number in range(len(bench.plane().shares))}
    offered = components | ({AXIS: f"The axis of “{wanted.name[:60]}”"} if wanted is not None else {})
    first, second, third = containers
    with first:
        across = choice("Across", "across", list(offered), format_func=offered.__getitem__)
    with second:
        up = choice("Up", "up", list(offered), format_func=offered.__getitem__)
    with third:
        color = choose_color(bench, wanted)
    return (across, up), color


def choose_color(bench: TableBench, wanted: LabelChoice | None = None) -> str | None:
    """Show the list of columns to colour by, the label column or one with few classes first; return the chosen one."""
    first = bench.few_classes if wanted is None else [wanted.column]
    options = list(dict.fromkeys([*first, *bench.columns, _NO_COLOR]))
    chosen = choice("Colour", "tint", options, format_func=lambda name: "none" if name == _NO_COLOR else name)
    return None if chosen == _NO_COLOR else chosen


def _title(bench: TableBench, side: str, wanted: LabelChoice | None) -> str:
    if side == AXIS:
        assert wanted is not None
        return f"score on the axis of “{wanted.name[:60]}”"
    number = int(side.removeprefix("pc"))
    return component_title(number, bench.plane().shares[number - 1])


def component_title(number: int, share: float) -> str:
    """Return the title of a principal component."""
    return f"principal component {number} ({show_share(share)} of the variance)"


def _coordinates(bench: TableBench, side: str, wanted: LabelChoice | None) -> NDArray[Any]:
    if side == AXIS:
        assert wanted is not None
        axis = run(bench.axis(wanted), f"Finding the axis of {wanted.column}")
        return np.asarray(bench.recall(("coordinates", wanted), lambda: axis.coordinates(bench.X)))
    return bench.plane().at[:, int(side.removeprefix("pc")) - 1]


def _choose_points(bench: TableBench, found: Sequence[int]) -> list[int]:
    """Show how many documents to draw; return their positions, including those found."""
    most = len(bench.sample)
    if most > int(DEFAULTS["documents"]):
        offered = [*(count for count in _POINTS if int(count) < most), str(most)]
        most = int(choice("Points", "documents", offered, format_func=lambda count: f"{int(count):,}", width=200))
    return list(dict.fromkeys([*spread_evenly(len(bench.sample), most).tolist(), *found]))


def map_rows(
    bench: TableBench,
    places: Sequence[int],
    coordinates: tuple[NDArray[Any], ...],
    color: str | None,
    *,
    marked: Sequence[int] = (),
) -> list[dict[str, Any]]:
    """Return the documents at these positions as records for the map."""
    across, up = (each.tolist() for each in coordinates)
    shades = None if color is None else bench.column(color).values
    standing_out = set(marked)
    return [
        {
            "row": str(bench.numbers[place] + 1),
            "text": bench.texts[place],
            "across": across[place],
            "up": up[place],
            **({} if shades is None else {"shade": shades[place]}),
            **({"marked": True} if place in standing_out else {}),
        }
        for place in places
    ]


def _show_caption(bench: TableBench, places: Sequence[int]) -> None:
    whole = len(bench.table)
    drawn = f"{show_count(len(places))} documents"
    part = f" of {show_count(whole)}, spread evenly over the table," if len(places) + bench.n_skipped < whole else ","
    st.caption(plain(f"{drawn}{part} scaled to unit length. {how_to_move()}".rstrip()))


def show_card(bench: TableBench, place: int) -> None:
    """Show a document and its nearest neighbours."""
    with st.container(border=True):
        show_document(bench, place)
        st.markdown("**Nearest documents**")
        rows = [{"place": other, "cosine": cosine} for other, cosine in bench.neighbors(place)]
        document_table(bench, rows, [Column("cosine", decimals=3)])


def _offer_downloads(bench: TableBench, draw: Callable[..., Any]) -> None:
    """Offer the map as a picture and as a page."""
    stem = file_stem(f"{bench.name.partition('.')[0]} map", otherwise="map")
    with st.container(horizontal=True):
        for kind, note in _KINDS.items():
            download(f"Map .{kind}", f"{stem}.{kind}", partial(picture, draw, kind), help=note)
