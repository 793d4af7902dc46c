"""A checksum of all weights of a model, which also recognises the same weights in another precision."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from densray.errors import TaskError, name_some
from densray.states._blocks import find_stack, load_torch

if TYPE_CHECKING:
    import torch

#: Weights are multiplied in lines of this length, this many at once.
_LINE, _LINES = 4096, 512
_GOLDEN = 0.6180339887498949
#: Relative tolerance of sums in the same precision, with respect to the norm of a tensor and to the sum itself.
_SAME_PRECISION = 2e-6, 1e-6
#: Tolerance of sums of rounded weights, in rounding units of the norm: six standard deviations of random rounding.
_OTHER_PRECISION = 6.0


def model_checksum(model: Any, blocks: Sequence[Any] | None = None) -> str:
    r"""Return a checksum of all weights of a model's text stack, and of its head if it predicts tokens.

    The head is compared only if both models have one, so an intervention made on the stack alone also fits the full
    model. For every tensor :math:`w` it contains the norm, the rounding unit, and the sum :math:`\sum_i r_i w_i` with
    fixed random factors :math:`r_i` between 0.5 and 3. See :func:`weight_differences` for the changes that it detects.
    """
    stack, head = _summary(_tensors(_weighed(model, blocks))), _summary(_head_tensors(model))
    structure, numbers = _structure(stack), _packed(stack)
    parts = [_digest(structure.encode() + numbers), structure, base64.b64encode(numbers).decode()]
    return ":".join([*parts, base64.b64encode(_packed(head)).decode()] if head else parts)


def weight_differences(model: Any, checksum: str, blocks: Sequence[Any] | None = None) -> str:
    r"""Return a description of the differences between a model and a checksum; empty if the weights are the same.

    In the same precision, the change of one weight is detected if it exceeds :math:`4 \cdot 10^{-6}` of the norm of its
    tensor plus :math:`2 \cdot 10^{-6}` of the absolute value of its sum. In another precision the sums must
    agree within rounding: a change is detected above 0.006 of the norm with float16, and above 0.05 with bfloat16.
    """
    tensors = _summary(_tensors(_weighed(model, blocks)))
    structure, stored, stored_head = _parse(checksum)
    if _structure(tensors) != structure:
        counts = f"its {len(tensors):,} tensors have other names or shapes than the {len(stored):,} expected"
        other = [name for name, one in tensors.items() if not any(_agree(one.numbers, known) for known in stored)]
        return f"{counts}; not among them: {name_some(other)}" if other else counts
    head = {f"head.{name}": one for name, one in _summary(_head_tensors(model)).items()}
    if len(head) == len(stored_head):
        tensors |= head
        stored = np.concatenate([stored, stored_head])
    pairs = zip(tensors.items(), stored, strict=True)
    other = [name for (name, one), known in pairs if not _agree(one.numbers, known)]
    return f"{len(other):,} of its {len(tensors):,} tensors differ: {name_some(other)}" if other else ""


def same_weights(one: str, other: str) -> bool:
    """Return whether two checksums are of the same weights in the same precision; they may differ by rounding."""
    if one == other or not (one and other):
        return one == other
    try:
        (structure, numbers, head), (known, stored, stored_head) = _parse(one), _parse(other)
    except TaskError:
        return False
    if len(head) == len(stored_head):
        numbers, stored = np.concatenate([numbers, head]), np.concatenate([stored, stored_head])
    if structure != known or not np.array_equal(numbers[:, 2], stored[:, 2]):
        return False
    return all(map(_agree, numbers.tolist(), stored))


class _Tensor(NamedTuple):
    """The shape of a tensor, and its sum, norm and rounding unit."""

    shape: tuple[int, ...]
    numbers: list[float]


def _summary(tensors: Iterable[tuple[str, torch.Tensor]]) -> dict[str, _Tensor]:
    return {name: _Tensor(tuple(values.shape), _numbers(values)) for name, values in tensors}


def _structure(tensors: Mapping[str, _Tensor]) -> str:
    """Return a digest of the names and shapes of all weights."""
    shapes = sorted((name, one.shape) for name, one in tensors.items())
    return _digest("\n".join(f"{name} {shape}" for name, shape in shapes).encode())


def _packed(tensors: Mapping[str, _Tensor]) -> bytes:
    return np.asarray([one.numbers for one in tensors.values()], dtype="<f4").tobytes()


def _weighed(model: Any, blocks: Sequence[Any] | None) -> Any:
    """Return the module whose weights are included: the text stack, or all of a model without blocks."""
    try:
        return find_stack(model, blocks).module
    except TaskError:
        return model


def _head_tensors(model: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield names and values of the weights that predict tokens from the last states; none in a model without."""
    head = getattr(model, "get_output_embeddings", lambda: None)()
    if head is not None:
        yield from _tensors(head)


