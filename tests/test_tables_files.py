"""Tables of documents as spreadsheets export them: other delimiters, decimal commas, other encodings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the extra `tables` (pyarrow) is not installed")

from densray import Rows, open_table
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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
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
    if (between, decimal) == (",", ","):  # which commas are decimal cannot be known: twice as many numbers
        assert open_table(path).width == 2 * VECTORS.shape[1]
        return
    table = open_table(path)
    np.testing.assert_allclose(np.concatenate([X for _, X in table.blocks()]), VECTORS, rtol=1e-6)


@pytest.mark.parametrize("cells", ["[0,5 1,5,2 3]", "[0.1 0.2, 0.3]", "[1; 2 3]"])
def test_lists_with_mixed_separators_are_no_vectors(tmp_path, cells) -> None:
    path = tmp_path / "docs.csv"
    path.write_text(f'party;vector\na;"{cells}"\nb;"{cells}"\n')
    with pytest.raises(TableError, match="no column of vectors"):
        open_table(path)


@pytest.mark.parametrize("mark", ["NA", "k.A.", "n.a.", "-", "#NV", "null", "?"])
def test_marks_of_missing_numbers_are_missing(tmp_path, mark) -> None:
    path = tmp_path / "docs.csv"
    rows = [f"{number},{number / 10},{number}.5" for number in range(12)]
    rows[3], rows[7] = f"3,0.3,{mark}", f"7,{mark},7.5"
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
    rows = [f"{number},{number / 10},{number % 7}" for number in range(40)]
    rows[5] = "5,0.5,loud"
    path.write_text("\n".join(["v0,v1,tone", *rows]) + "\n")
    with pytest.raises(LabelError, match=r"39 labels in the column 'tone' are numbers, and 1 are not \('loud'\)"):
        labelled(path)
    path.write_text("\n".join(["v0,v1,tone", *(f"{n},{n / 10},{'NA' if n == 3 else 'ab'[n % 2]}" for n in range(12))]))
    assert len(labelled(path)) == 11  # NA is no class
