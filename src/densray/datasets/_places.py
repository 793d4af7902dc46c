"""Where data sets lie on this machine: in the package, in ``DENSRAY_DATA``, in the user's cache."""

from __future__ import annotations

import logging
import os
from os import PathLike
from pathlib import Path, PurePosixPath

from densray.datasets._archives import extract_member, unpack
from densray.datasets._download import Progress, download
from densray.datasets._registry import EMBEDDED_FOLDER, DataFile, DataSet, find_dataset, list_datasets
from densray.errors import DataError, suggest

__all__ = ["cache_folder", "data_folder", "existing_path", "fetch", "files_of", "is_at_hand", "path_of"]

log = logging.getLogger(__name__)


def data_folder() -> Path:
    """Return the folder downloads go to: ``DENSRAY_DATA`` where it is set, else the user's cache."""
    named = os.environ.get("DENSRAY_DATA")
    return Path(named).expanduser() if named else cache_folder()


def path_of(name: str) -> Path:
    """Return where the data set lies on this machine, without downloading anything.

    Parameters
    ----------
    name : str

    Returns
    -------
    Path
        A file, or a folder where the set has several files. A set placed by hand is found in
        ``DENSRAY_DATA``, with or without its folder (``lexicons/bwk/…``), packed or not.

    Raises
    ------
    DataError
        The set is unknown, or not on this machine; the message says how to get it.

    Examples
    --------
    >>> path_of("google").name
    'questions-words.txt'
    """
    entry = _with_files(name)
    found = _find(entry)
    if not found:
        fetching = f"Run `densray data fetch {name}`. " if entry.downloadable else ""
        raise DataError(f"The data set '{name}' is not on this machine. {fetching}{_by_hand(entry)}")
    return found[0] if entry.path == entry.files[0].path or entry.unpacked else found[0].parent


def fetch(name: str, *, progress: Progress | None = None) -> Path:
    """Return where the data set lies, after downloading what is not there.

    Parameters
    ----------
    name : str
    progress : Progress, optional
        Called with the bytes done and the total as each download goes on; the library itself is silent.

    Returns
    -------
    Path
        As :func:`path_of`.

    Raises
    ------
    DataError
        No network, an answer other than the file, a wrong checksum, or a set its owner gives out only by
        hand; the message says which file to place where. A cut download is resumed by the next call.
    """
    entry = _with_files(name)
    if not _find(entry):
        folder = data_folder()
        for file in entry.files:
            path = _find_file(file, folder) or _fetch_file(entry, file, folder, progress)
            if entry.unpacked:
                unpack(path, folder / entry.path, strip=entry.strip)
    return path_of(name)


def existing_path(given: str | PathLike[str], kind: str) -> Path:
    """Return `given` as a path; where there is none, the error names the nearest set of this kind."""
    path = Path(given)
    if not str(given).strip() or not path.exists():
        names = [entry.name for entry in list_datasets(kind)]
        raise DataError(f"'{given}' is neither a file nor a data set ({kind}). {suggest(str(given), names)}")
    return path


def is_at_hand(name: str) -> bool:
    """Return whether a data set is on this machine; of a union, whether all its parts are."""
    entry = find_dataset(name)
    return all(map(is_at_hand, entry.parts)) if entry.parts else bool(_find(entry))


def files_of(name: str) -> list[Path]:
    """Return the files of a set that is on this machine, in the order of the registry."""
    path_of(name)
    return _find(find_dataset(name))


def _with_files(name: str) -> DataSet:
    """Return a data set that has files of its own."""
    entry = find_dataset(name)
    if entry.parts:
        parts = " and ".join(f"'{part}'" for part in entry.parts)
        raise DataError(f"'{name}' is the union of {parts} and has no file of its own. Ask for those.")
    return entry


def _fetch_file(entry: DataSet, file: DataFile, folder: Path, progress: Progress | None) -> Path:
    advice = _by_hand(entry)
    if file.url is None:
        raise DataError(f"The data set '{entry.name}' cannot be downloaded directly. {advice}")
    target = folder / file.path
    if file.member is None:
        return download(file.url, target, checksum=file.checksum, advice=advice, progress=progress)
    archive = target.with_name(PurePosixPath(file.url).name)
    download(file.url, archive, advice=advice, progress=progress)
    partial = extract_member(archive, file.member, target.with_name(target.name + ".part"))
    archive.unlink()
    if not _matches(partial, file.checksum):
        partial.unlink()
        raise DataError(f"{file.url}: '{file.member}' does not match its checksum and was removed. {advice}")
    return partial.replace(target)


def _find(entry: DataSet) -> list[Path]:
    """Return the files of the set (the folder of an unpacked one) in the first place that has all of them."""
    if entry.embedded:
        return [EMBEDDED_FOLDER / file.path for file in entry.files]
    for folder in dict.fromkeys((data_folder(), cache_folder())):
        if entry.unpacked:
            found = _find_unpacked(entry, folder)
        else:
            found = [path for file in entry.files if (path := _find_file(file, folder))]
        if found and len(found) == len(entry.files):
            return found
    return []


def _find_unpacked(entry: DataSet, folder: Path) -> list[Path]:
    path = PurePosixPath(entry.path)
    names = (path, path.name, path.with_name(entry.strip), entry.strip)
    return [folder / name for name in names if any((folder / name).glob("*"))][:1]


def _find_file(file: DataFile, folder: Path) -> Path | None:
    """Return the file in its folder or at the top, under any of its names; warn of another size."""
    names = (file.path, *file.also)
    for name in (*names, *(PurePosixPath(name).name for name in names)):
        path = folder / name
        if path.is_file():
            size = path.stat().st_size
            if name == file.path and file.size not in (None, size):
                log.warning("%s has %d bytes, not %d: is it another version?", path, size, file.size)
            return path
    return None


def _matches(path: Path, checksum: str | None) -> bool:
    from pooch import file_hash

    if checksum is None:
        return True
    algorithm, _, digest = checksum.partition(":")
    return bool(file_hash(str(path), alg=algorithm) == digest)


def _by_hand(entry: DataSet) -> str:
    """Say which files to place where."""
    urls = [file.url for file in entry.files if file.url and not file.member]
    address = urls[0] if len(urls) == len(entry.files) == 1 else entry.source
    paths = [entry.path] if entry.unpacked else [file.path for file in entry.files]
    targets = ", ".join(str(data_folder() / path) for path in paths)
    verb = "unpack it into" if entry.unpacked else "place it at"
    other = "" if "DENSRAY_DATA" in os.environ else "; another folder can be named by DENSRAY_DATA"
    return f"By hand: get it from {address} and {verb} {targets}{other}."


def cache_folder() -> Path:
    """Return the folder of this user's cache that belongs to densray."""
    from pooch import os_cache

    return Path(os_cache("densray"))
