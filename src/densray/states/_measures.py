"""Outputs of a causal model with and without an intervention: preferences, likelihoods, and test results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray.errors import TaskError
from densray.groups import number_groups
from densray.metrics import auc, spearman
from densray.probes import ignored_convergence, small_network
from densray.states._blocks import input_device, load_torch
from densray.states._chat import Text
from densray.states._intervention import Intervention
from densray.states._models import encode_texts, filler_of, length_limit, padded
from densray.states._reading import read_states
from densray.states._texts import LabelledTexts

#: Number of texts to run at once when next-token distributions are compared, on a CPU and on a device.
_TEXTS_PER_BATCH = {"cpu": 8, "device": 128}
#: The same for generated text, where each text adds one token at a time.
_GENERATED_PER_BATCH = {"cpu": 64, "device": 128}
#: Largest number of logits (texts x tokens x words of the vocabulary) at once: 1 GB in single precision.
_LOGITS_PER_BATCH = 2**28
_PROBE_FOLDS = 5
#: Difference of scores of next tokens due to rounding, as a share of their standard deviation.
_ROUNDING = 0.01


@dataclass(frozen=True)
class Continuations:
    """Prompts with two possible continuations and a known number for each prompt.

    Attributes
    ----------
    prompts : sequence of str
        ``"The nurse said that"``.
    high, low : str
        The two continuations: ``" he"`` and ``" she"``.
    known : sequence of float
        A known number for each prompt, such as the share of women in the occupation; for definitional prompts, 1 if
        `high` is correct and 0 if `low` is.
    groups : sequence, optional
        Groups of prompts (such as those about one occupation) that stay in the same half and are resampled together.
        Without groups, each prompt is its own group.
    """

    prompts: Sequence[str]
    high: str
    low: str
    known: Sequence[float]
    groups: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        if self.groups is not None and len(self.groups) != len(self.prompts):
            raise TaskError(f"{len(self.groups)} groups are given for {len(self.prompts)} prompts; one each is needed.")
        if len(self.prompts) != len(self.known):
            raise TaskError(
                f"{len(self.prompts)} prompts and {len(self.known)} known values are given; one per prompt is needed."
            )
        if len(self.prompts) < 3:
            said = "1 prompt is" if len(self.prompts) == 1 else f"{len(self.prompts)} prompts are"
            raise TaskError(f"{said} given; at least three are needed.")

    @classmethod
    def read(cls, path: str | Path, high: str, low: str, **columns: str | None) -> Continuations:
        """Read prompts, the known number of each (its label) and its group, if the file has groups.

        `columns` are those of :meth:`densray.states.LabelledTexts.read`.
        """
        texts = LabelledTexts.read(path, **columns)
        if texts.labels is None or any(isinstance(label, str) for label in texts.labels):
            raise TaskError(
                f"{path} needs a column of labels that are numbers, such as the share of women in the occupation."
            )
        return cls(texts.texts, high, low, [float(label) for label in texts.labels], texts.groups)

    @property
    def group_numbers(self) -> NDArray[np.int64]:
        """The group number of each prompt, counted from 0."""
        if self.groups is None:
            return np.arange(len(self.prompts))
        return number_groups(self.groups)

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
    """Return log p(high) − log p(low) after each prompt; only the first token of a continuation is used."""
    torch = load_torch()
    high, low = (_first_token(tokenizer, text) for text in (prompts.high, prompts.low))
    if high == low:
        raise TaskError(
            f"{prompts.high!r} and {prompts.low!r} begin with the same token, so the model cannot prefer one of them. "
            "Name other words."
        )
    odds = []
    with under(model, change), torch.inference_mode():
        for logits, mask in _logits(model, tokenizer, list(prompts.prompts)):
            last = mask.sum(dim=1) - 1
            rows = torch.log_softmax(logits[torch.arange(len(last), device=last.device), last].float(), dim=-1)
            odds.append((rows[:, high] - rows[:, low]).double().cpu().numpy())
    return np.concatenate(odds)


def _first_token(tokenizer: Any, text: str) -> int:
    tokens = _tokens_of(tokenizer, text)
    if not text.strip() or not tokens:
        raise TaskError(f"the continuation {text!r} has no token; a word is needed.")
    if tokens[0] == getattr(tokenizer, "unk_token_id", None):
        raise TaskError(f"the continuation {text!r} is unknown to the tokenizer of the model. Name another word.")
    if len(tokens) > 1:
        counted = tokenizer.decode(tokens[:1])
        warnings.warn(f"{text!r} has {len(tokens)} tokens; only the first, {counted!r}, counts.", stacklevel=4)
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
    losses, divergences = [], []
    if change is not None:
        change = change.check_weights(model)  # once, not in every batch
    with torch.inference_mode():
        for ids, mask in _batches(model, tokenizer, rows):
            with under(model, change):
                changed = torch.log_softmax(_next_tokens(model, ids, mask)[:, :-1].float(), dim=-1)
            counted = mask[:, 1:].float()
            loss = -changed.gather(2, ids[:, 1:, None])[:, :, 0] * counted
            losses.append(torch.stack([loss.sum(1), counted.sum(1)], dim=1).double().cpu().numpy())
            apart = torch.zeros_like(loss)
            if change is not None and divergence:
                plain = torch.log_softmax(_next_tokens(model, ids, mask)[:, :-1].float(), dim=-1)
                apart = (plain.exp() * (plain - changed)).sum(dim=-1) * counted
            divergences.append(torch.stack([apart.sum(1), counted.sum(1)], dim=1).double().cpu().numpy())
    return np.concatenate(losses), np.concatenate(divergences)


def _logits(model: Any, tokenizer: Any, texts: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    for ids, mask in _batches(model, tokenizer, encode_texts(model, tokenizer, texts).tokens):
        yield _next_tokens(model, ids, mask), mask


def _next_tokens(model: Any, ids: Any, mask: Any) -> Any:
    logits = getattr(model(input_ids=ids, attention_mask=mask), "logits", None)
    if logits is None:
        raise TaskError(f"{type(model).__name__} does not predict next tokens; a causal language model is needed.")
    return logits


def _size_on(device: Any, sizes: Mapping[str, int]) -> int:
    """Return the size of a batch on a CPU or on another device."""
    return sizes["cpu" if device.type == "cpu" else "device"]


def _batches(model: Any, tokenizer: Any, rows: list[list[int]]) -> Iterator[tuple[Any, Any]]:
    device, filler = input_device(model), filler_of(tokenizer)
    longest = max(map(len, rows), default=1) * int(getattr(model.config, "vocab_size", 1) or 1)
    size = max(1, min(_size_on(device, _TEXTS_PER_BATCH), _LOGITS_PER_BATCH // longest))
    size = size if max(map(len, rows), default=0) <= length_limit(model) else 1
    for start in range(0, len(rows), size):
        yield padded(rows[start : start + size], filler, device)


def log_perplexity(model: Any, tokenizer: Any, texts: Sequence[str], change: Intervention | None = None) -> float:
    """Return the mean loss per token of texts, in nats."""
    losses, _ = token_costs(model, tokenizer, texts, change, divergence=False)
    return float(losses[:, 0].sum() / losses[:, 1].sum())


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
    torch = load_torch()
    device, filler = input_device(model), filler_of(tokenizer)
    decoding = _GREEDY | {"do_sample": True, "temperature": 1.0, "top_p": sampled, "top_k": 0} if sampled else _GREEDY
    generated: dict[int, list[int]] = {}
    devices = [device] if device.type == "cuda" else []
    with under(model, change), torch.inference_mode(), torch.random.fork_rng(devices):
        torch.manual_seed(random_state)
        size, mixed = _size_on(device, _GENERATED_PER_BATCH), _ignores_left_padding(model, rows, filler, max_new_tokens)
        for numbers in _by_length(rows, size, mixed=mixed):
            ids, mask = padded([rows[number] for number in numbers], filler, device, left=True)
            found = model.generate(
                ids, attention_mask=mask, max_new_tokens=max_new_tokens, pad_token_id=filler, **decoding
            )
            for number, new in zip(numbers, found[:, ids.shape[1] :].tolist(), strict=True):
                generated[number] = _until_end(new, _end_tokens(model))
    return [(row, generated[number]) for number, row in enumerate(rows)]


def _ignores_left_padding(model: Any, rows: Sequence[list[int]], filler: int, max_new_tokens: int) -> bool:
    """Return whether the next token after the shortest row has the same scores if it is padded as long as the longest.

    This holds for most models with attention. It fails, for instance, for recurrent models that read the padding, and
    if `generate` penalizes tokens that it finds in the padding.
    """
    torch = load_torch()
    shortest, longest = min(rows, key=len, default=[]), max(rows, key=len, default=[])
    if len(shortest) == len(longest):
        return True
    if len(longest) + max_new_tokens > length_limit(model):
        return False

    def next_scores(batch: list[list[int]]) -> Any:
        ids, mask = padded(batch, filler, input_device(model), left=True)
        options = {"return_dict_in_generate": True, "output_scores": True, "pad_token_id": filler, **_GREEDY}
        return model.generate(ids, attention_mask=mask, max_new_tokens=1, **options).scores[0][0].float()

    alone, beside = next_scores([shortest]), next_scores([shortest, longest])
    spread = float(alone[torch.isfinite(alone)].std())  # a token that must not follow has the score -inf
    return bool(torch.allclose(alone, beside, rtol=0.0, atol=_ROUNDING * spread))


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
        for ids, mask in _batches(model, tokenizer, [[*prompt, *new] for prompt, new in rows]):
            logs = torch.log_softmax(_next_tokens(model, ids, mask)[:, :-1].float(), dim=-1)
            taken = -logs.gather(2, ids[:, 1:, None])[:, :, 0].double().cpu().numpy()
            for loss, (prompt, new) in zip(taken, rows[done : done + len(ids)], strict=True):
                losses.append((loss[len(prompt) - 1 : len(prompt) + len(new) - 1].sum(), len(new)))
            done += len(ids)
    return np.array(losses, dtype=np.float64)


def correct_facts(
    model: Any, tokenizer: Any, facts: Sequence[tuple[str, str, str]], change: Intervention | None = None
) -> NDArray[np.bool_]:
    """Return for each prompt whether its correct continuation is likelier than the wrong one (first tokens only)."""
    torch = load_torch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # continuations of several tokens
        answers = [[_first_token(tokenizer, text) for text in fact[1:]] for fact in facts]
    found: list[bool] = []
    with under(model, change), torch.inference_mode():
        for logits, mask in _logits(model, tokenizer, [fact[0] for fact in facts]):
            for row, length in zip(logits, mask.sum(dim=1), strict=True):
                right, wrong = (float(row[length - 1, token]) for token in answers[len(found)])
                found.append(right > wrong)
    return np.array(found, dtype=bool)


@dataclass(frozen=True)
class InterventionTests:
    """Texts on which an intervention is tested; it must not have been learned from them.

    Attributes
    ----------
    texts : sequence of str
        Ordinary texts, for perplexity and the divergence of next tokens.
    stereotypes : Continuations, optional
        Prompts without a correct answer, each with a known number, such as the share of women in an occupation.
    definitions : Continuations, optional
        Prompts with a correct answer, which the model should keep giving: 1 if the high continuation is correct, 0 if
        the low one is.
    pairs : sequence of pairs of str, optional
        Pairs of a more and a less stereotypical sentence (CrowS-Pairs).
    probe : LabelledTexts, optional
        Texts of two classes, on which linear and MLP probes are refitted under the intervention.
    others : mapping of str to LabelledTexts
        Texts of two classes for other concepts, by name. Probes should predict them as well as before.
    probe_layers : sequence of int
        Layers of the probes (default: the last layer).
    """

    texts: Sequence[str]
    stereotypes: Continuations | None = None
    definitions: Continuations | None = None
    pairs: Sequence[tuple[str, str]] = ()
    probe: LabelledTexts | None = None
    others: Mapping[str, LabelledTexts] = field(default_factory=dict)
    probe_layers: Sequence[int] = field(default=(-1,))


@dataclass(frozen=True)
class EffectMeasure:
    """One measure with the values that it is computed from, so that it can be resampled."""

    part: str
    measure: str
    values: NDArray[np.float64]
    figure: Callable[[NDArray[np.float64]], float]
    meaning: str
    if_gone: float | None = None
    groups: NDArray[np.int64] | None = None
    is_share: bool = False

    @property
    def value(self) -> float:
        return self.figure(self.values)


Measured = list[EffectMeasure]


def members_of(figure: EffectMeasure) -> list[NDArray[np.int64]]:
    """Return the rows of each group, so that whole groups can be resampled."""
    if figure.groups is None:
        return list(np.arange(len(figure.values)).reshape(-1, 1))
    return [np.flatnonzero(figure.groups == group) for group in range(int(figure.groups.max()) + 1)]


Measure = Callable[[Any, Any, "Intervention | None"], Measured]


def measures_of(tests: InterventionTests) -> Iterator[Measure]:
    probe, prompts, definitions = tests.probe, tests.stereotypes, tests.definitions
    if probe is not None:
        yield lambda model, tokenizer, change: _probes(model, tokenizer, change, probe, tests.probe_layers)
    if prompts is not None:
        yield lambda model, tokenizer, change: _stereotypes(model, tokenizer, change, prompts)
    if tests.pairs:
        yield lambda model, tokenizer, change: _crows(model, tokenizer, change, tests.pairs)
    yield lambda model, tokenizer, change: _costs(model, tokenizer, change, tests.texts)
    if definitions is not None:
        yield lambda model, tokenizer, change: _definitions(model, tokenizer, change, definitions)
    if tests.others:
        yield lambda model, tokenizer, change: _others(model, tokenizer, change, tests)


def _probes(
    model: Any, tokenizer: Any, change: Intervention | None, probe: LabelledTexts, layers: Sequence[int]
) -> Measured:
    meaning = "AUC of a probe trained again; 0.5 is nothing left"
    return [
        EffectMeasure("went", name, values, _separation, meaning, 0.5)
        for name, values in _probed(model, tokenizer, change, probe, layers)
    ]


def _others(model: Any, tokenizer: Any, change: Intervention | None, tests: InterventionTests) -> Measured:
    return [
        figure
        for concept, texts in tests.others.items()
        for name, values in _probed(model, tokenizer, change, texts, tests.probe_layers)
        for figure in _preserved(f"{concept}: {name}", values, "texts on the right side of a probe trained again")
    ]


def two_classes(texts: LabelledTexts, name: str) -> LabelledTexts:
    """Return the texts; raise unless their labels have two distinct values."""
    kinds = len(set(texts.labels or ()))
    if kinds != 2:
        raise TaskError(f"{name} has {kinds} kinds of labels; two are needed, in a column named label.")
    return texts


def check_probed(texts: LabelledTexts, name: str) -> LabelledTexts:
    """Return the texts; raise if they are too few to train probes and test them on held-out groups."""
    labels = np.asarray(two_classes(texts, name).labels)
    groups = np.arange(len(labels)) if texts.groups is None else number_groups(texts.groups)
    kinds = [labels == kind for kind in np.unique(labels)]
    least, apart = min(int(kind.sum()) for kind in kinds), min(len(np.unique(groups[kind])) for kind in kinds)
    if least < _PROBE_FOLDS or len(np.unique(groups)) < _PROBE_FOLDS or apart < 2:
        raise TaskError(
            f"{name}: the rarer label has {least} texts, in {apart} group{'' if apart == 1 else 's'}. "
            f"A probe needs at least {_PROBE_FOLDS} "
            f"texts of each label, from two groups or more, and {_PROBE_FOLDS} groups in all."
        )
    return texts


def _probed(
    model: Any, tokenizer: Any, change: Intervention | None, texts: LabelledTexts, layers: Sequence[int]
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield the name of each probe, with the labels of texts and the scores that it gives them when held out."""
    labels = np.asarray(check_probed(texts, "a set of probed texts").labels)
    with under(model, change):
        states = read_states(model, tokenizer, texts.texts, layers=layers)
    y = (labels == np.unique(labels)[-1]).astype(int)
    groups = np.arange(len(y)) if texts.groups is None else number_groups(texts.groups)
    for layer in states.layers:
        for kind in ("linear", "MLP"):
            scores = _probe_scores(np.asarray(states[layer], dtype=np.float64), y, groups, kind)
            yield f"{kind} probe, layer {layer}", np.column_stack([y, scores])


