"""Concepts in a language model, measured: which layer reads them, what removing them costs, how fast states are read.

``python scripts/measure_states.py MODEL --data FOLDER --out states.json`` with the folder of a model (or a gguf file in
it) and the folder of labelled sentences. The results page, docs/states.md, is made of this file's answer.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from densray._leace import leace
from densray.metrics import auc
from densray.rotations import make_rotation
from densray.states import (
    Continuations,
    Intervention,
    InterventionTests,
    States,
    evaluate_intervention,
    read_states,
    sweep_interventions,
)

METHODS = ("densray", "densray-unit", "mean-difference", "ridge", "logistic-scaled", "lda")
EXTRACTORS = ("pca-diff", "lat", "caa")
N_SPLITS = 8


@dataclass(frozen=True)
class LabelledTexts:
    """Texts with two classes, and the group each belongs to."""

    name: str
    texts: list[str]
    labels: np.ndarray
    groups: np.ndarray


def truth(folder: Path, file: str) -> LabelledTexts:
    """Read true and false statements; the group is what a statement is about."""
    with (folder / "truth" / file).open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    key = next(name for name in ("city", "word", "spanish", "statement") if name in rows[0])
    groups = [row[key] if key != "statement" else row["statement"].split("'")[1] for row in rows]
    return LabelledTexts(
        file.removesuffix(".csv"),
        [row["statement"] for row in rows],
        np.array([int(row["label"]) for row in rows]),
        np.array(groups),
    )


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
    return LabelledTexts(
        "winogender",
        [row["sentence"] for row in rows],
        np.array([int(".male." in row["sentid"]) for row in rows]),
        np.array([row["sentid"].split(".")[0] for row in rows]),
    )


def pairs_within(labels: np.ndarray, groups: np.ndarray) -> list[tuple[int, int]]:
    """Return one row of each class per group, where a group has both."""
    found = []
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        high, low = rows[labels[rows] == 1], rows[labels[rows] == 0]
        found += list(zip(high.tolist(), low.tolist(), strict=False))
    return found


def direction(method: str, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the direction a method finds, oriented by its training labels."""
    if method in EXTRACTORS:
        axis = _extracted(method, X, y, groups)
    elif method == "logistic-scaled":
        from sklearn.linear_model import LogisticRegression

        scale = X.std(axis=0) + 1e-8
        axis = LogisticRegression(C=0.01, max_iter=2000).fit(X / scale, y).coef_[0] / scale
    else:
        axis = make_rotation(method, n_components=1).fit(X, y, groups=groups).components_[0]
    return axis if auc(y, X @ axis) >= 0.5 else -axis


