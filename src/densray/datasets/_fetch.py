"""Resumable downloads, and unpacking of archives."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from densray._files import atomic_write, foreign_kind, remove_abandoned, temporary_path, try_lock
from densray.errors import DataError, shorten

if TYPE_CHECKING:
    from requests import Response

    from densray.progress import Progress


def unpack(archive: Path, folder: Path, *, strip: str = "") -> Path:
    """Unpack a zip archive into `folder`, atomically, and return `folder`.

    Parameters
    ----------
    archive : Path
    folder : Path
        Created once the whole archive is unpacked.
    strip : str
        The leading folder inside the archive, which is removed; members outside it are skipped.
    """
    with _open_archive(archive) as content:
        for info in content.infolist():
            _check_inside(info, archive)
        _check_ratio(sum(info.file_size for info in content.infolist()), archive)
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(folder)
        temporary = temporary_path(folder)
        try:
            unpacked = temporary / "unpacked"
            content.extractall(unpacked)
            if not (unpacked / strip).is_dir():
                raise DataError(f"{archive}: holds no file in the folder '{strip}'. Is it another archive?")
            if not any(folder.glob("*")):  # another process may have unpacked it in the meantime
                (unpacked / strip).rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder


def extract_member(archive: Path, member: str, target: Path) -> Path:
    """Write one member of a zip archive to `target` and return `target`."""
    with _open_archive(archive) as content:
        if member not in content.namelist():
            raise DataError(f"{archive}: has no member '{member}'. Is it another archive?")
        _check_ratio(content.getinfo(member).file_size, archive)
        target.parent.mkdir(parents=True, exist_ok=True)
        with content.open(member) as source, open(target, "wb") as file:
            shutil.copyfileobj(source, file)
    return target


@contextmanager
def _open_archive(archive: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(archive) as content:
            yield content
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        problem = f"is not a sound zip archive ({shorten(error)}). Remove it and fetch it again."
        raise DataError(f"{archive}: {problem}") from error
    except OSError as error:
        raise DataError(f"{archive}: cannot be unpacked ({error.strerror}). Free some space next to it.") from error


def _check_inside(info: zipfile.ZipInfo, archive: Path) -> None:
    """Refuse an archive with a link, or with a member outside its folder: both are signs of an attack."""
    path = PurePosixPath(info.filename.replace("\\", "/"))
    link = (info.external_attr >> 16) & 0o170000 == 0o120000
    if path.is_absolute() or ".." in path.parts or ":" in "".join(path.parts[:1]) or link:
        raise DataError(
            f"{archive}: the member '{info.filename}' would be written outside its folder. Nothing was unpacked."
        )


def _check_ratio(unpacked: int, archive: Path) -> None:
    """Refuse an archive that would become absurdly large (a zip bomb)."""
    if unpacked > _LARGEST_RATIO * archive.stat().st_size + _CHUNK:
        raise DataError(f"{archive} would unpack to {unpacked:,} bytes, more than any data set. Nothing was unpacked.")


log = logging.getLogger(__name__)

_CHUNK = 1 << 16
#: Timeouts in seconds: without any data, and in total; data received so far are kept.
_TIMEOUT = 30.0
_LONGEST = 6 * 3600.0
#: Largest download whose size is not known, in bytes.
_LARGEST = 1 << 35
#: Largest expansion ratio of an archive: text is packed to a tenth, zeros to a thousandth.
_LARGEST_RATIO = 200
_WHOLE, _PARTIAL, _RANGE_BEYOND_END = 200, 206, 416
_BEGINNINGS = {".zip": b"PK", ".gz": b"\x1f\x8b"}


def download(
    url: str,
    target: Path,
    *,
    size: int | None = None,
    checksum: str | None = None,
    advice: str = "",
    progress: Progress | None = None,
    seconds: float = _LONGEST,
) -> Path:
    """Download `url` to `target`, resuming an earlier attempt, and return `target`.

    Parameters
    ----------
    url : str
    target : Path
        Created only when it is complete and verified; until then ``target.part`` grows next to it.
    size : int, optional
        Expected size in bytes. A file of another size is refused.
    checksum : str, optional
        ``algorithm:hexdigest``. If it does not match, the file is removed and a :class:`DataError` is raised.
    advice : str
        Added to the error if the network or the server fails: how to get the file by hand.
    progress : Progress, optional
    seconds : float
        Time limit. The part downloaded so far is kept.
    """
    import requests
    import urllib3

    transfer = _Transfer(url, target, size, checksum, progress, time.monotonic() + seconds)
    log.info("downloading %s to %s", url, target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _only_downloader(transfer.partial) as file:
            transfer.run(file)
            file.flush()
            os.fsync(file.fileno())
            transfer.check()
            if os.name == "posix":  # rename while the lock is held
                os.replace(transfer.partial, target)
        if os.name != "posix":  # Windows cannot rename an open file
            os.replace(transfer.partial, target)
        transfer.origin.unlink(missing_ok=True)
    except requests.HTTPError as error:
        raise DataError(f"{url}: the server refuses the download ({shorten(error)}). {advice}") from error
    except (requests.RequestException, urllib3.exceptions.HTTPError, ConnectionError, TimeoutError) as error:
        n_bytes = transfer.partial.stat().st_size if transfer.partial.exists() else 0
        note = f"{n_bytes:,} bytes are kept in {transfer.partial.name}: run it again to resume. " if n_bytes else ""
        raise DataError(f"{url}: the download failed ({_reason(error)}). {note}{advice}") from error
    except _WrongFileError as error:
        for path in (transfer.partial, transfer.origin):
            path.unlink(missing_ok=True)
        raise DataError(f"{url}: {error} {advice}") from None
    except OSError as error:
        raise DataError(
            f"{target}: cannot be written ({error.strerror}). Make room, or name a folder by DENSRAY_DATA."
        ) from error
    return target


class _WrongFileError(Exception):
    """The server sends something else than the file; data received so far are removed."""


@dataclass
class _Transfer:
    """One download: its source, its known properties, and the data received so far."""

    url: str
    target: Path
    size: int | None
    checksum: str | None
    progress: Progress | None
    deadline: float
    partial: Path = field(init=False)
    origin: Path = field(init=False)  # records the version of the file that the partial one belongs to

    def __post_init__(self) -> None:
        self.partial = self.target.with_name(self.target.name + ".part")
        self.origin = self.target.with_name(self.target.name + ".part.json")

    def run(self, file: BinaryIO) -> None:
        """Download the missing part of the file; start over if the server cannot resume."""
        start, version = file.seek(0, os.SEEK_END), self._version()
        if (version is None and self.checksum is None) or (self.size is not None and start > self.size):
            start = 0  # without a version, the rest might be of another file
        if not self._continue(file, start, version):
            self._continue(file, 0, None)

    def _continue(self, file: BinaryIO, start: int, version: str | None) -> bool:
        """Download from `start` on; return False if the response does not continue the partial file."""
        import requests

        headers = {"Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
            if version is not None:
                headers["If-Range"] = version
        with requests.get(self.url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
            status, content_range = response.status_code, _content_range(response)
            if start and status == _RANGE_BEYOND_END:
                return content_range == (None, start) or start == self.size
            response.raise_for_status()
            if status not in (_WHOLE, _PARTIAL) or (status == _PARTIAL and not start):
                raise _WrongFileError(f"the server answers with status {status} instead of the file.")
            if status == _PARTIAL and (content_range is None or content_range[0] != start):
                return False
            if status == _PARTIAL and not self._continues(response, version):
                return False
            self._store(response, file, start if status == _PARTIAL else 0, content_range)
        return True

    def _continues(self, response: Response, version: str | None) -> bool:
        """Return whether a response continues the same version of the file; a server may ignore ``If-Range``.

        A part names its version (RFC 9110, section 15.3.7). A part without a version is accepted only with a checksum.
        """
        new_version = _version_of(response)
        return new_version == version or (self.checksum is not None and None in (new_version, version))

    def _store(
        self, response: Response, file: BinaryIO, start: int, content_range: tuple[int | None, int] | None
    ) -> None:
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdecimal() else None if content_range is None else content_range[1]
        self._check_answer(response, total, content_range)
        file.truncate(start)
        if not start:  # after the old bytes are removed, so that a version never refers to other bytes
            self._note_version(response)
        done, most = start, next(n for n in (self.size, total, _LARGEST) if n is not None)
        read = getattr(response.raw, "read1", response.raw.read)  # urllib3 1 has no read1: it waits for a whole chunk
        while chunk := read(_CHUNK, decode_content=False):
            done += len(chunk)
            if done > most:
                raise _WrongFileError(f"more than {most:,} bytes arrive. What has arrived was removed.")
            file.write(chunk)
            if self.progress is not None:
                self.progress(done, total)
            if time.monotonic() > self.deadline:
                raise TimeoutError("it takes too long")
        if total is not None and done < total:
            raise ConnectionError(f"{done:,} of {total:,} bytes arrived")

    def _check_answer(
        self, response: Response, total: int | None, content_range: tuple[int | None, int] | None
    ) -> None:
        """Refuse a response that is not the file, before any of it is stored."""
        coding = response.headers.get("Content-Encoding", "identity").lower()
        if coding != "identity" and not (coding in ("gzip", "x-gzip") and self.target.suffix == ".gz"):
            raise _WrongFileError(
                f"the server sends the file compressed ({shorten(coding)}), although this was not requested."
            )
        if response.headers.get("Content-Type", "").lower().startswith("text/html"):
            raise _WrongFileError("the server sends a web page, perhaps a login, instead of the file.")
        sizes = {total, None if content_range is None else content_range[1], self.size} - {None}
        if len(sizes) > 1:
            raise _WrongFileError(f"it has {total or 0:,} bytes at its source, not {self.size or 0:,}: it has changed.")
        if not sizes and self.checksum is None:
            raise _WrongFileError(
                "the server does not state the size of the file, so a truncated download could not be detected."
            )

    def check(self) -> None:
        """Raise unless the partial file is complete and matches all known checks."""
        n_bytes = self.partial.stat().st_size
        if self.size not in (None, n_bytes):
            raise _WrongFileError(f"{n_bytes:,} bytes arrived, not {self.size:,}. They were removed.")
        if not matches(self.partial, self.checksum):
            raise _WrongFileError(
                f"the downloaded file does not match its checksum {self.checksum} and was removed. Run the "
                "command again. If this happens twice, the file has changed at its source."
            )
        with self.partial.open("rb") as file:
            beginning = file.read(_CHUNK)
        expected = _BEGINNINGS.get(self.target.suffix, b"")
        if self.checksum is None and (foreign_kind(beginning) is not None or not beginning.startswith(expected)):
            kind = foreign_kind(beginning) or f"no {self.target.suffix} file"
            raise _WrongFileError(f"what arrived is {kind}, and was removed.")

    def _version(self) -> str | None:
        """Return the version of the partial file, as named by the server."""
        with suppress(OSError, ValueError, LookupError, TypeError):
            record = json.loads(self.origin.read_text(encoding="utf-8"))
            if record["url"] == self.url and isinstance(record["version"], str):
                return str(record["version"])
        return None

    def _note_version(self, response: Response) -> None:
        record = {"url": self.url, "version": _version_of(response)}
        with atomic_write(self.origin, overwrite=True) as temporary:
            temporary.write_text(json.dumps(record), encoding="utf-8")


def _version_of(response: Response) -> str | None:
    """Return the server's name for this version of a file; a weak tag (``W/"…"``) does not guarantee the same bytes."""
    tag = response.headers.get("ETag", "")
    return tag if tag.startswith('"') else response.headers.get("Last-Modified")


