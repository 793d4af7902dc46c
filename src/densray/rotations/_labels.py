"""Check labels for `fit`: two classes as ±1, or scores; and the groups of rows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from densray._arrays import (
    Array,
    check_unmasked,
    distinct_labels,
    float64_like,
    is_foreign,
    is_missing,
    label_array,
    namespace,
    to_host,
)
from densray.errors import LabelError, name_some, shorten

#: Labels beyond this overflow when squared and summed.
LARGEST_LABEL = 1e100


@dataclass(frozen=True)
class Labels:
    """One number per row: ±1 for two classes, otherwise the score."""

    values: Array  # (n,), float64
    classes: NDArray[Any] | None  # the two labels, lower first; None for scores
    groups: NDArray[np.int64] | None = None  # the group number of each row; None if every row is its own group

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes."""
        return self.classes is not None

    def on_device_of(self, rows: Array) -> Labels:
        """Return the labels in the array library and on the device of the rows."""
        return Labels(float64_like(self.values, rows), self.classes, self.groups)

    @cached_property
    def class_rows(self) -> list[Array]:
        """The row numbers of the lower class and those of the higher class."""
        xp = namespace(self.values)
        return [xp.nonzero(self.values == sign)[0] for sign in (-1.0, 1.0)]


def read_groups(groups: object, n_rows: int) -> NDArray[np.int64] | None:
    """Return the group number of each row, counted from 0; None if no groups are given."""
    if groups is None:
        return None
    check_unmasked(groups, "groups", LabelError)
    try:
        members = to_host(groups) if is_foreign(groups) else np.asarray(groups)
    except ValueError as error:
        raise LabelError(f"groups is not a list of one group per row ({shorten(error)}).") from error
    if members.shape != (n_rows,):
        raise LabelError(f"groups has shape {members.shape}; one group per row is needed, shape ({n_rows},).")
    if isinstance(groups, (list, tuple)) and members.dtype.kind in "US":
        other = next((group for group in groups if not isinstance(group, (str, bytes))), None)
        if other is not None:
            raise LabelError(
                f"groups holds text and {shorten(other)}, of another type. Use numbers or text, of one kind."
            )
    n_missing = sum(map(is_missing, members)) if members.dtype.kind in "fOmM" else 0
    if n_missing:
        raise LabelError(
            f"groups holds no value in {n_missing} of {n_rows} rows (None or NaN); every row needs a group. Give a row "
            "that belongs to no group its own value, or leave groups out."
        )
    try:
        numbers = np.unique(members, return_inverse=True)[1]
    except TypeError as error:
        raise LabelError(
            f"groups cannot be compared with each other ({shorten(error)}). Use numbers or text, of one kind."
        ) from error
    return np.asarray(numbers, dtype=np.int64)


def read_labels(y: object, n_rows: int, *, classes_only: bool = False) -> Labels:
    """Return checked labels: two distinct values are classes, the higher one positive; more than two are scores.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Numbers, booleans, or two different strings.
    n_rows : int
        Number of rows of the vectors.
    classes_only : bool, default=False
        Refuse more than two distinct values.
    """
    labels = read_block_labels(y, n_rows)
    xp = namespace(labels)
    text = xp is np and labels.dtype.kind not in "fc"
    distinct = distinct_labels(labels)
    if classes_only and len(distinct) > 2:  # all of them, for the message
        distinct = np.sort(to_host(xp.unique_values(labels)))
    if text and len(distinct) > 2:
        raise LabelError(
            f"y has {len(distinct)} classes ({name_some(distinct.tolist(), most=3)}); two are needed. Compare one "
            f"class with all others: y == {distinct.tolist()[0]!r}."
        )
    check_distinct(distinct, classes_only=classes_only)
    if len(distinct) == 2:
        return Labels(2.0 * xp.astype(labels == distinct.tolist()[1], xp.float64) - 1.0, distinct)
    return Labels(labels, None)


def _check_category_order(y: object, labels: NDArray[Any]) -> None:
    """Raise for ordered categories of text in another order than the alphabet, which decides the higher class."""
    dtype = getattr(y, "dtype", None)
    if not getattr(dtype, "ordered", type(dtype).__name__ == "Enum"):
        return
    present = set(labels.tolist())
    levels = [level for level in getattr(dtype, "categories", ()) if level in present]
    if all(isinstance(level, str) for level in levels) and levels != sorted(levels):
        raise LabelError(
            f"y holds ordered categories ({' < '.join(levels)}), but text labels are sorted by the alphabet: "
            f"'{max(levels)}' would be the higher class. Pass their codes (y.cat.codes in pandas, y.to_physical() in "
            "polars), or make Rows, which keep the order of categories."
        )


def read_block_labels(y: object, n_rows: int) -> Array:
    """Return checked labels, as float64 unless they are text; one block may contain a single label."""
    if y is None:
        raise LabelError("this estimator requires y to be passed, but the target y is None. Pass one label per row.")
    if is_foreign(y):
        return _read_foreign(y, n_rows)
    labels = label_array(y)
    _check_category_order(y, labels)
    if labels.dtype.kind == "c":
        raise LabelError("y holds complex numbers. Use one real label per row.")
    try:
        labels = column_or_1d(labels, warn=True)
    except ValueError as error:
        raise LabelError(f"{error} Pass one label per row.") from error
    _check_length(labels.shape[0], n_rows)
    numbers = _as_numbers(labels)
    if is_text(labels):
        _check_text(labels, numbers)
    if numbers is not None and numbers.size and not np.abs(numbers).max() < LARGEST_LABEL:
        raise LabelError(
            f"y holds a label of {np.abs(numbers).max():.1e}; numbers below {LARGEST_LABEL:.0e} are needed, which can "
            "be squared. Scale the labels."
        )
    return labels if numbers is None else numbers


