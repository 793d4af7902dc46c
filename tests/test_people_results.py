"""What docs/people.md says of people is in its data, and a part of the data is computed again."""

from __future__ import annotations

import json
import os
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from densray import load_space
from densray.axes._people import AGREEMENT, N_SCALES, N_SPACES

ROOT = Path(__file__).parents[1]
MEASURED = runpy.run_path(str(ROOT / "scripts" / "measure_people.py"))
NUMBERS: dict[str, Any] = json.loads((ROOT / "docs" / "people.json").read_text("utf-8"))
RECORDS: list[dict[str, Any]] = NUMBERS["records"]
PEOPLE = Path(os.environ.get("DENSRAY_DATA", "")) / "people"
#: Medians over Grand's scales that ten ratings and the seeds have to reach.
WANTED = {"glove-6b-100d": 0.44, "googlenews-26k": 0.51}


def grand(space: str) -> list[dict[str, Any]]:
    return [
        each for each in RECORDS if (each["source"], each["space"]) == ("grand", space) and "10" in each.get("both", {})
    ]


def test_every_scale_is_measured_in_every_space() -> None:
    scales = {(each["scale"], each["space"]) for each in RECORDS}
    assert len(scales) == len(RECORDS) == 132 * 4
    assert not {"grand cities_temperature", "grand cities_wealth"} & {scale for scale, _ in scales}


@pytest.mark.parametrize("space", WANTED)
def test_ten_ratings_and_seeds_are_ahead_of_either_alone(space: str) -> None:
    both, few = ([each[name]["10"] for each in grand(space)] for name in ("both", "few"))
    seeds = [each["methods"]["mean-difference"]["r"] for each in grand(space)]
    assert np.median(both) >= WANTED[space]
    assert np.median(both) > max(np.median(few), np.median(seeds)) + 0.05


def test_medians_are_those_of_the_records() -> None:
    for row in NUMBERS["medians"]:
        part = [each for each in RECORDS if each["space"] == row["space"] and MEASURED["kind_of"](each) == row["kind"]]
        values = [value for each in part if (value := MEASURED["value_of"](each, row["method"])) is not None]
        assert (len(values), np.median(values)) == (row["scales"], pytest.approx(row["median"]))
        assert row["low"] is None or row["low"] <= row["median"] <= row["high"]


def test_the_page_calls_no_predictor_certain_that_is_not() -> None:
    above = [
        row["predictor"]
        for row in NUMBERS["predictors"]
        if all(row[part]["low"] is not None and row[part]["low"] > 0 for part in MEASURED["PARTS"])
    ]
    page = " ".join((ROOT / "docs" / "people.md").read_text("utf-8").split())
    assert ("No predictor has an interval above 0 in all three columns." in page) == (above == [])


def test_the_agreement_that_commands_announce_is_that_of_the_data() -> None:
    rows = [row for row in NUMBERS["sizes"] if row["group"] == "grand" and row["space"] != "smollm2"]
    for size, ends in AGREEMENT.items():
        values = [row["sizes"][str(size)]["both"] for row in rows]
        assert (round(min(values), 2), round(max(values), 2)) == ends
    scales = [row["scales"] for row in rows]
    assert ((min(scales), max(scales)), len(rows)) == (N_SCALES, N_SPACES)


def test_no_change_that_the_page_calls_useless_gains_anything() -> None:
    page = " ".join((ROOT / "docs" / "people.md").read_text("utf-8").split())
    assert "No change has a significant gain in any column (each column covers all four spaces)." in page
    assert all(row[part]["low"] <= 0 for row in NUMBERS["feedback"] for part in MEASURED["PARTS"])
    spread = next(row for row in NUMBERS["feedback"] if row["policy"] == "suggested, spread")
    assert spread["choosing"]["high"] < 0  # the page says that it costs agreement there


@pytest.mark.skipif(not PEOPLE.is_dir(), reason="needs the ratings in DENSRAY_DATA")
def test_a_scale_measured_again_is_that_of_the_data() -> None:
    scale = next(MEASURED["grand"](PEOPLE / "grand"))
    kept = next(each for each in RECORDS if (each["scale"], each["space"]) == (scale.name, "googlenews-26k"))
    space = load_space("googlenews-26k")
    items = scale.ratings.align(space, any_case=True).unit()
    seeds = MEASURED["seed_rows"](space, scale.high, scale.low, scale.pairs)
    ends = MEASURED["ends_in"](space, scale.high, scale.low, scale.pairs)
    found = MEASURED["from_seeds"](items, seeds, ends) | MEASURED["from_suggestions"](space, scale, items)
    for method, figures in kept["methods"].items():
        assert found[method] == {name: pytest.approx(value, abs=2e-3) for name, value in figures.items()}
    again = MEASURED["from_ratings"](items, ends, {10: 100})
    for name in ("few", "both"):
        assert again[name]["10"] == pytest.approx(kept[name]["10"], abs=5e-3)
