"""Whatever bytes a file holds: a space, or an error of our own family; and never memory on the word of a header."""

from __future__ import annotations

import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from densray.errors import DensRayError
from densray.formats import FORMATS, read_space, write_space
from densray.space import WordSpace
from foreign_files import read_lines_slowly
from format_files import ENDING, FILES

MEMORY = 64 << 20

fuzz = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], bytes]:
    """One small file of every format and compression, as bytes."""
    folder = tmp_path_factory.mktemp("written")
    vectors = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
    space = WordSpace(["the", "of", "naïve", "d'or", "#1", "a\xa0b", "x"], vectors)
    files = {}
    for kind, packing in FILES:
        path = write_space(space, folder / f"{kind}{packing.strip('.')}{ENDING[kind]}{packing}", format=kind)
        files[kind, packing] = path.read_bytes()
    return files


def read_whatever(path: Path, **options: object) -> None:
    """Read a file and everything in it; fail on any error that is not ours, and on too much memory."""
    error = path.name
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            space = read_space(path, **options)  # type: ignore[arg-type]
        assert len(list(space.words)) == len(space.vectors)
        assert space.words[0] in space
        assert space.vectors.dtype == np.float32
    except DensRayError as raised:
        error = str(raised)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MEMORY
    assert path.stem in error, error


damages = st.lists(
    st.tuples(
        st.sampled_from(["overwrite", "insert", "delete", "cut", "digit"]),
        st.floats(0, 1, exclude_max=True),
        st.one_of(
            st.binary(min_size=1, max_size=8),
            st.sampled_from([b" ", b"\n", b"nan ", b"\0" * 8, b"1e99", b"0", b"99999999", b"-1", b"1.5"]),
        ),
    ),
    min_size=1,
    max_size=4,
)


def damaged(data: bytes, changes: list[tuple[str, float, bytes]]) -> bytes:
    """Return bytes that were valid once: cut, overwritten, with pieces put in or taken out."""
    mutable = bytearray(data)
    for change, where, piece in changes:
        place = int(where * len(mutable))
        match change:
            case "overwrite":
                mutable[place : place + len(piece)] = piece
            case "insert":
                mutable[place:place] = piece
            case "delete":
                del mutable[place : place + 2 * len(piece)]
            case "cut":
                del mutable[place:]
            case "digit":
                digits = [at for at, byte in enumerate(mutable) if 48 <= byte <= 57][:60]
                if digits:
                    at = digits[int(where * len(digits))]
                    mutable[at : at + 1] = piece
    return bytes(mutable)


options = st.fixed_dictionaries(
    {},
    optional={
        "limit": st.integers(1, 9),
        "words": st.sampled_from([["the"], ["x", "missing"], ["d'or", "a\xa0b", "new york"]]),
        "bad_rows": st.sampled_from(["error", "skip"]),
        "errors": st.sampled_from(["strict", "replace", "ignore"]),
        "encoding": st.sampled_from(["utf-8", "latin-1", "ascii"]),
    },
)


@fuzz
@given(data=st.binary(max_size=200))
@pytest.mark.parametrize("kind", [None, *FORMATS])
def test_any_bytes_give_a_space_or_our_error(kind: str | None, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "any.file"
    path.write_bytes(data)
    (tmp_path / "any.words.txt").write_bytes(b"a\nb\n")
    read_whatever(path, format=kind)


@fuzz
@given(changes=damages, wanted=options, which=st.integers(0, 4))
@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files_give_a_space_or_our_error(
    kind: str,
    changes: list[tuple[str, float, bytes]],
    wanted: dict[str, object],
    which: int,
    written: dict[tuple[str, str], bytes],
    tmp_path: Path,
) -> None:
    packings = [packing for name, packing in FILES if name == kind]
    path = tmp_path / f"damaged{ENDING[kind]}"
    (tmp_path / "damaged.words.txt").write_bytes("the\nof\nnaïve\nd'or\n#1\nab\nx\n".encode())
    path.unlink(missing_ok=True)  # an earlier one may still be mapped
    path.write_bytes(damaged(written[kind, packings[which % len(packings)]], changes))
    read_whatever(path, **wanted)


TOKENS = ["a", "b", "1", "2.5", "-3e-2", "nan", "inf", "", "x y", "\t", "é", "7 2", "\r"]


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c", "x y", "x  y", "é", "1984", "#", '"', "", "nan"]),
            st.lists(
                st.sampled_from(["1", "2.5", "-3e-2", "+.5", "7.", "1E3", "0.1", "1e-50"]), min_size=1, max_size=4
            ),
        ),
        min_size=1,
        max_size=6,
    ),
    separators=st.lists(st.sampled_from([" ", " ", "  ", "\t", " \t", "\t "]), min_size=1, max_size=3),
    ends=st.sampled_from(["\n", "\r\n", " \n", "\t\n", "\n\n"]),
    header=st.booleans(),
)
def test_lines_of_words_and_numbers_are_read_as_a_slow_reader_does(
    rows: list[tuple[str, list[str]]], separators: list[str], ends: str, header: bool, tmp_path: Path
) -> None:
    lines = [
        word + "".join(separators[(row + place) % len(separators)] + number for place, number in enumerate(numbers))
        for row, (word, numbers) in enumerate(rows)
    ]
    text = "".join(line + ends for line in [f"{len(rows)} {len(rows[0][1])}"] * header + lines)
    path = tmp_path / "lines.txt"
    path.write_bytes(text.encode())
    try:
        found = read_space(path)
    except DensRayError:
        return
    words, vectors = read_lines_slowly(text.encode(), None if header else found.width)
    assert list(found.words) == words
    np.testing.assert_array_max_ulp(found.vectors, vectors, maxulp=1)


@fuzz
@given(text=st.lists(st.lists(st.sampled_from(TOKENS), max_size=5).map(" ".join), max_size=6).map("\n".join))
def test_any_lines_give_a_space_or_our_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(text.encode())
    for kind in (None, "glove", "word2vec-text"):
        read_whatever(path, format=kind)
