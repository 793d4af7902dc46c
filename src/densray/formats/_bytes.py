"""Bytes of a space file: where they come from and go to, how words are written in them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, cast

from densray._files import NUMBER, WORD2VEC_HEADER, ZIP_MAGIC, foreign_kind
from densray.errors import FormatError, name_some, shorten
from densray.formats._blocks import BLOCK_BYTES, ReadOptions


def check_encoding(options: ReadOptions) -> None:
    """Refuse an encoding that does not exist, or in which a blank is not the byte it is in ASCII."""
    try:
        kept = " 0\n".encode(options.encoding) == b" 0\n"
        b"\xff".decode("ascii", options.errors if options.errors != "strict" else "ignore")
        b" 0\n\xff".decode(options.encoding, "ignore" if options.errors == "strict" else options.errors)
    except (LookupError, UnicodeError, TypeError, ValueError) as error:
        raise FormatError(
            f"{shorten(error)}. Use encoding='utf-8' or 'latin-1', errors='strict' or 'replace'."
        ) from error
    if not kept:
        raise FormatError(
            f"The encoding '{options.encoding}' does not keep blanks and digits as ASCII does. "
            f"Convert the file to UTF-8 first."
        )


def decode_words(words: Sequence[bytes], options: ReadOptions) -> list[str | None]:
    """Return the words as text, None for each that is not text in this encoding."""
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
    """Return what is wrong with a word that is not text, and what to do."""
    return (
        f"{shorten(word)} is not {options.encoding.upper()}. Give the file's own encoding (encoding='latin-1', say), "
        f"or errors='replace', or leave such rows out with bad_rows='skip'."
    )


def _decode(word: bytes, options: ReadOptions) -> str | None:
    try:
        return word.decode(options.encoding, options.errors)
    except UnicodeDecodeError:
        return None


_ZSTD_WINDOW = 1 << 27  # what the zstd command accepts by default: a frame cannot ask for more memory
_MAGIC = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),  # the second: an empty file
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
    "zip": re.compile(re.escape(ZIP_MAGIC)),
}


class Source:
    """A file being read: decompressed bytes in order, with a look ahead.

    Attributes
    ----------
    path : Path
    compression : str or None
        "gzip", "bzip2", "zstd", "zip" or None.
    size : int or None
        The number of bytes, where it is known without reading them: that of a plain file.
    offset : int
        How many decompressed bytes have been read.
    """

    def __init__(self, path: Path, file: IO[bytes], stream: IO[bytes], *, compression: str | None) -> None:
        self.path = path
        self.compression = compression
        self.size = path.stat().st_size if compression is None else None
        self.offset = 0
        self._file = file
        self._stream = stream
        self._ahead = b""

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
        self._file.close()

    def peek(self, count: int) -> bytes:
        """Return up to `count` of the next bytes without consuming them."""
        if len(self._ahead) < count:
            self._ahead += self._fetch(count - len(self._ahead))
        return self._ahead[:count]

    def read(self, count: int) -> bytes:
        """Return the next `count` bytes, fewer only at the end of the file."""
        if self._ahead:
            taken, self._ahead = self._ahead[:count], self._ahead[count:]
            data = taken + self._fetch(count - len(taken)) if len(taken) < count else taken
        else:
            data = self._fetch(count)
        self.offset += len(data)
        return data

    def _fetch(self, count: int) -> bytes:
        """Read in pieces, so that memory grows with what is there and not with what was asked for."""
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
    """Open a file for reading, decompressed by what its first bytes say rather than by its name.

    `member` names the file inside a zip archive that holds several. Nothing is ever extracted to disk.
    """
    if path.is_dir():
        raise FormatError(f"{path.name} is a folder. Give an embedding file.")
    try:
        file = path.open("rb")
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}. Give the path of an embedding file.") from error
    try:
        return _decompressed(path, file, member)
    except BaseException:
        file.close()
        raise


def _decompressed(path: Path, file: IO[bytes], member: str | None) -> Source:
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
        stream = bz2.BZ2File(file)
    elif compression == "zstd":
        from zstandard import ZstdDecompressor

        decompressor = ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        stream = decompressor.stream_reader(file, read_across_frames=True, closefd=False)
    return Source(path, file, stream, compression=compression)


#: Of a file or of what is packed in it, to tell what it is.
HEAD_BYTES = 1 << 16


def refuse_foreign(path: Path, head: bytes) -> None:
    """Refuse a file that begins as one of another program does."""
    kind = foreign_kind(head)
    if kind is not None:
        raise FormatError(f"{path.name}: this seems to be {kind}. A file of word vectors is needed.")


def _open_zip(path: Path, file: IO[bytes], member: str | None) -> Source:
    """Open the one member of a zip archive, or the one that is named."""
    try:
        archive = zipfile.ZipFile(file)
        names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, IndexError) as error:
        raise FormatError(f"{path.name}: a damaged zip archive ({shorten(error)}). Fetch the file again.") from error
    if member is None and sum(name.endswith(".npy") for name in names) > 1:
        file.seek(0)
        return Source(path, file, file, compression=None)  # an .npz, which its own reader opens
    if member is None and len(names) != 1:
        found = f"holds {len(names)} files ({name_some(names)})" if names else "holds no file"
        raise FormatError(f"{path.name}: the zip archive {found}. Name the one to read: member='…'.")
    chosen = names[0] if member is None else member
    if chosen not in names:
        raise FormatError(f"{path.name}: no member '{chosen}'. The zip archive holds {name_some(names)}.")
    try:
        stream = archive.open(chosen)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError, IndexError) as error:
        raise FormatError(
            f"{path.name}, member '{chosen}': cannot be read ({shorten(error)}). Unpack it with another tool."
        ) from error
    return Source(path, file, stream, compression="zip")


COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd", ".zip": "zip"}
"""Which ending of a file name asks for which compression."""


def compression_of(path: Path) -> tuple[str | None, str]:
    """Return the compression the name of a file asks for, and the name without that ending."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    return compression, path.stem if compression else path.name


@contextmanager
def open_target(path: Path, *, compression: str | None, inner: str) -> Iterator[IO[bytes]]:
    """Open a new file for writing through a compressor; `inner` is what a zip archive calls its one member."""
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

            file = stack.enter_context(ZstdCompressor().stream_writer(file, closefd=False))
        elif compression == "zip":
            archive = stack.enter_context(zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED))
            file = stack.enter_context(archive.open(inner, "w", force_zip64=True))
        yield file


#: What the metadata of a native file, which is a safetensors file, call it.
NATIVE_NAME = "densray-space"


def header_of(head: bytes) -> tuple[int, int, int] | None:
    """Return rows, width and length of the first line where it is a word2vec header."""
    match = WORD2VEC_HEADER.match(head[:128])
    if match is None:
        return None
    return int(match[1]), int(match[2]), match.end()


def separator_of(line: bytes) -> bytes:
    """Return what stands before the numbers of a line (whose end may be cut off): a tab, or else a blank."""
    return b"\t" if any(NUMBER.fullmatch(token) for token in line.strip().split(b"\t")[1:][-2:]) else b" "
