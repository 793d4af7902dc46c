"""What is wrong with a file is said with its name, the line or byte, and the text found there."""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from densray.errors import DensRayError, FormatError, SpaceError
from densray.formats import check_native, read_space, rewrite, write_space
from densray.space import WordSpace

BINARY = b"2 3\na " + np.float32([1, 2, 3]).tobytes() + b"b " + np.float32([4, 5, 6]).tobytes()


def npy(array: np.ndarray, **options: bool) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"empty"),
        (b" \n\n", r"empty but for blanks"),
        (b"\x00\x01\x02\x03garbage", r"byte 0: .* begins no format"),
        (b"3 2\na 1 2\nb 3 4\n", r"line 4: the header says 3 words, the file ends after 2"),
        (b"1 2\na 1 2\nb 3 4\n", r"line 3: the header says 1 words, and more lines follow"),
        (b"999999999999 300\na 1 2\n", r"line 1: .* at least 599,999,999,999,400 bytes; the file has"),
        (b"2 999999999999\na 1 2\n", r"line 1: .*numbers are declared"),
        (b"0 3\n", r"line 1: 0 words"),
        (b"2 3\na 7 1 2 3\n8 1 2\n", r"line 2 \(byte 4\): more than 3 numbers"),  # numbers right in all, and no words
        (b"3 1\n1984 5\n6 7 8\n9\n", r"line 3 \(byte 11\): more than 1 numbers"),
        (b"2 3\na 1 2 3\nb 1 2\n", r"line 3 \(byte 12\): 2 numbers where 3 are needed \('b 1 2'\)"),
        (b"2 3\na 1 2 3\nb 1 2 3 4\n", r"line 3 \(byte 12\): more than 3 numbers.*'b 1 2 3 4'"),
        (b"2 3\na 1 2 3\nb 1 x 3\n", r"line 3 \(byte 12\): 'x' is not a number"),
        (b"a 1 2 3\nb 1 2 3\nc 1 2\n", r"line 3 \(byte 16\): 2 numbers where 3 are needed"),
        (b"2 2\na 1 2\n\xff\xfe 3 4\n", r"line 3 \(byte 10\): b'\\xff\\xfe' is not UTF-8.*latin-1"),
        (b"2 2\na 1 2\nb nan 4\n", r"line 3: the vector of 'b' has the number nan"),
        (b"2 2\na 1 2\nb 3 -inf\n", r"line 3: the vector of 'b' has the number -inf"),
        (b"2 2\na 1 2\nb 3 1e99\n", r"line 3: .*beyond float32"),
        (b"2 2\na 1 2\na 3 4\n", r"line 3: the word 'a' comes a second time"),
        (BINARY[:-2], r"byte 30: the file ends within row 2 of 2"),
        (BINARY + b"c ", r"byte 32: the header says 2 words, and more bytes follow \(b'c '\)"),
        (BINARY.replace(b"b ", b"a "), r"byte 18: the word 'a' comes a second time"),
        (BINARY.replace(b"b ", b"\xff "), r"byte 18 \(row 2\): b'\\xff' is not UTF-8"),
        (BINARY[:6] + np.float32([1, np.nan, 3]).tobytes() + BINARY[18:], r"byte 4: the vector of 'a' .* nan"),
        (b"99999999999 3\n" + BINARY[4:], r"cut off, or the header is wrong"),
        (b"2 99999999\n" + BINARY[4:], r"numbers are declared"),
        (pickle.dumps({"a": [1.0]}), r"a Python pickle .*gensim"),
        (b"\xba\x16\x4f\x2f\x0c\x00\x00\x00", r"fastText model"),
        (npy(np.array([{"a": 1}], dtype=object), allow_pickle=True), r"pickled Python objects"),
        (npy(np.zeros((2, 3), np.float32)), r"holds 2 vectors and no words"),
        (npy(np.zeros(3)), r"shape \(3,\)"),
        (b"\x1f\x8b\x08\x00damaged", r"gzip data are damaged"),
        (b"PK\x03\x04 damaged", r"damaged zip archive"),
        (b"PAR1\x15 damaged PAR1", r"parquet data are damaged"),
        ((60).to_bytes(8, "little") + b'{"__metadata__": {"format": "densray-space"}}'.ljust(60), r"version None"),
        ((200).to_bytes(8, "little") + b'{"vectors": 3}', r"byte 0: a header of 200 bytes is declared"),
        ((14).to_bytes(8, "little") + b'{"vectors": 3}', r"byte 8: the safetensors header is damaged"),
    ],
)  # fmt: skip
def test_message_names_file_place_and_text(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "given.vec"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message) as caught:
        read_space(path)
    assert str(caught.value).startswith("given.vec")
    assert "\n" not in str(caught.value)


