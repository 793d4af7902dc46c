"""Bytes of a space file: reading, writing, compression, and the encoding of words."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import BufferedReader, RawIOBase
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

from densray._files import (
    NUMBER,
    WORD2VEC_HEADER,
    ZIP_MAGIC,
    foreign_kind,
    has_other_data,
    unreadable_kind,
)
from densray.errors import Advice, Argument, FormatError, name_some, shorten
from densray.formats._blocks import BLOCK_BYTES, ReadOptions


def check_encoding(options: ReadOptions) -> None:
    """Refuse an encoding that does not exist, or that encodes spaces and digits differently from ASCII."""
    try:
        kept = " 0\n".encode(options.encoding) == b" 0\n"
        b"\xff".decode("ascii", options.errors if options.errors != "strict" else "ignore")
        b" 0\n\xff".decode(options.encoding, "ignore" if options.errors == "strict" else options.errors)
    except (LookupError, UnicodeError, TypeError, ValueError) as error:
        raise FormatError(
            f"{shorten(error)}.",
            Advice(
                " Use ",
                Argument("encoding", "utf-8"),
                " or 'latin-1', ",
                Argument("errors", "strict"),
                " or 'replace'.",
            ),
        ) from error
    if not kept:
        raise FormatError(
            f"The encoding '{options.encoding}' does not encode spaces and digits as ASCII does. "
            f"Convert the file to UTF-8 first."
        )


def decode_words(words: Sequence[bytes], options: ReadOptions) -> list[str | None]:
    """Return the words as text, with None for each word that is invalid in this encoding."""
    if not words:
        return []
    try:
        decoded = b"\n".join(words).decode(options.encoding, options.errors).split("\n")
        if len(decoded) == len(words):
            return list(decoded)
    except UnicodeDecodeError:
        pass
    return [_decode(word, options) for word in words]


def undecodable(word: bytes, options: ReadOptions) -> str:
    """Return the problem of a word that is not text."""
    return f"{shorten(word)} is not {options.encoding.upper()}"


#: Advice for a word that is not text.
DECODING_ADVICE = Advice(
    " Give the encoding of the file (for example ",
    Argument("encoding", "latin-1"),
    "), or ",
    Argument("errors", "replace"),
    ", or leave such rows out with ",
    Argument("bad_rows", "skip"),
    ".",
)


def _decode(word: bytes, options: ReadOptions) -> str | None:
    try:
        return word.decode(options.encoding, options.errors)
    except UnicodeDecodeError:
        return None


_ZSTD_WINDOW = 1 << 27  # the default limit of the zstd command: a frame cannot request more memory
_MAGIC = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),  # the second pattern is an empty file
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
    "zip": re.compile(re.escape(ZIP_MAGIC)),
}


class Source:
    """A file being read: decompressed bytes in order, with look-ahead.

    Attributes
    ----------
    path : Path
    file : file
        The file itself, opened once. Readers that open the file themselves use this handle. It refers to the same file
        even if another file takes its path.
    compression : str or None
        "gzip", "bzip2", "zstd", "zip" or None.
    size : int or None
        Number of bytes; None for a compressed file.
    offset : int
        Number of decompressed bytes read so far.
    owns_file : bool
        Whether closing the source closes the file. False for members of an archive, which share it.
    """

    def __init__(self, path: Path, file: IO[bytes], stream: IO[bytes], *, compression: str | None) -> None:
        self.path = path
        self.file = file
        self.compression = compression
        self.size = os.fstat(file.fileno()).st_size if compression is None else None
        self.offset = 0
        self.owns_file = True
        self._stream = stream
        self._ahead = b""

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
        if self.owns_file:
            self.file.close()

    def peek(self, count: int) -> bytes:
        """Return up to `count` of the next bytes without consuming them."""
        if len(self._ahead) < count:
            self._ahead += self._fetch(count - len(self._ahead))
        return self._ahead[:count]

    def read(self, count: int) -> bytes:
        """Return the next `count` bytes, fewer only at the end of the file."""
        if self._ahead:
            head, self._ahead = self._ahead[:count], self._ahead[count:]
            data = head + self._fetch(count - len(head)) if len(head) < count else head
        else:
            data = self._fetch(count)
        self.offset += len(data)
        return data

    def _fetch(self, count: int) -> bytes:
        """Read in pieces, so that memory grows with the actual data and not with the requested size."""
        pieces: list[bytes] = []
        with self._named_errors():
            while count > 0 and (piece := self._stream.read(min(count, BLOCK_BYTES))):
                pieces.append(piece)
                count -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        from zstandard import ZstdError

        try:
            yield
        except (EOFError, OSError, RuntimeError, lzma.LZMAError, zipfile.BadZipFile, zlib.error, ZstdError) as error:
            what = f"its {self.compression} data are damaged or cut off" if self.compression else "it cannot be read"
            raise FormatError(
                f"{self.path.name}, byte {self.offset:,}: {what} ({shorten(error)}). Fetch or write the file again."
            ) from error


def open_source(path: Path, *, member: str | None = None) -> Source:
    """Open a file for reading, decompressed according to its first bytes, not its name.

    `member` is the file to read in a zip archive that holds several. Nothing is extracted to disk.
    """
    kind = unreadable_kind(path)
    if kind is not None:
        raise FormatError(f"{path.name or path} is {kind}. Give an embedding file.")
    try:
        file = path.open("rb")
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}. Give the path of an embedding file.") from error
    try:
        return _decompress(path, file, member)
    except BaseException:
        file.close()
        raise


def _decompress(path: Path, file: IO[bytes], member: str | None) -> Source:
    magic = file.read(HEAD_BYTES)
    file.seek(0)
    refuse_foreign(path, magic)
    compression = next((name for name, start in _MAGIC.items() if start.match(magic)), None)
    stream = file
    if compression == "zip" or magic.startswith(b"PK\x05\x06"):
        return _open_zip(path, file, member)
    if compression == "gzip":
        stream = cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    elif compression == "bzip2":
        stream = cast("IO[bytes]", BufferedReader(_Bzip2Reader(file), BLOCK_BYTES))
    elif compression == "zstd":
        from zstandard import ZstdDecompressor

        decompressor = ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        stream = decompressor.stream_reader(
            cast("IO[bytes]", _WholeFrames(file)), read_across_frames=True, closefd=False
        )
    return Source(path, file, stream, compression=compression)


class _Bzip2Reader(RawIOBase):
    """Decompresses bzip2 streams, one after the other, up to the end of the file.

    `bz2.BZ2File` takes a second stream with damaged first bytes for the end of the file.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decompressor = bz2.BZ2Decompressor()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            rest = b""
            if self._decompressor.eof:
                rest = self._decompressor.unused_data or self._file.read(_PACKED_BYTES)
                if not rest:
                    return 0
                self._decompressor = bz2.BZ2Decompressor()
            elif self._decompressor.needs_input:
                rest = self._file.read(_PACKED_BYTES)
                if not rest:
                    raise EOFError("the last stream has no end")
            data = self._decompressor.decompress(rest, len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)


