"""The cosine gap: is a word nearer to one anchor than to the other? (Dufter & Schütze 2019, section 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from densray.bias.measurement import Measurement, find_words, mean_interval, require_words
from densray.errors import TaskError
from densray.space import WordSpace

__all__ = ["AnchorGap", "anchor_gap"]


@dataclass(frozen=True)
class AnchorGap(Measurement):
    """Cosines of words to two anchors; the value is the mean distance between the two.

    Attributes
    ----------
    anchors : pair of str
    words : tuple of str
        The words found.
    cosines : array of shape (n, 2)
        To the first and to the second anchor.
    """

    anchors: tuple[str, str] = ("", "")
    words: tuple[str, ...] = ()
    cosines: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 2)))

    @property
    def gaps(self) -> NDArray[np.float64]:
        """Cosine to the first anchor less cosine to the second."""
        return np.asarray(self.cosines[:, 0] - self.cosines[:, 1])

    def extremes(self, count: int = 5) -> list[str]:
        """Return the words nearest to the second anchor, then those nearest to the first, by ascending gap."""
        order = np.argsort(self.gaps, kind="stable").tolist()
        chosen = order if len(order) <= 2 * count else order[:count] + order[-count:]
        return [self.words[place] for place in chosen]


def anchor_gap(space: WordSpace, words: Iterable[str], anchors: tuple[str, str]) -> AnchorGap:
    """Return how much nearer words are to one anchor than to the other: mean ``|cos(w, a) - cos(w, b)|``.

    Parameters
    ----------
    space : WordSpace
    words : iterable of str
        Words that should be neutral, such as occupations; those not in the space are reported.
    anchors : pair of str
        Such as ("man", "woman"); both must be in the space.

    References
    ----------
    .. [1] P. Dufter and H. Schütze. Analytical Methods for Interpretable Ultradense Word Embeddings. EMNLP 2019.

    Examples
    --------
    >>> space = WordSpace(["man", "woman", "nurse"], [[1, 0], [0, 1], [0.6, 0.8]])
    >>> round(anchor_gap(space, ["nurse", "smith"], ("man", "woman")).value, 3)
    0.2
    """
    if len(anchors) != 2 or anchors[0] == anchors[1]:
        raise TaskError(f"anchors={anchors!r} is given; two different words are needed.")
    require_words(space, anchors, what="anchors")
    found = find_words(space, words, what="words to compare with the anchors")
    cosines = space.cosines(list(found.words), list(anchors))
    gaps = np.abs(cosines[:, 0] - cosines[:, 1])
    return AnchorGap(
        name="anchor gap",
        value=float(gaps.mean()),
        interval=mean_interval(gaps),
        used=len(found),
        missing=found.missing,
        anchors=anchors,
        words=found.words,
        cosines=cosines,
    )
