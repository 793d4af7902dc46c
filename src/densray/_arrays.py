"""NumPy, PyTorch and CuPy arrays alike, and memory-mapped files."""

from __future__ import annotations

import mmap
import sys
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from densray.errors import VectorError

#: A NumPy, PyTorch or CuPy array (or any other that follows the array API standard).
Array: TypeAlias = Any


def is_foreign(array: object) -> bool:
    """Return whether an array lives outside NumPy: a torch tensor, a CuPy array, any array-API array."""
    if isinstance(array, np.ndarray | np.generic | list | tuple):
        return False
    return hasattr(array, "__array_namespace__") or _is_torch(array) or _is_cupy(array)


def is_dask(array: object) -> bool:
    """Return whether something is a Dask collection: an array, a dataframe, a series."""
    return hasattr(type(array), "__dask_graph__")


def namespace(*arrays: Array) -> Any:
    """Return the array-API namespace the arrays share, NumPy itself for NumPy arrays and lists."""
    foreign = [array for array in arrays if is_foreign(array)]
    if not foreign:
        return np
    from array_api_compat import array_namespace, device

    libraries = sorted({type(array).__module__.partition(".")[0] for array in foreign})
    if len(libraries) > 1:
        raise VectorError(f"arrays come from different libraries ({', '.join(libraries)}); all must come from one.")
    devices = {str(device(array)) for array in foreign}
    if len(devices) > 1:
        raise VectorError(
            f"arrays lie on different devices ({', '.join(sorted(devices))}); all must share one. "
            "Move them with .to(device)."
        )
    return array_namespace(*foreign)


def array_on(values: object, like: Array, *, dtype: object = None) -> Array:
    """Return `values` as an array of the same kind, on the same device, as `like`."""
    if not is_foreign(like):
        return np.asarray(values, dtype=dtype)  # type: ignore[call-overload]
    from array_api_compat import device

    xp = namespace(like)
    return xp.asarray(values, dtype=dtype, device=device(like))


def move(matrix: NDArray[Any], like: Array) -> Array:
    """Return a host matrix with the kind, device and precision of `like`."""
    return array_on(matrix, like, dtype=like.dtype)


def float64_like(values: Array, rows: Array) -> Array:
    """Return per-row values as float64, in the array library and on the device of `rows`."""
    if is_foreign(rows):
        xp = namespace(rows, values)
        return xp.astype(values, xp.float64) if is_foreign(values) else array_on(values, rows, dtype=xp.float64)
    return to_host(values)


def assign(matrix: Array, rows: Array, columns: Array, value: float) -> None:
    """Set the entries of a matrix at these rows and columns, in place: in every library, but not in the standard."""
    places = [array_on(place, matrix) for place in (rows, columns)]
    try:
        matrix[places[0], places[1]] = value
    except IndexError:  # a library that keeps to the letter of the standard
        for row, column in zip(*places, strict=True):
            matrix[int(row), int(column)] = value


def to_host(array: Array) -> NDArray[Any]:
    """Return an array as a NumPy array; meant for d × d matrices, never for the rows."""
    if isinstance(array, np.ndarray):
        return array
    if _is_torch(array):
        host: NDArray[Any] = array.detach().cpu().numpy()
        return host
    if _is_cupy(array):
        return np.asarray(array.get())
    return np.asarray(array)


def _is_torch(array: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _is_cupy(array: object) -> bool:
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(array, cupy.ndarray)


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
