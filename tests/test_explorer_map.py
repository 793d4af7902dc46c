"""The page that maps words on named axes, without a browser."""

from __future__ import annotations

import json

import numpy as np
import pytest

from charts import packed_rows, parts, unpacked_map
from densray import WordSpace
from densray.datasets import load_space, load_word_list
from densray.errors import TaskError
from densray.explorer.settings import DEFAULTS, AxisChoice
from densray.explorer.sidebar import MAX_PINNED
from densray.explorer.word_map import MapAxis, known_locations, pack_map, pack_words
from densray.explorer.words import words_of_text
from explorer_page import open_page, texts

pytest.importorskip("altair", reason="figures are an extra")

KEPT = AxisChoice("royal", "lists", high="king queen prince", low="farmer worker peasant")


def spec(page) -> dict:
    (found,) = page.get("vega_lite_chart")
    return json.loads(found.proto.spec)


def points(page) -> dict[str, dict]:
    """The words on the map, with what is drawn of them."""
    return {row["word"]: row for row in packed_rows(spec(page))}


def whole_map(page) -> dict:
    """The whole vocabulary on the map, as the page receives it."""
    _, found = page.get("bidi_component")  # the first one reports the width of the window
    return unpacked_map(found.proto.bytes)


def titles(page) -> list[str]:
    """What is written along x and y: at the low end, in the middle, at the high end."""
    written = [
        (part["mark"]["angle"], part["encoding"]["text"]["value"])
        for part in parts(spec(page))
        if "value" in ((part.get("encoding") or {}).get("text") or {})
    ]
    return [" ".join(text for turned, text in written if turned == angle) for angle in (0, 270)]


class TestTheMap:
    def test_it_opens_with_the_whole_vocabulary_coloured_by_the_share_of_women(self):
        page = open_page("map")
        found = whole_map(page)
        assert found["count"] == len(load_space("googlenews-26k"))
        assert len(found["scores"]) == 3
        assert page.query_params["shown"] in ("frequent", ["frequent"])
        assert page.selectbox(key="setting color").value == "us-occupation-shares"

    def test_a_number_of_points_in_the_address_asks_for_frequent_words_without_colour(self):
        page = open_page("map", points="500")
        assert list(points(page)) == list(load_space("googlenews-26k").words[:500])
        assert page.selectbox(key="setting color").value == ""

    def test_the_whole_vocabulary_is_on_the_current_axis_and_gender(self):
        page = open_page("map", shown="frequent")
        assert not page.exception
        assert not page.error
        found = whole_map(page)
        assert found["words"] == list(load_space("googlenews-26k").words)
        assert [axis["name"] for axis in found["axes"]] == ["good – bad", "gender"]
        assert "horrible" in found["axes"][0]["low"]
        assert "mother" in found["axes"][1]["low"]
        assert found["colors"] is None
        across, up = (dict(zip(found["words"], scores.tolist(), strict=True)) for scores in found["scores"])
        assert up["she"] < 0 < up["he"]
        assert across["bad"] < 0 < across["good"]
        assert "26,423 words" in texts(page.caption)

    def test_some_words_are_a_chart_with_labels(self):
        page = open_page("map", points="2000")
        assert [words in title for words, title in zip(("horrible", "mother"), titles(page), strict=True)] == [
            True,
            True,
        ]
        found = points(page)
        assert list(found) == list(load_space("googlenews-26k").words[:2000])
        assert "2,000 words" in texts(page.caption)
        assert "shade" not in found["he"]

    def test_whole_map_and_chart_have_the_same_coordinates_and_colours(self):
        settings = {"x": "gender", "y": "hu-liu", "color": "us-occupation-shares", "mark": "nurse"}
        whole, few = (
            whole_map(open_page("map", shown="frequent", **settings)),
            points(open_page("map", points="500", **settings)),
        )
        rows = [whole["words"].index(word) for word in few]
        for key, scores, ranks in zip(("across", "up", "shade"), whole["scores"], whole["ranks"], strict=True):
            np.testing.assert_allclose(scores[rows], [row[key] for row in few.values()], rtol=1e-6, atol=1e-9)
            assert ranks[rows].tolist() == [row[f"{key}_rank"] for row in few.values()]
        assert [whole["words"][row] for row in whole["marked"]] == ["nurse"]

    def test_without_webgl_the_most_frequent_words_are_a_chart(self):
        page = open_page("map", shown="frequent")
        page.session_state["without webgl"] = True
        page.run()
        assert len(points(page)) == 5_000
        assert "needs WebGL" in texts(page.info)

    def test_coordinates_are_those_of_the_axis(self):
        space = load_space("googlenews-26k").normalized()
        found = points(open_page("map", x="gender", y="hu-liu", points="500"))
        lean = np.array([found[word]["across"] for word in ("he", "she", "company")])
        assert (lean[:1] > lean[1:]).all()
        # on the line from she to he words keep their order
        direction = space["he"] - space["she"]
        words = list(found)[:300]
        by_hand = space[words] @ direction
        assert np.corrcoef(by_hand, [found[word]["across"] for word in words])[0, 1] > 0.6

    def test_a_third_axis_colours_the_words(self):
        page = open_page("map", color="us-occupation-shares", mark="nurse coach", points="500")
        (legend,) = [part["legend"] for part in parts(spec(page)) if "title" in (part.get("legend") or {})]
        assert legend["title"] == "share of women (US)"
        assert "← carpenter, laborer" in legend["labelExpr"].replace("\\u2190", "←")
        assert "nurse, secretary →" in legend["labelExpr"].replace("\\u2192", "→")
        assert points(page)["nurse"]["shade"] > points(page)["coach"]["shade"]

    def test_words_are_marked_and_put_on_the_map_if_need_be(self):
        assert "housewife" not in points(open_page("map", points="500"))
        page = open_page("map", points="500", mark="housewife company")
        found = points(page)
        assert len(found) == 501
        assert {word for word, row in found.items() if row.get("marked")} == {"housewife", "company"}
        assert "right" in found["housewife"]

    def test_a_marked_word_the_space_lacks_is_named_with_what_it_has(self):
        page = open_page("map", mark="bussinessman", points="500")
        assert "“bussinessman” is not in the space. It has “businessman”." in texts(page.warning)

    def test_many_missing_words_to_mark_are_listed(self):
        page = open_page("map", mark="king qqqa qqqb qqqc qqqd", points="500")
        assert not page.warning
        assert "4 of 5 words to mark are not in the space" in [each.label for each in page.expander]

    def test_it_zooms(self):
        few, many = spec(open_page("map", points="500")), spec(open_page("map", points="2000"))
        names = [param["name"] for drawn in (few, many) for param in drawn["params"]]
        assert names == ["zoom", "picked"] * 2
        assert many["usermeta"]["embedOptions"]["renderer"] == "canvas"
        assert "renderer" not in few.get("usermeta", {}).get("embedOptions", {})


