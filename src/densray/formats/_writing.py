"""Write a space in any format, atomically and piece by piece."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from densray._files import atomic_write, flush_to_disk, link_target
from densray.errors import Advice, ColumnsNotWrittenWarning, FormatError, name_some, shorten, suggest
from densray.formats._arrays import put_pair_in_place, words_path, write_npy
from densray.formats._blocks import Pieces, ReadOptions, warn_skipped
from densray.formats._bytes import compression_of, open_source, open_target
from densray.formats._reading import FORMATS, detect_format, name_of, open_stream, read_options
from densray.formats._safetensors import write_native
from densray.progress import Progress
from densray.space import WordSpace, as_space

Change = Callable[[Sequence[str], NDArray[np.float32]], NDArray[Any]]
"""Change of a block by `rewrite`: takes its words and vectors, returns vectors, possibly of another width."""

ENDINGS = {ending: known.name for known in FORMATS.values() for ending in known.endings}
"""Format by file name extension."""


def write_space(
    space: WordSpace,
    path: str | Path,
    *,
    format: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write a space to a file and return its path.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    path : path
        Its extension determines format and compression: ``space.vec.gz``, ``space.bin``, ``space.densray`` (native,
        which opens instantly) …
    format : str, optional
        One of `FORMATS` (default: from the extension).
    overwrite : bool
        Whether an existing file may be replaced. The old file stays intact until the new one is complete.
    progress : callable, optional
        Called with the number of rows done and their total.
    """
    space = as_space(space)
    path = Path(path)
    kind = format_for(path, format)
    pieces = _check_rows(space.blocks(), len(space), progress)
    return _write(path, kind, pieces, shape=(len(space), space.width), name=space.name, overwrite=overwrite)


