"""The explorer: from a click to the changed chart, in a real browser, on the bundled space and on a large one."""

from __future__ import annotations

import statistics
import subprocess
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
#: A string that changes with the first chart: its texts, and how many marks it has.
_SHOWN = """() => [...document.querySelectorAll('[data-testid="stVegaLiteChart"] svg')].slice(0, 1).map(chart =>
    [...chart.querySelectorAll('text')].map(text => text.textContent).join('|')
    + chart.querySelectorAll('path').length).join()"""
_LISTS = ("happy glad joyful pleased", "kind warm gentle tender", "rich wealthy affluent prosperous")
_ANCHORS = ("man woman", "boy girl", "rich poor", "king queen", "good evil", "father mother", "he she")
#: Axes that the whole map changes to and fro between, and how often its memory is looked at in between.
_AXES = ("gender (lexicon)", "hu-liu (lexicon)")
_ROUNDS = 20
_WHOLE = ".word-map[data-milliseconds]"
_QUERIES = ("king", "nephew", "prince", "actor", "hero", "waiter", "grandson")


def main() -> Iterator[Measurement]:
    """Measure clicks on both spaces; it takes a browser and Streamlit."""
    from importlib.util import find_spec

    from browser import browser, chromium

    if chromium() is None or not (find_spec("streamlit") and find_spec("playwright")):
        raise ImportError("there is no chromium, streamlit or playwright")
    with browser() as chrome, tempfile.TemporaryDirectory() as folder:
        yield from _measure(chrome, "googlenews-26k", "the bundled space", "≤ 1")
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
        typing = [_typing(visitor, "Words at the high end", words) for words in lists]
        yield Measurement(f"explorer, {name}: two lists typed until the chart has changed", statistics.median(typing),
                          "s", bar, f"median of {_REPEATS}, most {max(typing):.2f} s")  # fmt: skip
        visitor.go("map")
        mapping = [_choosing(visitor, ("500", "1000")[count % 2]) for count in range(_REPEATS)]
        yield Measurement(f"explorer, {name}: the map with other points", statistics.median(mapping), "s", bar,
                          f"median of {_REPEATS}, most {max(mapping):.2f} s")  # fmt: skip
        yield from _measure_whole_map(chrome, visitor, name)
        visitor.go("remove")
        anchoring = [_typing(visitor, "Two words for its ends", pair) for pair in _ANCHORS]
        yield Measurement(f"explorer, {name}: a removal seen from other anchors", statistics.median(anchoring), "s",
                          bar, f"median of {len(anchoring)}, most {max(anchoring):.2f} s")  # fmt: skip
        visitor.go("analogies")
        asking = [_typing(visitor, "Query", query) for query in _QUERIES]
        yield Measurement(f"explorer, {name}: another query of an analogy", statistics.median(asking), "s", bar,
                          f"median of {len(asking)}, most {max(asking):.2f} s")  # fmt: skip
        visitor.context.close()


def _measure_whole_map(chrome: Any, visitor: Any, name: str) -> Iterator[Measurement]:
    """Measure the map of the whole vocabulary: drawing, the lasso, and memory over many interactions."""
    visitor.go("map")
    visitor.page.wait_for_selector(_WHOLE)
    axes = [_AXES[count % len(_AXES)] for count in range(_REPEATS)]
    clicking, drawing = zip(*(_changing_axis(visitor, axis) for axis in axes), strict=True)
    renderer = visitor.page.evaluate(_RENDERER)
    yield Measurement(f"explorer, {name}: the whole map drawn after its data arrived", statistics.median(drawing), "s",
                      "≤ 2", f"median of {_REPEATS}, most {max(drawing):.2f} s; {renderer}")  # fmt: skip
    yield Measurement(f"explorer, {name}: another axis until the whole map is drawn", statistics.median(clicking), "s",
                      "≤ 3", f"median of {_REPEATS}, most {max(clicking):.2f} s")  # fmt: skip
    visitor.click("Lasso")
    lassoing = [_drawing_a_lasso(visitor) for _ in range(_REPEATS)]
    n_words = int(visitor.page.locator(".word-map").get_attribute("data-selected"))
    yield Measurement(f"explorer, {name}: a lasso until its words are listed", statistics.median(lassoing), "s",
                      "≤ 0.5", f"median of {_REPEATS}, most {max(lassoing):.2f} s; {n_words:,} words")  # fmt: skip
    memory = []
    for count in range(_ROUNDS + 5):
        _changing_axis(visitor, _AXES[(count + 1) % len(_AXES)])
        _drawing_a_lasso(visitor)
        visitor.page.get_by_role("button", name="Zoom in").click()
        if count in (4, _ROUNDS + 4):
            memory.append(_megabytes(chrome, visitor))
    for place, whose in enumerate(("the server", "the browser")):
        before, after = (each[place] for each in memory)
        yield Measurement(f"explorer, {name}: memory of {whose} after {_ROUNDS} more changes of the whole map",
                          after / before, "×", "≤ 1.1", f"{before:,.0f} and {after:,.0f} MB")  # fmt: skip


