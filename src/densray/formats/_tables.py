"""Read-only tables of words and numbers: CSV, JSON lines and Arrow (feather), through polars."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from densray._conversions import columns_beside_dimensions
from densray._files import VECTOR_NUMBERS
from densray.errors import Advice, Argument, FormatError, name_some, shorten
from densray.formats._blocks import ReadOptions, SpaceStream
from densray.formats._bytes import Source
from densray.formats._parquet import WORD_COLUMNS, ask_polars, table_stream

if TYPE_CHECKING:
    import polars as pl

ARROW_MAGIC = b"ARROW1"
_LEAST_COLUMNS = 3  # a word and two numbers: a table of two columns is a word list
_DECIMAL = re.compile(r"[-+]?\d*[.,]\d+.*")
_NUMBER = re.compile(r"[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?")


def table_kind(head: bytes) -> str | None:
    """Return "arrow", "jsonl" or "csv" if a file begins like a table of words and numbers, otherwise None.

    >>> table_kind(b"word,d0,d1\\\\ngood,0.5,1\\\\n".replace(b"\\\\n", bytes([10]))), table_kind(b"word,label")
    ('csv', None)
    """
    if head.startswith(ARROW_MAGIC):
        return "arrow"
    if re.match(rb'\s*\{"[^\n]*\[\s*[-+.\d]', head):
        return "jsonl"
    table = _CsvHead.of(head)
    return None if table is None or (table.has_names and not table.dimensions) else "csv"


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
    """Return the stream of a CSV file: a column of words and numbered columns of numbers (d0, d1 …), or no header."""
    import polars as pl

    name = source.path.name
    table = _CsvHead.of(source.peek(1 << 20))
    if table is None:
        raise FormatError(f"{name}: a table of words and numbers is needed, with a line such as word,d0,d1,d2 first.")
    word = table.word_column(name)
    schema: dict[str, pl.DataType] = {each: pl.String() if each == word else pl.Float32() for each in table.columns}
    scanned = pl.scan_csv(
        source.path,
        separator=table.delimiter,
        schema=schema,
        decimal_comma=table.has_decimal_commas,
        has_header=table.has_names,
    )
    frame: pl.DataFrame = ask_polars(name, scanned.collect)
    return table_stream(name, frame.lazy(), frame.schema, len(frame), options)


@dataclass(frozen=True)
class _CsvHead:
    """The columns of a CSV file, from its first lines."""

    columns: tuple[str, ...]
    delimiter: str
    has_names: bool
    has_decimal_commas: bool

    @classmethod
    def of(cls, head: bytes) -> _CsvHead | None:
        """Return the columns of a file that begins like a table of words and numbers; None for any other file."""
        lines = [line for line in head.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()]
        delimiter = _delimiter(lines[0]) if len(lines) > 1 else None
        if delimiter is None:
            return None
        first = _fields(lines[0], delimiter)
        decimal_commas = delimiter == ";" and re.search(rb";[-+]?\d+,\d", lines[1]) is not None
        if not any(map(_DECIMAL.fullmatch, first)):
            return cls(tuple(first), delimiter, True, decimal_commas)
        decimals = sum(map(bool, map(_DECIMAL.fullmatch, first[1:])))
        if (
            _NUMBER.fullmatch(first[0])
            or not all(map(_NUMBER.fullmatch, first[1:]))
            or len(first) <= VECTOR_NUMBERS
            or 2 * decimals < len(first)
        ):
            return None
        return cls(("word", *(f"d{place}" for place in range(len(first) - 1))), delimiter, False, decimal_commas)

    @property
    def dimensions(self) -> list[str]:
        """Names of the numbered columns; none if there is only one."""
        others = columns_beside_dimensions(self.columns)
        numbered = [name for name in self.columns if name not in others]
        return numbered if len(numbered) > 1 else []

    def word_column(self, name: str) -> str:
        """Return the only column that is not numbered; raise if there are several."""
        others = columns_beside_dimensions(self.columns)
        if len(others) == 1:
            return others[0]
        numbered = self.dimensions
        words = [column for column in WORD_COLUMNS if column in others]
        extra = [column for column in others if column not in words[:1]]
        of_words = "the words" if not words else f"'{words[0]}'"
        raise FormatError(
            f"{name}, line 1: {name_some(extra)} {'is' if len(extra) == 1 else 'are'} named next to {len(numbered):,} "
            f"numbered columns ('{numbered[0]}' to '{numbered[-1]}'). Leave out all columns but {of_words} and the "
            "numbers of the vectors.",
            Advice(
                " If it is a table of documents, name its column of labels: ",
                Argument("label_column", ...),
                ". Or name the model that embeds words for it: ",
                Argument("encoder", ...),
                ".",
                python=" If it is a table of documents, open it with densray.tables.open_table.",
            ),
        )


def _delimiter(line: bytes) -> str | None:
    return next((mark for mark in (";", ",", "\t") if line.count(mark.encode()) >= _LEAST_COLUMNS - 1), None)


def _fields(line: bytes, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line.decode("utf-8", "replace")], delimiter=delimiter))
    except csv.Error as error:
        raise FormatError(f"{shorten(line)} is not a line of fields ({shorten(error)}).") from error
