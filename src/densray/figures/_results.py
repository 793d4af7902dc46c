"""Charts of results: analogies, bias, diagnostics, removal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle
from typing import Any

from densray.figures._labels import Line
from densray.figures._scatter import Coordinate, few_ticks, padded_domain, word_scatter
from densray.figures._style import (
    ACROSS,
    BLUE,
    GREEN,
    GREY,
    GROUND,
    PURPLE,
    UP,
    VERMILLION,
    altair,
    checked_rows,
    dashed_lines,
    equality_line,
    ink,
    method_encoding,
    on_ground,
    rows_of,
    styled,
    values,
    word_order,
    written_ends,
)
from densray.figures._words import furthest_from_equality
from densray.report import CHART_NUMBER, Record

#: One hue from light to dark, for a light and for a dark background; the order survives in greyscale.
_LEAST, _MOST = ("#F3F7FB", "#20262C"), ("#08306B", "#9BD3FA")
_TURN = 0.65  # above this share of the range, numbers have the background colour
_NARROW_CELL = 34  # pixels; narrower cells show no number


def heat_map(
    rows: Sequence[Record],
    *,
    down: str,
    across: str,
    measure: str,
    domain: tuple[float, float] = (0.0, 1.0),
    decimals: int = 2,
    legend: bool = True,
    title: str = "",
) -> Any:
    """Return a heat map with the number in each cell; darker is higher.

    Parameters
    ----------
    rows
        Mappings with the two names of a cell and its number; cells without a number stay empty.
    down, across
        The keys of the names of rows and of columns, which keep their order.
    measure
        The key of the numbers, and the title of the legend.
    domain
        The numbers of the lightest and of the darkest shade.
    decimals
        Number of decimals in the cells.
    legend
        Whether to show a legend.
    title
        Title above the chart.
    """
    alt = altair()
    rows = [{**row, "value": row[measure]} for row in checked_rows(rows, down, across, measure)]
    rows = [row for row in rows if row["value"] is not None]
    lines, columns = (list(dict.fromkeys(row[key] for row in rows)) for key in (down, across))
    base = alt.Chart(values(rows)).encode(
        x=alt.X(f"{across}:N", sort=columns, title=None,
                axis=alt.Axis(orient="top", labelAngle=-35, labelAlign="left", labelPadding=6, ticks=False,
                              domain=False, labelLimit=240)),
        y=alt.Y(f"{down}:N", sort=lines, title=None,
                axis=alt.Axis(ticks=False, domain=False, labelLimit=200)),
    )  # fmt: skip
    shades = alt.Scale(domain=list(domain), range=[alt.expr(on_ground(*pair)) for pair in (_LEAST, _MOST)], clamp=True)
    explained = alt.Legend(title=measure, gradientLength=160, orient="bottom", direction="horizontal")
    cells = base.mark_rect(stroke=alt.expr(GROUND)).encode(
        color=alt.Color("value:Q", scale=shades, legend=explained if legend else None),
        tooltip=[f"{down}:N", f"{across}:N", alt.Tooltip("value:Q", title=measure, format=f".{decimals + 1}f")],
    )
    turn = domain[0] + _TURN * (domain[1] - domain[0])
    letters = f"datum.value > {turn} ? {on_ground('#FFFFFF', '#000000')} : {on_ground('#000000', '#FFFFFF')}"
    numbers = base.mark_text(
        fontSize=11, color=alt.expr(letters), opacity=alt.expr(f"bandwidth('x') < {_NARROW_CELL} ? 0 : 1")
    ).encode(text=alt.Text("value:Q", format=f".{decimals}f"))
    size = {"width": max(56 * len(columns), 120), "height": 20 * len(lines)}
    description = (
        f"{measure} of {len(lines)} × {len(columns)}: {', '.join(map(str, lines))} by {', '.join(map(str, columns))}"
    )
    return styled((cells + numbers).properties(**size), title=title, alt=description)


def angle_heat_map(rows: Any, *, title: str = "") -> Any:
    """Return the angles between axes, from 0 to 90 degrees: darker is further apart.

    Parameters
    ----------
    rows
        The result of :func:`densray.compare_methods`, or mappings with ``first``, ``second`` and ``degrees``.
    title
        Title above the chart.
    """
    cells: dict[str, Any] = {"down": "first", "across": "second", "measure": "degrees"}
    return heat_map(rows_of(rows, "angles"), **cells, domain=(0.0, 90.0), decimals=1, legend=False, title=title)


def analogy_heat_map(rows: Sequence[Record], *, measure: str = "precision", title: str = "") -> Any:
    """Return a heat map of category by method with the number in each cell; darker is better.

    Parameters
    ----------
    rows
        Mappings with ``category``, ``method`` and the measure; cells without a number stay empty.
    measure
        The key of the numbers, between 0 and 1.
    title
        Title above the chart.
    """
    return heat_map(rows, down="category", across="method", measure=measure, title=title)


_ANCHOR_SIZE = (400, 400)


def anchor_scatter(
    rows: Sequence[Record], *, anchors: tuple[str, str] = ("man", "woman"), n_labels: int = 12, title: str = ""
) -> Any:
    """Return one panel per space: words by their cosines to two anchors, and the line of equal cosines.

    Colour and shape show the nearer anchor of a word in the first space, in all panels, and the same words are
    labelled in all panels, so that their movement is visible.

    Parameters
    ----------
    rows
        Mappings with ``word``, ``space`` (such as ``"original"`` and ``"complement"``) and one cosine under
        the name of each anchor.
    anchors
        The words on the horizontal and the vertical axis.
    n_labels
        Number of words to label: those furthest from the line in the first space, half on either side.
    title
        Title above the chart.
    """
    first, second = anchors
    rows = checked_rows(rows, "word", "space", first, second)
    domain = padded_domain([row[anchor] for row in rows for anchor in anchors])
    x, y = (Coordinate(anchor, f"cosine to “{anchor}”", domain) for anchor in anchors)
    equal = ((domain[0], domain[0]), (domain[1], domain[1]))
    panels = [
        (equality_line(domain) + _sided_scatter(part, places, anchors, x=x, y=y, border=equal)).properties(
            title=f"{space} space"
        )
        for space, part, places in _by_space(rows, anchors, n_labels)
    ]
    description = f"Words by their cosines to {first} and {second}, one panel per space"
    return styled(altair().hconcat(*panels, spacing=24), title=title, alt=description)


def difference_panels(
    rows: Sequence[Record], *, anchors: tuple[str, str] = ("man", "woman"), n_labels: int = 14
) -> dict[str, Any]:
    """Return one chart per space: words by how much nearer they are to one anchor than to the other.

    The horizontal axis is the cosine to the first anchor minus that to the second, so that the first is at the right.
    It is symmetric about 0 and equal in all charts. The vertical axis is the mean of the cosines. Each word keeps the
    colour and the label of the first space. The charts may be drawn at any width.

    Parameters
    ----------
    rows, anchors, n_labels
        As for :func:`anchor_scatter`.
    """
    first, second = anchors
    rows = checked_rows(rows, "word", "space", first, second)
    for row in rows:
        row |= {_NEARER: row[first] - row[second], _MEAN: (row[first] + row[second]) / 2}
    far = 1.08 * max(abs(row[_NEARER]) for row in rows) or 1.0
    x = Coordinate(_NEARER, "difference of the cosines", (-far, far))
    y = Coordinate(_MEAN, "mean of the cosines", padded_domain([row[_MEAN] for row in rows]))
    zero = ((0.0, y.domain[0]), (0.0, y.domain[1]))
    ends = written_ends((f"nearer to {second}", f"nearer to {first}"), "x")
    return {
        space: styled(
            altair().layer(
                *dashed_lines({"x": 0.0}),
                _sided_scatter(part, chosen, anchors, x=x, y=y, border=zero, any_width=True, titled="y"),
                *ends,
            ),
            alt=f"Words of the {space} space by how much nearer they are to {first} than to {second}",
        )
        for space, part, chosen in _by_space(rows, anchors, n_labels)
    }


_NEARER, _MEAN, _SIDE = "nearer", "mean", "side"


def _by_space(
    rows: list[dict[str, Any]], anchors: tuple[str, str], n_labels: int
) -> list[tuple[str, list[dict[str, Any]], list[int]]]:
    """Return each space with its records and the row numbers to label, chosen in the first space."""
    first, second = anchors
    spaces = {
        space: [row for row in rows if row["space"] == space] for space in dict.fromkeys(r["space"] for r in rows)
    }
    original = next(iter(spaces.values()))
    sides = {row["word"]: first if row[first] > row[second] else second for row in original}
    labelled = [original[n]["word"] for n in furthest_from_equality(original, first, second, n_labels)]
    panels = []
    for space, part in spaces.items():
        for row in part:
            row[_SIDE] = sides.get(row["word"], first)
        places = {row["word"]: number for number, row in enumerate(part)}
        panels.append((space, part, [places[word] for word in labelled if word in places]))
    return panels


def _sided_scatter(
    part: list[dict[str, Any]],
    labelled: list[int],
    anchors: tuple[str, str],
    *,
    x: Coordinate,
    y: Coordinate,
    border: Line,
    any_width: bool = False,
    titled: str = "xy",
) -> Any:
    """Return words in the colour and shape of their side; no label crosses the border between the sides."""
    alt = altair()
    place = {"orient": "bottom" if "x" in titled else "top", "direction": "horizontal", "titleOrient": "left"}
    legend = alt.Legend(title="at first nearer to", symbolOpacity=1, **place)
    colors, shapes = (alt.Scale(domain=list(anchors), range=looks)
                      for looks in ([BLUE, VERMILLION], ["circle", "triangle-up"]))  # fmt: skip
    look = {
        "color": alt.Color(f"{_SIDE}:N", scale=colors, legend=legend),
        "shape": alt.Shape(f"{_SIDE}:N", scale=shapes, legend=legend),
    }
    mark = {"size": 28, "opacity": 0.75, "strokeWidth": 1.1}
    return word_scatter(
        part,
        labelled=labelled,
        x=x,
        y=y,
        size=_ANCHOR_SIZE,
        mark=mark,
        encoding=look,
        any_width=any_width,
        titled=titled,
        borders=[border],
    )


def seed_influence(
    rows: Any,
    *,
    n_seeds: int = 30,
    measure: str = "influence on the axis",
    ends: tuple[str, str] | None = None,
    title: str = "",
) -> Any:
    """Return the seeds that move the axis most when they are left out; those left out together are one row.

    Parameters
    ----------
    rows
        The result of :func:`densray.diagnose`, a pandas or polars frame, or mappings, with ``word``, ``label`` and
        ``influence``.
    n_seeds
        Number of rows to show, those with the largest influence.
    measure
        Title of the horizontal axis.
    ends
        Names of the low and the high label, for the legend (default: those of a diagnosis, if its labels have names).
    title
        Title above the chart.
    """
    alt = altair()
    low, high = ends or getattr(rows, "label_names", None) or ("low label", "high label")
    rows = checked_rows(rows, "word", "label", "influence", attribute="influential")
    middle = (max(row["label"] for row in rows) + min(row["label"] for row in rows)) / 2
    kinds = [high, low if low != high else f"{low} (low)"]
    for row in rows:
        row["kind"] = kinds[0] if row["label"] > middle else kinds[1]
    ordered = _joined(sorted(rows, key=lambda row: -abs(float(row["influence"]))))[:n_seeds]
    columns = alt.expr("width < 420 ? 1 : 2")
    legend = alt.Legend(title=None, symbolSize=80, symbolOpacity=1, orient="top", labelLimit=320, columns=columns)
    far = [row["influence"] for row in ordered]
    scale = alt.Scale(domain=[min(0.0, 1.04 * min(far)), max(0.0, 1.04 * max(far)) or 1.0], nice=False)
    base = alt.Chart(values(ordered)).encode(
        x=alt.X("influence:Q", title=measure, scale=scale, axis=alt.Axis(tickCount=few_ticks("width", 60))),
        y=alt.Y("word:N", **word_order([row["word"] for row in ordered]), title=None,
                axis=alt.Axis(ticks=False, domain=False, labelLimit=180)),
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[BLUE, VERMILLION]), legend=legend),
        tooltip=["word:N", alt.Tooltip("label:Q", format="~g"), alt.Tooltip("influence:Q", format=CHART_NUMBER)],
    )  # fmt: skip
    stems = base.mark_rule(opacity=0.5).encode(x2=alt.datum(0))
    shapes = alt.Scale(domain=kinds, range=["circle", "triangle-up"])
    heads = base.mark_point(size=70, filled=True, opacity=1).encode(
        shape=alt.Shape("kind:N", scale=shapes, legend=legend)
    )
    chart = (stems + heads).properties(width=420, height=18 * len(ordered))
    return styled(chart, title=title, alt=f"Seeds by {measure}: {', '.join(row['word'] for row in ordered[:5])} first")


def _joined(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for the seeds of one side that have exactly the same influence: they are left out together."""
    groups: dict[tuple[float, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["influence"], row["kind"]), []).append(row)
    joined = []
    for group in groups.values():
        words = [str(row["word"]) for row in group]
        more = f", … ({len(words)})" if len(words) > _NAMED else ""
        joined.append({**group[0], "word": ", ".join(words[:_NAMED]) + more})
    return joined


