"""NumPy files: .npy with a words file next to it, and .npz."""

from __future__ import annotations

import glob
import hashlib
import os
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from densray._arrays import first_vanished
from densray._files import folder_lock, link_target
from densray._threads import ignored_warnings
from densray.errors import Advice, Argument, FormatError, name_some, shorten
from densray.formats._blocks import (
    BLOCK_BYTES,
    Block,
    Pieces,
    ReadOptions,
    SpaceStream,
    check_shape,
    rows_per_block,
    select_rows,
)
from densray.formats._bytes import (
    BOM,
    DECODING_ADVICE,
    Source,
    check_encoding,
    compression_of,
    decode_words,
    open_member,
    open_source,
    refuse_joined,
    refuse_utf16,
    undecodable,
)

_LONGEST_HEADER = 10_000


@dataclass(frozen=True)
class ArrayHeader:
    """The header of a ``.npy`` file."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]


def read_array_header(source: Source) -> ArrayHeader:
    """Return the header of an array, read from its beginning; pickled objects are refused."""
    name = source.path.name
    head = source.peek(12)
    version = head[6:8]
    length = int.from_bytes(head[8:10] if version == b"\x01\x00" else head[8:12], "little")
    if version not in (b"\x01\x00", b"\x02\x00") or length > _LONGEST_HEADER:
        raise FormatError(f"{name}, byte 6: {shorten(head)} is not a known NumPy array.")
    try:
        with ignored_warnings(Warning):
            npy.read_magic(source)  # type: ignore[arg-type]
            reader = npy.read_array_header_1_0 if version == b"\x01\x00" else npy.read_array_header_2_0
            shape, fortran, dtype = reader(source)  # type: ignore[arg-type]
    except Exception as error:  # the header is a Python literal, whose parser raises many exceptions
        raise FormatError(f"{name}, byte 10: the array header is damaged ({shorten(error)}).") from error
    if dtype.hasobject:
        raise FormatError(
            f"{name}: the array holds pickled Python objects, and opening them could run any code. "
            f"Save vectors as float32 and words as text (dtype=str)."
        )
    return ArrayHeader(tuple(int(length) for length in shape), bool(fortran), dtype)


def read_npy(source: Source, options: ReadOptions, words_file: Path | None) -> SpaceStream:
    """Return the stream of a ``.npy`` matrix whose words are in a separate file, one per line."""
    header = read_array_header(source)
    rows, width = check_matrix(source.path.name, header)
    digest = _words_digest(source, header)
    count = rows if options.limit is None else min(rows, options.limit)
    if digest is not None and words_file is None:
        words = read_signed_words(source, digest, count, options)
    else:
        words = read_words_beside(source.path, words_file, options, rows=rows)
    return SpaceStream(width, rows, matrix_blocks(source, header, words, options))


#: `write_npy` appends the SHA-256 of the words file to the matrix. `numpy.load` ignores bytes after the data.
_TRAILER = re.compile(rb"\n# words sha256 ([0-9a-f]{64})\n")
_TRAILER_BYTES = len("\n# words sha256 \n") + 64


def _words_digest(source: Source, header: ArrayHeader) -> str | None:
    """Return the digest after a matrix; None if there is none, or if the file is compressed."""
    if source.size is None:
        return None
    place = source.file.tell()
    source.file.seek(max(0, source.size - _TRAILER_BYTES))
    match = _TRAILER.fullmatch(source.file.read(_TRAILER_BYTES))
    source.file.seek(place)
    return None if match is None else match[1].decode()


def check_matrix(name: str, header: ArrayHeader) -> tuple[int, int]:
    """Return rows and width of a matrix of numbers; anything else is refused."""
    if len(header.shape) != 2 or header.dtype.kind not in "fiu":
        raise FormatError(
            f"{name}: an array of shape {header.shape} and type {header.dtype}; vectors are a matrix of numbers, "
            f"one row per word."
        )
    rows, width = header.shape
    check_shape(name, rows, width)
    return rows, width


def matrix_blocks(source: Source, header: ArrayHeader, words: list[str], options: ReadOptions) -> Iterator[Block]:
    """Yield the blocks of a matrix that follows its header, with its words."""
    step = rows_per_block(header.shape[1], itemsize=max(4, header.dtype.itemsize))
    start = 0
    for piece in array_blocks(source, header, rows=step, stop=len(words)):
        yield select_rows(words[start : start + len(piece)], to_float32(piece, source.path.name, start), start, options)
        start += len(piece)


def array_blocks(source: Source, header: ArrayHeader, *, rows: int, stop: int | None = None) -> Iterator[NDArray[Any]]:
    """Yield the first `stop` rows of a matrix that follows its header, `rows` at a time, in their own type.

    A matrix in Fortran order comes as one block, since its rows are spread over the whole file.
    """
    total, width = header.shape
    stop = total if stop is None else stop
    step = total if header.fortran else rows
    for start in range(0, stop, step):
        end = total if header.fortran else min(stop, start + step)
        size = (end - start) * width * header.dtype.itemsize
        data = source.read(size)
        if len(data) < size:
            raise FormatError(
                f"{source.path.name}, byte {source.offset:,}: the array says {total:,} rows of {width:,} numbers and "
                f"ends within rows {start + 1:,} to {end:,}. It is cut off, or its header is wrong."
            )
        order: Literal["F", "C"] = "F" if header.fortran else "C"
        yield np.frombuffer(data, dtype=header.dtype).reshape((end - start, width), order=order)[: stop - start]
    rest = source.read(_TRAILER_BYTES + 1) if stop == total else b""
    if rest and not _TRAILER.fullmatch(rest):
        raise FormatError(
            f"{source.path.name}, byte {source.offset - len(rest):,}: the array says {total:,} rows of {width:,} "
            f"numbers, and more bytes follow. Its header is wrong."
        )


def to_float32(numbers: NDArray[Any], name: str, first: int) -> NDArray[np.float32]:
    """Return the rows of a file from row `first` on as float32; a vector that would become zero is refused.

    Numbers too large become infinite, which readers refuse.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = numbers.astype(np.float32, copy=False)
    vanished = first_vanished(numbers, rounded)
    if vanished is not None:
        raise FormatError(
            f"{name}, row {first + vanished + 1:,}: the vector has no number above "
            f"{np.abs(numbers[vanished]).max():.0e}, which float32 rounds to zero. Scale the vectors, for example to "
            "unit length."
        )
    return rounded


