"""IntRank: a convex ranker, strictly nested, better than what it stands on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from densray import WordSpace
from densray.analogies import AnalogySet
from densray.analogy import IntRank, compare_paired, compare_solvers, evaluate_analogies
from densray.analogy._intrank import fit_conditional_logit
from densray.datasets import load_analogies, load_space
from densray.errors import TaskError


@pytest.fixture(scope="module")
def space() -> WordSpace:
    return load_space("googlenews-26k")


def lessons(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(12, 9, 3))
    right = features @ np.array([2.0, -1.0, 0.0]) + rng.gumbel(size=(12, 9)) > 2.0
    return features, right


def test_weights_are_the_minimum_a_general_solver_finds() -> None:
    features, right = lessons(0)
    center, precision = np.array([1.0, 0.0, 0.0]), np.array([0.1, 1.0, 1.0])

    def loss(weights: np.ndarray) -> float:
        total = 0.5 * precision @ (weights - center) ** 2
        for question, answers in zip(features @ weights, right, strict=True):
            for score in question[answers]:
                rivals = np.log(np.exp(score) + np.exp(question[~answers]).sum())
                total += (rivals - score) / answers.sum()
        return float(total)

    expected = minimize(loss, np.zeros(3), options={"gtol": 1e-9}).x
    found = fit_conditional_logit(features, right, center=center, precision=precision)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found[0] > 0.5 > -0.3 > found[1]  # the direction that made the answers


def test_without_right_candidates_the_prior_stands() -> None:
    features, right = lessons(1)
    center = np.array([18.0, 0.0, 0.0])
    found = fit_conditional_logit(features, np.zeros_like(right), center=center, precision=np.ones(3))
    np.testing.assert_array_equal(found, center)


def test_a_fold_knows_what_a_user_without_that_pair_would_know(space: WordSpace) -> None:
    family = load_analogies("google").subset(["family"])
    result = evaluate_analogies(space, family, "intrank", k=5, predictions=True)
    pairs = [(pair.query, pair.answers) for pair in family["family"] if all(word in space for word in pair.words)]
    for number in (0, 8, 15):
        query = pairs[number][0]
        solver = IntRank(space).fit(pairs[:number] + pairs[number + 1 :])
        answers = solver.predict(query, k=5)
        assert tuple(answer.word for answer in answers) == result.predictions[number].words
        np.testing.assert_allclose([answer.score for answer in answers], result.predictions[number].scores, atol=1e-3)


def test_parts_add_up_to_the_score(space: WordSpace) -> None:
    solver = IntRank(space).fit([("man", "woman"), ("father", "mother"), ("brother", "sister"), ("boy", "girl")])
    best = solver.predict("uncle", k=1)[0]
    assert best.word == "aunt"
    assert sum(best.parts.values()) == pytest.approx(best.score, abs=1e-4)
    assert solver.rank("uncle", "aunt") == 1
    assert solver.rank("uncle", "walked") > 160  # no candidate: after all of them


def test_an_unknown_feature_is_named(space: WordSpace) -> None:
    with pytest.raises(TaskError, match="feature 'frequency' is unknown"):
        IntRank(space, features=["frequency"])


def test_a_tiny_vocabulary_is_ranked_too() -> None:
    rng = np.random.default_rng(0)
    left = rng.normal(size=(8, 12))
    shift = np.zeros(12)
    shift[0] = 4.0
    words = [f"l{i}" for i in range(8)] + [f"r{i}" for i in range(8)]
    space = WordSpace(words, np.vstack([left, left + shift]))
    result = evaluate_analogies(space, AnalogySet.from_pairs([(f"l{i}", f"r{i}") for i in range(8)]), "intrank")
    assert result.micro is not None
    assert result.micro > 0.7


def test_paired_comparison_counts_what_differs(space: WordSpace) -> None:
    analogies = load_analogies("google").subset(["family", "gram2-opposite"])
    first, second = compare_solvers(space, analogies, ["intcos-original", "similartob"])
    found = compare_paired(first, second)
    assert found.pairs == 48
    assert found.gained - found.lost == round(found.difference * 48)
    assert found.low < found.difference < found.high
    assert found.p_value < 0.01
    same = compare_paired(first, first)
    assert (same.gained, same.lost, same.p_value) == (0, 0, 1.0)
    with pytest.raises(TaskError, match="cannot be paired"):
        compare_paired(first, evaluate_analogies(space, analogies.subset(["family"]), "similartob"))


@pytest.mark.slow
def test_google_loses_nothing_against_intcos(space: WordSpace) -> None:
    google = load_analogies("google")
    ranked, plain = (evaluate_analogies(space, google, solver) for solver in ("intrank", "intcos-original"))
    assert ranked.hits.sum() >= plain.hits.sum() - 1


@pytest.mark.slow
def test_bats_gains_over_intcos_and_lrcos(space: WordSpace, data_folder: Path) -> None:
    bats = AnalogySet.read(data_folder / "analogies" / "bats", name="bats")
    ranked = evaluate_analogies(space, bats, "intrank")
    micro, macro = ranked.means(at_least=15)
    assert micro >= 0.60
    assert macro >= 0.575
    for rival in compare_solvers(space, bats, ["intcos-original", "lrcos"]):
        assert compare_paired(ranked, rival).low > 0.05
