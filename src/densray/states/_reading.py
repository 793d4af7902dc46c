"""Read hidden states: run texts through a model in batches, and pool the states after each block."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray.errors import Advice, Argument, TaskError
from densray.progress import Progress
from densray.states._blocks import find_stack, input_device, load_torch, resolve_layers, run_blocks
from densray.states._chat import Text, as_texts
from densray.states._models import Encoded, check_texts, encode_texts, model_name
from densray.states._padding import filler_of, length_limit, padded, same_states
from densray.states._storage import (
    DTYPES,
    BlockWriter,
    States,
    StatesInFolder,
    StatesInMemory,
    check_columns,
    states_header,
)
from densray.states._texts import as_list
from densray.states._weights import model_checksum

if TYPE_CHECKING:
    import torch

    Pool = str | Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

#: Number of texts that are read, written and recorded as finished together, on a CPU.
TEXTS_PER_BLOCK = 512
#: The least and the most on a device, where the states of a block may take this many bytes. Texts are sorted by length
#: within a block, so that many texts and small batches need little padding.
_TEXTS_PER_DEVICE_BLOCK, _BYTES_PER_DEVICE_BLOCK = (8_192, 65_536), 2**30
#: Tokens of one batch on a CPU and on a device; halved if memory is too small.
TOKENS_PER_BATCH = {"cpu": 4_096, "device": 32_768}
#: Tokens of padding, or more, with which a text is compared with itself alone.
_PADDING_TRIED = 8
_POOLS = ("last", "mean", "word", "span")
#: Thai, the first of the scripts in Unicode that are written without spaces; those before it have spaces.
_FIRST_WITHOUT_SPACES = "\u0e00"


def read_states(
    model: Any,
    tokenizer: Any,
    texts: Iterable[Text],
    *,
    layers: str | Sequence[int] = "all",
    pool: Pool = "last",
    words: Iterable[str] | None = None,
    spans: Iterable[tuple[int, int]] | None = None,
    generation_prompt: bool | None = None,
    out: str | Path | None = None,
    dtype: str = "float32",
    first_token: str | bool = "auto",
    truncate: bool = False,
    blocks: Sequence[Any] | None = None,
    tokens_per_batch: int | None = None,
    labels: Iterable[Any] | None = None,
    groups: Iterable[Any] | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> States:
    """Return the hidden states of texts after each block of a model: the residual stream, one row per text.

    Parameters
    ----------
    model
        A Hugging Face transformer (encoder or decoder), or anything with an ``encode`` method (a sentence encoder),
        which has one layer and needs no tokenizer. Blocks after the last requested layer, and the head of the model,
        are not run.
    tokenizer
        The tokenizer of the model; None for a sentence encoder.
    texts : iterable of str, or of message lists
        Message lists are written by the tokenizer's chat template, with exactly one first token (BOS).
    layers : "all" or sequence of int
        Blocks after which states are read, counted from 0; negative ones from the end.
    pool : "last", "mean", "word", "span" or callable
        Tokens that a row represents. "last": the last token; "mean": the mean of all tokens but the first, which is
        often an attention sink; "word" and "span": the mean over the tokens of one word (`words`) or span (`spans`) per
        text. A callable gets the states (texts, tokens, width) and the mask.
    words : iterable of str, optional
        For ``pool="word"``: the word of each text. Its first occurrence as a whole word counts.
    spans : iterable of pairs of int, optional
        Start and stop (exclusive) of each text's span, in characters counted from 0, for ``pool="span"``.
    generation_prompt : bool, optional
        Whether to append the generation prompt of the chat template. By default it is appended if the last message is
        the user's.
    out : path, optional
        A folder for the states, with one file per layer. Call the function again to resume an interrupted run.
    dtype : "float32", "float16" or "bfloat16"
        Data type of the stored states.
    first_token : "auto" or bool
        Whether to add the first token (BOS) if the tokenizer does not. "auto" adds it if the model predicts the first
        few texts better with it.
    truncate : bool, default=False
        Whether to truncate texts that are longer than the context; otherwise they raise an error.
    blocks : sequence of modules, optional
        The blocks in order, if they cannot be found (:func:`find_blocks`).
    tokens_per_batch : int, optional
        Number of tokens to run at once, including padding; halved if memory is too small.
    labels, groups : iterable, optional
        Label and group of each text, stored with the states.
    name : str, optional
        Name of the model (default: the name it was loaded by).
    progress : callable, optional
        Called with the number of texts done and their total.
    """
    if dtype not in DTYPES:
        raise TaskError(Argument("dtype", dtype), f" is given; one of {', '.join(DTYPES)} is needed.")
    check_pool(pool, words=words, spans=spans)
    texts = as_texts(tokenizer, texts, generation_prompt=generation_prompt)
    words = None if words is None else as_list(words, "words")
    spans = None if spans is None else as_list(spans, "spans")
    labels = None if labels is None else as_list(labels, "labels")
    groups = None if groups is None else as_list(groups, "groups")
    check_columns(labels, groups, len(texts))
    if tokenizer is None and hasattr(model, "encode"):
        if pool != "last":
            raise TaskError(
                Argument("pool", pool),
                " is given with a sentence encoder, which has one vector per text and pools by itself. Leave it out, "
                "or read the model inside the encoder, with its tokenizer.",
            )
        states = _read_encoder(model, texts, name or type(model).__name__, dtype=dtype, out=out, progress=progress)
        return states.labelled(labels, groups, store=True)
    torch = load_torch()
    modules = find_stack(model, blocks).blocks
    chosen = resolve_layers(layers, len(modules))
    encoded = encode_texts(
        model, tokenizer, texts, first_token=first_token, truncate=truncate, offsets=pool in ("word", "span")
    )
    reader = _Reader(
        model=model,
        blocks={layer: modules[layer] for layer in chosen},
        tokens=encoded.tokens,
        pooling=_Pooling.of(encoded, texts, pool, words, spans),
        filler=filler_of(tokenizer),
        tokens_per_batch=tokens_per_batch or TOKENS_PER_BATCH["cpu" if input_device(model).type == "cpu" else "device"],
    )
    width = reader.prepare()
    header = states_header(
        model=name or model_name(model),
        checksum=model_checksum(model, blocks),
        layers=list(chosen),
        width=width,
        dtype=dtype,
        pool=pool if isinstance(pool, str) else getattr(pool, "__name__", "function"),
        tokens=_digest(encoded.tokens),
        added_first_token=encoded.added_first_token,
        texts=[str(text) for text in texts],
    )
    target = StatesInFolder(Path(out), header) if out is not None else StatesInMemory(header)
    size = texts_per_block(input_device(model).type, len(chosen), width)
    with target, BlockWriter(target, progress) as writer, torch.inference_mode():
        for start in range(target.finished, len(texts), size):
            writer.write(start, reader.read(start, min(start + size, len(texts))))
    return target.states().labelled(labels, groups, store=True)


def check_pool(pool: Pool, **places: object) -> None:
    """Raise if words or spans are given that this kind of pooling does not use."""
    for name, used_by in (("words", "word"), ("spans", "span")):
        if places.get(name) is not None and pool != used_by:
            kind = pool if isinstance(pool, str) else getattr(pool, "__name__", "function")
            raise TaskError(
                Argument(name),
                " is given with ",
                Argument("pool", kind),
                ", which does not use it. Add ",
                Argument("pool", used_by),
                ", or leave out ",
                Argument(name),
                ".",
            )


def texts_per_block(device: str, n_layers: int, width: int) -> int:
    """Return how many texts are read and written together.

    >>> texts_per_block("cpu", 1, 576), texts_per_block("cuda", 1, 576), texts_per_block("cuda", 30, 576)
    (512, 65536, 15534)
    """
    if device == "cpu":
        return TEXTS_PER_BLOCK
    least, most = _TEXTS_PER_DEVICE_BLOCK
    return min(most, max(least, _BYTES_PER_DEVICE_BLOCK // (4 * n_layers * width)))


@dataclass(frozen=True)
class TokenStates:
    """Hidden states of one text, token by token.

    Attributes
    ----------
    tokens : tuple of str
        The text of each token, including the space before it; joined, they are the text.
    rows : mapping of int to array of shape (tokens, width)
        By layer.
    """

    tokens: tuple[str, ...]
    rows: dict[int, NDArray[np.float32]]

    def scores(self, axis: NDArray[np.float64], states: States, layer: int) -> NDArray[np.float64]:
        """Return the score of each token: 1 at the mean of the texts with the high label, -1 at that of the low label.

        Parameters
        ----------
        axis : array of shape (width,)
            The axis at that layer of `states`, which have two labels: ``compare_layers(states).axes[layer, method]``.
        """
        labels, known = np.asarray(states.labels), np.asarray(states[layer], dtype=np.float64) @ axis
        low, high = (known[labels == kind].mean() for kind in np.unique(labels))
        scores = self.rows[layer].astype(np.float64) @ axis
        return np.asarray((scores - (low + high) / 2) / ((high - low) / 2))


def read_tokens(
    model: Any,
    tokenizer: Any,
    text: str,
    *,
    layers: str | Sequence[int] = "all",
    first_token: str | bool = "auto",
    blocks: Sequence[Any] | None = None,
) -> TokenStates:
    """Return the hidden states of every token of one text, after each of some blocks (see :func:`read_states`)."""
    torch = load_torch()
    modules = find_stack(model, blocks).blocks
    encoded = encode_texts(model, tokenizer, [text], first_token=first_token, offsets=True)
    ids, mask = padded(encoded.tokens, filler_of(tokenizer), input_device(model))
    wanted = {layer: modules[layer] for layer in resolve_layers(layers, len(modules))}
    with torch.inference_mode():
        rows = run_blocks(model, wanted, ids, mask, lambda states: states[0].float().cpu().numpy())
    return TokenStates(tuple(_pieces(encoded, tokenizer, text)), rows)


def _pieces(encoded: Encoded, tokenizer: Any, text: str) -> Iterator[str]:
    """Yield the text of each token; text between two tokens goes to the second, special tokens have their name."""
    names = [str(name) for name in tokenizer.convert_ids_to_tokens(encoded.tokens[0])]
    if encoded.offsets is None:
        yield from names
        return
    done = 0
    for name, (start, stop) in zip(names, encoded.offsets[0], strict=True):
        yield name if start == stop else text[done:stop]
        done = max(done, stop)


@dataclass(frozen=True)
class _Pooling:
    """Pooling of the states of a text into one row: by name, by weights of tokens, or by a function."""

    name: str
    words: Sequence[NDArray[np.float32]] = ()
    function: Callable[[Any, Any], Any] | None = None

    @classmethod
    def of(
        cls,
        encoded: Encoded,
        texts: Sequence[str],
        pool: Pool,
        words: Sequence[str] | None,
        spans: Sequence[tuple[int, int]] | None,
    ) -> _Pooling:
        if callable(pool):
            return cls("function", function=pool)
        if pool not in _POOLS:
            raise TaskError(Argument("pool", pool), f" is given; one of {', '.join(_POOLS)} or a function is needed.")
        if pool == "word":
            return cls(pool, span_weights(encoded, texts, _spans_of_words(texts, words)))
        return cls(pool, span_weights(encoded, texts, checked_spans(texts, spans)) if pool == "span" else ())

    def of_batch(self, rows: Sequence[int], mask: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return a function from the states of a batch (texts, tokens, width) to one row per text."""
        torch, function = load_torch(), self.function
        if function is not None:
            return lambda states: function(states, mask).float()
        lengths = mask.sum(dim=1)
        if self.name == "last":
            every = torch.arange(len(lengths), device=mask.device)
            return lambda states: states[every, lengths - 1]
        if self.words:
            shares = np.zeros(tuple(mask.shape), dtype=np.float32)
            for place, number in enumerate(rows):
                shares[place, : len(self.words[number])] = self.words[number]
            weights = torch.from_numpy(shares).to(mask.device)
        else:  # the first token is a sink in many models; a text of one token has no other
            weights = mask.float()
            weights[:, 0] = (lengths == 1).float()
            weights = weights / weights.sum(dim=1, keepdim=True)
        return lambda states: torch.einsum("bt,btd->bd", weights, states)


