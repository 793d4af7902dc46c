"""Solvers that take one example pair at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from densray.arrays import array_on, namespace
from densray.tasks.analogy.folds import Folds
from densray.tasks.analogy.products import Blocks, Vocabulary
from densray.tasks.analogy.solver import Matrix, Solver
from densray.tasks.analogy.trained import Found, Products, Questions, Ranges, Rows, Scores, Trained
from densray.tasks.analogy.usable import UsablePair

__all__ = ["ExampleSolver", "TrainedOnExamples"]


class ExampleSolver(Solver):
    """Base of the solvers of «a is to a' as b is to ?» with one example (a, a').

    In the benchmark every other pair is the example once, and a, a' and b are barred, as those methods were published;
    the precision of a pair is the share of its questions answered right. A user who fits several pairs gets the mean
    of the scores over them.
    """

    one_example_a_question = True

    def combine(self, left: Scores, right: Scores, cosine: Scores, shifts: Matrix) -> Scores:
        """Return scores from the cosines of the words with a, a' (a row for each example) and b (one row).

        `shifts` holds, for each example, (a' - a)·b and \\|a' - a\\|.
        """
        raise NotImplementedError

    def train(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return a question for each fold and each example it may see."""
        return TrainedOnExamples(self, folds, queries, pairs)

    def train_together(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return a question for each fold, scored by the mean over its examples."""
        return TrainedTogether(self, folds, queries, pairs)


class TrainedOnExamples(Trained):
    """A question for each fold and example."""

    def __init__(self, solver: ExampleSolver, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> None:
        self.solver = solver
        examples = folds.examples
        self.half = len(examples)
        self.pairs = [(one.pair.query, one.pair.answer) for one in examples.usable]
        self.fold, self.example = np.nonzero(folds.pair_keep)
        difference = examples.right - examples.left
        lengths = np.linalg.norm(difference, axis=1)
        self.shifts = np.stack([queries @ difference.T, np.broadcast_to(lengths, (len(queries), self.half))])
        super().__init__({"query": queries, "examples": examples.vectors}, self._questions(folds, pairs))

    def _questions(self, folds: Folds, pairs: Sequence[UsablePair]) -> Questions:
        rows = folds.examples.rows
        barred = [
            (*pairs[fold].barred, int(rows[example]), int(rows[example + self.half]))
            for fold, example in zip(self.fold.tolist(), self.example.tolist(), strict=True)
        ]
        right = [
            tuple(set(pairs[fold].right).difference(bars))
            for fold, bars in zip(self.fold.tolist(), barred, strict=True)
        ]
        return Questions(self.fold, right, barred)

    @property
    def examples(self) -> list[tuple[str, str] | None]:
        """The example behind each question."""
        return [self.pairs[example] for example in self.example.tolist()]

    def chunks(self) -> Iterator[slice]:
        """Yield the questions of one fold after the other."""
        ends = np.searchsorted(self.fold, np.arange(self.fold[-1] + 2) if len(self.fold) else [0])
        for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            if stop > start:
                yield slice(start, stop)

    def parts(self, products: Products, ranges: Ranges, chunk: slice) -> dict[str, Scores]:
        fold = int(self.fold[chunk.start])
        return self._combined(products, fold, self.example[chunk])

    def _combined(self, products: Products, fold: int, example: NDArray[np.int64]) -> dict[str, Scores]:
        known = products["examples"]
        xp = namespace(known)
        left, right = (xp.take(known, array_on(rows, known), axis=0) for rows in (example, example + self.half))
        cosine = products["query"][fold : fold + 1, :]
        score = self.solver.combine(left, right, cosine, self.shifts[:, fold, example])
        return {"score": score, "cosine": xp.broadcast_to(cosine, score.shape)}


class TrainedTogether(TrainedOnExamples):
    """A question for each fold, scored by the mean over its examples."""

    def _questions(self, folds: Folds, pairs: Sequence[UsablePair]) -> Questions:
        seen = folds.pair_keep
        rows = folds.examples.rows
        barred = []
        for pair, kept in zip(pairs, seen, strict=True):
            shown = np.concatenate([rows[: self.half][kept], rows[self.half :][kept]])
            barred.append((*pair.barred, *(shown.tolist() if kept.sum() == 1 else ())))
        return Questions(np.arange(len(pairs)), [pair.right for pair in pairs], barred)

    def chunks(self) -> Iterator[slice]:
        """Yield one question after the other."""
        for question in range(len(self.questions)):
            yield slice(question, question + 1)

    def parts(self, products: Products, ranges: Ranges, chunk: slice) -> dict[str, Scores]:
        parts = self._combined(products, chunk.start, self.example[self.fold == chunk.start])
        return {name: namespace(values).mean(values, axis=0, keepdims=True) for name, values in parts.items()}

    def explain(self, vocabulary: Vocabulary, found: Found, rows: Rows) -> dict[str, Scores]:
        """Return the parts of the scores of a few rows, and how near they are to the examples on average."""
        known = Blocks(vocabulary, self.probes).at(rows)["examples"]
        near = {
            "cosine to the right words": known[self.example + self.half],
            "cosine to the left words": known[self.example],
        }
        means = {name: values.mean(axis=0, keepdims=True) for name, values in near.items()}
        return {**super().explain(vocabulary, found, rows), **means}
