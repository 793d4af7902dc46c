"""Labels that do not overlap: a small greedy placement in pixels."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Label", "meeting", "place_labels", "text_width"]

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
    return 0.32 if character in _NARROW else 0.86 if character in _BROAD else 0.57


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
