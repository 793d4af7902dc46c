"""Labels stand where an exhaustive search puts them, and mislead at no width of the chart."""

from __future__ import annotations

import math

import numpy as np
import pytest

from densray.figures._labels import place_labels, text_width

DIRECTIONS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))
DISTANCES = (0.0, 8.0, 16.0, 26.0, 38.0)
STEPS = np.linspace(0.0, 1.0, 400)[:, None]


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def square(point, radius):
    return point[0] - radius, point[1] - radius, point[0] + radius, point[1] + radius


def leader_line(point, box):
    """The points of a leader line outside the mark of its point; none if the label is at its point."""
    start = np.array(point)
    end = np.array([min(max(point[k], box[k]), box[k + 2]) for k in (0, 1)])
    length = math.dist(start, end)
    return (
        np.empty((0, 2))
        if length <= 5.0 * math.sqrt(2) + 0.5
        else start + (end - start) * (4.5 / length + (1 - 4.5 / length) * STEPS)
    )


def runs_through(line, box):
    x, y = line.T
    return bool(np.any((box[0] < x) & (x < box[2]) & (box[1] < y) & (y < box[3])))


def crosses(line, other):
    """Whether two lines have opposite sides of each other."""
    if not (len(line) and len(other)):
        return False

    def sides(one, two):
        way = one[-1] - one[0]
        return [way[0] * (end - one[0])[1] - way[1] * (end - one[0])[0] for end in (two[0], two[-1])]

    return math.prod(sides(line, other)) < 0 and math.prod(sides(other, line)) < 0


def look_everywhere(texts, points, *, size, obstacles):
    """The same placement, slowly: every place of every label against everything else."""
    placed = {}
    for number, (text, point) in enumerate(zip(texts, points, strict=True)):
        half = text_width(text, font_size=11) / 2 + 1, 11 * 0.62
        lines = [leader_line(points[other], box) for other, box in placed.items()]
        hard = [*placed.values(), *(square(other, 4.0) for row, other in enumerate(points) if row != number)]
        best, least = None, math.inf
        for far in DISTANCES:
            for ways in DIRECTIONS:
                middle = [point[k] + ways[k] * (half[k] + 5.0 + far) for k in (0, 1)]
                box = middle[0] - half[0], middle[1] - half[1], middle[0] + half[0], middle[1] + half[1]
                line = leader_line(point, box)
                if min(box) < 0 or box[2] > size[0] or box[3] > size[1]:
                    continue
                if any(overlap(box, other) for other in hard):
                    continue
                if any(runs_through(line, other) for other in placed.values()):
                    continue
                if any(runs_through(line, square(other, 3.5)) for other in obstacles):
                    continue
                if any(runs_through(other, box) or crosses(line, other) for other in lines):
                    continue
                if any(overlap(box, square(other, 3.5)) for other in obstacles):
                    continue
                around = box[0] - 4.5, box[1] - 4.5, box[2] + 4.5, box[3] + 4.5
                if far == 0 and any(overlap(around, square(other, 0.0)) for other in obstacles):
                    continue  # without a leader line, it seems to belong to that point
                if far < least:
                    best, least = box, far
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
    assert [label.text for label in found] == [text for text, _ in wanted]
    np.testing.assert_allclose([label.middle for label in found], [middle for _, middle in wanted])
    assert 3 < len(wanted) < 60


def test_a_label_goes_further_to_keep_points_clear():
    beside = [(100.0 + step, 100.0) for step in range(12, 40, 6)]
    (label,) = place_labels(["word"], [(100.0, 100.0)], size=(300, 200), obstacles=beside)
    assert label.middle[0] < 100.0


def test_a_label_without_a_leader_line_is_next_to_no_other_point():
    place = {"size": (300, 200), "obstacles": [(100.0, 100.0), (133.0, 91.0), (66.0, 91.0)]}
    (label,) = place_labels(["word"], [(100.0, 100.0)], **place)
    assert label.middle[1] != 100.0  # at its right and at its left there is another point above the word
    line = [(100.0 + step, 100.0 + down) for step in range(-80, 81, 10) for down in (-8, 8)]
    assert place_labels(["word"], [(100.0, 100.0)], size=(300, 200), obstacles=line) == []


def test_a_label_that_would_hide_points_is_left_out():
    crowd = [(100.0 + x, 100.0 + y) for x in range(-120, 121, 8) for y in range(-80, 81, 8)]
    assert place_labels(["word"], [(100.0, 100.0)], size=(200, 200), obstacles=crowd) == []
    assert len(place_labels(["word"], [(100.0, 100.0)], size=(200, 200), obstacles=crowd, requested=[0])) == 1


def test_no_labels_and_no_obstacles_are_nothing():
    assert place_labels([], [], size=(10, 10)) == []


ZERO, DIAGONAL = ((200.0, 0.0), (200.0, 300.0)), ((0.0, 300.0), (400.0, 0.0))


def broken_promises(labels, marks, border, width):
    """What is wrong with the labels in a chart of `width` times the size: each promise that is broken."""
    wrong = set()
    wider = np.array([width, 1.0])
    shown = []
    for label in labels:
        point = np.array(label.point) * wider
        box = np.array(label.box) - np.tile(label.point, 2) + np.tile(point, 2)
        shown.append((point, box, leader_line(point, box)))
    (x0, y0), (x1, y1) = (np.array(end) * wider for end in border)
    for number, (point, box, line) in enumerate(shown):
        corners = [point, *((box[k], box[j]) for k in (0, 2) for j in (1, 3))]
        sides = [(x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) for x, y in corners]
        if min(sides) < -1e-9 and max(sides) > 1e-9:
            wrong.add("a label crosses the border")
        if any(runs_through(line, square(mark, 3.5)) for mark in marks * wider):
            wrong.add("a leader line crosses a mark")
        for _, other, other_line in shown[:number]:
            if overlap(box, other):
                wrong.add("labels overlap")
            if runs_through(line, other) or runs_through(other_line, box):
                wrong.add("a leader line crosses a label")
            if crosses(line, other_line):
                wrong.add("leader lines cross")
    return wrong


@pytest.mark.parametrize("border", [ZERO, DIAGONAL])
def test_labels_mislead_at_no_width_of_the_chart(border):
    random = np.random.default_rng(0)
    marks = random.normal(size=(120, 2)) * [90, 70] + [200.0, 150.0]
    texts = ["word" * int(length) for length in random.integers(1, 4, 120)]
    place = {"size": (400, 300), "obstacles": marks}
    labels = place_labels(texts, marks, borders=[border], stretch=1.6, **place)
    assert len(labels) > 30
    assert any(label.leader for label in labels)
    wrong = [broken_promises(labels, marks, border, width) for width in np.linspace(1.0, 1.6, 13)]
    assert not set().union(*wrong), wrong

    careless = place_labels(texts, marks, **place)  # placed for one width, without the border
    assert "a label crosses the border" in broken_promises(careless, marks, border, 1.0)
    careless = place_labels(texts, marks, size=(400, 300))
    later = [broken_promises(careless, marks, border, width) for width in np.linspace(1.0, 1.6, 13)]
    assert "labels overlap" in set().union(*later)
