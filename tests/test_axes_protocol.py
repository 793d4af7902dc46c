"""The protocol of lexicon induction: what it makes of lexicons, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from densray import Lexicon, WordSpace
from densray.axes._protocol import Protocol, TrainTest
from densray.errors import DensRayError, LexiconError, TaskError
from planted import planted_space


def words_of(lexicon: Lexicon, count: int) -> Lexicon:
    return Lexicon(list(lexicon.items())[:count], name="part")


def test_a_split_holds_out_the_share_asked_for_of_the_words_in_the_space() -> None:
    space, lexicon = planted_space()
    larger = Lexicon({**dict(lexicon.items()), **{f"absent{i}": 1.0 for i in range(50)}})
    data = TrainTest.of(space, larger, protocol=Protocol(test_size=0.25))
    assert (data.training.n_words, data.test.n_words) == (150, 50)
    assert not set(data.training.words) & set(data.test.words)
    assert data.coverage == 0.8
    assert len(data.training.missing) == 50


def test_the_seed_draws_the_split() -> None:
    space, lexicon = planted_space()
    first, again, other = (
        TrainTest.of(space, lexicon, protocol=Protocol(random_state=seed)).test.words for seed in (0, 0, 1)
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
    assert max(space.locate(training.words)) < 300 <= max(space.locate(test.words))


def test_test_words_are_taken_out_of_training_and_named() -> None:
    space, lexicon = planted_space()
    gold = words_of(lexicon, 60)
    with pytest.warns(UserWarning, match=rf"60 of 60 test words are in the training lexicon \('{gold.words[0]}'"):
        data = TrainTest.of(space, lexicon, gold)
    assert data.training.n_words == len(lexicon) - 60
    assert data.overlap == gold.words


def test_test_words_may_stay_in_training_but_not_silently() -> None:
    space, lexicon = planted_space()
    with pytest.warns(UserWarning, match="flatter"):
        data = TrainTest.of(space, lexicon, words_of(lexicon, 60), protocol=Protocol(disjoint=False))
    assert data.training.n_words == len(lexicon)


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
    assert TrainTest.of(space, shouted, protocol=Protocol(any_case=True)).training.n_words == 150


def test_a_lexicon_mostly_in_another_script_is_warned_of_with_its_words() -> None:
    space, lexicon = planted_space()
    greek = {f"λέξη{i}": 1.0 for i in range(900)}
    mixed = Lexicon({**dict(list(lexicon.items())[:40]), **greek})
    with pytest.warns(UserWarning, match=r"40 of 940 lexicon words .*'λέξη0'.*another case, script or language"):
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
    for words, labels, rows in ((part.words, part.y, part.X) for part in (data.training, data.test)):
        assert [pairs[word] for word in words] == labels.tolist()
        assert np.array_equal(np.sign(rows[:, 0]), labels)
    assert data.coverage == 1.0


def test_a_seed_that_is_none_is_refused_when_the_protocol_is_made() -> None:
    with pytest.raises(DensRayError, match="random_state is -1"):
        Protocol(random_state=-1)


def test_training_words_beyond_the_limit_are_neither_missing_nor_uncovered() -> None:
    space, lexicon = planted_space()
    larger = Lexicon([*lexicon.items(), ("zebra", 1)], name="larger")
    data = TrainTest.of(space, larger, protocol=Protocol(training_limit=300))
    everything = TrainTest.of(space, larger, protocol=Protocol(training_limit=None))
    assert data.training.missing == everything.training.missing == ("zebra",)
    assert data.coverage == everything.coverage
    assert set(data.training.words) | set(data.beyond) == set(everything.training.words)
    assert all(int(row) >= 300 for row in space.locate(data.beyond))
    assert everything.beyond == ()
    assert data.set_aside([larger]) == {"beyond the training limit": data.beyond}
    training, test = lexicon.split(0.5, random_state=0)
    apart = TrainTest.of(space, training, test, protocol=Protocol(training_limit=300))
    assert apart.coverage == 1.0
    assert apart.beyond
