"""Solvers that learn from all examples at once: IntCos, LRCos, 3CosAvg, and the nearest neighbour as a baseline."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from densray._arrays import move, namespace
from densray._vocabulary import unit_rows
from densray.analogy._examples import Examples, Mask
from densray.analogy._located import LocatedCategory
from densray.analogy._products import ProductBlock
from densray.analogy._scorer import Score, Scorer, Scores
from densray.analogy._solver import Solver
from densray.errors import Argument, DensRayError, suggest
from densray.rotations import METHODS, Rotation
from densray.space import WordSpace

Matrix = NDArray[np.float64]


class IntCos(Solver):
    r"""The answer is the word nearest to the query among the words of the class of the answers.

    .. math::
        \hat a = \mathrm{arg}\max_v\; \mathrm{norm}(e_v^\top q)\, \cos(e_a, e_v),

    where q is the axis from the left to the right words, and norm is min–max scaling over the vocabulary. With
    ``cosine="complement"``, the cosine is computed without the component along q.

    Parameters
    ----------
    space : WordSpace
    rotation : str or Rotation, default="densray-unit"
        The method for the axis: its name, or an unfitted rotation.
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
            raise DensRayError(Argument("cosine", cosine), " is given; 'original' or 'complement' is needed.")
        self.rotation = rotation
        self.cosine = cosine
        suffix = "" if rotation == "densray-unit" else f"-{rotation if isinstance(rotation, str) else 'rotation'}"
        self.name = f"intcos-{cosine}{suffix}"

    def learn(self, examples: Examples, visible: Mask, asked: LocatedCategory) -> Scorer:
        """Use the queries and the axes as factors."""
        queries, axes = examples.queries_of(asked), examples.axes(visible, self.rotation)
        axis = f"axis {self.rotation!r}"
        along = np.einsum("ij,ij->i", axes, queries) if self.cosine == "complement" else None

        def score(block: ProductBlock, questions: slice) -> dict[str, Scores]:
            coordinate, cosine = block.products[axis], block.products["query"]
            if along is not None:
                cosine = _complement_cosines(cosine, coordinate, along)
            class_score = _class_scores(coordinate, block.ranges[axis])
            return {"score": class_score * cosine, "class score": class_score, "cosine": cosine}

        return Scorer(asked, {"query": queries, axis: axes}, score, ranged=[axis])


def _class_scores(coordinate: Scores, extremes: tuple[Scores, Scores]) -> Scores:
    """Return coordinates scaled so that the vocabulary ranges from 0 to 1."""
    low, high = extremes
    xp = namespace(coordinate)
    width = xp.where(high > low, high - low, xp.ones_like(low))
    scaled = coordinate - low[:, None]
    scaled /= width[:, None]
    return scaled


def _complement_cosines(cosine: Scores, coordinate: Scores, along: Matrix) -> Scores:
    """Return the cosines without one axis, computed from the plain cosines by a rank-one correction.

    For unit v and a with components s = q·v and t = q·a along a unit axis: (v·a - s t) / (√(1 - s²) √(1 - t²)).
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
    r"""The answer is a word near the query that a logistic regression assigns to the class of the answers.

    .. math:: \hat a = \mathrm{arg}\max_v\; P(\text{right} \mid v)\, \cos(e_a, e_v)

    The regression is balanced between the classes, with C = 1, and is trained only on the left words (queries) and the
    right words (answers) of the examples, as in [1]_. In [2]_ there are more negatives: random words, and the left
    words several times.

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

    def learn(self, examples: Examples, visible: Mask, asked: LocatedCategory) -> Scorer:
        """Use the queries and the coefficients of the regressions as factors."""
        coefficients, intercepts = examples.logistic(visible)

        def score(block: ProductBlock, questions: slice) -> dict[str, Scores]:
            margin, cosine = block.products["logistic"], block.products["query"]
            probability = _logistic(margin + move(intercepts, margin)[:, None])
            return {"score": probability * cosine, "class score": probability, "cosine": cosine}

        return Scorer(asked, {"query": examples.queries_of(asked), "logistic": coefficients}, score)


def _logistic(margin: Scores) -> Scores:
    xp = namespace(margin)
    return expit(margin) if xp is np else 1.0 / (1.0 + xp.exp(-margin))


class ThreeCosAvg(Solver):
    r"""The answer maximises :math:`\cos(v,\; b + \overline{a' - a})`.

    References
    ----------
    A. Drozd, A. Gladkova and S. Matsuoka. Word Embeddings, Analogies, and Machine Learning. COLING 2016.
    """

    name = "3cosavg"

    def learn(self, examples: Examples, visible: Mask, asked: LocatedCategory) -> Scorer:
        """Use the shifted queries as factors."""
        queries, offsets = examples.queries_of(asked), examples.mean_offsets(visible)
        factors = {"query": queries, "target": unit_rows(queries + offsets)}
        return Scorer(asked, factors, _copy_of("target"), shown={"along the mean difference": offsets})


class SimilarToB(Solver):
    r"""The answer maximises :math:`\cos(v, b)`: a baseline that uses only the neighbourhood of the query.

    References
    ----------
    T. Linzen. Issues in Evaluating Semantic Spaces Using Word Analogies. RepEval 2016 ("only-b").
    """

    name = "similartob"

    def learn(self, examples: Examples, visible: Mask, asked: LocatedCategory) -> Scorer:
        """Use the queries as factors."""
        return Scorer(asked, {"query": examples.queries_of(asked)}, _copy_of("query"))


def _copy_of(factor: str) -> Score:
    """Return a score that is the product with one factor; a copy, because the search overwrites scores."""

    def score(block: ProductBlock, questions: slice) -> dict[str, Scores]:
        return {"score": block.products[factor] * 1.0, "cosine": block.products["query"]}

    return score
