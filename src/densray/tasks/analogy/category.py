"""One category, pair by pair left out: what each solver answers, and what it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from densray.space import WordSpace
from densray.tasks.analogy.folds import Examples, Folds
from densray.tasks.analogy.products import Vocabulary
from densray.tasks.analogy.result import CategoryResult, Prediction
from densray.tasks.analogy.search import search
from densray.tasks.analogy.solver import Solver
from densray.tasks.analogy.trained import Found, Questions, Trained
from densray.tasks.analogy.usable import SkippedPair, UsableCategory

__all__ = ["Outcome", "ask_category"]

_NO_EXAMPLE = "no example is left without its words"
_ALONE = "the only usable pair of its category"


@dataclass(frozen=True)
class Outcome:
    """One category solved by one method."""

    result: CategoryResult
    category: UsableCategory
    examples: Sequence[tuple[str, str] | None] = ()
    questions: Questions | None = None
    found: Found | None = None

    def predictions(self, space: WordSpace) -> list[Prediction]:
        """Return every question with its answers."""
        if self.questions is None or self.found is None:
            return []
        return [self._prediction(number, space) for number in range(len(self.questions))]

    def _prediction(self, number: int, space: WordSpace) -> Prediction:
        assert self.questions is not None
        assert self.found is not None
        pair = self.category.pairs[int(self.questions.fold[number])].pair
        rows = [row for row in self.found.rows[number].tolist() if row >= 0]
        return Prediction(
            self.category.name,
            pair.query,
            pair.answers,
            self.examples[number],
            tuple(space.words[row] for row in rows),
            tuple(self.found.scores[number, : len(rows)].tolist()),
            right=bool(rows) and rows[0] in self.questions.right[number],
            rank=int(self.found.ranks[number]) or None,
        )


def ask_category(vocabulary: Vocabulary, category: UsableCategory, solvers: Sequence[Solver], k: int) -> list[Outcome]:
    """Return what each solver makes of a category; fewer than two usable pairs cannot be asked."""
    examples = Examples(vocabulary, category.pairs)
    cosines = _mean_cosines(examples)
    asked, folds, queries = _askable(category, Folds.leave_one_out(examples, category.pairs))
    trained = [solver.train(folds, queries, asked.pairs) for solver in solvers if len(asked)]
    if not trained:
        return [Outcome(_unasked(category, asked, cosines), category) for _ in solvers]
    answers = search(vocabulary, trained, k=k)
    return [_outcome(asked, one, found, cosines) for one, found in zip(trained, answers, strict=True)]


def _askable(category: UsableCategory, folds: Folds) -> tuple[UsableCategory, Folds, NDArray[np.float64]]:
    """Return the category without pairs whose folds have no example left, the folds, and the queries' vectors."""
    able: NDArray[np.bool_] = np.asarray(folds.pair_keep.any(axis=1))
    reason = _ALONE if len(category) < 2 else _NO_EXAMPLE
    skipped = tuple(
        SkippedPair(pair.pair.query, pair.pair.answer, reason)
        for pair, kept in zip(category.pairs, able, strict=True)
        if not kept
    )
    pairs = tuple(pair for pair, kept in zip(category.pairs, able, strict=True) if kept)
    asked = UsableCategory(category.name, category.group, pairs, category.total, category.skipped + skipped)
    return asked, folds.only(able), folds.examples.left[able]


def _mean_cosines(examples: Examples) -> tuple[float | None, float | None, float | None]:
    """Return the mean cosine of the pairs, and of left and right words among themselves, diagonal included."""
    if len(examples) == 0:
        return None, None, None
    left, right = examples.left, examples.right
    inter = float(np.einsum("ij,ij->i", left, right).mean())
    # The mean of a full matrix of cosines is the squared length of the mean vector.
    return inter, float(np.sum(left.mean(axis=0) ** 2)), float(np.sum(right.mean(axis=0) ** 2))


def _unasked(
    category: UsableCategory, asked: UsableCategory, cosines: tuple[float | None, float | None, float | None]
) -> CategoryResult:
    return CategoryResult(
        category.name, category.group, len(category), category.total, 0, None, None, None, *cosines, asked.skipped
    )


def _outcome(
    category: UsableCategory,
    trained: Trained,
    found: Found,
    cosines: tuple[float | None, float | None, float | None],
) -> Outcome:
    questions = trained.questions
    right = [set(rows) for rows in questions.right]
    listed = found.rows.tolist()
    first = np.array([row[0] in answers for row, answers in zip(listed, right, strict=True)], dtype=float)
    among = np.array([bool(answers.intersection(row)) for row, answers in zip(listed, right, strict=True)], dtype=float)
    reciprocal = np.where(found.ranks > 0, 1.0 / np.maximum(found.ranks, 1), 0.0)
    hits, at_k, ranks = (_by_pair(values, questions.fold, len(category)) for values in (first, among, reciprocal))
    result = CategoryResult(
        category.name,
        category.group,
        len(category),
        category.total,
        len(questions),
        float(hits.mean()),
        float(at_k.mean()),
        float(ranks.mean()),
        *cosines,
        category.skipped,
        hits,
    )
    return Outcome(result, category, trained.examples, questions, found)


def _by_pair(values: NDArray[np.float64], fold: NDArray[np.int64], pairs: int) -> NDArray[np.float64]:
    """Return the mean over the questions of each pair."""
    return np.asarray(np.bincount(fold, values, minlength=pairs) / np.bincount(fold, minlength=pairs))
