"""Linear models as rotations, and the ridge whose penalty chooses itself."""

from __future__ import annotations

import warnings
from typing import Any, get_args

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.cross_decomposition import CCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.svm import SVC, SVR, LinearSVC

from densray import LinearRotation, MeanDifference
from densray.errors import DensRayError, LabelError, NotConvergedWarning, SignalWarning
from densray.rotations import METHODS, RIDGE_PENALTIES, _linear, log_prior, make_rotation
from densray.rotations._ridge import penalties_within, ridge_direction


def cosine(a, b) -> float:
    a, b = np.ravel(a), np.ravel(b)
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 10)) @ rng.normal(size=(10, 10)) + 5.0
    return X, X[:, 2] - X[:, 3] + 3 * rng.normal(size=80) + 100.0


def refitted_scores(X, y, penalty):
    """Each row's score on the direction of the other rows: one fit a row."""
    scores = []
    for row in range(len(X)):
        keep = np.arange(len(X)) != row
        scores.append(Ridge(alpha=penalty).fit(X[keep], y[keep]).coef_ @ (X[row] - X.mean(axis=0)))
    return np.array(scores)


def most_probable(correlations, count, explained, share=1.0):
    """Return the number of the penalty of the highest posterior: likelihood of labels, log-normal prior."""
    likelihood = -count / 2 * np.log(1 - np.maximum(correlations, 0.0) ** 2)
    typical = share * (1 - explained) / explained
    return int(np.argmax(likelihood - (np.log(RIDGE_PENALTIES) - np.log(typical)) ** 2 / 2))


@pytest.mark.slow
@pytest.mark.parametrize("two_classes", [False, True])
def test_ridge_takes_the_penalty_that_refitting_without_each_row_takes(scored, two_classes):
    """The oracle: for every penalty of the grid, 80 fits with one row left out."""
    X, y = scored
    y = np.where(y > np.median(y), 1.0, -1.0) if two_classes else y
    spread = np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))
    scores = [refitted_scores(X, y, each * spread) for each in RIDGE_PENALTIES]
    correlations = np.array([cosine(y - y.mean(), s) for s in scores])
    expected = RIDGE_PENALTIES[most_probable(correlations, len(y), 1 / 8 if two_classes else 1 / 4)]
    coefficients, penalty = ridge_direction(X, y, None, two_classes=two_classes)
    assert penalty == pytest.approx(expected * spread)
    assert LinearRotation("ridge").fit(X, y).penalty_ == penalty
    np.testing.assert_allclose(coefficients, Ridge(alpha=penalty).fit(X, y).coef_, rtol=1e-8)


def test_a_row_that_weighs_less_than_one_is_left_out_whole(scored):
    """The oracle: weighted fits without each row, and the weighted correlation of their scores with the labels."""
    X, y = (part[:25] for part in scored)
    mass = np.where(np.arange(len(y)) % 3 == 0, 1.0, 0.5)
    mean, t = np.average(X, axis=0, weights=mass), y - np.average(y, weights=mass)
    spread = np.sum(mass[:, None] * (X - mean) ** 2) / len(y)
    scores = np.empty((len(y), RIDGE_PENALTIES.size))
    for row in range(len(y)):
        keep = np.arange(len(y)) != row
        left_out_mean = np.average(X[keep], axis=0, weights=mass[keep])
        for column, each in enumerate(RIDGE_PENALTIES):
            model = Ridge(alpha=each * spread).fit(X[keep], y[keep], sample_weight=mass[keep])
            scores[row, column] = model.coef_ @ (X[row] - left_out_mean)
    correlations = (mass * t) @ scores / np.sqrt((mass @ scores**2) * (mass @ t**2))
    expected = RIDGE_PENALTIES[most_probable(correlations, len(y), 1 / 4)]
    coefficients, penalty = ridge_direction(X, y, mass, two_classes=False)
    assert penalty == pytest.approx(expected * spread)
    np.testing.assert_allclose(coefficients, Ridge(alpha=penalty).fit(X, y, sample_weight=mass).coef_, rtol=1e-8)


