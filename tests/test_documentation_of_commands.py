"""Every command explains itself with an example, and has its place in the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from densray.cli.app import app

DOCUMENTS = Path(__file__).parents[1] / "docs"


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its full name."""
    children = getattr(command, "commands", None)
    if children is None:
        yield " ".join(path), command
        return
    for name, child in children.items():
        yield from commands(child, (*path, name))


COMMANDS = dict(commands(get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example(name: str) -> None:
    assert f"Example: densray {name}" in (COMMANDS[name].help or "")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_is_documented(name: str) -> None:
    pages = [page.read_text(encoding="utf-8") for page in DOCUMENTS.glob("*.md")]
    assert any(f"densray {name}" in page for page in pages)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_speaks_json(name: str) -> None:
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert "--json" in options or name == "explore"


def named(text: str) -> set[str]:
    """The commands in the code of a text; ``evaluate lexicon|bias`` are two."""
    spans = [span.removeprefix("densray ").rpartition(" ") for span in re.findall(r"`([a-z0-9 |]+)`", text)]
    return {f"{group} {name}".strip() for group, _, names in spans for name in names.split("|")}


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("docs/command-line.md", r"ends a command at once\.(.*?)The same command"),
        ("CHANGELOG.md", r"Long runs can be interrupted:(.*?)keep finished parts"),
    ],
)
def test_exactly_the_commands_that_resume_are_said_to(page: str, sentence: str) -> None:
    found = re.search(sentence, (DOCUMENTS.parent / page).read_text("utf-8"), flags=re.DOTALL)
    assert found is not None
    resume = {name for name in COMMANDS if any("--fresh" in parameter.opts for parameter in COMMANDS[name].params)}
    assert named(found.group(1)) == resume
