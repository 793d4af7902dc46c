"""The page on new methods keeps its promise: its file and line, put into a copy of the library, pass every property."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the library and its tests with the method of the page in it, as the page says."""
    folder = tmp_path_factory.mktemp("library")
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)
    page = (ROOT / "docs" / "how-to" / "new-method.md").read_text("utf-8")
    blocks = re.findall(r"^```(?:python)?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    module = next(block for block in blocks if "class DirectionDifference" in block)
    (line,) = (block for block in blocks if block.startswith("Method("))
    rotations = folder / "src" / "densray" / "rotations"
    (rotations / "_direction_difference.py").write_text(module, "utf-8")
    table = (rotations / "_methods.py").read_text("utf-8")
    table = table.replace('    Method("pair-direction"', f'{indent(line, "    ")}    Method("pair-direction"')
    imported = "from densray.rotations._direction_difference import DirectionDifference\n"
    table = table.replace("from densray.rotations._linear", imported + "from densray.rotations._linear", 1)
    (rotations / "_methods.py").write_text(table, "utf-8")
    return folder


def run(folder: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    return done.stdout


@pytest.mark.slow
def test_the_method_of_the_page_passes_every_property(library: Path) -> None:
    plain = ("pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    files = ("tests/test_rotations.py", "tests/test_persistence.py")
    said = run(library, *plain, *files, "-k", "direction-difference")
    passed = re.search(r"(\d+) passed", said)
    assert passed is not None
    assert int(passed[1]) >= 30


@pytest.mark.slow
def test_the_method_of_the_page_is_known_to_the_command_line_and_to_the_tools(library: Path) -> None:
    assert "direction-difference" in run(library, "densray", "methods")
    run(library, "ruff", "check", "src/densray/rotations")
    run(library, "ruff", "format", "--check", "src/densray/rotations")
    run(library, "mypy")
