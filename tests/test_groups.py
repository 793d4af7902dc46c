"""Rows that belong together are left out together: in fits, folds, errors, tests, and what the library proposes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from densray import (
    Axis,
    DensRay,
    Lexicon,
    LinearRotation,
    MeanDifference,
    SequentialRotation,
    WordSpace,
    fit_axis,
    load_lexicon,
    load_space,
)
from densray.axes import (
    compare_methods,
    diagnose,
    evaluate_induction,
    find_rows,
    fit_rotation,
    induce,
    repeat_induction,
)
from densray.cli.entry import run
from densray.errors import DensRayError, LabelError, LexiconError, TaskError
from densray.folds import count_folds, group_folds, stratified_folds
from densray.formats import write_space
from densray.groups import find_equal_rows, find_forms, propose_groups
from densray.metrics import auc, auc_interval, resampled_tau, tau_interval
from densray.report import to_json
from densray.rotations import make_rotation
from densray.rows import Rows
from densray.spelling import possible_forms
from densray.states import States, compare_layers
from densray.statistics import axes_without_each, axis_errors, directions_without, permutation_test, permuted_labels

WIDTH, THINGS = 20, 24


def twins(seed: int = 0, *, concept: float = 0.6, things: int = THINGS, each: int = 2) -> Rows:
    """Return pairs that share all but a small difference along the first column: contrastive pairs, by thing."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(things, WIDTH)) * 3.0
    groups = np.repeat(np.arange(things), 2 * each)
    y = np.tile([1.0, -1.0], things * each)
    pairs = np.repeat(random.normal(size=(things * each, WIDTH)), 2, axis=0)
    X = centres[groups] + pairs + random.normal(size=(len(y), WIDTH)) * 0.3
    X[:, 0] += concept * y
    words = tuple(f"thing{group}-{row}" for row, group in enumerate(groups.tolist()))
    return Rows(X.astype(np.float32), y, words, locations=np.arange(len(y)), groups=groups)


def as_task(seeds: Rows, *, grouped: bool = True) -> tuple[WordSpace, Lexicon]:
    groups = None
    if grouped and seeds.groups is not None:
        groups = dict(zip(seeds.names, seeds.groups.tolist(), strict=True))
    return WordSpace(seeds.names, seeds.X), Lexicon(
        dict(zip(seeds.names, seeds.y.tolist(), strict=True)), groups=groups
    )


# -- estimators -------------------------------------------------------------------------------------------------------


def test_a_score_within_groups_compares_the_rows_of_a_group_only() -> None:
    X, y = np.array([[1.0, 9.0], [0.0, 9.0], [9.0, 1.0], [8.0, 1.0], [3.0, 2.0]]), np.array([1, -1, 1, -1, 1])
    rotation = MeanDifference().fit([[1.0, 0.0], [-1.0, 0.0]], [1, -1])
    assert rotation.score(X, y) < 0.5  # 8 of the second pair lies above 1 of the first
    assert rotation.score(X, y, groups=["a", "a", "b", "b", "c"]) == 1.0
    assert rotation.score(X, -y, groups=["a", "a", "b", "b", "c"]) == -1.0
    with pytest.raises(LabelError, match="no group holds rows of different labels"):
        rotation.score(X, y, groups=["a", "b", "a", "b", "a"])
    both = SequentialRotation(MeanDifference(), n_components=1).fit(X, y)
    assert both.score(X, y, groups=[0, 0, 1, 1, 2]) == MeanDifference().fit(X, y).score(X, y, groups=[0, 0, 1, 1, 2])


def test_dask_rows_are_refused_groups_by_name() -> None:
    dask_array = pytest.importorskip("dask.array")
    X = dask_array.ones((4, 2), chunks=2)
    for call in (DensRay().fit, DensRay().score):
        with pytest.raises(DensRayError, match="groups are given with a Dask collection"):
            call(X, np.array([1, -1, 1, -1]), groups=[0, 0, 1, 1])


# -- lexicons ---------------------------------------------------------------------------------------------------------


