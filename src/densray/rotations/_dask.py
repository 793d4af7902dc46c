"""Rotations of Dask collections: statistics of each block reduced in a tree, rows changed block by block.

Every task is a function of its own block, its number and the parameters, so that a block computed again, on whatever
worker, gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from densray.arrays import is_dask
from densray.errors import LabelError, MissingExtraError, VectorError
from densray.rotations._gathering import BlockStatistics, Gatherer
from densray.rotations._labels import read_block_labels

if TYPE_CHECKING:
    from densray.rotations import Rotation

__all__ = ["as_rows", "fit_dask", "map_rows", "score_dask"]

#: Statistics merged by one task: few enough to hold, enough to keep the tree shallow.
FAN_IN = 8

AnyRotation = TypeVar("AnyRotation", bound="Rotation")
Column = Any  # a Dask array of one number a row


def fit_dask(rotation: AnyRotation, X: Any, y: Any, sample_weight: Any = None) -> AnyRotation:
    """Fit a rotation on a Dask array or dataframe, on whatever scheduler is active."""
    gatherer = Gatherer.of(rotation, "a Dask collection")
    X = as_rows(X)
    y = _column(y, X, "y")
    blocks = _blocks(X), _blocks(y)
    weights = [None] * len(blocks[0])
    if sample_weight is not None:
        weights = _blocks(_column(sample_weight, X, "sample_weight"))
    dask = _dask()
    if gatherer.sample_rows:
        gatherer = gatherer.drawing_from(
            _reduce([dask.delayed(_count_labels)(part) for part in blocks[1]], _add_counts)
        )
    gather = dask.delayed(gatherer.gather, pure=False)
    parts = [gather(number, *block) for number, block in enumerate(zip(*blocks, weights, strict=True))]
    total: BlockStatistics | None = _reduce(parts, gatherer.merge_all)
    gatherer.fit(rotation, total)
    return rotation


def map_rows(rotation: Rotation, method: str, X: Any, **options: Any) -> Any:
    """Return the Dask array of what a method returns for the rows of `X`, block by block, when it is computed."""
    X = as_rows(X)
    light = copy(rotation)
    if hasattr(light, "moments_"):
        light.moments_ = None  # d × d numbers that no worker needs
    probe = getattr(light, method)(np.ones((1, X.shape[1]), dtype=X.dtype), **options)
    return X.map_blocks(
        _apply,
        getattr(light, method),
        options,
        probe.shape[1],
        dtype=probe.dtype,
        chunks=(X.chunks[0], (probe.shape[1],)),
        meta=np.empty((0, 0), dtype=probe.dtype),
    )


def score_dask(rotation: Rotation, X: Any, y: Any) -> float:
    """Return Kendall's τ-b of axis 0; one number a row comes to the client."""
    from scipy.stats import kendalltau

    X = as_rows(X)
    coordinates, labels = _dask().compute(map_rows(rotation, "transform", X)[:, 0], _column(y, X, "y"))
    values = read_block_labels(labels, len(coordinates))
    ranks = np.unique(values, return_inverse=True)[1]
    return float(kendalltau(coordinates, ranks).statistic)


def as_rows(X: Any) -> Any:
    """Return a Dask array whose blocks hold whole rows, from an array or a dataframe."""
    _dask()
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array()
    if X.ndim != 2:
        raise VectorError(f"X has shape {X.shape}; one vector a row is needed. Reshape it to 2-D.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return X


def _blocks(array: Any) -> list[Any]:
    """Return the blocks of an array, to be computed each; labels made from the vectors share what both need."""
    blocks: list[Any] = array.to_delayed(optimize_graph=False).ravel().tolist()
    return blocks


def _column(values: Any, X: Any, name: str) -> Column:
    """Return one number a row as a Dask array cut as the rows are."""
    import dask.array as da

    if hasattr(values, "to_dask_array"):
        values = values.to_dask_array()
    if not is_dask(values):
        if any(np.isnan(X.chunks[0])):
            X = copy(X).compute_chunk_sizes()  # which changes what it is called on
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
            "Cut both alike, or call compute_chunk_sizes() on both."
        )
    return values


def _check_length(given: int, needed: int, name: str) -> None:
    if given != needed:
        raise LabelError(f"{needed:,} rows of vectors, but {name} has {given:,} values. Pass one a row.")


def _reduce(parts: list[Any], merge: Callable[[list[Any]], Any]) -> Any:
    """Return what merging all parts gives, a few at a time, in a fixed order."""
    dask = _dask()
    task = dask.delayed(merge, pure=False)
    while len(parts) > 1:
        parts = [task(parts[start : start + FAN_IN]) for start in range(0, len(parts), FAN_IN)]
    return parts[0].compute()


def _count_labels(y: NDArray[Any]) -> dict[Any, int]:
    labels, counts = np.unique(read_block_labels(y, len(y)), return_counts=True)
    if len(labels) > 2:
        return {None: len(y)}  # scores
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _add_counts(parts: list[Mapping[Any, int]]) -> dict[Any, int]:
    total: dict[Any, int] = {}
    for part in parts:
        for label, count in part.items():
            total[label] = total.get(label, 0) + count
    return total


def _apply(block: NDArray[Any], method: Callable[..., NDArray[Any]], options: dict[str, Any], width: int) -> Any:
    """Return what a method returns for one block; an empty block stays empty."""
    if len(block) == 0:
        return np.empty((0, width), dtype=method(np.ones((1, block.shape[1]), dtype=block.dtype), **options).dtype)
    return method(block, **options)


def _dask() -> Any:
    try:
        import dask
        import dask.array
    except ImportError as error:
        raise MissingExtraError("Dask collections need Dask. Install it: pip install 'densray[dask]'.") from error
    return dask
