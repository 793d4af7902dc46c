"""Metrics against scipy, scikit-learn and their own definitions; the bootstrap against planted truth."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import roc_auc_score

from densray.errors import LabelError
from densray.metrics import (
    accuracy,
    auc,
    auc_interval,
    kendall_tau,
    macro_mean,
    midpoint,
    pearson,
    percentile_interval,
    resampled_tau,
    spearman,
    tau_interval,
)

Vector = NDArray[np.float64]


def noisy_scores(size: int, *, seed: int, decimals: int = 1) -> tuple[Vector, Vector]:
    random = np.random.default_rng(seed)
    gold = random.normal(size=size).round(decimals)
    return gold, (gold + random.normal(size=size)).round(decimals)


def tau_by_pairs(gold: Vector, scores: Vector) -> float:
    signs = [(np.sign(gold[i] - gold[j]), np.sign(scores[i] - scores[j])) for i, j in combinations(range(gold.size), 2)]
    first, second = np.array(signs).T
    return float(first @ second / np.sqrt((first @ first) * (second @ second)))


def test_tau_equals_its_definition_over_pairs_with_ties() -> None:
    gold, scores = noisy_scores(60, seed=1)
    assert kendall_tau(gold, scores) == pytest.approx(tau_by_pairs(gold, scores), abs=1e-12)


def test_correlations_equal_scipy() -> None:
    gold, scores = noisy_scores(80, seed=2)
    assert spearman(gold, scores) == pytest.approx(stats.spearmanr(gold, scores).statistic, abs=1e-12)
    assert pearson(gold, scores) == pytest.approx(stats.pearsonr(gold, scores).statistic, abs=1e-12)


def test_auc_equals_scikit_learn_and_counts_ties_half() -> None:
    gold, scores = noisy_scores(80, seed=3)
    classes = np.where(gold > 0.5, 1.0, -1.0)
    assert auc(classes, scores) == pytest.approx(roc_auc_score(classes, scores), abs=1e-12)


def test_midpoint_and_accuracy_on_a_hand_count() -> None:
    gold, scores = [1, 1, -1, -1], [3.0, 1.0, 1.5, -1.5]
    assert midpoint(gold, scores) == 1.0
    assert accuracy(gold, scores, threshold=1.0) == 0.5
    assert accuracy(gold, scores, threshold=0.5) == 0.75


def test_macro_mean_counts_every_lexicon_once() -> None:
    assert macro_mean([0.5, 0.75]) == 0.625
    with pytest.raises(LabelError, match="at least one"):
        macro_mean([])


@pytest.mark.parametrize("binary", [True, False])
def test_resampled_tau_equals_scipy_on_every_resample(binary: bool) -> None:
    gold, scores = noisy_scores(150, seed=4)
    gold = np.sign(gold + 0.05) if binary else gold
    taus = resampled_tau(gold, scores, n_resamples=5, random_state=7)
    draws = np.random.RandomState(7).randint(gold.size, size=(5, gold.size))
    for tau, rows in zip(taus, draws, strict=True):
        assert tau == pytest.approx(stats.kendalltau(gold[rows], scores[rows]).statistic, abs=1e-12)


def test_resamples_are_the_same_words_for_every_method() -> None:
    gold, scores = noisy_scores(200, seed=5)
    first = resampled_tau(gold, scores, n_resamples=50)
    assert np.array_equal(first, resampled_tau(gold, 3 * scores + 1, n_resamples=50))
    assert np.allclose(first, -resampled_tau(gold, -scores, n_resamples=50))


def test_interval_covers_the_planted_tau_at_its_nominal_rate() -> None:
    correlation = 0.6
    truth = 2 / np.pi * np.arcsin(correlation)  # Kendall's τ of a bivariate normal distribution
    random = np.random.default_rng(6)
    hits = 0
    trials = 300
    for _ in range(trials):
        gold = random.normal(size=150)
        scores = correlation * gold + np.sqrt(1 - correlation**2) * random.normal(size=150)
        low, high = tau_interval(gold, scores, level=0.9)
        hits += low <= truth <= high
    assert 0.85 <= hits / trials <= 0.95  # 0.9 ± 3 standard errors of 300 trials


def test_four_times_the_words_take_the_tau_interval_at_most_forty_times_as_long() -> None:
    def seconds(count: int) -> float:
        gold, scores = noisy_scores(count, seed=8, decimals=3)
        start = time.process_time()  # of this process: a busy machine does not count
        tau_interval(gold, scores)
        return time.process_time() - start

    short = min(seconds(950) for _ in range(3))
    assert min(seconds(3800) for _ in range(2)) < 40 * max(short, 1e-3)


def test_equal_gold_unequal_lengths_and_nan_are_named() -> None:
    with pytest.raises(LabelError, match="gold labels of 2 words are all equal"):
        kendall_tau([1, 1], [0.1, 0.2])
    with pytest.raises(LabelError, match=r"shape \(2,\) and scores of shape \(3,\)"):
        pearson([1, 2], [1, 2, 3])
    with pytest.raises(LabelError, match="NaN"):
        spearman([1, np.nan], [1, 2])
    with pytest.raises(LabelError, match="3 different values"):
        auc([1, 2, 3], [1, 2, 3])
    with pytest.raises(LabelError, match=r"level=1\.5"):
        percentile_interval([1, 2], 1.5)


def test_the_auc_interval_covers_the_true_auc_at_its_nominal_rate() -> None:
    """Two normal classes a distance δ apart have the AUC Φ(δ/√2)."""
    random = np.random.default_rng(0)
    gold = np.repeat([1, -1], [30, 60])
    truth = stats.norm.cdf(1.2 / np.sqrt(2))
    intervals = [auc_interval(gold, random.normal(size=90) + 1.2 * (gold > 0)) for _ in range(400)]
    assert 0.92 <= np.mean([low <= truth <= high for low, high in intervals]) <= 0.98


def test_the_auc_interval_of_faultless_scores_is_wider_the_fewer_words_there_are() -> None:
    few, many = (auc_interval(np.repeat([1, -1], n), np.arange(2 * n)[::-1]) for n in (4, 100))
    assert 0.5 < few.low < 0.6 < many.low < few.high == 1.0
    assert many.low > 0.95
    upside_down = auc_interval(np.repeat([1, -1], 4), np.arange(8))
    assert upside_down == pytest.approx((0.0, 1.0 - few.low))


def test_the_tau_interval_of_two_classes_is_that_of_the_auc() -> None:
    random = np.random.default_rng(3)
    gold = np.repeat([1.0, -1.0], [12, 25])
    scores = random.normal(size=37) + gold
    scale = kendall_tau(gold, scores) / (2 * auc(gold, scores) - 1)
    expected = [(2 * end - 1) * scale for end in auc_interval(gold, scores, inflation=1.2)]
    assert tau_interval(gold, scores, inflation=1.2) == pytest.approx(expected)


@pytest.mark.parametrize("size", [12, 30])
def test_intervals_of_few_words_cover_at_their_nominal_rate(size: int) -> None:
    """Binormal scores of known AUC, and normal pairs of known τ."""
    from scipy.stats import norm

    random, hits = np.random.default_rng(4), np.zeros(2)
    gold, truth = np.repeat([1.0, -1.0], size // 2), norm.cdf(1.0 / np.sqrt(2))
    for _ in range(400):
        low, high = auc_interval(gold, random.normal(size=size) + (gold > 0))
        first = random.normal(size=size)
        ends = tau_interval(first, 0.6 * first + 0.8 * random.normal(size=size))
        hits += low <= truth <= high, ends.low <= 2 / np.pi * np.arcsin(0.6) <= ends.high
    assert (hits / 400 >= 0.92).all()
    assert (hits / 400 <= 0.995).all()


def test_faultless_order_and_inflation_widen_the_tau_interval() -> None:
    order = np.arange(10.0)
    assert 0.0 < tau_interval(order, order).low < 0.9
    assert tau_interval(order, order).high == 1.0
    scores = order + np.random.default_rng(5).normal(size=10, scale=3.0)
    narrow, wide = tau_interval(order, scores), tau_interval(order, scores, inflation=1.5)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_the_auc_interval_of_a_class_of_one_word_is_wide() -> None:
    low, high = auc_interval([1, -1, -1], [2.0, 1.0, 0.0])
    assert 0.0 < low < 0.5
    assert high == 1.0
