"""Files at the command line: ``convert``, ``rotate``, ``erase``, ``info``, ``neighbors`` and ``data``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from densray import Axis, DensRay, Erasure, Lexicon, LinearRotation, MeanDifference, WordSpace, load_space
from densray.cli.entry import run
from densray.datasets import list_datasets, path_of
from densray.debiasing import evaluate_removal, load_concept
from densray.formats import read_space, write_space
from planted import planted_space

RNG = np.random.default_rng(1)
SPACE = WordSpace([f"word{n}" for n in range(20)], RNG.normal(size=(20, 5)).astype(np.float32), name="tiny")
ROTATION = DensRay().fit(SPACE.vectors, np.repeat([1, -1], [8, 12]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_space(SPACE, tmp_path / "space.txt")
    Axis.of(ROTATION, space=SPACE).save(tmp_path / "axis.safetensors")
    (tmp_path / "there.bin").write_bytes(b"old")
    (tmp_path / "empty.txt").write_bytes(b"")
    return tmp_path


def arguments(folder: Path, command: str, output: str, *more: str) -> list[str]:
    axis = [] if command == "convert" else [str(folder / "axis.safetensors")]
    return [command, str(folder / "space.txt"), *axis, "-o", str(folder / output), *more]


@pytest.mark.parametrize("command", ["convert", "rotate", "erase"])
def test_a_space_goes_in_and_a_space_comes_out(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments(folder, command, "out.bin", "--json")) == 0
    printed = capsys.readouterr()
    told: dict[str, object] = {"path": str(folder / "out.bin"), "words": 20, "width": 5}
    answer = json.loads(printed.out)
    if command == "erase":
        told |= {"words_missing": [], "words_changed": 20, "words_kept": 0, "remover": "DensRay", "axes": 1}
        assert answer["remains"]["probes"] == []
        assert "needs the labelled rows" in answer["remains"]["reason"]
    assert {key: answer[key] for key in told} == told
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
    "no such axis": (["erase", "space.txt", "nowhere.safetensors", "-o", "out.bin"], "does not exist"),
    "another space": (["rotate", "googlenews-26k", "axis.safetensors", "-o", "out.bin"], "width 5"),
    "too many axes": (["erase", "space.txt", "axis.safetensors", "-o", "out.bin", "--n-axes", "9"], "--n-axes 9"),
    "no axes": (["erase", "space.txt", "axis.safetensors", "-o", "out.bin", "--n-axes", "0"], "--n-axes"),
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
    rows = lexicon.align(space)
    X, y = rows.X, rows.y
    Axis.of(DensRay().fit(X, y), space=space).save("axis.safetensors")
    erase = ["erase", "space.txt", "axis.safetensors", "-o", "out.txt", "--n-axes"]
    assert run([*erase, "3"]) == 2
    assert "leaves only zeros" in capsys.readouterr().err
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


def test_info_compares_the_checksum_of_a_native_file_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_space(SPACE, tmp_path / "space.densray")
    assert run(["info", str(path), "--verify", "--json"]) == 0
    assert "SHA-256" in json.loads(capsys.readouterr().out)["verified"]
    assert run(["info", "googlenews-26k", "--verify"]) == 0
    data = bytearray(path.read_bytes())
    data[data.index(SPACE.vectors[3].tobytes()) + 1] ^= 1  # another number, and a finite one
    path.write_bytes(data)
    capsys.readouterr()
    assert run(["info", str(path)]) == 0
    assert run(["info", str(path), "--verify"]) == 2
    assert "does not match its SHA-256" in capsys.readouterr().err


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


@pytest.mark.slow
@pytest.mark.filterwarnings("always")  # one names the word to keep that is missing
def test_erase_takes_labelled_words_and_says_what_is_left(
    labelled: tuple[Path, WordSpace], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, space = labelled
    monkeypatch.chdir(folder)
    command = ["erase", "space.densray", "words.tsv", "-o", "out.densray"]
    assert run([*command, "--keep", "w3,none", "--json"]) == 0
    printed = capsys.readouterr()
    assert len(printed.err.splitlines()) == 1
    assert "keep: 1 word is not in" in printed.err
    told = json.loads(printed.out)
    assert (told["words_changed"], told["words_kept"], told["words_missing"]) == (399, 1, ["none"])
    assert (told["remover"], told["axes"]) == ("leace", 1)
    linear, rbf, _ = told["remains"]["probes"]
    assert linear["before"] > 0.95
    assert linear["after"] < 0.65
    assert all(0.0 <= probe["low"] <= probe["after"] <= probe["high"] <= 1.0 for probe in (linear, rbf))
    assert told["provenance"]["seed"] == 0
    assert "densray" in told["provenance"]["versions"]
    read = {each["role"]: each for each in told["provenance"]["inputs"]}
    assert (read["space"]["digest"], read["space"]["size"]) == (
        space.fingerprint(),
        len(space),
    )  # not its labelled words
    expected = Erasure.fit(Lexicon.read("words.tsv").align(space)).apply(space, keep=["w3"])
    assert np.allclose(read_space("out.densray").vectors, expected.vectors, atol=1e-6)
    assert run([*command, "--overwrite"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("400 changed, 0 kept as they are")
    assert lines[1] == "leace: 1 axis removed"
    assert "idden from linear models" in lines[2]
    assert "gone for linear models (AUC 0." in " ".join(lines[3:])


@pytest.mark.slow
def test_a_saved_erasure_says_that_it_does_not_keep_words(
    labelled: tuple[Path, WordSpace], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = labelled
    monkeypatch.chdir(folder)
    command = ["erase", "space.densray", "words.tsv", "-r", "mean-difference", "-o", "out.densray", "--keep", "w3"]
    assert run([*command, "--save-erasure", "map.safetensors"]) == 0
    assert "does not store the words to keep or to equalise" in capsys.readouterr().out
    assert run(["erase", "space.densray", "map.safetensors", "-o", "again.densray"]) == 0
    assert "What remains was not measured" in capsys.readouterr().out


@pytest.mark.slow
def test_erase_measures_the_same_as_the_library(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["erase", "googlenews-26k", "gender", "-r", "mean-difference", "-o", "out.densray", "--limit", "12000"]
    assert run([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["remains"]
    rows = load_concept("gender").lexicon.align(load_space("googlenews-26k", limit=12000))
    assert rows.forms is not None  # some words are held out together, which depends on the whole space
    remains = Erasure.fit(rows, "mean-difference").remains(models=["linear"])
    assert told["probes"][0] == pytest.approx(remains["linear"].to_dict())


@pytest.mark.slow
def test_erase_chooses_the_number_of_covariance_directions_and_shows_the_curve(
    labelled: tuple[Path, WordSpace], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = labelled
    monkeypatch.chdir(folder)
    assert run(["erase", "space.densray", "words.tsv", "-r", "covariance-difference", "-o", "c.densray", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    choice = told["choice"]
    assert told["remover"] == f"covariance-difference:{choice['n_axes']}"
    assert told["axes"] == choice["n_axes"] + 1  # and the mean difference
    assert [point["n_axes"] for point in choice["curve"]][:2] == [0, 1]
    assert all(point["low"] <= point["auc"] <= point["high"] for point in choice["curve"])
    assert choice["summary"] in told["remarks"]


def test_a_saved_erasure_is_applied_as_it_was_learned(
    labelled: tuple[Path, WordSpace], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = labelled
    monkeypatch.chdir(folder)
    learn = ["erase", "space.densray", "words.tsv", "-r", "leace", "-o", "first.densray"]
    assert run([*learn, "--save-erasure", "leace.safetensors", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert run(["erase", "space.densray", "leace.safetensors", "-o", "second.densray", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert np.array_equal(read_space("first.densray").vectors, read_space("second.densray").vectors)
    for key in ("remover", "axes", "remains", "remarks", "provenance"):
        assert second[key] == first[key]
    for wrong, said in (
        (["-r", "ridge"], "--remover was given; it belongs to labelled words"),
        (["--n-axes", "2"], "belongs to a saved axis"),
        (["--header"], "is learned already"),
        (["--random-state", "3"], "is learned already"),
        (["--cluster", "local"], "belongs to a table of documents"),
    ):
        assert run(["erase", "space.densray", "leace.safetensors", *wrong, "-o", "third.densray"]) == 2
        assert said in capsys.readouterr().err
    Path("first.densray").unlink()
    assert run([*learn, "--save-erasure", "leace.npz"]) == 2
    assert not Path("first.densray").exists()  # refused before any work
    assert not Path("third.densray").exists()


@pytest.mark.slow
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
    rows = Lexicon.read("words.tsv").align(space)
    X, y = rows.X, rows.y
    Axis.of(LinearRotation("ridge").fit(X, y), space=space).save("ridge.safetensors")
    for given in (["ridge.safetensors"], ["words.tsv", "-r", "ridge"]):
        assert run(["erase", "space.densray", *given, "-o", "out.densray", "--overwrite", "--json"]) == 0
        printed = capsys.readouterr()
        assert "densray: warning: 'ridge' finds the axis that predicts the labels best" in printed.err
        assert "Erase with leace" in json.loads(printed.out)["remarks"][-1]
    for wrong, line in (
        (["ridge.safetensors", "-r", "leace"], "labelled words"),
        (["words.tsv", "--n-axes", "2"], "unit:2"),
    ):
        assert run(["erase", "space.densray", *wrong, "-o", "other.densray"]) == 2
        assert line in capsys.readouterr().err
    assert not Path("other.densray").exists()


@pytest.mark.slow
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
    rows = Lexicon.read("words.tsv").align(labelled[1])
    X, y = rows.X, rows.y
    Axis.of(MeanDifference(1).fit(X, y)).save("axis.safetensors")
    for wrong, said in (
        ([], "give a LEXICON"),
        (lists[:2], "--high was given without --low"),
        (["words.tsv", *lists], "'words.tsv' was given together with --high and --low"),
        (["axis.safetensors", *lists], "'axis.safetensors' was given together with --high and --low"),
        (
            ["axis.safetensors", "--header"],
            "--header was given; it belongs to labelled words or documents, and axis.safetensors is learned already",
        ),
        (["gender", "--label-column", "2"], "--label-column given with the concept gender"),
    ):
        assert run(["erase", "space.densray", *wrong, "-o", "none.densray"]) == 2, wrong
        assert said in capsys.readouterr().err
    assert not Path("none.densray").exists()


# ``densray data …``: what there is, where it lies, how to get it.


def test_list_names_every_data_set_with_source_and_licence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == [entry.name for entry in list_datasets()]
    keys = {"name", "kind", "title", "source", "licence", "citation", "size", "checksums", "checked_by", "embedded",
            "place"}  # fmt: skip
    assert all(set(row) == keys for row in rows)
    embedded = next(row for row in rows if row["name"] == "googlenews-26k")
    assert embedded["place"] == "in the package"
    assert embedded["size"] > 1e6


def test_list_shows_one_kind_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "list", "--kind", "lexicon"]) == 0
    printed = capsys.readouterr().out
    assert "hu-liu" in printed
    assert "googlenews" not in printed


def test_list_fits_eighty_columns_with_what_is_at_hand_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("densray.cli.terminal._PIPE_WIDTH", 80)
    assert run(["data", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith(" name ") for line in lines) == 1  # one table, not parts of one
    text = "\n".join(lines)
    assert text.index(" at hand") < text.index("googlenews-26k") < text.index("data fetch NAME")
    assert "Apache" not in text
    assert run(["data", "list", "--details"]) == 0
    assert "Apache" in capsys.readouterr().out


def test_path_and_fetch_say_where_a_set_lies(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("path", "fetch"):
        assert run(["data", command, "google"]) == 0
        assert capsys.readouterr().out == f"{path_of('google')}\n"
        assert run(["data", command, "google", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"name": "google", "path": str(path_of("google"))}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["data", "path", "bast"], "Did you mean 'bats'"),
        (["data", "fetch", "gogle"], "Did you mean 'google'"),
        (["data", "list", "--kind", "lexica"], "Did you mean 'lexicon'"),
        (["data", "path", "mpqa"], "not on this machine"),
        (["data", "fetch", "mpqa"], "mpqa"),
        (["data"], "Missing command"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    line: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DENSRAY_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert line in printed.err
    assert not list(tmp_path.rglob("*.*"))
