"""The rows an axis was fitted on: recognised in other data, and scored by an axis that has not seen them.

An axis fits its own rows better than new ones, even if their labels are random. Statistics over rows that the axis was
fitted on therefore use their held-out scores.

A row is recognised if it is the same vector up to the rounding of its storage: half precision, or three decimals at
unit length. Hidden states can be closer to each other than that. So it also has to be much nearer to the fitted row
than fitted rows are to each other. A row that rounding could explain, but that is not near enough, is *unsure*.
Fitted rows that are copies of each other (`densray._copies`) count as one row, with the mean of their held-out scores.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from densray._copies import ROUNDING, SINGLE, first_copies, project_on_fixed
from densray._vocabulary import unit_rows
from densray.rows import LABEL_DIGEST

if TYPE_CHECKING:
    from densray._files import Contents

#: A copy is nearer to its row than this share of the distance between fitted rows.
_SHARE = 0.25
#: "Between fitted rows" is this quantile of the distances to the nearest other row. Some rows may nearly repeat.
_QUANTILE = 0.1
#: Marks of a row: coordinates on fixed directions, which no concept is likely to follow, and on the axis.
_N_MARKS = 33
#: Marks in files of earlier versions, of rows scaled to unit length.
_N_EARLIER_MARKS = 9
#: Names of the arrays in the file of an axis.
_MARKS, _LENGTHS, _HELD_OUT, _LABELS = "fitted_marks", "fitted_lengths", "fitted_held_out", "fitted_labels"


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
    labels : str
        Digest of the column of labels in the table they come from; empty if it is not known.
    """

    marks: NDArray[np.float64]
    lengths: NDArray[np.float64]
    held_out: NDArray[np.float64]
    recognisable: bool = True
    labels: str = ""

    @classmethod
    def of(
        cls,
        X: NDArray[np.floating],
        direction: NDArray[np.float64],
        held_out: NDArray[np.float64],
        *,
        labels: str = "",
    ) -> FittedRows:
        """Return the marks of rows; `held_out` is measured from their mean."""
        X = np.asarray(X, dtype=np.float64)
        marks, lengths = _marks(X, direction, _N_MARKS), np.linalg.norm(X, axis=1)
        scores = held_out + float(np.mean(X @ direction))
        first = first_copies(X)
        sums, counts = np.bincount(first, scores), np.bincount(first)
        return cls(marks, lengths, sums[first] / counts[first], labels=labels)

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import KDTree

        return KDTree(self._distinct[0])

    @cached_property
    def _distinct(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Marks, lengths and held-out scores of the rows, without copies of earlier rows."""
        first = np.unique(first_copies(self.marks, coarse=False))  # coarse copies lie outside the tolerance
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

    def count_missing(self, blocks: Iterable[NDArray[np.floating]], direction: NDArray[np.float64]) -> int:
        """Return how many fitted rows are not among the rows of some blocks. Copies of a fitted row count as one."""
        found: set[int] = set()
        for X in blocks:
            found.update(self.recognise(X, direction).fitted.tolist())
        return len(self) - len(found)

    def __len__(self) -> int:
        """Return the number of fitted rows, without copies of earlier rows."""
        return len(self._distinct[0])

    def to_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return the arrays to store in the file of the axis."""
        lengths = {} if self.marks.shape[1] == _N_EARLIER_MARKS else {_LENGTHS: self.lengths}
        labels = {_LABELS: np.array(list(bytes.fromhex(self.labels)), dtype=np.float64)} if self.labels else {}
        return {_MARKS: self.marks, **lengths, _HELD_OUT: self.held_out, **labels}

    @classmethod
    def from_contents(cls, contents: Contents, *, normalize: bool) -> FittedRows | None:
        """Return the marks stored in a file; None if there are none. `normalize`: the axis needs unit length."""
        if _MARKS not in contents.arrays:
            return None
        if _LENGTHS in contents.arrays:
            marks = contents.array(_MARKS, None, _N_MARKS)
            labels = ""
            if _LABELS in contents.arrays:
                numbers = contents.array(_LABELS, LABEL_DIGEST)
                labels = bytes(np.clip(np.nan_to_num(numbers), 0, 255).astype(np.uint8)).hex()
            lengths, held_out = contents.array(_LENGTHS, len(marks)), contents.array(_HELD_OUT, len(marks))
            return cls(marks, lengths, held_out, labels=labels)
        marks = contents.array(_MARKS, None, _N_EARLIER_MARKS)
        return cls(marks, np.ones(len(marks)), contents.array(_HELD_OUT, len(marks)), recognisable=normalize)
