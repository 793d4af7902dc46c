"""Labelled rows of a table that need not fit into memory: read block by block, summed up, or sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray._arrays import category
from densray._vocabulary import unit_rows
from densray.errors import LabelError, RowError
from densray.moments import Moments
from densray.rows import (
    Rows,
    number_labels,
    rows_of,
    sort_classes,
    warn_of_missing_codes,
    warn_of_text_labels,
)
from densray.tables._arrow import arrow
from densray.tables._table import BACKGROUND_ROWS, SpreadSample, VectorTable, check_not_scores, signs_of_no_label
from densray.tables._vectors import check_columns, is_number, leave_out_advice, named_classes, ordered_values

if TYPE_CHECKING:
    from densray.progress import Progress

#: Up to this many bytes, labelled vectors are read into memory: a fit needs a few copies of them.
LARGEST_IN_MEMORY = 1 << 28
#: Number of rows sampled from a larger table for held-out results.
SAMPLED_ROWS = 10_000

Factors = Callable[[NDArray[np.intp]], NDArray[np.float64]]
"""Function from row numbers of the table to one row of factors per label: (factors, rows)."""


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """A table and the labels of one column. The labels are in memory, the vectors are not.

    Attributes
    ----------
    table : VectorTable
    y : array of shape (n,), float64
        The label of each row, as in :class:`densray.Rows`; NaN if there is none.
    class_names : tuple of str
    concept : str
        Name of the column.
    unusable : array of int
        Labelled rows that were left out because they have no usable vector.
    """

    table: VectorTable
    y: NDArray[np.float64]
    class_names: tuple[str, ...]
    concept: str
    unusable: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @classmethod
    def of(cls, table: VectorTable, labels: str, *, classes: bool = False) -> LabelledTable:
        """Return a table with the labels of a column; see :meth:`VectorTable.rows` for which labels are classes."""
        check_columns(table.schema, [labels], table.name)
        numbers, names = _read_labels(table, labels, classes=classes)
        labelled: LabelledTable = sort_classes(cls(table, numbers, names, labels), _order_of(table, labels))
        distinct = np.unique(numbers[np.isfinite(numbers)])
        if not distinct.size:
            raise LabelError(f"{table.name}: no row has a label in '{labels}'.")
        if distinct.size == 1:
            only = names[0] if names else f"{distinct[0]:g}"
            raise LabelError(
                f"{table.name}: all {labelled.n_labelled:,} labelled rows have {labels} = {only}. "
                "Another label is needed."
            )
        if names and distinct.size == labelled.n_labelled:
            raise LabelError(
                f"{table.name}: the column '{labels}' has a different value in each of {labelled.n_labelled:,} rows. "
                "Every label must occur in several rows. Is this a column of names?"
            )
        return labelled

    @property
    def n_labelled(self) -> int:
        """Number of rows with a label."""
        return int(np.isfinite(self.y).sum())

    @property
    def is_multiclass(self) -> bool:
        """Whether there are more than two classes."""
        return len(self.class_names) > 2

    def columns(self, places: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the labels of some rows as columns: one per class if there are more than two, else one."""
        y = self.y[places]
        return (y[:, None] == np.arange(len(self.class_names))).astype(np.float64) if self.is_multiclass else y[:, None]

    def blocks(
        self, *, unit: bool, progress: Progress | None = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[Any]]]:
        """Yield the numbers and the vectors of labelled rows, block by block, scaled to unit length on request."""
        start = 0
        for _, X, usable in self.table.batches([]):
            stop = start + len(X)
            places = np.flatnonzero(usable & np.isfinite(self.y[start:stop]))
            if places.size:
                rows = X[places]
                zero = np.flatnonzero(~rows.any(axis=1))
                if zero.size:
                    raise RowError(
                        f"{self.table.name}, row {start + places[zero[0]] + 1:,}: the vector is zero and has no "
                        "direction.",
                        leave_out_advice(),
                    )
                yield start + places, unit_rows(rows) if unit else rows
            start = stop
            if progress is not None:
                progress(start, len(self.table))

    def sums(
        self, factors: Factors, *, unit: bool, dtype: Any = None, progress: Progress | None = None
    ) -> tuple[Moments, NDArray[np.float64]]:
        """Return the moments of the labelled rows, and the sums of factors times rows, in one pass over the table."""
        total: Moments | None = None
        cross: Any = 0.0
        for places, X in self.blocks(unit=unit, progress=progress):
            rows = X if dtype is None else X.astype(dtype)
            moments, sums = Moments.with_sums(rows, None, np.ascontiguousarray(factors(places), dtype=rows.dtype))
            total, cross = (moments if total is None else total.merge(moments)), cross + sums
        if total is None:
            raise LabelError(f"{self.table.name}: no row has both a label in '{self.concept}' and a vector.")
        return total, np.asarray(cross)

    def usable(self) -> LabelledTable:
        """Return the table without the labels of rows that have no usable vector."""
        if self.table.bad_rows == "error":
            return self
        bad = np.concatenate([~usable for _, _, usable in self.table.batches([])]) & np.isfinite(self.y)
        return replace(self, y=np.where(bad, np.nan, self.y), unusable=np.flatnonzero(bad))

    def sample(
        self,
        n: int,
        *,
        groups: str | None = None,
        names: str | None = None,
        random_state: int | None = 0,
    ) -> Rows:
        """Return a random sample of at most `n` labelled rows, of whole groups if there are groups.

        Parameters
        ----------
        n : int
        groups : str, optional
            Column of the groups to hold out together, or "proposed".
        names : str, optional
            Column of the names of the rows (default: see :meth:`VectorTable.row_names`).
        random_state : int or None, default=0
        """
        return sample_sets([self], n, groups=groups, names=names, random_state=random_state)[0]

    def take(
        self,
        places: NDArray[np.intp],
        X: NDArray[Any],
        names: Sequence[str],
        *,
        groups: Sequence[int | None] | str | None,
        background: NDArray[Any],
    ) -> Rows:
        """Return some rows, with their vectors `X`, which nobody else may change."""
        X.flags.writeable = False
        y = self.y[places].astype(np.float64)
        selection = rows_of(X, y, (), names=names, groups=groups, concept=self.concept, background=background)
        unlabelled = np.setdiff1d(np.flatnonzero(~np.isfinite(self.y)), self.unusable)
        left_out = {"no label": unlabelled, "no usable vector": self.unusable}
        left_out = {reason: rows for reason, rows in left_out.items() if rows.size}
        row_names = self.table.row_names() if left_out else []  # reads a column of the whole table
        dropped = {reason: tuple(row_names[row] for row in rows.tolist()) for reason, rows in left_out.items()}
        return replace(
            selection,
            class_names=self.class_names,
            dropped=dropped,
            encoder=self.table.encoder,
            table=self.table.name,
            n_in_table=len(self.table),
        )


