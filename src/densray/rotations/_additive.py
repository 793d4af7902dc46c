"""Rotations whose statistics add up over blocks of rows: update them, merge them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from densray.arrays import Array, beside, is_foreign
from densray.errors import DensRayError, LabelError, NotAdditiveError, RotationNotFittedError
from densray.moments import ClassMoments, ScoreMoments, together
from densray.rotations._base import Rotation
from densray.rotations._labels import Labels, distinct_labels, read_block_labels
from densray.rotations._vectors import check_rows, check_weights, drop_weightless

__all__ = ["AdditiveRotation", "precision_of"]


class AdditiveRotation(Rotation):
    """Base of rotations that are a function of additive moments: `fit`, `partial_fit` and `merge` agree."""

    moments_: ClassMoments | ScoreMoments | None

    @abstractmethod
    def _axes_from_moments(self, n_components: int | None, precision: float) -> NDArray[np.float64]:
        """Return the axes from ``moments_``."""

    @property
    def _needs_squares(self) -> bool:
        """Whether real scores need second moments."""
        return False

    @property
    def _needs_scatter(self) -> bool:
        """Whether two classes need the scatter of their rows, or only their means."""
        return True

    def _check_additive(self, what: str) -> None:
        """Raise where the parameters make a form that does not add up over blocks."""

    @property
    def partial_fit(self) -> Callable[..., Self]:
        """``partial_fit(X, y, sample_weight=None)``: add one more block of rows and find the axes anew.

        Any split of the rows into blocks gives the same axes.

        A block may hold one label only; the axes exist once two labels were seen. A third label turns classes into
        scores, as in `fit`.
        """
        self._check_additive("partial_fit")
        return self._add_block

    def _add_block(self, X: Array, y: Array, sample_weight: Array | None = None) -> Self:
        if hasattr(self, "components_") and getattr(self, "moments_", None) is None:
            raise NotAdditiveError(
                "this rotation carries no statistics to add to (a saved file keeps the axes only). Fit it anew."
            )
        X = check_rows(self, X, reset=not hasattr(self, "moments_"), fewest=1)
        weight = check_weights(sample_weight, X)
        values = read_block_labels(y, X.shape[0])
        X, values, weight = drop_weightless(X, values, weight)
        values = beside(values, X) if is_foreign(X) or is_foreign(values) else values
        moments = self._moments_of(X, values, weight)
        known = getattr(self, "moments_", None)
        self.moments_ = moments if known is None else self._merged(known, moments)
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
        self.moments_ = self._merged(mine, theirs)
        self._rounding = max(getattr(self, "_rounding", 0.0), getattr(other, "_rounding", 0.0))
        return self._refresh()

    def _fit_moments(
        self, X: Array, labels: Labels, n_components: int | None, weight: Array | None
    ) -> NDArray[np.float64]:
        """Gather the moments of all rows of `fit`, and return the axes."""
        if labels.classes is None:
            self.moments_ = ScoreMoments.of(X, labels.values, weight, squares=self._needs_squares)
        else:
            scatter = self._needs_scatter
            by_sign = ClassMoments.of(X, labels.values, (-1.0, 1.0), weight, scatter=scatter).groups
            low, high = labels.classes.tolist()
            self.moments_ = ClassMoments({low: by_sign[-1.0], high: by_sign[1.0]})
        self._rounding = precision_of(X)
        return self._axes_from_moments(n_components, self._rounding)

    def _fit_gathered(
        self, moments: ClassMoments | ScoreMoments, sample: Any, n_components: int | None, precision: float
    ) -> None:
        """Find the axes from moments gathered elsewhere; `sample` is of no use where the form is additive."""
        self.moments_ = moments
        self.classes_ = np.array(sorted(moments.groups)) if isinstance(moments, ClassMoments) else None
        self._rounding = precision
        self.components_ = self._axes_from_moments(n_components, precision)

    def _moments_of(self, X: Array, values: Array, weight: Array | None) -> ClassMoments | ScoreMoments:
        distinct = distinct_labels(values).tolist()
        if len(distinct) > 2:
            if isinstance(distinct[0], str):
                raise LabelError(f"y holds {len(distinct)} different text labels. Use two classes, or numbers.")
            return ScoreMoments.of(X, values, weight, squares=self._needs_squares)
        return ClassMoments.of(X, values, distinct, weight, scatter=self._needs_scatter)

    def _merged(
        self, first: ClassMoments | ScoreMoments, second: ClassMoments | ScoreMoments
    ) -> ClassMoments | ScoreMoments:
        """Return the moments of all rows; classes become scores once there are more than two labels."""
        first, second = together(first, second)
        if isinstance(first, ClassMoments) and isinstance(second, ClassMoments):
            if len({isinstance(value, str) for value in (*first.groups, *second.groups)}) > 1:
                raise LabelError("text labels were seen in one block and numbers in another. Use one kind throughout.")
            both = first.merge(second)
            return both if len(both.groups) <= 2 else self._as_scores(both)
        return self._as_scores(first).merge(self._as_scores(second))

    def _as_scores(self, moments: ClassMoments | ScoreMoments) -> ScoreMoments:
        if isinstance(moments, ScoreMoments):
            return moments
        texts: list[Any] = [value for value in moments.groups if isinstance(value, str)]
        if texts:
            raise LabelError(
                f"more than two labels were seen, the text {texts[0]!r} among them. Use two classes, or numbers."
            )
        return ScoreMoments.from_classes(moments, squares=self._needs_squares)

    def _refresh(self) -> Self:
        moments = self.moments_
        self.classes_ = np.array(sorted(moments.groups)) if isinstance(moments, ClassMoments) else None
        if self.classes_ is not None and len(self.classes_) < 2:
            return self  # one label so far: no axis yet
        width = self.n_features_in_
        self.components_ = self._axes_from_moments(self._count_axes((width, width)), self._rounding)
        return self


def precision_of(X: Array) -> float:
    """Return the rounding unit of the products made with `X`."""
    return float(np.finfo(np.float32 if "float32" in str(X.dtype) else np.float64).eps)
