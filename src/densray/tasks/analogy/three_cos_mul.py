"""3CosMul (Levy & Goldberg 2014): cosines multiplied, so that no single one decides."""

from __future__ import annotations

from densray.tasks.analogy.examples import ExampleSolver
from densray.tasks.analogy.solver import Matrix
from densray.tasks.analogy.trained import Scores

__all__ = ["ThreeCosMul"]

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
