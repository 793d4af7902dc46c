"""Charts draw what they are given, in formats that open anywhere, with labels that do not overlap."""

from __future__ import annotations

import re
import sys
from importlib import resources
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from charts import packed_rows, parts
from densray import WordSpace, compare_methods, diagnose, figures, induce
from densray.axes import compare_spaces
from densray.errors import DataError, MissingExtraError, OutputError
from densray.figures import for_page
from densray.figures._labels import place_labels, text_width
from densray.figures._narrow import NARROW, for_phone, narrow_path, narrow_svg, save_both
from densray.figures._scatter import padded_domain
from densray.figures._style import _BRIGHT, dark_svg, group_looks, method_looks, on_dark
from planted import planted_space

alt = pytest.importorskip("altair", reason="figures are an extra")

RNG = np.random.default_rng(0)
WORDS = [f"word{number}" for number in range(40)]
SCATTER = [
    {"word": word, "space": space, "man": float(x), "woman": float(y)}
    for space in ("original", "complement")
    for word, (x, y) in zip(WORDS, RNG.uniform(0, 0.5, (40, 2)), strict=True)
]
SIZES = [{"method": m, "size": n, "mean": 0.5, "std": 0.1} for m in ("densray", "other") for n in (8, 16)]
SEEDS = [{"word": word, "label": number % 2, "influence": number} for number, word in enumerate(WORDS)]
CELLS = [{"category": c, "method": m, "precision": 0.25} for c in ("a", "b") for m in ("densray", "lrcos")]
ANGLES = [{"first": a, "second": b, "degrees": 0.0 if a == b else 37.51} for a in "xy" for b in "xy"]
MEASURED = [
    {
        "space": s,
        "measure": m,
        "part": p,
        "value": 0.5,
        "low": low,
        "high": 0.6,
        "if_gone": 0.5 if p == "left" else None,
    }
    for s in ("original", "densray-unit")
    for m, p, low in (("cluster accuracy", "left", 0.4), ("men", "kept", 0.45), ("no interval", "kept", None))
]
LAYERS = [{"layer": n, "method": m, "auc": 0.8, "low": 0.7, "high": 0.9} for m in ("ridge", "svm") for n in range(3)]
CHANGES = [
    {"word": word, "first": 0.0, "second": float(n), "difference": float(n), "error": 0.5, "ratio": 2.0 * n}
    for n, word in zip((-3, -2, -1, 0, 1, 2, 3), WORDS, strict=False)
]

RATED = [
    {"item": word, "score": n / 9, "score_error": 0.1, "rating": n % 7, "rating_error": 0.2, "expected": 3.0,
     "difference": n % 7 - 3.0}
    for n, word in enumerate(WORDS)
]  # fmt: skip

MEANS = [
    {
        "party": party, "year": 2000 + year, "difference": 0.1 * year, "difference_low": 0.1 * year - 0.2,
        "difference_high": 0.1 * year + 0.2,
    }
    for party in ("a.b", "c") for year in range(4)
]  # fmt: skip
CHARTS: dict[str, Any] = {
    "training_size": lambda: figures.training_size(SIZES, title="τ"),
    "anchor_scatter": lambda: figures.anchor_scatter(SCATTER),
    "ranked_words": lambda: figures.ranked_words([{"word": w, "score": n} for n, w in enumerate(WORDS)]),
    "axis_scatter": lambda: figures.axis_scatter(
        [{"word": w, "a.b: [c]": n, "poor–rich": -n} for n, w in enumerate(WORDS)], axes=("a.b: [c]", "poor–rich")
    ),
    "eigenvalue_spectrum": lambda: figures.eigenvalue_spectrum(np.array([-1.0, 3.0, 0.0])),
    "seed_influence": lambda: figures.seed_influence(SEEDS),
    "rating_scatter": lambda: figures.rating_scatter(RATED, score="a.b: [c]", rating="poor–rich"),
    "score_histogram": lambda: figures.score_histogram(RNG.normal(size=500), {"high": [1.0, 2.0], "low": [-1.5]}),
    "interval_plot": lambda: figures.interval_plot(MEASURED),
    "analogy_heat_map": lambda: figures.analogy_heat_map(CELLS),
    "angle_heat_map": lambda: figures.angle_heat_map(ANGLES),
    "agreement_scatter": lambda: figures.agreement_scatter(
        [{"word": word, "first": n, "second": n % 7} for n, word in enumerate(WORDS)], methods=("a.b", "svm")
    ),
    "moved_words": lambda: figures.moved_words(CHANGES),
    "layer_curves": lambda: figures.layer_curves(LAYERS),
    "difference_panels": lambda: figures.difference_panels(SCATTER)["complement"],
    "mean_scores": lambda: figures.mean_scores(MEANS, ordered="year", by="party"),
    "document_map": lambda: figures.document_map(
        [{"text": w, "across": n, "up": -n, "shade": "a.b" if n % 2 else None} for n, w in enumerate(WORDS)], color="c"
    ),
}


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg)


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_is_drawn(name: str) -> None:
    svg = figures.to_svg(CHARTS[name]())
    assert svg.startswith("<svg")
    assert "NaN" not in svg


