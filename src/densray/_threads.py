"""Threads: BLAS limits, warnings ignored in any thread, parallel maps, work ahead."""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TypeVar, cast

from threadpoolctl import threadpool_limits  # comes with scikit-learn

from densray.progress import Progress

_blas_lock = threading.Lock()
_blas_holders = 0
_blas_limits: threadpool_limits | None = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread inside the block.

    Small products that are split over cores mostly wait for each other, tenfold longer on a busy machine. The limit is
    process-wide and reference-counted: the first block entered sets it, the last one left restores the old value,
    whatever their threads. The limit of OpenMP (used by k-means) is per thread.
    """
    global _blas_holders, _blas_limits  # noqa: PLW0603
    with _blas_lock:
        if _blas_holders == 0:
            _blas_limits = threadpool_limits(1, user_api="blas")
        _blas_holders += 1
    try:
        with threadpool_limits(1, user_api="openmp"):
            yield
    finally:
        with _blas_lock:
            _blas_holders -= 1
            if _blas_holders == 0 and _blas_limits is not None:
                _blas_limits.restore_original_limits()
                _blas_limits = None


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_filter_lock = threading.Lock()
_filter_holders: Counter[tuple[str, type[Warning]]] = Counter()
_MODULE = "(?#ignored by densray)"  # matches every module, and identifies our filters


@contextmanager
def ignored_warnings(category: type[Warning], message: str = "") -> Iterator[None]:
    """Ignore warnings of a category inside the block: a thread-safe `warnings.catch_warnings`.

    Filters are process-wide, and two threads inside `warnings.catch_warnings` may restore them in the wrong order. Here
    they are reference-counted: the first block entered adds the filter, the last one left removes it, whatever their
    threads.

    Parameters
    ----------
    category : type of warning
    message : str
        Regular expression for the beginning of the warning; empty: all of the category.

    Examples
    --------
    >>> with ignored_warnings(UserWarning, "no matter"):
    ...     warnings.warn("no matter how often", UserWarning)
    """
    key = message, category
    with _filter_lock:
        _filter_holders[key] += 1
        warnings.filterwarnings("ignore", message, category, module=_MODULE)  # adding it again leaves one entry
    try:
        yield
    finally:
        with _filter_lock:
            _filter_holders[key] -= 1
            if not _filter_holders[key]:
                del _filter_holders[key]
                pattern = re.compile(message, re.IGNORECASE) if message else None
                filters = cast(list[object], warnings.filters)
                with suppress(ValueError):  # missing if other code has restored its own filters in the meantime
                    filters.remove(("ignore", pattern, category, re.compile(_MODULE), 0))


Item = TypeVar("Item")
Output = TypeVar("Output")


def map_parallel(
    function: Callable[[Item], Output],
    items: Sequence[Item],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[Output]:
    """Return ``function(item)`` for every item, in order.

    The matrix products of one fit are small, and mostly wait for each other when split over cores (tenfold slower on a
    busy machine). So each function runs on one core, with as many in parallel as there are cores, or `threads`. An
    interruption or an error ends the map at once; items that have not started are never run.
    """
    results: list[Output] = []
    with single_threaded_blas(), _threads(threads or count_cores()) as pool:
        for answer in pool.map(function, items):
            results.append(answer)
            if progress is not None:
                progress(len(results), len(items))
    return results


#: Largest number of items that `map_ahead` processes at a time: each is held in memory.
MOST_AHEAD = 4


def map_ahead(function: Callable[[Item], Output], items: Iterator[Item]) -> Iterator[tuple[Item, Output]]:
    """Yield every item with ``function(item)``, in order, while the next items are computed in other threads.

    This helps if the function releases the GIL, as compiled code does. An error in getting an item is
    raised after all items before it were yielded.
    """
    waiting: deque[tuple[Item, Future[Output]]] = deque()
    error: Exception | None = None
    with _threads(count := min(count_cores(), MOST_AHEAD)) as pool:
        while True:
            try:
                item = next(items)
            except Exception as caught:
                error = caught
                break
            waiting.append((item, pool.submit(function, item)))
            if len(waiting) > count:
                item, future = waiting.popleft()
                yield item, future.result()
        while waiting:
            item, future = waiting.popleft()
            yield item, future.result()
    if not isinstance(error, StopIteration):
        raise error


def run_in_thread(function: Callable[[], Output]) -> Output:
    """Return ``function()``, run in another thread, so that an interruption need not wait for compiled code."""
    with _threads(1) as pool:
        return pool.submit(function).result()


@contextmanager
def _threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """Give a pool that is not joined if the block is left by an interruption or an error."""
    pool = ThreadPoolExecutor(count)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
