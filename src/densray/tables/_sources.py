"""Sources of tables: frames and other objects in memory, and files read batch by batch."""

from __future__ import annotations

import codecs
import glob
import io
import json
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from csv import reader as fields_in
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from densray._encodings import encoding_of
from densray.errors import DensRayError, EncodingDetectedWarning, TableError, name_some, shorten
from densray.tables._encoder import check_same_encoders
from densray.tables._vectors import arrow

if TYPE_CHECKING:
    import pyarrow as pa

#: Number of rows that are read and multiplied together.
BATCH_ROWS = 8192
#: Number of rows whose texts are looked at to find the vectors.
_HEAD_ROWS = 1000
_TEXT_BYTES, _READ_BYTES = 1 << 24, 1 << 20
#: A number with a decimal comma, an integer among them; and one whose comma cannot separate thousands.
_COMMA_NUMBER = r"^[-+]?([0-9]+(,[0-9]+)?|,[0-9]+)([eE][-+]?[0-9]+)?$"
_CLEAR_COMMA = r"^[-+]?(0?,|[0-9]+,([0-9]{1,2}|[0-9]{4,})([eE]|$)|[0-9]{4,},|[0-9]*,[0-9]+[eE])"
#: A number whose point, if it has one, may separate thousands.
_GROUPED = r"^[-+]?[0-9]{1,3}(\.[0-9]{3})?$"
_INTEGER = r"^-?(0|[1-9][0-9]{0,17})$"
#: Lists of numbers: all between commas, between semicolons or between spaces.
_LIST = r"^\s*\[\s*(N(\s*,\s*N)*\s*,?|N(\s*;\s*N)*|N(\s+N)*)?\s*\]\s*$".replace("N", "[-+0-9.eE]+")
#: The same with decimal commas, two numbers or more. Between commas and spaces, every number needs one.
_COMMA_LIST = (
    r"^\s*\[\s*(N(\s*;\s*N)+|N(\s+N)+|C(,\s+C)+)?\s*\]\s*$".replace("N", "[-+]?([0-9]*,)?[0-9]+E")
    .replace("C", "[-+]?[0-9]*,[0-9]+E")
    .replace("E", "([eE][-+]?[0-9]+)?")
)
#: A decimal comma in a list that cannot separate thousands.
_CLEAR_COMMA_IN_LIST = r"(^|[^0-9])0?,[0-9]|,([0-9]{1,2}|[0-9]{4,})([^0-9]|$)|[0-9]{4},|,[0-9]+[eE]"
#: Signs that decimal commas split numbers in two: 0013, -0 among integers, and 1.234,5 between commas and spaces.
_SPLIT_NUMBER, _MINUS_ZERO = r"[\[,;\s][-+]?0[0-9]", r"[\[,;\s]-0\s*[,;\]\s]"
_THOUSANDS = r"^\s*\[\s*P(,\s+P)+\s*\]\s*$".replace("P", r"[-+]?[0-9]{1,3}(\.[0-9]{3})*,[0-9]+")
#: Fields of a column of numbers that mark a missing one.
_NO_NUMBER = r"^\s*(?i:na|n/a|n\.a\.|k\.\s?a\.|null|none|#n/a|#nv|-{1,3}|\.|\?)\s*$"
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
    def __len__(self) -> int: ...
    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]: ...
    def head(self, columns: Sequence[str]) -> pa.RecordBatch | None: ...


