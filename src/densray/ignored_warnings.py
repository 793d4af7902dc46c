"""Warnings that say nothing new, kept silent for as long as anybody asks for it."""

from __future__ import annotations

import re
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import cast

__all__ = ["ignoring"]

_lock = threading.Lock()
_asking: Counter[tuple[str, type[Warning]]] = Counter()
_MODULE = "(?#ignored by densray)"  # matches every module, and tells our filters from those of others


@contextmanager
def ignoring(category: type[Warning], message: str = "") -> Iterator[None]:
    """Keep warnings of a category silent inside the block.

    Filters belong to the whole process, and two threads inside `warnings.catch_warnings` put them back in the wrong
    order. Here they are counted: whoever asks finds the filter in place, and the last who leaves takes it away,
    whatever threads they are in.

    Parameters
    ----------
    category : type of warning
    message : str
        How the warnings begin, a regular expression; empty: all of the category.

    Examples
    --------
    >>> with ignoring(UserWarning, "no matter"):
    ...     warnings.warn("no matter how often", UserWarning)
    """
    key = message, category
    with _lock:
        _asking[key] += 1
        warnings.filterwarnings("ignore", message, category, module=_MODULE)  # one entry, however often it is added
    try:
        yield
    finally:
        with _lock:
            _asking[key] -= 1
            if not _asking[key]:
                del _asking[key]
                pattern = re.compile(message, re.IGNORECASE) if message else None
                filters = cast(list[object], warnings.filters)
                with suppress(ValueError):  # not there where other code has put back filters of its own meanwhile
                    filters.remove(("ignore", pattern, category, re.compile(_MODULE), 0))
