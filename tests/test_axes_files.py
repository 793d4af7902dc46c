"""An axis fitted and saved in one call: the file scores words as the diagnosis does, and says how far to trust it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from densray import Lexicon, WordSpace
from densray.axes import diagnose
from densray.axes._files import fit_axis, load_axis_model
from densray.datasets import load_lexicon
from densray.errors import OutputError
from densray.persistence import load_attachments, read_header


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
    header = read_header(saved.path)
    assert header["notes"]["verdict"]["line"] == known.verdict.line
    assert header["label_names"] == ["she", "he"]
    model, _ = load_axis_model(saved.path, space)
    errors = [each.score(space.vectors).standard_error for each in (model, known.model)]
    np.testing.assert_allclose(*errors, rtol=1e-5)


def test_an_axis_that_is_not_judged_needs_few_seeds_and_carries_no_errors(
    googlenews: WordSpace, tmp_path: Path
) -> None:
    seeds = Lexicon({"good": 1, "bad": -1, "nowhere to be found": 1})
    saved = fit_axis(googlenews, seeds, tmp_path / "axis.npz", method="mean-difference", n_components=1, judge=False)
    assert saved.diagnosis is None
    assert (saved.seeds.n_words, list(saved.seeds.missing)) == (2, ["nowhere to be found"])
    assert set(load_attachments(saved.path)).isdisjoint({"resampled", "calibration"})
    assert load_axis_model(saved.path, googlenews)[0].score(googlenews.vectors[:3]).standard_error is None
    with pytest.raises(OutputError, match="exists"):
        fit_axis(googlenews, seeds, saved.path, method="mean-difference", judge=False)
