"""Stability: samples of the training lexicon, the same for every method."""

from __future__ import annotations

import numpy as np
import pytest

from densray import Lexicon
from densray.axes import DEFAULT_SIZES, Protocol, TrainTest, evaluate_stability
from densray.axes._stability import possible_sizes
from densray.errors import TaskError
from densray.figures import to_svg
from densray.metrics import kendall_tau, tau_ceiling
from planted import planted_space


def test_more_words_give_higher_and_steadier_scores() -> None:
    space, lexicon = planted_space(n=1200)
    result = evaluate_stability(space, lexicon, methods=["ridge", "densray-unit"], sizes=[8, 300], n_samples=12)
    by_size = {(row["method"], row["size"]): row for row in result.rows()}
    for method in ("ridge", "densray-unit"):
        assert by_size[method, 300]["mean"] > by_size[method, 8]["mean"] + 0.05
        assert by_size[method, 300]["std"] < by_size[method, 8]["std"] / 2


def test_mean_and_deviation_are_those_of_the_samples() -> None:
    space, lexicon = planted_space()
    (score,) = evaluate_stability(space, lexicon, methods=["ridge"], sizes=[20], n_samples=7).scores
    assert len(set(score.taus)) > 1
    assert score.mean == pytest.approx(np.mean(score.taus))
    assert score.std == pytest.approx(np.std(score.taus, ddof=1))
    assert score.lowest == min(score.taus)


def test_the_highest_possible_tau_is_shown() -> None:
    space, lexicon = planted_space()
    result = evaluate_stability(space, lexicon, methods=["ridge"], sizes=[20], n_samples=2)
    assert result.tau_ceiling == pytest.approx(tau_ceiling(TrainTest.of(space, lexicon).test.y))
    assert f"τ is at most {result.tau_ceiling:.3f}" in " ".join(result.tables()[0].notes)


def test_every_method_sees_the_same_samples_and_the_seed_draws_them() -> None:
    space, lexicon = planted_space()
    both = evaluate_stability(space, lexicon, methods=["ridge", "auto"], sizes=[16, 32], n_samples=4)
    assert [score.taus for score in both.scores[:2]] == [score.taus for score in both.scores[2:]]
    again = evaluate_stability(space, lexicon, methods=["ridge"], sizes=[16, 32], n_samples=4)
    assert again.scores == both.scores[:2]
    other = evaluate_stability(
        space, lexicon, methods=["ridge"], sizes=[16, 32], n_samples=4, protocol=Protocol(random_state=1)
    )
    assert other.scores[0].taus != again.scores[0].taus


def test_a_sample_of_all_words_does_not_vary() -> None:
    space, lexicon = planted_space()
    (score,) = evaluate_stability(space, lexicon, methods=["mean-difference"], sizes=[150], n_samples=3).scores
    assert score.std == pytest.approx(0.0, abs=1e-12)


def test_two_words_of_one_class_are_drawn_again() -> None:
    space, lexicon = planted_space()
    rare = Lexicon({word: 1.0 if number < 8 else -1.0 for number, word in enumerate(lexicon.words)})
    (score,) = evaluate_stability(space, rare, methods=["svm"], sizes=[2], n_samples=10).scores
    assert len(score.taus) == 10


def test_sizes_that_are_not_given_are_those_there_are_words_for() -> None:
    space, lexicon = planted_space()
    result = evaluate_stability(space, lexicon, methods=["mean-difference"], n_samples=2)
    assert (result.n_training, [score.size for score in result.scores]) == (150, [128])
    few = Lexicon(dict(list(lexicon.items())[::10]))
    result = evaluate_stability(space, few, methods=["mean-difference"], n_samples=2)
    assert (result.n_training, [score.size for score in result.scores]) == (15, [8])


def test_sizes_beyond_the_training_words_are_named() -> None:
    space, lexicon = planted_space()
    with pytest.raises(TaskError, match=r"sizes=\(4, 5000\) is given; sizes from 2 to 150 are possible"):
        evaluate_stability(space, lexicon, sizes=[4, 5000])
    with pytest.raises(TaskError, match="1 samples"):
        evaluate_stability(space, lexicon, sizes=[4], n_samples=1)


def test_the_figure_shows_every_method() -> None:
    space, lexicon = planted_space()
    result = evaluate_stability(space, lexicon, methods=["ridge", "mean-difference"], sizes=[16, 64], n_samples=3)
    drawn = to_svg(result.figure())
    assert "mean-difference" in drawn
    assert "ridge" in drawn
    assert [table.title for table in result.tables()] == ["Mean of Kendall τ", "Standard deviation of Kendall τ"]


def test_words_set_aside_are_recorded() -> None:
    space, lexicon = planted_space()
    larger = Lexicon([*lexicon.items(), ("odd", 1), ("odd", -1)])
    result = evaluate_stability(space, larger, methods=["mean-difference"], sizes=[16], n_samples=2)
    assert result.provenance.words_set_aside == {"conflicting": ("odd",)}


@pytest.mark.parametrize(
    ("n_words", "sizes"),
    [
        (5, (5,)),
        (7, (7,)),
        (8, (8,)),
        (127, (8, 16, 32, 64)),
        (128, (128,)),
        (4095, (128, 256, 512, 1024, 2048)),
        (10_000, (128, 256, 512, 1024, 2048, 4096)),
    ],
)
def test_sizes_are_powers_of_two_that_there_are_words_for(n_words: int, sizes: tuple[int, ...]) -> None:
    assert possible_sizes(n_words) == sizes
    assert DEFAULT_SIZES == (128, 256, 512, 1024, 2048, 4096)


def test_samples_of_two_words_and_of_all_are_taken_and_others_refused() -> None:
    space, lexicon = planted_space(80, 4)
    asked = {"methods": ["mean-difference"], "n_samples": 2}
    n_training = evaluate_stability(space, lexicon, sizes=[2], **asked).n_training
    found = evaluate_stability(space, lexicon, sizes=[n_training, 2, 2], **asked)
    assert [score.size for score in found.scores] == [2, n_training]
    assert all(len(score.taus) == 2 for score in found.scores)
    assert found.n_samples == 2
    assert found.provenance.words_used == found.n_training + found.n_test == 40
    for wrong in ([1], [n_training + 1], [2, n_training + 1], [1, 2]):
        with pytest.raises(TaskError, match=f"sizes from 2 to {n_training} are possible"):
            evaluate_stability(space, lexicon, sizes=wrong, **asked)
    with pytest.raises(TaskError, match="0 sizes and 2 samples are given"):
        evaluate_stability(space, lexicon, sizes=[], **asked)


def test_scores_are_split_at_the_median_of_all_training_words() -> None:
    space, _ = planted_space(80, 4)
    lexicon = Lexicon({word: float(row % 9) for row, word in enumerate(space.words)})
    found = evaluate_stability(space, lexicon, methods=["densray-unit"], sizes=[6], n_samples=5)
    data = TrainTest.of(space, lexicon)
    random = np.random.default_rng(0)
    taus = []
    while len(taus) < 5:
        rows = random.permutation(len(data.training))[:6]
        labels = data.training.sides[rows]
        if np.ptp(labels) > 0:
            axis = Protocol().rotation("densray-unit").fit(data.training.X[rows], labels).components_[0]
            taus.append(kendall_tau(data.test.y, data.test.X @ axis))
    assert list(found.scores[0].taus) == pytest.approx(taus)
