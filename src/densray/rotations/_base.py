"""The base classes of all rotations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from densray._arrays import (
    Array,
    ConvertedRows,
    float64_like,
    in_blocks,
    is_dask,
    is_foreign,
    map_rows,
    move,
    namespace,
    to_host,
    type_name,
)
from densray.erasure import Erasure
from densray.errors import (
    DensRayError,
    LabelError,
    NotAdditiveError,
    RotationNotFittedError,
    VectorError,
)
from densray.moments import ClassMoments, LabelMoments, MomentParts, ScoreMoments, merge_moments, moments_of_labels
from densray.rotations._basis import ColumnScaling, product
from densray.rotations._input import (
    Labels,
    at_precision,
    check_finite,
    check_rows,
    check_weights,
    checked_moments,
    drop_weightless,
    precision_of,
    read_block_labels,
    read_groups,
    read_labels,
    read_signals,
)
from densray.rotations.blocks import fit_dask, map_dask, score_dask

if TYPE_CHECKING:
    from densray.rotations.blocks import BlockStatistics


#: Rows of any library: NumPy, PyTorch, CuPy, Dask; what comes back is of the library that was given.
Rows = TypeVar("Rows")

#: What rows may be converted to, by name.
Precision: TypeAlias = Literal["float32", "float64", "fast"] | None
#: What columns may be divided by, by name.
Scale: TypeAlias = Literal["columns"] | None

#: What columns may be divided by before an axis is found: nothing, or their standard deviations.
SCALES = (None, "columns")


class Rotation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all rotations: `fit` finds ``components_``, orthonormal rows whose first is the concept.

    A subclass stores its parameters and implements ``_find_axes``. With ``scale="columns"`` the axes are found in
    columns divided by their standard deviations σ; an axis w found there is returned as w / σ at unit length, which
    reads rows as they are in the same order, and further ones are made orthogonal to it.
    """

    #: Whether the method needs exactly two classes.
    _classes_only = False
    #: Whether the method begins with sums over all rows, which tell whether one is not finite.
    _sums_rows = False

    n_components: int | None
    scale: str | None = None
    components_: NDArray[np.float64]
    classes_: NDArray[Any] | None
    n_features_in_: int

    def _find_axes(
        self, X: Array, labels: Labels, n_components: int | None, sample_weight: Array | None
    ) -> NDArray[np.float64]:
        """Return orthonormal axes as rows, the concept first, pointing to the higher label."""
        raise NotImplementedError

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None, *, groups: Array | None = None) -> Self:
        """Find the axes of the concept that `y` labels.

        Parameters
        ----------
        X : array of shape (n, d)
            One vector per row: NumPy (a memory map too), PyTorch, CuPy or Dask.
        y : array of shape (n,)
            Two classes (the higher label is positive), or real scores.
        sample_weight : array of shape (n,), optional
            How much each row counts; an integer weight equals repeating the row.
        groups : array of shape (n,), optional
            Rows with the same value belong together (the halves of a pair, texts about one thing). Methods that choose
            something by leaving rows out (ridge) leave out whole groups; :class:`PairDirection` takes its pairs within
            them; others do not need them.
        """
        if is_dask(X):
            refuse_groups(groups)
            return fit_dask(self, X, y, sample_weight)
        namespace(X, y, sample_weight)  # all on one device
        X = check_rows(self, X, reset=True, finite=not self._sums_rows)
        members = read_groups(groups, X.shape[0])
        weight = check_weights(sample_weight, X)
        if members is not None:
            _, members, _ = drop_weightless(X, members, weight)
        X, y, weight = drop_weightless(X, y, weight)
        labels = read_labels(y, X.shape[0], classes_only=self._classes_only).on_device_of(X)
        labels = replace(labels, groups=members)
        n_components = self._count_axes(X.shape)
        self.classes_ = labels.classes
        self.components_ = self._find_scaled_axes(X, labels, n_components, weight)
        return self

    def _find_scaled_axes(
        self, X: Array, labels: Labels, n_components: int | None, weight: Array | None
    ) -> NDArray[np.float64]:
        """Return what `_find_axes` finds, in scaled columns where that was asked for, as axes of the columns given."""
        if not self._scales_columns():
            return self._find_axes(X, labels, n_components, weight)
        scaling = ColumnScaling.of_rows(X, weight, precision_of(X))
        return scaling.axes(self._find_axes(scaling.rows(X), labels, n_components, weight))

    def _scales_columns(self) -> bool:
        if self.scale not in SCALES:
            raise DensRayError(f"scale={self.scale!r} is given; 'columns' is all there is. Leave it out for no scale.")
        return self.scale is not None

    def transform(self, X: Rows) -> Rows:
        """Return the coordinates of `X` along the axes; the first column is the concept."""
        if is_dask(X):
            mapped: Rows = map_dask(self, "transform", X)
            return mapped
        rows = self._check_fitted_rows(X)
        axes = move(self.components_, rows).T
        found: Rows = _map_checked(rows, lambda part: part @ axes, int(axes.shape[1]))
        return found

    def inverse_transform(self, X: Rows) -> Rows:
        """Return vectors in the original coordinates from coordinates along the axes."""
        if is_dask(X):
            mapped: Rows = map_dask(self, "inverse_transform", X)
            return mapped
        self._check_fitted()
        Z = at_precision(X, getattr(self, "precision", None))
        xp = namespace(X)
        if xp is np and not isinstance(Z, ConvertedRows):
            Z = np.asarray(Z)
        if xp is np and Z.dtype.kind not in "fiub":
            raise VectorError(f"coordinates are {Z.dtype}; numbers are needed. Pass what transform returned.")
        if Z.ndim != 2 or Z.shape[1] != self.components_.shape[0]:
            raise VectorError(
                f"coordinates have shape {tuple(Z.shape)}; {type(self).__name__} has {self.components_.shape[0]} axes. "
                "Pass what transform returned."
            )
        if xp is np and Z.dtype.kind != "f":
            Z = Z.astype(np.float64)
        axes = move(self.components_, Z)
        found: Rows = _map_checked(Z, lambda part: part @ axes, int(axes.shape[1]))
        return found

    def erase(self, X: Rows, n_axes: int = 1, *, strength: float = 1.0) -> Rows:
        """Return `X` without the concept, in the original coordinates.

        Parameters
        ----------
        X : array of shape (n, d)
        n_axes : int, default=1
            How many axes to remove, counted from the concept.
        strength : float, default=1.0
            Share of each coordinate to remove; 1 removes it wholly.
        """
        if is_dask(X):
            mapped: Rows = map_dask(self, "erase", X, n_axes=n_axes, strength=strength)
            return mapped
        rows = self._check_fitted_rows(X)
        erasure = Erasure.of(self, n_axes)
        found: Rows = _map_checked(rows, lambda part: erasure.erase(part, strength=strength), int(rows.shape[1]))
        return found

    def score(self, X: Array, y: Array, *, groups: Array | None = None) -> float:
        """Return Kendall's τ-b between the labels and the coordinate on axis 0.

        With `groups`, one per row, only rows of one group are compared, such as the halves of a pair: what the axis
        says of the concept, whatever else the groups differ in.
        """
        if is_dask(X):
            refuse_groups(groups)
            return score_dask(self, X, y)
        X = self._check_fitted_rows(X)
        labels = read_labels(y, X.shape[0])
        coordinate = product(X, move(self.components_[:1], X).T)[:, 0]
        return _tau(to_host(coordinate), to_host(labels.values), read_groups(groups, X.shape[0]))

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        if self._classes_only:
            from sklearn.utils import ClassifierTags

            tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _check_fitted(self) -> None:
        if not hasattr(self, "components_"):
            raise RotationNotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call fit(X, y) first."
            )

    def _check_fitted_rows(self, X: Array) -> Array:
        self._check_fitted()
        return check_rows(self, X, reset=False, finite=not is_foreign(X))

    def _count_axes(self, shape: tuple[int, int]) -> int | None:
        """Return the number of axes asked for, None for all, checked against the data."""
        asked = self.n_components
        if asked is None:
            return None
        n_rows, width = shape
        if not isinstance(asked, int | np.integer) or isinstance(asked, bool) or not 1 <= asked <= width:
            raise DensRayError(
                f"n_components={asked!r} is given; a whole number from 1 to {width}, the width of the vectors, "
                "or None (all axes) is needed."
            )
        if asked > n_rows:
            raise DensRayError(
                f"n_components={asked} is given for {n_rows} rows; fewer rows than axes cannot fix them. "
                f"Use n_components <= {n_rows}, or None for a full basis."
            )
        return int(asked)


