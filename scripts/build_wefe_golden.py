"""Run the association test and the hard debiasing of WEFE on the bundled space and keep golden values for the tests.

WEFE is not a dependency: install it into an environment of its own, then run this there once::

    pip install wefe==1.0.1
    python scripts/build_wefe_golden.py

Writes ``tests/files/wefe.json``: statistic and effect size of each association test of which every list has two words
or more in the space, and cosines after hard debiasing.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors
from wefe.debias.hard_debias import HardDebias
from wefe.metrics import WEAT
from wefe.query import Query
from wefe.word_embedding_model import WordEmbeddingModel

ROOT = Path(__file__).resolve().parent.parent
EMBEDDED = ROOT / "densray-data" / "src" / "densray_data"
TARGET = ROOT / "tests" / "files" / "wefe.json"

NEUTRAL = ("programmer", "nurse", "captain", "homemaker", "physicist", "receptionist", "book", "gentle")
GENDERED = ("he", "she", "man", "woman", "king", "queen", "actress")


def load_model() -> WordEmbeddingModel:
    words = (EMBEDDED / "spaces" / "googlenews-26k.words.txt").read_text("utf-8").split("\n")[:-1]
    vectors = np.load(EMBEDDED / "spaces" / "googlenews-26k.npy").astype(np.float32)
    keyed = KeyedVectors(vector_size=vectors.shape[1])
    keyed.add_vectors(words, vectors)
    return WordEmbeddingModel(keyed, "googlenews-26k")


def association_tests(model: WordEmbeddingModel) -> list[dict[str, float]]:
    rows = []
    for test in json.loads((EMBEDDED / "bias" / "weat.json").read_text("utf-8")):
        groups = [test[key] for key in ("first_target", "second_target", "first_attribute", "second_attribute")]
        known = [[word for word in group["words"] if word in model.vocab] for group in groups]
        if any(len(words) < 2 for words in known):
            continue
        query = Query(known[:2], known[2:], ["X", "Y"], ["A", "B"])
        found = WEAT().run_query(query, model, lost_vocabulary_threshold=1.0)
        row = {"number": test["number"], "statistic": float(found["weat"]), "effect_size": float(found["effect_size"])}
        rows.append(row)
    return rows


def hard_debiased(model: WordEmbeddingModel) -> dict[str, dict[str, float]]:
    """Return the cosine of neutral and gendered words after hard debiasing."""
    definitional, equalize = (pairs(name) for name in ("gender-definitional", "gender-equalize"))
    kept = (EMBEDDED / "words" / "gender-specific.txt").read_text("utf-8").splitlines()
    debiased = HardDebias().fit(model, definitional, equalize_pairs=equalize).transform(model, ignore=kept, copy=True)
    keyed = debiased.wv
    return {word: {other: float(keyed.similarity(word, other)) for other in GENDERED} for word in NEUTRAL}


def pairs(name: str) -> list[list[str]]:
    lines = (EMBEDDED / "pairs" / f"{name}.tsv").read_text("utf-8").splitlines()[1:]
    return [line.split("\t") for line in lines]


def main() -> None:
    model = load_model()
    content = {
        "source": f"wefe {version('wefe')}, numpy {np.__version__}",
        "tests": association_tests(model),
        "hard": hard_debiased(model),
    }
    TARGET.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
