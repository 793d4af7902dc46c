"""A table is read the same from every file and frame, and a bad one is refused with its row, column or shard."""

from __future__ import annotations

import json
import unicodedata
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow")
import pyarrow.parquet as pq  # noqa: E402

from densray import Rows  # noqa: E402
from densray.axes import diagnose_classes  # noqa: E402
from densray.errors import LabelError, MissingCodeWarning, TableError, TaskError, VectorError  # noqa: E402
from densray.rows import order_classes  # noqa: E402
from densray.tables import LabelledTable, open_table  # noqa: E402

N, WIDTH = 40, 5
X = np.round(np.random.default_rng(0).normal(size=(N, WIDTH)), 3).astype(np.float32)
TEXTS = [f"text, {row % 35}\nsecond line" for row in range(N)]  # repeated, with commas and line ends
PARTIES = ["left" if row % 2 else "right" for row in range(N)]
YEARS = list(range(1990, 1990 + N))


def make_frame() -> pl.DataFrame:
    return pl.DataFrame({"text": TEXTS, "party": PARTIES, "year": YEARS, "vector": pl.Series(X)})


def vectors_as(dtype: pa.DataType, values: np.ndarray = X) -> pa.Table:
    lists = pa.array([row.tolist() for row in values.astype(np.float64)], type=pa.list_(pa.float64()))
    if pa.types.is_fixed_size_list(dtype):
        numbers = pa.array(values.reshape(-1)).cast(dtype.value_type)
        return pa.table({"party": PARTIES, "vector": pa.FixedSizeListArray.from_arrays(numbers, dtype.list_size)})
    return pa.table({"party": PARTIES, "vector": lists.cast(dtype)})


def numbered(prefix: str = "v") -> pl.DataFrame:
    return (
        make_frame()
        .drop("vector")
        .with_columns(**{f"{prefix}{place}": pl.Series(X[:, place].astype(np.float64)) for place in range(WIDTH)})
    )


def write_parquet(folder: Path) -> Path:
    make_frame().write_parquet(folder / "docs.parquet")
    return folder / "docs.parquet"


def write_arrow(folder: Path) -> Path:
    make_frame().write_ipc(folder / "docs.arrow")
    return folder / "docs.arrow"


def write_numbered_csv(folder: Path) -> Path:
    numbered().write_csv(folder / "docs.csv")
    return folder / "docs.csv"


def write_csv_of_lists(folder: Path) -> Path:
    lists = [json.dumps(row) for row in X.astype(np.float64).tolist()]
    make_frame().with_columns(vector=pl.Series(lists)).write_csv(folder / "docs.csv")
    return folder / "docs.csv"


def write_csv_of_numpy_texts(folder: Path) -> Path:
    make_frame().with_columns(vector=pl.Series([str(row) for row in X])).write_csv(folder / "docs.tsv", separator="\t")
    return folder / "docs.tsv"


def write_json_lines(folder: Path) -> Path:
    make_frame().write_ndjson(folder / "docs.jsonl")
    return folder / "docs.jsonl"


def write_shards(folder: Path) -> Path:
    for number in range(3):
        make_frame()[number * 15 : (number + 1) * 15].write_parquet(folder / f"part-{number}.parquet")
    (folder / "_SUCCESS").write_text("")
    return folder


def write_hugging_face(folder: Path) -> Path:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    made = datasets.Dataset.from_dict({"text": TEXTS, "party": PARTIES, "year": YEARS, "vector": X})
    made.save_to_disk(str(folder / "saved"), num_shards=3)
    return folder / "saved"


@pytest.mark.parametrize(
    "write",
    [
        write_parquet,
        write_arrow,
        write_numbered_csv,
        write_csv_of_lists,
        write_csv_of_numpy_texts,
        write_json_lines,
        write_shards,
        write_hugging_face,
    ],
)
def test_every_kind_of_file_gives_the_same_rows(write, tmp_path) -> None:
    table = open_table(write(tmp_path))
    assert len(table) == N
    assert table.width == WIDTH
    np.testing.assert_allclose(table.vectors(), X, atol=1e-6)
    assert table.column("text").to_pylist() == TEXTS
    rows = table.rows("party", names="text")
    assert rows.class_names == ("left", "right")
    assert rows.names == tuple(TEXTS)
    assert table.rows("year").y.tolist() == YEARS
    assert sum(len(block) for _, block in table.blocks()) == N


def test_a_pattern_names_the_shards_to_read(tmp_path) -> None:
    write_shards(tmp_path)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    np.testing.assert_array_equal(open_table(str(tmp_path / "part-*.parquet")).vectors(), X)
    with pytest.raises(TableError, match="several kinds"):
        open_table(tmp_path)


