"""Errors of an axis from axes without some rows: closed forms equal refits, and their size is the true one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import f
from sklearn.base import clone
from sklearn.linear_model import Ridge

from densray import Axis, WordSpace, load_space
from densray.axes import degrees_between, find_rows
from densray.datasets import load_lexicon
from densray.errors import TaskError
from densray.rotations import DensRay, LinearRotation, MeanDifference, Rotation, make_rotation
from densray.statistics import (
    ScoreFreedom,
    axis_errors,
    closed_form_deviations,
    find_score_freedom,
    find_seed_angle,
    is_closed_form,
    is_linear_in_labels,
    is_mean_difference,
    refit,
    with_fewer_rows,
)
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


@pytest.mark.parametrize("scale", [1.0, 0.05])
@pytest.mark.parametrize("scores", [False, True])
def test_errors_of_ridge_are_those_of_refits_at_the_same_penalty_per_word(scores: bool, scale: float) -> None:
    seeds = planted_seeds(24, 6, share=0.25, scores=scores)
    seeds = replace(seeds, X=np.float32(scale) * seeds.X)
    rotation = make_rotation("ridge").fit(seeds.X, seeds.y)
    penalty = float(rotation.penalty_)
    whole = Ridge(penalty).fit(seeds.X.astype(np.float64), seeds.targets).coef_
    deviations = closed_form_deviations(rotation, seeds)
    for row in range(24):
        others = np.delete(np.arange(24), row)
        values = seeds.targets[others]
        left = 22 / 23 if scores else np.var(values) * 23 / (np.var(seeds.targets) * 24)
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
    groups = axis_errors(rotation, many, n_refits=40).seed_angle
    assert groups.median == pytest.approx(axis_errors(rotation, many).seed_angle.median, rel=0.4)
    wide = planted_seeds(700, 600)
    rotation = make_rotation("mean-difference").fit(wide.X, wide.y)
    errors = axis_errors(rotation, wide)
    exact = wide.X - np.where(wide.y[:, None] > 0, wide.X[wide.y > 0].mean(axis=0), wide.X[wide.y < 0].mean(axis=0))
    assert errors.deviations.shape == (512, 600)
    length = np.linalg.norm(wide.X[wide.y > 0].mean(axis=0) - wide.X[wide.y < 0].mean(axis=0))
    expected = np.sum(exact**2) / (350 * 349) / length**2
    assert np.sum(errors.deviations**2) == pytest.approx(expected, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ridge", "mean-difference"])
@pytest.mark.parametrize(("n", "width"), [(20, 60), (40, 60), (200, 20)])
def test_reliability_predicts_how_well_new_seeds_agree(method: str, n: int, width: int) -> None:
    """The correlation of a vocabulary's scores by two independent sets of seeds, from one of them alone."""
    vocabulary = WordSpace(tuple(map(str, range(2000))), planted_seeds(2000, width, strength=0.8, seed=99).X)
    predicted, scores = [], []
    for seed in range(24):
        seeds = planted_seeds(n, width, strength=0.8, seed=seed)
        axis = Axis.fit(replace(seeds, background=vocabulary), method, normalize=False, folds=2)
        predicted.append(axis.spread.reliability)
        scores.append(axis.coordinates(vocabulary.vectors))
    agreement = np.corrcoef(scores)[np.triu_indices(24, 1)].mean()
    assert 0.1 < agreement < 0.97
    assert np.mean(predicted) == pytest.approx(agreement, abs=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ridge", "mean-difference"])
def test_reliability_on_sentiment_predicts_how_well_new_seeds_agree(method: str) -> None:
    space = load_space("googlenews-26k")
    seeds = find_rows(space, load_lexicon("hu-liu"))
    order = np.random.default_rng(1).permutation(len(seeds))
    parts = [seeds.take(np.sort(order[start : start + 100])) for start in range(0, 400, 100)]
    predicted, scores = [], []
    for part in parts:
        axis = Axis.fit(part, method, folds=2)
        predicted.append(axis.spread.reliability)
        scores.append(axis.coordinates(space.vectors))
    agreement = np.corrcoef(scores)[np.triu_indices(len(parts), 1)].mean()
    assert np.mean(predicted) == pytest.approx(agreement, abs=0.05)
    assert agreement > 0.7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "n", "width"),
    [*(("mean-difference", *size) for size in [(20, 100), (60, 100), (60, 10)]), ("ridge", 60, 10)],
)
def test_the_seed_angle_holds_the_average_axis_in_91_to_99_of_100_cases(method: str, n: int, width: int) -> None:
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


