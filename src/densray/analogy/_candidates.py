"""Candidates of IntRank and their features, and the questions it learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from densray._arrays import to_host
from densray._vocabulary import spread_rows, unit_rows
from densray.analogy._fits import fold_axes
from densray.analogy._pairs import Examples, Folds, UsablePair
from densray.analogy._products import Rows, Vocabulary, extremes, mean_direction
from densray.analogy._search import search
from densray.analogy._solvers import SimilarToB
from densray.analogy._spelling import SPELLING_FEATURES, ExampleSpellings
from densray.rotations import Rotation

Matrix = NDArray[np.float64]
Vectors = NDArray[np.float32]

#: Features that rest on the vectors, on their order (by frequency) and on the words of the examples; the first is
#: IntCos itself. An offset is right minus left of an example, or candidate minus query; offsets agree by their cosine.
SPACE_FEATURES = (
    "log IntCos",
    "unusual class score",
    "unusual cosine to the query",
    "cosine to the predicted answer",
    "cosine to the right words",
    "cosine to the nearest right words",
    "cosine to the left words",
    "cosine to the nearest left words",
    "mean agreement of offsets",
    "best agreement of offsets",
    "spread of the agreement of offsets",
    "log frequency rank",
    "commonness",
    "known first answer",
    "known answer",
    "known answer of similar queries",
)

#: All features; those of `SPELLING_FEATURES` rest on the letters of the words.
FEATURES = SPACE_FEATURES + SPELLING_FEATURES

#: Candidates taken by IntCos, by cosine to the query, by cosine to the predicted answer, as known answers, and, where
#: spelling counts, by letters shared with the query.
_TAKEN = (80, 40, 40, 20, 20)
_FLOOR = 1e-3  # class scores and cosines below count as this much, so that they have a logarithm
_NEAREST = 3  # right and left words that count as the nearest
_PENALTY = 1.0  # of the kernel ridge regression that predicts offsets
_SHARPNESS = 10.0  # examples count by exp(sharpness × cosine of their query) among similar queries


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
    spelling : bool
        Whether candidates are described by `SPELLING_FEATURES` too.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        examples: Examples,
        keep: NDArray[np.bool_],
        rotation: str | Rotation,
        *,
        spelling: bool,
    ) -> None:
        self.vocabulary = vocabulary
        self.examples = examples
        self.axes = fold_axes(examples, keep, rotation)
        self.low, self.high = extremes(vocabulary, self.axes @ examples.basis.T, examples.basis)
        m = len(examples)
        left_seen, right_seen = keep[:, :m].astype(np.float64), keep[:, m:].astype(np.float64)
        self.seen = left_seen * right_seen
        self.left_centroids = unit_rows(left_seen @ examples.left)
        self.right_centroids = unit_rows(right_seen @ examples.right)
        self.offsets = examples.right - examples.left
        words = vocabulary.space.words
        left, right = ([words[row] for row in part.tolist()] for part in (examples.rows[:m], examples.rows[m:]))
        self.spellings = ExampleSpellings(left, right) if spelling else None

    @cached_property
    def common(self) -> Matrix:
        """The direction of the mean of the vocabulary: frequent, unspecific words lie along it."""
        return mean_direction(self.vocabulary)

    @cached_property
    def answers(self) -> tuple[Rows, Rows]:
        """All listed answers of the examples: the place of the example, and the row of the answer."""
        rows = [np.union1d(pair.right, [pair.answer]).astype(np.int64) for pair in self.examples.usable]
        return np.repeat(np.arange(len(rows)), [len(each) for each in rows]), np.concatenate(rows)

    @cached_property
    def similarity(self) -> Matrix:
        """The cosines of the examples' queries among themselves."""
        return self.examples.left @ self.examples.left.T

    def describe(self, models: Rows, query: Matrix, pair: UsablePair, near: Rows) -> Candidates:
        """Return the candidates of a query (a unit vector) by each of these models.

        They come from the words `near` to the query and from the answers of the examples a model has seen.
        """
        question = _Question(self, models, query, pair, near)
        features = question.space_features()
        if self.spellings is not None:
            words = self.vocabulary.space.words
            texts = [words[row] for row in question.rows.tolist()]
            shown = self.spellings.describe(words[pair.query], texts, self.seen[models])
            features += [question.at_chosen(values) for values in shown]
        return Candidates(question.rows[question.places], np.stack(features, axis=-1).astype(np.float32))


