"""VectorTable: rows with columns, one of them vectors, read block by block."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray._arrays import MISSING_SIGNS, category
from densray._notation import explain_number, has_clear_comma
from densray._vocabulary import spread_rows
from densray.errors import Argument, LabelError, TableError, VectorError, name_some
from densray.rows import (
    LABEL_DIGEST,
    Rows,
    number_labels,
    rows_of,
    sort_classes,
    warn_of_missing_codes,
    warn_of_text_labels,
)
from densray.tables._arrow import arrow
from densray.tables._encoder import EncoderRecord, encoder_of
from densray.tables._sources import Memory, Source, open_source
from densray.tables._vectors import (
    BadRows,
    VectorColumns,
    bad_row_error,
    check_columns,
    find_vectors,
    is_number,
    named_classes,
    ordered_values,
    whole_column,
)

if TYPE_CHECKING:
    import pyarrow as pa

#: Number of rows of a table with which the labelled rows are compared.
BACKGROUND_ROWS = 16_384
#: A text column with this many different numbers, and at most this share of other labels, contains scores.
_SCORES, _FEW = 5, 0.1
_NUMBER = re.compile(r"[-+]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][-+]?[0-9]+)?")
_THOUSANDS = re.compile(r"[-+]?[0-9]{1,3}([.,'][0-9]{3})+([.,][0-9]+)?")
_WITH_UNIT = re.compile(r"[-+−<>≤≥]?\s*[0-9][0-9.,]*\s*[%‰°€$£]|[€$£]\s*[-+−]?[0-9][0-9.,]*")
_DATE = re.compile(r"[0-9]{1,4}([-./])[0-9]{1,2}\1[0-9]{1,4}([T ][0-9:.]+Z?)?")


class VectorTable:
    """Rows with columns, one of them vectors.

    Make one with :func:`open_table`. A table in files is read again on each pass, block by block.

    Attributes
    ----------
    name : str
    schema : pyarrow.Schema
        Columns and their types.
    bad_rows : {"error", "skip"}
        What to do with a missing, non-finite or wrongly sized vector. "error": raise an error. "skip": treat the row as
        having no vector, also if its vector is all zeros.

    Examples
    --------
    >>> import polars
    >>> frame = polars.DataFrame({"text": ["a", "b"], "party": ["x", "y"], "vector": [[1.0, 0.0], [0.0, 1.0]]})
    >>> table = open_table(frame)
    >>> len(table), table.width, table.columns
    (2, 2, ('text', 'party', 'vector'))
    >>> table.vectors()
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(
        self, source: Source, columns: VectorColumns, bad_rows: BadRows, *, needs_directions: bool = False
    ) -> None:
        self.source, self.vector_columns, self.bad_rows = source, columns, bad_rows
        self.needs_directions = needs_directions or bad_rows == "skip"

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def schema(self) -> pa.Schema:
        return self.source.schema

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.schema.names)

    def __len__(self) -> int:
        return len(self.source)

    def __repr__(self) -> str:
        vectors = self.vector_columns.names
        return f"VectorTable({self.name}: {len(self):,} rows, vectors {name_some(vectors, most=1)} × {self.width})"

    @cached_property
    def width(self) -> int:
        """Length of the vectors; the length of the first one if the column type does not define it."""
        declared = self.vector_columns.declared_width
        if declared is not None:
            return declared
        for batch in self.source.batches(self.vector_columns.names):
            width = self.vector_columns.find_width(batch)
            if width:
                return width
        raise VectorError(f"{self.name}: the column '{self.vector_columns.names[0]}' has no vector in any row.")

    @cached_property
    def encoder(self) -> EncoderRecord | None:
        """The encoder of the vectors, if the table records it, as :func:`densray.embed_table` does."""
        return encoder_of(self.schema, self.vector_columns.names[0])

    def column(self, name: str) -> pa.ChunkedArray:
        """Return one whole column."""
        check_columns(self.schema, [name], self.name)
        return whole_column(self.source, name)

    def batches(
        self, columns: Sequence[str] | None = None, *, batches: Iterator[pa.RecordBatch] | None = None, start: int = 0
    ) -> Iterator[tuple[pa.RecordBatch, NDArray[Any], NDArray[np.bool_]]]:
        """Yield batches of rows with some columns, their vectors, and a mask of the usable vectors.

        Parameters
        ----------
        columns : sequence of str, optional
            Columns of the batches, with or without the vectors (default: all).
        batches : iterator, optional
            Batches to use instead of all, such as those of one shard; their first row has the number `start`.
        """
        vectors = self.vector_columns
        names = None if columns is None else list(dict.fromkeys([*columns, *vectors.names]))
        for batch in self.source.batches(names) if batches is None else batches:
            if not batch.num_rows:
                continue
            X, usable = vectors.matrix(batch, self.width)
            if self.needs_directions and (zero := usable & ~X.any(axis=1)).any():
                X, usable = np.where(zero[:, None], X.dtype.type(np.nan), X), usable & ~zero
            if self.bad_rows == "error" and not usable.all():
                row = int(np.flatnonzero(~usable)[0])
                raise bad_row_error(vectors, batch, row, start + row, self.width, self.name)
            yield batch if columns is None else batch.select(list(columns)), X, usable
            start += batch.num_rows

    def with_directions(self) -> VectorTable:
        """Return the same table with vectors of zeros, such as those of blank texts, among its bad rows."""
        return VectorTable(self.source, self.vector_columns, self.bad_rows, needs_directions=True)

    def blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the number of the first row of each block, and its vectors; skipped rows are NaN."""
        start = 0
        for _, X, _ in self.batches([]):
            yield start, X
            start += len(X)

    def vectors(self) -> NDArray[Any]:
        """Return all vectors as one matrix; skipped rows are NaN."""
        X = np.empty((len(self), self.width), dtype=self.vector_columns.matrix_type)
        for start, block in self.blocks():
            X[start : start + len(block)] = block
        return X

    def sample(self, n: int) -> NDArray[Any]:
        """Return at most `n` usable vectors, evenly spread over the table, in one pass over it."""
        sample = SpreadSample(len(self), n)
        for start, X in self.blocks():
            sample.add(start, X, np.isfinite(X[:, 0]))
        return sample.vectors()

    def vectors_as_columns(self, X: NDArray[Any], usable: NDArray[np.bool_]) -> dict[str, Any]:
        """Return changed vectors of some rows as Arrow columns, with the names and types of the table.

        Integers become float32. Rows that are not `usable` get no vector.
        """
        return self.vector_columns.to_columns(X, usable)

    def with_rows(self, rows: pa.Table, *, name: str | None = None) -> VectorTable:
        """Return a table in memory with the same columns and other rows, such as a sample of its rows."""
        source = Memory(rows, rows, name or self.name)
        return VectorTable(source, self.vector_columns, self.bad_rows, needs_directions=self.needs_directions)

    def may_hold_labels(self, name: str) -> bool:
        """Return whether a column can be labels: texts, booleans or numbers that are not part of the vectors."""
        return name not in self.vector_columns.names and _kind_of_labels(self.schema.field(name).type) is not None

    def labels(self, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the labels of a column as numbers or texts, and which rows have one."""
        return read_labels(self, name)

    def rows(
        self,
        labels: str,
        *,
        groups: str | None = None,
        names: str | None = None,
        classes: bool = False,
        concept: str | None = None,
    ) -> Rows:
        """Return the labelled rows.

        Rows without a label are left out and counted in `Rows.dropped`.

        Parameters
        ----------
        labels : str
            Column of the labels. Texts are classes. Numbers with more than two values are scores.
        groups : str, optional
            Column of the groups to hold out together, or "proposed": repeated texts, pairs of texts with different
            labels that differ in one word, and equal vectors (:func:`densray.groups.propose_groups`). By default only
            rows with equal vectors are held out together.
        names : str, optional
            Column of the texts or names of the rows (default: see :meth:`row_names`).
        classes : bool, default=False
            Whether numbers are class names, whatever the number of values.
        concept : str, optional
            Name of the concept (default: the name of the label column).

        Examples
        --------
        >>> import polars
        >>> frame = polars.DataFrame({"party": ["x", "y", None, "x"], "v0": [1.0, 2.0, 3.0, 4.0], "v1": [0.0] * 4})
        >>> rows = open_table(frame).rows("party")
        >>> rows.y.tolist(), rows.dropped
        ([-1.0, 1.0, -1.0], {'no label': ('row 3',)})
        """
        return self.label_sets([labels], groups=groups, names=names, classes=classes, concept=concept)[0]

    def label_sets(
        self,
        labels: Sequence[str],
        *,
        groups: str | None = None,
        names: str | None = None,
        classes: bool = False,
        concept: str | None = None,
    ) -> tuple[Rows, ...]:
        """Return the rows that have a label in every given column, once per column, all with the same vectors.

        Parameters are those of :meth:`rows`.
        """
        columns = [read_labels(self, name, classes=classes) for name in labels]
        labelled = np.logical_and.reduce([has_label for _, has_label in columns])
        X, usable, background = self._labelled_vectors(labelled)
        places = np.flatnonzero(labelled & usable)
        if not places.size:
            raise LabelError(f"{self.name}: no row has both a label in {name_some(labels)} and a vector.")
        texts = self.row_names() if names is None else self._texts(names)
        left_out = {"no label": ~labelled, "no usable vector": labelled & ~usable}
        dropped = {
            reason: tuple(texts[row] for row in np.flatnonzero(out)) for reason, out in left_out.items() if out.any()
        }
        grouping: Any = None
        if groups is not None and (groups in self.columns or groups != "proposed"):
            column = self.column(groups).to_pylist()
            grouping = [column[row] for row in places.tolist()]
        elif groups is not None:
            grouping = groups
        sets = []
        for name, (values, _) in zip(labels, columns, strict=True):
            _check_labels(values[places], name, self.name, classes=classes)
            y, class_names = number_labels(values[places], classes=classes)
            rows = rows_of(
                X,
                y,
                class_names,
                names=[texts[row] for row in places.tolist()],
                groups=grouping,
                concept=concept or name,
                background=background,
            )
            column = self.column(name)
            rows = sort_classes(rows, ordered_values(self.schema, name, column))
            warn_of_codes(values[places], f"{self.name}, column '{name}'")
            rows = replace(
                rows,
                dropped=dropped,
                encoder=self.encoder,
                table=self.name,
                n_in_table=len(self),
                label_digest=digest_of(column),
            )
            sets.append(rows)
        return tuple(sets)

    def row_names(self) -> list[str]:
        """Return a name for every row: the column ``id`` if its values differ, else "row 1", "row 2" and so on."""
        if "id" in self.columns and "id" not in self.vector_columns.names:
            identifiers = [None if value is None else str(value) for value in self.column("id").to_pylist()]
            if len({*identifiers} - {None, ""}) == len(self):
                return [str(value) for value in identifiers]
        return [f"row {number:,}" for number in range(1, len(self) + 1)]

    def _labelled_vectors(
        self, labelled: NDArray[np.bool_]
    ) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[Any] | None]:
        """Return the usable vectors of the labelled rows, a mask of usable table rows, and a sample of all rows.

        There is no sample if all usable rows are labelled.
        """
        X = np.empty((int(labelled.sum()), self.width), dtype=self.vector_columns.matrix_type)
        usable = np.ones(len(self), dtype=bool)
        background = SpreadSample(len(self), BACKGROUND_ROWS)
        start = filled = 0
        for _, block, good in self.batches([]):
            stop = start + len(block)
            usable[start:stop] = good
            rows = labelled[start:stop] & good
            count = int(rows.sum())
            X[filled : filled + count] = block[rows]
            background.add(start, block, good)
            start, filled = stop, filled + count
        X = X[:filled]
        X.flags.writeable = False  # nobody else has it, so rows need no copy
        return X, usable, None if filled == usable.sum() else background.vectors()

    def _texts(self, name: str) -> list[str]:
        return ["" if value is None else str(value) for value in self.column(name).to_pylist()]