class Memory:
    """A table in memory.

    Parameters
    ----------
    given : object
        The original object: a frame, a relation, a data set.
    table : pyarrow.Table
        The same rows in Arrow.
    name : str
    """

    def __init__(self, given: Any, table: pa.Table, name: str) -> None:
        self.given, self.table, self.name = given, table, name

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
    def _text(self) -> _Text:
        return (
            _Lines(self.shards)
            if self.kind == "jsonl"
            else _Fields(self.shards, ",;\t" if self.kind == "csv" else "\t")
        )

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
                yield from _sliced(_open_arrow(shard), columns)
            else:
                yield from _sliced(self._text.batches_of(shard), columns)

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


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors of Arrow and polars about a damaged file into an error that names the file."""
    import polars as pl

    pa = arrow()
    try:
        yield
    except DensRayError:
        raise
    except (pa.ArrowException, pl.exceptions.PolarsError, OSError, ValueError, KeyError) as error:
        raise TableError(
            f"{path}: the file cannot be read ({shorten(error)}). Write it again, or leave it out."
        ) from error


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


def _sliced(batches: Iterator[Any], columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    """Yield batches of bounded size with some columns; the first item is the schema."""
    next(batches)
    for batch in batches:
        chosen = batch if columns is None else batch.select(list(columns))
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield chosen.slice(start, BATCH_ROWS)


class _Text(Protocol):
    schema: pa.Schema
    lengths: tuple[int, ...]

    def batches_of(self, shard: Path) -> Iterator[Any]: ...


class _Dialect(NamedTuple):
    """How the fields of a text file are written."""

    delimiter: str
    encoding: str

    @classmethod
    def of(cls, path: Path, delimiters: str) -> _Dialect:
        """Return the encoding of a file, and the delimiter that gives its header the most fields.

        Spreadsheets write semicolons where the comma is the decimal mark, and cp1252 or UTF-16 on some systems.
        """
        encoding = _encoding_of_file(path)
        with path.open(encoding=encoding, newline="") as file:
            header = file.readline(_TEXT_BYTES)
        counts = {delimiter: len(next(fields_in([header], delimiter=delimiter), [])) for delimiter in delimiters}
        return cls(max(counts, key=lambda delimiter: counts[delimiter]), encoding)  # the first of equal ones


def _encoding_of_file(path: Path) -> str:
    """Return the encoding of a text file: UTF-8, or another one that is clear, with a warning."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        while piece := file.read(_TEXT_BYTES):
            try:
                decoder.decode(piece)
            except UnicodeDecodeError:
                file.seek(0)
                start = file.read(_TEXT_BYTES)
                detected = encoding_of(start if encoding_of(start) == "utf-16" else piece)
                if detected is None:
                    raise TableError(f"{path} is not UTF-8, and its encoding is not known. Save it as UTF-8.") from None
                warnings.warn(
                    EncodingDetectedWarning(
                        f"{path.name} is not UTF-8. It was read as {detected}. If that is wrong, save it as UTF-8."
                    ),
                    stacklevel=2,
                )
                return detected
    return "utf-8"


class _Fields:
    """CSV and TSV files. Types are inferred from all rows: integers, numbers, lists of numbers, or else text.

    The delimiter is one of `delimiters`. Where it is not a comma, numbers may have decimal commas.
    """

    def __init__(self, shards: Sequence[Path], delimiters: str) -> None:
        types: dict[str, str] = {}
        lengths = []
        self._dialects: dict[Path, _Dialect] = {}
        for shard in shards:
            with reading(shard):
                self._dialects[shard] = _Dialect.of(shard, delimiters)
                texts = self._texts(shard)
                names = next(texts).names
                if types and list(types) != names:
                    raise TableError(
                        f"{shard} has other columns than {shards[0].name}. Give shards with the same columns."
                    )
                types = types or dict.fromkeys(names, "unknown")
                commas = self._dialects[shard].delimiter != ","
                count = 0
                for batch in texts:
                    count += batch.num_rows
                    types = {name: _narrowest(batch.column(name), types[name], commas=commas) for name in names}
                lengths.append(count)
        self.lengths = tuple(lengths)
        types = _one_decimal_mark(types)
        pa = arrow()
        arrow_types = {"integer": pa.int64(), "number": pa.float64(), "list": pa.list_(pa.float64())}
        arrow_types |= {"decimal comma": pa.float64(), "comma list": pa.list_(pa.float64())}
        self._types = types
        self.schema = pa.schema([(name, arrow_types.get(kind, pa.string())) for name, kind in types.items()])

    def _texts(self, shard: Path) -> Iterator[Any]:
        """Yield the schema, then batches in which every column is text."""
        from pyarrow import csv

        dialect = self._dialects[shard]
        parsing = csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True)
        read = csv.ReadOptions(block_size=_TEXT_BYTES, encoding=dialect.encoding)
        with csv.open_csv(shard, read_options=read, parse_options=parsing) as file:
            names = file.schema.names
        if len(set(names)) < len(names):
            twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
            raise TableError(f"{shard}: {name_some(twice)} names several columns. Give each its own name.")
        converting = csv.ConvertOptions(
            column_types=dict.fromkeys(names, arrow().string()), null_values=[""], strings_can_be_null=True
        )
        with csv.open_csv(shard, read_options=read, parse_options=parsing, convert_options=converting) as file:
            yield file.schema
            yield from file

    def batches_of(self, shard: Path) -> Iterator[Any]:
        pa = arrow()
        yield self.schema
        texts = self._texts(shard)
        next(texts)
        for batch in texts:
            columns = [self._typed(batch.column(name), name) for name in self.schema.names]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _typed(self, column: Any, name: str) -> Any:
        compute, dtype = arrow().compute, self.schema.field(name).type
        if arrow().types.is_list(dtype):
            return _parsed_lists(column, commas=self._types[name] == "comma list")
        if self._types[name] == "decimal comma":
            column = compute.replace_substring(column, ",", ".")
        try:
            return column.cast(dtype)
        except arrow().ArrowInvalid:  # fields such as NA
            marked = compute.match_substring_regex(column, _NO_NUMBER)
            return compute.if_else(marked, arrow().scalar(None, column.type), column).cast(dtype)


