r"""Permutation tests: how often shuffled labels give an axis that orders held-out rows as well as the real labels.

The statistic is Spearman's rank correlation of labels and held-out scores (for two classes, an increasing function of
the AUC). It is cross-validated, since in many dimensions any labels can be separated on the training rows
(Ojala & Garriga 2010). :math:`p = (1 + \#\{t_\pi \ge t\}) / (1 + P)`, never zero (Phipson & Smyth 2010).

Mean difference and ridge are linear in the labels: all permutations are columns of one matrix product. The ridge
penalty is chosen for each permutation with the prior of the method, and with generalised cross-validation (Golub,
Heath & Wahba 1979) instead of left-out scores, since it needs no pass over the rows. Other methods are refitted, on a
sample of the rows if there are many.

Rows of a group are shuffled together (`permuted_labels`) and held out together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning

from densray._threads import ignored_warnings, map_parallel
from densray._vocabulary import unit_rows
from densray.errors import Argument, NotConvergedWarning, SignalWarning, TaskError
from densray.folds import count_folds, stratified_folds
from densray.groups import rows_of_groups
from densray.progress import Progress
from densray.rotations import RIDGE_PENALTIES, Rotation, log_prior
from densray.rotations._columns import Columns
from densray.rows import Rows
from densray.statistics._held_out import is_linear_in_labels, is_ridge, refit

Matrix = NDArray[np.float64]

#: Default permutations: with a closed form, with a closed form and more than `MANY_ROWS` rows, and with refits.
PERMUTATIONS_CLOSED, PERMUTATIONS_MANY, PERMUTATIONS_REFIT = 999, 199, 99
MANY_ROWS = 5000
FOLDS_CLOSED, FOLDS_REFIT = 5, 3
#: Largest number of rows for a test by refits.
SAMPLED_ROWS = 400
#: Least number of groups of a size that exchange all their labels.
FEWEST_OF_A_SIZE = 5
#: Number of permutations in memory at once.
PERMUTATIONS_AT_ONCE = 250


@dataclass(frozen=True)
class PermutationTest:
    """Result of a permutation test.

    Attributes
    ----------
    p_value : float
        Share of permutations, including the real labels, whose statistic is at least as large.
    statistic : float
        Rank correlation of labels and held-out scores.
    chance : float
        95% point of the statistic under shuffled labels.
    n_permutations, n_seeds : int
        Number of permutations, and number of rows used.
    shuffled : array
        The statistic of each permutation.
    """

    p_value: float
    statistic: float
    chance: float
    n_permutations: int
    n_seeds: int
    shuffled: NDArray[np.float64] = field(
        default_factory=lambda: np.empty(0), repr=False, compare=False, metadata={"report": False}
    )


def check_n_permutations(n_permutations: int | None) -> None:
    """Raise if a number of permutations is given, and is too small for a test."""
    if n_permutations is not None and n_permutations < 1:
        raise TaskError(
            Argument("n_permutations", n_permutations),
            " is too small. A test needs at least 1 permutation, and at least 19 to reach p = 0.05.",
        )


def permutation_test(
    rotation: Rotation,
    rows: Rows,
    *,
    n_permutations: int | None = None,
    random: np.random.Generator,
    progress: Progress | None = None,
) -> PermutationTest:
    """Test how often shuffled labels order held-out rows as well as the real labels do."""
    check_n_permutations(n_permutations)
    if is_linear_in_labels(rotation, rows):
        usual = PERMUTATIONS_CLOSED if len(rows) <= MANY_ROWS else PERMUTATIONS_MANY
        count = usual if n_permutations is None else n_permutations
        statistics = _by_products(rotation, rows, count, random, progress)
    else:
        count = PERMUTATIONS_REFIT if n_permutations is None else n_permutations
        rows = _sample(rows, random)
        statistics = _by_refits(rotation, rows, count, random, progress)
    observed, shuffled = float(statistics[0]), statistics[1:]
    chance = float(np.quantile(shuffled, 0.95))
    return PermutationTest(p_value(observed, shuffled), observed, chance, count, len(rows), shuffled)


def p_value(observed: float, shuffled: NDArray[np.float64]) -> float:
    """Return the share of statistics that are at least as large as the observed one, which is counted too.

    >>> p_value(0.5, np.array([0.1, 0.6, 0.2]))
    0.5
    """
    return float((1 + np.sum(shuffled >= observed - 1e-12)) / (1 + len(shuffled)))


def _by_products(
    rotation: Rotation, rows: Rows, count: int, random: np.random.Generator, progress: Progress | None = None
) -> Matrix:
    """Return the statistic of the real labels, then of each permutation."""
    n = len(rows)
    # the same folds for all, independent of the labels, or the real labels would be favoured
    if rows.groups is None:
        folds = random.permutation(np.arange(n) % min(FOLDS_CLOSED, n))
        orders = np.column_stack([np.arange(n), *(random.permutation(n) for _ in range(count))])
        every = rows.targets[orders]
    else:
        folds = _unlabelled_folds(rows, FOLDS_CLOSED, random)
        every = np.column_stack([rows.targets, permuted_labels(rows.targets, rows.groups, count, random)])
    X = rows.X.astype(np.float64)
    ridge, classes = is_ridge(rotation), rows.is_binary
    parts = [
        LinearFold(X, folds == number, ridge=ridge, two_classes=classes, standardize=rotation.standardize)
        for number in np.unique(folds)
    ]
    statistics = []
    for start in range(0, every.shape[1], PERMUTATIONS_AT_ONCE):
        if progress is not None:
            progress(start, every.shape[1])
        labels = every[:, start : start + PERMUTATIONS_AT_ONCE]
        scores = np.empty_like(labels)
        for part in parts:
            scores[part.test] = part.scores(labels[~part.test])
        statistics.append(_correlations(rankdata(scores, axis=0), rankdata(labels, axis=0)))
    return np.concatenate(statistics)


def _unlabelled_folds(rows: Rows, most: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return the fold of each row, independent of the labels; groups stay whole."""
    members = rows.members
    numbers = random.permutation(np.arange(len(members)) % min(most, len(members)))
    folds = np.empty(len(rows), dtype=np.int64)
    for group, number in zip(members, numbers.tolist(), strict=True):
        folds[group] = number
    return folds


