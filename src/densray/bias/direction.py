"""Direct and indirect bias: how much of a word, or of a similarity, lies along a direction (Bolukbasi et al. 2016)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray.bias.measurement import Measurement, find_pairs, find_words, mean_interval, unit_rows
from densray.errors import CoverageError, TaskError
from densray.neighbors import at_unit_length
from densray.rotations import PairDirection
from densray.space import WordSpace

__all__ = ["direct_bias", "indirect_bias", "pair_direction"]

Vector = NDArray[np.float64]


def pair_direction(space: WordSpace, pairs: Iterable[tuple[str, str]]) -> Vector:
    """Return the first principal component of the differences of pairs, at unit length, over unit vectors.

    References
    ----------
    .. [1] T. Bolukbasi, K.-W. Chang, J. Zou, V. Saligrama and A. Kalai. Man is to Computer Programmer as Woman is to
       Homemaker? Debiasing Word Embeddings. NeurIPS 2016.
    """
    found, _ = find_pairs(space, pairs, what="pairs that define the direction")
    X = unit_rows(space, [word for pair in found for word in pair])
    groups = np.repeat(np.arange(len(found)), 2)
    return np.asarray(PairDirection().fit(X, np.tile([1, -1], len(found)), groups=groups).components_[0])


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
    space : WordSpace
    words : iterable of str
    direction : array of shape (d,)
        The direction :math:`g`, such as :func:`pair_direction` finds in the original space.
    strictness : float
        The exponent :math:`c`.
    """
    if strictness <= 0:
        raise TaskError(f"strictness={strictness} is given; a number above 0 is needed.")
    found = find_words(space, words, what="words for direct bias")
    values = np.abs(unit_rows(space, found.words) @ _axis(direction, space)) ** strictness
    interval = mean_interval(values)
    return Measurement("direct bias", float(values.mean()), interval, used=len(found), missing=found.missing)


def indirect_bias(space: WordSpace, pairs: Iterable[tuple[str, str]], direction: ArrayLike) -> Measurement:
    r"""Return the share of the similarity of words that comes from a direction, in the mean over pairs.

    .. math::
        \beta(w, v) = \Big( w \cdot v - \frac{w_\perp \cdot v_\perp}{\|w_\perp\| \|v_\perp\|} \Big) \Big/ w \cdot v

    over unit vectors, with :math:`w_\perp` the part of a word across the direction. Pairs with a similarity
    below 0.05 are left out: a share of nearly nothing says nothing.

    Parameters
    ----------
    space : WordSpace
    pairs : iterable of pairs of str
        Words that should be neutral, such as pairs of occupations.
    direction : array of shape (d,)
    """
    found, missing = find_pairs(space, pairs, what="pairs for indirect bias")
    axis = _axis(direction, space)
    first, second = (unit_rows(space, [pair[side] for pair in found]) for side in (0, 1))
    similarity = np.einsum("ij,ij->i", first, second)
    across = [at_unit_length(side - np.outer(side @ axis, axis)) for side in (first, second)]
    rest = np.einsum("ij,ij->i", across[0], across[1])
    usable = np.abs(similarity) >= 0.05
    if not usable.any():
        raise CoverageError(
            f"none of {len(found)} pairs has a similarity of at least 0.05. Give pairs of related words."
        )
    shares = (similarity[usable] - rest[usable]) / similarity[usable]
    interval = mean_interval(np.abs(shares))
    return Measurement("indirect bias", float(np.abs(shares).mean()), interval, used=int(usable.sum()), missing=missing)


def _axis(direction: ArrayLike, space: WordSpace) -> Vector:
    axis = np.asarray(direction, dtype=np.float64)
    length = float(np.linalg.norm(axis))
    if axis.shape != (space.width,) or not length > 0:
        raise TaskError(
            f"the direction has shape {axis.shape}; {space.width} numbers, not all 0, are needed for '{space.name}'."
        )
    return axis / length
