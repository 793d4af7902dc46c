"""An axis: fitted from rows, judged when asked, used to score, saved and loaded, with a card."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

from densray import Axis, DensRay, Lexicon, WordSpace
from densray.axes import diagnose, find_rows, fit_axis, induce
from densray.datasets import load_lexicon, load_space
from densray.errors import LabelError, LexiconError, OutputError, TaskError, VectorError
from densray.rotations import make_rotation
from densray.rows import Rows
from planted import along, planted_seeds, planted_space

QUICK: dict[str, Any] = {"method": "mean-difference", "n_permutations": 19}


def planted_axis(**options: Any) -> tuple[Axis, WordSpace]:
    space, lexicon = planted_space(80, 5)
    return Axis.fit(find_rows(space, lexicon), **{**QUICK, **options}), space


# --- fitting -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [True, False])
def test_the_direction_is_that_of_the_method_on_the_rows(normalize: bool) -> None:
    rows = planted_seeds(40, 4)
    axis = Axis.fit(rows, "ridge", normalize=normalize)
    used = rows.unit() if normalize else rows
    np.testing.assert_allclose(axis.direction, make_rotation("ridge").fit(used.X, used.y).components_[0])
    assert np.linalg.norm(axis.direction) == pytest.approx(1.0)
    assert axis.width == 4


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Held-out scores and errors of an axis raise an error when they are computed."""

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("figures are computed")

    for figures in ("axis_errors", "held_out_scores"):
        monkeypatch.setattr(f"densray.axes._axis.{figures}", refuse)


@pytest.mark.usefixtures("no_figures")
def test_fitting_alone_computes_no_figures() -> None:
    axis, space = planted_axis()
    axis.coordinates(space.vectors)
    with pytest.raises(RuntimeError, match="figures are computed"):  # the control
        axis.score(space)


def test_rows_of_several_classes_are_refused_with_advice() -> None:
    rows = Rows.from_arrays(np.random.default_rng(0).normal(size=(9, 3)), list("abcabcabc"))
    with pytest.raises(LabelError, match=r"3 classes .* an axis needs two\. Use rows\.against_rest\('a'\)"):
        Axis.fit(rows)
    assert Axis.fit(rows.against_rest("a"), "mean-difference").label_names == ("rest", "a")


def test_rows_of_one_label_or_without_direction_are_refused() -> None:
    X = np.random.default_rng(0).normal(size=(4, 3))
    with pytest.raises(LabelError, match="all 4 rows of 'rows' have the label 1"):
        Axis.fit(Rows.from_arrays(X, np.ones(4)))
    X[2] = 0.0
    with pytest.raises(VectorError, match="the vectors of 'c' are zero"):
        Axis.fit(Rows.from_arrays(X, [1, 1, -1, -1], names=list("abcd")))


def test_classes_of_text_name_the_ends() -> None:
    rows = Rows.from_arrays(np.eye(4), ["cat", "dog", "cat", "dog"])
    axis = Axis.fit(rows, "mean-difference")
    assert axis.label_names == ("cat", "dog")
    scores = axis.coordinates(np.eye(4))
    assert scores[[1, 3]].min() > scores[[0, 2]].max()


# --- scoring -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [True, False])
def test_a_space_and_its_array_are_scored_alike(normalize: bool) -> None:
    axis, space = planted_axis(normalize=normalize)
    elsewhere = WordSpace(space.words, space.vectors)  # the same vectors, not the background of the rows
    of_array = axis.score(space.vectors)
    for scores in (axis.score(space), axis.score(elsewhere)):
        assert scores.names == tuple(space.words)
        for name, values in of_array.columns().items():
            np.testing.assert_allclose(scores.columns()[name], values, rtol=1e-6, atol=1e-7)
    unit = space.normalized().vectors if normalize else space.vectors
    np.testing.assert_allclose(of_array.score, unit @ axis.direction, atol=1e-5)
    assert of_array.expected_label is None  # two classes
    frame = axis.score(space).to_polars()
    assert frame.columns[:2] == ["name", "score"]


def test_vectors_of_another_shape_are_refused() -> None:
    axis, _ = planted_axis()
    with pytest.raises(VectorError, match="width 5, and the width of the vectors is 4"):
        axis.score(np.ones((2, 4)))
    with pytest.raises(VectorError, match=r"shape \(5,\) are given; a table"):
        axis.score(np.ones(5))
    with pytest.raises(VectorError, match="the width of 'narrow' is 3"):
        axis.score(WordSpace(["a"], np.ones((1, 3)), name="narrow"))


def test_an_axis_without_rows_scores_and_says_what_it_does_not_know() -> None:
    axis = along([1.0, 0.0, 0.0])
    scores = axis.score(np.eye(3))
    assert (scores.probability, scores.standard_error, scores.like_seeds) == (None, None, None)
    assert (axis.verdict, axis.uncertainty, axis.even_odds) == (None, None, None)
    np.testing.assert_allclose(axis.score(3.0 * np.eye(3)).score, scores.score)
    with pytest.raises(TaskError, match="was loaded from a file"):
        axis.diagnose()


# --- verdict -----------------------------------------------------------------------------------------------------


