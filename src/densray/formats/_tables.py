"""Read-only tables of words and numbers: CSV, JSON lines and Arrow (feather), through polars."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from densray._conversions import columns_beside_dimensions
from densray.errors import FormatError, shorten
from densray.formats._blocks import ReadOptions, SpaceStream
from densray.formats._bytes import Source
from densray.formats._parquet import ask_polars, table_stream

if TYPE_CHECKING:
    import polars as pl

ARROW_MAGIC = b"ARROW1"
_LEAST_COLUMNS = 3  # a word and two numbers: a table of two columns is a word list


def table_kind(head: bytes) -> str | None:
    """Return "arrow", "jsonl" or "csv" if a file begins like a table of words and numbers, otherwise None.

    >>> table_kind(b"word,d0,d1\\\\ngood,0.5,1\\\\n".replace(b"\\\\n", bytes([10]))), table_kind(b"word,label")
    ('csv', None)
    """
    if head.startswith(ARROW_MAGIC):
        return "arrow"
    if re.match(rb'\s*\{"[^\n]*\[\s*[-+.\d]', head):
        return "jsonl"
    lines = [line for line in head.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()]
    delimiter = _delimiter(lines[0]) if lines else None
    if delimiter is None or len(lines) < 2:
        return None
    names = _fields(lines[0], delimiter)
    is_header = len(columns_beside_dimensions(names)) == 1 and not any(map(_DECIMAL.fullmatch, names))
    return "csv" if is_header else None


_DECIMAL = re.compile(r"[-+]?\d*[.,]\d+.*")


def read_arrow_table(source: Source, options: ReadOptions) -> SpaceStream:
    """Return the stream of an Arrow or feather file."""
    import polars as pl

    name = source.path.name
    frame = ask_polars(name, lambda: pl.read_ipc(source.path))
    return table_stream(name, frame.lazy(), frame.schema, len(frame), options)


def read_json_lines(source: Source, options: ReadOptions) -> SpaceStream:
    """Return the stream of a file with one JSON object per line: a word and a list of numbers."""
    import polars as pl

    name = source.path.name
    frame = ask_polars(name, lambda: pl.read_ndjson(source.path, infer_schema_length=1000))
    return table_stream(name, frame.lazy(), frame.schema, len(frame), options)


def read_csv_table(source: Source, options: ReadOptions) -> SpaceStream:
    """Return the stream of a CSV file with a header: a column of words, and numbered columns of numbers (d0, d1 …)."""
    import polars as pl

    name = source.path.name
    head = source.peek(1 << 20).removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    lines = [line for line in head.splitlines() if line.strip()]
    delimiter = _delimiter(lines[0]) or ","
    columns = _fields(lines[0], delimiter)
    word = columns_beside_dimensions(columns)[0]
    comma = delimiter == ";" and re.search(rb";[-+]?\d+,\d", lines[1] if len(lines) > 1 else b"") is not None
    schema: dict[str, pl.DataType] = {column: pl.String() if column == word else pl.Float32() for column in columns}
    scanned = pl.scan_csv(
        source.path, separator=delimiter, schema=schema, decimal_comma=comma
    )  # fmt: skip
    frame: pl.DataFrame = ask_polars(name, scanned.collect)
    return table_stream(name, frame.lazy(), frame.schema, len(frame), options)


def _delimiter(line: bytes) -> str | None:
    return next((mark for mark in (";", ",", "\t") if line.count(mark.encode()) >= _LEAST_COLUMNS - 1), None)


def _fields(line: bytes, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line.decode("utf-8", "replace")], delimiter=delimiter))
    except csv.Error as error:
        raise FormatError(f"{shorten(line)} is not a line of fields ({shorten(error)}).") from error
