"""Quality measures that a removal should not hurt: similarity, analogies, neighbours."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from densray._vocabulary import analogy_rows, nearest_rows, spread_rows
from densray.analogies import AnalogyPair, AnalogySet
from densray.datasets import SimilaritySet
from densray.debiasing._measurement import (
    Measurement,
    find_words,
    unit_vectors,
)
from densray.errors import CoverageError, TaskError
from densray.metrics import correlation_interval, mean_interval, proportion_interval, spearman
from densray.space import WordSpace, as_space


def similarity(space: WordSpace, ratings: SimilaritySet) -> Measurement:
    """Return Spearman's correlation of cosines with human ratings of word pairs.

    Pairs with a word that is not in the space are left out; their words are reported.
    """
    space = as_space(space)
    in_space = [all(word in space for word in pair) for pair in ratings.pairs]
    pairs = [pair for pair, usable in zip(ratings.pairs, in_space, strict=True) if usable]
    if len(pairs) < 3:
        raise CoverageError(
            f"{ratings.name}: {len(pairs)} of {len(ratings)} pairs are in '{space.name}'; at least 3 are needed. "
            f"Check case and language."
        )
    first, second = (unit_vectors(space, [pair[side] for pair in pairs]) for side in (0, 1))
    correlation = spearman(ratings.scores[np.array(in_space)], np.einsum("ij,ij->i", first, second))
    missing = space.absent(word for pair in ratings.pairs for word in pair)
    return Measurement(
        ratings.name,
        correlation,
        correlation_interval(correlation, len(pairs)),
        used=len(pairs),
        missing=tuple(missing),
    )


def analogy_accuracy(
    space: WordSpace, analogies: AnalogySet, *, most: int = 200, random_state: int | None = 0
) -> Measurement:
    """Return the share of “a is to b as c is to …” questions that 3CosAdd answers correctly (Mikolov et al. 2013).

    At most `most` questions per category are used, drawn once and the same for every space.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    analogies : AnalogySet
        Only pairs with both words in the space are used; every ordered pair of pairs is a question.
    most : int
        Largest number of questions per category.
    random_state : int or None
        Seed for the draw.
    """
    space = as_space(space)
    random = np.random.RandomState(random_state)
    questions = [question for category in analogies for question in _questions(space, category.pairs, most, random)]
    if not questions:
        raise CoverageError(
            f"no category of '{analogies.name}' has two pairs in '{space.name}'. Check case and language."
        )
    rows = np.array([space.locate(question) for question in questions])
    nearest, _ = analogy_rows(space.vectors, rows[:, :3], lengths=space.lengths, k=1)
    share = float(np.mean(nearest[:, 0] == rows[:, 3]))
    missing = tuple(space.absent(analogies.words))
    return Measurement("analogies", share, proportion_interval(share, len(rows)), used=len(rows), missing=missing)


def _questions(
    space: WordSpace, pairs: Iterable[AnalogyPair], most: int, random: np.random.RandomState
) -> list[tuple[str, str, str, str]]:
    usable = [(pair.query, pair.answer) for pair in pairs if pair.query in space and pair.answer in space]
    questions = [(*one, *other) for one in usable for other in usable if len({*one, *other}) == 4]
    if len(questions) <= most:
        return questions
    return [questions[place] for place in np.sort(random.choice(len(questions), most, replace=False)).tolist()]


def neighbor_overlap(
    space: WordSpace, original: WordSpace, words: Iterable[str] | None = None, *, k: int = 10, most: int = 1000
) -> Measurement:
    """Return the mean share of the k nearest neighbours that words have in common in both spaces.

    Parameters
    ----------
    space, original : WordSpace or KeyedVectors
        Two spaces with the same words.
    words : iterable of str, optional
        Default: `most` words spread evenly over the space.
    k : int
    most : int
    """
    space, original = as_space(space), as_space(original)
    if list(space.words[:5]) != list(original.words[:5]) or len(space) != len(original):
        raise TaskError(f"'{space.name}' and '{original.name}' hold different words; the same are needed.")
    if words is None:
        rows = spread_rows(len(space), most)
        missing: tuple[str, ...] = ()
    else:
        present, missing = find_words(original, words, what="words with neighbours")
        rows = original.locate(present)
    lists = [_neighbors(each, rows, k) for each in (space, original)]
    shares = np.array([len(set(now) & set(then)) / len(then) for now, then in zip(*lists, strict=True)])
    interval = mean_interval(shares, least=0.0, most=1.0)
    return Measurement("neighbour overlap", float(shares.mean()), interval, used=rows.size, missing=missing)


def _neighbors(space: WordSpace, rows: NDArray[np.int64], k: int) -> list[list[int]]:
    excluded = [rows[[place]] for place in range(rows.size)]
    nearest, _ = nearest_rows(space.vectors, space.vectors[rows], lengths=space.lengths, k=k, barred=excluded)
    neighbors: list[list[int]] = nearest.tolist()
    return neighbors
