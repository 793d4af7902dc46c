"""The vectors of a table: find their column, and convert between Arrow and a matrix."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from densray._arrays import category
from densray._conversions import NUMBERED
from densray._notation import doubtful_number
from densray.errors import Advice, Argument, RowError, TableError, name_some, shorten
from densray.tables._arrow import arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from densray.tables._sources import Source

BadRows = Literal["error", "skip"]
#: A number with a decimal point, and one with a decimal comma.
_NUMBERS = [rf"^\s*[-+]?([0-9]+{point}?[0-9]*|{point}[0-9]+)([eE][-+]?[0-9]+)?\s*$" for point in (r"\.", ",")]

#: Key of the metadata of a field whose column could not be read; its value names the types of the cells.
UNREADABLE = b"densray.unreadable"


def storage_type(dtype: pa.DataType) -> pa.DataType:
    """Return the storage type of an extension type (such as a fixed-shape tensor); any other type unchanged."""
    return getattr(dtype, "storage_type", dtype)


def holds_vectors(dtype: pa.DataType) -> bool:
    """Return whether the cells of a column are lists of numbers."""
    types = arrow().types
    dtype = storage_type(dtype)
    is_list = types.is_list(dtype) or types.is_large_list(dtype) or types.is_fixed_size_list(dtype)
    return is_list and is_number(dtype.value_type)


def is_number(dtype: pa.DataType) -> bool:
    """Return whether a type holds integers or floating-point numbers, not booleans."""
    types = arrow().types
    return bool(types.is_integer(dtype) or types.is_floating(dtype))


def named_classes(schema: pa.Schema, name: str, column: Any) -> Any:
    """Return a column of labels, as texts if its integers stand for classes.

    They do in categorical columns of pandas, and in ``ClassLabel`` columns of Hugging Face, where -1 is no label.
    """
    pa = arrow()
    if pa.types.is_dictionary(column.type) and pa.types.is_integer(column.type.value_type):
        return column.cast(column.type.value_type).cast(pa.string())
    names = _class_names(schema, name)
    if names is None or not pa.types.is_integer(column.type):
        return column
    codes = pa.compute.if_else(pa.compute.less(column, 0), pa.scalar(None, column.type), column)
    return pa.compute.take(pa.array(names, pa.string()), codes)


def ordered_values(schema: pa.Schema, name: str, column: Any) -> list[str]:
    """Return the values of an ordered categorical column in their order; none for other columns."""
    if not arrow().types.is_dictionary(column.type):
        return []
    # older polars marks the order of an Enum only here
    enum = any(key.startswith(b"_PL_ENUM_VALUES") for key in schema.field(name).metadata or {})
    if not column.type.ordered and not enum:
        return []
    chunks = getattr(column, "chunks", [column])
    return [str(category(str(value))) for value in chunks[0].dictionary.to_pylist()] if chunks else []


def _class_names(schema: pa.Schema, name: str) -> list[str] | None:
    """Return the names of the classes of a column of Hugging Face; None if it has none."""
    try:
        feature = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"][name]
        return [str(each) for each in feature["names"]] if feature["_type"] == "ClassLabel" else None
    except (KeyError, TypeError, ValueError):
        return None


def _looks_like_vectors(dtype: pa.DataType) -> bool:
    """Return whether a column counts as vectors by default; lists of large integers may be token numbers."""
    if not holds_vectors(dtype):
        return False
    numbers = storage_type(dtype).value_type
    return bool(arrow().types.is_floating(numbers)) or numbers.bit_width == 8


@dataclass(frozen=True)
class VectorColumns:
    """Columns of the vectors of a table: one column of lists, or one column per dimension (``v0``, ``v1`` …).

    Attributes
    ----------
    names : tuple of str
    dtype : pyarrow.DataType
        Type of the column of lists, or of the first column of numbers.
    """

    names: tuple[str, ...]
    dtype: pa.DataType

    @property
    def in_lists(self) -> bool:
        """Whether the vectors are lists in one column."""
        return holds_vectors(self.dtype)

    @property
    def number_type(self) -> np.dtype[Any]:
        """Type of the numbers in the table."""
        dtype = storage_type(self.dtype)
        number: np.dtype[Any] = np.dtype((dtype.value_type if self.in_lists else dtype).to_pandas_dtype())
        return number

    @property
    def declared_width(self) -> int | None:
        """Length of the vectors, if the schema defines it."""
        if not self.in_lists:
            return len(self.names)
        dtype = storage_type(self.dtype)
        return int(dtype.list_size) if arrow().types.is_fixed_size_list(dtype) else None

    def find_width(self, batch: pa.RecordBatch) -> int | None:
        """Return the length of the first vector of a batch; None if all are missing."""
        if self.declared_width is not None:
            return self.declared_width
        lengths = arrow().compute.list_value_length(_storage_of(batch.column(self.names[0]))).drop_null()
        return int(lengths[0].as_py()) if len(lengths) else None

    def matrix(self, batch: pa.RecordBatch, width: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the vectors of a batch, and a mask of the usable ones: of this width, with finite numbers.

        Unusable rows are NaN. The numbers are float64 if the table has float64, else float32.
        """
        X, usable = self._lists(batch, width) if self.in_lists else self._columns(batch)
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float32)
        if not np.isfinite(np.sum(X[usable] if not usable.all() else X, dtype=np.float64)):
            usable &= np.isfinite(X).all(axis=1)
        if not usable.all():
            X = np.where(usable[:, None], X, np.nan).astype(X.dtype)
        return X, usable

    def _columns(self, batch: pa.RecordBatch) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        columns = [batch.column(name).to_numpy(zero_copy_only=False) for name in self.names]
        return np.column_stack(columns).astype(self.matrix_type, copy=False), np.ones(batch.num_rows, dtype=bool)

    def _lists(self, batch: pa.RecordBatch, width: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        lists = _storage_of(batch.column(self.names[0]))
        n, compute = len(lists), arrow().compute
        if self.declared_width is None:
            lengths = compute.fill_null(compute.list_value_length(lists), -1).to_numpy(zero_copy_only=False)
            usable = lengths == width
        else:
            usable = compute.is_valid(lists).to_numpy(zero_copy_only=False)
        if not usable.all():
            lists = lists.filter(arrow().array(usable))
        numbers = lists.flatten().to_numpy(zero_copy_only=False)
        X = numbers.reshape(-1, width)
        if usable.all():
            return X, usable
        whole = np.full((n, width), np.nan, dtype=self.matrix_type)
        whole[usable] = X
        return whole, usable

    @property
    def matrix_type(self) -> np.dtype[Any]:
        """Type of the matrix: float64 if the table has float64, else float32."""
        return np.dtype(np.float64 if self.number_type == np.float64 else np.float32)

    def to_columns(self, X: NDArray[Any], usable: NDArray[np.bool_]) -> dict[str, Any]:
        """Return new vectors as Arrow columns by name, in the types of the table; unusable rows are null."""
        pa = arrow()
        if not self.in_lists:
            numbers = X.astype(self.written_type)
            return {name: pa.array(numbers[:, place], mask=~usable) for place, name in enumerate(self.names)}
        lists = self.to_lists(X, usable)
        if storage_type(self.dtype) is not self.dtype and lists.type == storage_type(self.dtype):
            lists = pa.ExtensionArray.from_storage(self.dtype, lists)
        return {self.names[0]: lists}

    @property
    def written_type(self) -> np.dtype[Any]:
        """Type of changed numbers: that of the table, or float32 for integers, which would lose decimals."""
        return self.number_type if self.number_type.kind == "f" else np.dtype(np.float32)

    def to_lists(self, X: NDArray[Any], usable: NDArray[np.bool_] | None = None) -> pa.Array:
        """Return a matrix as a column of lists, in the type of this column."""
        pa = arrow()
        n, width = X.shape
        missing = None if usable is None or usable.all() else ~usable
        mask, dtype = None if missing is None else pa.array(missing), storage_type(self.dtype)
        fixed = pa.types.is_fixed_size_list(dtype)
        rows = X if missing is None or fixed else X[~missing]  # a missing list holds no numbers, as parquet demands
        numbers = pa.array(np.ascontiguousarray(rows, dtype=self.written_type).reshape(-1))
        if fixed:
            field = pa.field(dtype.value_field.name, numbers.type)
            return pa.FixedSizeListArray.from_arrays(numbers, type=pa.list_(field, width), mask=mask)
        kind = pa.LargeListArray if pa.types.is_large_list(dtype) else pa.ListArray
        lengths = np.full(n, width) if missing is None else np.where(missing, 0, width)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64 if kind is pa.LargeListArray else np.int32)
        field = pa.field(dtype.value_field.name, numbers.type)
        list_type = pa.large_list(field) if kind is pa.LargeListArray else pa.list_(field)
        return kind.from_arrays(pa.array(offsets), numbers, type=list_type, mask=mask)


