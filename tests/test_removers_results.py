"""The sentences of the page on removers hold for its numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from densray.removers import CurvePoint, DirectionChoice

NUMBERS = Path(__file__).parents[1] / "docs" / "removers.json"
PROBES = ("cv rbf", "transfer rbf", "transfer quadratic")
CHOSEN = "covariance-difference"


@pytest.fixture(scope="module")
def audit() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(NUMBERS.read_text("utf-8"))
    return found


def chosen(audit: dict[str, Any], kind: str = "") -> dict[str, dict[str, Any]]:
    """The figures of the chosen number of directions, by set."""
    sets = {name: entry["three probes"].get(CHOSEN) for name, entry in audit.items() if name.startswith(kind)}
    return {name: found["0"] for name, found in sets.items() if found}


def strongest(found: dict[str, Any]) -> float:
    """AUC of the strongest of three probes, with or without its interval."""
    return max(float(np.ravel(found[probe])[0]) for probe in PROBES)


def test_every_published_choice_follows_from_its_curve_by_the_rule(audit: dict[str, Any]) -> None:
    for name, found in chosen(audit).items():
        curve = tuple(CurvePoint.from_dict(point) for point in found["choice"]["curve"])
        assert DirectionChoice.of(curve).n_axes == found["choice"]["n_axes"], name
        assert found["neighbours"] > 0.45, name  # half in the rows that chose it


@pytest.mark.parametrize(
    ("kind", "n_sets", "least", "most", "before", "after"),
    [
        ("googlenews", 9, 32, 64, 0.90, 0.81),
        ("glove", 9, 4, 16, 0.85, 0.79),
        ("minilm", 4, 1, 64, 0.78, 0.71),
        ("smollm2", 4, 1, 2, 0.72, 0.71),
        ("multilingual", 1, 8, 8, 0.87, 0.78),
    ],
)
def test_the_chosen_numbers_and_what_they_hide_are_those_of_the_page(
    audit: dict[str, Any], kind: str, n_sets: int, least: int, most: int, before: float, after: float
) -> None:
    sets = chosen(audit, kind)
    counts = [found["choice"]["n_axes"] for found in sets.values()]
    assert (len(sets), min(counts), max(counts)) == (n_sets, least, most)
    part = "three probes" if kind == "multilingual" else "results"
    means = [strongest(audit[name][part]["mean-difference"]["0"]) for name in sets]
    assert np.mean(means) == pytest.approx(before, abs=0.006)
    assert np.mean([strongest(found) for found in sets.values()]) == pytest.approx(after, abs=0.006)
    if kind in ("googlenews", "glove"):
        assert all(strongest(found) < first for found, first in zip(sets.values(), means, strict=True))


def test_four_languages_are_hidden_as_well_by_the_chosen_number_as_by_more_directions(audit: dict[str, Any]) -> None:
    found = audit["multilingual--language (news)"]["three probes"]
    aucs = {name: strongest(draws["0"]) for name, draws in found.items()}
    assert aucs["mean-difference"] > 0.85
    assert aucs[CHOSEN] == pytest.approx(aucs[f"{CHOSEN}:102"], abs=0.02)
    assert found[CHOSEN]["0"]["neighbours"] > found[f"{CHOSEN}:102"]["0"]["neighbours"] + 0.2
    assert aucs["random:102"] > 0.97  # the control


def test_no_number_of_directions_hides_the_source_of_court_cases(audit: dict[str, Any]) -> None:
    found = audit["minilm--source (court cases)"]["three probes"]
    for name, draws in found.items():
        assert strongest(draws["0"]) > 0.65, name
    assert strongest(found[CHOSEN]["0"]) > 0.9
