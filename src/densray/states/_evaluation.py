"""Measure the effect and the cost of an intervention, and choose its layers and strength."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from densray.errors import Argument, TaskError
from densray.metrics import Interval, percentile_interval
from densray.progress import Progress
from densray.report import Column, Input, Provenance, Result, Table, show_number, show_share
from densray.states._intervention import Intervention
from densray.states._measures import (
    EffectMeasure,
    InterventionTests,
    Measure,
    measures_of,
    members_of,
    rank_correlation,
)
from densray.states._models import model_name
from densray.states._next_tokens import Continuations, continuation_log_odds, correct_answers, log_perplexity
from densray.states._texts import as_list
from densray.states._weights import model_checksum

_RESAMPLES = 1000
#: Below this number of groups, intervals from resampling are clearly too narrow.
_FEW_GROUPS = 5


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
        95% interval of the value after the intervention, from resampled groups of texts; None for fewer than two
        groups.
    if_gone : float, optional
        Value if the concept were gone.
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
    """Effect, cost and preserved answers of an intervention.

    Attributes
    ----------
    rows_found : tuple of InterventionRow
    name, operation : str
    layers : tuple of int
    strength : float
    notes : tuple of str
    """

    title: ClassVar[str] = "An intervention in the forward pass"

    rows_found: tuple[InterventionRow, ...]
    name: str
    operation: str
    layers: tuple[int, ...]
    strength: float
    notes: tuple[str, ...] = ()

    def __getitem__(self, measure: str) -> InterventionRow:
        """Return the row of a measure by its name."""
        for row in self.rows_found:
            if row.measure == measure:
                return row
        raise KeyError(measure)

    @property
    def summary(self) -> str:
        """The verdict: the strongest probe, the remaining preference, correct answers, and the cost."""
        parts = [line for kind in ("linear", "MLP") if (line := self._probe_line(kind))]
        parts = parts or ["probes not fitted"]
        measures = {row.measure: row for row in self.rows_found}
        told = (
            ("stereotype, rank correlation", "rank correlation"),
            ("stereotype, slope", "slope"),
            ("level", "level"),
        )
        for name, said in told:
            if row := measures.get(name):
                parts.append(f"{said} {show_number(row.before, 2)} → {show_number(row.after, 2)}")
        if row := measures.get("definitional prompts, correct answers"):
            parts.append(f"correct answers {show_share(row.before)} → {show_share(row.after)}")
        if row := measures.get("perplexity"):
            parts.append(f"perplexity {show_number(100.0 * (row.after / row.before - 1.0), 1, signed=True)}%")
        else:
            parts.append("perplexity not measured")
        return f"On unseen texts: {', '.join(parts)}."

    def _probe_line(self, kind: str) -> str:
        """Return the layer and AUC of the best refitted probe as text; empty if none was fitted."""
        rows = [row for row in self.rows_found if row.part == "went" and row.measure.startswith(f"{kind} probe")]
        if not rows:
            return ""
        worst = max(rows, key=lambda row: row.after)
        return f"{worst.measure} {show_number(worst.before, 2)} → {show_number(worst.after, 2)} (0.50 is gone)"

    def rows(self) -> list[dict[str, Any]]:
        """Return one mapping per measure."""
        keys = ("part", "measure", "before", "after", "if_gone", "meaning")
        return [
            {key: getattr(row, key) for key in keys}
            | {"low": row.interval.low if row.interval else None, "high": row.interval.high if row.interval else None}
            for row in self.rows_found
        ]

    def text(self) -> str:
        """Return the verdict, which comes first."""
        return self.summary

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain values, and the verdict."""
        return {"summary": self.summary, **super().to_dict()}

    def tables(self) -> list[Table]:
        """Return the measures before and after, with the values expected if the concept were gone."""
        numbers = [Column(name, decimals=3) for name in ("before", "after", "low", "high", "if_gone")]
        done = f"{self.operation} after layers {', '.join(map(str, self.layers))} at strength {self.strength:g}."
        title, notes = "What went, what it cost, what stayed", [done, *self.notes]
        return [Table(title, ["part", "measure", *numbers, "meaning"], self.rows(), notes)]


