"""One measured figure, and how to take it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

__all__ = ["Measurement", "exponent", "peak_bytes", "seconds"]


@dataclass(frozen=True)
class Measurement:
    """A measured figure, and the bar it must reach, if any."""

    what: str
    value: float
    unit: str  # "×" for a ratio in one run, "s", "MB", …
    bar: str = ""  # "≤ 2.5", "≥ 200"; empty if the figure is only reported
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the figure meets its bar; None if it has none."""
        if not self.bar:
            return None
        sign, bound = self.bar.split()
        return self.value <= float(bound) if sign == "≤" else self.value >= float(bound)


def seconds(act: Callable[[], object], *, repeats: int = 5) -> float:
    """Return the median wall-clock time of a few runs."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        act()
        times.append(perf_counter() - start)
    return float(np.median(times))


def peak_bytes(act: Callable[[], object]) -> int:
    """Return the peak memory of Python and NumPy above the start."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def exponent(sizes: Sequence[int], figures: Sequence[float]) -> float:
    """Return the power of the size that the figures grow with, by least squares in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(figures), 1)[0])
