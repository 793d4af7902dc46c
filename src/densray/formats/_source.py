"""The bytes of a file, decompressed on the way and read from front to back, never on the word of a header."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, cast

from densray.errors import FormatError, name_some
from densray.formats._stream import BLOCK_BYTES

__all__ = ["Source", "open_source"]

_ZSTD_WINDOW = 1 << 27  # what the zstd command accepts by default: a frame cannot ask for more memory
_MAGIC = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),  # the second: an empty file
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
    "zip": re.compile(rb"PK\x03\x04"),
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
                f"{self.path.name}, byte {self.offset:,}: {what} ({error}). Fetch or write the file again."
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
    magic = file.read(10)
    file.seek(0)
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


def _open_zip(path: Path, file: IO[bytes], member: str | None) -> Source:
    """Open the one member of a zip archive, or the one that is named."""
    try:
        archive = zipfile.ZipFile(file)
        names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, ValueError, OSError) as error:
        raise FormatError(f"{path.name}: a damaged zip archive ({error}). Fetch the file again.") from error
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
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise FormatError(
            f"{path.name}, member '{chosen}': cannot be read ({error}). Unpack it with another tool."
        ) from error
    return Source(path, file, stream, compression="zip")
