"""The sentences of the page on removal are about its numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from densray.debiasing import REMOVERS
from densray.debiasing._measurement import correlation_interval

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "debiasing.md").read_text("utf-8")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((ROOT / "docs" / "removal.json").read_text("utf-8"))
    return found


def test_every_rival_is_in_the_table_and_on_the_page(rows: list[dict[str, Any]]) -> None:
    named = {row["name"].split(":")[0] for row in rows}
    assert {"densray-unit", "svm", "ridge", "mean-difference", "hard", "double-hard", "inlp", "leace"} <= named
    assert named - {"original"} <= REMOVERS.keys()
    assert all(f"`{name}" in PAGE for name in ("inlp", "hard", "double-hard", "leace"))


def found(rows: list[dict[str, Any]], words: str, measure: str, *removers: str) -> list[float]:
    chosen = [row for row in rows if row["list"].startswith(words) and row["name"] in removers]
    assert len(chosen) == len(removers)
    return [row["measures"][measure]["mean"] for row in chosen]


def test_the_word_list_decides_more_than_the_method(rows: list[dict[str, Any]]) -> None:
    methods = ("mean-difference", "densray-unit", "leace")
    family, biased = (found(rows, words, "clusters", *methods) for words in ("family", "half"))
    assert min(family) - max(biased) > 0.35
    assert max(family) - min(family) < 0.02
    assert max(biased) - min(biased) < 0.02


def test_the_axis_that_predicts_leaves_most_and_every_draw_says_so(rows: list[dict[str, Any]]) -> None:
    assert min(found(rows, "half", "ridge AUC", "ridge", "svm")) > 0.95
    assert max(found(rows, "half", "ridge AUC", "mean-difference", "densray-unit", "leace")) < 0.65
    draws = [row["measures"]["ridge AUC"] for row in rows]
    assert all(len(each["values"]) == 5 and each["low"] <= each["mean"] <= each["high"] for each in draws)


def test_similarity_stays_inside_its_interval(rows: list[dict[str, Any]]) -> None:
    low, high = correlation_interval(rows[0]["measures"]["MEN"]["mean"], 3000)
    assert all(low < value < high for row in rows for value in row["measures"]["MEN"]["values"])


def test_the_ranges_of_the_page_are_those_of_the_numbers(rows: list[dict[str, Any]]) -> None:
    similarity = [row["measures"]["MEN"]["mean"] for row in rows]
    best = found(rows, "half", "RBF", "mean-difference", "densray-unit", "leace", "ridge:30")
    (overlap,) = found(rows, "half", "overlap", "ridge:30")
    assert f"MEN stays within {min(similarity):.3f}–{max(similarity):.3f}" in PAGE
    assert f"still recovers {min(best):.2f}–{max(best):.2f} at best" in PAGE
    assert f"{overlap:.2f} after thirty" in PAGE
