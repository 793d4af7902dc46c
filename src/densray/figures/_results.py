"""Charts of results: analogies, bias, diagnostics, removal, stability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from densray.errors import DataError
from densray.figures._scatter import padded_domain, word_scatter
from densray.figures._style import (
    BLACK,
    BLUE,
    GREY,
    INK,
    VERMILLION,
    Row,
    altair,
    checked_rows,
    method_encoding,
    method_looks,
    rows_of,
    styled,
    values,
    word_order,
)
from densray.figures._words import equality_line, furthest_from_equality

#: One hue from light to dark: the order survives in grey.
_LIGHT, _DARK = "#F3F7FB", "#08306B"
_WHITE_FROM = 0.65  # the share of the range from which numbers are white


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
                axis=alt.Axis(ticks=False, domain=False, labelLimit=280)),
    )  # fmt: skip
    shades = alt.Scale(domain=list(domain), range=[_LIGHT, _DARK], clamp=True)
    explained = alt.Legend(title=measure, gradientLength=160) if legend else None
    cells = base.mark_rect(stroke="white").encode(
        color=alt.Color("value:Q", scale=shades, legend=explained),
        tooltip=[f"{down}:N", f"{across}:N", alt.Tooltip("value:Q", title=measure)],
    )
    white_from = domain[0] + _WHITE_FROM * (domain[1] - domain[0])
    numbers = base.mark_text(fontSize=11).encode(
        text=alt.Text("value:Q", format=f".{decimals}f"),
        color=alt.condition(f"datum.value > {white_from}", alt.value("white"), alt.value("black")),
    )
    return styled((cells + numbers).properties(width=alt.Step(56), height=alt.Step(20)), title=title)


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


_WIDTH, _GAP = 560, 12  # pixels, of all panels together, and between two
_NARROWEST, _WIDEST = 50, 190  # one panel
_LETTER = 6.0  # of a heading, roughly


def answer_parts(rows: Sequence[Row], *, parts: Sequence[str], mark: str = "", title: str = "") -> Any:
    """Return the scores of some answers beside the parts they are made of, a panel each.

    All panels have one scale, wherever they begin, so that differences between answers can be compared across parts:
    the part that tells two answers apart is the one in which they lie apart.

    Parameters
    ----------
    rows
        Mappings with ``word``, ``score`` and each part, in the order to be shown; parts that are None are not drawn.
    parts
        The keys of the parts.
    mark
        The word to be told from the others.
    title
        Shown above.
    """
    alt = altair()
    shown = ("score", *parts)
    rows = checked_rows(rows, "word", *shown)
    words = list(dict.fromkeys(row["word"] for row in rows))
    numbers = {name: [row[name] for row in rows if row[name] is not None] for name in shown}
    empty = next((name for name, known in numbers.items() if not known), None)
    if empty is not None:
        raise DataError(f"No row to draw has a number for '{empty}'. Leave it out.")
    span = max(max(known) - min(known) for known in numbers.values()) or 1.0
    width = min(max((_WIDTH + _GAP) // len(shown) - _GAP, _NARROWEST), _WIDEST)

    def panel(name: str) -> Any:
        middle = (min(numbers[name]) + max(numbers[name])) / 2
        domain = [middle - 0.58 * span, middle + 0.58 * span]
        points = [
            {"word": row["word"], "value": row[name], "marked": row["word"] == mark}
            for row in rows
            if row[name] is not None
        ]
        labels = {"labels": name == "score", "labelLimit": 240, "ticks": False, "domain": False, "grid": True}
        looks = [("color", VERMILLION, BLUE if name == "score" else INK), ("shape", "diamond", "circle")]
        return (
            alt.Chart(values(points), title=alt.Title(_lines(name, width), fontSize=11, anchor="middle", frame="group"))
            .mark_point(filled=True, size=70, opacity=1)
            .encode(
                x=alt.X("value:Q", title=None, scale=alt.Scale(domain=domain, nice=False),
                        axis=alt.Axis(tickCount=3 if width > 80 else 2, labelFontSize=10, labelOverlap=True)),
                y=alt.Y("word:N", **word_order(words), title=None, axis=alt.Axis(**labels)),
                tooltip=["word:N", alt.Tooltip("value:Q", title=name)],
                **{key: alt.when("datum.marked").then(alt.value(one)).otherwise(alt.value(other))
                   for key, one, other in looks},
            )
            .properties(width=width, height=alt.Step(21))
        )  # fmt: skip

    return styled(alt.hconcat(*map(panel, shown), spacing=_GAP), title=title)


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

    Parameters
    ----------
    rows
        Mappings with ``word``, ``space`` (such as ``"original"`` and ``"complement"``) and one cosine under
        the name of each anchor.
    anchors
        The words on the horizontal and the vertical axis.
    n_labels
        How many words of each panel are labelled: those furthest from the line, half on either side.
    title
        Shown above.
    """
    alt = altair()
    first, second = anchors
    rows = checked_rows(rows, "word", "space", first, second)
    domain = padded_domain([row[anchor] for row in rows for anchor in anchors])
    for row in rows:
        row["nearer"] = first if row[first] > row[second] else second
    looks = alt.Scale(domain=list(anchors), range=[BLUE, VERMILLION])
    shapes = alt.Scale(domain=list(anchors), range=["circle", "triangle-up"])
    legend = alt.Legend(title="nearer to", orient="bottom", direction="horizontal", titleOrient="left")
    look = {
        "color": alt.Color("nearer:N", scale=looks, legend=legend),
        "shape": alt.Shape("nearer:N", scale=shapes, legend=legend),
    }
    panels = []
    for space in dict.fromkeys(row["space"] for row in rows):
        part = [row for row in rows if row["space"] == space]
        scatter = word_scatter(
            part,
            labelled=furthest_from_equality(part, first, second, n_labels),
            x=(first, f"cosine to “{first}”", domain),
            y=(second, f"cosine to “{second}”", domain),
            size=_ANCHOR_SIZE,
            mark={"size": 28, "opacity": 0.75, "strokeWidth": 1.1},
            encoding=look,
        )
        panels.append((equality_line(domain) + scatter).properties(title=f"{space} space"))
    return styled(alt.hconcat(*panels, spacing=24), title=title)


