"""Charts for a phone: panels one below the other, legends above, and letters at full size."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from densray._files import atomic_write
from densray.errors import load_extra
from densray.figures._labels import text_width
from densray.figures._letters import with_widths, written_width
from densray.figures._style import altair, on_dark, save, to_svg
from densray.report import Figure

#: Width of a narrow chart in pixels: a phone shows it at about its own size, and letters stay readable.
NARROW = 350
#: Added to the name of a file: ``people.svg`` is the chart, ``people-narrow.svg`` the one for a phone.
SUFFIX = "-narrow"

_DARK_PAPER = "#16181b"  # of a report, as in its page.css
_PADDING = 4
_FONT, _TITLE_FONT = 12, 13  # as `styled` sets them
_SYMBOL = 34  # pixels of a symbol in a legend, and of the space around it
_BESIDE = 118  # pixels of the longest label that stands to the left of its row
_ABOVE, _HALF_LINE = 15, 8  # pixels above a row for its label, and half of a line of text
_MARK, _SERIES = 12, 13  # pixels of the marks of a row, and of each series if they stand below each other
_LIMIT = 180  # pixels at which labels are cut if a chart sets no other width
_TICKS = 5
_LEAST = 120  # pixels that the plot has at least
_TRIALS = 4

Spec = dict[str, Any]


def figure(chart: Any, caption: str, *, width: int | None = None) -> Figure:
    """Return a chart as a figure of a report: for a light and for a dark page, each with a layout for a phone.

    `width`: pixels from the first label to the right edge, so that charts below each other have the same two edges. For
    a chart of one panel.
    """
    dark = on_dark(chart, _DARK_PAPER)
    wide = [chart, dark]
    if width is not None:
        autosize = altair().AutoSizeParams(type="fit-x", contains="padding")
        wide = [each.properties(width=width, autosize=autosize) for each in wide]
    return Figure(to_svg(wide[0]), caption, narrow_svg(chart), to_svg(wide[1]), narrow_svg(dark))


def narrow_svg(chart: Any) -> str:
    """Return a chart as SVG, laid out for a phone: 350 pixels wide, with letters as large as in a wide chart."""
    return with_widths(_fitted(chart))


def narrow_path(path: Path) -> Path:
    """Return the name of the file with the narrow layout of a chart."""
    return path.with_name(f"{path.stem}{SUFFIX}{path.suffix}")


def save_both(chart: Any, path: Path) -> None:
    """Write a chart to an SVG or PNG file, and its narrow layout to a second file next to it."""
    save(chart, path)
    save_narrow(chart, path)


def save_narrow(chart: Any, path: Path) -> None:
    """Write the narrow layout of the chart in `path` to the file next to it."""
    if path.suffix == ".png":
        content = _renderer().svg_to_png(_fitted(chart), scale=2.0)
    else:
        content = narrow_svg(chart).encode("utf-8")
    with atomic_write(narrow_path(path), overwrite=True) as partial:
        partial.write_bytes(content)


def _renderer() -> Any:
    return load_extra("vl_convert", "Writing figures needs", extra="figures")


def _fitted(chart: Any) -> str:
    """Return the SVG of a chart whose panels are as wide as the room that labels and ticks leave."""
    renderer, spec = _renderer(), for_phone(chart)
    views = list(_views(spec))
    width, svg = NARROW - 60, ""
    for _ in range(_TRIALS):  # that room is known once the chart is drawn
        for view in views:
            view["width"] = width
        svg = renderer.vegalite_to_svg(spec)
        excess = _width_of(svg) - NARROW
        if abs(excess) <= 1 or width - excess < _LEAST:
            break
        width -= excess
    return svg


def for_phone(chart: Any) -> Spec:
    """Return the specification of a chart for a phone; `narrow_svg` finds the width of its panels."""
    spec: Spec = chart.to_dict()
    _stack(spec)
    spec.setdefault("config", {})["padding"] = _PADDING
    spec["config"].setdefault("legend", {})["orient"] = "top"
    spec["config"].setdefault("title", {})["frame"] = "bounds"  # from the left edge, not from that of the plot
    for part in _parts(spec):
        if isinstance(part.get("title"), str | dict) and not _is_channel(part):
            part["title"] = _wrap_title(part["title"])
        for channel in ("color", "shape", "strokeDash", "size"):
            _lay_out_legend(part.get(channel))
        _lay_out_ticks(part.get("x"))
    _lay_out_rows(list(_views(spec)))
    return spec


def _width_of(svg: str) -> int:
    match = re.search(r'width="([\d.]+)"', svg)
    return round(float(match[1])) if match else NARROW


def _parts(part: Any) -> Iterator[Spec]:
    """Return every mapping of a specification, but not its data."""
    if isinstance(part, dict):
        yield part
        part = [each for key, each in part.items() if key not in ("data", "datasets")]
    if isinstance(part, list):
        for each in part:
            yield from _parts(each)


def _is_channel(part: Spec) -> bool:
    return bool({"field", "datum", "value", "labelFontSize"} & part.keys())


def _stack(spec: Spec) -> None:
    """Put panels that stand side by side below each other."""
    for part in _parts(spec):
        if "hconcat" in part:
            part["vconcat"] = part.pop("hconcat")
        if "concat" in part or "facet" in part:
            part["columns"] = 1


def _views(spec: Spec) -> Iterator[Spec]:
    """Return the panels, each of them a plot with its axes."""
    for key in ("vconcat", "concat"):
        for panel in spec.get(key, ()):
            yield from _views(panel)
    if "facet" in spec:
        yield from _views(spec["spec"])
    elif not {"vconcat", "concat"} & spec.keys():
        for layer in spec.get("layer", ()):
            layer.pop("width", None)
        yield spec


def _width(text: str, font_size: float, *, bold: bool = False) -> float:
    width = written_width(text, font_size, bold=bold)
    return text_width(text, font_size=font_size) if width is None else width


def _wrap(text: str, room: float, font_size: float, *, bold: bool = False) -> str | list[str]:
    """Return a text in lines that fit; as it is if it fits in one line."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and _width(longer, font_size, bold=bold) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines if len(lines) > 1 else text