def test_the_verdict_is_that_of_the_diagnosis() -> None:
    axis, space = planted_axis()
    diagnosis = axis.diagnose()
    assert axis.verdict == diagnosis.verdict == diagnose(space, planted_space(80, 5)[1], **QUICK).verdict
    assert diagnosis.axes[0] == axis.agreement
    assert diagnosis.seed_angle == axis.errors.seed_angle
    assert diagnosis.vocabulary == axis.spread
    assert axis.diagnose() is diagnosis


def test_random_labels_have_no_trust_and_planted_ones_do() -> None:
    good = Axis.fit(planted_seeds(200, 6, strength=3.0), **QUICK).verdict
    chance = Axis.fit(planted_seeds(200, 6, strength=0.0, seed=1), **QUICK).verdict
    assert good is not None
    assert chance is not None
    assert (good.grade, chance.grade) == ("good", "none")


# --- files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("scores", [True, False])
def test_a_saved_axis_scores_the_same_rows(tmp_path: Path, normalize: bool, scores: bool) -> None:
    rows = planted_seeds(40, 3, scores=scores)
    rows = replace(rows, X=rows.X.astype(np.float64) + 2.0, background=WordSpace(rows.names, rows.X + 2.0))
    axis = Axis.fit(rows, "ridge", normalize=normalize, n_permutations=19)
    loaded = Axis.load(axis.save(tmp_path / "axis"), rows.background)
    before, after = axis.score(rows.X), loaded.score(rows.X)
    for name in ("score", "probability", "like_seeds", "expected_label"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    np.testing.assert_allclose(after.standard_error, before.standard_error, rtol=1e-5)  # deviations are float32
    assert loaded.even_odds == axis.even_odds
    assert loaded.verdict == axis.verdict
    assert loaded.uncertainty is not None
    assert loaded.uncertainty.errors.seed_angle == axis.errors.seed_angle
    assert loaded.rows is None
    with pytest.raises(TaskError, match="was loaded from a file"):
        loaded.diagnose()


def test_a_loaded_axis_can_be_saved_again(tmp_path: Path) -> None:
    axis, space = planted_axis()
    once = Axis.load(axis.save(tmp_path / "once"))
    twice = Axis.load(once.save(tmp_path / "twice"), space)
    assert twice.verdict == axis.verdict
    np.testing.assert_array_equal(twice.score(space).standard_error, once.score(space).standard_error)


def test_plain_safetensors_reads_verdict_method_and_provenance(tmp_path: Path) -> None:
    axis, _ = planted_axis(label_names=("low", "high"))
    with safe_open(str(axis.save(tmp_path / "axis")), framework="numpy") as file:
        described = {name: json.loads(text) for name, text in file.metadata().items()}
        np.testing.assert_array_equal(file.get_tensor("components_")[0], axis.direction)
    assert axis.verdict is not None
    assert described["verdict"]["line"] == axis.verdict.line
    assert described["method"] == "mean-difference"
    assert described["concept"] == "planted labels"
    assert described["label_names"] == ["low", "high"]
    assert described["provenance"]["words_used"] == 40


def test_an_axis_saved_without_judging_needs_two_rows_and_carries_no_errors(tmp_path: Path) -> None:
    space, _ = planted_space(20, 4)
    seeds = Lexicon({"word0": 1, "word19": -1, "nowhere": 1})
    path = tmp_path / "axis.safetensors"
    axis = fit_axis(space, seeds, path, method="mean-difference", judge=False)
    assert axis.rows is not None
    assert (len(axis.rows), axis.rows.missing) == (2, ("nowhere",))
    loaded = Axis.load(path, space)
    assert (loaded.verdict, loaded.uncertainty) == (None, None)
    assert loaded.score(space).standard_error is None
    assert len(loaded.rotation.components_) == 4  # a lossless rotation
    np.testing.assert_array_equal(loaded.score(space).score, axis.coordinates(space.vectors))
    with pytest.raises(OutputError, match="exists"):
        fit_axis(space, seeds, path, method="mean-difference", judge=False)


def test_fit_axis_is_a_fit_a_diagnosis_and_a_file(googlenews: WordSpace, tmp_path: Path) -> None:
    space, gender = googlenews.limit(8_000), load_lexicon("gender")
    axis = fit_axis(space, gender, tmp_path / "axis", label_names=("she", "he"), **QUICK)
    known = diagnose(space, gender, **QUICK)
    assert axis.verdict == known.verdict
    loaded = Axis.load(tmp_path / "axis.safetensors", space)
    assert (loaded.verdict, loaded.label_names, loaded.method) == (known.verdict, ("she", "he"), "mean-difference")
    np.testing.assert_allclose(loaded.score(space).standard_error, known.axis.score(space).standard_error, rtol=1e-5)


def test_too_few_words_are_named() -> None:
    space, _ = planted_space(20, 3)
    with pytest.raises(LexiconError, match="At least 2 are needed"):
        fit_axis(space, Lexicon({"word0": 1, "absent": -1}))


# --- cards -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [True, False])
def test_the_card_holds_the_figures_and_its_snippet_gives_the_same_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, normalize: bool
) -> None:
    axis, space = planted_axis(normalize=normalize, label_names=("low", "high"))
    axis.save(tmp_path / "axis", card=True)
    card = (tmp_path / "README.md").read_text("utf-8")
    assert axis.verdict is not None
    assert axis.verdict.sentence in card
    assert f"{axis.agreement.auc:.3f}" in card
    low, high = axis.spread.reliability_interval
    assert f"{axis.spread.reliability:.2f} [{low:.2f}, {high:.2f}]" in card
    assert "40 labelled rows of `planted labels`" in card
    monkeypatch.chdir(tmp_path)
    plain, snippet = (code for code in re.findall(r"```python\n(.*?)```", card, re.DOTALL))
    names: dict[str, Any] = {"X": space.vectors.astype(np.float64), "np": np, "space": space}
    exec(snippet, names)
    np.testing.assert_allclose(names["score"], axis.score(space).score, atol=1e-6)
    exec(plain, names)
    np.testing.assert_array_equal(names["axis"].score(space).score, axis.score(space).score)


