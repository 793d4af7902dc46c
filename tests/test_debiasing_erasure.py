"""The affine map of a removal: its formula, what it takes at its limits and refuses beyond, words left out of it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from densray import MeanDifference, WordSpace
from densray._leace import _shrunk, leace_beside
from densray.affine import AffineMap, equalized, erasing
from densray.errors import CoverageError, DensRayError, LabelError, SpaceError, VectorError
from densray.removers import leace

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(7, 4))
#: A fitted rotation of four axes, as far as an erasure asks for one.
ROTATION: Any = SimpleNamespace(components_=np.eye(4))


def oblique(rank: int, *, origin: bool = True, shift: bool = True) -> AffineMap:
    random = np.random.default_rng(rank)
    left, right = random.normal(size=(4, rank)), random.normal(size=(rank, 4))
    point, away = (random.normal(size=4) * given for given in (origin, shift))
    return AffineMap("oblique", left, right, point, away)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("rank", [1, 2, 4])
@pytest.mark.parametrize(("origin", "shift"), [(True, True), (True, False), (False, True), (False, False)])
def test_the_map_is_that_of_its_formula(rank: int, origin: bool, shift: bool, library: str) -> None:
    """x - s (b + (x - o) L R)."""
    rows: Any = X if library == "numpy" else pytest.importorskip("torch").from_numpy(X)
    each = oblique(rank, origin=origin, shift=shift)
    for strength in (0.0, 0.3, 1.0):
        expected = X - strength * (each.shift + (X - each.origin) @ each.left @ each.right)
        np.testing.assert_allclose(np.asarray(each.apply(rows, strength=strength)), expected, atol=1e-12)
    np.testing.assert_allclose(np.asarray(each.apply(rows)), np.asarray(each.apply(rows, strength=1.0)), atol=0)
    assert each.is_linear == (not origin and not shift)
    assert (each.rank, each.width) == (rank, 4)


@pytest.mark.parametrize("part", ["origin", "shift"])
def test_an_origin_or_a_shift_may_be_zero_in_some_dimensions(part: str) -> None:
    some = replace(oblique(2), **{part: np.array([0.0, 0.0, 2.0, 0.0])})
    expected = X - (some.shift + (X - some.origin) @ some.left @ some.right)
    np.testing.assert_allclose(some.apply(X), expected, atol=1e-12)
    assert not replace(oblique(2, origin=False, shift=False), **{part: np.array([0.0, 0.0, 2.0, 0.0])}).is_linear


def test_as_many_axes_are_erased_as_are_asked_for_from_none_to_all() -> None:
    for count in range(5):
        erasure = AffineMap.of(ROTATION, count)
        np.testing.assert_array_equal(erasure.apply(X), np.where(np.arange(4) < count, 0.0, X))
        assert erasure.rank == len(erasure.span) == count
    assert AffineMap.of(ROTATION).rank == 1
    assert AffineMap.of(ROTATION, np.int64(2)).rank == 2  # type: ignore[arg-type]
    for wrong in (-1, 5, True, 1.0, None):
        with pytest.raises(DensRayError, match="has 4 axes to erase"):
            AffineMap.of(ROTATION, wrong)  # type: ignore[arg-type]
    with pytest.raises(DensRayError, match="not fitted"):
        AffineMap.of(MeanDifference())


def test_an_erasure_is_named_by_its_rotation_or_as_asked() -> None:
    fitted = MeanDifference().fit(X, [1, 1, 1, 1, -1, -1, -1])
    assert [AffineMap.of(fitted).method, AffineMap.of(fitted, method="mine").method] == ["MeanDifference", "mine"]


@pytest.mark.parametrize("strength", [0, 1, 0.0, 1.0, np.float32(0.5)])
def test_strengths_from_nothing_to_all_are_taken(strength: float) -> None:
    erased = AffineMap.of(ROTATION).apply(X, strength=strength)
    np.testing.assert_allclose(erased[:, 0], (1.0 - float(strength)) * X[:, 0])
    np.testing.assert_array_equal(erased[:, 1:], X[:, 1:])


@pytest.mark.parametrize("strength", [-0.01, 1.01, float("nan"), "1", None])
def test_strengths_beyond_nothing_and_all_are_refused(strength: Any) -> None:
    with pytest.raises(DensRayError, match=r"a number from 0 \(no change\) to 1 \(full change\)"):
        AffineMap.of(ROTATION).apply(X, strength=strength)


def test_rows_keep_their_precision_and_whole_numbers_become_double() -> None:
    erasure = AffineMap.of(ROTATION)
    for kind, expected in ((np.float32, np.float32), (np.float64, np.float64), (np.int32, np.float64)):
        rows = np.arange(8).reshape(2, 4).astype(kind)
        assert erasure.apply(rows).dtype == expected
        assert erasure.apply(rows).tolist() == [[0, 1, 2, 3], [0, 5, 6, 7]]
    assert erasure.apply([[1, 2, 3, 4]]).tolist() == [[0, 2, 3, 4]]  # type: ignore[arg-type]
    for wrong in (X[:, :3], X[None]):
        with pytest.raises(VectorError, match=r"fitted on vectors of width 4"):
            erasure.apply(wrong)
    with pytest.raises(VectorError, match=r"rows are needed. For one vector pass X.reshape\(1, -1\)"):
        erasure.apply(X[0])


def test_the_span_is_of_orthonormal_rows_and_counts_a_direction_once() -> None:
    right = np.array([[2.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], [1.0, 3.0, 0.0, 0.0]])
    zero = np.zeros(4)
    span = AffineMap("given", right.T, right, zero, zero).span
    np.testing.assert_allclose(span @ span.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(span[:, 2:], 0.0, atol=1e-12)
    for size, count in ((1e-9, 2), (1e-11, 1)):
        right = np.diag([1.0, size])
        assert len(AffineMap("given", right.T, right, zero[:2], zero[:2]).span) == count


def test_axes_are_copied_and_an_origin_is_one_finite_number_per_dimension() -> None:
    axes = np.eye(4)[:1].copy()
    erasure = AffineMap.along(axes, origin=np.arange(4.0))
    axes[:] = 0.0
    assert erasure.apply(X)[:, 0].tolist() == [0.0] * 7
    assert (AffineMap.along(np.eye(4)[1:2], origin=[5.0, 6.0, 7.0, 8.0]).apply(X)[:, 1] == 6.0).all()
    for wrong in ([0.0, np.nan, 0.0, 0.0], [0.0, np.inf, 0.0, 0.0], [0.0] * 3, [[0.0] * 4]):
        with pytest.raises(VectorError, match="4 finite numbers, one per dimension"):
            AffineMap.along(np.eye(4)[:1], origin=wrong)


def space_of(vectors: Any) -> WordSpace:
    return WordSpace([f"w{row}" for row in range(len(vectors))], np.asarray(vectors, dtype=np.float32), name="small")


def test_equalised_vectors_are_those_of_bolukbasis_formula() -> None:
    space = space_of(RANDOM.normal(size=(6, 4)) * RANDOM.uniform(0.5, 3.0, size=(6, 1)))
    basis = np.linalg.qr(RANDOM.normal(size=(4, 2)))[0].T
    found = equalized(space, AffineMap.along(basis), [("w0", "w1"), ("w4", "w2")])
    assert list(found) == ["w0", "w1", "w4", "w2"]
    for pair in (("w0", "w1"), ("w4", "w2")):
        rows = space[list(pair)].astype(np.float64)
        lengths = np.linalg.norm(rows, axis=1)
        unit = rows / lengths[:, None]
        mean = unit.mean(axis=0)
        nu = mean - basis.T @ (basis @ mean)
        for word, row in zip(pair, unit, strict=True):
            inside = basis.T @ (basis @ (row - mean))
            expected = nu + np.sqrt(1 - nu @ nu) * inside / np.linalg.norm(inside)
            np.testing.assert_allclose(found[word], expected * lengths.mean(), atol=1e-6)
            assert found[word].dtype == np.float32


def test_pairs_that_cannot_be_equalised_are_left_out_and_those_alike_in_the_concept_meet() -> None:
    space = space_of([[1, 2, 0, 0], [3, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 2, 0]])
    erasure = AffineMap.of(ROTATION)
    pairs = [("w0", "absent"), ("absent", "w0"), ("w1", "w1"), ("w0", "w2"), ("w2", "w0")]
    with pytest.raises(CoverageError, match="None of the 5 pairs"):
        equalized(space, erasure, pairs)
    assert set(equalized(space, erasure, [*pairs, ("w0", "w1")])) == {"w0", "w1"}  # those after them count
    alike = equalized(space, erasure, [("w3", "w4")])  # at right angles to the concept
    np.testing.assert_allclose(alike["w3"], [0.0, 0.75, 0.75, 0.0], atol=1e-6)
    np.testing.assert_allclose(alike["w4"], alike["w3"], atol=1e-6)


def test_erasing_blocks_keeps_words_and_uses_new_vectors_where_given() -> None:
    own = np.array([9.0, 9.0, 9.0, 9.0], dtype=np.float32)
    rows, words = X.astype(np.float32), [f"w{row}" for row in range(7)]
    erased, erasure = np.where(np.arange(4) < 1, 0.0, rows), AffineMap.of(ROTATION)
    np.testing.assert_array_equal(erasing(erasure)(words, rows), erased)
    kept = erasing(erasure, keep=["w1", "w2"])(words, rows)
    np.testing.assert_array_equal(kept[[1, 2]], rows[[1, 2]])
    np.testing.assert_array_equal(kept[[0, 3, 4, 5, 6]], erased[[0, 3, 4, 5, 6]])
    both = erasing(erasure, keep=["w2"], replaced={"w2": own, "w3": own}, strength=0.25)(words, rows)
    np.testing.assert_allclose(both[2], 0.75 * rows[2] + 0.25 * own, rtol=1e-6)  # the new vector wins over `keep`
    np.testing.assert_allclose(both[3], 0.75 * rows[3] + 0.25 * own, rtol=1e-6)
    np.testing.assert_allclose(both[0], 0.75 * rows[0] + 0.25 * erased[0], rtol=1e-6)
    alone = erasing(erasure, replaced={"w5": own})(words, rows)
    np.testing.assert_array_equal(alone[5], own)
    np.testing.assert_array_equal(alone[6], erased[6])


def test_removing_every_axis_is_refused_and_less_is_not() -> None:
    for n_axes, strength in ((3, 1.0), (4, 0.99), (0, 1.0)):
        erasing(AffineMap.of(ROTATION, n_axes), strength=strength)
    with pytest.raises(VectorError, match="removing 4 of 4 axes leaves only zeros"):
        erasing(AffineMap.of(ROTATION, 4))
    repeated = np.array([[1.0, 0.0, 0.0, 0.0]] * 4) / 4
    zero = np.zeros(4)
    erasing(AffineMap("given", repeated.T, repeated, zero, zero))  # four times the same direction is one
    with pytest.raises(DensRayError, match="a number from 0"):
        erasing(AffineMap.of(ROTATION), strength=1.5)


def test_a_space_takes_an_erasure_of_its_width_and_pairs_that_are_in_it() -> None:
    space = space_of(X)
    erased = space.erased(ROTATION, equalize=[("w0", "absent"), ("w1", "w2")])
    assert (erased.vectors[[0, 3], 0] == 0.0).all()
    assert (erased.vectors[[1, 2], 0] != 0.0).all()
    with pytest.raises(CoverageError, match="None of the 2 pairs to equalise"):
        space.erased(ROTATION, equalize=[("w0", "absent"), ("absent", "w1")])
    with pytest.raises(SpaceError, match="fitted on 4 dimensions, 'small' has 3"):
        space_of(X[:, :3]).erased(AffineMap.of(ROTATION))
    with pytest.raises(DensRayError, match="whose axes are chosen already"):
        space.erased(AffineMap.of(ROTATION, 2), n_axes=2)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_map_learned_at_unit_length_scales_vectors_first_unless_it_is_linear(library: str) -> None:
    rows: Any = X if library == "numpy" else pytest.importorskip("torch").from_numpy(X)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for origin in (True, False):
        plain = oblique(2, origin=origin, shift=False)
        expected = plain.apply(unit) if origin else plain.apply(X)
        np.testing.assert_allclose(np.asarray(replace(plain, unit_length=True).apply(rows)), expected, atol=1e-12)
    scaled = replace(oblique(2, shift=False), unit_length=True)
    kept = erasing(scaled, keep=["w1"])([f"w{row}" for row in range(7)], X.astype(np.float32))
    np.testing.assert_allclose(kept[1], unit[1], atol=1e-6)
    assert np.isfinite(scaled.apply(np.zeros((2, 4)))).all()


# --- LEACE --------------------------------------------------------------------------------------------------


def correlated(correlation: float, n: int = 400) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows of unit covariance, and labels that correlate with the first column exactly so much, with others not."""
    random = np.random.default_rng(1)
    centred = random.normal(size=(n, 5))
    columns = np.linalg.qr(centred - centred.mean(axis=0))[0] * np.sqrt(n - 1)
    return columns[:, :4], correlation * columns[:, 0] + np.sqrt(1 - correlation**2) * columns[:, 4]


