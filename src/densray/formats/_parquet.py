"""Parquet, through polars: a column of words, and the vectors as one column of lists or one column per number."""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray._conversions import NUMBERED, columns_beside_dimensions
from densray.errors import Advice, Argument, FormatError, name_some, shorten
from densray.formats._arrays import to_float32
from densray.formats._blocks import Block, Pieces, ReadOptions, SpaceStream, check_shape, select_rows
from densray.formats._bytes import Source
from densray.formats._parquet_pages import check_sizes

if TYPE_CHECKING:
    import polars as pl

_BLOCK_BYTES = 1 << 25  # row groups are decoded as a whole, so small pieces would decode them repeatedly
_GROUP_BYTES = 1 << 24
#: Usual names of the column of words.
WORD_COLUMNS = ("word", "words", "token", "tokens")


def read_parquet(source: Source, options: ReadOptions) -> SpaceStream:
    """Return the stream of a parquet file."""
    return table_stream(source.path.name, *_scan(source.path.name, source.file), options)


def table_stream(name: str, frame: pl.LazyFrame, schema: pl.Schema, rows: int, options: ReadOptions) -> SpaceStream:
    """Return the stream of a table of words and numbers."""
    import polars as pl

    texts = [column for column, dtype in schema.items() if isinstance(dtype, pl.String | pl.Categorical | pl.Enum)]
    word = next((column for column in WORD_COLUMNS if column in texts), texts[0] if len(texts) == 1 else None)
    numbers = _number_columns(name, schema, without=word)
    if word is None or not numbers:
        raise FormatError(
            f"{name}: the columns are {', '.join(f'{column} {dtype}' for column, dtype in list(schema.items())[:6])}; "
            f"a column of words ('word') is needed, with a column of lists of numbers ('vector') or one column per "
            "dimension.",
            Advice(
                " For a table of documents, name the column of labels (",
                Argument("label_column", ...),
                ").",
                python=" Open a table of documents with densray.open_table.",
            ),
        )
    if word not in WORD_COLUMNS:
        _refuse_row_numbers(name, frame, word)
    width = _width(name, frame, schema, numbers)
    check_shape(name, rows, width)
    options.other_columns.extend(
        column for column in schema if column not in (word, *numbers) and not _PANDAS_INDEX.fullmatch(column)
    )
    selection = frame.select([pl.col(word).cast(pl.String), *numbers])
    return SpaceStream(width, rows, _blocks(name, selection, options, rows=rows, width=width))


def _refuse_row_numbers(name: str, frame: pl.LazyFrame, column: str) -> None:
    """Refuse a table whose only text column holds whole numbers: row numbers or identifiers, not words."""
    import polars as pl

    texts = (
        ask_polars(name, frame.select(pl.col(column).cast(pl.String)).head(_LOOKED_AT).collect).to_series().to_list()
    )
    if texts and all(text is not None and text.strip().isdecimal() for text in texts):
        raise FormatError(
            f"{name}: the only column of text, '{column}', holds whole numbers ({name_some(texts)}). Add the words; if "
            "these are the words, call the column 'word'."
        )


_LOOKED_AT = 100


