"""Words as arrays of letters, and spelling features of candidates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from densray.analogy._rules import forms_of, rules_of

Matrix = NDArray[np.float64]
Letters = NDArray[np.uint32]

_LONGEST = 32  # number of letters compared from either end


class SpelledWords:
    """Words in lower case as arrays of letters, read forwards and backwards.

    Letters are numbers, with zeros after the end of a word; only 32 letters from either end are used.

    Attributes
    ----------
    lengths : array of shape (words,)
    forward, backward : int arrays of shape (words, 32)
    """

    def __init__(self, words: Sequence[str]) -> None:
        lower = [word.lower() for word in words]
        self.lengths = np.maximum(np.array([len(word) for word in lower], dtype=np.float64), 1.0)
        self.forward = _letters(lower)
        self.backward = _letters([word[::-1] for word in lower])


def _letters(words: Sequence[str]) -> Letters:
    # NumPy stores fixed-length strings as four bytes per letter.
    return np.array(words, dtype=f"U{_LONGEST}").view(np.uint32).reshape(len(words), _LONGEST)


def shared_letters(first: SpelledWords, second: SpelledWords) -> tuple[Matrix, Matrix]:
    """Return the numbers of letters that words share at the beginning and at the end; either may be a single word."""
    return _run(first.forward, second.forward), _run(first.backward, second.backward)


def _run(first: Letters, second: Letters) -> Matrix:
    """Return the number of equal letters before the first difference."""
    count = np.zeros(max(len(first), len(second)))
    same = np.ones(len(count), dtype=bool)
    for letter in range(_LONGEST):
        same = same & (first[:, letter] == second[:, letter]) & (first[:, letter] > 0)
        if not same.any():
            break
        count += same
    return count


#: IntRank's spelling features of a candidate; comparisons with the right words are means over them.
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
    "examples whose rules make it",
    "share of the best rule",
)

_ENDINGS, _BEGINNINGS = (1, 2, 3), (2, 3)


class ExampleSpellings:
    """The spelling of m example pairs, in lower case.

    Parameters
    ----------
    left, right : sequence of m str
    """

    def __init__(self, left: Sequence[str], right: Sequence[str]) -> None:
        queries, answers = SpelledWords(left), SpelledWords(right)
        self.answers = answers
        self.growth = answers.lengths - queries.lengths
        self.common = np.maximum(*shared_letters(queries, answers)) / queries.lengths
        self.rules = [rules_of(one.lower(), other.lower()) for one, other in zip(left, right, strict=True)]

    @staticmethod
    def letters_in_common(query: str, words: Sequence[str]) -> Matrix:
        """Return how many letters each word shares with the query at its beginning or its end, whichever is more."""
        return np.maximum(*shared_letters(SpelledWords([query]), SpelledWords(words)))

    def forms(self, query: str) -> dict[str, list[int]]:
        """Return the words that rules of the examples derive from a query, with the indices of the examples."""
        forms: dict[str, list[int]] = {}
        for place, rules in enumerate(self.rules):
            for form in forms_of(rules, query.lower()):
                forms.setdefault(form, []).append(place)
        return forms

    def votes(self, query: str, words: Sequence[str], visible: Matrix) -> Matrix:
        """Return the share of the examples known to each model whose rules derive a word from the query: (B, words)."""
        forms = self.forms(query)
        matches = np.zeros((visible.shape[1], len(words)))
        for column, word in enumerate(words):
            matches[forms.get(word.lower(), []), column] = 1.0
        return np.asarray(visible @ matches / np.maximum(visible.sum(axis=1, keepdims=True), 1.0))

    def describe(self, query: str, words: Sequence[str], visible: Matrix) -> list[Matrix]:
        """Return `SPELLING_FEATURES` of some words as answers to a query: arrays of shape (B, words).

        Parameters
        ----------
        query : str
        words : sequence of str
        visible : array of shape (B, m)
            1 if a model knows the example, else 0.
        """
        share = visible / np.maximum(visible.sum(axis=1, keepdims=True), 1.0)
        spelled_query, candidates = SpelledWords([query]), SpelledWords(words)
        beginning, ending = (shared / spelled_query.lengths for shared in shared_letters(spelled_query, candidates))
        growth = candidates.lengths - spelled_query.lengths
        whole = (len(visible), len(words))
        votes = self.votes(query, words, visible)
        return [
            *(share @ _equal(self.answers.backward, candidates.backward, count) for count in _ENDINGS),
            *(share @ _equal(self.answers.forward, candidates.forward, count) for count in _BEGINNINGS),
            np.broadcast_to(beginning, whole),
            np.broadcast_to(ending, whole),
            np.abs(growth - (share @ self.growth)[:, None]),
            np.abs(np.maximum(beginning, ending) - (share @ self.common)[:, None]),
            votes,
            votes / np.maximum(votes.max(axis=1, keepdims=True, initial=0.0), 1e-12),
        ]


def _equal(first: Letters, second: Letters, count: int) -> Matrix:
    """Return whether the first `count` letters are equal, for every pair of words: shape (first, second)."""
    same = np.ones((len(first), len(second)), dtype=bool)
    for letter in range(count):
        same &= first[:, letter, None] == second[:, letter]
    return same.astype(np.float64)
