"""Error bars against what other seeds show: reliability, word errors, confidence cone, held-out AUC and τ intervals.

Fourteen lexicons on ``googlenews-26k``. In alphabetical order every second one, from the first on, chose what had to be
chosen (the factor of the AUC interval, the form of the correction); the others report. Run with

    DENSRAY_DATA=… python -m benchmarks.error_bars [--pairs 30] [--out FILE]

An interrupted run goes on from its file.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray import Lexicon, load_space
from densray._vocabulary import unit_rows
from densray.alignment import Alignment
from densray.axes import degrees_between, find_seeds
from densray.axes._influence import ridge_without_each
from densray.axes._resampling import (
    HELD_OUT_INFLATION,
    axis_errors,
    count_folds,
    held_out_scores,
    stratified_folds,
)
from densray.datasets import load_lexicon
from densray.metrics import auc, auc_interval, kendall_tau, resampled_tau, tau_interval
from densray.rotations import Rotation, make_rotation

Matrix = NDArray[np.float64]
DATA = Path(__file__).resolve().parents[1] / "docs" / "error_bars.json"
SIZES = (20, 50, 100, 200, 400)
INTERVAL_SIZES = (12, 20, 30, 50, 100, 200)
EMOTIONS = ("anger", "anticipation", "disgust", "fear", "joy", "sadness", "surprise", "trust")


def read_lexicons(folder: Path) -> dict[str, Lexicon]:
    """Return the fourteen lexicons: each NRC emotion against the words of other emotions, log10 SUBTLEX frequency."""
    found = {name: load_lexicon(name) for name in ("bwk", "hu-liu", "mpqa", "nrc", "semeval2015-e")}
    with (folder / "bwk/Concreteness_ratings_Brysbaert_et_al_BRM.txt").open(encoding="latin-1") as file:
        counts = {row["Word"]: float(row["SUBTLEX"]) for row in csv.DictReader(file, delimiter="\t")}
    found["subtlex"] = Lexicon({word: np.log10(count) for word, count in counts.items() if count > 0}, name="SUBTLEX")
    emotions: dict[str, set[str]] = {}
    with (folder / "nrc/NRC-Emotion-Lexicon-Wordlevel-v0.92.txt").open(encoding="utf-8") as file:
        for line in file:
            word, *rest = line.rstrip("\n").split("\t")
            if len(rest) == 2 and rest[0] in EMOTIONS and rest[1] == "1":
                emotions.setdefault(word, set()).add(rest[0])
    for emotion in EMOTIONS:
        found[emotion] = Lexicon({word: 1 if emotion in held else -1 for word, held in emotions.items()}, name=emotion)
    return dict(sorted(found.items()))


def draw_rows(
    seeds: Alignment, size: int, sets: int, random: np.random.Generator, *, even: bool
) -> list[NDArray[np.intp]]:
    """Return disjoint sets of rows: classes in equal parts, or in the shares of the lexicon; scores at random."""
    if not seeds.is_binary:
        order = random.permutation(seeds.n_words)
        return [order[part * size : (part + 1) * size] for part in range(sets)]
    high, low = (random.permutation(np.flatnonzero(seeds.sides == side)) for side in (1, -1))
    count = max(3, round(size * (0.5 if even else len(high) / seeds.n_words)))
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
        """Return deviations without what changes all scores by one factor, as `AxisModel` takes them."""
        slope = self.covariance @ axis
        return deviations - np.outer(deviations @ slope / (axis @ slope), axis)

    def reliability(self, deviations: Matrix, axis: Matrix) -> float:
        """Return one less the mean squared standard error over the variance of the scores."""
        error = float(np.sum((deviations @ self.covariance) * deviations))
        return max(1.0 - error / float(axis @ self.covariance @ axis), 0.0)


def bootstrap_before(rotation: Rotation, seeds: Alignment, random: np.random.Generator) -> tuple[Matrix, float]:
    """Return deviations and the 95% angle of 200 resamples, as they were before the jackknife."""
    axis, counts = rotation.components_[0], np.zeros((200, seeds.n_words))
    for rows in (
        [np.flatnonzero(seeds.y == y) for y in np.unique(seeds.y)] if seeds.is_binary else [np.arange(seeds.n_words)]
    ):
        counts[:, rows] = random.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=200)
    if hasattr(rotation, "penalty_"):
        coefficients, without = ridge_without_each(seeds, float(rotation.penalty_))
        axes = unit_rows(coefficients + (counts - 1.0) @ (coefficients - without))
    else:
        means = (counts @ seeds.values) / counts.sum(axis=1)
        axes = unit_rows((counts * (seeds.values - means[:, None])) @ seeds.X.astype(np.float64))
    comparable = axes / np.clip(axes @ axis, 0.2, None)[:, None]
    return (comparable - comparable.mean(axis=0)) / np.sqrt(199), float(np.quantile(degrees_between(axes, axis), 0.95))


def measure_errors(
    name: str,
    seeds: Alignment,
    vocabulary: Vocabulary,
    method: str,
    size: int,
    pairs: int,
    *,
    even: bool,
) -> dict[str, Any]:
    """Return reliability, word and cone cover over disjoint pairs of seed sets of one lexicon."""
    random, rows, closed = np.random.default_rng(size), [], method != "densray-unit"
    whole = make_rotation(method).fit(seeds.X, seeds.y).components_[0] if closed else None
    for _ in range(pairs):
        axes, errors, before = [], [], []
        for part in draw_rows(seeds, size, 2, random, even=even):
            drawn = seeds.take(part)
            rotation = make_rotation(method).fit(drawn.X, drawn.y)
            axis, found = rotation.components_[0], axis_errors(rotation, drawn)
            free = vocabulary.free(found.deviations, axis)
            old, old_cone = bootstrap_before(rotation, drawn, random) if closed else (free, np.nan)
            angle = float(degrees_between(axis, whole)) if whole is not None else np.nan
            axes.append(axis)
            errors.append(np.linalg.norm(vocabulary.words @ free.T, axis=1))
            before.append(np.linalg.norm(vocabulary.words @ old.T, axis=1))
            rows.append({
                "foretold": vocabulary.reliability(free, axis), "cone": found.seed_angle.upper, "angle": angle,
                "cone_covers": angle <= found.seed_angle.upper, "foretold_before": vocabulary.reliability(old, axis),
                "cone_before": old_cone, "cone_covers_before": angle <= old_cone,
            })  # fmt: skip
        shift = np.abs(vocabulary.words @ (axes[0] - axes[1]))
        for last in rows[-2:]:
            last["found"] = vocabulary.correlation(*axes)
            last["words_cover"] = float(np.mean(shift <= 1.96 * np.hypot(*errors)))
            last["words_cover_before"] = float(np.mean(shift <= 1.96 * np.hypot(*before)))
    known = [key for key in rows[0] if closed or not (key.endswith("_before") or key in ("angle", "cone_covers"))]
    means = {key: round(float(np.mean([row[key] for row in rows])), 4) for key in known}
    return {"lexicon": name, "method": method, "seeds": size, "even": even, "pairs": pairs, **means}


def measure_intervals(name: str, seeds: Alignment, method: str, size: int, draws: int) -> dict[str, Any]:
    """Return how often the intervals of held-out AUC and τ cover what the axis does on the rest of the lexicon."""
    random, rows = np.random.default_rng(size), []
    for _ in range(draws):
        part = draw_rows(seeds, size, 1, random, even=True)[0]
        drawn, rest = seeds.take(part), np.setdiff1d(np.arange(seeds.n_words), part)
        rotation = make_rotation(method).fit(drawn.X, drawn.y)
        scores = seeds.X[rest] @ rotation.components_[0]
        held_out = held_out_scores(rotation, drawn, stratified_folds(drawn, count_folds(drawn, 10), random))[:, 0]
        truths = {"auc": auc(seeds.sides[rest], scores), "tau": kendall_tau(seeds.y[rest], scores)}
        if seeds.is_binary:  # τ-b between classes hangs on their shares: at those of the seeds
            high = float(np.mean(drawn.sides > 0))
            truths["tau"] = (2.0 * truths["auc"] - 1.0) * np.sqrt(2.0 * high * (1.0 - high) * size / (size - 1))
        new = {"auc": auc_interval(drawn.sides, held_out, inflation=HELD_OUT_INFLATION),
               "tau": tau_interval(drawn.y, held_out, inflation=HELD_OUT_INFLATION)}  # fmt: skip
        old = np.quantile(resampled_tau(drawn.y, held_out, n_resamples=300), [0.025, 0.975])
        rows.append({
            "auc_covers": new["auc"].low <= truths["auc"] <= new["auc"].high,
            "auc_below": truths["auc"] < new["auc"].low,
            "auc_width": new["auc"].high - new["auc"].low,
            "tau_covers": new["tau"].low <= truths["tau"] <= new["tau"].high,
            "tau_covers_before": old[0] <= truths["tau"] <= old[1],
            "auc_covers_before": _delong_covers(drawn.sides, held_out, truths["auc"]),
        })  # fmt: skip
    means = {key: round(float(np.mean([row[key] for row in rows])), 4) for key in rows[0]}
    return {"lexicon": name, "method": method, "seeds": size, "draws": draws, **means}


def _delong_covers(sides: Matrix, scores: Matrix, truth: float) -> bool:
    """Return whether the interval as it was before covers: DeLong's error as it is, with a normal quantile."""
    from scipy.stats import rankdata

    value, high, ranks = auc(sides, scores), sides > 0, rankdata(scores)
    if value in (0.0, 1.0):
        interval = auc_interval(sides, scores)
        return interval.low <= truth <= interval.high
    variance = sum(
        ((ranks[rows] - rankdata(scores[rows])) / np.sum(~rows)).var(ddof=1) / np.sum(rows) for rows in (high, ~high)
    )
    odds = [np.log(each / (1.0 - each)) for each in (value, truth)]
    return bool(abs(odds[1] - odds[0]) <= 1.96 * np.sqrt(variance) / (value * (1.0 - value)))


