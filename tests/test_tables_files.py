"""Tables of documents as spreadsheets export them: other delimiters, decimal commas, other encodings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the extra `tables` (pyarrow) is not installed")

from densray import open_table
from densray.errors import EncodingDetectedWarning, TableError

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
