"""DensRay: eigenvectors of the pair matrix."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from densray._arrays import (
    HALF_TYPES,
    Array,
    ConvertedRows,
    array_on,
    given_rows,
    namespace,
    take_rows,
    to_host,
    type_name,
    whole_rows,
)
from densray._files import is_memory_mapped
from densray._threads import ignored_warnings
from densray.errors import DeviceMemoryError, NotAdditiveError, SignalWarning
from densray.moments import ClassMoments, LabelMoments, MomentParts
from densray.pair_sampling import (
    SAMPLE_ROWS,
    PairEstimate,
    check_partners,
    check_random_generator,
    estimate_pair_matrix,
    too_many_rows,
)
from densray.pairs import PairWeights, class_pair_matrix, score_covariance, score_pair_matrix, unit_pair_matrix
from densray.rotations._base import AdditiveRotation, Precision, Scale, label_covariance
from densray.rotations._basis import ColumnScaling, FastSample, fast_angle, orient, principal_axes
from densray.rotations._input import Labels, checked_moments, precision_of

if TYPE_CHECKING:
    from densray.rotations.blocks import BlockStatistics

#: Degrees by which products on tensor cores may turn axis 0; beyond, rows are multiplied in float32.
LARGEST_FAST_ANGLE = 0.01
#: Columns from which on splitting rows is faster than float32; narrower half precision is not split after it failed.
SPLIT_WIDTH = 2048
#: Rows of a memory map above which all pairs are too many.
MAPPED_ROWS = 200_000


@dataclass(frozen=True)
class UnitPairs:
    """All that the sum over pairs of rows depends on."""

    X: Array
    row_weight: Array  # one number per row: its weight, or weight times score
    groups: Sequence[Array]  # the rows of each class; one group for scores
    couplings: NDArray[np.float64]  # what a pair of two classes counts
    population: Sequence[int] | None = None  # rows of each class in all, where X is a sample

    @classmethod
    def of_classes(cls, X: Array, groups: Sequence[Array], weight: Array, pair_weights: PairWeights) -> UnitPairs:
        """Return the terms for two classes, the lower one first."""
        unlike, like = pair_weights
        return cls(X, weight, groups, np.array([[-like, unlike], [unlike, -like]]))

    @classmethod
    def of_scores(cls, X: Array, weighted_scores: Array) -> UnitPairs:
        """Return the terms for scores, weighted and centred already."""
        return cls(X, weighted_scores, [namespace(X).arange(X.shape[0], device=X.device)], np.array([[-1.0]]))

    def matrix(self) -> NDArray[np.float64]:
        """Return A from all pairs."""
        return unit_pair_matrix(self.X, self.row_weight, groups=self.groups, couplings=self.couplings)

    def estimate(self, n_partners: int, random: np.random.Generator) -> PairEstimate:
        """Return A from some pairs of each row."""
        return estimate_pair_matrix(
            self.X,
            self.row_weight,
            groups=self.groups,
            couplings=self.couplings,
            n_partners=n_partners,
            random=random,
            population=self.population,
        )

    def sample(self, n_rows: int, random: np.random.Generator) -> UnitPairs:
        """Return at most `n_rows` random rows, as evenly from the classes as their sizes allow."""
        sizes = [int(rows.shape[0]) for rows in self.groups]
        if sum(sizes) <= n_rows:
            return replace(self, X=whole_rows(self.X))
        xp = namespace(self.X)
        drawn = [
            np.sort(random.choice(size, count, replace=False, shuffle=False))
            for size, count in zip(sizes, share_out(sizes, n_rows), strict=True)
        ]
        rows = xp.concat(
            [xp.take(whole, array_on(part, self.X), axis=0) for whole, part in zip(self.groups, drawn, strict=True)]
        )
        ends = np.cumsum([len(part) for part in drawn]).tolist()
        groups = [array_on(np.arange(end - len(part), end), self.X) for end, part in zip(ends, drawn, strict=True)]
        X, row_weight = whole_rows(take_rows(self.X, rows)), xp.take(self.row_weight, rows, axis=0)
        return UnitPairs(X, row_weight, groups, self.couplings, self.population or sizes)


def share_out(sizes: Sequence[int], total: int) -> list[int]:
    """Return how many rows to draw from each of one or two classes: as many from either, as far as it has them.

    >>> share_out([1000, 10], 100)
    [90, 10]
    """
    if len(sizes) == 1:
        return [min(sizes[0], total)]
    low = min(sizes[0], max(total - total // 2, total - sizes[1]))
    return [low, min(sizes[1], total - low)]


def check_all_pairs(X: Array) -> None:
    """Raise if `X` is a memory map of too many rows for all pairs."""
    if is_memory_mapped(given_rows(X)) and X.shape[0] > MAPPED_ROWS:
        raise too_many_rows(f"a memory map of {X.shape[0]:,} rows (more than {MAPPED_ROWS:,})")


def pairs_of_rows(X: Array, labels: Labels, weight: Array | None, weights: object, *, center: bool) -> UnitPairs:
    """Return the pairs of rows that are all in memory."""
    xp = namespace(X)
    row_weight = xp.ones(X.shape[0], dtype=X.dtype, device=X.device) if weight is None else weight
    if labels.binary:
        groups = labels.class_rows()
        low, high = (float(xp.sum(xp.take(row_weight, rows, axis=0))) for rows in groups)
        return UnitPairs.of_classes(X, groups, row_weight, PairWeights.resolve(weights, high, low))
    scores, row_weight = xp.astype(labels.values, xp.float64), xp.astype(row_weight, xp.float64)
    if center:
        scores = scores - xp.sum(row_weight * scores) / xp.sum(row_weight)
    return UnitPairs.of_scores(X, row_weight * scores)


def pairs_of_sample(
    statistics: BlockStatistics, weights: object, *, center: bool
) -> tuple[UnitPairs, NDArray[np.float64]]:
    """Return the pairs of rows drawn from a stream, and the direction that the moments of all its rows point to."""
    moments, sample = statistics.moments, statistics.sample
    assert sample is not None
    if isinstance(moments, ClassMoments):
        low, high = (moments.groups[value] for value in sorted(moments.groups))
        strata = [sample.strata[value] for value in sorted(moments.groups)]
        counts = share_out([len(stratum.rows) for stratum in strata], sample.limit)
        strata = [stratum.lowest(count) for stratum, count in zip(strata, counts, strict=True)]
        ends = np.cumsum(counts).tolist()
        pairs = UnitPairs.of_classes(
            np.concatenate([stratum.rows for stratum in strata]),
            [np.arange(end - count, end) for end, count in zip(ends, counts, strict=True)],
            np.concatenate([stratum.weights for stratum in strata]),
            PairWeights.resolve(weights, high.weight, low.weight),
        )
        toward = to_host(high.mean - low.mean)
    else:
        strata = [sample.strata[None].lowest(sample.limit)]
        mean = moments.origin + moments.score / moments.weight if center else 0.0
        scores = strata[0].values.astype(np.float64) - mean
        pairs = UnitPairs.of_scores(strata[0].rows, strata[0].weights * scores)
        toward = score_covariance(moments)
    return replace(pairs, population=[stratum.seen for stratum in strata]), toward


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
    precision : {None, "float32", "float64", "fast"}, default=None
        Convert the rows to this, block by block, and return rows in it; None multiplies float32 and float64 rows as
        they are, half precision in float32, and returns the type it was given. "fast" multiplies on the tensor cores
        of a GPU (PyTorch): half precision as it is, or each centred row as a high and a low part of bfloat16. It acts
        for plain differences of two classes, where ``fast_angle_`` is at most 0.01 degrees; elsewhere it is float32.
    scale : {None, "columns"}, default=None
        "columns" finds the axes in columns divided by their standard deviations σ, which those of language models
        need; an axis w found there is returned as the one that reads rows as they are, w / σ at unit length.
    n_partners : int or None, default=None
        Acts with ``normalize_differences=True`` only. Compare each row with about this many random others instead of
        all: an unbiased estimate of A in :math:`O(n\,n_\text{partners}\,d)` work. ``axis_error_`` says how far off the
        axis is.
    sample_rows : int or None, default=None
        Acts with `n_partners` only: the most rows to draw. None takes all rows in memory, and 32,768 of a memory map,
        an iterable of blocks or a Dask array.
    random_state : int, RandomState or None, default=None
        Acts with `n_partners` only: seed of the rows drawn and compared.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        Orthonormal axes as rows; row 0 is the concept and points to the higher label.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of A, descending: what each axis adds to the objective.
    n_signal_axes_ : int
        How many of the eigenvalues computed are positive beyond rounding; all of them with ``n_components=None``.
    moments_ : ClassMoments, ScoreMoments or None
        The additive statistics of the rows seen; None with unit-length differences.
    classes_ : ndarray of shape (2,) or None
        The two labels, the lower one first; None for scores.
    fast_angle_ : float or None
        Degrees by which fast products may turn axis 0, estimated from a sample of the rows; None where they were not
        tried (``precision="fast"``).
    axis_error_ : float or None
        Standard error of axis 0 against that of all pairs, an angle in radians; None where all pairs were used.

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

    @property
    def _sums_rows(self) -> bool:  # type: ignore[override]
        return not self.normalize_differences

    eigenvalues_: NDArray[np.float64]
    n_signal_axes_: int
    axis_error_: float | None
    fast_angle_: float | None

    def __init__(
        self,
        n_components: int | None = None,
        *,
        weights: str | tuple[float, float] = "balanced",
        normalize_differences: bool = False,
        center_labels: bool = True,
        precision: Precision = None,
        scale: Scale = None,
        n_partners: int | None = None,
        sample_rows: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.weights = weights
        self.normalize_differences = normalize_differences
        self.center_labels = center_labels
        self.precision = precision
        self.scale = scale
        self.n_partners = n_partners
        self.sample_rows = sample_rows
        self.random_state = random_state

    def _find_axes(
        self, X: Array, labels: Labels, n_components: int | None, sample_weight: Array | None
    ) -> NDArray[np.float64]:
        if not self.normalize_differences:
            angle = None
            for kind in self._fast_kinds(X, labels, sample_weight):
                rows = ConvertedRows(given_rows(X), namespace(X).float32, namespace(X).float32, fast=kind)
                try:
                    axes, angle = self._find_fast_axes(rows, labels, n_components, sample_weight)
                except (DeviceMemoryError, sys.modules["torch"].OutOfMemoryError):  # float32 holds no samples
                    continue
                if angle <= LARGEST_FAST_ANGLE:
                    break
            else:
                axes = super()._find_axes(X, labels, n_components, sample_weight)
            self.fast_angle_ = angle
            return axes
        self.moments_ = None
        toward = label_covariance(X, labels, sample_weight)
        X = whole_rows(X) if self.n_partners is None else X
        check_partners(self.n_partners, self.sample_rows)
        if self.n_partners is None:
            check_all_pairs(X)
        pairs = pairs_of_rows(X, labels, sample_weight, self.weights, center=self.center_labels)
        scaling = ColumnScaling.of_rows(X, sample_weight, precision_of(X)) if self._scales_columns() else None
        if self.n_partners is None:
            return self._solve_pairs(pairs, scaling, toward, n_components, precision_of(X))
        random = check_random_generator(self.random_state)
        limit = self.sample_rows or (SAMPLE_ROWS if is_memory_mapped(given_rows(X)) else X.shape[0])
        return self._solve_pairs(pairs.sample(limit, random), scaling, toward, n_components, precision_of(X), random)

    def _find_fast_axes(
        self, X: ConvertedRows, labels: Labels, n_components: int | None, weight: Array | None
    ) -> tuple[NDArray[np.float64], float]:
        """Return the axes by products on tensor cores, and the degrees by which those may turn the first."""
        samples: list[FastSample] = []

        def gather() -> LabelMoments:
            moments = self._gather(X, labels, weight)
            samples.extend(FastSample.of_class(X, members, weight) for members in labels.class_rows())
            return moments

        self.moments_ = checked_moments(X, gather)
        self._rounding = precision_of(X)
        axes = self._axes_at(n_components)
        assert isinstance(self.moments_, ClassMoments)
        return axes, fast_angle(samples, self.moments_, self._resolved(self.moments_), axes[0], self._gap)

    def _solve_pairs(
        self,
        pairs: UnitPairs,
        scaling: ColumnScaling | None,
        toward: NDArray[np.float64],
        n_components: int | None,
        precision: float,
        random: np.random.Generator | None = None,
    ) -> NDArray[np.float64]:
        """Return the axes from all pairs, or with `random` from some of each row; of a sample only its rows scale."""
        if scaling is not None:
            pairs, toward = replace(pairs, X=scaling.rows(pairs.X)), toward / scaling.spread
        error = None
        if random is None:
            A = pairs.matrix()
        else:
            estimate = pairs.estimate(int(self.n_partners or 0), random)
            A, error = estimate.matrix, estimate.axis_error()
        axes = self._solve(A, toward, n_components, precision)
        self.axis_error_ = error
        return axes if scaling is None else scaling.axes(axes)

    def _fast_kinds(self, X: Array, labels: Labels, weight: Array | None) -> list[str]:
        """Return the ways of tensor cores to try, the fastest first; none where they were not asked for."""
        if self.precision != "fast" or not labels.binary or self._scales_columns():
            return []
        if not hasattr(given_rows(X), "is_cuda"):  # PyTorch's alone
            return []
        if type_name(given_rows(X)) not in HALF_TYPES or weight is not None:
            return ["split"]
        return ["as given", "split"] if X.shape[1] >= SPLIT_WIDTH else ["as given"]

    def _resolved(self, moments: ClassMoments) -> PairWeights:
        """Return the weights of unlike and like pairs for classes of these sizes."""
        low, high = (moments.groups[value].weight for value in sorted(moments.groups))
        return PairWeights.resolve(self.weights, high, low)

    @property
    def moment_parts(self) -> MomentParts:
        """The second moments that the axes depend on; of unit-length differences none: their pairs are sampled."""
        scaled = self.scale is not None
        return MomentParts(
            scatter=scaled or not self.normalize_differences, squares=not self.center_labels, spread=scaled
        )

    def _check_additive(self, what: str) -> None:
        if self.normalize_differences:
            raise NotAdditiveError(
                f"{what} was called with normalize_differences=True; unit-length differences do not add up over "
                "blocks. Use normalize_differences=False, fit on all rows at once, or sample pairs: n_partners=2000 in "
                "densray.scale.fit_blocks."
            )

    def fit_statistics(self, statistics: BlockStatistics) -> Self:
        """Find the axes from statistics of rows that were gathered block by block; see `densray.rotations.blocks`."""
        if not self.normalize_differences:
            return super().fit_statistics(statistics)
        self.n_features_in_ = statistics.width
        n_components = self._count_axes((statistics.n_rows, statistics.width))
        pairs, toward = pairs_of_sample(statistics, self.weights, center=self.center_labels)
        scaling = ColumnScaling.of_moments(statistics.moments, statistics.precision) if self._scales_columns() else None
        self.moments_ = None
        self.classes_ = statistics.moments.classes
        random = check_random_generator(self.random_state)
        self.components_ = self._solve_pairs(pairs, scaling, toward, n_components, statistics.precision, random)
        return self

    def _axes_from_moments(
        self, moments: LabelMoments, n_components: int | None, precision: float
    ) -> NDArray[np.float64]:
        if isinstance(moments, ClassMoments):
            low, high = (moments.groups[value] for value in sorted(moments.groups))
            A = class_pair_matrix(moments, self._resolved(moments))
            return self._solve(A, to_host(high.mean - low.mean), n_components, precision)
        A = score_pair_matrix(moments, center=self.center_labels)
        return self._solve(A, score_covariance(moments), n_components, precision)

    def _solve(
        self, A: Array, toward: NDArray[np.float64], n_components: int | None, precision: float
    ) -> NDArray[np.float64]:
        found = principal_axes(A, n_components, precision, toward=toward)
        self.eigenvalues_, axes, self.n_signal_axes_, self._gap = found
        self.axis_error_ = self.fast_angle_ = None
        if n_components is not None and n_components > self.n_signal_axes_:
            warnings.warn(
                f"n_components={n_components} axes were asked for, but only {self.n_signal_axes_} carry signal (a "
                "positive eigenvalue); the others do not tell the labels apart. Lower n_components, or use "
                "normalize_differences=True or other weights.",
                SignalWarning,
                stacklevel=4,
            )
        return orient(axes, toward)


def densray_axes(
    X: Array,
    labels: Labels,
    weight: Array | None,
    *,
    count: int | None,
    weights: object,
    normalize: bool,
    center: bool,
) -> NDArray[np.float64]:
    """Return the first axes that DensRay finds in checked rows, None for all, as another method's starting points."""
    rotation = DensRay(weights=weights, normalize_differences=normalize, center_labels=center)  # type: ignore[arg-type]
    with ignored_warnings(SignalWarning, "n_components="):
        return rotation._find_axes(X, labels, count, weight)  # of rows as they are
