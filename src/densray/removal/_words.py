"""Removing a concept from spaces and files: kept words, equalised pairs, partial strength."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray.errors import CoverageError, SpaceError, name_some
from densray.removal._equalize import equalized
from densray.removal._erasure import Erasure, check_strength
from densray.space import WordSpace

if TYPE_CHECKING:
    from densray.rotations import Rotation

__all__ = ["Removal", "remove", "remove_from_file"]

_BLOCK = 16_384
#: Options of `rewrite` that say how the source is read: as `read_space` calls them, or under another name.
_SHARED = ("limit", "encoding", "errors", "bad_rows", "member", "words_file")
_READING = {"source_format": "format"}


@dataclass(frozen=True)
class Removal:
    """An erasure with its exceptions: ``removal(words, vectors)`` returns the new vectors of a block of words.

    It is what :func:`densray.formats.rewrite` takes as ``change``.

    Attributes
    ----------
    erasure : Erasure
    keep : frozenset of str
        Words left as they are, to the bit.
    replaced : mapping
        Words with a vector of their own, such as equalised pairs; they win over `keep`.
    strength : float
        Share of the change to make.
    """

    erasure: Erasure
    keep: frozenset[str] = frozenset()
    replaced: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    strength: float = 1.0

    def __call__(self, words: Sequence[str], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the vectors of these words after the removal."""
        changed: NDArray[np.float32] = np.asarray(self.erasure.erase(vectors, strength=self.strength), dtype=np.float32)
        if not self.keep and not self.replaced:
            return changed
        for row, word in enumerate(words):
            if word in self.replaced:
                changed[row] = vectors[row] + self.strength * (self.replaced[word] - vectors[row])
            elif word in self.keep:
                changed[row] = vectors[row]
        return changed


def remove(
    space: WordSpace,
    erasure: Erasure | Rotation,
    *,
    keep: Iterable[str] = (),
    equalize: Iterable[tuple[str, str]] = (),
    strength: float = 1.0,
) -> WordSpace:
    """Return the space without a concept.

    Parameters
    ----------
    space : WordSpace
    erasure : Erasure, or a fitted rotation
        A rotation loses its first axis; for more use ``Erasure.of(rotation, n_axes)``.
    keep : iterable of str
        Words that carry the concept by right and stay as they are, to the bit. Words not in the space need no keeping.
    equalize : iterable of pairs
        Pairs to be set equally far from everything neutral; they are equalised even where `keep` names them.
    strength : float
        Share of the change to make, from 0 to 1.
    """
    change = _planned(space, erasure, keep=keep, equalize=equalize, strength=strength)
    vectors = np.empty(space.vectors.shape, dtype=np.float32)
    start = 0
    for words, block in space.blocks(_BLOCK):
        vectors[start : start + len(words)] = change(words, block)
        start += len(words)
    return space.with_vectors(vectors)


def remove_from_file(
    source: str | Path,
    target: str | Path,
    erasure: Erasure | Rotation,
    *,
    keep: Iterable[str] = (),
    equalize: Iterable[tuple[str, str]] = (),
    strength: float = 1.0,
    **options: Any,
) -> Path:
    """Write a file of vectors anew without a concept, block by block: memory never holds the matrix.

    Parameters
    ----------
    source, target : path
        Any format in, any format out.
    erasure, keep, equalize, strength
        As for :func:`remove`.
    **options
        What :func:`densray.formats.rewrite` takes: ``overwrite``, ``limit``, ``encoding``, ``progress`` …
    """
    from densray.formats import read_space, rewrite

    pairs = list(equalize)
    mentioned = {word for pair in pairs for word in pair}
    reading = {_READING.get(name, name): options[name] for name in options if name in (*_SHARED, *_READING)}
    excerpt = read_space(source, words=mentioned, **reading) if mentioned else None
    change = _planned(excerpt, erasure, keep=keep, equalize=pairs, strength=strength)
    return rewrite(source, target, change=change, **options)


def _planned(
    space: WordSpace | None,
    erasure: Erasure | Rotation,
    *,
    keep: Iterable[str],
    equalize: Iterable[tuple[str, str]],
    strength: float,
) -> Removal:
    check_strength(strength)
    found = erasure if isinstance(erasure, Erasure) else Erasure.of(erasure)
    if space is not None and space.width != found.width:
        raise SpaceError(
            f"The erasure '{found.name}' was fitted on {found.width} dimensions, '{space.name}' has {space.width}. "
            f"Fit it on this space, or use the one it was fitted on."
        )
    pairs = list(equalize)
    replaced = {} if space is None else equalized(space, found, pairs)
    if pairs and not replaced:
        raise CoverageError(
            f"None of the {len(pairs)} pairs to equalise is wholly in the space (first: {name_some(pairs[0])}). "
            f"Check case and language, or leave them out."
        )
    return Removal(found, frozenset(keep), replaced, strength)
