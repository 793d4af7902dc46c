"""Scatter plots whose labels never overlap."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray.figures._style import (
    ACROSS,
    GREY,
    GROUND,
    UP,
    VERMILLION,
    Row,
    altair,
    ink,
    on_ground,
    packed,
    tooltip_title,
)
from densray.report import CHART_NUMBER

# Where a label may stand, seen from its point: (right, down) in directions; nearer places are tried first.
_DIRECTIONS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))
_DISTANCES = (0.0, 8.0, 16.0, 26.0, 38.0)
_FAR, _RIGHT, _DOWN = np.array([(far, *ways) for far in _DISTANCES for ways in _DIRECTIONS]).T
_WORTH = 24.0  # how many pixels further away a label goes to keep one more point clear
_GAP = 5.0
_STEPS = np.arange(2, 9) / 8  # where along its length a leader line is looked at

_NARROW, _BROAD = frozenset("fijlrtI.,:;'|!()[]- "), frozenset("mwMW@%")

Point = tuple[float, float]
#: Left, top, right and bottom of one box, or one of these a row.
Boxes = NDArray[np.float64]


@dataclass(frozen=True)
class Label:
    """A placed label: which one, and in pixels the middle of its box, its point, the end of its leader line if far."""

    number: int
    text: str
    middle: Point
    point: Point
    leader: Point | None


def text_width(text: str, *, font_size: float) -> float:
    """Return about how wide a text is drawn in a sans-serif font."""
    return font_size * sum(_ems(character) for character in text)


def _ems(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    return 0.32 if character in _NARROW else 0.95 if character in _BROAD else 0.63


def place_labels(
    texts: Sequence[str],
    points: ArrayLike,
    *,
    size: tuple[float, float],
    font_size: float = 11,
    obstacles: ArrayLike = (),
) -> list[Label]:
    """Return the labels that find a place, the first ones first.

    Each label takes the nearest free place around its point that stays inside the chart and meets neither a
    label placed before nor the point of another label nor, if it can be had, any of the ``obstacles``. One
    without such a place is left out.

    Parameters
    ----------
    texts
        The labels, the most important first.
    points
        The points they belong to, one a row, in pixels from the top left.
    size
        Width and height of the chart in pixels.
    font_size
        The size the labels are drawn in.
    obstacles
        Other points of the chart.
    """
    at = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    soft = _around(np.asarray(obstacles, dtype=np.float64).reshape(-1, 2), radius=2.5)
    hard = np.concatenate([_around(at, radius=4.0), np.empty((len(at), 4))])  # the points, then the labels placed
    placed: list[Label] = []
    for number, (text, point) in enumerate(zip(texts, at, strict=True)):
        others = np.delete(hard[: len(at) + len(placed)], number, axis=0)
        box = _best_place(text, point, size=size, font_size=font_size, hard=others, soft=soft)
        if box is not None:
            hard[len(at) + len(placed)] = box
            placed.append(_label(number, text, point, box))
    return placed


def _label(number: int, text: str, point: NDArray[np.float64], box: Boxes) -> Label:
    left, top, right, bottom = box.tolist()
    x, y = point.tolist()
    edge = min(max(x, left), right), min(max(y, top), bottom)
    is_far = math.dist(edge, (x, y)) > _GAP * math.sqrt(2) + 0.5
    return Label(number, text, ((left + right) / 2, (top + bottom) / 2), (x, y), edge if is_far else None)


def _around(points: NDArray[np.float64], *, radius: float) -> Boxes:
    return np.concatenate([points - radius, points + radius], axis=1)


def _candidates(text: str, point: NDArray[np.float64], font_size: float) -> Boxes:
    half_width, half_height = text_width(text, font_size=font_size) / 2 + 1, font_size * 0.62
    x = point[0] + _RIGHT * (half_width + _GAP + _FAR)
    y = point[1] + _DOWN * (half_height + _GAP + _FAR)
    return np.stack([x - half_width, y - half_height, x + half_width, y + half_height], axis=1)


def _best_place(
    text: str, point: NDArray[np.float64], *, size: tuple[float, float], font_size: float, hard: Boxes, soft: Boxes
) -> Boxes | None:
    """Return the free box that covers the fewest other points; one point weighs as much as some distance."""
    boxes = _candidates(text, point, font_size)
    reach = np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])[None, :]
    hard, soft = (others[meeting(reach, others)[0]] for others in (hard, soft))  # few are near
    is_inside = np.all((boxes >= 0) & (boxes <= [*size, *size]), axis=1)
    free = np.asarray(is_inside & ~meeting(boxes, hard).any(axis=1))
    free[free] = ~_crosses(point, boxes[free], hard)
    cost = np.where(free, _FAR / _WORTH + meeting(boxes, soft).sum(axis=1), np.inf)
    best = int(cost.argmin())  # of equals the first, which is the nearest
    return boxes[best] if free[best] else None


def meeting(boxes: Boxes, others: Boxes) -> NDArray[np.bool_]:
    """Return which of the boxes (rows) overlap which of the others (columns)."""
    left, top, right, bottom = boxes.T[:, :, None]
    across = (left < others[:, 2]) & (others[:, 0] < right)
    return np.asarray(across & (top < others[:, 3]) & (others[:, 1] < bottom))


def _crosses(point: NDArray[np.float64], boxes: Boxes, others: Boxes) -> NDArray[np.bool_]:
    """Return for which boxes a line from the point would run through one of the others."""
    ends = np.clip(point, boxes[:, :2], boxes[:, 2:])
    x, y = (point[k] + (ends[:, k] - point[k])[:, None, None] * _STEPS[:, None] for k in (0, 1))
    inside = (others[:, 0] < x) & (x < others[:, 2]) & (others[:, 1] < y) & (y < others[:, 3])
    return np.asarray(np.any(inside, axis=(1, 2)))


Pixels = NDArray[np.float64]
_BLOCK = 512  # labels looked at together


def free_zooms(points: Pixels, offsets: Pixels, sizes: Pixels, *, stretch: float = 1.0) -> tuple[Pixels, Pixels]:
    """Return until which zoom, and since which, each label is shown, so that at no zoom two of those shown overlap.

    Zooming moves points apart; a label keeps its size and its way from its point. Two labels meet at the zooms z with
    ``|z Δ + δ| < s`` across and down (Δ between their points, δ between their ways, s half the sum of their sizes): an
    open interval, through which the later one hides. A label is shown below the first zoom and from the second on; the
    first is 1 or less for those in the way of another at once, the second infinite for those no zoom sets free.

    Parameters
    ----------
    points
        Where the points are at zoom 1, one a row, in pixels; the most important first.
    offsets
        From each point to the middle of its label.
    sizes
        Width and height of each label.
    stretch
        Up to how many times wider the chart may be drawn: points move apart across, and at none of these widths do two
        labels overlap.
    """
    until, since = np.full(len(points), np.inf), np.ones(len(points))
    earlier, later, starts, ends = _meetings(points, offsets, sizes, stretch)
    bounds = np.searchsorted(later, np.arange(len(points) + 1))
    for number in np.unique(later).tolist():
        mine = slice(bounds[number], bounds[number + 1])
        start, end, other = starts[mine], ends[mine], earlier[mine]
        # while the other hides, from `until` to `since`, nothing is in the way
        start, end = (
            np.where(np.maximum(start, 1.0) < until[other], start, np.maximum(start, since[other])),
            np.where(end > since[other], end, np.minimum(end, until[other])),
        )
        hides = end > np.maximum(start, 1.0)
        if hides.any():
            until[number], since[number] = start[hides].min(), end[hides].max()
    return until, since


def _meetings(
    points: Pixels, offsets: Pixels, sizes: Pixels, stretch: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], Pixels, Pixels]:
    """Return the pairs of labels that meet at zoom 1 or beyond, by the later one, and from where to where they do."""
    earlier, later = _near_pairs(points, offsets, sizes)
    apart, ways = (places[earlier] - places[later] for places in (points, offsets))
    reach = (sizes[earlier] + sizes[later]) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(-reach - ways) / apart, (reach - ways) / apart])
    low, high = ends.min(axis=0), ends.max(axis=0)
    low[:, 0] = np.where(low[:, 0] > 0, low[:, 0] / stretch, low[:, 0])  # |z t Δ + δ| < s for any t up to the stretch
    high[:, 0] = np.where(high[:, 0] < 0, high[:, 0] / stretch, high[:, 0])
    start, end = low.max(axis=1), high.min(axis=1)
    meets = (start < end) & (end > 1.0)
    return earlier[meets], later[meets], start[meets], end[meets]


def _near_pairs(points: Pixels, offsets: Pixels, sizes: Pixels) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of labels that could meet at zoom 1 or beyond, by the later one.

    Where labels meet at a zoom z, so do at zoom 1 the boxes around each label and its point: these hold the ways to a
    common place, shortened to 1/z.
    """
    low, high = np.minimum(offsets - sizes / 2, 0.0), np.maximum(offsets + sizes / 2, 0.0)
    boxes = np.concatenate([points + low, points + high], axis=1)
    found = [np.empty((2, 0), dtype=np.int64)]
    for start in range(0, len(boxes), _BLOCK):
        later, earlier = np.nonzero(meeting(boxes[start : start + _BLOCK], boxes))
        found.append(np.stack([earlier, later + start])[:, earlier < later + start])
    earlier, later = np.concatenate(found, axis=1)
    return earlier, later


