"""Removals learned from what a model says, and what an intervention took away, what it cost and what stayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from densray._leace import leace_beside
from densray._threads import Progress
from densray.erasure import Erasure
from densray.errors import TaskError
from densray.metrics import Interval
from densray.report import Column, Input, Provenance, Result, Table
from densray.states._intervention import Intervention, LayerChange
from densray.states._measures import (
    Continuations,
    Figure,
    InterventionTests,
    continuation_log_odds,
    definitional,
    log_perplexity,
    measures_of,
    members_of,
    rank_correlation,
    two_classes,
    under,
)
from densray.states._models import find_blocks, model_checksum, model_name, resolve_layers
from densray.states._reading import read_states
from densray.states._storage import LabelledTexts

Rows = NDArray[np.float64]

_RESAMPLES = 1000


def remove_preference(
    model: Any,
    tokenizer: Any,
    preference: Continuations,
    texts: Sequence[str],
    *,
    templates: Sequence[Any] | None = None,
    keep: LabelledTexts | None = None,
    layers: Sequence[int] | None = None,
    strength: float = 1.0,
    name: str = "",
    progress: Progress | None = None,
) -> Intervention:
    """Return the removal of what makes a model prefer one continuation after some prompts rather than others.

    It learns from the model's own log odds, layer by layer, each from states that the layers before it have changed: by
    LEACE, with a covariance that counts the states of ordinary text as much as those of the prompts, so that ordinary
    text is moved the least (:doc:`/language-models` has what it costs).

    Parameters
    ----------
    model, tokenizer
        A causal language model of Hugging Face and its tokenizer.
    preference : Continuations
        Prompts and the two continuations; what is known of each prompt is not used.
    texts : sequence of str
        Ordinary text, some hundreds of beginnings: the state of the last token of each.
    templates : sequence, optional
        What each prompt was made from: log odds are taken about the mean of their template.
    keep : LabelledTexts, optional
        Texts of two classes that the removal leaves as far apart as they are (*The king said that*, *The queen …*).
    layers : sequence of int, optional
        By default every fourth layer of the upper half, without the last.
    strength : float, default=1
    name : str
        What it is about.
    progress : callable, optional
        Called with the number of layers done and their total.
    """
    count = len(find_blocks(model))
    places = resolve_layers(layers if layers is not None else range(count // 2 + 1, count - 1, 4) or [count - 1], count)
    if not np.isfinite(strength):
        raise TaskError(f"strength {strength} is given; a finite number is needed.")
    if len(texts) < 2:
        raise TaskError(f"{len(texts)} ordinary text is given; two or more are needed, and some hundreds do best.")
    odds = _odds_within(templates, continuation_log_odds(model, tokenizer, preference))
    sides = np.array([])
    if keep is not None:
        labels = np.asarray(two_classes(keep, "what is to be kept").labels)
        sides = (labels == np.unique(labels)[-1]).astype(np.float64)
    given = [preference.prompts, texts] + ([keep.texts] if keep is not None else [])

    def erasing(asked: Rows, ordinary: Rows, *kept: Rows) -> Erasure:
        return leace_beside(asked, odds, ordinary, keep=(kept[0], sides) if kept else None)

    changes = learn_changes(model, tokenizer, given, places, erasing, progress=progress)
    return Intervention(
        "project", changes, strength, model=model_name(model), checksum=model_checksum(model), name=name
    )


def _odds_within(templates: Sequence[Any] | None, odds: Rows) -> Rows:
    """Return log odds about the mean of their template; raise where nothing is left to learn from."""
    if templates is not None:
        if len(templates) != len(odds):
            raise TaskError(f"{len(templates)} templates are given for {len(odds)} prompts; one each is needed.")
        _, numbers = np.unique([str(template) for template in templates], return_inverse=True)
        odds = odds - (np.bincount(numbers, odds) / np.bincount(numbers))[numbers]
    if not np.ptp(odds):
        said = "" if templates is None else " of a template"
        raise TaskError(f"the odds are the same after all prompts{said}: nothing can be learned. Give more prompts.")
    return odds


def learn_changes(
    model: Any,
    tokenizer: Any,
    given: Sequence[Sequence[str]],
    layers: Sequence[int],
    make: Callable[..., Erasure],
    *,
    in_order: bool = True,
    progress: Progress | None = None,
) -> dict[int, LayerChange]:
    """Return the change after each of some layers: what `make` makes of the states of each set of texts there.

    With `in_order` a layer learns from states that the layers before it have changed; without, all of them learn from
    the model as it is.
    """
    changes: dict[int, LayerChange] = {}
    for together in [[layer] for layer in sorted(layers)] if in_order else [list(layers)]:
        with under(model, Intervention("project", dict(changes)) if changes else None):
            states = [read_states(model, tokenizer, texts, layers=together) for texts in given]
        for layer in together:
            changes[layer] = LayerChange.of(make(*(np.asarray(each[layer], dtype=np.float64) for each in states)))
        if progress is not None:
            progress(len(changes), len(layers))
    return changes


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
    measures = list(measures_of(tests))
    generator = np.random.default_rng(random_state)
    rows: list[InterventionRow] = []
    used = [Input("model", model_name(model), model_checksum(model)), Input("texts", "held out", size=len(tests.texts))]
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
        provenance=began.finish(inputs=used),
    )


def _compared(
    before: Sequence[Figure], after: Sequence[Figure], generator: np.random.Generator
) -> Iterator[InterventionRow]:
    for old, new in zip(before, after, strict=True):
        members = members_of(new)
        drawn = (generator.integers(len(members), size=len(members)) for _ in range(_RESAMPLES))
        draws = [new.figure(new.values[np.concatenate([members[place] for place in places])]) for places in drawn]
        known = [draw for draw in draws if not np.isnan(draw)]
        interval = Interval(*map(float, np.quantile(known, [0.025, 0.975]))) if known else None
        yield InterventionRow(new.part, new.measure, old.value, new.value, interval, new.if_gone, new.meaning)


@dataclass(frozen=True)
class SweepPoint:
    """One strength and set of layers of a sweep: what is left of the concept, at what cost.

    Attributes
    ----------
    layers : tuple of int
    strength : float
    left, cost : float
        On the half of the tests that may choose: the absolute rank correlation that is left, and log perplexity above
        that of the model as it is; infinite where the model gives no finite numbers.
    kept : float
        AUROC of the definitional prompts on that half; NaN where there are none.
    on_front : bool
        Whether no other point leaves less for less.
    name : str
        Which of the interventions it is.
    chosen : bool
        Whether it is the one that is reported.
    """

    layers: tuple[int, ...]
    strength: float
    left: float
    cost: float
    kept: float = float("nan")
    on_front: bool = False
    name: str = ""
    chosen: bool = False

    def missed(self, *, at_most: float = 0.05, keep_at_least: float = 0.9) -> float:
        """Return by how much it misses the two bounds in all; 0 where it keeps to both."""
        lost = 0.0 if np.isnan(self.kept) else max(0.0, keep_at_least - self.kept)
        return max(0.0, self.left - at_most) + lost if np.isfinite(self.left) else float("inf")

    @property
    def perplexity_added(self) -> float:
        """The cost in percent of the perplexity of the model as it is."""
        return 100.0 * float(np.expm1(self.cost)) if self.cost < 700.0 else float("inf")  # no float64 holds exp(710)


def mark_front(points: Sequence[SweepPoint]) -> list[SweepPoint]:
    """Return the points with those of the Pareto front marked."""

    def beaten(one: SweepPoint) -> bool:
        return any(
            other.left <= one.left and other.cost <= one.cost and (other.left < one.left or other.cost < one.cost)
            for other in points
        )

    return [replace(one, on_front=not beaten(one)) for one in points]


def choose_point(points: Sequence[SweepPoint], *, at_most: float = 0.05, keep_at_least: float = 0.9) -> int:
    """Return the number of the cheapest point that leaves at most `at_most` and keeps at least `keep_at_least`.

    Where no point does both, the one that misses the two bounds by least in all is taken, the cheaper of equals.
    """
    missed = [point.missed(at_most=at_most, keep_at_least=keep_at_least) for point in points]
    return min(range(len(points)), key=lambda number: (missed[number], points[number].cost))


def sweep_interventions(
    model: Any,
    tokenizer: Any,
    interventions: Mapping[str, Intervention],
    tests: InterventionTests,
    *,
    strengths: Sequence[float] = (0.25, 0.5, 0.75, 1.0),
    at_most: float = 0.05,
    keep_at_least: float = 0.9,
    random_state: int = 0,
    progress: Progress | None = None,
) -> tuple[list[SweepPoint], InterventionResult]:
    """Try layers and strengths on one half of the tests, and report the chosen intervention on the other.

    The cheapest point that leaves a rank correlation of at most `at_most` and keeps `keep_at_least` of the definitions
    is chosen; where none does both, the one that misses the two bounds by least (:func:`choose_point`).

    Parameters
    ----------
    interventions : mapping of str to Intervention
        The sets of layers to try, by name.
    tests : InterventionTests
        With stereotypes; prompts (whole groups of them), definitions and texts are halved at random.
    strengths : sequence of float
    at_most : float, default=0.05
        Absolute rank correlation with what is known that may be left.
    keep_at_least : float, default=0.9
        AUROC of the definitional prompts, where there are some, that has to stay.
    """
    choosing, reporting = _halves(tests, np.random.default_rng(random_state))
    given = _needed(choosing)
    tried = [(name, each.at(strength)) for name, each in interventions.items() for strength in strengths]
    if not tried:
        raise TaskError("nothing is given to try; at least one intervention and one strength are needed.")
    base = log_perplexity(model, tokenizer, choosing.texts, None)
    points: list[SweepPoint] = []
    for name, one in tried:
        odds = continuation_log_odds(model, tokenizer, given, one)
        left = abs(rank_correlation(np.column_stack([np.asarray(given.known, dtype=np.float64), odds])))
        cost = log_perplexity(model, tokenizer, choosing.texts, one) - base
        right = choosing.definitions
        kept = float("nan") if right is None else definitional(model, tokenizer, one, right)[0].value
        if not np.isfinite([left, cost, 0.0 if right is None else kept]).all():
            left = cost = float("inf")  # the model says nothing any more: such a point is shown, and never chosen
        points.append(SweepPoint(one.layers, one.strength, left, cost, kept, name=name))
        if progress is not None:
            progress(len(points), len(tried))
    if not np.isfinite([point.left for point in points]).any():
        raise TaskError("the odds or the perplexity are not finite at any strength that is tried. Try smaller ones.")
    best = choose_point(points, at_most=at_most, keep_at_least=keep_at_least)
    points[best] = replace(points[best], chosen=True)
    result = evaluate_intervention(model, tokenizer, tried[best][1], reporting, random_state=random_state)
    if reporting.definitions is not None and reporting.definitions is choosing.definitions:
        said = "Definitions: all of them chose and are reported; they are too few for both answers in each half."
        result = replace(result, notes=(said,))
    return mark_front(points), result


def _needed(tests: InterventionTests) -> Continuations:
    if tests.stereotypes is None:
        raise TaskError("a sweep needs prompts to choose by (stereotypes).")
    return tests.stereotypes


def _halves(tests: InterventionTests, generator: np.random.Generator) -> tuple[InterventionTests, InterventionTests]:
    """Return the tests halved: prompts that share a group stay together, in each half both answers of a definition."""
    given, definitions = _needed(tests), tests.definitions
    halves = []
    prompts, lines = _half_of(given, generator), generator.permutation(len(tests.texts))
    known = np.asarray(given.known, dtype=np.float64)
    if len(lines) < 2 or any(np.sum(prompts == part) < 3 or not np.ptp(known[prompts == part]) for part in (0, 1)):
        counts = len(given.prompts), len(np.unique(given.group_numbers)), len(lines)
        raise TaskError(
            "{:,} prompts in {:,} groups and {:,} texts are given. A sweep halves both, prompts by group: each half "
            "needs a text, and at least three prompts of which not all have the same label.".format(*counts)
        )
    words = None if definitions is None else _half_of(definitions, generator, by_answer=True)
    for part in (0, 1):
        kept = definitions
        if definitions is not None and words is not None and _both_answers(definitions, words):
            kept = definitions.only(np.flatnonzero(words == part).tolist())
        asked, texts = given.only(np.flatnonzero(prompts == part).tolist()), np.sort(lines[part::2])
        halves.append(replace(tests, stereotypes=asked, definitions=kept, texts=[tests.texts[line] for line in texts]))
    return halves[0], halves[1]


def _half_of(given: Continuations, generator: np.random.Generator, *, by_answer: bool = False) -> NDArray[np.int64]:
    """Return 0 or 1 for each prompt: the half its group was put into; with `by_answer` each answer is halved apart."""
    numbers = given.group_numbers
    drawn = generator.permutation(int(numbers.max()) + 1)
    if by_answer:
        drawn = np.argsort(np.lexsort((drawn, np.bincount(numbers, given.known) / np.bincount(numbers))))
    return (drawn % 2)[numbers]


def _both_answers(given: Continuations, halves: NDArray[np.int64]) -> bool:
    known = np.asarray(given.known)
    return all(len(np.unique(known[halves == part])) > 1 and np.sum(halves == part) > 2 for part in (0, 1))


def sweep_front(points: Sequence[SweepPoint], *, title: str = "") -> Any:
    """Return the finite points of a sweep as a chart of what is left against the cost, with front and chosen point."""
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
