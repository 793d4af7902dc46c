"""IntRank's candidates for a query, and the features that describe them.

A category is learned many times, each time without some of its examples: once for each question of the evaluation, and
for each of these again for every example that is asked in turn. Each time is a *model*; all models are fitted at
once. Arrays have a row for each of B models, and a column for each of m examples or for each word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from densray._arrays import to_host
from densray._vocabulary import unit_rows
from densray.analogy._examples import Examples, Mask
from densray.analogy._letters import SPELLING_FEATURES, ExampleSpellings
from densray.analogy._located import LocatedCategory, RowNumbers
from densray.analogy._products import coordinate_ranges, mean_direction
from densray.rotations import Rotation

Matrix = NDArray[np.float64]
Vectors = NDArray[np.float32]

#: Features from the vectors, their order (by frequency) and the words of the examples; the first is
#: IntCos itself. An offset is right minus left of an example, or candidate minus query; agreement of offsets is a
#: cosine.
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

#: All features; `SPELLING_FEATURES` depend on the letters of the words.
FEATURES = SPACE_FEATURES + SPELLING_FEATURES

#: Number of candidates by IntCos, by cosine to the query, by cosine to the predicted answer, as known answers, and,
#: with spelling, as words that spelling rules derive from the query or that share letters with it.
_TAKEN = (80, 40, 40, 20, 20)
_FLOOR = 1e-3  # lower bound of class scores and cosines, so that their logarithm exists
_MORE_THAN_LETTERS = 100.0  # ranks words derived by rules before words that share letters
_NEAREST = 3  # number of right and left words that count as the nearest
_PENALTY = 1.0  # of the kernel ridge regression that predicts offsets
_SHARPNESS = 10.0  # weight of an example: exp(sharpness × cosine of its query)


@dataclass(frozen=True)
class Candidates:
    """Rows of the vocabulary and their features, for each model: shapes (B, C) and (B, C, K)."""

    rows: RowNumbers
    features: NDArray[np.float32]


class RelationModels:
    """Models of a relation: one for each choice of visible examples.

    Parameters
    ----------
    examples : Examples
    visible : bool array of shape (B, 2 m)
        The example words visible to each model.
    rotation : str or Rotation
        The method for the axis.
    spelling : bool
        Whether to use `SPELLING_FEATURES` too.
    """

    def __init__(self, examples: Examples, visible: Mask, rotation: str | Rotation, *, spelling: bool) -> None:
        # Arrays only, not the examples: they hold this object, and a reference cycle would keep its memory.
        self.unit = examples.unit
        self.left, self.right, self.offsets = examples.left, examples.right, examples.offsets
        self.first_answers = examples.category.answers
        self.listed_answers = _listed_answers(examples.category)
        self.axes = examples.fit_axes(visible, rotation)
        self.low, self.high = coordinate_ranges(examples.unit, self.axes @ examples.basis.T, examples.basis)
        m = len(examples)
        left_seen, right_seen = visible[:, :m].astype(np.float64), visible[:, m:].astype(np.float64)
        self.seen = left_seen * right_seen
        self.left_centroids = unit_rows(left_seen @ examples.left)
        self.right_centroids = unit_rows(right_seen @ examples.right)
        words = examples.words
        self.spellings = ExampleSpellings(words[:m], words[m:]) if spelling else None

    @cached_property
    def common(self) -> Matrix:
        """The direction of the mean of the vocabulary, along which frequent, unspecific words lie."""
        return mean_direction(self.unit)

    @cached_property
    def similarity(self) -> Matrix:
        """The cosines between the queries of the examples."""
        return self.left @ self.left.T

    def are_answers(self, rows: RowNumbers) -> Matrix:
        """Return 1 if a row is a listed answer of an example, else 0: shape (m, rows); rows ascend."""
        example, answer = self.listed_answers
        place = np.minimum(np.searchsorted(rows, answer), len(rows) - 1)
        there = rows[place] == answer
        is_answer = np.zeros((len(self.left), len(rows)))
        is_answer[example[there], place[there]] = 1.0
        return is_answer

    def _rows_of_forms(self, query: str) -> RowNumbers:
        """Return the rows of words that spelling rules derive from a query; none if spelling is not used."""
        forms = self.spellings.forms(query) if self.spellings is not None else {}
        return np.array([row for form in forms for row in self.unit.space.spellings(form)], dtype=np.int64)

    def describe(
        self, models: RowNumbers, query: Matrix, row: int, excluded: Sequence[int], near: RowNumbers
    ) -> Candidates:
        """Return the candidates for a query by some of the models, and their features.

        Candidates are words near the query, answers of the examples visible to a model, and, with
        spelling, words that the rules of these examples derive from the query.

        Parameters
        ----------
        models : int array of shape (B,)
        query : array of shape (d,)
            A unit vector.
        row : int
            The row of the query.
        excluded : sequence of int
            Rows excluded as answers.
        near : int array
            The rows nearest to the query.
        """
        view = _QueryView(self, models, query)
        words = self.unit.space.words
        others = np.union1d(self.listed_answers[1], self._rows_of_forms(words[row]))
        pool = np.setdiff1d(np.union1d(near, others), excluded)
        vectors = unit_rows(np.asarray(to_host(self.unit.take(pool)), dtype=np.float32))
        answer_votes = view.seen @ self.are_answers(pool)
        log_intcos, cosine, predicted = view.log_intcos(vectors), view.cosines(vectors), view.predicted(vectors)
        # known answers by frequency among the examples, then by cosine
        scores = [log_intcos, cosine, predicted, answer_votes + cosine]
        allowed = np.isin(pool, near) | (answer_votes > 0)
        if self.spellings is not None:
            texts = [words[other] for other in pool.tolist()]
            votes = self.spellings.votes(words[row], texts, view.seen)
            # words derived by rules, by their votes; then words that share the most letters with the query
            letters = self.spellings.letters_in_common(words[row], texts)
            scores.append(np.where(votes > 0, _MORE_THAN_LETTERS + votes, letters) + cosine)
            allowed = allowed | (votes > 0)
        best = _choose(allowed, scores)
        # features are computed once for all words that any model chose
        union, places = np.unique(best, return_inverse=True)
        rows = pool[union]
        features = view.features(rows, vectors[union], log_intcos[:, union], cosine[:, union], predicted[:, union])
        if self.spellings is not None:
            texts = [words[other] for other in rows.tolist()]
            features += self.spellings.describe(words[row], texts, view.seen)
        places = places.reshape(best.shape)
        whole = (len(models), len(rows))
        of_models = [np.take_along_axis(np.broadcast_to(values, whole), places, axis=1) for values in features]
        return Candidates(rows[places], np.stack(of_models, axis=-1).astype(np.float32))


def _listed_answers(category: LocatedCategory) -> tuple[RowNumbers, RowNumbers]:
    """Return all listed answers of a category: the index of the pair, and the row of the answer."""
    rows = [
        np.union1d(correct, [answer]).astype(np.int64)
        for correct, answer in zip(category.correct, category.answers, strict=True)
    ]
    return np.repeat(np.arange(len(rows)), [len(each) for each in rows]), np.concatenate(rows)


class _QueryView:
    """One query as seen by B models; words are rows of unit vectors, and their measures have shape (B, words)."""

    def __init__(self, relation: RelationModels, models: RowNumbers, query: Matrix) -> None:
        self.relation, self.models, self.query = relation, models, query
        self.axes = relation.axes[models]
        self.seen = relation.seen[models]
        self.share = self.seen / np.maximum(self.seen.sum(axis=1, keepdims=True), 1.0)

    def log_intcos(self, vectors: Vectors) -> Matrix:
        """Return the logarithm of the score of IntCos."""
        low, high = self.relation.low[self.models, None], self.relation.high[self.models, None]
        class_score = (_products(self.axes, vectors) - low) / np.where(high > low, high - low, 1.0)
        return _log(class_score) + _log(self.cosines(vectors))

    def cosines(self, vectors: Vectors) -> Matrix:
        """Return the cosines to the query, the same for each model."""
        return np.broadcast_to(_products(self.query[None, :], vectors), (len(self.models), len(vectors)))

    def predicted(self, vectors: Vectors) -> Matrix:
        """Return the cosines to the answer predicted by kernel ridge regression on the queries of the examples.

        Its kernel is the cosine, its intercept the mean offset. Examples not visible to a model have zeros in the
        kernel, so their coefficients vanish.
        """
        seen = self.seen
        kernel = self.relation.similarity * (seen[:, :, None] * seen[:, None, :]) + _PENALTY * np.eye(seen.shape[1])
        target = seen * (self.relation.left @ self.query)
        coefficients = np.linalg.solve(kernel, target[:, :, None])[:, :, 0]
        # offset = mean + Σ_i c_i (d_i - mean)
        weights = coefficients + self.share * (1.0 - coefficients.sum(axis=1, keepdims=True))
        return _products(unit_rows(self.query + np.asarray(weights @ self.relation.offsets)), vectors)

    def features(
        self, rows: RowNumbers, vectors: Vectors, log_intcos: Matrix, cosine: Matrix, predicted: Matrix
    ) -> list[Matrix]:
        """Return `SPACE_FEATURES` of some words: arrays of shape (B, words)."""
        relation, models = self.relation, self.models
        answers = relation.are_answers(rows)
        first = (relation.first_answers[:, None] == rows).astype(np.float64)
        left, right = (_products(part, vectors) for part in (relation.left, relation.right))
        agreement = self._agreement(left, right, cosine[0])
        mean = self.share @ agreement
        spread = np.sqrt(np.maximum(self.share @ agreement**2 - mean**2, 0.0))
        usual_cosine = self.share @ np.einsum("ij,ij->i", relation.left, relation.right)
        return [
            log_intcos,
            self._unusual_class(vectors),
            np.abs(cosine - usual_cosine[:, None]),
            predicted,
            _products(relation.right_centroids[models], vectors),
            self._mean_of_best(right, _NEAREST),
            _products(relation.left_centroids[models], vectors),
            self._mean_of_best(left, _NEAREST),
            mean,
            self._mean_of_best(agreement, 1),
            spread,
            np.log(rows + 1.0),
            _products(relation.common[None, :], vectors),
            np.log1p(self.seen @ first),
            np.log1p(self.seen @ answers),
            self._similar_examples() @ answers,
        ]

    def _agreement(self, left: Matrix, right: Matrix, cosine: Matrix) -> Matrix:
        """Return cos(v - query, right - left) for each example and word v, shape (m, words)."""
        offsets = self.relation.offsets
        lengths = np.linalg.norm(offsets, axis=1)[:, None] * np.sqrt(np.maximum(2.0 - 2.0 * cosine, 1e-6))
        return np.asarray((right - left - (offsets @ self.query)[:, None]) / np.maximum(lengths, 1e-6))

    def _unusual_class(self, vectors: Vectors) -> Matrix:
        """Return the distance from the right words along the axis, in standard deviations of the right words."""
        similarity = self.axes @ self.relation.right.T
        mean = (self.share * similarity).sum(axis=1, keepdims=True)
        deviation = np.sqrt((self.share * (similarity - mean) ** 2).sum(axis=1, keepdims=True)) + _FLOOR
        return np.asarray(np.abs(_products(self.axes, vectors) - mean) / deviation)

    def _similar_examples(self) -> Matrix:
        """Return the weight of each example by the similarity of its query, shape (B, m)."""
        cosine = self.relation.left @ self.query
        weight = self.seen * np.exp(_SHARPNESS * (cosine - cosine.max()))
        return np.asarray(weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-12))

    def _mean_of_best(self, values: Matrix, count: int) -> Matrix:
        """Return the mean of the highest `values` (m, words) over the examples visible to each model."""
        # A model lacks few of the examples, so the best visible ones are mostly among the first few of all.
        best = np.full((count, len(self.seen), values.shape[1]), -1.0)
        order = np.argsort(-values, axis=0, kind="stable")
        counts = np.zeros((len(self.seen), values.shape[1]), dtype=np.int64)
        for places in order:
            usable = (self.seen[:, places] > 0) & (counts < count)
            model, column = np.nonzero(usable)
            best[counts[model, column], model, column] = values[places[column], column]
            counts += usable
            if counts.min() >= count:
                break
        return np.asarray(best.sum(axis=0, where=best > -1.0) / np.maximum(counts, 1))


def _products(factors: Matrix, vectors: Vectors) -> Matrix:
    return (factors.astype(np.float32) @ vectors.T).astype(np.float64)


def _choose(allowed: NDArray[np.bool_], scores: Sequence[Matrix]) -> RowNumbers:
    """Return, for each model, the best columns by each score that no earlier score has chosen."""
    models, size = allowed.shape
    counts = _TAKEN[: len(scores)]
    if size <= sum(counts):
        return np.broadcast_to(np.arange(size), (models, size))
    free = allowed.copy()
    candidates = []
    for score, count in zip(scores, counts, strict=True):
        best = np.argpartition(np.where(free, -score, np.inf), count, axis=1)[:, :count]
        np.put_along_axis(free, best, False, axis=1)
        candidates.append(best)
    return np.sort(np.hstack(candidates), axis=1)


def _log(values: Matrix) -> Matrix:
    return np.asarray(np.log(np.maximum(values, _FLOOR)))
