"""Induced lexicons: every word of a space with its score, rank, probability and error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from io import StringIO
from pathlib import Path

import numpy as np
import polars
import pytest
from rich.console import Console

from densray import Axis, Lexicon, WordSpace, load_space
from densray.axes import AxisOptions, diagnose, find_rows, fit_axis, fit_rotation, induce, rank_words
from densray.axes._options import AxisChoices
from densray.datasets import load_lexicon
from densray.errors import DensRayError, LabelError, LexiconError, OutputError, TaskError, VectorError
from densray.metrics import auc
from densray.rotations import make_rotation
from planted import along, planted_seeds, planted_space


def test_scores_ranks_and_percentiles_are_those_of_the_axis() -> None:
    space, lexicon = planted_space()
    induced = induce(space, lexicon, method="mean-difference", normalize=False)
    seeds = find_rows(space, lexicon)
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
    assert induce(space, lexicon, method="mean-difference", groups=None).rank.tolist()[:2] == [1, 1]
    many = WordSpace([f"w{row}" for row in range(6)], [[3.0, 0.0], *[[1.0, 1.0]] * 4, [-1.0, 0.0]])
    ranking = rank_words(along([1.0, 0.0]), many)
    assert ranking.rank.tolist() == [1, 2, 2, 2, 2, 6]  # the best of their places
    assert ranking.percentile[1] == pytest.approx(100 * 5 / 6)


def test_large_spaces_are_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    space, lexicon = planted_space()
    whole = induce(space, lexicon)
    blocks = WordSpace.blocks
    monkeypatch.setattr(WordSpace, "blocks", lambda self: blocks(self, rows=37))
    np.testing.assert_allclose(induce(space, lexicon).scores.standard_error, whole.scores.standard_error, rtol=1e-4)


@pytest.fixture(scope="module")
def sentiment() -> tuple[WordSpace, Lexicon, Lexicon]:
    return (load_space("googlenews-26k"), *load_lexicon("hu-liu").split(0.3, random_state=0))


def test_the_induced_lexicon_agrees_with_unseen_words(sentiment: tuple[WordSpace, Lexicon, Lexicon]) -> None:
    space, training, test = sentiment
    frame = induce(space, training).to_polars()
    score = dict(zip(frame["word"], frame["score"], strict=True))
    unseen = [(score[word], label) for word, label in test.items() if word in score]
    assert auc([label for _, label in unseen], [value for value, _ in unseen]) > 0.95


def test_scores_of_a_lexicon_come_back_in_its_units() -> None:
    seeds = planted_seeds(500, 6, scores=True, strength=3.0)
    labels = 3.0 + 0.5 * seeds.y
    space = WordSpace(seeds.names, seeds.X)
    half = dict(zip(seeds.names[:250], labels[:250].tolist(), strict=True))
    frame = induce(space, Lexicon(half), normalize=False).to_polars()
    estimate = dict(zip(frame["word"], frame["expected_label"], strict=True))
    error = [estimate[word] - label for word, label in zip(seeds.names[250:], labels[250:].tolist(), strict=True)]
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


def test_an_axis_without_seeds_gives_scores_and_no_errors() -> None:
    space, _ = planted_space()
    induced = induce(space, along(np.eye(12)[0], normalize=False))
    assert induced.to_polars().columns == ["word", "score", "rank", "percentile"]
    np.testing.assert_allclose(induced.scores.score, space.vectors[:, 0], atol=1e-6)
    assert (induced.verdict, induced.even_odds, induced.n_seeds) == (None, None, None)


def test_bad_input_is_named() -> None:
    space, lexicon = planted_space()
    with pytest.raises(LexiconError, match="0 of 2 lexicon words are in the space"):
        induce(space, Lexicon({"x": 1, "y": -1}))
    with pytest.raises(LabelError, match="have the label 1"):
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
    assert np.isfinite(induced.scores.standard_error).all()


def test_even_odds_lie_where_the_probability_is_one_half_and_not_at_zero() -> None:
    space, lexicon = planted_space(strength=2.0)
    shifted = WordSpace(space.words, space.vectors + 1.0)
    induced = induce(shifted, lexicon, normalize=False)
    order = np.argsort(induced.scores.score)
    crossing = np.interp(0.5, induced.scores.probability[order], induced.scores.score[order])
    assert induced.even_odds == pytest.approx(crossing, abs=0.05)
    assert abs(induced.even_odds) > 0.5
    assert f"even odds lie at {induced.even_odds:.3f}" in induced.tables()[-1].notes[0]


def test_the_verdict_stands_alone_and_remarks_are_notes_below_the_tables() -> None:
    from densray.report import to_html, to_markdown, to_terminal

    induced = induce(*planted_space(strength=2.0), normalize=False)
    assert induced.lead() == induced.verdict.sentence
    assert induced.text().startswith(f"{induced.lead()}\n")
    assert "0 is not neutral: even odds lie at" in induced.text()
    assert not induced.tables()[0].notes
    assert "Run `densray diagnose`" in induced.tables()[-1].notes[-1]
    shown = to_markdown(induced)  # in the order of a terminal
    assert shown.index("**Lowest**") < shown.index("even odds lie at") < shown.index("Run `densray diagnose`")
    page = to_html(induced)
    assert '<p class="note">Run <code>densray diagnose</code> for a list of suspect seeds.</p>' in page
    text = StringIO()
    Console(file=text, width=200).print(to_terminal(induced))
    printed = text.getvalue()
    assert "Run densray diagnose for a list" in printed
    for rendered in (shown, page, printed):
        assert rendered.count("0 is not neutral") == 1


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
    with pytest.raises(DensRayError, match="random_state=-1 is given"):
        ask(*planted_space(), random_state=-1)


def test_every_option_can_be_given_by_its_name_and_no_other() -> None:
    assert list(AxisChoices.__annotations__) == [each.name for each in fields(AxisOptions)]
    space, lexicon = planted_space()
    options = AxisOptions(normalize=False, folds=5, random_state=3)
    both = [induce(space, lexicon, options=options), induce(space, lexicon, normalize=False, folds=5, random_state=3)]
    assert both[0].to_polars().equals(both[1].to_polars())
    assert not both[0].to_polars().equals(induce(space, lexicon, options=options, random_state=4).to_polars())
    with pytest.raises(TaskError, match="'match_case' is not an option of an axis"):
        induce(space, lexicon, match_case=False)  # type: ignore[call-arg]


def test_words_unlike_the_seeds_have_no_probability() -> None:
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
    table = list(space.words).index("table")
    assert scores.like_seeds[table] < 0.3
    assert np.isnan(scores.probability[table])
    assert found.lookup(["table"])[0]["probability"] is None
    frame = found.to_polars()
    seeds = frame.filter(frame["label"].is_not_null())
    assert (seeds["like_seeds"] == 1.0).mean() > 0.85
    assert seeds.filter(seeds["label"] > 0)["probability"].median() > 0.85
    assert any("`like_seeds`" in note for note in found.tables()[-1].notes)


def test_two_words_of_two_labels_are_rows_and_fewer_are_not() -> None:
    space, _ = planted_space(20, 3)
    assert len(find_rows(space, Lexicon({"word0": 1, "word1": -1}))) == 2
    with pytest.raises(LexiconError, match="At least 2 are needed"):
        find_rows(space, Lexicon({"word0": 1, "absent": -1}))
    in_order = find_rows(space, Lexicon({"word5": 1, "word0": -1, "word3": 1}))
    assert in_order.names == ("word5", "word0", "word3")
    np.testing.assert_allclose(in_order.X, space.vectors[[5, 0, 3]])


def test_a_rotation_is_fitted_on_the_seeds_with_one_axis_and_the_scale_asked_for() -> None:
    seeds = planted_seeds(30, 4)
    assert len(fit_rotation("densray", seeds).components_) == 1
    assert len(fit_rotation("densray", seeds, n_components=None).components_) == 4
    assert not fit_rotation("ridge", seeds).standardize
    assert fit_rotation("ridge", seeds, standardize=True).standardize
    own = make_rotation("ridge").set_params(standardize=True)
    assert fit_rotation(own, seeds).standardize
    assert not hasattr(own, "components_")  # a copy is fitted
    fitted = fit_rotation("ridge", seeds)
    assert fit_rotation(fitted, seeds, standardize=True) is fitted
    with pytest.raises(VectorError, match="axes of width 4, the rows have width 3"):
        fit_rotation(fitted, planted_seeds(30, 3))


def test_the_sides_of_induced_seeds_are_split_and_words_without_labels_belong_to_neither() -> None:
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
    ranking = rank_words(along([1.0, 0.0]), WordSpace(["only"], [[1.0, 0.0]]))
    assert [[row["word"] for row in table.rows] for table in ranking.tables()] == [["only"], ["only"]]
    assert (ranking.percentile.tolist(), ranking.n_words) == ([100.0], 1)


def test_the_ends_of_a_lexicon_are_in_the_order_of_the_scores_and_named_by_their_labels() -> None:
    space, lexicon = planted_space(60, 5)
    induced = induce(space, lexicon, method="mean-difference", label_names=("down", "up"))
    assert [table.title for table in induced.tables()] == ["Highest: up", "Lowest: down"]
    words = [space.words[row] for row in np.argsort(-induced.scores.score, kind="stable")]
    assert [row["word"] for row in induced.ends(4)] == [*words[:4], *words[-4:]]
    assert [row["word"] for row in induced.with_ends(3).lowest] == words[:-4:-1]
    few = induce(space, lexicon, method="mean-difference", n_ends=3)
    assert [[row["word"] for row in end] for end in (few.highest, few.lowest)] == [words[:3], words[:-4:-1]]


def test_a_lexicon_by_a_saved_axis_is_that_of_the_axis(tmp_path: Path) -> None:
    space, lexicon = planted_space(60, 5)
    axis = fit_axis(
        space, lexicon, tmp_path / "axis", method="mean-difference", n_permutations=19, label_names=("low", "high")
    )
    loaded = Axis.load(tmp_path / "axis.safetensors", space)
    by_axis, by_file = induce(space, axis), induce(space, loaded)
    np.testing.assert_array_equal(by_file.rank, by_axis.rank)
    np.testing.assert_array_equal(by_file.scores.probability, by_axis.scores.probability)
    assert (by_file.verdict, by_file.label_names) == (axis.verdict, ("low", "high"))
    assert by_file.even_odds == pytest.approx(by_axis.even_odds)
    assert by_file.labels == {}  # a file does not list its seeds
