"""The progress of a long computation, reported by a callback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import TypeAlias

__all__ = ["Progress", "part_of", "parts_of"]

#: A long computation calls it with the steps done and the total (None: not known). An exception that it raises ends
#: the computation.
Progress: TypeAlias = Callable[[int, int | None], None]

_STEPS = 1000  # resolution of a progress in parts: each of ten folds moves a bar


def part_of(progress: Progress | None, start: int, stop: int, total: int) -> Progress | None:
    """Return the progress of a part of a computation, which makes up the steps `start` to `stop` of `total`.

    >>> part_of(lambda done, total: print(f"{done} of {total}"), 4, 8, 12)(1, 2)
    6 of 12
    """
    if progress is None:
        return None
    return lambda done, steps: progress(start + (stop - start) * done // max(steps or 1, 1), total)


def parts_of(progress: Progress | None, times: Sequence[float]) -> list[Progress | None]:
    """Return the progress of each part of a computation, in order, from the expected time of each.

    >>> slow, quick = parts_of(lambda done, total: print(f"{done} of {total}"), [3.0, 1.0])
    >>> slow(1, 2)
    375 of 1000
    >>> quick(1, 2)
    875 of 1000
    """
    ends = [round(_STEPS * end / sum(times)) for end in accumulate(times, initial=0.0)]
    return [part_of(progress, start, stop, _STEPS) for start, stop in pairwise(ends)]
