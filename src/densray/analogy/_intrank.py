"""IntRank: candidates ranked by weights that are learned from the examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from densray.analogy._candidates import FEATURES, Candidates
from densray.analogy._conditional_logit import fit_conditional_logit
from densray.analogy._examples import Examples, Mask
from densray.analogy._letters import SPELLING_FEATURES
from densray.analogy._located import LocatedCategory, RowNumbers
from densray.analogy._nested import NestedQuestions, TrainingQuestion, nearest_words
from densray.analogy._products import UnitVectors
from densray.analogy._scorer import Ranking, Scorer, Scores
from densray.analogy._search import search
from densray.analogy._set_solvers import IntCos
from densray.analogy._solver import Solver
from densray.errors import TaskError, suggest
from densray.rotations import Rotation
from densray.space import WordSpace

Matrix = NDArray[np.float64]

#: Prior of the weights: mean and standard deviation of each weight over other relations.
#: ``scripts/learn_intrank_prior.py`` learned them, on `googlenews-26k`, from 16 categories of BATS and 5 of Google:
#: every other one of those with at least 15 usable pairs. The other half, for which results are reported, was not used.
#: The first table was learned before words derived by spelling rules were candidates, which changes it little.
_WITHOUT_SPELLING: Mapping[str, tuple[float, float]] = {
    "log IntCos": (0.998, 0.841),
    "unusual class score": (-0.413, 0.24),
    "unusual cosine to the query": (-3.99, 4.47),
    "cosine to the predicted answer": (11.6, 4.09),
    "cosine to the right words": (0.403, 3.62),
    "cosine to the nearest right words": (-2.4, 3.2),
    "cosine to the left words": (8.75, 3.89),
    "cosine to the nearest left words": (-3.95, 4.09),
    "mean agreement of offsets": (11.4, 6.9),
    "best agreement of offsets": (5.81, 5.31),
    "spread of the agreement of offsets": (23.5, 27.8),
    "log frequency rank": (-0.341, 0.407),
    "commonness": (-11.3, 10.3),
    "known first answer": (-3.53, 2.07),
    "known answer": (0.457, 1.5),
    "known answer of similar queries": (-1.27, 8.04),
}
_WITH_SPELLING: Mapping[str, tuple[float, float]] = {
    "log IntCos": (0.778, 0.818),
    "unusual class score": (-0.309, 0.224),
    "unusual cosine to the query": (-1.05, 4.28),
    "cosine to the predicted answer": (11.2, 4.21),
    "cosine to the right words": (2.68, 3.7),
    "cosine to the nearest right words": (-2.51, 3.12),
    "cosine to the left words": (6.03, 4.06),
    "cosine to the nearest left words": (-2.12, 4.06),
    "mean agreement of offsets": (7, 6.98),
    "best agreement of offsets": (1.17, 4.48),
    "spread of the agreement of offsets": (24.8, 26.1),
    "log frequency rank": (-0.447, 0.398),
    "commonness": (-13.3, 11.1),
    "known first answer": (-1.95, 1.95),
    "known answer": (0.755, 1.46),
    "known answer of similar queries": (1.42, 8.22),
    "right words with the same last letter": (1.49, 1.48),
    "right words with the same last 2 letters": (0.722, 1.94),
    "right words with the same last 3 letters": (1.21, 2.38),
    "right words with the same first 2 letters": (-0.705, 3.66),
    "right words with the same first 3 letters": (-6.85, 6.65),
    "beginning shared with the query": (0.339, 2.48),
    "ending shared with the query": (1.65, 2.78),
    "unusual difference in length": (-0.192, 0.216),
    "unusual share of common letters": (-2.94, 2.32),
    "examples whose rules make it": (9.29, 11.9),
    "share of the best rule": (3.29, 7.42),
}


def prior_of(features: Sequence[str]) -> tuple[Matrix, Matrix]:
    """Return the mean and the inverse variance of the prior weight of each feature."""
    table = _WITH_SPELLING if any(name in SPELLING_FEATURES for name in features) else _WITHOUT_SPELLING
    mean, deviation = np.array([table[name] for name in features]).T
    return mean, deviation**-2.0


class IntRank(Solver):
    r"""The answer is the candidate that a conditional logit, learned from the examples, ranks first.

    Every example pair is asked as if its answer were unknown: it is left out, the relation is learned from the others,
    and about 200 candidates for its query are described by `SPACE_FEATURES` (IntCos; how near a candidate is to the
    predicted answer, to the right and to the left words; how well its offset from the query agrees with those of the
    examples; frequency; whether it is an answer of other examples) and by `SPELLING_FEATURES` (endings and beginnings
    of the right words, letters shared with the query, and the number of examples with a spelling rule that derives the
    candidate, as in `Spelling`). The weights that rank the known answers highest are then applied to the candidates of
    the query. The weights have a Gaussian prior, learned once from other relations (`prior_of`).

    Parameters
    ----------
    space : WordSpace
        Words in order of frequency, as in most files of vectors.
    rotation : str or Rotation, default="densray-unit"
        The method for the axis.
    features : sequence of str, optional
        Names from `FEATURES` (default: all); "log IntCos" is always used. With `SPACE_FEATURES`, which is
        ``make_solver("intrank-space", space)``, the letters of the words are not used.

    Notes
    -----
    The method is convex and deterministic. In the benchmark the folds are strictly nested: nothing that is learned for
    a pair, including features of the examples, uses that pair. Under the protocol "user", a fold is equivalent to
    ``fit`` on all other pairs and ``predict``.

    The prior was learned on `googlenews-26k` and is expressed in its cosines; on other spaces it is an initial guess
    that the examples correct.
    """

    name = "intrank"

    def __init__(
        self,
        space: WordSpace,
        *,
        rotation: str | Rotation = "densray-unit",
        features: Sequence[str] = FEATURES,
    ) -> None:
        super().__init__(space)
        unknown = next((name for name in features if name not in FEATURES), None)
        if unknown is not None:
            raise TaskError(f"feature '{unknown}' is unknown. {suggest(unknown, FEATURES)}")
        self.rotation = rotation
        self.features = tuple(features)
        if not self.spelling:
            self.name = "intrank-space"

    @property
    def spelling(self) -> bool:
        """Whether the spelling of the words is used."""
        return any(name in SPELLING_FEATURES for name in self.features)

    def learn(self, examples: Examples, visible: Mask, asked: LocatedCategory) -> Scorer:
        """Return the rankers; they learn on the first call of `rank_words`."""
        return _RankScorer(self, examples, visible, asked)


class _RankScorer(Scorer):
    """The rankers of all pairs asked: each has its own candidates and its own weights.

    Candidates and weights exist once `rank_words` was called.
    """

    def __init__(self, solver: IntRank, examples: Examples, visible: Mask, asked: LocatedCategory) -> None:
        super().__init__(asked, {})
        self.solver, self.examples, self.visible, self.asked = solver, examples, visible, asked
        self.used = [place for place, name in enumerate(FEATURES) if place == 0 or name in solver.features]
        self.weights: list[Matrix] = []
        self.candidates: list[Candidates] = []

    def rank_words(self, unit: UnitVectors, k: int) -> Ranking:
        """Learn the weights of each pair asked, and rank its candidates."""
        rotation, spelling = self.solver.rotation, self.solver.spelling
        nested = self.examples.once(
            ("nested", repr(rotation), spelling, self.visible.tobytes()),
            lambda: NestedQuestions(self.examples, self.visible, rotation, spelling=spelling),
        )
        queries, near = self.examples.queries_of(self.asked), nearest_words(self.examples, self.asked)
        for number, row in enumerate(self.asked.queries.tolist()):
            model = nested.models[number : number + 1]
            excluded = self.asked.excluded[number]
            self.candidates.append(nested.relation.describe(model, queries[number], row, excluded, near[number]))
            self.weights.append(self._learn_weights(nested.training[number]))
        return self._ranking(unit, k)

    def _learn_weights(self, training: Sequence[TrainingQuestion]) -> Matrix:
        """Return the weights of one pair asked, for unscaled features."""
        center, precision = prior_of([FEATURES[place] for place in self.used])
        size = max((len(correct) for _, correct in training), default=0)
        # in tiny vocabularies the numbers of candidates may differ by one: use the questions with the most
        whole = [(features, correct) for features, correct in training if len(correct) == size]
        if not whole:
            return center
        features = np.stack([features[:, self.used] for features, _ in whole]).astype(np.float64)
        correct = np.stack([correct for _, correct in whole])
        return fit_conditional_logit(features, correct, center=center, precision=precision)

    def _ranking(self, unit: UnitVectors, k: int) -> Ranking:
        rows = np.full((len(self), k), -1, dtype=np.int64)
        scores = np.full((len(self), k), -np.inf)
        ranks = np.zeros(len(self), dtype=np.int64)
        # words that are not candidates come after all candidates, ordered by IntCos
        plain = IntCos(unit.space, rotation=self.solver.rotation).learn(self.examples, self.visible, self.asked)
        plain_ranks = search(unit, [plain])[0].ranks
        for number, candidates in enumerate(self.candidates):
            values = candidates.features[0][:, self.used] @ self.weights[number]
            order = np.lexsort((candidates.rows[0], -values))
            best = order[:k]
            rows[number, : len(best)] = candidates.rows[0][best]
            scores[number, : len(best)] = values[best]
            places = np.flatnonzero(np.isin(candidates.rows[0][order], self.correct[number]))
            beyond = int(plain_ranks[number])
            ranks[number] = places[0] + 1 if len(places) else (max(beyond, len(order) + 1) if beyond else 0)
        return Ranking(rows, scores, ranks, {})

    def explain(self, unit: UnitVectors, ranking: Ranking, rows: RowNumbers) -> dict[str, Scores]:
        """Return the contribution of each feature to the scores of words; NaN for words that are not candidates."""
        candidates = self.candidates[0]
        place = {row: number for number, row in enumerate(candidates.rows[0].tolist())}
        shares = np.full((len(rows), len(self.used)), np.nan)
        for number, row in enumerate(rows.tolist()):
            if row in place:
                shares[number] = candidates.features[0][place[row], self.used] * self.weights[0]
        parts = {FEATURES[one]: shares[None, :, number] for number, one in enumerate(self.used)}
        return {"score": shares.sum(axis=1)[None, :], **parts}
