"""The same axes everywhere: NumPy in float64 against every other place the rows may lie in, at hand on this machine.

PyTorch on the processor and on a GPU, CuPy, a memory map, blocks on disk with a checkpoint, and a Dask cluster of two
workers. One line for each place and precision: the largest distance between axes, over the methods that run there.
"""

from __future__ import annotations

import importlib
import importlib.util
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.bench_fit import planted
from benchmarks.devices import cupy_with_device, torch_with_device
from benchmarks.measurement import Measurement
from densray._arrays import to_host
from densray.rotations import DensRay, LinearRotation, MeanDifference, Rotation

__all__ = ["main"]

_ROWS, _WIDTH = 4000, 300
_ADDITIVE: dict[str, Rotation] = {
    "plain": DensRay(1),
    "plain, labels as they are": DensRay(1, center_labels=False),
    "mean difference": MeanDifference(),
}
_WHOLE: dict[str, Rotation] = {
    "unit differences": DensRay(1, normalize_differences=True),
    "ridge": LinearRotation("ridge"),
}
#: Returns a NumPy array as one of another kind.
Make = Callable[[Any], Any]
#: Fits a rotation on rows and labels given by NumPy, somewhere else.
Fit = Callable[[Rotation, Any, Any], Rotation]


@dataclass(frozen=True)
class Place:
    """Where rows may lie: its name, how to fit there, the methods that can be, and what makes an array for it."""

    name: str
    fit: Fit
    methods: Mapping[str, Rotation]
    make: Make | None = None

    @classmethod
    def of_arrays(cls, name: str, make: Make) -> Place:
        """Return the place of arrays of one library."""
        return cls(name, lambda rotation, X, y: rotation.fit(make(X), make(y)), {**_ADDITIVE, **_WHOLE}, make)


def _places(stack: ExitStack) -> Iterator[Place]:
    """Yield the places at hand."""
    torch, cupy = torch_with_device(), cupy_with_device()
    if importlib.util.find_spec("torch"):
        yield Place.of_arrays("PyTorch, processor", importlib.import_module("torch").tensor)
    if torch is not None:
        yield Place.of_arrays("PyTorch, GPU", lambda array: torch.tensor(array, device="cuda"))
    if cupy is not None:
        yield Place.of_arrays("CuPy, GPU", cupy.asarray)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="densray-")))
    yield Place("memory map", lambda rotation, X, y: rotation.fit(_mapped(folder, X), y), {**_ADDITIVE, **_WHOLE})
    yield Place("blocks and a checkpoint", lambda rotation, X, y: _in_blocks(folder, rotation, X, y), _ADDITIVE)
    if importlib.util.find_spec("distributed"):
        yield Place("Dask, two workers", _on_cluster(stack), _ADDITIVE)


def _mapped(folder: Path, X: Any) -> Any:
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def _in_blocks(folder: Path, rotation: Rotation, X: Any, y: Any) -> Rotation:
    from densray.scale import fit_blocks, labelled_blocks

    path = folder / "checkpoint.npz"
    path.unlink(missing_ok=True)
    return fit_blocks(rotation, labelled_blocks(X, y, rows=700), checkpoint=path)


def _on_cluster(stack: ExitStack) -> Fit:
    import dask.array as da
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    stack.enter_context(cluster)
    stack.enter_context(Client(cluster))
    return lambda rotation, X, y: rotation.fit(da.from_array(X, chunks=(700, -1)), da.from_array(y, chunks=700))


def _compare(place: Place, dtype: type, bar: str, rows: Any, labels: Mapping[str, Any]) -> Measurement:
    """Return the largest distance of an axis found in a place from that of NumPy in float64."""
    distances = {}
    for name, rotation in place.methods.items():
        for kind, y in labels.items():
            axis = place.fit(clone(rotation), rows.astype(dtype), y).components_[0]
            expected = clone(rotation).fit(rows.astype(np.float64), y).components_[0]
            distances[f"{name}, {kind}"] = float(np.linalg.norm(axis - expected))
    worst = max(distances, key=lambda name: distances[name])
    what = f"axes off NumPy's in float64: {place.name}, {np.dtype(dtype)}"
    return Measurement(what, distances[worst], "", bar, f"worst of {len(distances)}: {worst}")


def _compare_half(place: Place, rows: Any, labels: Mapping[str, Any]) -> Measurement:
    """Return the largest distance of an axis found in float16 rows from NumPy's in float64, on the same numbers."""
    half = rows.astype(np.float16)
    distances = {}
    for name, rotation in place.methods.items():
        for kind, y in labels.items():
            axis = place.fit(clone(rotation), half, y).components_[0]
            expected = clone(rotation).fit(half.astype(np.float64), y).components_[0]
            distances[f"{name}, {kind}"] = float(np.linalg.norm(axis - expected))
    worst = max(distances, key=lambda name: distances[name])
    note = f"worst of {len(distances)}: {worst}"
    return Measurement(f"axes off NumPy's in float64: {place.name}, float16", distances[worst], "", "≤ 1e-4", note)


def _compare_rows(place: Place, make: Make, dtype: type, bar: str, rows: Any, y: Any) -> Measurement:
    """Return how far rows rotated and erased in a place are from NumPy's; another kind of array is an error."""
    here, there = rows.astype(np.float64), make(rows.astype(dtype))
    rotation = DensRay(normalize_differences=True).fit(here, y)
    distances = []
    for act in (rotation.transform, rotation.erase, lambda X: rotation.inverse_transform(rotation.transform(X))):
        result = act(there)
        if type(result) is not type(there) or result.dtype != there.dtype or result.device != there.device:
            raise TypeError(f"{type(result)} of {result.dtype} came out of {type(there)} of {there.dtype}")
        distances.append(float(np.abs(to_host(result) - act(here)).max()))
    return Measurement(f"rows rotated, erased, rotated back: {place.name}, {np.dtype(dtype)}", max(distances), "", bar)


def main() -> list[Measurement]:
    """Return how far apart the axes are."""
    rows, y = planted(_ROWS, _WIDTH)
    labels = {"classes": y.astype(np.float64), "scores": np.random.default_rng(1).normal(size=_ROWS) + rows[:, 0]}
    measurements = []
    with ExitStack() as stack:
        for place in _places(stack):
            for dtype, bar in ((np.float64, "≤ 1e-6"), (np.float32, "≤ 1e-4")):
                measurements.append(_compare(place, dtype, bar, rows, labels))
                if place.make is not None:
                    measurements.append(_compare_rows(place, place.make, dtype, bar, rows, labels["classes"]))
            measurements.append(_compare_half(place, rows, labels))
    return measurements
