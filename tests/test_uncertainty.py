"""Calibrated probabilities, likeness to the seeds and standard errors: each equals its definition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from densray import Axis, Lexicon, WordSpace, load_space
from densray.axes import Calibration, find_rows
from densray.axes._uncertainty import SeedLikeness
from densray.datasets import load_lexicon
from planted import planted_seeds, planted_space


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_a_sigmoid_has_the_scale_and_the_origin_of_its_scores(scale: float) -> None:
    random = np.random.default_rng(0)
    sides = np.where(np.arange(80) < 30, 1.0, -1.0)
    scores = random.normal(size=80) + sides
    one, other = (Calibration.of(each, sides, sides) for each in (scores, scale * scores + 7.0 * scale))
    assert other.slope == pytest.approx(one.slope / scale, rel=1e-6)
    assert other.intercept == pytest.approx(one.intercept - 7.0 * one.slope, rel=1e-6)
    np.testing.assert_allclose(one.probability(scores), expit(one.slope * scores + one.intercept))


def test_a_sigmoid_balances_its_targets_however_far_and_few_the_seeds_of_a_side_are() -> None:
    """Newton's steps overshoot where a few words lie far from many others."""
    random = np.random.default_rng(0)
    for trial in range(30):
        n_low, n_high = int(random.integers(3, 300)), int(random.integers(1, 4 if trial % 2 else 200))
        sides = np.repeat([1.0, -1.0], [n_high, n_low])
        scores = 10 ** random.uniform(-2, 3) * sides + random.choice([1.0, 0.01]) * random.normal(size=len(sides))
        found = Calibration.of(scores, sides, sides)
        targets = np.where(sides > 0, (n_high + 1) / (n_high + 2), 1 / (n_low + 2))
        if np.corrcoef(scores, targets)[0, 1] <= 0:
            assert found.slope == 0.0
            continue
        rest = targets - expit(found.slope * scores + found.intercept)
        balance = [rest.sum(), rest @ (scores - scores.mean()) / scores.std()]
        assert balance == pytest.approx([0.0, 0.0], abs=1e-7), (n_high, n_low)


def test_likeness_is_defined_for_one_seed_and_for_the_average_word() -> None:
    one = SeedLikeness.of(np.array([[1.0, 2.0]]), np.zeros(2))
    assert one.least == 0.0
    assert one(np.array([[5.0, 5.0]])).tolist() == [1.0]
    two = SeedLikeness.of(np.array([[1.0, 0.0], [3.0, 0.0]]), np.zeros(2))
    places = [1.0 / 3.0, 3.0]  # each on the way to the other
    assert two.least == pytest.approx(np.quantile(places, 0.05))
    assert two(np.array([[2.0 * two.least, 9.0], [two.least, 0.0], [-1.0, 0.0]])).tolist() == pytest.approx(
        [1.0, 0.5, 0.0]
    )


def test_the_sigmoid_is_the_exact_form_for_two_normal_classes() -> None:
    """Normal classes of variance one at ±1 and equal shares have log-odds 2 s (Bayes)."""
    random = np.random.default_rng(0)
    sides = np.repeat([1.0, -1.0], 20_000)
    found = Calibration.of(random.normal(size=40_000) + sides, sides, sides)
    assert found.slope == pytest.approx(2.0, abs=0.06)
    assert found.intercept == pytest.approx(0.0, abs=0.04)


def test_separable_seeds_give_a_finite_slope_and_reversed_ones_none() -> None:
    sides = np.repeat([1.0, -1.0], 10)
    apart = Calibration.of(3.0 * sides + np.linspace(0, 0.1, 20), sides, sides)
    assert 0 < apart.slope < 10
    assert apart.probability(np.array([3.0]))[0] < 0.99
    reversed_ = Calibration.of(-sides + np.linspace(0, 0.1, 20), sides, sides)
    assert reversed_.slope == 0.0
    assert reversed_.probability(np.array([-5.0, 5.0])).tolist() == pytest.approx([0.5, 0.5])


