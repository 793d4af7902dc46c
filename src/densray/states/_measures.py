"""What a causal model says, as it is or under an intervention: preferences, likelihoods, and the figures of tests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray.errors import TaskError
from densray.metrics import auc, spearman
from densray.states._intervention import Intervention
from densray.states._models import encode_texts, filler_of, load_torch, padded
from densray.states._reading import read_states
from densray.states._storage import LabelledTexts

#: Texts run at once where whole next-token distributions are compared, on a processor and on a device.
_TEXTS_PER_BATCH = {"cpu": 8, "device": 128}
_PROBE_FOLDS = 5


@dataclass(frozen=True)
class Continuations:
    """Prompts after which a model prefers one continuation or the other, against something known of each prompt.

    Attributes
    ----------
    prompts : sequence of str
        ``"The nurse said that"``.
    high, low : str
        The two continuations: ``" he"`` and ``" she"``.
    known : sequence of float
        What is known of each prompt: the share of women in the occupation; for definitional prompts 1 where `high` is
        right and 0 where `low` is.
    groups : sequence, optional
        What prompts share (the occupation they all name): halved and resampled together. Without it each stands alone.
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
        """Read prompts, what is known of each (the label, a number) and its group, where the file has groups.

        `columns` are those of :meth:`densray.states.LabelledTexts.read`.
        """
        given = LabelledTexts.read(path, **columns)
        if given.labels is None or any(isinstance(label, str) for label in given.labels):
            raise TaskError(f"{path} needs a column of labels that are numbers: what is known of a prompt.")
        return cls(given.texts, high, low, [float(label) for label in given.labels], given.groups)

    @property
    def group_numbers(self) -> NDArray[np.int64]:
        """The number of each prompt's group, counted from 0."""
        if self.groups is None:
            return np.arange(len(self.prompts))
        return np.unique([str(group) for group in self.groups], return_inverse=True)[1]

    def only(self, rows: Sequence[int]) -> Continuations:
        """Return some of the prompts."""
        groups = None if self.groups is None else [self.groups[row] for row in rows]
        return Continuations(
            [self.prompts[row] for row in rows], self.high, self.low, [self.known[row] for row in rows], groups
        )


def under(model: Any, change: Intervention | None) -> Any:
    """Return the context of a model under an intervention, or of the model as it is."""
    return nullcontext(model) if change is None else change.applied(model)


def continuation_log_odds(
    model: Any, tokenizer: Any, given: Continuations, change: Intervention | None = None
) -> NDArray[np.float64]:
    """Return log p(high) − log p(low) after each prompt; of a continuation of several tokens the first ones count."""
    torch = load_torch()
    high, low = (_first_token(tokenizer, text) for text in (given.high, given.low))
    if high == low:
        raise TaskError(f"{given.high!r} and {given.low!r} begin with the same token: they cannot be told apart.")
    found = []
    with under(model, change), torch.inference_mode():
        for logits, mask in _logits(model, tokenizer, list(given.prompts)):
            last = mask.sum(dim=1) - 1
            rows = torch.log_softmax(logits[torch.arange(len(last), device=last.device), last].float(), dim=-1)
            found.append((rows[:, high] - rows[:, low]).double().cpu().numpy())
    return np.concatenate(found)


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
    """Return the tokens of a continuation; of one after a blank those it has inside a text."""
    before, whole = (tokenizer(each, add_special_tokens=False)["input_ids"] for each in ("a", f"a{text}"))
    if text[:1].isspace() and whole[: len(before)] == before:
        return list(whole[len(before) :])  # some tokenizers put a blank before every text, and would count it twice
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
    """Return, per text, sums over tokens and their number: of the loss, and of the divergence from the model as is."""
    torch = load_torch()
    rows = encode_texts(model, tokenizer, texts).tokens
    losses, divergences = [], []
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
        raise TaskError(f"{type(model).__name__} has no head for next tokens; a causal language model is needed.")
    return logits


