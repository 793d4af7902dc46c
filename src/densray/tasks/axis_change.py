"""What changes when an axis does: how far it turned, and which words moved along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray.errors import TaskError
from densray.report import Column, Result, Table
from densray.tasks.angles import degrees_between
from densray.tasks.induction import Induction

__all__ = ["AxisChange", "axis_change", "standardized"]


@dataclass(frozen=True)
class AxisChange(Result):
    """Two orders of one vocabulary, compared.

    Attributes
    ----------
    degrees : float
        The angle between the axes.
    spearman : float
        Rank correlation of the two orders.
    risen, fallen : lists of dict
        The words that moved most: `word`, `before` and `after` (ranks, 1 is the highest), `shift` (change of the score
        in standard deviations of the vocabulary).
    """

    title = "What changed"

    degrees: float
    spearman: float
    risen: list[dict[str, Any]]
    fallen: list[dict[str, Any]]

    def tables(self) -> list[Table]:
        """Return the words that rose, and those that fell."""
        columns: list[Column | str] = ["word", "before", "after", Column("shift", "shift (sd)", decimals=2)]
        return [Table("Risen most", columns, self.risen), Table("Fallen most", columns, self.fallen)]


def axis_change(
    before: Induction,
    after: Induction,
    axes: tuple[NDArray[np.float64], NDArray[np.float64]],
    *,
    n_words: int = 10,
) -> AxisChange:
    """Return what became of a vocabulary's order when its axis was found anew.

    Parameters
    ----------
    before, after : Induction
        The same vocabulary along the two axes.
    axes : pair of arrays of shape (d,)
        The axes, at unit length.
    n_words : int, default=10
        How many words are named either way.
    """
    if before.n_words != after.n_words:
        raise TaskError(
            f"vocabularies of {before.n_words:,} and {after.n_words:,} words are given; one and the same is needed."
        )
    shift = standardized(after.scores.score) - standardized(before.scores.score)
    order = np.argsort(shift, kind="stable")
    ends = order[::-1][:n_words], order[:n_words]
    risen, fallen = ([_entry(before, after, shift, row) for row in end.tolist()] for end in ends)
    ranks = np.corrcoef(before.rank, after.rank)[0, 1]
    return AxisChange(float(degrees_between(*axes)), float(ranks), risen, fallen, provenance=after.provenance)


def standardized(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores in standard deviations from their mean; equal scores are all 0."""
    return np.asarray((scores - scores.mean()) / (scores.std() or 1.0))


def _entry(before: Induction, after: Induction, shift: NDArray[np.float64], row: int) -> dict[str, Any]:
    ranks = {"before": int(before.rank[row]), "after": int(after.rank[row])}
    return {"word": before.words[row], **ranks, "shift": float(shift[row])}
