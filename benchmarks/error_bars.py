"""Error bars compared with other seeds: reliability, word errors, seed angle, held-out AUC and τ intervals.

Fourteen lexicons on ``googlenews-26k``. In alphabetical order every second one, from the first on, chose what had to be
chosen (the factor of the AUC interval, the form of the correction); the others report. Run with

    DENSRAY_DATA=… python -m benchmarks.error_bars [--pairs 30] [--methods NAMES] [--out FILE] [--render]

An interrupted run resumes from its file.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray import Lexicon, load_space
from densray._vocabulary import unit_rows
from densray.axes import AxisOptions, degrees_between, find_rows
from densray.datasets import load_lexicon
from densray.folds import count_folds, stratified_folds
from densray.metrics import auc, auc_interval, kendall_tau, tau_interval
from densray.rotations import make_rotation
from densray.rows import Rows
from densray.statistics import HELD_OUT_INFLATION, axis_errors, held_out_scores

Matrix = NDArray[np.float64]
DATA = Path(__file__).resolve().parents[1] / "docs" / "error_bars.json"
FIGURE = DATA.parent / "reliability.svg"
SIZES = (20, 50, 100, 200, 400)
INTERVAL_SIZES = (12, 20, 30, 50, 100, 200)
#: Sets of seeds whose axes are averaged.
AVERAGED = 300
METHODS = ("mean-difference", "ridge", "densray-unit")
EMOTIONS = ("anger", "anticipation", "disgust", "fear", "joy", "sadness", "surprise", "trust")


def read_lexicons(folder: Path) -> dict[str, Lexicon]:
    """Return the fourteen lexicons: each NRC emotion against the words of other emotions, log10 SUBTLEX frequency."""
    lexicons = {name: load_lexicon(name) for name in ("bwk", "hu-liu", "mpqa", "nrc", "semeval2015-e")}
    with (folder / "bwk/Concreteness_ratings_Brysbaert_et_al_BRM.txt").open(encoding="latin-1") as file:
        counts = {row["Word"]: float(row["SUBTLEX"]) for row in csv.DictReader(file, delimiter="\t")}
    lexicons["subtlex"] = Lexicon(
        {word: np.log10(count) for word, count in counts.items() if count > 0}, name="SUBTLEX"
    )
    emotions: dict[str, set[str]] = {}
    with (folder / "nrc/NRC-Emotion-Lexicon-Wordlevel-v0.92.txt").open(encoding="utf-8") as file:
        for line in file:
            word, *rest = line.rstrip("\n").split("\t")
            if len(rest) == 2 and rest[0] in EMOTIONS and rest[1] == "1":
                emotions.setdefault(word, set()).add(rest[0])
    for emotion in EMOTIONS:
        lexicons[emotion] = Lexicon(
            {word: 1 if emotion in word_emotions else -1 for word, word_emotions in emotions.items()}, name=emotion
        )
    return dict(sorted(lexicons.items()))


def draw_rows(seeds: Rows, size: int, sets: int, random: np.random.Generator, *, even: bool) -> list[NDArray[np.intp]]:
    """Return disjoint sets of rows: classes in equal parts, or in the shares of the lexicon; scores at random."""
    if not seeds.is_binary:
        order = random.permutation(len(seeds))
        return [order[part * size : (part + 1) * size] for part in range(sets)]
    high, low = (random.permutation(np.flatnonzero(seeds.sides == side)) for side in (1, -1))
    count = max(3, round(size * (0.5 if even else len(high) / len(seeds))))
    count = min(count, len(high) // sets)
    return [
        np.concatenate([high[part * count :][:count], low[part * (size - count) :][: size - count]])
        for part in range(sets)
    ]


class Vocabulary:
    """What scores of a vocabulary need: its covariance, and some of its words from the average word."""

    def __init__(self, vectors: Matrix) -> None:
        self.covariance = np.cov(vectors.T)
        rows = np.random.default_rng(0).choice(len(vectors), 500, replace=False)
        self.words = vectors[rows] - vectors.mean(axis=0)

    def correlation(self, first: Matrix, second: Matrix) -> float:
        """Return the correlation of all words' scores on two axes."""
        both = first @ self.covariance @ second
        return float(both / np.sqrt((first @ self.covariance @ first) * (second @ self.covariance @ second)))

    def free(self, deviations: Matrix, axis: Matrix) -> Matrix:
        """Return deviations without changes that multiply all scores by one factor, as `Uncertainty` does."""
        slope = self.covariance @ axis
        return deviations - np.outer(deviations @ slope / (axis @ slope), axis)

    def reliability(self, deviations: Matrix, axis: Matrix) -> float:
        """Return one less the mean squared standard error over the variance of the scores."""
        error = float(np.sum((deviations @ self.covariance) * deviations))
        return max(1.0 - error / float(axis @ self.covariance @ axis), 0.0)