def is_text(labels: Array) -> bool:
    """Return whether labels are text, also if it looks like numbers."""
    kind = getattr(getattr(labels, "dtype", None), "kind", "")
    return kind in ("U", "S") or (kind == "O" and any(isinstance(label, str) for label in labels.flat))


def _check_text(labels: NDArray[Any], numbers: NDArray[np.float64] | None) -> None:
    """Raise for empty text, and for several classes whose names look like numbers: they are no scores."""
    empty = np.flatnonzero([not label for label in labels.tolist()])
    if empty.size:
        raise LabelError(f"row {empty[0]} of y has no label. Leave it out.")
    if numbers is not None and len(np.unique(numbers)) > 2:
        raise LabelError(
            f"y has {len(np.unique(labels))} classes that are text ({name_some(np.unique(labels).tolist(), most=3)}); "
            "two are needed. If they are numeric labels, pass numbers: y.astype(float)."
        )


def check_known_classes(labels: NDArray[Any], fitted: NDArray[Any] | None) -> None:
    """Raise if text labels to score have names that `fit` has not seen: their order, and so the sign, is unknown.

    Parameters
    ----------
    labels : array
        The labels, or the classes among them.
    fitted : array of two classes, or None
        The classes of the fit; None for scores.
    """
    if not is_text(labels):
        return
    known = [] if fitted is None or not is_text(fitted) else _texts(fitted)
    unknown = [name for name in dict.fromkeys(_texts(labels)) if name not in known]
    if unknown:
        fit_on = f"the labels {name_some(known)}" if known else "numbers"
        raise LabelError(
            f"y has the label{'s' * (len(unknown) > 1)} {name_some(unknown)}, and the axis was fitted to {fit_on}, so "
            "it is not known which end is high. Pass the labels of the fit, or numbers."
        )


def _texts(labels: NDArray[Any]) -> list[str]:
    """Return text labels as str, also if they are bytes."""
    return [each.decode("utf-8", "backslashreplace") if isinstance(each, bytes) else str(each) for each in labels]


def read_signals(y: object, n_rows: int) -> list[tuple[NDArray[np.intp], Labels]]:
    """Return, for each column of a 2-D `y`, the rows with a label (not NaN or None) and their labels."""
    table = to_host(label_array(y))
    if not is_text(table):
        with suppress(TypeError, ValueError):
            table = table.astype(np.float64)
    table = table.reshape(len(table), -1)
    _check_length(table.shape[0], n_rows)
    signals = []
    for number, column in enumerate(table.T):
        missing = np.isnan(column) if column.dtype.kind == "f" else np.array([is_missing(label) for label in column])
        rows = np.flatnonzero(~missing)
        try:
            labels = read_labels(column[rows], rows.size)
        except LabelError as error:
            whose = f"signal {number} of y: " if table.shape[1] > 1 else ""
            raise LabelError(whose, *error.args) from error
        signals.append((rows, labels))
    return signals


def _read_foreign(y: Array, n_rows: int) -> Array:
    xp = namespace(y)
    if y.ndim != 1:
        raise LabelError(f"y has shape {tuple(y.shape)}; one label per row is needed: flatten it.")
    _check_length(y.shape[0], n_rows)
    if xp.isdtype(y.dtype, "complex floating"):
        raise LabelError("y holds complex numbers. Use one real label per row.")
    numbers = xp.astype(y, xp.float64, copy=False)
    if not bool(xp.all(xp.isfinite(numbers))):
        raise LabelError("y contains NaN or infinity; every row needs a finite label. Drop the unlabelled rows.")
    return numbers


def _as_numbers(labels: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return labels as float64, or None if they are text."""
    if labels.dtype.kind == "O" and len({isinstance(label, str) for label in labels}) > 1:
        raise LabelError("y mixes text with other objects. Use one label per row: numbers, or two different strings.")
    try:
        numbers = labels.astype(np.float64)
    except OverflowError:
        raise LabelError(f"y holds a number that float64 cannot hold; below {LARGEST_LABEL:.0e} is needed.") from None
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


def _check_length(n_labels: int, n_rows: int) -> None:
    if n_labels != n_rows:
        raise LabelError(
            f"Found input variables with inconsistent numbers of samples: {n_rows} rows of vectors, {n_labels} labels. "
            "Pass one label per row."
        )


def check_distinct(distinct: NDArray[Any], *, classes_only: bool) -> None:
    """Raise unless the distinct labels are two classes, or scores."""
    if len(distinct) == 0:
        raise LabelError("y has no labels; an axis needs at least two different labels. Label some rows.")
    if len(distinct) < 2:
        raise LabelError(
            f"all labels in y are {name_some(distinct.tolist())}; an axis needs at least two different labels. Add "
            "rows with another label."
        )
    if classes_only and len(distinct) > 2:
        raise LabelError(
            f"y has {len(distinct)} different labels ({name_some(distinct.tolist(), most=3)}); this method needs "
            "exactly two classes. Split numeric labels at their median, or use a method for them such as 'ridge'."
        )
