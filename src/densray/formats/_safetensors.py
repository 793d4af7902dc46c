"""safetensors files: a JSON header, then raw tensors. The native format is one of them, memory-mapped.

densray's own files hold ``vectors`` (F32, rows × width), ``words`` (U8, their concatenated UTF-8 bytes),
``word_offsets`` (I64, the start of each word and the end of the last), ``index_hashes`` (U32, the CRC-32 of each word,
ascending) and ``index_rows`` (U32, the row of each hash). Files of other programs need a words file next to them.

The safetensors package writes arrays in Fortran order wrongly (seen in 0.8.0); here the order is forced.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from densray._files import release_pages
from densray.errors import Advice, Argument, FormatError, name_some, shorten
from densray.formats._arrays import read_words_beside, to_float32
from densray.formats._blocks import Block, Pieces, ReadOptions, SpaceStream, check_shape, rows_per_block, select_rows
from densray.formats._bytes import DECODING_ADVICE, NATIVE_NAME, Source, check_encoding, decode_words, undecodable
from densray.space import WordSpace

FORMAT_VERSION = "1"

_DTYPES = {
    "F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8",
    "I8": "|i1", "U8": "|u1", "I16": "<i2", "U16": "<u2", "I32": "<i4", "U32": "<u4", "I64": "<i8", "U64": "<u8",
    "BOOL": "|b1",
}  # fmt: skip
_FLOATS = ("F16", "BF16", "F32", "F64")
_VECTORS = ("vectors", "embeddings", "embedding.weight", "weight")
_WORD_TENSORS = ("word_offsets", "index_hashes", "index_rows", "words")
_LONGEST_HEADER_BYTES = 100_000_000  # the limit of the safetensors library
_LONGEST_TEXT_BYTES = 10**18
_ALIGNMENT_BYTES = 64
_LONGEST_NAME_LETTERS = 200
_DIGEST_ROWS = 1 << 14


class Tensor(NamedTuple):
    """One tensor of a file: its safetensors type name, and its memory-mapped numbers.

    For types that NumPy lacks (F8, F4 …), it holds the bytes.
    """

    dtype: str
    array: NDArray[Any]


def read_tensors(path: Path, file: IO[bytes] | None = None) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the metadata and all tensors of a file, memory-mapped; each must lie within the file.

    If an open `file` is given, it is read instead of the path.
    """
    if file is None:
        try:
            with path.open("rb") as handle:
                return read_tensors(path, handle)
        except OSError as error:
            raise FormatError(f"{path}: {error.strerror or error}.") from error
    name = path.name
    try:
        size = os.fstat(file.fileno()).st_size
        file.seek(0)
        length = int.from_bytes(file.read(8), "little")
        if length > min(_LONGEST_HEADER_BYTES, size - 8):
            raise FormatError(f"{name}, byte 0: a header of {length:,} bytes is declared; the file has {size:,}.")
        header = json.loads(file.read(length), object_pairs_hook=_no_name_twice)
        data = np.memmap(file, dtype=np.uint8, mode="r")[8 + length :]
        metadata = header.pop("__metadata__", {})
        tensors = {key: Tensor(str(entry["dtype"]), _tensor(data, entry)) for key, entry in header.items()}
        end = 0
        for key, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            if entry["data_offsets"][0] != end:
                raise ValueError(f"{shorten(key)} does not begin where the tensor before it ends, at byte {end:,}")
            end = entry["data_offsets"][1]
        if end != len(data):
            raise ValueError(f"the tensors end at byte {end:,} of {len(data):,} bytes of data")
    except FormatError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise FormatError(
            f"{name}, byte 8: the safetensors header is damaged, or the file is cut off ({shorten(error, width=130)}). "
            "Write it again."
        ) from error
    return metadata if isinstance(metadata, dict) else {}, tensors


def _no_name_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; repeated names are refused."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("the header has a repeated name")
    return entries


def _tensor(data: NDArray[np.uint8], entry: dict[str, Any]) -> NDArray[Any]:
    begin, end = entry["data_offsets"]
    shape = tuple(entry["shape"])
    for number in (begin, end, *shape):
        if type(number) is not int or number < 0:
            raise ValueError(f"{shorten(number)} is not a size")
    if begin > end or end > len(data):
        raise ValueError(f"{shorten(entry)} does not fit the {len(data):,} bytes of data")
    dtype_name = _DTYPES.get(str(entry["dtype"]))
    if dtype_name is None:
        return data[begin:end]
    dtype = np.dtype(dtype_name)
    if end - begin != dtype.itemsize * math.prod(shape):
        raise ValueError(f"{shorten(entry)} does not fit the {len(data):,} bytes of data")
    return data[begin:end].view(dtype).reshape(shape)


