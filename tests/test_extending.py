"""The pages on a new method, task and format hold: put into a copy of the library, what they add passes its tests."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

ROOT = Path(__file__).parent.parent
HOW_TO = ROOT / "docs" / "how-to"


def blocks(page: str) -> list[str]:
    """The blocks of code of a page."""
    return re.findall(r"^```(?:python|\{code-block\} python)?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def one(found: list[str], beginning: str) -> str:
    """The one block that begins so."""
    (block,) = (block for block in found if block.startswith(beginning))
    return block


def insert(path: Path, text: str, *, after: str) -> None:
    """Put text behind the one place where something stands."""
    before = path.read_text("utf-8")
    assert before.count(after) == 1
    path.write_text(before.replace(after, after + text), "utf-8")


def add_method(folder: Path) -> None:
    found = blocks((HOW_TO / "new-method.md").read_text("utf-8"))
    package = folder / "src" / "densray"
    module = one(found, '"""The difference of mean directions')
    (package / "rotations" / "_direction_difference.py").write_text(module, "utf-8")
    insert(package / "methods.py", indent(one(found, "Method("), "    "), after="_ALL = (\n")
    insert(folder / "ARCHITECTURE.md", ", `_direction_difference`", after="`_seeded`, `_sequence`")


def add_format(folder: Path) -> None:
    found = blocks((HOW_TO / "new-format.md").read_text("utf-8"))
    formats = folder / "src" / "densray" / "formats"
    (formats / "_json_arrays.py").write_text(one(found, '"""JSON arrays'), "utf-8")
    table = formats / "_reading.py"
    insert(table, indent(one(found, "Format("), "    "), after="_ALL = (\n")
    imported = "from densray.formats._json_arrays import read_json_arrays, write_json_arrays\n"
    before = table.read_text("utf-8")
    table.write_text(
        before.replace("from densray.formats._parquet", imported + "from densray.formats._parquet"), "utf-8"
    )
    page, row = folder / "docs" / "formats.md", one(found, "| JSON arrays")
    page.write_text(page.read_text("utf-8").replace("| native (", row + "| native ("), "utf-8")
    insert(
        folder / "ARCHITECTURE.md", ", `_json_arrays`", after="`_safetensors`, `_parquet_pages`, `_parquet`, `_tables`"
    )


