"""What removal may cost is measured: similarity, analogies and neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from densray import WordSpace
from densray.analogies import AnalogySet
from densray.datasets import SimilaritySet, load_analogies, load_similarity, load_space
from densray.debiasing import analogy_accuracy, neighbor_overlap, similarity
from densray.errors import TaskError


@pytest.fixture(scope="module")
def google() -> WordSpace:
    return load_space("googlenews-26k")


def scrambled(space: WordSpace) -> WordSpace:
    """The control: the same vectors given to other words."""
    order = np.random.default_rng(0).permutation(len(space))
    return WordSpace(space.words, space.vectors[order])


def test_similarity_equals_scipy_over_the_pairs_found(google: WordSpace) -> None:
    ratings = load_similarity("men")
    found = similarity(google, ratings)
    known = [i for i, pair in enumerate(ratings.pairs) if all(word in google for word in pair)]
    cosines = [google.cosine(*ratings.pairs[i]) for i in known]
    assert found.used == len(known)
    assert found.value == pytest.approx(spearmanr(cosines, ratings.scores[known]).statistic)
    assert found.value == pytest.approx(0.782, abs=0.001)  # GoogleNews on MEN: 0.78 in the literature
    assert abs(similarity(scrambled(google), ratings).value) < 0.1


def test_similarity_without_known_pairs_is_an_error() -> None:
    space = WordSpace(["a", "b"], [[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(TaskError, match="0 of 1 pairs"):
        similarity(space, SimilaritySet("mine", (("x", "y"),), np.array([1.0])))


def test_analogies_equal_asking_the_space_one_by_one(google: WordSpace) -> None:
    family = load_analogies("google").subset(["family"])
    few = google.limit(8000)
    found = analogy_accuracy(few, family, most=40)
    pairs = [(pair.query, pair.answer) for pair in family["family"] if pair.query in few and pair.answer in few]
    asked = [(*one, *other) for one in pairs for other in pairs if len({*one, *other}) == 4]
    chosen = np.sort(np.random.RandomState(0).choice(len(asked), 40, replace=False))
    right = [few.analogy(*asked[i][:3], k=1)[0][0] == asked[i][3] for i in chosen]
    assert found.used == 40
    assert found.value == pytest.approx(np.mean(right))
    assert found.value > 0.6
    assert analogy_accuracy(scrambled(few), family, most=40).value < 0.1


def test_analogies_without_two_known_pairs_are_an_error(google: WordSpace) -> None:
    with pytest.raises(TaskError, match="two pairs"):
        analogy_accuracy(google, AnalogySet.from_pairs([("xx", "yy"), ("zz", "ww")]))


def test_neighbours_overlap_wholly_with_themselves_and_hardly_with_a_scrambled_space(google: WordSpace) -> None:
    few = google.limit(3000)
    assert neighbor_overlap(few, few, most=100).value == 1.0
    assert neighbor_overlap(scrambled(few), few, most=100).value < 0.05
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(few.width, few.width)))
    turned = few.with_vectors(few.vectors @ rotation.astype(np.float32))
    assert neighbor_overlap(turned, few, most=100).value > 0.999
    with pytest.raises(TaskError, match="different words"):
        neighbor_overlap(few, google)
