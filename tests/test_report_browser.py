"""Reports in a real browser: readable on a phone, in light and in dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright", reason="playwright, which drives the browser, is not installed")

from browser import AXE, Visitor, browser, chromium
from densray.cli.entry import run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="no chromium on this machine (Debian: apt-get install chromium)"),
]

REPORTS = {
    "induce": ["induce", "googlenews-26k", "--high", "good,nice,happy,superb", "--low", "bad,awful,sad,nasty"],
    "bias": ["evaluate", "bias", "googlenews-26k", "--concept", "gender", "--removers", "leace"],
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
    inverted = page.evaluate("getComputedStyle(document.images[0]).filter").startswith("invert")
    assert inverted == (scheme == "dark")  # a white chart on a dark page hurts the eyes
    visitor.context.close()


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not in build/axe")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_a_report(chrome: Any, report: Path, scheme: str) -> None:
    visitor = Visitor(chrome, report.as_uri(), scheme=scheme, bypass_csp=True)
    visitor.page.goto(report.as_uri())
    assert [rule for rule in visitor.complaints() if rule[1] in ("serious", "critical")] == []
    visitor.context.close()
