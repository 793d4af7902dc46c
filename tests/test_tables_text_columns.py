"""Types of the columns of text files do not depend on the order of the rows, nor on how they are cut into batches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow")

from densray.tables._text_columns import ColumnEvidence, decide_kinds, read_values  # noqa: E402

NUMBERS = ["1", "-3", "0", "007", "+5", "0.5", "1.770", ".5", "1e5", "0,5", "1,234", "3,75", ",5", "1,2e3"]
NUMBERS += [
    "2.543",
    "884",
    "1234567890123456789",
    "-12345678901234567",
    "9999999999999999999",
    "+491230001",
    "1234567.25",
]
LISTS = ["[1, 2]", "[0.5, 0.25]", "[1 2]", "[]", "[0,5; 1,2]", "[0,5 1,2]", "[0,1257,-0,1321]", "[-0; 3]"]
LISTS += ["[2.543, 884]", "[2.543 1.120]"]
OTHERS = ["NA", "k.A.", "-", "", "ja", "1.234,5"]
VALUES = st.lists(st.sampled_from(NUMBERS + OTHERS) | st.sampled_from(LISTS + OTHERS), min_size=1, max_size=6)


def kinds(*columns: list[list[str]], commas: bool = True) -> list[str]:
    """Return the types of columns, each a list of batches."""
    found = {str(number): ColumnEvidence() for number in range(len(columns))}
    for evidence, batches in zip(found.values(), columns, strict=True):
        for batch in batches:
            evidence.add(texts(batch))
    return list(decide_kinds(found, commas=commas).values())


def texts(values: list[str]) -> pa.Array:
    return pa.array([value or None for value in values], pa.string())


@given(values=VALUES, order=st.randoms(use_true_random=False), cut=st.integers(0, 6), commas=st.booleans())
def test_order_and_batches_do_not_change_the_type_of_a_column(values, order, cut, commas):
    shuffled = list(values)
    order.shuffle(shuffled)
    assert kinds([values], commas=commas) == kinds([shuffled[:cut], shuffled[cut:]], commas=commas)


@given(values=VALUES, commas=st.booleans())
def test_every_column_can_be_read_in_its_type(values, commas):
    (kind,) = kinds([values], commas=commas)
    read = read_values(texts(values), kind).to_pylist()
    assert len(read) == len(values)
    if kind != "text":
        marks = ("", "NA", "k.A.", "-")
        assert [value is None for value in read] == [value in marks for value in values]


@pytest.mark.parametrize(
    ("values", "kind", "read"),
    [
        (["1", "NA", "-3"], "integer", [1, None, -3]),
        (["+5", "0,5"], "decimal comma", [5.0, 0.5]),
        (["[]", "[0,5 1,2]", "k.A."], "comma list", [[], [0.5, 1.2], None]),
        (["[-0 1]", "[1, 2]"], "list", [[0.0, 1.0], [1.0, 2.0]]),
        (["[1, 2]", "[0,1257,-0,1321]"], "text", ["[1, 2]", "[0,1257,-0,1321]"]),
        (["007", "8"], "text", ["007", "8"]),
        (["1234567890123456789", "NA"], "integer", [1234567890123456789, None]),
        (["1234567890123456789", "9999999999999999999"], "text", ["1234567890123456789", "9999999999999999999"]),
        (["12345678901234567", "0.5"], "text", ["12345678901234567", "0.5"]),
        (["+491230001", "5"], "text", ["+491230001", "5"]),
        (["1", "none", "2"], "text", ["1", "none", "2"]),
        (["-", "NA"], "text", ["-", "NA"]),
        (["2.543", "884"], "text", ["2.543", "884"]),  # perhaps thousands
        (["2.543", "884", "0.618"], "number", [2.543, 884.0, 0.618]),
        (["2.543", "3.884"], "number", [2.543, 3.884]),
        (["2.543", "884", "1e3"], "number", [2.543, 884.0, 1000.0]),
        (["[2.543, 884]", "[1.120, 7]"], "text", ["[2.543, 884]", "[1.120, 7]"]),
        (["[2.543, 884]", "[1.12, 7]"], "list", [[2.543, 884.0], [1.12, 7.0]]),
        (["[2.543, 3.884]", "[1.120, -7.111]"], "list", [[2.543, 3.884], [1.12, -7.111]]),
    ],
)
def test_the_type_of_a_column_follows_from_all_its_values(values, kind, read):
    assert kinds([[value] for value in values]) == [kind]
    assert read_values(texts(values), kind).to_pylist() == read


def test_other_columns_decide_whether_a_point_separates_thousands():
    assert kinds([["1.770"]], [["0,5"]]) == ["text", "decimal comma"]
    assert kinds([["1.770"]], [["0.5"]]) == ["number", "number"]
    assert kinds([["1,234"]], [["0,5"]]) == ["decimal comma", "decimal comma"]
    assert kinds([["1,234"]], [["0.5"]]) == ["text", "number"]


def test_in_files_with_semicolons_a_point_is_a_decimal_point_only_if_another_number_shows_it():
    def decided(*columns: list[str]) -> list[str]:
        found = {str(number): ColumnEvidence() for number in range(len(columns))}
        for evidence, values in zip(found.values(), columns, strict=True):
            evidence.add(texts(values))
        return list(decide_kinds(found, commas=True, semicolons=True).values())

    assert decided(["1.770"], ["[1.770; 2.345]"]) == ["text", "text"]
    assert decided(["1.770"], ["[1.770; 2.345]"], ["0.5"]) == ["number", "list", "number"]
    assert decided(["1.770"], ["[1.77; 2.345]"]) == ["number", "list"]
