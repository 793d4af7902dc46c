"""Every page of the explorer at every width, light and dark, in a real browser: what fits, what can be read by whom."""

from __future__ import annotations

import io
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import AXE, Visitor, browser, chromium, explorer
from densray import load_space
from densray.axes import COMPARABLE
from densray.formats import write_space
from densray.states._storage import StatesInFolder, states_header

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="no chromium on this machine (Debian: apt-get install chromium)"),
]
pytest.importorskip("streamlit", reason="the extra `explore` (streamlit) is not installed")
pytest.importorskip("playwright", reason="playwright, which drives the browser, is not installed")
views = pytest.importorskip("densray.explorer.views")

#: Where pictures of all pages are kept for people to look at; none are taken where it is not said.
PICTURES = os.environ.get("DENSRAY_PICTURES")
#: A view of each page on which much can go wrong, where it is not its first one.
VIEWS = {
    "axis": "axis?words=nurse,wonderful,Banker",
    "map": "map?shown=occupations&mark=nurse+engineer&color=us-occupation-shares",
    "compare": "compare?source=lexicon&lexicon=gender",
    "remove": "remove?source=lexicon&lexicon=gender",
}
PAGES = {name: VIEWS.get(name, name) for name in views.PAGES}
PAGES["benchmark"] = "analogies?part=benchmark"
PAGES["crowded"] = "map?points=500"
PAGES["vocabulary"] = "map?shown=frequent&mark=nurse&color=us-occupation-shares"
PAGES["spaces"] = "axis?other=now&words=nurse&high=good+great+best+better+strong&low=bad+worst+poor+worse+weak"
WIDTHS = (390, 768, 1024, 1280, 1920)

#: Of every chart: its width, that of its column, how far it leaves it, and the words in it with their boxes.
_CHARTS = """() => [...document.querySelectorAll('[data-testid="stVegaLiteChart"], .word-map')].map(place => {
    const drawn = place.querySelector('svg, canvas').getBoundingClientRect()
    const column = (place.closest('[data-testid="stColumn"]')
        || document.querySelector('[data-testid="stMainBlockContainer"]')).getBoundingClientRect()
    // labels on a map are drawn twice, the first time as a seam; hidden ones are there too
    const words = [...place.querySelectorAll('svg text, .labels span')].filter(text => text.textContent.trim()
        && !['opacity', 'display'].some(name => ['0', 'none'].includes(text.getAttribute(name)))
        && !text.getAttribute('stroke'))
    return {
        width: drawn.width, column: column.width,
        leaves: Math.max(column.left - drawn.left, drawn.right - column.right, 0),
        words: words.map(text => ({
            text: text.textContent, box: text.getBoundingClientRect().toJSON(),
            turned: /rotate\\((?!-?(0|90|270)\\))/.test(text.getAttribute('transform') || ''),
        })),
    }
})"""


def write_second_space(path: Path) -> str:
    """The bundled space cut short and with noise, as another corpus would have it."""
    first = load_space("googlenews-26k").limit(4_000)
    scale = np.linalg.norm(first.vectors, axis=1, keepdims=True) / np.sqrt(first.width)
    noise = np.random.default_rng(0).normal(size=first.vectors.shape).astype(np.float32)
    return str(write_space(first.with_vectors(first.vectors + 0.5 * scale * noise).renamed("now"), path))


def write_states(folder: Path) -> str:
    """Forty texts in twelve layers, a concept in the later ones, as `densray model read` writes them."""
    texts, sides = [f"text {number}" for number in range(40)], np.tile([1, -1], 20)
    header = states_header(
        model="none/such", checksum="", layers=list(range(12)), width=8, dtype="float32", pool="last", tokens="",
        added_first_token=False, texts=texts,
    )  # fmt: skip
    random = np.random.default_rng(0)
    concept = 0.2 * np.arange(12)[:, None, None] * np.outer(sides, np.eye(8)[0])
    with StatesInFolder(folder, header) as target:
        target.write(0, random.normal(size=(12, 40, 8)) + concept)
    target.states().labelled(["male" if side > 0 else "female" for side in sides], store=True)
    return str(folder)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two spaces and hidden states: every page has something to show."""
    folder = tmp_path_factory.mktemp("shown")
    with explorer(
        "googlenews-26k", write_second_space(folder / "now.densray"), write_states(folder / "states")
    ) as found:
        yield found


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    with browser() as found:
        yield found


def overlaps(words: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The pairs of words that lie over each other; a line of text is a few pixels higher than its letters."""
    level = [word for word in words if not word["turned"]]
    return [
        (one["text"], other["text"])
        for number, one in enumerate(level)
        for other in level[:number]
        if min(one["box"]["right"], other["box"]["right"]) - max(one["box"]["left"], other["box"]["left"]) > 2
        and min(one["box"]["bottom"], other["box"]["bottom"]) - max(one["box"]["top"], other["box"]["top"]) > 4
    ]


