"""Files: atomic writes, archives of arrays with a JSON header, and file types recognised by the first bytes."""

from __future__ import annotations

import glob
import hashlib
import json
import math
import mmap
import os
import platform
import re
import secrets
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from densray._version import __version__
from densray.errors import Advice, Argument, DensRayError, OutputError, PersistenceError, shorten


def put_in_place(temporary: Path, path: Path) -> None:
    """Rename a finished file to its final name, once its content has reached the disk."""
    flush_to_disk(temporary)
    os.replace(temporary, path)


def check_writable(path: Path, *, overwrite: bool) -> Path:
    """Return `path` if a file may be written there; call this before any work is done.

    Refused: a folder or a device in place of a file, a missing folder, an existing file without `overwrite`, and a
    folder in which no file can be created.
    """
    folder = path.parent
    if path.is_dir():
        raise OutputError(f"{path} is a folder. Name the file to write.")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not a regular file, and writing would replace it. Choose another name.")
    if not folder.is_dir():
        raise OutputError(f"{path}: the folder {folder} does not exist. Create it, or write elsewhere.")
    if path.exists() and not overwrite:
        raise OutputError(
            f"{path} exists already.",
            Advice(" Pass ", Argument("overwrite", True), " to replace it, or choose another name."),
        )
    try:
        with TemporaryFile(dir=folder):
            return path
    except OSError as error:
        raise OutputError(f"{path}: cannot write in {folder} ({error.strerror}). Write elsewhere.") from error


@contextmanager
def atomic_write(path: Path, *, overwrite: bool, commit: Callable[[Path, Path], None] = put_in_place) -> Iterator[Path]:
    """Give a temporary path in the folder of `path`, and rename it to `path` if the block ends without an error.

    Until then the old file stays as it is, also after an error, a full disk or a kill. A symbolic link stays a link:
    its target is replaced. `commit` may put the temporary file in place in another way.
    """
    path = link_target(path)
    check_writable(path, overwrite=overwrite)
    remove_abandoned(path)
    temporary = temporary_path(path)
    try:
        yield temporary
        commit(temporary, path)
    except Exception as error:
        reason = _reason(error)
        if reason is None:
            raise
        raise OutputError(f"{path}: {reason}. The old content is unchanged; {_remedy(error)}.") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def flush_to_disk(path: Path) -> None:
    """Wait until the content of a file has reached the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def link_target(path: Path) -> Path:
    """Return the target of a symbolic link, or the path itself; a circular link is refused."""
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OutputError(f"{path} is a symbolic link that leads to itself. Choose another name.")
    return target


def try_lock(handle: int, *, wait: bool = False) -> bool:
    """Lock an open file or folder against other callers; return False if another process holds the lock.

    The system releases the lock when the handle is closed and when the process ends, however it ends. With `wait`, the
    call returns once the lock is free. Some network disks have no locks: there every caller gets True. Windows too
    always gives True, because its locks also stop reading, and a download is read again while its writer holds the
    lock.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def folder_lock(folder: Path, *, wait: bool = True) -> Iterator[Callable[[], None]]:
    """Lock a folder against other writers; gives a function that waits until its file names are on disk.

    Without `wait`, a folder that another writer has locked raises BlockingIOError. Where folders cannot be opened
    (Windows) or locked (see :func:`try_lock`), nothing is locked.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        yield lambda: None
        return

    def flush() -> None:
        with suppress(OSError):
            os.fsync(handle)

    try:
        if not try_lock(handle, wait=wait):
            raise BlockingIOError(f"{folder} is locked by another writer")
        yield flush
    finally:
        os.close(handle)


def _remedy(error: Exception) -> str:
    if isinstance(error, PermissionError) and os.name == "nt":
        return "close the programs that have the file open (a native file stays open while its space is in use)"
    return "free space or choose another folder"


def unreadable_kind(path: Path) -> str | None:
    """Return the kind of a path that is not a regular file (it may have no end, or be readable only once).

    None for regular files, and for paths that do not exist.

    >>> unreadable_kind(Path(os.curdir))
    'a folder'
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


#: A few letters that distinguish machines that share a folder.
_HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:6]


def temporary_path(path: Path) -> Path:
    """Return a temporary path for a file that will be renamed to `path`; it contains the machine and the process."""
    return path.with_name(f".{path.name[:64]}.{_HOST}-{os.getpid()}-{secrets.token_hex(4)}.part")


