"""The sentences of the pages on removal and analogies hold for their numbers."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from densray.analogy import compare_categories
from densray.metrics import correlation_interval
from densray.removers import REMOVERS
from results_pages import on_language_models

ROOT = Path(__file__).parents[1]
PAGE = " ".join((ROOT / "docs" / "debiasing.md").read_text("utf-8").split())


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((ROOT / "docs" / "removal.json").read_text("utf-8"))
    return found


def test_every_rival_is_in_the_table_and_on_the_page(rows: list[dict[str, Any]]) -> None:
    named = {row["name"].split(":")[0] for row in rows}
    assert {"densray-unit", "svm", "ridge", "mean-difference", "hard", "double-hard", "inlp", "leace"} <= named
    assert named - {"original"} <= REMOVERS.keys()
    assert all(f"`{name}" in PAGE for name in ("inlp", "hard", "double-hard", "leace"))


def found(rows: list[dict[str, Any]], words: str, measure: str, *removers: str) -> list[float]:
    chosen = [row for row in rows if row["list"].startswith(words) and row["name"] in removers]
    assert len(chosen) == len(removers)
    return [row["measures"][measure]["mean"] for row in chosen]


def test_a_poor_word_list_leaves_most_of_the_bias_by_every_method(rows: list[dict[str, Any]]) -> None:
    methods = ("mean-difference", "densray-unit", "leace")
    family, biased = (found(rows, words, "clusters", *methods) for words in ("family", "half"))
    left = found(rows, "family", "linear", *methods, "ridge", "svm")
    assert (f"{min(left):.2f}", f"{max(left):.2f}") == ("0.96", "0.97")
    assert min(family) - max(biased) > 0.35
    assert max(family) - min(family) < 0.02
    assert max(biased) - min(biased) < 0.02


def test_the_axis_that_predicts_leaves_most_and_every_draw_says_so(rows: list[dict[str, Any]]) -> None:
    assert min(found(rows, "half", "ridge AUC", "ridge", "svm")) > 0.95
    assert max(found(rows, "half", "ridge AUC", "mean-difference", "densray-unit", "leace")) < 0.65
    draws = [row["measures"]["ridge AUC"] for row in rows]
    assert all(len(each["values"]) == 5 and each["low"] <= each["mean"] <= each["high"] for each in draws)


def test_similarity_stays_inside_its_interval(rows: list[dict[str, Any]]) -> None:
    low, high = correlation_interval(rows[0]["measures"]["MEN"]["mean"], 3000)
    assert all(low < value < high for row in rows for value in row["measures"]["MEN"]["values"])


def test_the_ranges_of_the_page_are_those_of_the_numbers(rows: list[dict[str, Any]]) -> None:
    similarity = [row["measures"]["MEN"]["mean"] for row in rows]
    best = found(rows, "half", "RBF", "mean-difference", "densray-unit", "leace", "ridge:30")
    (overlap,) = found(rows, "half", "overlap", "ridge:30")
    assert f"MEN stays within {min(similarity):.3f}–{max(similarity):.3f}" in PAGE
    assert f"an RBF classifier reaches {min(best):.2f}–{max(best):.2f}" in " ".join(PAGE.split())
    assert f"{overlap:.3f} after thirty" in PAGE


# The sentences of the page on analogies are about its numbers.


NUMBERS = ROOT / "docs" / "intrank.json"


@pytest.fixture(scope="module")
def every_space() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(NUMBERS.read_text("utf-8"))["categories"]
    return found


@pytest.fixture(scope="module")
def categories(every_space: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in every_space if one["space"] == "googlenews-26k"]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        spec = importlib.util.spec_from_file_location("compare_intrank", ROOT / "scripts" / "compare_intrank.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules.pop("learn_intrank_prior", None)
    return module


def precision(one: dict[str, Any], solver: str) -> float:
    return float(np.mean([int(hit) for hit in one["right"][solver]]))


@pytest.mark.parametrize("solver", ["intrank", "intrank-space"])
@pytest.mark.parametrize("name", ["bats", "msr"])
def test_intrank_gains_over_intcos_on_categories_its_prior_has_not_seen(
    script: ModuleType, categories: list[dict[str, Any]], name: str, solver: str
) -> None:
    held_out = [one for one in categories if one["set"] == name and one["held_out"]]
    results = [script.result_of(held_out, each) for each in (solver, "intcos-original")]
    found = compare_categories(*results)
    assert found.low > 0.0
    assert found.p_value < 0.05


def test_spelling_is_level_with_intrank_on_inflection_and_behind_on_meaning(
    script: ModuleType, categories: list[dict[str, Any]]
) -> None:
    held_out = [one for one in categories if one["set"] == "bats" and one["held_out"]]
    parts = {letters: [one for one in held_out if one["category"][0] in letters] for letters in ("ID", "EL")}
    results = {
        (letters, solver): script.result_of(part, solver)
        for letters, part in parts.items()
        for solver in ("spelling", "intrank", "intrank-space")
    }
    inflection = compare_categories(results["ID", "intrank"], results["ID", "spelling"])
    assert inflection.low < 0.0 < inflection.high
    assert compare_categories(results["EL", "intrank-space"], results["EL", "spelling"]).low > 0.2
    msr = [one for one in categories if one["set"] == "msr"]
    results |= {("MSR", solver): script.result_of(msr, solver) for solver in ("spelling", "intrank")}
    page = (ROOT / "docs" / "analogies.md").read_text("utf-8")
    page = " ".join(page.split())
    sentence = page[page.index("need vectors.*") : page.index("which uses no letters")]
    said = [("ID", "spelling"), ("ID", "intrank"), ("MSR", "spelling"), ("MSR", "intrank"), ("EL", "spelling")]
    assert re.findall(r"0\.\d{3}", sentence) == [f"{results[key].means()[0]:.3f}" for key in said]
    assert f"which uses no letters, has {results['EL', 'intrank-space'].means()[0]:.3f}" in page


@pytest.mark.slow
def test_intrank_is_behind_the_better_of_intcos_and_spelling_in_no_group(
    script: ModuleType, every_space: list[dict[str, Any]]
) -> None:
    page = (ROOT / "docs" / "analogies.md").read_text("utf-8")
    for space in script.SPACES:
        for kind in script.GROUPS:
            groups = script.grouped(every_space, space, kind)
            for name, part in groups.items():
                found = script.against_the_better(part)
                assert found.high >= 0.0, (space, name)
                if "derivation" in name:
                    assert f"{found.difference:+.3f} in {script.SPACES[space].split()[0]}".replace("-", "−") in page
            whole = script.against_the_better(groups[kind])
            assert whole.difference > (0.15 if kind == "semantics" else 0.0)
            assert whole.low > (0.0 if kind == "semantics" else -0.01)


def test_numbers_are_small_and_every_solver_was_asked_the_same_pairs(every_space: list[dict[str, Any]]) -> None:
    assert NUMBERS.stat().st_size < 100_000
    for one in every_space:
        assert len({len(right) for right in one["right"].values()}) == 1
        assert len(one["right"]["intrank"]) >= 15


def test_halves_are_every_other_category(categories: list[dict[str, Any]]) -> None:
    for name, groups in (("bats", "IDEL"), ("google", "")):
        half = [one for one in categories if one["set"] == name]
        for group in groups or [""]:
            held_out = [one["held_out"] for one in half if one["category"].startswith(group)]
            assert held_out == [place % 2 == 1 for place in range(len(held_out))]
    assert all(one["held_out"] for one in categories if one["set"] == "msr")


def test_what_the_page_says_of_single_categories_holds(script: ModuleType, categories: list[dict[str, Any]]) -> None:
    held_out = {one["category"][:3]: one for one in categories if one["set"] == "bats" and one["held_out"]}
    losers = [name for name, one in held_out.items() if precision(one, "intrank") < precision(one, "intcos-original")]
    assert losers == ["L06"]
    assert f"{precision(held_out['L02'], script.UNKNOWN):.2f}" == "0.51"
    repeated = [one for one in categories if one["category"][:3] in ("E09", "L01", "L04")]
    assert sum(len(one["right"]["intrank"]) for one in repeated) == 106


def test_the_findings_on_language_models_are_those_of_the_run() -> None:
    numbers = json.loads((ROOT / "docs" / "states_concepts.json").read_text("utf-8"))
    known = {model: numbers["remove"][model] for model in ("Gemma", "SmolLM2")}
    page = on_language_models()
    own, given, at_once = "LEACE beside own text", "LEACE beside text", "LEACE, not in order"
    cases = [(model, concept) for model in known for concept in ("sentiment", "cities", "gender")]
    figures = {"highest": lambda row: max(row["linear"]), "last": lambda row: row["linear"][-1]}

    def rows_of(model: str, concept: str, remover: str, where: str = "last third") -> list[dict[str, Any]]:
        return [row for row in known[model][concept] if (row["remover"], row["where"]) == (remover, where)]

    def splits_below(first: str, second: str, figure: str) -> int:
        pairs = [zip(rows_of(*case, first), rows_of(*case, second), strict=True) for case in cases]
        return sum(one[figure] < other[figure] for rows in pairs for one, other in rows)

    def mean(model: str, concept: str, remover: str, figure: str, where: str = "last third") -> float:
        rows = rows_of(model, concept, remover, where)
        assert len(rows) == 8
        return float(np.mean([figures.get(figure, lambda row: row[figure])(row) for row in rows]))

    def all_cases(remover: str, figure: str, where: str = "last third") -> list[float]:
        return [mean(*case, remover, figure, where) for case in cases]

    def span(values: list[float], form: str = ".2f") -> str:
        return f"{min(values):{form}} to {max(values):{form}}"

    ends = {remover: all_cases(remover, "last") for remover in ("LEACE", at_once)}
    assert all(np.less(ends["LEACE"], ends[at_once]))
    assert f"an AUC of {span(ends['LEACE'])} if LEACE learns in order, and of {span(ends[at_once])} if it" in page
    dearer = [np.greater(all_cases("LEACE", text), all_cases(at_once, text)).sum() for text in ("cost", "documents")]
    assert dearer == [3, 3]
    costs = {
        (remover, text): [100 * cost for cost in all_cases(remover, text)]
        for remover in (own, given, "LEACE")
        for text in ("cost", "documents")
    }
    assert f"rises by {span(costs[own, 'cost'], '.0f')}% on SST-2" in page
    assert f"by {span(costs[own, 'documents'], '.0f')}% on court cases" in page
    for text, fewer, than_given in (("cost", 47, 33), ("documents", 48, 47)):
        assert all(np.less(costs[own, text], costs["LEACE", text]))
        assert splits_below(own, "LEACE", text) == fewer
        assert splits_below(own, given, text) == than_given
    assert "in 47 of 48 splits on SST-2, and in all 48 splits on court cases" in page
    assert "percentage points more, depending on the case, and in 47 of 48 splits. When" in page
    assert "for cities in SmolLM2 (17 against 2%). Over all six cases, SST-2 text raises the perplexity" in page
    assert "of SST-2 more in 33 of 48 splits" in page
    gaps = np.subtract(costs[given, "documents"], costs[own, "documents"])
    assert f"by {min(gaps):.1f} to {max(gaps):.1f} percentage points more" in page
    assert f"means are {max(costs['LEACE', 'cost']):.0f}% and {max(costs['LEACE', 'documents']):.0f}%" in page
    for where, reached, met in (("last third", 2, 20), ("last sixth", 5, 30)):
        assert max(all_cases(own, "cost", where) + all_cases(own, "documents", where)) < 0.1
        counts = [
            sum(
                max(row["linear"]) <= 0.6 and max(row["cost"], row["documents"]) <= 0.1
                for row in rows_of(*case, own, where)
            )
            for case in cases
        ]
        assert (sum(counts), max(counts) < 8) == (met, True)
        highest = all_cases(own, "highest", where)
        assert span(highest) in page
        assert int(np.sum(np.less_equal(highest, 0.6))) == reached
    assert "Two of six cases (gender in both models) are below 0.6" in page
    assert "five of six means are below 0.6" in page
    assert "20 of 48 splits do so for the last third, and 30 of 48 for the last sixth" in page
    plain = [mean(*case, "none", "highest", "none") for case in cases]
    shuffled = all_cases("LEACE beside text, random labels", "highest")
    assert np.abs(np.subtract(plain, shuffled)).max() < 0.01
    network = {concept: [f"{mean(model, concept, own, 'mlp'):.2f}" for model in known] for _, concept in cases}
    assert "detects cities with an AUC of {} in Gemma and {} in SmolLM2".format(*network["cities"]) in page
    assert "sentiment with {} and {}".format(*network["sentiment"]) in page
    assert network["gender"] == ["0.58", "0.58"]
    few, many = (
        [mean(model, name, own, "highest") for model in known] for name in ("sentiment, 800 texts", "sentiment")
    )
    assert f"stays at {span(few)}. With 3,200 it is {span(many)} (last third of the layers)." in page


@pytest.fixture(scope="module")
def concepts() -> Iterator[ModuleType]:
    """The script that measures removals and draws their figures."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import measure_concepts

        yield measure_concepts
    finally:
        sys.path.remove(str(ROOT / "scripts"))