@pytest.mark.parametrize(("correlation", "rank"), [(0.0098, 0), (0.0101, 1), (0.5, 1)])
def test_a_correlation_below_one_in_a_hundred_is_taken_for_rounding(correlation: float, rank: int) -> None:
    rows, labels = correlated(correlation)
    found = leace(rows, labels, shrinkage=False)
    assert found.rank == rank
    np.testing.assert_allclose(found.apply(rows)[:, 0], rows[:, 0] if rank == 0 else 0.0, atol=1e-8)


@pytest.mark.parametrize("correlation", [0.0096, 0.0099])
def test_the_bound_of_correlations_is_that_of_leaces_authors_for_few_rows_too(correlation: float) -> None:
    torch, theirs = pytest.importorskip("torch"), pytest.importorskip("concept_erasure")
    rows, labels = correlated(correlation, n=20)  # the bound lies at 0.00975: labels are divided by n, rows by n - 1
    eraser = theirs.LeaceEraser.fit(torch.from_numpy(rows), torch.from_numpy(labels / labels.std()), shrinkage=False)
    found = leace(rows, labels, shrinkage=False)
    assert found.rank == int(torch.linalg.matrix_rank(eraser.proj_left @ eraser.proj_right))
    assert found.rank == (correlation > 0.00975)


