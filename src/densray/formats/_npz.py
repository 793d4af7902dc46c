"""``.npz`` archives: the words as an array of text, the vectors as a matrix."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from densray.errors import FormatError, name_some
from densray.formats._encoding import decode_words, undecodable
from densray.formats._npy import ArrayHeader, check_matrix, matrix_blocks, read_array_header, write_array
from densray.formats._source import Source, open_source
from densray.formats._stream import BLOCK_BYTES, Block, Pieces, ReadOptions, SpaceStream

__all__ = ["read_npz", "write_npz"]

_VECTORS = ("vectors", "embeddings", "vecs", "matrix")
_WORDS = ("words", "vocab", "vocabulary", "tokens")


def read_npz(source: Source, options: ReadOptions) -> SpaceStream:
    """Return the stream of an archive with one matrix of numbers and one array of words."""
    headers = _headers(source)
    matrices = [name for name, header in headers.items() if len(header.shape) == 2 and header.dtype.kind in "fiu"]
    texts = [name for name, header in headers.items() if len(header.shape) == 1 and header.dtype.kind in "US"]
    vectors, words = _chosen(matrices, _VECTORS), _chosen(texts, _WORDS)
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

    return SpaceStream("npz", width, rows, blocks())


def _headers(source: Source) -> dict[str, ArrayHeader]:
    """Return the header of every array in the archive."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            names = [name for name in archive.namelist() if name.endswith(".npy")]
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise FormatError(f"{source.path.name}: a damaged archive ({error}). Fetch the file again.") from error
    headers: dict[str, ArrayHeader] = {}
    for name in names:
        with open_source(source.path, member=name) as part:
            headers[name.removesuffix(".npy")] = read_array_header(part)
    return headers


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
        raise FormatError(f"{source.path.name}, '{name}': a word is not Unicode ({error}).") from error
    return texts


def write_npz(file: IO[bytes], pieces: Pieces, *, rows: int, width: int) -> None:
    """Write an archive `numpy.load` opens: ``vectors`` as they come, then ``words``."""
    words: list[str] = []

    def vectors() -> Iterator[NDArray[np.float32]]:
        for some, block in pieces:
            odd = next((word for word in some if word.endswith("\0")), None)
            if odd is not None:
                raise FormatError(f"The word {odd!r} ends in NUL, which NumPy text drops. Write native or .parquet.")
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