def _batches(model: Any, tokenizer: Any, rows: list[list[int]]) -> Iterator[tuple[Any, Any]]:
    device, filler = next(model.parameters()).device, filler_of(tokenizer)
    size = _TEXTS_PER_BATCH["cpu" if device.type == "cpu" else "device"]
    for start in range(0, len(rows), size):
        yield padded(rows[start : start + size], filler, device)


def log_perplexity(model: Any, tokenizer: Any, texts: Sequence[str], change: Intervention | None = None) -> float:
    """Return the mean loss per token of texts, in nats."""
    losses, _ = token_costs(model, tokenizer, texts, change, divergence=False)
    return float(losses[:, 0].sum() / losses[:, 1].sum())


def generate_texts(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str],
    change: Intervention | None = None,
    *,
    max_new_tokens: int = 40,
) -> list[str]:
    """Return how a model goes on after each prompt, always with the likeliest token, as it is or under an intervention.

    Parameters
    ----------
    model, tokenizer
        A causal language model of Hugging Face and its tokenizer.
    prompts : sequence of str
    change : Intervention, optional
    max_new_tokens : int, default=40
    """
    if not getattr(model, "can_generate", lambda: False)():
        raise TaskError(f"{type(model).__name__} does not generate text: it has no head for next tokens.")
    torch = load_torch()
    device, found = next(model.parameters()).device, []
    greedy = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
    with under(model, change), torch.inference_mode():
        for row in encode_texts(model, tokenizer, prompts).tokens:
            ids = torch.tensor([row], device=device)
            mask, filler = torch.ones_like(ids), filler_of(tokenizer)
            more = {"attention_mask": mask, "max_new_tokens": max_new_tokens, "pad_token_id": filler}
            made = model.generate(ids, **more, **greedy)[0, len(row) :]
            found.append(str(tokenizer.decode(made, skip_special_tokens=True)))
    return found


@dataclass(frozen=True)
class InterventionTests:
    """Texts on which an intervention is judged; none of them may have made it.

    Attributes
    ----------
    texts : sequence of str
        Ordinary text, for perplexity and the divergence of next tokens.
    stereotypes : Continuations, optional
        Prompts without a right answer, with what is known of the world.
    definitions : Continuations, optional
        Prompts with a right answer, which should stay.
    pairs : sequence of pairs of str, optional
        A more and a less stereotypical sentence each (CrowS-Pairs).
    probe_texts, probe_labels, probe_groups : optional
        Texts with classes, read again under the intervention by linear and nonlinear probes.
    others : mapping of str to LabelledTexts
        Texts with classes of other concepts, by name: probes should read them as well as before.
    probe_layers : sequence of int
        Where probes read; the last layer by default.
    """

    texts: Sequence[str]
    stereotypes: Continuations | None = None
    definitions: Continuations | None = None
    pairs: Sequence[tuple[str, str]] = ()
    probe_texts: Sequence[str] = ()
    probe_labels: Sequence[Any] = ()
    probe_groups: Sequence[Any] | None = None
    others: Mapping[str, LabelledTexts] = field(default_factory=dict)
    probe_layers: Sequence[int] = field(default=(-1,))


@dataclass(frozen=True)
class Figure:
    """One figure with the values it is a function of, so that it can be resampled."""

    part: str
    measure: str
    values: NDArray[np.float64]
    figure: Callable[[NDArray[np.float64]], float]
    meaning: str
    if_gone: float | None = None
    groups: NDArray[np.int64] | None = None

    @property
    def value(self) -> float:
        return self.figure(self.values)


Measured = list[Figure]


def members_of(figure: Figure) -> list[NDArray[np.int64]]:
    """Return the rows of each group that is drawn as one."""
    if figure.groups is None:
        return list(np.arange(len(figure.values)).reshape(-1, 1))
    return [np.flatnonzero(figure.groups == group) for group in range(int(figure.groups.max()) + 1)]


