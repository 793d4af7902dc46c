"""Layers compared: a planted concept is found at its layer, none where there is none, and nobody peeks."""

from __future__ import annotations

import numpy as np
import pytest

from densray.errors import DensRayError, TaskError
from densray.report import to_json
from densray.states import Continuations, Intervention, States, compare_layers


def planted(strengths, n_groups=40, width=16, seed=0, group_noise=0.0):
    """Pairs of texts, one of each class; layer k carries the concept at ``strengths[k]``."""
    generator = np.random.default_rng(seed)
    y = np.tile([1, -1], n_groups)
    groups = np.repeat(np.arange(n_groups), 2)
    axis = np.eye(width)[0]
    layers = []
    for strength in strengths:
        shared = np.repeat(generator.normal(size=(n_groups, width)), 2, axis=0) * group_noise
        layers.append(shared + generator.normal(size=(len(y), width)) + strength * np.outer(y, axis))
    texts = [f"text {number}" for number in range(len(y))]
    return States.of_arrays(layers, texts), y, groups


def test_the_planted_layer_is_chosen_inside_the_folds():
    states, y, groups = planted([0.0, 3.0, 0.0])
    result = compare_layers(states, y, groups=groups, standardize=False, n_permutations=99)
    by_layer = {(score.layer, score.method): score for score in result.scores}
    for method in ("ridge", "mean-difference", "densray-unit"):
        assert by_layer[1, method].auc > 0.95
        assert by_layer[1, method].p_value <= 0.02
        assert by_layer[1, method].interval.low < by_layer[1, method].auc <= by_layer[1, method].interval.high
        chosen = next(one for one in result.chosen if one.method == method)
        assert set(chosen.layers) == {1}
        assert chosen.layer == 1
        assert chosen.auc == pytest.approx(by_layer[1, method].auc)
        assert chosen.p_value <= 0.02
    assert result.angles["ridge"][1, 1] == pytest.approx(0.0, abs=1e-4)


@pytest.mark.slow
def test_without_a_concept_the_chosen_layer_reads_at_chance():
    """The best of ten layers looks good with hindsight; the layer chosen inside the folds does not."""
    hindsight, honest, p_values, p_of_best = [], [], [], []
    for seed in range(6, 18):
        states, y, groups = planted([0.0] * 10, seed=seed)
        result = compare_layers(states, y, groups=groups, methods=["mean-difference"], n_permutations=99)
        hindsight.append(max(score.auc for score in result.scores))
        honest.append(result.chosen[0].auc)
        p_values.append([score.p_value for score in result.scores])
        p_of_best.append(result.chosen[0].p_value)
    assert np.mean(hindsight) > 0.56
    assert abs(np.mean(honest) - 0.5) < 0.06
    assert 0.01 <= np.mean(np.array(p_values) <= 0.05) <= 0.10
    assert np.mean(np.array(p_of_best) <= 0.05) <= 0.25
    assert np.mean(np.min(p_values, axis=1)) < np.mean(p_of_best) / 2  # the smallest p of ten is no p-value


def test_every_text_has_a_score_of_an_axis_that_has_not_seen_it():
    states, y, groups = planted([0.0, 3.0])
    states = states.labelled(["man" if label > 0 else "boy" for label in y], groups)
    options = {"methods": ["mean-difference"], "standardize": False, "n_permutations": 9}
    result = compare_layers(states, **options)  # labels and groups of the states
    assert result.ends == ("boy", "man")
    assert result.n_groups == 40
    rows = result.ranked_texts(states, 1, "mean-difference")
    assert [row["rank"] for row in rows] == sorted((row["rank"] for row in rows), reverse=True)
    assert np.mean([row["correct"] for row in rows]) > 0.95
    assert rows[0]["label"] == "man"
    assert abs(np.mean([row["correct"] for row in result.ranked_texts(states, 0, "mean-difference")]) - 0.5) < 0.2
    assert abs(result.axes[1, "mean-difference"][0]) > 0.9
    assert "held_out_ranks" not in result.to_dict()
    with pytest.raises(TaskError, match="no axis was fitted"):
        result.ranked_texts(states, 7, "ridge")
    with pytest.raises(TaskError, match="no labels"):
        compare_layers(planted([1.0])[0])


def test_a_group_is_held_out_whole():
    """Rows of one group are copies: whoever splits them reads the copies, not the concept."""
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 3)
    y = np.repeat(generator.permutation([1, -1] * 50), 3)
    rows = np.repeat(generator.normal(size=(100, 120)), 3, axis=0) + 0.05 * generator.normal(size=(300, 120))
    states = States.of_arrays([rows], [f"text {number}" for number in range(300)])
    apart = compare_layers(states, y, groups=groups, methods=["ridge"], n_permutations=99).scores[0]
    mixed = compare_layers(states, y, methods=["ridge"], n_permutations=99).scores[0]
    assert mixed.auc > 0.95
    assert abs(apart.auc - 0.5) < 0.25
    assert apart.p_value > 0.05