def test_three_groups_over_years_have_a_panel_each() -> None:
    two = figures.mean_scores(MEANS, ordered="year", by="party").to_dict()
    three = figures.mean_scores(
        [*MEANS, *({**row, "party": "d"} for row in MEANS[:4])], ordered="year", by="party"
    ).to_dict()
    assert "concat" not in two
    assert [panel["title"] for panel in three["concat"]] == ["a.b", "c", "d"]


@pytest.mark.parametrize("word", ["constructor", "toString", "__proto__", "\\", '\\"', "<b>"])
def test_any_word_can_be_drawn_and_stand_in_a_title(word: str) -> None:
    words = [*WORDS[:3], word]
    rows = [{"word": each, "score": n, "label": n % 2, "influence": n} for n, each in enumerate(words)]
    shown = word.replace("<", "&lt;").replace(">", "&gt;")
    for chart in (
        figures.ranked_words(rows, axis=f"“{word}”"),
        figures.seed_influence(rows, measure=f"“{word}”"),
    ):
        assert f">{shown}</text>" in figures.to_svg(chart)


def test_every_public_chart_is_tried_here() -> None:
    others = {
        "can_draw",
        "check_chart_path",
        "check_ready",
        "cut_text",
        "figure",
        "for_page",
        "save",
        "to_bytes",
        "to_svg",
    }
    assert set(figures.__all__) - others == set(CHARTS)


def test_ranked_words_are_those_of_both_ends_in_order() -> None:
    rows = [{"word": word, "score": number} for number, word in enumerate(WORDS)]
    shown = [t for t in texts(figures.to_svg(figures.ranked_words(rows, n_words=3))) if t.startswith("word")]
    assert shown == ["word39", "word38", "word37", "word2", "word1", "word0"]


def test_errors_are_drawn_as_bars_of_two_on_either_side_where_all_words_have_one() -> None:
    rows = [{"word": word, "score": number, "standard_error": 0.5} for number, word in enumerate(WORDS)]
    drawn = figures.ranked_words(rows, n_words=2, neutral=0.0).to_dict()
    ends = [(row["least"], row["most"]) for row in _data(drawn)[1]]
    assert (38.0, 40.0) in ends
    assert _has_bars(drawn)
    rows[0] = {"word": "word0", "score": 0}
    assert not _has_bars(figures.ranked_words(rows, n_words=2, neutral=0.0).to_dict())


def _has_bars(drawn: dict[str, Any]) -> bool:
    return any(layer["encoding"].get("x2", {}).get("field") == "most" for layer in drawn["layer"])


def _data(chart: dict[str, Any]) -> list[list[dict[str, Any]]]:
    return [layer["data"]["values"] for layer in chart["layer"] if "data" in layer]


def test_own_words_lie_between_the_ends_and_lines_begin_at_the_neutral_score() -> None:
    rows = [{"word": word, "score": number} for number, word in enumerate(WORDS)]
    chart = figures.ranked_words(rows, n_words=3, own=[rows[20], rows[39]], neutral=7.0)
    shown = [text.strip("\u2060") for text in texts(figures.to_svg(chart))]
    words = [text for text in shown if text.startswith(("word", "highest", "my", "lowest"))]
    assert words == ["highest", "word38", "word37", "my words", "word39", "word20", "lowest", "word2", "word1", "word0"]
    stems = chart.to_dict()["layer"][1]["encoding"]["x2"]
    assert stems == {"datum": 7.0}


def test_a_word_has_the_colour_of_its_side_of_the_neutral_score() -> None:
    rows = [{"word": word, "score": number} for number, word in enumerate(WORDS[:5])]
    drawn = figures.ranked_words(rows, n_words=2, neutral=0.5).to_dict()
    sides = {row["word"]: (row["group"], row["side"]) for row in _data(drawn)[-1]}
    assert sides["word1"] == ("lowest", "highest")  # one of the two lowest words, but above the neutral score
    assert sides["word0"] == ("lowest", "lowest")
    assert sides["word4"] == ("highest", "highest")
    few = figures.ranked_words(rows[:4], n_words=2, neutral=0.5).to_dict()  # all words are shown
    assert [row["word"] for row in _data(few)[-1] if row["group"] == "lowest"] == ["word0"]


def test_every_chart_of_scores_has_its_dashed_line_at_even_odds_and_none_where_these_are_not_known() -> None:
    space, lexicon = planted_space(80, 6, strength=2.0)
    induced = induce(WordSpace(space.words, space.vectors + 1.0), lexicon, normalize=False)
    assert abs(induced.even_odds) > 0.1
    rows = [{"word": word, "x": score, "y": -score} for word, score in zip(WORDS, induced.scores.score, strict=False)]
    charts = [figures.ranked_words(induced), figures.score_histogram(induced)]
    charts.append(figures.axis_scatter(rows, neutral={"x": induced.even_odds}))
    for chart in charts:
        assert _dashed_at(chart) == [induced.even_odds]
    ends = induced.ends(3)
    unknown = [figures.ranked_words(ends), figures.score_histogram(induced.scores.score), figures.axis_scatter(rows)]
    for chart in unknown:
        assert _dashed_at(chart) == []


