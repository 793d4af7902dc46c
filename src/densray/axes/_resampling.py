r"""Errors of an axis, from the axes found without some of its seeds; scores of seeds held out.

The jackknife of Quenouille and Tukey, each class apart: with :math:`w_{-i}` the axis without seed i of a class of k,

.. math:: \hat\Sigma = \sum_{\text{classes}} \frac{k-1}{k} \sum_i (w_{-i} - w)(w_{-i} - w)^\top

is the covariance of the axis over sets of seeds of the same size. For the mean difference it is exact and unbiased:
:math:`S_+/n_+ + S_-/n_-` with the sample covariances. A bootstrap is not: drawing k words out of k has (k - 1)/k of the
variance (Rao & Wu 1988), 10% too little for ten words per class, and fits on words drawn twice are not fits of that
size.

- *Mean difference* (and DensRay where its pair matrix has rank one): closed form.
- *Ridge*: closed form by Sherman–Morrison, at the same penalty *per word*. At the same penalty, leaving out one of
  three words of a class would shrink the axis by a third, and its error with it.
- *Other methods* are fitted again without each seed, or without each of some 50 groups of seeds of one class
  (the delete-a-group jackknife, Kott 2001).

Seeds that belong together (`Alignment.groups`) are left out together, in closed form too; then k is the number of
groups of a class, or of all groups where they hold words of both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from densray._threads import Progress, ignored_warnings, map_parallel
from densray.alignment import Alignment, group_folds
from densray.axes._options import AxisOptions
from densray.errors import SignalWarning, TaskError
from densray.rotations import DensRay, LinearRotation, MeanDifference, Rotation

Matrix = NDArray[np.float64]

#: Fits without a group of seeds, at most, where each takes a fit. A standard error from G groups is itself known to
#: 1/√(2G): 10% (Efron & Tibshirani 1993, section 6.4).
MOST_GROUPS = 50
#: Rows of `AxisErrors.deviations`, at most; more are added up with random signs, which changes no variance.
MOST_ROWS = 512
#: The least cosine with the axis that the length of an axis found without some seeds is corrected for: 78°.
LEAST_COSINE = 0.2
#: By how much the standard error of a held-out AUC or τ exceeds that of scores by a fixed axis. The same seeds train
#: and test, and what is asked for is the agreement of this axis, not of axes of its kind on average: truth less
#: estimate spread 1.1 to 1.3 times as far as DeLong's error says, at 12 to 200 seeds of seven lexicons (docs/trust.md).
HELD_OUT_INFLATION = 1.2


@dataclass(frozen=True)
class SeedAngle:
    """The angle, in degrees, between an axis and the average one of sets of as many words like its seeds.

    For the mean difference that is the axis of all such words too. A method with a penalty takes a smaller one per word
    where there are more words, and its axis then lies elsewhere: how far is not in this angle.

    Attributes
    ----------
    median : float
        Its estimate: the angle is as likely above it as below.
    upper : float
        Its upper confidence limit of 95%.
    n_resamples : int
        Axes found without some of the seeds that it rests on.
    """

    median: float
    upper: float
    n_resamples: int


@dataclass(frozen=True)
class AxisErrors:
    r"""The sampling error of a unit axis.

    Attributes
    ----------
    deviations : array of shape (k, d)
        A root of the covariance of the axis: the standard error of its coordinate of x is ``norm(deviations @ x)``.
    seed_angle : SeedAngle
    """

    deviations: Matrix
    seed_angle: SeedAngle


def axis_errors(
    rotation: Rotation,
    seeds: Alignment,
    *,
    n_groups: int | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> AxisErrors:
    """Return the error of axis 0 of a fitted rotation over sets of seeds of the same kind and size.

    Parameters
    ----------
    rotation : fitted rotation
        Gives the method, and the penalty of a ridge direction.
    seeds : Alignment
        What it was fitted on.
    n_groups : int, optional
        Groups of seeds left out in turn where each takes a fit, 50 unless the seeds are fewer; without effect on
        methods with a closed form, which leave out one seed at a time.
    random_state : int, default=0
        Divides the seeds into groups.
    progress : callable, optional
        Called with the fits done and their number.
    """
    if n_groups is not None and n_groups < 2:
        raise TaskError(f"n_resamples={n_groups} is given; an error takes at least 2 fits, 50 or more to be of use.")
    axis, random = np.asarray(rotation.components_[0], dtype=np.float64), np.random.default_rng(random_state)
    if seeds.groups is not None and is_closed_form(rotation, seeds):
        deviations: Matrix | None = _group_deviations(rotation, seeds)
    else:
        deviations = seed_deviations(rotation, seeds)
    if deviations is None:
        deviations = _refit_deviations(rotation, seeds, n_groups or MOST_GROUPS, random, progress)
    tangent = deviations - np.outer(deviations @ axis, axis)
    return AxisErrors(with_fewer_rows(deviations, random), find_seed_angle(tangent))


def seed_deviations(rotation: Rotation, seeds: Alignment) -> Matrix | None:
    """Return the deviation of axis 0 without each seed, one row per seed, so that squares add up to its variance.

    None where the method has no closed form for it, or seeds are left out in groups.
    """
    if seeds.groups is not None or not is_closed_form(rotation, seeds):
        return None
    if is_mean_difference(rotation, seeds):
        return _mean_difference_deviations(seeds)
    return _ridge_deviations(seeds, float(rotation.penalty_))


def find_seed_angle(tangent: Matrix, level: float = 0.95) -> SeedAngle:
    r"""Return the seed angle of an axis from its deviations at right angles to it, one row per seed or group left out.

    An axis :math:`w = \mu + \varepsilon` lies at the angle θ to μ with
    :math:`\sin^2\theta = |\varepsilon_\perp|^2 / |w|^2`, :math:`\varepsilon_\perp` at right angles to μ. The mean of
    :math:`|\varepsilon_\perp|^2` is the trace of the error covariance Σ, and its distribution about that of a sum of
    :math:`\nu = (\operatorname{tr}\Sigma)^2 / \operatorname{tr}\Sigma^2` squares (Satterthwaite 1946); the trace being
    known from n seeds only, the quantile is one of F. :math:`\operatorname{tr}\Sigma^2` is estimated from products of
    *different* rows, which few rows in many dimensions do not inflate (Bai & Saranadasa 1996).
    """
    from scipy.stats import f as f_distribution

    n = len(tangent)
    products = tangent.T @ tangent if n > tangent.shape[1] else tangent @ tangent.T  # of the same sum of squares
    own = np.einsum("ij,ij->i", tangent, tangent)
    trace = float(own.sum())
    if trace == 0.0:
        return SeedAngle(0.0, 0.0, n)
    squared = (float(np.sum(products**2)) - float(own @ own)) * n / max(n - 1, 1)
    freedom = trace**2 / min(max(squared, trace**2 / n**2), trace**2)
    known = 2.0 * trace**2 / max(n * float(own.var(ddof=1)), trace**2 / 1e6) if n > 1 else 1.0
    median, upper = (_degrees(trace * float(f_distribution.ppf(share, freedom, known))) for share in (0.5, level))
    return SeedAngle(median, upper, n)


def _degrees(squared_sine: float) -> float:
    return float(np.degrees(np.arcsin(np.sqrt(min(squared_sine, 1.0)))))


def _classes(seeds: Alignment) -> list[NDArray[np.intp]]:
    """Return the rows of each class; scores are one class."""
    return (
        [np.flatnonzero(seeds.y == label) for label in np.unique(seeds.y)]
        if seeds.is_binary
        else [np.arange(seeds.n_words)]
    )


def _mean_difference_deviations(seeds: Alignment) -> Matrix:
    """Return √((k-1)/k) (w₋ᵢ - w) / |w| of every seed, w the difference of means or the covariance with scores."""
    X = seeds.X.astype(np.float64)
    if not seeds.is_binary:
        n, values = seeds.n_words, seeds.values - seeds.values.mean()
        products = values[:, None] * (X - X.mean(axis=0))  # Σ without i: Σ - n/(n-1) times its own
        direction = products.sum(axis=0) / (n - 1)
        without = (products.sum(axis=0) - products * n / (n - 1)) / (n - 2)
        return np.asarray((without - direction) * np.sqrt((n - 1) / n) / np.linalg.norm(direction))
    means = [X[rows].mean(axis=0) for rows in _classes(seeds)]
    deviations = np.zeros_like(X)
    for rows, mean in zip(_classes(seeds), means, strict=True):
        if len(rows) > 1:  # (k-1)/k Σ ((mean - x) / (k-1))² = Σ (x - mean)² / (k (k-1))
            deviations[rows] = (X[rows] - mean) / np.sqrt(len(rows) * (len(rows) - 1.0))
    return deviations / float(np.linalg.norm(means[1] - means[0]))


def _ridge_deviations(seeds: Alignment, penalty: float) -> Matrix:
    r"""Return √((n-1)/n) (w₋ᵢ - w) / |w| of every seed, at the same penalty per word.

    The factor is that of all n seeds: a ridge direction fits labels around one mean, not the mean of each class.
    The scatter of labels is :math:`n_+ n_- / n` (for scores n - 1) times their spread; w₋ᵢ is found at the penalty
    times its share that is left, so that both are fits of the same shrinkage.
    """
    X, n = seeds.X.astype(np.float64), seeds.n_words
    centred, targets = X - X.mean(axis=0), seeds.values - seeds.values.mean()
    eigenvalues, vectors = np.linalg.eigh(centred.T @ centred)
    eigenvalues, rotated = np.maximum(eigenvalues, 0.0), centred @ vectors
    covariance = targets @ rotated
    direction = covariance / (eigenvalues + penalty)
    deviations = np.zeros_like(rotated)
    classes = _classes(seeds)
    for rows in classes:
        k = len(rows)
        if k < 2:
            continue
        # n₊n₋/n without one of k: (k-1)(n-k)/(n-1)
        left = (n - 2) / (n - 1) if len(classes) == 1 else (k - 1) * n / (k * (n - 1))
        shrunk = 1.0 / (eigenvalues + penalty * left)
        every, own = covariance * shrunk, rotated[rows]
        leverage = 1.0 / n + (own * own) @ shrunk
        residual = targets[rows] - own @ every
        change = (own * shrunk) * (residual / np.maximum(1.0 - leverage, 1e-12))[:, None]
        deviations[rows] = np.sqrt((n - 1) / n) * (every - change - direction)
    return np.asarray(deviations @ vectors.T / np.linalg.norm(direction))


def _refit_deviations(
    rotation: Rotation,
    seeds: Alignment,
    n_groups: int,
    random: np.random.Generator,
    progress: Progress | None,
) -> Matrix:
    """Return √((G-1)/G) (w₋ - w) of every group of a class, each w₋ so long that its coordinate along w is 1."""
    axis = np.asarray(rotation.components_[0], dtype=np.float64)
    members = seeds.members  # those of one seed each where there are no groups
    groups, factors = [], []
    for units in _strata(seeds):
        count = min(len(units), max(2, round(n_groups * len(units) / len(members))))
        if len(units) > 1:
            parts = np.array_split(random.permutation(units), count)
            groups += [np.concatenate([members[unit] for unit in part.tolist()]) for part in parts]
            factors += [np.sqrt((count - 1) / count)] * count

    def find(group: NDArray[np.intp]) -> Matrix:
        return refit(rotation, seeds.take(np.setdiff1d(np.arange(seeds.n_words), group)))

    axes = np.array(map_parallel(find, groups, progress=progress))
    cosines = np.clip(axes @ axis, LEAST_COSINE, None)
    return np.asarray((axes / cosines[:, None] - axis) * np.array(factors)[:, None])


def _strata(seeds: Alignment) -> list[NDArray[np.intp]]:
    """Return the groups of each class, by number; all of them as one where groups hold both classes, or scores."""
    members = seeds.members
    if seeds.groups is None:
        return _classes(seeds)
    pure = seeds.is_binary and all(np.ptp(seeds.y[rows]) == 0.0 for rows in members)
    if not pure:
        return [np.arange(len(members))]
    labels = np.array([seeds.y[rows[0]] for rows in members])
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _group_deviations(rotation: Rotation, seeds: Alignment) -> Matrix:
    """Return √((G-1)/G) (w₋g - w) / |w| of every group, at the same penalty per word."""
    ridge = is_ridge(rotation)
    whole, without = directions_without_groups(seeds, float(rotation.penalty_) if ridge else None, per_word=True)
    factors, all_groups = np.empty(len(without)), len(without)
    for units in _strata(seeds):
        count = all_groups if ridge else len(units)  # a ridge direction fits labels around one mean
        factors[units] = np.sqrt((count - 1) / count)
    changes = np.where(np.isfinite(without), without - whole, 0.0)  # without the only group of a class there is none
    return np.asarray(changes * factors[:, None] / np.linalg.norm(whole))


def directions_without_groups(
    seeds: Alignment, penalty: float | None, *, per_word: bool = False
) -> tuple[Matrix, Matrix]:
    r"""Return the direction of all seeds, and without each group, one per row: mean difference, or ridge at a penalty.

    Ridge, with the rows :math:`\tilde X_g` of a group and :math:`G = (S + \alpha I)^{-1}`:
    :math:`\beta_{-g} = \beta - G \tilde X_g^\top (I - H_{gg})^{-1} r_g`,
    :math:`H_{gg} = 1/n + \tilde X_g G \tilde X_g^\top`. With `per_word` the penalty falls with the scatter of the
    labels that are left. NaN where one label would be left.
    """
    X, values, n = seeds.X.astype(np.float64), seeds.values, seeds.n_words
    centred, targets = X - X.mean(axis=0), values - values.mean()
    members = seeds.members
    eigenvalues, vectors = (np.ones(1), None) if penalty is None else np.linalg.eigh(centred.T @ centred)
    rotated = centred if vectors is None else centred @ vectors
    covariance = targets @ rotated
    directions = np.full((len(members), X.shape[1]), np.nan)
    for number, rows in enumerate(members):
        left = np.delete(values, rows)
        if len(left) < 2 or np.ptp(left) == 0.0:
            continue
        # the scatter of labels that is left: of classes n₊n₋/n, of scores n - 1 times their spread
        share = (
            np.sum((left - left.mean()) ** 2) / (targets @ targets) if seeds.is_binary else (len(left) - 1) / (n - 1)
        )
        if penalty is None:
            # Σ (l - l̄)(x - x̄) of the others, which is the mean difference times that scatter
            others = covariance - targets[rows] @ rotated[rows]
            mean = -rotated[rows].sum(axis=0) / len(left)
            directions[number] = (others - (left - values.mean()).sum() * mean) / share
            continue
        shrunk = 1.0 / (np.maximum(eigenvalues, 0.0) + penalty * (share if per_word else 1.0))
        own, every = rotated[rows], covariance * shrunk
        hat = 1.0 / n + (own * shrunk) @ own.T
        errors = np.linalg.solve(np.eye(len(rows)) - hat, targets[rows] - own @ every)
        directions[number] = every - errors @ (own * shrunk)
    if vectors is None:
        return covariance, directions
    return vectors @ (covariance / (np.maximum(eigenvalues, 0.0) + float(penalty or 0.0))), directions @ vectors.T


def with_fewer_rows(deviations: Matrix, random: np.random.Generator) -> Matrix:
    """Return a matrix of few rows with the same covariance: exact up to the width, in expectation beyond."""
    if len(deviations) > deviations.shape[1]:
        deviations = np.asarray(np.linalg.qr(deviations, mode="r"), dtype=np.float64)
    if len(deviations) <= MOST_ROWS:
        return deviations
    signs = random.choice([-1.0, 1.0], size=len(deviations))
    places = random.permutation(np.arange(len(deviations)) % MOST_ROWS)
    summed = np.zeros((MOST_ROWS, deviations.shape[1]))
    np.add.at(summed, places, deviations * signs[:, None])
    return summed


def is_mean_difference(rotation: Rotation, seeds: Alignment) -> bool:
    """Return whether the axis is the (label-weighted) mean difference, as DensRay's is when labels sum to zero."""
    if isinstance(rotation, MeanDifference):
        return True
    if not isinstance(rotation, DensRay) or rotation.normalize_differences:
        return False
    if not seeds.is_binary:
        return rotation.center_labels
    even = np.sum(seeds.sides > 0) == np.sum(seeds.sides < 0)
    return bool(even and (rotation.weights == "balanced" or rotation.weights[0] == rotation.weights[1]))


