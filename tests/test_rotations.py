"""What holds for every method: one property, one test."""

from __future__ import annotations

import inspect
import pickle
import warnings

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.stats import ortho_group
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from densray import load_lexicon
from densray.errors import DensRayError, LabelError, RotationNotFittedError, VectorError
from densray.rotations import (
    METHODS,
    Densifier,
    DensRay,
    LinearRotation,
    MeanDifference,
    PairDirection,
    Rotation,
    SequentialRotation,
)

WIDTH = 12

BUILDERS = {
    **{name: method.make for name, method in METHODS.items()},
    "densray (0.5, 0.5)": lambda k: DensRay(k, weights=(0.5, 0.5)),
    "densifier sgd": lambda k: Densifier(k, solver="sgd", random_state=0),
    "sequential": lambda k: SequentialRotation(n_components=k),
}
#: Methods of scores: least squares undoes the covariance of the noise, however small the noise.
REGRESSIONS = {"ridge", "linear", "cca"} & set(METHODS)
CLASSES_ONLY = {name for name, method in METHODS.items() if method.classes_only}


def without(*names: str) -> list[str]:
    """All methods but these: "densifier sgd" draws pairs by row number and starts anywhere, some take no weights."""
    return sorted(set(BUILDERS) - set(names))


@pytest.fixture(params=sorted(BUILDERS))
def method(request: pytest.FixtureRequest) -> str:
    return request.param


def make(method: str, n_components: int | None = 1) -> Rotation:
    return BUILDERS[method](n_components)


