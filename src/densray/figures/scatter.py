"""A scatter of words with labels that do not overlap; the figures of axes and of bias are made of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from densray.figures.labels import Label, place_labels
from densray.figures.style import GREY, INK, Row, altair, values

__all__ = ["ACROSS", "UP", "padded_domain", "word_scatter"]

# Under these names the coordinates are drawn: names of axes may hold what a chart would read as syntax.
ACROSS, UP = "across", "up"

_FONT_SIZE = 11

Domain = tuple[float, float]


def padded_domain(numbers: Sequence[float], *, share: float = 0.06) -> Domain:
    """Return the range of the numbers, a little wider on both sides."""
    low, high = min(numbers), max(numbers)
    margin = (high - low) * share or 1.0
    return low - margin, high + margin


def word_scatter(
    rows: Sequence[Row],
    *,
    labelled: Sequence[Row],
    x: tuple[str, str, Domain],
    y: tuple[str, str, Domain],
    size: tuple[int, int],
    mark: dict[str, Any],
    encoding: dict[str, Any] | None = None,
) -> Any:
    """Return points, labels and leader lines as a layered chart.

    Parameters
    ----------
    rows
        All points: mappings with ``word`` and the two coordinates.
    labelled
        The rows to label, the most important first; those without a free place stay without.
    x, y
        Key, title and domain of each coordinate.
    size
        Width and height in pixels.
    mark, encoding
        How the points look.
    """
    alt = altair()
    channels = {
        "x": alt.X(f"{ACROSS}:Q", title=x[1], scale=alt.Scale(domain=list(x[2]), nice=False, zero=False)),
        "y": alt.Y(f"{UP}:Q", title=y[1], scale=alt.Scale(domain=list(y[2]), nice=False, zero=False)),
    }
    tooltip = ["word:N", alt.Tooltip(f"{ACROSS}:Q", title=x[1]), alt.Tooltip(f"{UP}:Q", title=y[1])]
    shown = [{**row, ACROSS: row[x[0]], UP: row[y[0]]} for row in rows]
    points = alt.Chart(values(shown)).mark_point(**mark).encode(**channels, tooltip=tooltip, **(encoding or {}))
    frame = _Frame(x[2], y[2], size)
    labels = place_labels(
        [str(row["word"]) for row in labelled],
        [frame.pixels(row[x[0]], row[y[0]]) for row in labelled],
        size=size,
        font_size=_FONT_SIZE,
        obstacles=[frame.pixels(row[x[0]], row[y[0]]) for row in rows],
    )
    drawn = [_leaders(labels, frame, channels), points, *_texts(labels, frame, channels)]
    return alt.layer(*drawn).properties(width=size[0], height=size[1])


class _Frame:
    """From data to pixels and back, as the chart will draw them."""

    def __init__(self, x: Domain, y: Domain, size: tuple[int, int]) -> None:
        self._left, self._top = x[0], y[1]
        self._across, self._down = (x[1] - x[0]) / size[0], (y[0] - y[1]) / size[1]  # data per pixel

    def pixels(self, x: float, y: float) -> Domain:
        return (x - self._left) / self._across, (y - self._top) / self._down

    def data(self, pixels: Domain) -> Domain:
        return self._left + pixels[0] * self._across, self._top + pixels[1] * self._down


def _texts(labels: Sequence[Label], frame: _Frame, channels: dict[str, Any]) -> list[Any]:
    """Return the labels on a white seam, so that they can be read over points and lines."""
    places = [frame.data(label.middle) for label in labels]
    rows = [{"word": label.text, ACROSS: x, UP: y} for label, (x, y) in zip(labels, places, strict=True)]
    base = altair().Chart(values(rows)).encode(**channels, text="word:N")
    look = {"fontSize": _FONT_SIZE, "align": "center", "baseline": "middle"}
    return [base.mark_text(**look, stroke="white", strokeWidth=3, opacity=0.85), base.mark_text(**look, color=INK)]


def _leaders(labels: Sequence[Label], frame: _Frame, channels: dict[str, Any]) -> Any:
    """Return thin lines from the points to the labels that stand apart from them."""
    ends = [(frame.data(each.point), frame.data(each.leader)) for each in labels if each.leader is not None]
    rows = [{ACROSS: x, UP: y, "end across": x2, "end up": y2} for (x, y), (x2, y2) in ends]
    base = altair().Chart(values(rows)).mark_rule(color=GREY, strokeWidth=0.7)
    return base.encode(**channels, x2="end across", y2="end up")
