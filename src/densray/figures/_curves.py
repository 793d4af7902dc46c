"""Charts of numbers: histograms of scores, eigenvalues, curves over lexicon sizes and layers, a Pareto front."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray.errors import DataError
from densray.figures._labels import text_width
from densray.figures._scatter import Coordinate, few_ticks, padded_domain, word_scatter
from densray.figures._style import (
    BLUE,
    GREY,
    GROUND,
    VERMILLION,
    altair,
    checked_rows,
    dashed_lines,
    group_looks,
    ink,
    method_encoding,
    method_looks,
    shown_on_hover,
    styled,
    values,
)
from densray.report import CHART_COUNT, CHART_NUMBER, Record, show_number

Scores = NDArray[np.float64]

_WIDTH = 420
#: In pixels: heights of the two parts of a histogram, their distance, and the height of a line of marked words.
_UPPER, _LOWER, _BETWEEN, _LINE = 150, 80, 14, 14
#: In pixels: font size of marked words, and width of the narrowest chart they must fit into.
_FONT, _NARROWEST = 12, 210
#: Keys of a group that is compared with all documents, and the title of that scale.
_DIFFERENCE = ("difference", "difference_low", "difference_high")
_COMPARED = "difference from all documents"
_COMPARED_LINES = ["difference from", "all documents"]
_PANEL_WIDTH = 340


def score_histogram(
    vocabulary: Any,
    seeds: Mapping[str, ArrayLike] | None = None,
    *,
    marked: Sequence[Record] = (),
    n_bins: int = 60,
    axis: str = "score on the axis",
    neutral: float | None = None,
    nouns: tuple[str, str] = ("words", "seeds"),
    title: str = "",
) -> Any:
    """Return a histogram of scores: the vocabulary above, the seeds below on the same axis.

    Parameters
    ----------
    vocabulary
        The scores of all words, or the result of :func:`densray.induce`.
    seeds
        Scores by the name of the group, at most two groups: the higher, then the lower.
    marked
        Words to point out: mappings with ``word`` and ``score``.
    n_bins
        Number of bins for the range of all scores.
    axis
        Title of the horizontal axis.
    neutral
        The score that belongs to neither end: a dashed line (default: the even odds of an induced lexicon, if they are
        known).
    nouns
        Names of the units counted above and below.
    title
        Title above the chart.
    """
    if neutral is None:
        neutral = getattr(vocabulary, "even_odds", None)
    scores = getattr(vocabulary, "scores", vocabulary)
    words = np.asarray(getattr(scores, "score", scores), dtype=np.float64)
    if not words.size:
        raise DataError("There is nothing to draw: the vocabulary has no score.")
    scores_by_name = {name: np.asarray(scores, dtype=np.float64) for name, scores in (seeds or {}).items()}
    groups = {name: scores for name, scores in scores_by_name.items() if scores.size}
    marks = checked_rows(marked, "word", "score") if marked else []
    own = np.array([row["score"] for row in marks], dtype=np.float64)
    edges = np.histogram_bin_edges(np.concatenate([words, own, *groups.values()]), bins=n_bins)
    domain = _with_room(marks, *edges[[0, -1]].tolist())
    alt = altair()
    across = alt.X("from:Q", title=axis, bin="binned", scale=alt.Scale(domain=list(domain), nice=False),
                   axis=alt.Axis(grid=False, tickCount=few_ticks("width", 70)))  # fmt: skip
    top = _LINE * len(marks)
    upper = _bars(_count_bins({"vocabulary": words}, edges), nouns[0], across, top, top + _UPPER).encode(
        color=alt.value(GREY)
    )
    bottom = top + _UPPER + (_BETWEEN + _LOWER if groups else 0)
    layers = [upper]
    if groups:
        colors = alt.Scale(domain=list(groups), range=[BLUE, VERMILLION][: len(groups)])
        legend = alt.Legend(title=None, orient="bottom", columns=1, labelLimit=300)
        lower = _bars(_count_bins(groups, edges), nouns[1], across, bottom - _LOWER, bottom)
        layers.append(lower.encode(color=alt.Color("group:N", scale=colors, legend=legend)))
    layers += dashed_lines({} if neutral is None else {"x": neutral}, color=ink())  # not the grey of the bars
    layers += _pointers(marks, domain, bottom)
    description = f"Histogram of {axis}: {words.size:,} {nouns[0]}" + "".join(
        f", {len(each):,} {name}" for name, each in groups.items()
    )
    chart = alt.layer(*layers).resolve_scale(y="independent", color="independent")
    return styled(chart.properties(width=_WIDTH, height=bottom), title=title, alt=description)


def _count_bins(groups: Mapping[str, Scores], edges: Scores) -> list[dict[str, Any]]:
    return [
        {"group": name, "from": float(low), "to": float(high), "count": int(count)}
        for name, scores in groups.items()
        for low, high, count in zip(edges, edges[1:], np.histogram(scores, bins=edges)[0], strict=False)
        if count
    ]


def _bars(rows: list[dict[str, Any]], noun: str, across: Any, top: int, bottom: int) -> Any:
    """Return the bars of a histogram between two heights of the chart."""
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
            tooltip=shown_on_hover(rows, "group", "from", "to", "count"),
        )
    )  # fmt: skip


def _whole_ticks(most: int) -> list[int]:
    """Return a few whole numbers from 0 up to a count.

    >>> _whole_ticks(3), _whole_ticks(1234)
    ([0, 1, 2, 3], [0, 500, 1000])
    """
    step = next(step for power in range(12) for step in (10**power, 2 * 10**power, 5 * 10**power) if most < 4 * step)
    return list(range(0, most + 1, step))


def _with_room(rows: Sequence[Record], low: float, high: float) -> tuple[float, float]:
    """Return a range wide enough for words written outwards from their scores, even in a narrow chart."""
    middle = (low + high) / 2
    for row in (*rows, *rows):  # twice, since making room on one side shrinks the other
        score, share = float(row["score"]), min(text_width(row["word"], font_size=_FONT) / _NARROWEST, 0.5)
        if score > middle:
            high = max(high, (score - share * low) / (1 - share))
        else:
            low = min(low, (score - share * high) / (1 - share))
    return low, high


def _pointers(rows: Sequence[Record], domain: Sequence[float], bottom: int) -> list[Any]:
    """Return a line for each word at its score, with the word above it on its own row."""
    if not rows:
        return []
    alt = altair()
    middle = (domain[0] + domain[1]) / 2
    ordered = sorted(
        rows, key=lambda row: abs(float(row["score"]) - middle)
    )  # words extend outwards, so that no line crosses them
    lines = [{**row, "line": _LINE * place + 7, "is_right": row["score"] > middle} for place, row in enumerate(ordered)]
    height = alt.Scale(domain=[0, bottom], range=[0, bottom], nice=False)
    base = alt.Chart(values(lines)).encode(x=alt.X("score:Q"), tooltip=shown_on_hover(rows, "word", "score", "rank"))
    up = alt.Y("line:Q", scale=height, axis=None)
    rules = base.mark_rule(color=ink(), strokeWidth=1.4).encode(y=up, y2=alt.datum(bottom))
    look = {"baseline": "middle", "fontSize": _FONT, "fontWeight": "bold", "color": ink()}
    texts = [
        base.transform_filter(f"{'' if is_right else '!'}datum.is_right")
        .mark_text(align="left" if is_right else "right", dx=5 if is_right else -5, **look)
        .encode(y=up, text="word:N")
        for is_right in (True, False)
    ]
    return [alt.layer(rules, *texts)]


_ZERO = 1e-10  # eigenvalues smaller than this share of the largest carry no signal


def eigenvalue_spectrum(eigenvalues: Sequence[float], *, title: str = "") -> Any:
    """Return the eigenvalues by rank: positive ones separate the classes, negative ones spread within them.

    Parameters
    ----------
    eigenvalues
        In any order; drawn in descending order.
    title
        Title above the chart.
    """
    alt = altair()
    ordered = sorted((float(value) for value in eigenvalues), reverse=True)
    if not ordered:
        raise DataError("There is nothing to draw: the list of eigenvalues is empty.")
    kinds = ["axis 0", "positive", "zero", "negative"]
    zero = _ZERO * max(abs(ordered[0]), abs(ordered[-1]))

    def kind(rank: int, value: float) -> str:
        return kinds[0] if rank == 0 else kinds[2] if abs(value) <= zero else kinds[1 if value > 0 else 3]

    rows = [{"axis": rank, "eigenvalue": v, "kind": kind(rank, v)} for rank, v in enumerate(ordered)]
    colors = alt.Scale(domain=kinds, range=[VERMILLION, BLUE, GREY, ink()])
    shapes = alt.Scale(domain=kinds, range=["diamond", "circle", "stroke", "triangle-down"])
    legend = alt.Legend(title=None, symbolSize=80, symbolOpacity=1)
    points = (
        alt.Chart(values(rows))
        .mark_point(strokeWidth=1.4, opacity=1)
        .encode(
            x=alt.X("axis:Q", title="axis", scale=alt.Scale(nice=False, padding=10),
                    axis=alt.Axis(tickMinStep=1, grid=False)),
            y=alt.Y("eigenvalue:Q", title="eigenvalue"),
            color=alt.Color("kind:N", scale=colors, legend=legend),
            shape=alt.Shape("kind:N", scale=shapes, legend=legend),
            size=alt.condition("datum.axis == 0", alt.value(150), alt.value(28)),
            tooltip=["axis:Q", alt.Tooltip("eigenvalue:Q", format=".4g")],
        )
    )  # fmt: skip
    line = alt.Chart(values([{}])).mark_rule(color=GREY, strokeWidth=0.8).encode(y=alt.datum(0))
    description = (
        f"{len(ordered):,} eigenvalues, from {show_number(ordered[0], None)} to {show_number(ordered[-1], None)}"
    )
    return styled((line + points).properties(width=520, height=300), title=title, alt=description)


def training_size(rows: Any, *, measure: str = "Kendall τ", title: str = "") -> Any:
    """Return mean (top) and standard deviation (bottom) of a measure against the size of the lexicon.

    Parameters
    ----------
    rows
        The result of `evaluate_stability`, a pandas or polars frame, or mappings, with
        ``method``, ``size``, ``mean`` and ``std``.
    measure
        Name of the measure, for the vertical axes.
    title
        Title above the chart.
    """
    alt = altair()
    rows = checked_rows(rows, "method", "size", "mean", "std", attribute="rows")
    sizes = sorted({row["size"] for row in rows})
    looks = method_looks([row["method"] for row in rows])

    def panel(key: str, name: str, *, height: int, last: bool) -> Any:
        scale = alt.Scale(type="log", base=2, nice=False, padding=12)
        ticks = alt.Axis(values=sizes, labels=last, format=CHART_COUNT, grid=False)
        across = alt.X("size:Q", title="words in the training lexicon" if last else None, scale=scale, axis=ticks)
        heights = alt.Scale(zero=key == "std", padding=8 * (key == "mean"))
        up = alt.Y(f"{key}:Q", title=f"{name} of {measure}", scale=heights)
        lines = [
            alt.Chart(values([row for row in rows if row["method"] == method]))
            .mark_line(strokeWidth=1.8, color=color, strokeDash=dash)
            .encode(x=across, y=up)
            for method, (color, _, dash) in looks.items()
        ]
        points = (
            alt.Chart(values(rows))
            .mark_point(size=70, fill=alt.expr(GROUND), opacity=1, strokeWidth=1.8)
            .encode(
                x=across,
                y=up,
                tooltip=["method:N", "size:Q", alt.Tooltip(f"{key}:Q", format=CHART_NUMBER)],
                **method_encoding(looks),
            )
        )
        return alt.layer(*lines, points).properties(width=460, height=height)

    upper = panel("mean", "mean", height=230, last=False)
    lower = panel("std", "std", height=150, last=True)
    description = f"Mean and standard deviation of {measure} by the size of the lexicon, for {', '.join(looks)}"
    return styled(alt.vconcat(upper, lower, spacing=14), title=title, alt=description)


def layer_curves(rows: Sequence[Record], *, least: float = 0.4, title: str = "") -> Any:
    """Return held-out AUC over the layers of a model: one line per method with the band of its interval.

    Parameters
    ----------
    rows
        Mappings with ``layer``, ``method``, ``auc``, ``low`` and ``high``.
    least
        Where the vertical axis begins; lower if an interval does.
    title
        Title above the chart.
    """
    alt = altair()
    rows = checked_rows(rows, "layer", "method", "auc", "low", "high")
    looks = method_looks([row["method"] for row in rows])
    ticks = alt.Axis(format=CHART_COUNT, grid=False, tickMinStep=1)
    across = alt.X("layer:Q", title="layer (block, counted from 0)", axis=ticks)
    heights = _tenths(min(least, *(row["low"] for row in rows)))
    scale = alt.Scale(domain=[heights[0], 1.0], clamp=True, nice=False)
    # one scale and one axis in all layers; otherwise the scale would start at zero, and labels would be left out
    same: dict[str, Any] = {"title": "AUC on held-out texts", "scale": scale}
    same["axis"] = alt.Axis(values=heights, labelOverlap=False)
    up = alt.Y("auc:Q", **same)
    chance = alt.Chart(values([{"chance": 0.5}])).encode(y=alt.Y("chance:Q", **same))
    layers = [chance.mark_rule(color=GREY, strokeDash=[2, 3])]
    for method, (color, _, dash) in looks.items():
        chart = alt.Chart(values([row for row in rows if row["method"] == method]))
        layers.append(
            chart.mark_area(color=color, opacity=0.15).encode(x=across, y=alt.Y("low:Q", **same), y2="high:Q")
        )
        layers.append(chart.mark_line(color=color, strokeWidth=1.8, strokeDash=dash).encode(x=across, y=up))
    numbers = [alt.Tooltip(f"{key}:Q", format=CHART_NUMBER) for key in ("auc", "low", "high")]
    tooltip = ["method:N", "layer:Q", *numbers]
    points = alt.Chart(values(rows)).mark_point(size=40, fill=alt.expr(GROUND), opacity=1)
    # legend on top, so that the curves keep the full width; its columns fit the names of methods
    above = method_encoding(looks, orient="top", direction="horizontal", columns=alt.expr("max(1, floor(width / 130))"))
    layers.append(points.encode(x=across, y=up, tooltip=tooltip, **above))
    name = chance.mark_text(align="right", baseline="top", dy=4, fontSize=12, color=ink())
    layers.append(name.encode(x=alt.value("width"), text=alt.value("chance")))
    description = f"AUC by layer for {', '.join(looks)}"
    return styled(alt.layer(*layers).properties(width=560, height=300), title=title, alt=description)


def _tenths(least: float) -> list[float]:
    """Return labels of an axis that ends at 1 and begins at or below a number: every 0.1, or 0.2 if that is many."""
    step = 1 if least >= 0.2 else 2
    count = math.ceil((10 - 10 * least) / step - 1e-9)
    return [(10 - step * place) / 10 for place in range(count, -1, -1)]


def mean_scores(rows: Any, *, ordered: str | None = None, by: str | None = None, title: str = "") -> Any:
    """Return how far groups of documents differ from all documents: a band over an ordered column, or a line per group.

    Three and more bands have a panel each, in which the other groups are grey lines.

    Parameters
    ----------
    rows
        The result of :func:`densray.axes.mean_scores`, or mappings with ``difference``,
        ``difference_low``, ``difference_high`` and the columns. Groups without an interval are left out.
    ordered, by
        The column with an order, such as the year, and the column shown by colour. Default: those of the result.
    title
        Title above the chart.
    """
    alt = altair()
    ordered = ordered or getattr(rows, "ordered", None)
    names = [name for name in getattr(rows, "by", ()) if name != ordered] or ([by] if by else [])
    records = checked_rows(rows, *_DIFFERENCE, *names, *([ordered] if ordered else []), attribute="rows")
    spans = [
        {**row, "group": ", ".join(str(row[name]) for name in names) or "all"}
        for row in records
        if row["difference_low"] is not None
    ]
    if not spans:
        raise DataError(
            "There is nothing to draw: no group has an interval. Two groups with two documents each are needed."
        )
    looks = group_looks([row["group"] for row in spans])
    tooltip = [alt.Tooltip(f"{key}:Q", format=CHART_NUMBER) for key in _DIFFERENCE]
    description = f"Mean scores minus the mean of all documents, with 95% intervals: {', '.join(looks)}"
    if ordered is None:
        up = alt.Y(
            "group:N", sort=list(looks), title=", ".join(names) or None, axis=alt.Axis(ticks=False, labelLimit=240)
        )
        base = alt.Chart(values(spans)).encode(y=up)
        ticks = alt.Axis(tickCount=few_ticks("width", 80))
        across = {"title": _COMPARED, "scale": alt.Scale(padding=12), "axis": ticks}
        rules = base.mark_rule(strokeWidth=1.6).encode(x=alt.X("difference_low:Q", **across), x2="difference_high:Q")
        points = base.mark_point(size=45, filled=True, opacity=1).encode(
            x=alt.X("difference:Q", **across), tooltip=["group:N", *tooltip]
        )
        height = 24 * len(looks) + 12
        whole = alt.layer(*dashed_lines({"x": 0}), rules, points)
        return styled(whole.properties(width=_WIDTH, height=height), title=title, alt=description)
    spans = [{**row, "place": row[ordered]} for row in spans]
    x = alt.X("place:Q", title=ordered, scale=alt.Scale(zero=False, nice=False, padding=12),
              axis=alt.Axis(format="d" if all(float(row["place"]).is_integer() for row in spans) else ""))  # fmt: skip
    if len(looks) > 2:
        return styled(_panels_of_groups(spans, list(looks), x, tooltip), title=title, alt=description)
    layers, heights = dashed_lines({"y": 0}), alt.Scale(padding=8)
    for name, (color, _, dash) in looks.items():
        base = alt.Chart(values([row for row in spans if row["group"] == name])).encode(x=x)
        low, area = alt.Y("difference_low:Q", scale=heights), base.mark_area(opacity=0.18, color=color)
        band = area.encode(y=low, y2="difference_high:Q")
        line = base.mark_line(strokeWidth=1.8, color=color, strokeDash=dash)
        layers += [band, line.encode(y=alt.Y("difference:Q", scale=heights, title=_COMPARED))]
    points = alt.Chart(values([{**row, "method": row["group"]} for row in spans])).mark_point(size=40, filled=True)
    points = points.encode(x=x, y="difference:Q", tooltip=["group:N", "place:Q", *tooltip], **method_encoding(looks))
    return styled(alt.layer(*layers, points).properties(width=_WIDTH, height=260), title=title, alt=description)


def _panels_of_groups(rows: Sequence[Record], groups: Sequence[str], x: Any, tooltip: Sequence[Any]) -> Any:
    """Return one panel per group, two abreast: its band and line, and the lines of the other groups in grey."""
    alt = altair()
    lows, highs = ([float(row[f"difference_{end}"]) for row in rows] for end in ("low", "high"))
    heights = alt.Scale(domain=list(padded_domain([*lows, *highs, 0.0])), nice=False)
    others = alt.Chart(values(rows)).mark_line(strokeWidth=1, color=GREY, opacity=0.45)
    panels = []
    for number, name in enumerate(groups):
        title = _COMPARED_LINES if number % 2 == 0 else None
        up = {"scale": heights, "title": title, "axis": alt.Axis(tickCount=4)}
        base = alt.Chart(values([row for row in rows if row["group"] == name])).encode(x=x)
        layers = [
            *dashed_lines({"y": 0}),
            others.encode(x=x, y=alt.Y("difference:Q", **up), detail="group:N"),
            base.mark_area(opacity=0.22, color=BLUE).encode(y=alt.Y("difference_low:Q", **up), y2="difference_high:Q"),
            base.mark_line(strokeWidth=2, color=BLUE).encode(y=alt.Y("difference:Q", **up)),
            base.mark_point(size=30, filled=True, color=BLUE, opacity=1).encode(
                y=alt.Y("difference:Q", **up), tooltip=["group:N", "place:Q", *tooltip]
            ),
        ]
        panels.append(alt.layer(*layers).properties(width=_PANEL_WIDTH, height=150, title=name))
    return alt.concat(*panels, columns=2)


def front_of_points(
    rows: Sequence[Record], *, x: tuple[str, str], y: tuple[str, str], title: str = "", alt: str = ""
) -> Any:
    """Return points with lower values better on both axes: the Pareto front joined, the chosen point ringed.

    Parameters
    ----------
    rows
        Mappings with ``word`` (the name of a point), the keys of `x` and `y`, ``front`` and ``chosen``.
    x, y
        The key of an axis, and its title.
    """
    drawing = altair()
    axes = [Coordinate(key, label, padded_domain([row[key] for row in rows])) for key, label in (x, y)]
    places = {
        name: kind(f"{key}:Q", title=label, scale=drawing.Scale(domain=list(domain), nice=False, zero=False))
        for name, kind, (key, label, domain) in zip("xy", (drawing.X, drawing.Y), axes, strict=True)
    }
    front = sorted((row for row in rows if row["front"]), key=lambda row: (row[x[0]], -row[y[0]]))
    joined = drawing.Chart(values(front)).mark_line(interpolate="step-after", color=BLUE, opacity=0.6).encode(**places)
    looks = {
        "color": drawing.condition("datum.front", drawing.value(BLUE), drawing.value(GREY)),
        "shape": drawing.condition("datum.front", drawing.value("circle"), drawing.value("square")),
    }
    ringed = [number for number, row in enumerate(rows) if row["chosen"]]
    labelled = [*ringed, *(number for number, row in enumerate(rows) if row["front"] and number not in ringed)]
    dots = word_scatter(
        rows,
        labelled=labelled,
        x=axes[0],
        y=axes[1],
        size=(560, 340),
        mark={"size": 45, "opacity": 0.9},
        encoding=looks,
        marked=ringed,
    )
    return styled(drawing.layer(joined, dots), title=title, alt=alt)
