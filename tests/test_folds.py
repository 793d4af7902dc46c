"""Folds: groups stay whole, classes and scores keep their shares, and held-out scores have not seen their rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from densray import Axis
from densray.axes import diagnose, find_rows, induce
from densray.errors import TaskError
from densray.folds import count_folds, draw_folds, stratified_folds
from densray.metrics import auc, auc_interval, kendall_tau, tau_interval
from densray.rotations import make_rotation
from densray.statistics import HELD_OUT_INFLATION, held_out_scores
from planted import planted_seeds, planted_space


def test_held_out_coordinates_are_those_on_axes_of_the_other_folds_turned_to_the_higher_label() -> None:
    seeds = planted_seeds(30, 5, share=0.4)
    rotation = make_rotation("densray").fit(seeds.X, seeds.y)
    folds = stratified_folds(seeds, 3, np.random.default_rng(0))
    found = held_out_scores(rotation, seeds, folds, n_axes=3)
    for fold in range(3):
        test, X, y = folds == fold, seeds.X[folds != fold].astype(np.float64), seeds.y[folds != fold]
        axes = make_rotation("densray", 3).fit(X, y).components_
        for column, axis in enumerate(axes):
            sign = np.sign(X[y > 0].mean(axis=0) @ axis - X[y < 0].mean(axis=0) @ axis)
            expected = sign * (seeds.X[test] - X.mean(axis=0)) @ axis
            np.testing.assert_allclose(found[test, column], expected, atol=1e-5)


def test_folds_are_as_many_as_asked_for_or_as_words_of_the_smaller_class() -> None:
    for n, share, wanted, expected in ((20, 0.5, 10, 10), (20, 0.5, 11, 10), (20, 0.1, 10, 2), (20, 0.5, 2, 2)):
        assert count_folds(planted_seeds(n, 2, share=share), wanted) == expected
    with pytest.raises(TaskError, match="1 of the higher label and 19 of the lower"):
        count_folds(planted_seeds(20, 2, share=0.05), 10)
    with pytest.raises(TaskError, match="1 of the lower"):
        count_folds(planted_seeds(20, 2, share=0.95), 10)
    named = replace(planted_seeds(20, 2, share=0.05), class_names=("rest", "-99"))
    with pytest.raises(TaskError, match=r"1 of '-99' and 19 of 'rest'; at least two .* Add rows\.$"):
        count_folds(named, 10)
    with pytest.raises(TaskError, match=r"Add rows\. If '-99' is not a class, leave its label empty\."):
        count_folds(replace(named, table="docs.parquet"), 10)
    with pytest.raises(TaskError, match="folds=1 is given"):
        count_folds(planted_seeds(20, 2), 1)
    pairs = replace(planted_seeds(20, 2, share=0.2), groups=np.arange(20) // 2)
    assert count_folds(pairs, 10) == 2  # four words of the higher label, in two groups
    with pytest.raises(TaskError, match=r"20 rows were found in 5 groups: 1 of the higher label and 4"):
        count_folds(replace(pairs, groups=np.arange(20) // 4), 10)


def test_scores_of_neighbours_in_label_order_go_to_different_folds() -> None:
    seeds = planted_seeds(23, 2, scores=True)
    folds = stratified_folds(seeds, 5, np.random.default_rng(0))
    in_order = folds[np.argsort(seeds.y)]
    for start in range(0, 20, 5):
        assert sorted(in_order[start : start + 5].tolist()) == [0, 1, 2, 3, 4]
    again = draw_folds(seeds, 5, 0)
    np.testing.assert_array_equal(again, folds)
    classes = planted_seeds(23, 2, share=0.4)
    folds = stratified_folds(classes, 3, np.random.default_rng(0))
    for label in (1.0, -1.0):
        counts = np.bincount(folds[classes.y == label])
        assert np.ptp(counts) <= 1


def test_a_diagnosis_holds_the_held_out_figures_with_wider_intervals() -> None:
    space, lexicon = planted_space(60, 4)
    found = diagnose(space, lexicon, method="mean-difference", n_permutations=2, folds=4)
    seeds = find_rows(space, lexicon).unit()
    folds = stratified_folds(seeds, 4, np.random.default_rng(0))
    held_out = held_out_scores(make_rotation("mean-difference").fit(seeds.X, seeds.y), seeds, folds)[:, 0]
    assert found.axes[0].auc == pytest.approx(auc(seeds.sides, held_out))
    assert found.axes[0].tau == pytest.approx(kendall_tau(seeds.y, held_out))
    assert found.axes[0].auc_interval == pytest.approx(
        auc_interval(seeds.sides, held_out, inflation=HELD_OUT_INFLATION)
    )
    assert found.tau_interval == pytest.approx(tau_interval(seeds.y, held_out, inflation=HELD_OUT_INFLATION))
    induced = induce(space, lexicon, method="mean-difference", folds=4)
    assert induced.verdict is not None
    low, high = found.axes[0].auc_interval
    assert f"AUC {found.axes[0].auc:.2f} [{low:.2f}, {high:.2f}]" in induced.verdict.line
    low, high = found.vocabulary.reliability_interval
    assert f"reliability {found.vocabulary.reliability:.2f} [{low:.2f}, {high:.2f}]" in induced.verdict.line
    assert f"seed angle {found.seed_angle.upper:.0f}°" in induced.verdict.line
    assert f"{len(seeds)} seeds" in induced.verdict.sentence


def test_held_out_scores_know_nothing_of_their_words() -> None:
    """With random labels in many dimensions an axis tells its own words apart perfectly, and others not at all."""
    seeds = planted_seeds(60, 100, strength=0.0)
    rotation = make_rotation("ridge").fit(seeds.X, seeds.y)
    folds = stratified_folds(seeds, 10, np.random.default_rng(0))
    held_out = held_out_scores(rotation, seeds, folds)[:, 0]
    assert abs(np.corrcoef(held_out, seeds.y)[0, 1]) < 0.35
    assert np.corrcoef(seeds.X @ rotation.components_[0], seeds.y)[0, 1] > 0.6


def test_folds_keep_shares_of_classes_and_scores() -> None:
    seeds = planted_seeds(50, 3, share=0.2)
    folds = stratified_folds(seeds, 5, np.random.default_rng(0))
    assert all(np.sum((folds == fold) & (seeds.y > 0)) == 2 for fold in range(5))
    scored = planted_seeds(50, 3, scores=True)
    folds = stratified_folds(scored, 5, np.random.default_rng(0))
    assert np.bincount(folds).tolist() == [10] * 5
    assert max(abs(np.mean(scored.y[folds == fold]) - scored.y.mean()) for fold in range(5)) < 0.25


def test_the_held_out_scores_of_an_axis_are_those_of_its_folds() -> None:
    seeds = planted_seeds(30, 5, share=0.4)
    axis = Axis.fit(seeds, "mean-difference", normalize=False, folds=5, random_state=3)
    np.testing.assert_array_equal(axis.folds, draw_folds(seeds, 5, 3))
    np.testing.assert_array_equal(axis.held_out, held_out_scores(axis.rotation, seeds, axis.folds)[:, 0])
    assert axis.agreement.auc == auc(seeds.sides, axis.held_out)
