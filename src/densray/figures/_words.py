"""Charts of words: ranked along an axis, moved from one space to another, on a map."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from densray.errors import DataError
from densray.figures._scatter import few_ticks, padded_domain, word_scatter
from densray.figures._style import (
    ACROSS,
    BLUE,
    GREY,
    INK,
    UP,
    VERMILLION,
    Row,
    altair,
    checked_rows,
    equality_line,
    ink,
    on_ground,
    shown_on_hover,
    styled,
    tooltip_title,
    values,
    word_order,
    written_ends,
    zero_lines,
)
from densray.report import CHART_COUNT, CHART_NUMBER

_SIZE = (460, 460)


def agreement_scatter(
    rows: Sequence[Row], *, methods: tuple[str, str], n_labels: int = 24, fluid: bool = False, title: str = ""
) -> Any:
    """Return words by their standardised scores of two methods, and the line where these are equal.

    Parameters
    ----------
    rows
        Mappings with ``word``, and ``first`` and ``second``: the scores of the two methods.
    methods
        Their names, on the horizontal and the vertical axis.
    n_labels
        How many words are labelled: those furthest from the line, half on either side.
    fluid
        Whether the chart may be drawn at any width; its labels are placed for several.
    title
        Shown above.
    """
    rows = checked_rows(rows, "word", "first", "second")
    domain = padded_domain([row[key] for row in rows for key in ("first", "second")])
    scatter = word_scatter(
        rows,
        labelled=furthest_from_equality(rows, "first", "second", n_labels),
        x=("first", f"{methods[0]} (standardised score)", domain),
        y=("second", f"{methods[1]} (standardised score)", domain),
        size=_SIZE,
        mark={"size": 14, "color": BLUE, "filled": True, "opacity": 0.45},
        fluid=fluid,
    )
    said = f"{len(rows):,} words by their scores of {methods[0]} (across) and {methods[1]} (up)"
    return styled(equality_line(domain) + scatter, title=title, alt=said, fluid=fluid)


def furthest_from_equality(rows: Sequence[Row], first: str, second: str, count: int) -> list[int]:
    """Return the numbers of the words furthest from the line, alternating between its two sides."""
    ordered = sorted(range(len(rows)), key=lambda number: float(rows[number][first] - rows[number][second]))
    half = min(count // 2, len(ordered) // 2)
    return [number for pair in zip(ordered[:half], ordered[::-1][:half], strict=True) for number in pair]


#: The third coordinate, drawn as a colour, and its colours from low to high: grey where it is neither.
SHADE, SHADES = "shade", [(VERMILLION, "#FF9A57"), ("#A3A3A3", "#7A7A7A"), (BLUE, "#5BB6EE")]
#: Words are labelled on all sides: by how much less each further one of a side counts.
_SIDES, _FADING = 16, 0.93
#: Begins the headings between words, which no word of a space does.
_HEADING = "\u2060"


def ranked_words(
    rows: Any,
    *,
    n_words: int = 15,
    axis: str = "score on the axis",
    own: Sequence[Row] = (),
    neutral: float = 0.0,
    title: str = "",
) -> Any:
    """Return the words at both ends of an axis, ranked, each with its score.

    Parameters
    ----------
    rows
        What :func:`densray.induce` returned, a pandas or polars frame, or mappings, with ``word`` and ``score``; where
        all have a ``standard_error`` too, bars of two of them are drawn.
    n_words
        How many words are shown from each end.
    axis
        Names the horizontal axis.
    own
        Further words to be shown between the ends, of the same form as `rows`.
    neutral
        The score that belongs to neither end; the lines of the words begin there.
    title
        Shown above.
    """
    if hasattr(rows, "with_ends"):  # an induced lexicon: a large vocabulary is not turned into rows for its ends
        ends = rows.with_ends(n_words)
        rows = list({row["word"]: row for row in (*ends.highest, *ends.lowest)}.values())
    ordered = _by_score(checked_rows(rows, "word", "score"))
    count = min(n_words, len(ordered) // 2) or 1
    mine = _by_score(checked_rows(own, "word", "score")) if own else []
    groups = {"highest": ordered[:count], "my words": mine, "lowest": ordered[count:][-count:]}
    drawn = _in_groups(groups, axis, neutral, ("score", "standard_error", "rank", "probability"))
    return styled(drawn, title=title, alt=f"Words ranked by {axis}. {_said(groups)}")


def moved_words(rows: Any, *, n_words: int = 12, own: Sequence[Row] = (), title: str = "") -> Any:
    """Return the words that moved most along an axis from one space to another: the change of each, with bars.

    Parameters
    ----------
    rows
        What :func:`densray.axes.compare_spaces` returned, or mappings with ``word``, ``difference`` (of the
        standardised scores), its joint standard error ``error``, and ``first`` and ``second``, the scores themselves.
    n_words
        How many words are shown either way, at most.
    own
        Further words to be shown between, of the same form as `rows`.
    title
        Shown above.
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
    return styled(_in_groups(groups, axis, 0.0, keys), title=title, alt=f"Words by the {axis}. {_said(groups)}")


