r"""IntCos (Dufter & Schütze 2019, section 4): class score on the concept axis times cosine to the query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from densray.arrays import move, namespace
from densray.errors import DensRayError, suggest
from densray.rotations import METHODS, Rotation
from densray.space import WordSpace
from densray.tasks.analogy.folds import Folds
from densray.tasks.analogy.solver import Matrix, Solver, fold_questions
from densray.tasks.analogy.trained import Products, Questions, Ranges, Scores, Trained
from densray.tasks.analogy.usable import UsablePair

__all__ = ["IntCos", "class_scores", "complement_cosines"]


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
        return _TrainedIntCos(key, axes, queries, fold_questions(pairs), along)


class _TrainedIntCos(Trained):
    def __init__(self, key: str, axes: Matrix, queries: Matrix, questions: Questions, along: Matrix | None) -> None:
        super().__init__({"query": queries, key: axes}, questions, ranged=(key,))
        self.key = key
        self.along = along

    def parts(self, products: Products, ranges: Ranges, chunk: slice) -> dict[str, Scores]:
        coordinate, cosine = products[self.key], products["query"]
        if self.along is not None:
            cosine = complement_cosines(cosine, coordinate, self.along)
        class_score = class_scores(coordinate, ranges[self.key])
        return {"score": class_score * cosine, "class score": class_score, "cosine": cosine}


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
