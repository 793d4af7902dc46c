"""Unit-length differences from random groups: unbiased, and off by what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from densray import DensRay
from densray.errors import DensRayError
from densray.pair_sampling import estimate_pair_matrix
from densray.pairs import unit_pair_matrix
from densray.rotations._densray import MAPPED_ROWS, UnitPairs, share_out

COUPLINGS = np.array([[-0.3, 1.0], [1.0, -0.3]])


def _rows(n: int = 300, d: int = 4, *, positives: float = 0.5) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    random = np.random.default_rng(3)
    y = np.where(random.random(n) < positives, 1.0, -1.0)
    X = random.normal(size=(n, d)) * np.linspace(1.0, 2.0, d) + 0.7 * y[:, None] * (np.arange(d) == 0)
    return X, y, [np.flatnonzero(y == -1), np.flatnonzero(y == 1)]


def _angle(first: np.ndarray, second: np.ndarray) -> float:
    return float(2 * np.arcsin(min(1.0, np.linalg.norm(first - second) / 2)))


@pytest.mark.parametrize("positives", [0.5, 0.05])
@pytest.mark.parametrize("sampled", [False, True])
def test_the_mean_of_estimates_is_the_matrix_of_all_pairs(positives: float, sampled: bool) -> None:
    X, _, groups = _rows(positives=positives)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    pairs = UnitPairs(X, weight, groups, COUPLINGS)
    exact = pairs.matrix()
    random = np.random.default_rng(1)
    estimates = np.array(
        [(pairs.sample(150, random) if sampled else pairs).estimate(32, random).matrix for _ in range(120)]
    )
    assert np.abs(estimates[0] - exact).max() > 0  # a single one is off
    error = estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates))
    assert np.all(np.abs(estimates.mean(axis=0) - exact) < 4.5 * error)


def test_scores_are_estimated_without_bias_too() -> None:
    X, _, _ = _rows()
    charge = X[:, 0] - X[:, 0].mean()
    pairs = UnitPairs.of_scores(X, charge)
    random = np.random.default_rng(1)
    estimates = np.array([pairs.estimate(32, random).matrix for _ in range(120)])
    error = estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates))
    assert np.all(np.abs(estimates.mean(axis=0) - unit_pair_matrix(X, charge)) < 4.5 * error)


@pytest.mark.parametrize("sample_rows", [None, 200, 600])
def test_the_stated_error_is_the_error_made(sample_rows: int | None) -> None:
    X, y, _ = _rows(800, 12)
    exact = DensRay(n_components=1, normalize_differences=True).fit(X, y).components_[0]
    made, stated = [], []
    for seed in range(40):
        rotation = DensRay(
            n_components=1, normalize_differences=True, n_partners=256, sample_rows=sample_rows, random_state=seed
        ).fit(X, y)
        made.append(_angle(rotation.components_[0], exact))
        stated.append(rotation.axis_error_)
    ratio = np.sqrt(np.mean(np.square(stated)) / np.mean(np.square(made)))
    assert 0.7 < ratio < 1.45


def test_more_partners_bring_a_smaller_error() -> None:
    X, y, _ = _rows(2000, 6)
    few, many = (
        DensRay(normalize_differences=True, n_partners=count, random_state=0).fit(X, y).axis_error_
        for count in (256, 1500)
    )
    assert few is not None
    assert many is not None
    assert many < 0.7 * few


def test_enough_partners_for_all_rows_give_the_exact_axes() -> None:
    X, y, _ = _rows(100, 5)
    exact = DensRay(normalize_differences=True).fit(X, y)
    all_met = DensRay(normalize_differences=True, n_partners=100).fit(X, y)
    assert all_met.axis_error_ == 0.0
    assert exact.axis_error_ is None
    np.testing.assert_array_equal(all_met.components_, exact.components_)


def test_equal_seeds_give_equal_axes_and_others_do_not() -> None:
    X, y, _ = _rows(400, 5)
    one, same, other = (
        DensRay(normalize_differences=True, n_partners=64, random_state=seed).fit(X, y).components_
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 0


def test_a_plain_fit_after_a_sampled_one_states_no_error() -> None:
    X, y, _ = _rows(400, 5)
    rotation = DensRay(normalize_differences=True, n_partners=64, random_state=0).fit(X, y)
    assert rotation.axis_error_ is not None
    assert rotation.set_params(normalize_differences=False).fit(X, y).axis_error_ is None
    assert not hasattr(clone(rotation), "axis_error_")


def test_real_sentiment_vectors_lie_within_the_stated_error(sentiment_split: tuple[np.ndarray, ...]) -> None:
    X, y, X_test, y_test = sentiment_split
    exact = DensRay(n_components=1, normalize_differences=True).fit(X, y)
    sampled = DensRay(n_components=1, normalize_differences=True, n_partners=1200, random_state=0).fit(X, y)
    assert sampled.axis_error_ is not None
    assert 0.0 < sampled.axis_error_ < 0.01
    angle = _angle(sampled.components_[0], exact.components_[0])
    assert angle < 2 * sampled.axis_error_
    assert abs(sampled.score(X_test, y_test) - exact.score(X_test, y_test)) < 0.002


@pytest.mark.parametrize(("name", "value"), [("n_partners", 3), ("n_partners", 2.5), ("sample_rows", 0)])
def test_sizes_that_make_no_groups_are_refused(name: str, value: float) -> None:
    X, y, _ = _rows(50, 3)
    rotation = DensRay(normalize_differences=True, n_partners=64).set_params(**{name: value})
    with pytest.raises(DensRayError, match=f"{name}={value}"):
        rotation.fit(X, y)


def test_all_pairs_of_a_large_memory_map_are_refused(tmp_path: Path) -> None:
    rows = MAPPED_ROWS + 1
    X = np.memmap(tmp_path / "rows", dtype=np.float32, mode="w+", shape=(rows, 2))
    X[:] = np.random.default_rng(0).normal(size=(rows, 2)) + 1
    y = np.arange(rows) % 2
    with pytest.raises(DensRayError, match=r"plain form .*sampled form"):
        DensRay(normalize_differences=True).fit(X, y)
    assert DensRay(normalize_differences=True, n_partners=64, sample_rows=256, random_state=0).fit(X, y).axis_error_


def test_rows_are_shared_out_evenly_where_classes_allow() -> None:
    assert share_out([500, 500], 101) == [51, 50]
    assert share_out([10, 1000], 100) == [10, 90]
    assert share_out([7], 100) == [7]


def test_a_sample_tells_which_share_it_is() -> None:
    X, _, groups = _rows(300)
    sample = UnitPairs(X, np.ones(300), groups, COUPLINGS).sample(150, np.random.default_rng(0))
    estimate = estimate_pair_matrix(
        sample.X,
        sample.row_weight,
        groups=sample.groups,
        couplings=COUPLINGS,
        n_partners=64,
        random=np.random.default_rng(0),
        population=sample.population,
    )
    assert estimate.share == pytest.approx(0.5, abs=0.05)
    assert len(estimate.of_batches) == 8
