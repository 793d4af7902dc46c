"""What decides a result, as one digest: equal digests, equal results."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping, Set
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._version import __version__

__all__ = ["UndecidedError", "digest"]

_LIBRARIES = ("numpy", "scipy", "scikit-learn")
_SHOWING = {"cli", "explorer", "figures", "report"}  # rooms that decide how a result looks, not what it is
_BLOCK = 16_384  # rows


class UndecidedError(TypeError):
    """Something that takes part in a result and has no digest, such as a function."""


def digest(*deciding: object) -> str:
    """Return a hexadecimal digest of the values, of the code of densray and of the libraries it computes with.

    Arrays and spaces are read whole: a space that differs in one number is another one.

    >>> digest("ridge", 1) == digest("ridge", 1)
    True
    >>> len({digest("ab", "c"), digest("a", "bc"), digest(1), digest(1.0), digest("1"), digest(True)})
    6
    """
    return _hashed(deciding, _program().encode()).hex()


@cache
def _program() -> str:
    """Return versions and the digest of the source: a resumed run must not mix two states of the code."""
    source = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if name.parts[0] not in _SHOWING:
            source.update(f"{name}\n".encode() + path.read_bytes())
    versions = [f"{name} {metadata.version(name)}" for name in _LIBRARIES]
    return " ".join([f"densray {__version__}", platform.python_version(), *versions, source.hexdigest()])


def _hashed(value: Any, beginning: bytes = b"") -> bytes:
    found = hashlib.sha256(beginning)
    for piece in _pieces(value):
        found.update(f"{len(piece)}:".encode())  # so that no two lists of values run together into the same bytes
        found.update(piece)
    return found.digest()


def _pieces(value: Any) -> Iterator[bytes]:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        yield f"{type(value).__name__} {value!r}".encode("utf-8", "surrogatepass")
    elif isinstance(value, np.ndarray):
        yield from _array_pieces(value)
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)}".encode()
        for key, item in value.items():
            yield from _pieces((key, item))
    elif isinstance(value, Set):
        yield f"set {len(value)}".encode()
        yield from sorted(_hashed(item) for item in value)  # words and numbers have no order among themselves
    elif isinstance(value, (list, tuple)):
        yield f"sequence {len(value)}".encode()
        for item in value:
            yield from _pieces(item)
    else:
        yield from _object_pieces(value)


def _array_pieces(array: NDArray[Any]) -> Iterator[bytes]:
    if array.dtype.hasobject:
        raise UndecidedError(f"an array of {array.dtype} has no digest.")
    yield f"array {array.dtype.str} {array.shape}".encode()
    for start in range(0, len(array) if array.ndim else 0, _BLOCK):
        yield np.ascontiguousarray(array[start : start + _BLOCK]).tobytes()
    if array.ndim == 0:
        yield array.tobytes()


def _object_pieces(value: Any) -> Iterator[bytes]:
    kind = type(value)
    yield f"object {kind.__module__}.{kind.__qualname__}".encode()
    if hasattr(value, "blocks"):  # a space, perhaps on disk
        for words, vectors in value.blocks():
            yield "\0".join(words).encode("utf-8", "surrogatepass")
            yield from _array_pieces(vectors)
    elif is_dataclass(value):
        yield from _pieces({each.name: getattr(value, each.name) for each in fields(value)})
    elif hasattr(value, "get_params") and kind.__module__.partition(".")[0] in ("densray", "sklearn"):
        yield from _pieces(value.get_params(deep=False))
    elif kind.__module__.startswith("densray."):
        yield from _pieces(vars(value))
    else:
        raise UndecidedError(f"{kind.__name__} has no digest.")