def test_a_card_stays_unless_overwrite_is_given(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", "utf-8")
    axis, _ = planted_axis()
    with pytest.raises(OutputError, match="exists"):
        axis.save(tmp_path / "axis", card=True)
    assert (tmp_path / "README.md").read_text("utf-8") == "mine"
    axis.save(tmp_path / "axis", card=True, overwrite=True)
    assert "Held-out figures" in (tmp_path / "README.md").read_text("utf-8")


@pytest.mark.usefixtures("no_figures")
def test_the_card_of_an_axis_without_figures_says_so(tmp_path: Path) -> None:
    axis, _ = planted_axis()
    axis.save(tmp_path / "axis", judge=False, card=True)
    assert "Not measured." in (tmp_path / "README.md").read_text("utf-8")


@pytest.mark.parametrize("given", [np.eye(3), {"a": 1}])
def test_something_other_than_rows_is_answered_with_the_ways_to_make_them(given) -> None:
    with pytest.raises(TaskError, match=r"Rows\.from_table"):
        Axis.fit(given)


def test_an_unknown_option_or_method_is_named() -> None:
    rows = Rows.from_arrays(np.eye(4), [1.0, 1.0, -1.0, -1.0])
    with pytest.raises(TaskError, match=r"'fold' is not an option of an axis\. Did you mean 'folds'\?"):
        Axis.fit(rows, fold=3)
    with pytest.raises(TaskError, match=r"the method is DensRay; .*Use DensRay\(\)"):
        Axis.fit(rows, DensRay)
    with pytest.raises(TaskError, match="the method is 3; the name of a method"):
        Axis.fit(rows, 3)


def test_words_left_out_are_named_where_all_rows_have_one_label() -> None:
    space, _ = planted_space(80, 5)
    one_sided = {space.words[0]: 1, space.words[1]: 1, "absent": -1}
    with pytest.raises(LabelError, match=r"Left out \(not in the space\): 'absent'"):
        Axis.fit(find_rows(space, Lexicon(one_sided)))


WEATHER = Lexicon.from_word_lists(
    ["sunny", "warm", "balmy", "mild", "sunshine"], ["rainy", "stormy", "freezing", "chilly", "snowstorm", "drizzle"]
)


@pytest.mark.parametrize("lexicon", ["weather", "fifty words"])
def test_a_word_list_has_one_result_whichever_function_takes_it(lexicon: str) -> None:
    """`Axis.fit(lexicon.align(space))`, `diagnose`, `fit_axis` and `induce`: equal to the bit."""
    space = load_space("googlenews-26k")
    every = load_lexicon("hu-liu")
    some = Lexicon(zip(every.words[::130], every.labels[::130].tolist(), strict=True))
    lists = some if lexicon == "fifty words" else WEATHER
    assert 2 * np.sum(lists.labels > 0) != len(
        lists
    )  # the control: folds of classes of unequal size depend on the order of the rows
    quick: Any = {"n_permutations": 99}
    in_order = Axis.fit(lists.align(space, order="lexicon"), **quick)
    axis, induced = Axis.fit(lists.align(space), **quick), induce(space, lists, **quick)
    assert in_order.even_odds != axis.even_odds
    again = induce(space, axis)
    np.testing.assert_array_equal(induced.scores.probability, again.scores.probability)
    np.testing.assert_array_equal(induced.scores.standard_error, again.scores.standard_error)
    assert (induced.even_odds, induced.verdict) == (again.even_odds, again.verdict)
    diagnosis, expected = diagnose(space, lists, **quick), Axis.fit(lists.align(space), **quick).diagnose()
    assert (diagnosis.axes, diagnosis.permutation.p_value) == (expected.axes, expected.permutation.p_value)
    assert (diagnosis.seeds, diagnosis.verdict) == (expected.seeds, expected.verdict)
    for other in (diagnosis.axis, fit_axis(space, lists, judge=False, **quick), induced.axis):
        assert other.known_rows.names == axis.known_rows.names
        np.testing.assert_array_equal(other.direction, axis.direction)
        np.testing.assert_array_equal(other.folds, axis.folds)
