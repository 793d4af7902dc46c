"""The data the package carries, and what is said of the data it does not."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from densray.datasets import (
    DataSet,
    _registry,
    fetch,
    find_dataset,
    is_at_hand,
    list_datasets,
    load_analogies,
    load_lexicon,
    load_pairs,
    load_similarity,
    load_space,
    load_weat,
    load_word_list,
    path_of,
)
from densray.datasets._load import _READERS
from densray.datasets._registry import embedded_checksums, embedded_folder
from densray.errors import DataError
from densray.paper import published
from densray.paper._tables import LINES
from densray.space import WordSpace

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def space() -> WordSpace:
    return load_space("googlenews-26k")


def test_every_embedded_file_has_the_checksum_the_build_wrote() -> None:
    folder = embedded_folder()
    found = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "SHA256SUMS" and path.suffix not in (".py", ".pyc")
    }
    assert found == embedded_checksums()


def test_without_the_package_of_data_each_of_its_sets_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = """
import sys
sys.modules["densray_data"] = None  # as where a distributor left it out
import densray.datasets as datasets, densray.datasets._registry as registry
registry.find_spec = lambda name: None
assert not datasets.is_at_hand("hu-liu") and len(datasets.list_datasets()) > 20
for ask in (datasets.load_lexicon, datasets.fetch):
    try:
        ask("hu-liu")
    except datasets._registry.DataError as error:
        print(error)