def _said(groups: Mapping[str, Sequence[Row]]) -> str:
    """Return the first words of each group, for those who cannot see them."""
    return "; ".join(f"{group}: {', '.join(row['word'] for row in part[:5])}" for group, part in groups.items() if part)


#: Of the groups from the top: what is high, one's own words, what is low.
_SHAPES = ("triangle-right", "diamond", "triangle-left")


def _in_groups(groups: Mapping[str, Sequence[Row]], axis: str, neutral: float, keys: Sequence[str]) -> Any:
    """Return words under the headings of their groups (three, some of which may be empty), each with its number.

    `keys` are those of the number and of its standard error, and of what else is shown on hovering. Bars of two
    standard errors are drawn where all rows have one.
    """
    number, error, *_ = keys
    alt = altair()
    names = list(groups)
    shown = [{**row, "group": group} for group, part in groups.items() for row in part]
    shown = list({row["word"]: row for row in shown}.values())
    with_errors = all(row.get(error) is not None for row in shown)
    for row in shown:
        width = 2 * row[error] if with_errors else 0.0
        row |= {"least": row[number] - width, "most": row[number] + width}
    lines = [
        line
        for group in names
        if groups[group]
        for line in (f"{_HEADING}{group}", *(row["word"] for row in shown if row["group"] == group))
    ]
    if not shown:
        raise DataError("There is nothing to draw: no word is in any group.")
    domain = list(padded_domain([neutral, *(row[end] for row in shown for end in ("least", "most"))], share=0.04))
    colors = alt.Scale(domain=names, range=[BLUE, alt.expr(on_ground(INK, "#E8E6E3")), VERMILLION])
    looks = {
        "color": alt.Color("group:N", legend=None, scale=colors),
        "shape": alt.Shape("group:N", legend=None, scale=alt.Scale(domain=names, range=list(_SHAPES))),
    }
    base = alt.Chart(values(shown)).encode(
        y=alt.Y("word:N", **word_order(lines), title=None, axis=_word_axis()),
        tooltip=shown_on_hover(shown, "word", *keys),
    )
    look = {"scale": alt.Scale(domain=domain, nice=False), "title": axis.split("; "),
            "axis": alt.Axis(tickCount=few_ticks("width", 70))}  # fmt: skip
    across, least = (alt.X(f"{key}:Q", **look) for key in (number, "least"))
    stems = base.mark_rule(opacity=0.5).encode(x=across, x2=alt.datum(neutral), color=looks["color"])
    heads = base.mark_point(filled=True, size=70, opacity=1).encode(x=across, **looks)
    bars = base.mark_rule(color=ink(), strokeWidth=1.2).encode(x=least, x2="most:Q")
    middle = alt.Chart(values([{}])).mark_rule(color=GREY, strokeDash=[4, 4]).encode(x=alt.datum(neutral))
    layers = [middle, stems, *([bars] if with_errors else []), heads]
    return alt.layer(*layers).properties(width=460, height=19 * len(lines))


def _by_score(rows: list[dict[str, Any]], key: str = "score") -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (-float(row[key]), row["word"]))


def _word_axis() -> Any:
    """Return an axis of words, headings in bold."""
    alt = altair()
    weight = alt.condition(f"indexof(datum.value, '{_HEADING}') == 0", alt.value("bold"), alt.value("normal"))
    return alt.Axis(ticks=False, domain=False, labelLimit=180, labelFontWeight=weight)


def axis_scatter(
    rows: Sequence[Row],
    *,
    axes: tuple[str, str] = ("x", "y"),
    titles: tuple[str, str] | None = None,
    color: str | None = None,
    ends: Mapping[str, tuple[str, str]] | None = None,
    marked: Collection[str] = (),
    n_labels: int = 40,
    interactive: bool = False,
    fluid: bool = False,
    size: tuple[int, int] = (620, 480),
    title: str = "",
) -> Any:
    """Return two axes against each other; the words furthest from the middle are labelled, none over another.

    Parameters
    ----------
    rows
        Mappings with ``word`` and a coordinate under the name of each axis; where they have a ``NAME rank`` too, it is
        shown on hovering.
    axes
        The names of the horizontal and the vertical axis.
    titles
        What to write along them; their names where it is not given.
    color
        The name of a third axis that colours the words: one colour for each side, grey where it is neither. The scale
        ends at the 2nd and the 98th percentile, so that single words do not wash out the rest.
    ends
        By the name of an axis, what its low and its high end mean; written at the two ends.
    marked
        Words that stand out: a ring and a bold label, before all others.
    n_labels
        How many other words are labelled where there is room.
    interactive
        Whether Ctrl and the wheel zoom in and dragging moves the chart, double click brings it back; zoomed in, more
        words are labelled. For the page, not for print.
    fluid
        Whether the chart may be drawn at any width; its labels are placed for several.
    size
        Width and height in pixels.
    title
        Shown above.
    """
    first, second = axes
    across, up = titles or axes
    meant = ends or {}
    shown = _lean(checked_rows(rows, "word", *axes, *([] if color is None else [color])), axes, color)
    picked = set(marked)
    chosen = [number for number, row in enumerate(shown) if row["word"] in picked]
    scatter = word_scatter(
        shown,
        labelled=[*chosen, *(each for each in _outermost(shown) if each not in set(chosen))][: n_labels + len(chosen)],
        x=(ACROSS, across or first, padded_domain([row[ACROSS] for row in shown], share=0.1)),
        y=(UP, up or second, padded_domain([row[UP] for row in shown])),
        size=size,
        mark={"size": _dot_size(len(shown)), "color": BLUE, "filled": True, "opacity": 0.55 if color is None else 0.9},
        encoding={
            "tooltip": _tooltip(shown, first, second, color),
            **_shades(shown, color or "", meant.get(color or "")),
        },
        marked=chosen,
        zoom=interactive,
        fluid=fluid,
        titled="".join(channel for channel, axis in (("x", first), ("y", second)) if axis not in meant),
    )
    said = f"{len(shown):,} words by {first} (across) and {second} (up)" + (f", coloured by {color}" if color else "")
    written = [
        mark
        for axis, channel, name in ((first, "x", across), (second, "y", up))
        if axis in meant
        for mark in written_ends(meant[axis], channel, name)
    ]
    return styled(altair().layer(*zero_lines(), scatter, *written), title=title, alt=said, fluid=fluid)


