"""Check rows and weights for `fit`: shape, precision, finite numbers, not all equal."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from densray._arrays import (
    HALF_TYPES,
    Array,
    ConvertedRows,
    array_on,
    block_rows,
    blocks_of,
    check_unmasked,
    given_rows,
    in_blocks,
    is_dask,
    is_foreign,
    label_array,
    namespace,
    stacked_rows,
    take_rows,
    to_host,
    type_name,
    without_gradient,
)
from densray.errors import (
    Argument,
    NotAdditiveError,
    VectorError,
    VectorTypeError,
    ZeroVectorWarning,
    one_line,
    shorten,
)
from densray.moments import LabelMoments, ScoreMoments

#: If weights add up to more than this, they overflow when multiplied by squares.
LARGEST_WEIGHT = 1e100
#: If all weights are smaller than this, products with them underflow: for float32 rows, and for others.
SMALLEST_WEIGHTS = {"float32": 1e-15, "float64": 1e-100}
#: Precisions in which products are computed; None converts half precision to float32.
PRECISIONS = (None, "float32", "float64")


def check_vectors(
    estimator: Any,
    X: Array,
    *,
    reset: bool,
    fewest: int = 2,
    warn_of_zeros: bool | None = None,
    finite: bool = True,
) -> Array:
    """Return `X` as checked 2-D rows of floats; on `reset` its width is stored in the estimator.

    Half precision is converted to float32 block by block, other rows to the ``precision`` of the estimator if it is
    set.

    Parameters
    ----------
    estimator : Rotation
    X : array of shape (n, d)
    reset : bool
        Whether the estimator is being fitted: its width is then set, not compared.
    fewest : int, default=2
        Least number of rows for a fit.
    warn_of_zeros : bool, optional
        Whether to warn of zero vectors, which have no direction, and to raise an error if all rows are equal. Default:
        same as `reset`.
    finite : bool, default=True
        Whether to check for NaN and infinity. False if the caller computes sums that reveal them (`checked_moments`).
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
    check_kind(X)
    X = without_gradient(stacked_rows(X)) if reset else stacked_rows(X)
    fewest = fewest if reset else 1
    X = at_precision(X, getattr(estimator, "precision", None))
    if is_foreign(X) or isinstance(X, ConvertedRows):
        _check_shape(estimator, X, reset=reset, fewest=fewest)
    else:
        X = _check_numpy(estimator, X, reset=reset, fewest=fewest)
    if finite:
        check_finite(X)
    warn_of_zeros = reset if warn_of_zeros is None else warn_of_zeros
    if warn_of_zeros:
        check_zeros(zero_rows(X), X.shape[0], stacklevel=4)
        _check_variety(X)
    return X


def check_kind(X: object) -> None:
    """Raise for masked arrays and matrices, whose arithmetic differs, and for text and dates."""
    check_unmasked(X, "X", VectorError)
    kind = getattr(getattr(X, "dtype", None), "kind", None)
    if isinstance(kind, str) and kind in "mMSU":
        raise VectorTypeError(f"X is {getattr(X, 'dtype', None)}; numbers are needed. Pass X.astype(float).")
    if isinstance(X, np.matrix):
        raise VectorTypeError("X is a numpy.matrix, whose products mean something else. Pass numpy.asarray(X).")


def at_precision(X: Array, precision: str | None) -> Array:
    """Return rows that are converted to a precision when they are read; None converts half precision to float32."""
    if precision not in PRECISIONS:
        raise VectorError(
            Argument("precision", precision), f" is given; one of {', '.join(map(repr, PRECISIONS))} is needed."
        )
    name = type_name(X)
    half = name in HALF_TYPES
    if name == precision or (precision is None and not half):
        return X
    if not (is_foreign(X) or half or (isinstance(X, np.ndarray) and X.dtype.kind in "fiub")):
        return X
    dtype = getattr(namespace(X), precision or "float32")
    return ConvertedRows(X, dtype, X.dtype if precision is None else dtype)


def rounding_of(X: Array) -> float:
    """Return the rounding unit of products with these rows."""
    return float(np.finfo(np.float32 if "float32" in str(X.dtype) else np.float64).eps)


def _check_numpy(estimator: Any, X: object, *, reset: bool, fewest: int) -> NDArray[Any]:
    try:
        if isinstance(X, list | tuple):
            X = np.asarray(X)
            check_kind(X)
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
    except (TypeError, ValueError) as error:
        kind = VectorTypeError if isinstance(error, TypeError) else VectorError
        raise kind(_explain(error, X)) from error
    return rows


