"""The frame of the command line: exit codes, messages, where files may go, what is shown meanwhile."""

from __future__ import annotations

import ast
import importlib
import io
import json
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import densray
import densray.cli.app
from densray import __version__
from densray.cli.app import command, options_of, running
from densray.cli.entry import in_options, run
from densray.cli.reproduce import show_comparison
from densray.cli.terminal import check_output, note, print_json, progress_bar, show
from densray.errors import Argument, DensRayError, LexiconError, OutputError, TaskError
from densray.report import Column, Table

FAILURES = {
    "ours": (
        LexiconError("line 17: label 'postive'\nis not a number."),
        2,
        "line 17: label 'postive' is not a number.",
    ),
    "missing": (
        FileNotFoundError(2, "No such file or directory", "a.vec"),
        2,
        "a.vec: No such file or directory",
    ),
    "forbidden": (PermissionError(13, "Permission denied", "b.vec"), 2, "b.vec: Permission denied"),
    "full": (OSError(28, "No space left on device"), 2, "No space left on device"),
    "memory": (MemoryError(), 2, "not enough memory"),
    "interrupt": (KeyboardInterrupt(), 130, "interrupted"),
    "defect": (RuntimeError("odd"), 1, "a defect in densray: RuntimeError: odd"),
}


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An app whose only command raises what it is told to."""
    app = typer.Typer()

    @app.command()
    def fail(kind: str) -> None:
        raise FAILURES[kind][0]

    monkeypatch.setattr(densray.cli.app, "app", app)


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize("kind", FAILURES)
def test_every_failure_is_one_line_and_an_exit_code(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, code, line = FAILURES[kind]
    assert run([kind]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("densray: ")
    assert line in printed.err


@pytest.mark.usefixtures("failing")
def test_a_defect_shows_where_it_is_when_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DENSRAY_DEBUG", "1")
    assert run(["defect"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["nonsense"], ["--nonsense"], ["reproduce"], ["evaluate", "nonsense"]])
def test_wrong_usage_is_one_line_and_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1


def test_version_and_help_succeed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"densray {__version__}\n"
    for arguments in ([], ["--help"], ["reproduce", "--help"]):
        assert run(arguments) == 0
        assert "Usage: densray" in capsys.readouterr().out


def test_a_warning_is_one_line_on_stderr(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    app = typer.Typer()

    @app.command()
    def work() -> None:
        warnings.warn("three words\nare missing", RuntimeWarning, stacklevel=1)

    monkeypatch.setattr(densray.cli.app, "app", app)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run([]) == 0
    assert capsys.readouterr().err == "densray: warning: three words are missing\n"


def test_help_needs_no_heavy_library() -> None:
    code = (
        "import sys; from densray.cli.entry import run; run(['--help']); "
        "sys.exit(str({'numpy', 'sklearn', 'polars', 'altair'} & set(sys.modules)).replace('set()', '') or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_output_is_refused_before_any_work(tmp_path: Path) -> None:
    existing = tmp_path / "there.bin"
    existing.write_text("old")
    with pytest.raises(OutputError, match="does not exist"):
        check_output(tmp_path / "nowhere" / "a.bin", overwrite=True)
    with pytest.raises(OutputError, match="overwrite=True"):
        check_output(existing, overwrite=False)
    with pytest.raises(OutputError, match="is a folder"):
        check_output(tmp_path, overwrite=True)
    assert check_output(existing, overwrite=True) == existing
    assert check_output(tmp_path / "new.bin", overwrite=False) == tmp_path / "new.bin"
    assert existing.read_text() == "old"


def test_answers_are_tables_or_unrounded_json(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("τ", ["method", Column("tau", decimals=2)], [{"method": "svm", "tau": 1 / 3}])
    show(table, as_json=False)
    printed = capsys.readouterr().out
    assert "0.33" in printed
    assert "0.333" not in printed
    assert "\x1b" not in printed
    show(table, as_json=True)
    assert json.loads(capsys.readouterr().out)["rows"] == [{"method": "svm", "tau": 1 / 3}]
    print_json([1, None])
    assert json.loads(capsys.readouterr().out) == [1, None]


def test_long_cells_are_not_folded_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    show(Table("", ["text"], [{"text": "word " * 40}]), as_json=False)
    assert ("word " * 40).strip() in capsys.readouterr().out


def test_a_comparison_is_a_list_of_rows_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    ours = [{"block": "original", "word": "actress", "anchor": "man", "ours": 0.2251}]
    show_comparison("table3", ours, as_json=True)
    assert json.loads(capsys.readouterr().out) == [{**ours[0], "paper": 0.23}]
    show_comparison("table3", ours, as_json=False)
    assert "1 of 1 cells" in capsys.readouterr().out


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def wait_for(text: str, stream: io.StringIO) -> None:
    """Wait until a bar is drawn; a slow machine may take its time."""
    end = time.monotonic() + 60
    while text not in stream.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    assert text in stream.getvalue()


def test_progress_is_shown_for_long_work_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("densray.cli.terminal._SECONDS_BEFORE_BAR", 0.0)
    with progress_bar("Reading [tiny]") as progress:
        progress(1, 2)
        wait_for("Reading [tiny]", stream)


@pytest.mark.parametrize(
    ("quiet", "terminal", "seconds"), [(True, True, 0.0), (False, False, 0.0), (False, True, 60.0)]
)
def test_progress_is_not_shown_for_short_work_in_a_pipe_or_when_quiet(
    monkeypatch: pytest.MonkeyPatch, quiet: bool, terminal: bool, seconds: float
) -> None:
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("densray.cli.terminal._SECONDS_BEFORE_BAR", seconds)
    with progress_bar("Reading", quiet=quiet) as progress:
        progress(1, 2)
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("steps", "shown"), [(0, False), (1, True)])
def test_no_percentage_is_shown_before_a_step_is_done(monkeypatch: pytest.MonkeyPatch, steps: int, shown: bool) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("densray.cli.terminal._SECONDS_BEFORE_BAR", 0.0)
    with progress_bar("Working") as progress:
        for step in range(steps):
            progress(step + 1, 4)
        wait_for("25%" if shown else "Working", stream)
    assert ("25%" in stream.getvalue()) == shown
    assert " 0%" not in stream.getvalue()


def test_notes_are_for_people_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, quiet, text in (
        (Terminal(), False, "hello\n"),
        (Terminal(), True, ""),
        (io.StringIO(), False, ""),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        note("hello", quiet=quiet)
        assert stream.getvalue() == text


def test_flags_show_no_type_and_tables_come_in_the_order_of_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "--help"]) == 0
    shown = capsys.readouterr().out
    places = [shown.index(f" {name} ") for name in ("table1", "figure1", "table3", "figure2", "table4", "table6")]
    assert places == sorted(places)
    assert run(["fit", "--help"]) == 0
    assert "bool" not in shown + capsys.readouterr().out


WRITING = {
    "demo": ["demo", "-o", "TARGET.html"],
    "fit": ["fit", "googlenews-26k", "gender", "-o", "TARGET.safetensors"],
    "induce": ["induce", "googlenews-26k", "gender", "-o", "TARGET.tsv"],
    "convert": ["convert", "googlenews-26k", "-o", "TARGET.vec"],
    "rotate": ["rotate", "googlenews-26k", "AXIS", "-o", "TARGET.vec"],
    "erase": ["erase", "googlenews-26k", "AXIS", "-o", "TARGET.vec"],
    "evaluate stability": ["evaluate", "stability", "googlenews-26k", "hu-liu", "-o", "TARGET.svg"],
    "evaluate bias": ["evaluate", "bias", "--report", "TARGET.html"],
    "evaluate retrieval": ["evaluate", "retrieval", "docs.parquet", "--pair-column", "case", "-o", "TARGET.svg"],
    "reproduce figure1": ["reproduce", "figure1", "-o", "TARGET.svg"],
    "reproduce figure2": ["reproduce", "figure2", "-o", "TARGET.svg"],
    "data fetch": ["data", "fetch", "glove-6b"],
}


@pytest.fixture(scope="module")
def axis(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved axis."""
    path = tmp_path_factory.mktemp("axis") / "gender.safetensors"
    options = ["--method", "mean-difference", "--no-judge", "--quiet"]  # a predictive axis would be warned of
    assert run(["fit", "googlenews-26k", "gender", "-o", str(path), *options]) == 0
    return path


