"""The axis in its space: the variance it carries, its eigenvalue among the others, the pairs it should follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from densray.errors import LexiconError, name_some
from densray.rotations import DensRay, PairDirection, Rotation
from densray.space import WordSpace
from densray.tasks.angles import degrees_between
from densray.tasks.axis_model import AxisModel
from densray.tasks.seeds import Seeds, unit_rows

__all__ = [
    "Cone",
    "PairConsistency",
    "VocabularySpread",
    "bootstrap_cone",
    "eigenvalues_of",
    "pair_consistency",
    "reliability",
    "vocabulary_spread",
]


@dataclass(frozen=True)
class Cone:
    """Angles in degrees between the axis and axes of resampled seeds."""

    median: float
    upper: float  # 95 % of the resamples lie within
    n_resamples: int


def bootstrap_cone(model: AxisModel) -> Cone:
    """Return how far the axes of resampled seeds lie from the axis."""
    assert model.resampled is not None
    angles = degrees_between(model.resampled, model.axis)
    return Cone(float(np.median(angles)), float(np.quantile(angles, 0.95)), len(angles))


@dataclass(frozen=True)
class VocabularySpread:
    """How the whole vocabulary lies along the axis.

    Attributes
    ----------
    variance_share : float
        The axis's share of the variance of all vectors; one of d equal directions has 1/d.
    reliability : float
        One less the mean squared standard error over the variance of the scores: the share of the differences between
        words that other seeds of the same kind would show again.
    standard_error : float
        The median over the vocabulary.
    """

    variance_share: float
    reliability: float
    standard_error: float


def vocabulary_spread(space: WordSpace, model: AxisModel) -> VocabularySpread:
    """Return how the vocabulary lies along an axis, in one pass over blocks."""
    scores, errors = [], []
    total, squares = np.zeros(space.width), 0.0
    for _, block in space.blocks():
        vectors = unit_rows(block) if model.normalize else block
        found = model.score(block)
        scores.append(found.score)
        errors.append(found.standard_error)
        total += vectors.sum(axis=0, dtype=np.float64)
        squares += float(np.einsum("ij,ij->", vectors, vectors, dtype=np.float64))
    joined = np.concatenate(scores)
    along = float(joined.var())
    mean = total / len(space)
    variance = squares / len(space) - float(mean @ mean)
    error = np.concatenate([part for part in errors if part is not None])
    return VocabularySpread(
        along / variance if variance > 0 else float("nan"),
        reliability(joined, error),
        float(np.median(error)),
    )


def reliability(scores: NDArray[np.float64], errors: NDArray[np.float64]) -> float:
    """Return one less the mean squared standard error over the variance of the scores, no less than 0."""
    variance = float(scores.var())
    return max(1.0 - float(np.mean(errors**2)) / variance, 0.0) if variance > 0 else 0.0


def eigenvalues_of(rotation: Rotation, seeds: Seeds) -> NDArray[np.float64] | None:
    """Return all eigenvalues of a method that has them, descending, else None."""
    if not isinstance(rotation, DensRay | PairDirection):
        return None
    full: Any = clone(rotation).set_params(n_components=None).fit(seeds.X, seeds.y)
    return np.asarray(full.eigenvalues_)


@dataclass(frozen=True)
class PairConsistency:
    """How far the differences of pairs agree, with each other and with the axis.

    Attributes
    ----------
    n_pairs : int
        Pairs with both words in the space.
    parallelism : float
        Mean cosine between the differences of two pairs (PairDir, Boutyline & Johnston 2023).
    alignment : float
        Mean cosine of a difference with the axis.
    ordered : float
        The share of pairs whose first word lies higher on the axis.
    worst : tuple of (first, second, cosine)
        The pairs whose difference agrees least with those of the others.
    """

    n_pairs: int
    parallelism: float
    alignment: float
    ordered: float
    worst: tuple[tuple[str, str, float], ...]


def pair_consistency(
    pairs: Iterable[Sequence[str]], space: WordSpace, axis: NDArray[np.float64], *, normalize: bool, match_case: bool
) -> PairConsistency:
    """Return how consistent pairs (higher word first) are."""
    listed = [(str(left), str(right)) for left, right in pairs]
    left, right = (space.locate([pair[side] for pair in listed], match_case=match_case) for side in (0, 1))
    usable = np.flatnonzero((left >= 0) & (right >= 0) & (left != right))
    if usable.size < 2:
        raise LexiconError(
            f"{usable.size} of {len(listed)} pairs have both words in '{space.name}' "
            f"({name_some(' – '.join(pair) for pair in listed)}); at least two are needed."
        )
    rows = [np.asarray(space.vectors[side[usable]]) for side in (left, right)]
    high, low = (unit_rows(part) if normalize else part for part in rows)
    along = (high - low).astype(np.float64) @ axis
    offsets = unit_rows(high - low).astype(np.float64)
    count = usable.size
    # Σ_{j≠i} cos(d_i, d_j) = d_i·(Σ d) - |d_i|²
    agreement = (offsets @ offsets.sum(axis=0) - np.einsum("ij,ij->i", offsets, offsets)) / (count - 1)
    least = np.argsort(agreement, kind="stable")[:5]
    return PairConsistency(
        int(count),
        float(agreement.mean()),
        float(np.mean(offsets @ axis)),
        float(np.mean(along > 0)),
        tuple((*listed[usable[row]], float(agreement[row])) for row in least.tolist()),
    )
