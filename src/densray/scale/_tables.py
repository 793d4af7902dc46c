"""Blocks of vectors and labels from archives of arrays (``.npz``) and from tables (``.parquet``)."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from densray.errors import FormatError, LabelError, name_some
from densray.scale._blocks import ArrayBlocks, check_same_length, read_labels

if TYPE_CHECKING:
    import polars

__all__ = ["npz_blocks", "parquet_blocks"]

Pair = tuple[NDArray[Any], NDArray[Any]]


def npz_blocks(path: Path, labels: Any, rows: int, vectors: str | Sequence[str] | None) -> Iterable[Pair]:
    """Yield blocks of one matrix of an archive, compressed or not; labels may be another of its arrays."""
    with zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
    if isinstance(labels, str) and labels in names:
        with np.load(path, allow_pickle=False) as file:
            labels = file[labels]
    return _stream_npz(path, _matrix_of(path, vectors), read_labels(labels), rows)


def _matrix_of(path: Path, vectors: str | Sequence[str] | None) -> str:
    """Return the name of the matrix that is meant."""
    with zipfile.ZipFile(path) as archive:
        shapes = {}
        for name in archive.namelist():
            with archive.open(name) as member:
                shapes[name.removesuffix(".npy")] = _header(member, path)[0]
    matrices = [name for name, shape in shapes.items() if len(shape) == 2]
    wanted = matrices if vectors is None else [name for name in matrices if name == vectors]
    if len(wanted) != 1:
        raise FormatError(
            f"{path.name} holds {name_some(shapes)}; one matrix of vectors is needed. Name it with vectors=."
        )
    return wanted[0]


def _stream_npz(path: Path, name: str, labels: NDArray[Any], rows: int) -> Iterator[Pair]:
    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as member:
        (n_rows, width), fortran, dtype = _header(member, path)
        if fortran or dtype.hasobject:
            raise FormatError(f"{path.name}, '{name}': a C-ordered matrix of numbers is needed. Save it anew.")
        check_same_length(n_rows, len(labels))
        for start in range(0, n_rows, rows):
            stop = min(start + rows, n_rows)
            data = member.read((stop - start) * width * dtype.itemsize)
            if len(data) < (stop - start) * width * dtype.itemsize:
                raise FormatError(f"{path.name}, '{name}': cut off within rows {start:,} to {stop:,}.")
            yield np.frombuffer(data, dtype=dtype).reshape(stop - start, width), labels[start:stop]


def _header(member: Any, path: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = npy.read_magic(member)
        reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        return reader(member)
    except ValueError as error:
        raise FormatError(f"{path.name}: not an archive of arrays ({error}).") from error


def parquet_blocks(path: Path, labels: Any, rows: int, vectors: str | Sequence[str] | None) -> ArrayBlocks:
    """Return blocks of a table: vectors as a column of lists or as columns of numbers, labels as a column or beside."""
    import polars as pl

    try:
        frame = pl.scan_parquet(path, glob=False)
        schema = frame.collect_schema()
        n_rows = int(frame.select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise FormatError(f"{path.name}: not a readable table ({str(error).splitlines()[0][:120]}).") from error
    if isinstance(labels, str) and labels in schema:
        columns = _vector_columns(path, schema, vectors, without=labels)
        targets = frame.select(labels).collect().to_series().to_numpy()
    else:
        if isinstance(labels, str) and not labels.endswith(".npy"):
            raise LabelError(f"{path.name} has no column '{labels}'; its columns are {name_some(schema)}.")
        columns = _vector_columns(path, schema, vectors, without=None)
        targets = read_labels(labels)

    def read(start: int, stop: int) -> NDArray[Any]:
        return _matrix(path, frame.select(columns).slice(start, stop - start).collect(), start)

    return ArrayBlocks(read, targets, n_rows, rows)


def _vector_columns(path: Path, schema: Any, vectors: str | Sequence[str] | None, *, without: str | None) -> list[str]:
    import polars as pl

    if vectors is not None:
        named = [vectors] if isinstance(vectors, str) else list(vectors)
        missing = [name for name in named if name not in schema]
        if missing:
            raise FormatError(f"{path.name} has no column {name_some(missing)}; its columns are {name_some(schema)}.")
        return named
    lists = [name for name, dtype in schema.items() if isinstance(dtype, pl.List | pl.Array)]
    if len(lists) == 1:
        return lists
    numbers = [name for name, dtype in schema.items() if dtype.is_numeric() and name != without]
    if lists or not numbers:
        raise FormatError(f"{path.name}: which of {name_some(schema)} are the vectors? Name them with vectors=.")
    return numbers


def _matrix(path: Path, frame: polars.DataFrame, start: int) -> NDArray[Any]:
    import polars as pl

    first = frame.to_series(0)
    if not isinstance(first.dtype, pl.List | pl.Array):
        return np.ascontiguousarray(frame.to_numpy())
    lists = first.arr.to_list() if isinstance(first.dtype, pl.Array) else first
    lengths = lists.list.len()
    width = lengths[0]
    odd = (lengths.fill_null(0) != width).arg_true()
    if width is None or len(odd):
        row = start + (odd[0] if len(odd) else 0)
        raise FormatError(f"{path.name}, row {row:,}: another number of values than the rows before it.")
    return lists.list.explode().to_numpy().reshape(-1, int(width))