def _one_decimal_mark(types: dict[str, str]) -> dict[str, str]:
    """Return the types of columns, where the decimal mark of other columns decides what 1,234 and 1.234 are.

    If they have decimal commas, 1,234 is a decimal number, and 1.234 stays a text, since it is a thousand.
    """
    kinds = set(types.values())
    commas = bool(kinds & {"decimal comma", "comma list"}) and not kinds & {"number", "list"}
    unclear = {"comma": "decimal comma", "grouped": "text"} if commas else {"grouped": "number"}
    return {name: unclear.get(kind, kind) for name, kind in types.items()}


def _narrowest(column: Any, so_far: str, *, commas: bool) -> str:
    """Return the type of the values of a text column, given the type of earlier values."""
    values = column.drop_null()
    if not len(values) or so_far == "text":
        return so_far
    found = _type_of(values, so_far, commas=commas)
    if found != "text":
        return found
    compute = arrow().compute
    numbers = values.filter(compute.invert(compute.match_substring_regex(values, _NO_NUMBER)))
    if len(numbers) == len(values):
        return found
    return _type_of(numbers, so_far, commas=commas) if len(numbers) else so_far


def _type_of(values: Any, so_far: str, *, commas: bool) -> str:
    """Return the type of values without gaps, given the type of earlier values."""
    compute = arrow().compute

    def all_match(pattern: str) -> bool:
        return bool(compute.all(compute.match_substring_regex(values, pattern)).as_py())

    def any_match(pattern: str) -> bool:
        return bool(compute.any(compute.match_substring_regex(values, pattern)).as_py())

    if so_far in ("unknown", "comma list") and all_match(_COMMA_LIST):
        if any_match(",") and so_far == "unknown":
            return "comma list" if any_match(_CLEAR_COMMA_IN_LIST) else "text"  # 1,234 may be a thousand
        return so_far if so_far == "comma list" else "text" if any_match(_SPLIT_NUMBER) else "list"
    if so_far in ("unknown", "list") and all_match(_LIST):
        split = any_match(_SPLIT_NUMBER) or any_match(_THOUSANDS) or (any_match(_MINUS_ZERO) and not any_match(r"\."))
        return "text" if split else "list"
    if so_far in ("unknown", "integer") and all_match(_INTEGER):
        return "integer"
    identifiers = compute.any(compute.match_substring_regex(values, r"^[-+]?0[0-9]")).as_py()  # such as 007
    if so_far in ("list", "comma list") or identifiers:
        return "text"
    grouped = commas and so_far in ("unknown", "integer", "grouped") and all_match(_GROUPED)
    points = so_far in ("number", "grouped")
    commas = commas and not points and all_match(_COMMA_NUMBER)
    return "grouped" if grouped else _kind_of_numbers(values, so_far, commas=commas)


def _kind_of_numbers(values: Any, so_far: str, *, commas: bool) -> str:
    """Return the type of values that may be numbers; `commas` says that all may have decimal commas.

    1,234 may also be a thousand. Such a column is "comma" until another value or column decides, and text if none does.
    """
    compute, pa = arrow().compute, arrow()
    if commas and (
        so_far == "decimal comma" or compute.any(compute.match_substring_regex(values, _CLEAR_COMMA)).as_py()
    ):
        return "decimal comma"
    if commas and (so_far == "comma" or compute.any(compute.match_substring(values, ",")).as_py()):
        return "comma"
    try:
        values.cast(pa.float64())
    except pa.ArrowInvalid:
        return "text"
    return "text" if so_far in ("comma", "decimal comma") else "number"


def _parsed_lists(column: Any, *, commas: bool = False) -> Any:
    """Return lists of numbers from texts such as ``[0.1, 0.2]``, ``[0.1 0.2]``, or ``[0,1; 0,2]`` with `commas`."""
    import polars as pl

    texts = pl.Series(column.to_pylist(), dtype=pl.String)
    if commas:
        texts = texts.str.replace_all(r",(\s)", "$1").str.replace_all(",", ".", literal=True)
    texts = texts.str.strip_chars("[],; \t\r\n").str.replace_all(r"[\s,;]+", " ")
    empty = texts == ""
    lists = texts.str.split(" ").cast(pl.List(pl.Float64))
    filled = pl.select(pl.when(empty).then(pl.lit([], dtype=pl.List(pl.Float64))).otherwise(lists)).to_series()
    return filled.to_arrow().cast(arrow().list_(arrow().float64()))


