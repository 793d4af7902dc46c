"""Leading eigenvectors of a symmetric matrix: by Lanczos steps for one, by a decomposition for several."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigh_tridiagonal

from densray._arrays import Array, array_on, is_foreign, namespace, symmetric_eigh, to_host
from densray.errors import VectorError
from densray.rotations._basis import complete_basis

#: Width up to which a full decomposition is as fast as the iteration.
NARROW = 64
#: Largest number of steps of the iteration (on a device, where each operation has a cost, at most the width over 16),
#: and steps between two convergence checks.
LANCZOS_STEPS, LANCZOS_ROUND = 144, 12
#: Relative size below which the image of a subspace adds no new direction: further steps would be rounding.
INVARIANT = 1e-11
#: Added to lengths that may be zero, to avoid division by zero.
TINY = float(np.finfo(np.float64).tiny)


class Eigenvectors(NamedTuple):
    """Eigenvectors of a symmetric matrix, by descending eigenvalue."""

    eigenvalues: NDArray[np.float64]  # descending
    vectors: NDArray[np.float64]  # as rows
    n_signals: int  # number of eigenvalues that are positive beyond rounding


def leading_eigenvectors(
    A: Array, n_components: int | None, rounding: float, *, toward: NDArray[np.float64] | None = None
) -> Eigenvectors:
    """Return the eigenvectors of the largest eigenvalues of a symmetric matrix.

    Eigenvectors of zero eigenvalues are arbitrary. They are replaced by the completion of the other eigenvectors,
    which depends on the data and not on rounding.

    Parameters
    ----------
    A : array of shape (d, d)
    n_components : int or None
        Number of eigenvectors; None: all. A single one is found by Lanczos steps, without the others.
    rounding : float
        Rounding unit of the products in A. Eigenvalues within it count as zero.
    toward : array of shape (d,), optional
        Start of the Lanczos steps: a direction near the expected first eigenvector.
    """
    width = A.shape[0]
    count = width if n_components is None else n_components
    xp = namespace(A)
    norm = float(xp.linalg.matrix_norm(A))
    if not np.isfinite(norm):
        raise VectorError("products of the rows of X overflow. Scale the vectors, e.g. to unit length.")
    tolerance = 8.0 * rounding * np.sqrt(width) * norm
    if count == 1 and width > NARROW:
        leading = lanczos(A, toward)
        if leading is not None and abs(leading[0]) > tolerance:
            return Eigenvectors(np.array([leading[0]]), leading[1][None, :], int(leading[0] > tolerance))
    if count <= width // 4 and xp is np:  # for few axes, a partial decomposition is faster
        values, vectors = eigh(A, subset_by_index=(width - count, width - 1))
        if np.all(np.abs(values) > tolerance):
            return Eigenvectors(values[::-1].copy(), vectors.T[::-1].copy(), int(np.sum(values > tolerance)))
    values, vectors = (to_host(part) for part in symmetric_eigh(A))
    values, axes = values[::-1].copy(), vectors.T[::-1].copy()
    null = np.abs(values) <= tolerance
    if null[:count].any() and not null.all():
        axes[null] = complete_basis(axes[~null])[int(np.sum(~null)) :]
    return Eigenvectors(values[:count], axes[:count], int(np.sum(values[:count] > tolerance)))


def lanczos(A: Array, toward: NDArray[np.float64] | None = None) -> tuple[float, NDArray[np.float64]] | None:
    """Return the largest eigenvalue of a symmetric matrix and its eigenvector.

    Lanczos steps run on the device of the matrix. None if they would take longer than a full decomposition.
    The residual r bounds the angle to the eigenvector by r / gap; the iteration ends at r ≤ 1e-11 gap, or at
    rounding.

    Parameters
    ----------
    A : array of shape (d, d)
        In float64.
    toward : array of shape (d,), optional
        A direction near the expected eigenvector.
    """
    xp, width = namespace(A), int(A.shape[0])
    start = _any_direction(width)
    if toward is not None and np.linalg.norm(toward) > 0.0:
        start = 0.5 * start + toward / np.linalg.norm(toward)
    steps = min(LANCZOS_STEPS, width // 16) if is_foreign(A) else min(LANCZOS_STEPS, width - 1)
    basis = xp.zeros((steps + 1, width), dtype=xp.float64, device=A.device)
    basis[0, :] = array_on(start / np.linalg.norm(start), A, dtype=xp.float64)
    subspace, diagonal, off_diagonal = basis[:1, :], [], []
    for step in range(steps):
        image, along = _less_along(A @ basis[step, :], subspace)
        if not is_foreign(A):  # orthogonalise once more, in case the image nearly lies in the subspace
            image, _ = _less_along(image, subspace)  # on a device each operation has a cost: the residual decides
        length = xp.linalg.vector_norm(image) + TINY
        diagonal.append(along[step])
        off_diagonal.append(length)
        basis[step + 1, :] = image / length
        subspace = basis[: step + 2, :]
        if (step + 1) % LANCZOS_ROUND and step + 1 < steps:
            continue
        on, off = to_host(xp.stack([*diagonal, *off_diagonal])).reshape(2, -1)  # one transfer from the device
        ends = np.flatnonzero(off <= INVARIANT * max(np.abs(on).max(), off.max()))
        count = int(ends[0]) + 1 if ends.size else len(on)
        values, vectors = eigh_tridiagonal(on[:count], off[: count - 1])
        size, gap = float(np.abs(values).max()), float(values[-1] - values[-2]) if count > 1 else 0.0
        residual = abs(float(off[count - 1] * vectors[-1, -1]))
        if residual > max(1e-11 * gap, 4e-15 * size):
            continue
        vector = array_on(vectors[:, -1].copy(), A, dtype=xp.float64) @ subspace[:count, :]
        error = float(xp.linalg.vector_norm(A @ vector - float(values[-1]) * vector))
        axis = to_host(vector)
        length = float(np.linalg.norm(axis))
        if abs(length - 1.0) < 1e-8 and error <= max(1e-9 * gap, 1e-12 * size):
            return float(values[-1]), axis / length
    return None


@cache
def _any_direction(width: int) -> NDArray[np.float64]:
    """Return a fixed pseudo-random vector of about unit length, read-only."""
    direction = np.random.default_rng(0).normal(scale=1.0 / np.sqrt(width), size=width)
    direction.flags.writeable = False
    return direction


def _less_along(vector: Array, basis: Array) -> tuple[Array, Array]:
    """Return a vector minus its projection on orthonormal rows, and its coordinates on them."""
    along = basis @ vector
    if hasattr(vector, "addmv_"):  # PyTorch: one operation, in place
        return vector.addmv_(basis.T, along, alpha=-1.0), along
    return vector - along @ basis, along
