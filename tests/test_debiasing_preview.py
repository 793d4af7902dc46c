"""A removal tried on the words in view: the same numbers as on the whole space."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from densray import Erasure, Lexicon, WordSpace
from densray.datasets import load_lexicon, load_similarity, load_word_list
from densray.debiasing import (
    MeasuredSpace,
    Measurement,
    RemovalResult,
    anchor_gap,
    common_words,
    concept_of,
    direct_bias,
    evaluate_removal,
    load_concept,
    pair_direction,
    preview_removal,
    similarity,
    summarize_recovery,
    typical_anchors,
)
from densray.errors import DensRayError, TaskError, UnknownWordError
from densray.metrics import Interval
from densray.report import Provenance

ANCHORS = ("man", "woman")


@pytest.fixture(scope="module")
def gender() -> Lexicon:
    return load_lexicon("gender")


@pytest.fixture(scope="module")
def occupations() -> list[str]:
    return load_word_list("occupations")


@pytest.mark.parametrize("remover", ["densray-unit", "ridge:3", "inlp:5", "random:2"])
def test_the_words_in_view_get_what_the_whole_space_would_give_them(googlenews, gender, occupations, remover):
    men = load_similarity("men")
    shown = preview_removal(
        googlenews, Erasure.fit(gender.align(googlenews), remover), occupations, ANCHORS, ratings=[men]
    )
    unit = googlenews.normalized()
    whole = Erasure.fit(gender.align(unit, order="lexicon"), remover, normalize=False).apply(unit)
    for found, space in ((shown.before, unit), (shown.after, whole)):
        expected = anchor_gap(space, occupations, ANCHORS)
        assert found.words == expected.words
        np.testing.assert_allclose(found.cosines, expected.cosines, atol=1e-5)
    rows = {row["measure"]: row for row in shown.measures}
    assert rows["men"]["after"] == pytest.approx(similarity(whole, men).value, abs=1e-4)
    assert rows["anchor gap"]["before"] == shown.before.value


def test_removing_gender_brings_occupations_to_the_line_and_random_directions_do_not(googlenews, gender, occupations):
    gaps = {
        name: preview_removal(googlenews, Erasure.fit(gender.align(googlenews), name), occupations, ANCHORS)
        for name in ("densray-unit", "random")
    }
    assert gaps["densray-unit"].after.value < 0.75 * gaps["densray-unit"].before.value
    assert gaps["random"].after.value == pytest.approx(gaps["random"].before.value, rel=0.05)


def test_words_to_keep_stay_where_they_were(googlenews, gender):
    erasure = Erasure.fit(gender.align(googlenews), "densray-unit")
    shown = preview_removal(googlenews, erasure, ["nurse", "boss"], ANCHORS, keep=["nurse", *ANCHORS])
    change = {row["word"]: row["after"] - row["before"] for row in shown.words()}
    assert change["nurse"] == 0.0
    assert change["boss"] != 0.0
    assert [row["word"] for row in shown.words()] == ["boss", "nurse"]


def test_anchors_named_as_a_column_are_drawn_all_the_same(googlenews, gender):
    erasure = Erasure.fit(gender.align(googlenews), "mean-difference")
    shown = preview_removal(googlenews, erasure, ["nurse"], ("space", "word"))
    row = shown.scatter()[0]
    assert row["word"] == "nurse"
    assert row["space"] == "original"
    assert row[shown.names[0]] == pytest.approx(googlenews.cosine("nurse", "space"), abs=1e-6)


def test_ratings_without_words_say_so_in_place_of_a_number():
    space = WordSpace(["ja", "nein", "gut", "schlecht"], np.eye(4) + 0.1)
    erasure = Erasure.fit(Lexicon({"ja": 1, "nein": -1}).align(space), "mean-difference")
    shown = preview_removal(space, erasure, ["gut"], ("ja", "nein"), ratings=[load_similarity("men")])
    last = shown.measures[-1]
    assert np.isnan(last["before"])
    assert "0 of" in last["reason"]
    assert len(shown.tables()) == 2


@pytest.mark.parametrize(
    ("anchors", "neutral", "error", "said"),
    [
        (("man", "man"), ["nurse"], TaskError, "two different words"),
        (("man", "qqzz"), ["nurse"], UnknownWordError, r"'qqzz' not in 'googlenews-26k' \(26,423 words\)"),
        (ANCHORS, ["qqzz"], DensRayError, "0 of 1 words"),
    ],
)
def test_bad_words_are_named(googlenews, gender, anchors, neutral, error, said):
    with pytest.raises(error, match=said):
        preview_removal(googlenews, Erasure.fit(gender.align(googlenews), "ridge"), neutral, anchors)


def test_more_axes_than_rows_are_refused_and_axes_without_signal_are_named(googlenews):
    rows = Lexicon.from_word_lists(["good", "nice", "great"], ["bad", "nasty", "poor"]).align(googlenews)
    with pytest.raises(DensRayError, match="50 axes were asked for, but there are only 6 labelled rows"):
        Erasure.fit(rows, "densray-unit:50")
    with pytest.raises(DensRayError, match="the space has 300 dimensions"):
        Erasure.fit(rows, "random:301")
    assert Erasure.fit(rows, "densray:3").remarks[0].startswith("3 axes were asked for, but only 1 carries signal")
    for enough in ("densray", "ridge:3", "random:2"):
        assert Erasure.fit(rows, enough).remarks == ()


def test_the_erased_space_is_that_of_the_words_in_view(googlenews, gender):
    erasure = Erasure.fit(gender.align(googlenews), "densray-unit:2")
    part = googlenews.limit(300)
    erased = part.erased(erasure)
    shown = preview_removal(googlenews, erasure, part.words[:50], (part.words[60], part.words[61]))
    expected = erased.cosines(list(part.words[:50]), [part.words[60], part.words[61]])
    np.testing.assert_allclose(shown.after.cosines, expected, atol=1e-5)
    np.testing.assert_allclose(erased.vectors @ erasure.right.T, 0.0, atol=1e-5)


@pytest.mark.slow
def test_leace_comes_at_unit_length(googlenews, gender):
    erasure = Erasure.fit(gender.align(googlenews), "leace")
    part = googlenews.subset(["nurse", "boss", *ANCHORS])
    longer = part.with_vectors(part.vectors * 3.0)
    shown = preview_removal(googlenews, erasure, ["nurse", "boss"], ANCHORS)
    assert not erasure.is_linear  # learned at unit length, where it belongs
    expected = erasure.apply(longer).cosines(["nurse", "boss"], list(ANCHORS))
    np.testing.assert_allclose(shown.after.cosines, expected, atol=1e-5)


def test_anchors_are_the_preferred_seeds_or_the_most_typical(googlenews, gender, sentiment):
    assert typical_anchors(googlenews, gender) == ANCHORS
    reversed_labels = Lexicon({word: -label for word, label in gender.items()})
    assert typical_anchors(googlenews, reversed_labels) == ("woman", "man")
    assert typical_anchors(googlenews, sentiment) == ("wonderful", "stupid")


def test_direct_bias_is_along_the_pairs_as_the_evaluation_has_it(googlenews, gender):
    erasure = Erasure.fit(gender.align(googlenews), "mean-difference")
    pairs = [("he", "she"), ("his", "her"), ("man", "woman")]
    shown = preview_removal(googlenews, erasure, ["nurse", "boss", "maid"], ANCHORS, pairs=pairs)
    unit = googlenews.normalized()
    expected = direct_bias(unit, ["nurse", "boss", "maid"], pair_direction(unit, pairs)).value
    assert shown.measures[1]["before"] == pytest.approx(expected, abs=1e-6)


def test_common_words_are_the_first_but_for_the_excluded(googlenews):
    first = googlenews.words[:5]
    assert common_words(googlenews, 4, exclude=[first[1]]) == [first[0], *first[2:5]]


@pytest.mark.slow
def test_a_concept_of_own_words_has_numbers_or_reasons():
    """A language the bundled sets do not know: numbers where words are, reasons elsewhere, and no failure."""
    random = np.random.default_rng(0)
    words = [f"wort{number}" for number in range(80)]
    vectors = random.normal(size=(80, 10))
    vectors[:, 0] += np.repeat([2.0, -2.0], 40)
    lexicon = Lexicon.from_word_lists(words[:8], words[40:48], name="own")
    concept = concept_of(lexicon, (words[0], words[40]), words[:8], keep=[words[70]])
    assert set(lexicon.words) | {words[70]} == set(concept.keep)
    result = evaluate_removal(WordSpace(words, vectors), concept, ["mean-difference"])
    original, erased = result.spaces
    assert original.name == "original"
    assert np.isnan(erased["men"].value)
    assert np.isnan(erased["neighbour correlation"].value)  # all neutral words are of the lexicon
    assert "0 of" in erased["men"].reason
    assert erased["recovery (linear)"].value <= original["recovery (linear)"].value
    line = summarize_recovery(result)
    assert "“mean-difference”" in line
    assert "words that leaned most to either end" in line


def test_the_lists_of_a_known_concept_come_along(gender):
    concept = concept_of(gender, ("boy", "girl"), ["nurse", "boss", "doctor"])
    known = load_concept("gender")
    assert concept.associations == known.associations
    assert concept.anchors == ("boy", "girl")
    assert concept.poles is None
    assert set(known.keep) < set(concept.keep)


@pytest.mark.parametrize(
    ("accuracy", "said", "grade"),
    [
        (0.98, "Covered up, not gone: ", "weak"),
        (0.7, "Some of the concept is still there: ", "weak"),
        (0.57, "These tests find hardly any of the concept: ", "fair"),
        (0.52, "These tests find hardly any of the concept: ", "good"),
    ],
)
def test_the_headline_says_what_the_best_test_recovers(accuracy, said, grade):
    def space(name, value):
        tests = {"recovery (linear)": value - 0.1, "recovery (rbf)": value, "cluster accuracy": 0.5}
        measured = (
            Measurement(test, found, Interval(found - 0.04, found + 0.04), used=5000) for test, found in tests.items()
        )
        return MeasuredSpace(name, tuple(measured), ())

    spaces = (space("original", 1.0), space("ridge", accuracy))
    result = RemovalResult("own", ("he", "she"), spaces, provenance=Provenance.begin())
    line = summarize_recovery(result)
    assert line.startswith(f"{said}after “ridge”, a classifier ")
    assert f"{accuracy:.0%} of unseen biased words (before: 100%; chance: 50%)" in line
    assert ("still predicts" in line) == (accuracy > 0.6)
    assert "5,000 words" in line
    assert result.grade == grade
    assert replace(result, spaces=spaces[:1]).grade is None
