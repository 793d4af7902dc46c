"""Coverage of the 95% interval of `compare_layers`: how often it contains the AUC that it is for, in simulated texts.

    python scripts/measure_intervals.py [--groups 8 --draws 1000]

Groups of texts are drawn again and again. Texts of a group share a random part. The labels are balanced, with eight
texts per group, or 35% of the texts have the high label, with 2 to 16 texts per group. Two targets are counted: the
mean of the held-out AUC over all draws, which the interval estimates, and the AUC of the axis of each draw on thousands
of new groups. Writes ``docs/states_intervals.json``, and keeps its rows with other numbers of groups.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from measure_states import DOCS

from densray.metrics import auc
from densray.states import States, compare_layers

NUMBERS = DOCS / "states_intervals.json"
METHODS = ("ridge", "mean-difference")
WIDTH, STRENGTH, SHARED, N_NEW = 8, 0.8, 0.7, 4000


def draw(sizes: np.ndarray, share: float, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the group, the label and the state of texts in groups of these sizes."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    y = np.where(generator.random(len(groups)) < share, 1, -1)
    rows = SHARED * generator.normal(size=(len(sizes), WIDTH))[groups] + generator.normal(size=(len(groups), WIDTH))
    rows[:, 0] += STRENGTH * y
    return groups, y, rows.astype(np.float32)


def one_draw(n_groups: int, seed: int, *, balanced: bool) -> dict[str, tuple[float, float, float, float]]:
    """Return for each method the held-out AUC, its interval, and the AUC of the axis on new groups."""
    generator = np.random.default_rng(seed)
    sizes = np.full(n_groups, 8) if balanced else generator.integers(2, 17, n_groups)
    share = 0.5 if balanced else 0.35
    groups, y, rows = draw(sizes, share, generator)
    states = States.of_arrays([rows], [f"text {number}" for number in range(len(y))])
    result = compare_layers(states, y, groups=groups, methods=METHODS, n_permutations=1)
    _, new_y, new_rows = draw(np.ones(N_NEW, dtype=int), share, np.random.default_rng(10**6 + seed))
    return {
        score.method: (
            score.auc, score.interval.low, score.interval.high, auc(new_y, new_rows @ result.axes[0, score.method])
        )
        for score in result.scores
    }  # fmt: skip


def main() -> None:
    """Draw, count and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, nargs="+", default=[8, 20, 40])
    parser.add_argument("--draws", type=int, default=1000)
    given = parser.parse_args()
    known = json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else []
    found: list[dict[str, Any]] = [row for row in known if row["n_groups"] not in given.groups]
    for n_groups in given.groups:
        for balanced in (True, False):
            draws = [one_draw(n_groups, seed, balanced=balanced) for seed in range(given.draws)]
            for method in METHODS:
                area, low, high, new = np.array([each[method] for each in draws]).T
                inside = {
                    "mean AUC": np.mean((low <= area.mean()) & (area.mean() <= high)),
                    "own axis on new groups": np.mean((low <= new) & (new <= high)),
                    "estimate": np.mean((low <= area) & (area <= high)),
                }
                row = {"method": method, "n_groups": n_groups, "balanced": balanced, "n_draws": given.draws}
                found.append({**row, "covered": {name: round(float(share), 4) for name, share in inside.items()}})
                print(found[-1], flush=True)
    found.sort(key=lambda row: (row["n_groups"], not row["balanced"], row["method"]))
    NUMBERS.write_text("[\n" + ",\n".join(json.dumps(row) for row in found) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
