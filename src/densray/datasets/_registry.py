"""The known data sets and the locations of their files."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

from densray._files import atomic_write
from densray.datasets._fetch import download, extract_member, matches, unpack
from densray.errors import Advice, Argument, DataError, suggest
from densray.progress import Progress

_REGISTRY = Path(__file__).with_name("registry.toml")


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes
    ----------
    path : str
        Path of the file below the data folder.
    url : str or None
        Its direct address; None if it is available only from its owner.
    size : int or None
        Size in bytes, if known.
    checksum : str or None
        ``algorithm:hexdigest`` of the file, if known.
    also : tuple of str
        Alternative paths of the file, if it was placed by hand.
    member : str or None
        Name of the file inside the zip archive at `url`.
    """

    path: str
    url: str | None = None
    size: int | None = None
    checksum: str | None = None
    also: tuple[str, ...] = ()
    member: str | None = None

    @property
    def is_unchecked(self) -> bool:
        """Whether the file cannot be verified, because neither checksum nor size is known."""
        return self.size is None and self.checksum is None


@dataclass(frozen=True)
class DataSet:
    """One data set and its source.

    Attributes
    ----------
    name, kind, title, source, licence, citation : str
        `kind` is space, analogies, lexicon, words, pairs, weat, similarity, ratings or states; `source` is a
        home page.
    path : str
        Result of :func:`path_of`, below the data folder: a file, or a folder of several files.
    files : tuple of DataFile
        Its files; for a set that comes as an archive, the archive; empty for a union.
    embedded : bool
        Whether it is part of the package ``densray-data``, which is installed with this one.
    unpacked : bool
        Whether its one file is a zip archive that is unpacked into the folder `path`.
    strip : str
        The leading folder inside that archive.
    parts : tuple of str
        For a union: the data sets that it consists of.
    """

    name: str
    kind: str
    title: str
    source: str
    licence: str
    citation: str
    path: str
    files: tuple[DataFile, ...]
    embedded: bool = False
    unpacked: bool = False
    strip: str = ""
    parts: tuple[str, ...] = ()

    @property
    def size(self) -> int | None:
        """Total size of its files in bytes; None if one of them is not known, and for a union."""
        sizes = [file.size for file in self.files]
        return None if None in sizes or self.parts else sum(size for size in sizes if size is not None)

    @property
    def checksums(self) -> dict[str, str]:
        """The known checksum of each file, by its path."""
        return {file.path: file.checksum for file in self.files if file.checksum is not None}

    @property
    def checked_by(self) -> str:
        """How a download is verified: "sha256", "md5", "size" or "nothing"; for several files, the weakest check.

        ", http" is added if an address is not https. Empty for a set that is not downloaded.
        """
        if self.embedded or not any(file.url for file in self.files):
            return ""
        ranks = ("sha256", "md5", "size", "nothing")
        checks = [
            (file.checksum or ("nothing" if file.is_unchecked else "size")).partition(":")[0] for file in self.files
        ]
        weakest = max(checks, key=ranks.index)
        return weakest + (", http" if any((file.url or "").startswith("http:") for file in self.files) else "")

    @property
    def downloadable(self) -> bool:
        """Whether every file has a direct address; for a union, every part that is not bundled."""
        parts = [find_dataset(part) for part in self.parts]
        return all(file.url is not None for file in self.files) and all(p.embedded or p.downloadable for p in parts)


def list_datasets(kind: str | None = None) -> list[DataSet]:
    """Return all known data sets, the bundled ones first.

    Parameters
    ----------
    kind : str, optional
        Only this kind: space, analogies, lexicon, words, pairs, weat, similarity, ratings or states.

    Examples
    --------
    >>> [entry.name for entry in list_datasets("analogies")]
    ['google', 'msr', 'bats']
    """
    entries = _registry().values()
    kinds = list(dict.fromkeys(entry.kind for entry in entries))
    if kind is not None and kind not in kinds:
        raise DataError(f"There is no kind of data set called '{kind}'. {suggest(kind, kinds)}")
    selection = [entry for entry in entries if kind in (None, entry.kind)]
    return sorted(selection, key=lambda entry: not entry.embedded)


