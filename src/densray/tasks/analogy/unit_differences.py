r"""DensRay with unit-length differences for all folds of a category at once.

.. math::
    A = 2\, X^\top (\mathrm{diag}(W 1) - W)\, X, \qquad W_{vw} = \pm\alpha / \|e_v - e_w\|^2 ,

balanced weights. The distances are those of the whole category: a fold only masks them, and has its own α. On a device
the matrices of all folds are made and solved there, batch by batch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from densray.arrays import Array, array_on, is_foreign, namespace, to_host
from densray.moments import blocks_of
from densray.pairs import PairWeights

__all__ = ["fold_densray"]

Matrix = NDArray[np.float64]

_BATCH = 2**22  # entries of the matrices made at once
_SQUARINGS = 32  # tells eigenvalues apart that differ by 1e-8 of the largest


def fold_densray(rows: Matrix, labels: Matrix, keep: NDArray[np.bool_], *, beside: Array) -> Matrix:
    """Return the first eigenvector of each fold, shape (F, r), found where `beside` lies; its sign is arbitrary."""
    near = _inverse_square_distances(rows)
    same = labels[:, None] == labels[None, :]
    unlike, like, X = (_placed(part, beside) for part in (near * ~same, near * same, rows))
    axes = np.empty((len(keep), rows.shape[1]))
    for part in blocks_of(len(keep), max(1, _BATCH // len(rows) ** 2)):
        weights = [PairWeights.balanced(*sizes) for sizes in _class_sizes(labels, keep[part])]
        alpha = _placed(np.array(weights), beside)[:, :, None, None]
        seen = _placed(keep[part], beside)
        W = alpha[:, 0, :, :] * unlike - alpha[:, 1, :, :] * like
        W = W * (seen[:, :, None] * seen[:, None, :])
        degree = namespace(W).sum(W, axis=2)
        axes[part] = _leading_vectors(X.T @ (degree[:, :, None] * X - W @ X))
    return axes


def _placed(values: NDArray[np.float64 | np.bool_], beside: Array) -> Array:
    return array_on(values.astype(np.float64), beside)


def _class_sizes(labels: Matrix, keep: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """Return how many rows of the higher and of the lower class each fold may see."""
    sizes = [keep[:, side].sum(axis=1).astype(float).tolist() for side in (labels > 0, labels < 0)]
    return list(zip(*sizes, strict=True))


def _inverse_square_distances(rows: Matrix) -> Matrix:
    """Return 1 / |e_v - e_w|², zero for rows at distance zero, from the differences themselves."""
    near = np.empty((len(rows), len(rows)))
    for v, row in enumerate(rows):
        difference = rows - row
        near[v] = np.einsum("ij,ij->i", difference, difference)
    zero = near <= 1e-24
    near[zero] = 1.0
    return np.where(zero, 0.0, 1.0 / near)


def _leading_vectors(A: Array) -> Matrix:
    """Return the eigenvector of the highest eigenvalue of each symmetric matrix."""
    if not is_foreign(A):
        last = A.shape[1] - 1
        return np.array([eigh(one, subset_by_index=(last, last), check_finite=False)[1][:, 0] for one in A])
    # Devices multiply many small matrices far faster than they decompose them. Shifted to have no negative eigenvalue
    # and squared again and again, a matrix turns into the projection on its leading vector: powers of two of the power
    # method. Any of its columns is that vector; the one with the largest diagonal is the longest.
    xp = namespace(A)
    norm = xp.linalg.vector_norm(A, axis=(1, 2), keepdims=True)
    M = A / xp.where(norm > 0, norm, xp.ones_like(norm)) + xp.eye(A.shape[1], dtype=A.dtype, device=A.device)
    for _ in range(_SQUARINGS):
        M = M @ M
        M = M / xp.linalg.vector_norm(M, axis=(1, 2), keepdims=True)
    longest = xp.argmax(xp.linalg.diagonal(M), axis=1)[:, None, None]
    return to_host(xp.take_along_axis(M, xp.broadcast_to(longest, (*M.shape[:2], 1)), axis=2))[:, :, 0]