@pytest.mark.slow
@pytest.mark.parametrize(("n", "strength"), [(20, 1.0), (60, 0.5)])
def test_the_interval_holds_the_reliability_of_other_seeds_in_at_least_90_of_100_cases(n: int, strength: float) -> None:
    """Simulation of 100 sets of seeds; the truth is the mean correlation of the scores by two of them.

    A control: with errors known nine times as well, the interval misses too often.
    """
    background = np.random.default_rng(99).normal(size=(500, 40))
    axes, freedoms, shares = [], [], []
    for seed in range(100):
        seeds = planted_seeds(n, 40, strength=strength, seed=seed)
        rotation = make_rotation("mean-difference").fit(seeds.X, seeds.y)
        errors = axis_errors(rotation, seeds, background=background)
        axis = rotation.components_[0]
        free = errors.deviations - np.outer(errors.deviations @ axis, axis)
        axes.append(axis)
        freedoms.append(errors.freedom)
        shares.append(float(np.sum(free**2)))  # the background is round: all scores have the variance 1
    truth = np.asarray(np.corrcoef(np.array(axes) @ background.T))[np.triu_indices(100, 1)].mean()

    def covered(times: float) -> float:
        inside = 0
        for freedom, share in zip(freedoms, shares, strict=True):
            assert freedom is not None
            surer = ScoreFreedom(freedom.errors * times, freedom.known * times, freedom.along / times)
            low, high = surer.reliability_interval(share)
            inside += low <= truth <= high
        return inside / 100

    assert covered(1.0) >= 0.9
    assert covered(9.0) < covered(1.0) - 0.1


def test_the_interval_of_the_reliability_is_wider_where_less_is_known() -> None:
    freedom = ScoreFreedom(errors=20.0, known=30.0, along=0.05)
    low, high = freedom.reliability_interval(0.4)
    assert 0.0 < low < 0.6 < high < 1.0
    for surer in (replace(freedom, errors=40.0), replace(freedom, known=60.0), replace(freedom, along=0.01)):
        nearer = surer.reliability_interval(0.4)
        assert low < nearer.low < 0.6 < nearer.high < high
    inner = freedom.reliability_interval(0.4, level=0.5)
    assert low < inner.low < inner.high < high
    assert freedom.reliability_interval(0.0) == (1.0, 1.0)
    assert freedom.reliability_interval(1.3).low == 0.0
    assert np.isnan(freedom.reliability_interval(float("nan"))).all()


def test_the_freedom_of_scores_does_not_depend_on_scale_or_origin() -> None:
    seeds, background = planted_seeds(30, 12), np.random.default_rng(0).normal(size=(300, 12)) * np.arange(1, 13)
    rotation = make_rotation("ridge").fit(seeds.X, seeds.y)
    first, second = (axis_errors(rotation, seeds, background=each).freedom for each in (background, 7 * background + 3))
    assert first is not None
    assert second is not None
    for name in ("errors", "known", "along"):
        assert getattr(first, name) == pytest.approx(getattr(second, name))
    assert axis_errors(rotation, seeds).freedom is None
    assert find_score_freedom(np.ones((3, 2)), np.array([1.0, 0.0]), np.zeros((5, 2))).errors > 0.0  # no score varies


def test_an_axis_without_error_has_a_seed_angle_of_zero() -> None:
    assert find_seed_angle(np.zeros((5, 3))).upper == 0.0


def test_seeds_without_meaning_have_a_seed_angle_of_90_degrees() -> None:
    seeds = planted_seeds(12, 200, strength=0.0)
    assert axis_errors(make_rotation("mean-difference").fit(seeds.X, seeds.y), seeds).seed_angle.upper == 90.0


