"""One core while anybody asks for it, and all of them again afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from textwrap import dedent

import pytest

from densray._threads import MOST_AHEAD, count_cores, map_ahead

PREAMBLE = """
    import threading
    import numpy
    from threadpoolctl import threadpool_info
    from densray._threads import single_threaded_blas

    def threads():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
"""


def run(script: str) -> list[str]:
    """What a process of its own prints, which begins with two threads: limits belong to the whole of one."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    command = [sys.executable, "-c", dedent(PREAMBLE) + dedent(script)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(count_cores() < 2, reason="one core is all there is")
def test_products_keep_to_one_core_inside_and_go_back_after():
    assert run("""
        with single_threaded_blas():
            print(threads())
            with single_threaded_blas():
                print(threads())
            print(threads())
        print(threads())
        try:
            with single_threaded_blas():
                1 / 0
        except ZeroDivisionError:
            print(threads())
    """) == ["{1}", "{1}", "{1}", "{2}", "{2}"]


@pytest.mark.skipif(count_cores() < 2, reason="one core is all there is")
def test_blocks_that_overlap_in_two_threads_leave_nothing_behind():
    assert run("""
        inside, leave = threading.Event(), threading.Event()

        def first():
            with single_threaded_blas():
                inside.set()
                leave.wait(10)

        thread = threading.Thread(target=first)
        thread.start()
        inside.wait(10)
        with single_threaded_blas():  # begins after the other, and ends after it, too
            leave.set()
            thread.join()
            print(threads())
        print(threads())
    """) == ["{1}", "{2}"]


def test_work_ahead_keeps_the_order_and_takes_few_items_before_they_are_wanted() -> None:
    taken: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(30):
            taken.append(number)
            yield number

    found = []
    for number, square in map_ahead(lambda number: number**2, numbers()):
        found.append((number, square))
        assert len(taken) <= len(found) + MOST_AHEAD
    assert found == [(number, number**2) for number in range(30)]


def test_work_ahead_raises_an_error_after_what_came_before_it() -> None:
    def two_then_none() -> Iterator[int]:
        yield 1
        yield 0
        raise OSError("the file ends here")

    found = map_ahead(str, two_then_none())
    assert [next(found), next(found)] == [(1, "1"), (0, "0")]
    with pytest.raises(OSError, match="the file ends here"):
        next(found)
    with pytest.raises(ZeroDivisionError):
        list(map_ahead(lambda number: 1 // number, iter([1, 0, 2])))