def sample_sets(
    sets: Sequence[LabelledTable],
    n: int,
    *,
    groups: str | None = None,
    names: str | None = None,
    random_state: int | None = 0,
) -> tuple[Rows, ...]:
    """Return one random sample of the rows that have all labels, once per set of labels.

    Parameters are those of :meth:`LabelledTable.sample`.
    """
    table, random = sets[0].table, np.random.default_rng(random_state)
    labelled = np.flatnonzero(np.logical_and.reduce([np.isfinite(each.y) for each in sets]))
    codes = None if groups is None or groups not in table.columns else _codes(table, groups)[0]
    if len(labelled) <= n:
        places = labelled
    elif codes is None:
        places = np.sort(random.choice(labelled, n, replace=False))
    else:
        own = np.where(codes[labelled] < 0, codes.max() + 1 + labelled, codes[labelled])  # rows without a group
        _, members, sizes = np.unique(own, return_inverse=True, return_counts=True)
        order = random.permutation(len(sizes))
        groups_drawn = order[: max(int(np.searchsorted(np.cumsum(sizes[order]), n, side="right")), 1)]
        places = labelled[np.isin(members, groups_drawn)]
    X = np.empty((len(places), table.width), dtype=table.vector_columns.matrix_type)
    start, background = 0, SpreadSample(len(table), BACKGROUND_ROWS)
    for _, block, usable in table.batches([]):
        low, high = np.searchsorted(places, [start, start + len(block)])
        X[low:high] = block[places[low:high] - start]
        background.add(start, block, usable)
        start += len(block)
    good = np.isfinite(X[:, 0])
    places, X = places[good], X[good]
    if names is None:
        row_names = table.row_names()
        texts = [row_names[row] for row in places.tolist()]
    else:
        texts = _cells(table, names, places)
    together: Any = "proposed" if groups == "proposed" and codes is None else None
    if codes is not None:
        together = [None if code < 0 else int(code) for code in codes[places].tolist()]
    samples: list[Rows] = []
    for each in sets:
        rows = each.take(places, X, texts, groups=together, background=background.vectors())
        samples.append(rows if not samples else replace(rows, X=samples[0].X))
    return tuple(samples)


