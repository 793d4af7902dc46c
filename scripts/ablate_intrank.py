"""What carries IntRank: paired tests, each feature left out, other axes inside; the tables of docs/analogies.md.

Usage: python scripts/ablate_intrank.py [google msr bats] [--ablate] [--axes ridge mean-difference]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from densray.analogy import IntRank, compare_paired, compare_solvers, evaluate_analogies
from densray.analogy._candidates import FEATURES
from densray.datasets import load_analogies, load_space

LEAST_PAIRS = 15


def show_rivals(name: str) -> None:
    """Print IntRank beside IntCos and LRCos on one set, with paired tests over all pairs asked."""
    space, analogies = load_space("googlenews-26k"), load_analogies(name)
    ranked = evaluate_analogies(space, analogies, "intrank")
    print(f"\n{name}\n\n| solver | micro | macro | IntRank gains / loses pairs | difference (95 %) | McNemar p |")
    print("| --- | --- | --- | --- | --- | --- |")
    micro, macro = ranked.means(at_least=LEAST_PAIRS)
    print(f"| intrank | {micro:.3f} | {macro:.3f} | | | |")
    for rival in compare_solvers(space, analogies, ["intcos-original", "intcos-complement", "lrcos"]):
        micro, macro = rival.means(at_least=LEAST_PAIRS)
        test = compare_paired(ranked, rival)
        interval = f"{test.difference:+.3f} ({test.low:+.3f} … {test.high:+.3f})"
        print(
            f"| {rival.solver} | {micro:.3f} | {macro:.3f} | {test.gained} / {test.lost} | {interval} "
            f"| {test.p_value:.1e} |",
            flush=True,
        )


def ablate(name: str, axes: Sequence[str]) -> None:
    """Print the means with one feature left out, with none, and with other axes inside."""
    space, analogies = load_space("googlenews-26k"), load_analogies(name)
    variants = {"all": IntRank(space)}
    for feature in FEATURES[1:]:
        variants[f"without {feature}"] = IntRank(space, features=[one for one in FEATURES if one != feature])
    variants["log IntCos alone"] = IntRank(space, features=())
    for rotation in axes:
        variants[f"axis: {rotation}"] = IntRank(space, rotation=rotation)
    print(f"\n| {name}: features | micro | macro |\n| --- | --- | --- |")
    for label, result in zip(variants, compare_solvers(space, analogies, list(variants.values())), strict=True):
        micro, macro = result.means(at_least=LEAST_PAIRS)
        print(f"| {label} | {micro:.3f} | {macro:.3f} |", flush=True)


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["google", "msr", "bats"])
    parser.add_argument("--ablate", action="store_true", help="the features instead of the rivals")
    parser.add_argument("--axes", nargs="*", default=[], help="methods to find the axis with, in the ablation")
    asked = parser.parse_args()
    for name in asked.sets:
        if asked.ablate:
            ablate(name, asked.axes)
        else:
            show_rivals(name)


if __name__ == "__main__":
    main()