def remove_abandoned(path: Path) -> None:
    """Remove temporary files that a killed process of this machine left when writing to the same path."""
    for part in path.parent.glob(f".{glob.escape(path.name[:64])}.{_HOST}-*-*.part"):
        process = part.name.rsplit("-", 2)[1]
        if process.isdigit() and not _is_running(int(process)):
            if part.is_dir() and not part.is_symlink():
                shutil.rmtree(part, ignore_errors=True)
            else:
                with suppress(OSError):
                    part.unlink()


def _is_running(process: int) -> bool:
    if os.name != "posix":
        return True  # Windows: checking the process would end it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _reason(error: Exception) -> str | None:
    """Return why the system refused to write; None if the error has another cause.

    Polars wraps the system's message in its own errors: ``… (os error 28)``.
    """
    if isinstance(error, DensRayError):
        return None
    message = re.search(r"([^:]+) \(os error \d+\)", str(error))
    if message:
        return message[1].strip()
    return (error.strerror or str(error)) if isinstance(error, OSError) else None


@dataclass(frozen=True)
class ArchiveKind:
    """One kind of archive: arrays and a JSON header in one ``.npz``, never a pickle.

    Attributes
    ----------
    format : str
        The name in the header, such as ``densray-rotation``.
    version : int
        The only format version that is read.
    noun : str
        Name of the content in errors: “is not a readable rotation”.
    remedy : str
        The last sentence of every error: what to do about an unusable file.
    """

    format: str
    version: int
    noun: str
    remedy: str


Arrays = dict[str, NDArray[Any]]

_HEADER_MEMBER = "header"
#: Exceptions that reading a damaged or foreign archive may raise.
_UNREADABLE = (ValueError, OSError, EOFError, LookupError, zipfile.BadZipFile, zlib.error, MemoryError, OverflowError,
               RuntimeError)  # fmt: skip


def write_archive(
    path: Path, kind: ArchiveKind, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, overwrite: bool
) -> None:
    """Write arrays and a JSON header to one ``.npz``, atomically; the format, versions and a digest are added."""
    whole: dict[str, Any] = {
        "format": kind.format,
        "format_version": kind.version,
        "densray_version": __version__,
        **header,
    }
    whole["digest"] = archive_digest(whole, arrays)
    text = np.frombuffer(json.dumps(whole, ensure_ascii=False).encode(), dtype=np.uint8)
    members: dict[str, Any] = {_HEADER_MEMBER: text, **arrays}
    with atomic_write(path, overwrite=overwrite) as temporary, temporary.open("wb") as file:
        np.savez(file, **members)


