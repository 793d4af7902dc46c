"""What `fit` is given: rows and labels, checked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d, validate_data

from densray._arrays import (
    HALF_TYPES,
    Array,
    ConvertedRows,
    array_on,
    block_rows,
    blocks_of,
    distinct_labels,
    float64_like,
    given_rows,
    in_blocks,
    is_dask,
    is_foreign,
    namespace,
    take_rows,
    to_host,
    type_name,
)
from densray.errors import LabelError, NotAdditiveError, VectorError, VectorTypeError, name_some, shorten
from densray.moments import LabelMoments, ScoreMoments

#: What rows are multiplied in; None converts half precision to float32, "fast" asks for tensor cores as well.
PRECISIONS = (None, "float32", "float64", "fast")


def check_rows(
    estimator: Any,
    X: Array,
    *,
    reset: bool,
    fewest: int = 2,
    warn_of_zeros: bool | None = None,
    finite: bool = True,
) -> Array:
    """Return `X` as checked 2-D rows of floats; on `reset` its width becomes the estimator's.

    Half precision is converted to float32 block by block, other rows to the estimator's ``precision`` where it has
    one. Rows must be finite, unless `finite` leaves that to what the caller makes of them (`checked_moments`);
    zero vectors have no direction and are warned of when fitting, or as `warn_of_zeros` says.
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
    if is_foreign(X) or isinstance(X, ConvertedRows):
        _check_shape(estimator, X, reset=reset, fewest=fewest)
    else:
        X = _check_numpy(estimator, X, reset=reset, fewest=fewest)
    if finite:
        check_finite(X)
    if reset if warn_of_zeros is None else warn_of_zeros:
        check_zeros(zero_rows(X), X.shape[0], stacklevel=4)
        _check_variety(X)
    return X


def at_precision(X: Array, precision: str | None) -> Array:
    """Return rows that are converted to a precision as they are read, half precision to float32 where it is None."""
    if precision not in PRECISIONS:
        raise VectorError(f"precision={precision!r} is given; one of {', '.join(map(repr, PRECISIONS))} is needed.")
    name, wanted = type_name(X), "float32" if precision == "fast" else precision
    half = name in HALF_TYPES
    if name == wanted or (wanted is None and not half):
        return X
    if not (is_foreign(X) or half or (isinstance(X, np.ndarray) and X.dtype.kind in "fiub")):
        return X
    dtype = getattr(namespace(X), wanted or "float32")
    return ConvertedRows(X, dtype, X.dtype if precision in (None, "fast") else dtype)


def precision_of(X: Array) -> float:
    """Return the rounding unit of the products made with `X`."""
    return float(np.finfo(np.float32 if "float32" in str(X.dtype) else np.float64).eps)


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
    except (TypeError, ValueError) as error:  # scikit-learn shows the whole array
        advice = " Reshape your data" if "Reshape your data" in str(error) else ""
        kind = VectorTypeError if isinstance(error, TypeError) else VectorError
        raise kind(f"{shorten(error, width=150)}{advice} Vectors are one row per word, all of one width.") from error
    return rows


def _check_shape(estimator: Any, X: Array, *, reset: bool, fewest: int) -> None:
    xp, given = namespace(X), given_rows(X)
    if given.ndim != 2:
        raise VectorError(f"X has shape {tuple(given.shape)}; one vector per row is needed. Reshape it to 2-D.")
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
    """Raise if a row is not finite, or too large to be squared: one pass over the data, in blocks."""
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
    """Return moments of the rows; a row that is not finite is an error, told by the sums themselves."""
    with np.errstate(invalid="ignore", over="ignore"):
        moments = gather()
        groups = [moments] if isinstance(moments, ScoreMoments) else moments.groups.values()
        sums = [part for one in groups for part in vars(one).values() if hasattr(part, "shape")]
        finite = np.isfinite(float(sum(namespace(part).sum(part) for part in sums)))  # a device is asked once
    if not finite:
        check_finite(X)
        raise VectorError(f"sums over the rows of X overflow {type_name(X)}. Scale the vectors, e.g. to unit length.")
    return moments


