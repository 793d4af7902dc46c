"""The look of every chart, and how charts are saved."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from densray._files import atomic_write
from densray.errors import DataError, MissingExtraError, OutputError
from densray.report import Figure

Row = Mapping[str, Any]

INK = "#333333"
GREY = "#999999"

# Okabe & Ito (2008), https://jfly.uni-koeln.de/color/; yellow is left out: too pale on white.
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000",
)  # fmt: skip

# A method looks the same in every chart; names that are not known take the rest in turn.
_KNOWN: dict[str, tuple[str, str, list[int]]] = {
    "densray": (BLUE, "circle", [1, 0]),
    "densifier": (VERMILLION, "square", [6, 3]),
    "svm": (GREEN, "triangle-up", [2, 2]),
    "svr": (PURPLE, "triangle-down", [8, 2, 2, 2]),
    "ridge": (ORANGE, "diamond", [10, 4]),
}
_REST: list[tuple[str, str, list[int]]] = [
    (BLACK, "cross", [1, 2]),
    (SKY, "stroke", [4, 1]),
    (GREY, "triangle-left", [12, 2]),
    (INK, "triangle-right", [3, 6]),
]


def altair() -> Any:
    """Return the altair module, or say how to install it."""
    try:
        import altair as module
    except ImportError as error:
        raise MissingExtraError(
            "Figures need altair, which is not installed. Install it with: pip install 'densray[figures]'"
        ) from error
    return module


def rows_of(given: Any, attribute: str = "") -> Sequence[Row]:
    """Return what is to be drawn as a list of mappings.

    Given may be such a list, a pandas or polars frame, or a result of the library that has rows under `attribute`.
    """
    if attribute and hasattr(given, attribute):
        given = getattr(given, attribute)
        given = given() if callable(given) else given
    if hasattr(given, "to_polars"):
        given = given.to_polars()
    if hasattr(given, "iter_rows"):  # polars
        rows: Sequence[Row] = given.rows(named=True)
    elif hasattr(given, "columns") and hasattr(given, "to_dict"):  # pandas
        rows = given.to_dict("records")
    else:
        rows = list(given)
    return rows


def checked_rows(given: Any, *keys: str, attribute: str = "") -> list[dict[str, Any]]:
    """Return the rows as dicts of plain values; refuse none at all, or rows without one of the keys."""
    from densray.report import to_plain

    rows = rows_of(given, attribute)
    if not rows:
        raise DataError("There is nothing to draw: the list of rows is empty.")
    for number, row in enumerate(rows):
        missing = [key for key in keys if key not in row]
        if missing:
            raise DataError(f"Row {number} to draw has no '{missing[0]}'; it has {', '.join(map(str, row))}.")
    return [to_plain(row) for row in rows]


def values(rows: Sequence[Row]) -> Any:
    """Return rows as chart data, without a data-frame library in between."""
    return altair().Data(values=[dict(row) for row in rows])


def packed(rows: Sequence[Row]) -> Any:
    """Return rows as chart data in one piece of text, which altair need not copy and check row by row.

    For thousands of rows: 5,000 take a tenth of the time.
    """
    alt = altair()
    return alt.Data(
        values=json.dumps([dict(row) for row in rows], ensure_ascii=False), format=alt.JsonDataFormat(type="json")
    )


def tooltip_title(text: str) -> str:
    """Return a text as the title of a line of a tooltip.

    Vega-Lite makes part of an expression of it and escapes its quotes alone: a backslash or a line end would break out.

    >>> print(tooltip_title("AC\\\\DC"))
    AC\\\\DC
    """
    return " ".join(text.split()).replace("\\", "\\\\")


def word_order(words: Sequence[str]) -> dict[str, Any]:
    """Return the arguments that put words on an axis in their order.

    A list to sort by would break on “constructor” and other names that JavaScript's objects bring along.
    """
    return {"sort": None, "scale": altair().Scale(domain=list(dict.fromkeys(words)))}


Look = tuple[str, str, list[int]]
"""The colour, the shape and the dash of a method."""


def method_looks(methods: Sequence[str]) -> dict[str, Look]:
    """Return the look of each method, the same in every chart."""
    names = list(dict.fromkeys(methods))
    spare = iter(_REST * (len(names) // len(_REST) + 1))
    return {name: _KNOWN.get(name) or next(spare) for name in names}


def method_encoding(looks: Mapping[str, Look]) -> dict[str, Any]:
    """Return colour and shape by method, under one legend."""
    alt = altair()
    legend = alt.Legend(title=None, symbolSize=90, symbolStrokeWidth=2, symbolFillColor="white")
    colors, shapes = (alt.Scale(domain=list(looks), range=[look[i] for look in looks.values()]) for i in (0, 1))
    return {
        "color": alt.Color("method:N", scale=colors, legend=legend),
        "shape": alt.Shape("method:N", scale=shapes, legend=legend),
    }


def styled(chart: Any, *, title: str = "") -> Any:
    """Return a chart in the house style: a title that stands clear, quiet axes, readable sizes, white ground."""
    alt = altair()
    if title:
        chart = chart.properties(title=alt.Title(title, fontSize=15, fontWeight="bold", offset=14))
    look = alt.Config(
        background="white", font="sans-serif", padding=12,
        view=alt.ViewConfig(stroke=None),
        mark=alt.MarkConfig(aria=False),  # else titles, and so names of axes, become part of expressions
        axis=alt.AxisConfig(
            labelFontSize=12, titleFontSize=13, titleFontWeight="normal", labelColor=INK, titleColor=INK,
            gridColor="#E6E6E6", domainColor=GREY, tickColor=GREY,
        ),
        title=alt.TitleConfig(fontSize=13, fontWeight="normal", anchor="start", frame="group", color=INK),
        legend=alt.LegendConfig(labelFontSize=12, titleFontSize=12, titleFontWeight="normal", labelColor=INK),
        header=alt.HeaderConfig(labelFontSize=13, titleFontSize=13, labelColor=INK),
    )  # fmt: skip
    return chart.properties(config=look)  # at once: every step would copy the chart


_SUFFIXES = (".png", ".svg", ".pdf", ".html")
_SCALE = 2.0


def save(chart: Any, path: str | Path, *, overwrite: bool = True) -> Path:
    """Write a chart in the format its suffix names; an interrupted write leaves the old file whole.

    Parameters
    ----------
    chart
        What one of the chart functions returned.
    path
        Ends in ``.png``, ``.svg``, ``.pdf`` or ``.html``; the HTML page is interactive and needs no network.
    overwrite
        Whether an existing file is replaced.
    """
    path = Path(path)
    check_chart_path(path)
    content = to_bytes(chart, path.suffix.lower()[1:])
    with atomic_write(path, overwrite=overwrite) as partial:
        partial.write_bytes(content)
    return path


def check_chart_path(path: Path) -> None:
    """Refuse an ending that names no format of charts, a missing folder, and a missing vl-convert."""
    if path.suffix.lower() not in _SUFFIXES:
        raise OutputError(f"{path}: a chart is written as {', '.join(_SUFFIXES)}, not as '{path.suffix}'.")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: the folder {path.parent} does not exist. Create it, or write elsewhere.")
    _require_renderer()


def to_svg(chart: Any) -> str:
    """Return a chart as the text of an SVG file."""
    return to_bytes(chart, "svg").decode("utf-8")


def figure(chart: Any, caption: str) -> Figure:
    """Return a chart as a figure of a report."""
    return Figure(to_svg(chart), caption)


def check_ready() -> None:
    """Raise if charts cannot be drawn and written here, and say what to install."""
    altair()
    _require_renderer()


def _require_renderer() -> None:
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "Writing figures needs vl-convert, which is not installed. Install it with: pip install 'densray[figures]'"
        ) from error


class _InScript(json.JSONEncoder):
    """JSON that stands inside a script: no text of a chart can end it."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def to_bytes(chart: Any, kind: str) -> bytes:
    """Return a chart as the content of a file: ``png``, ``svg``, ``pdf`` or ``html``."""
    if f".{kind}" not in _SUFFIXES:
        raise OutputError(f"'{kind}' is no kind of chart file. Use {', '.join(each[1:] for each in _SUFFIXES)}.")
    _require_renderer()
    if kind == "html":
        page: str = chart.to_html(inline=True, json_kwds={"cls": _InScript})
        return page.encode("utf-8")
    if kind == "svg":
        text = io.StringIO()
        chart.save(text, format="svg")
        return text.getvalue().encode("utf-8")
    binary = io.BytesIO()
    chart.save(binary, format=kind, **({"scale_factor": _SCALE} if kind == "png" else {}))
    return binary.getvalue()