def trade_offs(script: ModuleType) -> dict[tuple[str, str], dict[tuple[str, str], tuple[float, float]]]:
    """By model and concept: the AUC and the cost of each mark of the figure, by remover and region."""
    known = script.removed_in(json.loads(script.NUMBERS.read_text("utf-8"))["remove"])
    assert list(known) == ["Gemma", "SmolLM2"]
    return {
        (model, concept): {
            (mark["remover"], mark["where"]): (mark["auc"], mark["cost"]) for mark in script.trade_off(rows[concept])
        }
        for model, rows in known.items()
        for concept in script.SHOWN
    }


def test_the_caption_of_the_trade_off_says_what_its_marks_show(concepts: ModuleType) -> None:
    page = on_language_models()
    cases = trade_offs(concepts)
    assert len(cases) == 6
    assert all(set(marks) == {*concepts.POINTS} for marks in cases.values())
    most_auc, most_cost = concepts.TARGET["auc"], concepts.TARGET["cost"]
    assert f"(shaded: AUC at most {most_auc:.1f}, perplexity at most +{most_cost:.0%}) in all six cases" in page
    met = {
        point: {case for case, marks in cases.items() if marks[point][0] <= most_auc and marks[point][1] <= most_cost}
        for point in concepts.POINTS
    }
    assert max(map(len, met.values())) == 5, "no remover meets the target in all six cases"
    own = concepts.OWN
    assert [point for point, found in met.items() if len(found) == 5] == [(own, "last sixth")]
    assert "LEACE + own text on the last sixth of the layers meets it in five." in page
    assert cases.keys() - met[own, "last sixth"] == {("SmolLM2", "sentiment")}
    least = min(auc for auc, _ in cases["SmolLM2", "sentiment"].values())
    assert f"For sentiment in SmolLM2, every remover leaves at least {least:.2f}." in page
    gains = []
    for marks in cases.values():
        auc, cost = marks[own, "last third"]
        dearer = [other for other, price in marks.values() if price > cost]
        assert len(dearer) >= 4
        gains.append(auc - min(dearer))
    assert max(gains) < 0.01
    assert "No costlier remover leaves an AUC more than 0.01 below that of LEACE + own text on the last third." in page