@pytest.mark.parametrize("page", PAGES)
def test_no_chart_leaves_its_column_and_no_two_words_overlap_at_any_width(chrome, address, page):
    visitor = Visitor(chrome, address)
    visitor.go(PAGES[page]).unfold()
    for width in WIDTHS:
        visitor.resize(width).unfold().resize(width)  # what was open folds where the inputs move into the page
        charts = visitor.page.evaluate(_CHARTS)
        for chart in charts:
            assert chart["leaves"] <= 1, (width, chart["width"], chart["column"])
            assert chart["width"] >= 200, width
            assert overlaps(chart["words"]) == [], width
        inside, window = visitor.page.evaluate(
            """() => { const main = document.querySelector('[data-testid="stMain"]')
            return [main.scrollWidth, main.clientWidth] }"""
        )
        assert inside <= window, width  # nothing to scroll sideways to
        assert charts or page in ("analogies", "benchmark")
    visitor.context.close()
    assert visitor.problems == []


@pytest.mark.parametrize(
    "view",
    [
        PAGES["compare"],
        PAGES["compare"] + "&methods=" + ",".join(COMPARABLE),
        "analogies",
        "analogies?solver=intrank",
        "analogies?part=benchmark",
    ],
)
def test_no_small_table_scrolls_sideways(chrome, address, view):
    visitor = Visitor(chrome, address)
    visitor.go(view)
    visitor.page.get_by_test_id("stTable").first.wait_for()
    visitor.unfold()
    for width in (390, 1024, 1440):
        visitor.resize(width)
        sizes = visitor.page.evaluate(
            """() => [...document.querySelectorAll('[data-testid="stTable"]')].map(place => {
                const table = place.querySelector('table').getBoundingClientRect()
                return [table.right, place.parentElement.getBoundingClientRect().right, table.width]
            })"""
        )
        assert sizes
        assert all(right <= end + 1 and across > 200 for right, end, across in sizes), width
    visitor.context.close()


def test_the_verdict_of_a_comparison_comes_first(chrome, address):
    visitor = Visitor(chrome, address)
    visitor.go(PAGES["compare"])
    verdict = visitor.page.get_by_test_id("stAlert")
    verdict.wait_for()
    assert verdict.inner_text().count("AUC") == 1
    assert verdict.bounding_box()["y"] < visitor.page.get_by_test_id("stMultiSelect").bounding_box()["y"]
    visitor.sees("Words they disagree on most")
    visitor.until(lambda: visitor.page.get_by_text("Held-out τ, intervals of the differences").count() == 1)
    visitor.context.close()


#: Of the lists and charts of a page that belong together, the distance from the end of the list to the chart.
_LISTS_FIRST = """() => [...document.querySelectorAll('[class*="st-key-charts-"]')].map(charts => {
    const lists = charts.parentElement.parentElement.lastElementChild
    return lists.querySelector('[data-testid]') && lists.getBoundingClientRect().height
        ? charts.getBoundingClientRect().top - lists.getBoundingClientRect().bottom : null
}).filter(distance => distance !== null)"""


def test_the_numbers_of_the_axis_page_stand_in_a_row_or_two_by_two(chrome, address):
    visitor = Visitor(chrome, address)
    visitor.go(PAGES["axis"])
    visitor.sees("Nearest words, by cosine")
    for width in (390, 1024, 1440):
        visitor.resize(width)
        main = visitor.page.get_by_test_id("stMain")
        label, box = main.get_by_text("My words", exact=True).first, main.get_by_role("textbox", name="My words")
        assert abs(label.bounding_box()["y"] - box.bounding_box()["y"]) < 30  # in one line
        numbers = [each.bounding_box()["y"] for each in main.get_by_test_id("stMetric").all()]
        assert len(numbers) == 4
        assert len({round(number / 20) for number in numbers}) == (1 if width == 1440 else 2)
    visitor.context.close()