def test_the_seed_angle_is_the_same_whichever_products_are_fewer() -> None:
    tall = np.random.default_rng(0).normal(size=(40, 6)) / 60
    wide = np.hstack([tall, np.zeros((40, 60))])
    assert find_seed_angle(tall).upper == pytest.approx(find_seed_angle(wide).upper, rel=1e-12)


@pytest.mark.parametrize("shape", [(7, 3), (4, 9), (2, 3)], ids=str)
def test_the_seed_angle_is_a_quantile_of_f_by_satterthwaites_freedom(shape: tuple[int, int]) -> None:
    """tr Σ² from products of different rows; the freedom of the trace from the spread of the squares of the rows."""
    tangent = np.random.default_rng(1).normal(size=shape) * np.linspace(0.02, 0.1, shape[1])
    n, squares = shape[0], [float(row @ row) for row in tangent]
    trace = sum(squares)
    products = sum(float(tangent[i] @ tangent[j]) ** 2 for i in range(n) for j in range(n) if i != j)
    freedom = trace**2 / (products * n / (n - 1))
    known = 2 * trace**2 / (n * np.var(squares, ddof=1))
    assert 1 < freedom < n**2
    for level in (0.95, 0.8):
        found = find_seed_angle(tangent, level)
        expected = [np.degrees(np.arcsin(np.sqrt(trace * f.ppf(share, freedom, known)))) for share in (0.5, level)]
        assert (found.median, found.upper, found.n_resamples) == pytest.approx((*expected, n))
    assert find_seed_angle(tangent) == find_seed_angle(tangent, 0.95)


def test_the_freedom_of_a_seed_angle_is_about_one_along_a_line_and_n_squared_at_right_angles() -> None:
    along, across = np.outer([0.1, 0.12, 0.14], [1.0, 0.0, 0.0]), np.diag([0.1, 0.12, 0.14])
    known = 2 * 0.044**2 / (3 * np.var([0.1**2, 0.12**2, 0.14**2], ddof=1))
    apart = 2 * (0.01 * 0.0144 + 0.01 * 0.0196 + 0.0144 * 0.0196) * 3 / 2
    for tangent, freedom in ((along, 0.044**2 / apart), (across, 9)):
        upper = np.degrees(np.arcsin(np.sqrt(0.044 * f.ppf(0.95, freedom, known))))
        assert find_seed_angle(tangent).upper == pytest.approx(upper)
    one = find_seed_angle(np.array([[0.01, 0.0]]))
    assert one.median == pytest.approx(np.degrees(np.arcsin(0.01)))  # the median of F with 1 and 1 is 1


def test_as_many_rows_as_are_kept_are_kept_as_they_are() -> None:
    rows = np.random.default_rng(2).normal(size=(513, 600))
    random = np.random.default_rng(0)
    assert with_fewer_rows(rows[:512], random) is not None
    np.testing.assert_array_equal(with_fewer_rows(rows[:512], random), rows[:512])
    assert with_fewer_rows(rows, random).shape == (512, 600)
    tall = rows.T[:, :5]
    found = with_fewer_rows(tall, random)
    assert found.shape == (5, 5)
    np.testing.assert_allclose(found.T @ found, tall.T @ tall, atol=1e-9)


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("method", ["ridge", "mean-difference"])
def test_errors_over_groups_are_those_of_refits_without_each_group(method: str, mixed: bool, scores: bool) -> None:
    """At the same penalty per word: the scatter of the labels that are left, over that of all."""
    seeds = planted_seeds(12, 4, share=0.5, scores=scores)
    groups = np.arange(12) % 6 if mixed else np.arange(12) // 2
    seeds = replace(seeds, groups=groups)
    rotation = make_rotation(method).fit(seeds.X, seeds.y, groups=groups)
    X, values = seeds.X.astype(np.float64), seeds.targets

    def direction(rows: NDArray[np.intp]) -> NDArray[np.float64]:
        scatter = np.var(values[rows]) * len(rows) / (np.var(values) * 12)
        if scores:
            scatter = (len(rows) - 1) / 11
        if method == "ridge":
            return np.asarray(Ridge(rotation.penalty_ * scatter).fit(X[rows], values[rows]).coef_)
        return np.asarray((values[rows] - values[rows].mean()) @ X[rows] / scatter)

    whole = direction(np.arange(12))
    count = 6 if method == "ridge" or mixed or scores else 3  # groups of one class, or all of them
    changes = [direction(np.flatnonzero(groups != group)) - whole for group in range(6)]
    expected = np.array(changes) * np.sqrt((count - 1) / count) / np.linalg.norm(whole)
    deviations = axis_errors(rotation, seeds).deviations
    np.testing.assert_allclose(deviations.T @ deviations, expected.T @ expected, atol=1e-9)


