"""Removal takes away exactly what it says, from arrays, spaces and files, and leaves alone what it is told to."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from densray import DensRay, Lexicon, LinearRotation, MeanDifference, WordSpace
from densray.datasets import load_lexicon, load_pairs, load_space, load_word_list
from densray.debiasing import REMOVERS, Removal, equalized, make_remover, remove
from densray.erasure import Erasure
from densray.errors import DensRayError, MissingExtraError, SpaceError, TaskError, VectorError
from densray.formats import read_space, rewrite, write_space
from densray.rotations import METHODS

N_AXES = [1, 3]
#: The removers that run everywhere: LEACE needs a library of its own.
LOCAL = [name for name in REMOVERS if name != "leace"]


def planted(n: int = 60, width: int = 12, seed: int = 0) -> tuple[WordSpace, Lexicon, list[tuple[str, str]]]:
    """A space whose words 0 … 39 come in pairs that differ along a hidden direction."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, width)) + 1.0
    hidden = random.normal(size=width)
    hidden /= np.linalg.norm(hidden)
    signs = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    X[1:40:2] = X[0:40:2] + 0.3 * random.normal(size=(20, width))
    X[:40] += 2.0 * signs[:, None] * hidden
    space = WordSpace([f"w{i}" for i in range(n)], X.astype(np.float32), name="planted").normalized()
    lexicon = Lexicon({f"w{i}": signs[i] for i in range(40)})
    return space, lexicon, [(f"w{i}", f"w{i + 1}") for i in range(0, 40, 2)]


SPACE, LEXICON, PAIRS = planted()


def cosines(X: NDArray[np.floating]) -> NDArray[np.float64]:
    unit = X.astype(np.float64) / np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)
    return np.asarray(unit @ unit.T)


@pytest.mark.parametrize("method", METHODS)
def test_erasing_equals_dropping_the_first_rotated_dimensions_in_every_cosine(method: str) -> None:
    aligned = LEXICON.align(SPACE)
    rotation = METHODS[method].make(None).fit(aligned.X.astype(np.float64), aligned.y)
    X = SPACE.vectors.astype(np.float64)
    for n_axes in N_AXES:
        dropped = rotation.transform(X)[:, n_axes:]
        assert cosines(rotation.erase(X, n_axes=n_axes)) == pytest.approx(cosines(dropped), abs=1e-10)


@pytest.mark.parametrize("name", [name for name in LOCAL if name != "double-hard"])
def test_erasing_twice_is_erasing_once_and_removes_exactly_the_span(name: str) -> None:
    erasure = make_remover(name).fit(SPACE, LEXICON, pairs=PAIRS)
    X = SPACE.vectors.astype(np.float64)
    erased = erasure.erase(X)
    assert erasure.erase(erased) == pytest.approx(erased, abs=1e-12)
    assert erasure.rank == len(erasure.span) == make_remover(name).n_axes
    assert np.linalg.matrix_rank(X) - np.linalg.matrix_rank(erased, tol=1e-9) == erasure.rank
    assert np.abs(erased @ erasure.span.T).max() < 1e-12
    across = np.eye(SPACE.width) - erasure.span.T @ erasure.span
    assert erased @ across == pytest.approx(X @ across, abs=1e-12)


@pytest.mark.parametrize("name", [name for name in LOCAL if name != "random"])
def test_every_remover_takes_away_the_planted_direction(name: str) -> None:
    aligned = LEXICON.align(SPACE)
    before = MeanDifference().fit(aligned.X, aligned.y)
    gap = (SPACE.vectors[:40] @ before.components_[0])[::2] - (SPACE.vectors[:40] @ before.components_[0])[1::2]
    erased = make_remover(name).fit(SPACE, LEXICON, pairs=PAIRS).erase(SPACE.vectors)
    left = (erased[:40] @ before.components_[0])[::2] - (erased[:40] @ before.components_[0])[1::2]
    assert np.abs(gap).mean() > 0.5
    assert np.abs(left).mean() < 0.5 * np.abs(gap).mean()