def _dashed_at(chart: Any) -> list[float]:
    """Return the places of the dashed lines across a chart."""
    layers = [layer for layer in chart.to_dict()["layer"] if isinstance(layer.get("mark"), dict)]
    dashed = [layer["encoding"] for layer in layers if layer["mark"].get("strokeDash")]
    return [encoding["x"]["datum"] for encoding in dashed if "datum" in encoding.get("x", {})]


def test_moved_words_stand_by_the_way_they_went_with_bars_of_two_joint_errors() -> None:
    chart = figures.moved_words(CHANGES, n_words=2, own=[CHANGES[3]])
    shown = [text.strip("\u2060") for text in texts(figures.to_svg(chart))]
    words = [text for text in shown if text.startswith(("word", "risen", "my", "fallen"))]
    assert words == ["risen most", "word6", "word5", "my words", "word3", "fallen most", "word1", "word0"]
    drawn = chart.to_dict()
    assert _has_bars(drawn)
    assert [(row["least"], row["most"]) for row in _data(drawn)[1] if row["word"] == "word6"] == [(2.0, 4.0)]
    assert "risen most: word6, word5" in drawn["description"]
    table = for_page(chart)["datasets"]["table"]
    assert {"word", "difference", "error", "first", "second"} <= table[0].keys()


def test_where_no_word_moved_one_way_the_chart_has_no_heading_for_it() -> None:
    shown = texts(figures.to_svg(figures.moved_words(CHANGES[4:])))
    assert "\u2060risen most" in shown
    assert "\u2060fallen most" not in shown
    with pytest.raises(DataError, match="nothing to draw"):
        figures.moved_words([CHANGES[3]])


def test_words_marked_in_a_histogram_have_room_next_to_their_scores() -> None:
    scores = np.linspace(-1.0, 1.0, 201)
    plain = figures.score_histogram(scores).to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"]
    marked = [{"word": "extraordinarily", "score": 1.0}, {"word": "bad", "score": -0.2}]
    wider = figures.score_histogram(scores, marked=marked).to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert plain == [-1.0, 1.0]
    assert wider[0] == -1.0
    assert (wider[1] - 1.0) / (wider[1] - wider[0]) == pytest.approx(
        min(text_width("extraordinarily", font_size=12) / 210, 0.5)
    )


def test_counts_have_whole_ticks() -> None:
    drawn = figures.score_histogram(RNG.normal(size=2600), {"high": [1.0], "low": [-1.0, -1.0]}).to_dict()
    words, seeds = (layer["encoding"]["y"]["axis"]["values"] for layer in drawn["layer"])
    assert seeds == [0, 1, 2]
    assert all(isinstance(tick, int) for tick in words)
    assert len(words) <= 5


def test_marked_words_of_a_histogram_have_lines_of_their_own() -> None:
    rows = [{"word": word, "score": score} for word, score in (("a", 0.1), ("b", 0.1001), ("c", -2.0))]
    drawn = figures.score_histogram(RNG.normal(size=500), marked=rows).to_dict()
    lines = next(part["data"]["values"] for part in drawn["layer"] if "line" in str(part.get("data")))
    assert len({row["line"] for row in lines}) == 3
    assert {"a", "b", "c"} <= set(texts(figures.to_svg(figures.score_histogram([0.0, 1.0], marked=rows))))


def test_sides_and_labels_are_those_of_the_first_space_in_all_panels() -> None:
    rows = [{"word": f"w{i}", "space": "original", "man": i / 40, "woman": (20 - i) / 40} for i in range(21)]
    crossed = [{**row, "space": "erased", "man": row["woman"], "woman": row["man"]} for row in rows]
    for panels in (
        figures.anchor_scatter([*rows, *crossed], n_labels=4).to_dict()["hconcat"],
        [panel.to_dict() for panel in figures.difference_panels([*rows, *crossed], n_labels=4).values()],
    ):
        drawn = [packed_rows(panel) for panel in panels]
        before, after = ({row["word"]: row["side"] for row in part} for part in drawn)
        assert before == after
        assert before["w0"] == "woman"
        assert before["w20"] == "man"
        labelled = [{row["word"] for row in part if "right" in row} for part in drawn]
        assert labelled[0] <= {"w0", "w1", "w19", "w20"}
        assert labelled[1] <= {"w0", "w1", "w19", "w20"}
        assert all(labelled)


def test_differences_reach_as_far_to_either_side() -> None:
    for panel in figures.difference_panels(SCATTER).values():
        (domain,) = {tuple(part["x"]["scale"]["domain"]) for part in parts(panel.to_dict())
                     if "scale" in (part.get("x") or {})}  # fmt: skip
        assert domain[0] == -domain[1]
        for row in packed_rows(panel.to_dict()):
            assert row["across"] == row["man"] - row["woman"]  # the first anchor is at the right
    assert {"original", "complement"} == set(figures.difference_panels(SCATTER))


