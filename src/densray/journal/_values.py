"""Results of parts as JSON and back, every bit of every number kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

__all__ = ["decode", "encode"]


def encode(value: Any) -> Any:
    """Return a value made of numbers, strings, arrays, tuples and dataclasses as what JSON can carry.

    >>> encode((1, np.array([0.1])))
    {'tuple': [1, {'array': [0.1], 'dtype': '<f8', 'shape': [1]}]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": value.ravel().tolist(), "dtype": value.dtype.str, "shape": list(value.shape)}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: encode(getattr(value, each.name)) for each in fields(value) if each.init}
        return {"kind": type(value).__name__, "fields": parts}
    if isinstance(value, tuple):
        items = [encode(item) for item in value]
        return {"kind": type(value).__name__, "items": items} if hasattr(value, "_fields") else {"tuple": items}
    if isinstance(value, list):
        return [encode(item) for item in value]
    raise TypeError(f"{type(value).__name__} cannot be kept in a journal.")


def decode(plain: Any, kinds: Mapping[str, type]) -> Any:
    """Return the value `encode` was given; only the classes in `kinds` are made, and nothing is ever imported.

    >>> decode(encode((1, np.array([0.1]))), {})
    (1, array([0.1]))
    """
    if isinstance(plain, list):
        return [decode(item, kinds) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        return np.array(plain["array"], dtype=np.dtype(plain["dtype"])).reshape(plain["shape"])
    if "tuple" in plain:
        return tuple(decode(item, kinds) for item in plain["tuple"])
    kind = kinds[plain["kind"]]
    if "items" in plain:
        return kind(*(decode(item, kinds) for item in plain["items"]))
    return kind(**{name: decode(item, kinds) for name, item in plain["fields"].items()})
