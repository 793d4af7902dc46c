"""The seeds of an axis: labelled words that are in a space, as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from densray.errors import LexiconError, VectorError, name_some
from densray.lexicon import Lexicon
from densray.rotations import Rotation, make_rotation, median_split
from densray.space import WordSpace


@dataclass(frozen=True)
class Seeds:
    """Labelled words of a space, each with its vector.

    Attributes
    ----------
    X : array of shape (n, d), float32
        Their vectors, at unit length unless asked otherwise.
    y : array of shape (n,)
        Their labels as the lexicon gives them.
    words, missing : tuples of str
        The words found, and the words of the lexicon that are not in the space.
    set_aside : dict of tuples of str
        The words the lexicon left out or merged, by reason; see :class:`densray.report.Provenance`.
    """

    X: NDArray[np.float32]
    y: NDArray[np.float64]
    words: tuple[str, ...]
    missing: tuple[str, ...] = ()
    set_aside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, space: WordSpace, lexicon: Lexicon, *, normalize: bool = True, any_case: bool = False) -> Seeds:
        """Return the words of a lexicon that are in a space; too few of them are a named error."""
        found = lexicon.align(space, any_case=any_case, minimum=2)
        if np.ptp(found.y) == 0.0:
            raise LexiconError(
                f"all {len(found.words)} words of '{lexicon.name}' found in '{space.name}' have the label "
                f"{found.y[0]:g} ({name_some(found.words)}); an axis needs words of another label, or other scores."
            )
        X = unit_rows(found.X) if normalize else found.X
        zero = np.flatnonzero(~X.any(axis=1))
        if zero.size:
            named = name_some(found.words[row] for row in zero.tolist())
            raise VectorError(f"the vectors of {named} are zero: they have no direction. Leave those words out.")
        spelled_twice = {"same vector": found.repeated} if found.repeated else {}
        set_aside = {**lexicon.dropped.by_reason(), **spelled_twice}
        return cls(X, found.y, found.words, found.missing, set_aside)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def binary(self) -> bool:
        """Whether there are two classes; else the labels are scores."""
        return len(np.unique(self.y)) == 2

    @property
    def values(self) -> NDArray[np.float64]:
        """-1 and 1 for two classes, else the scores."""
        return self.sides if self.binary else self.y

    @property
    def sides(self) -> NDArray[np.float64]:
        """1 for the higher class, or a score above the median; else -1."""
        high = self.y.max()
        if self.binary or np.median(self.y) == high:  # where nothing lies above the median, it counts as high
            return np.where(self.y == high, 1.0, -1.0)
        return median_split(self.y)

    def take(self, rows: NDArray[np.intp]) -> Seeds:
        """Return some of the seeds."""
        words = tuple(self.words[row] for row in rows.tolist())
        return Seeds(self.X[rows], self.y[rows], words, self.missing, self.set_aside)


def joined_reasons(parts: Iterable[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Return the words that several word lists set aside as one account, each word once for each reason.

    >>> joined_reasons([{"neutral": ("table",)}, {"neutral": ("table", "chair"), "conflicting": ("odd",)}])
    {'neutral': ('table', 'chair'), 'conflicting': ('odd',)}
    """
    joined: dict[str, dict[str, None]] = {}
    for part in parts:
        for reason, words in part.items():
            joined.setdefault(reason, {}).update(dict.fromkeys(words))
    return {reason: tuple(words) for reason, words in joined.items()}


def fitted(method: str | Rotation, seeds: Seeds, *, n_components: int | None = 1) -> Rotation:
    """Return a rotation fitted on the seeds, by name or as given; one that is fitted already is returned as it is."""
    if isinstance(method, str):
        return make_rotation(method, n_components).fit(seeds.X, seeds.y)
    if not hasattr(method, "components_"):
        fresh: Rotation = clone(method)
        return fresh.fit(seeds.X, seeds.y)
    if method.components_.shape[1] != seeds.X.shape[1]:
        raise VectorError(
            f"the rotation has axes of width {method.components_.shape[1]}, the space vectors of {seeds.X.shape[1]}. "
            "Use the space it was fitted on, or fit anew."
        )
    return method


def unit_rows(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows at unit length; rows of zeros stay as they are."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    return np.asarray(X / np.where(lengths > 0, lengths, 1.0)[:, None], dtype=np.float32)
