"""The finished parts of a long run, stored on disk so that an interrupted run resumes.

One file per part, written atomically and with a checksum. Tasks (`Journal`), streamed fits (`densray.scale`) and
the reading of hidden states all store their parts here.
"""

from __future__ import annotations

import hashlib
import logging
import platform
import threading
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from densray._files import ArchiveKind, Arrays, read_archive, write_archive
from densray._version import library_versions
from densray.errors import DensRayError, PersistenceError, shorten

__all__ = ["Journal", "Run", "add_to_hash", "decode", "digest", "encode", "read_part", "write_part"]

_PRESENTATION = {"cli", "explorer", "figures", "report"}  # packages that only affect how results look
_BLOCK_ROWS = 16_384
_PART = ArchiveKind("densray-part", 1, "finished part", "Delete it: it will be computed again.")
#: Exceptions that decoding a value of another shape may raise.
_UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, RecursionError)
Value = TypeVar("Value")
log = logging.getLogger(__name__)


def digest(*inputs: object) -> str:
    """Return a digest of values, of densray's code and of the libraries below it.

    All numbers count: every row of an array, every word and vector of a space. Values without a digest, such as
    functions, raise a TypeError.
    """
    add_to_hash(hasher := hashlib.sha256(_program().encode()), inputs)
    return hasher.hexdigest()


@cache
def _program() -> str:
    """Return the versions and the digest of the source code: a resumed run must not mix two versions of the code."""
    source, package = hashlib.sha256(), Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in _PRESENTATION:
            source.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes())
    return " ".join([platform.python_version(), *library_versions().values(), source.hexdigest()])


def add_to_hash(hasher: Any, value: Any) -> None:
    """Add a value to a hash of `hashlib`; each piece starts with its length, so different values differ in bytes."""
    value = value.item() if isinstance(value, np.generic) else value
    kind, package = type(value).__qualname__, type(value).__module__.partition(".")[0]
    if value is None or isinstance(value, (str, bool, int, float)):
        piece = f"{kind} {value!r}".encode("utf-8", "surrogatepass")
        hasher.update(f"{len(piece)}:".encode() + piece)
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        add_to_hash(hasher, ("array", value.dtype.str, *value.shape))
        rows = value.reshape(1) if value.ndim == 0 else value
        for start in range(0, len(rows), _BLOCK_ROWS):
            block = np.ascontiguousarray(rows[start : start + _BLOCK_ROWS])
            hasher.update(block.reshape(-1).view(np.uint8))  # no copy, and it releases the GIL
    elif isinstance(value, Set):  # sets have no order
        add_to_hash(hasher, ["set", *sorted(value, key=repr)])
    elif isinstance(value, (list, tuple)):
        hasher.update(f"sequence {len(value)}:".encode())
        for item in value:
            add_to_hash(hasher, item)
    elif isinstance(value, Mapping):
        add_to_hash(hasher, ["mapping", *value.items()])
    elif hasattr(value, "blocks"):  # a space, perhaps on disk
        for words, vectors in value.blocks():
            add_to_hash(hasher, ("\0".join(words), vectors))
    elif package in ("densray", "sklearn"):
        add_to_hash(hasher, (kind, value.get_params(deep=False) if hasattr(value, "get_params") else vars(value)))
    else:
        raise TypeError(f"{kind} has no digest.")


def encode(value: Any, arrays: Arrays, name: str = "value") -> Any:
    """Return a value that JSON can hold; its arrays are added to `arrays`, keyed by their position in the value.

    Numbers, texts, lists, tuples, mappings, arrays and dataclasses can be stored, and are restored bit for bit.
    """
    value, kind = (value.item() if isinstance(value, np.generic) else value), type(value).__name__
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        arrays[name] = value
        return {"array": name}
    if is_dataclass(value) and not isinstance(value, type):
        each = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"kind": kind, "fields": {key: encode(item, arrays, f"{name}.{key}") for key, item in each.items()}}
    if isinstance(value, Mapping):
        pairs = enumerate(value.items())
        return {
            "mapping": [[encode(key, {}), encode(item, arrays, f"{name}.{number}")] for number, (key, item) in pairs]
        }
    if isinstance(value, (list, tuple)):
        items = [encode(item, arrays, f"{name}.{number}") for number, item in enumerate(value)]
        return items if isinstance(value, list) else {"kind": kind, "items": items}
    raise TypeError(f"{kind} cannot be stored in a journal.")


