"""Maps of documents: points that show their text on hovering, coloured by a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from densray.figures._scatter import CTRL_WHEEL, Domain, few_ticks, padded_domain
from densray.figures._style import (
    ACROSS,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    UP,
    VERMILLION,
    altair,
    checked_rows,
    ink,
    on_ground,
    packed,
    styled,
    tooltip_title,
)
from densray.figures._words import SHADE, SHADES
from densray.report import CHART_NUMBER, Record

#: Number of characters of a text shown on hovering.
LONGEST_TEXT = 200
#: Colours and shapes of the most frequent classes; all others share the last one.
_LOOKS = ((BLUE, "circle"), (VERMILLION, "square"), (GREEN, "triangle-up"), (PURPLE, "diamond"),
          (ORANGE, "triangle-down"), (SKY, "cross"))  # fmt: skip
_OTHERS, _NONE = "others", "no value"
#: Key of the column value shown on hovering.
_SAID = "value"
_REST = {_OTHERS: (GREY, "circle"), _NONE: ("", "stroke")}


def cut_text(text: str, most: int = LONGEST_TEXT) -> str:
    """Return a text on one line, cut between words if it is too long.

    >>> cut_text("one  two\\nthree", 9)
    'one two …'
    """
    whole = " ".join(text.split())
    if len(whole) <= most:
        return whole
    beginning = whole[: most - 1]
    return f"{beginning.rpartition(' ')[0] or beginning} …"


def document_map(
    rows: Sequence[Record],
    *,
    titles: tuple[str, str] = ("across", "up"),
    color: str | None = None,
    domains: tuple[Domain, Domain] | None = None,
    interactive: bool = False,
    size: tuple[int, int] = (760, 560),
    title: str = "",
) -> Any:
    """Return documents as points in a plane; hovering over one shows its text.

    Parameters
    ----------
    rows
        Mappings with ``text``, ``across`` and ``up``; with `color` also ``shade``, a number or the name of a class
        (None: no value). Records with a true ``marked`` get a ring. ``row`` identifies a document that is clicked.
    titles
        Names of the horizontal and the vertical coordinate.
    color
        Name of the column behind ``shade``. The six most frequent classes have a colour and a shape each. Numbers are
        shaded from their 2nd to their 98th percentile.
    domains
        Lowest and highest value of each coordinate (default: those of the documents), to draw several maps alike.
    interactive
        Whether Ctrl and the wheel zoom, dragging moves the map, and a click selects a document.
    size
        Width and height in pixels.
    title
        Title above the chart.
    """
    alt = altair()
    keys = ("row", "text", ACROSS, UP, SHADE, "marked")
    points = [
        {key: row[key] for key in keys if row.get(key) is not None}
        for row in checked_rows(rows, "text", ACROSS, UP, *([SHADE] if color else []))
    ]
    for point in points:
        point["text"] = cut_text(str(point["text"]))
    hover = [alt.Tooltip("text:N", title="text")]
    shading: dict[str, Any] = {}
    if color is not None:
        shading = _shading(points, " ".join(color.split())[:60])
        name = tooltip_title(f"“{color}”")  # in quotes: as bare titles, “image” or “constructor” have a special meaning
        hover.append(alt.Tooltip(f"{_SAID}:N", title=name))
    across, up = domains or (None, None)
    channels = {
        channel: kind(
            f"{key}:Q",
            title=named,
            scale=alt.Scale(
                domain=list(padded_domain(domain or [point[key] for point in points])), nice=False, zero=False
            ),
            axis=alt.Axis(tickCount=few_ticks(extent, each)),
        )
        for channel, kind, key, named, extent, each, domain in (
            ("x", alt.X, ACROSS, titles[0], "width", 80, across), ("y", alt.Y, UP, titles[1], "height", 60, up)
        )
    }  # fmt: skip
    number = f"isNumber(datum.{SHADE}) ? format(datum.{SHADE}, '~f') : datum.{SHADE}"
    base = alt.Chart(packed(points)).encode(**channels)
    if color is not None:
        base = base.transform_calculate(**{_SAID: f"isValid(datum.{SHADE}) ? ({number}) : '{_NONE}'"})
    dots = base.mark_point(
        filled=True, clip=True, invalid=None, size=_dot_size(len(points)), opacity=0.65, color=BLUE
    ).encode(tooltip=hover, **shading)  # fmt: skip
    if interactive:
        selection = alt.selection_point(name="picked", fields=["row"], on="click", toggle=False)
        dots = dots.add_params(alt.selection_interval(bind="scales", name="zoom", zoom=CTRL_WHEEL), selection)
    rings = base.transform_filter("datum.marked").mark_point(size=130, color=ink(), strokeWidth=2, opacity=1, clip=True)
    layers = [dots, rings] if any(point.get("marked") for point in points) else [dots]
    coloured = f", coloured by {color}" if color else ""
    description = f"{len(points):,} documents by {titles[0]} (across) and {titles[1]} (up){coloured}"
    chart = alt.layer(*layers).properties(width=size[0], height=size[1])
    return styled(chart, title=title, alt=description, any_width=interactive)


def _dot_size(count: int) -> int:
    return 42 if count <= 500 else 26 if count <= 2500 else 16 if count <= 8000 else 9


def _pale() -> Any:
    """Return the colour of documents without a value."""
    return altair().expr(on_ground("#DADADA", "#4A4845"))


def _shading(points: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the colours of the points and the shapes of classes."""
    alt = altair()
    shades = [point[SHADE] for point in points if SHADE in point]
    numbers = [value for value in shades if isinstance(value, int | float) and not isinstance(value, bool)]
    if shades and len(numbers) == len(shades):
        low, high = np.percentile(numbers, [2, 98]).tolist()
        low, high = (low, high) if low < high else (low - 1.0, high + 1.0)
        whole = all(float(value).is_integer() for value in numbers)
        domain = [low, (low + high) / 2, high]
        colors = [alt.expr(on_ground(*pair)) for pair in SHADES]
        scale = alt.Scale(domain=domain, range=colors, interpolate="lab", clamp=True)
        legend = alt.Legend(
            title=name, orient="top", direction="horizontal", titleLimit=300, format="d" if whole else CHART_NUMBER,
            gradientLength=alt.expr("min(width - 20, 320)"), values=domain,
        )  # fmt: skip
        color = alt.Color(f"{SHADE}:Q", scale=scale, legend=legend)
        unknown = alt.value(_pale())
        return {"color": alt.condition(f"!isValid(datum.{SHADE})", unknown, color)}
    counts = Counter(str(value) for value in shades)
    classes = [value for value, _ in counts.most_common(len(_LOOKS))]
    # of two classes, the second is the high end of an axis, which is blue in every chart
    looks = dict(zip(sorted(classes), _LOOKS[1::-1] if len(classes) == 2 else _LOOKS, strict=False))
    for point in points:
        value = str(point[SHADE]) if SHADE in point else None
        point["class"] = _NONE if value is None else value if value in looks else _OTHERS
    looks |= {rest: look for rest, look in _REST.items() if any(point["class"] == rest for point in points)}
    legend = alt.Legend(
        title=name, orient="top", titleLimit=300, labelLimit=160, symbolOpacity=1, symbolSize=70,
        columns=alt.expr("max(2, floor(width / 170))"),
    )  # fmt: skip
    colors, shapes = (
        alt.Scale(domain=list(looks), range=[look[i] or _pale() for look in looks.values()]) for i in (0, 1)
    )
    return {
        "color": alt.Color("class:N", scale=colors, legend=legend),
        "shape": alt.Shape("class:N", scale=shapes, legend=legend),
    }
