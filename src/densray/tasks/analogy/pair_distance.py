"""PairDistance (Levy & Goldberg 2014; PairDirection in Mikolov et al. 2013): the most parallel difference."""

from __future__ import annotations

import numpy as np

from densray.tasks.analogy.examples import ExampleSolver
from densray.tasks.analogy.search import Scores
from densray.tasks.analogy.solver import Matrix

__all__ = ["PairDistance"]


class PairDistance(ExampleSolver):
    r"""The answer maximises :math:`\cos(v - b,\; a' - a)`.

    References
    ----------
    A. Drozd, A. Gladkova and S. Matsuoka. Word Embeddings, Analogies, and Machine Learning. COLING 2016.
    """

    name = "pairdistance"

    def combine(self, left: Scores, right: Scores, cosine: Scores, shifts: Matrix) -> Scores:
        """Return ((v - b)·(a' - a)) / (‖v - b‖ ‖a' - a‖), where ‖v - b‖² = 2 - 2 cos for unit vectors."""
        along, length = shifts.astype(np.float32)
        score = right - left
        score -= along[:, None]
        score /= np.sqrt(np.maximum(2.0 - 2.0 * cosine, 1e-6))
        score /= np.maximum(length, 1e-6)[:, None]
        return score
