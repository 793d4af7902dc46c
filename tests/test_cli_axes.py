"""Axes at the command line: ``fit``, ``induce``, ``score``, ``diagnose``, ``evaluate lexicon``, ``reproduce``."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np
import polars
import pytest

from commands import paths_of, run_for_json
from densray import Axis, WordSpace, __version__
from densray.axes import MethodTrial, Protocol, compare_methods
from densray.cli.entry import run
from densray.cli.reproduce import _readable
from densray.datasets import load_lexicon, load_space
from densray.errors import DataError
from densray.formats import read_space, write_space
from densray.paper import compare, published, table1
from densray.paper._tables import LINES
from densray.report import show_number
from densray.rotations import METHODS, make_rotation
from planted import planted_space

QUICK = ["--n-resamples", "20", "--n-permutations", "19", "--quiet"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a space, its lexicon, and a space of other vectors."""
    folder = tmp_path_factory.mktemp("axes")
    space, lexicon = planted_space(strength=2.0)
    write_space(space, folder / "space.txt")
    write_space(planted_space(strength=2.0, seed=1)[0], folder / "other.txt")
    write_space(planted_space(width=5)[0], folder / "narrow.txt")
    entries = "".join(f"{word}\t{label:g}\n" for word, label in lexicon.items())
    (folder / "lexicon.tsv").write_text(entries + "Word9x\t1\nwordd12\t1\n")
    assert (
        run(["fit", *paths_of(folder, "space.txt", "lexicon.tsv"), "-o", str(folder / "axis.safetensors"), *QUICK]) == 0
    )
    return folder


def test_fit_saves_a_lossless_rotation_with_its_space_and_names(files: Path, tmp_path: Path) -> None:
    target = tmp_path / "named"
    ends = ["--label-names", "bad,good"]
    assert run(["fit", *paths_of(files, "space.txt", "lexicon.tsv"), "-o", str(target), *ends, *QUICK]) == 0
    space = read_space(files / "space.txt")
    rotation = Axis.load(tmp_path / "named.safetensors", space).rotation
    assert rotation.components_.shape == (12, 12)
    assert Axis.load(tmp_path / "named.safetensors").label_names == ("bad", "good")


