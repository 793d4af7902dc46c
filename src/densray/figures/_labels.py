"""Placement of labels next to points, so that none covers another or seems to belong to another point."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Candidate directions of a label from its point, as (right, down); near places are tried first.
_DIRECTIONS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))
_DISTANCES = (0.0, 8.0, 16.0, 26.0, 38.0)
_OUTWARDS = np.array([-1.0, -1.0, 1.0, 1.0])  # from the sides of a box
_FAR, _RIGHT, _DOWN = np.array([(far, *ways) for far in _DISTANCES for ways in _DIRECTIONS]).T
_WORTH = 24.0  # if a reader asked for a label: covering a point costs as much as this many pixels of distance
_GAP = 5.0
_NEAR = _GAP * math.sqrt(2) + 0.5  # pixels between a label and its point up to which it needs no leader line
_MARK, _OWN_MARK = 3.5, 4.5  # half the size of a mark, and the start of a leader line outside its own
_OWN = 4.5  # pixels around a label without a leader line that are free of other points: it belongs to its own
_LEVEL = 0.01  # pixels in height at which lines count as level

_NARROW, _BROAD = frozenset("fijlrtI.,:;'|!()[]- "), frozenset("mwMW@%")

Point = tuple[float, float]
#: Two points of a line.
Line = tuple[Point, Point]
#: Left, top, right and bottom of one box, or of one box per row.
Boxes = NDArray[np.float64]


@dataclass(frozen=True)
class Label:
    """A placed label, in pixels: its box, its point, and the end of its leader line if it is far from the point."""

    number: int
    text: str
    box: tuple[float, float, float, float]
    point: Point
    leader: Point | None

    @property
    def middle(self) -> Point:
        """The middle of the box."""
        left, top, right, bottom = self.box
        return (left + right) / 2, (top + bottom) / 2


def text_width(text: str, *, font_size: float) -> float:
    """Return the approximate width of a text in a sans-serif font."""
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
    borders: Sequence[Line] = (),
    requested: Collection[int] = (),
    stretch: float = 1.0,
) -> list[Label]:
    """Return the labels that fit, in the order of `texts`.

    Each label takes the nearest free place around its point: inside the chart, on its point's side of every border, and
    not over the labels placed before, the points of other labels or the ``obstacles``. A leader line crosses no other
    point, label or leader line. A label without one is nearest to its own point. A label that does not fit is left out.

    All this holds while the chart grows horizontally to ``stretch`` times its width. Points then move apart, and a
    label keeps its size and its offset from its point.

    Parameters
    ----------
    texts
        The labels, the most important first.
    points
        The points they belong to, one per row, in pixels from the top left.
    size
        Width and height of the chart in pixels.
    font_size
        Font size of the labels.
    obstacles
        Other points of the chart.
    borders
        Lines that separate points of different meaning.
    requested
        The numbers of labels that a reader asked for: they may hide obstacles if there is no other place.
    stretch
        Ratio of the largest width of the chart to `size`.
    """
    at = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    marks = np.asarray(obstacles, dtype=np.float64).reshape(-1, 2)
    placed: list[Label] = []
    for number, (text, point) in enumerate(zip(texts, at, strict=True)):
        boxes, leaders = _candidates(text, point, font_size)
        growth = _Growth(point, stretch)
        free = np.all((boxes >= 0) & (boxes <= [*size, *size]), axis=1)
        for border in borders:
            free &= growth.on_one_side(boxes, border)
        free &= ~meeting(boxes, growth.swept(_around(np.delete(at, number, axis=0), radius=4.0))).any(axis=1)
        near = marks[meeting(_hull(boxes), growth.swept(_around(marks, radius=2 * _OWN)))[0]]  # only these matter
        hidden = growth.swept(_around(near, radius=_MARK))
        if placed:
            free &= ~growth.conflicts(boxes, leaders, placed)
        covered, crossed = meeting(boxes, hidden).sum(axis=1), _passing(leaders[:, None], hidden).sum(axis=1)
        if number not in requested:
            free &= (covered == 0) & (crossed == 0)
            others = growth.swept(_around(near, radius=0.0))
            free &= (_FAR > 0) | ~meeting(boxes + _OWN * _OUTWARDS, others).any(axis=1)
        cost = np.where(free, _FAR / _WORTH + covered + crossed, np.inf)
        best = int(cost.argmin())  # ties go to the first, which is the nearest
        if np.isfinite(cost[best]):
            placed.append(_label(number, text, point, boxes[best]))
    return placed


def _label(number: int, text: str, point: NDArray[np.float64], box: Boxes) -> Label:
    left, top, right, bottom = box.tolist()
    x, y = point.tolist()
    edge = min(max(x, left), right), min(max(y, top), bottom)
    return Label(number, text, (left, top, right, bottom), (x, y), edge if math.dist(edge, (x, y)) > _NEAR else None)


def _around(points: NDArray[np.float64], *, radius: float) -> Boxes:
    return np.concatenate([points - radius, points + radius], axis=1)


def _hull(boxes: Boxes) -> Boxes:
    return np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])[None, :]


def _candidates(text: str, point: NDArray[np.float64], font_size: float) -> tuple[Boxes, NDArray[np.float64]]:
    """Return the places of a label, and the two ends of each leader line; both are equal for a label at its point."""
    half_width, half_height = text_width(text, font_size=font_size) / 2 + 1, font_size * 0.62
    x = point[0] + _RIGHT * (half_width + _GAP + _FAR)
    y = point[1] + _DOWN * (half_height + _GAP + _FAR)
    boxes = np.stack([x - half_width, y - half_height, x + half_width, y + half_height], axis=1)
    return boxes, _leader_lines(point, boxes)


def _leader_lines(points: NDArray[np.float64], boxes: Boxes) -> NDArray[np.float64]:
    """Return the two ends of each leader line outside the mark of its point."""
    ends = np.clip(points, boxes[:, :2], boxes[:, 2:])
    length = np.hypot(*(ends - points).T)[:, None]
    starts = points + (ends - points) * np.minimum(_OWN_MARK / np.maximum(length, _OWN_MARK), 1.0)
    return np.stack([np.where(length > _NEAR, starts, ends), ends], axis=1)


@dataclass(frozen=True)
class _Growth:
    """A chart that grows to `stretch` times its width, seen from one point: how the rest moves."""

    point: NDArray[np.float64]
    stretch: float

    def shift(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far things at `x` move away from the point, to the right, at the largest width."""
        return np.asarray((self.stretch - 1.0) * (x - self.point[0]))

    def swept(self, boxes: Boxes) -> Boxes:
        """Return the area that boxes around points cover on their way."""
        return _stretched(boxes, self.shift(boxes[:, ::2].mean(axis=1)))

    def on_one_side(self, boxes: Boxes, border: Line) -> NDArray[np.bool_]:
        """Return the labels that lie wholly on the side of the point, at the least and so at any width."""
        kept = np.ones(len(boxes), dtype=np.bool_)
        corners = boxes[:, [[0, 1], [2, 1], [0, 3], [2, 3]]] - self.point  # the offset of a label stays
        for wider in (1.0, self.stretch):
            start, end = np.array(border) * [wider, 1.0]
            at = self.point * [wider, 1.0]
            side = _cross(end - start, at - start)
            kept &= np.all(_cross(end - start, corners + at - start) * np.sign(side) >= 0, axis=1)
        return kept

    def conflicts(self, boxes: Boxes, leaders: NDArray[np.float64], placed: Sequence[Label]) -> NDArray[np.bool_]:
        """Return the labels that overlap placed ones, or whose leader lines cross them or theirs, at any width."""
        theirs, owners = np.array([label.box for label in placed]), np.array([label.point for label in placed])
        shift = self.shift(owners[:, 0])
        moving = _stretched(theirs, shift)
        lines = _leader_lines(owners, theirs)
        wider = _stretched(boxes[:, None], -shift)  # the labels, seen from the point of each placed one
        return np.asarray(
            np.any(
                meeting(boxes, moving)
                | _passing(leaders[:, None], moving)
                | _passing(lines, wider)
                | _crossing(leaders[:, None], lines, shift),
                axis=1,
            )
        )


