"""A rewritten table keeps its rows, columns and types, appears whole or not at all, and resumes shard by shard."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta

import numpy as np
import polars as pl
import pytest

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow")

from densray.errors import OutputError, TableError, TaskError, VectorError  # noqa: E402
from densray.tables import open_table, rewrite_table  # noqa: E402

N, WIDTH = 50, 4
X = np.random.default_rng(0).normal(size=(N, WIDTH)).astype(np.float32)
FRAME = pl.DataFrame({"id": range(N), "text": [f'a "{row}", b\nc' for row in range(N)], "vector": pl.Series(X)})


def write(folder, ending: str):
    path = folder / f"docs{ending}"
    if ending == ".parquet":
        FRAME.write_parquet(path)
    elif ending == ".arrow":
        FRAME.write_ipc(path, compat_level=pl.CompatLevel.oldest())
    elif ending == ".jsonl":
        FRAME.write_ndjson(path)
    else:
        lists = FRAME.with_columns(vector=pl.Series([str(row) for row in X.tolist()]))
        lists.write_csv(path, separator="," if ending == ".csv" else "\t")
    return path


def doubled(table):
    return lambda Y, usable: {**table.vectors_as_columns(2 * Y, usable), "sum": pa.array(Y.sum(axis=1, dtype=float))}


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv", ".tsv", ".jsonl"])
def test_each_kind_of_file_keeps_its_columns_and_types(ending, tmp_path) -> None:
    table = open_table(write(tmp_path, ending))
    written = rewrite_table(table, tmp_path / f"new{ending}", doubled(table))
    new = open_table(written.path)
    assert (written.rows, written.skipped) == (N, 0)
    assert new.columns == ("id", "text", "vector", "sum")
    assert new.schema.types[:3] == table.schema.types
    assert new.column("text").to_pylist() == FRAME["text"].to_list()
    np.testing.assert_allclose(new.vectors(), 2 * X, rtol=1e-5)
    np.testing.assert_allclose(new.column("sum").to_numpy(), X.sum(axis=1), atol=1e-5)


POPULATIONS = ["884", "1.250", "2.543", "640", "15.300"]


def german(folder, encoding: str, *, lists: bool):
    """A table as German spreadsheets write it: thousands with points, decimal commas, umlauts."""
    rows = [";".join(["Ort", "Einwohner", "Anteil", *(["v"] if lists else ["d0", "d1"])])]
    for number in range(20):
        numbers = [f"{value:.3f}".replace(".", ",") for value in X[number, :2].tolist()]
        vector = [f'"[{"; ".join(numbers)}]"'] if lists else numbers
        rows.append(";".join([f"Öd {number}", POPULATIONS[number % 5], f"0,{number}1", *vector]))
    path = folder / "orte.csv"
    path.write_bytes("\n".join([*rows, ""]).encode(encoding))
    return path


@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.filterwarnings("ignore::densray.errors.EncodingDetectedWarning")
def test_a_csv_file_is_written_as_it_was_read(encoding, lists, tmp_path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    path = german(tmp_path, encoding, lists=lists)
    table = open_table(path)
    written = rewrite_table(table, tmp_path / "new.csv", doubled(table)).path
    given, new = (
        pandas.read_csv(each, sep=";", decimal=",", thousands=".", encoding=each_encoding)
        for each, each_encoding in ((path, encoding), (written, "utf-8-sig"))
    )
    for column in ("Ort", "Einwohner", "Anteil"):
        assert new[column].tolist() == given[column].tolist()
    assert new["sum"].to_numpy() == pytest.approx(table.vectors().sum(axis=1), abs=1e-9)
    np.testing.assert_allclose(open_table(written).vectors(), 2 * table.vectors(), atol=1e-9)
    assert written.read_bytes().startswith(b"\xef\xbb\xbf") == (encoding != "utf-8")


@pytest.mark.parametrize(
    ("delimiter", "second", "divisor", "mark"),
    [(";", POPULATIONS, 1, ","), (";", ["7"], 8, "."), (",", ["7"], 8, "."), ("\t", ["7"], 8, ".")],
)
def test_new_numbers_have_the_decimal_mark_of_the_file(delimiter, second, divisor, mark, tmp_path) -> None:
    rows = [["id", "n", "d0", "d1"]]
    rows += [[str(n), second[n % len(second)], f"{n / divisor:g}", str(-n % 7)] for n in range(20)]
    (tmp_path / "docs.csv").write_text("".join(f"{delimiter.join(row)}\n" for row in rows))
    table = open_table(tmp_path / "docs.csv")
    half = rewrite_table(table, tmp_path / "new.csv", lambda Y, usable: {"half": pa.array(Y[:, 0] / 2 + 0.25)}).path
    last = half.read_text().splitlines()[2].split({"\t": ","}.get(delimiter, delimiter))[-1]
    assert last == str(table.vectors()[1, 0] / 2 + 0.25).replace(".", mark)
    assert open_table(half).schema.types[:4] == table.schema.types  # doubtful numbers are still doubtful


@pytest.mark.parametrize("ending", [".arrow", ".csv", ".jsonl"])
def test_another_ending_converts_the_table(ending, tmp_path) -> None:
    table = open_table(write(tmp_path, ".parquet"))
    new = open_table(rewrite_table(table, tmp_path / f"new{ending}", doubled(table), drop=["id"]).path)
    assert new.columns == ("text", "vector", "sum")
    np.testing.assert_allclose(new.vectors(), 2 * X, rtol=1e-5)


def test_an_existing_file_the_input_and_a_name_without_ending_are_refused(tmp_path) -> None:
    path = write(tmp_path, ".parquet")
    table = open_table(path)
    with pytest.raises(OutputError, match="is the input"):
        rewrite_table(table, path, doubled(table), overwrite=True)
    with pytest.raises(OutputError, match=r"\.parquet"):
        rewrite_table(table, tmp_path / "new", doubled(table))
    (tmp_path / "new.csv").write_text("mine")
    with pytest.raises(OutputError, match="exists already"):
        rewrite_table(table, tmp_path / "new.csv", doubled(table))
    assert (tmp_path / "new.csv").read_text() == "mine"


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path) -> None:
    cells = X.tolist()
    cells[40] = None
    FRAME.with_columns(vector=pl.Series(cells, dtype=pl.List(pl.Float32))).write_parquet(tmp_path / "docs.parquet")
    (tmp_path / "new.parquet").write_text("old")
    table = open_table(tmp_path / "docs.parquet")
    with pytest.raises(VectorError, match="row 41"):
        rewrite_table(table, tmp_path / "new.parquet", doubled(table), overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.parquet", "new.parquet"]
    assert (tmp_path / "new.parquet").read_text() == "old"


def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path, monkeypatch) -> None:
    import pyarrow.parquet

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    table = open_table(write(tmp_path, ".parquet"))
    monkeypatch.setattr(pyarrow.parquet.ParquetWriter, "write_table", fail)
    with pytest.raises(OutputError, match="No space left"):
        rewrite_table(table, tmp_path / "new.parquet", doubled(table))
    assert [path.name for path in tmp_path.iterdir()] == ["docs.parquet"]


def make_shards(folder):
    folder.mkdir()
    for number in range(5):
        FRAME[number * 10 : (number + 1) * 10].write_parquet(folder / f"part-{number}.parquet")
    return open_table(folder)


def test_shards_become_shards_or_one_file(tmp_path) -> None:
    table = make_shards(tmp_path / "docs")
    written = rewrite_table(table, tmp_path / "new", doubled(table))
    assert written.files == 5
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        f"part-{number}.parquet" for number in range(5)
    ]
    np.testing.assert_allclose(open_table(tmp_path / "new").vectors(), 2 * X)
    rewrite_table(table, tmp_path / "new.parquet", doubled(table))
    np.testing.assert_allclose(open_table(tmp_path / "new.parquet").vectors(), 2 * X)


def test_an_interrupted_run_keeps_finished_shards_and_resumes(tmp_path) -> None:
    table = make_shards(tmp_path / "docs")
    calls = 0

    def stopping(Y, usable):
        nonlocal calls
        calls += len(Y) > 0
        if calls == 4:
            raise KeyboardInterrupt
        return doubled(table)(Y, usable)

    with pytest.raises(KeyboardInterrupt):
        rewrite_table(table, tmp_path / "new", stopping, depends_on=["axis 1"])
    tables = sorted(path.name for path in (tmp_path / "new").glob("*.parquet"))
    assert tables == ["part-0.parquet", "part-1.parquet", "part-2.parquet"]
    written = rewrite_table(table, tmp_path / "new", doubled(table), depends_on=["axis 1"])
    assert (written.reused, written.rows) == (3, N)
    np.testing.assert_allclose(open_table(tmp_path / "new").vectors(), 2 * X)
    with pytest.raises(OutputError, match="exists already"):
        rewrite_table(table, tmp_path / "new", doubled(table))


@pytest.mark.parametrize("change", ["other folder", "other column"])
def test_a_run_on_other_vectors_does_not_take_shards_of_an_interrupted_one(change, tmp_path) -> None:
    for folder in ("docs", "others"):
        table = make_shards(tmp_path / folder)
        for number, shard in enumerate(table.source.shards):
            frame = pl.read_parquet(shard)
            vectors = frame["vector"].to_numpy() + (folder == "others")
            frame.with_columns(second=pl.Series(vectors + 1)).with_columns(vector=pl.Series(vectors)).write_parquet(
                shard
            )
            os.utime(shard, ns=(number, number))

    def stopping(Y, usable):
        if len(Y) and np.isclose(Y[0], X[30]).all():
            raise KeyboardInterrupt
        return {"first": pa.array(Y[:, 0])}

    first = open_table(tmp_path / "docs", vectors="vector")
    with pytest.raises(KeyboardInterrupt):
        rewrite_table(first, tmp_path / "new", stopping)
    folder, column = ("others", "vector") if change == "other folder" else ("docs", "second")
    table = open_table(tmp_path / folder, vectors=column)
    rewrite_table(table, tmp_path / "new", lambda Y, usable: {"first": pa.array(Y[:, 0])})
    written = open_table(tmp_path / "new", vectors="vector").column("first").to_numpy()
    np.testing.assert_allclose(written, X[:, 0] + 1, rtol=1e-6)


def test_tables_that_would_be_read_with_the_new_shards_are_named(tmp_path) -> None:
    table = make_shards(tmp_path / "docs")
    (tmp_path / "new").mkdir()
    FRAME.write_parquet(tmp_path / "new" / "part-7.parquet")
    with pytest.raises(OutputError, match=r"has tables that are not replaced: 'part-7.parquet'"):
        rewrite_table(table, tmp_path / "new", doubled(table), overwrite=True)
    (tmp_path / "new" / "part-7.parquet").unlink()
    (tmp_path / "new" / "notes.txt").write_text("mine")
    rewrite_table(table, tmp_path / "new", doubled(table), overwrite=True)
    np.testing.assert_allclose(open_table(tmp_path / "new").vectors(), 2 * X)


def test_a_shard_that_is_damaged_inside_is_named_and_finished_ones_stay(tmp_path) -> None:
    table = make_shards(tmp_path / "docs")
    bad = tmp_path / "docs" / "part-3.parquet"
    whole = bad.read_bytes()
    bad.write_bytes(whole[:4] + bytes(200) + whole[204:])  # the footer is whole, the pages are not
    with pytest.raises(TableError, match=r"part-3\.parquet: the file cannot be read"):
        rewrite_table(table, tmp_path / "new", doubled(table))
    assert sorted(path.name for path in (tmp_path / "new").glob("*.parquet")) == [
        f"part-{number}.parquet" for number in range(3)
    ]
    bad.write_bytes(whole)
    assert rewrite_table(table, tmp_path / "new", doubled(table)).reused == 3
    np.testing.assert_allclose(open_table(tmp_path / "new").vectors(), 2 * X)


_KILLED = """
import os, sys
from densray import Axis, open_table
from densray.axes import _tables, write_scores

