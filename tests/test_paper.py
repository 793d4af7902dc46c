"""The published tables are transcribed whole, and agree with themselves as far as the paper does."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

import pytest

from densray.errors import DataError
from densray.paper import (
    AGGREGATES,
    DECIMALS,
    GROUPS,
    TABLES,
    agreement,
    compare,
    comparison_table,
    published,
)

ROUNDING = 0.005 + 1e-9


def cell(table: str, **keys: object) -> float:
    found = [row["paper"] for row in published(table) if all(row[key] == keys[key] for key in keys)]
    assert len(found) == 1
    return found[0]


def columns(table: str) -> dict[tuple[str, str], dict[str, float]]:
    """Every column of every block, by category."""
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in published(table):
        found[row["block"], row["column"]][row["category"]] = row["paper"]
    return found


@pytest.mark.parametrize(
    ("table", "cells", "keys"),
    [
        ("table1", 9 * 4, ["line", "task", "embedding", "train", "test", "method", "paper"]),
        ("table3", 2 * 10 * 2, ["block", "word", "anchor", "paper"]),
        ("table4", (6 + 6 + 3 + 3) * 8, ["block", "category", "column", "paper"]),
        ("table5", 2 * (17 + 47) * 6, ["block", "category", "column", "paper"]),
        ("table6", 2 * (17 + 47) * 6, ["block", "category", "column", "paper"]),
    ],
)
def test_every_cell_is_there_once(table: str, cells: int, keys: list[str]) -> None:
    rows = published(table)
    assert len(rows) == cells
    assert all(list(row) == keys for row in rows)
    assert len({tuple(row[key] for key in keys[:-1]) for row in rows}) == cells
    assert all(row["paper"] == round(row["paper"], DECIMALS[table]) for row in rows)


def test_spot_values_are_those_of_the_paper() -> None:
    assert cell("table1", line=4, method="svm") == 0.565
    assert cell("table1", line=8, method="svr", train="BWK*") == 0.655
    assert cell("table1", line=9, method="densifier") == 0.580
    assert cell("table3", block="original", word="registered_nurse", anchor="woman") == 0.33
    assert cell("table3", block="complement", word="skipper", anchor="man") == 0.25
    assert cell("table4", block="GN/BATS", category="Derivational", column="intcos-complement-densray") == 0.55
    assert cell("table4", block="FT/GA", category="Macro Std", column="lrcos") == 0.23
    assert cell("table5", block="GN/GA", category="gram3-comparative", column="intcos-complement-densray") == 0.92
    assert cell("table6", block="GN/GA", category="gram3-comparative", column="intcos-original-densray") == 0.97
    assert cell("table6", block="FT/BATS", category="L10 [antonyms - binary]", column="lrcos") == 0.39


def test_table_3_shows_the_same_ten_lines_for_both_anchors() -> None:
    rows = published("table3")
    for block in ("original", "complement"):
        words = [row["word"] for row in rows if row["block"] == block]
        assert words[::2] == words[1::2]
        gaps = [cell("table3", block=block, word=word, anchor="man") for word in words[::2]]
        gaps = [m - cell("table3", block=block, word=w, anchor="woman") for m, w in zip(gaps, words[::2], strict=True)]
        assert all(gap < 0 for gap in gaps[:5])
        assert all(gap > 0 for gap in gaps[5:])


def test_macro_means_of_table_1_recompute_from_its_lines() -> None:
    for method in ("densifier", "densray", "svr", "svm"):
        values = [row["paper"] for row in published("table1") if row["method"] == method]
        assert abs(statistics.mean(values[:8]) - values[8]) <= 0.0005 + 1e-9


@pytest.mark.parametrize("table", ["table5", "table6"])
def test_macro_lines_recompute_when_the_lines_above_count_as_categories(table: str) -> None:
    for lines in columns(table).values():
        above = [value for name, value in lines.items() if not name.startswith("Macro")]
        assert "Micro Mean" in lines
        assert abs(statistics.mean(above) - lines["Macro Mean"]) <= ROUNDING
        assert abs(statistics.pstdev(above) - lines["Macro Std"]) <= ROUNDING


def test_macro_lines_do_not_all_recompute_from_the_categories_alone() -> None:
    misses = {"Macro Mean": 0, "Macro Std": 0}
    for table in ("table5", "table6"):
        for lines in columns(table).values():
            values = [value for name, value in lines.items() if name not in (*AGGREGATES, *GROUPS)]
            mean_gap = abs(statistics.mean(values) - lines["Macro Mean"])
            assert mean_gap <= 2 * ROUNDING  # rounded cells, rounded mean
            misses["Macro Mean"] += mean_gap > ROUNDING
            misses["Macro Std"] += abs(statistics.pstdev(values) - lines["Macro Std"]) > ROUNDING
    assert misses == {"Macro Mean": 4, "Macro Std": 14}


def test_the_analogy_tables_agree_where_they_share_a_cell() -> None:
    seen: dict[tuple[str, str, str], set[float]] = defaultdict(set)
    for table in ("table4", "table5", "table6"):
        for row in published(table):
            seen[row["block"], row["category"], row["column"]].add(row["paper"])
    assert all(len(values) == 1 for values in seen.values())
    assert {(r["block"], r["category"], r["column"]) for r in published("table4")} <= seen.keys()


def test_an_unknown_table_suggests_the_nearest() -> None:
    with pytest.raises(DataError, match="Did you mean 'table1'"):
        published("tabel1")
    assert "figure1" not in TABLES


def test_each_call_returns_rows_of_its_own() -> None:
    published("table3")[0]["paper"] = -1.0
    assert published("table3")[0]["paper"] == 0.23


PAPER: list[dict[str, Any]] = [{"word": "a", "paper": 0.25}, {"word": "b", "paper": 0.5}]


def test_comparison_keeps_our_extra_keys_and_the_published_order() -> None:
    ours = [{"word": "b", "pairs": 3, "ours": 0.75}, {"word": "z", "ours": 1.0}, {"word": "a", "ours": None}]
    assert compare(ours, PAPER) == [
        {"word": "a", "ours": None, "paper": 0.25, "difference": None},
        {"word": "b", "pairs": 3, "ours": 0.75, "paper": 0.5, "difference": 0.25},
        {"word": "z", "ours": 1.0, "paper": None, "difference": None},
    ]


def test_comparison_can_show_what_we_did_not_compute() -> None:
    ours = [{"word": "b", "ours": 0.5}]
    assert [row["word"] for row in compare(ours, PAPER)] == ["b"]
    assert [row["ours"] for row in compare(ours, PAPER, include_absent=True)] == [None, 0.5]


def test_comparison_names_a_missing_key_and_a_repeated_cell() -> None:
    with pytest.raises(DataError, match="no 'word'"):
        compare([{"ours": 1.0}], PAPER)
    with pytest.raises(DataError, match="same cell"):
        compare([{"word": "a", "ours": 1.0}, {"word": "a", "ours": 2.0}], PAPER)


def test_agreement_counts_cells_equal_to_the_printed_decimals() -> None:
    rows = compare([{"word": "a", "ours": 0.2549}, {"word": "b", "ours": 0.506}], PAPER)
    found = agreement(rows, decimals=2)
    assert (found["cells"], found["compared"], found["equal"]) == (2, 2, 1)
    assert found["largest_difference"] == pytest.approx(0.006)
    assert found["mean_difference"] == pytest.approx(0.00545)
    assert agreement([], decimals=2)["mean_difference"] is None


def test_compared_rows_are_laid_out_with_how_many_agree() -> None:
    ours = [{"block": "original", "word": "actress", "anchor": "man", "ours": 0.234}]
    ours.append({"block": "original", "word": "actress", "anchor": "woman", "ours": 0.4})
    table = comparison_table("table3", compare(ours, published("table3")))
    assert table.title.startswith("Table 3")
    assert table.shown()[0] == ["original", "actress", "man", "0.23", "0.23", "0.004"]
    assert table.notes[0].startswith("1 of 2 cells")
