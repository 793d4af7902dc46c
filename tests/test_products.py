"""Products, eigenvectors and sums near the machine's limit: the same numbers as by the plain way."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.base import clone

from densray import Densifier, DensRay, LinearRotation, MeanDifference
from densray import _arrays as arrays
from densray import moments as moments_module
from densray._arrays import joined_scatter, scatter_parts, to_host
from densray.errors import DeviceMemoryError
from densray.rotations import WhitenedDensRay, _basis, _densray, _ridge
from densray.rotations._basis import leading_axis, principal_axes
from densray.rotations._densifier_solvers import spread


def planted(n: int, width: int, seed: int = 0, mean: float = 0.0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < 0.4, 1.0, -1.0)
    X = random.normal(size=(n, width)) * np.linspace(0.5, 1.5, width)
    X[:, 0] += y
    X[:, 1] += 0.5 * y
    return X + mean, y


def symmetric(values: Any, seed: int = 0) -> tuple[Any, Any]:
    """Return a symmetric matrix of these eigenvalues, ascending, and its eigenvectors as columns."""
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    return (Q * np.sort(values)) @ Q.T, Q


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_one_axis_is_found_without_the_others(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random_values = np.random.default_rng(1).normal(size=799)
    A, Q = symmetric(np.append(random_values, 9.0))
    if library == "torch":
        A = pytest.importorskip("torch", reason="torch is not installed").asarray(A)
    monkeypatch.setattr(_basis, "symmetric_eigh", lambda _: pytest.fail("the whole decomposition was made"))
    for toward in (None, Q[:, 3], Q[:, -1]):  # another eigenvector does not lead astray
        values, axes, signals, gap = principal_axes(A, 1, 1e-16, toward=toward)
        assert values[0] == pytest.approx(9.0, abs=1e-10)
        assert abs(axes[0] @ Q[:, -1]) == pytest.approx(1.0, abs=1e-14)
        assert signals == 1
        assert gap == pytest.approx(9.0 - np.sort(random_values)[-1], rel=1e-3)


def test_eigenvalues_too_close_for_the_steps_are_left_to_the_whole_decomposition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    A, _ = symmetric(1.0 + np.linspace(0.0, 1e-7, 300))
    monkeypatch.setattr(_basis, "LANCZOS_STEPS", 16)
    assert leading_axis(A) is None
    values, axes, *_ = principal_axes(A, 1, 1e-16)
    assert values[0] == pytest.approx(1.0 + 1e-7, abs=1e-12)
    assert np.linalg.norm(A @ axes[0] - values[0] * axes[0]) < 1e-12


def test_the_gap_of_a_matrix_of_low_rank_is_found_where_each_operation_takes_time() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for values, gap in (([3.0], 3.0), ([1.0, 3.0], 2.0), ([0.5, 1.0, 3.0], 2.0)):
        A, Q = symmetric([0.0] * (400 - len(values)) + values)
        for toward in (None, Q[:, -1], Q[:, -1] + 1e-3 * Q[:, 0]):
            found = leading_axis(torch.asarray(A), toward)
            assert found is not None
            assert found[0] == pytest.approx(3.0)
            assert found[2] == pytest.approx(gap, rel=1e-6)
    found = leading_axis(torch.eye(400, dtype=torch.float64))
    assert found is not None
    assert found[2] == 0.0  # one direction says nothing of the others


@pytest.mark.parametrize(
    "values", [[0.0] * 99 + [2.0], [-1.0] * 50 + [-0.5] * 50, [0.0] * 100], ids=["rank 1", "negative", "zero"]
)
def test_degenerate_matrices_give_a_unit_eigenvector(values: list[float]) -> None:
    A, _ = symmetric(values)
    found, axes, *_ = principal_axes(A, 1, 1e-16)
    assert found[0] == pytest.approx(max(values), abs=1e-12)
    assert np.linalg.norm(axes[0]) == pytest.approx(1.0)
    assert np.linalg.norm(A @ axes[0] - max(values) * axes[0]) < 1e-12


def test_the_scatter_by_parts_is_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X = torch.asarray(np.random.default_rng(0).normal(size=(40, 29)))
    monkeypatch.setattr(arrays, "PART_COLUMNS", 7)  # four parts of unlike widths
    np.testing.assert_allclose(to_host(joined_scatter(scatter_parts(X))), to_host(X.T @ X), atol=1e-12)


def test_two_bfloat16_parts_carry_sixteen_bits() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X = np.random.default_rng(0).normal(size=(500, 40))
    exact = X.T @ X
    rows = torch.asarray(X.astype(np.float32))
    error = np.abs(to_host(scatter_parts(rows.clone(), fast=True)[0]) - exact).max() / np.abs(exact).max()
    plain = to_host((rows.bfloat16().float().T @ rows.bfloat16().float()).double())
    assert error < 2**-16 < np.abs(plain - exact).max() / np.abs(exact).max()
    np.testing.assert_array_equal(scatter_parts(X, fast=True)[0], exact)  # NumPy multiplies as it does


@pytest.mark.parametrize("library", ["numpy", "torch"])  # CuPy's names are NumPy's
@pytest.mark.parametrize("rows", [63, 64, 200])
def test_a_few_factors_in_batches_are_the_product(rows: int, library: str) -> None:
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    random = np.random.default_rng(0)
    factors, X = random.normal(size=(2, rows)), random.normal(size=(rows, 5))
    found = arrays.product_in_one_read(xp.asarray(factors), xp.asarray(X), 32)
    np.testing.assert_allclose(to_host(found), factors @ X, atol=1e-12)


def test_rows_that_are_not_centred_are_summed_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for name, value in (("HALVES_AT_ONCE", 4), ("HALVES_AT_MOST", 16), ("UNCENTRED_AT_MOST", 8)):
        monkeypatch.setattr(arrays, name, value)
    counts: list[int] = []
    made = arrays._products
    monkeypatch.setattr(arrays, "_products", lambda *given: (counts.append(len(given[0]) // given[2]), made(*given))[1])
    X = torch.asarray(np.random.default_rng(0).normal(size=(48, 12))).float()
    scatter_parts(X.bfloat16())
    assert counts == [6]  # of 8 rows each
    scatter_parts(X.clone(), fast=True)
    assert counts == [6, 4, 4]  # of 12


def test_sums_of_half_precision_keep_the_digits_of_a_large_mean() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X = torch.asarray(1000.0 + np.random.default_rng(0).normal(size=(40_500, 3))).bfloat16()
    np.testing.assert_allclose(to_host(arrays.column_sums(X)), to_host(X.double().sum(0)), rtol=1e-7)
    np.testing.assert_allclose(to_host(scatter_parts(X)[0]), to_host(X.double().T @ X.double()), rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bfloat16"])
def test_the_fast_path_says_its_angle_and_keeps_to_it(kind: str, weighted: bool) -> None:
    """Rows as language models have them: a common mean, and a few huge coordinates."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = planted(20_000, 48, mean=3.0)
    X[:, 7] = 40.0 * X[:, 7] - 300.0
    rows = torch.asarray(X).to(getattr(torch, kind))
    weight = torch.asarray(np.random.default_rng(1).uniform(0.5, 2.0, size=len(y))) if weighted else None
    labels = torch.asarray(y)
    given = [part if part is None else part.clone() for part in (rows, labels, weight)]
    exact = DensRay(1).fit(rows.double(), labels, weight).components_[0]
    fitted = DensRay(1, precision="fast").fit(rows, labels, weight)
    for before, after in zip(given, (rows, labels, weight), strict=True):
        assert before is after or torch.equal(before, after)  # nothing is written into what was given
    apart = np.degrees(2 * np.arcsin(np.linalg.norm(fitted.components_[0] - exact) / 2))
    assert 0.0 < apart <= max(4.0 * fitted.fast_angle_, 0.002)  # float32 sums of the means are off by as much
    assert fitted.fast_angle_ <= 0.01
    assert fitted.transform(rows).dtype == rows.dtype
    assert DensRay(1).fit(X, y).fast_angle_ is None


