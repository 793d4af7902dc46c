"""Searching the vocabulary for the best answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, assign, is_foreign, move, namespace, to_host
from densray.analogy._products import Blocks, Products, Ranges, Rows, Vocabulary

_GATHERED_PER_K = 4  # answers per question, in multiples of k, above which those gathered are thinned out
_MAXIMA = 16  # up to this k, k maxima one after the other are faster than sorting


class Tally:
    """The best words of each question of a solver, and the place of the best right answer."""

    def __init__(self, trained: Trained, k: int, blocks: Blocks, ranges: Ranges) -> None:
        self.trained = trained
        self.ranges = ranges
        k = min(k, len(blocks.vocabulary))
        questions = trained.questions
        best = _BestOnDevice if is_foreign(blocks.matrix) else _BestOnHost
        self.best = best(len(questions), k)
        self.barred = _by_row(questions.barred)
        self.right = _by_row(questions.right)
        self.target = self._score_right(blocks)
        self.better = np.zeros(len(questions), dtype=np.int64)

    def _score_right(self, blocks: Blocks) -> NDArray[np.floating]:
        """Return the score of the best right answer of each question, +inf where it has none."""
        target = np.full(len(self.trained.questions), -np.inf)
        rows = np.unique(self.right[1])
        if len(rows):
            products = blocks.at(rows)
            places = np.searchsorted(rows, self.right[1])
            for chunk in self.trained.chunks():
                scores = to_host(self.trained.parts(products, self.ranges, chunk)["score"])
                inside = (self.right[0] >= chunk.start) & (self.right[0] < chunk.stop)
                question = self.right[0][inside]
                np.maximum.at(target, question, scores[question - chunk.start, places[inside]])
        return np.where(np.isneginf(target), np.inf, target)

    def add(self, start: int, products: Products) -> None:
        """Take in the words of a block."""
        for chunk in self.trained.chunks():
            scores = self.trained.parts(products, self.ranges, chunk)["score"]
            xp = namespace(scores)
            _bar(scores, self.barred, start, chunk)
            self.best.add(scores, start, chunk)
            _bar(scores, self.right, start, chunk)
            beaten = scores > move(self.target[chunk], scores)[:, None]
            self.better[chunk] += to_host(xp.count_nonzero(beaten, axis=1))

    def found(self) -> Found:
        """Return the best rows in order: by score, then by row."""
        rows, scores = self.best.listed()
        ranks = np.where(np.isposinf(self.target), 0, self.better + 1)
        return Found(rows, scores, ranks, self.ranges)


class _BestOnHost:
    """The k best words of each question: what reaches the k-th best score known so far is gathered, and thinned."""

    def __init__(self, questions: int, k: int) -> None:
        self.k = k
        self.floor = np.full(questions, -np.inf, dtype=np.float32)  # the k-th best score so far
        self.gathered: list[tuple[Rows, Rows, Scores]] = []

    def add(self, scores: Scores, start: int, chunk: slice) -> None:
        """Keep what may be among the k best."""
        width = scores.shape[1]
        if start == 0 and width > self.k:
            self.floor[chunk] = np.partition(scores, width - self.k, axis=1)[:, width - self.k]
        question, column = np.nonzero(scores >= self.floor[chunk, None])
        self.gathered.append((question + chunk.start, column + start, scores[question, column]))
        if sum(len(part[0]) for part in self.gathered) > _GATHERED_PER_K * self.k * len(self.floor):
            self._thin()

    def _thin(self) -> tuple[Rows, Rows, Scores, Rows]:
        """Drop what is not among the k best so far; return the rest in order, and the place of each."""
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

    def listed(self) -> tuple[Rows, NDArray[np.float64]]:
        """Return rows and scores, best first."""
        question, row, score, place = self._thin()
        rows = np.full((len(self.floor), self.k), -1, dtype=np.int64)
        scores = np.full((len(self.floor), self.k), -np.inf)
        listed = np.isfinite(score)
        rows[question[listed], place[listed]] = row[listed]
        scores[question[listed], place[listed]] = score[listed]
        return rows, scores


class _BestOnDevice:
    """The k best words of each question: those of every block are found where it lies, and few are left to merge."""

    def __init__(self, questions: int, k: int) -> None:
        self.k = k
        self.rows: list[list[Rows]] = [[] for _ in range(questions)]
        self.scores: list[list[Scores]] = [[] for _ in range(questions)]

    def add(self, scores: Scores, start: int, chunk: slice) -> None:
        """Keep the k best of a block."""
        columns, values = (to_host(part) for part in _highest(scores, min(self.k, scores.shape[1])))
        for place, question in enumerate(range(chunk.start, chunk.stop)):
            self.rows[question].append(columns[place] + start)
            self.scores[question].append(values[place])

    def listed(self) -> tuple[Rows, NDArray[np.float64]]:
        """Return rows and scores, best first."""
        rows = np.stack([np.concatenate(parts) for parts in self.rows]).astype(np.int64)
        scores = np.stack([np.concatenate(parts) for parts in self.scores]).astype(np.float64)
        order = np.lexsort((rows, -scores), axis=1)[:, : self.k]
        rows, scores = np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1)
        return np.where(np.isfinite(scores), rows, -1), scores


def _highest(scores: Scores, k: int) -> tuple[Array, Array]:
    """Return the columns of the k highest scores of each line, and those scores, best first."""
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


def _by_row(groups: Sequence[Sequence[int]]) -> tuple[Rows, Rows]:
    """Return questions and rows as two flat arrays, in order of the rows."""
    question = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    row = np.array([row for group in groups for row in group], dtype=np.int64)
    order = np.argsort(row, kind="stable")
    return question[order], row[order]


def _bar(scores: Scores, places: tuple[Rows, Rows], start: int, chunk: slice) -> None:
    """Set the scores of these places to -inf, where they lie in the block and the chunk."""
    question, row = places
    first, last = np.searchsorted(row, [start, start + scores.shape[1]])
    question, row = question[first:last], row[first:last]
    inside = (question >= chunk.start) & (question < chunk.stop)
    assign(scores, question[inside] - chunk.start, row[inside] - start, -np.inf)


#: One number for each question and word, on the device of the vectors.
Scores = Array


@dataclass(frozen=True)
class Questions:
    """What is asked: the fold of each question, the rows that are right and those that may not answer."""

    fold: Rows
    right: Sequence[Sequence[int]]
    barred: Sequence[Sequence[int]]

    def __len__(self) -> int:
        return len(self.fold)


#: Turns the products of a block of words into the scores of some questions, and the parts they are made of.
Parts = Callable[[Products, Ranges, slice], dict[str, Scores]]


class Trained:
    """What a solver knows about a category: probes, and how their products with the vocabulary become scores.

    Parameters
    ----------
    probes
        Arrays of shape (any, d) by name; solvers that give the same name share the products.
    questions
        One or more for each fold.
    score
        Returns, for a block of words and a slice of the questions, their scores under "score", and the parts of them;
        a subclass may override `parts` instead.
    ranged
        Probes of which the lowest and highest product over the vocabulary are needed.
    shown
        Probes of which `explain` shows the products, though no score is made of them.
    """

    def __init__(
        self,
        probes: Mapping[str, NDArray[np.float64]],
        questions: Questions,
        score: Parts | None = None,
        *,
        ranged: Sequence[str] = (),
        shown: Mapping[str, NDArray[np.float64]] | None = None,
    ) -> None:
        self.probes = probes
        self.questions = questions
        self._score = score
        self.ranged = tuple(ranged)
        self.shown = shown or {}

    def chunks(self) -> Iterator[slice]:
        """Yield the questions to be scored together."""
        yield slice(0, len(self.questions))

    @property
    def examples(self) -> list[tuple[str, str] | None]:
        """The example behind each question, where there is one only."""
        return [None] * len(self.questions)

    def answer(self, vocabulary: Vocabulary, k: int) -> Found | None:
        """Return the answers where the solver finds them its own way; None leaves them to the search."""
        return None

    def explain(self, vocabulary: Vocabulary, found: Found, rows: Rows) -> dict[str, Scores]:
        """Return the parts of the scores of a few rows, for each question: arrays of shape (questions, rows)."""
        products = Blocks(vocabulary, {**self.probes, **self.shown}).at(rows)
        parts = self.parts(products, found.ranges, slice(0, len(self.questions)))
        return {**parts, **{name: products[name] for name in self.shown}}

    def parts(self, products: Products, ranges: Ranges, chunk: slice) -> dict[str, Scores]:
        """Return the score of every word of a block for each question of the chunk, and the parts it is made of."""
        if self._score is None:
            raise NotImplementedError
        return self._score(products, ranges, chunk)


@dataclass(frozen=True)
class Found:
    """The best rows of each question, best first, their scores, and the place of the best right answer.

    The rank is 0 where no right answer is in the vocabulary; rows are -1 where nothing was left to fill them.
    """

    rows: Rows
    scores: NDArray[np.float64]
    ranks: Rows
    ranges: Ranges


def search(vocabulary: Vocabulary, trained: Sequence[Trained], *, k: int = 10) -> list[Found]:
    """Return the k best words of every question of each trained solver."""
    own = [one.answer(vocabulary, k) for one in trained]
    searched = iter(_search([one for one, found in zip(trained, own, strict=True) if found is None], vocabulary, k))
    return [next(searched) if found is None else found for found in own]


def _search(trained: Sequence[Trained], vocabulary: Vocabulary, k: int) -> list[Found]:
    if not trained:
        return []
    blocks = Blocks(vocabulary, {name: probe for one in trained for name, probe in one.probes.items()})
    ranges = blocks.ranges(tuple(dict.fromkeys(name for one in trained for name in one.ranged)))
    tallies = [Tally(one, k, blocks, ranges) for one in trained]
    for start, products in blocks:
        for tally in tallies:
            tally.add(start, products)
    return [tally.found() for tally in tallies]
