"""The journal: parts of runs as small files, found again by what decides them."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from densray.errors import DensRayError
from densray.journal._keys import UndecidedError, digest
from densray.journal._values import decode, encode
from densray.writing import replacing

__all__ = ["DAYS_KEPT", "Journal", "Run"]

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
                with replacing(path, overwrite=True) as partial:
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