def evaluate_intervention(
    model: Any,
    tokenizer: Any,
    intervention: Intervention,
    tests: InterventionTests,
    *,
    random_state: int = 0,
    progress: Progress | None = None,
) -> InterventionResult:
    """Compute every measure of `tests`, without and with an intervention.

    The measures read given texts. An intervention with ``positions="generated"`` does not change these, so it is
    refused. With ``positions="last"``, perplexity and the likelihoods of sentences are not measured.

    Parameters
    ----------
    model, tokenizer
        A Hugging Face causal language model and its tokenizer.
    intervention : Intervention
    tests : InterventionTests
    random_state : int, default=0
        Seed for the resamples of the intervals.
    progress : callable, optional
        Called with the number of measures done and their total.
    """
    began = Provenance.begin(seed=random_state)
    measures, notes = _measures(tests, intervention.positions)
    change = intervention.check_weights(model)  # once, not for every measure
    generator = np.random.default_rng(random_state)
    rows: list[InterventionRow] = []
    counts: list[tuple[int, str]] = []
    used = [Input("model", model_name(model), model_checksum(model)), Input("texts", "held out", size=len(tests.texts))]
    for done, measure in enumerate(measures, start=1):
        before = measure(model, tokenizer, None)
        after = measure(model, tokenizer, change)
        rows += _compared(before, after, generator)
        counts += [(len(members_of(each)), each.measure) for each in after]
        if progress is not None:
            progress(done, len(measures))
    return InterventionResult(
        rows_found=tuple(rows),
        name=intervention.name,
        operation=intervention.operation,
        layers=intervention.layers,
        strength=intervention.strength,
        notes=(*notes, *_few_groups(counts)),
        provenance=began.finish(inputs=used),
    )


def _measures(tests: InterventionTests, positions: str) -> tuple[list[Measure], tuple[str, ...]]:
    """Return the measures that an intervention at these positions can change, and a note on the others."""
    if positions == "all":
        return list(measures_of(tests)), ()
    measures = list(measures_of(tests, of_texts=False)) if positions == "last" else []
    if not measures:
        raise TaskError(
            Argument("positions", positions),
            " changes no token whose prediction these tests count, so every number would stay the same. Use the same "
            "intervention with ",
            Argument("positions", "all"),
            ", or score generated text (steer).",
        )
    return measures, (
        "Perplexity and the likelihoods of sentences were not measured: the intervention changes only the last token "
        "of a text, after which none is predicted.",
    )


def _compared(
    before: Sequence[EffectMeasure], after: Sequence[EffectMeasure], generator: np.random.Generator
) -> Iterator[InterventionRow]:
    for old, new in zip(before, after, strict=True):
        members = members_of(new)
        if len(members) < 2:  # every draw would be the same
            yield InterventionRow(new.part, new.measure, old.value, new.value, None, new.if_gone, new.meaning)
            continue
        draws = (generator.integers(len(members), size=len(members)) for _ in range(_RESAMPLES))
        values = [new.figure(new.values[np.concatenate([members[place] for place in places])]) for places in draws]
        interval = _interval([value for value in values if not np.isnan(value)], len(members) if new.is_share else 0)
        yield InterventionRow(new.part, new.measure, old.value, new.value, interval, new.if_gone, new.meaning)


def _few_groups(counts: Sequence[tuple[int, str]]) -> list[str]:
    """Return a note on the measures whose intervals come from few groups, which are too narrow."""
    least, measure = min(counts)
    if least >= _FEW_GROUPS:
        return []
    said = "one group, so it has no interval" if least == 1 else f"{least} groups, so its interval is too narrow"
    return [f"{measure}: the texts form {said}. Add prompts or texts of other groups."]


