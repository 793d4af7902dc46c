"""Add or replace columns of frames: the result has the type of the input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from densray.errors import TableError, name_some
from densray.tables._arrow import arrow
from densray.tables._sources import Memory, library_of
from densray.tables._table import VectorTable

if TYPE_CHECKING:
    import pyarrow as pa

Columns: TypeAlias = Callable[[NDArray[Any], NDArray[np.bool_]], Mapping[str, Any]]
"""Function from the vectors of some rows, and a mask of usable rows, to new Arrow columns by name."""


def is_table(target: Any) -> bool:
    """Return whether an object is a table: a frame, a relation or a data set, but not an array or a series."""
    if library_of(target) in ("polars", "pandas", "datasets"):
        return type(target).__name__ in (
            *("DataFrame", "LazyFrame", "Dataset"),
            *("DatasetDict", "IterableDataset", "IterableDatasetDict"),  # refused by name
        )
    streams = hasattr(target, "__arrow_c_stream__") or callable(getattr(target, "to_arrow", None))
    return isinstance(target, VectorTable) or streams


def with_columns(table: VectorTable, columns: Columns) -> Any:
    """Return the original object of a table, with new columns.

    Polars gives polars, pandas pandas, datasets a Dataset. Files and every other library give a ``pyarrow.Table``.
    """
    pa = arrow()
    parts = [pa.table(dict(columns(X, usable))) for _, X, usable in table.batches([])]
    new = pa.concat_tables(parts)
    original: Any = table.source.original if isinstance(table.source, Memory) else None
    library = library_of(original)
    if library == "polars":
        import polars as pl

        return original.with_columns(pl.DataFrame(pl.from_arrow(new)).get_columns())
    if library == "pandas":
        return _with_pandas_columns(original, new)
    whole = replace_columns(_whole(table), new)
    if library == "datasets":
        return type(original)(whole.replace_schema_metadata(None))
    return whole


def check_new(table: VectorTable, names: list[str]) -> None:
    """Raise if a table already has a column that would be added."""
    clashes = [name for name in names if name in table.columns]
    if clashes:
        verb = "columns" if len(clashes) > 1 else "a column"
        raise TableError(f"{table.name} already has {verb} {name_some(clashes)}. Rename or drop it first.")


def replace_columns(table: Any, new: Any) -> Any:
    """Return an Arrow table or batch with new columns: replaced if the name exists, otherwise appended."""
    pa = arrow()
    fields, arrays = list(table.schema), list(table.columns)
    for field, values in zip(new.schema, new.columns, strict=True):
        names = [each.name for each in fields]
        if field.name in names:
            place = names.index(field.name)
            fields[place], arrays[place] = fields[place].with_type(field.type), values
        else:
            fields.append(field)
            arrays.append(values)
    metadata = {key: value for key, value in (table.schema.metadata or {}).items() if key != b"huggingface"}
    return type(table).from_arrays(arrays, schema=pa.schema(fields, metadata=metadata or None))


def _whole(table: VectorTable) -> pa.Table:
    if isinstance(table.source, Memory):
        return table.source.table
    return arrow().Table.from_batches(table.source.batches(), schema=table.schema)


def _with_pandas_columns(frame: Any, new: Any) -> Any:
    """Return a pandas frame with new columns; a replaced column keeps its type, unless it holds integers."""
    names = {str(name): name for name in frame.columns}
    result = frame.copy()
    for name in new.schema.names:
        column, before = new.column(name), None if name not in names else result[names[name]]
        if before is None or before.dtype != object:
            dtype = None if before is None else before.dtype
            series = column.to_pandas(types_mapper=type(dtype) if hasattr(dtype, "pyarrow_dtype") else None)
            series.index = result.index
            result[names.get(name, name)] = series.astype(dtype) if _holds_fractions(dtype) else series
        else:
            as_list = any(isinstance(cell, list) for cell in before)
            cells = column.to_pylist() if as_list else list(column.to_numpy())
            result[names[name]] = type(before)(cells, index=result.index, dtype=object)
    return result


def _holds_fractions(dtype: Any) -> bool:
    """Return whether a pandas type is floating, or a list of a floating type."""
    types, of_cells = arrow().types, getattr(dtype, "pyarrow_dtype", None)
    while of_cells is not None and hasattr(of_cells, "value_type"):
        of_cells = of_cells.value_type
    return getattr(dtype, "kind", "") == "f" if of_cells is None else bool(types.is_floating(of_cells))
