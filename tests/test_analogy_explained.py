"""Why an answer has the score it has, why a pair was left out, and what a missed question was asked with."""

from __future__ import annotations

import math

import numpy as np
import pytest

from densray.analogies import AnalogySet
from densray.analogy import SOLVERS, evaluate_analogies, make_solver
from densray.errors import AnalogyError
from densray.space import WordSpace

PAIRS = [("man", "woman"), ("father", "mother"), ("brother", "sister"), ("boy", "girl"), ("son", "daughter")]


@pytest.mark.parametrize("name", SOLVERS)
def test_a_word_is_explained_as_it_was_predicted(googlenews: WordSpace, name: str) -> None:
    solver = make_solver(name, googlenews).fit(PAIRS)
    predicted = solver.predict("uncle", k=4)
    assert [answer.rank for answer in predicted] == [1, 2, 3, 4]
    explained = solver.explain("uncle", predicted[3].word)
    assert explained.rank == solver.rank("uncle", predicted[3].word) == 4
    assert explained.score == pytest.approx(predicted[3].score, abs=1e-5)
    assert explained.parts == pytest.approx(predicted[3].parts, abs=1e-5)


def test_the_parts_of_3cosadd_add_up(googlenews: WordSpace) -> None:
    for answer in make_solver("3cosadd", googlenews).fit(PAIRS).predict("uncle"):
        parts = answer.parts
        total = parts["cosine"] + parts["cosine to the right words"] - parts["cosine to the left words"]
        assert total == pytest.approx(answer.score, abs=1e-5)


def test_the_parts_of_3cosavg_are_proportional_to_its_score(googlenews: WordSpace) -> None:
    answers = make_solver("3cosavg", googlenews).fit(PAIRS).predict("uncle")
    sums = [answer.parts["cosine"] + answer.parts["along the mean difference"] for answer in answers]
    unit = googlenews.normalized()
    offset = np.mean([unit[right] - unit[left] for left, right in PAIRS], axis=0)
    length = np.linalg.norm(unit["uncle"] + offset)
    assert sums == pytest.approx([length * answer.score for answer in answers], abs=1e-5)


def test_a_word_intrank_does_not_consider_has_a_rank_but_no_parts(googlenews: WordSpace) -> None:
    far = make_solver("intrank", googlenews).fit(PAIRS).explain("uncle", "algebra")
    assert far.rank > 100
    assert math.isnan(far.score)
    assert all(math.isnan(part) for part in far.parts.values())


def test_what_cannot_be_an_answer_is_named(googlenews: WordSpace) -> None:
    solver = make_solver("lrcos", googlenews).fit(PAIRS)
    with pytest.raises(AnalogyError, match="'qqqx' is not among"):
        solver.explain("uncle", "qqqx")
    with pytest.raises(AnalogyError, match="the query itself"):
        solver.explain("uncle", "uncle")


def test_pairs_left_out_are_kept_with_the_reason(googlenews: WordSpace) -> None:
    solver = make_solver("3cosavg", googlenews).fit([*PAIRS, ("qqqx", "woman"), ("man", "zzzy")])
    assert [(pair.query, pair.answer, pair.reason.split()[0]) for pair in solver.skipped] == [
        ("qqqx", "woman", "query"),
        ("man", "zzzy", "first"),
    ]
    assert solver.fit(PAIRS).skipped == ()


def test_misses_are_the_questions_whose_first_answer_is_wrong(googlenews: WordSpace) -> None:
    analogies = AnalogySet.from_pairs([*PAIRS, ("uncle", "aunt"), ("king", "queen"), ("good", "better")])
    result = evaluate_analogies(googlenews, analogies, "intcos-original", predictions=True)
    misses = result.misses()
    assert "good" in [miss.query for miss in misses]
    assert len(misses) == round((1 - (result.micro or 0)) * 8)
    assert all(miss.rank != 1 and miss.words[0] not in miss.answers for miss in misses)


def test_a_question_was_asked_with_the_pairs_that_share_no_word_with_it(googlenews: WordSpace) -> None:
    analogies = AnalogySet.from_pairs(
        [("man", "woman"), ("boy", ("girl", "Woman")), ("king", "queen"), ("grandfather", "man")]
    )
    category = analogies.categories[0]
    by_query = {
        one.query: one.examples_of(category, protocol="paper")
        for one in evaluate_analogies(googlenews, analogies, "3cosavg", protocol="paper", predictions=True).predictions
    }
    assert [pair.query for pair in by_query["man"]] == ["boy", "king"]
    assert [pair.query for pair in by_query["boy"]] == ["king", "grandfather"]


def test_a_user_asks_with_all_other_pairs(googlenews: WordSpace) -> None:
    analogies = AnalogySet.from_pairs([("man", "woman"), ("boy", "girl"), ("king", "woman"), ("uncle", "aunt")])
    question = evaluate_analogies(googlenews, analogies, "intcos-original", predictions=True).predictions[0]
    examples = question.examples_of(analogies.categories[0])
    assert [pair.query for pair in examples] == ["boy", "king", "uncle"]
    again = make_solver("intcos-original", googlenews).fit(examples).predict(question.query)
    assert tuple(answer.word for answer in again) == question.words


def test_a_method_of_one_example_was_asked_with_that_one(googlenews: WordSpace) -> None:
    analogies = AnalogySet.from_pairs(PAIRS)
    question = evaluate_analogies(googlenews, analogies, "3cosadd", predictions=True).predictions[0]
    examples = question.examples_of(analogies.categories[0])
    assert [(pair.query, pair.answer) for pair in examples] == [question.example]
    again = make_solver("3cosadd", googlenews).fit(examples).predict(question.query)
    assert tuple(answer.word for answer in again) == question.words
