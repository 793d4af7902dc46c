"""The tables of the page on removal are what its numbers render to, and its sentences are about them."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from densray.debiasing import REMOVERS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "debiasing.md").read_text("utf-8")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((ROOT / "docs" / "removal.json").read_text("utf-8"))
    return found


def test_the_tables_are_rendered_from_the_numbers(rows: list[dict[str, Any]]) -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "build_removal_table.py"))
    shown = PAGE.split(script["BEGIN"])[1].split(script["END"])[0]
    assert shown.strip() == script["rendered"](rows).strip()


def test_every_rival_is_in_the_table_and_on_the_page(rows: list[dict[str, Any]]) -> None:
    named = {row["name"].split(":")[0] for row in rows}
    assert {"densray-unit", "svm", "ridge", "mean-difference", "hard", "double-hard", "inlp", "leace"} <= named
    assert named - {"original"} <= REMOVERS.keys()
    assert all(f"`{name}" in PAGE for name in ("inlp", "hard", "double-hard", "leace"))


def test_the_word_list_decides_more_than_the_method(rows: list[dict[str, Any]]) -> None:
    def clusters(words: str, *removers: str) -> list[float]:
        return [
            measure["value"]
            for row in rows
            if row["list"].startswith(words) and row["name"] in removers
            for measure in row["removed"]
            if measure["name"] == "cluster accuracy"
        ]

    methods = ("mean-difference", "densray-unit", "leace")
    family, biased = clusters("family", *methods), clusters("5,000", *methods)
    assert len(family) == len(biased) == 3
    assert min(family) - max(biased) > 0.35
    assert max(family) - min(family) < 0.02
    assert max(biased) - min(biased) < 0.02


def test_similarity_stays_inside_its_interval(rows: list[dict[str, Any]]) -> None:
    before = next(measure for measure in rows[0]["kept"] if measure["name"] == "men")
    after = [measure["value"] for row in rows for measure in row["kept"] if measure["name"] == "men"]
    assert all(before["low"] < value < before["high"] for value in after)
