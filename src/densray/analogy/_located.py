"""Categories located in a space: the row numbers of their words, and the pairs whose words are missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from densray.analogies import AnalogyCategory, AnalogyPair
from densray.space import WordSpace

#: Row numbers of words in the space.
RowNumbers = NDArray[np.int64]


@dataclass(frozen=True)
class SkippedPair:
    """A pair that could not be asked, and the reason."""

    query: str
    answer: str
    reason: str


@dataclass(frozen=True, eq=False)
class LocatedCategory:
    """A category whose usable pairs are located in a space; a pair needs its query and its first answer.

    Attributes
    ----------
    name, group : str
    pairs : tuple of AnalogyPair
        The usable pairs.
    queries, answers : int arrays of shape (m,)
        Rows of the queries and of their first answers, which solvers learn from.
    correct : tuple of m tuples of int
        Rows that count as correct: every listed answer in the space, except the query.
    excluded : tuple of m tuples of int
        Rows excluded as answers: the query, in upper or lower case.
    total : int
        Number of pairs in the set, usable or not.
    skipped : tuple of SkippedPair
    """

    name: str
    group: str
    pairs: tuple[AnalogyPair, ...]
    queries: RowNumbers
    answers: RowNumbers
    correct: tuple[tuple[int, ...], ...]
    excluded: tuple[tuple[int, ...], ...]
    total: int
    skipped: tuple[SkippedPair, ...]

    def __len__(self) -> int:
        return len(self.pairs)

    def take(self, places: RowNumbers) -> LocatedCategory:
        """Return the category with the pairs at these positions."""
        kept_places = places.tolist()
        return replace(
            self,
            pairs=tuple(self.pairs[place] for place in kept_places),
            queries=self.queries[places],
            answers=self.answers[places],
            correct=tuple(self.correct[place] for place in kept_places),
            excluded=tuple(self.excluded[place] for place in kept_places),
        )

    def skip(self, places: RowNumbers, reason: str) -> LocatedCategory:
        """Return the category without the pairs at these positions, which are listed as skipped."""
        skipped = tuple(
            SkippedPair(pair.query, pair.answer, reason) for pair in (self.pairs[place] for place in places.tolist())
        )
        rest = self.take(np.setdiff1d(np.arange(len(self)), places))
        return replace(rest, skipped=self.skipped + skipped)


def locate_categories(
    space: WordSpace, categories: Iterable[AnalogyCategory], *, any_case: bool
) -> list[LocatedCategory]:
    """Return the categories with the rows of their words.

    With `any_case`, a missing word is replaced by the first word of the space that is equal in lower case.
    """
    return [_locate(space, category, any_case) for category in categories]


def _locate(space: WordSpace, category: AnalogyCategory, any_case: bool) -> LocatedCategory:
    pairs, queries, answers, correct, excluded, skipped = [], [], [], [], [], []
    for pair in category:
        query, answer, *others = space.locate(pair.words, any_case=any_case).tolist()
        if query < 0 or answer < 0:
            missing = "query" if query < 0 else "first answer"
            skipped.append(SkippedPair(pair.query, pair.answer, f"{missing} not in the vocabulary"))
            continue
        spellings = space.spellings(pair.query)
        answer_rows = {row for row in (answer, *others) if row >= 0}
        if any_case:
            answer_rows.update(row for word in pair.answers for row in space.spellings(word))
        pairs.append(pair)
        queries.append(query)
        answers.append(answer)
        correct.append(tuple(sorted(answer_rows.difference(spellings))))
        excluded.append(tuple(spellings))
    return LocatedCategory(
        category.name,
        category.group,
        tuple(pairs),
        queries=np.array(queries, dtype=np.int64),
        answers=np.array(answers, dtype=np.int64),
        correct=tuple(correct),
        excluded=tuple(excluded),
        total=len(category),
        skipped=tuple(skipped),
    )