def test_ridge_counts_a_weight_as_copies_of_its_row(scored):
    X, y = scored
    counts = 1 + np.arange(len(y)) % 3
    repeated = LinearRotation("ridge").fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    weighted = LinearRotation("ridge").fit(X, y, sample_weight=counts)
    assert weighted.penalty_ == pytest.approx(repeated.penalty_)
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-10)


def planted(size, noise, *, seed, classes=False):
    """Return rows of uneven spread with labels along a fixed direction, and their mean squared distance."""
    mixing, truth = np.random.default_rng(3).normal(size=(30, 30)), np.random.default_rng(4).normal(size=30)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, 30)) @ mixing
    y = X @ truth / np.std(X @ truth) + noise * rng.normal(size=size)
    spread = np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))
    return X, np.where(y > np.median(y), 1.0, -1.0) if classes else y, spread


@pytest.mark.parametrize("classes", [False, True])
def test_ridge_penalty_stays_near_its_prior_where_labels_have_no_meaning(classes):
    typical, found = 7.0 if classes else 3.0, []
    for seed in range(30):
        X, y, spread = planted(40, 1e6, seed=seed, classes=classes)
        found.append(LinearRotation("ridge").fit(X, y).penalty_ / spread)
    assert typical / 3 <= np.median(found) <= 3 * typical
    assert min(found) > 0.1  # far from least squares


def test_ridge_penalty_falls_as_labels_have_less_noise():
    medians = []
    for noise in (10.0, 1.0, 0.1, 0.0):
        draws = [planted(300, noise, seed=seed) for seed in range(9)]
        medians.append(np.median([LinearRotation("ridge").fit(X, y).penalty_ / spread for X, y, spread in draws]))
    assert medians == sorted(medians, reverse=True)
    assert medians[0] > 1.0
    assert medians[-1] < 0.01


def test_scores_are_expected_to_be_explained_better_than_classes():
    assert (
        RIDGE_PENALTIES[log_prior(two_classes=False).argmax()] < RIDGE_PENALTIES[log_prior(two_classes=True).argmax()]
    )


def test_ridge_choice_does_not_depend_on_the_scale_of_the_rows(scored):
    X, y = scored
    small, large = LinearRotation("ridge").fit(X, y), LinearRotation("ridge").fit(1e3 * X, y)
    assert large.penalty_ == pytest.approx(1e6 * small.penalty_)
    np.testing.assert_allclose(large.components_, small.components_, atol=1e-9)


def test_ridge_choice_does_not_depend_on_the_scale_of_the_labels(scored):
    X, y = scored
    assert LinearRotation("ridge").fit(X, 1e6 * y - 3.0).penalty_ == LinearRotation("ridge").fit(X, y).penalty_


def test_ridge_works_with_fewer_rows_than_dimensions():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(15, 40))
    y = np.where(np.arange(15) < 6, 1, -1)
    X[:6, 0] += 4
    assert LinearRotation("ridge").fit(X, y).components_[0, 0] > 0.5


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("svm", SVC(kernel="linear")),
        ("svr", SVR(kernel="linear")),
        ("linear", LinearRegression()),
        ("cca", CCA(n_components=1, scale=False, max_iter=10_000, tol=1e-12)),
    ],
)
def test_axis_zero_is_the_unit_normal_of_the_model(sentiment_split, name, model):
    X, y = (part[:700].astype(float) for part in sentiment_split[:2])
    assert cosine(LinearRotation(name).fit(X, y).components_[0], model.fit(X, y).coef_) > 0.9999


def test_liblinear_agrees_with_libsvm_on_real_words(sentiment_split, monkeypatch):
    X, y, _, _ = sentiment_split
    exact = {"svm": SVC(kernel="linear").fit(X, y).coef_, "svr": SVR(kernel="linear").fit(X[:1500], y[:1500]).coef_}
    monkeypatch.setattr(_linear, "LIBLINEAR_ROWS", 100)
    assert cosine(LinearRotation("svm").fit(X, y).components_[0], exact["svm"]) >= 0.999
    assert cosine(LinearRotation("svr").fit(X[:1500], y[:1500]).components_[0], exact["svr"]) >= 0.999


