"""Measures of bias: against definitions by hand, other implementations and published numbers, and with controls."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from densray import Lexicon, WordSpace
from densray.datasets import load_pairs, load_space, load_weat, load_word_list
from densray.debiasing import (
    SemBiasQuestion,
    anchor_gap,
    association,
    association_test,
    cluster_test,
    direct_bias,
    indirect_bias,
    most_biased,
    neighbor_test,
    pair_choice,
    pair_direction,
    probe,
    read_sembias,
    recovery_test,
    sentiment_bias,
)
from densray.erasure import Erasure
from densray.errors import SpaceError, TaskError
from densray.metrics import correlation_interval, mean_interval, proportion_interval

GOLDEN = Path(__file__).parent / "files" / "wefe.json"


@pytest.fixture(scope="module")
def google() -> WordSpace:
    return load_space("googlenews-26k").normalized()


def planted(n: int = 400, width: int = 20, *, strength: float = 2.0, seed: int = 0) -> WordSpace:
    """Words "a…" lean to "he", words "b…" to "she", along the first dimension and, less, along the second."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, width))
    sides = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X[:, 0] += strength * sides
    X[:, 1] += 0.7 * strength * sides
    poles = np.zeros((2, width))
    poles[:, 0] = 3.0, -3.0
    poles[:, 2] = 1.0
    words = ["he", "she", *(f"{'a' if i % 2 == 0 else 'b'}{i}" for i in range(n))]
    return WordSpace(words, np.vstack([poles, X]).astype(np.float32), name="planted")


# --- association ------------------------------------------------------------------------------------------


def test_association_agrees_with_wefe_on_the_same_lists(google: WordSpace) -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))["tests"]
    tests = {test.number: test for test in load_weat()}
    assert [row["number"] for row in golden] == [1, 2, 3, 4, 5, 7, 8, 9]
    for row in golden:
        test = tests[row["number"]]
        groups = (test.first_target, test.second_target, test.first_attribute, test.second_attribute)
        found = association(google, *(group.words for group in groups))
        assert found.value == pytest.approx(row["effect_size"], abs=2e-6)
        assert found.statistic == pytest.approx(row["statistic"], abs=2e-6)


#: Effect sizes of Caliskan et al. (2017) with word2vec vectors of Google News (their supplement), of the tests whose
#: lists are at least six tenths in the slice. Names they left out for GloVe's sake are in the word2vec lists.
PUBLISHED = {2: 1.63, 4: 1.24, 5: 0.72, 7: 0.97, 8: 1.24, 9: 1.30}


@pytest.mark.parametrize("number", PUBLISHED)
def test_association_is_near_the_published_effect_size_where_the_slice_covers_the_lists(
    google: WordSpace, number: int
) -> None:
    test = load_weat()[number - 1]
    groups = (test.first_target, test.second_target, test.first_attribute, test.second_attribute)
    assert min(np.mean([word in google for word in group.words]) for group in groups) >= 0.6
    found = association(google, *((*group.words, *group.left_out) for group in groups))
    assert found.value == pytest.approx(PUBLISHED[number], abs=0.18)
    assert found.p_value is not None
    assert found.p_value < 0.05


def test_exact_p_equals_counting_all_splits_and_sampling_comes_near_it(google: WordSpace) -> None:
    test = load_weat()[6]
    groups = [group.words for group in (test.first_target, test.second_target)]
    groups += [group.words for group in (test.first_attribute, test.second_attribute)]
    found = association(google, *groups)
    first, second = ([word for word in group if word in google] for group in groups[:2])
    near, far = (google.cosines([*first, *second], list(group)).mean(axis=1) for group in groups[2:])
    scores = near - far
    splits = [scores[list(split)].sum() for split in combinations(range(len(scores)), len(first))]
    assert found.exact
    assert found.p_value == pytest.approx(np.mean(np.array(splits) >= scores[: len(first)].sum() - 1e-12))
    assert found.value == pytest.approx(
        (scores[: len(first)].mean() - scores[len(first) :].mean()) / scores.std(), abs=1e-12
    )
    assert found.missing == ("equations",)


