"""The vectors of a table: find their column, and convert between Arrow and a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from densray._conversions import NUMBERED, columns_beside_dimensions
from densray.errors import Advice, Argument, RowError, TableError, load_extra, name_some

if TYPE_CHECKING:
    import pyarrow as pa

BadRows = Literal["error", "skip"]


def arrow() -> Any:
    """Return the module ``pyarrow``."""
    load_extra("pyarrow.compute", "Tables need", extra="tables")
    return load_extra("pyarrow", "Tables need", extra="tables")


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
        lengths = arrow().compute.list_value_length(_stored(batch.column(self.names[0]))).drop_null()
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
        lists = _stored(batch.column(self.names[0]))
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
        numbers = pa.array(np.ascontiguousarray(X, dtype=self.written_type).reshape(-1))
        mask = None if usable is None or usable.all() else pa.array(~usable)
        dtype = storage_type(self.dtype)
        if pa.types.is_fixed_size_list(dtype):
            field = pa.field(dtype.value_field.name, numbers.type)
            return pa.FixedSizeListArray.from_arrays(numbers, type=pa.list_(field, width), mask=mask)
        kind = pa.LargeListArray if pa.types.is_large_list(dtype) else pa.ListArray
        offsets = np.arange(n + 1, dtype=np.int64 if kind is pa.LargeListArray else np.int32) * width
        field = pa.field(dtype.value_field.name, numbers.type)
        made = pa.large_list(field) if kind is pa.LargeListArray else pa.list_(field)
        return kind.from_arrays(pa.array(offsets), numbers, type=made, mask=mask)


def find_vectors(schema: pa.Schema, vectors: str | Sequence[str] | None, where: str) -> VectorColumns:
    """Return the columns of the vectors: the named ones, or the only possible ones.

    These are the only column of lists of numbers, or else the numbered columns of numbers. `vectors` may also be the
    common prefix of numbered columns.
    """
    if vectors is not None:
        return _named_vectors(schema, vectors, where)
    lists = [name for name, dtype in zip(schema.names, schema.types, strict=True) if _looks_like_vectors(dtype)]
    if len(lists) > 1:
        raise TableError(
            f"{where} has {len(lists)} columns that may be the vectors: {name_some(lists)}. Name the column to use."
        )
    if lists:
        return VectorColumns((lists[0],), schema.field(lists[0]).type)
    numbers = [name for name, dtype in zip(schema.names, schema.types, strict=True) if is_number(dtype)]
    beside = set(columns_beside_dimensions(numbers))
    dimensions = [name for name in numbers if name not in beside]
    if len(dimensions) < 2:
        raise TableError(
            f"{where} has no column of vectors. Its columns are {show_columns(schema)}. A column of lists of numbers "
            "is needed, or numbered columns such as v0, v1, v2."
        )
    return _numbered(schema, dimensions, where)


def show_columns(schema: pa.Schema, *, most: int = 12) -> str:
    """Return the first columns of a schema with their types."""
    listed = [f"{name} ({dtype})" for name, dtype in zip(schema.names, schema.types, strict=True)]
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")


def _named_vectors(schema: pa.Schema, vectors: str | Sequence[str], where: str) -> VectorColumns:
    if not isinstance(vectors, str):
        check_columns(schema, vectors, where)
        return _numbered(schema, list(vectors), where)
    if vectors in schema.names:
        dtype = schema.field(vectors).type
        if not holds_vectors(dtype):
            raise TableError(f"{where}: the column '{vectors}' holds {dtype}. A column of lists of numbers is needed.")
        return VectorColumns((vectors,), dtype)
    dimensions = [name for name in schema.names if (match := NUMBERED.fullmatch(name)) and match[1] == vectors]
    if len(dimensions) < 2:
        check_columns(schema, [vectors], where)
    return _numbered(schema, dimensions, where)


def _numbered(schema: pa.Schema, names: list[str], where: str) -> VectorColumns:
    odd = [name for name in names if not is_number(schema.field(name).type)]
    if odd:
        raise TableError(f"{where}: {name_some(odd)} should be dimensions of the vectors and are not numbers.")
    kinds = {schema.field(name).type for name in names}
    pa = arrow()
    return VectorColumns(tuple(names), kinds.pop() if len(kinds) == 1 else pa.float64())


def check_columns(schema: pa.Schema, names: Sequence[str], where: str) -> None:
    """Raise for a column that a table does not have."""
    missing = [name for name in names if name not in schema.names]
    if missing:
        raise TableError(f"{where} has no column {name_some(missing)}. Its columns are {show_columns(schema)}.")


def bad_row_error(
    columns: VectorColumns, batch: pa.RecordBatch, row: int, number: int, width: int, where: str
) -> Exception:
    """Return the error for an unusable vector: missing, of another length, or not finite."""
    at = f"{where}, row {number + 1:,}"
    remedy = Advice(" Leave the row out, or pass ", Argument("bad_rows", "skip"), ".")
    if columns.in_lists:
        cell = _stored(batch.column(columns.names[0]))[row].as_py()
        if cell is None:
            return RowError(f"{at}: the vector is missing.", remedy)
        if len(cell) != width:
            return RowError(f"{at}: the vector has {len(cell)} numbers, and the first one has {width}.", remedy)
    return RowError(f"{at}: the vector has a number that is missing, infinite or not a number.", remedy)


def _stored(array: Any) -> Any:
    return getattr(array, "storage", array)
