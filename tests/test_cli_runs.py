"""Runs that are stopped: long commands resume to the same numbers, and the explorer ends quietly."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import last_of_each
from densray.cli.entry import run
from densray.cli.terminal import InterruptedRun, long_run
from densray.journal import Run
from resumed import without_times

LEXICON = ["evaluate", "lexicon", "googlenews-26k", "hu-liu", "--methods", "mean-difference,ridge,svm", "--json"]
LEXICON += ["--limit", "9000"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the journal of this test alone."""
    monkeypatch.setenv("DENSRAY_JOURNAL", str(tmp_path / "journal"))
    return tmp_path / "journal"


#: Runs a command that gets a signal when it has stored so many parts, and then works on.
SIGNALLED = """
import os, sys, time
from densray import journal
from densray.cli import main

by, parts = int(sys.argv[1]), int(sys.argv[2])
part, stored = journal.Run.part, []

def signalled(self, name, compute, *kinds):
    def interrupted():
        if len(stored) >= parts:
            os.kill(os.getpid(), by)
            time.sleep(120)  # the rest of its work
        return compute()
    found = part(self, name, interrupted, *kinds)
    stored.append(name)
    return found

journal.Run.part = signalled
sys.argv[1:3] = []
main()
"""


def start(arguments: list[str], *, by: int = 0, parts: int = 0) -> subprocess.Popen[str]:
    code = SIGNALLED if by else "from densray.cli import main; main()"
    options = [str(by), str(parts)] if by else []
    return subprocess.Popen(
        [sys.executable, "-c", code, *options, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def interrupt(arguments: list[str], *, parts: int, by: int = signal.SIGINT) -> str:
    """Interrupt a command when it has stored so many parts; return what it said, without waiting for what runs."""
    process = start(arguments, by=by, parts=parts)
    printed, said = process.communicate(timeout=100)
    assert process.returncode == 130, said
    assert printed == ""
    return said


@pytest.mark.parametrize("by", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_killed_evaluation_ends_at_once_and_resumes_to_the_same_bits(
    folder: Path, capsys: pytest.CaptureFixture[str], by: signal.Signals
) -> None:
    said = interrupt(LEXICON, parts=2, by=by)
    assert said == "densray: interrupted; 2 of 3 parts are kept: the same command resumes from there\n"
    assert len(list(folder.iterdir())) == 2

    assert run(LEXICON) == 0
    printed = capsys.readouterr()
    resumed = json.loads(printed.out)
    taken = "2 of 3 parts are taken from an interrupted run"
    assert printed.err == f"densray: {taken}; --fresh computes everything again\n"
    assert resumed["provenance"]["parts_resumed"] == 2
    assert not folder.exists()

    assert run(LEXICON) == 0
    printed = capsys.readouterr()
    whole = json.loads(printed.out)
    assert printed.err == ""
    assert whole["provenance"]["parts_resumed"] == 0
    assert without_times(resumed) == without_times(whole)


def test_parts_are_for_the_same_command_and_passed_over_when_asked(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [
        "evaluate",
        "lexicon",
        "googlenews-26k",
        "hu-liu",
        "--methods",
        "mean-difference,ridge",
        "--limit",
        "9000",
    ]
    stop_at(monkeypatch, "ridge")
    assert run(command) == 130
    assert "1 of 2 parts is kept" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.setenv("DENSRAY_JOURNAL", str(folder))
    for other in (["--random-state", "1"], ["--test-size", "0.5"], ["--fresh"], ["--limit", "9500"]):
        assert run([*last_of_each([*command, *other]), "--json"]) == 0
        printed = capsys.readouterr()
        assert json.loads(printed.out)["provenance"]["parts_resumed"] == 0
        assert printed.err == ""
        if "--fresh" in other:  # it was the same run, and is done
            assert not folder.exists()
            stop_at(monkeypatch, "ridge")
            assert run(command) == 130
            monkeypatch.undo()
            monkeypatch.setenv("DENSRAY_JOURNAL", str(folder))
            capsys.readouterr()
    assert run([*command, "--json", "--quiet"]) == 0  # how the answer is shown does not matter
    printed = capsys.readouterr()
    assert json.loads(printed.out)["provenance"]["parts_resumed"] == 1
    assert printed.err == ""


def stop_at(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Press Ctrl-C when a method is about to be measured."""
    part = Run.part

    def interrupted(self: Run, name: str, *arguments: Any) -> Any:
        if name == method:
            raise KeyboardInterrupt
        return part(self, name, *arguments)

    monkeypatch.setattr(Run, "part", interrupted)


@pytest.mark.parametrize("where", ["", "/dev/null/journal"])
def test_a_command_runs_without_a_journal(
    where: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENSRAY_JOURNAL", where)
    command = ["evaluate", "lexicon", "googlenews-26k", "hu-liu", "--methods", "mean-difference,ridge", "--json"]
    stop_at(monkeypatch, "ridge")
    assert run(command) == 130
    assert capsys.readouterr().err == "densray: interrupted\n"


def test_parts_are_kept_where_the_answer_could_not_be_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["evaluate", "stability", "googlenews-26k", "hu-liu", "--methods", "mean-difference", "--n-samples", "2"]
    command += ["--sizes", "64", "-o", str(tmp_path / "figure.svg")]

    def full_disk(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("densray.figures.save", full_disk)
        assert run(command) == 2
    assert len(list(folder.iterdir())) == 2
    capsys.readouterr()
    assert run(command) == 0
    assert "2 of 2 parts are taken" in capsys.readouterr().err
    assert not folder.exists()
    assert (tmp_path / "figure.svg").exists()


def test_the_folder_is_in_the_cache_unless_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DENSRAY_JOURNAL")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("DENSRAY_DATA", str(tmp_path / "data"))
    with long_run(fresh=False, quiet=True) as work:
        folder = work.journal.folder
    assert folder is not None
    assert folder.name == "journal"
    if sys.platform == "linux":
        assert folder == tmp_path / "densray" / "journal"


def test_an_interruption_says_what_is_kept(folder: Path) -> None:
    def interrupted() -> None:
        with long_run(fresh=False, quiet=True) as work:
            work.journal.run("task").part("a", lambda: 1)
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRun, match="1 finished part is kept"):
        interrupted()
    assert len(list(folder.iterdir())) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["reproduce", "table4", "--json"], 3),
        (["evaluate", "analogy", "--set", "google", "--solver", "intrank", "--json"], 2),
        (["evaluate", "stability", "googlenews-26k", "hu-liu", "--sizes", "1024", "--json"], 3),
        (["evaluate", "bias", "-r", "densray-unit,mean-difference", "--json"], 1),
    ],
)
def test_every_long_command_resumes(folder: Path, arguments: list[str], parts: int) -> None:
    assert "kept: the same command resumes from there" in interrupt(arguments, parts=parts)
    answers = []
    for said in ("taken from an interrupted run", ""):
        done = start(arguments)
        printed, errors = done.communicate(timeout=600)
        assert done.returncode == 0
        assert said in errors
        answers.append(without_times(json.loads(printed)))
        assert not folder.exists()
    assert answers[0] == answers[1]


# ``densray explore``: refused before anything is read where it could not run, and quiet about all else.


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.fixture
def taken():
    """A port somebody else listens on."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_port_in_use_is_one_line_with_a_free_one(taken, capsys):
    pytest.importorskip("streamlit", reason="the extra `explore` (streamlit) is not installed")
    assert run(["explore", "--port", str(taken)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"port {taken} cannot be used" in said
    assert "--port" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explore", "no-such-space", "--port", "FREE"], "neither a file nor a data set"),
        (["explore", "--port", "70000"], "from 1 to 65535"),
        (["explore", "--port", "http"], "--port"),
        (["explore", "--limit", "0"], "--limit"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(arguments, said, capsys):
    pytest.importorskip("streamlit", reason="the extra `explore` (streamlit) is not installed")
    assert run([free_port() if each == "FREE" else each for each in arguments]) == 2  # 8501 may be in use
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_a_missing_extra_names_the_command_that_installs_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "streamlit", None)
    assert run(["explore", "--no-browser"]) == 2
    assert 'pip install "densray[explore]"' in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_quietly_when_asked(sent):
    pytest.importorskip("streamlit", reason="the extra `explore` (streamlit) is not installed")
    port = free_port()
    command = [sys.executable, "-m", "densray", "explore", "--no-browser", "--limit", "500", "--port", port]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        assert it.stderr is not None
        assert f"http://127.0.0.1:{port}" in it.stderr.readline()
        it.send_signal(sent)
        out, rest = it.communicate(timeout=30)
    assert it.returncode == 0
    assert (out, rest) == ("", "")


def test_a_server_that_is_stopped_before_it_has_begun_says_nothing(monkeypatch, capsys):
    pytest.importorskip("streamlit", reason="the extra `explore` (streamlit) is not installed")
    from densray.explorer import server

    async def serve():
        """Never awaited."""

    def launch(*spaces, **options):
        serve()
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "launch", launch)
    assert run(["explore", "--no-browser", "--limit", "50", "--port", free_port(), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_several_spaces_are_opened_each_once_in_their_order(monkeypatch, tmp_path):
    pytest.importorskip("streamlit", reason="the extra `explore` (streamlit) is not installed")
    from densray import WordSpace
    from densray.explorer import server
    from densray.formats import write_space

    opened = []
    monkeypatch.setattr(server, "launch", lambda *spaces, **more: opened.append((spaces, more["sources"])))
    files = [str(tmp_path / f"{name}.densray") for name in ("then", "now")]
    for file in files:
        write_space(WordSpace(["a", "b"], [[1, 0], [0, 1]]), file)
    assert run(["explore", files[1], files[0], files[1], "--no-browser", "--port", free_port()]) == 0
    assert [(len(spaces), sources) for spaces, sources in opened] == [(2, [files[1], files[0]])]