def test_leace_takes_rows_of_any_numbers_and_refuses_what_are_none() -> None:
    random = np.random.default_rng(2)
    whole = random.integers(-9, 10, size=(50, 3))
    labels = whole[:, 0] + whole[:, 1] > 0
    expected = leace(whole.astype(np.float64), labels.astype(np.float64)).apply(whole)
    for rows in (whole, whole.astype(np.float32), whole.tolist()):
        given: Any = np.asarray(rows) if isinstance(rows, list) else rows
        np.testing.assert_allclose(leace(given, labels).apply(whole), expected, atol=1e-4)
    for wrong in (whole[:, 0], whole[:, :, None]):
        with pytest.raises(VectorError, match="at least two rows"):
            leace(wrong, labels)
    for missing in (labels[:49], np.where(np.arange(50) == 7, np.nan, 1.0), np.where(np.arange(50) == 7, np.inf, 1.0)):
        with pytest.raises(LabelError, match=r"one finite label per row of X \(50 rows\)"):
            leace(whole, missing)


@pytest.mark.parametrize("keeps", [False, True])
def test_leace_with_other_rows_is_leace_in_the_mean_of_the_covariances(keeps: bool) -> None:
    """With W the inverse root of the (shrunk) mean of covariances: x - (x - x̄) W l (W⁻¹ u)ᵀ / l·u."""
    torch, theirs = pytest.importorskip("torch"), pytest.importorskip("concept_erasure.shrinkage")
    random = np.random.default_rng(3)
    rows, others, kept = (random.normal(size=(n, 5)) @ random.normal(size=(5, 5)) + 1.0 for n in (60, 400, 90))
    z, k = np.sign(rows[:, 0] + 0.5), kept[:, 1] + random.normal(size=90)
    parts = [rows, others, kept] if keeps else [rows, others]
    mean = np.mean([np.cov(each.T, bias=True) for each in parts], axis=0)
    count = sum(len(each) for each in parts)
    mean = theirs.optimal_linear_shrinkage(torch.from_numpy(mean), count).numpy()
    sizes, vectors = np.linalg.eigh(mean)
    whiten = vectors @ np.diag(sizes**-0.5) @ vectors.T
    u = whiten @ ((rows - rows.mean(axis=0)).T @ (z - z.mean())) / np.std(z) / 60
    read = u
    if keeps:
        v = whiten @ ((kept - kept.mean(axis=0)).T @ (k - k.mean()))
        read = u - v * (u @ v) / (v @ v)
    change = np.outer(whiten @ read, np.linalg.inv(whiten) @ u) / (read @ u)
    found = leace_beside(rows, z, others, preserve=(kept, k) if keeps else None)
    np.testing.assert_allclose(found.apply(others), others - (others - rows.mean(axis=0)) @ change, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1e-3, 1.0, 1e4])
