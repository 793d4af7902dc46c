"""Time to read one layer on a CPU, over that of the bare backbone up to this layer.

    python scripts/measure_reading.py MODEL --layer 9 --data SENTENCES

MODEL is a folder of Hugging Face or a gguf file of a causal model; SENTENCES the folder of labelled sentences. The bare
backbone gets the same batches of token numbers, and keeps nothing. Both run in turns; the medians are compared. Writes
``docs/states_speed_cpu.json``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure_states import DOCS, sentence_sets

from densray.states import load_model, read_states
from densray.states._blocks import find_stack, input_device, run_blocks
from densray.states._models import encode_texts
from densray.states._padding import filler_of, padded
from densray.states._reading import TEXTS_PER_BLOCK, TOKENS_PER_BATCH

NUMBERS = DOCS / "states_speed_cpu.json"
N_TURNS = 5


def bare_pass(model: Any, tokenizer: Any, tokens: list[list[int]], layer: int) -> None:
    """Run the backbone up to a layer, in batches of texts of similar length."""
    import torch

    blocks = {layer: find_stack(model).blocks[layer]}

    def run(batch: list[list[int]]) -> None:
        ids, mask = padded(batch, filler_of(tokenizer), input_device(model))
        run_blocks(model, blocks, ids, mask, lambda _: None)

    with torch.inference_mode():
        for start in range(0, len(tokens), TEXTS_PER_BLOCK):
            batch: list[list[int]] = []
            for row in sorted(tokens[start : start + TEXTS_PER_BLOCK], key=len):
                if batch and (len(batch) + 1) * len(row) > TOKENS_PER_BATCH["cpu"]:
                    run(batch)
                    batch = []
                batch.append(row)
            run(batch)


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds that passed, and the seconds of all cores."""
    wall, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - used


def main() -> None:
    """Run both in turns and write the medians."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--layer", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", type=int, nargs="+", default=[160, 1000])
    parser.add_argument("--turns", type=int, default=N_TURNS)
    parser.add_argument("--out", type=Path, default=NUMBERS)
    given = parser.parse_args()
    torch.set_num_threads(2)
    loaded = load_model(given.model, device="cpu")
    model, tokenizer = loaded.model, loaded.tokenizer
    every, found = [*sentence_sets(given.data)["cities"].texts, *sentence_sets(given.data)["sst2"].texts], []
    for count in given.texts:
        texts = every[:: len(every) // count][:count]
        tokens = encode_texts(model, tokenizer, texts).tokens
        works = (
            lambda tokens=tokens: bare_pass(model, tokenizer, tokens, given.layer),
            lambda texts=texts: read_states(model, tokenizer, texts, layers=[given.layer]),
        )
        for work in works:
            work()
        times = np.array([[timed(work) for work in works] for _ in range(given.turns)])
        bare, read = np.median(times, axis=0)
        row = {"model": Path(given.model).name, "layer": given.layer, "threads": 2, "texts": count}
        row |= {"tokens": sum(map(len, tokens)), "turns": given.turns}
        row |= {"bare_seconds": bare[0], "read_seconds": read[0], "ratio": read[0] / bare[0]}
        row |= {"bare_cpu_seconds": bare[1], "read_cpu_seconds": read[1], "cpu_ratio": read[1] / bare[1]}
        found.append({name: float(value) if isinstance(value, np.floating) else value for name, value in row.items()})
        print(found[-1], flush=True)
    given.out.write_text("[\n" + ",\n".join(json.dumps(row) for row in found) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
