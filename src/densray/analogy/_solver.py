"""What a solver is: it learns from pairs and answers queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from densray._arrays import array_on, namespace
from densray.analogies import AnalogyCategory, AnalogyPair, AnalogySet
from densray.analogy._pairs import Examples, Folds, SkippedPair, UsablePair, case_matters, find_usable
from densray.analogy._products import Blocks, Products, Ranges, Rows, Vocabulary
from densray.analogy._search import Found, Questions, Scores, Trained, search
from densray.errors import AnalogyError, TaskError, name_some
from densray.space import WordSpace

Matrix = NDArray[np.float64]
Pairs = Iterable[tuple[str, str | Sequence[str]] | AnalogyPair] | AnalogyCategory


@dataclass(frozen=True)
class Answer:
    """A word, its score, the parts the score is made of, and its place among all answers; the best has 1."""

    word: str
    score: float
    parts: Mapping[str, float]
    rank: int


class Solver:
    """Base of all solvers of “a is to a' as b is to ?”, given example pairs.

    A subclass says in `train` how folds and queries become probes and scores; asking one query is a single fold that
    sees every example, the benchmark asks all folds of a category at once.

    Parameters
    ----------
    space : WordSpace
        Where answers come from; vectors are used at unit length.

    Attributes
    ----------
    skipped : tuple of SkippedPair
        Pairs that `fit` left out, with the reason.
    """

    #: What the solver is called in results.
    name: str

    #: Whether the method takes one example at a time; the benchmark then asks each query once for every other pair.
    one_example_per_question: ClassVar[bool] = False

    def __init__(self, space: WordSpace) -> None:
        self.space = space
        self.skipped: tuple[SkippedPair, ...] = ()
        self._folds: Folds | None = None

    def train(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return what is known about a category: one query (a unit vector) and one pair asked for each fold."""
        raise NotImplementedError

    def train_together(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return the same with all examples behind one question; only methods of one example differ."""
        return self.train(folds, queries, pairs)

    def fit(self, pairs: Pairs) -> Self:
        """Learn the relation from example pairs: a query and its answer each.

        Pairs with a word outside the vocabulary are left out; at least two must remain (one, where the method takes
        one example at a time).
        """
        category = _as_category(pairs)
        usable = find_usable(self.space, [category], any_case=not case_matters(AnalogySet([category])))[0]
        needed = 1 if self.one_example_per_question else 2
        if len(usable) < needed:
            missing = self.space.absent(word for pair in usable.skipped for word in (pair.query, pair.answer))
            hint = f" (missing: {name_some(missing)})" if missing else ""
            raise AnalogyError(
                f"{len(usable)} of {usable.total} pairs have both words in '{self.space.name}'{hint}; "
                f"at least {needed} are needed. Add pairs, or use a larger vocabulary."
            )
        self.skipped = usable.skipped
        self._folds = Folds.whole(Examples(Vocabulary(self.space), usable.pairs))
        return self

    def predict(self, query: str, k: int = 10) -> list[Answer]:
        """Return the k best answers to a query, best first, with their scores and the parts of them."""
        if k < 1:
            raise TaskError(f"k is {k}; it must be at least 1, the number of answers.")
        trained, found = self._ask(query, (), k=k)
        rows = found.rows[0][found.rows[0] >= 0]
        return [
            replace(answer, score=float(score))
            for answer, score in zip(self._answers(trained, found, rows), found.scores[0], strict=False)
        ]

    def explain(self, query: str, answer: str) -> Answer:
        """Return a word as an answer to a query, wherever it stands: its place, its score and the parts of it."""
        row = int(self.space.locate([answer])[0])
        if row < 0:
            raise AnalogyError(f"'{answer}' is not among the {len(self.space):,} words of '{self.space.name}'.")
        if answer.lower() == query.lower():
            raise AnalogyError(f"'{answer}' is the query itself, which is barred as an answer.")
        trained, found = self._ask(query, (row,), k=1)
        return replace(self._answers(trained, found, np.array([row]))[0], rank=int(found.ranks[0]))

    def rank(self, query: str, answer: str) -> int:
        """Return the place of a word among the answers to a query; the best has 1."""
        return self.explain(query, answer).rank

    def _answers(self, trained: Trained, found: Found, rows: Rows) -> list[Answer]:
        parts = trained.explain(Vocabulary(self.space), found, rows)
        scores = parts.pop("score")
        return [
            Answer(
                self.space.words[row],
                float(scores[0, place]),
                {name: float(values[0, place]) for name, values in parts.items()},
                place + 1,
            )
            for place, row in enumerate(rows.tolist())
        ]

    def _ask(self, query: str, right: tuple[int, ...], *, k: int) -> tuple[Trained, Found]:
        if self._folds is None:
            raise TaskError(f"{type(self).__name__} was asked before fit. Call fit(pairs) first.")
        row = int(self.space.locate([query], any_case=True)[0])
        if row < 0:
            raise AnalogyError(
                f"'{query}' is not among the {len(self.space):,} words of '{self.space.name}'. Ask for another word."
            )
        barred = tuple(self.space.spellings(query))
        pair = UsablePair(AnalogyPair(query, ("",)), row, row, right, barred, frozenset([query.lower()]))
        vocabulary = Vocabulary(self.space)
        trained = self.train_together(self._folds, vocabulary.unit_rows(np.array([row])), [pair])
        return trained, search(vocabulary, [trained], k=k)[0]


def fold_questions(pairs: Sequence[UsablePair]) -> Questions:
    """Return one question for each fold, as a method of sets asks them: only the query itself is barred."""
    return Questions(
        np.arange(len(pairs)), right=[pair.right for pair in pairs], barred=[pair.barred for pair in pairs]
    )


def _as_category(pairs: Pairs) -> AnalogyCategory:
    if isinstance(pairs, AnalogyCategory):
        return pairs
    listed = [(pair.query, pair.answers) if isinstance(pair, AnalogyPair) else pair for pair in pairs]
    return AnalogySet.from_pairs(listed).categories[0]


class ExampleSolver(Solver):
    """Base of the solvers of “a is to a' as b is to ?” with one example (a, a').

    In the benchmark every other pair is the example once, and a, a' and b are barred, as those methods were published;
    the precision of a pair is the share of its questions answered right. A user who fits several pairs gets the mean
    of the scores over them.
    """

    one_example_per_question = True

    def combine(self, left: Scores, right: Scores, cosine: Scores, shifts: Matrix) -> Scores:
        """Return scores from the cosines of the words with a, a' (a row for each example) and b (one row).

        `shifts` holds, for each example, (a' - a)·b and \\|a' - a\\|.
        """
        raise NotImplementedError

    def train(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return a question for each fold and each example it may see."""
        return TrainedOnExamples(self, folds, queries, pairs)

    def train_together(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return a question for each fold, scored by the mean over its examples."""
        return TrainedTogether(self, folds, queries, pairs)


class TrainedOnExamples(Trained):
    """A question for each fold and example."""

    def __init__(self, solver: ExampleSolver, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> None:
        self.solver = solver
        examples = folds.examples
        self.half = len(examples)
        self.pairs = [(one.pair.query, one.pair.answer) for one in examples.usable]
        self.fold, self.example = np.nonzero(folds.pair_keep)
        difference = examples.right - examples.left
        lengths = np.linalg.norm(difference, axis=1)
        self.shifts = np.stack([queries @ difference.T, np.broadcast_to(lengths, (len(queries), self.half))])
        super().__init__({"query": queries, "examples": examples.vectors}, self._questions(folds, pairs))

    def _questions(self, folds: Folds, pairs: Sequence[UsablePair]) -> Questions:
        rows = folds.examples.rows
        barred = [
            (*pairs[fold].barred, int(rows[example]), int(rows[example + self.half]))
            for fold, example in zip(self.fold.tolist(), self.example.tolist(), strict=True)
        ]
        right = [
            tuple(set(pairs[fold].right).difference(bars))
            for fold, bars in zip(self.fold.tolist(), barred, strict=True)
        ]
        return Questions(self.fold, right, barred)

    @property
    def examples(self) -> list[tuple[str, str] | None]:
        """The example behind each question."""
        return [self.pairs[example] for example in self.example.tolist()]

    def chunks(self) -> Iterator[slice]:
        """Yield the questions of one fold after the other."""
        ends = np.searchsorted(self.fold, np.arange(self.fold[-1] + 2) if len(self.fold) else [0])
        for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            if stop > start:
                yield slice(start, stop)

    def parts(self, products: Products, ranges: Ranges, chunk: slice) -> dict[str, Scores]:
        fold = int(self.fold[chunk.start])
        return self._combined(products, fold, self.example[chunk])

    def _combined(self, products: Products, fold: int, example: NDArray[np.int64]) -> dict[str, Scores]:
        known = products["examples"]
        xp = namespace(known)
        left, right = (xp.take(known, array_on(rows, known), axis=0) for rows in (example, example + self.half))
        cosine = products["query"][fold : fold + 1, :]
        score = self.solver.combine(left, right, cosine, self.shifts[:, fold, example])
        return {"score": score, "cosine": xp.broadcast_to(cosine, score.shape)}


class TrainedTogether(TrainedOnExamples):
    """A question for each fold, scored by the mean over its examples."""

    def _questions(self, folds: Folds, pairs: Sequence[UsablePair]) -> Questions:
        seen = folds.pair_keep
        rows = folds.examples.rows
        barred = []
        for pair, kept in zip(pairs, seen, strict=True):
            shown = np.concatenate([rows[: self.half][kept], rows[self.half :][kept]])
            barred.append((*pair.barred, *(shown.tolist() if kept.sum() == 1 else ())))
        return Questions(np.arange(len(pairs)), [pair.right for pair in pairs], barred)

    def chunks(self) -> Iterator[slice]:
        """Yield one question after the other."""
        for question in range(len(self.questions)):
            yield slice(question, question + 1)

    def parts(self, products: Products, ranges: Ranges, chunk: slice) -> dict[str, Scores]:
        parts = self._combined(products, chunk.start, self.example[self.fold == chunk.start])
        return {name: namespace(values).mean(values, axis=0, keepdims=True) for name, values in parts.items()}

    def explain(self, vocabulary: Vocabulary, found: Found, rows: Rows) -> dict[str, Scores]:
        """Return the parts of the scores of a few rows, and how near they are to the examples on average."""
        known = Blocks(vocabulary, self.probes).at(rows)["examples"]
        near = {
            "cosine to the right words": known[self.example + self.half],
            "cosine to the left words": known[self.example],
        }
        means = {name: values.mean(axis=0, keepdims=True) for name, values in near.items()}
        return {**super().explain(vocabulary, found, rows), **means}