def test_a_lexicon_reads_its_groups_from_a_column(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("word\tlabel\tjob\nhe\t1\tnurse\nshe\t-1\tnurse\nking\t1\t\nqueen\t-1\tcourt\n", encoding="utf-8")
    lexicon = Lexicon.read(path, group_column="job")
    assert lexicon.groups == {"he": "nurse", "she": "nurse", "queen": "court"}
    assert Lexicon.read(path).groups is None
    assert "2 groups" in repr(lexicon)
    assert lexicon.to_polars().columns == ["word", "label", "group"]
    assert Lexicon.from_frame(lexicon.to_polars(), group_column="group").groups == lexicon.groups
    assert lexicon.without(["he"]).groups == {"she": "nurse", "queen": "court"}
    assert Lexicon.union(lexicon, Lexicon({"man": 1})).groups == lexicon.groups
    space = WordSpace(["queen", "he", "she", "king"], np.eye(4))
    assert lexicon.align(space, order="lexicon").groups.tolist() == [0, 0, 1, 2]
    with pytest.raises(LexiconError, match="there is no column 'work'"):
        Lexicon.read(path, group_column="work")
    path.write_text("he\t1\ta\nshe\t-1\ta\nhe\t1\tb\n", encoding="utf-8")
    with pytest.raises(LexiconError, match="line 3: 'he' is in the group 'b' and, further up, in 'a'"):
        Lexicon.read(path, word_column=0, label_column=1, group_column=2)


def test_groups_are_given_by_word_or_one_per_word() -> None:
    lexicon = Lexicon({"he": 1, "she": -1, "it": -1})
    assert lexicon.grouped(["a", "a", None]).groups == {"he": "a", "she": "a"}
    assert lexicon.grouped({"he": 1, "they": 2}).groups == {"he": "1"}
    assert lexicon.grouped({"he": 1}).grouped(None).groups is None
    with pytest.raises(LexiconError, match="2 groups are given for the 3 words of 'lexicon'; one per word"):
        lexicon.grouped(["a", "a"])
    with pytest.raises(LexiconError, match="none of them is in 'lexicon'"):
        lexicon.grouped({"they": 1})
    with pytest.raises(LabelError, match="groups='pairs' is given; use a group per row"):
        lexicon.grouped("pairs")


def test_a_split_keeps_groups_whole() -> None:
    lexicon = as_task(twins())[1]
    training, test = lexicon.split(0.3, random_state=1)
    assert not set(training.groups.values()) & set(test.groups.values())
    assert 0.2 < len(test) / len(lexicon) < 0.4


# -- what is proposed -------------------------------------------------------------------------------------------------


def test_twins_are_texts_of_unlike_labels_that_alone_share_a_pattern() -> None:
    texts = ["The city of Paris is in France.", "The city of Paris is in Spain.", "The city of Lyon is in France."]
    texts += ["The city of Lyon is in Chad.", "The city of Oslo is in Norway.", "The city of Oslo is in Spain."]
    proposal = propose_groups(texts, np.array([1, 0, 1, 0, 1, 0]))
    assert proposal.numbers.tolist() == [0, 0, 1, 1, 2, 2]  # one country of several cities joins nothing
    assert (proposal.n_groups, proposal.n_rows, proposal.reason) == (3, 6, "differ from another in one word")
    assert "6 of 6 rows differ from another in one word ('The city of Paris is in France.' and" in proposal.line
    assert "(groups: proposed) they make 3 groups" in proposal.line
    assert propose_groups(texts, np.ones(6)) is None  # no contrast, no twins
    assert propose_groups(["he", "she", "king", "queen"], np.array([1, 0, 1, 0])) is None  # words are no texts


def test_repeats_equal_vectors_and_pairs_are_proposed() -> None:
    words = ["Good", "good", "bad", "ill", "he", "she"]
    X = np.eye(6)
    X[3] = X[2]
    proposal = propose_groups(words, np.array([1, 1, -1, -1, 1, -1]), X, pairs=[("he", "she"), ("he", "absent")])
    assert proposal.numbers.tolist() == [0, 0, 1, 1, 2, 2]
    assert propose_groups([f"word{number}" for number in range(200)] + ["one more", "one_more"]) is None  # 2 of 202


def test_results_say_that_groups_are_proposed_and_take_them() -> None:
    seeds = twins(concept=1.5)
    pairs = [(seeds.names[row], seeds.names[row + 1]) for row in range(0, len(seeds), 2)]
    space, lexicon = WordSpace(seeds.names, seeds.X), Lexicon.from_pairs(pairs)
    options = {"normalize": False, "n_permutations": 19}
    found = diagnose(space, lexicon, method="mean-difference", **options)
    assert (found.n_groups, found.proposal.n_groups) == (None, len(pairs))
    notes = [note for table in found.tables() for note in table.notes]
    assert found.proposal.line in notes
    assert '"n_rows"' in to_json(found)
    assert "come in pairs" in " ".join(induce(space, lexicon, normalize=False).tables()[-1].notes)
    compared = compare_methods(space, lexicon, methods=["ridge", "mean-difference"])
    assert compared.proposal.n_rows == len(seeds)
    taken = diagnose(space, lexicon, method="mean-difference", groups="proposed", **options)
    assert (taken.n_groups, taken.proposal, taken.influence) == (len(pairs), None, "leave-group-out, closed form")
    assert "held out in 48 groups" in taken.tables()[0].rows[0]["meaning"]
    assert "held out in 2,266 groups" in replace(taken, n_groups=2266).tables()[0].rows[0]["meaning"]
    assert compare_methods(space, lexicon, methods=["ridge"], groups="proposed").n_groups == len(pairs)
    listed = diagnose(space, Lexicon(dict(lexicon.items())), pairs=pairs, groups="proposed", **options)
    assert listed.n_groups == len(pairs)


# -- forms of one word ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def googlenews() -> WordSpace:
    return load_space("googlenews-26k")


FORMS = ["city", "cities", "foot", "feet", "woman", "women", "happy", "happily", "win", "winning"]


def test_forms_of_one_word_are_found_by_letters_and_vectors(googlenews: WordSpace) -> None:
    words = [*FORMS, "good", "goods", "live", "love", "day", "they", "march", "may"]
    forms = find_forms(words, googlenews.vectors_at(googlenews.locate(words)), googlenews)
    assert forms.numbers.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, *range(5, 13)]
    assert (forms.n_groups, forms.n_words) == (5, 10)
    assert forms.line == (
        "10 words in 5 groups are held out together as forms of one word: city/cities, foot/feet, woman/women, …"
    )