def open_table(source: Any, *, vectors: str | Sequence[str] | None = None, bad_rows: BadRows = "error") -> VectorTable:
    """Open a table from a file, a folder of part files, or a data frame of another library.

    Parameters
    ----------
    source : str, path or object
        A file: parquet, Arrow (``.arrow``, ``.feather``), CSV or TSV, JSON lines. In text files a vector is a list in a
        cell, or one column per dimension (``v0``, ``v1`` …). A folder or a pattern such as ``"docs/*.parquet"`` gives
        shards, in the order of their names; so does a folder written by ``save_to_disk`` of Hugging Face datasets.
        An object: anything with the Arrow C stream interface (pyarrow, polars, pandas, DuckDB, LanceDB, datasets), a
        polars LazyFrame, or gensim KeyedVectors.
    vectors : str or sequence of str, optional
        The column of vectors, a prefix such as ``"v"`` for the columns ``v0``, ``v1`` …, or a list of columns. By
        default it is detected: the only column of lists of numbers, or the only run of numbered columns in the order of
        their numbers. If there are several candidates, an error is raised.
    bad_rows : {"error", "skip"}, default="error"
        Whether a missing, non-finite or differently sized vector is an error, and where a direction is needed, a vector
        of zeros. Skipped rows stay in the table without a vector: they are not used for fitting, and get no score.

    Returns
    -------
    VectorTable
    """
    if bad_rows not in ("error", "skip"):
        raise TableError(Argument("bad_rows", bad_rows), " is given; 'error' or 'skip' is needed.")
    if isinstance(source, VectorTable):
        if vectors is None and bad_rows in ("error", source.bad_rows):
            return source
        columns = source.vector_columns if vectors is None else find_vectors(source.source, vectors)
        return VectorTable(source.source, columns, bad_rows, needs_directions=source.needs_directions)
    origin = open_source(source)
    if not len(origin):
        raise TableError(f"{origin.name} has no rows.")
    columns = find_vectors(origin, vectors)
    return VectorTable(origin, columns, bad_rows)


