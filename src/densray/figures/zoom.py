"""Labels that do not overlap however far a chart is zoomed in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from densray.figures.labels import meeting

__all__ = ["free_zooms"]

Pixels = NDArray[np.float64]
_BLOCK = 512  # labels looked at together


def free_zooms(points: Pixels, offsets: Pixels, sizes: Pixels) -> tuple[Pixels, Pixels]:
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
    """
    until, since = np.full(len(points), np.inf), np.ones(len(points))
    earlier, later, starts, ends = _meetings(points, offsets, sizes)
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
    points: Pixels, offsets: Pixels, sizes: Pixels
) -> tuple[NDArray[np.int64], NDArray[np.int64], Pixels, Pixels]:
    """Return the pairs of labels that meet at zoom 1 or beyond, by the later one, and from where to where they do."""
    earlier, later = _near_pairs(points, offsets, sizes)
    apart, ways = (places[earlier] - places[later] for places in (points, offsets))
    reach = (sizes[earlier] + sizes[later]) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(-reach - ways) / apart, (reach - ways) / apart])
    start, end = ends.min(axis=0).max(axis=1), ends.max(axis=0).min(axis=1)
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
