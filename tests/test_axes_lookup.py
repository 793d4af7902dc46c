"""A ranked vocabulary looked up: ends, words and seeds, with the errors the whole scoring gives."""

from __future__ import annotations

import numpy as np
import pytest

from densray import Axis, Lexicon, WordSpace
from densray.axes import axis_change, degrees_between, find_rows, induce, rank_words
from densray.errors import TaskError
from planted import along

LEXICON = Lexicon({"good": 1, "nice": 1, "excellent": 1, "bad": -1, "nasty": -1, "poor": -1})


@pytest.fixture(scope="module")
def bare(googlenews):
    """A ranking without errors."""
    return rank_words(Axis.fit(find_rows(googlenews, LEXICON)), googlenews)


def test_ends_and_words_carry_the_figures_of_the_whole_vocabulary(googlenews, bare):
    whole = induce(googlenews, LEXICON).to_polars()
    ends = bare.ends(5, errors=True)
    assert [entry["word"] for entry in ends] == [*whole["word"][:5], *whole["word"][-5:]]
    expected = {row["word"]: row for row in whole.iter_rows(named=True)}
    for entry in [*ends, *bare.lookup(["queen", "no such word", "good"], errors=True)]:
        row = expected[entry["word"]]
        assert (entry["rank"], entry["percentile"]) == (row["rank"], row["percentile"])
        for name in ("score", "probability", "standard_error"):
            assert entry[name] == pytest.approx(row[name], abs=1e-6)


def test_words_that_are_missing_are_left_out_and_a_bare_ranking_has_no_errors(bare):
    found = bare.lookup(["no such word", "queen"])
    assert [entry["word"] for entry in found] == ["queen"]
    assert "standard_error" not in found[0]


def test_a_small_vocabulary_is_shown_once(googlenews):
    space = googlenews.subset([*LEXICON.words, "queen"])
    ranking = rank_words(Axis.fit(find_rows(space, LEXICON)), space)
    assert len(ranking.ends(10)) == len(space)
    with pytest.raises(TaskError, match="n_words is 0"):
        ranking.ends(0)


def test_seeds_are_split_by_label(googlenews, bare):
    sides = bare.seed_scores()
    assert sides["high seeds"].min() > sides["low seeds"].max()
    assert len(sides["high seeds"]) == len(sides["low seeds"]) == 3
    scores = Lexicon({"good": 3, "nice": 2, "fine": 1.5, "bad": 0.5})
    ranking = rank_words(Axis.fit(find_rows(googlenews, scores)), googlenews)
    assert [len(side) for side in ranking.seed_scores().values()] == [2, 2]


def test_an_axis_that_did_not_move_has_not_changed(bare):
    change = axis_change(bare, bare)
    assert change.degrees == 0.0
    assert change.spearman == pytest.approx(1.0)
    assert all(row["shift"] == 0.0 for row in change.risen)


def test_a_seed_taken_out_falls_and_the_angle_is_that_of_the_axes(googlenews, bare):
    after = rank_words(Axis.fit(find_rows(googlenews, LEXICON.without(["excellent"]))), googlenews)
    change = axis_change(bare, after, n_words=20)
    assert "excellent" in [row["word"] for row in change.fallen]
    cosine = bare.axis.direction @ after.axis.direction
    assert change.degrees == pytest.approx(np.degrees(np.arccos(cosine)), abs=1e-6)
    assert change.spearman < 1.0
    moved = change.risen[0]
    row = googlenews.locate([moved["word"]])[0]
    assert (moved["before"], moved["after"]) == (bare.rank[row], after.rank[row])


def test_rankings_of_two_vocabularies_are_refused(googlenews, bare):
    with pytest.raises(TaskError, match="26,423 and 100 words"):
        axis_change(bare, rank_words(bare.axis, googlenews.limit(100)))


@pytest.mark.parametrize("degrees", [0.0, 1e-6, 30.0, 90.0, 180.0])
def test_the_angle_is_right_where_a_cosine_would_lose_it(degrees):
    turned = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    assert degrees_between(np.array([1.0, 0.0]), turned) == pytest.approx(degrees, rel=1e-9, abs=1e-12)


def test_one_word_of_each_end_and_equal_scores_in_the_order_of_the_space():
    words = [f"word{number:02}" for number in range(40)]
    space = WordSpace(words, np.tile([1.0, 0.0], (40, 1)))
    ranking = rank_words(along([1.0, 0.0]), space)
    assert [row["word"] for row in ranking.highest] == words[:10]
    assert [row["word"] for row in ranking.lowest] == words[:-11:-1]
    assert [entry["word"] for entry in ranking.ends(1)] == [words[0], words[-1]]
    assert [entry["word"] for entry in ranking.ends(20)] == words
    assert [entry["word"] for entry in ranking.lookup([words[0], words[-1]])] == [words[0], words[-1]]