class SpreadSample:
    """At most `n` usable vectors of a table with `n_rows` rows, evenly spread over it, collected block by block."""

    def __init__(self, n_rows: int, n: int) -> None:
        self._wanted = spread_rows(n_rows, n)
        self._parts: list[NDArray[Any]] = []

    def add(self, start: int, block: NDArray[Any], usable: NDArray[np.bool_]) -> None:
        """Collect the wanted vectors of a block, whose first row has the number `start`."""
        places = self._wanted[(self._wanted >= start) & (self._wanted < start + len(block))] - start
        self._parts.append(block[places][usable[places]])

    def vectors(self) -> NDArray[Any]:
        """Return the vectors collected so far."""
        return np.concatenate(self._parts)


def read_labels(table: VectorTable, name: str, *, classes: bool = False) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the labels of a column as numbers or texts, and which rows have one.

    With `classes`, signs such as - and ? are classes, also next to two others.
    """
    column = named_classes(table.schema, name, table.column(name))
    kind = _kind_of_labels(column.type)
    if kind == "numbers":
        numbers = np.array([np.nan if value is None else float(value) for value in column.to_pylist()])
        return numbers, np.isfinite(numbers)
    if kind == "texts":
        cells = [category(None if value is None else str(value)) for value in column.to_pylist()]
        unknown = set() if classes else signs_of_no_label(set(cells) - {None})
        has_label = np.array([cell is not None and cell not in unknown for cell in cells], dtype=bool)
        return np.array(["" if cell is None else cell for cell in cells], dtype=object), has_label
    raise LabelError(
        f"{table.name}: the column '{name}' holds {column.type}; labels are texts or numbers. Make a column such as "
        "the year."
    )


def signs_of_no_label(labels: Collection[str]) -> set[str]:
    """Return the labels that mark a missing one, as in columns of numbers: a dash, a dot or a question mark.

    They do so only next to two other labels, and a dash does not next to a plus sign.

    >>> signs_of_no_label({"yes", "no", "-"}), signs_of_no_label({"+", "-"})
    ({'-'}, set())
    """
    signs = {label for label in labels if label in MISSING_SIGNS}
    return signs if len(labels) - len(signs) > 1 and "+" not in labels else set()


def digest_of(column: pa.ChunkedArray) -> str:
    """Return a digest of the values of a column. It does not depend on the format of the file."""
    values = column.to_pylist()
    is_number = [isinstance(value, int | float) and not isinstance(value, bool) for value in values]
    texts = [f"{value:.9g}" if number else str(value) for value, number in zip(values, is_number, strict=True)]
    return blake2b("\0".join(texts).encode(), digest_size=LABEL_DIGEST).hexdigest()


def warn_of_codes(labels: NDArray[Any], source: str) -> None:
    """Warn of labels such as -99, which often mark a missing answer, among other numbers or among texts."""
    if labels.dtype == object:
        warn_of_text_labels(Counter(labels.tolist()), source)
    else:
        warn_of_missing_codes(labels, source)


def _kind_of_labels(dtype: pa.DataType) -> str | None:
    """Return "numbers" or "texts" if a type can hold labels, otherwise None."""
    types = arrow().types
    dtype = dtype.value_type if types.is_dictionary(dtype) else dtype
    if is_number(dtype) or types.is_decimal(dtype):
        return "numbers"
    texts = types.is_string, types.is_large_string, types.is_string_view, types.is_boolean, types.is_null
    return "texts" if any(is_kind(dtype) for is_kind in texts) else None


def _check_labels(labels: NDArray[Any], name: str, where: str, *, classes: bool) -> None:
    distinct, first = len(set(labels.tolist())), labels[0]
    if distinct == 1:
        raise LabelError(f"{where}: all {len(labels):,} labelled rows have {name} = {first}. Another label is needed.")
    are_texts = labels.dtype == object
    if are_texts and not classes:
        check_not_scores(where, name, Counter(labels.tolist()))
    if (are_texts or classes) and distinct == len(labels) > 2:
        raise LabelError(
            f"{where}: the column '{name}' has a different value in each of {len(labels):,} rows. Every label must "
            "occur in several rows. Is this a column of names?"
        )


def check_not_scores(where: str, name: str, counts: Mapping[str, int]) -> None:
    """Raise if nearly all labels of a text column are numbers: a typing error would make a class of every number.

    So would a percent sign or a date. `counts` are the number of rows of each label.
    """
    for pattern, kind, remedy in (
        (_WITH_UNIT, "numbers with a unit", "Write the numbers alone"),
        (_DATE, "dates", "Make a column of numbers, such as the year"),
    ):
        if len(counts) > 2 and all(pattern.fullmatch(text.strip()) for text in counts):
            raise LabelError(
                f"{where}: the labels in the column '{name}' are {kind} ({name_some(counts)}). {remedy}, or pass ",
                Argument("classes", True),
                " to make each of them a class.",
            )
    if counts and all(_NUMBER.fullmatch(text) or _THOUSANDS.fullmatch(text) for text in counts):
        others = []
    else:
        others = [text for text in counts if _NUMBER.fullmatch(text) is None]
    if not others and any(mark in text for text in counts for mark in ".,"):
        clear = next((text for text in counts if has_clear_comma(text)), None)
        if clear is not None and not any("." in text for text in counts):
            raise LabelError(f"{where}, column '{name}': {explain_number(clear)}")
        raise LabelError(
            f"{where}: the labels in the column '{name}' may be decimal numbers or thousands ({name_some(counts)}). "
            "Write them without marks for thousands, and with the decimal mark of the other columns."
        )
    total, n_others = sum(counts.values()), sum(counts[text] for text in others)
    if len(counts) - len(others) >= _SCORES and 0 < n_others <= _FEW * total:
        raise LabelError(
            f"{where}: {total - n_others:,} labels in the column '{name}' are numbers, and {n_others:,} are not "
            f"({name_some(others)}). Correct those, or leave them empty if there is no label."
        )
