"""Cases that broke an earlier version, or would break an obvious one."""

from __future__ import annotations

import warnings

import array_api_strict
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from densray import Axis, Densifier, DensRay, LinearRotation, MeanDifference, SequentialRotation
from densray.errors import DensRayError, LabelError, NotAdditiveError, PersistenceError, SignalWarning, VectorError
from densray.pairs import PairWeights
from densray.rotations import METHODS
from densray.rotations._densifier_solvers import SpreadObjective, ascend
from densray.rotations._labels import read_labels


@pytest.fixture
def overlapping():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(90) % 3 == 0, 1.0, -1.0)
    X = rng.normal(size=(90, 6))
    X[y > 0, 1] += 1.5
    return X, y


@pytest.mark.parametrize("name", ["svm", "svr"])
def test_a_second_support_vector_axis_that_beats_no_constant_is_named(overlapping, name):
    """In the complement the classes overlap wholly, and coefficients of zero are optimal (a linear program shows it)."""
    with pytest.warns(SignalWarning, match=f"after 1 a model of '{name}' is at chance"):
        axes = LinearRotation(name, n_components=2).fit(*overlapping).components_
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-12)


@pytest.mark.parametrize(("n", "d"), [(20, 10), (50, 10), pytest.param(100, 20, marks=pytest.mark.slow)])
def test_the_exact_densifier_is_near_the_best_of_many_starts_on_few_words(n, d):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(n, d)), np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
        found = Densifier(weights=(0.5, 0.5)).fit(X, y).objective_
        objective = SpreadObjective(X, read_labels(y, n), PairWeights(0.5, 0.5), np.ones(n))
        starts = rng.normal(size=(30, d))
        best = max(ascend(objective, q / np.linalg.norm(q), max_iter=500, tol=1e-10)[1] for q in starts)
        assert found > 0.97 * best


