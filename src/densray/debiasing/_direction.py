"""Bias along a direction: anchor gap, direct and indirect bias."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray._vocabulary import unit_rows
from densray.debiasing._measurement import (
    Measurement,
    find_pairs,
    find_words,
    require_words,
    unit_vectors,
)
from densray.errors import Argument, CoverageError, TaskError
from densray.metrics import mean_interval
from densray.rotations import PairDirection
from densray.space import WordSpace, as_space


@dataclass(frozen=True)
class AnchorGap(Measurement):
    """Cosines of words to two anchors; the value is the mean absolute difference of the two.

    Attributes
    ----------
    anchors : pair of str
    words : tuple of str
        The words that are in the space.
    cosines : array of shape (n, 2)
        Cosines to the first and to the second anchor.
    """

    anchors: tuple[str, str] = ("", "")
    words: tuple[str, ...] = field(default=(), repr=False)
    cosines: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 2)), repr=False)

    @property
    def gaps(self) -> NDArray[np.float64]:
        """Cosine to the first anchor minus cosine to the second."""
        return np.asarray(self.cosines[:, 0] - self.cosines[:, 1])

    def extremes(self, count: int = 5) -> list[str]:
        """Return the words nearest to the second anchor, then those nearest to the first, by ascending gap."""
        order = np.argsort(self.gaps, kind="stable").tolist()
        places = order if len(order) <= 2 * count else order[:count] + order[-count:]
        return [self.words[place] for place in places]


def anchor_gap(space: WordSpace, words: Iterable[str], anchors: tuple[str, str]) -> AnchorGap:
    """Return how much nearer words are to one anchor than to the other: mean ``|cos(w, a) - cos(w, b)|``.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    words : iterable of str
        Words that should be neutral, such as occupations; missing words are reported.
    anchors : pair of str
        Two words of the space, such as ("man", "woman").

    References
    ----------
    .. [1] P. Dufter and H. Schütze. Analytical Methods for Interpretable Ultradense Word Embeddings. EMNLP 2019.

    Examples
    --------
    >>> space = WordSpace(["man", "woman", "nurse"], [[1, 0], [0, 1], [0.6, 0.8]])
    >>> round(anchor_gap(space, ["nurse", "smith"], ("man", "woman")).value, 3)
    0.2
    """
    space = as_space(space)
    if len(anchors) != 2 or anchors[0] == anchors[1]:
        raise TaskError(Argument("anchors", anchors), " is given; two different words are needed.")
    require_words(space, anchors, what="anchors")
    present, missing = find_words(space, words, what="words to compare with the anchors")
    cosines = space.cosines(list(present), list(anchors))
    gaps = np.abs(cosines[:, 0] - cosines[:, 1])
    return AnchorGap(
        name="anchor gap",
        value=float(gaps.mean()),
        interval=mean_interval(gaps, least=0.0, most=2.0),
        used=len(present),
        missing=missing,
        anchors=anchors,
        words=present,
        cosines=cosines,
    )


Vector = NDArray[np.float64]


def pair_direction(space: WordSpace, pairs: Iterable[tuple[str, str]]) -> Vector:
    """Return the first principal component of the differences of pairs, at unit length, from unit vectors.

    References
    ----------
    .. [1] T. Bolukbasi, K.-W. Chang, J. Zou, V. Saligrama and A. Kalai. Man is to Computer Programmer as Woman is to
       Homemaker? Debiasing Word Embeddings. NeurIPS 2016.
    """
    space = as_space(space)
    usable, _ = find_pairs(space, pairs, what="pairs that define the direction")
    X = unit_vectors(space, [word for pair in usable for word in pair])
    groups = np.repeat(np.arange(len(usable)), 2)
    return np.asarray(PairDirection().fit(X, np.tile([1, -1], len(usable)), groups=groups).components_[0])


def direct_bias(
    space: WordSpace,
    words: Iterable[str],
    direction: ArrayLike,
    *,
    strictness: float = 1.0,
) -> Measurement:
    r"""Return the direct bias of words that should be neutral: mean :math:`|\cos(w, g)|^c`.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    words : iterable of str
    direction : array of shape (d,)
        The direction :math:`g`, such as the :func:`pair_direction` of the original space.
    strictness : float, default=1.0
        The exponent :math:`c`.
    """
    space = as_space(space)
    if strictness <= 0:
        raise TaskError(Argument("strictness", strictness), " is given; a number above 0 is needed.")
    present, missing = find_words(space, words, what="words for direct bias")
    values = np.abs(unit_vectors(space, present) @ _axis(direction, space)) ** strictness
    interval = mean_interval(values, least=0.0, most=1.0)
    return Measurement("direct bias", float(values.mean()), interval, used=len(present), missing=missing)


def indirect_bias(space: WordSpace, pairs: Iterable[tuple[str, str]], direction: ArrayLike) -> Measurement:
    r"""Return the share of the similarity of words that comes from a direction, averaged over pairs.

    .. math::
        \beta(w, v) = \Big( w \cdot v - \frac{w_\perp \cdot v_\perp}{\|w_\perp\| \|v_\perp\|} \Big) \Big/ w \cdot v

    over unit vectors, where :math:`w_\perp` is the part of a word orthogonal to the direction. Pairs with a similarity
    below 0.05 are left out, since their shares are not meaningful.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    pairs : iterable of pairs of str
        Words that should be neutral, such as pairs of occupations.
    direction : array of shape (d,)
    """
    space = as_space(space)
    present, missing = find_pairs(space, pairs, what="pairs for indirect bias")
    axis = _axis(direction, space)
    first, second = (unit_vectors(space, [pair[side] for pair in present]) for side in (0, 1))
    similarity = np.einsum("ij,ij->i", first, second)
    across = [unit_rows(side - np.outer(side @ axis, axis)) for side in (first, second)]
    rest = np.einsum("ij,ij->i", across[0], across[1])
    usable = np.abs(similarity) >= 0.05
    if not usable.any():
        raise CoverageError(
            f"none of {len(present)} pairs has a similarity of at least 0.05. Give pairs of related words."
        )
    shares = (similarity[usable] - rest[usable]) / similarity[usable]
    interval = mean_interval(np.abs(shares), least=0.0)
    return Measurement("indirect bias", float(np.abs(shares).mean()), interval, used=int(usable.sum()), missing=missing)


def _axis(direction: ArrayLike, space: WordSpace) -> Vector:
    axis = np.asarray(direction, dtype=np.float64)
    length = float(np.linalg.norm(axis))
    if axis.shape != (space.width,) or not length > 0:
        raise TaskError(
            f"the direction has shape {axis.shape}; {space.width} numbers, not all 0, are needed for '{space.name}'."
        )
    return axis / length
