"""Analogies: all five published columns on 80,000 words, the rate against the obvious way, and the same on a GPU."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ortho_group

from benchmarks.devices import gpu_copies
from benchmarks.measurement import Measurement, peak_bytes
from densray import WordSpace, load_space
from densray.analogies import AnalogySet
from densray.analogy import AnalogyResult, IntCos, LRCos, Solver, compare_solvers
from densray.datasets import load_analogies
from densray.errors import DataError

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from analogy_oracle import COLUMNS, solve

__all__ = ["main", "widened"]

_SIZE = 80_000
_OBVIOUS_QUERIES = 2


def widened(space: WordSpace, size: int) -> WordSpace:
    """Return the space with rotated copies of itself behind its words, until it has `size` words."""
    vectors, words = [space.vectors], list(space.words)
    copy = 0
    while len(words) < size:
        copy += 1
        rotation = ortho_group.rvs(space.width, random_state=copy).astype(np.float32)
        vectors.append(space.vectors @ rotation)
        words += [f"{word}#{copy}" for word in space.words]
    return WordSpace(words[:size], np.vstack(vectors)[:size], name=f"{space.name}, widened to {size:,}")


def _columns(space: WordSpace) -> list[Solver]:
    return [
        *(IntCos(space, rotation=rotation, cosine=cosine)
          for rotation in ("densray-unit", "svm") for cosine in ("original", "complement")),
        LRCos(space),
    ]  # fmt: skip


def _sets() -> list[AnalogySet]:
    sets = [load_analogies("google")]
    try:
        sets.append(load_analogies("bats"))
    except DataError:
        print("BATS is missing (set DENSRAY_DATA): Google only", file=sys.stderr)
    return sets


def _obvious(space: WordSpace) -> float:
    """Return the seconds of one query by refitting, rotating the vocabulary and sorting it, for all five columns."""
    category = load_analogies("google")["gram7-past-tense"]
    start = time.perf_counter()
    for column in COLUMNS:
        solve(space, category, column, most=_OBVIOUS_QUERIES)
    return (time.perf_counter() - start) / _OBVIOUS_QUERIES


def _on_gpu(space: WordSpace, sets: list[AnalogySet], host: list[AnalogyResult]) -> list[Measurement]:
    """Return the time on one GPU with each installed array library, and how many hits differ from NumPy."""
    measurements = []
    names = " + ".join(one.name for one in sets)
    for library, vectors, wait in gpu_copies(space.vectors):
        times = []
        for _ in range(4):  # the first run warms up
            start = time.perf_counter()
            results = _solve(space, sets, vectors=vectors)
            wait()
            times.append(time.perf_counter() - start)
        what = f"five analogy columns, {names}, 80k × 300, one GPU, {library} float32"
        measurements.append(Measurement(what, min(times[1:]), "s", "≤ 2", f"{times[0]:.2f} s the first time"))
        most = max(_differing(ours, theirs) for ours, theirs in zip(results, host, strict=True))
        measurements.append(
            Measurement(f"analogies, {library}: most hits of a category that differ from NumPy's", most, "", "≤ 1")
        )
    return measurements


def _differing(ours: AnalogyResult, theirs: AnalogyResult) -> float:
    """Return the largest number of queries of one category that only one of two results gets right."""
    pairs = zip(ours.asked(), theirs.asked(), strict=True)
    return max(float(np.abs(np.subtract(one.hits, other.hits)).sum()) for one, other in pairs)


def _solve(space: WordSpace, sets: list[AnalogySet], vectors: Any = None) -> list[AnalogyResult]:
    """Return the results of every column on every set."""
    return [
        result
        for one in sets
        for result in compare_solvers(space, one, _columns(space), protocol="paper", k=1, vectors=vectors)
    ]


def main() -> list[Measurement]:
    """Measure the five columns on the processor and, if there is one, on a GPU."""
    space = widened(load_space("googlenews-26k"), _SIZE)
    sets = _sets()
    start, processor = time.perf_counter(), time.process_time()
    results = _solve(space, sets)
    elapsed, processor = time.perf_counter() - start, time.process_time() - processor
    queries = sum(one.pairs for result in results for one in result.asked()) // len(_columns(space))
    names = " + ".join(one.name for one in sets)
    obvious = _obvious(space)
    peak = peak_bytes(lambda: _solve(space, sets)) / 1e6
    note = (
        f"{queries} queries, {processor:.0f} s CPU, {peak:.0f} MB in addition to the space: "
        "googlenews-26k and rotated copies"
    )
    return [
        Measurement(f"five analogy columns, {names}, 80k × 300", elapsed, "s", "≤ 60", note),
        Measurement(
            "queries a second, against refitting, rotating and sorting", obvious * queries / elapsed, "×", "≥ 100",
            f"{1000 * elapsed / queries:.1f} ms a query and five columns, the obvious way {obvious:.2f} s",
        ),
        *_on_gpu(space, sets, results),
    ]  # fmt: skip
