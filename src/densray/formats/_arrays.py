"""NumPy files: .npy with its words beside it, and .npz."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from densray._threads import ignored_warnings
from densray.errors import FormatError, name_some, shorten
from densray.formats._blocks import (
    BLOCK_BYTES,
    Block,
    Pieces,
    ReadOptions,
    SpaceStream,
    check_shape,
    rows_per_block,
    select_rows,
)
from densray.formats._bytes import Source, check_encoding, compression_of, decode_words, open_source, undecodable

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
        raise FormatError(f"{name}, byte 6: {shorten(head)} does not begin a NumPy array that is known.")
    try:
        with ignored_warnings(Warning):
            npy.read_magic(source)  # type: ignore[arg-type]
            reader = npy.read_array_header_1_0 if version == b"\x01\x00" else npy.read_array_header_2_0
            shape, fortran, dtype = reader(source)  # type: ignore[arg-type]
    except Exception as error:  # the header is a Python literal: its parser has many ways to fail
        raise FormatError(f"{name}, byte 10: the array header is damaged ({shorten(error)}).") from error
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
    return SpaceStream(width, rows, matrix_blocks(source, header, words, options))


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
    step = rows_per_block(header.shape[1], itemsize=max(4, header.dtype.itemsize))
    start = 0
    for piece in array_blocks(source, header, rows=step, stop=len(words)):
        yield select_rows(words[start : start + len(piece)], to_float32(piece), start, options)
        start += len(piece)


def array_blocks(source: Source, header: ArrayHeader, *, rows: int, stop: int | None = None) -> Iterator[NDArray[Any]]:
    """Yield the first `stop` rows of a matrix that follows its header, so many rows at a time, in their own type.

    A matrix in Fortran order has its rows spread over the whole file, and comes as one block.
    """
    total, width = header.shape
    stop = total if stop is None else stop
    step = total if header.fortran else rows
    for start in range(0, stop, step):
        end = total if header.fortran else min(stop, start + step)
        needed = (end - start) * width * header.dtype.itemsize
        data = source.read(needed)
        if len(data) < needed:
            raise FormatError(
                f"{source.path.name}, byte {source.offset:,}: the array says {total:,} rows of {width:,} numbers and "
                f"ends within rows {start + 1:,} to {end:,}. It is cut off, or its header is wrong."
            )
        order: Literal["F", "C"] = "F" if header.fortran else "C"
        yield np.frombuffer(data, dtype=header.dtype).reshape((end - start, width), order=order)[: stop - start]
    if stop == total and source.read(1):
        raise FormatError(
            f"{source.path.name}, byte {source.offset - 1:,}: the array says {total:,} rows of {width:,} numbers, and "
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
                    f"The word {shorten(odd)} has a line end in it, which a words file cannot hold. "
                    "Write native or .parquet."
                )
            words_file.write("".join(f"{word}\n" for word in words).encode())
            yield block

    write_array(file, vectors(), shape=(rows, width), dtype="<f4")


def words_path(path: Path) -> Path:
    """Return where the words of ``vectors.npy`` are written: ``vectors.words.txt``."""
    return path.with_name(Path(compression_of(path)[1]).stem + ".words.txt")


def read_words_beside(path: Path, given: Path | None, options: ReadOptions, *, rows: int) -> list[str]:
    """Return the words of the first rows, from the file given or the one found beside the vectors."""
    stem = words_path(path).name.removesuffix(".words.txt")
    names = (f"{stem}.words.txt", f"{stem}.words", f"{stem}.vocab", f"{stem}.txt", "words.txt", "vocab.txt")
    found = given or next((path.with_name(name) for name in names if path.with_name(name).is_file()), None)
    if found is None:
        raise FormatError(
            f"{path.name} holds {rows:,} vectors and no words. Put them beside it in {names[0]}, one per line, "
            f"or name the file: words_file='…'."
        )
    wanted = rows if options.limit is None else min(rows, options.limit)
    lines = _lines(found, most=wanted + 1 if wanted == rows else wanted)
    if len(lines) != wanted:
        raise FormatError(
            f"{found.name}, line {len(lines):,}: {'more than ' if len(lines) > wanted else ''}"
            f"{min(len(lines), wanted):,} words for the {rows:,} vectors of {path.name}. The numbers must agree."
        )
    return _decoded(lines, found.name, options)


def _lines(path: Path, *, most: int) -> list[bytes]:
    """Return the first lines of a file, without their ends."""
    lines: list[bytes] = []
    rest = b""
    with open_source(path) as source:
        while len(lines) < most and (piece := source.read(BLOCK_BYTES)):
            *whole, rest = (rest + piece).split(b"\n")
            lines += whole
            if len(rest) > BLOCK_BYTES:
                raise FormatError(
                    f"{path.name}, line {len(lines) + 1:,}: a line of more than {BLOCK_BYTES:,} bytes is not a word."
                )
    if rest:
        lines.append(rest)
    return [line.removesuffix(b"\r") for line in lines[:most]]


def _decoded(lines: list[bytes], name: str, options: ReadOptions) -> list[str]:
    check_encoding(options)
    words: list[str] = []
    for number, word in enumerate(decode_words(lines, options), start=1):
        if word is None:
            raise FormatError(f"{name}, line {number:,}: {undecodable(lines[number - 1], options)}")
        words.append(word)
    return words


_VECTORS = ("vectors", "embeddings", "vecs", "matrix")
_WORDS = ("words", "vocab", "vocabulary", "tokens")


def read_npz(source: Source, options: ReadOptions) -> SpaceStream:
    """Return the stream of an archive with one matrix of numbers and one array of words."""
    headers = array_headers(source.path)
    texts = [name for name, header in headers.items() if len(header.shape) == 1 and header.dtype.kind in "US"]
    vectors, words = choose_matrix(headers), _chosen(texts, _WORDS)
    if vectors is None or words is None:
        raise FormatError(
            f"{source.path.name}: {name_some(headers)} in the archive; a matrix 'vectors' and an array of text 'words' "
            f"are needed."
        )
    rows, width = check_matrix(f"{source.path.name}, '{vectors}'", headers[vectors])
    if headers[words].shape != (rows,):
        raise FormatError(
            f"{source.path.name}: {headers[words].shape[0]:,} words for {rows:,} vectors. The numbers must agree."
        )
    listed = _words(source, words, rows if options.limit is None else min(rows, options.limit), options)

    def blocks() -> Iterator[Block]:
        with open_source(source.path, member=f"{vectors}.npy") as part:
            yield from matrix_blocks(part, read_array_header(part), listed, options)

    return SpaceStream(width, rows, blocks())


def array_headers(path: Path) -> dict[str, ArrayHeader]:
    """Return the header of every array in an archive, by name."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith(".npy")]
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, IndexError) as error:
        raise FormatError(f"{path.name}: a damaged archive ({shorten(error)}). Fetch the file again.") from error
    headers: dict[str, ArrayHeader] = {}
    for name in names:
        with open_source(path, member=name) as part:
            headers[name.removesuffix(".npy")] = read_array_header(part)
    return headers


