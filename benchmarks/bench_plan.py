"""A plan for very many vectors: the rate of this machine, the cost model checked on it, and what it says then.

The model: n vectors of d numbers of b bytes take max(n d b / B, 2 n d² / F) seconds on a worker that reads B bytes and
computes F operations a second; the statistics, 8 d (d + 1) bytes a class, do not grow with n. F is measured, B is not.
"""

from __future__ import annotations

from benchmarks.bench_fit import planted
from benchmarks.bench_gpu import Device, gpu_devices
from benchmarks.measurement import Measurement, exponent, seconds
from densray.rotations import DensRay

__all__ = ["main"]

_WIDTH, _BYTES = 768, 4
_WORKERS, _READING = 64, 5e9  # assumed
_SIZES = (25_000, 50_000, 100_000, 200_000)


def _operations(n: float) -> float:
    """Return the operations of a plain fit: one product of the rows with themselves."""
    return 2.0 * n * _WIDTH**2


def _on_processor() -> tuple[float, float]:
    """Return operations a second, and the exponent of the time over n."""
    taken = []
    for size in _SIZES:
        X, y = planted(size, _WIDTH)
        taken.append(seconds(lambda X=X, y=y: DensRay(1).fit(X, y), repeats=3))  # type: ignore[misc]
    return _operations(_SIZES[-1]) / taken[-1], exponent(_SIZES, taken)


def _on(device: Device) -> tuple[float, float]:
    """Return the same for a GPU, with twenty times the rows."""
    sizes = [20 * size for size in _SIZES]
    X, y = device.rows(sizes[-1], _WIDTH)
    taken = [device.seconds(lambda n=n: DensRay(1).fit(X[:n], y[:n])) for n in sizes]  # type: ignore[misc]
    return _operations(sizes[-1]) / taken[-1], exponent(sizes, taken)


def _lines(name: str, rate: float, growth: float) -> list[Measurement]:
    note = f"time grows with n to the {growth:.2f}, 1 expected"
    found = [Measurement(f"plan: plain DensRay, d = {_WIDTH}, {name}", rate / 1e9, "GFLOP/s", note=note)]
    for power in (9, 10, 11, 12):
        reading = 10.0**power * _WIDTH * _BYTES / (_READING * _WORKERS)
        arithmetic = _operations(10.0**power) / (rate * _WORKERS)
        bound = "reading" if reading > arithmetic else "arithmetic"
        note = f"{_WORKERS} such workers that read 5 GB/s each, assumed; reading {reading:.3g} s; bound by {bound}"
        what = f"plan: 10^{power} vectors, d = {_WIDTH}, {name}: arithmetic"
        found.append(Measurement(what, arithmetic, "s", note=note))
    return found


def main() -> list[Measurement]:
    """Return the rates measured, and what the model says of 10⁹ to 10¹² vectors."""
    found = _lines("processor", *_on_processor())
    for device in gpu_devices():
        found += _lines(f"GPU, {device.name}", *_on(device))
    return found
