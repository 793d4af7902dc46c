"""An axis fitted and saved in one call: the file scores words as the diagnosis does, and says how far to trust it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest

from densray import Lexicon, WordSpace
from densray.axes import AxisModel, diagnose, fit_axis, induce_by_axis
from densray.axes._files import is_axis_file, save_axis
from densray.datasets import load_lexicon
from densray.errors import DensRayError, OutputError
from densray.persistence import AxisFile
from densray.report import Input
from planted import planted_space


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


def test_a_saved_axis_carries_its_verdict_its_names_and_how_words_are_scored(tmp_path: Path) -> None:
    space, lexicon = planted_space(60, 5)
    asked: dict[str, Any] = {"method": "mean-difference", "n_permutations": 2}
    saved = fit_axis(space, lexicon, tmp_path / "axis.npz", label_names=("low", "high"), **asked)
    assert saved.diagnosis is not None
    induced = induce_by_axis(space, saved.path)
    assert induced.verdict == saved.diagnosis.verdict
    assert (induced.label_names, induced.method, induced.n_seeds) == (("low", "high"), "mean-difference", None)
    assert induce_by_axis(space, saved.path, label_names=("a", "b")).label_names == ("a", "b")
    assert len(AxisFile.read(saved.path).rotation.components_) == 5  # a lossless rotation
    bare = fit_axis(space, lexicon, tmp_path / "bare.npz", judge=False, normalize=False, n_components=2, **asked)
    assert len(AxisFile.read(bare.path).rotation.components_) == 2
    assert not AxisModel.from_file(AxisFile.read(bare.path)).normalize
    plain = induce_by_axis(space, bare.path)
    assert plain.verdict is None
    np.testing.assert_allclose(
        plain.scores.score, space.vectors @ AxisFile.read(bare.path).rotation.components_[0], atol=1e-5
    )
    unit = fit_axis(space, lexicon, bare.path, judge=False, overwrite=True, **asked)
    assert AxisModel.from_file(AxisFile.read(unit.path)).normalize
    with pytest.raises(OutputError, match="exists"):
        save_axis(AxisFile.read(unit.path).rotation, AxisModel(np.eye(5)[0]), unit.path, space=space)
    other = WordSpace([f"other{row}" for row in range(9)], np.random.default_rng(0).normal(size=(9, 5)))
    with pytest.raises(DensRayError):
        induce_by_axis(other, saved.path)
    assert induce_by_axis(other, saved.path, any_space=True).n_words == 9


def test_a_saved_rotation_is_known_by_its_ending_or_by_what_it_is(tmp_path: Path) -> None:
    archive, text = tmp_path / "axis", tmp_path / "words.txt"
    with ZipFile(archive, "w") as file:
        file.writestr("one", "two")
    text.write_text("good bad", "utf-8")
    assert [is_axis_file(str(each)) for each in (archive, text, tmp_path)] == [True, False, False]
    assert [is_axis_file(name) for name in ("absent.npz", "absent", "absent.vec")] == [True, False, False]
