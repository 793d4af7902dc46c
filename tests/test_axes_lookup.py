"""A ranked vocabulary looked up: ends, words and seeds, with the errors the whole scoring gives."""

from __future__ import annotations

import numpy as np
import pytest

from densray import Lexicon, WordSpace
from densray.axes._evidence import degrees_between
from densray.axes._model import AxisModel
from densray.axes._options import find_seeds, fit_rotation
from densray.axes._scoring import score_vocabulary
from densray.axes._views import axis_change
from densray.errors import TaskError

LEXICON = Lexicon({"good": 1, "nice": 1, "excellent": 1, "bad": -1, "nasty": -1, "poor": -1})


@pytest.fixture(scope="module")
def bare(googlenews):
    """A ranking without errors, and the model that knows them."""
    seeds = find_seeds(googlenews, LEXICON)
    rotation = fit_rotation("ridge", seeds)
    ranking = score_vocabulary(googlenews, AxisModel(rotation.components_[0]), method="ridge", seeds=seeds)
    return ranking, AxisModel.of(rotation, seeds, googlenews), rotation.components_[0]


def test_ends_and_words_carry_what_scoring_the_whole_vocabulary_gives(googlenews, bare):
    ranking, model, _ = bare
    whole = score_vocabulary(googlenews, model, method="ridge").to_polars()
    ends = ranking.ends(5, space=googlenews, model=model)
    assert [entry["word"] for entry in ends] == [*whole["word"][:5], *whole["word"][-5:]]
    expected = {row["word"]: row for row in whole.iter_rows(named=True)}
    for entry in [*ends, *ranking.lookup(["queen", "no such word", "good"], space=googlenews, model=model)]:
        row = expected[entry["word"]]
        assert (entry["rank"], entry["percentile"]) == (row["rank"], row["percentile"])
        for name in ("score", "probability", "standard_error"):
            assert entry[name] == pytest.approx(row[name], abs=1e-6)


def test_words_that_are_missing_are_left_out_and_a_bare_ranking_has_no_errors(googlenews, bare):
    found = bare[0].lookup(["no such word", "queen"])
    assert [entry["word"] for entry in found] == ["queen"]
    assert "standard_error" not in found[0]


def test_a_small_vocabulary_is_shown_once(googlenews):
    space = googlenews.subset([*LEXICON.words, "queen"])
    seeds = find_seeds(space, LEXICON)
    ranking = score_vocabulary(
        space, AxisModel(fit_rotation("ridge", seeds).components_[0]), method="ridge", seeds=seeds
    )
    assert len(ranking.ends(10)) == len(space)
    with pytest.raises(TaskError, match="n_words is 0"):
        ranking.ends(0)


def test_seeds_are_parted_by_label(googlenews, bare):
    sides = bare[0].seed_scores()
    assert sides["high seeds"].min() > sides["low seeds"].max()
    assert len(sides["high seeds"]) == len(sides["low seeds"]) == 3
    seeds = find_seeds(googlenews, Lexicon({"good": 3, "nice": 2, "fine": 1.5, "bad": 0.5}))
    ranking = score_vocabulary(
        googlenews, AxisModel(fit_rotation("ridge", seeds).components_[0]), method="r", seeds=seeds
    )
    assert [len(side) for side in ranking.seed_scores().values()] == [2, 2]


def test_an_axis_that_did_not_move_has_not_changed(bare):
    ranking, _, axis = bare
    change = axis_change(ranking, ranking, (axis, axis))
    assert change.degrees == 0.0
    assert change.spearman == pytest.approx(1.0)
    assert all(row["shift"] == 0.0 for row in change.risen)


def test_a_seed_taken_out_falls_and_the_angle_is_that_of_the_axes(googlenews, bare):
    ranking, _, axis = bare
    seeds = find_seeds(googlenews, LEXICON.without(["excellent"]))
    other = fit_rotation("ridge", seeds).components_[0]
    after = score_vocabulary(googlenews, AxisModel(other), method="ridge", seeds=seeds)
    change = axis_change(ranking, after, (axis, other), n_words=20)
    assert "excellent" in [row["word"] for row in change.fallen]
    assert change.degrees == pytest.approx(np.degrees(np.arccos(axis @ other)), abs=1e-6)
    assert change.spearman < 1.0
    assert [table.title for table in change.tables()] == ["Risen most", "Fallen most"]
    moved = change.risen[0]
    rows = googlenews.locate([moved["word"]])
    assert (moved["before"], moved["after"]) == (ranking.rank[rows[0]], after.rank[rows[0]])


def test_rankings_of_two_vocabularies_are_refused(googlenews, bare):
    ranking, _, axis = bare
    small = score_vocabulary(googlenews.limit(100), AxisModel(axis), method="ridge")
    with pytest.raises(TaskError, match="26,423 and 100 words"):
        axis_change(ranking, small, (axis, axis))


@pytest.mark.parametrize("degrees", [0.0, 1e-6, 30.0, 90.0, 180.0])
def test_the_angle_is_right_where_a_cosine_would_lose_it(degrees):
    turned = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    assert degrees_between(np.array([1.0, 0.0]), turned) == pytest.approx(degrees, rel=1e-9, abs=1e-12)


def test_one_word_of_each_end_and_equal_scores_in_the_order_of_the_space():
    words = [f"word{number:02}" for number in range(40)]
    space = WordSpace(words, np.tile([1.0, 0.0], (40, 1)))
    ranking = score_vocabulary(space, AxisModel(np.array([1.0, 0.0])), method="given")
    assert [row["word"] for row in ranking.highest] == words[:10]
    assert [row["word"] for row in ranking.lowest] == words[:-11:-1]
    assert [entry["word"] for entry in ranking.ends(1)] == [words[0], words[-1]]
    assert [entry["word"] for entry in ranking.ends(20)] == words
    assert [entry["word"] for entry in ranking.lookup([words[0], words[-1]])] == [words[0], words[-1]]
