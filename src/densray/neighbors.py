"""The nearest rows of a matrix by cosine, in blocks, so that no full similarity matrix is ever held."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["at_unit_length", "nearest_rows", "row_lengths"]

_BLOCK = 16_384
_QUERIES = 512


def row_lengths(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the Euclidean length of every row, one block at a time."""
    lengths = np.empty(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), _BLOCK):
        block = np.asarray(vectors[start : start + _BLOCK], dtype=np.float64)
        lengths[start : start + _BLOCK] = np.sqrt(np.einsum("ij,ij->i", block, block))
    return lengths


def at_unit_length(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows scaled to unit length; rows of zeros stay zero.

    >>> at_unit_length(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def nearest_rows(
    vectors: NDArray[np.float32],
    queries: NDArray[np.float32],
    *,
    lengths: NDArray[np.float32],
    k: int,
    barred: Sequence[NDArray[np.int64]] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the rows of the k highest cosines of each query, and those cosines, best first.

    Parameters
    ----------
    vectors : array of shape (n, d)
        The rows searched; a memory map is read block by block.
    queries : array of shape (q, d)
        Their length is divided out; a zero query has cosine 0 with everything.
    lengths : array of shape (n,)
        The length of each row of `vectors`; rows of length zero have cosine 0.
    k : int
        How many to return; fewer come back where fewer rows are left.
    barred : list of q arrays, optional
        The rows that may not answer each query. They take a place in the result only where nothing else is
        left, and then with cosine ``-inf``.

    Returns
    -------
    rows, cosines : arrays of shape (q, min(k, n))
        Equal cosines are ordered by row.
    """
    k = min(k, len(vectors))
    scale = np.maximum(row_lengths(queries), np.finfo(np.float32).tiny)[:, None]
    unit = np.asarray(queries / scale, dtype=np.float32)
    rows = np.empty((len(queries), k), dtype=np.int64)
    cosines = np.empty((len(queries), k), dtype=np.float32)
    for start in range(0, len(queries), _QUERIES):
        part = slice(start, start + _QUERIES)
        bars = None if barred is None else barred[part]
        rows[part], cosines[part] = _nearest(vectors, unit[part], lengths, k, bars)
    return rows, cosines


def _nearest(
    vectors: NDArray[np.float32],
    unit: NDArray[np.float32],
    lengths: NDArray[np.float32],
    k: int,
    barred: Sequence[NDArray[np.int64]] | None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the best rows of a few unit queries: the best of each block join the best so far."""
    rows = np.zeros((len(unit), 0), dtype=np.int64)
    cosines = np.zeros((len(unit), 0), dtype=np.float32)
    for start in range(0, len(vectors), _BLOCK):
        block = np.asarray(vectors[start : start + _BLOCK])
        found = unit @ block.T
        found /= np.maximum(lengths[start : start + _BLOCK], np.finfo(np.float32).tiny)
        for query, bars in enumerate(barred or ()):
            inside = bars[(bars >= start) & (bars < start + len(block))] - start
            found[query, inside] = -np.inf
        kept = _highest(found, k)
        rows = np.hstack([rows, kept + start])
        cosines = np.hstack([cosines, np.take_along_axis(found, kept, axis=1)])
        kept = _highest(cosines, k)
        rows, cosines = np.take_along_axis(rows, kept, axis=1), np.take_along_axis(cosines, kept, axis=1)
    order = np.lexsort((rows, -cosines), axis=1)
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(cosines, order, axis=1)


def _highest(values: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Return the places of the k highest values of each line, in no order."""
    width = values.shape[1]
    if width <= k:
        return np.broadcast_to(np.arange(width), values.shape)
    return np.argpartition(values, width - k, axis=1)[:, width - k :]
