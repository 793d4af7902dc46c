"""Seeds with a known axis: classes or scores along one direction, noise in all."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from densray import Axis, Lexicon, WordSpace
from densray.rotations import MeanDifference
from densray.rows import Rows


def planted_seeds(
    n: int = 120, width: int = 12, *, share: float = 0.5, strength: float = 1.0, scores: bool = False, seed: int = 0
) -> Rows:
    """Seeds whose label moves them along the first coordinate; `share` of them are of the higher class."""
    random = np.random.default_rng(seed)
    high = round(share * n)
    y = random.normal(size=n) if scores else np.repeat([1.0, -1.0], [high, n - high])
    X = random.normal(size=(n, width)) * np.linspace(1.5, 0.5, width)
    X[:, 0] += strength * y
    return Rows(X.astype(np.float32), y, tuple(f"word{row}" for row in range(n)))


def planted_space(n: int = 400, width: int = 12, *, strength: float = 1.0, seed: int = 0) -> tuple[WordSpace, Lexicon]:
    """A space of words, and a lexicon of the first half of them, labelled along the first coordinate."""
    seeds = planted_seeds(n, width, strength=strength, seed=seed)
    order = np.random.default_rng(seed).permutation(n)
    space = WordSpace(seeds.names, seeds.X, name="planted")
    labels = {seeds.names[row]: seeds.y[row] for row in order[: n // 2].tolist()}
    return space, Lexicon(labels, name="planted labels")


def along(direction: ArrayLike, *, normalize: bool = True) -> Axis:
    """An axis of a given direction, without errors."""
    row = np.asarray(direction, dtype=np.float64)
    return Axis.of(MeanDifference(1).fit(np.vstack([row, -row]), [1, -1]), normalize=normalize)
