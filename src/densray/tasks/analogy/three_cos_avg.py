"""3CosAvg (Drozd, Gladkova & Matsuoka 2016): the word nearest to the query plus the mean difference of the pairs."""

from __future__ import annotations

from collections.abc import Sequence

from densray.neighbors import at_unit_length
from densray.tasks.analogy.folds import Folds
from densray.tasks.analogy.products import Blocks, Vocabulary
from densray.tasks.analogy.solver import Matrix, Solver, fold_questions
from densray.tasks.analogy.trained import Found, Products, Questions, Ranges, Rows, Scores, Trained
from densray.tasks.analogy.usable import UsablePair

__all__ = ["ThreeCosAvg"]


class ThreeCosAvg(Solver):
    r"""The answer maximises :math:`\cos(v,\; b + \overline{a' - a})`.

    References
    ----------
    A. Drozd, A. Gladkova and S. Matsuoka. Word Embeddings, Analogies, and Machine Learning. COLING 2016.
    """

    name = "3cosavg"

    def train(self, folds: Folds, queries: Matrix, pairs: Sequence[UsablePair]) -> Trained:
        """Return the shifted queries as probes."""
        return _TrainedOnTargets(folds.offsets, queries, fold_questions(pairs))


class _TrainedOnTargets(Trained):
    def __init__(self, offsets: Matrix, queries: Matrix, questions: Questions) -> None:
        super().__init__({"query": queries, "target": at_unit_length(queries + offsets)}, questions)
        self.offsets = offsets

    def parts(self, products: Products, ranges: Ranges, chunk: slice) -> dict[str, Scores]:
        return {"score": products["target"] * 1.0, "cosine": products["query"]}

    def explain(self, vocabulary: Vocabulary, found: Found, rows: Rows) -> dict[str, Scores]:
        """Return the parts of the scores, the share along the mean difference among them."""
        along = Blocks(vocabulary, {"offset": self.offsets}).at(rows)["offset"]
        return {**super().explain(vocabulary, found, rows), "along the mean difference": along}
