"""Figure 1, whole: six sizes, 40 samples, four methods. Also ridge against the support vector machines in one run."""

from __future__ import annotations

import time

from benchmarks.measurement import Measurement, seconds
from densray import Lexicon, load_space
from densray.axes._protocol import Protocol, TrainTest
from densray.axes._stability import evaluate_stability
from densray.datasets import load_lexicon
from densray.errors import DataError

__all__ = ["main"]


def main() -> list[Measurement]:
    """Return the time of figure 1, and the time of an SVR fit over that of a ridge fit."""
    space = load_space("googlenews-26k")
    try:
        lexicon: Lexicon = load_lexicon("bwk")
    except DataError:
        return []  # concreteness ratings are not at hand
    wall, processor = time.perf_counter(), time.process_time()
    result = evaluate_stability(space, lexicon)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    protocol = Protocol()
    training = TrainTest.of(space, lexicon, protocol=protocol).training
    fits = {
        method: seconds(lambda method=method: protocol.rotation(method).fit(training.X, training.y), repeats=2)
        for method in ("ridge", "svr")
    }
    words = f"{result.n_training:,} concreteness words"
    return [
        Measurement(f"figure 1 whole, {words}", wall, "s", "≤ 120", f"{processor:.0f} s of processor time"),
        Measurement(f"SVR over ridge, {words}", fits["svr"] / fits["ridge"], "×", "≥ 5"),
    ]
