"""Downloads that resume, and the archives they bring."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from densray.errors import DataError, shorten

if TYPE_CHECKING:
    from requests import Response

    from densray._threads import Progress


def unpack(archive: Path, folder: Path, *, strip: str = "") -> Path:
    """Unpack a zip archive into `folder`, all or nothing, and return `folder`.

    Parameters
    ----------
    archive : Path
    folder : Path
        Appears when the whole archive is unpacked.
    strip : str
        The leading folder inside the archive that is left out; members outside it are skipped.
    """
    with _opened(archive) as opened:
        for info in opened.infolist():
            _check_inside(info, archive)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
            unpacked = Path(temporary) / "unpacked"
            opened.extractall(unpacked)
            if not (unpacked / strip).is_dir():
                raise DataError(f"{archive}: holds no file in the folder '{strip}'. Is it another archive?")
            (unpacked / strip).rename(folder)
    return folder


def extract_member(archive: Path, member: str, target: Path) -> Path:
    """Write one member of a zip archive to `target` and return `target`."""
    with _opened(archive) as opened:
        if member not in opened.namelist():
            raise DataError(f"{archive}: has no member '{member}'. Is it another archive?")
        target.parent.mkdir(parents=True, exist_ok=True)
        with opened.open(member) as source, open(target, "wb") as file:
            shutil.copyfileobj(source, file)
    return target


@contextmanager
def _opened(archive: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(archive) as opened:
            yield opened
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        problem = f"is not a sound zip archive ({shorten(error)}). Remove it and fetch it again."
        raise DataError(f"{archive}: {problem}") from error
    except OSError as error:
        raise DataError(f"{archive}: cannot be unpacked ({error.strerror}). Make room beside it.") from error


def _check_inside(info: zipfile.ZipInfo, archive: Path) -> None:
    """Refuse an archive with a member whose path leaves its folder, or a link: neither is in one that is well meant."""
    path = PurePosixPath(info.filename.replace("\\", "/"))
    link = (info.external_attr >> 16) & 0o170000 == 0o120000
    if path.is_absolute() or ".." in path.parts or ":" in "".join(path.parts[:1]) or link:
        raise DataError(f"{archive}: the member '{info.filename}' would be written outside its folder. Nothing was.")


log = logging.getLogger(__name__)

_CHUNK = 1 << 16
_TIMEOUT = 30.0
_PARTIAL, _RANGE_BEYOND_END = 206, 416


class ResumingDownloader:
    """A pooch downloader that keeps what has arrived in `partial` and asks only for the rest next time.

    A server that cannot send a part sends the whole, and the file starts again.
    """

    def __init__(self, partial: Path, progress: Progress | None = None) -> None:
        self.partial = partial
        self.progress = progress

    def __call__(self, url: str, output_file: str, pooch: object) -> None:
        """Download `url`, then move the whole file to `output_file`."""
        import requests

        start = self.partial.stat().st_size if self.partial.exists() else 0
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
            if not (start and response.status_code == _RANGE_BEYOND_END):
                response.raise_for_status()
                self._store(response, start if response.status_code == _PARTIAL else 0)
        os.replace(self.partial, output_file)

    def _store(self, response: Response, start: int) -> None:
        expected = response.headers.get("Content-Length")
        total = start + int(expected) if expected else None
        done = start
        with open(self.partial, "ab" if start else "wb") as file:
            for chunk in response.iter_content(_CHUNK):
                file.write(chunk)
                done += len(chunk)
                if self.progress is not None:
                    self.progress(done, total)
        if total is not None and done < total:  # older urllib3 lets a cut connection pass
            raise ConnectionError(f"{done:,} of {total:,} bytes arrived")


def download(
    url: str,
    target: Path,
    *,
    checksum: str | None = None,
    advice: str = "",
    progress: Progress | None = None,
) -> Path:
    """Download `url` to `target`, resuming an earlier attempt, and return `target`.

    Parameters
    ----------
    url : str
    target : Path
        Appears only when it is whole and its checksum right; until then ``target.part`` grows beside it.
    checksum : str, optional
        ``algorithm:hexdigest``. A file that does not match it is removed, and a :class:`DataError` raised.
    advice : str
        Added to the error when the network or the server fails: what to do by hand.
    progress : Progress, optional
    """
    import pooch
    import requests

    partial = target.with_name(target.name + ".part")
    log.info("downloading %s to %s", url, target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _quiet_pooch():
            pooch.retrieve(url, checksum, target.name, target.parent, downloader=ResumingDownloader(partial, progress))
    except requests.HTTPError as error:
        raise DataError(f"{url}: the server does not give it out ({shorten(error)}). {advice}") from error
    except (requests.RequestException, ConnectionError, TimeoutError) as error:
        arrived = partial.stat().st_size if partial.exists() else 0
        kept = f"{arrived:,} bytes are kept in {partial.name}: run it again to go on. " if arrived else ""
        raise DataError(f"{url}: the download failed ({_reason(error)}). {kept}{advice}") from error
    except ValueError as error:  # pooch names neither the file nor what to do
        raise DataError(
            f"{url}: the downloaded file does not match its checksum {checksum} and was removed. "
            f"Run it again; if it happens twice, the file has changed at its source. {advice}"
        ) from error
    except OSError as error:
        raise DataError(
            f"{target}: cannot be written ({error.strerror}). Make room, or name a folder by DENSRAY_DATA."
        ) from error
    return target


def _reason(error: Exception) -> str:
    """Return one line for a network error: requests nests them deeply."""
    innermost: BaseException = error
    while innermost.__cause__ or innermost.__context__:
        innermost = innermost.__cause__ or innermost.__context__  # type: ignore[assignment]
    return f"{type(error).__name__}: {str(innermost) or innermost.__class__.__name__}"


@contextmanager
def _quiet_pooch() -> Iterator[None]:
    """Silence pooch's own messages, which go to the terminal: the library logs, and prints nothing."""
    import pooch

    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
