"""What passes between readers and writers: a space as a stream of blocks, never as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from densray.errors import FormatError

__all__ = ["BLOCK_BYTES", "Block", "Pieces", "Progress", "ReadOptions", "SpaceStream", "check_shape", "rows_per_block"]

BLOCK_BYTES = 4 << 20
"""How much of a file is held at a time."""

_WIDEST = 1 << 20

Pieces = Iterator[tuple[Sequence[str], NDArray[np.float32]]]
"""What a writer takes: words and their vectors, piece by piece."""

Progress = Callable[[int, int | None], None]
"""Called with the rows done and the rows expected, where a file says how many."""


@dataclass(frozen=True)
class Block:
    """Some rows of a space: words, vectors, the row each has in its file, and where it stands there."""

    words: list[str]
    vectors: NDArray[np.float32]
    rows: Sequence[int]
    places: Sequence[int]


@dataclass(frozen=True)
class SpaceStream:
    """A space being read: its shape as the file declares it, and the blocks that are really there."""

    format: str
    width: int
    rows: int | None
    blocks: Iterator[Block]
    unit: Literal["line", "byte", "row"] = "row"


@dataclass(frozen=True)
class ReadOptions:
    """What the caller wants of a file."""

    limit: int | None = None
    words: frozenset[str] | None = None
    encoding: str = "utf-8"
    errors: str = "strict"
    skip_bad_rows: bool = False
    skipped: list[str] = field(default_factory=list)


def rows_per_block(width: int, *, itemsize: int = 4) -> int:
    """Return how many rows of this width make a block."""
    return max(1, BLOCK_BYTES // max(1, width * itemsize))


def check_shape(place: str, rows: int, width: int) -> None:
    """Refuse a declared shape that no space has."""
    if rows < 1 or not 1 <= width <= _WIDEST:
        raise FormatError(
            f"{place}: {rows:,} words of {width:,} numbers are declared; at least one word, and 1 to {_WIDEST:,} "
            f"numbers, are needed. Is this an embedding file?"
        )
