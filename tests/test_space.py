"""A word space answers as the slow and obvious computation does, and changes nothing it was given."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import overload

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densray.errors import (
    CoverageWarning,
    DensRayError,
    RotationNotFittedError,
    SpaceError,
    UnknownWordError,
    VectorError,
)
from densray.lexicon import Lexicon
from densray.rotations import DensRay
from densray.space import WordSpace

RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def space() -> WordSpace:
    """200 words in 12 dimensions, some differing in case only."""
    words = ["Berlin", "berlin", "BERLIN", "new_york", "straße", *(f"w{row}" for row in range(195))]
    return WordSpace(words, RANDOM.normal(size=(200, 12)), name="toy")


class Projection:
    """A rotation onto given orthonormal rows, as plainly as it can be written."""

    def __init__(self, components: np.ndarray) -> None:
        self.components_ = components

    def transform(self, X: np.ndarray) -> np.ndarray:
        return X @ self.components_.T

    def erase(self, X: np.ndarray, n_axes: int = 1) -> np.ndarray:
        axes = self.components_[:n_axes]
        return X - X @ axes.T @ axes


@pytest.fixture(scope="module")
def rotation() -> Projection:
    """A random rotation of 12 dimensions."""
    return Projection(np.linalg.qr(RANDOM.normal(size=(12, 12)))[0])


def slow_neighbors(space: WordSpace, vector: np.ndarray, barred: set[str], k: int) -> list[str]:
    """The oracle: all cosines one by one, sorted."""
    cosines = {
        word: float(row @ vector / np.linalg.norm(row) / np.linalg.norm(vector))
        for word, row in zip(space.words, space.vectors.astype(float), strict=True)
        if word not in barred
    }
    return sorted(cosines, key=lambda word: -cosines[word])[:k]


def test_a_word_gives_its_row_and_a_list_gives_rows_in_its_order(space: WordSpace) -> None:
    np.testing.assert_array_equal(space["w3"], space.vectors[8])
    np.testing.assert_array_equal(space[["w3", "Berlin"]], space.vectors[[8, 0]])


@given(
    st.lists(st.text("aAbBß", min_size=1, max_size=3), min_size=1, max_size=20, unique=True),
    st.text("aAbBß", max_size=3),
)
def test_spellings_are_all_words_equal_in_lower_case(words: list[str], word: str) -> None:
    space = WordSpace(words, np.ones((len(words), 2)))
    slowly = [row for row, other in enumerate(words) if other.lower() == word.lower()]
    assert space.spellings(word) == slowly


def test_locate_without_case_takes_exact_first_then_first_in_vocabulary(space: WordSpace) -> None:
    wanted = ["BERLIN", "bErLiN", "W3", "nowhere"]
    assert space.locate(wanted, any_case=True).tolist() == [2, 0, 8, -1]
    assert space.locate(wanted).tolist() == [2, -1, -1, -1]


def test_the_row_of_a_missing_word_has_no_vector() -> None:
    space = WordSpace(["a", "b", "c"], np.eye(3))
    with pytest.raises(SpaceError, match=r"row -1 .*place 1 of 2.*rows 0 to 2.* missing word"):
        space.vectors_at(space.locate(["a", "nope"]))
    with pytest.raises(SpaceError, match=r"row 99 .*rows 0 to 2\. Give"):
        space.vectors_at([99])
    np.testing.assert_array_equal(space.vectors_at(space.locate(["c", "a"])), np.eye(3)[[2, 0]])
    assert space.vectors_at([]).shape == (0, 3)


def test_membership_length_and_iteration_follow_the_words(space: WordSpace) -> None:
    assert "berlin" in space
    assert "bErlin" not in space
    assert len(space) == len(list(space)) == 200
    assert space.width == 12


@pytest.mark.parametrize("any_case", [True, False])
def test_absent_words_are_those_that_cannot_be_located(space: WordSpace, any_case: bool) -> None:
    words = ["w3", "W3", "nowhere", "berlin", "BeRlin", "nowhere", ""]
    located = space.locate(words, any_case=any_case)
    missing = [word for word, row in zip(words, located, strict=True) if row < 0]
    assert space.absent(iter(words), any_case=any_case) == list(dict.fromkeys(missing))
    assert space.absent([]) == space.absent(space.words) == []


def test_unknown_word_is_a_key_error_that_names_the_likely_spelling(space: WordSpace) -> None:
    with pytest.raises(KeyError, match=r"'new york' not among the 200 words .* Did you mean 'new_york'"):
        space["new york"]
    with pytest.raises(UnknownWordError, match="'xyzzy' not among"):
        space[["w1", "xyzzy"]]


def test_the_space_cannot_be_changed_and_does_not_change_what_it_was_given() -> None:
    given_vectors = np.eye(3, dtype=np.float32)
    space = WordSpace(["a", "b", "c"], given_vectors)
    with pytest.raises(ValueError, match="read-only"):
        space.vectors[0, 0] = 5
    with pytest.raises(AttributeError, match="does not change"):
        space.name = "other"  # type: ignore[misc]
    assert given_vectors.flags.writeable


def test_a_space_stays_as_it_is_when_its_array_changes() -> None:
    given_vectors = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
    words = [f"w{row}" for row in range(50)]
    space, plain = WordSpace(words, given_vectors), WordSpace(words, given_vectors.copy())
    before = space.neighbors("w0")  # keeps the lengths
    given_vectors *= np.linspace(1.0, 9.0, 50, dtype=np.float32)[:, None]
    assert space.neighbors("w0") == before == plain.neighbors("w0")
    np.testing.assert_array_equal(space.vectors, plain.vectors)
    given_vectors.flags.writeable = False
    assert np.shares_memory(WordSpace(words, given_vectors).vectors, given_vectors)


def test_neighbors_equal_the_sorted_list_of_all_cosines(space: WordSpace) -> None:
    for word in ("w7", "Berlin"):
        found = space.neighbors(word, k=9, exclude=["w1"])
        assert [name for name, _ in found] == slow_neighbors(space, space[word], {word, "w1"}, 9)
        assert found[0][1] == pytest.approx(space.cosine(word, found[0][0]), abs=1e-6)


def test_batched_neighbors_over_several_blocks_equal_the_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("densray._vocabulary.BLOCK_ROWS", 7)
    monkeypatch.setattr("densray._vocabulary._QUERIES", 2)
    vectors = RANDOM.normal(size=(50, 5))
    space = WordSpace([str(row) for row in range(50)], vectors)
    queries = ["3", "49", "0", "17", "18"]
    rows, cosines = space.neighbor_rows(queries, k=6)
    for query, line in zip(queries, rows, strict=True):
        assert [space.words[row] for row in line] == slow_neighbors(space, space[query], {query}, 6)
    assert (np.diff(cosines) <= 0).all()


def test_more_neighbors_than_words_gives_all_the_others(space: WordSpace) -> None:
    small = space.limit(4)
    assert len(small.neighbors("Berlin", k=100)) == 3


def test_equal_cosines_come_in_the_order_of_rows() -> None:
    space = WordSpace(["q", "a", "b", "c"], [[1, 0], [1, 1], [2, 2], [4, 4]])
    assert [word for word, _ in space.neighbors("q", k=3)] == ["a", "b", "c"]


@pytest.mark.parametrize("block_rows", [7, 16_384])
def test_of_equal_cosines_the_first_rows_are_chosen(block_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("densray._vocabulary.BLOCK_ROWS", block_rows)
    vectors = np.zeros((300, 2))
    vectors[:, 0] = [1, 4, 2, 8, 16] * 60  # powers of two: all cosines are exactly 1, but for three words
    vectors[[0, 150, 299]] = [[1, 1], [0, 1], [0, 0]]
    space = WordSpace([f"w{row}" for row in range(300)], vectors)
    assert [word for word, _ in space.neighbors("w1", k=5)] == ["w2", "w3", "w4", "w5", "w6"]
    assert [word for word, _ in space.neighbors("w299", k=3)] == ["w0", "w1", "w2"]
    rows, _ = space.neighbor_rows(["w150", "w9"], k=4)
    assert rows.tolist() == [[0, 1, 2, 3], [1, 2, 3, 4]]


def test_a_vector_query_may_answer_with_every_word(space: WordSpace) -> None:
    assert space.neighbors(space["w9"], k=1)[0][0] == "w9"


def test_cosines_are_the_products_of_unit_vectors(space: WordSpace) -> None:
    unit = space.normalized()
    expected = unit[["w1", "w2"]].astype(float) @ unit[["w3"]].astype(float).T
    np.testing.assert_allclose(space.cosines(["w1", "w2"], ["w3"]), expected, atol=1e-6)


def test_a_planted_analogy_is_solved_and_its_three_words_are_excluded() -> None:
    vectors = np.array([[1, 0, 0], [1, 0, 1], [0, 1, 0], [0, 1, 0.9], [1, 1, 0]])
    space = WordSpace(["man", "woman", "king", "queen", "thing"], vectors)
    answers = [word for word, _ in space.analogy("man", "woman", "king", k=5)]
    assert answers[0] == "queen"
    assert set(answers) == {"queen", "thing"}


def test_normalized_rows_have_unit_length_and_keep_their_direction(space: WordSpace) -> None:
    unit = space.normalized()
    np.testing.assert_allclose(np.linalg.norm(unit.vectors, axis=1), 1, atol=1e-6)
    assert unit.cosine("w1", "w2") == pytest.approx(space.cosine("w1", "w2"), abs=1e-6)
    assert not np.allclose(np.linalg.norm(space.vectors, axis=1), 1)  # control: they were not before


def test_zero_rows_are_named_kept_or_dropped() -> None:
    space = WordSpace(["a", "nil", "b"], [[3, 4], [0, 0], [0, 2]])
    with pytest.raises(VectorError, match=r"1 of 3 vectors .*'nil'.*zeros='drop'"):
        space.normalized()
    assert space.normalized(zeros="drop").words == ("a", "b")
    np.testing.assert_allclose(space.normalized(zeros="keep").vectors, [[0.6, 0.8], [0, 0], [0, 1]], rtol=1e-6)
    assert space.cosine("nil", "a") == 0


def test_subset_keeps_the_order_given_and_names_what_is_missing(space: WordSpace) -> None:
    small = space.subset(["w5", "Berlin", "w5"])
    assert list(small.words) == ["w5", "Berlin"]
    np.testing.assert_array_equal(small.vectors, space[["w5", "Berlin"]])
    with pytest.raises(SpaceError, match="'gone'"):
        space.subset(["w5", "gone"])
    assert list(space.subset(["gone", "W5"], any_case=True, missing="drop").words) == ["w5"]
    with pytest.raises(SpaceError, match="None of the 1 words"):
        space.subset(["gone"], missing="drop")


def test_limit_keeps_the_first_words_and_refuses_none(space: WordSpace) -> None:
    assert list(space.limit(2).words) == ["Berlin", "berlin"]
    assert len(space.limit(10**9)) == 200
    with pytest.raises(SpaceError, match="limit is 0"):
        space.limit(0)


def test_rotation_keeps_all_cosines_and_neighbours(space: WordSpace, rotation: Projection) -> None:
    turned = space.rotated(rotation)
    np.testing.assert_allclose(turned.vectors, space.vectors @ rotation.components_.T, atol=1e-5)
    names = ["w1", "w2", "Berlin"]
    np.testing.assert_allclose(turned.cosines(names, names), space.cosines(names, names), atol=1e-5)
    assert [w for w, _ in turned.neighbors("w1")] == [w for w, _ in space.neighbors("w1")]


def test_erasure_empties_the_axis_and_kept_words_stay_to_the_bit(space: WordSpace, rotation: Projection) -> None:
    with pytest.warns(CoverageWarning, match="not there"):
        erased = space.erased(rotation, n_axes=2, keep=["w1", "not there"])
    gone = erased.vectors @ rotation.components_[:2].T
    row = int(space.locate(["w1"])[0])
    assert np.abs(np.delete(gone, row, axis=0)).max() < 1e-5
    assert np.abs(space.vectors @ rotation.components_[:2].T).max() > 0.1  # control: it was there before
    np.testing.assert_array_equal(erased["w1"], space["w1"])


def test_a_fitted_axis_separates_a_planted_concept_and_erasure_hides_it() -> None:
    labels = np.repeat([1.0, -1.0], 60)
    vectors = RANDOM.normal(size=(120, 8))
    vectors[:, 5] += 4 * labels
    space = WordSpace([f"w{row}" for row in range(120)], vectors)
    found = Lexicon(zip(space.words, labels, strict=True)).align(space)
    rotation = DensRay().fit(found.X, found.y)
    concept = space.rotated(rotation).vectors[:, 0]
    assert concept[labels > 0].min() > concept[labels < 0].max()
    assert space.vectors[labels > 0, 0].min() < space.vectors[labels < 0, 0].max()  # control: not before
    rest = space.erased(rotation).vectors
    gap = np.linalg.norm(rest[labels > 0].mean(axis=0) - rest[labels < 0].mean(axis=0))
    assert gap < 1  # of 8


def test_a_rotation_of_another_width_is_refused_with_both_widths(space: WordSpace) -> None:
    with pytest.raises(SpaceError, match="fitted on 3 dimensions, 'toy' has 12"):
        space.rotated(Projection(np.eye(3)))


def test_blocks_put_together_are_the_space(space: WordSpace) -> None:
    pieces = list(space.blocks(rows=64))
    assert [word for words, _ in pieces for word in words] == list(space.words)
    np.testing.assert_array_equal(np.vstack([vectors for _, vectors in pieces]), space.vectors)


def test_fingerprint_tells_words_vectors_and_shape_apart(space: WordSpace) -> None:
    changed = np.array(space.vectors)
    changed[17, 3] += 1e-3
    others = [
        space.with_vectors(changed),
        space.limit(199),
        WordSpace([*space.words[:-1], "other"], space.vectors),
        WordSpace(space.words, space.vectors[:, ::-1]),
    ]
    assert space.fingerprint() == WordSpace(space.words, np.array(space.vectors), name="x").fingerprint()
    assert len({space.fingerprint(), *(other.fingerprint() for other in others)}) == 5


class LazyWords(Sequence[str]):
    """Words made when they are asked for; counts how often that was."""

    def __init__(self, length: int) -> None:
        self.length, self.asked = length, 0

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self[one] for one in range(*row.indices(self.length))]
        if not 0 <= row < self.length:
            raise IndexError(row)
        self.asked += 1
        return f"w{row}"


def test_unchecked_space_reads_no_word_until_one_is_looked_up() -> None:
    words = LazyWords(1000)
    space = WordSpace.unchecked(words, np.ones((1000, 2), dtype=np.float32))
    assert len(space.renamed("x")) == 1000
    assert words.asked == 0
    assert "w999" in space
    assert words.asked == 1000
    assert list(space.limit(2).words) == ["w0", "w1"]


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["a", "a", "b", "b"], np.eye(4), "2 words occur more than once: 'a', 'b'"),
        (["a"], np.eye(2), "1 words were given with 2 vectors"),
        ([], np.zeros((0, 2)), "at least one word"),
        ("ab", np.eye(2), "give a list of words"),
        (["a", 3], np.eye(2), "Word 1 is 3"),
        (["a", "b"], [1.0, 2.0], r"shape \(2,\)"),
        (["a", "b"], [[1.0], [2.0, 3.0]], "not a table of real numbers"),
        (["a", "b"], [[1j], [2j]], "not a table of real numbers"),
        (["a", "b"], [["1"], ["2"]], "not a table of real numbers"),
        (["a", "b"], [[1.0], [np.nan]], "'b'; first in row 1"),
        (["a", "b"], [[1e39], [1.0]], "'a'; first in row 0"),
        ([str(row) for row in range(9)], np.full((9, 1), np.inf), "'4' and 4 more; first in row 0"),
        (["a", "b"], np.zeros((2, 0)), "at least one number per word"),
    ],
)
def test_bad_parts_are_named_errors(words: Sequence[str], vectors: object, message: str) -> None:
    with pytest.raises(DensRayError, match=message):
        WordSpace(words, vectors)  # type: ignore[arg-type]


def test_bad_queries_are_named_errors(space: WordSpace) -> None:
    with pytest.raises(VectorError, match=r"shape \(1, 3\) do not fit 'toy', which is 12 wide"):
        space.neighbors([1.0, 2.0, 3.0])
    with pytest.raises(VectorError, match="NaN or infinite"):
        space.neighbors(np.full(12, np.nan))
    with pytest.raises(VectorError, match="neither words nor vectors"):
        space.cosines(["w1", 3.0], ["w2"])
    with pytest.raises(SpaceError, match="k is 0"):
        space.neighbors("w1", k=0)


def test_repr_says_size_and_first_words_and_html_is_escaped() -> None:
    space = WordSpace(["<b>", "x"], np.eye(2), name="a&b")
    assert repr(space) == "WordSpace 'a&b': 2 words × 2 dimensions ('<b>', 'x')"
    page = space._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page.replace("<b>WordSpace</b>", "")
    assert "a&amp;b" in page


def test_a_space_travels_between_processes(space: WordSpace) -> None:
    copy = pickle.loads(pickle.dumps(space))
    assert copy.fingerprint() == space.fingerprint()
    assert copy.name == "toy"


@given(st.lists(st.text(), min_size=1, max_size=20, unique=True))
def test_any_distinct_texts_are_found_at_their_rows(words: list[str]) -> None:
    space = WordSpace(words, np.ones((len(words), 2)))
    assert space.locate(words).tolist() == list(range(len(words)))
    assert (space.locate([word.swapcase() for word in words], any_case=True) < len(words)).all()
    assert len(space.fingerprint()) == 64


def test_every_method_is_documented() -> None:
    page = (Path(__file__).parents[1] / "docs" / "spaces.md").read_text(encoding="utf-8")
    internal = {"unchecked", "renamed", "lengths", "width", "name"}
    names = [name for name in dir(WordSpace) if not name.startswith("_") and name not in internal]
    assert [name for name in names if f".{name}" not in page] == []


def test_a_rotation_that_was_never_fitted_is_named() -> None:
    space = WordSpace(["a", "b"], np.eye(2, dtype=np.float32))
    for change in (space.rotated, space.erased):
        with pytest.raises(RotationNotFittedError, match="DensRay has no axes"):
            change(DensRay())
