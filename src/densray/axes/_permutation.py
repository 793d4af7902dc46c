r"""Could the axis be chance? The labels are shuffled, the method run again, the held-out agreement compared.

The statistic is Spearman's rank correlation of label and held-out score (for two classes an increasing function of the
AUC), cross-validated, since in many dimensions any labels can be separated on the words an axis has seen
(Ojala & Garriga 2010). :math:`p = (1 + \#\{t_\pi \ge t\}) / (1 + P)`, never zero (Phipson & Smyth 2010).

Mean difference and ridge are linear in the labels: all permutations are columns of one matrix product. The ridge
penalty is chosen for each permutation with the prior of the method, and generalised cross-validation (Golub, Heath &
Wahba 1979) in place of left-out scores, as it needs no pass over the rows. Other methods are fitted again, on a sample
of the seeds where there are many.

Seeds that belong together are shuffled together (`permuted_labels`), and held out together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning

from densray._threads import Progress, ignored_warnings, map_parallel
from densray._vocabulary import unit_rows
from densray.alignment import Alignment, rows_of_groups
from densray.axes._resampling import count_folds, is_linear_in_labels, is_ridge, refit, stratified_folds
from densray.errors import SignalWarning, TaskError
from densray.rotations import RIDGE_PENALTIES, Rotation, log_prior
from densray.rotations._basis import ColumnScaling

Matrix = NDArray[np.float64]

#: Permutations where all of them are one product (fewer beyond `MANY_SEEDS` seeds), and where each is a few fits.
PERMUTATIONS_CLOSED, PERMUTATIONS_MANY, PERMUTATIONS_REFIT = 999, 199, 99
MANY_SEEDS = 5000
FOLDS_CLOSED, FOLDS_REFIT = 5, 3
#: Seeds of a test by refitting, at most.
SAMPLED_SEEDS = 400
#: Permutations held in memory at once.
PERMUTATIONS_AT_ONCE = 250


@dataclass(frozen=True)
class PermutationTest:
    """The share of shuffled labels that do as well: p, the statistic, its 95% point under chance, and the effort."""

    p_value: float
    statistic: float
    chance: float
    n_permutations: int
    n_seeds: int


def permutation_test(
    rotation: Rotation,
    seeds: Alignment,
    *,
    n_permutations: int | None = None,
    random: np.random.Generator,
    progress: Progress | None = None,
) -> PermutationTest:
    """Return how often labels without meaning do as well as the real ones."""
    if n_permutations is not None and n_permutations < 1:
        raise TaskError(f"n_permutations={n_permutations} is given; a test takes at least 1, and 19 to reach p = 0.05.")
    if is_linear_in_labels(rotation, seeds):
        usual = PERMUTATIONS_CLOSED if seeds.n_words <= MANY_SEEDS else PERMUTATIONS_MANY
        count = usual if n_permutations is None else n_permutations
        found = _by_products(rotation, seeds, count, random)
    else:
        count = PERMUTATIONS_REFIT if n_permutations is None else n_permutations
        seeds = _sample(seeds, random)
        found = _by_refits(rotation, seeds, count, random, progress)
    observed, shuffled = found[0], found[1:]
    p = (1 + int(np.sum(shuffled >= observed - 1e-12))) / (1 + count)
    return PermutationTest(p, float(observed), float(np.quantile(shuffled, 0.95)), count, seeds.n_words)


def _by_products(rotation: Rotation, seeds: Alignment, count: int, random: np.random.Generator) -> Matrix:
    """Return the statistic of the labels as they are, then of each permutation."""
    n = seeds.n_words
    # one split for all: it must not know the labels, or the real ones would be favoured
    if seeds.groups is None:
        folds = random.permutation(np.arange(n) % min(FOLDS_CLOSED, n))
        orders = np.column_stack([np.arange(n), *(random.permutation(n) for _ in range(count))])
        every = seeds.values[orders]
    else:
        folds = _unlabelled_folds(seeds, FOLDS_CLOSED, random)
        every = np.column_stack([seeds.values, permuted_labels(seeds.values, seeds.groups, count, random)])
    X = seeds.X.astype(np.float64)
    ridge, classes = is_ridge(rotation), seeds.is_binary
    parts = [
        LinearFold(X, folds == number, ridge=ridge, two_classes=classes, scale=rotation.scale)
        for number in np.unique(folds)
    ]
    found = []
    for start in range(0, every.shape[1], PERMUTATIONS_AT_ONCE):
        labels = every[:, start : start + PERMUTATIONS_AT_ONCE]
        scores = np.empty_like(labels)
        for part in parts:
            scores[part.test] = part.scores(labels[~part.test])
        found.append(_correlations(rankdata(scores, axis=0), rankdata(labels, axis=0)))
    return np.concatenate(found)


def _unlabelled_folds(seeds: Alignment, most: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return the fold of each seed, groups whole, drawn without a look at the labels."""
    members = seeds.members
    numbers = random.permutation(np.arange(len(members)) % min(most, len(members)))
    folds = np.empty(seeds.n_words, dtype=np.int64)
    for rows, number in zip(members, numbers.tolist(), strict=True):
        folds[rows] = number
    return folds


