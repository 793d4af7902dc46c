"""Results worth keeping, within bounds: the oldest go first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from densray.rotations import Rotation
from densray.space import WordSpace

__all__ = ["Memory", "weigh"]

Kept = TypeVar("Kept")

#: Bytes of arrays kept at once, over all visitors.
MOST = 1024 * 2**20
#: What a result counts at least: words and numbers that are no arrays.
LEAST = 64 * 2**10


class Memory:
    """Results by what decides them, as many as fit.

    Parameters
    ----------
    most : int
        Bytes; the newest result is kept whatever its size.
    """

    def __init__(self, *, most: int = MOST) -> None:
        self.most = most
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def recall(self, key: Hashable, find: Callable[[], Kept]) -> Kept:
        """Return what is kept under a key; find and keep it where there is nothing."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                kept: Kept = self._kept[key][0]
                return kept
        found = find()  # not under the lock: others may look up meanwhile
        with self._lock:
            self._kept[key] = found, weigh(found)
            self._kept.move_to_end(key)
            while len(self._kept) > 1 and self.weight > self.most:
                self._kept.popitem(last=False)
        return found

    def holds(self, key: Hashable) -> bool:
        """Return whether something is kept under a key."""
        with self._lock:
            return key in self._kept

    @property
    def weight(self) -> int:
        """The bytes of everything kept."""
        return sum(weight for _, weight in self._kept.values())


def weigh(found: Any) -> int:
    """Return about how many bytes a result takes: its arrays, wherever they are in it; a space is shared and free.

    >>> weigh({"scores": np.zeros(100_000)}) >= 800_000
    True
    """
    seen: set[int] = set()

    def of(part: Any) -> int:
        if id(part) in seen or isinstance(part, str | int | float | WordSpace | None):
            return 0
        seen.add(id(part))
        if isinstance(part, np.ndarray):
            return int(part.nbytes)
        if isinstance(part, Mapping):
            return sum(map(of, part.values()))
        if isinstance(part, list | tuple):
            return sum(map(of, part))
        if is_dataclass(part):
            return sum(of(getattr(part, field.name)) for field in fields(part))
        return sum(map(of, vars(part).values())) if isinstance(part, Rotation) else 0

    return LEAST + of(found)
