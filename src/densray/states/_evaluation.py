"""What an intervention took away, what it cost and what stayed: one table of before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from densray._threads import Progress
from densray.errors import TaskError
from densray.metrics import Interval, auc, spearman
from densray.report import Column, Input, Provenance, Result, Table
from densray.states._intervention import Intervention
from densray.states._measures import (
    Continuations,
    continuation_log_odds,
    log_perplexity,
    sentence_log_likelihoods,
    token_costs,
    under,
)
from densray.states._models import model_checksum, model_name
from densray.states._reading import read_states

_RESAMPLES = 1000


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
    """

    texts: Sequence[str]
    stereotypes: Continuations | None = None
    definitions: Continuations | None = None
    pairs: Sequence[tuple[str, str]] = ()
    probe_texts: Sequence[str] = ()
    probe_labels: Sequence[Any] = ()
    probe_groups: Sequence[Any] | None = None
    probe_layers: Sequence[int] = field(default=(-1,))


@dataclass(frozen=True)
class InterventionRow:
    """One measure before and after.

    Attributes
    ----------
    part : str
        ``"went"``, ``"cost"`` or ``"stayed"``.
    measure : str
    before, after : float
    interval : Interval, optional
        95% interval of the figure after.
    if_gone : float, optional
        What the figure would be if the concept were gone.
    meaning : str
    """

    part: str
    measure: str
    before: float
    after: float
    interval: Interval | None
    if_gone: float | None
    meaning: str


@dataclass(frozen=True)
class InterventionResult(Result):
    """What went, what it cost, what stayed.

    Attributes
    ----------
    rows_found : tuple of InterventionRow
    name, operation : str
    layers : tuple of int
    strength : float
    """

    title: ClassVar[str] = "An intervention in the forward pass"

    rows_found: tuple[InterventionRow, ...]
    name: str
    operation: str
    layers: tuple[int, ...]
    strength: float

    def __getitem__(self, measure: str) -> InterventionRow:
        """Return the row of a measure by its name."""
        for row in self.rows_found:
            if row.measure == measure:
                return row
        raise KeyError(measure)

    def rows(self) -> list[dict[str, Any]]:
        """Return one mapping per measure."""
        keys = ("part", "measure", "before", "after", "if_gone", "meaning")
        return [
            {key: getattr(row, key) for key in keys}
            | {"low": row.interval.low if row.interval else None, "high": row.interval.high if row.interval else None}
            for row in self.rows_found
        ]

    def tables(self) -> list[Table]:
        """Return the measures as before, after, and what they would be if the concept were gone."""
        numbers = [Column(name, decimals=3) for name in ("before", "after", "low", "high", "if_gone")]
        note = f"{self.operation} after layers {', '.join(map(str, self.layers))} at strength {self.strength:g}."
        return [Table(self.title, ["part", "measure", *numbers, "meaning"], self.rows(), [note])]


def evaluate_intervention(
    model: Any,
    tokenizer: Any,
    intervention: Intervention,
    tests: InterventionTests,
    *,
    random_state: int = 0,
    progress: Progress | None = None,
) -> InterventionResult:
    """Return every measure of `tests` on a model as it is and under an intervention.

    Parameters
    ----------
    model, tokenizer
        A causal language model of Hugging Face and its tokenizer.
    intervention : Intervention
    tests : InterventionTests
    random_state : int, default=0
        Draws the resamples behind intervals.
    progress : callable, optional
        Called with the number of measures done and their total.
    """
    began = Provenance.begin(seed=random_state)
    measures = list(_measures(tests))
    generator = np.random.default_rng(random_state)
    rows: list[InterventionRow] = []
    for done, measure in enumerate(measures, start=1):
        before = measure(model, tokenizer, None)
        after = measure(model, tokenizer, intervention)
        rows += _compared(before, after, generator)
        if progress is not None:
            progress(done, len(measures))
    return InterventionResult(
        rows_found=tuple(rows),
        name=intervention.name,
        operation=intervention.operation,
        layers=intervention.layers,
        strength=intervention.strength,
        provenance=began.finish(
            inputs=[Input("model", model_name(model), model_checksum(model))], used=len(tests.texts)
        ),
    )


@dataclass(frozen=True)
class _Figure:
    """One figure with the values it is a function of, so that it can be resampled."""

    part: str
    measure: str
    values: NDArray[np.float64]
    figure: Callable[[NDArray[np.float64]], float]
    meaning: str
    if_gone: float | None = None


Measured = list[_Figure]