def _map_checked(X: Array, act: Callable[[Array], Array], width: int) -> Array:
    """Return the rows that `act` makes of `X`, `width` numbers each, in the type that was given.

    On a device a row that is not finite makes a row that is not, so the first column of the result tells.
    """
    return map_rows(X, act, width, check=lambda made, block: _check_made(X, made, block))


def _check_made(X: Array, made: Array, block: slice) -> None:
    """Raise if a row made of another is not finite, naming the row that was given where that is not either."""
    xp = namespace(X)
    if xp is np or not made.shape[1]:
        return  # a product by NumPy may leave out what it multiplies by zero: its rows were checked themselves
    column = made[:, 0]
    if bool(xp.all(xp.isfinite(column))):
        return
    check_finite(X)
    row = block.start + int(xp.nonzero(~xp.isfinite(column))[0][0])
    raise VectorError(f"row {row} of X is too large: its coordinates overflow {type_name(made)}. Scale the vectors.")


def score_signals(
    rotation: Rotation, X: Array, table: NDArray[Any], axes: list[int], groups: Array | None = None
) -> float:
    """Return the mean over signals of Kendall's τ-b between a column of labels (NaN: none) and the signal's axis."""
    coordinates = to_host(rotation.transform(X))
    signals = read_signals(table, len(coordinates))
    if len(signals) != len(axes):
        raise LabelError(f"y has {len(signals)} columns; {len(axes)} signals were fitted. Pass one column per signal.")
    members = read_groups(groups, len(coordinates))
    taus = [
        _tau(coordinates[rows, axis], labels.values, None if members is None else members[rows])
        for (rows, labels), axis in zip(signals, axes, strict=True)
    ]
    return float(np.mean(taus))


