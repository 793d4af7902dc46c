"""Could the axis be chance: permutation tests are uniform under it, and equal fits to each permutation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest, spearmanr
from sklearn.linear_model import Ridge

from densray.errors import TaskError
from densray.folds import stratified_folds
from densray.rotations import RIDGE_PENALTIES, log_prior, make_rotation
from densray.statistics import _permutation as permutation
from densray.statistics import held_out_scores, permutation_test, permuted_labels
from densray.statistics._permutation import LinearFold, _by_products
from planted import planted_seeds


@pytest.mark.parametrize("method", ["ridge", "mean-difference"])
def test_permutation_p_is_uniform_under_chance(method: str) -> None:
    values = []
    for seed in range(120):
        seeds = planted_seeds(24, 10, strength=0.0, seed=seed)
        rotation = make_rotation(method).fit(seeds.X, seeds.y)
        values.append(permutation_test(rotation, seeds, n_permutations=99, random=np.random.default_rng(seed)).p_value)
    assert kstest(values, "uniform").pvalue > 0.01
    assert np.mean(np.array(values) <= 0.05) <= 0.10


@pytest.mark.slow
def test_permutation_p_by_refits_is_uniform_under_chance_and_small_for_a_concept() -> None:
    values = []
    for seed in range(40):
        seeds = planted_seeds(24, 5, share=0.4, strength=0.0, seed=seed)
        rotation = make_rotation("densray").fit(seeds.X, seeds.y)
        values.append(permutation_test(rotation, seeds, n_permutations=19, random=np.random.default_rng(seed)).p_value)
    assert kstest(values, "uniform").pvalue > 0.01
    planted = planted_seeds(60, 5, share=0.4, strength=2.0)
    rotation = make_rotation("densray").fit(planted.X, planted.y)
    assert permutation_test(rotation, planted, n_permutations=99, random=np.random.default_rng(0)).p_value == 0.01


def folds_by_hand(X: NDArray[np.float64], y: NDArray[np.float64], test: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Held-out scores of ridge, its penalty the best of a grid by generalised cross-validation and the prior."""
    training, values = X[~test] - X[~test].mean(axis=0), y[~test] - y[~test].mean()
    count, best = len(training), None
    for penalty, prior in zip(RIDGE_PENALTIES * np.sum(training**2) / count, log_prior(two_classes=True), strict=True):
        hat = training @ np.linalg.inv(training.T @ training + penalty * np.eye(X.shape[1])) @ training.T
        error = 0.5 * count * np.log(np.sum((values - hat @ values) ** 2) / (count - 1 - np.trace(hat)) ** 2) - prior
        if best is None or error < best[0]:
            best = error, Ridge(penalty, fit_intercept=False).fit(training, values).coef_
    assert best is not None
    return np.asarray((X[test] - X[~test].mean(axis=0)) @ best[1] / np.linalg.norm(best[1]))


def test_shuffled_labels_are_scored_as_fits_to_each_of_them_would() -> None:
    seeds = planted_seeds(30, 4, strength=0.7)
    X, test = seeds.X.astype(np.float64), np.arange(30) % 3 == 0
    labels = np.column_stack([seeds.y, *(np.random.default_rng(one).permutation(seeds.y) for one in range(4))])
    ridge = LinearFold(X, test, ridge=True, two_classes=True).scores(labels[~test])
    plain = LinearFold(X, test, ridge=False, two_classes=True).scores(labels[~test])
    for column, y in enumerate(labels.T):
        np.testing.assert_allclose(ridge[:, column], folds_by_hand(X, y, test), atol=1e-8)
        axis = X[~test][y[~test] > 0].mean(axis=0) - X[~test][y[~test] < 0].mean(axis=0)
        expected = (X[test] - X[~test].mean(axis=0)) @ axis / np.linalg.norm(axis)
        np.testing.assert_allclose(plain[:, column], expected, atol=1e-8)


def test_p_counts_permutations_that_do_as_well_and_the_permutation_itself() -> None:
    seeds = planted_seeds(24, 5, strength=0.4)
    rotation = make_rotation("mean-difference").fit(seeds.X, seeds.y)
    found = permutation_test(rotation, seeds, n_permutations=39, random=np.random.default_rng(5))
    again = _by_products(rotation, seeds, 39, np.random.default_rng(5))
    assert len(again) == 40
    assert found.statistic == again[0]
    assert found.p_value == (1 + np.sum(again[1:] >= again[0])) / 40
    assert found.chance == pytest.approx(np.sort(again[1:])[36] * 0.9 + np.sort(again[1:])[37] * 0.1)
    assert (found.n_permutations, found.n_seeds) == (39, 24)
    np.testing.assert_array_equal(found.shuffled, again[1:])
    for wrong in (0, -1):
        with pytest.raises(TaskError, match="A test needs at least 1"):
            permutation_test(rotation, seeds, n_permutations=wrong, random=np.random.default_rng(0))


