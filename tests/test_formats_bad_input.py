"""What is wrong with a file is said with its name, the line or byte, and the text found there."""

from __future__ import annotations

import io
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import time
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import save_file

from densray import Axis, load_lexicon, load_space
from densray._files import ArchiveKind, read_archive, write_archive
from densray.errors import DensRayError, FormatError, PersistenceError, SpaceError, VectorError
from densray.formats import read_space, rewrite, verify_space, write_space
from densray.space import WordSpace

BINARY = b"2 3\na " + np.float32([1, 2, 3]).tobytes() + b"b " + np.float32([4, 5, 6]).tobytes()


def npy(array: np.ndarray, **options: bool) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


@pytest.mark.parametrize("ending", ["npy", "npz", "parquet", "safetensors"])
def test_a_vector_that_float32_rounds_to_zero_is_refused(ending: str, tmp_path: Path) -> None:
    words, path = ["a", "b", "c"], tmp_path / f"small.{ending}"

    def write(vectors: np.ndarray) -> None:
        (tmp_path / "words.txt").write_text("a\nb\nc\n")
        if ending == "npy":
            np.save(path, vectors)
        elif ending == "npz":
            np.savez(path, words=words, vectors=vectors)
        elif ending == "parquet":
            pl.DataFrame({"word": words, "vector": vectors}).write_parquet(path)
        else:
            save_file({"vectors": vectors}, path)

    small = np.array([[1.0, 2.0], [0.0, 0.0], [0.0, 1e-60]])
    write(small)
    with pytest.raises(FormatError, match=rf"small.{ending}, row 3: the vector has no number above 1e-60.*Scale"):
        read_space(path)
    with pytest.raises(VectorError, match=r"vector of 'c' \(row 2\) has no number above 1e-60.*Scale"):
        WordSpace(words, small)
    write(np.where(small < 1e-50, 0, small))
    assert not read_space(path)["c"].any(), "a vector of zeros stays"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"empty"),
        (b" \n\n", r"empty except for white space"),
        (b"\x00\x01\x02\x03garbage", r"byte 0: .* is not a known format"),
        (b"3 2\na 1 2\nb 3 4\n", r"line 4: the header says 3 words, the file ends after 2"),
        (b"1 2\na 1 2\nb 3 4\n", r"line 3: the header says 1 words, and more lines follow"),
        (b"999999999999 300\na 1 2\n", r"line 1: .* at least 599,999,999,999,400 bytes; the file has"),
        (b"2 999999999999\na 1 2\n", r"line 1: .*numbers are declared"),
        (b"0 3\n", r"line 1: 0 words"),
        (b"11 7", r"line 1: the header says 11 words of 7 numbers"),  # cut off before the first row
        (b"2 3\na 7 1 2 3\n8 1 2\n", r"line 2 \(byte 4\): more than 3 numbers"),  # numbers right in all, and no words
        (b"3 1\n1984 5\n6 7 8\n9\n", r"line 3 \(byte 11\): more than 1 numbers"),
        (b"2 3\na 1 2 3\nb 1 2\n", r"line 3 \(byte 12\): 2 numbers where 3 are needed \('b 1 2'\)"),
        (b"2 3\na 1 2 3\nb 1 2 3 4\n", r"line 3 \(byte 12\): more than 3 numbers.*'b 1 2 3 4'"),
        (b"2 3\na 1 2 3\nb 1 x 3\n", r"line 3 \(byte 12\): 'x' is not a number"),
        (b"a 1 2 3\nb 1 2 3\nc 1 2\n", r"line 3 \(byte 16\): 2 numbers where 3 are needed"),
        (b"2 2\na 1 2\n\xff\xfe 3 4\n", r"line 3 \(byte 10\): b'\\xff\\xfe' is not UTF-8.*latin-1"),
        (b"the 1 2 3\nof 4 5 6\nand 7 nan 9\n", r"line 3: the vector of 'and' has the number nan"),
        (b"the 1 2 3\nof 4 5 6\nand 7 0.5 9\n", r"line 1: 'the 1 2 3' seems to name columns"),
        (b"2 2\na 1 2\nb nan 4\n", r"line 3: the vector of 'b' has the number nan"),
        (b"2 2\na 1 2\nb 3 -inf\n", r"line 3: the vector of 'b' has the number -inf"),
        (b"2 2\na 1 2\nb 3 1e99\n", r"line 3: .*beyond float32"),
        (b"2 2\na 1 2\na 3 4\n", r"line 3: the word 'a' is repeated"),
        (BINARY[:-2], r"byte 30: the file ends within row 2 of 2"),
        (BINARY + b"c ", r"byte 32: the header says 2 words, and more bytes follow \(b'c '\)"),
        (BINARY.replace(b"b ", b"a "), r"byte 18: the word 'a' is repeated"),
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


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
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


