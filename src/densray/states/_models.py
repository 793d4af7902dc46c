"""What every part of `densray.states` asks of a model: its blocks, its tokens, its identity."""

from __future__ import annotations

import hashlib
import importlib
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from densray._threads import ignored_warnings
from densray._vocabulary import spread_rows
from densray.errors import MissingExtraError, TaskError, load_extra

if TYPE_CHECKING:
    import torch

#: Values of every parameter that go into the checksum of a model.
_VALUES_PER_PARAMETER = 16
#: Texts on which the loss with and without a first token is compared.
_TEXTS_FOR_FIRST_TOKEN = 8
#: The loss per token must fall by this much before a first token is added that the tokenizer left out.
_LOSS_GAIN_IN_NATS = 0.5
#: Words of its vocabulary that a tokenizer is asked for, and the share that must come back whole.
_WORDS_ASKED, _WHOLE_WORDS = 200, 0.9
#: What the first token gained each model that was asked.
_GAINS: WeakKeyDictionary[Any, dict[int, float]] = WeakKeyDictionary()


def load_torch() -> Any:
    """Return the module `torch`, or say how to install it."""
    return load_extra("torch", "Hidden states need", extra="models")


@dataclass(frozen=True)
class LoadedModel:
    """A model as it was loaded: its name, itself, and its tokenizer (None for a sentence encoder)."""

    name: str
    model: Any
    tokenizer: Any


def load_model(name: str | Path, *, device: str | None = None, sentence_encoder: bool | None = None) -> LoadedModel:
    """Load a model and its tokenizer from this machine; nothing is downloaded, and no code of theirs is run.

    Parameters
    ----------
    name : str or path
        A folder or name that Hugging Face loads, a ``.gguf`` file, or the folder of a sentence encoder (it has a
        ``modules.json``; needs the package sentence-transformers).
    device : str, optional
        Where to run it: ``"cpu"``, ``"cuda"`` …; by default a GPU where there is one.
    sentence_encoder : bool, optional
        Whether to load a sentence encoder as one; False: as the transformer inside it, with all its blocks.
    """
    path = Path(name)
    if path.is_file() and path.suffix.lower() != ".gguf":
        raise TaskError(f"{path.name} is a file; a model is a .gguf file, or a folder or name that Hugging Face loads.")
    if path.is_dir() and not (path / "config.json").is_file() and not (path / "modules.json").is_file():
        raise TaskError(f"{path} has no config.json: it is not the folder of a model.")
    torch = load_torch()
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    said = str(path.resolve()) if path.exists() else str(name)
    as_encoder = (path / "modules.json").is_file() if sentence_encoder is None else sentence_encoder
    with _quiet_loading():
        try:
            found = _load_encoder(path, chosen) if as_encoder else _load_transformer(path, str(name), chosen)
        except ImportError as error:
            extra = "sentence-transformers" if as_encoder else '"densray[models]"'
            reason = str(error).strip().splitlines()[0]
            raise MissingExtraError(f"{name} cannot be loaded: {reason} Run: pip install {extra}") from None
        except Exception as error:  # whatever a foreign file makes a foreign library raise
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise TaskError(
                f"{name} cannot be loaded from this machine ({reason}). Give a folder or a name in the cache of "
                f"Hugging Face, or a .gguf file."
            ) from None
    if path.is_file():
        _check_vocabulary(found[1], path.name)
    return LoadedModel(said, *found)


def _check_vocabulary(tokenizer: Any, name: str) -> None:
    """Warn of a tokenizer that takes words of its own vocabulary apart, as some versions make them of a .gguf file."""
    entries = tokenizer.get_vocab().items()
    own = sorted((number, token[1:]) for token, number in entries if re.fullmatch("[▁Ġ][a-z]{3,9}", token))
    own = [own[row] for row in spread_rows(len(own), _WORDS_ASKED)] if own else []
    found = tokenizer([f" {word}" for _, word in own], add_special_tokens=False)["input_ids"] if own else []
    # some put a blank of their own in front
    apart = [word for (number, word), tokens in zip(own, found, strict=True) if list(tokens)[-1:] != [number]]
    if len(apart) > (1.0 - _WHOLE_WORDS) * len(own):
        version = importlib.import_module("transformers").__version__
        warnings.warn(
            f"the tokenizer that transformers {version} makes of {name} takes {len(apart)} of {len(own)} words of its "
            f"own vocabulary apart ({', '.join(apart[:3])} …): the model would see other tokens than it learned from. "
            f"Give the folder of the model instead of the .gguf file, or install another version of transformers.",
            stacklevel=3,
        )


def _load_encoder(path: Path, device: str) -> tuple[Any, None]:
    library = importlib.import_module("sentence_transformers")
    return library.SentenceTransformer(str(path), device=device, local_files_only=True, trust_remote_code=False), None


