r"""What each seed does to the axis: the axis found without it, for every seed at once.

Closed forms, exact, instead of n fits:

- mean difference: one class mean moves by :math:`(x_i - \mu_c) / (n_c - 1)`;
- ridge at the penalty chosen: Sherman–Morrison, `ridge_without_each`;
- DensRay, plain differences, classes: within a class all words leave the same matrix but for two rank-one terms,
  :math:`A_{-i} = B_c + g\, \delta_i \delta_i^\top - h\, u_i u_i^\top`. One eigendecomposition of :math:`B_c`, then the
  largest root of the secular equation of each word by bisection (Golub 1973 for one term; Sylvester's inertia for two).

Other methods are fitted again for the seeds that matter most, and no more of them than allowed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from densray._threads import Progress, map_parallel
from densray._vocabulary import unit_rows
from densray.alignment import Alignment
from densray.axes._resampling import directions_without_groups, is_closed_form, is_ridge, refit
from densray.moments import Moments
from densray.pairs import PairWeights
from densray.rotations import DensRay, MeanDifference, Rotation

Matrix = NDArray[np.float64]


def leave_one_out_axes(
    rotation: Rotation,
    seeds: Alignment,
    *,
    first: NDArray[np.intp],
    max_refits: int,
    progress: Progress | None = None,
) -> Matrix:
    """Return the unit axis found without each seed, one per row; NaN where there is none or it was not computed.

    Seeds of one group are left out together.

    Parameters
    ----------
    rotation : fitted rotation
    seeds : Alignment
    first : array of int
        The seeds by urgency: those fitted again where there is no closed form.
    max_refits : int
        How many.
    progress : callable, optional
    """
    plain = isinstance(rotation, DensRay) and not rotation.normalize_differences
    if seeds.groups is not None:
        return _axes_without_groups(rotation, seeds, first, max_refits, progress)
    if rotation.scale is not None:  # which a seed left out changes
        axes = _refitted_axes(rotation, seeds, first[:max_refits], progress)
    elif isinstance(rotation, MeanDifference) or (plain and not seeds.is_binary and rotation.center_labels):
        axes = _mean_difference_axes(seeds)
    elif is_ridge(rotation):
        axes = ridge_without_each(seeds, float(rotation.penalty_))[1]
    elif plain and seeds.is_binary:
        assert isinstance(rotation, DensRay)
        axes = _densray_axes(rotation, seeds)
    else:
        axes = _refitted_axes(rotation, seeds, first[:max_refits], progress)
    axes[_irreplaceable(seeds)] = np.nan
    return unit_rows(axes)


def _axes_without_groups(
    rotation: Rotation,
    seeds: Alignment,
    first: NDArray[np.intp],
    max_refits: int,
    progress: Progress | None,
) -> Matrix:
    """Return the unit axis found without the group of each seed."""
    members = seeds.members
    unit_of = np.empty(seeds.n_words, dtype=np.intp)
    for number, rows in enumerate(members):
        unit_of[rows] = number
    if is_closed_form(rotation, seeds):
        penalty = float(rotation.penalty_) if is_ridge(rotation) else None
        return unit_rows(directions_without_groups(seeds, penalty)[1])[unit_of]
    urgent = list(dict.fromkeys(unit_of[first].tolist()))[:max_refits]
    keep = [np.setdiff1d(np.arange(seeds.n_words), members[unit]) for unit in urgent]
    chosen = [(unit, rows) for unit, rows in zip(urgent, keep, strict=True) if np.ptp(seeds.y[rows]) > 0.0]
    found = map_parallel(lambda each: refit(rotation, seeds.take(each[1])), chosen, progress=progress)
    axes = np.full((len(members), seeds.X.shape[1]), np.nan)
    for (unit, _), axis in zip(chosen, found, strict=True):
        axes[unit] = axis
    return np.asarray(axes[unit_of])


def ridge_without_each(seeds: Alignment, penalty: float) -> tuple[Matrix, Matrix]:
    r"""Return the ridge coefficients, and those without each seed, one per row, at the same penalty.

    Sherman–Morrison: :math:`\beta_{-i} = \beta - G \tilde x_i r_i / (1 - h_i)` with :math:`G = (S + \alpha I)^{-1}` and
    the leverage :math:`h_i = 1/n + \tilde x_i^\top G \tilde x_i`.
    """
    X, values = seeds.X.astype(np.float64), seeds.values
    centred, targets = X - X.mean(axis=0), values - values.mean()
    pulls = np.linalg.solve(centred.T @ centred + penalty * np.eye(X.shape[1]), centred.T).T  # G x̃, one row per seed
    coefficients = targets @ pulls
    leverage = 1.0 / seeds.n_words + np.einsum("ij,ij->i", centred, pulls)
    residual = targets - centred @ coefficients
    change = pulls * (residual / np.maximum(1.0 - leverage, 1e-12))[:, None]
    return np.asarray(coefficients), np.asarray(coefficients - change)


def _irreplaceable(seeds: Alignment) -> NDArray[np.intp]:
    """Return the seeds without which one label would be left."""
    alone = [np.flatnonzero(seeds.y == label) for label in np.unique(seeds.y)] if seeds.is_binary else []
    return np.concatenate([rows for rows in alone if rows.size == 1] or [np.empty(0, dtype=np.intp)])


def _mean_difference_axes(seeds: Alignment) -> Matrix:
    X, values = seeds.X.astype(np.float64), seeds.values
    if not seeds.is_binary:
        n, scores = seeds.n_words, values - values.mean()
        centred = X - X.mean(axis=0)
        # m = Σ (l - l̄) x, so m without i is m - n/(n-1) (l_i - l̄)(x_i - x̄)
        return np.asarray(scores @ X - (n / (n - 1)) * scores[:, None] * centred)
    high, low = values > 0, values < 0
    means = {True: X[high].mean(axis=0), False: X[low].mean(axis=0)}
    axes = np.empty_like(X)
    for side, rows, sign in ((True, high, -1.0), (False, low, 1.0)):
        away = X[rows] - means[side]
        axes[rows] = means[True] - means[False] + sign * away / max(int(rows.sum()) - 1, 1)
    return axes


def _densray_axes(rotation: DensRay, seeds: Alignment) -> Matrix:
    X = seeds.X.astype(np.float64)
    X = X - X.mean(axis=0)
    rows = {side: np.flatnonzero(seeds.values == side) for side in (-1.0, 1.0)}
    moments = {side: Moments.of(X[index]) for side, index in rows.items()}
    axes = np.full_like(X, np.nan)
    for side, index in rows.items():
        size = index.size
        if size < 2:
            continue
        left = {other: moments[other].weight - (other == side) for other in moments}
        weights = PairWeights.resolve(rotation.weights, left[1.0], left[-1.0])
        factor = {other: weights.scatter_factor(left[other], left[1.0] + left[-1.0]) for other in left}
        away = X[index] - moments[side].mean
        shift = moments[1.0].mean - moments[-1.0].mean - side * away / (size - 1)
        base = factor[1.0] * moments[1.0].scatter + factor[-1.0] * moments[-1.0].scatter
        # A without i = base + 2 α≠ n₊n₋ δδᵀ - f n/(n-1) uuᵀ, the class scatter losing n/(n-1) uuᵀ
        gains = (2.0 * weights.unlike * left[1.0] * left[-1.0], -factor[side] * size / (size - 1))
        found = top_axes(base, (shift, away), gains)
        toward = np.einsum("ij,ij->i", found, shift)
        axes[index] = found * np.where(toward < 0, -1.0, 1.0)[:, None]
    return np.asarray(axes)


def top_axes(base: Matrix, vectors: tuple[Matrix, Matrix], gains: tuple[float, float]) -> Matrix:
    """Return the first eigenvector of base + g₁ v₁v₁ᵀ + g₂ v₂v₂ᵀ for each row of v₁ and v₂.

    In the eigenbasis of `base`, with :math:`M(\\mu) = G^{-1} + V^\\top (\\Lambda - \\mu)^{-1} V` of size 2 × 2, the
    number of eigenvalues above :math:`\\mu` is that of :math:`\\Lambda`, plus the positive ones of :math:`-M`, less
    those of :math:`-G^{-1}`. Bisection finds the largest; its vector is :math:`(\\Lambda - \\mu)^{-1} V z`, M z = 0.
    """
    values, basis = eigh(base)
    first, second = vectors[0] @ basis, vectors[1] @ basis
    scale = max(float(np.abs(values).max()), abs(gains[0]) * float(np.einsum("ij,ij->i", first, first).max()), 1e-300)
    values, g1, g2 = values / scale, gains[0] / scale, gains[1] / scale
    if g2 == 0.0:
        second, g2 = np.zeros_like(second), 1.0
    products = first * first, first * second, second * second
    negative = int(g1 < 0) + int(g2 < 0)

    def small(mu: Matrix) -> tuple[Matrix, tuple[Matrix, Matrix, Matrix]]:
        gap = values - mu[:, None]
        inverse = 1.0 / np.where(gap == 0.0, 1e-300, gap)
        a, b, c = (np.einsum("ij,ij->i", product, inverse) for product in products)
        return inverse, (1.0 / g1 + a, b, 1.0 / g2 + c)

    def count_above(mu: Matrix) -> NDArray[np.int64]:
        _, (a, b, c) = small(mu)
        determinant = a * c - b * b
        below = np.where(determinant < 0, 1, np.where(a + c < 0, 2, 0))  # negative eigenvalues of M
        return np.asarray(np.sum(values > mu[:, None], axis=1) + below - negative)

    widest = max(g1, 0.0) * products[0].sum(axis=1) + max(g2, 0.0) * products[2].sum(axis=1)
    high = values[-1] + widest + 1e-12
    low = values[0] - max(-g1, 0.0) * products[0].sum(axis=1) - max(-g2, 0.0) * products[2].sum(axis=1) - 1e-12
    for _ in range(64):
        middle = (low + high) / 2.0
        above = count_above(middle) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    inverse, (a, b, c) = small(high)
    upper = np.abs(a) + np.abs(b) > np.abs(b) + np.abs(c)  # the longer row of M gives its null vector
    z1, z2 = np.where(upper, -b, c), np.where(upper, a, -b)
    return unit_rows((inverse * (z1[:, None] * first + z2[:, None] * second)) @ basis.T)


def _refitted_axes(
    rotation: Rotation,
    seeds: Alignment,
    rows: NDArray[np.intp],
    progress: Progress | None,
) -> Matrix:
    axes = np.full(seeds.X.shape, np.nan)
    alone = set(_irreplaceable(seeds).tolist())
    chosen = [row for row in rows.tolist() if row not in alone]

    def find(row: int) -> Matrix:
        return refit(rotation, seeds.take(np.delete(np.arange(seeds.n_words), row)))

    found = map_parallel(find, chosen, progress=progress)
    for row, axis in zip(chosen, found, strict=True):
        axes[row] = axis
    return axes
