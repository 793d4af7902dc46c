r"""Ridge regression towards an approximate axis: a few rated rows correct the axis of seed words.

Seed words name the two ends of a scale, h and l. They give the approximate axis, :math:`d = h - l`, but no information
about differences between rows in between. Ratings y of some rows provide it. With centred rows and standardised
ratings, the direction is

.. math:: w = \operatorname{argmin}_w \|y - X w\|^2 + \alpha \|w - s w_0\|^2, \qquad w_0 = 2 d / d^\top d,

ridge regression that shrinks towards :math:`s w_0` instead of 0 (the posterior mean under a normal prior around it). On
:math:`s w_0` the two ends lie s standard deviations of the ratings above and below their midpoint. Without ratings w is
the axis of the seeds; with many ratings it is the axis of ridge regression.

Both constants come from left-out scores, like the penalty of ridge (:mod:`densray.rotations._ridge`): for each pair
(s, α), the score of a row on the direction found without it has a closed form, since the residual of a left-out row
is :math:`r_i / (1 - h_i)` and r is linear in s. The correlation c of these scores with the ratings has the
log-likelihood :math:`-\tfrac n2 \log(1 - c^2)`. Ten ratings cannot determine two constants well, so a prior is added: s
is log-normal around 1.25 and α around 0.3 m, where m is the mean squared distance of a row from the mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray._arrays import Array, to_host
from densray.errors import DensRayError
from densray.rotations._base import Precision, Rotation
from densray.rotations._basis import complete_basis, unit
from densray.rotations._labels import Labels
from densray.rotations._ridge import LARGEST_CORRELATION

#: Distances of the ends to try, in standard deviations of the ratings; 0 ignores the seeds.
DISTANCES = np.concatenate([[0.0], np.logspace(-1, 1, 13)])
#: Penalties to try, in units of the mean squared distance of a row from the mean.
PENALTIES = np.logspace(-3, 3, 19)
#: Centre and standard deviation of the priors, in natural logarithms; distance 0 has the prior of the smallest one.
DISTANCE_PRIOR, PENALTY_PRIOR = (np.log(1.25), 0.4), (np.log(0.3), 1.0)


class SeededRidge(Rotation):
    r"""Rotation whose first axis is a ridge regression that shrinks towards the line between two ends.

    .. math::
        w = \operatorname{argmin}_w \|y - X w\|^2 + \alpha \|w - s w_0\|^2, \qquad w_0 = 2 d / d^\top d

    with centred rows, standardised labels, and d the vector from the low end to the high one. Leave-one-out
    cross-validation chooses the distance s and the penalty α, in closed form. A prior pulls s towards 1.25, and α
    towards 0.3 times the mean squared distance of a row from the mean.

    Parameters
    ----------
    ends : array-like of shape (d,) or None, default=None
        Vector from the low end of the scale to its high end, such as the difference of the means of two lists of seed
        words. None gives plain ridge regression.
    n_components : int or None, default=1
        Number of axes to return; axes after the first complete the basis. None: a lossless rotation.
    precision : {None, "float32", "float64"}, default=None
        Type of the output; see the other rotations.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
    distance_ : float
        The chosen s: how far an end lies from the mean label, in standard deviations of the labels. 0 means that the
        ends did not help.
    penalty_ : float
        The chosen α.

    References
    ----------
    A. E. Hoerl and R. W. Kennard. Ridge Regression: Biased Estimation for Nonorthogonal Problems. Technometrics 1970.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = np.eye(20)[0]
    >>> X = rng.normal(size=(8, 20))
    >>> rated, both = (SeededRidge(ends=e).fit(X, X @ truth) for e in (None, truth + 0.2 * rng.normal(size=20)))
    >>> bool(both.components_[0] @ truth > rated.components_[0] @ truth)
    True
    """

    distance_: float
    penalty_: float

    def __init__(
        self,
        ends: ArrayLike | None = None,
        *,
        n_components: int | None = 1,
        precision: Precision = None,
    ) -> None:
        self.ends = ends
        self.n_components = n_components
        self.precision = precision

    def _find_axes(
        self, X: Array, labels: Labels, n_components: int | None, sample_weight: Array | None
    ) -> NDArray[np.float64]:
        rows = np.asarray(to_host(X), dtype=np.float64)
        y = np.asarray(to_host(labels.values), dtype=np.float64)
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(to_host(sample_weight), dtype=np.float64)
        ends = np.zeros(rows.shape[1]) if self.ends is None else np.asarray(self.ends, dtype=np.float64)
        if ends.shape != (rows.shape[1],) or not np.isfinite(ends).all():
            raise DensRayError(
                f"ends of shape {ends.shape} are given for rows of width {rows.shape[1]}; one finite number per column "
                "is needed."
            )
        groups = None if labels.groups is None else np.asarray(to_host(labels.groups))
        direction, self.distance_, self.penalty_ = shrunken_direction(rows, y, ends, weights=weights, groups=groups)
        axis = unit(direction)[None, :]
        return axis if n_components == 1 else complete_basis(axis)[:n_components]


def shrunken_direction(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    ends: NDArray[np.float64],
    *,
    weights: NDArray[np.float64] | None = None,
    groups: NDArray[Any] | None = None,
) -> tuple[NDArray[np.float64], float, float]:
    """Return the direction, the distance of the ends and the penalty; see :class:`SeededRidge`.

    Rows of one group are left out together. A weight counts as that many copies of its row. Leave-one-out leaves out
    one copy, or all of the row if its weight is less than 1. Zero `ends` give ridge regression.
    """
    w = np.ones(len(y)) if weights is None else weights
    root, total = np.sqrt(w), float(w.sum())
    mass = np.minimum(w, 1.0) if groups is None else w  # the weight that leave-one-out removes
    centred = X - w @ X / total
    target = y - w @ y / total
    target = target / np.sqrt(w @ target**2 / total)
    square = float(ends @ ends)
    start = 2.0 * ends / square if square > 0.0 else ends
    distances = DISTANCES if square > 0.0 else DISTANCES[:1]
    U, singular, basis = np.linalg.svd(root[:, None] * centred, full_matrices=False)
    eigenvalues = singular**2
    m = float(eigenvalues.sum()) / total
    if m == 0.0:
        return start, 1.0, 0.0  # equal rows cannot correct the seeds
    penalties = PENALTIES * m
    kept = eigenvalues[:, None] / (eigenvalues[:, None] + penalties)  # (rank, penalties)
    both = np.column_stack([root * target, root * (centred @ start)])  # targets for s = 0, and their change with s
    inside = U.T @ both
    residuals = both[:, :, None] - np.einsum("nr,rk,rp->nkp", U, inside, kept)  # (rows, 2, penalties)
    left_out = _without_each(U, kept, root, total, mass / np.maximum(w, np.finfo(np.float64).tiny), residuals, groups)
    errors = left_out[:, :1] - distances[None, :, None] * left_out[:, 1:]  # (rows, distances, penalties)
    scores = (target * (total / np.maximum(total - mass, 1e-8)))[:, None, None] - errors / root[:, None, None]
    scores = scores - np.einsum("n,nsp->sp", w, scores) / total
    spread = np.sqrt(np.maximum(np.einsum("n,nsp->sp", w, scores**2) * total, np.finfo(np.float64).tiny))
    correlations = np.clip(np.einsum("n,nsp->sp", w * target, scores) / spread, 0.0, LARGEST_CORRELATION)
    posterior = -0.5 * total * np.log1p(-(correlations**2))
    posterior -= 0.5 * ((np.log(PENALTIES) - PENALTY_PRIOR[0]) / PENALTY_PRIOR[1]) ** 2
    if len(distances) > 1:
        logarithms = np.log(np.maximum(distances, distances[1]))[:, None]
        posterior -= 0.5 * ((logarithms - DISTANCE_PRIOR[0]) / DISTANCE_PRIOR[1]) ** 2
    s, p = np.unravel_index(int(np.argmax(posterior)), posterior.shape)
    rest = inside[:, 0] - distances[s] * inside[:, 1]
    correction = basis.T @ (rest * singular / (eigenvalues + penalties[p]))
    return distances[s] * start + correction, float(distances[s]), float(penalties[p])


def _without_each(
    U: NDArray[np.float64],
    kept: NDArray[np.float64],
    root: NDArray[np.float64],
    total: float,
    share: NDArray[np.float64],
    residuals: NDArray[np.float64],
    groups: NDArray[Any] | None,
) -> NDArray[np.float64]:
    """Return the residuals of left-out rows, alone or with their group: (I - H_gg)⁻¹ r_g.

    If rows are left out alone, `share` of their weight is left out.
    """
    if groups is None:
        leverage = share[:, None] * ((U * U) @ kept + (root**2 / total)[:, None])
        return np.asarray(residuals / np.maximum(1.0 - leverage, 1e-8)[:, None, :])
    held_out_residuals = np.empty_like(residuals)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        hat = np.einsum("ir,rp,jr->pij", U[rows], kept, U[rows]) + np.outer(root[rows], root[rows]) / total
        left = np.eye(len(rows)) - hat + 1e-9 * np.eye(len(rows))
        held_out_residuals[rows] = np.moveaxis(np.linalg.solve(left, np.moveaxis(residuals[rows], 2, 0)), 0, 2)
    return held_out_residuals