_FONT_SIZE = 11
#: Labels that appear on zooming in: how much larger than themselves the place they need, from which zoom on, how many.
_CLEARANCE, _FIRST_ZOOM, _LAST_ZOOM, _MOST = 1.3, 1.3, 60.0, 1200
_NEVER = 1e9
#: Widths in pixels for which a chart that takes the width of its column places its labels; each holds up to the next.
WIDTHS = (230, 370, 590, 950, 1500)
_WIDEST = 2400

Domain = tuple[float, float]
Notes = dict[int, dict[str, list[float | None]]]


def padded_domain(numbers: Sequence[float], *, share: float = 0.06) -> Domain:
    """Return the range of the numbers, a little wider on both sides; of one number, what is near it."""
    low, high = min(numbers), max(numbers)
    margin = (high - low) * share or abs(low) * share or 1.0
    return low - margin, high + margin


def few_ticks(extent: str, each: int) -> Any:
    """Return how many ticks an axis has: one for so many pixels of its extent, and no more than nine with labels."""
    return altair().expr(f"max(2, min(6, floor({extent} / {each})))")


def word_scatter(
    rows: Sequence[Row],
    *,
    labelled: Sequence[int],
    x: tuple[str, str, Domain],
    y: tuple[str, str, Domain],
    size: tuple[int, int],
    mark: dict[str, Any],
    encoding: dict[str, Any] | None = None,
    marked: Collection[int] = (),
    zoom: bool = False,
    fluid: bool = False,
    titled: str = "xy",
) -> Any:
    """Return points, labels and leader lines as a layered chart.

    Parameters
    ----------
    rows
        All points: mappings with ``word`` and the two coordinates.
    labelled
        The numbers of the rows to label, the most important first; those without a free place stay without.
    x, y
        Key, title and domain of each coordinate.
    size
        Width and height in pixels.
    mark, encoding
        How the points look.
    marked
        The numbers of rows that stand out: a ring, a bold label.
    zoom
        Whether Ctrl and the wheel zoom in (more words are labelled), dragging moves it, and a click picks a word.
    fluid
        Whether it may be drawn at any width: labels are placed for several, and the chart takes those of its own.
    titled
        Which of x and y have their titles written along them.
    """
    alt = altair()
    widths = WIDTHS if fluid else (size[0],)
    notes = _notes_by_width(rows, x, y, widths, size[1], labelled, set(marked), zoom)
    shown = [{**row, ACROSS: row[x[0]], UP: row[y[0]], **notes.get(n, {})} for n, row in enumerate(rows)]
    for number in marked:
        shown[number]["marked"] = True
    channels = {
        channel: kind(
            f"{key}:Q",
            title=end[1],
            scale=alt.Scale(domain=list(end[2]), nice=False, zero=False),
            axis=alt.Axis(tickCount=few_ticks(extent, each), **({} if channel in titled else {"title": None})),
        )
        for channel, kind, key, end, extent, each in (
            ("x", alt.X, ACROSS, x, "width", 80), ("y", alt.Y, UP, y, "height", 60)
        )
    }  # fmt: skip
    tooltip = [
        alt.Tooltip(f"{key}:Q", title=tooltip_title(end[1]), format=CHART_NUMBER) for key, end in ((ACROSS, x), (UP, y))
    ]
    base = alt.Chart().encode(**channels)
    dots = base.mark_point(clip=True, **mark).encode(**{"tooltip": ["word:N", *tooltip], **(encoding or {})})
    if zoom:
        picked = alt.selection_point(name="picked", fields=["word"], on="click", toggle=False)
        dots = dots.add_params(alt.selection_interval(bind="scales", name="zoom", zoom=_WHEEL), picked)
    rings = base.transform_filter("datum.marked").mark_point(
        size=45 + 2 * mark["size"], color=VERMILLION, strokeWidth=2, opacity=1, clip=True
    )
    band = " : ".join([*(f"width < {wider} ? {n}" for n, wider in enumerate(widths[1:])), str(len(widths) - 1)])
    seen = partial(_while_free, x[2][1] - x[2][0] if zoom else None, f"({band})")
    layers = [dots, _leaders(base, seen, f"({band})"), *([rings] if marked else []), *_texts(base, seen, f"({band})")]
    return alt.layer(*layers, data=packed(shown)).properties(width=size[0], height=size[1])


