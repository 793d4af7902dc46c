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
    assert 'pip install "densray[explore]"' in capsys.readouterr().err


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
