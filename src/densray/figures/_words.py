"""Charts of words: ranked along an axis, on a map, as a histogram."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray.errors import DataError
from densray.figures._scatter import few_ticks, padded_domain, word_scatter
from densray.figures._style import (
    ACROSS,
    BLUE,
    GREY,
    GROUND,
    INK,
    UP,
    VERMILLION,
    Row,
    altair,
    checked_rows,
    equality_line,
    ink,
    on_ground,
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
    alt = altair()
    if hasattr(rows, "with_ends"):  # an induced lexicon: a large vocabulary is not turned into rows for its ends
        ends = rows.with_ends(n_words)
        rows = list({row["word"]: row for row in (*ends.highest, *ends.lowest)}.values())
    ordered = _by_score(checked_rows(rows, "word", "score"))
    count = min(n_words, len(ordered) // 2) or 1
    groups = {"highest": ordered[:count], "lowest": ordered[count:][-count:]}
    if own:
        groups = {"highest": groups["highest"], "my words": _by_score(checked_rows(own, "word", "score")),
                  "lowest": groups["lowest"]}  # fmt: skip
    shown = [{**row, "group": group} for group, part in groups.items() for row in part]
    shown = list({row["word"]: row for row in shown}.values())
    with_errors = all(row.get("standard_error") is not None for row in shown)
    for row in shown:
        width = 2 * row["standard_error"] if with_errors else 0.0
        row |= {"least": row["score"] - width, "most": row["score"] + width}
    lines = [
        line for group in groups for line in (f"{_HEADING}{group}", *(r["word"] for r in shown if r["group"] == group))
    ]
    domain = list(padded_domain([neutral, *(row[end] for row in shown for end in ("least", "most"))], share=0.04))
    scale = alt.Scale(domain=domain, nice=False)
    names = ["highest", "my words", "lowest"]
    looks = {
        "color": alt.Color("group:N", legend=None, scale=alt.Scale(
            domain=names, range=[BLUE, alt.expr(on_ground(INK, "#E8E6E3")), VERMILLION])),
        "shape": alt.Shape("group:N", legend=None, scale=alt.Scale(
            domain=names, range=["triangle-right", "diamond", "triangle-left"])),
    }  # fmt: skip
    base = alt.Chart(values(shown)).encode(
        y=alt.Y("word:N", **word_order(lines), title=None, axis=_word_axis(headings=True)),
        tooltip=_tooltip_of(shown, "word", "score", "standard_error", "rank", "probability"),
    )
    look = {"scale": scale, "title": axis.split("; "), "axis": alt.Axis(tickCount=few_ticks("width", 70))}
    across, least = (alt.X(f"{key}:Q", **look) for key in ("score", "least"))
    stems = base.mark_rule(opacity=0.5).encode(x=across, x2=alt.datum(neutral), color=looks["color"])
    heads = base.mark_point(filled=True, size=70, opacity=1).encode(x=across, **looks)
    bars = base.mark_rule(color=ink(), strokeWidth=1.2).encode(x=least, x2="most:Q")
    middle = alt.Chart(values([{}])).mark_rule(color=GREY, strokeDash=[4, 4]).encode(x=alt.datum(neutral))
    chart = alt.layer(middle, stems, *([bars] if with_errors else []), heads)
    said = "; ".join(f"{group}: {', '.join(row['word'] for row in part[:5])}" for group, part in groups.items() if part)
    return styled(
        chart.properties(width=460, height=19 * len(lines)), title=title, alt=f"Words ranked by {axis}. {said}"
    )


def _by_score(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (-float(row["score"]), row["word"]))


def _word_axis(*, headings: bool = False) -> Any:
    """Return an axis of words, with headings in bold where some begin so."""
    alt = altair()
    bold = {"labelFontWeight": alt.condition(f"indexof(datum.value, '{_HEADING}') == 0", alt.value("bold"),
                                             alt.value("normal"))} if headings else {}  # fmt: skip
    return alt.Axis(ticks=False, domain=False, labelLimit=180, **bold)


#: How the numbers of a tooltip are written.
_FORMATS = {"rank": ",", "count": ",", "label": "~g"}


def _tooltip_of(rows: Sequence[Row], *keys: str) -> list[Any]:
    """Return what is shown on hovering: those of the keys that the rows have, numbers to three decimals."""
    alt = altair()
    known = [key for key in keys if all(row.get(key) is not None for row in rows)]
    return [
        alt.Tooltip(f"{key}:N" if key in ("word", "group") else f"{key}:Q", title=key.replace("_", " "),
                    **({} if key in ("word", "group") else {"format": _FORMATS.get(key, ".3f")}))
        for key in known
    ]  # fmt: skip


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


Scores = NDArray[np.float64]

_WIDTH = 420
#: Pixels: of the two parts of a histogram, between them, and of a line of marked words.
_UPPER, _LOWER, _BETWEEN, _LINE = 150, 80, 14, 14


def score_histogram(
    vocabulary: Any,
    seeds: Mapping[str, ArrayLike] | None = None,
    *,
    marked: Sequence[Row] = (),
    n_bins: int = 60,
    axis: str = "score on the axis",
    title: str = "",
) -> Any:
    """Return how many words score what: the vocabulary above, the seeds below on the same axis.

    Parameters
    ----------
    vocabulary
        The scores of all words, or what :func:`densray.induce` returned.
    seeds
        Scores by the name of the group, at most two groups: the higher, then the lower.
    marked
        Words to be pointed out: mappings with ``word`` and ``score``.
    n_bins
        How many bins the range of all scores is cut into.
    axis
        Names the horizontal axis.
    title
        Shown above.
    """
    scores = getattr(vocabulary, "scores", vocabulary)
    words = np.asarray(getattr(scores, "score", scores), dtype=np.float64)
    if not words.size:
        raise DataError("There is nothing to draw: the vocabulary has no score.")
    named = {name: np.asarray(scores, dtype=np.float64) for name, scores in (seeds or {}).items()}
    groups = {name: scores for name, scores in named.items() if scores.size}
    pointed = checked_rows(marked, "word", "score") if marked else []
    own = np.array([row["score"] for row in pointed], dtype=np.float64)
    edges = np.histogram_bin_edges(np.concatenate([words, own, *groups.values()]), bins=n_bins)
    alt = altair()
    across = alt.X("from:Q", title=axis, bin="binned", scale=alt.Scale(domain=edges[[0, -1]].tolist(), nice=False),
                   axis=alt.Axis(grid=False, tickCount=few_ticks("width", 70)))  # fmt: skip
    top = _LINE * len(pointed)
    upper = _bars(_counted({"vocabulary": words}, edges), "words", across, top, top + _UPPER).encode(
        color=alt.value(GREY)
    )
    bottom = top + _UPPER + (_BETWEEN + _LOWER if groups else 0)
    layers = [upper]
    if groups:
        colors = alt.Scale(domain=list(groups), range=[BLUE, VERMILLION][: len(groups)])
        legend = alt.Legend(title=None, orient="bottom", columns=1, labelLimit=300)
        lower = _bars(_counted(groups, edges), "seeds", across, bottom - _LOWER, bottom)
        layers.append(lower.encode(color=alt.Color("group:N", scale=colors, legend=legend)))
    layers += _pointers(pointed, edges[[0, -1]].tolist(), bottom)
    said = f"Histogram of {axis}: {words.size:,} words" + "".join(
        f", {len(each):,} {name}" for name, each in groups.items()
    )
    chart = alt.layer(*layers).resolve_scale(y="independent", color="independent")
    return styled(chart.properties(width=_WIDTH, height=bottom), title=title, alt=said)


def _counted(groups: Mapping[str, Scores], edges: Scores) -> list[dict[str, Any]]:
    return [
        {"group": name, "from": float(low), "to": float(high), "count": int(count)}
        for name, scores in groups.items()
        for low, high, count in zip(edges, edges[1:], np.histogram(scores, bins=edges)[0], strict=False)
        if count
    ]


def _bars(rows: list[dict[str, Any]], noun: str, across: Any, top: int, bottom: int) -> Any:
    """Return bars with their edges where the bins have them, between two heights of the chart."""
    alt = altair()
    most = max(row["count"] for row in rows)
    return (
        alt.Chart(values(rows))
        .mark_bar(stroke=alt.expr(GROUND), strokeWidth=0.3)
        .encode(
            x=across,
            x2="to:Q",
            y=alt.Y("count:Q", title=noun, scale=alt.Scale(domain=[0, most], range=[bottom, top], nice=False),
                    axis=alt.Axis(values=_whole_ticks(most), format=CHART_COUNT, orient="left", grid=False)),
            tooltip=_tooltip_of(rows, "group", "from", "to", "count"),
        )
    )  # fmt: skip


def _whole_ticks(most: int) -> list[int]:
    """Return a few whole numbers from 0 up to a count.

    >>> _whole_ticks(3), _whole_ticks(1234)
    ([0, 1, 2, 3], [0, 500, 1000])
    """
    step = next(step for power in range(12) for step in (10**power, 2 * 10**power, 5 * 10**power) if most < 4 * step)
    return list(range(0, most + 1, step))


def _pointers(rows: Sequence[Row], domain: Sequence[float], bottom: int) -> list[Any]:
    """Return a line for each word at its score, with the word on a line of its own above."""
    if not rows:
        return []
    alt = altair()
    middle = (domain[0] + domain[1]) / 2
    ordered = sorted(
        rows, key=lambda row: abs(float(row["score"]) - middle)
    )  # words stand outwards: no line runs through
    lines = [{**row, "line": _LINE * place + 7, "is_right": row["score"] > middle} for place, row in enumerate(ordered)]
    height = alt.Scale(domain=[0, bottom], range=[0, bottom], nice=False)
    base = alt.Chart(values(lines)).encode(x=alt.X("score:Q"), tooltip=_tooltip_of(rows, "word", "score", "rank"))
    up = alt.Y("line:Q", scale=height, axis=None)
    rules = base.mark_rule(color=ink(), strokeWidth=1.4).encode(y=up, y2=alt.datum(bottom))
    look = {"baseline": "middle", "fontSize": 12, "fontWeight": "bold", "color": ink()}
    texts = [
        base.transform_filter(f"{'' if is_right else '!'}datum.is_right")
        .mark_text(align="left" if is_right else "right", dx=5 if is_right else -5, **look)
        .encode(y=up, text="word:N")
        for is_right in (True, False)
    ]
    return [alt.layer(rules, *texts)]
