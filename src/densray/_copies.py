"""Rows that are equal up to rounding: copies with few decimals, in fewer bits, or computed in another batch.

Copies are much closer to each other than to any other row. Rows are copies of the first of them if they lie within a
bound of it, and no further row lies within a multiple of that bound. So rows of a dense cloud are no copies, and chains
of near rows do not join. Four bounds are tried, the largest first: two decimals at unit length (which also covers
integers of one byte), three decimals, half precision, and single precision. They are relative to the lengths of the
rows. The largest is 0.071 at 384 dimensions, so near duplicates of a cosine above 0.9975 count as copies, too. For
comparison, the smallest distance at unit length is 0.20 between 26,423 words of GoogleNews (300 dimensions), and 0.17
between 3,535 summaries of court cases (latent semantic analysis, 384 dimensions).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._arrays import BLOCK_ROWS, in_blocks, to_host
from densray._vocabulary import unit_rows

__all__ = ["ROUNDING", "SINGLE", "first_copies", "first_equal_rows", "first_of_group", "project_on_fixed"]

#: Largest rounding error of a number at unit length: half a unit of the third decimal.
ROUNDING = 5e-4
#: Ratio of the largest rounding error of a whole vector to the usual one.
_LARGEST_TO_USUAL = 1.25
#: The same for two decimals, which also covers integers of one byte from 16 dimensions on.
_COARSE_ROUNDING = 5e-3
#: Rounding error of a whole vector at unit length, in half precision and in single precision.
HALF, SINGLE = 5e-4, 1e-6
#: No other row is within this many bounds of a copy; less for coarse rounding, whose neighbourhoods have more rows.
_GAP, _COARSE_GAP = 4.0, 2.0
#: Copies differ by at most this share of the root mean square distance of rows from their mean.
_SHARE_OF_SPREAD = 1.0 / 40.0
#: The same for coarse rounding.
_COARSE_SHARE_OF_SPREAD = 1.0 / 10.0
#: A bound is used only if fewer pairs of distinct rows than this are expected to be so close by chance.
_BY_CHANCE = 0.01
#: Largest number of rows whose nearest row is looked up, to tell copies from the nearest rows of a cloud.
_MOST_ASKED = 2_000
#: Number of fixed directions whose coordinates represent a vector.
_N_DIRECTIONS = 16
#: Number of nearest rows that each row is linked to at a time.
_NEIGHBOURS = 4


def project_on_fixed(X: NDArray[Any], count: int) -> NDArray[Any]:
    """Return the coordinates of rows on directions that are the same on every machine, and that no concept follows."""
    places = np.arange(1, X.shape[1] + 1, dtype=np.float64)
    directions = np.cos(np.outer(places**2, 1.0 + 0.37 * np.arange(count)))
    return np.asarray(X @ (directions / np.linalg.norm(directions, axis=0)).astype(X.dtype))


def first_copies(X: Any, *, width: int | None = None, coarse: bool = True) -> NDArray[np.intp]:
    """Return for each row the first row that is equal to it up to rounding, which is mostly the row itself.

    `width` is the number of columns of the rows if `X` holds projections of them. With ``coarse=False``, rounding to
    two decimals is not considered.

    >>> rows = np.random.default_rng(0).normal(size=(3, 50))
    >>> first_copies(np.concatenate([rows, rows.astype(np.float16)])).tolist()
    [0, 1, 2, 0, 1, 2]
    """
    first = first_equal_rows(X)
    if X.shape[1] < 2:  # any two directions are equal, or opposite
        return first
    rows = np.flatnonzero(first == np.arange(len(first)))
    marks = _marks(X, rows)
    usable = np.isfinite(marks).all(axis=1)
    rows, marks = rows[usable], marks[usable]
    if len(rows) < 2:
        return first
    for bound, gap, is_coarse in _bounds(marks, int(X.shape[1]), width or int(X.shape[1])):
        if len(rows) < 2 or (is_coarse and not coarse):
            continue
        groups = first_of_near_rows(marks, gap * bound)
        joined = np.bincount(groups, minlength=len(rows))[groups] > 1
        distances = _distances(X, rows[joined], rows[groups[joined]])
        farthest = np.zeros(len(rows))
        np.maximum.at(farthest, groups[joined], distances)
        copies = joined & (farthest[groups] <= bound)
        if is_coarse and _may_be_chance(marks, copies, gap * bound):
            continue
        first[rows[copies]] = rows[groups[copies]]
        rows, marks = rows[joined & ~copies], marks[joined & ~copies]
    return np.asarray(first[first])  # exact copies of copies


def _bounds(marks: NDArray[np.float64], n_columns: int, width: int) -> Iterator[tuple[float, float, bool]]:
    """Yield the largest distances of copies, each with its gap, and whether it is the coarse one, which comes first."""
    spread = float(np.sqrt(marks.var(axis=0).sum()))
    if spread == 0.0:
        return
    n_pairs = len(marks) * (len(marks) - 1) / 2
    # rounding errors are uniform, so the mean of their squares is a third of the largest
    coarse, fine = (_LARGEST_TO_USUAL * error * np.sqrt(width / 3.0) for error in (_COARSE_ROUNDING, ROUNDING))
    if width > n_columns:  # lengths of projections vary
        coarse, fine = (bound * (1.0 + 2.0 / np.sqrt(2.0 * n_columns)) for bound in (coarse, fine))
    bounds = [(min(coarse, spread * _COARSE_SHARE_OF_SPREAD), _COARSE_GAP)]
    bounds += [(min(each, spread * _SHARE_OF_SPREAD), _GAP) for each in (fine, HALF, SINGLE)]
    for number, (bound, gap) in enumerate(bounds):
        if n_pairs * (gap * bound / spread) ** (n_columns - 1) < _BY_CHANCE:
            yield bound, gap, number == 0


def _may_be_chance(marks: NDArray[np.float64], copies: NDArray[np.bool_], reach: float) -> bool:
    """Return whether rows that seem to be copies may only be the nearest of a dense cloud.

    In a cloud, many more rows have their nearest row up to twice as far away.
    """
    from scipy.spatial import KDTree

    if not copies.any():
        return False
    others = np.flatnonzero(~copies)
    if len(others) < 2:
        return False
    asked = (
        others if len(others) <= _MOST_ASKED else np.random.default_rng(0).choice(others, _MOST_ASKED, replace=False)
    )
    tree = KDTree(marks[others])
    nearest = np.asarray(tree.query(marks[asked], k=2, distance_upper_bound=2.0 * reach)[0])[:, 1]
    return bool(np.isfinite(nearest).mean() * len(others) > copies.sum())


def _marks(X: Any, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return numbers that represent rows: distances between them are about the relative distances of the rows."""
    parts = [np.empty((0, min(int(X.shape[1]), _N_DIRECTIONS) + 1))]
    for start in range(0, len(rows), BLOCK_ROWS):
        block = _host_rows(X, rows[start : start + BLOCK_ROWS])
        block = block if block.dtype.kind == "f" and block.dtype.itemsize > 2 else block.astype(np.float32)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            unit, lengths = unit_rows(block), np.log(np.linalg.norm(block.astype(np.float64), axis=1))
            if block.shape[1] > _N_DIRECTIONS:
                unit = project_on_fixed(unit, _N_DIRECTIONS) * np.sqrt(block.shape[1] / _N_DIRECTIONS)
        parts.append(np.column_stack([unit, lengths]))  # zeros have no direction, and an infinite logarithm
    return np.concatenate(parts)