def _load_transformer(path: Path, name: str, device: str) -> tuple[Any, Any]:
    library = importlib.import_module("transformers")
    known: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    place, causal = name, True
    if path.is_file():
        place, known["gguf_file"] = str(path.parent), path.name
    else:
        made = library.AutoConfig.from_pretrained(place, **known).architectures or [""]
        causal = any(part in made[0] for part in ("CausalLM", "LMHead", "ConditionalGeneration"))
    kind = library.AutoModelForCausalLM if causal else library.AutoModel
    tokenizer = library.AutoTokenizer.from_pretrained(place, **known)
    return kind.from_pretrained(place, **known).to(device).eval(), tokenizer


@contextmanager
def _quiet_loading() -> Iterator[None]:
    """Keep the libraries of models from writing bars and remarks of their own."""
    logging = load_extra("transformers.utils.logging", "Models need", extra="models")
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        with redirect_stderr(io.StringIO()), ignored_warnings(Warning):
            yield
    finally:
        logging.set_verbosity(before)


def find_blocks(model: Any) -> Sequence[Any]:
    """Return the blocks of a transformer in their order: the longest list of modules inside it.

    Raises
    ------
    TaskError
        Where a model has no list of at least two blocks; such a model is given its blocks by hand (`blocks`).
    """
    torch = load_torch()
    lists = [module for module in model.modules() if isinstance(module, torch.nn.ModuleList) and len(module) > 1]
    # An outer list wins over the lists inside its blocks (experts, heads) where both are equally long.
    if not lists:
        raise TaskError(
            f"{type(model).__name__} has no list of blocks, two or more of one kind. Give another model; in Python its "
            f"modules can be named, in their order (blocks)."
        )
    longest = max(range(len(lists)), key=lambda number: len(lists[number]))
    return list(lists[longest])


def resolve_layers(layers: str | Sequence[int], n_blocks: int) -> tuple[int, ...]:
    """Return indices of blocks, counted from 0: all of them, or those given (negative ones from the end)."""
    if isinstance(layers, str):
        if layers != "all":
            raise TaskError(f"layers {layers!r} is given; 'all' or numbers of layers are needed.")
        return tuple(range(n_blocks))
    found = []
    for layer in layers:
        if not -n_blocks <= layer < n_blocks:
            raise TaskError(
                f"layer {layer} is given; the model has {n_blocks} layers. Use 0 to {n_blocks - 1}, or -{n_blocks} to "
                f"-1 from the end."
            )
        found.append(layer % n_blocks)
    if not found:
        raise TaskError("no layer is given; at least one is needed.")
    return tuple(dict.fromkeys(found))


def hidden_of(output: Any) -> torch.Tensor:
    """Return the hidden states in the output of a block: the tensor itself, or the first of a tuple."""
    return output[0] if isinstance(output, (tuple, list)) else output


def with_hidden(output: Any, hidden: torch.Tensor) -> Any:
    """Return the output of a block with other hidden states in their place."""
    if isinstance(output, tuple):
        return (hidden, *output[1:])
    if isinstance(output, list):
        return [hidden, *output[1:]]
    return hidden


@contextmanager
def hooked(blocks: dict[int, Any], on_output: Callable[[int, Any], Any]) -> Iterator[None]:
    """Call ``on_output(layer, output)`` after each block; what it returns, if anything, replaces the output.

    The hooks are removed when the context ends, however it ends.
    """
    handles = []
    try:
        for layer, block in blocks.items():

            def hook(_module: Any, _inputs: Any, output: Any, layer: int = layer) -> Any:
                return on_output(layer, output)

            handles.append(block.register_forward_hook(hook))
        yield
    finally:
        for handle in handles:
            handle.remove()


def model_name(model: Any) -> str:
    """Return the name a model was loaded by, or that of its class."""
    named = getattr(getattr(model, "config", None), "_name_or_path", "") or ""
    return str(named) or type(model).__name__


