r"""The Densifier objective on one axis, over all pairs, without making a pair.

With :math:`s = X q` sorted, a sum of :math:`u_v u_w |s_v - s_w|` over ordered pairs of a set is :math:`c^\top s` with
:math:`c_v = 2 u_v (U_{<v} - U_{>v})`, U being the total weight of the rows below and above: ranks in disguise. For unit
weights :math:`c_v = 2 (2\,\mathrm{rank}(v) - m - 1)` with average ranks on ties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from densray.pairs import PairWeights
from densray.rotations._labels import Labels

__all__ = ["SpreadObjective", "ascend", "spread"]

Vector = NDArray[np.float64]


def spread(s: Vector, u: Vector) -> Vector:
    """Return c such that c @ s is the sum of u_v u_w |s_v - s_w| over ordered pairs.

    >>> s, u = np.array([3.0, 1.0, 1.0]), np.array([1.0, 1.0, 2.0])
    >>> float(spread(s, u) @ s)  # 2 * (1 * 1 * |3 - 1| + 1 * 2 * |3 - 1|)
    12.0
    """
    order = np.argsort(s, kind="stable")
    ordered = s[order]
    below = np.concatenate([[0.0], np.cumsum(u[order])])
    first = np.searchsorted(ordered, ordered, side="left")  # ties count neither below nor above
    last = np.searchsorted(ordered, ordered, side="right")
    c = np.empty_like(below[1:])
    c[order] = 2.0 * u[order] * (below[first] - (below[-1] - below[last]))
    return c


@dataclass(frozen=True)
class SpreadObjective:
    r"""f(q) = α≠ Σ_≠ |q·d| - α= Σ_= |q·d| over ordered pairs; for scores f(q) = -Σ l(v) l(w) |q·d|."""

    X: NDArray[np.floating]
    labels: Labels
    weights: PairWeights | None  # None for scores
    row_weight: Vector

    def coefficients(self, s: Vector) -> Vector:
        """Return c with f(q) = c @ s, the derivative of f by each word's coordinate."""
        if self.weights is None:
            return -spread(s, self.row_weight * self.labels.values)
        like = np.empty_like(s)
        for rows in self.labels.class_rows():
            like[rows] = spread(s[rows], self.row_weight[rows])
        return self.weights.unlike * (spread(s, self.row_weight) - like) - self.weights.like * like

    def __call__(self, q: Vector) -> tuple[float, Vector]:
        """Return f(q) and its gradient: O(n log n + n d), no pairs sampled."""
        s = (self.X @ q.astype(self.X.dtype)).astype(np.float64)
        c = self.coefficients(s)
        return float(c @ s), (c.astype(self.X.dtype) @ self.X).astype(np.float64)


def ascend(objective: SpreadObjective, q: Vector, *, max_iter: int, tol: float) -> tuple[Vector, float, int, bool]:
    """Return the axis reached from `q` along geodesics, its objective, the steps taken, and whether it converged.

    Each step follows the great circle of the gradient and halves its angle until the objective grows; the next one
    starts from twice the angle that worked.
    """
    value, gradient = objective(q)
    angle = np.pi / 8
    for count in range(1, max_iter + 1):
        tangent = gradient - (gradient @ q) * q
        steepness = float(np.linalg.norm(tangent))
        if steepness <= 1e-14 * float(np.linalg.norm(gradient)):
            return q, value, count, True
        direction = tangent / steepness
        angle = min(2.0 * angle, np.pi / 4)
        while angle > 1e-10:
            step = np.cos(angle) * q + np.sin(angle) * direction
            step /= np.linalg.norm(step)
            reached, slope = objective(step)
            if reached > value:
                break
            angle /= 2.0
        else:
            return q, value, count, True  # no step along the steepest circle helps: a maximum to rounding
        gain = reached - value
        q, value, gradient = step, reached, slope
        if gain <= tol * abs(value):
            return q, value, count, True
    return q, value, max_iter, False
