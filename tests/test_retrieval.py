"""Retrieval: ranks of partners against a slow search, intervals, the paired test, purity, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from densray import Erasure, Rows, evaluate_retrieval
from densray.cli.entry import run
from densray.errors import LabelError, TableError, TaskError
from densray.retrieval import partner_ranks
from densray.tables import open_table

pytest.importorskip("pyarrow")


def documents(n_pairs: int = 80, n_alone: int = 40, seed: int = 0, shift: float = 3.0) -> pl.DataFrame:
    """Pairs of documents from two sources: what they are about, some noise, and a shift of the second source."""
    random = np.random.default_rng(seed)
    topics = random.normal(size=(n_pairs, 20))
    X = np.vstack([topics, topics, random.normal(size=(n_alone, 20))]) + 0.6 * random.normal(
        size=(2 * n_pairs + n_alone, 20)
    )
    source = np.array(["wiki"] * n_pairs + ["court"] * (n_pairs + n_alone))
    X[source == "court", :5] += shift
    case: list[int | None] = [*range(n_pairs), *range(n_pairs), *([None] * n_alone)]
    return pl.DataFrame({"case": case, "source": source, "vector": X.tolist()})


def slow_ranks(X: np.ndarray, pairs: list[Any], texts: list[Any] | None = None) -> list[int]:
    """Sort all other documents by cosine; a partner comes after a document that is as near."""
    found = []
    for query, pair in enumerate(pairs):
        partners = [row for row, other in enumerate(pairs) if pair is not None and other == pair and row != query]
        if not partners:
            continue
        if texts is not None:
            same = {texts[row] for row in partners}
            partners = [row for row, text in enumerate(texts) if text in same and row != query]
        cosines = [X[query] @ row / np.linalg.norm(X[query]) / np.linalg.norm(row) for row in X]
        order = sorted((-cosines[row], row in partners, row) for row in range(len(X)) if row != query)
        nearest = next(place for place, (_, is_partner, _) in enumerate(order) if is_partner)
        found.append(1 + nearest)
    return found


def test_ranks_are_those_of_a_slow_search() -> None:
    frame = documents(40, 30)
    X = np.array(frame["vector"].to_list())
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    pairs = frame["case"].to_list()
    queries, ranks = partner_ranks(unit, pairs)
    assert queries.tolist() == list(range(80))
    assert ranks.tolist() == slow_ranks(X, pairs)
    texts = [f"text {row % 35}" for row in range(110)]
    assert partner_ranks(unit, pairs, texts=texts)[1].tolist() == slow_ranks(X, pairs, texts)


def test_a_space_that_sends_every_document_to_one_point_finds_no_partner() -> None:
    frame = documents(20, 0).with_columns(vector=pl.lit([1.0, 1.0]))
    assert evaluate_retrieval(frame, "case").recalls[0].before.value == 0.0


def test_erasing_the_source_helps_documents_find_their_partner() -> None:
    frame = documents()
    X = np.array(frame["vector"].to_list())
    erased = Erasure.fit(Rows.from_arrays(X, frame["source"].to_list()), normalize=False).apply(X)
    clean = frame.with_columns(vector=pl.Series(erased.tolist()))
    result = evaluate_retrieval(frame, "case", against=clean, clusters="source")
    assert (result.n_queries, result.n_pairs, result.n_documents) == (160, 80, 200)
    for recall in result.recalls:
        assert recall.after is not None
        assert recall.difference is not None
        assert recall.p_value is not None
        assert recall.before.low <= recall.before.value <= recall.before.high
        assert recall.difference.value == pytest.approx(recall.after.value - recall.before.value)
        assert recall.difference.low > 0
        assert recall.p_value < 0.01
    assert "is better" in result.text()
    assert result.purity is not None
    assert result.purity.after is not None
    assert result.purity.before > 0.95
    assert result.purity.after < 0.75
    assert result.purity.largest_class == pytest.approx(0.6)
    assert result.to_dict()["recalls"][0]["after"]["value"] > 0.8


@pytest.mark.slow
def test_intervals_cover_the_recall_of_other_pairs_and_the_test_holds_its_level() -> None:
    """Two changes that only add noise: the test rarely finds a difference, and 95% intervals cover most of the time."""
    covered, rejected, draws = 0, 0, 40
    truth = np.mean([evaluate_retrieval(documents(60, 0, seed), "case", n_resamples=1).recalls[0].before.value
                     for seed in range(100, 140)])  # fmt: skip
    for seed in range(draws):
        frame, random = documents(60, 0, seed), np.random.default_rng(seed)
        X = np.array(frame["vector"].to_list())
        noisy = [frame.with_columns(vector=pl.Series((X + 0.4 * random.normal(size=X.shape)).tolist())) for _ in "ab"]
        recall = evaluate_retrieval(noisy[0], "case", against=noisy[1], n_resamples=300).recalls[0]
        assert recall.p_value is not None
        rejected += int(recall.p_value <= 0.05)
        plain = evaluate_retrieval(frame, "case", n_resamples=300).recalls[0].before
        covered += int(plain.low <= truth <= plain.high)
    assert rejected <= 6  # 2 expected
    assert covered >= 32  # 38 expected


def test_equal_tables_do_not_differ() -> None:
    frame = documents(30, 10)
    result = evaluate_retrieval(frame, "case", against=frame)
    assert result.recalls[0].p_value == 1.0
    assert "No difference is shown" in result.text()


@pytest.mark.parametrize("blank", ["", "  ", "NA", None])
def test_blank_values_make_no_partners(blank: str | None) -> None:
    source = pl.Series(["wiki", "court"] * 80 + [blank] * 40)
    frame = documents().with_columns(pl.col("case").cast(str).fill_null(pl.lit(blank)), source=source)
    found = evaluate_retrieval(frame, "case", texts="source", clusters="source", n_resamples=20)
    expected = evaluate_retrieval(
        documents().with_columns(source=pl.Series(["wiki", "court"] * 80 + [None] * 40)),
        "case",
        texts="source",
        clusters="source",
        n_resamples=20,
    )
    assert (found.n_queries, found.recalls, found.purity) == (160, expected.recalls, expected.purity)


def test_documents_without_a_vector_are_left_out() -> None:
    frame = documents()
    vectors = frame["vector"].to_list()
    vectors[3] = vectors[170] = None  # one of a pair, and one alone
    skipped = open_table(frame.with_columns(vector=pl.Series(vectors)), bad_rows="skip")
    rest = frame.with_row_index().filter(~pl.col("index").is_in([3, 170])).drop("index")
    found, expected = (evaluate_retrieval(each, "case", clusters="source", n_resamples=20) for each in (skipped, rest))
    assert (found.n_documents, found.n_queries) == (198, 158)
    assert (found.recalls, found.purity) == (expected.recalls, expected.purity)
    assert found.provenance.words_missing == ("row 4", "row 171")


def test_bad_input_is_named() -> None:
    frame = documents(10, 5)
    with pytest.raises(LabelError, match="no two of 25 documents"):
        evaluate_retrieval(frame.with_row_index("id"), "id")
    with pytest.raises(TableError, match=r"25 rows and .* 24"):
        evaluate_retrieval(frame, "case", against=frame.head(24))
    with pytest.raises(TableError, match="row 1 has case = 0"):
        evaluate_retrieval(frame, "case", against=frame.reverse())
    with pytest.raises(TableError, match="topic"):
        evaluate_retrieval(frame, "topic")
    with pytest.raises(TaskError, match="positive numbers"):
        evaluate_retrieval(frame, "case", at=[0])
    with pytest.raises(LabelError, match="1 values"):
        evaluate_retrieval(frame.with_columns(one=pl.lit("x")), "case", clusters="one")


def test_the_command_prints_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = tmp_path / "docs.parquet", tmp_path / "clean.parquet"
    documents().write_parquet(before)
    documents(shift=0.0).write_parquet(after)
    command = ["evaluate", "retrieval", str(before), "--pair-column", "case", "--against", str(after)]
    assert run([*command, "--cluster-column", "source", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [recall["k"] for recall in result["recalls"]] == [1, 10]
    assert result["recalls"][0]["difference"]["low"] > 0
    assert result["provenance"]["seed"] == 0
    pytest.importorskip("altair")
    assert run([*command, "-o", str(tmp_path / "recall.html")]) == 0
    assert "is better" in capsys.readouterr().out
    assert (tmp_path / "recall.html").stat().st_size > 1000
    assert run(["evaluate", "retrieval", str(before), "--pair-column", "party"]) == 2
    assert "party" in capsys.readouterr().err