def in_their_span(seeds: Rows) -> tuple[Rows, Matrix]:
    """Return seeds in coordinates of the space they span, and its basis as rows.

    The methods measured here turn with the coordinates, so that axes and errors are the same, and found faster.
    """
    if len(seeds) >= seeds.X.shape[1]:
        return seeds, np.eye(seeds.X.shape[1])
    X = seeds.X.astype(np.float64)
    basis = np.linalg.qr(X.T)[0].T
    return replace(seeds, X=(X @ basis.T).astype(np.float32)), basis


def average_axis(seeds: Rows, method: str, size: int, *, even: bool) -> Matrix:
    """Return the direction of the mean of the axes of many sets of one size: what such sets give on average."""
    random, total = np.random.default_rng([size, 1]), np.zeros(seeds.X.shape[1])
    for _ in range(AVERAGED):
        sample, basis = in_their_span(seeds.take(draw_rows(seeds, size, 1, random, even=even)[0]))
        total += make_rotation(method).fit(sample.X, sample.y).components_[0] @ basis
    return total / float(np.linalg.norm(total))


def measure_errors(
    name: str,
    seeds: Rows,
    vocabulary: Vocabulary,
    method: str,
    size: int,
    pairs: int,
    *,
    even: bool,
) -> dict[str, Any]:
    """Return reliability, word cover and cover of the seed angle over disjoint pairs of seed sets of one lexicon."""
    random, rows = np.random.default_rng(size), []
    whole = make_rotation(method).fit(seeds.X, seeds.y).components_[0]
    average = average_axis(seeds, method, size, even=even)
    for _ in range(pairs):
        axes, errors = [], []
        for part in draw_rows(seeds, size, 2, random, even=even):
            sample, basis = in_their_span(seeds.take(part))
            rotation = make_rotation(method).fit(sample.X, sample.y)
            axis, axis_spread = rotation.components_[0] @ basis, axis_errors(rotation, sample)
            free = vocabulary.free(axis_spread.deviations @ basis, axis)
            axes.append(axis)
            errors.append(np.linalg.norm(vocabulary.words @ free.T, axis=1))
            angles = {"average": float(degrees_between(axis, average)), "whole": float(degrees_between(axis, whole))}
            rows.append({
                "foretold": vocabulary.reliability(free, axis), "seed_angle": axis_spread.seed_angle.upper,
                **{f"{name}_angle": angle for name, angle in angles.items()},
                **{f"{name}_covered": angle <= axis_spread.seed_angle.upper for name, angle in angles.items()},
            })  # fmt: skip
        shift = np.abs(vocabulary.words @ (axes[0] - axes[1]))
        for last in rows[-2:]:
            last["found"] = vocabulary.correlation(*axes)
            last["words_cover"] = float(np.mean(shift <= 1.96 * np.hypot(*errors)))
    means = {key: round(float(np.mean([row[key] for row in rows])), 4) for key in rows[0]}
    return {"lexicon": name, "method": method, "seeds": size, "even": even, "pairs": pairs, **means}


