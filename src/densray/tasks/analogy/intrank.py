"""IntRank: a ranker on top of IntCos, learned from the example pairs themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from densray.errors import TaskError, suggest
from densray.rotations import Rotation
from densray.space import WordSpace
from densray.tasks.analogy.candidates import FEATURES, Candidates, Relation
from densray.tasks.analogy.conditional_logit import fit_conditional_logit
from densray.tasks.analogy.folds import Folds
from densray.tasks.analogy.intcos import IntCos
from densray.tasks.analogy.search import Found, Rows, Scores, Trained, search
from densray.tasks.analogy.similar_to_b import SimilarToB
from densray.tasks.analogy.solver import Matrix, Solver, fold_questions
from densray.tasks.analogy.usable import UsablePair

__all__ = ["IntRank"]

_NEAR = 1000
_MOST_EXAMPLES = 100
#: Weight of log IntCos before any example has spoken; so weakly held that two examples overrule it.
_START, _START_PRECISION = 18.0, 1e-3


class IntRank(Solver):
    r"""The answer is the candidate that a conditional logit, learned from the examples, ranks first.

    Every example pair is asked as if its answer were unknown: its words are taken out, the axis is found from the
    others, and about 160 candidates for its query are described by eight features (log IntCos, cosine to the centroid
    of the right words, log complement cosine, cosine to the query plus the mean difference, log frequency rank, cosine
    to the mean of the vocabulary, and whether the candidate is a right or left word of another example). The weights
    that rank the known answers first then rank the candidates of the query. A unit Gaussian prior on the standardised
    weights holds the ranking at IntCos until the examples say otherwise.

    Parameters
    ----------
    space : WordSpace
        In order of frequency, as files of vectors are.
    rotation : str or Rotation, default="densray-unit"
        What finds the axis.
    features : sequence of str, optional
        Names out of `FEATURES`; "log IntCos" is always used. All by default.

    Notes
    -----
    Convex, deterministic, nothing to tune. In the benchmark the folds are strictly nested: nothing that is learned for
    a pair, features of the examples included, has seen one of its words.
    """

    name = "intrank"

    def __init__(
        self,
        space: WordSpace,
        *,
        rotation: str | Rotation = "densray-unit",
        features: Sequence[str] = FEATURES,
    ) -> None:
        super().__init__(space)
        unknown = next((name for name in features if name not in FEATURES), None)
        if unknown is not None:
            raise TaskError(f"feature '{unknown}' is unknown. {suggest(unknown, FEATURES)}")
        self.rotation = rotation
        self.features = tuple(features)

    def train(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return what ranks the candidates of each query."""
        return _TrainedRanker(self, folds, queries, pairs)


