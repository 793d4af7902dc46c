"""A feature runs through few files: whoever reads one opens no more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from densray import DensRay
from walk import files_run


@pytest.mark.slow
@pytest.mark.parametrize("shown", [[], ["--json"]])
def test_induce_runs_through_at_most_45_files(tmp_path: Path, shown: list[str]) -> None:
    command = ["induce", "googlenews-26k", "hu-liu", "-o", str(tmp_path / "words.csv"), *shown]
    script = Path(__file__).with_name("walk.py")
    done = subprocess.run([sys.executable, str(script), *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    files = int(done.stderr.splitlines()[-1].split()[0])
    assert 20 < files <= 45


def test_a_fit_runs_through_at_most_7_files() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 5)), np.repeat([1, -1], 20)
    ran = files_run(lambda: DensRay().fit(X, y))
    assert 2 < len(ran) <= 7, ran
