"""Ordinary text that a model writes itself."""

from __future__ import annotations

import pytest

from densray.errors import TaskError
from densray.states import log_perplexity
from densray.states._ordinary import write_ordinary
from tiny_models import WORDS, make_model, make_tokenizer, torch

TEXTS = ["the nurse said that she was tired", "a film is very good", "never"]


def test_a_model_continues_the_first_two_words_of_the_texts() -> None:
    written = write_ordinary(make_model("llama"), make_tokenizer(), TEXTS, count=40)
    assert 30 <= len(written) <= 40  # a text of one word is left out
    starts = {tuple(text.split()[:2]) for text in written}
    assert {("the", "nurse"), ("a", "film")} < starts
    assert all(start in {("the", "nurse"), ("a", "film")} or start[0] == "never" for start in starts)
    assert len(set(written)) > 20  # sampled: greedy decoding would repeat itself
    assert {word for text in written for word in text.split()} <= {*WORDS, "[UNK]", "[PAD]", "[BOS]"}
    lengths = [len(text.split()) for text in written]
    assert min(lengths) == 2
    assert max(lengths) > 10


def test_the_seed_decides_and_the_state_of_torch_is_kept() -> None:
    model, tokenizer = make_model("llama"), make_tokenizer()
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first = write_ordinary(model, tokenizer, TEXTS, count=10, random_state=1)
    assert torch.equal(torch.rand(1), expected)
    assert write_ordinary(model, tokenizer, TEXTS, count=10, random_state=1) == first
    assert write_ordinary(model, tokenizer, TEXTS, count=10, random_state=2) != first


def test_text_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(TaskError, match="none of the texts has a word that the model could continue"):
        write_ordinary(make_model("llama"), make_tokenizer(), [" ", ""])
    with pytest.raises(TaskError, match="cannot generate text"):
        write_ordinary(make_model("bert"), make_tokenizer(), TEXTS)


def test_a_large_vocabulary_makes_batches_smaller_and_changes_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = make_model("llama"), make_tokenizer(padding=True)
    whole = log_perplexity(model, tokenizer, TEXTS)
    sizes: list[int] = []
    forward = model.forward

    def counted(input_ids: torch.Tensor, **rest: object) -> object:
        sizes.append(len(input_ids))
        return forward(input_ids=input_ids, **rest)

    monkeypatch.setattr(model, "forward", counted)
    monkeypatch.setattr("densray.states._next_tokens._LOGITS_PER_BATCH", 7 * 20)  # one text of seven tokens
    assert log_perplexity(model, tokenizer, TEXTS) == pytest.approx(whole, rel=1e-6)
    assert sizes == [1, 1, 1]