def test_an_interval_plot_reaches_over_its_intervals_and_marks_where_nothing_is_left() -> None:
    rows = [{**row, "low": -0.186, "high": 1.21} for row in MEASURED]
    drawn = figures.interval_plot(rows).to_dict()
    domains = [part["x"]["scale"]["domain"] for part in parts(drawn) if "scale" in (part.get("x") or {})]
    assert domains
    assert all(domain == [-0.2, 1.3] for domain in domains)
    assert [layer["mark"]["type"] for layer in drawn["vconcat"][0]["layer"]] == ["tick", "rule", "point"]


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_says_in_words_what_it_shows(name: str) -> None:
    assert len(CHARTS[name]().to_dict()["description"]) > 10 or name == "training_size"


OF_PANELS = ("training_size", "anchor_scatter", "interval_plot")  # drawn in reports, not on pages


@pytest.mark.parametrize("name", [name for name in CHARTS if name not in OF_PANELS])
def test_on_a_page_a_chart_takes_the_width_and_the_ground_of_the_page(name: str) -> None:
    spec = for_page(CHARTS[name]())
    assert "width" not in spec
    assert "background" not in spec["config"]
    assert spec["autosize"]["type"] == "fit-x"
    assert isinstance(spec.get("height"), int | float)  # in steps, Vega warns that it cannot fit it
    assert not {"hconcat", "vconcat", "data"} & spec.keys()  # neither fits a column; data would be taken out
    assert spec["datasets"]["table"]
    assert not {"right", "until", "marked"} & spec["datasets"]["table"][0].keys()


def test_on_a_dark_page_colours_are_brighter_and_words_stay_as_they_are() -> None:
    rows = [{"word": "#0072B2", "score": 2.0}, {"word": "b", "score": 1.0}]
    drawn = for_page(figures.ranked_words(rows, axis="#0072B2"))
    (colors,) = {
        str(part["color"]["scale"]["range"][0]) for part in parts(drawn) if "scale" in (part.get("color") or {})
    }
    assert "#0072B2" in colors
    assert "#5BB6EE" in colors
    assert "#0072B2" in next(part["domain"] for part in parts(drawn) if "\u2060highest" in (part.get("domain") or []))
    assert drawn["datasets"]["table"][0]["word"] == "#0072B2"


def contrast(color: str, ground: str) -> float:
    """The contrast ratio of WCAG 2."""
    lights = []
    for each in (color, ground):
        red, green, blue = (int(each[place : place + 2], 16) / 255 for place in (1, 3, 5))
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


MANY = [*method_looks(["densray", "densifier", "svm", "svr", "ridge", "a", "b", "c", "d"]).values()]
SERIES = list(dict.fromkeys(look[0] for look in (*MANY, *group_looks(list("abcde")).values())))


@pytest.mark.parametrize("color", SERIES)
def test_every_series_can_be_seen_on_white_and_on_dark_pages(color: str) -> None:
    assert contrast("#FFFFFF", "#000000") == pytest.approx(21)
    assert contrast("#E69F00", "#FFFFFF") < 3  # the orange of Okabe & Ito cannot
    assert contrast(color, "#FFFFFF") >= 3
    for ground in ("#14181E", "#16181B", "#121212", "#262730"):  # documentation, reports, files, the explorer
        assert contrast(_BRIGHT.get(color, color), ground) >= 3


def test_no_two_series_have_almost_the_same_colour() -> None:
    assert len(SERIES) == 9
    for colors in (SERIES, [_BRIGHT.get(color, color) for color in SERIES]):
        for first, second in combinations(colors, 2):
            apart = [abs(int(first[at : at + 2], 16) - int(second[at : at + 2], 16)) for at in (1, 3, 5)]
            assert max(apart) >= 45, (first, second)  # the two ambers had 26


def test_a_chart_on_a_dark_page_has_other_colours_and_the_same_words() -> None:
    rows = [{**row, "space": "#0072B2" if row["space"] == "original" else "black"} for row in MEASURED]
    chart = figures.interval_plot(rows, gone="chance")
    light, dark = figures.to_svg(chart), figures.to_svg(on_dark(chart, "#14181e"))
    assert dark_svg(light, "#14181e") == dark
    assert texts(dark) == texts(light)
    assert 'fill="#333333"' not in dark
    assert "white" not in dark


def test_a_line_that_is_the_same_in_all_rows_has_its_name() -> None:
    assert "chance" in texts(figures.to_svg(figures.interval_plot(MEASURED, gone="chance")))
    (line,) = (part for part in parts(figures.interval_plot(MEASURED, gone="chance").to_dict())
               if part.get("y2") == {"value": "height"})  # fmt: skip
    assert line["y"] == {"value": 0}  # through the whole panel


def test_the_line_of_chance_crosses_no_label_on_a_phone() -> None:
    long = [{**row, "measure": f"{row['measure']} of all words that were left out"} for row in MEASURED]
    for rows, is_whole in ((MEASURED, True), (long, False)):
        spec = for_phone(figures.interval_plot(rows, gone="chance"))
        assert any(part.get("y2") == {"value": "height"} for part in parts(spec)) == is_whole
        assert "chance" in texts(narrow_svg(figures.interval_plot(rows, gone="chance")))


