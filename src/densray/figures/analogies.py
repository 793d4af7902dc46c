"""Analogies at a glance: category by method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from densray.figures.heat_map import heat_map
from densray.figures.style import Row

__all__ = ["analogy_heat_map"]


def analogy_heat_map(rows: Sequence[Row], *, measure: str = "precision", title: str = "") -> Any:
    """Return a heat map of category by method with the number in each cell; darker is better.

    Parameters
    ----------
    rows
        Mappings with ``category``, ``method`` and the measure; cells without a number stay empty.
    measure
        The key of the numbers, between 0 and 1.
    title
        Shown above.
    """
    return heat_map(rows, down="category", across="method", measure=measure, title=title)