def test_what_is_not_a_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="No such file"):
        read_space(tmp_path / "missing.vec")
    with pytest.raises(FormatError, match="is a folder"):
        read_space(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "at least 1"),
        ({"words": "text"}, "list of words"),
        ({"words": []}, "words is empty"),
        ({"format": "wrod2vec-text"}, "Did you mean 'word2vec-text'"),
        ({"bad_rows": "drop"}, "bad_rows"),
        ({"encoding": "no-such"}, "encoding"),
        ({"encoding": "utf-16"}, "UTF-8"),
        ({"errors": "no-such"}, "errors"),
        ({"words": ["missing"]}, "none of the 1 words"),
        ({"format": "glove", "words": ["é"]}, "none of the 1 words"),
    ],
)
def test_options_that_make_no_sense_are_named(options: dict[str, object], message: str, tmp_path: Path) -> None:
    path = tmp_path / "given.vec"
    path.write_bytes(b"a 1 2\nb 3 4\n")
    with pytest.raises(DensRayError, match=message):
        read_space(path, **options)  # type: ignore[arg-type]


def test_bad_rows_are_left_out_on_request_with_one_warning(tmp_path: Path) -> None:
    path = tmp_path / "given.txt"
    path.write_bytes(b"7 2\na 1 2\nb 1\na 9 9\nc inf 2\n\xff 3 4\nd 1 2 3\ne 5 6\n")
    with pytest.warns(UserWarning, match=r"5 bad rows were left out.*line 3") as caught:
        space = read_space(path, bad_rows="skip")
    assert len(caught) == 1
    assert list(space.words) == ["a", "e"]
    np.testing.assert_array_equal(space.vectors, [[1, 2], [5, 6]])


def test_zero_vectors_are_kept_and_normalization_decides(tmp_path: Path) -> None:
    path = tmp_path / "given.txt"
    path.write_bytes(b"2 2\na 0 0\nb 3 4\n")
    space = read_space(path)
    assert not space["a"].any()
    with pytest.raises(DensRayError, match="zero"):
        space.normalized()


