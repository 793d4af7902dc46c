"""A lexicon keeps one label per word, says what it left out, and meets a space without surprises."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densray.axes import Axis, diagnose
from densray.errors import DensRayError, HeaderDetectedWarning, LexiconError
from densray.lexicon import Lexicon
from densray.space import WordSpace

SPACE = WordSpace(
    ["good", "Bad", "bad", "new_york", "ice cream", "great", "straße"],
    np.arange(14, dtype=np.float32).reshape(7, 2) + 1,
    name="toy",
)


def test_words_and_labels_are_kept_in_order() -> None:
    lexicon = Lexicon({"good": 1, "bad": -1, "fine": "positive"})
    assert lexicon.words == ("good", "bad", "fine")
    assert lexicon.labels.tolist() == [1.0, -1.0, 1.0]
    assert lexicon["bad"] == -1
    assert "fine" in lexicon
    assert dict(lexicon.items()) == {"good": 1.0, "bad": -1.0, "fine": 1.0}
    with pytest.raises(ValueError, match="read-only"):
        lexicon.labels[0] = 3


def test_conflicts_are_dropped_and_listed_averaged_or_refused() -> None:
    entries = [("odd", 1), ("good", 1), ("odd", -1), ("good", 1), ("bad", -1)]
    lexicon = Lexicon(entries)
    assert lexicon.words == ("good", "bad")
    assert lexicon.dropped.conflicts == ("odd",)
    assert lexicon.dropped.duplicates == ("good",)
    averaged = Lexicon(entries, conflicts="mean")
    assert averaged["odd"] == 0
    assert averaged.dropped.averaged == ("odd",)
    assert averaged.dropped.conflicts == ()
    with pytest.raises(LexiconError, match="1 words have conflicting labels: 'odd'"):
        Lexicon(entries, conflicts="error")


def test_zero_is_neutral_only_between_minus_one_and_one() -> None:
    lexicon = Lexicon({"good": 1, "bad": -1, "table": 0})
    assert lexicon.words == ("good", "bad")
    assert lexicon.dropped.neutral == ("table",)
    assert len(Lexicon({"good": 1, "bad": -1, "table": 0}, neutral="keep")) == 3
    assert len(Lexicon({"good": 0.5, "bad": -1, "table": 0})) == 3
    assert len(Lexicon({"yes": 1, "no": 0})) == 2


def test_a_neutral_entry_does_not_contradict_a_polarity() -> None:
    lexicon = Lexicon([("good", 1), ("good", 0), ("bad", -1)])
    assert lexicon["good"] == 1
    assert lexicon.dropped.neutral == ()


def test_union_drops_words_in_conflict_within_or_between_its_parts() -> None:
    first = Lexicon([("a", 1), ("b", 1), ("c", 1), ("c", -1), ("n", 0)], name="first")
    second = Lexicon({"a": 1, "b": -1, "c": 1, "n": 1, "d": -1})
    joined = Lexicon.union(first, second)
    assert dict(joined.items()) == {"a": 1.0, "n": 1.0, "d": -1.0}
    assert set(joined.dropped.conflicts) == {"b", "c"}


def test_scores_are_split_at_the_median_and_classes_become_signs() -> None:
    scores = Lexicon({"a": 1.0, "b": 2.0, "c": 3.0, "d": 9.0})
    assert scores.binarized().labels.tolist() == [-1, -1, 1, 1]
    assert Lexicon({"a": 0, "b": 5, "c": 5}).binarized().labels.tolist() == [-1, 1, 1]
    assert Lexicon({"a": 1, "b": 2, "c": 3, "d": 3, "e": 3}).binarized().labels.tolist() == [-1, -1, 1, 1, 1]
    with pytest.raises(LexiconError, match=r"All 2 words .* have the label 1"):
        Lexicon({"a": 1, "b": 1}).binarized()


def test_split_sides_share_no_word_whatever_its_case_or_joint() -> None:
    words = [f"w{row}" for row in range(100)]
    entries = {word: 1 if row % 4 else -1 for row, word in enumerate(words)}
    entries.update({word.upper(): label for word, label in entries.items()})
    entries.update({"new york": 1, "new_york": 1, "New York": 1})
    lexicon = Lexicon(entries)
    train, test = lexicon.split(test_size=0.3, random_state=0)
    keys = [{word.lower().replace("_", " ") for word in side} for side in (train, test)]
    assert not keys[0] & keys[1]
    assert len(train) + len(test) == len(lexicon)
    assert len(test) / len(lexicon) == pytest.approx(0.3, abs=0.02)
    assert np.mean(test.labels == 1) == pytest.approx(np.mean(lexicon.labels == 1), abs=0.02)


def test_split_is_repeated_by_its_seed_and_changed_by_another() -> None:
    lexicon = Lexicon({f"w{row}": row for row in range(50)})
    first, again, other = (lexicon.split(random_state=seed)[1].words for seed in (1, 1, 2))
    assert first == again
    assert first != other
    with pytest.raises(LexiconError, match=r"test_size is 1\.5"):
        lexicon.split(1.5)
    with pytest.raises(LexiconError, match="one side would be empty"):
        Lexicon({"a": 1, "b": -1}).split(0.1)


def test_without_takes_words_out_however_they_are_joined() -> None:
    lexicon = Lexicon({"new york": 1, "Good": 1, "bad": -1})
    assert lexicon.without(["new_york", "good"]).words == ("Good", "bad")
    assert lexicon.without(["good"], any_case=True).words == ("new york", "bad")
    with pytest.raises(LexiconError, match="None of the 3 words"):
        lexicon.without(lexicon)


def test_alignment_gives_the_vectors_and_labels_of_the_words_found() -> None:
    rows = Lexicon({"bad": -1, "nowhere": 1, "good": 1}).align(SPACE)
    assert rows.names == ("bad", "good")
    assert rows.missing == ("nowhere",)
    assert rows.y.tolist() == [-1, 1]
    np.testing.assert_array_equal(rows.X, SPACE[["bad", "good"]])
    assert rows.coverage == pytest.approx(2 / 3)
    assert len(rows) == 2
    assert rows.background is SPACE
    assert rows.X.flags.writeable  # a copy: the space stays as it is


def test_multi_word_entries_meet_blanks_and_underscores() -> None:
    rows = Lexicon({"new york": 1, "ice_cream": -1}).align(SPACE)
    assert rows.names == ("new_york", "ice cream")


def test_without_case_exact_spellings_come_first_and_a_vector_is_used_once() -> None:
    lexicon = Lexicon({"GOOD": -1, "good": -1, "BAD": 1, "New York": 1})
    assert lexicon.align(SPACE, any_case=False).names == ("good",)
    assert set(lexicon.align(SPACE).names) == {"good", "new_york"}
    rows = lexicon.align(SPACE, any_case=True)
    assert dict(zip(rows.names, rows.y, strict=True)) == {"good": -1, "Bad": 1, "new_york": 1}
    assert rows.merged == ("GOOD",)


@pytest.mark.parametrize(
    "spellings", [("BAD", "Bad"), ("bad", "BAD"), ("café", "cafe\u0301"), ("two words", "two_words")]
)
@pytest.mark.parametrize("labels", [(1.0, -1.0), (-1.0, 1.0), (0.3, 0.4)])
def test_spellings_of_one_word_with_different_labels_conflict(
    spellings: tuple[str, str], labels: tuple[float, float]
) -> None:
    space = WordSpace(["good", "café", "bad", "two_words", "fine"], np.eye(5))
    entries = {**dict(zip(spellings, labels, strict=True)), "good": 1, "fine": -1}
    rows = Lexicon(entries).align(space)
    assert set(rows.names) == {"good", "fine"}
    assert set(rows.set_aside["conflicting"]) == set(spellings)
    assert not rows.merged
    averaged = Lexicon(entries, conflicts="mean").align(space)
    assert sorted(averaged.y) == pytest.approx(sorted([1.0, -1.0, sum(labels) / 2]))
    assert set(averaged.set_aside["averaged"]) == set(spellings)
    with pytest.raises(LexiconError, match=r"2 words are spellings of one word.*conflicting labels.*Correct them"):
        Lexicon(entries, conflicts="error").align(space)
    with pytest.raises(LexiconError, match=r"2 of 2 .*2 of them are left out.*conflicting.*Correct their labels"):
        Lexicon(dict(zip(spellings, labels, strict=True))).align(space)
    same = Lexicon({**dict.fromkeys(spellings, 1.0), "fine": -1}).align(space)
    assert len(same) == 2
    assert len(same.merged) == 1


def test_limit_leaves_later_words_missing() -> None:
    rows = Lexicon({"good": 1, "great": 2}).align(SPACE, limit=3)
    assert rows.names == ("good",)
    assert rows.missing == ("great",)
    # the vocabulary ends at the limit: 'bad' is beyond it, 'Bad' is not
    assert Lexicon({"bad": 1}).align(SPACE, limit=2, any_case=True).names == ("Bad",)


@pytest.mark.parametrize(
    ("entries", "options", "message"),
    [
        (
            {"Good": 1, "GREAT": 1},
            {"any_case": False},
            r"0 of 2 .*first missing: 'Good', 'GREAT'.*has 'good'\. Use any_case=True",
        ),
        ({"Straße": 1}, {"any_case": False}, "The space has 'straße'"),
        ({"BAD": 1}, {}, "The space has 'Bad', 'bad'. Use any_case=True"),
        ({"bon": 1}, {}, "begins 'good', 'Bad', 'bad': is it of another language"),
        ({"great": 1}, {"limit": 2}, "beyond the first 2 words: raise limit"),
        ({"good": 1, "bon": 1}, {"minimum": 2}, "1 of 2 lexicon words .* At least 2 are needed"),
        ({"good": 1}, {"minimum": 2}, "All 1 lexicon words are in the space.* At least 2 are needed"),
    ],
)
def test_no_common_word_names_the_missing_ones_and_the_likely_cause(
    entries: dict[str, float], options: dict[str, int], message: str
) -> None:
    with pytest.raises(LexiconError, match=message):
        Lexicon(entries).align(SPACE, **options)  # type: ignore[arg-type]


@given(st.dictionaries(st.text(min_size=1).filter(str.strip), st.sampled_from([1, -1]), min_size=1))
def test_every_word_of_the_lexicon_is_found_missing_or_merged(entries: dict[str, int]) -> None:
    lexicon = Lexicon({**entries, "good": 1})
    found = lexicon.align(SPACE, any_case=True)
    conflicting = found.set_aside.get("conflicting", ())
    assert len(found) + len(found.missing) + len(found.merged) + len(conflicting) == len(lexicon)
    assert len(set(found.locations.tolist())) == len(found)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({}, "no usable entry"),
        ({"good": "postive"}, "'good': label 'postive' is not a number. Use 1/-1 or a score"),
        ({"good": float("nan")}, "label nan is not a number"),
        ({"good": None}, "label None is not a number"),
        ({" ": 1}, "is not a word"),
        ({3: 1}, "3 .* is not a word"),
        ([("good", 1, 2)], "is not a word and its label"),
        ([("odd", 1), ("odd", -1)], "1 with conflicting labels"),
    ],
)
def test_bad_entries_are_named_errors(entries: object, message: str) -> None:
    with pytest.raises(LexiconError, match=message):
        Lexicon(entries)  # type: ignore[arg-type]


def test_frames_give_and_take_a_lexicon() -> None:
    lexicon = Lexicon({"good": 1, "bad": -1})
    frame = lexicon.to_polars()
    assert Lexicon.from_frame(frame).words == lexicon.words
    assert Lexicon.from_frame(frame.to_pandas().rename(columns={"label": "y"}), label_column="y")["bad"] == -1
    with pytest.raises(LexiconError, match="no column 'score'"):
        Lexicon.from_frame(frame, label_column="score")


def test_an_unknown_word_is_a_named_error() -> None:
    with pytest.raises(LexiconError, match="'ugly' is not among the 1 words of 'mine'"):
        Lexicon({"good": 1}, name="mine")["ugly"]


def test_choices_that_do_not_exist_are_refused_and_a_file_is_sent_to_read() -> None:
    entries = [("good", 1), ("bad", -1)]
    with pytest.raises(LexiconError, match="Did you mean 'error'"):
        Lexicon(entries, conflicts="eror")  # type: ignore[arg-type]
    with pytest.raises(LexiconError, match="neutral='no' is given"):
        Lexicon(entries, neutral="no")  # type: ignore[arg-type]
    with pytest.raises(LexiconError, match=r"Lexicon\.read"):
        Lexicon("seeds.tsv")  # type: ignore[arg-type]


def test_a_seed_that_is_none_is_an_error_of_ours() -> None:
    lexicon = Lexicon(dict(zip("abcdefgh", [1, -1] * 4, strict=True)))
    with pytest.raises(DensRayError, match="random_state=-1 is given; a whole number from 0"):
        lexicon.split(0.5, random_state=-1)
    assert len(lexicon.split(0.5, random_state=2**32 - 1)) == 2


@pytest.mark.parametrize("line", ["good;great;nice", "good, great, nice", "good great nice", "good\tgreat\tnice"])
def test_a_word_list_in_one_line_is_split(tmp_path, line):
    (tmp_path / "high.txt").write_text(f"# the high end\n{line}\n", "utf-8")
    (tmp_path / "low.txt").write_text("New York\nbad, worse\n", "utf-8")  # lines of phrases stay whole
    lexicon = Lexicon.from_word_lists(tmp_path / "high.txt", tmp_path / "low.txt", comment="#")
    assert lexicon.words == ("good", "great", "nice", "New York", "bad, worse")


@pytest.mark.parametrize(
    "text", ["Begriff;Urteil\ngood;1\nbad;-1\n", "Begriff Urteil\ngood 1\nbad -1\n", "a,b-c\ngood,1\nodd,NA\nbad,-1\n"]
)
def test_a_first_line_without_a_number_is_read_as_names_with_a_warning(tmp_path, text):
    (tmp_path / "a.txt").write_text(text, "utf-8")
    line = text.partition("\n")[0]
    with pytest.warns(
        HeaderDetectedWarning, match=rf"a.txt, line 1: '{line}' was read as the names of the columns.*entry"
    ):
        assert dict(Lexicon.read(tmp_path / "a.txt").items()) == {"good": 1.0, "bad": -1.0}
    assert dict(Lexicon.read(tmp_path / "a.txt", header=True).items()) == {"good": 1.0, "bad": -1.0}  # no warning
    with pytest.raises(LexiconError, match=r"line 1: label .* is not a number") as caught:
        Lexicon.read(tmp_path / "a.txt", header=False)
    assert "header" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "fine;1O\ngood;1\nbad;-1\n",
        "fine;l\ngood;1\nbad;-1\n",
        "fine;postive\ngood;positive\nbad;negative\n",
        "Begriff;Urteil\ngood;1\nbad;x\n",
        "Begriff;Urteil\ngood;1\n",
    ],
)
def test_a_first_line_that_may_have_a_wrong_label_is_not_read_as_names(tmp_path, text):
    (tmp_path / "a.txt").write_text(text, "utf-8")
    with pytest.raises(LexiconError, match=r"line 1: label .* is not a number.* header=True"):
        Lexicon.read(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("id\tword", "'id' seems to number"),
        ("word\tindex", "'index' seems"),
        ("\tword", "'' seems"),
        ("label\tid", "'id' seems"),
    ],
)
def test_a_column_that_numbers_the_rows_is_neither_label_nor_word(tmp_path, header, message):
    (tmp_path / "a.tsv").write_text(f"{header}\n1\tgood\n2\tbad\n", "utf-8")
    with pytest.raises(LexiconError, match=message):
        Lexicon.read(tmp_path / "a.tsv")


def test_words_and_labels_are_found_next_to_a_column_that_numbers_the_rows(tmp_path):
    for header, fields in (("id,word,label", "7,{},{}"), ("word,id,label", "{},7,{}"), (",word,label", "7,{},{}")):
        lines = [header, *(fields.format(word, label) for word, label in (("good", 1), ("bad", -1)))]
        (tmp_path / "a.csv").write_text("\n".join(lines), "utf-8")
        assert dict(Lexicon.read(tmp_path / "a.csv").items()) == {"good": 1.0, "bad": -1.0}


def test_a_nul_byte_is_refused_with_its_line(tmp_path):
    (tmp_path / "a.tsv").write_bytes(b"good\t1\nb\0ad\t-1\n")
    with pytest.raises(LexiconError, match=r"line 2: a NUL byte"):
        Lexicon.read(tmp_path / "a.tsv")


def test_groups_that_differ_only_in_type_are_refused():
    with pytest.raises(LexiconError, match="both as a number and as text"):
        Lexicon({"good": 1, "bad": -1}, groups={"good": 1, "bad": "1"})


@pytest.mark.parametrize("names", [("rich", "poor"), ("Rich", "x"), ("x", "poor"), ("reich", "arm"), ("x", "arm")])
def test_names_of_ends_that_are_swapped_are_refused(tmp_path, names):
    (tmp_path / "reich.txt").write_text("rich\nposh\n", "utf-8")
    (tmp_path / "arm.txt").write_text("poor\nneedy\n", "utf-8")
    lexicon = Lexicon.from_word_lists(tmp_path / "reich.txt", tmp_path / "arm.txt")
    space = WordSpace(["rich", "posh", "poor", "needy"], np.eye(4) + np.arange(4)[:, None])
    with pytest.raises(LexiconError, match=rf"the low end first, .* Use label_names={re.escape(str(names[::-1]))}\."):
        diagnose(space, lexicon, label_names=names)
    if names[0].lower() == "rich" or names[1] == "poor":  # rows know the words, not the files
        with pytest.raises(LexiconError, match="the low end first"):
            Axis.fit(lexicon.align(space), label_names=names)
    Axis.fit(lexicon.align(space), label_names=("poor", "rich"))


def test_names_of_ends_in_their_order_or_in_neither_list_are_taken(tmp_path):
    lexicon = Lexicon.from_word_lists(["rich", "poor man's"], ["poor", "rich"], conflicts="mean")
    for names in (("poor", "x"), ("left", "right"), None):
        lexicon.check_label_names(names)
    for names in (("low", "high"), ("negative", "positive"), ("neg", "pos")):  # they say which end they are
        Lexicon({names[1]: -1, "tall": -1, "tiny": 1}).check_label_names(names)
        Lexicon({names[0]: 1, "tall": -1, "tiny": 1}).check_label_names(names)
        with pytest.raises(LexiconError, match="the low end first"):
            Lexicon({names[0]: -1, names[1]: 1}).check_label_names(names[::-1])
    scores = Lexicon({"rich": 3.0, "fair": 2.0, "poor": 1.0})
    scores.check_label_names(("rich", "poor"))  # scores have no ends of words
