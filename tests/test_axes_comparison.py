"""Methods on one concept: held-out τ, angles, and the words they part on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from densray import Lexicon, WordSpace
from densray.axes import (
    COMPARABLE,
    QUICK_METHODS,
    FailedMethod,
    MethodTrial,
    compare_methods,
    compare_trials,
    diagnose,
    find_rows,
    method_verdict,
    recommended_method,
    trial_rows,
    try_method,
)
from densray.errors import LexiconError, TaskError
from densray.folds import stratified_folds
from densray.metrics import kendall_tau
from densray.report import to_json, to_markdown
from densray.rotations import METHODS, LinearRotation, make_rotation
from planted import planted_seeds, planted_space


def test_every_method_that_is_not_a_second_name_can_be_compared():
    assert set(COMPARABLE) == {name for name, method in METHODS.items() if not method.stands_for}
    assert set(QUICK_METHODS) < set(COMPARABLE)
    limits = [METHODS[name].slow_from or np.inf for name in COMPARABLE]
    assert limits == sorted(limits, reverse=True)  # the slow ones last
    assert all((METHODS[name].slow_from or np.inf) > 5000 for name in QUICK_METHODS)
    assert METHODS["svr"].slow_from < METHODS["svm"].slow_from


def test_held_out_tau_is_that_of_fits_without_each_fold():
    space, lexicon = planted_space(120, 6)
    found = compare_methods(space, lexicon, methods=["mean-difference"], folds=4).trial("mean-difference")
    seeds = find_rows(space, lexicon).unit()
    folds = stratified_folds(seeds, 4, np.random.default_rng(0))
    scores = np.empty(len(seeds))
    for fold in range(4):
        X, y = seeds.X[folds != fold].astype(float), seeds.y[folds != fold]
        axis = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
        scores[folds == fold] = (seeds.X[folds == fold] - X.mean(axis=0)) @ axis / np.linalg.norm(axis)
    assert found.tau == pytest.approx(kendall_tau(seeds.y, scores), abs=1e-12)
    assert found.tau_low < found.tau < found.tau_high


def test_shuffled_labels_have_no_held_out_tau_and_planted_ones_do():
    space, lexicon = planted_space(400, 12)
    shuffled = np.random.default_rng(1).permutation(lexicon.labels)
    control = compare_methods(space, Lexicon(dict(zip(lexicon.words, shuffled.tolist(), strict=True))))
    for trial in compare_methods(space, lexicon).found:
        assert trial.tau > 0.2 > abs(control.trial(trial.method).tau)


def test_angles_are_those_of_the_fitted_axes_symmetric_and_zero_with_oneself():
    space, lexicon = planted_space(200, 8)
    names = ["ridge", "mean-difference", "logistic"]
    angles = {
        (row["first"], row["second"]): row["degrees"] for row in compare_methods(space, lexicon, methods=names).angles
    }
    seeds = find_rows(space, lexicon).unit()
    axes = {name: make_rotation(name).fit(seeds.X, seeds.y).components_[0] for name in names}
    for one in names:
        for other in names:
            expected = np.degrees(np.arccos(np.clip(axes[one] @ axes[other], -1, 1)))
            assert angles[one, other] == pytest.approx(expected, abs=1e-5)
            assert angles[one, other] == angles[other, one]


def test_words_the_methods_disagree_on_have_the_most_spread_percentiles():
    space, lexicon = planted_space(300, 8, strength=0.3)
    names = ["ridge", "mean-difference", "linear", "svm"]
    found = compare_methods(space, lexicon, methods=names, n_words=5)
    unit = space.normalized().vectors
    places = np.array([np.argsort(np.argsort(-(unit @ found.trial(name).axis.direction))) + 1 for name in names])
    spread = (100.0 * places / len(space)).std(axis=0)
    expected = [space.words[row] for row in np.argsort(-spread, kind="stable")[:5]]
    assert [row["word"] for row in found.disagreements] == expected
    first = found.disagreements[0]
    assert first["spread"] == pytest.approx(spread.max())
    assert [first[name] for name in names] == places[:, space.locate([first["word"]])[0]].tolist()


def test_two_methods_of_one_axis_do_not_disagree():
    space, lexicon = planted_space(200, 8)
    found = compare_methods(space, lexicon, methods=["auto", "ridge"])
    assert found.between("auto", "ridge").degrees == pytest.approx(0.0, abs=1e-6)
    assert max(row["spread"] for row in found.disagreements) == 0.0
    assert [(row["behind"], row["behind_high"]) for row in found.rows()] == [(0.0, 0.0), (0.0, 0.0)]


def test_a_pair_of_methods_names_the_words_the_second_places_higher():
    space, lexicon = planted_space(300, 8, strength=0.3)
    found = compare_methods(space, lexicon, methods=["mean-difference", "linear"])
    change = found.between("mean-difference", "linear")
    assert all(row["after"] < row["before"] for row in change.risen[:3])
    assert all(row["after"] > row["before"] for row in change.fallen[:3])
    with pytest.raises(TaskError, match="'svr' is not one of the methods"):
        found.between("svr", "linear")


def test_words_to_draw_are_the_first_ones_and_those_furthest_apart_standardised():
    space, lexicon = planted_space(300, 8, strength=0.3)
    found = compare_methods(space, lexicon, methods=["mean-difference", "linear"])
    rows = found.agreement("mean-difference", "linear", n_words=20, n_apart=2)
    whole = {row["word"]: row["second"] - row["first"] for row in found.agreement("mean-difference", "linear")}
    assert len(whole) == 300
    assert np.std([row["first"] for row in found.agreement("mean-difference", "linear")]) == pytest.approx(1.0)
    assert {min(whole, key=whole.__getitem__), max(whole, key=whole.__getitem__)} < {row["word"] for row in rows[:4]}
    assert {row["word"] for row in rows} > set(space.words[:20])


def test_methods_of_two_classes_learn_scores_split_at_their_median():
    seeds = planted_seeds(100, 6, scores=True)
    space = WordSpace(seeds.names, seeds.X)
    lexicon = Lexicon(dict(zip(seeds.names, seeds.y.tolist(), strict=True)), neutral="keep")
    found = compare_methods(space, lexicon, methods=["ridge", "logistic"])
    assert [(trial.method, trial.split) for trial in found.trials] == [("ridge", False), ("logistic", True)]
    assert {row["method"]: "median" in row["remark"] for row in found.rows()} == {"ridge": False, "logistic": True}
    assert found.trial("logistic").tau > 0.3


def test_of_equal_methods_the_recommended_one_comes_first():
    space, lexicon = planted_space(200, 8, strength=6.0)  # all order held-out words perfectly
    found = compare_methods(space, lexicon, methods=["densray", "mean-difference", "ridge"])
    assert {trial.auc for trial in found.trials} == {1.0}
    assert [row["method"] for row in found.rows()] == ["ridge", "densray", "mean-difference"]
    assert found.found[0].method == "ridge"
    first, *others = found.trials
    apart = [replace(first, auc=0.9), *others]
    assert [row["method"] for row in trial_rows(apart)] == ["ridge", "mean-difference", "densray"]
    hardly = [replace(first, tau=first.tau + 1e-5), others[0], replace(others[1], auc=0.9999)]  # 1.000 as shown
    assert next(row["method"] for row in trial_rows(hardly)) == "ridge"


def test_a_failing_method_gives_its_reason_and_the_others_continue(monkeypatch):
    fit = LinearRotation.fit

    def failing(rotation, *arguments, **options):
        if rotation.estimator == "svm":
            raise LexiconError("no axis today")
        return fit(rotation, *arguments, **options)

    monkeypatch.setattr(LinearRotation, "fit", failing)
    space, lexicon = planted_space(100, 6)
    found = compare_methods(space, lexicon, methods=["svm", "ridge", "logistic"])
    assert found.trials[0] == FailedMethod("svm", "no axis today")
    assert [trial.method for trial in found.found] == sorted(
        ["ridge", "logistic"], key=lambda name: -found.trial(name).tau
    )
    assert {row["first"] for row in found.angles} == {"ridge", "logistic"}
    assert found.rows()[-1] == {"method": "svm", "remark": "no axis today"}  # last


def test_too_few_seeds_and_unknown_methods_are_named():
    space, lexicon = planted_space(60, 4)
    with pytest.raises(TaskError, match="at least two of each"):
        compare_methods(space, Lexicon({"word0": 1, "word59": -1}))
    with pytest.raises(TaskError, match="method 'densrey' is unknown"):
        compare_methods(space, lexicon, methods=["densrey"])
    with pytest.raises(TaskError, match=r"method 'densrey' is unknown\. Did you mean 'densray'"):
        try_method(find_rows(space, lexicon), "densrey")


def test_trials_put_side_by_side_carry_their_seed_and_the_time_they_took():
    space, lexicon = planted_space(60, 4)
    seeds = find_rows(space, lexicon)
    trials = [try_method(seeds, method, random_state=3) for method in ("mean-difference", "linear")]
    found = compare_trials(seeds, trials, random_state=3)
    assert found.provenance.seed == 3
    assert found.provenance.seconds == sum(trial.total_seconds for trial in trials)
    assert all(trial.total_seconds > trial.seconds > 0 for trial in trials)
    whole = compare_methods(space, lexicon, methods=["mean-difference", "linear"], random_state=3)
    assert whole.provenance.seed == 3
    assert whole.provenance.seconds > sum(trial.total_seconds for trial in whole.trials)
    assert whole.rows()[0]["tau"] == found.rows()[0]["tau"]


def test_the_result_is_plain_data_and_tables():
    space, lexicon = planted_space(60, 4)
    found = compare_methods(space, lexicon, methods=["mean-difference", "linear"])
    assert '"tau_low"' in to_json(found)
    methods, angles, words = found.tables()
    assert methods.headings[:5] == ["method", "AUC", "low", "high", "τ"]
    assert len(angles.rows) == 2
    assert len(words.rows) == 20


@pytest.mark.parametrize("strength", [1.0, 9.0])
@pytest.mark.parametrize("groups", ["forms", None])
def test_diagnose_and_the_comparison_of_methods_give_the_same_figures_and_intervals(strength, groups) -> None:
    """Also where a perfect order puts τ at its ceiling, below 1."""
    space, lexicon = planted_space(60, 5, strength=strength)
    trial = compare_methods(space, lexicon, methods=["ridge"], groups=groups).trial("ridge")
    found = diagnose(space, lexicon, method="ridge", groups=groups, n_permutations=19)
    first = found.axes[0]
    assert (trial.auc, trial.auc_low, trial.auc_high) == (first.auc, *first.auc_interval)
    assert (trial.tau, trial.tau_low, trial.tau_high) == (first.tau, *found.tau_interval)
    assert trial.tau_ceiling == found.tau_ceiling < 0.8
    assert trial.tau_low < trial.tau <= trial.tau_high <= trial.tau_ceiling + 1e-12
    if strength == 9.0:
        assert trial.tau == pytest.approx(trial.tau_ceiling)
    for table in (found.tables()[0].rows[2]["meaning"], compare_trials(find_rows(space, lexicon), [trial]).tables()):
        assert f"{found.tau_ceiling:.3f}" in str(table)


def test_the_lead_over_another_method_is_that_of_the_percentiles_of_paired_resamples() -> None:
    space, lexicon = planted_space(60, 5)
    compared = compare_methods(space, lexicon, methods=["mean-difference", "linear"])
    first, second = compared.trial("mean-difference"), compared.trial("linear")
    for trial in (first, second):
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


def _trial(method: str, tau: float, lead_error: float = 0.0, auc: float | None = None) -> MethodTrial:
    """A trial whose resamples of τ lie around `tau`; a large error makes every lead over it uncertain."""
    auc = (1 + tau) / 2 if auc is None else auc
    spread = np.linspace(-1, 1, 101) * lead_error
    return MethodTrial(
        method=method, tau=tau, tau_low=tau - 0.1, tau_high=tau + 0.1, tau_ceiling=1.0, seconds=0.0,
        resamples=tau + spread, auc=auc, auc_low=auc - 0.1, auc_high=auc + 0.1, total_seconds=0.0, split=False,
        axis=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        ([_trial("svm", 0.6), _trial("ridge", 0.5), _trial("cca", 0.4)], "Use svm: it ranks held-out words best (AUC "
         "0.800 [0.700, 0.900]), and its lead over every other method is beyond chance."),
        ([_trial("svm", 0.6), _trial("ridge", 0.5)], "its lead over ridge is beyond chance"),
        ([_trial("svm", 0.6), _trial("ridge", 0.5, 0.3), _trial("cca", 0.2)], "Use ridge, the default: svm ranks "
         "held-out words best (AUC 0.800 [0.700, 0.900]), but its lead over ridge may be chance."),
        ([_trial("svm", 0.6), _trial("cca", 0.5, 0.3), _trial("lda", 0.5, 0.3), _trial("ridge", 0.2)],
         "Use svm: it ranks held-out words best (AUC 0.800 [0.700, 0.900]), but its lead over cca and lda may be "
         "chance."),
        ([_trial("ridge", 0.6), _trial("cca", 0.5, 0.3), _trial("lda", 0.5, 0.3)],
         "but its lead over every other method may be chance"),
        ([_trial("svm", 0.6), _trial("ridge", 0.6)], "Use ridge, the default: both methods rank held-out words equally "
         "well (AUC 0.800 [0.700, 0.900])."),
        ([_trial("svm", 0.6), _trial("cca", 0.6), _trial("lda", 0.6)], "Use svm: all 3 methods"),
        ([_trial("svm", 0.6, auc=0.7), _trial("ridge", 0.5, auc=0.8)], "best (τ 0.600 [0.500, 0.700])"),
        ([_trial("svm", 0.1), _trial("ridge", 0.05)], "No method (svm is the best) clearly ranks held-out words better "
         "than chance (AUC 0.550 [0.450, 0.650]): check the seeds, or add more."),
        ([_trial("svm", 0.1)], "svm does not clearly rank held-out words better than chance"),
        ([_trial("svm", 0.6), FailedMethod("lda", "no")], "svm ranks held-out words with AUC 0.800 [0.700, 0.900]: add "
         "a second method to compare."),
        ([FailedMethod("lda", "no")], "No method found an axis: see the remarks."),
    ],
)  # fmt: skip
def test_the_verdict_names_the_method_to_use_and_whether_its_lead_is_beyond_chance(trials, said) -> None:
    assert said in method_verdict(trials)


@pytest.mark.parametrize(
    ("trials", "recommended"),
    [
        ([_trial("svm", 0.6), _trial("ridge", 0.5, 0.3)], "ridge"),
        ([_trial("svm", 0.6), _trial("ridge", 0.5)], "svm"),
        ([FailedMethod("lda", "no")], None),
    ],
)
def test_the_recommended_method_is_the_one_of_the_verdict(trials, recommended) -> None:
    assert recommended_method(trials) == recommended
    assert recommended is None or f"Use {recommended}" in method_verdict(trials)


def test_a_comparison_begins_with_its_verdict() -> None:
    space, lexicon = planted_space(60, 5)
    found = compare_methods(space, lexicon, methods=["mean-difference", "linear"])
    assert found.text() == method_verdict(found.trials)
    assert to_markdown(found).index(found.text()) < to_markdown(found).index("mean-difference |")
