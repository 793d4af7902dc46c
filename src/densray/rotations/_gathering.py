"""What a fit keeps of the blocks it has seen: additive statistics, and a random sample where pairs are sampled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from densray.arrays import Array, beside, is_foreign, to_host
from densray.errors import DensRayError, LabelError, NotAdditiveError, VectorError
from densray.moments import ClassMoments, ScoreMoments, on_host
from densray.rotations._additive import AdditiveRotation, precision_of
from densray.rotations._base import Rotation
from densray.rotations._labels import check_distinct, read_block_labels
from densray.rotations._sample import RowSample
from densray.rotations._unit_pairs import SAMPLE_ROWS, check_partners, check_random_generator, too_many_rows
from densray.rotations._vectors import RowCount, check_rows, check_weights, check_zeros, drop_weightless

__all__ = ["BlockStatistics", "Gatherer", "check_block", "check_width"]


@dataclass(frozen=True)
class BlockStatistics:
    """Statistics of some rows; those of two sets of rows merge into those of both."""

    n_rows: int
    n_zero: int
    width: int
    precision: float
    moments: ClassMoments | ScoreMoments
    sample: RowSample | None = None


@dataclass(frozen=True)
class Gatherer:
    """Turns blocks into statistics, merges them, and makes a fitted rotation of them.

    Attributes
    ----------
    rotation : AdditiveRotation
        An unfitted copy: parameters only.
    seed : int
        Of the rows drawn where pairs are sampled.
    sample_rows : int
        How many rows are drawn; 0 where none are needed.
    cutoffs : mapping, optional
        The priority above which rows of a label are surely not drawn.
    """

    rotation: AdditiveRotation
    seed: int = 0
    sample_rows: int = 0
    cutoffs: Mapping[Any, float] | None = None

    @classmethod
    def of(cls, rotation: Rotation, where: str) -> Gatherer:
        """Return the gatherer of a rotation; one that needs all rows at once is a named error."""
        if not isinstance(rotation, AdditiveRotation):
            raise NotAdditiveError(
                f"{type(rotation).__name__} needs all rows at once, which {where} cannot give. Use a method whose "
                "statistics add up, DensRay or MeanDifference, or fit on a sample in memory."
            )
        bare: AdditiveRotation = clone(rotation)
        if not getattr(rotation, "normalize_differences", False):
            return cls(bare)
        n_partners, sample_rows = (getattr(rotation, name) for name in ("n_partners", "sample_rows"))
        if n_partners is None:
            raise too_many_rows(where)
        check_partners(n_partners, sample_rows)
        seed = int(check_random_generator(rotation.random_state).integers(2**32))
        return cls(bare, seed, sample_rows or SAMPLE_ROWS)

    def gather(self, number: int, X: Array, y: Array, weight: Array | None = None) -> BlockStatistics | None:
        """Return the statistics of one block, None if it holds no row that counts; errors name the block."""
        if getattr(X, "ndim", 2) == 2 and X.shape[0] == 0 and (y is None or tuple(np.shape(y)) == (0,)):
            return None
        if weight is not None and not (weight != 0).any():
            return None
        try:
            X = check_rows(clone(self.rotation), X, reset=True, fewest=1, warn_of_zeros=False)
            labels = read_block_labels(y, X.shape[0])
            weights = None if weight is None else check_weights(weight, X)
            X, labels, weights = drop_weightless(X, labels, weights)
            labels = beside(labels, X) if is_foreign(X) or is_foreign(labels) else labels
            moments = on_host(self.rotation._moments_of(X, labels, weights))
        except (VectorError, LabelError) as error:
            raise type(error)(f"block {number}: {error}") from error
        sample = None
        if self.sample_rows:
            rows = to_host(X) if is_foreign(X) else np.asarray(X)
            charges = np.ones(len(rows)) if weights is None else to_host(weights).astype(np.float64)
            sample = RowSample.of(
                rows,
                to_host(labels),
                charges,
                limit=self.sample_rows,
                seed=(self.seed, number),
                cutoffs=self.cutoffs,
            )
        n_rows, width = (int(length) for length in X.shape)
        return BlockStatistics(n_rows, _count_zeros(X), width, precision_of(X), moments, sample)

    def merge(self, first: BlockStatistics | None, second: BlockStatistics | None) -> BlockStatistics | None:
        """Return the statistics of both sets of rows together."""
        if first is None or second is None:
            return second if first is None else first
        return BlockStatistics(
            first.n_rows + second.n_rows,
            first.n_zero + second.n_zero,
            first.width,
            max(first.precision, second.precision),
            self.rotation._merged(first.moments, second.moments),
            None if first.sample is None or second.sample is None else first.sample.merge(second.sample),
        )

    def merge_all(self, parts: list[BlockStatistics | None]) -> BlockStatistics | None:
        """Return the statistics of all parts, merged in order."""
        total = None
        for part in parts:
            total = self.merge(total, part)
        return total

    def fit(self, rotation: Rotation, statistics: BlockStatistics | None) -> None:
        """Give a rotation the axes these statistics determine."""
        if statistics is None:
            raise VectorError("there are no rows: every block is empty. Pass at least one block of vectors and labels.")
        moments = statistics.moments
        distinct = sorted(moments.groups) if isinstance(moments, ClassMoments) else [0, 1, 2]
        check_distinct(np.array(distinct), classes_only=False)
        if statistics.n_zero:
            check_zeros(RowCount(statistics.n_zero, None), statistics.n_rows, stacklevel=5)
        assert isinstance(rotation, AdditiveRotation)
        rotation.n_features_in_ = statistics.width
        n_components = rotation._count_axes((statistics.n_rows, statistics.width))
        rotation._fit_gathered(moments, statistics.sample, n_components, statistics.precision)

    def drawing_from(self, seen: Mapping[Any, int]) -> Gatherer:
        """Return a gatherer that knows how many rows of each label there are, and sends on no more than it must."""
        if not self.sample_rows:
            return self
        scores = len(seen) > 2 or None in seen
        counts = {None: sum(seen.values())} if scores else dict(seen)
        # Six standard deviations above the wanted number: fewer are left once in 10⁹ fits.
        wanted = self.sample_rows + 6.0 * np.sqrt(self.sample_rows)
        cutoffs = {label: min(1.0, wanted / max(count, 1)) for label, count in counts.items()}
        # A block of scores may happen to hold two of them only.
        cutoffs.setdefault(None, max(cutoffs.values()))
        return replace(self, cutoffs=cutoffs)


def _count_zeros(X: Array) -> int:
    if is_foreign(X):
        return 0
    return int(len(X) - np.count_nonzero(np.any(X, axis=1)))


def check_width(number: int, width: int, expected: int | None) -> None:
    """Raise if a block is wider or narrower than those before it."""
    if expected is not None and width != expected:
        raise VectorError(
            f"block {number} has vectors of width {width}, the blocks before it {expected}. "
            "All blocks must come from one space."
        )


def check_block(number: int, block: object) -> tuple[Array, Array, Array | None]:
    """Return vectors, labels and weights (or None) of a block; anything else is a named error."""
    if not isinstance(block, tuple | list) or len(block) not in (2, 3):
        raise DensRayError(
            f"block {number} is a {type(block).__name__}; a pair (X, y), or (X, y, sample_weight), is needed. "
            "labelled_blocks makes such blocks of vectors and labels."
        )
    X, y, *rest = block
    X = X if hasattr(X, "dtype") else np.asarray(X)
    return X, y, (rest[0] if rest else None)
