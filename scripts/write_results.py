"""Put the measured tables on the pages, each between ``<!-- results: NAME -->`` and ``<!-- end -->``.

    python scripts/write_results.py           write every table again, from the data at hand
    python scripts/write_results.py --check   change nothing; name the pages that differ from their data

A source is a script with a function ``tables()``, which returns Markdown by name from the data it keeps in ``docs/``;
the script itself measures. ``make results`` and the targets after it in the Makefile measure, then write.
"""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = (
    "scripts/measure_tables.py",
    "scripts/measure_inflections.py",
    "scripts/measure_advice.py",
    "scripts/compare_with_mean_difference.py",
    "scripts/compare_intrank.py",
    "scripts/build_removal_table.py",
    "scripts/measure_documents.py",
    "scripts/measure_removers.py",
    "scripts/measure_states.py",
    "scripts/measure_interventions.py",
    "scripts/measure_concepts.py",
    "scripts/measure_attacks.py",
    "scripts/measure_mutations.py",
    "scripts/measure_people.py",
    "benchmarks/compare_methods.py",
    "benchmarks/shared_stems.py",
    "benchmarks/error_bars.py",
    "benchmarks/error_bars_elsewhere.py",
)
SPEED = ROOT / "benchmarks" / "RESULTS.md"  # what `python -m benchmarks NAME --write` appends to
_NEGATIVE = re.compile(r"(?<![^\s(\[…±*])-(?=[\d.])")  # the hyphen of a negative number
_CODE = re.compile(r"(`[^`]*`)")
MARKED = re.compile(r"(?<=<!-- results: )([\w-]+) -->\n.*?(?=<!-- end -->)", re.DOTALL)


def pages() -> Iterator[Path]:
    """Yield the pages that have measured tables."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if "_build" not in page.parts and MARKED.search(page.read_text("utf-8")):
            yield page


def tables() -> dict[str, str]:
    """Return every table in Markdown by its name, from the data at hand."""
    sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]  # what the sources import
    try:
        found = [runpy.run_path(str(ROOT / source))["tables"]() for source in SOURCES]
    finally:
        del sys.path[:2]
    known = {name: table for one in found for name, table in one.items()} | {"plan": plan(), "clicks": clicks()}
    return {name: with_minus_signs(table) for name, table in known.items()}


def with_minus_signs(table: str) -> str:
    """Return a table whose negative numbers have a minus sign instead of a hyphen, except in code.

    >>> with_minus_signs("| `--at -1` | -0.2 (-0.3 to +0.1) | 1e-5 | ---: |")
    '| `--at -1` | −0.2 (−0.3 to +0.1) | 1e-5 | ---: |'
    """
    parts = _CODE.split(table)
    return "".join(part if place % 2 else _NEGATIVE.sub("−", part) for place, part in enumerate(parts))


def speed(what: str, machine: str = "") -> tuple[str, str]:
    """Return the last figure of that name in the results of the benchmarks, and its note."""
    parts = [part for part in SPEED.read_text("utf-8").split("\n## ") if part.startswith(machine)]
    lines = [line.split(" | ") for part in parts for line in part.splitlines() if line.startswith(f"| {what} |")]
    return lines[-1][1], lines[-1][4].removesuffix(" |")


def plan() -> str:
    """Return what a fit of very many vectors would take, by the rates measured."""
    lines = ["| vectors | reading | 64 × 16 cores | 64 GPUs |", "| ---: | ---: | ---: | ---: |"]
    for power in (9, 10, 11, 12):
        processor, note = speed(f"plan: 10^{power} vectors, processor: arithmetic", "GPU")
        gpu, _ = speed(f"plan: 10^{power} vectors, GPU, PyTorch: arithmetic", "GPU")
        reading = re.search(r"reading (\S+ s)", note)
        assert reading
        times = " | ".join(duration(each) for each in (reading[1], processor, gpu))
        lines.append(f"| $10^{{{power}}}$ | {times} |")
    return "\n".join(lines)


def duration(seconds: str) -> str:
    """Return a time in the unit that suits it."""
    value = float(seconds.removesuffix(" s"))
    size, unit = next(each for each in ((3600, "h"), (60, "min"), (0, "s")) if value >= each[0])
    return f"{value / (size or 1):.2g} {unit}"


def clicks() -> str:
    """Return the seconds from a click to the changed chart in the explorer."""
    spaces = {"the bundled space": "bundled space, 26,423 × 300", "400,000 × 300": "400,000 × 300, memory-mapped"}
    names = {
        "two lists typed until the chart has changed": "two word lists typed, until the ends of the axis have changed",
        "the map with other points": "other points on the map",
        "another axis until the whole map is drawn": "another axis of the map with the whole vocabulary",
        "a lasso until its words are listed": "a lasso on that map, until its words are listed",
        "a removal seen from other anchors": "other anchors of a removal",
        "another query of an analogy": "another query of an analogy",
    }
    lines = [f"| click | {' | '.join(spaces.values())} |", "| --- | ---: | ---: |"]
    for what, title in names.items():
        found = [float(speed(f"explorer, {space}: {what}")[0].removesuffix(" s")) for space in spaces]
        lines.append(f"| {title} | " + " | ".join(f"{value:.2f} s" for value in found) + " |")
    return "\n".join(lines)


def filled(page: str, known: Mapping[str, str]) -> str:
    """Return the text of a page with its tables written again."""
    return MARKED.sub(lambda match: f"{match[1]} -->\n\n{known[match[1]].strip()}\n\n", page)


def main() -> int:
    """Write the pages, or check them."""
    known, differing = tables(), []
    for page in pages():
        text = page.read_text("utf-8")
        if filled(text, known) != text:
            differing.append(str(page.relative_to(ROOT)))
            if "--check" not in sys.argv:
                page.write_text(filled(text, known), "utf-8")
    print("\n".join(differing) or "every page shows its data")
    return int("--check" in sys.argv and bool(differing))


if __name__ == "__main__":
    sys.exit(main())
