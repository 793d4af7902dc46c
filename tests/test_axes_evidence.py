"""Evidence about an axis: near misses in spelling, pairs, the spread of scores, seeds of huge length."""

from __future__ import annotations

import numpy as np
import pytest

from densray import Axis, WordSpace
from densray.axes import AxisOptions, near_misses
from densray.axes._evidence import eigenvalues_of, outlying_rows, pair_consistency, reliability
from densray.errors import LexiconError
from densray.rotations import make_rotation
from densray.rows import Rows
from planted import planted_seeds


def test_near_misses_name_case_joint_accent_and_slips() -> None:
    words = ["Paris", "well_known", "naive", "accessible", "great", "abuse"]
    space = WordSpace(words, np.eye(6))
    found = near_misses(["paris", "well-known", "naïve", "accessable", "zzzzzzzz", "amuse"], space)
    assert [(miss.found, miss.difference) for miss in found] == [
        ("Paris", "case"), ("well_known", "joint"), ("naive", "accent"), ("accessible", "one letter"),
    ]  # fmt: skip


def test_looking_for_near_misses_is_bounded_whatever_is_typed() -> None:
    asked = []

    class Watched(WordSpace):
        def locate(self, words, *, any_case=False):  # type: ignore[no-untyped-def]
            asked.append(len(words))
            return super().locate(words, any_case=any_case)

    space = Watched(["great"], np.eye(1))
    near_misses(["a" * 6_000, "word " * 1_000], space)
    assert sum(asked) < 100
    asked.clear()
    near_misses(["".join(chr(0x4E00 + 20 * number + place) for place in range(20)) for number in range(100)], space)
    assert sum(asked) < 100 * 6_000  # of two thousand letters, some at each of twenty places


def test_parallel_pairs_are_consistent_and_random_ones_are_not() -> None:
    random = np.random.default_rng(0)
    low = random.normal(size=(20, 30))
    step = 4.0 * np.eye(30)[0]
    words = [f"{side}{row}" for side in "ab" for row in range(20)]
    pairs = [(f"a{row}", f"b{row}") for row in range(20)]
    options = AxisOptions(normalize=False)
    parallel = WordSpace(words, np.vstack([low + step + 0.1 * random.normal(size=low.shape), low]))
    found = pair_consistency(pairs, parallel, np.eye(30)[0], options)
    assert found.parallelism > 0.95
    assert (found.alignment > 0.95, found.ordered) == (True, 1.0)
    chance = pair_consistency(pairs, WordSpace(words, random.normal(size=(40, 30))), np.eye(30)[0], options)
    assert abs(chance.parallelism) < 0.1
    differences = parallel.vectors[:20] - parallel.vectors[20:]
    unit = differences / np.linalg.norm(differences, axis=1, keepdims=True)
    expected = (unit @ unit.T)[np.triu_indices(20, 1)].mean()  # PairDir by its definition
    assert found.parallelism == pytest.approx(expected, abs=1e-5)
    with pytest.raises(LexiconError, match="0 of 1 pairs"):
        pair_consistency([("x", "y")], parallel, np.eye(30)[0], options)


def test_one_letter_added_lost_changed_or_swapped_is_found_and_never_the_first() -> None:
    space = WordSpace(["accessible", "great"], np.eye(2))
    slips = ["accesssible", "accesible", "accessable", "accessibel", "accessibl", "accessiblex", "acecssible"]
    for slip in slips:  # one by one: the letters of the others do not help
        assert [miss.found for miss in near_misses([slip], space)] == ["accessible"], slip
    assert near_misses(["bccessible", "accessabel", "grea"], space) == []
    assert [miss.word for miss in near_misses([*slips[:2], "zzz"], space, most=1)] == slips[:1]


def test_pairs_are_judged_by_the_cosines_of_their_differences() -> None:
    vectors = [[3.0, 4.0], [0.0, 0.0], [2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 3.0], [1.0, 1.0]]
    space = WordSpace(list("abcdefg"), vectors)
    pairs = [("a", "b"), ("c", "d"), ("e", "f"), ("g", "g"), ("a", "absent")]
    found = pair_consistency(pairs, space, np.array([0.6, 0.8]), AxisOptions(normalize=False))
    # differences at unit length: (0.6, 0.8), (1, 0), (0, -1)
    assert found.n_pairs == 3
    assert found.parallelism == pytest.approx((0.6 - 0.8 + 0.0) / 3)
    assert found.alignment == pytest.approx((1.0 + 0.6 - 0.8) / 3)
    assert found.ordered == pytest.approx(2 / 3)
    assert [(*worst[:2], round(worst[2], 6)) for worst in found.worst] == [
        ("e", "f", -0.4), ("a", "b", -0.1), ("c", "d", 0.3),
    ]  # fmt: skip


def test_the_spread_of_a_vocabulary_is_that_of_its_scores_and_errors() -> None:
    random = np.random.default_rng(0)
    scores, errors = random.normal(size=50), random.uniform(0.1, 0.4, size=50)
    expected = 1 - np.mean(errors**2) / np.var(scores)
    assert reliability(scores, errors) == pytest.approx(expected)
    assert 0 < expected < 1
    assert reliability(scores, 10 * errors) == 0.0
    assert reliability(np.ones(50), errors) == 0.0


