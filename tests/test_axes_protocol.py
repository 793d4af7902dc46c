"""The protocol of lexicon induction: what it makes of lexicons, and what it refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from densray import Lexicon, WordSpace
from densray.axes import Protocol, TrainTest, fit_method
from densray.axes._protocol import measure_tau
from densray.errors import DensRayError, LexiconError, TaskError
from densray.metrics import tau_interval
from planted import planted_space


def words_of(lexicon: Lexicon, count: int) -> Lexicon:
    return Lexicon(list(lexicon.items())[:count], name="part")


def test_a_split_holds_out_the_share_asked_for_of_the_words_in_the_space() -> None:
    space, lexicon = planted_space()
    larger = Lexicon({**dict(lexicon.items()), **{f"absent{i}": 1.0 for i in range(50)}})
    data = TrainTest.of(space, larger, protocol=Protocol(test_size=0.25))
    assert (len(data.training), len(data.test)) == (150, 50)
    assert not set(data.training.names) & set(data.test.names)
    assert data.coverage == 0.8
    assert len(data.training.missing) == 50


def test_the_seed_draws_the_split() -> None:
    space, lexicon = planted_space()
    first, again, other = (
        TrainTest.of(space, lexicon, protocol=Protocol(random_state=seed)).test.names for seed in (0, 0, 1)
    )
    assert first == again != other


def test_vectors_are_of_unit_length_unless_asked_otherwise() -> None:
    space, lexicon = planted_space()
    unit, plain = (TrainTest.of(space, lexicon, protocol=Protocol(normalize=flag)).test.X for flag in (True, False))
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1.0, rtol=1e-6)
    assert np.ptp(np.linalg.norm(plain, axis=1)) > 1.0


def test_training_words_come_from_the_first_words_of_the_space_only() -> None:
    space, lexicon = planted_space()
    training = TrainTest.of(space, lexicon, protocol=Protocol(training_limit=300)).training
    test = TrainTest.of(space, lexicon, protocol=Protocol(training_limit=300)).test
    assert max(space.locate(training.names)) < 300 <= max(space.locate(test.names))


def test_test_words_are_taken_out_of_training_and_named() -> None:
    space, lexicon = planted_space()
    gold = words_of(lexicon, 60)
    with pytest.warns(UserWarning, match=rf"60 of 60 test words are in the training lexicon \('{gold.words[0]}'"):
        data = TrainTest.of(space, lexicon, gold)
    assert len(data.training) == len(lexicon) - 60
    assert data.overlap == gold.words


def test_test_words_may_stay_in_training_but_not_silently() -> None:
    space, lexicon = planted_space()
    with pytest.warns(UserWarning, match="are not taken out, so the scores are too good"):
        data = TrainTest.of(space, lexicon, words_of(lexicon, 60), protocol=Protocol(disjoint=False))
    assert len(data.training) == len(lexicon)


def test_a_test_lexicon_that_covers_training_is_an_error() -> None:
    space, lexicon = planted_space()
    with pytest.raises(TaskError, match="no training word is left"):
        TrainTest.of(space, lexicon, lexicon)


def test_no_overlap_with_the_space_names_words_and_cause() -> None:
    space, _ = planted_space()
    with pytest.raises(LexiconError, match=r"0 of 2 lexicon words .*'gut', 'schlecht'.*another language"):
        TrainTest.of(space, Lexicon({"gut": 1, "schlecht": -1}))
    with pytest.raises(LexiconError, match="any_case=True"):
        TrainTest.of(space, Lexicon({"WORD1": 1, "WORD300": -1}))


def test_words_in_another_case_are_found_when_asked_for() -> None:
    space, lexicon = planted_space()
    shouted = Lexicon({word.upper(): label for word, label in lexicon.items()})
    assert len(TrainTest.of(space, shouted, protocol=Protocol(any_case=True)).training) == 150


def test_a_lexicon_mostly_in_another_script_is_warned_of_with_its_words() -> None:
    space, lexicon = planted_space()
    greek = {f"λέξη{i}": 1.0 for i in range(900)}
    mixed = Lexicon({**dict(list(lexicon.items())[:40]), **greek})
    with pytest.warns(UserWarning, match=r"40 of 940 lexicon words .*'λέξη0'.*differ in case, script or language"):
        TrainTest.of(space, mixed)


def test_one_class_left_after_cleaning_is_named_with_the_words_lost() -> None:
    space, _ = planted_space()
    with pytest.raises(TaskError, match=r"4 usable words .* label 1 \('word1'.*first missing: 'awful'"):
        TrainTest.of(space, Lexicon({"word1": 1, "word2": 1, "word3": 1, "word4": 1, "awful": -1}))


def test_scores_that_are_all_equal_are_refused() -> None:
    space, _ = planted_space()
    with pytest.raises(TaskError, match=r"all have the label 2\.5"):
        TrainTest.of(space, Lexicon({f"word{i}": 2.5 for i in range(20)}))


def test_too_few_words_for_a_split_are_counted_and_named() -> None:
    space, _ = planted_space()
    with pytest.raises(TaskError, match=r"3 words .*'word1', 'word2', 'word399'.*at least 4"):
        TrainTest.of(space, Lexicon({"word1": 1, "word2": 1, "word399": -1}))


def test_only_binary_methods_see_scores_split_at_their_median() -> None:
    space, _ = planted_space()
    scored = Lexicon({f"word{i}": float(i % 17) for i in range(200)})
    training = TrainTest.of(space, scored).training
    protocol = Protocol()
    for method in ("svm", "densray-unit", "densifier", "lda"):
        assert set(protocol.labels(method, training)) == {-1.0, 1.0}
    for method in ("svr", "ridge", "mean-difference", "auto"):
        assert np.array_equal(protocol.labels(method, training), training.y)
    assert len(set(Protocol(split_at_median=()).labels("densifier", training))) == 17


def test_pair_weights_reach_the_methods_that_have_them() -> None:
    assert Protocol().rotation("densray-unit").get_params()["weights"] == "balanced"
    for method in ("densray", "densray-unit", "densifier"):
        assert Protocol.paper().rotation(method).get_params()["weights"] == (0.5, 0.5)
    for protocol in (Protocol(), Protocol.paper()):  # a method that names its weights has them everywhere
        assert protocol.rotation("densray-paper").get_params()["weights"] == (0.5, 0.5)
    assert Protocol(pair_weights="balanced").rotation("densifier").get_params()["weights"] == "balanced"
    assert "weights" not in Protocol().rotation("ridge").get_params()


def test_densifier_is_solved_exactly_unless_the_published_solver_is_asked_for() -> None:
    assert Protocol().rotation("densifier").get_params()["solver"] == "exact"
    assert Protocol(densifier_solver="sgd", random_state=5).rotation("densifier").get_params()["random_state"] == 5


def test_french_words_keep_case_and_accents() -> None:
    """A tiny French space: without its accents, or in lower case, a word is another word."""
    random = np.random.default_rng(0)
    pairs = {"été": 1.0, "ete": -1.0, "Éden": 1.0, "éden": -1.0, "côté": 1.0, "cote": -1.0, "aimé": 1.0, "aime": -1.0}
    vectors = np.array([[label, *random.normal(size=4) * 0.1] for label in pairs.values()], dtype=np.float32)
    space = WordSpace(list(pairs), vectors, name="français")
    data = TrainTest.of(space, Lexicon(pairs, name="minuscule"), protocol=Protocol(test_size=0.5))
    for words, labels, rows in ((part.names, part.y, part.X) for part in (data.training, data.test)):
        assert [pairs[word] for word in words] == labels.tolist()
        assert np.array_equal(np.sign(rows[:, 0]), labels)
    assert data.coverage == 1.0


def test_a_seed_that_is_none_is_refused_when_the_protocol_is_made() -> None:
    with pytest.raises(DensRayError, match="random_state=-1 is given"):
        Protocol(random_state=-1)


def test_training_words_beyond_the_limit_are_neither_missing_nor_uncovered() -> None:
    space, lexicon = planted_space()
    larger = Lexicon([*lexicon.items(), ("zebra", 1)], name="larger")
    data = TrainTest.of(space, larger, protocol=Protocol(training_limit=300))
    everything = TrainTest.of(space, larger, protocol=Protocol(training_limit=None))
    assert data.training.missing == everything.training.missing == ("zebra",)
    assert data.coverage == everything.coverage
    assert set(data.training.names) | set(data.beyond) == set(everything.training.names)
    assert all(int(row) >= 300 for row in space.locate(data.beyond))
    assert everything.beyond == ()
    assert data.set_aside([larger]) == {"beyond the training limit": data.beyond}
    training, test = lexicon.split(0.5, random_state=0)
    apart = TrainTest.of(space, training, test, protocol=Protocol(training_limit=300))
    assert apart.coverage == 1.0
    assert apart.beyond


def test_four_words_can_be_split_and_a_limit_counts_words_of_the_space() -> None:
    space, _ = planted_space()
    four = Lexicon({"word1": 1, "word2": 1, "word398": -1, "word399": -1})
    data = TrainTest.of(space, four, protocol=Protocol(test_size=0.5))
    assert (len(data.training), len(data.test)) == (2, 2)
    training, test = Lexicon({"word0": 1, "word299": -1, "word300": -1}), Lexicon({"word5": 1, "word350": -1})
    for limit, used, beyond in ((300, ("word0", "word299"), ("word300",)), (301, ("word0", "word299", "word300"), ())):
        found = TrainTest.of(space, training, test, protocol=Protocol(training_limit=limit))
        assert (found.training.names, found.beyond) == (used, beyond)
    with pytest.raises(
        LexiconError, match=r"0 of 2 training words .* among the first 200 words .*'word299', 'word300'"
    ):
        TrainTest.of(space, Lexicon({"word299": 1, "word300": -1}), test, protocol=Protocol(training_limit=200))


@pytest.mark.parametrize(("absent", "warned"), [(360, False), (361, True)])
def test_a_coverage_below_one_in_ten_is_warned_of(absent: int, warned: bool) -> None:
    space, lexicon = planted_space()
    some = Lexicon({**dict(list(lexicon.items())[:40]), **{f"absent{row}": 1.0 for row in range(absent)}})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = TrainTest.of(space, some)
    assert data.coverage == 40 / (40 + absent)
    assert len(caught) == warned
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TrainTest.of(space, some, protocol=Protocol(least_coverage=0.05))


def test_test_words_in_another_case_are_taken_out_where_any_case_counts() -> None:
    space, lexicon = planted_space()
    gold = Lexicon({word.upper(): label for word, label in list(lexicon.items())[:30]}, name="gold")
    with pytest.warns(UserWarning, match="30 of 30 test words are in the training lexicon"):
        data = TrainTest.of(space, lexicon, gold, protocol=Protocol(any_case=True))
    assert len(data.training) == len(lexicon) - 30
    assert len(data.test) == 30
    apart = Lexicon({word: label for word, label in lexicon.items() if word.upper() not in set(gold.words)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert TrainTest.of(space, apart, gold, protocol=Protocol(any_case=True)).overlap == ()


def test_groups_of_a_split_and_of_two_lexicons_are_counted() -> None:
    space, lexicon = planted_space()
    pairs = {word: str(number // 2) for number, word in enumerate(lexicon.words)}
    split = TrainTest.of(space, lexicon, groups=pairs)
    assert split.n_groups == 100
    assert TrainTest.of(space, lexicon).n_groups is None
    sides = [{pairs[word] for word in part.names} for part in (split.training, split.test)]
    assert not sides[0] & sides[1]


def test_the_axis_of_a_method_scores_training_and_test_words() -> None:
    space, lexicon = planted_space()
    data = TrainTest.of(space, lexicon)
    training, test, seconds = fit_method("mean-difference", data, Protocol())
    X, y = data.training.X.astype(np.float64), data.training.y
    axis = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
    axis /= np.linalg.norm(axis)
    np.testing.assert_allclose(training, X @ axis, atol=1e-5)
    np.testing.assert_allclose(test, data.test.X @ axis, atol=1e-5)
    assert seconds > 0
    assert Protocol(standardize=True).rotation("ridge").get_params()["standardize"] is True
    assert Protocol(any_case=True, random_state=3).to_dict()["match_case"] is False
    assert Protocol(random_state=3).to_dict()["seed"] == 3


def test_an_interval_of_tau_is_the_one_of_every_other_result_at_its_level() -> None:
    random = np.random.default_rng(0)
    gold, scores = random.normal(size=30), random.normal(size=30)
    found = measure_tau(gold, scores, n_resamples=200, random_state=1)
    assert len(found["resamples"]) == 200
    assert (found["tau_low"], found["tau_high"]) == tau_interval(gold, scores)
    assert found["tau_ceiling"] == 1.0
    narrow = measure_tau(gold, scores, n_resamples=200, random_state=1, level=0.5)
    assert (narrow["tau_low"], narrow["tau_high"]) == tau_interval(gold, scores, level=0.5)