@dataclass
class RowCount:
    """How many rows of some kind there are, and the number of the first."""

    count: int = 0
    first: int | None = None

    def add(self, rows: Array, start: int) -> None:
        """Count row numbers of a block that begins at row `start`."""
        if rows.shape[0] and self.first is None:
            self.first = start + int(rows[0])
        self.count += int(rows.shape[0])


def zero_rows(X: Array) -> RowCount:
    """Return how many rows are zero; ones too small to be squared are an error.

    Only rows whose first number is zero are looked at whole: one column is read of the others.
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

    for _ in in_blocks(X, of_block, at_once=int(X.shape[0]) if is_foreign(X) else None):  # one column is not much
        pass
    return zero


def _extreme(size: str, row: int, X: Array) -> str:
    return (
        f"row {row} of X is too {size} to be squared in {type_name(X)}. Scale the vectors, for example to unit length."
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
        raise VectorError(
            f"sample_weight is not made of numbers ({shorten(error)}). Pass one number per row."
        ) from error
    if weight.ndim == 0:
        weight = xp.full(X.shape[0], float(weight), dtype=xp.float64, device=X.device)
    if (shape := tuple(weight.shape)) != (X.shape[0],):
        raise VectorError(f"sample_weight has shape {shape}; one weight per row is needed, shape ({X.shape[0]},).")
    largest = float(xp.max(weight))
    tiny = float(np.finfo(np.float32 if X.dtype == xp.float32 else np.float64).tiny) * 1e6
    if not bool(xp.all(xp.isfinite(weight))) or bool(xp.any(weight < 0)) or largest < tiny:
        raise VectorError("sample_weight must be finite, not negative, and not all (nearly) zero.")
    if not largest * X.shape[0] < LARGEST_WEIGHT:
        raise VectorError(
            f"sample_weight has a weight of {largest:.1e}; their sum must be below {LARGEST_WEIGHT:.0e}. Scale them."
        )
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
    rows, weights = take_rows(X, keep), xp.take(weight, keep, axis=0)
    return rows, xp.take(labels, keep, axis=0) if is_foreign(y) else labels[to_host(keep)], weights


#: Labels beyond this overflow when squared and summed.
LARGEST_LABEL = 1e100
#: Weights whose sum is beyond this overflow where they multiply squares.
LARGEST_WEIGHT = 1e100


@dataclass(frozen=True)
class Labels:
    """One number per row: ±1 where there are two classes, else the score itself."""

    values: Array  # (n,), float64
    classes: NDArray[Any] | None  # the two labels, lower first; None for scores
    groups: NDArray[np.int64] | None = None  # the number of each row's group; None where every row stands alone

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return self.classes is not None

    def on_device_of(self, rows: Array) -> Labels:
        """Return the labels in the array library and on the device of the rows."""
        return Labels(float64_like(self.values, rows), self.classes, self.groups)

    def class_rows(self) -> list[Array]:
        """Return the rows of the lower and of the higher class."""
        return self._class_rows

    @cached_property
    def _class_rows(self) -> list[Array]:
        xp = namespace(self.values)
        return [xp.nonzero(self.values == sign)[0] for sign in (-1.0, 1.0)]


def read_groups(groups: object, n_rows: int) -> NDArray[np.int64] | None:
    """Return the number of each row's group, counted from 0; None where there are none."""
    if groups is None:
        return None
    members = to_host(groups) if is_foreign(groups) else np.asarray(groups)
    if members.shape != (n_rows,):
        raise LabelError(f"groups has shape {members.shape}; one group per row is needed, shape ({n_rows},).")
    return np.asarray(np.unique(members, return_inverse=True)[1], dtype=np.int64)


def read_labels(y: object, n_rows: int, *, classes_only: bool = False) -> Labels:
    """Return checked labels: two distinct values are classes, the higher one positive; more are scores.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Numbers, booleans, or two different strings.
    n_rows : int
        Rows of the vectors they belong to.
    classes_only : bool, default=False
        Refuse more than two distinct values.
    """
    labels = read_block_labels(y, n_rows)
    xp = namespace(labels)
    text = xp is np and labels.dtype.kind not in "fc"
    distinct = distinct_labels(labels)
    if classes_only and len(distinct) > 2:  # all of them, for the message
        distinct = np.sort(to_host(xp.unique_values(labels)))
    check_distinct(distinct, classes_only=classes_only or text)
    if len(distinct) == 2:
        return Labels(2.0 * xp.astype(labels == distinct.tolist()[1], xp.float64) - 1.0, distinct)
    return Labels(labels, None)


