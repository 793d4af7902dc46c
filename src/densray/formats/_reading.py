"""Read a space from a file of any format, compressed or not, recognised by content; the table of formats."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from densray._files import NPY_MAGIC, NUMBER, PARQUET_MAGIC, ZIP_MAGIC, is_safetensors
from densray.errors import Advice, Argument, FormatError, SpaceError, name_some, shorten, suggest
from densray.formats._arrays import PairChangedError, read_npy, read_npz, write_npy, write_npz
from densray.formats._binary import read_word2vec_binary, write_word2vec_binary
from densray.formats._blocks import (
    Block,
    ReadOptions,
    SpaceStream,
    checked_blocks,
    rows_per_block,
    warn_skipped,
)
from densray.formats._bytes import (
    HEAD_BYTES,
    NATIVE_NAME,
    Source,
    compression_of,
    fields_of,
    header_of,
    open_source,
    refuse_foreign,
    refuse_utf16,
)
from densray.formats._parquet import read_parquet, write_parquet
from densray.formats._safetensors import check_native, open_native, read_safetensors, write_native
from densray.formats._tables import read_arrow_table, read_csv_table, read_json_lines, table_kind
from densray.formats._text import read_glove, read_word2vec_text, write_glove, write_word2vec_text
from densray.progress import Progress
from densray.space import WordSpace


class Matrix:
    """Rows collected into one matrix that grows with the rows read, not with the size declared in a header."""

    def __init__(self, width: int, *, expected: int | None) -> None:
        self._rows = 0
        self._array = np.empty((expected or rows_per_block(width), width), dtype=np.float32)

    def append(self, vectors: NDArray[np.float32]) -> None:
        """Append rows; capacity grows by a quarter at a time, in place if the system can."""
        end = self._rows + len(vectors)
        if end > len(self._array):
            self._array.resize((max(end, len(self._array) * 5 // 4), self._array.shape[1]), refcheck=False)
        self._array[self._rows : end] = vectors
        self._rows = end

    def finish(self) -> NDArray[np.float32]:
        """Return the matrix without spare capacity."""
        if self._rows < len(self._array):
            self._array.resize((self._rows, self._array.shape[1]), refcheck=False)
        return self._array


def read_space(
    path: str | Path,
    *,
    limit: int | None = None,
    words: Iterable[str] | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    bad_rows: Literal["error", "skip"] = "error",
    member: str | None = None,
    words_file: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> WordSpace:
    """Return the space in an embedding file of any format and compression.

    Parameters
    ----------
    path : path
        word2vec text or binary, GloVe, fastText ``.vec``, ``.npy`` with a words file, ``.npz``, safetensors,
        parquet or native; plain or in gz, bz2, zst, zip. Also CSV with a column of words, JSON lines and Arrow
        (feather). The format is detected from the content.
    limit : int, optional
        Read only this many rows (most files are ordered by frequency).
    words : iterable of str, optional
        Read only these words, in the order of the file. Words that are not in the file are left out.
    format : str, optional
        One of `FORMATS` (default: detected from the content).
    encoding, errors : str
        How words are decoded, as for `bytes.decode`.
    bad_rows : {"error", "skip"}
        How to treat an invalid row: a wrong count of numbers, NaN, infinity, invalid text, or a repeated word.
        ``"skip"`` leaves it out and warns once.
    member : str, optional
        The file to read, if a zip archive holds several.
    words_file : path, optional
        The words of a ``.npy`` or safetensors file, one per line (default: a file next to it).
    name : str, optional
        Name of the space (default: the name of the file without its extensions).
    progress : callable, optional
        Called with the number of rows done and expected (None if the file does not declare it).

    Returns
    -------
    WordSpace
        Float32. The vectors of a native file stay on disk, memory-mapped.

    Raises
    ------
    FormatError
        The message has the file, the line or byte, and the text found.
    """
    path = Path(path)
    options = read_options(limit, words, encoding=encoding, errors=errors, bad_rows=bad_rows)
    content = _open_file(path, options, format=format, member=member, words_file=words_file)
    if isinstance(content, WordSpace):
        return _part_of(content, path, options, name)
    source, stream = content
    with source:
        index: dict[str, int] = {}
        matrix = Matrix(stream.width, expected=_rows_to_allocate(source, stream, options))
        for block in checked_blocks(stream, path.name, options, index):
            matrix.append(block.vectors)
            if progress is not None:
                progress(len(index), stream.rows)
    warn_skipped(path.name, options)
    if not index:
        raise _no_rows_error(path, options)
    return WordSpace.unchecked(tuple(index), matrix.finish(), name=name or name_of(path), index=index)


def read_options(
    limit: int | None,
    words: Iterable[str] | None,
    *,
    encoding: str = "utf-8",
    errors: str = "strict",
    bad_rows: str = "error",
) -> ReadOptions:
    """Return the checked options for reading."""
    if limit is not None and limit < 1:
        raise FormatError(Argument("limit"), f" is {limit}; it must be at least 1, the number of rows to read.")
    if isinstance(words, str):
        raise FormatError(f"words is the text {shorten(words)}; give a list of words.")
    if bad_rows not in ("error", "skip"):
        raise FormatError(Argument("bad_rows", bad_rows), f" is given. {suggest(str(bad_rows), ['error', 'skip'])}")
    selection = None if words is None else frozenset(words)
    if selection is not None and not selection:
        raise FormatError("the list of words is empty; give at least one word, or None for all.")
    return ReadOptions(limit, selection, encoding, errors, bad_rows == "skip")


@contextmanager
def open_stream(
    path: Path,
    options: ReadOptions,
    *,
    format: str | None = None,
    member: str | None = None,
    words_file: str | Path | None = None,
) -> Iterator[tuple[SpaceStream, Iterator[Block]]]:
    """Give the stream of a file and its checked blocks, with one block in memory at a time."""
    content = _open_file(path, options, format=format, member=member, words_file=words_file, mapped=False)
    assert not isinstance(content, WordSpace)
    source, stream = content
    with source:
        yield stream, checked_blocks(stream, path.name, options, {})


def _open_file(
    path: Path,
    options: ReadOptions,
    *,
    format: str | None,
    member: str | None,
    words_file: str | Path | None,
    mapped: bool = True,
) -> WordSpace | tuple[Source, SpaceStream]:
    """Return a native file as a space, or any file with its stream.

    A matrix and its words are two files. If one is replaced between opening the first and the second, both
    are opened again.
    """
    for attempt in range(_ATTEMPTS):
        source = open_source(path, member=member)
        try:
            kind = _format_of(source, format)
            native = kind == "native" and mapped and source.compression is None
            space = open_native(path, source.file) if native else None
            if space is not None:
                source.file.close()
                return space
            return source, _open(source, kind, options, words_file)
        except PairChangedError:
            if not _was_replaced(source) or attempt == _ATTEMPTS - 1:
                source.file.close()
                raise
            source.file.close()
        except BaseException:
            source.file.close()
            raise
    raise AssertionError("the last attempt returns or raises")


_ATTEMPTS = 20


def _was_replaced(source: Source) -> bool:
    """Return whether the path of an open file refers to another file by now."""
    try:
        return not os.path.samestat(os.fstat(source.file.fileno()), source.path.stat())
    except OSError:
        return False


def verify_space(path: str | Path, *, member: str | None = None, words_file: str | Path | None = None) -> str:
    """Read a file to its end, raise if it is damaged, and return a description of the check.

    A native file is compared with the SHA-256 that it stores. Any other file is read row by row; compressed files
    also have a checksum.

    Parameters
    ----------
    path, member, words_file
        As for `read_space`.
    """
    path = Path(path)
    options = read_options(None, None)
    with open_source(path, member=member) as source:
        kind, compression = detect_format(source), source.compression
        if kind == "native":
            check_native(path, source.file)
            return "the SHA-256 of words and vectors"
    with open_stream(path, options, member=member, words_file=words_file) as (_, blocks):
        rows = sum(len(block.words) for block in blocks)
    packed = {"npz": "zip", "parquet": None}.get(kind, compression)
    return f"{rows:,} rows" + (f" and the checksums of {packed}" if packed else "; the format has no checksum")


def name_of(path: Path) -> str:
    """Return the default name of a space: the file name without compression and extension."""
    return Path(compression_of(path)[1]).stem or path.name


def _format_of(source: Source, format: str | None) -> str:
    if format is None:
        return detect_format(source)
    if format not in FORMATS:
        raise FormatError(f"format is {format!r}. {suggest(str(format), FORMATS)}")
    return format


def _open(source: Source, kind: str, options: ReadOptions, words_file: str | Path | None) -> SpaceStream:
    if kind in _TABLES and source.compression is None:
        return _TABLES[kind](source, options)
    if kind in _TABLES:
        raise FormatError(f"{source.path.name}: a table inside {source.compression} is not read. Decompress it first.")
    entry = FORMATS[kind]
    if not entry.compressible and source.compression is not None:
        raise FormatError(
            f"{source.path.name}: {kind} inside {source.compression} cannot be read in place. Decompress it first."
        )
    if entry.words_file:
        return entry.read(source, options, None if words_file is None else Path(words_file))
    return entry.read(source, options)


def _rows_to_allocate(source: Source, stream: SpaceStream, options: ReadOptions) -> int | None:
    """Return the number of rows to allocate: the declared number, if the size of a plain file is consistent with it."""
    if stream.rows is None or source.size is None or options.words is not None:
        return None
    return stream.rows if options.limit is None else min(stream.rows, options.limit)


def _part_of(space: WordSpace, path: Path, options: ReadOptions, name: str | None) -> WordSpace:
    """Return the requested part of a mapped space."""
    if name is not None:
        space = space.renamed(name)
    if options.limit is not None and options.limit < len(space):
        space = space.limit(options.limit)
    if options.words is not None:
        rows = space.locate(options.words)
        if not (rows >= 0).any():
            raise _no_rows_error(path, options)
        space = space.subset(space.words[row] for row in sorted(rows[rows >= 0].tolist()))
    return space


def _no_rows_error(path: Path, options: ReadOptions) -> SpaceError | FormatError:
    if options.words is None:
        return FormatError(f"{path.name}: no row could be read.")
    return SpaceError(
        f"{path.name}: none of the {len(options.words):,} words is in the file ({name_some(sorted(options.words))}). "
        f"Check case and spelling."
    )


@dataclass(frozen=True)
class Format:
    """A format of space files.

    Attributes
    ----------
    name : str
    read : callable
        Returns the `SpaceStream` of a `Source` and `ReadOptions`; given the path of a words file too, if `words_file`.
    write : callable
        Writes pieces, words and their vectors, into an open file, given the number of rows and their width.
    endings : tuple of str
        File name extensions of this format.
    beginning : bytes
        The first bytes that identify it; empty if `detect_format` needs more checks.
    compressible : bool
        Whether it is read and written inside gz, bz2, zst and zip: a format that is read sequentially.
    words_file : bool
        Whether its words may be in a file next to it.
    two_files : bool
        Whether its words are always written to a second file; such a pair is not compressed.
    """

    name: str
    read: Callable[..., SpaceStream]
    write: Callable[..., object]
    endings: tuple[str, ...]
    beginning: bytes = b""
    compressible: bool = True
    words_file: bool = False
    two_files: bool = False


_ALL = (
    Format("word2vec-text", read_word2vec_text, write_word2vec_text, (".txt", ".w2v")),
    Format("word2vec-binary", read_word2vec_binary, write_word2vec_binary, (".bin",)),
    Format("fasttext", read_word2vec_text, write_word2vec_text, (".vec",)),
    Format("glove", read_glove, write_glove, (".glove",)),
    Format("npy", read_npy, write_npy, (".npy",), NPY_MAGIC, words_file=True, two_files=True),
    Format("npz", read_npz, write_npz, (".npz",), ZIP_MAGIC, compressible=False),
    Format("safetensors", read_safetensors, write_native, (".safetensors",), compressible=False, words_file=True),
    Format("parquet", read_parquet, write_parquet, (".parquet",), PARQUET_MAGIC + b"\x15", compressible=False),
    Format("native", read_safetensors, write_native, (".densray",), compressible=False, words_file=True),
)

FORMATS: Mapping[str, Format] = MappingProxyType({each.name: each for each in _ALL})
"""Every format by its name; ``fasttext`` is word2vec text with the trailing space that fastText writes."""


#: Tables that can be read but not written, and not selected by name.
_TABLES: Mapping[str, Callable[[Source, ReadOptions], SpaceStream]] = MappingProxyType(
    {"arrow": read_arrow_table, "csv": read_csv_table, "jsonl": read_json_lines}
)

_REFUSED = {
    re.compile(rb"\x80[\x02-\x05]"): (
        "a Python pickle (gensim's .kv and .model are), and opening one runs whatever code it holds. "
        "Load it with the gensim that wrote it, then kv.save_word2vec_format('space.bin', binary=True)"
    ),
    re.compile(rb"\xba\x16\x4f\x2f"): (
        "a fastText model (.bin) of subword vectors. Use the .vec file that comes with it"
    ),
    re.compile(rb"\x89HDF\r\n\x1a\n"): "an HDF5 file. Write its vectors to .npz (words, vectors) first",
    re.compile(
        rb"7z\xbc\xaf|\xfd7zXZ|Rar!\x1a"
    ): "an archive of a kind that is not read (gz, bz2, zst and zip are). Unpack it",
}


def detect_format(source: Source) -> str:
    """Return the name of the format, detected from the first bytes of a file."""
    head = source.peek(HEAD_BYTES)
    if not head.strip():
        raise FormatError(f"{source.path.name}: the file is empty{' except for white space' if head else ''}.")
    refuse_foreign(source.path, head)  # also inside a compressed file
    for each in FORMATS.values():
        if each.beginning and head.startswith(each.beginning):
            return each.name
    if is_safetensors(head):  # before pickles: the length of a header may look like the beginning of one
        header_text = head[8 : 8 + int.from_bytes(head[:8], "little")]
        return "native" if f'"{NATIVE_NAME}"'.encode() in header_text else "safetensors"
    for pattern, what in _REFUSED.items():
        if pattern.match(head):
            raise FormatError(f"{source.path.name}: this is {what}.")
    refuse_utf16(source.path.name, head)
    header = header_of(head)
    if header is not None:
        body = head[header[2] :]
        return "word2vec-text" if _looks_like_text(body, header[1]) or _is_printable(body) else "word2vec-binary"
    table = table_kind(head)
    if table is not None:
        return table
    if _looks_like_glove(head):
        return "glove"
    raise _unknown(source, head)


def _looks_like_text(body: bytes, width: int) -> bool:
    """Return whether the bytes after a header are numbers after a word, rather than raw floats."""
    tokens = re.split(rb"[ \t]+", body.partition(b"\n")[0].rstrip(b" \t\r"))
    numbers = tokens[max(1, len(tokens) - width) :]
    if not numbers:
        return not any(byte < 9 for byte in body)
    return sum(NUMBER.fullmatch(token) is not None for token in numbers) * 2 > len(numbers)


_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
#: Raw floats of this many bytes contain control bytes, whatever the encoding of the words.
_ENOUGH_BYTES = 4096


def _is_printable(body: bytes) -> bool:
    """Return whether a file begins with text: raw floats contain control bytes or are not UTF-8.

    The text reader then reports the first field that is not a number.
    """
    if not body or _CONTROL.search(body):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)  # the last character may be cut off
    except UnicodeDecodeError:
        return len(body) >= _ENOUGH_BYTES
    return True


def _looks_like_glove(head: bytes) -> bool:
    """Return whether the first line that is not empty is a word and numbers; the last number may be cut off."""
    fields = fields_of(head.lstrip(b"\r\n").partition(b"\n")[0])
    return any(NUMBER.fullmatch(token) for token in fields[1:][-2:])


def _unknown(source: Source, head: bytes) -> FormatError:
    first, _, rest = head.lstrip(b"\r\n").partition(b"\n")
    name, shown = source.path.name, shorten(first.decode("utf-8", "backslashreplace"))
    if b"\0" not in first and _looks_like_glove(rest):
        return FormatError(f"{name}, line 1: {shown} is not a word and numbers, as the next line is. Leave it out.")
    if b"\0" not in first and len(re.split(rb"[,;]", first)) > 2:
        return FormatError(
            f"{name}, line 1: {shown} does not number the columns of a vector. Begin with a line such as "
            "word,d0,d1,d2, with a name for each column."
        )
    beginning = shorten(head[:24].decode("latin-1"), width=40)
    return FormatError(
        f"{name}, byte 0: {beginning} is not a known format. Known: {', '.join(FORMATS)}; plain or in gz, bz2, zst, "
        "zip.",
        Advice(" If it is one of them, convert it with ", Argument("source_format", ...), "."),
    )
