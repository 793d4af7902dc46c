"""Models and their tokens: load a model, and turn texts into token numbers."""

from __future__ import annotations

import importlib
import io
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from densray._threads import ignored_warnings
from densray._vocabulary import spread_rows
from densray.errors import Advice, Argument, MissingExtraError, TaskError, how_to_install, load_extra
from densray.states._blocks import input_device, load_torch, refuse_virtual_tokens
from densray.states._chat import ChatText, Text, as_texts

if TYPE_CHECKING:
    pass

#: Number of texts for comparing the loss with and without a first token.
_TEXTS_FOR_FIRST_TOKEN = 8
#: A first token that the tokenizer left out is added if the loss per token falls by at least this much.
_LOSS_GAIN_IN_NATS = 0.5
#: Number of vocabulary words to check a tokenizer with, and the share that must stay whole.
_WORDS_ASKED, _WHOLE_WORDS = 200, 0.9
#: Number of texts whose tokens are compared between a tokenizer and its backend.
_TEXTS_COMPARED = 8
#: Gain from the first token, cached per model.
_GAINS: WeakKeyDictionary[Any, dict[int, float]] = WeakKeyDictionary()


@dataclass(frozen=True)
class LoadedModel:
    """A loaded model, its name, and its tokenizer (None for a sentence encoder)."""

    name: str
    model: Any
    tokenizer: Any


def load_model(
    name: str | Path,
    *,
    device: str | None = None,
    dtype: str | None = None,
    device_map: str | Mapping[str, Any] | None = None,
    sentence_encoder: bool | None = None,
) -> LoadedModel:
    """Load a model and its tokenizer from this machine. Nothing is downloaded, and no code in its files is run.

    Parameters
    ----------
    name : str or path
        A folder or name that Hugging Face loads, a ``.gguf`` file, or the folder of a sentence encoder (it has a
        ``modules.json``; needs the package sentence-transformers).
    device : str, optional
        Where to run it: ``"cpu"``, ``"cuda"`` … (default: a GPU if there is one).
    dtype : str, optional
        Precision of the weights: ``"float32"``, ``"float16"``, ``"bfloat16"`` or ``"auto"`` (as stored). Default: the
        choice of Hugging Face.
    device_map : str or mapping, optional
        How to spread the model over devices, in place of `device`: ``"auto"``, or a device per module, as in Hugging
        Face (needs accelerate).
    sentence_encoder : bool, optional
        Whether to load the folder as a sentence encoder. False loads the transformer inside it, with all its blocks.
    """
    path = Path(name)
    if path.is_file() and path.suffix.lower() != ".gguf":
        raise TaskError(f"{path.name} is a file; a model is a .gguf file, or a folder or name that Hugging Face loads.")
    if path.is_dir() and not (path / "config.json").is_file() and not (path / "modules.json").is_file():
        raise TaskError(f"{path} has no config.json: it is not the folder of a model.")
    torch = load_torch()
    if device is not None and device_map is not None:
        raise TaskError("device and device_map are both given. Give one.")
    if dtype not in (None, "auto") and not isinstance(getattr(torch, str(dtype), None), torch.dtype):
        raise TaskError(f"dtype {dtype!r} is given; float32, float16, bfloat16 or auto is needed.")
    weights = {"dtype": dtype, "device_map": device_map}
    options = {name: value for name, value in weights.items() if value is not None}
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    said = str(path.resolve()) if path.exists() else str(name)
    as_encoder = (path / "modules.json").is_file() if sentence_encoder is None else sentence_encoder
    with _quiet_loading():
        try:
            loaded = (
                _load_encoder(path, chosen, options) if as_encoder else _load_transformer(path, name, chosen, options)
            )
        except ImportError as error:
            remedy = "Run: pip install sentence-transformers" if as_encoder else how_to_install("models")
            reason = str(error).strip().splitlines()[0]
            raise MissingExtraError(f"{name} cannot be loaded: {reason} {remedy}") from None
        except Exception as error:  # another library may raise anything on a damaged file
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            remedy = (
                "The model needs more memory than is free. Use another device, a smaller precision (dtype) or a "
                "smaller model."
                if isinstance(error, MemoryError) or "out of memory" in reason
                else "Give a folder or a name in the cache of Hugging Face, or a .gguf file."
            )
            raise TaskError(f"{name} cannot be loaded from this machine ({reason}). {remedy}") from None
    if path.is_file():
        _check_vocabulary(loaded[1], path.name)
    return LoadedModel(said, *loaded)


