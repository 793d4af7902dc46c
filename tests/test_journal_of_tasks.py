"""Tasks that were interrupted go on to the same bits, and compute nothing twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from densray import DensRay, Lexicon, WordSpace
from densray.analogy import IntCos
from densray.analogy import _benchmark as benchmark
from densray.axes import _comparison as method_trials
from densray.axes import _lexicon_evaluation as lexicon_induction
from densray.axes import _resampling as resampling
from densray.axes import _stability as stability
from densray.axes import diagnose
from densray.axes._comparison import compare_methods
from densray.axes._lexicon_evaluation import evaluate_induction, evaluate_inductions
from densray.axes._protocol import Protocol
from densray.axes._scoring import induce
from densray.axes._stability import evaluate_stability
from densray.datasets import load_analogies, load_lexicon
from densray.debiasing import _evaluation as evaluation
from densray.debiasing import _measurement as measurement
from densray.debiasing import evaluate_removal, load_concept
from densray.journal import Journal
from densray.report import to_plain
from resumed import without_times

METHODS = ("densray-unit", "mean-difference", "ridge")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def interrupting(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, *, after: int) -> list[int]:
    """Let a function of a module be interrupted once it was called `after` times; return the count of its calls."""
    original, calls, lock = getattr(module, name), [0], threading.Lock()

    def counted(*arguments: Any, **options: Any) -> Any:
        with lock:
            calls[0] += 1
            if calls[0] > after:
                raise KeyboardInterrupt
        return original(*arguments, **options)

    monkeypatch.setattr(module, name, counted)
    return calls


def check_resumes(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    run: Callable[[Journal | None], Any],
    module: Any,
    name: str,
    *,
    others: int | None = None,
) -> Any:
    """A run that was interrupted after two parts, taken up, equals one that was not; nothing is computed twice."""
    whole = run(None)
    others_threads = set(threading.enumerate())  # pools of other libraries among them, which never end
    with monkeypatch.context() as patch:
        interrupting(patch, module, name, after=2)
        with pytest.raises(KeyboardInterrupt):
            run(Journal(folder))
        for thread in set(threading.enumerate()) - others_threads:
            thread.join(timeout=60)  # what was running when the interruption came
    kept = len(list(folder.iterdir()))
    assert kept >= 1
    with monkeypatch.context() as patch:
        calls = interrupting(patch, module, name, after=10**6)
        journal = Journal(folder)
        resumed = run(journal)
    assert journal.taken == kept
    assert calls[0] == (journal.kept - kept if others is None else others)
    assert without_times(to_plain(resumed)) == without_times(to_plain(whole))
    journal.clear()
    assert not folder.exists()
    return resumed


@pytest.fixture
def small(googlenews: WordSpace) -> WordSpace:
    return googlenews.limit(8000)


def test_interrupted_induction_goes_on_to_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, folder: Path, small: WordSpace, sentiment: Lexicon
) -> None:
    def run(journal: Journal | None) -> Any:
        return evaluate_induction(small, sentiment, methods=METHODS, journal=journal)

    result = check_resumes(monkeypatch, folder, run, lexicon_induction, "_measure")
    assert result.provenance.parts_resumed == 2
    whole = run(None)
    for method in METHODS:
        np.testing.assert_array_equal(result.score(method).resamples, whole.score(method).resamples)
    rows = {row["what"]: row["value"] for row in result.provenance.table().rows}
    assert rows["parts taken from an interrupted run"] == 2
    assert "parts taken from an interrupted run" not in {row["what"] for row in whole.provenance.table().rows}


def test_interrupted_comparisons_of_methods_go_on_to_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, folder: Path, small: WordSpace
) -> None:
    gender = load_lexicon("gender")

    def run(journal: Journal | None) -> Any:
        return compare_methods(small, gender, methods=METHODS, folds=4, journal=journal)

    result = check_resumes(monkeypatch, folder, run, method_trials, "fitted")
    assert result.provenance.parts_resumed == 2
    for one, other in zip(result.trials, run(None).trials, strict=True):
        np.testing.assert_array_equal(one.resamples, other.resamples)
        np.testing.assert_array_equal(one.ranking.rank, other.ranking.rank)
    for options, taken in (
        ({"folds": 4}, 0),
        ({"folds": 5}, 0),
        ({"folds": 4, "random_state": 1}, 0),
        ({"folds": 4}, 1),
    ):
        found = compare_methods(small, gender, methods=METHODS[:1], journal=Journal(folder), **options)
        assert found.provenance.parts_resumed == taken


def test_interrupted_surveys_go_on_to_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, folder: Path, small: WordSpace, sentiment: Lexicon
) -> None:
    steps: list[tuple[int, int]] = []
    other = Lexicon(dict(list(sentiment.items())[::2]), name="half")

    def run(journal: Journal | None) -> Any:
        steps.clear()
        return evaluate_inductions(
            small, [sentiment, other], methods=METHODS[:2], journal=journal, progress=lambda *step: steps.append(step)
        )

    result = check_resumes(monkeypatch, folder, run, lexicon_induction, "_measure")
    assert result.provenance.parts_resumed == 2
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_interrupted_stability_goes_on_to_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, folder: Path, small: WordSpace, sentiment: Lexicon
) -> None:
    def run(journal: Journal | None) -> Any:
        return evaluate_stability(small, sentiment, methods=METHODS[:1], sizes=(16, 32), n_samples=3, journal=journal)

    result = check_resumes(monkeypatch, folder, run, stability, "kendall_tau")
    assert result.provenance.parts_resumed >= 1


def test_other_data_options_or_seeds_take_nothing_from_the_journal(
    folder: Path, small: WordSpace, sentiment: Lexicon
) -> None:

    evaluate_induction(small, sentiment, methods=["ridge"], journal=Journal(folder))
    fewer = Lexicon(dict(list(sentiment.items())[:-40]))
    vectors = small.vectors.copy()
    vectors[list(small.words).index("good")] *= -1
    for space, lexicon, protocol in (
        (small, fewer, Protocol()),
        (small, sentiment, Protocol(random_state=1)),
        (small, sentiment, replace(Protocol(), n_resamples=999)),
        (WordSpace(small.words, vectors), sentiment, Protocol()),
    ):
        journal = Journal(folder)
        evaluate_induction(space, lexicon, methods=["ridge"], protocol=protocol, journal=journal)
        assert journal.taken == 0
    journal = Journal(folder)
    evaluate_induction(small, sentiment, methods=["svm", "ridge"], journal=journal)
    assert journal.taken == 1


@pytest.mark.parametrize("predictions", [False, True])
def test_interrupted_analogies_go_on_to_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, folder: Path, small: WordSpace, predictions: bool
) -> None:
    analogies = load_analogies("google").subset(["family", "gram3-comparative", "gram7-past-tense", "gram8-plural"])

    def run(journal: Journal | None) -> Any:
        return benchmark.evaluate_analogies(small, analogies, predictions=predictions, journal=journal)

    result = check_resumes(monkeypatch, folder, run, benchmark, "ask_category")
    assert bool(result.predictions) == predictions
    np.testing.assert_array_equal(result.hits, run(None).hits)


def test_a_solver_from_elsewhere_is_not_kept(folder: Path, small: WordSpace) -> None:

    class Mine(IntCos):
        pass

    asked = load_analogies("google").subset(["family"])
    for solver, kept in ((Mine(small), 0), (IntCos(small), 1), (IntCos(small, cosine="complement"), 1)):
        journal = Journal(folder)
        benchmark.evaluate_analogies(small, asked, solver, journal=journal)
        assert (journal.taken, journal.kept) == (0, kept)


def test_interrupted_removal_goes_on_to_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, folder: Path, small: WordSpace
) -> None:
    concept = replace(load_concept("gender"), positive=(), negative=(), similarities=(), analogies=None)

    def run(journal: Journal | None) -> Any:
        return evaluate_removal(
            small.limit(4000), concept, ["mean-difference", "densray-unit"], n_biased=100, journal=journal
        )

    result = check_resumes(monkeypatch, folder, run, evaluation, "measure_space")
    assert result.gap_rows() == run(None).gap_rows()
    assert len(result.removed_spaces) == 2


@pytest.mark.parametrize("task", [diagnose, induce])
def test_interrupted_fits_of_an_axis_go_on_to_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, folder: Path, small: WordSpace, task: Callable[..., Any]
) -> None:
    gender = load_lexicon("gender")

    def run(journal: Journal | None) -> Any:
        return task(small, gender, method="svm", n_resamples=4, folds=4, journal=journal)

    result = check_resumes(monkeypatch, folder, run, resampling, "refit", others=2)  # of the four resamples
    assert result.provenance.parts_resumed >= 4 + 1
    if task is induce:
        np.testing.assert_array_equal(result.scores.standard_error, run(None).scores.standard_error)


def test_the_fits_of_an_estimator_from_elsewhere_are_not_kept(folder: Path, small: WordSpace) -> None:
    class Mine(DensRay):
        pass

    for method, kept in ((Mine(1, normalize_differences=True), False), (DensRay(1, normalize_differences=True), True)):
        journal = Journal(folder)
        induce(small, load_lexicon("gender"), method=method, n_resamples=3, journal=journal)
        assert (journal.kept > 0) == kept


def test_every_measure_can_be_kept() -> None:
    """A new kind of measurement is named where parts are read, or its space would be measured anew for ever."""
    kinds = {measurement.Measurement}
    while more := {child for kind in kinds for child in kind.__subclasses__()} - kinds:
        kinds |= more
    assert {kind for kind in kinds if kind.__module__.startswith("densray.")} <= set(evaluation._MEASURES)


def test_without_a_journal_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: WordSpace, sentiment: Lexicon
) -> None:
    monkeypatch.setenv("DENSRAY_JOURNAL", str(tmp_path / "journal"))
    evaluate_induction(small, sentiment, methods=["ridge"])
    assert list(tmp_path.iterdir()) == []
