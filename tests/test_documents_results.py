"""The sentences of the page on documents hold for its numbers."""

from __future__ import annotations

import json
import os
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def cases() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "docs" / "documents.json").read_text("utf-8"))["cases"]
    return found


def recall(rows: list[dict[str, Any]], change: str, fitted_on: str = "all documents") -> dict[str, Any]:
    found: dict[str, Any] = next(
        row["recall"] for row in rows if (row["change"], row["fitted_on"]) == (change, fitted_on)
    )
    return found


def test_search_by_words_finds_more_partners_than_erased_vectors() -> None:
    folder = os.environ.get("DENSRAY_DATA", "")
    if not (Path(folder) / "documents").is_dir():
        pytest.skip("needs the documents in DENSRAY_DATA")
    frame = runpy.run_path(str(ROOT / "scripts" / "measure_documents.py"))["court_cases"](Path(folder) / "documents")
    texts, pair = frame["text"].to_list(), frame["pair"].fill_null(-1).to_numpy()
    asked = np.flatnonzero(pair >= 0)
    partner = {row: next(other for other in asked if other != row and pair[other] == pair[row]) for row in asked}
    for options, expected in (({"stop_words": "english", "sublinear_tf": True, "min_df": 2}, 0.40), ({}, 0.32)):
        X = TfidfVectorizer(**options).fit_transform(texts)
        cosines = (X[asked] @ X.T).toarray()
        cosines[np.arange(len(asked)), asked] = -1.0
        found = cosines.argmax(axis=1)
        hits = [texts[near] == texts[partner[row]] for row, near in zip(asked, found, strict=True)]
        assert np.mean(hits) == pytest.approx(expected, abs=0.006)


def test_removing_the_source_helps_seen_and_unseen_pairs(cases: dict[str, Any]) -> None:
    before = recall(cases["recall"], "nothing", "")
    assert round(before["1"]["after"]["value"], 2) == 0.23
    assert round(before["10"]["after"]["value"], 2) == 0.49
    for fitted_on in ("all documents", "other pairs"):
        for change in ("LEACE", "mean difference"):
            found = recall(cases["recall"], change, fitted_on)
            assert found["1"]["after"]["value"] == pytest.approx(0.31, abs=0.005)
            assert found["10"]["after"]["value"] == pytest.approx(0.60, abs=0.01)
            assert found["1"]["difference"]["low"] > 0.05
            assert found["1"]["p_value"] < 0.001
    centred = recall(cases["recall"], "each label centred", "labels of all documents")
    assert centred["1"]["after"]["value"] == pytest.approx(0.31, abs=0.005)


def test_other_directions_change_nothing(cases: dict[str, Any]) -> None:
    for change in ("first principal component", "one random direction"):
        found = recall(cases["recall"], change)
        assert found["1"]["difference"]["low"] <= 0 <= found["1"]["difference"]["high"]
        assert found["10"]["p_value"] > 0.05


def test_a_filter_helps_more_than_an_erasure_and_the_erasure_adds_to_it(cases: dict[str, Any]) -> None:
    plain, erased = (recall(cases["other_label_only"], change) for change in ("nothing", "LEACE"))
    assert plain["1"]["after"]["low"] > recall(cases["recall"], "LEACE")["1"]["after"]["high"]
    assert round(plain["1"]["after"]["value"], 2) == 0.43
    assert erased["1"]["difference"]["value"] == pytest.approx(0.03, abs=0.005)
    assert erased["1"]["difference"]["low"] > 0


def test_similarities_within_a_source_stay_and_clusters_no_longer_follow_it(cases: dict[str, Any]) -> None:
    kept = cases["preserved"]["LEACE"]
    assert round(kept["lexis"]["spearman"], 3) == 0.995
    assert round(kept["wiki"]["spearman"], 3) == 0.969
    assert min(each["neighbours"] for each in kept.values()) > 0.85
    purity = cases["purity"]
    assert round(purity["before"], 2) == 0.95
    assert purity["after"] == purity["largest_class"]


def test_a_nonlinear_model_still_finds_the_source(cases: dict[str, Any]) -> None:
    probes = {probe["model"]: probe for probe in cases["remains"]["probes"]}
    assert round(probes["linear"]["after"], 2) == 0.64
    assert probes["linear"]["before"] > 0.995
    assert round(probes["rbf"]["after"], 2) == 0.93


def test_languages_gain_little(cases: dict[str, Any]) -> None:
    news = json.loads((ROOT / "docs" / "documents.json").read_text("utf-8"))["languages"]
    before, after, held_out = (
        recall(news["recall"], *key) for key in (("nothing", ""), ("LEACE",), ("LEACE", "other pairs"))
    )
    assert [round(each["1"]["after"]["value"], 2) for each in (before, after, held_out)] == [0.59, 0.63, 0.62]
    assert [round(each["10"]["after"]["value"], 2) for each in (before, after)] == [0.85, 0.86]
    assert after["10"]["p_value"] > 0.05
    assert after["1"]["difference"]["value"] < recall(cases["recall"], "LEACE")["1"]["difference"]["value"] / 1.9
    assert round(news["remains"]["probes"][0]["after"], 2) == 0.74
    assert news["purity"]["before"] == news["purity"]["largest_class"]
