"""One axis for each fold of a category, in the space its examples span."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from densray.rotations import Rotation, make_rotation
from densray.tasks.analogy.products import Vocabulary
from densray.tasks.analogy.support_vectors import fold_svm
from densray.tasks.analogy.unit_differences import fold_densray

__all__ = ["ExampleRows", "fold_axes"]

Matrix = NDArray[np.float64]

#: Methods whose axis depends on the width of the vectors, not on their inner products alone.
_NEED_FULL_WIDTH = frozenset({"lda"})


class ExampleRows(Protocol):
    """What is asked of the examples of a category."""

    vocabulary: Vocabulary
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
        ``"densray-unit"`` (pair matrices from one table of distances, solved on the device of the vectors) and
        ``"svm"`` (folds from the solution of the whole category) have a fast way; any other rotation is fitted once a
        fold.
    """
    if rotation in _NEED_FULL_WIDTH or not isinstance(rotation, str):
        return _fitted_axes(examples.vectors, examples.labels, keep, rotation)
    rows = examples.coordinates
    if rotation == "densray-unit":
        axes = fold_densray(rows, examples.labels, keep, beside=examples.vocabulary.vectors)
    elif rotation == "svm":
        axes = fold_svm(rows, examples.labels, keep)
    else:
        return _fitted_axes(rows, examples.labels, keep, rotation) @ examples.basis
    return _oriented(axes, rows, examples.labels, keep) @ examples.basis


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
