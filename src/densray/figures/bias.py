"""Figure 2 of the paper: words by their closeness to two anchors, before and after removal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from densray.figures.equality import equality_line, furthest_from_equality
from densray.figures.scatter import padded_domain, word_scatter
from densray.figures.style import BLUE, VERMILLION, Row, altair, checked_rows, styled

__all__ = ["anchor_scatter"]

_SIZE = (400, 400)


def anchor_scatter(
    rows: Sequence[Row], *, anchors: tuple[str, str] = ("man", "woman"), n_labels: int = 12, title: str = ""
) -> Any:
    """Return one panel per space: words by their cosines to two anchors, and the line where these are equal.

    Parameters
    ----------
    rows
        Mappings with ``word``, ``space`` (such as ``"original"`` and ``"complement"``) and one cosine under
        the name of each anchor.
    anchors
        The words on the horizontal and the vertical axis.
    n_labels
        How many words of each panel are labelled: those furthest from the line, half on either side.
    title
        Shown above.
    """
    alt = altair()
    first, second = anchors
    rows = checked_rows(rows, "word", "space", first, second)
    domain = padded_domain([row[anchor] for row in rows for anchor in anchors])
    for row in rows:
        row["nearer"] = first if row[first] > row[second] else second
    looks = alt.Scale(domain=list(anchors), range=[BLUE, VERMILLION])
    shapes = alt.Scale(domain=list(anchors), range=["circle", "triangle-up"])
    legend = alt.Legend(title="nearer to", orient="bottom", direction="horizontal", titleOrient="left")
    look = {
        "color": alt.Color("nearer:N", scale=looks, legend=legend),
        "shape": alt.Shape("nearer:N", scale=shapes, legend=legend),
    }
    panels = []
    for space in dict.fromkeys(row["space"] for row in rows):
        part = [row for row in rows if row["space"] == space]
        scatter = word_scatter(
            part,
            labelled=furthest_from_equality(part, first, second, n_labels),
            x=(first, f"cosine to “{first}”", domain),
            y=(second, f"cosine to “{second}”", domain),
            size=_SIZE,
            mark={"size": 28, "opacity": 0.75, "strokeWidth": 1.1},
            encoding=look,
        )
        panels.append((equality_line(domain) + scatter).properties(title=f"{space} space"))
    return styled(alt.hconcat(*panels, spacing=24), title=title)