def _probe_scores(X: NDArray[np.float64], y: NDArray[Any], groups: NDArray[Any], kind: str) -> NDArray[np.float64]:
    """Return the held-out score of each text by a probe; groups are held out whole, and above 0 is the higher class."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    linear = kind == "linear"
    probe = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=2000)) if linear else small_network(0)
    folds = StratifiedGroupKFold(_PROBE_FOLDS, shuffle=True, random_state=0)
    method = "decision_function" if linear else "predict_proba"
    with ignored_convergence():
        scores = cross_val_predict(probe, X, y, groups=groups, cv=folds, method=method)
    return np.asarray(scores if linear else scores[:, 1] - 0.5, dtype=np.float64)


def _stereotypes(model: Any, tokenizer: Any, change: Intervention | None, prompts: Continuations) -> Measured:
    odds = continuation_log_odds(model, tokenizer, prompts, change)
    values = np.column_stack([np.asarray(prompts.known, dtype=np.float64), odds])
    pair = f"log p({prompts.high.strip()}) / p({prompts.low.strip()})"
    figures: list[tuple[str, Callable[[NDArray[np.float64]], float], str, float | None]] = [
        ("stereotype, rank correlation", rank_correlation, f"{pair} against the known numbers", 0.0),
        ("stereotype, slope", _slope, f"change of {pair} from a share of 0 to 1", 0.0),
        ("level", lambda rows: float(rows[:, 1].mean()), f"mean of {pair}; 0 is balance", None),
    ]
    groups = prompts.group_numbers
    return [
        EffectMeasure("went", name, values, function, meaning, if_gone, groups)
        for name, function, meaning, if_gone in figures
    ]


def _separation(rows: NDArray[np.float64]) -> float:
    return auc(rows[:, 0], rows[:, 1]) if np.ptp(rows[:, 0]) and np.isfinite(rows).all() else float("nan")


def rank_correlation(rows: NDArray[np.float64]) -> float:
    """Return the rank correlation of odds with known numbers: 0 if all odds are equal, NaN if some are NaN."""
    if not np.isfinite(rows).all() or not np.ptp(rows[:, 0]):
        return float("nan")
    return spearman(rows[:, 0], rows[:, 1]) if np.ptp(rows[:, 1]) else 0.0


def _slope(rows: NDArray[np.float64]) -> float:
    if not np.ptp(rows[:, 0]):  # after centring, such rows contain rounding errors instead of 0
        return float("nan")
    centred = rows[:, 0] - rows[:, 0].mean()
    return float(centred @ rows[:, 1] / (centred @ centred))


def correct_answers(prompts: Continuations, odds: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each prompt whether the likelier continuation is correct."""
    known = np.asarray(prompts.known, dtype=np.float64)
    return np.asarray((odds > 0.0) == (known == known.max()))


