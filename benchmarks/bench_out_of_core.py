"""Fitting a file larger than memory should be: peak memory beyond the start, time, and a kill in the middle.

Writes a file of 12 GB (``DENSRAY_BENCHMARK_GB``) to the temporary folder and deletes it at the end. Every fit runs in a
process of its own, so that its peak is its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measurement import Measurement
from densray._files import release_pages

__all__ = ["main"]

WIDTH = 300
GIGABYTES = float(os.environ.get("DENSRAY_BENCHMARK_GB", "12"))

_FIT = """
import json, os, resource, signal, sys, time
import numpy as np
from pathlib import Path
from densray import DensRay
from densray.scale import fit_blocks, labelled_blocks

way, folder, stop = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
small = np.random.default_rng(0).normal(size=(40_000, 300)).astype(np.float32)
DensRay(1).fit(small, np.sign(small[:, 0]))  # libraries are loaded, their threads have their stacks
del small
X, y = np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy")
start = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
began = time.perf_counter()

def watch(done, total):
    if stop and done >= stop * total:
        os.kill(os.getpid(), signal.SIGKILL)

if way == "fit":
    rotation = DensRay(1).fit(X, y)
else:
    rotation = fit_blocks(
        DensRay(1), labelled_blocks(X, y), checkpoint=folder / f"{way}.npz", interval=2.0, progress=watch
    )
taken = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
axis = [value.hex() for value in rotation.components_[0].tolist()]
print(json.dumps({"beyond": peak - start, "seconds": taken, "axis": axis}))
"""


def _write_rows(folder: Path) -> int:
    """Write rows of a repeated pattern and their labels; return how many."""
    rows = int(GIGABYTES * 1e9 / (4 * WIDTH)) // 10_000 * 10_000
    random = np.random.default_rng(0)
    pattern = random.normal(size=(10_000, WIDTH)).astype(np.float32)
    labels = np.sign(pattern[:, 0] + random.normal(size=10_000))
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float32, shape=(rows, WIDTH))
    for start in range(0, rows, 10_000):
        X[start : start + 10_000] = pattern
        release_pages(X)
    X.flush()
    np.save(folder / "y.npy", np.tile(labels, rows // 10_000))
    return rows


def _fit(way: str, folder: Path, *, stop: float = 0.0) -> dict[str, object] | None:
    """Return the figures of a fit in its own process; None if it was killed."""
    command = [sys.executable, "-c", _FIT, way, str(folder), str(stop)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if stop and process.returncode < 0:
        return None
    if process.returncode:
        raise RuntimeError(process.stderr)
    figures: dict[str, object] = json.loads(process.stdout)
    return figures


def main() -> list[Measurement]:
    """Measure fits of a file of many gigabytes."""
    with tempfile.TemporaryDirectory(prefix="densray-") as name:
        folder = Path(name)
        rows = _write_rows(folder)
        size = (folder / "X.npy").stat().st_size / 1e9
        what = f"{size:.1f} GB of vectors on disk, {rows:,} × {WIDTH}"
        measurements = []
        whole: dict[str, dict[str, object]] = {}
        for way in ("fit", "fit_blocks"):
            report = _fit(way, folder)
            assert report is not None
            whole[way] = report
            note = f"{report['seconds']:.0f} s"
            beyond = float(str(report["beyond"])) / 1e9
            measurements.append(Measurement(f"{what}: {way}, memory beyond the start", beyond, "GB", "≤ 1", note))
        killed = _fit("resumed", folder, stop=0.6)
        resumed = _fit("resumed", folder)
        assert killed is None
        assert resumed is not None
        same = resumed["axis"] == whole["fit_blocks"]["axis"]
        note = f"the rest took {resumed['seconds']:.0f} s of {whole['fit_blocks']['seconds']:.0f} s"
        measurements.append(
            Measurement(f"{what}: killed at 60 % and resumed, same bits (1 = yes)", same, "", "≥ 1", note)
        )
    return measurements
