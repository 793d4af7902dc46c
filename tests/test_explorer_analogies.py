"""The Analogies page: a question of one's own with the parts of its scores; the benchmark and its misses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from densray import WordSpace
from densray.analogies import AnalogySet
from densray.analogy import SOLVERS, Prediction, evaluate_analogies, make_solver
from densray.datasets import load_analogies
from densray.explorer.settings import DEFAULTS
from densray.explorer.words import MOST_PAIRS, pairs_of_text, text_of_pairs
from densray.explorer.workbench import Workbench
from explorer_page import open_page, texts

PAIRS = "man woman\nfather mother\nson daughter"


def asked(query):
    """A value of the address, which Streamlit's test frame gives in a list."""
    return query[0] if isinstance(query, list) else query


class TestAsk:
    def test_answers_are_those_of_the_library_with_their_parts(self, googlenews):
        page = open_page("analogies")
        solver = make_solver("intcos-original", googlenews).fit(pairs_of_text(DEFAULTS["pairs"]).categories[0])
        expected = solver.predict("uncle")
        assert not page.exception
        assert page.header[0].value == "uncle → aunt"
        shown = page.table[0].value
        assert list(shown["word"]) == [answer.word for answer in expected]
        assert list(shown["cosine"]) == pytest.approx([answer.parts["cosine"] for answer in expected], abs=1e-6)
        assert list(shown["score"]) == pytest.approx(list(shown["class score"] * shown["cosine"]), abs=1e-6)
        assert page.query_params == {}

    @pytest.mark.slow
    @pytest.mark.parametrize("name", SOLVERS)
    def test_every_solver_answers_and_shows_the_parts_once(self, name):
        page = open_page("analogies", solver=name, pairs=PAIRS)
        assert not page.exception
        assert not page.error
        shown = page.table[0].value
        assert len(shown) == 10
        assert 4 <= len(shown.columns) <= 6  # rank, word, score, and up to three parts of it
        assert not page.get("vega_lite_chart")
        whole = [frame.value for frame in page.dataframe]
        assert bool(whole) == name.startswith("intrank")  # others have no further parts
        assert all(list(frame["word"]) == list(shown["word"]) for frame in whole)
        chosen = [box for box in page.selectbox if box.key == "setting rotation"]
        assert bool(chosen) == bool(SOLVERS[name].rotation)

    def test_another_axis_changes_the_scores(self):
        first, second = (
            open_page("analogies", pairs=PAIRS, rotation=name).table[0].value
            for name in ("densray-unit", "mean-difference")
        )
        assert list(first["class score"]) != pytest.approx(list(second["class score"]), abs=1e-4)

    def test_what_is_typed_goes_into_the_address(self):
        page = open_page("analogies")
        page.text_area(key="setting pairs").set_value(PAIRS).run()
        page.text_input(key="setting query").set_value("king").run()
        page.selectbox(key="setting solver").set_value("3cosadd").run()
        assert page.header[0].value == "king → queen"
        found = {name: asked(value) for name, value in page.query_params.items()}
        assert found == {"pairs": PAIRS, "query": "king", "solver": "3cosadd"}

    def test_the_right_answer_is_shown_wherever_it_stands(self, googlenews):
        page = open_page("analogies", expected="niece", query="king", pairs=PAIRS)
        rank = make_solver("intcos-original", googlenews).fit(pairs_of_text(PAIRS).categories[0]).rank("king", "niece")
        assert rank > 10
        assert f"“niece” is answer {rank:,} of" in texts(page.caption)
        last = page.table[0].value.iloc[-1]
        assert (last["rank"], last["word"]) == (rank, "niece")

    def test_a_right_answer_that_cannot_be_one_leaves_the_others(self):
        page = open_page("analogies", expected="uncle")
        assert "is the query, which cannot be the answer" in texts(page.warning)
        assert page.header[0].value == "uncle → aunt"
        assert "“auntt” is not in the space" in texts(open_page("analogies", expected="auntt").warning)

    def test_many_pairs_are_learned_in_the_background_with_the_same_answers(self, googlenews, monkeypatch):
        from densray.explorer.views import analogies

        steps, show_step = [], analogies.show_step
        monkeypatch.setattr(
            analogies, "show_step", lambda *given, **more: steps.append(given) or show_step(*given, **more)
        )
        monkeypatch.setitem(SOLVERS, "intcos-original", replace(SOLVERS["intcos-original"], slow_from=1))
        watched = open_page("analogies", pairs=f"{PAIRS}\nboy girl")
        assert len(steps) == 1
        solver = make_solver("intcos-original", googlenews).fit(pairs_of_text(f"{PAIRS}\nboy girl").categories[0])
        assert not watched.exception
        assert list(watched.table[0].value["word"]) == [answer.word for answer in solver.predict("uncle")]
        assert SOLVERS["intrank"].slow_from < SOLVERS["lrcos"].slow_from  # it learns a ranker

    def test_a_space_without_another_word_says_so(self, monkeypatch):
        from densray.explorer.views import analogies

        tiny = Workbench(WordSpace(["man", "woman"], np.eye(2)))
        monkeypatch.setattr(analogies, "chosen_bench", lambda: tiny)
        page = open_page("analogies", pairs="man woman", query="man", solver="3cosadd")
        assert "No other word of the space can be an answer" in texts(page.info)
        assert not page.exception

    def test_pairs_with_a_missing_word_are_named_and_left_out(self):
        page = open_page("analogies", pairs=f"{PAIRS}\nhusbandd wife")
        assert page.header[0].value == "uncle → aunt"
        assert "husbandd : wife" in texts(page.caption)
        missing = page.dataframe[0].value
        assert list(missing["missing"]) == ["husbandd"]
        assert missing["the space has"][0].startswith("husband")

    @pytest.mark.parametrize(
        ("address", "said"),
        [
            ({"pairs": ""}, "No pair was typed"),
            ({"pairs": "man woman\nfather"}, "Line 2, “father”, is not a pair"),
            ({"pairs": "man woman girl\nfather mother"}, "Line 1, “man woman girl”, is not a pair"),
            ({"pairs": "man woman"}, "at least 2 are needed"),
            ({"pairs": "qqqx zzzy\nman xqqy"}, "0 of 2 pairs have both words"),
            ({"pairs": "man woman\n" * (MOST_PAIRS + 1)}, f"{MOST_PAIRS + 1} pairs were pasted"),
            ({"pairs": "a" * 300 + " b"}, "is not a pair"),
        ],
    )
    def test_bad_pairs_are_one_line_on_the_page(self, address, said):
        page = open_page("analogies", **address)
        assert said in texts(page.error)
        assert not page.exception
        assert not page.header

    def test_a_missing_query_gets_the_nearest_spelling(self):
        assert "It has “uncles”" in texts(open_page("analogies", query="unclees").warning)
        assert "Type a word under “Query”" in texts(open_page("analogies", query=" ").info)

    def test_script_and_markup_are_shown_as_text(self):
        page = open_page("analogies", query="<script>alert(1)</script>", pairs=f"{PAIRS}\n![x](y) :red[z]")
        shown = "\n".join(warning.value for warning in page.warning)
        assert "\\<script\\>" in shown
        assert not page.exception
        page = open_page("analogies", pairs=f"{PAIRS}\n<b>x</b> :red[z]")
        assert not any("<b>" in each.value.replace("\\<", "") for each in page.caption)

    def test_what_the_lists_do_not_have_falls_back(self):
        page = open_page("analogies", solver="nonsense", rotation="nonsense", part="nonsense")
        assert page.selectbox(key="setting solver").value == next(iter(SOLVERS))
        assert page.selectbox(key="setting rotation").value == "densray-unit"
        assert page.header[0].value == "uncle → aunt"


