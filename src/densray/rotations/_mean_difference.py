"""The mean difference: the field's simplest axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray.arrays import Array, to_host
from densray.errors import LabelError, VectorError
from densray.moments import ClassMoments
from densray.pairs import score_covariance
from densray.rotations._additive import AdditiveRotation
from densray.rotations._base import complete_basis
from densray.rotations._labels import Labels

__all__ = ["MeanDifference", "unit"]


class MeanDifference(AdditiveRotation):
    r"""Rotation whose first axis runs from the mean of the lower class to that of the higher (SemAxis).

    .. math::
        q \propto \bar e_+ - \bar e_-, \qquad\text{for scores}\qquad q \propto \sum_v (l(v) - \bar l)\, e_v .

    Parameters
    ----------
    n_components : int or None, default=1
        Axes to keep; the method has one, further ones complete the basis. None keeps all: a lossless rotation.
    precision : {None, "float32", "float64"}, default=None
        Convert the rows to this first; None multiplies float32 and float64 rows as they are and refuses half
        precision.

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

    def __init__(self, n_components: int | None = 1, *, precision: str | None = None) -> None:
        self.n_components = n_components
        self.precision = precision

    def _find_axes(
        self, X: Array, labels: Labels, n_components: int | None, sample_weight: Array | None
    ) -> NDArray[np.float64]:
        return self._fit_moments(X, labels, n_components, sample_weight)

    @property
    def _needs_scatter(self) -> bool:
        return False

    def _axes_from_moments(self, n_components: int | None, precision: float) -> NDArray[np.float64]:
        moments = self.moments_
        if isinstance(moments, ClassMoments):
            low, high = (moments.groups[value] for value in sorted(moments.groups))
            direction = to_host(high.mean - low.mean)
        else:
            assert moments is not None
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
