"""All measures of a concept on one space."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from densray.bias import (
    BiasedWords,
    Measurement,
    analogy_accuracy,
    anchor_gap,
    association_test,
    cluster_test,
    direct_bias,
    indirect_bias,
    most_biased,
    neighbor_overlap,
    neighbor_test,
    pair_choice,
    pair_direction,
    probe,
    recovery_test,
    sentiment_bias,
    similarity,
)
from densray.bias.measurement import find_words, unit_rows
from densray.errors import CoverageError
from densray.space import WordSpace
from densray.tasks.debiasing.concept import Concept, Pairs
from densray.tasks.steps import Advance

__all__ = ["MOST_BIASED", "Reference", "measure_space"]

MOST_BIASED = 2500  # of either side, as in Gonen & Goldberg (2019)
_CLUSTERED = 500
_TRAINED_ON = 0.2  # their 1,000 of 5,000 words
_SENTIMENT_MODELS = 20
_FOLDS = 5
_QUESTIONS = 100  # of each category of analogies
_OVERLAPPED = 500

Measure: TypeAlias = Callable[[], Measurement]


@dataclass(frozen=True)
class Reference:
    """What is fixed before anything is removed: which words are biased, along which direction, and who is alike.

    Attributes
    ----------
    space : WordSpace
        The original space.
    biased : BiasedWords
    direction : array of shape (d,)
        The direction of the pairs (of the anchors where there are none).
    alike : tuple of pairs
        Each neutral word and the neutral word nearest to it.
    count : int
        How many words of either side count as biased: at most a quarter of the space.
    """

    space: WordSpace
    biased: BiasedWords
    direction: NDArray[np.float64]
    alike: Pairs
    count: int

    @classmethod
    def of(cls, space: WordSpace, concept: Concept, *, n_biased: int = MOST_BIASED) -> Reference:
        """Return the reference of an original space."""
        neutral = find_words(space, concept.neutral, what="neutral words", minimum=3).words
        X = unit_rows(space, neutral)
        cosines = X @ X.T
        np.fill_diagonal(cosines, -np.inf)
        nearest = cosines.argmax(axis=1).tolist()
        alike = dict.fromkeys(tuple(sorted((neutral[i], neutral[j]))) for i, j in enumerate(nearest))
        biased = most_biased(space, concept.poles or concept.anchors, exclude=concept.keep)
        return cls(
            space,
            biased,
            pair_direction(space, concept.pairs or [concept.anchors]),
            tuple((pair[0], pair[1]) for pair in alike),
            max(2, min(n_biased, len(biased.words) // 4)),
        )


def measure_space(
    space: WordSpace, concept: Concept, reference: Reference, *, advance: Advance | None = None
) -> tuple[tuple[Measurement, ...], tuple[Measurement, ...]]:
    """Return what a space holds of a concept, and what it kept of everything else.

    Parameters
    ----------
    space : WordSpace
        The original, or what a remover made of it.
    concept : Concept
    reference : Reference
        Of the original space.
    advance : callable, optional
        Called with the measures done, and of how many.
    """
    removing = [*_gaps(space, concept, reference), *_lipstick(space, concept, reference), *_models(space, concept)]
    planned = [*removing, *_kept(space, concept, reference)]
    found = []
    for measure in planned:
        found.append(measure())
        if advance is not None:
            advance(len(found), len(planned))
    return tuple(found[: len(removing)]), tuple(found[len(removing) :])


def _gaps(space: WordSpace, concept: Concept, reference: Reference) -> Iterator[Measure]:
    yield partial(anchor_gap, space, concept.neutral, concept.anchors)
    yield partial(direct_bias, space, concept.neutral, reference.direction)
    indirect = partial(indirect_bias, space, reference.alike, reference.direction)
    yield _covered("indirect bias", indirect, concept.neutral, space)
    for test in concept.associations:
        groups = (test.first_target, test.second_target, test.first_attribute, test.second_attribute)
        words = (word for group in groups for word in group.words)
        yield _covered(f"WEAT {test.number}", partial(association_test, space, test), words, space)
    if concept.questions:
        asked = (word for each in concept.questions for pair in each.pairs for word in pair)
        measure = partial(pair_choice, space, concept.questions, concept.poles or concept.anchors)
        yield _covered("SemBias stereotype", measure, asked, space)


def _lipstick(space: WordSpace, concept: Concept, reference: Reference) -> Iterator[Measure]:
    count = reference.count
    n_train = max(2, round(2 * count * _TRAINED_ON))
    yield partial(cluster_test, space, reference.biased, count=min(_CLUSTERED, count))
    for kernel in ("linear", "rbf"):
        yield partial(recovery_test, space, reference.biased, kernel=kernel, count=count, n_train=n_train)
    neighbors = partial(neighbor_test, space, reference.biased, concept.neutral, k=min(100, count))
    yield _covered("neighbour correlation", neighbors, concept.neutral, space)


def _models(space: WordSpace, concept: Concept) -> Iterator[Measure]:
    probed = (concept.probed or concept.lexicon).binarized()
    labels = probed.align(space).y
    if min(int(np.sum(labels > 0)), int(np.sum(labels < 0))) >= _FOLDS:
        for model in ("linear", "nonlinear"):
            yield partial(probe, space, probed, model=model, n_folds=_FOLDS)
    if concept.identities and concept.positive and concept.negative:
        words = (concept.identities, concept.positive, concept.negative)
        measure = partial(sentiment_bias, space, *words, n_resamples=_SENTIMENT_MODELS)
        yield _covered("RNSB", measure, chain(*words), space)


def _kept(space: WordSpace, concept: Concept, reference: Reference) -> Iterator[Measure]:
    for ratings in concept.similarities:
        yield _covered(ratings.name, partial(similarity, space, ratings), chain(*ratings.pairs), space)
    if concept.analogies is not None:
        measure = partial(analogy_accuracy, space, concept.analogies, most=_QUESTIONS)
        yield _covered("analogies", measure, concept.analogies.words, space)
    yield partial(neighbor_overlap, space, reference.space, most=_OVERLAPPED)


def _covered(name: str, measure: Measure, words: Iterable[str], space: WordSpace) -> Measure:
    """Return what gives a measure, or no number, the reason and missing words where its lists are hardly there."""

    def measured() -> Measurement:
        try:
            return measure()
        except CoverageError as error:
            return Measurement(name, float("nan"), missing=tuple(space.absent(words)), reason=str(error))

    return measured
