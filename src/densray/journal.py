"""Finished parts of a long run on disk, found again by what decides them."""

from __future__ import annotations

import hashlib
import json
import logging
import platform
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from densray._files import atomic_write
from densray._version import __version__
from densray.errors import DensRayError

__all__ = ["DAYS_KEPT", "Journal", "Run", "UndecidedError", "decode", "digest", "encode"]

_LIBRARIES = ("numpy", "scipy", "scikit-learn")
_SHOWING = {"cli", "explorer", "figures", "report"}  # rooms that decide how a result looks, not what it is
_BLOCK = 16_384  # rows


class UndecidedError(TypeError):
    """Something that takes part in a result and has no digest, such as a function."""


def digest(*deciding: object) -> str:
    """Return a hexadecimal digest of the values, of the code of densray and of the libraries it computes with.

    Arrays and spaces are read whole: a space that differs in one number is another one.

    >>> digest("ridge", 1) == digest("ridge", 1)
    True
    >>> len({digest("ab", "c"), digest("a", "bc"), digest(1), digest(1.0), digest("1"), digest(True)})
    6
    """
    return _hashed(deciding, _program().encode()).hex()


@cache
def _program() -> str:
    """Return versions and the digest of the source: a resumed run must not mix two states of the code."""
    source = hashlib.sha256()
    package = Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if name.parts[0] not in _SHOWING:
            source.update(f"{name}\n".encode() + path.read_bytes())
    versions = [f"{name} {metadata.version(name)}" for name in _LIBRARIES]
    return " ".join([f"densray {__version__}", platform.python_version(), *versions, source.hexdigest()])


def _hashed(value: Any, beginning: bytes = b"") -> bytes:
    found = hashlib.sha256(beginning)
    for piece in _pieces(value):
        found.update(f"{len(piece)}:".encode())  # so that no two lists of values run together into the same bytes
        found.update(piece)
    return found.digest()


def _pieces(value: Any) -> Iterator[bytes]:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        yield f"{type(value).__name__} {value!r}".encode("utf-8", "surrogatepass")
    elif isinstance(value, np.ndarray):
        yield from _array_pieces(value)
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)}".encode()
        for key, item in value.items():
            yield from _pieces((key, item))
    elif isinstance(value, Set):
        yield f"set {len(value)}".encode()
        yield from sorted(_hashed(item) for item in value)  # words and numbers have no order among themselves
    elif isinstance(value, (list, tuple)):
        yield f"sequence {len(value)}".encode()
        for item in value:
            yield from _pieces(item)
    else:
        yield from _object_pieces(value)


def _array_pieces(array: NDArray[Any]) -> Iterator[bytes]:
    if array.dtype.hasobject:
        raise UndecidedError(f"an array of {array.dtype} has no digest.")
    yield f"array {array.dtype.str} {array.shape}".encode()
    for start in range(0, len(array) if array.ndim else 0, _BLOCK):
        yield np.ascontiguousarray(array[start : start + _BLOCK]).tobytes()
    if array.ndim == 0:
        yield array.tobytes()


def _object_pieces(value: Any) -> Iterator[bytes]:
    kind = type(value)
    yield f"object {kind.__module__}.{kind.__qualname__}".encode()
    if hasattr(value, "blocks"):  # a space, perhaps on disk
        for words, vectors in value.blocks():
            yield "\0".join(words).encode("utf-8", "surrogatepass")
            yield from _array_pieces(vectors)
    elif is_dataclass(value):
        yield from _pieces({each.name: getattr(value, each.name) for each in fields(value)})
    elif hasattr(value, "get_params") and kind.__module__.partition(".")[0] in ("densray", "sklearn"):
        yield from _pieces(value.get_params(deep=False))
    elif kind.__module__.startswith("densray."):
        yield from _pieces(vars(value))
    else:
        raise UndecidedError(f"{kind.__name__} has no digest.")


