"""Ratings by people: how they are read, how far raters agree, and how far an axis agrees with them."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from commands import run
from densray import Axis, Lexicon, Ratings, WordSpace, evaluate_ratings
from densray.axes import Scores, end_difference, expected_agreement
from densray.errors import CoverageError, LabelError, LexiconError, RaterColumnWarning, TaskError
from densray.metrics import pearson, pearson_interval, spearman_interval
from densray.ratings import reliability_with_gaps, split_half_reliability
from densray.rotations import SeededRidge, make_rotation
from densray.rows import Rows

RNG = np.random.default_rng(0)
N_WORDS, WIDTH = 300, 12
AXIS = np.eye(WIDTH)[0]


@pytest.fixture(scope="module")
def space() -> WordSpace:
    """Words whose first coordinate is the concept; the first ten and the last ten are its ends."""
    vectors = np.random.default_rng(1).normal(size=(N_WORDS, WIDTH))
    vectors[:10, 0] += 5.0
    vectors[-10:, 0] -= 5.0
    return WordSpace([f"w{number}" for number in range(N_WORDS)], vectors, name="planted")


@pytest.fixture(scope="module")
def seeds() -> Lexicon:
    ends = [f"w{number}" for number in range(10)], [f"w{number}" for number in range(N_WORDS - 10, N_WORDS)]
    return Lexicon.from_word_lists(*ends, name="planted")


def rated(space: WordSpace, n_raters: int = 6, noise: float = 0.3, items: slice = slice(50, 110)) -> Ratings:
    """Ratings along the concept by raters who err."""
    X = np.asarray(space.normalized().vectors[items], dtype=np.float64)
    random = np.random.default_rng(2)
    table = 3.0 * X[:, :1] + noise * random.normal(size=(len(X), n_raters))
    return Ratings.of(space.words[items], table if n_raters > 1 else table[:, 0], name="planted")


# -- files -------------------------------------------------------------------------------------------------------------


def written(tmp_path, text):
    path = tmp_path / "ratings.csv"
    path.write_text(text, "utf-8")
    return path


def test_numbered_columns_are_raters(tmp_path):
    found = Ratings.read(written(tmp_path, "Row,subj01,subj02\ncat,1,3\ndog,4,\n"))
    assert found.items == ("cat", "dog")
    assert found.values.tolist() == [2.0, 4.0]
    assert found.n_raters == 2
    assert found.errors[0] == pytest.approx(1.0)
    assert np.isnan(found.errors[1])  # one rating has no error


@pytest.mark.parametrize(
    "text",
    ["word,rating\ncat,1\ndog,2\n", "cat\t1\ndog\t2\n", "rating;word\n1;cat\n2;dog\n", "\ufeffword,mean\ncat,1\ndog,2"],
)
def test_mean_ratings_are_found_in_any_table_of_two_columns(tmp_path, text):
    found = Ratings.read(written(tmp_path, text))
    assert (found.items, found.values.tolist(), found.n_raters) == (("cat", "dog"), [1.0, 2.0], None)


def test_several_columns_of_numbers_have_to_be_named(tmp_path):
    path = written(tmp_path, "word,valence,arousal\ncat,1,5\ndog,2,6\n")
    with pytest.raises(LexiconError, match=r"valence.*arousal.*rating_column"):
        Ratings.read(path)
    assert Ratings.read(path, rating_column="arousal").values.tolist() == [5.0, 6.0]
    assert Ratings.read(path, rating_column=["valence", "arousal"]).n_raters == 2


def test_one_rating_per_line_gives_the_table_of_one_column_per_rater(tmp_path):
    path = written(tmp_path, "item,who,rating\ncat,a,1\ncat,b,3\ndog,a,5\ndog,b,7\n")
    found = Ratings.read(path, rater_column="who")
    assert found.raters.tolist() == [[1.0, 3.0], [5.0, 7.0]]


def test_a_rating_that_is_not_a_number_is_named_with_its_line(tmp_path):
    with pytest.raises(LexiconError, match=r"line 3.*'high'"):
        Ratings.read(written(tmp_path, "word,rating\ncat,1\ndog,high\ncow,2\n"), rating_column="rating")


@pytest.mark.parametrize("text", ["+", "positive", "neutral"])
def test_a_sign_or_a_word_is_not_a_rating(tmp_path, text):
    (tmp_path / "r.tsv").write_text(f"item\trating\nhammer\t5.5\nsock\t{text}\n")
    with pytest.raises(LexiconError, match=rf"line 3: '{re.escape(text)}' is not a number.*leave the cell empty"):
        Ratings.read(tmp_path / "r.tsv")
    frame = pytest.importorskip("polars").DataFrame({"rating": ["5.5", text], "vector": [[1.0], [2.0]]})
    with pytest.raises(
        LabelError, match=rf"row 2: '{re.escape(text)}' in the column 'rating' is not .*leave the cell empty"
    ):
        Ratings.from_table(frame, "rating")


def test_repeated_items_are_averaged_and_named():
    found = Ratings.of(["cat", "dog", "cat"], [1.0, 5.0, 3.0], errors=[0.3, 0.2, 0.4])
    assert (found.items, found.values.tolist(), found.repeated) == (("cat", "dog"), [2.0, 5.0], ("cat",))
    assert found.errors[0] == pytest.approx(0.25)


def test_items_without_any_rating_are_left_out_and_named():
    found = Ratings.of(["cat", "dog"], [[1.0, 2.0], [np.nan, np.nan]])
    assert (found.items, found.unrated) == (("cat",), ("dog",))


# -- which column holds the items, and which the raters ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["Wort", "Begriff", "item", "Stimulus", "TOKEN", "Term", "Lemma", "mot", "palabra"])
def test_a_usual_name_decides_which_column_holds_the_items_and_the_notes_say_so(tmp_path, name):
    found = Ratings.read(written(tmp_path, f"Kategorie;{name};Rating\nmammal;tiger;6,5\nfish;shark;6,6\n"))
    assert found.items == ("tiger", "shark")
    assert found.notes == (f"The items were read from the column '{name}', not from 'Kategorie'.",)


def test_a_named_column_of_items_needs_no_note(tmp_path):
    path = written(tmp_path, "Kategorie;Wort;Rating\nmammal;tiger;6,5\nfish;shark;6,6\n")
    assert Ratings.read(path, item_column="Wort").notes == ()
    path = written(tmp_path, "word,note,rating\ncat,ok,1\ndog,ok,2\n")  # the same note everywhere is no item
    assert Ratings.read(path).notes == ()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Gruppe,Tier,Mittel\nmammal,tiger,6\nfish,shark,5\n", "'Gruppe', 'Tier'"),
        ("mammal;tiger;6\nfish;shark;5\n", r"0 \('mammal'\), 1 \('tiger'\)"),
        ("Rater,Gruppe,Tier,Mittel\na,mammal,tiger,6\nb,fish,shark,5\n", "'Gruppe', 'Tier'"),
    ],
)
def test_several_columns_that_could_hold_the_items_are_refused(tmp_path, text, named):
    path = written(tmp_path, text)
    with pytest.raises(LexiconError, match=f"the items may be in any of these columns: {named}. .* item_column"):
        Ratings.read(path)
    assert Ratings.read(path, item_column=text.split("\n")[0].count("Rater") + 1).items == ("tiger", "shark")


@pytest.mark.parametrize(
    "text",
    [
        "Concept,Category,rating\ntiger,mammal,6\ncow,mammal,5\nshark,fish,5\n",
        "Words (English),PoS,Valence\ntiger,NOUN,6\nsee,VERB,5\nshark,NOUN,5\n",
        "tiger,NOUN,6\nsee,VERB,5\nshark,NOUN,3.5\n",
        "Concept,Category,Rater,rating\n" + "".join(f"{each},{at},{5 + at}\n" for at in (1, 2) for each in
                                                   ("tiger,mammal", "cow,mammal", "shark,fish")),
        "Concept,PoS,rating\n" + "".join(f"w{at},NOUN,{at % 5}\n" for at in range(20)) + "w3,VERB,2\n",
    ],
)  # fmt: skip
def test_the_only_column_that_distinguishes_the_items_holds_them_and_the_notes_say_so(tmp_path, text):
    raters = "Rater" if "Rater" in text else None
    found = Ratings.read(written(tmp_path, text), rating_column=2 + bool(raters), rater_column=raters)
    rows = [line.split(",") for line in text.split("\n")[:-1] if line[-1].isdigit()]
    assert found.items == tuple(dict.fromkeys(row[0] for row in rows))
    assert re.fullmatch(r"The items were read from the column .*, not from .*\.", found.notes[0])


def test_a_phrase_is_preferred_to_a_name_that_may_be_a_persons(tmp_path):
    found = Ratings.read(written(tmp_path, "name,phrase,rating\nAnn,ice cream,1\nBob,hot soup,2\n"))
    assert found.items == ("ice cream", "hot soup")
    assert Ratings.read(written(tmp_path, "name,rating\nAnn,1\nBob,2\n")).items == ("Ann", "Bob")


def test_columns_of_which_none_distinguishes_the_items_are_refused(tmp_path):
    lines = [f"w{at % 4},c{at // 4},{at % 5}" for at in range(16)]  # each item once per condition
    with pytest.raises(LexiconError, match="any of these columns: 'Concept', 'Condition'"):
        Ratings.read(written(tmp_path, "\n".join(["Concept,Condition,Mittel", *lines])))


def test_the_only_column_that_is_not_of_raters_holds_the_items(tmp_path):
    found = Ratings.read(written(tmp_path, "Rater,Tier,Mittel\na,tiger,6\nb,shark,5\n"), rater_column="Rater")
    assert found.items == ("tiger", "shark")
    assert Ratings.read(written(tmp_path, "Rater,Tier,Mittel\na,tiger,6\nb,shark,5\n")).items == ("tiger", "shark")


def long_ratings(raters: str, *, twice: bool = False) -> str:
    lines = [
        f"{word};{rater};{1 + (at + rater) % 5}" for at, word in enumerate(("cat", "dog", "cow")) for rater in (1, 2)
    ]
    return "\n".join([f"Wort;{raters};Urteil", *lines, *(lines[:1] if twice else [])]) + "\n"


@pytest.mark.parametrize("name", ["VP", "Participant_ID", "annotator", "Proband", "worker id"])
def test_a_column_of_raters_that_is_not_used_is_pointed_out(tmp_path, name):
    path = written(tmp_path, long_ratings(name))
    message = f"the items repeat, and the column '{name}' seems to name the raters.*rater_column='{name}'"
    with pytest.warns(RaterColumnWarning, match=message):
        assert Ratings.read(path, rating_column="Urteil").n_raters is None
    assert Ratings.read(path, rating_column="Urteil", rater_column=name).n_raters == 2


@pytest.mark.parametrize("name", ["year", "condition", "gender", "Wer", "session", "list"])
def test_columns_that_are_not_of_raters_are_not_pointed_out(tmp_path, name):
    assert Ratings.read(written(tmp_path, long_ratings(name)), rating_column="Urteil").n_raters is None
    lines = [f"w{at % 6};{('fish', 'bird')[at % 2]};{at % 5 + 0.5};{at}" for at in range(12)]
    path = written(tmp_path, "\n".join(["Wort;Art;Urteil;Nr", *lines]))
    Ratings.read(path, rating_column="Urteil")  # a warning would be an error
    Ratings.read(written(tmp_path, "Wort;VP;Urteil\ncat;1;3\ndog;1;4\n"), rating_column="Urteil")


def test_a_column_of_raters_is_refused_as_one_of_ratings(tmp_path):
    path = written(tmp_path, long_ratings("VP"))
    with pytest.raises(
        LexiconError, match=r"'VP' seems to name the raters, and is given as one of ratings.*rater_column"
    ):
        Ratings.read(path, rating_column=["VP", "Urteil"])
    path = written(tmp_path, "Wort;Rater;Freq\ncat;1;3\ndog;2;4\n")  # the ratings of one rater
    assert Ratings.read(path, rating_column="Rater").values.tolist() == [1.0, 2.0]


def test_the_error_about_several_columns_of_numbers_names_that_of_raters(tmp_path):
    text = "\n".join(f"{line};{'Alter' if at == 0 else at}" for at, line in enumerate(long_ratings("VP").split()))
    with pytest.raises(LexiconError, match=r"any of 'Urteil', 'Alter'.*If each line is one rating.*rater_column='VP'"):
        Ratings.read(written(tmp_path, text))


def test_ratings_that_one_rater_gave_twice_are_counted(tmp_path):
    found = Ratings.read(written(tmp_path, long_ratings("VP", twice=True)), rater_column="VP")
    message = "2 ratings were averaged to 1: a rater rated the same item more than once (first: '1' and 'cat')."
    assert found.notes == (message,)
    assert found.rater_names == ("1", "2")


def test_raters_against_the_others_constant_or_copied_are_named_in_the_result():
    random, mean = np.random.default_rng(0), np.tile(np.arange(5.0), 6)
    honest = mean[:, None] + 0.5 * random.normal(size=(30, 4))
    items, scores = [f"w{at}" for at in range(30)], {f"w{at}": value for at, value in enumerate(mean.tolist())}
    assert Ratings.of(items, honest).doubtful_raters() == []
    table = np.column_stack([honest, 4.0 - honest[:, 1], np.full(30, 4.0), honest[:, 0]])
    notes = evaluate_ratings(scores, Ratings.of(items, table)).warnings()
    assert re.search(r"against the others: rater 5 \(r = −0\.\d\d\)\.", notes[-3])
    assert notes[-2:] == [
        "The same rating for all items: rater 6.",
        "Equal ratings of all items: rater 7 and rater 1. Is one a copy?",
    ]
    noise = np.random.default_rng(1).normal(size=(30, 8))
    assert Ratings.of(items, noise).doubtful_raters() == []  # weak agreement is not a reversed scale


@pytest.mark.parametrize("names", [(), ("Ann", "Bob")])
def test_two_raters_who_disagree_are_not_both_against_the_others(names):
    up = np.arange(12.0)
    found = replace(Ratings.of([f"w{at}" for at in range(12)], np.column_stack([up, 11 - up])), rater_names=names)
    sentence = "The two raters rate in opposite directions (r = −1.00). Check the direction of the scale."
    assert found.doubtful_raters() == [sentence]
    agreeing = Ratings.of(found.items, np.column_stack([up, up + up % 3]))
    assert agreeing.doubtful_raters() == []


def test_more_than_all_of_the_explainable_variance_is_at_least_all():
    items = [f"w{at}" for at in range(30)]
    table = np.arange(30.0)[:, None] + 12 * np.random.default_rng(0).normal(size=(30, 3))
    found = evaluate_ratings(dict(zip(items, table.mean(axis=1).tolist(), strict=True)), Ratings.of(items, table))
    assert found.explained > 1.0
    assert "at least all of the explainable variance is explained" in found.text()


# -- how far raters agree ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_raters", [2, 5, 24])
def test_split_halves_find_the_reliability_that_was_planted(n_raters):
    random = np.random.default_rng(n_raters)
    table = random.normal(size=(10_000, 1)) + 2.0 * random.normal(size=(10_000, n_raters))
    found = split_half_reliability(table, n_splits=50)
    assert found == pytest.approx(n_raters / (n_raters + 4.0), abs=0.03)


@pytest.mark.parametrize(("share", "of_raters"), [(0.05, 1.5), (0.5, 0.0), (0.5, 1.0), (0.8, 0.7)])
def test_ratings_with_gaps_are_as_reliable_as_means_of_other_raters_show(share, of_raters):
    found = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        truth, tables = random.normal(size=(300, 1)), []
        for _ in range(2):  # two groups of raters, who differ in their means and skip other items
            noise = of_raters * random.normal(size=(1, 20)) + random.normal(size=(300, 20))
            tables.append(np.where(random.random((300, 20)) < share, np.nan, truth + noise))
        both = np.isfinite(tables[0]).any(axis=1) & np.isfinite(tables[1]).any(axis=1)
        means = [np.nanmean(table[both], axis=1) for table in tables]
        found.append((Ratings.of(list(map(str, range(300))), tables[0]).reliability(), np.corrcoef(*means)[0, 1]))
    assert np.mean(found, axis=0)[0] == pytest.approx(np.mean(found, axis=0)[1], abs=0.02)


def test_ratings_without_gaps_have_the_alpha_of_cronbach():
    table = RNG.normal(size=(200, 1)) + RNG.normal(size=(1, 8)) + RNG.normal(size=(200, 8))
    alpha = 8 / 7 * (1 - table.var(axis=0, ddof=1).sum() / table.sum(axis=1).var(ddof=1))
    assert reliability_with_gaps(table) == pytest.approx(alpha, abs=1e-9)
    assert split_half_reliability(table) == pytest.approx(alpha, abs=0.02)


def test_single_ratings_of_other_raters_have_no_reliability():
    table = np.where(np.eye(30, dtype=bool), RNG.normal(size=30), np.nan)
    assert reliability_with_gaps(table) is None
    with pytest.raises(LabelError, match="reliability_with_gaps"):
        split_half_reliability(table)


def test_raters_who_do_not_agree_have_no_reliability():
    assert split_half_reliability(RNG.normal(size=(500, 6))) < 0.2


def test_standard_errors_give_a_reliability_too():
    truth, error = RNG.normal(size=2000), 0.5
    values = truth + error * RNG.normal(size=2000)
    found = Ratings.of([str(n) for n in range(2000)], values, errors=np.full(2000, error))
    assert found.reliability() == pytest.approx(0.8, abs=0.03)


def test_a_single_rater_has_no_reliability():
    assert split_half_reliability(RNG.normal(size=(50, 1))) is None
    assert Ratings.of(list("abc"), [[1.0], [2.0], [4.0]]).reliability() is None


# -- intervals ---------------------------------------------------------------------------------------------------------


def test_the_interval_of_a_correlation_is_the_jackknife_of_left_out_correlations():
    gold, scores = RNG.normal(size=(2, 15))
    n, r = 15, pearson(gold, scores)
    without = np.arctanh([pearson(np.delete(gold, i), np.delete(scores, i)) for i in range(n)])
    error = np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2))
    half = 2.1603686564627926 * error  # the 97.5% quantile of Student's t, 13 degrees of freedom
    assert pearson_interval(gold, scores) == pytest.approx(tuple(np.tanh(np.arctanh(r) + np.array([-half, half]))))


def test_a_perfect_order_of_few_items_has_an_interval():
    low, high = spearman_interval([1, 2, 3, 4, 5], [1, 2, 3, 4, 50])
    assert (low < 0.9, high) == (True, 1.0)
    assert pearson_interval([1, 2, 3], [1, 2, 4]) == (-1.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "heavy", "skewed"])
@pytest.mark.parametrize("size", [10, 50])
def test_jackknife_intervals_cover_where_those_of_fisher_do_not(kind, size):
    random, rho, trials = np.random.default_rng(3), 0.8, 1000

    def draw(*shape):
        first = random.normal(size=shape)
        second = rho * first + np.sqrt(1 - rho**2) * random.normal(size=shape)
        if kind == "heavy":
            scale = 1.0 / np.sqrt(random.chisquare(5, size=shape) / 5)
            return first * scale, second * scale
        return (np.exp(0.7 * first), np.exp(0.7 * second)) if kind == "skewed" else (first, second)

    truth = pearson(*draw(2_000_000))
    samples = list(zip(*draw(trials, size), strict=True))
    intervals = [pearson_interval(*sample) for sample in samples]
    covered = np.mean([low <= truth <= high for low, high in intervals])
    assert 0.91 <= covered <= 0.98
    fisher = np.abs(np.arctanh([pearson(*sample) for sample in samples]) - np.arctanh(truth))
    fisher_covered = np.mean(fisher < 1.96 / np.sqrt(size - 3))
    assert abs(fisher_covered - 0.95) < 0.02 if kind == "normal" else fisher_covered < covered - 0.02
    picks = random.integers(size, size=(200, size))
    percentile = [np.quantile([np.corrcoef(a[p], b[p])[0, 1] for p in picks], [0.025, 0.975]) for a, b in samples[:300]]
    assert np.mean([low <= truth <= high for low, high in percentile]) < covered


# -- an axis against people --------------------------------------------------------------------------------------------


def test_an_axis_agrees_with_ratings_along_it_and_not_with_others(space, seeds):
    along = evaluate_ratings(space, rated(space), seeds)
    assert along.pearson > 0.9
    assert along.held_out
    random = np.random.default_rng(5).normal(size=60)
    across = evaluate_ratings(space, Ratings.of(space.words[50:110], random), seeds)
    assert across.pearson_interval.low < 0.0 < across.pearson_interval.high or abs(across.pearson) < 0.3


def test_the_share_explained_is_the_squared_correlation_over_the_reliability(space, seeds):
    found = evaluate_ratings(space, rated(space, n_raters=4, noise=1.5), seeds)
    assert found.ceiling == pytest.approx(np.sqrt(found.reliability))
    assert found.explained == pytest.approx(found.pearson**2 / found.reliability)
    assert found.explained > found.pearson**2


def test_a_single_rater_has_no_ceiling_and_the_text_says_so(space, seeds):
    found = evaluate_ratings(space, rated(space, n_raters=1), seeds)
    assert (found.reliability, found.ceiling, found.explained) == (None, None, None)
    assert "no noise ceiling" in found.text()


def test_items_among_the_seeds_are_left_out_where_enough_others_are_rated(space, seeds):
    found = evaluate_ratings(space, rated(space, items=slice(0, 60)), seeds)
    assert found.seeds_among_items == tuple(space.words[:10])
    assert (found.n_items, found.held_out) == (50, True)
    assert {row["item"] for row in found.items}.isdisjoint(space.words[:10])


def test_an_axis_of_the_items_themselves_is_flagged(space, seeds):
    found = evaluate_ratings(space, rated(space, items=slice(0, 12)), seeds)
    assert (found.n_items, found.held_out) == (12, False)
    assert "Not held out" in found.text()


def test_a_saved_axis_knows_its_seeds(space, seeds, tmp_path):
    path = Axis.fit(seeds.align(space)).save(tmp_path / "axis", judge=False)
    found = evaluate_ratings(space, rated(space, items=slice(0, 60)), Axis.load(path, space))
    assert found.seeds_among_items == tuple(space.words[:10])


def test_scores_with_names_can_be_compared_without_a_space(space, seeds):
    axis, ratings = Axis.fit(seeds.align(space)), rated(space)
    by_name = evaluate_ratings(axis.score(space), ratings)
    assert by_name.pearson == pytest.approx(evaluate_ratings(space, ratings, axis).pearson)
    assert by_name.held_out is None
    with pytest.raises(TaskError, match="one name per score"):
        evaluate_ratings(Scores(np.zeros(3)), ratings)


def test_items_of_several_words_are_found_joined_or_as_means(space, seeds):
    items = [*space.words[50:70], "w80 w81", "w90_w91", "w90 unknown"]
    values = [*RNG.normal(size=20), 1.0, 2.0, 3.0]
    missing = evaluate_ratings(space, Ratings.of(items, values), seeds)
    assert (missing.n_items, missing.provenance.words_missing) == (20, ("w80 w81", "w90_w91", "w90 unknown"))
    mean = evaluate_ratings(space, Ratings.of(items, values), seeds, phrases="mean")
    assert (mean.n_items, mean.n_phrases, mean.provenance.words_missing) == (22, 2, ("w90 unknown",))
    row = next(row for row in mean.items if row["item"] == "w80 w81")
    axis = Axis.fit(seeds.align(space, order="lexicon"))
    parts = space.normalized().vectors[[80, 81]].mean(axis=0, keepdims=True)
    assert row["score"] == pytest.approx(float(axis.score(parts).score[0]), abs=1e-6)


def test_few_items_are_pointed_out_and_fewer_than_four_refused(space, seeds):
    assert "Only 7 items" in evaluate_ratings(space, rated(space, items=slice(50, 57)), seeds).text()
    with pytest.raises(CoverageError, match=r"3 of 3 items.*at least 4"):
        evaluate_ratings(space, rated(space, items=slice(50, 53)), seeds)
    with pytest.raises(CoverageError, match=r"none of the 2 items.*'no such'.*phrases"):
        evaluate_ratings(space, Ratings.of(["no such", "word at all"], [1.0, 2.0]), seeds)


def test_ratings_without_differences_are_refused(space, seeds):
    with pytest.raises(LabelError, match=r"all 20 items have the same rating, 3"):
        evaluate_ratings(space, Ratings.of(space.words[50:70], np.full(20, 3.0)), seeds)


def test_the_spread_of_the_items_is_their_variance_along_the_axis_in_even_shares(space, seeds):
    axis, X = Axis.fit(seeds.align(space), normalize=False), np.random.default_rng(8).normal(size=(4000, WIDTH))
    assert axis.spread_along(X) == pytest.approx(1.0, abs=0.1)
    assert axis.spread_along(X + 20.0 * np.outer(X[:, 1], axis.direction)) > 0.9 * WIDTH
    found = evaluate_ratings(space, rated(space), seeds)
    assert found.spread == pytest.approx(Axis.fit(seeds.align(space)).spread_along(space.vectors[50:110]), rel=1e-4)


def test_the_items_that_agree_least_come_first(space, seeds):
    ratings = rated(space, n_raters=1, noise=0.0)
    values = ratings.values.copy()
    values[7] += 50.0
    found = evaluate_ratings(space, Ratings.of(ratings.items, values), seeds)
    assert found.items[0]["item"] == ratings.items[7]
    assert found.tables()[1].rows[0]["item"] == ratings.items[7]


def test_the_figure_has_bars_either_way_and_labels_the_worst(space, seeds):
    pytest.importorskip("altair", reason="figures are an extra")
    from densray.figures import to_svg

    found = evaluate_ratings(space, rated(space), seeds)
    chart = found.figure()
    assert f">{found.items[0]['item']}</text>" in to_svg(chart)
    spec = chart.to_dict()
    bars = [layer for layer in spec["layer"] if layer.get("mark", {}).get("type") == "rule"]
    assert len(bars) == 2


def test_the_command_says_what_the_function_computes(space, seeds, tmp_path, capsys):
    from densray.formats import write_space

    path, ratings = write_space(space, tmp_path / "space.npz"), tmp_path / "ratings.csv"
    table = rated(space)
    lines = ["item," + ",".join(f"r{n}" for n in range(6))]
    lines += [",".join([item, *map(repr, row)]) for item, row in zip(table.items, table.raters.tolist(), strict=True)]
    ratings.write_text("\n".join(lines), "utf-8")
    high, low = (",".join(word for word, label in seeds.items() if label == side) for side in (1.0, -1.0))
    options = ["--high", high, "--low", low, "--json"]
    assert run(["evaluate", "ratings", str(path), str(ratings), *options]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["pearson"] == pytest.approx(evaluate_ratings(space, table, seeds).pearson, abs=1e-6)
    assert said["n_raters"] == 6
    few = tmp_path / "few.csv"
    few.write_text("\n".join(lines[:11]), "utf-8")
    axis = tmp_path / "axis.safetensors"
    assert run(["fit", str(path), *options, "--ratings", str(few), "-o", str(axis), "--no-judge"]) == 0
    capsys.readouterr()
    assert run(["evaluate", "ratings", str(path), str(ratings), str(axis), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (len(said["seeds_among_items"]), said["n_items"], said["held_out"]) == (10, 50, True)
    few.write_text("\n".join([f"kind,{lines[0]}", *(f"k{at},{line}" for at, line in enumerate(lines[1:11]))]), "utf-8")
    assert run(["fit", str(path), *options[:-1], "--ratings", str(few), "-o", str(tmp_path / "b"), "--no-judge"]) == 0
    assert "The items were read from the column 'item', not from 'kind'." in capsys.readouterr().out


# -- documents ---------------------------------------------------------------------------------------------------------


def documents(n_rows: int = 120, per_name: int = 1):
    """A table whose first coordinate is the concept, rated along it; the first 40 rows have labels."""
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow", reason="the extra `tables` (pyarrow) is not installed")
    random = np.random.default_rng(5)
    X = random.normal(size=(n_rows, WIDTH))
    X[:40, 0] += np.where(np.arange(40) % 2, 3.0, -3.0)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    stars = unit[:, 0] + 0.1 * random.normal(size=n_rows)
    return polars.DataFrame(
        {
            "id": [f"d{row // per_name}" for row in range(n_rows)],
            "side": ["left" if row % 2 else "right" if row < 40 else None for row in range(n_rows)],
            "stars": stars,
            "again": stars + 0.1 * random.normal(size=n_rows),
            "vector": X.tolist(),
        }
    ).with_columns(side=polars.when(polars.int_range(n_rows) < 40).then("side"))


def axis_of(frame) -> Axis:
    return Axis.fit(Rows.from_table(frame, "side", names="id"), label_names=("right", "left"))


def test_documents_are_compared_with_ratings_by_their_names():
    frame = documents()
    axis = axis_of(frame)
    ratings = Ratings.of(frame["id"].to_list(), frame["stars"].to_list(), name="stars")
    found = evaluate_ratings(frame, ratings, axis, names="id")
    assert found.held_out
    assert (found.n_items, len(found.seeds_among_items), found.n_averaged) == (80, 40, 0)
    scores = axis.score(np.array(frame["vector"].to_list())).score
    assert abs(found.pearson) == pytest.approx(abs(pearson(frame["stars"].to_numpy()[40:], scores[40:])))
    assert abs(found.pearson) > 0.6
    assert evaluate_ratings(frame, Ratings.from_table(frame, "stars", names="id"), axis, names="id").pearson == (
        pytest.approx(found.pearson)
    )


def test_ratings_in_a_table_may_have_raters_errors_and_row_numbers():
    frame = documents()
    assert Ratings.from_table(frame, ["stars", "again"], names="id").n_raters == 2
    assert Ratings.from_table(frame, "stars").items[:2] == ("d0", "d1")
    assert Ratings.from_table(frame.drop("id"), "stars").items[:2] == ("row 1", "row 2")
    polars = pytest.importorskip("polars")
    with_errors = frame.with_columns(error=polars.lit(0.1))
    assert Ratings.from_table(with_errors, "stars", errors="error").errors.tolist() == [0.1] * 120
    with pytest.raises(LabelError, match="one rater each"):
        Ratings.from_table(with_errors, ["stars", "again"], errors="error")
    unnamed = frame.drop("id")
    found = evaluate_ratings(unnamed, Ratings.from_table(unnamed, ["stars", "again"]), axis_of(frame))
    assert found.n_items == 80  # the axis knows its seeds by another name, and by their vectors
    assert found.reliability is not None


def test_documents_that_an_axis_was_fitted_on_are_left_out_by_their_vectors(tmp_path):
    frame = documents().drop("id")
    fitted = Axis.fit(Rows.from_table(frame, "side"))
    saved = Axis.load(fitted.save(tmp_path / "axis"))
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
    for axis, table in ((fitted, frame), (saved, frame), (saved, shuffled)):
        found = evaluate_ratings(table, Ratings.from_table(table, "stars"), axis)
        assert (found.held_out, found.n_items, len(found.seeds_among_items)) == (True, 80, 40)
        assert "are seeds of the axis, left out" in found.tables()[0].notes[0]
    assert found.pearson == pytest.approx(
        evaluate_ratings(frame[40:], Ratings.from_table(frame[40:], "stars"), saved).pearson
    )
    few = frame[:45]
    assert "Not held out: 40 of the items" in evaluate_ratings(few, Ratings.from_table(few, "stars"), saved).text()


def test_an_axis_without_marks_of_its_rows_does_not_say_which_items_are_its_seeds():
    frame = documents().drop("id")
    axis = Axis.of(Axis.fit(Rows.from_table(frame, "side")).rotation)
    found = evaluate_ratings(frame, Ratings.from_table(frame, "stars"), axis)
    assert found.held_out is None
    assert "seeds of this axis are not known" in found.text()


def test_several_documents_of_one_item_have_their_mean_score():
    frame = documents(per_name=2)
    axis = Axis.of(Axis.fit(Rows.from_table(frame, "side")).rotation)  # it does not know its rows
    found = evaluate_ratings(frame, Ratings.from_table(frame, "stars", names="id"), axis, names="id")
    assert (found.n_items, found.n_averaged) == (60, 60)
    scores = axis.score(np.array(frame["vector"].to_list())).score.reshape(60, 2).mean(axis=1)
    assert found.pearson == pytest.approx(pearson(frame["stars"].to_numpy().reshape(60, 2).mean(axis=1), scores))


def test_documents_that_an_axis_was_fitted_on_do_not_count_in_the_mean_of_their_item():
    frame = documents(per_name=3)  # the axis was fitted on one document of item d13, and all of those before
    axis = Axis.fit(Rows.from_table(frame, "side"))
    found = evaluate_ratings(frame, Ratings.from_table(frame, "stars", names="id"), axis, names="id")
    assert (found.n_items, len(found.seeds_among_items)) == (27, 13)
    item = next(each for each in found.items if each["item"] == "d13")
    scores = axis.score(np.array(frame["vector"].to_list())[40:42]).score
    assert item["score"] == pytest.approx(scores.mean())


def test_documents_refuse_what_they_cannot_use():
    frame = documents()
    axis, ratings = axis_of(frame), Ratings.of(["x", "y", "z"], [1.0, 2.0, 3.0], name="others")
    with pytest.raises(CoverageError, match=r"none of the 3 items of 'others'.*names="):
        evaluate_ratings(frame, ratings, axis)
    with pytest.raises(TaskError, match="no axis"):
        evaluate_ratings(frame, ratings)
    with pytest.raises(LabelError, match=r"'d0'.*'id' is not a number"):
        Ratings.from_table(frame, "id")
    with pytest.raises(TaskError, match="there is no table"):
        evaluate_ratings({"x": 1.0}, ratings, names="id")


def test_the_command_compares_documents_with_a_file_or_a_column_of_ratings(tmp_path, capsys):
    frame = documents()
    path, axis, ratings = (str(tmp_path / name) for name in ("docs.parquet", "axis.safetensors", "ratings.csv"))
    frame.write_parquet(path)
    frame.select("id", "stars").write_csv(ratings)
    axis_of(frame).save(axis, judge=False)
    assert run(["evaluate", "ratings", path, ratings, axis, "--text-column", "id", "--json"]) == 0
    of_file = json.loads(capsys.readouterr().out)
    assert run(["evaluate", "ratings", path, axis, "--rating-column", "stars", "--item-column", "id", "--json"]) == 0
    of_column = json.loads(capsys.readouterr().out)
    assert (of_file["pearson"], of_file["n_items"]) == (pytest.approx(of_column["pearson"]), 120)
    assert of_file["held_out"] is None  # a file holds no texts of documents
    assert run(["evaluate", "ratings", path, ratings, axis]) == 2
    assert "--text-column" in capsys.readouterr().err
    assert run(["evaluate", "ratings", path, axis]) == 2
    assert "--rating-column" in capsys.readouterr().err
    assert run(["evaluate", "ratings", path, ratings, axis, "--text-column", "id", "--phrases", "mean"]) == 2
    assert "--phrases" in capsys.readouterr().err


# -- bad input at the command line -------------------------------------------------------------------------------------


def ask(tmp_path, capsys, space: WordSpace, seeds: Lexicon, text: str, *options: str) -> tuple[int, str]:
    """What the command answers to a file of ratings."""
    from densray.formats import write_space

    path, ratings = tmp_path / "space.npz", tmp_path / "ratings.csv"
    if not path.exists():
        write_space(space, path)
    ratings.write_text(text, "utf-8")
    high, low = (",".join(word for word, label in seeds.items() if label == side) for side in (1.0, -1.0))
    code = run(["evaluate", "ratings", str(path), str(ratings), "--high", high, "--low", low, *options])
    said = capsys.readouterr()
    return code, " ".join((said.out + said.err).split())


def lines(numbers, name: str = "w{}") -> str:
    return "".join(f"{name.format(number)},{number % 7}\n" for number in numbers)


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (lines(range(50, 70)) + "w50,3\n", 0, "words of several labels, averaged: 1: w50"),
        ("".join(f"w{number},4\n" for number in range(50, 70)), 2, "all 20 items have the same rating, 4"),
        (lines(range(50, 70)), 0, "no noise ceiling"),
        (lines(range(50, 58)), 0, "Only 8 items were found"),
        (lines(range(50, 53)), 2, "at least 4 are needed"),
        (lines(range(5, 25)), 0, "5 items are seeds of the axis, left out"),
        (lines(range(9)), 0, "Not held out: 9 of the items are seeds"),
        (lines(range(50, 70), name="w{} of"), 2, "--phrases mean"),
    ],
    ids=["repeated", "no variance", "one rater", "few", "too few", "seeds", "only seeds", "several words"],
)
def test_the_command_says_what_is_wrong_with_ratings(space, seeds, tmp_path, capsys, text, code, said):
    answer = ask(tmp_path, capsys, space, seeds, text)
    assert answer[0] == code, answer[1]
    assert said in answer[1]


def test_the_command_takes_items_of_several_words(space, seeds, tmp_path, capsys):
    text = "".join(f"w{number} w{number + 1},{number}\n" for number in range(50, 70))
    code, said = ask(tmp_path, capsys, space, seeds, text, "--phrases", "mean")
    assert code == 0
    assert "20 items of several words" in said


# -- seeds and a few ratings -------------------------------------------------------------------------------------------


def test_left_out_scores_of_seeded_ridge_are_those_of_refits():
    from densray.rotations import _seeded

    X, y = RNG.normal(size=(9, 5)), RNG.normal(size=9)
    ends, total = RNG.normal(size=5), 9.0
    centred, target = X - X.mean(axis=0), (y - y.mean()) / y.std()
    start, s = 2.0 * ends / (ends @ ends), 0.7
    m = np.sum(centred**2) / total

    def direction(rows, values, alpha):
        rows, values = rows - rows.mean(axis=0), values - values.mean()
        inner = rows.T @ rows + alpha * np.eye(5)
        return np.linalg.solve(inner, rows.T @ values + alpha * s * start)

    U, singular, _ = np.linalg.svd(centred, full_matrices=False)
    alphas = _seeded.PENALTIES * m
    kept = singular[:, None] ** 2 / (singular[:, None] ** 2 + alphas)
    both = np.column_stack([target, centred @ start])
    residuals = both[:, :, None] - np.einsum("nr,rk,rp->nkp", U, U.T @ both, kept)
    left = _seeded._without_each(U, kept, np.ones(9), total, np.ones(9), residuals, None)
    errors = left[:, 0] - s * left[:, 1]
    for row in range(9):
        others = np.delete(np.arange(9), row)
        for place in (3, 9, 15):
            w = direction(X[others], target[others], alphas[place])
            expected = target[others].mean() + (X[row] - X[others].mean(axis=0)) @ w
            assert target[row] - expected == pytest.approx(errors[row, place])


def test_groups_of_one_row_are_rows_left_out_alone():
    X, y, ends = RNG.normal(size=(12, 6)), RNG.normal(size=12), RNG.normal(size=6)
    alone = SeededRidge(ends).fit(X, y)
    grouped = SeededRidge(ends).fit(X, y, groups=np.arange(12))
    np.testing.assert_allclose(alone.components_, grouped.components_, atol=1e-8)


def test_many_ratings_overrule_wrong_seeds_and_few_do_not():
    truth, wrong = np.eye(30)[0], np.eye(30)[1]
    X = RNG.normal(size=(600, 30))
    y = X @ truth + 0.5 * RNG.normal(size=600)
    few, many = (SeededRidge(wrong).fit(X[:n], y[:n]).components_[0] for n in (4, 600))
    assert many @ truth > 0.98
    assert few @ wrong > 0.3


def test_seeds_and_ratings_do_better_than_either_alone():
    random, gains = np.random.default_rng(7), []
    for _ in range(40):
        truth = random.normal(size=50)
        truth /= np.linalg.norm(truth)
        ends = truth + 0.2 * random.normal(size=50)
        X = random.normal(size=(10, 50))
        y = X @ truth + 0.3 * random.normal(size=10)
        ridge, both = make_rotation("ridge").fit(X, y).components_[0], SeededRidge(ends).fit(X, y).components_[0]
        gains.append((both @ truth - ridge @ truth, both @ truth - ends @ truth / np.linalg.norm(ends)))
    assert np.all(np.mean(gains, axis=0) > 0.0)


def test_the_axis_does_not_depend_on_the_scale_of_the_ratings_or_of_the_ends():
    X, y, ends = RNG.normal(size=(10, 20)), RNG.normal(size=10), RNG.normal(size=20)
    first = SeededRidge(ends).fit(X, y).components_
    np.testing.assert_allclose(SeededRidge(ends).fit(X, 30.0 * y - 7.0).components_, first, atol=1e-10)


def test_an_axis_of_seeds_and_ratings_is_saved_and_scores_the_same(space, seeds, tmp_path):
    ratings = rated(space, items=slice(50, 60))
    axis = Axis.fit(ratings.align(space), seeds=seeds.align(space))
    assert axis.direction @ AXIS > 0.9
    assert set(axis.seed_names) == {*ratings.items, *seeds.words}
    loaded = Axis.load(axis.save(tmp_path / "axis", judge=False), space)
    np.testing.assert_array_equal(loaded.direction, axis.direction)
    assert axis.verdict is not None


def test_few_seed_words_are_advised_to_take_ratings_along(space, seeds):
    ends = ["w0", "w1", "w2"], ["w297", "w298", "w299"]
    few = Lexicon.from_word_lists(*ends).align(space)
    assert "add ten rated items" in Axis.fit(few).diagnose().text()
    assert "rated items" not in Axis.fit(seeds.align(space)).diagnose().text()  # these can be told apart
    with_ratings = Axis.fit(rated(space, items=slice(50, 62)).align(space), seeds=seeds.align(space)).diagnose()
    assert "rated items" not in with_ratings.text()
    documents = Axis.fit(Rows.from_arrays(space.vectors[:40], np.arange(40) % 2)).diagnose()
    assert "rated items" not in documents.text()


@pytest.mark.parametrize(("n_rated", "figure"), [(3, "r = 0.28–0.39"), (10, "r = 0.43–0.50"), (200, "r = 0.55–0.59")])
def test_the_agreement_to_expect_is_that_of_the_largest_number_measured(n_rated, figure):
    assert figure in expected_agreement(n_rated)


def test_a_fit_of_ratings_says_what_to_expect(space, seeds, tmp_path, capsys):
    from densray.formats import write_space

    path, few = write_space(space, tmp_path / "space.npz"), tmp_path / "few.csv"
    few.write_text(lines(range(50, 61)), "utf-8")
    high, low = (",".join(word for word, label in seeds.items() if label == side) for side in (1.0, -1.0))
    given = ["fit", str(path), "--high", high, "--low", low, "--no-judge", "-o", str(tmp_path / "axis.safetensors")]
    assert run([*given, "--ratings", str(few)]) == 0
    said = capsys.readouterr()
    assert "10 rated items agreed with people" in " ".join((said.out + said.err).split())


def test_seeds_with_ratings_refuse_another_method(space, seeds):
    with pytest.raises(TaskError, match="method='svm'"):
        Axis.fit(rated(space).align(space), "svm", seeds=seeds.align(space))
    with pytest.raises(LabelError, match="exactly two are needed"):
        Axis.fit(rated(space).align(space), seeds=rated(space).align(space))


def test_ends_take_in_the_words_next_to_the_seeds(space, seeds):
    alone = Lexicon.from_word_lists(["w0"], ["w299"]).align(space)
    plain, wide = (end_difference(alone, n_neighbors=n) for n in (0, 9))
    assert wide @ AXIS / np.linalg.norm(wide) > plain @ AXIS / np.linalg.norm(plain)
    without_space = Rows.from_arrays(alone.X, alone.y)
    np.testing.assert_allclose(end_difference(without_space), plain)


@pytest.mark.parametrize("mark", ["k.A.", "n.a."])
def test_marks_of_no_answer_are_no_ratings(mark, tmp_path) -> None:
    (tmp_path / "ratings.csv").write_text(f"item;rating\na;1,5\nb;{mark}\nc;2,5\n", encoding="utf-8")
    assert Ratings.read(tmp_path / "ratings.csv").items == ("a", "c")


def test_a_rater_is_one_person_with_composed_and_decomposed_letters(tmp_path) -> None:
    rows = [
        f"{item},{name},{number}" for number, item in enumerate("abc") for name in ("J\u00f6rg", "Jo\u0308rg", "Uta")
    ]
    (tmp_path / "ratings.csv").write_text("\n".join(["item,rater,rating", *rows]), encoding="utf-8")
    assert Ratings.read(tmp_path / "ratings.csv", rater_column="rater").n_raters == 2


def test_a_reversed_axis_is_named_with_the_order_of_its_ends_that_turns_it():
    frame = documents()
    rated = Ratings.from_table(frame, ["stars", "again"], names="id")
    reversed_axis = Axis.fit(Rows.from_table(frame, "side", names="id"))  # of left and right, right is the high end
    found = evaluate_ratings(frame, rated, reversed_axis, names="id")
    assert found.pearson < -0.6
    assert "explained" not in found.text()
    assert "high scores go with low ratings" in found.text()
    assert "label names right,left" in found.text()
    assert not any(row["statistic"] == "explained" for row in found.tables()[0].rows)
    turned = evaluate_ratings(frame, rated, axis_of(frame), names="id")
    assert turned.pearson == pytest.approx(-found.pearson)
    assert "of the explainable variance is explained" in turned.text()
    assert "reversed" not in turned.text()
    assert (
        "reverse the labels"
        in evaluate_ratings(
            {f"d{row}": -row for row in range(9)},
            Ratings.of([f"d{row}" for row in range(9)], np.arange(9.0) % 7 + np.arange(9.0)),
        ).text()
    )