def _explain(error: Exception, X: Any) -> str:
    """Return a message of scikit-learn with advice; the whole message may contain the whole array."""
    whole, first = str(error), shorten(error, width=150)
    if "feature names" in whole:
        return one_line(whole, width=300)
    if "Reshape your data" in whole:
        return (
            f"{first} X has shape {np.shape(X)}. Reshape your data to one row per vector; for one vector: "
            "X.reshape(1, -1)."
        )
    if "toarray" in whole:
        return first
    advice = "Vectors are one row per word, all of one width."
    if "Complex" in whole:
        advice = "Use real numbers."
    elif "sample(s)" in whole:
        advice = "Add rows."
    return f"{first}{'' if first.endswith(('.', '…')) else '.'} {advice}"


def _check_shape(estimator: Any, X: Array, *, reset: bool, fewest: int) -> None:
    xp, rows = namespace(X), given_rows(X)
    if rows.ndim != 2:
        raise VectorError(f"X has shape {tuple(rows.shape)}; one vector per row is needed. Reshape it to 2-D.")
    if X.dtype not in (xp.float32, xp.float64):
        raise VectorError(f"X is {X.dtype}; float16, bfloat16, float32 or float64 is needed. Convert it first.")
    if X.shape[1] == 0:
        raise VectorError(f"X has shape {tuple(X.shape)}: its rows are empty. Vectors need at least one number.")
    if X.shape[0] < fewest:
        raise VectorError(f"X has {X.shape[0]} rows; at least {fewest} are needed.")
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
    elif X.shape[1] != estimator.n_features_in_:
        raise VectorError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input. Use vectors of the space it was fitted on."
        )


def check_finite(X: Array) -> None:
    """Raise if a row is not finite, or too large to be squared; one pass over the data, in blocks."""
    xp = namespace(X)
    bad = RowCount()

    def of_block(block: slice) -> None:
        rows = X[block, :]
        lengths = np.einsum("ij,ij->i", rows, rows) if xp is np else xp.linalg.vector_norm(rows, axis=1)
        if bool(xp.all(xp.isfinite(lengths))):
            return
        broken = xp.nonzero(xp.any(~xp.isfinite(rows), axis=1))[0]
        bad.add(broken, block.start)
        if broken.shape[0] == 0:
            raise VectorError(_extreme("large", block.start + int(xp.argmax(lengths)), X))

    for _ in in_blocks(X, of_block):
        pass
    if bad.count:
        raise VectorError(
            f"Input X contains NaN or infinity in {bad.count} of {X.shape[0]} rows (first: row {bad.first}). "
            "Drop or repair those rows."
        )


def checked_moments(X: Array, gather: Callable[[], LabelMoments]) -> LabelMoments:
    """Return the moments that `gather` returns; if they are not finite, the error names the row."""
    with np.errstate(invalid="ignore", over="ignore"):
        moments = gather()
        parts = [moments] if isinstance(moments, ScoreMoments) else moments.by_class.values()
        sums = [array for part in parts for array in vars(part).values() if hasattr(array, "shape")]
        total = sum(namespace(array).sum(without_gradient(array)) for array in sums)
        finite = np.isfinite(float(total))  # one transfer from the device
    if not finite:
        check_finite(X)
        raise VectorError(f"sums over the rows of X overflow {type_name(X)}. Scale the vectors, e.g. to unit length.")
    return moments


@dataclass
class RowCount:
    """Number of rows of some kind, and the first row number."""

    count: int = 0
    first: int | None = None

    def add(self, rows: Array, start: int) -> None:
        """Count the given row numbers of a block that begins at row `start`."""
        if rows.shape[0] and self.first is None:
            self.first = start + int(rows[0])
        self.count += int(rows.shape[0])


