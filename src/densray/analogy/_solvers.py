"""The published solvers, and the table that names them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit

from densray._arrays import move, namespace
from densray._vocabulary import unit_rows
from densray.analogy._pairs import Folds, UsablePair
from densray.analogy._products import Products, Ranges
from densray.analogy._search import Parts, Scores, Trained
from densray.analogy._solver import ExampleSolver, Matrix, Solver, fold_questions
from densray.errors import DensRayError, TaskError, suggest
from densray.rotations import METHODS, Rotation
from densray.space import WordSpace


class IntCos(Solver):
    r"""The answer is the word of the right class that is nearest to the query.

    .. math::
        \hat a = \mathrm{arg}\max_v\; \mathrm{norm}(e_v^\top q)\, \cos(e_a, e_v),

    with q the axis from the left to the right words, and norm the min–max scaling over the vocabulary. With
    ``cosine="complement"`` the cosine is that of the vectors without their share along q.

    Parameters
    ----------
    space : WordSpace
    rotation : str or Rotation, default="densray-unit"
        What finds the axis: the name of a method, or an unfitted rotation.
    cosine : "original" or "complement", default="original"

    References
    ----------
    P. Dufter and H. Schütze. Analytical Methods for Interpretable Ultradense Word Embeddings. EMNLP 2019, section 4.

    Examples
    --------
    >>> from densray import load_space
    >>> solver = IntCos(load_space("googlenews-26k"))
    >>> pairs = [("man", "woman"), ("father", "mother"), ("brother", "sister"), ("boy", "girl")]
    >>> solver.fit(pairs).predict("uncle", k=1)[0].word
    'aunt'
    """

    def __init__(
        self,
        space: WordSpace,
        *,
        rotation: str | Rotation = "densray-unit",
        cosine: Literal["original", "complement"] = "original",
    ) -> None:
        super().__init__(space)
        if isinstance(rotation, str) and rotation not in METHODS:
            raise DensRayError(f"rotation '{rotation}' is unknown. {suggest(rotation, METHODS)}")
        if cosine not in ("original", "complement"):
            raise DensRayError(f"cosine={cosine!r} is given; 'original' or 'complement' is needed.")
        self.rotation = rotation
        self.cosine = cosine
        found_by = "" if rotation == "densray-unit" else f"-{rotation if isinstance(rotation, str) else 'rotation'}"
        self.name = f"intcos-{cosine}{found_by}"

    def train(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return the axes and the queries as probes."""
        axes = folds.axes(self.rotation)
        key = f"axis {self.rotation!r}"
        along = np.einsum("ij,ij->i", axes, queries) if self.cosine == "complement" else None

        def score(products: Products, ranges: Ranges, chunk: slice) -> dict[str, Scores]:
            coordinate, cosine = products[key], products["query"]
            if along is not None:
                cosine = complement_cosines(cosine, coordinate, along)
            class_score = class_scores(coordinate, ranges[key])
            return {"score": class_score * cosine, "class score": class_score, "cosine": cosine}

        return Trained({"query": queries, key: axes}, fold_questions(pairs), score, ranged=(key,))


def class_scores(coordinate: Scores, extremes: tuple[Scores, Scores]) -> Scores:
    """Return coordinates scaled so that the vocabulary lies between 0 and 1."""
    low, high = extremes
    xp = namespace(coordinate)
    width = xp.where(high > low, high - low, xp.ones_like(low))
    scaled = coordinate - low[:, None]
    scaled /= width[:, None]
    return scaled


def complement_cosines(cosine: Scores, coordinate: Scores, along: Matrix) -> Scores:
    """Return the cosines without one axis, from the plain ones by a rank-one correction.

    For unit v and a with shares s = q·v and t = q·a along a unit axis: (v·a - s t) / (√(1 - s²) √(1 - t²)).
    """
    xp = namespace(cosine)
    corrected = coordinate * -move(along, cosine)[:, None]
    corrected += cosine
    rest = coordinate * coordinate
    rest *= -1.0
    rest += 1.0
    rest = xp.sqrt(xp.clip(rest, min=1e-7))
    rest *= move(np.sqrt(np.maximum(1.0 - along**2, 1e-7)), cosine)[:, None]
    corrected /= rest
    return corrected


