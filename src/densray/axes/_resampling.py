"""Axes of resampled seeds, and scores of seeds held out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from densray._threads import Progress, ignored_warnings, map_parallel
from densray._vocabulary import unit_rows
from densray.alignment import Alignment
from densray.axes._options import AxisOptions
from densray.errors import SignalWarning, TaskError
from densray.rotations import DensRay, LinearRotation, MeanDifference, Rotation

Matrix = NDArray[np.float64]


def draw_counts(seeds: Alignment, n_resamples: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return how often each seed is drawn in each resample, shape (n_resamples, n).

    Classes are drawn apart and keep their sizes, so that a resample is never of one class only; scores are drawn
    together, and a resample of equal scores is drawn again.
    """
    counts = np.zeros((n_resamples, seeds.n_words), dtype=np.int64)
    groups = [np.flatnonzero(seeds.y == label) for label in np.unique(seeds.y)] if seeds.is_binary else None
    for row in range(n_resamples):
        for rows in groups or [np.arange(seeds.n_words)]:
            counts[row] += _draw(rows, seeds, random)
    return counts


def _draw(rows: NDArray[np.intp], seeds: Alignment, random: np.random.Generator) -> NDArray[np.int64]:
    while True:
        drawn = random.choice(rows, size=len(rows))
        if seeds.is_binary or np.ptp(seeds.y[drawn]) > 0:
            return np.bincount(drawn, minlength=seeds.n_words)


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
    """Return whether resamples and permutations need no fit each."""
    return is_mean_difference(rotation, seeds) or is_ridge(rotation)


def resampled_axes(
    rotation: Rotation,
    seeds: Alignment,
    counts: NDArray[np.int64],
    *,
    progress: Progress | None = None,
) -> Matrix:
    """Return the unit axis of each resample, one per row.

    Parameters
    ----------
    rotation : fitted rotation
        Gives the method, and the penalty of a ridge direction.
    seeds : Alignment
    counts : array of shape (n_resamples, n)
        How often each seed counts; see :func:`draw_counts`.
    progress : callable, optional
        Called with the resamples done and their number.
    """
    if is_mean_difference(rotation, seeds):
        return unit_rows(_mean_differences(seeds, counts))
    if is_ridge(rotation):
        coefficients, without = ridge_without_each(seeds, float(rotation.penalty_))
        return unit_rows(coefficients + (counts - 1.0) @ (coefficients - without))

    def find(weights: NDArray[np.int64]) -> Matrix:
        return refit(rotation, seeds, weights)

    return unit_rows(np.array(map_parallel(find, list(counts), progress=progress)))


def refit(rotation: Rotation, seeds: Alignment, counts: NDArray[np.int64] | None = None) -> Matrix:
    """Return axis 0 of the same method fitted on seeds counted so many times."""
    fresh: Rotation = clone(rotation).set_params(n_components=1)
    if counts is None:
        return np.asarray(fresh.fit(seeds.X, seeds.y).components_[0])
    rows = np.flatnonzero(counts)
    if _takes_weights(fresh):
        return np.asarray(fresh.fit(seeds.X[rows], seeds.y[rows], sample_weight=counts[rows]).components_[0])
    rows = np.repeat(rows, counts[rows])
    return np.asarray(fresh.fit(seeds.X[rows], seeds.y[rows]).components_[0])


def _mean_differences(seeds: Alignment, counts: NDArray[np.int64]) -> Matrix:
    weights = counts.astype(np.float64)
    means = (weights @ seeds.values) / weights.sum(axis=1)
    # Σ w (l - l̄) = 0 for each resample, so the reference point of the rows is without effect
    row_weights = weights * (seeds.values[None, :] - means[:, None])
    return np.asarray(row_weights @ seeds.X.astype(np.float64))


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


def _takes_weights(rotation: Rotation) -> bool:
    if isinstance(rotation, LinearRotation):
        return rotation.estimator in ("svm", "svr", "logistic")
    return bool(has_fit_parameter(rotation, "sample_weight"))


def count_folds(seeds: Alignment, wanted: int) -> int:
    """Return the number of folds the seeds allow: each needs a word of either class, or two scores."""
    if wanted < 2:
        raise TaskError(f"folds={wanted} is given; cross-validation needs at least 2.")
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

    Classes keep their shares in every fold, and scores their distribution.
    """
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
    axes = clone(rotation).set_params(n_components=n_axes).fit(X, y).components_
    values = seeds.values[training]
    toward = axes @ ((values - values.mean()) @ X.astype(np.float64))
    return np.asarray(axes * np.where(toward < 0, -1.0, 1.0)[:, None])