def choose_matrix(headers: dict[str, ArrayHeader]) -> str | None:
    """Return the name of the matrix of numbers that is meant: the only one, or the first that has a usual name."""
    matrices = [name for name, header in headers.items() if len(header.shape) == 2 and header.dtype.kind in "fiu"]
    return _chosen(matrices, _VECTORS)


@dataclass(frozen=True)
class ArchiveMatrix:
    """One matrix of an ``.npz``, read block by block, and the names of all its arrays."""

    path: Path
    name: str
    columns: tuple[str, ...]
    rows: int

    def blocks(self, rows: int) -> Iterator[NDArray[Any]]:
        """Yield so many rows at a time, in the type of the file."""
        with open_source(self.path, member=f"{self.name}.npy") as source:
            yield from array_blocks(source, read_array_header(source), rows=rows)

    def column(self, name: str) -> NDArray[Any]:
        """Return one whole array of the archive."""
        with np.load(self.path, allow_pickle=False) as file:
            return np.asarray(file[name])


def open_archive(path: Path, *, vectors: str | None = None) -> ArchiveMatrix:
    """Return a matrix of an ``.npz`` by name, or the only one that can be meant; it must be in C order."""
    headers = array_headers(path)
    name = choose_matrix({key: header for key, header in headers.items() if vectors in (None, key)})
    if name is None:
        raise FormatError(
            f"{path.name} holds {name_some(headers)}; one matrix of vectors is needed. Name it with vectors=."
        )
    if headers[name].fortran:
        raise FormatError(f"{path.name}, '{name}': the matrix is in Fortran order; C order is needed. Save it again.")
    rows, _ = check_matrix(f"{path.name}, '{name}'", headers[name])
    return ArchiveMatrix(path, name, tuple(headers), rows)


