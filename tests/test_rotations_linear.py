"""Linear models as rotations, and the ridge whose penalty chooses itself."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cross_decomposition import CCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.svm import SVC, SVR, LinearSVC

from densray import LinearRotation, MeanDifference
from densray.errors import DensRayError, LabelError
from densray.rotations import _linear
from densray.rotations._linear import ANCHOR, RIDGE_PENALTIES, ridge_direction


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


def jackknife_error(y, first, second):
    """Standard error of the difference of two correlations: leave out one row after the other."""

    def gap(rows):
        t = y[rows] - y.mean()
        return cosine(t, first[rows]) - cosine(t, second[rows])

    gaps = np.array([gap(np.arange(len(y)) != row) for row in range(len(y))])
    return float(np.sqrt(np.sum((gaps - gaps.mean()) ** 2)))


def test_ridge_takes_the_penalty_that_refitting_without_each_row_takes(scored):
    """The oracle: for every penalty of the grid, 80 fits with one row left out."""
    X, y = scored
    largest = np.linalg.eigvalsh(np.cov(X.T, bias=True) * len(X))[-1]
    scores = [refitted_scores(X, y, share * largest) for share in RIDGE_PENALTIES]
    correlations = np.array([cosine(y - y.mean(), s) for s in scores])
    best = int(np.argmax(correlations))
    errors = np.array([jackknife_error(y, s, scores[best]) for s in scores])
    as_good = correlations >= correlations[best] - errors
    expected = RIDGE_PENALTIES[as_good][np.argmin(np.abs(np.log(RIDGE_PENALTIES[as_good] / ANCHOR)))]
    coefficients, penalty = ridge_direction(X, y, None)
    assert penalty == pytest.approx(expected * largest)
    np.testing.assert_allclose(coefficients, Ridge(alpha=penalty).fit(X, y).coef_, rtol=1e-8)


def test_a_row_with_a_mass_is_left_out_whole(scored):
    """The oracle: weighted fits without each row, and what a row adds to their correlation with the labels."""
    X, y = (part[:25] for part in scored)
    mass = np.where(np.arange(len(y)) % 3 == 0, 2.0, 0.5)
    mean, t = np.average(X, axis=0, weights=mass), y - np.average(y, weights=mass)
    largest = np.linalg.eigvalsh((X - mean).T @ (mass[:, None] * (X - mean)))[-1]
    scores = np.empty((len(y), RIDGE_PENALTIES.size))
    for row in range(len(y)):
        keep = np.arange(len(y)) != row
        for column, share in enumerate(RIDGE_PENALTIES):
            model = Ridge(alpha=share * largest).fit(X[keep], y[keep], sample_weight=mass[keep])
            left_out_mean = np.average(X[keep], axis=0, weights=mass[keep])
            scores[row, column] = model.coef_ @ (X[row] - left_out_mean)
    squares, total = mass @ scores**2, mass @ t**2
    correlations = (mass * t) @ scores / np.sqrt(squares * total)
    added = (t[:, None] * scores) / np.sqrt(squares * total)
    added -= correlations * (scores**2 / squares + (t**2 / total)[:, None]) / 2
    best = int(np.argmax(correlations))
    errors = np.sqrt(np.sum((mass[:, None] * (added - added[:, [best]])) ** 2, axis=0))
    as_good = correlations >= correlations[best] - errors
    expected = RIDGE_PENALTIES[as_good][np.argmin(np.abs(np.log(RIDGE_PENALTIES[as_good] / ANCHOR)))]
    coefficients, penalty = ridge_direction(X, y, None, mass=mass)
    assert penalty == pytest.approx(expected * largest)
    np.testing.assert_allclose(coefficients, Ridge(alpha=penalty).fit(X, y, sample_weight=mass).coef_, rtol=1e-8)


def test_ridge_penalty_falls_from_the_anchor_as_rows_grow():
    rng = np.random.default_rng(3)
    mixing, truth = rng.normal(size=(30, 30)), rng.normal(size=30)
    shares = {40: [], 4000: []}
    for size in [40, 4000] * 9:
        X = rng.normal(size=(size, 30)) @ mixing
        y = X @ truth + 0.5 * np.std(X @ truth) * rng.normal(size=size)
        largest = np.linalg.eigvalsh(np.cov(X.T, bias=True) * size)[-1]
        shares[size].append(LinearRotation("ridge").fit(X, y).penalty_ / largest)
    assert 0.1 <= np.median(shares[40]) <= 1.0
    assert np.median(shares[4000]) < 0.05


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


def test_large_sets_are_solved_by_liblinear_and_small_ones_by_libsvm():
    assert type(_linear.LINEAR_MODELS["svm"].make(_linear.LIBLINEAR_ROWS)).__name__ == "LinearSVC"
    assert type(_linear.LINEAR_MODELS["svm"].make(_linear.LIBLINEAR_ROWS - 1)).__name__ == "SVC"


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
    with pytest.raises(DensRayError, match="'lda' takes none"):
        LinearRotation("lda").fit(X, y > 100, sample_weight=np.ones(80))
    with pytest.raises(LabelError, match="exactly two classes"):
        LinearRotation(LinearSVC()).fit(X, y)
