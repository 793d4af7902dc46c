"""The two solvers of Densifier: ascent on the full objective, and descent on mini-batches of pairs.

The objective is linear as long as the order of the words stays the same, and has a corner wherever two words have equal
scores. If the words are of the same class, the corner points upwards, and a gradient ascent stops on such a ridge below
the maximum. With thousands of words the corners are too small to matter; with few, :func:`polish` climbs the ridges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, ConvertedRows, array_on, in_blocks, namespace, product, to_host
from densray.pairs import PairWeights
from densray.rotations._labels import Labels

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def spread(s: Array, u: Array) -> Array:
    """Return c such that c @ s is the sum of u_v u_w |s_v - s_w| over ordered pairs.

    >>> s, u = np.array([3.0, 1.0, 1.0]), np.array([1.0, 1.0, 2.0])
    >>> float(spread(s, u) @ s)  # 2 * (1 * 1 * |3 - 1| + 1 * 2 * |3 - 1|)
    12.0
    """
    xp = namespace(s)
    order = xp.argsort(s, stable=True)
    ordered, weights = s[order], u[order]
    below = xp.concat([xp.zeros_like(weights[:1]), xp.cumulative_sum(weights)])
    first = xp.searchsorted(ordered, ordered, side="left")  # ties count as neither below nor above
    last = xp.searchsorted(ordered, ordered, side="right")
    c = xp.empty_like(weights)
    c[order] = 2.0 * weights * (below[first] - (below[-1] - below[last]))
    return c


@dataclass(frozen=True)
class SpreadObjective:
    r"""f(q) = α≠ Σ_≠ |q·d| - α= Σ_= |q·d| over ordered pairs; for scores f(q) = -Σ l(v) l(w) |q·d|."""

    X: Array  # rows of NumPy, PyTorch or CuPy; the ascent runs on their device
    labels: Labels
    weights: PairWeights | None  # None for scores
    row_weight: Array

    def coefficients(self, s: Array) -> Array:
        """Return c with f(q) = c @ s, the derivative of f with respect to each word's coordinate."""
        if self.weights is None:
            return -spread(s, self.row_weight * self.labels.values)
        like = namespace(s).empty_like(s)
        for rows in self.labels.class_rows:
            like[rows] = spread(s[rows], self.row_weight[rows])
        return self.weights.unlike * (spread(s, self.row_weight) - like) - self.weights.like * like

    def __call__(self, q: Vector) -> tuple[float, Vector]:
        """Return f(q) and its gradient in O(n log n + n d), over all pairs."""
        xp = namespace(self.X)
        axis = array_on(q, self.X, dtype=self.X.dtype)
        s = xp.astype(product(self.X, axis[:, None])[:, 0], xp.float64)
        c = self.coefficients(s)
        factors = xp.astype(c, self.X.dtype)
        if isinstance(self.X, ConvertedRows):
            rows = self.X
            slope = sum(to_host(part) for part in in_blocks(rows, lambda block: factors[block] @ rows[block, :]))
        else:
            slope = to_host(factors @ self.X)
        return float(c @ s), np.asarray(slope, dtype=np.float64)


