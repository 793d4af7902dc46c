"""Diagnostics of an axis: closed forms equal refits, chance looks like chance, and the verdict follows its rule."""

from __future__ import annotations

import json
import math
from io import StringIO
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console
from scipy.stats import kstest
from sklearn.linear_model import Ridge

from densray import Lexicon, WordSpace, load_space
from densray.alignment import Alignment
from densray.axes import Diagnosis, diagnose
from densray.axes._diagnosis import judge, seeds_wanted
from densray.axes._evidence import near_misses, pair_consistency
from densray.axes._influence import leave_one_out_axes, top_axes
from densray.axes._options import AxisOptions
from densray.axes._permutation import permutation_test
from densray.axes._resampling import held_out_scores, stratified_folds
from densray.axes._scoring import induce
from densray.datasets import load_lexicon
from densray.errors import LexiconError, TaskError
from densray.figures import seed_influence
from densray.report import to_json, to_terminal
from densray.rotations import METHODS, DensRay, Rotation, make_rotation
from planted import planted_seeds, planted_space


def left_out(seeds: Alignment, row: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    others = np.delete(np.arange(seeds.n_words), row)
    return seeds.X[others].astype(np.float64), seeds.y[others]


def without_each(rotation: Rotation, seeds: Alignment) -> NDArray[np.float64]:
    return leave_one_out_axes(rotation, seeds, first=np.arange(seeds.n_words), max_refits=10**6)


@pytest.mark.filterwarnings("ignore:n_components")
@pytest.mark.parametrize(("n", "width"), [(40, 8), (24, 50)])
@pytest.mark.parametrize("share", [0.5, 0.3])
@pytest.mark.parametrize(
    "rotation",
    [DensRay(1), DensRay(1, weights=(0.5, 0.5)), DensRay(1, weights=(1.0, 0.2)), make_rotation("mean-difference")],
    ids=["balanced", "equal", "unlike", "mean-difference"],
)
def test_leave_one_out_in_closed_form_equals_refitting(rotation: Rotation, share: float, n: int, width: int) -> None:
    seeds = planted_seeds(n, width, share=share, strength=0.7)
    rotation.fit(seeds.X, seeds.y)
    for row, axis in enumerate(without_each(rotation, seeds)):
        np.testing.assert_allclose(axis, rotation.fit(*left_out(seeds, row)).components_[0], atol=1e-9)


@pytest.mark.parametrize("method", ["densray", "mean-difference", "densray-unit", "svr"])
def test_leave_one_out_of_scores_equals_refitting(method: str) -> None:
    seeds = planted_seeds(30, 6, scores=True)
    rotation = make_rotation(method).fit(seeds.X, seeds.y)
    for row, axis in enumerate(without_each(rotation, seeds)):
        expected = make_rotation(method).fit(*left_out(seeds, row)).components_[0]
        np.testing.assert_allclose(axis, expected, atol=1e-5)


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize(("n", "width"), [(40, 8), (24, 50)])
def test_leave_one_out_of_ridge_equals_refitting_at_its_penalty(scores: bool, n: int, width: int) -> None:
    seeds = planted_seeds(n, width, share=0.4, scores=scores)
    rotation = make_rotation("ridge").fit(seeds.X, seeds.y)
    for row, axis in enumerate(without_each(rotation, seeds)):
        expected = Ridge(rotation.penalty_).fit(*left_out(seeds, row)).coef_
        np.testing.assert_allclose(axis, expected / np.linalg.norm(expected), atol=1e-9)


@pytest.mark.parametrize("gains", [(2.0, 1.0), (2.0, -1.0), (0.3, -4.0), (1.0, 0.0)])
def test_rank_two_updates_find_the_first_eigenvector(gains: tuple[float, float]) -> None:
    random = np.random.default_rng(0)
    base = random.normal(size=(7, 7))
    base = base + base.T
    first, second = random.normal(size=(2, 20, 7))
    for v, w, axis in zip(first, second, top_axes(base, (first, second), gains), strict=True):
        _, vectors = np.linalg.eigh(base + gains[0] * np.outer(v, v) + gains[1] * np.outer(w, w))
        assert abs(axis @ vectors[:, -1]) == pytest.approx(1.0, abs=1e-10)


def test_a_mislabelled_seed_is_found_by_the_others() -> None:
    seeds = planted_seeds(80, 6, strength=3.0)
    labels = dict(zip(seeds.words, seeds.y.tolist(), strict=True))
    labels["word3"] = -labels["word3"]
    space = WordSpace(seeds.words, seeds.X)
    for method in ("ridge", "densray", "mean-difference", "svm"):
        found = diagnose(space, Lexicon(labels), method=method, normalize=False, n_permutations=19, n_resamples=20)
        assert found.contradictions[0]["word"] == "word3"
        assert found.contradictions[0]["agreement"] < 0.05


def test_refits_are_capped_and_said() -> None:
    space, lexicon = planted_space(200)
    found = diagnose(space, lexicon, method="svm", max_refits=7, n_permutations=9, n_resamples=5)
    assert found.influence == "leave-one-out, refits of 7 of 100 seeds"
    assert len(found.influential) == 7
    assert len(found.seeds) == 100
    assert seed_influence(found.influential) is not None


@pytest.mark.parametrize("method", ["ridge", "mean-difference"])
def test_permutation_p_is_uniform_under_chance(method: str) -> None:
    values = []
    for seed in range(120):
        seeds = planted_seeds(24, 10, strength=0.0, seed=seed)
        rotation = make_rotation(method).fit(seeds.X, seeds.y)
        values.append(permutation_test(rotation, seeds, n_permutations=99, random=np.random.default_rng(seed)).p_value)
    assert kstest(values, "uniform").pvalue > 0.01
    assert np.mean(np.array(values) <= 0.05) <= 0.10


def test_permutation_p_by_refits_is_uniform_under_chance_and_small_for_a_concept() -> None:
    values = []
    for seed in range(40):
        seeds = planted_seeds(24, 5, share=0.4, strength=0.0, seed=seed)
        rotation = make_rotation("densray").fit(seeds.X, seeds.y)
        values.append(permutation_test(rotation, seeds, n_permutations=19, random=np.random.default_rng(seed)).p_value)
    assert kstest(values, "uniform").pvalue > 0.01
    planted = planted_seeds(60, 5, share=0.4, strength=2.0)
    rotation = make_rotation("densray").fit(planted.X, planted.y)
    assert permutation_test(rotation, planted, n_permutations=99, random=np.random.default_rng(0)).p_value == 0.01


def test_held_out_scores_know_nothing_of_their_words() -> None:
    """With random labels in many dimensions an axis tells its own words apart perfectly, and others not at all."""
    seeds = planted_seeds(60, 100, strength=0.0)
    rotation = make_rotation("ridge").fit(seeds.X, seeds.y)
    folds = stratified_folds(seeds, 10, np.random.default_rng(0))
    held_out = held_out_scores(rotation, seeds, folds)[:, 0]
    assert abs(np.corrcoef(held_out, seeds.y)[0, 1]) < 0.35
    assert np.corrcoef(seeds.X @ rotation.components_[0], seeds.y)[0, 1] > 0.6


def test_folds_keep_shares_of_classes_and_scores() -> None:
    seeds = planted_seeds(50, 3, share=0.2)
    folds = stratified_folds(seeds, 5, np.random.default_rng(0))
    assert all(np.sum((folds == fold) & (seeds.y > 0)) == 2 for fold in range(5))
    scored = planted_seeds(50, 3, scores=True)
    folds = stratified_folds(scored, 5, np.random.default_rng(0))
    assert np.bincount(folds).tolist() == [10] * 5
    assert max(abs(np.mean(scored.y[folds == fold]) - scored.y.mean()) for fold in range(5)) < 0.25


def test_near_misses_name_case_joint_accent_and_slips() -> None:
    words = ["Paris", "well_known", "naive", "accessible", "great", "abuse"]
    space = WordSpace(words, np.eye(6))
    found = near_misses(["paris", "well-known", "naïve", "accessable", "zzzzzzzz", "amuse"], space)
    assert [(miss.found, miss.difference) for miss in found] == [
        ("Paris", "case"), ("well_known", "joint"), ("naive", "accent"), ("accessible", "one letter"),
    ]  # fmt: skip


def test_looking_for_near_misses_is_bounded_whatever_is_typed() -> None:
    asked = []

    class Watched(WordSpace):
        def locate(self, words, *, any_case=False):  # type: ignore[no-untyped-def]
            asked.append(len(words))
            return super().locate(words, any_case=any_case)

    space = Watched(["great"], np.eye(1))
    near_misses(["a" * 6_000, "word " * 1_000], space)
    assert sum(asked) < 100
    asked.clear()
    near_misses(["".join(chr(0x4E00 + 20 * number + place) for place in range(20)) for number in range(100)], space)
    assert sum(asked) < 100 * 6_000  # of two thousand letters, some at each of twenty places


def test_seeds_in_another_case_are_pointed_out_and_found_on_demand() -> None:
    space, lexicon = planted_space()
    shouted = Lexicon({word.upper() if row % 2 else word: label for row, (word, label) in enumerate(lexicon.items())})
    found = diagnose(space, shouted)
    assert found.coverage == 0.5
    assert "100 of them differ in case only" in found.tables()[-1].notes[0]
    assert diagnose(space, shouted, any_case=True).n_seeds == 200


def test_parallel_pairs_are_consistent_and_random_ones_are_not() -> None:
    random = np.random.default_rng(0)
    low = random.normal(size=(20, 30))
    step = 4.0 * np.eye(30)[0]
    words = [f"{side}{row}" for side in "ab" for row in range(20)]
    pairs = [(f"a{row}", f"b{row}") for row in range(20)]
    options = AxisOptions(normalize=False)
    parallel = WordSpace(words, np.vstack([low + step + 0.1 * random.normal(size=low.shape), low]))
    found = pair_consistency(pairs, parallel, np.eye(30)[0], options)
    assert found.parallelism > 0.95
    assert (found.alignment > 0.95, found.ordered) == (True, 1.0)
    chance = pair_consistency(pairs, WordSpace(words, random.normal(size=(40, 30))), np.eye(30)[0], options)
    assert abs(chance.parallelism) < 0.1
    differences = parallel.vectors[:20] - parallel.vectors[20:]
    unit = differences / np.linalg.norm(differences, axis=1, keepdims=True)
    expected = (unit @ unit.T)[np.triu_indices(20, 1)].mean()  # PairDir by its definition
    assert found.parallelism == pytest.approx(expected, abs=1e-5)
    with pytest.raises(LexiconError, match="0 of 1 pairs"):
        pair_consistency([("x", "y")], parallel, np.eye(30)[0], options)


GOOD = {"auc": 0.95, "auc_low": 0.9, "auc_high": 0.97, "p_value": 0.001, "reliability": 0.9, "seed_angle": 10.0,
        "n_high": 7, "n_low": 7}  # fmt: skip


@pytest.mark.parametrize(
    ("figures", "grade", "limits"),
    [
        ({}, "good", 0),
        ({"p_value": 0.06}, "none", 1),
        ({"auc_low": 0.75}, "fair", 1),
        ({"reliability": 0.5}, "weak", 1),
        ({"reliability": 0.5, "auc_low": 0.5}, "weak", 2),
        ({"auc": 0.15, "auc_low": 0.1, "auc_high": 0.2, "p_value": 1.0}, "none", 1),
    ],
)
def test_the_worst_answer_gives_the_verdict(figures: dict[str, float], grade: str, limits: int) -> None:
    verdict = judge(**{**GOOD, **figures})
    assert verdict.grade == grade
    assert len(verdict.limits) == limits
    assert verdict.line.startswith(f"Trust: {grade}")
    assert verdict.sentence.startswith(f"Trust: {grade}: 14 seeds; ")


@pytest.mark.parametrize(
    ("figures", "advice"),
    [
        ({"reliability": 0.6}, "add about 10 more"),  # 0.7 takes 14/9 of the seeds: 8 more
        ({"reliability": 0.75, "n_high": 3, "n_low": 11}, "add about 10 more, first at the high end"),
        ({"reliability": 0.5, "n_high": 60, "n_low": 60}, "add about 200 more"),
        ({"reliability": 0.1}, "add about 10 more"),  # so few do not say that more would not do
        ({"reliability": 0.1, "n_high": 20, "n_low": 20}, "more words like them would not do"),
        ({"p_value": 0.2}, "shuffled labels do as well; add about 10 more"),
        ({"p_value": 0.2, "n_high": 20, "n_low": 20}, "choose words that differ in nothing else"),
        ({"auc": 0.6, "auc_low": 0.45}, "it may order unseen words no better than chance"),
        ({"reliability": 0.6, "contradicting": ["a"]}, "more; “a” pulls the other way."),
        ({"reliability": 0.6, "contradicting": ["a", "b"]}, "“a” and “b” pull the other way."),
        ({"reliability": 0.6, "contradicting": ["a", "b", "c"]}, "3 seeds pull the other way, “a” most clearly."),
        ({}, "it orders 95 of 100 pairs of unseen words correctly."),
    ],
)
def test_the_sentence_says_what_to_do(figures: dict[str, Any], advice: str) -> None:
    assert advice in judge(**{**GOOD, **figures}).sentence


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_the_advised_number_of_seeds_brings_an_axis_to_the_next_grade(seed: int) -> None:
    space, lexicon = planted_space(1000, 40, strength=2.0, seed=seed)

    def found(count: int) -> Diagnosis:
        words = Lexicon(dict(list(lexicon.items())[:count]))
        return diagnose(space, words, method="mean-difference", n_permutations=19)

    few = found(30)
    assert few.verdict.grade == "weak"
    first = few.axes[0]
    times = seeds_wanted(first.auc, first.auc_interval.low, few.vocabulary.reliability, 0.7)
    assert times is not None
    assert found(math.ceil(30 * times * 1.25)).verdict.grade in ("fair", "good")


def test_an_axis_that_is_turned_round_is_said_to_be() -> None:
    found = {**GOOD, "auc": 0.15, "auc_low": 0.1, "p_value": 1.0, "reliability": 0.3}
    turned = judge(**{**found, "auc_high": 0.2})
    assert "unseen words lie on the wrong side" in turned.line
    assert turned.sentence.endswith("by erasing what they differ in.")
    assert "shuffled labels do as well" in judge(**{**found, "auc_high": 0.6}).line


@pytest.fixture(scope="module")
def gender() -> Diagnosis:
    pairs = [("he", "she"), ("man", "woman"), ("king", "queen"), ("boy", "girl"), ("father", "mother")]
    return diagnose(load_space("googlenews-26k"), load_lexicon("gender"), method="densray-unit", pairs=pairs,
                    n_permutations=19, n_resamples=20, max_refits=5)  # fmt: skip


def test_the_gender_axis_is_there_and_random_words_have_none(gender: Diagnosis) -> None:
    assert gender.axes[0].auc > 0.95
    assert gender.permutation.p_value == 0.05
    assert gender.verdict.grade in ("fair", "good")
    assert gender.pairs is not None
    assert gender.pairs.parallelism > 0.3
    assert gender.pairs.ordered == 1.0
    assert gender.eigenvalue_gap is not None
    assert 0 < gender.eigenvalue_gap < 1
    space = load_space("googlenews-26k")
    random = np.random.default_rng(0)
    chance = {space.words[row]: float(row % 2) for row in random.choice(26_000, 60, replace=False).tolist()}
    found = diagnose(space, Lexicon(chance))
    assert found.verdict.grade == "none"
    assert found.vocabulary.reliability < 0.5


GRADE_COLORS = {"good": 2, "fair": 6, "weak": 3, "none": 1}  # green, cyan, yellow, red


def test_all_figures_are_in_json_and_the_verdict_leads_on_the_terminal(gender: Diagnosis) -> None:
    plain = json.loads(to_json(gender))
    assert plain["verdict"]["line"] == gender.verdict.line
    assert len(plain["seeds"]) == gender.n_seeds
    assert plain["axes"][0]["auc"] == gender.axes[0].auc
    assert plain["provenance"]["words_missing"] == list(gender.provenance.words_missing)
    assert "model" not in plain
    drawn = StringIO()
    Console(file=drawn, force_terminal=True, color_system="standard").print(to_terminal(gender))
    assert f"\x1b[1;3{GRADE_COLORS[gender.verdict.grade]}mTrust: {gender.verdict.grade}\x1b[0m: " in drawn.getvalue()
    assert gender.text() == gender.verdict.sentence


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_diagnosed(name: str) -> None:
    space, lexicon = planted_space(80, 6, strength=2.0)
    found = diagnose(space, lexicon, method=name, folds=3, n_permutations=2, n_resamples=2, max_refits=2)
    assert found.axes[0].auc > 0.7


def test_few_seeds_lower_the_folds_and_one_a_class_is_an_error() -> None:
    space, _ = planted_space()
    few = Lexicon({"word1": 1, "word2": 1, "word3": 1, "word300": -1, "word301": -1})
    assert diagnose(space, few).folds == 2
    with pytest.raises(TaskError, match="at least two of each"):
        diagnose(space, Lexicon({"word1": 1, "word300": -1}))


def test_seeds_that_span_fewer_axes_are_asked_for_fewer() -> None:
    space = WordSpace(list("abcdefgh"), np.eye(3)[[0, 0, 0, 0, 1, 1, 1, 2]])
    lexicon = Lexicon(dict(zip("abcdefgh", [1, 1, 1, 1, -1, -1, -1, -1], strict=True)))
    assert len(diagnose(space, lexicon).axes) == 1


def test_too_few_draws_are_refused() -> None:
    space, lexicon = planted_space()
    with pytest.raises(TaskError, match="n_resamples=1"):
        diagnose(space, lexicon, n_resamples=1)
    with pytest.raises(TaskError, match="n_permutations=0"):
        diagnose(space, lexicon, n_permutations=0)


def test_the_same_seed_gives_the_same_diagnosis() -> None:
    space, lexicon = planted_space(100)
    first, second = (diagnose(space, lexicon, random_state=3).to_dict() for _ in range(2))
    for plain in (first, second):
        del plain["provenance"]
    assert first == second


def test_the_scores_of_seeds_are_on_the_scale_of_the_induced_lexicon() -> None:
    space, lexicon = planted_space(strength=2.0)
    shifted = WordSpace(space.words, space.vectors + 1.0)
    diagnosis = diagnose(shifted, lexicon, normalize=False, n_permutations=19, n_resamples=20)
    induced = induce(shifted, lexicon, normalize=False, n_resamples=20)
    scores = dict(zip(induced.words, induced.scores.score, strict=True))
    differences = [row["score"] - scores[row["word"]] for row in diagnosis.seeds]
    assert np.abs(differences).max() < 0.6  # a seed is left out of its own axis
    assert abs(np.mean(list(scores.values()))) > 0.6  # counted from the mean of the seeds it would be nearer to 0
    assert diagnosis.model.even_odds == pytest.approx(induced.even_odds)


def test_a_seed_that_contradicts_and_moves_the_axis_is_listed_once() -> None:
    space, lexicon = planted_space(strength=1.0)
    diagnosis = diagnose(space, lexicon, normalize=False, n_permutations=19, n_resamples=20)
    moving, others = (table for table in diagnosis.tables() if "eeds that" in table.title)
    listed = [row["word"] for table in (moving, others) for row in table.rows]
    assert len(listed) == len(set(listed))
    contradicting = [row["word"] for row in diagnosis.contradictions]
    above = [row["word"] for row in moving.rows if row["word"] in contradicting]
    assert above
    assert f"{len(contradicting)} of 200 seeds contradict the rest" in moving.notes[0]
    assert f"; {len(above)} of them" in moving.notes[0]
    assert {row["word"] for row in others.rows} <= set(contradicting)


def test_a_permutation_test_by_refits_takes_400_seeds_of_401() -> None:
    from densray.axes._permutation import SAMPLED_SEEDS, _sample

    for size, share in ((401, 0.5), (799, 0.2), (2000, 0.35)):
        seeds = planted_seeds(size, 3, share=share)
        drawn = _sample(seeds, np.random.default_rng(0))
        assert drawn.n_words == len(set(drawn.words)) == SAMPLED_SEEDS
        assert np.mean(drawn.y > 0) == pytest.approx(share, abs=0.005)
    scores = _sample(planted_seeds(1000, 3, scores=True), np.random.default_rng(0))
    assert np.median(scores.y) == pytest.approx(np.median(planted_seeds(1000, 3, scores=True).y), abs=0.05)


def one_long_row() -> tuple[WordSpace, Lexicon, str]:
    """Return two classes in which one seed of 300 has a vector of a hundred times the median length."""
    random = np.random.default_rng(0)
    y = np.tile([1.0, -1.0], 150)
    X = random.normal(size=(300, 20))
    X[:, 0] += 0.8 * y
    X[17] *= 118.0
    words = [f"word{row}" for row in range(300)]
    words[17] = "cool"
    return WordSpace(words, X.astype(np.float32)), Lexicon(dict(zip(words, y.tolist(), strict=True))), "cool"


def test_a_seed_of_huge_length_is_named_and_unit_differences_do_not_feel_it():
    space, lexicon, long = one_long_row()
    options = {"normalize": False, "n_permutations": 19}
    found = {
        method: diagnose(space, lexicon, method=method, **options) for method in ("mean-difference", "densray-unit")
    }
    rest = lexicon.without([long])
    without = {method: diagnose(space, rest, method=method, **options) for method in found}
    loss = {method: without[method].axes[0].auc - found[method].axes[0].auc for method in found}
    assert loss["mean-difference"] > 0.05
    assert abs(loss["densray-unit"]) < 0.01
    row = found["mean-difference"].outlying[0]
    assert (row.word, row.label, len(found["mean-difference"].outlying)) == (long, -1.0, 1)
    assert row.times == pytest.approx(100, rel=0.5)
    notes = found["mean-difference"].tables()[0].notes
    assert f"One seed has a vector more than 5 times as long as the median: 'cool' ({row.times:.0f} times)." in notes[0]
    assert "densray-unit scales every difference to unit length" in notes[0]
    assert "does not feel that" in found["densray-unit"].tables()[0].notes[0]
    assert '"outlying"' in to_json(found["densray-unit"])
    assert without["mean-difference"].outlying == []
    assert diagnose(space, lexicon, n_permutations=19).outlying == []  # at unit length