"""
    environment = {**os.environ, "DENSRAY_DATA": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    said = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment).splitlines()
    assert said == 2 * [
        "The data set 'hu-liu' is not on this machine. The package densray-data carries it. Run `python -m pip "
        "install ./densray-data` in your checkout of densray (once it is published: `pip install densray-data`)."
    ]


def test_every_embedded_file_belongs_to_a_data_set_and_is_named_in_the_notice() -> None:
    named = {file.path for entry in list_datasets() if entry.embedded for file in entry.files}
    assert named == set(embedded_checksums())
    notice = (ROOT / "densray-data" / "NOTICE").read_text("utf-8")
    for path in named:
        folder, stem = path.split("/")[0], path.rsplit("/", 1)[-1].split(".")[0]
        assert f"{folder}/*" in notice or stem in notice or path.rsplit("/", 1)[0] + "/*" in notice, path


def test_the_float16_slice_gives_every_original_cosine_of_table_3(space: WordSpace) -> None:
    cells = [cell for cell in published("table3") if cell["block"] == "original"]
    assert len(cells) == 20
    ours = [space.cosine(cell["word"], cell["anchor"]) for cell in cells]
    assert np.round(ours, 2) == pytest.approx([cell["paper"] for cell in cells])


def test_the_slice_keeps_the_order_and_the_unit_lengths_of_its_source(space: WordSpace) -> None:
    assert (len(space), space.width, space.vectors.dtype) == (26_423, 300, np.float32)
    assert list(space.words[:3]) == ["in", "for", "that"]
    # float16 rounds each number by at most 2^-11 of itself, hence the length too
    assert np.abs(np.linalg.norm(space.vectors, axis=1) - 1).max() < 2**-11
    unit = load_space("googlenews-26k", limit=9, normalize=True).vectors
    assert np.linalg.norm(unit, axis=1) == pytest.approx(np.ones(9), abs=1e-6)
    assert unit == pytest.approx(space.vectors[:9], abs=2e-4)


def test_limit_and_words_choose_rows_of_the_whole_space(space: WordSpace) -> None:
    wanted = ["woman", "actress", "man", "no-such-word"]
    few = load_space("googlenews-26k", words=iter(wanted))
    assert list(few.words) == [word for word in space.words if word in wanted]
    assert np.array_equal(few["actress"], space["actress"])
    assert np.array_equal(load_space("googlenews-26k", limit=50).vectors, space.vectors[:50])
    assert list(load_space("googlenews-26k", limit=2, words=["for", "man"]).words) == ["for"]
    with pytest.raises(DataError, match="limit is 0"):
        load_space("googlenews-26k", limit=0)


def test_a_path_is_read_as_a_file(tmp_path: Path) -> None:
    (tmp_path / "small.vec").write_text("2 3\nred 1 0 0\nblue 0 3 4\n", "utf-8")
    read = load_space(tmp_path / "small.vec", normalize=True)
    assert read["blue"] == pytest.approx([0, 0.6, 0.8])


@pytest.mark.parametrize("name", ["spaces/glove.840B.300d.zip", "glove.840B.300d.zip", "glove.840B.300d.txt"])
def test_a_space_placed_by_hand_is_loaded_by_name_packed_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("DENSRAY_DATA", str(tmp_path))
    entry = find_dataset("glove-840b")
    small = replace(entry, files=(replace(entry.files[0], size=None),))
    monkeypatch.setattr(_registry, "_registry", lambda: {entry.name: small})
    (tmp_path / "spaces").mkdir()
    text = "red 1 0.5 0\nblue 0 3 4\n"
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("glove.840B.300d.txt", text)
    else:
        (tmp_path / name).write_text(text, "utf-8")
    read = load_space("glove-840b", words=["blue"])
    assert (read.name, list(read.words)) == ("glove-840b", ["blue"])
    assert read["blue"] == pytest.approx([0, 3, 4])


def test_a_repeated_word_in_a_published_space_is_left_out_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENSRAY_DATA", str(tmp_path))
    (tmp_path / "glove.840B.300d.txt").write_text("red 1 0.5 0\nblue 0 3 4\nred 9 9 9\n", "utf-8")
    with pytest.warns(UserWarning, match="red"):
        read = load_space("glove-840b")
    assert list(read.words) == ["red", "blue"]
    assert read["red"] == pytest.approx([1, 0.5, 0])


@pytest.mark.parametrize(
    ("load", "given", "message"),
    [
        (
            load_space,
            "googlenews-26",
            r"neither a file nor a data set \(space\).*Did you mean 'googlenews-26k'",
        ),
        (load_space, "hu-liu", r"'hu-liu' is of the kind lexicon; needed is space: googlenews-26k"),
        (load_lexicon, "hu_liu", r"neither a file nor a data set \(lexicon\).*Did you mean 'hu-liu'"),
        (load_lexicon, "occupations", r"is of the kind words; needed is lexicon"),
        (load_analogies, "gogle", r"neither a file nor a data set \(analogies\).*Did you mean 'google'"),
        (load_similarity, "simlex", r"'simlex' is neither a file nor a data set.*Did you mean 'simlex-999'"),
        (path_of, "bat", r"no data set called 'bat'. Did you mean 'bats'"),
        (list_datasets, "spaces", r"no kind of data set called 'spaces'. Did you mean 'space'"),
    ],
)
def test_an_unknown_name_is_answered_by_the_nearest(load: object, given: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(given)  # type: ignore[operator]


def test_the_embedded_lexicons_are_those_of_the_sources() -> None:
    sentiment = load_lexicon("hu-liu")
    assert (sentiment["abundance"], sentiment["naïve"]) == (1, -1)
    assert (sum(sentiment.labels > 0), sum(sentiment.labels < 0)) == (
        2003,
        4780,
    )  # three words are in both lists
    gender = load_lexicon("gender")
    assert (len(gender), gender["king"], gender["queen"]) == (46, 1, -1)
    shares = load_lexicon("us-occupation-shares")
    assert (len(shares), shares["carpenter"], shares["secretary"]) == (40, 2, 95)


def test_the_embedded_analogies_are_whole_and_the_gender_lexicon_is_their_family() -> None:
    google = load_analogies("google")
    assert len(google) == 14
    family = {(pair.query, pair.answer) for pair in google["family"]}
    gender = load_lexicon("gender")
    assert {(gender[left], gender[right]) for left, right in family} == {(1, -1)}
    assert {word for pair in family for word in pair} == set(gender.words)


def test_bats_and_msr_are_read_from_the_data_folder(data_folder: Path) -> None:
    assert len(load_analogies("msr").words) > 500
    bats = load_analogies("bats")
    assert (len(bats), {len(category) for category in bats}) == (40, {50})


def test_the_word_lists_and_pairs_are_those_of_bolukbasi() -> None:
    occupations = load_word_list("occupations")
    assert (len(occupations), len(set(occupations))) == (320, 320)
    assert "registered_nurse" in occupations
    assert (len(load_word_list("gender-specific")), len(load_word_list("gender-specific-seed"))) == (
        1441,
        218,
    )
    assert len(load_pairs("gender-definitional")) == 10
    assert ("uncle", "aunt") in load_pairs("gender-equalize")
    assert len(load_pairs("gender-equalize")) == 52


def test_the_ten_association_tests_have_groups_of_equal_size() -> None:
    tests = load_weat()
    assert [test.number for test in tests] == list(range(1, 11))
    for test in tests:
        assert len(test.first_target.words) == len(test.second_target.words)
        assert len(test.first_attribute.words) == len(test.second_attribute.words)
    names = tests[2].first_target
    assert (len(names.words), len(names.left_out)) == (32, 18)
    assert "failure" in tests[9].second_attribute.words


def test_similar_words_have_higher_cosines_in_the_slice(space: WordSpace, data_folder: Path) -> None:
    from scipy.stats import spearmanr

    sizes = {}
    for entry in list_datasets("similarity"):
        ratings = load_similarity(entry.name)
        sizes[entry.name] = len(ratings)
        kept = [row for row, pair in enumerate(ratings.pairs) if pair[0] in space and pair[1] in space]
        cosines = [space.cosine(*ratings.pairs[row]) for row in kept]
        assert spearmanr(cosines, ratings.scores[kept]).statistic > 0.4, entry.name
        assert not ratings.scores.flags.writeable
    assert sizes == {
        "men": 2997,
        "mturk-771": 770,
        "rare-words": 2034,
        "rg-65": 65,
        "simlex-999": 999,
        "wordsim-353": 353,
    }


def test_every_lexicon_of_the_registry_has_a_reader(data_folder: Path) -> None:
    sizes = {entry.name: len(load_lexicon(entry.name)) for entry in list_datasets("lexicon")}
    assert min(sizes.values()) >= 40
    assert (sizes["bwk"], sizes["fullstrength"]) == (39_954, 1347)
    union = load_lexicon("whm")
    assert len(union) > max(sizes["mpqa"], sizes["nrc"], sizes["hu-liu"])


def test_the_names_that_load_and_the_names_that_are_listed_are_the_same() -> None:
    listed = {entry.name: entry for entry in list_datasets("lexicon")}
    assert {name for name, entry in listed.items() if not entry.parts} == set(_READERS)
    assert {part for entry in listed.values() for part in entry.parts} <= set(_READERS)
    assert {line.lexicon for line in LINES if line.lexicon} <= set(listed)


def test_a_union_is_at_hand_where_all_its_parts_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data_folder: Path
) -> None:
    assert is_at_hand("whm")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("DENSRAY_DATA", str(tmp_path))
    assert not is_at_hand("whm")
    assert is_at_hand("hu-liu")
    with pytest.raises(DataError, match="'mpqa' is not on this machine"):
        load_lexicon("whm")
    for ask in (path_of, fetch):
        with pytest.raises(DataError, match="the union of 'mpqa' and 'hu-liu' and 'nrc' and has no file of its own"):
            ask("whm")


def test_files_placed_by_hand_have_the_checksums_of_the_registry(data_folder: Path) -> None:
    checked = 0
    for entry in (*list_datasets("lexicon"), *list_datasets("similarity"), find_dataset("msr")):
        for path, checksum in entry.checksums.items():
            if not entry.embedded:
                content = (data_folder / path).read_bytes()
                assert f"sha256:{hashlib.sha256(content).hexdigest()}" == checksum
                assert len(content) == next(file.size for file in entry.files if file.path == path)
                checked += 1
    assert checked == 15
    assert path_of("bats").is_dir()


@pytest.mark.parametrize("entry", list_datasets(), ids=lambda entry: entry.name)
def test_every_entry_says_where_it_comes_from(entry: DataSet) -> None:
    assert all((entry.title, entry.licence, entry.citation))
    assert entry.source.startswith(("https://", "http://"))
    assert bool(entry.files) != bool(entry.parts)
    for file in entry.files:
        assert file.url is None or file.url.startswith(("https://", "http://"))
        assert file.checksum is None or file.checksum.split(":")[0] in ("sha256", "sha1", "md5")
        assert file.size is None or file.size > 0


def row_of(entry: DataSet) -> str:
    """Return the line of ``docs/data.md`` about a data set."""
    size = "unknown" if entry.size is None else f"{entry.size / 1e6:,.2f} MB"
    known = sorted({checksum.split(":")[0] for checksum in entry.checksums.values()})
    checked = "see its parts" if entry.parts else ", ".join(known) or "none known"
    size = "see its parts" if entry.parts else size
    where = "bundled" if entry.embedded else "fetch" if entry.downloadable else "by hand"
    cells = [f"`{entry.name}`", entry.kind, entry.title, where, size, checked]
    return f"| {' | '.join(cells)} | {entry.licence} | [page]({entry.source}) | {entry.citation} |"


def test_the_documentation_lists_every_data_set_as_the_registry_does() -> None:
    page = (ROOT / "docs" / "data.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert rows == [row_of(entry) for entry in list_datasets()]


def test_loading_the_embedded_space_imports_no_network_library() -> None:
    code = (
        "import sys; from densray import load_space; load_space('googlenews-26k', limit=3);"
        "print([name for name in ('requests', 'pooch', 'polars') if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_find_dataset_returns_the_entry_asked_for() -> None:
    assert find_dataset("msr").title.startswith("MSR")
