"""Compare two axes: changes in rank, words on a map, angles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray._vocabulary import unit_rows
from densray.axes._evidence import degrees_between
from densray.axes._induction import Induction
from densray.errors import TaskError
from densray.report import Column, Result, Table, show_number
from densray.rows import Rows

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True)
class AxisChange(Result):
    """Comparison of two orders of one vocabulary.

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

    def __repr__(self) -> str:
        ends = [", ".join(str(row["word"]) for row in rows[:3]) for rows in (self.risen, self.fallen)]
        order = f"{show_number(self.degrees, 0)}°, rank correlation {show_number(self.spearman, 2)}"
        return f"AxisChange: {order}; risen {ends[0]} …; fallen {ends[1]} …"

    def tables(self) -> list[Table]:
        """Return the words that rose, and those that fell."""
        columns: list[Column | str] = ["word", "before", "after", Column("shift", "shift (sd)", decimals=2)]
        return [Table("Risen most", columns, self.risen), Table("Fallen most", columns, self.fallen)]


def axis_change(before: Induction, after: Induction, *, n_words: int = 10) -> AxisChange:
    """Return how the order of a vocabulary differs between two axes.

    Parameters
    ----------
    before, after : Induction
        The same vocabulary along the two axes.
    n_words : int, default=10
        How many words to list in each direction.
    """
    if before.n_words != after.n_words:
        raise TaskError(
            f"vocabularies of {before.n_words:,} and {after.n_words:,} words are given; both must be the same."
        )
    shift = standardized(after.scores.score) - standardized(before.scores.score)
    order = np.argsort(shift, kind="stable")
    ends = order[::-1][:n_words], order[:n_words]
    risen, fallen = ([_entry(before, after, shift, row) for row in end.tolist()] for end in ends)
    ranks = np.corrcoef(before.rank, after.rank)[0, 1]
    degrees = float(degrees_between(before.axis.direction, after.axis.direction))
    return AxisChange(degrees, float(ranks), risen, fallen, provenance=after.provenance)


def standardized(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores in standard deviations from their mean; equal scores are all 0."""
    return np.asarray((scores - scores.mean()) / (scores.std() or 1.0))


def _entry(before: Induction, after: Induction, shift: NDArray[np.float64], row: int) -> dict[str, Any]:
    ranks = {"before": int(before.rank[row]), "after": int(after.rank[row])}
    return {"word": before.words[row], **ranks, "shift": float(shift[row])}


@dataclass(frozen=True)
class AxisRelation:
    """Relation of two axes: the angle between them, and the correlation of the coordinates of some words."""

    degrees: float
    correlation: float | None


def map_rows(axes: Mapping[str, Induction], rows: Sequence[int]) -> list[dict[str, Any]]:
    """Return words with their coordinate and their rank on each axis, as ``NAME`` and ``NAME rank``.

    Parameters
    ----------
    axes : mapping of Induction
        The same vocabulary along each axis, by the name of the axis.
    rows : sequence of int
        Row numbers of the words to return.
    """
    _check_vocabularies(axes)
    numbers = np.asarray(rows, dtype=np.int64)
    columns: dict[str, list[Any]] = {}
    for name, ranking in axes.items():
        columns[name] = ranking.scores.score[numbers].tolist()
        columns[f"{name} rank"] = ranking.rank[numbers].tolist()
    words = next(iter(axes.values())).words
    cells = zip(*columns.values(), strict=True)
    return [
        {"word": words[row], **dict(zip(columns, values, strict=True))}
        for row, values in zip(numbers.tolist(), cells, strict=True)
    ]


def map_frame(axes: Mapping[str, Induction]) -> polars.DataFrame:
    """Return the whole vocabulary in its own order, with a column ``NAME`` and a column ``NAME rank`` for each axis."""
    import polars

    _check_vocabularies(axes)
    columns: dict[str, Any] = {"word": list(next(iter(axes.values())).words)}
    for name, ranking in axes.items():
        columns |= {name: ranking.scores.score, f"{name} rank": ranking.rank}
    return polars.DataFrame(columns)


def axis_relation(first: Induction, second: Induction, rows: Sequence[int]) -> AxisRelation:
    """Return the angle between two axes, and the correlation of some words' scores along them.

    Parameters
    ----------
    first, second : Induction
        The same vocabulary along the two axes.
    rows : sequence of int
        The words whose coordinates are correlated (Pearson). There is no correlation if they are fewer than two or all
        equal.
    """
    coordinates = [ranking.scores.score[np.asarray(rows, dtype=np.int64)] for ranking in (first, second)]
    varies = all(values.size > 1 and np.ptp(values) > 0.0 for values in coordinates)
    correlation = float(np.corrcoef(coordinates[0], coordinates[1])[0, 1]) if varies else None
    return AxisRelation(float(degrees_between(first.axis.direction, second.axis.direction)), correlation)


#: For scores, the share of seeds at either end that may describe the end.
_OUTER = 0.1


def axis_ends(seeds: Rows, *, n_words: int = 2) -> tuple[list[str], list[str]]:
    """Return seeds that describe the low and the high end of an axis: those nearest to the mean of their side.

    If labels are scores, only the outermost tenth of each side is used.

    Parameters
    ----------
    seeds : Rows
    n_words : int, default=2
        Number of seeds per end.
    """
    X, ends = unit_rows(seeds.X), []
    for side in (-1.0, 1.0):
        rows = np.flatnonzero(seeds.sides == side)
        outer = rows
        if not seeds.is_binary:
            outermost = np.argsort(-side * seeds.y[rows], kind="stable")
            outer = np.sort(rows[outermost[: max(round(_OUTER * len(rows)), n_words)]])
        typical = np.argsort(-(X[outer] @ X[rows].mean(axis=0)), kind="stable")[:n_words]
        ends.append([seeds.names[row] for row in outer[typical].tolist()])
    return ends[0], ends[1]


#: Number of words near the seeds that are searched for words of the same side.
_NEAR = 60


def words_like_seeds(ranking: Induction, *, n_words: int = 8) -> tuple[list[str], list[str]]:
    """Return words that may serve as further seeds of the high and of the low end.

    These are the words nearest to the mean of the seeds of an end, by cosine, that are not seeds and that lie nearer to
    this end of the axis than to the other.

    Parameters
    ----------
    ranking : Induction
        A vocabulary along the axis of the seeds.
    n_words : int, default=8
        Maximum number of words per end.
    """
    space, seeds = ranking.space, ranking.axis.known_rows
    seed_words = {word.lower() for word in seeds.names}
    means = {side: unit_rows(seeds.X[seeds.sides == side]).mean(axis=0) for side in (1.0, -1.0)}
    seed_scores = ranking.scores.score[space.locate(seeds.names)]
    middle = float(np.mean([seed_scores[seeds.sides == side].mean() for side in means]))
    ends: list[list[str]] = []
    for side, mean in means.items():
        near = [
            word for word, _ in space.neighbors(mean, k=min(_NEAR, len(space) - 1)) if word.lower() not in seed_words
        ]
        scores = ranking.scores.score[space.locate(near)]
        suited = [word for word, score in zip(near, scores.tolist(), strict=True) if side * (score - middle) > 0.0]
        ends.append(suited[:n_words])
    return ends[0], ends[1]


def _check_vocabularies(axes: Mapping[str, Induction]) -> None:
    sizes = {ranking.n_words for ranking in axes.values()}
    if len(sizes) != 1:
        counts = ", ".join(f"{name}: {ranking.n_words:,} words" for name, ranking in axes.items()) or "none"
        raise TaskError(f"a map needs axes of one and the same vocabulary; {counts} are given.")
