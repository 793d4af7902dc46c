"""Table 3 and figure 2 come out as published on the slice of GoogleNews that the package carries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from densray.cli.entry import run
from densray.debiasing import AnchorGap
from densray.paper import agreement, compare, comparison_table, figure2, occupation_gaps, published, table3


@pytest.fixture(scope="module")
def gaps() -> dict[str, AnchorGap]:
    return occupation_gaps()


def words_of(block: str) -> list[str]:
    return list(dict.fromkeys(row["word"] for row in published("table3") if row["block"] == block))


def test_the_original_block_of_table_3_is_equal_in_words_order_and_cosines(gaps: dict[str, AnchorGap]) -> None:
    assert gaps["original"].extremes(5) == words_of("original")
    cells = [row for row in compare(table3(gaps), published("table3")) if row["block"] == "original"]
    assert agreement(cells, decimals=2)["equal"] == 20


def test_the_complement_block_of_table_3_is_equal_but_for_one_word_and_one_cosine(gaps: dict[str, AnchorGap]) -> None:
    assert len(set(gaps["complement"].extremes(5)) & set(words_of("complement"))) >= 9
    cells = [row for row in compare(table3(gaps), published("table3")) if row["block"] == "complement"]
    found = agreement(cells, decimals=2)
    assert (found["compared"], found["equal"]) == (20, 19)
    assert found["largest_difference"] <= 0.01


def test_figure_2_moves_the_occupations_toward_the_line(gaps: dict[str, AnchorGap]) -> None:
    assert len(figure2(gaps)) == 2 * 320
    before, after = gaps["original"], gaps["complement"]
    assert before.interval is not None
    assert after.interval is not None
    assert after.interval.high < before.interval.low


def test_reproduce_table3_prints_the_cells_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "table3", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 40
    assert {"block", "word", "anchor", "ours", "paper"} <= rows[0].keys()
    assert [row["paper"] for row in rows] == [row["paper"] for row in published("table3")]
    assert {row["word"] for row in rows if not row["listed"]} == {"minister"}


@pytest.mark.slow
def test_reproduce_figure2_writes_the_two_panels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "figure2.svg"
    assert run(["reproduce", "figure2", "-o", str(target), "--json"]) == 0
    assert {row["space"] for row in json.loads(capsys.readouterr().out)} == {"original", "complement"}
    drawn = target.read_text("utf-8")
    assert "original space" in drawn
    assert "complement space" in drawn
    assert run(["reproduce", "figure2", "-o", str(target)]) == 2


def test_the_column_listed_is_explained() -> None:
    rows = [{**cell, "ours": None, "listed": True} for cell in published("table3")]
    notes = comparison_table("table3", compare(rows, published("table3"))).notes
    assert any(
        note.startswith("listed: whether the word is among the five most biased words of each gender") for note in notes
    )
    plain = [{key: row[key] for key in row if key != "listed"} for row in rows]
    assert not any("listed" in note for note in comparison_table("table3", compare(plain, published("table3"))).notes)