def _spans_of_words(texts: Sequence[str], words: Sequence[str] | None) -> list[tuple[int, int]]:
    if words is None or len(words) != len(texts):
        given = "none" if words is None else f"{len(words):,}"
        raise TaskError(
            Argument("pool", "word"), f" needs one word per text: {len(texts):,} texts and {given} words are given."
        )
    spans = []
    for number, (text, word) in enumerate(zip(texts, words, strict=True)):
        places = [match.start() for match in re.finditer(re.escape(word), text)] if word else []
        whole = [place for place in places if _is_whole_word(text, place, place + len(word))]
        if not whole:
            inside = " except inside other words" if places else ""
            raise TaskError(
                f"text {number + 1} does not contain {word!r}{inside}: {text!r}.",
                Advice(" Give the places of the words (", Argument("pool", "span"), ")."),
            )
        spans.append((whole[0], whole[0] + len(word)))
    return spans


def _is_whole_word(text: str, start: int, stop: int) -> bool:
    """Return whether a part of a text is not part of a longer word; every part is in scripts written without spaces.

    >>> _is_whole_word("The nurse", 1, 3), _is_whole_word("he said", 0, 2), _is_whole_word("我爱你", 1, 2)
    (False, True, True)
    """
    edges = [text[place - 1 : place + 1] for place in (start, stop) if 0 < place < len(text)]
    return not any(all(letter.isalnum() and letter < _FIRST_WITHOUT_SPACES for letter in edge) for edge in edges)