def refuse_groups(groups: object) -> None:
    """Raise if groups are given with rows that are not in memory."""
    if groups is not None:
        raise DensRayError("groups are given with a Dask collection; they need rows in memory. Leave them out.")


def _tau(scores: NDArray[Any], labels: NDArray[Any], members: NDArray[np.int64] | None) -> float:
    """Return Kendall's τ-b over pairs of rows, of one group where there are groups."""
    if members is None:
        from scipy.stats import kendalltau  # slow to import

        return float(kendalltau(scores, labels).statistic)
    net = untied_scores = untied_labels = 0.0
    order = np.argsort(members, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(members[order])) + 1):
        by_score, by_label = (np.sign(values[rows][:, None] - values[rows]) for values in (scores, labels))
        net += float(np.sum(by_score * by_label))
        untied_scores += float(np.sum(by_score != 0))
        untied_labels += float(np.sum(by_label != 0))
    if untied_labels == 0.0:
        raise LabelError("no group holds rows of different labels, so there is nothing to compare. Check groups.")
    return net / np.sqrt(untied_scores * untied_labels) if untied_scores else 0.0


def label_covariance(X: Array, labels: Labels, weight: Array | None) -> NDArray[np.float64]:
    """Return Σ w (l - mean l) x, which points to the higher label."""
    xp = namespace(X)
    values = xp.astype(labels.values, xp.float64)
    weights = xp.ones_like(values) if weight is None else xp.astype(weight, xp.float64)
    centred = values - xp.sum(weights * values) / xp.sum(weights)  # in double: scores may be far from zero
    weighted_labels = xp.astype(weights * centred, X.dtype)
    total = np.zeros(X.shape[1])
    for part in in_blocks(X, lambda block: xp.astype(weighted_labels[block] @ X[block, :], xp.float64)):
        total += to_host(part)
    return total


