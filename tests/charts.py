"""What a chart is made of, for tests to look at."""

from __future__ import annotations

import json
from typing import Any

import numpy as np


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


def unpacked_map(content: bytes) -> dict[str, Any]:
    """The header of a packed map, with the scores and ranks of each axis and the words, read as the page reads them."""
    assert content[:4] == b"DMAP"
    place = 8 + int.from_bytes(content[4:8], "little")
    header = json.loads(content[8:place])
    count, axes = header["count"], len(header["axes"])
    assert place % 4 == 0  # typed arrays of a page begin at a multiple of their size
    scores = np.frombuffer(content, "<f4", count * axes, place).reshape(axes, count)
    ranks = np.frombuffer(content, "<u4", count * axes, place + scores.nbytes).reshape(axes, count)
    words = content[place + scores.nbytes + ranks.nbytes :].decode().split("\n")
    return {**header, "scores": scores, "ranks": ranks, "words": words}
