"""The native format: opened in constant time, looked up on disk, and not believed when it is damaged."""

from __future__ import annotations

import json
import pickle
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from densray.errors import DensRayError, FormatError, UnknownWordError
from densray.formats import read_space, verify_space, write_space
from densray.space import WordSpace

FILES = Path(__file__).parent / "files"
COLLIDING = ["plumless", "buckeroo"]  # two English words with the same CRC-32


@pytest.fixture
def space() -> WordSpace:
    vectors = np.random.default_rng(4).normal(size=(2_000, 8)).astype(np.float32)
    return WordSpace([*COLLIDING, "", "naïve", *(f"w{row}" for row in range(1_996))], vectors, name="small")


@pytest.fixture
def path(space: WordSpace, tmp_path: Path) -> Path:
    return write_space(space, tmp_path / "small.densray")


def test_vectors_and_words_stay_on_disk(path: Path, space: WordSpace) -> None:
    opened = read_space(path)
    assert isinstance(opened.vectors.base, np.memmap) or isinstance(opened.vectors, np.memmap)
    assert not opened.vectors.flags.writeable
    assert opened.vectors.__array_interface__["data"][0] % 64 == 0
    assert not isinstance(opened.words, list | tuple)
    assert opened.name == "small"
    assert opened.fingerprint() == space.fingerprint()


def test_every_word_is_found_at_its_row_and_no_other(path: Path, space: WordSpace) -> None:
    opened = read_space(path)
    assert opened.locate(space.words).tolist() == list(range(len(space)))
    assert opened.locate(["missing", "W1", "\ud800", "w1 "]).tolist() == [-1] * 4
    assert "w5" in opened
    assert 5 not in opened
    with pytest.raises(UnknownWordError):
        opened["missing"]


def test_words_with_the_same_hash_are_distinguished(path: Path, space: WordSpace) -> None:
    assert zlib.crc32(COLLIDING[0].encode()) == zlib.crc32(COLLIDING[1].encode())
    opened = read_space(path)
    np.testing.assert_array_equal(opened[COLLIDING], space.vectors[:2])


def test_words_behave_as_the_sequence_they_are(path: Path, space: WordSpace) -> None:
    words, plain = read_space(path).words, list(space.words)
    assert words == plain
    assert words != plain[:-1]
    assert words[-1] == plain[-1]
    for piece in (slice(3, 9), slice(-4, None), slice(9, 3), slice(None, None, -500), slice(1990, 5000)):
        assert list(words[piece]) == plain[piece]
    assert list(words[100:200][10:20]) == plain[110:120]
    with pytest.raises(IndexError):
        words[2_000]


def test_limit_and_words_take_a_part(path: Path, space: WordSpace) -> None:
    assert list(read_space(path, limit=3).words) == list(space.words)[:3]
    part = read_space(path, words=["w7", "naïve", "missing"], name="part")
    assert list(part.words) == ["naïve", "w7"]
    assert part.name == "part"
    np.testing.assert_array_equal(part["w7"], space["w7"])
    assert "w7" not in read_space(path, limit=3)


def test_a_damaged_file_is_found_out_by_its_digest(path: Path) -> None:
    verify_space(path)
    data = bytearray(path.read_bytes())
    data_begin = 8 + int.from_bytes(data[:8], "little")
    for place in (data_begin, data_begin + 20_000, len(data) // 2, len(data) - 1):
        damaged = bytearray(data)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"small\.densray: .*digest"):
            verify_space(path)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_reaches_no_result(number: float, path: Path, space: WordSpace) -> None:
    from densray import Lexicon, MeanDifference, induce

    data = bytearray(path.read_bytes())
    begin = data.index(np.ascontiguousarray(space.vectors[1_500]).tobytes())
    data[begin + 8 : begin + 12] = np.float32(number).tobytes()
    path.unlink()
    path.write_bytes(data)
    word = space.words[1_500]
    lexicon = Lexicon([(f"w{row}", (-1) ** row) for row in range(40)])
    rotation = MeanDifference().fit(space.vectors[:40], np.tile([1, -1], 20))
    uses: dict[str, Callable[[WordSpace], object]] = {
        "neighbors": lambda space: space.neighbors("w7"),
        "its own vector": lambda space: space[word],
        "several vectors": lambda space: space[["w1", word]],
        "subset": lambda space: space.subset(["w1", word]),
        "cosine": lambda space: space.cosine("w1", word),
        "analogy": lambda space: space.analogy("w1", "w2", "w3"),
        "normalized": lambda space: space.normalized(),
        "rotated": lambda space: space.rotated(rotation),
        "erased": lambda space: space.erased(rotation),
        "limit": lambda space: space.limit(1_900).neighbors("w7"),
        "renamed": lambda space: space.renamed("x").lengths,
        "pickled": lambda space: pickle.loads(pickle.dumps(space)).lengths,
        "blocks": lambda space: list(space.blocks()),
        "induce": lambda space: induce(space, lexicon),
        "write": lambda space: write_space(space, path.with_name("other.bin")),
        "words": lambda space: read_space(path, words=[word]),
        "row by row": lambda space: read_space(path, format="safetensors"),
        "verify": lambda space: verify_space(path),
    }
    for use, call in uses.items():
        with pytest.raises(DensRayError, match=r"small\.densray: .*digest" if use == "verify" else repr(word)):
            call(read_space(path))
    opened = read_space(path)
    np.testing.assert_array_equal(opened["w7"], space["w7"])  # what is not damaged can be used
    assert len(read_space(path, limit=1_000).neighbors("w7")) == 10


