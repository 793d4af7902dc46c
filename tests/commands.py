"""What tests of commands share: paths as arguments, and the JSON a command answers with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from densray.cli.entry import run


def paths_of(folder: Path, *names: str) -> list[str]:
    """Return files of a folder as arguments."""
    return [str(folder / name) for name in names]


def last_of_each(arguments: Sequence[str]) -> list[str]:
    """Return the arguments without the options, and their values, that are given again later.

    >>> last_of_each(["fit", "--folds", "5", "--json", "--folds", "10"])
    ['fit', '--json', '--folds', '10']
    """
    kept: list[str] = []
    places = iter(range(len(arguments)))
    for place in places:
        if arguments[place].startswith("--") and arguments[place] in arguments[place + 1 :]:
            next(places)  # its value
        else:
            kept.append(arguments[place])
    return kept


def run_for_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    """Run a command that must succeed, with ``--json``, and return what it answers."""
    capsys.readouterr()
    assert run([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)
