"""One GPU: every method compared with the bare arithmetic on the device, measured in the same run.

Each figure is the least of several warm runs. The note names the limit: one product XᵀX, one read of the rows, one
decomposition. It also gives the time of the same work at commit 632ccd1.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from benchmarks.devices import cupy_with_device, torch_with_device
from benchmarks.measurement import Measurement
from densray._leace import leace
from densray.rotations import Densifier, DensRay, LinearRotation, MeanDifference, Rotation

__all__ = ["Device", "gpu_devices", "main"]

#: Takes rows and labels.
Act = Callable[[Any, Any], object]


class Device:
    """What differs between the libraries: making rows, waiting, and the most memory taken."""

    def __init__(self, name: str, library: Any) -> None:
        self.name = name
        self.library = library

    def rows(self, n: int, width: int, dtype: str = "float32") -> tuple[Any, Any]:
        """Return rows of two classes, and their labels.

        Unit vectors that differ along the first coordinate; in bfloat16, rows as language models have them: a common
        mean, and a few huge coordinates.
        """
        xp = self.library
        if self.name == "PyTorch":
            generator = xp.Generator(device="cuda").manual_seed(0)
            X = xp.randn(n, width, generator=generator, device="cuda")
            y = (xp.rand(n, generator=generator, device="cuda") < 0.4).to(xp.float64) * 2 - 1
            X[:, 0] += y.to(X.dtype)
            if dtype == "bfloat16":
                X += 2.0 * xp.randn(width, generator=generator, device="cuda")
                X[:, 5:8] *= 60.0
                return X.to(xp.bfloat16), y
            X /= xp.linalg.vector_norm(X, dim=1, keepdim=True)
            return X, y
        random = xp.random.default_rng(0)
        X = random.standard_normal((n, width), dtype=xp.float32)
        y = xp.where(random.random(n) < 0.4, 1.0, -1.0)
        X[:, 0] += y
        X /= xp.linalg.norm(X, axis=1, keepdims=True)
        return X, y

    def wait(self) -> None:
        """Return when the device has nothing left to do."""
        cuda = self.library.cuda
        (cuda if self.name == "PyTorch" else cuda.Device()).synchronize()

    def seconds(self, act: Callable[[], object], *, repeats: int = 5) -> float:
        """Return the least time of runs on the device, a few or half a second of them; the first warms up."""
        times: list[float] = []
        while len(times) <= repeats or sum(times[1:]) < 0.5:
            self.wait()
            start = perf_counter()
            act()
            self.wait()
            times.append(perf_counter() - start)
        return min(times[1:])

    def free(self) -> None:
        """Free memory that is no longer used."""
        cuda = self.library.cuda
        if self.name == "PyTorch":
            cuda.empty_cache()
            cuda.reset_peak_memory_stats()
        else:
            self.library.get_default_memory_pool().free_all_blocks()

    def held(self) -> float:
        """Return the bytes in use; zero if the library does not report them."""
        return float(self.library.cuda.memory_allocated()) if self.name == "PyTorch" else 0.0

    def peak(self) -> float:
        """Return the peak number of bytes since `free`; zero if the library does not report it."""
        return float(self.library.cuda.max_memory_allocated()) if self.name == "PyTorch" else 0.0


def product(X: Any, _: Any = None) -> Any:
    """Return XᵀX."""
    return X.T @ X


def product_and_eigh(X: Any, _: Any = None) -> Any:
    """Return the eigenvectors of XᵀX, in float64."""
    A = product(X)
    return importlib.import_module("torch").linalg.eigh(A.double()) if hasattr(A, "double") else None


def one_read(X: Any, _: Any = None) -> Any:
    """Return the sum of all numbers."""
    return X.sum()


def copy(X: Any, _: Any = None) -> Any:
    """Return the rows once more: one read and one write."""
    return X.clone() if hasattr(X, "clone") else X.copy()


def float32_product(X: Any, _: Any = None) -> Any:
    """Return XᵀX of a float32 copy, a part at a time."""
    return sum(part.T @ part for part in (X[start : start + 131_072].float() for start in range(0, len(X), 131_072)))


def thirty_products(X: Any, _: Any = None) -> Any:
    """Return the last of thirty products of the rows with a vector."""
    vector = X[0]
    for _step in range(30):
        result = X @ vector
    return result


def bare_laplacian(X: Any, _: Any = None) -> Any:
    """Return Xᵀ(D - W)X over all pairs, nothing saved by symmetry and nothing checked."""
    parts = []
    for start in range(0, len(X), 8192):
        block = X[start : start + 8192]
        W = 1.0 / (2.0 - 2.0 * (block @ X.T) + 1e-6)
        parts.append((block * W.sum(1)[:, None]).T @ block - block.T @ (W @ X))
    return sum(parts)


def fits(rotation: Callable[[], Rotation]) -> Act:
    """Return what fits a new rotation to rows and labels."""
    return lambda X, y: rotation().fit(X, y)


def _eraser(fitted: Rotation) -> Act:
    return lambda X, _: fitted.erase(X)


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    what: str
    act: Act
    size: tuple[int, int]
    bar: str
    limit: Act
    limit_name: str
    before: str = ""
    dtype: str = "float32"
    everywhere: bool = True  # for CuPy too


MANY, WIDE, STATES = (4_000_000, 768), (200_000, 4096), (1_000_000, 768)
CASES = (
    Case("plain DensRay", fits(lambda: DensRay(1)), MANY, "≤ 0.115", product, "XᵀX", "0.131"),
    Case("mean difference", fits(MeanDifference), MANY, "≤ 0.008", one_read, "one read", "0.0225"),
    Case("ridge", fits(LinearRotation), MANY, "≤ 0.15", product, "XᵀX", "0.334"),
    Case("erase", lambda X, y: None, MANY, "≤ 0.02", copy, "one read and one write", "0.026"),
    Case("LEACE", leace, MANY, "", product, "XᵀX"),
    Case("plain DensRay", fits(lambda: DensRay(1)), STATES, "≤ 0.03", float32_product, "float32 XᵀX", "refused",
         "bfloat16", everywhere=False),
    Case("mean difference", fits(MeanDifference), STATES, "", one_read, "one read", "refused", "bfloat16",
         everywhere=False),
    Case("plain DensRay", fits(lambda: DensRay(1)), WIDE, "≤ 0.28", product_and_eigh, "XᵀX and eigh", "0.350",
         everywhere=False),
    Case("ridge", fits(LinearRotation), WIDE, "≤ 0.6", product_and_eigh, "XᵀX and eigh", "2.76", everywhere=False),
    Case("exact Densifier", fits(Densifier), STATES, "≤ 1.5", thirty_products, "thirty products with a vector", "53"),
    Case("unit differences", fits(lambda: DensRay(1, normalize_differences=True)), (37_058, 300), "≤ 0.035",
         bare_laplacian, "the bare Laplacian of all pairs", "0.041"),
)  # fmt: skip


def _measure(device: Device, cases: list[Case]) -> Iterator[Measurement]:
    """Yield the figures of cases on the same rows."""
    n, width = cases[0].size
    X, y = device.rows(n, width, cases[0].dtype)
    for case in cases:
        act = case.act
        if case.what == "erase":
            act = _eraser(MeanDifference().fit(X, y))
        device.free()
        before = device.held()
        elapsed = device.seconds(lambda act=act: act(X, y))  # type: ignore[misc]
        extra = (device.peak() - before) / 1e9
        limit = device.seconds(lambda case=case: case.limit(X, y))  # type: ignore[misc]
        size = f"{n:,} × {width:,} {case.dtype}"
        note = f"limit {limit:.4g} s: {case.limit_name}"
        note += f"; {case.before} s at 632ccd1" if case.before[:1].isdigit() else f"; {case.before}" * bool(case.before)
        if extra > 0:
            note += f"; {extra:.2f} GB in addition to the rows"
        yield Measurement(f"{case.what}, {size}, {device.name}", elapsed, "s", case.bar, note)
        if case.dtype == "bfloat16" and case.what.startswith("plain"):
            yield Measurement(f"{case.what}, {size}, memory in addition to the rows", extra, "GB", "≤ 0.5")
    if cases[0].size == MANY and device.name == "PyTorch":
        yield from _against_concept_erasure(device, X, y)


def _against_concept_erasure(device: Device, X: Any, y: Any) -> Iterator[Measurement]:
    """Yield the time of the library of LEACE's authors on the same rows, where it is installed."""
    try:
        eraser = importlib.import_module("concept_erasure").LeaceEraser
    except ImportError:
        return
    labels = (y > 0).long()
    size = f"{X.shape[0]:,} × {X.shape[1]:,} float32"
    yield Measurement(f"concept-erasure, LEACE, {size}: fit", device.seconds(lambda: eraser.fit(X, labels)), "s")
    fitted = eraser.fit(X, labels)
    yield Measurement(f"concept-erasure, LEACE, {size}: apply", device.seconds(lambda: fitted(X)), "s")


def gpu_devices() -> list[Device]:
    """Return the libraries that see a GPU."""
    libraries = {"PyTorch": torch_with_device(), "CuPy": cupy_with_device()}
    return [Device(name, library) for name, library in libraries.items() if library is not None]


def main() -> Iterator[Measurement]:
    """Yield the measurements; none without a GPU."""
    for device in gpu_devices():
        for size, dtype in dict.fromkeys((case.size, case.dtype) for case in CASES):
            cases = [case for case in CASES if (case.size, case.dtype) == (size, dtype)]
            cases = [case for case in cases if case.everywhere or device.name == "PyTorch"]
            if cases:
                yield from _measure(device, cases)
                device.free()
