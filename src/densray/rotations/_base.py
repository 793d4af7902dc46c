"""What every rotation shares: orthonormal axes, and what one does with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags

from densray.arrays import Array, is_dask, move, namespace, to_host
from densray.errors import DensRayError, LabelError, RotationNotFittedError, VectorError
from densray.memory_maps import release_pages
from densray.moments import block_rows, blocks_of
from densray.rotations._labels import Labels, read_labels, read_signals
from densray.rotations._vectors import at_precision, check_rows, check_weights, drop_weightless

__all__ = ["Rotation", "complete_basis", "label_covariance", "orient", "repeat_in_complement", "score_signals"]


class Rotation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all rotations: `fit` finds ``components_``, orthonormal rows whose first is the concept.

    A subclass stores its parameters and implements ``_find_axes``.
    """

    #: Whether the method needs exactly two classes.
    _classes_only = False

    n_components: int | None
    components_: NDArray[np.float64]
    classes_: NDArray[Any] | None
    n_features_in_: int

    def _find_axes(
        self, X: Array, labels: Labels, n_components: int | None, sample_weight: Array | None
    ) -> NDArray[np.float64]:
        """Return orthonormal axes as rows, the concept first, pointing to the higher label."""
        raise NotImplementedError

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None) -> Self:
        """Find the axes of the concept that `y` labels.

        Parameters
        ----------
        X : array of shape (n, d)
            One vector a row: NumPy (a memory map too), PyTorch, CuPy or Dask.
        y : array of shape (n,)
            Two classes (the higher label is positive), or real scores.
        sample_weight : array of shape (n,), optional
            How much each row counts; an integer weight equals repeating the row.
        """
        if is_dask(X):
            from densray.rotations._dask import fit_dask

            return fit_dask(self, X, y, sample_weight)
        namespace(X, y, sample_weight)  # all on one device
        X = check_rows(self, X, reset=True)
        weight = check_weights(sample_weight, X)
        X, y, weight = drop_weightless(X, y, weight)
        labels = read_labels(y, X.shape[0], classes_only=self._classes_only).beside(X)
        n_components = self._count_axes(X.shape)
        self.classes_ = labels.classes
        self.components_ = self._find_axes(X, labels, n_components, weight)
        return self

    def transform(self, X: Array) -> Array:
        """Return the coordinates of `X` along the axes; the first column is the concept."""
        if is_dask(X):
            return self._map_dask("transform", X)
        X = self._check_fitted_rows(X)
        return X @ move(self.components_, X).T

    def inverse_transform(self, X: Array) -> Array:
        """Return vectors in the original coordinates from coordinates along the axes."""
        if is_dask(X):
            return self._map_dask("inverse_transform", X)
        self._check_fitted()
        X = at_precision(X, getattr(self, "precision", None))
        xp = namespace(X)
        Z = X if xp is not np else np.asarray(X)
        if xp is np and Z.dtype.kind not in "fiub":
            raise VectorError(f"coordinates are {Z.dtype}; numbers are needed. Pass what transform returned.")
        if Z.ndim != 2 or Z.shape[1] != self.components_.shape[0]:
            raise VectorError(
                f"coordinates have shape {tuple(Z.shape)}; {type(self).__name__} has {self.components_.shape[0]} axes. "
                "Pass what transform returned."
            )
        if xp is np and Z.dtype.kind != "f":
            Z = Z.astype(np.float64)
        return Z @ move(self.components_, Z)

    def erase(self, X: Array, n_axes: int = 1, *, strength: float = 1.0) -> Array:
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
            return self._map_dask("erase", X, n_axes=n_axes, strength=strength)
        X = self._check_fitted_rows(X)
        axes = self.leading_axes(n_axes)
        if not isinstance(strength, int | float | np.number) or not 0.0 <= strength <= 1.0:
            raise DensRayError(f"strength={strength!r} is given; a share from 0 to 1 is needed.")
        directions = move(axes, X)
        erased = X - strength * ((X @ directions.T) @ directions)
        return erased if erased.dtype == X.dtype else namespace(X).astype(erased, X.dtype)

    def score(self, X: Array, y: Array) -> float:
        """Return Kendall's τ-b between the labels and the coordinate on axis 0."""
        if is_dask(X):
            from densray.rotations._dask import score_dask

            return score_dask(self, X, y)
        from scipy.stats import kendalltau  # slow to import

        X = self._check_fitted_rows(X)
        labels = read_labels(y, X.shape[0])
        coordinate = X @ move(self.components_[0], X)
        return float(kendalltau(to_host(coordinate), to_host(labels.values)).statistic)

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

    def _map_dask(self, method: str, X: Any, **options: Any) -> Any:
        """Return a Dask array of what a method returns for each block of a Dask collection."""
        from densray.rotations._dask import map_rows

        return map_rows(self, method, X, **options)

    def _check_fitted(self) -> None:
        if not hasattr(self, "components_"):
            raise RotationNotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call fit(X, y) first."
            )

    def _check_fitted_rows(self, X: Array) -> Array:
        self._check_fitted()
        return check_rows(self, X, reset=False)

    def leading_axes(self, n_axes: int = 1) -> NDArray[np.float64]:
        """Return the first axes as rows: what `erase` removes."""
        self._check_fitted()
        found = self.components_.shape[0]
        if not isinstance(n_axes, int | np.integer) or isinstance(n_axes, bool) or not 0 <= n_axes <= found:
            raise DensRayError(
                f"n_axes={n_axes!r} is given; {type(self).__name__} has {found} axes to erase. "
                "Use fewer, or fit with a larger n_components."
            )
        return self.components_[:n_axes]

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