def test_a_test_by_refits_correlates_labels_with_scores_of_rows_left_out() -> None:
    seeds = planted_seeds(24, 4, share=0.4, strength=0.5)
    rotation = make_rotation("densray").fit(seeds.X, seeds.y)
    found = permutation_test(rotation, seeds, n_permutations=3, random=np.random.default_rng(2))
    folds = stratified_folds(seeds, 3, np.random.default_rng(2))
    scores = held_out_scores(rotation, seeds, folds)[:, 0]
    assert found.statistic == pytest.approx(spearmanr(seeds.y, scores).statistic, abs=1e-9)


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("n", [4, 30])
def test_the_statistic_is_spearmans_correlation_over_five_folds_that_do_not_know_the_labels(
    n: int, scores: bool
) -> None:
    seeds = planted_seeds(n, 3, strength=0.5, scores=scores)
    rotation = make_rotation("mean-difference").fit(seeds.X, seeds.y)
    found = _by_products(rotation, seeds, 300, np.random.default_rng(7))  # more than are held in memory at once
    random = np.random.default_rng(7)
    folds = random.permutation(np.arange(n) % min(5, n))
    orders = [np.arange(n), *(random.permutation(n) for _ in range(300))]
    X = seeds.X.astype(np.float64)
    for place in (0, 1, 249, 250, 300):
        y, held_out = seeds.targets[orders[place]], np.empty(n)
        for fold in np.unique(folds):
            test = folds == fold
            axis = (y[~test] - y[~test].mean()) @ X[~test]
            length = np.linalg.norm(axis)
            held_out[test] = (X[test] - X[~test].mean(axis=0)) @ (axis / length if length > 1e-12 else 0 * axis)
        assert found[place] == pytest.approx(spearmanr(y, held_out.round(10)).statistic, abs=1e-6)


def test_grouped_seeds_are_held_out_whole_and_folds_of_one_label_tell_nothing() -> None:
    seeds = planted_seeds(24, 3, share=0.5, strength=0.7)
    for groups, n_folds in ((np.arange(24) // 2, 5), (np.arange(24) // 8, 3)):
        grouped = replace(seeds, groups=groups)
        folds = permutation._unlabelled_folds(grouped, 5, np.random.default_rng(0))
        assert len(np.unique(folds)) == n_folds
        assert all(len(np.unique(folds[groups == group])) == 1 for group in np.unique(groups))
    halves = replace(seeds, groups=np.arange(24) // 12)  # without either group one label is left
    rotation = make_rotation("densray-unit").fit(seeds.X, seeds.y)
    found = permutation._by_refits(rotation, halves, 3, np.random.default_rng(0), None)
    np.testing.assert_array_equal(found, np.zeros(4))
    quarters = replace(seeds, groups=np.arange(24) // 2)
    found = permutation._by_refits(rotation, quarters, 2, np.random.default_rng(3), None)
    random = np.random.default_rng(3)
    folds = permutation._unlabelled_folds(quarters, 3, random)
    assert len(np.unique(folds)) == 3
    labels = permuted_labels(seeds.targets, quarters.groups, 2, random)  # type: ignore[arg-type]
    for place, y in enumerate([seeds.targets, *labels.T]):
        shuffled = replace(quarters, y=y)
        held_out = held_out_scores(rotation, shuffled, folds)[:, 0]
        assert found[place] == pytest.approx(spearmanr(y, held_out).statistic, abs=1e-6)


@pytest.mark.parametrize("scores", [False, True])
def test_a_test_by_refits_of_many_rows_takes_a_sample_in_the_order_of_the_labels(scores: bool) -> None:
    seeds = planted_seeds(1000, 3, share=0.2, scores=scores)
    drawn = permutation._sample(seeds, np.random.default_rng(0))
    assert len(set(drawn.names)) == len(drawn) < len(seeds)
    if scores:
        assert np.median(drawn.y) == pytest.approx(np.median(seeds.y), abs=0.05)
    else:
        assert np.mean(drawn.y > 0) == pytest.approx(0.2, abs=0.005)
    small = planted_seeds(60, 3)
    assert permutation._sample(small, np.random.default_rng(0)) is small
