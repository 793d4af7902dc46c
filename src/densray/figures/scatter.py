"""A scatter of words with labels that do not overlap; the figures of axes and of bias are made of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray.figures.labels import place_labels, text_width
from densray.figures.style import GREY, INK, VERMILLION, Row, altair, packed, tooltip_title
from densray.figures.zoom import free_zooms

__all__ = ["ACROSS", "UP", "padded_domain", "word_scatter"]

# Under these names the coordinates are drawn: names of axes may hold what a chart would read as syntax.
ACROSS, UP = "across", "up"

_FONT_SIZE = 11
#: Labels that appear on zooming in: how much larger than themselves the place they need, from which zoom on, how many.
_CLEARANCE, _FIRST_ZOOM, _LAST_ZOOM, _MOST = 1.3, 1.3, 60.0, 2000
_NEVER = 1e9

Domain = tuple[float, float]


def padded_domain(numbers: Sequence[float], *, share: float = 0.06) -> Domain:
    """Return the range of the numbers, a little wider on both sides."""
    low, high = min(numbers), max(numbers)
    margin = (high - low) * share or 1.0
    return low - margin, high + margin


def word_scatter(
    rows: Sequence[Row],
    *,
    labelled: Sequence[int],
    x: tuple[str, str, Domain],
    y: tuple[str, str, Domain],
    size: tuple[int, int],
    mark: dict[str, Any],
    encoding: dict[str, Any] | None = None,
    marked: Collection[int] = (),
    zoom: bool = False,
) -> Any:
    """Return points, labels and leader lines as a layered chart.

    Parameters
    ----------
    rows
        All points: mappings with ``word`` and the two coordinates.
    labelled
        The numbers of the rows to label, the most important first; those without a free place stay without.
    x, y
        Key, title and domain of each coordinate.
    size
        Width and height in pixels.
    mark, encoding
        How the points look.
    marked
        The numbers of rows that stand out: a ring, a bold label.
    zoom
        Whether the wheel zooms in and dragging moves the chart; the more it is zoomed in, the more words are labelled.
    """
    alt = altair()
    points = _pixels(rows, x, y, size)
    notes = _notes(rows, points, labelled, size, set(marked))
    if zoom:
        _add_later(notes, rows, points)
    shown = [{**row, ACROSS: row[x[0]], UP: row[y[0]], **notes.get(n, {})} for n, row in enumerate(rows)]
    for number in marked:
        shown[number]["marked"] = True
    channels = {
        "x": alt.X(f"{ACROSS}:Q", title=x[1], scale=alt.Scale(domain=list(x[2]), nice=False, zero=False)),
        "y": alt.Y(f"{UP}:Q", title=y[1], scale=alt.Scale(domain=list(y[2]), nice=False, zero=False)),
    }
    tooltip = [
        alt.Tooltip(f"{key}:Q", title=tooltip_title(end[1]), format=".3f") for key, end in ((ACROSS, x), (UP, y))
    ]
    base = alt.Chart().encode(**channels)
    dots = base.mark_point(clip=True, **mark).encode(**{"tooltip": ["word:N", *tooltip], **(encoding or {})})
    if zoom:
        dots = dots.add_params(alt.selection_interval(bind="scales", name="zoom"))
    rings = base.transform_filter("datum.marked").mark_point(
        size=45 + 2 * mark["size"], color=VERMILLION, strokeWidth=2, opacity=1, clip=True
    )
    seen = partial(_while_free, x[2][1] - x[2][0] if zoom else None)
    layers = [dots, _leaders(base, seen), *([rings] if marked else []), *_texts(base, seen)]
    return alt.layer(*layers, data=packed(shown)).properties(width=size[0], height=size[1])


def _pixels(rows: Sequence[Row], x: tuple[str, str, Domain], y: tuple[str, str, Domain], size: Domain) -> Any:
    """Return where the chart will draw the rows, from its top left."""
    at = np.array([[row[x[0]], row[y[0]]] for row in rows], dtype=np.float64)
    left, top = x[2][0], y[2][1]
    return (at - [left, top]) / [(x[2][1] - left) / size[0], (y[2][0] - top) / size[1]]


def _notes(
    rows: Sequence[Row], points: NDArray[np.float64], labelled: Sequence[int], size: tuple[int, int], bold: set[int]
) -> dict[int, dict[str, float]]:
    """Return, by row, the way from a point to its label and to the end of its leader line, where it has these."""
    # bold letters take more room, and a ring does: about one letter in all
    words = [str(rows[number]["word"]) + "n" * (number in bold) for number in labelled]
    notes = {}
    for label in place_labels(words, points[list(labelled)], size=size, font_size=_FONT_SIZE, obstacles=points):
        x, y = label.point
        note = {"right": label.middle[0] - x, "down": label.middle[1] - y}
        if label.leader is not None:
            note |= {"line_right": label.leader[0] - x, "line_down": label.leader[1] - y}
        notes[labelled[label.number]] = note
    return notes


def _add_later(notes: dict[int, dict[str, float]], rows: Sequence[Row], points: NDArray[np.float64]) -> None:
    """Add the labels that appear on zooming in, right of their points, in the order of the rows."""
    numbers = [*notes, *(number for number in range(len(rows)) if number not in notes)][: len(notes) + _MOST]
    widths = np.array([text_width(str(rows[number]["word"]), font_size=_FONT_SIZE) for number in numbers])
    ways = np.stack([widths / 2 + 6.0, np.zeros(len(numbers))], axis=1)
    ways[: len(notes)] = [(note["right"], note["down"]) for note in notes.values()]
    sizes = np.stack([widths + 2.0, np.full(len(numbers), _FONT_SIZE * 1.24)], axis=1)
    sizes[len(notes) :] *= _CLEARANCE
    until, since = free_zooms(points[numbers], ways, sizes)
    for place, number in enumerate(numbers):
        if number in notes:
            notes[number] |= {"until": float(min(until[place], _NEVER)), "since": float(min(since[place], _NEVER))}
        elif since[place] <= _LAST_ZOOM:
            right, down = ways[place].tolist()
            notes[number] = {"right": right, "down": down, "since": float(max(since[place], _FIRST_ZOOM))}


def _while_free(width: float | None, opacity: float) -> Any:
    """Return an opacity that is 0 at the zooms at which a label hides; the zoom is told by the range across."""
    if width is None:
        return opacity
    zoom = f"{width} / span(domain('x'))"
    return altair().expr(f"datum.until > {zoom} || datum.since <= {zoom} * 1.001 ? {opacity} : 0")


def _texts(base: Any, seen: Callable[[float], Any]) -> list[Any]:
    """Return the labels on a white seam, so that they can be read over points and lines."""
    expr = altair().expr
    named = base.transform_filter("isValid(datum.right)").encode(text="word:N")
    look = {
        "dx": expr("datum.right"), "dy": expr("datum.down"), "align": "center", "baseline": "middle",
        "fontSize": _FONT_SIZE, "fontWeight": expr("datum.marked ? 'bold' : 'normal'"), "clip": True,
    }  # fmt: skip
    ink = expr(f"datum.marked ? '{VERMILLION}' : '{INK}'")
    seam = named.mark_text(stroke="white", strokeWidth=3, opacity=seen(0.85), **look)
    return [seam, named.mark_text(color=ink, opacity=seen(1.0), **look)]


def _leaders(base: Any, seen: Callable[[float], Any]) -> Any:
    """Return thin lines from the points to the labels that stand apart from them."""
    expr = altair().expr
    far = base.transform_filter("isValid(datum.line_right)")
    ways = {"x2Offset": expr("datum.line_right"), "y2Offset": expr("datum.line_down")}
    ink = expr(f"datum.marked ? '{VERMILLION}' : '{GREY}'")
    width = expr("datum.marked ? 1.4 : 0.7")
    return far.mark_rule(color=ink, strokeWidth=width, opacity=seen(1.0), clip=True, **ways).encode(x2=ACROSS, y2=UP)
