"""The package as a whole: what importing costs, what it names, what its files say."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import densray
from densray._arrays import check_numpy
from densray.errors import MissingExtraError
from densray.space import WordSpace

ROOT = Path(__file__).parent.parent


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_a_numpy_that_is_too_old_is_named():
    wanted = next(each for each in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
                  if each.startswith("numpy"))  # fmt: skip
    least = wanted.removeprefix("numpy>=")
    code = (
        "import numpy; numpy.__version__ = '1.26.4'\n"
        "from densray.cli.entry import run\n"
        "try: from densray import DensRay\n"
        "except ImportError as error: print(error)\n"
    )
    assert run(code).startswith(f"numpy 1.26.4 is installed; densray needs {least} or later. Run: pip install")
    check_numpy(f"{least}.0")
    check_numpy("3.0.0rc1")
    major, minor = map(int, least.split("."))
    with pytest.raises(MissingExtraError, match=f"needs {least} or later"):
        check_numpy(f"{major}.{minor - 1}.9")


def test_an_estimator_needs_numpy_scipy_and_scikit_learn_only():
    heavy = [
        "polars",
        "typer",
        "altair",
        "rich",
        "pooch",
        "streamlit",
        "dask",
        "torch",
        "gensim",
        "spacy",
        "array_api_compat",
    ]
    code = f"import sys; from densray import DensRay; print([m for m in {heavy!r} if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_importing_an_estimator_imports_little_beyond_scikit_learn():
    """What it imports is told rather than timed: the machine may be busy, or have no compiled files yet."""
    code = "import sys; {}; print(*sorted(sys.modules))"
    ours = set(run(code.format("from densray import DensRay")).split())
    theirs = set(run(code.format("import sklearn.base, scipy.linalg")).split())
    more = {name for name in ours - theirs if name.partition(".")[0] != "densray"}
    assert len(more) <= 5, sorted(more)


def test_every_public_name_is_there():
    for name in densray.__all__:
        assert getattr(densray, name) is not None
    assert set(densray.__all__) <= set(dir(densray))
    with pytest.raises(AttributeError, match="Densray"):
        densray.Densray  # noqa: B018


def test_the_version_is_the_newest_heading_of_the_changelog():
    heading = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert heading is not None
    assert heading.group(1) == densray.__version__


def test_every_error_is_of_the_one_family():
    from densray import errors

    kinds = [getattr(errors, name) for name in errors.__all__ if name.endswith("Error")]
    assert len(kinds) > 10
    assert all(issubclass(kind, errors.DensRayError) and issubclass(kind, ValueError) for kind in kinds)


def test_ci_runs_every_check_and_a_hosted_runner_runs_ci():
    targets = re.findall(r"^(test[\w-]*|lint|docs|release-check):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert {"lint", "test", "test-slow", "test-lowest", "docs", "release-check"} == set(targets)
    commands = re.findall(r"\bmake ([\w-]+)", (ROOT / ".ci" / "run").read_text())
    assert set(targets) <= set(commands)
    assert re.search(r"run: .*\.ci/run$", (ROOT / ".github" / "workflows" / "ci.yml").read_text(), flags=re.MULTILINE)


def test_the_hosted_runner_tests_every_supported_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {each.rsplit(" ", 1)[1] for each in project["classifiers"] if re.search(r"Python :: 3\.\d+$", each)}
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    (tried,) = re.findall(r"^ +python: \[(.*)\]$", workflow, flags=re.MULTILINE)
    assert named == set(re.findall(r'"(3\.\d+)"', tried))
    assert project["requires-python"] == f">={min(named, key=lambda name: int(name.split('.')[1]))}"


def test_the_extra_for_language_models_can_draw_the_figures_of_its_commands():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert "densray[figures]" in extras["models"]


@pytest.mark.parametrize("command", [["data", "list"], ["data", "path", "google"], ["methods"], ["--help"]])
def test_lists_and_paths_import_neither_scikit_learn_nor_scipy(command: list[str]) -> None:
    code = (
        "import sys; from densray.cli.entry import run; code = run(sys.argv[1:]);"
        "print([name for name in ('sklearn', 'scipy', 'polars') if name in sys.modules], file=sys.stderr);"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


MISSING = {
    "pandas": ("to_pandas", "A pandas frame needs pandas, which is not installed. Run: pip install pandas"),
    "gensim": (
        "to_gensim",
        'KeyedVectors need gensim, which is not installed. Run python -m pip install ".[gensim]" in your checkout of '
        'densray (once it is published: pip install "densray[gensim]").',
    ),
    "spacy": ("to_spacy", "A Vocab needs spacy, which is not installed. Run: pip install spacy"),
}


@pytest.mark.parametrize("library", MISSING)
def test_a_missing_library_is_named_with_the_command_that_installs_it(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, message = MISSING[library]
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=re.escape(message)):
        getattr(WordSpace(["a", "b"], np.eye(2)), method)()
