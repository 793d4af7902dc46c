"""Lexicon files are read in every shape, the published ones as counted by hand; bad lines are named."""

from __future__ import annotations

import unicodedata
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from densray import lexicons
from densray.datasets import load_lexicon
from densray.errors import DensRayError, EncodingDetectedWarning, HeaderDetectedWarning, LexiconError
from densray.lexicon import Lexicon
from densray.ratings import Ratings


def write(folder: Path, text: str, *, name: str = "lexicon.tsv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain.tsv", "schön\t1\nnew york\t-0.5\n"),
        ("header.tsv", "Word\tLabel\nschön\t1\nnew york\t-0.5\n"),
        ("swapped.tsv", "1\tschön\n-0.5\tnew york\n"),
        ("named.tsv", "score\tterm\n1\tschön\n-0.5\tnew york\n"),
        ("plain.csv", 'schön,1\n"new york",-0.5\n'),
        ("windows.csv", "\ufeffword;score\r\nschön;1\r\nnew york;-0.5\r\n"),
        ("wide.csv", "id,word,pos,polarity\n1,schön,A,1\n2,new york,N,-0.5\n"),
        ("blank.txt", "schön 1\n\nnew york   -0.5\n"),
        ("minus.txt", "schön 1\nnew york −0.5\n"),
        ("mapping.json", '{"schön": 1, "new york": -0.5}'),
        ("mapping.txt", '{\n "schön": 1,\n "new york": -0.5\n}'),
        ("rows.json", '[["schön", 1], ["new york", -0.5]]'),
        ("records.json", '[{"word": "schön", "label": 1}, {"word": "new york", "score": -0.5}]'),
    ],
)
def test_every_shape_of_file_gives_the_same_lexicon(tmp_path: Path, name: str, text: str) -> None:
    lexicon = Lexicon.read(write(tmp_path, text, name=name))
    assert dict(lexicon.items()) == {"schön": 1.0, "new york": -0.5}
    assert lexicon.name == Path(name).stem


def test_named_labels_and_lists_by_label_are_numbers(tmp_path: Path) -> None:
    lexicon = Lexicon.read(write(tmp_path, "good\tpositive\nbad\tNEG\ntable\tneutral\n"))
    assert dict(lexicon.items()) == {"good": 1.0, "bad": -1.0}
    assert lexicon.dropped.neutral == ("table",)
    lists = Lexicon.read(write(tmp_path, '{"positive": ["good"], "negative": ["bad"]}', name="a.json"))
    assert dict(lists.items()) == dict(lexicon.items())


def test_a_name_repeated_in_json_is_an_entry_of_its_own(tmp_path: Path) -> None:
    lexicon = Lexicon.read(write(tmp_path, '{"odd": 1, "good": 1, "odd": -1}', name="a.json"))
    assert lexicon.dropped.conflicts == ("odd",)


def test_old_line_ends_and_utf16_are_understood_or_named(tmp_path: Path) -> None:
    assert Lexicon.read(write(tmp_path, "good\t1\rbad\t-1\r")).words == ("good", "bad")
    path = write(tmp_path, "good\t1\n", encoding="utf-16")
    with pytest.warns(EncodingDetectedWarning, match="read as utf-16"):
        assert Lexicon.read(path).words == ("good",)
    assert Lexicon.read(path, encoding="utf-16").words == ("good",)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("words", [("good", "bad"), ("schön", "häßlich"), ("хорошо", "плохо"), ("良い", "悪い")])
def test_utf16_without_a_byte_order_mark_is_read(tmp_path: Path, words: tuple[str, str], encoding: str) -> None:
    path = write(tmp_path, f"{words[0]}\t1\n{words[1]}\t-1\n", encoding=encoding)
    with pytest.warns(EncodingDetectedWarning, match=f"read as {encoding}"):
        assert Lexicon.read(path).words == words
    ratings = tmp_path / "ratings.csv"
    ratings.write_bytes(f"item,rating\n{words[0]},3\n{words[1]},2\n".encode(encoding))
    with pytest.warns(EncodingDetectedWarning, match=f"read as {encoding}"):
        assert Ratings.read(ratings).items == words


