"""Two axes against each other: what is labelled, marked, coloured, hovered over and zoomed."""

from __future__ import annotations

import re

import numpy as np
import pytest

from charts import packed_rows, parts
from densray.errors import DataError, OutputError
from densray.figures import axis_scatter, to_bytes, to_svg
from densray.figures._style import INK
from densray.figures._words import SHADES

pytest.importorskip("altair", reason="figures are an extra")

RNG = np.random.default_rng(0)
ROWS = [
    {"word": f"w{number}", "good": x, "he": y, "old": z, "good rank": number, "he rank": 300 - number}
    for number, (x, y, z) in enumerate(RNG.normal(size=(300, 3)).tolist())
]


def drawn(chart):
    """The rows of a scatter, as the chart carries them."""
    return packed_rows(chart.to_dict())


def labels(svg):
    return {*re.findall(r"<text[^>]*>(w\d+)</text>", svg)}


def test_all_words_are_drawn_where_they_are():
    rows = drawn(axis_scatter(ROWS, axes=("good", "he")))
    assert [(row["word"], row["across"], row["up"]) for row in rows] == [
        (row["word"], row["good"], row["he"]) for row in ROWS
    ]


def test_words_are_labelled_all_around_the_outline():
    ring = [
        {"word": f"w{n}", "x": 5 * np.cos(angle), "y": np.sin(angle)}
        for n, angle in enumerate(np.arange(8) * np.pi / 4 + 0.1)
    ]
    crowd = [{"word": f"inner{n}", "x": x, "y": y / 5} for n, (x, y) in enumerate(RNG.uniform(-1, 1, (50, 2)).tolist())]
    svg = to_svg(axis_scatter([*crowd, *ring], n_labels=8))
    assert labels(svg) == {row["word"] for row in ring}
    assert ">inner" not in svg


def test_marked_words_are_labelled_first_with_a_ring_in_the_colour_of_text():
    middle = min(ROWS, key=lambda row: row["good"] ** 2 + row["he"] ** 2)["word"]
    assert middle not in labels(to_svg(axis_scatter(ROWS, axes=("good", "he"), n_labels=20)))
    chart = axis_scatter(ROWS, axes=("good", "he"), n_labels=20, marked=[middle, "not there"])
    svg = to_svg(chart)
    assert middle in labels(svg)
    assert re.search(rf'<text[^>]*font-weight="bold"[^>]*fill="{INK}"[^>]*>{middle}</text>', svg)
    assert [row["word"] for row in drawn(chart) if row.get("marked")] == [middle]
    assert f'stroke="{INK}" stroke-width="2"' in svg  # a colour of the scale would name a side


def test_a_third_axis_colours_its_two_sides_and_names_its_ends():
    chart = axis_scatter(ROWS, axes=("good", "he"), color="old", ends={"old": ("young", "aged")}, neutral={"old": 0.0})
    (color,) = [part for part in parts(chart.to_dict()) if part.get("field") == "shade" and "scale" in part]
    low, middle, high = color["scale"]["domain"]
    values = [row["old"] for row in ROWS]
    assert (low, middle) == (-high, 0.0)
    (color,) = [part for part in parts(axis_scatter(ROWS, axes=("good", "he"), color="old").to_dict())
                if part.get("field") == "shade" and "scale" in part]  # fmt: skip
    low, middle, high = color["scale"]["domain"]
    assert min(values) < low < high < max(values)
    assert middle == pytest.approx((low + high) / 2)
    svg = to_svg(chart)
    assert ">← young<" in svg
    assert ">aged →<" in svg
    one_sided = [{**row, "old": abs(row["old"])} for row in ROWS]
    (color,) = [part for part in parts(axis_scatter(one_sided, axes=("good", "he"), color="old").to_dict())
                if part.get("field") == "shade" and "scale" in part]  # fmt: skip
    assert color["scale"]["domain"][0] > 0