def measure_intervals(name: str, seeds: Rows, method: str, size: int, draws: int) -> dict[str, Any]:
    """Return how often the intervals of held-out AUC and τ cover what the axis does on the rest of the lexicon."""
    random, rows = np.random.default_rng(size), []
    for _ in range(draws):
        part = draw_rows(seeds, size, 1, random, even=True)[0]
        sample, basis = in_their_span(seeds.take(part))
        rest = np.setdiff1d(np.arange(len(seeds)), part)
        rotation = make_rotation(method).fit(sample.X, sample.y)
        scores = seeds.X[rest] @ (rotation.components_[0] @ basis)
        held_out = held_out_scores(rotation, sample, stratified_folds(sample, count_folds(sample, 10), random))[:, 0]
        truths = {"auc": auc(seeds.sides[rest], scores), "tau": kendall_tau(seeds.y[rest], scores)}
        if seeds.is_binary:  # τ-b between classes hangs on their shares: at those of the seeds
            high = float(np.mean(sample.sides > 0))
            truths["tau"] = (2.0 * truths["auc"] - 1.0) * np.sqrt(2.0 * high * (1.0 - high) * size / (size - 1))
        new = {"auc": auc_interval(sample.sides, held_out, inflation=HELD_OUT_INFLATION),
               "tau": tau_interval(sample.y, held_out, inflation=HELD_OUT_INFLATION)}  # fmt: skip
        rows.append({
            "auc_covers": new["auc"].low <= truths["auc"] <= new["auc"].high,
            "auc_below": truths["auc"] < new["auc"].low,
            "auc_error": truths["auc"] - auc(sample.sides, held_out),
            "auc_width": new["auc"].high - new["auc"].low,
            "tau_covers": new["tau"].low <= truths["tau"] <= new["tau"].high,
        })  # fmt: skip
    means = {key: round(float(np.mean([row[key] for row in rows])), 4) for key in rows[0]}
    return {"lexicon": name, "method": method, "seeds": size, "draws": draws, **means}


