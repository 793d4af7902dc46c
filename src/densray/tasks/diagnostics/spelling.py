"""Words a space does not have, and the words it has instead: another case, joint or accent, or one letter off."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from densray.space import WordSpace

__all__ = ["NearMiss", "near_misses"]

#: Shorter words have too many neighbours to mean one of them; longer ones are slips of another kind, and costly.
SHORTEST, LONGEST = 6, 60
#: Letters tried, besides those from a to z: the commonest of the missing words. Some scripts have thousands.
_MOST_LETTERS = 100


@dataclass(frozen=True)
class NearMiss:
    """A missing word, the word of the space that may be meant, and how they differ."""

    word: str
    found: str
    difference: str


def near_misses(missing: Sequence[str], space: WordSpace, *, most: int = 1000) -> list[NearMiss]:
    """Return for missing words the nearest spelling the space has, where there is one.

    A word is looked up in every spelling one edit away (Damerau 1964: four in five slips are one letter added, lost,
    changed or swapped; hardly ever the first), so that the cost does not depend on the size of the vocabulary. Of
    several the most frequent, the first in the space, is named. Words of five letters or fewer, or of more than sixty,
    are looked up by case, joint and accent only.

    Parameters
    ----------
    missing : sequence of str
    space : WordSpace
    most : int, default=1000
        How many missing words are looked at.
    """
    words = list(missing[:most])
    found: dict[str, NearMiss] = {}
    cased = space.locate(words, match_case=False)
    for word, row in zip(words, cased.tolist(), strict=True):
        if row >= 0:
            found[word] = NearMiss(word, space.words[row], "case")
    letters = _letters(words)
    for word in words:
        for difference, spellings in _spellings(word, letters):
            if word in found:
                break
            rows = [row for row in space.locate(spellings).tolist() if row >= 0]
            if rows:
                found[word] = NearMiss(word, space.words[min(rows)], difference)
    return [found[word] for word in words if word in found]


def _letters(words: Sequence[str]) -> list[str]:
    """Return the letters that may be missing from words, or wrong in them."""
    counts = Counter(letter for word in words if len(word) <= LONGEST for letter in word.lower())
    return sorted({letter for letter, _ in counts.most_common(_MOST_LETTERS)} | set("abcdefghijklmnopqrstuvwxyz"))


def _spellings(word: str, letters: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield other spellings, the likeliest kind first."""
    joined = {word.replace(old, new) for old in "-_ '" for new in ("", "_", "-", " ")}
    yield "joint", sorted(joined - {word})
    decomposed = unicodedata.normalize("NFD", word)
    plain = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    forms = {plain, unicodedata.normalize("NFC", word), decomposed} - {word}
    if forms:
        yield "accent", sorted(forms)
    if SHORTEST <= len(word) <= LONGEST:
        yield "one letter", _one_edit_away(word, letters)


def _one_edit_away(word: str, letters: Sequence[str]) -> list[str]:
    halves = [(word[:cut], word[cut:]) for cut in range(1, len(word) + 1)]
    lost = {left + right[1:] for left, right in halves if right}
    swapped = {left + right[1] + right[0] + right[2:] for left, right in halves if len(right) > 1}
    changed = {left + letter + right[1:] for left, right in halves if right for letter in letters}
    added = {left + letter + right for left, right in halves for letter in letters}
    return sorted((lost | swapped | changed | added) - {word})
