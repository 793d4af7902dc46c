"""The scorer: the state that a solver has learned about one category, and the resulting ranking of words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array
from densray.analogy._located import LocatedCategory, RowNumbers
from densray.analogy._products import Blocks, ProductBlock, Ranges, UnitVectors

Matrix = NDArray[np.float64]

#: One number for each question and word, on the device of the vectors.
Scores = Array

#: Function that returns scores of a block of words for a slice of the questions under "score", and their parts.
Score = Callable[[ProductBlock, slice], dict[str, Scores]]


@dataclass(frozen=True)
class Ranking:
    """The best words for each question, and the rank of the best correct answer.

    Attributes
    ----------
    rows : int array of shape (questions, k)
        Best first; -1 if no word is left.
    scores : array of shape (questions, k)
    ranks : int array of shape (questions,)
        The rank of the best correct answer, from 1; 0 if no correct answer is in the vocabulary.
    ranges : mapping
        The ranges of the factors used by the scores, needed by `Scorer.explain` to compute them again.
    """

    rows: RowNumbers
    scores: Matrix
    ranks: RowNumbers
    ranges: Ranges


class Scorer:
    """Factors, and a function that turns their products with the words into scores.

    Parameters
    ----------
    asked : LocatedCategory
        The pairs asked. There is one question per pair, unless a subclass defines it otherwise.
    factors : mapping from a name to an array of shape (any, d)
        Solvers that use the same name share the products.
    score : callable, optional
        See `Score`; a subclass may override `parts` instead.
    ranged : sequence of str
        Factors whose lowest and highest product over the vocabulary are needed for the score.
    shown : mapping from a name to an array, optional
        Factors whose products are shown by `explain`, but not used by the score.

    Attributes
    ----------
    pair : int array of shape (questions,)
        The pair that each question is about.
    example : list
        The only example of each question, or None if there are several.
    correct, excluded : sequences of sequences of int
        Rows that are correct, and rows excluded as answers.
    """

    #: Whether equal scores are real ties, broken by the order of the words; sums of floats are rarely equal.
    has_ties: ClassVar[bool] = False

    def __init__(
        self,
        asked: LocatedCategory,
        factors: Mapping[str, Matrix],
        score: Score | None = None,
        *,
        ranged: Sequence[str] = (),
        shown: Mapping[str, Matrix] | None = None,
    ) -> None:
        self.pair: RowNumbers = np.arange(len(asked))
        self.example: Sequence[tuple[str, str] | None] = [None] * len(asked)
        self.correct: Sequence[Sequence[int]] = asked.correct
        self.excluded: Sequence[Sequence[int]] = asked.excluded
        self.factors = factors
        self._score = score
        self.ranged = tuple(ranged)
        self.shown = shown or {}

    def __len__(self) -> int:
        return len(self.pair)

    def chunks(self) -> Iterator[slice]:
        """Yield the questions to be scored together."""
        yield slice(0, len(self))

    def parts(self, block: ProductBlock, questions: slice) -> dict[str, Scores]:
        """Return the score of every word of a block for some questions, and the parts of the score."""
        if self._score is None:
            raise NotImplementedError
        return self._score(block, questions)

    def rank_words(self, unit: UnitVectors, k: int) -> Ranking | None:
        """Return the best words if the solver ranks them in its own way; None leaves it to `search`."""
        return None

    def explain(self, unit: UnitVectors, ranking: Ranking, rows: RowNumbers) -> dict[str, Scores]:
        """Return the scores of a few words and their parts: arrays of shape (questions, words)."""
        block = Blocks(unit, {**self.factors, **self.shown}, ranges=ranking.ranges).at(rows)
        parts = self.parts(block, slice(0, len(self)))
        return {**parts, **{name: block.products[name] for name in self.shown}}
