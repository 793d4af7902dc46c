"""The axis without each row: closed forms equal refits, groups go together, and diagnoses use those axes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from densray.axes import degrees_between, diagnose, find_rows
from densray.rotations import DensRay, Rotation, make_rotation
from densray.rows import Rows
from densray.statistics import axes_without_each, refit
from planted import planted_seeds, planted_space


def known(rotation: Rotation, seeds: Rows, first: list[int], most: int) -> list[int]:
    axes = axes_without_each(rotation, seeds, first=np.array(first), max_refits=most)
    for row in np.flatnonzero(np.isfinite(axes).all(axis=1)).tolist():
        np.testing.assert_allclose(np.linalg.norm(axes[row]), 1.0)
    return np.flatnonzero(np.isfinite(axes).all(axis=1)).tolist()


@pytest.mark.parametrize("method", ["mean-difference", "ridge", "densray", "densray-unit", "svm"])
def test_the_only_word_of_a_label_cannot_be_left_out(method: str) -> None:
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
    scaled = make_rotation("mean-difference").set_params(standardize=True).fit(seeds.X, seeds.y)
    assert known(scaled, seeds, [7, 3, 0, 1, 2], 2) == [3, 7]
    axes = axes_without_each(scaled, seeds, first=np.arange(12), max_refits=12)
    for row in range(12):
        expected = refit(scaled, seeds.take(np.delete(np.arange(12), row)))
        np.testing.assert_allclose(axes[row], expected, atol=1e-9)


@pytest.mark.parametrize("method", ["mean-difference", "ridge", "svm"])
def test_seeds_of_a_group_are_left_out_together(method: str) -> None:
    seeds = replace(planted_seeds(12, 3), groups=np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]))
    rotation = make_rotation(method).fit(seeds.X, seeds.y, groups=seeds.groups)
    axes = axes_without_each(rotation, seeds, first=np.array([11, 2, 3, 0]), max_refits=2)
    expected = [2, 3, 10, 11] if method == "svm" else list(range(12))
    assert np.flatnonzero(np.isfinite(axes).all(axis=1)).tolist() == expected
    np.testing.assert_array_equal(axes[::2], axes[1::2])
    if method == "mean-difference":
        rest = seeds.take(np.array([0, 1, 4, 5, 6, 7, 8, 9, 10, 11]))
        np.testing.assert_allclose(axes[2], make_rotation(method).fit(rest.X, rest.y).components_[0], atol=1e-9)
    halves = replace(seeds, groups=np.arange(12) // 6)  # each is one label
    axes = axes_without_each(rotation, halves, first=np.arange(12), max_refits=12)
    assert not np.isfinite(axes).any()


def test_a_seed_is_scored_by_the_axis_and_from_the_mean_of_the_others() -> None:
    space, lexicon = planted_space(40, 4)
    found = diagnose(space, lexicon, method="mean-difference", n_permutations=2, normalize=False)
    seeds = find_rows(space, lexicon)
    assert found.influence == "leave-one-out, closed form"
    offset = seeds.X.mean(axis=0, dtype=np.float64) @ found.axis.direction
    rows = {row["word"]: row for row in found.seeds}
    for place, word in enumerate(seeds.names):
        rest = seeds.take(np.delete(np.arange(len(seeds)), place))
        axis = make_rotation("mean-difference").fit(rest.X, rest.y).components_[0]
        score = (seeds.X[place] - rest.X.mean(axis=0, dtype=np.float64)) @ axis
        assert rows[word]["score"] == pytest.approx(score + offset, abs=1e-5)
        assert rows[word]["influence"] == pytest.approx(float(degrees_between(axis, found.axis.direction)), abs=1e-4)
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
    offset = find_rows(space, lexicon).unit().X.mean(axis=0, dtype=np.float64) @ found.axis.direction
    signed = {row["word"]: row["label"] * (row["score"] - offset) for row in found.seeds}
    assert {row["word"] for row in found.influential} == set(sorted(signed, key=signed.__getitem__)[:4])
    pairs = {word: str(number // 2) for number, word in enumerate(lexicon.words)}
    grouped = diagnose(space, lexicon, method="svm", groups=pairs, n_permutations=2, n_resamples=2, max_refits=4)
    assert grouped.influence.startswith("leave-group-out, refits of ")
    assert grouped.n_groups == 15
    whole = diagnose(space, lexicon, method="mean-difference", groups=pairs, n_permutations=2)
    assert whole.influence == "leave-group-out, closed form"
    assert found.n_groups is None


def left_out(seeds: Rows, row: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    others = np.delete(np.arange(len(seeds)), row)
    return seeds.X[others].astype(np.float64), seeds.y[others]


def without_each(rotation: Rotation, seeds: Rows) -> NDArray[np.float64]:
    return axes_without_each(rotation, seeds, first=np.arange(len(seeds)), max_refits=10**6)


@pytest.mark.filterwarnings("ignore:n_components")
@pytest.mark.parametrize(("n", "width"), [(40, 8), (24, 50), (6, 3)])
@pytest.mark.parametrize("share", [0.5, 0.3])
@pytest.mark.parametrize(
    "rotation",
    [DensRay(1), DensRay(1, weights=(0.5, 0.5)), DensRay(1, weights=(1.0, 0.2)), make_rotation("mean-difference")],
    ids=["balanced", "equal", "unlike", "mean-difference"],
)
def test_axes_without_each_row_are_those_of_refits(rotation: Rotation, share: float, n: int, width: int) -> None:
    seeds = planted_seeds(n, width, share=share, strength=0.7)
    rotation.fit(seeds.X, seeds.y)
    for row, axis in enumerate(without_each(rotation, seeds)):
        np.testing.assert_allclose(axis, rotation.fit(*left_out(seeds, row)).components_[0], atol=1e-6)


@pytest.mark.parametrize("method", ["densray", "mean-difference", "densray-unit", "svr"])
def test_leave_one_out_of_scores_equals_refitting(method: str) -> None:
    seeds = planted_seeds(30, 6, scores=True)
    rotation = make_rotation(method).fit(seeds.X, seeds.y)
    for row, axis in enumerate(without_each(rotation, seeds)):
        expected = make_rotation(method).fit(*left_out(seeds, row)).components_[0]
        np.testing.assert_allclose(axis, expected, atol=1e-5)


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize(("n", "width"), [(40, 8), (24, 50)])
def test_leave_one_out_of_ridge_equals_refitting_at_its_penalty(scores: bool, n: int, width: int) -> None:
    seeds = planted_seeds(n, width, share=0.4, scores=scores)
    rotation = make_rotation("ridge").fit(seeds.X, seeds.y)
    for row, axis in enumerate(without_each(rotation, seeds)):
        expected = Ridge(rotation.penalty_).fit(*left_out(seeds, row)).coef_
        np.testing.assert_allclose(axis, expected / np.linalg.norm(expected), atol=1e-9)


def test_axes_of_densray_without_pairs_of_both_classes_are_those_of_refits() -> None:
    seeds = replace(planted_seeds(20, 4, strength=0.7), groups=np.arange(20) % 10)
    rotation = DensRay(1).fit(seeds.X, seeds.y)
    axes = axes_without_each(rotation, seeds, first=np.arange(20), max_refits=0)
    for row in range(20):
        expected = refit(rotation, seeds.take(np.flatnonzero(seeds.groups != seeds.groups[row])))
        np.testing.assert_allclose(axes[row], expected, atol=1e-6)