@pytest.mark.parametrize(
    "pair",
    ["Haus Häuser", "Straße Straßen", "gatto gatti", "casa case", "luz luces", "cheval chevaux", "книга книги",
     "kitap kitaplar", "Buch Bücher", "hot_dog hot_dogs", "Dog dogs"],
)  # fmt: skip
def test_spellings_of_many_languages_allow_forms(pair: str) -> None:
    assert [found for some in possible_forms(pair.split()) for found in some] == [(0, 1)]


@pytest.mark.parametrize("pair", ["he she", "a1 a2", "hot_dog cold_dog", "unhappy unhealthy", "father mother", ""])
def test_spellings_of_other_words_do_not(pair: str) -> None:
    assert not any(possible_forms(pair.split()))


def test_words_are_held_out_with_their_forms_by_default(googlenews: WordSpace) -> None:
    lexicon = Lexicon({**dict.fromkeys(["win", "wins", "winning", "joy", "gift"], 1),
                       **dict.fromkeys(["loss", "losses", "death", "deaths", "enemy"], -1)})  # fmt: skip
    rows = lexicon.align(googlenews, order="lexicon")
    assert rows.groups.tolist() == [0, 0, 0, 1, 2, 3, 3, 4, 4, 5]
    mixed = lexicon.align(googlenews)
    of_word = dict(zip(mixed.names, mixed.groups.tolist(), strict=True))
    assert of_word["win"] == of_word["winning"] != of_word["joy"]
    assert mixed.forms.numbers.tolist() == mixed.groups.tolist()
    assert lexicon.align(googlenews, groups=None).groups is None
    grouped = lexicon.grouped({"win": "a", "loss": "b", "joy": "a"}).align(googlenews, order="lexicon")
    assert grouped.groups.tolist() == [0, 1, 2, 0, 3, 4, 5, 6, 7, 8]  # the groups of the user replace forms
    found = diagnose(googlenews, lexicon, n_permutations=19)
    assert (found.n_groups, found.influence) == (6, "leave-group-out, closed form")
    assert rows.forms.line in found.tables()[0].notes
    assert rows.forms.line in induce(googlenews, lexicon).tables()[-1].notes
    compared = compare_methods(googlenews, lexicon, methods=["mean-difference"])
    assert any(rows.forms.line in table.notes for table in compared.tables())
    assert evaluate_induction(googlenews, lexicon, methods=["mean-difference"]).n_groups is None  # as in the paper
    with pytest.raises(LabelError, match="groups='stems' is given; use a group per row, None, or 'forms' or"):
        lexicon.align(googlenews, groups="stems")


def test_a_list_without_forms_has_the_same_figures_to_the_digit(googlenews: WordSpace) -> None:
    lexicon = Lexicon({**dict.fromkeys(["good", "great", "happy", "win", "peace", "joy", "gift", "sun", "friend", "honest"], 1),
                       **dict.fromkeys(["bad", "awful", "sad", "lose", "war", "grief", "theft", "storm", "enemy", "liar"], -1)})  # fmt: skip
    found, alone = (diagnose(googlenews, lexicon, groups=groups, n_permutations=49) for groups in ("forms", None))
    assert found.n_groups is None
    assert (found.seeds, found.axes, found.seed_angle) == (alone.seeds, alone.axes, alone.seed_angle)
    assert (found.vocabulary, found.permutation, found.verdict) == (alone.vocabulary, alone.permutation, alone.verdict)


def test_nouns_with_plurals_and_random_labels_are_seldom_a_concept(googlenews: WordSpace) -> None:
    known = set(googlenews.words)
    nouns = [word for word in googlenews.words if len(word) > 3 and word.isalpha() and word + "s" in known]
    hits = {"forms": 0, None: 0}
    for seed in range(30):
        random = np.random.default_rng(seed)
        chosen = random.choice(nouns, 25, replace=False).tolist()
        labels = random.permutation(np.arange(25) % 2).tolist()
        entries = [(form, label) for word, label in zip(chosen, labels, strict=True) for form in (word, word + "s")]
        for groups in hits:
            rows = Lexicon(entries, neutral="keep").align(googlenews, groups=groups).unit()
            rows = replace(rows, X=rows.X @ np.linalg.qr(rows.X.T)[0])  # the same products in 50 columns
            test = permutation_test(
                make_rotation("ridge").fit(rows.X, rows.y, groups=rows.groups), rows, n_permutations=39,
                random=np.random.default_rng(seed),
            )  # fmt: skip
            hits[groups] += test.p_value <= 0.05
    assert hits["forms"] <= 5  # more have a probability below 1% where 5% is true
    assert hits[None] >= 25