def pandas_frame(_: Path) -> object:
    return make_frame().to_pandas()


def pandas_frame_of_arrays(_: Path) -> object:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    return pandas.DataFrame({"text": TEXTS, "party": PARTIES, "year": YEARS, "vector": list(X)}, index=range(7, 7 + N))


def duckdb_relation(_: Path) -> object:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    frame = make_frame().to_arrow()
    return duckdb.connect().from_arrow(frame)


def lancedb_table(folder: Path) -> object:
    lancedb = pytest.importorskip("lancedb", reason="lancedb is not installed")
    return lancedb.connect(str(folder / "lance")).create_table("docs", make_frame().to_arrow())


def lancedb_result(folder: Path) -> object:
    return lancedb_table(folder).search().limit(N).to_arrow()


def hugging_face(_: Path) -> object:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    return datasets.Dataset.from_dict({"text": TEXTS, "party": PARTIES, "year": YEARS, "vector": X})


OBJECTS = {
    "polars": lambda _: make_frame(),
    "polars lazy": lambda _: make_frame().lazy(),
    "pyarrow": lambda _: make_frame().to_arrow(),
    "pyarrow reader": lambda _: make_frame().to_arrow().to_reader(),
    "pandas": pandas_frame,
    "pandas of arrays": pandas_frame_of_arrays,
    "duckdb": duckdb_relation,
    "lancedb": pytest.param(lancedb_table, marks=pytest.mark.slow),  # takes five seconds to import
    "lancedb result": pytest.param(lancedb_result, marks=pytest.mark.slow),
    "datasets": hugging_face,
}


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS.keys())
def test_every_library_gives_the_same_rows(make, tmp_path) -> None:
    table = open_table(make(tmp_path))
    np.testing.assert_allclose(table.vectors(), X, atol=1e-6)
    assert table.columns == ("text", "party", "year", "vector")
    assert table.rows("party", names="text").names == tuple(TEXTS)


@pytest.mark.slow
def test_gensim_vectors_are_a_table_of_words() -> None:
    models = pytest.importorskip("gensim.models", reason="gensim is not installed")
    keyed = models.KeyedVectors(WIDTH)
    keyed.add_vectors([str(row) for row in range(N)], X)
    table = open_table(keyed)
    assert table.columns == ("word", "vector")
    np.testing.assert_array_equal(table.vectors(), X)


@pytest.mark.parametrize("number", [pa.float16(), pa.float32(), pa.float64(), pa.int8()])
@pytest.mark.parametrize("make_type", [pa.list_, pa.large_list, lambda number: pa.list_(number, WIDTH)])
def test_every_type_of_vector_is_read_and_written_back(number, make_type) -> None:
    integers = number == pa.int8()
    values = np.arange(N * WIDTH).reshape(N, WIDTH) % 100 if integers else X
    table = open_table(vectors_as(make_type(number), values))
    np.testing.assert_allclose(table.vectors(), values, atol=2e-3)
    back = pa.table(table.vectors_as_columns(table.vectors(), np.ones(N, dtype=bool)))
    expected = make_type(pa.float32() if integers else number)
    assert back.schema.field("vector").type == expected
    np.testing.assert_allclose(open_table(back).vectors(), values, atol=2e-3)


def test_slices_of_frames_keep_their_own_rows() -> None:
    np.testing.assert_array_equal(open_table(make_frame().to_arrow().slice(7, 20)).vectors(), X[7:27])
    np.testing.assert_array_equal(open_table(make_frame()[7:27]).vectors(), X[7:27])


def test_several_vector_columns_are_named_and_one_can_be_chosen() -> None:
    frame = make_frame().with_columns(other=pl.Series(2 * X))
    with pytest.raises(TableError, match="'vector'; 'other'"):
        open_table(frame)
    np.testing.assert_array_equal(open_table(frame, vectors="other").vectors(), 2 * X)


def test_lists_of_token_numbers_are_not_vectors() -> None:
    frame = make_frame().with_columns(input_ids=pl.Series([[1, 2, 3]] * N))
    assert open_table(frame).vector_columns.names == ("vector",)


def test_numbered_columns_can_be_named_by_their_beginning() -> None:
    frame = numbered("dim_").with_columns(x0=1.0, x1=2.0, x2=3.0, x3=4.0, x4=5.0)
    np.testing.assert_allclose(open_table(frame, vectors="dim_").vectors(), X, atol=1e-6)
    with pytest.raises(TableError, match="'dim_0' to 'dim_4', 5 columns; 'x0' to 'x4'"):
        open_table(frame)