def test_the_curve_of_the_trade_off_does_not_fall_when_more_layers_are_changed(concepts: ModuleType) -> None:
    page = on_language_models()
    known = json.loads(concepts.NUMBERS.read_text("utf-8"))["remove"]
    left = []
    for (model, concept), marks in trade_offs(concepts).items():
        sixth, _, half = (marks[concepts.OWN, where][0] for where in ("last sixth", "last third", "last half"))
        assert half > sixth - 0.005
        rows = [row for row in known[model][concept] if row["remover"] == concepts.OWN]
        first = next(row["first"] for row in rows if row["where"] == "last sixth")
        highest = {
            where: np.mean([max(row["linear"][first - row["first"] :]) for row in rows if row["where"] == where])
            for where in ("last sixth", "last half")
        }
        left.append(highest["last sixth"] - highest["last half"])
    assert f"the AUC at the layers of the last sixth is at most {max(left):.2f} lower." in page


def test_the_drawn_trade_off_has_every_mark_and_the_target(concepts: ModuleType) -> None:
    """In both layouts: the committed files show each remover in each of the six cases, and its name once."""
    removers = [name for name, _, _ in concepts.LOOKS.values()]
    for name in ("states_tradeoff.svg", "states_tradeoff-narrow.svg"):
        drawn = (ROOT / "docs" / name).read_text("utf-8")
        texts = [text.replace("\u2060", "") for text in re.findall(r"<text[^>]*>([^<]+)</text>", drawn)]
        assert all(texts.count(remover) == 1 for remover in removers)
        assert texts.count("target") == texts.count("no removal") == 6
        panels = [text for text in texts if text.endswith((", Gemma", ", SmolLM2"))]
        assert len(panels) == 6
        assert min(float(size) for size in re.findall(r'<text[^>]*font-size="([\d.]+)px"', drawn)) >= 11