def _stretched(boxes: Boxes, shift: NDArray[np.float64]) -> Boxes:
    """Return the area of boxes that move horizontally by the shift."""
    left, top, right, bottom = np.moveaxis(boxes, -1, 0)
    ends = left + np.minimum(shift, 0.0), top, right + np.maximum(shift, 0.0), bottom
    return np.stack(np.broadcast_arrays(*ends), axis=-1)


def _cross(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0])


def meeting(boxes: Boxes, others: Boxes) -> NDArray[np.bool_]:
    """Return which of the boxes (rows) overlap which of the others (columns)."""
    left, top, right, bottom = boxes.T[:, :, None]
    across = (left < others[:, 2]) & (others[:, 0] < right)
    return np.asarray(across & (top < others[:, 3]) & (others[:, 1] < bottom))


def _passing(lines: NDArray[np.float64], boxes: Boxes) -> NDArray[np.bool_]:
    """Return which lines run through which boxes; a line without length runs through none."""
    start, way = lines[..., 0, :], lines[..., 1, :] - lines[..., 0, :]
    has_length = np.any(way != 0, axis=-1)
    way = np.where(np.abs(way) < 1e-9, 1e-9, way)
    one, two = (boxes[..., :2] - start) / way, (boxes[..., 2:] - start) / way
    enters = np.minimum(one, two).max(axis=-1).clip(min=0.0)
    leaves = np.maximum(one, two).min(axis=-1).clip(max=1.0)
    return np.asarray(has_length & (enters < leaves))


def _crossing(lines: NDArray[np.float64], others: NDArray[np.float64], shift: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which lines meet which others while the others move to the right by their shift.

    At a height y of both, they meet once the other has moved by ``x(y) - x'(y)``, which is linear in y.
    """
    ends = [(line[..., 0, :], line[..., 1, :] - line[..., 0, :]) for line in (lines, others)]
    has_length = [np.any(way != 0, axis=-1) for _, way in ends]
    rises = [np.where(np.abs(way[..., 1]) < _LEVEL, _LEVEL, way[..., 1]) for _, way in ends]
    heights = [
        np.sort([start[..., 1], start[..., 1] + rise], axis=0) for (start, _), rise in zip(ends, rises, strict=True)
    ]
    low, high = np.maximum(heights[0][0], heights[1][0]), np.minimum(heights[0][1], heights[1][1])
    apart = []
    for y in (low, high):
        x, other = (start[..., 0] + way[..., 0] * (y - start[..., 1]) / rise
                    for (start, way), rise in zip(ends, rises, strict=True))  # fmt: skip
        apart.append(x - other)
    least, most = np.minimum(*apart), np.maximum(*apart)
    meets = (least <= np.maximum(shift, 0.0)) & (most >= np.minimum(shift, 0.0))
    return np.asarray(has_length[0] & has_length[1] & (low <= high) & meets)
