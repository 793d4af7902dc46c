"""Interrupted commands keep what they have finished, end at once, and go on to the same numbers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
def test_a_killed_evaluation_ends_at_once_and_goes_on_to_the_same_bits(
    folder: Path, capsys: pytest.CaptureFixture[str], by: signal.Signals
) -> None:
    said = interrupt(LEXICON, parts=2, by=by)
    assert said == "densray: interrupted; 2 of 3 parts are kept: the same command goes on from there\n"
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
        assert run([*command, *other, "--json"]) == 0
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
def test_every_long_command_goes_on(folder: Path, arguments: list[str], parts: int) -> None:
    assert "kept: the same command goes on from there" in interrupt(arguments, parts=parts)
    answers = []
    for said in ("taken from an interrupted run", ""):
        done = start(arguments)
        printed, errors = done.communicate(timeout=600)
        assert done.returncode == 0
        assert said in errors
        answers.append(without_times(json.loads(printed)))
        assert not folder.exists()
    assert answers[0] == answers[1]
