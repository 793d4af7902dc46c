"""Tables beyond memory: a fit block by block equals the fit in memory, and says that its figures are of a sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

pytest.importorskip("pyarrow", reason="tables need pyarrow")

from commands import run_for_json
from densray import Axis, Erasure, Rows
from densray.axes import fit_table
from densray.errors import LabelError, VectorError
from densray.tables import LabelledTable, open_table

N, WIDTH = 900, 5
rng = np.random.default_rng(0)
PARTY, SOURCE, TOPIC = rng.integers(2, size=N), rng.integers(3, size=N), rng.integers(2, size=N)
X = rng.normal(size=(N, WIDTH)) + 0.7
X[:, 0] += 1.5 * PARTY
X[:, 1] += SOURCE
X[:, 2] += TOPIC + 0.5 * PARTY
YEAR = 2000.0 + np.round(8 * X[:, 3]) + rng.integers(3, size=N)
YEAR[7] = 90_000  # far outside
FRAME = pl.DataFrame(
    {
        "party": [None if row % 50 == 0 else str(name) for row, name in enumerate(np.array(["left", "right"])[PARTY])],
        "source": np.array(["blog", "news", "wire"])[SOURCE],
        "topic": TOPIC,
        "year": [None if row % 60 == 1 else year for row, year in enumerate(YEAR)],
        "author": [f"author {row % 90}" for row in range(N)],
        "vector": pl.Series(X.astype(np.float32)),
    }
)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder of shards."""
    (tmp_path / "docs").mkdir()
    for number in range(3):
        FRAME[number * 300 : (number + 1) * 300].write_parquet(tmp_path / "docs" / f"{number}.parquet")
    return tmp_path / "docs"


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table is large, comes in batches of 64 rows, and is judged on 300 rows."""
    monkeypatch.setattr("densray.tables._labelled.LARGEST_IN_MEMORY", 0)
    monkeypatch.setattr("densray.tables._sources.BATCH_ROWS", 64)
    monkeypatch.setattr("densray.axes._large.SAMPLED_ROWS", 300)
    monkeypatch.setattr("densray.erasure.SAMPLED_ROWS", 300)


@pytest.mark.parametrize("labels", ["party", "year", "topic"])
@pytest.mark.parametrize("method", ["mean-difference", "densray", "auto"])
@pytest.mark.parametrize("normalize", [True, False])
def test_an_axis_equals_the_one_in_memory(
    docs: Path, small_memory: None, labels: str, method: str, normalize: bool
) -> None:
    streamed = fit_table(docs, labels, method, normalize=normalize)
    rows = Rows.from_table(docs, labels)
    whole = Axis.fit(rows, method, normalize=normalize)
    assert (streamed.rows, streamed.fitted_on) == (None, len(rows))
    np.testing.assert_allclose(streamed.direction, whole.direction, atol=1e-6)
    assert (streamed.method, streamed.concept, streamed.label_names) == (whole.method, labels, whole.label_names)


def test_the_figures_are_those_of_a_sample_and_say_so(docs: Path, small_memory: None, tmp_path: Path) -> None:
    axis = fit_table(docs, "party", "mean-difference", n_permutations=19)
    diagnosis = axis.diagnose()
    assert (diagnosis.n_seeds, diagnosis.fitted_on) == (300, len(Rows.from_table(docs, "party")))
    assert "random sample of 300" in diagnosis.text()
    assert diagnosis.axes[0].auc > 0.7
    assert f"fitted to {N - 18} labelled rows" in axis.citation.sentence
    assert "on a random sample of 300 of them" in axis.citation.sentence
    axis.save(tmp_path / "axis.safetensors")
    loaded = Axis.load(tmp_path / "axis.safetensors")
    assert loaded.verdict == axis.verdict
    np.testing.assert_allclose(loaded.score(X).columns()["standard_error"], axis.score(X).columns()["standard_error"])


def test_a_sample_keeps_groups_whole(docs: Path, small_memory: None) -> None:
    rows = LabelledTable.of(open_table(docs), "party").sample(300, groups="author", names="author")
    sizes = {name: rows.names.count(name) for name in rows.names}
    labelled = FRAME.filter(pl.col("party").is_not_null())["author"].to_list()
    assert 250 <= len(rows) <= 300
    assert all(labelled.count(name) == size for name, size in sizes.items())
    assert rows.n_groups == len(sizes)
    assert len(rows.dropped["no label"]) == 18


@pytest.mark.parametrize("labels", [["party"], ["source"], ["source", "party"], ["year"]])
@pytest.mark.parametrize("keep", [[], ["topic"]])
def test_leace_equals_the_one_in_memory(docs: Path, small_memory: None, labels: list[str], keep: list[str]) -> None:
    streamed = Erasure.fit_table(docs, labels, keep=keep)
    sets = open_table(docs).label_sets([*labels, *keep])
    whole = Erasure.fit(sets[: len(labels)], keep=sets[len(labels) :])
    np.testing.assert_allclose(streamed.apply(X), whole.apply(X), atol=1e-6)
    assert (streamed.provenance.words_used, len(streamed.rows or ())) == (len(sets[0]), 300)
    assert "random sample of 300" in streamed.remarks[-1]


def test_rows_that_cannot_be_used_are_named_or_left_out(docs: Path, small_memory: None, tmp_path: Path) -> None:
    cells: list[Any] = X.tolist()
    cells[3] = None
    bad = FRAME.with_columns(vector=pl.Series(cells, dtype=pl.List(pl.Float32)))
    with pytest.raises(VectorError, match="row 4"):
        fit_table(bad, "party", "mean-difference")
    table = open_table(bad, bad_rows="skip")
    for method in ("mean-difference", "auto"):
        whole = Axis.fit(table.rows("party"), method)
        streamed = fit_table(table, "party", method)
        np.testing.assert_allclose(streamed.direction, whole.direction, atol=1e-6)
        assert streamed.fitted_on == len(table.rows("party"))
    sampled = LabelledTable.of(table, "party").usable().sample(N)
    assert sampled.dropped == table.rows("party").dropped
    zero = X.copy()
    zero[8] = 0.0
    with pytest.raises(VectorError, match=r"row 9: the vector is zero"):
        fit_table(FRAME.with_columns(vector=pl.Series(zero)), "party", "mean-difference")
    with pytest.raises(LabelError, match="Another label is needed"):
        fit_table(FRAME.with_columns(party=pl.lit("left")), "party")
    with pytest.raises(LabelError, match="a column of names"):
        fit_table(FRAME.with_columns(party=pl.Series([str(row) for row in range(N)])), "party")
    with pytest.raises(LabelError, match="no row has a label"):
        fit_table(FRAME.with_columns(party=pl.lit(None, dtype=pl.String)), "party")


def test_methods_that_need_all_rows_read_them(docs: Path, small_memory: None) -> None:
    for method, groups in (("svm", None), ("densray-unit", None), ("auto", "author")):
        axis = fit_table(docs, "party", method, groups=groups)
        assert axis.fitted_on is None
        assert len(axis.known_rows) == N - 18


@pytest.mark.slow
def test_the_commands_fit_and_erase_a_large_table(docs: Path, small_memory: None, tmp_path: Path, capsys: Any) -> None:
    target, clean = tmp_path / "axis.safetensors", tmp_path / "clean"
    quick = ["--method", "mean-difference", "--n-permutations", "19", "--quiet"]
    found = run_for_json(capsys, "fit", docs, "--label-column", "party", "-o", target, *quick)
    assert (found["fitted_on"], found["n_seeds"]) == (N - 18, 300)
    whole = Axis.fit(Rows.from_table(docs, "party"), "mean-difference")
    np.testing.assert_allclose(Axis.load(target).direction, whole.direction, atol=1e-6)
    report = tmp_path / "report.html"
    run_for_json(capsys, "diagnose", docs, "--label-column", "year", *quick, "--report", report)
    assert "random sample" in report.read_text(encoding="utf-8")
    found = run_for_json(capsys, "erase", docs, "--label-column", "source", "-o", clean, "--quiet")
    assert found["provenance"]["words_used"] == N
    erased = Erasure.fit(Rows.from_table(docs, "source")).apply(X.astype(np.float32))
    np.testing.assert_allclose(open_table(clean).vectors(), erased, atol=1e-5)


@pytest.mark.parametrize("groups", [None, "author", "proposed"])
def test_rows_with_equal_vectors_are_held_out_together(groups: str | None, small_memory: None) -> None:
    author = [f"author {row}" for row in range(100)]  # each document is there twice, with another author
    X = np.repeat(np.random.default_rng(0).normal(size=(50, 4)), 2, axis=0)
    frame = pl.DataFrame({"party": ["left", "left", "right", "right"] * 25, "author": author, "vector": pl.Series(X)})
    whole = open_table(frame).rows("party", groups=groups)
    sampled = LabelledTable.of(open_table(frame), "party").sample(60, groups=groups)
    for rows in (whole, sampled):
        assert rows.groups is not None
        _, group_of = np.unique(rows.X, axis=0, return_inverse=True)
        assert len({*zip(rows.groups.tolist(), group_of.ravel().tolist(), strict=True)}) == len({*group_of.tolist()})
    if groups == "author":
        assert "have equal vectors and are held out together" in whole.forms.line


@pytest.mark.parametrize("size", ["small", "large"])
def test_documents_unlike_the_labelled_ones_get_no_probability(size: str, request: pytest.FixtureRequest) -> None:
    if size == "large":
        request.getfixturevalue("small_memory")
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 8))
    X[:200, 0] += 6.0  # the labelled half is about one topic
    X[:200:2, 1] += 3.0
    party = [["right", "left"][row % 2] if row < 150 else None for row in range(400)]
    frame = pl.DataFrame({"party": party, "vector": pl.Series(X)})
    axis = fit_table(frame, "party", "mean-difference")
    scored = axis.score(frame)
    given = scored["probability"].is_not_null().to_numpy()
    assert given[:200].mean() > 0.9  # also those without a label
    assert given[200:].mean() < 0.1
    everything = fit_table(frame.filter(pl.col("party").is_not_null()), "party", "mean-difference").score(frame)
    assert everything["probability"].null_count() == 0
