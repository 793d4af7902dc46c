"""Charts of results: analogies, bias, diagnostics, removal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

from densray.errors import DataError
from densray.figures._scatter import few_ticks, padded_domain, word_scatter
from densray.figures._style import (
    BLUE,
    GREEN,
    GREY,
    GROUND,
    PURPLE,
    VERMILLION,
    Row,
    altair,
    checked_rows,
    equality_line,
    ink,
    method_encoding,
    on_ground,
    rows_of,
    styled,
    tooltip_title,
    values,
    word_order,
    written_ends,
    zero_lines,
)
from densray.figures._words import furthest_from_equality
from densray.report import CHART_NUMBER

#: One hue from the ground to its opposite, on a light ground and on a dark one: the order survives in grey.
_LEAST, _MOST = ("#F3F7FB", "#20262C"), ("#08306B", "#9BD3FA")
_TURN = 0.65  # the share of the range from which numbers are written in the colour of the ground
_NARROW_CELL = 34  # pixels, below which a cell has no room for its number


def heat_map(
    rows: Sequence[Row],
    *,
    down: str,
    across: str,
    measure: str,
    domain: tuple[float, float] = (0.0, 1.0),
    decimals: int = 2,
    legend: bool = True,
    title: str = "",
) -> Any:
    """Return a heat map with the number in each cell; darker is more.

    Parameters
    ----------
    rows
        Mappings with the two names of a cell and its number; cells without a number stay empty.
    down, across
        The keys of the names of rows and of columns, which keep the order they come in.
    measure
        The key of the numbers; names the legend.
    domain
        The numbers of the lightest and of the darkest shade.
    decimals
        Of the numbers in the cells.
    legend
        Whether the shades are explained.
    title
        Shown above.
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
    said = f"{measure} of {len(lines)} × {len(columns)}: {', '.join(map(str, lines))} by {', '.join(map(str, columns))}"
    return styled((cells + numbers).properties(**size), title=title, alt=said)


def angle_heat_map(rows: Any, *, title: str = "") -> Any:
    """Return the angles between axes, from 0 to 90 degrees: darker is further apart.

    Parameters
    ----------
    rows
        What :func:`densray.compare_methods` returned, or mappings with ``first``, ``second`` and ``degrees``.
    title
        Shown above.
    """
    cells: dict[str, Any] = {"down": "first", "across": "second", "measure": "degrees"}
    return heat_map(rows_of(rows, "angles"), **cells, domain=(0.0, 90.0), decimals=1, legend=False, title=title)


def analogy_heat_map(rows: Sequence[Row], *, measure: str = "precision", title: str = "") -> Any:
    """Return a heat map of category by method with the number in each cell; darker is better.

    Parameters
    ----------
    rows
        Mappings with ``category``, ``method`` and the measure; cells without a number stay empty.
    measure
        The key of the numbers, between 0 and 1.
    title
        Shown above.
    """
    return heat_map(rows, down="category", across="method", measure=measure, title=title)


_PANEL = 190  # pixels
_LETTER = 6.0  # of a heading, roughly


def answer_parts(rows: Sequence[Row], *, parts: Sequence[str], mark: str = "") -> dict[str, Any]:
    """Return a chart of the scores of some answers and one of each part they are made of, by the name of the part.

    All have one scale, wherever they begin, so that differences between answers can be compared across parts: the part
    that tells two answers apart is the one in which they lie apart.

    Parameters
    ----------
    rows
        Mappings with ``word``, ``score`` and each part, in the order to be shown; parts that are None are not drawn.
    parts
        The keys of the parts.
    mark
        The word to be told from the others.
    """
    shown = ("score", *parts)
    rows = checked_rows(rows, "word", *shown)
    numbers = {name: [row[name] for row in rows if row[name] is not None] for name in shown}
    empty = next((name for name, known in numbers.items() if not known), None)
    if empty is not None:
        raise DataError(f"No row to draw has a number for '{empty}'. Leave it out.")
    span = max(max(known) - min(known) for known in numbers.values()) or 1.0
    return {
        name: _answer_part(rows, name, (min(known) + max(known)) / 2, span, mark) for name, known in numbers.items()
    }