def read_archive(
    path: Path, kind: ArchiveKind, *, check_header: Callable[[dict[str, Any]], None] | None = None, hasher: Any = None
) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of an archive that :func:`write_archive` wrote; any other file is a PersistenceError.

    `check_header` may raise its own errors about the header. It is called before the digest is compared, so that an
    incomplete header gets its own error. A `hasher` of `hashlib` is updated with the bytes of the file, opened once.
    """
    arrays = _read_arrays(path, kind, hasher)
    header = _read_header(path, kind, arrays.pop(_HEADER_MEMBER, None))
    if check_header is not None:
        check_header(header)
    if header.get("digest") != archive_digest(header, arrays):
        raise PersistenceError(f"{path}: the contents do not match their digest; the file was changed. {kind.remedy}")
    return header, arrays


@dataclass(frozen=True)
class Contents:
    """Values and arrays of an archive, read with a type check: a wrong type is a :class:`PersistenceError`.

    The digest detects damaged files; this detects files that another program wrote.
    """

    path: Path
    kind: ArchiveKind
    values: Mapping[str, Any]
    arrays: Arrays

    def value(self, name: str, *types: type, least: float | None = None) -> Any:
        """Return a value of one of these types, at least `least`; numbers must be finite, and bool is not a number."""
        return self.checked(name, self.values.get(name), *types, least=least)

    def checked(self, name: str, value: object, *types: type, least: float | None = None) -> Any:
        """Return `value`, checked like :meth:`value`; `name` is used in the error."""
        is_valid = isinstance(value, types) and (bool in types or not isinstance(value, bool))
        if isinstance(value, float | int) and is_valid:
            is_valid = math.isfinite(value) and (least is None or value >= least)
        if not is_valid:
            raise self.refusal(name)
        return value

    def listed(self, name: str, *types: type, length: int | None = None) -> list[Any]:
        """Return a list of `length` items of these types."""
        items = self.value(name, list)
        if not all(isinstance(item, types) for item in items) or length not in (None, len(items)):
            raise self.refusal(name)
        return list(items)

    def part(self, name: str) -> Contents:
        """Return a nested object of the values, with the same arrays."""
        return Contents(self.path, self.kind, self.value(name, dict), self.arrays)

    def array(self, name: str, *shape: int | None, kinds: str = "f") -> NDArray[Any]:
        """Return an array with this shape (None: any length) and kind of dtype; its numbers must be finite."""
        array = self.arrays.get(name)
        fits = array is not None and array.dtype.kind in kinds and array.ndim == len(shape)
        if array is None or not fits or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
            raise self.refusal(name)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise self.refusal(name)
        return array

    def refusal(self, name: str) -> PersistenceError:
        """Return the error for an unusable entry."""
        return PersistenceError(f"{self.path}: its '{name}' is missing or cannot be read. {self.kind.remedy}")


def archive_digest(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the hexadecimal SHA-256 of a header (without its entry ``digest``) and of arrays."""
    plain = {key: value for key, value in header.items() if key != "digest"}
    digest = hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _read_arrays(path: Path, kind: ArchiveKind, hasher: Any) -> Arrays:
    kind_of_path = unreadable_kind(path)
    if kind_of_path is not None:
        raise PersistenceError(f"{path} is {kind_of_path}, not a saved {kind.noun}. {kind.remedy}")
    try:
        with path.open("rb") as stream:
            if not stream.read(len(NPY_MAGIC)).startswith((b"PK", NPY_MAGIC)):
                raise PersistenceError(f"{path} is not a saved {kind.noun} (.npz). {say_kind(path) or kind.remedy}")
            stream.seek(0)
            if hasher is not None:
                hashlib.file_digest(stream, lambda: hasher)
                stream.seek(0)
            file = np.load(stream, allow_pickle=False)
            if not hasattr(file, "files"):
                raise PersistenceError(f"{path} holds a bare array, not a {kind.noun}. {kind.remedy}")
            if has_other_data(file.zip):
                raise PersistenceError(f"{path} holds several files, or other bytes, joined into one. {kind.remedy}")
            return {name: np.asarray(file[name]) for name in file.files}
    except FileNotFoundError:
        raise PersistenceError(f"{path} does not exist. {kind.remedy}") from None
    except PersistenceError:
        raise
    except _UNREADABLE as error:
        raise PersistenceError(f"{path} is not a readable {kind.noun} ({shorten(error)}). {kind.remedy}") from error


_ZIP_END, _ZIP_END_BYTES = b"PK\x05\x06", 22


def has_other_data(archive: zipfile.ZipFile) -> bool:
    """Return whether bytes precede or follow a zip archive in its file, for example if two files were joined.

    `zipfile` reads the last archive of a file and ignores bytes around it.
    """
    if min((entry.header_offset for entry in archive.infolist()), default=0) > 0:
        return True
    file = archive.fp
    if file is None:
        return False
    place, size = file.tell(), file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _ZIP_END_BYTES - (1 << 16)))
    tail = file.read()
    file.seek(place)
    return len(tail) - tail.rfind(_ZIP_END) != _ZIP_END_BYTES + len(archive.comment)


def _read_header(path: Path, kind: ArchiveKind, text: NDArray[Any] | None) -> dict[str, Any]:
    try:
        header: dict[str, Any] = json.loads(bytes(np.asarray(text, dtype=np.uint8)))
        name, version = header["format"], header.get("format_version")
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise PersistenceError(
            f"{path} has no densray header; it is not a saved {kind.noun}. {say_kind(path) or kind.remedy}"
        ) from error
    if name != kind.format:
        raise PersistenceError(f"{path} holds '{name}', not a {kind.noun} ('{kind.format}'). {kind.remedy}")
    if version != kind.version:
        raise PersistenceError(
            f"{path} has format version {version}; this densray ({__version__}) reads version {kind.version}. "
            f"Update densray. {kind.remedy}"
        )
    return header


#: A number as text files write it.
NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|nan|inf(?:inity)?)", re.IGNORECASE)
#: The first line of a word2vec file, text or binary: rows and width.
WORD2VEC_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?\s*(\d+)[ \t]+(\d+)[ \t]*(?:\r?\n|\Z)")
#: Files with a fixed signature, by their first bytes.
NPY_MAGIC, ZIP_MAGIC, PARQUET_MAGIC = b"\x93NUMPY", b"PK\x03\x04", b"PAR1"

