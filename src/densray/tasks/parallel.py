"""Many fits at once: one thread a core, and one core a fit; and work that can be interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from densray.cores import count_cores, one_core
from densray.journal import Run

__all__ = ["map_parallel", "run_aside"]

Item = TypeVar("Item")
Found = TypeVar("Found")


def map_parallel(
    function: Callable[[Item], Found],
    items: Sequence[Item],
    *,
    threads: int | None = None,
    advance: Callable[[int, int], None] | None = None,
    run: Run | None = None,
    what: str = "part",
) -> list[Found]:
    """Return ``function(item)`` for every item, in order.

    Matrix products of one fit are small: shared out over cores they mostly wait for each other (tenfold slower on a
    busy machine). Here each runs on one core, and as many run side by side as there are cores, or `threads`. An
    interruption or an error ends it at once; what has not begun then never does. With a `run`, what is found is kept in
    its journal, as "`what` 0", "`what` 1" and so on.
    """
    found: list[Found] = []

    def find(number: int) -> Found:
        item = items[number]
        return function(item) if run is None else run.part(f"{what} {number}", partial(function, item))

    with one_core(), _threads(threads or count_cores()) as pool:
        for answer in pool.map(find, range(len(items))):
            found.append(answer)
            if advance is not None:
                advance(len(found), len(items))
    return found


def run_aside(function: Callable[[], Found]) -> Found:
    """Return ``function()``, run in another thread: an interruption need not wait until compiled code returns."""
    with _threads(1) as pool:
        return pool.submit(function).result()


@contextmanager
def _threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """Give a pool that is not waited for when the block is left by an interruption or an error."""
    pool = ThreadPoolExecutor(count)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