def test_marks_that_differ_between_rows_have_their_name_in_the_legend() -> None:
    other = [{**row, "if_gone": 0.1 * number} for number, row in enumerate(MEASURED)]
    named = figures.interval_plot(other, gone="if gone")
    legends = [
        part["color"]["scale"]["domain"] for part in parts(named.to_dict()) if "scale" in (part.get("color") or {})
    ]
    assert {domain[-1] for domain in legends} == {"if gone"}
    assert texts(figures.to_svg(named)).count("if gone") == 1
    assert "if gone" not in texts(figures.to_svg(figures.interval_plot(other)))
    without = [{**row, "if_gone": None} for row in MEASURED]
    assert "if gone" not in texts(figures.to_svg(figures.interval_plot(without, gone="if gone")))


def test_the_axis_of_intervals_begins_at_the_tick_below_the_lowest() -> None:
    rows = [{**row, "low": 0.186, "if_gone": 0.5} for row in MEASURED]
    chart = figures.interval_plot(rows, least=0.4)
    domains = [part["x"]["scale"]["domain"] for part in parts(chart.to_dict()) if "scale" in (part.get("x") or {})]
    assert {tuple(domain) for domain in domains} == {(0.1, 1.0)}
    assert {"0.1", "0.2", "1.0"} <= set(texts(figures.to_svg(chart)))
    assert "0.15" not in texts(figures.to_svg(chart))


def test_the_line_of_chance_has_its_name() -> None:
    assert texts(figures.to_svg(figures.layer_curves(LAYERS))).count("chance") == 1


def test_the_axis_of_layers_begins_and_ends_at_a_label() -> None:
    for low in (0.45, 0.33, 0.12):
        drawn = figures.layer_curves([{**row, "low": low} for row in LAYERS]).to_dict()
        ups = [part["y"] for part in parts(drawn) if "axis" in (part.get("y") or {})]
        (domain,) = {tuple(up["scale"]["domain"]) for up in ups}
        (labels,) = {tuple(up["axis"]["values"]) for up in ups}
        assert domain == (labels[0], labels[-1])
        assert low - 0.2 < labels[0] <= low
        assert labels[-1] == 1.0


def test_seeds_that_are_left_out_together_are_one_row() -> None:
    rows = [{"word": word, "label": 1.0, "influence": 2.5} for word in ("defeat", "defeated", "defeating")]
    rows += [{"word": "defensive", "label": -1.0, "influence": 2.5}, {"word": "bad", "label": -1.0, "influence": 1.0}]
    drawn = figures.seed_influence(rows).to_dict()
    (names,) = {tuple(part["y"]["scale"]["domain"]) for part in parts(drawn) if "scale" in (part.get("y") or {})}
    assert names == ("defeat, defeated, … (3)", "defensive", "bad")


def test_both_axes_of_a_scatter_have_ticks_in_equal_steps() -> None:
    rows = [{"word": f"w{n}", "a": n / 40, "b": n / 20} for n in range(10)]
    drawn = figures.axis_scatter(rows, axes=("a", "b")).to_dict()
    steps = set()
    for channel in "xy":
        ends = next(part[channel] for part in parts(drawn) if "scale" in (part.get(channel) or {}))
        labels = ends["axis"]["values"]
        assert ends["scale"]["domain"][0] <= labels[0] < labels[-1] <= ends["scale"]["domain"][1]
        steps |= {round(second - first, 9) for first, second in pairwise(labels)}
    assert len(steps) == 1
    wide = [{**row, "b": 100 * row["b"]} for row in rows]  # no step fits both
    drawn = figures.axis_scatter(wide, axes=("a", "b")).to_dict()
    assert all("values" not in (part.get("axis") or {}) for part in parts(drawn))


def test_letters_follow_the_ground() -> None:
    vl_convert = pytest.importorskip("vl_convert", reason="figures are an extra")
    spec = CHARTS["axis_scatter"]().to_dict()
    light, dark = (
        vl_convert.vegalite_to_svg({**spec, "config": {**spec["config"], "background": ground}})
        for ground in ("white", "#171614")
    )
    assert 'fill="#333333"' in light
    assert 'fill="#333333"' not in dark
    assert 'stroke="#171614"' in dark  # the seam around labels


def test_a_histogram_counts_every_word_and_seed_once_on_one_range() -> None:
    scores, seeds = RNG.normal(size=500), {"high": [1.0, 2.0, 2.0], "low": [-1.5], "none": []}
    drawn = figures.score_histogram(scores, seeds, n_bins=20).to_dict()
    upper, lower = _data(drawn)[:2]
    assert sum(row["count"] for row in upper) == 500
    assert {row["group"]: 0 for row in lower} == {"high": 0, "low": 0}
    assert sum(row["count"] for row in lower) == 4
    assert drawn["layer"][0]["encoding"]["x"]["scale"] == drawn["layer"][1]["encoding"]["x"]["scale"]
    (above, below) = (layer["encoding"]["y"]["scale"]["range"] for layer in drawn["layer"])
    assert min(below) > max(above)
    with pytest.raises(DataError, match="nothing to draw"):
        figures.score_histogram([])


