"""Equalised pairs: the two words of a pair differ in the concept alone, and by the same amount."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from densray.removal._erasure import Erasure
    from densray.space import WordSpace

__all__ = ["equalized"]


def equalized(space: WordSpace, erasure: Erasure, pairs: Iterable[tuple[str, str]]) -> dict[str, NDArray[np.float32]]:
    r"""Return the new vector of each word of the pairs; pairs not wholly in the space are left out.

    With the mean :math:`\mu` of a pair at unit length, the part :math:`w_B` of a word inside the removed span, and
    :math:`\nu = \mu - \mu_B`, a word becomes

    .. math::
        \nu + \sqrt{1 - \|\nu\|^2}\, \frac{w_B - \mu_B}{\|w_B - \mu_B\|},

    (Bolukbasi et al. 2016, step 2b of hard debiasing), and gets the mean length of its pair back. Any word without
    the concept is then equally near to both.
    """
    span = erasure.span
    vectors: dict[str, NDArray[np.float32]] = {}
    for pair in pairs:
        if any(word not in space for word in pair) or pair[0] == pair[1]:
            continue
        rows = space[list(pair)].astype(np.float64)
        lengths = np.linalg.norm(rows, axis=1)
        if not lengths.all():
            continue
        unit = rows / lengths[:, None]
        mean = unit.mean(axis=0)
        neutral = mean - (mean @ span.T) @ span
        inside = ((unit - mean) @ span.T) @ span
        sizes = np.linalg.norm(inside, axis=1, keepdims=True)
        apart = np.divide(inside, sizes, out=np.zeros_like(inside), where=sizes > 1e-12)
        reach = np.sqrt(max(0.0, 1.0 - float(neutral @ neutral)))
        new = (neutral + reach * apart) * lengths.mean()
        vectors.update(zip(pair, new.astype(np.float32), strict=True))
    return vectors