def read_safetensors(source: Source, options: ReadOptions, words_file: Path | None) -> SpaceStream:
    """Return the stream of a safetensors file with one matrix of floats."""
    name = source.path.name
    _, tensors = read_tensors(source.path, source.file)
    dtype, matrix = _matrix_of(name, tensors)
    rows, width = matrix.shape
    check_shape(name, rows, width)
    if {key: tensors[key].dtype for key in ("words", "word_offsets") if key in tensors} == _WORDS:
        count = rows if options.limit is None else min(rows, options.limit)
        words = _words(name, tensors["word_offsets"].array, tensors["words"].array, rows, count, options)
    else:
        words = read_words_beside(source.path, words_file, options, rows=rows)

    def blocks() -> Iterator[Block]:
        step = rows_per_block(width, itemsize=max(4, matrix.dtype.itemsize))
        for start in range(0, len(words), step):
            piece = matrix[start : min(start + step, len(words))]
            numbers = _from_bfloat16(piece) if dtype == "BF16" else to_float32(piece, name, start)
            yield select_rows(words[start : start + step], numbers, start, options)

    return SpaceStream(width, rows, blocks())


def _matrix_of(name: str, tensors: Mapping[str, Tensor], vectors: str | None = None) -> Tensor:
    """Return the named matrix of floats, or the only possible one."""
    matrices = [key for key, (dtype, array) in tensors.items() if array.ndim == 2 and dtype in _FLOATS]
    names = _VECTORS if vectors is None else (vectors,)
    only = matrices[0] if len(matrices) == 1 and vectors is None else None
    key_of_matrix = next((key for key in names if key in matrices), only)
    if key_of_matrix is None:
        expected_name = vectors or "vectors"
        raise FormatError(
            f"{name}: {name_some(tensors)} in the file; one matrix of floats '{expected_name}' is needed."
        )
    return tensors[key_of_matrix]


