"""Held-out scores: every seed scored by an axis that has not seen it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from densray.errors import SignalWarning, TaskError
from densray.ignored_warnings import ignoring
from densray.journal import Run
from densray.rotations import Rotation
from densray.tasks.parallel import map_parallel
from densray.tasks.seeds import Seeds
from densray.tasks.steps import Advance

__all__ = ["count_folds", "held_out_scores", "stratified_folds"]

Matrix = NDArray[np.float64]


def count_folds(seeds: Seeds, wanted: int) -> int:
    """Return the number of folds the seeds allow: each needs a word of either class, or two scores."""
    if wanted < 2:
        raise TaskError(f"folds={wanted} is given; cross-validation needs at least 2.")
    smaller = int(min(np.sum(seeds.sides > 0), np.sum(seeds.sides < 0)))
    if smaller < 2:
        high, low = int(np.sum(seeds.sides > 0)), int(np.sum(seeds.sides < 0))
        raise TaskError(
            f"{len(seeds)} seeds were found, {high} of the higher label and {low} of the lower; holding some out takes "
            "at least two of each. Add seeds, or fit the axis without asking how far it can be trusted."
        )
    return min(wanted, smaller)


def stratified_folds(seeds: Seeds, n_folds: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return the fold of each seed: of every `n_folds` neighbours in label order, one goes to each fold.

    Classes keep their shares in every fold, and scores their distribution.
    """
    shuffled = random.permutation(len(seeds))
    order = shuffled[np.argsort(seeds.y[shuffled], kind="stable")]
    folds = np.empty(len(seeds), dtype=np.int64)
    if not seeds.binary:
        draws = [random.permutation(n_folds) for _ in range(-(-len(seeds) // n_folds))]
        folds[order] = np.concatenate(draws)[: len(seeds)]
        return folds
    for label in np.unique(seeds.y):
        members = order[seeds.y[order] == label]
        folds[members] = np.arange(len(members)) % n_folds
    return folds


def held_out_scores(
    rotation: Rotation,
    seeds: Seeds,
    folds: NDArray[np.int64],
    *,
    n_axes: int = 1,
    advance: Advance | None = None,
    run: Run | None = None,
) -> Matrix:
    """Return the coordinates of every seed on the axes found without its fold, shape (n, n_axes).

    They are measured from the mean of the training rows, so that folds share one origin; every axis is turned to the
    higher training label. A `run` keeps what each fold found.
    """
    numbers = np.unique(folds)

    def find(number: np.int64) -> Matrix:
        return _training_axes(rotation, seeds, folds != number, n_axes)

    with ignoring(SignalWarning):  # axes beyond the signal are asked for on purpose: to measure that they carry none
        found = map_parallel(find, list(numbers), advance=advance, run=run, what="fold")
    scores = np.empty((len(seeds), n_axes))
    for number, axes in zip(numbers, found, strict=True):
        test = folds == number
        origin = seeds.X[~test].mean(axis=0, dtype=np.float64)
        scores[test] = (seeds.X[test] - origin) @ axes.T
    return scores


def _training_axes(rotation: Rotation, seeds: Seeds, training: NDArray[np.bool_], n_axes: int) -> Matrix:
    X, y = seeds.X[training], seeds.y[training]
    axes = clone(rotation).set_params(n_components=n_axes).fit(X, y).components_
    values = seeds.values[training]
    toward = axes @ ((values - values.mean()) @ X.astype(np.float64))
    return np.asarray(axes * np.where(toward < 0, -1.0, 1.0)[:, None])