@pytest.mark.parametrize("page", ["axis", "remove", "spaces"])
def test_lists_come_before_charts_on_a_phone_and_below_them_in_a_wide_window(chrome, address, page):
    visitor = Visitor(chrome, address)
    visitor.go(PAGES[page])

    def in_order(narrow: bool) -> bool:
        distances = visitor.page.evaluate(_LISTS_FIRST)
        return bool(distances) and all((distance >= 0) == narrow for distance in distances)

    for width in (390, 1440):
        visitor.resize(width).until(lambda narrow=width == 390: in_order(narrow), seconds=20)
    visitor.context.close()


def test_the_controls_of_the_map_stand_two_abreast_where_the_window_is_narrow(chrome, address):
    visitor = Visitor(chrome, address)
    visitor.go("map")
    for width in (1024, 390):
        visitor.resize(width)
        selects = visitor.page.locator('[class*="st-key-controls-map"] [data-testid="stSelectbox"]').all()
        boxes = [each.bounding_box() for each in selects]
        assert boxes[0]["y"] == boxes[1]["y"] < boxes[2]["y"]
        assert boxes[0]["x"] < boxes[1]["x"]
    visitor.until(lambda: "mouse wheel" not in visitor.page.get_by_test_id("stMain").inner_text())
    drawn = visitor.page.locator('.word-map, [data-testid="stVegaLiteChart"]').first
    assert drawn.bounding_box()["y"] < 700
    visitor.context.close()


#: The labels of the whole map, and the middle and the spread of its points, in pixels of the window.
_CROWD = """() => {
    const plot = document.querySelector('.word-map .plot').getBoundingClientRect()
    return {plot: plot.toJSON(),
        labels: [...document.querySelectorAll('.word-map .labels span')].map(each => each.getBoundingClientRect().toJSON())}
}"""


@pytest.mark.parametrize("width", [390, 1440])
def test_the_middle_of_the_whole_map_stays_readable_and_has_no_labels(chrome, address, width):
    image = pytest.importorskip("PIL.Image", reason="pictures are read by pillow")
    visitor = Visitor(chrome, address)
    visitor.go("map").resize(width)
    found = visitor.page.evaluate(_CROWD)
    plot = found["plot"]
    across, down = plot["left"] + 0.485 * plot["width"], plot["top"] + 0.44 * plot["height"]  # where most words are
    reach = 0.04 * plot["width"], 0.04 * plot["height"]
    assert len(found["labels"]) > 12
    assert not [
        box for box in found["labels"]
        if box["left"] < across + reach[0] and box["right"] > across - reach[0]
        and box["top"] < down + reach[1] and box["bottom"] > down - reach[1]
    ]  # fmt: skip
    clip = {"x": across - reach[0], "y": down - reach[1], "width": 2 * reach[0], "height": 2 * reach[1]}
    seen = image.open(io.BytesIO(visitor.page.screenshot(clip=clip))).convert("RGB")
    visitor.context.close()
    red = np.asarray(seen)[:, :, 0].mean()  # 255 on white ground, 0 in the blue of the points
    assert 255 * 0.15 < red < 255 * 0.7


def test_texts_of_hidden_states_wrap_and_the_curves_come_first_on_a_phone(chrome, address):
    visitor = Visitor(chrome, address)
    visitor.go("layers")
    for width in (390, 1024):
        visitor.resize(width)
        tables = [each.bounding_box() for each in visitor.page.get_by_test_id("stTable").all()]
        assert len(tables) == 3
        assert tables[1]["y"] + tables[1]["height"] <= tables[2]["y"]  # one below the other
    visitor.resize(390)
    tables = [each.bounding_box() for each in visitor.page.get_by_test_id("stTable").all()]
    assert visitor.page.get_by_test_id("stVegaLiteChart").first.bounding_box()["y"] < tables[0]["y"]
    visitor.context.close()


