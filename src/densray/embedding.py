"""Embed the texts of a table with a sentence encoder or any Hugging Face encoder on this machine."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from densray._files import atomic_write, check_writable
from densray._threads import ignored_warnings
from densray.errors import Argument, OutputError, TableError, TaskError, VectorError, suggest
from densray.journal import Journal, Run
from densray.space import WordSpace
from densray.states import load_model, model_checksum
from densray.tables import (
    KINDS,
    SAMPLED_TEXTS,
    EncoderRecord,
    open_source,
    open_table,
    open_writer,
    sample_coordinates,
    with_encoder,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from densray.lexicon import Lexicon
    from densray.progress import Progress
    from densray.rows import Rows
    from densray.tables import VectorTable

__all__ = ["EmbeddedTable", "embed", "embed_lexicon", "embed_table"]

#: Texts that are sorted by length and stored in the journal together.
_BLOCK = 1024
#: Number of documents used to estimate the average vector when words are embedded.
_SAMPLED_DOCUMENTS = 10_000
#: A text longer than the limit of most encoders: its vector depends on where an encoder truncates texts.
_LONG_TEXT = " ".join(f"word{number}" for number in range(1500))


@dataclass(frozen=True)
class EmbeddedTable:
    """A written table of documents and their vectors.

    Attributes
    ----------
    path : Path
    rows, width : int
    skipped : int
        Rows left out because they have no text.
    truncated : float
        Share of the first texts (at most 1,024) that are longer than the limit of the encoder; 0 if it is not known.
    encoder : str
    reused : int
        Number of text blocks that an earlier run had finished.
    """

    path: Path
    rows: int
    width: int
    skipped: int
    truncated: float
    encoder: str
    reused: int


class _Encoder:
    """A loaded encoder, and everything its vectors depend on."""

    def __init__(self, model: Any, *, device: str | None, batch_size: int, max_length: int | None) -> None:
        self.source = str(model) if isinstance(model, str | Path) else ""
        if isinstance(model, str | Path):
            loaded = load_model(model, device=device, sentence_encoder=True)
            self.model, self.name = loaded.model, Path(loaded.name).name if Path(loaded.name).exists() else loaded.name
        else:
            self.model, self.name = model, type(model).__name__
        if not hasattr(self.model, "encode"):
            raise TaskError(f"{self.name} has no method encode. Give a sentence encoder, its folder or its name.")
        self.is_module = hasattr(self.model, "max_seq_length") and hasattr(self.model, "state_dict")
        if max_length is not None:
            self._shorten(max_length)
        self.batch_size = batch_size

    def _shorten(self, max_length: int) -> None:
        limit = getattr(self.model, "max_seq_length", None)
        if not self.is_module or max_length < 1 or (limit is not None and max_length > limit):
            most = "the encoder does not say how many it reads" if limit is None else f"the encoder reads {limit}"
            limits = Argument("max_length", max_length)
            raise TaskError(limits, f" tokens is given; {most}. Give a smaller number, or leave it out.")
        self.model.max_seq_length = max_length

    def run(self, journal: Journal | None) -> Run:
        """Return the journal of these vectors.

        An encoder of PyTorch is identified by its weights. Any other encoder is identified by its class, the version of
        its package, its settings and arrays, and its vectors of some texts.
        """
        if journal is None or journal.folder is None:
            return Journal().run("embed")
        if not self.is_module:
            vectors = self._sample(_LONG_TEXT)  # first: some encoders load their weights when used
            if vectors is None:
                return Journal().run("embed")
            kind = type(self.model)
            name = f"{kind.__module__}.{kind.__qualname__}"
            return journal.run("embed", name, self.library, _state_of(self.model), vectors)
        settings = str(self.model), str(self.model.max_seq_length), repr(getattr(self.model, "default_prompt_name", ""))
        return journal.run("embed", model_checksum(self.model), *settings)

    @property
    def library(self) -> str:
        """Package of the encoder and its version."""
        package = type(self.model).__module__.partition(".")[0]
        version = getattr(sys.modules.get(package), "__version__", "")
        return f"{package} {version}".strip()

    def _sample(self, *more: str) -> NDArray[np.float32] | None:
        """Return the vectors of some fixed texts; None if the encoder cannot embed them."""
        try:
            return self.encode([*SAMPLED_TEXTS, *more])
        except Exception:  # a foreign encoder may raise anything on texts it was not made for
            if self.source:
                raise
            return None

    def record(self) -> EncoderRecord | None:
        """Return name and settings of the encoder, and its vectors of some texts if it can embed them."""
        vectors = self._sample()
        if vectors is None or not np.isfinite(vectors).all():
            return None
        lengths = np.linalg.norm(vectors, axis=1)
        limit = getattr(self.model, "max_seq_length", None)
        return EncoderRecord(
            name=self.name,
            source=self.source,
            library=self.library,
            pooling=_pooling_of(self.model),
            normalized=bool(lengths.any() and np.allclose(lengths[lengths > 0], 1.0, atol=1e-2)),
            max_length=int(limit) if self.is_module and limit is not None else None,
            width=int(vectors.shape[1]),
            sample=sample_coordinates(vectors),
        )

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector per text; batches contain texts of similar length."""
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        options: dict[str, Any] = {}
        if self.is_module:
            options = {"batch_size": self.batch_size, "show_progress_bar": False, "convert_to_numpy": True}
        with ignored_warnings(Warning):
            rows = np.asarray(self.model.encode([texts[row] for row in order], **options), dtype=np.float32)
        if rows.ndim != 2 or len(rows) != len(texts):
            raise TaskError(f"the encoder {self.name} returned an array of shape {rows.shape} for {len(texts)} texts.")
        vectors = np.empty_like(rows)
        vectors[order] = rows
        return vectors

    def share_truncated(self, texts: Sequence[str]) -> float:
        """Return the share of texts that are longer than the limit of the encoder."""
        tokenizer, limit = getattr(self.model, "tokenizer", None), getattr(self.model, "max_seq_length", None)
        if not self.is_module or tokenizer is None or limit is None or not callable(tokenizer):
            return 0.0
        long = [text for text in texts if len(text) > limit]  # a token has at least one character
        if not long:
            return 0.0
        tokens = tokenizer(long, add_special_tokens=True, truncation=False, verbose=False)["input_ids"]
        return float(np.mean([len(each) > limit for each in tokens])) * len(long) / len(texts)