def write_array(file: IO[bytes], pieces: Iterator[NDArray[Any]], *, shape: tuple[int, ...], dtype: str) -> None:
    """Write a ``.npy`` array piece by piece, in C order."""
    npy.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    for piece in pieces:
        file.write(np.ascontiguousarray(piece, dtype=dtype).data)


def write_npy(file: IO[bytes], words_file: IO[bytes], pieces: Pieces, *, rows: int, width: int) -> str:
    """Write a ``.npy`` matrix, and its words, one per line, into a second file; return the digest of the words.

    The digest follows the matrix, so that a reader detects words of another matrix.
    """
    digest = hashlib.sha256()

    def vectors() -> Iterator[NDArray[np.float32]]:
        for words, block in pieces:
            odd = next((word for word in words if "\n" in word or "\r" in word), None)
            if odd is not None:
                raise FormatError(
                    f"The word {shorten(odd)} has a line end in it, which a words file cannot hold. "
                    "Write native or .parquet."
                )
            lines = "".join(f"{word}\n" for word in words).encode()
            digest.update(lines)
            words_file.write(lines)
            yield block

    write_array(file, vectors(), shape=(rows, width), dtype="<f4")
    file.write(b"\n# words sha256 %s\n" % digest.hexdigest().encode())
    return digest.hexdigest()