folder, die = sys.argv[1], sys.argv[2] == "die"
score, calls = _tables._Scorer.__call__, []

def dying(self, X, usable):
    calls.append(len(X))
    if die and sum(calls) > 30:
        os.kill(os.getpid(), 9)
    return score(self, X, usable)

_tables._Scorer.__call__ = dying
axis = Axis.load(folder + "/axis.safetensors")
print(write_scores(axis, open_table(folder + "/docs"), folder + "/new").reused)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_a_killed_run_keeps_finished_shards_and_resumes(tmp_path) -> None:
    from densray import Axis, Rows

    table = make_shards(tmp_path / "docs")
    axis = Axis.fit(Rows.from_arrays(X, np.sign(X[:, 0])), "mean-difference")
    axis.save(tmp_path / "axis.safetensors")
    program = [sys.executable, "-c", _KILLED, str(tmp_path)]
    assert subprocess.run([*program, "die"], check=False, capture_output=True).returncode == -9
    finished = sorted(path.name for path in (tmp_path / "new").glob("part-*.parquet"))
    assert finished == ["part-0.parquet", "part-1.parquet", "part-2.parquet"]
    again = subprocess.run([*program, "live"], check=True, capture_output=True, text=True)
    assert again.stdout.strip() == "3"
    scores = pl.concat([pl.read_parquet(path) for path in sorted((tmp_path / "new").glob("*.parquet"))])
    np.testing.assert_allclose(scores["score"].to_numpy(), axis.coordinates(X), atol=1e-6)
    assert scores["id"].to_list() == table.column("id").to_pylist()
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [f"part-{row}.parquet" for row in range(5)]