def _compared(before: Measured, after: Measured, generator: np.random.Generator) -> Iterator[InterventionRow]:
    for old, new in zip(before, after, strict=True):
        count = len(new.values)
        draws = [new.figure(new.values[generator.integers(count, size=count)]) for _ in range(_RESAMPLES)]
        low, high = np.nanquantile(draws, [0.025, 0.975])
        interval = Interval(float(low), float(high))
        value, was = new.figure(new.values), old.figure(old.values)
        yield InterventionRow(new.part, new.measure, was, value, interval, new.if_gone, new.meaning)


Measure = Callable[[Any, Any, "Intervention | None"], Measured]


def _measures(tests: InterventionTests) -> Iterator[Measure]:
    if tests.probe_texts:
        yield lambda model, tokenizer, change: _probes(model, tokenizer, change, tests)
    prompts, definitions = tests.stereotypes, tests.definitions
    if prompts is not None:
        yield lambda model, tokenizer, change: _stereotypes(model, tokenizer, change, prompts)
    if tests.pairs:
        yield lambda model, tokenizer, change: _crows(model, tokenizer, change, tests.pairs)
    yield lambda model, tokenizer, change: _costs(model, tokenizer, change, tests.texts)
    if definitions is not None:
        yield lambda model, tokenizer, change: _definitions(model, tokenizer, change, definitions)


def _probes(model: Any, tokenizer: Any, change: Intervention | None, tests: InterventionTests) -> Measured:
    with under(model, change):
        states = read_states(model, tokenizer, tests.probe_texts, layers=tests.probe_layers)
    labels = np.asarray(tests.probe_labels)
    y = (labels == np.unique(labels)[-1]).astype(int)
    groups = np.arange(len(y)) if tests.probe_groups is None else np.unique(tests.probe_groups, return_inverse=True)[1]
    found = []
    for layer in states.layers:
        for kind in ("linear", "nonlinear"):
            scores = _probe_scores(np.asarray(states[layer], dtype=np.float64), y, groups, kind)
            values = np.column_stack([y, scores])
            found.append(
                _Figure(
                    "went",
                    f"{kind} probe, layer {layer}",
                    values,
                    lambda rows: auc(rows[:, 0], rows[:, 1]) if np.ptp(rows[:, 0]) else np.nan,
                    "AUROC of a probe trained again; 0.5 is nothing left",
                    0.5,
                )
            )
    return found


def _probe_scores(X: NDArray[np.float64], y: NDArray[Any], groups: NDArray[Any], kind: str) -> NDArray[np.float64]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    probe = LogisticRegression(C=0.01, max_iter=2000) if kind == "linear" else SVC(kernel="rbf", C=10.0)
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    scores = cross_val_predict(
        make_pipeline(StandardScaler(), probe), X, y, groups=groups, cv=folds, method="decision_function"
    )
    return np.asarray(scores, dtype=np.float64)


def _stereotypes(model: Any, tokenizer: Any, change: Intervention | None, given: Continuations) -> Measured:
    odds = continuation_log_odds(model, tokenizer, given, change)
    values = np.column_stack([np.asarray(given.known, dtype=np.float64), odds])
    pair = f"log p({given.high.strip()}) / p({given.low.strip()})"
    return [
        _Figure(
            "went", "stereotype, rank correlation", values, _rank_correlation, f"{pair} against what is known", 0.0
        ),
        _Figure("went", "stereotype, slope", values, _slope, f"change of {pair} from a share of 0 to 1", 0.0),
        _Figure("went", "level", values, lambda rows: float(rows[:, 1].mean()), f"mean of {pair}; 0 is balance", None),
    ]


def _rank_correlation(rows: NDArray[np.float64]) -> float:
    return spearman(rows[:, 0], rows[:, 1]) if np.ptp(rows[:, 0]) and np.ptp(rows[:, 1]) else float("nan")


def _slope(rows: NDArray[np.float64]) -> float:
    centred = rows[:, 0] - rows[:, 0].mean()
    total = float(centred @ centred)
    return float(centred @ rows[:, 1]) / total if total else float("nan")


def _definitions(model: Any, tokenizer: Any, change: Intervention | None, given: Continuations) -> Measured:
    odds = continuation_log_odds(model, tokenizer, given, change)
    values = np.column_stack([np.asarray(given.known, dtype=np.float64), odds])
    return [
        _Figure(
            "stayed",
            "definitional prompts",
            values,
            lambda rows: auc(rows[:, 0], rows[:, 1]) if np.ptp(rows[:, 0]) else np.nan,
            "AUROC of the right continuation; 1 is all kept",
        )
    ]