def _interval(values: Sequence[float], n_groups: int) -> Interval | None:
    """Return the 95% interval of resampled values; a share of exactly 0 or 1 in `n_groups` has an exact bound."""
    if not values:
        return None
    low, high = percentile_interval(values)
    missed = 1.0 - 0.025 ** (1.0 / n_groups) if n_groups else 0.0  # error rate at which 2.5% of samples show none
    if low == high == 1.0:
        return Interval(1.0 - missed, 1.0)
    return Interval(0.0, missed) if low == high == 0.0 and n_groups else Interval(low, high)


@dataclass(frozen=True)
class SweepPoint:
    """One setting of a sweep (a strength and a set of layers), with the remaining preference and the cost.

    Attributes
    ----------
    layers : tuple of int
    strength : float
    left, cost : float
        Measured on the half of the tests used to choose: the remaining absolute rank correlation, and the increase in
        log perplexity over the unchanged model. Infinite if the model gives no finite numbers.
    preserved : float
        Among the definitional prompts of that half that the unchanged model answers correctly, the share that are still
        answered correctly; NaN if there are none.
    on_front : bool
        Whether the point is on the Pareto front: no other point leaves less correlation at lower cost.
    name : str
        Name of the intervention.
    chosen : bool
        Whether this point was chosen.
    """

    layers: tuple[int, ...]
    strength: float
    left: float
    cost: float
    preserved: float = float("nan")
    on_front: bool = False
    name: str = ""
    chosen: bool = False

    def missed(
        self, *, at_most: float = 0.05, preserve_at_least: float = 0.9, perplexity_at_most: float = 0.1
    ) -> float:
        """Return the sum of the amounts by which the point misses the three bounds; 0 if it meets all."""
        if not np.isfinite(self.left):
            return float("inf")
        lost = 0.0 if np.isnan(self.preserved) else max(0.0, preserve_at_least - self.preserved)
        added = max(0.0, self.perplexity_added / 100.0 - perplexity_at_most)
        return max(0.0, self.left - at_most) + lost + added

    @property
    def perplexity_added(self) -> float:
        """The cost in percent of the perplexity of the unchanged model."""
        return 100.0 * float(np.expm1(self.cost)) if self.cost < 700.0 else float("inf")  # exp(710) overflows float64


def mark_front(points: Sequence[SweepPoint]) -> list[SweepPoint]:
    """Return the points, with those on the Pareto front marked."""

    def beaten(one: SweepPoint) -> bool:
        return any(
            other.left <= one.left and other.cost <= one.cost and (other.left < one.left or other.cost < one.cost)
            for other in points
        )

    return [replace(one, on_front=not beaten(one)) for one in points]


def choose_point(
    points: Sequence[SweepPoint],
    *,
    at_most: float = 0.05,
    preserve_at_least: float = 0.9,
    perplexity_at_most: float = 0.1,
) -> int:
    """Return the index of the cheapest point that meets three bounds.

    It leaves a correlation of at most `at_most`, preserves at least `preserve_at_least` of the correct answers, and
    adds at most `perplexity_at_most` (a share: 0.1 is 10%) to the perplexity. If no point meets all bounds, the one
    that misses them by the smallest total is chosen, and among equals the cheapest.
    """
    bounds = {
        "at_most": at_most,
        "preserve_at_least": preserve_at_least,
        "perplexity_at_most": perplexity_at_most,
    }
    missed = [point.missed(**bounds) for point in points]
    return min(range(len(points)), key=lambda number: (missed[number], points[number].cost))


