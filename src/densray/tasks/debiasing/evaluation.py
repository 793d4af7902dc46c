"""Before and after: what one or several removers take from a space, and what they leave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from densray.tasks.steps import Advance

__all__ = ["MeasuredSpace", "RemovalResult", "evaluate_removal", "measure_original"]

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
    keep: Iterable[str] = (),
    strength: float = 1.0,
    n_biased: int = MOST_BIASED,
    original: MeasuredSpace | None = None,
    progress: Advance | None = None,
    journal: Journal | None = None,
) -> RemovalResult:
    """Return what removers take from a space and what they leave, beside the original.

    Vectors are brought to unit length first. Removers that equalise keep the words of the concept, as published; the
    others change every word but those of `keep`.

    Parameters
    ----------
    space : WordSpace
    concept : Concept
        Its word lists: :func:`load_concept`.
    removers : iterable of Remover or str
        Such as ``"densray-unit"`` or ``"inlp:30"``; see ``densray.removal.REMOVERS``.
    keep : iterable of str
        Words that every remover leaves as they are.
    strength : float
        Share of the change to make.
    n_biased : int
        How many words of either side count as biased in the «lipstick» tests.
    original : MeasuredSpace, optional
        What :func:`measure_original` found for the same space, concept and `n_biased`, so that it is not measured
        again.
    progress : callable, optional
        Called with the measures done and of how many, over all spaces.
    journal : Journal, optional
        Keeps the measures of each space until the run is done, for removers given by name; see `densray.journal`.
    """
    started = Provenance.begin(seed=0)
    removers, always = list(removers), tuple(keep)
    methods = [make_remover(each) if isinstance(each, str) else each for each in removers]
    unit = space.normalized(zeros="keep")
    reference = Reference.of(unit, concept, n_biased=n_biased)
    erasures = [method.fit(unit, concept.lexicon, pairs=concept.pairs) for method in methods]  # what fails, fails early
    run = (journal or Journal()).run("removal", unit, concept, always, strength, n_biased)
    advance = partial(_part_of, progress, 1 + len(methods))
    measured = [original or _measured(run, ORIGINAL, unit, concept, reference, advance(0))]
    spaces: list[WordSpace] = []
    for done, (method, erasure) in enumerate(zip(methods, erasures, strict=True), start=1):
        kept, equalize = (concept.keep, concept.equalize) if method.equalizes else ((), ())
        spaces.append(remove(unit, erasure, keep=(*kept, *always), equalize=equalize, strength=strength))
        parts = run if isinstance(removers[done - 1], str) else None
        measured.append(_measured(parts, method.label, spaces[-1], concept, reference, advance(done)))
    missing = sorted({word for each in measured[0].removed for word in each.missing})
    inputs = [Input.of("space", space), Input.of("lexicon", concept.lexicon)]
    used = len(concept.lexicon.align(unit).words)
    provenance = started.finish(inputs=inputs, used=used, missing=missing, resumed=run.taken)
    return RemovalResult(concept.name, concept.anchors, tuple(measured), strength, tuple(spaces), provenance=provenance)


def measure_original(
    space: WordSpace, concept: Concept, *, n_biased: int = MOST_BIASED, advance: Advance | None = None
) -> MeasuredSpace:
    """Return the measures of a space from which nothing is removed: the first column of :func:`evaluate_removal`."""
    unit = space.normalized(zeros="keep")
    return _measured(None, ORIGINAL, unit, concept, Reference.of(unit, concept, n_biased=n_biased), advance)


def _part_of(progress: Advance | None, n_spaces: int, place: int) -> Advance | None:
    """Return what the measures of one space call: those of the spaces before it are done."""
    if progress is None:
        return None
    return lambda done, each: progress(place * each + done, n_spaces * each)


def _measured(
    run: Run | None,
    name: str,
    space: WordSpace,
    concept: Concept,
    reference: Reference,
    advance: Advance | None,
) -> MeasuredSpace:
    def measure() -> MeasuredSpace:
        return MeasuredSpace(name, *measure_space(space, concept, reference, advance=advance))

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