def test_other_encodings_are_read_by_name(tmp_path: Path) -> None:
    path = tmp_path / "given.txt"
    path.write_bytes("2 2\nnaïve 1 2\ncafé 3 4\n".encode("latin-1"))
    assert list(read_space(path, encoding="latin-1").words) == ["naïve", "café"]
    assert list(read_space(path, errors="replace").words) == ["na\ufffdve", "caf\ufffd"]
    assert list(read_space(path, encoding="latin-1", words=["café"]).words) == ["café"]


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf2 2\r\na 1 2\r\nb 3 4\r\n",
        b"2 2\na 1 2 \nb 3 4 \n",
        b"2 2\na 1 2\nb 3 4",
        b"2 2\n\na 1 2\n\nb 3 4\n\n\n",
        b"2\t2\na\t1\t2\nb\t3\t4\n",
        b"a 1 2\r\nb 3 4\r\n",
        b"a 1 2\t \nb 3 4  \n",
        b"a\t+1.0\t2.\nb\t3e0\t.4E1\n",
    ],
)
def test_blanks_line_ends_and_tabs_do_not_matter(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_bytes(content)
    space = read_space(path)
    assert list(space.words) == ["a", "b"]
    np.testing.assert_array_equal(space.vectors, [[1, 2], [3, 4]])


def test_words_that_are_numbers_stay_words(tmp_path: Path) -> None:
    (tmp_path / "numbers.txt").write_bytes(b"1984 1 2\n-3e5 3 4\nnan 5 6\n\x01 7 8\n")
    found = read_space(tmp_path / "numbers.txt")
    assert list(found.words) == ["1984", "-3e5", "nan", "\x01"]
    np.testing.assert_array_equal(found.vectors, [[1, 2], [3, 4], [5, 6], [7, 8]])


@pytest.mark.parametrize("header", [b"1000000000 1000\n", b"10 1000000\n", b"3000000 300\n"])
@pytest.mark.parametrize("body", [b"a 1 2 3\n", b"a " + bytes(12)])
def test_no_memory_is_taken_on_the_word_of_a_compressed_header(header: bytes, body: bytes, tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "given.gz"
    path.write_bytes(gzip.compress(header + body))
    tracemalloc.start()
    with pytest.raises(FormatError):
        read_space(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20


def test_a_bomb_costs_no_more_than_what_is_asked_of_it(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "bomb.gz"
    rows = b"".join(b"w%d" % row + b" 0.5" * 10 + b"\n" for row in range(20))
    path.write_bytes(gzip.compress(rows + b"x 1" + b" 1" * 40_000_000, 1))
    tracemalloc.start()
    assert len(read_space(path, limit=20)) == 20
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20


def test_members_of_an_archive_are_read_in_place(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "given.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../outside.txt", "1 2\na 1 2\n")
    assert list(read_space(path).words) == ["a"]
    assert [found.name for found in tmp_path.rglob("*")] == ["folder", "given.zip"]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("glove.txt", "b 3 4\n")
    with pytest.raises(FormatError, match=r"2 files .*outside.txt.*member="):
        read_space(path)
    assert list(read_space(path, member="glove.txt").words) == ["b"]
    with pytest.raises(FormatError, match="no member 'other'"):
        read_space(path, member="other")


def test_a_words_file_must_have_one_word_per_vector(tmp_path: Path) -> None:
    path = tmp_path / "given.npy"
    np.save(path, np.eye(3))
    (tmp_path / "given.words.txt").write_text("a\nb\n")
    with pytest.raises(FormatError, match=r"given.words.txt, line 2: 2 words for the 3 vectors"):
        read_space(path)
    (tmp_path / "other").write_text("a\r\nb\r\nc")
    assert list(read_space(path, words_file=tmp_path / "other").words) == ["a", "b", "c"]


def test_nothing_is_overwritten_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "space.txt"
    path.write_text("precious")
    space = WordSpace(["a"], [[1.0]])
    with pytest.raises(DensRayError, match="overwrite=True"):
        write_space(space, path)
    assert path.read_text() == "precious"
    write_space(space, path, overwrite=True)
    assert list(read_space(path).words) == ["a"]


def test_a_space_can_replace_the_file_it_comes_from(tmp_path: Path) -> None:
    path = write_space(WordSpace(["a", "b"], [[1, 2], [3, 4]]), tmp_path / "space.densray")
    mapped = read_space(path)
    rewrite(path, path, change=lambda words, block: block * 2, overwrite=True)
    np.testing.assert_array_equal(read_space(path).vectors, [[2, 4], [6, 8]])
    np.testing.assert_array_equal(mapped.vectors, [[1, 2], [3, 4]])
    check_native(path)


@pytest.mark.parametrize("ending", [".txt", ".bin", ".npy", ".npz", ".safetensors", ".parquet", ".densray", ".vec.gz"])
def test_a_failure_in_the_middle_leaves_the_old_file_whole(ending: str, tmp_path: Path) -> None:
    source = write_space(WordSpace([f"w{row}" for row in range(6_000)], np.ones((6_000, 300))), tmp_path / "source.txt")
    old = write_space(WordSpace(["old"], [[1.0]]), tmp_path / f"target{ending}")
    before = old.read_bytes()
    files = sorted(tmp_path.iterdir())

    def fail_late(words: object, block: np.ndarray) -> np.ndarray:
        if "w5000" in list(words):  # type: ignore[call-overload]
            raise OSError(28, "No space left on device")
        return block

    with pytest.raises(DensRayError, match="No space left on device"):
        rewrite(source, old, change=fail_late, overwrite=True)
    assert old.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == files


def test_a_kill_in_the_middle_leaves_the_old_file_whole(tmp_path: Path) -> None:
    old = write_space(WordSpace(["old"], [[1.0]]), tmp_path / "target.densray")
    before = old.read_bytes()
    program = f"""
        import os, signal, sys
        import numpy as np
        from densray.formats import write_space
        from densray.space import WordSpace
        space = WordSpace([str(row) for row in range(50_000)], np.ones((50_000, 50)))
        def die(done, rows):
            if done > 20_000:
                os.kill(os.getpid(), signal.SIGKILL)
        write_space(space, {str(old)!r}, overwrite=True, progress=die)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    assert old.read_bytes() == before


def test_words_no_format_can_hold_are_refused_before_anything_is_lost(tmp_path: Path) -> None:
    lone = WordSpace(["a", "\ud800"], [[1.0], [2.0]])
    for ending in (".txt", ".bin", ".npz", ".npy", ".safetensors", ".parquet", ".densray"):
        with pytest.raises(FormatError):
            write_space(lone, tmp_path / f"space{ending}")
    assert not list(tmp_path.iterdir())


def test_an_unknown_ending_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"\.densray.*name the format"):
        write_space(WordSpace(["a"], [[1.0]]), tmp_path / "space.xyz")
    with pytest.raises(SpaceError):
        read_space(write_space(WordSpace(["a"], [[1.0]]), tmp_path / "space.densray"), words=["b"])