def _wrap_title(title: str | Spec) -> str | list[str] | Spec:
    if isinstance(title, str):
        return _wrap(title, NARROW - 2 * _FONT, _TITLE_FONT)
    if isinstance(text := title.get("text"), str):
        bold = title.get("fontWeight") == "bold"
        return {**title, "text": _wrap(text, NARROW - 2 * _FONT, title.get("fontSize", _TITLE_FONT), bold=bold)}
    return title


def _lay_out_legend(channel: Any) -> None:
    """Give the legend of names as many columns as fit; a legend to the right of a plot moves above it."""
    if not isinstance(channel, dict) or "field" not in channel or channel.get("legend", {}) is None:
        return
    legend: Spec = {"orient": "top", **channel.get("legend", {})}
    names = (channel.get("scale") or {}).get("domain")
    if channel.get("type") == "nominal" and isinstance(names, list) and names:
        legend.pop("titleOrient", None)
        longest = max(_width(str(name), _FONT) for name in names)
        legend |= {"direction": "horizontal", "columns": max(1, int((NARROW - _SYMBOL) / (longest + _SYMBOL)))}
        legend["labelLimit"] = NARROW - _SYMBOL
    channel["legend"] = legend


def _lay_out_ticks(across: Any) -> None:
    """Give the horizontal axis few ticks, unless it has its own, and a title in lines that fit."""
    if not isinstance(across, dict) or across.get("axis", {}) is None:
        return
    if isinstance(across.get("title"), str):
        across["title"] = _wrap(across["title"], NARROW * 0.75, _TITLE_FONT)
    if across.get("type") == "quantitative" and "field" in across:
        across["axis"] = {"tickCount": _TICKS, **across.get("axis", {})}


def _lay_out_rows(views: Sequence[Spec]) -> None:
    """Write long labels of rows above their marks; short ones stay to the left, equally far in all panels."""
    rows = {number: _row_labels(view) for number, view in enumerate(views)}
    widths = [min(_width(label, _FONT), limit) for labels, limit in filter(None, rows.values()) for label in labels]
    if not widths:
        return
    is_above = max(widths) > _BESIDE
    for number, own_labels in rows.items():
        if own_labels is None:
            continue
        for axis in _row_axes(views[number]):
            axis.pop("minExtent", None)
            if not is_above and len(views) > 1:
                axis["minExtent"] = round(max(widths)) + 6
        if is_above:
            _raise_labels(views[number], len(own_labels[0]))


def _row_channels(view: Spec) -> list[Spec]:
    """Return the vertical channels of a panel whose values are names."""
    channels = [part["y"] for part in _parts(view) if isinstance(part.get("y"), dict)]
    return [channel for channel in channels if channel.get("type") == "nominal" and channel.get("axis", {}) is not None]


def _row_axes(view: Spec) -> list[Spec]:
    return [channel.setdefault("axis", {}) for channel in _row_channels(view)]


def _row_labels(view: Spec) -> tuple[list[str], float] | None:
    """Return the labels of the rows of a panel and the width at which they are cut; None if rows have no names."""
    channels = _row_channels(view)
    readers: list[Callable[[Spec], Any]] = [lambda channel: (channel.get("scale") or {}).get("domain"),
                                          lambda channel: channel.get("sort")]  # fmt: skip
    for read_names in readers:
        for channel in channels:
            if isinstance(names := read_names(channel), list):
                limit = channel.get("axis", {}).get("labelLimit", _LIMIT)
                return [str(name) for name in names], limit if isinstance(limit, int | float) else _LIMIT
    return None


def _raise_labels(view: Spec, count: int) -> None:
    """Make the rows of a panel high enough for a line of text above the marks, and write their labels there."""
    offsets = {
        len(names) for part in _parts(view) if isinstance(names := (part.get("yOffset") or {}).get("sort"), list)
    }
    marks = max((_SERIES * each for each in offsets), default=_MARK)
    height = marks + 2 * _ABOVE
    share = 2 * _ABOVE / height
    _interrupt_lines(view)
    for channel in _row_channels(view):
        if offsets:
            channel["scale"] = {**(channel.get("scale") or {}), "paddingInner": share, "paddingOuter": share / 2}
        channel.setdefault("axis", {}).update({
            "labelAlign": "left", "labelBaseline": "middle", "labelPadding": 0, "tickSize": 0, "ticks": False,
            "labelOffset": _HALF_LINE - height / 2, "labelLimit": NARROW - 3 * _FONT, "domain": False,
        })  # fmt: skip
    view["height"] = height * count


def _interrupt_lines(view: Spec) -> None:
    """Draw lines through all rows as one line per row, which crosses no label above a row."""
    field = _row_channels(view)[0]["field"]
    for part in _parts(view):
        if part.get("y2") == {"value": "height"} and part.get("y") == {"value": 0}:
            part["y"] = {"field": field, "type": "nominal", "bandPosition": 0}
            part["y2"] = {"field": field, "bandPosition": 1}
