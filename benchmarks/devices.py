"""Which array libraries with a GPU are at hand, and copies of host arrays there."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["cupy_with_device", "describe_devices", "gpu_copies", "torch_with_device"]


def torch_with_device() -> Any:
    """Return PyTorch where it sees a CUDA device, else None."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def cupy_with_device() -> Any:
    """Return CuPy where it sees a CUDA device, else None."""
    try:
        cupy = importlib.import_module("cupy")
        return cupy if cupy.cuda.runtime.getDeviceCount() else None
    except Exception:  # no CuPy, or one that finds no driver: each version has an error of its own for that
        return None


def gpu_copies(array: Any) -> Iterator[tuple[str, Any, Callable[[], object]]]:
    """Yield, for each library with a GPU: its name, a copy of the array there, and what waits for the device."""
    torch, cupy = torch_with_device(), cupy_with_device()
    if torch is not None:
        yield "PyTorch", torch.tensor(array, device="cuda"), torch.cuda.synchronize
    if cupy is not None:
        yield "CuPy", cupy.asarray(array), cupy.cuda.Device().synchronize


def describe_devices() -> str:
    """Return the GPU at hand and the versions of the libraries that support it; empty without a GPU."""
    libraries = [one for one in (torch_with_device(), cupy_with_device()) if one is not None]
    if not libraries:
        return ""
    device = libraries[0].cuda.get_device_name() if libraries[0].__name__ == "torch" else "one GPU"
    return ", ".join([str(device), *(f"{one.__name__} {one.__version__}" for one in libraries)])
