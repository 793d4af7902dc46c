"""An axis scores frames and an erasure cleans them: each library gets its own kind back, with all else unchanged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow")

from densray import Axis, Erasure, Rows  # noqa: E402
from densray.axes import mean_scores  # noqa: E402
from densray.errors import FormatError, TableError, TaskError, VectorError  # noqa: E402
from densray.tables import LabelledTable, open_table  # noqa: E402

N, WIDTH = 60, 6
rng = np.random.default_rng(0)
SIDES = np.where(np.arange(N) % 2, 1.0, -1.0)
X = (rng.normal(size=(N, WIDTH)) + SIDES[:, None] * np.eye(WIDTH)[0]).astype(np.float32)
FRAME = pl.DataFrame(
    {
        "id": np.arange(N, dtype=np.int16),
        "party": pl.Series(["left" if side < 0 else "right" for side in SIDES], dtype=pl.Categorical),
        "vector": pl.Series(X),
        "year": range(1990, 1990 + N),
    }
)
ADDED = ["score", "standard_error", "probability", "like_seeds"]


@pytest.fixture(scope="module")
def axis() -> Axis:
    return Axis.fit(Rows.from_table(FRAME, "party"), "mean-difference")


@pytest.fixture(scope="module")
def erasure() -> Erasure:
    return Erasure.fit(Rows.from_table(FRAME, "party"), "leace", normalize=False)


def test_the_path_of_a_table_is_scored_like_the_table(axis: Axis, tmp_path: Path) -> None:
    path = tmp_path / "docs.parquet"
    FRAME.write_parquet(path)
    scored = axis.score(open_table(path))
    for given in (path, str(path), str(tmp_path / "*.parquet"), tmp_path):
        assert axis.score(given).equals(scored)
    with pytest.raises(TaskError, match=r"vectors\.bin is not the path of a table.*load_space"):
        axis.score("vectors.bin")


def test_an_erasure_says_how_to_open_the_file_of_a_table(erasure: Erasure, tmp_path: Path) -> None:
    path = tmp_path / "docs.parquet"
    FRAME.drop("party", "year").write_parquet(path)
    with pytest.raises(FormatError, match="open_table"):
        erasure.apply(path, output=tmp_path / "clean.parquet")
    assert erasure.apply(open_table(path)).num_rows == N


def from_pandas(_: Path) -> object:
    frame = FRAME.to_pandas()
    frame.index = [f"row {row}" for row in range(N)]
    return frame


def from_duckdb(_: Path) -> object:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    return duckdb.connect().from_arrow(FRAME.to_arrow())


def from_lancedb(folder: Path) -> object:
    lancedb = pytest.importorskip("lancedb", reason="lancedb is not installed")
    return lancedb.connect(str(folder / "lance")).create_table(
        "docs", FRAME.with_columns(pl.col("party").cast(str)).to_arrow()
    )


def from_datasets(_: Path) -> object:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    return datasets.Dataset.from_dict({name: FRAME[name].to_list() for name in FRAME.columns})


KINDS = {
    "polars": (lambda _: FRAME, "polars.DataFrame"),
    "polars lazy": (lambda _: FRAME.lazy(), "polars.DataFrame"),
    "pyarrow": (lambda _: FRAME.to_arrow(), "pyarrow.Table"),
    "pandas": (from_pandas, "pandas.DataFrame"),
    "duckdb": (from_duckdb, "pyarrow.Table"),
    "lancedb": pytest.param(from_lancedb, "pyarrow.Table", marks=pytest.mark.slow),
    "datasets": (from_datasets, "datasets.Dataset"),
    "VectorTable": (lambda _: open_table(FRAME, vectors="vector"), "polars.DataFrame"),
}


def kind_of(found: object) -> str:
    return f"{type(found).__module__.partition('.')[0]}.{type(found).__name__}"


@pytest.mark.parametrize(("make", "kind"), KINDS.values(), ids=KINDS.keys())
def test_a_scored_frame_is_of_the_same_kind_with_columns_added(make, kind, tmp_path, axis) -> None:
    scored = axis.score(make(tmp_path))
    assert kind_of(scored) == kind
    table, expected = open_table(scored), axis.score(X)
    assert table.columns == (*FRAME.columns, *ADDED)
    for name in ADDED:
        np.testing.assert_allclose(table.column(name).to_numpy(), expected.columns()[name], rtol=1e-5)
    assert table.column("party").to_pylist() == FRAME["party"].to_list()
    np.testing.assert_allclose(table.vectors(), X, rtol=1e-6)


@pytest.mark.parametrize(("make", "kind"), KINDS.values(), ids=KINDS.keys())
def test_an_erased_frame_is_of_the_same_kind_with_its_vectors_replaced(make, kind, tmp_path, erasure) -> None:
    given = make(tmp_path)
    erased = erasure.apply(given)
    assert kind_of(erased) == kind
    before, after = open_table(given), open_table(erased)
    assert after.columns == before.columns
    assert after.schema.types == before.schema.types
    np.testing.assert_allclose(after.vectors(), erasure.apply(X), atol=1e-5)
    assert after.column("year").to_pylist() == before.column("year").to_pylist()


def test_polars_and_pandas_keep_every_type(axis, erasure) -> None:
    assert erasure.apply(FRAME).schema == FRAME.schema
    assert axis.score(FRAME).select(FRAME.columns).equals(FRAME)
    frame = from_pandas(Path())
    erased = erasure.apply(frame)
    assert (erased.dtypes == frame.dtypes).all()
    assert list(erased.index) == list(frame.index)
    assert frame["vector"].iloc[0].tolist() == X[0].tolist(), "the frame given stays as it is"


def test_numbered_columns_are_scored_and_replaced(axis, erasure) -> None:
    frame = FRAME.drop("vector").with_columns(**{f"v{place}": pl.Series(X[:, place]) for place in range(WIDTH)})
    np.testing.assert_allclose(axis.score(frame)["score"], axis.score(X).score, rtol=1e-5)
    erased = erasure.apply(frame)
    assert erased.schema == frame.schema
    np.testing.assert_allclose(erased.select(pl.col("^v[0-9]$")).to_numpy(), erasure.apply(X), atol=1e-5)


def test_labels_that_are_scores_give_an_expected_label() -> None:
    axis = Axis.fit(Rows.from_table(FRAME, "year"), "mean-difference", normalize=False)
    assert "expected_label" in axis.score(FRAME).columns


def test_skipped_rows_get_no_score_and_no_vector(axis, erasure) -> None:
    cells = X.tolist()
    cells[3] = [1.0]
    frame = FRAME.with_columns(vector=pl.Series(cells, dtype=pl.List(pl.Float32)))
    with pytest.raises(VectorError, match="row 4"):
        axis.score(frame)
    scored = axis.score(open_table(frame, bad_rows="skip"))
    assert scored["score"].null_count() == 1
    assert scored["score"][3] is None
    erased = erasure.apply(open_table(frame, bad_rows="skip"))
    assert erased["vector"][3] is None
    np.testing.assert_allclose(erased["vector"][4], erasure.apply(X)[4], atol=1e-5)


def test_a_column_that_is_there_already_is_not_overwritten(axis) -> None:
    with pytest.raises(TableError, match="already has a column 'score'"):
        axis.score(FRAME.with_columns(score=1.0))


def test_vectors_of_another_width_are_refused(axis, erasure) -> None:
    frame = FRAME.with_columns(vector=pl.Series(X[:, :4]))
    for use in (axis.score, erasure.apply):
        with pytest.raises(VectorError, match=r"width 6|width 4"):
            use(frame)


def test_an_array_and_a_series_are_not_tables(axis) -> None:
    assert len(axis.score(X).score) == N
    assert len(axis.score(FRAME["vector"].to_numpy()).score) == N


@pytest.mark.parametrize("values", [[1, "1"], [("a",), 2], [Path("a"), "a"]], ids=["int+str", "tuple+int", "path+str"])
@pytest.mark.parametrize("use", ["groups", "labels", "names", "by"])
def test_a_pandas_column_of_mixed_types_is_refused_by_its_name(values, use, axis) -> None:
    frame = from_pandas(Path())
    frame["mixed"] = [values[row % 2] for row in range(N)]
    assert "mixed" in axis.score(frame).columns, "a column that is not used stays as it is"
    table = open_table(frame)
    uses = {
        "labels": lambda: table.rows("mixed"),
        "by": lambda: mean_scores(axis, table, ["mixed"]),
        "groups": lambda: table.rows("party", groups="mixed"),
        "names": lambda: table.rows("party", names="mixed"),
    }
    with pytest.raises(TableError, match=r"the column 'mixed' holds \w+ and \w+, which"):
        uses[use]()


@pytest.mark.parametrize("make", ["columns", "arrow list"])
def test_erased_integers_of_pandas_become_fractions(make, erasure) -> None:
    pandas = pytest.importorskip("pandas")
    whole = np.round(10 * X).astype(np.int8)
    if make == "columns":
        frame = pandas.DataFrame({f"v{place}": whole[:, place] for place in range(WIDTH)})
    else:
        column = pa.array(whole.tolist(), type=pa.list_(pa.int8()))
        frame = pandas.DataFrame({"vector": pandas.Series(column, dtype=pandas.ArrowDtype(column.type))})
    erased = open_table(erasure.apply(frame)).vectors()
    np.testing.assert_allclose(erased, erasure.apply(whole.astype(np.float32)), atol=1e-4)


@pytest.mark.parametrize("kind", ["categorical", "class label"])
def test_integers_that_encode_classes_are_classes(kind) -> None:
    numbers = [row % 4 - 1 for row in range(N)]
    if kind == "categorical":
        pandas = pytest.importorskip("pandas")
        given = [None if number < 0 else number for number in numbers]
        frame = pandas.DataFrame({"side": pandas.Categorical(given), "vector": list(X)})
        names = ("0", "1", "2")
    else:
        datasets = pytest.importorskip("datasets", reason="datasets is not installed")
        names = ("against", "for", "unsure")
        vectors = datasets.Sequence(datasets.Value("float32"))
        features = datasets.Features({"side": datasets.ClassLabel(names=list(names)), "vector": vectors})
        frame = datasets.Dataset.from_dict({"side": numbers, "vector": X.tolist()}, features=features)
    rows, large = open_table(frame).rows("side"), LabelledTable.of(open_table(frame), "side")
    assert rows.class_names == large.class_names == names
    assert rows.y.tolist() == [number for number in numbers if number >= 0]
    np.testing.assert_array_equal(large.y, [np.nan if number < 0 else number for number in numbers])


@pytest.mark.parametrize("levels", [["neg", "high"], ["low", "middle", "high"]])
@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_ordered_categories_give_the_order_of_the_classes(levels, library) -> None:
    sides = [levels[row % len(levels)] for row in range(N)]
    if library == "polars":
        frame = FRAME.with_columns(side=pl.Series(sides, dtype=pl.Enum(["never", *levels])))
    else:
        pandas = pytest.importorskip("pandas")
        column = pandas.Categorical(sides, categories=["never", *levels], ordered=True)
        frame = pandas.DataFrame({"side": column, "vector": list(X)})
    rows, large = open_table(frame).rows("side"), LabelledTable.of(open_table(frame), "side")
    assert rows.class_names == large.class_names == tuple(levels)
    expected = [sides.index(side) if len(levels) > 2 else [-1, 1][sides.index(side)] for side in sides]
    assert rows.y.tolist() == large.y.tolist() == expected


def test_mean_scores_take_a_frame(axis: Axis) -> None:
    opened, given = (mean_scores(axis, table, ["party"]) for table in (open_table(FRAME), FRAME))
    assert given.rows == opened.rows
    with pytest.raises(TaskError, match=r"by: 'party' is given; a list is needed"):
        mean_scores(axis, FRAME, "party")


@pytest.mark.parametrize("bad", [None, [float("nan")] * WIDTH, [0.0] * WIDTH])
def test_the_advice_about_a_bad_row_works(axis: Axis, bad: list[float] | None) -> None:
    frame = FRAME.with_columns(vector=pl.Series([*X[:-1].tolist(), bad]))
    with pytest.raises(TableError, match=r"row 60.*open the table with open_table\(…, bad_rows='skip'\)\.$"):
        axis.score(frame)
    for given in (frame, open_table(frame)):  # a table that is open already
        assert axis.score(open_table(given, bad_rows="skip"))["score"].null_count() == 1


def test_data_sets_of_several_splits_and_streams_are_refused(axis: Axis, erasure: Erasure) -> None:
    splits = type("DatasetDict", (dict,), {"__module__": "datasets.dataset_dict"})(train=1, test=2)
    stream = type("IterableDataset", (), {"__module__": "datasets.iterable_dataset"})()
    for use in (axis.score, erasure.apply, open_table):
        with pytest.raises(TableError, match=r"with the splits 'train', 'test'\. Give one: data\['train'\]\."):
            use(splits)
        with pytest.raises(TableError, match=r"an IterableDataset is given, .* without streaming=True"):
            use(stream)


def test_a_frame_without_rows_says_so(axis: Axis) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    for frame in (FRAME.head(0), pandas.DataFrame({"vector": list(X)}).iloc[:0]):
        with pytest.raises(TableError, match=r"the DataFrame has no rows\."):
            axis.score(frame)


def test_kinds_that_cannot_be_extended_come_back_as_their_nearest_kind(axis: Axis) -> None:
    assert isinstance(axis.score(FRAME.lazy()), pl.DataFrame)
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    arrow = FRAME.drop("party").to_arrow()
    assert isinstance(axis.score(duckdb.from_arrow(arrow)), pa.Table)