def permuted_labels(
    values: NDArray[np.float64], groups: NDArray[np.int64], count: int, random: np.random.Generator
) -> NDArray[np.float64]:
    """Return columns of permuted labels; whole groups exchange their labels, since rows of a group may be alike.

    Groups with a single label exchange it, whatever their sizes. Other groups exchange all their labels with groups of
    the same size, in random order. If too few have that size, groups exchange the share of the higher class, or the
    mean of the scores. With these, the labels within each group are in random order, too. Shuffling single rows would
    underestimate the statistic under chance.

    >>> values, groups = np.array([1.0, 2.0, 8.0, 9.0]), np.array([0, 0, 1, 1])
    >>> columns = permuted_labels(values, groups, 50, np.random.default_rng(0))
    >>> sorted({tuple(sorted(column[:2])) for column in columns.T.tolist()})
    [(1.0, 2.0), (8.0, 9.0)]
    """
    single, by_size = [], dict[int, list[NDArray[np.intp]]]()
    for group in rows_of_groups(np.unique(groups, return_inverse=True)[1]):
        if np.ptp(values[group]) == 0.0:
            single.append(group)
        else:
            by_size.setdefault(len(group), []).append(group)
    blocks = [np.array(members) for members in by_size.values() if len(members) >= FEWEST_OF_A_SIZE]
    others = [group for members in by_size.values() if len(members) < FEWEST_OF_A_SIZE for group in members]
    relabel = _with_share if len(np.unique(values)) == 2 else _with_mean
    columns = np.empty((len(values), count))
    for column in range(count):
        for block in blocks:
            columns[block, column] = values[random.permuted(random.permutation(block), axis=1)]
        for group, other in zip(single, random.permutation(len(single)).tolist(), strict=True):
            columns[group, column] = values[single[other][0]]
        for group, other in zip(others, random.permutation(len(others)).tolist(), strict=True):
            columns[group, column] = relabel(values[group], values[others[other]], random)
    return columns


def _with_mean(own: Matrix, other: Matrix, random: np.random.Generator) -> Matrix:
    """Return the scores of a group in random order, with the mean of another group."""
    return np.asarray(other.mean() + random.permutation(own - own.mean()))


def _with_share(own: Matrix, other: Matrix, random: np.random.Generator) -> Matrix:
    """Return labels of both classes for a group, with the share of another group, rounded up or down at random."""
    low, high = float(own.min()), float(own.max())
    n_high = int(np.mean(other == high) * len(own) + random.random())
    n_high = min(max(n_high, 1), len(own) - 1)
    return random.permutation(np.where(np.arange(len(own)) < n_high, high, low))