def _from_bfloat16(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Return numbers from the upper halves of their float32 bits."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


@dataclass(frozen=True)
class MatrixFile:
    """The matrix of a safetensors file, read from disk on access; no words are needed.

    Attributes
    ----------
    path : Path
    matrix : Tensor
    columns : mapping
        Other tensors with one number per row, such as labels.
    """

    path: Path
    matrix: Tensor
    columns: Mapping[str, NDArray[Any]]

    @classmethod
    def open(cls, path: Path, vectors: str | None = None) -> MatrixFile:
        """Return the named matrix, or the only possible one."""
        _, tensors = read_tensors(path)
        matrix = _matrix_of(path.name, tensors, vectors)
        check_shape(path.name, *matrix.array.shape)
        columns = {key: each for key, each in tensors.items() if each.array.shape == matrix.array.shape[:1]}
        arrays = {key: each.array for key, each in columns.items() if each.dtype in _DTYPES and each.dtype != "BF16"}
        return cls(path, matrix, arrays)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.matrix.array)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return some rows in the type of the file; BF16, which NumPy lacks, as float32."""
        piece = self.matrix.array[start:stop]
        if self.matrix.dtype != "BF16":
            return piece
        numbers = _from_bfloat16(piece)
        release_pages(piece)
        return numbers


_WORDS = {"words": "U8", "word_offsets": "I64"}


def _words(
    name: str, offsets: NDArray[np.int64], text: NDArray[np.uint8], rows: int, count: int, options: ReadOptions
) -> list[str]:
    """Return the first words, split by their offsets."""
    if offsets.shape != (rows + 1,) or text.ndim != 1:
        raise FormatError(f"{name}: {offsets.size - 1:,} words for {rows:,} vectors. The numbers must agree.")
    ends = offsets[: count + 1].tolist()
    if ends[0] < 0 or ends[-1] > len(text) or any(begin > end for begin, end in pairwise(ends)):
        raise FormatError(f"{name}: 'word_offsets' do not ascend within 'words'. The file is damaged.")
    data = text[: ends[-1]].tobytes()
    raw = [data[begin:end] for begin, end in pairwise(ends)]
    words: list[str] = []
    check_encoding(options)
    for row, word in enumerate(decode_words(raw, options)):
        if word is None:
            raise FormatError(f"{name}, row {row + 1:,}: {undecodable(raw[row], options)}.", DECODING_ADVICE)
        words.append(word)
    return words


def open_native(path: Path, file: IO[bytes]) -> WordSpace | None:
    """Return the space of a native file, with vectors and words read on access; None if vectors are not F32.

    Only the header and the length of the file are checked; `check_native` reads everything.
    Vectors are checked to be finite when they are used.
    """
    metadata, tensors = _native_tensors(path, file)
    dtype, vectors = tensors["vectors"]
    if dtype != "F32":
        return None
    words = WordTable(tensors["word_offsets"].array, tensors["words"].array, name=path.name)

    def check() -> None:
        parts = (tensors[name].array for name in _WORD_TENSORS)
        if _checksum(parts) != metadata.get("words_crc32"):
            raise FormatError(f"{path.name}: words or index are damaged. Write the file again from its source.")

    index = WordIndex(words, tensors["index_hashes"].array, tensors["index_rows"].array, check)
    name = metadata.get("name")
    space_name = name if isinstance(name, str) else path.stem
    return WordSpace.unchecked(words, vectors, name=space_name, index=index, finite=False)


def check_native(path: Path, file: IO[bytes]) -> None:
    """Read a native file to its end, and raise if it does not match its digest."""
    metadata, tensors = _native_tensors(path, file)
    digest = hashlib.sha256()
    for name in ("vectors", *_WORD_TENSORS):
        array = tensors[name].array
        for start in range(0, len(array), _DIGEST_ROWS):
            piece = array[start : start + _DIGEST_ROWS]
            digest.update(np.ascontiguousarray(piece).data)
            release_pages(piece)
    if digest.hexdigest() != metadata.get("sha256"):
        raise FormatError(
            f"{path.name}: the content does not match its SHA-256 digest. The file is damaged; write it again."
        )


def _native_tensors(path: Path, file: IO[bytes] | None = None) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return metadata and tensors of a file in the native format, with checked types and shapes."""
    metadata, tensors = read_tensors(path, file)
    if metadata.get("format") != NATIVE_NAME:
        raise FormatError(
            f"{path.name}: a safetensors file of another program.",
            Advice(" Convert it with ", Argument("source_format", "safetensors"), "."),
        )
    version = metadata.get("format_version")
    if version != FORMAT_VERSION:
        raise FormatError(
            f"{path.name}: native format version {version}; this densray reads version {FORMAT_VERSION}. "
            "Use the densray that wrote it, or a newer one."
        )
    vectors = tensors.get("vectors")
    if vectors is None or vectors.array.ndim != 2 or vectors.dtype not in _FLOATS:
        raise FormatError(f"{path.name}: no matrix of floats 'vectors'. Write the file again.")
    rows, width = vectors.array.shape
    check_shape(path.name, rows, width)
    expected_types = {
        "word_offsets": ("I64", (rows + 1,)),
        "index_hashes": ("U32", (rows,)),
        "index_rows": ("U32", (rows,)),
    }
    stored_types = {
        name: (tensors[name].dtype, tensors[name].array.shape) for name in expected_types if name in tensors
    }
    text = tensors.get("words")
    if stored_types != expected_types or text is None or text.dtype != "U8" or text.array.ndim != 1:
        raise FormatError(
            f"{path.name}: words or index do not fit {rows:,} vectors ({stored_types}). Write the file again."
        )
    return metadata, tensors


def write_native(file: IO[bytes], pieces: Pieces, *, rows: int, width: int, name: str) -> None:
    """Write the native format: vectors as they come, then the words, and last the header and the index.

    The size of the index depends only on the number of rows, so it can precede the vectors, and every tensor is aligned
    for its type. Spaces at the end of the header pad the vectors to a multiple of 64 bytes.
    """
    index_bytes = 8 * (rows + 1) + 4 * rows + 4 * rows
    digests = {"sha256": "0" * 64, "words_crc32": "0" * 8}  # placeholders of the final length
    length = len(_header(rows, width, _LONGEST_TEXT_BYTES, name, digests))
    length += -(8 + length + index_bytes) % _ALIGNMENT_BYTES
    digest = hashlib.sha256()
    file.seek(8 + length + index_bytes)
    text = bytearray()
    ends, hashes = [0], []
    for words, vectors in pieces:
        raw = np.ascontiguousarray(vectors, dtype="<f4").data
        file.write(raw)
        digest.update(raw)
        for word in words:
            encoded = word.encode()
            text += encoded
            ends.append(len(text))
            hashes.append(zlib.crc32(encoded))
    file.write(text)
    crc = np.array(hashes, dtype="<u4")
    order = np.argsort(crc, kind="stable").astype("<u4")
    file.seek(8 + length)
    parts: list[NDArray[Any]] = [np.array(ends, dtype="<i8"), crc[order], order]
    for part in parts:
        file.write(part.data)
    parts.append(np.frombuffer(bytes(text), dtype=np.uint8))
    for part in parts:
        digest.update(part.data)
    digests = {"sha256": digest.hexdigest(), "words_crc32": _checksum(parts)}
    header = _header(rows, width, len(text), name, digests).ljust(length)
    file.seek(0)
    file.write(length.to_bytes(8, "little") + header)


