"""Fixtures every test module may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import numpy as np
import pytest

from densray import Lexicon, WordSpace, load_space
from densray.datasets import load_lexicon

# The same examples in every CI run, so that a failure is due to the change; new ones on every other machine.
hypothesis.settings.register_profile("fixed-seeds", derandomize=True, database=None)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("fixed-seeds")


@pytest.fixture(scope="session", autouse=True)
def journal_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where commands keep the parts of interrupted runs: not in the cache of whoever runs the tests."""
    folder = tmp_path_factory.mktemp("kept") / "journal"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DENSRAY_JOURNAL", str(folder))
        yield folder


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real lexicons and analogies that ``DENSRAY_DATA`` names; skips where there is none."""
    folder = os.environ.get("DENSRAY_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("DENSRAY_DATA names no folder of real lexicons and analogies")
    return Path(folder)


@pytest.fixture(scope="session")
def googlenews() -> WordSpace:
    """The bundled space at unit length."""
    return load_space("googlenews-26k").normalized()


@pytest.fixture(scope="session")
def sentiment() -> Lexicon:
    """The bundled sentiment lexicon of Hu & Liu."""
    return load_lexicon("hu-liu")


@pytest.fixture(scope="session")
def sentiment_split(googlenews: WordSpace, sentiment: Lexicon) -> tuple[np.ndarray, ...]:
    """Real vectors and labels: training rows, training labels, test rows, test labels (three to one)."""
    aligned = sentiment.align(googlenews)
    order = np.random.default_rng(0).permutation(len(aligned.y))
    cut = int(0.75 * len(order))
    train, test = order[:cut], order[cut:]
    return aligned.X[train], aligned.y[train], aligned.X[test], aligned.y[test]