def test_a_layer_without_an_axis_is_a_result():
    states, y, groups = planted([2.0])
    states = States.of_arrays([np.ones((len(y), 16)), states[0]], states.texts)
    result = compare_layers(states, y, groups=groups, methods=["mean-difference"], n_permutations=9)
    assert result.scores[0].auc == 0.5
    assert result.scores[0].note
    assert result.scores[1].auc > 0.9
    assert result.chosen[0].layer == 1
    assert "note" in to_json(result.rows())


def test_tables_and_figure_show_every_layer_and_method():
    states, y, groups = planted([0.0, 2.0])
    result = compare_layers(states, y, groups=groups, methods=["ridge", "mean-difference"], n_permutations=9)
    assert [row["layer"] for row in result.tables()[1].rows] == [0, 1]
    chart = result.figure().to_dict()
    assert "AUC" in str(chart)


def test_bad_labels_and_groups_are_named():
    states, y, _ = planted([1.0], n_groups=4)
    with pytest.raises(TaskError, match="one per text"):
        compare_layers(states, y[:-1])
    with pytest.raises(TaskError, match="two classes"):
        compare_layers(states, np.zeros(len(y)))
    with pytest.raises(TaskError, match="2 groups are given for 8 texts"):
        compare_layers(states, y, groups=[1, 2])
    with pytest.raises(TaskError, match="at least two groups with each"):
        compare_layers(states, y, groups=[1] * len(y))
    with pytest.raises(TaskError, match="at least two groups with each"):
        compare_layers(states, y, groups=(y > 0).astype(int), folds=2)


def test_texts_whose_group_is_none_stand_alone():
    states, y, groups = planted([0.0, 3.0])
    options = {"methods": ["ridge"], "n_permutations": 19}
    alone = compare_layers(states, y, groups=[None] * len(y), **options)
    each = compare_layers(states, y, groups=list(range(len(y))), **options)
    assert alone.n_groups == each.n_groups == len(y)
    some = [None, None, *groups[2:]]
    assert compare_layers(states, y, groups=some, **options).n_groups == len(set(groups)) + 1
    assert Intervention.fit(states, y, operation="add", groups=some, layers=[1]).layers == (1,)
    prompts = Continuations(["a", "b", "c"], " he", " she", [1.0, 0.0, 1.0], ["x", None, None])
    assert len(set(prompts.group_numbers.tolist())) == 3


def test_a_signal_in_one_layer_is_chosen_there():
    states, y, groups = planted([0.0, 0.0, 2.0, 0.0])
    result = compare_layers(states, y, groups=groups, methods=["ridge"], n_permutations=19)
    assert result.chosen[0].layer == 2
    assert set(result.chosen[0].layers) == {2}
    control = compare_layers(states, y, groups=groups, methods=["ridge"], layers=[0, 1, 3], n_permutations=19)
    assert control.chosen[0].auc < 0.75


def test_two_folds_choose_no_layer():
    states, y, groups = planted([0.0, 2.0])
    result = compare_layers(states, y, groups=groups, methods=["ridge"], folds=2, n_permutations=9)
    assert (result.n_folds, result.chosen) == (2, ())
    assert result.summary.startswith("No layer can be chosen: this needs at least three folds, and there are 2.")
    assert [table.title for table in result.tables()] == ["Held-out AUC by layer"]  # no empty table of choices
    assert any("80 texts in 40 groups" in note for note in result.tables()[0].notes)
    three = compare_layers(states, y, groups=groups, methods=["ridge"], folds=3, n_permutations=9)
    assert len(three.chosen) == 1


def test_columns_are_standardized_by_default():
    states, y, groups = planted([2.0])
    rows = states[0].copy()
    rows[:, 5] *= 300.0  # as in language models: a few columns are hundreds of times larger than the others
    states = States.of_arrays([rows], states.texts)
    options = {"groups": groups, "methods": ["mean-difference"], "n_permutations": 9}
    assert compare_layers(states, y, **options).scores[0].auc > 0.8
    assert compare_layers(states, y, standardize=False, **options).scores[0].auc < 0.7


def twins(n_pairs=60, width=40, seed=0):
    """Texts that differ in one word, with nearly the same state and random labels: one reveals the other's label."""
    generator = np.random.default_rng(seed)
    words = [
        f"{first}{second}" for first in "bdfgklmn" for second in ("ab", "ol", "ix", "um", "er", "ang", "ost", "ip")
    ]
    texts = [f"the {word} said that {who} left" for word in words[:n_pairs] for who in ("he", "she")]
    y = np.concatenate([generator.permutation([1, -1]) for _ in range(n_pairs)])
    rows = np.repeat(generator.normal(size=(n_pairs, width)), 2, axis=0) + 0.01 * generator.normal(size=(len(y), width))
    return States.of_arrays([rows, rows], texts), y


