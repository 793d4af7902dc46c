"""IntRank: a convex ranker, strictly nested, better than what it stands on."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from densray import WordSpace
from densray.analogies import AnalogySet
from densray.analogy import (
    IntRank,
    compare_categories,
    compare_paired,
    compare_solvers,
    evaluate_analogies,
    locate_categories,
    make_solver,
)
from densray.analogy._candidates import FEATURES, SPACE_FEATURES
from densray.analogy._conditional_logit import fit_conditional_logit, loss_curvature
from densray.analogy._examples import Examples, leave_one_out
from densray.analogy._intrank import prior_of
from densray.analogy._letters import SPELLING_FEATURES, ExampleSpellings
from densray.analogy._nested import NestedQuestions
from densray.analogy._products import UnitVectors
from densray.datasets import load_analogies, load_space
from densray.errors import TaskError


@pytest.fixture(scope="module")
def space() -> WordSpace:
    return load_space("googlenews-26k")


def questions(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(12, 9, 3))
    right = features @ np.array([2.0, -1.0, 0.0]) + rng.gumbel(size=(12, 9)) > 2.0
    return features, right


def test_weights_are_the_minimum_a_general_solver_finds() -> None:
    features, right = questions(0)
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
    features, right = questions(1)
    center = np.array([18.0, 0.0, 0.0])
    found = fit_conditional_logit(features, np.zeros_like(right), center=center, precision=np.ones(3))
    np.testing.assert_array_equal(found, center)


def assert_folds_are_fits(space: WordSpace, analogies: AnalogySet, places: slice) -> None:
    """Compare folds of the benchmark with a solver fitted on all other pairs."""
    result = evaluate_analogies(space, analogies, "intrank", k=5, predictions=True)
    pairs = [(one.query, one.answers) for one in result.predictions]
    for number in range(len(pairs))[places]:
        answers = IntRank(space).fit(pairs[:number] + pairs[number + 1 :]).predict(pairs[number][0], k=5)
        assert tuple(answer.word for answer in answers) == result.predictions[number].words
        np.testing.assert_allclose([answer.score for answer in answers], result.predictions[number].scores, atol=1e-3)


@pytest.mark.slow
def test_a_fold_gives_what_a_user_without_that_pair_gets(space: WordSpace) -> None:
    assert_folds_are_fits(space, load_analogies("google").subset(["family"]), slice(0, None, 8))


def test_a_fold_gives_what_a_user_gets_where_answers_repeat(space: WordSpace) -> None:
    colours = {
        "red": "blood tomato rose cherry",
        "green": "grass frog spinach",
        "white": "snow milk salt",
        "black": "coal",
    }
    pairs = [(thing, colour) for colour, things in colours.items() for thing in things.split() if thing in space]
    assert_folds_are_fits(space, AnalogySet.from_pairs(pairs), slice(0, None, 3))


@pytest.mark.slow
@pytest.mark.parametrize(
    "category", ["E09 [things - color]", "L01 [hypernyms - animals]", "L04 [meronyms - substance]"]
)
def test_every_fold_of_bats_gives_what_a_user_gets(space: WordSpace, data_folder: Path, category: str) -> None:
    bats = AnalogySet.read(data_folder / "analogies" / "bats", name="bats")
    assert_folds_are_fits(space, bats.subset([category]), slice(None))


def test_folds_of_a_user_leave_out_the_pair_and_those_of_the_paper_its_words() -> None:
    space = WordSpace(["a", "b", "c", "x", "y"], np.eye(5))
    analogies = AnalogySet.from_pairs([("a", "x"), ("b", "x"), ("c", "y")])
    examples = Examples(UnitVectors(space), locate_categories(space, analogies, any_case=False)[0])
    expected = [[0, 1, 1, 0, 1, 1], [1, 0, 1, 1, 0, 1], [1, 1, 0, 1, 1, 0]]
    np.testing.assert_array_equal(leave_one_out(examples), np.array(expected, dtype=bool))
    expected = [[0, 1, 1, 0, 0, 1], [1, 0, 1, 0, 0, 1], [1, 1, 0, 1, 1, 0]]
    np.testing.assert_array_equal(leave_one_out(examples, "paper"), np.array(expected, dtype=bool))
    with pytest.raises(TaskError, match="protocol 'papers' is unknown"):
        evaluate_analogies(space, AnalogySet.from_pairs([("a", "x"), ("b", "x")]), protocol="papers")  # type: ignore[arg-type]


def test_spelling_counts_endings_and_shared_letters() -> None:
    spellings = ExampleSpellings(["walk", "Jump", "sing"], ["walked", "jumped", "sang"])
    seen = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    found = dict(zip(SPELLING_FEATURES, spellings.describe("talk", ["Talked", "song", "t"], seen), strict=True))
    np.testing.assert_allclose(
        found["right words with the same last 2 letters"], [[2 / 3, 1 / 3, 0], [1 / 2, 1 / 2, 0]]
    )
    np.testing.assert_allclose(found["beginning shared with the query"][0], [1.0, 0.0, 0.25])
    np.testing.assert_allclose(found["unusual difference in length"][0], np.abs([2 - 4 / 3, -4 / 3, -3 - 4 / 3]))
    np.testing.assert_allclose(found["examples whose rules make it"], [[2 / 3, 0, 0], [1 / 2, 0, 0]])
    np.testing.assert_allclose(found["share of the best rule"], [[1, 0, 0], [1, 0, 0]])
    assert spellings.letters_in_common("talk", ["walks", "talking", "chalk"]).tolist() == [0.0, 4.0, 3.0]


def test_a_rule_of_spelling_finds_answers_that_no_vector_is_near_to() -> None:
    random = np.random.default_rng(0)
    words = sorted({"".join(random.choice(list("abcdefghijklmnop"), size=6)) for _ in range(4000)})
    stems = random.permutation(words)[:15].tolist()
    words += [f"{stem}est" for stem in stems]
    space = WordSpace(words, random.normal(size=(len(words), 10)))  # a quarter of all words is no neighbour of a query
    analogies = AnalogySet.from_pairs([(stem, f"{stem}est") for stem in stems])
    ours, blind = compare_solvers(space, analogies, ["intrank", "intrank-space"])
    assert ours.micro == 1.0
    assert (blind.micro or 0.0) < 0.3


def test_every_feature_has_a_prior() -> None:
    for names in (FEATURES, SPACE_FEATURES, SPACE_FEATURES[:3]):
        mean, precision = prior_of(names)
        assert mean.shape == precision.shape == (len(names),)
        assert (precision > 0).all()
        assert mean[0] > 0  # what IntCos finds likely is likely


def test_curvature_is_that_of_the_loss() -> None:
    features, right = questions(2)
    weights = np.array([0.5, -0.2, 0.1])
    center = np.zeros(3)
    start = fit_conditional_logit(features, right, center=weights, precision=np.full(3, 1e12))  # held at the weights
    np.testing.assert_allclose(start, weights, atol=1e-6)

    def loss(weights: np.ndarray) -> float:
        scores = features @ weights
        terms = [
            (np.log(np.exp(own) + np.exp(question[~answers]).sum()) - own) / answers.sum()
            for question, answers in zip(scores, right, strict=True)
            for own in question[answers]
        ]
        return float(np.sum(terms))

    step, basis = 1e-3, np.eye(3)
    slope = [(loss(weights + step * e) - 2 * loss(weights) + loss(weights - step * e)) / step**2 for e in basis]
    np.testing.assert_allclose(np.diag(loss_curvature(features, right, weights)), slope, rtol=1e-3)
    assert not loss_curvature(features, np.zeros_like(right), center).any()


def test_without_spelling_the_letters_of_the_words_do_not_matter(space: WordSpace) -> None:
    first = space.words[:4000]
    renamed = WordSpace([f"w{number}" for number in range(len(first))], space.vectors[:4000])
    plain = WordSpace(first, space.vectors[:4000])
    pairs = [(a, b) for a, b in [("man", "woman"), ("son", "daughter"), ("he", "she"), ("his", "her"), ("boy", "girl")]]
    pairs = [pair for pair in pairs if all(word in plain for word in pair)]
    codes = {word: f"w{number}" for number, word in enumerate(first)}
    ours = make_solver("intrank-space", plain).fit(pairs[:-1]).predict(pairs[-1][0], k=5)
    theirs = make_solver("intrank-space", renamed).fit([(codes[a], codes[b]) for a, b in pairs[:-1]])
    assert [codes[one.word] for one in ours] == [one.word for one in theirs.predict(codes[pairs[-1][0]], k=5)]


def test_parts_add_up_to_the_score(space: WordSpace) -> None:
    solver = IntRank(space).fit([("man", "woman"), ("father", "mother"), ("brother", "sister"), ("boy", "girl")])
    best = solver.predict("uncle", k=1)[0]
    assert best.word == "aunt"
    assert sum(best.parts.values()) == pytest.approx(best.score, abs=1e-4)
    assert solver.rank("uncle", "aunt") == 1
    assert solver.rank("uncle", "walked") > 180  # no candidate: after all of them


def test_the_memory_of_a_category_is_released_before_the_next(space: WordSpace) -> None:
    analogies = AnalogySet.from_pairs([("man", "woman"), ("son", "daughter"), ("boy", "girl"), ("king", "queen")])
    gc.collect()
    gc.disable()  # training questions are large: they must not wait for the collector
    try:
        evaluate_analogies(space, analogies, "intrank")
        assert not [one for one in gc.get_objects() if type(one) is NestedQuestions]
    finally:
        gc.enable()


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
    spread = np.sqrt(((found.gained + found.lost) / 48 - found.difference**2) / 48)
    assert found.high - found.low == pytest.approx(2 * 1.96 * spread, rel=0.08)  # of 95 %: that of 90 % is 16 % shorter
    assert found.p_value < 0.01
    same = compare_paired(first, first)
    assert (same.gained, same.lost, same.p_value) == (0, 0, 1.0)
    with pytest.raises(TaskError, match="cannot be paired"):
        compare_paired(first, evaluate_analogies(space, analogies.subset(["family"]), "similartob"))


def test_categories_are_compared_as_one_observation_each(space: WordSpace) -> None:
    analogies = load_analogies("google").subset(["family", "gram2-opposite", "gram8-plural"])
    first, second = compare_solvers(space, analogies, ["intcos-original", "similartob"])
    found = compare_categories(first, second)
    assert (found.categories, found.pairs, found.up, found.down) == (3, 81, 3, 0)
    assert found.difference == pytest.approx(compare_paired(first, second).difference)
    assert found.low <= found.difference <= found.high
    assert found.p_value == pytest.approx(0.25)  # the least that three categories can give
    assert compare_categories(first, first).p_value == 1.0
    assert compare_categories(first, second, names=["family"]).pairs == 21
    with pytest.raises(TaskError, match="cannot be paired"):
        compare_categories(first, second, at_least=1000)


@pytest.mark.slow
def test_google_loses_nothing_against_intcos(space: WordSpace) -> None:
    google = load_analogies("google")
    ranked, plain = (evaluate_analogies(space, google, solver) for solver in ("intrank", "intcos-original"))
    assert ranked.hits.sum() >= plain.hits.sum()


@pytest.mark.slow
def test_bats_gains_over_intcos_and_lrcos(space: WordSpace, data_folder: Path) -> None:
    bats = AnalogySet.read(data_folder / "analogies" / "bats", name="bats")
    ranked, vectors_only, *rivals = compare_solvers(
        space, bats, ["intrank", "intrank-space", "intcos-original", "lrcos"]
    )
    assert ranked.means(at_least=15)[0] >= 0.75
    assert vectors_only.means(at_least=15)[0] >= 0.67
    for rival in rivals:
        assert compare_categories(ranked, rival, at_least=15).low > 0.1
        assert compare_categories(vectors_only, rival, at_least=15).low > 0.05
