"""Small random transformers, and a tokenizer, made without a download."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="hidden states need PyTorch")
transformers = pytest.importorskip("transformers", reason="hidden states need transformers")

FAMILIES = ("llama", "gpt2", "bert", "gemma")
WIDTH, N_BLOCKS = 32, 3
WORDS = ["the", "a", "nurse", "doctor", "said", "that", "he", "she", "was", "tired"]
WORDS += ["good", "bad", "film", "is", "very", "never", "again"]


def make_model(family: str) -> Any:
    """Return a model of three blocks with random weights; the same ones at every call."""
    torch.manual_seed(0)
    size = {"vocab_size": len(WORDS) + 3, "hidden_size": WIDTH, "num_hidden_layers": N_BLOCKS}
    heads = {"num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 64}
    if family == "llama":
        config = transformers.LlamaConfig(**size, **heads, num_key_value_heads=2)
        model = transformers.LlamaForCausalLM(config)
    elif family == "gemma":
        config = transformers.Gemma3TextConfig(**size, **heads, num_key_value_heads=2, head_dim=8)
        model = transformers.Gemma3ForCausalLM(config)
    elif family == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=len(WORDS) + 3, n_embd=WIDTH, n_layer=N_BLOCKS, n_head=4, n_positions=64
        )
        model = transformers.GPT2LMHeadModel(config)
    else:
        model = transformers.BertModel(transformers.BertConfig(**size, **heads))
    return model.eval()


def make_tokenizer(*, padding: bool = False, first: bool = False) -> Any:
    """Return a fast tokenizer of whole words; without padding or first token unless asked."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {word: number for number, word in enumerate(["[UNK]", "[PAD]", "[BOS]", *WORDS])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ({"pad_token": "[PAD]"} if padding else {}) | ({"bos_token": "[BOS]"} if first else {})
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="[UNK]", **special)