@pytest.mark.parametrize("page", ["compare"])
def test_a_column_of_lists_stands_above_a_column_of_charts_on_a_phone(chrome, address, page):
    visitor = Visitor(chrome, address)
    visitor.go(PAGES[page])
    visitor.resize(390)
    chart = visitor.page.get_by_test_id("stVegaLiteChart").first
    chart.wait_for()
    listed = visitor.page.locator('[data-testid="stColumn"] :is([data-testid="stTable"], [data-testid="stDataFrame"])')
    assert listed.first.bounding_box()["y"] < chart.bounding_box()["y"]
    visitor.context.close()


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ("analogies", "benchmark", "map", "crowded")])
def test_charts_follow_a_window_that_grows_and_shrinks(chrome, address, page):
    visitor = Visitor(chrome, address)
    visitor.page.set_viewport_size({"width": 390, "height": 1000})
    visitor.go(PAGES[page]).unfold()
    for width in (1440, 390, 1024, 1920):
        visitor.resize(width).unfold().resize(width)  # what was open folds where the inputs move into the page
        visitor.until(visitor.charts_fit, seconds=20)
    visitor.context.close()


def test_columns_with_charts_stack_in_a_narrow_window_and_stand_side_by_side_in_a_wide_one(chrome, address):
    visitor = Visitor(chrome, address)
    visitor.go(PAGES["remove"])
    tops = {}
    for width in (900, 1440):
        visitor.resize(width)
        boxes = [chart.bounding_box() for chart in visitor.page.get_by_test_id("stVegaLiteChart").all()[:2]]
        tops[width] = [round(box["y"]) for box in boxes]
    visitor.context.close()
    assert tops[900][0] < tops[900][1]
    assert tops[1440][0] == tops[1440][1]


@pytest.mark.parametrize("page", ["axis", "remove"])
def test_no_label_of_a_figure_is_cut(chrome, address, page):
    visitor = Visitor(chrome, address)
    visitor.go(PAGES[page])
    for width in WIDTHS:
        visitor.resize(width)
        cut = visitor.page.evaluate(
            """() => [...document.querySelectorAll('[data-testid="stMetricLabel"]')].filter(label => {
                const [text, help] = ['p', 'button'].map(each => label.querySelector(each).getBoundingClientRect())
                return text.width < 10 || text.right > help.left + 1
            }).map(label => label.textContent)"""
        )
        assert cut == [], width
    visitor.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_has_the_colours_of_the_system(chrome, address, scheme):
    """The ground is what the system asks for, charts included."""
    visitor = Visitor(chrome, address, pictures=Path(PICTURES) / scheme if PICTURES else None, scheme=scheme)
    for page, view in PAGES.items():
        visitor.go(view)
        for width in (390, 1024, 1440) if PICTURES else ():
            visitor.resize(width, whole=True)
            visitor.picture(f"{page}-{width}")
        grounds = visitor.page.evaluate(
            """() => [getComputedStyle(document.querySelector('[data-testid="stApp"]')).backgroundColor,
            ...[...document.querySelectorAll('[data-testid="stVegaLiteChart"] svg')].map(
                svg => getComputedStyle(svg).backgroundColor)]
            .map(color => color.match(/\\d+/g).slice(0, 3).map(Number))"""
        )
        for ground in grounds:
            assert (max(ground) < 80) == (scheme == "dark"), (page, ground)
    visitor.context.close()
    assert visitor.problems == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing_serious(chrome, address, page, scheme):
    if not AXE.is_file():
        pytest.skip(f"axe-core is not at {AXE} (npm pack axe-core; or DENSRAY_AXE)")
    visitor = Visitor(chrome, address, scheme=scheme, bypass_csp=True)
    visitor.go(PAGES[page])
    visitor.page.wait_for_timeout(1_500)  # what was drawn again fades in
    visitor.settle()
    found = visitor.complaints()
    visitor.context.close()
    assert [rule for rule in found if rule[1] in ("serious", "critical") or rule[0] == "heading-order"] == []


