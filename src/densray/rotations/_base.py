"""The base class of all rotations: transform, erase and score rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags

from densray._arrays import (
    Array,
    ConvertedRows,
    is_dask,
    is_foreign,
    map_rows,
    move,
    namespace,
    product,
    to_host,
    type_name,
)
from densray.affine import AffineMap, check_strength
from densray.errors import Advice, Argument, DensRayError, RotationNotFittedError, VectorError
from densray.metrics import kendall_tau_within
from densray.rotations._columns import Columns
from densray.rotations._labels import Labels, check_known_classes, read_groups, read_labels
from densray.rotations._rows import at_precision, check_finite, check_kind, check_vectors
from densray.rotations._training import check_training_rows
from densray.rotations.blocks import map_dask, score_dask

#: Rows of any library: NumPy, PyTorch, CuPy, Dask; the output is of the same library.
AnyRows = TypeVar("AnyRows")

#: Precisions that rows may be converted to, by name.
Precision: TypeAlias = Literal["float32", "float64"] | None


class Rotation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all rotations: `fit` finds ``components_``, orthonormal rows of which the first is the concept.

    A subclass stores its parameters and implements ``_find_axes``, or its own ``fit``.
    """

    #: Whether the method needs exactly two classes.
    _classes_only = False

    n_components: int | None
    standardize: bool = False
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
            One vector per row: NumPy (a memory map too), PyTorch or CuPy. :class:`DensRay` and :class:`MeanDifference`,
            whose statistics add up over blocks, also take Dask arrays and dataframes.
        y : array of shape (n,)
            Two classes (the higher label is positive), or real scores.
        sample_weight : array of shape (n,), optional
            Weight of each row; an integer weight is equivalent to repeating the row.
        groups : array of shape (n,), optional
            Rows with the same value belong together (the halves of a pair, texts about one thing). Methods that choose
            a parameter by leaving rows out (ridge) leave out whole groups. :class:`PairDirection` takes pairs within
            groups. Other methods ignore them.
        """
        rows = check_training_rows(self, X, y, sample_weight, groups, classes_only=self._classes_only)
        n_components = self._count_axes(*rows.X.shape)
        columns = Columns.of_rows(rows.X, rows.weight, standardize=self.standardize)
        axes = self._find_axes(columns.rows(rows.X), rows.labels, n_components, rows.weight)
        self.classes_ = rows.labels.classes
        self.components_ = columns.axes(axes)
        return self

    def transform(self, X: AnyRows) -> AnyRows:
        """Return the coordinates of `X` along the axes; the first column is the concept."""
        if is_dask(X):
            mapped: AnyRows = map_dask(self, "transform", X)
            return mapped
        rows = self._check_fitted_rows(X)
        axes = move(self.components_, rows).T
        coordinates: AnyRows = _map_checked(rows, lambda part: part @ axes, int(axes.shape[1]))
        return coordinates

    def decision_function(self, X: Array) -> Array:
        """Return the coordinate of each row on axis 0, higher for the higher label.

        scikit-learn's scorers and calibrators use it: ``scoring="roc_auc"``, ``CalibratedClassifierCV``. Rotations
        are transformers, so ``cv=3`` does not stratify. Give ``cv=StratifiedKFold(3)`` if rows are sorted by label.

        Zero is not between the classes, as it is for a classifier. To predict classes, calibrate first:
        ``CalibratedClassifierCV(DensRay(1))``; for more than two, put ``OneVsRestClassifier`` around it.
        """
        return self.transform(X)[:, 0]

    def inverse_transform(self, X: AnyRows) -> AnyRows:
        """Return vectors in the original coordinates from coordinates along the axes."""
        if is_dask(X):
            mapped: AnyRows = map_dask(self, "inverse_transform", X)
            return mapped
        self._check_fitted()
        check_kind(X)
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
        vectors: AnyRows = _map_checked(Z, lambda part: part @ axes, int(axes.shape[1]))
        return vectors

    def erase(self, X: AnyRows, n_axes: int = 1, *, strength: float = 1.0) -> AnyRows:
        """Return `X` without the concept, in the original coordinates.

        Parameters
        ----------
        X : array of shape (n, d)
        n_axes : int, default=1
            How many axes to remove, counted from the concept.
        strength : float, default=1.0
            Share of each coordinate to remove; 1 removes it entirely.
        """
        if is_dask(X):
            mapped: AnyRows = map_dask(self, "erase", X, n_axes=n_axes, strength=strength)
            return mapped
        rows = self._check_fitted_rows(X)
        check_strength(strength)
        erasure = AffineMap.of(self, n_axes)
        vectors: AnyRows = _map_checked(
            rows, lambda part: erasure.apply_unchecked(part, strength=strength), int(rows.shape[1])
        )
        return vectors

    def score(self, X: Array, y: Array, *, groups: Array | None = None) -> float:
        """Return Kendall's τ-b between the labels and the coordinate on axis 0.

        Text labels must be those of `fit`, whose order is known. With `groups`, one per row, only rows of the same
        group are compared, such as the halves of a pair. The result then does not depend on differences between groups.
        """
        if is_dask(X):
            return score_dask(self, X, y, groups)
        X = self._check_fitted_rows(X)
        labels = read_labels(y, X.shape[0])
        if labels.classes is not None:
            check_known_classes(labels.classes, getattr(self, "classes_", None))
        coordinate = product(X, move(self.components_[:1], X).T)[:, 0]
        return kendall_tau_within(to_host(labels.values), to_host(coordinate), read_groups(groups, X.shape[0]))

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
        return check_vectors(self, X, reset=False, finite=not is_foreign(X))

    def _count_axes(self, n_rows: int | None, width: int) -> int | None:
        """Return the requested number of axes (None: all), checked against the data; `n_rows` may be unknown."""
        count = self.n_components
        if count is None:
            return None
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or not 1 <= count <= width:
            raise DensRayError(
                Argument("n_components", count),
                f" is given; a whole number from 1 to {width}, the width of the vectors, or None (all axes) is needed.",
            )
        if n_rows is not None and count > n_rows:
            raise DensRayError(
                Argument("n_components", count),
                f" is given for {n_rows} rows; at least as many rows as axes are needed.",
                Advice(" Use ", Argument("n_components"), f" <= {n_rows}, or None for a full basis."),
            )
        return int(count)


def _map_checked(X: Array, act: Callable[[Array], Array], width: int) -> Array:
    """Return the rows that `act` computes from `X`, `width` numbers each, in the type of the input.

    On a device, only the first column of the result is checked: a row that is not finite gives a result that is not.
    """
    return map_rows(X, act, width, check=lambda output, block: _check_output(X, output, block))


def _check_output(X: Array, output: Array, block: slice) -> None:
    """Raise if a computed row is not finite, and name the input row if that is not finite either."""
    xp = namespace(X)
    if xp is np or not output.shape[1]:
        return  # NumPy products may skip factors multiplied by zero: the rows themselves were checked
    column = output[:, 0]
    if bool(xp.all(xp.isfinite(column))):
        return
    check_finite(X)
    row = block.start + int(xp.nonzero(~xp.isfinite(column))[0][0])
    raise VectorError(f"row {row} of X is too large: its coordinates overflow {type_name(output)}. Scale the vectors.")
