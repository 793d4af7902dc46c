"""Layers compared: a planted concept is found at its layer, none where there is none, and nobody peeks."""

from __future__ import annotations

import numpy as np
import pytest

from densray.errors import TaskError
from densray.report import to_json
from densray.states import States, compare_layers


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
    result = compare_layers(states, y, groups=groups, n_permutations=99)
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


def test_without_a_concept_the_chosen_layer_reads_at_chance():
    """The best of twenty layers looks good with hindsight; the layer chosen inside the folds does not."""
    hindsight, honest, p_values, p_of_best = [], [], [], []
    for seed in range(6):
        states, y, groups = planted([0.0] * 20, seed=seed)
        result = compare_layers(states, y, groups=groups, methods=["mean-difference"], n_permutations=99)
        hindsight.append(max(score.auc for score in result.scores))
        honest.append(result.chosen[0].auc)
        p_values += [score.p_value for score in result.scores]
        p_of_best.append(result.chosen[0].p_value)
    assert np.mean(hindsight) > 0.58
    assert abs(np.mean(honest) - 0.5) < 0.06
    assert 0.01 <= np.mean(np.array(p_values) <= 0.05) <= 0.10
    assert np.min(p_of_best) > 0.02  # though the best of twenty p is smaller than that
    assert np.min(p_values) <= 0.02


def test_every_text_has_a_score_of_an_axis_that_has_not_seen_it():
    states, y, groups = planted([0.0, 3.0])
    states = states.labelled(["man" if label > 0 else "boy" for label in y], groups)
    result = compare_layers(states, methods=["mean-difference"], n_permutations=9)  # labels and groups of the states
    assert result.ends == ("boy", "man")
    assert result.n_groups == 40
    rows = result.ranked_texts(states, 1, "mean-difference")
    assert [row["held_out"] for row in rows] == sorted((row["held_out"] for row in rows), reverse=True)
    assert np.mean([row["right"] for row in rows]) > 0.95
    assert rows[0]["label"] == "man"
    assert abs(np.mean([row["right"] for row in result.ranked_texts(states, 0, "mean-difference")]) - 0.5) < 0.2
    assert abs(result.axes[1, "mean-difference"][0]) > 0.9
    assert "held_out" not in result.to_dict()
    with pytest.raises(TaskError, match="no axis was fitted"):
        result.ranked_texts(states, 7, "ridge")
    with pytest.raises(TaskError, match="hold no labels"):
        compare_layers(planted([1.0])[0])


def test_a_group_is_held_out_whole():
    """Rows of one group are copies: whoever splits them reads the copies, not the concept."""
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 4)
    y = np.repeat(generator.permutation([1, -1] * 15), 4)
    rows = np.repeat(generator.normal(size=(30, 60)), 4, axis=0) + 0.01 * generator.normal(size=(120, 60))
    states = States.of_arrays([rows], [f"text {number}" for number in range(120)])
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
    assert "AUROC" in str(chart)


def test_bad_labels_and_groups_are_named():
    states, y, _ = planted([1.0], n_groups=4)
    with pytest.raises(TaskError, match="one per text"):
        compare_layers(states, y[:-1])
    with pytest.raises(TaskError, match="two classes"):
        compare_layers(states, np.zeros(len(y)))
    with pytest.raises(TaskError, match="groups are given"):
        compare_layers(states, y, groups=[1, 2])
    with pytest.raises(TaskError, match="one group"):
        compare_layers(states, y, groups=[1] * len(y))
    with pytest.raises(TaskError, match="one class only"):
        compare_layers(states, y, groups=(y > 0).astype(int), folds=2)