def _check_vocabulary(tokenizer: Any, name: str) -> None:
    """Warn if a tokenizer splits words of its own vocabulary, which happens with some versions of transformers."""
    entries = tokenizer.get_vocab().items()
    own = sorted((number, token[1:]) for token, number in entries if re.fullmatch("[▁Ġ][a-z]{3,9}", token))
    own = [own[row] for row in spread_rows(len(own), _WORDS_ASKED)] if own else []
    found = tokenizer([f" {word}" for _, word in own], add_special_tokens=False)["input_ids"] if own else []
    # some tokenizers add their own leading space
    apart = [word for (number, word), tokens in zip(own, found, strict=True) if list(tokens)[-1:] != [number]]
    if len(apart) > (1.0 - _WHOLE_WORDS) * len(own):
        version = importlib.import_module("transformers").__version__
        warnings.warn(
            f"the tokenizer that transformers {version} makes of {name} splits {len(apart)} of {len(own)} words of its "
            f"own vocabulary ({', '.join(apart[:3])} …): the model would get other tokens than in training. "
            f"Give the folder of the model instead of the .gguf file, or install another version of transformers.",
            stacklevel=3,
        )


def _load_encoder(path: Path, device: str, options: dict[str, Any]) -> tuple[Any, None]:
    library = importlib.import_module("sentence_transformers")
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    where = None if "device_map" in options else device
    return library.SentenceTransformer(str(path), device=where, model_kwargs=options, **local), None


def _load_transformer(path: Path, name: str | Path, device: str, options: dict[str, Any]) -> tuple[Any, Any]:
    library = importlib.import_module("transformers")
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    source, kind = str(name), library.AutoModelForCausalLM
    if path.is_file():
        source, local["gguf_file"] = str(path.parent), path.name
    else:
        architecture = (library.AutoConfig.from_pretrained(source, **local).architectures or [""])[0]
        speaks = any(part in architecture for part in ("CausalLM", "LMHead", "ConditionalGeneration"))
        kind = getattr(library, architecture, kind) if speaks else library.AutoModel
    tokenizer = library.AutoTokenizer.from_pretrained(source, **local)
    model = kind.from_pretrained(source, **local, **options)
    return (model if "device_map" in options else model.to(device)).eval(), tokenizer


@contextmanager
def _quiet_loading() -> Iterator[None]:
    """Silence the progress bars and warnings of other libraries."""
    logging = load_extra("transformers.utils.logging", "Models need", extra="models")
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        with redirect_stderr(io.StringIO()), ignored_warnings(Warning):
            yield
    finally:
        logging.set_verbosity(before)


def model_name(model: Any) -> str:
    """Return the name that a model was loaded by, or the name of its class."""
    named = getattr(getattr(model, "config", None), "_name_or_path", "") or ""
    return str(named) or type(model).__name__


@dataclass(frozen=True)
class Encoded:
    """Texts as token numbers, one list per text.

    Attributes
    ----------
    tokens : list of lists of int
    offsets : list, optional
        Start and stop of each token in characters, if requested and known to the tokenizer.
    added_first_token : bool
        Whether a first token (BOS) was added, because the tokenizer does not add it.
    """

    tokens: list[list[int]]
    offsets: list[list[tuple[int, int]]] | None
    added_first_token: bool


