"""Words on one axis, and on two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from densray.figures.scatter import padded_domain, word_scatter
from densray.figures.style import BLUE, GREY, INK, VERMILLION, Row, altair, checked_rows, styled, values

__all__ = ["axis_scatter", "ranked_words"]


def ranked_words(rows: Sequence[Row], *, n_words: int = 15, axis: str = "score on the axis", title: str = "") -> Any:
    """Return the words at both ends of an axis, ranked, each with its score.

    Parameters
    ----------
    rows
        Mappings with ``word`` and ``score``; where all have a ``standard_error`` too, bars of two of them are drawn.
    n_words
        How many words are shown from each end.
    axis
        Names the horizontal axis.
    title
        Shown above.
    """
    alt = altair()
    ordered = sorted(checked_rows(rows, "word", "score"), key=lambda row: (-float(row["score"]), row["word"]))
    count = min(n_words, len(ordered) // 2) or 1
    shown = [*ordered[:count], *ordered[-count:]]
    with_errors = all(row.get("standard_error") is not None for row in shown)
    for row in shown:
        reach = 2 * row["standard_error"] if with_errors else 0.0
        row |= {"least": row["score"] - reach, "most": row["score"] + reach}
    domain = list(padded_domain([0.0, *(row[end] for row in shown for end in ("least", "most"))]))

    def panel(part: list[dict[str, Any]], name: str, color: str, shape: str, *, last: bool) -> Any:
        words = [row["word"] for row in part]
        look: dict[str, Any] = {"title": axis if last else None, "axis": alt.Axis(labels=last, ticks=last)}
        across, least = (alt.X(f"{key}:Q", scale=alt.Scale(domain=domain, nice=False), **look)
                         for key in ("score", "least"))  # fmt: skip
        base = alt.Chart(values(part), title=name).encode(
            y=alt.Y("word:N", sort=words, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=240)),
            tooltip=["word:N", "score:Q"],
        )
        stems = base.mark_rule(color=color, opacity=0.5).encode(x=across, x2=alt.datum(0))
        heads = base.mark_point(color=color, shape=shape, filled=True, size=70, opacity=1).encode(x=across)
        bars = base.mark_rule(color=INK, strokeWidth=1.2).encode(x=least, x2="most:Q")
        return (stems + bars + heads if with_errors else stems + heads).properties(width=420, height=alt.Step(19))

    upper = panel(ordered[:count], "highest", BLUE, "triangle-right", last=False)
    lower = panel(ordered[-count:], "lowest", VERMILLION, "triangle-left", last=True)
    return styled(alt.vconcat(upper, lower, spacing=12), title=title)


def axis_scatter(
    rows: Sequence[Row], *, axes: tuple[str, str] = ("x", "y"), n_labels: int = 40, title: str = ""
) -> Any:
    """Return two axes against each other; the words furthest from the middle are labelled, none over another.

    Parameters
    ----------
    rows
        Mappings with ``word`` and a coordinate under the name of each axis.
    axes
        The names of the horizontal and the vertical axis.
    n_labels
        How many words are labelled where there is room.
    title
        Shown above.
    """
    first, second = axes
    rows = checked_rows(rows, "word", first, second)
    middle = {axis: sum(row[axis] for row in rows) / len(rows) for axis in axes}
    spread = {axis: max(abs(row[axis] - middle[axis]) for row in rows) or 1.0 for axis in axes}

    def distance(row: Row) -> float:
        return float(sum(((row[axis] - middle[axis]) / spread[axis]) ** 2 for axis in axes))

    scatter = word_scatter(
        rows,
        labelled=sorted(rows, key=distance, reverse=True)[:n_labels],
        x=(first, first, padded_domain([row[first] for row in rows], share=0.1)),
        y=(second, second, padded_domain([row[second] for row in rows])),
        size=(620, 480),
        mark={"size": 16, "color": BLUE, "filled": True, "opacity": 0.55},
    )
    return styled(altair().layer(*_zero_lines(), scatter), title=title)


def _zero_lines() -> list[Any]:
    alt = altair()
    line = alt.Chart(values([{}])).mark_rule(color=GREY, strokeDash=[4, 4], strokeWidth=0.8)
    return [line.encode(x=alt.datum(0)), line.encode(y=alt.datum(0))]
