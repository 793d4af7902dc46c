"""Map: words in a plane whose two axes have names, coloured by a third."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any

import streamlit as st

from densray.axes._views import axis_ends, axis_relation, map_frame, map_rows
from densray.datasets import load_word_list
from densray.errors import DensRayError, LexiconError
from densray.explorer.settings import AxisChoice
from densray.explorer.sidebar import choose_axis, find_axis, lexicon_names, lexicon_of, pinned_axes, show_missing
from densray.explorer.widgets import bound, chart, choice, download, plain, settings
from densray.explorer.words import file_stem, missing_word, name_of_lists, words_of_text
from densray.explorer.workbench import Axis, Workbench, current
from densray.figures import axis_scatter
from densray.figures._style import to_bytes
from densray.report import show_number

TITLE, ICON = "Map", ":material/scatter_plot:"

_POINTS = ["500", "1000", "2000", "5000"]
_SHOWN = {"frequent": "Most frequent words", "seeds": "Seeds of the axes", "occupations": "Occupations",
          "list": "A list of mine"}  # fmt: skip
_KINDS = {"png": "A picture.", "svg": "For print.", "html": "A page that opens offline and zooms."}
_SIZE = (760, 620)  # for labels to stand apart; a wider window stretches it
_FEW_WORDS, _MANY_WORDS = 500, 1_100  # few leave room for more labels; so many are drawn on a canvas
_MOST_SHOWN, _MOST_MARKED, _FEW_MISSING = 5_000, 100, 3


@dataclass(frozen=True)
class _Side:
    """One of the axes of the map: its name, the axis itself, what its ends mean, whether the name says more."""

    name: str
    axis: Axis
    low: str
    high: str
    is_named: bool

    @property
    def title(self) -> str:
        return self.name[:60] if self.is_named else ""


def show() -> None:
    """Show words along the axes chosen."""
    bench = current()
    sides = _sides(bench, _choose_axes(_offered(choose_axis())))
    rows, marked = _choose_words(bench, sides)
    axes = {side.name: side.axis.ranking for side in sides.values()}
    draw = partial(
        axis_scatter,
        map_rows(axes, rows),
        axes=(sides["x"].name, sides["y"].name),
        titles=(sides["x"].title, sides["y"].title),
        color=sides["color"].name if "color" in sides else None,
        ends={side.name: (side.low, side.high) for side in sides.values()},
        marked=marked,
        n_labels=110 if len(rows) <= _FEW_WORDS else 70,
        size=_SIZE,
        title=f"{len(rows):,} words of {bench.space.name}",  # of files: a page has it around the map
    )
    drawn = draw(interactive=True, fluid=True, title="")
    if len(rows) > _MANY_WORDS:  # thousands of points move smoothly on a canvas only
        drawn = drawn.properties(usermeta={"embedOptions": {"renderer": "canvas"}})
    chart(drawn)
    _show_relation(sides, rows)
    _offer_downloads(sides, draw)


def _offered(chosen: AxisChoice) -> dict[str, AxisChoice]:
    """Return the axes there are to choose from, by the value of the setting that names them."""
    pinned = {f"pinned {name}": wanted for name, wanted in pinned_axes().items()}
    lexicons = {name: AxisChoice(name, "lexicon", lexicon=name) for name in lexicon_names()}
    return {"current": chosen, **pinned, **lexicons}


def _choose_axes(offered: Mapping[str, AxisChoice]) -> dict[str, AxisChoice]:
    """Show the three lists of axes; return what is chosen for x, y and colour."""

    def label(key: str) -> str:
        if not key:
            return "none"
        kind = {"current": "current", f"pinned {offered[key].name}": "pinned"}.get(key, "lexicon")
        return f"{offered[key].name} ({kind})"

    across, up, color = st.columns(3)
    with across:
        chosen = {"x": choice("Across", "x", list(offered), format_func=label)}
    with up:
        chosen["y"] = choice("Up", "y", list(offered), format_func=label)
    with color:
        chosen["color"] = choice("Colour", "color", ["", *offered], format_func=label)
    found = {role: offered[key] for role, key in chosen.items() if key}
    names = {role: each.name for role, each in found.items()}
    return {  # two different axes of one name are told apart
        role: each if all(other == each or names[by] != each.name for by, other in found.items())
        else AxisChoice(**{**vars(each), "name": label(chosen[role])})
        for role, each in found.items()
    }  # fmt: skip


def _sides(bench: Workbench, chosen: Mapping[str, AxisChoice]) -> dict[str, _Side]:
    """Return the axes chosen, found in the space."""
    found = {}
    for role, wanted in chosen.items():
        try:
            axis = find_axis(bench, lexicon_of(wanted), wanted.method)
        except DensRayError as error:
            raise LexiconError(f"there is no axis “{wanted.name[:60]}”: {error}") from error
        low, high = (", ".join(word[:24] for word in words) for words in axis_ends(bench.space, axis.seeds))
        is_named = wanted.source != "lists" or wanted.name != name_of_lists(wanted.high, wanted.low)
        found[role] = _Side(wanted.name, axis, low, high, is_named)
    return found


def _choose_words(bench: Workbench, sides: Mapping[str, _Side]) -> tuple[list[int], list[str]]:
    """Show which words to put on the map and which to mark; return the rows of all, and the words marked."""
    kind, how, mark = st.columns(3)
    with kind:
        shown = choice("Words", "shown", list(_SHOWN), format_func=_SHOWN.__getitem__)
    with mark:
        st.text_input("Find and mark", placeholder="one word or several", **bound("mark"))
    with how:
        rows = _rows(bench, sides, shown)
    wanted = words_of_text(settings()["mark"])[:_MOST_MARKED]
    missing = bench.space.absent(wanted)
    marked = [word for word in wanted if word not in missing]
    if len(missing) > _FEW_MISSING:
        show_missing(bench, missing, len(marked), what="words to mark")
    else:
        for word in missing:
            st.warning(plain(missing_word(word, bench.space)), icon=":material/search_off:")
    if not rows and not marked:
        raise LexiconError("there is no word to show. Type some words of the space, or choose the most frequent ones.")
    return list(dict.fromkeys([*rows, *bench.space.locate(marked).tolist()])), marked


def _rows(bench: Workbench, sides: Mapping[str, _Side], shown: str) -> list[int]:
    """Show how many words to put on the map, or which; return their rows."""
    if shown == "frequent":
        return list(range(min(int(choice("Points", "points", _POINTS)), len(bench.space))))
    if shown == "seeds":
        words = list(dict.fromkeys(word for side in sides.values() for word in side.axis.seeds.words))
    elif shown == "occupations":
        words = load_word_list("occupations")
    else:
        st.text_area("The words", height=110, placeholder="one per line, or with commas between", **bound("list"))
        words = words_of_text(settings()["list"])
    rows: list[int] = [row for row in bench.space.locate(words).tolist() if row >= 0]
    if shown != "seeds":
        show_missing(bench, bench.space.absent(words), len(rows), what="words")
    if len(rows) > _MOST_SHOWN:
        st.caption(f"The first {_MOST_SHOWN:,} of {len(rows):,} words are shown.")
    return rows[:_MOST_SHOWN]


def _show_relation(sides: Mapping[str, _Side], rows: Sequence[int]) -> None:
    """Say how the two axes stand to each other, and how to move the map."""
    first, second = ((side.axis.rotation.components_[0], side.axis.ranking) for side in (sides["x"], sides["y"]))
    relation = axis_relation(first, second, rows)
    correlated = "" if relation.correlation is None else (
        f" The coordinates of these words correlate at {show_number(relation.correlation, 2)}."
    )  # fmt: skip
    st.caption(
        plain(
            f"{len(rows):,} words at unit length. The axes stand at {show_number(relation.degrees, 0)}° to each other "
            f"(90° is independent).{correlated} Ctrl and the wheel zoom in, and more words are named; drag to move; "
            "double click to go back."
        )
    )
    if sides["x"].axis.ranking is sides["y"].axis.ranking:
        st.info("Both axes are the same. Choose another; an axis of your own can be pinned while you make the next.")


def _offer_downloads(sides: Mapping[str, _Side], draw: Callable[..., Any]) -> None:
    """Offer the map as a picture and as a page, and the whole vocabulary along its axes as a table."""
    stem = file_stem(" ".join(side.name for side in sides.values()), otherwise="map")

    def coordinates() -> bytes:
        content = BytesIO()
        map_frame({side.name: side.axis.ranking for side in sides.values()}).write_parquet(content)
        return content.getvalue()

    with st.container(horizontal=True):
        for kind, note in _KINDS.items():
            content = partial(picture, draw, kind)
            download(f"Map .{kind}", f"{stem}.{kind}", content, help=note)
        download(
            "Coordinates .parquet", f"{stem}.parquet", coordinates, help="Every word of the space, with its ranks."
        )


def picture(draw: Callable[..., Any], kind: str) -> bytes:
    """Return the map as a file; only a page can be zoomed."""
    return to_bytes(draw(interactive=kind == "html", fluid=kind == "html"), kind)
