"""The same axes from NumPy, PyTorch and any array of the standard, and the same kind of array out again."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest
from sklearn.base import clone

from densray._arrays import is_foreign, to_host
from densray.errors import LabelError, VectorError
from densray.rotations import Densifier, DensRay, LinearRotation, MeanDifference, PairDirection, SequentialRotation
from densray.scale import fit_blocks

ON_DEVICE = [
    DensRay(),
    DensRay(normalize_differences=True),
    DensRay(center_labels=False),
    DensRay(normalize_differences=True, center_labels=False),
    MeanDifference(),
    LinearRotation("ridge", n_components=2),
    SequentialRotation(),
]
THROUGH_HOST = [LinearRotation("svm"), Densifier(), PairDirection()]


@pytest.fixture(params=["strict", "torch"])
def kind(request: pytest.FixtureRequest):
    """A function that makes an array of another kind."""
    if request.param == "strict":
        return array_api_strict.asarray
    return pytest.importorskip("torch", reason="torch is not installed").asarray


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(200) < 70, 1.0, -1.0)
    X = rng.normal(size=(200, 9))
    X[:70, 2] += 1.5
    X[5] = X[6]
    X[90] = X[91] + 1e-9
    return X, y


@pytest.mark.parametrize("rotation", ON_DEVICE + THROUGH_HOST, ids=repr)
@pytest.mark.parametrize("scores", [False, True], ids=["classes", "scores"])
def test_the_axes_are_those_of_numpy(rotation, scores, kind, sample):
    X, y = sample
    labels = X[:, 1] + y if scores and not rotation._classes_only else y
    ours = clone(rotation).fit(kind(X), kind(labels))
    np.testing.assert_allclose(ours.components_, clone(rotation).fit(X, labels).components_, atol=1e-9)
    assert ours.score(kind(X), kind(labels)) == pytest.approx(clone(rotation).fit(X, labels).score(X, labels))


@pytest.mark.parametrize("rotation", ON_DEVICE[:-1], ids=repr)  # several concepts have gaps, sorted out on the host
@pytest.mark.parametrize("scores", [False, True], ids=["classes", "scores"])
def test_nothing_of_the_length_of_the_rows_comes_to_the_host(rotation, scores, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X = np.random.default_rng(0).normal(size=(4000, 9))
    labels = X[:, 1] + X[:, 2] if scores else np.sign(X[:, 1] + 0.5)
    brought = []
    numpy = torch.Tensor.numpy
    monkeypatch.setattr(torch.Tensor, "numpy", lambda tensor: (brought.append(tensor.numel()), numpy(tensor))[1])
    rows = torch.asarray(X)
    fitted = clone(rotation).fit(rows, torch.asarray(labels))
    fitted.erase(rows)
    fitted.inverse_transform(fitted.transform(rows))
    assert 9 <= max(brought) < len(X)  # d × d numbers, or what ridge has of its penalties


@pytest.mark.parametrize("rotation", ON_DEVICE, ids=repr)
def test_weights_and_host_labels_travel_with_the_rows(rotation, kind, sample):
    X, y = sample
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=200)
    expected = clone(rotation).fit(X, y, sample_weight=weight).components_
    np.testing.assert_allclose(
        clone(rotation).fit(kind(X), kind(y), sample_weight=kind(weight)).components_, expected, atol=1e-9
    )
    np.testing.assert_allclose(clone(rotation).fit(kind(X), y, sample_weight=weight).components_, expected, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_kind_and_precision_come_out(kind, sample, dtype):
    X, y = sample
    array = kind(X.astype(dtype))
    rotation = DensRay().fit(array, kind(y))
    for out in (
        rotation.transform(array),
        rotation.erase(array),
        rotation.inverse_transform(rotation.transform(array)),
    ):
        assert type(out) is type(array)
        assert out.dtype == array.dtype
    np.testing.assert_allclose(np.asarray(rotation.erase(array)), rotation.erase(X), atol=1e-5)


def test_float32_axes_stay_within_the_stated_bound(kind, sample):
    """Docs: float32 products turn an axis by less than 1e-4."""
    X, y = (np.delete(part, 90, axis=0) for part in sample)  # a pair 1e-9 apart is another one in float32
    for rotation in (DensRay(1), DensRay(1, normalize_differences=True), MeanDifference(), LinearRotation("ridge")):
        narrow = clone(rotation).fit(kind(X.astype(np.float32)), kind(y)).components_[0]
        assert np.linalg.norm(narrow - clone(rotation).fit(X, y).components_[0]) < 1e-4


def test_blocks_of_tensors_add_up(kind, sample):
    X, y = sample
    rotation = DensRay()
    for rows in (slice(0, 20), slice(20, 130), slice(130, 200)):
        rotation.partial_fit(kind(X[rows]), kind(y[rows]))
    np.testing.assert_allclose(rotation.components_[0], DensRay().fit(X, y).components_[0], atol=1e-10)


def test_small_device_blocks_change_nothing(kind, sample, monkeypatch):
    from densray import _arrays, pairs

    X, y = sample
    monkeypatch.setattr(_arrays, "DEVICE_BLOCK_ENTRIES", 300)
    monkeypatch.setattr(pairs, "DEVICE_BLOCK_ROWS", 32)
    for rotation in (DensRay(), DensRay(normalize_differences=True), LinearRotation("ridge")):
        found = clone(rotation).fit(kind(X), kind(y)).components_[0]
        np.testing.assert_allclose(found, clone(rotation).fit(X, y).components_[0], atol=1e-9)


def test_bad_arrays_are_named(kind, sample):
    X, y = sample
    broken = X.copy()
    broken[11, 2] = np.nan
    with pytest.raises(VectorError, match=r"NaN or infinity in 1 of 200 rows \(first: row 11\)"):
        DensRay().fit(kind(broken), kind(y))
    with pytest.raises(VectorError, match="one vector per row"):
        DensRay().fit(kind(X[0]), kind(y))
    with pytest.raises(VectorError, match="float32 or float64 is needed"):
        DensRay().fit(kind(np.ones((4, 2), dtype=np.int64)), kind(y[:4]))
    with pytest.raises(VectorError, match="at least 2 are needed"):
        DensRay().fit(kind(X[:1]), kind(y[:1]))
    with pytest.raises(VectorError, match="X has 4 features"):
        DensRay().fit(kind(X), kind(y)).transform(kind(X[:, :4]))
    with pytest.raises(LabelError, match="NaN or infinity"):
        DensRay().fit(kind(X), kind(np.where(y > 0, np.nan, y)))
    with pytest.raises(LabelError, match=r"shape \(200, 1\)"):
        DensRay().fit(kind(X), kind(y[:, None]))


def test_arrays_on_different_devices_are_refused(sample):
    here, labels = (array_api_strict.asarray(part) for part in sample)
    there = array_api_strict.asarray(sample[1], device=array_api_strict.Device("device1"))
    for act in (
        lambda: DensRay().fit(here, there),
        lambda: DensRay().fit(here, labels, sample_weight=abs(there)),
        lambda: DensRay().partial_fit(here, there),
        lambda: fit_blocks(DensRay(), [(here, there)]),
    ):
        with pytest.raises(VectorError, match=r"different devices .*Move them"):
            act()


def test_arrays_of_different_libraries_are_refused(sample):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = sample
    with pytest.raises(VectorError, match=r"different libraries \(array_api_strict, torch\)"):
        DensRay().fit(torch.asarray(X), array_api_strict.asarray(y))


@pytest.mark.parametrize("rotation", [DensRay(), DensRay(center_labels=False), MeanDifference()], ids=repr)
@pytest.mark.parametrize("scores", [False, True], ids=["classes", "scores"])
def test_statistics_gathered_in_different_places_merge(rotation, scores, kind, sample):
    X, y = sample
    labels = np.round(X[:, 1] + y, 1) if scores else y
    expected = clone(rotation).fit(X, labels).components_[0]
    first, second = slice(0, 200, 2), slice(1, 200, 2)
    blocks = clone(rotation).partial_fit(kind(X[first]), kind(labels[first])).partial_fit(X[second], labels[second])
    merged = clone(rotation).fit(kind(X[first]), kind(labels[first]))
    merged.merge(clone(rotation).fit(X[second], labels[second]))
    streamed = fit_blocks(clone(rotation), [(kind(X[first]), kind(labels[first])), (X[second], labels[second])])
    for found in (blocks, merged, streamed):
        np.testing.assert_allclose(found.components_[0], expected, atol=1e-9)


def test_bad_blocks_of_tensors_are_named(kind, sample):
    X, y = sample
    broken = X.copy()
    broken[107, 2] = np.inf
    parts = (slice(0, 100), slice(100, 200))
    with pytest.raises(VectorError, match=r"block 1: .*first: row 7\)"):
        fit_blocks(DensRay(), [(kind(broken[part]), kind(y[part])) for part in parts])
    with pytest.raises(VectorError, match="block 1 has vectors of width 4, the blocks before it 9"):
        fit_blocks(DensRay(), [(kind(X), kind(y)), (kind(X[:, :4]), kind(y))])
    with pytest.raises(LabelError, match=r"block 0: .*200 rows of vectors, 150 labels"):
        fit_blocks(DensRay(), [(kind(X), kind(y[:150]))])
    with pytest.raises(VectorError, match="every block is empty"):
        fit_blocks(DensRay(), [(kind(X[:0]), kind(y[:0]))])


def test_arrays_of_cupy_are_known_by_their_class(monkeypatch):
    """They have no ``__array_namespace__``, and turn into NumPy arrays only when asked."""

    class Array:
        def get(self):
            return np.ones(3)

    assert not is_foreign(Array())
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(ndarray=Array))
    assert is_foreign(Array())
    np.testing.assert_array_equal(to_host(Array()), np.ones(3))