def test_liblinear_does_not_penalise_the_intercept_of_uneven_classes(sentiment_split, monkeypatch):
    """One word in fifteen is positive: a penalised intercept would turn the axis."""
    X, y, _, _ = sentiment_split
    rows = np.r_[np.flatnonzero(y > 0)[:120], np.flatnonzero(y < 0)[:1700]]
    exact = SVC(kernel="linear").fit(X[rows], y[rows]).coef_
    monkeypatch.setattr(_linear, "LIBLINEAR_ROWS", 100)
    assert cosine(LinearRotation("svm").fit(X[rows] + 0.3, y[rows]).components_[0], exact) >= 0.999


@pytest.mark.slow
@pytest.mark.parametrize("name", ["svm", "svr"])
def test_support_vectors_of_long_rows_end_with_a_warning_that_names_the_remedy(name):
    """Rows of length 550 and labels that they do not tell apart: libsvm would run for hours."""
    X = 100.0 * np.random.default_rng(0).normal(size=(200, 30))
    y = np.where(np.arange(200) % 2, 1, -1)
    with pytest.warns(NotConvergedWarning, match=rf"'{name}' has not converged .* unit length"):
        rotation = LinearRotation(name).fit(X, y)
    assert np.linalg.norm(rotation.components_[0]) == pytest.approx(1.0)


def test_liblinear_that_does_not_converge_warns_in_the_same_words(monkeypatch):
    monkeypatch.setattr(_linear, "LIBLINEAR_ROWS", 100)
    monkeypatch.setattr(_linear, "LIBLINEAR_STEPS", 50)
    X = 100.0 * np.random.default_rng(0).normal(size=(200, 30))
    with pytest.warns(NotConvergedWarning, match=r"'svm' has not converged .* unit length"):
        LinearRotation("svm").fit(X, np.where(np.arange(200) % 2, 1, -1))


def test_every_linear_model_is_a_method_of_its_name():
    assert set(_linear.LINEAR_MODELS) == set(get_args(_linear.LinearModelName))
    for name in _linear.LINEAR_MODELS:
        assert METHODS[name].make(2).get_params() == LinearRotation(name, n_components=2).get_params()


def test_further_axes_come_from_the_complement(scored):
    X, y = scored
    rotation = LinearRotation("linear", n_components=3).fit(X, y)
    np.testing.assert_allclose(rotation.components_ @ rotation.components_.T, np.eye(3), atol=1e-12)
    projected = X - np.outer(X @ rotation.components_[0], rotation.components_[0])
    second = LinearRegression().fit(projected, y).coef_
    assert abs(cosine(rotation.components_[1], second)) == pytest.approx(1.0, abs=1e-6)


def test_any_linear_estimator_of_scikit_learn_will_do(scored):
    X, y = scored
    labels = np.where(y > np.median(y), 1, -1)
    rotation = LinearRotation(LinearSVC(C=0.1, random_state=0)).fit(X, labels)
    expected = LinearSVC(C=0.1, random_state=0).fit(X, labels).coef_
    assert cosine(rotation.components_[0], expected) == pytest.approx(1.0, abs=1e-8)
    assert LinearRotation(Ridge(alpha=1e9)).fit(X, y).components_[0] @ MeanDifference().fit(X, y).components_[0] > 0.999


@pytest.mark.slow
def test_ridge_beats_or_equals_svm_on_unseen_words(sentiment_split):
    X, y, X_test, y_test = sentiment_split
    taus = {name: LinearRotation(name).fit(X, y).score(X_test, y_test) for name in ("ridge", "svm", "svr")}
    assert taus["ridge"] >= max(taus["svm"], taus["svr"]) - 0.001
    assert taus["ridge"] == pytest.approx(0.66, abs=0.015)


def test_models_that_do_not_fit_are_refused(scored):
    X, y = scored
    with pytest.raises(DensRayError, match="Did you mean 'ridge'"):
        LinearRotation("rigde").fit(X, y)
    with pytest.raises(DensRayError, match="has no single normal vector"):
        LinearRotation(RandomForestRegressor(n_estimators=2, random_state=0)).fit(X, y)
    with pytest.raises(DensRayError, match="scikit-learn estimator is needed"):
        LinearRotation(3).fit(X, y)
    with pytest.raises(DensRayError, match="'lda' does not support it"):
        LinearRotation("lda").fit(X, y > 100, sample_weight=np.ones(80))
    with pytest.raises(LabelError, match="exactly two classes"):
        LinearRotation(LinearSVC()).fit(X, y)


