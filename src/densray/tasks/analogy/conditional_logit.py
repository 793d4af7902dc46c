r"""A conditional logit over candidates: which of these words is right?

Every question s offers candidates c with features x; their scores are :math:`w^\top x`. Each right answer is to beat
all wrong candidates,

.. math::
    \min_w\; \sum_s \frac{1}{|R_s|} \sum_{c \in R_s} \Bigl[\log\bigl(e^{w^\top x_c} +
    \sum_{v \notin R_s} e^{w^\top x_v}\bigr) - w^\top x_c\Bigr] + \tfrac12 \sum_k \lambda_k (w_k - w^0_k)^2,

so right answers do not compete with each other. Every term is a log-sum-exp less a linear function: the sum is convex,
its minimum one point, and Newton's method finds it from any start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["fit_conditional_logit"]

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
