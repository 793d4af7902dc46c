"""The best words of the vocabulary for many questions at once, block by block.

A solver turns each question into *probes*: vectors whose products with the unit vectors of the vocabulary are all it
needs (the query, the concept axis). The probes of all solvers are stacked, so that a category costs one matrix product
a block; what is left is arithmetic on products. The vocabulary is read in blocks and nothing of its size is kept,
except the products themselves where they are small.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from densray.space import WordSpace

__all__ = ["Found", "Products", "Questions", "Ranges", "Trained", "extremes", "mean_direction", "search"]

Scores = NDArray[np.float32]
Rows = NDArray[np.int64]
Products = Mapping[str, Scores]
Ranges = Mapping[str, tuple[NDArray[np.float32], NDArray[np.float32]]]

_BLOCK = 8_192
_KEPT_BYTES = 128 * 2**20
_GATHERED = 4  # times k: more answers a question than that are thinned out on the way


@dataclass(frozen=True)
class Questions:
    """What is asked: the fold of each question, the rows that are right and those that may not answer."""

    fold: Rows
    right: Sequence[Sequence[int]]
    barred: Sequence[Sequence[int]]

    def __len__(self) -> int:
        return len(self.fold)


class Trained:
    """What a solver knows about a category: probes, and how their products become scores.

    Attributes
    ----------
    probes
        Arrays of shape (any, d) by name; solvers that give the same name share the products.
    ranged
        Probes of which the lowest and highest product over the vocabulary are needed.
    questions
        One or more for each fold.
    """

    def __init__(
        self, probes: Mapping[str, NDArray[np.float64]], questions: Questions, *, ranged: Sequence[str] = ()
    ) -> None:
        self.probes = probes
        self.questions = questions
        self.ranged = tuple(ranged)

    def chunks(self) -> Iterator[slice]:
        """Yield the questions to be scored together."""
        yield slice(0, len(self.questions))

    @property
    def examples(self) -> list[tuple[str, str] | None]:
        """The example behind each question, where there is one only."""
        return [None] * len(self.questions)

    def answer(self, space: WordSpace, k: int) -> Found | None:
        """Return the answers where the solver finds them its own way; None leaves them to the search."""
        return None

    def explain(self, space: WordSpace, found: Found, rows: Rows) -> dict[str, Scores]:
        """Return the parts of the scores of a few rows, for each question: arrays of shape (questions, rows)."""
        products = _Blocks(space, self.probes).at(rows)
        return self.parts(products, found.ranges, slice(0, len(self.questions)))

    def parts(self, products: Products, ranges: Ranges, chunk: slice) -> dict[str, Scores]:
        """Return the score of every word of a block for each question of the chunk, and the parts it is made of."""
        raise NotImplementedError


@dataclass(frozen=True)
class Found:
    """The best rows of each question, best first, their scores, and the place of the best right answer.

    The rank is 0 where no right answer is in the vocabulary; rows are -1 where nothing was left to fill them.
    """

    rows: Rows
    scores: NDArray[np.float64]
    ranks: Rows
    ranges: Ranges


def search(space: WordSpace, trained: Sequence[Trained], *, k: int = 10) -> list[Found]:
    """Return the k best words of every question of each trained solver."""
    own = [one.answer(space, k) for one in trained]
    searched = iter(_search([one for one, found in zip(trained, own, strict=True) if found is None], space, k))
    return [next(searched) if found is None else found for found in own]


def _search(trained: Sequence[Trained], space: WordSpace, k: int) -> list[Found]:
    if not trained:
        return []
    blocks = _Blocks(space, _stacked(trained))
    ranged = tuple(dict.fromkeys(name for one in trained for name in one.ranged))
    ranges = blocks.ranges(ranged)
    tallies = [_Tally(one, k, blocks, ranges) for one in trained]
    for start, products in blocks:
        for tally in tallies:
            tally.add(start, products)
    return [tally.found() for tally in tallies]


def extremes(space: WordSpace, axes: NDArray[np.float64], basis: NDArray[np.float64]) -> tuple[Rows, Rows]:
    """Return the lowest and highest coordinate of the vocabulary along axes given in an orthonormal basis."""
    low, high = np.full(len(axes), np.inf), np.full(len(axes), -np.inf)
    axes = axes.astype(np.float32)
    for _, products in _Blocks(space, {"basis": basis}, keep=False):
        coordinates = axes @ products["basis"]
        np.minimum(low, coordinates.min(axis=1), out=low)
        np.maximum(high, coordinates.max(axis=1), out=high)
    return low, high


def mean_direction(space: WordSpace) -> NDArray[np.float64]:
    """Return the unit vector along the mean of the unit vectors of the vocabulary."""
    total = np.zeros(space.width)
    for start in range(0, len(space), _BLOCK):
        lengths = space.lengths[start : start + _BLOCK]
        scale = np.divide(1.0, lengths, where=lengths > 0, out=np.zeros_like(lengths))
        total += scale @ np.asarray(space.vectors[start : start + _BLOCK])
    return total / max(float(np.linalg.norm(total)), 1e-12)


def _stacked(trained: Sequence[Trained]) -> dict[str, NDArray[np.float64]]:
    return {name: probe for one in trained for name, probe in one.probes.items()}


class _Blocks:
    """The products of probes with the unit vectors of the vocabulary."""

    def __init__(self, space: WordSpace, probes: Mapping[str, NDArray[np.float64]], *, keep: bool = True) -> None:
        self.space = space
        self.names = list(probes)
        ends = np.cumsum([len(probe) for probe in probes.values()])
        self.slices = {
            name: slice(int(end) - len(probe), int(end))
            for (name, probe), end in zip(probes.items(), ends, strict=True)
        }
        self.matrix = np.vstack(list(probes.values())).astype(np.float32)
        self.scale = np.divide(1.0, space.lengths, where=space.lengths > 0, out=np.zeros_like(space.lengths))
        fits = self.matrix.shape[0] * len(space) * 4 <= _KEPT_BYTES
        self.kept: list[Scores] | None = [] if keep and fits else None

    def _named(self, product: Scores) -> Products:
        return {name: product[self.slices[name]] for name in self.names}

    def at(self, rows: Rows) -> Products:
        """Return the products with a few rows."""
        vectors = np.asarray(self.space.vectors[rows]) * self.scale[rows, None]
        return self._named(self.matrix @ vectors.T)

    def __iter__(self) -> Iterator[tuple[int, Products]]:
        for number, start in enumerate(range(0, len(self.space), _BLOCK)):
            if self.kept is not None and number < len(self.kept):
                product = self.kept[number]
            else:
                block = np.asarray(self.space.vectors[start : start + _BLOCK])
                product = self.matrix @ block.T
                product *= self.scale[start : start + _BLOCK]
                if self.kept is not None:
                    self.kept.append(product)
            yield start, self._named(product)

    def ranges(self, names: Sequence[str]) -> dict[str, tuple[Scores, Scores]]:
        """Return the lowest and highest product of each probe over the vocabulary."""
        found: dict[str, tuple[Scores, Scores]] = {}
        for _, products in self if names else ():
            for name in names:
                low, high = products[name].min(axis=1), products[name].max(axis=1)
                if name in found:
                    low, high = np.minimum(low, found[name][0]), np.maximum(high, found[name][1])
                found[name] = low, high
        return found


class _Tally:
    """The best words so far, and how many beat the best right answer."""

    def __init__(self, trained: Trained, k: int, blocks: _Blocks, ranges: Ranges) -> None:
        self.trained = trained
        self.ranges = ranges
        self.k = min(k, len(blocks.space))
        questions = trained.questions
        self.floor = np.full(len(questions), -np.inf, dtype=np.float32)  # the k-th best score so far
        self.gathered: list[tuple[Rows, Rows, Scores]] = []
        self.barred = _by_row(questions.barred)
        self.right = _by_row(questions.right)
        self.target = self._score_right(blocks)
        self.better = np.zeros(len(questions), dtype=np.int64)

    def _score_right(self, blocks: _Blocks) -> Scores:
        """Return the score of the best right answer of each question, +inf where it has none."""
        target = np.full(len(self.floor), -np.inf, dtype=np.float32)
        rows = np.unique(self.right[1])
        if len(rows):
            products = blocks.at(rows)
            places = np.searchsorted(rows, self.right[1])
            for chunk in self.trained.chunks():
                scores = self.trained.parts(products, self.ranges, chunk)["score"]
                inside = (self.right[0] >= chunk.start) & (self.right[0] < chunk.stop)
                question = self.right[0][inside]
                np.maximum.at(target, question, scores[question - chunk.start, places[inside]])
        return np.where(np.isneginf(target), np.inf, target).astype(np.float32)

    def add(self, start: int, products: Products) -> None:
        """Take in the words of a block."""
        for chunk in self.trained.chunks():
            scores = self.trained.parts(products, self.ranges, chunk)["score"]
            _bar(scores, self.barred, start, chunk)
            self._gather(scores, start, chunk)
            _bar(scores, self.right, start, chunk)
            self.better[chunk] += np.count_nonzero(scores > self.target[chunk, None], axis=1)
        if sum(len(part[0]) for part in self.gathered) > _GATHERED * self.k * len(self.floor):
            self._thin()

    def _gather(self, scores: Scores, start: int, chunk: slice) -> None:
        """Keep what may be among the k best: what reaches the k-th best score known so far."""
        width = scores.shape[1]
        if start == 0 and width > self.k:
            self.floor[chunk] = np.partition(scores, width - self.k, axis=1)[:, width - self.k]
        question, column = np.nonzero(scores >= self.floor[chunk, None])
        self.gathered.append((question + chunk.start, column + start, scores[question, column]))

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

    def found(self) -> Found:
        """Return the best rows in order: by score, then by row."""
        question, row, score, place = self._thin()
        rows = np.full((len(self.floor), self.k), -1, dtype=np.int64)
        scores = np.full((len(self.floor), self.k), -np.inf)
        listed = np.isfinite(score)
        rows[question[listed], place[listed]] = row[listed]
        scores[question[listed], place[listed]] = score[listed]
        ranks = np.where(np.isposinf(self.target), 0, self.better + 1)
        return Found(rows, scores, ranks, self.ranges)


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
    scores[question[inside] - chunk.start, row[inside] - start] = -np.inf
