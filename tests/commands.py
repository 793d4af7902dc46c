"""What tests of commands share: paths as arguments, and the JSON a command answers with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from densray.cli.entry import run


def paths_of(folder: Path, *names: str) -> list[str]:
    """Return files of a folder as arguments."""
    return [str(folder / name) for name in names]


def run_for_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    """Run a command that must succeed, with ``--json``, and return what it answers."""
    capsys.readouterr()
    assert run([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)
