"""Linear models as rotations: support vector machines, logistic regression, ridge and others."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import has_fit_parameter

from densray._arrays import Array, is_foreign, move, namespace, to_host, whole_rows
from densray._threads import ignored_warnings
from densray.errors import Advice, Argument, DensRayError, NotAdditiveError, NotConvergedWarning, SignalWarning, suggest
from densray.methods import METHODS
from densray.rotations._base import Precision, Rotation
from densray.rotations._basis import complete_basis, orient, repeat_in_complement, unit
from densray.rotations._labels import Labels
from densray.rotations._ridge import MANY_ROWS, ridge_direction, ridge_of_moments
from densray.rotations._training import label_covariance

#: From this many rows on, support vector machines are solved by liblinear, in linear time.
LIBLINEAR_ROWS = 5000

#: Rounding threshold: scores whose spread is below this share of that of the labels, and rows whose spread is below
#: this share of that of the original rows, contain only rounding errors.
ROUNDING_SHARE = 1e-5

#: Two losses are equal if they differ by less than this share.
LOSS_ROUNDING = 1e-13

#: Rows are far from the origin if the length of their mean exceeds this multiple of their spread.
FAR_OFF = 10.0

#: Maximum number of libsvm steps for a solution of nine digits; beyond it, three digits are enough. On rows of unit
#: length, three digits take at most 30,000 steps.
LIBSVM_STEPS = 100_000
#: Maximum of steps times rows for three digits: a few seconds.
LIBSVM_WORK = 2 * 10**8
#: Maximum number of passes of liblinear over the rows.
LIBLINEAR_STEPS = 20_000


LinearModelName: TypeAlias = Literal["ridge", "svm", "svr", "logistic", "linear", "lda", "cca"]


class LinearEstimator(Protocol):
    """A linear estimator of scikit-learn: it has ``coef_`` after ``fit``."""

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from rows and labels."""


