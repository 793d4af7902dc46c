"""Parquet, through polars: a column of words, and the vectors as one column of lists or one column per number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from densray.errors import FormatError
from densray.formats._arrays import to_float32
from densray.formats._blocks import Block, Pieces, ReadOptions, SpaceStream, check_shape, select_rows
from densray.formats._bytes import Source

if TYPE_CHECKING:
    import polars as pl

_BLOCK_BYTES = 1 << 25  # groups of rows are decoded whole, so small pieces would decode them again and again
_GROUP_BYTES = 1 << 24
_WORDS = ("word", "words", "token", "tokens")


def read_parquet(source: Source, options: ReadOptions) -> SpaceStream:
    """Return the stream of a table of words and numbers."""
    import polars as pl

    name = source.path.name
    frame = pl.scan_parquet(source.path, glob=False)
    schema = _asked(name, frame.collect_schema)
    rows = int(_asked(name, frame.select(pl.len()).collect).item())
    texts = [column for column, dtype in schema.items() if dtype == pl.String]
    word = next((column for column in _WORDS if column in texts), texts[0] if len(texts) == 1 else None)
    lists = [column for column, dtype in schema.items() if isinstance(dtype, pl.List | pl.Array) and _numeric(dtype)]
    numbers = lists or [column for column, dtype in schema.items() if dtype.is_numeric()]
    if word is None or not numbers or len(lists) > 1:
        raise FormatError(
            f"{name}: the columns are {', '.join(f'{column} {dtype}' for column, dtype in list(schema.items())[:6])}; "
            f"one of words and one of lists of numbers ('word', 'vector'), or one column per number, are needed."
        )
    width = _width(name, frame, lists[0]) if lists else len(numbers)
    check_shape(name, rows, width)
    chosen = frame.select([word, *numbers])
    return SpaceStream(width, rows, _blocks(name, chosen, options, rows=rows, width=width))


def _numeric(dtype: pl.List | pl.Array) -> bool:
    inner: Any = dtype.inner
    return bool(inner.is_numeric())


def _asked(name: str, question: Any) -> Any:
    """Return what polars answers; what it cannot read is an error of ours."""
    import polars as pl

    try:
        return question()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise FormatError(f"{name}: the parquet data are damaged ({str(error).splitlines()[0][:120]}).") from error


def _width(name: str, frame: pl.LazyFrame, column: str) -> int:
    first = _asked(name, frame.select(column).head(1).collect)
    return 0 if first.is_empty() or first.item() is None else len(first.item())


def _blocks(name: str, frame: pl.LazyFrame, options: ReadOptions, *, rows: int, width: int) -> Iterator[Block]:
    wanted = rows if options.limit is None else min(rows, options.limit)
    step = max(1, _BLOCK_BYTES // (4 * width))
    for start in range(0, wanted, step):
        count = min(step, wanted - start)
        piece = _asked(name, frame.slice(start, count).collect)
        words, columns = piece.to_series(0), piece[:, 1:]
        if len(words) != count or words.null_count():
            raise FormatError(
                f"{name}: {len(words) - words.null_count():,} words in rows {start + 1:,} to {start + count:,}, "
                f"where {count:,} are declared. Every row needs a word."
            )
        yield select_rows(words.to_list(), _matrix(name, columns, start, width), start, options)


def _matrix(name: str, columns: pl.DataFrame, start: int, width: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the numbers of some rows, one row per word; a missing number becomes NaN, which is refused by name."""
    import polars as pl

    first = columns.to_series(0)
    if not isinstance(first.dtype, pl.List | pl.Array):
        return to_float32(columns.to_numpy())
    if isinstance(first.dtype, pl.Array) and not first.null_count():
        return to_float32(first.explode().to_numpy().reshape(-1, width))
    lists = first.arr.to_list() if isinstance(first.dtype, pl.Array) else first
    lengths = lists.list.len()
    odd = (lengths.fill_null(0) != width).arg_true()
    if len(odd):
        raise FormatError(
            f"{name}, row {start + odd[0] + 1:,}: {lengths[odd[0]]} numbers, where the first row has {width:,}."
        )
    return to_float32(lists.list.explode().to_numpy().reshape(-1, width))


def write_parquet(file: IO[bytes], pieces: Pieces, *, rows: int, width: int) -> None:
    """Write a table of the columns ``word`` and ``vector``, as the pieces come."""
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
            failed.append(error)  # polars would hide it behind one of its own
            raise

    try:
        register_io_source(frames, schema=schema).sink_parquet(
            file, row_group_size=max(1, _GROUP_BYTES // (4 * width)), statistics=False
        )
    except pl.exceptions.PolarsError:
        if failed:
            raise failed[0] from None
        raise