def test_scores_are_exchanged_between_whole_groups() -> None:
    pairs = [10.0, 11.0, 20.0, 22.0, 30.0, 33.0, 40.0, 44.0, 50.0, 55.0]  # five groups of two
    values = np.array([*pairs, 1.0, 1.0, 1.0, 3.0, 60.0, 61.0, 65.0, 70.0, 71.0, 73.0, 78.0])
    groups = np.repeat(np.arange(9), [2, 2, 2, 2, 2, 3, 1, 3, 4])
    columns = permuted_labels(values, groups, 200, np.random.default_rng(0))
    assert {tuple(sorted(pair)) for pair in columns[:2].T.tolist()} == {*zip(pairs[::2], pairs[1::2], strict=True)}
    assert {tuple(each) for each in columns[10:14].T.tolist()} == {(1.0, 1.0, 1.0, 3.0), (3.0, 3.0, 3.0, 1.0)}
    means = columns[14:17].mean(axis=0), columns[17:].mean(axis=0)
    assert {tuple(np.round(each, 9)) for each in np.transpose(means).tolist()} == {(62.0, 73.0), (73.0, 62.0)}
    assert {tuple(np.round(np.sort(each - each.mean()), 9)) for each in columns[14:17].T} == {(-2.0, -1.0, 3.0)}


@pytest.mark.parametrize("spread", [0.0, 1.0], ids=["one score per author", "several"])
def test_scores_of_authors_of_all_sizes_are_significant_where_there_is_a_concept(spread: float) -> None:
    found = {0.0: 0, 1.5: 0}
    for effect, seed in itertools.product(found, range(40)):
        random = np.random.default_rng(seed)
        groups = np.repeat(np.arange(30), random.permutation(np.arange(1, 31)))  # every size once
        y = random.normal(size=30)[groups] + spread * random.normal(size=len(groups))
        X = random.normal(size=(30, 8))[groups] + random.normal(size=(len(groups), 8))
        X[:, 0] += effect * y
        rows = Rows(X, y, tuple(map(str, range(len(y)))), groups=groups)
        rotation = make_rotation("mean-difference").fit(X, y)
        found[effect] += permutation_test(rotation, rows, n_permutations=39, random=random).p_value <= 0.05
    assert found[0.0] <= 6  # more have a probability below 1% where 5% is true
    assert found[1.5] >= 32


def test_scores_of_twins_are_significant_where_there_is_a_concept() -> None:
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 2)
    y = np.linspace(-1, 1, 30)[groups] + 0.05 * random.normal(size=60)
    X = random.normal(size=(30, WIDTH))[groups] + 0.3 * random.normal(size=(60, WIDTH))
    X[:, 0] += 3.0 * y
    seeds = Rows(X, y, tuple(map(str, range(60))), groups=groups)
    rotation = make_rotation("ridge").fit(X, y, groups=groups)
    assert permutation_test(rotation, seeds, n_permutations=99, random=np.random.default_rng(0)).p_value == 0.01


def test_a_lexicon_of_forms_of_one_word_says_that_groups_are_too_few(googlenews: WordSpace) -> None:
    lexicon = Lexicon({"win": 1, "wins": 1, "winner": 1, "loss": -1, "losses": -1})
    with pytest.raises(TaskError, match="5 rows were found in 2 groups: 1 of the higher label and 1"):
        diagnose(googlenews, lexicon)
    assert diagnose(googlenews, lexicon, groups=None, n_permutations=19).n_groups is None


def test_a_proposal_follows_its_rows_into_another_order() -> None:
    lexicon = Lexicon.from_pairs([("he", "she"), ("king", "queen"), ("man", "woman")])
    words = ["he", "she", "king", "queen", "man", "woman"]
    rows = Lexicon(lexicon.items(), groups=None).align(
        WordSpace(words, np.eye(6)), pairs=[("he", "she"), ("man", "woman")]
    )
    of_word = dict(zip(rows.names, rows.proposal.numbers.tolist(), strict=True))
    assert of_word["he"] == of_word["she"]
    assert of_word["man"] == of_word["woman"] != of_word["king"]
    assert of_word["king"] != of_word["queen"]


# -- folds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", ["classes", "scores"])
def test_folds_hold_whole_groups(labels: str) -> None:
    seeds = twins()
    if labels == "scores":
        seeds = replace(seeds, y=seeds.y + np.linspace(0, 1, len(seeds)))
    folds = stratified_folds(seeds, count_folds(seeds, 10), np.random.default_rng(0))
    assert all(len(np.unique(folds[rows])) == 1 for rows in seeds.members)
    assert len(np.unique(folds)) == 10
    assert np.bincount(folds).max() <= 2 * np.bincount(folds).min()


def test_too_few_groups_of_a_label_are_named() -> None:
    seeds = replace(twins(), groups=np.repeat([0, 1], 48))
    assert count_folds(seeds, 10) == 2
    alone = replace(seeds, groups=np.where(seeds.y > 0, 0, np.arange(len(seeds))))
    with pytest.raises(TaskError, match=r"96 rows were found in 49 groups: 1 of the higher label and 48"):
        count_folds(alone, 10)
    with pytest.raises(TaskError, match="only one class is left"):
        group_folds(np.array([1.0, 1.0, -1.0, -1.0]), np.array([0, 0, 1, 1]), 2, 0)


def test_the_distance_between_groups_hardly_changes_the_penalty_of_pairs() -> None:
    seeds = things_of_their_own(0)
    centres = np.random.default_rng(1).normal(size=(40, 200))[seeds.groups]
    penalties = [
        LinearRotation("ridge").fit(seeds.X + size * centres, seeds.y, groups=seeds.groups).penalty_
        for size in (0.1, 10.0)
    ]
    assert penalties[1] < 5.0 * penalties[0]  # the rows spread a thousand times as far


