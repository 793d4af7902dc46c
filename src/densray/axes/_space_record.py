"""A record of the space an axis was fitted on, stored in its file, to recognise the space later."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray._files import Contents
from densray._vocabulary import spread_rows, unit_rows
from densray.datasets import load_space
from densray.errors import Advice, Argument, PersistenceError, SpaceError

if TYPE_CHECKING:
    from densray.space import WordSpace

#: Number of words whose vectors are stored with an axis, and number of coordinates of each.
SAMPLED_WORDS, SAMPLED_COORDINATES = 1_024, 8
#: Tolerance for a coordinate of a unit vector: half precision and rounded text files stay below it.
SAMPLE_TOLERANCE = 2e-3
#: Relative tolerance for the length of a vector.
LENGTH_TOLERANCE = 1e-2


@dataclass(frozen=True)
class SpaceRecord:
    """Name, fingerprint and a sample of a space: enough to recognise it, or a part of it.

    Attributes
    ----------
    name : str
    n_words, width : int
    fingerprint : str
    sample : tuple of str
        Words spread evenly over the space.
    coordinates : array of shape (len(sample), at most 8), float32
        The first coordinates of their vectors, scaled to unit length.
    lengths : array of shape (len(sample),), float32, optional
        The norms of their vectors; None if the axis does not depend on norms.
    """

    name: str
    n_words: int
    width: int
    fingerprint: str
    sample: tuple[str, ...] = field(repr=False)
    coordinates: NDArray[np.float32] = field(repr=False)
    lengths: NDArray[np.float32] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, space: WordSpace, *, lengths: bool = False) -> SpaceRecord:
        """Return the record of a space, including `lengths` of vectors if an axis depends on them."""
        rows = [row for row in spread_rows(len(space), SAMPLED_WORDS).tolist() if _is_text(space.words[row])]
        words = tuple(space.words[row] for row in rows)
        vectors = space.vectors_at(rows)
        return cls(
            space.name,
            len(space),
            space.width,
            space.fingerprint(),
            words,
            _first_coordinates(vectors),
            _lengths(vectors) if lengths else None,
        )

    def describes(self, space: WordSpace) -> bool:
        """Return whether this is the recorded space, a part of it, or a larger version of it.

        The fingerprint identifies exactly this space. Otherwise the spaces must share words, and the vectors of all
        shared words must point in the same direction. Their norms may differ unless the record contains norms.
        """
        if self.width != space.width:
            return False
        if self.fingerprint == space.fingerprint():
            return True
        rows = space.locate(self.sample)
        shared = np.flatnonzero(rows >= 0)
        if not shared.size:
            return False
        vectors = space.vectors_at(rows[shared])
        if np.abs(_first_coordinates(vectors) - self.coordinates[shared]).max() > SAMPLE_TOLERANCE:
            return False
        return self.lengths is None or np.allclose(_lengths(vectors), self.lengths[shared], LENGTH_TOLERANCE, 0.0)

    def check(self, space: WordSpace, path: Path) -> None:
        """Raise unless the axis in `path` was fitted on this space, a part of it, or more of it."""
        if not self.describes(space):
            lengths = (", or its vectors have other lengths (", Argument("normalize", False), ")")
            raise PersistenceError(
                f"{path} was fitted on '{self.name}' ({self.n_words:,} words), and {space.name} is another space",
                *(() if self.lengths is None else lengths),
                ".",
                Advice(
                    " Fit an axis on this one, or pass ",
                    Argument("any_space", True),
                    " if both have the same dimensions.",
                ),
            )

    def open_part(self, source: str | Path) -> WordSpace:
        """Return the words of a space file that are in the sample, without reading all of a large file.

        Most axes are fitted on a whole space or on its beginning, so the first rows are tried first.
        """
        for limit in (self.n_words, None):
            with suppress(SpaceError):
                return load_space(source, limit=limit, words=self.sample)
        return load_space(source, limit=1)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the record as a description and arrays."""
        description = {
            "name": self.name,
            "words": self.n_words,
            "fingerprint": self.fingerprint,
            "sample": list(self.sample),
        }
        lengths = {} if self.lengths is None else {"space_lengths": self.lengths}
        return description, {"space_sample": self.coordinates, **lengths}

    @classmethod
    def from_contents(cls, contents: Contents, width: int) -> SpaceRecord | None:
        """Return the record stored in a file; None if there is none."""
        if contents.value("space", dict, type(None)) is None:
            return None
        part = contents.part("space")
        sample = tuple(part.listed("sample", str))
        return cls(
            part.value("name", str),
            part.value("words", int, least=1),
            width,
            part.value("fingerprint", str),
            sample,
            contents.array("space_sample", len(sample), min(width, SAMPLED_COORDINATES)),
            contents.array("space_lengths", len(sample)) if "space_lengths" in contents.arrays else None,
        )


def _first_coordinates(vectors: Sequence[Any] | NDArray[Any]) -> NDArray[np.float32]:
    unit = unit_rows(np.asarray(vectors, dtype=np.float64))
    return np.ascontiguousarray(unit[:, :SAMPLED_COORDINATES], dtype=np.float32)


def _lengths(vectors: Sequence[Any] | NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(np.linalg.norm(np.asarray(vectors, dtype=np.float64), axis=1), dtype=np.float32)


def _is_text(word: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in word)  # a lone surrogate cannot be written
