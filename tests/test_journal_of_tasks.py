"""Runs of minutes that were interrupted go on to the same bits, and compute nothing twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from densray import Lexicon, WordSpace
from densray.analogy import IntCos, evaluate_analogies
from densray.axes import Protocol, evaluate_induction, evaluate_stability
from densray.datasets import load_analogies
from densray.debiasing import _evaluation, _measurement, evaluate_removal, load_concept
from densray.journal import Journal
from densray.report import to_plain
from resumed import without_times

METHODS = ("densray-unit", "mean-difference", "ridge")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture
def small(googlenews: WordSpace) -> WordSpace:
    return googlenews.limit(8000)


def check_resumes(folder: Path, run: Callable[..., Any], *, after: int, parts: int) -> Any:
    """A run that was interrupted after some steps, and run again, equals one that was not; no part is found twice."""

    def interrupt(done: int, total: int | None) -> None:
        if done > after:
            raise KeyboardInterrupt

    whole = run()
    others = set(threading.enumerate())  # pools of other libraries among them, which never end
    with pytest.raises(KeyboardInterrupt):
        run(journal=Journal(folder), progress=interrupt)
    for thread in set(threading.enumerate()) - others:
        thread.join(timeout=60)  # what was running when the interruption came
    stored = len(list(folder.iterdir()))
    assert 1 <= stored <= parts
    journal = Journal(folder)
    resumed = run(journal=journal)
    assert (journal.n_reused, journal.n_stored) == (stored, parts)
    assert without_times(to_plain(resumed)) == without_times(to_plain(whole))
    journal.clear()
    assert not folder.exists()
    return resumed


def test_interrupted_induction_resumes_to_the_same_bits(folder: Path, small: WordSpace, sentiment: Lexicon) -> None:
    def run(**options: Any) -> Any:
        return evaluate_induction(small, sentiment, methods=METHODS, **options)

    result, whole = check_resumes(folder, run, after=1, parts=3), run()
    assert result.provenance.parts_resumed == 2
    for method in METHODS:
        np.testing.assert_array_equal(result.score(method).resamples, whole.score(method).resamples)
    rows = {row["what"]: row["value"] for row in result.provenance.table().rows}
    assert rows["parts taken from an interrupted run"] == 2
    assert "parts taken from an interrupted run" not in {row["what"] for row in whole.provenance.table().rows}


def test_interrupted_stability_resumes_to_the_same_bits(folder: Path, small: WordSpace, sentiment: Lexicon) -> None:
    def run(**options: Any) -> Any:
        return evaluate_stability(small, sentiment, methods=METHODS[:1], sizes=(16, 32), n_samples=3, **options)

    assert check_resumes(folder, run, after=0, parts=6).provenance.parts_resumed >= 1


@pytest.mark.parametrize("predictions", [False, True])
def test_interrupted_analogies_resume_to_the_same_bits(folder: Path, small: WordSpace, predictions: bool) -> None:
    analogies = load_analogies("google").subset(["family", "gram3-comparative", "gram7-past-tense", "gram8-plural"])

    def run(**options: Any) -> Any:
        return evaluate_analogies(small, analogies, predictions=predictions, **options)

    result = check_resumes(folder, run, after=1, parts=4)
    assert bool(result.predictions) == predictions
    np.testing.assert_array_equal(result.hits, run().hits)


@pytest.mark.slow
def test_interrupted_removal_resumes_to_the_same_bits(folder: Path, small: WordSpace) -> None:
    concept = replace(load_concept("gender"), positive=(), negative=(), similarities=(), analogies=None)

    def run(**options: Any) -> Any:
        return evaluate_removal(
            small.limit(4000), concept, ["mean-difference", "densray-unit"], n_biased=100, **options
        )

    result = check_resumes(folder, run, after=100, parts=5)  # three spaces measured, and what two removers leave
    assert result.gap_rows() == run().gap_rows()
    assert len(result.removed_spaces) == 2


def test_other_data_options_or_seeds_reuse_nothing(folder: Path, small: WordSpace, sentiment: Lexicon) -> None:
    evaluate_induction(small, sentiment, methods=["ridge"], journal=Journal(folder))
    fewer = Lexicon(dict(list(sentiment.items())[:-40]))
    vectors = small.vectors.copy()
    vectors[list(small.words).index("good")] *= -1
    for space, lexicon, protocol in (
        (small, fewer, Protocol()),
        (small, sentiment, Protocol(random_state=1)),
        (small, sentiment, Protocol(n_resamples=999)),
        (WordSpace(small.words, vectors), sentiment, Protocol()),
    ):
        journal = Journal(folder)
        evaluate_induction(space, lexicon, methods=["ridge"], protocol=protocol, journal=journal)
        assert journal.n_reused == 0
    journal = Journal(folder)
    evaluate_induction(small, sentiment, methods=["svm", "ridge"], journal=journal)
    assert journal.n_reused == 1


def test_a_solver_from_elsewhere_is_not_stored(folder: Path, small: WordSpace) -> None:
    class Mine(IntCos):
        pass

    asked = load_analogies("google").subset(["family"])
    for solver, stored in ((Mine(small), 0), (IntCos(small), 1), (IntCos(small, cosine="complement"), 1)):
        journal = Journal(folder)
        evaluate_analogies(small, asked, solver, journal=journal)
        assert (journal.n_reused, journal.n_stored) == (0, stored)


def test_every_measure_can_be_stored() -> None:
    """A new kind of measurement is named where parts are read, or its space would be measured again for ever."""
    kinds = {_measurement.Measurement}
    while more := {child for kind in kinds for child in kind.__subclasses__()} - kinds:
        kinds |= more
    assert {kind for kind in kinds if kind.__module__.startswith("densray.")} <= set(_evaluation._MEASURES)