def decode(plain: Any, arrays: Arrays, kinds: Mapping[str, type]) -> Any:
    """Return the value that `encode` stored; only the classes in `kinds` are built, and nothing is imported."""
    if isinstance(plain, list):
        return [decode(item, arrays, kinds) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        return arrays[plain["array"]]
    if "mapping" in plain:
        return {key: decode(item, arrays, kinds) for key, item in plain["mapping"]}
    if "items" in plain:
        items = tuple(decode(item, arrays, kinds) for item in plain["items"])
        return items if plain["kind"] == "tuple" else kinds[plain["kind"]](*items)
    values = {name: decode(item, arrays, kinds) for name, item in plain["fields"].items()}
    return kinds[plain["kind"]](**values)


def write_part(path: Path, key: str, value: Any, *, kind: ArchiveKind = _PART) -> None:
    """Write a finished part atomically, with its key and a checksum."""
    arrays: Arrays = {}
    write_archive(path, kind, {"key": key, "value": encode(value, arrays)}, arrays, overwrite=True)


def read_part(path: Path, key: str, *kinds: type, kind: ArchiveKind = _PART) -> Any:
    """Return the value of a part; a file that is damaged, foreign or has another key is a PersistenceError."""
    header, arrays = read_archive(path, kind)
    if header.get("key") != key:
        raise PersistenceError(f"{path} is the {kind.noun} of another run. {kind.remedy}")
    try:
        return decode(header["value"], arrays, {each.__name__: each for each in kinds})
    except _UNREADABLE as error:
        raise PersistenceError(f"{path} is not a readable {kind.noun} ({shorten(error)}). {kind.remedy}") from error


class Journal:
    """Finished parts of long runs in a folder, created with the first part; without a folder nothing is stored.

    A part is reused only if everything it depends on is the same: data, options, seed, the code of densray and the
    versions of the libraries below it. `n_reused` counts these parts. With `fresh`, none is reused. A damaged file, or
    one that no journal wrote, counts as absent. If the folder cannot be written, the run continues without it. Several
    runs may share a folder at the same time.
    """

    def __init__(self, folder: str | Path | None = None, *, fresh: bool = False) -> None:
        self.folder = None if folder is None else Path(folder)
        self.fresh = fresh
        self.n_reused = 0
        self._paths: set[Path] = set()
        self._lock = threading.RLock()

    @property
    def n_stored(self) -> int:
        """Parts of this run that are on disk now."""
        with self._lock:
            return sum(path.exists() for path in self._paths)

    def run(self, task: str, *inputs: object) -> Run:
        """Return the parts of one task; `inputs` are everything its result depends on."""
        try:
            return Run(self, None if self.folder is None else digest(task, *inputs))
        except TypeError as reason:
            log.info("%s: parts are not stored: %s", task, reason)
            return Run(self, None)

    def stop(self) -> None:
        """Write no more parts and keep the stored ones; waits for a part that is being written."""
        with self._lock:
            self.folder = None

    def clear(self) -> None:
        """Delete the parts of this run; call it once the result has been returned."""
        with self._lock, suppress(OSError):
            for path in self._paths:
                path.unlink(missing_ok=True)
            if self.folder is not None:
                self.folder.rmdir()  # fails, as intended, if another run has parts in it


class Run:
    """The parts of one task in a journal; `n_reused` of them came from an earlier run."""

    def __init__(self, journal: Journal, key: str | None) -> None:
        self._journal, self._key, self.n_reused = journal, key, 0

    def part(self, name: str, compute: Callable[[], Value], *kinds: type) -> Value:
        """Return a part by its name: from the journal, or computed and stored.

        `kinds` are the classes its value consists of, besides numbers, texts, arrays, lists, tuples and mappings.
        """
        journal = self._journal
        if self._key is None or journal.folder is None:
            return compute()
        stored: list[Value] = self.stored(name, *kinds)
        value = stored[0] if stored else compute()
        try:
            if not stored:
                self.store(name, value)
        except (OSError, DensRayError, TypeError, ValueError) as reason:
            log.info("nothing more is stored: %s", reason)
            journal.folder = None
        return value

    def stored(self, name: str, *kinds: type) -> list[Any]:
        """Return the stored value of a part, as the only item of a list; an empty list if there is none."""
        journal, path = self._journal, self._path(name)
        if path is None or journal.fresh:
            return []
        try:
            value = read_part(path, path.stem, *kinds)
        except DensRayError as reason:
            log.info("%s: computed: %s", path, reason)
            return []
        with journal._lock:
            self.n_reused, journal.n_reused = self.n_reused + 1, journal.n_reused + 1
            journal._paths.add(path)
        return [value]

    def store(self, name: str, value: Any) -> None:
        """Store a part, unless the journal was stopped; raises if that is not possible."""
        journal = self._journal
        with journal._lock:
            path = self._path(name)
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_part(path, path.stem, value)
                journal._paths.add(path)

    def _path(self, name: str) -> Path | None:
        if self._key is None or self._journal.folder is None:
            return None
        return self._journal.folder / f"{hashlib.sha256(f'{self._key} {name}'.encode()).hexdigest()[:40]}.npz"
