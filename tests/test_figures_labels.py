"""Labels stand where an exhaustive search puts them, and never overlap at any width of the chart."""

from __future__ import annotations

import math

import numpy as np
import pytest

from densray.figures._labels import apart_when_wider, place_labels, text_width

DIRECTIONS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))
DISTANCES = (0.0, 8.0, 16.0, 26.0, 38.0)


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def square(point, radius):
    return point[0] - radius, point[1] - radius, point[0] + radius, point[1] + radius


def runs_through(point, end, box):
    for t in [step / 8 for step in range(2, 9)]:
        x, y = (point[k] + (end[k] - point[k]) * t for k in (0, 1))
        if box[0] < x < box[2] and box[1] < y < box[3]:
            return True
    return False


def look_everywhere(texts, points, *, size, obstacles):
    """The same placement, slowly: every place of every label against every box."""
    placed = {}
    for number, (text, point) in enumerate(zip(texts, points, strict=True)):
        half = text_width(text, font_size=11) / 2 + 1, 11 * 0.62
        hard = [*placed.values(), *(square(other, 4.0) for row, other in enumerate(points) if row != number)]
        best, least = None, math.inf
        for far in DISTANCES:
            for ways in DIRECTIONS:
                middle = [point[k] + ways[k] * (half[k] + 5.0 + far) for k in (0, 1)]
                box = middle[0] - half[0], middle[1] - half[1], middle[0] + half[0], middle[1] + half[1]
                end = [min(max(point[k], box[k]), box[k + 2]) for k in (0, 1)]
                if min(box) < 0 or box[2] > size[0] or box[3] > size[1]:
                    continue
                if any(overlap(box, other) or runs_through(point, end, other) for other in hard):
                    continue
                cost = far / 24.0 + sum(overlap(box, square(other, 2.5)) for other in obstacles)
                if cost < least:
                    best, least = box, cost
        if best is not None:
            placed[number] = best
    return [(texts[number], ((b[0] + b[2]) / 2, (b[1] + b[3]) / 2)) for number, b in placed.items()]


@pytest.mark.parametrize("spread", [15.0, 60.0])
def test_labels_stand_where_a_look_at_every_place_puts_them(spread):
    random = np.random.default_rng(int(spread))
    points = random.normal(size=(120, 2)) * spread + [200.0, 150.0]
    texts = ["word" * int(length) for length in random.integers(1, 4, 60)]
    found = place_labels(texts, points[:60], size=(400, 300), obstacles=points)
    wanted = look_everywhere(texts, points[:60].tolist(), size=(400, 300), obstacles=points.tolist())
    assert [(label.text, label.middle) for label in found] == wanted
    assert 5 < len(wanted) < 60


def test_a_label_goes_further_to_keep_points_clear():
    beside = [(100.0 + step, 100.0) for step in range(12, 40, 6)]
    (label,) = place_labels(["word"], [(100.0, 100.0)], size=(300, 200), obstacles=beside)
    assert label.middle[0] < 100.0


def test_no_labels_and_no_obstacles_are_nothing():
    assert place_labels([], [], size=(10, 10)) == []


@pytest.mark.parametrize("width", [1.0, 1.2, 1.4, 1.6])
def test_labels_kept_for_a_range_of_widths_overlap_at_none_of_them(width):
    random = np.random.default_rng(0)
    points = random.normal(size=(200, 2)) * [60, 40] + [450, 310]
    half = np.stack([random.uniform(10, 40, 200), np.full(200, 6.5)], axis=1)
    offsets = random.uniform(-30, 30, (200, 2))
    boxes = np.concatenate([points + offsets - half, points + offsets + half], axis=1)
    kept = apart_when_wider(boxes, points, stretch=1.6)

    middles = points * [width, 1.0] + offsets
    wider = np.concatenate([middles - half, middles + half], axis=1).tolist()
    assert not any(overlap(wider[one], wider[two]) for one in kept for two in kept if one < two)
    assert any(overlap(one, two) for one in wider for two in wider if one is not two)  # all together, some would
    assert 0 in kept
    assert len(kept) > 5