def model_checksum(model: Any) -> str:
    """Return a SHA-256 over names, shapes and some values of every parameter: another model has another one.

    Values are rounded to half precision first, so that a model moved to another device or loaded as float16 or
    float32 keeps its checksum where its weights are the same numbers.
    """
    torch = load_torch()
    digest = hashlib.sha256()
    for name, values in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(values.shape)}\n".encode())
        flat = values.detach().reshape(-1)
        if not flat.numel() or not torch.is_floating_point(flat):
            continue
        rows = torch.from_numpy(spread_rows(flat.numel(), _VALUES_PER_PARAMETER))
        sample = flat[rows.to(flat.device)].to("cpu", torch.float32).to(torch.bfloat16).to(torch.float32)
        digest.update(sample.numpy().tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Encoded:
    """Texts as token numbers, one list per text, and what was done to make them.

    Attributes
    ----------
    tokens : list of lists of int
    offsets : list, optional
        First and last letter of each token, where they were asked for and the tokenizer knows them.
    added_first_token : bool
        Whether a first token (BOS) was put in front that the tokenizer left out.
    """

    tokens: list[list[int]]
    offsets: list[list[tuple[int, int]]] | None
    added_first_token: bool


def encode_texts(
    model: Any,
    tokenizer: Any,
    texts: Sequence[str],
    *,
    first_token: str | bool = "auto",
    truncate: bool = False,
    offsets: bool = False,
) -> Encoded:
    """Return the tokens of texts, with the first token the model expects, none longer than its context.

    Where each token lies in its text is asked for by `offsets` only: for many texts it takes longer than the tokens.
    """
    check_texts(texts)
    tokens, places = _tokenize(tokenizer, texts, offsets=offsets)
    first = _missing_first_token(tokenizer, tokens)
    add = first is not None and (first_token is True or (first_token == "auto" and _needs(model, tokens, first)))
    if add:
        tokens = [[first, *row] for row in tokens]  # type: ignore[list-item]
        places = [[(0, 0), *row] for row in places] if places is not None else None
    longest = _context_of(model, tokenizer)
    long = [number for number, row in enumerate(tokens) if len(row) > longest]
    if long and not truncate:
        raise TaskError(
            f"text {long[0] + 1} has {len(tokens[long[0]]):,} tokens; the model takes {longest:,} ({len(long):,} of "
            f"{len(texts):,} texts are too long). Shorten them, or have them cut with truncate=True."
        )
    tokens = [row[:longest] for row in tokens]
    empty = [number for number, row in enumerate(tokens) if not row]
    if empty:
        raise TaskError(f"text {empty[0] + 1} has no token: {texts[empty[0]]!r}. Leave it out.")
    return Encoded(tokens, places, add)


def check_texts(texts: Sequence[str]) -> None:
    """Raise unless every text has letters in it."""
    if isinstance(texts, str) or not len(texts):
        raise TaskError(f"{texts!r} is given; a list of one or more texts is needed.")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TaskError(f"text {number + 1} is {type(text).__name__}; texts are needed.")
        if not text.strip():
            raise TaskError(f"text {number + 1} is empty. Leave it out, with its label.")


def _tokenize(
    tokenizer: Any, texts: Sequence[str], *, offsets: bool
) -> tuple[list[list[int]], list[list[tuple[int, int]]] | None]:
    if not getattr(tokenizer, "is_fast", False):
        return [list(row) for row in tokenizer(list(texts), add_special_tokens=True)["input_ids"]], None
    asked = {"return_attention_mask": False, "return_token_type_ids": False, "return_offsets_mapping": offsets}
    found = tokenizer(list(texts), add_special_tokens=True, verbose=False, **asked)
    if not offsets:
        return found["input_ids"], None
    return found["input_ids"], [[(int(a), int(b)) for a, b in row] for row in found["offset_mapping"]]


def _missing_first_token(tokenizer: Any, tokens: list[list[int]]) -> int | None:
    first = getattr(tokenizer, "bos_token_id", None)
    if first is None or all(row[:1] == [first] for row in tokens):
        return None
    return int(first)


def _needs(model: Any, tokens: list[list[int]], first: int) -> bool:
    """Return whether the model predicts texts better after its first token: a causal model can be asked, once."""
    if not hasattr(model, "lm_head") and getattr(model, "get_output_embeddings", lambda: None)() is None:
        return False
    rows = [row for row in tokens if len(row) > 2][:_TEXTS_FOR_FIRST_TOKEN]
    known = _GAINS.setdefault(model, {})
    if first not in known and rows:
        known[first] = _gain(model, rows, first)
    return known.get(first, 0.0) > _LOSS_GAIN_IN_NATS


def _gain(model: Any, rows: list[list[int]], first: int) -> float:
    """Return by how many nats per token the loss of texts falls where they stand after a first token."""
    torch = load_torch()
    gains = []
    with torch.inference_mode():
        for row in rows:
            losses = []
            for before in ([], [first]):
                ids = torch.tensor([[*before, *row]], device=next(model.parameters()).device)
                logits = model(input_ids=ids).logits[0, len(before) : -1].float()
                losses.append(float(torch.nn.functional.cross_entropy(logits, ids[0, len(before) + 1 :])))
            gains.append(losses[0] - losses[1])
    return float(np.mean(gains))


def _context_of(model: Any, tokenizer: Any) -> int:
    config = getattr(model, "config", None)
    lengths = [getattr(config, name, None) for name in ("max_position_embeddings", "n_positions")]
    lengths.append(getattr(tokenizer, "model_max_length", None))
    known = [int(length) for length in lengths if length and 0 < int(length) < 10**7]
    return min(known) if known else 10**7


def padded(rows: Sequence[Sequence[int]], filler: int, device: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token numbers padded on the right to one length, and the mask of the true ones."""
    torch = load_torch()
    lengths = np.array([len(row) for row in rows])
    true = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(true.shape, filler, dtype=np.int64)
    ids[true] = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
    both = torch.from_numpy(ids), torch.from_numpy(true.astype(np.int64))
    if device.type == "cuda":  # from pinned memory, so that the next batch is made while the device works on this one
        both = both[0].pin_memory(), both[1].pin_memory()
    return both[0].to(device, non_blocking=True), both[1].to(device, non_blocking=True)


def filler_of(tokenizer: Any) -> int:
    """Return a token number to pad with: padding is masked, so any will do where a tokenizer has none."""
    for name in ("pad_token_id", "eos_token_id"):
        number = getattr(tokenizer, name, None)
        if isinstance(number, int):
            return number
    return 0
