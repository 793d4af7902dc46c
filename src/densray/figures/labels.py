"""Labels that do not overlap: a small greedy placement in pixels."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Label", "place_labels", "text_width"]

# Where a label may stand, seen from its point: (right, down) in directions; nearer places are tried first.
_DIRECTIONS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))
_DISTANCES = (0.0, 8.0, 16.0, 26.0, 38.0)
_WORTH = 24.0  # how many pixels further away a label goes to keep one more point clear
_GAP = 5.0
_STEPS = [step / 8 for step in range(2, 9)]  # where along its length a leader line is looked at

_NARROW, _BROAD = frozenset("fijlrtI.,:;'|!()[]- "), frozenset("mwMW@%")


Point = tuple[float, float]


@dataclass(frozen=True)
class Label:
    """A placed label, in pixels: the middle of its box, its point, the end of a leader line if it is far."""

    text: str
    middle: Point
    point: Point
    leader: Point | None


@dataclass(frozen=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> Point:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def nearest(self, point: Point) -> Point:
        """The place inside the box that is nearest to a point."""
        return min(max(point[0], self.left), self.right), min(max(point[1], self.top), self.bottom)

    def holds(self, point: Point) -> bool:
        return self.left < point[0] < self.right and self.top < point[1] < self.bottom

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def text_width(text: str, *, font_size: float) -> float:
    """Return about how wide a text is drawn in a sans-serif font."""
    return font_size * sum(_ems(character) for character in text)


def _ems(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    return 0.32 if character in _NARROW else 0.86 if character in _BROAD else 0.57


def place_labels(
    texts: Sequence[str],
    points: Sequence[Point],
    *,
    size: tuple[float, float],
    font_size: float = 11,
    obstacles: Sequence[Point] = (),
) -> list[Label]:
    """Return the labels that find a place, the first ones first.

    Each label takes the nearest free place around its point that stays inside the chart and meets neither a
    label placed before nor the point of another label nor, if it can be had, any of the ``obstacles``. One
    without such a place is left out.

    Parameters
    ----------
    texts, points
        The labels, the most important first, and the points they belong to, in pixels from the top left.
    size
        Width and height of the chart in pixels.
    font_size
        The size the labels are drawn in.
    obstacles
        Other points of the chart.
    """
    frame = _Box(0, 0, *size)
    marks = [_around(point) for point in points]
    soft = [_around(point, radius=2.5) for point in obstacles]
    boxes: list[_Box] = []
    placed: list[Label] = []
    for number, (text, point) in enumerate(zip(texts, points, strict=True)):
        hard = boxes + marks[:number] + marks[number + 1 :]
        box = _best_place(text, point, frame=frame, font_size=font_size, hard=hard, soft=soft)
        if box is not None:
            boxes.append(box)
            edge = box.nearest(point)
            is_far = math.dist(edge, point) > _GAP * math.sqrt(2) + 0.5
            placed.append(Label(text, box.middle, point, edge if is_far else None))
    return placed


def _around(point: Point, *, radius: float = 4.0) -> _Box:
    x, y = point
    return _Box(x - radius, y - radius, x + radius, y + radius)


def _candidates(text: str, point: Point, font_size: float) -> Iterator[tuple[float, _Box]]:
    half_width, half_height = text_width(text, font_size=font_size) / 2 + 1, font_size * 0.62
    for distance in _DISTANCES:
        for right, down in _DIRECTIONS:
            x = point[0] + right * (half_width + _GAP + distance)
            y = point[1] + down * (half_height + _GAP + distance)
            yield distance, _Box(x - half_width, y - half_height, x + half_width, y + half_height)


def _best_place(
    text: str, point: Point, *, frame: _Box, font_size: float, hard: Sequence[_Box], soft: Sequence[_Box]
) -> _Box | None:
    """Return the free box that covers the fewest other points; one point weighs as much as some distance."""
    best, least = None, math.inf
    for distance, box in _candidates(text, point, font_size):
        if distance / _WORTH >= least:
            break  # further away than a better place is worth
        inside = frame.left <= box.left and frame.top <= box.top
        inside = inside and box.right <= frame.right and box.bottom <= frame.bottom
        if not inside or any(box.meets(other) for other in hard) or _crosses(point, box, hard):
            continue
        cost = distance / _WORTH + sum(box.meets(other) for other in soft)
        if cost < least:
            best, least = box, cost
    return best


def _crosses(point: Point, box: _Box, others: Sequence[_Box]) -> bool:
    end = box.nearest(point)
    steps = [(point[0] + (end[0] - point[0]) * t, point[1] + (end[1] - point[1]) * t) for t in _STEPS]
    return any(other.holds(step) for other in others for step in steps)