def encode_texts(
    model: Any,
    tokenizer: Any,
    texts: Iterable[Text],
    *,
    first_token: str | bool = "auto",
    truncate: bool = False,
    offsets: bool = False,
) -> Encoded:
    """Return the tokens of texts, with the first token that the model expects, within its context length.

    Positions of tokens are computed only with `offsets`, because they take longer than the tokens.
    """
    refuse_virtual_tokens(model)
    texts = as_texts(tokenizer, texts)
    check_texts(texts)
    tokens, places = _tokenize(model, tokenizer, texts, offsets=offsets)
    first = _missing_first_token(tokenizer, tokens)
    add = first is not None and (first_token is True or (first_token == "auto" and _needs(model, tokens, first)))
    if add:
        lacking = [row[:1] != [first] for row in tokens]
        tokens = [[first, *row] if lacks else row for row, lacks in zip(tokens, lacking, strict=True)]  # type: ignore[list-item]
        if places is not None:
            places = [[(0, 0), *row] if lacks else row for row, lacks in zip(places, lacking, strict=True)]
    longest = _context_of(model, tokenizer)
    long = [number for number, row in enumerate(tokens) if len(row) > longest]
    if long and not truncate:
        raise TaskError(
            f"text {long[0] + 1} has {len(tokens[long[0]]):,} tokens; the model takes {longest:,} ({len(long):,} of "
            f"{len(texts):,} texts are too long).",
            Advice(" Shorten them, or have them cut with ", Argument("truncate", True), "."),
        )
    if long:
        tokens = [row[:longest] for row in tokens]
    empty = [number for number, row in enumerate(tokens) if not row]
    if empty:
        raise TaskError(f"text {empty[0] + 1} has no token: {texts[empty[0]]!r}. Leave it out.")
    return Encoded(tokens, places, add)


def check_texts(texts: Sequence[str]) -> None:
    """Raise if there are no texts, or if a text is empty."""
    if not len(texts):
        raise TaskError("no text is given; a list of one or more texts is needed.")
    for number, text in enumerate(texts):
        if not text.strip():
            raise TaskError(f"text {number + 1} is empty. Leave it out, with its label.")


def _tokenize(
    model: Any, tokenizer: Any, texts: Sequence[str], *, offsets: bool
) -> tuple[list[list[int]], list[list[tuple[int, int]]] | None]:
    """Return the tokens of texts and their positions.

    A conversation has only the special tokens of its template. A text that begins with the first token (BOS), as chat
    templates write it, gets no second one. A last token (EOS) that the tokenizer of a causal model appends is left out.
    """
    chats = [isinstance(text, ChatText) for text in texts]
    plain = _tokenize_alike(tokenizer, [t for t, chat in zip(texts, chats, strict=True) if not chat], offsets=offsets)
    _leave_out_last_token(model, tokenizer, *plain)
    written = [str(text) for text, chat in zip(texts, chats, strict=True) if chat]
    spoken = _tokenize_alike(tokenizer, written, offsets=offsets, special=False)
    first = getattr(tokenizer, "bos_token_id", None)
    if first is not None and (any(chats) or any(row[:2] == [first, first] for row in plain[0])):
        added = list(tokenizer("a")["input_ids"])[:1] == [first]
        _keep_one_first_token(first, *spoken, added=added)
        if added:  # otherwise, the text itself begins with several
            _keep_one_first_token(first, *plain)
    parts = [iter(plain[0]), iter(spoken[0])]
    tokens = [next(parts[chat]) for chat in chats]
    if plain[1] is None or spoken[1] is None:
        return tokens, None
    places = [iter(plain[1]), iter(spoken[1])]
    return tokens, [next(places[chat]) for chat in chats]


def _keep_one_first_token(
    first: int, rows: list[list[int]], places: list[list[tuple[int, int]]] | None, *, added: bool = False
) -> None:
    """Leave one of several first tokens (BOS) before each text; with `added`, also add it if there is none."""
    for number, row in enumerate(rows):
        count = next((place for place, token in enumerate(row) if token != first), len(row))
        if count > 1:
            rows[number] = row[count - 1 :]
            if places is not None:
                places[number] = places[number][count - 1 :]
        elif added and not count:
            rows[number] = [first, *row]
            if places is not None:
                places[number] = [(0, 0), *places[number]]


