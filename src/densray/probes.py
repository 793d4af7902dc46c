"""Probes: models that try to recover a concept from vectors, tested on held-out rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from densray._threads import ignored_warnings, single_threaded_blas
from densray.errors import Argument, SignalWarning, TaskError
from densray.folds import fold_numbers
from densray.metrics import Interval, auc, auc_interval
from densray.rotations import LinearRotation
from densray.statistics import HELD_OUT_INFLATION

__all__ = [
    "MODELS",
    "Model",
    "Recovery",
    "cluster_accuracy",
    "held_out_scores",
    "recovery",
    "refitted_auc",
    "transfer_scores",
]

Model: TypeAlias = Literal["linear", "rbf", "mlp"]

#: A ridge axis, a support vector machine with an RBF kernel, and a network with one hidden layer of 16 units.
MODELS: tuple[Model, ...] = get_args(Model)

Vector: TypeAlias = NDArray[np.float64]


class Recovery(NamedTuple):
    """Held-out AUC of a probe with its 95% interval; 0.5 is chance."""

    auc: float
    interval: Interval


def recovery(
    X: NDArray[np.floating],
    sides: Vector,
    model: Model = "linear",
    *,
    n_folds: int = 5,
    groups: NDArray[np.int64] | None = None,
    random_state: int | None = 0,
) -> Recovery:
    """Return how well a model recovers two classes from the vectors of held-out rows.

    Parameters
    ----------
    X : array of shape (n, d)
    sides : array of shape (n,)
        1 and -1; at least `n_folds` rows of each.
    model : {"linear", "rbf", "mlp"}
        See `MODELS`. Columns are standardised for the nonlinear models.
    n_folds : int, default=5
        Folds of the cross-validation.
    groups : array of shape (n,), optional
        Groups of rows to hold out together.
    random_state : int or None
        For the folds and the start of the network.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> ring = np.where(np.linalg.norm(X, axis=1) > 1.2, 1.0, -1.0)
    >>> recovery(X, ring, "linear").interval.low < 0.5, recovery(X, ring, "rbf").auc > 0.95
    (True, True)
    """
    scores = held_out_scores(X, sides, model, n_folds=n_folds, groups=groups, random_state=random_state)
    interval = auc_interval(sides, scores, inflation=HELD_OUT_INFLATION, groups=groups)
    return Recovery(auc(sides, scores), interval)


def transfer_scores(
    X: NDArray[np.floating], sides: Vector, unseen: NDArray[np.floating], model: Literal["rbf", "quadratic"]
) -> Vector:
    """Return the scores that a support vector machine, fitted on some rows, gives to other rows.

    Parameters
    ----------
    X, unseen : arrays of shape (n, d) and (m, d)
        Rows to fit on and rows to score.
    sides : array of shape (n,)
        1 and -1.
    model : {"rbf", "quadratic"}
        The kernel; columns are standardised.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> ring = np.where(np.linalg.norm(X, axis=1) > 1.2, 1.0, -1.0)
    >>> auc(ring[200:], transfer_scores(X[:200], ring[:200], X[200:], "quadratic")) > 0.95
    True
    """
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    kernel = SVC(kernel="rbf") if model == "rbf" else SVC(kernel="poly", degree=2, coef0=1.0)
    with single_threaded_blas():
        return np.asarray(make_pipeline(StandardScaler(), kernel).fit(X, sides).decision_function(unseen))


def held_out_scores(
    X: NDArray[np.floating],
    sides: Vector,
    model: Model,
    *,
    n_folds: int = 5,
    groups: NDArray[np.int64] | None = None,
    random_state: int | None = 0,
) -> Vector:
    """Return the held-out score of each row: its rank in its fold, from 0 to 1.

    Ranks make the scores of different models comparable. Parameters as for :func:`recovery`.
    """
    from scipy.stats import rankdata

    if model not in MODELS:
        raise TaskError(Argument("model", model), f" is given; one of {', '.join(MODELS)} is needed.")
    folds = fold_numbers(sides, groups, n_folds, random_state)
    ranks = np.empty(len(sides))
    for test, scores in _fold_scores(X, sides, model, folds, random_state):
        ranks[test] = (rankdata(scores) - 0.5) / len(scores)
    return ranks


def _fold_scores(
    X: NDArray[np.floating], sides: Vector, model: Model, folds: NDArray[np.int64], random_state: int | None
) -> Iterator[tuple[NDArray[np.intp], Vector]]:
    """Yield the rows of each fold, and the scores of a model that was fitted on the other rows."""
    with single_threaded_blas(), ignored_warnings(SignalWarning):
        for number in range(int(folds.max()) + 1):
            train, test = np.flatnonzero(folds != number), np.flatnonzero(folds == number)
            if model == "linear":
                axis = LinearRotation("ridge").fit(X[train], sides[train]).components_[0]
                yield test, X[test] @ axis
            else:
                classifier = _classifier(model, random_state)
                with ignored_convergence():
                    classifier.fit(X[train], sides[train])
                if model == "rbf":
                    yield test, classifier.decision_function(X[test])
                else:
                    yield test, classifier.predict_proba(X[test])[:, 1]


def _classifier(model: Model, random_state: int | None) -> Any:
    """Return a nonlinear classifier of standardised columns."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return make_pipeline(StandardScaler(), SVC(kernel="rbf")) if model == "rbf" else small_network(random_state)


