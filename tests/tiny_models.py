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
    """Return a small model with random weights, the same at every call: three blocks, four in Qwen2-VL's text tower."""
    torch.manual_seed(0)
    vocabulary = len(WORDS) + 3
    size = {"vocab_size": vocabulary, "hidden_size": WIDTH, "num_hidden_layers": N_BLOCKS}
    heads = {"num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 64}
    special = {"bos_token_id": 2, "eos_token_id": 1, "pad_token_id": 1}
    if family == "llama":
        config = transformers.LlamaConfig(**size, **heads, num_key_value_heads=2)
        model = transformers.LlamaForCausalLM(config)
    elif family == "gemma":
        config = transformers.Gemma3TextConfig(**size, **heads, num_key_value_heads=2, head_dim=8)
        model = transformers.Gemma3ForCausalLM(config)
    elif family == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=vocabulary, n_embd=WIDTH, n_layer=N_BLOCKS, n_head=4, n_positions=64
        )
        model = transformers.GPT2LMHeadModel(config)
    elif family == "mixtral":
        config = transformers.MixtralConfig(**size, **heads, num_key_value_heads=2, num_local_experts=8, **special)
        model = transformers.MixtralForCausalLM(config)
    elif family == "mamba":
        config = transformers.MambaConfig(**size, state_size=4, **special)
        model = transformers.MambaForCausalLM(config)
    elif family == "qwen2-vl":
        rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
        text = {**size, **heads, **special, "num_hidden_layers": 4, "num_key_value_heads": 2, "rope_parameters": rope}
        vision = {"depth": 6, "embed_dim": WIDTH, "hidden_size": WIDTH, "num_heads": 4, "mlp_ratio": 2}
        config = transformers.Qwen2VLConfig(text_config=text, vision_config=vision)
        model = transformers.Qwen2VLForConditionalGeneration(config)
    elif family == "t5":
        config = transformers.T5Config(
            vocab_size=vocabulary, d_model=WIDTH, d_kv=8, d_ff=64, num_layers=N_BLOCKS, num_decoder_layers=2,
            num_heads=4, decoder_start_token_id=2,
        )  # fmt: skip
        model = transformers.T5ForConditionalGeneration(config)
    elif family == "convbert":
        model = transformers.ConvBertModel(transformers.ConvBertConfig(**size, **heads, embedding_size=WIDTH))
    elif family == "fnet":
        model = transformers.FNetModel(transformers.FNetConfig(**size, intermediate_size=64, type_vocab_size=2))
    elif family == "rwkv":
        model = transformers.RwkvForCausalLM(transformers.RwkvConfig(**size, attention_hidden_size=WIDTH))
    elif family == "dynamic-rope":
        rope = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}
        heads["max_position_embeddings"] = 8
        config = transformers.LlamaConfig(**size, **heads, num_key_value_heads=2, rope_parameters=rope)
        model = transformers.LlamaForCausalLM(config)
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
