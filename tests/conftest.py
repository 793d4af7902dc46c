"""Fixtures every test module may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real lexicons and analogies that ``DENSRAY_DATA`` names; skips where there is none."""
    folder = os.environ.get("DENSRAY_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("DENSRAY_DATA names no folder of real lexicons and analogies")
    return Path(folder)