def encode(value: Any) -> Any:
    """Return a value made of numbers, strings, arrays, tuples and dataclasses as what JSON can carry.

    >>> encode((1, np.array([0.1])))
    {'tuple': [1, {'array': [0.1], 'dtype': '<f8', 'shape': [1]}]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": value.ravel().tolist(), "dtype": value.dtype.str, "shape": list(value.shape)}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: encode(getattr(value, each.name)) for each in fields(value) if each.init}
        return {"kind": type(value).__name__, "fields": parts}
    if isinstance(value, tuple):
        items = [encode(item) for item in value]
        return {"kind": type(value).__name__, "items": items} if hasattr(value, "_fields") else {"tuple": items}
    if isinstance(value, list):
        return [encode(item) for item in value]
    raise TypeError(f"{type(value).__name__} cannot be kept in a journal.")


def decode(plain: Any, kinds: Mapping[str, type]) -> Any:
    """Return the value `encode` was given; only the classes in `kinds` are made, and nothing is ever imported.

    >>> decode(encode((1, np.array([0.1]))), {})
    (1, array([0.1]))
    """
    if isinstance(plain, list):
        return [decode(item, kinds) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        return np.array(plain["array"], dtype=np.dtype(plain["dtype"])).reshape(plain["shape"])
    if "tuple" in plain:
        return tuple(decode(item, kinds) for item in plain["tuple"])
    kind = kinds[plain["kind"]]
    if "items" in plain:
        return kind(*(decode(item, kinds) for item in plain["items"]))
    return kind(**{name: decode(item, kinds) for name, item in plain["fields"].items()})


#: Parts of runs that nobody took up again are deleted after so many days.
DAYS_KEPT = 30

_FORMAT = "densray journal 1"
_OURS = re.compile(r"[0-9a-f]{40}\.json|\.[0-9a-f]{40}\.json\.[0-9a-f]+\.part")

Value = TypeVar("Value")
log = logging.getLogger(__name__)


class Journal:
    """Finished parts of long runs in a folder; without a folder it keeps nothing.

    A part is taken only where everything that decides it is the same: data, options, seed, the code of densray and the
    versions of the libraries below it. A file that is damaged, or was not written by a journal, counts as absent. Where
    the folder cannot be written the run goes on without it. Several runs may share a folder at the same time.

    Parameters
    ----------
    folder : path, optional
        Made with the first part.
    fresh : bool
        Whether parts of earlier runs are passed over.

    Attributes
    ----------
    taken : int
        Parts that came from an earlier run.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> Journal(folder).run("squares", 7).part("first", lambda: 7 * 7)
    49
    >>> again = Journal(folder)
    >>> again.run("squares", 7).part("first", lambda: 1 / 0), again.taken
    (49, 1)
    >>> again.clear()
    """

    def __init__(self, folder: str | Path | None = None, *, fresh: bool = False) -> None:
        self.folder = None if folder is None else Path(folder)
        self.fresh = fresh
        self.taken = 0
        self._paths: set[Path] = set()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._sweep()

    @property
    def kept(self) -> int:
        """Parts of this run that are on disk now."""
        with self._lock:
            return sum(path.exists() for path in self._paths)

    def run(self, task: str, *deciding: object) -> Run:
        """Return where the parts of one task are asked for, given all that decides its result."""
        if self.folder is None:
            return Run(self, None)
        try:
            return Run(self, digest(task, *deciding))
        except UndecidedError as reason:
            log.info("%s: parts are not kept: %s", task, reason)
            return Run(self, None)

    def stop(self) -> None:
        """Keep what is kept and write no more; a part that is being written is waited for."""
        with self._writing:
            self.folder = None

    def clear(self) -> None:
        """Delete the parts of this run, once its answer is out."""
        with self._lock:
            for path in self._paths:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
        if self.folder is not None:
            with suppress(OSError):
                self.folder.rmdir()  # where no other run has parts in it

    def take(self, key: str, name: str, kinds: dict[str, type]) -> tuple[bool, Any]:
        """Return whether a part is there, and its value; anything but a whole file of this very part is not."""
        path = self._path(key, name)
        if path is None or self.fresh:
            return False, None
        try:
            told = json.loads(path.read_text("ascii"))
            if (told["format"], told["key"], told["part"], told["check"]) != (
                _FORMAT,
                key,
                name,
                _check(told["value"]),
            ):
                raise ValueError("the file is not of this part")
            value = decode(told["value"], kinds)
        except FileNotFoundError:
            return False, None
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as reason:
            log.info("%s: computed anew: %s", path, reason)
            return False, None
        with self._lock:
            self.taken += 1
            self._paths.add(path)
        return True, value

    def keep(self, key: str, name: str, value: Any) -> None:
        """Write a part down; where that fails, the run goes on and keeps no more."""
        try:
            plain = encode(value)
        except TypeError as reason:
            log.info("%s: not kept: %s", name, reason)
            return
        told = {"format": _FORMAT, "key": key, "part": name, "value": plain, "check": _check(plain)}
        with self._writing:
            path = self._path(key, name)
            if path is None:
                return
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(path, overwrite=True) as partial:
                    partial.write_text(json.dumps(told), "ascii")
            except (OSError, DensRayError) as reason:
                log.info("nothing more is kept: %s", reason)
                self.folder = None
                return
        with self._lock:
            self._paths.add(path)

    def _path(self, key: str, name: str) -> Path | None:
        folder = self.folder
        return None if folder is None else folder / f"{hashlib.sha256(f'{key} {name}'.encode()).hexdigest()[:40]}.json"

    def _sweep(self) -> None:
        """Delete what was left long ago, and nothing that is not a part."""
        if self.folder is None or not self.folder.is_dir():
            return
        with suppress(OSError):
            for path in self.folder.iterdir():
                if _OURS.fullmatch(path.name) and path.stat().st_mtime < time.time() - DAYS_KEPT * 86_400:
                    path.unlink(missing_ok=True)


class Run:
    """The parts of one task in a journal.

    Attributes
    ----------
    taken : int
        Parts of this task that came from an earlier run.
    """

    def __init__(self, journal: Journal, key: str | None) -> None:
        self._journal = journal
        self._key = key
        self._lock = threading.Lock()
        self.taken = 0

    def part(self, name: str, compute: Callable[[], Value], *kinds: type) -> Value:
        """Return a part by its name: from the journal, or computed and written down.

        Parameters
        ----------
        name : str
            Distinct among the parts of the task.
        compute : callable
        *kinds : type
            The classes (dataclasses, named tuples) its value is made of, besides numbers, strings, arrays and tuples.
        """
        if self._key is None:
            return compute()
        there, value = self._journal.take(self._key, name, {kind.__name__: kind for kind in kinds})
        if there:
            with self._lock:
                self.taken += 1
            found: Value = value
            return found
        computed = compute()
        self._journal.keep(self._key, name, computed)
        return computed


def _check(plain: Any) -> str:
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()
