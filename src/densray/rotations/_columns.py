r"""The columns in which axes are found: as given, or standardized.

Standardized columns are :math:`z = (x - \mu) / \sigma`. A constant column has no deviation to divide by and stays as it
is (σ = 1), as in scikit-learn's StandardScaler. A method finds its axes in `Columns.rows` or `Columns.moments`, and
`Columns.axes` converts them into axes of the original rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, ConvertedRows, array_on, namespace, to_host
from densray.errors import Argument, DensRayError
from densray.moments import ClassMoments, LabelMoments, Moments, ScoreMoments
from densray.rotations._rows import rounding_of


@dataclass(frozen=True)
class Columns:
    """The mean and standard deviation of each column; without them, the original columns are used."""

    mean: NDArray[np.float64] | None = None  # (d,): μ
    spread: NDArray[np.float64] | None = None  # (d,): σ

    @classmethod
    def of_rows(cls, X: Array, weight: Array | None, *, standardize: bool) -> Columns:
        """Return the columns of rows; means and deviations are summed block by block."""
        if not _is_true(standardize):
            return cls()
        unlabelled = namespace(X).zeros(X.shape[0], dtype=X.dtype, device=X.device)
        moments = ScoreMoments.of(X, unlabelled, weight, squares=False, spread=True)
        return cls.of_moments(moments, rounding_of(X), standardize=standardize)

    @classmethod
    def of_moments(cls, moments: LabelMoments, rounding: float, *, standardize: bool) -> Columns:
        """Return the columns of the rows with these moments; `rounding` is the rounding unit of those rows."""
        if not _is_true(standardize):
            return cls()
        if isinstance(moments, ClassMoments):  # labels are not used here, and may be text
            numbered = ClassMoments(dict(enumerate(moments.by_class.values())))
            moments = ScoreMoments.from_classes(numbered, squares=False)
        assert moments.squared_rows is not None  # requested by moment_parts
        shift = to_host(moments.rows) / moments.weight
        mean = to_host(moments.reference) + shift
        spread = np.sqrt(np.maximum(to_host(moments.squared_rows) / moments.weight - shift * shift, 0.0))
        spread[spread <= 8.0 * rounding * np.abs(mean)] = 1.0  # a constant column, up to rounding
        return cls(mean, spread)

    def rows(self, X: Array) -> Array:
        """Return rows in these columns, in their own precision."""
        if self.spread is None:
            return X
        mean, spread = (array_on(part, X, dtype=X.dtype) for part in (self.mean, self.spread))
        if isinstance(X, ConvertedRows):
            return ConvertedRows(X.source, X.dtype, X.out, lambda rows: (rows - mean) / spread)
        return (X - mean) / spread

    def moments(self, moments: LabelMoments) -> LabelMoments:
        """Return the moments of the rows in these columns; the origin stays the same, since differences cancel it."""
        if self.spread is None:
            return moments
        if isinstance(moments, ClassMoments):
            return ClassMoments({value: self._of_class(one) for value, one in moments.by_class.items()})
        spread = array_on(self.spread, moments.rows)
        squares = moments.scored_squares
        return replace(
            moments,
            reference=moments.reference / spread,
            rows=moments.rows / spread,
            scored_rows=moments.scored_rows / spread,
            scored_squares=None if squares is None else squares / (spread[:, None] * spread[None, :]),
        )

    def _of_class(self, moments: Moments) -> Moments:
        spread = array_on(self.spread, moments.mean)
        return Moments(moments.weight, moments.mean / spread, moments.scatter / (spread[:, None] * spread[None, :]))

    def axes(self, axes: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Return axes found in these columns as orthonormal axes of the original columns.

        A coordinate :math:`w^\top z` is :math:`(w / \sigma)^\top x` minus a constant, so :math:`w / \sigma` orders
        the rows in the same way. Later axes are made orthogonal to earlier ones and keep their orientation.
        """
        if self.spread is None:
            return axes
        Q, R = np.linalg.qr((axes / self.spread).T)
        return np.ascontiguousarray((Q * np.where(np.diag(R) < 0, -1.0, 1.0)).T)


def _is_true(standardize: object) -> bool:
    if not isinstance(standardize, bool | np.bool_):
        raise DensRayError(Argument("standardize", standardize), " is given; True or False is needed.")
    return bool(standardize)
