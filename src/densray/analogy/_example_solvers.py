"""Solvers of “a is to a' as b is to ?” that use one example (a, a') at a time: 3CosAdd, 3CosMul, PairDistance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from densray._arrays import array_on, move, namespace
from densray.analogy._examples import Examples, Mask, visible_pairs
from densray.analogy._located import LocatedCategory, RowNumbers
from densray.analogy._products import Blocks, ProductBlock, UnitVectors
from densray.analogy._scorer import Ranking, Scorer, Scores
from densray.analogy._solver import Solver

Matrix = NDArray[np.float64]


class ExampleSolver(Solver):
    """Base of the solvers that use one example pair (a, a') at a time.

    In the benchmark every other pair is the example once, and a, a' and b are excluded as answers, as published. The
    precision of a pair is the share of its questions answered correctly. If a user fits several pairs,
    scores are averaged over them.
    """

    one_example_per_question = True

    def combine(self, left: Scores, right: Scores, cosine: Scores, shifts: Matrix) -> Scores:
        """Return scores from the cosines of the words with a, a' (one row per example) and b (one row).

        `shifts` contains (a' - a)·b and \\|a' - a\\| for each example.
        """
        raise NotImplementedError

    def learn(self, examples: Examples, visible: Mask, asked: LocatedCategory) -> Scorer:
        """Ask one question for each pair asked and each example visible to it."""
        return _OneExampleScorer(self, examples, visible, asked)

    def learn_together(self, examples: Examples, visible: Mask, asked: LocatedCategory) -> Scorer:
        """Ask one question for each pair asked, scored by the mean over its examples."""
        return _MeanScorer(self, examples, visible, asked)


class _OneExampleScorer(Scorer):
    """One question for each pair asked and each example visible to it."""

    def __init__(self, solver: ExampleSolver, examples: Examples, visible: Mask, asked: LocatedCategory) -> None:
        queries = examples.queries_of(asked)
        super().__init__(asked, {"query": queries, "examples": examples.vectors})
        self.solver = solver
        lengths = np.linalg.norm(examples.offsets, axis=1)
        self.shifts = np.stack([queries @ examples.offsets.T, np.broadcast_to(lengths, (len(queries), len(examples)))])
        #: Every pair asked with every example visible to it, as two columns of positions.
        self.asked_pair, self.example_pair = np.nonzero(visible_pairs(visible))
        self._set_questions(examples, asked)

    def _set_questions(self, examples: Examples, asked: LocatedCategory) -> None:
        pairs = [(pair.query, pair.answer) for pair in examples.category.pairs]
        left, right = examples.category.queries.tolist(), examples.category.answers.tolist()
        combined = list(zip(self.asked_pair.tolist(), self.example_pair.tolist(), strict=True))
        self.pair = self.asked_pair
        self.example = [pairs[example] for _, example in combined]
        self.excluded = [(*asked.excluded[pair], left[example], right[example]) for pair, example in combined]
        self.correct = [
            tuple(set(asked.correct[pair]).difference(excluded))
            for (pair, _), excluded in zip(combined, self.excluded, strict=True)
        ]

    def chunks(self) -> Iterator[slice]:
        """Yield the questions, pair by pair."""
        ends = np.searchsorted(self.pair, np.arange(self.pair[-1] + 2) if len(self.pair) else [0])
        for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            if stop > start:
                yield slice(start, stop)

    def parts(self, block: ProductBlock, questions: slice) -> dict[str, Scores]:
        return self._combine(block, int(self.asked_pair[questions.start]), self.example_pair[questions])

    def _combine(self, block: ProductBlock, pair: int, examples: RowNumbers) -> dict[str, Scores]:
        """Return the scores for one pair asked with some examples, one row each."""
        words = block.products["examples"]
        xp, m = namespace(words), self.shifts.shape[2]
        left, right = (xp.take(words, array_on(rows, words), axis=0) for rows in (examples, examples + m))
        cosine = block.products["query"][pair : pair + 1, :]
        score = self.solver.combine(left, right, cosine, self.shifts[:, pair, examples])
        return {"score": score, "cosine": xp.broadcast_to(cosine, score.shape)}


class _MeanScorer(_OneExampleScorer):
    """One question for each pair asked, scored by the mean over its examples."""

    def _set_questions(self, examples: Examples, asked: LocatedCategory) -> None:
        excluded = []
        for pair, own in enumerate(asked.excluded):
            places = self.example_pair[self.asked_pair == pair]
            rows = np.concatenate([examples.category.queries[places], examples.category.answers[places]])
            excluded.append((*own, *(rows.tolist() if len(places) == 1 else ())))
        self.excluded = excluded

    def chunks(self) -> Iterator[slice]:
        """Yield the questions one by one."""
        for question in range(len(self)):
            yield slice(question, question + 1)

    def parts(self, block: ProductBlock, questions: slice) -> dict[str, Scores]:
        pair = questions.start
        parts = self._combine(block, pair, self.example_pair[self.asked_pair == pair])
        return {name: namespace(values).mean(values, axis=0, keepdims=True) for name, values in parts.items()}

    def explain(self, unit: UnitVectors, ranking: Ranking, rows: RowNumbers) -> dict[str, Scores]:
        """Return the parts of the scores of a few rows, and their mean cosines to the examples."""
        words, m = Blocks(unit, self.factors).at(rows).products["examples"], self.shifts.shape[2]
        cosines = {
            "cosine to the right words": words[self.example_pair + m],
            "cosine to the left words": words[self.example_pair],
        }
        means = {name: values.mean(axis=0, keepdims=True) for name, values in cosines.items()}
        return {**super().explain(unit, ranking, rows), **means}


class ThreeCosAdd(ExampleSolver):
    r"""The answer maximises :math:`\cos(v, b) - \cos(v, a) + \cos(v, a')`.

    References
    ----------
    T. Mikolov, W. Yih and G. Zweig. Linguistic Regularities in Continuous Space Word Representations. NAACL 2013.
    """

    name = "3cosadd"

    def combine(self, left: Scores, right: Scores, cosine: Scores, shifts: Matrix) -> Scores:
        """Return the sum of three cosines."""
        score = right - left
        score += cosine
        return score


_EPSILON = 0.001


class ThreeCosMul(ExampleSolver):
    r"""The answer maximises :math:`\cos(v, b)\, \cos(v, a') / (\cos(v, a) + \varepsilon)`.

    Cosines are shifted to lie between 0 and 1; ε = 0.001.

    References
    ----------
    O. Levy and Y. Goldberg. Linguistic Regularities in Sparse and Explicit Word Representations. CoNLL 2014, eq. 4.
    """

    name = "3cosmul"

    def combine(self, left: Scores, right: Scores, cosine: Scores, shifts: Matrix) -> Scores:
        """Return the product of two shifted cosines divided by the third."""
        score = right + 1.0
        score *= (cosine + 1.0) / 2.0
        score /= left + (1.0 + 2.0 * _EPSILON)
        return score


class PairDistance(ExampleSolver):
    r"""The answer maximises :math:`\cos(v - b,\; a' - a)`.

    References
    ----------
    A. Drozd, A. Gladkova and S. Matsuoka. Word Embeddings, Analogies, and Machine Learning. COLING 2016.
    """

    name = "pairdistance"

    def combine(self, left: Scores, right: Scores, cosine: Scores, shifts: Matrix) -> Scores:
        """Return ((v - b)·(a' - a)) / (‖v - b‖ ‖a' - a‖), where ‖v - b‖² = 2 - 2 cos for unit vectors."""
        xp = namespace(cosine)
        along, length = (move(part, cosine)[:, None] for part in shifts)
        score = right - left
        score -= along
        score /= xp.sqrt(xp.clip(2.0 - 2.0 * cosine, min=1e-6))
        score /= xp.clip(length, min=1e-6)
        return score
