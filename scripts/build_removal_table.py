"""Make the tables of ``docs/debiasing.md``: what removers leave of gender in words they have not seen.

On ``googlenews-26k``, with three lists to learn from. The 5,000 words with the strongest he/she bias are split into
halves five times: removers learn from one half (or from the family words, or from he and she), and are tested on the
other half alone. SemBias needs the file of that name in the folder that ``DENSRAY_DATA`` names, and is left out where
it is not at hand::

    DENSRAY_DATA=… python scripts/build_removal_table.py

Writes ``docs/removal.json`` (unrounded) and ``docs/removal.svg``; with ``--render`` the figure alone, from the numbers
at hand. `write_results.py` puts the tables on the page. Some minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from densray import Erasure, Lexicon, WordSpace, load_space
from densray.debiasing import (
    BiasedWords,
    Concept,
    Reference,
    anchor_gap,
    association_test,
    cluster_test,
    direct_bias,
    load_concept,
    most_biased,
    neighbor_overlap,
    neighbor_test,
    pair_choice,
    recovery_test,
    similarity,
)
from densray.figures import interval_plot
from densray.figures._narrow import save_both
from densray.probes import refitted_auc

DOCS = Path(__file__).resolve().parent.parent / "docs"
NUMBERS = DOCS / "removal.json"
COUNT = 2500  # most biased words of either side, as in Gonen & Goldberg (2019)
DRAWS = 5
STUDENT = 2.7764451051977987  # the 97.5% quantile of Student's t with four degrees of freedom

FAMILY = [
    "random", "mean-difference", "densray-unit", "densray-unit:5", "densifier", "svm", "ridge", "ridge:10", "inlp:30",
    "hard", "double-hard", "leace",
]  # fmt: skip
BIASED = ["random", "mean-difference", "densray-unit", "densifier", "svm", "ridge", "ridge:30", "inlp:30", "leace"]

HELD_OUT = ("ridge AUC", "linear", "RBF", "clusters")
ELSEWHERE = ("neighbours", "gap", "direct", "WEAT 7", "WEAT 8", "stereotype", "definition", "MEN", "SimLex", "overlap")
QUALITY = ELSEWHERE[-3:]


class Gender:
    """The space, the concept, and the words whose bias is asked for."""

    def __init__(self) -> None:
        self.space = load_space("googlenews-26k").normalized()
        self.concept: Concept = load_concept("gender")
        self.reference = Reference.of(self.space, self.concept)
        assert self.concept.poles is not None
        self.biased = most_biased(self.space, self.concept.poles, exclude=self.concept.keep)
        words, sides = self.biased.top(COUNT)
        self.words, self.labels = np.array(words), np.where(sides, 1.0, -1.0)
        self.bias = np.concatenate([self.biased.bias[:COUNT], self.biased.bias[-COUNT:]])

    def halves(self, draw: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the words to learn from and the words to test on, as places, half of either side each."""
        random = np.random.RandomState(draw)
        learned = np.concatenate(
            [random.permutation(np.flatnonzero(self.labels == side))[: COUNT // 2] for side in (-1.0, 1.0)]
        )
        return np.sort(learned), np.setdiff1d(np.arange(len(self.words)), learned)

    def removed(self, remover: str, lexicon: Lexicon) -> tuple[WordSpace, int]:
        """Return what a remover makes of the space, and how many dimensions it took."""
        rows = lexicon.align(self.space, any_case=False, order="lexicon")
        erasure = Erasure.fit(rows, remover, pairs=self.concept.pairs, normalize=False)
        keep, equalize = self.concept.exceptions(remover)
        return erasure.apply(self.space, keep=keep, equalize=equalize), erasure.rank

    def held_out(self, space: WordSpace, places: np.ndarray[Any, Any]) -> dict[str, float]:
        """Return what can be recovered of the bias of some words, by models that see those words alone."""
        words = tuple(self.words[places].tolist())
        part = BiasedWords(self.biased.poles, words, self.bias[places])
        half = len(words) // 2
        options = {"count": half, "n_train": len(words) // 5}
        return {
            "ridge AUC": float(np.mean(refitted_auc(space[list(words)].astype(np.float64), self.labels[places]))),
            "linear": recovery_test(space, part, kernel="linear", **options).value,
            "RBF": recovery_test(space, part, kernel="rbf", **options).value,
            "clusters": cluster_test(space, part, count=500).value,
        }

    def elsewhere(self, space: WordSpace) -> dict[str, float]:
        """Return the measures that do not look at those words."""
        concept = self.concept
        tests = {test.number: test for test in concept.associations}
        ratings = {each.name: each for each in concept.similarities}
        found = {
            "neighbours": neighbor_test(space, self.biased, concept.neutral).value,
            "gap": anchor_gap(space, concept.neutral, concept.anchors).value,
            "direct": direct_bias(space, concept.neutral, self.reference.direction).value,
            **{f"WEAT {number}": association_test(space, tests[number]).value for number in (7, 8)},
            "MEN": similarity(space, ratings["men"]).value,
            "SimLex": similarity(space, ratings["simlex-999"]).value,
            "overlap": neighbor_overlap(space, self.space, most=500).value,
        }
        if concept.questions:
            choice = pair_choice(space, concept.questions, self.biased.poles)
            found |= {"stereotype": choice.stereotype, "definition": choice.definition}
        return found


def measured(gender: Gender) -> Iterator[dict[str, Any]]:
    """Yield one row per list and remover: each measure's mean over the draws, its interval and its values."""
    draws = [gender.halves(draw) for draw in range(DRAWS)]

    def row(words: str, name: str, spaces: Sequence[tuple[WordSpace, int]]) -> dict[str, Any]:
        values = [gender.held_out(spaces[draw % len(spaces)][0], tested) for draw, (_, tested) in enumerate(draws)]
        fixed = [gender.elsewhere(space) for space, _ in spaces]
        axes = [n_axes for _, n_axes in spaces]
        print(f"{perf_counter() - STARTED:5.0f} s  {words}: {name}", flush=True)
        means = {key: spread([each[key] for each in values]) for key in values[0]}
        means |= {key: spread([each[key] for each in fixed]) for key in fixed[0]}
        return {"list": words, "name": name, "axes": axes, "measures": means}

    yield row("nothing removed", "original", [(gender.space, 0)])
    for name in FAMILY:
        yield row("family words", name, [gender.removed(name, gender.concept.lexicon)])
    poles = Lexicon.from_pairs([gender.biased.poles])
    yield row("he – she", "mean-difference", [gender.removed("mean-difference", poles)])
    for name in BIASED:
        learned = [
            Lexicon(dict(zip(gender.words[places].tolist(), gender.labels[places].tolist(), strict=True)))
            for places, _ in draws
        ]
        yield row("half of the biased words", name, [gender.removed(name, each) for each in learned])


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return the mean of the draws, and its interval by Student's t where there are five."""
    mean = float(np.mean(values))
    half = STUDENT * float(np.std(values, ddof=1)) / DRAWS**0.5 if len(values) == DRAWS else None
    low, high = (None, None) if half is None else (mean - half, mean + half)
    return {"mean": mean, "low": low, "high": high, "values": [float(value) for value in values]}


def rendered(rows: Sequence[dict[str, Any]]) -> str:
    """Return the tables: what models find in held-out words, and the other measures."""
    parts = []
    for title, keys in (
        ("Held-out words: the bias that remains", HELD_OUT),
        ("The other measures of bias", [key for key in ELSEWHERE if key not in QUALITY]),
        ("The quality of the space", QUALITY),
    ):
        shown = [key for key in keys if key in rows[0]["measures"]]
        lines = [f"**{title}**", "", f"| learned from | remover | axes | {' | '.join(shown)} |"]
        lines.append("| --- | --- | ---: |" + " ---: |" * len(shown))
        for row in rows:
            cells = " | ".join(_cell(row["measures"][key], interval=keys is HELD_OUT) for key in shown)
            lines.append(f"| {_learned_from(row)} | {row['name']} | {_range(row['axes'])} | {cells} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def tables() -> dict[str, str]:
    """Return the tables by the name the page gives them, from the numbers at hand."""
    return {"removal": rendered(json.loads(NUMBERS.read_text("utf-8")))}


def _learned_from(row: dict[str, Any]) -> str:
    return "ten pairs" if row["name"] in ("hard", "double-hard") else str(row["list"]).removeprefix("half of the ")


def _range(axes: Sequence[int]) -> str:
    low, high = min(axes), max(axes)
    return str(low) if low == high else f"{low}–{high}"


def _cell(found: dict[str, Any], *, interval: bool) -> str:
    if not interval or found["low"] is None:
        return f"{found['mean']:.3f}"
    return f"{found['mean']:.3f} ± {found['high'] - found['mean']:.3f}"


def drawn(rows: Sequence[dict[str, Any]]) -> Any:
    """Return the figure of the page: RBF recovery in held-out words, with intervals, by remover and word list."""
    lists = ("nothing removed", "family words", "half of the biased words")
    part = "recovery of held-out words by an RBF classifier"
    order = list(dict.fromkeys(row["name"] for row in rows))
    if {"ridge:10", "ridge:30"} <= set(order):
        order.insert(order.index("ridge:10") + 1, order.pop(order.index("ridge:30")))
    points = [
        {
            "remover": row["name"],
            "learned from": row["list"],
            "part": part,
            "value": row["measures"]["RBF"]["mean"],
            "low": row["measures"]["RBF"]["low"],
            "high": row["measures"]["RBF"]["high"],
            "if_gone": 0.5,
        }
        for row in sorted(rows, key=lambda row: order.index(row["name"]))
        if row["list"] in lists
    ]
    chart = interval_plot(
        points, down="remover", by="learned from", x="accuracy", least=0.4, one_line=True, gone="chance"
    )
    chart.vconcat[0].width = 370  # with names and legend, as wide as the text of a page
    return chart


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--render", action="store_true", help="only draw the figure again, from the numbers at hand")
    if not parser.parse_args().render:
        rows = list(measured(Gender()))
        NUMBERS.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")
    save_both(drawn(json.loads(NUMBERS.read_text("utf-8"))), DOCS / "removal.svg")


STARTED = perf_counter()
if __name__ == "__main__":
    main()
