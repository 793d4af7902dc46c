"""Figure 1 of the paper: how stable a method is as the training lexicon grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from densray.figures.style import Row, altair, checked_rows, method_encoding, method_looks, styled, values

__all__ = ["training_size"]


def training_size(rows: Sequence[Row], *, measure: str = "Kendall τ", title: str = "") -> Any:
    """Return mean (top) and standard deviation (bottom) of a measure against the size of the lexicon.

    Parameters
    ----------
    rows
        Mappings with ``method``, ``size``, ``mean`` and ``std``.
    measure
        What was measured; names the vertical axes.
    title
        Shown above.
    """
    alt = altair()
    rows = checked_rows(rows, "method", "size", "mean", "std")
    sizes = sorted({row["size"] for row in rows})
    looks = method_looks([row["method"] for row in rows])

    def panel(key: str, name: str, *, height: int, last: bool) -> Any:
        across = alt.X(
            "size:Q",
            title="words in the training lexicon" if last else None,
            scale=alt.Scale(type="log", base=2, nice=False, padding=12),
            axis=alt.Axis(values=sizes, labels=last, format="d", grid=False),
        )
        up = alt.Y(
            f"{key}:Q",
            title=f"{name} of {measure}",
            scale=alt.Scale(zero=key == "std", padding=8 * (key == "mean")),
        )
        lines = [
            alt.Chart(values([row for row in rows if row["method"] == method]))
            .mark_line(strokeWidth=1.8, color=color, strokeDash=dash)
            .encode(x=across, y=up)
            for method, (color, _, dash) in looks.items()
        ]
        points = (
            alt.Chart(values(rows))
            .mark_point(size=70, fill="white", opacity=1, strokeWidth=1.8)
            .encode(x=across, y=up, tooltip=["method:N", "size:Q", f"{key}:Q"], **method_encoding(looks))
        )
        return alt.layer(*lines, points).properties(width=460, height=height)

    upper = panel("mean", "mean", height=230, last=False)
    lower = panel("std", "std", height=150, last=True)
    return styled(alt.vconcat(upper, lower, spacing=14), title=title)
