"""The error bars of `error_bars` in spaces of another corpus, another algorithm and another language.

Nothing was chosen there. Ridge in two spaces: GloVe 6B (Wikipedia and Gigaword, co-occurrence counts) with the lexicons
that report in `error_bars`; French vectors (fastText on Common Crawl and Wikipedia) with FEEL: its polarity, and each
emotion against the words of other emotions. Run with

    DENSRAY_DATA=… python -m benchmarks.error_bars_elsewhere --spaces FOLDER [--pairs 10]

FOLDER holds a folder for each space, with `vectors.npy` and `words.txt`; `compare_methods` and `measure_inflections`
say where they come from. An interrupted run resumes from its file.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import error_bars
from benchmarks.compare_methods import read_space
from benchmarks.error_bars import Vocabulary, measure_errors, measure_intervals, read_lexicons
from densray import Lexicon, WordSpace
from densray.axes import AxisOptions, find_rows
from densray.datasets import load_lexicon
from densray.rows import Rows

DATA = Path(__file__).resolve().parents[1] / "docs" / "error_bars_elsewhere.json"
SPACES = {
    "glove-6b-100d": "GloVe 6B, English",
    "french-20k": "fastText, French",
}
SIZES = (20, 50, 200)
METHOD = "ridge"


def read_french(path: Path) -> dict[str, Lexicon]:
    """Return the polarity of FEEL, and each of its emotions against the words of other emotions."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    emotions = [name for name in rows[0] if name not in ("id", "word", "polarity")]
    lexicons = {"feel": load_lexicon("feel")}
    for emotion in emotions:
        labels = {row["word"]: 1 if row[emotion] == "1" else -1 for row in rows if "1" in [row[e] for e in emotions]}
        lexicons[f"feel {emotion}"] = Lexicon(labels, name=f"feel {emotion}")
    return lexicons


def lexicons_of(space: str, folder: Path) -> dict[str, Lexicon]:
    """Return the lexicons of a space: of English, those that report in `error_bars`."""
    if space == "french-20k":
        return read_french(folder / "feel" / "feel.csv")
    lexicons = read_lexicons(folder)
    return {name: lexicon for place, (name, lexicon) in enumerate(lexicons.items()) if place % 2 == 1}


def seeds_of(space: WordSpace, lexicon: Lexicon) -> Rows:
    """Return the rows of a lexicon: words are drawn one by one, so that each stands for itself."""
    return find_rows(space, lexicon, AxisOptions(groups=None), order="lexicon").unit()


def measure_one(name: str, seeds: Rows, vocabulary: Vocabulary, size: int, pairs: int) -> dict[str, Any]:
    """Return how the error bars of one lexicon and size compare with other seeds."""
    errors = measure_errors(name, seeds, vocabulary, METHOD, size, pairs, even=True)
    intervals = measure_intervals(name, seeds, METHOD, size, 2 * pairs)
    names = ("foretold", "found", "words_cover", "average_covered")
    return {
        "lexicon": name, "seeds": size, "pairs": pairs,
        **{key: errors[key] for key in names},
        **{key: intervals[key] for key in ("auc_covers", "tau_covers")},
    }  # fmt: skip


def measure(folder: Path, pairs: int, known: set[tuple[str, str, int]]) -> Iterator[dict[str, Any]]:
    """Yield the figures of every space, lexicon and size not known."""
    data = Path(os.environ["DENSRAY_DATA"]) / "lexicons"
    for space_name in SPACES:
        if not (folder / space_name).is_dir():
            print(f"{space_name}: left out, it is not in {folder}")
            continue
        space = read_space(space_name, folder)
        vocabulary = Vocabulary(space.vectors[:30_000].astype(np.float64))
        for name, lexicon in lexicons_of(space_name, data).items():
            seeds = seeds_of(space, lexicon)
            for size in SIZES:
                fits = not seeds.is_binary or min(np.sum(seeds.sides > 0), np.sum(seeds.sides < 0)) >= size
                if fits and (space_name, name, size) not in known:
                    yield {"space": space_name, **measure_one(name, seeds, vocabulary, size, pairs)}


def tables() -> dict[str, str]:
    """Return the table of docs/trust.md: means over lexicons, next to those of `error_bars` that report."""
    lines = [
        "| space | seeds | lexicons | reliability: predicted | observed | words covered "
        "| seed angle contains the average axis | coverage of AUC intervals | of τ intervals |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for title, rows in parts():
        for size in SIZES:
            part = [row for row in rows if row["seeds"] == size]
            if part:
                names = ("foretold", "found", "words_cover", "average_covered", "auc_covers", "tau_covers")
                means = [f"{np.mean([row[name] for row in part]):.2f}" for name in names]
                lines.append(f"| {title} | {size} | {len(part)} | {' | '.join(means)} |")
    return {"error-bars-elsewhere": "\n".join(lines)}


def parts() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the rows of each space, those of `googlenews-26k` first."""
    here = json.loads(error_bars.DATA.read_text("utf-8"))
    reported = [row for row in here["errors"] if row["method"] == METHOD and row["even"] and row["half"] == "reports"]
    intervals = {(row["lexicon"], row["seeds"]): row for row in here["intervals"] if row["method"] == METHOD}
    yield (
        "googlenews-26k",
        [{**intervals[row["lexicon"], row["seeds"]], **row} for row in reported if row["seeds"] in SIZES],
    )
    rows = json.loads(DATA.read_text("utf-8"))
    for space, title in SPACES.items():
        yield title, [row for row in rows if row["space"] == space]


def write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write the figures, one row per line."""
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", "utf-8")


def main() -> None:
    """Measure the results that the file lacks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spaces", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--pairs", type=int, default=10)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(arguments.out.read_text("utf-8")) if arguments.out.exists() else []
    known = {(row["space"], row["lexicon"], row["seeds"]) for row in rows}
    for row in measure(arguments.spaces, arguments.pairs, known):
        rows.append(row)
        write(arguments.out, rows)
        print(row["space"], row["lexicon"], row["seeds"], flush=True)


if __name__ == "__main__":
    main()