class _Question:
    """One query asked by B models.

    Attributes
    ----------
    rows : array of shape (U,)
        The words that are candidates of any model.
    places : array of shape (B, C)
        The candidates of each model, as places in `rows`.
    """

    def __init__(self, relation: Relation, models: Rows, query: Matrix, pair: UsablePair, near: Rows) -> None:
        self.relation, self.models, self.query, self.row = relation, models, query, pair.query
        self.seen = relation.seen[models]
        self.share = self.seen / np.maximum(self.seen.sum(axis=1, keepdims=True), 1.0)
        pool = np.setdiff1d(np.union1d(near, relation.answers[1]), pair.barred)
        vectors = unit_rows(np.asarray(to_host(relation.vocabulary.take(pool)), dtype=np.float32))
        known = self.seen @ self._known(pool)
        scores = self._scores(vectors, known)
        if relation.spellings is not None:
            words = relation.vocabulary.space.words
            letters = relation.spellings.shared_letters(words[pair.query], [words[row] for row in pool.tolist()])
            scores.append(letters + scores[1])
        chosen = _choose(np.isin(pool, near) | (known > 0), scores)
        union, places = np.unique(chosen, return_inverse=True)
        self.places: Rows = places.reshape(chosen.shape)
        self.rows: Rows = pool[union]
        self.vectors = vectors[union]
        self.log_intcos, self.cosine, self.predicted = (values[:, union] for values in scores[:3])

    def _scores(self, vectors: Vectors, known: Matrix) -> list[Matrix]:
        """Return the scores by which candidates are chosen: arrays of shape (B, pool)."""
        relation, models = self.relation, self.models
        low, high = relation.low[models, None], relation.high[models, None]
        class_score = (_products(relation.axes[models], vectors) - low) / np.where(high > low, high - low, 1.0)
        cosine = np.broadcast_to(_products(self.query[None, :], vectors), class_score.shape)
        predicted = _products(unit_rows(self.query + self._predicted_offsets()), vectors)
        # known answers by how often they are one, and by cosine among those that are one as often
        return [_log(class_score) + _log(cosine), cosine, predicted, known + cosine]

    def _predicted_offsets(self) -> Matrix:
        """Return the offset that kernel ridge regression on the queries of the examples predicts, shape (B, d).

        Its kernel is the cosine, its intercept the mean offset. Examples a model has not seen have zeros in the kernel,
        so that their coefficients vanish.
        """
        relation, seen = self.relation, self.seen
        kernel = relation.similarity * (seen[:, :, None] * seen[:, None, :]) + _PENALTY * np.eye(seen.shape[1])
        target = seen * (relation.examples.left @ self.query)
        coefficients = np.linalg.solve(kernel, target[:, :, None])[:, :, 0]
        # offset = mean + Σ_i c_i (d_i - mean)
        weights = coefficients + self.share * (1.0 - coefficients.sum(axis=1, keepdims=True))
        return np.asarray(weights @ relation.offsets)

    def _known(self, rows: Rows) -> Matrix:
        """Return which rows, in ascending order, are an answer of which example, shape (m, rows)."""
        example, answer = self.relation.answers
        place = np.minimum(np.searchsorted(rows, answer), len(rows) - 1)
        there = rows[place] == answer
        known = np.zeros((self.seen.shape[1], len(rows)))
        known[example[there], place[there]] = 1.0
        return known

    def at_chosen(self, values: Matrix) -> Matrix:
        """Return values for each model and row of the union, at the candidates of each model."""
        return np.take_along_axis(np.broadcast_to(values, (len(self.models), len(self.rows))), self.places, axis=1)

    def space_features(self) -> list[Matrix]:
        """Return `SPACE_FEATURES` of the candidates: arrays of shape (B, C)."""
        examples, relation, models = self.relation.examples, self.relation, self.models
        m = len(examples)
        known = self._known(self.rows)
        first = (examples.rows[m:, None] == self.rows).astype(np.float64)
        left, right = (_products(part, self.vectors) for part in (examples.left, examples.right))
        agreement = self._agreement(left, right)
        mean = self.share @ agreement
        spread = np.sqrt(np.maximum(self.share @ agreement**2 - mean**2, 0.0))
        usual_cosine = self.share @ np.einsum("ij,ij->i", examples.left, examples.right)
        features = [
            self.log_intcos,
            self._unusual_class(),
            np.abs(self.cosine - usual_cosine[:, None]),
            self.predicted,
            _products(relation.right_centroids[models], self.vectors),
            self._mean_of_best(right, _NEAREST),
            _products(relation.left_centroids[models], self.vectors),
            self._mean_of_best(left, _NEAREST),
            mean,
            self._mean_of_best(agreement, 1),
            spread,
            np.log(self.rows + 1.0),
            _products(relation.common[None, :], self.vectors),
            np.log1p(self.seen @ first),
            np.log1p(self.seen @ known),
            self._similar() @ known,
        ]
        return [self.at_chosen(values) for values in features]

    def _agreement(self, left: Matrix, right: Matrix) -> Matrix:
        """Return cos(v - query, right - left) for each example and candidate v, shape (m, U)."""
        offsets = self.relation.offsets
        lengths = np.linalg.norm(offsets, axis=1)[:, None] * np.sqrt(np.maximum(2.0 - 2.0 * self.cosine[0], 1e-6))
        return np.asarray((right - left - (offsets @ self.query)[:, None]) / np.maximum(lengths, 1e-6))

    def _unusual_class(self) -> Matrix:
        """Return how far candidates lie from the right words on the axis, in standard deviations of these."""
        axes = self.relation.axes[self.models]
        known = axes @ self.relation.examples.right.T
        mean = (self.share * known).sum(axis=1, keepdims=True)
        deviation = np.sqrt((self.share * (known - mean) ** 2).sum(axis=1, keepdims=True)) + _FLOOR
        return np.asarray(np.abs(_products(axes, self.vectors) - mean) / deviation)

    def _similar(self) -> Matrix:
        """Return the share of each example by how similar its query is, shape (B, m)."""
        cosine = self.relation.examples.left @ self.query
        weight = self.seen * np.exp(_SHARPNESS * (cosine - cosine.max()))
        return np.asarray(weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-12))

    def _mean_of_best(self, values: Matrix, count: int) -> Matrix:
        """Return the mean of the highest values over the examples each model has seen; `values` has shape (m, U)."""
        # A model lacks few of the examples, so that the best it has seen are mostly among the first few of all.
        best = np.full((count, len(self.seen), values.shape[1]), -1.0)
        order = np.argsort(-values, axis=0, kind="stable")
        found = np.zeros((len(self.seen), values.shape[1]), dtype=np.int64)
        for places in order:
            known = (self.seen[:, places] > 0) & (found < count)
            model, column = np.nonzero(known)
            best[found[model, column], model, column] = values[places[column], column]
            found += known
            if found.min() >= count:
                break
        return np.asarray(best.sum(axis=0, where=best > -1.0) / np.maximum(found, 1))


