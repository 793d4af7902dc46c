"""Where a vocabulary lies on an axis, and where its seeds do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray.errors import DataError
from densray.figures.style import BLUE, GREY, VERMILLION, altair, styled, values

__all__ = ["score_histogram"]

Scores = NDArray[np.float64]

_WIDTH = 420


def score_histogram(
    vocabulary: ArrayLike,
    seeds: Mapping[str, ArrayLike] | None = None,
    *,
    n_bins: int = 60,
    axis: str = "score on the axis",
    title: str = "",
) -> Any:
    """Return how many words score what: the vocabulary above, the seeds below on the same axis.

    Parameters
    ----------
    vocabulary
        The scores of all words.
    seeds
        Scores by the name of the group, at most two groups: the higher, then the lower.
    n_bins
        How many bins the range of all scores is cut into.
    axis
        Names the horizontal axis.
    title
        Shown above.
    """
    words = np.asarray(vocabulary, dtype=np.float64)
    if not words.size:
        raise DataError("There is nothing to draw: the vocabulary has no score.")
    named = {name: np.asarray(scores, dtype=np.float64) for name, scores in (seeds or {}).items()}
    groups = {name: scores for name, scores in named.items() if scores.size}
    edges = np.histogram_bin_edges(np.concatenate([words, *groups.values()]), bins=n_bins)
    alt = altair()
    domain = [float(edges[0]), float(edges[-1])]
    counted = _counted({"vocabulary": words}, edges)
    upper = _bars(counted, "words", 150, domain, axis=None if groups else axis).encode(color=alt.value(GREY))
    if not groups:
        return styled(upper, title=title)
    colors = alt.Scale(domain=list(groups), range=[BLUE, VERMILLION][: len(groups)])
    lower = _bars(_counted(groups, edges), "seeds", 80, domain, axis=axis).encode(
        color=alt.Color("group:N", scale=colors, legend=alt.Legend(title=None, orient="bottom"))
    )
    return styled(alt.vconcat(upper, lower, spacing=6).resolve_scale(color="independent"), title=title)


def _counted(groups: Mapping[str, Scores], edges: Scores) -> list[dict[str, Any]]:
    return [
        {"group": name, "from": float(low), "to": float(high), "count": int(count)}
        for name, scores in groups.items()
        for low, high, count in zip(edges, edges[1:], np.histogram(scores, bins=edges)[0], strict=False)
        if count
    ]


def _bars(rows: list[dict[str, Any]], noun: str, height: int, domain: list[float], *, axis: str | None) -> Any:
    """Return bars with their edges where the bins have them, over a given range."""
    alt = altair()
    return (
        alt.Chart(values(rows))
        .mark_bar(stroke="white", strokeWidth=0.3)
        .encode(
            x=alt.X("from:Q", title=axis, bin="binned", scale=alt.Scale(domain=domain, nice=False),
                    axis=alt.Axis(labels=axis is not None, ticks=axis is not None, grid=False)),
            x2="to:Q",
            y=alt.Y("count:Q", title=noun, axis=alt.Axis(tickCount=4, format="~s")),
            tooltip=["group:N", alt.Tooltip("from:Q", format=".3f"), alt.Tooltip("to:Q", format=".3f"), "count:Q"],
        )
        .properties(width=_WIDTH, height=height)
    )  # fmt: skip
