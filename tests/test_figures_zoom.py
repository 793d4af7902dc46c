"""However far a chart is zoomed in, the labels it shows stand apart."""

from __future__ import annotations

import numpy as np
import pytest

from densray.figures._scatter import free_zooms


@pytest.fixture
def labels():
    random = np.random.default_rng(0)
    points = random.normal(size=(200, 2)) * [60, 40] + [450, 310]
    offsets = random.uniform(-30, 30, (200, 2))
    sizes = np.stack([random.uniform(20, 80, 200), np.full(200, 13.0)], axis=1)
    return points, offsets, sizes


def shown(zoom, labels):
    until, since = free_zooms(*labels)
    return (zoom < until) | (zoom >= since)


def overlapping(zoom, points, offsets, sizes):
    """Which labels overlap at a zoom, pair by pair."""
    middles = zoom * points + offsets
    apart = np.abs(middles[:, None] - middles[None])
    meets = (apart < (sizes[:, None] + sizes[None]) / 2 * (1 - 1e-9)).all(axis=2)
    return meets & ~np.eye(len(points), dtype=bool)


@pytest.mark.parametrize("zoom", [1.0, 1.37, 2.0, 2.9, 3.9, 8.0, 25.0, 400.0])
def test_labels_shown_at_a_zoom_do_not_overlap(labels, zoom):
    seen = shown(zoom, labels)
    assert not overlapping(zoom, *labels)[np.ix_(seen, seen)].any()
    assert overlapping(zoom, *labels).any() or zoom > 20  # shown all at once, they would


@pytest.mark.parametrize("stretch", [1.0, 1.2, 1.59])
@pytest.mark.parametrize("zoom", [1.0, 1.37, 3.9, 25.0])
def test_labels_that_hold_for_a_range_of_widths_overlap_at_none_of_them(labels, zoom, stretch):
    until, since = free_zooms(*labels, stretch=1.6)
    seen = (zoom < until) | (zoom >= since)
    points, offsets, sizes = labels
    wider = overlapping(zoom, points * [stretch, 1.0], offsets, sizes)
    assert not wider[np.ix_(seen, seen)].any()
    assert seen.sum() > 5


def test_what_is_free_at_the_start_is_shown_at_the_start(labels):
    seen = shown(1.0, labels)
    blocked = overlapping(1.0, *labels)
    first_come = np.zeros(200, dtype=bool)
    for number in range(200):
        first_come[number] = not (blocked[number] & first_come).any()
    assert np.array_equal(seen, first_come)
    assert 5 < seen.sum() < 200


def test_zoomed_in_far_all_labels_are_shown(labels):
    counts = [shown(zoom, labels).sum() for zoom in (1, 4, 1e9)]
    assert counts == sorted(set(counts))
    assert counts[-1] == 200


def test_the_first_label_is_shown_always_and_order_matters(labels):
    assert all(shown(zoom, labels)[0] for zoom in (1.0, 2.0, 10.0))
    backwards = tuple(part[::-1] for part in labels)
    assert all(shown(zoom, backwards)[0] for zoom in (1.0, 2.0, 10.0))
    assert not np.array_equal(shown(1.0, backwards)[::-1], shown(1.0, labels))


def test_labels_of_one_point_wait_forever_and_none_are_nothing():
    points, offsets, sizes = np.zeros((2, 2)), np.zeros((2, 2)), np.full((2, 2), 10.0)
    assert free_zooms(points, offsets, sizes)[1].tolist() == [1.0, np.inf]
    assert free_zooms(np.empty((0, 2)), np.empty((0, 2)), np.empty((0, 2)))[1].size == 0


def test_two_labels_part_where_arithmetic_says():
    # 10 apart, both 30 wide: apart from zoom 3 on
    points, sizes = np.array([[0.0, 0.0], [10.0, 0.0]]), np.full((2, 2), 30.0)
    assert free_zooms(points, np.zeros((2, 2)), sizes)[1] == pytest.approx([1.0, 3.0])
    # swapped: the left label stands 50 right of its point; they meet while 10 z is within 30 of 50
    until, since = free_zooms(points, np.array([[50.0, 0.0], [0.0, 0.0]]), sizes)
    assert (until[1], since[1]) == pytest.approx((2.0, 8.0))
