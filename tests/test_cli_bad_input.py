"""Bad input at the command line: files of another kind, places that cannot be written, options out of range."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import re
import shlex
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from densray import Axis, WordSpace
from densray._files import atomic_write
from densray.cli.app import command, options_of
from densray.cli.entry import main, run
from densray.errors import FormatError, OutputError
from densray.formats import read_space, write_space
from densray.report import check_writable
from densray.rotations import make_rotation
from planted import planted_space

WORDS = [f"good{number}" for number in range(12)] + [f"bad{number}" for number in range(12)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a small space, ``space.densray``, and a lexicon of all its words, ``seeds.tsv``."""
    vectors = np.random.default_rng(0).standard_normal((len(WORDS), 6)).astype(np.float32)
    vectors[:12, 0] += 3
    write_space(WordSpace(WORDS, vectors), tmp_path / "space.densray")
    lines = [f"{word}\t{1 if word.startswith('good') else -1}\n" for word in WORDS]
    (tmp_path / "seeds.tsv").write_text("".join(lines), encoding="utf-8")
    return tmp_path


def refused(arguments: list[str | Path], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that must fail as bad input, and return its one line."""
    assert run([str(argument) for argument in arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert not re.search(r"(?<![./])\.\.(?![./])", printed.err)
    return printed.err


@pytest.mark.parametrize("command", [["fit", "seeds.tsv"], ["convert"], ["induce", "seeds.tsv"]])
def test_a_folder_named_as_output_is_refused(
    command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = folder / "results"
    target.mkdir()
    name, *rest = command
    sources = [folder / "space.densray", *(folder / each for each in rest)]
    assert "is a folder" in refused([name, *sources, "-o", target], capsys)
    assert not (folder / "results.npz").exists()


def test_no_name_at_all_is_refused_as_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(["fit", folder / "space.densray", folder / "seeds.tsv", "-o", ""], capsys)


def test_a_device_is_never_replaced_by_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert "not a regular file" in refused(["demo", "-o", "/dev/null"], capsys)
    with pytest.raises(OutputError, match="not a regular file"):
        check_writable(Path("/dev/null"), overwrite=True)
    assert Path("/dev/null").is_char_device()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder where not even root can write")
def test_a_folder_that_takes_no_file_is_refused_before_any_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot write in /proc" in refused(["demo", "-o", "/proc/report.html"], capsys)


def test_a_full_disk_reported_by_polars_is_named_in_the_error(tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    target.write_text("old")
    with (
        pytest.raises(OutputError, match=r"out\.parquet: No space left on device\."),
        atomic_write(target, overwrite=True),
    ):
        raise pl.exceptions.ComputeError("parquet: underlying IO error: No space left on device (os error 28)")
    assert target.read_text() == "old"


def test_an_error_of_ours_passes_through_a_write_unchanged(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="damaged"), atomic_write(tmp_path / "out.txt", overwrite=False):
        raise FormatError("in.parquet: damaged (Input/output error (os error 5))")


def densray(
    *arguments: str | Path, before: str = "", after: str = "", **variables: str
) -> subprocess.CompletedProcess[bytes]:
    """Run ``densray`` in a shell of its own, where its streams can be cut."""
    call = shlex.join([sys.executable, "-m", "densray", *map(str, arguments)])
    environment = {**os.environ, **variables}
    return subprocess.run(["bash", "-c", f"{before}{call}{after}"], capture_output=True, env=environment, check=False)


def test_a_reader_that_leaves_early_causes_no_error() -> None:
    ended = densray("data", "list", "--json", before="set -o pipefail; ", after=" | head -1")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"[\n", b"")


def test_closed_streams_end_no_run() -> None:
    assert densray("methods", after=" >&-").returncode == 0
    ended = densray("data", "path", "googel", after=" 2>&-")
    assert (ended.returncode, ended.stdout) == (2, b"")


def test_a_full_device_behind_stdout_is_one_line() -> None:
    ended = densray("methods", after=" > /dev/full")
    assert ended.returncode == 2
    assert ended.stderr == b"densray: No space left on device\n"


def test_an_ascii_terminal_shows_tables_and_keeps_json_whole(folder: Path) -> None:
    (folder / "umlaut.tsv").write_text("good1\t1\nbad1\t-1\nb\u00f6se\t-1\n", encoding="utf-8")
    fitted: list[str | Path] = [
        "fit",
        folder / "space.densray",
        folder / "umlaut.tsv",
        "-o",
        folder / "axis.safetensors",
        "--no-judge",
        "--json",
    ]
    ended = densray(*fitted, PYTHONIOENCODING="ascii")
    assert json.loads(ended.stdout)["words_missing"] == ["b\u00f6se"]
    ended = densray("methods", PYTHONIOENCODING="ascii")
    assert ended.returncode == 0
    assert b"densifier" in ended.stdout


def test_an_ascii_terminal_shows_a_minus_before_what_is_negative(folder: Path) -> None:
    fitted = densray(
        "fit", folder / "space.densray", folder / "seeds.tsv", "-o", folder / "axis.safetensors", "--no-judge"
    )
    assert fitted.returncode == 0
    ended = densray("score", folder / "space.densray", folder / "axis.safetensors", *WORDS, PYTHONIOENCODING="ascii")
    assert ended.returncode == 0
    assert b" -0." in ended.stdout
    assert b"?0." not in ended.stdout


def test_what_a_terminal_would_obey_is_shown_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert r"'a\x1b[31mb\x00'" in refused(["data", "path", "a\x1b[31mb\0"], capsys)


@pytest.mark.parametrize("seed", [-1, 2**32])
@pytest.mark.parametrize("command", [["diagnose"], ["evaluate", "lexicon"], ["evaluate", "stability"]])
def test_a_seed_no_generator_takes_is_refused(
    command: list[str], seed: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--random-state" in refused(
        [*command, folder / "space.densray", folder / "seeds.tsv", "--random-state", str(seed)], capsys
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("score space", "no word was given. List the words to score after the LEXICON or AXIS."),
        ("score space --high a,b --low c,d", "no word was given. List the words to score after SPACE."),
        ("score space --by year", "no AXIS was given"),
        ("evaluate ratings space", "no RATINGS were given"),
    ],
)
def test_an_argument_that_may_be_left_out_is_missed_where_it_is_needed(
    given: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused([*given.split()], capsys)


@pytest.mark.parametrize(
    "command", [["evaluate", "stability", "unread", "unread"], ["reproduce", "figure1"], ["reproduce", "figure2"]]
)
def test_a_figure_of_no_known_format_is_refused_before_any_work(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused([*command, "-o", tmp_path / "figure.xyz"], capsys)
    assert ".svg" in line
    assert "unread" not in line


@pytest.fixture
def axis(folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A saved axis of the small space."""
    saved = folder / "quality.safetensors"
    fitted = ["fit", folder / "space.densray", folder / "seeds.tsv", "-o", saved, "--no-judge", "-q"]
    assert run([str(argument) for argument in fitted]) == 0
    capsys.readouterr()
    return saved


@pytest.mark.parametrize("content", ["good\t1\n", "", "P"])
def test_a_list_is_reported_as_not_a_saved_axis(content: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "list.txt").write_text(content)
    line = refused(["rotate", folder / "space.densray", folder / "list.txt", "-o", folder / "out.bin"], capsys)
    assert "list.txt is not a saved axis" in line
    assert "pickle" not in line


@pytest.mark.filterwarnings("default")  # the axis was fitted to predict: a line on stderr
def test_words_to_keep_are_read_as_any_list_and_the_missing_are_named(
    axis: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (axis.parent / "keep.txt").write_bytes(b"\xef\xbb\xbfgood1\r\nbad1\r\nqueen\r\nking\r\n")
    erasing: list[str | Path] = [
        "erase",
        axis.with_name("space.densray"),
        axis,
        "--keep",
        axis.with_name("keep.txt"),
    ]
    assert run([*map(str, erasing), "-o", str(axis.with_name("out.densray")), "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["words_missing"] == ["king", "queen"]
    assert said.err.count("--keep: 2 words are not in") == 1
    before, after = (read_space(axis.with_name(name)) for name in ("space.densray", "out.densray"))
    assert np.array_equal(before[["good1", "bad1"]], after[["good1", "bad1"]])
    assert not np.array_equal(before["good2"], after["good2"])
    (axis.parent / "keep.txt").write_bytes(b"\xff\xfe")
    assert "keep.txt" in refused([*erasing, "-o", axis.with_name("other.bin")], capsys)


@pytest.mark.parametrize("command", [["convert", ""], ["fit", "", "hu-liu"], ["fit", "googlenews-26k", ""]])
def test_an_empty_name_is_neither_a_file_nor_a_data_set(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / ("out.npz" if command[0] == "convert" else "out.safetensors")
    assert "neither a file nor a data set" in refused([*command, "-o", output], capsys)


def test_the_demonstration_replaces_its_own_report_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    thesis = tmp_path / "thesis.html"
    thesis.write_text("years of work")
    assert "--overwrite" in refused(["demo", "-o", thesis], capsys)
    assert thesis.read_text() == "years of work"
    assert "thesis.html" in refused(["demo", "-o", tmp_path / "thesis.pdf"], capsys)
    assert "an HTML page" in refused(["evaluate", "bias", "--report", tmp_path / "thesis.pdf"], capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.html"]


#: Bad input by the option that its message names: a command, and the files that make it bad.
REFUSED: dict[str, tuple[str, dict[str, str]]] = {
    "--overwrite": ("convert space.densray -o old.npz", {"old.npz": "years of work"}),
    "--any-case": ("diagnose space.densray seeds.tsv --match-case", {"seeds.tsv": "GOOD1\t1\nBAD1\t-1\n"}),
    "--word-column": ("diagnose space.densray seeds.tsv", {"seeds.tsv": "good1\tnoun\t1\nbad1\tnoun\t-1\n"}),
    "--conflicts drop": (
        "diagnose space.densray seeds.tsv --conflicts error",
        {"seeds.tsv": "good1\t1\nbad1\t-1\ngood1\t-1\n"},
    ),
    "--label-names low,high": ("diagnose space.densray seeds.tsv", {"seeds.tsv": "good1\t1\nbad1\tpoor\n"}),
    "--header": (
        "diagnose space.densray seeds.tsv",
        {"seeds.tsv": "good1\trich\ngood2\trich\nbad1\tpoor\nbad2\tpoor\n"},
    ),
    "--high": ("diagnose space.densray seeds.tsv", {"seeds.tsv": "good1\nbad1\n"}),
    "--group-column 2": (
        "diagnose space.densray seeds.json --group-column 2",
        {"seeds.json": '{"good1": 1, "bad1": -1}'},
    ),
    "--random-state": ("diagnose space.densray seeds.tsv --random-state -1", {}),
    "--test-size 0.001": ("evaluate lexicon space.densray seeds.tsv --test-size 0.001", {}),
    "--sizes 1,5": ("evaluate stability space.densray seeds.tsv --sizes 1,5", {}),
    "--rotation ridge": ("evaluate analogy space.densray --set google --solver lrcos --rotation ridge", {}),
    "--bad-rows skip": ("convert raw.txt -o raw.npz", {"raw.txt": "2 2\na 1 2\na 3 4\n"}),
    "densray convert --bad-rows skip": ("info raw.txt", {"raw.txt": "2 2\na 1 2\na 3 4\n"}),
    "--limit 1": ("convert raw.txt -o raw.npz", {"raw.txt": "1 2\na 1 2\nb 3 4\n"}),
    "--source-format": ("convert raw.txt -o raw.npz", {"raw.txt": "\1\2\3\4\5\6\7"}),
}


@pytest.mark.parametrize("option", REFUSED)
def test_a_message_names_the_option_and_never_the_argument_of_python(
    option: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command_line, files = REFUSED[option]
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(folder)
    message = refused(shlex.split(command_line), capsys)
    assert option in message
    options = {name.removeprefix("--").replace("-", "_") for name in options_of(command())}
    names = set(re.findall(r"(?<![\w-])[a-z]+(?:_[a-z]+)+\b|(?<![\w-])[a-z_]+(?==)", message))
    assert names & options == set()


@pytest.mark.filterwarnings("default")  # rows left out are told on stderr
def test_advice_is_given_in_options_and_following_it_helps(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "raw.txt").write_bytes(b"4 2\na 1 2\nb\xf6se 3 4\na 5 6\nc nan 8\n")
    converting: list[str | Path] = ["convert", folder / "raw.txt", "-o", folder / "clean.npz"]
    assert "(for example --encoding latin-1)" in refused(converting, capsys)
    converting += ["--encoding", "latin-1"]
    assert "with --bad-rows skip" in refused(converting, capsys)
    assert run([*map(str, converting), "--bad-rows", "skip", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["words"] == 2
    assert "2 bad rows were left out" in printed.err
    assert list(read_space(folder / "clean.npz")) == ["a", "b\u00f6se"]
    (folder / "seeds.tsv").write_text("GOOD1\t1\nGOOD2\t1\nBAD1\t-1\n")
    fitting: list[str | Path] = [
        "fit",
        folder / "space.densray",
        folder / "seeds.tsv",
        "-o",
        folder / "axis.safetensors",
        "-q",
    ]
    assert "--any-case" in refused([*fitting, "--match-case"], capsys)
    assert run([*map(str, fitting), "--no-judge"]) == 0


def test_a_header_distinguishes_three_columns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{word}\tnoun\t{number}\n" for number, word in enumerate(WORDS))
    fitting: list[str | Path] = [
        "fit",
        folder / "space.densray",
        folder / "seeds.tsv",
        "-o",
        folder / "axis.safetensors",
    ]
    (folder / "seeds.tsv").write_text(rows)
    assert "word and label in a first line" in refused(fitting, capsys)
    (folder / "seeds.tsv").write_text("word\tkind\tlabel\n" + rows)
    assert run([*map(str, fitting), "--no-judge", "-q"]) == 0


def test_pairs_come_by_name_too_and_the_nearest_is_suggested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fitting: list[str | Path] = [
        "fit",
        "googlenews-26k",
        "-o",
        tmp_path / "axis.safetensors",
        "--pairs",
        "--no-judge",
        "--json",
    ]
    assert "Did you mean 'gender-equalize'" in refused([*fitting, "gender-equalise"], capsys)
    assert run([*map(str, fitting), "gender-definitional"]) == 0
    assert json.loads(capsys.readouterr().out)["n_seeds"] == 20


@pytest.mark.parametrize("command_line", ["diagnose", "induce -o words.tsv", "evaluate methods"])
def test_two_seeds_are_not_sent_to_an_option_of_another_command(
    command_line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "seeds.tsv").write_text("good1\t1\nbad1\t-1\n")
    monkeypatch.chdir(folder)
    message = refused([*command_line.split(), "space.densray", "seeds.tsv"], capsys)
    assert "at least two of each are needed to hold some out. Add rows." in message
    assert "judge" not in message


def test_analogies_in_another_case_are_sent_to_an_option_that_helps(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = "".join(f"GOOD{number} BAD{number} GOOD{number + 1} BAD{number + 1}\n" for number in range(0, 12, 2))
    (folder / "analogies.txt").write_text(f": quality\n{pairs}")
    asking: list[str | Path] = ["evaluate", "analogy", folder / "space.densray", "--set", folder / "analogies.txt"]
    assert "Pass --any-case." in refused(asking, capsys)
    assert run([*map(str, asking), "--any-case", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["categories"][0]["pairs"] == 12


def test_two_seeds_are_sent_to_the_bare_axis(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "seeds.tsv").write_text("good1\t1\nbad1\t-1\n")
    fitting: list[str | Path] = [
        "fit",
        folder / "space.densray",
        folder / "seeds.tsv",
        "-o",
        folder / "axis.safetensors",
        "-q",
    ]
    assert "--no-judge" in refused(fitting, capsys)
    assert run([*map(str, fitting), "--no-judge"]) == 0


def test_a_kill_in_the_middle_of_a_write_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def killed(source: str, target: Path, **_: object) -> None:
        with atomic_write(target, overwrite=False) as partial:
            partial.write_text("half")
            os.kill(os.getpid(), signal.SIGTERM)

    before = sorted(folder.iterdir())
    monkeypatch.setattr("densray.streaming.rewrite_space", killed)
    arguments = ["densray", "convert", str(folder / "space.densray"), "-o", str(folder / "out.bin")]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr(os, "_exit", sys.exit)  # an interrupted process leaves without waiting for its threads
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as left:
            main()
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert left.value.code == 130
    assert capsys.readouterr().err == "densray: interrupted\n"
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("ending", [".densray", ".txt", ".bin", ".npy"])
def test_an_encoding_there_is_not_is_refused_where_words_are_bytes(
    ending: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = write_space(WordSpace(["a", "b"], np.eye(2)), folder / f"small{ending}")
    line = ["convert", space, "-o", folder / "out.densray", "--encoding", "0.0"]
    assert "unknown encoding: 0.0" in refused(line, capsys)
    assert not (folder / "out.densray").exists()


# Files that cannot be used end as one line, exit code 2, and nothing written.


def _pickled() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return stream.getvalue()


def _bare() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.eye(3))
    return stream.getvalue()


FILES: dict[str, tuple[str, bytes]] = {
    "empty": ("bad.txt", b""),
    "fewer rows than declared": ("bad.txt", b"3 2\na 1 2\nb 3 4\n"),
    "width that lies": ("bad.txt", b"2 3\na 1 2\nb 3 4\n"),
    "absurd header": ("bad.bin", b"9999999999999 9999999\na " + bytes(8)),
    "truncated binary": ("bad.bin", b"2 3\na " + np.ones(3, "<f4").tobytes() + b"b " + bytes(5)),
    "too few numbers": ("bad.txt", b"2 2\na 1 2\nb 3\n"),
    "too many numbers": ("bad.txt", b"2 2\na 1 2\nb 3 4 5\n"),
    "not a number": ("bad.txt", b"2 2\na 1 2\nb 3 x\n"),
    "not UTF-8": ("bad.txt", b"2 2\na 1 2\n\xff\xfe 3 4\n"),
    "NaN": ("bad.txt", b"2 2\na 1 2\nb nan 4\n"),
    "infinite": ("bad.txt", b"2 2\na 1 2\nb inf 4\n"),
    "duplicate words": ("bad.txt", b"2 2\na 1 2\na 3 4\n"),
    "pickled array": ("bad.npy", _pickled()),
    "pickle": ("bad.pkl", pickle.dumps({"a": [1.0]})),
    "a picture": ("bad.bin", b"\x89PNG\r\n\x1a\n" + bytes(64)),
}


def run_quietly(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that must fail as bad input, and return its one line."""
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert not re.search(r"(?<![./])\.\.(?![./])", printed.err)
    assert "Traceback" not in printed.err
    return printed.err


@pytest.mark.parametrize("case", FILES)
def test_a_file_without_a_space_is_named_and_nothing_is_written(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, content = FILES[case]
    source = tmp_path / name
    source.write_bytes(content)
    line = run_quietly(["convert", str(source), "-o", str(tmp_path / "out.densray"), "--json"], capsys)
    assert "bad." in line
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_quietly(["convert", str(tmp_path), "-o", str(tmp_path / "out.bin")], capsys)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04broken", pickle.dumps([1]), _pickled(), _bare()])
def test_a_file_without_an_axis_is_named(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "axis.safetensors").write_bytes(content)
    arguments = ["rotate", "googlenews-26k", str(tmp_path / "axis.safetensors"), "-o", str(tmp_path / "out.bin")]
    assert "axis.safetensors" in run_quietly(arguments, capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["axis.safetensors"]


def test_an_archive_of_other_things_is_refused_as_an_axis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile(tmp_path / "axis.safetensors", "w") as archive:
        archive.writestr("notes.txt", "hello")
    arguments = ["erase", "googlenews-26k", str(tmp_path / "axis.safetensors"), "-o", str(tmp_path / "out.bin")]
    assert "axis.safetensors" in run_quietly(arguments, capsys)


AXIS, SPACE, LIST = (
    "It is a saved axis, to be used on the space it was fitted on.",
    "It holds word vectors, to be given as the space.",
    "It is a word list, to fit an axis from.",
)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["diagnose", "space.txt", "axis.safetensors"], AXIS),
        *(
            (["diagnose", "space.txt", f"space.{ending}"], SPACE)
            for ending in ("txt", "bin", "densray", "npz", "glove")
        ),
        (["diagnose", "space.txt", "space.parquet"], "It is a parquet file"),
        (["diagnose", "axis.safetensors", "lexicon.tsv"], AXIS),
        (["diagnose", "lexicon.tsv", "lexicon.tsv"], LIST),
        (["info", "lexicon.csv"], LIST),
        (["info", "one.txt"], "convert it with densray convert --source-format."),
        (["evaluate", "analogy", "space.txt", "--set", "lexicon.tsv"], "words and labels ("),
        (["evaluate", "analogy", "space.txt", "--set", "lexicon.csv"], "a lexicon, to fit an axis from"),
        (["induce", "space.txt", "one.txt", "-o", "x.csv"], "two lists of words without labels: --high, --low"),
        (
            ["fit", "space.txt", "junk", "-o", "x.safetensors"],
            "junk: this is not a text file. One entry per line is needed.",
        ),
        (["convert", "axis.safetensors", "-o", "x.txt"], AXIS),
        (["rotate", "space.txt", "space.bin", "-o", "x.txt"], SPACE),
        (["erase", "space.txt", "space.npz", "-o", "x.txt"], SPACE),
        (["rotate", "space.txt", "lexicon.tsv", "-o", "x.txt"], LIST),
        (["induce", "space.txt", "space.npz", "-o", "x.csv"], SPACE),
    ],
)
def test_a_file_of_another_kind_is_named_for_what_it_is(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    space, lexicon = planted_space()
    for ending in ("txt", "bin", "densray", "npz", "parquet"):
        write_space(space, tmp_path / f"space.{ending}")
    write_space(space, tmp_path / "space.glove", format="glove")
    Path("lexicon.tsv").write_text("".join(f"{word}\t{label:g}\n" for word, label in lexicon.items()))
    Path("lexicon.csv").write_text("".join(f"{word},{label:g}\n" for word, label in lexicon.items()))
    Path("one.txt").write_text("\n".join(space.words))
    Path("junk").write_bytes(bytes(range(256)))
    Axis.of(make_rotation("mean-difference").fit(space.vectors[[0, 399]], [1, -1]), space=space).save(
        "axis.safetensors"
    )
    assert run(arguments) == 2
    message = capsys.readouterr().err
    assert says in message
    assert message.count("\n") == 1
    assert len(message) < 300
    assert not Path("x.txt").exists()


def _zipped(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, "<xml/>")
    return stream.getvalue()


#: Files of other programs, and what they are called.
FOREIGN: dict[str, tuple[bytes, str]] = {
    "doc.pdf": (b"%PDF-1.7\n1 0\nobj <<\n", "a PDF"),
    "doc.docx": (_zipped("[Content_Types].xml", "_rels/.rels", "word/document.xml"), "a Word document (.docx)"),
    "table.xlsx": (_zipped("docProps/app.xml", "xl/workbook.xml", "[Content_Types].xml"), "an Excel file (.xlsx)"),
    "table.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(64), "an old Office file"),
    "picture.png": (b"\x89PNG\r\n\x1a\n" + bytes(64), "a picture (PNG)"),
    "picture.jpg": (b"\xff\xd8\xff\xe0" + bytes(64), "a picture (JPEG)"),
    "page.html": (b"\xef\xbb\xbf\n<!DOCTYPE html>\n<html><body>", "a web page"),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("command", ["info FILE", "convert FILE -o x.txt", "diagnose space.txt FILE",
                                     "rotate space.txt FILE -o x.txt"])  # fmt: skip
def test_a_file_of_another_program_is_named_for_what_it_seems_to_be(
    name: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    content, kind = FOREIGN[name]
    Path(name).write_bytes(content)
    write_space(planted_space()[0], "space.txt")
    line = run_quietly(command.replace("FILE", name).split(), capsys)
    assert f"seems to be {kind}" in line
    assert not Path("x.txt").exists()


def test_what_is_inside_a_packed_file_is_named_and_packed_words_are_to_be_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("doc.pdf.gz").write_bytes(gzip.compress(FOREIGN["doc.pdf"][0]))
    Path("words.tsv.gz").write_bytes(gzip.compress(b"good\t1\nbad\t-1\n"))
    write_space(planted_space()[0], "space.txt")
    assert "seems to be a PDF" in run_quietly(["info", "doc.pdf.gz"], capsys)
    assert "packed with gzip; unpack it first" in run_quietly(["diagnose", "space.txt", "words.tsv.gz"], capsys)