def test_the_fast_path_is_left_where_it_turns_the_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain bfloat16, without the low part, is what it must not be."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = planted(6000, 20)
    X[:, 3] *= 300.0
    rows, labels = torch.asarray(X.astype(np.float32)), torch.asarray(y)
    exact = DensRay(1).fit(rows, labels).components_
    made = arrays._products
    monkeypatch.setattr(arrays, "_products", lambda left, right, size: made(left, right, size) * float(left is right))
    used = DensRay(1, precision="fast").fit(rows, labels)
    assert used.fast_angle_ > 0.01
    np.testing.assert_array_equal(used.components_, exact)
    monkeypatch.setattr(_densray, "LARGEST_FAST_ANGLE", 90.0)
    taken = DensRay(1, precision="fast").fit(rows, labels)
    apart = np.degrees(2 * np.arcsin(np.linalg.norm(taken.components_ - exact) / 2))
    assert 0.01 < apart <= 2.0 * taken.fast_angle_


def test_the_angle_is_taken_of_products_made_as_all_others_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """How tensor cores add up depends on how many products are made at once."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = planted(4096, 20)
    monkeypatch.setattr(arrays, "HALVES_AT_ONCE", 64)
    monkeypatch.setattr(arrays, "HALVES_AT_MOST", 64)
    monkeypatch.setitem(arrays.CONVERTED_BLOCK_ENTRIES, "as given", 512 * 20)  # blocks of eight products
    counts: list[int] = []
    made = arrays._products
    monkeypatch.setattr(arrays, "_products", lambda *given: (counts.append(len(given[0]) // given[2]), made(*given))[1])
    kept: list[tuple[int, ...]] = []
    angle = _densray.fast_angle
    monkeypatch.setattr(
        _densray, "fast_angle", lambda s, *a: (kept.extend(tuple(one.rows.shape) for one in s), angle(s, *a))[1]
    )
    monkeypatch.setattr(_basis, "FAST_SAMPLES", 3)
    DensRay(1, precision="fast").fit(torch.asarray(X).bfloat16(), torch.asarray(y))
    assert counts[-2:] == [8, 8] == counts[:2]
    assert kept == [(3, 64, 20)] * 2


def test_a_device_too_small_for_the_fast_path_multiplies_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = planted(2000, 20)
    rows, labels = torch.asarray(X).bfloat16(), torch.asarray(y)
    expected = DensRay(1).fit(rows, labels)
    for raised in (torch.OutOfMemoryError("CUDA out of memory"), DeviceMemoryError("too little memory")):
        monkeypatch.setattr(_densray.FastSample, "of_class", Mock(side_effect=raised))
        found = DensRay(1, precision="fast").fit(rows, labels)
        np.testing.assert_array_equal(found.components_, expected.components_)
        assert found.fast_angle_ is None


@pytest.mark.parametrize("few", [100, 300])
def test_the_angle_of_a_small_class_beside_a_large_one_is_that_of_products_as_large_as_used(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums on tensor cores are rounded towards zero, the more the longer they are: here after each sixteen rows."""
    torch = pytest.importorskip("torch", reason="torch is not installed")

    def rounded(sums: Any) -> Any:
        near = sums.float()
        return torch.where(near.double().abs() > sums.abs(), torch.nextafter(near, torch.zeros_like(near)), near)

    def products(left: Any, right: Any, size: int) -> Any:
        one, two = (part.double().reshape(-1, size, part.shape[1]) for part in (left, right))
        total = torch.zeros(one.shape[0], one.shape[2], two.shape[2])
        for start in range(0, size, 16):
            total = rounded(total.double() + one[:, start : start + 16].mT @ two[:, start : start + 16])
        return total

    random = np.random.default_rng(few)
    y = np.where(np.arange(20_000 + few) < few, 1.0, -1.0)
    X = 10.0 + random.normal(size=(len(y), 24)) * np.where(np.arange(24) == 1, 1.3, 1.0)
    X[:, 0] += 0.3 * y
    rows, labels = torch.asarray(X).bfloat16(), torch.asarray(y)
    exact = DensRay(1, precision="float64").fit(rows, labels).components_
    monkeypatch.setattr(arrays, "_products", products)
    refused = DensRay(1, precision="fast").fit(rows, labels)
    monkeypatch.setattr(_densray, "LARGEST_FAST_ANGLE", 90.0)
    taken = DensRay(1, precision="fast").fit(rows, labels)
    apart = np.degrees(2 * np.arcsin(np.linalg.norm(taken.components_ - exact) / 2))
    assert 0.01 < apart < taken.fast_angle_ == refused.fast_angle_
    np.testing.assert_allclose(refused.components_, exact, atol=1e-5)


