"""What is written comes back: every format, every compression, words of every kind."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from densray.errors import DensRayError, FormatError
from densray.formats import ENDINGS, FORMATS, read_space, rewrite, write_space
from densray.space import WordSpace
from format_files import ENDING, FILES, PACKINGS, cannot_hold

NASTY = [
    "", " ", "new york", ". . .", "at name@domain.com", '"', "''", "#", "#tag", "a\xa0b", "\xa0", "\ufeff", "\ufeffx",
    "\t", "a\tb", "\r", "x\r", "\x85", "\u2028", "\x1c", "\0", "x\0", "a\nb", "\n", "1", "1 2", "windows 95", "nan",
    "x nan", "-", "e", "1e5", "PAR1", "PK", "BZh9", "3 2", "日本語", "🙂", "e\u0301", "é", "a ", " a", "x  y", "\\",
]  # fmt: skip

words = st.lists(
    st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), max_size=6)),
    min_size=1,
    max_size=8,
    unique=True,
)
widths = st.integers(1, 5)
finite = st.floats(allow_nan=False, allow_infinity=False, width=32)


@st.composite
def spaces(draw: st.DrawFn) -> WordSpace:
    chosen = draw(words)
    return WordSpace(chosen, draw(hnp.arrays(np.float32, (len(chosen), draw(widths)), elements=finite)))


def assert_equal(one: WordSpace, other: WordSpace) -> None:
    assert list(one.words) == list(other.words)
    np.testing.assert_array_equal(one.vectors, other.vectors)
    assert one.vectors.dtype == np.float32


def _is_ambiguous(space: WordSpace, path: Path, kind: str) -> bool:
    """Return whether the writer refuses the space because the file would look like another format.

    Only formats without a signature can: a few raw floats may happen to be printable letters.
    """
    try:
        write_space(space, path, format=kind, overwrite=True)
    except FormatError as error:
        return "would be detected as another format" in str(error)
    return False


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(space=spaces(), data=st.data())
@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_and_compression_returns_what_was_written(
    kind: str, space: WordSpace, data: st.DataObject, tmp_path: Path
) -> None:
    packing = data.draw(st.sampled_from([packing for name, packing in FILES if name == kind]))
    path = tmp_path / f"space{ENDING[kind]}{packing}"
    refused = [word for word in space.words if cannot_hold(kind, word)]
    if refused:
        with pytest.raises(FormatError, match="The word"):
            write_space(space, path, format=kind, overwrite=True)
        return
    if kind in ("glove", "word2vec-binary") and _is_ambiguous(space, path, kind):
        return
    assert write_space(space, path, format=kind, overwrite=True) == path
    detected = read_space(path)
    assert_equal(detected, space)
    assert_equal(read_space(path, format=kind), space)
    some = data.draw(st.lists(st.sampled_from(list(space.words)), min_size=1))
    assert_equal(
        read_space(path, words=[*some, "not there"]), space.subset(sorted(set(some), key=list(space.words).index))
    )
    assert_equal(read_space(path, limit=2), space.limit(2))


def test_a_few_tiny_numbers_are_not_taken_for_another_byte_order(tmp_path: Path) -> None:
    tiny = np.full((3, 4), 8.8e-44, dtype=np.float32)  # with its bytes swapped, each of them is 0.5
    space = WordSpace(["a", "b", "c"], tiny)
    assert_equal(read_space(write_space(space, tmp_path / "tiny.bin")), space)


def test_the_ending_of_the_name_decides_nothing_when_reading(tmp_path: Path) -> None:
    space = WordSpace(["a", "b"], [[1, 2], [3, 4]])
    for kind, packing in FILES:
        path = write_space(space, tmp_path / f"{kind}{packing.strip('.')}{ENDING[kind]}{packing}")
        renamed = path.with_name(f"{kind}{packing.strip('.')}.data")
        path.rename(renamed)
        assert_equal(read_space(renamed), space)


@pytest.fixture(scope="module")
def large() -> WordSpace:
    """A space of several blocks in every format."""
    vectors = np.random.default_rng(1).normal(size=(9_000, 250)).astype(np.float32)
    return WordSpace([f"word{row}" if row % 100 else f"the {row}th" for row in range(9_000)], vectors, name="large")


@pytest.mark.parametrize("ending", [".txt", ".glove", ".npz", ".npy", ".safetensors", ".parquet", ".densray"])
def test_many_blocks_are_put_together_in_order(ending: str, large: WordSpace, tmp_path: Path) -> None:
    path = write_space(large, tmp_path / f"large{ending}")
    assert_equal(read_space(path), large)
    assert_equal(read_space(path, limit=8_000), large.limit(8_000))
    assert_equal(read_space(path, words=large.words[7_000:7_200]), large.subset(large.words[7_000:7_200]))


def test_binary_blocks_are_put_together_in_order(large: WordSpace, tmp_path: Path) -> None:
    joined = WordSpace([word.replace(" ", "_") for word in large.words], large.vectors)
    assert_equal(read_space(write_space(joined, tmp_path / "large.bin")), joined)
    assert_equal(read_space(write_space(joined, tmp_path / "large.bin.gz"), limit=5_000), joined.limit(5_000))


@pytest.mark.parametrize("target", [*ENDINGS, ".txt.gz", ".glove.zst"])
@pytest.mark.parametrize("source", ["glove", "word2vec-text", "native"])
def test_rewrite_changes_every_block_on_the_way(source: str, target: str, tmp_path: Path) -> None:
    vectors = np.random.default_rng(2).normal(size=(500, 12)).astype(np.float32)
    space = WordSpace([f"w{row}" for row in range(500)], vectors)
    path = write_space(space, tmp_path / f"source{ENDING[source]}")
    calls: list[tuple[int, int | None]] = []
    written = rewrite(
        path,
        tmp_path / f"target{target}",
        change=lambda words, block: np.asfortranarray(block[:, ::-1][:, :5].astype(np.float64)),
        progress=lambda done, rows: calls.append((done, rows)),
    )
    assert_equal(read_space(written), WordSpace(space.words, vectors[:, ::-1][:, :5]))
    assert calls[-1] == (500, 500)


@pytest.mark.parametrize("ending", [".txt", ".glove", ".bin", ".npy", ".npz", ".parquet", ".densray", ".txt.gz"])
def test_a_file_that_is_replaced_while_it_is_read_is_read_to_its_end(ending: str, tmp_path: Path) -> None:
    old = WordSpace([f"old{row}" for row in range(6_000)], np.full((6_000, 300), 1.0))
    new = WordSpace([f"new{row}" for row in range(6_000)], np.full((6_000, 300), 2.0))
    path = write_space(old, tmp_path / f"source{ending}")

    def replace_source(words: object, block: np.ndarray) -> np.ndarray:
        if list(read_space(path, limit=1).words) == ["old0"]:
            write_space(new, path, overwrite=True)
        return block

    assert_equal(read_space(rewrite(path, tmp_path / "target.densray", change=replace_source)), old)
    assert_equal(read_space(path), new)


def test_rewrite_takes_a_choice_of_words_and_rows(tmp_path: Path) -> None:
    source = tmp_path / "source.txt"
    source.write_text("3 2\na 1 2\nb nan 2\nc 3 4\n")
    with pytest.warns(UserWarning, match="1 bad rows were left out.*line 3.*'b'"):
        rewrite(source, tmp_path / "skipped.densray", bad_rows="skip")
    assert list(read_space(tmp_path / "skipped.densray").words) == ["a", "c"]
    rewrite(source, tmp_path / "chosen.bin", words=["a", "c"], limit=1)
    assert list(read_space(tmp_path / "chosen.bin").words) == ["a"]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["t.densray", "t.npy", "t.npz", "t.safetensors", "t.bin", "t.txt"])
def test_rewrite_never_holds_the_matrix(target: str, tmp_path: Path) -> None:
    matrix = np.ones((24_000, 500), dtype=np.float32)
    np.save(tmp_path / "source.npy", matrix)
    (tmp_path / "source.words.txt").write_text("".join(f"w{row}\n" for row in range(24_000)))
    tracemalloc.start()
    rewrite(tmp_path / "source.npy", tmp_path / target, change=lambda words, block: block * 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < matrix.nbytes / 2
    assert read_space(tmp_path / target, words=["w23999"]).vectors.tolist() == [[2.0] * 500]


@pytest.mark.parametrize("kind", ["npz", "safetensors", "parquet", "native"])
@pytest.mark.parametrize("packing", PACKINGS[1:])
def test_containers_are_not_compressed(kind: str, packing: str, tmp_path: Path) -> None:
    space = WordSpace(["a"], [[1.0]])
    with pytest.raises(FormatError, match="Leave out"):
        write_space(space, tmp_path / f"space{ENDING[kind]}{packing}")
    assert not list(tmp_path.iterdir())


def test_a_change_of_the_wrong_shape_leaves_no_file(tmp_path: Path) -> None:
    source = write_space(WordSpace(["a", "b"], [[1, 2], [3, 4]]), tmp_path / "source.txt")
    with pytest.raises(DensRayError, match="shape"):
        rewrite(source, tmp_path / "target.bin", change=lambda words, block: block[:1])
    assert [path.name for path in tmp_path.iterdir()] == ["source.txt"]


def test_every_format_and_ending_is_documented() -> None:
    page = (Path(__file__).parent.parent / "docs" / "formats.md").read_text(encoding="utf-8")
    missing = [name for name in (*FORMATS, *ENDINGS) if f"`{name}`" not in page]
    assert not missing


@pytest.mark.parametrize("ending", [".glove", ".txt", ".vec", ".bin"])
def test_one_dimension_is_read_back_or_not_written(tmp_path, ending):
    """A word that is a number, and one number after it, look like the header of word2vec."""
    random, read = np.random.default_rng(0), 0
    pool = ["a", "3", "5", "12", "-1", "1e5", "nan", "the", "0", ",", "a,b", "#", "w1", "w2"]
    for _ in range(60):
        words = random.choice(pool, size=random.integers(1, 6), replace=False).tolist()
        vectors = random.choice([0, 1, 2, 3, -1, 0.5, 1e-7, 12345], size=(len(words), 1)).astype(np.float32)
        try:
            write_space(WordSpace(words, vectors), tmp_path / f"a{ending}", overwrite=True)
        except FormatError:
            continue
        space = read_space(tmp_path / f"a{ending}")
        assert list(space.words) == words
        np.testing.assert_array_equal(space.vectors, vectors)
        read += 1
    assert read > 40
