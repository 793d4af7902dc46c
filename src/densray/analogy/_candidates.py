"""Candidates of IntRank and their features, and the questions it learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from densray._vocabulary import spread_rows, unit_rows
from densray.analogy._fits import fold_axes
from densray.analogy._pairs import Examples, Folds, UsablePair
from densray.analogy._products import Rows, Vocabulary, extremes, mean_direction
from densray.analogy._search import search
from densray.analogy._solvers import SimilarToB
from densray.rotations import Rotation

Matrix = NDArray[np.float64]

#: The features, the first of which is IntCos itself.
FEATURES = (
    "log IntCos",
    "cosine to the right words",
    "log complement cosine",
    "cosine to the shifted query",
    "log frequency rank",
    "commonness",
    "known right word",
    "known left word",
)

#: Candidates taken by IntCos, by cosine to the query, and by cosine to the query shifted by the mean difference.
_CANDIDATES = (80, 40, 40)
_FLOOR = 1e-3  # class scores and cosines below count as this much, so that they have a logarithm


@dataclass(frozen=True)
class Candidates:
    """Rows of the vocabulary and their features, for each model: shapes (B, C) and (B, C, K)."""

    rows: Rows
    features: NDArray[np.float32]


class Relation:
    """What a category says about its relation, learned without some of its examples: a model for each mask.

    Parameters
    ----------
    vocabulary : Vocabulary
    examples : Examples
    keep : bool array of shape (B, 2 m)
        The example rows each model may see.
    rotation : str or Rotation
    """

    def __init__(
        self, vocabulary: Vocabulary, examples: Examples, keep: NDArray[np.bool_], rotation: str | Rotation
    ) -> None:
        self.vocabulary = vocabulary
        self.examples = examples
        self.keep = keep
        self.axes = fold_axes(examples, keep, rotation)
        self.low, self.high = extremes(vocabulary, self.axes @ examples.basis.T, examples.basis)
        m = len(examples)
        self.left_seen, self.right_seen = keep[:, :m].astype(np.float64), keep[:, m:].astype(np.float64)
        self.centroids = unit_rows(self.right_seen @ examples.right)
        both = self.left_seen * self.right_seen
        self.offsets = both @ (examples.right - examples.left) / np.maximum(both.sum(axis=1, keepdims=True), 1.0)

    @cached_property
    def common(self) -> Matrix:
        """The direction of the mean of the vocabulary: frequent, unspecific words lie along it."""
        return mean_direction(self.vocabulary)

    def describe(self, models: Rows, query: Matrix, near: Rows, barred: Sequence[int]) -> Candidates:
        """Return the candidates of a query by each of these models.

        They come from the words `near` to the query (a unit vector) and from the right words a model has seen.
        """
        m = len(self.examples)
        pool = np.setdiff1d(np.union1d(near, self.examples.rows[m:]), barred)
        vectors = self.vocabulary.unit_rows(pool).astype(np.float32)
        axes, target = self.axes[models], unit_rows(query + self.offsets[models])
        coordinate, shifted = _products(axes, vectors), _products(target, vectors)
        cosine = np.broadcast_to(_products(query[None, :], vectors), coordinate.shape)
        class_score = (coordinate - self.low[models, None]) / (self.high - self.low)[models, None]
        intcos = _log(class_score) + _log(cosine)
        known_right = self.right_seen[models] @ (self.examples.rows[m:, None] == pool)
        known_left = self.left_seen[models] @ (self.examples.rows[:m, None] == pool)
        allowed = np.isin(pool, near) | (known_right > 0)
        chosen = _choose(allowed, (intcos, cosine, shifted))

        def pick(values: Matrix) -> Matrix:
            return np.take_along_axis(np.broadcast_to(values, intcos.shape), chosen, axis=1)

        along = axes @ query
        share = pick(coordinate)
        rest = np.sqrt(np.maximum((1.0 - share**2) * (1.0 - along**2)[:, None], 1e-12))
        features = [
            pick(intcos),
            pick(_products(self.centroids[models], vectors)),
            _log((pick(cosine) - share * along[:, None]) / rest),
            pick(shifted),
            np.log(pool[chosen] + 1.0),
            pick(_products(self.common[None, :], vectors)),
            np.log1p(pick(known_right)),
            np.minimum(pick(known_left), 1.0),
        ]
        return Candidates(pool[chosen], np.stack(features, axis=-1).astype(np.float32))


def _products(probes: Matrix, vectors: NDArray[np.float32]) -> Matrix:
    return (probes.astype(np.float32) @ vectors.T).astype(np.float64)


def _choose(allowed: NDArray[np.bool_], scores: Sequence[Matrix]) -> Rows:
    """Return the columns of the best of each score that those before it did not take."""
    models, size = allowed.shape
    if size <= sum(_CANDIDATES):
        return np.broadcast_to(np.arange(size), (models, size))
    free = allowed.copy()
    chosen = []
    for score, count in zip(scores, _CANDIDATES, strict=True):
        best = np.argpartition(np.where(free, -score, np.inf), count, axis=1)[:, :count]
        np.put_along_axis(free, best, False, axis=1)
        chosen.append(best)
    return np.sort(np.hstack(chosen), axis=1)


def _log(values: Matrix) -> Matrix:
    return np.asarray(np.log(np.maximum(values, _FLOOR)))


_NEIGHBOURS = 3000  # nearest words of a query, among which its candidates are
_MOST_EXAMPLES = 100  # examples asked in the inner folds


@dataclass(frozen=True)
class TrainingQuestion:
    """An example asked as if its answer were unknown: features of its candidates, shape (C, K), and which are right."""

    features: NDArray[np.float32]
    right: NDArray[np.bool_]


class NestedQuestions:
    """Training questions of the nested leave-one-out: no word of the fold's own pair is seen, nor of the example asked.

    Attributes
    ----------
    relation : Relation
        A model for each distinct mask of the examples. Leaving out f and then j is leaving out j and then f, so there
        are about m² / 2 of them.
    models : array of shape (F,)
        The model of each fold itself.
    of_fold : list of F lists of TrainingQuestion
    """

    def __init__(self, vocabulary: Vocabulary, folds: Folds, rotation: str | Rotation) -> None:
        examples, keep = folds.examples, folds.keep
        own = Folds.leave_one_out(examples, examples.usable).keep
        asked = spread_rows(len(examples), _MOST_EXAMPLES)
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

    def _ask(self, vocabulary: Vocabulary, folds: Folds, asked: Rows, models: Rows) -> list[list[TrainingQuestion]]:
        """Return the questions of each fold; `models` says which model asks which example, -1 where none may."""
        examples = folds.examples
        pairs = [examples.usable[place] for place in asked.tolist()]
        near = find_nearest(vocabulary, Folds.whole(examples), examples.left[asked], pairs)
        questions: list[list[TrainingQuestion]] = [[] for _ in models]
        for column, pair in enumerate(pairs):
            able = np.flatnonzero(models[:, column] >= 0)
            if len(able) == 0:
                continue
            query = examples.left[asked[column]]
            found = self.relation.describe(models[able, column], query, near[column], pair.barred)
            right = np.isin(found.rows, pair.right)
            for number, fold in enumerate(able.tolist()):
                questions[fold].append(TrainingQuestion(found.features[number], right[number]))
        return questions


def find_nearest(vocabulary: Vocabulary, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> list[Rows]:
    """Return the nearest words of each query, from which its candidates come."""
    near = search(vocabulary, [SimilarToB(vocabulary.space).train(folds, queries, pairs)], k=_NEIGHBOURS)[0].rows
    return [rows[rows >= 0] for rows in near]


def _both_classes(masks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    m = masks.shape[1] // 2
    return np.asarray(masks[:, :m].any(axis=1) & masks[:, m:].any(axis=1))