def test_the_words_furthest_from_the_line_are_labelled() -> None:
    rows = [{"word": f"w{i}", "space": "original", "man": i / 10, "woman": i / 10} for i in range(8)]
    rows += [{"word": "captain", "space": "original", "man": 0.6, "woman": 0.1}]
    rows += [{"word": "nurse", "space": "original", "man": 0.1, "woman": 0.6}]
    shown = texts(figures.to_svg(figures.anchor_scatter(rows, n_labels=2)))
    assert {"captain", "nurse"} <= set(shown)
    assert not any(re.fullmatch(r"w\d", text) for text in shown)


def test_axis_names_may_hold_any_character() -> None:
    assert "a.b: [c]" in texts(figures.to_svg(CHARTS["axis_scatter"]()))


def test_angles_are_written_in_their_cells_both_ways_round() -> None:
    written = texts(figures.to_svg(figures.angle_heat_map(ANGLES)))
    assert written.count("37.5") == 2
    assert written.count("0.0") == 2


def test_words_two_methods_part_on_are_labelled_on_both_sides_of_the_line() -> None:
    rows = [{"word": word, "first": n / 40, "second": n / 40} for n, word in enumerate(WORDS)]
    rows[3] |= {"word": "above", "second": 2.0}
    rows[4] |= {"word": "below", "first": 2.0}
    shown = set(texts(figures.to_svg(figures.agreement_scatter(rows, methods=("ridge", "svm"), n_labels=2))))
    assert {"above", "below"} <= shown
    assert not shown & set(WORDS)


def test_the_heat_map_shows_every_number_and_skips_missing_ones() -> None:
    rows = [*CELLS[:3], {**CELLS[3], "precision": float("nan")}]
    assert texts(figures.to_svg(figures.analogy_heat_map(rows))).count("0.25") == 3


def test_methods_differ_in_colour_shape_and_dash() -> None:
    looks = method_looks(["densray", "densifier", "svm", "svr", "ridge", "x", "y", "z"])
    for part in range(3):
        assert len({str(look[part]) for look in looks.values()}) == len(looks)
    assert method_looks(["z", "densray"])["densray"] == looks["densray"]
    assert method_looks(["z"]) == {"z": looks["densray"]}  # alone: solid blue


def test_the_first_and_the_last_label_are_centred_on_their_ticks() -> None:
    svg = figures.to_svg(figures.axis_scatter([{"word": "a", "x": 0.0, "y": 0.0}, {"word": "b", "x": 1.0, "y": 1.0}]))
    across = re.findall(r'<text text-anchor="(\w+)" transform="translate\([\d.]+,\d+\)"[^>]*>[−\d.]+</text>', svg)
    assert across
    assert set(across) <= {"middle", "end"}  # the labels of the vertical axis end at it


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<svg"), (".pdf", b"%PDF")])
def test_the_suffix_names_the_format(tmp_path: Path, suffix: str, start: bytes) -> None:
    path = figures.save(CHARTS["eigenvalue_spectrum"](), tmp_path / f"chart{suffix}")
    assert path.read_bytes().startswith(start)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_the_html_page_needs_no_network(tmp_path: Path) -> None:
    page = figures.save(CHARTS["eigenvalue_spectrum"](), tmp_path / "chart.html").read_text(encoding="utf-8")
    assert not re.search(r"<(script|link)[^>]+(src|href)\s*=", page)
    assert "vegaEmbed" in page


def test_the_html_page_has_a_title_a_language_and_the_width_of_the_window() -> None:
    rows = [{"word": word, "x": n, "y": n % 7} for n, word in enumerate(WORDS)]
    chart = figures.axis_scatter(rows, title="Words & <others>", interactive=True)
    page = figures.to_bytes(chart, "html").decode()
    assert '<html lang="en">' in page
    assert 'name="viewport"' in page
    assert re.search(r"<title>Words &amp; &lt;others&gt;[^<]*40 words by x", page)
    assert '"width": "container"' in page
    assert "prefers-color-scheme: dark" in page
    fixed = figures.to_bytes(figures.axis_scatter(rows), "html").decode()
    assert '"width": "container"' not in fixed


def test_charts_are_not_written_where_they_should_not(tmp_path: Path) -> None:
    chart = CHARTS["eigenvalue_spectrum"]()
    old = tmp_path / "old.svg"
    old.write_text("old")
    with pytest.raises(OutputError, match=r"not as '\.gif'"):
        figures.save(chart, tmp_path / "chart.gif")
    with pytest.raises(OutputError, match="does not exist"):
        figures.save(chart, tmp_path / "nowhere" / "chart.svg")
    with pytest.raises(OutputError, match="exists"):
        figures.save(chart, old, overwrite=False)
    assert old.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_has_a_layout_for_a_phone_with_letters_at_full_size(name: str) -> None:
    chart = CHARTS[name]()
    before, wide, narrow = chart.to_dict(), figures.to_svg(chart), narrow_svg(chart)
    assert chart.to_dict() == before
    width = float(re.search(r'<svg[^>]* width="([\d.]+)"', narrow)[1])
    assert abs(width - NARROW) <= 1
    sizes = [[float(size) for size in re.findall(r'<text[^>]*font-size="([\d.]+)px"', svg)] for svg in (wide, narrow)]
    assert min(sizes[1]) >= min(*sizes[0], 11)