def _dot_size(count: int) -> int:
    return 36 if count <= 500 else 22 if count <= 2500 else 12


def _lean(rows: Sequence[Row], axes: tuple[str, str], color: str | None) -> list[dict[str, Any]]:
    """Return what is drawn and no more, under names without syntax."""
    keys = dict(zip((ACROSS, UP, SHADE), (*axes, color), strict=True))
    keys |= {f"{name}_rank": f"{axis} rank" for name, axis in keys.items()}
    known = {name: key for name, key in keys.items() if key is not None and key in rows[0]}
    return [{"word": row["word"], **{name: row[key] for name, key in known.items()}} for row in rows]


def _outermost(rows: Sequence[Row]) -> list[int]:
    """Return the numbers of the rows, the furthest out first; a word counts less after others of its side."""
    at = np.array([[row[ACROSS], row[UP]] for row in rows], dtype=np.float64)
    at -= at.mean(axis=0)
    spread = at.std(axis=0)
    at /= np.where(spread > 0, spread, 1.0)
    distance = np.hypot(*at.T)
    side = np.floor((np.arctan2(at[:, 1], at[:, 0]) / (2 * np.pi) + 0.5) * _SIDES).astype(np.int64)
    order = np.lexsort([-distance, side])
    before = np.arange(len(order)) - np.searchsorted(side[order], side[order])  # how many of its side come before it
    found: list[int] = order[np.argsort(-distance[order] * _FADING**before, kind="stable")].tolist()
    return found


def _tooltip(rows: Sequence[Row], first: str, second: str, color: str | None) -> list[Any]:
    alt = altair()
    shown = [alt.Tooltip("word:N", title="word")]
    for name, axis in ((ACROSS, first), (UP, second), (SHADE, color)):
        title = tooltip_title(f"“{axis}”")  # in quotes: as a bare title, “image” or “constructor” would be a command
        if name in rows[0]:
            shown.append(alt.Tooltip(f"{name}:Q", title=title, format=CHART_NUMBER))
        if f"{name}_rank" in rows[0]:
            shown.append(alt.Tooltip(f"{name}_rank:Q", title=f"{title}, rank", format=CHART_COUNT))
    return shown


def _shades(rows: Sequence[Row], name: str, ends: tuple[str, str] | None) -> dict[str, Any]:
    """Return the colours of the third axis: two hues that all eyes tell apart, and grey in the middle."""
    if SHADE not in rows[0]:
        return {}
    alt = altair()
    low, high = np.percentile([row[SHADE] for row in rows], [2, 98]).tolist()
    # an axis with words on both sides of 0 is grey there; one to one side of it, in its own middle
    far = max(-low, high)
    low, high = (-far, far) if low < 0 < high else (low, high) if low < high else (low - 1, high + 1)
    colors = [alt.expr(on_ground(*pair)) for pair in SHADES]
    scale = alt.Scale(domain=[low, (low + high) / 2, high], range=colors, interpolate="lab", clamp=True)
    marks = [low, (low + high) / 2, high]
    named = "datum.label" if ends is None else (
        f"datum.index == 0 ? {json.dumps('← ' + ends[0])} : datum.index == 1 ? {json.dumps(ends[1] + ' →')} : "
        "datum.label"
    )  # fmt: skip
    legend = alt.Legend(
        title=" ".join(name.split())[:60], orient="top", direction="horizontal", titleLimit=300, format=CHART_NUMBER,
        gradientLength=alt.expr("min(width - 20, 320)"), values=marks if ends is None else [low, high],
        labelExpr=named, labelLimit=150,
    )  # fmt: skip
    return {"color": alt.Color(f"{SHADE}:Q", scale=scale, legend=legend)}
