"""Matrix products on one core, for as long as anybody asks for it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits  # comes with scikit-learn

__all__ = ["count_cores", "one_core"]

_lock = threading.Lock()
_asking = 0
_limits: threadpool_limits | None = None


@contextmanager
def one_core() -> Iterator[None]:
    """Keep matrix products to one core inside the block.

    Small products shared out over cores mostly wait for each other, tenfold longer on a busy machine. The limit is one
    of the whole process, so it is counted: the first who asks sets it, the last who leaves restores what was there,
    whatever threads they are in. That of OpenMP (k-means, say) belongs to each thread.
    """
    global _asking, _limits  # noqa: PLW0603
    with _lock:
        if _asking == 0:
            _limits = threadpool_limits(1, user_api="blas")
        _asking += 1
    try:
        with threadpool_limits(1, user_api="openmp"):
            yield
    finally:
        with _lock:
            _asking -= 1
            if _asking == 0 and _limits is not None:
                _limits.restore_original_limits()
                _limits = None


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