def put_pair_in_place(matrix: Path, words: Path, path: Path, digest: str) -> None:
    """Rename a complete matrix and its words, so that a reader always finds either the old pair or the new one.

    First the words get a name with their digest, under which the new matrix finds them; then the matrix replaces the
    old one; then the words get their usual name. A writer killed in between leaves a readable pair.
    """
    waiting = waiting_words(path, digest)
    with folder_lock(path.parent) as flush_names:
        os.replace(words, waiting)
        flush_names()
        os.replace(matrix, path)
        flush_names()
        os.replace(waiting, words_path(path))
        for left in path.parent.glob(f"{glob.escape(_stem(path))}.words.{'[0-9a-f]' * 16}.txt"):
            left.unlink(missing_ok=True)  # left by a killed writer


def waiting_words(path: Path, digest: str) -> Path:
    """Return the temporary path of words until their matrix is in place."""
    return path.with_name(f"{_stem(path)}.words.{digest[:16]}.txt")


def _stem(path: Path) -> str:
    return Path(compression_of(path)[1]).stem


def words_path(path: Path) -> Path:
    """Return the path of the words of ``vectors.npy``: ``vectors.words.txt``."""
    return path.with_name(f"{_stem(path)}.words.txt")


def _usual_names(path: Path) -> tuple[str, ...]:
    """Return the possible names of a words file next to a matrix."""
    stem = _stem(path)
    return (f"{stem}.words.txt", f"{stem}.words", f"{stem}.vocab", f"{stem}.txt", "words.txt", "vocab.txt")


class PairChangedError(FormatError):
    """The words next to a matrix are not the ones it was written with."""


def read_signed_words(source: Source, digest: str, count: int, options: ReadOptions) -> list[str]:
    """Return the first words of a matrix that has the digest of all of them; other words are refused."""
    path = source.path
    other_names: list[str] = []
    for base in dict.fromkeys((path, link_target(path))):
        waiting = waiting_words(base, digest)
        names = _usual_names(base)
        for candidate in (names[0], waiting.name, *names):  # the first again: it may have appeared in the meantime
            file = base.with_name(candidate)
            content = _content(file)
            if content is None:
                continue
            if hashlib.sha256(content).hexdigest() == digest:
                lines = content.split(b"\n")[:-1]
                if len(lines) < count:
                    raise FormatError(f"{file.name}: {len(lines):,} words for {count:,} vectors of {path.name}.")
                return _decode(lines[:count], file.name, options)
            other_names.append(file.name)
    if not other_names:
        raise PairChangedError(
            f"{path.name}: the file of its words, {words_path(path).name}, is missing.",
            Advice(" Put it back, or name it: ", Argument("words_file", ...), "."),
        )
    raise PairChangedError(
        f"{other_names[0]} does not hold the words that {path.name} was written with: one of the two was replaced or "
        "edited.",
        Advice(" Write both again, or name the words to use: ", Argument("words_file", ...), "."),
    )


def _content(path: Path) -> bytes | None:
    """Return the bytes of a file, None if it does not exist; it may disappear at any moment."""
    try:
        return path.read_bytes() if path.is_file() else None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}. The words of a matrix are needed.") from error


def read_words_beside(path: Path, words_file: Path | None, options: ReadOptions, *, rows: int) -> list[str]:
    """Return the words of the first rows, from the given file or the one next to the vectors."""
    names = _usual_names(path)
    file = words_file or next((path.with_name(name) for name in names if path.with_name(name).is_file()), None)
    if file is None:
        raise FormatError(
            f"{path.name} holds {rows:,} vectors and no words.",
            Advice(f" Put them in {names[0]}, one per line, or name the file: ", Argument("words_file", ...), "."),
        )
    count = rows if options.limit is None else min(rows, options.limit)
    lines = _lines(file, most=count + 1 if count == rows else count)
    _check_list(file.name, lines[:_LIST_LINES])
    if len(lines) != count:
        raise FormatError(
            f"{file.name}, line {len(lines):,}: {'more than ' if len(lines) > count else ''}"
            f"{min(len(lines), count):,} words for the {rows:,} vectors of {path.name}. The numbers must agree."
        )
    return _decode(lines, file.name, options)