def find_vectors(source: Source, vectors: str | Sequence[str] | None) -> VectorColumns:
    """Return the columns of the vectors: the named ones, or the only possible ones.

    These are the only column of lists of numbers, or the only run of numbered columns of numbers, in the order of
    their numbers. If anything else in the table may be the vectors, usable or not, they have to be named: `vectors`
    is a column, columns, or the common prefix of numbered columns.
    """
    if vectors is not None:
        return _named_vectors(source, vectors)
    candidates = _candidates(source)
    described = "; ".join(map(str, candidates))
    if len(candidates) > 1:
        raise TableError(
            f"{source.name} has {len(candidates)} candidates for the vectors: {described}. Name the column to use, or "
            "the common prefix of numbered columns: ",
            Argument("vectors", ...),
            ".",
        )
    for candidate in candidates:
        _refuse_shortened(source, candidate.names[0])
    if not candidates:
        raise TableError(
            f"{source.name} has no column of vectors. Its columns are {show_columns(source.schema)}. A column of lists "
            "of numbers is needed, or numbered columns such as v0, v1, v2."
        )
    names, defect = candidates[0].names, candidates[0].defect
    if defect and defect != _MIXED:
        raise TableError(
            f"{source.name} has no column of vectors that can be used: {described}. A column of lists of numbers is "
            "needed, or complete numbered columns such as v0, v1, v2. Correct the table, or name the columns to use."
        )
    dtype = source.schema.field(names[0]).type
    return VectorColumns(names, dtype) if holds_vectors(dtype) else _numbered_columns(source, list(names))


