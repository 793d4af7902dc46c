"""Could the axis be chance: permutation tests are uniform under it, and equal fits to each permutation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest, spearmanr
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from densray.axes._permutation import (
    SAMPLED_SEEDS,
    LinearFold,
    _by_products,
    _sample,
    permutation_test,
    permuted_aucs,
)
from densray.axes._resampling import held_out_scores, stratified_folds
from densray.rotations import RIDGE_PENALTIES, log_prior, make_rotation
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


def test_a_permutation_test_by_refits_takes_400_seeds_of_401() -> None:
    for size, share in ((401, 0.5), (799, 0.2), (2000, 0.35)):
        seeds = planted_seeds(size, 3, share=share)
        drawn = _sample(seeds, np.random.default_rng(0))
        assert drawn.n_words == len(set(drawn.words)) == SAMPLED_SEEDS
        assert np.mean(drawn.y > 0) == pytest.approx(share, abs=0.005)
    scores = _sample(planted_seeds(1000, 3, scores=True), np.random.default_rng(0))
    assert np.median(scores.y) == pytest.approx(np.median(planted_seeds(1000, 3, scores=True).y), abs=0.05)


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


@pytest.mark.parametrize("ridge", [False, True])
def test_permuted_aucs_are_means_over_folds_and_one_half_where_a_fold_has_one_class(ridge: bool) -> None:
    seeds = planted_seeds(20, 3, strength=0.7)
    X, y = seeds.X.astype(np.float64), seeds.y
    folds = [np.arange(20)[np.arange(20) % 4 == number] for number in range(4)]
    orders = np.column_stack([np.random.default_rng(1).permutation(y), np.where(np.arange(20) % 4 == 0, 1.0, -1.0)])
    orders[1, 1] = 1.0  # its own fold has both classes; the first fold one, two others the other
    found = permuted_aucs(seeds.X, y, folds, orders, ridge=ridge)
    for column, labels in enumerate([y, *orders.T]):
        values = []
        for rows in folds:
            test = np.isin(np.arange(20), rows)
            if np.ptp(labels[test]) == 0:
                values.append(0.5)
                continue
            axis = X[~test][labels[~test] > 0].mean(axis=0) - X[~test][labels[~test] < 0].mean(axis=0)
            scores = folds_by_hand(X, labels, test) if ridge else X[test] @ axis
            values.append(roc_auc_score(labels[test], scores))
        assert found[column] == pytest.approx(np.mean(values))


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
    assert permutation_test(rotation, seeds, random=np.random.default_rng(5)).n_permutations == 999


def test_a_test_by_refits_correlates_labels_with_scores_of_rows_left_out() -> None:
    seeds = planted_seeds(24, 4, share=0.4, strength=0.5)
    rotation = make_rotation("densray").fit(seeds.X, seeds.y)
    found = permutation_test(rotation, seeds, n_permutations=3, random=np.random.default_rng(2))
    folds = stratified_folds(seeds, 3, np.random.default_rng(2))
    scores = held_out_scores(rotation, seeds, folds)[:, 0]
    assert found.statistic == pytest.approx(spearmanr(seeds.y, scores).statistic, abs=1e-9)
