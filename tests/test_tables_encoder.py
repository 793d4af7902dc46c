"""A table records its encoder, axes and erasures carry it, and those of another encoder are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow")

from densray import Axis, Erasure, Rows, embed_table, open_table  # noqa: E402
from densray.axes import evaluate_ratings, mean_scores, write_scores  # noqa: E402
from densray.cli.entry import run  # noqa: E402
from densray.errors import TableError, VectorError  # noqa: E402
from densray.ratings import Ratings  # noqa: E402

WORDS = ["court", "game", "law", "team", "judge", "goal", "trial", "coach"]


class Hashing:
    """An encoder that needs nothing: each word has a random vector, a text the mean of its words."""

    def __init__(self, seed: int = 0, width: int = 6) -> None:
        self.seed, self.width = seed, width

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.stack([np.mean([self._word(word) for word in text.split()], axis=0) for text in texts])

    def _word(self, word: str) -> np.ndarray:
        number = sum(ord(letter) * 31**place for place, letter in enumerate(word)) % 2**32
        return np.random.default_rng([self.seed, number]).normal(size=self.width)


@pytest.fixture
def texts() -> pl.DataFrame:
    random = np.random.default_rng(0)
    sport = np.arange(60) % 2
    lines = [" ".join(random.choice(WORDS[side::2], 4)) + f" x{row}" for row, side in enumerate(sport)]
    return pl.DataFrame({"text": lines, "topic": np.where(sport, "sport", "law"), "year": 2000 + np.arange(60) % 3})


@pytest.fixture
def docs(texts: pl.DataFrame, tmp_path: Path) -> Path:
    embed_table(Hashing(), texts, tmp_path / "docs.parquet", text_column="text")
    return tmp_path / "docs.parquet"


def other(texts: pl.DataFrame, folder: Path, **settings: int) -> Path:
    embed_table(Hashing(**settings), texts, folder / "other.parquet", text_column="text", overwrite=True)
    return folder / "other.parquet"


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_the_encoder_is_recorded_with_its_settings(texts: pl.DataFrame, tmp_path: Path, ending: str) -> None:
    embed_table(Hashing(), texts, tmp_path / f"docs{ending}", text_column="text", vector_column="v")
    record = open_table(tmp_path / f"docs{ending}").encoder
    assert record is not None
    assert (record.name, record.width, record.normalized) == ("Hashing", 6, False)
    assert open_table(texts.with_columns(v=pl.Series(np.eye(60, 3)))).encoder is None


def test_rewritten_tables_keep_the_record_and_drop_it_with_the_vectors(docs: Path, tmp_path: Path) -> None:
    table = open_table(docs)
    rows = table.rows("topic")
    axis = Axis.fit(rows, "mean-difference")
    write_scores(axis, table, tmp_path / "kept.parquet", keep_vectors=True)
    Erasure.fit(rows).apply(table, output=tmp_path / "clean.arrow")
    for name in ("kept.parquet", "clean.arrow"):
        assert open_table(tmp_path / name).encoder == table.encoder
    write_scores(axis, table, tmp_path / "scores.parquet")
    from pyarrow import parquet

    assert b"densray:encoders" not in (parquet.read_schema(tmp_path / "scores.parquet").metadata or {})
    assert open_table(axis.score(parquet.read_table(docs))).encoder == table.encoder


def test_a_saved_axis_scores_its_encoder_and_refuses_another(docs: Path, texts: pl.DataFrame, tmp_path: Path) -> None:
    axis = Axis.fit(Rows.from_table(docs, "topic"), "mean-difference")
    axis.save(tmp_path / "axis.safetensors")
    loaded = Axis.load(tmp_path / "axis.safetensors")
    assert loaded.encoder == axis.encoder == open_table(docs).encoder
    for each in (axis, loaded):
        each.score(open_table(docs))
        with pytest.raises(TableError, match=r"another encoder named 'Hashing'.*Embed the texts"):
            each.score(open_table(other(texts, tmp_path, seed=1)))
    with pytest.raises(TableError, match=r"width 6.*width 7"):
        write_scores(loaded, open_table(other(texts, tmp_path, width=7)), tmp_path / "scores.parquet")
    with pytest.raises(TableError, match="another encoder"):
        mean_scores(loaded, open_table(other(texts, tmp_path, seed=1)), ["year"])
    ratings = Ratings.of(texts["text"][:20].to_list(), np.arange(20.0))
    assert evaluate_ratings(open_table(docs), ratings, loaded, names="text").n_items == 20
    with pytest.raises(TableError, match="another encoder"):
        evaluate_ratings(open_table(other(texts, tmp_path, seed=1)), ratings, loaded, names="text")
    Axis.load(tmp_path / "axis.safetensors", any_space=True).score(open_table(other(texts, tmp_path, seed=1)))
    plain = pl.read_parquet(docs)  # polars drops the record
    assert "score" in loaded.score(plain).columns


def test_a_saved_erasure_refuses_another_encoder_and_another_width(
    docs: Path, texts: pl.DataFrame, tmp_path: Path
) -> None:
    Erasure.fit(Rows.from_table(docs, "topic")).save(tmp_path / "erasure.safetensors")
    loaded = Erasure.load(tmp_path / "erasure.safetensors")
    assert loaded.encoder == open_table(docs).encoder
    loaded.apply(open_table(docs), output=tmp_path / "clean.parquet")
    with pytest.raises(TableError, match="the erasure was fitted on vectors of the encoder 'Hashing'"):
        loaded.apply(open_table(other(texts, tmp_path, seed=1)), output=tmp_path / "b.parquet")
    with pytest.raises(VectorError, match=r"width 6.*width 3"):
        loaded.apply(pl.DataFrame({"v": pl.Series(np.eye(5, 3))}))
    assert not (tmp_path / "b.parquet").exists()


def test_shards_of_two_encoders_are_refused(docs: Path, texts: pl.DataFrame, tmp_path: Path) -> None:
    other(texts, tmp_path, seed=1)
    with pytest.raises(TableError, match=r"other\.parquet.*another one"):
        open_table(str(tmp_path / "*.parquet"))


def test_a_damaged_record_counts_as_none(docs: Path) -> None:
    from pyarrow import parquet

    table = parquet.read_table(docs)
    for content in (b"no json", b"[]", b'{"embedding": {"name": "x"}}', b'{"embedding": 3}'):
        assert open_table(table.replace_schema_metadata({b"densray:encoders": content})).encoder is None


def test_the_commands_refuse_another_encoder_and_note_a_missing_record(
    docs: Path, texts: pl.DataFrame, tmp_path: Path, capsys: Any
) -> None:
    axis, scores = str(tmp_path / "axis.safetensors"), str(tmp_path / "scores.parquet")
    Axis.fit(Rows.from_table(docs, "topic"), "mean-difference").save(axis)
    wrong = str(other(texts, tmp_path, seed=1))
    assert run(["score", wrong, axis, "-o", scores]) == 2
    said = capsys.readouterr().err
    assert "another encoder named 'Hashing'" in said
    assert "--any-space" in said
    assert run(["score", wrong, axis, "-o", scores, "--any-space", "--quiet"]) == 0
    pl.read_parquet(docs).write_parquet(tmp_path / "plain.parquet")
    assert run(["score", str(tmp_path / "plain.parquet"), axis, "-o", scores, "--overwrite"]) == 0
    assert "does not record its encoder" in capsys.readouterr().err
