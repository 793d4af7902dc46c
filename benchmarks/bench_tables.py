"""Tables: scoring and cleaning a parquet file, as ratios to reading it and to reading plus writing it, and peak memory.

Every measurement runs in a process of its own, after a small file of the same kind. The jobs take turns, and each
figure is the median of its turns. `DENSRAY_TABLE_ROWS` sets the rows of the large file (default 2,000,000 of 384
numbers).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.measurement import Measurement

__all__ = ["main"]

ROWS, WIDTH = int(os.environ.get("DENSRAY_TABLE_ROWS", "2000000")), 384
PIECE = 50_000
REPEATS = 3

_MEASURE = """
    import json, sys, time
    from pathlib import Path
    small, large, folder, what = sys.argv[1:5]
    target = Path(folder) / "written.parquet"

    def run(path):
        if what == "polars reads":
            import polars
            polars.read_parquet(path)
        elif what == "pyarrow reads":
            import pyarrow.parquet
            pyarrow.parquet.read_table(path)
        elif what == "polars copies":
            import polars
            polars.read_parquet(path).write_parquet(target)
        elif what == "pyarrow copies":
            import pyarrow.parquet
            pyarrow.parquet.write_table(pyarrow.parquet.read_table(path), target)
        elif what == "densray scores":
            from densray import Axis, open_table
            from densray.axes import write_scores
            write_scores(Axis.load(Path(folder) / "axis.safetensors"), open_table(path), target)
        elif what == "densray fits":
            from densray.axes import fit_table
            fit_table(path, "source").save(Path(folder) / "fitted.safetensors", judge=False, overwrite=True)
        elif what == "densray judges":
            from densray.axes import fit_table
            fit_table(path, "source").save(Path(folder) / "fitted.safetensors", overwrite=True)
        elif what == "densray learns":
            from densray import Erasure
            Erasure.fit_table(path, "source").remains()
        else:
            from densray import Erasure, open_table
            Erasure.load(Path(folder) / "erasure.safetensors").apply(open_table(path), output=target)
        if target.exists():
            target.unlink()

    def peak():  # not ru_maxrss, which a process inherits from the one that started it
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

    run(small)
    before = peak()
    start, used = time.perf_counter(), time.process_time()
    run(large)
    taken = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - used}
    print(json.dumps({**taken, "memory": peak() - before}))
"""


def _measure_all(folder: Path, jobs: list[str], repeats: int = REPEATS) -> dict[str, dict[str, float]]:
    """Return seconds, processor time and bytes of each job: the medians of a few processes, one after the other."""
    program = [
        sys.executable,
        "-c",
        textwrap.dedent(_MEASURE),
        str(folder / "small.parquet"),
        str(folder / "large.parquet"),
    ]
    runs: dict[str, list[dict[str, float]]] = {what: [] for what in jobs}
    for _ in range(repeats):
        for what in jobs:
            process = subprocess.run([*program, str(folder), what], check=True, capture_output=True, text=True)
            runs[what].append(json.loads(process.stdout))
    return {
        what: {key: median(run[key] for run in results) for key in ("seconds", "cpu", "memory")}
        for what, results in runs.items()
    }


def _write(path: Path, rows: int) -> None:
    """Write documents with an identifier, a source and a fixed-size list of float32, as polars writes them."""
    import polars as pl
    from polars.io.plugins import register_io_source

    schema = pl.Schema({"id": pl.Int64(), "source": pl.String(), "vector": pl.Array(pl.Float32(), WIDTH)})

    def frames(*_: object) -> Iterator[pl.DataFrame]:
        for start in range(0, rows, PIECE):
            count = min(PIECE, rows - start)
            rng = np.random.default_rng(start)
            X = rng.normal(size=(count, WIDTH)).astype(np.float32)
            ids = np.arange(start, start + count)
            X[:, 0] += ids % 2
            yield pl.DataFrame({"id": ids, "source": np.where(ids % 2, "news", "blog"), "vector": X}, schema=schema)

    register_io_source(frames, schema=schema).sink_parquet(path)


def main() -> Iterator[Measurement]:
    """Yield the ratios and the peak memory."""
    from densray import Axis, Erasure, Rows

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder / "small.parquet", 2000)
        _write(folder / "large.parquet", ROWS)
        rows = Rows.from_table(folder / "small.parquet", "source")
        Axis.fit(rows, "mean-difference").save(folder / "axis.safetensors")
        Erasure.fit(rows, "leace").save(folder / "erasure.safetensors")
        size = f"{ROWS:,} × {WIDTH} float32, parquet"
        for verb, baseline_verb, what in (("scores", "reads", "reading"), ("erases", "copies", "reading and writing")):
            jobs = [f"polars {baseline_verb}", f"pyarrow {baseline_verb}", f"densray {verb}"]
            times = _measure_all(folder, jobs)
            figures = times[jobs[-1]]
            baseline = {job.split()[0]: times[job] for job in jobs[:-1]}
            best = min(baseline, key=lambda who: baseline[who]["seconds"])
            others = ", ".join(
                f"{who} {each['seconds']:.2f} s ({each['cpu']:.2f} s of processor)" for who, each in baseline.items()
            )
            ratio = figures["seconds"] / baseline[best]["seconds"]
            yield Measurement(
                f"{size}: densray {verb} / {best} {what}",
                ratio,
                "×",
                "≤ 1.5",
                f"{figures['seconds']:.2f} s ({figures['cpu']:.2f} s of processor); {others}",
            )
            yield Measurement(
                f"{size}: densray {verb}, peak memory",
                figures["memory"] / 1e9,
                "GB",
                "≤ 1",
                "above a run on 2,000 rows",
            )
        learning = {
            "densray fits": "ridge, without errors and verdict",
            "densray judges": "ridge, with errors and verdict",
            "densray learns": "LEACE, with what remains",
        }
        for job, figures in _measure_all(folder, list(learning), repeats=1).items():
            note = f"{learning[job]}: {figures['seconds']:.2f} s ({figures['cpu']:.2f} s of processor), one run"
            yield Measurement(f"{size}: {job}, peak memory", figures["memory"] / 1e9, "GB", "≤ 1", note)
