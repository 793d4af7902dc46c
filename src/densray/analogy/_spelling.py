"""How candidates are spelled, compared with the query and with the right words of the examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Letters = NDArray[np.uint32]

#: What the spelling of a candidate says; for one word and one query, averaged over the examples where they come in.
SPELLING_FEATURES = (
    "right words with the same last letter",
    "right words with the same last 2 letters",
    "right words with the same last 3 letters",
    "right words with the same first 2 letters",
    "right words with the same first 3 letters",
    "beginning shared with the query",
    "ending shared with the query",
    "unusual difference in length",
    "unusual share of common letters",
)

_LONGEST = 32  # letters compared from either end
_ENDINGS, _BEGINNINGS = (1, 2, 3), (2, 3)


class ExampleSpellings:
    """The spelling of m example pairs, in lower case.

    Parameters
    ----------
    left, right : sequence of m str
    """

    def __init__(self, left: Sequence[str], right: Sequence[str]) -> None:
        queries, answers = _Words(left), _Words(right)
        self.answers = answers
        self.growth = answers.lengths - queries.lengths
        self.common = np.maximum(*_shared(queries, answers)) / queries.lengths

    @staticmethod
    def shared_letters(query: str, words: Sequence[str]) -> Matrix:
        """Return how many letters each word shares with the query at the beginning or at the end: the larger count."""
        return np.maximum(*_shared(_Words([query]), _Words(words)))

    def describe(self, query: str, words: Sequence[str], seen: Matrix) -> list[Matrix]:
        """Return `SPELLING_FEATURES` of some words as answers to a query: arrays of shape (B, words).

        Parameters
        ----------
        query : str
        words : sequence of str
        seen : array of shape (B, m)
            One where a model knows the example, else zero.
        """
        share = seen / np.maximum(seen.sum(axis=1, keepdims=True), 1.0)
        asked, candidates = _Words([query]), _Words(words)
        beginning, ending = (shared / asked.lengths for shared in _shared(asked, candidates))
        growth = candidates.lengths - asked.lengths
        whole = (len(seen), len(words))
        return [
            *(share @ _equal(self.answers.backward, candidates.backward, count) for count in _ENDINGS),
            *(share @ _equal(self.answers.forward, candidates.forward, count) for count in _BEGINNINGS),
            np.broadcast_to(beginning, whole),
            np.broadcast_to(ending, whole),
            np.abs(growth - (share @ self.growth)[:, None]),
            np.abs(np.maximum(beginning, ending) - (share @ self.common)[:, None]),
        ]


class _Words:
    """The letters of words in lower case, from the first and from the last, as numbers; 0 after the end."""

    def __init__(self, words: Sequence[str]) -> None:
        lower = [word.lower() for word in words]
        self.lengths = np.maximum(np.array([len(word) for word in lower], dtype=np.float64), 1.0)
        self.forward = _letters(lower)
        self.backward = _letters([word[::-1] for word in lower])


def _letters(words: Sequence[str]) -> Letters:
    # NumPy keeps strings of a fixed length as four bytes per letter.
    return np.array(words, dtype=f"U{_LONGEST}").view(np.uint32).reshape(len(words), _LONGEST)


def _shared(first: _Words, second: _Words) -> tuple[Matrix, Matrix]:
    """Return how many letters the words share at the beginning and at the end."""
    return _run(first.forward, second.forward), _run(first.backward, second.backward)


def _run(first: Letters, second: Letters) -> Matrix:
    same = (first == second) & (first > 0)
    return np.asarray(np.logical_and.accumulate(same, axis=1).sum(axis=1), dtype=np.float64)


def _equal(first: Letters, second: Letters, count: int) -> Matrix:
    """Return whether the first so many letters are the same, for every pair of words: shape (first, second)."""
    same = np.ones((len(first), len(second)), dtype=bool)
    for letter in range(count):
        same &= first[:, letter, None] == second[:, letter]
    return same.astype(np.float64)