#: Defects of candidates for the vectors.
_MIXED, _TOKENS = "not all are numbers", "lists of integers may be token numbers"
_CELLS_SEEN = 100
#: Fewest numbered columns that may be the vectors next to a column of lists of numbers.
_FEWEST_BESIDE_LISTS = 10
_CELL = r"(?:[A-Za-z.]+\d*\()?[-+]?(?:[0-9]*[.,]?[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+\.|nan|NaN|inf|None|null|NA)\)?"
#: Texts that look like lists of numbers, perhaps shortened: two in brackets, or eight without.
_LIST_TEXT = (
    r"^\s*[A-Za-z.]*\(?[\[({]+\s*[\"']?" + _CELL + r"[\"']?[\s,;]+[\"']?(?:" + _CELL + r"|\.\.\.)"
    r"|^\s*" + _CELL + r"(?:[\s,;]+" + _CELL + r"){7,}\s*$"
)
#: Texts that look like numbers, with any marks for decimals and thousands.
_NUMBER_TEXT = r"^\s*[-+]?[.,]?[0-9][0-9.,' ]*(?:[eE][-+]?[0-9]+)?\s*$|^\s*[nN]a[nN]\s*$"


@dataclass(frozen=True)
class _Candidate:
    """Columns that may be the vectors, and why they cannot be used (empty if they can)."""

    names: tuple[str, ...]
    defect: str = ""

    def __str__(self) -> str:
        """Return the columns and the defect, as a part of a message."""
        n = len(self.names)
        columns = f"'{self.names[0]}'" if n == 1 else f"'{self.names[0]}' to '{self.names[-1]}', {n} columns"
        return f"{columns} ({self.defect})" if self.defect else columns


def _candidates(source: Source) -> list[_Candidate]:
    """Return everything in a table that may be the vectors, from the schema and the first cells of text columns.

    Lists of integers of more than 8 bits are left out next to other lists of numbers: they are usually token numbers.
    So are few numbered columns, such as ratings by two people.
    """
    types = dict(zip(source.schema.names, source.schema.types, strict=True))
    texts = [name for name, dtype in types.items() if _is_text(_item_type(dtype))]
    cells = source.head(texts) if texts else None
    lists, tokens, runs = [], [], _numbered_runs(source.schema.names)
    for name, dtype in types.items():
        item = _item_type(dtype)
        if _looks_like_vectors(dtype):
            lists.append(_Candidate((name,)))
        elif holds_vectors(dtype):
            tokens.append(_Candidate((name,), _TOKENS))
        elif item is dtype:
            if _is_text(dtype) and (cell := _usual_cell(cells, name, _LIST_TEXT)):
                lists.append(
                    _Candidate(
                        (name,), f"text that looks like lists of numbers, such as {shorten(cell)}{_way_out(cell)}"
                    )
                )
        elif _is_number_like(item) or (_is_text(item) and _usual_cell(cells, name, _NUMBER_TEXT)):
            lists.append(_Candidate((name,), f"it holds {dtype}, not lists of numbers"))
    usable = any(not each.defect for each in lists)
    candidates = lists if usable else [*lists, *tokens]
    for run in runs:
        numbers = [name for name in run if is_number(types[name])]
        alike = [
            name
            for name in run
            if _is_number_like(types[name]) or (_is_text(types[name]) and bool(_usual_cell(cells, name, _NUMBER_TEXT)))
        ]
        if len(alike) >= (_FEWEST_BESIDE_LISTS if usable else 2):
            gaps = _gaps(run)
            defect = f"no column is numbered {gaps[0]}" if gaps else _MIXED if len(numbers) < len(run) else ""
            candidates.append(_Candidate(tuple(run), defect))
    return candidates