class TestTheBenchmark:
    def test_a_section_is_solved_as_the_library_solves_it(self, googlenews):
        page = open_page("analogies", part="benchmark", section="gram2-opposite", solvers="intcos-original,3cosavg")
        section = load_analogies("google").subset(["gram2-opposite"])
        results = [
            evaluate_analogies(googlenews, section, name, predictions=True) for name in ("intcos-original", "3cosavg")
        ]
        assert not page.exception
        means, misses = page.table[0].value, page.dataframe[-1].value
        assert list(means["first answer correct"]) == [result.micro for result in results]
        assert list(means["correct among the first 10"]) == [result.precision_at_k for result in results]
        assert list(misses["query"]) == [miss.query for result in results for miss in result.misses()]
        assert list(misses["rank"]) == [miss.rank for result in results for miss in result.misses()]
        assert "gram2-opposite (27 of 29 pairs)" in page.selectbox(key="setting section").options

    def test_all_questions_are_shown_when_asked_for(self):
        page = open_page("analogies", part="benchmark", section="family")
        misses = len(page.dataframe[-1].value)
        page.segmented_control(key="setting questions").set_value("all").run()
        assert misses < len(page.dataframe[-1].value) == 21
        assert asked(page.query_params["questions"]) == "all"

    def test_a_method_of_one_example_names_it(self):
        page = open_page("analogies", part="benchmark", section="family", solvers="intcos-original,3cosadd")
        rows = page.dataframe[-1].value
        assert set(rows[rows["solver"] == "intcos-original"]["example"]) == {"all other pairs"}
        assert rows[rows["solver"] == "3cosadd"]["example"].str.contains(" : ").all()

    def test_all_sections_wait_for_a_click_and_give_a_heat_map(self):
        page = open_page("analogies", part="benchmark", section="all sections", solvers="3cosavg")
        assert not page.get("vega_lite_chart")
        next(button for button in page.button if button.label.startswith("Solve all sections")).click().run()
        assert not page.exception
        assert len(page.get("vega_lite_chart")) == 1
        assert "mean over sections" in page.table[0].value

    def test_a_section_without_its_words_says_so(self):
        page = open_page("analogies", part="benchmark", section="capital-world")
        assert "Choose another section" in texts(page.warning)
        assert "capital-world (0 of 116 pairs)" in page.selectbox(key="setting section").options
        assert not page.exception

    def test_unknown_names_fall_back_to_what_can_be_asked(self):
        page = open_page(
            "analogies", part="benchmark", set="/etc/passwd", section="nonsense", solvers="nonsense", case="x"
        )
        assert page.selectbox(key="setting set").value == "google"
        assert page.selectbox(key="setting section").value == "family"
        assert page.multiselect(key="setting solvers").value == ["intcos-original"]
        assert not page.exception
        page.multiselect(key="setting solvers").set_value([]).run()
        assert "No solver is chosen" in texts(page.info)

    def test_another_set_starts_at_its_first_section(self, data_folder):
        page = open_page("analogies", part="benchmark")
        page.selectbox(key="setting set").set_value("msr").run()
        assert page.selectbox(key="setting section").value == "JJ_JJR"
        assert "JJ_JJR (78 of 100 pairs)" in page.selectbox(key="setting section").options

    def test_a_set_that_is_at_hand_can_be_chosen(self, data_folder):
        page = open_page("analogies", part="benchmark", set="bats", section="nonsense", solvers="3cosavg")
        assert page.selectbox(key="setting set").value == "bats"
        assert page.selectbox(key="setting section").value.startswith("I01")
        assert not page.exception
        assert 0 < len(page.dataframe[-1].value) <= 50


