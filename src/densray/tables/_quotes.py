"""Quotes in text files of tables: whether they enclose fields, or are letters of a text."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from densray.errors import TableError
from densray.tables._arrow import arrow

_READ_BYTES = 1 << 24
#: A longer field is an error for the module csv, whose own limit of 131,072 is less than a long vector takes.
_LONGEST_FIELD = (1 << 31) - 1
_QUOTED = r'^"(?:[^"]|"")*"$'


def quotes_enclose_fields(path: Path, delimiter: str, encoding: str, *, skipped: int = 0) -> bool:
    """Return whether fields in quotes may contain delimiters and line ends. If not, quotes are letters.

    Between tabs, a quote is a letter if every line has as many fields as the first one. Other files follow the rules of
    CSV: a quoted field ends at a quote before a delimiter or a line end, and quotes inside it are doubled. A file that
    breaks them is refused, since a quote that is not closed hides the rows up to the next one. The first `skipped`
    lines are no rows.
    """
    if not _has_quotes(path):
        return True
    lines_agree = _lines_agree(path, delimiter, encoding, skipped)
    if delimiter == "\t" and lines_agree:
        return False
    with path.open(encoding=encoding, newline="") as file, _long_fields():
        rows = csv.reader(islice(file, skipped, None), delimiter=delimiter, strict=True)
        spans_lines, before = False, 0
        try:
            for _ in rows:
                spans_lines |= rows.line_num > before + 1
                before = rows.line_num
        except csv.Error:
            raise _problem(path, skipped + before + 1) from None
    if spans_lines and lines_agree:
        raise _problem(path, None)
    return True


def without_quotes(column: Any) -> Any:
    """Return a column of texts without the quotes around whole fields; doubled quotes inside become single."""
    compute = arrow().compute
    quoted = compute.match_substring_regex(column, _QUOTED)
    inside = compute.replace_substring(compute.utf8_slice_codeunits(column, 1, -1), '""', '"')
    plain = compute.if_else(compute.fill_null(quoted, False), inside, column)
    return compute.if_else(compute.equal(plain, ""), arrow().scalar(None, column.type), plain)


def _problem(path: Path, line: int | None) -> TableError:
    problem = f"{path}: quotes join lines that have all columns."
    if line is not None:
        problem = f"{path}, line {line:,}: a quote is not closed, or is followed by text."
    return TableError(f"{problem} Double every quote inside a quoted field, or save the table as parquet.")


def _has_quotes(path: Path) -> bool:
    with path.open("rb") as file:
        return any(b'"' in piece for piece in iter(lambda: file.read(_READ_BYTES), b""))


def _lines_agree(path: Path, delimiter: str, encoding: str, skipped: int) -> bool:
    """Return whether every line that is not empty has as many delimiters as the first one."""
    with path.open(encoding=encoding) as file:
        counts = (line.count(delimiter) for line in islice(file, skipped, None) if line != "\n")
        first = next(counts, 0)
        return all(count == first for count in counts)


@contextmanager
def _long_fields() -> Iterator[None]:
    usual = csv.field_size_limit(_LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(usual)