class _Lines:
    """JSON lines: one object per line. Types are inferred from all lines."""

    def __init__(self, shards: Sequence[Path]) -> None:
        import polars as pl

        empty, lengths = pl.DataFrame(), []
        for shard in shards:
            with reading(shard):
                found = pl.DataFrame(schema=pl.scan_ndjson(shard, infer_schema_length=None).collect_schema())
                empty = pl.concat([empty, found], how="diagonal_relaxed")
                with shard.open("rb") as file:
                    lengths.append(sum(1 for line in file if line.strip()))
        self._schema, self.lengths = empty.schema, tuple(lengths)
        self.schema = _plain_arrow(empty).schema

    def batches_of(self, shard: Path) -> Iterator[Any]:
        import polars as pl

        yield self.schema
        with shard.open("rb") as file:
            while lines := file.readlines(_TEXT_BYTES):
                text = b"".join(line for line in lines if line.strip())
                if text:
                    frame = pl.read_ndjson(io.BytesIO(text), schema=self._schema)
                    yield from _plain_arrow(frame).cast(self.schema).to_batches()


def _plain_arrow(frame: Any) -> pa.Table:
    """Return a polars frame in Arrow types that every version of pyarrow supports."""
    import polars as pl

    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


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
    found = sorted(Path(name) for name in glob.glob(str(source)) if Path(name).is_file())
    if not found:
        pattern = any(mark in str(source) for mark in "*?[")
        raise TableError(
            f"{source}: {'no file matches' if pattern else 'there is no such file or folder'}. Check the name."
        )
    return found


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
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in KINDS and path.name[0] not in "._")
    if not found:
        raise TableError(f"{folder} has no table ({', '.join(KINDS)}). Name a folder of shards.")
    return found


def open_source(source: Any) -> Files | Memory:
    """Return the rows of a file, a folder of shards, or an object of another library, with or without vectors."""
    if isinstance(source, str | Path):
        arrow()
        return Files(find_shards(source), Path(source).name or str(source))
    return in_memory(source)


def in_memory(given: Any) -> Memory:
    """Return an object of another library as an Arrow table, together with the object."""
    if library_of(given) == "polars" and hasattr(given, "collect"):
        given = given.collect()
    return Memory(given, _to_arrow(given), f"the {type(given).__name__}")


def library_of(given: Any) -> str:
    """Return the library of an object, such as ``polars``."""
    return type(given).__module__.partition(".")[0]


def _to_arrow(given: Any) -> pa.Table:
    pa, library = arrow(), library_of(given)
    if library == "polars":
        return _plain_arrow(given)
    if library == "pandas":
        return _from_pandas(given)
    keyed = getattr(given, "wv", given)
    if hasattr(keyed, "index_to_key") and hasattr(keyed, "vectors"):
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(keyed.vectors.reshape(-1)), keyed.vectors.shape[1])
        return pa.table({"word": [str(key) for key in keyed.index_to_key], "vector": vectors})
    try:
        if library == "datasets":
            given = given.with_format("arrow")[:]
        elif not hasattr(given, "__arrow_c_stream__") and callable(getattr(given, "to_arrow", None)):
            given = given.to_arrow()
        if hasattr(given, "__arrow_c_stream__"):
            return pa.table(given)
    except (pa.ArrowException, TypeError) as error:
        raise TableError(f"the {type(given).__name__} cannot be read as a table ({shorten(error)}).") from error
    raise TableError(
        f"a {type(given).__name__} is given; a table is a file, a folder, or an object with the Arrow C stream "
        "interface (pyarrow, polars, pandas, DuckDB, LanceDB, datasets)."
    )


def _from_pandas(frame: Any) -> pa.Table:
    """Return the columns of a pandas frame that Arrow can hold; the index stays with the frame."""
    pa = arrow()
    columns: dict[str, Any] = {}
    for place, name in enumerate(frame.columns):
        if str(name) in columns:
            raise TableError(f"the DataFrame has several columns '{name}'. Give each its own name.")
        try:
            columns[str(name)] = pa.Array.from_pandas(frame.iloc[:, place])
        except (pa.ArrowException, ValueError, TypeError):
            columns[str(name)] = pa.nulls(len(frame))  # mixed objects, which cannot be used
    return pa.table(columns)
