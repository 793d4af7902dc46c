"""A sentence encoder with random weights, small enough to make in a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def save_tiny_transformer(folder: Path, *, width: int = 16) -> Path:
    """Write a BERT of two layers whose tokens are letters, with its tokenizer."""
    torch: Any = pytest.importorskip("torch")
    transformers: Any = pytest.importorskip("transformers")
    folder.mkdir(parents=True, exist_ok=True)
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(tokens), "utf-8")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokens), hidden_size=width, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64, initializer_range=0.5,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    transformers.BertTokenizer(str(vocabulary), model_max_length=64).save_pretrained(folder)
    return folder


def save_tiny_encoder(folder: Path, *, normalize: bool = True) -> Path:
    """Write a sentence encoder: the tiny BERT, 32 tokens, the mean of its tokens, and unit length."""
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    save_tiny_transformer(folder)
    parts = [("Transformer", ""), ("Pooling", "1_Pooling"), *([("Normalize", "2_Normalize")] if normalize else [])]
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (kind, path) in enumerate(parts)
    ]
    for _, path in parts[1:]:
        (folder / path).mkdir()
    pooling = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True}
    for name, content in (
        ("modules.json", modules),
        ("sentence_bert_config.json", {"max_seq_length": 32, "do_lower_case": False}),
        ("1_Pooling/config.json", pooling),
    ):
        (folder / name).write_text(json.dumps(content), "utf-8")
    return folder
