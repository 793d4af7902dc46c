"""NumPy arrays read as streams, and ``.npy`` with its words beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from densray.errors import FormatError
from densray.formats._checked import select_rows
from densray.formats._source import Source
from densray.formats._stream import Block, Pieces, ReadOptions, SpaceStream, check_shape, rows_per_block
from densray.formats._words_file import read_words_beside
from densray.ignored_warnings import ignoring

__all__ = ["ArrayHeader", "matrix_blocks", "read_array_header", "read_npy", "to_float32", "write_array", "write_npy"]

_LONGEST_HEADER = 10_000


@dataclass(frozen=True)
class ArrayHeader:
    """What a ``.npy`` says of itself."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]


def read_array_header(source: Source) -> ArrayHeader:
    """Return the header of an array, read from its beginning; pickled objects are refused."""
    name = source.path.name
    head = source.peek(12)
    version = head[6:8]
    length = int.from_bytes(head[8:10] if version == b"\x01\x00" else head[8:12], "little")
    if version not in (b"\x01\x00", b"\x02\x00") or length > _LONGEST_HEADER:
        raise FormatError(f"{name}, byte 6: {head!r} does not begin a NumPy array that is known.")
    try:
        with ignoring(Warning):
            npy.read_magic(source)  # type: ignore[arg-type]
            reader = npy.read_array_header_1_0 if version == b"\x01\x00" else npy.read_array_header_2_0
            shape, fortran, dtype = reader(source)  # type: ignore[arg-type]
    except Exception as error:  # the header is a Python literal: its parser has many ways to fail
        raise FormatError(f"{name}, byte 10: the array header is damaged ({error}).") from error
    if dtype.hasobject:
        raise FormatError(
            f"{name}: the array holds pickled Python objects, and opening them runs whatever code they hold. "
            f"Save vectors as float32 and words as text (dtype=str)."
        )
    return ArrayHeader(tuple(int(length) for length in shape), bool(fortran), dtype)


def read_npy(source: Source, options: ReadOptions, words_file: Path | None) -> SpaceStream:
    """Return the stream of a ``.npy`` matrix whose words stand in a file of their own, one per line."""
    header = read_array_header(source)
    rows, width = check_matrix(source.path.name, header)
    words = read_words_beside(source.path, words_file, options, rows=rows)
    return SpaceStream("npy", width, rows, matrix_blocks(source, header, words, options))


def check_matrix(name: str, header: ArrayHeader) -> tuple[int, int]:
    """Return rows and width of a matrix of numbers; anything else is refused."""
    if len(header.shape) != 2 or header.dtype.kind not in "fiu":
        raise FormatError(
            f"{name}: an array of shape {header.shape} and type {header.dtype}; vectors are a matrix of numbers, "
            f"one row per word."
        )
    rows, width = header.shape
    check_shape(name, rows, width)
    return rows, width


def matrix_blocks(source: Source, header: ArrayHeader, words: list[str], options: ReadOptions) -> Iterator[Block]:
    """Yield a matrix that follows its header, beside its words."""
    rows, width = header.shape
    step = rows if header.fortran else rows_per_block(width, itemsize=max(4, header.dtype.itemsize))
    for start in range(0, len(words), step):
        stop = min(rows if header.fortran else len(words), start + step)
        needed = (stop - start) * width * header.dtype.itemsize
        data = source.read(needed)
        if len(data) < needed:
            raise FormatError(
                f"{source.path.name}, byte {source.offset:,}: the array says {rows:,} rows of {width:,} numbers and "
                f"ends within rows {start + 1:,} to {stop:,}. It is cut off, or its header is wrong."
            )
        piece = np.frombuffer(data, dtype=header.dtype).reshape(
            (stop - start, width), order="F" if header.fortran else "C"
        )
        stop = min(stop, len(words))
        yield select_rows(words[start:stop], to_float32(piece[: stop - start]), start, options)
    if len(words) == rows and source.read(1):
        raise FormatError(
            f"{source.path.name}, byte {source.offset - 1:,}: the array says {rows:,} rows of {width:,} numbers, and "
            f"more bytes follow. Its header is wrong."
        )


def to_float32(numbers: NDArray[Any]) -> NDArray[np.float32]:
    """Return numbers as float32; those beyond it become infinite, which every reader refuses by name."""
    with np.errstate(over="ignore", invalid="ignore"):
        return numbers.astype(np.float32, copy=False)


def write_array(file: IO[bytes], pieces: Iterator[NDArray[Any]], *, shape: tuple[int, ...], dtype: str) -> None:
    """Write a ``.npy`` array piece by piece, in C order."""
    npy.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    for piece in pieces:
        file.write(np.ascontiguousarray(piece, dtype=dtype).data)


def write_npy(file: IO[bytes], words_file: IO[bytes], pieces: Pieces, *, rows: int, width: int) -> None:
    """Write a ``.npy`` matrix and its words, one per line, into a second file."""

    def vectors() -> Iterator[NDArray[np.float32]]:
        for words, block in pieces:
            odd = next((word for word in words if "\n" in word or "\r" in word), None)
            if odd is not None:
                raise FormatError(
                    f"The word {odd!r} has a line end in it, which a words file cannot hold. Write native or .parquet."
                )
            words_file.write("".join(f"{word}\n" for word in words).encode())
            yield block

    write_array(file, vectors(), shape=(rows, width), dtype="<f4")