def test_long_seeds_are_named_up_to_three_the_longest_first() -> None:
    X = np.ones((12, 2), dtype=np.float32)
    X[:4] *= np.array([[6.0], [9.0], [7.0], [5.0]], dtype=np.float32)  # five times is not more than five times
    seeds = Rows(X, np.tile([1.0, -1.0], 6), tuple("abcdefghijkl"))
    assert [(row.word, row.label, round(row.times, 5)) for row in outlying_rows(seeds)] == [
        ("b", -1.0, 9.0), ("c", 1.0, 7.0), ("a", 1.0, 6.0),
    ]  # fmt: skip
    assert outlying_rows(seeds)[0].length == pytest.approx(9 * np.sqrt(2))


def test_slips_are_looked_for_in_words_of_six_to_sixty_letters_and_the_most_frequent_is_meant() -> None:
    six, sixty = "abcdef", "ab" * 30
    space = WordSpace(["zzzzzx", "zzzzzy", six[:4] + "xf", sixty[:-1] + "x", sixty + "x", "abcxe"], np.eye(6))
    assert [miss.found for miss in near_misses([six, sixty], space)] == [six[:4] + "xf", sixty[:-1] + "x"]
    assert near_misses(["abcde", sixty + "y"], space) == []  # of five letters, and of sixty-one
    assert [miss.found for miss in near_misses(["zzzzzw"], space)] == ["zzzzzx"]  # the first in the space


def test_letters_of_any_script_are_tried_the_commonest_hundred_of_the_missing_words() -> None:
    word = "αβγδεζ"
    space = WordSpace([word, "great"], np.eye(2))
    assert near_misses(["αβγδεε"], space) == []  # ζ is no letter of the missing words
    assert [miss.found for miss in near_misses(["αβγδεε", "ζζζζζζζ"], space)] == [word]
    rare = ["ζ" + "".join(chr(0x4E00 + number) * 2 for number in range(100))]  # a hundred letters come twice
    assert (
        near_misses(["αβγδεε", *(part[start : start + 50] for part in rare for start in range(0, 201, 50))], space)
        == []
    )


def test_the_spread_of_a_vocabulary_is_a_share_of_its_variance_and_a_median_error() -> None:
    random = np.random.default_rng(0)
    X = (random.normal(size=(80, 4)) * [2.0, 1.0, 1.0, 0.5] + [3.0, 0.0, 1.0, 0.0]).astype(np.float32)
    space = WordSpace([f"w{row}" for row in range(80)], X)
    labels = np.where(X[:, 0] > 3.0, 1.0, -1.0)
    seeds = Rows(X[:40], labels[:40], space.words[:40], background=space)
    for normalize in (False, True):
        rows = X / np.linalg.norm(X, axis=1, keepdims=True) if normalize else X
        axis = Axis.fit(seeds, "mean-difference", normalize=normalize)
        spread, scores = axis.spread, axis.score(X)
        assert scores.standard_error is not None
        along = rows @ axis.direction
        assert spread.variance_share == pytest.approx(along.var() / rows.var(axis=0).sum(), rel=1e-4)
        assert spread.standard_error == pytest.approx(np.median(scores.standard_error))
        assert spread.reliability == pytest.approx(reliability(scores.score, scores.standard_error))


def test_the_five_pairs_that_agree_least_are_named_and_two_pairs_are_enough() -> None:
    degrees = np.radians([0.0, 2.0, 4.0, 6.0, 40.0, 90.0, 120.0])
    low = np.zeros((7, 2))
    high = np.column_stack([np.cos(degrees), np.sin(degrees)]) * [[3.0]]
    words = [f"{side}{row}" for side in "ab" for row in range(7)]
    space = WordSpace(words, np.vstack([high + 5.0, low + 5.0]))
    pairs = [(f"a{row}", f"b{row}") for row in range(7)]
    plain = AxisOptions(normalize=False)
    found = pair_consistency(pairs, space, np.array([1.0, 0.0]), plain)
    assert [pair[0] for pair in found.worst][:3] == ["a6", "a5", "a0"]
    assert len(found.worst) == 5
    assert found.ordered == pytest.approx(5 / 7)  # one at right angles to the axis is not above, one is below
    two = pair_consistency(pairs[:2], space, np.array([1.0, 0.0]), plain)
    assert (two.n_pairs, two.parallelism) == (2, pytest.approx(np.cos(np.radians(2.0)), abs=1e-5))
    with pytest.raises(LexiconError, match=r"1 of 2 pairs have both words .* at least two are needed"):
        pair_consistency([pairs[0], ("a1", "absent")], space, np.array([1.0, 0.0]), plain)
    shouted = [(first.upper(), second) for first, second in pairs]
    assert pair_consistency(shouted, space, np.array([1.0, 0.0]), AxisOptions(any_case=True)).n_pairs == 7
    unit = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    differences = unit[:7] - unit[7:]
    differences /= np.linalg.norm(differences, axis=1, keepdims=True)
    normalized = pair_consistency(pairs, space, np.array([0.6, 0.8]), AxisOptions())
    assert normalized.alignment == pytest.approx(np.mean(differences @ [0.6, 0.8]), abs=1e-5)


def test_eigenvalues_are_all_those_of_a_method_that_has_them() -> None:
    seeds = planted_seeds(30, 5)
    found = eigenvalues_of(make_rotation("densray").fit(seeds.X, seeds.y), seeds)
    assert found is not None
    assert len(found) == 5
    assert (np.diff(found) <= 0).all()
    assert eigenvalues_of(make_rotation("ridge").fit(seeds.X, seeds.y), seeds) is None
