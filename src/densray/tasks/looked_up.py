"""A ranked vocabulary, looked up: its two ends, one word, its seeds; with errors where the axis knows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray.errors import TaskError
from densray.space import WordSpace
from densray.tasks.axis_model import AxisModel
from densray.tasks.induction import Induction

__all__ = ["both_ends", "look_up", "seed_scores"]


def both_ends(
    space: WordSpace, ranking: Induction, *, n_words: int = 15, model: AxisModel | None = None
) -> list[dict[str, Any]]:
    """Return the words at the two ends of a ranking, the highest first.

    Parameters
    ----------
    space : WordSpace
    ranking : Induction
        Of that space.
    n_words : int, default=15
        How many from each end.
    model : AxisModel, optional
        Knows errors and probabilities; they are found for the words returned alone.
    """
    if n_words < 1:
        raise TaskError(f"n_words is {n_words}; it must be at least 1.")
    order = np.argsort(ranking.rank, kind="stable")
    rows = order if len(order) <= 2 * n_words else np.concatenate([order[:n_words], order[-n_words:]])
    return _entries(space, ranking, rows, model)


def look_up(
    space: WordSpace, ranking: Induction, words: Sequence[str], *, model: AxisModel | None = None
) -> list[dict[str, Any]]:
    """Return where words stand in a ranking: score, rank, percentile, and with a model error and probability.

    Words that are not in the space are left out.
    """
    rows = space.locate(words)
    return _entries(space, ranking, rows[rows >= 0], model)


def seed_scores(ranking: Induction) -> dict[str, NDArray[np.float64]]:
    """Return the scores of the seeds of a ranking, those of the higher labels and those of the lower.

    Of two classes each is a side; scores are parted at their median.
    """
    labels = np.array([ranking.labels.get(word, np.nan) for word in ranking.words])
    known = labels[~np.isnan(labels)]
    if not known.size:
        return {}
    cut = known.min() if len(np.unique(known)) == 2 else float(np.median(known))
    scores = ranking.scores.score
    return {"high seeds": scores[labels > cut], "low seeds": scores[labels <= cut]}


def _entries(
    space: WordSpace, ranking: Induction, rows: NDArray[np.int64], model: AxisModel | None
) -> list[dict[str, Any]]:
    found = None if model is None or not len(rows) else model.score(np.asarray(space.vectors[rows]))
    percentile = ranking.percentile
    entries = []
    for place, row in enumerate(rows.tolist()):
        entry: dict[str, Any] = {
            "word": space.words[row],
            "score": float(ranking.scores.score[row]),
            "rank": int(ranking.rank[row]),
            "percentile": float(percentile[row]),
        }
        for name in ("probability", "standard_error", "expected_label"):
            values = None if found is None else getattr(found, name)
            if values is not None:
                entry[name] = float(values[place])
        entries.append(entry)
    return entries