def test_texts_that_differ_in_one_word_are_held_out_together_by_default():
    states, y = twins()
    options = {"methods": ["ridge"], "n_permutations": 9}
    result = compare_layers(states, y, **options)
    assert (result.grouped, result.n_groups) == ("as proposed", 60)
    assert any("held out together (proposed groups)" in note for note in result.tables()[0].notes)
    alone = compare_layers(states, y, groups="none", **options)
    assert (alone.grouped, alone.n_groups) == ("each text alone", 120)
    assert alone.scores[0].auc < 0.2  # the twin of a text has the other label
    assert result.scores[0].auc > 0.3
    assert "groups: proposed" in " ".join(alone.tables()[0].notes)  # the result says what would be better
    given = np.repeat(np.arange(30), 4)
    stored = compare_layers(states.labelled(y.tolist(), given.tolist()), **options)
    assert (stored.grouped, stored.n_groups) == ("as given", 30)
    assert compare_layers(states.labelled(y.tolist(), given.tolist()), groups="none", **options).n_groups == 120
    with pytest.raises(DensRayError, match="'proposed' or 'none'"):
        compare_layers(states, y, groups="forms", **options)


def test_proposed_groups_that_allow_no_folds_are_named():
    texts = ["he said it", "she said it"] * 6
    states = States.of_arrays([np.random.default_rng(0).normal(size=(12, 4))], texts)
    with pytest.raises(TaskError, match=r"proposed groups .* at least two groups .*groups='none'"):
        compare_layers(states, [1, -1] * 6, methods=["ridge"], n_permutations=9)


def test_a_first_block_that_reads_as_well_is_named_if_there_are_no_controls():
    options = {"methods": ["mean-difference"], "n_permutations": 9}
    states, y, groups = planted([3.0, 3.0])
    said = "Readable after the first block already, which may be a surface feature."
    assert said in compare_layers(states, y, groups=groups, **options).summary
    noise = States.of_arrays([np.random.default_rng(1).normal(size=(80, 16))], states.texts)
    with_controls = compare_layers(states, y, groups=groups, controls={"embeddings": noise}, **options)
    assert "first block" not in with_controls.summary
    for other in (planted([0.0, 3.0])[0], planted([0.0, 0.0])[0], planted([3.0])[0]):
        assert said not in compare_layers(other, y, groups=groups, **options).summary


@pytest.mark.parametrize("seed", range(6))
def test_intervals_over_few_unequal_groups_contain_their_estimate(seed):
    """Eight groups of 2 to 16 texts."""
    generator = np.random.default_rng(seed)
    groups = np.repeat(np.arange(8), [2, 2, 4, 4, 6, 8, 12, 16])
    y = np.tile([1, -1], len(groups) // 2)
    rows = generator.normal(size=(8, 10))[groups] + generator.normal(size=(len(groups), 10))
    rows[:, 0] += 0.5 * y
    states = States.of_arrays([rows, rows[:, ::-1] * 0.5], [f"text {number}" for number in range(len(groups))])
    result = compare_layers(states, y, groups=groups, methods=["ridge", "mean-difference"], n_permutations=9)
    for score in (*result.scores, *result.chosen):
        assert score.interval.low <= score.auc <= score.interval.high


def test_the_verdict_claims_nothing_beyond_chance():
    options = {"methods": ["mean-difference"], "standardize": False, "n_permutations": 9}
    states, y, groups = planted([0.0, 0.0], seed=3)
    result = compare_layers(states, y, groups=groups, **options)
    assert result.summary.startswith("Not detected beyond chance: mean-difference, the best method, has AUC ")
    states, y, groups = planted([0.0, 3.0], seed=3)
    assert compare_layers(states, y, groups=groups, **options).summary.startswith("Detected by mean-difference")


def test_texts_from_templates_without_groups_are_reported():
    rng = np.random.default_rng(0)
    words, places = [f"word{number}" for number in range(12)], ["the garden", "a house", "this street"]
    texts = [f"{word} is in {place}." for word in words for place in places]
    codes = rng.normal(size=(12, 24))
    X = np.repeat(codes, 3, axis=0) + 0.1 * rng.normal(size=(36, 24))
    y = np.repeat(rng.permutation([1] * 6 + [-1] * 6), 3)  # labels of words, drawn at random
    options = {"methods": ["mean-difference"], "n_permutations": 9}
    states = States.of_arrays([X, X], texts)
    alone = compare_layers(states, y, **options)
    assert alone.chosen[0].auc > 0.9  # no concept, only words that are seen again
    assert "36 of 36 texts come from templates and are held out separately" in alone.summary
    grouped = compare_layers(states, y, groups=np.repeat(words, 3), **options)
    assert grouped.n_templated == 0
    assert "templates" not in grouped.summary
    pairs, y, _ = planted([0.0, 3.0])
    assert compare_layers(pairs, y, groups="none", **options).n_templated == 0


def test_too_few_permutations_are_refused_and_a_failed_fit_is_no_absent_concept():
    states, y, groups = planted([0.0, 3.0])
    with pytest.raises(TaskError, match=r"too small\. A test needs at least 1 permutation"):
        compare_layers(states, y, groups=groups, methods=["mean-difference"], n_permutations=0)
    constant = States.of_arrays([np.ones((80, 4)), np.ones((80, 4))], [f"text {row}" for row in range(80)])
    result = compare_layers(constant, y, groups=groups, methods=["mean-difference"], n_permutations=9)
    assert result.summary.startswith("No axis could be fitted: ")