def is_ridge(rotation: Rotation) -> bool:
    """Return whether the axis is the closed-form ridge direction."""
    return isinstance(rotation, LinearRotation) and rotation.estimator == "ridge"


def is_closed_form(rotation: Rotation, seeds: Alignment) -> bool:
    """Return whether axes without a seed need no fit each: where leaving it out rescales no column."""
    return rotation.scale is None and is_linear_in_labels(rotation, seeds)


def is_linear_in_labels(rotation: Rotation, seeds: Alignment) -> bool:
    """Return whether the axes of shuffled labels need no fit each."""
    return is_mean_difference(rotation, seeds) or is_ridge(rotation)


def refit(rotation: Rotation, seeds: Alignment) -> Matrix:
    """Return axis 0 of the same method fitted on some seeds."""
    fresh: Rotation = clone(rotation).set_params(n_components=1)
    return np.asarray(fresh.fit(seeds.X, seeds.y, groups=seeds.groups).components_[0])


def count_folds(seeds: Alignment, wanted: int) -> int:
    """Return the number of folds the seeds allow: each needs a word of either class, or two scores."""
    if wanted < 2:
        raise TaskError(f"folds={wanted} is given; cross-validation needs at least 2.")
    if seeds.groups is not None:
        return _count_group_folds(seeds, wanted)
    smaller = int(min(np.sum(seeds.sides > 0), np.sum(seeds.sides < 0)))
    if smaller < 2:
        high, low = int(np.sum(seeds.sides > 0)), int(np.sum(seeds.sides < 0))
        raise TaskError(
            f"{seeds.n_words} seeds were found, {high} of the higher label and {low} of the lower; holding some out "
            "takes at least two of each. Add seeds. With judge=False the axis is saved alone."
        )
    return min(wanted, smaller)


