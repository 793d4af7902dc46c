"""float16 and bfloat16 rows, on every road: converted a block at a time, returned in the type they came in."""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from densray import Densifier, DensRay, LinearRotation, MeanDifference, SequentialRotation
from densray import _arrays as arrays
from densray.errors import DeviceMemoryError, VectorError
from densray.removers import leace
from densray.rotations import PairDirection
from densray.scale import fit_blocks, labelled_blocks

#: Makes an array of one half type of a NumPy array.
Make = Callable[[Any], Any]
ROWS, WIDTH = 600, 12
KINDS = ("numpy.float16", "ml_dtypes.bfloat16", "torch.float16", "torch.bfloat16")
METHODS = (
    DensRay(1), DensRay(center_labels=False), DensRay(1, normalize_differences=True),
    MeanDifference(), LinearRotation("ridge"),
    LinearRotation("ridge", n_components=2), LinearRotation("svm"), LinearRotation("logistic"), Densifier(),
    Densifier(solver="sgd", max_iter=60, random_state=0), PairDirection(), SequentialRotation(),
    DensRay(1, standardize=True), LinearRotation("ridge", standardize=True), SequentialRotation(standardize=True),
    Densifier(standardize=True), DensRay(1, normalize_differences=True, standardize=True),
)  # fmt: skip


@pytest.fixture(params=KINDS)
def half(request: pytest.FixtureRequest) -> Make:
    library, name = request.param.split(".")
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    dtype = getattr(module, name)
    return (lambda X: torch_of(X).to(dtype)) if library == "torch" else (lambda X: np.asarray(X).astype(dtype))


def torch_of(X: Any) -> Any:
    return importlib.import_module("torch").asarray(X)


def labels_of(y: Any, like: Any) -> Any:
    return y if isinstance(like, np.ndarray) else torch_of(y)


def in_float32(rows: Any) -> Any:
    return rows.astype(np.float32) if isinstance(rows, np.ndarray) else np.asarray(rows.float().cpu())


@pytest.fixture(scope="module")
def sample() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    y = np.where(random.random(ROWS) < 0.4, 1.0, -1.0)
    X = random.normal(size=(ROWS, WIDTH))
    X[:, 3] += y
    X += np.linspace(-8.0, 8.0, WIDTH)  # a common mean that half precision must not eat up
    return X, y


@pytest.mark.filterwarnings("ignore:n_components=:RuntimeWarning", "ignore:the sgd Densifier")
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_every_method_finds_the_axes_of_the_same_rows_in_float32(method: Any, half: Make, sample: Any) -> None:
    X, y = sample
    rows = half(X)
    expected = clone(method).fit(in_float32(rows), y).components_[0]
    found = clone(method).fit(rows, labels_of(y, rows)).components_[0]
    flat = isinstance(method, Densifier)  # its maximum is, and both were rounded in another order
    np.testing.assert_allclose(found, expected, atol=1e-3 if flat else 2e-5)


def test_weights_and_scores_travel_with_half_precision(half: Make, sample: Any) -> None:
    X, _ = sample
    rows = half(X)
    scores, weight = X[:, 3] + X[:, 1], np.linspace(0.0, 2.0, ROWS)
    for method in (DensRay(1), MeanDifference(), LinearRotation("ridge")):
        expected = clone(method).fit(in_float32(rows), scores, sample_weight=weight).components_[0]
        found = clone(method).fit(rows, labels_of(scores, rows), sample_weight=weight).components_[0]
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_type_that_went_in_comes_out(half: Make, sample: Any) -> None:
    X, y = sample
    rows = half(X)
    rotation = DensRay().fit(rows, labels_of(y, rows))
    erasure = leace(rows, y)
    for act in (rotation.transform, rotation.erase, rotation.inverse_transform, erasure.apply):
        made, expected = act(rows), act(in_float32(rows))
        assert type(made) is type(rows)
        assert made.dtype == rows.dtype
        assert expected.dtype == np.float32
        np.testing.assert_array_equal(in_float32(made), in_float32(half(expected)))  # rounded once, at the end
    assert rotation.score(rows, y) == pytest.approx(rotation.score(in_float32(rows), y))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_precision_that_is_asked_for_comes_out(precision: str, half: Make, sample: Any) -> None:
    X, y = sample
    rows = half(X)
    rotation = DensRay(precision=precision).fit(rows, labels_of(y, rows))
    for made in (rotation.transform(rows), rotation.erase(rows), rotation.inverse_transform(rows)):
        assert str(made.dtype).removeprefix("torch.") == precision
    np.testing.assert_allclose(rotation.components_[0], DensRay(1).fit(in_float32(rows), y).components_[0], atol=1e-5)


