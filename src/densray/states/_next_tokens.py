"""Predictions of a causal model for the next token: preferences, correct answers, likelihoods and perplexity."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from densray.errors import TaskError
from densray.groups import number_groups
from densray.states._blocks import input_device, load_torch
from densray.states._intervention import Intervention
from densray.states._models import encode_texts
from densray.states._padding import filler_of, length_limit, padded
from densray.states._texts import LabelledTexts, as_list

#: A prompt with its correct and its wrong continuation, or sets of them.
Fact: TypeAlias = "tuple[str, str | Sequence[str], str | Sequence[str]]"
#: Number of texts to run at once when next-token distributions are compared, on a CPU and on a device.
_TEXTS_PER_BATCH = {"cpu": 8, "device": 128}
#: Largest number of logits (texts x tokens x words of the vocabulary) at once: 1 GB in single precision.
_LOGITS_PER_BATCH = 2**28


@dataclass(frozen=True)
class Continuations:
    """Prompts with two possible continuations and a known number for each prompt.

    Attributes
    ----------
    prompts : iterable of str
        ``"The nurse said that"``.
    high, low : str or iterable of str
        The two continuations: ``" he"`` and ``" she"``, or two sets: ``[" he", " his"]`` and ``[" she", " her"]``. The
        probability of a set is the sum over its first tokens.
    known : iterable of float
        A known number for each prompt, such as the share of women in the occupation; for definitional prompts, 1 if
        `high` is correct and 0 if `low` is.
    groups : iterable, optional
        Groups of prompts (such as those about one occupation) that stay in the same half and are resampled together.
        Without groups, each prompt is its own group.
    """

    prompts: Sequence[str]
    high: str | Sequence[str]
    low: str | Sequence[str]
    known: Sequence[float]
    groups: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        for name in ("prompts", "high", "low", "known", "groups"):
            items = getattr(self, name)
            if items is not None and not (name in ("high", "low") and isinstance(items, str)):
                object.__setattr__(self, name, tuple(as_list(items, name)))
        if self.groups is not None and len(self.groups) != len(self.prompts):
            raise TaskError(f"{len(self.groups)} groups are given for {len(self.prompts)} prompts; one each is needed.")
        if len(self.prompts) != len(self.known):
            raise TaskError(
                f"{len(self.prompts)} prompts and {len(self.known)} known values are given; one per prompt is needed."
            )
        for number, known in enumerate(self.known, start=1):
            if not isinstance(known, str) and not np.isfinite(known):
                raise TaskError(f"the known value of prompt {number} is {known}; a finite number is needed.")
        if len(self.prompts) < 3:
            said = "1 prompt is" if len(self.prompts) == 1 else f"{len(self.prompts)} prompts are"
            raise TaskError(f"{said} given; at least three are needed.")

    @classmethod
    def read(
        cls, path: str | Path, high: str | Iterable[str], low: str | Iterable[str], **columns: str | None
    ) -> Continuations:
        """Read prompts, the known number of each (its label) and its group, if the file has groups.

        `columns` are those of :meth:`densray.states.LabelledTexts.read`.
        """
        texts = LabelledTexts.read(path, **columns)
        if texts.labels is None or any(isinstance(label, str) for label in texts.labels):
            raise TaskError(
                f"{path} needs a column of labels that are numbers, such as the share of women in the occupation."
            )
        # __post_init__ turns iterables into tuples
        return cls(texts.texts, high, low, [float(label) for label in texts.labels], texts.groups)  # type: ignore[arg-type]

    @property
    def sides(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words of the high and of the low side."""
        high, low = (words_of_side(side) for side in (self.high, self.low))
        return high, low

    @property
    def group_numbers(self) -> NDArray[np.int64]:
        """The group number of each prompt, counted from 0."""
        if self.groups is None:
            return np.arange(len(self.prompts))
        return number_groups(self.groups)

    @property
    def high_is_correct(self) -> NDArray[np.bool_]:
        """Whether the high continuation is the correct one after each prompt; raise unless there are two answers."""
        known = np.asarray(self.known, dtype=np.float64)
        kinds = np.unique(known)
        if len(kinds) == 2:
            return np.asarray(known == kinds[1])
        if len(kinds) == 1 and kinds[0] in (-1.0, 0.0, 1.0):
            return np.full(len(known), kinds[0] == 1.0)
        shown = ", ".join(f"{kind:g}" for kind in kinds[:3]) + (", …" if len(kinds) > 3 else "")
        raise TaskError(
            f"the known values of definitional prompts are {shown}; 1 is needed where the high continuation is "
            "correct, and 0 where the low one is."
        )

    def only(self, rows: Sequence[int]) -> Continuations:
        """Return some of the prompts."""
        groups = None if self.groups is None else [self.groups[row] for row in rows]
        return Continuations(
            [self.prompts[row] for row in rows], self.high, self.low, [self.known[row] for row in rows], groups
        )