def permuted_labels(
    values: NDArray[np.float64], groups: NDArray[np.int64], count: int, random: np.random.Generator
) -> NDArray[np.float64]:
    """Return columns of permuted labels: within groups of several labels, and group for group among those of one.

    Rows of a group go together, so that shuffling them one by one would make chance look smaller than it is.
    """
    numbers = np.unique(groups, return_inverse=True)[1]
    members = rows_of_groups(numbers)
    mixed = np.array([np.ptp(values[rows]) > 0 for rows in members])[numbers]
    within, among = np.flatnonzero(mixed), np.flatnonzero(~mixed)
    by_group = within[np.argsort(numbers[within], kind="stable")]
    places, first = np.unique(numbers[among], return_index=True)
    own, unit = values[among][first], np.searchsorted(places, numbers[among])
    columns = np.empty((len(values), count))
    for column in range(count):
        # rows sorted by group and a random number: those of a group in random order
        shuffled = within[np.lexsort((random.random(len(within)), numbers[within]))]
        columns[by_group, column] = values[shuffled]
        columns[among, column] = random.permutation(own)[unit]
    return columns


class LinearFold:
    """One split: scores of its test rows for any labels of its training rows."""

    def __init__(
        self, X: Matrix, test: NDArray[np.bool_], *, ridge: bool, two_classes: bool, scale: str | None = None
    ) -> None:
        self.test, self.ridge, self.two_classes = test, ridge, two_classes
        if scale is None:
            origin = X[~test].mean(axis=0)
            self.training, self.unseen = X[~test] - origin, X[test] - origin
        else:  # no label has a part in it
            scaling = ColumnScaling.of_rows(X[~test], None, float(np.finfo(np.float64).eps))
            self.training, self.unseen = scaling.rows(X[~test]), scaling.rows(X[test])
        if ridge:
            values, vectors = np.linalg.eigh(self.training.T @ self.training)
            self.eigenvalues = np.maximum(values, 0.0)
            self.vectors = vectors

    def scores(self, labels: Matrix) -> Matrix:
        centred = labels - labels.mean(axis=0)
        covariance = self.training.T @ centred
        axes = self._ridge_axes(covariance, centred) if self.ridge else covariance
        return np.asarray(self.unseen @ unit_rows(axes.T).T)

    def _ridge_axes(self, covariance: Matrix, centred: Matrix) -> Matrix:
        rotated = self.vectors.T @ covariance
        total = np.einsum("ij,ij->j", centred, centred)
        best, chosen = np.full(total.shape, np.inf), np.zeros_like(rotated)
        count, tiny = len(centred), np.finfo(np.float64).tiny
        penalties = RIDGE_PENALTIES * (np.sum(self.eigenvalues) / count)
        for penalty, prior in zip(penalties, log_prior(two_classes=self.two_classes), strict=True):
            shrunk = 1.0 / (self.eigenvalues + penalty)
            # |y - Xβ|² = |y|² - Σ c² (2/(λ+α) - λ/(λ+α)²), c the covariance in the eigenbasis
            gain = 2.0 * shrunk - self.eigenvalues * shrunk**2
            residual = np.maximum(total - gain @ rotated**2, 0.0)
            freedom = max(count - 1.0 - float(self.eigenvalues @ shrunk), 1e-8)
            error = 0.5 * count * np.log(np.maximum(residual, tiny) / freedom**2) - prior
            better = error < best
            best = np.where(better, error, best)
            chosen = np.where(better, rotated * shrunk[:, None], chosen)
        return np.asarray(self.vectors @ chosen)


def _correlations(scores: Matrix, labels: Matrix) -> Matrix:
    """Return Pearson's correlation of each column pair; constant scores have none, 0."""
    left, right = scores - scores.mean(axis=0), labels - labels.mean(axis=0)
    lengths = np.sqrt(np.einsum("ij,ij->j", left, left) * np.einsum("ij,ij->j", right, right))
    return np.asarray(np.einsum("ij,ij->j", left, right) / np.where(lengths > 0, lengths, 1.0))