def test_panels_stand_below_each_other_on_a_phone() -> None:
    chart = figures.anchor_scatter(SCATTER)
    assert "hconcat" in chart.to_dict()
    spec = for_phone(chart)
    assert len(spec["vconcat"]) == 2
    assert not [part for part in parts(spec) if "hconcat" in part]


def test_long_names_of_rows_stand_above_their_marks_on_a_phone() -> None:
    rows = [{**row, "measure": f"{row['measure']} of all words that were left out"} for row in MEASURED]
    for given, is_above in ((MEASURED, False), (rows, True)):
        drawn = for_phone(figures.interval_plot(given))
        axes = [part["y"]["axis"] for part in parts(drawn) if "axis" in (part.get("y") or {})]
        assert axes
        assert all((axis.get("labelAlign") == "left") == is_above for axis in axes)
        svg = narrow_svg(figures.interval_plot(given))
        assert all(row["measure"] in texts(svg) for row in given)  # none is cut


def test_a_long_title_is_wrapped_on_a_phone() -> None:
    title = "How much of the concept remains in words that the removal was not learned from"
    shown = texts(narrow_svg(figures.interval_plot(MEASURED, title=title)))
    assert title not in shown
    assert not any(text.endswith("…") for text in shown)


def test_both_layouts_are_written_next_to_each_other(tmp_path: Path) -> None:
    for suffix, start in ((".svg", b"<svg"), (".png", b"\x89PNG")):
        path = tmp_path / f"chart{suffix}"
        save_both(CHARTS["seed_influence"](), path)
        assert path.read_bytes().startswith(start)
        assert narrow_path(path).read_bytes().startswith(start)
        assert narrow_path(path).name == f"chart-narrow{suffix}"


def test_the_legend_of_influential_seeds_has_the_names_of_the_ends() -> None:
    assert {"high label", "low label"} <= set(texts(figures.to_svg(figures.seed_influence(SEEDS))))
    named = texts(figures.to_svg(figures.seed_influence(SEEDS, ends=("poor", "rich"))))
    assert named.index("rich") < named.index("poor")  # the higher first, as in blue
    assert "high label" not in named
    assert "same (low)" in texts(figures.to_svg(figures.seed_influence(SEEDS, ends=("same", "same"))))


def test_numbers_of_a_name_share_one_line_if_asked() -> None:
    one, several = (figures.interval_plot(MEASURED, one_line=one, least=0.3).to_dict() for one in (True, False))
    assert not [part for part in parts(one) if "yOffset" in part]
    assert [part for part in parts(several) if "yOffset" in part]
    domains = [part["x"]["scale"]["domain"] for part in parts(one) if "scale" in (part.get("x") or {})]
    assert all(domain == [0.3, 1.0] for domain in domains)


def test_of_two_classes_of_documents_the_second_is_blue_as_on_an_axis() -> None:
    drawn = figures.document_map(
        [{"text": w, "across": n, "up": -n, "shade": "wiki" if n % 2 else "lexis"} for n, w in enumerate(WORDS)],
        color="source",
    ).to_dict()
    (scale,) = {str(part["color"]["scale"]) for part in parts(drawn) if "scale" in (part.get("color") or {})}
    assert scale == str({"domain": ["lexis", "wiki"], "range": ["#D55E00", "#0072B2"]})


def test_a_figure_goes_into_a_report() -> None:
    from densray.report import Figure, Section, to_html

    figure = figures.figure(CHARTS["eigenvalue_spectrum"](), "Eigenvalues")
    page = to_html(Section("Axis", figures=[figure]))
    assert re.findall(r'<source media="([^"]*)" srcset="data:image/svg\+xml;base64,', page) == [
        "(max-width: 720px) and (prefers-color-scheme: dark)",
        "(max-width: 720px)",
        "(prefers-color-scheme: dark)",
    ]
    grounds = re.findall(
        r'<rect width="\d+" height="\d+" fill="([^"]+)"', figure.svg + figure.dark + figure.dark_narrow
    )
    assert len(grounds) == 3
    assert grounds[0] == "white"
    css = resources.files("densray.report").joinpath("page.css").read_text("utf-8")
    assert {f"--paper: {ground};" in css for ground in grounds[1:]} == {True}
    assert "<source" not in to_html(Section("Axis", figures=[Figure(figure.svg, "Eigenvalues")]))


def test_figures_below_each_other_have_one_width_and_a_phone_has_its_own() -> None:
    charts = [CHARTS["ranked_words"](), CHARTS["score_histogram"]()]
    drawn = [figures.figure(chart, "Words", width=640) for chart in charts]
    widths = [re.search(r'width="([\d.]+)"', svg)[1] for each in drawn for svg in (each.svg, each.dark)]
    assert set(widths) == {"640"}
    assert len({re.search(r'width="([\d.]+)"', figures.figure(chart, "").svg)[1] for chart in charts}) == 2
    assert [each.narrow for each in drawn] == [figures.figure(chart, "").narrow for chart in charts]


