"""Answers to an analogy, and what their scores are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from densray.errors import DataError
from densray.figures.style import BLUE, INK, VERMILLION, Row, altair, checked_rows, styled, values, word_order

__all__ = ["answer_parts"]

_WIDTH, _GAP = 560, 12  # pixels, of all panels together, and between two
_NARROWEST, _WIDEST = 50, 190  # one panel
_LETTER = 6.0  # of a heading, roughly


def answer_parts(rows: Sequence[Row], *, parts: Sequence[str], mark: str = "", title: str = "") -> Any:
    """Return the scores of some answers beside the parts they are made of, a panel each.

    All panels have one scale, wherever they begin, so that differences between answers can be compared across parts:
    the part that tells two answers apart is the one in which they lie apart.

    Parameters
    ----------
    rows
        Mappings with ``word``, ``score`` and each part, in the order to be shown; parts that are None are not drawn.
    parts
        The keys of the parts.
    mark
        The word to be told from the others.
    title
        Shown above.
    """
    alt = altair()
    shown = ("score", *parts)
    rows = checked_rows(rows, "word", *shown)
    words = list(dict.fromkeys(row["word"] for row in rows))
    numbers = {name: [row[name] for row in rows if row[name] is not None] for name in shown}
    empty = next((name for name, known in numbers.items() if not known), None)
    if empty is not None:
        raise DataError(f"No row to draw has a number for '{empty}'. Leave it out.")
    span = max(max(known) - min(known) for known in numbers.values()) or 1.0
    width = min(max((_WIDTH + _GAP) // len(shown) - _GAP, _NARROWEST), _WIDEST)

    def panel(name: str) -> Any:
        middle = (min(numbers[name]) + max(numbers[name])) / 2
        domain = [middle - 0.58 * span, middle + 0.58 * span]
        points = [
            {"word": row["word"], "value": row[name], "marked": row["word"] == mark}
            for row in rows
            if row[name] is not None
        ]
        labels = {"labels": name == "score", "labelLimit": 240, "ticks": False, "domain": False, "grid": True}
        looks = [("color", VERMILLION, BLUE if name == "score" else INK), ("shape", "diamond", "circle")]
        return (
            alt.Chart(values(points), title=alt.Title(_lines(name, width), fontSize=11, anchor="middle", frame="group"))
            .mark_point(filled=True, size=70, opacity=1)
            .encode(
                x=alt.X("value:Q", title=None, scale=alt.Scale(domain=domain, nice=False),
                        axis=alt.Axis(tickCount=3 if width > 80 else 2, labelFontSize=10, labelOverlap=True)),
                y=alt.Y("word:N", **word_order(words), title=None, axis=alt.Axis(**labels)),
                tooltip=["word:N", alt.Tooltip("value:Q", title=name)],
                **{key: alt.when("datum.marked").then(alt.value(one)).otherwise(alt.value(other))
                   for key, one, other in looks},
            )
            .properties(width=width, height=alt.Step(21))
        )  # fmt: skip

    return styled(alt.hconcat(*map(panel, shown), spacing=_GAP), title=title)


def _lines(name: str, width: int) -> list[str]:
    """Return a name broken into lines that fit a width."""
    lines = [""]
    for word in name.split():
        longer = f"{lines[-1]} {word}".strip()
        lines[-1:] = [longer] if len(longer) * _LETTER <= width or not lines[-1] else [lines[-1], word]
    return lines