def test_fit_reports_how_far_the_axis_can_be_trusted(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run_for_json(
        capsys, "fit", *paths_of(files, "space.txt", "lexicon.tsv"), "-o", str(tmp_path / "a.safetensors"), *QUICK
    )
    assert found["path"] == str(tmp_path / "a.safetensors")
    assert found["verdict"]["grade"] == "good"
    assert found["axes"][0]["auc"] > 0.9
    assert [miss["found"] for miss in found["near_misses"]] == ["word12"]
    assert run(["diagnose", *paths_of(files, "space.txt", "lexicon.tsv"), *QUICK]) == 0
    assert "Trust: good" in capsys.readouterr().out


def test_an_axis_file_induces_the_lexicon_its_word_list_does(files: Path, tmp_path: Path) -> None:
    """Errors and probabilities travel with the axis: one command or two, the same figures."""
    by_axis, by_words = tmp_path / "axis.csv", tmp_path / "words.csv"
    assert run(["induce", *paths_of(files, "space.txt", "axis.safetensors"), "-o", str(by_axis), "-q"]) == 0
    few = ["--n-resamples", "20", "-q"]  # as many as the axis has
    assert run(["induce", *paths_of(files, "space.txt", "lexicon.tsv"), "-o", str(by_words), *few]) == 0
    first, second = polars.read_csv(by_axis), polars.read_csv(by_words)
    assert first["word"].to_list() == second["word"].to_list()
    for column in ("score", "probability", "standard_error"):
        np.testing.assert_allclose(first[column], second[column], atol=1e-5)
    assert first["standard_error"].min() > 0


def test_a_bare_axis_is_saved_without_a_verdict(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = str(tmp_path / "bare.safetensors")
    found = run_for_json(
        capsys, "fit", *paths_of(files, "space.txt", "lexicon.tsv"), "-o", target, "--no-judge", "--n-components", "2"
    )
    left = {"words_missing": ["Word9x", "wordd12"], "words_set_aside": {}}
    assert found == {"path": target, "method": "ridge (auto)", "n_seeds": 200, **left}
    np.testing.assert_allclose(
        Axis.load(target).rotation.components_[0],
        Axis.load(files / "axis.safetensors").rotation.components_[0],
        atol=1e-12,
    )
    assert Axis.load(target).rotation.components_.shape == (2, 12)


def test_an_axis_saved_without_its_errors_gives_scores_alone(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = read_space(files / "space.txt")
    bare = make_rotation("mean-difference").fit(space.vectors[[0, 399]], [1, -1])
    Axis.of(bare, space=space).save(tmp_path / "bare.safetensors")
    target = tmp_path / "bare.parquet"
    found = run_for_json(
        capsys, "induce", str(files / "space.txt"), str(tmp_path / "bare.safetensors"), "-o", str(target)
    )
    assert found["n_words"] == 400
    assert polars.read_parquet(target).columns == ["word", "score", "rank", "percentile"]


def test_pairs_are_seeds_and_are_compared(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"word{row}\tword{399 - row}\n" for row in range(20)))
    found = run_for_json(capsys, "diagnose", str(files / "space.txt"), str(pairs), "--pairs", *QUICK)
    assert found["pairs"]["n_pairs"] == 20
    assert found["n_high"] == found["n_low"] == 20


def test_methods_lists_every_method(capsys: pytest.CaptureFixture[str]) -> None:
    assert [row["method"] for row in run_for_json(capsys, "methods")] == list(METHODS)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["induce", "other.txt", "axis.safetensors", "-o", "x.csv"], "another space"),
        (["induce", "narrow.txt", "axis.safetensors", "-o", "x.csv"], "width 12"),
        (["induce", "space.txt", "lexicon.tsv", "-o", "x.txt"], "is not supported"),
        (["induce", "space.txt", "axis.safetensors", "-o", "lexicon.tsv"], "exists already"),
        (["induce", "space.txt", "missing.safetensors", "-o", "x.csv"], "does not exist"),
        (["fit", "space.txt", "lexicon.tsv", "-o", "axis.safetensors"], "exists already"),
        (["fit", "space.txt", "lexicon.tsv", "-o", "x.safetensors", "--method", "rigde"], "Did you mean 'ridge'"),
        (["diagnose", "narrow.txt", "strange.tsv"], "0 of 2 lexicon words"),
        (["diagnose", "space.txt", "one.tsv"], "have the label 1"),
        (["diagnose", "space.txt", "few.tsv"], "at least two of each"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(files)
    Path("strange.tsv").write_text("gut\t1\nschlecht\t-1\n")
    Path("one.tsv").write_text("word1\t1\nword2\t1\n")
    Path("few.tsv").write_text("word1\t1\nword300\t-1\n")
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    assert run(arguments) == 2
    message = capsys.readouterr().err
    assert says in message
    assert message.count("\n") == 1
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before


def test_an_axis_may_be_used_on_another_space_on_demand(files: Path, tmp_path: Path) -> None:
    command = ["induce", *paths_of(files, "other.txt", "axis.safetensors"), "-o", str(tmp_path / "x.csv"), "-q"]
    assert run([*command, "--any-space"]) == 0


@pytest.mark.parametrize("command", ["fit", "diagnose", "induce"])
def test_words_left_out_and_the_method_behind_auto_are_reported(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    words = (files / "lexicon.tsv").read_text()
    lexicon = tmp_path / "untidy.tsv"
    lexicon.write_text(f"{words}word0\t1\nWord0\t1\nodd\t1\nodd\t-1\nplain\t0\n")
    quick = QUICK if command != "induce" else ["--n-resamples", "20"]
    output = [] if command == "diagnose" else ["-o", str(tmp_path / ("a.safetensors" if command == "fit" else "a.csv"))]
    arguments = [command, str(files / "space.txt"), str(lexicon), *output, *quick]
    found = run_for_json(capsys, *arguments, "--any-case", *(["--overwrite"] if output else []))
    provenance = found["provenance"]
    aside = {"conflicting": ["odd"], "neutral": ["plain"], "repeated": ["word0"], "same vector": ["Word0"]}
    assert provenance["words_set_aside"] == aside
    assert found["method"] == provenance["method"] == "ridge (auto)"
    loud = [argument for argument in arguments if argument != "--quiet"]
    assert run([*loud, *(["--overwrite"] if output else [])]) == 0
    shown = capsys.readouterr().out
    assert "labels conflict: 1: odd" in shown
    assert "neutral: 1: plain" in shown
    assert "ridge (auto)" in shown


def test_induce_says_how_far_the_axis_can_be_trusted(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ["-o", str(tmp_path / "a.csv"), "--overwrite"]
    by_words = run_for_json(capsys, "induce", *paths_of(files, "space.txt", "lexicon.tsv"), *output)
    by_axis = run_for_json(capsys, "induce", *paths_of(files, "space.txt", "axis.safetensors"), *output)
    fitted = run_for_json(capsys, "diagnose", *paths_of(files, "space.txt", "lexicon.tsv"), *QUICK)
    assert by_axis["verdict"] == fitted["verdict"]
    assert by_words["verdict"]["grade"] == fitted["verdict"]["grade"]
    assert "permutation p = 0.0" in by_words["verdict"]["line"]
    assert by_axis["even_odds"] == pytest.approx(by_words["even_odds"])


def test_the_names_of_the_ends_are_in_every_answer(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, ends = str(tmp_path / "named.safetensors"), ["--label-names", "foul,fair"]
    assert run(["fit", *paths_of(files, "space.txt", "lexicon.tsv"), "-o", target, *ends, *QUICK]) == 0
    assert re.search(r"\d+ fair, \d+ foul; 99% found", capsys.readouterr().out)
    assert run(["diagnose", *paths_of(files, "space.txt", "lexicon.tsv"), *ends, *QUICK]) == 0
    assert "word of “fair” scores above one of “foul”" in capsys.readouterr().out
    induce = ["induce", str(files / "space.txt")]
    assert run([*induce, target, "-o", str(tmp_path / "a.csv"), "-q"]) == 0
    by_axis = capsys.readouterr().out
    assert run([*induce, str(files / "lexicon.tsv"), "-o", str(tmp_path / "b.csv"), *ends, "-q"]) == 0
    for shown in (by_axis, capsys.readouterr().out):
        assert "Highest: fair" in shown
        assert "Lowest: foul" in shown


def test_quiet_prints_the_answer_alone(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["induce", *paths_of(files, "space.txt", "axis.safetensors"), "-o", str(tmp_path / "a.csv")]
    assert run(arguments) == 0
    loud = capsys.readouterr().out
    assert run([*arguments, "--overwrite", "--quiet"]) == 0
    quiet = capsys.readouterr().out
    assert loud.startswith(quiet.rstrip())
    assert f"densray {__version__}" in loud
    assert "Written: " in loud
    assert "rows used" not in quiet
    assert "words missing" not in loud  # no words were looked for


@pytest.mark.parametrize("part", ["limit", "subset", "text"])
def test_an_axis_is_taken_on_a_part_of_its_space(files: Path, tmp_path: Path, part: str) -> None:
    space = read_space(files / "space.txt")
    rows = {"limit": range(150), "subset": range(399, 0, -7), "text": range(400)}[part]
    smaller = space.subset([space.words[row] for row in rows])
    write_space(smaller.normalized() if part == "text" else smaller, tmp_path / "part.txt")
    axis = str(files / "axis.safetensors")
    assert run(["induce", str(tmp_path / "part.txt"), axis, "-o", str(tmp_path / "a.csv"), "-q"]) == 0
    assert run(["rotate", str(tmp_path / "part.txt"), axis, "-o", str(tmp_path / "b.txt"), "-q"]) == 0
    # the control: a space that was changed is another one
    assert run(["induce", str(tmp_path / "b.txt"), axis, "-o", str(tmp_path / "c.csv"), "-q"]) == 2


def test_columns_of_a_table_can_be_named(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = [line.split("\t") for line in (files / "lexicon.tsv").read_text().splitlines()]
    table = tmp_path / "table.csv"
    table.write_text("Nr,Begriff,Wertung,Quelle\n" + "".join(f"{n},{w},{y},x\n" for n, (w, y) in enumerate(entries)))
    plain = run_for_json(capsys, "diagnose", *paths_of(files, "space.txt", "lexicon.tsv"), *QUICK)
    arguments = ["diagnose", str(files / "space.txt"), str(table), *QUICK]
    named = run_for_json(capsys, *arguments, "--word-column", "Begriff", "--label-column", "Wertung")
    mixed = run_for_json(capsys, *arguments, "--word-column", "1", "--label-column", "Wertung")
    assert named["verdict"] == mixed["verdict"] == plain["verdict"]
    assert run(arguments) == 2
    message = capsys.readouterr().err
    assert "--word-column and --label-column" in message
    assert "word_column" not in message
    two = tmp_path / "two.csv"
    two.write_text("Begriff,Wertung\nword1,1\n")
    assert run(["diagnose", str(files / "space.txt"), str(two)]) == 2
    assert "If this line names the columns, say --header." in capsys.readouterr().err
    with two.open("a") as file:
        file.writelines(f"{word},{label}\n" for word, label in entries)
    assert run_for_json(capsys, "diagnose", str(files / "space.txt"), str(two), "--header", *QUICK)["n_seeds"] >= 100


@pytest.mark.parametrize("form", ["csv", "json"])
def test_labels_may_be_the_names_of_the_ends(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    entries = [line.split("\t") for line in (files / "lexicon.tsv").read_text().splitlines()]
    named = [(word, "Rich" if label == "1" else "poor") for word, label in entries]
    lexicon = tmp_path / f"named.{form}"
    if form == "csv":
        lexicon.write_text("".join(f"{word},{label}\n" for word, label in named))
    else:
        sides = {side: [word for word, label in named if label == side] for side in ("Rich", "poor")}
        lexicon.write_text(json.dumps(sides))
    plain = run_for_json(capsys, "diagnose", *paths_of(files, "space.txt", "lexicon.tsv"), *QUICK)
    arguments = ["diagnose", str(files / "space.txt"), str(lexicon), *QUICK]
    own = run_for_json(capsys, *arguments, "--label-names", "poor,rich")
    assert (own["n_high"], own["n_low"]) == (plain["n_high"], plain["n_low"])
    assert own["axes"][0]["auc"] == pytest.approx(plain["axes"][0]["auc"], abs=0.02)  # other folds, in another order
    assert run(arguments) == 2
    message = capsys.readouterr().err
    assert "--label-names low,high" in message
    assert "label_names" not in message


def test_an_axis_is_written_as_npz_or_not_at_all(tmp_path, capsys):
    assert run(["fit", "googlenews-26k", "gender", "--no-judge", "-o", str(tmp_path / "axis.csv")]) == 2
    assert "axes and erasures are saved as .safetensors" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["evaluate", "lexicon"], ["evaluate", "methods"]])
def test_evaluations_read_labels_that_are_the_names_of_the_ends(command, tmp_path, capsys):
    ends = {"strong": "strong powerful mighty king leader ruler boss chief", "weak": "weak frail feeble slave servant"}
    lines = [f"{word}\t{label}" for label, words in ends.items() for word in words.split()]
    path = tmp_path / "power.tsv"
    path.write_text("\n".join(lines))
    arguments = [*command, "googlenews-26k", str(path), "--methods", "ridge", "--json"]
    assert run([*arguments, "--label-names", "weak,strong"]) == 0
    assert '"ridge"' in capsys.readouterr().out
    assert run(arguments) == 2
    assert "--label-names low,high" in capsys.readouterr().err


def _lists(files: Path, folder: Path) -> list[str]:
    """The words of the lexicon as the two options of word lists: a file, and words between commas."""
    entries = [line.split("\t") for line in (files / "lexicon.tsv").read_text().splitlines()]
    high, low = ([word for word, label in entries if float(label) == side] for side in (1, -1))
    (folder / "high.txt").write_text("\n".join(high))
    return ["--high", str(folder / "high.txt"), "--low", ", ".join(low)]


def test_two_lists_replace_a_lexicon(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lists, space = _lists(files, tmp_path), str(files / "space.txt")
    by_file = run_for_json(capsys, "diagnose", space, str(files / "lexicon.tsv"), *QUICK)
    by_lists = run_for_json(capsys, "diagnose", space, *lists, *QUICK)
    assert (by_lists["n_seeds"], by_lists["n_high"]) == (by_file["n_seeds"], by_file["n_high"])
    assert by_lists["verdict"]["grade"] == by_file["verdict"]["grade"]
    assert by_lists["lexicon"].startswith("high – ")
    output = ["-o", str(tmp_path / "out.csv"), "--n-resamples", "20"]
    assert run_for_json(capsys, "induce", space, *lists, *output)["n_seeds"] == by_file["n_seeds"]
    assert (
        run_for_json(capsys, "fit", space, *lists, "-o", str(tmp_path / "a.safetensors"), "--no-judge")["n_seeds"]
        == 200
    )
    words = run_for_json(capsys, "score", space, "word1", "word399", *lists, "--n-resamples", "20")["words"]
    assert [row["word"] for row in words] == ["word1", "word399"]
    for command in ("lexicon", "methods"):
        assert run_for_json(capsys, "evaluate", command, space, *lists, "--methods", "ridge")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--high", "good"], "--high was given without --low"),
        (["lexicon.tsv", "--high", "a", "--low", "b"], "with --high and --low. Give a LEXICON or the two lists"),
        (["--high", "nowhere.txt", "--low", "b"], "--high nowhere.txt: there is no such file"),
        (["--high", "nowhere.xlsx", "--low", "b"], "--high nowhere.xlsx: there is no such file"),
        (["--high", " , ", "--low", "b"], "--high contains no word"),
        (["--high", "a", "--low", "b", "--word-column", "0"], "--word-column was given with --high and --low"),
        ([], "For a space of words, give a LEXICON, or --high and --low"),
        (["lexicon.tsv", "--label-names", "one"], "--label-names one has 1 names"),
    ],
)
def test_anything_but_two_lists_is_refused(
    files: Path, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    given = [str(files / each) if each == "lexicon.tsv" else each for each in options]
    assert run(["diagnose", str(files / "space.txt"), *given]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("command", [["diagnose"], ["induce", "-o", "x.csv"], ["fit", "-o", "x.safetensors"]])
def test_names_of_ends_in_the_order_of_the_lists_are_refused_with_the_right_order(
    command: list[str], files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reich.txt").write_text("word1\nword2\n")
    ends = ["--high", "reich.txt", "--low", "word399,word398"]
    assert run([command[0], str(files / "space.txt"), *command[1:], *ends, "--label-names", "reich,arm"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "densray: --label-names reich,arm is given, the low end first, and 'reich' is the file of the high end. Use "
        "--label-names arm,reich."
    )


def test_options_that_fit_an_axis_are_refused_with_a_saved_axis(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    axis, space = str(tmp_path / "axis.safetensors"), str(files / "space.txt")
    run_for_json(capsys, "fit", space, str(files / "lexicon.tsv"), "-o", axis, "--no-judge")
    for options in (["-m", "svm"], ["--pairs"], ["--folds", "5"], ["--word-column", "0"], ["--high", "a"]):
        assert run(["induce", space, axis, "-o", str(tmp_path / "out.csv"), *options]) == 2
        assert "a saved axis, which is not fitted again" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_score_looks_up_what_induce_writes(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    axis, space, table = str(tmp_path / "axis.safetensors"), str(files / "space.txt"), tmp_path / "out.csv"
    run_for_json(capsys, "fit", space, str(files / "lexicon.tsv"), "-o", axis, *QUICK)
    induced = run_for_json(capsys, "induce", space, axis, "-o", str(table), "--top", "3")
    assert (len(induced["highest"]), len(induced["lowest"])) == (3, 3)
    written = {row["word"]: row for row in polars.read_csv(table).rows(named=True)}
    found = run_for_json(capsys, "score", space, axis, "word7", "nosuchword", "word300")
    assert found["words_missing"] == ["nosuchword"]
    for row in found["words"]:
        assert {key: written[row["word"]][key] for key in row} == pytest.approx(row)
    assert run(["score", space, axis, "word7", "Word8x"]) == 0
    assert "Not in the space: Word8x" in capsys.readouterr().out
    assert run(["score", space, axis, "Word8x"]) == 2
    assert "not in 'space'" in capsys.readouterr().err
    assert run(["score", space, axis]) == 2
    assert "no word was given" in capsys.readouterr().err


def test_the_charts_of_a_report_show_the_words_of_its_tables_and_the_zero_of_its_text(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vl_convert")
    page, sources = tmp_path / "induced.html", paths_of(files, "space.txt", "lexicon.tsv")
    options = ["-o", str(tmp_path / "o.csv"), "--top", "2", "--report", str(page), "--n-resamples", "20"]
    induced = run_for_json(capsys, "induce", *sources, *options)
    html = page.read_text("utf-8")
    pictures = [base64.b64decode(data).decode() for data in re.findall(r"base64,([^\"]+)", html)]
    shown = {row["word"] for row in (*induced["highest"], *induced["lowest"])}
    assert len(shown) == 4
    assert set(re.findall(r">(word\d+)<", pictures[0])) == shown
    even = show_number(induced["even_odds"])
    assert f"even odds lie at {even}" in html
    assert html.count(f"the dashed line: even odds, at {even}.</figcaption>") == 1
    assert html.count(f"the dashed line: even odds, at {even}. Bars") >= 1


def test_induce_and_diagnose_write_a_report_with_figures(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vl_convert")
    sources, page = paths_of(files, "space.txt", "lexicon.tsv"), tmp_path / "page.html"
    assert run(["diagnose", *sources, "--report", str(page), *QUICK]) == 0
    assert "data:image/svg+xml" in page.read_text("utf-8")
    inducing = ["induce", *sources, "-o", str(tmp_path / "o.csv"), "--n-resamples", "20", "--report", str(page)]
    assert run(inducing) == 2  # it exists
    assert not (tmp_path / "o.csv").exists()
    assert run([*inducing, "--overwrite", "-q"]) == 0
    assert page.read_text("utf-8").count("data:image/svg+xml") == 2 * 4, "each chart in two layouts, light and dark"
    capsys.readouterr()


# ``evaluate lexicon|methods|stability`` and ``reproduce table1|figure1``: thin twins of the tasks.


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


def test_lexicon_measures_every_method_asked_for(labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_for_json(
        capsys,
        "evaluate",
        "lexicon",
        labelled / "space.txt",
        labelled / "lexicon.tsv",
        "--methods",
        "ridge,densray-unit",
    )
    assert [score["method"] for score in found["scores"]] == ["ridge", "densray-unit"]
    assert all(score["tau_low"] < score["tau"] < score["tau_high"] for score in found["scores"])
    assert (found["n_training"], found["n_test"], found["coverage"]) == (150, 50, 1.0)


def test_methods_are_compared_as_the_library_does(labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = labelled / "space.txt", labelled / "lexicon.tsv"
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


def test_lexicon_takes_options_of_the_protocol(labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--methods", "ridge", "--test-size", "0.5", "--random-state", "3", "--any-case"]
    found = run_for_json(capsys, "evaluate", "lexicon", labelled / "space.txt", labelled / "upper.tsv", *options)
    assert (found["n_test"], found["protocol"]["seed"]) == (100, 3)


def test_several_lexicons_give_the_macro_mean(labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lexicons = [labelled / "lexicon.tsv", labelled / "half.tsv"]
    found = run_for_json(capsys, "evaluate", "lexicon", labelled / "space.txt", *lexicons, "--methods", "ridge")
    taus = [result["scores"][0]["tau"] for result in found["results"]]
    assert found["macro_means"]["ridge"] == pytest.approx(np.mean(taus))


@pytest.mark.filterwarnings("default")  # a warning becomes a line on stderr, not an error
def test_a_test_lexicon_inside_training_is_reported_on_stderr(
    labelled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        "evaluate",
        "lexicon",
        labelled / "space.txt",
        labelled / "lexicon.tsv",
        "--test",
        labelled / "half.tsv",
    ]
    assert run([*map(str, arguments), "--methods", "ridge"]) == 0
    said = capsys.readouterr()
    assert "80 of 80 test words are in the training lexicon" in said.err
    assert "80 test words were in the training lexicon" in said.out


def test_bad_input_is_one_line(labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space, lexicon = labelled / "space.txt", labelled / "lexicon.tsv"
    assert "Did you mean 'ridge'" in _refusal(capsys, "evaluate", "lexicon", space, lexicon, "--methods", "rigde")
    assert "it takes one" in _refusal(capsys, "evaluate", "lexicon", space, lexicon, lexicon, "--test", lexicon)
    assert "--any-case" in _refusal(capsys, "evaluate", "lexicon", space, labelled / "upper.tsv")
    assert "list of integers" in _refusal(capsys, "evaluate", "stability", space, lexicon, "--sizes", "many")
    said = "--sizes 8,999 is given; sizes from 2 to 150 are possible"
    assert said in _refusal(capsys, "evaluate", "stability", space, lexicon, "--sizes", "8,999")
    assert "NAME=SPACE" in _refusal(capsys, "reproduce", "table1", "--space", "fr")


def test_stability_writes_its_figure(labelled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "figure.svg"
    options = ["--sizes", "16,64", "--n-samples", "3", "--methods", "ridge,svm", "-o", target]
    found = run_for_json(capsys, "evaluate", "stability", labelled / "space.txt", labelled / "lexicon.tsv", *options)
    assert [(score["method"], score["size"]) for score in found["scores"]] == [
        ("ridge", 16),
        ("ridge", 64),
        ("svm", 16),
        ("svm", 64),
    ]
    assert "<svg" in target.read_text()
    refused = _refusal(capsys, "evaluate", "stability", labelled / "space.txt", labelled / "lexicon.tsv", *options)
    assert "exists already" in refused


def test_figure1_prints_a_list_of_rows(labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--space",
        labelled / "space.txt",
        "--lexicon",
        labelled / "lexicon.tsv",
        "--sizes",
        "32",
        "--n-samples",
        "3",
    ]
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


def test_table1_compares_a_users_french_space_with_the_paper(data_folder: Path) -> None:
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
    assert "--word-column and --label-column" in capsys.readouterr().err
    assert run([*arguments, "--word-column", "Begriff", "--label-column", "2", "--quiet"]) == 0
    assert "ridge" in capsys.readouterr().out


def test_splits_can_be_repeated_and_the_training_limit_lifted(
    labelled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space, lexicon = labelled / "space.txt", labelled / "lexicon.tsv"
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


def test_score_lists_a_word_once_and_says_how_words_are_separated(capsys: pytest.CaptureFixture[str]) -> None:
    ends = ["score", "googlenews-26k", "--high", "good,nice,great", "--low", "bad,awful,sad", "--match-case"]
    assert run([*ends[:-1], "tennis", "TENNIS", "tennis", "polo,golf"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("1 of 26,423 words")
    assert "One word of the space, listed once: tennis and TENNIS." in shown
    assert "Not in the space: polo,golf. Write words without commas: polo golf." in shown
    assert run([*ends, "polo,golf"]) == 2
    assert "'polo,golf': not in 'googlenews-26k'. Write words without commas: polo golf." in capsys.readouterr().err


def test_score_names_unused_seeds_and_the_high_end(capsys: pytest.CaptureFixture[str]) -> None:
    high, low = "good,nice,great,happy,zzzqq", "bad,good,awful,sad,terrible"
    asked = ["score", "googlenews-26k", "--high", high, "--low", low, "wonderful", "--label-names", "foul,fair"]
    assert run(asked) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "words missing: 1: zzzqq; words left out, their labels conflict: 1: good." in shown
    assert shown.count("Words of “fair” score high, words of “foul” score low.") == 1
    found = run_for_json(capsys, *asked)
    assert (found["seeds_missing"], found["seeds_set_aside"]["conflicting"]) == (["zzzqq"], ["good"])
