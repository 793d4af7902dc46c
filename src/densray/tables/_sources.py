"""Sources of tables: frames and other objects in memory, and files read batch by batch."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from densray._arrays import is_missing
from densray._conversions import streamed
from densray.errors import TableError, name_some, shorten
from densray.tables._arrow import arrow, reading
from densray.tables._encoder import check_same_encoders
from densray.tables._text_tables import CsvTables, JsonLines, TextForm, TextTables, plain_arrow
from densray.tables._vectors import UNREADABLE

if TYPE_CHECKING:
    import pyarrow as pa

#: Number of rows that are read and multiplied together.
BATCH_ROWS = 8192
#: Number of rows whose texts are looked at to find the vectors.
_HEAD_ROWS = 1000
_READ_BYTES = 1 << 20
KINDS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


class Source(Protocol):
    """Rows with columns that can be read more than once."""

    @property
    def name(self) -> str: ...
    @property
    def schema(self) -> pa.Schema: ...
    @property
    def text_form(self) -> TextForm: ...
    def __len__(self) -> int: ...
    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]: ...
    def head(self, columns: Sequence[str]) -> pa.RecordBatch | None: ...


class Memory:
    """A table in memory.

    Parameters
    ----------
    original : object
        The object of the caller: a frame, a relation, a data set.
    table : pyarrow.Table
        The same rows in Arrow.
    name : str
    """

    def __init__(self, original: Any, table: pa.Table, name: str) -> None:
        self.original, self.table, self.name, self.text_form = original, table, name, TextForm()

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        table = self.table if columns is None else self.table.select(list(columns))
        yield from table.to_batches(max_chunksize=BATCH_ROWS)

    def head(self, columns: Sequence[str]) -> pa.RecordBatch | None:
        """Return some columns of the first rows; None if there are no rows."""
        return next(iter(self.table.slice(0, _HEAD_ROWS).select(list(columns)).to_batches()), None)


class Files:
    """One file, or several shards of the same type and schema, in the order of their names.

    Parameters
    ----------
    shards : sequence of paths
    name : str
        Name of the files in error messages.
    """

    def __init__(self, shards: Sequence[Path], name: str) -> None:
        self.shards, self.name = tuple(shards), name
        kinds = {kind_of_table(path) for path in self.shards}
        if len(kinds) > 1:
            raise TableError(
                f"{name} holds files of several kinds ({name_some(sorted(kinds))}). Name some: '*.parquet'."
            )
        self.kind = kinds.pop()

    @cached_property
    def _text(self) -> TextTables:
        return (
            JsonLines(self.shards)
            if self.kind == "jsonl"
            else CsvTables(self.shards, ",;\t" if self.kind == "csv" else "\t")
        )

    @property
    def text_form(self) -> TextForm:
        """How CSV files with the same columns are written."""
        return self._text.form if self.kind in ("csv", "tsv") and isinstance(self._text, CsvTables) else TextForm()

    @cached_property
    def schema(self) -> pa.Schema:
        if self.kind not in ("parquet", "arrow"):
            return self._text.schema
        first = self._binary_schema(self.shards[0])
        for shard in self.shards[1:]:
            other = self._binary_schema(shard)
            if not other.equals(first):
                differing = [field.name for field in other if field not in first] or first.names
                raise TableError(
                    f"{shard} has other columns or types than {self.shards[0].name} (first difference: "
                    f"'{differing[0]}'). Give shards with the same columns."
                )
            check_same_encoders(first, other, self.shards[0].name, shard)
        return first

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Number of rows of each shard."""
        if self.kind not in ("parquet", "arrow"):
            return self._text.lengths
        return tuple(self._binary_length(shard) for shard in self.shards)

    def __len__(self) -> int:
        return sum(self.lengths)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        for shard in self.shards:
            yield from self.batches_of(shard, columns)

    def head(self, columns: Sequence[str]) -> pa.RecordBatch | None:
        """Return some columns of the first rows; None if the first shard has no rows."""
        return next(self._read(self.shards[0], columns, n_rows=_HEAD_ROWS), None)

    def batches_of(self, shard: Path, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the batches of one shard; the next one is read while the current one is in use."""
        return _read_ahead(self._read(shard, columns))

    def _read(self, shard: Path, columns: Sequence[str] | None, n_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        with reading(shard):
            if self.kind == "parquet":
                with _open_parquet(shard) as file:
                    yield from file.iter_batches(n_rows, columns=None if columns is None else list(columns))
            elif self.kind == "arrow":
                yield from _slice_batches(_open_arrow(shard), columns)
            else:
                yield from _slice_batches(self._text.batches_of(shard), columns)

    def _binary_schema(self, shard: Path) -> pa.Schema:
        with reading(shard):
            if self.kind == "arrow":
                return next(_open_arrow(shard))
            with _open_parquet(shard) as file:
                return file.schema_arrow

    def _binary_length(self, shard: Path) -> int:
        with reading(shard):
            if self.kind == "arrow":
                batches = _open_arrow(shard)
                next(batches)
                return sum(batch.num_rows for batch in batches)
            with _open_parquet(shard) as file:
                return int(file.metadata.num_rows)


def _read_ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield batches; another thread reads the next one while the current one is in use."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, batches, None)
        while (batch := waiting.result()) is not None:
            waiting = pool.submit(next, batches, None)
            yield batch


def _open_parquet(path: Path) -> Any:
    from pyarrow import parquet

    # read in pieces: a row group may be larger than memory, and mapped pages count as memory too
    return parquet.ParquetFile(path, pre_buffer=False, buffer_size=_READ_BYTES)


def _open_arrow(path: Path) -> Iterator[Any]:
    """Yield the schema of an Arrow file, then its memory-mapped batches; accepts the file and the stream format."""
    pa = arrow()
    with pa.memory_map(str(path)) as mapped:
        try:
            file = pa.ipc.open_file(mapped)
        except pa.ArrowInvalid:
            mapped.seek(0)
            stream = pa.ipc.open_stream(mapped)
            yield stream.schema
            yield from stream
        else:
            yield file.schema
            for number in range(file.num_record_batches):
                yield file.get_batch(number)


def _slice_batches(batches: Iterator[Any], columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    """Yield batches of bounded size with some columns; the first item is the schema."""
    next(batches)
    for batch in batches:
        selection = batch if columns is None else batch.select(list(columns))
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield selection.slice(start, BATCH_ROWS)


def kind_of_table(path: Path) -> str:
    """Return the type of a table file from its extension."""
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise TableError(f"{path}: a table ends in {', '.join(KINDS)}. Convert the file to one of them.")
    return kind


def may_be_table(source: str | Path) -> bool:
    """Return whether a path may be a table: by its extension, or because it is a folder or a pattern.

    >>> may_be_table("docs.parquet"), may_be_table("docs/*.jsonl"), may_be_table("vectors.bin")
    (True, True, False)
    """
    return Path(source).suffix.lower() in KINDS or Path(source).is_dir()


def find_shards(source: str | Path) -> list[Path]:
    """Return the files of a table: one file, the files of a folder, or those that match a pattern."""
    path = Path(source)
    if path.is_file():
        return [path]
    if path.is_dir():
        return _folder(path)
    paths = sorted(Path(name) for name in glob.glob(str(source)) if Path(name).is_file())
    if not paths:
        pattern = any(mark in str(source) for mark in "*?[")
        raise TableError(
            f"{source}: {'no file matches' if pattern else 'there is no such file or folder'}. Check the name."
        )
    return paths


def _folder(folder: Path) -> list[Path]:
    """Return the tables in a folder; for a Hugging Face folder, in the order of its list."""
    if (folder / "dataset_dict.json").is_file():
        splits = sorted(path.name for path in folder.iterdir() if path.is_dir())
        raise TableError(f"{folder} holds several data sets: {name_some(splits)}. Name one of these folders.")
    state = folder / "state.json"
    if state.is_file():
        with reading(state):
            return [
                folder / entry["filename"] for entry in json.loads(state.read_text(encoding="utf-8"))["_data_files"]
            ]
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in KINDS and path.name[0] not in "._")
    if not paths:
        raise TableError(f"{folder} has no table ({', '.join(KINDS)}). Name a folder of shards.")
    return paths


def open_source(source: Any) -> Files | Memory:
    """Return the rows of a file, a folder of shards, or an object of another library, with or without vectors."""
    if isinstance(source, str | Path):
        arrow()
        return Files(find_shards(source), Path(source).name or str(source))
    return in_memory(source)


def in_memory(source: Any) -> Memory:
    """Return an object of another library as an Arrow table, together with the object."""
    if library_of(source) == "polars" and hasattr(source, "collect"):
        source = source.collect()
    return Memory(source, _to_arrow(source), f"the {type(source).__name__}")


def library_of(source: Any) -> str:
    """Return the library of an object, such as ``polars``."""
    return type(source).__module__.partition(".")[0]


def _to_arrow(source: Any) -> pa.Table:
    pa, library = arrow(), library_of(source)
    kind = type(source).__name__
    if library == "datasets" and kind in ("DatasetDict", "IterableDatasetDict"):
        splits = list(source)
        raise TableError(f"a {kind} is given, with the splits {name_some(splits)}. Give one: data['{splits[0]}'].")
    if library == "datasets" and kind == "IterableDataset":
        raise TableError("an IterableDataset is given, which can be read only once. Load it without streaming=True.")
    if library == "polars":
        return plain_arrow(source)
    if library == "pandas":
        return _from_pandas(source)
    keyed = getattr(source, "wv", source)
    if hasattr(keyed, "index_to_key") and hasattr(keyed, "vectors"):
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(keyed.vectors.reshape(-1)), keyed.vectors.shape[1])
        return pa.table({"word": [str(key) for key in keyed.index_to_key], "vector": vectors})
    try:
        stream = streamed(source)
        if hasattr(stream, "__arrow_c_stream__"):
            return pa.table(stream)
    except (pa.ArrowException, TypeError) as error:
        raise TableError(f"the {type(source).__name__} cannot be read as a table ({shorten(error)}).") from error
    raise TableError(
        f"a {type(source).__name__} is given; a table is a file, a folder, or an object with the Arrow C stream "
        "interface (pyarrow, polars, pandas, DuckDB, LanceDB, datasets)."
    )


def _from_pandas(frame: Any) -> pa.Table:
    """Return the columns of a pandas frame; the index stays with the frame.

    A column that Arrow cannot hold is empty, and its field says why, so that `check_columns` refuses it by its name.
    """
    pa = arrow()
    fields: list[Any] = []
    columns = []
    for place, name in enumerate(frame.columns):
        if str(name) in {field.name for field in fields}:
            raise TableError(f"the DataFrame has several columns '{name}'. Give each its own name.")
        values, metadata = frame.iloc[:, place], None
        try:
            column = pa.Array.from_pandas(values)
        except (pa.ArrowException, ValueError, TypeError):
            column, metadata = pa.nulls(len(frame)), {UNREADABLE: _types_in(values)}
        columns.append(column)
        fields.append(pa.field(str(name), column.type, metadata=metadata))
    return pa.table(columns, schema=pa.schema(fields))


def _types_in(values: Any) -> str:
    """Return the names of the types of the cells of a pandas column."""
    names = sorted({type(value).__name__ for value in values if not is_missing(value)})
    return " and ".join(names[:3]) + (" and others" if len(names) > 3 else "")