def _answer_part(rows: Sequence[Row], name: str, middle: float, span: float, mark: str) -> Any:
    alt = altair()
    words = list(dict.fromkeys(row["word"] for row in rows))
    points = [
        {"word": row["word"], "value": row[name], "marked": row["word"] == mark}
        for row in rows
        if row[name] is not None
    ]
    color = BLUE if name == "score" else ink()
    scale = alt.Scale(domain=[middle - 0.58 * span, middle + 0.58 * span], nice=False)
    title = alt.Title(_lines(name, _PANEL), fontSize=12, anchor="middle")
    chart = (
        alt.Chart(values(points), title=title)
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=alt.X("value:Q", title=None, scale=scale, axis=alt.Axis(tickCount=3, labelFontSize=10)),
            y=alt.Y("word:N", **word_order(words), title=None,
                    axis=alt.Axis(labelLimit=140, ticks=False, domain=False, grid=True)),
            tooltip=["word:N", alt.Tooltip("value:Q", title=tooltip_title(name), format=CHART_NUMBER)],
            color=alt.condition("datum.marked", alt.value(VERMILLION), alt.value(color)),
            shape=alt.condition("datum.marked", alt.value("diamond"), alt.value("circle")),
        )
        .properties(width=_PANEL, height=21 * len(words))
    )  # fmt: skip
    return styled(chart, alt=f"{name} of the answers {', '.join(words[:5])}")


def _lines(name: str, width: int) -> list[str]:
    """Return a name broken into lines that fit a width."""
    lines = [""]
    for word in name.split():
        longer = f"{lines[-1]} {word}".strip()
        lines[-1:] = [longer] if len(longer) * _LETTER <= width or not lines[-1] else [lines[-1], word]
    return lines


_ANCHOR_SIZE = (400, 400)


def anchor_scatter(
    rows: Sequence[Row], *, anchors: tuple[str, str] = ("man", "woman"), n_labels: int = 12, title: str = ""
) -> Any:
    """Return one panel per space: words by their cosines to two anchors, and the line where these are equal.

    Colour and shape tell to which anchor a word is nearer in the first space, in all panels, and the same words are
    labelled in all: one sees where they went.

    Parameters
    ----------
    rows
        Mappings with ``word``, ``space`` (such as ``"original"`` and ``"complement"``) and one cosine under
        the name of each anchor.
    anchors
        The words on the horizontal and the vertical axis.
    n_labels
        How many words are labelled: those furthest from the line in the first space, half on either side.
    title
        Shown above.
    """
    first, second = anchors
    rows = checked_rows(rows, "word", "space", first, second)
    domain = padded_domain([row[anchor] for row in rows for anchor in anchors])
    x, y = ((anchor, f"cosine to “{anchor}”", domain) for anchor in anchors)
    panels = [
        (equality_line(domain) + _sided_scatter(part, chosen, anchors, x=x, y=y)).properties(title=f"{space} space")
        for space, part, chosen in _by_space(rows, anchors, n_labels)
    ]
    said = f"Words by their cosines to {first} and {second}, one panel per space"
    return styled(altair().hconcat(*panels, spacing=24), title=title, alt=said)


def difference_panels(
    rows: Sequence[Row], *, anchors: tuple[str, str] = ("man", "woman"), n_labels: int = 14
) -> dict[str, Any]:
    """Return one chart per space: words by how much nearer they are to one anchor than to the other.

    Across is the difference of the two cosines, as far to either side of 0 in all charts; up is their mean. Each word
    keeps the colour and the label of the first space. The charts may be drawn at any width.

    Parameters
    ----------
    rows, anchors, n_labels
        As for :func:`anchor_scatter`.
    """
    first, second = anchors
    rows = checked_rows(rows, "word", "space", first, second)
    for row in rows:
        row |= {_NEARER: row[second] - row[first], _MEAN: (row[first] + row[second]) / 2}
    far = 1.08 * max(abs(row[_NEARER]) for row in rows) or 1.0
    x = (_NEARER, "difference of the cosines", (-far, far))
    y = (_MEAN, "mean of the cosines", padded_domain([row[_MEAN] for row in rows]))
    ends = written_ends((f"nearer to {first}", f"nearer to {second}"), "x")
    return {
        space: styled(
            altair().layer(
                *zero_lines("x"), _sided_scatter(part, chosen, anchors, x=x, y=y, fluid=True, titled="y"), *ends
            ),
            alt=f"Words of the {space} space by how much nearer they are to {second} than to {first}",
        )
        for space, part, chosen in _by_space(rows, anchors, n_labels)
    }


_NEARER, _MEAN, _SIDE = "nearer", "mean", "side"


def _by_space(
    rows: list[dict[str, Any]], anchors: tuple[str, str], n_labels: int
) -> list[tuple[str, list[dict[str, Any]], list[int]]]:
    """Return each space with its rows and the numbers of those to label; sides and labels are those of the first."""
    first, second = anchors
    spaces = {
        space: [row for row in rows if row["space"] == space] for space in dict.fromkeys(r["space"] for r in rows)
    }
    original = next(iter(spaces.values()))
    sides = {row["word"]: first if row[first] > row[second] else second for row in original}
    labelled = [original[n]["word"] for n in furthest_from_equality(original, first, second, n_labels)]
    found = []
    for space, part in spaces.items():
        for row in part:
            row[_SIDE] = sides.get(row["word"], first)
        places = {row["word"]: number for number, row in enumerate(part)}
        found.append((space, part, [places[word] for word in labelled if word in places]))
    return found


