"""Axes as orthonormal rows: eigenvectors, completed to a basis, oriented, repeated, and found in scaled columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr

from densray._arrays import Array, ConvertedRows, array_on, in_blocks, move, namespace, to_host
from densray.errors import VectorError
from densray.moments import ClassMoments, LabelMoments, Moments, ScoreMoments


def complete_basis(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the axes followed by further orthonormal rows that make them a full basis.

    One Householder reflection per axis; the added rows do not depend on the signs of the given ones.
    """
    count, width = axes.shape
    if count == width:
        return axes
    signs = np.sign(axes[np.arange(count), np.argmax(np.abs(axes), axis=1)])
    sign_fixed = axes * signs[:, None]
    rest = _reflect(sign_fixed[0])[1:] if count == 1 else qr(sign_fixed.T, mode="full")[0][:, count:].T
    return np.vstack([axes, rest])


def _reflect(axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows of the Householder reflection that takes the first unit vector to ± `axis`."""
    v = axis.copy()
    v[0] += 1.0 if axis[0] >= 0.0 else -1.0
    H: NDArray[np.float64] = np.eye(axis.size) - (2.0 / (v @ v)) * np.outer(v, v)
    return H


def orient(axes: NDArray[np.float64], toward: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the axes with fixed signs: the first along `toward`, the others by their largest entry."""
    pivots = np.argmax(np.abs(axes), axis=1)
    signs = np.sign(axes[np.arange(len(axes)), pivots])
    along = axes[0] @ toward
    if abs(along) > 1e-12 * np.linalg.norm(toward):
        signs[0] = np.sign(along)
    oriented: NDArray[np.float64] = axes * signs[:, None]
    return oriented


def repeat_in_complement(
    X: Array, count: int, find: Callable[[Array], NDArray[np.float64] | None]
) -> NDArray[np.float64]:
    """Return `count` orthonormal axes, each what `find` returns inside the complement of the earlier ones.

    Fewer where `find` returns None: it found nothing there.
    """
    axes = np.empty((0, X.shape[1]))
    for _ in range(count):
        basis = complete_basis(axes)[len(axes) :] if len(axes) else None
        found = find(X) if basis is None else find(product(X, move(basis, X).T))
        if found is None:
            return axes
        axis = found if basis is None else found @ basis
        axis = axis - (axes @ axis) @ axes  # orthogonal to the last digit
        axes = np.vstack([axes, axis / np.linalg.norm(axis)])
    return axes


def product(X: Array, matrix: Array) -> Array:
    """Return the rows times a matrix; of rows that are converted by blocks, in the type they are converted to."""
    if not isinstance(X, ConvertedRows):
        return X @ matrix
    parts = list(in_blocks(X, lambda block: X[block, :] @ matrix))
    return parts[0] if len(parts) == 1 else namespace(X).concat(parts)


def principal_axes(
    A: Array, n_components: int | None, precision: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return eigenvalues (descending), eigenvectors as rows, and how many eigenvalues are positive beyond rounding.

    Where eigenvalues vanish their eigenvectors are arbitrary: they are replaced by the completion of the others,
    which is a function of the data and not of rounding.
    """
    width = A.shape[0]
    count = width if n_components is None else n_components
    xp = namespace(A)
    norm = float(xp.linalg.matrix_norm(A))
    if not np.isfinite(norm):
        raise VectorError("products of the rows of X overflow. Scale the vectors, e.g. to unit length.")
    tolerance = 8.0 * precision * np.sqrt(width) * norm
    if count <= width // 4 and xp is np:  # few axes: no need for the whole decomposition
        values, vectors = eigh(A, subset_by_index=(width - count, width - 1))
        if np.all(np.abs(values) > tolerance):
            return values[::-1].copy(), vectors.T[::-1].copy(), int(np.sum(values > tolerance))
    values, vectors = eigh(A) if xp is np else (to_host(part) for part in xp.linalg.eigh(A))
    values, axes = values[::-1].copy(), vectors.T[::-1].copy()
    null = np.abs(values) <= tolerance
    if null[:count].any() and not null.all():
        axes[null] = complete_basis(axes[~null])[int(np.sum(~null)) :]
    return values[:count], axes[:count], int(np.sum(values > tolerance))


@dataclass(frozen=True)
class ColumnScaling:
    r"""Columns counted from their mean, in their standard deviations: :math:`z = (x - \mu) / \sigma`.

    A constant column has no deviation to divide by and stays as it is (σ = 1), as in scikit-learn's StandardScaler.
    """

    mean: NDArray[np.float64]  # (d,)
    spread: NDArray[np.float64]  # (d,): σ

    @classmethod
    def of_moments(cls, moments: LabelMoments, precision: float) -> ColumnScaling:
        """Return the scaling of the rows that moments are of; `precision` is the rounding unit of those rows."""
        if isinstance(moments, ClassMoments):  # what the classes are called does not matter
            moments = ScoreMoments.from_classes(ClassMoments(dict(enumerate(moments.groups.values()))), squares=False)
        assert moments.squared_rows is not None  # moment_parts asked for it
        shift = to_host(moments.rows) / moments.weight
        mean = to_host(moments.reference) + shift
        spread = np.sqrt(np.maximum(to_host(moments.squared_rows) / moments.weight - shift * shift, 0.0))
        spread[spread <= 8.0 * precision * np.abs(mean)] = 1.0  # what rounding leaves of a constant
        return cls(mean, spread)

    @classmethod
    def of_rows(cls, X: Array, weight: Array | None, precision: float) -> ColumnScaling:
        """Return the scaling of rows, read in blocks."""
        unlabelled = namespace(X).zeros(X.shape[0], dtype=X.dtype, device=X.device)
        return cls.of_moments(ScoreMoments.of(X, unlabelled, weight, squares=False, spread=True), precision)

    def rows(self, X: Array) -> Array:
        """Return scaled rows, in their own precision."""
        mean, spread = (array_on(part, X, dtype=X.dtype) for part in (self.mean, self.spread))
        if isinstance(X, ConvertedRows):
            return ConvertedRows(X.source, X.dtype, X.out, lambda rows: (rows - mean) / spread)
        return (X - mean) / spread

    def moments(self, moments: LabelMoments) -> LabelMoments:
        """Return the moments that the scaled rows have; their origin is not moved, which no difference feels."""
        if isinstance(moments, ClassMoments):
            return ClassMoments({value: self._of_group(group) for value, group in moments.groups.items()})
        spread = array_on(self.spread, moments.rows)
        squares = moments.scored_squares
        return replace(
            moments,
            reference=moments.reference / spread,
            rows=moments.rows / spread,
            scored_rows=moments.scored_rows / spread,
            scored_squares=None if squares is None else squares / (spread[:, None] * spread[None, :]),
        )

    def _of_group(self, group: Moments) -> Moments:
        spread = array_on(self.spread, group.mean)
        return Moments(group.weight, group.mean / spread, group.scatter / (spread[:, None] * spread[None, :]))

    def axes(self, axes: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Return axes of the scaled columns as orthonormal axes of the columns as they are.

        A coordinate :math:`w^\top z` is :math:`(w / \sigma)^\top x` less a constant, so that :math:`w / \sigma` reads
        the rows in the same order; later axes are made orthogonal to earlier ones, in their own half-space.
        """
        Q, R = np.linalg.qr((axes / self.spread).T)
        return np.ascontiguousarray((Q * np.where(np.diag(R) < 0, -1.0, 1.0)).T)