def is_large(table: VectorTable) -> bool:
    """Return whether a table is so large that its vectors should be read block by block."""
    return len(table) * table.width * table.vector_columns.matrix_type.itemsize > LARGEST_IN_MEMORY


def _read_labels(table: VectorTable, name: str, *, classes: bool) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the labels of a column as numbers, NaN for missing ones, and the class names."""
    pa = arrow()
    dtype = named_classes(table.schema, name, pa.nulls(0, table.schema.field(name).type)).type
    dtype = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    if is_number(dtype) or pa.types.is_decimal(dtype):
        parts = [
            pa.compute.fill_null(batch.column(0).cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False)
            for batch in table.source.batches([name])
        ]
        numbers = np.concatenate(parts).astype(np.float64)
        numbers[~np.isfinite(numbers)] = np.nan
        warn_of_missing_codes(numbers, f"{table.name}, column '{name}'")
        if not classes:
            return numbers, ()
        values = np.unique(numbers[np.isfinite(numbers)])
        codes = np.where(np.isfinite(numbers), np.searchsorted(values, numbers), -1)
        return _by_class(codes, values.tolist())
    codes, texts = _codes(table, name)
    counts = dict(zip(texts, np.bincount(codes[codes >= 0], minlength=len(texts)).tolist(), strict=True))
    if not classes:
        unknown = signs_of_no_label(texts)
        known = np.array([text not in unknown for text in texts] + [False], dtype=bool)
        codes = np.where(known, np.cumsum(known) - 1, -1)[codes]
        texts = [text for text in texts if text not in unknown]
        counts = {text: counts[text] for text in texts}
        check_not_scores(table.name, name, counts)
    warn_of_text_labels(counts, f"{table.name}, column '{name}'")
    return _by_class(codes, texts)


def _order_of(table: VectorTable, name: str) -> list[str]:
    """Return the values of an ordered categorical column in their order; none for other columns."""
    first = next(iter(table.source.batches([name])), None)
    return [] if first is None else ordered_values(table.schema, name, first.column(0))


def _by_class(codes: NDArray[np.int64], values: Sequence[Any]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the class numbers and names, given the index of the value of each row (-1: none)."""
    if not len(values):
        return np.full(len(codes), np.nan), ()
    numbers, names = number_labels(np.array(values), classes=True)
    return np.where(codes >= 0, numbers[codes], np.nan), names


def _codes(table: VectorTable, name: str) -> tuple[NDArray[np.int64], list[str]]:
    """Return the index of the text of each row in a list of distinct texts, -1 if there is none, and the list."""
    pa = arrow()
    check_columns(table.schema, [name], table.name)
    places: dict[str, int] = {}
    parts = []
    for batch in table.source.batches([name]):
        try:
            column = named_classes(table.schema, name, batch.column(0))
            views = pa.types.is_string_view(column.type)  # pyarrow 17 cannot cast them
            column = pa.array(column.to_pylist(), pa.string()) if views else column.cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, NotImplementedError):
            kind = batch.column(0).type
            raise LabelError(
                f"{table.name}: the column '{name}' holds {kind}; labels are texts or numbers. Make a column such as "
                "the year."
            ) from None
        if pa.types.is_boolean(batch.column(0).type):
            column = pa.compute.utf8_capitalize(column)  # True and False, as in Python
        encoded = column.dictionary_encode()
        texts = map(category, encoded.dictionary.to_pylist())
        own = [-1 if text is None else places.setdefault(text, len(places)) for text in texts]
        indices = pa.compute.fill_null(encoded.indices, len(own)).to_numpy(zero_copy_only=False)
        parts.append(np.array([*own, -1], dtype=np.int64)[indices])
    return np.concatenate(parts), list(places)


def _cells(table: VectorTable, name: str, places: NDArray[np.intp]) -> list[str]:
    """Return the cells of a column at some rows as texts."""
    check_columns(table.schema, [name], table.name)
    cells: list[str] = []
    start = 0
    for batch in table.source.batches([name]):
        low, high = np.searchsorted(places, [start, start + batch.num_rows])
        values = batch.column(0).take(arrow().array(places[low:high] - start))
        cells += ["" if value is None else str(value) for value in values.to_pylist()]
        start += batch.num_rows
    return cells
