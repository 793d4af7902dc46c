"""Search the whole vocabulary for the best answers to the questions of a category."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, array_on, assign, is_foreign, move, namespace, to_host
from densray.analogy._located import RowNumbers
from densray.analogy._products import Blocks, ProductBlock, UnitVectors
from densray.analogy._scorer import Ranking, Scorer, Scores

_GATHERED_PER_K = 4  # gathered answers are pruned if there are more than this multiple of k per question
_MAXIMA = 16  # up to this k, taking k maxima in turn is faster than sorting


def search(unit: UnitVectors, scorers: Sequence[Scorer], *, k: int = 10) -> list[Ranking]:
    """Return the k best words for every question of each scorer."""
    own = [scorer.rank_words(unit, k) for scorer in scorers]
    others = [scorer for scorer, ranking in zip(scorers, own, strict=True) if ranking is None]
    searched = iter(_search_together(unit, others, k))
    return [next(searched) if ranking is None else ranking for ranking in own]


def _search_together(unit: UnitVectors, scorers: Sequence[Scorer], k: int) -> list[Ranking]:
    """Return the rankings of several scorers in one pass over the vocabulary."""
    if not scorers:
        return []
    blocks = Blocks(unit, {name: factor for scorer in scorers for name, factor in scorer.factors.items()})
    blocks.measure_ranges(tuple(dict.fromkeys(name for scorer in scorers for name in scorer.ranged)))
    tallies = [_Tally(scorer, k, blocks) for scorer in scorers]
    for block in blocks:
        for tally in tallies:
            tally.add(block)
    return [tally.ranking() for tally in tallies]


class _Tally:
    """The best words so far for each question of a scorer, and the number of words better than the best correct one."""

    def __init__(self, scorer: Scorer, k: int, blocks: Blocks) -> None:
        self.scorer = scorer
        self.ranges = blocks.ranges
        best = _BestOnDevice if is_foreign(blocks.unit.vectors) else _BestOnHost
        self.best = best(len(scorer), min(k, len(blocks.unit)))
        self.excluded = _by_row(scorer.excluded)
        self.correct = _by_row(scorer.correct)
        self.target, self.target_row = self._best_correct(blocks)
        self.better = np.zeros(len(scorer), dtype=np.int64)

    def _best_correct(self, blocks: Blocks) -> tuple[NDArray[np.float64], RowNumbers]:
        """Return the score and the row of the best correct answer to each question; +inf and 0 if it has none."""
        target = np.full(len(self.scorer), -np.inf)
        target_row = np.zeros(len(self.scorer), dtype=np.int64)
        questions, correct = self.correct
        rows = np.unique(correct)
        if len(rows):
            block = blocks.at(rows)
            places = np.searchsorted(rows, correct)
            for chunk in self.scorer.chunks():
                scores = to_host(self.scorer.parts(block, chunk)["score"])
                inside = (questions >= chunk.start) & (questions < chunk.stop)
                question, row = questions[inside], correct[inside]
                reached = scores[question - chunk.start, places[inside]]
                np.maximum.at(target, question, reached)
                best = reached == target[question]
                target_row[question[best][::-1]] = row[best][::-1]  # written in reverse, so that the first row wins
        return np.where(np.isneginf(target), np.inf, target), target_row

    def add(self, block: ProductBlock) -> None:
        """Add the words of a block."""
        start = int(block.rows[0])
        for chunk in self.scorer.chunks():
            scores = self.scorer.parts(block, chunk)["score"]
            xp = namespace(scores)
            _exclude(scores, self.excluded, start, chunk)
            self.best.add(scores, start, chunk)
            _exclude(scores, self.correct, start, chunk)
            target = move(self.target[chunk], scores)[:, None]
            beaten = scores > target
            if self.scorer.has_ties:
                earlier = block.rows < self.target_row[chunk, None]
                beaten = beaten | ((scores == target) & array_on(earlier, scores))
            self.better[chunk] += to_host(xp.count_nonzero(beaten, axis=1))

    def ranking(self) -> Ranking:
        """Return the best rows in order: by score, then by row."""
        rows, scores = self.best.listed()
        ranks = np.where(np.isposinf(self.target), 0, self.better + 1)
        return Ranking(rows, scores, ranks, self.ranges)


class _BestOnHost:
    """The k best words of each question; words at least as good as the k-th best so far are collected."""

    def __init__(self, questions: int, k: int) -> None:
        self.k = k
        self.floor: Scores = np.full(questions, -np.inf, dtype=np.float32)  # the k-th best score so far
        self.gathered: list[tuple[RowNumbers, RowNumbers, Scores]] = []

    def add(self, scores: Scores, start: int, chunk: slice) -> None:
        """Keep words that may be among the k best."""
        width = scores.shape[1]
        if self.floor.dtype != scores.dtype:  # a lower precision could round the floor above the k-th best score
            self.floor = self.floor.astype(scores.dtype)
        if start == 0 and width > self.k:
            self.floor[chunk] = np.partition(scores, width - self.k, axis=1)[:, width - self.k]
        question, column = np.nonzero(scores >= self.floor[chunk, None])
        self.gathered.append((question + chunk.start, column + start, scores[question, column]))
        if sum(len(part[0]) for part in self.gathered) > _GATHERED_PER_K * self.k * len(self.floor):
            self._thin()

    def _thin(self) -> tuple[RowNumbers, RowNumbers, Scores, RowNumbers]:
        """Drop words that are not among the k best so far; return the rest in order, and the rank of each."""
        question, row, score = (np.concatenate(part) for part in zip(*self.gathered, strict=True))
        order = np.lexsort((row, -score, question))
        question, row, score = question[order], row[order], score[order]
        place = np.arange(len(question)) - np.searchsorted(question, question)
        kept = place < self.k
        question, row, score, place = question[kept], row[kept], score[kept], place[kept]
        self.gathered = [(question, row, score)]
        last = place == self.k - 1
        self.floor[question[last]] = score[last]
        return question, row, score, place

    def listed(self) -> tuple[RowNumbers, NDArray[np.float64]]:
        """Return rows and scores, best first."""
        question, row, score, place = self._thin()
        rows = np.full((len(self.floor), self.k), -1, dtype=np.int64)
        scores = np.full((len(self.floor), self.k), -np.inf)
        is_finite = np.isfinite(score)
        rows[question[is_finite], place[is_finite]] = row[is_finite]
        scores[question[is_finite], place[is_finite]] = score[is_finite]
        return rows, scores


class _BestOnDevice:
    """The k best words of each question, found on the device for each block and then merged."""

    def __init__(self, questions: int, k: int) -> None:
        self.k = k
        self.rows: list[list[RowNumbers]] = [[] for _ in range(questions)]
        self.scores: list[list[Scores]] = [[] for _ in range(questions)]

    def add(self, scores: Scores, start: int, chunk: slice) -> None:
        """Keep the k best of a block."""
        columns, values = (to_host(part) for part in _highest(scores, min(self.k, scores.shape[1])))
        for place, question in enumerate(range(chunk.start, chunk.stop)):
            self.rows[question].append(columns[place] + start)
            self.scores[question].append(values[place])

    def listed(self) -> tuple[RowNumbers, NDArray[np.float64]]:
        """Return rows and scores, best first."""
        rows = np.stack([np.concatenate(parts) for parts in self.rows]).astype(np.int64)
        scores = np.stack([np.concatenate(parts) for parts in self.scores]).astype(np.float64)
        order = np.lexsort((rows, -scores), axis=1)[:, : self.k]
        rows, scores = np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1)
        return np.where(np.isfinite(scores), rows, -1), scores


def _highest(scores: Scores, k: int) -> tuple[Array, Array]:
    """Return the columns of the k highest scores of each row, and these scores, best first."""
    xp = namespace(scores)
    if k > _MAXIMA:
        order = xp.argsort(scores, axis=1, descending=True, stable=True)[:, :k]
        return order, xp.take_along_axis(scores, order, axis=1)
    rest = xp.asarray(scores, copy=True)
    lines = xp.arange(scores.shape[0], device=scores.device)
    columns, values = [], []
    for _ in range(k):
        columns.append(xp.argmax(rest, axis=1))
        values.append(xp.max(rest, axis=1))
        assign(rest, lines, columns[-1], -xp.inf)
    return xp.stack(columns, axis=1), xp.stack(values, axis=1)


def _by_row(groups: Sequence[Sequence[int]]) -> tuple[RowNumbers, RowNumbers]:
    """Return questions and rows as two flat arrays, ordered by row."""
    question = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    row = np.array([row for group in groups for row in group], dtype=np.int64)
    order = np.argsort(row, kind="stable")
    return question[order], row[order]


def _exclude(scores: Scores, places: tuple[RowNumbers, RowNumbers], start: int, chunk: slice) -> None:
    """Set the scores at these positions to -inf if they are in the block and the chunk."""
    question, row = places
    first, last = np.searchsorted(row, [start, start + scores.shape[1]])
    question, row = question[first:last], row[first:last]
    inside = (question >= chunk.start) & (question < chunk.stop)
    assign(scores, question[inside] - chunk.start, row[inside] - start, -np.inf)