@pytest.mark.parametrize(
    ("n", "share", "wanted", "expected"),
    [(300, 0.5, None, 50), (300, 0.2, None, 50), (300, 0.2, 40, 40), (30, 0.5, None, 30), (300, 0.01, None, 52)],
)
def test_axes_are_found_without_fifty_groups_of_seeds_in_the_shares_of_their_classes(
    n: int, share: float, wanted: int | None, expected: int
) -> None:
    seeds = planted_seeds(n, 3, share=share)
    rotation = make_rotation("densray-unit").fit(seeds.X, seeds.y)
    assert axis_errors(rotation, seeds, n_refits=wanted).seed_angle.n_resamples == expected
    assert axis_errors(rotation, seeds, n_refits=2).seed_angle.n_resamples == 4  # two of either class
    for wrong in (1, 0):
        with pytest.raises(TaskError, match="at least 2 refits"):
            axis_errors(rotation, seeds, n_refits=wrong)


def test_axes_far_from_that_of_all_seeds_are_corrected_to_a_cosine_of_one_fifth() -> None:
    seeds = planted_seeds(6, 4, strength=0.0, seed=3)
    rotation = make_rotation("densray-unit").fit(seeds.X, seeds.y)
    axis, expected, below = rotation.components_[0], [], 0
    for row in range(6):
        other = refit(rotation, seeds.take(np.delete(np.arange(6), row)))
        below += other @ axis < 0.2
        expected.append((other / max(other @ axis, 0.2) - axis) * np.sqrt(2 / 3))
    assert below > 0  # the control
    deviations = axis_errors(rotation, seeds).deviations
    np.testing.assert_allclose(deviations.T @ deviations, np.transpose(expected) @ expected, atol=1e-6)


@pytest.mark.parametrize("method", ["mean-difference", "ridge", "densray-unit"])
def test_the_only_word_of_a_class_has_no_part_in_the_error(method: str) -> None:
    seeds = planted_seeds(10, 3, share=0.1)
    rotation = make_rotation(method).fit(seeds.X, seeds.y)
    errors = axis_errors(rotation, seeds)
    assert np.isfinite(errors.deviations).all()
    assert np.linalg.matrix_rank(errors.deviations) > 0
    if method == "densray-unit":
        assert errors.seed_angle.n_resamples == 9


@pytest.mark.parametrize(
    ("rotation", "share", "scores", "expected"),
    [
        (MeanDifference(), 0.3, False, True),
        (MeanDifference(), 0.5, True, True),
        (DensRay(1), 0.5, False, True),
        (DensRay(1), 0.4, False, False),
        (DensRay(1, weights=(0.5, 0.5)), 0.5, False, True),
        (DensRay(1, weights=(1.0, 0.5)), 0.5, False, False),
        (DensRay(1, normalize_differences=True), 0.5, False, False),
        (DensRay(1), 0.5, True, DensRay(1).center_labels),
        (DensRay(1, center_labels=not DensRay(1).center_labels), 0.5, True, not DensRay(1).center_labels),
        (LinearRotation("ridge"), 0.5, False, False),
    ],
)
def test_densray_is_the_mean_difference_where_labels_sum_to_zero(
    rotation: Rotation, share: float, scores: bool, expected: bool
) -> None:
    seeds = planted_seeds(20, 4, share=share, scores=scores)
    assert is_mean_difference(rotation, seeds) == expected
    ridge = isinstance(rotation, LinearRotation)
    assert is_linear_in_labels(rotation, seeds) == is_closed_form(rotation, seeds) == (expected or ridge)
    scaled = clone(rotation).set_params(standardize=True)
    assert is_linear_in_labels(scaled, seeds) == (expected or ridge)
    assert not is_closed_form(scaled, seeds)  # a seed left out changes the scale
