r"""Ridge regression with its penalty chosen by leave-one-out, in closed form.

For a penalty α the residual of a row left out is :math:`r_i / (1 - h_i)` with the leverage
:math:`h_i = 1/n + \tilde x_i^\top (S + \alpha I)^{-1} \tilde x_i`: no refitting, one matrix product for all penalties
(Golub, Heath & Wahba 1979). It gives the score :math:`s_i = w_{-i}^\top (x_i - \bar x)` of every row on the direction
found without it.

A direction has no scale, so a penalty is judged by the correlation of these scores with the labels. The squared error
would also judge how far w is shrunk: it prefers penalties that are too small, most of all for few rows. Among penalties
whose correlation is within one standard error of the best (the jackknife's, of the difference), the one nearest to half
the largest eigenvalue is taken: there no direction is stretched more than threefold against another, half-way from
the mean difference (α → ∞) to least squares (α → 0). With many rows the standard error vanishes, and the choice is
that of leave-one-out alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from densray.arrays import Array, array_on, namespace, to_host
from densray.memory_maps import release_pages
from densray.moments import Moments, block_rows, blocks_of

__all__ = ["PENALTIES", "ridge_direction"]

#: Penalties tried, as shares of the largest eigenvalue of the scatter.
PENALTIES = np.logspace(-5, 2, 29)

#: The share that is taken where leave-one-out cannot tell penalties apart.
ANCHOR = 0.5


def ridge_direction(
    X: Array, values: Array, weight: Array | None, *, mass: Array | None = None
) -> tuple[NDArray[np.float64], float]:
    """Return the ridge coefficients of `values` on the rows of `X`, and the penalty chosen.

    A weight counts as that many copies of its row, of which leave-one-out leaves out one; the mass, one if absent, is
    what each copy counts.
    """
    xp = namespace(X)
    targets = xp.astype(values, xp.float64)
    copies, masses = (xp.ones_like(targets) if part is None else xp.astype(part, xp.float64) for part in (weight, mass))
    part = xp.where(copies < 1.0, copies, xp.ones_like(copies))  # less than one copy is left out whole
    copies, masses = copies / part, masses * part
    weights = copies * masses
    total = float(xp.sum(weights))
    targets = targets - xp.sum(weights * targets) / total
    moments = _moments(X, None if weight is None and mass is None else xp.astype(weights, X.dtype))
    mean = xp.astype(moments.mean, X.dtype)
    covariance = _weighted_sum(X, mean, weights * targets)
    eigenvalues, vectors = np.linalg.eigh(to_host(moments.scatter))
    eigenvalues = np.maximum(eigenvalues, 0.0)
    penalties = PENALTIES * eigenvalues[-1]
    shrunk = 1.0 / (eigenvalues[:, None] + penalties[None, :])  # (d, penalties)
    coefficients = (vectors.T @ covariance)[:, None] * shrunk
    sums, products = np.zeros(1), np.zeros((1, 1))
    basis = array_on(vectors, X, dtype=X.dtype)
    tables = [array_on(table, X, dtype=X.dtype) for table in (coefficients, shrunk)]
    for block in blocks_of(X.shape[0], block_rows(X)):
        U = (X[block, :] - mean) @ basis
        release_pages(X)
        target, one = targets[block][:, None], masses[block][:, None]
        residual = target - xp.astype(U @ tables[0], xp.float64)
        leverage = one * (xp.astype((U * U) @ tables[1], xp.float64) + 1.0 / total)
        # the label's own share in the mean of the others is taken off: n/(n-1) y - r/(1-h) = n/(n-1) w₋ᵢ(x - mean)
        scores = target * (total / xp.clip(total - one, 1e-8, None)) - residual / xp.clip(1.0 - leverage, 1e-8, None)
        features = one * xp.concat([target * scores, scores * scores, target * target], axis=1)
        sums = sums + to_host(copies[block] @ features)
        products = products + to_host((features * copies[block][:, None]).T @ features)
    best = _choose(sums, products)
    return vectors @ coefficients[:, best], float(penalties[best])


def _choose(sums: NDArray[np.float64], products: NDArray[np.float64]) -> int:
    """Return the number of the penalty to take, from sums over rows of ts, s², t² and of their products."""
    count = PENALTIES.size
    squares = np.maximum(sums[count:-1], np.finfo(np.float64).tiny)
    scale = 1.0 / np.sqrt(squares * sums[-1])
    correlations = sums[:count] * scale  # Σts / √(Σs² Σt²)
    # what a row adds to a correlation, to first order: ts scale - r (s² / Σs² + t² / Σt²) / 2
    slopes = np.vstack([np.diag(scale), np.diag(-correlations / squares / 2.0), -correlations / sums[-1] / 2.0])
    best = int(np.argmax(correlations))
    gaps = slopes - slopes[:, [best]]
    errors = np.sqrt(np.maximum(np.einsum("ij,ij->j", gaps, products @ gaps), 0.0))
    distance = np.abs(np.log(PENALTIES / ANCHOR))
    return int(np.argmin(np.where(correlations >= correlations[best] - errors, distance, np.inf)))


def _moments(X: Array, weight: Array | None) -> Moments:
    total: Moments | None = None
    for block in blocks_of(X.shape[0], block_rows(X)):
        part = Moments.of(X[block, :], None if weight is None else weight[block])
        total = part if total is None else total.merge(part)
        release_pages(X)
    assert total is not None
    return total


def _weighted_sum(X: Array, mean: Array, charge: Array) -> NDArray[np.float64]:
    """Return Σ charge (x - mean), in blocks."""
    xp = namespace(X)
    total = np.zeros(X.shape[1])
    for block in blocks_of(X.shape[0], block_rows(X)):
        part = xp.astype(charge[block], X.dtype) @ (X[block, :] - mean)
        total += to_host(xp.astype(part, xp.float64))
        release_pages(X)
    return total
