"""What the README claims is true: its example runs, its commands and links exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    return [text for found, text in fenced if found == language]


def test_the_example_runs_and_its_assertions_hold():
    (example,) = blocks("python")
    assert len(example.strip().splitlines()) <= 18
    assert example.strip().splitlines()[-1].startswith("assert")
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert names["tau"] < 0.75  # a number of unseen words, not of the training


@pytest.mark.parametrize(
    "line", [line for block in blocks("") for line in block.splitlines() if line.startswith("densray")]
)
def test_every_command_of_the_readme_exists_with_its_options(line):
    from densray.cli.app import app

    words = line.split("#")[0].split()
    command = get_command(app)
    position = 1
    while hasattr(command, "commands") and position < len(words):
        command = command.commands[words[position]]
        position += 1
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= options


def test_the_two_commands_are_targets_of_make():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", README, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_every_file_the_readme_names_is_there():
    named = re.findall(r"\]\(([^)]+)\)", README) + re.findall(r"`([A-Z][A-Z.a-z]*(?:/[\w.]+)?\.(?:md|cff))`", README)
    assert len(named) > 4
    for name in named:
        assert (ROOT / name).exists(), name