def measure(pairs: int, methods: list[str], known: set[tuple[Any, ...]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kind and the figures of every lexicon, method and size not known."""
    space = load_space("googlenews-26k")
    vocabulary = Vocabulary(unit_rows(space.vectors).astype(np.float64))
    lexicons = read_lexicons(Path(os.environ["DENSRAY_DATA"]) / "lexicons")
    halves = {name: ("chose", "reports")[place % 2] for place, name in enumerate(lexicons)}
    # words are drawn one by one, so that each stands for itself
    alone = AxisOptions(groups=None)
    seeds = {name: find_rows(space, lexicon, alone, order="lexicon").unit() for name, lexicon in lexicons.items()}
    for kind, method, name, size, even in _plan(seeds, methods):
        if (kind, method, name, size, even) in known:
            continue
        if kind == "intervals":
            row = measure_intervals(name, seeds[name], method, size, 2 * pairs)
        else:
            row = measure_errors(name, seeds[name], vocabulary, method, size, pairs, even=even)
        yield kind, {"half": halves[name], **row}


def _plan(seeds: dict[str, Rows], methods: list[str]) -> Iterator[tuple[str, str, str, int, bool]]:
    """Yield kind, method, lexicon, size, and whether classes are drawn in equal parts."""
    for method in methods:
        for size in SIZES:
            for name in seeds:
                yield "errors", method, name, size, True
        for size in INTERVAL_SIZES:
            for name in seeds:
                yield "intervals", method, name, size, True
        for size in SIZES[:3] if method != "densray-unit" else ():
            for name, part in seeds.items():
                if part.is_binary:
                    yield "errors", method, name, size, False


def tables() -> dict[str, str]:
    """Return the tables of docs/trust.md in Markdown by name: means over lexicons, those that report in brackets."""
    data = json.loads(DATA.read_text("utf-8"))
    return {"error-bars": _errors_table(data["errors"]), "interval-cover": _intervals_table(data["intervals"])}


def _errors_table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| method | classes | seeds | lexicons | reliability: predicted | observed | words covered | seed angle "
        "| contains the average axis | contains the axis of the whole lexicon |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (method, even, size), part in _by(rows, "method", "even", "seeds").items():
        cells = [_means(part, name) for name in ("foretold", "found", "words_cover")]
        cells.append(f"{np.mean([row['seed_angle'] for row in part]):.0f}°")
        cells += [f"{np.mean([row[name] for row in part]):.2f}" for name in ("average_covered", "whole_covered")]
        classes = "equal sizes" if even else "sizes as in the lexicon"
        lines.append(f"| {method} | {classes} | {size} | {len(part)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _intervals_table(rows: list[dict[str, Any]]) -> str:
    by_size = _by(rows, "method", "seeds")
    lines = [
        f"| interval | method | {' | '.join(f'{size} seeds' for size in INTERVAL_SIZES)} |",
        f"| --- | --- |{' ---: |' * len(INTERVAL_SIZES)}",
    ]
    for title, column in (("AUC", "auc_covers"), ("τ", "tau_covers")):
        for method in dict.fromkeys(method for method, _ in by_size):
            cells = [_means(by_size[method, size], column) for size in INTERVAL_SIZES]
            lines.append(f"| {title} | {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _by(rows: list[dict[str, Any]], *names: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Return the rows by the values of some columns: methods in their order, equal parts first."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (METHODS.index(row["method"]), not row.get("even", True), row["seeds"])):
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def _means(rows: list[dict[str, Any]], name: str) -> str:
    """Return the mean over all lexicons and, in brackets, over those that report."""
    reporting = [row for row in rows if row["half"] == "reports"]
    return " ".join(
        sign.format(np.mean([row[name] for row in part])) for sign, part in (("{:.2f}", rows), ("({:.2f})", reporting))
    )


def drawn(rows: list[dict[str, Any]], method: str = "ridge") -> Any:
    """Return the figure of docs/trust.md: predicted and observed reliability by number of seeds."""
    from densray.figures import interval_plot

    points = []
    for (_, _, size), part in _by([row for row in rows if row["method"] == method and row["even"]],
                                    "method", "even", "seeds").items():  # fmt: skip
        for name, column in (("predicted from one list", "foretold"), ("observed with a second list", "found")):
            values = [row[column] for row in part]
            points.append(
                {
                    "seeds": f"{size} seeds",
                    "reliability": name,
                    "part": "reliability of the scores of all words",
                    "value": float(np.mean(values)),
                    "low": min(values),
                    "high": max(values),
                    "if_gone": None,
                }
            )
    chart = interval_plot(points, down="seeds", by="reliability", x="reliability (1: the same scores)")
    chart.vconcat[0].width = 350  # with names and legend, as wide as the text of a page
    return chart


def main() -> None:
    """Measure the results that the file lacks, and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--render", action="store_true", help="only draw the figure, from the numbers at hand")
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--methods", default=",".join(METHODS))
    arguments = parser.parse_args()
    results: dict[str, list[dict[str, Any]]] = {"errors": [], "intervals": []}
    if arguments.out.exists():  # resume from there
        results |= {
            kind: rows for kind, rows in json.loads(arguments.out.read_text("utf-8")).items() if kind in results
        }
    known = {
        (kind, row["method"], row["lexicon"], row["seeds"], row.get("even", True))
        for kind, rows in results.items()
        for row in rows
    }
    for kind, row in () if arguments.render else measure(arguments.pairs, arguments.methods.split(","), known):
        results[kind].append(row)
        _write(arguments.out, arguments.pairs, results)
    from densray.figures._narrow import save_both

    save_both(drawn(results["errors"]), FIGURE)


def _write(path: Path, pairs: int, results: dict[str, list[dict[str, Any]]]) -> None:
    """Write the figures, one row per line."""
    parts = [f' "pairs": {pairs}']
    for name, rows in results.items():
        parts.append(f' "{name}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
