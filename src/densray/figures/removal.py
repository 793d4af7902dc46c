"""Removal against its price: one point a remover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from densray.figures.scatter import padded_domain, word_scatter
from densray.figures.style import BLUE, Row, altair, checked_rows, styled

__all__ = ["removal_tradeoff"]

_SIZE = (520, 360)


def removal_tradeoff(
    rows: Sequence[Row],
    *,
    removed: str = "recovery (rbf)",
    kept: str = "men",
    title: str = "",
) -> Any:
    """Return one point a space: how much of the concept is left (up) against what else was kept (across).

    Parameters
    ----------
    rows
        Mappings with ``space`` and one number under the name of each of the two measures.
    removed, kept
        The measures on the vertical and the horizontal axis.
    title
        Shown above.
    """
    alt = altair()
    points = [{**row, "word": row["space"]} for row in checked_rows(rows, "space", removed, kept)]
    axes = {name: (name, name, padded_domain([row[name] for row in points])) for name in (removed, kept)}
    chart = word_scatter(
        points,
        labelled=range(len(points)),
        x=axes[kept],
        y=axes[removed],
        size=_SIZE,
        mark={"size": 60, "opacity": 0.9},
        encoding={"color": alt.value(BLUE)},
    )
    return styled(chart, title=title)
