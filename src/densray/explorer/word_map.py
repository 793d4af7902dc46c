"""The map of a whole vocabulary: the bytes sent to the page, and the component that draws them by WebGL.

`word_map.js` reads the same layout. It draws the points, finds words, and selects them without the server.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from densray.errors import TaskError

#: First bytes of the layout.
MAGIC = b"DMAP"
#: Percentiles at which the colour scale ends, so that single words do not dominate it.
_COLOR_ENDS = (2, 98)


@dataclass(frozen=True)
class MapAxis:
    """One axis of the map: its name, the meaning of its ends, and the score and the rank of every word."""

    name: str
    low: str
    high: str
    scores: NDArray[Any]
    ranks: NDArray[Any]


def pack_words(words: Sequence[str]) -> NDArray[np.uint8]:
    """Return words as UTF-8, one per line; a line end inside a word becomes a space."""
    text = "\n".join(words)
    if text.count("\n") >= len(words):
        text = "\n".join(word.replace("\n", " ") for word in words)
    return np.frombuffer(text.encode("utf-8", "replace"), np.uint8)


def pack_map(
    words: NDArray[np.uint8],
    across: MapAxis,
    up: MapAxis,
    color: MapAxis | None = None,
    *,
    marked: Sequence[int] = (),
    can_add: bool = False,
) -> bytes:
    """Return a map as bytes: a header in JSON, then scores, ranks and words.

    Scores are 32-bit floats, ranks 32-bit integers, both little-endian and in the order of the words.

    Parameters
    ----------
    words : array of bytes
        From `pack_words`, the most frequent first: labels go to the first words in view.
    across, up : MapAxis
    color : MapAxis, optional
    marked : sequence of int
        Locations of the words to highlight.
    can_add : bool, default=False
        Whether selected words can be added to the two word lists of the current axis.
    """
    axes = [axis for axis in (across, up, color) if axis is not None]
    count = int(np.count_nonzero(words == ord("\n"))) + 1 if words.size else 0
    for axis in axes:
        _check(axis, count)
    for location in marked:
        if not 0 <= location < count:
            raise TaskError(f"word {location} is to be marked; the map has words 0 to {count - 1:,}.")
    header = {
        "count": count,
        "axes": [{"name": axis.name, "low": axis.low, "high": axis.high} for axis in axes],
        "colors": None if color is None else np.percentile(color.scores, _COLOR_ENDS).tolist(),
        "marked": list(marked),
        "can_add": can_add,
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)  # numbers begin at a multiple of four bytes
    scores = (axis.scores.astype("<f4").tobytes() for axis in axes)
    ranks = (axis.ranks.astype("<u4").tobytes() for axis in axes)
    return b"".join((MAGIC, len(text).to_bytes(4, "little"), text, *scores, *ranks, words.tobytes()))


def _check(axis: MapAxis, count: int) -> None:
    if count < 1 or axis.scores.shape != (count,) or axis.ranks.shape != (count,):
        raise TaskError(
            f"the axis “{axis.name}” has scores of shape {axis.scores.shape} and ranks of shape {axis.ranks.shape}; "
            f"a map of {count:,} words needs one of each per word, and at least one word."
        )
    finite = np.isfinite(axis.scores)
    if not finite.all():
        raise TaskError(
            f"{count - int(finite.sum()):,} of {count:,} scores on “{axis.name}” are not finite. Words without a score "
            "cannot be placed on a map."
        )


def known_locations(given: Any, count: int) -> list[int]:
    """Return the values sent by a page that are valid locations of words.

    >>> known_locations([2, -1, "2", 7, True], 5), known_locations(None, 5)
    ([2], [])
    """
    values = given if isinstance(given, list) else [given]
    return [value for value in values if type(value) is int and 0 <= value < count]


@cache
def _component() -> Any:
    """Return the command that shows the component; its files are read once."""
    script, style = (
        resources.files("densray.explorer").joinpath(name).read_text(encoding="utf-8")
        for name in ("word_map.js", "word_map.css")
    )
    return st.components.v2.component("densray_word_map", css=style, js=script, isolate_styles=False)


def show_word_map(
    content: bytes,
    *,
    key: str,
    on_pick: Callable[[], None],
    on_add: Callable[[], None],
    on_unsupported: Callable[[], None],
) -> None:
    """Show a packed map.

    Callbacks find the event in ``st.session_state[key]``: `picked` is the location of the clicked word, `added` has
    the `end` of the axis and the `locations` of the words to add, `unsupported` means that the browser lacks WebGL.
    """
    _component()(
        key=key,
        data=content,
        on_picked_change=on_pick,
        on_added_change=on_add,
        on_unsupported_change=on_unsupported,
    )
