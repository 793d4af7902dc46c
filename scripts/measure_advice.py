"""Measure whether the advice to add seeds comes true, and how often the interval of the reliability holds.

Advice: each draw takes 10 to 100 words of a lexicon, both sides alike, and then adds 10, 20, … 1,000 words of the same
lexicon. Stored are the figures behind the verdict at every size: held-out AUC with its interval, reliability and, where
they decide, permutation p. The table asks the library for its advice on the first figures, and the later figures tell
whether it comes true. Intervals: pairs of disjoint sets of seeds; the mean correlation of the scores of all words is
the reliability, which the interval of each set should hold.

    PYTHONPATH=. python scripts/measure_advice.py run [--lexicons FOLDER] [--draws 30]
    PYTHONPATH=. python scripts/measure_advice.py show

`run` needs DENSRAY_DATA and adds the missing parts to docs/advice.json. It can be stopped and started again; about half
an hour on one core. FOLDER holds four lexicons that no other page uses:
AFINN-111.txt       from the package afinn 0.1
vader_lexicon.txt   from the package vaderSentiment 3.3.2
en-sentiment.xml    from the package textblob 0.20.1: polarity and subjectivity
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.error_bars import Vocabulary, draw_rows, in_their_span, read_lexicons
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from densray import Lexicon, load_space
from densray._files import atomic_write
from densray._vocabulary import unit_rows
from densray.axes import AxisOptions, find_rows, fit_rotation
from densray.axes._verdict import (
    FAIR_SHARE,
    GOOD_SHARE,
    ROUND_NUMBERS,
    SIGNIFICANT_P,
    UNCLEAR_SEEDS,
    round_number,
    seeds_to_tell,
    seeds_wanted,
)
from densray.folds import draw_folds
from densray.metrics import auc, auc_interval
from densray.rows import Rows
from densray.statistics import HELD_OUT_INFLATION, axis_errors, held_out_scores, permutation_test

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "advice.json"
#: In alphabetical order every second of the fourteen lexicons chose the factors of advice and interval.
CHOSE = ("anger", "bwk", "fear", "joy", "nrc", "semeval2015-e", "surprise")
REPORTS = ("anticipation", "disgust", "hu-liu", "mpqa", "sadness", "subtlex", "trust")
PACKAGES = ("afinn", "polarity", "subjectivity", "vader")
STARTS = (10, 14, 20, 30, 50, 70, 100)
ADDED = (*ROUND_NUMBERS, 1000)
#: A draw ends once both figures lie so far above the share wanted at two sizes in a row. It counts as reached beyond.
MARGIN = 0.02
#: Draws that chance explains as well end here: whether there is a concept is all that is asked of them.
TESTED = 110
PERMUTATIONS = 199
INTERVAL_SIZES = (10, 20, 50, 100, 200)
PAIRS = 20
METHODS = ("ridge", "mean-difference")

#: Seeds, AUC, low and high end of its interval, reliability, p (None where it is not tested).
Figures = list[Any]


def read_packages(folder: Path) -> dict[str, Lexicon]:
    """Return the lexicons of other packages: means over the senses of a word."""
    found: dict[str, dict[str, list[float]]] = {name: {} for name in PACKAGES}
    for name, file in (("afinn", "AFINN-111.txt"), ("vader", "vader_lexicon.txt")):
        for line in (folder / file).read_text("utf-8").splitlines():
            word, label, *_ = line.split("\t")
            found[name].setdefault(word, []).append(float(label))
    senses = re.finditer(
        r'<word form="([^"]+)".*?polarity="([^"]+)" subjectivity="([^"]+)"',
        (folder / "en-sentiment.xml").read_text("utf-8"),
    )
    for sense in senses:
        found["polarity"].setdefault(sense[1], []).append(float(sense[2]))
        found["subjectivity"].setdefault(sense[1], []).append(float(sense[3]))
    return {
        name: Lexicon({word: float(np.mean(labels)) for word, labels in words.items()}, name=name)
        for name, words in found.items()
    }


def without_forms(seeds: Rows) -> Rows:
    """Return rows with one form of each word, so that every row stands for itself."""
    if seeds.groups is None:
        return seeds
    firsts = np.unique(seeds.groups, return_index=True)[1]
    return replace(seeds.take(np.sort(firsts)), groups=None, forms=None)


def in_order(seeds: Rows, random: np.random.Generator) -> NDArray[np.intp]:
    """Return rows in the order in which they become seeds: one of either side in turn, scores at random."""
    if not seeds.is_binary:
        return random.permutation(len(seeds))
    high, low = (random.permutation(np.flatnonzero(seeds.sides == side)) for side in (1, -1))
    count = min(len(high), len(low))
    return np.column_stack([high[:count], low[:count]]).ravel()


def measure_figures(seeds: Rows, vocabulary: Vocabulary, *, tested: bool) -> Figures:
    """Return the figures behind the verdict on the axis of some seeds, as `diagnose` finds them."""
    sampled_rows, basis = in_their_span(seeds)
    rotation = fit_rotation("auto", sampled_rows)
    held_out = held_out_scores(rotation, sampled_rows, draw_folds(sampled_rows, 10, 0))[:, 0]
    interval = auc_interval(sampled_rows.sides, held_out, inflation=HELD_OUT_INFLATION)
    axis = rotation.components_[0] @ basis
    free = vocabulary.free(axis_errors(rotation, sampled_rows).deviations @ basis, axis)
    values = (auc(sampled_rows.sides, held_out), interval.low, interval.high, vocabulary.reliability(free, axis))
    random = np.random.default_rng(0)
    p_value = (
        permutation_test(rotation, sampled_rows, n_permutations=PERMUTATIONS, random=random).p_value if tested else None
    )
    return [len(seeds), *(round(float(value), 4) for value in values), p_value]


def measure_draw(name: str, seeds: Rows, vocabulary: Vocabulary, number: int) -> list[Figures]:
    """Return the figures of a draw: those of the first seeds, then those with more and more of them."""
    random = np.random.default_rng([number, *name.encode()])
    start = int(random.choice(STARTS))
    order, found = in_order(seeds, random), list[Figures]()
    for more in (0, *ADDED):
        unclear = bool(found) and found[0][-1] > SIGNIFICANT_P
        if start + more > len(order) or (unclear and start + more > TESTED):
            break
        tested = not found or unclear
        found.append(measure_figures(seeds.take(order[: start + more]), vocabulary, tested=tested))
        if worst(found[0]) >= GOOD_SHARE or (not unclear and has_ended(found)):
            break
    return found


def measure_intervals(seeds: Rows, vocabulary: Vocabulary, sample: NDArray[np.float64], method: str, size: int) -> Any:
    """Return observed and predicted reliability, and how often the interval of a set contains the observed one."""
    random = np.random.default_rng([size, 1])
    correlations, predictions, intervals = [], [], []
    for _ in range(PAIRS):
        axes = []
        for part in draw_rows(seeds, size, 2, random, even=True):
            sampled_rows, basis = in_their_span(seeds.take(part))
            rotation = fit_rotation(method, sampled_rows)
            errors = axis_errors(rotation, sampled_rows, background=sample @ basis.T)
            axis = rotation.components_[0] @ basis
            deviations = vocabulary.free(errors.deviations @ basis, axis)
            share = float(np.sum((deviations @ vocabulary.covariance) * deviations))
            share /= float(axis @ vocabulary.covariance @ axis)
            assert errors.freedom is not None
            axes.append(axis)
            predictions.append(max(1.0 - share, 0.0))
            intervals.append(errors.freedom.reliability_interval(share))
        correlations.append(vocabulary.correlation(*axes))
    truth = float(np.mean(correlations))
    return {
        "found": round(truth, 4),
        "foretold": round(float(np.mean(predictions)), 4),
        "scatter": round(float(np.std(predictions)), 4),
        "covered": round(float(np.mean([low <= truth <= high for low, high in intervals])), 4),
        "below": round(float(np.mean([high < truth for _, high in intervals])), 4),
        "width": round(float(np.mean([high - low for low, high in intervals])), 4),
    }


def run(folder: Path | None, wanted: int) -> None:
    """Add the missing parts to the file."""
    results: dict[str, Any] = {"draws": {}, "intervals": {}}
    if RESULTS.exists():
        results = json.loads(RESULTS.read_text("utf-8"))
    space = load_space("googlenews-26k")
    vectors = unit_rows(space.vectors).astype(np.float64)
    vocabulary = Vocabulary(vectors)
    root = np.linalg.cholesky(vocabulary.covariance).T
    sample = np.vstack([root, -root])  # rows with the covariance of the vocabulary, but for a factor
    lexicons = read_lexicons(Path(os.environ["DENSRAY_DATA"]) / "lexicons")
    if folder is not None:
        lexicons |= read_packages(folder)
    seeds = {
        name: without_forms(find_rows(space, lexicons[name], AxisOptions(), order="lexicon").unit())
        for name in lexicons
    }
    names = [name for name in (*REPORTS, *PACKAGES, *CHOSE) if name in seeds]
    for method in METHODS:
        for size in INTERVAL_SIZES:
            for name in (name for name in names if name not in CHOSE):
                part = results["intervals"].setdefault(method, {}).setdefault(str(size), {})
                if name not in part:
                    part[name] = measure_intervals(seeds[name], vocabulary, sample, method, size)
            _write(results)
            print(f"intervals: {method}, {size} seeds", flush=True)
    for number in range(wanted):
        for name in (name for name in names if name not in CHOSE or number < wanted // 8):
            part = results["draws"].setdefault(name, [])
            if len(part) == number:
                part.append(measure_draw(name, seeds[name], vocabulary, number))
        _write(results)
        print(f"draws: {number + 1} of {wanted}", flush=True)


def _write(results: dict[str, Any]) -> None:
    with atomic_write(RESULTS, overwrite=True) as path:
        path.write_text(json.dumps(results, separators=(",", ":"), sort_keys=True) + "\n", "utf-8")


def worst(figures: Figures) -> float:
    """Return the figure that decides the grade: the lower end of the AUC, or the reliability."""
    return float(min(figures[2], figures[4]))


def wanted_share(draw: list[Figures]) -> float:
    """Return the share that both figures of a draw need for the next grade."""
    return GOOD_SHARE if worst(draw[0]) >= FAIR_SHARE else FAIR_SHARE


def has_ended(draw: list[Figures]) -> bool:
    """Return whether the share wanted is reached for good."""
    return len(draw) > 2 and min(map(worst, draw[-2:])) >= wanted_share(draw) + MARGIN


def check_advice(draw: list[Figures]) -> dict[str, Any] | None:
    """Return the advice on the first seeds of a draw and what came of it; None where none is given."""
    size, value, _, _, reliability, p_value = draw[0]
    if p_value > SIGNIFICANT_P or worst(draw[0]) >= GOOD_SHARE:
        return None
    target = wanted_share(draw)
    totals = seeds_wanted(size, value, reliability, target)
    reached = {figures[0] - size: worst(figures) >= target for figures in draw[1:]}
    need = next((more for more in reached if reached[more]), None)
    advice = {
        "seeds": size,
        "grade": "fair" if target == GOOD_SHARE else "weak",
        "need": need,
        "low": None,
        "high": None,
    }
    if totals is None:
        return advice
    lowest, highest = (round_number(total - size) for total in totals)
    ended = has_ended(draw)

    def comes_true(more: int) -> bool | None:
        return reached.get(more, True if ended else None)  # None: the lexicon has no more words

    return advice | {"low": lowest, "high": highest, "low_true": comes_true(lowest), "high_true": comes_true(highest)}


def check_telling(draw: list[Figures]) -> bool | None:
    """Return whether a draw that is too small is recognised with the advised seeds; None for other draws."""
    size, p_value, high = draw[0][0], draw[0][-1], draw[0][3]
    if p_value <= SIGNIFICANT_P or size >= UNCLEAR_SEEDS or high < FAIR_SHARE:
        return None
    more = seeds_to_tell(size)
    later = next((figures[-1] for figures in draw if figures[0] - size == more), None)
    return None if later is None else bool(later <= SIGNIFICANT_P)


def tables() -> dict[str, str]:
    """Return the tables of docs/trust.md."""
    results = json.loads(RESULTS.read_text("utf-8"))
    return {
        "advice": "\n".join(advice_table(results["draws"])),
        "few-seeds": "\n".join(few_table(results["draws"])),
        "reliability-cover": "\n".join(intervals_table(results["intervals"])),
    }


def advice_table(draws: dict[str, list[list[Figures]]]) -> list[str]:
    """Return the lines of the table of advice."""
    lines = [
        "| lexicons | kind of draws | draws | median need | median advice | lower number was enough "
        "| higher number was enough | higher number / need, median |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    reporting = [name for name in (*REPORTS, *PACKAGES) if name in draws]
    parts: list[tuple[str, str, Sequence[str], Callable[[dict[str, Any]], bool]]] = [
        ("test lexicons", "all", reporting, lambda _: True),
        ("test lexicons", "weak, to become fair", reporting, lambda advice: advice["grade"] == "weak"),
        ("test lexicons", "fair, to become good", reporting, lambda advice: advice["grade"] == "fair"),
        ("test lexicons", "10 to 20 seeds", reporting, lambda advice: advice["seeds"] <= 20),
        ("test lexicons", "30 to 50 seeds", reporting, lambda advice: 20 < advice["seeds"] <= 50),
        ("test lexicons", "70 and 100 seeds", reporting, lambda advice: advice["seeds"] > 50),
        *((name, "all", [name], lambda _: True) for name in reporting),
        ("tuning lexicons", "all", [name for name in CHOSE if name in draws], lambda _: True),
    ]
    for title, which, names, chosen in parts:
        found = [advice for name in names for advice in map(check_advice, draws[name]) if advice and chosen(advice)]
        usable = [advice for advice in found if advice["low"] is not None]
        if not usable:
            continue
        needs = np.array([np.inf if advice["need"] is None else advice["need"] for advice in usable])
        lows, highs = (np.array([advice[end] for advice in usable]) for end in ("low", "high"))
        cells = [title, which, f"{len(usable)}", _count(float(np.median(needs)))]
        cells.append(f"{_count(float(np.median(lows)))} to {_count(float(np.median(highs)))}")
        for end in ("low_true", "high_true"):
            known = [advice[end] for advice in usable if advice[end] is not None]
            cells.append(f"{np.mean(known):.2f} of {len(known)}")
        cells.append(f"{np.median(highs / needs):.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _count(value: float) -> str:
    return f"{value:,.0f}" if np.isfinite(value) else "more than available"


def few_table(draws: dict[str, list[list[Figures]]]) -> list[str]:
    """Return the lines of the table of what is said of few seeds."""
    lines = [
        "| seeds | draws | weak or better | too few to tell | none "
        "| of “too few to tell”: p ≤ 0.05 after adding the advised seeds |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    every = [draw for name in (*REPORTS, *PACKAGES) for draw in draws.get(name, [])]
    for size in STARTS:
        part = [draw for draw in every if draw[0][0] == size]
        some = sum(draw[0][-1] <= SIGNIFICANT_P for draw in part)
        unclear = sum(
            draw[0][-1] > SIGNIFICANT_P and size < UNCLEAR_SEEDS and draw[0][3] >= FAIR_SHARE for draw in part
        )
        answers = [answer for answer in map(check_telling, part) if answer is not None]
        shares = (some / len(part), unclear / len(part), 1 - (some + unclear) / len(part))
        cells = [f"{size}", f"{len(part)}", *(f"{share:.2f}" for share in shares)]
        cells.append(f"{np.mean(answers):.2f} of {len(answers)}" if answers else "–")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def intervals_table(intervals: dict[str, Any]) -> list[str]:
    """Return the lines of the table of intervals."""
    lines = [
        "| method | seeds | lexicons | reliability: observed | predicted | scatter between draws "
        "| coverage of the interval | coverage on the worst lexicon | interval too low | mean width |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for method in METHODS:
        for size in INTERVAL_SIZES:
            rows = list(intervals[method][str(size)].values())
            found, predicted, scatter, covered, below, width = (
                np.array([row[key] for row in rows])
                for key in ("found", "foretold", "scatter", "covered", "below", "width")
            )
            values = (found.mean(), predicted.mean(), scatter.mean(), covered.mean(), covered.min(), below.mean())
            shown = [f"{value:.2f}" for value in (*values, width.mean())]
            lines.append(f"| {method} | {size} | {len(rows)} | {' | '.join(shown)} |")
    return lines


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "show"])
    parser.add_argument("--lexicons", type=Path, default=None)
    parser.add_argument("--draws", type=int, default=30)
    arguments = parser.parse_args()
    if arguments.command == "run":
        with threadpool_limits(1):
            run(arguments.lexicons, arguments.draws)
    for name, table in tables().items():
        print(f"{name}\n\n{table}\n")


if __name__ == "__main__":
    main()
