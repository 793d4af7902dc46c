"""Diagnostics of an axis: closed forms equal refits, chance looks like chance, and the verdict follows its rule."""

from __future__ import annotations

import json
import math
import re
from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy.stats import norm

from densray import Axis, Lexicon, Rows, WordSpace, load_space
from densray.axes import Diagnosis, diagnose, find_rows, induce
from densray.axes._verdict import judge, seeds_wanted
from densray.datasets import load_lexicon
from densray.errors import TaskError
from densray.figures import seed_influence
from densray.metrics import auc_interval
from densray.report import show_p, to_json, to_terminal
from densray.rotations import METHODS
from planted import planted_seeds, planted_space


def test_a_mislabelled_seed_is_found_by_the_others() -> None:
    seeds = planted_seeds(80, 6, strength=3.0)
    labels = dict(zip(seeds.names, seeds.y.tolist(), strict=True))
    labels["word3"] = -labels["word3"]
    space = WordSpace(seeds.names, seeds.X)
    for method in ("ridge", "densray", "mean-difference", "svm"):
        found = diagnose(space, Lexicon(labels), method=method, normalize=False, n_permutations=19, n_resamples=20)
        assert found.contradictions[0]["word"] == "word3"
        assert found.contradictions[0]["agreement"] < 0.05


def test_refits_are_capped_and_reported() -> None:
    space, lexicon = planted_space(200)
    found = diagnose(space, lexicon, method="svm", max_refits=7, n_permutations=9, n_resamples=5)
    assert found.influence == "leave-one-out, refits of 7 of 100 seeds"
    assert len(found.influential) == 7
    assert len(found.seeds) == 100
    assert seed_influence(found.influential) is not None


def test_ends_without_names_are_named_by_typical_seeds() -> None:
    space, lexicon = planted_space()
    found = diagnose(space, lexicon, n_permutations=19)
    low, high = found.end_names
    typical = low.removeprefix("low end: ").split(", "), high.removeprefix("high end: ").split(", ")
    labels = dict(lexicon.items())
    assert [len(words) for words in typical] == [2, 2]
    assert {labels[word] for word in typical[0]} == {min(labels.values())}
    assert {labels[word] for word in typical[1]} == {max(labels.values())}
    named = diagnose(space, lexicon, n_permutations=19, label_names=("poor", "rich"))
    assert named.end_names == ("poor", "rich")


def test_seeds_in_another_case_are_found_or_pointed_out() -> None:
    space, lexicon = planted_space()
    shouted = Lexicon({word.upper() if row % 2 else word: label for row, (word, label) in enumerate(lexicon.items())})
    found = diagnose(space, shouted, any_case=False)
    assert found.coverage == 0.5
    assert "100 of them differ in case only" in found.tables()[-1].notes[0]
    found = diagnose(space, shouted)
    assert found.n_seeds == 200
    assert "100 words were found in another case" in found.text()


GOOD = {"auc": 0.95, "auc_low": 0.9, "auc_high": 0.97, "p_value": 0.001, "reliability": 0.9, "reliability_low": 0.8,
        "reliability_high": 0.95, "seed_angle": 10.0, "n_high": 7, "n_low": 7}  # fmt: skip


@pytest.mark.parametrize(
    ("figures", "grade", "limits"),
    [
        ({}, "good", 0),
        ({"p_value": 0.06}, "unclear", 1),
        ({"auc_low": 0.75}, "fair", 1),
        ({"reliability": 0.5}, "weak", 1),
        ({"reliability": 0.5, "auc_low": 0.65}, "weak", 2),
        ({"reliability": 0.5, "auc_low": 0.5}, "unclear", 1),
        ({"auc": 0.15, "auc_low": 0.1, "auc_high": 0.2, "p_value": 1.0}, "none", 1),
    ],
)
def test_the_worst_answer_gives_the_verdict(figures: dict[str, float], grade: str, limits: int) -> None:
    verdict = judge(**{**GOOD, **figures})
    assert verdict.grade == grade
    assert len(verdict.limits) == limits
    shown = "too few to tell" if grade == "unclear" else grade
    assert verdict.line.startswith(f"Trust: {shown}")
    assert verdict.sentence.startswith(f"Trust: {shown} (14 seeds). ")


