"""What a run meets at the command line: places that cannot be written, odd streams, options out of range."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from densray import WordSpace
from densray._files import atomic_write
from densray.cli.entry import main, run
from densray.errors import FormatError, OutputError
from densray.formats import read_space, write_space

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
    assert "no regular file" in refused(["demo", "-o", "/dev/null"], capsys)
    with pytest.raises(OutputError, match="not a regular file"), atomic_write(Path("/dev/null"), overwrite=True):
        pass
    assert Path("/dev/null").is_char_device()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder where not even root can write")
def test_a_folder_that_takes_no_file_is_refused_before_any_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot write in /proc" in refused(["demo", "-o", "/proc/report.html"], capsys)


def test_a_full_disk_told_by_polars_is_told_as_such(tmp_path: Path) -> None:
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


def test_a_reader_that_leaves_early_is_no_error() -> None:
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
        folder / "axis.npz",
        "--no-judge",
        "--json",
    ]
    ended = densray(*fitted, PYTHONIOENCODING="ascii")
    assert json.loads(ended.stdout)["words_missing"] == ["b\u00f6se"]
    ended = densray("methods", PYTHONIOENCODING="ascii")
    assert ended.returncode == 0
    assert b"densifier" in ended.stdout


def test_an_ascii_terminal_shows_a_minus_before_what_is_negative(folder: Path) -> None:
    fitted = densray("fit", folder / "space.densray", folder / "seeds.tsv", "-o", folder / "axis.npz", "--no-judge")
    assert fitted.returncode == 0
    ended = densray("score", folder / "space.densray", folder / "axis.npz", *WORDS, PYTHONIOENCODING="ascii")
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
    """An axis of the small space, saved under an ending of its own."""
    fitted = ["fit", folder / "space.densray", folder / "seeds.tsv", "-o", folder / "quality.axis", "--no-judge", "-q"]
    assert run([str(argument) for argument in fitted]) == 0
    capsys.readouterr()
    return folder / "quality.axis"


def test_an_axis_is_known_by_its_content_too(axis: Path) -> None:
    table = axis.with_name("scores.tsv")
    assert run(["induce", str(axis.with_name("space.densray")), str(axis), "-o", str(table), "-q"]) == 0
    assert len(table.read_text("utf-8").splitlines()) == 1 + len(WORDS)


@pytest.mark.parametrize("content", ["good\t1\n", "", "P"])
def test_a_file_that_is_no_axis_is_called_just_that(
    content: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "list.txt").write_text(content)
    line = refused(["rotate", folder / "space.densray", folder / "list.txt", "-o", folder / "out.bin"], capsys)
    assert "list.txt is not a saved rotation" in line
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
    assert json.loads(capsys.readouterr().out)["words_missing"] == ["king", "queen"]
    before, after = (read_space(axis.with_name(name)) for name in ("space.densray", "out.densray"))
    assert np.array_equal(before[["good1", "bad1"]], after[["good1", "bad1"]])
    assert not np.array_equal(before["good2"], after["good2"])
    (axis.parent / "keep.txt").write_bytes(b"\xff\xfe")
    assert "keep.txt" in refused([*erasing, "-o", axis.with_name("other.bin")], capsys)


@pytest.mark.parametrize("command", [["convert", ""], ["fit", "", "hu-liu"], ["fit", "googlenews-26k", ""]])
def test_an_empty_name_is_neither_a_file_nor_a_data_set(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "neither a file nor a data set" in refused([*command, "-o", tmp_path / "out.npz"], capsys)


def test_the_demonstration_replaces_its_own_report_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    thesis = tmp_path / "thesis.html"
    thesis.write_text("years of work")
    assert "--overwrite" in refused(["demo", "-o", thesis], capsys)
    assert thesis.read_text() == "years of work"
    assert "thesis.html" in refused(["demo", "-o", tmp_path / "thesis.pdf"], capsys)
    assert "an HTML page" in refused(["evaluate", "bias", "--report", tmp_path / "thesis.pdf"], capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.html"]


@pytest.mark.filterwarnings("default")  # rows left out are told on stderr
def test_advice_is_given_in_options_and_following_it_helps(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "raw.txt").write_bytes(b"4 2\na 1 2\nb\xf6se 3 4\na 5 6\nc nan 8\n")
    converting: list[str | Path] = ["convert", folder / "raw.txt", "-o", folder / "clean.npz"]
    assert "(--encoding latin-1, say)" in refused(converting, capsys)
    converting += ["--encoding", "latin-1"]
    assert "with --bad-rows skip" in refused(converting, capsys)
    assert run([*map(str, converting), "--bad-rows", "skip", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["words"] == 2
    assert "2 bad rows were left out" in printed.err
    assert list(read_space(folder / "clean.npz")) == ["a", "b\u00f6se"]
    (folder / "seeds.tsv").write_text("GOOD1\t1\nGOOD2\t1\nBAD1\t-1\n")
    fitting: list[str | Path] = ["fit", folder / "space.densray", folder / "seeds.tsv", "-o", folder / "axis.npz", "-q"]
    assert "--any-case" in refused(fitting, capsys)
    assert run([*map(str, fitting), "--any-case", "--no-judge"]) == 0


def test_three_columns_are_told_apart_by_a_first_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{word}\tnoun\t{number}\n" for number, word in enumerate(WORDS))
    fitting: list[str | Path] = ["fit", folder / "space.densray", folder / "seeds.tsv", "-o", folder / "axis.npz"]
    (folder / "seeds.tsv").write_text(rows)
    assert "name them so in a first line" in refused(fitting, capsys)
    (folder / "seeds.tsv").write_text("word\tkind\tlabel\n" + rows)
    assert run([*map(str, fitting), "--no-judge", "-q"]) == 0


def test_pairs_come_by_name_too_and_the_nearest_is_suggested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fitting: list[str | Path] = [
        "fit",
        "googlenews-26k",
        "-o",
        tmp_path / "axis.npz",
        "--pairs",
        "--no-judge",
        "--json",
    ]
    assert "Did you mean 'gender-equalize'" in refused([*fitting, "gender-equalise"], capsys)
    assert run([*map(str, fitting), "gender-definitional"]) == 0
    assert json.loads(capsys.readouterr().out)["n_seeds"] == 20


def test_two_seeds_are_sent_to_the_bare_axis(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "seeds.tsv").write_text("good1\t1\nbad1\t-1\n")
    fitting: list[str | Path] = ["fit", folder / "space.densray", folder / "seeds.tsv", "-o", folder / "axis.npz", "-q"]
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