def test_bad_rows_are_named() -> None:
    with pytest.raises(DataError, match="nothing to draw"):
        figures.ranked_words([])
    with pytest.raises(DataError, match="nothing to draw"):
        figures.eigenvalue_spectrum([])
    with pytest.raises(DataError, match="Row 1 to draw has no 'score'"):
        figures.ranked_words([{"word": "a", "score": 1}, {"word": "b"}])


def test_a_missing_extra_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtraError, match=r'pip install "densray\[figures\]"'):
        figures.ranked_words([{"word": "a", "score": 1}])


def boxes(placed: list[Any], font_size: float = 11) -> list[tuple[float, float, float, float]]:
    found = []
    for label in placed:
        half = text_width(label.text, font_size=font_size) / 2, font_size / 2
        (x, y) = label.middle
        found.append((x - half[0], y - half[1], x + half[0], y + half[1]))
    return found


def test_labels_neither_overlap_nor_leave_the_chart() -> None:
    points = [tuple(point) for point in RNG.uniform(0, 300, (80, 2)).tolist()]
    placed = place_labels([f"label{n}" for n in range(80)], points, size=(300, 300), obstacles=points)
    assert len(placed) > 20
    drawn = boxes(placed)
    for number, (left, top, right, bottom) in enumerate(drawn):
        assert min(left, top) >= 0
        assert max(right, bottom) <= 300
        for other in drawn[:number]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top


def test_the_first_label_is_placed_before_the_rest() -> None:
    crowd = [(50.0, 50.0)] * 60
    placed = place_labels([f"label{n}" for n in range(60)], crowd, size=(100, 100))
    assert len(placed) < 60


def test_a_lone_label_lies_next_to_its_point_without_a_leader() -> None:
    (label,) = place_labels(["word"], [(100.0, 100.0)], size=(300, 200))
    assert label.leader is None
    assert label.middle[1] == 100.0
    assert label.middle[0] > 100.0


def test_results_of_the_library_are_drawn_as_they_are() -> None:
    space, lexicon = planted_space(80, 6, strength=2.0)
    induced = induce(space, lexicon, n_resamples=20)
    rows = induced.to_polars().rows(named=True)
    even = induced.even_odds
    wanted = figures.ranked_words(rows, n_words=5, neutral=even).to_dict()
    assert figures.ranked_words(induced, n_words=5).to_dict() == wanted
    moved = compare_spaces(space, space.with_vectors(space.vectors[:, ::-1] + 0.1), lexicon)
    assert (
        figures.moved_words(moved, n_words=5).to_dict()
        == figures.moved_words([*moved.risen[:5], *moved.fallen[:5]]).to_dict()
    )
    assert figures.ranked_words(induced.to_polars(), n_words=5, neutral=even).to_dict() == wanted
    assert figures.ranked_words(induced.to_polars().to_pandas(), n_words=5, neutral=even).to_dict() == wanted
    assert len(_data(figures.ranked_words(induced, n_words=50).to_dict())[1]) == 80  # half of the words are 40
    histogram = figures.score_histogram(induced.scores.score, neutral=even).to_dict()
    assert figures.score_histogram(induced).to_dict() == histogram
    diagnosis = diagnose(space, lexicon, n_resamples=20, n_permutations=19)
    assert figures.seed_influence(diagnosis).to_dict() == figures.seed_influence(diagnosis.influential).to_dict()
    comparison = compare_methods(space, lexicon, methods=["ridge", "mean-difference"], folds=3)
    assert figures.angle_heat_map(comparison).to_dict() == figures.angle_heat_map(comparison.angles).to_dict()


def test_the_axis_of_numbers_that_are_all_the_same_stays_near_them() -> None:
    assert padded_domain([0.5, 0.5]) == pytest.approx((0.47, 0.53))
    assert padded_domain([-2.0]) == pytest.approx((-2.12, -1.88))
    assert padded_domain([0.0, 0.0]) == (-1.0, 1.0)
    assert padded_domain([0.0, 1.0], share=0.1) == pytest.approx((-0.1, 1.1))


def test_the_texts_of_a_file_say_how_wide_they_are():
    """Otherwise a machine with a wider font cuts them: charts are laid out for Helvetica, Arial or Liberation Sans."""
    from densray.figures._letters import with_widths, written_width

    assert written_width("Kozlowski (gender)", 12) == pytest.approx(102.024)
    assert written_width("Kozlowski", 12, bold=True) > written_width("Kozlowski", 12)
    assert written_width("café", 10) == written_width("cafe", 10)
    assert written_width("日本語", 12) is None
    svg = figures.to_svg(CHARTS["ranked_words"]())
    assert all("textLength" in look for look, text in re.findall(r"<text([^>]*)>([^<]+)</text>", svg) if len(text) > 1)
    assert with_widths(svg) == svg
    assert 'font-family="Arial, Helvetica,' in svg  # fonts of these widths, if there are any
    assert "spacingAndGlyphs" not in svg  # letters keep their shape in others
    assert with_widths('<text font-size="12px">日本語</text>') == '<text font-size="12px">日本語</text>'
