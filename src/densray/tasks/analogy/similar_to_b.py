"""SimilarToB (Linzen 2016): the nearest neighbour of the query, whatever the examples say."""

from __future__ import annotations

from collections.abc import Sequence

from densray.tasks.analogy.folds import Folds
from densray.tasks.analogy.solver import Matrix, Solver, fold_questions
from densray.tasks.analogy.trained import Products, Ranges, Scores, Trained
from densray.tasks.analogy.usable import UsablePair

__all__ = ["SimilarToB"]


class SimilarToB(Solver):
    r"""The answer maximises :math:`\cos(v, b)`: what a category owes to neighbourhood alone.

    References
    ----------
    T. Linzen. Issues in Evaluating Semantic Spaces Using Word Analogies. RepEval 2016 ("only-b").
    """

    name = "similartob"

    def train(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return the queries as probes."""
        return _TrainedOnQueries({"query": queries}, fold_questions(pairs))


class _TrainedOnQueries(Trained):
    def parts(self, products: Products, ranges: Ranges, chunk: slice) -> dict[str, Scores]:
        return {"score": products["query"] * 1.0, "cosine": products["query"]}