def small_network(random_state: int | None) -> Any:
    """Return a network with one hidden layer of 16 units and standardised columns."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    network = MLPClassifier((16,), solver="lbfgs", alpha=1.0, max_iter=100, random_state=random_state)
    return make_pipeline(StandardScaler(), network)


def ignored_convergence() -> Any:
    """Ignore the warning that the network reached its last iteration: this is intended early stopping."""
    from sklearn.exceptions import ConvergenceWarning

    return ignored_warnings(ConvergenceWarning)


def mean_recovery(parts: Sequence[Recovery]) -> Recovery:
    """Return the mean of recoveries on samples of the same rows.

    The ends of the intervals are averaged too: the samples share rows, so averaging does not narrow the interval.

    >>> mean_recovery([Recovery(0.5, Interval(0.4, 0.6)), Recovery(0.7, Interval(0.6, 0.8))])
    Recovery(auc=0.6, interval=Interval(low=0.5, high=0.7))
    """
    lows, highs = zip(*(part.interval for part in parts), strict=True)
    interval = Interval(float(np.mean(lows)), float(np.mean(highs)))
    return Recovery(float(np.mean([part.auc for part in parts])), interval)


def refitted_auc(
    X: NDArray[np.floating], y: NDArray[np.floating], *, n_folds: int = 5, random_state: int | None = 0
) -> list[float]:
    """Return the held-out AUC of a ridge axis, one number per fold; 0.5 is chance.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Two classes; at least `n_folds` rows of each.
    n_folds : int
    random_state : int or None
        For the folds.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> y = np.where(X[:, 1] > 0, 1.0, -1.0)
    >>> bool(np.mean(refitted_auc(X, y)) > 0.95), bool(np.mean(refitted_auc(X[:, [0, 2]], y)) < 0.7)
    (True, True)
    """
    sides = np.asarray(y, dtype=np.float64)
    folds = fold_numbers(sides, None, n_folds, random_state)
    return [auc(sides[test], scores) for test, scores in _fold_scores(X, sides, "linear", folds, random_state)]


def cluster_accuracy(
    X: NDArray[np.floating], labels: NDArray[np.bool_], *, n_starts: int = 10, random_state: int | None = 0
) -> float:
    """Return how well two k-means clusters of the rows agree with two classes, from 0.5 (chance) to 1.

    Examples
    --------
    >>> import numpy as np
    >>> cluster_accuracy(np.array([[0.0], [0.1], [9.0], [9.1]]), np.array([True, True, False, False]))
    1.0
    """
    from sklearn.cluster import KMeans

    with single_threaded_blas():
        clusters = KMeans(2, n_init=n_starts, random_state=random_state).fit_predict(X)
    agreement = float(np.mean((clusters == 1) == np.asarray(labels, dtype=bool)))
    return max(agreement, 1.0 - agreement)
