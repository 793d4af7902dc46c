"""Fit rotations to rows that arrive in blocks, by additive statistics; includes Dask collections.

`BlockAccumulator` turns each block into `BlockStatistics`, merges them, and fits a rotation to the result. Streams
(`densray.scale.fit_blocks`), Dask collections and other clusters need nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from densray._arrays import Array, float64_like, is_dask, is_foreign
from densray.errors import DensRayError, LabelError, NotAdditiveError, VectorError, load_extra
from densray.metrics import kendall_tau_within
from densray.moments import ClassMoments, LabelMoments, MomentParts, merge_moments, moments_of_labels, on_host
from densray.rotations._labels import check_distinct, check_known_classes, read_block_labels
from densray.rotations._rows import (
    RowCount,
    check_vectors,
    check_weights,
    check_zeros,
    checked_moments,
    drop_weightless,
    rounding_of,
    zero_rows,
)

__all__ = [
    "BlockAccumulator",
    "BlockStatistics",
    "as_rows",
    "check_block",
    "check_width",
    "fit_dask",
    "map_dask",
    "score_dask",
]

AnyRotation = TypeVar("AnyRotation", bound=BaseEstimator)


@dataclass(frozen=True)
class BlockStatistics:
    """Statistics of some rows; the statistics of two sets of rows can be merged."""

    n_rows: int
    n_zero: int
    width: int
    rounding: float  # rounding unit of products with the rows
    moments: LabelMoments


@dataclass(frozen=True)
class BlockAccumulator:
    """Turns blocks of rows into statistics, merges them, and fits a rotation to them.

    Attributes
    ----------
    rotation : estimator
        An unfitted copy with the parameters only.
    parts : MomentParts
        The moments it needs.

    Examples
    --------
    >>> import numpy as np
    >>> from densray import DensRay
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> y = np.sign(X[:, 0])
    >>> accumulator = BlockAccumulator.of(DensRay(), "two workers")
    >>> parts = [accumulator.gather(i, X[50 * i : 50 * i + 50], y[50 * i : 50 * i + 50]) for i in range(2)]
    >>> merged = accumulator.fit(DensRay(), accumulator.merge_all(parts))
    >>> bool(np.allclose(merged.components_, DensRay().fit(X, y).components_))
    True
    """

    rotation: Any
    parts: MomentParts

    @classmethod
    def of(cls, rotation: BaseEstimator, where: str) -> BlockAccumulator:
        """Return the accumulator of a rotation; raise an error if the rotation needs all rows at once."""
        check_additive = getattr(rotation, "check_additive", None)
        if check_additive is None:
            raise NotAdditiveError(
                f"{type(rotation).__name__} needs all rows at once, which {where} cannot give. Use a method whose "
                "statistics add up, DensRay or MeanDifference, or fit on a sample in memory."
            )
        check_additive(where)
        return cls(clone(rotation), rotation.moment_parts)

    def gather(self, number: int, X: Array, y: Array, weight: Array | None = None) -> BlockStatistics | None:
        """Return the statistics of one block, None if all its rows have zero weight; errors name the block."""
        if getattr(X, "ndim", 2) == 2 and X.shape[0] == 0 and (y is None or tuple(np.shape(y)) == (0,)):
            return None
        if weight is not None and not (weight != 0).any():
            return None
        try:
            X = check_vectors(clone(self.rotation), X, reset=True, fewest=1, warn_of_zeros=False, finite=False)
            labels = read_block_labels(y, X.shape[0])
            weights = None if weight is None else check_weights(weight, X)
            X, labels, weights = drop_weightless(X, labels, weights)
            labels = float64_like(labels, X) if is_foreign(X) or is_foreign(labels) else labels
            moments = on_host(checked_moments(X, lambda: moments_of_labels(X, labels, weights, self.parts)))
            zero = zero_rows(X)
        except (VectorError, LabelError) as error:
            raise type(error)(f"block {number}: ", *error.args) from error
        n_rows, width = (int(length) for length in X.shape)
        return BlockStatistics(n_rows, zero.count, width, rounding_of(X), moments)

    def merge(self, first: BlockStatistics | None, second: BlockStatistics | None) -> BlockStatistics | None:
        """Return the statistics of both sets of rows together."""
        if first is None or second is None:
            return second if first is None else first
        return BlockStatistics(
            first.n_rows + second.n_rows,
            first.n_zero + second.n_zero,
            first.width,
            max(first.rounding, second.rounding),
            merge_moments(first.moments, second.moments, self.parts),
        )

    def merge_all(self, parts: list[BlockStatistics | None]) -> BlockStatistics | None:
        """Return the statistics of all parts, merged in order."""
        total = None
        for part in parts:
            total = self.merge(total, part)
        return total

    def fit(self, rotation: AnyRotation, statistics: BlockStatistics | None) -> AnyRotation:
        """Return the rotation with axes computed from these statistics."""
        if statistics is None:
            raise VectorError("there are no rows: every block is empty. Pass at least one block of vectors and labels.")
        moments = statistics.moments
        distinct = sorted(moments.by_class) if isinstance(moments, ClassMoments) else [0, 1, 2]
        check_distinct(np.array(distinct), classes_only=False)
        if statistics.n_zero:
            check_zeros(RowCount(statistics.n_zero, None), statistics.n_rows, stacklevel=5)
        rotation.n_features_in_ = statistics.width
        rotation.fit_moments(moments, n_rows=statistics.n_rows, rounding=statistics.rounding)
        return rotation


def check_width(number: int, width: int, expected: int | None) -> None:
    """Raise if the width of a block differs from that of the blocks before it."""
    if expected is not None and width != expected:
        raise VectorError(
            f"block {number} has vectors of width {width}, the blocks before it {expected}. "
            "All blocks must come from one space."
        )


def check_block(number: int, block: object) -> tuple[Array, Array, Array | None]:
    """Return vectors, labels and weights (or None) of a block; raise an error for anything else."""
    if not isinstance(block, tuple | list) or len(block) not in (2, 3):
        raise DensRayError(
            f"block {number} is a {type(block).__name__}; a pair (X, y), or (X, y, sample_weight), is needed. "
            "labelled_blocks makes such blocks of vectors and labels."
        )
    X, y, *rest = block
    X = X if hasattr(X, "dtype") else np.asarray(X)
    return X, y, (rest[0] if rest else None)


#: Number of statistics merged by one task: small enough for memory, large enough for a shallow tree.
BLOCKS_PER_MERGE = 8

Column = Any  # a Dask array of one number per row


def fit_dask(rotation: AnyRotation, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> AnyRotation:
    """Fit a rotation on a Dask array or dataframe, on whatever scheduler is active."""
    _refuse_groups(groups)
    accumulator = BlockAccumulator.of(rotation, "a Dask collection")
    X = as_rows(X)
    y = _column(y, X, "y")
    blocks = _blocks(X), _blocks(y)
    weights = [None] * len(blocks[0])
    if sample_weight is not None:
        weights = _blocks(_column(sample_weight, X, "sample_weight"))
    dask = _dask()
    gather = dask.delayed(accumulator.gather, pure=False)
    parts = [gather(number, *block) for number, block in enumerate(zip(*blocks, weights, strict=True))]
    total: BlockStatistics | None = _reduce(parts, accumulator.merge_all)
    accumulator.fit(rotation, total)
    return rotation


def map_dask(rotation: BaseEstimator, method: str, X: Any, **options: Any) -> Any:
    """Return a lazy Dask array with the results of a method for the rows of `X`, block by block."""
    X = as_rows(X)
    light: Any = copy(rotation)
    if hasattr(light, "moments_"):
        light.moments_ = None  # d × d numbers that workers do not need
    example = getattr(light, method)(np.ones((1, X.shape[1]), dtype=X.dtype), **options)
    return X.map_blocks(
        _apply,
        getattr(light, method),
        options,
        example.shape[1],
        dtype=example.dtype,
        chunks=(X.chunks[0], (example.shape[1],)),
        meta=np.empty((0, 0), dtype=example.dtype),
    )


def score_dask(rotation: BaseEstimator, X: Any, y: Any, groups: Any = None) -> float:
    """Return Kendall's τ-b of axis 0; only one number per row is sent to the client."""
    _refuse_groups(groups)
    X = as_rows(X)
    coordinates, labels = _dask().compute(map_dask(rotation, "transform", X)[:, 0], _column(y, X, "y"))
    values = read_block_labels(labels, len(coordinates))
    if not is_foreign(values):
        check_known_classes(values, getattr(rotation, "classes_", None))
    ranks = np.unique(values, return_inverse=True)[1]
    return kendall_tau_within(ranks.astype(np.float64), coordinates, None)


