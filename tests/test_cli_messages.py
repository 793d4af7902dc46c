"""Messages of the library name arguments, and the command line says them as options: one vocabulary, no table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import densray
from densray.cli.app import command, options_of, running
from densray.cli.entry import in_options
from densray.errors import ARGUMENT

PACKAGE = Path(densray.__file__).parent
OPTIONS = options_of(command())
#: Options, and commands of densray.
SPOKEN = re.compile(r"(?<![\w-])--[a-z]|densray (fit|diagnose|induce|rotate|erase|convert|evaluate|explore)\b")
#: Arguments that only Python has: no command sets them, so no run of a command meets their messages.
PYTHON_ALONE = {
    "anchors", "binary", "bytes", "center_labels", "cosine", "estimator", "labels", "level",
    "max_iter", "model", "n_partners", "n_train", "normalize_differences", "other_lexicon", "precision", "rows",
    "strictness", "vector_column", "vectors", "weights", "zeros",
}  # fmt: skip


def texts(path: Path) -> Iterator[str]:
    """The texts of what a module raises and warns of, with ``{}`` for what is filled in."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Raise) or called.endswith(("Error", "warn", "problem")):
            for part in ast.walk(node):
                if isinstance(part, ast.JoinedStr):
                    yield "".join(each.value if isinstance(each, ast.Constant) else "{}" for each in part.values)
                elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


MESSAGES = sorted(
    {text for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "cli" for text in texts(path)}
)


def test_errors_of_the_library_do_not_speak_command_line() -> None:
    assert len(MESSAGES) > 300  # they are found
    assert [text for text in MESSAGES if SPOKEN.search(text)] == []


def test_every_argument_that_a_message_names_is_an_option_or_pythons_alone() -> None:
    named = {match["name"] for text in MESSAGES for match in ARGUMENT.finditer(text) if match["name"]}
    options = {name for name in named if f"--{name.replace('_', '-')}" in OPTIONS}
    assert {"any_case", "overwrite", "n_axes", "bad_rows", "port"} <= options  # they are found
    unknown = named - options - PYTHON_ALONE - {"priorpolarity"}  # a field of MPQA
    assert unknown == set(), "name them as an option of a command is named, or add them to PYTHON_ALONE"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Use any_case=True.", "Use --any-case."),
        ("With judge=False it is saved alone.", "With densray fit --no-judge it is saved alone."),
        ("others with label_names=(low, high).", "others with --label-names low,high."),
        ("say: word_column=, label_column= (names)", "say: --word-column, --label-column (names)"),
        ("(encoding='latin-1', say)", "(densray convert --encoding latin-1, say)"),
        ("name the file: words_file='…'.", "name the file: densray convert --words-file."),
        ("read the first 7 with limit=7.", "read the first 7 with --limit 7."),
        ("n_axes=9 is given; Lower n_axes.", "densray erase --n-axes 9 is given; Lower densray erase --n-axes."),
        ("Choose another, such as port=8601.", "Choose another, such as densray explore --port 8601."),
        ("line 7: 'a=b' and x.limit=5 stay", "line 7: 'a=b' and x.limit=5 stay"),
    ],
)
def test_an_argument_is_said_as_the_option_of_a_command(message: str, said: str) -> None:
    assert in_options(message, ["induce", "space.bin"]) == said


def test_the_command_that_runs_is_known_by_its_arguments() -> None:
    assert running(["evaluate", "lexicon", "fit"]) == "evaluate lexicon"
    assert running(["--version"]) == ""