def test_double_hard_centres_the_space_and_removes_two_orthogonal_axes() -> None:
    erasure = make_remover("double-hard").fit(SPACE, LEXICON, pairs=PAIRS)
    erased = erasure.erase(SPACE.vectors.astype(np.float64))
    assert erased.mean(axis=0) == pytest.approx(np.zeros(SPACE.width), abs=1e-6)
    assert erasure.right @ erasure.right.T == pytest.approx(np.eye(2), abs=1e-12)
    assert np.abs(erased @ erasure.span.T).max() < 1e-6


def test_partial_strength_lies_between_nothing_and_all() -> None:
    erasure = make_remover("densray-unit").fit(SPACE, LEXICON)
    X = SPACE.vectors
    assert np.array_equal(erasure.erase(X, strength=0.0), X)
    axis = erasure.right[0]
    assert erasure.erase(X, strength=0.25) @ axis == pytest.approx(0.75 * (X @ axis), abs=1e-6)
    half = remove(SPACE, erasure, strength=0.5, equalize=PAIRS)
    ends = (SPACE.vectors, remove(SPACE, erasure, equalize=PAIRS).vectors)
    assert half.vectors == pytest.approx((ends[0] + ends[1]) / 2, abs=1e-6)
    with pytest.raises(DensRayError, match=r"from 0 .* to 1"):
        remove(SPACE, erasure, strength=1.5)


def test_kept_words_are_equal_to_the_bit_and_the_others_are_not() -> None:
    erasure = make_remover("ridge:3").fit(SPACE, LEXICON)
    removed = remove(SPACE, erasure, keep=["w3", "w41", "absent"])
    same = (removed.vectors == SPACE.vectors).all(axis=1)
    assert same.nonzero()[0].tolist() == [3, 41]
    assert np.array_equal(removed.vectors[5], erasure.erase(SPACE.vectors)[5])


def test_equalised_pairs_are_equally_far_from_every_neutral_word() -> None:
    remover = make_remover("hard")
    erasure = remover.fit(SPACE, LEXICON, pairs=PAIRS)
    hard = remove(SPACE, erasure, keep=["w0"], equalize=[*PAIRS, ("w50", "absent")])
    neutral = [f"w{i}" for i in range(40, 60)]
    for first, second in PAIRS:
        near = hard.cosines(neutral, [first, second])
        assert near[:, 0] == pytest.approx(near[:, 1], abs=1e-6)
        assert np.linalg.norm(hard[[first, second]], axis=1) == pytest.approx([1.0, 1.0], abs=1e-6)
    before = SPACE.cosines(neutral, ["w0", "w1"])
    assert np.abs(before[:, 0] - before[:, 1]).max() > 0.05
    assert set(equalized(SPACE, erasure, PAIRS)) == {word for pair in PAIRS for word in pair}


def test_hard_debiasing_agrees_with_wefe_on_the_same_lists() -> None:
    golden = json.loads((Path(__file__).parent / "files" / "wefe.json").read_text("utf-8"))["hard"]
    google = load_space("googlenews-26k")
    defining = [(male, female) for female, male in load_pairs("gender-definitional")]
    erasure = make_remover("hard").fit(google, load_lexicon("gender"), pairs=defining)
    equalize = [(first.lower(), second.lower()) for first, second in load_pairs("gender-equalize")]
    hard = remove(google, erasure, keep=load_word_list("gender-specific"), equalize=equalize)
    for word, cosines_to in golden.items():
        for other, expected in cosines_to.items():
            assert hard.cosine(word, other) == pytest.approx(expected, abs=2e-6)
    assert abs(google.cosine("nurse", "he") - google.cosine("nurse", "she")) > 0.1


