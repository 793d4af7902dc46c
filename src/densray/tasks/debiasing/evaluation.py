"""Before and after: what one or several removers take from a space, and what they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from densray.bias import AnchorGap, Association, Measurement, PairChoice, Probe, SentimentBias
from densray.journal import Journal, Run
from densray.metrics import Interval
from densray.removal import Remover, make_remover, remove
from densray.report import Column, Input, Provenance, Result, Table
from densray.space import WordSpace
from densray.tasks.debiasing.concept import Concept
from densray.tasks.debiasing.measures import MOST_BIASED, Reference, measure_space
from densray.tasks.parallel import run_aside

__all__ = ["MeasuredSpace", "RemovalResult", "evaluate_removal"]

ORIGINAL = "original"
_MEASURES = (Measurement, AnchorGap, Association, PairChoice, Probe, SentimentBias, Interval)


@dataclass(frozen=True)
class MeasuredSpace:
    """One space and its measures.

    Attributes
    ----------
    name : str
        "original", or the remover that made it.
    removed : tuple of Measurement
        What the space holds of the concept: lower is less; of WEAT, which may turn round, its size.
    kept : tuple of Measurement
        What else it is good for: higher is better.
    """

    name: str
    removed: tuple[Measurement, ...]
    kept: tuple[Measurement, ...]

    def __getitem__(self, measure: str) -> Measurement:
        """Return a measure by its name."""
        return next(each for each in (*self.removed, *self.kept) if each.name == measure)

    def to_dict(self) -> dict[str, Any]:
        """Return every number in plain form."""
        return {
            "name": self.name,
            "removed": [_plain(each) for each in self.removed],
            "kept": [_plain(each) for each in self.kept],
        }


@dataclass(frozen=True)
class RemovalResult(Result):
    """What removers took from a space and what they left; the original comes first."""

    title = "What was removed, and what was kept"

    concept: str
    anchors: tuple[str, str]
    spaces: tuple[MeasuredSpace, ...]
    strength: float = 1.0
    removed_spaces: tuple[WordSpace, ...] = field(default=(), repr=False, metadata={"report": False})

    def tables(self) -> list[Table]:
        """Return one table of all spaces and measures, and one with intervals and p-values."""
        return [self.overview(), self.details()]

    def overview(self) -> Table:
        """Return measures as rows and spaces as columns."""
        first = self.spaces[0]
        rows = []
        for kind, measures in (("removed", first.removed), ("kept", first.kept)):
            for measure in measures:
                cells = {space.name: space[measure.name].value for space in self.spaces}
                rows.append({"kind": kind, "measure": measure.name, **cells})
        columns: list[Column | str] = ["kind", "measure", *(Column(space.name, decimals=3) for space in self.spaces)]
        notes = [
            "removed: lower is less of the concept (of WEAT its size: a negative one is a bias the other way round); "
            "kept: higher is better. Intervals and p-values are below.",
            "A probe below 0.5 was tried on the words the removal was learned from: erased means mislead it.",
            *(f"{each.name} has no number. {each.reason}" for each in (*first.removed, *first.kept) if each.reason),
        ]
        return Table(f"Concept «{self.concept}»: before and after", columns, rows, notes)

    def details(self) -> Table:
        """Return one row a space and measure, with interval, p-value and coverage."""
        rows = [
            {"space": space.name, **_plain(measure)}
            for space in self.spaces
            for measure in (*space.removed, *space.kept)
        ]
        numbers = [Column(key, decimals=3) for key in ("value", "low", "high")]
        columns: list[Column | str] = ["space", Column("name", "measure"), *numbers, Column("p_value", "p"), "used"]
        absent = sorted({word for space in self.spaces for each in space.removed for word in each.missing})
        note = f"{len(absent)} words of the lists are not in the space." if absent else "All words were found."
        return Table("Intervals (95 %), p-values and coverage", columns, rows, [note])

    def gap_rows(self) -> list[dict[str, Any]]:
        """Return one row a neutral word and space, with its cosine to each anchor: what `anchor_scatter` draws."""
        return [
            {"space": space.name, "word": word, gap.anchors[0]: float(first), gap.anchors[1]: float(second)}
            for space in self.spaces
            for gap in space.removed
            if isinstance(gap, AnchorGap)
            for word, (first, second) in zip(gap.words, gap.cosines, strict=True)
        ]


def evaluate_removal(
    space: WordSpace,
    concept: Concept,
    removers: Iterable[Remover | str],
    *,
    strength: float = 1.0,
    n_biased: int = MOST_BIASED,
    progress: Callable[[int, int | None], None] | None = None,
    journal: Journal | None = None,
) -> RemovalResult:
    """Return what removers take from a space and what they leave, beside the original.

    Vectors are brought to unit length first. Removers that equalise keep the words of the concept, as published; the
    others change every word.

    Parameters
    ----------
    space : WordSpace
    concept : Concept
        Its word lists: :func:`load_concept`.
    removers : iterable of Remover or str
        Such as ``"densray-unit"`` or ``"inlp:30"``; see ``densray.removal.REMOVERS``.
    strength : float
        Share of the change to make.
    n_biased : int
        How many words of either side count as biased in the «lipstick» tests.
    progress : callable, optional
        Called with the spaces done and the spaces in all.
    journal : Journal, optional
        Keeps the measures of each space until the run is done, for removers given by name; see `densray.journal`.
    """
    started = Provenance.begin(seed=0)
    removers = list(removers)
    methods = [make_remover(each) if isinstance(each, str) else each for each in removers]
    unit = space.normalized(zeros="keep")
    reference = Reference.of(unit, concept, n_biased=n_biased)
    erasures = [method.fit(unit, concept.lexicon, pairs=concept.pairs) for method in methods]  # what fails, fails early
    run = (journal or Journal()).run("removal", unit, concept, strength, n_biased)
    measured = [_measured(run, ORIGINAL, unit, concept, reference)]
    spaces: list[WordSpace] = []
    for done, (method, erasure) in enumerate(zip(methods, erasures, strict=True), start=1):
        if progress is not None:
            progress(done, len(methods) + 1)
        keep, equalize = (concept.keep, concept.equalize) if method.equalizes else ((), ())
        spaces.append(remove(unit, erasure, keep=keep, equalize=equalize, strength=strength))
        kept = run if isinstance(removers[done - 1], str) else None
        measured.append(_measured(kept, method.label, spaces[-1], concept, reference))
    if progress is not None:
        progress(len(measured), len(measured))
    missing = sorted({word for each in measured[0].removed for word in each.missing})
    inputs = [Input.of("space", space), Input.of("lexicon", concept.lexicon)]
    used = len(concept.lexicon.align(unit).words)
    provenance = started.finish(inputs=inputs, used=used, missing=missing, resumed=run.taken)
    return RemovalResult(concept.name, concept.anchors, tuple(measured), strength, tuple(spaces), provenance=provenance)


def _measured(run: Run | None, name: str, space: WordSpace, concept: Concept, reference: Reference) -> MeasuredSpace:
    def measure() -> MeasuredSpace:
        return MeasuredSpace(name, *measure_space(space, concept, reference))

    aside = partial(run_aside, measure)
    return aside() if run is None else run.part(name, aside, MeasuredSpace, *_MEASURES)


def _plain(measure: Measurement) -> dict[str, Any]:
    low, high = measure.interval or (None, None)
    return {
        "name": measure.name,
        "value": measure.value,
        "low": low,
        "high": high,
        "p_value": measure.p_value,
        "used": measure.used,
        "missing": list(measure.missing),
        "reason": measure.reason or None,
        **_more(measure),
    }


def _more(measure: Measurement) -> dict[str, Any]:
    """Return the further plain numbers a measure carries, such as a probe's control."""
    names: Sequence[str] = ("control", "selectivity", "definition", "stereotype", "other", "statistic", "exact")
    return {name: getattr(measure, name) for name in names if hasattr(measure, name)}
