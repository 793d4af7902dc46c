"""Errors of an axis from axes without some seeds: closed forms equal fits, and their size is the true one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from densray import WordSpace, load_space
from densray._vocabulary import unit_rows
from densray.axes._evidence import degrees_between, vocabulary_spread
from densray.axes._model import AxisModel
from densray.axes._options import AxisOptions, find_seeds
from densray.axes._resampling import _ridge_deviations, axis_errors, find_seed_angle, is_closed_form, refit
from densray.datasets import load_lexicon
from densray.rotations import make_rotation
from planted import planted_seeds


def test_errors_of_the_mean_difference_are_the_unbiased_sample_covariances() -> None:
    """Σ = S₊/n₊ + S₋/n₋ over |w|², with n - 1 in the denominators: what a bootstrap of n of n words falls short of."""
    seeds = planted_seeds(30, 6, share=0.3)
    rotation = make_rotation("mean-difference").fit(seeds.X, seeds.y)
    X = seeds.X.astype(np.float64)
    high, low = X[seeds.y > 0], X[seeds.y < 0]
    expected = np.cov(high.T) / len(high) + np.cov(low.T) / len(low)
    deviations = axis_errors(rotation, seeds).deviations
    length = np.linalg.norm(high.mean(axis=0) - low.mean(axis=0))
    np.testing.assert_allclose(deviations.T @ deviations, expected / length**2, atol=1e-12)


def test_errors_of_the_mean_difference_of_scores_are_those_of_refits() -> None:
    seeds = planted_seeds(25, 5, scores=True)
    rotation = make_rotation("mean-difference").fit(seeds.X, seeds.y)
    directions = [np.cov(np.delete(seeds.y, row), np.delete(seeds.X, row, axis=0).T)[0, 1:] for row in range(25)]
    whole = np.cov(seeds.y, seeds.X.T)[0, 1:]
    expected = (np.array(directions) - whole) * np.sqrt(24 / 25) / np.linalg.norm(whole)
    deviations = axis_errors(rotation, seeds).deviations
    np.testing.assert_allclose(deviations.T @ deviations, expected.T @ expected, atol=1e-9)


@pytest.mark.parametrize("scores", [False, True])
def test_errors_of_ridge_are_those_of_refits_at_the_same_penalty_per_word(scores: bool) -> None:
    seeds = planted_seeds(24, 6, share=0.25, scores=scores)
    penalty = float(make_rotation("ridge").fit(seeds.X, seeds.y).penalty_)
    whole = Ridge(penalty).fit(seeds.X.astype(np.float64), seeds.values).coef_
    deviations = _ridge_deviations(seeds, penalty)
    for row in range(24):
        others = np.delete(np.arange(24), row)
        values = seeds.values[others]
        left = 22 / 23 if scores else np.var(values) * 23 / (np.var(seeds.values) * 24)
        fit = Ridge(penalty * left).fit(seeds.X[others].astype(np.float64), values).coef_
        expected = np.sqrt(23 / 24) * (fit - whole) / np.linalg.norm(whole)
        np.testing.assert_allclose(deviations[row], expected, atol=1e-10)


@pytest.mark.parametrize("method", ["densray", "densray-unit", "svm", "lda", "pair-direction"])
def test_other_methods_are_fitted_without_each_group(method: str) -> None:
    seeds = planted_seeds(20, 5, share=0.3)
    rotation = make_rotation(method).fit(seeds.X, seeds.y)
    assert not is_closed_form(rotation, seeds)
    axis, expected = rotation.components_[0], []
    for row in range(20):
        other = refit(rotation, seeds.take(np.delete(np.arange(20), row)))
        size = 6 if seeds.y[row] > 0 else 14
        expected.append((other / max(other @ axis, 0.2) - axis) * np.sqrt((size - 1) / size))
    deviations = axis_errors(rotation, seeds).deviations
    np.testing.assert_allclose(deviations.T @ deviations, np.transpose(expected) @ expected, atol=1e-6)


def test_many_seeds_are_left_out_in_groups_and_wide_spaces_keep_few_rows() -> None:
    many = planted_seeds(300, 5)
    rotation = make_rotation("densray-unit").fit(many.X, many.y)
    groups = axis_errors(rotation, many, n_groups=40).seed_angle
    assert groups.median == pytest.approx(axis_errors(rotation, many).seed_angle.median, rel=0.4)
    wide = planted_seeds(700, 600)
    rotation = make_rotation("mean-difference").fit(wide.X, wide.y)
    errors = axis_errors(rotation, wide)
    exact = wide.X - np.where(wide.y[:, None] > 0, wide.X[wide.y > 0].mean(axis=0), wide.X[wide.y < 0].mean(axis=0))
    assert errors.deviations.shape == (512, 600)
    length = np.linalg.norm(wide.X[wide.y > 0].mean(axis=0) - wide.X[wide.y < 0].mean(axis=0))
    expected = np.sum(exact**2) / (350 * 349) / length**2
    assert np.sum(errors.deviations**2) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("method", ["ridge", "mean-difference"])
@pytest.mark.parametrize(("n", "width"), [(20, 60), (40, 60), (200, 20)])
def test_reliability_foretells_how_well_new_seeds_agree(method: str, n: int, width: int) -> None:
    """The correlation of a vocabulary's scores by two independent sets of seeds, from one of them alone."""
    vocabulary = WordSpace(tuple(map(str, range(2000))), planted_seeds(2000, width, strength=0.8, seed=99).X)
    foretold, scores = [], []
    for seed in range(24):
        seeds = planted_seeds(n, width, strength=0.8, seed=seed)
        rotation = make_rotation(method).fit(seeds.X, seeds.y)
        model = AxisModel.of(rotation, seeds, vocabulary, AxisOptions(normalize=False, folds=2))
        foretold.append(vocabulary_spread(vocabulary, model).reliability)
        scores.append(vocabulary.vectors @ rotation.components_[0])
    agreement = np.corrcoef(scores)[np.triu_indices(24, 1)].mean()
    assert 0.1 < agreement < 0.97
    assert np.mean(foretold) == pytest.approx(agreement, abs=0.08)