def test_finished_shards_of_another_run_are_written_again(tmp_path) -> None:
    table = make_shards(tmp_path / "docs")

    def stop_at_last(Y, usable):
        if len(Y) and np.allclose(Y, X[40:]):
            raise KeyboardInterrupt
        return {"sum": pa.array(np.zeros(len(Y)))}

    with pytest.raises(KeyboardInterrupt):
        rewrite_table(table, tmp_path / "new", stop_at_last, depends_on=["axis 1"])
    written = rewrite_table(table, tmp_path / "new", doubled(table), depends_on=["axis 2"])
    assert written.reused == 0
    np.testing.assert_allclose(open_table(tmp_path / "new").column("sum").to_numpy(), X.sum(axis=1), atol=1e-5)


@pytest.mark.slow
def test_a_cluster_writes_the_same_shards_and_resumes(tmp_path) -> None:
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    table = make_shards(tmp_path / "docs")
    rewrite_table(table, tmp_path / "here", doubled(table))
    with (
        distributed.LocalCluster(n_workers=2, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        written = rewrite_table(table, tmp_path / "there", doubled(table), cluster=client)
        assert (written.rows, written.files) == (N, 5)
        with pytest.raises(TaskError, match="Name a folder"):
            rewrite_table(table, tmp_path / "one.parquet", doubled(table), cluster=client)
    here, there = (open_table(tmp_path / name) for name in ("here", "there"))
    np.testing.assert_allclose(there.vectors(), here.vectors(), atol=1e-6)
    assert there.column("id").to_pylist() == here.column("id").to_pylist()


def test_shards_of_one_name_go_to_one_file_only(tmp_path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        FRAME.write_parquet(tmp_path / name / "part.parquet")
    table = open_table(str(tmp_path / "*" / "part.parquet"))
    with pytest.raises(OutputError, match="same name"):
        rewrite_table(table, tmp_path / "new", doubled(table))


@pytest.mark.parametrize(
    ("ending", "cells", "dtype", "message"),
    [
        ("csv", [{"a": 1}], None, r"'x' holds struct<a: int64>, which CSV and TSV cannot hold"),
        ("csv", [[{"a": 1}]], None, r"'x' holds .*struct"),
        ("tsv", [timedelta(seconds=5)], None, "'x' holds duration"),
        ("csv", [b"ab"], None, "'x' holds .*binary"),
        ("jsonl", [b"ab"], None, "'x' holds .*binary.*, which JSON lines cannot hold"),
        ("jsonl", [float("inf")], None, "'x' has an infinite number"),
    ],
)
def test_columns_that_a_text_file_cannot_hold_are_named(ending, cells, dtype, message, tmp_path) -> None:
    table = open_table(FRAME.with_columns(x=pl.Series(cells * N, dtype=dtype)), vectors="vector")
    with pytest.raises(TableError, match=message):
        rewrite_table(table, tmp_path / f"new.{ending}", doubled(table))
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_lists_keep_their_gaps_and_their_texts(ending, tmp_path) -> None:
    lists = {"gaps": [[1, None, 3]] * N, "tags": [['a, "b"', None, "]"]] * N, "no": [None] * N}
    table = open_table(
        FRAME.with_columns(**{name: pl.Series(cells) for name, cells in lists.items()}), vectors="vector"
    )
    rewrite_table(table, tmp_path / f"new.{ending}", doubled(table))
    written = pl.read_csv(tmp_path / f"new.{ending}", separator="," if ending == "csv" else "\t")
    for name in ("gaps", "tags"):
        assert [json.loads(cell) for cell in written[name]] == lists[name]
    assert written["no"].null_count() == N


def test_integers_of_more_than_64_bits_are_text_in_json_lines_or_refused(tmp_path) -> None:
    numbers = [2**63 + 1, 2**65]
    lines = [f'{{"id": {number}, "vector": [1.0, 2.0]}}' for number in numbers]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    try:
        texts = open_table(tmp_path / "docs.jsonl").column("id").to_pylist()
    except TableError:
        texts = "refused"  # by older versions of polars
    assert texts in ("refused", [str(number) for number in numbers])