def _content_range(response: Response) -> tuple[int | None, int] | None:
    """Return the start of a part and the total length (``Content-Range: bytes 5-9/10``, or ``bytes */10``)."""
    match = re.fullmatch(r"bytes (?:(\d{1,18})-\d{1,18}|\*)/(\d{1,18})", response.headers.get("Content-Range", ""))
    return None if match is None else (int(match[1]) if match[1] else None, int(match[2]))


@contextmanager
def _only_downloader(partial: Path) -> Iterator[BinaryIO]:
    """Open a partial file that no other process is writing; the lock ends with the process."""
    with open(partial, "ab") as file:  # appending never truncates data of another process
        if not try_lock(file.fileno()):
            raise DataError(f"another process is downloading {partial.stem}. Wait for it.")
        if not partial.exists() or not os.path.samestat(os.fstat(file.fileno()), partial.stat()):
            raise DataError(f"another process has just downloaded {partial.stem}. Run the command again.")
        yield file


def matches(path: Path, checksum: str | None) -> bool:
    """Return whether a file matches a checksum (``algorithm:hexdigest``); True without a checksum."""
    if checksum is None:
        return True
    algorithm, _, digest = checksum.partition(":")
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest() == digest


def _reason(error: Exception) -> str:
    """Return one line for a network error, which requests nests deeply."""
    innermost: BaseException = error
    while innermost.__cause__ or innermost.__context__:
        innermost = innermost.__cause__ or innermost.__context__  # type: ignore[assignment]
    return f"{type(error).__name__}: {str(innermost) or innermost.__class__.__name__}"
