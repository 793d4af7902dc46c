"""Warnings kept silent, whatever threads ask for it."""

from __future__ import annotations

import threading
import warnings

import pytest

from densray._threads import ignored_warnings


def test_only_what_was_named_is_silent_and_only_inside():
    with ignored_warnings(RuntimeWarning, "known"):
        warnings.warn("known and of no use", RuntimeWarning, stacklevel=1)
        with pytest.warns(RuntimeWarning, match="news"):
            warnings.warn("news", RuntimeWarning, stacklevel=1)
        with pytest.warns(UserWarning, match="known"):
            warnings.warn("known, of another kind", UserWarning, stacklevel=1)
    with pytest.warns(RuntimeWarning, match="known"):
        warnings.warn("known and of no use", RuntimeWarning, stacklevel=1)


def test_blocks_that_overlap_in_two_threads_leave_the_filters_as_they_were():
    before, entered, may_leave = list(warnings.filters), threading.Event(), threading.Event()

    def other():
        with ignored_warnings(RuntimeWarning, "known"):
            entered.set()
            may_leave.wait(10)

    thread = threading.Thread(target=other)
    with ignored_warnings(RuntimeWarning, "known"):
        thread.start()
        assert entered.wait(10)
    assert len(warnings.filters) == len(before) + 1
    warnings.warn("known: the other block goes on", RuntimeWarning, stacklevel=1)
    may_leave.set()
    thread.join()
    assert warnings.filters == before


def test_a_filter_somebody_else_has_set_stays():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "known", RuntimeWarning)
        before = list(warnings.filters)
        with ignored_warnings(RuntimeWarning, "known"), ignored_warnings(RuntimeWarning):
            pass
        assert warnings.filters == before


def test_filters_that_were_put_back_meanwhile_do_not_matter():
    with warnings.catch_warnings():
        block = ignored_warnings(RuntimeWarning, "known")
        block.__enter__()
    with ignored_warnings(RuntimeWarning, "known"):
        warnings.warn("known", RuntimeWarning, stacklevel=1)
    block.__exit__(None, None, None)
    with pytest.warns(RuntimeWarning, match="known"):
        warnings.warn("known", RuntimeWarning, stacklevel=1)
