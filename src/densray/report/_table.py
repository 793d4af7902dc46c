"""Tables as data: unrounded rows, and a hint per column how to show them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from densray.report._numbers import MISSING, show_count, show_number

Row = Mapping[str, Any]
Cell = tuple[int, str]


@dataclass(frozen=True)
class Column:
    """A column of a table: the key of its cells, its heading, and how many decimals are shown.

    With ``open_ends`` a share that is not 0 or 1 is not rounded to them: ``<0.001``, ``>0.999``.
    """

    key: str
    title: str | None = None
    decimals: int | None = None
    open_ends: bool = False

    @property
    def heading(self) -> str:
        """The title, or the key where none was given."""
        return self.key if self.title is None else self.title

    def show(self, value: object) -> str:
        """Return the cell as text; numbers are rounded here and in :mod:`densray.report._numbers` only.

        >>> Column("tau", decimals=2).show(0.6784), Column("n").show(26423), Column("tau").show(None)
        ('0.68', '26,423', '–')
        """
        if value is None:
            return MISSING
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, Integral) and self.decimals is None:
            return show_count(int(value))
        if isinstance(value, Real):
            return show_number(float(value), self.decimals, open_ends=self.open_ends)
        return str(value)


@dataclass(frozen=True)
class Table:
    """A titled table of unrounded rows.

    Attributes
    ----------
    title
        What the table shows.
    columns
        The columns in order; a string stands for ``Column(key)``.
    rows
        One mapping per row, from column key to unrounded value; absent keys are shown as missing.
    notes
        Sentences shown under the table.
    best
        The cells to set in bold, as (row number, column key); see :func:`best_cells`.
    group
        The key of the rows' headings, if they have some: rows in sequence that agree in it stand under one line.
    folded
        Whether the table is for those who ask: closed on a page, and left out on a terminal without ``--details``.

    Examples
    --------
    >>> table = Table("τ", ["method", Column("tau", "τ", decimals=2)], [{"method": "svm", "tau": 0.6784}])
    >>> table.shown()
    [['svm', '0.68']]
    >>> table.rows[0]["tau"]
    0.6784
    """

    title: str
    columns: Sequence[Column | str]
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    best: frozenset[Cell] = frozenset()
    group: str = ""
    folded: bool = False

    @property
    def headings(self) -> list[str]:
        """The headings in order."""
        return [column.heading for column in self._columns()]

    def shown(self) -> list[list[str]]:
        """Return the cells as rounded text, row by row."""
        return [[column.show(row.get(column.key)) for column in self._columns()] for row in self.rows]

    def group_heading(self, row: int) -> str:
        """Return the line that stands above a row: the name of its group, if it is the first of it."""
        if not self.group:
            return ""
        name = str(self.rows[row][self.group])
        return "" if row and str(self.rows[row - 1][self.group]) == name else name

    def numeric(self) -> list[bool]:
        """Return for each column whether it holds numbers only, so that it can be set flush right."""
        return [
            any(_is_number(row.get(column.key)) for row in self.rows)
            and all(_is_number(row.get(column.key)) or row.get(column.key) is None for row in self.rows)
            for column in self._columns()
        ]

    def is_best(self, row: int, column: int) -> bool:
        """Return whether a cell, by row and column number, is to be set in bold."""
        return (row, self._columns()[column].key) in self.best

    def to_dict(self) -> dict[str, Any]:
        """Return title, unrounded rows and notes."""
        return {"title": self.title, "rows": [dict(row) for row in self.rows], "notes": list(self.notes)}

    def _columns(self) -> list[Column]:
        return [Column(column) if isinstance(column, str) else column for column in self.columns]


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def best_cells(
    rows: Sequence[Row], keys: Iterable[str], *, within: str = "row", lowest: bool = False
) -> frozenset[Cell]:
    """Return the cells with the best value among ``keys``: in each row, or in each column.

    Ties are all best. Cells without a number never are.

    >>> rows = [{"svm": 0.6, "densray": 0.5}, {"svm": 0.4, "densray": 0.4}]
    >>> sorted(best_cells(rows, ["svm", "densray"]))
    [(0, 'svm'), (1, 'densray'), (1, 'svm')]
    >>> sorted(best_cells(rows, ["svm", "densray"], within="column"))
    [(0, 'densray'), (0, 'svm')]
    """
    keys = list(keys)
    cells = [
        (row, key)
        for row in range(len(rows))
        for key in keys
        if _is_number(rows[row].get(key)) and not math.isnan(rows[row][key])
    ]
    choose = min if lowest else max
    groups: dict[object, list[Cell]] = {}
    for row, key in cells:
        groups.setdefault(row if within == "row" else key, []).append((row, key))
    best: set[Cell] = set()
    for group in groups.values():
        value = choose(rows[row][key] for row, key in group)
        best.update((row, key) for row, key in group if rows[row][key] == value)
    return frozenset(best)