def checked_spans(texts: Sequence[str], spans: Sequence[tuple[int, int]] | None) -> Sequence[tuple[int, int]]:
    """Return the spans; raise unless there is one inside each text."""
    if spans is None or len(spans) != len(texts):
        given = "none" if spans is None else f"{len(spans):,}"
        raise TaskError(
            Argument("pool", "span"), f" needs one span per text: {len(texts):,} texts and {given} spans are given."
        )
    for number, (text, (start, stop)) in enumerate(zip(texts, spans, strict=True)):
        if not 0 <= start < stop <= len(text):
            raise TaskError(f"text {number + 1} has {len(text):,} letters; the span {start} to {stop} is outside.")
    return spans


def span_weights(encoded: Encoded, texts: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[NDArray[np.float32]]:
    """Return equal weights for the tokens of each text that overlap its span."""
    if encoded.offsets is None:
        raise TaskError(
            "this tokenizer does not give the positions of its tokens in a text.",
            Advice(" Use ", Argument("pool", "last"), " or 'mean'."),
        )
    rows = []
    for number, (start, stop) in enumerate(spans):
        places = encoded.offsets[number][: len(encoded.tokens[number])]
        weights = np.array([a < stop and b > start and b > a for a, b in places], dtype=np.float32)
        if not weights.any():
            raise TaskError(f"text {number + 1} has no token in {texts[number][start:stop]!r}, after it was cut.")
        rows.append(weights / weights.sum())
    return rows


@dataclass
class _Reader:
    """Runs texts through a model in batches of similar length and pools the states on its device."""

    model: Any
    blocks: dict[int, Any]
    tokens: list[list[int]]
    pooling: _Pooling
    filler: int
    tokens_per_batch: int
    mixes_lengths: bool = True

    def prepare(self) -> int:
        """Return the width of the states, and find out whether texts of different lengths can share runs.

        They cannot if the model reads the padding, as convolutions over tokens do, for instance.
        """
        by_length = sorted(range(len(self.tokens)), key=lambda number: len(self.tokens[number]))
        shortest, longest = by_length[0], by_length[-1]
        with load_torch().inference_mode():
            alone = self.run([shortest])
            least = len(self.tokens[shortest])
            if least < len(self.tokens[longest]):
                # a few tokens of padding suffice for the comparison; a long text would take as long as a whole batch
                padded_by = (number for number in by_length if len(self.tokens[number]) >= least + _PADDING_TRIED)
                longer = next(padded_by, longest)
                in_batch = self._run_within_memory([shortest, longer])[:, :1]
                half = next(self.model.parameters()).element_size() < 4
                same = same_states(alone, in_batch, half=half)
                self.mixes_lengths = same and len(self.tokens[longest]) <= length_limit(self.model)
        return int(alone.shape[2])

    def read(self, start: int, stop: int) -> torch.Tensor:
        """Return the states of texts ``start`` to ``stop``: (layers, texts, width), float32, on the model device."""
        torch = load_torch()
        block: Any = None
        for rows in self._batches(sorted(range(start, stop), key=lambda number: len(self.tokens[number]))):
            states = self._run_within_memory(rows)
            if block is None:
                block = torch.empty(states.shape[0], stop - start, states.shape[2], device=states.device)
            block[:, torch.from_numpy(np.asarray(rows) - start).to(states.device)] = states
        return block

    def _batches(self, rows: list[int]) -> Iterator[list[int]]:
        batch: list[int] = []
        for number in rows:  # sorted by length: the last is the longest
            length = len(self.tokens[number])
            other = batch and not self.mixes_lengths and len(self.tokens[batch[-1]]) != length
            if batch and (other or (len(batch) + 1) * length > self.tokens_per_batch):
                yield batch
                batch = []
            batch.append(number)
        yield batch

    def _run_within_memory(self, rows: list[int]) -> torch.Tensor:
        torch = load_torch()
        try:
            return self.run(rows)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            if len(rows) == 1:
                raise TaskError(
                    f"text {rows[0] + 1} of {len(self.tokens[rows[0]]):,} tokens does not fit into the memory of the "
                    f"device. Shorten it, or use a device with more."
                ) from None
            self.tokens_per_batch = max(1, self.tokens_per_batch // 2)
        half = len(rows) // 2
        return torch.cat([self._run_within_memory(part) for part in (rows[:half], rows[half:])], dim=1)

    def run(self, rows: list[int]) -> torch.Tensor:
        """Return the pooled states of one batch: (layers, texts, width), float32, on its device."""
        torch = load_torch()
        ids, mask = padded([self.tokens[number] for number in rows], self.filler, input_device(self.model))
        pooled = self.pooling.of_batch(rows, mask)
        # a model may be spread over several devices
        states = run_blocks(self.model, self.blocks, ids, mask, lambda hidden: pooled(hidden.to(ids.device)).float())
        return torch.stack([states[layer] for layer in self.blocks])


def _digest(tokens: list[list[int]]) -> str:
    digest = hashlib.sha256(np.array([len(row) for row in tokens], dtype="<i8").tobytes())
    digest.update(np.fromiter(chain.from_iterable(tokens), dtype="<i8").tobytes())
    return digest.hexdigest()


def _read_encoder(
    encoder: Any, texts: Sequence[str], name: str, *, dtype: str, out: str | Path | None, progress: Progress | None
) -> States:
    """Return the vectors of an encoder as states of one layer."""
    check_texts(texts)
    torch = load_torch() if out is not None or dtype == "bfloat16" else None

    def encode(part: Sequence[str]) -> NDArray[np.float32]:
        rows = np.asarray(encoder.encode(list(part)), dtype=np.float32)
        if rows.ndim != 2 or len(rows) != len(part):
            raise TaskError(f"the encoder returned an array of shape {rows.shape} for {len(part)} texts.")
        return rows

    if torch is None:  # a NumPy encoder does not need PyTorch
        rows = encode(texts)
        return States.of_arrays([rows.astype(np.float16) if dtype == "float16" else rows], texts, model=name)
    header = states_header(
        model=name,
        checksum=model_checksum(encoder) if isinstance(encoder, torch.nn.Module) else "",
        layers=[0],
        width=int(encode(texts[:1]).shape[1]),
        dtype=dtype,
        pool="encoder",
        tokens="",
        added_first_token=False,
        texts=[str(text) for text in texts],
    )
    target = StatesInFolder(Path(out), header) if out is not None else StatesInMemory(header)
    with target, BlockWriter(target, progress) as writer:
        for start in range(target.finished, len(texts), TEXTS_PER_BLOCK):
            writer.write(start, torch.from_numpy(encode(texts[start : start + TEXTS_PER_BLOCK]))[None])
    return target.states()
