"""What a space refuses: words that are not distinct text, vectors that are not finite numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray.errors import DensRayError, SpaceError, VectorError, name_some

__all__ = ["check_seed", "checked_vectors", "checked_words"]

_BLOCK = 16_384


def checked_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words as a tuple; anything but distinct text is a named error."""
    if isinstance(words, str):
        raise SpaceError(f"words is the text {words[:40]!r}; give a list of words.")
    checked = tuple(words)
    odd = next((row for row, word in enumerate(checked) if not isinstance(word, str)), None)
    if odd is not None:
        raise SpaceError(f"Word {odd} is {checked[odd]!r}, not text. Give every word as a str.")
    if not checked:
        raise SpaceError("A space needs at least one word; none was given.")
    if len(set(checked)) < len(checked):
        twice = [word for word, count in Counter(checked).items() if count > 1]
        raise SpaceError(
            f"{len(twice)} words occur more than once: {name_some(twice)}. Each word needs one vector; keep the first."
        )
    return checked


def checked_vectors(vectors: ArrayLike, words: Sequence[str]) -> NDArray[np.float32]:
    """Return the vectors as a float32 matrix with one finite row per word, or say what is wrong."""
    try:
        given = vectors if isinstance(vectors, np.memmap) else np.asarray(vectors)
        if given.dtype.kind not in "fiubO":
            raise TypeError(f"their type is {given.dtype}")
        with np.errstate(over="ignore"):  # a float64 beyond float32 becomes infinite and is refused below
            matrix = given.astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise VectorError(f"The vectors are not a table of real numbers ({error}).") from error
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise VectorError(
            f"Vectors of shape {matrix.shape} were given; one row of at least one number per word is needed."
        )
    if len(matrix) != len(words):
        raise SpaceError(f"{len(words)} words were given with {len(matrix)} vectors; the numbers must agree.")
    bad = [
        start + row
        for start in range(0, len(matrix), _BLOCK)
        for row in np.flatnonzero(~np.isfinite(matrix[start : start + _BLOCK]).all(axis=1)).tolist()
    ]
    if bad:
        raise VectorError(
            f"NaN or infinite numbers (for float32) in the vectors of {name_some(words[row] for row in bad)}; "
            f"first in row {bad[0]}. Leave those words out."
        )
    return matrix


def check_seed(seed: object, *, name: str = "random_state") -> None:
    """Raise if a whole number is none that a random generator takes; anything else is left to the generator."""
    if isinstance(seed, int) and not 0 <= seed < 2**32:
        raise DensRayError(f"{name} is {seed}; a whole number from 0 to {2**32 - 1:,} is needed.")
