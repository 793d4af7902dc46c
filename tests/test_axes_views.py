"""Words on named axes: coordinates as the axes give them, and how two axes stand to each other."""

from __future__ import annotations

import numpy as np
import pytest

from densray import Axis, Lexicon, WordSpace
from densray.axes import (
    axis_change,
    axis_ends,
    axis_relation,
    find_rows,
    map_frame,
    map_rows,
    rank_words,
    standardized,
    words_like_seeds,
)
from densray.errors import TaskError
from planted import along

RNG = np.random.default_rng(0)
SPACE = WordSpace([f"w{number}" for number in range(50)], RNG.normal(size=(50, 4)).astype(np.float32))


FIRST, SECOND = rank_words(along([1, 0, 0, 0]), SPACE), rank_words(along([1, 1, 0, 0]), SPACE)
AXES = {"first": FIRST, "second": SECOND}


def test_coordinates_are_those_of_unit_vectors_along_the_axes():
    rows = map_rows(AXES, [3, 41])
    for row, number in zip(rows, [3, 41], strict=True):
        unit = SPACE.vectors[number] / np.linalg.norm(SPACE.vectors[number])
        assert row["word"] == f"w{number}"
        assert [row["first"], row["second"]] == pytest.approx(
            [unit @ FIRST.axis.direction, unit @ SECOND.axis.direction], abs=1e-6
        )
        assert isinstance(row["first"], float)


def test_ranks_are_those_of_the_whole_vocabulary():
    scores = FIRST.scores.score
    for row in map_rows(AXES, range(50)):
        assert row["first rank"] == 1 + sum(scores > row["first"])
    assert map_rows(AXES, []) == []


def test_the_frame_holds_every_word_in_the_order_of_the_space():
    frame = map_frame(AXES)
    assert frame.columns == ["word", "first", "first rank", "second", "second rank"]
    assert frame.rows(named=True) == map_rows(AXES, range(50))


def test_axes_of_different_vocabularies_make_no_map():
    other = rank_words(along([0, 1, 0, 0]), SPACE.limit(20))
    with pytest.raises(TaskError, match="first: 50 words, other: 20 words"):
        map_rows({"first": FIRST, "other": other}, [0])
    with pytest.raises(TaskError, match="none are given"):
        map_frame({})


def test_the_angle_is_of_the_axes_and_the_correlation_of_the_words_shown():
    relation = axis_relation(FIRST, SECOND, range(50))
    assert relation.degrees == pytest.approx(45.0)
    assert relation.correlation == pytest.approx(np.corrcoef(FIRST.scores.score, SECOND.scores.score)[0, 1])
    part = axis_relation(FIRST, SECOND, range(10)).correlation
    assert part is not None
    assert part != pytest.approx(relation.correlation)


def test_an_axis_and_itself_and_its_opposite():
    same, opposite = (
        axis_relation(FIRST, FIRST, range(50)),
        axis_relation(FIRST, rank_words(along([-1, 0, 0, 0]), SPACE), range(50)),
    )
    assert (same.degrees, same.correlation) == pytest.approx((0.0, 1.0))
    assert (opposite.degrees, opposite.correlation) == pytest.approx((180.0, -1.0))


def test_one_word_or_none_correlates_with_nothing():
    assert axis_relation(FIRST, SECOND, [7]).correlation is None
    assert axis_relation(FIRST, SECOND, []).correlation is None


def test_the_ends_are_named_by_the_seeds_nearest_to_the_mean_of_their_side():
    vectors = [[1.0, 0.0], [1.0, 0.1], [1.0, -0.2], [-1.0, 0.0], [-1.0, 0.05], [0.0, 1.0]]
    seeds = find_rows(WordSpace(list("abcdef"), vectors), Lexicon({"a": 1, "b": 1, "c": 1, "d": -1, "e": -1, "f": -1}))
    low, high = axis_ends(seeds, n_words=1)
    assert (low, high) == (["e"], ["a"])


def test_the_ends_of_scores_are_the_outermost():
    seeds = find_rows(SPACE, Lexicon({f"w{number}": float(number % 7) + number / 100 for number in range(50)}))
    low, high = axis_ends(seeds, n_words=2)
    assert set(low) <= {"w0", "w7", "w14"}
    assert set(high) <= {"w48", "w41", "w34"}


def test_words_like_the_seeds_of_an_end_are_near_them_on_its_side_and_no_seeds():
    random = np.random.default_rng(1)
    vectors = np.vstack([random.normal(size=(20, 4)) * 0.1 + side for side in ([1, 0, 0, 1], [-1, 0, 0, 1])])
    words = [f"{end}{number}" for end in ("up", "down") for number in range(20)]
    space = WordSpace(words, vectors)
    seeds = find_rows(space, Lexicon.from_word_lists(["up0", "up1", "up2"], ["down0", "down1", "down2"]))
    ranking = rank_words(Axis.fit(seeds, "mean-difference"), space)
    high, low = words_like_seeds(ranking, n_words=5)
    assert len(high) == len(low) == 5
    assert all(word.startswith("up") for word in high)
    assert all(word.startswith("down") for word in low)
    assert not {*high, *low} & set(seeds.names)


def test_of_seeds_with_scores_the_outermost_tenth_may_name_an_end_and_no_fewer_than_asked_for():
    # of fifty on a side five are the outermost; the sixth is the most typical of all
    angles = np.radians(np.arange(100) % 50 * 1.0)
    angles[[5, 94]] = angles.reshape(2, 50).mean()
    labels = np.where(np.arange(100) < 50, -100.0, 100.0) + np.arange(100)
    space = WordSpace([f"w{row}" for row in range(100)], np.column_stack([np.cos(angles), np.sin(angles)]))
    seeds = find_rows(space, Lexicon({f"w{row}": float(labels[row]) for row in range(100)}))
    assert axis_ends(seeds) == (["w4", "w3"], ["w95", "w96"])
    low, high = axis_ends(seeds, n_words=6)
    assert (low[0], high[0]) == ("w5", "w94")
    assert set(low) == {f"w{row}" for row in range(6)}
    assert [len(end) for end in axis_ends(seeds, n_words=1)] == [1, 1]


def test_what_changed_is_ten_words_either_way_in_standard_deviations():
    change = axis_change(FIRST, SECOND)
    assert (len(change.risen), len(change.fallen)) == (10, 10)
    scores = [each.scores.score for each in (FIRST, SECOND)]
    shift = [(each - each.mean()) / each.std() for each in scores]
    shift = shift[1] - shift[0]
    order = np.argsort(shift)
    assert [row["word"] for row in change.risen] == [SPACE.words[row] for row in order[::-1][:10]]
    assert [row["word"] for row in change.fallen] == [SPACE.words[row] for row in order[:10]]
    assert change.risen[0]["shift"] == pytest.approx(shift.max())
    assert change.spearman == pytest.approx(np.corrcoef(FIRST.rank, SECOND.rank)[0, 1])
    assert change.degrees == pytest.approx(45.0)
    assert standardized(np.ones(4)).tolist() == [0.0] * 4


def test_words_of_one_coordinate_correlate_with_nothing():
    flat = WordSpace([f"w{row}" for row in range(5)], np.column_stack([np.ones(5), np.arange(5.0)]))
    one, other = (rank_words(along(axis, normalize=False), flat) for axis in ([1.0, 0.0], [0.0, 1.0]))
    assert axis_relation(one, other, range(5)).correlation is None
    assert axis_relation(other, other, [0, 1]).correlation == pytest.approx(1.0)
