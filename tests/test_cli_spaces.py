"""``densray convert``, ``rotate`` and ``erase``: files in, whole files out, or one line and nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from densray import DensRay, Lexicon, LinearRotation, MeanDifference, WordSpace, load_space, save_rotation
from densray.cli.entry import run
from densray.debiasing import evaluate_removal, load_concept, plan_removal
from densray.formats import read_space, write_space
from planted import planted_space

RNG = np.random.default_rng(1)
SPACE = WordSpace([f"word{n}" for n in range(20)], RNG.normal(size=(20, 5)).astype(np.float32), name="tiny")
ROTATION = DensRay().fit(SPACE.vectors, np.repeat([1, -1], [8, 12]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_space(SPACE, tmp_path / "space.txt")
    save_rotation(ROTATION, tmp_path / "axis.npz", space=SPACE)
    (tmp_path / "there.bin").write_bytes(b"old")
    (tmp_path / "empty.txt").write_bytes(b"")
    return tmp_path


def arguments(folder: Path, command: str, output: str, *more: str) -> list[str]:
    axis = [] if command == "convert" else [str(folder / "axis.npz")]
    return [command, str(folder / "space.txt"), *axis, "-o", str(folder / output), *more]


@pytest.mark.parametrize("command", ["convert", "rotate", "erase"])
def test_a_space_goes_in_and_a_space_comes_out(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments(folder, command, "out.bin", "--json")) == 0
    printed = capsys.readouterr()
    told: dict[str, object] = {"path": str(folder / "out.bin"), "words": 20, "width": 5}
    if command == "erase":
        told |= {"words_missing": [], "words_changed": 20, "words_kept": 0, "remover": "DensRay", "axes": 1}
        told |= {
            "refit": None,
            "remarks": ["What is left was not measured: give the labelled words in place of the axis."],
        }
    assert json.loads(printed.out) == told
    assert printed.err == ""
    wanted = {"convert": SPACE, "rotate": SPACE.rotated(ROTATION), "erase": SPACE.erased(ROTATION)}[command]
    written = read_space(folder / "out.bin")
    assert list(written.words) == list(SPACE.words)
    assert np.allclose(written.vectors, wanted.vectors, atol=1e-5)


def test_without_json_a_line_says_what_was_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments(folder, "convert", "out.densray", "--limit", "7")) == 0
    assert capsys.readouterr().out == f"{folder / 'out.densray'}: 7 words, 5 dimensions\n"
    assert run(arguments(folder, "convert", "other.densray", "--quiet")) == 0
    assert capsys.readouterr().out == ""


def test_erase_keeps_words_and_removes_several_axes(folder: Path) -> None:
    assert run(arguments(folder, "erase", "out.bin", "--n-axes", "2", "--keep", "word0,word1")) == 0
    written = read_space(folder / "out.bin")
    assert np.allclose(written[["word0", "word1"]], SPACE[["word0", "word1"]], atol=1e-6)
    assert np.abs(written.vectors[2:] @ ROTATION.components_[:2].T).max() < 1e-6


def test_erase_takes_kept_words_from_a_file_and_a_share_of_the_concept(folder: Path) -> None:
    (folder / "kept.txt").write_text("word0\nword1\n", "utf-8")
    options = ("--keep", str(folder / "kept.txt"), "--strength", "0.25")
    assert run(arguments(folder, "erase", "out.bin", *options)) == 0
    written = read_space(folder / "out.bin")
    assert np.array_equal(written[["word0", "word1"]], SPACE[["word0", "word1"]])
    axis = ROTATION.components_[0]
    assert np.allclose(written.vectors[2:] @ axis, 0.75 * (SPACE.vectors[2:] @ axis), atol=1e-5)


def test_an_existing_file_is_replaced_when_asked(folder: Path) -> None:
    assert run(arguments(folder, "convert", "there.bin", "--overwrite")) == 0
    assert len(read_space(folder / "there.bin")) == 20


BAD = {
    "no such folder": (["convert", "space.txt", "-o", "nowhere/out.bin"], "does not exist"),
    "file exists": (["convert", "space.txt", "-o", "there.bin"], "--overwrite"),
    "no format": (["convert", "space.txt", "-o", "out.foo"], "names no format"),
    "unknown format": (["convert", "space.txt", "-o", "out.bin", "--format", "parket"], "parquet"),
    "no such space": (["convert", "googlenews-26", "-o", "out.bin"], "Did you mean 'googlenews-26k'"),
    "empty space": (["convert", "empty.txt", "-o", "out.bin"], "empty.txt"),
    "not an axis": (["rotate", "space.txt", "space.txt", "-o", "out.bin"], "space.txt"),
    "no such axis": (["erase", "space.txt", "nowhere.npz", "-o", "out.bin"], "does not exist"),
    "another space": (["rotate", "googlenews-26k", "axis.npz", "-o", "out.bin"], "width 5"),
    "too many axes": (["erase", "space.txt", "axis.npz", "-o", "out.bin", "--n-axes", "9"], "--n-axes 9"),
    "no axes": (["erase", "space.txt", "axis.npz", "-o", "out.bin", "--n-axes", "0"], "--n-axes"),
    "no output": (["convert", "space.txt"], "output"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_leaves_no_file(
    case: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    words, line = BAD[case]
    assert run(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert line in printed.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_interrupted_write_leaves_the_old_file_whole(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("densray.streaming._Steps.__call__", interrupt)
    before = sorted(path.name for path in folder.iterdir())
    assert run(arguments(folder, "convert", "there.bin", "--overwrite")) == 130
    assert capsys.readouterr().err == "densray: interrupted\n"
    assert (folder / "there.bin").read_bytes() == b"old"
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("source", ["googlenews-26k", "space.txt"])
def test_a_written_space_has_the_name_of_its_file(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_space(WordSpace(["a", "b"], np.eye(2), name="space"), "space.txt")
    assert run(["convert", source, "-o", "mine.densray", "--limit", "2", "--quiet"]) == 0
    assert read_space("mine.densray").name == "mine"


def test_erasing_every_axis_is_refused_and_a_share_of_all_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    space, lexicon = planted_space(width=3)
    write_space(space, "space.txt")
    X, y, *_ = lexicon.align(space)
    save_rotation(DensRay().fit(X, y), "axis.npz", space=space)
    erase = ["erase", "space.txt", "axis.npz", "-o", "out.txt", "--n-axes"]
    assert run([*erase, "3"]) == 2
    assert "leaves vectors of zeros" in capsys.readouterr().err
    assert not Path("out.txt").exists()
    assert run([*erase, "3", "--strength", "0.5"]) == 0
    assert run([*erase, "2", "--overwrite"]) == 0


def test_info_says_what_a_file_holds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(folder / "space.txt"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["name"], found["words"], found["width"]) == ("space", 20, 5)
    assert found["first_words"] == list(SPACE.words[:10])
    assert found["longest"] == pytest.approx(float(SPACE.lengths.max()), rel=1e-4)
    assert (found["unit_length"], found["zero_vectors"], found["lower_case"]) == (False, 0, 1.0)
    assert run(["info", "googlenews-26k"]) == 0
    assert "26,423" in capsys.readouterr().out


def test_neighbors_are_those_of_the_library(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["neighbors", str(folder / "space.txt"), "word1", "word2", "--top", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["word"] for each in found] == ["word1", "word2"]
    for each in found:
        near = SPACE.neighbors(each["word"], k=3)
        assert [(one["word"], pytest.approx(one["cosine"], abs=1e-5)) for one in each["neighbors"]] == near
    assert run(["neighbors", str(folder / "space.txt"), "word1"]) == 0
    assert "cosine" in capsys.readouterr().out
    assert run(["neighbors", str(folder / "space.txt"), "Word1"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.fixture
def labelled(tmp_path: Path) -> tuple[Path, WordSpace]:
    """A folder with a space of 400 words, of which two classes differ along one dimension, and their labels."""
    random = np.random.default_rng(0)
    y = np.tile([1.0, -1.0], 200)
    X = random.normal(size=(400, 12)) + 0.5
    X[:, 0] += 2.0 * y
    space = WordSpace([f"w{i}" for i in range(400)], X.astype(np.float32), name="labelled")
    write_space(space, tmp_path / "space.densray")
    lines = "".join(f"w{i}\t{label:g}\n" for i, label in enumerate(y.tolist()))
    (tmp_path / "words.tsv").write_text(lines, "utf-8")
    return tmp_path, space


def test_erase_takes_labelled_words_and_says_what_is_left(
    labelled: tuple[Path, WordSpace], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, space = labelled
    monkeypatch.chdir(folder)
    command = ["erase", "space.densray", "words.tsv", "-o", "out.densray"]
    assert run([*command, "--keep", "w3,none", "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    told = json.loads(printed.out)
    assert (told["words_changed"], told["words_kept"], told["words_missing"]) == (399, 1, ["none"])
    assert (told["remover"], told["axes"]) == ("mean-difference", 1)
    assert told["refit"]["before"] > 0.95
    assert told["refit"]["after"] < 0.65
    plan = plan_removal(space, Lexicon.read("words.tsv"), keep=["w3"])
    assert np.allclose(read_space("out.densray").vectors, plan.removal(space.words, space.vectors), atol=1e-6)
    assert run([*command, "--overwrite"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "mean-difference: 1 axis removed; 400 words changed, 0 kept as they are"
    assert lines[2].startswith("Fitted again on words the removal has not seen, a ridge axis ranks them with AUC ")


@pytest.mark.parametrize("remover", ["leace", "densray-unit:2", "inlp", "hard", "double-hard"])
def test_erase_writes_what_evaluate_bias_measures(
    remover: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    google, concept = load_space("googlenews-26k", limit=3000), load_concept("gender")
    write_space(google, "space.densray")
    assert run(["erase", "space.densray", "gender", "-r", remover, "--normalize", "-o", "out.densray", "-q"]) == 0
    unit = google.normalized()
    expected = evaluate_removal(unit, concept, [remover]).removed_spaces[0]
    assert np.allclose(read_space("out.densray").vectors, expected.vectors, atol=1e-5)


@pytest.mark.filterwarnings("always::densray.errors.SignalWarning")
def test_erasing_an_axis_that_predicts_warns_and_says_what_to_do(
    labelled: tuple[Path, WordSpace], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, space = labelled
    monkeypatch.chdir(folder)
    X, y, *_ = Lexicon.read("words.tsv").align(space)
    save_rotation(LinearRotation("ridge").fit(X, y), "ridge.npz", space=space)
    for given in (["ridge.npz"], ["words.tsv", "-r", "ridge"]):
        assert run(["erase", "space.densray", *given, "-o", "out.densray", "--overwrite", "--json"]) == 0
        printed = capsys.readouterr()
        assert "densray: warning: 'ridge' finds the axis that predicts the labels best" in printed.err
        assert "Erase with mean-difference" in json.loads(printed.out)["remarks"][-1]
    for wrong, line in ((["ridge.npz", "-r", "leace"], "labelled words"), (["words.tsv", "--n-axes", "2"], "unit:2")):
        assert run(["erase", "space.densray", *wrong, "-o", "other.densray"]) == 2
        assert line in capsys.readouterr().err
    assert not Path("other.densray").exists()


def test_erase_takes_two_lists_and_the_columns_of_a_table(
    labelled: tuple[Path, WordSpace], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = labelled
    monkeypatch.chdir(folder)
    rows = [line.split("\t") for line in Path("words.tsv").read_text("utf-8").splitlines()]
    for name, side in (("high.txt", "1"), ("low.txt", "-1")):
        Path(name).write_text("".join(f"{word}\n" for word, label in rows if label == side), "utf-8")
    table = "".join(f"{number},{word},{label}\n" for number, (word, label) in enumerate(rows))
    Path("table.csv").write_text(f"id,name,rating\n{table}", "utf-8")
    Path("table.tsv").write_text(table.replace(",", "\t"), "utf-8")
    lists = ["--high", "high.txt", "--low", "low.txt"]
    for number, given in enumerate((
        ["words.tsv"],
        lists,
        ["table.csv", "--word-column", "name", "--label-column", "rating"],
        ["table.tsv", "--word-column", "1", "--label-column", "2", "--no-header"],
    )):  # fmt: skip
        assert run(["erase", "space.densray", *given, "-o", f"{number}.densray", "-q"]) == 0, given
        assert np.allclose(read_space(f"{number}.densray").vectors, read_space("0.densray").vectors, atol=1e-6)
    X, y, *_ = Lexicon.read("words.tsv").align(labelled[1])
    save_rotation(MeanDifference(1).fit(X, y), "axis.npz")
    for wrong, said in (
        ([], "no LEXICON was given"),
        (lists[:2], "--high was given without --low"),
        (["words.tsv", *lists], "'words.tsv' was given beside --high and --low"),
        (["axis.npz", *lists], "'axis.npz' was given beside --high and --low"),
        (["axis.npz", "--header"], "--header given with axis.npz, an axis that is found already"),
        (["gender", "--label-column", "2"], "--label-column given with the concept gender"),
    ):
        assert run(["erase", "space.densray", *wrong, "-o", "none.densray"]) == 2, wrong
        assert said in capsys.readouterr().err
    assert not Path("none.densray").exists()
