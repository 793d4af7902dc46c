r"""Logistic regression for all folds of a category at once.

.. math::
    \min_{w, b}\; \tfrac12 \|w\|^2 + C \sum_i s_i \log\bigl(1 + e^{-y_i (w^\top x_i + b)}\bigr), \qquad
    s_i = \frac{n}{2 n_{y_i}},

what scikit-learn's ``LogisticRegression(C=1, class_weight="balanced")`` minimises, in the space the examples span.
Newton's method finds the solution on all examples. A fold differs from it by a pair, so it starts there and follows its
own gradient by the curvature of all examples: no step needs a matrix of its own, and some twenty reach rounding. The
curvature of fewer rows is no larger, so that the steps cannot overshoot; folds that are still moving (most of their
rows left out) go on by Newton's method.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["fold_logistic"]

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]

_STEPS = 50
_TOLERANCE = 1e-9


def fold_logistic(rows: Matrix, labels: Matrix, keep: Mask, *, penalty: float = 1.0) -> tuple[Matrix, Matrix]:
    """Return coefficients (F, r) and intercepts (F,) of the balanced logistic regression of each fold."""
    widened = np.hstack([rows, np.ones((len(rows), 1))])
    whole = _Loss(widened, labels, np.ones((1, len(rows)), dtype=bool), penalty)
    start = whole.newton(np.zeros((1, widened.shape[1])))
    inverse = np.linalg.inv(whole.hessian(start)[0])
    folds = _Loss(widened, labels, keep, penalty)
    found, moving = folds.follow(np.repeat(start, len(keep), axis=0), inverse)
    if moving.any():
        found[moving] = _Loss(widened, labels, keep[moving], penalty).newton(found[moving])
    return found[:, :-1], found[:, -1]


class _Loss:
    """The loss of each fold; the last column of `rows` is the intercept and is not penalised."""

    def __init__(self, rows: Matrix, labels: Matrix, keep: Mask, penalty: float) -> None:
        self.rows = rows
        self.weights = _balanced(labels, keep) / penalty
        self.targets = (labels > 0).astype(np.float64)
        self.ridge = np.ones(rows.shape[1])
        self.ridge[-1] = 0.0

    def gradient(self, found: Matrix, probability: Matrix) -> Matrix:
        """Return the gradient of each fold, shape (F, r + 1)."""
        return (self.weights * (probability - self.targets)) @ self.rows + self.ridge * found

    def probability(self, found: Matrix) -> Matrix:
        """Return the probability of the right class for each fold and row."""
        return np.asarray(expit(found @ self.rows.T))

    def hessian(self, found: Matrix) -> Matrix:
        """Return the curvature of each fold, shape (F, r + 1, r + 1)."""
        probability = self.probability(found)
        curvature = self.weights * probability * (1.0 - probability)
        return (self.rows.T[None, :, :] * curvature[:, None, :]) @ self.rows + np.diag(self.ridge + 1e-12)

    def newton(self, start: Matrix) -> Matrix:
        """Return the minimum of each fold by steps of their own curvature."""
        found = start.copy()
        for _ in range(_STEPS):
            gradient = self.gradient(found, self.probability(found))
            step = np.linalg.solve(self.hessian(found), gradient[:, :, None])[:, :, 0]
            # The loss is self-concordant up to the length of a row (at most √2): damped steps cannot overshoot.
            decrement = np.sqrt(np.maximum(np.einsum("fi,fi->f", step, gradient), 0.0))
            damping = 1.0 / (1.0 + np.where(decrement > 0.25, decrement, 0.0))
            found -= damping[:, None] * step
            if np.abs(step).max() < _TOLERANCE:
                break
        return found

    def follow(self, start: Matrix, inverse: Matrix) -> tuple[Matrix, Mask]:
        """Return where steps of one curvature for all lead, and which folds are still moving."""
        found = start.copy()
        for _ in range(_STEPS):
            step = self.gradient(found, self.probability(found)) @ inverse
            found -= step
            moving: Mask = np.abs(step).max(axis=1) > _TOLERANCE / 10.0
            if not moving.any():
                break
        return found, moving


def _balanced(labels: Matrix, keep: Mask) -> Matrix:
    """Return n / (2 n_class) for each row a fold may see, 0 for the others."""
    high, low = keep & (labels > 0), keep & (labels < 0)
    total = keep.sum(axis=1, keepdims=True)
    shares = [total / (2.0 * one.sum(axis=1, keepdims=True)) for one in (low, high)]
    return np.asarray(low * shares[0] + high * shares[1])
