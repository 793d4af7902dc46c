"""DensRay itself: what it becomes, what it says, how it grows."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

from densray import DensRay, MeanDifference
from densray.errors import DensRayError, LabelError, NotAdditiveError, RotationNotFittedError
from oracles import pair_matrix


@pytest.fixture(scope="module")
def uneven():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8)) * np.linspace(0.5, 1.5, 8) + 4.0
    y = np.where(np.arange(300) < 90, 1, -1)
    X[:90, 2] += 1.5
    X[:90, 5] *= 2.0
    return X, y


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("scores", [False, True])
def test_the_axes_are_the_eigenvectors_of_the_brute_force_matrix(uneven, unit, scores):
    X, y = uneven[0][60:140], uneven[1][60:140]
    labels = X[:, 1] + y if scores else y.astype(float)
    rotation = DensRay(normalize_differences=unit, weights=(1.0, 0.25), center_labels=False).fit(X, labels)
    A = pair_matrix(X, labels, unlike=1.0, like=0.25, scores=scores, unit=unit)
    np.testing.assert_allclose(
        rotation.components_ @ A @ rotation.components_.T, np.diag(rotation.eigenvalues_), atol=1e-8 * abs(A).max()
    )
    np.testing.assert_allclose(rotation.eigenvalues_, np.linalg.eigvalsh(A)[::-1], rtol=1e-8, atol=1e-8 * abs(A).max())


def test_no_direction_beats_axis_zero(uneven):
    X, y = uneven
    rotation = DensRay(weights=(1.0, 0.2)).fit(X, y)
    A = pair_matrix(X, y.astype(float), unlike=1.0, like=0.2)
    others = np.random.default_rng(1).normal(size=(500, 8))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    assert np.einsum("ij,jk,ik->i", others, A, others).max() < rotation.eigenvalues_[0]


def test_equal_classes_make_it_the_mean_difference(uneven):
    X, y = uneven[0][30:150], uneven[1][30:150]
    np.testing.assert_allclose(DensRay(1).fit(X, y).components_, MeanDifference().fit(X, y).components_, atol=1e-12)


def test_centred_scores_make_it_the_mean_difference(uneven):
    X, _ = uneven
    scores = X[:, 3] + 2 * X[:, 0]
    np.testing.assert_allclose(
        DensRay(1).fit(X, scores).components_, MeanDifference().fit(X, scores).components_, atol=1e-10
    )


def test_unequal_classes_make_it_more_than_the_mean_difference(uneven):
    """The control: with classes of 90 and 210 words the axes differ."""
    X, y = uneven
    cosine = DensRay(1).fit(X, y).components_[0] @ MeanDifference().fit(X, y).components_[0]
    assert cosine < 0.999


def test_more_axes_than_carry_signal_are_warned_of(uneven):
    X, y = uneven[0][30:150], uneven[1][30:150]
    with pytest.warns(RuntimeWarning, match=r"n_components=3 axes were asked for, but only 1 carry signal"):
        rotation = DensRay(3).fit(X, y)
    assert rotation.n_signal_axes_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        full = DensRay().fit(X, y)  # all axes: a rotation, not a claim
    np.testing.assert_allclose(full.components_[:3], rotation.components_, atol=1e-12)


def test_the_completion_does_not_hang_on_rounding(uneven):
    """Degenerate axes come from axis 0 alone, so a change in the last digit moves them by no more than that."""
    X, y = uneven[0][30:150], uneven[1][30:150]
    moved = X * (1 + 1e-13 * np.random.default_rng(2).normal(size=X.shape))
    np.testing.assert_allclose(DensRay().fit(moved, y).components_, DensRay().fit(X, y).components_, atol=1e-9)


def test_few_axes_equal_the_first_of_all(uneven):
    X, y = uneven
    some = DensRay(2, weights=(1.0, 0.2)).fit(X, y)
    every = DensRay(weights=(1.0, 0.2)).fit(X, y)
    np.testing.assert_allclose(some.components_, every.components_[:2], atol=1e-9)
    np.testing.assert_allclose(some.eigenvalues_, every.eigenvalues_[:2], rtol=1e-9)


def test_center_labels_makes_scores_shift_invariant(uneven):
    X, _ = uneven
    scores = X[:, 3] + 2 * X[:, 0]
    for unit in (False, True):
        shifted = [DensRay(1, normalize_differences=unit).fit(X, scores + c).components_ for c in (0.0, 7.0)]
        np.testing.assert_allclose(shifted[0], shifted[1], atol=1e-8)
    plain = [DensRay(center_labels=False).fit(X, scores + c).components_ for c in (0.0, -12.0)]
    assert abs(plain[0][0] @ plain[1][0]) < 0.9999  # the control: as printed, the formula is not


@pytest.mark.parametrize("kind", ["classes", "scores", "scores as printed"])
def test_any_split_into_blocks_gives_the_same_axes(uneven, kind):
    X, y = uneven
    labels = y if kind == "classes" else X[:, 3] + y
    rotation = DensRay(center_labels=kind != "scores as printed")
    whole = DensRay(center_labels=kind != "scores as printed").fit(X, labels)
    for start, stop in ((0, 1), (1, 40), (40, 211), (211, 300)):  # the first blocks hold one class only
        rotation.partial_fit(X[start:stop], labels[start:stop])
    np.testing.assert_allclose(rotation.components_[0], whole.components_[0], atol=1e-8)
    np.testing.assert_allclose(rotation.eigenvalues_, whole.eigenvalues_, atol=1e-8 * abs(whole.eigenvalues_).max())


def test_a_third_label_turns_classes_into_scores(uneven):
    X, _ = uneven
    labels = np.repeat([0.0, 1.0, 2.0], 100)
    rotation = DensRay(center_labels=False)
    for part in range(3):
        rotation.partial_fit(X[part * 100 : (part + 1) * 100], labels[part * 100 : (part + 1) * 100])
    whole = DensRay(center_labels=False).fit(X, labels)
    assert rotation.classes_ is None
    np.testing.assert_allclose(rotation.components_[0], whole.components_[0], atol=1e-8)


def test_merged_statistics_equal_one_fit(uneven):
    X, y = uneven
    parts = [DensRay().fit(X[rows], y[rows]) for rows in (slice(0, 150), slice(50, 300, 1))]
    merged = parts[0].merge(parts[1])
    both = np.r_[0:150, 50:300]
    np.testing.assert_allclose(merged.components_[0], DensRay().fit(X[both], y[both]).components_[0], atol=1e-10)


def test_one_class_so_far_is_not_an_axis(uneven):
    X, _ = uneven
    rotation = DensRay().partial_fit(X[:10], np.ones(10))
    with pytest.raises(RotationNotFittedError):
        rotation.transform(X)


def test_all_pairs_of_a_large_memory_map_are_refused(tmp_path: Path) -> None:
    n_rows = 200_001
    X = np.memmap(tmp_path / "rows", dtype=np.float32, mode="w+", shape=(n_rows, 2))
    X[:] = np.random.default_rng(0).normal(size=(n_rows, 2)) + 1
    y = np.arange(n_rows) % 2
    with pytest.raises(DensRayError, match=r"memory map of 200,001 rows .* normalize_differences=False"):
        DensRay(normalize_differences=True).fit(X, y)
    assert DensRay(1).fit(X, y).components_.shape == (1, 2)


def test_unit_length_differences_refuse_to_be_updated(uneven):
    X, y = uneven
    rotation = DensRay(normalize_differences=True)
    assert not hasattr(rotation, "partial_fit")
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as caught:
        rotation.partial_fit(X, y)
    with pytest.raises(NotAdditiveError, match="normalize_differences=True"):
        raise caught.value.__cause__
    with pytest.raises(NotAdditiveError, match="which merge cannot do"):
        rotation.fit(X, y).merge(rotation)


def test_what_cannot_be_merged_is_refused(uneven):
    X, y = uneven
    with pytest.raises(DensRayError, match="width 5 cannot be merged into width 8"):
        DensRay().fit(X, y).merge(DensRay().fit(X[:, :5], y))
    with pytest.raises(RotationNotFittedError, match="has seen no rows"):
        DensRay().fit(X, y).merge(DensRay())
    named = DensRay().partial_fit(X, np.where(y > 0, "a", "b"))
    with pytest.raises(LabelError, match="more than two labels were seen"):
        named.partial_fit(X, np.repeat("c", 300))


@pytest.mark.parametrize("weights", ["equal", (1.0,), (-1.0, 1.0), (0, 0), (np.nan, 1.0), None])
def test_weights_that_are_not_a_pair_are_refused(uneven, weights):
    with pytest.raises(DensRayError, match="weights="):
        DensRay(weights=weights).fit(*uneven)


def test_the_real_sentiment_axis_tells_unseen_words_apart(sentiment_split):
    X, y, X_test, y_test = sentiment_split
    rotation = DensRay(1, weights=(0.5, 0.5), normalize_differences=True).fit(X, y)
    assert rotation.score(X_test, y_test) == pytest.approx(0.645, abs=0.015)
    best_coordinate = max(abs(kendalltau(column, y_test).statistic) for column in X_test.T)
    assert best_coordinate < 0.4  # the control: no original axis says it
