"""Finished parts of a run that takes minutes, stored on disk and found again by all that decides them."""

from __future__ import annotations

import hashlib
import json
import logging
import platform
import threading
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from densray._files import atomic_write
from densray.errors import DensRayError

__all__ = ["Journal", "Run", "decode", "digest", "encode"]

_PRESENTATION = {"cli", "explorer", "figures", "report"}  # packages that decide how a result looks, not what it is
_BLOCK_ROWS = 16_384
Value = TypeVar("Value")
log = logging.getLogger(__name__)


def digest(*inputs: object) -> str:
    """Return a digest of values, of densray's code and of the libraries below it; a function, say, is a TypeError."""
    _hash(found := hashlib.sha256(_program().encode()), inputs)
    return found.hexdigest()


@cache
def _program() -> str:
    """Return the versions and the digest of the source: a resumed run must not mix two states of the code."""
    source, package = hashlib.sha256(), Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in _PRESENTATION:
            source.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes())
    versions = [metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")]
    return " ".join([platform.python_version(), *versions, source.hexdigest()])


def _hash(found: Any, value: Any) -> None:
    """Add a value to a hash; every piece begins with its length, so that no two values give the same bytes."""
    value = value.item() if isinstance(value, np.generic) else value
    kind, package = type(value).__qualname__, type(value).__module__.partition(".")[0]
    if value is None or isinstance(value, (str, bool, int, float)):
        piece = f"{kind} {value!r}".encode("utf-8", "surrogatepass")
        found.update(f"{len(piece)}:".encode() + piece)
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        _hash(found, ("array", value.dtype.str, *value.shape))
        for start in range(0, len(value), _BLOCK_ROWS):
            found.update(np.ascontiguousarray(value[start : start + _BLOCK_ROWS]).tobytes())
    elif isinstance(value, Set):  # words and numbers have no order among themselves
        _hash(found, ["set", *sorted(value, key=repr)])
    elif isinstance(value, (list, tuple)):
        found.update(f"sequence {len(value)}:".encode())
        for item in value:
            _hash(found, item)
    elif isinstance(value, Mapping):
        _hash(found, ["mapping", *value.items()])
    elif hasattr(value, "blocks"):  # a space, perhaps on disk
        for words, vectors in value.blocks():
            _hash(found, ("\0".join(words), vectors))
    elif package in ("densray", "sklearn"):
        _hash(found, (kind, value.get_params(deep=False) if hasattr(value, "get_params") else vars(value)))
    else:
        raise TypeError(f"{kind} has no digest.")


def encode(value: Any) -> Any:
    """Return a value made of numbers, strings, arrays, tuples and dataclasses as what JSON can carry."""
    value, kind = (value.item() if isinstance(value, np.generic) else value), type(value).__name__
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": value.ravel().tolist(), "dtype": value.dtype.str, "shape": value.shape}
    if is_dataclass(value) and not isinstance(value, type):
        return {"kind": kind, "fields": {each.name: encode(getattr(value, each.name)) for each in fields(value)}}
    if isinstance(value, (list, tuple)):
        items = [encode(item) for item in value]
        return items if isinstance(value, list) else {"kind": kind, "items": items}
    raise TypeError(f"{kind} cannot be stored in a journal.")


def decode(plain: Any, kinds: Mapping[str, type]) -> Any:
    """Return the value `encode` was given; only the classes in `kinds` are made, and nothing is ever imported."""
    if isinstance(plain, list):
        return [decode(item, kinds) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        return np.array(plain["array"], dtype=np.dtype(plain["dtype"])).reshape(plain["shape"])
    if "items" in plain:
        items = tuple(decode(item, kinds) for item in plain["items"])
        return items if plain["kind"] == "tuple" else kinds[plain["kind"]](*items)
    return kinds[plain["kind"]](**{name: decode(item, kinds) for name, item in plain["fields"].items()})


class Journal:
    """Finished parts of long runs in a folder, made with the first part; without a folder it stores nothing.

    A part is reused (`n_reused` counts them) only where everything that decides it is the same: data, options, seed,
    the code of densray and the versions of the libraries below it; none is where the run is to be `fresh`. A file that
    is damaged, or was not written by a journal, counts as absent. Where the folder cannot be written the run goes on
    without it. Several runs may share a folder at the same time.
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
        """Return where the parts of one task are asked for, given all that decides its result."""
        try:
            return Run(self, None if self.folder is None else digest(task, *inputs))
        except TypeError as reason:
            log.info("%s: parts are not stored: %s", task, reason)
            return Run(self, None)

    def stop(self) -> None:
        """Leave on disk what is stored and write no more; a part that is being written is waited for."""
        with self._lock:
            self.folder = None

    def clear(self) -> None:
        """Delete the parts of this run, once its answer is out."""
        with self._lock, suppress(OSError):
            for path in self._paths:
                path.unlink(missing_ok=True)
            if self.folder is not None:
                self.folder.rmdir()  # fails, rightly, where another run has parts in it


class Run:
    """The parts of one task in a journal; `n_reused` of them came from an earlier run."""

    def __init__(self, journal: Journal, key: str | None) -> None:
        self._journal, self._key, self.n_reused = journal, key, 0

    def part(self, name: str, compute: Callable[[], Value], *kinds: type) -> Value:
        """Return a part by its name: from the journal, or computed and stored.

        `kinds` are the classes its value is made of, besides numbers, strings, arrays and tuples.
        """
        journal, folder = self._journal, self._journal.folder
        if self._key is None or folder is None:
            return compute()
        path = folder / f"{hashlib.sha256(f'{self._key} {name}'.encode()).hexdigest()[:40]}.json"
        stored: list[Value] = [] if journal.fresh else _read(path, {kind.__name__: kind for kind in kinds})
        value = stored[0] if stored else compute()
        with journal._lock:
            self.n_reused, journal.n_reused = self.n_reused + len(stored), journal.n_reused + len(stored)
            if stored or (journal.folder and _write(path, value)):
                journal._paths.add(path)
            else:
                journal.folder = None  # what cannot be written is not tried again
        return value


def _record(path: Path, plain: Any) -> dict[str, Any]:
    check = hashlib.sha256(json.dumps(plain).encode()).hexdigest()
    return {"format": "densray journal 1", "part": path.stem, "value": plain, "check": check}


def _read(path: Path, kinds: Mapping[str, type]) -> list[Any]:
    """Return the value of a part; nothing where there is no whole file of this very part."""
    try:
        record = json.loads(path.read_text("ascii"))
        return [decode(record["value"], kinds)] if record == _record(path, record["value"]) else []
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as reason:
        log.info("%s: computed: %s", path, reason)
        return []


def _write(path: Path, value: Any) -> bool:
    """Store a part; return whether that was possible."""
    try:
        text = json.dumps(_record(path, encode(value)))
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, overwrite=True) as temporary:
            temporary.write_text(text, "ascii")
    except (OSError, DensRayError, TypeError) as reason:
        log.info("nothing more is stored: %s", reason)
        return False
    return True