def _extracted(method: str, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the directions of the popular extractors, from their published definitions."""
    pairs = pairs_within(y, groups)
    if len(pairs) < 8:  # texts without pairs: one of each class at random, as their users do
        random = np.random.default_rng(0)
        pairs = list(
            zip(random.permutation(np.flatnonzero(y == 1)), random.permutation(np.flatnonzero(y == 0)), strict=False)
        )
    differences = np.array([X[high] - X[low] for high, low in pairs])
    if method == "caa":  # Rimsky et al. 2024: the mean difference of pairs
        return differences.mean(axis=0)
    if method == "lat":  # Zou et al. 2023: first component of differences in random order
        differences = differences * np.random.default_rng(0).choice([-1.0, 1.0], size=(len(differences), 1))
    centred = differences - differences.mean(axis=0)  # repeng's pca_diff centres as well
    return np.linalg.svd(centred, full_matrices=False)[2][0]


def read_concept(
    states: States, given: LabelledTexts, others: dict[str, tuple[States, LabelledTexts]]
) -> list[dict[str, Any]]:
    """Return held-out AUROC of each method and layer over splits by group, and on other sets where there are some."""
    splits = []
    names = np.unique(given.groups)
    for seed in range(N_SPLITS):
        half = set(np.random.default_rng(seed).permutation(names)[: len(names) // 2].tolist())
        splits.append(np.array([group in half for group in given.groups.tolist()]))

    def run(job: tuple[int, str]) -> dict[str, Any]:
        layer, method = job
        X = np.asarray(states[layer], dtype=np.float64)
        marks, carried = [], {name: [] for name in others}
        for train in splits:
            axis = direction(method, X[train], given.labels[train], given.groups[train])
            marks.append(auc(given.labels[~train], X[~train] @ axis))
            for name, (other, labelled) in others.items():
                carried[name].append(auc(labelled.labels, np.asarray(other[layer], dtype=np.float64) @ axis))
        return {"set": given.name, "layer": layer, "method": method, "auc": marks, "carried": carried}

    every = states.layers[1::2]
    jobs = [(layer, method) for layer in every for method in (*METHODS, *EXTRACTORS)]
    jobs += [(layer, "densifier") for layer in every[3::4]]  # slow on wide rows
    with ThreadPoolExecutor(12) as pool:
        return list(pool.map(run, jobs))


PAIRS = [
    ("man", "woman"), ("boy", "girl"), ("father", "mother"), ("son", "daughter"), ("brother", "sister"),
    ("uncle", "aunt"), ("grandfather", "grandmother"), ("husband", "wife"), ("nephew", "niece"), ("gentleman", "lady"),
    ("king", "queen"), ("prince", "princess"), ("duke", "duchess"), ("monk", "nun"), ("actor", "actress"),
    ("waiter", "waitress"), ("groom", "bride"), ("widower", "widow"), ("stepfather", "stepmother"), ("heir", "heiress"),
]  # fmt: skip
TEMPLATES = ["The {} walked in", "I met a {} there", "A {} called me today", "My friend is a {}"]
TEMPLATES += ["The old {} smiled", "Nobody saw the {}"]
PROMPTS = ["The {} said that", "The {} was late because", "When the {} came home,"]


def removal(model: Any, tokenizer: Any, folder: Path) -> dict[str, Any]:
    """Remove gender in the forward pass; layers and strength are chosen on one half of the tests."""
    random = np.random.default_rng(0)
    trained, defining = PAIRS[0::2], PAIRS[1::2]
    texts, labels = [], []
    for template in TEMPLATES:
        for male, female in trained:
            texts += [template.format(male), template.format(female)]
            labels += [1, 0]
    states = read_states(model, tokenizer, texts)
    y = np.array(labels, dtype=float)
    erasures = {layer: leace(np.asarray(states[layer], dtype=np.float64), y) for layer in states.layers}
    with (folder / "winogender" / "occupations-stats.tsv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))[:40]
    prompts = [template.format(row["occupation"]) for template in PROMPTS for row in rows]
    known = [float(row["bls_pct_female"]) / 100 for _ in PROMPTS for row in rows]
    sided = [(word, side) for pair in defining for word, side in zip(pair, (1, 0), strict=True)]
    words = [(template.format(word), side) for template in PROMPTS for word, side in sided]
    with (folder / "crows-pairs" / "crows_pairs_anonymized.csv").open(encoding="utf-8") as stream:
        crows = [(row["sent_more"], row["sent_less"]) for row in csv.DictReader(stream) if row["bias_type"] == "gender"]
    lines = (folder / "sst2" / "test.tsv").read_text(encoding="utf-8").splitlines()
    held_out = [lines[row].rsplit("\t", 1)[0] for row in random.permutation(len(lines))[:128]]
    tests = InterventionTests(
        texts=held_out,
        stereotypes=Continuations(prompts, " he", " she", known),
        definitions=Continuations([text for text, _ in words], " he", " she", [side for _, side in words]),
        pairs=crows,
        probe_texts=[t.format(w) for t in TEMPLATES for pair in defining for w in pair],
        probe_labels=[side for _ in TEMPLATES for _ in defining for side in (1, 0)],
        probe_groups=[pair[0] for _ in TEMPLATES for pair in defining for _ in (1, 0)],
        probe_layers=[-1],
    )
    last = max(states.layers)
    sets = {
        "all but the last": range(last),
        "middle, every second": range(last // 3, 2 * last // 3, 2),
        "late, every second": range(2 * last // 3, last, 2),
        "late": range(2 * last // 3, last),
        "last third, every third": range(2 * last // 3, last, 3),
    }
    whole = Intervention.removing(states, erasures, name="gender")
    plans = {name: whole.only(list(layers)) for name, layers in sets.items()}
    points, chosen = sweep_interventions(model, tokenizer, plans, tests)
    table = {name: evaluate_intervention(model, tokenizer, plan, tests).rows() for name, plan in plans.items()}
    return {
        "sweep": [vars(point) for point in points],
        "chosen": {"layers": list(chosen.layers), "strength": chosen.strength, "rows": chosen.rows()},
        "by_layers": table,
    }


def throughput(model: Any, tokenizer: Any, folder: Path, out: Path, count: int = 100_000) -> dict[str, float]:
    """Return texts per second of the bare forward pass and of reading all layers to disk."""
    import torch

    lines = (folder / "sst2" / "train.tsv").read_text(encoding="utf-8").splitlines()
    base = [line.rsplit("\t", 1)[0] for line in lines if line.strip()]
    texts = [f"{base[number % len(base)]} {number // len(base)}" for number in range(count)]
    from densray.states._models import encode_texts, filler_of, padded
    from densray.states._reading import TOKENS_PER_BATCH

    rows = sorted(encode_texts(model, tokenizer, texts, first_token=False).tokens, key=len)
    device, budget = next(model.parameters()).device, TOKENS_PER_BATCH["device"]

    def forward() -> None:
        batch: list[list[int]] = []
        with torch.inference_mode():
            for row in [*rows, None]:
                if batch and (row is None or (len(batch) + 1) * len(row) > budget):
                    ids, mask = padded(batch, filler_of(tokenizer), device)
                    model.model(input_ids=ids, attention_mask=mask)
                    batch = []
                if row is not None:
                    batch.append(row)
        torch.cuda.synchronize()

    forward()
    bare = _seconds(forward)
    whole = _seconds(lambda: read_states(model.model, tokenizer, texts, out=out, dtype="float16", first_token=False))
    return {"texts": count, "bare_per_second": count / bare, "read_per_second": count / whole, "share": bare / whole}


def _seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def load(folder: Path) -> tuple[Any, Any]:
    """Return a model in float32 and its tokenizer, from a folder or the one gguf file in it."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    packed = [path.name for path in folder.glob("*.gguf")]
    named = {"gguf_file": packed[0]} if packed else {}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = AutoTokenizer.from_pretrained(folder, **named)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **named)
    return model.to(device).eval(), tokenizer


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", default="read,remove,speed")
    given = parser.parse_args(arguments)
    model, tokenizer = load(given.model)
    found: dict[str, Any] = {}
    if "read" in given.parts:
        given_sets = [truth(given.data, f"{name}.csv") for name in ("cities", "neg_cities", "sp_en_trans")]
        given_sets += [sentiment(given.data), gender(given.data)]
        sets = {each.name: each for each in given_sets}
        states = {name: read_states(model, tokenizer, each.texts) for name, each in sets.items()}
        carried = {name: (states[name], sets[name]) for name in ("neg_cities", "sp_en_trans")}
        found["read"] = read_concept(states["cities"], sets["cities"], carried)
        for name in ("sst2", "winogender"):
            found["read"] += read_concept(states[name], sets[name], {})
        given.out.write_text(json.dumps(found))
    if "remove" in given.parts:
        found["remove"] = removal(model, tokenizer, given.data)
        given.out.write_text(json.dumps(found))
    if "speed" in given.parts:
        found["speed"] = throughput(model, tokenizer, given.data, given.out.parent / "states")
    given.out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
