"""Writing a space: any format, atomically, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from densray._files import atomic_write
from densray._threads import Progress
from densray.errors import FormatError, shorten, suggest
from densray.formats._arrays import words_path, write_npy
from densray.formats._blocks import Pieces, ReadOptions, warn_skipped
from densray.formats._bytes import compression_of, open_target
from densray.formats._reading import FORMATS, name_of, open_stream, read_options
from densray.formats._safetensors import write_native
from densray.space import WordSpace

Change = Callable[[Sequence[str], NDArray[np.float32]], NDArray[Any]]
"""What `rewrite` does to a block: takes its words and vectors, returns vectors, of another width perhaps."""

ENDINGS = {ending: known.name for known in FORMATS.values() for ending in known.endings}
"""Which format the ending of a new file's name asks for."""


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
    space : WordSpace
    path : path
        Its ending says format and compression: ``space.vec.gz``, ``space.bin``, ``space.densray`` (native, which
        opens at once) …
    format : str, optional
        One of `FORMATS`, where the ending should not decide.
    overwrite : bool
        Whether a file of that name may be replaced. The old one stays whole until the new one is.
    progress : callable, optional
        Called with the rows done and the rows in all.
    """
    path = Path(path)
    kind = format_for(path, format)
    pieces = _counted(space.blocks(), len(space), progress)
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
    progress: Progress | None = None,
) -> Path:
    """Write a file in another format, each block changed on the way, and return the new path.

    Memory holds one block and the vocabulary, never the matrix: three million words are converted, rotated or
    erased on a small machine. Where the source does not say how many rows it has (GloVe, or a choice of `words`),
    it is read twice.

    Parameters
    ----------
    source, target : path
        Any format; see `read_space` and `write_space`.
    change : callable, optional
        ``change(words, vectors)`` returns the new vectors of a block.
    limit, words, source_format, encoding, errors, bad_rows, member, words_file
        What is read of the source, as for `read_space`.
    """
    source, target = Path(source), Path(target)
    kind = format_for(target, format)

    def options() -> ReadOptions:
        return read_options(limit, wanted, encoding=encoding, errors=errors, bad_rows=bad_rows)

    wanted = None if words is None else frozenset(words)
    place: dict[str, Any] = {"format": source_format, "member": member, "words_file": words_file}
    rows = _row_count(source, options(), place)
    final = options()
    with open_stream(source, final, **place) as (_, blocks):
        pieces = _counted(_changed(((block.words, block.vectors) for block in blocks), change), rows, progress)
        first = next(pieces, None)
        if first is None:
            raise FormatError(f"{source.name}: no row could be read.")
        shape = (rows, first[1].shape[1])
        written = _write(target, kind, chain([first], pieces), shape=shape, name=name_of(target), overwrite=overwrite)
    warn_skipped(source.name, final)
    return written


def format_for(path: Path, format: str | None = None) -> str:
    """Return the format a new file gets: the one named, or the one its ending asks for."""
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
            f"{path.name}: {kind} is not written inside {compression}, since it could not be read in place. "
            f"Leave out {path.suffix}."
        )
    return kind


def _row_count(path: Path, options: ReadOptions, place: dict[str, Any]) -> int:
    """Return how many rows a source will give: as it declares, or else counted by reading it once."""
    with open_stream(path, options, **place) as (stream, blocks):
        if stream.rows is not None and options.words is None and not options.skip_bad_rows:
            return stream.rows if options.limit is None else min(stream.rows, options.limit)
        return sum(len(block.words) for block in blocks)


def _changed(pieces: Pieces, change: Change | None) -> Pieces:
    for words, vectors in pieces:
        yield words, vectors if change is None else np.asarray(change(words, vectors), dtype=np.float32)


def _counted(pieces: Pieces, rows: int, progress: Progress | None) -> Pieces:
    """Pass pieces on, checking that each is whole and that they are as many rows as declared."""
    done, width = 0, None
    for words, vectors in pieces:
        width = vectors.shape[1] if width is None else width
        if vectors.shape != (len(words), width):
            raise FormatError(f"A block of {len(words)} words has vectors of shape {vectors.shape}, width {width}.")
        "".join(words).encode()  # lone surrogates are no text in any format
        done += len(words)
        yield words, vectors
        if progress is not None:
            progress(done, rows)
    if done != rows:
        raise FormatError(f"{done:,} rows came where {rows:,} were declared.")


def _write(path: Path, kind: str, pieces: Iterator[Any], *, shape: tuple[int, int], name: str, overwrite: bool) -> Path:
    """Write pieces into place, as a whole or not at all."""
    compression, inner = compression_of(path)
    rows, width = shape
    try:
        with (
            atomic_write(path, overwrite=overwrite) as temporary,
            open_target(temporary, compression=compression, inner=inner) as file,
        ):
            write = FORMATS[kind].write
            if write is write_npy:
                _write_npy(path, file, pieces, shape=shape, overwrite=overwrite)
            else:
                write(file, pieces, rows=rows, width=width, **({"name": name} if write is write_native else {}))
    except UnicodeEncodeError as error:
        raise FormatError(f"The word {shorten(error.object)} is not valid Unicode: {error.reason}.") from error
    return path


def _write_npy(path: Path, file: IO[bytes], pieces: Pieces, *, shape: tuple[int, int], overwrite: bool) -> None:
    """Write the matrix, and its words into the file beside it."""
    words_file_path = words_path(path)
    with atomic_write(words_file_path, overwrite=overwrite) as temporary, temporary.open("wb") as words_file:
        write_npy(file, words_file, pieces, rows=shape[0], width=shape[1])