class _TrainedRanker(Trained):
    """The rankers of all folds; the words they see are found when they are asked."""

    def __init__(self, solver: IntRank, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> None:
        super().__init__({"query": queries}, fold_questions(pairs))
        self.solver, self.folds, self.queries, self.pairs = solver, folds, queries, pairs
        self.used = [place for place, name in enumerate(FEATURES) if place == 0 or name in solver.features]
        self.weights = np.zeros((len(pairs), len(self.used)))
        self.candidates: list[Candidates] = []

    def answer(self, space: WordSpace, k: int) -> Found:
        """Return the best candidates of each query."""
        examples, keep = self.folds.examples, self.folds.keep
        own = Folds.leave_one_out(examples, examples.usable).keep
        inner = _spread(len(examples), _MOST_EXAMPLES)
        # the masks of all questions: fold f itself, and fold f without example j
        masks = np.concatenate([keep, (keep[:, None, :] & own[None, inner, :]).reshape(-1, keep.shape[1])])
        able = _both_classes(masks)
        distinct, place = np.unique(masks[able], axis=0, return_inverse=True)
        models = np.full(len(masks), -1)
        models[able] = place.ravel()
        relation = Relation(space, examples, distinct, self.solver.rotation)
        outer, nested = models[: len(keep)], models[len(keep) :].reshape(len(keep), len(inner))
        nested = np.where(self.folds.pair_keep[:, inner], nested, -1)
        lessons = self._lessons(relation, nested, inner)
        near = _nearest(space, self.folds, self.queries, self.pairs)
        self.candidates = [
            relation.describe(outer[fold : fold + 1], self.queries[fold], near[fold], self.pairs[fold].barred)
            for fold in range(len(keep))
        ]
        for fold in range(len(keep)):
            self.weights[fold] = self._learn(lessons[fold])
        return self._found(space, k)

    def _lessons(
        self, relation: Relation, nested: Rows, inner: Rows
    ) -> list[list[tuple[NDArray[np.float32], NDArray[np.bool_]]]]:
        """Return for each fold the examples it may learn from: features of candidates, and which are right."""
        examples = self.folds.examples
        usable = [examples.usable[place] for place in inner.tolist()]
        near = _nearest(relation.space, Folds.whole(examples), examples.left[inner], usable)
        lessons: list[list[tuple[NDArray[np.float32], NDArray[np.bool_]]]] = [[] for _ in nested]
        for column, pair in enumerate(usable):
            folds = np.flatnonzero(nested[:, column] >= 0)
            if len(folds) == 0:
                continue
            query = examples.left[inner[column]]
            described = relation.describe(nested[folds, column], query, near[column], pair.barred)
            right = np.isin(described.rows, pair.right)
            for number, fold in enumerate(folds.tolist()):
                lessons[fold].append((described.features[number][:, self.used], right[number]))
        return lessons

    def _learn(self, lessons: Sequence[tuple[NDArray[np.float32], NDArray[np.bool_]]]) -> Matrix:
        """Return the weights of one fold, for features as they are."""
        center, precision = np.zeros(len(self.used)), np.ones(len(self.used))
        center[0], precision[0] = _START, _START_PRECISION
        size = max((len(right) for _, right in lessons), default=0)
        whole = [lesson for lesson in lessons if len(lesson[1]) == size]  # tiny vocabularies may differ by a word
        if not whole:
            return center
        features = np.stack([one for one, _ in whole]).astype(np.float64)
        right = np.stack([one for _, one in whole])
        scale = np.sqrt((features - features.mean(axis=1, keepdims=True)).var(axis=(0, 1))) + 1e-3
        scale[0] = 1.0
        return np.asarray(fit_conditional_logit(features / scale, right, center=center, precision=precision) / scale)

    def _found(self, space: WordSpace, k: int) -> Found:
        questions = self.questions
        rows = np.full((len(questions), k), -1, dtype=np.int64)
        scores = np.full((len(questions), k), -np.inf)
        after = search(
            space, [IntCos(space, rotation=self.solver.rotation).train(self.folds, self.queries, self.pairs)]
        )
        ranks = np.zeros(len(questions), dtype=np.int64)
        for number, candidates in enumerate(self.candidates):
            values = candidates.features[0][:, self.used] @ self.weights[number]
            order = np.lexsort((candidates.rows[0], -values))
            best = order[:k]
            rows[number, : len(best)] = candidates.rows[0][best]
            scores[number, : len(best)] = values[best]
            places = np.flatnonzero(np.isin(candidates.rows[0][order], questions.right[number]))
            # words that are no candidates come after all that are
            beyond = int(after[0].ranks[number])
            ranks[number] = places[0] + 1 if len(places) else (max(beyond, len(order) + 1) if beyond else 0)
        return Found(rows, scores, ranks, {})

    def explain(self, space: WordSpace, found: Found, rows: Rows) -> dict[str, Scores]:
        """Return what each feature adds to the scores of some candidates of the first question."""
        candidates = self.candidates[0]
        place = {row: number for number, row in enumerate(candidates.rows[0].tolist())}
        features = candidates.features[0][[place[row] for row in rows.tolist()]][:, self.used]
        shares = features * self.weights[0]
        return {FEATURES[one]: shares[None, :, number] for number, one in enumerate(self.used)}


def _both_classes(masks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    m = masks.shape[1] // 2
    return np.asarray(masks[:, :m].any(axis=1) & masks[:, m:].any(axis=1))


def _spread(count: int, most: int) -> Rows:
    """Return up to so many places, evenly spread."""
    return np.unique(np.linspace(0, count - 1, num=min(count, most)).astype(np.int64))


def _nearest(space: WordSpace, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> list[Rows]:
    """Return the nearest words of each query."""
    near = search(space, [SimilarToB(space).train(folds, queries, pairs)], k=_NEAR)[0].rows
    return [rows[rows >= 0] for rows in near]
