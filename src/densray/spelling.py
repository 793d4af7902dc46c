"""Spellings of one word: underscores for spaces, another case, another ending."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from densray.space import WordSpace

__all__ = ["locate_spellings", "possible_forms", "spelling_key"]

#: Letters that two forms of a word share at the beginning: at least this many, and at least half of either form.
STEM_LETTERS = 4
#: With fewer common letters, down to two, one form has at most one letter more (city, cities; sky, skies).
SHORT_WORD, SHORT_STEM, SHORT_ENDING = 6, 2, 1
#: A word with this many more letters is clearly a form of it (cat, cats), or may be one (win, winning).
PLAIN_ENDING, LONG_ENDING = 2, 4
#: Texts with more words than this have no forms.
PHRASE_WORDS = 4
_VOWELS = frozenset("aeiouy")


def spelling_key(word: str, *, any_case: bool | None) -> str:
    """Return a key that spellings of one word share: spaces for underscores, lower case unless `any_case` is False."""
    joined = unicodedata.normalize("NFC", word.replace("_", " "))
    return joined if any_case is False else joined.lower()


def locate_spellings(
    words: Sequence[str], space: WordSpace, *, any_case: bool | None = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the row of each word, -1 if it is missing, and how much its spelling was changed to find it.

    0: unchanged; 1: spaces for underscores or the reverse; 2, 3: the same in another case. `any_case` as for
    :meth:`densray.WordSpace.locate`.
    """
    spellings = (("", ""), (" ", "_"), ("_", " "))
    rows = np.full(len(words), -1, dtype=np.int64)
    changes = np.zeros(len(words), dtype=np.int64)
    for in_any_case in dict.fromkeys((False, any_case)):
        for number, (old, new) in enumerate(spellings):
            missing = np.flatnonzero(rows < 0)
            candidates = [words[place].replace(old, new) if old else words[place] for place in missing.tolist()]
            rows[missing] = locations = space.locate(candidates, any_case=in_any_case)
            changes[missing[locations >= 0]] = min(number, 1) + (0 if in_any_case is False else 2)
    return rows, changes


def possible_forms(words: Sequence[str]) -> tuple[list[tuple[int, int]], ...]:
    """Return the pairs of words that may be forms of one word by their letters: plain, clear and vague pairs.

    In a plain pair, one word is the other with one or two letters more. A clear pair shares at least four letters at
    the beginning, and at least half of either word. A vague pair is short and shares two or three letters, or one word
    is the other with three or four letters more, or both have the same consonants. Case and accents do not count. In
    phrases, only the last word may differ. Words with digits, words of fewer than three letters and texts of
    more than four words have no forms.

    >>> possible_forms(["color", "colours", "city", "cities", "foot", "feet", "dog", "dogs"])
    ([(6, 7)], [(0, 1)], [(2, 3), (4, 5)])
    """
    clear: dict[tuple[str, ...], list[int]] = {}
    short: dict[tuple[str, ...], list[int]] = {}
    consonant: dict[tuple[str, ...], list[int]] = {}
    lasts: dict[int, tuple[tuple[str, ...], str]] = {}
    for row, word in enumerate(words):
        *head, last = _without_accents(word.replace("_", " ").casefold()).split() or [""]
        length = len(last)
        if length <= SHORT_STEM or not last.isalpha() or len(head) >= PHRASE_WORDS:
            continue
        lasts[row] = tuple(head), last
        # two words share at least half of either if and only if they have one of these prefixes in common
        for end in range(max(STEM_LETTERS, -(-length // 2)), length + 1):
            clear.setdefault((*head, last[:end]), []).append(row)
        if length <= SHORT_WORD:
            short.setdefault((*head, last[:SHORT_STEM]), []).append(row)
        consonants = "".join(letter for letter in last if letter not in _VOWELS)
        if len(consonants) > 1:
            consonant.setdefault((*head, last[0], consonants), []).append(row)
    sure = _pairs_of(clear)
    plain: set[tuple[int, int]] = set()
    vague = {(left, right) for left, right in _pairs_of(short) if _differ_in_ending(lasts[left][1], lasts[right][1])}
    whole = {key: row for row, key in lasts.items()}
    for row, (first, last) in lasts.items():
        for end in range(max(SHORT_STEM + 1, len(last) - LONG_ENDING), len(last)):
            beginning = whole.get((first, last[:end]))
            if beginning is not None:
                pair = min(row, beginning), max(row, beginning)
                (plain if len(last) - end <= PLAIN_ENDING else vague).add(pair)
    return sorted(plain), sorted(sure - plain), sorted((vague | _pairs_of(consonant)) - sure - plain)


def _pairs_of(rows_by_key: dict[tuple[str, ...], list[int]]) -> set[tuple[int, int]]:
    return {pair for rows in rows_by_key.values() if len(rows) > 1 for pair in combinations(rows, 2)}


def _differ_in_ending(one: str, other: str) -> bool:
    """Return whether two short words share at least half of either, and all but one letter of one of them."""
    shorter, longer = sorted((one, other), key=len)
    stem = len(shorter) - SHORT_ENDING
    return shorter[:stem] == longer[:stem] and 2 * max(stem, SHORT_STEM) >= len(longer) - SHORT_ENDING


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
