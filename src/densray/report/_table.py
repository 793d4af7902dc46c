"""Tables of unrounded rows, and the format of numbers for people; data, JSON and files keep every digit.

Terminal, reports, charts and explorer share one style: three decimals by default, thousands separators, a
true minus, no minus before zero, “–” for missing values. Charts round in the browser: the ``CHART_`` constants
are the same style as d3 formats, which write the true minus themselves.

Quotation marks: typeset text (pages, reports, charts, documentation) uses “ ”. Messages quote user input with ' ',
like Python and the shell; a page converts them with :func:`typeset`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

#: One row of a table or one point of a chart: values by name.
Record = Mapping[str, Any]
Cell = tuple[int, str]

MISSING = "–"
MINUS = "−"

#: d3 formats for charts: numbers, differences, counts, shares.
CHART_NUMBER, CHART_CHANGE, CHART_COUNT, CHART_SHARE = ".3f", "+.3f", ",d", ".0%"

#: A p-value above 0.05 counts as chance; this is the smallest float above it.
P_MARKS = (math.nextafter(0.05, 1.0),)

#: Replacements of characters that the encoding of a terminal lacks.
PLAIN_SIGNS = {MINUS: "-", MISSING: "-", "“": '"', "”": '"', "’": "'", "…": "...", "×": "x", "±": "+-", "→": "->"}

_SIGNIFICANT = 4
_MOST_DECIMALS = 12
_LEAST_P = 0.001
_EXPONENT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_QUOTED = re.compile(r"(?<![\w=])'([^'\n]*)'(?!\w)")


def show_number(
    value: float | None,
    decimals: int | None = 3,
    *,
    signed: bool = False,
    open_ends: bool = False,
    marks: Sequence[float] = (),
) -> str:
    """Return a number as text.

    Parameters
    ----------
    value
        None, NaN and infinities are shown as “–”.
    decimals
        Number of decimals; None shows four significant digits.
    signed
        Whether positive numbers have a plus sign, for differences.
    open_ends
        Whether shares other than 0 and 1 are never rounded to 0 or 1: ``<0.001``, ``>0.999``.
    marks
        Thresholds for the number: it gets more decimals if rounding would move it to the other side of
        one.

    Examples
    --------
    >>> show_number(0.797, 2), show_number(0.797, 2, marks=[0.8]), show_number(0.804, 2, marks=[0.8])
    ('0.80', '0.797', '0.80')
    >>> show_number(-0.0123), show_number(-0.0001), show_number(12345.678, 1), show_number(None)
    ('−0.012', '0.000', '12,345.7', '–')
    >>> show_number(0.25, signed=True), show_number(0.99996, open_ends=True), show_number(2.568e-56, None)
    ('+0.250', '>0.999', '2.568 × 10⁻⁵⁶')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    value = float(value)
    if decimals is not None:
        decimals = _enough_decimals(value, decimals, marks)
    if open_ends and decimals is not None and 0.0 < value < 1.0:
        least = 10.0**-decimals
        if value < least:
            return f"<{least:.{decimals}f}"
        if value > 1 - least:
            return f">{1 - least:.{decimals}f}"
    text = _significant(abs(value)) if decimals is None else f"{abs(value):,.{decimals}f}"
    if not text.strip("0.,"):
        return text
    return (MINUS if value < 0 else "+" if signed else "") + text


def _enough_decimals(value: float, decimals: int, marks: Sequence[float]) -> int:
    """Return the smallest number of decimals at which rounding does not move a number across a mark."""
    while decimals < _MOST_DECIMALS and any((round(value, decimals) >= mark) != (value >= mark) for mark in marks):
        decimals += 1
    return decimals


def _significant(size: float) -> str:
    if size >= 10.0 ** (_SIGNIFICANT - 1):
        return f"{size:,.0f}" if size < 1e15 else _scientific(size)
    return _scientific(size) if 0 < size < 1e-4 else f"{size:.{_SIGNIFICANT}g}"


def _scientific(size: float) -> str:
    digits, exponent = f"{size:.{_SIGNIFICANT - 1}e}".split("e")
    return f"{digits} × 10{str(int(exponent)).translate(_EXPONENT)}"


def show_count(value: int | None) -> str:
    """Return an integer with thousands separators.

    >>> show_count(3881), show_count(-12), show_count(None)
    ('3,881', '−12', '–')
    """
    return MISSING if value is None else f"{int(value):,}".replace("-", MINUS)