def add_task(folder: Path) -> None:
    page = (HOW_TO / "new-task.md").read_text("utf-8")
    found, package = blocks(page), folder / "src" / "densray"
    (package / "axes" / "_neighbors.py").write_text(one(found, '"""Labels of neighbours'), "utf-8")
    commands = package / "cli" / "evaluate.py"
    commands.write_text(commands.read_text("utf-8") + "\n\n" + one(found, "@with_option_groups"), "utf-8")
    line, imported = re.findall(r"^\| `src/[^|]*\| `(.*)` \|$", page, re.MULTILINE)
    bias = '    "bias": (evaluate.evaluate_bias, "Measure a concept before and after it is removed"),\n'
    insert(package / "cli" / "app.py", f"    {line}\n", after=bias)
    names = package / "axes" / "__init__.py"
    insert(names, f"{imported}\n", after="from densray.axes._verdict import AUC_MARKS, RELIABILITY_MARKS, Verdict\n")
    insert(names, '    "NeighborAgreement",\n    "evaluate_neighbors",\n', after="__all__ = [\n")
    insert(folder / "ARCHITECTURE.md", ", `_neighbors`", after="`_comparison`, `_spaces`")
    row = "| `densray evaluate neighbors` | whether words near each other have one label | |\n"
    insert(folder / "docs" / "command-line.md", row, after="preserved | {doc}`debiasing` |\n")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the library, its tests and its pages with the method, the format and the task in it."""
    folder = tmp_path_factory.mktemp("library")
    ignored = shutil.ignore_patterns("__pycache__", "_build", "gallery", "generated", "images")
    for name in ("src", "tests", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "ARCHITECTURE.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    for add in (add_method, add_format, add_task):
        add(folder)
    run(folder, "ruff", "check", "--quiet", "--select", "I,RUF022", "--fix", "src")  # the order of names and imports
    return folder


def run(folder: Path, *command: str, code: int = 0) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout[-3000:] + done.stderr[-1000:]
    return done.stdout if code == 0 else done.stderr


def passed(library: Path, chosen: str, *files: str) -> int:
    """Run the tests of some files that have such names; return how many passed."""
    plain = ("pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    said = run(library, *plain, *(f"tests/{file}" for file in files), "-k", chosen)
    found = re.search(r"(\d+) passed", said)
    assert found is not None
    return int(found[1])


def test_what_the_pages_add_finds_its_place(library: Path) -> None:
    added = ("rotations/_direction_difference.py", "formats/_json_arrays.py", "axes/_neighbors.py")
    assert all((library / "src" / "densray" / name).is_file() for name in added)


@pytest.mark.slow
def test_the_tools_accept_what_the_pages_add(library: Path) -> None:
    run(library, "ruff", "check", "src")
    added = ("rotations/_direction_difference.py", "formats/_json_arrays.py", "axes/_neighbors.py")
    files = [f"src/densray/{name}" for name in added]
    run(library, "ruff", "format", "--check", "--line-length", "88", *files)  # as wide as a page
    run(library, "mypy")


@pytest.mark.slow
def test_the_method_of_the_page_passes_every_property(library: Path) -> None:
    files = ("test_rotations.py", "test_persistence.py", "test_standardized_columns.py")
    assert passed(library, "direction-difference", *files) >= 30
    assert passed(library, "_direction_difference or _json_arrays", "test_architecture.py") == 2
    assert "direction-difference" in run(library, "densray", "methods")


@pytest.mark.slow
def test_the_format_of_the_page_passes_every_property(library: Path) -> None:
    files = ("test_formats_round_trips.py", "test_formats_fuzz.py")
    assert passed(library, "json-arrays or jsonv or documented", *files) >= 7
    assert passed(library, "sample and space", "test_attacks.py") == 1


@pytest.mark.slow
def test_the_format_of_the_page_is_known_to_the_command_line(library: Path, tmp_path: Path) -> None:
    target = str(tmp_path / "some.jsonv.gz")
    run(library, "densray", "convert", "googlenews-26k", "--limit", "50", "-o", target)
    assert json.loads(run(library, "densray", "info", target, "--json"))["words"] == 50
    broken = tmp_path / "broken.jsonv"
    broken.write_text('["a", [1]]\n["b"]\n', "utf-8")
    said = run(library, "densray", "info", str(broken), code=2)
    assert "broken.jsonv, line 2" in said
    assert len(said.splitlines()) == 1


@pytest.mark.slow
def test_the_task_of_the_page_passes_what_every_task_does(library: Path) -> None:
    files = ("test_documentation.py", "test_architecture.py")
    assert passed(library, "(evaluate and neighbors) or _neighbors", *files) == 5
    assert passed(library, "every_task_returns or public_name", "test_documentation.py") == 2


@pytest.mark.slow
def test_the_command_of_the_page_says_what_its_function_returns(library: Path) -> None:
    found = json.loads(run(library, "densray", "evaluate", "neighbors", "googlenews-26k", "gender", "--json"))
    code = (
        "from densray import load_lexicon, load_space; from densray.axes import evaluate_neighbors;"
        "found = evaluate_neighbors(load_space('googlenews-26k'), load_lexicon('gender'));"
        "print(found.agreement, found.chance)"
    )
    environment = {**os.environ, "PYTHONPATH": str(library / "src")}
    printed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert [found["agreement"], found["chance"]] == list(map(float, printed.stdout.split()))
    assert found["agreement"] > found["chance"] + 0.1
    said = run(library, "densray", "evaluate", "neighbors", "googlenews-26k", "gender", "--n-neighbors", "9999", code=2)
    assert "--n-neighbors 9999" in said
