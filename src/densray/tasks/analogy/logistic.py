r"""Logistic regression for all folds of a category at once.

.. math::
    \min_{w, b}\; \tfrac12 \|w\|^2 + C \sum_i s_i \log\bigl(1 + e^{-y_i (w^\top x_i + b)}\bigr), \qquad
    s_i = \frac{n}{2 n_{y_i}},

what scikit-learn's ``LogisticRegression(C=1, class_weight="balanced")`` minimises. Newton's method in the space the
examples span; the folds start from the solution on all examples, from which they differ by a pair, and a few steps
reach rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["fold_logistic"]

Matrix = NDArray[np.float64]

_STEPS = 50
_TOLERANCE = 1e-9


def fold_logistic(
    rows: Matrix, labels: Matrix, keep: NDArray[np.bool_], *, penalty: float = 1.0
) -> tuple[Matrix, Matrix]:
    """Return coefficients (F, r) and intercepts (F,) of the balanced logistic regression of each fold."""
    widened = np.hstack([rows, np.ones((len(rows), 1))])
    start = np.zeros((1, widened.shape[1]))
    whole = _newton(widened, labels, np.ones((1, len(rows)), dtype=bool), start, penalty)
    found = _newton(widened, labels, keep, np.repeat(whole, len(keep), axis=0), penalty)
    return found[:, :-1], found[:, -1]


def _newton(rows: Matrix, labels: Matrix, keep: NDArray[np.bool_], start: Matrix, penalty: float) -> Matrix:
    """Return the minimum of each fold; the last column of `rows` is the intercept and is not penalised."""
    weights = _balanced(labels, keep) / penalty
    ridge = np.ones(rows.shape[1])
    ridge[-1] = 0.0
    targets = (labels > 0).astype(np.float64)
    found = start.copy()
    for _ in range(_STEPS):
        probability = expit(found @ rows.T)
        gradient = (weights * (probability - targets)) @ rows + ridge * found
        curvature = weights * probability * (1.0 - probability)
        hessian = (rows.T[None, :, :] * curvature[:, None, :]) @ rows + np.diag(ridge + 1e-12)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        # The loss is self-concordant up to the length of a row (at most √2): damped steps cannot overshoot.
        decrement = np.sqrt(np.maximum(np.einsum("fi,fi->f", step, gradient), 0.0))
        damping = 1.0 / (1.0 + np.where(decrement > 0.25, decrement, 0.0))
        found -= damping[:, None] * step
        if np.abs(step).max() < _TOLERANCE:
            break
    return found


def _balanced(labels: Matrix, keep: NDArray[np.bool_]) -> Matrix:
    """Return n / (2 n_class) for each row a fold may see, 0 for the others."""
    high, low = keep & (labels > 0), keep & (labels < 0)
    total = keep.sum(axis=1, keepdims=True)
    shares = [total / (2.0 * one.sum(axis=1, keepdims=True)) for one in (low, high)]
    return np.asarray(low * shares[0] + high * shares[1])
