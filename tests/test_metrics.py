"""Metrics against scipy, scikit-learn and their own definitions; the bootstrap against planted truth."""

from __future__ import annotations

import time
import warnings
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, stats
from sklearn.metrics import roc_auc_score

from densray import metrics
from densray.errors import LabelError
from densray.metrics import (
    accuracy,
    auc,
    auc_deviations,
    auc_interval,
    kendall_tau,
    macro_mean,
    midpoint,
    pearson,
    percentile_interval,
    resampled_tau,
    spearman,
    tau_interval,
    weighted_auc,
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

    short = min(seconds(950) for _ in range(5))
    assert min(seconds(3800) for _ in range(5)) < 40 * max(short, 1e-3)


def test_equal_gold_unequal_lengths_and_nan_are_named() -> None:
    with pytest.raises(LabelError, match="gold labels of 2 words are all equal"):
        kendall_tau([1, 1], [0.1, 0.2])
    with pytest.raises(LabelError, match=r"shape \(2,\) and scores of shape \(3,\)"):
        pearson([1, 2], [1, 2, 3])
    with pytest.raises(LabelError, match="NaN"):
        spearman([1, np.nan], [1, 2])
    with pytest.raises(LabelError, match="NaN"):
        spearman([1, 2, 3], [1, np.inf, 2])
    with pytest.raises(LabelError, match="scores of 3 words are all equal"):
        spearman([1, 2, 3], [1, 1, 1])
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


def test_the_auc_interval_of_perfect_scores_is_wider_for_fewer_words() -> None:
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


@pytest.mark.slow
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


def test_perfect_order_and_inflation_widen_the_tau_interval() -> None:
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


GROUPS = np.array([0, 0, 1, 1, 1, 2, 3, 3, 4, 5, 5, 6])


@pytest.mark.parametrize("block", [5, 1024])
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["words", "groups"])
def test_the_tau_interval_is_the_jackknife_on_the_scale_of_the_hyperbolic_tangent(
    groups: NDArray[np.int64] | None, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "BLOCK_ROWS", block)
    gold, scores = noisy_scores(12, seed=9)
    left_out = np.arange(12) if groups is None else groups
    size = left_out.max() + 1
    without = np.array([tau_by_pairs(gold[left_out != one], scores[left_out != one]) for one in range(size)])
    error = np.sqrt((size - 1) / size * np.sum((without - without.mean()) ** 2))
    tau = tau_by_pairs(gold, scores)
    half = stats.t.ppf(0.95, size - 2) * 1.2 * error / (1.0 - tau**2)
    expected = np.tanh(np.arctanh(tau) - half), np.tanh(np.arctanh(tau) + half)
    assert tau_interval(gold, scores, level=0.9, inflation=1.2, groups=groups) == pytest.approx(expected, abs=1e-12)


def test_a_word_without_which_all_labels_are_equal_is_left_out_of_the_jackknife() -> None:
    gold, scores = np.array([3.0, 2.0, 1.0, 1.0]), np.array([1.0, 2.0, 0.5, 0.3])
    pair = np.array([0, 0, 1, 2])  # without the first two, the others have one label
    without = np.array([tau_by_pairs(gold[pair != one], scores[pair != one]) for one in (1, 2)])
    error = np.sqrt(2 / 3 * np.sum((without - without.mean()) ** 2))
    tau = tau_by_pairs(gold, scores)
    half = stats.t.ppf(0.975, 1) * error / (1.0 - tau**2)
    expected = np.tanh(np.arctanh(tau) - half), np.tanh(np.arctanh(tau) + half)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tau_interval(gold, scores, groups=pair) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("groups", [None, GROUPS, GROUPS % 2], ids=["words", "groups", "two groups"])
def test_the_auc_interval_is_that_of_placements_on_the_scale_of_log_odds(groups: NDArray[np.int64] | None) -> None:
    """DeLong et al. 1988 with Welch's degrees of freedom; Obuchowski 1997 where words go together."""
    gold = np.array([1, 1, -1, -1, -1, 1, 1, -1, -1, 1, -1, -1])
    scores = np.array([2.0, 0.0, 1.0, -1.0, 0.0, 3.0, 1.5, 2.5, -2.0, 1.0, 1.0, 0.5])
    high, low = gold > 0, gold < 0
    wins = (scores[high][:, None] > scores[low]) + 0.5 * (scores[high][:, None] == scores[low])
    value, m, n = wins.mean(), int(high.sum()), int(low.sum())
    if groups is not None:
        count = len(set(groups))
        one, other = np.zeros(count), np.zeros(count)
        np.add.at(one, groups[high], wins.mean(axis=1) - value)
        np.add.at(other, groups[low], wins.mean(axis=0) - value)
        groups_high, groups_low = len(set(groups[high])), len(set(groups[low]))
        variance = groups_high / (groups_high - 1) * (one @ one) / m**2
        variance += groups_low / (groups_low - 1) * (other @ other) / n**2
        variance += 2 * count / (count - 1) * (one @ other) / (m * n)
        freedom = count - 1.0
    else:
        parts = wins.mean(axis=1).var(ddof=1) / m, wins.mean(axis=0).var(ddof=1) / n
        variance = sum(parts)
        freedom = variance**2 / (parts[0] ** 2 / (m - 1) + parts[1] ** 2 / (n - 1))
    half = stats.t.ppf(0.95, freedom) * 1.2 * np.sqrt(variance) / (value * (1.0 - value))
    odds = np.log(value / (1.0 - value))
    expected = 1 / (1 + np.exp(half - odds)), 1 / (1 + np.exp(-half - odds))
    found = auc_interval(gold, scores, level=0.9, inflation=1.2, groups=groups)
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_class_of_one_word_counts_with_the_variance_of_a_coin() -> None:
    found = auc_interval([1, -1, -1, -1], [1.0, 2.0, 0.0, 0.5])
    variance = 0.25 + np.var([0.0, 1.0, 1.0], ddof=1) / 3
    freedom = variance**2 / (0.25**2 + (variance - 0.25) ** 2 / 2)
    half = stats.t.ppf(0.975, freedom) * np.sqrt(variance) / (2 / 3 * 1 / 3)
    assert found == pytest.approx((1 / (1 + np.exp(half) / 2), 1 / (1 + np.exp(-half) / 2)), abs=1e-12)


