"""What each seed does to the axis: which seeds are left out, what is known of them, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from densray import Lexicon, WordSpace
from densray.alignment import Alignment
from densray.axes import diagnose
from densray.axes._diagnose import _count_leading, _gap
from densray.axes._evidence import degrees_between
from densray.axes._influence import leave_one_out_axes
from densray.axes._options import AxisOptions, find_seeds
from densray.axes._resampling import refit
from densray.rotations import Rotation, make_rotation
from planted import planted_seeds, planted_space


def known(rotation: Rotation, seeds: Alignment, first: list[int], most: int) -> list[int]:
    axes = leave_one_out_axes(rotation, seeds, first=np.array(first), max_refits=most)
    for row in np.flatnonzero(np.isfinite(axes).all(axis=1)).tolist():
        np.testing.assert_allclose(np.linalg.norm(axes[row]), 1.0)
    return np.flatnonzero(np.isfinite(axes).all(axis=1)).tolist()


@pytest.mark.parametrize("method", ["mean-difference", "ridge", "densray", "densray-unit", "svm"])
def test_without_the_only_word_of_a_label_there_is_no_axis(method: str) -> None:
    seeds = planted_seeds(8, 3, share=1 / 8)
    rotation = make_rotation(method).fit(seeds.X, seeds.y)
    assert known(rotation, seeds, list(range(8)), 8) == [1, 2, 3, 4, 5, 6, 7]
    low = planted_seeds(8, 3, share=7 / 8)
    assert known(make_rotation(method).fit(low.X, low.y), low, list(range(8)), 8) == [0, 1, 2, 3, 4, 5, 6]


def test_every_seed_with_a_score_can_be_left_out() -> None:
    seeds = planted_seeds(8, 3, scores=True)
    for method in ("mean-difference", "ridge", "svr"):
        rotation = make_rotation(method).fit(seeds.X, seeds.y)
        assert known(rotation, seeds, list(range(8)), 8) == list(range(8))


def test_the_most_urgent_seeds_are_fitted_without_and_no_more_than_allowed() -> None:
    seeds = planted_seeds(12, 3)
    rotation = make_rotation("svm").fit(seeds.X, seeds.y)
    assert known(rotation, seeds, [7, 3, 0, 1, 2], 3) == [0, 3, 7]
    assert known(rotation, seeds, [7, 3, 0, 1, 2], 0) == []
    scaled = make_rotation("mean-difference").set_params(scale="columns").fit(seeds.X, seeds.y)
    assert known(scaled, seeds, [7, 3, 0, 1, 2], 2) == [3, 7]
    axes = leave_one_out_axes(scaled, seeds, first=np.arange(12), max_refits=12)
    for row in range(12):
        expected = refit(scaled, seeds.take(np.delete(np.arange(12), row)))
        np.testing.assert_allclose(axes[row], expected, atol=1e-9)


@pytest.mark.parametrize("method", ["mean-difference", "ridge", "svm"])
def test_seeds_of_a_group_are_left_out_together(method: str) -> None:
    seeds = replace(planted_seeds(12, 3), groups=np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]))
    rotation = make_rotation(method).fit(seeds.X, seeds.y, groups=seeds.groups)
    axes = leave_one_out_axes(rotation, seeds, first=np.array([11, 2, 3, 0]), max_refits=2)
    expected = [2, 3, 10, 11] if method == "svm" else list(range(12))
    assert np.flatnonzero(np.isfinite(axes).all(axis=1)).tolist() == expected
    np.testing.assert_array_equal(axes[::2], axes[1::2])
    if method == "mean-difference":
        rest = seeds.take(np.array([0, 1, 4, 5, 6, 7, 8, 9, 10, 11]))
        np.testing.assert_allclose(axes[2], make_rotation(method).fit(rest.X, rest.y).components_[0], atol=1e-9)
    halves = replace(seeds, groups=np.arange(12) // 6)  # each is one label
    axes = leave_one_out_axes(rotation, halves, first=np.arange(12), max_refits=12)
    assert not np.isfinite(axes).any()


def test_a_seed_is_scored_by_the_axis_and_from_the_mean_of_the_others() -> None:
    space, lexicon = planted_space(40, 4)
    found = diagnose(space, lexicon, method="mean-difference", n_permutations=2, normalize=False)
    seeds = find_seeds(space, lexicon, AxisOptions(normalize=False))
    assert found.influence == "leave-one-out, closed form"
    rows = {row["word"]: row for row in found.seeds}
    for place, word in enumerate(seeds.words):
        rest = seeds.take(np.delete(np.arange(seeds.n_words), place))
        axis = make_rotation("mean-difference").fit(rest.X, rest.y).components_[0]
        score = (seeds.X[place] - rest.X.mean(axis=0, dtype=np.float64)) @ axis
        assert rows[word]["score"] == pytest.approx(score + found.model.offset, abs=1e-5)
        assert rows[word]["influence"] == pytest.approx(float(degrees_between(axis, found.model.axis)), abs=1e-4)
        assert rows[word]["label"] == seeds.y[place]
    influences = [row["influence"] for row in found.seeds]
    assert influences == sorted(influences, reverse=True)
    agreements = [row["agreement"] for row in found.contradictions]
    assert agreements == sorted(agreements)
    assert agreements == sorted(row["agreement"] for row in found.seeds if row["agreement"] < 0.5)
    assert found.coverage == 1.0


def test_seeds_that_were_not_left_out_come_last_and_those_on_the_wrong_side_first() -> None:
    space, lexicon = planted_space(60, 3, strength=0.7)
    found = diagnose(space, lexicon, method="svm", n_permutations=2, n_resamples=2, max_refits=4, folds=3)
    assert found.influence == "leave-one-out, refits of 4 of 30 seeds"
    assert [row["influence"] is None for row in found.seeds] == [False] * 4 + [True] * 26
    signed = {row["word"]: row["label"] * (row["score"] - found.model.offset) for row in found.seeds}
    assert {row["word"] for row in found.influential} == set(sorted(signed, key=signed.__getitem__)[:4])
    pairs = {word: str(number // 2) for number, word in enumerate(lexicon.words)}
    grouped = diagnose(space, lexicon, method="svm", groups=pairs, n_permutations=2, n_resamples=2, max_refits=4)
    assert grouped.influence.startswith("leave-group-out, refits of ")
    assert grouped.n_groups == 15
    whole = diagnose(space, lexicon, method="mean-difference", groups=pairs, n_permutations=2)
    assert whole.influence == "leave-group-out, closed form"
    assert found.n_groups is None


def test_a_diagnosis_counts_what_it_rests_on() -> None:
    space, lexicon = planted_space(60, 12)
    larger = Lexicon({**dict(lexicon.items()), "nowhere": 1.0, "neither": -1.0}, name="larger")
    found = diagnose(space, larger, method="densray", n_permutations=2)
    seeds = find_seeds(space, larger)
    assert (found.n_seeds, found.n_high, found.n_low) == (30, int((seeds.y > 0).sum()), int((seeds.y < 0).sum()))
    assert found.coverage == 30 / 32
    assert (found.labels, found.lexicon, found.method) == ("classes", "larger", "densray")
    assert found.provenance.words_used == 30
    assert found.provenance.words_missing == ("nowhere", "neither")
    assert found.provenance.seed == 0
    assert found.eigenvalues is not None
    assert len(found.eigenvalues) == 10
    assert found.eigenvalues == sorted(found.eigenvalues, reverse=True)
    assert found.eigenvalue_gap == pytest.approx((found.eigenvalues[0] - found.eigenvalues[1]) / found.eigenvalues[0])
    assert len(found.axes) == 3
    assert [axis.axis for axis in found.axes] == [0, 1, 2]
    narrow, few = planted_space(60, 2)
    assert len(diagnose(narrow, few, method="densray", n_permutations=2).axes) == 2
    ridge = diagnose(space, larger, method="ridge", n_permutations=2)
    assert (ridge.eigenvalues, ridge.eigenvalue_gap, ridge.pairs) == (None, None, None)


def test_an_eigenvalue_that_stands_alone_or_is_not_above_zero_has_no_gap() -> None:
    assert _gap(np.array([4.0, 1.0, 0.5])) == 0.75
    assert _gap(np.array([4.0, 1.0])) == 0.75
    for values in (None, np.array([4.0]), np.array([0.0, -1.0]), np.array([-1.0, -2.0])):
        assert _gap(values) is None


def test_axes_count_up_to_the_first_that_tells_nothing_apart() -> None:
    for leading, count in (((True, False, True), 1), ((False, True, True), 0), ((True, True, True), 3), ((), 0)):
        assert _count_leading(leading) == count


def test_progress_is_told_in_four_hundred_steps() -> None:
    space, lexicon = planted_space(40, 3)
    steps: list[tuple[float, float]] = []
    diagnose(space, lexicon, method="svm", n_permutations=2, n_resamples=2, max_refits=2, folds=2,
             progress=lambda done, total: steps.append((done, total)))  # fmt: skip
    assert {total for _, total in steps} == {400}
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert {100, 200, 300, 400} <= {done for done, _ in steps}


def test_a_space_may_hold_the_seeds_alone() -> None:
    seeds = planted_seeds(30, 3, scores=True)
    space = WordSpace(seeds.words, seeds.X)
    found = diagnose(space, Lexicon(dict(zip(seeds.words, seeds.y.tolist(), strict=True)), neutral="keep"))
    assert found.labels == "scores"
    assert (found.n_high, found.n_low) == (15, 15)