class LinearRotation(Rotation):
    r"""Rotation whose first axis is the unit normal vector of a linear model.

    .. math::
        q = w / \|w\|, \qquad w \text{ the coefficients of the fitted model},

    completed to an orthogonal basis by one Householder reflection. To find further axes, the fit is repeated
    after removing the axes found so far, until the model finds nothing more: its coefficients vanish, or the rows no
    longer differ. Axes after that complete the basis, with a warning.

    Parameters
    ----------
    estimator : str or scikit-learn estimator, default="ridge"
        "ridge" (its penalty is chosen by leave-one-out in closed form), "svm", "svr", "logistic", "linear", "lda",
        "cca", or any linear estimator with ``coef_`` after ``fit``.
    n_components : int or None, default=1
        Number of axes to find; None finds one and completes it to a lossless rotation.
    precision : {None, "float32", "float64"}, default=None
        Number type of the computation and of the output; rows are converted block by block. None: float32 and float64
        rows are used as they are, half precision is computed in float32, and the output has the type of the input.
    standardize : bool, default=False
        Divide columns by their standard deviations σ before fitting, which is needed for the states of language models.
        An axis w found this way is returned as w / σ, scaled to unit length, so that it applies to the original rows.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        Orthonormal axes as rows; row 0 is the concept and points to the higher label.
    n_signal_axes_ : int
        Number of leading axes that a model found (not a test on unseen rows, unlike `n_signal_axes` of a diagnosis);
        the others complete the basis. 0 if a support vector machine predicts no better than a constant.
    penalty_ : float or None
        The penalty chosen for axis 0 ("ridge"); None for other models.

    Notes
    -----
    "svm" is ``SVC(kernel="linear", C=1)`` and "svr" is ``SVR(kernel="linear", C=1)``, as in section 3 of the paper
    [1]_. From 5,000 rows on, liblinear solves the same problem on centred rows, where its penalty on the intercept has
    no effect. "svm", "logistic" and "lda" need two classes; the others accept scores too.

    References
    ----------
    .. [1] P. Dufter and H. Schütze. Analytical Methods for Interpretable Ultradense Word Embeddings. EMNLP 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from densray import LinearRotation
    >>> X = np.column_stack([np.arange(1.0, 21.0), np.arange(20) % 2])
    >>> LinearRotation("ridge").fit(X, 10.0 * X[:, 0]).components_.round(3)
    array([[1., 0.]])
    """

    n_signal_axes_: int
    penalty_: float | None

    def __init__(
        self,
        estimator: LinearModelName | LinearEstimator = "ridge",
        *,
        n_components: int | None = 1,
        precision: Precision = None,
        standardize: bool = False,
    ) -> None:
        self.estimator = estimator
        self.n_components = n_components
        self.precision = precision
        self.standardize = standardize

    @property
    def _classes_only(self) -> bool:  # type: ignore[override]
        if isinstance(self.estimator, str):
            return self.estimator in LINEAR_MODELS and METHODS[self.estimator].classes_only
        return hasattr(self.estimator, "fit") and bool(is_classifier(self.estimator))

    def _find_axes(
        self, X: Array, labels: Labels, n_components: int | None, sample_weight: Array | None
    ) -> NDArray[np.float64]:
        self._check_model(sample_weight)
        self.penalty_ = None
        rows = X
        if n_components not in (None, 1) and not is_foreign(X) and X.shape[0] < LIBLINEAR_ROWS:
            # rounding of complements must stay below the cut-off of a model without penalty
            rows = to_host(X).astype(np.float64)
        spread = _spread_of(labels.values)
        width, whole = X.shape[1], 0.0 if n_components in (None, 1) else _spread_of(whole_rows(X))

        def find(Z: Array) -> NDArray[np.float64] | None:
            first = Z.shape[1] == width
            if not first and _spread_of(Z) <= ROUNDING_SHARE * whole:
                return None
            coefficients, above_chance = self._coefficients(X if first else Z, labels, sample_weight)
            if not first and (not above_chance or _spread_of(Z @ move(coefficients, Z)) <= ROUNDING_SHARE * spread):
                return None
            if not above_chance:
                at_chance.append(True)
                warnings.warn(
                    f"{self.estimator!r} predicts the labels of these {X.shape[0]:,} rows no better than a constant "
                    "does: its axis is rounding of the solver. Balance the classes, scale the rows to unit length, or "
                    "use 'ridge'.",
                    SignalWarning,
                    stacklevel=5,
                )
            return unit(coefficients)

        at_chance: list[bool] = []
        axes = repeat_in_complement(rows, 1 if n_components is None else n_components, find)
        self.n_signal_axes_ = 0 if at_chance else len(axes)
        axes = orient(axes, label_covariance(X, labels, sample_weight))
        if n_components is None or len(axes) == n_components:
            return complete_basis(axes) if n_components is None else axes
        warnings.warn(
            SignalWarning(
                Argument("n_components", n_components),
                f" axes were asked for, but after {len(axes)} a model of {self.estimator!r} is at chance, and "
                "further axes would be rounding.",
                " The others complete the basis and do not separate the labels.",
                Advice(" Lower ", Argument("n_components"), ", or give more rows."),
            ),
            stacklevel=3,
        )
        return complete_basis(axes)[:n_components]

    def fit_sums(
        self,
        scatter: NDArray[np.float64],
        covariance: NDArray[np.float64],
        spread: float,
        count: int,
        *,
        two_classes: bool,
    ) -> Self:
        """Find the axis of ridge from sums over many rows, equal to that of `fit` on the rows themselves.

        It needs "ridge" with one axis or all axes, original columns, and a hundred rows per dimension; see
        :func:`densray.rotations._ridge.ridge_of_moments` for the sums.
        """
        if not self.takes_sums(count, len(scatter)):
            raise NotAdditiveError(
                f"'{self.estimator}' needs all of these {count:,} rows at once, with ",
                Argument("n_components", self.n_components),
                ". Use DensRay or MeanDifference, whose statistics add up.",
            )
        coefficients, self.penalty_ = ridge_of_moments(scatter, covariance, spread, count, two_classes=two_classes)
        axes = unit(coefficients)[None, :]
        self.n_signal_axes_, self.n_features_in_ = 1, len(scatter)
        self.classes_ = np.array([-1.0, 1.0]) if two_classes else None
        self.components_ = complete_basis(axes) if self.n_components is None else axes
        return self

    def takes_sums(self, count: int, width: int) -> bool:
        """Return whether :meth:`fit_sums` finds the same axis as `fit` on `count` rows of this width."""
        alone = self.n_components in (None, 1) and not self.standardize
        return self.estimator == "ridge" and alone and count >= MANY_ROWS * width

    def _coefficients(self, X: Array, labels: Labels, sample_weight: Array | None) -> tuple[NDArray[np.float64], bool]:
        """Return the coefficients, and False if a support vector machine predicts no better than a constant."""
        make = (
            LINEAR_MODELS[self.estimator] if isinstance(self.estimator, str) else lambda n_rows: clone(self.estimator)
        )
        if make is None:
            coefficients, penalty = ridge_direction(
                X, labels.values, sample_weight, two_classes=labels.is_binary, groups=labels.groups
            )
            self.penalty_ = penalty if self.penalty_ is None else self.penalty_
            return coefficients, True
        X, y = to_host(X), to_host(labels.values)
        y = y if labels.is_binary else y - np.median(y)  # does not change the axis, but scores may be far from zero
        model = make(X.shape[0])
        if X.shape[0] >= LIBLINEAR_ROWS and self.estimator in ("svm", "svr"):
            X = X - X.mean(axis=0)
        elif self.estimator in ("svm", "svr", "logistic"):
            X = _near_origin(X)
        converged = True
        weights = {} if sample_weight is None else {"sample_weight": to_host(sample_weight).astype(np.float64)}
        try:
            if self.estimator in ("svm", "svr"):
                converged = self._fit_support_vectors(model, X, y, weights)
            else:
                model.fit(X, y, **weights)
        except ValueError as error:
            raise DensRayError(f"{self.estimator!r} cannot be fitted to {X.shape[0]} rows: {error}") from error
        coefficients = _coefficients_of(model, X.shape[1])
        if self.estimator not in ("svm", "svr") or not converged:
            return coefficients, True
        return coefficients, _beats_constant(model, X, y, weights.get("sample_weight"))

    def _fit_support_vectors(self, model: Any, X: NDArray[Any], y: NDArray[Any], weights: dict[str, Any]) -> bool:
        """Fit a support vector machine in a limited number of steps; return whether it converged, else warn."""
        with ignored_warnings(ConvergenceWarning):
            model.fit(X, y, **weights)
            if getattr(model, "fit_status_", 0):  # overlapping classes: use the default tolerance of scikit-learn
                model.set_params(tol=1e-3, max_iter=max(LIBSVM_STEPS, LIBSVM_WORK // len(X))).fit(X, y, **weights)
        libsvm = hasattr(model, "fit_status_")
        converged = not (model.fit_status_ if libsvm else np.max(model.n_iter_) >= model.max_iter)
        if not converged:
            length = float(np.median(np.linalg.norm(X, axis=1)))
            warnings.warn(
                f"{self.estimator!r} has not converged after {model.max_iter:,} steps on {len(X)} rows of median "
                f"length {length:.3g}; its axis is approximate. Scale the rows to unit length, or use 'ridge'.",
                NotConvergedWarning,
                stacklevel=7,
            )
        return converged

    def _check_model(self, sample_weight: Array | None) -> None:
        if isinstance(self.estimator, str):
            if self.estimator not in LINEAR_MODELS:
                raise DensRayError(
                    Argument("estimator", self.estimator), f" is unknown. {suggest(self.estimator, LINEAR_MODELS)}"
                )
            make = LINEAR_MODELS[self.estimator]
            weighs = sample_weight is None or make is None or has_fit_parameter(make(0), "sample_weight")
        else:
            if not hasattr(self.estimator, "fit"):
                raise DensRayError(
                    Argument("estimator", self.estimator),
                    f" is given; one of {', '.join(LINEAR_MODELS)} or a scikit-learn estimator is needed.",
                )
            weighs = sample_weight is None or has_fit_parameter(self.estimator, "sample_weight")
        if not weighs:
            raise DensRayError(
                f"sample_weight is given, but {self.estimator!r} does not support it. Leave it out, or use 'ridge' or "
                "'svm'."
            )


def _spread_of(X: Array) -> float:
    """Return the root of the total variance of rows, on their device; for numbers, their standard deviation."""
    if isinstance(X, np.ndarray):
        return float(np.sqrt(X.var(axis=0, dtype=np.float64).sum()))
    xp = namespace(X)
    return float(xp.sqrt(xp.sum(xp.var(X, axis=0))))


def _near_origin(X: NDArray[Any]) -> NDArray[Any]:
    """Return rows, centred on their mean if they lie far from the origin, where solvers stop too early.

    The intercept is not penalised, so in theory the axis is the same.
    """
    mean = X.mean(axis=0, dtype=np.float64)
    return X - mean if np.linalg.norm(mean) > FAR_OFF * _spread_of(X) else X


def _coefficients_of(model: Any, width: int) -> NDArray[np.float64]:
    coefficients = getattr(model, "coef_", None)
    if coefficients is None or np.size(coefficients) != width:
        shape = "none" if coefficients is None else f"shape {np.shape(coefficients)}"
        raise DensRayError(
            f"{type(model).__name__} has no single normal vector after fit (coef_: {shape}; {width} numbers are "
            "needed). Use a linear estimator of one target."
        )
    return np.asarray(coefficients, dtype=np.float64).ravel()


def _beats_constant(model: Any, X: NDArray[Any], y: NDArray[Any], weight: NDArray[np.float64] | None) -> bool:
    """Return whether a support vector machine has a smaller loss than the best constant.

    If the constant is optimal (for example, if one class is rare and lies within the other), a solver stops near zero
    coefficients, whose direction is rounding. Both losses are computed at their own best intercept.
    """
    coefficients = np.asarray(model.coef_, dtype=np.float64).ravel()
    weight = np.ones(len(y)) if weight is None else weight
    if is_regressor(model):  # errors up to epsilon have no loss
        margin = float(model.epsilon)
        below, above = (y - margin, weight), (y + margin, weight)
    else:
        high = y > y.min()
        below, above = (np.ones(len(y)), weight * high), (-np.ones(len(y)), weight * ~high)

    def loss(values: NDArray[np.float64]) -> float:
        low, up = below[0] - values, above[0] - values  # a constant below `low`, or above `up`, costs the distance
        places = np.concatenate([low, up])
        order = np.argsort(places, kind="stable")
        slope = np.cumsum(np.concatenate([below[1], above[1]])[order]) - below[1].sum()
        constant = places[order[int(np.argmax(slope >= 0))]]
        return float(below[1] @ np.maximum(low - constant, 0.0) + above[1] @ np.maximum(constant - up, 0.0))

    of_constant = loss(np.zeros(len(y)))
    gain = of_constant - loss(X @ coefficients) - float(coefficients @ coefficients) / 2
    return gain > LOSS_ROUNDING * of_constant


def _svm(n_rows: int) -> Any:
    from sklearn.svm import SVC, LinearSVC

    if n_rows < LIBLINEAR_ROWS:
        return SVC(kernel="linear", C=1.0, tol=1e-9, max_iter=LIBSVM_STEPS)
    return LinearSVC(loss="hinge", C=1.0, intercept_scaling=3.0, max_iter=LIBLINEAR_STEPS, random_state=0)


def _svr(n_rows: int) -> Any:
    from sklearn.svm import SVR, LinearSVR

    if n_rows < LIBLINEAR_ROWS:
        return SVR(kernel="linear", C=1.0, tol=1e-10, max_iter=LIBSVM_STEPS)
    return LinearSVR(epsilon=0.1, C=1.0, max_iter=LIBLINEAR_STEPS, random_state=0)


def _logistic(n_rows: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1.0, max_iter=1000)


def _linear(n_rows: int) -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def _lda(n_rows: int) -> Any:
    from sklearn.covariance import LedoitWolf
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    # Not shrinkage="auto", which scales each coordinate first: the axis would not be rotation-equivariant.
    return LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=LedoitWolf())


#: Functions from the number of rows to an estimator; None for ridge, which `ridge_direction` solves.
LINEAR_MODELS: Mapping[LinearModelName, Callable[[int], Any] | None] = MappingProxyType(
    {
        "ridge": None,
        "svm": _svm,
        "svr": _svr,
        "logistic": _logistic,
        "linear": _linear,
        "lda": _lda,
        "cca": _linear,  # with one target, the canonical direction is that of least squares
    }
)