#: The wheel alone scrolls the page; two fingers on a touchpad send Ctrl too.
_WHEEL = "wheel![event.ctrlKey || event.metaKey]"


def _notes_by_width(
    rows: Sequence[Row],
    x: tuple[str, str, Domain],
    y: tuple[str, str, Domain],
    widths: Sequence[int],
    height: int,
    labelled: Sequence[int],
    bold: set[int],
    zoom: bool,
) -> Notes:
    """Return, by row, the ways to its label and when it is shown, one for each width; None where there is no label."""
    found: Notes = {}
    for place, width in enumerate(widths):
        size = (width, height)
        stretch = ((*widths, _WIDEST)[place + 1]) / width if len(widths) > 1 else 1.0
        points = _pixels(rows, x, y, size)
        notes = _notes(rows, points, labelled, size, bold)
        if zoom:
            _add_later(notes, rows, points, stretch)
        elif stretch > 1:
            _drop_meeting(notes, rows, points, stretch)
        for number, note in notes.items():
            for key, value in note.items():
                by_width = found.setdefault(number, {}).setdefault(key, [None] * len(widths))
                by_width[place] = round(value, 2)
    return found


def _pixels(rows: Sequence[Row], x: tuple[str, str, Domain], y: tuple[str, str, Domain], size: Domain) -> Any:
    """Return where the chart will draw the rows, from its top left."""
    at = np.array([[row[x[0]], row[y[0]]] for row in rows], dtype=np.float64)
    left, top = x[2][0], y[2][1]
    return (at - [left, top]) / [(x[2][1] - left) / size[0], (y[2][0] - top) / size[1]]


