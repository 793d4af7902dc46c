"""DensRay: eigenvectors of the pair matrix.

`DensRay.fit` has five steps: check rows and labels, gather the moments of each class, compute the pair matrix A from
them, take its leading eigenvectors, and orient the first towards the higher label.
"""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, is_dask, namespace, whole_rows
from densray.errors import Advice, Argument, NotAdditiveError, SignalWarning
from densray.moments import LabelMoments, MomentParts
from densray.pairs import PairWeights, pair_matrix, toward_higher_label, unit_pair_matrix
from densray.rotations._additive import AdditiveRotation
from densray.rotations._base import Precision
from densray.rotations._basis import orient
from densray.rotations._columns import Columns
from densray.rotations._eigenvectors import leading_eigenvectors
from densray.rotations._training import TrainingRows, check_training_rows, gather_moments, label_covariance
from densray.rotations.blocks import fit_dask

#: Largest number of rows of a memory map for which all pairs are computed.
MAPPED_ROWS = 200_000


class DensRay(AdditiveRotation):
    r"""Rotation whose first axes represent the concept, computed in closed form.

    The axes maximise the spread of pairs with different labels minus the spread of pairs with equal labels,

    .. math::
        \max_{Q^\top Q = I} \operatorname{tr} Q^\top A\, Q, \qquad
        A = \alpha_{\neq} \sum_{l(v) \neq l(w)} d_{vw} d_{vw}^\top
          - \alpha_{=} \sum_{l(v) = l(w)} d_{vw} d_{vw}^\top,

    with :math:`d_{vw} = e_v - e_w` (eq. 2 of [1]_): eigenvectors of A by descending eigenvalue. For real scores
    :math:`A = -\sum l(v)\, l(w)\, d_{vw} d_{vw}^\top` (appendix of [1]_).

    Parameters
    ----------
    n_components : int or None, default=None
        Number of axes to keep. None keeps all, which is a lossless rotation.
    weights : "balanced" or (float, float), default="balanced"
        :math:`(\alpha_{\neq}, \alpha_{=})`; "balanced" weights each kind of pair by one over its number. Ignored for
        scores.
    normalize_differences : bool, default=False
        Scale every difference to unit length first (section 2.4 of [1]_, and the experiments there). This needs
        :math:`O(n^2 d)` operations, and further rows cannot be added later. The plain form needs :math:`O(n d^2)`, and
        further rows can be added.
    center_labels : bool, default=True
        Subtract the mean of real scores first. The matrix :math:`A` depends on this. False gives the formula as printed
        in [1]_.
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
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of A, descending: the contribution of each axis to the objective.
    n_signal_axes_ : int
        Number of computed eigenvalues that are positive beyond rounding error (not a test on unseen rows, unlike
        `n_signal_axes` of a diagnosis). With ``n_components=None``, all eigenvalues are computed.
    moments_ : ClassMoments, ScoreMoments or None
        Additive statistics of all rows so far; None with unit-length differences.
    classes_ : ndarray of shape (2,) or None
        The two labels, the lower one first; None for scores.

    See Also
    --------
    Densifier : The same objective with lengths instead of squares.
    MeanDifference : The axis of plain DensRay if the labels sum to zero.

    Notes
    -----
    With plain differences and labels that sum to zero (centred scores, or classes of equal size under equal weights),
    :math:`A = 2 m m^\top` has rank one: axis 0 *is* the mean difference, and no other axis carries signal.

    References
    ----------
    .. [1] P. Dufter and H. Schütze. Analytical Methods for Interpretable Ultradense Word Embeddings. EMNLP 2019.

    Examples
    --------
    A concept along a hidden direction is found on axis 0; before the rotation it was on no axis:

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
        precision: Precision = None,
        standardize: bool = False,
    ) -> None:
        self.n_components = n_components
        self.weights = weights
        self.normalize_differences = normalize_differences
        self.center_labels = center_labels
        self.precision = precision
        self.standardize = standardize

    # fit and fit_moments inherit their docstrings from Rotation and AdditiveRotation
    def fit(self, X: Array, y: Array, sample_weight: Array | None = None, *, groups: Array | None = None) -> Self:
        if is_dask(X):
            return fit_dask(self, X, y, sample_weight, groups)
        # plain differences need no check for NaN and infinity: they show up in the moments
        rows = check_training_rows(self, X, y, sample_weight, groups, finite=self.normalize_differences)
        if self.normalize_differences:
            return self._fit_unit_differences(rows)
        moments = gather_moments(rows, self.moment_parts)
        return self.fit_moments(moments, n_rows=rows.X.shape[0], rounding=rows.rounding)

    def fit_moments(self, moments: LabelMoments, *, n_rows: int | None, rounding: float) -> Self:
        self.moments_, self.classes_, self._rounding = moments, moments.classes, rounding
        columns = Columns.of_moments(moments, rounding, standardize=self.standardize)
        in_columns = columns.moments(moments)
        A = pair_matrix(in_columns, self.weights, center=self.center_labels)
        return self._set_axes(A, toward_higher_label(in_columns), columns, n_rows, rounding)

    def _fit_unit_differences(self, rows: TrainingRows) -> Self:
        """Find the axes from all pairs of rows, with each difference scaled to unit length."""
        if rows.are_on_disk and rows.X.shape[0] > MAPPED_ROWS:
            self.check_additive(f"a memory map of {rows.X.shape[0]:,} rows (more than {MAPPED_ROWS:,})")
        self.moments_, self.classes_ = None, rows.labels.classes
        columns = Columns.of_rows(rows.X, rows.weight, standardize=self.standardize)
        in_columns = TrainingRows(columns.rows(rows.X), rows.labels, rows.weight)
        A = all_unit_pairs(in_columns, self.weights, center=self.center_labels)
        toward = label_covariance(in_columns.X, rows.labels, rows.weight)
        return self._set_axes(A, toward, columns, rows.X.shape[0], in_columns.rounding)

    def _set_axes(
        self, A: Array, toward: NDArray[np.float64], columns: Columns, n_rows: int | None, rounding: float
    ) -> Self:
        """Use the leading eigenvectors of A as axes; the first points along `toward`, to the higher label.

        A and `toward` refer to the rows in `columns`. The axes are converted to those of the original rows.
        """
        n_components = self._count_axes(n_rows, A.shape[0])
        self.eigenvalues_, axes, self.n_signal_axes_ = leading_eigenvectors(A, n_components, rounding, toward=toward)
        if n_components is not None and n_components > self.n_signal_axes_:
            warnings.warn(
                SignalWarning(
                    Argument("n_components", n_components),
                    f" axes were asked for, but only {self.n_signal_axes_} carry signal (a positive eigenvalue); the "
                    "others do not separate the labels.",
                    Advice(" Lower ", Argument("n_components"), ", or use other weights.")
                    if self.normalize_differences
                    else Advice(
                        " Lower ",
                        Argument("n_components"),
                        ", or use ",
                        Argument("normalize_differences", True),
                        " or other weights.",
                    ),
                ),
                stacklevel=4,
            )
        self.components_ = columns.axes(orient(axes, toward))
        return self

    @property
    def moment_parts(self) -> MomentParts:
        """The second moments that the axes of plain differences depend on."""
        return MomentParts(scatter=True, squares=not self.center_labels, spread=self.standardize)

    def check_additive(self, what: str) -> None:
        """Raise for unit-length differences, which do not add up over blocks; `what` names the caller."""
        if self.normalize_differences:
            raise NotAdditiveError(
                Argument("normalize_differences", True),
                f" compares every row with every other, which {what} cannot do.",
                Advice(
                    " Use ",
                    Argument("normalize_differences", False),
                    ", whose statistics add up over blocks, or fit on a sample of the rows in memory.",
                ),
            )


def all_unit_pairs(rows: TrainingRows, weights: object, *, center: bool) -> NDArray[np.float64]:
    """Return A for unit-length differences, from all pairs of rows."""
    X, labels = whole_rows(rows.X), rows.labels
    xp = namespace(X)
    row_weight = xp.ones(X.shape[0], dtype=X.dtype, device=X.device) if rows.weight is None else rows.weight
    if labels.is_binary:
        classes = labels.class_rows
        low, high = (float(xp.sum(xp.take(row_weight, members, axis=0))) for members in classes)
        unlike, like = PairWeights.resolve(weights, high, low)
        return unit_pair_matrix(X, row_weight, classes=classes, couplings=np.array([[-like, unlike], [unlike, -like]]))
    scores, row_weight = xp.astype(labels.values, xp.float64), xp.astype(row_weight, xp.float64)
    if center:
        scores = scores - xp.sum(row_weight * scores) / xp.sum(row_weight)
    return unit_pair_matrix(X, row_weight * scores)


def densray_axes(
    rows: TrainingRows, *, count: int | None, weights: object, normalize: bool, center: bool
) -> NDArray[np.float64]:
    """Return the first axes that DensRay finds in checked rows (None: all), as starting points of another method."""
    if normalize:
        A, toward = all_unit_pairs(rows, weights, center=center), label_covariance(rows.X, rows.labels, rows.weight)
    else:
        moments = gather_moments(rows, MomentParts(scatter=True, squares=not center))
        A, toward = pair_matrix(moments, weights, center=center), toward_higher_label(moments)
    return orient(leading_eigenvectors(A, count, rows.rounding, toward=toward).vectors, toward)