def _way_out(cell: str) -> str:
    """Return how to turn a text into a list of numbers, if it is one in JSON, as frames of pandas have them."""
    if "[" not in cell and "(" not in cell and "{" not in cell:
        return "; put each list in brackets: [0.5, 1.2, …]"
    try:
        numbers = json.loads(cell)
    except ValueError:
        return ""
    return "; in Python, json.loads turns it into a list" if isinstance(numbers, list) else ""


def _numbered_runs(names: Sequence[str]) -> list[list[str]]:
    """Return the columns with a common prefix and numbers from 0 or 1, in the order of their numbers.

    Gaps are allowed, but most numbers must be lower than twice the number of columns: years number no dimensions.
    """
    by_prefix: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        if match := NUMBERED.fullmatch(name):
            by_prefix.setdefault(match[1], []).append((int(match[2]), name))
    return [
        [name for _, name in sorted(numbered, key=lambda pair: pair[0])]
        for numbered in by_prefix.values()
        if len(numbered) > 1 and 2 * sum(number <= 2 * len(numbered) for number, _ in numbered) > len(numbered)
    ]


def _gaps(run: Sequence[str]) -> list[int]:
    """Return the numbers that are missing between the first number (0 or 1) and the last, and repeated ones."""
    numbers = [int(match[2]) for name in run if (match := NUMBERED.fullmatch(name))]
    expected = range(min(numbers[0], 1), min(numbers[0], 1) + len(numbers))
    return [place for place, number in zip(expected, numbers, strict=True) if place != number]


def _item_type(dtype: pa.DataType) -> pa.DataType:
    """Return the type of the items of lists, also of lists of lists; any other type unchanged."""
    types, dtype = arrow().types, storage_type(dtype)
    while types.is_list(dtype) or types.is_large_list(dtype) or types.is_fixed_size_list(dtype):
        dtype = dtype.value_type
    return dtype


def _is_text(dtype: pa.DataType) -> bool:
    types = arrow().types
    dtype = dtype.value_type if types.is_dictionary(dtype) else dtype
    return bool(types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype))


def _is_number_like(dtype: pa.DataType) -> bool:
    return is_number(dtype) or bool(arrow().types.is_decimal(dtype))


def _usual_cell(cells: pa.RecordBatch | None, name: str, pattern: str) -> str:
    """Return a cell that matches a pattern, if most of the first cells of a column do; else an empty text."""
    if cells is None:
        return ""
    values = [cell for cell in cells.column(name).to_pylist() if cell][:_CELLS_SEEN]
    texts = [str(_first_item(cell)) for cell in values]
    matching = [text for text in texts if re.match(pattern, text)]
    return matching[0] if 2 * len(matching) > len(texts) else ""


def _refuse_shortened(source: Source, name: str) -> None:
    """Raise for a column of texts such as ``[0.1 0.2 ... 0.9]``, as numpy writes more than 1,000 numbers."""
    cells = source.head([name]) if _is_text(source.schema.field(name).type) else None
    for row, cell in enumerate([] if cells is None else cells.column(0).to_pylist(), start=1):
        if cell and re.match(_LIST_TEXT, cell) and re.search(r"[\s,](\.\.\.|…)[\s,]", cell):
            raise TableError(
                f"{source.name}, row {row:,}: the vector in the column '{name}' was shortened ('...') when it was "
                "written, as numpy does with more than 1,000 numbers. The others are lost. Write the vectors again: to "
                "parquet, or as lists (vector.tolist())."
            )


def _first_item(cell: Any) -> Any:
    while isinstance(cell, list):
        cell = cell[0] if cell else ""
    return cell


def show_columns(schema: pa.Schema, *, most: int = 12) -> str:
    """Return the first columns of a schema with their types."""
    columns = [f"{name} ({dtype})" for name, dtype in zip(schema.names, schema.types, strict=True)]
    return ", ".join(columns[:most]) + (f" and {len(columns) - most} more" if len(columns) > most else "")