class LinearFold:
    """One train/test split: scores of its test rows for any labels of its training rows."""

    def __init__(
        self, X: Matrix, test: NDArray[np.bool_], *, ridge: bool, two_classes: bool, standardize: bool = False
    ) -> None:
        self.test, self.ridge, self.two_classes = test, ridge, two_classes
        if not standardize:
            origin = X[~test].mean(axis=0)
            self.training, self.unseen = X[~test] - origin, X[test] - origin
        else:  # does not depend on the labels
            columns = Columns.of_rows(X[~test], None, standardize=True)
            self.training, self.unseen = columns.rows(X[~test]), columns.rows(X[test])
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
        best, axes = np.full(total.shape, np.inf), np.zeros_like(rotated)
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
            axes = np.where(better, rotated * shrunk[:, None], axes)
        return np.asarray(self.vectors @ axes)


def _correlations(scores: Matrix, labels: Matrix) -> Matrix:
    """Return Pearson's correlation of each pair of columns; 0 for constant scores."""
    left, right = scores - scores.mean(axis=0), labels - labels.mean(axis=0)
    lengths = np.sqrt(np.einsum("ij,ij->j", left, left) * np.einsum("ij,ij->j", right, right))
    return np.asarray(np.einsum("ij,ij->j", left, right) / np.where(lengths > 0, lengths, 1.0))


def _sample(rows: Rows, random: np.random.Generator) -> Rows:
    """Return at most `SAMPLED_ROWS` rows, evenly spaced in label order, so that the label distribution is kept."""
    if len(rows) <= SAMPLED_ROWS:
        return rows
    if rows.groups is not None:  # whole groups
        members = rows.members
        units = [members[unit] for unit in random.permutation(len(members)).tolist()]
        enough = int(np.searchsorted(np.cumsum([len(group) for group in units]), SAMPLED_ROWS)) + 1
        return rows.take(np.sort(np.concatenate(units[:enough])))
    shuffled = random.permutation(len(rows))
    order = shuffled[np.argsort(rows.y[shuffled], kind="stable")]
    places = np.floor((np.arange(SAMPLED_ROWS) + 0.5) * len(rows) / SAMPLED_ROWS).astype(np.intp)
    return rows.take(np.sort(order[places]))


def _by_refits(
    rotation: Rotation,
    rows: Rows,
    count: int,
    random: np.random.Generator,
    progress: Progress | None,
) -> Matrix:
    if rows.groups is not None:
        return _by_grouped_refits(rotation, rows, count, random, progress)
    folds = stratified_folds(rows, count_folds(rows, FOLDS_REFIT), random)
    ranks = rankdata(rows.targets)[:, None]
    orders = [np.arange(len(rows)), *(random.permutation(len(rows)) for _ in range(count))]

    def statistic(order: NDArray[np.intp]) -> float:
        # vectors are shuffled instead of labels and folds, which is equivalent and keeps the folds stratified
        shuffled = Rows(rows.X[order], rows.y, rows.names)
        scores = np.empty((len(rows), 1))
        for number in np.unique(folds):
            training = np.flatnonzero(folds != number)
            axis = refit(rotation, shuffled.take(training))
            origin = shuffled.X[training].mean(axis=0, dtype=np.float64)
            scores[folds == number, 0] = (shuffled.X[folds == number] - origin) @ axis
        return float(_correlations(rankdata(scores, axis=0), ranks)[0])

    return _each(statistic, orders, progress)


def _by_grouped_refits(
    rotation: Rotation, rows: Rows, count: int, random: np.random.Generator, progress: Progress | None = None
) -> Matrix:
    assert rows.groups is not None
    folds = _unlabelled_folds(rows, FOLDS_REFIT, random)
    labels = np.column_stack([rows.targets, permuted_labels(rows.targets, rows.groups, count, random)])

    def statistic(column: int) -> float:
        shuffled = rows.relabelled(labels[:, column])
        scores = np.zeros((len(rows), 1))
        for number in np.unique(folds):
            training = np.flatnonzero(folds != number)
            if np.ptp(shuffled.y[training]) == 0.0:
                continue  # a single label: nothing to learn
            axis = refit(rotation, shuffled.take(training))
            origin = shuffled.X[training].mean(axis=0, dtype=np.float64)
            scores[folds == number, 0] = (shuffled.X[folds == number] - origin) @ axis
        return float(_correlations(rankdata(scores, axis=0), rankdata(shuffled.y)[:, None])[0])

    return _each(statistic, list(range(count + 1)), progress)


def _each(statistic: Callable[[Any], float], jobs: Sequence[Any], progress: Progress | None) -> Matrix:
    # shuffled labels have no maximum worth finding, and their axes carry no signal
    with (
        ignored_warnings(ConvergenceWarning),
        ignored_warnings(NotConvergedWarning),
        ignored_warnings(SignalWarning),
    ):
        return np.array(map_parallel(statistic, jobs, progress=progress))
