"""Quotes in tables of text: they enclose fields, or are letters, or the file is refused; no row is lost."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="tables need pyarrow")

from densray.errors import TableError
from densray.tables import open_table

LETTERS = "ab \"'ü"


def texts_of(path: Path) -> list[str]:
    table = open_table(path)
    assert len(table.vectors()) == len(table)
    return table.column("text").to_pylist()


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_what_is_written_by_the_rules_is_read_or_refused(delimiter, quoting, line_end, tmp_path) -> None:
    path, refused = tmp_path / ("docs.tsv" if delimiter == "\t" else "docs.csv"), 0
    for seed in range(12):
        rng = random.Random(seed)
        letters = LETTERS + rng.choice(["", delimiter, "\n", delimiter + "\n"])
        texts = ["".join(rng.choices(letters, k=rng.randint(1, 7))) + "z" for _ in range(9)]
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=line_end)
            rows.writerows([("text", "vector"), *((text, "[1 2]") for text in texts)])
        try:
            assert texts_of(path) == texts
        except TableError:
            refused += 1
    assert refused <= 1


def test_quotes_between_tabs_are_letters(tmp_path) -> None:
    path = tmp_path / "docs.tsv"
    for seed in range(20):
        rng = random.Random(seed)
        texts = ["".join(rng.choices(LETTERS, k=rng.randint(1, 7))) + "z" for _ in range(9)]
        path.write_text("\n".join(["text\tvector", *(f"{text}\t[1 2]" for text in texts)]), encoding="utf-8")
        assert texts_of(path) == texts
    path.write_text('"text"\t"vector"\n"a ""b"""\t"[1 2]"\n5" pipe\t[3 4]\n', encoding="utf-8")
    assert texts_of(path) == ['a "b"', '5" pipe']


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['a,"[1 2]"', '"open,[1 2]', "b,[1 2]"], "line 3: a quote is not closed"),
        (['"a"b,[1 2]'], "line 2: a quote is not closed, or is followed by text"),
        ([r'"say \"no\"",[1 2]'], "line 2: a quote is not closed, or is followed by text"),
        (["a,[1 2]", '",[1 2]', "b,[1 2]", '",[1 2]'], "quotes join lines that have all columns"),
    ],
)
def test_quotes_that_would_hide_rows_are_refused(lines, message, tmp_path) -> None:
    (tmp_path / "docs.csv").write_text("\n".join(["text,vector", *lines, ""]))
    with pytest.raises(TableError, match=message):
        open_table(tmp_path / "docs.csv")


def test_a_vector_may_be_longer_than_the_usual_limit_of_a_field(tmp_path) -> None:
    cell = str([0.25] * 40_000)
    (tmp_path / "docs.csv").write_text(f'text,vector\n"a, b","{cell}"\n')
    assert open_table(tmp_path / "docs.csv").width == 40_000
    assert csv.field_size_limit() == 131_072