def find_dataset(name: str, kind: str | None = None) -> DataSet:
    """Return the data set called `name`; the error suggests a similar name, or gives the actual kind."""
    entries = _registry()
    if name not in entries:
        names = [entry.name for entry in list_datasets(kind)]
        raise DataError(f"There is no data set called '{name}'. {suggest(name, names)}")
    entry = entries[name]
    if kind is not None and entry.kind != kind:
        names = [other.name for other in list_datasets(kind)]
        raise DataError(f"'{name}' is of the kind {entry.kind}; needed is {kind}: {', '.join(names)}.")
    return entry


def is_dataset(name: object) -> bool:
    """Return whether `name` is the name of a data set."""
    return isinstance(name, str) and name in _registry()


@cache
def _registry() -> dict[str, DataSet]:
    tables = tomllib.loads(_REGISTRY.read_text("utf-8"))
    return {name: _read_entry(name, table) for name, table in tables.items()}


def _read_entry(name: str, table: dict[str, Any]) -> DataSet:
    fields = dict(table)
    if archive := fields.pop("archive", None):
        fields |= {"unpacked": True, "strip": archive.pop("strip"), "files": [archive]}
    if parts := fields.pop("parts", None):
        fields |= {"path": "", "files": [], "parts": tuple(parts)}
    files = [DataFile(**{**row, "also": tuple(row.get("also", ()))}) for row in fields.pop("files")]
    if fields.get("embedded"):
        files = [_embedded_file(file.path) for file in files]
    return DataSet(name=name, files=tuple(files), **fields)


def _embedded_file(path: str) -> DataFile:
    folder = embedded_folder()
    if folder is None:
        return DataFile(path)
    return DataFile(path, size=(folder / path).stat().st_size, checksum=f"sha256:{embedded_checksums()[path]}")


@cache
def embedded_folder() -> Path | None:
    """Return the folder of the package ``densray-data``; None if a distributor left it out."""
    package = find_spec("densray_data")
    return None if package is None or package.origin is None else Path(package.origin).parent


@cache
def embedded_checksums() -> dict[str, str]:
    """Return the sha256 of each bundled file, as recorded by the build."""
    folder = embedded_folder()
    lines = [] if folder is None else (folder / "SHA256SUMS").read_text("utf-8").splitlines()
    return {path: digest for digest, path in (line.split("  ", 1) for line in lines)}


def data_folder() -> Path:
    """Return the folder of downloads: ``DENSRAY_DATA`` if it is set, else the user's cache."""
    folder = os.environ.get("DENSRAY_DATA")
    return Path(folder).expanduser() if folder else cache_folder()


def path_of(name: str) -> Path:
    """Return the path of the data set on this machine, without downloading anything.

    Parameters
    ----------
    name : str

    Returns
    -------
    Path
        A file, or a folder if the set has several files. A set placed by hand is found in
        ``DENSRAY_DATA``, with or without its folder (``lexicons/bwk/…``), zipped or not.

    Raises
    ------
    DataError
        The set is unknown, or not on this machine; the message explains how to get it.

    Examples
    --------
    >>> path_of("google").name
    'questions-words.txt'
    """
    entry = _with_files(name)
    paths = _find(entry)
    if not paths:
        raise DataError(f"The data set '{name}' is not on this machine. {_how_to_get(entry)}")
    return paths[0] if entry.path == entry.files[0].path or entry.unpacked else paths[0].parent


def fetch(name: str, *, trust_unchecked: bool = False, progress: Progress | None = None) -> Path:
    """Return the path of the data set, after downloading missing files.

    Parameters
    ----------
    name : str
    trust_unchecked : bool, default=False
        Whether to download a file that cannot be verified, because neither its checksum nor its size is known.
    progress : Progress, optional
        Called with the bytes done and the total during each download; the library itself is silent.

    Returns
    -------
    Path
        As :func:`path_of`.

    Raises
    ------
    DataError
        No network, a response other than the file, a wrong checksum or size, nothing to check the file with, or a set
        that is available only from its owner; the message names the file and its place. The next call resumes an
        interrupted download.
    """
    entry = _with_files(name)
    if not _find(entry) and not entry.embedded:
        folder = data_folder()
        for file in entry.files:
            path = _find_file(file, folder)
            if path is None:
                _check_trusted(entry, file, trust_unchecked)
                path = _fetch_file(entry, file, folder, progress)
            if entry.unpacked:
                unpack(path, folder / entry.path, strip=entry.strip)
    return path_of(name)


