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
from densray import load_space
from densray.persistence import load_rotation

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
    assert "Trust:" in visitor.text
    assert "wonderful" in visitor.page.get_by_test_id("stVegaLiteChart").first.inner_html()
    assert visitor.page.get_by_test_id("stVegaLiteChart").count() >= 2
    assert visitor.page.title() == "Axis · googlenews-26k · densray"


def test_a_story_from_two_lists_to_a_download(visitor, googlenews, tmp_path):
    visitor.go().type("Words at the high end", "king man boy father husband uncle")
    visitor.type("Words at the low end", "queen woman girl mother wife aunt")
    visitor.type("Name of the axis", "gender")
    assert "high=king" in visitor.page.url
    before = visitor.text
    visitor.page.get_by_text("All figures, and the seeds behind them").click()
    visitor.page.get_by_role("button", name="king", exact=True).first.click()
    visitor.settle()
    assert "Without king the axis turned by" in visitor.text
    assert "Without king the axis turned by" not in before
    visitor.picture("seed-removed")

    lexicon = polars.read_csv(io.BytesIO(visitor.download("Induced lexicon .tsv")), separator="\t")
    assert len(lexicon) == len(googlenews)
    assert {"word", "score", "rank", "probability", "standard_error"} <= set(lexicon.columns)
    saved = tmp_path / "axis.npz"
    saved.write_bytes(visitor.download("Rotation .npz"))
    rotation = load_rotation(saved, space=googlenews)
    assert rotation.components_.shape == (googlenews.width, googlenews.width)  # lossless: densray rotate takes it
    scores = googlenews[lexicon["word"][:3].to_list()] @ rotation.components_[0]
    np.testing.assert_allclose(scores, lexicon["score"][:3], atol=1e-5)

    shared = Visitor(visitor.page.context.browser, visitor.address).go(
        visitor.page.url.removeprefix(visitor.address)[1:]
    )
    assert "Without king the axis turned by" in shared.text
    shared.context.close()


def test_a_long_step_shows_its_progress_and_can_be_cancelled(visitor):
    visitor.go("?method=densifier")
    start = visitor.page.get_by_role("button", name="Say how far it can be trusted")
    start.click()
    visitor.page.get_by_test_id("stProgress").wait_for()
    visitor.page.get_by_role("button", name="Cancel").click()
    start.wait_for(timeout=30_000)
    assert "Trust:" not in visitor.text


def test_an_address_of_no_page_is_told(visitor):
    visitor.go("nosuch")
    visitor.page.get_by_text("There is no page “nosuch” here; this is Axis.").wait_for()
    visitor.follow("Map")
    assert "There is no page" not in visitor.text


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
def test_an_address_in_a_word_is_no_link(visitor, word):
    visitor.go(f"?words={word}")
    assert word in visitor.text.replace("\u2060", "")
    assert visitor.page.locator("a[href*='//evil'], a[href*='//www.evil'], a[href^='mailto']").count() == 0


def test_the_map_puts_words_on_two_named_axes(visitor, googlenews):
    visitor.go("map?mark=queen+king&points=500")
    visitor.picture("map")
    chart = visitor.page.get_by_test_id("stVegaLiteChart").first
    assert "queen" in chart.inner_text()
    assert "father, son →" in chart.inner_text()  # the high end of gender, at its end
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
    assert place() != before
    chart.dblclick(position={"x": 500, "y": 300})
    assert place() == before


