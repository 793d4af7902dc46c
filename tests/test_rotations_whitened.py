"""Whitened DensRay: its eigenproblem by brute force over pairs, and what it becomes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

from densray import LinearRotation, MeanDifference, WhitenedDensRay
from densray.rotations import METHODS, make_rotation


@pytest.fixture(scope="module")
def loud():
    """A quiet concept in a space with loud directions; a third of the words are positive."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(90) % 3 == 0, 1.0, -1.0)
    X = rng.normal(size=(90, 6)) * [8.0, 4.0, 2.0, 1.0, 1.0, 1.0]
    X[:, 5] += 1.5 * y
    return X, y


def pair_sums(X, charge, weight, *, unit):
    """The two matrices of the quotient, pair by pair."""
    A, B = np.zeros((2, X.shape[1], X.shape[1]))
    for v in range(len(X)):
        for w in range(len(X)):
            d = X[v] - X[w]
            length = np.linalg.norm(d)
            if length > 0:
                outer = np.outer(d, d) / (length**2 if unit else 1.0)
                A -= charge[v] * charge[w] * outer
                B += weight[v] * weight[w] * outer
    return A, B


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("scores", [False, True])
def test_the_axis_maximises_the_quotient_over_all_pairs(loud, unit, scores):
    X, classes = loud
    y = X[:, 4] + 2 * classes if scores else classes
    rotation = WhitenedDensRay(normalize_differences=unit).fit(X, y)
    weight = np.ones(90) if scores else np.where(classes > 0, 90 / 60, 90 / 120)  # both classes weigh 45
    charge = weight * (y - np.average(y, weights=weight))
    A, B = pair_sums(X, charge, weight, unit=unit)
    centred = X - np.average(X, axis=0, weights=weight)
    share = rotation.penalty_ / np.sum(weight[:, None] * centred**2)
    best = eigh(A, B + share * np.trace(B) * np.eye(6))[1][:, -1]
    assert abs(rotation.components_[0] @ best) / np.linalg.norm(best) == pytest.approx(1.0, abs=1e-9)


def test_without_shrinkage_it_maximises_unlike_over_like_pairs(loud):
    X, _ = loud
    y = np.where(np.arange(90) % 2 == 0, 1.0, -1.0)
    A, B = pair_sums(X, y, np.ones(90), unit=False)  # A = unlike - like, B = unlike + like
    unlike, like = (A + B) / 2, (B - A) / 2
    first, second = eigh(A, B)[1][:, -1], eigh(unlike, like)[1][:, -1]
    assert abs(first @ second) / np.linalg.norm(first) / np.linalg.norm(second) == pytest.approx(1.0, abs=1e-9)


def test_for_scores_it_is_ridge_regression(loud):
    X, y = loud
    scores = X @ np.arange(6.0) + y
    np.testing.assert_allclose(
        WhitenedDensRay().fit(X, scores).components_, LinearRotation("ridge").fit(X, scores).components_, atol=1e-12
    )


def test_for_classes_of_equal_size_it_is_ridge_regression(loud):
    X, _ = loud
    y = np.where(np.arange(90) % 2 == 0, 1, -1)
    np.testing.assert_allclose(
        WhitenedDensRay().fit(X, y).components_, LinearRotation("ridge").fit(X, y).components_, atol=1e-12
    )


def test_a_quiet_concept_is_found_where_the_mean_difference_hears_the_loud_directions(loud):
    X, y = loud
    assert WhitenedDensRay().fit(X, y).components_[0, 5] > MeanDifference().fit(X, y).components_[0, 5] + 0.05


def test_unequal_classes_do_not_lower_the_shrinkage():
    """A third of the words weighing twice as much is no reason to trust them twice."""
    rng = np.random.default_rng(1)
    y = np.where(np.arange(60) % 3 == 0, 1.0, -1.0)
    X = rng.normal(size=(60, 50)) * np.linspace(3.0, 0.5, 50)
    X[:, 3] += 2 * y
    assert WhitenedDensRay().fit(X, y).penalty_ == pytest.approx(LinearRotation("ridge").fit(X, y).penalty_, rel=0.9)


def test_auto_is_ridge_and_knows_classes_and_scores(loud):
    X, y = loud
    assert "auto" in METHODS
    for labels in (y, X[:, 2]):
        auto, ridge = make_rotation("auto").fit(X, labels), make_rotation("ridge").fit(X, labels)
        assert np.array_equal(auto.components_, ridge.components_)
