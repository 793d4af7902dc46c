"""Blocks of words and vectors, the output of every reader, checked row by row."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from densray.errors import Advice, Argument, FormatError, shorten

BLOCK_BYTES = 4 << 20
"""Number of bytes of a file in memory at a time."""

_WIDEST = 1 << 20

Pieces = Iterator[tuple[Sequence[str], NDArray[np.float32]]]
"""Input of a writer: words and their vectors, piece by piece."""


@dataclass(frozen=True)
class Block:
    """Some rows of a space: words, vectors, and positions (line number, byte offset or row, for error messages)."""

    words: list[str]
    vectors: NDArray[np.float32]
    positions: Sequence[int]


@dataclass(frozen=True)
class SpaceStream:
    """A space being read: the shape declared in the file, and its actual blocks."""

    width: int
    rows: int | None
    blocks: Iterator[Block]
    unit: Literal["line", "byte", "row"] = "row"


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a file."""

    limit: int | None = None
    words: frozenset[str] | None = None
    encoding: str = "utf-8"
    errors: str = "strict"
    skip_bad_rows: bool = False
    skipped: list[str] = field(default_factory=list)
    other_columns: list[str] = field(default_factory=list)


def rows_per_block(width: int, *, itemsize: int = 4) -> int:
    """Return the number of rows of this width in a block."""
    return max(1, BLOCK_BYTES // max(1, width * itemsize))


def check_shape(where: str, rows: int, width: int) -> None:
    """Refuse a declared shape that no space can have."""
    if rows < 1 or not 1 <= width <= _WIDEST:
        raise FormatError(
            f"{where}: {rows:,} words of {width:,} numbers are declared; at least one word, and 1 to {_WIDEST:,} "
            f"numbers, are needed. Is this an embedding file?"
        )


def checked_blocks(stream: SpaceStream, name: str, options: ReadOptions, index: dict[str, int]) -> Iterator[Block]:
    """Yield the blocks of a stream without bad rows, filling `index` with the row of each word.

    A bad row is an error, or is left out with ``skip_bad_rows``; of a repeated word, the first row is kept.
    The stream ends early once all wanted words have been read.
    """
    for block in stream.blocks:
        good = _good_rows(block, stream.unit, name, options, index)
        if good is not None:
            block = _select(block, good)  # noqa: PLW2901
        index.update(zip(block.words, range(len(index), len(index) + len(block.words)), strict=True))
        if block.words:
            yield block
        if options.words is not None and len(index) >= len(options.words):
            return


def _good_rows(
    block: Block, unit: str, name: str, options: ReadOptions, index: dict[str, int]
) -> NDArray[np.int64] | None:
    """Return a mask of the good rows of a block; None if all are good."""
    numbers = np.isfinite(block.vectors)
    distinct = set(block.words)
    if numbers.all() and len(distinct) == len(block.words) and index.keys().isdisjoint(distinct):
        return None
    finite = np.asarray(numbers.all(axis=1))
    good: list[int] = []
    seen: set[str] = set()
    for row, word in enumerate(block.words):
        if not finite[row]:
            wrong = block.vectors[row][~np.isfinite(block.vectors[row])][0]
            beyond = "" if np.isnan(wrong) else " or one beyond float32"
            problem = f"the vector of {shorten(word)} has the number {wrong}{beyond}"
        elif word in seen or word in index:
            problem = f"the word {shorten(word)} is repeated"
        else:
            seen.add(word)
            good.append(row)
            continue
        message = f"{name}, {unit} {block.positions[row]:,}: {problem}"
        if not options.skip_bad_rows:
            raise FormatError(
                f"{message}.",
                Advice(" Leave such rows out with ", Argument("bad_rows", "skip"), "; the first of a word is kept."),
            )
        options.skipped.append(message)
    return np.array(good, dtype=np.int64)


def _select(block: Block, rows: NDArray[np.int64]) -> Block:
    places = rows.tolist()
    return Block([block.words[row] for row in places], block.vectors[rows], [block.positions[row] for row in places])


def select_rows(words: list[str], vectors: NDArray[np.float32], first: int, options: ReadOptions) -> Block:
    """Return the wanted rows of a piece that starts at row `first` of its file."""
    block = Block(words, vectors, range(first + 1, first + 1 + len(words)))
    if options.words is None:
        return block
    kept = [row for row, word in enumerate(words) if word in options.words]
    return _select(block, np.array(kept, dtype=np.int64))


def warn_skipped(name: str, options: ReadOptions) -> None:
    """Warn once, with the first example, if rows were left out."""
    if options.skipped:
        warnings.warn(
            f"{name}: {len(options.skipped):,} bad rows were left out. The first: {options.skipped[0]}.",
            UserWarning,
            stacklevel=3,
        )
