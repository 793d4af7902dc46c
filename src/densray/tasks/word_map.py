"""A map of words: their coordinates on axes that have names, and how these axes stand to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray.errors import TaskError
from densray.space import WordSpace
from densray.tasks.angles import degrees_between
from densray.tasks.induction import Induction
from densray.tasks.seeds import Seeds

if TYPE_CHECKING:
    import polars

__all__ = ["AxisRelation", "axis_ends", "axis_relation", "map_frame", "map_rows"]


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


def axis_ends(space: WordSpace, seeds: Seeds, *, n_words: int = 2) -> tuple[list[str], list[str]]:
    """Return seeds that say what the low and the high end of an axis mean: the outermost labels, frequent words first.

    Parameters
    ----------
    space : WordSpace
        Its order is taken for that of frequency.
    seeds : Seeds
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