def under(model: Any, change: Intervention | None) -> Any:
    """Return a context in which the model runs with an intervention, or unchanged."""
    return nullcontext(model) if change is None else change.applied(model)


def continuation_log_odds(
    model: Any, tokenizer: Any, prompts: Continuations, change: Intervention | None = None
) -> NDArray[np.float64]:
    """Return log p(high) − log p(low) after each prompt; only the first token of a continuation is used.

    With several words on a side, p is the sum of their probabilities.
    """
    torch = load_torch()
    high, low = _first_tokens(tokenizer, *prompts.sides)
    odds = []
    with under(model, change), torch.inference_mode():
        for logits, mask in _logits(model, tokenizer, list(prompts.prompts)):
            last = mask.sum(dim=1) - 1
            rows = torch.log_softmax(logits[torch.arange(len(last), device=last.device), last].float(), dim=-1)
            odds.append((rows[:, high].logsumexp(dim=1) - rows[:, low].logsumexp(dim=1)).double().cpu().numpy())
    return np.concatenate(odds)


def words_of_side(side: str | Sequence[str]) -> tuple[str, ...]:
    """Return the words on one side of a comparison: one word, or several.

    >>> words_of_side(" he"), words_of_side([" he", " his"])
    ((' he',), (' he', ' his'))
    """
    return (side,) if isinstance(side, str) else tuple(side)