_RENDERER = """() => {
    const gl = document.createElement('canvas').getContext('webgl2')
    return gl.getParameter(gl.getExtension('WEBGL_debug_renderer_info').UNMASKED_RENDERER_WEBGL)
        .includes('SwiftShader') ? 'software rendering (SwiftShader), no GPU' : 'with a GPU'
}"""


def _changing_axis(visitor: Any, axis: str) -> tuple[float, float]:
    """Return the seconds from the click to the map, and from the data on the page to the map."""
    visitor.page.get_by_test_id("stSelectbox").filter(has_text="Across").locator("input").click()
    visitor.page.evaluate("() => { delete document.querySelector('.word-map').dataset.milliseconds }")
    start = perf_counter()
    visitor.page.get_by_role("option", name=axis, exact=True).click()
    visitor.page.wait_for_selector(_WHOLE)
    elapsed = perf_counter() - start
    draw_time = int(visitor.page.locator(".word-map").get_attribute("data-milliseconds")) / 1000
    visitor.settle()
    return elapsed, draw_time


def _drawing_a_lasso(visitor: Any) -> float:
    """Return the seconds from the end of a lasso around the middle of the map to the list of its words."""
    page, box = visitor.page, visitor.page.locator(".word-map .plot").bounding_box()
    page.evaluate("() => { delete document.querySelector('.word-map').dataset.selectMilliseconds }")
    corners = [(0.2, 0.5), (0.5, 0.2), (0.8, 0.5), (0.5, 0.8), (0.25, 0.55)]
    places = [(box["x"] + right * box["width"], box["y"] + down * box["height"]) for right, down in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=10)
    start = perf_counter()
    page.mouse.up()
    page.wait_for_selector(".word-map[data-select-milliseconds] tbody tr")
    return perf_counter() - start


def _megabytes(chrome: Any, visitor: Any) -> tuple[float, float]:
    """Return the memory of the server and of the browser with all its processes."""
    visitor.context.new_cdp_session(visitor.page).send("HeapProfiler.collectGarbage")
    port = visitor.address.rsplit(":", 1)[1]
    output = subprocess.run(
        ["pgrep", "-f", f"no-browser --port {port}"], capture_output=True, text=True, check=True
    ).stdout
    browser = chrome.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return _resident(output.split()), _resident([str(process["id"]) for process in browser])


def _resident(processes: list[str]) -> float:
    process = subprocess.run(
        ["ps", "-o", "rss=", "-p", ",".join(processes)], capture_output=True, text=True, check=True
    )
    return sum(map(int, process.stdout.split())) / 1000


def _typing(visitor: Any, label: str, text: str) -> float:
    box = visitor.page.get_by_label(label, exact=True)
    box.fill(text)
    before = visitor.page.evaluate(_SHOWN)
    start = perf_counter()
    box.press("Control+Enter")
    elapsed = _until_changed(visitor, before, start)
    visitor.settle()
    return elapsed


def _choosing(visitor: Any, points: str) -> float:
    before = visitor.page.evaluate(_SHOWN)
    visitor.page.get_by_test_id("stSelectbox").filter(has_text="Points").locator("input").click()
    start = perf_counter()
    visitor.page.get_by_role("option", name=points, exact=True).click()
    elapsed = _until_changed(visitor, before, start)
    visitor.settle()
    return elapsed


def _until_changed(visitor: Any, before: str, start: float) -> float:
    visitor.page.wait_for_function(f"before => {{ const now = ({_SHOWN})(); return now && now !== before }}",
                                   arg=before, timeout=60_000, polling=20)  # fmt: skip
    return perf_counter() - start


def _write_large(folder: Path) -> str:
    """Write a large space around the bundled one: real words first, then noise."""
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
