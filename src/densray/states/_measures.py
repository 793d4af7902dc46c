"""What an intervention changes in a causal model, measured on texts that it was not learned from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray.errors import TaskError
from densray.groups import number_groups
from densray.metrics import auc, spearman
from densray.probes import ignored_convergence, small_network
from densray.states._intervention import Intervention
from densray.states._next_tokens import (
    Continuations,
    continuation_log_odds,
    sentence_log_likelihoods,
    token_costs,
    under,
)
from densray.states._reading import read_states
from densray.states._texts import LabelledTexts, as_list

_PROBE_FOLDS = 5


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
        Texts of two or more classes, on which linear and MLP probes are refitted under the intervention. With more than
        two classes, the AUC is the mean of one class against the rest.
    others : mapping of str to LabelledTexts
        Texts of two or more classes for other concepts, by name. Probes should predict them as well as before.
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

    def __post_init__(self) -> None:
        for name in ("texts", "pairs", "probe_layers"):
            object.__setattr__(self, name, tuple(as_list(getattr(self, name), name)))
        if self.definitions is not None:
            _ = self.definitions.high_is_correct  # raises if the answers are not marked by two values


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


def measures_of(tests: InterventionTests, *, of_texts: bool = True) -> Iterator[Measure]:
    """Yield the measures of an intervention; without `of_texts` none that counts every token of a text."""
    probe, prompts, definitions = tests.probe, tests.stereotypes, tests.definitions
    if probe is not None:
        yield lambda model, tokenizer, change: _probes(model, tokenizer, change, probe, tests.probe_layers)
    if prompts is not None:
        yield lambda model, tokenizer, change: _stereotypes(model, tokenizer, change, prompts)
    if tests.pairs and of_texts:
        yield lambda model, tokenizer, change: _crows(model, tokenizer, change, tests.pairs)
    if of_texts:
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


def check_classes(texts: LabelledTexts, name: str) -> LabelledTexts:
    """Return the texts; raise unless their labels have two or more distinct values, several texts for each."""
    kinds, texts_of = len(set(texts.labels or ())), len(texts.texts)
    if kinds < 2 or 2 * kinds > texts_of:
        raise TaskError(
            f"{name} has {kinds} kinds of labels for {texts_of} texts; two or more classes are needed, with at least "
            "two texts each, in a column named label."
        )
    return texts


def check_probed(texts: LabelledTexts, name: str) -> LabelledTexts:
    """Return the texts; raise if they are too few to train probes and test them on held-out groups."""
    labels = np.asarray(check_classes(texts, name).labels)
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
    """Yield the name of each probe, with the class numbers of texts and the scores that it gives them when held out.

    With more than two classes, there is one column of scores for each class against the rest.
    """
    labels = np.asarray(check_probed(texts, "a set of probed texts").labels)
    with under(model, change):
        states = read_states(model, tokenizer, texts.texts, layers=layers)
    kinds, y = np.unique(labels, return_inverse=True)
    sides = [y] if len(kinds) == 2 else [(y == number).astype(int) for number in range(len(kinds))]
    groups = np.arange(len(y)) if texts.groups is None else number_groups(texts.groups)
    for layer in states.layers:
        for kind in ("linear", "MLP"):
            X = np.asarray(states[layer], dtype=np.float64)
            scores = [_probe_scores(X, side, groups, kind) for side in sides]
            yield f"{kind} probe, layer {layer}", np.column_stack([y, *scores])


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
    high, low = (", ".join(word.strip() for word in side) for side in prompts.sides)
    pair = f"log p({high}) / p({low})"
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
    """Return the AUC of scores; with a column per class, the mean AUC of one class against the rest."""
    if not np.ptp(rows[:, 0]) or not np.isfinite(rows).all():
        return float("nan")
    if rows.shape[1] == 2:
        return auc(rows[:, 0], rows[:, 1])
    classes, scores = rows[:, 0], rows[:, 1:]
    found = [auc(classes == number, scores[:, number]) for number in np.unique(classes).astype(int)]
    return float(np.mean(found))


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


def _definitions(model: Any, tokenizer: Any, change: Intervention | None, prompts: Continuations) -> Measured:
    odds = continuation_log_odds(model, tokenizer, prompts, change)
    values = np.column_stack([prompts.high_is_correct, odds])
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
    if not np.isfinite(rows).all():
        return float("nan")
    if rows.shape[1] > 2:
        return float(np.mean(rows[:, 1:].argmax(axis=1) == rows[:, 0]))
    return float(np.mean((rows[:, 1] > 0.0) == (rows[:, 0] > 0.0)))


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
