"""DensRay and the mean difference: the identity, the bound, and the numbers on the page."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from densray import DensRay, MeanDifference, WordSpace, load_lexicon
from densray.pairs import unit_pair_matrix

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "compare_with_mean_difference.py"))


@pytest.fixture(scope="module")
def numbers() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((ROOT / "docs" / "mean_difference.json").read_text("utf-8"))
    return found


def test_the_numbers_are_what_the_library_computes(
    numbers: dict[str, list[dict[str, Any]]], googlenews: WordSpace
) -> None:
    rows = load_lexicon("gender").align(googlenews.normalized(), order="lexicon")
    X, y = rows.X, rows.y
    written = next(row for row in numbers["lexicons"] if row["name"] == "gender")
    for name, value in SCRIPT["compare"](X, y).items():
        assert written[name] == pytest.approx(value, abs=1e-6)


def test_densray_is_the_mean_difference_on_every_lexicon_and_category(
    numbers: dict[str, list[dict[str, Any]]],
) -> None:
    rows = numbers["lexicons"] + numbers["categories"]
    assert min(row["unit"] for row in rows) > 0.996
    assert min(row["plain"] for row in rows) > 0.996
    large = [row for row in numbers["lexicons"] if row["words"] > 500]
    assert max(abs(row["tau_densray"] - row["tau_mean"]) for row in large) < 0.002
    assert min(row["unit"] for row in numbers["failures"]) < 0.1  # and it does fail where it may


@pytest.mark.parametrize("spread", [1.0, 1.3])
@pytest.mark.parametrize("sizes", [(40, 40), (30, 60), (10, 80)])
def test_the_angle_is_within_the_bound(sizes: tuple[int, int], spread: float) -> None:
    """Equation (5) of docs/mathematics.md, with the tightest E."""
    rng = np.random.default_rng(sum(sizes))
    y = np.repeat([1.0, -1.0], sizes)
    X = rng.normal(size=(len(y), 200)) * np.where(y > 0, spread, 1.0)[:, None] + 3.0 * y[:, None] * np.eye(200)[0]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    high, low = sizes
    like, unlike = -1.0 / (high**2 + low**2), 1.0 / (2 * high * low)
    groups = [np.flatnonzero(y < 0), np.flatnonzero(y > 0)]
    couplings = np.array([[like, unlike], [unlike, like]])
    A = unit_pair_matrix(X, np.ones(len(y)), classes=groups, couplings=couplings)
    tau = float(np.mean(2.0 - 2.0 * X @ X.T))
    delta = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
    E = tau * A - np.outer(delta, delta)
    direction = delta / np.linalg.norm(delta)
    r = direction @ E @ direction
    gap = delta @ delta + r - np.linalg.eigvalsh(E)[-1]
    assert gap > 0.0
    found = DensRay(1, normalize_differences=True).fit(X, y).components_[0] @ direction
    assert np.sqrt(1.0 - min(found**2, 1.0)) <= np.linalg.norm(E @ direction - r * direction) / gap + 1e-9


def test_equal_classes_are_the_mean_difference_to_the_last_digits() -> None:
    rng = np.random.default_rng(1)
    y = np.tile([1.0, -1.0], 25)
    X = rng.normal(size=(50, 8)) * np.where(y > 0, 3.0, 1.0)[:, None] + y[:, None]
    np.testing.assert_allclose(DensRay(1).fit(X, y).components_, MeanDifference().fit(X, y).components_, atol=1e-10)
