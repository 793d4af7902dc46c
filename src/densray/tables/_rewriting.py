"""Rewrite tables on disk, batch by batch: the same rows and columns, with some added, replaced or left out."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from densray._files import atomic_write, check_writable
from densray.errors import Argument, OutputError, TableError, TaskError, load_extra, name_some, shorten
from densray.journal import Journal, Run
from densray.tables._arrow import arrow
from densray.tables._encoder import without_encoders
from densray.tables._frames import Columns, replace_columns
from densray.tables._sources import KINDS, Files
from densray.tables._table import VectorTable
from densray.tables._text_tables import TextForm
from densray.tables._vectors import storage_type

if TYPE_CHECKING:
    import pyarrow as pa

    from densray.progress import Progress

Write = Callable[[Any], None]

_GROUP_BYTES = 1 << 26
_PARTS = ".densray-parts"


@dataclass(frozen=True)
class RewrittenTable:
    """Summary of a written table: path, rows, rows without a usable vector, files, and files of an earlier run."""

    path: Path
    rows: int
    skipped: int
    files: int = 1
    reused: int = 0


def check_table_output(table: VectorTable, output: str | Path, *, overwrite: bool = False) -> Path:
    """Return the output path if a table may be written there; call this before any work is done.

    A name with the extension of a table is one file. Any other name is a folder for shards.
    """
    path = Path(output)
    shards = table.source.shards if isinstance(table.source, Files) else ()
    inputs = {shard.resolve() for shard in shards}
    if path.resolve() in inputs | {shard.parent for shard in inputs if len(inputs) > 1 or path.is_dir()}:
        raise OutputError(f"{path} is the input. Write to another file or folder.")
    if path.suffix.lower() in KINDS:
        return check_writable(path, overwrite=overwrite)
    if len(shards) < 2:
        raise OutputError(f"{path}: the extension gives the type of table: {', '.join(KINDS)}. Add one of them.")
    if len({shard.name for shard in shards}) < len(shards):
        raise OutputError(
            "shards from different folders have the same name, so they cannot be written to one folder. Name one "
            "output file."
        )
    if not path.parent.is_dir():
        raise OutputError(f"{path}: the folder {path.parent} does not exist. Create it, or write elsewhere.")
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path} is a file; shards are written to a folder. Choose another name.")
    inside = sorted(path.iterdir()) if path.is_dir() else []
    others = {each.name for each in inside if each.suffix.lower() in KINDS} - {shard.name for shard in shards}
    if inside and not overwrite and not (path / _PARTS).is_dir():
        replacing = Argument("overwrite", True)
        raise OutputError(f"{path} exists already. Pass ", replacing, " to replace its files, or choose another name.")
    if others:
        raise OutputError(
            f"{path} has tables that are not replaced: {name_some(sorted(others))}. They would be read with the new "
            "ones. Delete them, or choose another folder."
        )
    return path


def rewrite_table(
    table: VectorTable,
    output: str | Path,
    columns: Columns,
    *,
    drop: Sequence[str] = (),
    depends_on: Sequence[object] = (),
    cluster: Any = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> RewrittenTable:
    """Write a table with new columns, batch by batch in bounded memory.

    Parameters
    ----------
    table : VectorTable
    output : path
        A file (parquet, Arrow, CSV, TSV, JSON lines, by its extension), written atomically. Shards may also be written
        to a folder: finished shards stay, and an interrupted run resumes.
    columns : callable
        Returns new Arrow columns by name, from the vectors of a batch and a mask of its usable rows.
    drop : sequence of str
        Columns that are left out.
    depends_on : sequence
        Numbers, texts and arrays that the new columns depend on: a run resumes only if they are the same.
    cluster : str or dask.distributed.Client, optional
        Write shards on the workers of a Dask cluster that can access the same files: the address of its scheduler, or
        "local" for one process per core of this machine.
    overwrite : bool, default=False
    progress : callable, optional
        Called with the number of rows done and their total.
    """
    path = check_table_output(table, output, overwrite=overwrite)
    job = _Job(table, columns, tuple(drop), progress)
    if path.suffix.lower() in KINDS:
        if cluster is not None:
            raise TaskError(f"a cluster writes one file per shard, but {path} is a single file. Name a folder.")
        with atomic_write(path, overwrite=overwrite) as temporary:
            job.write(temporary, KINDS[path.suffix.lower()], table.source.batches())
        return RewrittenTable(path, job.done, job.skipped)
    return _rewrite_shards(job, path, depends_on, cluster, overwrite=overwrite)


def _rewrite_shards(
    job: _Job, folder: Path, depends_on: Sequence[object], cluster: Any, *, overwrite: bool
) -> RewrittenTable:
    source = job.table.source
    assert isinstance(source, Files)
    overwrite = overwrite or (folder / _PARTS).is_dir()
    folder.mkdir(exist_ok=True)
    journal = Journal(folder / _PARTS)
    open_shards: dict[Path, Run] = {}
    for shard in source.shards:
        target, state = folder / shard.name, shard.stat()
        file = [str(shard.resolve()), state.st_size, state.st_mtime_ns]
        read = [str(source.schema), job.table.vector_columns.names, job.table.bad_rows, job.table.needs_directions]
        run = journal.run("table", file, read, job.drop, list(depends_on))
        stored = run.stored("shard")
        if stored and target.is_file() and target.stat().st_size == stored[0]["bytes"]:
            job.count(stored[0]["rows"], stored[0]["skipped"])
        else:
            open_shards[shard] = run
    for shard, counts in _write_shards(job, list(open_shards), folder, cluster, overwrite=overwrite):
        open_shards[shard].store("shard", counts)
    journal.clear()
    return RewrittenTable(folder, job.done, job.skipped, len(source.shards), journal.n_reused)


def _write_shards(
    job: _Job, shards: Sequence[Path], folder: Path, cluster: Any, *, overwrite: bool
) -> Iterator[tuple[Path, dict[str, int]]]:
    """Write shards, here or on a cluster, and yield each as soon as it is written."""
    if cluster is None:
        for shard in shards:
            yield shard, _write_shard(job, shard, folder / shard.name, overwrite)
        return
    with _open_client(cluster) as client:
        distributed = load_extra("distributed", "A cluster needs", extra="dask")
        sent = _Job(job.table, job.columns, job.drop, None)
        futures = [
            client.submit(_write_shard, sent, shard, folder / shard.name, overwrite, pure=False) for shard in shards
        ]
        places = {future.key: shard for future, shard in zip(futures, shards, strict=True)}
        for future, counts in distributed.as_completed(futures, with_results=True):
            job.count(counts["rows"], counts["skipped"])
            yield places[future.key], counts


def _write_shard(job: _Job, shard: Path, target: Path, overwrite: bool) -> dict[str, int]:
    """Write one shard and return its rows, its rows without a usable vector, and its bytes."""
    source = job.table.source
    assert isinstance(source, Files)
    before = job.done, job.skipped
    start = sum(source.lengths[: source.shards.index(shard)])
    with atomic_write(target, overwrite=overwrite) as temporary:
        job.write(temporary, source.kind, source.batches_of(shard), start)
    return {"rows": job.done - before[0], "skipped": job.skipped - before[1], "bytes": target.stat().st_size}


@contextmanager
def _open_client(cluster: Any) -> Iterator[Any]:
    """Give a client of a Dask cluster: the given one, one at an address, or one on this machine (``"local"``)."""
    if not isinstance(cluster, str):
        yield cluster
        return
    distributed = load_extra("distributed", "A cluster needs", extra="dask")
    if cluster != "local":
        try:
            client = distributed.Client(cluster, timeout=10)
        except (OSError, ValueError) as error:
            raise TaskError(f"no Dask scheduler answers at {cluster} ({shorten(error)}).") from error
        with client:
            yield client
        return
    with distributed.LocalCluster(dashboard_address=None) as local, distributed.Client(local) as client:
        yield client


class _Job:
    """The state of one run: columns to add and to leave out, and the number of rows done."""

    def __init__(self, table: VectorTable, columns: Columns, drop: tuple[str, ...], progress: Progress | None) -> None:
        self.table, self.columns, self.drop, self.progress = table, columns, drop, progress
        self.done = self.skipped = 0

    def count(self, rows: int, skipped: int) -> None:
        self.done, self.skipped = self.done + rows, self.skipped + skipped
        if self.progress is not None:
            self.progress(self.done, len(self.table))

    def write(self, path: Path, kind: str, batches: Iterator[pa.RecordBatch], start: int = 0) -> None:
        """Write changed batches to one file; `start` is the row number of the first row in the table."""
        pa, vectors = arrow(), self.table.vector_columns.names
        empty = pa.RecordBatch.from_pylist([], schema=self.table.schema)
        nothing = np.empty((0, self.table.width), dtype=self.table.vector_columns.matrix_type)
        schema = self._rewrite_batch(empty, nothing, np.empty(0, dtype=bool)).schema
        with open_writer(path, kind, schema, vectors, self.table.source.text_form) as write:
            for batch, X, usable in self.table.batches(batches=batches, start=start):
                write(self._rewrite_batch(batch, X, usable))
                self.count(len(X), int((~usable).sum()))

    def _rewrite_batch(self, batch: Any, X: Any, usable: Any) -> pa.RecordBatch:
        new = arrow().RecordBatch.from_pydict(dict(self.columns(X, usable)))
        changed = replace_columns(batch, new)
        kept = changed.select([name for name in changed.schema.names if name not in self.drop])
        return kept.replace_schema_metadata(without_encoders(kept.schema).metadata) if self.drop else kept


@contextmanager
def _write_parquet(path: Path, schema: pa.Schema, vectors: tuple[str, ...]) -> Iterator[Write]:
    """Write row groups of bounded size, without dictionary encoding for vectors, which would only take time."""
    from pyarrow import parquet

    pa = arrow()
    others = [name for name in schema.names if name not in vectors]
    waiting: list[Any] = []
    with parquet.ParquetWriter(path, schema, use_dictionary=others, write_statistics=others) as writer:

        def flush() -> None:
            if waiting:
                table = pa.Table.from_batches(waiting, schema=schema)
                try:
                    writer.write_table(table, row_group_size=table.num_rows)
                except pa.ArrowNotImplementedError as error:  # missing vectors of a fixed size, before pyarrow 26
                    raise OutputError(
                        f"pyarrow {pa.__version__} cannot write these rows as parquet ({error}). Install a newer "
                        "pyarrow, or write a file that ends in .arrow."
                    ) from None
                waiting.clear()

        def write(batch: Any) -> None:
            waiting.append(batch)
            if sum(each.nbytes for each in waiting) >= _GROUP_BYTES:
                flush()

        yield write
        flush()


@contextmanager
def _write_arrow(path: Path, schema: pa.Schema) -> Iterator[Write]:
    pa = arrow()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        yield writer.write_batch


@contextmanager
def _write_json_lines(path: Path, schema: pa.Schema) -> Iterator[Write]:
    import polars as pl

    _check_text_types(schema, is_json=True)
    with path.open("wb") as file:

        def write(batch: Any) -> None:
            frame = _as_frame(batch)
            _check_finite(pl, frame)
            frame.write_ndjson(file)

        yield write


@contextmanager
def _write_csv(path: Path, schema: pa.Schema, form: TextForm) -> Iterator[Write]:
    _check_text_types(schema, is_json=False)
    with path.open("wb") as file:
        file.write(codecs.BOM_UTF8 if form.has_mark else b"")
        first = True

        def write(batch: Any) -> None:
            nonlocal first
            frame = _as_frame(batch)
            texts = frame.select(_as_text(column, decimal_comma=form.decimal_comma) for column in frame.get_columns())
            texts.write_csv(file, separator=form.delimiter, include_header=first)
            first = False

        yield write


def _as_frame(batch: Any) -> Any:
    import polars as pl

    return pl.DataFrame(pl.from_arrow(arrow().Table.from_batches([batch])))


def _check_text_types(schema: pa.Schema, *, is_json: bool) -> None:
    """Raise for a column that a text file cannot hold."""
    types = arrow().types
    binary = types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view
    refused = binary if is_json else (*binary, types.is_struct, types.is_map, types.is_duration)
    for field in schema:
        dtype, depth = storage_type(field.type), 0
        while types.is_list(dtype) or types.is_large_list(dtype) or types.is_fixed_size_list(dtype):
            dtype, depth = dtype.value_type, depth + 1
        if any(is_kind(dtype) for is_kind in refused) or (depth > 1 and not is_json):
            kind = "JSON lines" if is_json else "CSV and TSV"
            raise TableError(
                f"the column '{field.name}' holds {field.type}, which {kind} cannot hold. Write parquet, or leave the "
                "column out of the table."
            )


def _check_finite(pl: Any, frame: Any) -> None:
    """Raise for an infinite number, which JSON does not have; NaN becomes null."""
    for column in frame.get_columns():
        if column.dtype in (pl.Float32, pl.Float64) and column.is_infinite().any():
            raise TableError(
                f"the column '{column.name}' has an infinite number, which JSON lines cannot hold. Write parquet."
            )


def _as_text(column: Any, *, decimal_comma: bool) -> Any:
    """Return a column as CSV has it: lists as texts such as ``[0.1,0.2]``, ``[0,1;0,2]`` or ``["a", null]``."""
    import polars as pl

    if not isinstance(column.dtype, pl.List | pl.Array):
        if decimal_comma and column.dtype.is_float():
            return column.cast(pl.String).str.replace(".", ",", literal=True)
        return column
    lists = column.arr.to_list() if isinstance(column.dtype, pl.Array) else column
    if not lists.dtype.inner.is_numeric() or lists.list.eval(pl.element().is_null()).list.any().any():
        texts = (
            None if cell is None else json.dumps(cell, ensure_ascii=False, default=str) for cell in lists.to_list()
        )
        return pl.Series(column.name, list(texts), dtype=pl.String)
    joined = lists.cast(pl.List(pl.String)).list.join(";" if decimal_comma else ",")
    texts = ("[" + joined + "]").alias(column.name)
    return texts.str.replace_all(".", ",", literal=True) if decimal_comma else texts


def open_writer(
    path: Path, kind: str, schema: pa.Schema, vectors: tuple[str, ...], form: TextForm
) -> AbstractContextManager[Write]:
    """Return a context that gives a function to write record batches with a schema to a file of this type."""
    if kind == "parquet":
        return _write_parquet(path, schema, vectors)
    if kind == "arrow":
        return _write_arrow(path, schema)
    if kind == "jsonl":
        return _write_json_lines(path, schema)
    return _write_csv(path, schema, form._replace(delimiter="\t") if kind == "tsv" else form)
