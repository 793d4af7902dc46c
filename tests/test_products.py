"""Products, eigenvectors and sums near the machine's limit: the same numbers as by the plain way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from densray import Densifier, LinearRotation, MeanDifference
from densray import _arrays as arrays
from densray._arrays import joined_scatter, scatter_parts
from densray.rotations import _eigenvectors, _ridge
from densray.rotations._densifier_solvers import spread
from densray.rotations._eigenvectors import lanczos, leading_eigenvectors


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
def test_the_first_axis_of_a_wide_matrix_has_all_its_digits(library: str) -> None:
    random_values = np.random.default_rng(1).normal(size=799)
    A, Q = symmetric(np.append(random_values, 9.0))
    if library == "torch":
        A = pytest.importorskip("torch", reason="torch is not installed").asarray(A)
    for toward in (None, Q[:, 3], Q[:, -1]):  # another eigenvector does not lead astray
        values, axes, signals = leading_eigenvectors(A, 1, 1e-16, toward=toward)
        assert values[0] == pytest.approx(9.0, abs=1e-10)
        assert abs(axes[0] @ Q[:, -1]) == pytest.approx(1.0, abs=1e-14)
        assert signals == 1


def test_eigenvalues_too_close_for_the_steps_are_left_to_the_whole_decomposition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    A, _ = symmetric(1.0 + np.linspace(0.0, 1e-7, 300))
    monkeypatch.setattr(_eigenvectors, "LANCZOS_STEPS", 16)
    assert lanczos(A) is None
    values, axes, *_ = leading_eigenvectors(A, 1, 1e-16)
    assert values[0] == pytest.approx(1.0 + 1e-7, abs=1e-12)
    assert np.linalg.norm(A @ axes[0] - values[0] * axes[0]) < 1e-12


@pytest.mark.parametrize(
    "values", [[0.0] * 99 + [2.0], [-1.0] * 50 + [-0.5] * 50, [0.0] * 100], ids=["rank 1", "negative", "zero"]
)
def test_degenerate_matrices_give_a_unit_eigenvector(values: list[float]) -> None:
    A, _ = symmetric(values)
    found, axes, *_ = leading_eigenvectors(A, 1, 1e-16)
    assert found[0] == pytest.approx(max(values), abs=1e-12)
    assert np.linalg.norm(axes[0]) == pytest.approx(1.0)
    assert np.linalg.norm(A @ axes[0] - max(values) * axes[0]) < 1e-12


def test_the_scatter_by_parts_is_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X = torch.asarray(np.random.default_rng(0).normal(size=(40, 29)))
    monkeypatch.setattr(arrays, "PART_COLUMNS", 7)  # four parts of unlike widths
    np.testing.assert_allclose(np.asarray(joined_scatter(scatter_parts(X))), np.asarray(X.T @ X), atol=1e-12)


@pytest.mark.parametrize("library", ["numpy", "torch"])  # CuPy's names are NumPy's
@pytest.mark.parametrize("rows", [63, 64, 200])
def test_a_few_factors_in_batches_are_the_product(rows: int, library: str) -> None:
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    random = np.random.default_rng(0)
    factors, X = random.normal(size=(2, rows)), random.normal(size=(rows, 5))
    found = arrays.product_in_one_read(xp.asarray(factors), xp.asarray(X), 32)
    np.testing.assert_allclose(np.asarray(found), factors @ X, atol=1e-12)


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
    np.testing.assert_allclose(np.asarray(spread(torch.asarray(s), torch.asarray(u))), spread(s, u), atol=1e-10)


@pytest.mark.parametrize("mean", [0.0, 1e4])
def test_a_common_mean_is_taken_off_before_it_eats_the_difference(mean: float) -> None:
    X, y = planted(3000, 10)
    rows = (X + mean).astype(np.float32)
    exact = MeanDifference().fit(rows.astype(np.float64), y).components_[0]
    assert np.linalg.norm(MeanDifference().fit(rows, y).components_[0] - exact) < 1e-5