class TestWhichWords:
    def test_occupations_are_a_choice_away(self):
        page = open_page("map", points="500")
        page.selectbox(key="setting shown").set_value("occupations").run()
        assert set(points(page)) == set(load_word_list("occupations"))

    def test_a_list_is_shown_alone_and_missing_words_are_listed(self):
        page = open_page("map", shown="list")
        assert "Type words of the space" in texts(page.info)
        page.text_area(key="setting list").set_value("nurse\ndoctor\nnowordofthiskind").run()
        assert set(points(page)) == {"nurse", "doctor"}
        assert "1 of 3 words are not in the space" in [each.label for each in page.expander]
        assert page.query_params["list"] in ("nurse\ndoctor\nnowordofthiskind", ["nurse\ndoctor\nnowordofthiskind"])

    def test_seeds_of_the_axes_are_shown(self):
        found = set(points(open_page("map", shown="seeds", y="current")))
        assert found == {*words_of_text(DEFAULTS["high"]), *words_of_text(DEFAULTS["low"])}

    def test_fewer_words_than_asked_for_are_all_shown(self, monkeypatch):
        import densray.explorer.workbench as module

        space = load_space("googlenews-26k").limit(1_200)
        monkeypatch.setattr(module, "_benches", {"it": module.Workbench(space)})
        assert len(points(open_page("map", high="good great", low="bad poor", y="current", points="2000"))) == 1_200