def _checksum(parts: Iterable[NDArray[Any]]) -> str:
    crc = 0
    for part in parts:
        crc = zlib.crc32(part.data, crc)
    return f"{crc:08x}"


def _header(rows: int, width: int, text_bytes: int, name: str, digests: dict[str, str]) -> bytes:
    metadata = {"format": NATIVE_NAME, "format_version": FORMAT_VERSION, **digests}
    header: dict[str, Any] = {"__metadata__": {**metadata, "name": name[:_LONGEST_NAME_LETTERS]}}
    begin = 0
    for key, dtype, shape, size in (
        ("word_offsets", "I64", [rows + 1], 8 * (rows + 1)),
        ("index_hashes", "U32", [rows], 4 * rows),
        ("index_rows", "U32", [rows], 4 * rows),
        ("vectors", "F32", [rows, width], 4 * rows * width),
        ("words", "U8", [text_bytes], text_bytes),
    ):
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + size]}
        begin += size
    return json.dumps(header).encode()


class WordTable(Sequence[str]):
    """The words of a mapped file, or a slice of them, decoded on access."""

    def __init__(
        self,
        offsets: NDArray[np.int64],
        text: NDArray[np.uint8],
        *,
        name: str,
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        self._offsets = offsets
        self._text = text
        self._name = name
        self._range = range(start, len(offsets) - 1 if stop is None else stop)

    def __len__(self) -> int:
        return len(self._range)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[str]: ...
    def __getitem__(self, row: int | slice) -> str | Sequence[str]:
        if isinstance(row, slice):
            rows = self._range[row]
            if rows.step == 1:
                return WordTable(
                    self._offsets, self._text, name=self._name, start=rows.start, stop=max(rows.start, rows.stop)
                )
            return [self._decode(place) for place in rows]
        return self._decode(self._range[row])

    def __iter__(self) -> Iterator[str]:
        step = 1 << 14
        for start in range(self._range.start, self._range.stop, step):
            offsets = self._offsets[start : min(start + step, self._range.stop) + 1]
            wrong = (offsets[:-1] < 0) | (offsets[:-1] > offsets[1:]) | (offsets[1:] > len(self._text))
            if wrong.any():
                self._fail(start + int(wrong.argmax()))
            ends = offsets.tolist()
            piece = self._text[ends[0] : ends[-1]].tobytes()
            for row, (begin, end) in enumerate(pairwise(ends), start=start):
                try:
                    yield piece[begin - ends[0] : end - ends[0]].decode()
                except UnicodeDecodeError:
                    self._fail(row)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"WordTable of {len(self):,} words"

    def _decode(self, row: int) -> str:
        begin, end = int(self._offsets[row]), int(self._offsets[row + 1])
        if not 0 <= begin <= end <= len(self._text):
            self._fail(row)
        try:
            return self._text[begin:end].tobytes().decode()
        except UnicodeDecodeError:
            self._fail(row)
        return ""

    def _fail(self, row: int) -> None:
        raise FormatError(f"{self._name}: word {row:,} is damaged. Write the file again from its source.")


class WordIndex(Mapping[str, int]):
    """The row of each word of a mapped file, looked up by hash, without a dictionary in memory.

    A word that is found is compared with the query. If a word is not found for the first time, the whole index is
    checked once, since damage could be the reason.
    """

    def __init__(
        self, words: WordTable, hashes: NDArray[np.uint32], rows: NDArray[np.uint32], check: Callable[[], None]
    ) -> None:
        self._words = words
        self._hashes = hashes
        self._rows = rows
        self._check: Callable[[], None] | None = check

    def __getitem__(self, word: str) -> int:
        if isinstance(word, str):
            try:
                crc = np.uint32(zlib.crc32(word.encode()))
            except UnicodeEncodeError:
                raise KeyError(word) from None
            place = int(np.searchsorted(self._hashes, crc))
            while place < len(self._hashes) and self._hashes[place] == crc:
                row = int(self._rows[place])
                if row < len(self._words) and self._words[row] == word:
                    return row
                place += 1
            if self._check is not None:
                self._check()
                self._check = None
        raise KeyError(word)

    def __len__(self) -> int:
        return len(self._words)

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)