@pytest.mark.parametrize("content", [b"good\t1\nb\0ad\t-1\n", bytes(40), b"\1\0\2\0\3\0", b"a\0b\0c"])
def test_other_nul_bytes_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.tsv").write_bytes(content)
    with pytest.raises(LexiconError, match="NUL byte"):
        Lexicon.read(tmp_path / "a.tsv")


def test_a_windows_file_is_read_and_its_encoding_reported(tmp_path: Path) -> None:
    path = write(tmp_path, "Wort;Wert\nschön;1\nhäßlich;-1\n", encoding="cp1252")
    with pytest.warns(EncodingDetectedWarning, match=r"read as cp1252. Check 'schön', 'häßlich'"):
        assert Lexicon.read(path).words == ("schön", "häßlich")


@pytest.mark.parametrize(
    ("text", "encoding"), [("слово;1\nхорошо;1\n", "cp1251"), ("καλό;1\n", "cp1253"), ("言葉;1\n", "shift-jis")]
)
def test_other_code_pages_are_not_guessed(tmp_path: Path, text: str, encoding: str) -> None:
    path = write(tmp_path, text, encoding=encoding)
    with pytest.raises(LexiconError, match="the encoding is not known"):
        Lexicon.read(path)
    assert len(Lexicon.read(path, encoding=encoding))


def test_columns_can_be_named_or_numbered(tmp_path: Path) -> None:
    path = write(tmp_path, "a\tb\tc\n1\tgood\t3\n")
    assert dict(Lexicon.read(path, word_column="b", label_column="c", header=True).items()) == {"good": 3.0}
    bare = write(tmp_path, "1\tgood\t3\n", name="bare.tsv")
    assert dict(Lexicon.read(bare, word_column=1, label_column=0).items()) == {"good": 1.0}
    spaced = write(tmp_path, "good A 3\nbad N 1\n", name="spaced.txt")
    assert Lexicon.read(spaced, word_column=0, label_column=2).words == ("good", "bad")


def test_an_entry_in_the_first_line_is_not_taken_for_a_header(tmp_path: Path) -> None:
    assert Lexicon.read(write(tmp_path, "value\tpositive\nbad\tnegative\n")).words == ("value", "bad")
    assert Lexicon.read(write(tmp_path, "word\t1\nbad\t-1\n")).words == ("word", "bad")


def test_quotes_hashes_and_semicolons_are_words_in_a_tab_table(tmp_path: Path) -> None:
    lexicon = Lexicon.read(write(tmp_path, '"\t1\n#love\t1\n;)\t1\n:(\t-1\n'))
    assert lexicon.words == ('"', "#love", ";)", ":(")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("good\t1\nbad\tunsure\n", r"line 2: label 'unsure' .*If there is no label, leave it empty\."),
        ("good\t1\nbad\tpostive\n", r"lexicon\.tsv, line 2: label 'postive' is not a number\. Use 1/-1 or a score\."),
        ("good\tx\nbad\t1\n", "line 1: label 'x' .*header=True"),
        ("good\t1\n\nbad\tinf\n", "line 3: label 'inf' is not a number"),
        ("good\t1\nbad\tinf\n", "line 2: label 'inf' is not a number"),
        ("good\t1\nbad\n", "line 2: 'bad' has 1 of 2 columns"),
        ("good\t1\n\t1\n", "line 2: .* has no word before its label"),
        ("", r"lexicon\.tsv: the file is empty"),
        ("word\tlabel\n", "there is only a header"),
        ("a\tb\t1\n", "3 columns: 'a', 'b', '1'"),
        ('a,1\n"b,1\n', "line 2: .* is not a line of fields"),
        ('{"good": 1,\n "bad": }', "line 2: not valid JSON"),
        ('{"good": true}', "'good': label True is not a number"),
        ('{"good": NaN}', "label 'NaN' is not a number"),
        ('[["good"]]', "is not a word and its label"),
        ('[{"token": "good"}]', "is not a word"),
    ],
)
def test_bad_files_name_file_line_and_text(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(LexiconError, match=message):
        Lexicon.read(write(tmp_path, text))


def test_bad_options_and_encodings_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, "word\tlabel\nbon\t1\ngâté\t-1\n", encoding="latin-1")
    with pytest.raises(LexiconError, match=r"line 3: byte 18 .* is not ascii.*Save it as UTF-8"):
        Lexicon.read(path, encoding="ascii")
    assert "gâté" in Lexicon.read(path, encoding="latin-1")
    with pytest.raises(LexiconError, match="unknown encoding 'klingon'"):
        Lexicon.read(path, encoding="klingon")
    with pytest.raises(LexiconError, match="no column 'wort': the columns are 'word', 'label'"):
        Lexicon.read(path, encoding="latin-1", word_column="wort")
    with pytest.raises(LexiconError, match="no such file"):
        Lexicon.read(tmp_path / "nowhere.tsv")
    with pytest.raises(LexiconError, match="cannot be read"):
        Lexicon.read(tmp_path)