def test_other_concepts_survive_a_removal_as_the_page_says() -> None:
    known = json.loads((ROOT / "docs" / "states_concepts.json").read_text("utf-8"))["survive"]
    changes = [
        [row["after"] - row["before"] for row in rows if row["other"] == other]
        for concepts in known.values()
        for rows in concepts.values()
        for other in {row["other"] for row in rows}
    ]
    assert np.shape(changes) == (12, 8)
    assert np.abs(np.mean(changes, axis=1)).max() <= 0.003
    assert np.abs(changes).max() <= 0.009
    page = on_language_models()
    assert "no mean changes by more than 0.003, and no split by more than 0.009" in page


def test_a_removal_from_a_larger_model_leaves_what_the_page_says() -> None:
    known = json.loads((ROOT / "docs" / "states_concepts.json").read_text("utf-8"))["remove"]["TinyLlama"]
    left, costs = {}, []
    for concept, rows in known.items():
        own = [row for row in rows if (row["remover"], row["where"]) == ("LEACE beside own text", "last third")]
        assert len(own) == 8
        left[concept] = np.mean([max(row["linear"]) for row in own])
        costs += [np.mean([row[text] for row in own]) for text in ("cost", "documents")]
    page = on_language_models()
    assert (
        "is {gender:.2f} for gender (0.58 in the two smaller models) and {cities:.2f} for cities".format(**left) in page
    )
    assert "In TinyLlama it is {gender:.2f} for gender and {cities:.2f} for cities.".format(**left) in page
    assert max(costs) < 0.01
    assert "Perplexity rises by at most 1%." in page


