"""Orthonormal axes: scale to unit length, orient, repeat in the complement, complete to a basis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from densray._arrays import Array, move, product
from densray.errors import LabelError, VectorError


def unit(direction: NDArray[Any]) -> NDArray[np.float64]:
    """Return a direction scaled to unit length."""
    length = float(np.linalg.norm(direction))
    if not np.isfinite(length):
        raise VectorError(
            "the direction found is not finite: the vectors are too large. Scale them, e.g. to unit length."
        )
    if length == 0.0:
        raise LabelError(
            "the direction found is zero, because the mean vector does not depend on the labels. Check vectors and "
            "labels."
        )
    return np.asarray(direction, dtype=np.float64) / length


def complete_basis(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the axes followed by further orthonormal rows that complete them to a full basis.

    It uses one Householder reflection per axis; the added rows do not depend on the signs of the given axes.
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
    v[0] += 1.0 if axis[0] > -1e-9 else -1.0  # an entry that is zero but for rounding counts as zero
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
    """Return `count` orthonormal axes; `find` finds each in the complement of the earlier ones.

    There are fewer if `find` returns None because nothing is left to find.
    """
    axes = np.empty((0, X.shape[1]))
    for _ in range(count):
        basis = complete_basis(axes)[len(axes) :] if len(axes) else None
        direction = find(X) if basis is None else find(product(X, move(basis, X).T))
        if direction is None:
            return axes
        axis = direction if basis is None else direction @ basis
        axis = axis - (axes @ axis) @ axes  # remove rounding, so that axes are orthogonal to the last digit
        axes = np.vstack([axes, axis / np.linalg.norm(axis)])
    return axes