def scores_without_groups(X, y, groups, penalty):
    """Each row's score on the direction of the rows of all other groups: one fit per group."""
    scores = np.empty(len(y))
    for group in np.unique(groups):
        keep = groups != group
        scores[~keep] = (X[~keep] - X.mean(axis=0)) @ Ridge(alpha=penalty).fit(X[keep], y[keep]).coef_
    return scores


@pytest.mark.slow
@pytest.mark.parametrize("size", [3, 7, 40])
def test_ridge_takes_the_penalty_that_refitting_without_each_group_takes(scored, size):
    X, y = scored
    groups = np.arange(len(y)) // size  # the last of 3 and of 7 is smaller
    spread = np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))
    scores = [scores_without_groups(X, y, groups, each * spread) for each in RIDGE_PENALTIES]
    correlations = np.array([cosine(y - y.mean(), each) for each in scores])
    within = sum(len(rows) * rows.var(axis=0).sum() for rows in (X[groups == each] for each in np.unique(groups)))
    share = within / (len(y) - groups.max() - 1) / (spread * len(y) / (len(y) - 1))
    expected = RIDGE_PENALTIES[most_probable(correlations, len(y), 1 / 4, share)]
    _, penalty = ridge_direction(X, y, None, two_classes=False, groups=groups)
    assert penalty == pytest.approx(expected * spread)
    assert LinearRotation("ridge").fit(X, y, groups=groups.astype(str)).penalty_ == penalty


def test_groups_of_one_row_change_nothing(scored):
    X, y = scored
    alone = LinearRotation("ridge").fit(X, y, groups=np.random.default_rng(0).permutation(len(y)))
    assert alone.penalty_ == LinearRotation("ridge").fit(X, y).penalty_
    with pytest.raises(LabelError, match="one group per row"):
        LinearRotation("ridge").fit(X, y, groups=[1, 2])


def test_twins_do_not_give_each_other_away():
    """Pairs that differ along the concept and a little noise: what a pair shares is large, and no concept."""
    rng = np.random.default_rng(0)
    n_groups, width = 60, 80
    groups, y = np.repeat(np.arange(n_groups), 2), np.tile([1.0, -1.0], n_groups)
    concept = rng.normal(size=width) / np.sqrt(width)

    def pairs(count):
        shared = np.repeat(rng.normal(size=(count, width)) * np.linspace(3, 0.05, width), 2, axis=0)
        return (
            shared + 0.35 * np.outer(np.tile([1.0, -1.0], count), concept) + 0.1 * rng.normal(size=(2 * count, width))
        )

    X, unseen = pairs(n_groups), pairs(200)
    grouped, alone = LinearRotation("ridge").fit(X, y, groups=groups), LinearRotation("ridge").fit(X, y)
    assert grouped.penalty_ > 3 * alone.penalty_  # left out alone, a row is read from its twin
    assert abs(cosine(grouped.components_[0], concept)) > 0.3
    assert grouped.transform(unseen).shape == (400, 1)