@pytest.mark.parametrize("vectors", ["vecs", ["v0", "v9"]])
def test_an_unknown_column_is_answered_with_the_columns(vectors) -> None:
    with pytest.raises(TableError, match=r"has no column '(vecs|v9)'.*year \(int64\)"):
        open_table(numbered(), vectors=vectors)


BAD_CELLS = {"missing": None, "unequal": [1.0, 2.0], "infinite": [float("inf")] * WIDTH, "hole": [None] * WIDTH}


@pytest.mark.parametrize("cell", BAD_CELLS.values(), ids=BAD_CELLS.keys())
def test_a_bad_vector_is_named_by_its_row_or_skipped_and_counted(cell, tmp_path) -> None:
    cells = X.astype(np.float64).tolist()
    cells[17] = cell
    frame = make_frame().with_columns(vector=pl.Series(cells, dtype=pl.List(pl.Float64)))
    frame.write_parquet(tmp_path / "docs.parquet")
    with pytest.raises(VectorError, match="row 18: the vector"):
        Rows.from_table(tmp_path / "docs.parquet", "party")
    rows = Rows.from_table(tmp_path / "docs.parquet", "party", bad_rows="skip")
    assert rows.dropped == {"no usable vector": ("row 18",)}
    np.testing.assert_array_equal(rows.X, np.delete(X.astype(np.float64), 17, axis=0))


def test_missing_labels_are_left_out_and_counted() -> None:
    parties = [*PARTIES]
    parties[3], parties[4] = None, "  "
    rows = Rows.from_table(make_frame().with_columns(party=pl.Series(parties)), "party")
    assert rows.dropped == {"no label": ("row 4", "row 5")}
    np.testing.assert_array_equal(rows.X, np.delete(X, [3, 4], axis=0))
    years = pl.Series([None, float("nan"), *map(float, YEARS[2:])])
    assert len(Rows.from_table(make_frame().with_columns(year=years), "year")) == N - 2


@pytest.mark.parametrize("mark", ["k.A.", "n.a.", "k. A.", "-", "?", "–", "#NV"])
def test_marks_of_no_answer_are_missing_labels_among_texts(mark) -> None:
    words = [mark if row % 5 == 0 else ("for" if row % 2 else "against") for row in range(N)]
    table = open_table(make_frame().with_columns(party=pl.Series(words)))
    for rows in (table.rows("party"), LabelledTable.of(table, "party").sample(N)):
        assert rows.class_names == ("against", "for")
        assert len(rows.dropped["no label"]) == N // 5


