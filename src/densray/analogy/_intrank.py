"""IntRank: candidates ranked by a conditional logit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from densray.analogy._candidates import FEATURES, Candidates, NestedQuestions, TrainingQuestion, find_nearest
from densray.analogy._pairs import Folds, UsablePair
from densray.analogy._products import Rows, Vocabulary
from densray.analogy._search import Found, Scores, Trained, search
from densray.analogy._solver import Solver, fold_questions
from densray.analogy._solvers import IntCos
from densray.analogy._spelling import SPELLING_FEATURES
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


def loss_curvature(features: Matrix, right: NDArray[np.bool_], weights: Matrix) -> Matrix:
    """Return the Hessian of the loss without the prior, shape (K, K)."""
    taught = right.any(axis=1)
    features, right = features[taught], right[taught]
    if len(features) == 0:
        return np.zeros((len(weights), len(weights)))
    share = right / right.sum(axis=1, keepdims=True)
    sums = _sums(features, right, share, weights, weights, np.zeros_like(weights))
    return _slopes(features, right, share, sums)[1]


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


#: Mean and standard deviation of each weight over other relations: what is believed before any example is seen.
#: ``scripts/learn_intrank_prior.py`` learned them, on `googlenews-26k`, from 16 categories of BATS and 5 of Google:
#: every other one of those with at least 15 usable pairs. The other half, which figures are reported for, was not used.
_WITHOUT_SPELLING: Mapping[str, tuple[float, float]] = {
    "log IntCos": (0.998, 0.841),
    "unusual class score": (-0.413, 0.24),
    "unusual cosine to the query": (-3.99, 4.47),
    "cosine to the predicted answer": (11.6, 4.09),
    "cosine to the right words": (0.403, 3.62),
    "cosine to the nearest right words": (-2.4, 3.2),
    "cosine to the left words": (8.75, 3.89),
    "cosine to the nearest left words": (-3.95, 4.09),
    "mean agreement of offsets": (11.4, 6.9),
    "best agreement of offsets": (5.81, 5.31),
    "spread of the agreement of offsets": (23.5, 27.8),
    "log frequency rank": (-0.341, 0.407),
    "commonness": (-11.3, 10.3),
    "known first answer": (-3.53, 2.07),
    "known answer": (0.457, 1.5),
    "known answer of similar queries": (-1.27, 8.04),
}
_WITH_SPELLING: Mapping[str, tuple[float, float]] = {
    "log IntCos": (0.844, 0.816),
    "unusual class score": (-0.282, 0.222),
    "unusual cosine to the query": (-1.37, 4.23),
    "cosine to the predicted answer": (10.2, 4.14),
    "cosine to the right words": (2.39, 3.61),
    "cosine to the nearest right words": (-2.38, 3.09),
    "cosine to the left words": (6.02, 4.03),
    "cosine to the nearest left words": (-2.42, 4.03),
    "mean agreement of offsets": (5.68, 6.87),
    "best agreement of offsets": (1.45, 4.4),
    "spread of the agreement of offsets": (25, 25.9),
    "log frequency rank": (-0.455, 0.394),
    "commonness": (-14, 10.9),
    "known first answer": (-2.56, 1.97),
    "known answer": (0.719, 1.47),
    "known answer of similar queries": (0.807, 8.25),
    "right words with the same last letter": (2.23, 1.47),
    "right words with the same last 2 letters": (1.23, 1.91),
    "right words with the same last 3 letters": (2.23, 2.38),
    "right words with the same first 2 letters": (2.05, 3.59),
    "right words with the same first 3 letters": (-4.47, 6.83),
    "beginning shared with the query": (2.04, 2.53),
    "ending shared with the query": (3.15, 2.74),
    "unusual difference in length": (-0.244, 0.217),
    "unusual share of common letters": (-5.05, 2.46),
}


def prior_of(features: Sequence[str]) -> tuple[Matrix, Matrix]:
    """Return the mean and the inverse variance of the prior weight of each feature."""
    table = _WITH_SPELLING if any(name in SPELLING_FEATURES for name in features) else _WITHOUT_SPELLING
    mean, deviation = np.array([table[name] for name in features]).T
    return mean, deviation**-2.0


class IntRank(Solver):
    r"""The answer is the candidate that a conditional logit, learned from the examples, ranks first.

    Every example pair is asked as if its answer were unknown: it is left out, the relation is learned from the others,
    and about 200 candidates for its query are described by `SPACE_FEATURES` (IntCos; how near a candidate is to the
    predicted answer, to the right and to the left words; how well its offset from the query agrees with those of the
    examples; frequency; whether it is an answer of other examples) and by `SPELLING_FEATURES` (endings and beginnings
    of the right words, letters shared with the query). The weights that rank the known answers first then rank the
    candidates of the query. A Gaussian prior, learned once from other relations (`prior_of`), says what the weights
    are until the examples say otherwise.

    Parameters
    ----------
    space : WordSpace
        In order of frequency, as files of vectors are.
    rotation : str or Rotation, default="densray-unit"
        What finds the axis.
    features : sequence of str, optional
        Names out of `FEATURES`; "log IntCos" is always used. All by default; with `SPACE_FEATURES`, which is
        ``make_solver("intrank-space", space)``, the letters of the words do not count.

    Notes
    -----
    Convex and deterministic. In the benchmark the folds are strictly nested: nothing that is learned for a pair,
    features of the examples included, has seen that pair. Under the protocol "user" a fold gives what ``fit`` on all
    other pairs and ``predict`` give.

    The prior was learned on `googlenews-26k` and is stated in its cosines; on other spaces it is a guess that the
    examples correct.
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
        if not self.spelling:
            self.name = "intrank-space"

    @property
    def spelling(self) -> bool:
        """Whether the letters of the words are looked at."""
        return any(name in SPELLING_FEATURES for name in self.features)

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
        rotation, spelling = self.solver.rotation, self.solver.spelling
        nested = self.folds.remember(
            f"nested {rotation!r} {spelling}",
            lambda: NestedQuestions(vocabulary, self.folds, rotation, spelling=spelling),
        )
        near = find_nearest(vocabulary, self.folds, self.queries, self.pairs)
        for fold, pair in enumerate(self.pairs):
            model = nested.models[fold : fold + 1]
            self.candidates.append(nested.relation.describe(model, self.queries[fold], pair, near[fold]))
            self.weights[fold] = self._learn(nested.of_fold[fold])
        return self._found(vocabulary, k)

    def _learn(self, questions: Sequence[TrainingQuestion]) -> Matrix:
        """Return the weights of one fold, for features as they are."""
        center, precision = prior_of([FEATURES[place] for place in self.used])
        size = max((len(one.right) for one in questions), default=0)
        whole = [one for one in questions if len(one.right) == size]  # in tiny vocabularies they may differ by a word
        if not whole:
            return center
        features = np.stack([one.features[:, self.used] for one in whole]).astype(np.float64)
        right = np.stack([one.right for one in whole])
        return fit_conditional_logit(features, right, center=center, precision=precision)

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