@pytest.mark.parametrize(
    ("between", "dtype"), [(1, "f8"), (10, "f8"), (30, "f8"), (100, "f8"), (1, "f4"), (10, "f4"), (30, "f4")]
)
def test_the_penalty_of_pairs_does_not_depend_on_how_far_apart_they_lie(between, dtype):
    """Contrastive pairs: what a pair shares lies in three dimensions, which ridge learns to ignore."""
    rng = np.random.default_rng(0)
    width, topics = 40, rng.normal(size=(40, 3))

    def pairs(n):
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        X = rng.normal(size=(n, width)) * np.r_[np.ones(20), np.full(20, 0.05)]
        X += y[:, None] * np.r_[np.full(20, 0.1), np.full(20, 0.02)]
        return X + np.repeat(rng.normal(size=(n // 2, 3)) @ topics.T * between, 2, axis=0), y

    def ordered(axis):
        return np.mean((unseen[1::2] - unseen[::2]) @ axis > 0)

    (X, y), groups, (unseen, _) = pairs(200), np.arange(200) // 2, pairs(2000)
    fitted = LinearRotation("ridge").fit(X.astype(dtype), y, groups=groups)
    C = X - X.mean(axis=0)
    best = np.linalg.solve(C.T @ C + 0.37 * np.eye(width), C.T @ y)  # found by hand
    assert ordered(fitted.components_[0]) > ordered(best) - 0.01  # was 0.77 and 0.70 at 30 and 100
    # the control: with the lowest penalty of rows without groups, the concept of far pairs is hidden
    lowest = np.linalg.solve(C.T @ C + 1e-4 * X.var(axis=0).sum() * np.eye(width), C.T @ y)
    assert between < 30 or ordered(lowest) < 0.9


def test_the_lowest_penalty_is_that_of_the_spread_within_groups_and_the_others_stay():
    np.testing.assert_array_equal(penalties_within(1.0), RIDGE_PENALTIES)
    for share in (0.9, 0.02, 1e-6):
        tried = penalties_within(share)
        np.testing.assert_array_equal(tried[-33:], RIDGE_PENALTIES)
        np.testing.assert_allclose(np.diff(np.log10(tried)), 0.25)
        assert 1e-4 * share * 10**-0.25 < tried[0] <= 1e-4 * share * (1 + 1e-9)


@pytest.mark.parametrize("estimator", ["svm", "svr", "logistic", "linear", "ridge"])
def test_axes_up_to_the_stop_do_not_depend_on_the_order_of_rows(googlenews, estimator):
    """On 43 family words the SVM's solution vanishes after two axes: further ones would be rounding."""
    from densray.datasets import load_lexicon

    found = load_lexicon("gender").align(googlenews.normalized())
    X, y = found.X.astype(np.float64), found.y
    order = np.random.default_rng(0).permutation(len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SignalWarning)
        here, there = (LinearRotation(estimator, n_components=6).fit(X[rows], y[rows]) for rows in (slice(None), order))
        single = LinearRotation(estimator, n_components=6).fit(X.astype(np.float32), y)
    assert here.n_signal_axes_ == there.n_signal_axes_ == single.n_signal_axes_
    cosines = np.abs(np.sum(here.components_ * there.components_, axis=1))
    assert cosines[: here.n_signal_axes_].min() > 0.999
    assert np.abs(np.sum(here.components_ * single.components_, axis=1))[:2].min() > 0.999 or estimator == "linear"
    assert (here.n_signal_axes_ == 2) == (estimator == "svm")


def test_axes_beyond_the_signal_are_warned_of_and_complete_the_basis(googlenews):
    from densray.datasets import load_lexicon

    found = load_lexicon("gender").align(googlenews.normalized())
    with pytest.warns(SignalWarning, match="after 2 a model of 'svm' is at chance"):
        rotation = LinearRotation("svm", n_components=6).fit(found.X, found.y)
    np.testing.assert_allclose(rotation.components_ @ rotation.components_.T, np.eye(6), atol=1e-9)
    assert rotation.n_signal_axes_ == 2


# Ridge is the mean difference, whitened


@pytest.fixture(scope="module")
def loud():
    """A quiet concept in a space with loud directions; half of the words are positive."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(90) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(90, 6)) * [8.0, 4.0, 2.0, 1.0, 1.0, 1.0]
    X[:, 5] += 1.5 * y
    return X, y


def pair_sums(X, charge):
    """The matrices A and B of the quotient, pair by pair."""
    A, B = np.zeros((2, X.shape[1], X.shape[1]))
    for v in range(len(X)):
        for w in range(len(X)):
            outer = np.outer(X[v] - X[w], X[v] - X[w])
            A -= charge[v] * charge[w] * outer
            B += outer
    return A, B


@pytest.mark.parametrize("scores", [False, True])
def test_ridge_spreads_unlike_pairs_most_for_the_spread_of_all_pairs(loud, scores):
    X, classes = loud
    y = X[:, 4] + 2 * classes if scores else classes
    rotation = LinearRotation("ridge").fit(X, y)
    A, B = pair_sums(X, y - y.mean())
    best = eigh(A, B + 2 * len(X) * rotation.penalty_ * np.eye(6))[1][:, -1]
    assert abs(rotation.components_[0] @ best) / np.linalg.norm(best) == pytest.approx(1.0, abs=1e-9)


def test_a_quiet_concept_is_found_where_the_mean_difference_hears_the_loud_directions(loud):
    X, y = loud
    assert LinearRotation("ridge").fit(X, y).components_[0, 5] > MeanDifference().fit(X, y).components_[0, 5] + 0.05


def test_auto_is_ridge_for_classes_and_scores(loud):
    X, y = loud
    for labels in (y, X[:, 2]):
        auto, ridge = make_rotation("auto").fit(X, labels), make_rotation("ridge").fit(X, labels)
        assert np.array_equal(auto.components_, ridge.components_)


@pytest.mark.parametrize("estimator", ["logistic", "svm", "svr"])
@pytest.mark.parametrize("offset", [100.0, 1000.0, 1e4])
def test_the_axis_stays_where_rows_lie_far_off_the_origin(estimator: Any, offset: float) -> None:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(200) % 2, 1, -1)
    X = rng.normal(size=(200, 10)) + np.outer(y, np.eye(10)[0])
    expected = LinearRotation(estimator).fit(X, y).components_[0]
    assert LinearRotation(estimator).fit(X + offset, y).components_[0] @ expected > 1 - 1e-6


@pytest.mark.parametrize("name", ["svm", "svr"])
@pytest.mark.parametrize("solver_rows", [5000, 50])
def test_a_support_vector_axis_that_is_solver_noise_is_named(name, solver_rows, monkeypatch):
    """A rare class among the other: coefficients of zero are optimal, and libsvm and liblinear stop near them."""
    monkeypatch.setattr(_linear, "LIBLINEAR_ROWS", solver_rows)
    random = np.random.default_rng(2)
    X, y = random.normal(size=(400, 5)), np.where(np.arange(400) < 4, 1.0, -1.0)
    X[:4] = 0.01 * np.array([[1, 1, 0, 0, 0], [-1, 0, 1, 0, 0], [0, -1, -1, 1, 0], [0, 0, 0, -1, 0]])
    for rows, labels in ((X, y), (np.vstack([X[:50], X[:50]]), np.repeat([1.0, -1.0], 50))):
        with pytest.warns(SignalWarning, match=f"'{name}' predicts the labels .* no better than a constant"):
            rotation = LinearRotation(name).fit(rows, labels)
        assert rotation.n_signal_axes_ == 0


@pytest.mark.parametrize("name", ["svm", "svr"])
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0])
def test_a_support_vector_axis_of_short_rows_finds_the_signal(name, scale):
    random = np.random.default_rng(3)
    y = np.repeat([1.0, -1.0], 40)
    X = scale * (random.normal(size=(80, 5)) + np.outer(y, [1.0, 0, 0, 0, 0]))
    rotation = LinearRotation(name).fit(X, y)
    assert rotation.components_[0, 0] > 0.8
    assert rotation.n_signal_axes_ == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("option", ["plain", "weights", "groups"])
def test_ridge_of_fewer_rows_than_dimensions_is_solved_in_the_space_of_the_rows(monkeypatch, option, dtype) -> None:
    """The d × d problem gives the same axis and penalty; the rows may have a large common mean, or repeat."""
    from densray.rotations import _ridge

    rng = np.random.default_rng(3)
    X = (rng.normal(size=(40, 150)) + 5.0 + np.tile([0.0, 1.0], 20)[:, None] * np.eye(150)[0]).astype(dtype)
    X[7] = X[3]
    y = np.tile([0, 1], 20)
    given = {"weights": {"sample_weight": rng.uniform(0.5, 2.0, 40)}, "groups": {"groups": np.arange(40) // 2}}
    few = LinearRotation("ridge", n_components=1).fit(X, y, **given.get(option, {}))
    monkeypatch.setattr(_ridge, "_row_space", lambda X: None)
    whole = LinearRotation("ridge", n_components=1).fit(X, y, **given.get(option, {}))
    assert few.penalty_ == pytest.approx(whole.penalty_, rel=1e-5 if dtype == "float32" else 1e-10)
    np.testing.assert_allclose(few.components_, whole.components_, atol=1e-4 if dtype == "float32" else 1e-10)
