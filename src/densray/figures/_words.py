"""Charts of words: ranked along an axis, on a map, as a histogram."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray.errors import DataError
from densray.figures._scatter import ACROSS, UP, padded_domain, word_scatter
from densray.figures._style import (
    BLUE,
    GREY,
    INK,
    VERMILLION,
    Row,
    altair,
    checked_rows,
    styled,
    tooltip_title,
    values,
    word_order,
)

_SIZE = (460, 460)


def agreement_scatter(rows: Sequence[Row], *, methods: tuple[str, str], n_labels: int = 24, title: str = "") -> Any:
    """Return words by their standardised scores of two methods, and the line where these are equal.

    Parameters
    ----------
    rows
        Mappings with ``word``, and ``first`` and ``second``: the scores of the two methods.
    methods
        Their names, on the horizontal and the vertical axis.
    n_labels
        How many words are labelled: those furthest from the line, half on either side.
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
    )
    return styled(equality_line(domain) + scatter, title=title)


def furthest_from_equality(rows: Sequence[Row], first: str, second: str, count: int) -> list[int]:
    """Return the numbers of the words furthest from the line, alternating between its two sides."""
    ordered = sorted(range(len(rows)), key=lambda number: float(rows[number][first] - rows[number][second]))
    half = min(count // 2, len(ordered) // 2)
    return [number for pair in zip(ordered[:half], ordered[::-1][:half], strict=True) for number in pair]


def equality_line(domain: tuple[float, float]) -> Any:
    """Return the dashed line where both coordinates are equal."""
    line = altair().Chart(values([{ACROSS: end, UP: end} for end in domain]))
    return line.mark_line(color=GREY, strokeDash=[5, 4], strokeWidth=1).encode(x=f"{ACROSS}:Q", y=f"{UP}:Q")


#: The third coordinate, drawn as a colour, and its colours from low to high.
SHADE, SHADES = "shade", ["#B3D3E8", "#56A3CF", BLUE, "#00304D"]
#: Words are labelled on all sides: by how much less each further one of a side counts.
_SIDES, _FADING = 16, 0.93


def ranked_words(rows: Any, *, n_words: int = 15, axis: str = "score on the axis", title: str = "") -> Any:
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
    title
        Shown above.
    """
    alt = altair()
    if hasattr(rows, "with_ends"):  # an induced lexicon: a large vocabulary is not turned into rows for its ends
        ends = rows.with_ends(n_words)
        rows = list({row["word"]: row for row in (*ends.highest, *ends.lowest)}.values())
    ordered = sorted(checked_rows(rows, "word", "score"), key=lambda row: (-float(row["score"]), row["word"]))
    count = min(n_words, len(ordered) // 2) or 1
    shown = [*ordered[:count], *ordered[-count:]]
    with_errors = all(row.get("standard_error") is not None for row in shown)
    for row in shown:
        width = 2 * row["standard_error"] if with_errors else 0.0
        row |= {"least": row["score"] - width, "most": row["score"] + width}
    domain = list(padded_domain([0.0, *(row[end] for row in shown for end in ("least", "most"))]))

    def panel(part: list[dict[str, Any]], name: str, color: str, shape: str, *, last: bool) -> Any:
        words = [row["word"] for row in part]
        look: dict[str, Any] = {"title": axis if last else None, "axis": alt.Axis(labels=last, ticks=last)}
        across, least = (alt.X(f"{key}:Q", scale=alt.Scale(domain=domain, nice=False), **look)
                         for key in ("score", "least"))  # fmt: skip
        base = alt.Chart(values(part), title=name).encode(
            y=alt.Y(
                "word:N", **word_order(words), title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=240)
            ),
            tooltip=["word:N", "score:Q"],
        )
        stems = base.mark_rule(color=color, opacity=0.5).encode(x=across, x2=alt.datum(0))
        heads = base.mark_point(color=color, shape=shape, filled=True, size=70, opacity=1).encode(x=across)
        bars = base.mark_rule(color=INK, strokeWidth=1.2).encode(x=least, x2="most:Q")
        return (stems + bars + heads if with_errors else stems + heads).properties(width=420, height=alt.Step(19))

    upper = panel(ordered[:count], "highest", BLUE, "triangle-right", last=False)
    lower = panel(ordered[-count:], "lowest", VERMILLION, "triangle-left", last=True)
    return styled(alt.vconcat(upper, lower, spacing=12), title=title)


def axis_scatter(
    rows: Sequence[Row],
    *,
    axes: tuple[str, str] = ("x", "y"),
    titles: tuple[str, str] | None = None,
    color: str | None = None,
    color_title: str | None = None,
    marked: Collection[str] = (),
    n_labels: int = 40,
    interactive: bool = False,
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
    color, color_title
        The name of a third axis that colours the words, the higher the darker, and the title of its legend. The scale
        ends at the 2nd and the 98th percentile, so that single words do not wash out the rest.
    marked
        Words that stand out: a ring and a bold label, before all others.
    n_labels
        How many other words are labelled where there is room.
    interactive
        Whether the wheel zooms in and dragging moves the chart, double click brings it back; zoomed in, more words are
        labelled. For the page, not for print.
    size
        Width and height in pixels.
    title
        Shown above.
    """
    first, second = axes
    across, up = titles or axes
    shown = _lean(checked_rows(rows, "word", *axes, *([] if color is None else [color])), axes, color)
    picked = set(marked)
    chosen = [number for number, row in enumerate(shown) if row["word"] in picked]
    scatter = word_scatter(
        shown,
        labelled=[*chosen, *(each for each in _outermost(shown) if each not in set(chosen))][: n_labels + len(chosen)],
        x=(ACROSS, across, padded_domain([row[ACROSS] for row in shown], share=0.1)),
        y=(UP, up, padded_domain([row[UP] for row in shown])),
        size=size,
        mark={"size": _dot_size(len(shown)), "color": BLUE, "filled": True, "opacity": 0.55 if color is None else 0.9},
        encoding={"tooltip": _tooltip(shown, first, second, color), **_shades(shown, color_title or color)},
        marked=chosen,
        zoom=interactive,
    )
    return styled(altair().layer(*_zero_lines(), scatter), title=title)


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
            shown.append(alt.Tooltip(f"{name}:Q", title=title, format=".3f"))
        if f"{name}_rank" in rows[0]:
            shown.append(alt.Tooltip(f"{name}_rank:Q", title=f"{title}, rank", format=","))
    return shown


def _shades(rows: Sequence[Row], title: str | None) -> dict[str, Any]:
    """Return the colours of the third axis: one hue from pale to dark, which greys and all eyes keep in order."""
    if SHADE not in rows[0]:
        return {}
    alt = altair()
    low, high = np.percentile([row[SHADE] for row in rows], [2, 98]).tolist()
    scale = alt.Scale(
        domain=[low, high] if low < high else [low - 1, high + 1], range=SHADES, interpolate="lab", clamp=True
    )
    legend = alt.Legend(
        title=title, orient="top", direction="horizontal", gradientLength=320, titleLimit=600, format=".2f"
    )
    return {"color": alt.Color(f"{SHADE}:Q", scale=scale, legend=legend)}


def _zero_lines() -> list[Any]:
    alt = altair()
    line = alt.Chart(values([{}])).mark_rule(color=GREY, strokeDash=[4, 4], strokeWidth=0.8, clip=True)
    return [line.encode(x=alt.datum(0)), line.encode(y=alt.datum(0))]


Scores = NDArray[np.float64]

_WIDTH = 420


def score_histogram(
    vocabulary: Any,
    seeds: Mapping[str, ArrayLike] | None = None,
    *,
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
    edges = np.histogram_bin_edges(np.concatenate([words, *groups.values()]), bins=n_bins)
    alt = altair()
    domain = [float(edges[0]), float(edges[-1])]
    counted = _counted({"vocabulary": words}, edges)
    upper = _bars(counted, "words", 150, domain, axis=None if groups else axis).encode(color=alt.value(GREY))
    if not groups:
        return styled(upper, title=title)
    colors = alt.Scale(domain=list(groups), range=[BLUE, VERMILLION][: len(groups)])
    lower = _bars(_counted(groups, edges), "seeds", 80, domain, axis=axis).encode(
        color=alt.Color("group:N", scale=colors, legend=alt.Legend(title=None, orient="bottom"))
    )
    return styled(alt.vconcat(upper, lower, spacing=6).resolve_scale(color="independent"), title=title)


def _counted(groups: Mapping[str, Scores], edges: Scores) -> list[dict[str, Any]]:
    return [
        {"group": name, "from": float(low), "to": float(high), "count": int(count)}
        for name, scores in groups.items()
        for low, high, count in zip(edges, edges[1:], np.histogram(scores, bins=edges)[0], strict=False)
        if count
    ]


def _bars(rows: list[dict[str, Any]], noun: str, height: int, domain: list[float], *, axis: str | None) -> Any:
    """Return bars with their edges where the bins have them, over a given range."""
    alt = altair()
    return (
        alt.Chart(values(rows))
        .mark_bar(stroke="white", strokeWidth=0.3)
        .encode(
            x=alt.X("from:Q", title=axis, bin="binned", scale=alt.Scale(domain=domain, nice=False),
                    axis=alt.Axis(labels=axis is not None, ticks=axis is not None, grid=False)),
            x2="to:Q",
            y=alt.Y("count:Q", title=noun, axis=alt.Axis(tickCount=4, format="~s")),
            tooltip=["group:N", alt.Tooltip("from:Q", format=".3f"), alt.Tooltip("to:Q", format=".3f"), "count:Q"],
        )
        .properties(width=_WIDTH, height=height)
    )  # fmt: skip
