"""The closed forms against a loop over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from densray import pairs
from densray.moments import ClassMoments, Moments, ScoreMoments
from densray.pairs import PairWeights, class_pair_matrix, score_pair_matrix, unit_pair_matrix, unlike_pair_matrix
from oracles import pair_matrix

WEIGHTS = PairWeights(0.7, 0.3)


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def dtype(request: pytest.FixtureRequest) -> type:
    return request.param


@pytest.fixture
def bound(dtype: type) -> float:
    return 1e-8 if dtype is np.float64 else 1e-4


@pytest.fixture
def words(dtype: type) -> NDArray[np.floating]:
    """Sixty unit vectors away from the origin, with duplicate and nearly duplicate rows within and across classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 7)) + 0.5
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[5] = X[6]
    X[7] = X[40] + 1e-5
    X[50] = X[3] + 1e-4
    X[51] = X[10]
    return X.astype(dtype)


CLASSES = np.where(np.arange(60) < 25, 1.0, -1.0)
SCORES = np.random.default_rng(1).normal(size=60) + 0.5
ROW_WEIGHTS = np.random.default_rng(2).uniform(0.5, 2.0, size=60)


def difference(found: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("weight", [None, ROW_WEIGHTS], ids=["even", "weighted"])
def test_plain_classes_equal_the_sum_over_pairs(words, weight, dtype, bound):
    row_weight = None if weight is None else weight.astype(dtype)
    moments = ClassMoments.of(words, CLASSES, (-1.0, 1.0), row_weight)
    expected = pair_matrix(words.astype(float), CLASSES, unlike=0.7, like=0.3, row_weight=weight)
    assert difference(class_pair_matrix(moments, WEIGHTS), expected) < bound


def test_unlike_pairs_equal_the_sum_over_pairs(words, bound):
    moments = ClassMoments.of(words, CLASSES, (-1.0, 1.0))
    expected = pair_matrix(words.astype(float), CLASSES, unlike=1.0, like=0.0)
    assert difference(unlike_pair_matrix(moments), expected) < bound


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("weight", [None, ROW_WEIGHTS], ids=["even", "weighted"])
def test_plain_scores_equal_the_sum_over_pairs(words, weight, center, dtype, bound):
    w = np.ones(60) if weight is None else weight
    scores = SCORES - (w @ SCORES) / w.sum() if center else SCORES
    row_weight = None if weight is None else weight.astype(dtype)
    moments = ScoreMoments.of(words, SCORES, row_weight, squares=not center)
    expected = pair_matrix(words.astype(float), scores, scores=True, row_weight=weight)
    assert difference(score_pair_matrix(moments, center=center), expected) < bound


@pytest.mark.parametrize("block", [16, 2048])
@pytest.mark.parametrize("weight", [None, ROW_WEIGHTS], ids=["even", "weighted"])
def test_unit_length_classes_equal_the_sum_over_pairs(words, weight, block, dtype, bound, monkeypatch):
    monkeypatch.setattr(pairs, "DISTANCE_BLOCK_ROWS", block)
    groups = [np.flatnonzero(sign == CLASSES) for sign in (-1.0, 1.0)]
    charge = np.ones(60, dtype) if weight is None else weight.astype(dtype)
    couplings = np.array([[-0.3, 0.7], [0.7, -0.3]])
    found = unit_pair_matrix(words, charge, classes=groups, couplings=couplings)
    expected = pair_matrix(words.astype(float), CLASSES, unlike=0.7, like=0.3, unit=True, row_weight=weight)
    assert difference(found, expected) < bound


def test_unit_length_scores_equal_the_sum_over_pairs(words, dtype, bound):
    found = unit_pair_matrix(words, SCORES.astype(dtype))
    expected = pair_matrix(words.astype(float), SCORES, scores=True, unit=True)
    assert difference(found, expected) < bound


def test_rows_that_are_all_alike_weigh_nothing(dtype):
    assert not unit_pair_matrix(np.ones((6, 3), dtype), np.ones(6, dtype)).any()


def test_many_near_duplicates_do_not_swamp_the_others(dtype, bound):
    """Half of the rows sit within 1e-3 of another one: their unit differences count like all others."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 5))
    X = np.vstack([X, X + 1e-3 * rng.normal(size=X.shape)]).astype(dtype)
    found = unit_pair_matrix(X, SCORES.astype(dtype))
    expected = pair_matrix(X.astype(float), SCORES, scores=True, unit=True)
    assert difference(found, expected) < 10 * bound


def test_the_appendix_form_is_the_binary_one_at_equal_weights():
    """Scores of ±1, as printed, recover eq. 2 with both weights one (appendix of the paper)."""
    X = np.random.default_rng(4).normal(size=(20, 4))
    labels = np.where(np.arange(20) < 7, 1.0, -1.0)
    as_scores = score_pair_matrix(ScoreMoments.of(X, labels, squares=True), center=False)
    as_classes = class_pair_matrix(ClassMoments.of(X, labels, (-1.0, 1.0)), PairWeights(1.0, 1.0))
    np.testing.assert_allclose(as_scores, as_classes, atol=1e-10)


def test_balanced_weights_give_each_kind_of_pair_the_same_total():
    unlike, like = PairWeights.balanced(25, 35)
    assert unlike * 2 * 25 * 35 == pytest.approx(1.0)
    assert like * (25**2 + 35**2) == pytest.approx(1.0)


def test_equal_classes_under_equal_weights_leave_exactly_rank_one():
    X = np.random.default_rng(5).normal(size=(40, 6))
    moments = ClassMoments.of(X, np.tile([1.0, -1.0], 20), (-1.0, 1.0))
    A = class_pair_matrix(moments, PairWeights.balanced(20, 20))
    assert np.linalg.matrix_rank(A, tol=1e-14 * np.linalg.norm(A)) == 1


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_moments_merge_to_those_of_all_rows_even_far_from_the_origin(offset):
    X = np.random.default_rng(6).normal(size=(101, 4)) + offset
    weight = np.random.default_rng(7).uniform(size=101)
    whole = Moments.of(X, weight)
    parts = Moments.of(X[:13], weight[:13]).merge(Moments.of(X[13:], weight[13:]))
    for found in (whole, parts):
        mean = weight @ X / weight.sum()
        np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
        np.testing.assert_allclose(found.scatter, ((X - mean) * weight[:, None]).T @ (X - mean), atol=1e-9)


def test_float32_moments_stay_accurate_far_from_the_origin():
    """The reference point keeps the mean out of the products: without it float32 would lose all digits here."""
    X = (np.random.default_rng(8).normal(size=(5000, 3)) + 300.0).astype(np.float32)
    exact = np.cov(X.astype(float).T, bias=True) * 5000
    np.testing.assert_allclose(Moments.of(X).scatter, exact, rtol=1e-4, atol=1e-2)
    naive = X.T @ X - 5000 * np.outer(X.mean(axis=0), X.mean(axis=0))
    assert np.abs(naive - exact).max() > 10  # the control


def test_weightless_rows_merge_without_a_trace():
    X = np.random.default_rng(9).normal(size=(10, 3))
    nothing, something = Moments.of(X, np.zeros(10)), Moments.of(X)
    for merged in (nothing.merge(something), something.merge(nothing)):
        np.testing.assert_array_equal(merged.scatter, something.scatter)


def test_score_moments_from_classes_equal_those_from_rows():
    X = np.random.default_rng(10).normal(size=(30, 4))
    labels = np.where(np.arange(30) % 3 == 0, 2.0, -1.0)
    from_rows = ScoreMoments.of(X, labels, squares=True)
    from_classes = ScoreMoments.from_classes(ClassMoments.of(X, labels, (-1.0, 2.0)), squares=True)
    for center in (True, False):
        np.testing.assert_allclose(
            score_pair_matrix(from_classes, center=center), score_pair_matrix(from_rows, center=center), atol=1e-9
        )


@pytest.mark.parametrize("spread", [0.05, 1e-4])
@pytest.mark.parametrize("block", [16, 2048])
def test_tight_classes_far_apart_keep_their_digits(dtype, bound, spread, block, monkeypatch):
    """Most pairs of a class are too near for a product of rows far from the middle: they are done apart."""
    monkeypatch.setattr(pairs, "DISTANCE_BLOCK_ROWS", block)
    rng = np.random.default_rng(11)
    X = (spread * rng.normal(size=(60, 5)) + CLASSES[:, None]).astype(dtype)
    groups = [np.flatnonzero(sign == CLASSES) for sign in (-1.0, 1.0)]
    found = unit_pair_matrix(X, np.ones(60, dtype), classes=groups, couplings=np.array([[-0.3, 0.7], [0.7, -0.3]]))
    expected = pair_matrix(X.astype(float), CLASSES, unlike=0.7, like=0.3, unit=True)
    assert difference(found, expected) < bound


def test_one_long_row_leaves_the_others_their_digits(dtype, bound):
    X = np.random.default_rng(12).normal(size=(60, 5)).astype(dtype)
    X[7] *= 2000
    found = unit_pair_matrix(X, SCORES.astype(dtype))
    assert difference(found, pair_matrix(X.astype(float), SCORES, scores=True, unit=True)) < bound


def test_rows_a_rounding_apart_keep_their_own_direction(dtype, bound):
    """Differences of near-duplicates come from the rows as given, not from rows rounded after centring."""
    X = np.random.default_rng(13).normal(size=(30, 5)) + 3.0
    X = np.vstack([X, X * (1 + 1e-6)]).astype(dtype)
    found = unit_pair_matrix(X, SCORES.astype(dtype))
    expected = pair_matrix(X.astype(float), SCORES, scores=True, unit=True)
    assert difference(found, expected) < bound


@pytest.mark.parametrize("scale", [1e-30, 1e-15, 1e15])
def test_unit_differences_do_not_feel_the_scale(dtype, bound, scale):
    X = np.random.default_rng(14).normal(size=(60, 5))
    found = unit_pair_matrix((X * scale).astype(dtype), SCORES.astype(dtype))
    assert difference(found, unit_pair_matrix(X, SCORES)) < bound


def test_near_rows_far_out_are_exact_despite_a_row_in_the_middle(dtype, bound):
    """The longest row decides whether to look for near pairs: their distances are rounded by its length."""
    X = np.random.default_rng(15).normal(size=(60, 5))
    X[20:30] = X[30:40] + 1e-3 * np.random.default_rng(16).normal(size=(10, 5))
    X[0] = X[1:].mean(axis=0)
    X = X.astype(dtype)
    found = unit_pair_matrix(X, SCORES.astype(dtype))
    assert difference(found, pair_matrix(X.astype(float), SCORES, scores=True, unit=True)) < bound


@pytest.mark.parametrize("weights", [(0.0, 1.0), (1.0, 0.0), (0.25, 2.0)])
def test_weights_may_be_any_two_numbers_of_at_least_zero(weights):
    assert PairWeights.resolve(weights, 3.0, 4.0) == weights
    assert PairWeights.resolve("balanced", 3.0, 4.0) == (1 / 24, 1 / 25)


@pytest.mark.parametrize("spread", [0.05, 1e-4])
def test_tight_classes_of_tensors_keep_their_digits(spread):
    torch = pytest.importorskip("torch")
    X = spread * np.random.default_rng(17).normal(size=(60, 5)) + CLASSES[:, None]
    groups = [torch.from_numpy(np.flatnonzero(sign == CLASSES)) for sign in (-1.0, 1.0)]
    couplings = np.array([[-0.3, 0.7], [0.7, -0.3]])
    found = unit_pair_matrix(torch.from_numpy(X), torch.ones(60), classes=groups, couplings=couplings)
    assert difference(found, pair_matrix(X, CLASSES, unlike=0.7, like=0.3, unit=True)) < 1e-8
