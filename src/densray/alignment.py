"""Where labelled words meet a space: vectors, labels, the words found and the words missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray._vocabulary import check_seed, unit_rows
from densray.errors import LexiconError, name_some

if TYPE_CHECKING:
    from densray.space import WordSpace

__all__ = ["Alignment", "align_words", "draw_test_words", "locate_spellings", "sides_of", "spelling_key"]


@dataclass(frozen=True)
class Alignment:
    """The labelled words of a lexicon that are in a space, with their vectors.

    It unpacks: ``X, y, words, missing = lexicon.align(space)``.

    Attributes
    ----------
    X : array of shape (n, d), float32
        The vectors of the words found.
    y : array of shape (n,)
        Their labels as the lexicon gives them.
    words : tuple of str
        The words found, as the space spells them.
    missing : tuple of str
        The words of the lexicon that are not in the space.
    rows : array of shape (n,)
        The rows of the words found; empty for vectors that are not from a space.
    repeated : tuple of str
        The words that met a vector another word of the lexicon already has.
    dropped : dict of tuples of str
        The words that the lexicon itself left out or merged, by reason.
    """

    X: NDArray[np.float32]
    y: NDArray[np.float64]
    words: tuple[str, ...]
    missing: tuple[str, ...] = ()
    rows: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    repeated: tuple[str, ...] = ()
    dropped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y, self.words, self.missing))

    @property
    def n_words(self) -> int:
        """How many words were found."""
        return len(self.y)

    @property
    def coverage(self) -> float:
        """The share of the lexicon that is in the space."""
        found = len(self.words) + len(self.repeated)
        return found / (found + len(self.missing))

    @property
    def set_aside(self) -> dict[str, tuple[str, ...]]:
        """The words left out or merged by reason, as :class:`densray.report.Provenance` has them."""
        return {**self.dropped, "same vector": self.repeated} if self.repeated else dict(self.dropped)

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes; else the labels are scores."""
        return len(np.unique(self.y)) == 2

    @property
    def sides(self) -> NDArray[np.float64]:
        """1 for the higher class, or a score above the median; else -1."""
        return sides_of(self.y)

    @property
    def values(self) -> NDArray[np.float64]:
        """-1 and 1 for two classes, else the scores."""
        return self.sides if self.is_binary else self.y

    def unit(self) -> Alignment:
        """Return the words with vectors of unit length; a vector of zeros stays as it is."""
        return replace(self, X=unit_rows(self.X))

    def take(self, places: NDArray[np.intp]) -> Alignment:
        """Return some of the words found, by their places among them."""
        words = tuple(self.words[place] for place in places.tolist())
        rows = self.rows[places] if self.rows.size else self.rows
        return replace(self, X=self.X[places], y=self.y[places], words=words, rows=rows)

    def mixed(self) -> Alignment:
        """Return the words with two classes spread evenly over the rows, each in its own order; scores as they are."""
        if not self.is_binary:
            return self
        places = np.empty(len(self.y))
        for label in np.unique(self.y):
            rows = np.flatnonzero(self.y == label)
            places[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
        return self.take(np.argsort(places, kind="stable"))


def sides_of(labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 and -1: the higher and the lower of two labels, scores above their median and the others.

    Where no score lies above the median, it counts as high.

    >>> sides_of(np.array([0.0, 1.0, 1.0])), sides_of(np.array([1.0, 2.0, 5.0]))
    (array([-1.,  1.,  1.]), array([-1., -1.,  1.]))
    """
    high = labels.max()
    cut = labels.min() if len(np.unique(labels)) == 2 else np.median(labels)
    return np.where(labels > cut if cut < high else labels == high, 1.0, -1.0)


def draw_test_words(
    words: Sequence[str],
    labels: NDArray[np.float64],
    test_size: float,
    random_state: int | np.random.RandomState | None,
) -> NDArray[np.bool_]:
    """Return which words are held out for testing; see `Lexicon.split`."""
    if not 0 < test_size < 1:
        raise LexiconError(f"test_size is {test_size}; it must lie between 0 and 1, for instance 0.2.")
    check_seed(random_state)
    spellings = [spelling_key(word, any_case=True) for word in words]
    groups: dict[str, float] = {}
    for key, label in zip(spellings, labels.tolist(), strict=True):
        groups.setdefault(key, label)
    from sklearn.utils import check_random_state

    random = check_random_state(random_state)
    strata = np.array(list(groups.values())) if len(np.unique(labels)) == 2 else np.zeros(len(groups))
    keys = np.array(list(groups), dtype=object)
    test: set[str] = set()
    for stratum in np.unique(strata):
        members = random.permutation(keys[strata == stratum])
        test.update(members[: round(test_size * len(members))])
    in_test = np.array([key in test for key in spellings])
    if in_test.all() or not in_test.any():
        raise LexiconError(f"{len(words)} words cannot be split with test_size={test_size}: one side would be empty.")
    return in_test


def spelling_key(word: str, *, any_case: bool) -> str:
    """Return what two spellings of one word have in common: blanks for underscores, lower case on request."""
    joined = word.replace("_", " ")
    return joined.lower() if any_case else joined


def locate_spellings(
    words: Sequence[str], space: WordSpace, *, any_case: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the row of each word, -1 where it is missing, and how far its spelling was bent to find it.

    0: as it stands; 1: blanks for underscores or the reverse; 2, 3: the same without regard to case.
    """
    spellings = (("", ""), (" ", "_"), ("_", " "))
    rows = np.full(len(words), -1, dtype=np.int64)
    bent = np.zeros(len(words), dtype=np.int64)
    for anyhow in (False, True) if any_case else (False,):
        for number, (old, new) in enumerate(spellings):
            unmet = np.flatnonzero(rows < 0)
            asked = [words[place].replace(old, new) if old else words[place] for place in unmet.tolist()]
            rows[unmet] = found = space.locate(asked, any_case=anyhow)
            bent[unmet[found >= 0]] = min(number, 1) + (2 if anyhow else 0)
    return rows, bent


def align_words(
    words: Sequence[str],
    labels: NDArray[np.float64],
    space: WordSpace,
    *,
    any_case: bool,
    limit: int | None,
    minimum: int,
) -> Alignment:
    """Return the words that are in the space with vectors and labels; see `Lexicon.align`."""
    searched = space if limit is None else space.limit(limit)
    rows, bent = locate_spellings(words, searched, any_case=any_case)
    chosen = _first_per_row(rows, bent)
    missing = tuple(word for word, row in zip(words, rows, strict=True) if row < 0)
    if len(chosen) < max(minimum, 1):
        raise LexiconError(_too_few(len(words), missing, space, minimum=minimum, limit=limit))
    chosen_places = set(chosen.tolist())
    return Alignment(
        X=np.array(space.vectors[rows[chosen]]),
        y=labels[chosen].copy(),
        rows=rows[chosen],
        words=tuple(space.words[row] for row in rows[chosen].tolist()),
        missing=missing,
        repeated=tuple(words[place] for place in np.flatnonzero(rows >= 0).tolist() if place not in chosen_places),
    )


def _first_per_row(rows: NDArray[np.int64], bent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of the words found, one per row: the least bent spelling, then the first."""
    places = np.flatnonzero(rows >= 0)
    places = places[np.argsort(bent[places], kind="stable")]
    _, first = np.unique(rows[places], return_index=True)
    return np.sort(places[first])


def _too_few(total: int, missing: Sequence[str], space: WordSpace, *, minimum: int, limit: int | None) -> str:
    needed = "" if minimum <= 1 else f" At least {minimum} are needed."
    if not missing:
        return f"All {total} lexicon words are in the space, and they are too few.{needed}"
    return (
        f"{total - len(missing)} of {total} lexicon words are in the space (first missing: {name_some(missing[:5])})."
        f"{needed} "
        f"{_likely_cause(missing, space, limit)}"
    )


def _likely_cause(missing: Sequence[str], space: WordSpace, limit: int | None) -> str:
    sample = list(missing[:200])
    if limit is not None and (locate_spellings(sample, space)[0] >= 0).any():
        return f"They lie beyond the first {limit} words: raise limit."
    in_other_case = space.locate(sample, any_case=True)
    if (in_other_case >= 0).any():
        spelled = next(space.words[row] for row in in_other_case.tolist() if row >= 0)
        lowered = spelled == spelled.lower()
        question = "Was the space lower-cased?" if lowered else f"The space has '{spelled}'."
        return f"{question} Use any_case=True."
    return f"The space begins {name_some(space.words[:3])}: is it of another language or cut short?"
