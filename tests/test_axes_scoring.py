"""Induced lexicons: scores, ranks, probabilities and errors that mean what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import polars
import pytest
from sklearn.isotonic import IsotonicRegression

from densray import Lexicon, WordSpace, load_space
from densray.axes import diagnose
from densray.axes._model import AxisModel, Calibration, SeedLikeness
from densray.axes._options import AxisChoices, AxisOptions, find_seeds
from densray.axes._scoring import induce, score_vocabulary
from densray.datasets import load_lexicon
from densray.errors import DensRayError, LexiconError, OutputError, TaskError, VectorError
from densray.metrics import auc
from densray.persistence import AxisFile, save_rotation
from densray.rotations import make_rotation
from planted import planted_seeds, planted_space


def test_scores_ranks_and_percentiles_are_those_of_the_axis() -> None:
    space, lexicon = planted_space()
    induced = induce(space, lexicon, method="mean-difference", normalize=False)
    seeds = find_seeds(space, lexicon, AxisOptions(normalize=False))
    axis = make_rotation("mean-difference").fit(seeds.X, seeds.y).components_[0]
    np.testing.assert_allclose(induced.scores.score, space.vectors @ axis, atol=1e-5)
    frame = induced.to_polars()
    assert frame["score"].is_sorted(descending=True)
    assert frame["rank"].to_list() == list(range(1, 401))
    assert frame["percentile"][0] == 100.0
    assert frame["percentile"][-1] == pytest.approx(100 / 400)
    assert frame.filter(polars.col("label").is_not_null()).height == len(lexicon)


def test_equal_vectors_share_a_rank() -> None:
    space = WordSpace(list("abcde"), [[2, 0], [2, 0], [0, 1], [-1, 0], [-2, 1]])
    lexicon = Lexicon({"a": 1, "b": 1, "d": -1, "e": -1})
    assert induce(space, lexicon, method="mean-difference").rank.tolist()[:2] == [1, 1]
    many = WordSpace([f"w{row}" for row in range(6)], [[3.0, 0.0], *[[1.0, 1.0]] * 4, [-1.0, 0.0]])
    ranking = score_vocabulary(many, AxisModel(np.array([1.0, 0.0])), method="given")
    assert ranking.rank.tolist() == [1, 2, 2, 2, 2, 6]  # the best of their places
    assert ranking.percentile[1] == pytest.approx(100 * 5 / 6)


def test_large_spaces_are_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    space, lexicon = planted_space()
    whole = induce(space, lexicon)
    blocks = WordSpace.blocks
    monkeypatch.setattr(WordSpace, "blocks", lambda self: blocks(self, rows=37))
    np.testing.assert_allclose(induce(space, lexicon).scores.standard_error, whole.scores.standard_error, rtol=1e-4)


def test_standard_errors_cover_the_score_of_the_true_axis_at_their_nominal_rate() -> None:
    """On planted data the score by the true axis lies within 1.96 standard errors for about 95% of the words."""
    words = planted_seeds(300, 8, strength=2.0, seed=99).X
    truth = words[:, 0]
    space = WordSpace(tuple(map(str, range(300))), words)
    covered = []
    for seed in range(40):
        seeds = planted_seeds(300, 8, strength=2.0, seed=seed)
        rotation = make_rotation("mean-difference").fit(seeds.X, seeds.y)
        model = AxisModel.of(rotation, seeds, space, AxisOptions(normalize=False, random_state=seed))
        found = model.score(words)
        covered.append(np.abs(found.score - truth) <= 1.96 * found.standard_error)
    assert 0.90 <= np.mean(covered) <= 0.99


def test_errors_shrink_as_seeds_are_added() -> None:
    medians = []
    for n in (50, 200, 800):
        seeds = planted_seeds(n, 8, strength=2.0)
        space = WordSpace(seeds.words, seeds.X)
        rotation = make_rotation("mean-difference").fit(seeds.X, seeds.y)
        model = AxisModel.of(rotation, seeds, space, AxisOptions(normalize=False))
        medians.append(np.median(model.score(seeds.X).standard_error))
    assert medians[0] > 1.5 * medians[1] > 2.25 * medians[2]


def test_the_sigmoid_is_the_exact_form_for_two_normal_classes() -> None:
    """Normal classes of variance one at ±1 and equal shares have log-odds 2 s (Bayes)."""
    random = np.random.default_rng(0)
    sides = np.repeat([1.0, -1.0], 20_000)
    found = Calibration.of(random.normal(size=40_000) + sides, sides, sides)
    assert found.slope == pytest.approx(2.0, abs=0.06)
    assert found.intercept == pytest.approx(0.0, abs=0.04)


def test_separable_seeds_give_a_finite_slope_and_reversed_ones_none() -> None:
    sides = np.repeat([1.0, -1.0], 10)
    apart = Calibration.of(3.0 * sides + np.linspace(0, 0.1, 20), sides, sides)
    assert 0 < apart.slope < 10
    assert apart.probability(np.array([3.0]))[0] < 0.99
    reversed_ = Calibration.of(-sides + np.linspace(0, 0.1, 20), sides, sides)
    assert reversed_.slope == 0.0
    assert reversed_.probability(np.array([-5.0, 5.0])).tolist() == pytest.approx([0.5, 0.5])


@pytest.fixture(scope="module")
def sentiment() -> tuple[WordSpace, Lexicon, Lexicon]:
    return (load_space("googlenews-26k"), *load_lexicon("hu-liu").split(0.3, random_state=0))


@pytest.mark.parametrize("method", ["ridge", "mean-difference", "densray"])
def test_probabilities_of_unseen_hu_liu_words_are_calibrated(
    sentiment: tuple[WordSpace, Lexicon, Lexicon], method: str
) -> None:
    """Of the words given a probability of p, a share of p is positive; and no worse than isotonic regression."""
    space, training, test = sentiment
    seeds, unseen = find_seeds(space, training), find_seeds(space, test)
    rotation = make_rotation(method).fit(seeds.X, seeds.y)
    model = AxisModel.of(rotation, seeds, space, AxisOptions(n_resamples=2))
    chance = model.score(unseen.X).probability
    positive = unseen.y > 0
    brier = np.mean((chance - positive) ** 2)
    base = np.mean((positive.mean() - positive) ** 2)
    assert brier < 0.35 * base
    edges = np.quantile(chance, np.linspace(0, 1, 11))
    bins = np.clip(np.searchsorted(edges, chance, side="right") - 1, 0, 9)
    gaps = [abs(chance[bins == b].mean() - positive[bins == b].mean()) for b in range(10)]
    assert np.mean(gaps) < 0.03  # expected calibration error, ten bins of equal size
    own = (seeds.X @ rotation.components_[0]).astype(np.float64)  # the control: calibrated on words it has seen
    stepped = IsotonicRegression(out_of_bounds="clip").fit(own, seeds.y > 0)
    naive = stepped.predict((unseen.X @ rotation.components_[0]).astype(np.float64))
    assert brier <= np.mean((naive - positive) ** 2) + 0.002


def test_the_induced_lexicon_agrees_with_unseen_words(sentiment: tuple[WordSpace, Lexicon, Lexicon]) -> None:
    space, training, test = sentiment
    frame = induce(space, training).to_polars()
    score = dict(zip(frame["word"], frame["score"], strict=True))
    unseen = [(score[word], label) for word, label in test.items() if word in score]
    assert auc([label for _, label in unseen], [value for value, _ in unseen]) > 0.95


def test_scores_of_a_lexicon_come_back_in_its_units() -> None:
    seeds = planted_seeds(500, 6, scores=True, strength=3.0)
    labels = 3.0 + 0.5 * seeds.y
    space = WordSpace(seeds.words, seeds.X)
    half = dict(zip(seeds.words[:250], labels[:250].tolist(), strict=True))
    frame = induce(space, Lexicon(half), normalize=False).to_polars()
    estimate = dict(zip(frame["word"], frame["expected_label"], strict=True))
    error = [estimate[word] - label for word, label in zip(seeds.words[250:], labels[250:].tolist(), strict=True)]
    assert np.sqrt(np.mean(np.square(error))) < 0.25  # the labels have a spread of 0.5
    assert abs(np.mean(error)) < 0.1


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_files_hold_every_word_unrounded(tmp_path: Path, ending: str) -> None:
    space, lexicon = planted_space()
    induced = induce(space, lexicon)
    path = induced.write(tmp_path / f"lexicon{ending}")
    if ending == ".parquet":
        frame = polars.read_parquet(path)
    else:
        frame = polars.read_csv(path, separator="\t" if ending == ".tsv" else ",")
    assert frame.equals(induced.to_polars())
    with pytest.raises(OutputError, match="exists"):
        induced.write(path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_an_ending_that_names_no_table_is_refused(tmp_path: Path) -> None:
    space, lexicon = planted_space()
    with pytest.raises(OutputError, match=r"\.csv, \.tsv, \.parquet"):
        induce(space, lexicon).write(tmp_path / "lexicon.txt")


def test_a_model_survives_its_file(tmp_path: Path) -> None:
    seeds = planted_seeds(scores=True)
    rotation = make_rotation("ridge").fit(seeds.X, seeds.y)
    model = AxisModel.of(rotation, seeds, WordSpace(seeds.words, seeds.X))
    path = save_rotation(rotation, tmp_path / "axis.npz", attachments=model.to_arrays())
    again = AxisModel.from_file(AxisFile.read(path))
    for name in ("score", "probability", "standard_error", "expected_label"):
        np.testing.assert_allclose(
            getattr(again.score(seeds.X), name), getattr(model.score(seeds.X), name), rtol=1e-4, atol=1e-6
        )


def test_an_axis_without_seeds_gives_scores_and_no_errors() -> None:
    space, _ = planted_space()
    induced = score_vocabulary(space, AxisModel(np.eye(12)[0], normalize=False), method="by hand")
    assert induced.to_polars().columns == ["word", "score", "rank", "percentile"]


def test_bad_input_is_named() -> None:
    space, lexicon = planted_space()
    with pytest.raises(LexiconError, match="0 of 2 lexicon words are in the space"):
        induce(space, Lexicon({"x": 1, "y": -1}))
    with pytest.raises(LexiconError, match="have the label 1"):
        induce(space, Lexicon({"word1": 1, "word2": 1}))
    with pytest.raises(TaskError, match="1 of the higher label and 2 of the lower"):
        induce(space, Lexicon({"word1": 1, "word2": -1, "word3": -1}))
    with pytest.raises(TaskError, match="folds=1"):
        induce(space, lexicon, folds=1)
    other = make_rotation("ridge").fit(np.eye(4), [1, 1, -1, -1])
    with pytest.raises(VectorError, match="width 4"):
        induce(space, lexicon, method=other)
    zero = WordSpace(["a", "b", "c", "d"], [[1, 0], [0, 0], [-1, 0], [0, 1]])
    with pytest.raises(VectorError, match="'b' are zero"):
        induce(zero, Lexicon({"a": 1, "b": 1, "c": -1, "d": -1}))


def test_fewer_seeds_than_folds_lower_the_folds() -> None:
    space, _ = planted_space()
    induced = induce(space, Lexicon({"word1": 1, "word2": 1, "word300": -1, "word301": -1, "word302": -1}))
    assert np.isfinite(induced.scores.probability).all()


def test_expected_labels_stay_within_the_scale() -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=2000)
    labels = np.clip(3.0 + scores + 0.3 * random.normal(size=2000), 1.0, 5.0)
    found = Calibration.of(scores, np.sign(scores), labels)
    expected = found.expected_label(np.array([-9.0, 0.0, 9.0]))
    assert 1.0 <= expected[0] < 1.2
    assert expected[1] == pytest.approx(3.0, abs=0.1)
    assert 4.8 < expected[2] <= 5.0


def test_even_odds_lie_where_the_probability_is_one_half_and_not_at_zero() -> None:
    space, lexicon = planted_space(strength=2.0)
    shifted = WordSpace(space.words, space.vectors + 1.0)
    induced = induce(shifted, lexicon, normalize=False)
    order = np.argsort(induced.scores.score)
    crossing = np.interp(0.5, induced.scores.probability[order], induced.scores.score[order])
    assert induced.even_odds == pytest.approx(crossing, abs=0.05)
    assert abs(induced.even_odds) > 0.5
    assert f"even odds lie at {induced.even_odds:.3f}" in induced.text()


def test_seeds_are_marked_and_no_probability_is_rounded_to_certainty() -> None:
    space, lexicon = planted_space(strength=6.0)
    table = induce(space, lexicon, normalize=False).tables()[0]
    marked = {row["word"]: row["label"] for row in table.rows}
    labels = dict(lexicon.items())
    assert marked == {word: labels.get(word) for word in marked}
    assert None in marked.values()
    column = [cells[table.headings.index("probability")] for cells in table.shown()]
    assert ">0.999" in column
    assert "1.000" not in column


@pytest.mark.parametrize("ask", [induce, diagnose])
def test_a_seed_that_is_none_is_refused(ask: Callable[..., object]) -> None:
    with pytest.raises(DensRayError, match="random_state is -1"):
        ask(*planted_space(), random_state=-1)


def test_every_option_can_be_given_by_its_name_and_no_other() -> None:
    assert list(AxisChoices.__annotations__) == [each.name for each in fields(AxisOptions)]
    space, lexicon = planted_space()
    options = AxisOptions(normalize=False, folds=5, random_state=3)
    both = [induce(space, lexicon, options=options), induce(space, lexicon, normalize=False, folds=5, random_state=3)]
    assert both[0].to_polars().equals(both[1].to_polars())
    assert not both[0].to_polars().equals(induce(space, lexicon, options=options, random_state=4).to_polars())
    with pytest.raises(TypeError, match="match_case"):
        induce(space, lexicon, match_case=False)  # type: ignore[call-arg]


def test_words_unlike_the_seeds_get_the_share_of_the_higher_class() -> None:
    """Words of age: most of a vocabulary is about something else, whichever side of the axis it lies on."""
    old = [
        "old",
        "elderly",
        "aged",
        "grandfather",
        "grandmother",
        "retired",
        "pensioner",
        "geriatric",
        "elder",
        "senile",
    ]
    young = ["young", "youth", "teen", "teenager", "child", "kid", "boy", "girl", "baby", "infant", "toddler"]
    space = load_space("googlenews-26k")
    found = induce(space, Lexicon({**dict.fromkeys(old, 1), **dict.fromkeys(young, -1)}))
    scores = found.scores
    assert np.median(scores.probability) == pytest.approx(0.5, abs=0.05)
    table = list(space.words).index("table")
    assert scores.like_seeds[table] < 0.3
    assert abs(scores.probability[table] - 0.5) < 0.1
    frame = found.to_polars()
    seeds = frame.filter(frame["label"].is_not_null())
    assert (seeds["like_seeds"] == 1.0).mean() > 0.85
    assert seeds.filter(seeds["label"] > 0)["probability"].median() > 0.85
    assert "like_seeds" in found.text()


def test_seeds_as_varied_as_the_vocabulary_leave_every_probability_as_it_is() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 5))
    likeness = SeedLikeness.of(X[:200], X.mean(axis=0))
    assert likeness.least <= 0.0
    assert (likeness(X) == 1.0).all()
    narrow = SeedLikeness.of(X[:200] + 6.0, X.mean(axis=0))
    assert (narrow(X[:200] + 6.0) == 1.0).mean() > 0.9
    assert narrow(X).mean() < 0.1
    assert narrow(X.mean(axis=0)[None, :])[0] == pytest.approx(0.0, abs=1e-9)


def test_a_calibration_balances_its_targets_and_ends_at_the_share_of_the_seeds() -> None:
    """At the most likely sigmoid the deviations from Platt's targets sum to zero, and so do those times the scores."""
    random = np.random.default_rng(0)
    labels = random.normal(size=60)
    sides = np.where(labels > np.quantile(labels, 0.4), 1.0, -1.0)
    scores = labels + random.normal(size=60) + 3.0
    found = Calibration.of(scores, sides, labels)
    n_high, n_low = int((sides > 0).sum()), int((sides < 0).sum())
    targets = np.where(sides > 0, (n_high + 1) / (n_high + 2), 1 / (n_low + 2))
    places = (labels - labels.min()) / np.ptp(labels)
    for slope, intercept, wanted in (
        (found.slope, found.intercept, targets),
        (found.label_slope, found.label_intercept, places),
    ):
        rest = wanted - 1 / (1 + np.exp(-(slope * scores + intercept)))
        assert [rest.sum(), rest @ scores] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert (found.lowest, found.highest, found.mean_label) == (labels.min(), labels.max(), labels.mean())
    assert found.share == n_high / 60
    chance = 1 / (1 + np.exp(-(found.slope * scores + found.intercept)))
    np.testing.assert_allclose(found.probability(scores), chance)
    np.testing.assert_allclose(found.probability(scores, 0.0), found.share)
    np.testing.assert_allclose(found.probability(scores, 0.25), 0.75 * found.share + 0.25 * chance)
    place = 1 / (1 + np.exp(-(found.label_slope * scores + found.label_intercept)))
    label = labels.min() + np.ptp(labels) * place
    np.testing.assert_allclose(found.expected_label(scores), label)
    np.testing.assert_allclose(found.expected_label(scores, 0.25), 0.75 * labels.mean() + 0.25 * label)
    falling = Calibration.of(-scores, sides, labels)
    assert (falling.slope, falling.label_slope) == (0.0, 0.0)
    np.testing.assert_allclose(falling.probability(scores), targets.mean())
    constant = Calibration.of(np.ones(60), sides, labels)
    assert constant.slope == 0.0
    assert constant.intercept == pytest.approx(np.log(targets.mean() / (1 - targets.mean())))