def test_expected_labels_stay_within_the_scale() -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=2000)
    labels = np.clip(3.0 + scores + 0.3 * random.normal(size=2000), 1.0, 5.0)
    found = Calibration.of(scores, np.sign(scores), labels)
    expected = found.expected_label(np.array([-9.0, 0.0, 9.0]))
    assert 1.0 <= expected[0] < 1.2
    assert expected[1] == pytest.approx(3.0, abs=0.1)
    assert 4.8 < expected[2] <= 5.0


def test_seeds_as_varied_as_the_vocabulary_leave_every_probability_as_it_is() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 5))
    likeness = SeedLikeness.of(X[:200], X.mean(axis=0))
    assert likeness.least <= 0.0
    assert (likeness(X) == 1.0).all()
    narrow = SeedLikeness.of(X[:200] + 6.0, X.mean(axis=0))
    assert (narrow(X[:200] + 6.0) == 1.0).mean() > 0.9
    assert narrow(X).mean() < 0.1
    assert narrow(X.mean(axis=0)[None, :])[0] == pytest.approx(0.0, abs=1e-9)


def test_a_calibration_balances_its_targets() -> None:
    """At the most likely sigmoid the deviations from Platt's targets sum to zero, and so do those times the scores."""
    random = np.random.default_rng(0)
    labels = random.normal(size=60)
    sides = np.where(labels > np.quantile(labels, 0.4), 1.0, -1.0)
    scores = labels + random.normal(size=60) + 3.0
    found = Calibration.of(scores, sides, labels)
    n_high, n_low = int((sides > 0).sum()), int((sides < 0).sum())
    targets = np.where(sides > 0, (n_high + 1) / (n_high + 2), 1 / (n_low + 2))
    places = (labels - labels.min()) / np.ptp(labels)
    for slope, intercept, wanted in (
        (found.slope, found.intercept, targets),
        (found.label_slope, found.label_intercept, places),
    ):
        rest = wanted - 1 / (1 + np.exp(-(slope * scores + intercept)))
        assert [rest.sum(), rest @ scores] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert (found.lowest, found.highest) == (labels.min(), labels.max())
    chance = 1 / (1 + np.exp(-(found.slope * scores + found.intercept)))
    np.testing.assert_allclose(found.probability(scores), chance)
    place = 1 / (1 + np.exp(-(found.label_slope * scores + found.label_intercept)))
    label = labels.min() + np.ptp(labels) * place
    np.testing.assert_allclose(found.expected_label(scores), label)
    falling = Calibration.of(-scores, sides, labels)
    assert (falling.slope, falling.label_slope) == (0.0, 0.0)
    np.testing.assert_allclose(falling.probability(scores), targets.mean())
    constant = Calibration.of(np.ones(60), sides, labels)
    assert constant.slope == 0.0
    assert constant.intercept == pytest.approx(np.log(targets.mean() / (1 - targets.mean())))


def test_likeness_is_the_way_to_the_other_seeds_over_what_one_in_twenty_stays_below() -> None:
    random = np.random.default_rng(1)
    X, center = random.normal(size=(40, 3)) * 0.2 + [2.0, 1.0, 0.0], np.array([0.5, 0.0, 0.5])
    likeness = SeedLikeness.of(X, center)
    places = []
    for row in range(40):
        toward = np.delete(X, row, axis=0).mean(axis=0) - center
        places.append((X[row] - center) @ toward / (toward @ toward))
    assert likeness.least == pytest.approx(np.quantile(places, 0.05))
    np.testing.assert_allclose(likeness.seed_mean, X.mean(axis=0))
    words = random.normal(size=(50, 3)) + 0.7
    toward = X.mean(axis=0) - center
    expected = np.clip((words - center) @ toward / (toward @ toward) / likeness.least, 0.0, 1.0)
    assert np.mean((expected > 0) & (expected < 1)) > 0
    np.testing.assert_allclose(likeness(words), expected)
    assert (SeedLikeness(center, X.mean(axis=0), 0.0)(words) == 1.0).all()
    assert (SeedLikeness(center, center, 0.5)(words) == 1.0).all()