def measure(pairs: int, known: set[tuple[Any, ...]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kind and the figures of every lexicon, method and size not known; first of the lexicons that report."""
    space = load_space("googlenews-26k")
    vocabulary = Vocabulary(unit_rows(space.vectors).astype(np.float64))
    lexicons = read_lexicons(Path(os.environ["DENSRAY_DATA"]) / "lexicons")
    names = list(lexicons)
    for half, chosen in (("reports", names[1::2]), ("chose", names[0::2])):
        seeds = {name: find_seeds(space, lexicons[name]) for name in chosen}
        for kind, method, name, size, even in _plan(seeds):
            if (kind, method, name, size, even) in known:
                continue
            if kind == "intervals":
                row = measure_intervals(name, seeds[name], method, size, pairs)
            else:
                count = max(pairs // 3, 5) if method == "densray-unit" else pairs
                row = measure_errors(name, seeds[name], vocabulary, method, size, count, even=even)
            yield kind, {"half": half, **row}


def _plan(seeds: dict[str, Alignment]) -> Iterator[tuple[str, str, str, int, bool]]:
    """Yield kind, method, lexicon, size, and whether classes are drawn in equal parts."""
    for method in ("mean-difference", "ridge"):
        for name, part in seeds.items():
            for size in SIZES:
                for even in (True, False) if part.is_binary and size <= 100 else (True,):
                    yield "errors", method, name, size, even
        for name in seeds:
            for size in INTERVAL_SIZES:
                yield "intervals", method, name, size, True
    for name in seeds:
        for size in SIZES[:2]:
            yield "errors", "densray-unit", name, size, True


def tables() -> dict[str, str]:
    """Return the tables of docs/trust.md in Markdown by name: means over the lexicons that report."""
    found = json.loads(DATA.read_text("utf-8"))
    return {"error-bars": _errors_table(found["errors"]), "interval-cover": _intervals_table(found["intervals"])}


def _errors_table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| method | classes | seeds | lexicons | reliability: predicted | observed | words covered | 95% cone "
        "| it covers |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (method, even, size), chosen in _by(rows, "method", "even", "seeds").items():
        means = [_mean(chosen, name) for name in ("foretold", "found", "words_cover", "cone", "cone_covers")]
        shown = [f"{value:.0f}°" if value > 1 else f"{value:.2f}" for value in means]
        shown[-1] = "" if np.isnan(means[-1]) else shown[-1]
        classes = "equal parts" if even else "shares of the lexicon"
        lines.append(f"| {method} | {classes} | {size} | {len(chosen)} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _intervals_table(rows: list[dict[str, Any]]) -> str:
    by_size = _by(rows, "method", "seeds")
    lines = [
        f"| interval | method | {' | '.join(f'{size} seeds' for size in INTERVAL_SIZES)} |",
        f"| --- | --- |{' ---: |' * len(INTERVAL_SIZES)}",
    ]
    for title, column in (("AUC", "auc_covers"), ("τ", "tau_covers")):
        for method in dict.fromkeys(method for method, _ in by_size):
            shown = [f"{_mean(by_size[method, size], column):.2f}" for size in INTERVAL_SIZES]
            lines.append(f"| {title} | {method} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _by(rows: list[dict[str, Any]], *names: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Return the rows that report, by the values of some columns: methods as they come, equal parts first."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for row in sorted(rows, key=lambda row: (methods.index(row["method"]), not row.get("even", True), row["seeds"])):
        if row["half"] == "reports":
            found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


def _mean(rows: list[dict[str, Any]], name: str) -> float:
    return float(np.mean([row.get(name, np.nan) for row in rows]))


def main() -> None:
    """Measure what the file lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--pairs", type=int, default=30)
    asked = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {"errors": [], "intervals": []}
    if asked.out.exists():  # go on from there
        found |= {kind: rows for kind, rows in json.loads(asked.out.read_text("utf-8")).items() if kind in found}
    known = {
        (kind, row["method"], row["lexicon"], row["seeds"], row.get("even", True))
        for kind, rows in found.items()
        for row in rows
    }
    for kind, row in measure(asked.pairs, known):
        found[kind].append(row)
        _write(asked.out, asked.pairs, found)


def _write(path: Path, pairs: int, found: dict[str, list[dict[str, Any]]]) -> None:
    """Write the figures, one row per line."""
    parts = [f' "pairs": {pairs}']
    for name, rows in found.items():
        parts.append(f' "{name}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
