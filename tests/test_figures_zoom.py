"""However far a chart is zoomed in, the labels it shows stand apart."""

from __future__ import annotations

import numpy as np
import pytest

from densray.figures.zoom import least_zooms


@pytest.fixture
def labels():
    random = np.random.default_rng(0)
    points = random.normal(size=(200, 2)) * [60, 40] + [450, 310]
    offsets = random.uniform(-30, 30, (200, 2))
    sizes = np.stack([random.uniform(20, 80, 200), np.full(200, 13.0)], axis=1)
    return points, offsets, sizes


def overlapping(zoom, points, offsets, sizes):
    """Which labels overlap at a zoom, pair by pair."""
    middles = zoom * points + offsets
    apart = np.abs(middles[:, None] - middles[None])
    meets = (apart < (sizes[:, None] + sizes[None]) / 2 * (1 - 1e-9)).all(axis=2)
    return meets & ~np.eye(len(points), dtype=bool)


@pytest.mark.parametrize("zoom", [1.0, 1.37, 2.0, 3.9, 8.0, 25.0, 400.0])
def test_labels_shown_at_a_zoom_do_not_overlap(labels, zoom):
    shown = least_zooms(*labels) <= zoom
    assert not overlapping(zoom, *labels)[np.ix_(shown, shown)].any()
    assert overlapping(zoom, *labels).any() or zoom > 20  # shown all at once, they would


def test_the_nearer_one_looks_the_more_labels_there_are(labels):
    counts = [(least_zooms(*labels) <= zoom).sum() for zoom in (1, 2, 4, 1e9)]
    assert counts[0] >= 5
    assert counts == sorted(set(counts))
    assert counts[-1] == 200


def test_the_first_label_is_shown_always_and_order_matters(labels):
    assert least_zooms(*labels)[0] == 1.0
    backwards = least_zooms(*(part[::-1] for part in labels))[::-1]
    assert backwards[-1] == 1.0
    assert not np.array_equal(backwards, least_zooms(*labels))


def test_labels_of_one_point_wait_forever_and_none_are_nothing():
    points, offsets, sizes = np.zeros((2, 2)), np.zeros((2, 2)), np.full((2, 2), 10.0)
    assert least_zooms(points, offsets, sizes).tolist() == [1.0, np.inf]
    assert least_zooms(np.empty((0, 2)), np.empty((0, 2)), np.empty((0, 2))).size == 0


def test_two_labels_part_where_arithmetic_says():
    # 10 apart, both 30 wide: apart from zoom 3 on
    points, sizes = np.array([[0.0, 0.0], [10.0, 0.0]]), np.full((2, 2), 30.0)
    assert least_zooms(points, np.zeros((2, 2)), sizes) == pytest.approx([1.0, 3.0])