def show_share(value: float | None, decimals: int = 0, *, marks: Sequence[float] = ()) -> str:
    """Return a share in per cent; only 0 and 1 are shown as 0% and 100%. `marks` as for :func:`show_number`.

    >>> show_share(0.797), show_share(0.797, marks=[0.8])
    ('80%', '79.7%')
    >>> show_share(0.934), show_share(0.9999), show_share(1), show_share(0.00026, 2)
    ('93%', '>99%', '100%', '0.03%')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    least = 10.0**-decimals
    if 0 < value < 1 and 100 * value < least / 2:
        return f"<{least:.{decimals}f}%"
    if 0 < value < 1 and 100 * value > 100 - least / 2:
        return f">{100 - least:.{decimals}f}%"
    return f"{show_number(100 * value, decimals, marks=[100 * mark for mark in marks])}%"


def show_estimate(
    value: float | None, low: float | None, high: float | None, decimals: int = 3, *, marks: Sequence[float] = ()
) -> str:
    """Return an estimate with its interval, if it has one; `marks` of the ends as for :func:`show_number`.

    >>> show_estimate(0.674, 0.486, 0.77), show_estimate(-0.01, -0.02, 0.01, 2), show_estimate(0.5, None, None)
    ('0.674 [0.486, 0.770]', '−0.01 [−0.02, 0.01]', '0.500')
    """
    estimate = show_number(value, decimals)
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return estimate
    return f"{estimate} [{show_number(low, decimals, marks=marks)}, {show_number(high, decimals, marks=marks)}]"


def show_p(value: float | None) -> str:
    """Return a p-value for use in a sentence; in tables, columns with ``open_ends`` show ``<0.001``.

    >>> show_p(0.0502)
    'p = 0.0502'
    >>> show_p(0.04762), show_p(2.568e-56), show_p(None)
    ('p = 0.048', 'p < 0.001', 'p = –')
    """
    if value is not None and value < _LEAST_P:
        return f"p < {_LEAST_P}"
    return f"p = {show_number(value, marks=P_MARKS)}"


def typeset(message: str) -> str:
    """Return a message of the library with “ ” for ' '; commands to type are unchanged.

    >>> typeset("'Spain' is not among the paper's words. Use word_column='x'.")
    "“Spain” is not among the paper's words. Use word_column='x'."
    """
    return _QUOTED.sub(r"“\1”", message)


@dataclass(frozen=True)
class Column:
    """A column of a table: the key of its cells, its heading, and its number of decimals.

    With ``open_ends``, shares other than 0 and 1 are never rounded to 0 or 1: ``<0.001``, ``>0.999``. With ``grouped``,
    whole numbers of four and more digits have a comma; years and identifiers have none. With ``ends``, the keys of the
    two ends of its interval, an estimate is shown as ``0.948 [0.933, 0.959]``.
    """

    key: str
    title: str | None = None
    decimals: int | None = None
    open_ends: bool = False
    grouped: bool = True
    ends: tuple[str, str] | None = None

    @property
    def heading(self) -> str:
        """The title (default: the key)."""
        return self.key if self.title is None else self.title

    def show(self, value: object) -> str:
        """Return the cell as text; numbers are rounded in this module only.

        >>> Column("tau", decimals=2).show(0.6784), Column("n").show(26423), Column("tau").show(None)
        ('0.68', '26,423', '–')
        >>> Column("year", grouped=False).show(2026)
        '2026'
        """
        if value is None:
            return MISSING
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float) and not self.grouped and value.is_integer():
            value = int(value)
        if isinstance(value, Integral) and self.decimals is None:
            return show_count(int(value)) if self.grouped else show_count(int(value)).replace(",", "")
        if isinstance(value, Real):
            return show_number(float(value), self.decimals, open_ends=self.open_ends)
        return str(value)

    def show_in(self, row: Record) -> str:
        """Return the cell of a row as text, with its interval if it has one.

        >>> Column("auc", decimals=2, ends=("low", "high")).show_in({"auc": 0.948, "low": 0.933, "high": 0.959})
        '0.95 [0.93, 0.96]'
        """
        value = row.get(self.key)
        if self.ends is None or value is None:
            return self.show(value)
        low, high = (row.get(key) for key in self.ends)
        return show_estimate(value, low, high, 3 if self.decimals is None else self.decimals)


@dataclass(frozen=True)
class Table:
    """A titled table of unrounded rows.

    Attributes
    ----------
    title
        Title of the table.
    columns
        The columns in order; a string stands for ``Column(key)``.
    rows
        One mapping per row, from column key to unrounded value; absent keys are shown as missing.
    notes
        Sentences shown under the table.
    best
        The cells to set in bold, as (row number, column key); see :func:`best_cells`.
    group
        Key of the group of each row, if any: consecutive rows of one group get a common heading.
    folded
        Whether the table is optional: collapsed on a page, and hidden on a terminal without ``--details``.
    keys
        Number of columns that name a row, from the left. A terminal that is too narrow prints a table in parts, and
        each part has these columns.

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
    rows: Sequence[Record]
    notes: Sequence[str] = ()
    best: frozenset[Cell] = frozenset()
    group: str = ""
    folded: bool = False
    keys: int = 1

    def to_pandas(self) -> Any:
        """Return a pandas frame of the unrounded values, one column per key."""
        from densray._conversions import as_pandas

        return as_pandas({column.key: [row.get(column.key) for row in self.rows] for column in self._columns()})

    @property
    def headings(self) -> list[str]:
        """The headings in order."""
        return [column.heading for column in self._columns()]

    def shown(self) -> list[list[str]]:
        """Return the cells as rounded text, row by row."""
        return [[column.show_in(row) for column in self._columns()] for row in self.rows]

    def group_heading(self, row: int) -> str:
        """Return the heading above a row: the name of its group, if the row is the first of the group."""
        if not self.group:
            return ""
        name = str(self.rows[row][self.group])
        return "" if row and str(self.rows[row - 1][self.group]) == name else name

    def numeric(self) -> list[bool]:
        """Return for each column whether it contains only numbers, which are right-aligned."""
        return [
            any(_is_number(row.get(column.key)) for row in self.rows)
            and all(_is_number(row.get(column.key)) or row.get(column.key) is None for row in self.rows)
            for column in self._columns()
        ]

    def is_best(self, row: int, column: int) -> bool:
        """Return whether a cell, by row and column number, is in bold."""
        return (row, self._columns()[column].key) in self.best

    def to_dict(self) -> dict[str, Any]:
        """Return title, unrounded rows and notes."""
        return {"title": self.title, "rows": [dict(row) for row in self.rows], "notes": list(self.notes)}

    def _columns(self) -> list[Column]:
        return [Column(column) if isinstance(column, str) else column for column in self.columns]


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def best_cells(
    rows: Sequence[Record], keys: Iterable[str], *, within: str = "row", lowest: bool = False
) -> frozenset[Cell]:
    """Return the cells with the best value among ``keys``: in each row, or in each column.

    All ties are best. Cells without a number are never best.

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
