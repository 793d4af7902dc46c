"""Scatter plots of words with labels and leader lines."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray.figures._labels import Line, place_labels
from densray.figures._style import (
    ACROSS,
    GREY,
    GROUND,
    UP,
    altair,
    ink,
    packed,
    tooltip_title,
)
from densray.report import CHART_NUMBER, Record

_FONT_SIZE = 11
#: Widths in pixels for which labels are placed in charts of any width; each applies up to the next. Other charts have
#: labels for their own width, and for a phone.
WIDTHS = (230, 290, 370, 470, 590, 750, 950, 1200, 1500)
_WIDEST = 2400
_PHONE = (230, 370)

Domain = tuple[float, float]
#: By row number: the offsets from a point to its label and to the end of its leader line, one for each
#: width; None if it has no label at that width.
Offsets = dict[int, dict[str, list[float | None]]]


class Coordinate(NamedTuple):
    """One of the two coordinates of a scatter plot: its key in the records, its title and its range."""

    key: str
    title: str
    domain: Domain


def padded_domain(numbers: Sequence[float], *, share: float = 0.06) -> Domain:
    """Return the range of the numbers, slightly extended on both sides; for one number, a range around it."""
    low, high = min(numbers), max(numbers)
    margin = (high - low) * share or abs(low) * share or 1.0
    return low - margin, high + margin


def few_ticks(extent: str, each: int) -> Any:
    """Return the number of ticks of an axis: one per `each` pixels, and few enough for their labels."""
    return altair().expr(f"max(2, min(6, floor({extent} / {each})))")


def word_scatter(
    records: Sequence[Record],
    *,
    labelled: Sequence[int],
    x: Coordinate,
    y: Coordinate,
    size: tuple[int, int],
    mark: dict[str, Any],
    encoding: dict[str, Any] | None = None,
    marked: Collection[int] = (),
    zoom: bool = False,
    any_width: bool = False,
    titled: str = "xy",
    borders: Sequence[Line] = (),
) -> Any:
    """Return points, labels and leader lines as a layered chart.

    Parameters
    ----------
    records
        All points: mappings with ``word`` and the two coordinates.
    labelled
        The row numbers of the records to label, the most important first; labels that do not fit are left out.
    x, y
        The two coordinates.
    size
        Width and height in pixels.
    mark, encoding
        Mark properties and encodings of the points.
    marked
        The row numbers of records to highlight with a ring and a bold label.
    zoom
        Whether Ctrl and the wheel zoom, dragging moves the chart, and a click selects a word.
    any_width
        Whether the chart may be drawn at any width: labels are placed for several widths, and the chart picks one.
    titled
        Which of x and y have a title.
    borders
        Lines that no label crosses, each by two of its points: where one side means something else than the other.
    """
    narrow = [_PHONE] if size[0] > _PHONE[1] else []
    ranges = list(itertools.pairwise((*WIDTHS, _WIDEST))) if any_width else [*narrow, (size[0], size[0])]
    widths = [width for width, _ in ranges]
    offsets = _offsets(records, x, y, ranges, size[1], labelled, set(marked), borders)
    points = [{**record, ACROSS: record[x.key], UP: record[y.key], **offsets.get(number, {})}
              for number, record in enumerate(records)]  # fmt: skip
    for number in marked:
        points[number]["marked"] = True
    alt = altair()
    step = None if zoom or any_width else _equal_step(x.domain, y.domain, size)
    base = alt.Chart().encode(**_channels(x, y, titled, step))
    tooltip = [
        alt.Tooltip(f"{key}:Q", title=tooltip_title(end.title), format=CHART_NUMBER)
        for key, end in ((ACROSS, x), (UP, y))
    ]
    dots = base.mark_point(clip=True, **mark).encode(**{"tooltip": ["word:N", *tooltip], **(encoding or {})})
    if zoom:
        selection = alt.selection_point(name="picked", fields=["word"], on="click", toggle=False)
        dots = dots.add_params(alt.selection_interval(bind="scales", name="zoom", zoom=CTRL_WHEEL), selection)
    rings = base.transform_filter("datum.marked").mark_point(
        size=45 + 2 * mark["size"], color=ink(), strokeWidth=2, opacity=1, clip=True
    )
    band = " : ".join([*(f"width < {wider} ? {n}" for n, wider in enumerate(widths[1:])), str(len(widths) - 1)])
    layers = [dots, _leaders(base, f"({band})"), *([rings] if marked else []), *_texts(base, f"({band})")]
    return alt.layer(*layers, data=packed(points)).properties(width=size[0], height=size[1])


#: The wheel without Ctrl scrolls the page; two fingers on a touchpad send Ctrl too.
CTRL_WHEEL = "wheel![event.ctrlKey || event.metaKey]"


_APART = 60  # pixels between two ticks, at least
_STEPS, _MOST_STEPS = (1.0, 2.0, 5.0), 7


def _equal_step(across: Domain, up: Domain, size: tuple[int, int]) -> float | None:
    """Return the step of the ticks of both axes; None if one would have less than two ticks."""
    spans = across[1] - across[0], up[1] - up[0]
    least = max(span / min(length / _APART, _MOST_STEPS) for span, length in zip(spans, size, strict=True))
    power = 10.0 ** np.floor(np.log10(least))
    step = float(next((each * power for each in _STEPS if each * power >= least), 10 * power))
    return step if min(spans) >= 2 * step else None


def _multiples(step: float, domain: Domain) -> list[float]:
    first, last = (int(number) for number in (np.ceil(domain[0] / step), np.floor(domain[1] / step)))
    return [float(f"{step * number:.12g}") for number in range(first, last + 1)]


def _channels(x: Coordinate, y: Coordinate, titled: str, step: float | None) -> dict[str, Any]:
    """Return the encodings of the two coordinates, with ticks in equal steps if there is one step for both."""
    alt = altair()

    def ticks(end: Coordinate, extent: str, each: int) -> dict[str, Any]:
        return {"tickCount": few_ticks(extent, each)} if step is None else {"values": _multiples(step, end.domain)}

    return {
        channel: kind(
            f"{key}:Q",
            title=end.title,
            scale=alt.Scale(domain=list(end.domain), nice=False, zero=False),
            axis=alt.Axis(**ticks(end, extent, each), **({} if channel in titled else {"title": None})),
        )
        for channel, kind, key, end, extent, each in (
            ("x", alt.X, ACROSS, x, "width", 80), ("y", alt.Y, UP, y, "height", 60)
        )
    }  # fmt: skip


def _offsets(
    records: Sequence[Record],
    x: Coordinate,
    y: Coordinate,
    widths: Sequence[tuple[int, int]],
    height: int,
    labelled: Sequence[int],
    bold: set[int],
    borders: Sequence[Line],
) -> Offsets:
    """Return the positions of the labels at each width; they fit up to the second width of each pair."""
    # bold letters and a ring need more room: about one letter in total
    words = [str(records[number]["word"]) + "n" * (number in bold) for number in labelled]
    offsets: Offsets = {}
    for place, (width, end) in enumerate(widths):
        points = _pixels([(record[x.key], record[y.key]) for record in records], x, y, (width, height))
        labels = place_labels(
            words,
            points[list(labelled)],
            size=(width, height),
            font_size=_FONT_SIZE,
            obstacles=points,
            requested=[place for place, number in enumerate(labelled) if number in bold],
            borders=[tuple(_pixels(border, x, y, (width, height)).tolist()) for border in borders],
            stretch=end / width,
        )
        for label in labels:
            ends = {"right": label.middle[0] - label.point[0], "down": label.middle[1] - label.point[1]}
            if label.leader is not None:
                ends |= {"line_right": label.leader[0] - label.point[0], "line_down": label.leader[1] - label.point[1]}
            by_width = offsets.setdefault(labelled[label.number], {})
            for key, pixels in ends.items():
                by_width.setdefault(key, [None] * len(widths))[place] = round(pixels, 2)
    return offsets


def _pixels(at: ArrayLike, x: Coordinate, y: Coordinate, size: Domain) -> NDArray[np.float64]:
    """Return pixel positions, from the top left of the chart."""
    at = np.asarray(at, dtype=np.float64)
    left, top = x.domain[0], y.domain[1]
    pixels: NDArray[np.float64] = (at - [left, top]) / [(x.domain[1] - left) / size[0], (y.domain[0] - top) / size[1]]
    return pixels


def _where_placed(band: str, opacity: float) -> Any:
    """Return an opacity that is 0 if a label has no place at the width of the chart."""
    return altair().expr(f"isValid(datum.right[{band}]) ? {opacity} : 0")


def _texts(base: Any, band: str) -> list[Any]:
    """Return the labels with an outline in the background colour, so that they are readable over points and lines."""
    expr = altair().expr
    labels = base.transform_filter("isValid(datum.right)").encode(text="word:N")
    look = {
        "dx": expr(f"datum.right[{band}] || 0"), "dy": expr(f"datum.down[{band}] || 0"), "align": "center",
        "baseline": "middle", "fontSize": _FONT_SIZE, "fontWeight": expr("datum.marked ? 'bold' : 'normal'"),
        "clip": True,
    }  # fmt: skip
    seam = labels.mark_text(stroke=expr(GROUND), strokeWidth=3, opacity=_where_placed(band, 0.85), **look)
    return [seam, labels.mark_text(color=ink(), opacity=_where_placed(band, 1.0), **look)]


def _leaders(base: Any, band: str) -> Any:
    """Return thin lines from points to labels that are far from them."""
    expr = altair().expr
    far = base.transform_filter("isValid(datum.line_right)")
    ends = {f"{end}2Offset": expr(f"datum.line_{way}[{band}] || 0") for end, way in (("x", "right"), ("y", "down"))}
    color = expr(f"datum.marked ? {ink().to_dict()['expr']} : '{GREY}'")
    look = {"color": color, "strokeWidth": expr("datum.marked ? 1.4 : 0.7")}
    return far.mark_rule(opacity=_where_placed(band, 1.0), clip=True, **look, **ends).encode(x2=ACROSS, y2=UP)