def embed(
    model: Any,
    texts: Sequence[str],
    *,
    device: str | None = None,
    batch_size: int = 32,
    max_length: int | None = None,
    journal: Journal | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """Return one vector per text.

    Pooling and normalisation follow the configuration of the encoder. If a Hugging Face encoder has none, the mean of
    its tokens is used. Nothing is downloaded.

    Parameters
    ----------
    model : str, path or encoder
        A folder or name of a sentence encoder or of a Hugging Face encoder on this machine, or an object with a method
        ``encode`` that takes a list of texts and returns an array.
    texts : sequence of str
        Texts; none may be empty.
    device : str, optional
        Where to run it: ``"cpu"``, ``"cuda"`` … (default: a GPU if there is one).
    batch_size : int, default=32
        Number of texts to run at once.
    max_length : int, optional
        Maximum number of tokens per text (default: the limit of the encoder).
    journal : Journal, optional
        Keeps finished blocks of texts, so that an interrupted run resumes.
    progress : callable, optional
        Called with the number of texts done and their total.

    Examples
    --------
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return np.array([[len(text), 1.0] for text in texts])
    >>> embed(Lengths(), ["a", "abc"])
    array([[1., 1.],
           [3., 1.]], dtype=float32)
    """
    if isinstance(texts, str) or not len(texts):
        raise TaskError(f"{texts!r} is given; a list of one or more texts is needed.")
    for row, text in enumerate(texts):
        if _is_missing(text):
            raise TaskError(f"text {row} is empty or not a text. Leave it out.")
    encoder = _Encoder(model, device=device, batch_size=batch_size, max_length=max_length)
    run = encoder.run(journal)
    blocks = []
    for start in range(0, len(texts), _BLOCK):
        block = texts[start : start + _BLOCK]
        blocks.append(_embed_block(encoder, run, block, start))
        if progress is not None:
            progress(start + len(block), len(texts))
    return np.concatenate(blocks)


def _embed_block(encoder: _Encoder, run: Run, texts: Sequence[str], start: int) -> NDArray[np.float32]:
    """Return the vectors of a block of texts, from the journal if an earlier run finished it."""
    lengths = ",".join(str(len(text)) for text in texts)
    key = hashlib.sha256(f"{lengths}\n{''.join(texts)}".encode("utf-8", "surrogatepass")).hexdigest()
    vectors = run.part(key, lambda: encoder.encode(texts))
    if not np.isfinite(vectors).all():
        row = start + int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        raise VectorError(f"the encoder {encoder.name} gives text {row} a vector that is not finite. Leave it out.")
    return vectors


def embed_table(
    model: Any,
    source: Any,
    output: str | Path,
    *,
    text_column: str,
    vector_column: str = "embedding",
    bad_rows: Literal["error", "skip"] = "error",
    device: str | None = None,
    batch_size: int = 32,
    max_length: int | None = None,
    overwrite: bool = False,
    journal: Journal | None = None,
    progress: Progress | None = None,
) -> EmbeddedTable:
    """Write a table of texts with a column of vectors; all other columns and the order of rows stay.

    Rows are read, embedded and written block by block.

    Parameters
    ----------
    model : str, path or encoder
        See :func:`embed`.
    source : path or frame
        A table of texts: parquet, Arrow, CSV, TSV, JSON lines, a folder of shards, or an object with the Arrow C stream
        interface.
    output : path
        The file to write; its extension gives the kind of table.
    text_column : str
    vector_column : str, default="embedding"
        Name of the new column: float32, one fixed-size list per row.
    bad_rows : {"error", "skip"}, default="error"
        How to treat a row without a text: raise an error, or leave it out and count it.
    device, batch_size, max_length, journal
        See :func:`embed`.
    overwrite : bool, default=False
    progress : callable, optional
        Called with the number of rows done and their total.
    """
    path = _check_output(source, Path(output), overwrite=overwrite)
    if bad_rows not in ("error", "skip"):
        raise TableError(Argument("bad_rows", bad_rows), " is given; 'error' or 'skip' is needed.")
    rows = open_source(source)
    _check_columns(rows.schema.names, text_column, vector_column, rows.name)
    if not len(rows):
        raise TableError(f"{rows.name} has no rows.")
    encoder = _Encoder(model, device=device, batch_size=batch_size, max_length=max_length)
    run = encoder.run(journal)
    n_rows = skipped = width = 0
    truncated, write = 0.0, None
    record = encoder.record()
    with atomic_write(path, overwrite=overwrite) as temporary, ExitStack() as files:
        for batch, start in _blocks(rows):
            texts = [None if value is None else str(value) for value in batch.column(text_column).to_pylist()]
            missing = [row for row, text in enumerate(texts) if _is_missing(text)]
            if missing and bad_rows == "error":
                raise TableError(
                    f"{rows.name}: row {start + missing[0] + 1:,} has no text in '{text_column}'. Add it, or skip "
                    "such rows",
                    ": ",
                    Argument("bad_rows", "skip"),
                    ".",
                )
            usable = [row for row, text in enumerate(texts) if not _is_missing(text)]
            skipped, n_rows = skipped + len(missing), n_rows + len(usable)
            if usable:
                block_texts = [texts[row] or "" for row in usable]
                vectors = _embed_block(encoder, run, block_texts, start)
                new = _with_vectors(batch.take(_integers(usable)), vectors, vector_column, record)
                if write is None:
                    width, truncated = int(vectors.shape[1]), encoder.share_truncated(block_texts)
                    kind = KINDS[path.suffix.lower()]
                    write = files.enter_context(
                        open_writer(temporary, kind, new.schema, (vector_column,), rows.text_form)
                    )
                write(new)
            if progress is not None:
                progress(start + len(texts), len(rows))
        if write is None:
            raise TableError(f"{rows.name}: no row has a text in '{text_column}'.")
    return EmbeddedTable(path, n_rows, width, skipped, truncated, encoder.name, run.n_reused)


def embed_lexicon(
    lexicon: Lexicon,
    table: Any,
    *,
    encoder: Any = None,
    groups: Literal["forms", "proposed"] | None = "forms",
    device: str | None = None,
    batch_size: int = 32,
) -> Rows:
    """Return the words of a lexicon as labelled rows, embedded by the encoder of a table of documents.

    An axis fitted on these rows can score the documents. The rows get a sample of the documents as `background`, so
    that the verdict applies to the scores of the documents.

    Parameters
    ----------
    lexicon : Lexicon
        Labelled words or texts.
    table : VectorTable, path or frame
        The documents; see :func:`densray.open_table`.
    encoder : str, path or encoder, optional
        The encoder of the documents, as for :func:`embed` (default: the one recorded in the table). An error is raised
        if the table records another encoder.
    groups : {"forms", "proposed"} or None, default="forms"
        Words to hold out together; see :meth:`densray.Lexicon.align`.
    device, batch_size
        See :func:`embed`.

    Examples
    --------
    >>> import polars
    >>> from densray import Axis, Lexicon
    >>> class Letters:
    ...     def encode(self, texts):
    ...         return np.array([[text.count(letter) for letter in "abcd"] for text in texts])
    >>> texts = ["aab", "abcd", "ccd", "dab"]
    >>> documents = polars.DataFrame({"text": texts, "vector": Letters().encode(texts).tolist()})
    >>> documents = documents.cast({"vector": polars.List(polars.Float32)})
    >>> words = Lexicon({"a": 1, "b": 1, "ab": 1, "c": -1, "d": -1, "cd": -1})
    >>> axis = Axis.fit(embed_lexicon(words, documents, encoder=Letters()), "mean-difference")
    >>> axis.coordinates(Letters().encode(["aab", "ccd"])).round(2).tolist()
    [0.67, -0.67]
    """
    documents = open_table(table)
    loaded = _encoder_of(documents, encoder, device, batch_size)
    vectors, record, table_encoder = loaded.encode(lexicon.words), loaded.record(), documents.encoder
    differs = table_encoder is not None and record is not None and not table_encoder.matches(record)
    if documents.width != vectors.shape[1] or differs:
        encoder_name = f"the encoder '{table_encoder.name}'" if table_encoder is not None else "another encoder"
        raise TaskError(
            f"{documents.name} has vectors of {encoder_name} (width {documents.width}), and '{loaded.name}' would "
            f"embed the words (width {vectors.shape[1]}). Give the encoder that embedded the documents."
        )
    words = WordSpace(lexicon.words, vectors, name=loaded.name)
    rows = lexicon.align(words, minimum=2, groups=groups)
    sample = documents.sample(_SAMPLED_DOCUMENTS)
    no_locations = np.empty(0, dtype=np.int64)
    return replace(rows, background=sample, locations=no_locations, encoder=table_encoder or record)


def _encoder_of(documents: VectorTable, encoder: Any, device: str | None, batch_size: int) -> _Encoder:
    """Return the given encoder, or the one that a table records."""
    record = documents.encoder
    if encoder is None and (record is None or not record.source):
        how = "does not record its encoder" if record is None else f"was embedded by an object ({record.name})"
        raise TaskError(f"{documents.name} {how}. Name the encoder of the documents: ", Argument("encoder", ...), ".")
    source = record.source if encoder is None and record is not None else encoder
    try:
        return _Encoder(source, device=device, batch_size=batch_size, max_length=None)
    except TaskError as error:
        if encoder is not None:
            raise
        raise TaskError(
            f"{documents.name} was embedded by '{source}', which cannot be loaded here. Name the folder of that "
            "encoder: ",
            Argument("encoder", ...),
            ".",
        ) from error


def _check_output(source: Any, path: Path, *, overwrite: bool) -> Path:
    if isinstance(source, str | Path) and Path(source).exists() and Path(source).resolve() == path.resolve():
        raise OutputError(f"{path} is the input. Write to another file.")
    if path.suffix.lower() not in KINDS:
        raise OutputError(f"{path}: the extension gives the type of table: {', '.join(KINDS)}. Add one of them.")
    return check_writable(path, overwrite=overwrite)


def _check_columns(names: Sequence[str], text_column: str, vector_column: str, where: str) -> None:
    if text_column not in names:
        raise TableError(f"{where} has no column '{text_column}'. {suggest(text_column, names)}")
    if vector_column in names:
        raise TableError(f"{where} has a column '{vector_column}' already. Choose another name for the vectors.")


def _is_missing(text: Any) -> bool:
    return not isinstance(text, str) or not text.strip()


def _blocks(rows: Any) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield record batches of at most a block of rows, and the number of the first row of each."""
    start = 0
    for batch in rows.batches():
        for offset in range(0, batch.num_rows, _BLOCK):
            part = batch.slice(offset, _BLOCK)
            yield part, start
            start += part.num_rows


def _integers(rows: list[int]) -> Any:
    import pyarrow as pa

    return pa.array(rows, type=pa.int64())


def _pooling_of(model: Any) -> str:
    """Return how a sentence encoder pools the vectors of tokens, such as "mean"; empty if it is not known."""
    children = getattr(model, "children", None)
    for module in children() if callable(children) else ():
        if hasattr(module, "get_pooling_mode_str"):  # up to sentence-transformers 5
            return str(module.get_pooling_mode_str())
        if hasattr(module, "pooling_mode"):
            mode = module.pooling_mode
            return mode if isinstance(mode, str) else "+".join(map(str, mode))
    return ""


def _state_of(model: Any) -> list[tuple[str, Any]]:
    """Return settings and arrays of an encoder by name; for other objects their repr, or their type."""
    state = []
    for name, value in sorted(getattr(model, "__dict__", {}).items()):
        plain = value is None or isinstance(value, str | bool | int | float)
        if plain or (isinstance(value, np.ndarray) and not value.dtype.hasobject):
            state.append((name, value))
        elif callable(getattr(value, "to_str", None)):  # a tokenizer
            state.append((name, str(value.to_str())))
        else:
            state.append((name, type(value).__qualname__))
    return state


def _with_vectors(
    batch: pa.RecordBatch, vectors: NDArray[np.float32], name: str, record: EncoderRecord | None
) -> pa.RecordBatch:
    import pyarrow as pa

    flat = pa.array(np.ascontiguousarray(vectors).reshape(-1), type=pa.float32())
    column = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    schema = batch.schema.append(pa.field(name, column.type))
    schema = schema if record is None else with_encoder(schema, name, record)
    return pa.RecordBatch.from_arrays([*batch.columns, column], schema=schema)
