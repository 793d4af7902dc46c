"""What a solver knows about a category, what is asked of it, and what is found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from densray.arrays import Array
from densray.tasks.analogy.products import Blocks, Products, Ranges, Rows, Vocabulary

__all__ = ["Found", "Products", "Questions", "Ranges", "Rows", "Scores", "Trained"]

#: One number for each question and word, where the vectors lie.
Scores = Array


@dataclass(frozen=True)
class Questions:
    """What is asked: the fold of each question, the rows that are right and those that may not answer."""

    fold: Rows
    right: Sequence[Sequence[int]]
    barred: Sequence[Sequence[int]]

    def __len__(self) -> int:
        return len(self.fold)


class Trained:
    """What a solver knows about a category: probes, and how their products become scores.

    Attributes
    ----------
    probes
        Arrays of shape (any, d) by name; solvers that give the same name share the products.
    ranged
        Probes of which the lowest and highest product over the vocabulary are needed.
    questions
        One or more for each fold.
    """

    def __init__(
        self, probes: Mapping[str, NDArray[np.float64]], questions: Questions, *, ranged: Sequence[str] = ()
    ) -> None:
        self.probes = probes
        self.questions = questions
        self.ranged = tuple(ranged)

    def chunks(self) -> Iterator[slice]:
        """Yield the questions to be scored together."""
        yield slice(0, len(self.questions))

    @property
    def examples(self) -> list[tuple[str, str] | None]:
        """The example behind each question, where there is one only."""
        return [None] * len(self.questions)

    def answer(self, vocabulary: Vocabulary, k: int) -> Found | None:
        """Return the answers where the solver finds them its own way; None leaves them to the search."""
        return None

    def explain(self, vocabulary: Vocabulary, found: Found, rows: Rows) -> dict[str, Scores]:
        """Return the parts of the scores of a few rows, for each question: arrays of shape (questions, rows)."""
        products = Blocks(vocabulary, self.probes).at(rows)
        return self.parts(products, found.ranges, slice(0, len(self.questions)))

    def parts(self, products: Products, ranges: Ranges, chunk: slice) -> dict[str, Scores]:
        """Return the score of every word of a block for each question of the chunk, and the parts it is made of."""
        raise NotImplementedError


@dataclass(frozen=True)
class Found:
    """The best rows of each question, best first, their scores, and the place of the best right answer.

    The rank is 0 where no right answer is in the vocabulary; rows are -1 where nothing was left to fill them.
    """

    rows: Rows
    scores: NDArray[np.float64]
    ranks: Rows
    ranges: Ranges