def things_of_their_own(seed: int) -> Rows:
    """Return three pairs per thing that differ in the concept, and in what the thing itself makes of it."""
    random, width = np.random.default_rng(seed), 200
    groups, y = np.repeat(np.arange(40), 6), np.tile([1.0, -1.0], 120)
    own = 0.3 * random.normal(size=(40, width))[groups]
    X = y[:, None] * own + 0.1 * random.normal(size=(40, width))[groups] + 0.1 * random.normal(size=(240, width))
    X[:, 0] += 0.5 * y
    return Rows(X.astype(np.float32), y, tuple(map(str, range(240))), groups=groups)


def test_ridge_reads_other_things_better_when_it_knows_the_groups() -> None:
    gains, penalties = [], []
    for seed in range(6):
        seeds, others = things_of_their_own(seed), things_of_their_own(100 + seed)
        fitted = [fit_rotation("ridge", each) for each in (seeds, replace(seeds, groups=None))]
        known, unknown = (auc(others.y, rotation.transform(others.X)[:, 0]) for rotation in fitted)
        gains.append(known - unknown)
        penalties.append(fitted[0].penalty_ / fitted[1].penalty_)
    assert np.mean(gains) > 0.01
    assert np.median(penalties) > 10.0  # left out alone, a row is read from the others of its thing


# -- errors and influence ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", ["classes", "scores"])
@pytest.mark.parametrize("method", ["ridge", "mean-difference"])
def test_directions_without_a_group_are_those_of_a_fit_without_it(method: str, labels: str) -> None:
    seeds = twins(things=8)
    if labels == "scores":
        seeds = replace(seeds, y=seeds.y + np.linspace(0, 1, len(seeds)))
    penalty = 3.0 if method == "ridge" else None
    whole, without = directions_without(seeds, penalty)

    def by_hand(rows: np.ndarray) -> np.ndarray:
        X, t = seeds.X[rows].astype(np.float64), seeds.targets[rows]
        X, t = X - X.mean(axis=0), t - t.mean()
        return X.T @ t if penalty is None else np.linalg.solve(X.T @ X + penalty * np.eye(WIDTH), X.T @ t)

    def same(one: np.ndarray, other: np.ndarray) -> bool:
        return bool(np.allclose(one / np.linalg.norm(one), other / np.linalg.norm(other), atol=1e-8))

    assert same(whole, by_hand(np.arange(len(seeds))))
    for rows, found in zip(seeds.members, without, strict=True):
        assert same(found, by_hand(np.setdiff1d(np.arange(len(seeds)), rows)))


@pytest.mark.parametrize("labels", ["classes", "scores"])
@pytest.mark.parametrize("method", ["ridge", "mean-difference", "densray-unit"])
def test_groups_of_one_give_the_errors_and_influences_of_no_groups(method: str, labels: str) -> None:
    seeds = replace(twins(things=10), groups=None)
    if labels == "scores":
        seeds = replace(seeds, y=seeds.y + np.linspace(0, 1, len(seeds)))
    single = replace(seeds, groups=np.arange(len(seeds)))
    rotation = make_rotation(method).fit(seeds.X, seeds.y)
    one, other = (axis_errors(rotation, each, n_refits=8).seed_angle for each in (seeds, single))
    assert other.upper == pytest.approx(one.upper, rel=1e-6)
    first = np.arange(len(seeds))
    axes = [axes_without_each(rotation, each, first=first, max_refits=6) for each in (seeds, single)]
    assert np.allclose(axes[0], axes[1], atol=1e-6, equal_nan=True)


def test_errors_that_leave_out_groups_see_how_things_vary() -> None:
    errors = {"rows": [], "groups": []}
    truth = np.eye(WIDTH)[0]
    angles = []
    for seed in range(12):
        seeds = _clustered(seed)
        rotation = MeanDifference().fit(seeds.X, seeds.y)
        angles.append(np.degrees(np.arccos(np.clip(rotation.components_[0] @ truth, -1, 1))))
        errors["groups"].append(axis_errors(rotation, seeds).seed_angle.median)
        errors["rows"].append(axis_errors(rotation, replace(seeds, groups=None)).seed_angle.median)
    assert np.median(errors["rows"]) < 0.75 * np.median(angles)  # words of one thing look like many words
    assert np.median(errors["groups"]) == pytest.approx(np.median(angles), rel=0.2)


def _clustered(seed: int) -> Rows:
    """Return things of one label each, four words per thing."""
    random = np.random.default_rng(seed)
    groups, sides = np.repeat(np.arange(30), 4), np.tile([1.0, -1.0], 15)
    X = random.normal(size=(30, WIDTH))[groups] + 0.5 * random.normal(size=(120, WIDTH))
    X[:, 0] += 2.0 * sides[groups]
    words = tuple(f"word{row}" for row in range(120))
    return Rows(X.astype(np.float32), sides[groups], words, groups=groups)


