"""How far a task is: what it tells whoever shows progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Advance", "part_of"]

#: Called with the steps done, and of how many.
Advance: TypeAlias = Callable[[int, int], None]


def part_of(advance: Advance | None, before: int, total: int) -> Advance | None:
    """Return what a task inside a larger one calls: its steps come after `before` others, of `total` in all.

    >>> part_of(lambda done, total: print(f"{done} of {total}"), 4, 8)(1, 4)
    5 of 8
    """
    if advance is None:
        return None
    return lambda done, _: advance(before + done, total)
