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


def mutate(data: bytes, draw: st.DrawFn) -> bytes:
    """Return bytes that were valid once: cut, overwritten, with pieces put in or taken out."""
    mutable = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(mutable) - 1)))
        match draw(st.sampled_from(["overwrite", "insert", "delete", "cut", "digit"])):
            case "overwrite":
                piece = draw(st.binary(min_size=1, max_size=8))
                mutable[place : place + len(piece)] = piece
            case "insert":
                mutable[place:place] = draw(st.sampled_from([b" ", b"\n", b"9", b"\xff", b"nan ", b"\0" * 8, b"1e99"]))
            case "delete":
                del mutable[place : place + draw(st.integers(1, 16))]
            case "cut":
                del mutable[place:]
            case "digit":
                digits = [at for at, byte in enumerate(mutable) if 48 <= byte <= 57]
                if digits:
                    at = draw(st.sampled_from(digits[:60]))
                    mutable[at : at + 1] = draw(st.sampled_from([b"0", b"9", b"99999999", b"-1", b"1.5"]))
    return bytes(mutable)


@fuzz
@given(data=st.binary(max_size=200))
@pytest.mark.parametrize("kind", [None, *FORMATS])
def test_any_bytes_give_a_space_or_our_error(kind: str | None, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "any.file"
    path.write_bytes(data)
    (tmp_path / "any.words.txt").write_bytes(b"a\nb\n")
    read_whatever(path, format=kind)


@fuzz
@given(draw=st.data())
@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files_give_a_space_or_our_error(
    kind: str, draw: st.DataObject, written: dict[tuple[str, str], bytes], tmp_path: Path
) -> None:
    packing = draw.draw(st.sampled_from([p for k, p in written if k == kind]))
    path = tmp_path / f"damaged{ENDING[kind]}"
    (tmp_path / "damaged.words.txt").write_bytes(b"the\nof\nna\xc3\xafve\nd'or\n#1\nab\nx\n")
    path.write_bytes(mutate(written[kind, packing], draw.draw))
    options = draw.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "limit": st.integers(1, 9),
                "words": st.sampled_from([["the"], ["x", "missing"], ["d'or", "a\xa0b", "new york"]]),
                "bad_rows": st.sampled_from(["error", "skip"]),
                "errors": st.sampled_from(["strict", "replace", "ignore"]),
                "encoding": st.sampled_from(["utf-8", "latin-1", "ascii"]),
            },
        )
    )
    read_whatever(path, **options)


TOKENS = ["a", "b", "1", "2.5", "-3e-2", "nan", "inf", "", "x y", "\t", "é", "7 2", "\r"]


@fuzz
@given(text=st.lists(st.lists(st.sampled_from(TOKENS), max_size=5).map(" ".join), max_size=6).map("\n".join))
def test_any_lines_give_a_space_or_our_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(text.encode())
    for kind in (None, "glove", "word2vec-text"):
        read_whatever(path, format=kind)
