"""Long steps and results of the explorer: shared, ended when nobody looks, kept within bounds."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from densray import Lexicon, WordSpace
from densray.errors import TaskError
from densray.explorer import workbench as jobs_module
from densray.explorer.settings import Settings
from densray.explorer.sidebar import removed_seeds
from densray.explorer.workbench import RESULT_BYTES, Abandoned, Job, Jobs, Workbench, bytes_to_keep, count_bytes
from explorer_page import open_page, texts


def finished(job: Job) -> Job:
    assert job.watch(10)
    return job


class TestJobs:
    def test_a_step_gives_what_it_finds_and_says_how_far_it_is(self):
        go = threading.Event()

        def find(progress):
            progress(1, 4)
            go.wait(10)
            return "found"

        job = Job(find)
        while job.progress == (0, 1):
            job.watch(0.01)
        assert job.progress == (1, 4)
        go.set()
        assert finished(job).result() == "found"

    def test_whoever_asks_for_a_step_that_runs_looks_at_the_same(self):
        jobs, go, calls = Jobs(), threading.Event(), []

        def find(progress):
            calls.append(1)
            go.wait(10)

        first, again = jobs.start("a", find), jobs.start("a", find)
        assert first is again
        go.set()
        finished(first)
        assert len(calls) == 1
        assert jobs.start("a", find) is not first

    def test_a_cancelled_step_ends_where_it_next_says_how_far_it_is(self):
        jobs, go, reached = Jobs(), threading.Event(), []

        def find(progress):
            go.wait(10)
            progress(1, 2)
            reached.append("beyond")

        job = jobs.start("a", find)
        jobs.cancel("a")
        jobs.cancel("never begun")
        assert jobs.start("a", lambda progress: 1) is not job
        go.set()
        with pytest.raises(Abandoned):
            finished(job).result()
        assert reached == []

    def test_a_step_nobody_looks_at_ends(self, monkeypatch):
        monkeypatch.setattr(jobs_module, "SECONDS_UNWATCHED", 0.05)
        steps = []

        def find(progress):
            for number in range(1000):
                time.sleep(0.01)
                progress(number, 1000)
                steps.append(number)

        job = Job(find)
        time.sleep(0.5)
        with pytest.raises(Abandoned):
            finished(job).result()
        assert len(steps) < 100

    def test_an_error_of_a_step_reaches_whoever_waits_for_it(self):
        def find(progress):
            raise TaskError("too few words")

        with pytest.raises(TaskError, match="too few words"):
            finished(Job(find)).result()


class TestTheCache:
    space = WordSpace(["a", "b"], np.eye(2))

    def test_results_are_kept_by_their_bytes_and_those_looked_at_longest_ago_go_first(self):
        bench = Workbench(self.space, max_bytes=3 * (RESULT_BYTES + 8000))
        for number in range(4):
            bench.recall(number, lambda: np.zeros(1000))
            if number == 2:
                bench.recall(0, pytest.fail)  # looked at again: not the oldest any more
        assert [bench.holds(number) for number in range(4)] == [True, False, True, True]

    def test_a_result_too_large_to_keep_is_found_and_takes_the_place_of_none(self):
        bench = Workbench(self.space, max_bytes=RESULT_BYTES + 8000)
        bench.recall("a", lambda: np.zeros(1000))
        assert len(bench.recall("b", lambda: np.zeros(2000))) == 2000
        assert (bench.holds("a"), bench.holds("b")) == (True, False)

    @pytest.mark.parametrize(("rows", "kept"), [(2, 64), (26_000, 64), (100_000, 229), (10**7, 1024)])
    def test_twice_the_bytes_of_a_space_are_kept_within_bounds(self, rows, kept):
        space = type("Space", (), {"__len__": lambda self: rows, "width": 300})()
        assert round(bytes_to_keep(space) / 2**20) == kept

    def test_nothing_is_kept_of_what_failed(self):
        bench = Workbench(self.space)
        with pytest.raises(ZeroDivisionError):
            bench.recall("a", lambda: 1 / 0)
        assert not bench.holds("a")

    def test_arrays_count_wherever_they_are_and_once_and_a_space_is_free(self):
        scores = np.zeros(10_000)
        space = WordSpace(["a", "b"], np.eye(2))
        assert count_bytes([scores, {"again": scores}, space, "text"]) == RESULT_BYTES + scores.nbytes

    def test_an_axis_weighs_its_ranking_and_its_seeds(self, googlenews):
        bench = Workbench(googlenews)
        axis = bench.axis(Lexicon({"good": 1, "nice": 1, "bad": -1, "nasty": -1}), "ridge").run()
        least = axis.ranking.scores.score.nbytes + axis.ranking.rank.nbytes + axis.rows.X.nbytes
        assert least <= count_bytes(axis) < least + googlenews.vectors.nbytes / 10


class TestSteps:
    def test_bad_input_in_a_step_leaves_neither_bar_nor_cancel(self):
        page = open_page("compare", high="good", low="bad")
        assert page.error
        assert "Cancel" not in [button.label for button in page.button]

    def test_results_carry_the_name_they_are_asked_for_by(self, googlenews):
        bench = Workbench(googlenews)
        entries = {"good": 1, "nice": 1, "excellent": 1, "bad": -1, "nasty": -1, "poor": -1}
        for name in ("one", "two"):
            axis = bench.axis(Lexicon(entries, name=name), "ridge").run()
            assert axis.lexicon.name == name
            assert bench.diagnosis(axis).run().lexicon == name

    def test_a_seed_with_commas_and_blanks_is_taken_out_whole(self):
        assert removed_seeds(Settings({"without": "1,000\nNew York\n"})) == ["1,000", "New York"]

    def test_a_seed_named_twice_in_an_address_is_taken_out_once(self):
        assert removed_seeds(Settings({"without": "good\ngood\n\nbad"})) == ["good", "bad"]

    def test_a_slow_axis_that_is_known_needs_no_bar(self):
        page = open_page("axis", method="svm")
        assert "coordinate" not in texts(page.error)
        assert not page.exception
