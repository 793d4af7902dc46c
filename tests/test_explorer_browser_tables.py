"""A table of documents in the explorer, in a real browser: from the map to the erased table."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from browser import Visitor, browser, chromium, explorer
from test_explorer_tables import documents

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="no chromium on this machine (Debian: apt-get install chromium)"),
]
pytest.importorskip("streamlit", reason="the extra `explore` (streamlit) is not installed")
pytest.importorskip("playwright", reason="playwright, which drives the browser, is not installed")
pytest.importorskip("pyarrow", reason="the extra `tables` (pyarrow) is not installed")

PICTURES = Path(os.environ.get("DENSRAY_PICTURES", "build/pictures"))
_PATIENCE = 120_000  # milliseconds
_CHART = '[data-testid="stVegaLiteChart"]'


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an explorer that shows a table of 120 documents."""
    path = tmp_path_factory.mktemp("table") / "docs.parquet"
    documents().write_parquet(path)
    with explorer(str(path)) as found:
        yield found


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    with browser() as found:
        yield found


@pytest.fixture
def visitor(chrome: Any, address: str) -> Iterator[Visitor]:
    """A fresh visitor; afterwards nothing may have gone wrong in the browser, or out of the machine."""
    found = Visitor(chrome, address, pictures=PICTURES)
    yield found
    found.context.close()
    assert found.outside == []
    assert found.problems == []


def wait_for(visitor: Visitor, text: str) -> None:
    visitor.page.get_by_text(text).first.wait_for(timeout=_PATIENCE)


def test_a_story_from_the_map_to_the_erased_table(visitor: Visitor) -> None:
    visitor.go("?tint=source")
    wait_for(visitor, "120 documents, scaled to unit length")
    visitor.page.wait_for_selector(f"{_CHART} .mark-symbol path", timeout=_PATIENCE)
    links = visitor.page.get_by_test_id("stSidebar").get_by_role("link").all_inner_texts()
    names = [re.sub(r"^\w+\s+", "", link).strip() for link in links]
    assert [name for name in names if name != "Documentation"] == ["Map", "Axis", "Remove"]  # its pages may be built
    point = visitor.page.locator(f"{_CHART} .mark-symbol path").first
    point.hover(force=True)
    visitor.page.wait_for_selector("#vg-tooltip-element.visible:has-text('Report')", timeout=_PATIENCE)
    point.click(force=True)
    wait_for(visitor, "Nearest documents")
    visitor.page.wait_for_url("**document=*", timeout=_PATIENCE)
    visitor.picture("documents-map")

    visitor.follow("Axis")
    wait_for(visitor, "From court (")  # on the column with the fewest classes
    visitor.go("axis?label=source&by=topic")
    wait_for(visitor, "Trust:")
    wait_for(visitor, "It covers the choice of documents and the error of the axis")
    visitor.picture("documents-axis")
    scored = pl.read_parquet(io.BytesIO(visitor.download("Scored table .parquet")))
    assert len(scored) == 120
    assert {"text", "score", "standard_error", "probability"} <= set(scored.columns)

    visitor.follow("Remove")
    wait_for(visitor, "On rows the erasure has not seen")
    visitor.picture("documents-remove")
    label = next(
        each
        for each in visitor.page.get_by_role("button").all_inner_texts()
        if "Erased table .parquet" in each
    )  # fmt: skip
    erased = pl.read_parquet(io.BytesIO(visitor.download(label.split("\n")[-1])))
    assert erased.columns == ["text", "source", "topic", "year", "vector"]


def test_no_chart_leaves_its_column(visitor: Visitor) -> None:
    for width in (390, 1440):
        visitor.page.set_viewport_size({"width": width, "height": 1000})
        for view in ("?tint=topic", "axis?label=year&by=source", "remove?label=source&document=1"):
            visitor.go(view)
            visitor.page.wait_for_function(
                f"""() => [...document.querySelectorAll('{_CHART}')].every(place => {{
                    const drawn = (place.querySelector('svg, canvas') || place).getBoundingClientRect()
                    return drawn.width <= place.parentElement.clientWidth + 2
                }})""",
                timeout=_PATIENCE,
            )


def test_names_of_documents_leave_most_of_a_phone_to_their_marks(visitor: Visitor) -> None:
    widths = {}
    for width in (390, 1440):
        visitor.page.set_viewport_size({"width": width, "height": 1000})
        visitor.go("axis?label=source")
        visitor.page.wait_for_selector(f"{_CHART} .mark-symbol path", timeout=_PATIENCE)
        names = visitor.page.locator(f"{_CHART}").first.locator("text", has_text=re.compile("Report|[a-z]{4}"))
        widths[width] = max(box["width"] for each in names.all() if (box := each.bounding_box()) is not None)
    assert widths[390] <= 140 < widths[1440] <= 190


@pytest.mark.parametrize("view", ["axis?label=source&by=source", "remove?label=source"])
def test_charts_follow_the_window_and_come_before_the_texts_of_documents(visitor: Visitor, view: str) -> None:
    visitor.page.set_viewport_size({"width": 390, "height": 1000})
    visitor.go(view)
    visitor.page.wait_for_selector(_CHART, timeout=_PATIENCE)
    visitor.settle()
    if view.startswith("axis"):
        first = visitor.page.get_by_text("These documents with their texts").bounding_box()
        assert first["y"] > visitor.page.locator(_CHART).first.bounding_box()["y"]
    for width in (1440, 390, 1024):
        visitor.resize(width)
        visitor.until(visitor.charts_fit, seconds=20)
        inside, window = visitor.page.evaluate(
            """() => { const main = document.querySelector('[data-testid="stMain"]')
            return [main.scrollWidth, main.clientWidth] }"""
        )
        assert inside <= window, width