@pytest.mark.parametrize("name", WRITING)
def test_a_terminal_shows_the_output_path_before_the_computation(
    name: str, axis: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise LexiconError("this is where the work begins")

    work = (
        "datasets.load_space",
        "datasets.fetch",
        "demonstration.demonstrate",
        "erasure.rewrite_space",
        "retrieval.open_table",
    )
    for function in (*work, "streaming.rewrite_space"):
        importlib.import_module(f"densray.{function.split('.')[0]}")
        monkeypatch.setattr(f"densray.{function}", refuse)
    monkeypatch.setenv("DENSRAY_DATA", str(tmp_path))
    arguments = [word.replace("TARGET", str(tmp_path / "new")).replace("AXIS", str(axis)) for word in WRITING[name]]
    for stream, said in ((Terminal(), 1), (io.StringIO(), 0)):  # elsewhere, an error is one line and nothing else
        monkeypatch.setattr(sys, "stderr", stream)
        assert run(arguments) == 2
        *before, last = stream.getvalue().splitlines()
        assert last == "densray: this is where the work begins"
        assert len(before) == said
        assert all(str(tmp_path) in line for line in before)


# Messages of the library name arguments, and the command line writes them as options: one vocabulary, no table.


PACKAGE = Path(densray.__file__).parent
OPTIONS = options_of(command())
#: Options, and commands of densray.
SPOKEN = re.compile(r"(?<![\w-])--[a-z]|densray (fit|diagnose|induce|rotate|erase|convert|evaluate|explore)\b")
#: An argument written as text: ``name=``, or a name with an underscore.
WRITTEN = re.compile(r"(?<![\w.])(?:([a-z][a-z_]*)=(?!=)|([a-z]+(?:_[a-z]+)+)\b)")
#: Arguments that only Python has: no command sets them, so no run of a command meets their messages.
PYTHON_ALONE = {
    "anchors", "batch_size", "blocks", "center_labels", "cosine", "equalize", "estimator", "labels", "layer", "level",
    "model", "models", "n_train", "names", "normalize_differences", "other_lexicon", "positions", "precision", "rows",
    "skip_first", "strictness", "topn", "vector_column", "vectors", "weights", "zeros",
}  # fmt: skip


def messages(path: Path) -> Iterator[ast.AST]:
    """The nodes of a module that make an error or a warning, or a part of one."""
    makers = ("Error", "Warning", "warn", "problem", "Advice")
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Raise) or called.endswith(makers):
            yield node


