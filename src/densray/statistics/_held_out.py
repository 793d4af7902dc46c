"""Refits on part of the rows: held-out scores, and which methods need no refit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from densray._threads import ignored_warnings, map_parallel
from densray.errors import SignalWarning
from densray.progress import Progress
from densray.rotations import DensRay, LinearRotation, MeanDifference, Rotation
from densray.rows import Rows

Matrix = NDArray[np.float64]

#: Ratio of the standard error of a held-out AUC or τ to that of scores along a fixed axis. The same rows are used for
#: training and testing, and the figure refers to this axis, not to the average of such axes. Measured: truth minus
#: estimate varied 1.1 to 1.3 times as much as DeLong's error, at 12 to 200 seeds of seven lexicons
#: (docs/trust-details.md).
HELD_OUT_INFLATION = 1.2


def is_mean_difference(rotation: Rotation, rows: Rows) -> bool:
    """Return whether the axis is the (label-weighted) mean difference; for DensRay, if the labels sum to zero."""
    if isinstance(rotation, MeanDifference):
        return True
    if not isinstance(rotation, DensRay) or rotation.normalize_differences:
        return False
    if not rows.is_binary:
        return rotation.center_labels
    even = np.sum(rows.sides > 0) == np.sum(rows.sides < 0)
    return bool(even and (rotation.weights == "balanced" or rotation.weights[0] == rotation.weights[1]))


def is_ridge(rotation: Rotation) -> bool:
    """Return whether the axis is the closed-form ridge direction."""
    return isinstance(rotation, LinearRotation) and rotation.estimator == "ridge"


def is_closed_form(rotation: Rotation, rows: Rows) -> bool:
    """Return whether leave-one-out axes have a closed form; with standardised columns they do not."""
    return not rotation.standardize and is_linear_in_labels(rotation, rows)


def is_linear_in_labels(rotation: Rotation, rows: Rows) -> bool:
    """Return whether the axes of shuffled labels have a closed form."""
    return is_mean_difference(rotation, rows) or is_ridge(rotation)


def refit(rotation: Rotation, rows: Rows) -> Matrix:
    """Return axis 0 of the same method, fitted to other rows."""
    fresh: Rotation = clone(rotation).set_params(n_components=1)
    return np.asarray(fresh.fit(rows.X, rows.y, groups=rows.groups).components_[0])


def held_out_scores(
    rotation: Rotation,
    rows: Rows,
    folds: NDArray[np.int64],
    *,
    n_axes: int = 1,
    progress: Progress | None = None,
) -> Matrix:
    """Return the coordinates of every row on the axes found without its fold, shape (n, n_axes).

    Coordinates are measured from the mean of the training rows, so that folds share one origin. Every axis points to
    the higher training label.
    """
    numbers = np.unique(folds)

    def find(number: np.int64) -> Matrix:
        return _training_axes(rotation, rows, folds != number, n_axes)

    with ignored_warnings(SignalWarning):  # axes without signal are measured on purpose
        axes_without = map_parallel(find, list(numbers), progress=progress)
    scores = np.empty((len(rows), n_axes))
    for number, axes in zip(numbers, axes_without, strict=True):
        test = folds == number
        origin = rows.X[~test].mean(axis=0, dtype=np.float64)
        scores[test] = (rows.X[test] - origin) @ axes.T
    return scores


def _training_axes(rotation: Rotation, rows: Rows, training: NDArray[np.bool_], n_axes: int) -> Matrix:
    X, y = rows.X[training], rows.y[training]
    groups = None if rows.groups is None else rows.groups[training]
    axes = clone(rotation).set_params(n_components=n_axes).fit(X, y, groups=groups).components_
    values = rows.targets[training]
    toward = axes @ ((values - values.mean()) @ X.astype(np.float64))
    return np.asarray(axes * np.where(toward < 0, -1.0, 1.0)[:, None])