def test_a_chart_has_a_name_and_can_be_read_as_a_table(chrome, address):
    visitor = Visitor(chrome, address)
    visitor.go(PAGES["map"])
    chart = visitor.page.locator(
        '[role="graphics-document"][aria-label^="321 words by good – bad (across) and gender (up)"]'
    )
    chart.wait_for()
    chart.hover()
    visitor.page.get_by_role("button", name="Show data").first.click()
    visitor.page.get_by_test_id("stDataFrame").first.locator("th", has_text="word").wait_for(state="attached")
    header = visitor.page.get_by_test_id("stDataFrame").first.locator("th").all_inner_texts()
    assert "word" in header
    assert any("gender" in name for name in header)
    assert not {"right", "until", "marked"} & set(header)
    visitor.context.close()


def test_what_has_the_focus_is_seen(chrome, address):
    visitor = Visitor(chrome, address)
    visitor.go("axis")
    seen = []
    for _ in range(12):
        visitor.page.keyboard.press("Tab")
        seen.append(
            visitor.page.evaluate(
                """() => { const style = getComputedStyle(document.activeElement)
                const ring = parseFloat(style.outlineWidth) >= 2 && style.outlineStyle !== 'none'
                const frame = document.activeElement.closest('[data-baseweb], label')
                return ring || [document.activeElement, frame].some(each => each && (
                    getComputedStyle(each).boxShadow !== 'none' || document.activeElement.tagName === 'INPUT')) }"""
            )
        )
    visitor.context.close()
    assert all(seen)


def test_the_wheel_scrolls_the_page_and_zooms_with_ctrl_alone(chrome, address):
    visitor = Visitor(chrome, address, height=700)
    visitor.go("map?points=500&mark=he")
    chart = visitor.page.get_by_test_id("stVegaLiteChart").first
    scroll = "() => document.querySelector('[data-testid=stMain]').scrollTop"

    def label():
        visitor.page.wait_for_timeout(800)
        box = chart.locator("text", has_text=re.compile("^he$")).filter(visible=True).last.bounding_box()
        frame = chart.bounding_box()
        return round(box["x"] - frame["x"]), round(box["y"] - frame["y"])

    before = label()
    chart.hover(position={"x": 400, "y": 300})
    top = visitor.page.evaluate(scroll)
    visitor.page.mouse.wheel(0, 200)
    visitor.until(lambda: visitor.page.evaluate(scroll) > top)
    assert label() == before
    chart.hover(position={"x": 400, "y": 300})
    top = visitor.page.evaluate(scroll)
    visitor.zoom(-200)
    visitor.until(lambda: label() != before)
    assert visitor.page.evaluate(scroll) == top
    visitor.context.close()


def test_a_saved_map_fits_a_phone_without_overlaps(chrome, address, tmp_path):
    visitor = Visitor(chrome, address)
    visitor.go("map?points=500")
    saved = tmp_path / "map.html"
    saved.write_bytes(visitor.download("Map .html"))
    for width in (390, 1500):
        visitor.page.set_viewport_size({"width": width, "height": 900})
        visitor.page.goto(saved.as_uri())
        visitor.page.wait_for_selector("svg, canvas")
        visitor.page.wait_for_timeout(500)
        assert visitor.page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert "500 words of googlenews-26k" in visitor.page.title()
    visitor.context.close()


def _memory(process: int) -> int:
    """Kilobytes that a process holds."""
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=True).stdout
    return int(told)


def test_the_memory_of_the_server_is_flat_over_200_interactions(chrome):
    with explorer() as address:
        port = address.rsplit(":", 1)[1]
        found = subprocess.run(
            ["pgrep", "-f", f"explore googlenews-26k --no-browser --port {port}"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        visitor = Visitor(chrome, address)
        visitor.go()
        held = []
        lists = ("rich wealthy affluent", "kind warm gentle", "old elderly aged", "good nice fine")
        for number in range(205):
            box = visitor.page.get_by_label("Words at the high end", exact=True)
            box.fill(lists[number % len(lists)])
            box.press("Control+Enter")
            visitor.page.wait_for_timeout(100)
            visitor.page.wait_for_selector('[data-test-script-state="notRunning"]', timeout=120_000)
            if number in (4, 204):
                held.append(max(_memory(int(process)) for process in found.stdout.split()))
        visitor.context.close()
    assert held[1] <= 1.05 * held[0], held
