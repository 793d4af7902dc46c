"""Slow, obvious versions of the closed forms: one loop over all ordered pairs, in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def pair_matrix(
    X: Matrix,
    labels: Matrix,
    *,
    unlike: float = 1.0,
    like: float = 1.0,
    scores: bool = False,
    unit: bool = False,
    row_weight: Matrix | None = None,
) -> Matrix:
    """Return the pair matrix by summing d dᵀ over every ordered pair."""
    n, width = X.shape
    weight = np.ones(n) if row_weight is None else row_weight
    A = np.zeros((width, width))
    for v in range(n):
        for w in range(n):
            d = X[v] - X[w]
            if unit:
                length = np.linalg.norm(d)
                if length == 0.0:
                    continue
                d = d / length
            same = -like if labels[v] == labels[w] else unlike
            factor = -labels[v] * labels[w] if scores else same
            A += weight[v] * weight[w] * factor * np.outer(d, d)
    return A


def densifier_objective(
    X: Matrix, labels: Matrix, axes: Matrix, *, unlike: float = 1.0, like: float = 1.0, scores: bool = False
) -> float:
    """Return the Densifier objective: lengths of projected differences, unlike minus like, over all ordered pairs."""
    total = 0.0
    projected = X @ axes.T
    for v in range(len(X)):
        for w in range(len(X)):
            length = float(np.linalg.norm(projected[v] - projected[w]))
            if scores:
                total -= labels[v] * labels[w] * length
            else:
                total += unlike * length if labels[v] != labels[w] else -like * length
    return total
