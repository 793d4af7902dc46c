"""Zip archives, unpacked without trusting the names inside them."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from densray.errors import DataError

__all__ = ["extract_member", "unpack"]


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
        members = [(info, _inside(info, archive)) for info in opened.infolist() if not info.is_dir()]
        wanted = [(info, path.relative_to(strip)) for info, path in members if path.is_relative_to(strip)]
        if not wanted:
            raise DataError(f"{archive}: holds no file in the folder '{strip}'. Is it another archive?")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
            unpacked = Path(temporary) / "unpacked"
            for info, path in wanted:
                _write_member(opened, info, unpacked / path)
            unpacked.rename(folder)
    return folder


def extract_member(archive: Path, member: str, target: Path) -> Path:
    """Write one member of a zip archive to `target` and return `target`."""
    with _opened(archive) as opened:
        if member not in opened.namelist():
            raise DataError(f"{archive}: has no member '{member}'. Is it another archive?")
        _write_member(opened, opened.getinfo(member), target)
    return target


@contextmanager
def _opened(archive: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(archive) as opened:
            yield opened
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise DataError(f"{archive}: is not a sound zip archive ({error}). Remove it and fetch it again.") from error
    except OSError as error:
        raise DataError(f"{archive}: cannot be unpacked ({error.strerror}). Make room beside it.") from error


def _inside(info: zipfile.ZipInfo, archive: Path) -> PurePosixPath:
    """Return the member's path; a path that leaves the folder refuses the whole archive."""
    path = PurePosixPath(info.filename.replace("\\", "/"))
    link = (info.external_attr >> 16) & 0o170000 == 0o120000
    if path.is_absolute() or ".." in path.parts or ":" in path.parts[0] or link:
        raise DataError(f"{archive}: the member '{info.filename}' would be written outside its folder. Nothing was.")
    return path


def _write_member(opened: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with opened.open(info) as source, open(target, "wb") as file:
        shutil.copyfileobj(source, file)
