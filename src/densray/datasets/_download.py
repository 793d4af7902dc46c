"""Downloads that resume, are checked, and say what to do when they fail."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from densray.errors import DataError

if TYPE_CHECKING:
    from requests import Response

__all__ = ["Progress", "download"]

log = logging.getLogger(__name__)

_CHUNK = 1 << 16
_TIMEOUT = 30.0
_PARTIAL, _RANGE_BEYOND_END = 206, 416


class Progress(Protocol):
    """What a download calls to say how far it is, in bytes; the total is None where the server names none."""

    def __call__(self, done: int, total: int | None = None, /) -> None: ...


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
        raise DataError(f"{url}: the server does not give it out ({error}). {advice}") from error
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
