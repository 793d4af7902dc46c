"""Null-space projection: axes are taken until a linear classifier tells unseen words apart no better than chance."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from densray import LinearRotation
from densray.affine import AffineMap
from densray.datasets import load_lexicon, load_space
from densray.errors import SignalWarning
from densray.removers import _is_above_chance, inlp


def test_null_space_projection_leaves_nothing_a_linear_classifier_finds_in_unseen_words() -> None:
    random = np.random.default_rng(0)
    y = np.tile([1.0, -1.0], 100)
    X = random.normal(size=(200, 12))
    X[:, 3] += 2.0 * y
    with pytest.warns(SignalWarning, match="inlp stopped"):
        erasure = inlp(X, y)
    before, after = (cross_val_score(SVC(kernel="linear"), Z, y, cv=4).mean() for Z in (X, erasure.apply(X)))
    assert before > 0.9
    assert after < 0.6


def test_null_space_projection_stops_once_words_are_inseparable() -> None:
    google = load_space("googlenews-26k", normalize=True)
    aligned = load_lexicon("gender").align(google)
    order = np.random.default_rng(0).permutation(len(aligned.y))
    with pytest.warns(SignalWarning, match=r"inlp stopped after \d of 10 axes"):
        found = inlp(aligned.X, aligned.y)
    with pytest.warns(SignalWarning, match="inlp stopped"):
        permuted = inlp(aligned.X[order], aligned.y[order])
    assert 1 <= found.rank < 4
    assert permuted.rank == found.rank
    assert np.linalg.svd(found.span @ permuted.span.T)[1] == pytest.approx(np.ones(found.rank), abs=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.allclose(inlp(aligned.X, aligned.y, found.rank).span, found.span)


def test_a_linear_classifier_decides_whether_rows_are_separable() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(80, 2)), np.tile([1.0, -1.0], 40)
    ring = np.where(np.linalg.norm(X, axis=1) > 1.1, 1.0, -1.0)
    assert not _is_above_chance(X, ring)  # no line does, though a circle would
    assert not _is_above_chance(X, y)
    assert not _is_above_chance(X, np.where(np.arange(80) < 70, 1.0, -1.0))  # the larger class is no merit
    assert _is_above_chance(X, np.sign(X[:, 0]))
    assert _is_above_chance(X[:12], np.sign(X[:12, 0] - np.sort(X[:12, 0])[3]) + (X[:12, 0] == np.sort(X[:12, 0])[3]))
    assert not _is_above_chance(X, np.where(np.arange(80) < 1, 1.0, -1.0))  # one word cannot be held out
    many = random.normal(size=(1200, 2))
    assert _is_above_chance(many, np.sign(many[:, 1]))
    assert not _is_above_chance(many, np.tile([1.0, -1.0], 600))


def slowly_forgotten(n: int = 120, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two classes that differ in mean along one direction and in correlated noise: several axes tell them apart."""
    random = np.random.default_rng(seed)
    y = np.tile([1.0, -1.0], n // 2)
    noise = random.normal(size=(n, 8)) @ random.normal(size=(8, 8))
    return noise + 1.5 * y[:, None] * random.normal(size=8), y


def test_null_space_projection_takes_axes_until_the_first_that_leaves_nothing() -> None:
    X, y = slowly_forgotten()
    every = LinearRotation("svm", n_components=6).fit(X, y)
    above = [_is_above_chance(AffineMap.of(every, count).apply(X), y) for count in range(1, 6)]
    wanted = above.index(False) + 1
    assert wanted >= 3  # control: more than one step of the search
    with pytest.warns(SignalWarning, match=f"inlp stopped after {wanted} of 6 axes"):
        found = inlp(X, y, 6)
    assert found.rank == wanted
    assert np.linalg.svd(found.span @ every.components_[:wanted].T)[1] == pytest.approx(np.ones(wanted), abs=1e-4)
    for fewer in (1, wanted):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert inlp(X, y, fewer).rank == fewer


def is_above_chance_by_hand(X: NDArray[np.float64], y: NDArray[np.float64], splits: Any) -> float:
    """The p of as many hits on words left out, were each as likely as the larger class is common."""
    hits = tested = larger = 0
    for train, test in splits.split(X, y > 0):
        hits += int(np.sum(SVC(kernel="linear").fit(X[train], y[train]).predict(X[test]) == y[test]))
        tested += len(test)
        larger += max(int((y[test] > 0).sum()), int((y[test] < 0).sum()))
    return float(binomtest(hits, tested, larger / tested, alternative="greater").pvalue)


def test_rows_are_separable_if_chance_is_below_five_percent() -> None:
    counted = {False: 0, True: 0}
    for seed in range(24):
        random = np.random.default_rng(seed)
        y = np.where(np.arange(40) < 22, 1.0, -1.0)
        X = random.normal(size=(40, 3))
        X[:, 0] += 0.35 * y
        p = is_above_chance_by_hand(X, y, StratifiedKFold(5, shuffle=True, random_state=0))
        if 0.02 < p < 0.12:  # near the bound on either side
            assert _is_above_chance(X, y) == (p < 0.05), seed
            counted[p < 0.05] += 1
    assert min(counted.values()) >= 2


@pytest.mark.parametrize(("n_high", "folds"), [(3, 3), (5, 5), (7, 5)])
def test_a_class_of_few_words_is_left_out_in_as_many_folds(n_high: int, folds: int) -> None:
    random = np.random.default_rng(n_high)
    y = np.where(np.arange(30) < n_high, 1.0, -1.0)
    X = random.normal(size=(30, 2))
    X[:, 0] += 3.0 * y
    p = is_above_chance_by_hand(X, y, StratifiedKFold(folds, shuffle=True, random_state=0))
    assert _is_above_chance(X, y) == (p < 0.05)


@pytest.mark.parametrize("n", [999, 1000])
def test_from_a_thousand_words_on_one_fifth_is_left_out(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[int] = []
    fit = SVC.fit
    monkeypatch.setattr(SVC, "fit", lambda self, X, y: (fitted.append(len(X)), fit(self, X, y))[1])
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = np.column_stack([y, np.arange(n) % 7])
    assert _is_above_chance(X, y)
    assert fitted == ([800] if n == 1000 else [799, 799, 799, 799, 800])


def test_one_axis_is_removed_even_if_words_are_inseparable() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 4)), np.tile([1.0, -1.0], 30)
    assert not _is_above_chance(X, y)  # the control
    with pytest.warns(SignalWarning, match=r"inlp stopped after 1 of 3 axes: .* Ask for 1, or give more words"):
        assert inlp(X, y, 3).rank == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (inlp(X, y, 1).rank, inlp(X, y, 1).method) == (1, "inlp")
