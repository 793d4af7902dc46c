"""Ridge without groups, with proposed groups and with the true ones: AUC on held-out texts, and how honest it is.

    python scripts/measure_groups.py SmolLM2=FILE.gguf MiniLM=FOLDER --data SENTENCES --states STATES

Each half of a set, split by its true groups, is a data set whose groups are unknown, proposed or known. The axis is
fitted to it (ridge chooses its penalty with these groups) and its AUC is cross-validated within these groups. The other
half gives the true AUC. The states are read once, to STATES. Writes ``docs/states_proposed.json``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from measure_states import DOCS, sentence_sets, split

from densray.axes import Axis
from densray.metrics import auc
from densray.rows import Rows
from densray.states import States, load_model, read_states

NUMBERS = DOCS / "states_proposed.json"
LAYERS = {"SmolLM2": (12, 20), "MiniLM": (3, 5)}
#: Number of texts of each set, the first ones: enough for hundreds of groups, and few enough for ten minutes.
N_TEXTS = {"winogender": 480, "cities": 600, "sp_en_trans": 354, "sst2": 500}
N_SPLITS = 8
GROUPINGS = ("none", "proposed", "true")


def read_layers(model: str, path: str, data: Path, folder: Path) -> None:
    """Write the states of every set: last tokens of a language model, means of an encoder."""
    loaded = load_model(path, sentence_encoder=False)
    pool = "last" if hasattr(loaded.model, "lm_head") else "mean"
    for name, count in N_TEXTS.items():
        texts = sentence_sets(data)[name].texts[:count]
        read_states(
            loaded.model, loaded.tokenizer, texts, layers=LAYERS[model], pool=pool, out=folder / model / name,
            first_token="auto",
        )  # fmt: skip


def measure(model: str, name: str, data: Path, folder: Path) -> list[dict[str, Any]]:
    """Return one row per layer and grouping: AUC on held-out texts and cross-validated AUC, a list over splits."""
    given, states = sentence_sets(data)[name], States.open(folder / model / name)
    labels, groups = given.labels[: len(states)], given.groups[: len(states)]
    found = []
    for layer in LAYERS[model]:
        X = np.asarray(states[layer], dtype=np.float32)
        results: dict[str, dict[str, Any]] = {grouping: {"auc": [], "cross_validated": []} for grouping in GROUPINGS}
        for seed in range(N_SPLITS):
            half = split(groups, seed)
            texts = [text for text, inside in zip(states.texts, half, strict=True) if inside]
            for grouping, used in (("none", None), ("proposed", "proposed"), ("true", groups[half])):
                rows = Rows.from_arrays(X[half], labels[half], names=texts, groups=used, background=X[half])
                axis = Axis.fit(rows, "ridge", normalize=False, standardize=True)
                results[grouping]["auc"].append(float(auc(2 * labels[~half] - 1, X[~half] @ axis.direction)))
                results[grouping]["cross_validated"].append(float(axis.agreement.auc))
                results[grouping]["n_groups"] = rows.n_groups
        found += [{"model": model, "set": name, "layer": layer, "groups": key, **row} for key, row in results.items()]
    return found


def main() -> None:
    """Read, measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--states", type=Path, required=True)
    given = parser.parse_args()
    found = []
    for named in given.models:
        model, _, path = named.partition("=")
        read_layers(model, path, given.data, given.states)
        for name in N_TEXTS:
            found += measure(model, name, given.data, given.states)
            for row in found[-len(LAYERS[model]) * len(GROUPINGS) :]:
                means = " ".join(f"{key} {np.mean(row[key]):.3f}" for key in ("auc", "cross_validated"))
                print(row["model"], row["set"], row["layer"], row["groups"], row["n_groups"], means, flush=True)
    NUMBERS.write_text("[\n" + ",\n".join(json.dumps(row) for row in found) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
