"""The native format: vectors, words and index in one memory-mapped file."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, overload

import numpy as np
from numpy.typing import NDArray

from densray.errors import FormatError
from densray.formats._blocks import Pieces, check_shape
from densray.space import WordSpace


class WordTable(Sequence[str]):
    """The words of a native file, or a run of them."""

    def __init__(
        self,
        offsets: NDArray[np.uint64],
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
            ends = self._offsets[start : min(start + step, self._range.stop) + 1].tolist()
            if ends[0] > ends[-1] or ends[-1] > len(self._text):
                self._fail(start)
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
        if begin > end or end > len(self._text):
            self._fail(row)
        try:
            return self._text[begin:end].tobytes().decode()
        except UnicodeDecodeError:
            self._fail(row)
        return ""

    def _fail(self, row: int) -> None:
        raise FormatError(f"{self._name}: word {row:,} is damaged. Write the file again from its source.")


class WordIndex(Mapping[str, int]):
    """The row of each word of a native file, looked up by hash: no dictionary is built."""

    def __init__(self, words: WordTable, hashes: NDArray[np.uint32], order: NDArray[np.uint32]) -> None:
        self._words = words
        self._hashes = hashes
        self._order = order

    def __getitem__(self, word: str) -> int:
        if isinstance(word, str):
            try:
                crc = np.uint32(zlib.crc32(word.encode()))
            except UnicodeEncodeError:
                raise KeyError(word) from None
            place = int(np.searchsorted(self._hashes, crc))
            while place < len(self._hashes) and self._hashes[place] == crc:
                row = int(self._order[place])
                if row < len(self._words) and self._words[row] == word:
                    return row
                place += 1
        raise KeyError(word)

    def __len__(self) -> int:
        return len(self._words)

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)


FORMAT_VERSION = 1
_MAGIC = b"DENSRAY\0"
_HEADER_BYTES = 4096
_ALIGNMENT = 64
_LONGEST_NAME = 200


def write_native(file: IO[bytes], pieces: Pieces, *, rows: int, width: int, name: str) -> None:
    """Write the native format: vectors as they come, then the words, their index, and the header last."""
    digest = hashlib.sha256()
    file.write(b"\0" * _HEADER_BYTES)
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
    crc = np.array(hashes, dtype="<u4")
    order = np.argsort(crc, kind="stable").astype("<u4")
    for part in (np.array(ends, dtype="<u8"), crc[order], order, np.frombuffer(bytes(text), np.uint8)):
        file.write(b"\0" * (-file.tell() % _ALIGNMENT))
        file.write(part.data)
        digest.update(part.data)
    header: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "rows": rows,
        "width": width,
        "text_bytes": len(text),
        "sha256": digest.hexdigest(),
        "name": name[:_LONGEST_NAME],
    }
    encoded = json.dumps(header).encode()
    file.seek(0)
    file.write(_MAGIC + len(encoded).to_bytes(4, "little") + encoded)


def open_native(path: Path) -> WordSpace:
    """Open a native file: a space whose vectors and words stay on disk until they are asked for.

    Looks at the header and the file's length alone; `check_native` reads everything.
    """
    header, parts = _mapped(path)
    words = WordTable(parts["offsets"], parts["text"], name=path.name)
    index = WordIndex(words, parts["hashes"], parts["order"])
    name = header.get("name")
    vectors = parts["vectors"]
    return WordSpace.unchecked(words, vectors, name=name if isinstance(name, str) else path.stem, index=index)


def check_native(path: str | Path) -> None:
    """Read a native file to its end and raise if it is not what was written."""
    path = Path(path)
    header, parts = _mapped(path)
    digest = hashlib.sha256()
    step = 1 << 14
    for start in range(0, header["rows"], step):
        digest.update(np.ascontiguousarray(parts["vectors"][start : start + step]).data)
    for part in ("offsets", "hashes", "order", "text"):
        digest.update(np.ascontiguousarray(parts[part]).data)
    if digest.hexdigest() != header.get("sha256"):
        raise FormatError(f"{path.name}: the content does not match its digest. The file is damaged; write it again.")


def _layout(rows: int, width: int, text_bytes: int) -> tuple[dict[str, tuple[int, str, tuple[int, ...]]], int]:
    """Return where each part begins, its type and shape, and how long the file is."""
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {
        "vectors": ("<f4", (rows, width)),
        "offsets": ("<u8", (rows + 1,)),
        "hashes": ("<u4", (rows,)),
        "order": ("<u4", (rows,)),
        "text": ("|u1", (text_bytes,)),
    }
    parts, end = {}, _HEADER_BYTES
    for name, (kind, shape) in shapes.items():
        begin = end + -end % _ALIGNMENT
        parts[name] = (begin, kind, shape)
        count = 1
        for length in shape:
            count *= length
        end = begin + count * np.dtype(kind).itemsize
    return parts, end


def _mapped(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the parts of a native file, mapped."""
    try:
        with path.open("rb") as file:
            header = _header(path.name, file.read(_HEADER_BYTES))
        layout, length = _layout(header["rows"], header["width"], header["text_bytes"])
        size = path.stat().st_size
        if size != length:
            raise FormatError(
                f"{path.name}, byte {size:,}: the header says {header['rows']:,} words of {header['width']:,} numbers "
                f"in {length:,} bytes. The file is cut off or damaged; write it again."
            )
        whole = np.memmap(path, dtype=np.uint8, mode="r")
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}.") from error
    begins = [*(begin for begin, _, _ in layout.values()), length]
    parts: dict[str, NDArray[Any]] = {}
    for (part, (begin, kind, shape)), (_, following) in zip(layout.items(), pairwise(begins), strict=True):
        count = int(np.prod(shape)) * np.dtype(kind).itemsize
        parts[part] = whole[begin : min(begin + count, following)].view(kind).reshape(shape)
    return header, parts


def _header(name: str, head: bytes) -> dict[str, Any]:
    """Return the header of a native file, its numbers checked."""
    if not head.startswith(_MAGIC) or len(head) < _HEADER_BYTES:
        raise FormatError(f"{name}, byte 0: {head[:16]!r} does not begin a whole file in the native format.")
    length = int.from_bytes(head[8:12], "little")
    try:
        header = json.loads(head[12 : 12 + length])
        rows, width, text_bytes = (header[key] for key in ("rows", "width", "text_bytes"))
        numbers = all(type(value) is int and value >= 0 for value in (rows, width, text_bytes))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(f"{name}, byte 12: the header is damaged ({error}). Write the file again.") from error
    if header.get("format_version") != FORMAT_VERSION:
        raise FormatError(
            f"{name}: native format version {header.get('format_version')!r}; this densray reads version "
            f"{FORMAT_VERSION}. Use the densray that wrote it, or a newer one."
        )
    if not numbers:
        raise FormatError(f"{name}, byte 12: rows, width and text_bytes must be whole numbers ({header}).")
    check_shape(f"{name}, byte 12", rows, width)
    return dict(header)