class TestAxesToChooseFrom:
    def test_an_axis_is_kept_while_the_next_is_made(self):
        page = open_page("map", points="500")
        next(button for button in page.button if button.label == "Pin this axis").click().run()
        page.text_area(key="setting high").set_value("king queen prince").run()
        page.text_area(key="setting low").set_value("farmer worker peasant").run()
        page.selectbox(key="setting y").set_value("pinned good – bad").run()
        assert not page.error
        across, up = titles(page)
        assert "king" in across
        assert "horrible" in up
        line = page.query_params["axes"]
        assert AxisChoice.from_text(line if isinstance(line, str) else line[0]).name == "good – bad"

    def test_a_kept_axis_comes_with_the_address_and_is_dropped_with_a_click(self):
        page = open_page("map", axes=KEPT.to_text(), x="pinned royal", points="500")
        assert "royal" in titles(page)[0]
        page.button(key="select royal").click().run()
        assert page.text_area(key="setting high").value == KEPT.high
        assert page.text_input(key="setting name").value == "royal"
        page.button(key="unpin royal").click().run()
        assert page.selectbox(key="setting x").value == "current"
        assert "axes" not in page.query_params

    def test_a_lexicon_is_taken_in_hand_again_without_touching_the_lists(self):
        kept = AxisChoice("gender", "lexicon", lexicon="gender", method="densray-unit", without="boy").to_text()
        page = open_page("map", axes=kept, high="kind warm gentle", points="500")
        page.button(key="select gender").click().run()
        found = {name: page.query_params[name] for name in ("source", "lexicon", "method", "without", "high")}
        assert {name: value if isinstance(value, str) else value[0] for name, value in found.items()} == {
            "source": "lexicon", "lexicon": "gender", "method": "densray-unit", "without": "boy",
            "high": "kind warm gentle",
        }  # fmt: skip
        assert "name" not in page.query_params

    def test_two_axes_of_one_name_have_distinct_titles(self):
        twin = AxisChoice("gender", "lists", high="king prince duke", low="queen princess duchess")
        page = open_page("map", axes=twin.to_text(), x="pinned gender", y="gender", points="500")
        found = points(page)
        assert len({row["across"] - row["up"] for row in found.values()}) > 100
        assert ["(pinned)" in title for title in titles(page)] == [True, False]

    def test_the_same_axis_twice_is_pointed_out(self):
        page = open_page("map", x="gender", y="gender", points="500")
        assert "Both axes are the same." in texts(page.info)
        assert "The angle between the axes is 0°" in texts(page.caption)

    def test_only_so_many_are_kept(self):
        lines = "\n".join(AxisChoice(f"a{n}", "lists", high="good", low="bad").to_text() for n in range(MAX_PINNED))
        page = open_page("map", axes=lines, points="500")
        next(button for button in page.button if button.label == "Pin this axis").click().run()
        kept = [button.label for button in page.button if str(button.key).startswith("select ")]
        assert len(kept) == MAX_PINNED
        assert "a0" not in kept

    def test_an_empty_current_axis_does_not_affect_other_axes(self):
        page = open_page("map", high="", x="hu-liu", y="gender", points="500")
        assert not page.error
        assert len(points(page)) == 500
        assert "“Words at the high end” is empty" in texts(open_page("map", high="").error)


class TestBadInput:
    def test_rubbish_in_the_address_falls_back(self):
        page = open_page("map", x="nothing", y="../etc", color="rubbish", points="9999999", shown="x", axes="y\nz=1")
        assert not page.exception
        assert not page.error
        assert page.selectbox(key="setting x").value == "current"
        assert whole_map(page)["count"] == len(load_space("googlenews-26k"))

    def test_a_script_in_a_list_or_a_name_is_text(self):
        evil = "<script>alert(1)</script>"
        kept = AxisChoice(evil, "lists", high="good", low="bad").to_text()
        page = open_page("map", mark=evil, axes=kept, x=f"pinned {evil}", points="500")
        assert f"“{evil}” is not in the space" in texts(page.warning)
        assert evil in titles(page)[0]
        assert not page.get("html")
        assert all("<script>" not in element.value.replace("\\<", "") for element in page.warning)

    def test_a_space_without_the_words_of_a_lexicon_says_so(self, monkeypatch):
        import densray.explorer.workbench as module

        words = ["good", "great", "bad", "poor", *(f"w{number}" for number in range(30))]
        vectors = np.random.default_rng(0).normal(size=(len(words), 5)).astype(np.float32)
        monkeypatch.setattr(module, "_benches", {"it": module.Workbench(WordSpace(words, vectors))})
        page = open_page("map", high="good great", low="bad poor")
        assert "too few words of the axis “gender”. Choose another axis under “Up”" in texts(page.info)
        page.selectbox(key="setting y").set_value("current").run()
        assert whole_map(page)["count"] == len(words)


