"""The space an axis was fitted on: a few of its words and numbers, so that it is known again, whole or in part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from densray.neighbors import at_unit_length

if TYPE_CHECKING:
    from densray.space import WordSpace

__all__ = ["agrees", "sample_space"]

#: Words whose vectors are remembered, and how many coordinates of each.
SAMPLED_WORDS, SAMPLED_COORDINATES = 1_024, 8
#: What a coordinate of a unit vector may differ by: half precision and rounded text files stay below it.
TOLERANCE = 2e-3


def sample_space(space: WordSpace) -> tuple[list[str], NDArray[np.float32]]:
    """Return words spread evenly over a space, and the first coordinates of their vectors at unit length."""
    rows = np.unique(np.linspace(0, len(space) - 1, num=min(len(space), SAMPLED_WORDS)).astype(np.int64))
    writable = [row for row in rows.tolist() if _is_text(space.words[row])]
    return [space.words[row] for row in writable], _first_coordinates(space.vectors[writable])


def agrees(space: WordSpace, words: Sequence[str], coordinates: NDArray[np.float32]) -> bool:
    """Return whether a space has some of the words, and every one of them points where it was remembered to point.

    A part of a space agrees with the whole, and its vectors may have been scaled; a space without a common word, or in
    which one of them points elsewhere, is another one.
    """
    rows = space.locate(words)
    shared = np.flatnonzero(rows >= 0)
    found = _first_coordinates(space.vectors[rows[shared]])
    if not shared.size or found.shape[1:] != coordinates.shape[1:]:
        return False
    return bool(np.abs(found - coordinates[shared]).max() <= TOLERANCE)


def _first_coordinates(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    unit = at_unit_length(np.asarray(vectors, dtype=np.float64))
    return np.ascontiguousarray(unit[:, :SAMPLED_COORDINATES], dtype=np.float32)


def _is_text(word: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in word)  # halves of letters cannot be written