def lying(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Write the file again with another header, whose data stay as they were."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header["__metadata__"].update(format_version="9"), "version 9; this densray reads version 1"),
        (lambda header: header["vectors"].update(shape=[9000, 8]), "does not fit"),
        (lambda header: header["vectors"].update(shape=[1000, 16]), "words or index do not fit 1,000 vectors"),
        (lambda header: header["vectors"].update(shape=[10**30, 0]), "does not fit"),
        (lambda header: header["vectors"].update(shape=[0, 10**30], data_offsets=[0, 0]), "damaged"),
        (lambda header: header["vectors"].update(shape=[16_000]), "no matrix of floats"),
        (lambda header: header["vectors"].update(shape=[True, 16_000]), "is not a size"),
        (lambda header: header["vectors"].update(dtype="I32"), "no matrix of floats"),
        (lambda header: header["vectors"].update(dtype="F99"), "no matrix of floats"),
        (lambda header: header["index_rows"].update(dtype="I32"), "words or index do not fit"),
        (lambda header: header["words"].update(data_offsets=[0, 10**15]), "does not fit"),
        (lambda header: header["words"].update(data_offsets=[-8, 0]), "is not a size"),
        (lambda header: header.pop("word_offsets"), "does not begin where the tensor before it ends"),
        (lambda header: header.pop("words"), "tensors end at byte"),
        (lambda header: header.update(vectors=7), "header is damaged"),
    ],
)
def test_a_header_that_lies_is_named(change: Callable[[dict[str, Any]], None], message: str, path: Path) -> None:
    lying(path, change)
    with pytest.raises(FormatError, match=message) as caught:
        read_space(path)
    assert str(caught.value).startswith("small.densray")


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"x", lambda data: data[:3_000]])
def test_a_file_cut_off_or_too_long_is_refused_when_it_is_opened(change: Callable[[bytes], bytes], path: Path) -> None:
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(FormatError, match=r"small\.densray"):
        read_space(path)


def test_offsets_and_index_that_lie_give_no_wrong_word(path: Path, space: WordSpace) -> None:
    def damage(tensor: str, place: int, value: int) -> WordSpace:
        data = bytearray(whole)
        length = int.from_bytes(data[:8], "little")
        entry = json.loads(data[8 : 8 + length])[tensor]
        size = 8 if entry["dtype"] == "I64" else 4
        begin = 8 + length + entry["data_offsets"][0] + size * place
        data[begin : begin + size] = value.to_bytes(size, "little", signed=value < 0)
        path.unlink()
        path.write_bytes(data)
        return read_space(path)

    whole = path.read_bytes()
    for value in (-1, 1 << 62):
        opened = damage("word_offsets", 7, value)
        for ask in (list, lambda words: words[6]):
            with pytest.raises(FormatError, match=r"word [67] is damaged"):
                ask(opened.words)
    opened = damage("index_rows", 0, 4_000_000_000)
    assert opened.locate(["w5"]).tolist() == [9]
    for ask in (lambda: opened.locate(space.words), lambda: "missing" in opened):
        with pytest.raises(FormatError, match="index are damaged"):
            ask()


def test_damaged_words_are_an_error_when_they_are_asked_for(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data.replace("naïve".encode(), b"na\xff\xffve"))
    with pytest.raises(DensRayError, match="word 3 is damaged"):
        list(read_space(path).words)


def test_equal_spaces_give_equal_bytes(space: WordSpace, tmp_path: Path) -> None:
    one, two = (write_space(space, tmp_path / f"{name}.densray") for name in "ab")
    assert one.read_bytes() == two.read_bytes()


def test_any_safetensors_reader_opens_the_file(path: Path, space: WordSpace) -> None:
    library = pytest.importorskip("safetensors")
    with library.safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no mapping)
    assert (metadata["format"], metadata["format_version"], metadata["name"]) == ("densray-space", "1", "small")
    np.testing.assert_array_equal(tensors["vectors"], space.vectors)
    text, ends = tensors["words"].tobytes(), tensors["word_offsets"].tolist()
    assert [text[begin:end].decode() for begin, end in pairwise(ends)] == list(space.words)
    assert sorted(tensors["index_rows"].tolist()) == list(range(len(space)))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_what_a_safetensors_writer_saves_in_other_precision_is_read(
    dtype: str, path: Path, space: WordSpace, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    library = pytest.importorskip("safetensors.torch")
    tensors = library.load_file(path)
    with pytest.importorskip("safetensors").safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    tensors["vectors"] = tensors["vectors"].to(getattr(torch, dtype))
    other = tmp_path / "other.densray"
    library.save_file(tensors, other, metadata)
    opened = read_space(other)
    assert isinstance(opened.vectors.base, np.memmap) == (dtype == "float32")
    np.testing.assert_array_equal(opened.vectors, tensors["vectors"].to(torch.float32).numpy())
    assert opened.locate(space.words).tolist() == list(range(len(space)))
    assert list(read_space(other, limit=3).words) == list(space.words)[:3]


def test_the_endings_densray_and_safetensors_give_one_file(path: Path, space: WordSpace, tmp_path: Path) -> None:
    assert write_space(space, tmp_path / "small.safetensors").read_bytes() == path.read_bytes()
    checked = read_space(path, format="safetensors")  # row by row into memory
    assert not isinstance(checked.vectors.base, np.memmap)
    assert checked.fingerprint() == space.fingerprint()


def test_files_of_version_one_keep_opening() -> None:
    path = FILES / "version-1.densray"
    verify_space(path)
    opened = read_space(path)
    assert list(opened.words) == ["good", "bad", "new york", "naïve"]
    np.testing.assert_array_equal(opened.vectors, [[1, 0.5], [-1, 0.25], [0, 3], [0.125, -2]])
    assert opened.name == "version one"
