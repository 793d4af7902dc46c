"""The same axes everywhere: NumPy in float64 against every other place the rows may lie in, at hand on this machine.

PyTorch on the processor and on a GPU, CuPy, a memory map, blocks on disk with a checkpoint, and a Dask cluster of two
workers. One line for each place and precision: the largest distance between axes, over the methods that run there.
"""

from __future__ import annotations

import importlib
import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.bench_fit import planted
from benchmarks.devices import cupy_with_device, torch_with_device
from benchmarks.measurement import Measurement
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
#: Fits a rotation on rows and labels given by NumPy, somewhere else.
Fit = Callable[[Rotation, Any, Any], Rotation]


def _places(stack: ExitStack) -> Iterator[tuple[str, Fit, dict[str, Rotation]]]:
    """Yield what to call the place, how to fit there, and the methods that can be."""
    both = {**_ADDITIVE, **_WHOLE}
    torch, cupy = torch_with_device(), cupy_with_device()
    if importlib.util.find_spec("torch"):
        host = importlib.import_module("torch")
        yield "PyTorch, processor", lambda r, X, y: r.fit(host.tensor(X), host.tensor(y)), both
    if torch is not None:
        on_gpu = {"device": "cuda"}
        yield "PyTorch, GPU", lambda r, X, y: r.fit(torch.tensor(X, **on_gpu), torch.tensor(y, **on_gpu)), both
    if cupy is not None:
        yield "CuPy, GPU", lambda r, X, y: r.fit(cupy.asarray(X), cupy.asarray(y)), both
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="densray-")))
    yield "memory map", lambda r, X, y: r.fit(_mapped(folder, X), y), both
    yield "blocks and a checkpoint", lambda r, X, y: _in_blocks(folder, r, X, y), _ADDITIVE
    if importlib.util.find_spec("distributed"):
        yield "Dask, two workers", _on_cluster(stack), _ADDITIVE


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


def main() -> list[Measurement]:
    """Return how far apart the axes are."""
    rows, y = planted(_ROWS, _WIDTH)
    wide = rows.astype(np.float64)
    scores = np.random.default_rng(1).normal(size=_ROWS) + wide[:, 0]
    found = []
    with ExitStack() as stack:
        for place, fit, methods in _places(stack):
            for dtype, bar in ((np.float64, "≤ 1e-6"), (np.float32, "≤ 1e-4")):
                apart = {}
                for name, rotation in methods.items():
                    for kind, labels in (("classes", y.astype(np.float64)), ("scores", scores)):
                        axis = fit(clone(rotation), rows.astype(dtype), labels).components_[0]
                        expected = clone(rotation).fit(wide, labels).components_[0]
                        apart[f"{name}, {kind}"] = float(np.linalg.norm(axis - expected))
                worst = max(apart, key=lambda name: apart[name])
                what = f"axes off NumPy's in float64: {place}, {np.dtype(dtype)}"
                found.append(Measurement(what, apart[worst], "", bar, f"worst of {len(apart)}: {worst}"))
    return found