def first_of_near_rows(marks: NDArray[np.float64], radius: float) -> NDArray[np.intp]:
    """Return for each row the first row of its chain, in which each row is about within `radius` of another.

    >>> first_of_near_rows(np.array([[0.0], [5.0], [1.0], [2.0]]), 1.0).tolist()
    [0, 1, 0, 0]
    """
    from scipy.spatial import KDTree

    first = _first_in_cell(marks, radius / np.sqrt(marks.shape[1]))
    ends = np.flatnonzero(first == np.arange(len(marks)))
    while len(ends) > 1:  # chains are joined by their first rows, until these are far from each other
        k = min(_NEIGHBOURS + 1, len(ends))
        reach = np.nextafter(radius, np.inf)  # the bound of the query is exclusive
        near, which = KDTree(marks[ends]).query(marks[ends], k=k, distance_upper_bound=reach)
        which = np.asarray(which, dtype=np.intp)
        row, column = np.nonzero(np.isfinite(near) & (which != np.arange(len(ends))[:, None]))
        if not row.size:
            break
        chains = first_of_group(np.column_stack([row, which[row, column]]), len(ends))
        later = np.arange(len(marks))
        later[ends] = ends[chains]
        first = later[first]
        ends = ends[np.unique(chains[row])]
    return first


