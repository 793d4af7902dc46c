"""Tables in text files: CSV, TSV and JSON lines, their encodings, delimiters and types."""

from __future__ import annotations

import codecs
import csv
import io
import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from densray._encodings import encoding_of, words_to_check
from densray._notation import named_delimiter
from densray.errors import EncodingDetectedWarning, TableError, name_some
from densray.tables._arrow import arrow, reading
from densray.tables._quotes import quotes_enclose_fields, without_quotes
from densray.tables._text_columns import ColumnEvidence, arrow_type, decide_kinds, read_values

if TYPE_CHECKING:
    import pyarrow as pa

_TEXT_BYTES = 1 << 24


class TextTables(Protocol):
    """Files of text with the same columns, in the order of their names."""

    schema: pa.Schema
    lengths: tuple[int, ...]

    def batches_of(self, shard: Path) -> Iterator[Any]: ...


class TextForm(NamedTuple):
    """How CSV is written: like the files that it comes from, so that columns that are not changed keep their meaning.

    Read with other decimal marks, a text such as 1.250 would be another number. The byte-order mark tells spreadsheets
    that the text is UTF-8.
    """

    delimiter: str = ","
    decimal_comma: bool = False
    has_mark: bool = False


class _Dialect(NamedTuple):
    """How the fields of a text file are written."""

    delimiter: str
    encoding: str
    has_quotes: bool  # around fields
    skipped: int  # lines above the names of the columns: sep=;
    has_mark: bool  # a byte-order mark, or an encoding that needs none

    @classmethod
    def of(cls, path: Path, delimiters: str) -> _Dialect:
        """Return the encoding of a file, and the delimiter that it names, or that gives its header the most fields.

        Spreadsheets write semicolons where the comma is the decimal mark, and cp1252 or UTF-16 on some systems.
        """
        encoding = _encoding_of_file(path)
        with path.open("rb") as start:
            has_mark = encoding != "utf-8" or start.read(3) == codecs.BOM_UTF8
        unmarked = (
            "utf-8-sig" if encoding == "utf-8" else encoding
        )  # without a byte-order mark, which Arrow leaves out too
        with path.open(encoding=unmarked, newline="") as file:
            header = file.readline(_TEXT_BYTES)
        named = named_delimiter(header)
        counts = {delimiter: _n_fields(header, delimiter) for delimiter in delimiters}
        delimiter = named or max(counts, key=lambda delimiter: counts[delimiter])  # the first of equal ones
        skipped = 0 if named is None else 1
        has_quotes = quotes_enclose_fields(path, delimiter, unmarked, skipped=skipped)
        return cls(delimiter, encoding, has_quotes, skipped, has_mark)


def _n_fields(line: str, delimiter: str) -> int:
    """Return the number of fields of a line; 0 if its quotes do not fit this delimiter."""
    try:
        return len(next(csv.reader([line], delimiter=delimiter, strict=True), []))
    except csv.Error:
        return 0


