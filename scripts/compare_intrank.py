"""IntRank beside IntCos and LRCos, each pair asked as a user asks it: the tables of docs/analogies.md.

Writes to docs/intrank.json which pairs of each category come out right; `write_results.py` puts the tables on the page.
The prior of IntRank was learned from one half of the categories (`learn_intrank_prior.py` states the rule), so that the
other half, and MSR as a whole, come first. BATS is read from the folder that DENSRAY_DATA names.

    python scripts/compare_intrank.py bats google msr   about five minutes of one core
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from learn_intrank_prior import LEAST_PAIRS, SPACE, split_halves

from densray import WordSpace, load_space
from densray.analogy import AnalogyResult, CategoryResult, IntRank, Solver, compare_categories, compare_solvers
from densray.analogy._candidates import SPACE_FEATURES
from densray.datasets import load_analogies
from densray.report import Provenance

DOCS = Path(__file__).resolve().parent.parent / "docs"
NUMBERS = DOCS / "intrank.json"
SETS = {"bats": "BATS", "msr": "MSR", "google": "Google"}
SOLVERS = ("intcos-original", "intcos-complement", "lrcos", "intrank-space", "intrank")
UNKNOWN = "intrank-space without known answers"
FEWER = ("intcos-original", "intrank-space", "intrank")

#: A category: its set and name, whether it is held out, and for each solver a text of 1 (right) and 0 (wrong).
Category = dict[str, Any]


def measure(space: WordSpace, name: str) -> list[Category]:
    """Return which pairs of a set come out right, for categories with enough usable pairs."""
    unknown = [feature for feature in SPACE_FEATURES if not feature.startswith("known")]
    variants: dict[str, str | Solver] = {solver: solver for solver in SOLVERS}
    variants[UNKNOWN] = IntRank(space, features=unknown)
    results = compare_solvers(space, load_analogies(name), list(variants.values()), k=1)
    held_out = {category.name for category in split_halves(space, name)[1]}
    found: list[Category] = []
    for place, category in enumerate(results[0].categories):
        if category.pairs >= LEAST_PAIRS:
            hits = [result.categories[place].hits for result in results]
            right = ["".join(str(int(hit)) for hit in each) for each in hits]
            one = {"set": name, "category": category.category, "held_out": category.category in held_out}
            found.append({**one, "right": dict(zip(variants, right, strict=True))})
    return found


def result_of(categories: Sequence[Category], solver: str) -> AnalogyResult:
    """Return what a solver did on some categories as a result of the library, for its means and tests."""
    lines = []
    for one in categories:
        hits = np.array([float(letter) for letter in one["right"][solver]])
        mean, name = float(hits.mean()), f"{one['set']} {one['category']}"
        numbers = (len(hits), len(hits), len(hits), mean, None, None, None, None, None)
        lines.append(CategoryResult(name, "", *numbers, hits=hits))
    nothing = (None, None, None, None, None)
    return AnalogyResult(
        solver, SPACE, "several", "user", 1, *nothing, tuple(lines), (), provenance=Provenance.begin().finish()
    )


def heading(label: str, categories: Sequence[Category]) -> str:
    """Return a label with the number of categories and pairs behind it."""
    pairs = sum(len(one["right"][SOLVERS[0]]) for one in categories)
    return f"{label} ({len(categories)} categories, {pairs} pairs)"


def compared(label: str, categories: Sequence[Category]) -> list[str]:
    """Return one line per solver: means, and tests over categories against IntCos."""
    plain = result_of(categories, SOLVERS[0])
    lines = []
    for solver in SOLVERS:
        result = result_of(categories, solver)
        micro, macro = result.means()
        test = "| | |"
        if solver != SOLVERS[0]:
            found = compare_categories(result, plain)
            interval = f"{found.difference:+.3f} ({found.low:+.3f} … {found.high:+.3f})".replace("-", "−")
            test = f"{interval} | {found.up} / {found.down} | {found.p_value:.2g} |"
        where = heading(label, categories) if solver == SOLVERS[0] else ""
        lines.append(f"| {where} | `{solver}` | {micro:.3f} | {macro:.3f} | {test}")
    return lines


def short(label: str, categories: Sequence[Category]) -> str:
    """Return one line: micro and macro mean of the three solvers that matter."""
    means = [result_of(categories, solver).means() for solver in FEWER]
    return f"| {heading(label, categories)} | " + " | ".join(f"{a:.3f} ({b:.3f})" for a, b in means) + " |"


def rendered(categories: Iterable[Category]) -> str:
    """Return the tables of the page."""
    everything = list(categories)

    def some(name: str, wanted: Callable[[Category], bool] = lambda one: True) -> list[Category]:
        return [one for one in everything if one["set"] == name and wanted(one)]

    def held(name: str, letters: str = "IDEL", without: Collection[str] = ()) -> list[Category]:
        names = some(name, lambda one: one["held_out"])
        return [one for one in names if one["category"][0] in letters and one["category"][:3] not in without]

    def held_out(one: Category) -> bool:
        return bool(one["held_out"])

    lines = [
        "Categories the prior has not seen:\n",
        "| set | solver | micro | macro | micro less IntCos's (95%) | categories better / worse | Wilcoxon p |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *(line for name, title in SETS.items() for line in compared(f"{title}, held out", some(name, held_out))),
        "\nThe other half, from which the prior was learned, and both together, micro (macro):\n",
        "| set | `intcos-original` | `intrank-space` | `intrank` |",
        "| --- | --- | --- | --- |",
    ]
    for name in ("bats", "google"):
        lines.append(short(f"{SETS[name]}, development", some(name, lambda one: not one["held_out"])))
        lines.append(short(f"{SETS[name]}, all", some(name)))
    lines += [
        "\nParts of the held-out half of BATS, micro (macro):\n",
        "| categories | `intcos-original` | `intrank-space` | `intrank` |",
        "| --- | --- | --- | --- |",
        short("inflection and derivation", held("bats", "ID")),
        short("encyclopedia and lexicography", held("bats", "EL")),
        short("all but L02", held("bats", without=["L02"])),
        short("all but L02 and L10", held("bats", without=["L02", "L10"])),
        "\nIts categories, precision; *without known answers*: `intrank-space` less the three features that count how "
        "often a\ncandidate is an answer of the examples:\n",
        "| category | pairs | `intcos-original` | without known answers | `intrank-space` | `intrank` |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in held("bats"):
        shares = [np.mean([int(hit) for hit in one["right"][name]]) for name in (FEWER[0], UNKNOWN, *FEWER[1:])]
        cells = " | ".join(f"{share:.2f}" for share in shares)
        lines.append(f"| {one['category']} | {len(one['right'][FEWER[0]])} | {cells} |")
    return "\n".join(lines)


def tables() -> dict[str, str]:
    """Return the tables by the name the page gives them, from the numbers at hand."""
    return {"intrank": rendered(json.loads(NUMBERS.read_text("utf-8"))["categories"])}


def main() -> None:
    """Measure the sets that the command line names, and write the file after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help="of bats, google and msr; all by default")
    asked = parser.parse_args()
    space = load_space(SPACE)
    for name in asked.sets or list(SETS):
        found = measure(space, name)
        known = json.loads(NUMBERS.read_text("utf-8"))["categories"] if NUMBERS.exists() else []
        categories = [one for one in known if one["set"] != name] + found
        content = {"space": SPACE, "protocol": "user", "least_pairs": LEAST_PAIRS, "categories": categories}
        NUMBERS.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
        print(f"{name}: {len(found)} categories", flush=True)


if __name__ == "__main__":
    main()