class _WholeFrames:
    """Passes the bytes of a zstd file through, and raises if the file ends within a frame.

    The decompressor takes the end of the file for the end of the last frame. A frame is a header, blocks with their
    sizes, and an optional checksum (RFC 8878), so that its end is known without decompressing it.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._pending = b""  # the incomplete beginning of the current header
        self._skip = 0  # remaining bytes of the current block
        self._next = self._frame  # parser of the part after them
        self._checksum = 0

    def read(self, count: int = -1) -> bytes:
        data = self._file.read(count if count >= 0 else _PACKED_BYTES)
        if data:
            self._follow(data)
        elif self._skip or self._pending or self._next != self._frame:
            raise EOFError("the last frame has no end")
        return data

    def _follow(self, data: bytes) -> None:
        """Parse headers and skip blocks."""
        data = self._pending + data
        place = 0
        while place < len(data):
            step = min(self._skip, len(data) - place)
            self._skip -= step
            place += step
            if self._skip or place == len(data):
                break
            length = self._next(data[place : place + _FRAME_HEADER_BYTES])
            if not length:
                break
            place += length
        self._pending = data[place:]

    def _frame(self, head: bytes) -> int:
        """Return the length of the header of a frame, 0 if more bytes are needed."""
        if len(head) < 8:
            return 0
        if head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50:  # a skippable frame
            self._skip = int.from_bytes(head[4:8], "little")
            return 8
        descriptor = head[4]
        single = descriptor >> 5 & 1
        self._checksum = 4 * (descriptor >> 2 & 1)
        self._next = self._block
        size_bytes = (single, 2, 4, 8)[descriptor >> 6]
        return 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3] + size_bytes

    def _block(self, head: bytes) -> int:
        """Return the length of the header of a block, 0 if more bytes are needed."""
        if len(head) < 3:
            return 0
        header = int.from_bytes(head[:3], "little")
        self._skip = 1 if header >> 1 & 3 == 1 else header >> 3
        if header & 1:
            self._skip += self._checksum
            self._next = self._frame
        return 3


_PACKED_BYTES = 1 << 16
_FRAME_HEADER_BYTES = 18

#: Bytes read to detect the file type, after decompression.
HEAD_BYTES = 1 << 16


def refuse_foreign(path: Path, head: bytes) -> None:
    """Refuse a file that begins like a file of another program."""
    kind = foreign_kind(head)
    if kind is not None:
        raise FormatError(f"{path.name}: this seems to be {kind}. A file of word vectors is needed.")


def _open_zip(path: Path, file: IO[bytes], member: str | None) -> Source:
    """Open the only member of a zip archive, or the named one."""
    try:
        archive = zipfile.ZipFile(file)
        names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, IndexError) as error:
        raise FormatError(f"{path.name}: a damaged zip archive ({shorten(error)}). Fetch the file again.") from error
    refuse_joined(path, archive)
    if member is None and sum(name.endswith(".npy") for name in names) > 1:
        file.seek(0)
        return Source(path, file, file, compression=None)  # an .npz, which has its own reader
    if member is None and len(names) != 1:
        contents = f"holds {len(names)} files ({name_some(names)})" if names else "holds no file"
        raise FormatError(
            f"{path.name}: the zip archive {contents}.", Advice(" Name the one to read: ", Argument("member", ...), ".")
        )
    member_name = names[0] if member is None else member
    if member_name not in names:
        raise FormatError(f"{path.name}: no member '{member_name}'. The zip archive holds {name_some(names)}.")
    source = open_member(path, file, archive, member_name)
    source.owns_file = True
    return source


def refuse_joined(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse a file of several joined zip archives, of which only the last would be read, or with extra bytes."""
    if has_other_data(archive):
        raise FormatError(
            f"{path.name}: several zip archives, or an archive and other bytes, joined into one file. Write it again."
        )