_NAMED = 2  # seeds of a group that are named


#: Colours and shapes of series side by side; the first is the baseline.
_SIDE_BY_SIDE = (
    (GREY, "circle"), (BLUE, "square"), (VERMILLION, "triangle-up"), (GREEN, "diamond"), (PURPLE, "triangle-down"),
)  # fmt: skip


def interval_plot(
    rows: Sequence[Record],
    *,
    down: str = "measure",
    by: str = "space",
    x: str = "",
    least: float = 0.0,
    one_line: bool = False,
    gone: str = "",
    title: str = "",
) -> Any:
    """Return numbers between 0 and 1 with their intervals, with one panel per part.

    Parameters
    ----------
    rows
        Mappings with the two names, ``value``, ``low`` and ``high`` (None if there is no interval), ``part`` (the name
        of the panel) and ``if_gone``, the value if nothing were left: a grey mark, or one dashed line if all rows of a
        panel have the same and ``gone`` is its name.
    down, by
        The key of the names on the vertical axis, and the key shown by colour and shape.
    x
        Title of the horizontal axis.
    least
        Where the horizontal axis begins; further left, at a multiple of 0.1, if an interval does.
    one_line
        Whether the numbers of a name share one line. For intervals that do not overlap.
    gone
        Name of ``if_gone``, such as “chance”: on the dashed line, or for grey marks in the legend.
    title
        Title above the chart.
    """
    alt = altair()
    keys = ("value", "low", "high")
    rows = [{**row, "method": row[by]} for row in checked_rows(rows, down, by, "part", *keys)]
    names = list(dict.fromkeys(row["method"] for row in rows))
    parts = {name: [row for row in rows if row["part"] == name] for name in dict.fromkeys(row["part"] for row in rows)}
    lines = {name: _common_level(part) if gone else None for name, part in parts.items()}
    has_marks = any(row["if_gone"] is not None for name in parts if lines[name] is None for row in parts[name])
    series = {name: (*look, [1, 0]) for name, look in zip(names, cycle(_SIDE_BY_SIDE), strict=False)}
    looks = method_encoding(series | ({gone: (GREY, _UPRIGHT, [1, 0])} if gone and has_marks else {}))
    beside = {} if one_line else {"yOffset": alt.YOffset("method:N", sort=names)}
    ends = [row[key] for row in rows for key in (*keys, "if_gone") if row[key] is not None]
    tooltip = [f"{down}:N", f"{by}:N", *(alt.Tooltip(f"{key}:Q", format=CHART_NUMBER) for key in keys)]
    across = {
        "scale": alt.Scale(domain=[_down_to_tick(min(least, *ends), least), -_down_to_tick(-max(1.0, *ends), -1.0)],
                           nice=False),
        "axis": alt.Axis(tickMinStep=_TICK),
        "title": x or None,
    }  # fmt: skip
    panels = []
    for name, part in parts.items():
        axis = alt.Axis(ticks=False, domain=False, grid=True, labelLimit=240, minExtent=_NAMES)
        order = word_order([row[down] for row in part])
        if not one_line:
            order["scale"].paddingInner, order["scale"].paddingOuter = _GAP, _GAP / 2  # series stay with their row
        base = alt.Chart(values(part)).encode(y=alt.Y(f"{down}:N", **order, title=None, axis=axis))
        spread = {"x": alt.X("low:Q", **across), "x2": "high:Q", "color": looks["color"], **beside}
        middle = {"x": alt.X("value:Q", **across), "tooltip": tooltip, **looks, **beside}
        step = 24 if one_line else 12 * len(names) / (1 - _GAP)
        height = alt.Step(step, **({} if one_line else {"for": "position"}))
        if (level := lines[name]) is not None:
            marks = _named_line(base, level, gone, **across)
            heading = alt.Title(name, offset=_ABOVE_LINE) if name else name
        else:
            some = base.transform_filter("isValid(datum.if_gone)")
            marks = [
                some.mark_tick(color=GREY, thickness=2, bandSize=0.9 * step).encode(x=alt.X("if_gone:Q", **across))
            ]
            heading = name
        panel = alt.layer(
            *marks,
            base.mark_rule(strokeWidth=1.6).encode(**spread),
            base.mark_point(size=45, filled=True, opacity=1).encode(**middle),
        )
        panels.append(panel.properties(width=460, height=height, title=heading))
    description = f"Intervals of {', '.join(dict.fromkeys(row[down] for row in rows))} for {', '.join(names)}"
    return styled(alt.vconcat(*panels, spacing=18), title=title, alt=description)


