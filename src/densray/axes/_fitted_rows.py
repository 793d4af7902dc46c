"""The rows an axis was fitted on: recognised in other data, and scored by an axis that has not seen them.

An axis fits its own rows better than new ones, even if their labels are random. Statistics over rows that the axis was
fitted on therefore use their held-out scores.

A row is recognised if it is the same vector up to the rounding of its storage: half precision, or three decimals at
unit length. Hidden states can be closer to each other than that. So it also has to be much nearer to the fitted row
than fitted rows are to each other. A row that rounding could explain, but that is not near enough, is *unsure*.
Fitted rows that are copies of each other (`densray._copies`) count as one row, with the mean of their held-out scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from densray._copies import ROUNDING, SINGLE, first_copies, project_on_fixed
from densray._vocabulary import unit_rows
from densray.report import show_count

if TYPE_CHECKING:
    from densray._files import Contents
    from densray.tables import VectorTable

#: A copy is nearer to its row than this share of the distance between fitted rows.
_SHARE = 0.25
#: "Between fitted rows" is this quantile of the distances to the nearest other row. Some rows may nearly repeat.
_QUANTILE = 0.1
#: Marks of a row: coordinates on fixed directions, which no concept is likely to follow, and on the axis.
_N_MARKS = 33
#: Marks in files of earlier versions, of rows scaled to unit length.
_N_EARLIER_MARKS = 9
#: Names of the arrays in the file of an axis.
_MARKS, _LENGTHS, _HELD_OUT, _IN_TABLE = "fitted_marks", "fitted_lengths", "fitted_held_out", "fitted_in_table"


def _marks(X: NDArray[np.floating], direction: NDArray[np.float64], n_marks: int) -> NDArray[np.float64]:
    """Return the marks of rows. The fixed directions are the same on every machine."""
    X = np.asarray(X, dtype=np.float64)
    return np.column_stack([project_on_fixed(X, n_marks - 1), X @ direction])


class Recognised(NamedTuple):
    """Fitted rows among other rows.

    Attributes
    ----------
    places : array of int
        Places of the rows that were recognised.
    held_out : array
        Their held-out scores.
    n_unsure : int
        Number of other rows that could be rounded copies of fitted rows, or only resemble them.
    fitted : array of int
        The fitted row that each recognised row is a copy of.
    """

    places: NDArray[np.intp]
    held_out: NDArray[np.float64]
    n_unsure: int
    fitted: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class FittedRows:
    """Marks that recognise the rows an axis was fitted on, with their held-out scores.

    Attributes
    ----------
    marks : array of shape (n, 33)
        Coordinates of each row on 32 fixed directions and on the axis. The rows have unit length if the axis needs it.
        In files of earlier versions: 9 coordinates of rows of unit length.
    lengths : array of shape (n,)
        Length of each row; 1 in files of earlier versions.
    held_out : array of shape (n,)
        Score of each row along an axis fitted without its fold, on the scale of the scores. Rows that repeat have their
        mean.
    recognisable : bool
        False if the axis depends on the lengths of vectors, and its file does not contain them. Then all rows that
        resemble fitted rows are unsure.
    n_in_table : int
        Number of rows of the table they come from, with and without labels; 0 if it is not known.
    """

    marks: NDArray[np.float64]
    lengths: NDArray[np.float64]
    held_out: NDArray[np.float64]
    recognisable: bool = True
    n_in_table: int = 0

    @classmethod
    def of(
        cls,
        X: NDArray[np.floating],
        direction: NDArray[np.float64],
        held_out: NDArray[np.float64],
        *,
        n_in_table: int = 0,
    ) -> FittedRows:
        """Return the marks of rows; `held_out` is measured from their mean."""
        X = np.asarray(X, dtype=np.float64)
        marks, lengths = _marks(X, direction, _N_MARKS), np.linalg.norm(X, axis=1)
        scores = held_out + float(np.mean(X @ direction))
        first = first_copies(X)
        sums, counts = np.bincount(first, scores), np.bincount(first)
        return cls(marks, lengths, sums[first] / counts[first], n_in_table=n_in_table)

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import KDTree

        return KDTree(self._distinct[0])

    @cached_property
    def _distinct(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Marks, lengths and held-out scores of the rows, without copies of earlier rows."""
        first = np.unique(first_copies(self.marks))
        return self.marks[first], self.lengths[first], self.held_out[first]

    @cached_property
    def _rounding(self) -> NDArray[np.float64]:
        """Distance by which rounding to three decimals at unit length can move the marks of each row."""
        # an error of variance v per number moves each of k coordinates on unit vectors by v, so all of them by k v
        return np.asarray(ROUNDING * np.sqrt(self.marks.shape[1]) * self._distinct[1])

    @cached_property
    def _tolerance(self) -> NDArray[np.float64]:
        """Largest distance of a copy from each row."""
        marks, lengths, _ = self._distinct
        reach = float(self._rounding.max()) / _SHARE  # no other row beyond it matters
        distances = np.full(len(marks), np.inf)
        if len(marks) > 1:
            distances = self._tree.query(marks, k=2, distance_upper_bound=reach)[0][:, 1]
        usual = float(np.quantile(np.minimum(distances, reach), _QUANTILE))
        nearest = _SHARE * np.minimum(distances, usual)
        return np.asarray(np.maximum(np.minimum(self._rounding, nearest), SINGLE * lengths))

    def recognise(self, X: NDArray[np.floating], direction: NDArray[np.float64]) -> Recognised:
        """Return the fitted rows among other rows, which have unit length if the axis needs it."""
        if self.marks.shape[1] == _N_EARLIER_MARKS:
            X = unit_rows(X)
        marks, reach = _marks(X, direction, self.marks.shape[1]), float(self._rounding.max())
        distances, nearest = self._tree.query(marks, distance_upper_bound=max(reach, np.finfo(float).tiny))
        near = np.flatnonzero(np.isfinite(distances))
        if not near.size:
            return Recognised(near, np.zeros(0), 0, near)
        distances, nearest = distances[near], nearest[near]
        same = (distances <= self._tolerance[nearest]) & self.recognisable
        unsure = ~same & (distances <= self._rounding[nearest])
        return Recognised(near[same], self._distinct[2][nearest[same]], int(unsure.sum()), nearest[same])

    def explain_unrecognised(self, n_recognised: int, table: VectorTable, concept: str) -> str:
        """Return a warning if a table seems to have the fitted rows with changed vectors; else an empty text.

        The signs are the column of the labels, and the number of rows. A removal of another concept, for example,
        keeps both and changes the vectors.
        """
        n_fitted = len(self._distinct[0])
        column = next((name for name in table.columns if concept == name or concept.startswith(f"{name}: ")), None)
        if column is None or len(table) != self.n_in_table or n_recognised >= n_fitted:
            return ""
        return (
            f"Not held out: the table seems to be the one that this axis was fitted on (it has as many rows, and the "
            f"column “{column}”), but only {show_count(n_recognised)} of the {show_count(n_fitted)} fitted documents "
            "have the same vectors. If the vectors were changed, by a removal or by rounding, these documents count as "
            "new ones and the results are too good. Fit the axis on this table."
        )

    def to_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return the arrays to store in the file of the axis."""
        lengths = {} if self.marks.shape[1] == _N_EARLIER_MARKS else {_LENGTHS: self.lengths}
        table = {_IN_TABLE: np.array([float(self.n_in_table)])} if self.n_in_table else {}
        return {_MARKS: self.marks, **lengths, _HELD_OUT: self.held_out, **table}

    @classmethod
    def from_contents(cls, contents: Contents, *, normalize: bool) -> FittedRows | None:
        """Return the marks stored in a file; None if there are none. `normalize`: the axis needs unit length."""
        if _MARKS not in contents.arrays:
            return None
        if _LENGTHS in contents.arrays:
            marks = contents.array(_MARKS, None, _N_MARKS)
            n_in_table = int(contents.array(_IN_TABLE, 1)[0]) if _IN_TABLE in contents.arrays else 0
            lengths, held_out = contents.array(_LENGTHS, len(marks)), contents.array(_HELD_OUT, len(marks))
            return cls(marks, lengths, held_out, n_in_table=n_in_table)
        marks = contents.array(_MARKS, None, _N_EARLIER_MARKS)
        return cls(marks, np.ones(len(marks)), contents.array(_HELD_OUT, len(marks)), recognisable=normalize)
