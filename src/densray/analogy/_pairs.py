"""Pairs that can be asked of a space, and the folds that leave one out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from densray.analogies import AnalogyCategory, AnalogyPair, AnalogySet
from densray.analogy._fits import fold_axes, fold_logistic
from densray.analogy._products import Vocabulary
from densray.errors import TaskError, suggest
from densray.rotations import Rotation
from densray.space import WordSpace


@dataclass(frozen=True)
class UsablePair:
    """A pair with its rows in a space.

    Attributes
    ----------
    query, answer
        Rows of the query and of its first answer, the one to train on.
    right
        Rows that count as right: every listed answer in the space, less the query.
    barred
        Rows that may not answer: the query, in upper or lower case.
    words
        Query and answers in lower case: while this pair is asked under the paper's protocol, none is trained on.
    """

    pair: AnalogyPair
    query: int
    answer: int
    right: tuple[int, ...]
    barred: tuple[int, ...]
    words: frozenset[str]


@dataclass(frozen=True)
class SkippedPair:
    """A pair that could not be asked, and the reason."""

    query: str
    answer: str
    reason: str


@dataclass(frozen=True)
class UsableCategory:
    """A category as a space sees it."""

    name: str
    group: str
    pairs: tuple[UsablePair, ...]
    total: int
    skipped: tuple[SkippedPair, ...]

    def __len__(self) -> int:
        return len(self.pairs)


def case_matters(analogies: AnalogySet) -> bool:
    """Return whether a set tells upper from lower case; one in lower case throughout, such as BATS, does not."""
    return any(word != word.lower() for word in analogies.words)


def find_usable(space: WordSpace, categories: Iterable[AnalogyCategory], *, any_case: bool) -> list[UsableCategory]:
    """Return the categories with the rows of their pairs; a pair needs its query and its first answer.

    With `any_case` a word that is not in the space takes the first that equals it in lower case.
    """
    return [_usable(space, category, any_case) for category in categories]


def _usable(space: WordSpace, category: AnalogyCategory, any_case: bool) -> UsableCategory:
    pairs, skipped = [], []
    for pair in category:
        query, answer, *more = space.locate(pair.words, any_case=any_case).tolist()
        if query < 0 or answer < 0:
            missing = "query" if query < 0 else "first answer"
            skipped.append(SkippedPair(pair.query, pair.answer, f"{missing} not in the vocabulary"))
            continue
        barred = space.spellings(pair.query)
        right = {row for row in (answer, *more) if row >= 0}
        if any_case:
            right.update(row for word in pair.answers for row in space.spellings(word))
        pairs.append(
            UsablePair(
                pair,
                query,
                answer,
                right=tuple(sorted(right.difference(barred))),
                barred=tuple(barred),
                words=frozenset(word.lower() for word in pair.words),
            )
        )
    return UsableCategory(category.name, category.group, tuple(pairs), len(category), tuple(skipped))


Matrix = NDArray[np.float64]
Found = TypeVar("Found")

#: What a fold leaves out: "user" the pair that is asked, "paper" every example row that is one of its words.
BenchmarkProtocol = Literal["user", "paper"]


def checked_protocol(name: str) -> BenchmarkProtocol:
    """Return the protocol of this name."""
    if name not in get_args(BenchmarkProtocol):
        raise TaskError(f"protocol '{name}' is unknown. {suggest(name, get_args(BenchmarkProtocol))}")
    return cast("BenchmarkProtocol", name)


class Examples:
    """The rows of m pairs: m left words, then their m right words, as unit vectors.

    Every method fits on `coordinates`: the rows in an orthonormal `basis` of the space they span. A category has some
    hundred rows, so that is at most a hundred dimensions whatever the width of the vectors, and all inner products,
    hence all axes in the span, stay what they were.
    """

    def __init__(self, vocabulary: Vocabulary, pairs: Sequence[UsablePair]) -> None:
        self.vocabulary = vocabulary
        self.usable = list(pairs)
        self.rows = np.array([pair.query for pair in pairs] + [pair.answer for pair in pairs], dtype=np.int64)
        self.labels = np.repeat([-1.0, 1.0], len(pairs))
        self.words = [vocabulary.space.words[row].lower() for row in self.rows.tolist()]
        self.vectors = vocabulary.unit_rows(self.rows)

    def __len__(self) -> int:
        return len(self.rows) // 2

    @property
    def left(self) -> Matrix:
        """The vectors of the queries."""
        return self.vectors[: len(self)]

    @property
    def right(self) -> Matrix:
        """The vectors of the first answers."""
        return self.vectors[len(self) :]

    @cached_property
    def basis(self) -> Matrix:
        """Orthonormal rows that span the examples, shape (r, d); repeated examples leave some unused."""
        return np.ascontiguousarray(np.linalg.qr(self.vectors.T)[0].T)

    @cached_property
    def coordinates(self) -> Matrix:
        """The examples in the basis, shape (2 m, r)."""
        return self.vectors @ self.basis.T


class Folds:
    """What each of F questions may be trained on.

    Parameters
    ----------
    examples : Examples
    keep : bool array of shape (F, 2 m)
        The example rows that a fold may see.

    Notes
    -----
    Axes are found once for each method and kept: solvers that share a method share its axes.
    """

    def __init__(self, examples: Examples, keep: NDArray[np.bool_]) -> None:
        self.examples = examples
        self.keep = keep
        self._remembered: dict[str, Any] = {}

    @classmethod
    def leave_one_out(cls, examples: Examples, protocol: BenchmarkProtocol = "user") -> Folds:
        """Return a fold for each example pair.

        Under ``"user"`` it sees all other pairs, whatever words they share with this one: what `Solver.fit` sees when a
        user gives it all other pairs. Under ``"paper"`` it sees no row that is a word of the pair.
        """
        m = len(examples)
        if protocol == "user":
            return cls(examples, np.tile(~np.eye(m, dtype=bool), 2))
        keep = [[word not in pair.words for word in examples.words] for pair in examples.usable]
        return cls(examples, np.array(keep, dtype=bool).reshape(m, 2 * m))

    @classmethod
    def whole(cls, examples: Examples) -> Folds:
        """Return one fold that sees every example."""
        return cls(examples, np.ones((1, len(examples.words)), dtype=bool))

    def __len__(self) -> int:
        return len(self.keep)

    @cached_property
    def pair_keep(self) -> NDArray[np.bool_]:
        """The pairs of which a fold may see both words, shape (F, m)."""
        m = len(self.examples)
        return np.asarray(self.keep[:, :m] & self.keep[:, m:])

    def only(self, folds: NDArray[np.bool_]) -> Folds:
        """Return some of the folds."""
        return Folds(self.examples, self.keep[folds])

    def axes(self, rotation: str | Rotation) -> Matrix:
        """Return the unit axis of each fold, pointing to the right class, shape (F, d)."""
        return self.remember(f"axes {rotation!r}", lambda: fold_axes(self.examples, self.keep, rotation))

    def remember(self, key: str, make: Callable[[], Found]) -> Found:
        """Return what was made under this key, or make it."""
        if key not in self._remembered:
            self._remembered[key] = make()
        found: Found = self._remembered[key]
        return found

    @cached_property
    def logistic(self) -> tuple[Matrix, Matrix]:
        """Coefficients (F, d) and intercepts (F,) of the balanced logistic regression of each fold."""
        examples = self.examples
        coefficients, intercepts = fold_logistic(examples.coordinates, examples.labels, self.keep)
        return coefficients @ examples.basis, intercepts

    @cached_property
    def offsets(self) -> Matrix:
        """The mean of right minus left over the pairs a fold may see, shape (F, d)."""
        weights = self.pair_keep / np.maximum(self.pair_keep.sum(axis=1, keepdims=True), 1)
        return np.asarray(weights @ (self.examples.right - self.examples.left))