def zero_rows(X: Array) -> RowCount:
    """Return the number of zero rows; a row whose squares round to zero is an error.

    Only the first column of all rows is read, and the whole row if the square of its first number is zero.
    """
    xp, zero = namespace(X), RowCount()

    def of_block(block: slice) -> None:
        first = X[block, 0]
        with np.errstate(over="ignore"):
            places = xp.nonzero(first * first == 0)[0]
        if not places.shape[0]:
            return
        rows = take_rows(X, places + block.start)[:, :]
        lengths = np.einsum("ij,ij->i", rows, rows) if xp is np else xp.linalg.vector_norm(rows, axis=1)
        empty = xp.nonzero(lengths == 0)[0]
        if empty.shape[0] and bool(xp.any(xp.take(rows, empty, axis=0) != 0)):
            raise VectorError(_extreme("small", block.start + int(places[int(empty[0])]), X))
        zero.add(xp.take(places, empty, axis=0), block.start)

    for _ in in_blocks(X, of_block, at_once=int(X.shape[0]) if is_foreign(X) else None):  # one column is small
        pass
    return zero


def _extreme(size: str, row: int, X: Array) -> str:
    return (
        f"row {row} of X is too {size} to be squared in {type_name(X)}. Scale the vectors, for example to unit length."
    )


def check_zeros(zero: RowCount, n_rows: int, *, stacklevel: int) -> None:
    """Raise if all rows are zero, and warn if some are: zero vectors have no direction."""
    if zero.count == n_rows:
        raise VectorError(f"all {n_rows} rows of X are zero: zero vectors have no direction. Check the vectors.")
    if zero.count:
        place = "" if zero.first is None else f" (first: row {zero.first})"
        message = (
            f"{zero.count} of {n_rows} rows of X are zero vectors{place}; they count as points at the origin. "
            "Drop them if they stand for missing vectors."
        )
        warnings.warn(ZeroVectorWarning(message), stacklevel=stacklevel)


def _check_variety(X: Array) -> None:
    """Raise if all rows are the same vector: there is no difference to find an axis in."""
    xp = namespace(X)
    if X.shape[0] < 2 or not bool(xp.all(X[0, :] == X[-1, :])):
        return
    if all(bool(xp.all(X[block, :] == X[0, :])) for block in blocks_of(X.shape[0], block_rows(X))):
        raise VectorError(f"all {X.shape[0]} rows of X are the same vector; rows that differ are needed.")


def check_weights(sample_weight: object, X: Array) -> Array | None:
    """Return row weights in the precision of `X`, or None if all weights are equal."""
    if sample_weight is None:
        return None
    check_unmasked(sample_weight, "sample_weight", VectorError)
    xp, sample_weight = namespace(X), without_gradient(sample_weight)
    try:
        if xp.isdtype((weights := array_on(sample_weight, X)).dtype, "complex floating"):
            raise TypeError(f"{weights.dtype}")
        weight = array_on(sample_weight, X, dtype=xp.float64)
    except (TypeError, ValueError) as error:
        raise VectorError(
            f"sample_weight is not made of numbers ({shorten(error)}). Pass one number per row."
        ) from error
    if weight.ndim == 0:
        weight = xp.full(X.shape[0], float(weight), dtype=xp.float64, device=X.device)
    if (shape := tuple(weight.shape)) != (X.shape[0],):
        raise VectorError(f"sample_weight has shape {shape}; one weight per row is needed, shape ({X.shape[0]},).")
    largest = float(xp.max(weight))
    smallest = SMALLEST_WEIGHTS["float32" if X.dtype == xp.float32 else "float64"]
    if not bool(xp.all(xp.isfinite(weight))) or bool(xp.any(weight < 0)) or largest < smallest:
        raise VectorError(
            "sample_weight must be finite, not negative, and not all (nearly) zero: the largest weight must be at "
            f"least {smallest:.0e}."
        )
    if not largest * X.shape[0] < LARGEST_WEIGHT:
        raise VectorError(
            f"sample_weight has a weight of {largest:.1e}; their sum must be below {LARGEST_WEIGHT:.0e}. Scale them."
        )
    return xp.astype(weight, X.dtype)


def drop_weightless(X: Array, y: Array, weight: Array | None) -> tuple[Array, Array, Array | None]:
    """Return rows, labels and weights without rows of zero weight, so that they count as absent."""
    labels = label_array(y)
    if weight is None or labels.ndim == 0 or labels.shape[0] != X.shape[0]:
        return X, y, weight
    xp = namespace(weight)
    keep = xp.nonzero(weight > 0)[0]
    if keep.shape[0] == X.shape[0]:
        return X, y, weight
    rows, weights = take_rows(X, keep), xp.take(weight, keep, axis=0)
    return rows, xp.take(labels, keep, axis=0) if is_foreign(y) else labels[to_host(keep)], weights