Measure = Callable[[Any, Any, "Intervention | None"], Measured]


def measures_of(tests: InterventionTests) -> Iterator[Measure]:
    if tests.probe_texts:
        yield lambda model, tokenizer, change: _probes(model, tokenizer, change, tests)
    prompts, definitions = tests.stereotypes, tests.definitions
    if prompts is not None:
        yield lambda model, tokenizer, change: _stereotypes(model, tokenizer, change, prompts)
    if tests.pairs:
        yield lambda model, tokenizer, change: _crows(model, tokenizer, change, tests.pairs)
    yield lambda model, tokenizer, change: _costs(model, tokenizer, change, tests.texts)
    if definitions is not None:
        yield lambda model, tokenizer, change: definitional(model, tokenizer, change, definitions)
    if tests.others:
        yield lambda model, tokenizer, change: _others(model, tokenizer, change, tests)


def _probes(model: Any, tokenizer: Any, change: Intervention | None, tests: InterventionTests) -> Measured:
    groups = None if tests.probe_groups is None else tuple(map(str, tests.probe_groups))
    given = LabelledTexts(tuple(tests.probe_texts), tuple(tests.probe_labels), groups)
    meaning = "AUROC of a probe trained again; 0.5 is nothing left"
    return [
        Figure("went", name, values, _separation, meaning, 0.5)
        for name, values in _probed(model, tokenizer, change, given, tests.probe_layers)
    ]


def _others(model: Any, tokenizer: Any, change: Intervention | None, tests: InterventionTests) -> Measured:
    meaning = "AUROC of a probe of another concept, trained again; as before is all kept"
    return [
        Figure("stayed", f"{concept}: {name}", values, _separation, meaning)
        for concept, given in tests.others.items()
        for name, values in _probed(model, tokenizer, change, given, tests.probe_layers)
    ]


def two_classes(given: LabelledTexts, name: str) -> LabelledTexts:
    """Return labelled texts as they are; raise unless their labels are of two kinds."""
    kinds = len(set(given.labels or ()))
    if kinds != 2:
        raise TaskError(f"{name} has {kinds} kinds of labels; two are needed, in a column named label.")
    return given


def check_probed(given: LabelledTexts, name: str) -> LabelledTexts:
    """Return labelled texts as they are; raise unless probes can be trained on them and tried on others, in folds."""
    labels = np.asarray(two_classes(given, name).labels)
    groups = np.arange(len(labels)) if given.groups is None else np.unique(given.groups, return_inverse=True)[1]
    kinds = [labels == kind for kind in np.unique(labels)]
    least, apart = min(int(kind.sum()) for kind in kinds), min(len(np.unique(groups[kind])) for kind in kinds)
    if least < _PROBE_FOLDS or len(np.unique(groups)) < _PROBE_FOLDS or apart < 2:
        raise TaskError(
            f"{name} has {least} texts of one label, in {apart} groups. A probe needs {_PROBE_FOLDS} of each, in two "
            f"groups or more, and {_PROBE_FOLDS} groups in all."
        )
    return given


