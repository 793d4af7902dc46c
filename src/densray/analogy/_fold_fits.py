"""One model fitted to many folds of the same rows at once: DensRay, SVM, logistic regression, any rotation.

A fold is the training data of one question. Throughout, `rows` has shape (p, r), `labels` holds -1 and 1, and
`visible`, of shape (F, p), marks the rows visible to each of F folds, which must contain both classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import expit
from sklearn.base import clone

from densray._arrays import Array, array_on, blocks_of, is_foreign, namespace, to_host
from densray.pairs import PairWeights
from densray.rotations import Rotation, make_rotation

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]

_FOLDS_AT_ONCE = 2**22  # entries of the matrices in memory at once
_SQUARINGS = 32  # enough to separate eigenvalues that differ by 1e-8 of the largest


def fold_densray(rows: Matrix, labels: Matrix, visible: Mask, *, like: Array) -> Matrix:
    """Return the first eigenvector of each fold, shape (F, r), up to its sign; computed on the device of `like`."""
    inverse = _inverse_square_distances(rows)
    same = labels[:, None] == labels[None, :]
    between, within, X = (_place(part, like) for part in (inverse * ~same, inverse * same, rows))  # classes
    axes = np.empty((len(visible), rows.shape[1]))
    for part in blocks_of(len(visible), max(1, _FOLDS_AT_ONCE // len(rows) ** 2)):
        weights = [PairWeights.balanced(*sizes) for sizes in _class_sizes(labels, visible[part])]
        alpha = _place(np.array(weights), like)[:, :, None, None]
        mask = _place(visible[part], like)
        W = alpha[:, 0, :, :] * between - alpha[:, 1, :, :] * within
        W = W * (mask[:, :, None] * mask[:, None, :])
        degree = namespace(W).sum(W, axis=2)
        axes[part] = _leading_vectors(X.T @ (degree[:, :, None] * X - W @ X))
    return axes


def _place(values: NDArray[np.float64 | np.bool_], like: Array) -> Array:
    """Return values in float64 on the device of `like`."""
    return array_on(values.astype(np.float64), like)


def _class_sizes(labels: Matrix, visible: Mask) -> list[tuple[float, float]]:
    """Return the numbers of rows of the higher and of the lower class visible to each fold."""
    sizes = [visible[:, side].sum(axis=1).astype(float).tolist() for side in (labels > 0, labels < 0)]
    return list(zip(*sizes, strict=True))


def _inverse_square_distances(rows: Matrix) -> Matrix:
    """Return 1 / |e_v - e_w|², zero for rows at distance zero, computed from the differences."""
    squares = np.empty((len(rows), len(rows)))
    for v, row in enumerate(rows):
        difference = rows - row
        squares[v] = np.einsum("ij,ij->i", difference, difference)
    zero = squares <= 1e-24
    squares[zero] = 1.0
    return np.where(zero, 0.0, 1.0 / squares)


def _leading_vectors(A: Array) -> Matrix:
    """Return the eigenvector of the highest eigenvalue of each symmetric matrix."""
    if not is_foreign(A):
        last = A.shape[1] - 1
        return np.array([eigh(one, subset_by_index=(last, last), check_finite=False)[1][:, 0] for one in A])
    # Devices multiply many small matrices far faster than they decompose them. Shifted to have no negative eigenvalue
    # and squared repeatedly, a matrix converges to the projection on its leading vector (the power method with powers
    # of two). Any column is proportional to that vector; the one with the largest diagonal entry is the longest.
    xp = namespace(A)
    norm = xp.linalg.vector_norm(A, axis=(1, 2), keepdims=True)
    M = A / xp.where(norm > 0, norm, xp.ones_like(norm)) + xp.eye(A.shape[1], dtype=A.dtype, device=A.device)
    for _ in range(_SQUARINGS):
        M = M @ M
        M = M / xp.linalg.vector_norm(M, axis=(1, 2), keepdims=True)
    longest = xp.argmax(xp.linalg.diagonal(M), axis=1)[:, None, None]
    return to_host(xp.take_along_axis(M, xp.broadcast_to(longest, (*M.shape[:2], 1)), axis=2))[:, :, 0]


_SVM_STEPS = 20
_SVM_TOLERANCE = 1e-6
_RIDGE = 1e-10  # regularises Q, whose rows repeat if examples repeat
_SLACK = 1e-9
_SVM_FOLDS_AT_ONCE = 2**23  # entries of the linear systems solved at once


def fold_svm(rows: Matrix, labels: Matrix, visible: Mask, *, C: float = 1.0) -> Matrix:
    """Return the normal vector of each fold, shape (F, r)."""
    kernel = rows @ rows.T
    whole = _fitted(kernel, labels, np.ones(len(rows), dtype=bool), C)
    coefficients = np.empty((len(visible), len(rows)))
    for part in blocks_of(len(visible), max(1, _SVM_FOLDS_AT_ONCE // len(rows) ** 2)):
        coefficients[part], settled = _settle(kernel, labels, visible[part], whole, C)
        for fold in part.start + np.flatnonzero(~settled):
            coefficients[fold] = _fitted(kernel, labels, visible[fold], C)
    return (coefficients * labels) @ rows


def _fitted(kernel: Matrix, labels: Matrix, visible: Mask, C: float) -> Matrix:
    """Return the coefficients that scikit-learn finds for the visible rows, zero for the others."""
    from sklearn.svm import SVC

    model: Any = SVC(kernel="precomputed", C=C, tol=_SVM_TOLERANCE).fit(
        kernel[np.ix_(visible, visible)], labels[visible]
    )
    solution = np.zeros(len(labels))
    solution[np.flatnonzero(visible)[model.support_]] = np.abs(model.dual_coef_[0])
    return solution


def _settle(kernel: Matrix, labels: Matrix, visible: Mask, start: Matrix, C: float) -> tuple[Matrix, Mask]:
    """Return the coefficients of each fold, and which folds came to rest."""
    Q = kernel * labels[:, None] * labels + _RIDGE * np.eye(len(labels))
    free, upper = visible & (start > 0) & (start < C), visible & (start >= C)
    solution = np.zeros(visible.shape)
    going = np.arange(len(visible))
    for _ in range(_SVM_STEPS):
        solution[going], slope = _solve_active(Q, labels, free[going], np.where(upper[going], C, 0.0))
        alpha, was_free, was_upper = solution[going], free[going], upper[going]
        was_lower = visible[going] & ~was_free & ~was_upper
        free[going] = (
            (was_free & (alpha > 0) & (alpha < C)) | (was_upper & (slope > _SLACK)) | (was_lower & (slope < -_SLACK))
        )
        upper[going] = (was_free & (alpha >= C)) | (was_upper & (slope <= _SLACK))
        moved = ((free[going] != was_free) | (upper[going] != was_upper)).any(axis=1)
        going = going[moved]
        if len(going) == 0:
            break
    settled = np.ones(len(visible), dtype=bool)
    settled[going] = False
    return solution, settled


def _solve_active(Q: Matrix, labels: Matrix, free: Mask, bounded: Matrix) -> tuple[Matrix, Matrix]:
    """Return the coefficients where the free rows have no slope and yᵀα = 0, and the slope of every row.

    The system of the free rows is [Q y; yᵀ 0] [α; b] = [1 - Q α_bounded; -yᵀ α_bounded]; other rows are removed.
    """
    size = len(labels)
    border = free * labels
    system = np.zeros((len(free), size + 1, size + 1))
    system[:, :size, :size] = Q * (free[:, :, None] & free[:, None, :])
    diagonal = np.arange(size)
    system[:, diagonal, diagonal] += ~free
    system[:, :size, size] = system[:, size, :size] = border
    system[:, size, size] = -1e-12  # solvable even if no row is free
    target = np.hstack([free * (1.0 - bounded @ Q), -(bounded @ labels)[:, None]])
    solved = np.linalg.solve(system, target[:, :, None])[:, :, 0]
    alpha = solved[:, :size] * free + bounded
    return alpha, alpha @ Q - 1.0 + solved[:, size:] * labels


_LOGISTIC_STEPS = 50
_LOGISTIC_TOLERANCE = 1e-9


def fold_logistic(rows: Matrix, labels: Matrix, visible: Mask, *, penalty: float = 1.0) -> tuple[Matrix, Matrix]:
    """Return coefficients (F, r) and intercepts (F,) of the balanced logistic regression of each fold."""
    widened = np.hstack([rows, np.ones((len(rows), 1))])
    whole = _Loss(widened, labels, np.ones((1, len(rows)), dtype=bool), penalty)
    start = whole.newton(np.zeros((1, widened.shape[1])))
    inverse = np.linalg.inv(whole.hessian(start)[0])
    folds = _Loss(widened, labels, visible, penalty)
    solution, moving = folds.follow(np.repeat(start, len(visible), axis=0), inverse)
    if moving.any():
        solution[moving] = _Loss(widened, labels, visible[moving], penalty).newton(solution[moving])
    return solution[:, :-1], solution[:, -1]


class _Loss:
    """The loss of each fold; the last column of `rows` is the intercept and is not penalised."""

    def __init__(self, rows: Matrix, labels: Matrix, visible: Mask, penalty: float) -> None:
        self.rows = rows
        self.weights = _class_weights(labels, visible) / penalty
        self.targets = (labels > 0).astype(np.float64)
        self.ridge = np.ones(rows.shape[1])
        self.ridge[-1] = 0.0

    def gradient(self, solution: Matrix, probability: Matrix) -> Matrix:
        """Return the gradient of each fold, shape (F, r + 1)."""
        return (self.weights * (probability - self.targets)) @ self.rows + self.ridge * solution

    def probability(self, solution: Matrix) -> Matrix:
        """Return the probability of the class of the answers for each fold and row."""
        return np.asarray(expit(solution @ self.rows.T))

    def hessian(self, solution: Matrix) -> Matrix:
        """Return the curvature of each fold, shape (F, r + 1, r + 1)."""
        probability = self.probability(solution)
        curvature = self.weights * probability * (1.0 - probability)
        return (self.rows.T[None, :, :] * curvature[:, None, :]) @ self.rows + np.diag(self.ridge + 1e-12)

    def newton(self, start: Matrix) -> Matrix:
        """Return the minimum of each fold by Newton steps with its own Hessian."""
        solution = start.copy()
        for _ in range(_LOGISTIC_STEPS):
            gradient = self.gradient(solution, self.probability(solution))
            step = np.linalg.solve(self.hessian(solution), gradient[:, :, None])[:, :, 0]
            # The loss is self-concordant up to the length of a row (at most √2): damped steps cannot overshoot.
            decrement = np.sqrt(np.maximum(np.einsum("fi,fi->f", step, gradient), 0.0))
            damping = 1.0 / (1.0 + np.where(decrement > 0.25, decrement, 0.0))
            solution -= damping[:, None] * step
            if np.abs(step).max() < _LOGISTIC_TOLERANCE:
                break
        return solution

    def follow(self, start: Matrix, inverse: Matrix) -> tuple[Matrix, Mask]:
        """Return the result of steps with a common Hessian, and which folds have not converged."""
        solution = start.copy()
        for _ in range(_LOGISTIC_STEPS):
            step = self.gradient(solution, self.probability(solution)) @ inverse
            solution -= step
            moving: Mask = np.abs(step).max(axis=1) > _LOGISTIC_TOLERANCE / 10.0
            if not moving.any():
                break
        return solution, moving


def _class_weights(labels: Matrix, visible: Mask) -> Matrix:
    """Return n / (2 n_class) for each row visible to a fold, 0 for the others."""
    high, low = visible & (labels > 0), visible & (labels < 0)
    total = visible.sum(axis=1, keepdims=True)
    shares = [total / (2.0 * one.sum(axis=1, keepdims=True)) for one in (low, high)]
    return np.asarray(low * shares[0] + high * shares[1])


def fold_rotation(rows: Matrix, labels: Matrix, visible: Mask, rotation: str | Rotation) -> Matrix:
    """Return the first axis of a rotation that is fitted fold by fold, shape (F, r)."""
    axes = np.empty((len(visible), rows.shape[1]))
    for fold, mask in enumerate(visible):
        unfitted = make_rotation(rotation) if isinstance(rotation, str) else clone(rotation)
        axes[fold] = unfitted.fit(rows[mask], labels[mask]).components_[0]
    return axes


def orient_axes(axes: Matrix, rows: Matrix, labels: Matrix, visible: Mask) -> Matrix:
    """Return the axes at unit length, oriented from the mean of the left class to that of the right."""
    high, low = visible & (labels > 0), visible & (labels < 0)
    toward = high @ rows / high.sum(axis=1, keepdims=True) - low @ rows / low.sum(axis=1, keepdims=True)
    signs = np.where(np.einsum("ij,ij->i", axes, toward) < 0, -1.0, 1.0)
    lengths = np.linalg.norm(axes, axis=1)
    return np.asarray(axes * (signs / np.where(lengths > 0, lengths, 1.0))[:, None])
