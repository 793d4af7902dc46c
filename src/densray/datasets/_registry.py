"""What is known of each data set: its files, source, licence, size and checksum."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from densray.errors import DataError, suggest

EMBEDDED_FOLDER = Path(__file__).parent / "embedded"
_REGISTRY = Path(__file__).with_name("registry.toml")


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes
    ----------
    path : str
        Where the file lies below the data folder.
    url : str or None
        Its direct address; None where its owner gives it out by hand.
    size : int or None
        Bytes, where known.
    checksum : str or None
        ``algorithm:hexdigest`` of the file, where known.
    also : tuple of str
        Other paths under which the file is found when it was placed by hand.
    member : str or None
        The file's name inside the zip archive that `url` names.
    """

    path: str
    url: str | None = None
    size: int | None = None
    checksum: str | None = None
    also: tuple[str, ...] = ()
    member: str | None = None


@dataclass(frozen=True)
class DataSet:
    """One data set and where it comes from.

    Attributes
    ----------
    name, kind, title, source, licence, citation : str
        `kind` is space, analogies, lexicon, words, pairs, weat or similarity; `source` is the home page.
    path : str
        What :func:`path_of` returns, below the data folder: a file, or a folder of several files.
    files : tuple of DataFile
        Its files; for a set that comes as an archive, the archive; none for a union.
    embedded : bool
        Whether the package carries it.
    unpacked : bool
        Whether its one file is a zip archive that is unpacked into the folder `path`.
    strip : str
        The leading folder inside that archive.
    parts : tuple of str
        The data sets it is the union of, where it is one.
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
        """Bytes of all its files together; None where one of them is not known, and for a union."""
        sizes = [file.size for file in self.files]
        return None if None in sizes or self.parts else sum(size for size in sizes if size is not None)

    @property
    def checksums(self) -> dict[str, str]:
        """The known checksum of each file, by its path."""
        return {file.path: file.checksum for file in self.files if file.checksum is not None}

    @property
    def downloadable(self) -> bool:
        """Whether every file has a direct address; of a union, those of its parts that the package lacks."""
        parts = [find_dataset(part) for part in self.parts]
        return all(file.url is not None for file in self.files) and all(p.embedded or p.downloadable for p in parts)


def list_datasets(kind: str | None = None) -> list[DataSet]:
    """Return every data set densray knows, those the package carries first.

    Parameters
    ----------
    kind : str, optional
        Only this kind: space, analogies, lexicon, words, pairs, weat or similarity.

    Examples
    --------
    >>> [entry.name for entry in list_datasets("analogies")]
    ['google', 'msr', 'bats']
    """
    entries = _registry().values()
    kinds = list(dict.fromkeys(entry.kind for entry in entries))
    if kind is not None and kind not in kinds:
        raise DataError(f"There is no kind of data set called '{kind}'. {suggest(kind, kinds)}")
    wanted = [entry for entry in entries if kind in (None, entry.kind)]
    return sorted(wanted, key=lambda entry: not entry.embedded)


def find_dataset(name: str, kind: str | None = None) -> DataSet:
    """Return the data set called `name`; an error names the nearest, or the kind it really is."""
    known = _registry()
    if name not in known:
        names = [entry.name for entry in list_datasets(kind)]
        raise DataError(f"There is no data set called '{name}'. {suggest(name, names)}")
    entry = known[name]
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
    checksum = embedded_checksums()[path]
    return DataFile(path, size=(EMBEDDED_FOLDER / path).stat().st_size, checksum=f"sha256:{checksum}")


@cache
def embedded_checksums() -> dict[str, str]:
    """Return the sha256 of each embedded file, as the build wrote it down."""
    lines = (EMBEDDED_FOLDER / "SHA256SUMS").read_text("utf-8").splitlines()
    return {path: digest for digest, path in (line.split("  ", 1) for line in lines)}