def test_zooming_in_names_more_words_none_over_another(visitor):
    visitor.go("map?points=500")
    chart = visitor.page.get_by_test_id("stVegaLiteChart").first

    def seen():
        visitor.page.wait_for_timeout(800)
        return visitor.page.evaluate(_LABELS)

    before = seen()
    chart.hover(position={"x": 500, "y": 260})
    for _ in range(4):
        visitor.zoom(-120)
    after = seen()
    visitor.picture("map-zoomed")
    assert len(before) > 30
    assert {label["word"] for label in after} - {label["word"] for label in before}
    for labels in (before, after):
        boxes = [label["box"] for label in labels]
        for number, one in enumerate(boxes):
            for other in boxes[:number]:
                across = max(one["left"], other["left"]) - min(one["right"], other["right"])
                down = max(one["top"], other["top"]) - min(one["bottom"], other["bottom"])
                assert max(across, down) > -3  # a line of text is a few pixels higher than its letters


def test_an_axis_put_aside_is_there_on_the_map(visitor):
    visitor.go().type("Words at the high end", "rich wealthy affluent").type("Words at the low end", "poor needy broke")
    visitor.type("Name of the axis", "wealth").click("Pin this axis").follow("Map")
    visitor.page.get_by_test_id("stSelectbox").filter(has_text="Colour").click()
    assert visitor.page.get_by_role("option", name="wealth").count() >= 1


def test_methods_are_compared_on_one_concept(visitor):
    visitor.go("compare")
    visitor.picture("compare")
    assert "Angle between the axes" in visitor.text
    assert "Words all of them disagree on" in visitor.text


def test_analogies_are_answered_with_the_parts_of_their_scores(visitor):
    visitor.go("analogies")
    visitor.picture("analogies")
    assert "uncle → aunt" in visitor.text
    visitor.type("Query", "nephew")
    assert "nephew → niece" in visitor.text
    assert "query=nephew" in visitor.page.url


def test_a_missed_analogy_goes_back_into_ask_with_its_pairs(visitor):
    visitor.go("analogies?part=benchmark&section=gram2-opposite")
    visitor.picture("analogies-benchmark")
    table = visitor.page.get_by_test_id("stDataFrame").last.bounding_box()
    visitor.page.mouse.click(table["x"] + 20, table["y"] + 53)  # the box of the first row: tables are drawn, not built
    visitor.settle().picture("analogies-missed")
    assert "certain → undesirable" in visitor.text
    assert "“uncertain” is answer 122 of 26,423." in visitor.text
    assert "query=certain" in visitor.page.url


def test_a_removal_is_seen_before_and_after_and_taken_along(visitor, tmp_path):
    visitor.go("remove?source=lexicon&lexicon=gender")
    visitor.picture("remove")
    assert visitor.page.get_by_test_id("stVegaLiteChart").count() >= 2
    assert "original space" in visitor.text
    assert "erased space" in visitor.text
    saved = tmp_path / "erased.bin"
    saved.write_bytes(visitor.download("Erased space .bin (32 MB)"))
    erased, original = load_space(saved), load_space("googlenews-26k")
    gaps = [abs(space.cosine("nurse", "man") - space.cosine("nurse", "woman")) for space in (original, erased)]
    assert gaps[1] < gaps[0] / 2


def test_a_shared_link_is_the_first_thing_a_fresh_explorer_is_asked_for(chrome):
    with explorer() as address:
        visitor = Visitor(chrome, address).go("remove?source=lexicon&lexicon=gender&remover=ridge")
        assert "Is it gone?" in visitor.text
        visitor.context.close()


def test_two_visitors_see_one_long_step_through(chrome, address):
    first, second = (Visitor(chrome, address) for _ in range(2))
    first.go("?source=lexicon&lexicon=hu-liu")
    second.go("?source=lexicon&lexicon=hu-liu")
    assert "Trust:" in first.text
    assert "Trust:" in second.text
    for visitor in (first, second):
        visitor.context.close()


def test_the_back_button_goes_back_to_the_view_before(visitor):
    visitor.go()
    for words in ("rich wealthy affluent", "kind warm gentle"):
        visitor.type("Words at the high end", words)
    visitor.page.go_back()
    visitor.settle()
    assert visitor.page.get_by_label("Words at the high end", exact=True).input_value() == "rich wealthy affluent"
