"""What results about axes show: every figure with its decimals, and which notes are told and which are not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from densray import Lexicon
from densray.axes import Diagnosis, compare_methods, diagnose, induce
from densray.axes._comparison import FailedTrial
from densray.axes._diagnosis import Agreement, Verdict, judge
from densray.axes._evidence import NearMiss, OutlyingRow, PairConsistency, VocabularySpread
from densray.axes._lexicon_evaluation import evaluate_induction, repeat_induction
from densray.axes._permutation import PermutationTest
from densray.axes._protocol import Protocol, TrainTest
from densray.axes._resampling import SeedAngle
from densray.axes._stability import evaluate_stability
from densray.metrics import Interval
from densray.rotations import DensRay
from planted import planted_space

QUICK = Protocol(n_resamples=20)


@pytest.fixture(scope="module")
def found() -> Diagnosis:
    space, lexicon = planted_space(60, 5)
    return diagnose(space, lexicon, method="mean-difference", n_permutations=19)


def shown(diagnosis: Diagnosis) -> dict[str, tuple[str, str]]:
    return {row["figure"]: (row["value"], row["meaning"]) for row in diagnosis.tables()[0].rows}


def test_every_figure_behind_a_verdict_is_shown_with_its_decimals(found: Diagnosis) -> None:
    given = replace(
        found,
        n_seeds=1234,
        n_high=1000,
        n_low=234,
        coverage=0.456,
        axes=[Agreement(0, 0.91234, Interval(0.88888, 0.94444), 0.51234)] * 3,
        tau_interval=Interval(0.41234, 0.61234),
        n_signal_axes=2,
        permutation=PermutationTest(0.0123, 0.5, 0.1, 999, 1200),
        seed_angle=SeedAngle(12.345, 23.456, 30),
        vocabulary=VocabularySpread(0.123456, 0.87654, 0.0123456),
        eigenvalue_gap=0.34567,
        pairs=PairConsistency(7, 0.23456, 0.45678, 0.857, ()),
    )
    assert shown(given) == {
        "seeds": ("1,234", "1,000 higher, 234 lower; 46% found"),
        "held-out AUC": ("0.912 [0.889, 0.944]", "an unseen higher word scores above a lower one"),
        "held-out τ": ("0.512 [0.412, 0.612]", "Kendall τ-b with the classes"),
        "permutation p": ("0.012", "999 shuffles of 1,200 seeds"),
        "seed angle": (
            "23.5°",
            "from the average axis of sets of as many such words, at most (95%); estimate 12.3°",
        ),
        "reliability": ("0.877", "of the vocabulary's scores, against other seeds"),
        "standard error": ("0.0123", "median over the vocabulary"),
        "variance": ("12.35%", "of the space along the axis; even: 20.00%"),
        "signal axes": ("2", "of the first 3 tell unseen words apart"),
        "eigenvalue gap": ("0.346", "from the first to the second, relative"),
        "pairs": ("0.235", "mean cosine of 7 differences (PairDir)"),
        "pairs ordered": ("86%", "mean cosine with the axis 0.457"),
    }
    named = shown(replace(given, label_names=("bad", "good"), n_groups=40, eigenvalue_gap=None, pairs=None))
    assert named["seeds"][1] == "1,000 good, 234 bad; 46% found; left out in 40 groups"
    assert named["held-out AUC"][1] == "an unseen word of “good” scores above one of “bad”"
    assert not {"eigenvalue gap", "pairs", "pairs ordered"} & named.keys()


def seed(word: str, agreement: float, influence: float | None = 1.0) -> dict[str, Any]:
    return {"word": word, "label": 1.0, "score": 0.5, "agreement": agreement, "influence": influence}


@pytest.mark.parametrize(
    ("above", "others", "note"),
    [
        (0, 0, None),
        (1, 0, "1 of 30 seeds contradicts the rest: its label has a probability below 0.5."),
        (2, 0, "2 of 30 seeds contradict the rest: their label has a probability below 0.5."),
        (1, 1, "their label has a probability below 0.5; 1 of them is in this table."),
        (2, 1, "their label has a probability below 0.5; 2 of them are in this table."),
        (0, 1, "1 of 30 seeds contradicts the rest: its label has a probability below 0.5."),
    ],
)
def test_seeds_that_contradict_are_counted_and_listed_once(
    found: Diagnosis, above: int, others: int, note: str | None
) -> None:
    moving = [seed(f"moving{row}", 0.4 if row < above else 0.6, 20.0 - row) for row in range(10)]
    rest = [seed(f"other{row}", 0.4 if row < others else 0.6) for row in range(10)]
    given = replace(
        found,
        seeds=[*moving, *rest, seed("unknown", 0.9, None)],
        contradictions=[row for row in [*moving, *rest] if row["agreement"] < 0.5],
        near_misses=[],
    )
    assert given.influential == [*moving, *rest]
    tables = given.tables()
    assert tables[1].rows == moving  # ten of them
    assert tables[1].title == "Seeds that move the axis most (leave-one-out, closed form)"
    assert (note in tables[1].notes[0]) if note else "contradict" not in tables[1].notes[0]
    assert len(tables) == 2 + (others > 0)
    if others:
        title = "Other seeds" if above else "Seeds"
        assert tables[2].title == f"{title} that contradict the rest, the clearest first"
        assert tables[2].rows == rest[:others]


def test_long_lists_are_cut_to_ten_and_near_misses_to_ten_with_those_in_another_case_counted(found: Diagnosis) -> None:
    rows = [seed(f"seed{row}", 0.4) for row in range(25)]
    misses = [NearMiss(f"Miss{row}", f"miss{row}", "case" if row < 4 else "joint") for row in range(12)]
    tables = replace(found, seeds=rows, contradictions=rows, near_misses=misses).tables()
    assert [len(table.rows) for table in tables[1:]] == [10, 10, 10]
    assert tables[-1].title == "Missing words the space may have otherwise: 12"
    assert tables[-1].rows[0] == {"missing": "Miss0", "in the space": "miss0", "difference": "case"}
    assert tables[-1].notes == ["4 of them differ in case only: they are found where any case counts as the same."]
    assert replace(found, near_misses=misses[4:]).tables()[-1].notes == []


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "One seed has a vector more than 5 times as long as the median: 'long0' (90 times). It pulls"),
        (3, "3 seeds have vectors more than 5 times as long as the median: 'long0' (90 times), 'long1' (89 times), "
            "'long2' (88 times). It pulls"),
        (4, "'long2' (88 times) and 1 more. It pulls"),
        (1004, "1,004 seeds have vectors"),
    ],
)  # fmt: skip
def test_seeds_of_huge_length_are_named_up_to_three(found: Diagnosis, count: int, said: str) -> None:
    rows = [OutlyingRow(f"long{row}", 1.0, 100.0, 90.0 - row) for row in range(count)]
    (note,) = replace(found, outlying=rows, proposal=None).tables()[0].notes
    assert said in note
    unit = DensRay(1, normalize_differences=True)
    assert "does not feel that" in replace(found, outlying=rows, proposal=None, rotation=unit).tables()[0].notes[0]
    assert "It pulls" in replace(found, outlying=rows, proposal=None, rotation=DensRay(1)).tables()[0].notes[0]
    assert replace(found, outlying=[], proposal=None).tables()[0].notes == []


def test_notes_on_scores_name_their_median_and_where_even_odds_lie(found: Diagnosis) -> None:
    rows = [{**seed(f"seed{row}", 0.9), "label": label} for row, label in enumerate([1.0, 2.5, 4.0])]
    given = replace(found, labels="scores", seeds=rows, contradictions=[])
    notes = given.tables()[1].notes
    assert notes[0] == "Labels are split at their median, 2.5: above it is the high side."
    assert notes[1].endswith(f"even odds lie at {found.model.even_odds:.3f}.".replace("-", "−"))
    assert shown(given)["held-out τ"][1] == "Kendall τ-b with the scores"
    flat = replace(found.model, calibration=replace(found.model.calibration, slope=0.0))  # type: ignore[type-var]
    assert replace(found, model=flat, contradictions=[]).tables()[1].notes == []


FIGURES = {"auc": 0.95, "auc_low": 0.9, "auc_high": 0.97, "p_value": 0.001, "reliability": 0.9, "seed_angle": 10.0,
           "n_high": 700, "n_low": 700}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "grade"),
    [
        ({"p_value": 0.05}, "good"),
        ({"p_value": 0.0501}, "none"),
        ({"p_value": None}, "good"),
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
    assert judge(**{**FIGURES, **changed}).grade == grade


def test_a_verdict_states_its_figures_and_what_limits_it() -> None:
    good = judge(**FIGURES)
    assert good.line == (
        "Trust: good: held-out AUC 0.95 [0.90, 0.97], permutation p = 0.001, reliability 0.90, seed angle 10°."
    )
    assert good.sentence == "Trust: good: 1,400 seeds; it orders 95 of 100 pairs of unseen words correctly."
    assert "no permutation test" in judge(**{**FIGURES, "p_value": None}).line
    low = judge(**{**FIGURES, "auc_low": 0.654})
    assert low.limits == ("it may order no more than 65 of 100 pairs of unseen words correctly",)
    assert "(it may order no more than 65 of 100 pairs" in low.line
    for bound in (0.5, 0.4):
        assert judge(**{**FIGURES, "auc_low": bound}).limits == ("it may order unseen words no better than chance",)
    both = judge(**{**FIGURES, "auc_low": 0.75, "reliability": 0.75})
    assert len(both.limits) == 2
    turned = {**FIGURES, "auc": 0.3, "auc_low": 0.2, "p_value": 0.9}
    assert "wrong side" in judge(**{**turned, "auc_high": 0.499}).sentence
    assert "wrong side" not in judge(**{**turned, "auc_high": 0.5}).sentence
    assert "add about" not in judge(**{**turned, "auc_high": 0.4, "contradicting": ["a"]}).sentence
    # to be good a fair axis needs 0.8 (Spearman and Brown: 4/3 of 0.75), to be fair a weak one 0.7
    assert "add about 500 more" in judge(**{**FIGURES, "reliability": 0.75}).sentence
    assert "add about 700 more" in judge(**{**FIGURES, "reliability": 0.62}).sentence


# --- induced lexicons ---------------------------------------------------------------------------------------


def test_the_text_of_an_induced_lexicon_says_what_holds_and_what_was_not_tested() -> None:
    space, lexicon = planted_space(60, 5)
    induced = induce(space, lexicon, method="mean-difference")
    given = replace(
        induced,
        verdict=Verdict("good", (), "the line", "the sentence"),
        scores=replace(induced.scores, like_seeds=np.repeat([1.0, 0.99], 30)),
        even_odds=0.12345,
        proposal=None,
    )
    lines = given.text().splitlines()
    assert lines == [
        "the sentence",
        "Without a permutation test: diagnose makes one, and names the seeds to look at.",
        "Probabilities hold for words like the seeds: 50% of the vocabulary. For others they are drawn towards the "
        "share of the higher class (like_seeds).",
        "Scores are coordinates on the axis; 0 is not neutral: even odds lie at 0.123.",
    ]
    alike = replace(given, scores=replace(induced.scores, like_seeds=np.ones(60)))
    assert alike.text().splitlines()[2] == "Probabilities hold for words like the seeds: 100% of the vocabulary."
    assert replace(given, verdict=Verdict("good", (), "the line", "")).text().splitlines()[0] == "the line"
    saved = replace(given, n_seeds=None)  # by a file, whose verdict may rest on such a test
    assert len(saved.text().splitlines()) == 3
    bare = replace(given, verdict=None, even_odds=None, scores=replace(induced.scores, like_seeds=None))
    assert bare.text() == ""


def test_the_ends_of_a_lexicon_are_fifteen_words_of_each_or_ten_in_tables_named_by_their_labels() -> None:
    space, lexicon = planted_space(60, 5)
    induced = induce(space, lexicon, method="mean-difference", label_names=("down", "up"))
    assert [table.title for table in induced.tables()] == ["Highest: up", "Lowest: down"]
    assert [len(table.rows) for table in induced.tables()] == [10, 10]
    order = np.argsort(-induced.scores.score, kind="stable")
    words = [space.words[row] for row in order]
    assert [row["word"] for row in induced.ends()] == [*words[:15], *words[-15:]]
    assert [row["word"] for row in induced.lowest] == words[:-11:-1]
    assert [table.title for table in replace(induced, label_names=None).tables()] == ["Highest", "Lowest"]
    assert [len(rows) for rows in (induced.with_ends(3).highest, induced.with_ends(3).lowest)] == [3, 3]


# --- comparisons and evaluations ------------------------------------------------------------------------------


def test_methods_beside_each_other_have_tables_of_angles_and_words_from_two_on() -> None:
    space, lexicon = planted_space(60, 5)
    two = compare_methods(space, lexicon, methods=["mean-difference", "linear"])
    assert [len(table.rows) for table in two.tables()] == [2, 2, 20]
    assert two.tables()[0].notes == [
        "τ over 30 seeds, each scored by an axis found without it; the same folds for all methods.",
        "Intervals (95%) are bootstraps over seeds, paired for the difference: at least above 0 is beyond chance.",
    ]
    assert {row for row, key in two.tables()[0].best} == {int(np.argmax([trial.tau for trial in two.trials]))}  # type: ignore[union-attr]
    grouped = replace(two, n_groups=1200).tables()[0].notes
    assert "without its group;" in grouped[0]
    assert "over 1,200 groups," in grouped[1]
    one = compare_methods(space, lexicon, methods=["mean-difference"])
    assert len(one.tables()) == 1
    assert one.disagreements == []
    assert one.angles == [{"first": "mean-difference", "second": "mean-difference", "degrees": 0.0}]
    failed = replace(two, trials=(FailedTrial("svm", "no axis"), *two.trials))
    assert failed.rows()[0] == {"method": "svm", "remark": "no axis"}
    assert [len(rows) for rows in (two.between("mean-difference", "linear").risen, two.disagreements)] == [10, 20]


def test_an_interval_rests_on_five_hundred_resamples_and_is_that_of_its_percentiles() -> None:
    space, lexicon = planted_space(60, 5)
    compared = compare_methods(space, lexicon, methods=["mean-difference", "linear"])
    first, second = compared.trial("mean-difference"), compared.trial("linear")
    for trial in (first, second):
        assert len(trial.resamples) == 500
        assert [trial.tau_low, trial.tau_high] == pytest.approx(np.quantile(trial.resamples, [0.025, 0.975]))
        assert not trial.split
    ahead = first.ahead_of(second)
    assert ahead[0] == first.tau - second.tau
    assert ahead[1:] == pytest.approx(np.quantile(first.resamples - second.resamples, [0.025, 0.975]))
    narrow = first.ahead_of(second, level=0.5)
    assert narrow[1:] == pytest.approx(np.quantile(first.resamples - second.resamples, [0.25, 0.75]))
    by_method = {row["method"]: row for row in compared.rows()}
    best, other = compared.found
    assert by_method[best.method]["behind"] == 0.0
    assert by_method[other.method]["behind"] == best.tau - other.tau > 0
    assert by_method[other.method]["behind_high"] == best.ahead_of(other)[2]


def test_words_to_draw_are_a_thousand_and_twenty_apart_either_way_where_nobody_says() -> None:
    space, lexicon = planted_space(2400, 5, strength=0.3)
    found = compare_methods(space, lexicon, methods=["mean-difference", "linear"], folds=2)
    drawn = found.agreement("mean-difference", "linear")
    whole = {
        row["word"]: row["second"] - row["first"] for row in found.agreement("mean-difference", "linear", n_words=2400)
    }
    ordered = sorted(whole, key=whole.__getitem__)
    assert [row["word"] for row in drawn[:40]] == [*ordered[:20], *ordered[:-21:-1]]
    assert {row["word"] for row in drawn} == {*space.words[:1000], *ordered[:20], *ordered[-20:]}
    assert len(drawn) == len({row["word"] for row in drawn})


def test_the_tables_of_an_evaluation_show_measures_of_classes_or_of_scores() -> None:
    space, lexicon = planted_space(60, 5)
    classes = evaluate_induction(space, lexicon, methods=["ridge", "mean-difference"], protocol=QUICK)
    scored = Lexicon({word: float(space[word][0]) for word in space.words})
    scores = evaluate_induction(space, scored, methods=["ridge"], protocol=QUICK)
    measures = ["method", "τ", "low", "high", "spearman", "pearson"]
    assert classes.tables()[0].headings == [*measures, "auc", "accuracy", "seconds"]
    assert scores.tables()[0].headings == [*measures, "seconds"]
    assert (classes.continuous, scores.continuous) == (False, True)
    given = replace(classes, n_training=3000, n_test=1000, coverage=0.12345)
    assert given.tables()[0].notes[0] == (
        "3,000 training and 1,000 test words (two classes, 25% held out); 12.3% of the lexicon is in the space. "
        "Interval: 95%, bootstrap over test words."
    )
    assert "(scores, 25% held out)" in scores.tables()[0].notes[0]
    assert "tested on other" in replace(given, test="other").tables()[0].notes[0]
    assert "Words of one group stay together: 1,200 groups." in replace(given, n_groups=1200).tables()[0].notes
    kept = replace(given, overlap=("a", "b"), protocol=replace(QUICK, disjoint=False))
    assert "2 test words were in the training lexicon and left in it." in kept.tables()[0].notes
    assert not any("median" in note for note in scores.tables()[0].notes)  # ridge sees the scores
    assert scores.median == pytest.approx(np.median(TrainTest.of(space, scored).training.y))


def test_the_tables_of_surveys_and_splits_have_a_row_per_lexicon_and_per_method() -> None:
    space, lexicon = planted_space(60, 5)
    survey = evaluate_induction(space, [lexicon, lexicon], methods=["ridge", "mean-difference"], protocol=QUICK)
    overview, *each = survey.tables()
    assert [row["lexicon"] for row in overview.rows] == [lexicon.name, lexicon.name, "macro mean"]
    assert len(each) == 2
    assert survey.provenance.words_used == 60
    split = repeat_induction(space, lexicon, repeats=3, methods=["ridge", "mean-difference"], protocol=QUICK)
    (table,) = split.tables()
    first = split.results[0]
    assert table.notes[0].startswith(f"3 splits of {first.n_training} training and {first.n_test} test words")
    assert [row["method"] for row in table.rows] == ["ridge", "mean-difference"]
    steps: list[tuple[int, int]] = []
    repeat_induction(space, lexicon, repeats=2, methods=["ridge", "mean-difference"], protocol=QUICK,
                     progress=lambda done, total: steps.append((done, total)))  # fmt: skip
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_the_tables_of_stability_mark_the_highest_mean_and_the_lowest_spread_of_a_size() -> None:
    space, lexicon = planted_space(200, 5)
    found = evaluate_stability(space, lexicon, methods=["ridge", "densray-unit"], sizes=[32, 8], n_samples=4)
    means, spreads = found.tables()
    assert [row["size"] for row in means.rows] == [8, 32]
    for table, choose in ((means, max), (spreads, min)):
        for place, row in enumerate(table.rows):
            wanted = choose(("ridge", "densray-unit"), key=row.__getitem__)
            assert {key for line, key in table.best if line == place} == {wanted}
    assert means.notes == [
        f"4 samples of each size from {found.n_training} training words of planted labels; {found.n_test} test words; "
        "100.0% of the lexicon is in planted."
    ]
    assert spreads.notes == []
    scores = {(score.method, score.size): score for score in found.scores}
    assert means.rows[0]["ridge"] == scores["ridge", 8].mean
    assert spreads.rows[1]["ridge"] == scores["ridge", 32].std
