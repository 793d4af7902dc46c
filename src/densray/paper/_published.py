"""The published tables as data, and the comparison with our results."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any

from densray.errors import DataError, suggest
from densray.report import Column, Record, Table, show_number

TABLES = ("table1", "table3", "table4", "table5", "table6")

DECIMALS = {"table1": 3, "table3": 2, "table4": 2, "table5": 2, "table6": 2}
"""Number of decimals printed in each table."""

GROUPS = ("Derivational", "Encyclopedia", "Inflectional", "Lexicography")
"""The summary lines of BATS, for ten categories each; a category belongs to the group of its first letter."""

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


# Published numbers are rounded, ours are not. They count as equal within half a unit of the last decimal; the tolerance
# makes 0.125 and 0.13 equal in spite of the binary form of 0.13.
_ALLOWANCE = 1e-9


def compare(
    ours: Iterable[Record], published: Sequence[Record], *, include_absent: bool = False
) -> list[dict[str, Any]]:
    """Return our rows with the published number of the same cell and the difference.

    Parameters
    ----------
    ours
        Rows with the keys of the published table and ``ours`` in place of ``paper``; further keys (such as
        ``pairs``) are kept.
    published
        The result of :func:`published`.
    include_absent
        Whether published cells that we did not compute are shown too, with ``ours`` = ``None``.

    Returns
    -------
    list of dict
        In the order of the published table, followed by rows that it lacks (``paper`` = ``None``). The
        ``difference`` is ours minus the paper's.

    Examples
    --------
    >>> compare([{"word": "nurse", "ours": 0.5}], [{"word": "nurse", "paper": 0.25}])
    [{'word': 'nurse', 'ours': 0.5, 'paper': 0.25, 'difference': 0.25}]
    """
    if not published:
        raise DataError("There are no published rows to compare with. Pass the result of published().")
    keys = [key for key in published[0] if key != "paper"]
    mine: dict[tuple[Any, ...], Record] = {}
    for row in ours:
        cell = tuple(_value(row, key) for key in keys)
        if cell in mine:
            raise DataError(f"Two of our rows are for the same cell: {dict(zip(keys, cell, strict=True))}.")
        mine[cell] = row
    compared = []
    for row in published:
        own = mine.pop(tuple(row[key] for key in keys), None)
        if own is not None or include_absent:
            compared.append(_beside(row if own is None else own, row["paper"]))
    return compared + [_beside(row, None) for row in mine.values()]


def agreement(rows: Sequence[Record], *, decimals: int) -> dict[str, Any]:
    """Return statistics of compared rows: cells compared, equal when rounded, mean and largest difference.

    >>> agreement([{"ours": 0.504, "paper": 0.5}, {"ours": 0.52, "paper": 0.5}], decimals=2)["equal"]
    1
    """
    gaps = [abs(row["ours"] - row["paper"]) for row in rows if _number(row, "ours") and _number(row, "paper")]
    half = 0.5 * 10.0**-decimals + _ALLOWANCE
    return {
        "cells": len(rows),
        "compared": len(gaps),
        "equal": sum(gap <= half for gap in gaps),
        "mean_difference": sum(gaps) / len(gaps) if gaps else None,
        "largest_difference": max(gaps, default=None),
    }


#: Explanations of columns that are not keys of the published table.
_EXPLAINED = {
    "listed": "listed: whether the word is among the five most biased words of each gender here, as in the paper."
}


def comparison_table(table: str, rows: Sequence[Record]) -> Table:
    """Return compared rows as a table: the keys of the cell, our number, the paper's, the difference, and a count.

    Parameters
    ----------
    table
        The published table of the rows; it determines the number of decimals.
    rows
        The result of :func:`compare`.
    """
    decimals = DECIMALS[table]
    numbers = ("ours", "paper", "difference")
    keys = list(dict.fromkeys(key for row in rows for key in row if key not in numbers))
    totals = agreement(rows, decimals=decimals)
    note = f"{totals['equal']} of {totals['compared']} cells agree with the paper to {decimals} decimals"
    if totals["compared"]:
        note += f"; the largest difference is {show_number(totals['largest_difference'], decimals + 1)}"
    notes = [f"{note}.", *(explanation for key, explanation in _EXPLAINED.items() if key in keys)]
    columns: list[Column | str] = [*keys, *(Column(key, decimals=decimals) for key in numbers[:2])]
    title = f"{table[:-1].capitalize()} {table[-1]}: ours next to the paper's"
    return Table(title, [*columns, Column("difference", decimals=decimals + 1)], rows, notes)


def _value(row: Record, key: str) -> Any:
    if key not in row:
        raise DataError(f"One of our rows has no '{key}': {dict(row)}. Give it the keys of the published table.")
    return row[key]


def _number(row: Record, key: str) -> bool:
    value = row.get(key)
    return value is not None and not math.isnan(value)


def _beside(row: Record, paper: float | None) -> dict[str, Any]:
    rest = {key: value for key, value in row.items() if key not in ("ours", "paper")}
    cells = {"ours": row.get("ours"), "paper": paper}
    both = _number(cells, "ours") and _number(cells, "paper")
    return {**rest, **cells, "difference": row["ours"] - paper if both else None}
