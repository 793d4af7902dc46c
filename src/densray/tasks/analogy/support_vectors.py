r"""Linear support vector machines for all folds of a category at once.

.. math::
    \min_\alpha\; \tfrac12\, \alpha^\top Q \alpha - \sum_i \alpha_i, \qquad
    0 \le \alpha_i \le C,\quad y^\top \alpha = 0, \qquad Q_{ij} = y_i y_j\, x_i^\top x_j,

what scikit-learn's ``SVC(kernel="linear", C=1)`` minimises. Where it is known which rows are bounded by 0, which by C
and which are free, the rest is one linear system. A fold differs from its category by a pair, so it starts from what
is known of the whole category, and moves rows that break their bound, or pull away from it, to where they belong
(a primal-dual active set method: M. Hintermüller, K. Ito and K. Kunisch, SIAM J. Optim. 13, 2003). When no row moves,
the solution is exact; that takes one to five systems. Folds that do not come to rest are left to scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray.moments import blocks_of

__all__ = ["fold_svm"]

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]

_STEPS = 20
_TOLERANCE = 1e-6
_RIDGE = 1e-10  # examples may repeat, and their rows of Q with them
_SLACK = 1e-9
_BATCH = 2**23  # entries of the linear systems solved at once


def fold_svm(rows: Matrix, labels: Matrix, keep: Mask, *, C: float = 1.0) -> Matrix:
    """Return the normal vector of each fold, shape (F, r)."""
    kernel = rows @ rows.T
    whole = _fitted(kernel, labels, np.ones(len(rows), dtype=bool), C)
    coefficients = np.empty((len(keep), len(rows)))
    for part in blocks_of(len(keep), max(1, _BATCH // len(rows) ** 2)):
        coefficients[part], settled = _settle(kernel, labels, keep[part], whole, C)
        for fold in part.start + np.flatnonzero(~settled):
            coefficients[fold] = _fitted(kernel, labels, keep[fold], C)
    return (coefficients * labels) @ rows


def _fitted(kernel: Matrix, labels: Matrix, kept: Mask, C: float) -> Matrix:
    """Return the coefficients that scikit-learn finds for the rows kept, zero for the others."""
    from sklearn.svm import SVC

    model: Any = SVC(kernel="precomputed", C=C, tol=_TOLERANCE).fit(kernel[np.ix_(kept, kept)], labels[kept])
    found = np.zeros(len(labels))
    found[np.flatnonzero(kept)[model.support_]] = np.abs(model.dual_coef_[0])
    return found


def _settle(kernel: Matrix, labels: Matrix, keep: Mask, start: Matrix, C: float) -> tuple[Matrix, Mask]:
    """Return the coefficients of each fold, and which folds came to rest."""
    Q = kernel * labels[:, None] * labels + _RIDGE * np.eye(len(labels))
    free, upper = keep & (start > 0) & (start < C), keep & (start >= C)
    found = np.zeros(keep.shape)
    going = np.arange(len(keep))
    for _ in range(_STEPS):
        found[going], slope = _solve(Q, labels, free[going], np.where(upper[going], C, 0.0))
        alpha, was_free, was_upper = found[going], free[going], upper[going]
        was_lower = keep[going] & ~was_free & ~was_upper
        free[going] = (
            (was_free & (alpha > 0) & (alpha < C)) | (was_upper & (slope > _SLACK)) | (was_lower & (slope < -_SLACK))
        )
        upper[going] = (was_free & (alpha >= C)) | (was_upper & (slope <= _SLACK))
        moved = ((free[going] != was_free) | (upper[going] != was_upper)).any(axis=1)
        going = going[moved]
        if len(going) == 0:
            break
    settled = np.ones(len(keep), dtype=bool)
    settled[going] = False
    return found, settled


def _solve(Q: Matrix, labels: Matrix, free: Mask, bounded: Matrix) -> tuple[Matrix, Matrix]:
    """Return the coefficients where the free rows have no slope and yᵀα = 0, and the slope of every row.

    The system of the free rows is [Q y; yᵀ 0] [α; b] = [1 - Q α_bounded; -yᵀ α_bounded]; other rows are struck out.
    """
    size = len(labels)
    border = free * labels
    system = np.zeros((len(free), size + 1, size + 1))
    system[:, :size, :size] = Q * (free[:, :, None] & free[:, None, :])
    diagonal = np.arange(size)
    system[:, diagonal, diagonal] += ~free
    system[:, :size, size] = system[:, size, :size] = border
    system[:, size, size] = -1e-12  # solvable even where no row is free
    wanted = np.hstack([free * (1.0 - bounded @ Q), -(bounded @ labels)[:, None]])
    solved = np.linalg.solve(system, wanted[:, :, None])[:, :, 0]
    alpha = solved[:, :size] * free + bounded
    return alpha, alpha @ Q - 1.0 + solved[:, size:] * labels