_HEAD_BYTES = 1 << 15
_LONGEST_TENSOR_HEADER_BYTES = 1 << 27
#: With at least this many numbers after a word, a line is a vector and not an entry of a table.
VECTOR_NUMBERS = 8
#: Files of other programs, by their first bytes: the type, and how to convert files that may hold words.
_FOREIGN = {
    b"%PDF": "a PDF",
    b"{\\rtf": "a document (RTF); save it as text",
    b"\xd0\xcf\x11\xe0": "an old Office file (.doc, .xls); save it as .csv or as text",
    b"\x89PNG": "a picture (PNG)",
    b"\xff\xd8\xff": "a picture (JPEG)",
    b"GIF8": "a picture (GIF)",
    b"SQLite format 3": "a database (SQLite)",
}
#: Office documents are zip archives: a name that all of them contain, and their folders.
_DOCUMENT = (b"[Content_Types].xml", b"docProps/", b"application/vnd.oasis.opendocument")
_FOLDERS = {
    b"xl/": "an Excel file (.xlsx); save it as .csv",
    b"word/": "a Word document (.docx); save it as text",
    b"ppt/": "a presentation (.pptx)",
    b"": "a document of an office program; save it as .csv or as text",
}
#: Description of a workbook, whose first sheet can be read as a text table.
WORKBOOK = _FOLDERS[b"xl/"]
_PACKED = {ZIP_MAGIC: "zip", b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ": "xz"}
_TAR = slice(257, 262)
_PAGES = (b"<!doctype html", b"<html", b"<?xml")


def foreign_kind(head: bytes, *, packed: bool = False) -> str | None:
    """Return the likely type of another program's file from its first bytes; None if it is not recognised.

    With `packed`, archives and compressed files are reported too; vectors can be read from them directly.

    >>> foreign_kind(b"%PDF-1.7"), foreign_kind(b"good 1"), foreign_kind(b"\\x1f\\x8b", packed=True)
    ('a PDF', None, 'a file packed with gzip; unpack it first')
    """
    if head[_TAR] == b"ustar":
        return "an archive (tar); unpack it first"
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:20].lower().startswith(_PAGES):
        return "a web page (HTML or XML)"
    foreign = next((kind for beginning, kind in _FOREIGN.items() if head.startswith(beginning)), None)
    if head.startswith(ZIP_MAGIC) and any(mark in head[:_HEAD_BYTES] for mark in _DOCUMENT):
        foreign = next(kind for folder, kind in _FOLDERS.items() if folder in head[:_HEAD_BYTES])
    if packed and foreign is None and head.startswith(ZIP_MAGIC) and b".npy" in head[:_HEAD_BYTES]:
        return "a NumPy archive (.npz), such as an axis that densray saved"
    packing = next((name for beginning, name in _PACKED.items() if head.startswith(beginning)), None)
    if foreign is None and packed and packing is not None:
        return f"a file packed with {packing}; unpack it first"
    return foreign


_ADVICE = {
    "old axis": "Earlier versions saved axes as .npz files, which are no longer read. Fit it again: densray fit.",
    "erasure": "It is a saved erasure, to be applied to the space it was fitted on.",
    "axis": "It is a saved axis, to be used on the space it was fitted on.",
    "space": "It holds word vectors, to be given as the space.",
    "parquet": "It is a parquet file: a word list is a text file, .tsv or .csv, or JSON.",
    "table": "It seems to be a table of documents with vectors.",
    "lexicon": "It is a word list, to fit an axis from.",
    "workbook": f"It seems to be {WORKBOOK}.",
}


def kind_of(path: str | PathLike[str]) -> str | None:
    """Return the type of a file if it can be recognised.

    "axis", "old axis", "erasure", "space", "lexicon", "table", "workbook", "parquet" or "foreign".
    """
    try:
        if unreadable_kind(Path(path)) is not None:
            return None
        with Path(path).open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
            if is_safetensors(head):
                return _kind_of_tensors(stream, head)
            if head.startswith(b"PK") and foreign_kind(head) is None:
                return _kind_of_archive(stream)
    except (OSError, ValueError, IndexError, zipfile.BadZipFile, NotImplementedError):
        return None  # damaged, or an unsupported zip: opening it gives a specific error
    return _kind_of_head(head)


