"""How far an axis can be trusted: its eigenvalues, and the seeds that pull it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from densray.errors import DataError
from densray.figures.style import (
    BLACK,
    BLUE,
    GREY,
    VERMILLION,
    Row,
    altair,
    checked_rows,
    styled,
    values,
    word_order,
)

__all__ = ["eigenvalue_spectrum", "seed_influence"]

_ZERO = 1e-10  # eigenvalues smaller than this share of the largest carry no signal


def eigenvalue_spectrum(eigenvalues: Sequence[float], *, title: str = "") -> Any:
    """Return the eigenvalues by rank: positive ones part the classes, negative ones spread within them.

    Parameters
    ----------
    eigenvalues
        In any order; drawn in descending order.
    title
        Shown above.
    """
    alt = altair()
    ordered = sorted((float(value) for value in eigenvalues), reverse=True)
    if not ordered:
        raise DataError("There is nothing to draw: the list of eigenvalues is empty.")
    kinds = ["axis 0", "positive", "zero", "negative"]
    zero = _ZERO * max(abs(ordered[0]), abs(ordered[-1]))

    def kind(rank: int, value: float) -> str:
        return kinds[0] if rank == 0 else kinds[2] if abs(value) <= zero else kinds[1 if value > 0 else 3]

    rows = [{"axis": rank, "eigenvalue": v, "kind": kind(rank, v)} for rank, v in enumerate(ordered)]
    colors = alt.Scale(domain=kinds, range=[VERMILLION, BLUE, GREY, BLACK])
    shapes = alt.Scale(domain=kinds, range=["diamond", "circle", "stroke", "triangle-down"])
    legend = alt.Legend(title=None, symbolSize=80, symbolOpacity=1)
    points = (
        alt.Chart(values(rows))
        .mark_point(strokeWidth=1.4, opacity=1)
        .encode(
            x=alt.X("axis:Q", title="axis", scale=alt.Scale(nice=False, padding=10),
                    axis=alt.Axis(tickMinStep=1, grid=False)),
            y=alt.Y("eigenvalue:Q", title="eigenvalue"),
            color=alt.Color("kind:N", scale=colors, legend=legend),
            shape=alt.Shape("kind:N", scale=shapes, legend=legend),
            size=alt.condition("datum.axis == 0", alt.value(150), alt.value(28)),
            tooltip=["axis:Q", "eigenvalue:Q"],
        )
    )  # fmt: skip
    line = alt.Chart(values([{}])).mark_rule(color=GREY, strokeWidth=0.8).encode(y=alt.datum(0))
    return styled((line + points).properties(width=520, height=300), title=title)


def seed_influence(
    rows: Sequence[Row], *, n_seeds: int = 30, measure: str = "influence on the axis", title: str = ""
) -> Any:
    """Return the seeds that move the axis most when they are left out.

    Parameters
    ----------
    rows
        Mappings with ``word``, ``label`` and ``influence``.
    n_seeds
        How many seeds are shown, those of the greatest influence.
    measure
        Names the horizontal axis.
    title
        Shown above.
    """
    alt = altair()
    ordered = sorted(checked_rows(rows, "word", "label", "influence"), key=lambda row: -abs(float(row["influence"])))[
        :n_seeds
    ]
    middle = (max(row["label"] for row in rows) + min(row["label"] for row in rows)) / 2
    kinds = ["high label", "low label"]
    for row in ordered:
        row["kind"] = kinds[0] if row["label"] > middle else kinds[1]
    legend = alt.Legend(title=None, symbolSize=80, symbolOpacity=1)
    base = alt.Chart(values(ordered)).encode(
        x=alt.X("influence:Q", title=measure),
        y=alt.Y("word:N", **word_order([row["word"] for row in ordered]), title=None,
                axis=alt.Axis(ticks=False, domain=False, labelLimit=240)),
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[BLUE, VERMILLION]), legend=legend),
        tooltip=["word:N", "label:Q", "influence:Q"],
    )  # fmt: skip
    stems = base.mark_rule(opacity=0.5).encode(x2=alt.datum(0))
    shapes = alt.Scale(domain=kinds, range=["circle", "triangle-up"])
    heads = base.mark_point(size=70, filled=True, opacity=1).encode(
        shape=alt.Shape("kind:N", scale=shapes, legend=legend)
    )
    return styled((stems + heads).properties(width=420, height=alt.Step(18)), title=title)