def some_text() -> bytes:
    vectors = np.random.default_rng(0).normal(size=(3_000, 8)).round(4)
    return b"".join(
        b"w%d " % row + b" ".join(b"%.4f" % x for x in vector) + b"\n" for row, vector in enumerate(vectors)
    )


@pytest.mark.parametrize("options", [{}, {"write_checksum": True}, {"write_content_size": False}, {"level": -5}])
def test_a_zstd_file_cut_anywhere_is_refused(options: dict[str, int], tmp_path: Path) -> None:
    import zstandard

    text, path = some_text(), tmp_path / "cut.zst"
    pack = zstandard.ZstdCompressor(**options).compress
    whole = pack(text[:90_000]) + b"\x50\x2a\x4d\x18\x03\0\0\0abc" + pack(text[90_000:])  # with a skippable frame
    path.write_bytes(whole)
    assert len(read_space(path)) == 3_000
    boundary = {len(pack(text[:90_000])), len(pack(text[:90_000])) + 11}  # a whole file, of fewer words
    for cut in {*np.random.default_rng(1).integers(1, len(whole), 40).tolist(), *range(len(whole) - 6, len(whole))}:
        path.write_bytes(whole[:cut])
        if cut not in boundary:
            with pytest.raises(FormatError, match=r"cut\.zst"):
                read_space(path)


@pytest.mark.parametrize("module", ["bz2", "gzip"])
def test_a_second_stream_with_a_damaged_beginning_is_refused(module: str, tmp_path: Path) -> None:
    library = pytest.importorskip(module)
    text, path = some_text(), tmp_path / f"two.{module}"
    first = library.compress(text[:90_000])
    whole = first + library.compress(text[90_000:])
    path.write_bytes(whole)
    assert len(read_space(path)) == 3_000
    for place in range(len(first), len(first) + 10):
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        if module == "gzip" and place - len(first) > 2:
            continue  # time and system of the header: no number depends on them
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match="damaged or cut off"):
            read_space(path)


def test_every_flipped_bit_of_a_compressed_file_of_ours_is_noticed(tmp_path: Path) -> None:
    space = WordSpace([f"w{row}" for row in range(60)], np.random.default_rng(2).normal(size=(60, 4)))
    for packing in (".gz", ".bz2", ".zst", ".zip"):
        path = write_space(space, tmp_path / f"s.bin{packing}")
        whole = path.read_bytes()
        for place in np.random.default_rng(3).integers(0, len(whole), 60).tolist():
            damaged = bytearray(whole)
            damaged[place] ^= 1 << place % 8
            path.write_bytes(damaged)
            try:
                found = read_space(path)
            except FormatError:
                continue
            np.testing.assert_array_equal(found.vectors, space.vectors)
            assert list(found.words) == list(space.words)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_devices_and_pipes_are_refused_at_once(tmp_path: Path) -> None:
    from densray import Axis, Lexicon
    from densray._files import kind_of

    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((Path("/dev/full"), "a device"), (tmp_path / "pipe", "a pipe")):
        with pytest.raises(FormatError, match=f"is {kind}"):
            read_space(path)
        with pytest.raises(DensRayError, match=f"this is {kind}, not a file"):
            Lexicon.read(path)
        with pytest.raises(DensRayError, match=f"is {kind}"):
            Axis.load(path)
        assert kind_of(path) is None


