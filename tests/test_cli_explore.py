"""``densray explore``: refused before anything is read where it could not run, and quiet about all else."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import pytest

from densray.cli.entry import run


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
    assert "pip install 'densray[explore]'" in capsys.readouterr().err


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_when_asked_without_a_traceback(sent):
    pytest.importorskip("streamlit", reason="the extra `explore` (streamlit) is not installed")
    port = free_port()
    command = [sys.executable, "-m", "densray", "explore", "--no-browser", "--limit", "500", "--port", port]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        assert it.stderr is not None
        assert f"http://127.0.0.1:{port}" in it.stderr.readline()
        it.send_signal(sent)
        out, rest = it.communicate(timeout=30)
    assert it.returncode in (0, 130)
    assert "Traceback" not in rest
    assert out == ""
