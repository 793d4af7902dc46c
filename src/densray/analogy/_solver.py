"""The base of all solvers: a solver learns from example pairs and answers queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from densray.analogies import AnalogyCategory, AnalogyPair, AnalogySet
from densray.analogy._examples import Examples, Mask, all_visible
from densray.analogy._located import LocatedCategory, RowNumbers, SkippedPair, locate_categories
from densray.analogy._products import UnitVectors
from densray.analogy._scorer import Ranking, Scorer
from densray.analogy._search import search
from densray.errors import AnalogyError, Argument, TaskError, name_some
from densray.space import WordSpace, as_space

Pairs = Iterable[tuple[str, str | Sequence[str]] | AnalogyPair] | AnalogyCategory


@dataclass(frozen=True)
class RankedWord:
    """A word as the answer to a query: its score, the parts of the score, and its rank (1 is the best)."""

    word: str
    score: float
    parts: Mapping[str, float]
    rank: int


class Solver:
    """Base of all solvers of “a is to a' as b is to ?”, given example pairs.

    A subclass implements `learn`. The benchmark calls it for all questions of a category at once, each with its own
    examples left out; `fit` and `predict` ask one question with all examples.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
        The vocabulary that answers come from; vectors are used at unit length.

    Attributes
    ----------
    skipped : tuple of SkippedPair
        Pairs that `fit` left out, with the reason.
    """

    #: The name of the solver in results.
    name: str

    #: Whether the method uses one example at a time; the benchmark then asks each query once for every other pair.
    one_example_per_question: ClassVar[bool] = False

    def __init__(self, space: WordSpace) -> None:
        self.space = as_space(space)
        self.skipped: tuple[SkippedPair, ...] = ()
        self._examples: Examples | None = None

    def learn(self, examples: Examples, visible: Mask, asked: LocatedCategory) -> Scorer:
        """Learn the relation once for each pair asked.

        Parameters
        ----------
        examples : Examples
            m pairs.
        visible : bool array of shape (F, 2 m)
            The example words visible while each pair is asked.
        asked : LocatedCategory
            F pairs. Their answers are used for evaluation only, never for learning.
        """
        raise NotImplementedError

    def learn_together(self, examples: Examples, visible: Mask, asked: LocatedCategory) -> Scorer:
        """Learn from all examples for one question. Only solvers that use one example at a time override this."""
        return self.learn(examples, visible, asked)

    def fit(self, pairs: Pairs) -> Self:
        """Learn the relation from example pairs, each a query and its answer.

        Pairs with a word outside the vocabulary are left out; at least two must remain (one, if the method uses
        one example at a time).
        """
        analogies = AnalogySet([_as_category(pairs)])
        category = locate_categories(self.space, analogies, any_case=analogies.is_lower_case)[0]
        minimum = 1 if self.one_example_per_question else 2
        if len(category) < minimum:
            missing = self.space.absent(word for pair in category.skipped for word in (pair.query, pair.answer))
            hint = f" (missing: {name_some(missing)})" if missing else ""
            raise AnalogyError(
                f"{len(category)} of {category.total} pairs have both words in '{self.space.name}'{hint}; "
                f"at least {minimum} are needed. Add pairs, or use a larger vocabulary."
            )
        self.skipped = category.skipped
        self._examples = Examples(UnitVectors(self.space), category)
        return self

    def predict(self, query: str, k: int = 10) -> list[RankedWord]:
        """Return the k best answers to a query, best first, with their scores and the parts of the scores."""
        if k < 1:
            raise TaskError(Argument("k"), f" is {k}; it must be at least 1, the number of answers.")
        scorer, ranking = self._ask(query, (), k=k)
        rows = ranking.rows[0][ranking.rows[0] >= 0]
        return [
            replace(word, score=float(score))
            for word, score in zip(self._explain(scorer, ranking, rows), ranking.scores[0], strict=False)
        ]

    def explain(self, query: str, answer: str) -> RankedWord:
        """Return the rank and score of any word as an answer to a query, with the parts of the score."""
        row = int(self.space.locate([answer])[0])
        if row < 0:
            raise AnalogyError(f"'{answer}' is not among the {len(self.space):,} words of '{self.space.name}'.")
        if answer.lower() == query.lower():
            raise AnalogyError(f"'{answer}' is the query itself, which is never an answer. Name another word.")
        scorer, ranking = self._ask(query, (row,), k=1)
        return replace(self._explain(scorer, ranking, np.array([row]))[0], rank=int(ranking.ranks[0]))

    def rank(self, query: str, answer: str) -> int:
        """Return the rank of a word among the answers to a query; 1 is the best."""
        return self.explain(query, answer).rank

    def _ask(self, query: str, correct: tuple[int, ...], *, k: int) -> tuple[Scorer, Ranking]:
        """Ask one query with all examples."""
        examples = self._fitted_examples()
        row = int(self.space.locate([query], any_case=True)[0])
        if row < 0:
            raise AnalogyError(
                f"'{query}' is not among the {len(self.space):,} words of '{self.space.name}'. Ask for another word."
            )
        category = LocatedCategory(
            name="",
            group="",
            pairs=(AnalogyPair(query, ("",)),),
            queries=np.array([row]),
            answers=np.array([row]),
            correct=(correct,),
            excluded=(tuple(self.space.spellings(query)),),
            total=1,
            skipped=(),
        )
        scorer = self.learn_together(examples, all_visible(examples), category)
        return scorer, search(examples.unit, [scorer], k=k)[0]

    def _fitted_examples(self) -> Examples:
        if self._examples is None:
            raise TaskError(f"{type(self).__name__} was asked before fit. Call fit(pairs) first.")
        return self._examples

    def _explain(self, scorer: Scorer, ranking: Ranking, rows: RowNumbers) -> list[RankedWord]:
        parts = scorer.explain(self._fitted_examples().unit, ranking, rows)
        scores = parts.pop("score")
        return [
            RankedWord(
                self.space.words[row],
                float(scores[0, place]),
                {name: float(values[0, place]) for name, values in parts.items()},
                place + 1,
            )
            for place, row in enumerate(rows.tolist())
        ]


def _as_category(pairs: Pairs) -> AnalogyCategory:
    if isinstance(pairs, AnalogyCategory):
        return pairs
    word_pairs = [(pair.query, pair.answers) if isinstance(pair, AnalogyPair) else pair for pair in pairs]
    return AnalogySet.from_pairs(word_pairs).categories[0]