def test_intervals_over_groups_are_wider_where_groups_agree_and_narrower_for_pairs() -> None:
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 5)
    gold = np.where(groups % 2 == 0, 1.0, -1.0)
    scores = gold + 2.0 * random.normal(size=40)[groups] + 0.1 * random.normal(size=200)
    alone, together = auc_interval(gold, scores), auc_interval(gold, scores, groups=groups)
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    single = auc_interval(gold, scores, groups=np.arange(200))
    assert single.low == pytest.approx(alone.low, abs=0.003)
    pairs = np.repeat(np.arange(100), 2)
    sides = np.tile([1.0, -1.0], 100)
    paired = 3.0 * random.normal(size=100)[pairs] + sides
    assert np.ptp(auc_interval(sides, paired, groups=pairs)) < np.ptp(auc_interval(sides, paired))
    real = gold + random.normal(size=200) * 0.01
    assert np.ptp(tau_interval(real, scores, groups=groups)) > 1.5 * np.ptp(tau_interval(real, scores))
    assert tau_interval(real, scores, groups=np.arange(200)).low == pytest.approx(
        tau_interval(real, scores).low, abs=1e-6
    )
    draws = resampled_tau(gold, scores, groups=groups)
    assert draws.std() > 1.5 * resampled_tau(gold, scores).std()


# -- permutation test -------------------------------------------------------------------------------------------------


def test_pairs_stay_pairs_and_groups_of_one_label_exchange_it() -> None:
    values = np.array([1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0])
    groups = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4])
    columns = permuted_labels(values, groups, 200, np.random.default_rng(0))
    assert (columns[[0, 2]] + columns[[1, 3]] == 0).all()  # a pair stays a pair
    assert (columns[4] == columns[5]).all()
    assert (columns[6] == columns[7]).all()
    assert {1.0, -1.0} == set(columns[4]) == set(columns[6]) == set(columns[8])


def test_authors_of_both_classes_exchange_their_shares() -> None:
    """Each author has texts of both classes: 1 of 4, 3 of 4, 2 of 10 and 6 of 8."""
    n_high, sizes = [1, 3, 2, 6], [4, 4, 10, 8]
    values = np.concatenate([np.repeat([1.0, -1.0], [a, n - a]) for a, n in zip(n_high, sizes, strict=True)])
    groups = np.repeat(np.arange(4), sizes)
    columns = permuted_labels(values, groups, 400, np.random.default_rng(0))
    counts = {(int((columns[groups == 2, draw] > 0).sum())) for draw in range(400)}
    assert counts == {2, 3, 7, 8}  # a fifth, a quarter (2.5) and three quarters (7.5) of ten
    assert {int((columns[groups == 0, draw] > 0).sum()) for draw in range(400)} == {1, 3}  # a fifth rounds to 1 or 0
    first = columns[groups == 3]  # the labels within a group are in random order
    assert np.ptp((first > 0).mean(axis=1)) < 0.12


@pytest.mark.parametrize("sizes", [np.full(24, 8), np.arange(3, 27)], ids=["equal sizes", "different sizes"])
def test_a_concept_between_authors_is_significant_and_random_shares_are_not(sizes: NDArray[np.int64]) -> None:
    """Each author writes some texts of both classes. Their share depends on the author's style, or on nothing."""
    hits = {True: 0, False: 0}
    for seed, concept in ((seed, concept) for seed in range(40) for concept in hits):
        random = np.random.default_rng(seed)
        styles, share = random.normal(size=(24, 4)), np.linspace(0.1, 0.9, 24)
        by = np.argsort(np.argsort(styles[:, 0])) if concept else random.permutation(24)
        groups = np.repeat(np.arange(24), sizes)
        y = np.where(random.random(len(groups)) < share[by][groups], 1.0, -1.0)
        X = styles[groups] + random.normal(size=(len(groups), 4))
        rows = Rows(X, y, tuple(map(str, range(len(y)))), groups=groups)
        rotation = make_rotation("mean-difference").fit(X, y)
        hits[concept] += permutation_test(rotation, rows, n_permutations=39, random=random).p_value <= 0.05
    assert hits[False] <= 6  # more have a probability below 1% where 5% is true
    assert hits[True] >= 20  # shuffling within authors only finds 10 and 1


@pytest.mark.parametrize("method", ["ridge", "mean-difference", "densray-unit"])
def test_things_without_the_concept_look_real_only_to_a_test_that_ignores_them(method: str) -> None:
    seeds = _clustered(3)
    seeds = replace(seeds, X=seeds.X - 2.0 * seeds.y[:, None].astype(np.float32) * np.eye(WIDTH, dtype=np.float32)[0])
    rotation = make_rotation(method).fit(seeds.X, seeds.y, groups=seeds.groups)
    count = 99 if method != "densray-unit" else 19
    tests = [
        permutation_test(rotation, each, n_permutations=count, random=np.random.default_rng(0))
        for each in (seeds, replace(seeds, groups=None))
    ]
    assert tests[0].p_value > 0.1
    assert tests[1].p_value <= 0.05  # the twin of each word gives its label away


def test_a_large_lexicon_is_sampled_by_whole_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("densray.statistics._permutation.SAMPLED_ROWS", 30)
    seeds = twins(concept=2.0)
    rotation = DensRay(1, normalize_differences=True).fit(seeds.X, seeds.y)
    test = permutation_test(rotation, seeds, n_permutations=19, random=np.random.default_rng(0))
    assert 30 <= test.n_seeds < 34
    assert test.n_seeds % 4 == 0
    assert test.p_value == 0.05


