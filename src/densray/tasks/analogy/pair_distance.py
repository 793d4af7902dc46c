"""PairDistance (Levy & Goldberg 2014; PairDirection in Mikolov et al. 2013): the most parallel difference."""

from __future__ import annotations

from densray.arrays import move, namespace
from densray.tasks.analogy.examples import ExampleSolver
from densray.tasks.analogy.solver import Matrix
from densray.tasks.analogy.trained import Scores

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
        xp = namespace(cosine)
        along, length = (move(part, cosine)[:, None] for part in shifts)
        score = right - left
        score -= along
        score /= xp.sqrt(xp.clip(2.0 - 2.0 * cosine, min=1e-6))
        score /= xp.clip(length, min=1e-6)
        return score
