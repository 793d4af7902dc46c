"""3CosAvg (Drozd, Gladkova & Matsuoka 2016): the word nearest to the query plus the mean difference of the pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from densray.tasks.analogy.folds import Folds
from densray.tasks.analogy.solver import Matrix, Solver, fold_questions
from densray.tasks.analogy.trained import Products, Questions, Ranges, Scores, Trained
from densray.tasks.analogy.usable import UsablePair

__all__ = ["ThreeCosAvg", "offset_targets"]


class ThreeCosAvg(Solver):
    r"""The answer maximises :math:`\cos(v,\; b + \overline{a' - a})`.

    References
    ----------
    A. Drozd, A. Gladkova and S. Matsuoka. Word Embeddings, Analogies, and Machine Learning. COLING 2016.
    """

    name = "3cosavg"

    def train(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return the shifted queries as probes."""
        return _TrainedOnTargets(offset_targets(folds, queries), queries, fold_questions(pairs))


def offset_targets(folds: Folds, queries: Matrix) -> Matrix:
    """Return the queries moved by the mean difference of the pairs a fold may see, at unit length."""
    moved = queries + folds.offsets
    return np.asarray(moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-12))


class _TrainedOnTargets(Trained):
    def __init__(self, targets: Matrix, queries: Matrix, questions: Questions) -> None:
        super().__init__({"query": queries, "target": targets}, questions)

    def parts(self, products: Products, ranges: Ranges, chunk: slice) -> dict[str, Scores]:
        return {"score": products["target"] * 1.0, "cosine": products["query"]}
