"""What a causal model says, as it is or under an intervention: texts, preferences, likelihoods, divergence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray.errors import TaskError
from densray.states._intervention import Intervention
from densray.states._models import encode_texts, filler_of, load_torch, padded

#: Texts run at once where whole next-token distributions are compared.
_TEXTS_PER_BATCH = 8


@dataclass(frozen=True)
class Continuations:
    """Prompts after which a model prefers one continuation or the other, against something known of each prompt.

    Attributes
    ----------
    prompts : sequence of str
        ``"The nurse said that"``.
    high, low : str
        The two continuations: ``" he"`` and ``" she"``.
    known : sequence of float
        What is known of each prompt: the share of women in the occupation; for definitional prompts 1 where `high` is
        right and 0 where `low` is.
    """

    prompts: Sequence[str]
    high: str
    low: str
    known: Sequence[float]

    def __post_init__(self) -> None:
        if len(self.prompts) != len(self.known) or len(self.prompts) < 3:
            raise TaskError(
                f"{len(self.prompts)} prompts and {len(self.known)} known values are given; one per prompt, and at "
                f"least three, are needed."
            )


def under(model: Any, change: Intervention | None) -> Any:
    """Return the context of a model under an intervention, or of the model as it is."""
    return nullcontext(model) if change is None else change.applied(model)


def continuation_log_odds(
    model: Any, tokenizer: Any, given: Continuations, change: Intervention | None = None
) -> NDArray[np.float64]:
    """Return log p(high) − log p(low) after each prompt; of a continuation of several tokens the first ones count."""
    torch = load_torch()
    high, low = (tokenizer(text, add_special_tokens=False)["input_ids"][0] for text in (given.high, given.low))
    if high == low:
        raise TaskError(f"{given.high!r} and {given.low!r} begin with the same token: they cannot be told apart.")
    found = []
    with under(model, change), torch.inference_mode():
        for logits, mask in _logits(model, tokenizer, list(given.prompts)):
            last = mask.sum(dim=1) - 1
            rows = torch.log_softmax(logits[torch.arange(len(last), device=last.device), last].float(), dim=-1)
            found.append((rows[:, high] - rows[:, low]).double().cpu().numpy())
    return np.concatenate(found)


def sentence_log_likelihoods(
    model: Any, tokenizer: Any, texts: Sequence[str], change: Intervention | None = None
) -> NDArray[np.float64]:
    """Return the log-likelihood of each text given its first token, as one column."""
    losses, _ = token_costs(model, tokenizer, texts, change, divergence=False)
    return -losses[:, :1]


def token_costs(
    model: Any, tokenizer: Any, texts: Sequence[str], change: Intervention | None = None, *, divergence: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return, per text, sums over tokens and their number: of the loss, and of the divergence from the model as is."""
    torch = load_torch()
    rows = encode_texts(model, tokenizer, texts).tokens
    device, filler = next(model.parameters()).device, filler_of(tokenizer)
    losses, divergences = [], []
    with torch.inference_mode():
        for start in range(0, len(rows), _TEXTS_PER_BATCH):
            ids, mask = padded(rows[start : start + _TEXTS_PER_BATCH], filler, device)
            with under(model, change):
                changed = torch.log_softmax(model(input_ids=ids, attention_mask=mask).logits[:, :-1].float(), dim=-1)
            counted = mask[:, 1:].float()
            loss = -changed.gather(2, ids[:, 1:, None])[:, :, 0] * counted
            losses.append(torch.stack([loss.sum(1), counted.sum(1)], dim=1).double().cpu().numpy())
            apart = torch.zeros_like(loss)
            if change is not None and divergence:
                plain = torch.log_softmax(model(input_ids=ids, attention_mask=mask).logits[:, :-1].float(), dim=-1)
                apart = (plain.exp() * (plain - changed)).sum(dim=-1) * counted
            divergences.append(torch.stack([apart.sum(1), counted.sum(1)], dim=1).double().cpu().numpy())
    return np.concatenate(losses), np.concatenate(divergences)


def _logits(model: Any, tokenizer: Any, texts: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    rows = encode_texts(model, tokenizer, texts).tokens
    device, filler = next(model.parameters()).device, filler_of(tokenizer)
    for start in range(0, len(rows), _TEXTS_PER_BATCH):
        ids, mask = padded(rows[start : start + _TEXTS_PER_BATCH], filler, device)
        yield model(input_ids=ids, attention_mask=mask).logits, mask


def log_perplexity(model: Any, tokenizer: Any, texts: Sequence[str], change: Intervention | None = None) -> float:
    """Return the mean loss per token of texts, in nats."""
    losses, _ = token_costs(model, tokenizer, texts, change, divergence=False)
    return float(losses[:, 0].sum() / losses[:, 1].sum())


def generate_texts(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str],
    change: Intervention | None = None,
    *,
    max_new_tokens: int = 40,
) -> list[str]:
    """Return how a model goes on after each prompt, always with the likeliest token, as it is or under an intervention.

    Parameters
    ----------
    model, tokenizer
        A causal language model of Hugging Face and its tokenizer.
    prompts : sequence of str
    change : Intervention, optional
    max_new_tokens : int, default=40
    """
    if not getattr(model, "can_generate", lambda: False)():
        raise TaskError(f"{type(model).__name__} does not generate text: it has no head for next tokens.")
    torch = load_torch()
    device, found = next(model.parameters()).device, []
    greedy = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
    with under(model, change), torch.inference_mode():
        for row in encode_texts(model, tokenizer, prompts).tokens:
            ids = torch.tensor([row], device=device)
            mask, filler = torch.ones_like(ids), filler_of(tokenizer)
            more = {"attention_mask": mask, "max_new_tokens": max_new_tokens, "pad_token_id": filler}
            made = model.generate(ids, **more, **greedy)[0, len(row) :]
            found.append(str(tokenizer.decode(made, skip_special_tokens=True)))
    return found
