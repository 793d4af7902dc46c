"""IntRank: candidates ranked by a conditional logit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from densray.analogy._candidates import FEATURES, Candidates, NestedQuestions, TrainingQuestion, find_nearest
from densray.analogy._pairs import Folds, UsablePair
from densray.analogy._products import Rows, Vocabulary
from densray.analogy._search import Found, Scores, Trained, search
from densray.analogy._solver import Solver, fold_questions
from densray.analogy._solvers import IntCos
from densray.errors import TaskError, suggest
from densray.rotations import Rotation
from densray.space import WordSpace

Matrix = NDArray[np.float64]

_STEPS = 100
_TOLERANCE = 1e-8
_TINY = 1e-300


class _Sums(NamedTuple):
    """Exponentials of the scores of each question, and the sum of the wrong ones."""

    powers: Matrix
    wrong: Matrix
    loss: float


def fit_conditional_logit(features: Matrix, right: NDArray[np.bool_], *, center: Matrix, precision: Matrix) -> Matrix:
    """Return the weights, shape (K,).

    Parameters
    ----------
    features : array of shape (S, C, K)
        Features of the C candidates of each of S questions.
    right : bool array of shape (S, C)
        Questions without a right candidate teach nothing and are left out.
    center, precision : arrays of shape (K,)
        Mean and inverse variance of the Gaussian prior.

    Notes
    -----
    Newton's method with halved steps. ``scipy.optimize.minimize(method="trust-exact")`` on the same loss takes twice
    the time and ends 1e-7 away from the minimum.
    """
    taught = right.any(axis=1)
    features, right = features[taught], right[taught]
    weights = center.copy()
    if len(features) == 0:
        return weights
    share = right / right.sum(axis=1, keepdims=True)
    sums = _sums(features, right, share, weights, center, precision)
    for _ in range(_STEPS):
        gradient, hessian = _slopes(features, right, share, sums)
        slope = gradient + precision * (weights - center)
        step = np.asarray(np.linalg.solve(hessian + np.diag(precision), slope), dtype=np.float64)
        weights, sums, moved = _descend(features, right, share, weights, step, sums, center, precision)
        if moved < _TOLERANCE:
            break
    return weights


def _sums(
    features: Matrix, right: NDArray[np.bool_], share: Matrix, weights: Matrix, center: Matrix, precision: Matrix
) -> _Sums:
    scores = features @ weights
    highest = scores.max(axis=1, keepdims=True)
    powers = np.exp(scores - highest)
    wrong = np.where(right, 0.0, powers).sum(axis=1, keepdims=True)
    losses = share * (np.log(np.maximum(powers + wrong, _TINY)) + highest - scores)
    return _Sums(powers, wrong, float(losses.sum() + 0.5 * precision @ (weights - center) ** 2))


def _slopes(features: Matrix, right: NDArray[np.bool_], share: Matrix, sums: _Sums) -> tuple[Matrix, Matrix]:
    """Return gradient and Hessian of the loss without the prior."""
    width = features.shape[2]
    flat = features.reshape(-1, width)
    total = np.maximum(sums.powers + sums.wrong, _TINY)
    own = share * sums.powers / total
    chance = np.where(right, own, sums.powers * (share / total).sum(axis=1, keepdims=True))
    gradient = (chance - share).ravel() @ flat
    # For a right c the mean feature over c and the wrong candidates; the Hessian is E[x xᵀ] less their products.
    wrong_mean = np.einsum("sc,sck->sk", np.where(right, 0.0, sums.powers), features)
    question, candidate = np.nonzero(right)
    mean = wrong_mean[question] + sums.powers[question, candidate, None] * features[question, candidate]
    mean /= total[question, candidate, None]
    hessian = flat.T @ (flat * chance.reshape(-1, 1)) - (mean * share[question, candidate, None]).T @ mean
    return gradient, hessian


def _descend(
    features: Matrix,
    right: NDArray[np.bool_],
    share: Matrix,
    weights: Matrix,
    step: Matrix,
    sums: _Sums,
    center: Matrix,
    precision: Matrix,
) -> tuple[Matrix, _Sums, float]:
    """Return the weights after a step, halved until the loss falls, and how far they moved."""
    length = 1.0
    while length > 1e-8:
        moved = weights - length * step
        after = _sums(features, right, share, moved, center, precision)
        if after.loss <= sums.loss + 1e-10:
            return moved, after, float(np.abs(length * step).max())
        length /= 2.0
    return weights, sums, 0.0


#: Weight of log IntCos before any example has spoken; so weakly held that two examples overrule it.
_START, _START_PRECISION = 18.0, 1e-3


class IntRank(Solver):
    r"""The answer is the candidate that a conditional logit, learned from the examples, ranks first.

    Every example pair is asked as if its answer were unknown: its words are taken out, the axis is found from the
    others, and about 160 candidates for its query are described by eight features (log IntCos, cosine to the centroid
    of the right words, log complement cosine, cosine to the query plus the mean difference, log frequency rank, cosine
    to the mean of the vocabulary, and whether the candidate is a right or left word of another example). The weights
    that rank the known answers first then rank the candidates of the query. A unit Gaussian prior on the standardised
    weights holds the ranking at IntCos until the examples say otherwise.

    Parameters
    ----------
    space : WordSpace
        In order of frequency, as files of vectors are.
    rotation : str or Rotation, default="densray-unit"
        What finds the axis.
    features : sequence of str, optional
        Names out of `FEATURES`; "log IntCos" is always used. All by default.

    Notes
    -----
    Convex, deterministic, nothing to tune. In the benchmark the folds are strictly nested: nothing that is learned for
    a pair, features of the examples included, has seen one of its words.
    """

    name = "intrank"

    def __init__(
        self,
        space: WordSpace,
        *,
        rotation: str | Rotation = "densray-unit",
        features: Sequence[str] = FEATURES,
    ) -> None:
        super().__init__(space)
        unknown = next((name for name in features if name not in FEATURES), None)
        if unknown is not None:
            raise TaskError(f"feature '{unknown}' is unknown. {suggest(unknown, FEATURES)}")
        self.rotation = rotation
        self.features = tuple(features)

    def train(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return what ranks the candidates of each query."""
        return _TrainedRanker(self, folds, queries, pairs)