@dataclass(frozen=True)
class ParquetMatrix:
    """The vectors of a parquet file, read in any order, and the names of all its columns."""

    name: str
    frame: pl.LazyFrame
    columns: tuple[str, ...]
    vectors: tuple[str, ...]
    rows: int
    width: int

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return some rows as a matrix, in the type of the file."""
        columns = ask_polars(self.name, self.frame.select(self.vectors).slice(start, stop - start).collect)
        return np.ascontiguousarray(_matrix(self.name, columns, start, self.width))

    def column(self, name: str) -> NDArray[Any]:
        """Return one whole column."""
        return np.asarray(ask_polars(self.name, self.frame.select(name).collect).to_series().to_numpy())


def open_parquet(path: Path, *, vectors: Sequence[str] | None = None, without: str | None = None) -> ParquetMatrix:
    """Return the vectors of a parquet file: the named columns, or else the only possible ones.

    These are the only column of lists of numbers, or else all columns of numbers except `without`.
    """
    try:
        with path.open("rb") as file:
            frame, schema, rows = _scan(path.name, file)
            columns = [*vectors] if vectors else _number_columns(path.name, schema, without=without)
            missing = [column for column in columns if column not in schema]
            if missing:
                raise FormatError(
                    f"{path.name} has no column {name_some(missing)}; its columns are {name_some(schema)}."
                )
            if not columns:
                raise FormatError(
                    f"{path.name}: which of {name_some(schema)} are the vectors?",
                    Advice(" Name them with ", Argument("vectors", ...), "."),
                )
            width = _width(path.name, frame, schema, columns)
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}.") from error
    return ParquetMatrix(path.name, frame, tuple(schema), tuple(columns), rows, width)


def _scan(name: str, file: IO[bytes]) -> tuple[pl.LazyFrame, pl.Schema, int]:
    """Return an open parquet file as a lazy frame, its schema and its number of rows.

    Polars keeps its own handle, so that all reads see the same file even if it is replaced.
    """
    import polars as pl

    check_sizes(name, file)
    file.seek(0)
    frame = pl.scan_parquet(file)
    schema = ask_polars(name, frame.collect_schema)
    return frame, schema, int(ask_polars(name, frame.select(pl.len()).collect).item())


#: Row numbers that pandas writes next to the columns if the rows of a frame were reordered.
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def _number_columns(name: str, schema: pl.Schema, *, without: str | None = None) -> list[str]:
    """Return the only column of lists of numbers, or else the columns of numbers; none if there are several of lists.

    Columns of numbers are the dimensions if their names number them (0, 1, 2 … or dim_1, dim_2 …). Any other column of
    numbers may be an identifier or a frequency, and raises an error that names it; so does a numbered column without
    numbers. The column `without` is not part of the vectors.
    """
    import polars as pl

    _check_dimensions(name, schema, without)
    lists = [column for column, dtype in schema.items() if isinstance(dtype, pl.List | pl.Array) and _numeric(dtype)]
    if lists:
        return lists if len(lists) == 1 else []
    numbers = [
        column
        for column, dtype in schema.items()
        if dtype.is_numeric() and column != without and not (dtype.is_integer() and _PANDAS_INDEX.fullmatch(column))
    ]
    if odd := columns_beside_dimensions(numbers):
        raise FormatError(
            f"{name}: {name_some(odd)} {'is' if len(odd) == 1 else 'are'} not known to be of the vectors. Name the "
            "columns of the vectors 0, 1, 2 … or put them into one column of lists, and leave others out."
        )
    return numbers


def _check_dimensions(name: str, schema: pl.Schema, without: str | None) -> None:
    """Refuse a column that is numbered like the dimensions (0, 1, 2 …) but does not hold numbers."""
    prefixes: dict[str, str] = {}
    for column in schema:
        match = NUMBERED.fullmatch(column)
        if match is not None and column != without:
            prefixes[column] = match[1]
    dimensions = {prefix for column, prefix in prefixes.items() if schema[column].is_numeric()}
    for column, prefix in prefixes.items():
        if prefix in dimensions and not schema[column].is_numeric():
            raise FormatError(
                f"{name}: the column '{column}' is named like a dimension but holds {schema[column]}, not "
                "numbers. Convert it to numbers, or give it another name."
            )


def _numeric(dtype: pl.List | pl.Array) -> bool:
    inner: Any = dtype.inner
    return bool(inner.is_numeric())


def ask_polars(name: str, question: Any) -> Any:
    """Return the result of a polars query; its errors become a FormatError."""
    import polars as pl

    try:
        with _without_panics():
            return question()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise FormatError(f"{name}: the data are damaged ({shorten(error)}).") from error


@contextmanager
def _without_panics() -> Iterator[None]:
    """Hide messages that the compiled part of polars prints when it fails on a damaged file."""
    with _STDERR, tempfile.TemporaryFile() as caught:
        try:
            terminal = os.dup(2)
        except OSError:  # the process has no stderr
            yield
            return
        os.dup2(caught.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)
            caught.seek(0)
            output = caught.read()
            if output and b"panicked at" not in output:
                os.write(2, output)


_STDERR = threading.RLock()


def _width(name: str, frame: pl.LazyFrame, schema: pl.Schema, columns: Sequence[str]) -> int:
    if schema[columns[0]].is_numeric():
        return len(columns)
    first = ask_polars(name, frame.select(columns[0]).head(1).collect)
    return 0 if first.is_empty() or first.item() is None else len(first.item())


def _blocks(name: str, frame: pl.LazyFrame, options: ReadOptions, *, rows: int, width: int) -> Iterator[Block]:
    total = rows if options.limit is None else min(rows, options.limit)
    step = max(1, _BLOCK_BYTES // (4 * width))
    for start in range(0, total, step):
        count = min(step, total - start)
        piece = ask_polars(name, frame.slice(start, count).collect)
        words, columns = piece.to_series(0), piece[:, 1:]
        if len(words) != count or words.null_count():
            raise FormatError(
                f"{name}: rows {start + 1:,} to {start + count:,} have only {len(words) - words.null_count():,} words "
                f"for {count:,} rows. Every row needs a word."
            )
        numbers = to_float32(_matrix(name, columns, start, width), name, start)
        yield select_rows(words.to_list(), numbers, start, options)


def _matrix(name: str, columns: pl.DataFrame, start: int, width: int) -> NDArray[Any]:
    """Return the numbers of some rows, one row per word; a missing number becomes NaN, which is refused later."""
    import polars as pl

    first = columns.to_series(0)
    if not isinstance(first.dtype, pl.List | pl.Array):
        return columns.to_numpy()
    if isinstance(first.dtype, pl.Array) and not first.null_count():
        return first.explode().to_numpy().reshape(-1, width)
    lists = first.arr.to_list() if isinstance(first.dtype, pl.Array) else first
    lengths = lists.list.len()
    odd = (lengths.fill_null(0) != width).arg_true()
    if len(odd):
        raise FormatError(
            f"{name}, row {start + odd[0] + 1:,}: {lengths[odd[0]]} numbers, where the first row has {width:,}."
        )
    return lists.list.explode().to_numpy().reshape(-1, width)


def write_parquet(file: IO[bytes], pieces: Pieces, *, rows: int, width: int) -> None:
    """Write a table with the columns ``word`` and ``vector``, piece by piece."""
    import polars as pl
    from polars.io.plugins import register_io_source

    schema = pl.Schema([("word", pl.String()), ("vector", pl.Array(pl.Float32(), width))])
    failed: list[Exception] = []

    def frames(*_: object) -> Iterator[pl.DataFrame]:
        try:
            for words, vectors in pieces:
                numbers = np.ascontiguousarray(vectors, dtype=np.float32)
                yield pl.DataFrame({"word": words, "vector": numbers}, schema=schema)
        except Exception as error:
            failed.append(error)  # polars would replace it by its own error
            raise

    try:
        register_io_source(frames, schema=schema).sink_parquet(
            file, row_group_size=max(1, _GROUP_BYTES // (4 * width)), statistics=False
        )
    except pl.exceptions.PolarsError:
        if failed:
            raise failed[0] from None
        raise
