"""Methods on one concept: held-out τ, angles, and the words they part on."""

from __future__ import annotations

import numpy as np
import pytest

from densray import Lexicon, WordSpace
from densray._vocabulary import unit_rows
from densray.axes._comparison import COMPARABLE, QUICK_METHODS, FailedTrial, compare_methods, compare_trials, try_method
from densray.axes._options import find_seeds
from densray.axes._resampling import stratified_folds
from densray.errors import LexiconError, TaskError
from densray.metrics import kendall_tau
from densray.report import to_json
from densray.rotations import METHODS, make_rotation
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
    seeds = find_seeds(space, lexicon)
    folds = stratified_folds(seeds, 4, np.random.default_rng(0))
    scores = np.empty(seeds.n_words)
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
    seeds = find_seeds(space, lexicon)
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
    unit = unit_rows(space.vectors)
    places = np.array([np.argsort(np.argsort(-(unit @ found.trial(name).axis))) + 1 for name in names])
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
    with pytest.raises(TaskError, match="'svr' is none of the methods"):
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
    space = WordSpace(seeds.words, seeds.X)
    lexicon = Lexicon(dict(zip(seeds.words, seeds.y.tolist(), strict=True)), neutral="keep")
    found = compare_methods(space, lexicon, methods=["ridge", "logistic"])
    assert [(trial.method, trial.split) for trial in found.trials] == [("ridge", False), ("logistic", True)]
    assert "median" in found.rows()[1]["remark"]
    assert found.trial("logistic").tau > 0.3


def test_a_method_that_fails_says_why_and_the_others_go_on(monkeypatch):
    import densray.axes._comparison as module

    fit = module.fit_rotation

    def failing(method, seeds, **options):
        if method == "svm":
            raise LexiconError("no axis today")
        return fit(method, seeds, **options)

    monkeypatch.setattr(module, "fit_rotation", failing)
    space, lexicon = planted_space(100, 6)
    found = compare_methods(space, lexicon, methods=["svm", "ridge", "logistic"])
    assert found.trials[0] == FailedTrial("svm", "no axis today")
    assert [trial.method for trial in found.found] == sorted(
        ["ridge", "logistic"], key=lambda name: -found.trial(name).tau
    )
    assert {row["first"] for row in found.angles} == {"ridge", "logistic"}
    assert found.rows()[0]["remark"] == "no axis today"


def test_it_counts_folds_over_all_methods():
    space, lexicon = planted_space(60, 4)
    steps = []
    compare_methods(space, lexicon, methods=["mean-difference", "linear"], folds=5,
                    progress=lambda done, total: steps.append((done, total)))  # fmt: skip
    assert steps == [(done, 10) for done in range(1, 11)]


def test_too_few_seeds_and_unknown_methods_are_named():
    space, lexicon = planted_space(60, 4)
    with pytest.raises(TaskError, match="at least two of each"):
        compare_methods(space, Lexicon({"word0": 1, "word59": -1}))
    with pytest.raises(TaskError, match="method 'densrey' is unknown"):
        compare_methods(space, lexicon, methods=["densrey"])
    with pytest.raises(TaskError, match=r"method 'densrey' is unknown\. Did you mean 'densray'"):
        try_method(space, find_seeds(space, lexicon), "densrey")


def test_trials_put_side_by_side_carry_their_seed_and_the_time_they_took():
    space, lexicon = planted_space(60, 4)
    seeds = find_seeds(space, lexicon)
    trials = [try_method(space, seeds, method, random_state=3) for method in ("mean-difference", "linear")]
    found = compare_trials(space, lexicon, seeds, trials, random_state=3)
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
    assert methods.headings[:2] == ["method", "τ"]
    assert len(angles.rows) == 2
    assert len(words.rows) == 20