class _TrainedRanker(Trained):
    """The rankers of all folds; the words they see are found when they are asked."""

    def __init__(self, solver: IntRank, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> None:
        super().__init__({"query": queries}, fold_questions(pairs))
        self.solver, self.folds, self.queries, self.pairs = solver, folds, queries, pairs
        self.used = [place for place, name in enumerate(FEATURES) if place == 0 or name in solver.features]
        self.weights = np.zeros((len(pairs), len(self.used)))
        self.candidates: list[Candidates] = []

    def answer(self, vocabulary: Vocabulary, k: int) -> Found:
        """Return the best candidates of each query."""
        rotation = self.solver.rotation
        nested = self.folds.remember(f"nested {rotation!r}", lambda: NestedQuestions(vocabulary, self.folds, rotation))
        near = find_nearest(vocabulary, self.folds, self.queries, self.pairs)
        for fold, pair in enumerate(self.pairs):
            model = nested.models[fold : fold + 1]
            self.candidates.append(nested.relation.describe(model, self.queries[fold], near[fold], pair.barred))
            self.weights[fold] = self._learn(nested.of_fold[fold])
        return self._found(vocabulary, k)

    def _learn(self, questions: Sequence[TrainingQuestion]) -> Matrix:
        """Return the weights of one fold, for features as they are."""
        center, precision = np.zeros(len(self.used)), np.ones(len(self.used))
        center[0], precision[0] = _START, _START_PRECISION
        size = max((len(one.right) for one in questions), default=0)
        whole = [one for one in questions if len(one.right) == size]  # in tiny vocabularies they may differ by a word
        if not whole:
            return center
        features = np.stack([one.features[:, self.used] for one in whole]).astype(np.float64)
        right = np.stack([one.right for one in whole])
        scale = np.sqrt((features - features.mean(axis=1, keepdims=True)).var(axis=(0, 1))) + 1e-3
        scale[0] = 1.0
        return np.asarray(fit_conditional_logit(features / scale, right, center=center, precision=precision) / scale)

    def _found(self, vocabulary: Vocabulary, k: int) -> Found:
        questions = self.questions
        rows = np.full((len(questions), k), -1, dtype=np.int64)
        scores = np.full((len(questions), k), -np.inf)
        plain = IntCos(vocabulary.space, rotation=self.solver.rotation)
        after = search(vocabulary, [plain.train(self.folds, self.queries, self.pairs)])
        ranks = np.zeros(len(questions), dtype=np.int64)
        for number, candidates in enumerate(self.candidates):
            values = candidates.features[0][:, self.used] @ self.weights[number]
            order = np.lexsort((candidates.rows[0], -values))
            best = order[:k]
            rows[number, : len(best)] = candidates.rows[0][best]
            scores[number, : len(best)] = values[best]
            places = np.flatnonzero(np.isin(candidates.rows[0][order], questions.right[number]))
            # words that are no candidates come after all that are
            beyond = int(after[0].ranks[number])
            ranks[number] = places[0] + 1 if len(places) else (max(beyond, len(order) + 1) if beyond else 0)
        return Found(rows, scores, ranks, {})

    def explain(self, vocabulary: Vocabulary, found: Found, rows: Rows) -> dict[str, Scores]:
        """Return what each feature adds to the scores of some words; NaN for those that are no candidates."""
        candidates = self.candidates[0]
        place = {row: number for number, row in enumerate(candidates.rows[0].tolist())}
        shares = np.full((len(rows), len(self.used)), np.nan)
        for number, row in enumerate(rows.tolist()):
            if row in place:
                shares[number] = candidates.features[0][place[row], self.used] * self.weights[0]
        parts = {FEATURES[one]: shares[None, :, number] for number, one in enumerate(self.used)}
        return {"score": shares.sum(axis=1)[None, :], **parts}