def stratified_folds(seeds: Alignment, n_folds: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return the fold of each seed: of every `n_folds` neighbours in label order, one goes to each fold.

    Classes keep their shares in every fold, and scores their distribution. Groups stay whole.
    """
    if seeds.groups is not None:
        return group_folds(seeds.values, seeds.groups, n_folds, int(random.integers(2**31)))
    shuffled = random.permutation(seeds.n_words)
    order = shuffled[np.argsort(seeds.y[shuffled], kind="stable")]
    folds = np.empty(seeds.n_words, dtype=np.int64)
    if not seeds.is_binary:
        draws = [random.permutation(n_folds) for _ in range(-(-seeds.n_words // n_folds))]
        folds[order] = np.concatenate(draws)[: seeds.n_words]
        return folds
    for label in np.unique(seeds.y):
        members = order[seeds.y[order] == label]
        folds[members] = np.arange(len(members)) % n_folds
    return folds


def _count_group_folds(seeds: Alignment, wanted: int) -> int:
    assert seeds.groups is not None
    counts = [len(np.unique(seeds.groups[seeds.sides == side])) for side in (-1.0, 1.0)]
    if min(counts) < 2:
        raise TaskError(
            f"{seeds.n_words} seeds were found in {len(seeds.members)} groups, {counts[1]} of them with a higher label "
            f"and {counts[0]} with a lower; holding groups out takes at least two of each. Give narrower groups, or "
            "add seeds."
        )
    return min(wanted, *counts)


def draw_folds(seeds: Alignment, options: AxisOptions) -> NDArray[np.int64]:
    """Return the fold of each seed, as many folds as the options say and the seeds allow."""
    return stratified_folds(seeds, count_folds(seeds, options.folds), np.random.default_rng(options.random_state))


def held_out_scores(
    rotation: Rotation,
    seeds: Alignment,
    folds: NDArray[np.int64],
    *,
    n_axes: int = 1,
    progress: Progress | None = None,
) -> Matrix:
    """Return the coordinates of every seed on the axes found without its fold, shape (n, n_axes).

    They are measured from the mean of the training rows, so that folds share one origin; every axis is turned to the
    higher training label.
    """
    numbers = np.unique(folds)

    def find(number: np.int64) -> Matrix:
        return _training_axes(rotation, seeds, folds != number, n_axes)

    with ignored_warnings(SignalWarning):  # axes beyond the signal are asked for on purpose: to see that they have none
        found = map_parallel(find, list(numbers), progress=progress)
    scores = np.empty((seeds.n_words, n_axes))
    for number, axes in zip(numbers, found, strict=True):
        test = folds == number
        origin = seeds.X[~test].mean(axis=0, dtype=np.float64)
        scores[test] = (seeds.X[test] - origin) @ axes.T
    return scores


def _training_axes(rotation: Rotation, seeds: Alignment, training: NDArray[np.bool_], n_axes: int) -> Matrix:
    X, y = seeds.X[training], seeds.y[training]
    groups = None if seeds.groups is None else seeds.groups[training]
    axes = clone(rotation).set_params(n_components=n_axes).fit(X, y, groups=groups).components_
    values = seeds.values[training]
    toward = axes @ ((values - values.mean()) @ X.astype(np.float64))
    return np.asarray(axes * np.where(toward < 0, -1.0, 1.0)[:, None])