@pytest.mark.parametrize(
    ("fast", "width", "rows"),
    [
        ("as given", 768, 11 * 8 * 1024),  # eight products at a time
        ("as given", 1536, 31 * 1536),  # too few for that: whole products
        ("as given", 8192, 4 * 2048),
        ("as given", 2**20, 70),  # not one product
        ("as given", 2**27, 1),
        ("split", 768, 5 * 8 * 1024),
        ("split", 4096, 2 * 4096),
        (None, 768, 2**16),
        (None, 5000, 3 * 2**24 // 5000),
    ],
)
def test_blocks_hold_whole_products_of_the_fast_path(fast: str | None, width: int, rows: int) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X = arrays.ConvertedRows(torch.empty((1, 1)).bfloat16().expand(9, width), torch.float32, torch.float32, fast=fast)
    assert arrays.block_rows(X) == rows


def test_half_precision_that_fails_as_given_is_split_where_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = planted(2000, 20)
    rows, labels = torch.asarray(X).bfloat16(), torch.asarray(y)
    tried: list[str | None] = []
    gather = DensRay._gather
    monkeypatch.setattr(DensRay, "_gather", lambda self, X, *a: (tried.append(X.fast), gather(self, X, *a))[1])
    monkeypatch.setattr(_densray, "LARGEST_FAST_ANGLE", -1.0)
    DensRay(1, precision="fast").fit(rows, labels)
    monkeypatch.setattr(_densray, "SPLIT_WIDTH", 20)
    DensRay(1, precision="fast").fit(rows, labels)
    assert tried == ["as given", None, "as given", "split", None]


def test_other_methods_take_fast_for_float32() -> None:
    X, y = planted(300, 9)
    for method in (MeanDifference(), WhitenedDensRay(), Densifier(), DensRay(1, normalize_differences=True)):
        found = clone(method).set_params(precision="fast").fit(X, y)
        np.testing.assert_allclose(found.components_, clone(method).fit(X, y).components_, atol=1e-3)
        assert found.transform(X).dtype == np.float64


@pytest.mark.parametrize("scores", [False, True], ids=["classes", "scores"])
def test_the_mean_leverage_chooses_the_penalty_of_each_row_left_out(
    scores: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(4):
        X, y = planted(4000, 20, seed=seed, mean=2.0)
        labels = X[:, 0] + np.random.default_rng(seed).normal(size=4000) if scores else y
        found = LinearRotation("ridge").fit(X, labels)
        with monkeypatch.context() as patch:
            patch.setattr(_ridge, "MANY_ROWS", 10**9)
            expected = LinearRotation("ridge").fit(X, labels)
        assert found.penalty_ == pytest.approx(expected.penalty_)
        np.testing.assert_allclose(found.components_, expected.components_, atol=1e-12)


def test_ridge_decomposes_where_the_rows_lie() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = planted(500, 30, mean=5.0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=500)
    for weights in (None, weight):
        expected = LinearRotation("ridge").fit(X, y, sample_weight=weights)
        found = LinearRotation("ridge").fit(torch.asarray(X), torch.asarray(y), sample_weight=weights)
        np.testing.assert_allclose(found.components_, expected.components_, atol=1e-10)
        assert found.penalty_ == pytest.approx(expected.penalty_)


@pytest.mark.parametrize("scores", [False, True], ids=["classes", "scores"])
def test_densifier_climbs_where_the_rows_lie(scores: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = planted(2000, 12)
    labels = X[:, 0] + np.random.default_rng(0).normal(size=2000) if scores else y
    expected = Densifier().fit(X, labels)
    brought: list[int] = []
    numpy = torch.Tensor.numpy
    monkeypatch.setattr(torch.Tensor, "numpy", lambda tensor: (brought.append(tensor.numel()), numpy(tensor))[1])
    found = Densifier().fit(torch.asarray(X), torch.asarray(labels))
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-4)
    assert max(brought) < 2000


def test_rank_sums_of_tensors_are_those_of_arrays() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    random = np.random.default_rng(0)
    s, u = np.round(random.normal(size=400), 1), random.normal(size=400)  # many ties
    np.testing.assert_allclose(to_host(spread(torch.asarray(s), torch.asarray(u))), spread(s, u), atol=1e-10)


@pytest.mark.parametrize("mean", [0.0, 1e4])
def test_a_common_mean_is_taken_off_before_it_eats_the_difference(mean: float) -> None:
    X, y = planted(3000, 10)
    rows = (X + mean).astype(np.float32)
    exact = MeanDifference().fit(rows.astype(np.float64), y).components_[0]
    assert np.linalg.norm(MeanDifference().fit(rows, y).components_[0] - exact) < 1e-5


def test_plain_sums_are_enough_without_a_common_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = planted(3000, 10)
    read: list[bool] = []
    sums = moments_module._sums
    monkeypatch.setattr(
        moments_module, "_sums", lambda *a, centred: (read.append(centred), sums(*a, centred=centred))[1]
    )
    MeanDifference().fit(X, y)
    assert read == [False]
    MeanDifference().fit(X + 1e4, y)
    assert read == [False, False, True]
