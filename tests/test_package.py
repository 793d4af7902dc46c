"""The package as a whole: what importing costs, what it names, what its files say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import densray

ROOT = Path(__file__).parent.parent


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


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


def test_importing_an_estimator_costs_little_beyond_scikit_learn():
    """As processor time of a fresh interpreter, the best of three: the machine may be busy."""
    code = "import time; {}; print(time.process_time())"
    ours = min(float(run(code.format("from densray import DensRay"))) for _ in range(3))
    theirs = min(float(run(code.format("import sklearn.base, scipy.linalg"))) for _ in range(3))
    assert ours < theirs + 0.3
    assert ours < 3.0  # one second on a machine of its own


def test_every_public_name_is_there():
    for name in densray.__all__:
        assert getattr(densray, name) is not None
    assert set(densray.__all__) <= set(dir(densray))
    with pytest.raises(AttributeError, match="no attribute 'Densray'"):
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
