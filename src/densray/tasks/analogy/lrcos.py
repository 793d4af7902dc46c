"""LRCos (Drozd, Gladkova & Matsuoka 2016): probability of the right class times cosine to the query."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from densray.arrays import move, namespace
from densray.tasks.analogy.folds import Folds
from densray.tasks.analogy.solver import Matrix, Solver, fold_questions
from densray.tasks.analogy.trained import Products, Questions, Ranges, Scores, Trained
from densray.tasks.analogy.usable import UsablePair

__all__ = ["LRCos"]


class LRCos(Solver):
    r"""The answer is the word a logistic regression takes for one of the right class, near the query.

    .. math:: \hat a = \mathrm{arg}\max_v\; P(\text{right} \mid v)\, \cos(e_a, e_v)

    The regression is balanced between the classes, with C = 1.

    Parameters
    ----------
    space : WordSpace

    References
    ----------
    A. Drozd, A. Gladkova and S. Matsuoka. Word Embeddings, Analogies, and Machine Learning: Beyond king - man + woman
    = queen. COLING 2016.
    """

    name = "lrcos"

    def train(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return the coefficients and the queries as probes."""
        coefficients, intercepts = folds.logistic
        return _TrainedLRCos(coefficients, intercepts, queries, fold_questions(pairs))


class _TrainedLRCos(Trained):
    def __init__(self, coefficients: Matrix, intercepts: Matrix, queries: Matrix, questions: Questions) -> None:
        super().__init__({"query": queries, "logistic": coefficients}, questions)
        self.intercepts = intercepts

    def parts(self, products: Products, ranges: Ranges, chunk: slice) -> dict[str, Scores]:
        margin = products["logistic"]
        probability = _logistic(margin + move(self.intercepts, margin)[:, None])
        cosine = products["query"]
        return {"score": probability * cosine, "class score": probability, "cosine": cosine}


def _logistic(margin: Scores) -> Scores:
    xp = namespace(margin)
    return expit(margin) if xp is np else 1.0 / (1.0 + xp.exp(-margin))
