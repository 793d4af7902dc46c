"""Charts of words: ranked along an axis, moved from one space to another, on a map."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from densray.errors import DataError
from densray.figures._labels import Line
from densray.figures._scatter import Coordinate, few_ticks, padded_domain, word_scatter
from densray.figures._style import (
    ACROSS,
    BLUE,
    INK,
    UP,
    VERMILLION,
    altair,
    checked_rows,
    dashed_lines,
    equality_line,
    ink,
    on_ground,
    shown_on_hover,
    styled,
    tooltip_title,
    values,
    word_order,
    written_ends,
)
from densray.report import CHART_COUNT, CHART_NUMBER, Record

_SIZE = (460, 460)


def agreement_scatter(
    rows: Sequence[Record], *, methods: tuple[str, str], n_labels: int = 24, any_width: bool = False, title: str = ""
) -> Any:
    """Return words by their standardised scores by two methods, and the line of equal scores.

    Parameters
    ----------
    rows
        Mappings with ``word``, and ``first`` and ``second``: the scores by the two methods.
    methods
        Their names, on the horizontal and the vertical axis.
    n_labels
        Number of words to label: those furthest from the line, half on either side.
    any_width
        Whether the chart may be drawn at any width.
    title
        Title above the chart.
    """
    rows = checked_rows(rows, "word", "first", "second")
    domain = padded_domain([row[key] for row in rows for key in ("first", "second")])
    scatter = word_scatter(
        rows,
        labelled=furthest_from_equality(rows, "first", "second", n_labels),
        x=Coordinate("first", f"{methods[0]} (standardised score)", domain),
        y=Coordinate("second", f"{methods[1]} (standardised score)", domain),
        size=_SIZE,
        mark={"size": 14, "color": BLUE, "filled": True, "opacity": 0.45},
        any_width=any_width,
        borders=[((domain[0], domain[0]), (domain[1], domain[1]))],
    )
    description = f"{len(rows):,} words by their scores of {methods[0]} (across) and {methods[1]} (up)"
    return styled(equality_line(domain) + scatter, title=title, alt=description, any_width=any_width)


def furthest_from_equality(rows: Sequence[Record], first: str, second: str, count: int) -> list[int]:
    """Return the row numbers of the words furthest from the line, alternating between its two sides."""
    ordered = sorted(range(len(rows)), key=lambda number: float(rows[number][first] - rows[number][second]))
    half = min(count // 2, len(ordered) // 2)
    return [number for pair in zip(ordered[:half], ordered[::-1][:half], strict=True) for number in pair]


#: The third coordinate, and its colours from low to high, with grey in the middle.
SHADE, SHADES = "shade", [(VERMILLION, "#FF9A57"), ("#A3A3A3", "#7A7A7A"), (BLUE, "#5BB6EE")]
#: Directions in which words are labelled, and the discount of each further word in the same direction.
_SIDES, _FADING = 16, 0.93
#: First character of headings between words; no word of a space begins with it.
_HEADING = "\u2060"


def ranked_words(
    rows: Any,
    *,
    n_words: int = 15,
    axis: str = "score on the axis",
    own: Sequence[Record] = (),
    neutral: float | None = None,
    title: str = "",
) -> Any:
    """Return the words at both ends of an axis, ranked, each with its score.

    Parameters
    ----------
    rows
        The result of :func:`densray.induce`, a pandas or polars frame, or mappings, with ``word`` and ``score``. If
        all have a ``standard_error`` too, bars of two standard errors are drawn.
    n_words
        Number of words to show from each end.
    axis
        Title of the horizontal axis.
    own
        Further words to show between the ends, in the form of `rows`.
    neutral
        The score that belongs to neither end, where the lines of the words begin (default: the even odds of an
        induced lexicon). If it is not known, no lines are drawn: 0 is not neutral.
    title
        Title above the chart.
    """
    if neutral is None:
        neutral = getattr(rows, "even_odds", None)
    if hasattr(rows, "with_ends"):  # an induced lexicon: take its ends without records of the whole vocabulary
        ends = rows.with_ends(n_words)
        rows = list({row["word"]: row for row in (*ends.highest, *ends.lowest)}.values())
    ordered = _by_score(checked_rows(rows, "word", "score"))
    count = min(n_words, len(ordered) // 2) or 1
    mine = _by_score(checked_rows(own, "word", "score")) if own else []
    high, low = ordered[:count], ordered[count:][-count:]
    if neutral is not None and len(ordered) <= 2 * n_words:  # all are shown, each below the heading of its side
        high = [row for row in ordered if float(row["score"]) >= neutral]
        low = ordered[len(high) :]
    groups = {"highest": high, "my words": mine, "lowest": low}
    chart = _in_groups(groups, axis, neutral, ("score", "standard_error", "rank", "probability"))
    return styled(chart, title=title, alt=f"Words ranked by {axis}. {_describe(groups)}")


def moved_words(rows: Any, *, n_words: int = 12, own: Sequence[Record] = (), title: str = "") -> Any:
    """Return a chart of the words that moved most along an axis between two spaces: changes with error bars.

    Parameters
    ----------
    rows
        The result of :func:`densray.axes.compare_spaces`, or mappings with ``word``, ``difference`` (of the
        standardised scores), its joint standard error ``error``, and ``first`` and ``second``, the scores themselves.
    n_words
        Maximum number of words to show in each direction.
    own
        Further words to show in between, in the form of `rows`.
    title
        Title above the chart.
    """
    if hasattr(rows, "risen"):
        rows = [*rows.risen[:n_words], *rows.fallen[:n_words]]
    keys = ("difference", "error", "first", "second")
    moved, mine = (checked_rows(each, "word", *keys) if len(each) else [] for each in (rows, own))
    groups = {
        "risen most": _by_score([row for row in moved if row["difference"] > 0.0], "difference")[:n_words],
        "my words": _by_score(mine, "difference"),
        "fallen most": _by_score([row for row in moved if row["difference"] < 0.0], "difference")[-n_words:],
    }
    axis = "change of the standardised score; bars: two joint standard errors"
    return styled(_in_groups(groups, axis, 0.0, keys), title=title, alt=f"Words by the {axis}. {_describe(groups)}")


def _describe(groups: Mapping[str, Sequence[Record]]) -> str:
    """Return the first words of each group, for screen readers."""
    return "; ".join(f"{group}: {', '.join(row['word'] for row in part[:5])}" for group, part in groups.items() if part)


#: Shapes of the three groups: high, the user's words, low.
_SHAPES = ("triangle-right", "diamond", "triangle-left")


def _in_groups(groups: Mapping[str, Sequence[Record]], axis: str, neutral: float | None, keys: Sequence[str]) -> Any:
    """Return words under the headings of their three groups (possibly empty), each with its number.

    The lines of the words begin at `neutral`, if it is known.

    `keys`: the number, its standard error, and further keys for the tooltip. Bars of two standard errors are drawn if
    all records have one.
    """
    number, error, *_ = keys
    alt = altair()
    names = list(groups)
    records = [
        {**row, "group": group, "side": _side(row[number], neutral, names, group)}
        for group, part in groups.items()
        for row in part
    ]
    records = list({row["word"]: row for row in records}.values())
    with_errors = all(row.get(error) is not None for row in records)
    for row in records:
        width = 2 * row[error] if with_errors else 0.0
        row |= {"least": row[number] - width, "most": row[number] + width}
    lines = [
        line
        for group in names
        if groups[group]
        for line in (f"{_HEADING}{group}", *(row["word"] for row in records if row["group"] == group))
    ]
    if not records:
        raise DataError("There is nothing to draw: no word is in any group.")
    neutral_points = [] if neutral is None else [neutral]
    domain = list(
        padded_domain([*neutral_points, *(row[end] for row in records for end in ("least", "most"))], share=0.04)
    )
    colors = alt.Scale(domain=names, range=[BLUE, alt.expr(on_ground(INK, "#E8E6E3")), VERMILLION])
    looks = {
        "color": alt.Color("side:N", legend=None, scale=colors),
        "shape": alt.Shape("side:N", legend=None, scale=alt.Scale(domain=names, range=list(_SHAPES))),
    }
    base = alt.Chart(values(records)).encode(
        y=alt.Y("word:N", **word_order(lines), title=None, axis=_word_axis()),
        tooltip=shown_on_hover(records, "word", *keys),
    )
    look = {"scale": alt.Scale(domain=domain, nice=False), "title": axis.split("; "),
            "axis": alt.Axis(tickCount=few_ticks("width", 70))}  # fmt: skip
    across, least = (alt.X(f"{key}:Q", **look) for key in (number, "least"))
    heads = base.mark_point(filled=True, size=70, opacity=1).encode(x=across, **looks)
    bars = base.mark_rule(color=ink(), strokeWidth=1.2).encode(x=least, x2="most:Q")
    lines_from = []
    if neutral is not None:
        stems = base.mark_rule(opacity=0.5).encode(x=across, x2=alt.datum(neutral), color=looks["color"])
        lines_from = [*dashed_lines({"x": neutral}), stems]
    layers = [*lines_from, *([bars] if with_errors else []), heads]
    return alt.layer(*layers).properties(width=460, height=19 * len(lines))


def _side(number: float, neutral: float | None, names: Sequence[str], group: str) -> str:
    """Return the group whose colour and shape a word has: by its side of the neutral score, if that is known."""
    if neutral is None or group == names[1]:
        return group
    return names[0] if number >= neutral else names[2]


def _by_score(rows: list[dict[str, Any]], key: str = "score") -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (-float(row[key]), row["word"]))


def _word_axis() -> Any:
    """Return an axis of words, headings in bold."""
    alt = altair()
    weight = alt.condition(f"indexof(datum.value, '{_HEADING}') == 0", alt.value("bold"), alt.value("normal"))
    # on the page of a phone, long names leave most of the width to the marks; a file has no container
    limit = alt.expr("containerSize()[0] > 0 && containerSize()[0] < 420 ? 130 : 180")
    return alt.Axis(ticks=False, domain=False, labelLimit=limit, labelFontWeight=weight)


def axis_scatter(
    rows: Sequence[Record],
    *,
    axes: tuple[str, str] = ("x", "y"),
    titles: tuple[str, str] | None = None,
    color: str | None = None,
    ends: Mapping[str, tuple[str, str]] | None = None,
    marked: Collection[str] = (),
    neutral: Mapping[str, float] | None = None,
    n_labels: int = 40,
    interactive: bool = False,
    size: tuple[int, int] = (620, 480),
    title: str = "",
) -> Any:
    """Return a scatter plot of two axes; the words furthest from the middle are labelled without overlap.

    Parameters
    ----------
    rows
        Mappings with ``word`` and a coordinate under the name of each axis. A ``NAME rank`` is shown on hovering, if
        present.
    axes
        The names of the horizontal and the vertical axis.
    titles
        Titles of the axes (default: their names).
    color
        The name of a third axis that colours the words: one colour for each end, grey in between. The scale ends at the
        2nd and the 98th percentile, so that single words do not dominate it.
    ends
        By the name of an axis, the meaning of its low and its high end; written at the two ends.
    marked
        Words to highlight with a ring and a bold label, before all others.
    neutral
        By the name of an axis, the score that belongs to neither end: a dashed line, and grey if the axis is the
        colour. Without it there is no line, and grey is the middle of the range.
    n_labels
        Number of other words to label if there is room.
    interactive
        Whether the chart fills the width of its page, zooms with Ctrl and the wheel, moves by dragging, and resets on a
        double click. For a page, not for print.
    size
        Width and height in pixels.
    title
        Title above the chart.
    """
    meanings, neutral_scores = ends or {}, neutral or {}
    points = _points(checked_rows(rows, "word", *axes, *([] if color is None else [color])), axes, color)
    standing_out = set(marked)
    first = [number for number, point in enumerate(points) if point["word"] in standing_out]
    outer = [number for number in _outermost(points) if points[number]["word"] not in standing_out]
    across, up = _coordinates(points, axes, titles)
    middles = {
        channel: neutral_scores[axis] for channel, axis in zip("xy", axes, strict=True) if axis in neutral_scores
    }
    scatter = word_scatter(
        points,
        labelled=[*first, *outer[:n_labels]],
        x=across,
        y=up,
        size=size,
        mark={"size": _dot_size(len(points)), "color": BLUE, "filled": True, "opacity": 0.9 if color else 0.55},
        encoding={"tooltip": _tooltip(points, axes, color)}
        | _shades(points, color or "", meanings.get(color or ""), neutral_scores.get(color or "")),
        marked=first,
        zoom=interactive,
        any_width=interactive,
        titled="".join(channel for channel, axis in zip("xy", axes, strict=True) if axis not in meanings),
        borders=[_border(channel, at) for channel, at in middles.items()],
    )
    layers = [*dashed_lines(middles), scatter, *_meanings(meanings, axes, titles or axes)]
    return styled(altair().layer(*layers), title=title, alt=_in_words(points, axes, color), any_width=interactive)


def _border(channel: str, at: float) -> Line:
    """Return the line across the chart at a value of x or y."""
    return ((at, 0.0), (at, 1.0)) if channel == "x" else ((0.0, at), (1.0, at))


def _coordinates(
    points: Sequence[Record], axes: tuple[str, str], titles: tuple[str, str] | None
) -> tuple[Coordinate, Coordinate]:
    """Return the two coordinates of the map; an axis with an empty title uses its name."""
    across, up = (title or axis for title, axis in zip(titles or axes, axes, strict=True))
    return (
        Coordinate(ACROSS, across, padded_domain([point[ACROSS] for point in points], share=0.1)),
        Coordinate(UP, up, padded_domain([point[UP] for point in points])),
    )


def _meanings(meanings: Mapping[str, tuple[str, str]], axes: tuple[str, str], titles: tuple[str, str]) -> list[Any]:
    """Return the meanings of the ends of both axes, written at their ends."""
    marks = []
    for channel, axis, name in zip("xy", axes, titles, strict=True):
        marks += written_ends(meanings[axis], channel, name) if axis in meanings else []
    return marks


def _in_words(points: Sequence[Record], axes: tuple[str, str], color: str | None) -> str:
    """Return a description of a map for screen readers."""
    coloured = f", coloured by {color}" if color else ""
    return f"{len(points):,} words by {axes[0]} (across) and {axes[1]} (up){coloured}"


def _dot_size(count: int) -> int:
    return 36 if count <= 500 else 22 if count <= 2500 else 12


def _points(rows: Sequence[Record], axes: tuple[str, str], color: str | None) -> list[dict[str, Any]]:
    """Return only the keys that are drawn, under names that a chart does not parse as syntax."""
    keys = dict(zip((ACROSS, UP, SHADE), (*axes, color), strict=True))
    keys |= {f"{name}_rank": f"{axis} rank" for name, axis in keys.items()}
    key_of = {name: key for name, key in keys.items() if key is not None and key in rows[0]}
    return [{"word": row["word"], **{name: row[key] for name, key in key_of.items()}} for row in rows]


def _outermost(rows: Sequence[Record]) -> list[int]:
    """Return the row numbers, outermost first; each further word in the same direction counts less."""
    at = np.array([[row[ACROSS], row[UP]] for row in rows], dtype=np.float64)
    at -= at.mean(axis=0)
    spread = at.std(axis=0)
    at /= np.where(spread > 0, spread, 1.0)
    distance = np.hypot(*at.T)
    side = np.floor((np.arctan2(at[:, 1], at[:, 0]) / (2 * np.pi) + 0.5) * _SIDES).astype(np.int64)
    order = np.lexsort([-distance, side])
    before = np.arange(len(order)) - np.searchsorted(
        side[order], side[order]
    )  # number of words of the same direction that come before it
    ranking: list[int] = order[np.argsort(-distance[order] * _FADING**before, kind="stable")].tolist()
    return ranking


def _tooltip(rows: Sequence[Record], axes: tuple[str, str], color: str | None) -> list[Any]:
    """Return the tooltip: the word, and its coordinate and rank on each axis."""
    alt = altair()
    tooltips = [alt.Tooltip("word:N", title="word")]
    for name, axis in zip((ACROSS, UP, SHADE), (*axes, color), strict=True):
        title = tooltip_title(f"“{axis}”")  # in quotes: as bare titles, “image” or “constructor” have a special meaning
        if name in rows[0]:
            tooltips.append(alt.Tooltip(f"{name}:Q", title=title, format=CHART_NUMBER))
        if f"{name}_rank" in rows[0]:
            tooltips.append(alt.Tooltip(f"{name}_rank:Q", title=f"{title}, rank", format=CHART_COUNT))
    return tooltips


def _shades(
    rows: Sequence[Record], name: str, ends: tuple[str, str] | None, neutral: float | None = None
) -> dict[str, Any]:
    """Return the colours of the third axis: two hues safe for colour-blind readers, and grey between.

    Grey is the neutral score if it is known, else the middle of the range.
    """
    if SHADE not in rows[0]:
        return {}
    alt = altair()
    low, high = np.percentile([row[SHADE] for row in rows], [2, 98]).tolist()
    low, high = (low, high) if low < high else (low - 1, high + 1)
    if neutral is not None:
        far = max(abs(low - neutral), abs(high - neutral))
        low, high = neutral - far, neutral + far
    colors = [alt.expr(on_ground(*pair)) for pair in SHADES]
    scale = alt.Scale(domain=[low, (low + high) / 2, high], range=colors, interpolate="lab", clamp=True)
    marks = [low, (low + high) / 2, high]
    label = "datum.label" if ends is None else (
        f"datum.index == 0 ? {json.dumps('← ' + ends[0])} : datum.index == 1 ? {json.dumps(ends[1] + ' →')} : "
        "datum.label"
    )  # fmt: skip
    legend = alt.Legend(
        title=" ".join(name.split())[:60], orient="top", direction="horizontal", titleLimit=300, format=CHART_NUMBER,
        gradientLength=alt.expr("min(width - 20, 320)"), values=marks if ends is None else [low, high],
        labelExpr=label, labelLimit=150,
    )  # fmt: skip
    return {"color": alt.Color(f"{SHADE}:Q", scale=scale, legend=legend)}
