"""Which pairs of an analogy set a space can be asked about, and why the others cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from densray.analogies import AnalogyCategory, AnalogyPair, AnalogySet
from densray.space import WordSpace

__all__ = ["SkippedPair", "UsableCategory", "UsablePair", "case_matters", "find_usable"]


@dataclass(frozen=True)
class UsablePair:
    """A pair with its rows in a space.

    Attributes
    ----------
    query, answer
        Rows of the query and of its first answer, the one to train on.
    right
        Rows that count as right: every listed answer in the space, less the query.
    barred
        Rows that may not answer: the query, in upper or lower case.
    words
        Query and answers in lower case: while this pair is asked, none of them is trained on.
    """

    pair: AnalogyPair
    query: int
    answer: int
    right: tuple[int, ...]
    barred: tuple[int, ...]
    words: frozenset[str]


@dataclass(frozen=True)
class SkippedPair:
    """A pair that could not be asked, and the reason."""

    query: str
    answer: str
    reason: str


@dataclass(frozen=True)
class UsableCategory:
    """A category as a space sees it."""

    name: str
    group: str
    pairs: tuple[UsablePair, ...]
    total: int
    skipped: tuple[SkippedPair, ...]

    def __len__(self) -> int:
        return len(self.pairs)


def case_matters(analogies: AnalogySet) -> bool:
    """Return whether a set tells upper from lower case; one in lower case throughout, such as BATS, does not."""
    return any(word != word.lower() for word in analogies.words)


def find_usable(space: WordSpace, categories: Iterable[AnalogyCategory], *, match_case: bool) -> list[UsableCategory]:
    """Return the categories with the rows of their pairs; a pair needs its query and its first answer.

    Without `match_case` a word that is not in the space takes the first that equals it in lower case.
    """
    categories = list(categories)
    spellings = _spellings(space, (word for one in categories for pair in one for word in pair.words))
    return [_usable(space, category, spellings, match_case) for category in categories]


def _spellings(space: WordSpace, words: Iterable[str]) -> dict[str, list[int]]:
    """Return the rows of all words of the space that equal one of these in lower case."""
    rows: dict[str, list[int]] = {word.lower(): [] for word in words}
    for row, word in enumerate(space.words):
        found = rows.get(word.lower())
        if found is not None:
            found.append(row)
    return rows


def _usable(
    space: WordSpace, category: AnalogyCategory, spellings: Mapping[str, list[int]], match_case: bool
) -> UsableCategory:
    pairs, skipped = [], []
    for pair in category:
        query, answer, *more = space.locate(pair.words, match_case=match_case).tolist()
        if query < 0 or answer < 0:
            missing = "query" if query < 0 else "first answer"
            skipped.append(SkippedPair(pair.query, pair.answer, f"{missing} not in the vocabulary"))
            continue
        barred = spellings[pair.query.lower()]
        right = {row for row in (answer, *more) if row >= 0}
        if not match_case:
            right.update(row for word in pair.answers for row in spellings[word.lower()])
        pairs.append(
            UsablePair(
                pair,
                query,
                answer,
                right=tuple(sorted(right.difference(barred))),
                barred=tuple(barred),
                words=frozenset(word.lower() for word in pair.words),
            )
        )
    return UsableCategory(category.name, category.group, tuple(pairs), len(category), tuple(skipped))
