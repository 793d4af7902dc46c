"""Example pairs as unit vectors, the axes and regressions fitted on them, and the examples visible to each question.

Visibility is a boolean array ``visible`` with a row for each of F questions and a column for
each of the 2 m example words (m left words, then their m right words).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from densray.analogy._fold_fits import fold_densray, fold_logistic, fold_rotation, fold_svm, orient_axes
from densray.analogy._located import LocatedCategory
from densray.analogy._products import UnitVectors
from densray.errors import TaskError, suggest
from densray.rotations import Rotation

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Value = TypeVar("Value")

#: Words left out while a pair is asked: "user" the pair, "paper" every example word that is a word of the pair.
BenchmarkProtocol = Literal["user", "paper"]


def checked_protocol(name: str) -> BenchmarkProtocol:
    """Return the name if it is a known protocol; otherwise raise an error."""
    if name not in get_args(BenchmarkProtocol):
        raise TaskError(f"protocol '{name}' is unknown. {suggest(name, get_args(BenchmarkProtocol))}")
    return cast("BenchmarkProtocol", name)


#: Methods whose axis depends on the width of the vectors, not only on their inner products.
_NEED_FULL_WIDTH = frozenset({"lda"})


class MeanCosines(NamedTuple):
    """Mean cosines of a category; None if it has no pair."""

    inter: float | None  # between the two words of a pair
    intra_left: float | None  # between all left words, including each word with itself
    intra_right: float | None


class Examples:
    """The pairs of a category to learn from: m left words, then their m right words, as unit vectors.

    Every method is fitted on `coordinates`: the vectors in an orthonormal `basis` of their span. A category has about a
    hundred words, so there are at most about a hundred dimensions, whatever the width of the vectors. This preserves
    inner products, and every axis in the span.

    Parameters
    ----------
    unit : UnitVectors
        The vectors of the whole vocabulary.
    category : LocatedCategory
        The pairs.
    """

    def __init__(self, unit: UnitVectors, category: LocatedCategory) -> None:
        self.unit = unit
        self.category = category
        self.rows = np.concatenate([category.queries, category.answers])
        self.labels = np.repeat([-1.0, 1.0], len(category))
        self.vectors = unit.at(self.rows)
        self._fits: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self.category)

    @property
    def words(self) -> list[str]:
        """The left words, then the right words, in the spelling of the space."""
        return [self.unit.space.words[row] for row in self.rows.tolist()]

    @property
    def left(self) -> Matrix:
        """The vectors of the queries."""
        return self.vectors[: len(self)]

    @property
    def right(self) -> Matrix:
        """The vectors of the first answers."""
        return self.vectors[len(self) :]

    @cached_property
    def offsets(self) -> Matrix:
        """Right minus left of each pair."""
        return self.right - self.left

    @cached_property
    def basis(self) -> Matrix:
        """Orthonormal rows that span the examples, shape (r, d); with repeated examples, some are unused."""
        return np.ascontiguousarray(np.linalg.qr(self.vectors.T)[0].T)

    @cached_property
    def coordinates(self) -> Matrix:
        """The examples in the basis, shape (2 m, r)."""
        return self.vectors @ self.basis.T

    def mean_cosines(self) -> MeanCosines:
        """Return the mean cosines between the words of the category."""
        if len(self) == 0:
            return MeanCosines(None, None, None)
        # The mean of a full matrix of cosines is the squared length of the mean vector.
        return MeanCosines(
            inter=float(np.einsum("ij,ij->i", self.left, self.right).mean()),
            intra_left=float(np.sum(self.left.mean(axis=0) ** 2)),
            intra_right=float(np.sum(self.right.mean(axis=0) ** 2)),
        )

    def queries_of(self, asked: LocatedCategory) -> Matrix:
        """Return the unit vectors of the queries of some pairs, shape (F, d)."""
        return self.once(("queries", asked.queries.tobytes()), lambda: self.unit.at(asked.queries))

    def once(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the value stored under a key, computed at the first call; in this way solvers share fits."""
        if key not in self._fits:
            self._fits[key] = compute()
        value: Value = self._fits[key]
        return value

    def axes(self, visible: Mask, rotation: str | Rotation) -> Matrix:
        """Return the axis of each question, fitted once for all solvers; see `fit_axes`."""
        return self.once(("axes", repr(rotation), visible.tobytes()), lambda: self.fit_axes(visible, rotation))

    def fit_axes(self, visible: Mask, rotation: str | Rotation) -> Matrix:
        """Return the unit axis of each question, which points from the left to the right words; shape (F, d).

        Each question must see words of both classes. ``"densray-unit"`` and ``"svm"`` are fitted for all questions at
        once; any other rotation is fitted question by question.
        """
        if rotation in _NEED_FULL_WIDTH or not isinstance(rotation, str):
            return fold_rotation(self.vectors, self.labels, visible, rotation)
        if rotation == "densray-unit":
            axes = fold_densray(self.coordinates, self.labels, visible, like=self.unit.vectors)
        elif rotation == "svm":
            axes = fold_svm(self.coordinates, self.labels, visible)
        else:
            return fold_rotation(self.coordinates, self.labels, visible, rotation) @ self.basis
        return orient_axes(axes, self.coordinates, self.labels, visible) @ self.basis

    def logistic(self, visible: Mask) -> tuple[Matrix, Matrix]:
        """Return coefficients (F, d) and intercepts (F,) of the balanced logistic regression of each question."""

        def fit() -> tuple[Matrix, Matrix]:
            coefficients, intercepts = fold_logistic(self.coordinates, self.labels, visible)
            return coefficients @ self.basis, intercepts

        return self.once(("logistic", visible.tobytes()), fit)

    def mean_offsets(self, visible: Mask) -> Matrix:
        """Return the mean of right minus left over the pairs visible to a question, shape (F, d)."""
        pairs = visible_pairs(visible)
        return np.asarray(pairs / np.maximum(pairs.sum(axis=1, keepdims=True), 1) @ self.offsets)


def leave_one_out(examples: Examples, protocol: BenchmarkProtocol = "user") -> Mask:
    """Return which words a solver may use while each of the m pairs is left out, shape (m, 2 m).

    Under ``"user"``, all other pairs, even if they share words with this one: the input of `Solver.fit`. Under
    ``"paper"``, every example word that is not a word of the pair, in upper or lower case.
    """
    m = len(examples)
    if protocol == "user":
        return np.tile(~np.eye(m, dtype=bool), 2)
    words = [word.lower() for word in examples.words]
    own = [{word.lower() for word in pair.words} for pair in examples.category.pairs]
    return np.array([[word not in pair for word in words] for pair in own], dtype=bool).reshape(m, 2 * m)


def all_visible(examples: Examples) -> Mask:
    """Return the mask of one question for which every example may be used, shape (1, 2 m)."""
    return np.ones((1, 2 * len(examples)), dtype=bool)


def visible_pairs(visible: Mask) -> Mask:
    """Return the pairs whose words may both be used for a question, shape (F, m)."""
    m = visible.shape[1] // 2
    return np.asarray(visible[:, :m] & visible[:, m:])