@pytest.mark.parametrize("offset", [1e6, 1e8])
@pytest.mark.parametrize("name", ["densray", "densray-unit", "mean-difference", "ridge", "linear"])
def test_scores_far_from_zero_keep_the_axis_in_float32(name, offset):
    """Years, time stamps: the scores are centred before they are rounded."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 8)).astype(np.float32)
    scores = X[:, 2].astype(float) + 0.5 * rng.normal(size=300)
    near = METHODS[name].make(1).fit(X, scores).components_[0]
    far = METHODS[name].make(1).fit(X, scores + offset).components_[0]
    assert near @ far > 0.9999


@pytest.mark.parametrize("name", ["mean-difference", "ridge", "linear", "svm"])
def test_a_zero_first_entry_does_not_make_the_completion_hang_on_the_sign(overlapping, name):
    X, y = overlapping
    X = np.column_stack([np.full(90, 0.25), X])
    first, second = (METHODS[name].make(None).fit(X, labels).components_ for labels in (y, -y))
    np.testing.assert_allclose(second[1:], first[1:], atol=1e-6)
    np.testing.assert_allclose(second[0], -first[0], atol=1e-6)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_rows_that_are_all_the_same_are_refused(name):
    with pytest.raises(VectorError, match="all 60 rows of X are the same vector"):
        METHODS[name].make(1).fit(np.full((60, 6), 0.1), np.arange(60) % 2)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_vectors_too_large_or_small_to_square_are_refused_in_float32(overlapping, scale):
    X, y = overlapping
    with pytest.raises(VectorError, match=r"too (large|small) to be squared in float32. Scale"):
        DensRay().fit((X * scale).astype(np.float32), y)


def test_merging_finds_the_same_signal_as_one_fit():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 60)) * np.logspace(0, -3.5, 60)
    y = np.where(np.arange(600) % 3 == 0, 1, -1)
    X[:, 5] += 0.2 * y
    merged = DensRay().fit(X[:300], y[:300]).merge(DensRay().fit(X[300:], y[300:]))
    whole = DensRay().fit(X, y)
    assert merged.n_signal_axes_ == whole.n_signal_axes_
    np.testing.assert_allclose(merged.components_, whole.components_, atol=1e-6)


def test_statistics_of_another_form_or_method_are_not_merged():
    rng = np.random.default_rng(3)
    X, s = rng.normal(size=(60, 4)), rng.normal(size=60)
    with pytest.raises(NotAdditiveError, match="lack the second moments"):
        DensRay(center_labels=False).fit(X, s).merge(DensRay().fit(X, s))
    with pytest.raises(DensRayError, match="a MeanDifference cannot be merged into a DensRay"):
        DensRay().fit(X, s).merge(MeanDifference().fit(X, s))


def test_rows_that_weigh_nothing_are_absent_everywhere(overlapping):
    X, y = overlapping
    weight = (y < 0).astype(float)
    with pytest.raises(LabelError, match="all labels in y are"):
        Densifier().fit(X, np.c_[y, y], sample_weight=weight)
    rotation = MeanDifference().partial_fit(X, y, sample_weight=weight)
    assert not hasattr(rotation, "components_")  # one class so far
    half = np.where(np.arange(90) < 45, 1.0, 0.0)
    strict = DensRay(1).fit(
        array_api_strict.asarray(X), array_api_strict.asarray(y), sample_weight=array_api_strict.asarray(half)
    )
    np.testing.assert_allclose(strict.components_, DensRay(1).fit(X[:45], y[:45]).components_, atol=1e-12)


def test_wrong_weights_are_named_on_any_kind_of_array(overlapping):
    X, y = overlapping
    for rows in (X, array_api_strict.asarray(X)):
        with pytest.raises(VectorError, match=r"sample_weight has shape \(3,\)"):
            DensRay().fit(rows, y, sample_weight=np.ones(3))
        with pytest.raises(VectorError, match="not negative"):
            DensRay().fit(rows, y, sample_weight=-np.ones(90))
    with pytest.raises(VectorError, match="not made of numbers"):
        DensRay().fit(X, y, sample_weight=["a"] * 90)


def test_several_concepts_can_be_scored_and_searched_over(overlapping):
    X, y = overlapping
    Y = np.column_stack([y, np.where(X[:, 3] > 0, 1.0, np.nan)])
    Y[:10, 1] = -1.0
    rotation = SequentialRotation().fit(X, Y)
    labelled = ~np.isnan(Y[:, 1])
    from scipy.stats import kendalltau

    Z = rotation.transform(X)
    expected = (kendalltau(Z[:, 0], y).statistic + kendalltau(Z[labelled, 1], Y[labelled, 1]).statistic) / 2
    assert rotation.score(X, Y) == pytest.approx(expected)
    both = np.column_stack([y, np.where(X[:, 3] > 0, 1.0, -1.0)])
    search = GridSearchCV(SequentialRotation(), {"rotation": [DensRay(1), LinearRotation()]}, cv=2).fit(X, both)
    assert 0 < search.best_score_ < 1
    assert Densifier(random_state=0).fit(X, both).score(X, both) > 0.4
    with pytest.raises(LabelError, match="3 columns; 2 signals"):
        rotation.score(X, np.column_stack([both, y]))


@pytest.mark.parametrize(
    ("rotation", "labels"),
    [
        (Densifier(1.5), "two"),
        (Densifier((1.5, 1)), "two"),
        (Densifier(True), "two"),
        (Densifier(max_iter=1.5), "one"),
        (Densifier(tol="a"), "one"),
        (LinearRotation("lda"), "few"),
    ],
    ids=repr,
)
def test_odd_parameters_are_named(overlapping, rotation, labels):
    X, y = overlapping
    target = {"one": y, "two": np.c_[y, -y], "few": y[:2]}[labels]
    with pytest.raises(DensRayError):
        clone(rotation).fit(X[: len(target)], np.array([1, -1]) if labels == "few" else target)


def test_mixed_labels_over_blocks_are_named(overlapping):
    X, y = overlapping
    with pytest.raises(LabelError, match="text labels were seen in one block and numbers in another"):
        DensRay().partial_fit(X, np.where(y > 0, "a", "b")).partial_fit(X, y)
    rotation = DensRay(1).fit(X, y)
    with pytest.raises(DensRayError, match="strength='a'"):
        rotation.erase(X, strength="a")
    with pytest.raises(VectorError, match="numbers are needed"):
        rotation.inverse_transform([["a"]])


def test_no_single_changed_byte_of_a_saved_rotation_escapes_our_errors(overlapping, tmp_path):
    path = Axis.of(DensRay(1).fit(*overlapping)).save(tmp_path / "axis")
    content, rng = path.read_bytes(), np.random.default_rng(4)
    expected = Axis.load(path).rotation.components_
    for place in rng.integers(len(content), size=300):
        changed = bytearray(content)
        changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                loaded = Axis.load(path).rotation
            except PersistenceError:
                continue
        np.testing.assert_array_equal(loaded.components_, expected)


def test_small_weights_choose_the_ridge_as_their_multiples_up_to_one_do():
    """A weight of at most one is left out whole, so that the scale of such weights does not matter."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 40))
    y = X[:, 0] + rng.normal(size=60)
    weight = rng.uniform(0.2, 1.0, size=60)
    axes = [LinearRotation().fit(X, y, sample_weight=scale * weight).components_[0] for scale in (1.0, 0.1, 1e-3)]
    np.testing.assert_allclose(axes[1], axes[0], atol=1e-8)
    np.testing.assert_allclose(axes[2], axes[0], atol=1e-8)
    even = LinearRotation().fit(X, y, sample_weight=np.full(60, 1 / 60)).components_[0]
    np.testing.assert_allclose(even, LinearRotation().fit(X, y).components_[0], atol=1e-8)


def test_labels_too_large_to_square_are_named(overlapping):
    X, y = overlapping
    with pytest.raises(LabelError, match=r"a label of 1.0e\+300; numbers below 1e\+100"):
        DensRay().fit(X, 1e300 * y)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_ordered_categories_that_contradict_the_alphabet_are_refused(library: str) -> None:
    frames = pytest.importorskip(library)
    names = ["high", "low", "high", "low"]
    X = np.array([[1.0, 0.0], [-1.0, 0.2], [1.1, 0.1], [-0.9, 0.0]])
    if library == "pandas":
        y = frames.Series(frames.Categorical(names, categories=["low", "high"], ordered=True))
        sorted_like_the_alphabet = frames.Series(frames.Categorical(names, categories=["high", "low"], ordered=True))
        codes = y.cat.codes
    else:
        y = frames.Series(names, dtype=frames.Enum(["low", "high"]))
        sorted_like_the_alphabet = frames.Series(names, dtype=frames.Enum(["high", "low"]))
        codes = y.to_physical()
    for rotation in (DensRay(1), LinearRotation("ridge"), MeanDifference(1)):
        with pytest.raises(LabelError, match=r"low < high\), but text labels are sorted by the alphabet"):
            rotation.fit(X, y)
        assert rotation.fit(X, codes).components_[0, 0] > 0.9
        assert rotation.fit(X, sorted_like_the_alphabet).components_[0, 0] < -0.9
