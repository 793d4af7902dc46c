"""Values as JSON knows them: unrounded, with ``None`` where a number is missing."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Set
from pathlib import PurePath
from typing import Any

import numpy as np

__all__ = ["to_json", "to_plain"]


def to_plain(value: Any) -> Any:
    """Return ``value`` made of dicts, lists, strings, numbers, booleans and ``None`` only.

    Numbers keep every digit; NaN and infinities become ``None``. Dataclasses become dicts of their fields,
    less those declared with ``field(metadata={"report": False})``. What has a ``to_dict`` speaks for itself.

    >>> import numpy as np
    >>> to_plain({"tau": np.float64(0.25), "scores": np.array([1.0, np.nan])})
    {'tau': 0.25, 'scores': [1.0, None]}
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, PurePath):
        return str(value)
    return _plain_container(value)


def _plain_container(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return to_plain(value.to_dict())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return fields_of(value)
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, Set):
        return [to_plain(item) for item in sorted(value)]
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no plain form; give it a to_dict, or keep it out of the report.")


def fields_of(value: Any) -> dict[str, Any]:
    """Return the reported fields of a dataclass in plain form, in the order they were declared."""
    return {
        item.name: to_plain(getattr(value, item.name))
        for item in dataclasses.fields(value)
        if item.metadata.get("report", True)
    }


def to_json(value: Any, *, indent: int | None = 2, ascii_only: bool = False) -> str:
    """Return ``value`` (a Result, a Table, rows, anything plain) as strict JSON text.

    With ``ascii_only``, letters beyond ASCII are written as escapes, which every encoding can carry.

    >>> to_json({"tau": float("nan")}, indent=None)
    '{"tau": null}'
    """
    return json.dumps(to_plain(value), ensure_ascii=ascii_only, allow_nan=False, indent=indent)