@pytest.mark.parametrize("method", ["ridge", "mean-difference"])
def test_reliability_on_sentiment_foretells_how_well_new_seeds_agree(method: str) -> None:
    space = load_space("googlenews-26k")
    seeds = find_seeds(space, load_lexicon("hu-liu"))
    order = np.random.default_rng(1).permutation(seeds.n_words)
    parts = [seeds.take(np.sort(order[start : start + 100])) for start in range(0, 400, 100)]
    foretold, scores = [], []
    for part in parts:
        rotation = make_rotation(method).fit(part.X, part.y)
        model = AxisModel.of(rotation, part, space, AxisOptions(folds=2))
        foretold.append(vocabulary_spread(space, model).reliability)
        scores.append(unit_rows(space.vectors) @ rotation.components_[0])
    agreement = np.corrcoef(scores)[np.triu_indices(len(parts), 1)].mean()
    assert np.mean(foretold) == pytest.approx(agreement, abs=0.05)
    assert agreement > 0.7


@pytest.mark.parametrize(
    ("method", "n", "width"),
    [*(("mean-difference", *size) for size in [(20, 100), (60, 100), (60, 10)]), ("ridge", 60, 10)],
)
def test_the_seed_angle_holds_the_average_axis_in_95_of_100_cases(method: str, n: int, width: int) -> None:
    """Simulation of 300 sets of seeds, whose noise is round: on average every method finds the planted axis.

    A control: the estimated angle itself holds it in about half of them.
    """
    truth, inside, half = np.eye(width)[0], 0, 0
    for seed in range(300):
        seeds = planted_seeds(n, width, strength=1.5, seed=seed)
        rotation = make_rotation(method).fit(seeds.X, seeds.y)
        found, angle = axis_errors(rotation, seeds).seed_angle, float(degrees_between(rotation.components_[0], truth))
        inside += angle <= found.upper
        half += angle <= found.median
    assert 0.91 <= inside / 300 <= 0.99
    assert 0.35 <= half / 300 <= 0.72


def test_an_axis_without_error_has_a_seed_angle_of_zero() -> None:
    assert find_seed_angle(np.zeros((5, 3))).upper == 0.0


def test_seeds_without_meaning_have_a_seed_angle_of_90_degrees() -> None:
    seeds = planted_seeds(12, 200, strength=0.0)
    assert axis_errors(make_rotation("mean-difference").fit(seeds.X, seeds.y), seeds).seed_angle.upper == 90.0


def test_the_seed_angle_is_the_same_whichever_products_are_fewer() -> None:
    tall = np.random.default_rng(0).normal(size=(40, 6)) / 60
    wide = np.hstack([tall, np.zeros((40, 60))])
    assert find_seed_angle(tall).upper == pytest.approx(find_seed_angle(wide).upper, rel=1e-12)