def test_sampled_p_is_near_the_exact_one(google: WordSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    test = load_weat()[8]
    groups = (test.first_target, test.second_target, test.first_attribute, test.second_attribute)
    words = [group.words for group in groups]
    exact = association(google, *words)
    monkeypatch.setattr("densray.debiasing._associations._MOST_SPLITS", 1)
    sampled = association(google, *words, n_permutations=20_000)
    assert exact.exact
    assert not sampled.exact
    assert exact.p_value is not None
    assert sampled.p_value == pytest.approx(exact.p_value, abs=0.003)


def test_exchanging_the_targets_turns_the_effect_round() -> None:
    space = planted()
    a, b = [f"a{i}" for i in range(0, 40, 2)], [f"b{i}" for i in range(1, 40, 2)]
    there = association(space, a, b, ["he", "a100"], ["she", "b101"])
    back = association(space, b, a, ["he", "a100"], ["she", "b101"])
    assert there.value == pytest.approx(-back.value)
    assert there.value > 1.0
    assert there.interval is not None
    assert there.interval.low < there.value < there.interval.high


def test_overlapping_or_empty_lists_are_named() -> None:
    space = planted()
    with pytest.raises(TaskError, match="target lists share 'a0'"):
        association(space, ["a0", "a2"], ["a0", "b1"], ["he", "a4"], ["she", "b5"])
    with pytest.raises(TaskError, match="first attribute: 0 of 1 words are in 'planted'"):
        association(space, ["a0", "a2"], ["b3", "b1"], ["er"], ["she", "b5"])


def test_a_text_is_no_list_of_words_and_a_repeated_word_counts_once_with_a_warning() -> None:
    space = planted()
    lists = (["a0", "a2"], ["b3", "b1"], ["he", "a4"], ["she", "b5"])
    with pytest.raises(TaskError, match=r"WEAT, second target: 'b3' is given; a list"):
        association(space, lists[0], "b3", *lists[2:])
    with pytest.raises(TaskError, match="negative words: 'she'"):
        sentiment_bias(space, ["a0", "b1"], ["he", "a4"], "she")
    with pytest.warns(UserWarning, match=r"WEAT, first target: 'a0' is listed more than once and counts once"):
        repeated = association(space, ["a0", "a0", "a2"], *lists[1:])
    assert repeated == association(space, *lists)
    with pytest.warns(UserWarning, match="identity words: 'a0'"):
        sentiment_bias(space, ["a0", "b1", "a0"], ["he", "a4"], ["she", "b5"], n_resamples=0)


def test_without_resamples_sentiment_has_no_p_value() -> None:
    found = sentiment_bias(planted(), ["a0", "b1"], ["he", "a4"], ["she", "b5"], n_resamples=0)
    assert found.p_value is None
    assert found.interval is None
    with pytest.raises(TaskError, match="n_resamples=-1"):
        sentiment_bias(planted(), ["a0", "b1"], ["he", "a4"], ["she", "b5"], n_resamples=-1)


# --- anchors and directions -------------------------------------------------------------------------------


def test_absent_anchors_are_named_and_absent_words_reported() -> None:
    space = planted()
    with pytest.raises(SpaceError, match="anchors: 'man' not in 'planted'"):
        anchor_gap(space, ["a0"], ("man", "she"))
    with pytest.raises(TaskError, match="two different words"):
        anchor_gap(space, ["a0"], ("he", "he"))
    with pytest.raises(TaskError, match="0 of 1 words"):
        anchor_gap(space, ["nurse"], ("he", "she"))
    assert anchor_gap(space, ["a0", "nurse"], ("he", "she")).missing == ("nurse",)


def test_intervals_of_sizes_stay_within_their_range() -> None:
    space = WordSpace(["a", "b", "x", "y"], [[1, 0], [0, 1], [1, 0.1], [0.1, 1]])
    for words in (["x", "y"], ["x"]):  # two words, then one: the widest intervals
        assert direct_bias(space, words, [1.0, 0.0]).interval == (0.0, 1.0)
    assert anchor_gap(space, ["x"], ("a", "b")).interval == (0.0, 2.0)
    low, high = anchor_gap(space, ["x", "a"], ("a", "b")).interval
    assert 0.0 <= low < high <= 2.0


def test_direct_and_indirect_bias_follow_their_formulas_and_vanish_across_the_direction() -> None:
    space = WordSpace(["he", "she", "x", "y"], [[1, 1, 0], [-1, 1, 0], [0.6, 0.8, 0], [0.6, 0, 0.8]], name="small")
    axis = pair_direction(space, [("he", "she")])
    assert axis == pytest.approx([1, 0, 0], abs=1e-6)
    assert direct_bias(space, ["x", "y"], axis).value == pytest.approx(0.6, abs=1e-6)
    assert direct_bias(space, ["x", "y"], axis, strictness=2).value == pytest.approx(0.36, abs=1e-6)
    # x · y = 0.36 comes wholly from the direction: across it the two are orthogonal.
    assert indirect_bias(space, [("x", "y")], axis).value == pytest.approx(1.0, abs=1e-6)
    erased = space.erased(Erasure.along(axis[None, :]))
    assert direct_bias(erased, ["x", "y"], axis).value < 1e-6


def test_bolukbasi_s_direction_is_the_published_one_to_within_their_figures(google: WordSpace) -> None:
    """Bolukbasi et al. (2016) report a direct bias of 0.08 of 327 occupations on Google News."""
    axis = pair_direction(google, [(second, first) for first, second in load_pairs("gender-definitional")])
    assert direct_bias(google, load_word_list("occupations"), axis).value == pytest.approx(0.08, abs=0.01)


# --- lipstick ---------------------------------------------------------------------------------------------


def test_hidden_bias_is_found_after_its_direction_is_gone_and_not_when_all_of_it_is() -> None:
    space = planted(800)
    biased = most_biased(space, ("he", "she"))
    axis = np.eye(space.width)
    options = {"count": 150, "n_train": 100}
    hidden = space.erased(Erasure.along(axis[:1]))
    gone = space.erased(Erasure.along(axis[:2]))
    for kernel in ("linear", "rbf"):
        assert recovery_test(space, biased, kernel=kernel, **options).value > 0.95
        assert recovery_test(hidden, biased, kernel=kernel, **options).value > 0.75
        assert recovery_test(gone, biased, kernel=kernel, **options).value < 0.62
    assert cluster_test(hidden, biased, count=100).value > 0.75
    assert cluster_test(gone, biased, count=100).value < 0.65


def test_neighbours_betray_the_bias_until_it_is_gone() -> None:
    space = planted(800)
    biased = most_biased(space, ("he", "she"), exclude=["a0"])
    words = [word for word in space.words if word.startswith(("a", "b"))][:200]
    before = neighbor_test(space, biased, words, k=20)
    after = neighbor_test(space.erased(Erasure.along(np.eye(space.width)[:2])), biased, words, k=20)
    assert before.value > 0.7
    assert before.missing == ("a0",)
    assert abs(after.value) < 0.25


def test_more_biased_words_than_there_are_is_an_error() -> None:
    with pytest.raises(TaskError, match="5000 biased words of either side"):
        cluster_test(planted(), most_biased(planted(), ("he", "she")), count=5000)


# --- probes, SemBias, RNSB ----------------------------------------------------------------------------------


def test_probes_find_the_concept_beyond_their_control_task_until_it_is_gone() -> None:
    space = planted(300)
    lexicon = Lexicon({word: (1 if word[0] == "a" else -1) for word in space.words[2:202]})
    gone = space.erased(Erasure.along(np.eye(space.width)[:2]))
    for model in ("linear", "nonlinear"):
        before, after = probe(space, lexicon, model=model), probe(gone, lexicon, model=model)
        assert before.value > 0.9
        assert before.p_value is not None
        assert before.p_value < 1e-6
        assert before.selectivity > 0.3
        assert abs(after.selectivity) < 0.15


def test_a_probe_of_too_few_words_is_an_error() -> None:
    with pytest.raises(TaskError, match="5 words of each label"):
        probe(planted(), Lexicon({"a0": 1, "a2": 1, **{f"b{i}": -1 for i in range(1, 40, 2)}}))


def test_pair_choice_picks_the_pair_most_like_the_poles(tmp_path: Path) -> None:
    space = WordSpace(
        ["he", "she", "king", "queen", "doctor", "nurse", "cup", "lid"],
        [[1, 0, 0], [-1, 0, 0], [1, 1, 0], [-1, 1, 0], [0.3, 0, 1], [0, 0.2, 1], [0, 1, 0], [0, 0, 1]],
    )
    file = tmp_path / "questions"
    file.write_text(
        "king:queen\tcup:lid\tlid:cup\tdoctor:nurse\nking:queen\tcup:lid\tlid:cup\tdoctor:saucer\n", "utf-8"
    )
    questions = read_sembias(file)
    assert questions[0] == SemBiasQuestion(("king", "queen"), ("doctor", "nurse"), (("cup", "lid"), ("lid", "cup")))
    found = pair_choice(space, questions)
    assert (found.definition, found.stereotype, found.used, found.missing) == (1.0, 0.0, 1, ("saucer",))
    file.write_text("king queen\n", "utf-8")
    with pytest.raises(TaskError, match="line 1"):
        read_sembias(file)


def test_sembias_on_the_slice_prefers_definitions_as_published(google: WordSpace, data_folder: Path) -> None:
    found = pair_choice(google, read_sembias(data_folder / "bias" / "sembias" / "SemBias"))
    assert found.definition > 0.7
    assert found.definition + found.stereotype + found.other == pytest.approx(1.0)


def test_sentiment_falls_unevenly_only_where_identities_differ_in_it() -> None:
    space = planted(300)
    positive, negative = ([f"{side}{i}" for i in range(start, 200, 2)] for side, start in (("a", 0), ("b", 1)))
    uneven = sentiment_bias(space, ["a200", "b201", "a202", "b203"], positive, negative, n_resamples=20)
    gone = space.erased(Erasure.along(np.eye(space.width)[:2]))
    even = sentiment_bias(gone, ["a200", "b201", "a202", "b203"], positive, negative, n_resamples=20)
    assert uneven.value > 5 * even.value
    assert uneven.p_value is not None
    assert uneven.p_value < 0.1
    assert sum(share for _, share in uneven.shares) == pytest.approx(1.0)
    with pytest.raises(TaskError, match="share 'a0'"):
        sentiment_bias(space, ["a200", "b201"], ["a0", "a2"], ["a0", "b1"])


# --- intervals --------------------------------------------------------------------------------------------


def test_intervals_cover_the_truth_at_their_nominal_rate() -> None:
    random = np.random.default_rng(0)
    covered = {"mean": 0, "share": 0, "correlation": 0}
    for _ in range(200):
        low, high = mean_interval(random.normal(1.0, 1.0, size=60))
        covered["mean"] += low <= 1.0 <= high
        low, high = proportion_interval(random.binomial(80, 0.7) / 80, 80)
        covered["share"] += low <= 0.7 <= high
        x = random.normal(size=100)
        y = 0.6 * x + 0.8 * random.normal(size=100)
        ranks = np.corrcoef(np.argsort(np.argsort(x)), np.argsort(np.argsort(y)))[0, 1]
        low, high = correlation_interval(float(ranks), 100)
        covered["correlation"] += low <= 6 / np.pi * np.arcsin(0.3) <= high
    assert all(count >= 180 for count in covered.values()), covered


def test_the_names_that_caliskan_and_others_left_out_of_test_5_are_left_out() -> None:
    fifth = association_test(load_space("googlenews-26k"), {test.number: test for test in load_weat()}[5])
    assert fifth.used == 48
    assert fifth.p_value == pytest.approx(0.061, abs=0.006)


def test_a_direction_counts_by_its_line_alone_and_must_be_one() -> None:
    space = WordSpace(["a", "b", "c"], [[3.0, 4.0], [1.0, 0.0], [0.0, -2.0]])
    for direction in ([1.0, 0.0], [7.0, 0.0], [-0.1, 0.0]):
        assert direct_bias(space, ["a", "b", "c"], direction).value == pytest.approx(1.6 / 3)
        assert direct_bias(space, ["a", "b", "c"], direction, strictness=2.0).value == pytest.approx(1.36 / 3)
    for wrong in ([0.0, 0.0], [1.0], [1.0, 0.0, 0.0]):
        with pytest.raises(TaskError, match="2 numbers, not all 0"):
            direct_bias(space, ["a"], wrong)


def test_indirect_bias_is_the_share_of_similarity_along_the_direction() -> None:
    space = WordSpace(["a", "b", "c", "d"], [[0.6, 0.8, 0.0], [0.6, 0.0, 0.8], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    # a, b: 0.36 and nothing across; a, c: 0.96, and 1 across; a, d are unrelated
    found = indirect_bias(space, [("a", "b"), ("a", "c"), ("a", "d")], [2.0, 0.0, 0.0])
    assert found.used == 2
    assert found.value == pytest.approx((1.0 + 0.04 / 0.96) / 2)


def test_gaps_are_towards_the_first_anchor_and_extremes_name_the_words_of_either_end() -> None:
    degrees = np.array([0.0, 90.0, 10.0, 80.0, 30.0, 60.0, 45.0, 20.0, 70.0, 40.0, 50.0, 5.0, 85.0])
    vectors = np.column_stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    space = WordSpace(["he", "she", *(f"w{angle:g}" for angle in degrees[2:])], vectors * degrees[:, None] + vectors)
    words = list(space.words[2:])
    found = anchor_gap(space, [*words, "absent", words[0]], ("he", "she"))
    expected = np.cos(np.radians(degrees[2:])) - np.sin(np.radians(degrees[2:]))
    np.testing.assert_allclose(found.gaps, expected, atol=1e-6)
    assert found.value == pytest.approx(np.abs(expected).mean(), abs=1e-6)
    assert found.interval == pytest.approx(mean_interval(np.abs(expected)), abs=1e-6)
    assert (found.used, found.missing, found.words, found.anchors) == (11, ("absent",), tuple(words), ("he", "she"))
    ordered = [f"w{angle:g}" for angle in sorted(degrees[2:], reverse=True)]  # the nearest to the second anchor first
    assert found.extremes(2) == [*ordered[:2], *ordered[-2:]]
    assert found.extremes() == [*ordered[:5], *ordered[-5:]]
    assert found.extremes(6) == ordered
    ten = anchor_gap(space, words[:10], ("he", "she"))
    assert ten.extremes() == [word for word in ordered if word in words[:10]]
    for wrong in (("he",), ("he", "she", "w45")):
        with pytest.raises(TaskError, match="two different words"):
            anchor_gap(space, words, wrong)  # type: ignore[arg-type]


def test_the_direction_of_pairs_is_the_first_component_of_their_differences_at_unit_length() -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(12, 5))
    vectors[::2] += [2.0, 0.0, 0.0, 0.0, 0.0]
    vectors *= random.uniform(0.5, 4.0, size=(12, 1))
    space = WordSpace([f"w{row}" for row in range(12)], vectors)
    pairs = [(f"w{row}", f"w{row + 1}") for row in range(0, 12, 2)]
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    first = np.linalg.svd(unit[::2] - unit[1::2])[2][0]
    expected = first * np.sign(first @ (unit[::2] - unit[1::2]).mean(axis=0))
    np.testing.assert_allclose(pair_direction(space, [*pairs, ("w0", "absent")]), expected, atol=1e-5)
    np.testing.assert_allclose(pair_direction(space, [pair[::-1] for pair in pairs]), -expected, atol=1e-5)


def test_direct_bias_takes_any_strictness_above_zero() -> None:
    space = WordSpace(["a", "b"], [[3.0, 4.0], [0.0, 1.0]])
    found = direct_bias(space, ["a", "b", "absent"], [1.0, 0.0], strictness=0.5)
    assert found.value == pytest.approx(np.sqrt(0.6) / 2)
    assert (found.used, found.missing) == (2, ("absent",))
    assert found.interval == pytest.approx(mean_interval([np.sqrt(0.6), 0.0], least=0.0, most=1.0))
    for wrong in (0.0, -1.0):
        with pytest.raises(TaskError, match="a number above 0 is needed"):
            direct_bias(space, ["a"], [1.0, 0.0], strictness=wrong)


def test_pairs_of_hardly_any_similarity_have_no_share_that_comes_from_a_direction() -> None:
    def pair(similarity: float) -> list[list[float]]:
        return [[1.0, 0.0, 0.0], [similarity, np.sqrt(1 - similarity**2), 0.0]]

    rows = [row for similarity in (0.04, -0.04, 0.06, -0.5) for row in pair(similarity)]
    space = WordSpace([f"w{row}" for row in range(8)], rows)
    pairs = [(f"w{row}", f"w{row + 1}") for row in range(0, 8, 2)]
    found = indirect_bias(space, [*pairs, ("w0", "absent")], [0.0, 0.0, 1.0])
    assert (found.used, found.missing) == (2, ("absent",))
    assert found.value == pytest.approx(0.0, abs=1e-6)  # nothing of them lies along it
    slanted = np.array([1.0, 0.0, 1.0]) / np.sqrt(2)
    shares = []
    for similarity in (0.06, -0.5):
        first, second = (np.array(row) - slanted * (np.array(row) @ slanted) for row in pair(similarity))
        rest = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
        shares.append((similarity - rest) / similarity)
    found = indirect_bias(space, pairs, slanted)
    assert found.value == pytest.approx(np.mean(np.abs(shares)), rel=1e-4)
    assert found.interval == pytest.approx(mean_interval(np.abs(shares), least=0.0), rel=1e-4)
    with pytest.raises(TaskError, match=r"none of 2 pairs has a similarity of at least 0\.05"):
        indirect_bias(space, pairs[:2], slanted)