def test_leace_takes_half_precision(half: Make, sample: Any) -> None:
    X, y = sample
    rows = half(X)
    found, expected = leace(rows, y), leace(in_float32(rows), y)
    np.testing.assert_allclose(found.left @ found.right, expected.left @ expected.right, atol=1e-5)


def test_only_a_block_at_a_time_is_converted(half: Make, sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = sample
    rows = half(X)
    monkeypatch.setattr(arrays, "BLOCK_ROWS", 50)
    monkeypatch.setattr(arrays, "CONVERTED_BLOCK_ENTRIES", 50 * WIDTH)
    monkeypatch.setattr("densray.moments.BLOCK_ROWS", 50)
    monkeypatch.setattr("densray.moments.REFERENCE_ROWS", 25)
    converted: list[int] = []
    read = arrays.ConvertedRows.__getitem__
    monkeypatch.setattr(
        arrays.ConvertedRows,
        "__getitem__",
        lambda self, key: (made := read(self, key), converted.append(int(np.prod(made.shape))))[0],
    )
    for method in (DensRay(1), MeanDifference(), LinearRotation("ridge")):
        clone(method).fit(rows, labels_of(y, rows)).erase(rows)
    assert leace(rows, y).apply(rows).dtype == rows.dtype
    assert 0 < max(converted) <= 50 * WIDTH


def test_blocks_and_updates_take_half_precision(half: Make, sample: Any) -> None:
    X, y = sample
    rows = half(X)
    labels = labels_of(y, rows)
    expected = DensRay().fit(in_float32(rows), y).components_[0]
    parts = [(rows[start : start + 150], labels[start : start + 150]) for start in range(0, ROWS, 150)]
    updated = DensRay()
    for part in parts:
        updated.partial_fit(*part)
    for found in (fit_blocks(DensRay(), parts), updated):
        np.testing.assert_allclose(found.components_[0], expected, atol=1e-5)


def test_memory_maps_stay_on_disk_in_half_precision(sample: Any, tmp_path: Path) -> None:
    X, y = sample
    np.save(tmp_path / "X.npy", X.astype(np.float16))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for method in (DensRay(1), MeanDifference(), LinearRotation("ridge")):
        found = clone(method).fit(mapped, y)
        expected = clone(method).fit(np.asarray(mapped, dtype=np.float32), y)
        np.testing.assert_allclose(found.components_, expected.components_, atol=1e-5)
    assert found.erase(mapped[:9]).dtype == np.float16
    streamed = fit_blocks(MeanDifference(), labelled_blocks(tmp_path / "X.npy", y, rows=100))
    np.testing.assert_allclose(streamed.components_, MeanDifference().fit(mapped, y).components_, atol=1e-5)


def test_dask_arrays_of_half_precision_come_back_as_such(half: Make, sample: Any) -> None:
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    X, y = sample
    rows = half(X)
    if not isinstance(rows, np.ndarray):
        pytest.skip("Dask holds NumPy arrays")
    collection = da.from_array(rows, chunks=(100, -1))
    rotation = DensRay(1).fit(collection, y)
    np.testing.assert_allclose(rotation.components_, DensRay(1).fit(in_float32(rows), y).components_, atol=1e-5)
    erased = rotation.erase(collection)
    assert erased.dtype == rows.dtype
    np.testing.assert_array_equal(in_float32(erased.compute()), in_float32(rotation.erase(rows)))


@pytest.mark.parametrize("dtype", ["F16", "BF16", "F32"])
def test_safetensors_files_of_any_precision_are_read_in_blocks(dtype: str, sample: Any, tmp_path: Path) -> None:
    X, y = sample
    numbers = X.astype(np.float16) if dtype == "F16" else X.astype(np.float32)
    if dtype == "BF16":
        numbers = (numbers.view(np.uint32) >> 16).astype(np.uint16)
    path = tmp_path / "states.safetensors"
    size = numbers.nbytes
    header = {
        "hidden": {"dtype": dtype, "shape": [ROWS, WIDTH], "data_offsets": [0, size]},
        "labels": {"dtype": "F64", "shape": [ROWS], "data_offsets": [size, size + y.nbytes]},
    }
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + numbers.tobytes() + y.tobytes())
    expected = DensRay(1).fit(X, y).components_[0]
    for labels in ("labels", y):
        found = fit_blocks(DensRay(1), labelled_blocks(path, labels, rows=100, vectors="hidden")).components_[0]
        assert found @ expected > 0.9999


