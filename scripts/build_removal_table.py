"""Make the table of ``docs/debiasing.md``: every remover, three word lists, what went and what stayed.

Runs ``evaluate_removal`` on ``googlenews-26k``; takes some minutes on two cores. LEACE needs ``pip install
'densray[leace]'``, and SemBias the file of that name in the folder that ``DENSRAY_DATA`` names; each is left out
where it is not at hand::

    DENSRAY_DATA=… python scripts/build_removal_table.py

Writes ``docs/removal.json`` (unrounded), the tables of ``docs/debiasing.md`` and ``docs/removal.svg``; with
``--render`` the last two alone, from the numbers at hand.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from densray import Lexicon, WordSpace, load_space
from densray.debiasing import Concept, MeasuredSpace, evaluate_removal, load_concept, make_remover, most_biased
from densray.figures import removal_tradeoff, to_svg
from densray.report import Column, Table, to_json, to_markdown

DOCS = Path(__file__).resolve().parent.parent / "docs"
NUMBERS, PAGE = DOCS / "removal.json", DOCS / "debiasing.md"
COUNT = 2500

FAMILY = [
    "random", "mean-difference", "densray-unit", "densray-unit:2", "densray-unit:5", "densray-unit:10", "densifier",
    "svm", "ridge", "ridge:10", "inlp:10", "inlp:30", "hard", "double-hard", "leace",
]  # fmt: skip
BIASED = ["mean-difference", "densray-unit", "densifier", "svm", "ridge", "ridge:30", "inlp:10", "inlp:30", "leace"]
HELD_OUT = ["mean-difference", "densray-unit", "ridge", "ridge:30", "inlp:10", "inlp:30", "leace"]

#: Heading → the measure under it; a field of a measure stands after a dot.
REMOVED = {
    "clusters": "cluster accuracy", "linear": "recovery (linear)", "RBF": "recovery (rbf)",
    "neighbours": "neighbour correlation", "gap": "anchor gap", "direct": "direct bias", "WEAT 7": "WEAT 7",
    "WEAT 8": "WEAT 8", "stereotype": "SemBias stereotype", "definition": "SemBias stereotype.definition",
    "RNSB": "RNSB",
}  # fmt: skip
KEPT = {
    "MEN": "men", "SimLex": "simlex-999", "WS-353": "wordsim-353", "RG": "rg-65", "RW": "rare-words",
    "analogies": "analogies", "overlap": "neighbour overlap",
}  # fmt: skip
BEGIN, END = "% tables: begin", "% tables: end"


def lists(space: WordSpace, concept: Concept) -> Iterator[tuple[str, Concept, list[str], int]]:
    """Yield each word list: its name, the concept with it, the removers to try, and how many words are tested."""
    yield "family pairs (43 words)", concept, FAMILY, COUNT
    assert concept.poles is not None
    yield "he – she", concept.with_lexicon(Lexicon.from_pairs([concept.poles])), ["mean-difference"], COUNT
    words, sides = most_biased(space, concept.poles, exclude=concept.keep).top(COUNT)
    labels = np.where(sides, 1.0, -1.0)
    biased = Lexicon(zip(words, labels, strict=True), name="biased words")
    yield "5,000 biased words", concept.with_lexicon(biased), BIASED, COUNT
    random = np.random.RandomState(0)
    half = np.concatenate([random.permutation(np.flatnonzero(sides == side))[: COUNT // 2] for side in (False, True)])
    chosen = [words[place] for place in half]
    learned = Lexicon(zip(chosen, labels[half], strict=True), name="half of the biased words")
    held_out = replace(concept.with_lexicon(learned), keep=(*concept.keep, *chosen))
    yield "half of them, tested on the other half", held_out, HELD_OUT, COUNT // 2


def measured(space: WordSpace, concept: Concept, removers: Sequence[str], count: int) -> list[MeasuredSpace]:
    """Return the original and what each remover makes of it; LEACE is left out where it is not installed."""
    usable = [name for name in removers if make_remover(name).is_installed]

    def progress(done: int, total: int) -> None:
        print(f"  {done} of {total} measures", flush=True)

    return list(evaluate_removal(space, concept, usable, n_biased=count, progress=progress).spaces)


def plain(results: dict[str, list[MeasuredSpace]]) -> list[dict[str, Any]]:
    """Return one row a space, without the words that were missing."""
    rows = []
    for name, spaces in results.items():
        for space in spaces:
            row = json.loads(to_json(space))
            for measure in (*row["removed"], *row["kept"]):
                measure["missing"] = len(measure["missing"])
            rows.append({"list": name, **row})
    return rows


def rendered(rows: Sequence[dict[str, Any]]) -> str:
    """Return the tables of every list: what was removed, what was kept."""
    parts = []
    for name in dict.fromkeys(row["list"] for row in rows):
        parts.append(f"### Learned from: {name}\n")
        titles = ("What is left of gender (lower is less; of WEAT, its size)", "What was kept")
        for title, measures in zip(titles, (REMOVED, KEPT), strict=True):
            cells = [{"remover": row["name"], **_cells(row, measures)} for row in rows if row["list"] == name]
            columns = ["remover", *(Column(key, decimals=3) for key in measures)]
            parts.append(to_markdown(Table(title, columns, cells)))
    return "\n".join(parts)


def _cells(row: dict[str, Any], measures: dict[str, str]) -> dict[str, float | None]:
    found = {each["name"]: each for each in (*row["removed"], *row["kept"])}
    cells = {}
    for heading, measure in measures.items():
        name, _, part = measure.partition(".")
        cells[heading] = found.get(name, {}).get(part or "value")
    return cells


def drawn(rows: Sequence[dict[str, Any]]) -> str:
    """Return the figure of the page: RBF recovery against MEN, for the family pairs and for the biased words."""
    points = []
    for row in rows:
        short = next((word for word in ("family", "biased") if word in row["list"] and "half" not in row["list"]), None)
        if short is not None and not (row["name"] == "original" and short == "biased"):
            cells = _cells(row, {"recovery (rbf)": "recovery (rbf)", "men": "men"})
            name = row["name"] if row["name"] == "original" else f"{row['name']} ({short})"
            points.append({"space": name, **cells})
    return to_svg(removal_tradeoff(points, title="Learned from family pairs, and from biased words"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--render", action="store_true", help="only write the tables again, from the numbers at hand")
    if not parser.parse_args().render:
        space, concept = load_space("googlenews-26k").normalized(), load_concept("gender")
        results: dict[str, list[MeasuredSpace]] = {}
        for name, lexicon_concept, removers, count in lists(space, concept):
            print(name, flush=True)
            results[name] = measured(space, lexicon_concept, removers, count)
        NUMBERS.write_text(json.dumps(plain(results), indent=1, ensure_ascii=False) + "\n", "utf-8")
    page = PAGE.read_text("utf-8")
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    rows = json.loads(NUMBERS.read_text("utf-8"))
    (DOCS / "removal.svg").write_text(drawn(rows), "utf-8")
    tables = rendered(rows)
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
