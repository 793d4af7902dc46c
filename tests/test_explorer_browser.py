"""The explorer end to end, in a real browser: every page, and the story of a visitor."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import numpy as np
import polars
import pytest

from browser import Visitor, browser, chromium, explorer
from densray import Axis, load_space

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="no chromium on this machine (Debian: apt-get install chromium)"),
]
pytest.importorskip("streamlit", reason="the extra `explore` (streamlit) is not installed")
pytest.importorskip("playwright", reason="playwright, which drives the browser, is not installed")

#: Where pictures of the run are kept.
PICTURES = Path(os.environ.get("DENSRAY_PICTURES", "build/pictures"))
#: The labels of a map that can be seen, each with its box: a label is drawn twice, the second time without a seam.
_LABELS = """() => [...document.querySelectorAll('[data-testid="stVegaLiteChart"] .mark-text.role-mark')].slice(1)
    .flatMap(layer => [...layer.querySelectorAll('text')])
    .filter(text => text.textContent && text.getAttribute('opacity') !== '0')
    .map(text => ({word: text.textContent, box: text.getBoundingClientRect().toJSON()}))"""


@pytest.fixture(scope="module")
def address():
    with explorer() as found:
        yield found


@pytest.fixture(scope="module")
def chrome():
    with browser() as found:
        yield found


@pytest.fixture
def visitor(chrome, address):
    """A fresh visitor; afterwards nothing may have gone wrong in the browser, or out of the machine."""
    found = Visitor(chrome, address, pictures=PICTURES)
    yield found
    found.context.close()
    assert found.outside == []
    assert found.problems == []


def test_axis_ranks_the_vocabulary_and_says_how_far_to_trust_it(visitor):
    visitor.go("?words=Wonderful")
    visitor.picture("axis")
    visitor.sees("Trust:")
    visitor.until(lambda: "wonderful" in visitor.page.get_by_test_id("stVegaLiteChart").first.inner_html())
    visitor.until(lambda: visitor.page.get_by_test_id("stVegaLiteChart").count() >= 2)
    assert visitor.page.title() == "Axis · googlenews-26k · densray"


def test_a_story_from_two_lists_to_a_download(visitor, googlenews, tmp_path):
    visitor.go().type("Words at the high end", "king man boy father husband uncle")
    visitor.type("Words at the low end", "queen woman girl mother wife aunt")
    visitor.type("Name of the axis", "gender")
    visitor.until(lambda: "high=king" in visitor.page.url)
    before = visitor.text
    visitor.page.get_by_text("All numbers, and the most important seeds").click()
    visitor.page.get_by_role("button", name="king", exact=True).first.click()
    visitor.settle()
    visitor.sees("Without king the axis turned by")
    assert "Without king the axis turned by" not in before
    visitor.picture("seed-removed")

    lexicon = polars.read_csv(io.BytesIO(visitor.download("Induced lexicon .tsv")), separator="\t")
    assert len(lexicon) == len(googlenews)
    assert {"word", "score", "rank", "probability", "standard_error"} <= set(lexicon.columns)
    saved = tmp_path / "axis.safetensors"
    saved.write_bytes(visitor.download("Axis .safetensors"))
    rotation = Axis.load(saved, googlenews).rotation
    assert rotation.components_.shape == (googlenews.width, googlenews.width)  # lossless: densray rotate takes it
    scores = googlenews[lexicon["word"][:3].to_list()] @ rotation.components_[0]
    np.testing.assert_allclose(scores, lexicon["score"][:3], atol=1e-5)

    shared = Visitor(visitor.page.context.browser, visitor.address).go(
        visitor.page.url.removeprefix(visitor.address)[1:]
    )
    shared.sees("Without king the axis turned by")
    shared.context.close()


def test_a_long_step_shows_its_progress_and_can_be_cancelled(visitor):
    visitor.go("?method=densifier")
    start = visitor.page.get_by_role("button", name="Check how reliable it is")
    start.click()
    visitor.page.get_by_test_id("stProgress").wait_for()
    visitor.page.get_by_role("button", name="Cancel").click()
    start.wait_for(timeout=30_000)
    assert "Trust:" not in visitor.text


def test_an_address_without_a_page_is_reported(visitor):
    visitor.go("nosuch")
    visitor.page.get_by_text("There is no page “nosuch”, so Axis is shown.").wait_for()
    visitor.follow("Map")
    visitor.until(lambda: "There is no page" not in visitor.text)


def test_script_in_a_word_list_is_shown_as_text(visitor):
    nasty = "<script>alert(1)</script>\n<img src=x onerror=alert(2)>\n![x](http://evil.example/x.png)\n[a](javascript:alert(3))"
    visitor.go().type("Words at the high end", nasty)
    visitor.page.get_by_text("seeds are not in the space").click()
    visitor.page.get_by_text("<script>alert(1)</script>").last.wait_for()
    assert visitor.page.locator("img[src*='evil']").count() == 0
    visitor.picture("script-as-text")


@pytest.mark.parametrize(
    "word", ["HTTP://evil.example/y", "https://evil.example", "www.evil.example", "me@evil.example"]
)
def test_an_address_in_a_word_is_not_a_link(visitor, word):
    visitor.go(f"?words={word}")
    visitor.until(lambda: word in visitor.text.replace("\u2060", ""))
    assert visitor.page.locator("a[href*='//evil'], a[href*='//www.evil'], a[href^='mailto']").count() == 0


def test_the_map_puts_words_on_two_named_axes(visitor, googlenews):
    visitor.go("map?mark=queen+king&points=500")
    visitor.picture("map")
    chart = visitor.page.get_by_test_id("stVegaLiteChart").first
    visitor.until(lambda: "queen" in chart.inner_text())
    visitor.until(lambda: "father, son →" in chart.inner_text())  # the high end of gender, at its end
    svg = visitor.download("Map .svg").decode()
    assert "queen" in svg
    assert visitor.download("Map .png").startswith(b"\x89PNG")
    page = visitor.download("Map .html").decode()
    assert "queen" in page
    assert '<script src="http' not in page
    table = polars.read_parquet(io.BytesIO(visitor.download("Coordinates .parquet")))
    assert len(table) == len(googlenews)


def test_the_map_zooms_under_ctrl_and_the_wheel_and_comes_back(visitor):
    visitor.go("map?points=500&mark=he")
    chart = visitor.page.get_by_test_id("stVegaLiteChart").first

    def place():
        visitor.page.wait_for_timeout(800)
        return chart.locator("text", has_text=re.compile("^he$")).filter(visible=True).last.bounding_box()

    before = place()
    chart.hover(position={"x": 500, "y": 300})
    visitor.zoom(-300)
    visitor.until(lambda: place() != before)
    chart.dblclick(position={"x": 500, "y": 300})
    visitor.until(lambda: place() == before)


def test_the_map_names_many_words_none_over_another(visitor):
    visitor.go("map?points=500")
    visitor.page.wait_for_timeout(800)
    boxes = [label["box"] for label in visitor.page.evaluate(_LABELS)]
    assert len(boxes) > 30
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            across = max(one["left"], other["left"]) - min(one["right"], other["right"])
            down = max(one["top"], other["top"]) - min(one["bottom"], other["bottom"])
            assert max(across, down) > -3  # a line of text is a few pixels higher than its letters


def test_the_whole_vocabulary_is_drawn_searched_and_selected(visitor, googlenews):
    visitor.go("map?shown=frequent")
    whole = visitor.page.locator(f".word-map[data-points='{len(googlenews)}']")
    whole.wait_for()
    visitor.sees("father, son →")
    assert_labels_apart(visitor, at_least=30)
    visitor.page.get_by_label("Find a word on the map").fill("Nurse")
    visitor.page.get_by_role("button", name="Find", exact=True).click()
    visitor.sees("nurse: “good – bad”: ")
    visitor.until(lambda: "nurse" in whole.locator(".labels .marked").all_inner_texts())
    visitor.page.get_by_role("button", name="Select what is in view").click()
    visitor.sees("words selected.")
    cells = whole.locator("tbody td:first-child")
    visitor.until(lambda: "nurse" in cells.all_inner_texts())
    assert "she" not in cells.all_inner_texts()  # it lies outside this view
    visitor.picture("map-selected")
    with visitor.page.expect_download() as coming:
        whole.get_by_role("button", name=re.compile("Download .* words .csv")).click()
    table = polars.read_csv(Path(coming.value.path()))
    assert table.columns == ["word", "good – bad", "good – bad rank", "gender", "gender rank"]
    assert table["word"].to_list() == [word for word in googlenews.words if word in set(table["word"])]
    shown = cells.all_inner_texts()
    assert shown == table.sort("good – bad", descending=True)["word"].to_list()[: len(shown)]
    visitor.page.get_by_role("button", name="Clear the selection").click()
    visitor.sees("No word is selected.")
    visitor.page.get_by_label("Find a word on the map").fill("qwertyuiop")
    visitor.page.keyboard.press("Enter")
    visitor.sees("“qwertyuiop” is not on the map.")


def test_a_lasso_selects_what_it_surrounds_and_the_words_join_a_list(visitor):
    visitor.go("map?high=rich+wealthy+affluent&low=poor+needy+broke")
    visitor.page.wait_for_selector(".word-map[data-points]")
    find_and_go_closer(visitor, "nurse")
    visitor.click("Lasso")
    box = visitor.page.locator(".word-map .plot").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    visitor.page.mouse.move(middle[0] - 12, middle[1] - 12)
    visitor.page.mouse.down()
    for right, down in ((12, -12), (12, 12), (-12, 12), (-12, -10)):
        visitor.page.mouse.move(middle[0] + right, middle[1] + down, steps=4)
    visitor.page.mouse.up()
    visitor.page.locator(".word-map tbody td", has_text=re.compile("^nurse$")).wait_for()
    visitor.page.get_by_role("button", name="Add to the low list").click()
    box = visitor.page.get_by_label("Words at the low end", exact=True)
    visitor.until(lambda: "nurse" in box.input_value().split())
    visitor.until(lambda: "nurse" in visitor.page.url)


def test_a_click_on_the_whole_map_opens_the_card(visitor):
    visitor.go("map")
    visitor.page.wait_for_selector(".word-map[data-points]")
    find_and_go_closer(visitor, "nurse")
    plot = visitor.page.locator(".word-map .plot")
    box = plot.bounding_box()
    at = {"x": box["width"] / 2, "y": box["height"] / 2}
    plot.hover(position=at)
    visitor.until(lambda: plot.locator(".tip strong").all_inner_texts() == ["nurse"])
    plot.click(position=at)
    visitor.sees("Nearest words, by cosine: ")
    visitor.until(lambda: "card=nurse" in visitor.page.url)


def test_marking_a_word_keeps_the_view_and_the_selection(visitor):
    visitor.go("map")
    visitor.page.wait_for_selector(".word-map[data-points]")
    find_and_go_closer(visitor, "nurse")
    visitor.page.get_by_role("button", name="Select what is in view").click()
    visitor.sees("selected.")
    before = visitor.page.locator(".word-map").get_attribute("data-selected")
    visitor.unfold().type("Words to mark", "nurse waitress")
    visitor.until(lambda: visitor.page.locator(".word-map .labels .marked").count() >= 1)
    assert visitor.page.locator(".word-map").get_attribute("data-selected") == before
    visitor.page.locator(".word-map tbody td", has_text=re.compile("^nurse$")).wait_for()


def test_without_webgl_the_map_says_so_and_shows_a_figure(visitor):
    visitor.page.add_init_script(
        """const given = HTMLCanvasElement.prototype.getContext
        HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
            return kind.startsWith("webgl") ? null : given.call(this, kind, ...more)
        }"""
    )
    visitor.go("map")
    visitor.sees("the browser needs WebGL")
    visitor.page.get_by_test_id("stVegaLiteChart").first.wait_for()


def find_and_go_closer(visitor, word):
    """Put a word in the middle of the map, with few others around it."""
    visitor.page.get_by_label("Find a word on the map").fill(word)
    visitor.page.keyboard.press("Enter")
    visitor.sees(f"{word}: “")
    for _ in range(4):
        visitor.page.get_by_role("button", name="Zoom in").click()


def assert_labels_apart(visitor, *, at_least):
    """Check that the labels of the whole map do not lie over each other and stay inside it."""
    labels = """() => [...document.querySelectorAll('.word-map .labels span')].map(label =>
        ({text: label.textContent, turned: false, box: label.getBoundingClientRect().toJSON()}))"""
    visitor.until(lambda: len(visitor.page.evaluate(labels)) >= at_least)
    found, plot = visitor.page.evaluate(labels), visitor.page.locator(".word-map .plot").bounding_box()
    for number, one in enumerate(found):
        assert plot["x"] <= one["box"]["left"], one
        assert one["box"]["right"] <= plot["x"] + plot["width"], one
        for other in found[:number]:
            across = max(one["box"]["left"], other["box"]["left"]) - min(one["box"]["right"], other["box"]["right"])
            down = max(one["box"]["top"], other["box"]["top"]) - min(one["box"]["bottom"], other["box"]["bottom"])
            assert max(across, down) > -0.5, (one, other)


def test_an_axis_put_aside_is_there_on_the_map(visitor):
    visitor.go().type("Words at the high end", "rich wealthy affluent").type("Words at the low end", "poor needy broke")
    visitor.type("Name of the axis", "wealth").click("Pin this axis").follow("Map")
    visitor.page.get_by_test_id("stSelectbox").filter(has_text="Colour").click()
    visitor.page.get_by_role("option", name="wealth").first.wait_for()


def test_methods_are_compared_on_one_concept(visitor):
    visitor.go("compare")
    visitor.picture("compare")
    visitor.sees("Angle between the axes")
    visitor.sees("Words they disagree on most")


def test_analogies_are_answered_with_the_parts_of_their_scores(visitor):
    visitor.go("analogies")
    visitor.picture("analogies")
    visitor.sees("uncle → aunt")
    visitor.type("Query", "nephew")
    visitor.sees("nephew → niece")
    visitor.until(lambda: "query=nephew" in visitor.page.url)


def test_a_missed_analogy_goes_back_into_ask_with_its_pairs(visitor):
    visitor.go("analogies?part=benchmark&section=gram2-opposite")
    visitor.picture("analogies-benchmark")
    table = visitor.page.get_by_test_id("stDataFrame").last.bounding_box()
    visitor.page.mouse.click(table["x"] + 20, table["y"] + 53)  # the box of the first row: tables are drawn, not built
    visitor.settle().picture("analogies-missed")
    visitor.sees("certain → undesirable")
    visitor.sees("“uncertain” is answer 122 of 26,423.")
    visitor.until(lambda: "query=certain" in visitor.page.url)


def test_a_removal_is_seen_before_and_after_and_taken_along(visitor, tmp_path):
    visitor.go("remove?source=lexicon&lexicon=gender")
    visitor.picture("remove")
    visitor.until(lambda: visitor.page.get_by_test_id("stVegaLiteChart").count() >= 2)
    visitor.sees("original space")
    visitor.sees("erased space")
    saved = tmp_path / "erased.bin"
    saved.write_bytes(visitor.download("Erased space .bin (32 MB)"))
    erased, original = load_space(saved), load_space("googlenews-26k")
    gaps = [abs(space.cosine("nurse", "man") - space.cosine("nurse", "woman")) for space in (original, erased)]
    assert gaps[1] < gaps[0] / 2


def test_a_shared_link_is_the_first_thing_a_fresh_explorer_is_asked_for(chrome):
    with explorer() as address:
        visitor = Visitor(chrome, address).go("remove?source=lexicon&lexicon=gender&remover=ridge")
        visitor.sees("Is it gone?")
        visitor.context.close()


def test_two_visitors_see_one_long_step_through(chrome, address):
    first, second = (Visitor(chrome, address) for _ in range(2))
    first.go("?source=lexicon&lexicon=hu-liu")
    second.go("?source=lexicon&lexicon=hu-liu")
    first.sees("Trust:")
    second.sees("Trust:")
    for visitor in (first, second):
        visitor.context.close()


def test_the_back_button_goes_back_to_the_view_before(visitor):
    visitor.go()
    for words in ("rich wealthy affluent", "kind warm gentle"):
        visitor.type("Words at the high end", words)
    visitor.page.go_back()
    visitor.settle()
    box = visitor.page.get_by_label("Words at the high end", exact=True)
    visitor.until(lambda: box.input_value() == "rich wealthy affluent")