def _products(probes: Matrix, vectors: Vectors) -> Matrix:
    return (probes.astype(np.float32) @ vectors.T).astype(np.float64)


def _choose(allowed: NDArray[np.bool_], scores: Sequence[Matrix]) -> Rows:
    """Return the columns of the best of each score that those before it did not take."""
    models, size = allowed.shape
    counts = _TAKEN[: len(scores)]
    if size <= sum(counts):
        return np.broadcast_to(np.arange(size), (models, size))
    free = allowed.copy()
    chosen = []
    for score, count in zip(scores, counts, strict=True):
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
    """Training questions of the nested leave-one-out: what asks an example has seen neither it nor the fold's own pair.

    Only the example itself is left out of what a fold sees, whatever the protocol of the folds: words that other pairs
    share with it stay known, as they are when a user asks.

    Parameters
    ----------
    vocabulary : Vocabulary
    folds : Folds
    rotation : str or Rotation
        What finds the axis.
    spelling : bool
        Whether candidates are described by `SPELLING_FEATURES` too.

    Attributes
    ----------
    relation : Relation
        A model for each distinct mask of the examples. Leaving out f and then j is leaving out j and then f, so there
        are about m² / 2 of them.
    models : array of shape (F,)
        The model of each fold itself.
    of_fold : list of F lists of TrainingQuestion
    """

    def __init__(self, vocabulary: Vocabulary, folds: Folds, rotation: str | Rotation, *, spelling: bool) -> None:
        examples, keep = folds.examples, folds.keep
        own = Folds.leave_one_out(examples).keep
        # chosen from what the fold sees, as `fit` on all other pairs chooses them
        fold, example = np.nonzero(_spread(folds.pair_keep, _MOST_EXAMPLES))
        masks = np.concatenate([keep, keep[fold] & own[example]])
        able = _both_classes(masks)
        distinct, place = np.unique(masks[able], axis=0, return_inverse=True)
        models = np.full(len(masks), -1)
        models[able] = place.ravel()
        self.relation = Relation(vocabulary, examples, distinct, rotation, spelling=spelling)
        self.models = models[: len(keep)]
        inner = np.full((len(keep), len(examples)), -1)
        inner[fold, example] = models[len(keep) :]
        self.of_fold = self._ask(vocabulary, folds, inner)

    def _ask(self, vocabulary: Vocabulary, folds: Folds, models: Rows) -> list[list[TrainingQuestion]]:
        """Return the questions of each fold; `models` says which model asks which example, -1 where none does."""
        examples = folds.examples
        asked = np.flatnonzero((models >= 0).any(axis=0))
        pairs = [examples.usable[place] for place in asked.tolist()]
        near = find_nearest(vocabulary, Folds.whole(examples), examples.left[asked], pairs) if pairs else []
        questions: list[list[TrainingQuestion]] = [[] for _ in models]
        for number, (place, pair) in enumerate(zip(asked.tolist(), pairs, strict=True)):
            able = np.flatnonzero(models[:, place] >= 0)
            found = self.relation.describe(models[able, place], examples.left[place], pair, near[number])
            right = np.isin(found.rows, pair.right)
            for row, fold in enumerate(able.tolist()):
                questions[fold].append(TrainingQuestion(found.features[row], right[row]))
        return questions


def find_nearest(vocabulary: Vocabulary, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> list[Rows]:
    """Return the nearest words of each query, from which its candidates come."""
    near = search(vocabulary, [SimilarToB(vocabulary.space).train(folds, queries, pairs)], k=_NEIGHBOURS)[0].rows
    return [rows[rows >= 0] for rows in near]


def _both_classes(masks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    m = masks.shape[1] // 2
    return np.asarray(masks[:, :m].any(axis=1) & masks[:, m:].any(axis=1))


def _spread(allowed: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
    """Return up to so many of the places each row allows, evenly spread."""
    taken = np.zeros_like(allowed)
    for row, places in enumerate(map(np.flatnonzero, allowed)):
        taken[row, places[spread_rows(len(places), most)]] = True
    return taken
