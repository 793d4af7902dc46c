"""Tables of documents as spreadsheets export them: other delimiters, decimal commas, other encodings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

pytest.importorskip("pyarrow", reason="the extra `tables` (pyarrow) is not installed")

from densray import Axis, Rows, open_table
from densray.errors import EncodingDetectedWarning, LabelError, TableError

NAMES = ["Grün", "Müller", "Groß", "Blöd"]
VECTORS = np.random.default_rng(0).normal(size=(len(NAMES), 3)).round(5)


def write(path: Path, *, delimiter: str = ",", decimal: str = ".", encoding: str = "utf-8") -> Path:
    lines = [delimiter.join(["party", "price", "text", "v0", "v1", "v2"])]
    for number, (name, vector) in enumerate(zip(NAMES, VECTORS, strict=True)):
        numbers = [f"{number + 0.5}", f'"{name}{delimiter} so"', *map(str, vector)]
        price, text, *rest = numbers
        lines.append(
            delimiter.join([name, price.replace(".", decimal), text, *(n.replace(".", decimal) for n in rest)])
        )
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(("delimiter", "decimal"), [(",", "."), (";", "."), (";", ","), ("\t", ",")])
def test_files_of_spreadsheets_give_the_same_rows(tmp_path, delimiter, decimal, encoding) -> None:
    path = write(tmp_path / "docs.csv", delimiter=delimiter, decimal=decimal, encoding=encoding)
    if encoding.startswith("utf-8"):
        table = open_table(path)
    else:
        with pytest.warns(EncodingDetectedWarning, match=f"read as {encoding}"):
            table = open_table(path)
    assert table.column("party").to_pylist() == NAMES
    assert table.column("text").to_pylist() == [f"{name}{delimiter} so" for name in NAMES]
    assert table.column("price").to_pylist() == [0.5, 1.5, 2.5, 3.5]
    np.testing.assert_allclose(np.concatenate([X for _, X in table.blocks()]), VECTORS, rtol=1e-6)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_of_plain_letters_without_a_mark_is_read(tmp_path, encoding) -> None:
    path = tmp_path / "docs.csv"
    path.write_bytes("party,v0,v1\nleft,1,2\nright,3,4\n".encode(encoding))
    with pytest.warns(EncodingDetectedWarning, match=f"read as {encoding}"):
        assert open_table(path).column("party").to_pylist() == ["left", "right"]


def test_commas_that_may_separate_thousands_stay_text(tmp_path) -> None:
    path = tmp_path / "docs.tsv"
    path.write_text("visitors\tshare\tv0\tv1\n1,234\t0,5\t0.1\t1\n2,500\t0,25\t0.2\t1\n")
    table = open_table(path)
    assert table.column("visitors").to_pylist() == ["1,234", "2,500"]
    assert table.column("share").to_pylist() == [0.5, 0.25]


def test_an_unknown_encoding_is_refused(tmp_path) -> None:
    path = tmp_path / "docs.csv"
    path.write_bytes("партия,v0,v1\nправо,1,2\nлево,3,4\n".encode("cp1251"))
    with pytest.raises(TableError, match="encoding is not known"):
        open_table(path)


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("between", [", ", "; ", ";", " ", "\n  ", ","])
def test_lists_in_a_cell_give_the_same_rows(tmp_path, between, decimal) -> None:
    path = tmp_path / "docs.csv"
    cells = [between.join(str(number).replace(".", decimal) for number in vector) for vector in VECTORS]
    path.write_text("party;vector\n" + "".join(f'{n};"[{c}]"\n' for n, c in zip(NAMES, cells, strict=True)), "utf-8")
    if (between, decimal) == (",", ","):  # -0 shows that decimal commas split the numbers
        with pytest.raises(TableError, match="text that looks like lists of numbers"):
            open_table(path)
        return
    table = open_table(path)
    np.testing.assert_allclose(np.concatenate([X for _, X in table.blocks()]), VECTORS, rtol=1e-6)


@pytest.mark.parametrize("vectors", [None, "vector"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_vectors_that_numpy_shortened_are_named_with_the_remedy(tmp_path, kind, vectors) -> None:
    texts = [np.array2string(row, threshold=5) for row in np.random.default_rng(0).normal(size=(4, 1200))]
    frame = pl.DataFrame({"party": ["a", "b"] * 2, "vector": [None, *texts[1:]]})
    path = tmp_path / f"docs.{kind}"
    if kind != "frame":
        (frame.write_csv if kind == "csv" else frame.write_parquet)(path)
    with pytest.raises(
        TableError, match=r"row 2: the vector in the column 'vector' was shortened .*vector\.tolist\(\)"
    ):
        open_table(frame if kind == "frame" else path, vectors=vectors)


AMBIGUOUS = ["[0,1257,-0,1321]", "[0,5,1,0013]", "[1.234,5, 2.345,6]", "[1.234,5; 2.345,6]", "[1,234; 2,345]"]


@pytest.mark.parametrize("cells", ["[0,5 1,5,2 3]", "[0.1 0.2, 0.3]", "[1; 2 3]", *AMBIGUOUS])
def test_lists_with_mixed_separators_are_not_vectors(tmp_path, cells) -> None:
    path = tmp_path / "docs.csv"
    path.write_text(f'party;vector\na;"{cells}"\nb;"{cells}"\n')
    with pytest.raises(TableError, match="no column of vectors"):
        open_table(path)


@pytest.mark.parametrize("mark", ["NA", "k.A.", "n.a.", "-", "#NV", "null", "?"])
def test_marks_of_missing_numbers_are_missing(tmp_path, mark) -> None:
    path = tmp_path / "docs.csv"
    rows = [f"{number},{1 + number / 10},{number}.5" for number in range(12)]
    rows[3], rows[7] = f"3,1.3,{mark}", f"7,{mark},7.5"
    path.write_text("\n".join(["v0,v1,tone", *rows]) + "\n")
    table = open_table(path, bad_rows="skip")
    assert table.column("tone").to_pylist() == [None if row == 3 else row + 0.5 for row in range(12)]
    rows = labelled(path)
    assert sorted(rows.y.tolist()) == [row + 0.5 for row in range(12) if row not in (3, 7)]  # scores, not classes
    with pytest.raises(TableError, match="row 8: the vector has a number that is missing"):
        list(open_table(path).blocks())


def labelled(path: Path) -> Rows:
    return Rows.from_table(open_table(path, bad_rows="skip"), labels="tone")


def test_a_few_words_among_scores_are_refused(tmp_path) -> None:
    path = tmp_path / "docs.csv"
    rows = [f"{number},{1 + number / 10},{number % 7}" for number in range(40)]
    rows[5] = "5,0.5,loud"
    path.write_text("\n".join(["v0,v1,tone", *rows]) + "\n")
    with pytest.raises(LabelError, match=r"39 labels in the column 'tone' are numbers, and 1 are not \('loud'\)"):
        labelled(path)
    path.write_text(
        "\n".join(["v0,v1,tone", *(f"{n},{1 + n / 10},{'NA' if n == 3 else 'ab'[n % 2]}" for n in range(12))])
    )
    assert len(labelled(path)) == 11  # NA is no class


@pytest.mark.parametrize("place", [0, 3, 9])
@pytest.mark.parametrize(("delimiter", "decimal", "cell"), [(",", ".", "oops"), (";", ",", "oops"), (";", ",", "0.51")])
def test_a_text_in_a_column_of_numbers_is_located_and_its_dimension_not_dropped(
    tmp_path, place, delimiter, decimal, cell
):
    X = np.random.default_rng(0).normal(size=(20, 10))
    rows = [[f"{number:.4f}".replace(".", decimal) for number in row] for row in X]
    rows[16][place] = cell
    path = tmp_path / "docs.csv"
    header = delimiter.join(["label", *(f"v{number}" for number in range(10))])
    lines = [delimiter.join(["ab"[number % 2], *row]) for number, row in enumerate(rows)]
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    message = rf"docs.csv: all numbered columns should be numbers, and 'v{place}' is not \(row 17 has '{cell}'\)"
    for vectors in (None, "v"):
        with pytest.raises(TableError, match=message):
            open_table(path, vectors=vectors)
    others = [f"v{number}" for number in range(10) if number != place]
    assert open_table(path, vectors=others).width == 9


def test_numbered_columns_of_text_next_to_vectors_are_not_dimensions(tmp_path):
    path = tmp_path / "docs.csv"
    path.write_text("q1,q2,q3,v0,v1\nyes,no,yes,0.5,1.5\nno,no,yes,1.5,2.5\n", encoding="utf-8")
    assert open_table(path).vector_columns.names == ("v0", "v1")


@pytest.mark.parametrize("groups", [None, "proposed"])
def test_rows_written_twice_are_held_out_together(groups):
    random = np.random.default_rng(0)
    X, labels = random.normal(size=(60, 100)), random.permutation(["a", "b"] * 30)  # labels at random
    once = pl.DataFrame({"label": labels, "vector": X.tolist()})
    alone, twice = (open_table(frame).rows("label", groups=groups) for frame in (once, pl.concat([once, once])))
    assert alone.groups is None
    assert twice.n_groups == 60
    assert (twice.groups[:60] == twice.groups[60:]).all()
    diagnosis = Axis.fit(twice).diagnose()
    assert diagnosis.verdict.grade == "none"
    assert diagnosis.permutation.p_value > 0.05
    note = "120 rows in 60 groups have equal vectors and are held out together: row 1/row 61, row 2/row 62"
    assert groups is not None or any(note in line for table in diagnosis.tables() for line in table.notes)


LISTS = [[0.5, -1.25, 2.0], [1.5, 0.25, -3.0]]
RIVALS = {
    "a gap": ({f"v{place}": [0.1, 0.2] for place in (0, 1, 2, 4)}, "no column is numbered 3"),
    "another run": ({f"t{place}": [0.1, 0.2] for place in range(9)}, "'t0' to 't8', 9 columns"),
    "text in a run": ({"v0": [0.1, 0.2], "v1": [0.1, 0.2], "v2": ["0.1", "oops"]}, "not all are numbers"),
    "a run of text": ({f"v{place}": ["0,1", "0,2"] for place in range(3)}, "not all are numbers"),
    "a number beyond": ({f"v{place}": [0.1, 0.2] for place in (0, 1, 2, 3, 2020)}, "no column is numbered 4"),
    "lists as text": ({"e": [str(row) for row in LISTS]}, "text that looks like lists of numbers"),
    "an array as text": ({"e": ["[0.1 0.2 ... 0.3]", None]}, "text that looks like lists of numbers"),
    "lists of integers": ({"e": [[5, -6], [7, 8]]}, "may be token numbers"),
    "lists of text": ({"e": [["0.5", "1"], ["1", "2"]]}, "not lists of numbers"),
    "lists of lists": ({"e": [[[0.5], [1.0]], [[1.0]]]}, "not lists of numbers"),
}


@pytest.mark.parametrize(("columns", "message"), RIVALS.values(), ids=RIVALS.keys())
def test_numbered_columns_next_to_another_candidate_are_never_taken_silently(columns, message) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"text": ["one", "two"], "q1": [1, 2], "q2": [3.0, 4.0], **columns}, strict=False)
    with pytest.raises(TableError, match="2 candidates for the vectors") as caught:
        open_table(frame)
    assert message in str(caught.value)
    assert "'q1' to 'q2', 2 columns" in str(caught.value)
    assert open_table(frame, vectors="q").vector_columns.names == ("q1", "q2")


def test_a_list_of_numbers_is_taken_next_to_few_numbered_columns_and_not_next_to_many() -> None:
    polars = pytest.importorskip("polars")
    few, many = ({"e": LISTS} | {f"topic_{place}": [0.1, 0.2] for place in range(count)} for count in (5, 20))
    assert open_table(polars.DataFrame(few)).vector_columns.names == ("e",)
    with pytest.raises(TableError, match="2 candidates for the vectors: 'e'; 'topic_0' to 'topic_19', 20 columns"):
        open_table(polars.DataFrame(many))


def test_ordinary_columns_next_to_numbered_ones_are_not_candidates() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {"text": ["see [1, 2]", "two"], "sales_2019": [1, 2], "sales_2020": [1, 2], "tags": [["a"], ["b"]],
         "v2": [0.2, 2.2], "v1": [0.1, 1.1], "v10": [1.0, 2.0], **{f"v{n}": [n / 10, n / 5] for n in range(3, 10)}}
    )  # fmt: skip
    assert open_table(frame).vector_columns.names == tuple(f"v{place}" for place in range(1, 11))
    assert open_table(frame, vectors="v").vector_columns.names == tuple(f"v{place}" for place in range(1, 11))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["3,750", "4,125", "1,500"], [3.75, 4.125, 1.5]),  # three decimals, as the other columns have a decimal comma
        (["3,75", "4,1", "1,5"], [3.75, 4.1, 1.5]),
        (["1.770", "483", "1.120"], None),  # thousands
        (["1770", "483", "1120"], [1770, 483, 1120]),
    ],
)
def test_the_marks_of_numbers_in_one_file_agree(tmp_path, written, expected):
    X = np.random.default_rng(0).normal(size=(30, 3))
    path = tmp_path / "docs.csv"
    lines = [";".join([written[n % 3], *(f"{v:.4f}".replace(".", ",") for v in row)]) for n, row in enumerate(X)]
    path.write_text("\n".join(["score;v0;v1;v2", *lines]), encoding="utf-8")
    table = open_table(path)
    np.testing.assert_allclose(table.rows("score", classes=expected is None).X, X, atol=1e-4)
    if expected is None:
        assert table.column("score").to_pylist()[:3] == written
    else:
        assert table.rows("score").y.tolist()[:3] == expected


def test_labels_that_may_be_thousands_are_refused(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    path = tmp_path / "docs.csv"
    votes = ["1.770", "483", "1.120"]
    lines = [";".join([votes[n % 3], *(f"{v:.4f}".replace(".", ",") for v in row)]) for n, row in enumerate(X)]
    path.write_text("\n".join(["votes;v0;v1;v2", *lines]), encoding="utf-8")
    with pytest.raises(LabelError, match="'votes' may be decimal numbers or thousands"):
        open_table(path).rows("votes")


@pytest.mark.parametrize(("cells", "message"), [
    (["1.770,0.5", "483,0.25", "1.120,0.5"], r"'v0' is not \('1\.770' may be a decimal number or thousands\)"),
    (['"[1.770, 483]",1', '"[1.120, 3.340]",1', '"[1.120, 12]",1'], "text that looks like lists of numbers"),
])  # fmt: skip
def test_vectors_that_may_have_marks_for_thousands_are_refused(tmp_path, cells, message):
    names = "v0,v1" if "[" not in cells[0] else "vector,more"
    (tmp_path / "docs.csv").write_text("\n".join([f"party,{names}", *(f"a,{cell}" for cell in cells)]))
    with pytest.raises(TableError, match=message):
        open_table(tmp_path / "docs.csv")


def test_json_lines_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "docs.jsonl").write_text(
        '{"id": "ä", "vector": [1.0, 2.0]}\n{"id": "b", "vector": [3.0, 4.0]}\n', "utf-8-sig"
    )
    table = open_table(tmp_path / "docs.jsonl")
    assert table.column("id").to_pylist() == ["ä", "b"]
    assert table.vectors().tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("number", ["NaN", "-Infinity"])
def test_numbers_that_json_does_not_have_are_named_with_their_line(number, tmp_path):
    lines = ['{"text": "NaN", "vector": [1, 2]}', f'{{"text": "b", "vector": [{number}, 4]}}']
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    with pytest.raises(TableError, match=f"line 2: {number} is not a number of JSON"):
        open_table(tmp_path / "docs.jsonl")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_quotes_in_the_header_tell_the_delimiter(encoding, tmp_path):
    (tmp_path / "docs.csv").write_text('"vector";"x,y"\n"[1 2]";"a"\n"[3 4]";"b"\n', encoding)
    assert open_table(tmp_path / "docs.csv").column("x,y").to_pylist() == ["a", "b"]


def test_columns_with_commas_and_with_points_leave_thousands_as_text(tmp_path):
    rows = ["0,5;12.30;1.770;[1 2]", "2,5;9.15;3.750;[3 4]"]
    (tmp_path / "docs.csv").write_text("\n".join(["score;time;votes;vector", *rows]))
    table = open_table(tmp_path / "docs.csv")
    assert [table.column(name).to_pylist() for name in ("score", "time", "votes")] == [
        [0.5, 2.5],
        [12.3, 9.15],
        ["1.770", "3.750"],
    ]