_GAP = 0.4  # share of a row that is free, if its series are below each other
_NAMES = 100  # pixels for the names of rows, at least, so that panels begin at the same place
_ABOVE_LINE = 20  # pixels between a panel and its title, for the name of a line


def _common_level(part: Sequence[Record]) -> float | None:
    """Return the value if nothing were left, if all rows of a panel have the same one."""
    levels = {row["if_gone"] for row in part}
    return levels.pop() if len(levels) == 1 else None


_TICK = 0.1  # between two ticks, at least
_UPRIGHT = "M-0.15,-1H0.15V1H-0.15Z"  # a mark of the legend, as an SVG path


def _down_to_tick(value: float, least: float) -> float:
    """Return the tick below a value that is less than `least`; otherwise `least`.

    >>> _down_to_tick(0.186, 0.4), _down_to_tick(0.4, 0.4), _down_to_tick(0.3, 0.4), _down_to_tick(-1.32, -1.0)
    (0.1, 0.4, 0.3, -1.4)
    """
    return value if value >= least else round(math.floor(round(value / _TICK, 9)) * _TICK, 9)


def _named_line(base: Any, place: float, name: str, **across: Any) -> list[Any]:
    """Return a dashed vertical line through all rows of a panel, with its name above."""
    alt = altair()
    x, one = (alt.X(field, **across) for field in ("if_gone:Q", "mean(if_gone):Q"))  # one line for all rows
    dashes = base.mark_rule(color=GREY, strokeDash=[4, 4], strokeWidth=1.5)
    text = alt.Chart(values([{"if_gone": place}])).mark_text(dy=-8, fontSize=12, color=ink())
    return [
        dashes.encode(y=alt.value(0), y2=alt.value("height"), x=one),
        text.encode(y=alt.value(0), text=alt.value(name), x=x),
    ]