def sweep_interventions(
    model: Any,
    tokenizer: Any,
    interventions: Mapping[str, Intervention],
    tests: InterventionTests,
    *,
    strengths: Iterable[float] = (0.25, 0.5, 0.75, 1.0),
    at_most: float = 0.05,
    preserve_at_least: float = 0.9,
    perplexity_at_most: float = 0.1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> tuple[list[SweepPoint], InterventionResult]:
    """Try layers and strengths on one half of the tests, and report the chosen intervention on the other.

    It chooses the setting with the smallest rise of perplexity that leaves a rank correlation of at most `at_most`,
    keeps `preserve_at_least` of the correct answers to definitional prompts, and adds at most `perplexity_at_most` to
    the perplexity. If no setting does all three, it chooses the one that misses the bounds by the smallest total
    (:func:`choose_point`).

    Parameters
    ----------
    interventions : mapping of str to Intervention
        The removals to try, by name; each has its own set of layers. Other operations raise an error: at a larger
        strength they do not remove more.
    tests : InterventionTests
        Must include stereotypes. Prompts (by whole groups), definitions and texts are split into random halves.
    strengths : iterable of float
    at_most : float, default=0.05
        Largest absolute rank correlation between log odds and known numbers that may remain.
    preserve_at_least : float, default=0.9
        Smallest share of the correct answers to definitional prompts that must stay correct.
    perplexity_at_most : float, default=0.1
        Largest increase of the perplexity, as a share of that of the unchanged model.
    """
    for name, each in interventions.items():
        if each.operation != "project":
            raise TaskError(
                f"{name} has the operation '{each.operation}'; a sweep tries removals ('project'). Use steer to choose "
                "the strength of a steering."
            )
        if each.positions != "all":
            raise TaskError(
                f"{name} has ", Argument("positions", each.positions), "; a sweep needs ", Argument("positions", "all"),
                ", since it measures the perplexity of texts.",
            )  # fmt: skip
    strengths = as_list(strengths, "strengths")
    choosing, reporting = _halves(tests, np.random.default_rng(random_state))
    stereotypes = _needed(choosing)
    checked = {name: each.check_weights(model) for name, each in interventions.items()}
    tried = [(name, each.at(strength)) for name, each in checked.items() for strength in strengths]
    if not tried:
        raise TaskError("there is nothing to try; give at least one intervention and one strength.")
    base = log_perplexity(model, tokenizer, choosing.texts, None)
    definitions = choosing.definitions
    correct = None if definitions is None else _correct(model, tokenizer, definitions, None)
    points: list[SweepPoint] = []
    for name, one in tried:
        odds = continuation_log_odds(model, tokenizer, stereotypes, one)
        left = abs(rank_correlation(np.column_stack([np.asarray(stereotypes.known, dtype=np.float64), odds])))
        cost = log_perplexity(model, tokenizer, choosing.texts, one) - base
        preserved = float("nan")
        if definitions is not None and correct is not None and correct.any():
            preserved = float(_correct(model, tokenizer, definitions, one)[correct].mean())
        if not np.isfinite([left, cost]).all():
            left = cost = float("inf")  # the model gives no finite numbers: such a point is shown, but never chosen
        points.append(SweepPoint(one.layers, one.strength, left, cost, preserved, name=name))
        if progress is not None:
            progress(len(points), len(tried))
    if not np.isfinite([point.left for point in points]).any():
        raise TaskError("the odds or the perplexity are not finite at any strength that is tried. Try smaller ones.")
    bounds = {"at_most": at_most, "preserve_at_least": preserve_at_least, "perplexity_at_most": perplexity_at_most}
    best = choose_point(points, **bounds)
    points[best] = replace(points[best], chosen=True)
    result = evaluate_intervention(model, tokenizer, tried[best][1], reporting, random_state=random_state)
    notes = []
    if points[best].missed(**bounds) > 0.0:
        notes.append("No setting meets all three bounds. The one that misses them by the smallest total was chosen.")
    if reporting.definitions is not None and reporting.definitions is definitions:
        notes.append("Definitions: too few for both answers in each half, so all are used to choose and to report.")
    if correct is not None and not correct.any():
        notes.append("Definitions: the unchanged model answers none correctly, so they were not used for the choice.")
    return mark_front(points), replace(result, notes=(*result.notes, *notes))


def _correct(model: Any, tokenizer: Any, prompts: Continuations, change: Intervention | None) -> NDArray[np.bool_]:
    return correct_answers(prompts, continuation_log_odds(model, tokenizer, prompts, change))


def _needed(tests: InterventionTests) -> Continuations:
    if tests.stereotypes is None:
        raise TaskError("a sweep needs prompts to choose a setting (stereotypes).")
    return tests.stereotypes


def _halves(tests: InterventionTests, generator: np.random.Generator) -> tuple[InterventionTests, InterventionTests]:
    """Return the two halves of the tests; groups of prompts stay whole, and each half has both answers."""
    stereotypes, definitions = _needed(tests), tests.definitions
    halves = []
    prompts, lines = _half_of(stereotypes, generator), generator.permutation(len(tests.texts))
    known = np.asarray(stereotypes.known, dtype=np.float64)
    if len(lines) < 2 or any(np.sum(prompts == part) < 3 or not np.ptp(known[prompts == part]) for part in (0, 1)):
        counts = len(stereotypes.prompts), len(np.unique(stereotypes.group_numbers)), len(lines)
        raise TaskError(
            "{:,} prompts in {:,} groups and {:,} texts are given. A sweep halves both, prompts by group: each half "
            "needs a text, and at least three prompts of which not all have the same label.".format(*counts)
        )
    words = None if definitions is None else _half_of(definitions, generator, by_answer=True)
    for part in (0, 1):
        chosen = definitions
        if definitions is not None and words is not None and _both_answers(definitions, words):
            chosen = definitions.only(np.flatnonzero(words == part).tolist())
        asked, texts = stereotypes.only(np.flatnonzero(prompts == part).tolist()), np.sort(lines[part::2])
        halves.append(
            replace(tests, stereotypes=asked, definitions=chosen, texts=[tests.texts[line] for line in texts])
        )
    return halves[0], halves[1]


def _half_of(prompts: Continuations, generator: np.random.Generator, *, by_answer: bool = False) -> NDArray[np.int64]:
    """Return 0 or 1 for each prompt, the half of its group; with `by_answer`, each answer is split separately."""
    numbers = prompts.group_numbers
    drawn = generator.permutation(int(numbers.max()) + 1)
    if by_answer:
        drawn = np.argsort(np.lexsort((drawn, np.bincount(numbers, prompts.known) / np.bincount(numbers))))
    return (drawn % 2)[numbers]


def _both_answers(prompts: Continuations, halves: NDArray[np.int64]) -> bool:
    known = np.asarray(prompts.known)
    return all(len(np.unique(known[halves == part])) > 1 and np.sum(halves == part) > 2 for part in (0, 1))


def sweep_front(points: Sequence[SweepPoint], *, title: str = "") -> Any:
    """Plot the remaining preference against the cost for all settings of a sweep, with the front and the choice."""
    from densray.figures._curves import front_of_points

    alike = len({one.layers for one in points}) < len({one.name for one in points})
    rows = [
        {"word": f"{f'{one.name}, ' if alike else ''}{_named(one.layers)} at {one.strength:g}", "left": one.left}
        | {"cost": one.perplexity_added, "front": one.on_front, "chosen": one.chosen}
        for one in points
        if np.isfinite([one.left, one.perplexity_added]).all()
    ]
    said = f"What is left of the concept against what removing it costs, {len(rows)} choices of layers and strength"
    return front_of_points(rows, x=("cost", "perplexity added (%)"), y=("left", "rank correlation left"), title=title,
                           alt=said)  # fmt: skip


def _named(layers: Sequence[int]) -> str:
    return f"layer {layers[0]}" if len(layers) == 1 else f"{len(layers)} layers {layers[0]}–{layers[-1]}"
