"""The table of benchmarks: a line for each figure, and one for what cannot run here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Lay out the figures of some benchmarks made up here."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    from benchmarks import __main__ as program

    def lay_out(**mains: Callable[[], object]) -> list[str]:
        for name, main in mains.items():
            monkeypatch.setitem(sys.modules, f"benchmarks.bench_{name}", SimpleNamespace(main=main))
        return program._table(list(mains)).splitlines()[2:]

    return lay_out


def test_what_cannot_run_here_is_a_line_that_says_so(table: Callable[..., list[str]]) -> None:
    from benchmarks.measurement import Measurement

    def lists() -> list[Measurement]:
        raise OSError("no such disk")

    def yields() -> Iterator[Measurement]:
        yield Measurement("a click", 0.25, "s", "≤ 1")
        raise ImportError("there is no browser")

    assert table(lists=lists, yields=yields, after=lambda: [Measurement("a fit", 3.0, "×", "≤ 2.5")]) == [
        "| lists | – | | | does not run here: no such disk |",
        "| a click | 0.25 s | ≤ 1 | yes |  |",
        "| yields | – | | | does not run here: there is no browser |",
        "| a fit | 3 × | ≤ 2.5 | **no** |  |",
        "",
        "1 of 2 bars reached.",
    ]