def test_the_findings_on_steering_are_those_of_the_run(concepts: ModuleType) -> None:
    numbers = json.loads((ROOT / "docs" / "states_concepts.json").read_text("utf-8"))
    page = on_language_models()
    cases = concepts.steered_cases(numbers["steer"])
    assert all(len(rows) == 8 for *_, rows in cases)

    def counted(wanted: set[str], *, many: bool | None = None, method: str = "chosen") -> tuple[int, int, int]:
        """Return splits with a point, with a clear one, and in all."""
        splits = [
            row
            for _, concept, n_prompts, rows in cases
            if concept in wanted and many in (None, n_prompts >= 120)
            for row in rows
        ]
        points = concepts.reported_points(splits, method)
        return len(points), sum(point["mark"] == "clear" for point in points), len(splits)

    both = {"sentiment", "gender"}
    few = counted(both, many=False)
    assert counted(both, many=True)[1:] == (47, 48)
    assert (few[1:], few[2] - few[0], few[0] - few[1]) == ((15, 48), 26, 7)
    assert "was clear in 47 of 48 splits (three models)" in page
    assert "it was clear in 15 of 48, and in 26 nothing was chosen" in page
    assert "(in 7 of 22 choices for sentiment and gender)" in page
    assert [counted({name}, many=False)[:2] for name in ("sentiment", "gender")] == [(17, 12), (5, 3)]
    assert (
        "for sentiment in 17 of 24 splits and for gender in 5 of 24; the effect was clear on unseen prompts in 12 and 3."
        in page
    )
    assert [counted({name}, many=True)[:2] for name in ("sentiment", "gender")] == [(23, 23), (24, 24)]
    assert counted({"topic"})[1:] == (22, 24)
    assert counted({"mood in a chat"}) == (8, 8, 16)
    clear = {method: counted(both, many=True, method=method)[1] for method in concepts.STEERED}
    assert (
        "ridge had a clear effect in {ridge} of 48 splits, CAA (a mean difference) in {caa}, and the method of repeng "
        "in {repeng}. A random direction had a clear effect in {random} of the 47 splits in which a setting was chosen.".format(
            **clear
        )
        in page
    )
    assert counted(both, many=True, method="random")[:2] == (47, 2)
    assert "a random direction of equal length was clear in 2 of 47 splits" in page
    for *_, rows in cases:
        for point in concepts.reported_points(rows, "chosen"):
            assert point["mark"] == "breaks the text" or point["preserved"] >= 10 / 11
    assert f"an AUC of {numbers['judges']['sentiment']:.2f} on" in page
    assert {f"{numbers['judges'][name]:.2f}" for name in ("topic", "gender")} == {"1.00"}