def _definitions(model: Any, tokenizer: Any, change: Intervention | None, prompts: Continuations) -> Measured:
    odds = continuation_log_odds(model, tokenizer, prompts, change)
    known = np.asarray(prompts.known, dtype=np.float64)
    values = np.column_stack([known == known.max(), odds])
    what = "prompts whose likelier continuation is correct"
    return _preserved("definitional prompts", values, what, prompts.group_numbers)


def _preserved(name: str, values: NDArray[np.float64], what: str, groups: NDArray[np.int64] | None = None) -> Measured:
    """Return the measures "correct answers" and AUC, from classes (0 and 1) and their scores."""
    return [
        EffectMeasure(
            "stayed", f"{name}, correct answers", values, _share_correct,
            f"share of {what}", groups=groups, is_share=True,
        ),
        EffectMeasure(
            "stayed", f"{name}, AUC", values, _separation,
            "order only: it can be 1 although half of the answers are wrong", groups=groups,
        ),
    ]  # fmt: skip


def _share_correct(rows: NDArray[np.float64]) -> float:
    return float(np.mean((rows[:, 1] > 0.0) == (rows[:, 0] > 0.0))) if np.isfinite(rows).all() else float("nan")


def _crows(model: Any, tokenizer: Any, change: Intervention | None, pairs: Sequence[tuple[str, str]]) -> Measured:
    more = sentence_log_likelihoods(model, tokenizer, [pair[0] for pair in pairs], change)
    less = sentence_log_likelihoods(model, tokenizer, [pair[1] for pair in pairs], change)
    meaning = "share of pairs whose stereotypical sentence is likelier"
    return [
        EffectMeasure(
            "went", "CrowS-Pairs", (more.sum(1) > less.sum(1)).astype(float), lambda v: float(v.mean()), meaning, 0.5
        )
    ]


def _costs(model: Any, tokenizer: Any, change: Intervention | None, texts: Sequence[str]) -> Measured:
    losses, divergences = token_costs(model, tokenizer, texts, change)
    return [
        EffectMeasure(
            "cost",
            "perplexity",
            losses,
            lambda rows: float(np.exp(rows[:, 0].sum() / rows[:, 1].sum())),
            "of held-out text",
        ),
        EffectMeasure(
            "cost",
            "divergence",
            divergences,
            lambda rows: float(rows[:, 0].sum() / rows[:, 1].sum()),
            "of next tokens from the unchanged model, nats per token",
        ),
    ]
