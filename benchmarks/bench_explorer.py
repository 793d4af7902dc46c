"""The explorer: from a click to the changed chart, in a real browser, on the embedded space and on a large one."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.measurement import Measurement

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the driver the end-to-end tests use

_REPEATS = 7
_LARGE = 400_000
#: What the first chart shows, as a string that changes with it: its texts, and how many marks it has.
_SHOWN = """() => [...document.querySelectorAll('[data-testid="stVegaLiteChart"] svg')].slice(0, 1).map(chart =>
    [...chart.querySelectorAll('text')].map(text => text.textContent).join('|')
    + chart.querySelectorAll('path').length).join()"""
_LISTS = ("happy glad joyful pleased", "kind warm gentle tender", "rich wealthy affluent prosperous")
_ANCHORS = ("man woman", "boy girl", "rich poor", "king queen", "good evil", "father mother", "he she")
_QUERIES = ("king", "nephew", "prince", "actor", "hero", "waiter", "grandson")


def main() -> Iterator[Measurement]:
    """Measure clicks on both spaces; it takes a browser and Streamlit."""
    from importlib.util import find_spec

    from browser import browser, chromium

    if chromium() is None or not (find_spec("streamlit") and find_spec("playwright")):
        raise ImportError("there is no chromium, streamlit or playwright")
    with browser() as chrome, tempfile.TemporaryDirectory() as folder:
        yield from _measure(chrome, "googlenews-26k", "the embedded space", "≤ 1")
        yield from _measure(chrome, _write_large(Path(folder)), "400,000 × 300", "≤ 3")


def _measure(chrome: Any, space: str, name: str, bar: str) -> Iterator[Measurement]:
    from browser import Visitor, explorer

    with explorer(space) as address:
        visitor = Visitor(chrome, address)
        start = perf_counter()
        visitor.page.goto(address)
        first = _until_changed(visitor, "", start)
        visitor.settle()
        whole = perf_counter() - start
        most = "≤ 3" if space == "googlenews-26k" else ""
        yield Measurement(f"explorer, {name}: a first visit until the first chart", first, "s", most)
        yield Measurement(f"explorer, {name}: a first visit until all is shown", whole, "s")
        lists = [f"{_LISTS[count % len(_LISTS)]} w{count}" for count in range(_REPEATS)]
        typed = [_typing(visitor, "Words at the high end", words) for words in lists]
        yield Measurement(f"explorer, {name}: two lists typed until the chart has changed", statistics.median(typed),
                          "s", bar, f"median of {_REPEATS}, most {max(typed):.2f} s")  # fmt: skip
        visitor.go("map")
        moved = [_choosing(visitor, ("500", "1000")[count % 2]) for count in range(_REPEATS)]
        yield Measurement(f"explorer, {name}: the map with other points", statistics.median(moved), "s", bar,
                          f"median of {_REPEATS}, most {max(moved):.2f} s")  # fmt: skip
        visitor.go("remove")
        anchored = [_typing(visitor, "Two words that stand for its ends", pair) for pair in _ANCHORS]
        yield Measurement(f"explorer, {name}: a removal seen from other anchors", statistics.median(anchored), "s", bar,
                          f"median of {len(anchored)}, most {max(anchored):.2f} s")  # fmt: skip
        visitor.go("analogies")
        asked = [_typing(visitor, "Query", query) for query in _QUERIES]
        yield Measurement(f"explorer, {name}: another query of an analogy", statistics.median(asked), "s", bar,
                          f"median of {len(asked)}, most {max(asked):.2f} s")  # fmt: skip
        visitor.context.close()


def _typing(visitor: Any, label: str, text: str) -> float:
    box = visitor.page.get_by_label(label, exact=True)
    box.fill(text)
    before = visitor.page.evaluate(_SHOWN)
    start = perf_counter()
    box.press("Control+Enter")
    taken = _until_changed(visitor, before, start)
    visitor.settle()
    return taken


def _choosing(visitor: Any, points: str) -> float:
    before = visitor.page.evaluate(_SHOWN)
    visitor.page.get_by_test_id("stSelectbox").filter(has_text="Points").locator("input").click()
    start = perf_counter()
    visitor.page.get_by_role("option", name=points, exact=True).click()
    taken = _until_changed(visitor, before, start)
    visitor.settle()
    return taken


def _until_changed(visitor: Any, before: str, start: float) -> float:
    visitor.page.wait_for_function(f"before => {{ const now = ({_SHOWN})(); return now && now !== before }}",
                                   arg=before, timeout=60_000, polling=20)  # fmt: skip
    return perf_counter() - start


def _write_large(folder: Path) -> str:
    """Write a large space around the embedded one: real words first, then noise."""
    from densray import WordSpace, load_space
    from densray.formats import write_space

    real = load_space("googlenews-26k")
    noise = np.random.default_rng(0).standard_normal((_LARGE - len(real), real.width), dtype=np.float32)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    words = [*real.words, *(f"noise{number}" for number in range(len(noise)))]
    space = WordSpace(words, np.vstack([real.vectors, noise]), name="large")
    return str(write_space(space, folder / "large.densray"))


if __name__ == "__main__":
    for found in main():
        print(found)