def test_the_figures_of_remove_preference_are_those_of_the_run() -> None:
    """Its own call, with and without answers to preserve: correlation, answers that stay correct, and cost."""
    page = on_language_models()
    _, plain, preserved = json.loads((ROOT / "docs" / "states_preference.json").read_text("utf-8"))
    assert f"ρ goes from −0.80 to −{-preserved['rho']:.2f} [−0.38, +0.20], and perplexity rises by 2.0%" in page
    assert f"Of the correct answers, {preserved['correct']:.0%} stay correct" in page
    assert f"Perplexity rises by {plain['cost']:.1%}." in page
    assert (
        f"ρ goes to −{-plain['rho']:.2f}, but only {plain['correct']:.0%} of the correct answers stay correct" in page
    )
    assert plain["kept"] > 0.98, "the AUC hides the lost answers"
    _, plain, preserved = json.loads((ROOT / "docs" / "states_preference_second.json").read_text("utf-8"))
    assert plain["correct"] < 0.75
    assert plain["kept"] > 0.99
    assert preserved["correct"] == 1.0
    assert f"ρ goes from −0.85 to −{-preserved['rho']:.2f}, and 100% of the correct answers stay correct" in page
    assert f"ρ goes to −{-plain['rho']:.2f}, but only {plain['correct']:.0%} of the correct answers stay" in page
    assert {f"Perplexity rises by {row['cost']:.1%}." in page for row in (plain, preserved)} == {True}
    _, plain, preserved = json.loads((ROOT / "docs" / "states_preference.json").read_text("utf-8"))
    assert (round(preserved["cost"], 3), round(preserved["spread"], 2), round(preserved["level"], 1)) == (
        0.02,
        0.67,
        1.2,
    )
