"""Numbers in cells: rows by columns, shaded, each number written in its cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from densray.figures.style import Row, altair, checked_rows, styled, values

__all__ = ["angle_heat_map", "heat_map"]

#: One hue from light to dark: the order survives in grey.
_LIGHT, _DARK = "#F3F7FB", "#08306B"
_WHITE_FROM = 0.65  # the share of the range from which numbers are white


def heat_map(
    rows: Sequence[Row],
    *,
    down: str,
    across: str,
    measure: str,
    domain: tuple[float, float] = (0.0, 1.0),
    decimals: int = 2,
    legend: bool = True,
    title: str = "",
) -> Any:
    """Return a heat map with the number in each cell; darker is more.

    Parameters
    ----------
    rows
        Mappings with the two names of a cell and its number; cells without a number stay empty.
    down, across
        The keys of the names of rows and of columns, which keep the order they come in.
    measure
        The key of the numbers; names the legend.
    domain
        The numbers of the lightest and of the darkest shade.
    decimals
        Of the numbers in the cells.
    legend
        Whether the shades are explained.
    title
        Shown above.
    """
    alt = altair()
    rows = [{**row, "value": row[measure]} for row in checked_rows(rows, down, across, measure)]
    rows = [row for row in rows if row["value"] is not None]
    lines, columns = (list(dict.fromkeys(row[key] for row in rows)) for key in (down, across))
    base = alt.Chart(values(rows)).encode(
        x=alt.X(f"{across}:N", sort=columns, title=None,
                axis=alt.Axis(orient="top", labelAngle=-35, labelAlign="left", labelPadding=6, ticks=False,
                              domain=False, labelLimit=240)),
        y=alt.Y(f"{down}:N", sort=lines, title=None,
                axis=alt.Axis(ticks=False, domain=False, labelLimit=280)),
    )  # fmt: skip
    shades = alt.Scale(domain=list(domain), range=[_LIGHT, _DARK], clamp=True)
    explained = alt.Legend(title=measure, gradientLength=160) if legend else None
    cells = base.mark_rect(stroke="white").encode(
        color=alt.Color("value:Q", scale=shades, legend=explained),
        tooltip=[f"{down}:N", f"{across}:N", alt.Tooltip("value:Q", title=measure)],
    )
    white_from = domain[0] + _WHITE_FROM * (domain[1] - domain[0])
    numbers = base.mark_text(fontSize=11).encode(
        text=alt.Text("value:Q", format=f".{decimals}f"),
        color=alt.condition(f"datum.value > {white_from}", alt.value("white"), alt.value("black")),
    )
    return styled((cells + numbers).properties(width=alt.Step(56), height=alt.Step(20)), title=title)


def angle_heat_map(rows: Sequence[Row], *, title: str = "") -> Any:
    """Return the angles between axes, from 0 to 90 degrees: darker is further apart.

    Parameters
    ----------
    rows
        Mappings with ``first``, ``second`` and ``degrees``.
    title
        Shown above.
    """
    cells: dict[str, Any] = {"down": "first", "across": "second", "measure": "degrees"}
    return heat_map(rows, **cells, domain=(0.0, 90.0), decimals=1, legend=False, title=title)