def complete_basis(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the axes followed by further orthonormal rows that make them a full basis.

    One Householder reflection an axis; the added rows do not depend on the signs of the given ones.
    """
    count, width = axes.shape
    if count == width:
        return axes
    signs = np.sign(axes[np.arange(count), np.argmax(np.abs(axes), axis=1)])
    upright = axes * signs[:, None]
    rest = _reflect(upright[0])[1:] if count == 1 else qr(upright.T, mode="full")[0][:, count:].T
    return np.vstack([axes, rest])


def _reflect(axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows of the Householder reflection that takes the first unit vector to ± `axis`."""
    v = axis.copy()
    v[0] += 1.0 if axis[0] >= 0.0 else -1.0
    H: NDArray[np.float64] = np.eye(axis.size) - (2.0 / (v @ v)) * np.outer(v, v)
    return H


def repeat_in_complement(X: Array, count: int, find: Callable[[Array], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return `count` orthonormal axes, each what `find` returns inside the complement of the earlier ones."""
    axes = np.empty((0, X.shape[1]))
    for _ in range(count):
        basis = complete_basis(axes)[len(axes) :] if len(axes) else None
        axis = find(X) if basis is None else find(X @ move(basis, X).T) @ basis
        axis = axis - (axes @ axis) @ axes  # orthogonal to the last digit
        axes = np.vstack([axes, axis / np.linalg.norm(axis)])
    return axes


def orient(axes: NDArray[np.float64], toward: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the axes with fixed signs: the first along `toward`, the others by their largest entry."""
    pivots = np.argmax(np.abs(axes), axis=1)
    signs = np.sign(axes[np.arange(len(axes)), pivots])
    along = axes[0] @ toward
    if abs(along) > 1e-12 * np.linalg.norm(toward):
        signs[0] = np.sign(along)
    oriented: NDArray[np.float64] = axes * signs[:, None]
    return oriented


def score_signals(rotation: Rotation, X: Array, table: NDArray[Any], axes: list[int]) -> float:
    """Return the mean over signals of Kendall's τ-b between a column of labels (NaN: none) and the signal's axis."""
    from scipy.stats import kendalltau  # slow to import

    coordinates = to_host(rotation.transform(X))
    signals = read_signals(table, len(coordinates))
    if len(signals) != len(axes):
        raise LabelError(f"y has {len(signals)} columns; {len(axes)} signals were fitted. Pass one column each.")
    taus = [
        kendalltau(coordinates[rows, axis], labels.values).statistic
        for (rows, labels), axis in zip(signals, axes, strict=True)
    ]
    return float(np.mean(taus))


def label_covariance(X: Array, labels: Labels, weight: Array | None) -> NDArray[np.float64]:
    """Return Σ w (l - mean l) x, which points to the higher label."""
    xp = namespace(X)
    values = xp.astype(labels.values, xp.float64)
    weights = xp.ones_like(values) if weight is None else xp.astype(weight, xp.float64)
    centred = values - xp.sum(weights * values) / xp.sum(weights)  # in double: scores may be far from zero
    charge = xp.astype(weights * centred, X.dtype)
    total = np.zeros(X.shape[1])
    for block in blocks_of(X.shape[0], block_rows(X)):
        total += to_host(xp.astype(charge[block] @ X[block, :], xp.float64))
        release_pages(X)
    return total