def _lines(path: Path, *, most: int) -> list[bytes]:
    """Return the first lines of a file, without their ends and without a byte-order mark."""
    lines: list[bytes] = []
    rest, has_returns = b"", False
    with open_source(path) as source:
        refuse_utf16(path.name, source.peek(2))
        if source.peek(len(BOM)) == BOM:
            source.read(len(BOM))
        while len(lines) < most and (piece := source.read(BLOCK_BYTES)):
            if b"\0" in piece:
                raise FormatError(
                    f"{path.name}, line {len(lines) + 1 + piece[: piece.index(0)].count(10):,}: a NUL byte. Words are "
                    "text; if this is UTF-16, save it as UTF-8."
                )
            has_returns = has_returns or b"\r" in piece
            *whole, rest = (rest + piece).split(b"\n")
            lines += whole
            if len(rest) > BLOCK_BYTES:
                raise FormatError(
                    f"{path.name}, line {len(lines) + 1:,}: this line has more than {BLOCK_BYTES:,} bytes, too many "
                    "for a word."
                )
    if rest:
        lines.append(rest)
    return _without_returns(lines[:most], path.name) if has_returns else lines[:most]


_LIST_LINES = 100
_COUNT = rb"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
_WITH_COUNT = re.compile(rb".+[ \t]\d+(?:\.\d*)?")
#: A number before, after or between other fields; the group is the rest of the line.
_WITH_FIELD = (
    re.compile(rb"\s*\d+[.:)]?[ \t]+(\S.*)"),
    *(
        re.compile(form % {b"mark": mark, b"count": _COUNT})
        for mark in (b",", b";", b"[|]")
        for form in (
            rb"(.+?)%(mark)s\s*%(count)s\s*",
            rb"\s*%(count)s\s*%(mark)s(.+)",
            rb"(.+?)%(mark)s\s*%(count)s\s*%(mark)s.*",
        )
    ),
)
_NUMERIC = re.compile(rb"\s*" + _COUNT + rb"\s*")


def _check_list(name: str, lines: list[bytes]) -> None:
    """Refuse a file of words whose first lines are a table, such as words and their frequencies."""
    if len(lines) > 1 and (
        all(b"\t" in line for line in lines)
        or all(map(_WITH_COUNT.fullmatch, lines))
        or any(_all_have(pattern, lines) for pattern in _WITH_FIELD)
    ):
        raise FormatError(f"{name}, line 1: {shorten(lines[0])} is more than one word. Remove the other columns.")
    if len(lines) > 1 and all(len(line) > 2 and line[:1] == line[-1:] == b'"' for line in lines):
        raise FormatError(f"{name}, line 1: every word is in quotation marks. Write the file without them.")


def _all_have(pattern: re.Pattern[bytes], lines: list[bytes]) -> bool:
    """Return whether every line has a number and something else; lines such as '1,000' are words."""
    matches = [pattern.fullmatch(line) for line in lines]
    return all(matches) and not all(match is None or _NUMERIC.fullmatch(match[1]) for match in matches)


def _without_returns(lines: list[bytes], name: str) -> list[bytes]:
    """Return lines without the CR at their ends; a CR within a line is an error."""
    whole = [line.removesuffix(b"\r") for line in lines]
    odd = next((number for number, line in enumerate(whole, start=1) if b"\r" in line), None)
    if odd is not None:
        raise FormatError(f"{name}, line {odd:,}: the line ends with CR alone. Use LF or CR LF.")
    return whole


def _decode(lines: list[bytes], name: str, options: ReadOptions) -> list[str]:
    check_encoding(options)
    words: list[str] = []
    for number, word in enumerate(decode_words(lines, options), start=1):
        if word is None:
            raise FormatError(f"{name}, line {number:,}: {undecodable(lines[number - 1], options)}.", DECODING_ADVICE)
        words.append(word)
    return words


_VECTORS = ("vectors", "embeddings", "vecs", "matrix")
_WORDS = ("words", "vocab", "vocabulary", "tokens")