def test_word_lists_and_pairs_come_from_files_or_lists(tmp_path: Path) -> None:
    positive = write(tmp_path, "; a remark\ngood\n;)\n", name="positive.txt")
    assert "; a remark" in Lexicon.from_word_lists(positive, ["bad"])  # nothing is a comment unasked
    lexicon = Lexicon.from_word_lists(positive, ["bad", "good"], comment=";")
    assert lexicon.words == ("bad",)
    assert lexicon.dropped.conflicts == ("good",)
    expected = {"she": 1.0, "he": -1.0, "new york": 1.0, "york": -1.0}
    for name, text in (("a.tsv", "she\the\nnew york\tyork\n"), ("a.json", '[["she","he"],["new york","york"]]')):
        assert dict(Lexicon.from_pairs(write(tmp_path, text, name=name)).items()) == expected
    assert dict(Lexicon.from_pairs([("she", "he"), ("new york", "york")]).items()) == expected
    with pytest.raises(LexiconError, match="line 1: 'she' is not a pair"):
        Lexicon.from_pairs(write(tmp_path, "she\n"))
    with pytest.raises(LexiconError, match="only comments"):
        Lexicon.from_word_lists(write(tmp_path, "; x\n"), ["bad"], comment=";")


READERS = [
    Lexicon.read,
    Lexicon.from_pairs,
    lexicons.read_sublex,
    lexicons.read_german_polarity_clues,
    lexicons.read_fullstrength,
    lexicons.read_feel,
    lexicons.read_mpqa,
    lexicons.read_nrc,
    lexicons.read_semeval2015,
    lexicons.read_concreteness,
]
LIKELY = st.text(alphabet='ab1-0.;,\t\n\r "[{}]:=|_é').map(str.encode)