@pytest.fixture(scope="module")
def sample():
    """120 words, 40 positive and 80 negative, that differ along a hidden direction and are noisy elsewhere."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=WIDTH)
    hidden /= np.linalg.norm(hidden)
    y = np.where(np.arange(120) % 3 == 0, 1, -1)
    noise = rng.normal(size=(120, WIDTH)) * np.linspace(0.3, 1.0, WIDTH)
    return noise + 1.5 * y[:, None] * hidden + 0.2, y, hidden


def test_the_rows_are_orthonormal_to_ten_digits(method, sample):
    X, y, _ = sample
    C = make(method, None).fit(X, y).components_
    assert C.shape == (WIDTH, WIDTH)
    np.testing.assert_allclose(C @ C.T, np.eye(WIDTH), atol=1e-10)


def test_norms_cosines_and_neighbours_are_unchanged(method, sample):
    X, y, _ = sample
    Z = make(method, None).fit(X, y).transform(X)
    np.testing.assert_allclose(Z @ Z.T, X @ X.T, atol=1e-10)
    unit_X, unit_Z = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (X, Z))
    np.testing.assert_array_equal(np.argsort(-(unit_Z @ unit_Z.T))[:, :5], np.argsort(-(unit_X @ unit_X.T))[:, :5])


def test_inverse_of_transform_is_identity(method, sample):
    X, y, _ = sample
    rotation = make(method, None).fit(X, y)
    np.testing.assert_allclose(rotation.inverse_transform(rotation.transform(X)), X, atol=1e-10)


@pytest.mark.parametrize("method", without("densifier sgd"))
def test_row_order_is_irrelevant(method, sample):
    X, y, _ = sample
    order = np.random.default_rng(1).permutation(len(X))
    first, second = make(method).fit(X, y), make(method).fit(X[order], y[order])
    np.testing.assert_allclose(second.components_, first.components_, atol=1e-6)


@pytest.mark.parametrize("method", without("densifier sgd"))
def test_label_flip_reverses_only_the_concept_axis(method, sample):
    X, y, _ = sample
    first, second = make(method, None).fit(X, y).components_, make(method, None).fit(X, -y).components_
    np.testing.assert_allclose(second[0], -first[0], atol=1e-6)
    np.testing.assert_allclose(second[1:], first[1:], atol=1e-6)


@pytest.mark.parametrize("method", without("densifier sgd"))
def test_a_rotated_input_gives_the_rotated_axis(method, sample):
    X, y, _ = sample
    Q = ortho_group.rvs(WIDTH, random_state=2)
    first, second = make(method).fit(X, y), make(method).fit(X @ Q.T, y)
    np.testing.assert_allclose(second.components_, first.components_ @ Q.T, atol=1e-5)


def angle(axis, direction) -> float:
    return float(np.degrees(np.arccos(np.clip(axis @ direction, -1, 1))))


@pytest.mark.parametrize("method", without(*REGRESSIONS))
def test_a_planted_direction_is_recovered_as_noise_in_the_vectors_vanishes(method):
    rng = np.random.default_rng(3)
    hidden = np.eye(6)[2]
    y = np.where(np.arange(90) % 3 == 0, 1, -1)
    noise = rng.normal(size=(90, 6))
    angles = [
        angle(make(method).fit(y[:, None] * hidden + level * noise, y).components_[0], hidden) for level in (0.5, 0.003)
    ]
    # Unit-length like pairs, and a covariance undone, stay noise however small it is: that goes with more words only.
    assert angles[1] < (3.0 if method in {"densray-unit", "densray-paper", "lda"} else 0.5)
    assert angles[1] < angles[0] < 45


@pytest.mark.parametrize("method", sorted(REGRESSIONS))
def test_a_planted_direction_is_recovered_as_noise_in_the_scores_vanishes(method):
    rng = np.random.default_rng(3)
    hidden = np.eye(6)[2]
    X, noise = rng.normal(size=(90, 6)), rng.normal(size=90)
    angles = [angle(make(method).fit(X, X @ hidden + level * noise).components_[0], hidden) for level in (1.0, 0.001)]
    assert angles[1] < 0.5
    assert angles[1] < angles[0] < 45


def test_before_the_rotation_no_coordinate_is_the_concept(method, sample):
    """The control: what axis 0 says, no original axis says."""
    X, y, hidden = sample
    rotation = make(method).fit(X, y)
    assert rotation.components_[0] @ hidden > 0.7
    assert np.abs(hidden).max() < 0.6
    best = max(abs(np.corrcoef(column, y)[0, 1]) for column in X.T)
    assert np.corrcoef(rotation.transform(X)[:, 0], y)[0, 1] > best + 0.05


@pytest.mark.parametrize("n_rows", [5, 9])
def test_fewer_rows_than_dimensions_still_give_a_full_basis(method, n_rows):
    X = np.random.default_rng(4).normal(size=(n_rows, WIDTH))
    X[-1] = X[0]  # rank deficient as well
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        C = make(method, None).fit(X, np.arange(n_rows) % 2).components_
    np.testing.assert_allclose(C @ C.T, np.eye(WIDTH), atol=1e-10)


def test_fitted_twice_is_bit_identical(method, sample):
    X, y, _ = sample
    np.testing.assert_array_equal(make(method).fit(X, y).components_, make(method).fit(X, y).components_)


def test_float32_in_gives_float32_out_and_nearly_the_same_axis(method, sample):
    X, y, _ = sample
    wide, narrow = make(method).fit(X, y), make(method).fit(X.astype(np.float32), y)
    assert narrow.transform(X.astype(np.float32)).dtype == np.float32
    assert narrow.erase(X.astype(np.float32)).dtype == np.float32
    assert narrow.inverse_transform(narrow.transform(X.astype(np.float32))).dtype == np.float32
    assert narrow.components_[0] @ wide.components_[0] > 1 - 1e-6


def test_nothing_of_the_callers_is_mutated(method, sample):
    X, y, _ = sample
    mine, labels = X.copy(), y.copy()
    mine.flags.writeable = labels.flags.writeable = False
    rotation = make(method).fit(mine, labels)
    rotation.erase(mine)
    rotation.transform(mine)
    np.testing.assert_array_equal(mine, X)


def test_erase_removes_exactly_the_span(method, sample):
    X, y, _ = sample
    rotation = make(method, None).fit(X, y)
    erased = rotation.erase(X, 3)
    np.testing.assert_allclose(erased @ rotation.components_[:3].T, 0, atol=1e-10)
    np.testing.assert_allclose(rotation.erase(erased, 3), erased, atol=1e-10)
    np.testing.assert_allclose(
        erased @ erased.T, rotation.transform(X)[:, 3:] @ rotation.transform(X)[:, 3:].T, atol=1e-9
    )
    half = rotation.erase(X, 1, strength=0.5)
    np.testing.assert_allclose(half @ rotation.components_[0], 0.5 * X @ rotation.components_[0], atol=1e-10)


def test_score_is_kendalls_tau_of_the_concept_axis(method, sample):
    from scipy.stats import kendalltau

    X, y, _ = sample
    rotation = make(method).fit(X, y)
    assert rotation.score(X, y) == pytest.approx(kendalltau(X @ rotation.components_[0], y).statistic)
    assert rotation.score(X, y) > 0.5
    assert rotation.score(X, -y) == pytest.approx(-rotation.score(X, y))


@pytest.mark.parametrize("method", without(*CLASSES_ONLY))
def test_higher_scores_have_higher_coordinates(method, sample):
    X, _, hidden = sample
    scores = X @ hidden + 0.1 * np.random.default_rng(5).normal(size=len(X))
    assert make(method).fit(X, scores).components_[0] @ hidden > 0.6


def test_clone_pickle_pipeline_and_output_frames_work(method, sample):
    X, y, _ = sample
    rotation = clone(make(method)).fit(X, y)
    thawed = pickle.loads(pickle.dumps(rotation))
    np.testing.assert_array_equal(thawed.transform(X), rotation.transform(X))
    pipeline = make_pipeline(FunctionTransformer(lambda M: 2 * M), make(method)).fit(X, y)
    assert pipeline.score(X, y) > 0.5
    frame = make(method).set_output(transform="polars").fit(X, y).transform(X)
    assert frame.columns == rotation.get_feature_names_out().tolist()
    assert frame.columns[0] == f"{type(rotation).__name__.lower()}0"


def test_grid_search_chooses_among_weights(sample):
    X, y, _ = sample
    search = GridSearchCV(
        DensRay(1), {"weights": ["balanced", (0.5, 0.5)], "normalize_differences": [False, True]}, cv=3
    )
    assert search.fit(X, y).best_score_ > 0.5


@pytest.mark.parametrize("method", without("lda", "pair-direction", "densifier sgd"))
def test_integer_weights_equal_repeated_rows(method, sample):
    X, y, _ = sample
    weight = np.random.default_rng(6).integers(0, 4, size=len(X))
    weighted = make(method).fit(X, y, sample_weight=weight)
    repeated = make(method).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-5)


# Bad input: every method, the same words.


def test_one_class_is_refused(method, sample):
    with pytest.raises(LabelError, match=r"all labels in y are '1(\.0)?'"):
        make(method).fit(sample[0], np.ones(120))


def test_constant_scores_are_refused(method, sample):
    with pytest.raises(LabelError, match="all labels in y are"):
        make(method).fit(sample[0], np.full(120, 3.5))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_row_that_is_not_finite_is_named(method, sample, bad):
    X = sample[0].copy()
    X[17, 3] = bad
    with pytest.raises(VectorError, match=r"NaN or infinity in 1 of 120 rows \(first: row 17\)"):
        make(method).fit(X, sample[1])


def test_labels_of_another_length_are_refused_with_both_numbers(method, sample):
    with pytest.raises(LabelError, match="120 rows of vectors, 119 labels"):
        make(method).fit(sample[0], sample[1][:-1])


def test_no_rows_at_all_are_refused(method):
    with pytest.raises(VectorError, match="0 sample"):
        make(method).fit(np.empty((0, WIDTH)), [])


def test_zero_vectors_are_warned_of_and_all_zero_is_refused(method, sample):
    X = sample[0].copy()
    X[4] = 0
    with pytest.warns(RuntimeWarning, match=r"1 of 120 rows of X are zero vectors \(first: row 4\)"):
        make(method).fit(X, sample[1])
    with pytest.raises(VectorError, match="all 120 rows of X are zero"):
        make(method).fit(np.zeros_like(X), sample[1])


@pytest.mark.parametrize("n_components", [0, -1, 13, 1.5, "all", True])
def test_an_impossible_number_of_axes_is_refused(method, sample, n_components):
    with pytest.raises(DensRayError, match="n_components="):
        make(method, n_components).fit(sample[0], sample[1])


def test_fewer_rows_than_axes_asked_for_are_refused(method, sample):
    with pytest.raises(DensRayError, match="n_components=5 is given for 4 rows"):
        make(method, 5).fit(sample[0][:4], [1, 1, -1, -1])


def test_transform_with_another_width_is_refused(method, sample):
    rotation = make(method).fit(sample[0], sample[1])
    for act in (rotation.transform, rotation.erase):
        with pytest.raises(VectorError, match=r"X has 7 features, but .* is expecting 12"):
            act(np.ones((2, 7)))
    with pytest.raises(VectorError, match=r"shape \(2, 7\)"):
        rotation.inverse_transform(np.ones((2, 7)))


def test_unfitted_use_is_refused(method, sample):
    for act in ("transform", "inverse_transform", "erase"):
        with pytest.raises(RotationNotFittedError, match=r"not fitted yet\. Call fit"):
            getattr(make(method), act)(sample[0])


def test_more_axes_than_there_are_cannot_be_erased(method, sample):
    rotation = make(method).fit(sample[0], sample[1])
    with pytest.raises(DensRayError, match=r"n_axes=2 is given; .* has 1 axes"):
        rotation.erase(sample[0], 2)
    with pytest.raises(DensRayError, match=r"strength=1\.5"):
        rotation.erase(sample[0], 1, strength=1.5)


@pytest.mark.parametrize("method", sorted(CLASSES_ONLY))
def test_three_classes_are_refused_where_two_are_needed(method, sample):
    with pytest.raises(LabelError, match=r"3 different labels .* needs exactly two classes"):
        make(method).fit(sample[0], np.arange(120) % 3)


def test_two_text_labels_are_classes_and_three_are_refused(sample):
    X, y, hidden = sample
    rotation = DensRay(1).fit(X, np.where(y > 0, "woman", "man"))
    assert rotation.classes_.tolist() == ["man", "woman"]
    assert rotation.components_[0] @ hidden > 0.9
    with pytest.raises(LabelError, match=r"3 classes .*two are needed"):
        DensRay(1).fit(X, np.array(["a", "b", "c"] * 40))


def test_an_unknown_precision_is_named(sample):
    X, y, _ = sample
    with pytest.raises(VectorError, match=r"precision='tiny' is given"):
        DensRay(precision="tiny").fit(X, y)


def test_wrong_weights_are_refused(sample):
    X, y, _ = sample
    with pytest.raises(VectorError, match="one weight per row"):
        LinearRotation().fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(VectorError, match="not negative"):
        LinearRotation().fit(X, y, sample_weight=-np.ones(120))
    with pytest.raises(LabelError, match="all labels in y are"):  # the other class weighs nothing
        DensRay().fit(X, y, sample_weight=(y > 0).astype(float))


def test_subspaces_of_several_axes_turn_with_the_input(sample):
    """Compared as subspaces: single axes may swap where eigenvalues nearly coincide."""
    X, y, _ = sample
    Q = ortho_group.rvs(WIDTH, random_state=7)
    rotation = DensRay(4, normalize_differences=True, weights=(1.0, 0.1))
    first, second = clone(rotation).fit(X, y).components_, clone(rotation).fit(X @ Q.T, y).components_
    assert np.max(subspace_angles(second.T, (first @ Q.T).T)) < 1e-6


ESTIMATORS = (DensRay, Densifier, LinearRotation, MeanDifference, PairDirection, SequentialRotation)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)
def test_every_estimator_has_one_signature(estimator):
    names = list(inspect.signature(estimator.fit).parameters.values())
    assert [one.name for one in names[:4]] == ["self", "X", "y", "sample_weight"]
    assert names[3].default is None
    assert all(one.kind is inspect.Parameter.KEYWORD_ONLY for one in names[4:])
    assert "precision" in inspect.signature(estimator).parameters
    learned = [name for name in dir(estimator()) if name.endswith("_") and not name.startswith("_")]
    assert learned == []


def test_the_table_of_methods_cannot_be_changed():
    with pytest.raises(TypeError):
        METHODS["mine"] = METHODS["ridge"]


def test_partial_fit_says_what_it_takes():
    assert list(inspect.signature(DensRay().partial_fit).parameters) == ["X", "y", "sample_weight"]
    assert "one block of rows" in DensRay.partial_fit.__doc__


@pytest.mark.parametrize("estimator", [DensRay(1), MeanDifference(), LinearRotation("ridge")], ids=str)
def test_folds_of_what_align_returns_hold_both_classes(estimator, googlenews):
    rows = load_lexicon("hu-liu").align(googlenews.normalized())
    X, y = rows.X, rows.y
    assert (cross_val_score(estimator, X, y, cv=3) > 0.6).all()


def test_a_grid_over_what_align_returns_has_numbers(googlenews):
    rows = load_lexicon("gender").align(googlenews.normalized())
    X, y = rows.X, rows.y
    search = GridSearchCV(DensRay(1), {"weights": ["balanced", (0.5, 0.5)]}, cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
