"""The rows an axis was fitted on: recognised in other data, and scored by an axis that has not seen them.

An axis fits its own rows better than new ones, even if their labels are random. Statistics over rows that the axis was
fitted on therefore use their held-out scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from densray._files import Contents

#: Largest difference of two coordinates of the same vector, relative to its length: float32 and another order of sums.
_TOLERANCE = 2e-5
#: Names of the arrays in the file of an axis.
_MARKS, _HELD_OUT = "fitted_marks", "fitted_held_out"


def _mark_directions(width: int) -> NDArray[np.float64]:
    """Return two fixed directions, the same on every machine, that no concept is likely to follow."""
    places = np.arange(1, width + 1, dtype=np.float64)
    directions = np.stack([np.cos(places**2), np.sin(1.3 * places**2)], axis=1)
    return np.asarray(directions / np.linalg.norm(directions, axis=0))


@dataclass(frozen=True, eq=False)
class FittedRows:
    """Marks that recognise the rows an axis was fitted on, with their held-out scores.

    Attributes
    ----------
    marks : array of shape (n, 3)
        Coordinates of each row on the axis and on two fixed directions, sorted by the first.
    held_out : array of shape (n,)
        Score of each row along an axis fitted without its fold, on the scale of the scores.
    """

    marks: NDArray[np.float64]
    held_out: NDArray[np.float64]

    @classmethod
    def of(cls, X: NDArray[np.floating], direction: NDArray[np.float64], held_out: NDArray[np.float64]) -> FittedRows:
        """Return the marks of rows; `held_out` is measured from their mean."""
        X = np.asarray(X, dtype=np.float64)
        marks = np.column_stack([X @ direction, X @ _mark_directions(X.shape[1])])
        order = np.argsort(marks[:, 0], kind="stable")
        return cls(marks[order], (held_out + marks[:, 0].mean())[order])

    def recognise(
        self, X: NDArray[np.floating], scores: NDArray[np.floating]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the places of the fitted rows among other rows, and their held-out scores.

        `scores` are the coordinates of `X` on the axis; both are at unit length if the axis needs it.
        """
        length = np.linalg.norm(X, axis=1)
        slack = _TOLERANCE * length
        first = np.searchsorted(self.marks[:, 0], scores - slack, side="left")
        last = np.searchsorted(self.marks[:, 0], scores + slack, side="right")
        candidates = np.flatnonzero(last > first)
        others = np.asarray(X[candidates], dtype=np.float64) @ _mark_directions(X.shape[1])
        places, found = [], []
        for place, other in zip(candidates.tolist(), others, strict=True):
            near = slice(int(first[place]), int(last[place]))
            same = np.all(np.abs(self.marks[near, 1:] - other) <= slack[place], axis=1)
            if same.any():
                places.append(place)
                found.append(float(self.held_out[near][same].mean()))  # repeated texts: the mean of their scores
        return np.array(places, dtype=np.intp), np.array(found)

    def to_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return the arrays to store in the file of the axis."""
        return {_MARKS: self.marks, _HELD_OUT: self.held_out}

    @classmethod
    def from_contents(cls, contents: Contents) -> FittedRows | None:
        """Return the marks stored in a file; None if there are none."""
        if _MARKS not in contents.arrays:
            return None
        marks = contents.array(_MARKS, None, 3)
        return cls(marks, contents.array(_HELD_OUT, len(marks)))