def read_block_labels(y: object, n_rows: int) -> Array:
    """Return labels as they are, checked, float64 unless they are text; one block may hold a single label."""
    if y is None:
        raise LabelError(
            "this estimator requires y to be passed, but the target y is None. Pass one label or score per row."
        )
    if is_foreign(y):
        return _read_foreign(y, n_rows)
    try:
        labels = column_or_1d(np.asarray(y), warn=True)
    except ValueError as error:
        raise LabelError(f"{error} Pass one label or score per row.") from error
    _check_length(labels.shape[0], n_rows)
    if labels.dtype.kind == "c":
        raise LabelError("y holds complex numbers. Use one real label or score per row.")
    numbers = _as_numbers(labels)
    if numbers is not None and numbers.size and not np.abs(numbers).max() < LARGEST_LABEL:
        raise LabelError(
            f"y holds a label of {np.abs(numbers).max():.1e}; numbers below {LARGEST_LABEL:.0e} are needed, which can "
            "be squared. Scale the scores."
        )
    return labels if numbers is None else numbers


def read_signals(y: object, n_rows: int) -> list[tuple[NDArray[np.intp], Labels]]:
    """Return, for each column of a 2-D `y`, the rows that carry a label (NaN means none) and their labels."""
    try:
        table = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise LabelError("several signals must be numbers, NaN where a word has no label.") from None
    table = table.reshape(len(table), -1)
    _check_length(table.shape[0], n_rows)
    signals = []
    for column in range(table.shape[1]):
        rows = np.flatnonzero(~np.isnan(table[:, column]))
        try:
            labels = read_labels(table[rows, column], rows.size)
        except LabelError as error:
            raise LabelError(f"signal {column} of y: {error}") from error
        signals.append((rows, labels))
    return signals


def _read_foreign(y: Array, n_rows: int) -> Array:
    xp = namespace(y)
    if y.ndim != 1:
        raise LabelError(f"y has shape {tuple(y.shape)}; one label per row is needed: flatten it.")
    _check_length(y.shape[0], n_rows)
    numbers = xp.astype(y, xp.float64, copy=False)
    if not bool(xp.all(xp.isfinite(numbers))):
        raise LabelError("y contains NaN or infinity; every row needs a finite label. Drop the unlabelled rows.")
    return numbers


def _as_numbers(labels: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return labels as float64, or None where they are text."""
    try:
        numbers = labels.astype(np.float64)
    except (TypeError, ValueError):
        if labels.dtype.kind == "O" and any(not isinstance(label, str) for label in labels):
            raise LabelError(
                "y mixes text with other objects. Use one label per row: numbers, or two different strings."
            ) from None
        return None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise LabelError(
            f"Input y contains NaN or infinity in {bad.size} of {labels.size} rows (first: row {bad[0]}); "
            "every row needs a finite label. Drop the unlabelled rows."
        )
    return numbers


def _check_length(given: int, needed: int) -> None:
    if given != needed:
        raise LabelError(
            f"Found input variables with inconsistent numbers of samples: {needed} rows of vectors, {given} labels. "
            "Pass one label per row."
        )


def check_distinct(distinct: NDArray[Any], *, classes_only: bool) -> None:
    """Raise unless the distinct labels make two classes, or scores."""
    if len(distinct) == 0:
        raise LabelError("y holds no label at all; at least two different ones are needed. Label some rows.")
    if len(distinct) < 2:
        raise LabelError(
            f"y holds one label only, {name_some(distinct.tolist())}: one class, or constant scores, has no axis. "
            "Add rows of another label."
        )
    if classes_only and len(distinct) > 2:
        raise LabelError(
            f"y holds {len(distinct)} different labels ({name_some(distinct.tolist(), most=3)}); this method needs "
            "exactly two classes. Split scores at their median, or use a method for scores such as 'ridge'."
        )


def median_split(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return +1 above the median, -1 at or below it: how the paper makes classes of scores.

    >>> median_split(np.array([1.0, 2.0, 3.0, 4.0]))
    array([-1., -1.,  1.,  1.])
    """
    return np.where(scores > np.median(scores), 1.0, -1.0)