def _sample(seeds: Alignment, random: np.random.Generator) -> Alignment:
    """Return at most `SAMPLED_SEEDS` seeds, evenly spaced in label order: classes and scores in their shares."""
    if seeds.n_words <= SAMPLED_SEEDS:
        return seeds
    if seeds.groups is not None:  # whole groups
        members = seeds.members
        drawn = [members[unit] for unit in random.permutation(len(members)).tolist()]
        enough = int(np.searchsorted(np.cumsum([len(rows) for rows in drawn]), SAMPLED_SEEDS)) + 1
        return seeds.take(np.sort(np.concatenate(drawn[:enough])))
    shuffled = random.permutation(seeds.n_words)
    order = shuffled[np.argsort(seeds.y[shuffled], kind="stable")]
    places = np.floor((np.arange(SAMPLED_SEEDS) + 0.5) * seeds.n_words / SAMPLED_SEEDS).astype(np.intp)
    return seeds.take(np.sort(order[places]))


def _by_refits(
    rotation: Rotation,
    seeds: Alignment,
    count: int,
    random: np.random.Generator,
    progress: Progress | None,
) -> Matrix:
    if seeds.groups is not None:
        return _by_grouped_refits(rotation, seeds, count, random, progress)
    folds = stratified_folds(seeds, count_folds(seeds, FOLDS_REFIT), random)
    ranks = rankdata(seeds.values)[:, None]
    orders = [np.arange(seeds.n_words), *(random.permutation(seeds.n_words) for _ in range(count))]

    def statistic(order: NDArray[np.intp]) -> float:
        # vectors are shuffled against labels and folds, which is the same and keeps the folds stratified
        shuffled = Alignment(seeds.X[order], seeds.y, seeds.words)
        scores = np.empty((seeds.n_words, 1))
        for number in np.unique(folds):
            training = np.flatnonzero(folds != number)
            axis = refit(rotation, shuffled.take(training))
            origin = shuffled.X[training].mean(axis=0, dtype=np.float64)
            scores[folds == number, 0] = (shuffled.X[folds == number] - origin) @ axis
        return float(_correlations(rankdata(scores, axis=0), ranks)[0])

    return _each(statistic, orders, progress)


def _by_grouped_refits(
    rotation: Rotation, seeds: Alignment, count: int, random: np.random.Generator, progress: Progress | None
) -> Matrix:
    assert seeds.groups is not None
    folds = _unlabelled_folds(seeds, FOLDS_REFIT, random)
    labels = np.column_stack([seeds.values, permuted_labels(seeds.values, seeds.groups, count, random)])

    def statistic(column: int) -> float:
        shuffled = replace(seeds, y=labels[:, column])
        scores = np.zeros((seeds.n_words, 1))
        for number in np.unique(folds):
            training = np.flatnonzero(folds != number)
            if np.ptp(shuffled.y[training]) == 0.0:
                continue  # one label: nothing is learned, nothing told apart
            axis = refit(rotation, shuffled.take(training))
            origin = shuffled.X[training].mean(axis=0, dtype=np.float64)
            scores[folds == number, 0] = (shuffled.X[folds == number] - origin) @ axis
        return float(_correlations(rankdata(scores, axis=0), rankdata(shuffled.y)[:, None])[0])

    return _each(statistic, list(range(count + 1)), progress)


def _each(statistic: Callable[[Any], float], jobs: Sequence[Any], progress: Progress | None) -> Matrix:
    # shuffled labels have no maximum worth finding, and no axis that carries signal
    with ignored_warnings(ConvergenceWarning), ignored_warnings(SignalWarning):
        return np.array(map_parallel(statistic, jobs, progress=progress))


def permuted_aucs(
    X: NDArray[np.float32],
    y: NDArray[np.float64],
    folds: Sequence[NDArray[np.int64]],
    orders: NDArray[np.float64],
    *,
    ridge: bool,
    scale: str | None = None,
) -> NDArray[np.float64]:
    """Return the AUC on rows held out, first of the labels, then of each column of permuted ones.

    Ridge and the mean difference are linear in the labels, so that all permutations are columns of one product, every
    fold fitted again; other methods are tested by the mean difference.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        1 and -1.
    folds : sequence of arrays of int
        The rows of each fold.
    orders : array of shape (n, permutations)
    ridge : bool
        Whether to fit ridge; else the mean difference.
    scale : {None, "columns"}
        Whether to fit in columns divided by their standard deviations.
    """
    labels = np.column_stack([y, orders])
    rows, values = X.astype(np.float64), []
    for test in folds:
        part = LinearFold(rows, np.isin(np.arange(len(y)), test), ridge=ridge, two_classes=True, scale=scale)
        ranks = rankdata(part.scores(labels[~part.test]), axis=0)
        high = labels[part.test] > 0
        n_high, n_low = high.sum(axis=0), (~high).sum(axis=0)
        won = (ranks * high).sum(axis=0) - n_high * (n_high + 1) / 2
        pairs = n_high * n_low  # none where a permutation gave a fold one class
        values.append(np.divide(won, pairs, out=np.full(len(pairs), 0.5), where=pairs > 0))
    return np.asarray(np.mean(values, axis=0))
