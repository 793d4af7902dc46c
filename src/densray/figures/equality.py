"""The line where two coordinates are equal, and the words furthest from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from densray.figures.scatter import ACROSS, UP, padded_domain, word_scatter
from densray.figures.style import BLUE, GREY, Row, altair, checked_rows, styled, values

__all__ = ["agreement_scatter", "equality_line", "furthest_from_equality"]

_SIZE = (460, 460)


def agreement_scatter(rows: Sequence[Row], *, methods: tuple[str, str], n_labels: int = 24, title: str = "") -> Any:
    """Return words by their standardised scores of two methods, and the line where these are equal.

    Parameters
    ----------
    rows
        Mappings with ``word``, and ``first`` and ``second``: the scores of the two methods.
    methods
        Their names, on the horizontal and the vertical axis.
    n_labels
        How many words are labelled: those furthest from the line, half on either side.
    title
        Shown above.
    """
    rows = checked_rows(rows, "word", "first", "second")
    domain = padded_domain([row[key] for row in rows for key in ("first", "second")])
    scatter = word_scatter(
        rows,
        labelled=furthest_from_equality(rows, "first", "second", n_labels),
        x=("first", f"{methods[0]} (standardised score)", domain),
        y=("second", f"{methods[1]} (standardised score)", domain),
        size=_SIZE,
        mark={"size": 14, "color": BLUE, "filled": True, "opacity": 0.45},
    )
    return styled(equality_line(domain) + scatter, title=title)


def furthest_from_equality(rows: Sequence[Row], first: str, second: str, count: int) -> list[int]:
    """Return the numbers of the words furthest from the line, alternating between its two sides."""
    ordered = sorted(range(len(rows)), key=lambda number: float(rows[number][first] - rows[number][second]))
    half = min(count // 2, len(ordered) // 2)
    return [number for pair in zip(ordered[:half], ordered[::-1][:half], strict=True) for number in pair]


def equality_line(domain: tuple[float, float]) -> Any:
    """Return the dashed line where both coordinates are equal."""
    line = altair().Chart(values([{ACROSS: end, UP: end} for end in domain]))
    return line.mark_line(color=GREY, strokeDash=[5, 4], strokeWidth=1).encode(x=f"{ACROSS}:Q", y=f"{UP}:Q")
