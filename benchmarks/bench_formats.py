"""Reading embedding files: ratios to gensim in the same run, peak memory, and how fast the native format reopens.

Every measurement runs in a process of its own, after a small file of the same kind has been read, so that imports
and thread pools count for nobody. Medians of five reads are compared with medians of five reads.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np

from benchmarks.measurement import Measurement
from densray.formats import write_space
from densray.formats._safetensors import write_native
from densray.space import WordSpace

__all__ = ["main"]

ROWS, WIDTH = 50_000, 300
LONG, NARROW = 341_479, 100  # the words of GloVe 6B that are in lower case
NATIVE_ROWS = 1_000_000
REPEATS = 5

_MEASURE = """
    import json, sys, time
    small, large, who = sys.argv[1:4]
    binary = large.endswith(".bin")
    if who == "gensim":
        from gensim.models import KeyedVectors
        read = lambda path: KeyedVectors.load_word2vec_format(path, binary=binary)
    else:
        from densray.formats import read_space as read
    def peak():  # not ru_maxrss, which a process inherits from the one that started it
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    read(small)
    before = peak()
    start, processor = time.perf_counter(), time.process_time()
    space = read(large)
    row = {"seconds": time.perf_counter() - start, "processor": time.process_time() - processor,
           "memory": peak() - before}
    if large.endswith(".densray"):
        start = time.perf_counter()
        assert space["w123456"].shape == (300,) and "missing" not in space
        row["lookup"] = time.perf_counter() - start
    print(json.dumps(row))
"""


def _run_once(small: Path, large: Path, who: str) -> dict[str, float]:
    """Return seconds, processor seconds and bytes of one read in a fresh process."""
    program = [sys.executable, "-c", textwrap.dedent(_MEASURE), str(small), str(large), who]
    process = subprocess.run(program, check=True, capture_output=True, text=True)
    return dict(json.loads(process.stdout))


def _median(small: Path, large: Path, who: str) -> dict[str, float]:
    """Return the median of each figure over several reads."""
    runs = [_run_once(small, large, who) for _ in range(REPEATS)]
    return {key: float(np.median([run[key] for run in runs])) for key in runs[0]}


def _space(rows: int, width: int = WIDTH) -> WordSpace:
    vectors = np.random.default_rng(0).normal(size=(rows, width)).astype(np.float32)
    return WordSpace.unchecked([f"w{row}" for row in range(rows)], vectors)


def _against_gensim(folder: Path) -> list[Measurement]:
    """Return how text and binary compare with gensim."""
    measurements = []
    for name, ending, bar, rows, width in (
        ("word2vec text", ".txt", "≥ 20", ROWS, WIDTH),
        ("word2vec text", ".txt", "", LONG, NARROW),
        ("word2vec binary", ".bin", "≥ 2", ROWS, WIDTH),
    ):
        large, small = _space(rows, width), _space(20, width)
        matrix = large.vectors.nbytes
        files = [write_space(space, folder / f"{space.vectors.shape[0]}x{width}{ending}") for space in (small, large)]
        ours, theirs = (_median(*files, who) for who in ("densray", "gensim"))
        what, ratio = f"{name}, {rows:,} × {width}", theirs["seconds"] / ours["seconds"]
        memory, note = ours["memory"] / matrix, f"{ours['seconds']:.2f} s against {theirs['seconds']:.2f} s"
        measurements.append(Measurement(f"{what}, faster than gensim", ratio, "×", bar, note))
        ratio = theirs["processor"] / ours["processor"]
        note = f"processor time {ours['processor']:.2f} s against {theirs['processor']:.2f} s"
        measurements.append(Measurement(f"{what}, less processor time than gensim", ratio, "×", "", note))
        note = f"gensim {theirs['memory'] / matrix:.2f} ×"
        measurements.append(Measurement(f"{what}, peak memory over the matrix", memory, "×", "≤ 1.5", note))
    return measurements


def _native(folder: Path) -> Measurement:
    """Return how fast a large native file reopens, and finds a word."""
    small, path = write_space(_space(20), folder / "small.densray"), folder / "large.densray"
    rng = np.random.default_rng(0)
    step = 50_000
    pieces = (
        ([f"w{row}" for row in range(start, start + step)], rng.random((step, WIDTH), dtype=np.float32))
        for start in range(0, NATIVE_ROWS, step)
    )
    with path.open("wb") as file:
        write_native(file, pieces, rows=NATIVE_ROWS, width=WIDTH, name="large")
    usual = _median(small, path, "densray")
    what, note = f"native format, {NATIVE_ROWS:,} × {WIDTH}, reopened", f"first look-up {usual['lookup'] * 1000:.1f} ms"
    return Measurement(what, usual["seconds"], "s", "≤ 0.05", note)


def main() -> list[Measurement]:
    """Return what was measured."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_against_gensim(Path(folder)), _native(Path(folder))]
