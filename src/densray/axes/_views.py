"""Two axes beside each other: what changed, words on a map, angles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray.alignment import Alignment
from densray.axes._evidence import degrees_between
from densray.axes._scoring import Induction
from densray.errors import TaskError
from densray.report import Column, Result, Table
from densray.space import WordSpace

if TYPE_CHECKING:
    import polars


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
    """Return what became of a vocabulary's order when its axis was found again.

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


@dataclass(frozen=True)
class AxisRelation:
    """How two axes stand to each other: the angle between them, and the correlation of some words' coordinates."""

    degrees: float
    correlation: float | None


def map_rows(axes: Mapping[str, Induction], rows: Sequence[int]) -> list[dict[str, Any]]:
    """Return words with their coordinate and their rank on each axis, as ``NAME`` and ``NAME rank``.

    Parameters
    ----------
    axes : mapping of Induction
        The same vocabulary along each axis, by the name of the axis.
    rows : sequence of int
        Which words of it.
    """
    _check_vocabularies(axes)
    chosen = np.asarray(rows, dtype=np.int64)
    columns: dict[str, list[Any]] = {}
    for name, ranking in axes.items():
        columns[name] = ranking.scores.score[chosen].tolist()
        columns[f"{name} rank"] = ranking.rank[chosen].tolist()
    words = next(iter(axes.values())).words
    found = zip(*columns.values(), strict=True)
    return [
        {"word": words[row], **dict(zip(columns, values, strict=True))}
        for row, values in zip(chosen.tolist(), found, strict=True)
    ]


def map_frame(axes: Mapping[str, Induction]) -> polars.DataFrame:
    """Return the whole vocabulary in its own order, with a column ``NAME`` and a column ``NAME rank`` for each axis."""
    import polars

    _check_vocabularies(axes)
    columns: dict[str, Any] = {"word": list(next(iter(axes.values())).words)}
    for name, ranking in axes.items():
        columns |= {name: ranking.scores.score, f"{name} rank": ranking.rank}
    return polars.DataFrame(columns)


def axis_relation(
    first: tuple[NDArray[np.float64], Induction], second: tuple[NDArray[np.float64], Induction], rows: Sequence[int]
) -> AxisRelation:
    """Return how two axes stand to each other.

    Parameters
    ----------
    first, second : pairs of an axis and the vocabulary along it
        The axes have unit length.
    rows : sequence of int
        The words whose coordinates are correlated (Pearson); none where they are fewer than two or all the same.
    """
    coordinates = [ranking.scores.score[np.asarray(rows, dtype=np.int64)] for _, ranking in (first, second)]
    varies = all(values.size > 1 and np.ptp(values) > 0.0 for values in coordinates)
    correlation = float(np.corrcoef(coordinates[0], coordinates[1])[0, 1]) if varies else None
    return AxisRelation(float(degrees_between(first[0], second[0])), correlation)


def axis_ends(space: WordSpace, seeds: Alignment, *, n_words: int = 2) -> tuple[list[str], list[str]]:
    """Return seeds that say what the low and the high end of an axis mean: the outermost labels, frequent words first.

    Parameters
    ----------
    space : WordSpace
        Its order is taken for that of frequency.
    seeds : Alignment
        Of that space.
    n_words : int, default=2
        How many of each end.
    """
    rows = space.locate(seeds.words)
    low, high = (np.lexsort([rows, way * seeds.y])[:n_words] for way in (1.0, -1.0))
    return [seeds.words[row] for row in low.tolist()], [seeds.words[row] for row in high.tolist()]


def _check_vocabularies(axes: Mapping[str, Induction]) -> None:
    sizes = {ranking.n_words for ranking in axes.values()}
    if len(sizes) != 1:
        named = ", ".join(f"{name}: {ranking.n_words:,} words" for name, ranking in axes.items()) or "none"
        raise TaskError(f"a map needs axes of one and the same vocabulary; {named} are given.")