def _first_tokens(tokenizer: Any, high: Sequence[str], low: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the first tokens of the words on each side, each once; a token of both sides raises an error."""
    if not (high and low):
        raise TaskError(f"{len(high)} high and {len(low)} low continuations are given; at least one of each is needed.")
    sides = []
    for side in (high, low):
        tokens: dict[int, str] = {}
        for word in side:
            tokens.setdefault(_first_token(tokenizer, word), word)
        sides.append(tokens)
    for token in sides[0].keys() & sides[1].keys():
        raise TaskError(
            f"{sides[0][token]!r} and {sides[1][token]!r} begin with the same token, so the model cannot prefer one of "
            "them. Name other words."
        )
    return list(sides[0]), list(sides[1])


def _first_token(tokenizer: Any, text: str) -> int:
    tokens = _tokens_of(tokenizer, text)
    if not text.strip() or not tokens:
        raise TaskError(f"the continuation {text!r} has no token; a word is needed.")
    if tokens[0] == getattr(tokenizer, "unk_token_id", None):
        raise TaskError(f"the continuation {text!r} is unknown to the tokenizer of the model. Name another word.")
    if len(tokens) > 1:
        counted = tokenizer.decode(tokens[:1])
        warnings.warn(f"{text!r} has {len(tokens)} tokens; only the first, {counted!r}, counts.", stacklevel=5)
    return int(tokens[0])


def _tokens_of(tokenizer: Any, text: str) -> list[int]:
    """Return the tokens of a continuation; with a leading space, the tokens that it has inside a text."""
    before, whole = (tokenizer(each, add_special_tokens=False)["input_ids"] for each in ("a", f"a{text}"))
    if text[:1].isspace() and whole[: len(before)] == before:
        return list(whole[len(before) :])  # some tokenizers add a space before every text, which would count twice
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def sentence_log_likelihoods(
    model: Any, tokenizer: Any, texts: Sequence[str], change: Intervention | None = None
) -> NDArray[np.float64]:
    """Return the log-likelihood of each text given its first token, as one column."""
    losses, _ = token_costs(model, tokenizer, texts, change, divergence=False)
    return -losses[:, :1]


def token_costs(
    model: Any, tokenizer: Any, texts: Sequence[str], change: Intervention | None = None, *, divergence: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return loss and divergence from the unchanged model per text, each as a sum over tokens, and their number."""
    torch = load_torch()
    rows = encode_texts(model, tokenizer, texts).tokens
    if max(map(len, rows), default=0) < 2:
        raise TaskError(
            f"{len(rows)} texts are given, and none has two tokens; the loss of a text is that of its second and later "
            "tokens. Give longer texts."
        )
    losses, divergences = [], []
    if change is not None:
        change = change.check_weights(model)  # once, not in every batch
    with torch.inference_mode():
        for ids, mask in batches_of_tokens(model, tokenizer, rows):
            with under(model, change):
                changed = torch.log_softmax(next_token_scores(model, ids, mask)[:, :-1].float(), dim=-1)
            counted = mask[:, 1:].float()
            loss = -changed.gather(2, ids[:, 1:, None])[:, :, 0] * counted
            losses.append(torch.stack([loss.sum(1), counted.sum(1)], dim=1).double().cpu().numpy())
            apart = torch.zeros_like(loss)
            if change is not None and divergence:
                plain = torch.log_softmax(next_token_scores(model, ids, mask)[:, :-1].float(), dim=-1)
                apart = (plain.exp() * (plain - changed)).sum(dim=-1) * counted
            divergences.append(torch.stack([apart.sum(1), counted.sum(1)], dim=1).double().cpu().numpy())
    return np.concatenate(losses), np.concatenate(divergences)


def _logits(model: Any, tokenizer: Any, texts: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    for ids, mask in batches_of_tokens(model, tokenizer, encode_texts(model, tokenizer, texts).tokens):
        yield next_token_scores(model, ids, mask), mask


def next_token_scores(model: Any, ids: Any, mask: Any) -> Any:
    logits = getattr(model(input_ids=ids, attention_mask=mask), "logits", None)
    if logits is None:
        raise TaskError(f"{type(model).__name__} does not predict next tokens; a causal language model is needed.")
    return logits


def size_on(device: Any, sizes: Mapping[str, int]) -> int:
    """Return the size of a batch on a CPU or on another device."""
    return sizes["cpu" if device.type == "cpu" else "device"]


def batches_of_tokens(model: Any, tokenizer: Any, rows: list[list[int]]) -> Iterator[tuple[Any, Any]]:
    device, filler = input_device(model), filler_of(tokenizer)
    longest = max(map(len, rows), default=1) * int(getattr(model.config, "vocab_size", 1) or 1)
    size = max(1, min(size_on(device, _TEXTS_PER_BATCH), _LOGITS_PER_BATCH // longest))
    size = size if max(map(len, rows), default=0) <= length_limit(model) else 1
    for start in range(0, len(rows), size):
        yield padded(rows[start : start + size], filler, device)


def log_perplexity(model: Any, tokenizer: Any, texts: Sequence[str], change: Intervention | None = None) -> float:
    """Return the mean loss per token of texts, in nats."""
    losses, _ = token_costs(model, tokenizer, texts, change, divergence=False)
    return float(losses[:, 0].sum() / losses[:, 1].sum())


def correct_answers(prompts: Continuations, odds: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each prompt whether the likelier continuation is correct."""
    return np.asarray((odds > 0.0) == prompts.high_is_correct)


def correct_facts(
    model: Any, tokenizer: Any, facts: Sequence[Fact], change: Intervention | None = None
) -> NDArray[np.bool_]:
    """Return for each prompt whether its correct continuations are likelier than the wrong ones (first tokens only)."""
    torch = load_torch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # continuations of several tokens
        answers = [_first_tokens(tokenizer, *map(words_of_side, fact[1:])) for fact in facts]
    found: list[bool] = []
    with under(model, change), torch.inference_mode():
        for logits, mask in _logits(model, tokenizer, [fact[0] for fact in facts]):
            for row, length in zip(logits, mask.sum(dim=1), strict=True):
                right, wrong = (float(row[length - 1, side].logsumexp(dim=0)) for side in answers[len(found)])
                found.append(right > wrong)
    return np.array(found, dtype=bool)
