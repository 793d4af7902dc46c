"""``python -m benchmarks [NAME …] [--write FILE]``: measure, print one table, and keep it if asked to."""

from __future__ import annotations

import argparse
import importlib
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.devices import describe_devices
from benchmarks.measurement import Measurement

NAMES = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
#: Libraries whose version a ratio depends on.
_LIBRARIES = ("gensim", "polars", "pyarrow", "concept-erasure", "dask")


def _line(one: Measurement) -> str:
    reached = {True: "yes", False: "**no**", None: ""}[one.reached]
    return f"| {one.what} | {one.value:.3g} {one.unit} | {one.bar} | {reached} | {one.note} |"


def _table(names: list[str]) -> str:
    """Measure, print line by line, and return the table; what cannot run here is a line that says so."""
    lines = ["| what | measured | bar | reached | note |", "| --- | --- | --- | --- | --- |"]
    bars = []
    for name in names:
        try:
            for measurement in importlib.import_module(f"benchmarks.bench_{name}").main():  # some measure as they go
                lines.append(_line(measurement))
                bars += [measurement.reached] if measurement.bar else []
                print(lines[-1], flush=True)
        except (ImportError, OSError, subprocess.CalledProcessError) as error:
            lines.append(f"| {name} | – | | | does not run here: {' '.join(str(error).split())[:160]} |")
            print(lines[-1], flush=True)
    return "\n".join([*lines, "", f"{sum(map(bool, bars))} of {len(bars)} bars reached."])


def _memory() -> int:
    """Return the bytes of memory the machine has."""
    import os

    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _machine() -> str:
    import os

    import scipy

    parts = [
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} cores, {_memory() / 1e9:.0f} GB",
        describe_devices(),
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}",
        *(f"{name} {metadata.version(name)}" for name in _LIBRARIES if find_spec(name.replace("-", "_"))),
    ]
    return ", ".join(part for part in parts if part)


def run() -> None:
    """Run the benchmarks that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run: {', '.join(NAMES)}; all by default")
    parser.add_argument("--write", type=Path, help="append the table to this Markdown file")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(NAMES))
    if unknown:
        parser.error(f"unknown benchmark {', '.join(unknown)}; known: {', '.join(NAMES)}")
    table = _table(arguments.names or NAMES)
    print(table.splitlines()[-1])
    if arguments.write:
        with arguments.write.open("a", encoding="utf-8") as file:
            file.write(f"\n## {', '.join(arguments.names) or 'all'}: {_machine()}\n\n{table}\n")


if __name__ == "__main__":
    run()