def _notes(
    rows: Sequence[Row], points: NDArray[np.float64], labelled: Sequence[int], size: tuple[int, int], bold: set[int]
) -> dict[int, dict[str, float]]:
    """Return, by row, the way from a point to its label and to the end of its leader line, where it has these."""
    # bold letters take more room, and a ring does: about one letter in all
    words = [str(rows[number]["word"]) + "n" * (number in bold) for number in labelled]
    notes = {}
    for label in place_labels(words, points[list(labelled)], size=size, font_size=_FONT_SIZE, obstacles=points):
        x, y = label.point
        note = {"right": label.middle[0] - x, "down": label.middle[1] - y}
        if label.leader is not None:
            note |= {"line_right": label.leader[0] - x, "line_down": label.leader[1] - y}
        notes[labelled[label.number]] = note
    return notes


def _boxes(
    notes: dict[int, dict[str, float]], rows: Sequence[Row], numbers: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the way from each point to its label, right of it where it has none yet, and the sizes of the labels."""
    widths = np.array([text_width(str(rows[number]["word"]), font_size=_FONT_SIZE) for number in numbers])
    ways = np.stack([widths / 2 + 6.0, np.zeros(len(numbers))], axis=1)
    ways[: len(notes)] = np.array([(note["right"], note["down"]) for note in notes.values()]).reshape(-1, 2)
    return ways, np.stack([widths + 2.0, np.full(len(numbers), _FONT_SIZE * 1.24)], axis=1)


def _drop_meeting(
    notes: dict[int, dict[str, float]], rows: Sequence[Row], points: NDArray[np.float64], stretch: float
) -> None:
    """Take out labels that would meet another where the chart is drawn wider."""
    numbers = list(notes)
    until, since = free_zooms(points[numbers], *_boxes(notes, rows, numbers), stretch=stretch)
    for place, number in enumerate(numbers):
        if until[place] <= 1.0 < since[place]:
            del notes[number]


def _add_later(
    notes: dict[int, dict[str, float]], rows: Sequence[Row], points: NDArray[np.float64], stretch: float
) -> None:
    """Add the labels that appear on zooming in, right of their points, in the order of the rows."""
    numbers = [*notes, *(number for number in range(len(rows)) if number not in notes)][: len(notes) + _MOST]
    ways, sizes = _boxes(notes, rows, numbers)
    sizes[len(notes) :] *= _CLEARANCE
    until, since = free_zooms(points[numbers], ways, sizes, stretch=stretch)
    for place, number in enumerate(numbers):
        if number in notes:
            notes[number] |= {"until": float(min(until[place], _NEVER)), "since": float(min(since[place], _NEVER))}
        elif since[place] <= _LAST_ZOOM:
            right, down = ways[place].tolist()
            notes[number] = {"right": right, "down": down, "since": float(max(since[place], _FIRST_ZOOM))}


def _while_free(width: float | None, band: str, opacity: float) -> Any:
    """Return an opacity that is 0 where a label has no place at a width, or hides at a zoom.

    The zoom is told by the range across.
    """
    there = f"isValid(datum.right[{band}])"
    if width is not None:
        zoom = f"{width} / span(domain('x'))"
        there += f" && (datum.until && datum.until[{band}] > {zoom} || datum.since[{band}] <= {zoom} * 1.001)"
    return altair().expr(f"{there} ? {opacity} : 0")


def _texts(base: Any, seen: Callable[[float], Any], band: str) -> list[Any]:
    """Return the labels on a seam of the ground's colour, so that they can be read over points and lines."""
    expr = altair().expr
    named = base.transform_filter("isValid(datum.right)").encode(text="word:N")
    look = {
        "dx": expr(f"datum.right[{band}] || 0"), "dy": expr(f"datum.down[{band}] || 0"), "align": "center",
        "baseline": "middle", "fontSize": _FONT_SIZE, "fontWeight": expr("datum.marked ? 'bold' : 'normal'"),
        "clip": True,
    }  # fmt: skip
    letters = expr(f"datum.marked ? {on_ground(VERMILLION, '#FF9A57')} : {ink().to_dict()['expr']}")
    seam = named.mark_text(stroke=expr(GROUND), strokeWidth=3, opacity=seen(0.85), **look)
    return [seam, named.mark_text(color=letters, opacity=seen(1.0), **look)]


def _leaders(base: Any, seen: Callable[[float], Any], band: str) -> Any:
    """Return thin lines from the points to the labels that stand apart from them."""
    expr = altair().expr
    far = base.transform_filter("isValid(datum.line_right)")
    ways = {f"{end}2Offset": expr(f"datum.line_{way}[{band}] || 0") for end, way in (("x", "right"), ("y", "down"))}
    color = expr(f"datum.marked ? '{VERMILLION}' : '{GREY}'")
    width = expr("datum.marked ? 1.4 : 0.7")
    return far.mark_rule(color=color, strokeWidth=width, opacity=seen(1.0), clip=True, **ways).encode(x2=ACROSS, y2=UP)
