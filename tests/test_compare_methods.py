"""The comparison of methods over lexicons: its samples, its statistics, and the claims made from its raw results."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "method_comparison.json"


@pytest.fixture(scope="module")
def comparison() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        from benchmarks import compare_methods
    return compare_methods


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text())
    return found


def test_samples_are_nested_disjoint_from_the_test_words_and_keep_the_shares_of_classes(comparison: ModuleType) -> None:
    X = np.arange(2000, dtype=np.float32)[:, None]
    y = np.where(np.arange(2000) % 8 == 0, 1.0, -1.0)
    tasks = dict(comparison.draw_tasks(X, y, 0))
    assert list(tasks) == ["20", "50", "100", "300", "1000", "all"]
    for smaller, larger in zip(list(tasks.values())[:-1], list(tasks.values())[1:], strict=True):
        assert set(smaller.X[:, 0]) < set(larger.X[:, 0])
        assert np.array_equal(smaller.X_test, larger.X_test)
    assert not set(tasks["all"].X[:, 0]) & set(tasks["all"].X_test[:, 0])
    assert [len(task.y) for task in tasks.values()] == [20, 50, 100, 300, 1000, 1500]
    assert np.sum(tasks["300"].y > 0) == pytest.approx(300 / 8, abs=3)


def test_the_lexicons_that_chose_the_rule_are_not_those_that_report_it(comparison: ModuleType) -> None:
    assert not set(comparison.CHOOSING) & set(comparison.REPORTING)
    assert len(comparison.CHOOSING) == len(comparison.REPORTING) == 7


def test_random_effects_are_a_t_test_where_errors_are_equal_and_lexicons_differ(comparison: ModuleType) -> None:
    means = np.array([0.3, -0.1, 0.5, 0.2, 0.4])
    mean, low, high, p = comparison.random_effects(means, np.full(5, 1e-3))
    expected = stats.ttest_1samp(means, 0.0)
    assert (mean, p) == pytest.approx((means.mean(), expected.pvalue), rel=1e-4)
    assert (low, high) == pytest.approx(tuple(expected.confidence_interval()), rel=1e-4)


def test_random_effects_reject_a_true_null_in_about_one_case_of_twenty(comparison: ModuleType) -> None:
    rng = np.random.default_rng(0)
    errors = rng.uniform(0.5, 2.0, size=11)
    draws = rng.normal(size=(2000, 11)) * np.sqrt(errors**2 + 1.0)
    rejected = np.mean([comparison.random_effects(each, errors)[3] < 0.05 for each in draws])
    assert 0.03 < rejected < 0.07


def test_the_error_over_splits_is_corrected_for_the_words_they_share(comparison: ModuleType) -> None:
    gaps = np.array([1.0, 2.0, 3.0, 4.0])
    assert comparison.paired_error(gaps, 0.0) == pytest.approx(stats.sem(gaps))
    assert comparison.paired_error(gaps, 1 / 3) == pytest.approx(np.std(gaps, ddof=1) * np.sqrt(1 / 4 + 1 / 3))


def test_the_raw_results_are_small_and_complete(comparison: ModuleType, results: dict[str, Any]) -> None:
    assert RESULTS.stat().st_size < 300_000
    assert list(results) == list(comparison.SPACES)
    for space in comparison.SPACES:
        assert set(results[space]) == set(comparison.LEXICONS)
        for name in comparison.LEXICONS:
            for cell in results[space][name].values():
                assert len(cell["tau"]["ridge"]) == len(cell["tau"]["logistic"]) == comparison.SPLITS


@pytest.mark.parametrize("half", ["reporting", "all"])
def test_no_method_is_ahead_of_ridge_beyond_chance_on_classes_at_any_size(
    comparison: ModuleType, results: dict[str, Any], half: str
) -> None:
    """Over the three spaces; the claim of docs/lexicon_induction.md."""
    known = comparison.REPORTING if half == "reporting" else comparison.LEXICONS
    lexicons = [name for name in comparison.CLASS_LEXICONS if name in known]
    for size in comparison.SIZES:
        for rival in comparison.CLASS_METHODS:
            lead = None if rival == "ridge" else find_lead(comparison, results, "ridge", rival, size, lexicons)
            assert lead is None or lead.mean > 0 or lead.p > 0.05, (size, rival, lead)


def test_ridge_on_scores_is_ahead_of_support_vector_regression_on_every_lexicon(
    comparison: ModuleType, results: dict[str, Any]
) -> None:
    for size in comparison.SIZES[1:]:
        for rival in ("svr", "svr-tuned"):
            lead = find_lead(comparison, results, "ridge-scores", rival, size, comparison.SCORE_LEXICONS)
            assert lead.ahead == lead.lexicons, (size, rival, lead)


def test_ridge_is_ahead_of_ridge_cv_from_a_hundred_words_on_and_its_prior_alone_is_not_beyond_chance(
    comparison: ModuleType, results: dict[str, Any]
) -> None:
    lexicons = [name for name in comparison.CLASS_LEXICONS if name in comparison.REPORTING]
    leads = {
        (rival, size): find_lead(comparison, results, "ridge", rival, size, lexicons)
        for rival in comparison.PENALTY_METHODS
        for size in comparison.FEW_WORDS
    }
    for size in ("100", "300"):
        lead = leads["ridge-cv", size]
        assert (lead.ahead, lead.lexicons) == (6, 6)
        assert lead.low > 0.0
        assert 0.006 < lead.mean < 0.0095
    assert leads["ridge-cv-default", "50"].low > 0.0
    assert all(leads[rival, "20"].low < 0.0 < leads[rival, "20"].high for rival in comparison.PENALTY_METHODS)
    assert all(leads["ridge-flat", size].p > 0.05 for size in comparison.FEW_WORDS)
    alone = comparison.lead_over(results, "ridge", "ridge-cv", "50", lexicons, ["googlenews-26k"])
    assert alone.low > 0.0
    assert round(alone.mean, 3) == 0.013


def find_lead(
    comparison: ModuleType, results: dict[str, Any], first: str, second: str, size: str, lexicons: Any
) -> Any:
    return comparison.lead_over(results, first, second, size, lexicons, comparison.SPACES)


@pytest.mark.parametrize(
    ("rival", "space", "size", "lead", "behind"),
    [
        ("logistic-tuned", "glove-6b-100d", "all", -0.0007, 11),
        ("lda", "smollm2-input", "20", -0.007, 10),
        ("lda", "smollm2-input", "50", -0.011, 10),
    ],
)
def test_ridge_is_behind_where_the_page_says_so(
    comparison: ModuleType, results: dict[str, Any], rival: str, space: str, size: str, lead: float, behind: int
) -> None:
    found = comparison.lead_over(results, "ridge", rival, size, comparison.CLASS_LEXICONS, [space])
    assert found.mean == pytest.approx(lead, abs=5e-4 if size != "all" else 5e-5)
    assert found.lexicons - found.ahead == behind


@pytest.mark.usefixtures("data_folder")
def test_a_split_computed_again_is_the_one_of_the_raw_results(comparison: ModuleType, results: dict[str, Any]) -> None:
    space = comparison.read_space("googlenews-26k", Path())
    found = comparison.read_lexicon("hu-liu").align(space, order="lexicon")
    methods = ["ridge", "mean-difference", "logistic", "ridge-cv", "ridge-flat"]
    cell: dict[str, Any] = {}
    comparison._measure(cell, found.X, found.y, 0, methods)
    for size, entry in cell.items():
        kept = results["googlenews-26k"]["hu-liu"][size]["tau"]
        measured = [method for method in methods if method in kept]
        assert entry["tau"] == {method: [pytest.approx(kept[method][0], abs=10)] for method in measured}  # 0.0001 of τ
