"""The page that compares methods, without a browser."""

from __future__ import annotations

import re
import threading
import time

import pytest

from densray import load_space
from densray.axes import COMPARABLE, QUICK_METHODS, compare_methods
from densray.datasets import load_lexicon
from densray.explorer.workbench import Abandoned, Workbench
from explorer_page import open_page, texts
from planted import planted_space


def tried(page) -> dict[str, float]:
    """Held-out AUC by method, as the first table has them; methods without one are left out."""
    rows = page.table[0].value.to_dict("records")
    return {row["method"]: row["AUC"] for row in rows if row["AUC"] == row["AUC"] and row["AUC"] is not None}


class TestThePage:
    def test_the_quick_methods_are_tried_by_themselves(self):
        page = open_page("compare")
        assert not page.exception
        assert set(tried(page)) == set(QUICK_METHODS)
        assert page.multiselect(key="setting methods").value == list(QUICK_METHODS)

    @pytest.mark.parametrize("lexicon", ["gender", "hu-liu"])
    def test_the_highest_auc_comes_first_and_the_recommended_method_is_compared(self, lexicon):
        page = open_page("compare", source="lexicon", lexicon=lexicon, methods="mean-difference,densray-unit,ridge")
        recommended = re.match(r"Use ([\w-]+)", texts(page.info))[1]
        shown = [round(auc, 3) for auc in tried(page).values()]
        assert shown == sorted(shown, reverse=True)
        assert next(method for method, auc in tried(page).items() if round(auc, 3) == shown[0]) == recommended
        assert page.selectbox(key="setting first_method").value == recommended

    def test_the_first_method_is_compared_with_the_farthest(self):
        page = open_page("compare")
        best = re.match(r"Use ([\w-]+)", texts(page.info))[1]
        assert page.selectbox(key="setting first_method").value == best
        other = page.selectbox(key="setting second_method").value
        assert f"{best} and {other}:" in texts(page.markdown).replace("\\", "")
        angles = {}
        for name in page.selectbox(key="setting second_method").options:
            page.selectbox(key="setting second_method").set_value(name).run()
            angles[name] = float(re.search(r": ([\d.]+)° apart", texts(page.markdown).replace("\\", ""))[1])
        assert max(angles, key=angles.__getitem__) == other

    def test_the_lag_is_a_column_only_if_there_is_one(self):
        lag = "behind the best (τ)"
        for lexicon, has_lag in (("gender", False), ("hu-liu", True)):
            page = open_page("compare", source="lexicon", lexicon=lexicon, methods="ridge,densray")
            headings = [heading.replace("\\", "") for heading in page.table[0].value.columns]
            assert (lag in headings) == has_lag
            assert ("Behind the best" in texts(page.caption)) == has_lag

    def test_adding_a_method_tries_that_one_alone(self, monkeypatch):
        import densray.explorer.workbench as module

        page = open_page("compare", high="glad merry jolly happy", methods="ridge,mean-difference")
        asked, trying = [], module.try_method

        def noted(rows, method, **more):
            asked.append(method)
            return trying(rows, method, **more)

        monkeypatch.setattr(module, "try_method", noted)
        page.multiselect(key="setting methods").select("cca").run()
        assert asked == ["cca"]
        assert set(tried(page)) == {"ridge", "mean-difference", "cca"}
        assert page.query_params["methods"] in ("ridge,mean-difference,cca", ["ridge,mean-difference,cca"])

    def test_a_slow_method_on_many_seeds_waits_for_a_click(self):
        page = open_page("compare", source="lexicon", lexicon="hu-liu", methods="svr,mean-difference")
        assert set(tried(page)) == {"mean-difference"}
        assert any(button.label.startswith("Try svr") for button in page.button)

    @pytest.mark.slow
    def test_all_methods_are_a_click_away(self):
        lists = {"high": "good great nice superb lovely kind", "low": "bad awful nasty terrible ugly cruel"}  # pairs
        page = open_page("compare", methods="mean-difference", **lists)
        button = next(button for button in page.button if button.label == "All methods")
        button.click().run()
        assert page.multiselect(key="setting methods").value == list(COMPARABLE)
        assert set(tried(page)) == set(COMPARABLE)

    def test_scores_go_to_methods_of_two_classes_too(self):
        page = open_page("compare", source="lexicon", lexicon="us-occupation-shares", methods="ridge,logistic")
        assert "logistic: learned scores split at their median" in texts(page.caption)
        assert "ridge: learned scores" not in texts(page.caption)

    def test_the_verdict_is_that_of_the_methods_that_were_tried(self):
        page = open_page("compare", source="lexicon", lexicon="gender", methods="ridge,mean-difference")
        comparison = compare_methods(
            load_space("googlenews-26k"), load_lexicon("gender"), methods=["ridge", "mean-difference"]
        )
        assert texts(page.info) == comparison.text()
        page = open_page("compare", source="lexicon", lexicon="hu-liu", methods="svr,mean-difference")
        assert "Not tried yet: svr." in texts(page.caption)
        assert "mean-difference ranks held-out words" in texts(page.info)

    @pytest.mark.parametrize(
        ("address", "said"),
        [
            ({"high": ""}, "“Words at the high end” is empty"),
            ({"high": "qqqx zzzy", "low": "xxyq"}, "lexicon words are in the space"),
            ({"high": "good", "low": "bad nasty"}, "at least two of each"),
        ],
    )
    def test_bad_input_is_one_line_on_the_page(self, address, said):
        page = open_page("compare", **address)
        assert said in texts(page.error)
        assert not page.exception

    def test_unknown_methods_are_ignored_and_an_empty_choice_asks_for_one(self):
        page = open_page("compare", methods="<script>,densrey")
        assert page.multiselect(key="setting methods").value == list(QUICK_METHODS)
        page.multiselect(key="setting methods").set_value([]).run()
        assert "choose one or more" in texts(page.info)
        assert not page.exception


class TestSteps:
    def test_a_trial_that_was_cancelled_is_not_kept(self):
        space, lexicon = planted_space(60, 4)
        bench, begun = Workbench(space), threading.Event()

        def find(progress):
            def slow(done, total):
                begun.set()
                time.sleep(0.3)
                progress(done, total)

            return bench.trial(lexicon, "mean-difference").run(slow)

        job = bench.jobs.start("trial", find)
        assert begun.wait(10)
        bench.jobs.cancel("trial")
        assert job.watch(10)
        with pytest.raises(Abandoned):
            job.result()
        assert not bench.trial(lexicon, "mean-difference").is_known
