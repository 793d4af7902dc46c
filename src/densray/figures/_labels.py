"""Placement of labels next to points, so that none covers another."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Candidate directions of a label from its point, as (right, down); near places are tried first.
_DIRECTIONS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))
_DISTANCES = (0.0, 8.0, 16.0, 26.0, 38.0)
_FAR, _RIGHT, _DOWN = np.array([(far, *ways) for far in _DISTANCES for ways in _DIRECTIONS]).T
_WORTH = 24.0  # covering a point costs as much as this many pixels of distance
_GAP = 5.0
_STEPS = np.arange(2, 9) / 8  # shares of the length of a leader line at which crossings are tested

_NARROW, _BROAD = frozenset("fijlrtI.,:;'|!()[]- "), frozenset("mwMW@%")

Point = tuple[float, float]
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
) -> list[Label]:
    """Return the labels that fit, in the order of `texts`.

    Each label takes the nearest free place around its point: inside the chart, not over the labels placed before
    or the points of other labels, and if possible not over the ``obstacles``. A label that does not fit is
    left out.

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
    """
    at = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    soft = _around(np.asarray(obstacles, dtype=np.float64).reshape(-1, 2), radius=2.5)
    hard = np.concatenate([_around(at, radius=4.0), np.empty((len(at), 4))])  # the points, then the placed labels
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
    return Label(number, text, (left, top, right, bottom), (x, y), edge if is_far else None)


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
    """Return the nearest free box that covers the fewest other points; None if no box is free."""
    boxes = _candidates(text, point, font_size)
    reach = np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])[None, :]
    hard, soft = (others[meeting(reach, others)[0]] for others in (hard, soft))  # only nearby boxes matter
    is_inside = np.all((boxes >= 0) & (boxes <= [*size, *size]), axis=1)
    free = np.asarray(is_inside & ~meeting(boxes, hard).any(axis=1))
    free[free] = ~_crosses(point, boxes[free], hard)
    cost = np.where(free, _FAR / _WORTH + meeting(boxes, soft).sum(axis=1), np.inf)
    best = int(cost.argmin())  # ties go to the first, which is the nearest
    return boxes[best] if free[best] else None


def meeting(boxes: Boxes, others: Boxes) -> NDArray[np.bool_]:
    """Return which of the boxes (rows) overlap which of the others (columns)."""
    left, top, right, bottom = boxes.T[:, :, None]
    across = (left < others[:, 2]) & (others[:, 0] < right)
    return np.asarray(across & (top < others[:, 3]) & (others[:, 1] < bottom))


def _crosses(point: NDArray[np.float64], boxes: Boxes, others: Boxes) -> NDArray[np.bool_]:
    """Return the boxes for which a line from the point would cross one of the others."""
    ends = np.clip(point, boxes[:, :2], boxes[:, 2:])
    x, y = (point[k] + (ends[:, k] - point[k])[:, None, None] * _STEPS[:, None] for k in (0, 1))
    inside = (others[:, 0] < x) & (x < others[:, 2]) & (others[:, 1] < y) & (y < others[:, 3])
    return np.asarray(np.any(inside, axis=(1, 2)))


def apart_when_wider(boxes: Boxes, points: NDArray[np.float64], *, stretch: float) -> list[int]:
    """Return the indices of labels that never overlap while a chart grows from its width to a wider one.

    A wider chart moves points apart horizontally; a label keeps its size and its offset from its point. At the width t,
    between 1 and `stretch`, the left ends of two labels are ``t Δ + δ`` apart (Δ between their points, δ between their
    offsets), which changes monotonically over the range. Of two labels that would
    overlap at some width, the first stays.

    Parameters
    ----------
    boxes
        The labels at the narrowest width, the most important first.
    points
        Their points, one per row.
    stretch
        Ratio of the largest width to the narrowest.
    """
    left, top, right, bottom = boxes.T
    moves = (stretch - 1.0) * points[:, 0]
    kept: list[int] = []
    for number in range(len(boxes)):
        others = np.array(kept, dtype=np.int64)
        before = (
            left[others] - right[number],
            right[others] - left[number],
        )  # they overlap where the first is negative and the second positive
        grows = moves[others] - moves[number]
        across = (np.minimum(before[0], before[0] + grows) < 0) & (np.maximum(before[1], before[1] + grows) > 0)
        if not np.any(across & (top[others] < bottom[number]) & (top[number] < bottom[others])):
            kept.append(number)
    return kept
