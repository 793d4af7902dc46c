"""An axis with its errors: the average word, the sigmoid, what a file keeps, and how seeds are found for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from densray import Lexicon, WordSpace
from densray.axes import _model as models
from densray.axes import induce
from densray.axes._model import AxisModel, Calibration, SeedLikeness
from densray.axes._options import AxisOptions, find_seeds, fit_rotation
from densray.axes._scoring import score_vocabulary
from densray.errors import LexiconError, VectorError
from densray.persistence import AxisFile, save_rotation
from densray.rotations import make_rotation
from planted import planted_seeds, planted_space


def test_the_average_word_is_the_mean_of_rows_spread_over_the_space(monkeypatch: pytest.MonkeyPatch) -> None:
    assert models.SAMPLED_WORDS == 16_384
    monkeypatch.setattr(models, "SAMPLED_WORDS", 20)
    space, lexicon = planted_space(200, 4)
    seeds = find_seeds(space, lexicon, AxisOptions(normalize=False))
    model = AxisModel.of(fit_rotation("mean-difference", seeds), seeds, space, AxisOptions(normalize=False))
    assert model.center is not None
    rows = np.linspace(0, 199, num=20).astype(int)  # the first, the last and eighteen between them
    np.testing.assert_allclose(model.center, space.vectors[rows].mean(axis=0), atol=1e-6)
    unit = AxisModel.of(fit_rotation("mean-difference", seeds.unit()), seeds.unit(), space, AxisOptions())
    assert unit.center is not None
    assert np.linalg.norm(unit.center) < 1.0
    assert np.abs(unit.center - model.center).max() > 0.01


def test_held_out_scores_that_are_known_are_not_made_again() -> None:
    space, lexicon = planted_space(60, 4)
    seeds = find_seeds(space, lexicon)
    rotation = fit_rotation("mean-difference", seeds)
    own = AxisModel.of(rotation, seeds, space)
    given = AxisModel.of(rotation, seeds, space, held_out=3.0 * seeds.sides)
    assert own.calibration is not None
    assert given.calibration == Calibration.of(3.0 * seeds.sides, seeds.sides, seeds.y)
    assert given.calibration.slope != own.calibration.slope


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_a_sigmoid_has_the_scale_and_the_origin_of_its_scores(scale: float) -> None:
    random = np.random.default_rng(0)
    sides = np.where(np.arange(80) < 30, 1.0, -1.0)
    scores = random.normal(size=80) + sides
    one, other = (Calibration.of(each, sides, sides) for each in (scores, scale * scores + 7.0 * scale))
    assert other.slope == pytest.approx(one.slope / scale, rel=1e-6)
    assert other.intercept == pytest.approx(one.intercept - 7.0 * one.slope, rel=1e-6)
    np.testing.assert_allclose(one.probability(scores, 0.0), 30 / 80)
    np.testing.assert_allclose(one.probability(scores), expit(one.slope * scores + one.intercept))


@pytest.mark.parametrize("gap", [0.0, 5.0, 50.0])
def test_a_sigmoid_of_thousands_of_seeds_parted_without_a_fault_is_found(gap: float) -> None:
    random = np.random.default_rng(0)
    scores = np.concatenate([random.normal(size=4000) - gap, random.normal(size=4000) + gap])
    slope, level = models._fit_sigmoid(scores, np.repeat([1e-4, 1.0 - 1e-4], 4000))
    assert np.isfinite([slope, level]).all()
    assert slope > 0.0 or gap == 0.0


def test_a_sigmoid_balances_its_targets_however_far_and_few_the_seeds_of_a_side_are() -> None:
    """Newton's steps overshoot where a few words lie far from many others."""
    random = np.random.default_rng(0)
    for trial in range(30):
        n_low, n_high = int(random.integers(3, 300)), int(random.integers(1, 4 if trial % 2 else 200))
        sides = np.repeat([1.0, -1.0], [n_high, n_low])
        scores = 10 ** random.uniform(-2, 3) * sides + random.choice([1.0, 0.01]) * random.normal(size=len(sides))
        found = Calibration.of(scores, sides, sides)
        targets = np.where(sides > 0, (n_high + 1) / (n_high + 2), 1 / (n_low + 2))
        if np.corrcoef(scores, targets)[0, 1] <= 0:
            assert found.slope == 0.0
            continue
        rest = targets - expit(found.slope * scores + found.intercept)
        balance = [rest.sum(), rest @ (scores - scores.mean()) / scores.std()]
        assert balance == pytest.approx([0.0, 0.0], abs=1e-7), (n_high, n_low)


def test_an_axis_alone_scores_words_and_says_nothing_of_odds() -> None:
    space, lexicon = planted_space(60, 4)
    seeds = find_seeds(space, lexicon)
    model = AxisModel.of(fit_rotation("mean-difference", seeds), seeds, space)
    assert not model.scores
    assert model.score(space.vectors).expected_label is None
    for missing in ("origin", "center", "errors", "calibration"):
        part = replace(model, **{missing: None})
        found = part.score(space.vectors)
        assert (found.probability, found.standard_error, found.like_seeds) == (None, None, None)
        np.testing.assert_allclose(found.score, model.score(space.vectors).score)
        assert set(part.to_arrays()) == {"normalize", "scores"}
    assert model.calibration is not None
    flat = replace(model, calibration=replace(model.calibration, slope=0.0))
    assert flat.even_odds is None
    assert replace(model, calibration=None).even_odds is None
    bare = AxisModel(model.axis)
    assert (bare.normalize, bare.scores, bare.offset) == (True, False, 0.0)
    np.testing.assert_allclose(bare.score(space.vectors).score, bare.score(3.0 * space.vectors).score, atol=1e-6)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("scores", [True, False])