class LRCos(Solver):
    r"""The answer is the word a logistic regression takes for one of the right class, near the query.

    .. math:: \hat a = \mathrm{arg}\max_v\; P(\text{right} \mid v)\, \cos(e_a, e_v)

    The regression is balanced between the classes, with C = 1, and knows the left and right words of the examples only,
    as in [1]_. That of [2]_ has more negatives: random words, and the left words several times.

    Parameters
    ----------
    space : WordSpace

    References
    ----------
    .. [1] P. Dufter and H. Schütze. Analytical Methods for Interpretable Ultradense Word Embeddings. EMNLP 2019.
    .. [2] A. Drozd, A. Gladkova and S. Matsuoka. Word Embeddings, Analogies, and Machine Learning: Beyond king - man +
       woman = queen. COLING 2016.
    """

    name = "lrcos"

    def train(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return the coefficients and the queries as probes."""
        coefficients, intercepts = folds.logistic

        def score(products: Products, ranges: Ranges, chunk: slice) -> dict[str, Scores]:
            margin, cosine = products["logistic"], products["query"]
            probability = _logistic(margin + move(intercepts, margin)[:, None])
            return {"score": probability * cosine, "class score": probability, "cosine": cosine}

        return Trained({"query": queries, "logistic": coefficients}, fold_questions(pairs), score)


def _logistic(margin: Scores) -> Scores:
    xp = namespace(margin)
    return expit(margin) if xp is np else 1.0 / (1.0 + xp.exp(-margin))


class ThreeCosAdd(ExampleSolver):
    r"""The answer maximises :math:`\cos(v, b) - \cos(v, a) + \cos(v, a')`.

    References
    ----------
    T. Mikolov, W. Yih and G. Zweig. Linguistic Regularities in Continuous Space Word Representations. NAACL 2013.
    """

    name = "3cosadd"

    def combine(self, left: Scores, right: Scores, cosine: Scores, shifts: Matrix) -> Scores:
        """Return the sum of three cosines."""
        score = right - left
        score += cosine
        return score


_EPSILON = 0.001


class ThreeCosMul(ExampleSolver):
    r"""The answer maximises :math:`\cos(v, b)\, \cos(v, a') / (\cos(v, a) + \varepsilon)`.

    Cosines are shifted to lie between 0 and 1; ε = 0.001.

    References
    ----------
    O. Levy and Y. Goldberg. Linguistic Regularities in Sparse and Explicit Word Representations. CoNLL 2014, eq. 4.
    """

    name = "3cosmul"

    def combine(self, left: Scores, right: Scores, cosine: Scores, shifts: Matrix) -> Scores:
        """Return the product of two shifted cosines over the third."""
        score = right + 1.0
        score *= (cosine + 1.0) / 2.0
        score /= left + (1.0 + 2.0 * _EPSILON)
        return score


class ThreeCosAvg(Solver):
    r"""The answer maximises :math:`\cos(v,\; b + \overline{a' - a})`.

    References
    ----------
    A. Drozd, A. Gladkova and S. Matsuoka. Word Embeddings, Analogies, and Machine Learning. COLING 2016.
    """

    name = "3cosavg"

    def train(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return the shifted queries as probes."""
        probes = {"query": queries, "target": unit_rows(queries + folds.offsets)}
        shown = {"along the mean difference": folds.offsets}
        return Trained(probes, fold_questions(pairs), _copy_of("target"), shown=shown)


class PairDistance(ExampleSolver):
    r"""The answer maximises :math:`\cos(v - b,\; a' - a)`.

    References
    ----------
    A. Drozd, A. Gladkova and S. Matsuoka. Word Embeddings, Analogies, and Machine Learning. COLING 2016.
    """

    name = "pairdistance"

    def combine(self, left: Scores, right: Scores, cosine: Scores, shifts: Matrix) -> Scores:
        """Return ((v - b)·(a' - a)) / (‖v - b‖ ‖a' - a‖), where ‖v - b‖² = 2 - 2 cos for unit vectors."""
        xp = namespace(cosine)
        along, length = (move(part, cosine)[:, None] for part in shifts)
        score = right - left
        score -= along
        score /= xp.sqrt(xp.clip(2.0 - 2.0 * cosine, min=1e-6))
        score /= xp.clip(length, min=1e-6)
        return score


class SimilarToB(Solver):
    r"""The answer maximises :math:`\cos(v, b)`: what a category owes to neighbourhood alone.

    References
    ----------
    T. Linzen. Issues in Evaluating Semantic Spaces Using Word Analogies. RepEval 2016 ("only-b").
    """

    name = "similartob"

    def train(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return the queries as probes."""
        return Trained({"query": queries}, fold_questions(pairs), _copy_of("query"))


def _copy_of(probe: str) -> Parts:
    """Return a score that is the product with one probe; a copy, because the search overwrites scores."""

    def score(products: Products, ranges: Ranges, chunk: slice) -> dict[str, Scores]:
        return {"score": products[probe] * 1.0, "cosine": products["query"]}

    return score


@dataclass(frozen=True)
class NamedSolver:
    """A solver by name.

    Attributes
    ----------
    name, summary : str
    make : callable
        Returns the solver of a space.
    rotation : str
        What it finds its axis with, empty where it has none.
    slow_from : int
        Number of pairs from which on learning takes more than a second.
    """

    name: str
    summary: str
    make: Callable[..., Solver]
    rotation: str = ""
    slow_from: int = 200


def _original(space: WordSpace, rotation: str | Rotation = "densray-unit") -> Solver:
    return IntCos(space, rotation=rotation, cosine="original")


def _complement(space: WordSpace, rotation: str | Rotation = "densray-unit") -> Solver:
    return IntCos(space, rotation=rotation, cosine="complement")


def _intrank(space: WordSpace, rotation: str | Rotation = "densray-unit") -> Solver:
    from densray.analogy._intrank import IntRank  # which is built on the solvers above

    return IntRank(space, rotation=rotation)


def _intrank_of_vectors(space: WordSpace, rotation: str | Rotation = "densray-unit") -> Solver:
    from densray.analogy._candidates import SPACE_FEATURES
    from densray.analogy._intrank import IntRank

    return IntRank(space, rotation=rotation, features=SPACE_FEATURES)


_ALL = (
    NamedSolver("intcos-original", "class score on the axis times cosine to the query", _original, "densray-unit"),
    NamedSolver("intcos-complement", "the same, with the cosine off the axis", _complement, "densray-unit"),
    NamedSolver("lrcos", "probability of a logistic regression times cosine to the query", LRCos),
    NamedSolver("intrank", "a ranker of vectors and spelling, learned from the examples", _intrank, "densray-unit", 20),
    NamedSolver("intrank-space", "the same, of vectors alone", _intrank_of_vectors, "densray-unit", 20),
    NamedSolver("3cosadd", "nearest to b - a + a', one example at a time", ThreeCosAdd),
    NamedSolver("3cosmul", "cosines multiplied, one example at a time", ThreeCosMul),
    NamedSolver("3cosavg", "nearest to the query plus the mean difference of the pairs", ThreeCosAvg),
    NamedSolver("pairdistance", "most parallel difference, one example at a time", PairDistance),
    NamedSolver("similartob", "nearest neighbour of the query, examples ignored", SimilarToB),
)

#: Every solver by its name.
SOLVERS: dict[str, NamedSolver] = {solver.name: solver for solver in _ALL}


def make_solver(name: str, space: WordSpace, *, rotation: str | Rotation | None = None) -> Solver:
    """Return a solver by its name.

    Parameters
    ----------
    name : str
    space : WordSpace
    rotation : str or Rotation, optional
        What finds the axis, for solvers that have one; by default DensRay with unit-length differences.
    """
    if name not in SOLVERS:
        raise TaskError(f"solver '{name}' is unknown. {suggest(name, SOLVERS)}")
    solver = SOLVERS[name]
    if rotation is None:
        return solver.make(space)
    if not solver.rotation:
        raise TaskError(f"rotation={rotation!r} was given, but '{name}' has no axis to find. Leave it out.")
    return solver.make(space, rotation=rotation)
