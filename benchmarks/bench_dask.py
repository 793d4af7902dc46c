"""A Dask cluster of two workers: the time, and the most memory a worker holds beyond its start, counted in blocks.

The figure has no bar: two runs differed by 1.8 blocks, probably made ahead by the scheduler. A test counts blocks held.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measurement import Measurement
from densray.rotations import DensRay, MeanDifference

__all__ = ["main"]

_BLOCKS, _ROWS, _WIDTH = 40, 65_536, 300


def _block(number: int) -> Any:
    """Return one block of rows, made where it is needed."""
    rng = np.random.default_rng(number)
    rows = rng.standard_normal((_ROWS, _WIDTH), dtype=np.float32)
    rows[:, 0] += _labels(number)
    return rows


def _labels(number: int) -> Any:
    return np.where(np.random.default_rng(10_000 + number).random(_ROWS) < 0.4, 1.0, -1.0)


def _peak() -> int:
    """Return the most bytes this process has held."""
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def main() -> list[Measurement]:
    """Return what was measured; nothing where Dask is not installed."""
    if find_spec("distributed") is None:
        return []
    import dask.array as da
    from dask import delayed
    from distributed import Client, LocalCluster

    size = f"{_BLOCKS * _ROWS:,} × {_WIDTH} float32, two workers"
    measurements = []
    for what, make in (("plain DensRay", lambda: DensRay(1)), ("mean difference", MeanDifference)):
        rows = da.concatenate(
            [da.from_delayed(delayed(_block)(one), (_ROWS, _WIDTH), np.float32) for one in range(_BLOCKS)]
        )
        labels = da.concatenate([da.from_delayed(delayed(_labels)(one), (_ROWS,), float) for one in range(_BLOCKS)])
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            make().fit(rows[:1000], labels[:1000])  # libraries are loaded
            before = client.run(_peak)
            start = time.perf_counter()
            make().fit(rows, labels)
            elapsed = time.perf_counter() - start
            after = client.run(_peak)
        most = max(after[worker] - before[worker] for worker in before) / (4 * _ROWS * _WIDTH)
        note = f"{elapsed:.1f} s, {4e-9 * _BLOCKS * _ROWS * _WIDTH:.1f} GB in {_BLOCKS} blocks"
        measurements.append(
            Measurement(f"Dask, {what}, {size}: most a worker holds, in blocks", most, "blocks", note=note)
        )
    return measurements