def texts(path: Path) -> Iterator[str]:
    """The texts of what a module raises and warns of, with ``{}`` for what is filled in."""
    for node in messages(path):
        for part in ast.walk(node):
            if isinstance(part, ast.JoinedStr):
                yield "".join(each.value if isinstance(each, ast.Constant) else "{}" for each in part.values)
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value


LIBRARY = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "cli"]
MESSAGES = sorted({text for path in LIBRARY for text in texts(path) if " " in text})


def test_errors_of_the_library_do_not_speak_command_line() -> None:
    assert len(MESSAGES) > 300  # they are found
    assert [text for text in MESSAGES if SPOKEN.search(text)] == []


def test_no_message_writes_an_argument_that_is_an_option_as_text() -> None:
    leaked = {
        text
        for text in MESSAGES
        for names in WRITTEN.findall(text)
        for name in names
        if name and f"--{name.replace('_', '-')}" in OPTIONS
    }
    leaked |= {text for text in MESSAGES if "{}=" in text}  # a name that is filled in
    assert leaked == {text for text in leaked if "(dtype=str)" in text}, "name it with an Argument"  # NumPy's


def test_every_argument_that_a_message_names_is_an_option_or_pythons_alone() -> None:
    named = {
        node.args[0].value
        for path in LIBRARY
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "Argument"
        and isinstance(node.args[0], ast.Constant)
    }
    options = {name for name in named if f"--{name.replace('_', '-')}" in OPTIONS}
    assert {"any_case", "overwrite", "n_axes", "bad_rows", "port"} <= options  # they are found
    unknown = named - options - PYTHON_ALONE
    assert unknown == set(), "name them as an option of a command is named, or add them to PYTHON_ALONE"


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        (Argument("any_case", True), "--any-case"),
        (Argument("judge", False), "densray fit --no-judge"),
        (Argument("label_names", ("low", "high")), "--label-names low,high"),
        (Argument("word_column", ...), "--word-column"),
        (Argument("encoding", "latin-1"), "densray convert --encoding latin-1"),
        (Argument("words_file", ...), "densray convert --words-file"),
        (Argument("words_file", "my words.txt"), "densray convert --words-file 'my words.txt'"),
        (Argument("limit", 1), "--limit 1"),
        (Argument("n_axes", 9), "densray erase --n-axes 9"),
        (Argument("n_axes"), "densray erase --n-axes"),
        (Argument("port", 8601), "densray explore --port 8601"),
        (Argument("zeros", "drop"), "zeros='drop'"),  # no command has it
    ],
)
def test_an_argument_is_written_as_the_option_of_a_command(argument: Argument, said: str) -> None:
    message = DensRayError("line 7: 'limit=5' stays, ", argument, ".")
    assert in_options(message, ["induce", "space.bin"]) == f"line 7: 'limit=5' stays, {said}."


def test_the_command_that_runs_is_known_by_its_arguments() -> None:
    assert running(["evaluate", "lexicon", "fit"]) == "evaluate lexicon"
    assert running(["--version"]) == ""


def test_a_long_line_is_wrapped_between_words_on_a_terminal_only(monkeypatch, capsys) -> None:
    from densray.cli import terminal

    monkeypatch.setenv("COLUMNS", "40")
    line = "On rows the erasure has not seen: mostly gone for linear models."
    terminal.say(line)
    assert capsys.readouterr().out == f"{line}\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    terminal.say(line)
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 2
    assert " ".join(shown) == line


def commands_below(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, each in group.commands.items():
        yield from commands_below(each, f"{path} {name}") if hasattr(each, "commands") else [(f"{path} {name}", each)]


def test_no_command_takes_an_option_twice_and_ignores_one() -> None:
    checked = 0
    for _, each in commands_below(command()):
        for option in each.params:
            if option.param_type_name != "option" or option.is_flag or option.multiple:
                continue
            name = option.opts[0]
            with pytest.raises(TaskError, match=f"^{name} was given 2 times. Give it once"):
                each.parse_args(typer.Context(each), [name, "1", name, "2"])
            checked += 1
    assert checked > 100


def test_a_repeated_list_is_answered_with_commas(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["score", "docs.parquet", "axis", "--by", "party", "--by", "year"]) == 2
    assert (
        "--by was given 2 times. Give it once. Separate several values by commas: --by A,B." in capsys.readouterr().err
    )
    assert run(["methods", "--quiet", "--quiet"]) in (0, 2), "a flag may be repeated"
    assert "times" not in capsys.readouterr().err
