"""The style of charts, the look of methods, and functions to show and save charts."""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from densray._files import atomic_write, check_writable
from densray.errors import DataError, MissingExtraError, OutputError, load_extra
from densray.figures._letters import with_widths
from densray.report import Record, to_json, to_plain

INK = "#333333"
GREY = "#8A8A8A"
_PALE_INK, _PALE_GRID, _DARK_GRID = "#E8E6E3", "#E6E6E6", "#3D3B37"
# Names of the coordinates in charts: names of axes may contain Vega syntax.
ACROSS, UP = "across", "up"
#: The background colour as a Vega expression; a page sets it.
GROUND = "background"

# Okabe & Ito (2008), https://jfly.uni-koeln.de/color/; each has a contrast of at least 3:1 on white. For this, orange
# and sky blue are darker, yellow is left out, and violet is added.
BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, ORANGE, SKY, VIOLET = "#CC79A7", "#A38200", "#2E9BD6", "#7B1FA2"

# A method looks the same in every chart; unknown names take the remaining looks in turn.
_KNOWN: dict[str, tuple[str, str, list[int]]] = {
    "densray": (BLUE, "circle", [1, 0]),
    "densifier": (VERMILLION, "square", [6, 3]),
    "svm": (GREEN, "triangle-up", [2, 2]),
    "svr": (PURPLE, "triangle-down", [8, 2, 2, 2]),
    "ridge": (ORANGE, "diamond", [10, 4]),
}
_REST: list[tuple[str, str, list[int]]] = [
    (INK, "cross", [1, 2]), (SKY, "stroke", [4, 1]), (GREY, "triangle-left", [12, 2]),
    (VIOLET, "triangle-right", [3, 6]),
]  # fmt: skip


def altair() -> Any:
    """Return the altair module; if it is missing, the error names the command to install it."""
    return load_extra("altair", "Figures need", extra="figures")


def on_ground(light: str, dark: str) -> str:
    """Return a Vega expression for one colour on a light background and another on a dark one."""
    return f"(luminance({GROUND}) < 0.35 ? '{dark}' : '{light}')"


def ink() -> Any:
    """Return the colour of text and thin lines for any background."""
    return altair().expr(on_ground(INK, _PALE_INK))


def rows_of(source: Any, attribute: str = "") -> Sequence[Record]:
    """Return the records to draw.

    Accepts a list of mappings, a pandas or polars frame, or a result of the library with records under `attribute`.
    """
    if attribute and hasattr(source, attribute):
        source = getattr(source, attribute)
        source = source() if callable(source) else source
    if hasattr(source, "to_polars"):
        source = source.to_polars()
    if hasattr(source, "iter_rows"):  # polars
        rows: Sequence[Record] = source.rows(named=True)
    elif hasattr(source, "columns") and hasattr(source, "to_dict"):  # pandas
        rows = source.to_dict("records")
    else:
        rows = list(source)
    return rows


def checked_rows(source: Any, *keys: str, attribute: str = "") -> list[dict[str, Any]]:
    """Return the records as dicts of plain values; an empty list or a missing key is an error."""
    rows = rows_of(source, attribute)
    if not rows:
        raise DataError("There is nothing to draw: the list of rows is empty.")
    for number, row in enumerate(rows):
        missing = [key for key in keys if key not in row]
        if missing:
            raise DataError(f"Row {number} to draw has no '{missing[0]}'; it has {', '.join(map(str, row))}.")
    return [to_plain(row) for row in rows]


def values(rows: Sequence[Record]) -> Any:
    """Return records as chart data."""
    return altair().Data(values=[dict(row) for row in rows])


def packed(rows: Sequence[Record]) -> Any:
    """Return records as chart data in one JSON text, which altair does not copy and validate record by record.

    Use it for thousands of records: 5,000 take a tenth of the time.
    """
    alt = altair()
    return alt.Data(values=to_json(rows, indent=None), format=alt.JsonDataFormat(type="json"))


def tooltip_title(text: str) -> str:
    """Return a text as the title of a tooltip line.

    Vega-Lite inserts it into an expression and escapes only quotes: a backslash or a line end would break it.

    >>> print(tooltip_title("AC\\\\DC"))
    AC\\\\DC
    """
    return " ".join(text.split()).replace("\\", "\\\\")


#: Number formats of tooltips.
_FORMATS = {"rank": ",", "count": ",", "label": "~g"}


