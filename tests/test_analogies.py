"""Analogy sets are read as published, pair by pair, and bad files name the line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from densray.analogies import AnalogyPair, AnalogySet, read_google, read_msr, read_pair_file
from densray.errors import AnalogyError, DensRayError, EncodingDetectedWarning

QUESTIONS = ": capital\nAthens Greece Oslo Norway\nOslo Norway Lima Peru\n: family\nboy girl king queen\n"


def write(folder: Path, text: str, *, name: str = "set.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_pairs_of_questions_are_the_distinct_halves_in_order_of_appearance(tmp_path: Path) -> None:
    analogies = AnalogySet.read(write(tmp_path, QUESTIONS))
    assert [category.name for category in analogies] == ["capital", "family"]
    assert analogies["capital"].pairs == (
        AnalogyPair("Athens", ("Greece",)),
        AnalogyPair("Oslo", ("Norway",)),
        AnalogyPair("Lima", ("Peru",)),
    )


def test_bats_alternatives_are_answers_and_the_first_letter_is_the_group(tmp_path: Path) -> None:
    write(tmp_path, "cat\tfeline/mammal/feline/\nnew_york\tcity\n", name="L01 [hypernyms].txt")
    write(tmp_path, "arm\tarmless\n", name="D01 [noun+less].txt")
    (tmp_path / "metadata.json").write_text("{}")
    analogies = AnalogySet.read(tmp_path)
    assert analogies["L01 [hypernyms]"].pairs[0] == AnalogyPair("cat", ("feline", "mammal"))
    assert analogies["L01 [hypernyms]"].pairs[0].words == ("cat", "feline", "mammal")
    assert analogies.groups == ("Derivational", "Lexicography")
    assert [category.name for category in analogies.subset(["Lexicography"])] == ["L01 [hypernyms]"]


@pytest.mark.parametrize("text", ["he\tshe\nking\tqueen\n", "he,she\r\nking,queen\r\n", "he she\n\nking   queen"])
def test_a_plain_file_of_pairs_is_one_category(tmp_path: Path, text: str) -> None:
    analogies = AnalogySet.read(write(tmp_path, text, name="gender.txt"))
    assert [(p.query, p.answer) for p in analogies["gender"]] == [("he", "she"), ("king", "queen")]


def test_lists_of_pairs_are_a_set_with_all_their_words() -> None:
    analogies = AnalogySet.from_pairs([("he", "she"), ("cat", ["feline", "mammal"])], name="mine")
    assert analogies.words == ("he", "she", "cat", "feline", "mammal")
    assert len(analogies["mine"]) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "set.txt: the file is empty"),
        (" \n\t\n", "set.txt: the file is empty"),
        (": a\nhe she\n", "line 2: 'he she' has 2 words; a question has four"),
        (": a\n: b\na b c d\n", "section 'a' has no question"),
        (": a\na b c d\n: a\n", "line 3: section 'a' occurs twice"),
        (":\na b c d\n", "line 1: a section without a name"),
        ("he\tshe\nking\n", "line 2: 'king' is not a query and its answer"),
        ("he\tshe\nking\t/\n", "line 2: .* is not a query and its answer"),
        ("he\tshe\nking\tqueen\tprince\n", "line 2: .* is not a query and its answer"),
        ("a b c d\na b c\n", "line 2: 'a b c' has 3 words"),
    ],
)
def test_bad_files_name_the_line_and_the_text(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(AnalogyError, match=message):
        AnalogySet.read(write(tmp_path, text))


@pytest.mark.parametrize(
    "text", ["good\t1\nbad\t-1\n", "word,label\ngood,1\nfine,1\nbad,0\nvile,0\n", "good pos\nbad neg\n", "a 0.5\n"]
)
def test_a_lexicon_is_rejected_as_analogies_but_numbers_are_accepted(tmp_path: Path, text: str) -> None:
    with pytest.raises(AnalogyError, match="a lexicon, to fit an axis from"):
        AnalogySet.read(write(tmp_path, text))
    assert len(AnalogySet.read(write(tmp_path, "one 1\ntwo 2\n"))["set"]) == 2


def test_a_file_in_another_encoding_is_read_or_names_byte_and_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes("he\tshe\nGarçon\tfille\n".encode("latin-1"))
    with pytest.warns(EncodingDetectedWarning, match="read as cp1252. Check 'Garçon'"):
        AnalogySet.read(path)
    with pytest.raises(AnalogyError, match=r"latin.txt, line 2: byte 10 .* is not ascii"):
        AnalogySet.read(path, encoding="ascii")
    assert AnalogySet.read(path, encoding="latin-1")["latin"].pairs[1].query == "Garçon"


def test_other_bad_input_is_a_named_error(tmp_path: Path) -> None:
    with pytest.raises(AnalogyError, match="no such file"):
        AnalogySet.read(tmp_path / "nowhere.txt")
    with pytest.raises(AnalogyError, match=r"no \.txt file"):
        AnalogySet.read(tmp_path)
    with pytest.raises(AnalogyError, match="is not a query and its answer"):
        AnalogySet.from_pairs([("he",)])  # type: ignore[list-item]
    with pytest.raises(AnalogyError, match="has no pair"):
        AnalogySet.from_pairs([])
    with pytest.raises(AnalogyError, match=r"no category 'familie'\. Did you mean 'family'"):
        AnalogySet.read(write(tmp_path, QUESTIONS))["familie"]
    with pytest.raises(AnalogyError, match="3 questions; the MSR set has 8000"):
        read_msr(write(tmp_path, QUESTIONS))


@pytest.mark.filterwarnings("ignore::densray.errors.EncodingDetectedWarning")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(st.one_of(st.binary(), st.text(alphabet=':ab/,\t \n"é').map(lambda text: text.encode())))
def test_any_bytes_give_a_set_or_an_error_of_ours(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any.txt"
    path.write_bytes(content)
    for reader in (AnalogySet.read, read_google, read_pair_file):
        try:
            analogies = reader(path)
        except DensRayError:
            continue
        assert all(pair.answers and pair.query for category in analogies for pair in category)


def test_the_google_set_has_the_pairs_of_its_fourteen_sections(data_folder: Path) -> None:
    analogies = AnalogySet.read(data_folder / "analogies" / "questions-words.txt")
    assert len(analogies) == 14
    assert [len(analogies[name]) for name in ("capital-world", "family", "gram7-past-tense")] == [116, 23, 40]
    assert analogies["family"].pairs[0] == AnalogyPair("boy", ("girl",))
    # a section of n pairs asks at most n(n-1) questions: 23 * 22 in the family section
    assert len(analogies["capital-common-countries"]) * 22 == 506


def test_bats_has_forty_categories_of_fifty_pairs(data_folder: Path) -> None:
    analogies = AnalogySet.read(data_folder / "analogies" / "bats")
    assert {len(category) for category in analogies} == {50}
    assert len(analogies) == 40
    assert analogies.groups == ("Inflectional", "Derivational", "Encyclopedia", "Lexicography")
    assert analogies["D04 [over+adj_reg]"].pairs[0].answers == ("overambitious", "over-ambitious")


def test_msr_relations_follow_from_the_order_and_mirror_each_other(data_folder: Path) -> None:
    analogies = AnalogySet.read(data_folder / "analogies" / "MSR-syntax.txt")
    assert {len(category) for category in analogies} == {100}
    assert len(analogies) == 16
    for name in ("JJ_JJR", "JJ_JJS", "NN_NNS", "NN_NNPOS", "VB_VBD", "VB_VBZ", "VBZ_VBD", "JJR_JJS"):
        mirrored = analogies["_".join(reversed(name.split("_")))]
        assert {(p.answer, p.query) for p in mirrored} == {(p.query, p.answer) for p in analogies[name]}
    assert AnalogyPair("heavy", ("heavier",)) in analogies["JJ_JJR"].pairs
    assert all(pair.answer == f"{pair.query}'s" for pair in analogies["NN_NNPOS"])