def _sided_scatter(
    part: list[dict[str, Any]],
    labelled: list[int],
    anchors: tuple[str, str],
    *,
    x: tuple[str, str, tuple[float, float]],
    y: tuple[str, str, tuple[float, float]],
    fluid: bool = False,
    titled: str = "xy",
) -> Any:
    """Return words in the colour and shape of their side."""
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
    more: dict[str, Any] = {"size": _ANCHOR_SIZE, "mark": mark, "encoding": look, "fluid": fluid, "titled": titled}
    return word_scatter(part, labelled=labelled, x=x, y=y, **more)


def seed_influence(rows: Any, *, n_seeds: int = 30, measure: str = "influence on the axis", title: str = "") -> Any:
    """Return the seeds that move the axis most when they are left out.

    Parameters
    ----------
    rows
        What :func:`densray.diagnose` returned, a pandas or polars frame, or mappings, with ``word``, ``label`` and
        ``influence``.
    n_seeds
        How many seeds are shown, those of the greatest influence.
    measure
        Names the horizontal axis.
    title
        Shown above.
    """
    alt = altair()
    rows = checked_rows(rows, "word", "label", "influence", attribute="influential")
    ordered = sorted(rows, key=lambda row: -abs(float(row["influence"])))[:n_seeds]
    middle = (max(row["label"] for row in rows) + min(row["label"] for row in rows)) / 2
    kinds = ["high label", "low label"]
    for row in ordered:
        row["kind"] = kinds[0] if row["label"] > middle else kinds[1]
    legend = alt.Legend(title=None, symbolSize=80, symbolOpacity=1, orient="top")
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


#: Looks of what stands side by side and has none of its own; the first is what the others are compared with.
_SIDE_BY_SIDE = (
    (GREY, "circle"), (BLUE, "square"), (VERMILLION, "triangle-up"), (GREEN, "diamond"), (PURPLE, "triangle-down"),
)  # fmt: skip


def interval_plot(
    rows: Sequence[Row], *, down: str = "measure", by: str = "space", x: str = "", title: str = ""
) -> Any:
    """Return numbers between 0 and 1 with their intervals, one panel above the other for each part.

    Parameters
    ----------
    rows
        Mappings with the two names, ``value``, ``low`` and ``high`` (None where there is no interval), ``part`` (names
        the panel) and ``if_gone``, where the number would be if nothing were left: a grey line.
    down, by
        The key of the names on the vertical axis, and that of what is told by colour and shape.
    x
        Names the horizontal axis.
    title
        Shown above.
    """
    alt = altair()
    keys = ("value", "low", "high")
    rows = [{**row, "method": row[by]} for row in checked_rows(rows, down, by, "part", *keys)]
    names = list(dict.fromkeys(row["method"] for row in rows))
    looks = method_encoding({name: (*look, [1, 0]) for name, look in zip(names, cycle(_SIDE_BY_SIDE), strict=False)})
    order = alt.YOffset("method:N", sort=names)
    ends = [row[key] for row in rows for key in keys if row[key] is not None]
    shown = [f"{down}:N", f"{by}:N", *(alt.Tooltip(f"{key}:Q", format=CHART_NUMBER) for key in keys)]
    across = {"scale": alt.Scale(domain=[min(0.0, *ends), max(1.0, *ends)], nice=False), "title": x or None}
    panels = []
    for name in dict.fromkeys(row["part"] for row in rows):
        part = [row for row in rows if row["part"] == name]
        axis = alt.Axis(ticks=False, domain=False, grid=True, labelLimit=240, minExtent=150)
        up = alt.Y(f"{down}:N", **word_order([row[down] for row in part]), title=None, axis=axis)
        base = alt.Chart(values(part)).encode(y=up)
        spread = {"x": alt.X("low:Q", **across), "x2": "high:Q", "yOffset": order, "color": looks["color"]}
        middle = {"x": alt.X("value:Q", **across), "yOffset": order, "tooltip": shown, **looks}
        gone = base.transform_filter("isValid(datum.if_gone)").mark_tick(color=GREY, thickness=2, bandSize=34)
        height = alt.Step(12 * len(names) + 10, **{"for": "position"})
        panel = alt.layer(
            gone.encode(x=alt.X("if_gone:Q", **across)),
            base.mark_rule(strokeWidth=1.6).encode(**spread),
            base.mark_point(size=45, filled=True, opacity=1).encode(**middle),
        )
        panels.append(panel.properties(width=460, height=height, title=name))
    said = f"Intervals of {', '.join(dict.fromkeys(row[down] for row in rows))} for {', '.join(names)}"
    return styled(alt.vconcat(*panels, spacing=18), title=title, alt=said)
