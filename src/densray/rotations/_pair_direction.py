"""The direction of pairs: the first principal component of their differences."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from densray.arrays import Array, namespace
from densray.errors import LabelError
from densray.moments import ClassMoments
from densray.pairs import unlike_pair_matrix
from densray.rotations._additive import precision_of
from densray.rotations._base import Rotation, label_covariance, orient
from densray.rotations._densray import principal_axes
from densray.rotations._labels import Labels, read_labels
from densray.rotations._vectors import check_rows

__all__ = ["PairDirection"]


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

    def __init__(self, n_components: int | None = 1) -> None:
        self.n_components = n_components

    def fit(self, X: Array, y: Array, groups: Array | None = None) -> Self:
        """Find the direction of the pairs.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Two classes: the two sides of the pairs.
        groups : array of shape (n,), optional
            Rows with the same value belong together: usually two, one a class. Absent: all rows belong together.
        """
        X = check_rows(self, X, reset=True)
        labels = read_labels(y, X.shape[0], classes_only=True).beside(X)
        n_components = self._count_axes(X.shape)
        self.classes_ = labels.classes
        A = self._pair_matrix(X, labels, groups)
        self.eigenvalues_, axes, _ = principal_axes(A, n_components, precision_of(X))
        self.components_ = orient(axes, label_covariance(X, labels, None))
        return self

    def _pair_matrix(self, X: Array, labels: Labels, groups: Array | None) -> NDArray[np.float64]:
        if groups is None:
            return unlike_pair_matrix(ClassMoments.of(X, labels.values, (-1.0, 1.0)))
        members = np.asarray(groups)
        if members.shape != (X.shape[0],):
            raise LabelError(f"groups has shape {members.shape}; one group a row is needed, shape ({X.shape[0]},).")
        xp = namespace(X)
        A = np.zeros((X.shape[1], X.shape[1]))
        pairs = 0
        for group in np.unique(members):
            rows = xp.asarray(np.flatnonzero(members == group))
            signs = xp.take(labels.values, rows, axis=0)
            if bool(xp.all(signs == signs[0])):
                continue  # a word whose partner is missing
            A += unlike_pair_matrix(ClassMoments.of(xp.take(X, rows, axis=0), signs, (-1.0, 1.0)))
            pairs += 1
        if pairs == 0:
            raise LabelError("no group holds rows of both classes, so there is no pair. Check groups against y.")
        return A