def _encoding_of_file(path: Path) -> str:
    """Return the encoding of a text file: UTF-8, or another one that is clear, with a warning."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        while piece := file.read(_TEXT_BYTES):
            if _is_utf8(piece, decoder):
                continue
            file.seek(0)
            head = file.read(_TEXT_BYTES)
            start = encoding_of(head) or ""
            detected = start if start.startswith("utf-16") else encoding_of(piece)
            if detected is None:
                raise TableError(f"{path} is not UTF-8, and its encoding is not known. Save it as UTF-8.")
            text = (head if start.startswith("utf-16") else piece).decode(detected, errors="ignore")
            warnings.warn(
                EncodingDetectedWarning(
                    f"{path.name} is not UTF-8. It was read as {detected}.{words_to_check(text)} If that is wrong, "
                    "save it as UTF-8."
                ),
                stacklevel=2,
            )
            return detected
    return "utf-8"


def _is_utf8(piece: bytes, decoder: codecs.IncrementalDecoder) -> bool:
    """Return whether the next piece of a file is UTF-8 without NUL bytes, which UTF-16 has between ASCII letters."""
    try:
        decoder.decode(piece)
    except UnicodeDecodeError:
        return False
    return b"\0" not in piece


class CsvTables:
    """CSV and TSV files. Types are inferred from all rows: integers, numbers, lists of numbers, or else text.

    The delimiter is one of `delimiters`, or named by the first line (``sep=;``). Where it is not a comma, numbers may
    have decimal commas.
    """

    def __init__(self, shards: Sequence[Path], delimiters: str) -> None:
        columns: dict[str, ColumnEvidence] = {}
        lengths = []
        self._dialects: dict[Path, _Dialect] = {}
        for shard in shards:
            with reading(shard):
                self._dialects[shard] = _Dialect.of(shard, delimiters)
                texts = self._texts(shard)
                names = next(texts).names
                if columns and list(columns) != names:
                    raise TableError(
                        f"{shard} has other columns than {shards[0].name}. Give shards with the same columns."
                    )
                columns = columns or {name: ColumnEvidence() for name in names}
                count = 0
                for batch in texts:
                    count += batch.num_rows
                    for name, evidence in columns.items():
                        evidence.add(batch.column(name))
                lengths.append(count)
        self.lengths = tuple(lengths)
        delimiters_used = {dialect.delimiter for dialect in self._dialects.values()}
        self._kinds = decide_kinds(columns, commas="," not in delimiters_used, semicolons=";" in delimiters_used)
        self.schema = arrow().schema([(name, arrow_type(kind)) for name, kind in self._kinds.items()])

    @property
    def form(self) -> TextForm:
        """How a CSV file with the same columns is written.

        Semicolons alone mean decimal commas, unless a column has decimal points.
        """
        first, kinds = self._dialects[next(iter(self._dialects))], set(self._kinds.values())
        has_points = not kinds.isdisjoint({"number", "list"})
        decimal_comma = not kinds.isdisjoint({"decimal comma", "comma list"}) or (
            first.delimiter == ";" and not has_points
        )
        usual = ";" if decimal_comma else ","
        delimiter = usual if first.delimiter == "\t" else first.delimiter
        return TextForm(delimiter, decimal_comma, any(dialect.has_mark for dialect in self._dialects.values()))

    def _texts(self, shard: Path) -> Iterator[Any]:
        """Yield the schema, then batches in which every column is text."""
        from pyarrow import csv as arrow_csv

        dialect = self._dialects[shard]
        parsing = arrow_csv.ParseOptions(
            delimiter=dialect.delimiter, newlines_in_values=True, quote_char='"' if dialect.has_quotes else False
        )
        read = arrow_csv.ReadOptions(block_size=_TEXT_BYTES, encoding=dialect.encoding, skip_rows=dialect.skipped)
        with arrow_csv.open_csv(shard, read_options=read, parse_options=parsing) as file:
            names = file.schema.names
        if len(set(names)) < len(names):
            twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
            raise TableError(f"{shard}: {name_some(twice)} names several columns. Give each its own name.")
        converting = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, arrow().string()), null_values=[""], strings_can_be_null=True
        )
        with arrow_csv.open_csv(shard, read_options=read, parse_options=parsing, convert_options=converting) as file:
            if dialect.has_quotes:
                yield file.schema
                yield from file
            else:
                pa = arrow()
                names = [name or "" for name in without_quotes(pa.array(names)).to_pylist()]
                yield pa.schema([(name, pa.string()) for name in names])
                for batch in file:
                    columns = [without_quotes(column) for column in batch.columns]
                    yield pa.RecordBatch.from_arrays(columns, names=names)

    def batches_of(self, shard: Path) -> Iterator[Any]:
        pa = arrow()
        yield self.schema
        texts = self._texts(shard)
        next(texts)
        for batch in texts:
            columns = [read_values(batch.column(name), kind) for name, kind in self._kinds.items()]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)


class JsonLines:
    """JSON lines: one object per line. Types are inferred from all lines."""

    def __init__(self, shards: Sequence[Path]) -> None:
        import polars as pl

        empty, lengths = pl.DataFrame(), []
        for shard in shards:
            with reading(shard):
                _check_json_numbers(shard)
                schema = pl.scan_ndjson(_without_mark(shard), infer_schema_length=None).collect_schema()
                # integers of more than 64 bits are identifiers
                frame = pl.DataFrame(
                    schema={name: pl.String if str(kind) == "Int128" else kind for name, kind in schema.items()}
                )
                empty = pl.concat([empty, frame], how="diagonal_relaxed")
                with shard.open("rb") as file:
                    lengths.append(sum(1 for line in file if line.strip()))
        self._schema, self.lengths = empty.schema, tuple(lengths)
        self.schema = plain_arrow(empty).schema

    def batches_of(self, shard: Path) -> Iterator[Any]:
        import polars as pl

        yield self.schema
        content = _without_mark(shard)
        with shard.open("rb") if isinstance(content, Path) else content as file:
            while lines := file.readlines(_TEXT_BYTES):
                text = b"".join(line for line in lines if line.strip())
                if text:
                    frame = pl.read_ndjson(io.BytesIO(text), schema=self._schema)
                    yield from plain_arrow(frame).cast(self.schema).to_batches()


def _without_mark(path: Path) -> Path | io.BytesIO:
    """Return a file, or its content if it begins with a byte-order mark, without it."""
    with path.open("rb") as file:
        return io.BytesIO(file.read()) if file.read(3) == codecs.BOM_UTF8 else path


def _check_json_numbers(path: Path) -> None:
    """Refuse NaN and Infinity, which Python writes and JSON does not have."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if b"NaN" in line or b"Infinity" in line:
                try:
                    json.loads(line, parse_constant=_refuse_constant)
                except _NoJsonNumberError as error:
                    raise TableError(
                        f"{path}, line {number:,}: {error} is not a number of JSON. Write null, or save the table as "
                        "parquet."
                    ) from None
                except ValueError:
                    return  # polars says what is wrong


class _NoJsonNumberError(Exception):
    """NaN or Infinity in JSON."""


def _refuse_constant(name: str) -> None:
    raise _NoJsonNumberError(name)


def plain_arrow(frame: Any) -> pa.Table:
    """Return a polars frame in Arrow types that every version of pyarrow supports."""
    import polars as pl

    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())
