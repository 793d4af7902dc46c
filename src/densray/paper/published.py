"""The published tables, cell by cell, as printed.

Transcribed from the LaTeX source of Philipp Dufter and Hinrich Schütze, *Analytical Methods for Interpretable
Ultradense Word Embeddings*, EMNLP 2019 (https://arxiv.org/abs/1904.08654): tables 1, 3 and 4, and the two
tables of the appendix, which are tables 5 (cosines in the complement) and 6 (cosines in the original space).
Figures 1 and 2 print no numbers.

Notes
-----
The tables agree with each other: every cell that table 4 shares with tables 5 and 6 is the same, and so are
the columns that tables 5 and 6 share.

Two things about their aggregate lines are not said in the paper, and follow from the numbers:

- A group line of BATS (such as "Derivational") is a mean over pairs, not over its ten categories: GN/BATS
  prints 0.44 for LRCos, where its ten categories have the mean 0.413.
- "Macro Mean" and "Macro Std" (with division by the count) count the lines above them as categories too: the
  "Micro Mean" and, for BATS, the four group lines. Taken so, all 96 published values come out within rounding
  (0.005). Taken over the categories alone, 4 of 48 means and 14 of 48 standard deviations are further away,
  the worst by 0.013, more than rounding can explain (FT/BATS, IntCos Original with DensRay: 0.353, printed
  0.34).
"""

from __future__ import annotations

import csv
from importlib import resources
from typing import Any

from densray.errors import DataError, suggest

__all__ = ["AGGREGATES", "DECIMALS", "GROUPS", "TABLES", "published"]

TABLES = ("table1", "table3", "table4", "table5", "table6")

DECIMALS = {"table1": 3, "table3": 2, "table4": 2, "table5": 2, "table6": 2}
"""How many decimals each table prints."""

GROUPS = ("Derivational", "Encyclopedia", "Inflectional", "Lexicography")
"""The lines of BATS that sum up ten categories each; a category belongs to the group of its first letter."""

AGGREGATES = ("Micro Mean", "Macro Mean", "Macro Std")
"""The lines at the foot of an analogy block."""


def published(table: str) -> list[dict[str, Any]]:
    """Return the cells of a published table in printed order; the number is under ``paper``.

    Parameters
    ----------
    table
        ``"table1"`` gives ``{line, task, embedding, train, test, method, paper}``, where ``*`` marks a
        continuous lexicon and line 9 is the macro mean; ``"table3"`` gives ``{block, word, anchor, paper}``;
        ``"table4"``, ``"table5"`` and ``"table6"`` give ``{block, category, column, paper}``, with the group
        and aggregate lines among the categories.

    Examples
    --------
    >>> published("table3")[0]
    {'block': 'original', 'word': 'actress', 'anchor': 'man', 'paper': 0.23}
    """
    if table not in TABLES:
        raise DataError(f"The paper has no numbers under '{table}'. {suggest(table, TABLES)}")
    source = resources.files("densray.paper") / "tables" / f"{table}.tsv"
    with source.open(encoding="utf-8") as stream:
        rows: list[dict[str, Any]] = list(csv.DictReader(stream, delimiter="\t"))
    for row in rows:
        row["paper"] = float(row["paper"])
        if "line" in row:
            row["line"] = int(row["line"])
    return rows