# -- tasks and commands -----------------------------------------------------------------------------------------------


def test_a_saved_axis_was_fitted_with_its_groups(tmp_path: Path) -> None:
    seeds = twins()
    space, lexicon = as_task(seeds)
    axis = fit_axis(space, lexicon, tmp_path / "axis", n_components=1, normalize=False, n_permutations=19)
    known = LinearRotation("ridge").fit(seeds.X, seeds.y, groups=seeds.groups)
    assert axis.diagnose().n_groups == THINGS
    for rotation in (axis.rotation, Axis.load(tmp_path / "axis.safetensors").rotation):
        assert np.allclose(rotation.components_, known.components_)
    assert known.penalty_ != LinearRotation("ridge").fit(seeds.X, seeds.y).penalty_


def test_evaluations_split_by_group_and_say_so() -> None:
    space, lexicon = as_task(twins(concept=1.5), grouped=False)
    groups = dict(zip(lexicon.words, twins().groups.tolist(), strict=True))
    found = evaluate_induction(space, lexicon, methods=["ridge"], groups=groups)
    assert found.n_groups == THINGS
    assert "Words of one group stay together: 24 groups." in found.tables()[0].notes
    carried = evaluate_induction(space, lexicon.grouped(groups), methods=["ridge"])
    assert carried.score("ridge").tau == found.score("ridge").tau
    alone = evaluate_induction(space, lexicon, methods=["ridge"])
    assert (alone.n_groups, alone.proposal) == (None, None)
    repeated = repeat_induction(space, lexicon, repeats=2, methods=["mean-difference"], groups=groups)
    assert all(result.n_groups == THINGS for result in repeated.results)


def test_layers_propose_groups_of_twin_texts() -> None:
    random = np.random.default_rng(0)
    jobs = ["nurse", "cook", "guard", "clerk", "pilot", "judge", "baker", "miner"]
    texts = [f"The {job} said that {word} had left the {place}." for job, place in zip(jobs, "abcdefgh", strict=True)
             for word in ("he", "she")]  # fmt: skip
    y = np.tile([1, 0], 8)
    rows = np.repeat(random.normal(size=(8, 6)), 2, axis=0) + random.normal(size=(16, 6)) * 0.2
    rows[:, 0] += y
    states = States.of_arrays([rows.astype(np.float32)], texts)
    options = {"methods": ["ridge"], "folds": 3, "n_permutations": 9}
    plain = compare_layers(states, y, groups="none", **options)
    assert plain.proposal.n_groups == 8
    assert plain.proposal.line in plain.tables()[0].notes
    taken = compare_layers(states, y, **options)
    assert (taken.n_groups, taken.grouped, taken.proposal) == (8, "as proposed", None)


