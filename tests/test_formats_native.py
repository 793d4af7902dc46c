"""The native format: opened in constant time, looked up on disk, and not believed when it is damaged."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest

from densray.errors import DensRayError, FormatError, UnknownWordError
from densray.formats import check_native, read_space, write_space
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


def test_words_with_the_same_hash_are_told_apart(path: Path, space: WordSpace) -> None:
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
    check_native(path)
    data = bytearray(path.read_bytes())
    for place in (4096 + 100, len(data) - 1):
        damaged = bytearray(data)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"small\.densray: .*digest"):
            check_native(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"format_version": 1', b'"format_version": 9', "version 9; this densray reads version 1"),
        (b'"rows": 2000', b'"rows": 9000', "cut off or damaged"),
        (b'"width": 8', b'"width": 0', "numbers are declared"),
        (b'"rows": 2000', b'"rows": true', "whole numbers"),
        (b'"rows": 2000', b'"rows": ????', "header is damaged"),
    ],
)
def test_a_header_that_lies_is_named(old: bytes, new: bytes, message: str, path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(FormatError, match=message):
        read_space(path)


def test_damaged_words_are_an_error_when_they_are_asked_for(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data.replace("naïve".encode(), b"na\xff\xffve"))
    with pytest.raises(DensRayError, match="word 3 is damaged"):
        list(read_space(path).words)


def test_equal_spaces_give_equal_bytes(space: WordSpace, tmp_path: Path) -> None:
    one, two = (write_space(space, tmp_path / f"{name}.densray") for name in "ab")
    assert one.read_bytes() == two.read_bytes()


def test_files_of_version_one_keep_opening() -> None:
    path = FILES / "version-1.densray"
    check_native(path)
    opened = read_space(path)
    assert list(opened.words) == ["good", "bad", "new york", "naïve"]
    np.testing.assert_array_equal(opened.vectors, [[1, 0.5], [-1, 0.25], [0, 3], [0.125, -2]])
    assert opened.name == "version one"
