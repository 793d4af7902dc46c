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
from scipy.stats import norm
from sklearn.linear_model import Ridge

from densray import Lexicon, WordSpace, load_space
from densray.alignment import Alignment
from densray.axes import Diagnosis, diagnose
from densray.axes._diagnosis import _say_more, judge, seeds_wanted
from densray.axes._influence import leave_one_out_axes, top_axes
from densray.axes._resampling import held_out_scores, stratified_folds
from densray.axes._scoring import induce
from densray.datasets import load_lexicon
from densray.errors import TaskError
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
@pytest.mark.parametrize(("n", "width"), [(40, 8), (24, 50), (6, 3)])
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


def test_seeds_in_another_case_are_pointed_out_and_found_on_demand() -> None:
    space, lexicon = planted_space()
    shouted = Lexicon({word.upper() if row % 2 else word: label for row, (word, label) in enumerate(lexicon.items())})
    found = diagnose(space, shouted)
    assert found.coverage == 0.5
    assert "100 of them differ in case only" in found.tables()[-1].notes[0]
    assert diagnose(space, shouted, any_case=True).n_seeds == 200


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


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "densifier" else ()) for name in METHODS]
)
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


@pytest.mark.parametrize(
    ("n_high", "n_low", "times", "said"),
    [
        (10, 10, None, "more words like them would not do"),
        (10, 9, None, "add about 10 more"),
        (5, 5, 2.0, "add about 10 more"),
        (5, 5, 2.1, "add about 20 more"),
        (45, 45, 2.0, "add about 90 more"),
        (50, 50, 2.0, "add about 100 more"),
        (50, 51, 2.0, "add about 200 more"),
        (4, 8, 1.5, "add about 10 more"),
        (4, 9, 1.5, "add about 10 more, first at the high end"),
        (9, 4, 1.5, "add about 10 more, first at the low end"),
        (5, 5, 1.0, "add about 10 more"),
    ],
)
def test_the_advice_rounds_up_and_names_the_shorter_list(n_high: int, n_low: int, times: float, said: str) -> None:
    found = _say_more(n_high, n_low, times)
    assert found == said or (times is None and found.startswith(said))


def test_seeds_wanted_are_those_that_bring_both_figures_to_the_share() -> None:
    """r_k = k r / (1 + (k - 1) r), and Φ(Φ⁻¹(AUC) √(r_k / r)) less the half-width of the interval over √k."""
    for auc, low, share in ((0.9, 0.7, 0.5), (0.85, 0.6, 0.3), (0.95, 0.6, 0.6)):
        times = seeds_wanted(auc, low, share, 0.8)
        assert times is not None

        def is_enough(k: float, auc: float = auc, low: float = low, share: float = share) -> bool:
            risen = k * share / (1 + (k - 1) * share)
            lower = norm.cdf(norm.ppf(auc) * np.sqrt(risen / share)) - (auc - low) / np.sqrt(k)
            return bool(risen >= 0.8 - 1e-9 and lower >= 0.8)

        assert is_enough(times)
        assert not is_enough(times - 0.051)
    assert seeds_wanted(0.95, 0.9, 0.0, 0.8) is None
    assert seeds_wanted(0.95, 0.9, 0.9, 0.8) == 1.0


def test_seeds_carry_the_probability_of_their_own_label_and_leading_axes_are_counted() -> None:
    space, lexicon = planted_space(200, 6, strength=2.0)
    found = diagnose(space, lexicon, method="mean-difference", normalize=False, n_permutations=19)
    assert found.model.calibration is not None
    for row in found.seeds:
        chance = float(found.model.calibration.probability(np.array([row["score"] - found.model.offset]))[0])
        assert row["agreement"] == pytest.approx(chance if row["label"] > 0 else 1 - chance)
    above = [each.auc_interval.low > 0.5 for each in found.axes]
    assert found.n_signal_axes == [*above, False].index(False)
    chance = Lexicon(dict(zip(lexicon.words, np.random.default_rng(4).permutation(lexicon.labels), strict=True)))
    none = diagnose(space, chance, method="mean-difference", normalize=False, n_permutations=19)
    assert none.axes[0].auc_interval.low <= 0.5
    assert none.n_signal_axes == 0
    assert len(diagnose(space, lexicon, method="logistic", n_permutations=2, max_refits=2, n_resamples=2).axes) == 1
