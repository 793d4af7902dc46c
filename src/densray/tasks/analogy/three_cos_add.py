"""3CosAdd (Mikolov et al. 2013): the word nearest to b - a + a'."""

from __future__ import annotations

from densray.tasks.analogy.examples import ExampleSolver
from densray.tasks.analogy.solver import Matrix
from densray.tasks.analogy.trained import Scores

__all__ = ["ThreeCosAdd"]


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
