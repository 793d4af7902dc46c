"""One GPU: the same estimators on arrays of every library that sees one, time and memory beyond the rows."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from benchmarks.devices import cupy_with_device, torch_with_device
from benchmarks.measurement import Measurement
from densray.rotations import DensRay, LinearRotation, MeanDifference, Rotation

__all__ = ["Device", "gpu_devices", "main"]

_CASES: tuple[tuple[str, Callable[[], Rotation], int, int, str], ...] = (
    ("unit differences", lambda: DensRay(1, normalize_differences=True), 37_058, 300, "≤ 0.2"),
    ("plain DensRay", lambda: DensRay(1), 4_000_000, 768, "≤ 0.15"),
    ("mean difference", MeanDifference, 4_000_000, 768, ""),
    ("ridge", LinearRotation, 4_000_000, 768, ""),
)


class Device:
    """What differs between the libraries: making rows, waiting, and the most memory taken."""

    def __init__(self, name: str, library: Any) -> None:
        self.name = name
        self.library = library

    def rows(self, n: int, width: int) -> tuple[Any, Any]:
        """Return unit vectors of two classes that differ along the first coordinate, and their labels."""
        xp = self.library
        if self.name == "PyTorch":
            generator = xp.Generator(device="cuda").manual_seed(0)
            X = xp.randn(n, width, generator=generator, device="cuda")
            y = (xp.rand(n, generator=generator, device="cuda") < 0.4).to(xp.float64) * 2 - 1
            X[:, 0] += y.to(X.dtype)
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
        """Return the least time of a few runs on the device; the first warms up."""
        taken = []
        for _ in range(repeats + 1):
            self.wait()
            start = perf_counter()
            act()
            self.wait()
            taken.append(perf_counter() - start)
        return min(taken[1:])

    def free(self) -> None:
        """Give back what nothing holds any more."""
        cuda = self.library.cuda
        if self.name == "PyTorch":
            cuda.empty_cache()
            cuda.reset_peak_memory_stats()
        else:
            self.library.get_default_memory_pool().free_all_blocks()

    def peak(self, before: float) -> str:
        """Return the most gigabytes held beyond the rows, where the library tells."""
        if self.name != "PyTorch":
            return ""
        return f", {(self.library.cuda.max_memory_allocated() - before) / 1e9:.1f} GB beside the rows"

    def held(self) -> float:
        """Return the bytes held now."""
        return float(self.library.cuda.memory_allocated()) if self.name == "PyTorch" else 0.0


def _measure(device: Device) -> list[Measurement]:
    found = []
    for what, make, n, width, bar in _CASES:
        X, y = device.rows(n, width)
        device.free()
        before = device.held()
        taken = device.seconds(lambda X=X, y=y, make=make: make().fit(X, y))  # type: ignore[misc]
        memory = device.peak(before)
        product = device.seconds(lambda X=X: X.T @ X)  # type: ignore[misc]
        size = f"{n:,} × {width} float32"
        note = f"XᵀX alone takes {product:.4f} s{memory}"
        found.append(Measurement(f"{what}, {size}, {device.name}", taken, "s", bar, note))
        if make is MeanDifference:
            rotation = make().fit(X, y)
            for name, act in (("transform", rotation.transform), ("erase", rotation.erase)):
                again = device.seconds(lambda X=X, act=act: act(X))  # type: ignore[misc]
                found.append(Measurement(f"{name}, {size}, {device.name}", again, "s"))
        del X, y
        device.free()
    return found


def gpu_devices() -> list[Device]:
    """Return the libraries that see a GPU."""
    libraries = {"PyTorch": torch_with_device(), "CuPy": cupy_with_device()}
    return [Device(name, library) for name, library in libraries.items() if library is not None]


def main() -> list[Measurement]:
    """Return what was measured; nothing where there is no GPU."""
    return [found for device in gpu_devices() for found in _measure(device)]
