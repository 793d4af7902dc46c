"""Files: written whole or not at all, and recognised by their first bytes."""

from __future__ import annotations

import os
import re
import secrets
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from densray.errors import DensRayError, OutputError


@contextmanager
def replacing(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a temporary path in the same folder; it takes the place of `path` if nothing goes wrong.

    Until then the old file stays whole, whatever happens: an error, a full disk, a kill.
    """
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists. Pass overwrite=True to replace it, or choose another name.")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is no regular file, and would be replaced by one. Choose another name.")
    temporary = path.with_name(f".{path.name[:64]}.{secrets.token_hex(6)}.part")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except Exception as error:
        reason = _reason(error)
        if reason is None:
            raise
        raise OutputError(
            f"{path}: {reason}. What was there is unchanged; free space or choose another folder."
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _reason(error: Exception) -> str | None:
    """Return why the system refused to write; None for an error of another kind.

    Polars wraps what the system says in errors of its own, and keeps its words: ``… (os error 28)``.
    """
    if isinstance(error, DensRayError):
        return None
    told = re.search(r"([^:]+) \(os error \d+\)", str(error))
    if told:
        return told[1].strip()
    return (error.strerror or str(error)) if isinstance(error, OSError) else None


_HEAD_BYTES = 1 << 15
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_HEADER = re.compile(rb"\s*\d+[ \t]+\d+[ \t]*\r?\n")
_SPACES = (b"DENSRAY\0", b"\x93NUMPY")
#: Numbers after a word from which on a line is a vector and no entry of a table.
_VECTOR = 8
_SAID = {
    "axis": "It is a saved axis, to be used on the space it was fitted on.",
    "space": "It holds word vectors, to be given as the space.",
    "parquet": "It is a parquet file: a word list is a text file, .tsv or .csv, or JSON.",
    "lexicon": "It is a word list, to fit an axis from.",
}


def kind_of(path: str | PathLike[str]) -> str | None:
    """Return "axis", "space", "lexicon" or "parquet" where the beginning of a file tells, else None."""
    try:
        with Path(path).open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
        if head.startswith(b"PK"):
            return _kind_of_archive(Path(path))
    except (OSError, ValueError, zipfile.BadZipFile):
        return None
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(_SPACES) or (head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 27):
        return "space"
    return _kind_of_lines(head)


def say_kind(path: str | PathLike[str]) -> str:
    """Return a sentence that says what a file is and where it belongs; nothing where that is not known."""
    kind = kind_of(path)
    return "" if kind is None else _SAID[kind]


def _kind_of_archive(path: Path) -> str | None:
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
    if {"header.npy", "components_.npy"} <= names:
        return "axis"
    return "space" if {"words.npy", "vectors.npy"} <= names else None


def _kind_of_lines(head: bytes) -> str | None:
    if _HEADER.match(head):  # of word2vec, text or binary
        return "space"
    lines = [line.split() for line in head.splitlines()[:20] if line.strip()]
    if not lines or b"\0" in head:
        return None
    if all(len(fields) > _VECTOR and all(map(_NUMBER.fullmatch, fields[1:_VECTOR])) for fields in lines[:2]):
        return "space"
    return "lexicon" if all(len(fields) == 2 for fields in lines) else None