def _refuse_groups(groups: object) -> None:
    if groups is not None:
        raise DensRayError("groups are given with a Dask collection; they need rows in memory. Leave them out.")


def as_rows(X: Any) -> Any:
    """Return a Dask array whose blocks hold whole rows, from an array or a dataframe."""
    _dask()
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array()
    if X.ndim != 2:
        raise VectorError(f"X has shape {X.shape}; one vector per row is needed. Reshape it to 2-D.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return X


def _blocks(array: Any) -> list[Any]:
    """Return the blocks of an array as separate tasks; labels computed from the vectors share their tasks."""
    blocks: list[Any] = array.to_delayed(optimize_graph=False).ravel().tolist()
    return blocks


def _column(values: Any, X: Any, name: str) -> Column:
    """Return one number per row, as a Dask array with the chunks of the rows."""
    import dask.array as da

    if hasattr(values, "to_dask_array"):
        values = values.to_dask_array()
    if not is_dask(values):
        if any(np.isnan(X.chunks[0])):
            X = copy(X).compute_chunk_sizes()  # a copy, since this changes the array in place
        values = np.asarray(values)
        _check_length(len(values), sum(X.chunks[0]), name)
        return da.from_array(values, chunks=(X.chunks[0],))
    values = values.ravel() if values.ndim > 1 else values
    if not any(np.isnan([*values.chunks[0], *X.chunks[0]])):
        _check_length(values.shape[0], X.shape[0], name)
        return values.rechunk((X.chunks[0],))
    if values.numblocks[0] != X.numblocks[0]:
        raise LabelError(
            f"{name} comes in {values.numblocks[0]} blocks, X in {X.numblocks[0]}, and their lengths are not known. "
            "Use the same chunks for both, or call compute_chunk_sizes() on both."
        )
    return values


def _check_length(n_values: int, n_rows: int, name: str) -> None:
    if n_values != n_rows:
        raise LabelError(f"{n_rows:,} rows of vectors, but {name} has {n_values:,} values. Pass one per row.")


def _reduce(parts: list[Any], merge: Callable[[list[Any]], Any]) -> Any:
    """Return the merge of all parts, a few at a time, in a fixed order."""
    dask = _dask()
    task = dask.delayed(merge, pure=False)
    while len(parts) > 1:
        parts = [task(parts[start : start + BLOCKS_PER_MERGE]) for start in range(0, len(parts), BLOCKS_PER_MERGE)]
    return parts[0].compute()


def _apply(block: NDArray[Any], method: Callable[..., NDArray[Any]], options: dict[str, Any], width: int) -> Any:
    """Return the result of a method for one block; an empty block stays empty."""
    if len(block) == 0:
        return np.empty((0, width), dtype=method(np.ones((1, block.shape[1]), dtype=block.dtype), **options).dtype)
    return method(block, **options)


def _dask() -> Any:
    load_extra("dask.array", "Dask collections need", extra="dask")
    return load_extra("dask", "Dask collections need", extra="dask")
