"""Reports in a real browser: readable on a phone, in light and in dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright", reason="playwright, which drives the browser, is not installed")

from browser import AXE, Visitor, browser, chromium
from densray.cli.entry import run
from densray.report import Report, Section, Table, write_html

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="no chromium on this machine (Debian: apt-get install chromium)"),
]

REPORTS = {
    "induce": ["induce", "googlenews-26k", "--high", "good,nice,happy,superb", "--low", "bad,awful,sad,nasty"],
    "bias": ["evaluate", "bias", "googlenews-26k", "--concept", "gender", "--removers", "leace"],
    "diagnose": ["diagnose", "googlenews-26k", "gender"],
}
#: Relative luminance of a colour "rgb(r, g, b)", without the gamma of a screen: enough to tell ink from paper.
LIGHTNESS = "color => color.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part) / 765, 0)"


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module", params=list(REPORTS))
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    page = folder / "report.html"
    output = ["-o", str(folder / "out.csv")] if request.param == "induce" else []
    assert run([*REPORTS[request.param], *output, "--report", str(page), "--quiet"]) == 0
    return page


@pytest.mark.parametrize("width", [390, 1024, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_fits_the_window_and_its_ink_differs_from_its_paper(
    chrome: Any, report: Path, scheme: str, width: int
) -> None:
    visitor = Visitor(chrome, report.as_uri(), scheme=scheme)
    page = visitor.page
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(report.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    charts = page.evaluate("[...document.images].map(image => [image.naturalWidth, image.width])")
    assert charts
    assert all(natural > 0 and shown <= width for natural, shown in charts)
    ink, paper = page.evaluate(
        f"[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor].map({LIGHTNESS})"
    )
    assert (ink > 0.8 and paper < 0.2) if scheme == "dark" else (ink < 0.2 and paper > 0.8)
    drawings = page.evaluate("[...document.images].map(image => atob(image.currentSrc.split('base64,')[1]))")
    assert all(('fill="#16181b"' in each) == (scheme == "dark") for each in drawings)  # a white chart hurts the eyes
    assert {page.evaluate("getComputedStyle(document.images[0]).filter")} == {"none"}
    visitor.context.close()


#: The least letters of the charts of a report, in pixels of the screen.
_LETTERS = """async () => Promise.all([...document.images].map(async image => {
    await image.decode()
    const file = atob(image.currentSrc.split(',')[1])
    const drawing = new DOMParser().parseFromString(file, 'image/svg+xml').documentElement
    const sizes = [...drawing.querySelectorAll('text')].map(text => parseFloat(text.getAttribute('font-size')))
    return Math.min(...sizes) * image.getBoundingClientRect().width / parseFloat(drawing.getAttribute('width'))
}))"""


@pytest.mark.parametrize("width", [360, 390, 1024])
def test_the_letters_of_charts_are_large_enough_at_any_width(chrome: Any, report: Path, width: int) -> None:
    visitor = Visitor(chrome, report.as_uri(), width=width, height=900)
    visitor.page.goto(report.as_uri())
    sizes = visitor.page.evaluate(_LETTERS)
    assert sizes
    assert min(sizes) >= (10.5 if width != 360 else 10), sizes
    visitor.context.close()


def test_a_wide_table_scrolls_in_its_box_and_keeps_its_first_column(chrome: Any, tmp_path: Path) -> None:
    page = tmp_path / "wide.html"
    names = [f"measure {number}" for number in range(12)]
    rows = [{"remover": "mean-difference", **dict.fromkeys(names, 0.123)} for _ in range(4)]
    write_html(Table("Removers", ["remover", *names], rows), page)
    visitor = Visitor(chrome, page.as_uri(), width=390, height=900)
    visitor.page.goto(page.as_uri())
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    moved, scrolled = visitor.page.evaluate(
        """() => { const box = document.querySelector('.table'), cell = box.querySelector('td')
        const before = cell.getBoundingClientRect().left
        box.scrollLeft = 300
        return [cell.getBoundingClientRect().left - before, box.scrollLeft] }"""
    )
    assert scrolled == 300
    assert abs(moved) < 1
    assert visitor.page.locator(".table").get_attribute("tabindex") == "0"  # the keyboard reaches it
    visitor.context.close()


def test_a_phone_shows_documents_as_blocks_and_table_headings_within_the_window(chrome: Any, tmp_path: Path) -> None:
    page = tmp_path / "texts.html"
    names = [f"measure {number}" for number in range(12)]
    rows = [{"text": "A judgment on the fourth amendment. " * 3, **dict.fromkeys(names, 0.123)} for _ in range(3)]
    heading = "Documents that move the axis most, with a title that is far too long for one line of a phone"
    write_html(Report("Tables", [Section("", tables=[Table(heading, ["text", *names], rows),
                                                     Table(heading, names, rows)])]), page)  # fmt: skip
    visitor = Visitor(chrome, page.as_uri(), width=390, height=900)
    visitor.page.goto(page.as_uri())
    ends = visitor.page.evaluate(
        "[...document.querySelectorAll('section h2')].map(each => each.getBoundingClientRect().right)"
    )
    assert len(ends) == 2
    assert max(ends) <= 390
    scrolls = "box => box.scrollWidth > box.clientWidth"
    texts, numbers = visitor.page.locator(".table").all()
    assert not texts.evaluate(scrolls)
    assert numbers.evaluate(scrolls)
    first, second = (texts.locator("tbody tr").first.locator("td").nth(at).bounding_box() for at in (0, 1))
    assert second["y"] >= first["y"] + first["height"], "numbers stand under the text"
    assert first["width"] > 300
    visitor.page.set_viewport_size({"width": 1024, "height": 900})
    assert texts.locator("thead").bounding_box()["height"] > 10, "a wide window shows a table"
    visitor.context.close()


def test_a_phone_shows_the_meaning_of_a_number_below_it(chrome: Any, tmp_path: Path) -> None:
    page = tmp_path / "numbers.html"
    rows = [
        {"statistic": "held-out AUC", "value": "0.990 [0.985, 0.993]", "meaning": "an unseen word scores above " * 3}
    ]
    write_html(Report("T", [Section("", tables=[Table("Numbers", ["statistic", "value", "meaning"], rows)])]), page)
    visitor = Visitor(chrome, page.as_uri(), width=390, height=900)
    visitor.page.goto(page.as_uri())
    cells = visitor.page.locator("tbody td")
    name, number, meaning = (cells.nth(at).bounding_box() for at in range(3))
    assert name["y"] == number["y"]
    assert meaning["y"] >= number["y"] + number["height"]
    assert meaning["width"] > 300
    visitor.page.set_viewport_size({"width": 1024, "height": 900})
    assert cells.nth(2).bounding_box()["x"] > cells.nth(1).bounding_box()["x"]
    visitor.context.close()


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not in build/axe")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_a_report(chrome: Any, report: Path, scheme: str) -> None:
    visitor = Visitor(chrome, report.as_uri(), scheme=scheme, bypass_csp=True)
    visitor.page.goto(report.as_uri())
    assert [rule for rule in visitor.complaints() if rule[1] in ("serious", "critical")] == []
    visitor.context.close()
