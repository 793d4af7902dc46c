"""Axes of differences: between class means, and between the words of pairs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, array_on, namespace, take_rows
from densray.errors import LabelError
from densray.moments import ClassMoments, LabelMoments, MomentParts
from densray.pairs import toward_higher_label, unlike_pair_matrix
from densray.rotations._additive import AdditiveRotation
from densray.rotations._base import Precision, Rotation
from densray.rotations._basis import complete_basis, orient, unit
from densray.rotations._columns import Columns
from densray.rotations._eigenvectors import leading_eigenvectors
from densray.rotations._labels import Labels
from densray.rotations._rows import rounding_of
from densray.rotations._training import label_covariance


class MeanDifference(AdditiveRotation):
    r"""Rotation whose first axis runs from the mean of the lower class to the mean of the higher class (SemAxis).

    .. math::
        q \propto \bar e_+ - \bar e_-, \qquad\text{for scores}\qquad q \propto \sum_v (l(v) - \bar l)\, e_v .

    Parameters
    ----------
    n_components : int or None, default=1
        Number of axes to keep; the method finds one, and further axes complete the basis. None keeps all: a lossless
        rotation.
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
    moments_ : ClassMoments or ScoreMoments
        Additive statistics of all rows so far.

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

    def __init__(self, n_components: int | None = 1, *, precision: Precision = None, standardize: bool = False) -> None:
        self.n_components = n_components
        self.precision = precision
        self.standardize = standardize

    @property
    def moment_parts(self) -> MomentParts:
        """The second moments that the axes depend on: none, or the column variances for standardized columns."""
        return MomentParts(scatter=self.standardize, squares=False, spread=self.standardize)

    def fit_moments(self, moments: LabelMoments, *, n_rows: int | None, rounding: float) -> Self:
        self.moments_, self.classes_, self._rounding = moments, moments.classes, rounding
        n_components = self._count_axes(n_rows, self.n_features_in_)
        columns = Columns.of_moments(moments, rounding, standardize=self.standardize)
        axes = unit(toward_higher_label(columns.moments(moments)))[None, :]
        self.components_ = columns.axes(axes if n_components == 1 else complete_basis(axes)[:n_components])
        return self


class PairDirection(Rotation):
    r"""Rotation whose first axis is the first principal component of pair differences.

    .. math::
        \max_{\|q\| = 1} \sum_{(v, w)} (q^\top d_{vw})^2

    over pairs of words with different labels in the same group (he and she are one group, king and queen another), as
    Bolukbasi et al. [1]_ find the gender direction. Without groups, the sum runs over all pairs with different labels.

    Parameters
    ----------
    n_components : int or None, default=1
        Number of axes to keep. None keeps all, which makes the rotation lossless.
    precision : {None, "float32", "float64"}, default=None
        Number type of the computation and of the output; rows are converted block by block. None: float32 and float64
        rows are used as they are, half precision is computed in float32, and the output has the type of the input.
    standardize : bool, default=False
        Divide columns by their standard deviations σ before fitting, which is needed for the states of language models.
        An axis w found this way is returned as w / σ, scaled to unit length, so that it applies to the original rows.

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

    def __init__(self, n_components: int | None = 1, *, precision: Precision = None, standardize: bool = False) -> None:
        self.n_components = n_components
        self.precision = precision
        self.standardize = standardize

    def _find_axes(
        self, X: Array, labels: Labels, n_components: int | None, sample_weight: Array | None
    ) -> NDArray[np.float64]:
        members = np.zeros(X.shape[0]) if labels.groups is None else labels.groups
        A = _unlike_pairs_within(X, labels, sample_weight, members)
        self.eigenvalues_, axes, *_ = leading_eigenvectors(A, n_components, rounding_of(X))
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
            continue  # the partner of this word is missing
        weights = None if weight is None else xp.take(weight, rows, axis=0)
        A += unlike_pair_matrix(ClassMoments.of(take_rows(X, rows), signs, (-1.0, 1.0), weights))
        pairs += 1
    if pairs == 0:
        raise LabelError(
            "no group contains rows of both classes, so there are no pairs to compare. Check groups against y."
        )
    return A