@pytest.mark.parametrize("shape", [(30, 6), (8, 12)], ids=str)
def test_a_covariance_is_shrunk_as_leaces_authors_do_whatever_its_scale(shape: tuple[int, int], scale: float) -> None:
    torch, theirs = pytest.importorskip("torch"), pytest.importorskip("concept_erasure.shrinkage")
    random = np.random.default_rng(4)
    rows = random.normal(size=shape) @ random.normal(size=(shape[1], shape[1]))
    covariance = np.cov(rows.T, bias=True)
    # theirs adds 2e-16 to terms of the eighth power of the length of the rows, so it is right at ordinary lengths only
    expected = theirs.optimal_linear_shrinkage(torch.from_numpy(covariance), shape[0]).numpy()
    shrunk = _shrunk(scale**2 * covariance, shape[0]) / scale**2
    np.testing.assert_allclose(shrunk, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 0.02, 1e3, 1e30])
def test_leace_of_scaled_rows_is_the_scaled_leace(scale: float) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 40)) * np.geomspace(1, 0.1, 40)
    y = (random.normal(size=300) + X[:, 0] + 3 * X[:, 35] > 0) * 1.0
    X /= np.linalg.norm(X, axis=1).mean()
    expected = leace(X, y).apply(X)
    np.testing.assert_allclose(leace(scale * X, y).apply(scale * X) / scale, expected, atol=1e-12)
    np.testing.assert_allclose(
        leace_beside(scale * X, y, scale * X[:100]).apply(scale * X) / scale,
        leace_beside(X, y, X[:100]).apply(X),
        atol=1e-12,
    )
    # the control: the change is that of the best shrinkage, not that of the mean difference
    apart = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    by_mean = X - np.outer((X - X.mean(axis=0)) @ apart, apart) / (apart @ apart)
    assert np.linalg.norm(expected - X) < 0.97 * np.linalg.norm(by_mean - X)


