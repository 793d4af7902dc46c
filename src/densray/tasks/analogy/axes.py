"""One axis for each fold of a category, in the space its examples span."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.base import clone

from densray.rotations import Rotation, make_rotation
from densray.tasks.analogy.support_vectors import fold_svm

__all__ = ["ExampleRows", "fold_axes"]

Matrix = NDArray[np.float64]

#: Methods whose axis depends on the width of the vectors, not on their inner products alone.
_NEED_FULL_WIDTH = frozenset({"lda"})


class ExampleRows(Protocol):
    """What is asked of the examples of a category."""

    labels: Matrix
    vectors: Matrix

    @property
    def coordinates(self) -> Matrix: ...
    @property
    def basis(self) -> Matrix: ...


def fold_axes(examples: ExampleRows, keep: NDArray[np.bool_], rotation: str | Rotation) -> Matrix:
    """Return the unit axis of each fold, pointing to the right class, shape (F, d).

    Parameters
    ----------
    examples : ExampleRows
    keep : bool array of shape (F, p)
        The rows each fold may see; both classes must be among them.
    rotation : str or Rotation
        ``"densray-unit"`` (pair matrices from one table of distances) and ``"svm"`` (folds from the solution of the
        whole category) have a fast way; any other rotation is fitted once a fold.
    """
    if rotation in _NEED_FULL_WIDTH or not isinstance(rotation, str):
        return _fitted_axes(examples.vectors, examples.labels, keep, rotation)
    rows = examples.coordinates
    if rotation == "densray-unit":
        axes = _densray_axes(rows, examples.labels, keep)
    elif rotation == "svm":
        axes = _oriented(fold_svm(rows, examples.labels, keep), rows, examples.labels, keep)
    else:
        axes = _fitted_axes(rows, examples.labels, keep, rotation)
    return axes @ examples.basis


def _densray_axes(rows: Matrix, labels: Matrix, keep: NDArray[np.bool_]) -> Matrix:
    """Return DensRay's axes with unit-length differences and balanced weights.

    A = 2 Xᵀ (diag(W 1) - W) X with W_vw = ±α / |e_v - e_w|²: the distances are those of the whole category, a fold
    only masks them and has its own α.
    """
    near = _inverse_square_distances(rows)
    like = labels[:, None] == labels[None, :]
    high, low = keep[:, labels > 0].sum(axis=1), keep[:, labels < 0].sum(axis=1)
    axes = np.empty((len(keep), rows.shape[1]))
    for fold, kept in enumerate(keep):
        unlike_weight = 1.0 / (2.0 * high[fold] * low[fold])
        like_weight = 1.0 / (float(high[fold]) ** 2 + float(low[fold]) ** 2)
        W = near[np.ix_(kept, kept)] * np.where(like[np.ix_(kept, kept)], -like_weight, unlike_weight)
        X = rows[kept]
        A = (X * W.sum(axis=1)[:, None]).T @ X - X.T @ (W @ X)
        axes[fold] = eigh(A, subset_by_index=(len(A) - 1, len(A) - 1), check_finite=False)[1][:, 0]
    return _oriented(axes, rows, labels, keep)


def _inverse_square_distances(rows: Matrix) -> Matrix:
    """Return 1 / |e_v - e_w|², zero for rows at distance zero, from the differences themselves."""
    near = np.empty((len(rows), len(rows)))
    for v, row in enumerate(rows):
        difference = rows - row
        near[v] = np.einsum("ij,ij->i", difference, difference)
    zero = near <= 1e-24
    near[zero] = 1.0
    return np.where(zero, 0.0, 1.0 / near)


def _fitted_axes(rows: Matrix, labels: Matrix, keep: NDArray[np.bool_], rotation: str | Rotation) -> Matrix:
    """Return the first axes of a rotation fitted once a fold."""
    axes = np.empty((len(keep), rows.shape[1]))
    for fold, kept in enumerate(keep):
        unfitted = make_rotation(rotation) if isinstance(rotation, str) else clone(rotation)
        axes[fold] = unfitted.fit(rows[kept], labels[kept]).components_[0]
    return axes


def _oriented(axes: Matrix, rows: Matrix, labels: Matrix, keep: NDArray[np.bool_]) -> Matrix:
    """Return the axes at unit length, from the mean of the left class to that of the right."""
    high, low = keep & (labels > 0), keep & (labels < 0)
    toward = high @ rows / high.sum(axis=1, keepdims=True) - low @ rows / low.sum(axis=1, keepdims=True)
    signs = np.where(np.einsum("ij,ij->i", axes, toward) < 0, -1.0, 1.0)
    lengths = np.linalg.norm(axes, axis=1)
    return np.asarray(axes * (signs / np.where(lengths > 0, lengths, 1.0))[:, None])