def _leave_out_last_token(
    model: Any, tokenizer: Any, rows: list[list[int]], places: list[list[tuple[int, int]]] | None
) -> None:
    """Leave out the last token (EOS) that a tokenizer appends to each text, if the model is causal.

    A causal model would continue the text after its end, and the state of the last token would be that of EOS. Models
    that read in both directions are trained with this token.
    """
    last = getattr(tokenizer, "eos_token_id", None)
    if last is None or not any(row[-1:] == [last] for row in rows):
        return
    usual, bare = (list(tokenizer("a", add_special_tokens=special)["input_ids"]) for special in (True, False))
    if len(usual) < 2 or usual[-1] != last or bare[-1:] == [last] or not _is_causal(model):
        return
    for number, row in enumerate(rows):
        if len(row) > 1:
            rows[number] = row[:-1]
            if places is not None:
                places[number] = places[number][:-1]


def _is_causal(model: Any) -> bool:
    """Return whether each token of a model sees the tokens before it only, with and without its head."""
    if getattr(getattr(model, "config", None), "is_encoder_decoder", False) or not hasattr(model, "modules"):
        return False
    known = [module.is_causal for module in model.modules() if isinstance(getattr(module, "is_causal", None), bool)]
    return any(known) if known else bool(getattr(model, "can_generate", lambda: False)())


def _tokenize_alike(
    tokenizer: Any, texts: Sequence[str], *, offsets: bool, special: bool = True
) -> tuple[list[list[int]], list[list[tuple[int, int]]] | None]:
    if not texts:
        return [], [] if offsets else None
    if not getattr(tokenizer, "is_fast", False):
        return [list(row) for row in tokenizer(list(texts), add_special_tokens=special)["input_ids"]], None
    asked = {"return_attention_mask": False, "return_token_type_ids": False, "return_offsets_mapping": offsets}

    def slow(part: Sequence[str]) -> Any:
        return tokenizer(list(part), add_special_tokens=special, verbose=False, **asked)

    if offsets:
        found = slow(texts)
        return found["input_ids"], [[(int(a), int(b)) for a, b in row] for row in found["offset_mapping"]]
    # The tokenizer sets the options of its backend, whose own call takes half the time: it leaves out positions.
    known = slow(texts[:_TEXTS_COMPARED])["input_ids"]
    rows = [one.ids for one in tokenizer.backend_tokenizer.encode_batch_fast(list(texts), add_special_tokens=special)]
    return (rows if rows[: len(known)] == known else slow(texts)["input_ids"]), None


def _missing_first_token(tokenizer: Any, tokens: list[list[int]]) -> int | None:
    first = getattr(tokenizer, "bos_token_id", None)
    if first is None or all(row[:1] == [first] for row in tokens):
        return None
    return int(first)


def _needs(model: Any, tokens: list[list[int]], first: int) -> bool:
    """Return whether a causal model predicts texts better after its first token; measured once per model."""
    if not hasattr(model, "lm_head") and getattr(model, "get_output_embeddings", lambda: None)() is None:
        return False
    rows = [row for row in tokens if len(row) > 2][:_TEXTS_FOR_FIRST_TOKEN]
    known = _GAINS.setdefault(model, {})
    if first not in known and rows:
        known[first] = _gain(model, rows, first)
    return known.get(first, 0.0) > _LOSS_GAIN_IN_NATS


def _gain(model: Any, rows: list[list[int]], first: int) -> float:
    """Return by how many nats per token the loss of texts falls with the first token."""
    torch = load_torch()
    gains = []
    with torch.inference_mode():
        for row in rows:
            losses = []
            for before in ([], [first]):
                ids = torch.tensor([[*before, *row]], device=input_device(model))
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
