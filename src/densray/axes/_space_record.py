"""A record of the space an axis was fitted on, stored in its file, to recognise the space later."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray._arrays import to_host
from densray._files import Contents
from densray._vocabulary import spread_rows, unit_rows
from densray.datasets import load_space
from densray.errors import Advice, Argument, PersistenceError, SpaceError, level_of_caller
from densray.report import show_number

if TYPE_CHECKING:
    from densray.rows import Rows
    from densray.space import WordSpace

#: Number of words whose vectors are stored with an axis, and number of coordinates of each.
SAMPLED_WORDS, SAMPLED_COORDINATES = 1_024, 8
#: Tolerance for a coordinate of a unit vector: half precision and rounded text files stay below it.
SAMPLE_TOLERANCE = 2e-3
#: Relative tolerance for the length of a vector.
LENGTH_TOLERANCE = 1e-2
#: Vectors belong to another space if the median cosine of this many words or more is below this.
_FEW_KNOWN, _OTHER_SPACE = 4, 0.5


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


class KnownVectors:
    """Words with their vectors in the space that an axis or erasure comes from, to notice another space.

    The words are the labelled ones, or those of the record in its file, which has a few coordinates of each vector.

    Parameters
    ----------
    name : str
        Name of the space.
    words : sequence of str
    vectors : array of shape (len(words), k)
        The first coordinates, or all, of their vectors at unit length.
    """

    def __init__(self, name: str, words: Sequence[str], vectors: NDArray[Any]) -> None:
        self._name, self._words, self._vectors = name, words, vectors
        self._places = {word: place for place, word in enumerate(words)}
        self._cosines: list[NDArray[np.float64]] = []

    @classmethod
    def of(cls, rows: Rows | None, record: SpaceRecord | None) -> KnownVectors | None:
        """Return the words of labelled rows, or else of a record; None if both are unknown."""
        if rows is not None and hasattr(rows.background, "locate"):
            return cls(rows.background.name, rows.names, unit_rows(np.asarray(to_host(rows.X), dtype=np.float64)))
        return None if record is None else cls(record.name, record.sample, record.coordinates.astype(np.float64))

    def compare_space(self, space: WordSpace) -> None:
        """Compare the vectors of a whole space with the known ones."""
        rows = space.locate(self._words)
        known = np.flatnonzero(rows >= 0)
        self._compare(known, space.vectors_at(rows[known]))

    def compare_block(self, words: Sequence[str], vectors: NDArray[Any]) -> None:
        """Compare a block of the vectors of a space with the known ones."""
        shared = [(self._places[word], row) for row, word in enumerate(words) if word in self._places]
        if shared:
            places, rows = (list(column) for column in zip(*shared, strict=True))
            self._compare(np.array(places), vectors[rows])

    def warn_of_other_space(self, name: str, effect: str) -> None:
        """Warn if the vectors compared are those of another space; `effect` says what follows, and what to do."""
        cosines = np.concatenate(self._cosines) if self._cosines else np.empty(0)
        if len(cosines) < _FEW_KNOWN or float(np.median(cosines)) >= _OTHER_SPACE:
            return
        warnings.warn(
            f"{len(cosines):,} words have different vectors in '{name}' and in '{self._name}' "
            f"(median cosine {show_number(float(np.median(cosines)), 2)}), so {effect}",
            UserWarning,
            stacklevel=level_of_caller(),
        )

    def _compare(self, places: NDArray[np.intp], vectors: NDArray[Any]) -> None:
        there = self._vectors[places]
        here = unit_rows(np.asarray(vectors, dtype=np.float64))[:, : there.shape[1]]
        cosines = (unit_rows(here) * unit_rows(there)).sum(axis=1)
        # sparse vectors may have no coordinate among the few of the record
        empty = [np.linalg.norm(each, axis=1) < SAMPLE_TOLERANCE for each in (here, there)]
        self._cosines.append(np.where(empty[0] & empty[1], 1.0, cosines))


def _first_coordinates(vectors: Sequence[Any] | NDArray[Any]) -> NDArray[np.float32]:
    unit = unit_rows(np.asarray(vectors, dtype=np.float64))
    return np.ascontiguousarray(unit[:, :SAMPLED_COORDINATES], dtype=np.float32)


def _lengths(vectors: Sequence[Any] | NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(np.linalg.norm(np.asarray(vectors, dtype=np.float64), axis=1), dtype=np.float32)


def _is_text(word: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in word)  # a lone surrogate cannot be written