def rating_scatter(
    rows: Any,
    *,
    score: str = "score",
    rating: str = "rating",
    n_labels: int = 16,
    any_width: bool = False,
    title: str = "",
) -> Any:
    """Return items by their score on an axis and their rating by people, with bars of two standard errors.

    Parameters
    ----------
    rows
        The result of :func:`densray.evaluate_ratings`, or mappings with ``item``, ``score``, ``rating``, ``expected``
        (the rating on the line of least squares) and ``difference``; bars are drawn if all have a ``score_error`` or
        a ``rating_error``.
    score, rating
        Names of the axis and of the ratings.
    n_labels
        Number of items to label: those furthest from the line.
    any_width
        Whether the chart may be drawn at any width.
    title
        Title above the chart.
    """
    alt = altair()
    keys = ("item", "score", "rating", "expected", "difference")
    points = [{**row, "word": row["item"]} for row in checked_rows(rows, *keys, attribute="items")]
    ends: dict[str, list[float]] = {}
    bars = []
    for key, channel in (("score", "x"), ("rating", "y")):
        errors = [float(row[f"{key}_error"]) for row in points if row.get(f"{key}_error") is not None]
        ends[key] = [float(row[key]) for row in points]
        if len(errors) < len(points):
            continue
        lines = [
            {ACROSS: row["score"], UP: row["rating"], "least": row[key] - 2 * error, "most": row[key] + 2 * error}
            for row, error in zip(points, errors, strict=True)
        ]
        ends[key] += [line[end] for line in lines for end in ("least", "most")]
        across = {"x": "least:Q", "x2": "most:Q", "y": f"{UP}:Q"}
        along = across if channel == "x" else {"y": "least:Q", "y2": "most:Q", "x": f"{ACROSS}:Q"}
        bars.append(alt.Chart(values(lines)).mark_rule(color=GREY, strokeWidth=0.8, opacity=0.55).encode(**along))
    x = Coordinate("score", f"score on {score}", padded_domain(ends["score"]))
    y = Coordinate("rating", f"rating: {rating}", padded_domain(ends["rating"]))
    worst = sorted(range(len(points)), key=lambda number: -abs(points[number]["difference"]))[:n_labels]
    scatter = word_scatter(
        points,
        labelled=worst,
        x=x,
        y=y,
        size=_RATING_SIZE,
        mark={"size": 30, "color": BLUE, "filled": True, "opacity": 0.8},
        any_width=any_width,
    )
    by_score = sorted(points, key=lambda row: float(row["score"]))
    line = [{ACROSS: row["score"], UP: row["expected"]} for row in (by_score[0], by_score[-1])]
    fitted = alt.Chart(values(line)).mark_line(color=VERMILLION, strokeDash=[6, 4], strokeWidth=1.5)
    fitted = fitted.encode(x=f"{ACROSS}:Q", y=f"{UP}:Q")
    description = (
        f"{len(points):,} items by their score on {score} (across) and rating (up), with the line of least squares"
    )
    return styled(alt.layer(*bars, fitted, scatter), title=title, alt=description, any_width=any_width)


_RATING_SIZE = (560, 420)  # pixels