def _crows(model: Any, tokenizer: Any, change: Intervention | None, pairs: Sequence[tuple[str, str]]) -> Measured:
    more = sentence_log_likelihoods(model, tokenizer, [pair[0] for pair in pairs], change)
    less = sentence_log_likelihoods(model, tokenizer, [pair[1] for pair in pairs], change)
    meaning = "share of pairs whose stereotypical sentence is likelier"
    return [
        _Figure(
            "went", "CrowS-Pairs", (more.sum(1) > less.sum(1)).astype(float), lambda v: float(v.mean()), meaning, 0.5
        )
    ]


def _costs(model: Any, tokenizer: Any, change: Intervention | None, texts: Sequence[str]) -> Measured:
    losses, divergences = token_costs(model, tokenizer, texts, change)
    return [
        _Figure(
            "cost",
            "perplexity",
            losses,
            lambda rows: float(np.exp(rows[:, 0].sum() / rows[:, 1].sum())),
            "of held-out text",
        ),
        _Figure(
            "cost",
            "divergence",
            divergences,
            lambda rows: float(rows[:, 0].sum() / rows[:, 1].sum()),
            "of next tokens from the model as it was, nats per token",
        ),
    ]


@dataclass(frozen=True)
class SweepPoint:
    """One strength and set of layers of a sweep: what is left of the concept, at what cost.

    Attributes
    ----------
    layers : tuple of int
    strength : float
    left, cost : float
        On the half of the tests that may choose: the absolute rank correlation that is left, and log perplexity above
        that of the model as it is.
    on_front : bool
        Whether no other point leaves less for less.
    """

    layers: tuple[int, ...]
    strength: float
    left: float
    cost: float
    on_front: bool = False


def mark_front(points: Sequence[SweepPoint]) -> list[SweepPoint]:
    """Return the points with those of the Pareto front marked."""

    def beaten(one: SweepPoint) -> bool:
        return any(
            other.left <= one.left and other.cost <= one.cost and (other.left < one.left or other.cost < one.cost)
            for other in points
        )

    return [replace(one, on_front=not beaten(one)) for one in points]


def sweep_interventions(
    model: Any,
    tokenizer: Any,
    interventions: Mapping[str, Intervention],
    tests: InterventionTests,
    *,
    strengths: Sequence[float] = (0.25, 0.5, 0.75, 1.0),
    at_most: float = 0.05,
    random_state: int = 0,
    progress: Progress | None = None,
) -> tuple[list[SweepPoint], InterventionResult]:
    """Try layers and strengths on one half of the tests, and report the chosen intervention on the other.

    The cheapest point that leaves a rank correlation of at most `at_most` is chosen, else the one that leaves least.

    Parameters
    ----------
    interventions : mapping of str to Intervention
        The sets of layers to try, by name.
    tests : InterventionTests
        With stereotypes; prompts and texts are halved at random.
    strengths : sequence of float
    at_most : float, default=0.05
    """
    choosing, reporting = _halves(tests, np.random.default_rng(random_state))
    given = _needed(choosing)
    base = log_perplexity(model, tokenizer, choosing.texts, None)
    points, made = [], []
    total = len(interventions) * len(strengths)
    for intervention in interventions.values():
        for strength in strengths:
            one = intervention.at(strength)
            odds = continuation_log_odds(model, tokenizer, given, one)
            left = abs(spearman(np.asarray(given.known, dtype=np.float64), odds))
            cost = log_perplexity(model, tokenizer, choosing.texts, one) - base
            points.append(SweepPoint(one.layers, strength, left, cost))
            made.append(one)
            if progress is not None:
                progress(len(points), total)
    enough = [number for number, point in enumerate(points) if point.left <= at_most]
    best = (
        min(enough, key=lambda number: points[number].cost)
        if enough
        else min(range(len(points)), key=lambda number: points[number].left)
    )
    result = evaluate_intervention(model, tokenizer, made[best], reporting, random_state=random_state)
    return mark_front(points), result


def _needed(tests: InterventionTests) -> Continuations:
    if tests.stereotypes is None:
        raise TaskError("a sweep needs prompts to choose by (stereotypes).")
    return tests.stereotypes


def _halves(tests: InterventionTests, generator: np.random.Generator) -> tuple[InterventionTests, InterventionTests]:
    given = _needed(tests)
    order, texts = generator.permutation(len(given.prompts)), generator.permutation(len(tests.texts))
    halves = []
    for part in (0, 1):
        rows, lines = np.sort(order[part::2]), np.sort(texts[part::2])
        prompts = Continuations(
            [given.prompts[row] for row in rows], given.high, given.low, [given.known[row] for row in rows]
        )
        halves.append(replace(tests, stereotypes=prompts, texts=[tests.texts[line] for line in lines]))
    return halves[0], halves[1]