def _named_vectors(source: Source, vectors: str | Sequence[str]) -> VectorColumns:
    schema, where = source.schema, source.name
    if not isinstance(vectors, str):
        check_columns(schema, vectors, where)
        return _numbered_columns(source, list(vectors))
    if vectors in schema.names:
        dtype = schema.field(vectors).type
        if not holds_vectors(dtype):
            _refuse_shortened(source, vectors)
            raise TableError(f"{where}: the column '{vectors}' holds {dtype}. A column of lists of numbers is needed.")
        return VectorColumns((vectors,), dtype)
    numbered = [(int(m[2]), name) for name in schema.names if (m := NUMBERED.fullmatch(name)) and m[1] == vectors]
    dimensions = [name for _, name in sorted(numbered, key=lambda pair: pair[0])]
    if len(dimensions) < 2:
        check_columns(schema, [vectors], where)
    return _numbered_columns(source, dimensions)


def _numbered_columns(source: Source, names: list[str]) -> VectorColumns:
    schema = source.schema
    odd = [name for name in names if not is_number(schema.field(name).type)]
    if odd:
        cell = _odd_cell(source, odd[0])
        raise TableError(
            f"{source.name}: all numbered columns should be numbers, and {name_some(odd)} "
            f"{'is' if len(odd) == 1 else 'are'} not{f' ({cell})' if cell else ''}. "
            f"Correct the file, or name the columns of the vectors."
        )
    kinds = {schema.field(name).type for name in names}
    pa = arrow()
    return VectorColumns(tuple(names), kinds.pop() if len(kinds) == 1 else pa.float64())


def _odd_cell(source: Source, name: str) -> str:
    """Return the first value of a text column that is written unlike most of its numbers, and its row."""
    pa, texts = arrow(), whole_column(source, name)
    if not pa.types.is_string(texts.type):
        return ""
    matches = [pa.compute.match_substring_regex(texts, pattern).fill_null(True) for pattern in _NUMBERS]
    usual = max(matches, key=lambda match: pa.compute.sum(match).as_py())
    row = pa.compute.index(usual, False).as_py()
    if row >= 0:
        return f"row {row + 1:,} has {texts[row].as_py()!r}"
    doubtful = doubtful_number((text for text in texts.to_pylist() if text), uses_commas=True)
    return doubtful and f"{doubtful!r} may be a decimal number or thousands"


def whole_column(source: Source, name: str) -> pa.ChunkedArray:
    """Return one column of all rows."""
    return arrow().chunked_array(
        [batch.column(0) for batch in source.batches([name])], type=source.schema.field(name).type
    )


def check_columns(schema: pa.Schema, names: Sequence[str], where: str) -> None:
    """Raise for a column that a table does not have, or that was left empty because of its types."""
    missing = [name for name in names if name not in schema.names]
    if missing:
        raise TableError(f"{where} has no column {name_some(missing)}. Its columns are {show_columns(schema)}.")
    for name in names:
        types = (schema.field(name).metadata or {}).get(UNREADABLE)
        if types is not None:
            raise TableError(
                f"{where}: the column '{name}' holds {types.decode()}, which cannot be read as one type. Convert its "
                "values to text or to numbers."
            )


def leave_out_advice() -> Advice:
    """Return the advice about a row without a usable vector; in Python, `open_table` has the option."""
    python = " Leave the row out, or open the table with open_table(…, bad_rows='skip')."
    return Advice(" Leave the row out, or pass ", Argument("bad_rows", "skip"), ".", python=python)


def bad_row_error(
    columns: VectorColumns, batch: pa.RecordBatch, row: int, number: int, width: int, where: str
) -> Exception:
    """Return the error for an unusable vector: missing, of another length, not finite, or zero."""
    at = f"{where}, row {number + 1:,}"
    remedy = leave_out_advice()
    if columns.in_lists:
        cell = _storage_of(batch.column(columns.names[0]))[row].as_py()
        if cell is None:
            return RowError(f"{at}: the vector is missing.", remedy)
        if len(cell) != width:
            return RowError(f"{at}: the vector has {len(cell)} numbers, and the first one has {width}.", remedy)
    if columns.matrix(batch.slice(row, 1), width)[1][0]:
        return RowError(f"{at}: the vector is zero, as for a blank text, and has no direction.", remedy)
    return RowError(f"{at}: the vector has a number that is missing, infinite or not a number.", remedy)


def _storage_of(array: Any) -> Any:
    return getattr(array, "storage", array)