def _chosen(names: list[str], preferred: tuple[str, ...]) -> str | None:
    """Return the array that is meant: the only one, or the first that has a usual name."""
    if len(names) == 1:
        return names[0]
    return next((name for name in preferred if name in names), None)


def _words(source: Source, name: str, count: int, options: ReadOptions) -> list[str]:
    """Return the first words of an array of text, read in pieces."""
    listed: list[str] = []
    with open_source(source.path, member=f"{name}.npy") as part:
        header = read_array_header(part)
        size = max(1, header.dtype.itemsize)
        step = max(1, BLOCK_BYTES // size)
        while len(listed) < count:
            data = part.read(min(step, count - len(listed)) * size)
            if not data or len(data) % size:
                raise FormatError(
                    f"{source.path.name}, '{name}': the array says {header.shape[0]:,} words and ends within word "
                    f"{len(listed) + len(data) // size + 1:,}. It is cut off."
                )
            listed += _texts(data, header, source, name, options)
    return listed


def _texts(data: bytes, header: ArrayHeader, source: Source, name: str, options: ReadOptions) -> list[str]:
    if header.dtype.kind == "S":
        raw: list[bytes] = np.frombuffer(data, dtype=header.dtype).tolist()
        decoded = decode_words(raw, options)
        if None in decoded:
            raise FormatError(f"{source.path.name}, '{name}': {undecodable(raw[decoded.index(None)], options)}")
        return [word for word in decoded if word is not None]
    try:
        texts: list[str] = np.frombuffer(data, dtype=header.dtype).tolist()
        "".join(texts).encode()
    except (ValueError, SystemError) as error:
        raise FormatError(f"{source.path.name}, '{name}': a word is not Unicode ({shorten(error)}).") from error
    return texts


def write_npz(file: IO[bytes], pieces: Pieces, *, rows: int, width: int) -> None:
    """Write an archive `numpy.load` opens: ``vectors`` as they come, then ``words``."""
    words: list[str] = []

    def vectors() -> Iterator[NDArray[np.float32]]:
        for some, block in pieces:
            odd = next((word for word in some if word.endswith("\0")), None)
            if odd is not None:
                raise FormatError(
                    f"The word {shorten(odd)} ends in NUL, which NumPy text drops. Write native or .parquet."
                )
            words.extend(some)
            yield block

    def texts() -> Iterator[NDArray[Any]]:
        step = max(1, BLOCK_BYTES // (4 * longest))
        for start in range(0, rows, step):
            yield np.array(words[start : start + step], dtype=f"<U{longest}")

    with zipfile.ZipFile(file, "w") as archive:
        with archive.open(zipfile.ZipInfo("vectors.npy"), "w", force_zip64=True) as part:
            write_array(part, vectors(), shape=(rows, width), dtype="<f4")
        longest = max([1, *map(len, words)])
        entry = zipfile.ZipInfo("words.npy")
        entry.compress_type = zipfile.ZIP_DEFLATED  # the padding of short words shrinks to nothing
        with archive.open(entry, "w", force_zip64=True) as part:
            write_array(part, texts(), shape=(rows,), dtype=f"<U{longest}")
