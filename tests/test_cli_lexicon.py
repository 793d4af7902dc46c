"""``evaluate lexicon|methods|stability`` and ``reproduce table1|figure1``: thin twins of the tasks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from commands import run_for_json
from densray import WordSpace
from densray.axes._comparison import MethodTrial, compare_methods
from densray.axes._protocol import Protocol
from densray.cli.entry import run
from densray.cli.reproduce import _readable
from densray.datasets import load_lexicon, load_space
from densray.errors import DataError
from densray.formats import write_space
from densray.paper import compare, published
from densray.paper._tables import LINES, table1
from planted import planted_space


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a space and its lexicon."""
    folder = tmp_path_factory.mktemp("lexicons")
    space, lexicon = planted_space(strength=2.0)
    write_space(space, folder / "space.txt")
    (folder / "lexicon.tsv").write_text("".join(f"{word}\t{label:g}\n" for word, label in lexicon.items()))
    (folder / "half.tsv").write_text("".join(f"{word}\t{label:g}\n" for word, label in list(lexicon.items())[:80]))
    (folder / "upper.tsv").write_text("".join(f"{word.upper()}\t{label:g}\n" for word, label in lexicon.items()))
    return folder


def _refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    assert run([*map(str, arguments)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


def test_lexicon_measures_every_method_asked_for(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_for_json(
        capsys, "evaluate", "lexicon", files / "space.txt", files / "lexicon.tsv", "--methods", "ridge,densray-unit"
    )
    assert [score["method"] for score in found["scores"]] == ["ridge", "densray-unit"]
    assert all(score["tau_low"] < score["tau"] < score["tau_high"] for score in found["scores"])
    assert (found["n_training"], found["n_test"], found["coverage"]) == (150, 50, 1.0)


def test_methods_are_compared_as_the_library_does(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = files / "space.txt", files / "lexicon.tsv"
    options = ["--methods", "ridge,mean-difference", "--folds", "4", "--n-words", "3", "--random-state", "5"]
    found = run_for_json(capsys, "evaluate", "methods", *paths, *options)
    expected = compare_methods(
        load_space(paths[0]), load_lexicon(paths[1]), methods=["ridge", "mean-difference"], folds=4, random_state=5
    )
    assert [trial["tau"] for trial in found["trials"]] == [
        trial.tau for trial in expected.trials if isinstance(trial, MethodTrial)
    ]
    assert found["angles"] == expected.angles
    assert found["disagreements"] == expected.disagreements[:3]
    said = _refusal(capsys, "evaluate", "methods", *paths, "--methods", "densrey")
    assert "method 'densrey' is unknown" in said


def test_lexicon_takes_options_of_the_protocol(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--methods", "ridge", "--test-size", "0.5", "--random-state", "3", "--any-case"]
    found = run_for_json(capsys, "evaluate", "lexicon", files / "space.txt", files / "upper.tsv", *options)
    assert (found["n_test"], found["protocol"]["seed"]) == (100, 3)


def test_several_lexicons_give_the_macro_mean(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lexicons = [files / "lexicon.tsv", files / "half.tsv"]
    found = run_for_json(capsys, "evaluate", "lexicon", files / "space.txt", *lexicons, "--methods", "ridge")
    taus = [result["scores"][0]["tau"] for result in found["results"]]
    assert found["macro_means"]["ridge"] == pytest.approx(np.mean(taus))


@pytest.mark.filterwarnings("default")  # a warning becomes a line on stderr, not an error
def test_a_test_lexicon_inside_training_is_said_on_stderr(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["evaluate", "lexicon", files / "space.txt", files / "lexicon.tsv", "--test", files / "half.tsv"]
    assert run([*map(str, arguments), "--methods", "ridge"]) == 0
    said = capsys.readouterr()
    assert "80 of 80 test words are in the training lexicon" in said.err
    assert "80 test words were in the training lexicon" in said.out


def test_bad_input_is_one_line(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space, lexicon = files / "space.txt", files / "lexicon.tsv"
    assert "Did you mean 'ridge'" in _refusal(capsys, "evaluate", "lexicon", space, lexicon, "--methods", "rigde")
    assert "it takes one" in _refusal(capsys, "evaluate", "lexicon", space, lexicon, lexicon, "--test", lexicon)
    assert "--any-case" in _refusal(capsys, "evaluate", "lexicon", space, files / "upper.tsv")
    assert "whole numbers" in _refusal(capsys, "evaluate", "stability", space, lexicon, "--sizes", "many")
    said = "--sizes 8,999 is given; a sample has from 2 to 150 words"
    assert said in _refusal(capsys, "evaluate", "stability", space, lexicon, "--sizes", "8,999")
    assert "NAME=SPACE" in _refusal(capsys, "reproduce", "table1", "--space", "fr")


def test_stability_writes_its_figure(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "figure.svg"
    options = ["--sizes", "16,64", "--n-samples", "3", "--methods", "ridge,svm", "-o", target]
    found = run_for_json(capsys, "evaluate", "stability", files / "space.txt", files / "lexicon.tsv", *options)
    assert [(score["method"], score["size"]) for score in found["scores"]] == [
        ("ridge", 16),
        ("ridge", 64),
        ("svm", 16),
        ("svm", 64),
    ]
    assert "<svg" in target.read_text()
    refused = _refusal(capsys, "evaluate", "stability", files / "space.txt", files / "lexicon.tsv", *options)
    assert "exists already" in refused


def test_figure1_prints_a_list_of_rows(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--space", files / "space.txt", "--lexicon", files / "lexicon.tsv", "--sizes", "32", "--n-samples", "3"]
    rows = run_for_json(capsys, "reproduce", "figure1", *options)
    assert [row["method"] for row in rows] == ["densray-unit", "densifier", "svm", "ridge"]
    assert all(row["size"] == 32 and row["std"] > 0 for row in rows)


def test_the_lines_of_table1_are_the_published_ones() -> None:
    keys = ("line", "task", "embedding", "train", "test")
    paper = [tuple(row[key] for key in keys) for row in published("table1") if row["line"] < 9]
    assert list(dict.fromkeys(paper)) == [tuple(getattr(line, key) for key in keys) for line in LINES]


def test_table1_says_what_is_missing_and_where_to_get_it(capsys: pytest.CaptureFixture[str]) -> None:
    rows = table1({})
    assert len(rows) == 9 * 4
    assert all(row["ours"] is None for row in rows)
    french = next(row for row in rows if row["line"] == 4)
    assert "FR=FILE" in french["note"]
    assert "fasttext-fr" in french["note"]
    with pytest.raises(DataError, match="'IT' is not an embedding of table 1"):
        table1({"IT": planted_space()[0]})


def test_a_table1_of_no_lines_is_refused_with_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DENSRAY_DATA", str(tmp_path))
    said = _refusal(capsys, "reproduce", "table1", "--limit", "500")
    assert "no line of table 1 can be computed" in said
    assert "densray data fetch bwk" in said


def test_table1_puts_a_users_french_space_beside_the_paper(data_folder: Path) -> None:
    lexicon = load_lexicon("feel")
    accented = [word for word in lexicon.words if not word.isascii()][:300]
    vectors = np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32)
    vectors[:, 0] += [2 * lexicon[word] for word in accented]
    with pytest.warns(UserWarning, match=f"300 of {len(lexicon)} lexicon words are in 'tiny'"):
        rows = table1({"FR": WordSpace(accented, vectors, name="tiny")}, methods=["densray-unit"])
    (french,) = [row for row in compare(rows, published("table1")) if row["line"] == 4]
    assert french["paper"] == 0.471
    assert french["n_training"] + french["n_test"] == 300
    assert french["ours"] > 0.4


def test_table1_says_under_the_table_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DENSRAY_DATA", str(tmp_path))  # no lexicon but Hu & Liu
    rows = table1({"EN": planted_space()[0]})
    said = _readable([*rows[:-1], rows[-1] | {"ours": 0.5}]).notes
    assert any(line.startswith("Line 6, 7: not computed: needs --space 'EN(t)=FILE'") for line in said)
    assert any(line.startswith("Line 8: not computed: The data set 'bwk' is not on this machine.") for line in said)
    assert "Line 9: not computed: lines 1, 2, 3, 4, 5, 6, 7, 8 are missing." in said
    assert not any(".." in line.replace("...", "") for line in said)


@pytest.mark.slow
def test_table1_on_the_slice_is_near_the_paper(data_folder: Path) -> None:
    rows = table1(
        {"EN": load_space("googlenews-26k")}, methods=["densray-unit", "svm"], protocol=Protocol(n_resamples=20)
    )
    ours = {(row["line"], row["method"]): row["ours"] for row in rows}
    paper = {(row["line"], row["method"]): row["paper"] for row in published("table1")}
    for cell in ((5, "densray"), (5, "svm"), (8, "densray"), (8, "svm")):
        assert ours[cell] == pytest.approx(paper[cell], abs=0.045)  # the slice is not the paper's vocabulary
    assert ours[8, "svm"] > ours[8, "densray"] + 0.02  # the order, and the size of the gap, are the paper's
    assert all("not the paper's vocabulary" in row["note"] for row in rows if row["line"] in (5, 8))
    assert all(row["ours"] is None for row in rows if row["line"] not in (5, 8))


@pytest.mark.parametrize("command", ["lexicon", "stability"])
def test_columns_of_a_word_list_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    space, lexicon = planted_space(strength=2.0)
    write_space(space, tmp_path / "space.txt")
    entries = "".join(f"x,{word},{label:g}\n" for word, label in lexicon.items())
    (tmp_path / "wide.csv").write_text(f"Quelle,Begriff,Wertung\n{entries}")
    arguments = ["evaluate", command, str(tmp_path / "space.txt"), str(tmp_path / "wide.csv"), "--methods", "ridge"]
    arguments += ["--sizes", "50", "--n-samples", "2"] if command == "stability" else []
    assert run(arguments) == 2
    assert "--word-column, --label-column" in capsys.readouterr().err
    assert run([*arguments, "--word-column", "Begriff", "--label-column", "2", "--quiet"]) == 0
    assert "ridge" in capsys.readouterr().out


def test_splits_can_be_repeated_and_the_training_limit_lifted(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space, lexicon = files / "space.txt", files / "lexicon.tsv"
    once = ["evaluate", "lexicon", space, lexicon, "--methods", "ridge"]
    found = run_for_json(capsys, *once, "--repeats", "3")
    assert [row["method"] for row in found["splits"]] == ["ridge"]
    assert len(found["results"]) == 3
    assert found["results"][0]["scores"][0]["tau"] == run_for_json(capsys, *once)["scores"][0]["tau"]
    near, all_words = (run_for_json(capsys, *once, "--training-limit", limit) for limit in ("300", "0"))
    assert near["n_training"] < all_words["n_training"]
    assert near["coverage"] == all_words["coverage"]
    assert all_words["protocol"]["training_limit"] is None
    assert "without --test" in _refusal(capsys, *once, "--repeats", "2", "--test", lexicon)
