"""Text that a causal model generates, with or without an intervention, and the loss of its tokens."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray.errors import Argument, TaskError
from densray.states._blocks import input_device, load_torch
from densray.states._chat import Text
from densray.states._intervention import Intervention
from densray.states._models import encode_texts
from densray.states._next_tokens import batches_of_tokens, next_token_scores, size_on, under
from densray.states._padding import filler_of, length_limit, padded, same_scores

#: Number of texts to generate at once, on a CPU and on a device.
_GENERATED_PER_BATCH = {"cpu": 64, "device": 128}


def generate_texts(
    model: Any,
    tokenizer: Any,
    prompts: Iterable[Text],
    change: Intervention | None = None,
    *,
    max_new_tokens: int = 40,
) -> list[str]:
    """Return the text that a model generates after each prompt, with or without an intervention.

    Decoding is greedy: every step takes the likeliest token.

    Parameters
    ----------
    model, tokenizer
        A Hugging Face causal language model and its tokenizer.
    prompts : iterable of str, or of message lists
    change : Intervention, optional
    max_new_tokens : int, default=40
    """
    rows = generate_tokens(model, tokenizer, prompts, change, max_new_tokens=max_new_tokens)
    return [str(tokenizer.decode(new, skip_special_tokens=True)) for _, new in rows]


#: Options of ``generate`` that choose the most likely token, whatever the model comes with.
_GREEDY = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None, "use_cache": True}


def generate_tokens(
    model: Any, tokenizer: Any, prompts: Iterable[Text], change: Intervention | None = None, *, max_new_tokens: int
) -> list[tuple[list[int], list[int]]]:
    """Return the tokens of each prompt and the tokens generated after it by greedy decoding."""
    rows = encode_texts(model, tokenizer, prompts).tokens
    return continue_tokens(model, tokenizer, rows, change, max_new_tokens=max_new_tokens)


def continue_tokens(
    model: Any,
    tokenizer: Any,
    rows: Sequence[list[int]],
    change: Intervention | None = None,
    *,
    max_new_tokens: int,
    sampled: float = 0.0,
    random_state: int = 0,
) -> list[tuple[list[int], list[int]]]:
    """Return each row of tokens and the tokens generated after it.

    Decoding is greedy, or draws from the most likely tokens that have the probability `sampled` together. Rows of
    different lengths run together, padded on the left, if the model ignores padding there. Otherwise only rows of the
    same length run together.
    """
    if not getattr(model, "can_generate", lambda: False)():
        raise TaskError(
            f"{type(model).__name__} does not predict next tokens, so it cannot generate text. Use a causal language "
            "model."
        )
    if not isinstance(max_new_tokens, int) or isinstance(max_new_tokens, bool) or max_new_tokens < 1:
        raise TaskError(Argument("max_new_tokens", max_new_tokens), " is given; a whole number from 1 on is needed.")
    torch = load_torch()
    device, filler = input_device(model), filler_of(tokenizer)
    decoding = _GREEDY | {"do_sample": True, "temperature": 1.0, "top_p": sampled, "top_k": 0} if sampled else _GREEDY
    generated: dict[int, list[int]] = {}
    devices = [device] if device.type == "cuda" else []
    with under(model, change), torch.inference_mode(), torch.random.fork_rng(devices):
        torch.manual_seed(random_state)
        size, mixed = size_on(device, _GENERATED_PER_BATCH), _ignores_padding(model, rows, filler, max_new_tokens)
        for numbers in _by_length(rows, size, mixed=mixed):
            ids, mask = padded([rows[number] for number in numbers], filler, device, left=True)
            found = model.generate(
                ids, attention_mask=mask, max_new_tokens=max_new_tokens, pad_token_id=filler, **decoding
            )
            for number, new in zip(numbers, found[:, ids.shape[1] :].tolist(), strict=True):
                generated[number] = _until_end(new, _end_tokens(model))
    return [(row, generated[number]) for number, row in enumerate(rows)]


def _ignores_padding(model: Any, rows: Sequence[list[int]], filler: int, max_new_tokens: int) -> bool:
    """Return whether the next token after the shortest row has the same scores if it is padded as long as the longest.

    This holds for most models with attention. It fails, for instance, for recurrent models that read the padding, and
    if `generate` penalizes tokens that it finds in the padding.
    """
    shortest, longest = min(rows, key=len, default=[]), max(rows, key=len, default=[])
    if len(shortest) == len(longest):
        return True
    if len(longest) + max_new_tokens > length_limit(model):
        return False

    def next_scores(batch: list[list[int]]) -> Any:
        ids, mask = padded(batch, filler, input_device(model), left=True)
        options = {"return_dict_in_generate": True, "output_scores": True, "pad_token_id": filler, **_GREEDY}
        return model.generate(ids, attention_mask=mask, max_new_tokens=1, **options).scores[0][0].float()

    return same_scores(next_scores([shortest]), next_scores([shortest, longest]))


def _by_length(rows: Sequence[Sequence[int]], size: int, *, mixed: bool) -> Iterator[list[int]]:
    """Yield the numbers of rows by length, at most `size` at once; of one length each time unless `mixed`.

    >>> list(_by_length([[1], [1, 2], [3], [4]], 2, mixed=False)), list(_by_length([[1, 2], [3]], 2, mixed=True))
    ([[0, 2], [3], [1]], [[1, 0]])
    """
    ordered = sorted(range(len(rows)), key=lambda number: len(rows[number]))
    parts = [ordered] if mixed else [list(part) for _, part in groupby(ordered, key=lambda number: len(rows[number]))]
    for numbers in parts:
        for start in range(0, len(numbers), size):
            yield numbers[start : start + size]


def _end_tokens(model: Any) -> set[int]:
    """Return the tokens after which a model stops."""
    ends = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    return set(ends) if isinstance(ends, list | tuple) else set() if ends is None else {int(ends)}


def _until_end(tokens: list[int], ends: Collection[int]) -> list[int]:
    """Return the tokens up to the first that ends a text; padding follows it if other rows are longer.

    >>> _until_end([5, 2, 0, 0], {2}), _until_end([5, 6], {2})
    ([5, 2], [5, 6])
    """
    places = [place for place, token in enumerate(tokens) if token in ends]
    return tokens[: places[0] + 1] if places else tokens


def generated_losses(model: Any, tokenizer: Any, rows: Sequence[tuple[list[int], list[int]]]) -> NDArray[np.float64]:
    """Return the loss of the generated tokens after each prompt, summed, and their number."""
    torch = load_torch()
    losses = []
    with torch.inference_mode():
        done = 0
        for ids, mask in batches_of_tokens(model, tokenizer, [[*prompt, *new] for prompt, new in rows]):
            logs = torch.log_softmax(next_token_scores(model, ids, mask)[:, :-1].float(), dim=-1)
            taken = -logs.gather(2, ids[:, 1:, None])[:, :, 0].double().cpu().numpy()
            for loss, (prompt, new) in zip(taken, rows[done : done + len(ids)], strict=True):
                losses.append((loss[len(prompt) - 1 : len(prompt) + len(new) - 1].sum(), len(new)))
            done += len(ids)
    return np.array(losses, dtype=np.float64)