def test_errors_of_scores_are_lengths_of_deviations_times_words_from_the_average_one() -> None:
    space, lexicon = planted_space(200, 5)
    seeds = find_rows(space, lexicon)
    fitted = Axis.fit(seeds, "mean-difference", normalize=False)
    X, axis = space.vectors.astype(np.float64), fitted.direction
    center = X.mean(axis=0)
    high, low = (seeds.X[side * seeds.y > 0].astype(np.float64) for side in (1, -1))
    covariance = np.cov(high.T) / len(high) + np.cov(low.T) / len(low)
    covariance /= np.sum((high.mean(axis=0) - low.mean(axis=0)) ** 2)
    along = (X - center) @ axis
    slope = along @ (X - center) / (along @ along)
    free = np.eye(5) - np.outer(axis, slope)  # what changes all scores by one factor is no error
    rest = (X - center) @ free
    expected = np.sqrt(np.einsum("ij,jk,ik->i", rest, covariance, rest))
    found = fitted.score(space.vectors)
    np.testing.assert_allclose(found.standard_error, expected, rtol=1e-4)
    np.testing.assert_allclose(found.score, X @ axis, atol=1e-5)
    uncertainty = fitted.uncertainty
    assert uncertainty is not None
    offset, calibration = seeds.X.mean(axis=0) @ axis, uncertainty.calibration
    assert fitted.even_odds == pytest.approx(offset - calibration.intercept / calibration.slope, abs=1e-5)


@pytest.mark.slow
def test_standard_errors_cover_the_score_of_the_true_axis_at_their_nominal_rate() -> None:
    """On planted data the score by the true axis lies within 1.96 standard errors for about 95% of the words."""
    words = planted_seeds(300, 8, strength=2.0, seed=99).X
    truth = words[:, 0]
    space = WordSpace(tuple(map(str, range(300))), words)
    covered = []
    for seed in range(40):
        seeds = replace(planted_seeds(300, 8, strength=2.0, seed=seed), background=space)
        found = Axis.fit(seeds, "mean-difference", normalize=False, random_state=seed).score(words)
        covered.append(np.abs(found.score - truth) <= 1.96 * found.standard_error)
    assert 0.90 <= np.mean(covered) <= 0.99


def test_errors_shrink_as_seeds_are_added() -> None:
    medians = []
    for n in (50, 200, 800):
        seeds = planted_seeds(n, 8, strength=2.0)
        axis = Axis.fit(seeds, "mean-difference", normalize=False)
        medians.append(np.median(axis.score(seeds.X).standard_error))
    assert medians[0] > 1.5 * medians[1] > 2.25 * medians[2]


@pytest.fixture(scope="module")
def sentiment() -> tuple[WordSpace, Lexicon, Lexicon]:
    return (load_space("googlenews-26k"), *load_lexicon("hu-liu").split(0.3, random_state=0))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ridge", "mean-difference", "densray"])
def test_probabilities_of_unseen_hu_liu_words_are_calibrated(
    sentiment: tuple[WordSpace, Lexicon, Lexicon], method: str
) -> None:
    """Of the words given a probability of p, a share of p is positive; and no worse than isotonic regression."""
    space, training, test = sentiment
    seeds, unseen = find_rows(space, training).unit(), find_rows(space, test).unit()
    axis = Axis.fit(seeds, method, n_resamples=2)
    chance = axis.score(unseen.X).probability
    positive = unseen.y > 0
    brier = np.mean((chance - positive) ** 2)
    base = np.mean((positive.mean() - positive) ** 2)
    assert brier < 0.35 * base
    edges = np.quantile(chance, np.linspace(0, 1, 11))
    bins = np.clip(np.searchsorted(edges, chance, side="right") - 1, 0, 9)
    gaps = [abs(chance[bins == b].mean() - positive[bins == b].mean()) for b in range(10)]
    assert np.mean(gaps) < 0.03  # expected calibration error, ten bins of equal size
    own = (seeds.X @ axis.direction).astype(np.float64)  # the control: calibrated on words it has seen
    stepped = IsotonicRegression(out_of_bounds="clip").fit(own, seeds.y > 0)
    naive = stepped.predict((unseen.X @ axis.direction).astype(np.float64))
    assert brier <= np.mean((naive - positive) ** 2) + 0.002


