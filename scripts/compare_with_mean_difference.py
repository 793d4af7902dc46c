"""Measure how far DensRay is from the mean difference, on every lexicon and BATS category at hand and where they part.

    python scripts/compare_with_mean_difference.py   writes docs/mean_difference.json, in about a minute

Data sets that are not in the package come from ``DENSRAY_DATA``. `write_results.py` puts the tables on the page.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from densray import DensRay, MeanDifference, load_lexicon, load_space
from densray.datasets import is_at_hand, list_datasets, load_analogies

ROOT = Path(__file__).parents[1]
NUMBERS = ROOT / "docs" / "mean_difference.json"

Matrix = NDArray[np.floating]
Row = dict[str, Any]

#: Fewest words of each class, or pairs of a category, to be measured.
FEWEST = 10
#: Pairs of rows whose distance is measured.
N_DISTANCES = 200_000


def distance_variation(X: Matrix) -> float:
    """Return the coefficient of variation of the squared distances, from random pairs of rows."""
    rng = np.random.default_rng(0)
    v, w = rng.integers(len(X), size=(2, N_DISTANCES))
    squares = np.sum((X[v[v != w]] - X[w[v != w]]) ** 2, axis=1)
    return float(squares.std() / squares.mean())


def imbalance(y: NDArray[np.float64]) -> float:
    """Return κ = (n₋² - n₊²) / (n₊² + n₋²) of equation (2)."""
    high, low = float(np.sum(y > y.min())), float(np.sum(y == y.min()))
    return (low**2 - high**2) / (high**2 + low**2)


def compare(X: Matrix, y: NDArray[np.float64]) -> Row:
    """Return the cosines of the axes of both forms of DensRay with the mean difference, and what the bound rests on."""
    mean = MeanDifference().fit(X, y).components_[0]
    unit = DensRay(1, normalize_differences=True).fit(X, y).components_[0]
    plain = DensRay(1).fit(X, y).components_[0]
    binary = len(np.unique(y)) == 2
    return {
        "words": len(y),
        "imbalance": imbalance(y) if binary else None,
        "variation": distance_variation(X),
        "unit": float(unit @ mean),
        "plain": float(plain @ mean),
    }


def held_out_taus(X: Matrix, y: NDArray[np.float64]) -> tuple[float, float]:
    """Return τ of DensRay (unit length) and of the mean difference on one half of the words, fitted on the other."""
    half = np.random.default_rng(0).permutation(len(y)) % 2 == 0
    axes = (DensRay(1, normalize_differences=True), MeanDifference())
    found = [float(kendalltau(X[~half] @ one.fit(X[half], y[half]).components_[0], y[~half]).statistic) for one in axes]
    return found[0], found[1]


def measure() -> dict[str, list[Row]]:
    """Return the rows of all three tables."""
    space = load_space("googlenews-26k").normalized()
    lexicons: list[Row] = []
    for name in (one.name for one in list_datasets() if one.kind == "lexicon" and is_at_hand(one.name)):
        rows = load_lexicon(name).align(space, any_case=False, order="lexicon")
        X, y = rows.X, rows.y
        if len(rows) < len(rows.missing) / 4:
            continue  # of another language
        densray, mean = held_out_taus(X, y)
        lexicons.append({"name": name, **compare(X, y), "tau_densray": densray, "tau_mean": mean})
        print(lexicons[-1], flush=True)
    categories = []
    for category in load_analogies("bats"):
        pairs = [space.locate([pair.query, pair.answer], any_case=True) for pair in category]
        rows = np.array([pair for pair in pairs if min(pair) >= 0]).reshape(-1, 2)
        if len(rows) >= FEWEST:
            X, y = space.vectors[rows.T.ravel()], np.repeat([-1.0, 1.0], len(rows))
            categories.append({"name": category.name, **compare(X, y)})
    return {"lexicons": lexicons, "categories": categories, "failures": failures(space.vectors)}


def failures(vectors: Matrix) -> list[Row]:
    """Return the angles for classes of other sizes and spreads, some against the conditions of the bound."""
    rng = np.random.default_rng(0)
    hu_liu = load_lexicon("hu-liu").align(load_space("googlenews-26k").normalized(), any_case=False, order="lexicon")
    X, y = hu_liu.X.astype(np.float64), hu_liu.y
    high, low = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    wide = X.copy()
    wide[high] += 2.0 * (X[high] - X[high].mean(axis=0))  # the higher class spreads three times as far
    direction = vectors.mean(axis=0) / np.linalg.norm(vectors.mean(axis=0))
    common = X + 3.0 * rng.normal(size=(len(X), 1)) * direction  # vectors have unit length before
    few = np.concatenate([rng.choice(high, 3, replace=False), rng.choice(low, 3, replace=False)])
    uneven = np.concatenate([rng.choice(high, 3, replace=False), rng.choice(low, 60, replace=False)])
    spoiled = np.concatenate([rng.choice(high, 100, replace=False), low])
    cases = (
        ("Hu & Liu, unchanged", X, y),
        ("3 positive words, 3 negative words", X[few], y[few]),
        ("3 positive words, 60 negative words", X[uneven], y[uneven]),
        ("100 positive words, all negative words", X[spoiled], y[spoiled]),
        ("the same, with three times the spread in the positive class", wide[spoiled], y[spoiled]),
        ("all words, with a random coordinate of size 3 added along the mean vector", common, y),
        ("100 positive words, all negative words, with the same coordinate added", common[spoiled], y[spoiled]),
    )
    return [{"name": name, **compare(rows, labels)} for name, rows, labels in cases]


def degrees(cosine: float) -> float:
    """Return the angle of a cosine."""
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


def rendered(numbers: dict[str, list[Row]]) -> str:
    """Return the tables of the page."""
    lines = [
        "| lexicon | words | κ | CV of ‖d‖² | cosine, unit length | cosine, plain | held-out τ: DensRay "
        "| held-out τ: mean difference |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in numbers["lexicons"]:
        kappa = "scores" if row["imbalance"] is None else f"{row['imbalance']:+.2f}"
        lines.append(
            f"| `{row['name']}` | {row['words']:,} | {kappa} | {row['variation']:.2f} | {row['unit']:.4f} | "
            f"{row['plain']:.4f} | {row['tau_densray']:.3f} | {row['tau_mean']:.3f} |"
        )
    unit = np.array([row["unit"] for row in numbers["categories"]])
    worst = min(numbers["categories"], key=lambda row: row["unit"])
    lines += [
        "",
        f"On the {len(unit)} categories of BATS with at least {FEWEST} pairs in the space the cosine at unit length is "
        f"{np.median(unit):.4f} in the median and at least {unit.min():.4f} (*{worst['name']}*, {worst['words'] // 2} "
        "pairs).",
        "",
        "The next table varies the sizes and spreads of the classes:",
        "",
        "| case | words | κ | CV of ‖d‖² | angle, unit length | angle, plain |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in numbers["failures"]:
        lines.append(
            f"| {row['name']} | {row['words']:,} | {row['imbalance']:+.2f} | {row['variation']:.2f} | "
            f"{degrees(row['unit']):.1f}° | {degrees(row['plain']):.1f}° |"
        )
    return "\n".join(lines) + "\n"


def tables() -> dict[str, str]:
    """Return the tables by the name the page gives them, from the numbers at hand."""
    return {"mean-difference": rendered(json.loads(NUMBERS.read_text("utf-8")))}


if __name__ == "__main__":
    NUMBERS.write_text(json.dumps(measure(), indent=1) + "\n", "utf-8")