def existing_path(source: str | PathLike[str], kind: str) -> Path:
    """Return `source` as a path; if it does not exist, the error suggests a similar set of this kind."""
    path = Path(source)
    if not str(source).strip() or not path.exists():
        names = [entry.name for entry in list_datasets(kind)]
        raise DataError(f"'{source}' is neither a file nor a data set ({kind}). {suggest(str(source), names)}")
    return path


def is_at_hand(name: str) -> bool:
    """Return whether a data set is on this machine; for a union, whether all its parts are."""
    entry = find_dataset(name)
    try:
        return all(map(is_at_hand, entry.parts)) if entry.parts else bool(_find(entry))
    except DataError:  # a file of the wrong size
        return False


def files_of(name: str) -> list[Path]:
    """Return the files of a set that is on this machine, in the order of the registry."""
    path_of(name)
    return _find(find_dataset(name))


def _with_files(name: str) -> DataSet:
    """Return a data set that has its own files; raise for a union."""
    entry = find_dataset(name)
    if entry.parts:
        parts = " and ".join(f"'{part}'" for part in entry.parts)
        raise DataError(f"'{name}' is the union of {parts} and has no file of its own. Use those instead.")
    return entry


def _check_trusted(entry: DataSet, file: DataFile, trust_unchecked: bool) -> None:
    """Raise if a wrong file could not be detected, unless the caller accepts this."""
    if file.url is not None and file.is_unchecked and not trust_unchecked:
        raise DataError(
            f"Neither checksum nor size of '{entry.name}' is known, so that a wrong file would not be noticed.",
            Advice(" To download it all the same, pass ", Argument("trust_unchecked", True), "."),
            f" {_by_hand(entry)}",
        )


def _fetch_file(entry: DataSet, file: DataFile, folder: Path, progress: Progress | None) -> Path:
    advice = _by_hand(entry)
    if file.url is None:
        raise DataError(f"The data set '{entry.name}' cannot be downloaded directly. {advice}")
    target = folder / file.path
    if file.member is None:
        return download(file.url, target, size=file.size, checksum=file.checksum, advice=advice, progress=progress)
    archive = target.with_name(PurePosixPath(file.url).name)
    download(file.url, archive, advice=advice, progress=progress)
    try:
        with atomic_write(target, overwrite=True) as temporary:
            extract_member(archive, file.member, temporary)
            if not matches(temporary, file.checksum):
                raise DataError(f"{file.url}: '{file.member}' does not match its checksum and was removed. {advice}")
    finally:
        archive.unlink(missing_ok=True)
    return target


def _find(entry: DataSet) -> list[Path]:
    """Return the files of the set (or the folder of an unpacked one) from the first place that has all of them."""
    carried = embedded_folder()
    if entry.embedded and carried is not None:
        return [carried / file.path for file in entry.files]
    for folder in dict.fromkeys((data_folder(), cache_folder())):
        if entry.unpacked:
            paths = _find_unpacked(entry, folder)
        else:
            paths = [path for file in entry.files if (path := _find_file(file, folder))]
        if paths and len(paths) == len(entry.files):
            return paths
    return []


def _find_unpacked(entry: DataSet, folder: Path) -> list[Path]:
    path = PurePosixPath(entry.path)
    names = (path, path.name, path.with_name(entry.strip), entry.strip)
    return [folder / name for name in names if any((folder / name).glob("*"))][:1]


def _find_file(file: DataFile, folder: Path) -> Path | None:
    """Return the file in its folder or at the top, under any of its names; a wrong size is an error."""
    names = (file.path, *file.also)
    for name in (*names, *(PurePosixPath(name).name for name in names)):
        path = folder / name
        if path.is_file():
            size = path.stat().st_size
            if name == file.path and file.size not in (None, size):
                raise DataError(
                    f"{path} has {size:,} bytes, not {file.size:,}: it was cut or is another version. Remove it."
                )
            return path
    return None


def _how_to_get(entry: DataSet) -> str:
    if entry.embedded:
        return (
            "The package densray-data carries it. Run `python -m pip install ./densray-data` in your checkout of "
            "densray (once it is published: `pip install densray-data`)."
        )
    trusting = " --trust-unchecked" if any(file.is_unchecked for file in entry.files) else ""
    fetching = f"Run `densray data fetch {entry.name}{trusting}`. " if entry.downloadable else ""
    return fetching + _by_hand(entry)


def _by_hand(entry: DataSet) -> str:
    """Return instructions on which files to place where."""
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