@pytest.mark.filterwarnings("ignore::densray.errors.EncodingDetectedWarning")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(content=st.one_of(st.binary(), LIKELY), name=st.sampled_from(["any.txt", "any.json"]))
def test_any_bytes_give_a_lexicon_or_an_error_of_ours(tmp_path: Path, content: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    for reader in READERS:
        try:
            lexicon = reader(path)
        except DensRayError:
            continue
        assert len(lexicon) == len(set(lexicon.words)) > 0


# counts of the published files: entries by label, then words with conflicting labels, then neutral words
PUBLISHED = [
    (lexicons.read_sublex, "sublex/sublex_1_0.csv", 1570, 2842, 90, 0),
    (lexicons.read_fullstrength, "fullstrength/fullStrengthLexicon.txt", 477, 870, 0, 0),
    (lexicons.read_fullstrength, "fullstrength/mediumStrengthLexicon.txt", 867, 1629, 0, 0),
    (lexicons.read_opinion_lexicon, "hu_liu/opinion_lexicon", 2006 - 3, 4783 - 3, 3, 0),
    (lexicons.read_mpqa, "mpqa/subjclueslen1-HLTEMNLP05.tff", 2298, 4147, 23, 417),
    (lexicons.read_nrc, "nrc/NRC-Emotion-Lexicon-Wordlevel-v0.92.txt", 2312 - 81, 3324 - 81, 81, 8627),
]


@pytest.mark.parametrize(("reader", "file", "positive", "negative", "conflicts", "neutral"), PUBLISHED)
def test_published_lexicons_have_the_entries_of_their_files(
    data_folder: Path, reader, file: str, positive: int, negative: int, conflicts: int, neutral: int
) -> None:
    lexicon = reader(data_folder / "lexicons" / file)
    counts = [int((lexicon.labels == label).sum()) for label in (1, -1)]
    assert [*counts, len(lexicon.dropped.conflicts), len(lexicon.dropped.neutral)] == [
        positive,
        negative,
        conflicts,
        neutral,
    ]


def test_german_clues_keep_umlauts_case_and_drop_neutral_words(data_folder: Path) -> None:
    lexicon = lexicons.read_german_polarity_clues(sorted((data_folder / "lexicons/germanpc").glob("*.tsv")))
    assert [int((lexicon.labels == label).sum()) for label in (1, -1)] == [3632, 5929]
    assert len(lexicon.dropped.neutral) == 1229
    assert lexicon["Abdämpfung"] == -1


def test_czech_lemmas_lose_their_technical_suffixes_only(data_folder: Path) -> None:
    lexicon = lexicons.read_sublex(data_folder / "lexicons/sublex/sublex_1_0.csv")
    assert {"agitovat", "absurdně", "hrdlička"} <= set(lexicon.words)
    assert not [word for word in lexicon if set(word) & set("_^`(:") or word[-1].isdigit()]


def test_french_alternatives_are_entries_and_phrases_keep_their_blanks(data_folder: Path) -> None:
    lexicon = lexicons.read_feel(data_folder / "lexicons/feel/feel.csv")
    assert lexicon["coiffeur"] == lexicon["coiffeuse"]
    assert lexicon["à le hâte"] == -1
    assert not [word for word in lexicon if "|" in word]


def test_whm_is_the_union_of_its_three_parts_without_their_conflicts(data_folder: Path) -> None:
    folder = data_folder / "lexicons"
    files = (folder / "mpqa/subjclueslen1-HLTEMNLP05.tff", folder / "nrc/NRC-Emotion-Lexicon-Wordlevel-v0.92.txt")
    parts = [lexicons.read_mpqa(files[0]), lexicons.read_nrc(files[1])]
    parts.append(lexicons.read_opinion_lexicon(folder / "hu_liu/opinion_lexicon"))
    whm = load_lexicon("whm")
    for word, label in whm.items():
        assert {part[word] for part in parts if word in part} == {label}
    everything = {word for part in parts for word in (*part, *part.dropped.conflicts)}
    assert everything == {*whm, *whm.dropped.conflicts}


def test_semeval_terms_have_scores_and_repeated_terms_their_mean(data_folder: Path) -> None:
    lexicon = lexicons.read_semeval2015(data_folder / "lexicons/semeval2015_e/SemEval2015-English-Twitter-Lexicon.txt")
    assert len(lexicon) + len(lexicon.dropped.averaged) + len(lexicon.dropped.duplicates) == 1515
    assert lexicon["fantastic"] == pytest.approx((0.938 + 0.859) / 2)
    assert lexicon["mortar"] == 0


def test_concreteness_reads_conc_m_in_utf8_or_latin1(data_folder: Path, tmp_path: Path) -> None:
    source = data_folder / "lexicons/bwk/Concreteness_ratings_Brysbaert_et_al_BRM.txt"
    lexicon = lexicons.read_concreteness(source)
    assert len(lexicon) == 39_954
    assert lexicon["roadsweeper"] == 4.85
    header = source.read_text(encoding="utf-8").splitlines()[0]
    path = write(tmp_path, f"{header}\r\nnaïve\t0\t1.5\t0\t0\t0\t0\t0\t0\r\n", encoding="latin-1")
    assert lexicons.read_concreteness(path)["naïve"] == 1.5


def test_published_readers_name_the_bad_line(tmp_path: Path) -> None:
    cases = [
        (lexicons.read_sublex, "A\tV\tabdikovat\tNEUTR\tx\n", "line 1: polarity 'NEUTR'"),
        (lexicons.read_german_polarity_clues, "Abart\tNN\n", "line 1: .* polarity in column 4"),
        (lexicons.read_fullstrength, "bueno\t1\tgood\n", "line 1: polarity 'good'"),
        (lexicons.read_feel, "id,word,polarity\n1,bon\n", "line 2: .* its polarity"),
        (lexicons.read_mpqa, "word1=good priorpolarity=nice\n", "line 1: polarity 'nice' is not one of positive"),
        (lexicons.read_mpqa, "good\n", "lacks word1="),
        (lexicons.read_nrc, "good\tpositive\t2\n", "line 1: .* is not word, emotion and 0 or 1"),
        (lexicons.read_concreteness, "Word\tScore\na\t1\n", r"no column 'Conc\.M'"),
    ]
    for reader, text, message in cases:
        with pytest.raises(LexiconError, match=message):
            reader(write(tmp_path, text))


def test_every_published_reader_is_documented() -> None:
    page = (Path(__file__).parents[1] / "docs" / "lexicons.md").read_text(encoding="utf-8")
    generic = {"read_entries", "read_pairs", "read_words"}
    assert [name for name in lexicons.__all__ if name not in generic and f"`{name}`" not in page] == []


def test_an_empty_delimiter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lexicon.tsv").write_text("good 1\n")
    with pytest.raises(LexiconError, match="delimiter is empty"):
        Lexicon.read(tmp_path / "lexicon.tsv", delimiter="")


def test_labels_of_the_files_own_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "wealth.tsv"
    path.write_text("rich\tmansion\npoor\tslum\npositive\tvilla\n", "utf-8")
    lexicon = Lexicon.read(path, label_names=("poor", "rich"))
    assert dict(lexicon.items()) == {"mansion": 1.0, "slum": -1.0, "villa": 1.0}
    with pytest.raises(LexiconError, match="label_names="):
        Lexicon.read(path)


@pytest.mark.parametrize("empty", ["", "NA", "n/a", "NaN", "null"])
def test_a_word_without_a_label_is_left_out_and_counted(tmp_path: Path, empty: str) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(f"word,score\ngood,3.1\nodd,{empty}\nbad,-2\n", encoding="utf-8")
    lexicon = Lexicon.read(path)
    assert dict(lexicon.items()) == {"good": 3.1, "bad": -2.0}
    assert lexicon.dropped.unlabelled == ("odd",)
    assert lexicon.dropped.by_reason() == {"unlabelled": ("odd",)}


def test_a_column_of_a_frame_may_have_gaps() -> None:
    frame = pl.DataFrame({"word": ["good", "odd", "bad"], "label": [1.0, None, -1.0]})
    for each in (frame, frame.to_pandas()):
        lexicon = Lexicon.from_frame(each)
        assert lexicon.words == ("good", "bad")
        assert lexicon.dropped.unlabelled == ("odd",)


def test_a_decimal_comma_is_read_between_semicolons_and_tabs_and_nowhere_else(tmp_path: Path) -> None:
    path = tmp_path / "valenz.csv"
    path.write_text("Wort;Wert\ngut;2,25\nschlecht;−1,5\n", encoding="utf-8")
    lexicon = Lexicon.read(path, word_column="Wort", label_column="Wert")
    assert dict(lexicon.items()) == {"gut": 2.25, "schlecht": -1.5}
    path.write_text("gut\t2,25\nschlecht\t-1,5\n", encoding="utf-8")
    assert dict(Lexicon.read(path).items()) == {"gut": 2.25, "schlecht": -1.5}
    path.write_text('"gut","2,25"\n"schlecht","-1,5"\n', encoding="utf-8")
    with pytest.raises(LexiconError, match="2,25"):
        Lexicon.read(path)


def test_columns_by_number_find_the_line_that_names_them(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("Id;Begriff;Valence (M)\n1;gut;2\n2;schlecht;-2\n", encoding="utf-8")
    for columns in ((1, 2), ("1", "2")):
        with pytest.warns(HeaderDetectedWarning, match="line 1: 'Id;Begriff;Valence"):
            lexicon = Lexicon.read(path, word_column=columns[0], label_column=columns[1])
        assert dict(lexicon.items()) == {"gut": 2.0, "schlecht": -2.0}
    with pytest.raises(LexiconError, match="line 1: label 'Valence"):
        Lexicon.read(path, word_column=1, label_column=2, header=False)
    path.write_text("1;gut;zwei\n2;schlecht;minus\n", encoding="utf-8")
    with pytest.raises(LexiconError, match="line 1: label 'zwei'"):
        Lexicon.read(path, word_column=1, label_column=2)


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
@pytest.mark.parametrize("header", ["word,label\n", ""])
def test_a_line_with_more_fields_than_the_first_is_refused(tmp_path: Path, delimiter: str, header: str) -> None:
    path = tmp_path / "scores.txt"
    lines = f"{header}good,3\nbad,-3\nnice,2,5\n".replace(",", delimiter)
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(LexiconError, match=rf"line {lines.count(chr(10))}.*nice.*decimal point"):
        Lexicon.read(path)


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_empty_fields_at_the_end_of_a_line_are_accepted(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "scores.txt"
    path.write_text("word,label\ngood,3,\nbad,-3,,\n".replace(",", delimiter), encoding="utf-8")
    assert dict(Lexicon.read(path).items()) == {"good": 3.0, "bad": -3.0}


@pytest.mark.parametrize("mark", ["k.A.", "n.a.", "K. A."])
def test_marks_of_no_answer_are_words_without_a_label(tmp_path: Path, mark: str) -> None:
    lexicon = Lexicon.read(write(tmp_path, f"wort;wert\nLiebe;3,5\nWut;{mark}\nHass;-1\n", name="words.csv"))
    assert lexicon.words == ("Liebe", "Hass")
    assert lexicon.dropped.unlabelled == ("Wut",)


def test_named_labels_are_found_with_composed_and_decomposed_letters(tmp_path: Path) -> None:
    entries = {"gut": unicodedata.normalize("NFD", "für"), "nett": "für", "übel": "gegen"}
    path = write(tmp_path, "".join(f"{word}\t{label}\n" for word, label in entries.items()))
    assert dict(Lexicon.read(path, label_names=("gegen", "für")).items()) == {"gut": 1.0, "nett": 1.0, "übel": -1.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word\tscore\na\t1,618\nb\t2,5x\n", "line 2: .*'1,618' may be a decimal number or thousands. Write a decimal"),
        ("word\tscore\na\t1,618\nb\t-2\n", "line 2: .*'1,618' may be a decimal number or thousands"),
        ('word,score\na,"0,6"\nb,"-0,2"\n', "line 2: .*'0,6' has a decimal comma, which is read between semicolons or tabs"),
    ],
)  # fmt: skip
def test_a_comma_that_is_not_read_is_explained(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    for read in (partial(Lexicon.read, header=True), partial(Ratings.read, item_column="word", rating_column="score")):
        with pytest.raises(LexiconError, match=message):
            read(path)
