"""The two ends of a scale, from seed words and their nearest words in the space."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from densray._vocabulary import unit_rows
from densray.errors import LabelError
from densray.rows import Rows
from densray.space import WordSpace

#: Number of words nearest to an end; together they weigh as much as its seeds.
N_NEIGHBORS = 20
#: Weight of the similarity to the other end, which is subtracted.
CONTRAST = 0.5


def end_difference(seeds: Rows, *, normalize: bool = True, n_neighbors: int = N_NEIGHBORS) -> NDArray[np.float64]:
    """Return the vector from the low end of a scale to its high end.

    An end is the mean of its seeds, averaged with the mean of the nearest words of the background. A few seed words
    alone would be noisy. The nearest words are those with the highest cosine to the end, minus half of the cosine to
    the other end.

    Parameters
    ----------
    seeds : Rows
        Two classes; the higher one is the high end. If their background is not a space, only the seeds are used.
    normalize : bool, default=True
        Whether to scale vectors to unit length.
    n_neighbors : int, default=20
        Number of nearest words for each end; 0: only the seeds are used.
    """
    if not seeds.is_binary:
        raise LabelError(
            f"the seeds have {len(np.unique(seeds.y))} different labels; exactly two are needed, one for each end of "
            "the scale."
        )
    X = np.asarray(unit_rows(seeds.X) if normalize else seeds.X, dtype=np.float64)
    ends = np.array([X[seeds.sides > 0].mean(axis=0), X[seeds.sides < 0].mean(axis=0)])
    if not n_neighbors or not isinstance(seeds.background, WordSpace):
        return np.asarray(ends[0] - ends[1])
    near = _neighbors(seeds.background, unit_rows(ends), n_neighbors)
    vectors = [seeds.background.vectors_at(rows) for rows in near]
    means = [np.mean(unit_rows(each) if normalize else each, axis=0, dtype=np.float64) for each in vectors]
    return np.asarray((ends[0] + means[0] - ends[1] - means[1]) / 2.0)


def _neighbors(space: WordSpace, ends: NDArray[np.float64], count: int) -> list[NDArray[np.int64]]:
    """Return the rows nearest to the high and to the low end, in one pass over the space."""
    count = min(count, len(space))
    best = [(np.empty(0), np.empty(0, dtype=np.int64)) for _ in range(2)]
    first = 0
    for _, block in space.blocks():
        cosines = unit_rows(block) @ ends.T.astype(block.dtype)
        for side in range(2):
            contrasts = cosines[:, side] - CONTRAST * cosines[:, 1 - side]
            values = np.concatenate([best[side][0], contrasts])
            rows = np.concatenate([best[side][1], first + np.arange(len(contrasts))])
            order = np.argsort(-values, kind="stable")[:count]
            best[side] = (values[order], rows[order])
        first += len(block)
    return [rows for _, rows in best]
