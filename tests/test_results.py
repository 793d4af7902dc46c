"""Every table of the pages shows the data beside it, and a small part of the data is computed again."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from densray import Lexicon, load_space
from densray.axes import diagnose
from densray.datasets import load_lexicon

ROOT = Path(__file__).parents[1]
WRITER = runpy.run_path(str(ROOT / "scripts" / "write_results.py"))
PAGES = list(WRITER["pages"]())
#: Pages whose tables have numbers that are not measured here: sizes of data sets, and claims with their tests.
OTHERS = {"docs/data.md", "docs/claims.md", "docs/installation.md"}  # the last one has numbers of versions


@pytest.fixture(scope="module")
def tables() -> dict[str, str]:
    found: dict[str, str] = WRITER["tables"]()
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_shows_its_data(page: Path, tables: dict[str, str]) -> None:
    text = page.read_text("utf-8")
    assert WRITER["filled"](text, tables) == text, "run python scripts/write_results.py"


def test_a_page_that_differs_from_its_data_is_found(tables: dict[str, str]) -> None:
    text = (ROOT / "docs" / "results.md").read_text("utf-8")
    changed = text.replace("0.667", "0.767", 1)
    assert changed != text
    assert WRITER["filled"](changed, tables) == text


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda page: page.stem
)
def test_no_page_has_a_table_of_measured_numbers_without_data(page: Path) -> None:
    if page.relative_to(ROOT).as_posix() in OTHERS or {"_build", "generated", "gallery"} & set(page.parts):
        return
    rest = WRITER["MARKED"].sub("", page.read_text("utf-8"))
    rest = re.sub(r"`[^`\n]*`", "", rest)  # numbers in code are examples
    rows = [line for line in rest.splitlines() if line.startswith("|") and len(re.findall(r"\d\.\d\d", line)) > 1]
    assert rows == []


def test_every_measured_data_file_is_shown(tables: dict[str, str]) -> None:
    shown = {name for page in PAGES for name in WRITER["MARKED"].findall(page.read_text("utf-8"))}
    assert shown <= tables.keys()
    more = tables.keys() - shown  # the comparison of methods has more tables than its page
    assert all(name.startswith(("class-leads-", "score-leads-")) for name in more), more


@pytest.mark.parametrize("name", ["table3", "weat"])
def test_the_data_are_what_the_library_computes(name: str) -> None:
    measured = runpy.run_path(str(ROOT / "scripts" / "measure_tables.py"))["MEASURED"][name]()
    kept = json.loads((ROOT / "docs" / "tables.json").read_text("utf-8"))[name]
    assert len(measured) == len(kept)
    for found, row in zip(measured, kept, strict=True):
        assert found == {key: _near(value) for key, value in row.items()}


@pytest.mark.slow
def test_a_removal_computed_again_is_the_one_of_the_data() -> None:
    gender = runpy.run_path(str(ROOT / "scripts" / "build_removal_table.py"))["Gender"]()
    rows = json.loads((ROOT / "docs" / "removal.json").read_text("utf-8"))
    row = next(row for row in rows if (row["list"], row["name"]) == ("family words", "mean-difference"))
    space, rank = gender.removed("mean-difference", gender.concept.lexicon)
    assert rank == row["axes"][0]
    found = gender.held_out(space, gender.halves(0)[1])
    assert found == {key: _near(row["measures"][key]["values"][0]) for key in found}


@pytest.mark.slow
def test_error_bars_computed_again_are_those_of_the_data() -> None:
    from benchmarks import error_bars

    space = load_space("googlenews-26k")
    vocabulary = error_bars.Vocabulary(space.normalized().vectors.astype(np.float64))
    kept = json.loads(error_bars.DATA.read_text("utf-8"))["errors"]
    row = next(
        row for row in kept if (row["lexicon"], row["method"], row["seeds"]) == ("hu-liu", "mean-difference", 20)
    )
    seeds = load_lexicon("hu-liu").align(space, order="lexicon", groups=None).unit()
    found = error_bars.measure_errors(
        "hu-liu", seeds, vocabulary, "mean-difference", 20, row["pairs"], even=row["even"]
    )
    assert found == {key: _near(row[key]) for key in found}


def test_inflected_words_rarely_look_like_a_concept() -> None:
    kept = json.loads((ROOT / "docs" / "inflections.json").read_text("utf-8"))
    assert len(kept) == 7
    every = [p <= 0.05 for parts in kept.values() for p, _ in parts["forms"]]
    assert (len(every), round(np.mean(every), 3)) == (4000, 0.06)
    for parts in kept.values():
        hits = sum(p <= 0.05 for p, _ in parts["forms"])
        assert binomtest(hits, len(parts["forms"]), 0.05, alternative="greater").pvalue > 0.01
        assert not any(grade in ("fair", "good") for _, grade in parts["forms"])
        assert np.mean([p <= 0.05 for p, _ in parts["alone"]]) > 0.8


@pytest.fixture(scope="module")
def advice() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "measure_advice.py"))


def test_advice_comes_true_on_lexicons_that_did_not_choose_it(advice: dict[str, Any]) -> None:
    draws = json.loads((ROOT / "docs" / "advice.json").read_text("utf-8"))["draws"]
    reporting = [name for name in draws if name not in advice["CHOSE"]]
    assert set(advice["CHOSE"]).isdisjoint({*advice["REPORTS"], *advice["PACKAGES"]})
    assert len(reporting) >= 11
    found = [each for name in reporting for each in map(advice["check_advice"], draws[name]) if each is not None]
    given = [each for each in found if each["high"] is not None]
    assert len(given) > 0.9 * len(found)
    true = [each["high_true"] for each in given if each["high_true"] is not None]
    assert 0.7 <= np.mean(true) <= 0.9
    needs = [np.inf if each["need"] is None else each["need"] for each in given]
    assert np.median(np.array([each["high"] for each in given]) / needs) <= 2.0
    assert all(each["low"] <= each["high"] for each in given)


def test_intervals_of_the_reliability_hold_on_lexicons_that_did_not_choose_them(advice: dict[str, Any]) -> None:
    intervals = json.loads((ROOT / "docs" / "advice.json").read_text("utf-8"))["intervals"]
    for method in advice["METHODS"]:
        for size in advice["INTERVAL_SIZES"]:
            covered = [
                row["covered"] for name, row in intervals[method][str(size)].items() if name not in advice["CHOSE"]
            ]
            assert len(covered) >= 11
            assert np.mean(covered) >= 0.9, (method, size)


@pytest.mark.slow
def test_advice_on_sentiment_comes_true_in_fresh_draws(advice: dict[str, Any]) -> None:
    """The advised number of words brings most draws to the next grade, and a tenth of it few."""
    space = load_space("googlenews-26k")
    vocabulary = advice["Vocabulary"](space.normalized().vectors.astype(np.float64))
    seeds = advice["without_forms"](advice["find_rows"](space, load_lexicon("hu-liu"), order="lexicon").unit())
    reached: dict[str, list[bool]] = {"advised": [], "tenth": []}
    for number in range(8):
        order = advice["in_order"](seeds, np.random.default_rng([7, number]))

        def figures(size: int, order: Any = order) -> Any:
            return advice["measure_figures"](seeds.take(order[:size]), vocabulary, tested=False)

        first = figures(24)
        assert advice["worst"](first) < 0.7
        totals = advice["seeds_wanted"](24, first[1], first[4], 0.7)
        assert totals is not None
        more = advice["round_number"](totals[1] - 24)
        for name, added in (("advised", more), ("tenth", more // 10)):
            reached[name].append(advice["worst"](figures(24 + added)) >= 0.7)
    assert sum(reached["advised"]) >= 5
    assert sum(reached["tenth"]) <= 3


@pytest.mark.slow
def test_a_draw_of_the_advice_computed_again_is_that_of_the_data(advice: dict[str, Any]) -> None:
    """The figures behind the table are those that a diagnosis shows."""
    space = load_space("googlenews-26k")
    vocabulary = advice["Vocabulary"](space.normalized().vectors.astype(np.float64))
    seeds = advice["without_forms"](advice["find_rows"](space, load_lexicon("hu-liu"), order="lexicon").unit())
    kept = json.loads((ROOT / "docs" / "advice.json").read_text("utf-8"))["draws"]["hu-liu"][0]
    random = np.random.default_rng([0, *b"hu-liu"])
    size = int(random.choice(advice["STARTS"]))
    drawn = seeds.take(advice["in_order"](seeds, random)[:size])
    assert advice["measure_figures"](drawn, vocabulary, tested=True) == pytest.approx(kept[0], abs=2e-4)
    found = diagnose(space, Lexicon(dict(zip(drawn.names, drawn.y.tolist(), strict=True))), groups=None)
    first = found.axes[0]
    shown = [found.n_seeds, first.auc, *first.auc_interval, found.vocabulary.reliability]
    assert shown == pytest.approx(kept[0][:5], abs=0.03)  # words in another order fall into other folds


def test_error_bars_hold_on_fourteen_lexicons_at_five_sizes() -> None:
    from benchmarks import error_bars

    kept = json.loads(error_bars.DATA.read_text("utf-8"))["errors"]
    for method in error_bars.METHODS:
        for size in error_bars.SIZES:
            rows = [row for row in kept if (row["method"], row["seeds"], row["even"]) == (method, size, True)]
            assert len({row["lexicon"] for row in rows}) == 14
            assert min(row["pairs"] for row in rows) >= 30
            found = {key: np.mean([row[key] for row in rows]) for key in ("foretold", "found", "words_cover")}
            assert found["foretold"] == pytest.approx(found["found"], abs=0.035)
            assert found["words_cover"] == pytest.approx(0.945, abs=0.01)
            assert np.mean([row["average_covered"] for row in rows]) > 0.95


def test_forms_of_test_words_change_ridge_far_less_than_the_nearest_word() -> None:
    from benchmarks import shared_stems

    kept = json.loads(shared_stems.DATA.read_text("utf-8"))
    for space in shared_stems.SPACES:
        rows = [row for row in kept if row["space"] == space]
        assert len(rows) == 14
        ridge, nearest = (shared_stems.change(rows, method) for method in ("ridge", "nearest word"))
        assert ridge[1] > -0.003
        assert nearest[2] < -0.005


def test_covered_analogies_are_within_two_queries_of_the_paper() -> None:
    kept = json.loads((ROOT / "docs" / "tables.json").read_text("utf-8"))
    cells = {
        (row["category"], row["column"]): row
        for row in kept["table5"] + kept["table6"]
        if row["pairs"] >= 0.95 * row["pairs_total"] and row["column"] not in ("inter", "intraL", "intraR")
    }
    # half a unit of the printed decimal is half a query for a hundred pairs
    near = [abs(row["ours"] - row["paper"]) <= 2 / row["pairs"] + 0.005 for row in cells.values()]
    assert (sum(near), len(near)) == (64, 65)


def _near(value: Any) -> Any:
    return pytest.approx(value, abs=2e-3) if isinstance(value, float) else value


def test_of_changes_to_the_source_nine_in_ten_are_noticed_and_the_others_have_a_reason() -> None:
    kept = json.loads((ROOT / "docs" / "mutations.json").read_text("utf-8"))
    script = runpy.run_path(str(ROOT / "scripts" / "measure_mutations.py"))
    assert [row["killed"] for row in kept["named"]] == [True] * len(script["NAMED"])
    samples = list(kept["samples"].values())
    for area, found in [pair for sample in samples for pair in sample.items()]:
        files = {path for _, path in script["sources"]([area])}
        assert all((ROOT / path).is_file() for path in files)
        assert found["killed"] == found["tried"] - len(found["survivors"])
        assert 20 <= found["tried"] <= found["possible"]
        for row in found["survivors"]:
            assert row["reason"], row
    last = {area: found for sample in samples for area, found in sample.items()}  # no test was written for these
    assert set(last) == set(script["AREAS"])
    for area, found in last.items():
        same = [row for row in found["survivors"] if row["reason"].startswith(script["SAME"])]
        assert found["killed_at_first"] >= 0.9 * (found["tried"] - len(same)), area