@pytest.mark.parametrize(
    ("figures", "advice"),
    [
        ({"reliability": 0.6}, "Add 20 to 50 more seeds"),  # 33 and 58 in all
        ({"reliability": 0.75, "n_high": 3, "n_low": 11}, "Add 70 to 150 more seeds, first at the high end"),
        ({"reliability": 0.5, "n_high": 60, "n_low": 60}, "Add 150 to 300 more seeds"),
        ({"reliability": 0.0}, "Add 300 to 500 more seeds"),  # so few do not say that more would not do
        ({"reliability": 0.0, "n_high": 30, "n_low": 30}, "It would take more than ten times as many words like these"),
        ({"p_value": 0.2}, "too few to tell (14 seeds). Shuffled labels do as well, as they may with so few"),
        ({"p_value": 0.2, "n_high": 20, "n_low": 20}, "with so few seeds. Add about 30 more seeds to tell"),
        ({"p_value": 0.2, "n_high": 5, "n_low": 20}, "Add about 50 more seeds to tell, first at the high end"),
        ({"p_value": 0.2, "n_high": 40, "n_low": 40}, "would help little: choose words that differ in nothing else"),
        ({"auc": 0.6, "auc_low": 0.45}, "It may rank unseen words at random"),
        ({"reliability": 0.6, "contradicting": ["a"]}, "more seeds. “a” contradicts the other seeds."),
        ({"reliability": 0.6, "contradicting": ["a", "b"]}, "“a” and “b” contradict the other seeds."),
        ({"reliability": 0.6, "contradicting": ["a", "b", "c"]}, "3 seeds contradict the rest, most strongly “a”."),
        ({}, "It orders 95 of 100 pairs of unseen words correctly."),
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
    totals = seeds_wanted(30, first.auc, few.vocabulary.reliability, 0.7)
    assert totals is not None
    assert found(math.ceil(totals[1])).verdict.grade in ("fair", "good")


def test_a_reversed_axis_is_reported() -> None:
    found = {**GOOD, "auc": 0.15, "auc_low": 0.1, "p_value": 1.0, "reliability": 0.3}
    turned = judge(**{**found, "auc_high": 0.2})
    assert "unseen words lie on the wrong side" in turned.line
    assert turned.sentence.endswith("the difference between the lists was erased.")
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
    chance = {space.words[row]: float(row % 2) for row in random.choice(26_000, 80, replace=False).tolist()}
    found = diagnose(space, Lexicon(chance))
    assert found.verdict.grade == "none"
    assert found.vocabulary.reliability < 0.5


GRADE_COLORS = {"good": 2, "fair": 6, "weak": 3, "unclear": 3, "none": 1}  # green, cyan, yellow, yellow, red


def test_all_figures_are_in_json_and_the_verdict_leads_on_the_terminal(gender: Diagnosis) -> None:
    plain = json.loads(to_json(gender))
    assert plain["verdict"]["line"] == gender.verdict.line
    assert len(plain["seeds"]) == gender.n_seeds
    assert plain["axes"][0]["auc"] == gender.axes[0].auc
    assert plain["provenance"]["words_missing"] == list(gender.provenance.words_missing)
    assert "axis" not in plain
    drawn = StringIO()
    Console(file=drawn, force_terminal=True, color_system="standard").print(to_terminal(gender))
    assert f"\x1b[3{GRADE_COLORS[gender.verdict.grade]}mTrust: {gender.verdict.grade} (" in drawn.getvalue()
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
    assert len(diagnose(space, lexicon, groups=None).axes) == 1


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
    assert diagnosis.axis.even_odds == pytest.approx(induced.even_odds)


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
    assert "use densray-unit, which scales every difference to unit length" in notes[0]
    assert "do not affect it" in found["densray-unit"].tables()[0].notes[0]
    assert '"outlying"' in to_json(found["densray-unit"])
    assert without["mean-difference"].outlying == []
    assert diagnose(space, lexicon, n_permutations=19).outlying == []  # at unit length


def test_seeds_wanted_are_those_that_bring_the_reliability_to_the_share() -> None:
    """k seeds, ten typical ones among them, have k times the signal r / (1 - r) of one."""
    for n, share, wanted in ((20, 0.4, 0.7), (60, 0.3, 0.7), (100, 0.6, 0.8)):
        totals = seeds_wanted(n, 0.95, share, wanted)
        assert totals is not None
        signal = (share / (1 - share) + 0.18) / (n + 10)
        for total, factor in zip(totals, (1.0, 1.75), strict=True):
            reached = signal * total / factor
            assert reached / (1 + reached) == pytest.approx(wanted)
        more = seeds_wanted(n, 0.95, share - 0.1, wanted)
        assert more is not None
        assert more > totals


def test_seeds_wanted_are_those_that_narrow_the_interval_of_the_auc() -> None:
    """Where many seeds are reliable already, a simulated interval of their AUC begins at the share."""
    totals = seeds_wanted(1000, 0.82, 0.97, 0.8)
    assert totals is not None
    side, random = round(totals[0] / 2), np.random.default_rng(0)
    labels = np.repeat([1.0, -1.0], side)
    distance = np.sqrt(2) * norm.ppf(0.82)
    lows = [
        auc_interval(labels, random.normal(size=2 * side) + distance * (labels > 0), inflation=1.2).low
        for _ in range(20)
    ]
    assert np.mean(lows) == pytest.approx(0.8, abs=0.01)
    assert seeds_wanted(1000, 0.75, 0.97, 0.8) is None
    assert seeds_wanted(20, 0.5, 0.5, 0.7) is not None  # an AUC of 20 seeds does not say that more would not do


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 16])
def test_few_valid_seeds_are_too_few_to_tell(size: int) -> None:
    """Sentiment is there, and ten of its words cannot always show it; "none" would be wrong."""
    space, lexicon = load_space("googlenews-26k"), load_lexicon("hu-liu")
    high, low = ([word for word, label in lexicon.items() if label == side and word in space] for side in (1, -1))
    random, grades = np.random.default_rng(size), []
    for _ in range(6):
        drawn = [random.choice(words, size // 2, replace=False).tolist() for words in (high, low)]
        words = {word: label for side, label in zip(drawn, (1, -1), strict=True) for word in side}
        verdict = diagnose(space, Lexicon(words), n_permutations=99).verdict
        grades.append(verdict.grade)
        assert (verdict.grade == "unclear") == ("too few to tell" in verdict.sentence)
    assert "none" not in grades


def test_seeds_carry_the_probability_of_their_own_label_and_leading_axes_are_counted() -> None:
    space, lexicon = planted_space(200, 6, strength=2.0)
    found = diagnose(space, lexicon, method="mean-difference", normalize=False, n_permutations=19)
    uncertainty = found.axis.uncertainty
    assert uncertainty is not None
    offset = uncertainty.seed_mean @ found.axis.direction
    for row in found.seeds:
        chance = float(uncertainty.calibration.probability(np.array([row["score"] - offset]))[0])
        assert row["agreement"] == pytest.approx(chance if row["label"] > 0 else 1 - chance)
    above = [each.auc_interval.low > 0.5 for each in found.axes]
    assert found.n_signal_axes == [*above, False].index(False)
    chance = Lexicon(dict(zip(lexicon.words, np.random.default_rng(4).permutation(lexicon.labels), strict=True)))
    none = diagnose(space, chance, method="mean-difference", normalize=False, n_permutations=19)
    assert none.axes[0].auc_interval.low <= 0.5
    assert none.n_signal_axes == 0
    assert len(diagnose(space, lexicon, method="logistic", n_permutations=2, max_refits=2, n_resamples=2).axes) == 1


def test_a_diagnosis_counts_what_it_rests_on() -> None:
    space, lexicon = planted_space(60, 12)
    larger = Lexicon({**dict(lexicon.items()), "nowhere": 1.0, "neither": -1.0}, name="larger")
    found = diagnose(space, larger, method="densray", n_permutations=2)
    seeds = find_rows(space, larger)
    assert (found.n_seeds, found.n_high, found.n_low) == (30, int((seeds.y > 0).sum()), int((seeds.y < 0).sum()))
    assert found.coverage == 30 / 32
    assert (found.labels, found.lexicon, found.method) == ("classes", "larger", "densray")
    assert found.provenance.words_used == 30
    assert found.provenance.words_missing == ("nowhere", "neither")
    assert found.provenance.seed == 0
    assert found.eigenvalues is not None
    assert len(found.eigenvalues) == 10
    assert found.eigenvalues == sorted(found.eigenvalues, reverse=True)
    assert found.eigenvalue_gap == pytest.approx((found.eigenvalues[0] - found.eigenvalues[1]) / found.eigenvalues[0])
    assert len(found.axes) == 3
    assert [axis.axis for axis in found.axes] == [0, 1, 2]
    narrow, few = planted_space(60, 2)
    assert len(diagnose(narrow, few, method="densray", n_permutations=2).axes) == 2
    ridge = diagnose(space, larger, method="ridge", n_permutations=2)
    assert (ridge.eigenvalues, ridge.eigenvalue_gap, ridge.pairs) == (None, None, None)


@pytest.mark.parametrize("method", ["svm", "ridge", "mean-difference", "densray"])
def test_progress_rises_to_its_total(method: str) -> None:
    space, lexicon = planted_space(40, 3)
    steps: list[tuple[float, float]] = []
    diagnose(space, lexicon, method=method, n_permutations=2, n_resamples=2, max_refits=2, folds=2,
             progress=lambda done, total: steps.append((done, total)))  # fmt: skip
    assert len({total for _, total in steps}) == 1
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert steps[-1][0] == steps[-1][1]


@pytest.mark.parametrize("method", ["ridge", "logistic"])
def test_the_progress_of_a_diagnosis_rises_in_small_steps(method: str) -> None:
    space, lexicon = planted_space(60, 3)
    shares: list[float] = []
    diagnose(space, lexicon, method=method, n_permutations=999 if method == "ridge" else 9,
             progress=lambda done, total: shares.append(done / total))  # fmt: skip
    assert shares[0] < 0.1
    assert max(np.diff(shares)) < 0.5


def test_a_space_may_hold_the_seeds_alone() -> None:
    seeds = planted_seeds(30, 3, scores=True)
    space = WordSpace(seeds.names, seeds.X)
    found = diagnose(space, Lexicon(dict(zip(seeds.names, seeds.y.tolist(), strict=True)), neutral="keep"))
    assert found.labels == "scores"
    assert (found.n_high, found.n_low) == (15, 15)


LARGE = {**GOOD, "n_high": 700, "n_low": 700}


@pytest.mark.parametrize(
    ("changed", "grade"),
    [
        ({"p_value": 0.05}, "good"),
        ({"p_value": 0.0501}, "none"),
        ({"p_value": 0.0501, "n_high": 34, "n_low": 35, "auc_high": 0.7}, "unclear"),
        ({"p_value": 0.0501, "n_high": 35, "n_low": 35, "auc_high": 0.7}, "none"),
        ({"p_value": 0.0501, "n_high": 34, "n_low": 35, "auc_high": 0.699}, "none"),
        ({"auc_low": 0.5, "n_high": 34, "n_low": 35}, "unclear"),
        ({"auc_low": 0.5}, "none"),
        ({"auc": 0.52, "auc_low": 0.443, "auc_high": 0.597}, "none"),
        ({"auc_low": 0.501}, "weak"),
        ({"auc_low": 0.8, "reliability": 0.8}, "good"),
        ({"auc_low": 0.799}, "fair"),
        ({"reliability": 0.799}, "fair"),
        ({"auc_low": 0.7, "reliability": 0.7}, "fair"),
        ({"auc_low": 0.699}, "weak"),
        ({"reliability": 0.699}, "weak"),
        ({"reliability": 0.0}, "weak"),
    ],
)
def test_grades_begin_at_their_bounds(changed: dict[str, Any], grade: str) -> None:
    assert judge(**{**LARGE, **changed}).grade == grade


def test_a_verdict_states_its_figures_and_what_limits_it() -> None:
    good = judge(**LARGE)
    for figure in ("good", "0.95 [0.90, 0.97]", "p = 0.001", "reliability 0.90 [0.80, 0.95]", "10°"):
        assert figure in good.line
    assert good.limits == ()
    assert len(judge(**{**LARGE, "auc_low": 0.75, "reliability": 0.75}).limits) == 2
    # to be good a fair axis needs 0.8, to be fair a weak one 0.7
    assert "Add 300 to 1,500 more" in judge(**{**LARGE, "reliability": 0.75}).sentence
    assert "Add 500 to 2,000 more" in judge(**{**LARGE, "reliability": 0.62}).sentence


def test_the_tables_name_every_figure_behind_the_verdict(gender: Diagnosis) -> None:
    figures = {row["statistic"]: row["value"] for row in gender.tables()[0].rows}
    assert f"{gender.axes[0].auc:.3f}" in figures["held-out AUC"]
    low, high = gender.vocabulary.reliability_interval
    assert figures["reliability"] == f"{gender.vocabulary.reliability:.3f} [{low:.3f}, {high:.3f}]"
    assert low < gender.vocabulary.reliability < high
    assert json.loads(to_json(gender))["vocabulary"]["reliability_interval"] == pytest.approx([low, high])
    assert figures["pairs"] == f"{gender.pairs.parallelism:.3f}"
    assert {"seeds", "held-out τ", "permutation p", "seed angle", "variance", "eigenvalue gap"} <= figures.keys()


@pytest.mark.parametrize("figure", [0.6951, 0.6999, 0.7, 0.7049, 0.796, 0.79996, 0.8, 0.8049])
def test_no_figure_is_rounded_across_the_threshold_that_grades_it(figure: float) -> None:
    """A number shown as 0.80 is not graded as below 0.8, in the sentence or in the line."""
    counts = {"n_high": 50, "n_low": 50, "seed_angle": 12.0, "p_value": 0.001, "reliability_low": 0.5}
    counts["reliability_high"] = 0.99
    by_reliability = judge(auc=0.95, auc_low=0.9, auc_high=0.98, reliability=figure, **counts)
    by_auc = judge(auc=0.95, auc_low=figure, auc_high=0.98, reliability=0.9, **counts)
    grade = "good" if figure >= 0.8 else "fair" if figure >= 0.7 else "weak"
    assert (by_reliability.grade, by_auc.grade) == (grade, grade)
    shown = [
        re.search(r"reliability ([\d.]+)", by_reliability.line),
        re.search(r"\[([\d.]+),", by_auc.line),
    ]
    shown += [re.search(r"correlate ([\d.]+)", limit) for limit in by_reliability.limits]
    shares = [re.search(r"([\d.]+) of 100", limit) for limit in by_auc.limits]
    figures = [float(each[1]) for each in shown if each] + [float(each[1]) / 100 for each in shares if each]
    assert len(figures) == (2 if grade == "good" else 4)
    for number in figures:
        assert ("good" if number >= 0.8 else "fair" if number >= 0.7 else "weak") == grade


def test_a_p_value_that_counts_as_chance_is_not_shown_as_five_percent() -> None:
    assert show_p(0.0503) == "p = 0.0503"
    assert show_p(0.05) == "p = 0.050"
    assert show_p(0.0497) == "p = 0.050"


def test_many_rows_of_a_few_authors_are_too_few_to_tell() -> None:
    """240 rows of 6 authors: labels of whole authors are shuffled, so that p cannot be small."""
    rng = np.random.default_rng(0)
    author = np.repeat(np.arange(6), 40)
    y = np.where(author < 3, -1.0, 1.0)
    X = rng.normal(size=(240, 8)) + 2.0 * y[:, None] * np.eye(8)[0] + 0.2 * rng.normal(size=(6, 8))[author]
    rows = Rows.from_arrays(X, y, groups=author.tolist())
    found = Axis.fit(rows, "mean-difference", normalize=False).diagnose().verdict
    assert found.grade == "unclear"
    assert "(240 labelled rows in 6 groups)" in found.sentence
    assert "as they may with so few groups. Add about 70 more groups to tell" in found.sentence