def test_commands_take_a_column_of_groups_and_what_is_proposed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    seeds = twins(concept=1.5)
    space = WordSpace(seeds.names, seeds.X)
    write_space(space, tmp_path / "space.txt")
    lines = [
        f"{word}\t{label:g}\t{group}" for word, label, group in zip(seeds.names, seeds.y, seeds.groups, strict=True)
    ]
    (tmp_path / "words.tsv").write_text("\n".join(["word\tlabel\tjob", *lines]), encoding="utf-8")
    given = [str(tmp_path / "space.txt"), str(tmp_path / "words.tsv")]
    options = ["--no-normalize", "--n-permutations", "19", "--json", "-m", "mean-difference"]
    assert run(["diagnose", *given, "--group-column", "job", *options]) == 0
    assert json.loads(capsys.readouterr().out)["n_groups"] == THINGS
    assert run(["evaluate", "methods", *given, "--methods", "mean-difference", "--group-column", "job", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_groups"] == THINGS
    assert run(["diagnose", *given, "--standardize", *options]) == 0
    capsys.readouterr()
    assert run(["diagnose", *given, "--groups", "mine", *options]) == 2
    assert "--groups mine is given; use a group per row" in capsys.readouterr().err


def test_seeds_of_a_space_carry_groups_through_unit_length_and_order() -> None:
    space, lexicon = as_task(twins())
    seeds = find_rows(space, lexicon).unit()
    assert seeds.groups.tolist() == twins().groups.tolist()
    assert seeds.take(np.array([5, 0])).groups.tolist() == [1, 0]


NOUNS = [
    form
    for noun in ("cat", "dog", "tree", "house", "car", "book", "river", "king", "song", "road", "bird", "chair")
    for form in (noun, f"{noun}s")
]


def _labelled(folder: Path, lines: Iterable[str], header: str = "word,label") -> Path:
    path = folder / "words.csv"
    path.write_text("\n".join([header, *lines]), "utf-8")
    return path


def test_a_lexicon_in_which_every_word_has_a_twin_is_judged_by_half_as_many_groups(tmp_path: Path) -> None:
    path = _labelled(tmp_path, (f"{word},{place // 2 % 2}" for place, word in enumerate(NOUNS)))
    found = diagnose(load_space("googlenews-26k"), load_lexicon(path), n_permutations=19)
    assert found.n_groups == len(NOUNS) // 2
    assert found.verdict.grade in ("unclear", "none", "weak")


@pytest.mark.parametrize(
    ("header", "lines", "options", "said"),
    [
        ("word,label,group", [f"{word},{n // 2 % 2},g" for n, word in enumerate(NOUNS)], ["--group-column", "group"],
         "all rows are in one group"),
        ("word,label", [f"{word},{int(n > 0)}" for n, word in enumerate(NOUNS)], [], "at least two groups with each"),
        ("word,label", [f"{word},{5.0 if n > 1 else 7 + n}" for n, word in enumerate(NOUNS)], [],
         "at least two groups with each"),
        ("word,label", [f"{word},{'seven' if n == 3 else n / 3}" for n, word in enumerate(NOUNS)], [],
         "line 5: label 'seven' is not a number"),
    ],
)  # fmt: skip
def test_lexicons_that_cannot_be_judged_are_refused_in_one_line(
    header: str, lines: list[str], options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _labelled(tmp_path, lines, header)
    assert run(["diagnose", "googlenews-26k", str(path), *options]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1


def test_the_note_on_equal_vectors_shortens_whole_texts() -> None:
    text = "A long judgment of the court. " * 40
    found = find_equal_rows([text, "other", f"{text} Again."], np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    assert found is not None
    assert len(found.line) < 150
    assert found.line.count("A long judgment") == 1


@pytest.mark.parametrize("groups", [None, "forms", "proposed", "column"])
@pytest.mark.parametrize("names", [None, "texts"])
@pytest.mark.parametrize("copies", [2, 12])
def test_repeated_rows_of_arrays_are_held_out_together(groups: str | None, names: str | None, copies: int) -> None:
    random = np.random.default_rng(2)
    Z, labels = random.normal(size=(40, 30)), np.where(random.permutation(40) < 20, 1.0, -1.0)
    X, y = np.tile(Z, (copies, 1)), np.tile(labels, copies)
    texts = None if names is None else [f"word{'s' if row == 45 else ''} {row % 5}" for row in range(len(X))]
    given = np.tile(np.arange(40) // 2, copies).tolist() if groups == "column" else groups
    rows = Rows.from_arrays(X, y, names=texts, groups=given)
    alone = rows.grouped(None)
    assert rows.n_groups <= 40
    assert rows.with_equal_vectors_together().groups.tolist() == rows.groups.tolist()
    assert {(row % 40, group) for row, group in enumerate(rows.groups.tolist())} == {
        (row, rows.groups[row]) for row in range(40)
    }
    if names is None:
        axis = Axis.fit(rows)
        assert axis.permutation_test().p_value > 0.05
        assert Axis.fit(alone).agreement.auc > axis.agreement.auc + 0.2  # the control
        assert axis.diagnose().proposal is None


def test_a_proposal_says_only_what_equal_vectors_do_not() -> None:
    X = np.random.default_rng(0).normal(size=(6, 4))
    X[1] = X[0]
    y = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0]
    texts = ["a b c", "a b c", "x y z", "x y w", "m", "n"]
    rows = Rows.from_arrays(X, y, names=texts)
    assert rows.groups.tolist() == [0, 0, 1, 2, 3, 4]
    assert rows.proposal.numbers.tolist() == [0, 0, 1, 1, 2, 3]
    assert Axis.fit(rows, groups="proposed").rows.groups.tolist() == [0, 0, 1, 1, 2, 3]
    assert Rows.from_arrays(X, y, names=["a b c", "a b c", *"xymn"]).proposal is None


def test_equal_rows_are_found_as_by_comparing_all_pairs() -> None:
    random = np.random.default_rng(0)
    for dtype in (np.float16, np.float32, np.float64):
        for width in (1, 3, 4):
            X = random.integers(3, size=(200, width)).astype(dtype)
            same = (X[:, None] == X[None]).all(axis=2)
            found = find_equal_rows([""] * 200, X)
            np.testing.assert_array_equal(found.numbers[:, None] == found.numbers, same)


def test_equal_vectors_join_the_groups_of_a_copy_and_not_those_of_blank_texts() -> None:
    random = np.random.default_rng(0)
    X, groups = random.normal(size=(60, 4)), np.arange(60) // 2
    X[31] = X[2]  # a copy, in groups 1 and 15
    X[40:60:2] = X[5] = X[8]  # a blank text, in groups 2, 4 and 20 to 29
    rows = Rows(X, np.tile([1.0, -1.0], 30), tuple(map(str, range(60))), groups=groups)
    joined = rows.with_equal_vectors_together()
    assert joined.n_groups == 29
    assert joined.with_equal_vectors_together().n_groups == 29
    assert Rows.from_arrays(X, rows.y, groups=groups).n_groups == 29
    assert joined.groups[31] == joined.groups[2] == joined.groups[3]
    assert joined.groups[5] != joined.groups[8]
    assert joined.forms.line == (
        "2 rows in 1 group have equal vectors and are held out together: 2/31. 12 rows have the vector of rows in more "
        "than 10 groups, as blank texts do, and are not held out together with them. Leave them out if they say nothing."
    )
    X[:30] = X[30:]
    X[2:30:4], X[32:60:4] = X[4:32:4], X[34:62:4]  # chains of copies through most groups
    with pytest.raises(LabelError, match=r"Held out together, they leave 13 of 30 groups. Remove repeated rows"):
        rows.with_equal_vectors_together()
