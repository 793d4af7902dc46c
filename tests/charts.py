"""What a chart is made of, for tests to look at."""

from __future__ import annotations

import json
from typing import Any


def parts(spec: Any):
    """Every mapping within a chart's specification, however deep."""
    if isinstance(spec, dict):
        yield spec
        spec = list(spec.values())
    if isinstance(spec, list):
        for each in spec:
            yield from parts(each)


def packed_rows(spec: Any) -> list[dict[str, Any]]:
    """The rows that a scatter of words carries as one text."""
    (text,) = {part["values"] for part in parts(spec) if isinstance(part.get("values"), str)}
    return json.loads(text)
