"""Checks on the rows a rotation is given, each said in terms of rows and widths."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from densray.arrays import Array, array_on, is_dask, is_foreign, namespace, to_host
from densray.errors import NotAdditiveError, VectorError
from densray.memory_maps import release_pages
from densray.moments import block_rows, blocks_of

__all__ = [
    "RowCount",
    "at_precision",
    "check_rows",
    "check_weights",
    "check_zeros",
    "count_bad_rows",
    "drop_weightless",
]


#: What rows may be converted to before any product; None leaves float32 and float64 as they are.
PRECISIONS = (None, "float32", "float64")


def check_rows(estimator: Any, X: Array, *, reset: bool, fewest: int = 2, warn_of_zeros: bool | None = None) -> Array:
    """Return `X` as a checked 2-D float array; on `reset` its width becomes the estimator's.

    An estimator with a parameter ``precision`` converts the rows to it; half precision is refused without.
    Rows must be finite; zero vectors have no direction and are warned of when fitting, or as `warn_of_zeros` says.
    """
    if is_dask(X):
        raise NotAdditiveError(
            f"X is a Dask collection, and {type(estimator).__name__} needs all rows at once here. Use fit of DensRay "
            "or MeanDifference, whose statistics add up, or a sample in memory: X.compute()."
        )
    if isinstance(X, str | Path | Iterator):
        raise VectorError(
            f"X is a {type(X).__name__}; rows are needed. Files and blocks of rows go to densray.scale.fit_blocks."
        )
    fewest = fewest if reset else 1
    X = at_precision(X, getattr(estimator, "precision", None))
    if is_foreign(X):
        X = _check_foreign(estimator, X, reset=reset, fewest=fewest)
    else:
        X = _check_numpy(estimator, X, reset=reset, fewest=fewest)
    _check_lengths(X, warn_of_zeros=reset if warn_of_zeros is None else warn_of_zeros)
    return X


def at_precision(X: Array, precision: str | None) -> Array:
    """Return the rows converted to a precision, as they are where it is None; half precision is refused then."""
    if precision not in PRECISIONS:
        raise VectorError(f"precision={precision!r} is given; one of {', '.join(map(repr, PRECISIONS))} is needed.")
    name = str(getattr(X, "dtype", "")).removeprefix("torch.")
    if name in ("float16", "bfloat16") and precision is None:
        raise VectorError(
            f"X is {name}, too coarse to multiply in. Convert it to float32, or opt in with precision='float32'."
        )
    if precision is None or name == precision:
        return X
    if is_foreign(X):
        xp = namespace(X)
        return xp.astype(X, getattr(xp, precision))
    return X.astype(precision) if isinstance(X, np.ndarray) and X.dtype.kind in "fiub" else X


def _check_numpy(estimator: Any, X: object, *, reset: bool, fewest: int) -> NDArray[Any]:
    try:
        rows: NDArray[Any] = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_min_samples=fewest,
            ensure_all_finite=False,  # checked together with the lengths, in one pass
        )
    except VectorError:
        raise
    except ValueError as error:
        raise VectorError(f"{error} Vectors are one row a word, all of one width.") from error
    return rows


def _check_foreign(estimator: Any, X: Array, *, reset: bool, fewest: int) -> Array:
    xp = namespace(X)
    if X.ndim != 2:
        raise VectorError(f"X has shape {tuple(X.shape)}; one vector a row is needed. Reshape it to 2-D.")
    if X.dtype not in (xp.float32, xp.float64):
        raise VectorError(f"X is {X.dtype}; float32 or float64 is needed. Convert it first.")
    if X.shape[0] < fewest:
        raise VectorError(f"X has {X.shape[0]} rows; at least {fewest} are needed.")
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
    elif X.shape[1] != estimator.n_features_in_:
        raise VectorError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input. Use vectors of the space it was fitted on."
        )
    return X


def _check_lengths(X: Array, *, warn_of_zeros: bool) -> None:
    """Raise if a row is not finite, warn if one is zero: one pass over the data, in blocks."""
    bad, zero = RowCount(), RowCount()
    for block in blocks_of(X.shape[0], block_rows(X)):
        count_bad_rows(X[block, :], bad, zero, start=block.start)
        release_pages(X)
    if bad.count:
        raise VectorError(
            f"Input X contains NaN or infinity in {bad.count} of {X.shape[0]} rows (first: row {bad.first}). "
            "Drop or repair those rows."
        )
    if warn_of_zeros:
        check_zeros(zero, X.shape[0], stacklevel=5)
        _check_variety(X)


@dataclass
class RowCount:
    """How many rows of some kind were met, and where the first one was."""

    count: int = 0
    first: int | None = None

    def add(self, rows: Array, start: int) -> None:
        """Count row numbers of a block that begins at row `start`."""
        if rows.shape[0] and self.first is None:
            self.first = start + int(rows[0])
        self.count += int(rows.shape[0])


def count_bad_rows(X: Array, bad: RowCount, zero: RowCount, *, start: int) -> None:
    """Count the rows of a block that are not finite, and those that are zero."""
    xp = namespace(X)
    lengths = np.einsum("ij,ij->i", X, X) if xp is np else xp.linalg.vector_norm(X, axis=1)
    if not bool(xp.all(xp.isfinite(lengths))):
        rows = xp.nonzero(xp.any(~xp.isfinite(X), axis=1))[0]
        bad.add(rows, start)
        if rows.shape[0] == 0:
            raise VectorError(_extreme("large", start + int(xp.argmax(lengths)), X))
    empty = xp.nonzero(lengths == 0)[0]
    if empty.shape[0]:
        rows = xp.take(X, empty, axis=0)
        if bool(xp.any(rows != 0)):
            raise VectorError(_extreme("small", start + int(empty[0]), X))
    zero.add(empty, start)


def _extreme(size: str, row: int, X: Array) -> str:
    return (
        f"row {row} of X is too {size} to be squared in {str(X.dtype).removeprefix('torch.')}. Scale the vectors, for "
        "example to unit length."
    )


def check_zeros(zero: RowCount, n_rows: int, *, stacklevel: int) -> None:
    """Raise if all rows are zero, warn if some are: they have no direction."""
    if zero.count == n_rows:
        raise VectorError(f"all {n_rows} rows of X are zero: zero vectors have no direction. Check the vectors.")
    if zero.count:
        place = "" if zero.first is None else f" (first: row {zero.first})"
        warnings.warn(
            f"{zero.count} of {n_rows} rows of X are zero vectors{place}; they count as words at "
            "the origin. Drop them if they stand for missing vectors.",
            RuntimeWarning,
            stacklevel=stacklevel,
        )


def _check_variety(X: Array) -> None:
    """Raise if all rows are the same vector: there is no difference to find an axis in."""
    xp = namespace(X)
    if X.shape[0] < 2 or not bool(xp.all(X[0, :] == X[-1, :])):
        return
    if all(bool(xp.all(X[block, :] == X[0, :])) for block in blocks_of(X.shape[0], block_rows(X))):
        raise VectorError(f"all {X.shape[0]} rows of X are the same vector; rows that differ are needed.")


def check_weights(sample_weight: object, X: Array) -> Array | None:
    """Return row weights in the precision of `X`, or None where all rows count the same."""
    if sample_weight is None:
        return None
    xp = namespace(X)
    try:
        weight = array_on(sample_weight, X, dtype=xp.float64)
    except (TypeError, ValueError) as error:
        raise VectorError(f"sample_weight is not made of numbers ({error}). Pass one number a row.") from error
    if weight.ndim == 0:
        weight = xp.full(X.shape[0], float(weight), dtype=xp.float64, device=X.device)
    if tuple(weight.shape) != (X.shape[0],):
        shape = tuple(weight.shape)
        raise VectorError(f"sample_weight has shape {shape}; one weight a row is needed, shape ({X.shape[0]},).")
    largest = float(xp.max(weight))
    tiny = float(np.finfo(np.float32 if X.dtype == xp.float32 else np.float64).tiny) * 1e6
    if not bool(xp.all(xp.isfinite(weight))) or bool(xp.any(weight < 0)) or largest < tiny:
        raise VectorError("sample_weight must be finite, not negative, and not all (nearly) zero.")
    return xp.astype(weight, X.dtype)


def drop_weightless(X: Array, y: Array, weight: Array | None) -> tuple[Array, Array, Array | None]:
    """Return the rows, labels and weights without those that weigh nothing, so that zero equals absent."""
    labels = y if is_foreign(y) else np.asarray(y)
    if weight is None or labels.ndim == 0 or labels.shape[0] != X.shape[0]:
        return X, y, weight
    xp = namespace(weight)
    keep = xp.nonzero(weight > 0)[0]
    if keep.shape[0] == X.shape[0]:
        return X, y, weight
    rows, weights = (xp.take(part, keep, axis=0) for part in (X, weight))
    return rows, xp.take(labels, keep, axis=0) if is_foreign(y) else labels[to_host(keep)], weights
