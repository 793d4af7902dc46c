"""The rows an axis was fitted on: recognised in other data, and scored by an axis that has not seen them.

An axis fits its own rows better than new ones, even if their labels are random. Statistics over rows that the axis was
fitted on therefore use their held-out scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from densray._files import Contents

#: Largest distance of the marks of one vector, at unit length: three decimals per number are enough.
_TOLERANCE = 2e-3
#: Marks of a row: coordinates on fixed directions, which no concept is likely to follow, and on the axis.
_N_MARKS = 9
#: Names of the arrays in the file of an axis.
_MARKS, _HELD_OUT = "fitted_marks", "fitted_held_out"


def _marks(X: NDArray[np.floating], direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the marks of rows, scaled to unit length. The fixed directions are the same on every machine."""
    X = np.asarray(X, dtype=np.float64)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    places = np.arange(1, X.shape[1] + 1, dtype=np.float64)
    fixed = np.cos(np.outer(places**2, 1.0 + 0.37 * np.arange(_N_MARKS - 1)))
    directions = np.column_stack([fixed / np.linalg.norm(fixed, axis=0), direction])
    return np.asarray(X @ directions / np.where(lengths > 0.0, lengths, 1.0))


@dataclass(frozen=True, eq=False)
class FittedRows:
    """Marks that recognise the rows an axis was fitted on, with their held-out scores.

    Attributes
    ----------
    marks : array of shape (n, 9)
        Coordinates of each row, at unit length, on eight fixed directions and on the axis.
    held_out : array of shape (n,)
        Score of each row along an axis fitted without its fold, on the scale of the scores. Rows that repeat have their
        mean.
    """

    marks: NDArray[np.float64]
    held_out: NDArray[np.float64]

    @classmethod
    def of(cls, X: NDArray[np.floating], direction: NDArray[np.float64], held_out: NDArray[np.float64]) -> FittedRows:
        """Return the marks of rows; `held_out` is measured from their mean."""
        marks = _marks(X, direction)
        scores = held_out + float(np.mean(np.asarray(X, dtype=np.float64) @ direction))
        _, which = np.unique(np.round(marks, 7), axis=0, return_inverse=True)
        means = np.bincount(which.ravel(), scores) / np.bincount(which.ravel())
        return cls(marks, means[which.ravel()])

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import KDTree

        return KDTree(self.marks)

    def recognise(
        self, X: NDArray[np.floating], direction: NDArray[np.float64]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the places of the fitted rows among other rows, and their held-out scores.

        Rows are recognised at any length, and if they were rounded to three decimals at unit length.
        """
        distances, nearest = self._tree.query(_marks(X, direction), distance_upper_bound=_TOLERANCE)
        places = np.flatnonzero(np.isfinite(distances))
        return places, self.held_out[nearest[places]]

    def to_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return the arrays to store in the file of the axis."""
        return {_MARKS: self.marks, _HELD_OUT: self.held_out}

    @classmethod
    def from_contents(cls, contents: Contents) -> FittedRows | None:
        """Return the marks stored in a file; None if there are none."""
        if _MARKS not in contents.arrays:
            return None
        marks = contents.array(_MARKS, None, _N_MARKS)
        return cls(marks, contents.array(_HELD_OUT, len(marks)))