def test_a_sign_is_a_class_where_it_can_be_meant() -> None:
    signs = make_frame().with_columns(party=pl.Series(["+", "-", "mixed", "?"] * (N // 4)))
    assert Rows.from_table(signs, "party").class_names == ("+", "-", "?", "mixed")
    two = make_frame().with_columns(party=pl.Series(["yes", "?"] * (N // 2)))
    assert Rows.from_table(two, "party").class_names == ("?", "yes")
    three = make_frame().with_columns(party=pl.Series(["yes", "no", "?", "yes"] * (N // 4)))
    assert Rows.from_table(three, "party", classes=True).class_names == ("?", "no", "yes")
    assert LabelledTable.of(open_table(three), "party", classes=True).class_names == ("?", "no", "yes")


@pytest.mark.parametrize(
    ("labels", "code"),
    [(["for", "against"], "-99"), (["for", "against"], "9"), (["for", "against"], "99.0"), ([0, 1], 9), ([1, 2, 3], 9)],
)
def test_a_code_of_no_answer_among_labels_gives_a_warning(labels, code) -> None:
    column = (labels * N)[:N]
    column[7] = code
    table = open_table(make_frame().with_columns(party=pl.Series(column)))
    for read in (table.rows, partial(LabelledTable.of, table)):
        with pytest.warns(MissingCodeWarning, match=rf"column 'party': 1 label is '?{code:s}'?, .*leave these labels empty"
                          if isinstance(code, str) else rf"1 label is {code}, far from the others"):  # fmt: skip
            read("party")


def test_labels_with_marks_for_thousands_are_refused_as_such() -> None:
    values = [f"{1 + row}.{234 + row},5" for row in range(N)]
    table = open_table(make_frame().with_columns(party=pl.Series(values)))
    for read in (table.rows, partial(LabelledTable.of, table)):
        with pytest.raises(LabelError, match=r"may be decimal numbers or thousands \('1\.234,5'"):
            read("party")


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["0 %", "10%", "100 %"], "numbers with a unit"),
        (["€ 3", "1.250 €", "4,50 €"], "numbers with a unit"),
        (["01.05.2019", "02.05.2019", "1.6.19"], "dates"),
        (["2019-05-01", "2019-05-02", "2019-06-01 12:00:00"], "dates"),
    ],
)
def test_percentages_and_dates_are_no_classes_unless_they_are_called_so(labels, kind) -> None:
    frame = pl.DataFrame({"label": labels * 4, "vector": [[1.0, float(n)] for n in range(12)]})
    with pytest.raises(LabelError, match=rf"'label' are {kind} \('{labels[0]}', .* or pass classes=True"):
        open_table(frame).rows("label")
    assert open_table(frame).rows("label", classes=True).class_names == tuple(sorted(labels))
    two = frame.filter(pl.col("label") != labels[2])
    assert len(open_table(two).rows("label").class_names) == 2  # two values are always classes


def test_a_rare_class_is_named_when_groups_are_held_out() -> None:
    party = ["SPD", "CDU/CSU"] * 10 + ["CDU"]
    X = np.random.default_rng(0).normal(size=(21, 4))
    frame = pl.DataFrame({"party": party, "author": [f"a{n % 7}" for n in range(21)], "vector": pl.Series(X)})
    rows = open_table(frame).rows("party", groups="author")
    with pytest.raises(TaskError, match=r"1 of 'CDU' and . of 'rest'.* If 'CDU' is not a class, leave its label empty"):
        diagnose_classes(rows)


@pytest.mark.parametrize("mark", ["nan", "NaN", "None", "null", "NA", "inf", "-Infinity"])
@pytest.mark.parametrize(("between", "point"), [(", ", "."), (" ", "."), ("; ", ",")])
def test_a_missing_number_in_a_list_of_a_text_file_names_its_row(mark, between, point, tmp_path) -> None:
    cells = [[f"{value:.3f}".replace(".", point) for value in row] for row in X.tolist()]
    cells[7][2] = mark
    lines = [f'{party};"[{between.join(row)}]"' for party, row in zip(PARTIES, cells, strict=True)]
    (tmp_path / "docs.csv").write_text("\n".join(["party;vec", *lines, ""]))
    table = open_table(tmp_path / "docs.csv")
    with pytest.raises(VectorError, match=r"row 8: the vector has a number that is missing, infinite or not a number"):
        table.rows("party")
    rows = open_table(tmp_path / "docs.csv", bad_rows="skip").rows("party")
    assert rows.dropped == {"no usable vector": ("row 8",)}
    np.testing.assert_allclose(rows.X, np.delete(X, 7, axis=0), atol=1e-6)


def test_lists_as_texts_in_a_frame_say_how_to_read_them() -> None:
    frame = pl.DataFrame({"party": ["a", "b"], "vec": ["[0.1, 0.2, 0.3]", "[0.2, 0.1, 0.3]"]})
    with pytest.raises(TableError, match=r"json\.loads turns it into a list"):
        open_table(frame)


def test_ordinary_numbers_among_labels_give_no_warning() -> None:
    for column in (["9", "11"], ["group 9", "group 10"], [1, 9], [1, 5, 9], [0.5, 9.0, 1.25], ["9", "a", "7", "b"]):
        frame = make_frame().with_columns(party=pl.Series((column * N)[:N]))
        Rows.from_table(frame, "party")


def test_numbers_are_scores_unless_they_are_called_classes() -> None:
    decades = make_frame().with_columns(decade=pl.Series([1990 + row % 3 * 10 for row in range(N)]))
    assert not Rows.from_table(decades, "decade").is_multiclass
    assert Rows.from_table(decades, "decade", classes=True).class_names == ("1990", "2000", "2010")


def in_both_forms(texts: list[str]) -> list[str]:
    """Texts that are in part composed (ü is one character), in part decomposed (u and a mark, as in files of a Mac)."""
    return [unicodedata.normalize("NFD" if row % 3 else "NFC", text) for row, text in enumerate(texts)]


def write_frame(frame: pl.DataFrame, kind: str, folder: Path) -> object:
    if kind == "csv":
        frame = frame.with_columns(vector=pl.Series([json.dumps(row) for row in X.astype(np.float64).tolist()]))
    writers = {
        "parquet": frame.write_parquet,
        "arrow": frame.write_ipc,
        "csv": frame.write_csv,
        "jsonl": frame.write_ndjson,
    }
    writers[kind](folder / f"docs.{kind}")
    return folder / f"docs.{kind}"


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "jsonl", "polars", "pandas", "categories"])
def test_composed_and_decomposed_letters_make_one_class_and_one_group(kind, tmp_path) -> None:
    words = in_both_forms(["grün" if row % 2 else "dürr" for row in range(N)])
    authors = in_both_forms([f"Jürgen {row // 4}" for row in range(N)])
    frame = make_frame().with_columns(party=pl.Series(words), author=pl.Series(authors))
    source: object = frame.to_pandas() if kind == "pandas" else frame
    if kind == "categories":
        source = frame.with_columns(pl.col("party").cast(pl.Enum(sorted(set(words)))))
    table = open_table(source if kind in ("polars", "pandas", "categories") else write_frame(frame, kind, tmp_path))
    block_by_block = LabelledTable.of(table, "party").sample(N, groups="author")
    for rows in (table.rows("party", groups="author"), block_by_block):
        assert rows.class_names == ("dürr", "grün")
        assert rows.n_groups == N // 4
        typed = tuple(unicodedata.normalize("NFD", name) for name in ("grün", "dürr"))
        assert order_classes(rows, typed).class_names == ("grün", "dürr")
    assert table.column("author").to_pylist() == authors, "the column itself is unchanged"


def test_groups_come_from_a_column_or_from_repeated_texts() -> None:
    frame = make_frame().with_columns(author=pl.Series([row // 4 for row in range(N)]))
    assert Rows.from_table(frame, "party", groups="author").n_groups == N // 4
    assert Rows.from_table(frame, "party", groups="proposed", names="text").n_groups == 35


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("party", ["left"] * N, "all 40 labelled rows have party = left"),
        ("party", [str(row) for row in range(N)], "a different value in each of 40 rows"),
        ("party", [[1]] * N, "labels are texts or numbers"),
    ],
)
def test_labels_that_say_nothing_are_refused(column, values, message) -> None:
    with pytest.raises(LabelError, match=message):
        Rows.from_table(make_frame().with_columns(pl.Series(column, values)), column)


@pytest.mark.parametrize("damage", ["cut", "bytes", "columns"])
def test_a_damaged_shard_is_named(damage, tmp_path) -> None:
    write_shards(tmp_path)
    shard = tmp_path / "part-1.parquet"
    if damage == "columns":
        make_frame()[:5].rename({"party": "group"}).write_parquet(shard)
    else:
        content = shard.read_bytes()
        shard.write_bytes(
            content[: len(content) // 2] if damage == "cut" else b"\0" * 8 + content[8:200] + b"\xff" * 99
        )
    with pytest.raises(TableError, match=r"part-1\.parquet"):
        open_table(tmp_path).vectors()


def test_csv_types_come_from_all_rows(tmp_path) -> None:
    frame = numbered().with_columns(
        zip=pl.Series([f"{row:05}" for row in range(N)]), late=pl.Series(["1"] * (N - 1) + ["n.d."])
    )
    frame.write_csv(tmp_path / "docs.csv")
    table = open_table(tmp_path / "docs.csv")
    assert table.schema.field("year").type == pa.int64()
    assert table.column("zip").to_pylist()[7] == "00007"
    assert table.column("late").to_pylist()[-1] == "n.d."


def test_large_files_are_read_in_blocks(tmp_path) -> None:
    many = np.tile(X, (1000, 1))
    frame = pl.DataFrame({"id": range(len(many)), "vector": many})
    frame.write_parquet(tmp_path / "docs.parquet", row_group_size=len(many))
    blocks = list(open_table(tmp_path / "docs.parquet").blocks())
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate([block for _, block in blocks]), many)


@pytest.mark.parametrize("name", ["nothing.parquet", "*.parquet", "docs.xlsx"])
def test_a_file_that_is_not_a_table_is_refused_by_name(name, tmp_path) -> None:
    if name == "docs.xlsx":
        (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(TableError, match=name.replace("*", r"\*").replace(".", r"\.")):
        open_table(tmp_path / name)


def test_an_object_that_is_not_a_table_is_refused() -> None:
    with pytest.raises(TableError, match="a dict is given"):
        open_table({"a": 1})


def test_the_old_arrow_stream_format_is_read(tmp_path) -> None:
    table = make_frame().to_arrow()
    with pa.OSFile(str(tmp_path / "docs.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    np.testing.assert_array_equal(open_table(tmp_path / "docs.arrow").vectors(), X)


def test_a_table_written_by_pyarrow_keeps_its_types(tmp_path) -> None:
    table = vectors_as(pa.list_(pa.float16(), WIDTH))
    pq.write_table(table, tmp_path / "docs.parquet")
    assert open_table(tmp_path / "docs.parquet").schema.field("vector").type == table.schema.field("vector").type
