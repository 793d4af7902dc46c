"""A baseline without vectors: spelling rules, learned from the examples and applied to the query."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from densray._arrays import move
from densray.analogy._examples import Examples, Mask, visible_pairs
from densray.analogy._letters import SpelledWords, shared_letters
from densray.analogy._located import LocatedCategory
from densray.analogy._products import ProductBlock, UnitVectors
from densray.analogy._rules import count_votes, rules_of
from densray.analogy._scorer import Scorer, Scores
from densray.analogy._solver import Solver

Matrix = NDArray[np.float64]

_CLOSENESS = 1e-3  # weight of the closeness to the best form: it decides only if no rule does


class Spelling(Solver):
    """The answer is the word that spelling rules derive from the query: a baseline that uses no vectors.

    Every example gives rules for how its query becomes its answer: which letters change at the start, at the end or
    inside the word. These rules are applied to the query, and the score of a word is the share of the examples whose
    rules derive it. If no derived form is in the vocabulary, words that resemble the form derived most often come
    first. Case is ignored.

    What this solver answers correctly can be answered from spelling alone, so compare other solvers with it on
    inflection and derivation.

    Parameters
    ----------
    space : WordSpace
        Only its words are used.

    Examples
    --------
    >>> from densray import load_space
    >>> solver = Spelling(load_space("googlenews-26k")).fit([("walk", "walked"), ("jump", "jumped"), ("try", "tried")])
    >>> solver.predict("carry", k=1)[0].word
    'carried'
    """

    name = "spelling"

    def learn(self, examples: Examples, visible: Mask, asked: LocatedCategory) -> Scorer:
        """Apply the rules of the examples visible to each question to its query."""
        words = [word.lower() for word in examples.words]
        m = len(examples)
        rules = [rules_of(query, answer) for query, answer in zip(words[:m], words[m:], strict=True)]
        queries = [self.space.words[row].lower() for row in asked.queries.tolist()]
        forms = [
            count_votes([rules[place] for place in np.flatnonzero(mask).tolist()], query)
            for mask, query in zip(visible_pairs(visible), queries, strict=True)
        ]
        return _SpellingScorer(examples.unit, asked, queries, forms)


class _SpellingScorer(Scorer):
    """The votes for each word, and its closeness to the form with the most votes."""

    has_ties = True

    def __init__(
        self, unit: UnitVectors, asked: LocatedCategory, queries: Sequence[str], forms: Sequence[dict[str, float]]
    ) -> None:
        super().__init__(asked, {})
        self.unit = unit
        self.votes = [
            {row: share for form, share in each.items() for row in unit.space.spellings(form)} for each in forms
        ]
        best = [max(each, key=each.__getitem__, default=query) for each, query in zip(forms, queries, strict=True)]
        self.best = [SpelledWords([form]) for form in best]

    def parts(self, block: ProductBlock, questions: slice) -> dict[str, Scores]:
        words = SpelledWords([self.unit.space.words[row] for row in block.rows.tolist()])
        votes = np.zeros((questions.stop - questions.start, len(block.rows)))
        closeness = np.zeros_like(votes)
        for line, question in enumerate(range(questions.start, questions.stop)):
            for row, share in self.votes[question].items():
                votes[line, block.rows == row] = share
            closeness[line] = _closeness(self.best[question], words)
        parts = {"score": votes + _CLOSENESS * closeness, "votes": votes, "letters of the best form": closeness}
        return {name: move(values, self.unit.vectors) for name, values in parts.items()}


def _closeness(form: SpelledWords, words: SpelledWords) -> Matrix:
    """Return the share of letters that words have in common with a form, counted from both ends: 1 for the form."""
    beginning, ending = shared_letters(form, words)
    shortest, longest = np.minimum(form.lengths, words.lengths), np.maximum(form.lengths, words.lengths)
    return np.asarray(np.minimum(beginning + ending, shortest) / longest)