def test_numbers_beyond_float16_are_named_on_the_way_out(sample: Any) -> None:
    X, y = sample
    rows = (X * 4000.0).astype(np.float16)
    rotation = DensRay().fit(rows, y)
    rows[7] = 60_000.0
    with pytest.raises(VectorError, match=r"row 7 of the result has a number beyond 65,504.*precision='float32'"):
        rotation.transform(rows)
    assert np.isfinite(DensRay(precision="float32").fit(rows, y).transform(rows)).all()
    rows[5, 2] = np.inf  # what a larger number became when it was stored
    with pytest.raises(VectorError, match=r"NaN or infinity in 1 of 600 rows \(first: row 5\)"):
        DensRay().fit(rows, y)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_row_that_is_not_finite_is_named_whatever_the_type_and_block(
    value: float, half: Make, sample: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = sample
    monkeypatch.setattr(arrays, "BLOCK_ROWS", 50)
    monkeypatch.setattr(arrays, "CONVERTED_BLOCK_ENTRIES", 50 * WIDTH)
    broken = X.copy()
    broken[577, 4] = value
    rows = half(broken)
    labels = labels_of(y, rows)
    fitted = DensRay(1).fit(half(X), labels)
    for act in (
        lambda: DensRay().fit(rows, labels),
        lambda: MeanDifference().fit(rows, labels),
        lambda: LinearRotation("ridge").fit(rows, labels),
        lambda: Densifier().fit(rows, labels),
        lambda: DensRay().partial_fit(rows, labels),
        lambda: fitted.transform(rows),
        lambda: fitted.erase(rows),
    ):
        with pytest.raises(VectorError, match=r"NaN or infinity in 1 of 600 rows \(first: row 577\)"):
            act()
    with pytest.raises(VectorError, match=r"block 0: .*NaN or infinity.*row 577"):
        fit_blocks(DensRay(), [(rows, labels)])


def test_zero_rows_are_warned_of_and_counted_by_their_first_column(half: Make, sample: Any) -> None:
    X, y = sample
    X = X.copy()
    X[10:13] = 0.0
    X[20, 0] = 0.0  # zero there alone
    with pytest.warns(RuntimeWarning, match=r"3 of 600 rows of X are zero vectors \(first: row 10\)"):
        DensRay(1).fit(half(X), labels_of(y, half(X)))
    with pytest.warns(RuntimeWarning, match="3 of 600 rows"):
        fit_blocks(DensRay(1), [(half(X), labels_of(y, half(X)))])


def test_integers_of_a_device_are_refused_by_name() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(VectorError, match=r"int64; float16, bfloat16, float32 or float64 is needed"):
        DensRay().fit(torch.ones((4, 2), dtype=torch.int64), torch.ones(4))


class OutOfMemoryError(RuntimeError):
    """What PyTorch and CuPy call theirs."""


def test_a_device_out_of_memory_gets_smaller_blocks_and_then_a_named_error(
    sample: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = (torch_of(part) for part in sample)
    rows = X.to(torch.bfloat16)
    monkeypatch.setattr(arrays, "FEWEST_BLOCK_ROWS", 16)
    expected = DensRay(1).fit(rows, y).components_
    limit = 100
    seen: list[int] = []
    read = arrays.ConvertedRows.__getitem__

    def scarce(self: Any, key: Any) -> Any:
        made = read(self, key)
        if np.prod(made.shape) > limit * WIDTH:
            raise OutOfMemoryError("no memory left")
        seen.append(int(np.prod(made.shape)))
        return made

    monkeypatch.setattr(arrays.ConvertedRows, "__getitem__", scarce)
    np.testing.assert_allclose(MeanDifference().fit(rows, y).components_, expected, atol=0.2)
    assert 0 < max(seen) <= limit * WIDTH
    limit = 0
    with pytest.raises(DeviceMemoryError, match=r"too little memory for 16 rows of width 12 at a time"):
        MeanDifference().fit(rows, y)


def test_finite_rows_raise_no_warning(half: Make, sample: Any) -> None:
    X, y = sample
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DensRay().fit(half(X), labels_of(y, half(X))).transform(half(X))
