"""The sentences of the page on analogies are about its numbers."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from densray.analogy import compare_categories

ROOT = Path(__file__).parents[1]
NUMBERS = ROOT / "docs" / "intrank.json"


@pytest.fixture(scope="module")
def categories() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(NUMBERS.read_text("utf-8"))["categories"]
    return found


@pytest.fixture(scope="module")
def script() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        spec = importlib.util.spec_from_file_location("compare_intrank", ROOT / "scripts" / "compare_intrank.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules.pop("learn_intrank_prior", None)
    return module


def precision(one: dict[str, Any], solver: str) -> float:
    return float(np.mean([int(hit) for hit in one["right"][solver]]))


@pytest.mark.parametrize("solver", ["intrank", "intrank-space"])
@pytest.mark.parametrize("name", ["bats", "msr"])
def test_intrank_gains_over_intcos_on_categories_its_prior_has_not_seen(
    script: ModuleType, categories: list[dict[str, Any]], name: str, solver: str
) -> None:
    held_out = [one for one in categories if one["set"] == name and one["held_out"]]
    results = [script.result_of(held_out, each) for each in (solver, "intcos-original")]
    found = compare_categories(*results)
    assert found.low > 0.0
    assert found.p_value < 0.05


def test_numbers_are_small_and_every_solver_was_asked_the_same_pairs(categories: list[dict[str, Any]]) -> None:
    assert NUMBERS.stat().st_size < 100_000
    for one in categories:
        assert len({len(right) for right in one["right"].values()}) == 1
        assert len(one["right"]["intrank"]) >= 15


def test_halves_are_every_other_category(categories: list[dict[str, Any]]) -> None:
    for name, groups in (("bats", "IDEL"), ("google", "")):
        half = [one for one in categories if one["set"] == name]
        for group in groups or [""]:
            held_out = [one["held_out"] for one in half if one["category"].startswith(group)]
            assert held_out == [place % 2 == 1 for place in range(len(held_out))]
    assert all(one["held_out"] for one in categories if one["set"] == "msr")


def test_what_the_page_says_of_single_categories_holds(script: ModuleType, categories: list[dict[str, Any]]) -> None:
    held_out = {one["category"][:3]: one for one in categories if one["set"] == "bats" and one["held_out"]}
    losers = [name for name, one in held_out.items() if precision(one, "intrank") < precision(one, "intcos-original")]
    assert losers == ["L06"]
    assert f"{precision(held_out['L02'], script.UNKNOWN):.2f}" == "0.51"
    repeated = [one for one in categories if one["category"][:3] in ("E09", "L01", "L04")]
    assert sum(len(one["right"]["intrank"]) for one in repeated) == 106