def test_a_file_loses_the_concept_block_by_block_like_a_space(tmp_path: Path) -> None:
    source = write_space(SPACE, tmp_path / "space.bin")
    erasure = make_remover("hard").fit(SPACE, LEXICON, pairs=PAIRS)
    change = Removal(erasure, frozenset(["w45"]), equalized(SPACE, erasure, PAIRS[:3]), strength=0.8)
    written = rewrite(source, tmp_path / "removed.vec", change=change)
    expected = remove(SPACE, erasure, keep=["w45"], equalize=PAIRS[:3], strength=0.8)
    found = read_space(written)
    assert list(found.words) == list(SPACE.words)
    assert found.vectors == pytest.approx(expected.vectors, abs=1e-6)
    narrow = Removal(Erasure.along(np.eye(3)[:1]))
    with pytest.raises(VectorError, match="width 3"):
        rewrite(source, written, change=narrow, overwrite=True)
    assert np.array_equal(read_space(written).vectors, found.vectors)  # the old file is whole
    with pytest.raises(DensRayError, match="None of the 1 pairs"):
        remove(SPACE, erasure, equalize=[("w0", "y")])


def test_a_rotation_can_stand_for_its_erasure() -> None:
    aligned = LEXICON.align(SPACE)
    rotation = DensRay(1, normalize_differences=True).fit(aligned.X, aligned.y)
    assert np.array_equal(remove(SPACE, rotation).vectors, SPACE.erased(rotation).vectors)
    change = Removal(Erasure.of(rotation))
    assert np.array_equal(change(SPACE.words, SPACE.vectors), SPACE.erased(rotation).vectors)


def test_iterative_null_space_projection_leaves_no_linear_trace_of_the_seeds() -> None:
    erasure = make_remover("inlp:11").fit(SPACE, LEXICON)
    aligned = LEXICON.align(SPACE)
    left = LinearRotation("ridge").fit(aligned.X, aligned.y).score(erasure.erase(aligned.X), aligned.y)
    assert abs(left) < LinearRotation("ridge").fit(aligned.X, aligned.y).score(aligned.X, aligned.y) - 0.3


def test_more_axes_than_the_space_has_and_other_widths_are_named() -> None:
    with pytest.raises(DensRayError, match=r"n_components=13 .* from 1 to 12"):
        make_remover("ridge:13").fit(SPACE, LEXICON)
    aligned = LEXICON.align(SPACE)
    rotation = MeanDifference().fit(aligned.X, aligned.y)
    with pytest.raises(DensRayError, match="n_axes=2"):
        Erasure.of(rotation, 2)
    other = WordSpace(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], name="other")
    with pytest.raises(SpaceError, match="12 dimensions, 'other' has 2"):
        remove(other, rotation)
    with pytest.raises(VectorError, match="width 12"):
        Erasure.of(rotation).erase(other.vectors)


def test_unknown_removers_and_missing_pairs_are_named() -> None:
    with pytest.raises(DensRayError, match="Did you mean 'densray'"):
        make_remover("densrai")
    with pytest.raises(DensRayError, match="'x' is not a number of axes"):
        make_remover("svm:x")
    for name in ("hard", "double-hard"):
        with pytest.raises(TaskError, match="pairs"):
            make_remover(name).fit(SPACE, LEXICON, pairs=[("he", "she")])


def test_leace_leaves_no_covariance_with_the_labels() -> None:
    pytest.importorskip("concept_erasure", reason="LEACE needs concept-erasure: pip install 'densray[leace]'")
    erasure = make_remover("leace").fit(SPACE, LEXICON)
    aligned = LEXICON.align(SPACE)
    X, y = aligned.X.astype(np.float64), aligned.y - aligned.y.mean()
    erased = erasure.erase(X)
    assert np.abs(y @ X).max() > 1.0
    assert np.abs(y @ erased).max() < 1e-9
    assert erased.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=1e-9)
    assert erasure.erase(erased) == pytest.approx(erased, abs=1e-9)


def test_leace_names_the_command_where_its_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "concept_erasure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'densray\[leace\]'"):
        make_remover("leace").fit(SPACE, LEXICON)