def shown_on_hover(rows: Sequence[Record], *keys: str) -> list[Any]:
    """Return the tooltip: the given keys that the records have, with numbers to three decimals."""
    alt = altair()
    complete = [key for key in keys if all(row.get(key) is not None for row in rows)]
    return [
        alt.Tooltip(f"{key}:N" if key in ("word", "group") else f"{key}:Q", title=key.replace("_", " "),
                    **({} if key in ("word", "group") else {"format": _FORMATS.get(key, ".3f")}))
        for key in complete
    ]  # fmt: skip


def word_order(words: Sequence[str]) -> dict[str, Any]:
    """Return the arguments that keep words on an axis in their order.

    A sort list would break on “constructor” and other names that JavaScript objects predefine.
    """
    return {"sort": None, "scale": altair().Scale(domain=list(dict.fromkeys(words)))}


Look = tuple[str, str, list[int]]  # colour, shape and dash of a method

_GROUPS: list[Look] = [
    (BLUE, "circle", [1, 0]), (VERMILLION, "square", [6, 2]), (GREEN, "diamond", [2, 2]),
    (PURPLE, "triangle-up", [8, 3, 2, 3]), (GREY, "triangle-down", [4, 4]),
]  # fmt: skip


def method_looks(methods: Sequence[str]) -> dict[str, Look]:
    """Return the look of each method: the same in every chart with several, and solid blue if it is alone."""
    names = list(dict.fromkeys(methods))
    if len(names) == 1:
        return {names[0]: _KNOWN["densray"]}
    free = [*_REST, *(look for name, look in _KNOWN.items() if name not in names)]
    spare = iter(free * (len(names) // len(free) + 1))
    return {name: _KNOWN.get(name) or next(spare) for name in names}


def group_looks(groups: Sequence[str]) -> dict[str, Look]:
    """Return clearly different looks of groups, such as parties, which have no look of their own."""
    names = list(dict.fromkeys(groups))
    return dict(zip(names, _GROUPS * (len(names) // len(_GROUPS) + 1), strict=False))


def method_encoding(looks: Mapping[str, Look], **legend_look: Any) -> dict[str, Any]:
    """Return colour and shape by method, under one legend; `legend_look` changes its style or position."""
    alt = altair()
    look = {"symbolSize": 90, "symbolStrokeWidth": 2, "symbolFillColor": alt.expr(GROUND), **legend_look}
    legend = alt.Legend(title=None, **look)
    colors, shapes = (alt.Scale(domain=list(looks), range=[look[i] for look in looks.values()]) for i in (0, 1))
    return {
        "color": alt.Color("method:N", scale=colors, legend=legend),
        "shape": alt.Shape("method:N", scale=shapes, legend=legend),
    }


def styled(chart: Any, *, title: str = "", alt: str = "", any_width: bool = False) -> Any:
    """Return a chart in the house style: a clear title, quiet axes, readable sizes.

    The background is white, or that of the page (`for_page`). `alt` describes the chart for screen readers.
    `any_width`: its labels are placed for any width.
    """
    module = altair()
    if title:
        chart = chart.properties(title=module.Title(title, fontSize=15, fontWeight="bold", offset=14))
    letters, grid = ink(), module.expr(on_ground(_PALE_GRID, _DARK_GRID))
    look = module.Config(
        background="white", font="sans-serif", padding=12,
        view=module.ViewConfig(stroke=None),
        mark=module.MarkConfig(aria=False),  # otherwise titles, including names of axes, become part of expressions
        axis=module.AxisConfig(
            labelFontSize=12, titleFontSize=13, titleFontWeight="normal", labelColor=letters, titleColor=letters,
            gridColor=grid, domainColor=GREY, tickColor=GREY,
            labelFlush=False,  # the first and the last label stay centred on their ticks
        ),
        title=module.TitleConfig(fontSize=13, fontWeight="normal", anchor="start", frame="group", color=letters),
        legend=module.LegendConfig(
            labelFontSize=12, titleFontSize=12, titleFontWeight="normal", labelColor=letters, titleColor=letters
        ),
        header=module.HeaderConfig(labelFontSize=13, titleFontSize=13, labelColor=letters),
    )  # fmt: skip
    described: dict[str, Any] = {"description": ". ".join(filter(None, (title, alt)))} if alt or title else {}
    described |= {"usermeta": {"any_width": True}} if any_width else {}
    return chart.properties(config=look, **described)  # in one call: each call copies the chart


#: Colours of a light page, and their replacements on a dark one; grey and purple are readable on both.
_BRIGHT = {
    BLUE: "#5BB6EE", VERMILLION: "#FF8F4A", GREEN: "#35C79F", ORANGE: "#EBC03A", SKY: "#66E3E8", VIOLET: "#B88CFF",
    INK: _PALE_INK,
}  # fmt: skip


def _brighter(part: Any) -> Any:
    """Return part of a specification with colours that adapt to the background; text and numbers stay unchanged."""
    if isinstance(part, str):
        return {"expr": on_ground(part, _BRIGHT[part])} if part in _BRIGHT else part
    if isinstance(part, list):
        return [_brighter(each) for each in part]
    kept = ("data", "domain", "title", "text", "datum", "sort")
    return {k: v if k in kept else _brighter(v) for k, v in part.items()} if isinstance(part, dict) else part


def on_dark(chart: Any, ground: str) -> Any:
    """Return a chart on a dark background."""
    spec = _brighter(chart.to_dict(validate=False))
    spec["config"]["background"] = ground
    return type(chart).from_dict(spec, validate=False)


#: Colours of an SVG file on white, and what `dark_svg` replaces them by; other colours stay.
_DARK = _BRIGHT | {_PALE_GRID: _DARK_GRID, "black": _PALE_INK}
_PAINT = re.compile(r'(?<==")(?:#[0-9A-Fa-f]{6}|black|white)(?=")')


def dark_svg(svg: str, ground: str) -> str:
    """Return the SVG of a chart on white, in the colours for a dark background.

    This is :func:`on_dark` for a file: colours that are between those of the palette, as in a heat map, stay.
    """
    dark = {**_DARK, "white": ground}
    return _PAINT.sub(lambda match: dark.get(match[0], match[0]), svg)


#: The font of the pages of the explorer.
_PAGE_FONT = '"Source Sans", sans-serif'
#: Internal keys of charts, left out of the data table.
_PRIVATE = {"right", "down", "line_right", "line_down", "marked", "value", "least", "most", "kind"}


def for_page(chart: Any) -> dict[str, Any]:
    """Return the specification of a chart for a page: as wide as its column, without a background, with a data table.

    Streamlit shows `datasets` as the table behind a chart, and removes data at the top level from the chart, so
    they are moved one layer down.
    """
    # tests check that our charts are valid; validating again would take two thirds of the time
    spec: dict[str, Any] = _brighter(chart.to_dict(validate=False))
    spec["config"].pop("background", None)
    spec["config"]["font"] = _PAGE_FONT
    spec.pop("width", None)
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    table = _table(spec)
    if "data" in spec:
        inner = {key: spec.pop(key) for key in ("data", "mark", "encoding", "layer", "transform") if key in spec}
        spec["layer"] = [inner]
    if table:
        spec["datasets"] = {**spec.get("datasets", {}), "table": table}
    return spec


def _table(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the records of a chart (its longest list), under the titles of its axes."""
    tables: list[list[Any]] = [[]]
    titles: dict[str, str] = {}

    def collect(part: Any) -> None:
        if isinstance(part, Mapping):
            rows = part.get("values") if {"values"} <= part.keys() <= {"values", "format"} else None
            if isinstance(rows, str) or (rows and isinstance(rows[0], Mapping)):  # not the ticks of an axis
                tables.append(json.loads(rows) if isinstance(rows, str) else rows)
                return
            if isinstance(part.get("title"), str) and "field" in part:
                titles.setdefault(part["field"], part["title"])
        if isinstance(part, Mapping | list):
            for each in part.values() if isinstance(part, Mapping) else part:
                collect(each)

    collect({key: part for key, part in spec.items() if key != "config"})
    rows = max(tables, key=len)
    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in _PRIVATE]
    key_of_title = {" ".join(titles.get(key, key).split()): key for key in keys}
    return [{name: row.get(key) for name, key in key_of_title.items()} for row in rows]


def equality_line(domain: tuple[float, float]) -> Any:
    """Return the dashed line where both coordinates are equal."""
    line = altair().Chart(values([{ACROSS: end, UP: end} for end in domain]))
    return line.mark_line(color=GREY, strokeDash=[5, 4], strokeWidth=1).encode(x=f"{ACROSS}:Q", y=f"{UP}:Q")


#: Below this length in pixels, an axis has no room for its name between the names of its ends.
_NARROW = 360


def written_ends(ends: tuple[str, str], channel: str, name: str = "") -> list[Any]:
    """Return the names of the two ends of an axis, written at its ends, and its name in the middle."""
    alt = altair()
    across = channel == "x"
    length = "width" if across else "height"
    marks = []
    for text, align, share in ((f"← {ends[0]}", "left", 0), (name, "center", 0.5), (f"{ends[1]} →", "right", 1)):
        down, room = (54, 1) if share == 0.5 else (36, 0.5)
        along = alt.value(alt.expr(f"{length} * {share if across else 1 - share}"))
        # a narrow chart has the name on a line of its own
        offset = alt.value(alt.expr(f"height + (width < {_NARROW} ? {down} : 36)")) if across else alt.value(-46)
        mark = alt.Chart(values([{}])).mark_text(
            align=align, baseline="middle", fontSize=12, color=ink(), clip=False, angle=0 if across else 270,
            fontWeight="bold" if share == 0.5 else "normal",
            limit=alt.expr(f"max({length} / 3 - 8, {length} < {_NARROW} ? {length} * {room} - 8 : 0)"),
            opacity=alt.expr(f"{length} < {_NARROW} ? 0 : 1") if share == 0.5 and not across else 1,
        )  # fmt: skip
        place = {"x": along, "y": offset} if across else {"x": offset, "y": along}
        marks += [mark.encode(text=alt.value(text), **place)] if text else []
    return marks


def dashed_lines(places: Mapping[str, float], *, color: Any = GREY) -> list[Any]:
    """Return a dashed line across the chart at a value of each channel, such as ``{"x": 0}``."""
    alt = altair()
    line = alt.Chart(values([{}])).mark_rule(color=color, strokeDash=[4, 4], clip=True)
    return [line.encode(**{channel: alt.datum(place)}) for channel, place in places.items()]


_SUFFIXES = (".png", ".svg", ".pdf", ".html")
_SCALE = 2.0


def save(chart: Any, path: str | Path, *, overwrite: bool = True) -> Path:
    """Write a chart in the format of the file extension; an interrupted write keeps the old file.

    Parameters
    ----------
    chart
        A chart from one of the chart functions.
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
    """Raise if the extension is not a chart format, the file cannot be written, or vl-convert is missing."""
    if path.suffix.lower() not in _SUFFIXES:
        raise OutputError(f"{path}: a chart is written as {', '.join(_SUFFIXES)}, not as '{path.suffix}'.")
    check_writable(path, overwrite=True)
    _require_renderer()


def to_svg(chart: Any) -> str:
    """Return a chart as the text of an SVG file."""
    return to_bytes(chart, "svg").decode("utf-8")


def can_draw() -> bool:
    """Return whether charts can be drawn and written on this machine."""
    try:
        check_ready()
    except MissingExtraError:
        return False
    return True


def check_ready() -> None:
    """Raise an error with the install command if charts cannot be drawn and written."""
    altair()
    _require_renderer()


def _require_renderer() -> None:
    load_extra("vl_convert", "Writing figures needs", extra="figures")


class _InScript(json.JSONEncoder):
    """JSON for use inside a script element, which no text of a chart can close."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def _page(chart: Any) -> str:
    """Return a stand-alone page: titled, light or dark, and as wide as the window if the chart allows it."""
    spec = chart.to_dict()
    title = html.escape(spec.get("description", "densray"))
    if spec.get("usermeta", {}).get("any_width"):
        chart = chart.properties(width="container", autosize=altair().AutoSizeParams(type="fit-x", contains="padding"))
    page: str = chart.to_html(inline=True, json_kwds={"cls": _InScript})
    ground = 'matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "white"'
    head = (
        f'<head>\n<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
        "<style>:root { color-scheme: light dark } body { margin: 1rem }</style>"
    )
    page = page.replace("<html>", '<html lang="en">', 1).replace("<head>", head, 1)
    return page.replace('"background": "white"', f'"background": {ground}', 1)


def to_bytes(chart: Any, kind: str) -> bytes:
    """Return a chart as the content of a file: ``png``, ``svg``, ``pdf`` or ``html``."""
    if f".{kind}" not in _SUFFIXES:
        raise OutputError(f"'{kind}' is not a chart format. Use {', '.join(each[1:] for each in _SUFFIXES)}.")
    _require_renderer()
    if kind == "html":
        return _page(chart).encode("utf-8")
    if kind == "svg":
        text = io.StringIO()
        chart.save(text, format="svg")
        return with_widths(text.getvalue()).encode("utf-8")
    binary = io.BytesIO()
    chart.save(binary, format=kind, **({"scale_factor": _SCALE} if kind == "png" else {}))
    return binary.getvalue()
