"""Axes that are differences: of class means, and of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, array_on, namespace, take_rows, to_host
from densray.errors import LabelError, VectorError
from densray.moments import ClassMoments, LabelMoments, MomentParts
from densray.pairs import score_covariance, unlike_pair_matrix
from densray.rotations._base import AdditiveRotation, Precision, Rotation, Scale, label_covariance
from densray.rotations._basis import complete_basis, orient, principal_axes
from densray.rotations._input import Labels, precision_of


class MeanDifference(AdditiveRotation):
    r"""Rotation whose first axis runs from the mean of the lower class to that of the higher (SemAxis).

    .. math::
        q \propto \bar e_+ - \bar e_-, \qquad\text{for scores}\qquad q \propto \sum_v (l(v) - \bar l)\, e_v .

    Parameters
    ----------
    n_components : int or None, default=1
        Axes to keep; the method has one, further ones complete the basis. None keeps all: a lossless rotation.
    precision : {None, "float32", "float64", "fast"}, default=None
        Convert the rows to this, block by block, and return rows in it; None multiplies float32 and float64 rows as
        they are, half precision in float32, and returns the type it was given. "fast" is float32 here.
    scale : {None, "columns"}, default=None
        "columns" finds the axes in columns divided by their standard deviations σ, which those of language models
        need; an axis w found there is returned as the one that reads rows as they are, w / σ at unit length.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        Orthonormal axes as rows; row 0 is the concept and points to the higher label.
    moments_ : ClassMoments or ScoreMoments
        The additive statistics of the rows seen.

    References
    ----------
    .. [1] J. An, H. Kwak and Y.-Y. Ahn. SemAxis: A Lightweight Framework to Characterize Domain-Specific Word
       Semantics Beyond Sentiment. ACL 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from densray import MeanDifference
    >>> X, y = np.array([[3.0, 1.0], [5.0, 1.0], [-4.0, 1.0]]), [1, 1, -1]
    >>> MeanDifference().fit(X, y).components_
    array([[1., 0.]])
    """

    def __init__(self, n_components: int | None = 1, *, precision: Precision = None, scale: Scale = None) -> None:
        self.n_components = n_components
        self.precision = precision
        self.scale = scale

    @property
    def moment_parts(self) -> MomentParts:
        """The second moments that the axes depend on: none, or for scaled columns their spread."""
        return MomentParts(scatter=self.scale is not None, squares=False, spread=self.scale is not None)

    def _axes_from_moments(
        self, moments: LabelMoments, n_components: int | None, precision: float
    ) -> NDArray[np.float64]:
        if isinstance(moments, ClassMoments):
            low, high = (moments.groups[value] for value in sorted(moments.groups))
            direction = to_host(high.mean - low.mean)
        else:
            direction = score_covariance(moments)
        axes = unit(direction)[None, :]
        return axes if n_components == 1 else complete_basis(axes)[:n_components]


def unit(direction: NDArray[Any]) -> NDArray[np.float64]:
    """Return a direction at unit length."""
    length = float(np.linalg.norm(direction))
    if not np.isfinite(length):
        raise VectorError(
            "the direction found is not finite: the vectors are too large. Scale them, e.g. to unit length."
        )
    if length == 0.0:
        raise LabelError(
            "the direction found is zero: the labels do not move the mean vector. Check vectors and labels."
        )
    return np.asarray(direction, dtype=np.float64) / length


class PairDirection(Rotation):
    r"""Rotation whose first axis is the first principal component of pair differences.

    .. math::
        \max_{\|q\| = 1} \sum_{(v, w)} (q^\top d_{vw})^2

    over pairs of unlike words of one group (he – she, king – queen), as Bolukbasi et al. [1]_ find the gender
    direction; without groups over all unlike pairs.

    Parameters
    ----------
    n_components : int or None, default=1
        Axes to keep; None keeps all: a lossless rotation.
    precision : {None, "float32", "float64", "fast"}, default=None
        Convert the rows to this, block by block, and return rows in it; None multiplies float32 and float64 rows as
        they are, half precision in float32, and returns the type it was given. "fast" is float32 here.
    scale : {None, "columns"}, default=None
        "columns" finds the axes in columns divided by their standard deviations σ, which those of language models
        need; an axis w found there is returned as the one that reads rows as they are, w / σ at unit length.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        Orthonormal axes as rows; row 0 points to the higher label.
    eigenvalues_ : ndarray of shape (n_components,)
        Sum of squared differences along each axis, over ordered pairs.

    References
    ----------
    .. [1] T. Bolukbasi, K.-W. Chang, J. Zou, V. Saligrama and A. Kalai. Man is to Computer Programmer as Woman is to
       Homemaker? Debiasing Word Embeddings. NeurIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from densray import PairDirection
    >>> X = np.array([[1.0, 5.0], [-1.0, 5.0], [1.0, -7.0], [-1.0, -7.0]])
    >>> PairDirection().fit(X, [1, -1, 1, -1], groups=[0, 0, 1, 1]).components_
    array([[1., 0.]])
    """

    _classes_only = True

    eigenvalues_: NDArray[np.float64]

    def __init__(self, n_components: int | None = 1, *, precision: Precision = None, scale: Scale = None) -> None:
        self.n_components = n_components
        self.precision = precision
        self.scale = scale

    def _find_axes(
        self, X: Array, labels: Labels, n_components: int | None, sample_weight: Array | None
    ) -> NDArray[np.float64]:
        members = np.zeros(X.shape[0]) if labels.groups is None else labels.groups
        A = _unlike_pairs_within(X, labels, sample_weight, members)
        self.eigenvalues_, axes, *_ = principal_axes(A, n_components, precision_of(X))
        return orient(axes, label_covariance(X, labels, sample_weight))


def _unlike_pairs_within(X: Array, labels: Labels, weight: Array | None, members: NDArray[Any]) -> NDArray[np.float64]:
    """Return the sum of d dᵀ over the unlike pairs of each group."""
    groups = np.unique(members)
    if len(groups) == 1:
        return unlike_pair_matrix(ClassMoments.of(X, labels.values, (-1.0, 1.0), weight))
    xp = namespace(X)
    A = np.zeros((X.shape[1], X.shape[1]))
    pairs = 0
    for group in groups:
        rows = array_on(np.flatnonzero(members == group), X)
        signs = xp.take(labels.values, rows, axis=0)
        if bool(xp.all(signs == signs[0])):
            continue  # a word whose partner is missing
        weights = None if weight is None else xp.take(weight, rows, axis=0)
        A += unlike_pair_matrix(ClassMoments.of(take_rows(X, rows), signs, (-1.0, 1.0), weights))
        pairs += 1
    if pairs == 0:
        raise LabelError("no group holds rows of both classes, so there is no pair. Check groups against y.")
    return A
