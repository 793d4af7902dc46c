"""Additive moments: sums over rows equal what the rows themselves say, however they are cut."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from densray import DensRay, MeanDifference
from densray import moments as moments_module
from densray.moments import ClassMoments, MomentParts
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
    for label, group in found.groups.items():
        part, charge = X[y == label], weight[y == label] if weighted else np.ones(int((y == label).sum()))
        mean = np.average(part, axis=0, weights=charge)
        assert group.weight == pytest.approx(charge.sum())
        np.testing.assert_allclose(group.mean, mean, rtol=1e-13)
        if scatter:
            np.testing.assert_allclose(group.scatter, (part - mean).T @ ((part - mean) * charge[:, None]), atol=1e-9)
        else:
            assert group.scatter is None


def test_a_class_missing_from_a_block_is_no_group(rows: Rows) -> None:
    X, y, _ = rows
    for scatter in (True, False):
        assert list(ClassMoments.of(X[y > 0], y[y > 0], (-1.0, 1.0), scatter=scatter).groups) == [1.0]


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
        assert [group.scatter for group in rotation.moments_.groups.values()] == [None, None]
        np.testing.assert_allclose(rotation.components_, expected.components_, atol=1e-12)
    fit_blocks(DensRay(1), labelled_blocks(X, y, rows=100), checkpoint=tmp_path / "densray.npz")
    with np.load(tmp_path / "mean.npz") as ours, np.load(tmp_path / "densray.npz") as control:
        assert not [name for name in ours.files if name.endswith("scatter")]
        assert [name for name in control.files if name.endswith("scatter")]


def test_a_checkpoint_with_scatter_is_taken_up(rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints of earlier versions hold the scatter of a mean difference too."""
    X, y, _ = rows
    path = tmp_path / "fit.npz"
    with monkeypatch.context() as earlier:
        earlier.setattr(MeanDifference, "moment_parts", MomentParts(scatter=True, squares=False))
        fit_blocks(MeanDifference(), labelled_blocks(X[:400], y[:400], rows=100), checkpoint=path)
    with np.load(path) as file:
        assert [name for name in file.files if name.endswith("scatter")]
    resumed = fit_blocks(MeanDifference(), labelled_blocks(X, y, rows=100), checkpoint=path)
    np.testing.assert_allclose(resumed.components_, MeanDifference().fit(X, y).components_, atol=1e-12)


def test_rows_far_from_the_origin_keep_their_mean_difference_in_float32(rows: Rows) -> None:
    X, y, _ = rows
    far = X + 1000.0
    narrow = MeanDifference().fit(far.astype(np.float32), y).components_[0]
    np.testing.assert_allclose(narrow, MeanDifference().fit(far, y).components_[0], atol=1e-4)


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(vector / np.linalg.norm(vector))
