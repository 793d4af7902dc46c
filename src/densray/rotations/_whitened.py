"""Whitened DensRay: unlike pairs spread against all pairs, whatever the spread of the space."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from densray._arrays import Array, namespace, whole_rows
from densray.pairs import unit_pair_matrix
from densray.rotations._base import Precision, Rotation, Scale, label_covariance
from densray.rotations._basis import complete_basis, orient, repeat_in_complement
from densray.rotations._differences import unit
from densray.rotations._input import Labels
from densray.rotations._ridge import ridge_direction


class WhitenedDensRay(Rotation):
    r"""Rotation whose first axis spreads unlike pairs most *for its share of the space's own spread*.

    DensRay maximises :math:`q^\top A q`, and so prefers directions in which all words lie far apart. Here the spread of
    all pairs is divided out (a generalised eigenproblem):

    .. math::
        \max_q \frac{q^\top A\, q}{q^\top (B + \alpha I)\, q}, \qquad
        A = -\sum_{v,w} l(v)\, l(w)\, d_{vw} d_{vw}^\top, \qquad B = \sum_{v,w} d_{vw} d_{vw}^\top,

    with centred labels l; the two classes weigh the same. For :math:`\alpha = 0` and two classes its axis is the one
    that maximises unlike over like pairs. The shrinkage α is chosen by leave-one-out, in closed form.

    Parameters
    ----------
    n_components : int or None, default=1
        Axes to find, each inside the complement of the earlier ones; None finds one and completes it to a lossless
        rotation.
    normalize_differences : bool, default=False
        Scale every difference to unit length first, as in section 2.4 of [1]_.
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
    penalty_ : float
        α for axis 0, in units of the scatter of the rows.

    See Also
    --------
    DensRay : The same numerator, not whitened.
    LinearRotation : "ridge", what this becomes for scores.

    Notes
    -----
    With plain differences the labels sum to zero, so that :math:`A = 2 m m^\top` has rank one,
    :math:`m = \sum l(v)\, e_v`, and B is 2n times the scatter S. The solution is
    :math:`q \propto (S + \alpha I)^{-1} m`: ridge regression of the labels on the vectors, classes weighing the
    same. Since m is the mean difference, this is the mean difference, whitened (Fisher 1936, with a ridge); the pair
    matrix of other weights, or of classes of unequal mass, whitened is something else.

    References
    ----------
    .. [1] P. Dufter and H. Schütze. Analytical Methods for Interpretable Ultradense Word Embeddings. EMNLP 2019.

    Examples
    --------
    The second coordinate tells the classes apart, but the first varies more:

    >>> import numpy as np
    >>> from densray import DensRay, WhitenedDensRay
    >>> y = np.tile([1, -1], 20)
    >>> X = np.column_stack([9 * np.random.default_rng(2).normal(size=40), y])
    >>> WhitenedDensRay().fit(X, y).components_[0].round(1)
    array([0., 1.])
    >>> DensRay(1).fit(X, y).components_[0].round(1)
    array([0.9, 0.4])
    """

    penalty_: float

    def __init__(
        self,
        n_components: int | None = 1,
        *,
        normalize_differences: bool = False,
        precision: Precision = None,
        scale: Scale = None,
    ) -> None:
        self.n_components = n_components
        self.normalize_differences = normalize_differences
        self.precision = precision
        self.scale = scale

    def _find_axes(
        self, X: Array, labels: Labels, n_components: int | None, sample_weight: Array | None
    ) -> NDArray[np.float64]:
        mass = _equal_masses(X, labels, sample_weight)
        weight = mass if sample_weight is None else mass * sample_weight
        penalties: list[float] = []

        def find(Z: Array) -> NDArray[np.float64]:
            direction, penalty = ridge_direction(
                Z, labels.values, sample_weight, two_classes=labels.binary, mass=mass, groups=labels.groups
            )
            penalties.append(penalty)
            return unit(self._unit_direction(Z, labels, weight, penalty) if self.normalize_differences else direction)

        axes = repeat_in_complement(X, 1 if n_components is None else n_components, find)
        self.penalty_ = penalties[0]
        axes = orient(axes, label_covariance(X, labels, sample_weight))
        return complete_basis(axes) if n_components is None else axes

    def _unit_direction(self, X: Array, labels: Labels, weight: Array, penalty: float) -> NDArray[np.float64]:
        """Return the leading generalised eigenvector for differences of unit length."""
        X = whole_rows(X)
        xp = namespace(X)
        total = xp.sum(weight)
        scores = xp.astype(labels.values, X.dtype)
        A = unit_pair_matrix(X, weight * (scores - xp.sum(weight * scores) / total))
        B = unit_pair_matrix(X, weight, couplings=np.ones((1, 1)))
        # the same shrinkage, as a share of the mean eigenvalue
        centred = X - (weight @ X) / total
        spread = float(xp.sum(weight[:, None] * centred * centred))
        shrunk = B + (penalty / spread * float(np.trace(B))) * np.eye(len(B))
        leading = eigh(A, shrunk, subset_by_index=(len(A) - 1, len(A) - 1))[1][:, 0]
        return np.asarray(leading, dtype=np.float64)


def _equal_masses(X: Array, labels: Labels, sample_weight: Array | None) -> Array:
    """Return what each row counts so that the two classes count the same, one on average."""
    xp = namespace(X)
    weight = xp.ones(X.shape[0], dtype=X.dtype, device=X.device) if sample_weight is None else sample_weight
    if not labels.binary:
        return xp.ones_like(weight)
    high = labels.values > 0
    share = float(xp.sum(xp.where(high, weight, xp.zeros_like(weight))) / xp.sum(weight))
    return xp.where(high, 0.5 / share, 0.5 / (1.0 - share)) * xp.ones_like(weight)