def rewrite(
    source: str | Path,
    target: str | Path,
    *,
    change: Change | None = None,
    format: str | None = None,
    overwrite: bool = False,
    limit: int | None = None,
    words: Iterable[str] | None = None,
    source_format: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    bad_rows: Literal["error", "skip"] = "error",
    member: str | None = None,
    words_file: str | Path | None = None,
    on_rows: Callable[[int], None] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Convert a file to another format, with an optional change of each block, and return the new path.

    Only one block and the vocabulary are in memory, so that three million words can be converted, rotated or
    erased on a small machine. The source is read twice if its number of rows is not known beforehand (GloVe files, or
    if `words` is given).

    Parameters
    ----------
    source, target : path
        Any format; see `read_space` and `write_space`.
    change : callable, optional
        ``change(words, vectors)`` returns the new vectors of a block.
    limit, words, source_format, encoding, errors, bad_rows, member, words_file
        Options for reading the source, as in `read_space`.
    on_rows : callable, optional
        Called with the number of rows before the first block is changed.
    """
    source, target = Path(source), Path(target)
    kind = format_for(target, format)

    def options() -> ReadOptions:
        return read_options(limit, selection, encoding=encoding, errors=errors, bad_rows=bad_rows)

    selection = None if words is None else frozenset(words)
    reading: dict[str, Any] = {"format": source_format, "member": member, "words_file": words_file}
    rows = _row_count(source, options(), reading)
    if on_rows is not None:
        on_rows(rows)
    final = options()
    with open_stream(source, final, **reading) as (_, blocks):
        pieces = _check_rows(_apply(((block.words, block.vectors) for block in blocks), change), rows, progress)
        first = next(pieces, None)
        if first is None:
            raise FormatError(f"{source.name}: no row could be read.")
        shape = (rows, first[1].shape[1])
        path = _write(target, kind, chain([first], pieces), shape=shape, name=name_of(target), overwrite=overwrite)
    warn_skipped(source.name, final)
    if final.other_columns:
        message = (
            f"{path.name} has the words and the vectors of {source.name}. These columns were not written: "
            f"{name_some(final.other_columns)}."
        )
        advice = Advice(python=" To keep them, open the file as a table (densray.open_table).")
        warnings.warn(ColumnsNotWrittenWarning(message, advice), stacklevel=2)
    return path


def format_for(path: Path, format: str | None = None) -> str:
    """Return the format of a new file: the given one, or the one of its extension."""
    compression, plain = compression_of(path)
    kind = format or ENDINGS.get(Path(plain).suffix.lower())
    if kind is None:
        raise FormatError(
            f"{path.name}: the ending names no format. Use one of {', '.join(ENDINGS)} (.gz, .bz2, .zst or .zip after "
            f"it where the format allows), or name the format."
        )
    if kind not in FORMATS:
        raise FormatError(f"format is {kind!r}. {suggest(kind, FORMATS)}")
    if compression is not None and not FORMATS[kind].compressible:
        raise FormatError(
            f"{path.name}: {kind} cannot be compressed with {compression}, because it could then not be read in place. "
            f"Leave out {path.suffix}."
        )
    if compression is not None and FORMATS[kind].two_files:
        raise FormatError(
            f"{path.name}: {kind} cannot be compressed with {compression}, because its words are in a second file. "
            f"Leave out {path.suffix}, or write .npz."
        )
    return kind


def _row_count(path: Path, options: ReadOptions, reading: dict[str, Any]) -> int:
    """Return the number of rows of a source: declared, or counted by reading it once."""
    with open_stream(path, options, **reading) as (stream, blocks):
        if stream.rows is not None and options.words is None and not options.skip_bad_rows:
            return stream.rows if options.limit is None else min(stream.rows, options.limit)
        return sum(len(block.words) for block in blocks)


def _apply(pieces: Pieces, change: Change | None) -> Pieces:
    for words, vectors in pieces:
        yield words, vectors if change is None else np.asarray(change(words, vectors), dtype=np.float32)


def _check_rows(pieces: Pieces, rows: int, progress: Progress | None) -> Pieces:
    """Pass pieces through, and check their shapes and the total number of rows."""
    n_rows, width = 0, None
    for words, vectors in pieces:
        width = vectors.shape[1] if width is None else width
        if vectors.shape != (len(words), width):
            raise FormatError(f"A block of {len(words)} words has vectors of shape {vectors.shape}, width {width}.")
        "".join(words).encode()  # raises for lone surrogates, which no format can store
        _check_finite(words, vectors)
        n_rows += len(words)
        yield words, vectors
        if progress is not None:
            progress(n_rows, rows)
    if n_rows != rows:
        raise FormatError(f"{n_rows:,} rows arrived, but {rows:,} were announced.")


def _check_finite(words: Sequence[str], vectors: NDArray[Any]) -> None:
    """Refuse numbers that no reader would accept."""
    if not np.isfinite(vectors).all():
        row = int((~np.isfinite(vectors).all(axis=1)).argmax())
        number = vectors[row][~np.isfinite(vectors[row])][0]
        raise FormatError(f"The vector of {shorten(words[row])} has the number {number}, which no file should hold.")


def _write(path: Path, kind: str, pieces: Iterator[Any], *, shape: tuple[int, int], name: str, overwrite: bool) -> Path:
    """Write pieces to a file, atomically."""
    rows, width = shape
    try:
        if FORMATS[kind].two_files:
            _write_pair(path, pieces, shape=shape, overwrite=overwrite)
            return path
        compression, inner = compression_of(path)
        write = FORMATS[kind].write
        with atomic_write(path, overwrite=overwrite) as temporary:
            with open_target(temporary, compression=compression, inner=inner) as file:
                write(file, pieces, rows=rows, width=width, **({"name": name} if write is write_native else {}))
            _check_recognized(temporary, kind)
    except UnicodeEncodeError as error:
        raise FormatError(f"The word {shorten(error.object)} is not valid Unicode: {error.reason}.") from error
    return path


def _check_recognized(path: Path, kind: str) -> None:
    """Refuse a new file that would be detected as another format: its first word may look like a zip archive."""
    try:
        with open_source(path) as source:
            entry = FORMATS[detect_format(source)]
            recognized = entry.read is FORMATS[kind].read
            if recognized and entry.name == "glove":
                entry.read(source, ReadOptions())
    except FormatError:
        recognized = False
    if not recognized:
        raise FormatError(
            f"A {kind} file of these rows would be detected as another format. Write native, .npz or .parquet."
        )


def _write_pair(path: Path, pieces: Pieces, *, shape: tuple[int, int], overwrite: bool) -> None:
    """Write a matrix, and its words to a file next to it; both are replaced or neither."""
    path = link_target(path)
    digest = ""

    def commit(matrix: Path, path: Path) -> None:
        flush_to_disk(words)
        flush_to_disk(matrix)
        put_pair_in_place(matrix, words, path, digest)

    with (
        atomic_write(words_path(path), overwrite=overwrite, commit=lambda *_: None) as words,
        atomic_write(path, overwrite=overwrite, commit=commit) as temporary,
        temporary.open("wb") as file,
        words.open("wb") as words_file,
    ):
        digest = write_npy(file, words_file, pieces, rows=shape[0], width=shape[1])