def open_member(path: Path, file: IO[bytes], archive: zipfile.ZipFile, member: str) -> Source:
    """Open a file inside an open zip archive, which stays open."""
    try:
        stream = archive.open(member)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError, IndexError) as error:
        raise FormatError(
            f"{path.name}, member '{member}': cannot be read ({shorten(error)}). Unpack it with another tool."
        ) from error
    source = Source(path, file, stream, compression="zip")
    source.owns_file = False
    return source


COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd", ".zip": "zip"}
"""Compression by file name extension."""


def compression_of(path: Path) -> tuple[str | None, str]:
    """Return the compression given by the file name, and the name without that extension."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    return compression, path.stem if compression else path.name


@contextmanager
def open_target(path: Path, *, compression: str | None, inner: str) -> Iterator[IO[bytes]]:
    """Open a new file for writing through a compressor; `inner` is the name of the only member of a zip archive."""
    with ExitStack() as stack:
        file: IO[bytes] = stack.enter_context(path.open("wb"))
        if compression == "gzip":
            file = cast(
                "IO[bytes]", stack.enter_context(gzip.GzipFile(inner, "wb", compresslevel=6, fileobj=file, mtime=0))
            )
        elif compression == "bzip2":
            file = stack.enter_context(bz2.BZ2File(file, "wb"))
        elif compression == "zstd":
            from zstandard import ZstdCompressor

            file = stack.enter_context(ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False))
        elif compression == "zip":
            archive = stack.enter_context(zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED))
            file = stack.enter_context(archive.open(inner, "w", force_zip64=True))
        yield file


#: Format name in the metadata of a native file, which is a safetensors file.
NATIVE_NAME = "densray-space"


def header_of(head: bytes) -> tuple[int, int, int] | None:
    """Return rows, width and length of the first line if it is a word2vec header."""
    match = WORD2VEC_HEADER.match(head[:128])
    if match is None:
        return None
    return int(match[1]), int(match[2]), match.end()


def separator_of(line: bytes) -> bytes:
    """Return the separator of the numbers in a line (whose end may be cut off): a tab, or else a space."""
    fields = line.strip().split(b"\t")[1:][-2:]
    return b"\t" if any(NUMBER.fullmatch(field.strip(b" ")) for field in fields) else b" "


def fields_of(line: bytes) -> list[bytes]:
    """Return the fields of a line, separated by single tabs, or else by any number of spaces and tabs.

    A line that begins with a space has an empty first field.

    >>> fields_of(b"new york\\t0.5\\t1"), fields_of(b"good   0.5  1"), fields_of(b"good\\t0.5 1"), fields_of(b" 0.5 1")
    ([b'new york', b'0.5', b'1'], [b'good', b'0.5', b'1'], [b'good', b'0.5', b'1'], [b'', b'0.5', b'1'])
    """
    line = line.rstrip(b" \t\r")
    if separator_of(line) == b"\t":
        return [field.strip(b" ") for field in line.split(b"\t")]
    return re.split(rb"[ \t]+", line)


#: UTF-8's byte-order mark, and the two of UTF-16.
BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")


def refuse_utf16(name: str, head: bytes) -> None:
    """Refuse text in UTF-16, which has two bytes per character."""
    if head.startswith(_WIDE_BOMS):
        raise FormatError(f"{name}: this seems to be UTF-16 text. Save it as UTF-8.")