class AdditiveRotation(Rotation):
    """Base of rotations that are a function of additive moments: `fit`, `partial_fit` and `merge` agree.

    A subclass implements ``_axes_from_moments``, and says in ``moment_parts`` which moments it needs.
    """

    moments_: LabelMoments | None
    _sums_rows = True

    def _axes_from_moments(
        self, moments: LabelMoments, n_components: int | None, precision: float
    ) -> NDArray[np.float64]:
        """Return the axes of rows with these moments."""
        raise NotImplementedError

    def _axes_at(self, n_components: int | None) -> NDArray[np.float64]:
        """Return the axes from ``moments_``, in scaled columns where that was asked for: their moments scale too."""
        assert self.moments_ is not None
        if not self._scales_columns():
            return self._axes_from_moments(self.moments_, n_components, self._rounding)
        scaling = ColumnScaling.of_moments(self.moments_, self._rounding)
        return scaling.axes(self._axes_from_moments(scaling.moments(self.moments_), n_components, self._rounding))

    def _find_scaled_axes(
        self, X: Array, labels: Labels, n_components: int | None, weight: Array | None
    ) -> NDArray[np.float64]:
        return self._find_axes(X, labels, n_components, weight)  # which scales the moments

    @property
    def moment_parts(self) -> MomentParts:
        """The second moments that the axes depend on."""
        return MomentParts(scatter=True, squares=False, spread=self.scale is not None)

    def _check_additive(self, what: str) -> None:
        """Raise where the parameters make a form that does not add up over blocks."""

    def _has_partial_fit(self) -> bool:
        self._check_additive("partial_fit")
        return True

    @available_if(_has_partial_fit)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Array, y: Array, sample_weight: Array | None = None) -> Self:
        """Add one more block of rows, and find the axes again; any split of the rows into blocks gives the same axes.

        A block may hold one label only; the axes exist once two labels were seen. A third label turns classes into
        scores, as in `fit`.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
        """
        if hasattr(self, "components_") and getattr(self, "moments_", None) is None:
            raise NotAdditiveError(
                "this rotation carries no statistics to add to (a saved file keeps the axes only). Fit it again."
            )
        X = check_rows(self, X, reset=not hasattr(self, "moments_"), fewest=1, finite=False)
        weight = check_weights(sample_weight, X)
        values = read_block_labels(y, X.shape[0])
        X, values, weight = drop_weightless(X, values, weight)
        values = float64_like(values, X) if is_foreign(X) or is_foreign(values) else values
        moments = checked_moments(X, lambda: moments_of_labels(X, values, weight, self.moment_parts))
        known = getattr(self, "moments_", None)
        self.moments_ = moments if known is None else merge_moments(known, moments, self.moment_parts)
        self._rounding = max(getattr(self, "_rounding", 0.0), precision_of(X))
        return self._refresh()

    def merge(self, other: Self) -> Self:
        """Add the rows another rotation of this kind has seen, without the rows themselves."""
        self._check_additive("merge")
        mine, theirs = getattr(self, "moments_", None), getattr(other, "moments_", None)
        if mine is None or theirs is None:
            raise RotationNotFittedError("one of the two rotations has seen no rows yet. Fit both before merging.")
        if type(other) is not type(self):
            raise DensRayError(
                f"a {type(other).__name__} cannot be merged into a {type(self).__name__}. Merge rotations of one kind."
            )
        if other.n_features_in_ != self.n_features_in_:
            raise DensRayError(
                f"vectors of width {other.n_features_in_} cannot be merged into width {self.n_features_in_}. "
                "Merge rotations of one space."
            )
        self.moments_ = merge_moments(mine, theirs, self.moment_parts)
        self._rounding = max(getattr(self, "_rounding", 0.0), getattr(other, "_rounding", 0.0))
        return self._refresh()

    def fit_statistics(self, statistics: BlockStatistics) -> Self:
        """Find the axes from statistics of rows that were gathered block by block; see `densray.rotations.blocks`."""
        self.n_features_in_ = statistics.width
        n_components = self._count_axes((statistics.n_rows, statistics.width))
        self.moments_ = statistics.moments
        self.classes_ = self.moments_.classes
        self._rounding = statistics.precision
        self.components_ = self._axes_at(n_components)
        return self

    def _find_axes(
        self, X: Array, labels: Labels, n_components: int | None, sample_weight: Array | None
    ) -> NDArray[np.float64]:
        self.moments_ = checked_moments(X, lambda: self._gather(X, labels, sample_weight))
        self._rounding = precision_of(X)
        return self._axes_at(n_components)

    def _gather(self, X: Array, labels: Labels, sample_weight: Array | None) -> LabelMoments:
        """Return the moments of rows whose labels were read."""
        parts = self.moment_parts
        if labels.classes is None:
            return ScoreMoments.of(X, labels.values, sample_weight, squares=parts.squares, spread=parts.spread)
        signs = (-1.0, 1.0)
        if parts.scatter and is_foreign(X):
            by_sign = ClassMoments.of_members(X, dict(zip(signs, labels.class_rows(), strict=True)), sample_weight)
        else:
            by_sign = ClassMoments.of(X, labels.values, signs, sample_weight, scatter=parts.scatter)
        return ClassMoments(
            {value: by_sign.groups[sign] for value, sign in zip(labels.classes.tolist(), signs, strict=True)}
        )

    def _refresh(self) -> Self:
        assert self.moments_ is not None
        self.classes_ = self.moments_.classes
        if self.classes_ is not None and len(self.classes_) < 2:
            return self  # one label so far: no axis yet
        width = self.n_features_in_
        self.components_ = self._axes_at(self._count_axes((width, width)))
        return self