def test_a_file_keeps_all_that_is_known_of_an_axis(tmp_path: Path, normalize: bool, scores: bool) -> None:
    seeds = planted_seeds(40, 3, scores=scores)
    rotation = make_rotation("ridge").fit(seeds.X, seeds.y)
    space = WordSpace(seeds.words, seeds.X + 2.0)
    model = AxisModel.of(rotation, seeds, space, AxisOptions(normalize=normalize))
    path = save_rotation(rotation, tmp_path / "axis.npz", attachments=model.to_arrays())
    again = AxisModel.from_file(AxisFile.read(path))
    assert (again.normalize, again.scores) == (normalize, scores)
    assert again.least_likeness == model.least_likeness
    assert again.calibration == model.calibration
    assert again.errors is not None
    assert model.errors is not None
    assert again.errors.seed_angle == model.errors.seed_angle
    np.testing.assert_allclose(again.errors.deviations, model.errors.deviations, rtol=1e-6, atol=1e-7)
    alone = AxisModel.from_file(AxisFile.read(save_rotation(rotation, tmp_path / "alone.npz")))
    assert (alone.normalize, alone.calibration) == (True, None)


def test_likeness_of_one_seed_or_of_the_average_word_is_no_trap() -> None:
    one = SeedLikeness.of(np.array([[1.0, 2.0]]), np.zeros(2))
    assert one.least == 0.0
    assert one(np.array([[5.0, 5.0]])).tolist() == [1.0]
    two = SeedLikeness.of(np.array([[1.0, 0.0], [3.0, 0.0]]), np.zeros(2))
    places = [1.0 / 3.0, 3.0]  # each on the way to the other
    assert two.least == pytest.approx(np.quantile(places, 0.05))
    assert two(np.array([[2.0 * two.least, 9.0], [two.least, 0.0], [-1.0, 0.0]])).tolist() == pytest.approx(
        [1.0, 0.5, 0.0]
    )


# --- seeds and fits -----------------------------------------------------------------------------------------


def test_two_words_of_two_labels_are_seeds_and_fewer_are_not() -> None:
    space, _ = planted_space(20, 3)
    assert find_seeds(space, Lexicon({"word0": 1, "word1": -1})).n_words == 2
    with pytest.raises(LexiconError, match="At least 2 are needed"):
        find_seeds(space, Lexicon({"word0": 1, "absent": -1}))
    with pytest.raises(
        LexiconError, match=r"all 2 words of .* found in 'planted' have the label 1 \('word0', 'word1'\)"
    ):
        find_seeds(space, Lexicon({"word0": 1, "word1": 1, "absent": -1}))
    in_order = find_seeds(space, Lexicon({"word5": 1, "word0": -1, "word3": 1}))
    assert in_order.words == ("word5", "word0", "word3")
    np.testing.assert_allclose(np.linalg.norm(in_order.X, axis=1), 1.0, rtol=1e-6)
    plain = find_seeds(space, Lexicon({"word5": 1, "word0": -1}), AxisOptions(normalize=False))
    np.testing.assert_allclose(plain.X, space.vectors[[5, 0]])


def test_a_rotation_is_fitted_on_the_seeds_with_one_axis_and_the_scale_asked_for() -> None:
    seeds = planted_seeds(30, 4)
    assert len(fit_rotation("densray", seeds).components_) == 1
    assert len(fit_rotation("densray", seeds, n_components=None).components_) == 4
    assert fit_rotation("ridge", seeds).scale is None
    assert fit_rotation("ridge", seeds, scale="columns").scale == "columns"
    own = make_rotation("ridge").set_params(scale="columns")
    assert fit_rotation(own, seeds).scale == "columns"
    assert not hasattr(own, "components_")  # a copy is fitted
    fitted = fit_rotation("ridge", seeds)
    assert fit_rotation(fitted, seeds, scale="columns") is fitted
    with pytest.raises(VectorError, match="axes of width 4, the space vectors of 3"):
        fit_rotation(fitted, planted_seeds(30, 3))


def test_the_sides_of_induced_seeds_are_parted_and_words_without_labels_belong_to_neither() -> None:
    space, lexicon = planted_space(60, 4)
    induced = induce(space, lexicon, method="mean-difference")
    sides = induced.seed_scores()
    by_word = dict(zip(space.words, induced.scores.score.tolist(), strict=True))
    labels = dict(lexicon.items())
    for name, sign in (("high seeds", 1), ("low seeds", -1)):
        expected = [by_word[word] for word in space.words if sign * labels.get(word, 0) > 0]
        np.testing.assert_allclose(sides[name], expected)
    assert replace(induced, labels={}).seed_scores() == {}
    entry = induced.lookup([space.words[0]])[0]
    assert entry["percentile"] == 100 * (60 - entry["rank"] + 1) / 60
    assert entry["label"] == labels.get(space.words[0])
    assert "label" not in replace(induced, labels={}).lookup([space.words[0]])[0]
    assert induced.lookup(["absent"]) == []


def test_a_vocabulary_of_one_word_has_two_ends_of_it() -> None:
    ranking = score_vocabulary(WordSpace(["only"], [[1.0, 0.0]]), AxisModel(np.array([1.0, 0.0])), method="given")
    assert [[row["word"] for row in table.rows] for table in ranking.tables()] == [["only"], ["only"]]
    assert (ranking.percentile.tolist(), ranking.n_words) == ([100.0], 1)
