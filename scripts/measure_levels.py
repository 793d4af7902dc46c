"""Correct answers after the removal of a preference: kings, boys and fathers, in templates it was not learned from.

    python scripts/measure_levels.py MODEL --data SENTENCES

MODEL is a folder of Hugging Face or a gguf file of a causal model; SENTENCES the folder of labelled sentences. Writes
``docs/states_levels.json``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from measure_interventions import DOCS, LEARNED_PROMPTS, PAIRS, beginnings, held_out_texts, occupations

from densray.datasets import load_word_list
from densray.metrics import spearman
from densray.states import (
    Continuations,
    Intervention,
    InterventionTests,
    LabelledTexts,
    continuation_log_odds,
    load_model,
    log_perplexity,
    remove_preference,
)

ASKED = [
    ("king", "queen"), ("boy", "girl"), ("father", "mother"), ("brother", "sister"), ("uncle", "aunt"),
    ("husband", "wife"), ("prince", "princess"), ("grandfather", "grandmother"), ("son", "daughter"),
    ("nephew", "niece"), ("man", "woman"), ("duke", "duchess"),
]  # fmt: skip
KEPT = [
    ("actor", "actress"), ("waiter", "waitress"), ("groom", "bride"), ("widower", "widow"), ("monk", "nun"),
    ("heir", "heiress"), ("stepson", "stepdaughter"), ("emperor", "empress"), ("godfather", "godmother"),
    ("landlord", "landlady"), ("gentleman", "lady"), ("wizard", "witch"),
]  # fmt: skip
TEMPLATES = ["The {} said that", "The {} told everyone that", "Last week the {} announced that"]
TEMPLATES += ["The {} was late because"]
LEARNED_FROM = LEARNED_PROMPTS[:4]
N_OCCUPATIONS, N_BEGINNINGS, N_TEXTS = 60, 200, 60


def measured(model: Any, tokenizer: Any, folder: Path, change: Intervention | None) -> dict[str, Any]:
    """Return the log odds after every prompt, and the mean loss of held-out text."""
    jobs, share = occupations(folder)
    prompts = [template.format(job) for template in (TEMPLATES[0], TEMPLATES[3]) for job in jobs]
    odds = continuation_log_odds(model, tokenizer, Continuations(prompts, " he", " she", [0.0] * len(prompts)), change)
    answers = {}
    for template in TEMPLATES:
        texts = [template.format(word) for pair in ASKED for word in pair]
        found = continuation_log_odds(model, tokenizer, Continuations(texts, " he", " she", [0.0] * len(texts)), change)
        answers[template] = found.tolist()
    return {
        "rho": float(spearman(np.tile(share, 2), odds)),
        "level": float(odds.mean()),
        "answers": answers,
        "loss": log_perplexity(model, tokenizer, held_out_texts(folder, N_TEXTS), change),
    }


def main() -> None:
    """Measure the unchanged model and a removal, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    loaded = load_model(options.model, device="cpu")
    model, tokenizer = loaded.model, loaded.tokenizer
    gendered = set(load_word_list("gender-specific")) | {word for pair in PAIRS for word in pair}
    tested = set(occupations(options.data)[0])
    words = [word for word in load_word_list("occupations") if word not in gendered | tested and "_" not in word]
    words = [str(word) for word in np.random.default_rng(0).permutation(words)[:N_OCCUPATIONS]]
    prompts = [template.format(word) for word in words for template in LEARNED_FROM]
    preference = Continuations(prompts, " he", " she", [0.0] * len(prompts))
    kept = tuple(template.format(word) for template in LEARNED_FROM for pair in KEPT for word in pair)
    preserved = LabelledTexts(kept, (1.0, 0.0) * (len(kept) // 2))
    ordinary = beginnings(options.data, N_BEGINNINGS)
    tests = InterventionTests(held_out_texts(options.data, 8), probe_layers=())  # learn from all prompts
    results = {"nothing": measured(model, tokenizer, options.data, None)}
    removal, _ = remove_preference(
        model, tokenizer, preference, ordinary, templates=LEARNED_FROM * len(words), preserve=preserved, tests=tests
    )
    results["pairs preserved"] = measured(model, tokenizer, options.data, removal)
    (DOCS / "states_levels.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