def _probed(
    model: Any, tokenizer: Any, change: Intervention | None, given: LabelledTexts, layers: Sequence[int]
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield the name of each probe, with the labels of texts and the scores that it gives them when held out."""
    labels = np.asarray(check_probed(given, "a set of probed texts").labels)
    with under(model, change):
        states = read_states(model, tokenizer, given.texts, layers=layers)
    y = (labels == np.unique(labels)[-1]).astype(int)
    groups = np.arange(len(y)) if given.groups is None else np.unique(given.groups, return_inverse=True)[1]
    for layer in states.layers:
        for kind in ("linear", "nonlinear"):
            scores = _probe_scores(np.asarray(states[layer], dtype=np.float64), y, groups, kind)
            yield f"{kind} probe, layer {layer}", np.column_stack([y, scores])


def _probe_scores(X: NDArray[np.float64], y: NDArray[Any], groups: NDArray[Any], kind: str) -> NDArray[np.float64]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    probe = LogisticRegression(C=0.01, max_iter=2000) if kind == "linear" else SVC(kernel="rbf", C=10.0)
    folds = StratifiedGroupKFold(_PROBE_FOLDS, shuffle=True, random_state=0)
    scores = cross_val_predict(
        make_pipeline(StandardScaler(), probe), X, y, groups=groups, cv=folds, method="decision_function"
    )
    return np.asarray(scores, dtype=np.float64)


def _stereotypes(model: Any, tokenizer: Any, change: Intervention | None, given: Continuations) -> Measured:
    odds = continuation_log_odds(model, tokenizer, given, change)
    values = np.column_stack([np.asarray(given.known, dtype=np.float64), odds])
    pair = f"log p({given.high.strip()}) / p({given.low.strip()})"
    figures: list[tuple[str, Callable[[NDArray[np.float64]], float], str, float | None]] = [
        ("stereotype, rank correlation", rank_correlation, f"{pair} against what is known", 0.0),
        ("stereotype, slope", _slope, f"change of {pair} from a share of 0 to 1", 0.0),
        ("level", lambda rows: float(rows[:, 1].mean()), f"mean of {pair}; 0 is balance", None),
    ]
    groups = given.group_numbers
    return [Figure("went", name, values, act, said, gone, groups) for name, act, said, gone in figures]


def _separation(rows: NDArray[np.float64]) -> float:
    return auc(rows[:, 0], rows[:, 1]) if np.ptp(rows[:, 0]) and np.isfinite(rows).all() else float("nan")


def rank_correlation(rows: NDArray[np.float64]) -> float:
    """Return the rank correlation of odds with what is known: 0 where all odds are the same, NaN where some are NaN."""
    if not np.isfinite(rows).all() or not np.ptp(rows[:, 0]):
        return float("nan")
    return spearman(rows[:, 0], rows[:, 1]) if np.ptp(rows[:, 1]) else 0.0


def _slope(rows: NDArray[np.float64]) -> float:
    if not np.ptp(rows[:, 0]):  # the centred values of such rows are rounding, not exactly 0
        return float("nan")
    centred = rows[:, 0] - rows[:, 0].mean()
    return float(centred @ rows[:, 1] / (centred @ centred))


def definitional(model: Any, tokenizer: Any, change: Intervention | None, given: Continuations) -> Measured:
    odds = continuation_log_odds(model, tokenizer, given, change)
    values = np.column_stack([np.asarray(given.known, dtype=np.float64), odds])
    return [
        Figure(
            "stayed",
            "definitional prompts",
            values,
            _separation,
            "AUROC of the right continuation; 1 is all kept",
            groups=given.group_numbers,
        )
    ]


def _crows(model: Any, tokenizer: Any, change: Intervention | None, pairs: Sequence[tuple[str, str]]) -> Measured:
    more = sentence_log_likelihoods(model, tokenizer, [pair[0] for pair in pairs], change)
    less = sentence_log_likelihoods(model, tokenizer, [pair[1] for pair in pairs], change)
    meaning = "share of pairs whose stereotypical sentence is likelier"
    return [
        Figure(
            "went", "CrowS-Pairs", (more.sum(1) > less.sum(1)).astype(float), lambda v: float(v.mean()), meaning, 0.5
        )
    ]


def _costs(model: Any, tokenizer: Any, change: Intervention | None, texts: Sequence[str]) -> Measured:
    losses, divergences = token_costs(model, tokenizer, texts, change)
    return [
        Figure(
            "cost",
            "perplexity",
            losses,
            lambda rows: float(np.exp(rows[:, 0].sum() / rows[:, 1].sum())),
            "of held-out text",
        ),
        Figure(
            "cost",
            "divergence",
            divergences,
            lambda rows: float(rows[:, 0].sum() / rows[:, 1].sum()),
            "of next tokens from the model as it was, nats per token",
        ),
    ]