def test_the_average_word_is_the_mean_of_the_space_at_the_lengths_that_count() -> None:
    space, lexicon = planted_space(200, 4)
    rows = find_rows(space, lexicon)
    plain, unit = (Axis.fit(rows, "mean-difference", normalize=normalize).uncertainty for normalize in (False, True))
    assert plain is not None
    assert unit is not None
    np.testing.assert_allclose(plain.average_row, space.vectors.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(unit.average_row, space.normalized().vectors.mean(axis=0), atol=1e-6)


def test_an_axis_whose_scores_do_not_rise_with_the_labels_has_no_even_odds() -> None:
    seeds = planted_seeds(40, 60, strength=0.0, seed=1)
    axes = [Axis.fit(seeds.relabelled(labels), "mean-difference", normalize=False) for labels in (seeds.y, -seeds.y)]
    falling = [axis for axis in axes if axis.agreement.tau < 0]
    for axis in falling:
        assert axis.even_odds is None
        assert np.isnan(axis.score(seeds.X).probability).all()
        assert axis.uncertainty is not None
        assert "do not rise with their labels" in axis.uncertainty.explain_empty()
    assert falling


def test_probability_score_and_even_odds_agree_for_every_word() -> None:
    """Seeds of one topic: where a probability is given, its order is that of the scores, and it is 0.5 at even odds."""
    space, lexicon = load_space("googlenews-26k"), load_lexicon("gender")
    axis = Axis.fit(find_rows(space, lexicon))
    scores, even, uncertainty = axis.score(space), axis.even_odds, axis.uncertainty
    assert even is not None
    assert uncertainty is not None
    assert scores.probability is not None
    assert scores.like_seeds is not None
    given = np.isfinite(scores.probability)
    np.testing.assert_array_equal(given, scores.like_seeds >= 0.5)
    assert 0.01 < given.mean() < 0.5
    order = np.argsort(scores.score[given], kind="stable")
    assert (np.diff(scores.probability[given][order]) >= 0.0).all()
    np.testing.assert_array_equal(scores.probability[given] > 0.5, scores.score[given] > even)
    frame = scores.to_polars()
    assert frame["probability"].null_count() == (~given).sum()
    assert frame["probability"].is_nan().sum() == 0
    assert "that resemble the seeds" in uncertainty.explain_empty()


@pytest.mark.slow
def test_probabilities_are_given_where_they_hold() -> None:
    """Seeds of one topic: words like them have calibrated probabilities, and those of the others would be wrong."""
    rows = find_rows(load_space("googlenews-26k"), load_lexicon("hu-liu"), order="lexicon").unit()
    random, found = np.random.default_rng(0), list[np.ndarray[Any, Any]]()
    while len(found) < 10:
        near = np.argsort(-(rows.X @ rows.X[random.integers(len(rows))]))[:400]
        high, low = (near[rows.y[near] == side][:30] for side in (1.0, -1.0))
        if min(len(high), len(low)) < 30:
            continue
        axis = Axis.fit(rows.take(np.concatenate([high, low])), "ridge")
        others = np.setdiff1d(np.arange(len(rows)), np.concatenate([high, low]))
        scores, uncertainty = axis.score(rows.X[others]), axis.uncertainty
        assert uncertainty is not None
        chance = uncertainty.calibration.probability(scores.score - uncertainty.seed_mean @ axis.direction)
        found.append(np.column_stack([chance, rows.y[others] > 0, np.isfinite(scores.probability)]))
    chance, is_high, given = np.concatenate(found).T
    assert 0.1 < given.mean() < 0.6
    errors = []
    for chosen in (given == 1.0, given == 0.0):
        p, truth = chance[chosen], is_high[chosen]
        weights = np.where(truth == 1.0, 0.5 / truth.mean(), 0.5 / (1.0 - truth.mean()))  # the shares of the seeds
        gaps = np.bincount(np.minimum((10 * p).astype(int), 9), weights * (p - truth))
        errors.append(np.abs(gaps).sum() / weights.sum())
    assert errors[0] < 0.08
    assert errors[1] > 0.12