def read_npz(source: Source, options: ReadOptions) -> SpaceStream:
    """Return the stream of an archive with one matrix of numbers and one array of words, all from one open file."""
    archive = _Archive(source.path, source.file)
    headers = archive.headers()
    texts = [name for name, header in headers.items() if len(header.shape) == 1 and header.dtype.kind in "US"]
    vectors, words = choose_matrix(headers), _choose(texts, _WORDS)
    if vectors is None or words is None:
        raise FormatError(
            f"{source.path.name}: {name_some(headers)} in the archive; a matrix 'vectors' and an array of text 'words' "
            f"are needed."
        )
    rows, width = check_matrix(f"{source.path.name}, '{vectors}'", headers[vectors])
    if headers[words].shape != (rows,):
        raise FormatError(
            f"{source.path.name}: {headers[words].shape[0]:,} words for {rows:,} vectors. The numbers must agree."
        )
    word_list = _words(archive, words, rows if options.limit is None else min(rows, options.limit), options)

    def blocks() -> Iterator[Block]:
        with archive.open(vectors) as part:
            yield from matrix_blocks(part, read_array_header(part), word_list, options)

    return SpaceStream(width, rows, blocks())


class _Archive:
    """The arrays of an ``.npz`` that is open."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self.path = path
        self._file = file
        try:
            self._archive = zipfile.ZipFile(file)
            members = [name for name in self._archive.namelist() if name.endswith(".npy")]
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, IndexError) as error:
            raise FormatError(f"{path.name}: a damaged archive ({shorten(error)}). Fetch the file again.") from error
        refuse_joined(path, self._archive)
        if len(set(members)) < len(members):
            raise FormatError(f"{path.name}: the archive has two arrays of one name ({name_some(members)}).")
        self.names = [name.removesuffix(".npy") for name in members]

    def open(self, name: str) -> Source:
        """Open one array."""
        return open_member(self.path, self._file, self._archive, f"{name}.npy")

    def headers(self) -> dict[str, ArrayHeader]:
        """Return the header of every array, by name."""
        headers: dict[str, ArrayHeader] = {}
        for name in self.names:
            with self.open(name) as part:
                headers[name] = read_array_header(part)
        return headers


def choose_matrix(headers: dict[str, ArrayHeader]) -> str | None:
    """Return the name of the matrix of numbers: the only one, or the first with a usual name."""
    matrices = [name for name, header in headers.items() if len(header.shape) == 2 and header.dtype.kind in "fiu"]
    return _choose(matrices, _VECTORS)


@dataclass(frozen=True)
class ArchiveMatrix:
    """One matrix of an ``.npz``, read block by block, and the names of all its arrays."""

    path: Path
    name: str
    columns: tuple[str, ...]
    rows: int
    state: tuple[int, ...]

    def blocks(self, rows: int) -> Iterator[NDArray[Any]]:
        """Yield `rows` rows at a time, in the type of the file."""
        with self._reopen() as file, _Archive(self.path, file).open(self.name) as source:
            yield from array_blocks(source, read_array_header(source), rows=rows)

    def column(self, name: str) -> NDArray[Any]:
        """Return one whole array of the archive."""
        with self._reopen() as file, np.load(file, allow_pickle=False) as archive:
            return np.asarray(archive[name])

    def _reopen(self) -> IO[bytes]:
        """Open the file again; raise if it was replaced."""
        file = _open(self.path)
        if _state(file) != self.state:
            file.close()
            raise FormatError(f"{self.path.name} was replaced while it was being read. Start again.")
        return file


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}.") from error


def _state(file: IO[bytes]) -> tuple[int, ...]:
    """Return values that distinguish a file from another one of the same name."""
    state = os.fstat(file.fileno())
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns


def open_archive(path: Path, *, vectors: str | None = None) -> ArchiveMatrix:
    """Return a matrix of an ``.npz`` by name, or the only possible one; it must be in C order."""
    with _open(path) as file:
        headers, state = _Archive(path, file).headers(), _state(file)
    name = choose_matrix({key: header for key, header in headers.items() if vectors in (None, key)})
    if name is None:
        raise FormatError(
            f"{path.name} holds {name_some(headers)}; one matrix of vectors is needed.",
            Advice(" Name it with ", Argument("vectors", ...), "."),
        )
    if headers[name].fortran:
        raise FormatError(f"{path.name}, '{name}': the matrix is in Fortran order; C order is needed. Save it again.")
    rows, _ = check_matrix(f"{path.name}, '{name}'", headers[name])
    return ArchiveMatrix(path, name, tuple(headers), rows, state)


def _choose(names: list[str], preferred: tuple[str, ...]) -> str | None:
    """Return the only array, or the first with a usual name."""
    if len(names) == 1:
        return names[0]
    return next((name for name in preferred if name in names), None)


def _words(archive: _Archive, name: str, count: int, options: ReadOptions) -> list[str]:
    """Return the first words of an array of text, read in pieces."""
    word_list: list[str] = []
    with archive.open(name) as part:
        header = read_array_header(part)
        size = max(1, header.dtype.itemsize)
        step = max(1, BLOCK_BYTES // size)
        while len(word_list) < count:
            data = part.read(min(step, count - len(word_list)) * size)
            if not data or len(data) % size:
                raise FormatError(
                    f"{archive.path.name}, '{name}': the array says {header.shape[0]:,} words and ends within word "
                    f"{len(word_list) + len(data) // size + 1:,}. It is cut off."
                )
            word_list += _texts(data, header, archive.path, name, options)
        if count == header.shape[0] and part.read(1):  # read to the end, where the checksum is
            raise FormatError(f"{archive.path.name}, '{name}': more bytes follow its words. Its header is wrong.")
    return word_list


def _texts(data: bytes, header: ArrayHeader, path: Path, name: str, options: ReadOptions) -> list[str]:
    if header.dtype.kind == "S":
        raw: list[bytes] = np.frombuffer(data, dtype=header.dtype).tolist()
        decoded = decode_words(raw, options)
        if None in decoded:
            raise FormatError(
                f"{path.name}, '{name}': {undecodable(raw[decoded.index(None)], options)}.", DECODING_ADVICE
            )
        return [word for word in decoded if word is not None]
    try:
        texts: list[str] = np.frombuffer(data, dtype=header.dtype).tolist()
        "".join(texts).encode()
    except (ValueError, SystemError) as error:
        raise FormatError(f"{path.name}, '{name}': a word is not Unicode ({shorten(error)}).") from error
    return texts


def write_npz(file: IO[bytes], pieces: Pieces, *, rows: int, width: int) -> None:
    """Write an archive `numpy.load` opens: ``vectors`` as they come, then ``words``."""
    words: list[str] = []

    def vectors() -> Iterator[NDArray[np.float32]]:
        for some, block in pieces:
            odd = next((word for word in some if word.endswith("\0")), None)
            if odd is not None:
                raise FormatError(
                    f"The word {shorten(odd)} ends in NUL, which NumPy text drops. Write native or .parquet."
                )
            words.extend(some)
            yield block

    def texts() -> Iterator[NDArray[Any]]:
        step = max(1, BLOCK_BYTES // (4 * longest))
        for start in range(0, rows, step):
            yield np.array(words[start : start + step], dtype=f"<U{longest}")

    with zipfile.ZipFile(file, "w") as archive:
        with archive.open(zipfile.ZipInfo("vectors.npy"), "w", force_zip64=True) as part:
            write_array(part, vectors(), shape=(rows, width), dtype="<f4")
        longest = max([1, *map(len, words)])
        entry = zipfile.ZipInfo("words.npy")
        entry.compress_type = zipfile.ZIP_DEFLATED  # compresses the padding of short words
        with archive.open(entry, "w", force_zip64=True) as part:
            write_array(part, texts(), shape=(rows,), dtype=f"<U{longest}")
