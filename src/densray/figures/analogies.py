"""Analogies at a glance: category by method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from densray.figures.style import Row, altair, checked_rows, styled, values

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
    alt = altair()
    rows = checked_rows(rows, "category", "method", measure)
    rows = [{**row, "value": row[measure]} for row in rows if row[measure] is not None]
    categories, methods = (list(dict.fromkeys(row[key] for row in rows)) for key in ("category", "method"))
    base = alt.Chart(values(rows)).encode(
        x=alt.X("method:N", sort=methods, title=None,
                axis=alt.Axis(orient="top", labelAngle=-35, labelAlign="left", labelPadding=6, ticks=False,
                              domain=False, labelLimit=240)),
        y=alt.Y("category:N", sort=categories, title=None,
                axis=alt.Axis(ticks=False, domain=False, labelLimit=280)),
    )  # fmt: skip
    # One hue from light to dark: the order survives in grey.
    shades = alt.Scale(domain=[0, 1], range=["#F3F7FB", "#08306B"])
    cells = base.mark_rect(stroke="white").encode(
        color=alt.Color("value:Q", scale=shades, legend=alt.Legend(title=measure, gradientLength=160)),
        tooltip=["category:N", "method:N", alt.Tooltip("value:Q", title=measure)],
    )
    numbers = base.mark_text(fontSize=11).encode(
        text=alt.Text("value:Q", format=".2f"),
        color=alt.condition("datum.value > 0.65", alt.value("white"), alt.value("black")),
    )
    return styled((cells + numbers).properties(width=alt.Step(56), height=alt.Step(20)), title=title)