@pytest.mark.slow
@pytest.mark.parametrize("blank", [b"\n", b" \n", b"\r\n"])
def test_a_small_file_of_very_many_blank_lines_is_refused_soon(blank: bytes, tmp_path: Path) -> None:
    import zstandard

    path = tmp_path / "blank.zst"
    path.write_bytes(zstandard.compress(b"a 1 2\n" + blank * (100_000_000 // len(blank)) + b"b 1 2\n"))
    start = time.process_time()
    with pytest.raises(FormatError, match="blank lines"):
        read_space(path)
    assert time.process_time() - start < 10


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
    verify_space(path)


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


# A matrix and its words are two files


def test_a_matrix_with_the_words_of_another_is_refused(tmp_path: Path) -> None:
    path = write_space(WordSpace(["a", "b"], np.eye(2)), tmp_path / "pair.npy")
    np.testing.assert_array_equal(np.load(path), np.eye(2))
    np.testing.assert_array_equal(np.load(path, mmap_mode="r"), np.eye(2))
    words = tmp_path / "pair.words.txt"
    assert words.read_text() == "a\nb\n"
    words.write_text("b\na\n")
    for limit in (None, 1):
        with pytest.raises(FormatError, match=r"pair.words.txt does not hold the words that pair.npy was written with"):
            read_space(path, limit=limit)
    assert list(read_space(path, words_file=words).words) == ["b", "a"]  # on request
    words.unlink()
    with pytest.raises(FormatError, match=r"pair\.words\.txt, is missing"):
        read_space(path)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_writer_of_a_matrix_that_stops_between_renames_leaves_the_old_pair_or_the_new(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_space(WordSpace(["a", "b"], np.eye(2)), tmp_path / "pair.npy")
    renames, replace = [], os.replace

    def replace_some(source: object, target: object) -> None:
        renames.append(target)
        if len(renames) >= step:
            raise KeyboardInterrupt
        replace(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", replace_some)
    with pytest.raises(KeyboardInterrupt):
        write_space(WordSpace(["c", "d"], 2 * np.eye(2)), path, overwrite=True)
    monkeypatch.undo()
    found = read_space(path)
    assert (list(found.words), found.vectors[0, 0]) == ((["a", "b"], 1.0) if step < 3 else (["c", "d"], 2.0))
    write_space(WordSpace(["e"], [[1.0]]), path, overwrite=True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["pair.npy", "pair.words.txt"]


def test_a_matrix_behind_a_symbolic_link_finds_its_words(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "link.npy").symlink_to(tmp_path / "inner" / "pair.npy")
    write_space(WordSpace(["a"], [[1.0]]), tmp_path / "link.npy", overwrite=True)
    assert sorted(each.name for each in (tmp_path / "inner").iterdir()) == ["pair.npy", "pair.words.txt"]
    assert list(read_space(tmp_path / "link.npy").words) == ["a"]


@pytest.mark.parametrize("kind", ["glove", "word2vec-text", "fasttext"])
@pytest.mark.parametrize("word", ["PK\x03\x04", "%PDF", "<html", "x", "BZh91AY&SY"])
def test_a_file_that_would_be_taken_for_another_is_not_written(kind: str, word: str, tmp_path: Path) -> None:
    space = WordSpace([word, "b"], np.eye(2))
    if kind == "glove" and word != "x":
        with pytest.raises(FormatError, match=r"would be detected as another format\. Write native"):
            write_space(space, tmp_path / "s.txt", format=kind)
        assert not list(tmp_path.iterdir())
    else:
        assert list(read_space(write_space(space, tmp_path / "s.txt", format=kind)).words) == [word, "b"]


@pytest.mark.parametrize("ending", [".txt", ".bin", ".npy", ".npz", ".safetensors", ".parquet", ".densray"])
def test_numbers_that_are_not_finite_are_not_written(ending: str, tmp_path: Path) -> None:
    source = write_space(WordSpace(["a", "b"], np.eye(2)), tmp_path / "source.densray")
    with pytest.raises(FormatError, match="The vector of 'b' has the number inf"):
        rewrite(source, tmp_path / f"s{ending}", change=lambda words, block: block + np.float32([[0], [np.inf]]))
    assert [each.name for each in tmp_path.iterdir()] == ["source.densray"]


def test_a_damaged_page_of_a_parquet_file_takes_no_memory_on_its_word(tmp_path: Path) -> None:
    space = WordSpace([f"w{row}" for row in range(40)], np.random.default_rng(0).normal(size=(40, 3)))
    path = write_space(space, tmp_path / "s.parquet")
    whole = path.read_bytes()
    refused = 0
    for place in range(4, 44):  # the header of the first page: its sizes, and how many values it has
        for value in (0, 0x39, 0x7F, 0xFF):
            path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
            try:
                found = read_space(path)
            except FormatError:
                refused += 1
                continue
            np.testing.assert_array_equal(found.vectors, space.vectors)
    assert refused > 40


def test_a_footer_that_lies_about_rows_is_refused(tmp_path: Path) -> None:
    path = write_space(WordSpace(["a", "b"], np.eye(2)), tmp_path / "s.parquet")
    whole = path.read_bytes()
    for content in (whole[:-9] + whole[-8:], whole[:-8] + b"\xff\xff\xff\x7fPAR1", whole[:40] + whole[60:]):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r"s\.parquet: the parquet data are damaged"):
            read_space(path)


@pytest.mark.parametrize("prefix", ["", "dim_"])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    "values",
    [["1", "2", "NA"], [True, False, True], [None] * 3, [b"1", b"2", b"3"], [{"a": 1}] * 3, [[1.0]] * 3, [["1"]] * 3],
    ids=["text", "truth", "null", "bytes", "struct", "list", "list of texts"],
)
def test_a_numbered_column_that_does_not_hold_numbers_is_named(
    values: list[object], place: int, prefix: str, tmp_path: Path
) -> None:
    columns: dict[str, list[object]] = {f"{prefix}{axis}": [float(axis), 1.5, 2.5] for axis in range(3)}
    columns[f"{prefix}{place}"] = values
    pl.DataFrame({"word": ["a", "b", "c"], **columns}).write_parquet(tmp_path / "p.parquet")
    with pytest.raises(FormatError, match=rf"p\.parquet: the column '{prefix}{place}' .* not numbers"):
        read_space(tmp_path / "p.parquet")


def test_a_numbered_column_may_hold_the_words(tmp_path: Path) -> None:
    pl.DataFrame({"0": ["a", "b"], "1": [1.0, 2.0], "2": [3.0, 4.0]}).write_parquet(tmp_path / "p.parquet")
    found = read_space(tmp_path / "p.parquet")
    assert list(found.words) == ["a", "b"]
    np.testing.assert_array_equal(found.vectors, [[1, 3], [2, 4]])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("numbers", ["0,5 1,2 3,4", "n/a n/a n/a", "0.5;1.2;3.4", "1/2 1/3 1/4", "½ ⅓ ¼", "− − −"])
def test_text_with_a_header_whose_numbers_are_not_plain_is_not_read_as_binary(
    numbers: str, end: str, tmp_path: Path
) -> None:
    path = tmp_path / "given.vec"
    path.write_bytes(end.join(["3 3", *(f"{word} {numbers}" for word in ("king", "queen", "man")), ""]).encode())
    with pytest.raises(FormatError, match=r"given\.vec, line [12]"):
        read_space(path)
    lines = [f"naïve{row} {numbers}" for row in range(400)]
    path.write_bytes(end.join(["400 3", *lines, ""]).encode("latin-1", "replace"))
    with pytest.raises(FormatError, match=r"given\.vec, line 2"):
        read_space(path, encoding="latin-1")


def test_the_number_that_is_not_plain_is_named(tmp_path: Path) -> None:
    path = tmp_path / "given.vec"
    path.write_bytes(b"2 3\nking 0,5 1,2 3,4\nqueen 0,1 0,2 0,3\n")
    with pytest.raises(FormatError, match=r"line 2 .*'0,5' is not a number"):
        read_space(path)


@pytest.mark.parametrize("width", [1, 2, 5])
def test_tiny_binary_files_are_still_read_as_binary(width: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(width)
    for _ in range(50):
        space = WordSpace(["a", "ß", "日本"], rng.normal(size=(3, width)).astype(np.float32))
        path = write_space(space, tmp_path / "s.bin", overwrite=True)
        np.testing.assert_array_equal(read_space(path).vectors, space.vectors)


@pytest.mark.parametrize("ending", [".vec.zip", ".npz"])
def test_a_zip_of_a_later_version_is_a_named_error(ending: str, tmp_path: Path) -> None:
    path = write_space(WordSpace(["a", "b"], np.eye(2)), tmp_path / f"s{ending}")
    content = bytearray(path.read_bytes())
    content[content.rfind(b"PK\1\2") + 6] = 70  # the version that is needed to read it, 7.0
    path.write_bytes(content)
    for read in (read_space, load_space, load_lexicon, Axis.load, verify_space):
        with pytest.raises(DensRayError, match=re.escape(path.name)):
            read(path)


@pytest.mark.parametrize(
    "line",
    ["b 4 5 6c 7 8 9", "b 4 5 6 c 7 8 9", "new york 4 5 -.6new jersey 7 8 9", "b 4  5 6c\t7 8 9", "b 4 5 6日本 7 8 9"],
)
@pytest.mark.parametrize("options", [{}, {"limit": 3}, {"words": ["a", "b", "new york"]}])
def test_two_rows_in_one_line_are_refused(line: str, options: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "joined.txt"
    path.write_text(f"a 1 2 3\n{line}\nd 1 2 3\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"joined\.txt, line 2 \(byte 8\): two rows in one line"):
        read_space(path, **options)  # type: ignore[arg-type]


def test_phrases_with_numbers_in_them_are_words(tmp_path: Path) -> None:
    phrases = ["new york", "at 1 pm", "3 d printing", "2 of 3 people", "top 10 2nd", "the 24 7 store"]
    path = tmp_path / "phrases.txt"
    path.write_text("".join(f"{word} 1 2 3 4\n" for word in ["a", "b", "c", "d", "e", "f", "g", "h", *phrases]))
    assert list(read_space(path).words)[8:] == phrases


def test_a_word_with_a_vector_in_it_is_not_written_as_text(tmp_path: Path) -> None:
    space = WordSpace(["a", "b 1 2c"], np.eye(2))
    with pytest.raises(FormatError, match=r"'b 1 2c' contains 2 numbers in a row"):
        write_space(space, tmp_path / "s.txt")


@pytest.mark.parametrize(
    "form", ["{0},{1}", "{0}; {1}.5", "{0}|{1}", "{1},{0}", "{1};{0}", "   {1} {0}", "{1} {0}", "{1}. {0}", "{0},{1},N"]
)
def test_a_words_file_with_a_column_of_numbers_is_refused(form: str, tmp_path: Path) -> None:
    words = ["the", ",", "1984", "new york", "日本"]
    (tmp_path / "m.npy").write_bytes(npy(np.eye(5, dtype=np.float32)))
    lines = "".join(form.format(word, 10 - row) + "\n" for row, word in enumerate(words))
    (tmp_path / "m.words.txt").write_text(lines, encoding="utf-8")
    with pytest.raises(FormatError, match=r"m\.words\.txt, line 1: .* is more than one word"):
        read_space(tmp_path / "m.npy")


@pytest.mark.parametrize(
    "words",
    [["1,000", "2,500"], ["3 d", "new york"], ["a,b", "c,d"], ["1", "2"], [",", "10"], ["x,1", "y"], ["4", "a 4"]],
)
def test_words_with_numbers_and_marks_in_them_are_words(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "m.npy").write_bytes(npy(np.eye(2, dtype=np.float32)))
    (tmp_path / "m.words.txt").write_text("\n".join(words), encoding="utf-8")
    assert list(read_space(tmp_path / "m.npy").words) == words


@pytest.mark.parametrize("rows", [(2, 2), (2, 500), (500, 2), (300, 300)])
@pytest.mark.parametrize("ending", [".vec.zip", ".npz", ".parquet"])
def test_two_containers_joined_into_one_file_are_refused(ending: str, rows: tuple[int, int], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    parts = [
        write_space(
            WordSpace([f"{part}{row}" for row in range(count)], rng.normal(size=(count, 3))),
            tmp_path / f"{part}{ending}",
        ).read_bytes()
        for part, count in zip("ab", rows, strict=True)
    ]
    path = tmp_path / f"joined{ending}"
    for content in (b"".join(parts), b"".join([*parts, parts[0]])):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r"joined\..*, joined into one"):
            read_space(path)


@pytest.mark.parametrize("options", [{}, {"write_page_index": True}, {"version": "1.0", "use_dictionary": False}])
def test_joined_parquet_files_of_arrow_are_refused(options: dict[str, object], tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"word": ["a", "b"], "0": [1.0, 2.0], "1": [3.0, 4.0]}), path, **options)
    assert list(read_space(path).words) == ["a", "b"]
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(FormatError, match="joined into one"):
        read_space(path)


@pytest.mark.parametrize("size", [7, 50, 1000])
def test_a_dictionary_of_words_may_be_larger_than_its_row_groups(size: int, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    words = [f"w{number}" for number in range(200)]
    column = pa.DictionaryArray.from_arrays(np.arange(200, dtype="i4"), words)
    pq.write_table(pa.table({"word": column, "0": np.arange(200.0)}), tmp_path / "p.parquet", row_group_size=size)
    assert list(read_space(tmp_path / "p.parquet").words) == words


def test_a_saved_archive_joined_to_another_is_refused(tmp_path: Path) -> None:
    kind = ArchiveKind("densray-example", 1, "example", "Save it again.")
    write_archive(tmp_path / "a.npz", kind, {}, {"x": np.eye(2)}, overwrite=False)
    assert "x" in read_archive(tmp_path / "a.npz", kind)[1]
    (tmp_path / "a.npz").write_bytes((tmp_path / "a.npz").read_bytes() * 2)
    with pytest.raises(PersistenceError, match="joined into one"):
        read_archive(tmp_path / "a.npz", kind)


def test_big_endian_word2vec_is_refused_by_name(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(50, 10)).round(3)
    for order in "<", ">":
        rows = [b"w%d " % row + vector.astype(f"{order}f4").tobytes() for row, vector in enumerate(vectors)]
        path = tmp_path / f"{ord(order)}.bin"
        path.write_bytes(b"50 10\n" + b"".join(rows))
        if order == "<":
            np.testing.assert_array_equal(read_space(path).vectors, vectors.astype(np.float32))
        else:
            with pytest.raises(FormatError, match="big-endian"):
                read_space(path)
            with pytest.raises(FormatError, match="big-endian"):
                read_space(path, limit=3)


@pytest.mark.parametrize("ending", [".npz", ".vec.zip", ".txt.gz", ".txt.bz2", ".txt.zst", ".npy", ".parquet", ".bin"])
@pytest.mark.parametrize("junk", [b"junk", b"PK", b"\0" * 30])
def test_bytes_after_the_end_of_a_file_are_refused(tmp_path, ending, junk):
    path = tmp_path / f"space{ending}"
    write_space(WordSpace(["a", "b"], np.eye(2, dtype=np.float32)), path)
    path.write_bytes(path.read_bytes() + junk)
    if ending == ".txt.gz" and not junk.strip(b"\0"):
        assert list(read_space(path).words) == ["a", "b"]  # gzip allows zeros, which fill a block of a tape
    else:
        with pytest.raises(FormatError):
            read_space(path)


def test_a_zip_archive_with_a_comment_is_read(tmp_path):
    path = tmp_path / "space.vec.zip"
    write_space(WordSpace(["a", "b"], np.eye(2, dtype=np.float32)), path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"made by hand"
    assert list(read_space(path).words) == ["a", "b"]
    path.write_bytes(path.read_bytes() + b"junk")
    with pytest.raises(FormatError, match="joined into one"):
        read_space(path)


def test_bytes_after_the_end_of_a_saved_archive_are_refused(tmp_path):
    kind = ArchiveKind("densray-test", 1, "test", "Write it again.")
    write_archive(tmp_path / "a.npz", kind, {}, {"x": np.eye(2)}, overwrite=False)
    (tmp_path / "a.npz").write_bytes((tmp_path / "a.npz").read_bytes() + b"junk")
    with pytest.raises(PersistenceError, match="joined into one"):
        read_archive(tmp_path / "a.npz", kind)


def test_row_numbers_of_a_parquet_file_are_not_taken_for_words(tmp_path):
    columns = {f"d{number}": [0.1, 0.2, 0.3] for number in range(3)}
    pl.DataFrame({"index": ["0", "1", "2"], **columns}).write_parquet(tmp_path / "numbers.parquet")
    with pytest.raises(FormatError, match=r"'index', holds whole numbers"):
        read_space(tmp_path / "numbers.parquet")
    for name, words in (("word", ["0", "1", "2"]), ("index", ["0", "one", "2"])):
        pl.DataFrame({name: words, **columns}).write_parquet(tmp_path / "words.parquet")
        assert list(read_space(tmp_path / "words.parquet").words) == words


@pytest.mark.parametrize("line_end", [b"", b"\n"])
@pytest.mark.parametrize("phrase", ["Angela Merkel", "New York City", "the cat", "a bc defg", " x", "x  y", "Straße 7"])
@pytest.mark.parametrize("options", [{}, {"encoding": "latin-1"}, {"errors": "replace"}, {"bad_rows": "skip"}], ids=str)
def test_a_phrase_in_word2vec_binary_is_refused_with_every_option(
    phrase: str, line_end: bytes, options: dict[str, Any], tmp_path: Path
) -> None:
    X = np.random.default_rng(0).normal(size=(30, 50)).astype("<f4") / 5
    names = [f"word{row}" for row in range(30)]
    names[10] = phrase
    rows = [name.encode() + b" " + x.tobytes() + line_end for name, x in zip(names, X, strict=True)]
    (tmp_path / "phrases.bin").write_bytes(b"30 50\n" + b"".join(rows))
    with pytest.raises(FormatError, match=r"row 11\): text .*A word has a space in it") as caught:
        read_space(tmp_path / "phrases.bin", format="word2vec-binary", **options)
    assert "latin-1" not in str(caught.value)
    assert "skip" not in str(caught.value)


def test_a_control_character_in_word2vec_binary_is_a_sign_of_a_wrong_width(tmp_path: Path) -> None:
    X = np.ones((4, 6), dtype="<f4") / 3
    rows = [f"word{row} ".encode() + x.tobytes() for row, x in enumerate(X)]
    (tmp_path / "narrow.bin").write_bytes(b"4 5\n" + b"".join([*rows[:1], np.float32(1).tobytes(), *rows[1:]]))
    with pytest.raises(FormatError, match=r"row 2\): the word .* contains a control character.*the header is wrong"):
        read_space(tmp_path / "narrow.bin", format="word2vec-binary", encoding="latin-1")