_ZERO = 1e-10  # eigenvalues smaller than this share of the largest carry no signal


def eigenvalue_spectrum(eigenvalues: Sequence[float], *, title: str = "") -> Any:
    """Return the eigenvalues by rank: positive ones part the classes, negative ones spread within them.

    Parameters
    ----------
    eigenvalues
        In any order; drawn in descending order.
    title
        Shown above.
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
    colors = alt.Scale(domain=kinds, range=[VERMILLION, BLUE, GREY, BLACK])
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
            tooltip=["axis:Q", "eigenvalue:Q"],
        )
    )  # fmt: skip
    line = alt.Chart(values([{}])).mark_rule(color=GREY, strokeWidth=0.8).encode(y=alt.datum(0))
    return styled((line + points).properties(width=520, height=300), title=title)


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
    legend = alt.Legend(title=None, symbolSize=80, symbolOpacity=1)
    base = alt.Chart(values(ordered)).encode(
        x=alt.X("influence:Q", title=measure),
        y=alt.Y("word:N", **word_order([row["word"] for row in ordered]), title=None,
                axis=alt.Axis(ticks=False, domain=False, labelLimit=240)),
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[BLUE, VERMILLION]), legend=legend),
        tooltip=["word:N", "label:Q", "influence:Q"],
    )  # fmt: skip
    stems = base.mark_rule(opacity=0.5).encode(x2=alt.datum(0))
    shapes = alt.Scale(domain=kinds, range=["circle", "triangle-up"])
    heads = base.mark_point(size=70, filled=True, opacity=1).encode(
        shape=alt.Shape("kind:N", scale=shapes, legend=legend)
    )
    return styled((stems + heads).properties(width=420, height=alt.Step(18)), title=title)


_TRADEOFF_SIZE = (520, 360)


def removal_tradeoff(
    rows: Sequence[Row],
    *,
    removed: str = "recovery (rbf)",
    kept: str = "men",
    title: str = "",
) -> Any:
    """Return one point a space: how much of the concept is left (up) against what else was kept (across).

    Parameters
    ----------
    rows
        Mappings with ``space`` and one number under the name of each of the two measures.
    removed, kept
        The measures on the vertical and the horizontal axis.
    title
        Shown above.
    """
    alt = altair()
    points = [{**row, "word": row["space"]} for row in checked_rows(rows, "space", removed, kept)]
    axes = {name: (name, name, padded_domain([row[name] for row in points])) for name in (removed, kept)}
    chart = word_scatter(
        points,
        labelled=range(len(points)),
        x=axes[kept],
        y=axes[removed],
        size=_TRADEOFF_SIZE,
        mark={"size": 60, "opacity": 0.9},
        encoding={"color": alt.value(BLUE)},
    )
    return styled(chart, title=title)


def training_size(rows: Any, *, measure: str = "Kendall τ", title: str = "") -> Any:
    """Return mean (top) and standard deviation (bottom) of a measure against the size of the lexicon.

    Parameters
    ----------
    rows
        What `evaluate_stability` returned, a pandas or polars frame, or mappings, with ``method``, ``size``, ``mean``
        and ``std``.
    measure
        What was measured; names the vertical axes.
    title
        Shown above.
    """
    alt = altair()
    rows = checked_rows(rows, "method", "size", "mean", "std", attribute="rows")
    sizes = sorted({row["size"] for row in rows})
    looks = method_looks([row["method"] for row in rows])

    def panel(key: str, name: str, *, height: int, last: bool) -> Any:
        across = alt.X(
            "size:Q",
            title="words in the training lexicon" if last else None,
            scale=alt.Scale(type="log", base=2, nice=False, padding=12),
            axis=alt.Axis(values=sizes, labels=last, format="d", grid=False),
        )
        up = alt.Y(
            f"{key}:Q",
            title=f"{name} of {measure}",
            scale=alt.Scale(zero=key == "std", padding=8 * (key == "mean")),
        )
        lines = [
            alt.Chart(values([row for row in rows if row["method"] == method]))
            .mark_line(strokeWidth=1.8, color=color, strokeDash=dash)
            .encode(x=across, y=up)
            for method, (color, _, dash) in looks.items()
        ]
        points = (
            alt.Chart(values(rows))
            .mark_point(size=70, fill="white", opacity=1, strokeWidth=1.8)
            .encode(x=across, y=up, tooltip=["method:N", "size:Q", f"{key}:Q"], **method_encoding(looks))
        )
        return alt.layer(*lines, points).properties(width=460, height=height)

    upper = panel("mean", "mean", height=230, last=False)
    lower = panel("std", "std", height=150, last=True)
    return styled(alt.vconcat(upper, lower, spacing=14), title=title)


def layer_curves(rows: Sequence[Row], *, title: str = "") -> Any:
    """Return held-out AUROC over the layers of a model: one line per method with the band of its interval.

    Parameters
    ----------
    rows
        Mappings with ``layer``, ``method``, ``auc``, ``low`` and ``high``.
    title
        Shown above.
    """
    alt = altair()
    rows = checked_rows(rows, "layer", "method", "auc", "low", "high")
    looks = method_looks([row["method"] for row in rows])
    across = alt.X(
        "layer:Q", title="layer (block, counted from 0)", axis=alt.Axis(format="d", grid=False, tickMinStep=1)
    )
    scale = alt.Scale(domain=[min(0.4, *(row["low"] for row in rows)), 1.0], clamp=True)
    up = alt.Y("auc:Q", title="AUROC on texts held out", scale=scale)
    layers = [alt.Chart(values([{"chance": 0.5}])).mark_rule(color=GREY, strokeDash=[2, 3]).encode(y="chance:Q")]
    for method, (color, _, dash) in looks.items():
        chart = alt.Chart(values([row for row in rows if row["method"] == method]))
        layers.append(
            chart.mark_area(color=color, opacity=0.15).encode(x=across, y=alt.Y("low:Q", scale=scale), y2="high:Q")
        )
        layers.append(chart.mark_line(color=color, strokeWidth=1.8, strokeDash=dash).encode(x=across, y=up))
    shown = ["method:N", "layer:Q", "auc:Q", "low:Q", "high:Q"]
    points = alt.Chart(values(rows)).mark_point(size=40, fill="white", opacity=1)
    layers.append(points.encode(x=across, y=up, tooltip=shown, **method_encoding(looks)))
    return styled(alt.layer(*layers).properties(width=560, height=300), title=title)