def test_leace_of_rows_that_resemble_each_other_is_that_of_their_differences() -> None:
    """Unit rows of mean cosine 0.999, as hidden states are: the closed form with the shrinkage of the differences."""
    random = np.random.default_rng(1)
    X = 100.0 * np.eye(40)[0] + random.normal(size=(500, 40)) * np.geomspace(1, 0.1, 40)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X[:, 1] + X[:, 35] + 0.01 * random.normal(size=500) > 0, 1.0, -1.0)
    assert (X @ X.T).mean() > 0.999
    C = X - X.mean(axis=0)
    S, n, p = C.T @ C / 500, 500, 40
    unit = S / np.trace(S) * p
    share = 1 - p**2 / n / (np.sum(unit**2) - p)
    shrunk = share * unit + (1 - share) * np.eye(p)
    difference = C.T @ (y - y.mean())
    direction = np.linalg.solve(shrunk, difference)  # W⁺ u uᵀ W = d (S⁻¹ d)ᵀ / dᵀ S⁻¹ d
    expected = X - np.outer(C @ direction, difference) / (direction @ difference)
    np.testing.assert_allclose(leace(X, y).apply(X), expected, atol=1e-10)


@pytest.mark.parametrize("shrinkage", [True, False])
def test_leace_leaves_alone_what_does_not_vary(shrinkage: bool) -> None:
    random = np.random.default_rng(5)
    y = np.tile([1.0, -1.0], 15)
    same = np.full((30, 3), 2.0)
    found = leace(same, y, shrinkage=shrinkage)
    np.testing.assert_array_equal(found.apply(same), same)
    rows = random.normal(size=(30, 5))
    rows[:, 0] += 2 * y
    rows[:, 3], rows[:, 4] = 7.0, rows[:, 0] + rows[:, 1]  # a column that does not vary, and one that follows others
    erased = leace(rows, y, shrinkage=shrinkage).apply(rows)
    assert np.abs(y @ rows).max() > 10  # the control
    np.testing.assert_allclose((y - y.mean()) @ erased, 0.0, atol=1e-6)
    np.testing.assert_allclose(erased.mean(axis=0), rows.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(erased[:, 3], 7.0, atol=1e-6)


def test_leace_with_other_rows_accepts_few_rows_of_many_dimensions_and_names_bad_labels() -> None:
    random = np.random.default_rng(6)
    rows, others, kept = (random.normal(size=(n, 40)) for n in (8, 9, 7))
    z, k = np.tile([1.0, -1.0], 4), np.arange(7.0)
    for keep in (None, (kept, k)):
        erased = leace_beside(rows, z, others, preserve=keep).apply(rows)
        assert np.abs(z @ rows).max() > 3  # the control
        np.testing.assert_allclose(z @ erased, 0.0, atol=1e-6)
    with pytest.raises(LabelError, match=r"one finite label per row of X \(7 rows\)"):
        leace_beside(rows, z, others, preserve=(kept, k[:6]))
    with pytest.raises(LabelError, match=r"one finite label per row of X \(8 rows\)"):
        leace_beside(rows, z[:7], others)
    columns = np.column_stack([k, k**2])
    with pytest.raises(LabelError, match="one column of labels is needed"):
        leace_beside(rows, z, others, preserve=(kept, columns))


def test_leace_beside_others_removes_every_class_of_several() -> None:
    random = np.random.default_rng(7)
    classes = np.repeat(np.eye(3), 20, axis=0)
    rows = random.normal(size=(60, 12)) + classes @ random.normal(size=(3, 12)) * 3.0
    others = random.normal(size=(50, 12))
    erasure = leace_beside(rows, classes, others)
    assert erasure.right.shape == (2, 12)  # one direction less than classes
    means = [(classes.T @ each) / 20 for each in (rows, erasure.apply(rows))]
    assert np.ptp(means[0], axis=0).max() > 1.0  # the control
    np.testing.assert_allclose(means[1], np.tile(rows.mean(axis=0), (3, 1)), atol=1e-9)
    two = leace_beside(rows[:40], classes[:40, 0], others)
    both = leace_beside(rows[:40], classes[:40, :2], others)  # two columns that say the same
    np.testing.assert_allclose(both.apply(rows), two.apply(rows), atol=1e-9)


def test_words_of_one_vector_are_put_in_one_place_and_others_apart_however_near_they_were() -> None:
    erasure = AffineMap.along(np.eye(2)[:1])
    same = equalized(space_of([[3.0, 4.0], [3.0, 4.0]]), erasure, [("w0", "w1")])
    np.testing.assert_allclose([same["w0"], same["w1"]], [[0.0, 4.0]] * 2, atol=1e-6)
    near = equalized(space_of([[3.0, 4.0], [3.00001, 4.0]]), erasure, [("w0", "w1")])
    np.testing.assert_allclose([near["w0"], near["w1"]], [[-3.0, 4.0], [3.0, 4.0]], atol=1e-4)


def test_half_precision_takes_a_strength() -> None:
    halves = X.astype(np.float16)
    erased = AffineMap.of(ROTATION).apply(halves, strength=0.25)
    assert erased.dtype == np.float16
    np.testing.assert_allclose(erased[:, 0], 0.75 * X[:, 0], atol=2e-3)
    np.testing.assert_array_equal(erased[:, 1:], halves[:, 1:])
