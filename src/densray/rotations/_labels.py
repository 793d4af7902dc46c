"""Labels as the methods see them: two classes, or real scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from densray.arrays import Array, beside, is_foreign, namespace, to_host
from densray.errors import LabelError, name_some

__all__ = [
    "Labels",
    "check_distinct",
    "distinct_labels",
    "median_split",
    "read_block_labels",
    "read_labels",
    "read_signals",
]

#: Scores beyond this overflow when squared and summed.
LARGEST = 1e100


@dataclass(frozen=True)
class Labels:
    """One number a row: ±1 where there are two classes, else the score itself."""

    values: Array  # (n,), float64
    classes: NDArray[Any] | None  # the two labels, lower first; None for scores

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return self.classes is not None

    def beside(self, rows: Array) -> Labels:
        """Return the labels as an array of the same kind, on the same device, as the rows."""
        return Labels(beside(self.values, rows), self.classes)

    def class_rows(self) -> list[Array]:
        """Return the rows of the lower and of the higher class."""
        xp = namespace(self.values)
        return [xp.nonzero(self.values == sign)[0] for sign in (-1.0, 1.0)]


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
        high = labels == distinct.tolist()[1]
        one = xp.ones(labels.shape, dtype=xp.float64, device=labels.device)
        return Labels(xp.where(high, one, -one), distinct)
    return Labels(labels, None)


def distinct_labels(labels: Array) -> NDArray[Any]:
    """Return the distinct labels in order; of more than two on a device, three: the others stay there."""
    if not is_foreign(labels):
        return np.unique(labels)
    if labels.shape[0] == 0:
        return np.array([])
    xp = namespace(labels)
    low, high = xp.min(labels), xp.max(labels)
    between = xp.astype((labels != low) & (labels != high), xp.int8)
    place = int(xp.argmax(between))
    found = [float(low), float(high)]
    return np.unique([*found, float(labels[place])] if bool(between[place] > 0) else found)


def read_block_labels(y: object, n_rows: int) -> Array:
    """Return labels as they are, checked, float64 unless they are text; one block may hold a single label."""
    if y is None:
        raise LabelError(
            "this estimator requires y to be passed, but the target y is None. Pass one label or score a row."
        )
    if is_foreign(y):
        return _read_foreign(y, n_rows)
    try:
        labels = column_or_1d(np.asarray(y), warn=True)
    except ValueError as error:
        raise LabelError(f"{error} Pass one label or score a row.") from error
    _check_length(labels.shape[0], n_rows)
    if labels.dtype.kind == "c":
        raise LabelError("y holds complex numbers. Use one real label or score a row.")
    numbers = _as_numbers(labels)
    if numbers is not None and numbers.size and not np.abs(numbers).max() < LARGEST:
        raise LabelError(
            f"y holds a label of {np.abs(numbers).max():.1e}; numbers below {LARGEST:.0e} are needed, which can be "
            "squared. Scale the scores."
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
        raise LabelError(f"y has shape {tuple(y.shape)}; one label a row is needed: flatten it.")
    _check_length(y.shape[0], n_rows)
    numbers = xp.astype(y, xp.float64)
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
                "y mixes text with other objects. Use one label a row: numbers, or two different strings."
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
            "Pass one label a row."
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