@pytest.mark.parametrize(("ground", "which"), [("#FFFFFF", 0), ("#171614", 1)])
def test_both_sides_and_the_middle_are_seen_on_either_ground(ground, which):
    def luminance(color):
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(color):
        light, dark = sorted([luminance(color), luminance(ground)], reverse=True)
        return (light + 0.05) / (dark + 0.05)

    low, middle, high = (contrast(pair[which]) for pair in SHADES)
    assert min(low, high) > 3  # what the guidelines for accessible content ask of graphics
    assert 2 < middle < min(low, high)


def test_the_ends_of_the_axes_are_written_at_their_ends():
    chart = axis_scatter(ROWS, axes=("good", "he"), ends={"good": ("bad", "fine"), "he": ("she", "man")})
    svg = to_svg(chart)
    for text in ("← bad", "fine →", "← she", "man →"):
        assert f">{text}</text>" in svg
    titles = [part["axis"]["title"] for part in parts(chart.to_dict()) if "title" in (part.get("axis") or {})]
    assert set(titles) == {None}  # the name stands between the ends instead


@pytest.mark.parametrize("spread", [0.05, 1.0, 300.0])
def test_an_axis_has_at_most_nine_ticks(spread):
    rows = [{**row, "good": row["good"] * spread} for row in ROWS]
    svg = to_svg(axis_scatter(rows, axes=("good", "he"), size=(1400, 900)))
    labels = re.findall(r'role-axis-label"[^>]*>(.*?)</g>', svg, flags=re.DOTALL)
    assert len(labels) == 2
    assert all(3 <= each.count("<text") <= 9 for each in labels)


def test_hovering_shows_coordinates_and_ranks():
    spec = axis_scatter(ROWS, axes=("good", "he"), color="old").to_dict()
    (shown,) = [part["tooltip"] for part in parts(spec) if isinstance(part.get("tooltip"), list)]
    assert [each["title"] for each in shown] == ["word", "“good”", "“good”, rank", "“he”", "“he”, rank", "“old”"]
    assert {each.get("format") for each in shown if "rank" not in each["title"]} == {None, ".3f"}


@pytest.mark.parametrize(
    "name", ["\\", '\\": warn(1), "', "two\nlines", "__proto__", "constructor", 'a "b"', "a.b[0]:Q"]
)
def test_no_name_of_an_axis_is_read_as_an_expression(name):
    rows = [{"word": row["word"], name: row["good"], "he": row["he"]} for row in ROWS]
    named, usual = (
        to_svg(axis_scatter(given, axes=(axis, "he"), titles=("x", "y")))
        for given, axis in ((rows, name), (ROWS, "good"))
    )
    assert len(labels(usual)) > 10
    assert labels(named) == labels(usual)


def test_an_interactive_map_zooms_and_lets_a_click_pick_a_word():
    still = axis_scatter(ROWS, axes=("good", "he"), n_labels=20)
    moving = axis_scatter(ROWS, axes=("good", "he"), n_labels=20, interactive=True)
    assert "params" not in still.to_dict()
    assert [param.get("bind") for param in moving.to_dict()["params"]] == ["scales", None]
    assert "w" in "".join(labels(to_svg(moving)))


def test_a_script_in_a_word_stays_text_in_a_page():
    evil = "</script><script>alert(1)</script>"
    rows = [{"word": evil, evil: 1.0, "y": 2.0}, {"word": "good", evil: 0.0, "y": 0.0}]
    page = to_bytes(axis_scatter(rows, axes=(evil, "y"), title=evil), "html").decode()
    assert "alert(1)" in page
    assert "<script>alert" not in page


def test_bad_input_is_named():
    with pytest.raises(DataError, match="has no 'old'"):
        axis_scatter([{"word": "a", "x": 1, "y": 2}], color="old")
    with pytest.raises(OutputError, match="'gif' is not a chart format"):
        to_bytes(axis_scatter([{"word": "a", "x": 1, "y": 2}]), "gif")


def test_one_word_and_one_axis_twice_are_drawn():
    assert "NaN" not in to_svg(axis_scatter([{"word": "w1", "x": 1.0, "y": 2.0}], color="x", interactive=True))
    assert "NaN" not in to_svg(axis_scatter(ROWS, axes=("good", "good")))
