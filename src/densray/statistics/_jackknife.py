r"""Sampling errors of an axis and leave-one-out axes, by leaving out one row or one group at a time.

The jackknife of Quenouille and Tukey, one class at a time: if :math:`w_{-i}` is the axis without row i of a class of k,

.. math:: \hat\Sigma = \sum_{\text{classes}} \frac{k-1}{k} \sum_i (w_{-i} - w)(w_{-i} - w)^\top

is the covariance of the axis over sets of rows of the same size. For the mean difference it is exact and unbiased:
:math:`S_+/n_+ + S_-/n_-` with the sample covariances. A bootstrap is biased: drawing k rows out of k has (k - 1)/k of
the variance (Rao & Wu 1988), 10% too little for ten rows per class, and a fit on repeated rows is not a fit of that
size.

- *Mean difference* (and DensRay if its pair matrix has rank one) and *ridge*: closed form, `directions_without`.
  Ridge keeps its penalty *per row*: at a constant penalty, leaving out one of three rows of a class would shrink the
  axis by a third, and its error with it.
- *Other methods* are refitted without each row, or without each of about 50 sets of rows of one class (the
  delete-a-group jackknife, Kott 2001).

Rows of a group are left out together. Then k is the number of groups of a class, or the number of all groups if groups
contain both classes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from densray._threads import ignored_warnings, map_parallel
from densray._vocabulary import unit_rows
from densray.errors import Argument, SignalWarning, TaskError
from densray.metrics import Interval
from densray.progress import Progress
from densray.rotations import DensRay, Rotation
from densray.rows import Rows
from densray.statistics._held_out import is_closed_form, is_ridge, refit

Matrix = NDArray[np.float64]

#: Number of refits for the errors of a method without a closed form. A standard error from G sets has a relative error
#: of 1/√(2G): 10% (Efron & Tibshirani 1993, section 6.4).
MOST_REFITS = 50
#: Largest number of rows of `AxisErrors.deviations`; more are added up with random signs, which keeps the variance.
MOST_ROWS = 512
#: Variance inflation of the reliability of ridge, because the penalty is chosen from the same rows: up to a factor of
#: three, and two at 80 rows. Measured on seven lexicons (docs/trust-details.md). Without it, intervals
#: from 200 rows cover 0.82 instead of 0.95.
PENALTY_INFLATION, PENALTY_ROWS = 2.0, 80
#: Smallest cosine with the axis for which the length of a leave-out axis is corrected: 78°.
LEAST_COSINE = 0.2


@dataclass(frozen=True)
class SeedAngle:
    """The angle, in degrees, between an axis and the average axis of similar sets of the same number of rows.

    For the mean difference, the average axis is also that of all such words. A method with a penalty uses a smaller
    penalty per word if there are more words, and its axis then changes; this angle does not include that change.

    Attributes
    ----------
    median : float
        Median estimate: the angle is as likely above it as below.
    upper : float
        Upper 95% confidence limit.
    n_resamples : int
        Number of axes computed without some of the rows.
    """

    median: float
    upper: float
    n_resamples: int


@dataclass(frozen=True)
class ScoreFreedom:
    r"""Degrees of freedom of the errors of scores: how precisely the reliability of an axis is known.

    The scores of all rows along an axis have the variance :math:`V = S + e`, where S is the variance of scores without
    error, and their mean squared error is E. The reliability :math:`S/(S + E) = \lambda/(1 + \lambda)` is estimated by
    :math:`1 - E/V`. The variance V is about :math:`(1 + \lambda) E` times :math:`\chi^2_h/h`, with

    .. math:: h = \frac{2 (1 + \lambda)^2}{2/\nu + 4 \lambda \tau}

    (Patnaik 1949), and the estimate of E is distributed like :math:`\chi^2_k/k` (Satterthwaite 1946), so that V/E is
    :math:`(1 + \lambda) F_{h, k}`.

    Attributes
    ----------
    errors : float
        ν: the effective number of independent, equally large directions of the errors of scores.
    known : float
        k: degrees of freedom of the mean squared error.
    along : float
        τ: the share of the error variance that lies along the axis itself.
    """

    errors: float
    known: float
    along: float

    def reliability_interval(self, share: float, level: float = 0.95) -> Interval:
        """Return the interval of a reliability of ``1 - share``; `share` is the mean squared error over the variance.

        >>> low, high = ScoreFreedom(errors=30.0, known=50.0, along=0.03).reliability_interval(0.4)
        >>> round(low, 2), round(high, 2)
        (0.27, 0.76)
        """
        if not np.isfinite(share):
            return Interval(float("nan"), float("nan"))
        if share <= 0.0:
            return Interval(1.0, 1.0)
        low, high = (self._reliability_at(1.0 / share, quantile) for quantile in ((1 + level) / 2, (1 - level) / 2))
        return Interval(low, high)

    def _reliability_at(self, ratio: float, quantile: float) -> float:
        """Return the reliability for which V/E has this quantile at the ratio; 0 if there is none."""
        from scipy.optimize import brentq
        from scipy.stats import f as f_distribution

        def excess(reliability: float) -> float:
            signal = reliability / (1.0 - reliability)
            freedom = 2.0 * (1.0 + signal) ** 2 / (2.0 / self.errors + 4.0 * signal * self.along)
            return float((1.0 + signal) * f_distribution.ppf(quantile, freedom, self.known)) - ratio

        most = 1.0 - 1e-9
        if excess(0.0) >= 0.0:
            return 0.0
        return float(brentq(excess, 0.0, most, xtol=1e-6)) if excess(most) > 0.0 else 1.0


@dataclass(frozen=True)
class AxisErrors:
    r"""The sampling error of a unit axis.

    Attributes
    ----------
    deviations : array of shape (k, d)
        A root of the covariance of the axis: the standard error of the coordinate of x is ``norm(deviations @ x)``.
    seed_angle : SeedAngle
    freedom : ScoreFreedom or None
        Precision of the errors of the scores of a background; None if there is no background.
    """

    deviations: Matrix = field(repr=False)
    seed_angle: SeedAngle
    freedom: ScoreFreedom | None = field(default=None, repr=False)


def axis_errors(
    rotation: Rotation,
    rows: Rows,
    *,
    background: NDArray[np.floating] | None = None,
    n_refits: int | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> AxisErrors:
    """Return the sampling error of axis 0 over sets of rows of the same kind and size.

    Parameters
    ----------
    rotation : fitted rotation
        Determines the method, and the penalty of a ridge direction.
    rows : Rows
        The rows it was fitted on.
    background : array of shape (m, d), optional
        A few thousand rows whose scores are of interest; see :class:`ScoreFreedom`.
    n_refits : int, optional
        Refits for methods without a closed form (default: 50, or the number of rows if that is smaller).
    random_state : int, default=0
        Seed for dividing the rows into sets to leave out.
    progress : callable, optional
        Called with the number of refits done and their total.
    """
    if n_refits is not None and n_refits < 2:
        raise TaskError(
            Argument("n_resamples", n_refits),
            " is too small. A standard error needs at least 2 refits; use 50 or more.",
        )
    axis, random = np.asarray(rotation.components_[0], dtype=np.float64), np.random.default_rng(random_state)
    if is_closed_form(rotation, rows):
        deviations = closed_form_deviations(rotation, rows)
    else:
        deviations = _refit_deviations(rotation, rows, n_refits or MOST_REFITS, random, progress)
    tangent = deviations - np.outer(deviations @ axis, axis)
    freedom = None if background is None else find_score_freedom(deviations, axis, background)
    if freedom is not None and is_ridge(rotation) and is_closed_form(rotation, rows):
        times = 1.0 + PENALTY_INFLATION * len(deviations) / (len(deviations) + PENALTY_ROWS)
        freedom = ScoreFreedom(freedom.errors / times, freedom.known / times, freedom.along * times)
    return AxisErrors(with_fewer_rows(deviations, random), find_seed_angle(tangent), freedom)


def find_seed_angle(tangent: Matrix, level: float = 0.95) -> SeedAngle:
    r"""Return the seed angle of an axis, given the orthogonal jackknife deviations (one row per left-out group).

    An axis :math:`w = \mu + \varepsilon` lies at the angle θ to μ with
    :math:`\sin^2\theta = |\varepsilon_\perp|^2 / |w|^2`, :math:`\varepsilon_\perp` orthogonal to μ. The mean of
    :math:`|\varepsilon_\perp|^2` is the trace of the error covariance Σ, and it is distributed approximately like a sum
    of :math:`\nu = (\operatorname{tr}\Sigma)^2 / \operatorname{tr}\Sigma^2` squares (Satterthwaite 1946). Since the
    trace is estimated from n rows, the quantile of an F distribution is used. :math:`\operatorname{tr}\Sigma^2` is
    estimated from products of *different* rows, so that it is not inflated for few rows in many dimensions (Bai &
    Saranadasa 1996).
    """
    from scipy.stats import f as f_distribution

    n = len(tangent)
    trace, freedom, trace_freedom = _error_squares(tangent)
    if trace == 0.0:
        return SeedAngle(0.0, 0.0, n)
    median, upper = (
        _degrees(trace * float(f_distribution.ppf(share, freedom, trace_freedom))) for share in (0.5, level)
    )
    return SeedAngle(median, upper, n)


def find_score_freedom(deviations: Matrix, axis: Matrix, background: NDArray[np.floating]) -> ScoreFreedom:
    """Return the degrees of freedom of the errors of scores, from the deviations of an axis, one per left-out group."""
    centred = background.astype(np.float64)
    centred -= centred.mean(axis=0)
    # rootᵀ root is the covariance of the background
    root: Matrix = np.asarray(np.linalg.qr(centred / np.sqrt(len(centred)), mode="r"))
    scores, changes = root @ axis, deviations @ root.T
    variance = float(scores @ scores)
    if variance == 0.0:
        return ScoreFreedom(1.0, 1.0, 1.0)
    # an axis has no scale: a change that multiplies all scores by one factor is not an error
    factors = changes @ scores / variance
    trace, freedom, trace_freedom = _error_squares(changes - np.outer(factors, scores))
    along = float(factors @ factors) * variance / trace if trace > 0.0 else 0.0
    return ScoreFreedom(freedom, trace_freedom, along)


def _error_squares(deviations: Matrix) -> tuple[float, float, float]:
    """Return the trace of the error covariance, its degrees of freedom, and those of the estimated trace."""
    n = len(deviations)
    own = np.einsum("ij,ij->i", deviations, deviations)
    trace = float(own.sum())
    if trace == 0.0:
        return 0.0, 1.0, 1.0
    tall = n > deviations.shape[1]
    products = deviations.T @ deviations if tall else deviations @ deviations.T  # both have the same sum of squares
    squared = (float(np.sum(products**2)) - float(own @ own)) * n / max(n - 1, 1)
    freedom = trace**2 / min(max(squared, trace**2 / n**2), trace**2)
    trace_freedom = 2.0 * trace**2 / max(n * float(own.var(ddof=1)), trace**2 / 1e6) if n > 1 else 1.0
    return trace, freedom, trace_freedom


def _degrees(squared_sine: float) -> float:
    return float(np.degrees(np.arcsin(np.sqrt(min(squared_sine, 1.0)))))


def closed_form_deviations(rotation: Rotation, rows: Rows) -> Matrix:
    """Return √((G-1)/G) (w₋g - w) / ‖w‖, one row per group; their squares add up to the variance of w."""
    ridge = is_ridge(rotation)
    whole, without = directions_without(rows, float(rotation.penalty_) if ridge else None, per_row=True)
    factors, n_groups = np.empty(len(without)), len(without)
    for units in _strata(rows):
        count = n_groups if ridge else len(units)  # ridge centres all labels at one mean
        factors[units] = np.sqrt((count - 1) / count)
    changes = np.where(np.isfinite(without), without - whole, 0.0)  # NaN: the only group of a class
    return np.asarray(changes * factors[:, None] / np.linalg.norm(whole))


def directions_without(rows: Rows, penalty: float | None, *, per_row: bool = False) -> tuple[Matrix, Matrix]:
    r"""Return the direction of all rows, and the directions without each group, one per row.

    The direction is the mean difference, or ridge with a given penalty. For ridge, with the rows :math:`\tilde X_g` of
    a group and :math:`G = (S + \alpha I)^{-1}`: :math:`\beta_{-g} = \beta - G \tilde X_g^\top (I - H_{gg})^{-1} r_g`,
    :math:`H_{gg} = 1/n + \tilde X_g G \tilde X_g^\top`. With `per_row`, the penalty falls with the scatter of the
    remaining labels. NaN if only one label would remain.
    """
    X, values, n = rows.X.astype(np.float64), rows.targets, len(rows)
    centred, targets = X - X.mean(axis=0), values - values.mean()
    eigenvalues, vectors = (np.ones(1), None) if penalty is None else np.linalg.eigh(centred.T @ centred)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    rotated = centred if vectors is None else centred @ vectors
    covariance = targets @ rotated
    members = rows.members
    binary = rows.is_binary
    shares = np.array([_remaining_scatter(targets, group, binary=binary) for group in members])
    directions = np.full((len(members), X.shape[1]), np.nan)
    for number, group in enumerate(members):
        if shares[number] <= 0.0:
            continue
        own, kept = rotated[group], n - len(group)
        if penalty is None:
            # Σ (l - l̄)(x - x̄) of the others: their mean difference times the scatter of their labels
            own_sum, mean = targets[group].sum(), -own.sum(axis=0) / kept
            directions[number] = (covariance - targets[group] @ own + own_sum * mean) / shares[number]
            continue
        shrunk = 1.0 / (eigenvalues + penalty * (shares[number] if per_row else 1.0))
        every = covariance * shrunk
        residuals = targets[group] - own @ every
        if len(group) == 1:  # Sherman–Morrison: H is a number
            leverage = 1.0 / n + float((own[0] * shrunk) @ own[0])
            directions[number] = every - (residuals[0] / max(1.0 - leverage, 1e-12)) * (own[0] * shrunk)
            continue
        hat = 1.0 / n + (own * shrunk) @ own.T
        directions[number] = every - np.linalg.solve(np.eye(len(group)) - hat, residuals) @ (own * shrunk)
    if vectors is None:
        return covariance, directions
    return vectors @ (covariance / (eigenvalues + float(penalty or 0.0))), directions @ vectors.T


def _remaining_scatter(targets: Matrix, group: NDArray[np.intp], *, binary: bool) -> float:
    """Return the share of the scatter of the labels that remains without a group; 0 if only one label remains.

    The scatter of two classes is n₊n₋/n; that of scores is n - 1 times their spread.
    """
    n, own = len(targets), targets[group]
    kept = n - len(own)
    total = float(targets @ targets)
    # Σ (t - t̄')² of the others, whose mean is minus the sum of the group divided by the number of the others
    remaining = total - float(own @ own) - float(own.sum()) ** 2 / kept if kept > 1 else 0.0
    if remaining <= 1e-12 * total:
        return 0.0
    return remaining / total if binary else (kept - 1) / (n - 1)


def _refit_deviations(
    rotation: Rotation,
    rows: Rows,
    n_refits: int,
    random: np.random.Generator,
    progress: Progress | None,
) -> Matrix:
    """Return √((G-1)/G) (w₋ - w) for every set of a class, with each w₋ scaled to a coordinate of 1 along w."""
    axis = np.asarray(rotation.components_[0], dtype=np.float64)
    members = rows.members
    sets, factors = [], []
    for units in _strata(rows):
        count = min(len(units), max(2, round(n_refits * len(units) / len(members))))
        if len(units) > 1:
            parts = np.array_split(random.permutation(units), count)
            sets += [np.concatenate([members[unit] for unit in part.tolist()]) for part in parts]
            factors += [np.sqrt((count - 1) / count)] * count

    def find(left_out: NDArray[np.intp]) -> Matrix:
        return refit(rotation, rows.take(np.setdiff1d(np.arange(len(rows)), left_out)))

    with ignored_warnings(SignalWarning):  # without some rows an axis may lack signal; the errors reflect that
        axes = np.array(map_parallel(find, sets, progress=progress))
    cosines = np.clip(axes @ axis, LEAST_COSINE, None)
    return np.asarray((axes / cosines[:, None] - axis) * np.array(factors)[:, None])


def _strata(rows: Rows) -> list[NDArray[np.intp]]:
    """Return the group numbers of each class; one stratum for scores, or if groups contain both classes."""
    members = rows.members
    if not rows.is_binary or any(np.ptp(rows.y[group]) != 0.0 for group in members):
        return [np.arange(len(members))]
    labels = np.array([rows.y[group[0]] for group in members])
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def with_fewer_rows(deviations: Matrix, random: np.random.Generator) -> Matrix:
    """Return a matrix with fewer rows and the same covariance: exact up to the width, in expectation beyond."""
    if len(deviations) > deviations.shape[1]:
        deviations = np.asarray(np.linalg.qr(deviations, mode="r"), dtype=np.float64)
    if len(deviations) <= MOST_ROWS:
        return deviations
    signs = random.choice([-1.0, 1.0], size=len(deviations))
    places = random.permutation(np.arange(len(deviations)) % MOST_ROWS)
    summed = np.zeros((MOST_ROWS, deviations.shape[1]))
    np.add.at(summed, places, deviations * signs[:, None])
    return summed


def axes_without_each(
    rotation: Rotation,
    rows: Rows,
    *,
    first: NDArray[np.intp],
    max_refits: int,
    progress: Progress | None = None,
) -> Matrix:
    """Return the unit axis computed without each row (and its group), one per row; NaN if it was not computed.

    Parameters
    ----------
    rotation : fitted rotation
    rows : Rows
    first : array of int
        Row numbers by priority: without a closed form, the first of them are left out in turn.
    max_refits : int
        Maximum number of refits.
    progress : callable, optional
    """
    members = rows.members
    group_of = np.empty(len(rows), dtype=np.intp)
    for number, group in enumerate(members):
        group_of[group] = number
    if keeps_closed_form(rotation, rows):
        penalty = float(rotation.penalty_) if is_ridge(rotation) else None
        return unit_rows(directions_without(rows, penalty)[1])[group_of]
    urgent = list(dict.fromkeys(group_of[first].tolist()))[:max_refits]
    kept = {number: np.setdiff1d(np.arange(len(rows)), members[number]) for number in urgent}
    numbers = [number for number in urgent if np.ptp(rows.y[kept[number]]) > 0.0]
    refitted = map_parallel(lambda number: refit(rotation, rows.take(kept[number])), numbers, progress=progress)
    axes = np.full((len(members), rows.width), np.nan)
    axes[numbers] = np.reshape(refitted, (len(numbers), rows.width))
    return np.asarray(axes[group_of])


def keeps_closed_form(rotation: Rotation, rows: Rows) -> bool:
    """Return whether the closed form still holds without any one group: DensRay needs classes of equal size."""
    if isinstance(rotation, DensRay) and rows.is_binary and any(rows.sides[group].sum() != 0 for group in rows.members):
        return False
    return is_closed_form(rotation, rows)