def _first_in_cell(marks: NDArray[np.float64], edge: float) -> NDArray[np.intp]:
    """Return for each row the first row in the same cell of a grid, which spares a search among thousands of copies."""
    cells = np.floor((marks - marks.min(axis=0, initial=0.0)) / edge).astype(np.int64)
    _, first, which = np.unique(_sums_of_bits(cells), return_index=True, return_inverse=True)
    return np.asarray(first[which.ravel()])


def _distances(X: Any, rows: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the distance of each row to another one, relative to the length of that one."""
    parts = [np.zeros(0)]
    for start in range(0, len(rows), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        own, other = (np.asarray(_host_rows(X, each[block]), dtype=np.float64) for each in (rows, others))
        parts.append(np.linalg.norm(own - other, axis=1) / np.linalg.norm(other, axis=1))
    return np.concatenate(parts)


def first_equal_rows(X: Any) -> NDArray[np.intp]:
    """Return for each row the first row with the same vector, which is mostly the row itself.

    Vectors are compared only if sums of their bits, times random numbers, are equal: one pass over the rows, in blocks,
    without a copy of them.

    >>> first_equal_rows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])).tolist()
    [0, 1, 0]
    """
    n_rows, first = int(X.shape[0]), np.arange(X.shape[0])
    if not n_rows or not X.shape[1]:
        return first
    sums = np.concatenate(list(in_blocks(X, lambda block: _sums_of_bits(_host_rows(X, block)))))
    _, which, counts = np.unique(sums, return_inverse=True, return_counts=True)
    places = np.flatnonzero(counts[which] > 1)
    seen: dict[bytes, int] = {}
    for start in range(0, len(places), BLOCK_ROWS):
        block = places[start : start + BLOCK_ROWS]
        for place, row in zip(block.tolist(), _host_rows(X, block), strict=True):
            first[place] = seen.setdefault(row.tobytes(), place)
    return first


def _host_rows(X: Any, rows: Any) -> NDArray[Any]:
    return np.ascontiguousarray(to_host(X[rows]))


def _sums_of_bits(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """Return one number per row that depends on all of its bits."""
    size = next(size for size in (8, 4, 2, 1) if rows[0].nbytes % size == 0)
    bits = rows.view(np.uint8).reshape(len(rows), -1).view(f"u{size}")
    weights = np.random.default_rng(0).integers(2**64, size=bits.shape[1], dtype=np.uint64) | np.uint64(1)
    return np.asarray(bits.astype(np.uint64, copy=False) @ weights)


def first_of_group(links: Sequence[Sequence[int]] | NDArray[np.intp], count: int) -> NDArray[np.int64]:
    """Return for each of `count` rows the first row that is linked to it; the row itself if no earlier row is.

    >>> first_of_group([(0, 2), (2, 3)], 5).tolist()
    [0, 1, 0, 0, 4]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = np.array(links, dtype=np.intp).reshape(-1, 2)
    graph = coo_array((np.ones(len(ends), dtype=bool), (ends[:, 0], ends[:, 1])), shape=(count, count))
    _, numbers = connected_components(graph, directed=False)
    _, first = np.unique(numbers, return_index=True)
    return first[numbers].astype(np.int64)
