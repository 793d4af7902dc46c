"""DensRay: the concept's axes as eigenvectors of the pair matrix."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from densray.arrays import Array, namespace, to_host
from densray.errors import DensRayError, NotAdditiveError
from densray.moments import ClassMoments
from densray.pairs import (
    PairWeights,
    class_pair_matrix,
    score_covariance,
    score_pair_matrix,
    unit_pair_matrix,
)
from densray.rotations._additive import AdditiveRotation, precision_of
from densray.rotations._base import complete_basis, label_covariance, orient
from densray.rotations._labels import Labels

__all__ = ["DensRay", "principal_axes", "resolve_weights"]


class DensRay(AdditiveRotation):
    r"""Rotation whose first axes are the concept, in closed form.

    The axes maximise the spread of unlike pairs against that of like pairs,

    .. math::
        \max_{Q^\top Q = I} \operatorname{tr} Q^\top A\, Q, \qquad
        A = \alpha_{\neq} \sum_{l(v) \neq l(w)} d_{vw} d_{vw}^\top
          - \alpha_{=} \sum_{l(v) = l(w)} d_{vw} d_{vw}^\top,

    with :math:`d_{vw} = e_v - e_w` (eq. 2 of [1]_): eigenvectors of A by descending eigenvalue. For real scores
    :math:`A = -\sum l(v)\, l(w)\, d_{vw} d_{vw}^\top` (appendix of [1]_).

    Parameters
    ----------
    n_components : int or None, default=None
        Axes to keep; None keeps all: a lossless rotation.
    weights : "balanced" or (float, float), default="balanced"
        :math:`(\alpha_{\neq}, \alpha_{=})`; "balanced" weighs each kind of pair by one over its number. Without effect
        for scores.
    normalize_differences : bool, default=False
        Scale every difference to unit length first (section 2.4 of [1]_; what its experiments ran). Takes
        :math:`O(n^2 d)` work and cannot be updated; the plain form takes :math:`O(n d^2)` and can.
    center_labels : bool, default=True
        Subtract the mean of real scores first. A depends on it; False is the formula as printed.
    precision : {None, "float32", "float64"}, default=None
        Convert the rows to this first; None multiplies float32 and float64 rows as they are and refuses half
        precision.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        Orthonormal axes as rows; row 0 is the concept and points to the higher label.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of A, descending: what each axis adds to the objective.
    n_signal_axes_ : int
        How many eigenvalues are positive beyond rounding.
    moments_ : ClassMoments, ScoreMoments or None
        The additive statistics of the rows seen; None with unit-length differences.
    classes_ : ndarray of shape (2,) or None
        The two labels, the lower one first; None for scores.

    See Also
    --------
    Densifier : The same objective with lengths instead of squares.
    MeanDifference : What plain DensRay becomes when the labels sum to zero.

    Notes
    -----
    With plain differences and labels that sum to zero (centred scores, or classes of equal size under equal weights)
    :math:`A = 2 m m^\top` has rank one: axis 0 *is* the mean difference and no other axis carries signal.

    References
    ----------
    .. [1] P. Dufter and H. Schütze. Analytical Methods for Interpretable Ultradense Word Embeddings. EMNLP 2019.

    Examples
    --------
    A concept hidden along a known direction comes out on axis 0; before the rotation it was on no axis:

    >>> import numpy as np
    >>> from densray import DensRay
    >>> rng = np.random.default_rng(0)
    >>> hidden = np.ones(4) / 2
    >>> y = np.repeat([1, -1], 50)
    >>> X = rng.normal(size=(100, 4)) + 3 * y[:, None] * hidden
    >>> rotation = DensRay().fit(X, y)
    >>> bool(rotation.components_[0] @ hidden > 0.99)
    True
    >>> bool(np.allclose(rotation.inverse_transform(rotation.transform(X)), X))
    True
    """

    eigenvalues_: NDArray[np.float64]
    n_signal_axes_: int

    def __init__(
        self,
        n_components: int | None = None,
        *,
        weights: str | tuple[float, float] = "balanced",
        normalize_differences: bool = False,
        center_labels: bool = True,
        precision: str | None = None,
    ) -> None:
        self.n_components = n_components
        self.weights = weights
        self.normalize_differences = normalize_differences
        self.center_labels = center_labels
        self.precision = precision

    def _find_axes(
        self, X: Array, labels: Labels, n_components: int | None, sample_weight: Array | None
    ) -> NDArray[np.float64]:
        if not self.normalize_differences:
            return self._fit_moments(X, labels, n_components, sample_weight)
        self.moments_ = None
        A = self._unit_matrix(X, labels, sample_weight)
        return self._solve(A, label_covariance(X, labels, sample_weight), n_components, precision_of(X))

    @property
    def _needs_squares(self) -> bool:
        return not self.center_labels

    def _check_additive(self, what: str) -> None:
        if self.normalize_differences:
            raise NotAdditiveError(
                f"{what} was called with normalize_differences=True; unit-length differences do not add up over "
                "blocks. Use normalize_differences=False, or fit on all rows at once."
            )

    def _axes_from_moments(self, n_components: int | None, precision: float) -> NDArray[np.float64]:
        moments = self.moments_
        if isinstance(moments, ClassMoments):
            low, high = (moments.groups[value] for value in sorted(moments.groups))
            A = class_pair_matrix(moments, resolve_weights(self.weights, high.weight, low.weight))
            return self._solve(A, to_host(high.mean - low.mean), n_components, precision)
        assert moments is not None
        A = score_pair_matrix(moments, center=self.center_labels)
        return self._solve(A, score_covariance(moments), n_components, precision)

    def _unit_matrix(self, X: Array, labels: Labels, sample_weight: Array | None) -> NDArray[np.float64]:
        xp = namespace(X)
        weight = xp.ones(X.shape[0], dtype=X.dtype, device=X.device) if sample_weight is None else sample_weight
        if labels.binary:
            groups = labels.class_rows()
            low, high = (float(xp.sum(xp.take(weight, rows, axis=0))) for rows in groups)
            unlike, like = resolve_weights(self.weights, high, low)
            couplings = np.array([[-like, unlike], [unlike, -like]])
            return unit_pair_matrix(X, weight, groups=groups, couplings=couplings)
        scores = xp.astype(labels.values, X.dtype)
        if self.center_labels:
            scores = scores - xp.sum(weight * scores) / xp.sum(weight)
        return unit_pair_matrix(X, weight * scores)

    def _solve(
        self, A: NDArray[np.float64], toward: NDArray[np.float64], n_components: int | None, precision: float
    ) -> NDArray[np.float64]:
        self.eigenvalues_, axes, self.n_signal_axes_ = principal_axes(A, n_components, precision)
        if n_components is not None and n_components > self.n_signal_axes_:
            warnings.warn(
                f"n_components={n_components} axes were asked for, but only {self.n_signal_axes_} carry signal (a "
                "positive eigenvalue); the others do not tell the labels apart. Lower n_components, or use "
                "normalize_differences=True or other weights.",
                RuntimeWarning,
                stacklevel=4,
            )
        return orient(axes, toward)


def resolve_weights(weights: object, high: float, low: float) -> PairWeights:
    """Return the pair weights a user asked for; `high` and `low` are the sizes of the classes."""
    if isinstance(weights, str) and weights == "balanced":
        return PairWeights.balanced(high, low)
    try:
        unlike, like = (float(value) for value in weights)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise DensRayError(
            f"weights={weights!r} is given; 'balanced' or a pair (unlike, like) such as (0.5, 0.5) is needed."
        ) from None
    if not (np.isfinite(unlike) and np.isfinite(like)) or unlike < 0 or like < 0 or unlike == like == 0:
        raise DensRayError(f"weights={weights!r} is given; two numbers of at least 0, not both 0, are needed.")
    return PairWeights(unlike, like)


def principal_axes(
    A: NDArray[np.float64], n_components: int | None, precision: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return eigenvalues (descending), eigenvectors as rows, and how many eigenvalues are positive beyond rounding.

    Where eigenvalues vanish their eigenvectors are arbitrary: they are replaced by the completion of the others,
    which is a function of the data and not of rounding.
    """
    width = A.shape[0]
    count = width if n_components is None else n_components
    tolerance = 8.0 * precision * np.sqrt(width) * float(np.linalg.norm(A))
    if count <= width // 4:  # few axes: no need for the whole decomposition
        values, vectors = eigh(A, subset_by_index=(width - count, width - 1))
        if np.all(np.abs(values) > tolerance):
            return values[::-1].copy(), vectors.T[::-1].copy(), int(np.sum(values > tolerance))
    values, vectors = eigh(A)
    values, axes = values[::-1].copy(), vectors.T[::-1].copy()
    null = np.abs(values) <= tolerance
    if null.any() and not null.all():
        axes[null] = complete_basis(axes[~null])[int(np.sum(~null)) :]
    return values[:count], axes[:count], int(np.sum(values > tolerance))
