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
    """What was measured, the figure, and the bar it must reach, where there is one."""

    what: str
    value: float
    unit: str  # "×" for a ratio in one run, "s", "MB", …
    bar: str = ""  # "≤ 2.5", "≥ 200"; empty where the figure is only told
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the figure meets its bar; None where there is none."""
        if not self.bar:
            return None
        sign, bound = self.bar.split()
        return self.value <= float(bound) if sign == "≤" else self.value >= float(bound)


def seconds(act: Callable[[], object], *, repeats: int = 5) -> float:
    """Return the median wall-clock time of a few runs."""
    taken = []
    for _ in range(repeats):
        start = perf_counter()
        act()
        taken.append(perf_counter() - start)
    return float(np.median(taken))


def peak_bytes(act: Callable[[], object]) -> int:
    """Return the most memory held at once beyond the start, of what Python and NumPy take."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def exponent(sizes: Sequence[int], figures: Sequence[float]) -> float:
    """Return the power of the size that the figures grow with, by least squares in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(figures), 1)[0])