def _idle_adapters(module: Any) -> set[str]:
    """Return the prefixes of the adapters (LoRA) that change nothing: switched off, or not trained yet."""
    idle = set()
    for prefix, each in module.named_modules():
        outputs = [*_values(each, "lora_B"), *_values(each, "lora_embedding_B")]
        if outputs and (getattr(each, "disable_adapters", False) or not any(bool(part.any()) for part in outputs)):
            idle.add(f"{prefix}.lora_")
    return idle


def _values(module: Any, name: str) -> list[torch.Tensor]:
    part = getattr(module, name, None)
    return [] if part is None else list(part.parameters())


def _plain_name(name: str) -> str:
    """Return the name of a tensor without the parts that wrappers add (compiled modules, adapters).

    >>> _plain_name("layers.0._orig_mod.self_attn.q_proj.base_layer.weight")
    'layers.0.self_attn.q_proj.weight'
    """
    return name.replace("_orig_mod.", "").replace("base_layer.", "")


def _tensors(module: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield names and values of all weights, sorted by name; offloaded ones are loaded one at a time.

    Names are those without wrappers. Adapters that change nothing are left out.
    """
    offloaded = [(prefix, hook.weights_map) for prefix, each in module.named_modules() for hook in _hooks(each)]
    idle = tuple(_idle_adapters(module))
    used = [(_plain_name(name), name, values) for name, values in module.state_dict().items()
            if not name.startswith(idle)]  # fmt: skip
    for plain, name, values in sorted(used, key=lambda one: one[0]):
        if values.device.type == "meta":
            for prefix, weights in offloaded:
                key = name.removeprefix(f"{prefix}." if prefix else "")
                if name.startswith(prefix) and key in weights:
                    values = weights[key]  # noqa: PLW2901
        yield plain, values.detach()


def _hooks(module: Any) -> Iterator[Any]:
    hook = getattr(module, "_hf_hook", None)  # set by accelerate
    yield from (each for each in getattr(hook, "hooks", (hook,)) if getattr(each, "weights_map", None) is not None)


@cache
def _factors() -> NDArray[np.float32]:
    return (np.random.Generator(np.random.PCG64(0)).random(_LINE) + 0.5).astype(np.float32)


def _numbers(values: torch.Tensor) -> list[float]:
    """Return the sum, the norm and the rounding unit of a tensor."""
    torch = load_torch()
    flat = values.reshape(-1)
    factors = torch.from_numpy(_factors()).to(flat.device)
    total = squares = 0.0
    for number, chunk in enumerate(flat.split(_LINE * _LINES)):
        chunk = chunk.float()  # noqa: PLW2901
        whole = chunk[: len(chunk) // _LINE * _LINE].view(-1, _LINE) @ factors
        rest = chunk[len(whole) * _LINE :]
        lines = torch.cat([whole, (rest @ factors[: len(rest)]).reshape(1)]).cpu().numpy().astype(np.float64)
        # every line has its own factor, so that exchanged lines are detected
        total += float(lines @ (1.0 + (np.arange(len(lines)) + number * _LINES) * _GOLDEN % 1.0))
        squares += float(torch.linalg.vector_norm(chunk)) ** 2
    unit = torch.finfo(flat.dtype).eps / 2 if torch.is_floating_point(flat) else 0.0
    return [total, np.sqrt(squares), unit]


def _agree(numbers: Sequence[float], stored: NDArray[np.float64]) -> bool:
    """Return whether two tensors are the same, or one is the other in a lower precision."""
    total, norm, unit = numbers
    coarser = max(unit, float(stored[2]))
    by_norm, by_sum = _SAME_PRECISION
    if abs(unit - stored[2]) > 1e-3 * coarser:
        by_norm, by_sum = _OTHER_PRECISION * coarser, coarser
    if not np.isfinite([total, *stored]).all():
        return str(np.float32(total)) == str(np.float32(stored[0]))
    return bool(abs(total - stored[0]) <= by_norm * max(norm, float(stored[1])) + by_sum * abs(total))


def _parse(checksum: str) -> tuple[str, NDArray[np.float64], NDArray[np.float64]]:
    """Return the structure of a checksum and the numbers of its tensors: those of the stack and those of the head."""
    try:
        _, structure, stack, *rest = checksum.split(":")
        (head,) = rest or [""]
        numbers = [np.frombuffer(base64.b64decode(each, validate=True), dtype="<f4") for each in (stack, head)]
        stack_numbers, head_numbers = (each.reshape(-1, 3).astype(np.float64) for each in numbers)
        return structure, stack_numbers, head_numbers
    except (ValueError, binascii.Error):
        raise TaskError(f"'{checksum[:12]}…' is not a checksum of weights. Read the states again.") from None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