class TestTheCard:
    def test_a_word_is_looked_at_and_joins_a_list(self):
        page = open_page("map", points="500", card="people")
        shown = texts(page.markdown)
        assert "Nearest words, by cosine: " in shown
        assert "On “gender”: score " in shown
        page.button(key="card high").click().run()
        assert page.text_area(key="setting high").value.endswith(" people")
        page.button(key="card mark").click().run()
        assert page.text_input(key="setting mark").value == "people"
        assert page.query_params["words"] in ("people", ["people"])

    def test_a_click_opens_the_card(self):
        drawn = spec(open_page("map", points="500"))
        picked = [each for each in drawn["params"] if each["name"] == "picked"]
        assert picked[0]["select"]["fields"] == ["word"]

    def test_a_word_is_found_in_any_case(self):
        assert "Nearest words, by cosine: " in texts(open_page("map", points="500", card="PEOPLE").markdown)

    def test_a_word_that_the_space_lacks_has_no_card(self):
        page = open_page("map", points="500", card="xyzzy")
        assert "“xyzzy” is not in the space." in texts(page.warning)
        assert "Nearest words, by cosine: " not in texts(page.markdown)


class TestFiles:
    @pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("html", b"<!DOCTYPE html>")])
    def test_the_map_is_drawn_when_it_is_asked_for(self, kind, start):
        from densray.explorer.views import map as module
        from densray.figures import axis_scatter

        asked = []

        def draw(*, interactive):
            asked.append(interactive)
            return axis_scatter([{"word": "a", "x": 1.0, "y": 2.0}], interactive=interactive)

        assert module.picture(draw, kind).lstrip().startswith(start)
        assert asked == [kind == "html"]

    def test_four_files_are_offered(self):
        page = open_page("map", points="500")
        assert "Downloads" in texts(page.header)
        labels = [button.label for button in page.get("download_button")]
        assert labels == ["Map .png", "Map .svg", "Map .html", "Coordinates .parquet"]


def axis(scores, name="axis") -> MapAxis:
    scores = np.asarray(scores, dtype=np.float64)
    return MapAxis(name, "low", "high", scores, np.argsort(np.argsort(-scores)) + 1)


class TestPacking:
    @pytest.mark.parametrize("count", [1, 2, 3, 1_000])
    def test_positions_survive_to_single_precision_and_ranks_exactly(self, count):
        random = np.random.default_rng(count)
        sides = [axis(random.normal(size=count) * scale) for scale in (1e-3, 1.0, 1e3)]
        words = [f"wört{number}" for number in range(count)]
        found = unpacked_map(pack_map(pack_words(words), *sides, marked=[count - 1], can_add=True))
        assert found["words"] == words
        assert (found["marked"], found["can_add"]) == ([count - 1], True)
        for side, scores, ranks in zip(sides, found["scores"], found["ranks"], strict=True):
            np.testing.assert_allclose(scores, side.scores, rtol=1e-7)
            assert ranks.tolist() == side.ranks.tolist()

    def test_a_word_with_a_line_end_shifts_no_other_word(self):
        found = unpacked_map(
            pack_map(pack_words(["one\ntwo", "three\u2028", "four"]), axis([1, 2, 3]), axis([1, 2, 3]))
        )
        assert found["words"] == ["one two", "three\u2028", "four"]

    def test_single_words_do_not_wash_out_the_colours(self):
        shades = np.append(np.linspace(-1, 1, 1_000), 1e6)
        words = [str(number) for number in range(len(shades))]
        low, high = unpacked_map(pack_map(pack_words(words), axis(shades), axis(shades), axis(shades)))["colors"]
        assert -1 < low < -0.9
        assert 0.9 < high < 1.1

    def test_words_and_scores_of_different_lengths_are_an_error(self):
        with pytest.raises(TaskError, match=r"“up” has scores of shape \(3,\).*a map of 2 words"):
            pack_map(pack_words(["a", "b"]), axis([1, 2]), axis([1, 2, 3], "up"))

    def test_no_words_make_no_map(self):
        with pytest.raises(TaskError, match="at least one word"):
            pack_map(pack_words([]), axis([]), axis([]))

    def test_scores_that_are_not_finite_are_counted(self):
        with pytest.raises(TaskError, match="2 of 3 scores on “up” are not finite"):
            pack_map(pack_words(["a", "b", "c"]), axis([1, 2, 3]), axis([1, np.nan, np.inf], "up"))

    def test_a_mark_outside_the_map_is_an_error(self):
        with pytest.raises(TaskError, match="word 2 is to be marked; the map has words 0 to 1"):
            pack_map(pack_words(["a", "b"]), axis([1, 2]), axis([1, 2]), marked=[2])

    def test_a_page_can_name_only_words_of_the_map(self):
        assert known_locations([0, 4, 5, -1, 1.0, "1", None, True], 5) == [0, 4]
        assert known_locations({"x": 1}, 5) == []
