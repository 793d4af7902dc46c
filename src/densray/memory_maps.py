"""Memory-mapped arrays read once, front to back, without keeping what was read."""

from __future__ import annotations

import mmap

import numpy as np

__all__ = ["is_memory_mapped", "release_pages"]


def is_memory_mapped(array: object) -> bool:
    """Return whether an array, or what it is a view of, is mapped from a file."""
    return _mapped(array) is not None


def release_pages(array: object) -> None:
    """Let go of the pages of a memory-mapped array that were read so far; others are left as they are.

    The operating system counts pages of a mapped file as memory of the process until something presses; a pass over
    a file larger than memory releases them itself. Whoever looks again reads them again. Private copies of pages
    (mode ``"c"``) hold what the caller wrote, and are never released.
    """
    mapped = _mapped(array)
    if mapped is None or mapped.mode == "c" or not hasattr(mmap, "MADV_DONTNEED"):
        return
    buffer = mapped.base
    while isinstance(buffer, np.ndarray):
        buffer = buffer.base
    if isinstance(buffer, mmap.mmap):
        buffer.madvise(mmap.MADV_DONTNEED)


def _mapped(array: object) -> np.memmap | None:
    """Return the memory map an array is a view of."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return array if array.base is not None else None
        array = array.base
    return None
