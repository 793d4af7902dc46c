"""Rotations that can be fitted in blocks: their axes are a function of moments, which add up."""

from __future__ import annotations

from typing import Self

from sklearn.utils.metaestimators import available_if

from densray._arrays import Array, float64_like, is_dask, is_foreign, label_array, without_gradient
from densray.errors import DensRayError, LabelError, NotAdditiveError, RotationNotFittedError
from densray.moments import LabelMoments, MomentParts, merge_moments, moments_of_labels
from densray.rotations._base import Rotation
from densray.rotations._labels import is_text, read_block_labels
from densray.rotations._rows import check_vectors, check_weights, checked_moments, drop_weightless, rounding_of
from densray.rotations._training import check_training_rows, gather_moments
from densray.rotations.blocks import fit_dask


class AdditiveRotation(Rotation):
    """Base of rotations whose axes depend only on additive moments: `fit`, `partial_fit` and `merge` agree.

    A subclass implements ``fit_moments``, and lists the moments it needs in ``moment_parts``.
    """

    moments_: LabelMoments | None
    _rounding: float

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None, *, groups: Array | None = None) -> Self:
        if is_dask(X):
            return fit_dask(self, X, y, sample_weight, groups)
        rows = check_training_rows(self, X, y, sample_weight, groups, finite=False)
        moments = gather_moments(rows, self.moment_parts)
        return self.fit_moments(moments, n_rows=rows.X.shape[0], rounding=rows.rounding)

    def fit_moments(self, moments: LabelMoments, *, n_rows: int | None, rounding: float) -> Self:
        """Find the axes from the moments of rows, gathered at once or in blocks.

        Parameters
        ----------
        moments : ClassMoments or ScoreMoments
        n_rows : int or None
            Number of rows behind the moments; `n_components` may not exceed it. None if the rows were not counted.
        rounding : float
            Rounding unit of products with these rows. DensRay treats eigenvalues within it as zero.
        """
        raise NotImplementedError

    @property
    def moment_parts(self) -> MomentParts:
        """The second moments that the axes depend on."""
        return MomentParts(scatter=True, squares=False, spread=self.standardize)

    def check_additive(self, what: str) -> None:
        """Raise if the parameters require a form that does not add up over blocks; `what` names the caller."""

    def _has_partial_fit(self) -> bool:
        self.check_additive("partial_fit")
        return True

    @available_if(_has_partial_fit)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Array, y: Array, sample_weight: Array | None = None) -> Self:
        """Add one block of rows and update the axes; any split of the rows into blocks gives the same axes.

        A block may contain a single label; the axes exist once two labels were seen. With three or more distinct
        labels, labels are treated as scores, as in `fit`.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
        """
        if hasattr(self, "components_") and getattr(self, "moments_", None) is None:
            raise NotAdditiveError(
                "this rotation has no statistics to which rows could be added (a saved file contains only the axes). "
                "Fit it again."
            )
        X = without_gradient(X)
        X = check_vectors(self, X, reset=not hasattr(self, "moments_"), fewest=1, finite=False)
        weight = check_weights(sample_weight, X)
        values, text = read_block_labels(y, X.shape[0]), is_text(label_array(y))
        X, values, weight = drop_weightless(X, values, weight)
        values = float64_like(values, X) if is_foreign(X) or is_foreign(values) else values
        moments = checked_moments(X, lambda: moments_of_labels(X, values, weight, self.moment_parts))
        earlier = getattr(self, "moments_", None)
        if earlier is not None:
            moments = merge_moments(earlier, moments, self.moment_parts)
        if text and moments.classes is None:
            raise LabelError("y holds more than two text labels over all blocks. Use two classes, or numbers.")
        return self._refresh(moments, max(getattr(self, "_rounding", 0.0), rounding_of(X)))

    def merge(self, other: Self) -> Self:
        """Add the statistics of another rotation of this kind, as if its rows had been seen here."""
        self.check_additive("merge")
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
        moments = merge_moments(mine, theirs, self.moment_parts)
        return self._refresh(moments, max(getattr(self, "_rounding", 0.0), getattr(other, "_rounding", 0.0)))

    def _refresh(self, moments: LabelMoments, rounding: float) -> Self:
        """Update the axes from the moments of all rows so far, once there are two labels."""
        self.moments_, self.classes_, self._rounding = moments, moments.classes, rounding
        if self.classes_ is not None and len(self.classes_) < 2:
            return self  # no axis yet with a single label
        return self.fit_moments(moments, n_rows=None, rounding=rounding)
