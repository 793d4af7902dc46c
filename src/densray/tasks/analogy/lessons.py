"""What `IntRank` learns from: every example asked as if its answer were unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from densray.rotations import Rotation
from densray.tasks.analogy.candidates import Relation
from densray.tasks.analogy.folds import Folds
from densray.tasks.analogy.products import Rows, Vocabulary
from densray.tasks.analogy.search import search
from densray.tasks.analogy.similar_to_b import SimilarToB
from densray.tasks.analogy.solver import Matrix
from densray.tasks.analogy.usable import UsablePair

__all__ = ["Lesson", "Lessons", "find_nearest"]

_NEAR = 3000
_MOST_EXAMPLES = 100


@dataclass(frozen=True)
class Lesson:
    """Candidates of one example: their features, shape (C, K), and which of them are right."""

    features: NDArray[np.float32]
    right: NDArray[np.bool_]


class Lessons:
    """The lessons of every fold, strictly nested: a fold sees no word of its own pair, a lesson none of its own either.

    Attributes
    ----------
    relation : Relation
        A model for each distinct mask of the examples. Leaving out f and then j is leaving out j and then f, so there
        are about m² / 2 of them.
    models : array of shape (F,)
        The model of each fold itself.
    of_fold : list of F lists of Lesson
    """

    def __init__(self, vocabulary: Vocabulary, folds: Folds, rotation: str | Rotation) -> None:
        examples, keep = folds.examples, folds.keep
        own = Folds.leave_one_out(examples, examples.usable).keep
        asked = _spread(len(examples), _MOST_EXAMPLES)
        nested = (keep[:, None, :] & own[None, asked, :]).reshape(-1, keep.shape[1])
        masks = np.concatenate([keep, nested])
        able = _both_classes(masks)
        distinct, place = np.unique(masks[able], axis=0, return_inverse=True)
        models = np.full(len(masks), -1)
        models[able] = place.ravel()
        self.relation = Relation(vocabulary, examples, distinct, rotation)
        self.models = models[: len(keep)]
        inner = models[len(keep) :].reshape(len(keep), len(asked))
        self.of_fold = self._ask(vocabulary, folds, asked, np.where(folds.pair_keep[:, asked], inner, -1))

    def _ask(self, vocabulary: Vocabulary, folds: Folds, asked: Rows, models: Rows) -> list[list[Lesson]]:
        """Return the lessons of each fold; `models` says which model asks which example, -1 where none may."""
        examples = folds.examples
        pairs = [examples.usable[place] for place in asked.tolist()]
        near = find_nearest(vocabulary, Folds.whole(examples), examples.left[asked], pairs)
        lessons: list[list[Lesson]] = [[] for _ in models]
        for column, pair in enumerate(pairs):
            able = np.flatnonzero(models[:, column] >= 0)
            if len(able) == 0:
                continue
            query = examples.left[asked[column]]
            found = self.relation.describe(models[able, column], query, near[column], pair.barred)
            right = np.isin(found.rows, pair.right)
            for number, fold in enumerate(able.tolist()):
                lessons[fold].append(Lesson(found.features[number], right[number]))
        return lessons


def find_nearest(vocabulary: Vocabulary, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> list[Rows]:
    """Return the nearest words of each query, from which its candidates come."""
    near = search(vocabulary, [SimilarToB(vocabulary.space).train(folds, queries, pairs)], k=_NEAR)[0].rows
    return [rows[rows >= 0] for rows in near]


def _both_classes(masks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    m = masks.shape[1] // 2
    return np.asarray(masks[:, :m].any(axis=1) & masks[:, m:].any(axis=1))


def _spread(count: int, most: int) -> Rows:
    """Return up to so many places, evenly spread."""
    return np.unique(np.linspace(0, count - 1, num=min(count, most)).astype(np.int64))
