"""Controls for hidden states: the same texts before the first block, and in an untrained copy of the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from densray.errors import TaskError
from densray.states._blocks import find_stack, input_device, load_torch
from densray.states._chat import Text, as_texts
from densray.states._models import encode_texts
from densray.states._reading import check_pool, read_states
from densray.states._storage import States, is_states_folder

if TYPE_CHECKING:
    import torch

EMBEDDINGS, UNTRAINED = "embeddings", "untrained"


def read_controls(
    model: Any,
    tokenizer: Any,
    texts: Iterable[Text],
    *,
    names: Sequence[str] = (EMBEDDINGS, UNTRAINED),
    layers: str | Sequence[int] = "all",
    out: str | Path | None = None,
    random_state: int = 0,
    **reading: Any,
) -> dict[str, States]:
    """Return the states of texts before the first block, and in an untrained copy of the model.

    ``"embeddings"`` are the mean token embeddings of each text, which show how much its words alone reveal.
    ``"untrained"`` are the states of a model of the same configuration with random weights. If a concept is detected in
    these controls as well as in the model, there is no evidence that the model has learned it. Pass the controls to
    :func:`compare_layers`.

    Parameters
    ----------
    model, tokenizer
        A Hugging Face transformer and its tokenizer. The untrained copy needs additional memory, as much as the
        blocks of the model.
    texts : iterable of str, or of message lists
    names : sequence of str
        The controls to read. ``"embeddings"`` run no block. ``"untrained"`` takes as long as the model itself.
    layers : "all" or sequence of int
        The same as in the call to :func:`read_states`.
    out : path, optional
        The folder of the states: each control is written to a folder inside it.
    random_state : int, default=0
        Seed of the random weights.
    **reading
        The other options of the call to :func:`read_states` (`pool`, `words`, `first_token` …).
    """
    if not names or not set(names) <= {EMBEDDINGS, UNTRAINED}:
        raise TaskError(
            f"the controls {', '.join(names) or 'none'} are given; embeddings, untrained or both are needed."
        )
    check_pool(reading.get("pool", "last"), words=reading.get("words"), spans=reading.get("spans"))
    torch = load_torch()
    module = find_stack(model).module
    embedding = getattr(module, "get_input_embeddings", lambda: None)()
    config = getattr(module, "config", None)
    if embedding is None or config is None:
        raise TaskError(f"{type(model).__name__} is not a model of Hugging Face: controls need its configuration.")
    written = as_texts(tokenizer, texts, generation_prompt=reading.pop("generation_prompt", None))
    places = {name: None if out is None else Path(out) / name for name in (EMBEDDINGS, UNTRAINED)}
    alike = {name: value for name, value in reading.items() if name not in ("pool", "words", "spans")}
    found = {}
    if EMBEDDINGS in names:
        found[EMBEDDINGS] = read_states(
            model, tokenizer, written, blocks=[embedding], pool=bag_of_tokens, out=places[EMBEDDINGS], **alike
        )
    if UNTRAINED in names:
        # the trained model decides whether a first token is added
        first, truncate = reading.pop("first_token", "auto"), reading.get("truncate", False)
        added = encode_texts(model, tokenizer, written, first_token=first, truncate=truncate).added_first_token
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(random_state)
            untrained = type(module)(config).to(input_device(model)).eval()
        found[UNTRAINED] = read_states(
            untrained, tokenizer, written, layers=layers, out=places[UNTRAINED], first_token=added, **reading
        )
    return found


def bag_of_tokens(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean over all tokens of each text."""
    weights = mask.float() / mask.sum(dim=1, keepdim=True)
    return load_torch().einsum("bt,btd->bd", weights, states.float())


def open_controls(folder: str | Path) -> dict[str, States]:
    """Open the controls that :func:`read_controls` wrote next to states; empty if there are none."""
    places = {name: Path(folder) / name for name in (EMBEDDINGS, UNTRAINED)}
    return {name: States.open(place) for name, place in places.items() if is_states_folder(place)}