def test_likeness_is_the_way_to_the_other_seeds_over_what_one_in_twenty_stays_below() -> None:
    random = np.random.default_rng(1)
    X, center = random.normal(size=(40, 3)) * 0.2 + [2.0, 1.0, 0.0], np.array([0.5, 0.0, 0.5])
    likeness = SeedLikeness.of(X, center)
    places = []
    for row in range(40):
        toward = np.delete(X, row, axis=0).mean(axis=0) - center
        places.append((X[row] - center) @ toward / (toward @ toward))
    assert likeness.least == pytest.approx(np.quantile(places, 0.05))
    np.testing.assert_allclose(likeness.origin, X.mean(axis=0))
    words = random.normal(size=(50, 3)) + 0.7
    toward = X.mean(axis=0) - center
    expected = np.clip((words - center) @ toward / (toward @ toward) / likeness.least, 0.0, 1.0)
    assert np.mean((expected > 0) & (expected < 1)) > 0
    np.testing.assert_allclose(likeness(words), expected)
    assert (SeedLikeness(center, X.mean(axis=0), 0.0)(words) == 1.0).all()
    assert (SeedLikeness(center, center, 0.5)(words) == 1.0).all()


def test_errors_of_scores_are_lengths_of_deviations_times_words_from_the_average_one() -> None:
    space, lexicon = planted_space(200, 5)
    options = AxisOptions(normalize=False)
    seeds = find_seeds(space, lexicon, options)
    rotation = make_rotation("mean-difference").fit(seeds.X, seeds.y)
    model = AxisModel.of(rotation, seeds, space, options)
    X, axis = space.vectors.astype(np.float64), rotation.components_[0]
    center = X.mean(axis=0)
    high, low = (seeds.X[side * seeds.y > 0].astype(np.float64) for side in (1, -1))
    covariance = np.cov(high.T) / len(high) + np.cov(low.T) / len(low)
    covariance /= np.sum((high.mean(axis=0) - low.mean(axis=0)) ** 2)
    along = (X - center) @ axis
    slope = along @ (X - center) / (along @ along)
    free = np.eye(5) - np.outer(axis, slope)  # what changes all scores by one factor is no error
    rest = (X - center) @ free
    expected = np.sqrt(np.einsum("ij,jk,ik->i", rest, covariance, rest))
    found = model.score(space.vectors)
    np.testing.assert_allclose(found.standard_error, expected, rtol=1e-4)
    np.testing.assert_allclose(found.score, X @ axis, atol=1e-5)
    assert model.offset == pytest.approx(seeds.X.mean(axis=0) @ axis, abs=1e-6)
    assert model.even_odds == pytest.approx(model.offset - model.calibration.intercept / model.calibration.slope)
    bare = AxisModel(axis, normalize=False)
    assert (bare.offset, bare.even_odds) == (0.0, None)
