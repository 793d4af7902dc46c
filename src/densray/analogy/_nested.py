"""Training questions of IntRank: each example, asked as if its answer were unknown."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from densray._vocabulary import spread_rows
from densray.analogy._candidates import RelationModels
from densray.analogy._examples import Examples, Mask, leave_one_out, visible_pairs
from densray.analogy._located import LocatedCategory, RowNumbers
from densray.analogy._search import search
from densray.analogy._set_solvers import SimilarToB
from densray.rotations import Rotation

_NEIGHBOURS = 3000  # number of nearest words of a query among which candidates are chosen
_MOST_EXAMPLES = 100  # largest number of examples asked in the inner folds

#: The features of the candidates of one question, shape (C, K), and which candidates are correct, shape (C,).
TrainingQuestion = tuple[NDArray[np.float32], NDArray[np.bool_]]


class NestedQuestions:
    """The training questions for each held-out pair: leave-one-out within leave-one-out.

    The model that asks an example has seen neither this example nor the pair asked. Only the example itself is left
    out, whatever the protocol: words that other pairs share with it stay known, as they are for a user.

    Parameters
    ----------
    examples : Examples
    visible : bool array of shape (F, 2 m)
        The example words that may be seen while each of F pairs is asked.
    rotation : str or Rotation
        The method that finds the axis.
    spelling : bool
        Whether `SPELLING_FEATURES` describe the candidates too.

    Attributes
    ----------
    relation : RelationModels
        A model for each distinct choice of examples. Leaving out f and then j equals leaving out j and then f, so there
        are about m² / 2 of them.
    models : int array of shape (F,)
        The model of each pair asked.
    training : list of F lists of TrainingQuestion
        The training questions for the weights of each pair asked.
    """

    def __init__(self, examples: Examples, visible: Mask, rotation: str | Rotation, *, spelling: bool) -> None:
        # chosen from the visible examples, as in a `fit` on all other pairs
        fold, example = np.nonzero(_spread(visible_pairs(visible), _MOST_EXAMPLES))
        masks = np.concatenate([visible, visible[fold] & leave_one_out(examples)[example]])
        has_both = _have_both_classes(masks)
        distinct, place = np.unique(masks[has_both], axis=0, return_inverse=True)
        models = np.full(len(masks), -1)
        models[has_both] = place.ravel()
        self.relation = RelationModels(examples, distinct, rotation, spelling=spelling)
        self.models = models[: len(visible)]
        inner = np.full((len(visible), len(examples)), -1)
        inner[fold, example] = models[len(visible) :]
        self.training = self._ask_examples(examples, inner)

    def _ask_examples(self, examples: Examples, models: RowNumbers) -> list[list[TrainingQuestion]]:
        """Return the training questions of each pair; `models` (F, m) has the model that asks each example, or -1."""
        places = np.flatnonzero((models >= 0).any(axis=0))
        category = examples.category.take(places)
        near = nearest_words(examples, category)
        training: list[list[TrainingQuestion]] = [[] for _ in models]
        for number, place in enumerate(places.tolist()):
            askers = np.flatnonzero(models[:, place] >= 0)
            candidates = self.relation.describe(
                models[askers, place],
                examples.left[place],
                int(category.queries[number]),
                category.excluded[number],
                near[number],
            )
            correct = np.isin(candidates.rows, category.correct[number])
            for line, asker in enumerate(askers.tolist()):
                training[asker].append((candidates.features[line], correct[line]))
        return training


def nearest_words(examples: Examples, category: LocatedCategory) -> list[RowNumbers]:
    """Return the rows nearest to each query, from which candidates are chosen."""
    if len(category) == 0:
        return []
    scorer = SimilarToB(examples.unit.space).learn(examples, np.ones((len(category), 0), dtype=bool), category)
    return [rows[rows >= 0] for rows in search(examples.unit, [scorer], k=_NEIGHBOURS)[0].rows]


def _have_both_classes(masks: Mask) -> Mask:
    m = masks.shape[1] // 2
    return np.asarray(masks[:, :m].any(axis=1) & masks[:, m:].any(axis=1))


def _spread(allowed: Mask, most: int) -> Mask:
    """Return up to `most` of the allowed positions of each row, evenly spread."""
    selection = np.zeros_like(allowed)
    for row, places in enumerate(map(np.flatnonzero, allowed)):
        selection[row, places[spread_rows(len(places), most)]] = True
    return selection
