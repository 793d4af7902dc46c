"""A plan for very many vectors: the rate of this machine, the cost model checked on it, and its predictions.

The model: a fit takes a time that does not grow (the eigenproblem, starting up), and for n vectors of d numbers of b
bytes max(n d b / B, 2 n d² / F) seconds on a worker that reads B bytes and computes F operations a second. F is
measured as the slope over n; B is assumed. The statistics, 8 d (d + 1) bytes a class, do not grow with n.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.bench_fit import planted
from benchmarks.bench_gpu import Device, gpu_devices
from benchmarks.measurement import Measurement, seconds
from densray.rotations import DensRay

__all__ = ["main"]

_WIDTH, _BYTES = 768, 4
_WORKERS, _READING = 64, 5e9  # assumed
_SIZES = (50_000, 100_000, 200_000, 400_000)
_DEVICE_SIZES = (1_000_000, 2_000_000, 4_000_000, 8_000_000)


def _operations(n: float) -> float:
    """Return the operations of a plain fit: one product of the rows with themselves."""
    return 2.0 * n * _WIDTH**2


def _on_processor() -> list[float]:
    """Return the seconds of a plain fit at each size."""
    times = []
    for size in _SIZES:
        X, y = planted(size, _WIDTH)
        times.append(seconds(lambda X=X, y=y: DensRay(1).fit(X, y), repeats=3))  # type: ignore[misc]
    return times


def _on(device: Device) -> list[float]:
    """Return the same for a GPU, with more rows."""
    device.free()
    X, y = device.rows(_DEVICE_SIZES[-1], _WIDTH)
    return [device.seconds(lambda n=n: DensRay(1).fit(X[:n], y[:n])) for n in _DEVICE_SIZES]  # type: ignore[misc]


def _lines(name: str, sizes: Sequence[int], times: Sequence[float]) -> list[Measurement]:
    """Return the rate, how well the model predicts the largest size from the others, and its predictions for more."""
    slope, start = np.polyfit(sizes[:-1], times[:-1], 1)
    predicted = (start + slope * sizes[-1]) / times[-1]
    slope, start = np.polyfit(sizes, times, 1)
    rate = _operations(1) / slope
    what = f"plan: plain DensRay, d = {_WIDTH}, {name}"
    measurements = [
        Measurement(
            f"{what}, rate", rate / 1e9, "GFLOP/s", note=f"and {max(start, 0.0):.2g} s that do not grow with n"
        ),
        Measurement(
            f"{what}, predicted over measured",
            predicted,
            "×",
            note=f"{sizes[-1]:,} vectors, {times[-1]:.3g} s, from fewer",
        ),
    ]
    for power in (9, 10, 11, 12):
        reading = 10.0**power * _WIDTH * _BYTES / (_READING * _WORKERS)
        arithmetic = _operations(10.0**power) / (rate * _WORKERS)
        bound = "reading" if reading > arithmetic else "arithmetic"
        note = f"{_WORKERS} such workers that read 5 GB/s each, assumed; reading {reading:.3g} s; bound by {bound}"
        measurements.append(Measurement(f"plan: 10^{power} vectors, {name}: arithmetic", arithmetic, "s", note=note))
    return measurements


def main() -> list[Measurement]:
    """Return the measured rates, and the predictions of the model for 10⁹ to 10¹² vectors."""
    measurements = _lines("processor", _SIZES, _on_processor())
    for device in gpu_devices():
        measurements += _lines(f"GPU, {device.name}", _DEVICE_SIZES, _on(device))
    return measurements
