"""An axis fitted and saved in one call: the file scores words as the diagnosis does, and says how far to trust it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from densray import Lexicon, WordSpace
from densray.axes import AxisModel, diagnose, fit_axis, induce_by_axis
from densray.datasets import load_lexicon
from densray.errors import OutputError
from densray.persistence import AxisFile
from densray.report import Input


@pytest.fixture(scope="module")
def gender() -> Lexicon:
    return load_lexicon("gender")


def test_a_judged_axis_is_that_of_its_diagnosis(googlenews: WordSpace, gender: Lexicon, tmp_path: Path) -> None:
    space, asked = googlenews.limit(8_000), {"method": "mean-difference", "n_resamples": 20, "n_permutations": 19}
    saved = fit_axis(space, gender, tmp_path / "axis.npz", label_names=("she", "he"), **asked)
    assert saved.diagnosis is not None
    known = diagnose(space, gender, **asked)
    assert saved.diagnosis.verdict == known.verdict
    assert (saved.method, saved.seeds.n_words) == ("mean-difference", known.n_seeds)
    header = AxisFile.read(saved.path).header
    assert header["notes"]["verdict"]["line"] == known.verdict.line
    assert header["label_names"] == ["she", "he"]
    model = AxisModel.from_file(AxisFile.read(saved.path))
    errors = [each.score(space.vectors).standard_error for each in (model, known.model)]
    np.testing.assert_allclose(*errors, rtol=1e-5)


def test_an_axis_that_is_not_judged_needs_few_seeds_and_carries_no_errors(
    googlenews: WordSpace, tmp_path: Path
) -> None:
    seeds = Lexicon({"good": 1, "bad": -1, "nowhere to be found": 1})
    saved = fit_axis(googlenews, seeds, tmp_path / "axis.npz", method="mean-difference", n_components=1, judge=False)
    assert saved.diagnosis is None
    assert (saved.seeds.n_words, list(saved.seeds.missing)) == (2, ["nowhere to be found"])
    file = AxisFile.read(saved.path)
    assert set(file.attachments).isdisjoint({"deviations", "calibration"})
    assert AxisModel.from_file(file).score(googlenews.vectors[:3]).standard_error is None
    with pytest.raises(OutputError, match="exists"):
        fit_axis(googlenews, seeds, saved.path, method="mean-difference", judge=False)


def test_scoring_by_a_saved_axis_opens_its_file_once(googlenews: WordSpace, gender: Lexicon, tmp_path: Path) -> None:
    space = googlenews.limit(8_000)
    saved = fit_axis(space, gender, tmp_path / "axis.npz", method="mean-difference", n_permutations=19)
    opened: list[str] = []

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and str(arguments[0]) == str(saved.path):
            opened.append(event)

    sys.addaudithook(note)  # it stays, and minds this file alone
    induced = induce_by_axis(space, saved.path)
    assert len(opened) == 1
    assert induced.provenance.inputs[1] == Input.of("axis", saved.path)