def test_one_word_above_two_by_luck_has_the_auc_of_lehmanns_alternatives() -> None:
    """All of m = 1 above n = 2 with the chance 1/(1 + x) = 0.025 at x = n/θ = 39: the AUC is 2/41."""
    assert auc_interval([1, -1, -1], [2.0, 1.0, 0.0]) == pytest.approx((2 / 41, 1.0))
    assert auc_interval([1, -1, -1], [0.0, 1.0, 2.0]) == pytest.approx((0.0, 39 / 41))
    assert tau_interval([1, 2, 3], [1, 2, 3]) == pytest.approx((4 / 41 - 1, 1.0))
    assert tau_interval([1, 2, 3], [3, 2, 1]) == pytest.approx((-1.0, 1 - 4 / 41))
    assert auc_interval([1, -1, -1], [2.0, 1.0, 0.0], level=0.9).low == pytest.approx(2 / 21)


@pytest.mark.parametrize(("size", "low"), [(4, 2), (5, 3), (6, 3), (7, 4)])
def test_perfect_scores_have_the_interval_of_perfectly_separated_halves(size: int, low: int) -> None:
    """Half of the words, rounded down, above the others: Γ(x+1) Γ(m+1) / Γ(x+m+1) = 0.025 at x = n₋/θ."""
    m = size - low
    x = optimize.brentq(lambda x: np.prod([(k + 1) / (x + k + 1) for k in range(m)]) - 0.025, 1e-6, 1e6)
    found = tau_interval(range(size), range(size))
    assert found == pytest.approx((2 * low / (low + x) - 1, 1.0), abs=1e-9)


def test_a_percentile_interval_leaves_out_two_and_a_half_percent_either_way() -> None:
    assert percentile_interval(range(1001)) == pytest.approx((25.0, 975.0))
    for level in (0.0, 1.0):
        with pytest.raises(LabelError, match="level="):
            percentile_interval([1, 2], level)


@pytest.mark.parametrize("block", [7, 1024])
def test_groups_are_drawn_whole(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "BLOCK_ROWS", block)
    gold, scores = noisy_scores(12, seed=10)
    taus = resampled_tau(gold, scores, n_resamples=6, random_state=3, groups=GROUPS)
    draws = np.random.RandomState(3).randint(7, size=(6, 7))
    for tau, drawn in zip(taus, draws, strict=True):
        rows = np.concatenate([np.flatnonzero(one == GROUPS) for one in drawn])
        assert tau == pytest.approx(tau_by_pairs(gold[rows], scores[rows]), abs=1e-12)


def test_resamples_are_a_thousand_and_those_of_equal_labels_are_left_out() -> None:
    gold, scores = noisy_scores(40, seed=11)
    assert np.array_equal(resampled_tau(gold, scores), resampled_tau(gold, scores, n_resamples=1000, random_state=0))
    few = resampled_tau([1, 2], [1, 2], n_resamples=200)
    assert 60 < len(few) < 140  # half of the draws take one of the two words twice
    assert (few == 1.0).all()


def test_the_weighted_auc_is_the_share_of_pairs_by_weight() -> None:
    y, scores = np.array([1.0, 1.0, -1.0, -1.0, -1.0]), np.array([3.0, 1.0, 1.0, 2.0, 0.0])
    weights = np.array([[2.0, 1.0], [1.0, 0.5], [0.5, 1.0], [3.0, 0.0], [1.0, 0.5]])
    for column, found in enumerate(weighted_auc(y, scores, weights)):
        u = weights[:, column]
        won = u[0] * (u[2] + u[3] + u[4]) + u[1] * (0.5 * u[2] + u[4])
        assert found == pytest.approx(won / ((u[0] + u[1]) * (u[2] + u[3] + u[4])), abs=1e-12)
    np.testing.assert_allclose(weighted_auc(y, scores, 0.01 * weights), weighted_auc(y, scores, weights))
    with np.errstate(all="raise"):
        assert np.isnan(weighted_auc(y, scores, np.array([[0.0], [0.0], [1.0], [1.0], [1.0]]))).all()


def test_deviations_give_the_standard_error_of_the_difference_of_two_aucs_of_the_same_rows() -> None:
    random = np.random.default_rng(0)
    differences, errors, apart = [], [], []
    y = np.repeat([1.0, -1.0], 60)
    for _ in range(300):
        shared = random.normal(size=120) + 0.8 * y
        first, second = (shared + 0.5 * random.normal(size=120) for _ in range(2))
        deviations = [auc_deviations(y, scores) for scores in (first, second)]
        differences.append(auc(y, first) - auc(y, second))
        errors.append(np.linalg.norm(deviations[0] - deviations[1]))
        apart.append(np.hypot(*(np.linalg.norm(each) for each in deviations)))
    assert np.mean(errors) == pytest.approx(np.std(differences), rel=0.15)
    assert np.mean(apart) > 1.5 * np.std(differences)  # the control: as if they were of different rows
    pairs = np.arange(120) % 60
    assert auc_deviations(y, first, pairs) == pytest.approx(auc_deviations(y, first).reshape(2, 60).sum(axis=0))