def _kind_of_head(head: bytes) -> str | None:
    foreign = foreign_kind(head)
    if foreign is not None:
        return "workbook" if foreign == WORKBOOK else "foreign"
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    return "space" if head.startswith(NPY_MAGIC) else _kind_of_lines(head)


def is_safetensors(head: bytes) -> bool:
    """Return whether a file begins like a safetensors file: the length of a JSON header, then the header."""
    return head[8:9] == b"{" and int.from_bytes(head[:8], "little") < _LONGEST_TENSOR_HEADER_BYTES


def say_kind(path: str | PathLike[str]) -> str:
    """Return a sentence that names the type of a file and its use; empty if the type is not known."""
    kind = kind_of(path)
    if kind == "foreign":
        with Path(path).open("rb") as stream:
            return f"It seems to be {foreign_kind(stream.read(_HEAD_BYTES))}."
    return "" if kind is None else _ADVICE[kind]


def _kind_of_tensors(stream: IO[bytes], head: bytes) -> str:
    """Return "axis" or "erasure" if the metadata of a safetensors file contain it, else "space"."""
    stream.seek(0)
    header = stream.read(8 + int.from_bytes(head[:8], "little"))
    return next((kind for kind in ("axis", "erasure") if b"densray-" + kind.encode() in header), "space")


def _kind_of_archive(stream: IO[bytes]) -> str | None:
    with zipfile.ZipFile(stream) as archive:
        names = set(archive.namelist())
    if {"header.npy", "components_.npy"} <= names:
        return "old axis"
    return "space" if {"words.npy", "vectors.npy"} <= names else None


#: Column names that number dimensions, such as d0,d1.
_COUNTED = re.compile(rb'(?:^|[,;\t])"?([A-Za-z_ -]*)[01]"?[,;\t]"?\1[12]"?(?:$|[,;\t\r])')


#: A field with a list of numbers, as tables of documents have.
_LIST = re.compile(rb'[,;\t]"?\[\s*[-+]?\d[\d.,e+-]*[\s,;]+[-+]?\d')


def _kind_of_lines(head: bytes) -> str | None:
    if WORD2VEC_HEADER.match(head):
        return "space"
    whole = head.splitlines()[: 20 if len(head) < _HEAD_BYTES else -1][:20]
    lines = [line.split() for line in whole if line.strip()]
    if not lines or b"\0" in head:
        return None
    if (
        _COUNTED.search(whole[0])
        or all(map(_is_vector, lines[:2]))
        or all(re.match(rb'\{".*\[\s*[-+.\d]', line) for line in whole[:2])
    ):
        return "space"
    if len(whole) > 1 and not _LIST.search(whole[0]) and all(map(_LIST.search, whole[1:])):
        return "table"
    if all(b"," in line or b";" in line for line in whole if line.strip()):
        return "space" if _is_vector(re.split(rb"[,;]\s*", whole[-1])) else "lexicon"
    return "lexicon" if all(len(fields) == 2 for fields in lines) else None


def _is_vector(fields: list[bytes]) -> bool:
    """Return whether the fields of a line are a word and enough numbers to be a vector."""
    return len(fields) > VECTOR_NUMBERS and all(map(NUMBER.fullmatch, fields[1:VECTOR_NUMBERS]))


def is_memory_mapped(array: object) -> bool:
    """Return whether an array, or the array it is a view of, is mapped from a file."""
    return _mapped(array) is not None


def release_pages(array: object) -> None:
    """Release the pages of a memory-mapped array that were read so far; other arrays are left alone.

    The operating system counts pages of a mapped file as memory of the process until memory runs short; a pass over
    a file larger than memory therefore releases them itself. Later accesses read them again. Private copies of pages
    (mode ``"c"``) hold changes by the caller, and are never released.
    """
    mapped = _mapped(array)
    if mapped is None or mapped.mode == "c" or not hasattr(mmap, "MADV_DONTNEED"):
        return
    buffer = mapped.base
    while isinstance(buffer, np.ndarray):
        buffer = buffer.base
    if isinstance(buffer, mmap.mmap):
        buffer.madvise(mmap.MADV_DONTNEED)


def _mapped(array: object) -> np.memmap | None:
    """Return the memory map an array is a view of."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return array if array.base is not None else None
        array = array.base
    return None