class TestAskingAgain:
    @pytest.mark.parametrize("name", ["intcos-original", "3cosadd"])
    def test_a_miss_goes_into_ask_with_the_pairs_it_was_asked_with(self, googlenews, name, monkeypatch):
        from densray.explorer.views import analogies as analogy_benchmark

        google = load_analogies("google")
        result = evaluate_analogies(googlenews, google.subset(["family"]), name, predictions=True)
        miss = result.misses()[0]
        written = {}
        monkeypatch.setattr(analogy_benchmark, "write_setting", written.__setitem__)
        analogy_benchmark.ask_again(googlenews, google["family"], name, miss)
        page = open_page("analogies", **written)
        assert page.header[0].value == f"{miss.query} → {miss.words[0]}"
        assert f"“{miss.answers[0]}” is answer {miss.rank} of" in texts(page.caption)

    def test_all_listed_answers_go_into_ask(self, googlenews, monkeypatch):
        from densray.explorer.views import analogies as analogy_benchmark

        listed = [("man", ("woman", "lady")), ("king", ("queen",)), ("boy", ("girl", "lass"))]
        category = AnalogySet.from_pairs(listed)["pairs"]
        asked = Prediction("pairs", "man", ("woman", "lady"), None, ("girl",), (1.0,), False, 2)
        written = {}
        monkeypatch.setattr(analogy_benchmark, "write_setting", written.__setitem__)
        analogy_benchmark.ask_again(googlenews, category, "intrank", asked)
        assert [(pair.query, pair.answers) for pair in pairs_of_text(written["pairs"])["pairs"]] == listed[1:]

    def test_pairs_of_phrases_survive_as_text(self):
        pairs = [("man", "woman"), ("New York", "the U.S.", "America"), ("a,b", "c:d")]
        assert [pair.words for pair in pairs_of_text(text_of_pairs(pairs))["pairs"]] == pairs
