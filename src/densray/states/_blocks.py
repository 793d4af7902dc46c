"""Find the blocks of a model, read their outputs, and stop a forward pass after some of them."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from densray.errors import Advice, Argument, TaskError, load_extra

if TYPE_CHECKING:
    import torch


#: Adapters of PEFT that are prompts for its own code, but work on keys and values: no token moves.
_TOKENS_UNMOVED = ("PREFIX_TUNING", "CARTRIDGE")


def load_torch() -> Any:
    """Return the module `torch`; if it is missing, the error names the command to install it."""
    return load_extra("torch", "Hidden states need", extra="models")


@dataclass(frozen=True)
class Stack:
    """The blocks that process text, in order, and the module around them that takes token numbers.

    That module is the same for a model with and without its head, and inside wrappers (adapters, compiled models).
    """

    module: Any
    blocks: tuple[Any, ...]


def find_stack(model: Any, blocks: Sequence[Any] | None = None) -> Stack:
    """Return the text stack of a model; `blocks` are its blocks if they cannot be found."""
    refuse_virtual_tokens(model)
    if blocks is not None and not len(blocks):
        raise TaskError(
            Argument("blocks", blocks),
            " is given; at least one block of the model is needed. Leave it out to have the blocks found.",
        )
    modules = tuple(find_blocks(model)) if blocks is None else tuple(blocks)
    needed = {id(block) for block in modules}
    owner, inner = model, model
    while inner is not None:
        if "input_ids" in inspect.signature(inner.forward).parameters:
            owner = inner
        children = (child for child in inner.children() if hasattr(child, "forward"))
        inner = next((child for child in children if needed <= {id(each) for each in child.modules()}), None)
    return Stack(owner, modules)


def find_blocks(model: Any) -> Sequence[Any]:
    """Return the blocks of a transformer in order.

    In a model with several towers these are the blocks of the text tower (Hugging Face's ``get_decoder()``): the
    longest list of modules there, without the lists inside its blocks (experts, heads).

    Raises
    ------
    TaskError
        If the model has no list of at least two blocks, or if it has an encoder and a decoder. Then give the blocks as
        `blocks`. Also if an adapter of PEFT puts virtual tokens before every text.
    """
    refuse_virtual_tokens(model)
    speaker = next((module for module in model.modules() if hasattr(module, "get_decoder")), None)
    tower = model
    if speaker is not None:
        tower = speaker.get_decoder()
        encoder = speaker.get_encoder() if hasattr(speaker, "get_encoder") else tower
        if getattr(getattr(speaker, "config", None), "is_encoder_decoder", False) and encoder is not tower:
            raise TaskError(
                f"{type(model).__name__} has an encoder and a decoder.",
                Advice(
                    " Read one of them (model.get_encoder()), or name the blocks to change, in order (",
                    Argument("blocks", ...),
                    ").",
                ),
            )
    lists = list(_outer_lists(tower)) or list(_outer_lists(model))
    if not lists:
        raise TaskError(
            f"{type(model).__name__} has no list of two or more blocks of one kind.",
            Advice(" Use another model, or name its blocks in Python, in order (", Argument("blocks", ...), ")."),
        )
    return max((list(each) for each in lists), key=len)


def refuse_virtual_tokens(model: Any) -> None:
    """Raise if an adapter of PEFT puts learned vectors before the tokens of every text, which shifts their places."""
    for module in model.modules() if hasattr(model, "modules") else ():
        if not hasattr(type(module), "active_peft_config") or getattr(module, "_adapters_disabled", False):
            continue
        config = module.active_peft_config
        kind = str(getattr(config.peft_type, "value", config.peft_type))
        if config.is_prompt_learning and kind not in _TOKENS_UNMOVED:
            raise TaskError(
                f"the PEFT adapter of {type(model).__name__} ({kind}) puts {config.num_virtual_tokens} virtual tokens "
                "before every text, so the states would be those of other tokens. Use the model without the adapter "
                "(model.get_base_model()), or an adapter that adds no tokens, such as LoRA."
            )


def _outer_lists(module: Any) -> Iterator[Any]:
    """Yield the lists of two or more modules that are not inside another list."""
    torch = load_torch()
    for child in module.children():
        if isinstance(child, torch.nn.ModuleList) and len(child) > 1:
            yield child
        else:
            yield from _outer_lists(child)


def resolve_layers(layers: str | Sequence[int], n_blocks: int) -> tuple[int, ...]:
    """Return the numbers of all or of the requested blocks, counted from 0 (negative numbers: from the end)."""
    if isinstance(layers, str):
        if layers != "all":
            raise TaskError(Argument("layers", layers), " is given; 'all' or numbers of layers are needed.")
        return tuple(range(n_blocks))
    numbers = []
    for layer in layers:
        if not -n_blocks <= layer < n_blocks:
            raise TaskError(
                f"layer {layer} is given; the model has {n_blocks} layers. Use 0 to {n_blocks - 1}, or -{n_blocks} to "
                f"-1 from the end."
            )
        numbers.append(layer % n_blocks)
    if not numbers:
        raise TaskError("no layer is given; at least one is needed.")
    return tuple(dict.fromkeys(numbers))


def hidden_of(output: Any) -> torch.Tensor:
    """Return the hidden states in the output of a block: the tensor itself, or the first of a tuple."""
    hidden = output[0] if isinstance(output, (tuple, list)) else output
    if not isinstance(hidden, load_torch().Tensor) or hidden.ndim != 3:
        shape = tuple(hidden.shape) if hasattr(hidden, "shape") else type(hidden).__name__
        raise TaskError(f"a block returned {shape}; states of shape (texts, tokens, width) are needed.")
    return hidden


def with_hidden(output: Any, hidden: torch.Tensor) -> Any:
    """Return the output of a block with its hidden states replaced."""
    if isinstance(output, tuple):
        return (hidden, *output[1:])
    if isinstance(output, list):
        return [hidden, *output[1:]]
    return hidden


@contextmanager
def hooked(blocks: Mapping[int, Any], on_output: Callable[[int, Any], Any]) -> Iterator[None]:
    """Call ``on_output(layer, output)`` after each block; a value that it returns replaces the output.

    The hooks are removed when the context ends, also after an error. Compiled models run uncompiled in the context,
    since compiled code may have been traced without the hooks.
    """
    handles = []
    with _UNCOMPILED:
        try:
            for layer, block in blocks.items():

                def hook(_module: Any, _inputs: Any, output: Any, layer: int = layer) -> Any:
                    return on_output(layer, output)

                handles.append(block.register_forward_hook(hook))
            yield
        finally:
            for handle in handles:
                handle.remove()


class _Uncompiled:
    """Disables compiled code while at least one thread is inside."""

    def __init__(self) -> None:
        self.lock, self.n_inside = threading.Lock(), 0
        self.stance: Any = None

    def __enter__(self) -> None:
        set_stance = getattr(load_torch().compiler, "set_stance", None)  # since PyTorch 2.6
        with self.lock:
            if self.n_inside == 0 and set_stance is not None:
                self.stance = set_stance("force_eager")
                self.stance.__enter__()
            self.n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.n_inside -= 1
            if self.n_inside == 0 and self.stance is not None:
                self.stance.__exit__(None, None, None)
                self.stance = None


_UNCOMPILED = _Uncompiled()


class _AllRead(Exception):  # noqa: N818  ends a forward pass; it is not an error
    """The last requested block has run."""


def run_blocks(
    model: Any, blocks: Mapping[int, Any], ids: torch.Tensor, mask: torch.Tensor, read: Callable[[torch.Tensor], Any]
) -> dict[int, Any]:
    """Run a model on token numbers and return ``read(states)`` for each block; nothing after the last block runs."""
    results: dict[int, Any] = {}
    thread = threading.get_ident()

    def keep(layer: int, output: Any) -> None:
        if threading.get_ident() != thread:  # another thread runs the same model
            return
        results[layer] = read(hidden_of(output))
        if len(results) == len(blocks):
            raise _AllRead

    with hooked(blocks, keep), suppress(_AllRead):
        model(input_ids=ids, attention_mask=mask)
    for layer in blocks:
        if layer not in results:
            raise TaskError(
                f"layer {layer} did not run in a forward pass of {type(model).__name__}: these are not the blocks "
                "that process text.",
                Advice(" Name them in order (", Argument("blocks", ...), ")."),
            )
    return results


def input_device(model: Any) -> Any:
    """Return the device for token numbers; weights may be offloaded elsewhere."""
    torch = load_torch()
    for module in model.modules():
        hook = getattr(module, "_hf_hook", None)  # set by accelerate
        for device in (getattr(each, "execution_device", None) for each in getattr(hook, "hooks", (hook,))):
            if device is not None:
                return torch.device(device)
    return next((value.device for value in model.parameters() if value.device.type != "meta"), torch.device("cpu"))
