"""Files of ours open elsewhere with equal vectors, and files of others open here."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from densray.errors import FormatError
from densray.formats import read_space, write_space
from densray.space import WordSpace


@pytest.fixture(scope="module")
def space() -> WordSpace:
    vectors = np.random.default_rng(3).normal(size=(400, 20)).astype(np.float32)
    vectors[7] = np.float32([1e-42, -0.0, 3.4e38, 1 / 3] * 5)
    return WordSpace([f"wörd_{row}" for row in range(399)] + ["d'or"], vectors)


def assert_equal(one: WordSpace, words: object, vectors: object) -> None:
    assert list(one.words) == list(words)  # type: ignore[call-overload]
    np.testing.assert_array_equal(one.vectors, np.asarray(vectors))


@pytest.mark.parametrize("name", ["s.txt", "s.vec", "s.txt.gz", "s.vec.bz2", "s.bin", "s.bin.gz"])
def test_gensim_opens_what_we_write(name: str, space: WordSpace, tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models")
    path = write_space(space, tmp_path / name)
    vectors = gensim.KeyedVectors.load_word2vec_format(str(path), binary=".bin" in name)
    assert_equal(space, vectors.index_to_key, vectors.vectors)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # gensim leaves the file open
def test_gensim_opens_our_glove_files(space: WordSpace, tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models")
    path = write_space(space, tmp_path / "s.glove")
    vectors = gensim.KeyedVectors.load_word2vec_format(str(path), no_header=True)
    assert_equal(space, vectors.index_to_key, vectors.vectors)


@pytest.mark.parametrize("packing", ["", ".gz", ".bz2"])
@pytest.mark.parametrize(("binary", "header"), [(True, True), (False, True), (False, False)])
def test_we_open_what_gensim_writes(binary: bool, header: bool, packing: str, space: WordSpace, tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models")
    vectors = gensim.KeyedVectors(space.width)
    vectors.add_vectors(list(space.words), np.array(space.vectors))
    path = tmp_path / f"theirs{packing}"
    vectors.save_word2vec_format(str(path), binary=binary, write_header=header)
    assert_equal(read_space(path), space.words, space.vectors)


def test_a_saved_keyed_vectors_object_is_refused_as_the_pickle_it_is(space: WordSpace, tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models")
    vectors = gensim.KeyedVectors(space.width)
    vectors.add_vectors(list(space.words), np.array(space.vectors))
    vectors.save(str(tmp_path / "theirs.kv"))
    with pytest.raises(FormatError, match=r"theirs\.kv: this is a Python pickle.*save_word2vec_format"):
        read_space(tmp_path / "theirs.kv")


def test_spacy_opens_what_we_write(space: WordSpace, tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    from spacy.cli.init_pipeline import convert_vectors

    nlp = spacy.blank("en")
    convert_vectors(nlp, write_space(space, tmp_path / "s.txt"), truncate=-1, prune=-1)
    for word in space.words:
        np.testing.assert_array_equal(nlp.vocab.get_vector(word), space[word])


def test_the_c_program_ends_rows_with_line_feeds_and_so_may_a_file(space: WordSpace, tmp_path: Path) -> None:
    rows = [
        word.encode() + b" " + vector.tobytes() + b"\n" for word, vector in zip(space.words, space.vectors, strict=True)
    ]
    (tmp_path / "c.bin").write_bytes(b"400 20\n" + b"".join(rows))
    assert_equal(read_space(tmp_path / "c.bin"), space.words, space.vectors)


def test_numpy_opens_what_we_write_and_we_what_it_writes(space: WordSpace, tmp_path: Path) -> None:
    with np.load(write_space(space, tmp_path / "ours.npz"), allow_pickle=False) as archive:
        assert_equal(space, archive["words"], archive["vectors"])
    np.testing.assert_array_equal(np.load(write_space(space, tmp_path / "ours.npy")), space.vectors)
    np.savez_compressed(
        tmp_path / "theirs.npz",
        tokens=np.array([word.encode() for word in space.words]),
        embeddings=np.asfortranarray(space.vectors, dtype=np.float64),
        counts=np.arange(400),
    )
    assert_equal(read_space(tmp_path / "theirs.npz"), space.words, space.vectors)


@pytest.mark.parametrize("dtype", [">f4", "<f8", "<f2", "<i4"])
def test_arrays_of_other_types_become_float32(dtype: str, tmp_path: Path) -> None:
    matrix = np.arange(12).reshape(4, 3).astype(dtype)
    np.save(tmp_path / "theirs.npy", matrix)
    (tmp_path / "theirs.vocab").write_text("a\nb\nc\nd\n")
    assert_equal(read_space(tmp_path / "theirs.npy"), "abcd", matrix.astype(np.float32))
    np.save(tmp_path / "theirs.npy", np.asfortranarray(matrix))
    assert_equal(read_space(tmp_path / "theirs.npy", limit=3), "abc", matrix[:3].astype(np.float32))


def test_safetensors_opens_what_we_write_and_we_what_it_writes(space: WordSpace, tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    path = write_space(space, tmp_path / "ours.safetensors")
    tensors = library.load_file(path)
    text, ends = tensors["words"].tobytes(), tensors["word_offsets"]
    words = [text[begin:end].decode() for begin, end in pairwise(ends)]
    assert_equal(space, words, tensors["vectors"])
    with np.errstate(over="ignore"):
        halves = space.vectors.astype(np.float16)
    library.save_file({"embeddings": halves}, tmp_path / "theirs.safetensors")
    (tmp_path / "theirs.words.txt").write_text("".join(f"{word}\n" for word in space.words))
    with pytest.raises(FormatError, match=r"row 8.*inf"):
        read_space(tmp_path / "theirs.safetensors")  # 3.4e38 is beyond float16
    assert len(read_space(tmp_path / "theirs.safetensors", limit=7)) == 7


def test_a_transposed_space_is_written_in_the_right_order(space: WordSpace, tmp_path: Path) -> None:
    vectors = np.asfortranarray(space.vectors)
    vectors.flags.writeable = False  # a space copies what may change
    turned = WordSpace(space.words, vectors)
    assert not turned.vectors.flags.c_contiguous
    for ending in (".txt", ".bin", ".npy", ".npz", ".safetensors", ".parquet", ".densray"):
        assert_equal(read_space(write_space(turned, tmp_path / f"turned{ending}")), space.words, space.vectors)


def test_brain_floats_are_read(tmp_path: Path) -> None:
    import json

    matrix = np.float32([[1.0, -2.5], [0.15625, 3.0]])
    raw = (matrix.view(np.uint32) >> 16).astype("<u2").tobytes()
    header = json.dumps({"w": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}).encode()
    (tmp_path / "b.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + raw)
    (tmp_path / "b.words.txt").write_text("x\ny\n")
    assert_equal(read_space(tmp_path / "b.safetensors"), "xy", matrix)


def test_tables_of_lists_and_of_columns_are_read(space: WordSpace, tmp_path: Path) -> None:
    wide = pl.DataFrame(np.array(space.vectors)).insert_column(0, pl.Series("token", list(space.words)))
    wide.write_parquet(tmp_path / "wide.parquet")
    assert_equal(read_space(tmp_path / "wide.parquet"), space.words, space.vectors)
    lists = pl.DataFrame({"rank": range(400), "w": list(space.words), "v": space.vectors.astype(float).tolist()})
    lists.write_parquet(tmp_path / "lists.parquet")
    assert_equal(read_space(tmp_path / "lists.parquet"), space.words, space.vectors)
    ragged = pl.DataFrame({"word": ["a", "b"], "vector": [[1.0, 2.0], [3.0]]})
    ragged.write_parquet(tmp_path / "ragged.parquet")
    with pytest.raises(FormatError, match="row 2: 1 numbers, where the first row has 2"):
        read_space(tmp_path / "ragged.parquet")
    ours = pl.read_parquet(write_space(space, tmp_path / "ours.parquet"))
    assert_equal(space, ours["word"], ours["vector"].to_numpy())


def test_several_compressed_streams_in_one_file_are_read_to_the_end(tmp_path: Path) -> None:
    import zstandard

    for name, pack in (("m.gz", gzip.compress), ("m.zst", zstandard.compress)):
        (tmp_path / name).write_bytes(pack(b"2 2\na 1 2\n") + pack(b"b 3 4\n"))
        assert_equal(read_space(tmp_path / name), "ab", [[1, 2], [3, 4]])
