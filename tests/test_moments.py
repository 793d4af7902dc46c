"""Additive moments: sums over rows equal what the rows themselves say, however they are cut."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from densray import DensRay, MeanDifference, _arrays
from densray import moments as moments_module
from densray.moments import ClassMoments, MomentParts, Moments, ScoreMoments, merge_moments, moments_of_labels
from densray.scale import fit_blocks, labelled_blocks

Rows = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


@pytest.fixture(scope="module")
def rows() -> Rows:
    """Rows far from the origin, their labels and weights."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(900) < 0.3, 1.0, -1.0)
    X = rng.normal(size=(900, 7)) + 40.0
    X[:, 2] += y
    return X, y, rng.uniform(0.5, 2.0, size=900)


@pytest.mark.parametrize("scatter", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("block", [900, 64])
def test_moments_of_classes_are_those_of_their_rows(
    scatter: bool, weighted: bool, block: int, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, weight = rows
    monkeypatch.setattr(moments_module, "BLOCK_ROWS", block)
    found = ClassMoments.of(X, y, (-1.0, 1.0), weight if weighted else None, scatter=scatter)
    for label, group in found.by_class.items():
        part, charge = X[y == label], weight[y == label] if weighted else np.ones(int((y == label).sum()))
        mean = np.average(part, axis=0, weights=charge)
        assert group.weight == pytest.approx(charge.sum())
        np.testing.assert_allclose(group.mean, mean, rtol=1e-13)
        if scatter:
            np.testing.assert_allclose(group.scatter, (part - mean).T @ ((part - mean) * charge[:, None]), atol=1e-9)
        else:
            assert group.scatter is None


def test_a_class_missing_from_a_block_is_not_a_group(rows: Rows) -> None:
    X, y, _ = rows
    for scatter in (True, False):
        assert list(ClassMoments.of(X[y > 0], y[y > 0], (-1.0, 1.0), scatter=scatter).by_class) == [1.0]


def test_the_mean_difference_keeps_no_square_matrix(rows: Rows, tmp_path: Path) -> None:
    """In memory, block by block, merged, and on disk: d numbers a class, and the same axis."""
    X, y, _ = rows
    expected = MeanDifference().fit(X, y)
    np.testing.assert_allclose(
        expected.components_[0], _unit(X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)), atol=1e-14
    )
    parts = [MeanDifference().partial_fit(X[part], y[part]) for part in (slice(0, 400), slice(400, 900))]
    streamed = fit_blocks(MeanDifference(), labelled_blocks(X, y, rows=100), checkpoint=tmp_path / "mean.npz")
    for rotation in (expected, parts[0].merge(parts[1]), streamed):
        assert [group.scatter for group in rotation.moments_.by_class.values()] == [None, None]
        np.testing.assert_allclose(rotation.components_, expected.components_, atol=1e-12)
    fit_blocks(DensRay(1), labelled_blocks(X, y, rows=100), checkpoint=tmp_path / "densray.npz")
    with np.load(tmp_path / "mean.npz") as ours, np.load(tmp_path / "densray.npz") as control:
        assert not [name for name in ours.files if name.endswith("scatter")]
        assert [name for name in control.files if name.endswith("scatter")]


def test_rows_far_from_the_origin_keep_their_mean_difference_in_float32(rows: Rows) -> None:
    X, y, _ = rows
    far = X + 1000.0
    narrow = MeanDifference().fit(far.astype(np.float32), y).components_[0]
    np.testing.assert_allclose(narrow, MeanDifference().fit(far, y).components_[0], atol=1e-4)


def check_sums(found: ScoreMoments, rows: Rows, *, squares: bool, spread: bool = True) -> None:
    """Compare every sum with its definition, about the point and the score that it is counted from."""
    X, scores, weight = rows
    from_point, from_score = X - np.asarray(found.reference), scores - found.origin
    assert found.weight == pytest.approx(weight.sum())
    assert found.score == pytest.approx(weight @ from_score, abs=1e-8)
    np.testing.assert_allclose(found.rows, weight @ from_point, atol=1e-8)
    np.testing.assert_allclose(found.scored_rows, (weight * from_score) @ from_point, atol=1e-7)
    if squares:
        expected = (from_point * (weight * from_score)[:, None]).T @ from_point
        np.testing.assert_allclose(found.scored_squares, expected, rtol=1e-9, atol=1e-7)
    else:
        assert found.scored_squares is None
    if spread:
        np.testing.assert_allclose(found.squared_rows, weight @ from_point**2, rtol=1e-9)
    else:
        assert found.squared_rows is None


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("squares", [True, False])
@pytest.mark.parametrize("block", [900, 200])
def test_moments_of_scores_are_sums_over_their_rows(
    squares: bool, weighted: bool, block: int, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole, in blocks, merged, about another point and another score."""
    monkeypatch.setattr(_arrays, "BLOCK_ROWS", block)
    X, _, weight = rows
    scores = np.random.default_rng(1).normal(size=900) + X[:, 0] - 25.0  # far from zero, and unlike in each half
    scores[:400] += 3.0
    given, weight = (weight, weight) if weighted else (None, np.ones(900))

    def of(part: slice, *, spread: bool = True) -> ScoreMoments:
        some = None if given is None else given[part]
        return ScoreMoments.of(X[part], scores[part], some, squares=squares, spread=spread)

    every = (X, scores, weight)
    whole = of(slice(0, 900))
    assert whole.origin == (0.0 if squares else pytest.approx(scores.mean()))
    check_sums(whole, every, squares=squares)
    check_sums(of(slice(0, 400)).merge(of(slice(400, 900))), every, squares=squares)
    check_sums(of(slice(0, 900), spread=False), every, squares=squares, spread=False)
    check_sums(of(slice(0, 400)).merge(of(slice(400, 900), spread=False)), every, squares=squares, spread=False)
    moved = whole.moved_to(np.arange(7.0))
    assert moved.reference.tolist() == list(range(7))
    check_sums(moved, every, squares=squares)
    counted = whole.counted_from(2.5)
    assert counted.origin == 2.5
    check_sums(counted, every, squares=False)
    assert whole.counted_from(whole.origin) is whole


def test_classes_become_scores_once_there_is_a_third_label(rows: Rows) -> None:
    X, y, weight = rows
    parts = MomentParts(scatter=True, squares=True)
    both = moments_of_labels(X[:500], y[:500], weight[:500], parts)
    assert isinstance(both, ClassMoments)
    np.testing.assert_array_equal(both.classes, [-1.0, 1.0])
    assert isinstance(
        merge_moments(both, moments_of_labels(X[500:], y[500:], weight[500:], parts), parts), ClassMoments
    )
    more = np.concatenate([y[:500], np.where(y[500:] > 0, 2.0, -1.0)])
    three = merge_moments(both, moments_of_labels(X[500:], more[500:], weight[500:], parts), parts)
    assert isinstance(three, ScoreMoments)
    assert three.classes is None
    check_sums(three, (X, more, weight), squares=True)
    without = MomentParts(scatter=True, squares=False)
    check_sums(merge_moments(three, three, without), tuple(np.concatenate([one, one]) for one in (X, more, weight)),
               squares=True)  # fmt: skip
    assert ScoreMoments.from_classes(both, squares=False).scored_squares is None
    scored = moments_of_labels(X, X[:, 0], None, MomentParts(scatter=False, squares=False, spread=True))
    assert isinstance(scored, ScoreMoments)
    check_sums(scored, (X, X[:, 0], np.ones(900)), squares=False)


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(vector / np.linalg.norm(vector))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("weighted", [True, False])
def test_moments_and_sums_with_factors_are_those_of_all_blocks(
    weighted: bool, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks are counted from points of their own; rows in half precision are converted block by block."""
    random = np.random.default_rng(3)
    monkeypatch.setattr(_arrays, "BLOCK_ROWS", 70)
    X = (random.normal(size=(300, 4)) + np.arange(300)[:, None] / 50 + 2.0).astype(kind)
    weight = random.uniform(0.5, 2.0, size=300).astype(np.float32) if weighted else None
    factors = random.normal(size=(2, 300)).astype(np.float32)
    given = _arrays.ConvertedRows(X, np.float32, X.dtype) if kind is np.float16 else X
    found, sums = Moments.with_sums(given, weight, factors)
    rows, w = X.astype(np.float64), np.ones(300) if weight is None else weight.astype(np.float64)
    mean = w @ rows / w.sum()
    assert found.weight == pytest.approx(w.sum())
    np.testing.assert_allclose(found.mean, mean, rtol=1e-5)
    np.testing.assert_allclose(found.scatter, (rows - mean).T @ ((rows - mean) * w[:, None]), rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(sums, factors @ rows, rtol=1e-4, atol=1e-2)
    changed = _arrays.ConvertedRows(X, np.float32, X.dtype, lambda block: 2.0 * block)
    twice, _ = Moments.with_sums(changed, weight, None)
    np.testing.assert_allclose(twice.mean, 2.0 * mean, rtol=1e-5)