def ascend(objective: SpreadObjective, q: Vector, *, max_iter: int, tol: float) -> tuple[Vector, float, int, bool]:
    """Return the axis reached from `q` along geodesics, its objective, the number of steps, and whether it converged.

    Each step follows the great circle of the gradient and halves its angle until the objective grows; the next step
    starts from twice the successful angle.
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
            return q, value, count, True  # no step along the steepest circle helps: a maximum or a ridge
        gain = reached - value
        q, value, gradient = step, reached, slope
        if gain <= tol * abs(value):
            return q, value, count, True
    return q, value, max_iter, False


#: Smoothing lengths of :func:`polish`, as shares of a third of the longest projected difference.
SMOOTHING_SHARES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
#: Distance, in the same unit, below which words of one class are kept at equal scores.
LEVEL_SHARES = (3e-2, 1e-2, 3e-3, 1e-3, 1e-4)


def polish(objective: SpreadObjective, q: Vector) -> tuple[Vector, float]:
    r"""Return a better axis near `q` and its objective, for few rows: corners are smoothed first, then followed.

    First :math:`|s|` is replaced by :math:`\sqrt{s^2 + \epsilon^2}` over all pairs, with decreasing ε. Then words of
    one class with almost equal scores are kept equal, and the ascent continues in the directions that preserve this.
    """
    P, c = _pairs(objective)
    best, value = q, objective(q)[0]
    for start in (_climb_smoothed(P, c, q), q):
        axis, reached = _climb_exactly(objective, start, max_iter=100)
        axis, reached = _climb_ridges(objective, axis, reached, P[c < 0.0])
        if reached > value:
            best, value = axis, reached
    return best, value


def _climb_exactly(objective: SpreadObjective, q: Vector, *, max_iter: int) -> tuple[Vector, float]:
    """Return the axis reached from `q` and its objective, exact to rounding where the order of the rows stays the same.

    The objective is linear there, so its maximum is in the direction of the gradient.
    """
    q, value, _, _ = ascend(objective, q, max_iter=max_iter, tol=1e-12)
    _, gradient = objective(q)
    length = float(np.linalg.norm(gradient))
    if length == 0.0:
        return q, value
    peak = gradient / length
    at_peak, _ = objective(peak)
    return (peak, at_peak) if at_peak >= value - 1e-14 * abs(value) else (q, value)


def _pairs(objective: SpreadObjective) -> tuple[Matrix, Vector]:
    """Return the differences of all pairs of rows, and their coefficients in the objective."""
    X, values, weight = objective.X.astype(np.float64), objective.labels.values, objective.row_weight
    v, w = np.triu_indices(len(X), 1)
    if objective.weights is None:
        counts = -values[v] * values[w]
    else:
        counts = np.where(values[v] != values[w], objective.weights.unlike, -objective.weights.like)
    differences = X[v] - X[w]
    differs = np.any(differences != 0.0, axis=1)  # copies of a row have equal scores on every axis
    return differences[differs], (2.0 * counts * weight[v] * weight[w])[differs]


def _climb_smoothed(P: Matrix, c: Vector, q: Vector) -> Vector:
    """Return the axis reached from `q` with decreasing smoothing."""
    from scipy.optimize import minimize

    unit_length = float(np.max(np.abs(P @ q))) / 3.0
    for share in SMOOTHING_SHARES if unit_length > 0.0 else ():
        epsilon = share * unit_length

        def descent(z: Vector, epsilon: float = epsilon) -> tuple[float, Vector]:
            length = float(np.linalg.norm(z))
            axis = z / length
            s = P @ axis
            rounded = np.sqrt(s * s + epsilon * epsilon)
            slope = (c * s / rounded) @ P
            return -float(c @ (rounded - epsilon)), -(slope - (slope @ axis) * axis) / length

        q = minimize(descent, q, jac=True, method="L-BFGS-B", options={"maxiter": 60}).x
        q = q / np.linalg.norm(q)
    return q


def _climb_ridges(objective: SpreadObjective, q: Vector, value: float, like: Matrix) -> tuple[Vector, float]:
    """Return the axis reached from `q` in directions that keep almost equal scores within a class equal."""
    for share in LEVEL_SHARES:
        lengths = np.abs(like @ q)
        level = like[lengths < share * lengths.max() / 3.0] if len(like) else like
        if not len(level):
            continue
        _, sizes, directions = np.linalg.svd(level, full_matrices=True)
        free = directions[int(np.sum(sizes > 1e-9 * sizes[0])) :]
        inside = free @ q
        if not len(free) or np.linalg.norm(inside) == 0.0:
            continue
        within = SpreadObjective(objective.X @ free.T, objective.labels, objective.weights, objective.row_weight)
        axis, reached = _climb_exactly(within, inside / np.linalg.norm(inside), max_iter=200)
        if reached > value:
            q, value = axis @ free, reached
    return q, value


def _polar(Q: Matrix) -> Matrix:
    """Return the orthonormal rows nearest to Q."""
    U, _, V = np.linalg.svd(Q, full_matrices=False)
    nearest: Matrix = U @ V
    return nearest


def _qr(Q: Matrix) -> Matrix:
    """Return the Gram–Schmidt rows of Q: earlier axes have precedence."""
    factor, triangle = np.linalg.qr(Q.T)
    return (factor * np.sign(np.diag(triangle))).T


def _rows(Q: Matrix) -> Matrix:
    """Return Q with each row at unit length."""
    scaled: Matrix = Q / np.linalg.norm(Q, axis=1, keepdims=True)
    return scaled


ORTHOGONALIZATIONS: dict[str, Callable[[Matrix], Matrix]] = {"polar": _polar, "qr": _qr, "none": _rows}


@dataclass(frozen=True)
class Signal:
    """One concept: its labelled rows, and the number of axes reserved for it."""

    rows: NDArray[np.intp]
    labels: Labels
    weights: PairWeights | None  # None for scores
    row_weight: NDArray[np.float64]
    count: int


class PairDescent:
    """Maximises the Densifier objective by mini-batches of pairs.

    Only the reserved rows of the rotation have a gradient, so only they are stored: a k × d matrix with orthonormal
    rows instead of a d × d matrix. A step is a rotation by an angle, in the direction of the batch gradient.
    """

    def __init__(
        self,
        X: NDArray[np.floating],
        signals: list[Signal],
        *,
        batch_size: int,
        rate: float,
        orthogonalization: str,
    ) -> None:
        self.X = X
        self.signals = signals
        self.batch_size = int(batch_size)
        self.rate = rate
        self.orthogonalize = ORTHOGONALIZATIONS[orthogonalization]

    def run(self, steps: int, random: np.random.RandomState) -> tuple[Matrix, NDArray[np.float64], float]:
        """Return the axes, the loss after each step, and the remaining slope."""
        total = sum(signal.count for signal in self.signals)
        Q = _polar(random.standard_normal((total, self.X.shape[1])))
        losses = np.empty(steps)
        for step in range(steps):
            gradient, losses[step] = self._gradient(Q, random)
            tangent = _tangent(gradient, Q)
            length = np.linalg.norm(tangent)
            rate = self.rate * (1.0 - step / steps) ** 2
            if length > 0:
                Q = self.orthogonalize(Q + (rate / length) * tangent)
        Q = _polar(Q)
        return Q, losses, self._slope(Q, random)

    def _slope(self, Q: Matrix, random: np.random.RandomState) -> float:
        """Return the share of the squared gradient that is still tangent to the manifold.

        Two independent estimates are multiplied, so that the noise of the batches averages to zero.
        """
        first, second = (np.sum([self._gradient(Q, random)[0] for _ in range(10)], axis=0) for _ in range(2))
        whole = float(np.sum(first * second))
        return float(np.sum(_tangent(first, Q) * _tangent(second, Q))) / whole if whole > 0 else 0.0

    def _gradient(self, Q: Matrix, random: np.random.RandomState) -> tuple[Matrix, float]:
        gradient = np.zeros_like(Q)
        loss = 0.0
        start = 0
        for signal in self.signals:
            part = slice(start, start + signal.count)
            for v, w, factor in self._draw(signal, random):
                d = (self.X[v] - self.X[w]).astype(np.float64)
                projected = d @ Q[part].T
                lengths = np.linalg.norm(projected, axis=1)
                safe = np.where(lengths > 0, lengths, 1.0)
                gradient[part] += (projected * (factor / safe)[:, None]).T @ d
                loss -= float(factor @ lengths)
            start += signal.count
        return gradient, loss

    def _draw(
        self, signal: Signal, random: np.random.RandomState
    ) -> list[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]]:
        """Return batches of pairs with factors whose expected sum is proportional to the objective of the signal."""
        if signal.weights is None:
            v, w = (self._sample(signal, np.arange(signal.rows.size), random) for _ in range(2))
            scores = signal.labels.values
            factor = -scores[v] * scores[w] / (self.batch_size * np.mean(scores**2))
            return [(signal.rows[v], signal.rows[w], factor)]
        low, high = signal.labels.class_rows
        sizes = [float(signal.row_weight[rows].sum()) for rows in (low, high)]
        unlike = 2.0 * sizes[0] * sizes[1] * signal.weights.unlike
        like = np.array([size * size for size in sizes]) * signal.weights.like
        total = (unlike + like.sum()) * self.batch_size
        batches = []
        for left, right, share in ((low, high, unlike), (low, low, like[0]), (high, high, like[1])):
            v, w = self._sample(signal, left, random), self._sample(signal, right, random)
            sign = 1.0 if left is not right else -1.0
            batches.append((signal.rows[v], signal.rows[w], np.full(v.size, sign * share / total)))
        return batches

    def _sample(self, signal: Signal, rows: NDArray[np.intp], random: np.random.RandomState) -> NDArray[np.intp]:
        weight = signal.row_weight[rows]
        if np.all(weight == weight[0]):
            return rows[random.randint(rows.size, size=self.batch_size)]
        sample: NDArray[np.intp] = random.choice(rows, size=self.batch_size, p=weight / weight.sum())
        return sample


def _tangent(gradient: Matrix, Q: Matrix) -> Matrix:
    """Return the part of a gradient tangent to the manifold of orthonormal rows."""
    inner = gradient @ Q.T
    return gradient - 0.5 * (inner + inner.T) @ Q
