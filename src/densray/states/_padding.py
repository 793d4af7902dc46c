"""Padding: texts of different lengths in one batch, and whether a model reads what fills the gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from densray.states._blocks import load_torch

if TYPE_CHECKING:
    import torch

#: Difference of states due to rounding, as a share of their length: on a CPU, on a device, and in half precision.
_ROUNDING_OF_STATES = {"cpu": 1e-4, "device": 5e-3, "half": 0.03}
#: Difference of scores of next tokens due to rounding, as a share of their standard deviation.
_ROUNDING_OF_SCORES = 0.01


def padded(
    rows: Sequence[Sequence[int]], filler: int, device: Any, *, left: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token numbers padded to one length, on the right or left, and the mask of tokens that are not padding."""
    torch = load_torch()
    lengths = np.array([len(row) for row in rows])
    true = np.arange(lengths.max()) < lengths[:, None]
    true = true[:, ::-1] if left else true
    ids = np.full(true.shape, filler, dtype=np.int64)
    ids[true] = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
    both = torch.from_numpy(ids), torch.from_numpy(true.astype(np.int64))
    if device.type == "cuda":  # pinned memory, so that the next batch is prepared while the device is busy
        both = both[0].pin_memory(), both[1].pin_memory()
    return both[0].to(device, non_blocking=True), both[1].to(device, non_blocking=True)


def length_limit(model: Any) -> float:
    """Return the length up to which a batch of different lengths gives each text the states it has alone.

    Some rotary position embeddings ("dynamic", "longrope") are computed from the longest text of the batch beyond this.
    """
    config = getattr(model, "config", None)
    config = getattr(config, "get_text_config", lambda: config)()
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    for part in (rope, *(value for value in rope.values() if isinstance(value, Mapping))):
        if part.get("rope_type", part.get("type")) in ("dynamic", "longrope"):
            names = ("original_max_position_embeddings", "max_position_embeddings")
            known = [part.get(names[0]), *(getattr(config, name, None) for name in names)]
            return float(next((length for length in known if length), 0))
    return float("inf")


def filler_of(tokenizer: Any) -> int:
    """Return a token number for padding; padding is masked, so any number works if the tokenizer has none."""
    for name in ("pad_token_id", "eos_token_id"):
        number = getattr(tokenizer, name, None)
        if isinstance(number, int):
            return number
    return 0


def same_states(alone: torch.Tensor, padded_states: torch.Tensor, *, half: bool) -> bool:
    """Return whether the states of one text, alone and in a padded batch, differ by rounding only.

    They differ more if the model reads the padding, as convolutions over tokens do. `half` says that the model computes
    in half precision.
    """
    kind = "half" if half else "cpu" if alone.device.type == "cpu" else "device"
    limit = _ROUNDING_OF_STATES[kind] * alone.norm(dim=-1)
    return bool(((alone - padded_states).norm(dim=-1) <= limit).all())


def same_scores(alone: torch.Tensor, padded_scores: torch.Tensor) -> bool:
    """Return whether the scores of all next tokens, after a prompt alone and padded, differ by rounding only.

    Every score counts: a penalty for repeated tokens changes a single one, that of the padding.
    """
    torch = load_torch()
    spread = float(alone[torch.isfinite(alone)].std())  # a token that must not follow has the score -inf
    return bool(torch.allclose(alone, padded_scores, rtol=0.0, atol=_ROUNDING_OF_SCORES * spread))
