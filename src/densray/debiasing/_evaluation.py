"""Compare removers: how much of the concept remains, and how well everything else is preserved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from densray._threads import run_in_thread
from densray.affine import warn_of_missing_keep
from densray.debiasing._associations import (
    Association,
    PairChoice,
    SentimentBias,
    association_test,
    pair_choice,
    sentiment_bias,
)
from densray.debiasing._concept import Concept, Pairs
from densray.debiasing._direction import AnchorGap, anchor_gap, direct_bias, indirect_bias, pair_direction
from densray.debiasing._measurement import (
    MeasuredSpace,
    Measurement,
    find_words,
    is_rated,
    meaning_of,
    plain_measure,
    unit_vectors,
)
from densray.debiasing._quality import analogy_accuracy, neighbor_overlap, similarity
from densray.debiasing._recovery import (
    BiasedWords,
    Probe,
    cluster_test,
    most_biased,
    neighbor_test,
    probe,
    recovery_test,
)
from densray.erasure import Erasure
from densray.errors import CoverageError, DensRayError
from densray.journal import Journal, Run
from densray.metrics import Interval
from densray.probes import Recovery
from densray.progress import Progress, part_of
from densray.remains import ProbeResult, Remains
from densray.removers import parse_remover
from densray.report import Column, Input, Provenance, Result, Table, show_number, show_share, typeset
from densray.rows import Rows
from densray.space import WordSpace, as_space

MOST_BIASED = 2500  # per side, as in Gonen & Goldberg (2019)
_CLUSTERED = 500
_TRAINED_ON = 0.2  # 1,000 of 5,000 words in that paper
_SENTIMENT_MODELS = 20
_FOLDS = 5
_QUESTIONS = 100  # per category of analogies
_OVERLAPPED = 500

Measure: TypeAlias = Callable[[], Measurement]


@dataclass(frozen=True)
class Reference:
    """Words and directions of the original space that every measure refers to.

    Attributes
    ----------
    space : WordSpace
        The original space.
    biased : BiasedWords
    direction : array of shape (d,)
        The direction of the pairs (of the anchors if there are no pairs).
    alike : tuple of pairs
        Each neutral word with its nearest neutral word.
    count : int
        Number of words per side that count as biased: at most a quarter of the space.
    """

    space: WordSpace
    biased: BiasedWords
    direction: NDArray[np.float64]
    alike: Pairs
    count: int

    @classmethod
    def of(cls, space: WordSpace, concept: Concept, *, n_biased: int = MOST_BIASED) -> Reference:
        """Return the reference from an original space."""
        space = as_space(space)
        neutral, _ = find_words(space, concept.neutral, what="neutral words", minimum=3)
        X = unit_vectors(space, neutral)
        cosines = X @ X.T
        np.fill_diagonal(cosines, -np.inf)
        nearest = cosines.argmax(axis=1).tolist()
        alike = dict.fromkeys(tuple(sorted((neutral[i], neutral[j]))) for i, j in enumerate(nearest))
        biased = most_biased(space, concept.poles or concept.anchors, exclude=concept.keep)
        return cls(
            space,
            biased,
            pair_direction(space, concept.pairs or [concept.anchors]),
            tuple((pair[0], pair[1]) for pair in alike),
            max(2, min(n_biased, len(biased.words) // 4)),
        )


def measure_space(
    space: WordSpace,
    concept: Concept,
    reference: Reference,
    *,
    random_state: int | None = 0,
    progress: Progress | None = None,
) -> tuple[tuple[Measurement, ...], tuple[Measurement, ...]]:
    """Measure how much of a concept a space contains, and its quality for other tasks.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
        The original space, or the result of a remover.
    concept : Concept
    reference : Reference
        Measures of the original space.
    random_state : int or None
        For permutations, resampling, folds, clusters and drawn questions.
    progress : callable, optional
        Called with the number of measures done and their total.
    """
    space = as_space(space)
    lists = (space, concept, reference, random_state)
    removing = [*_gaps(*lists), *_recoveries(*lists), *_models(*lists)]
    planned = [*removing, *_quality_measures(*lists)]
    measurements = []
    for measure in planned:
        measurements.append(measure())
        if progress is not None:
            progress(len(measurements), len(planned))
    return tuple(measurements[: len(removing)]), tuple(measurements[len(removing) :])


def measure_topics(concept: Concept) -> list[str]:
    """Return the topic of each measure of a concept, in the order of :func:`measure_space`."""
    return [
        *["distances"] * 3,
        *["word association tests"] * len(concept.associations),
        *["questions about stereotypes"] * bool(concept.questions),
        "clusters",
        *["classifiers"] * 2,
        "neighbours",
        *["probes"] * 2,
        *["sentiment"] * bool(concept.identities and concept.positive and concept.negative),
        *["similarity ratings"] * len(concept.similarities),
        *["analogies"] * (concept.analogies is not None),
        "kept neighbours",
    ]


def _gaps(space: WordSpace, concept: Concept, reference: Reference, seed: int | None) -> Iterator[Measure]:
    yield partial(anchor_gap, space, concept.neutral, concept.anchors)
    yield partial(direct_bias, space, concept.neutral, reference.direction)
    indirect = partial(indirect_bias, space, reference.alike, reference.direction)
    yield _allow_missing("indirect bias", indirect, concept.neutral, space)
    for test in concept.associations:
        groups = (test.first_target, test.second_target, test.first_attribute, test.second_attribute)
        words = (word for group in groups for word in group.words)
        yield _allow_missing(
            f"WEAT {test.number}", partial(association_test, space, test, random_state=seed), words, space
        )
    if concept.questions:
        question_words = (word for each in concept.questions for pair in each.pairs for word in pair)
        measure = partial(pair_choice, space, concept.questions, concept.poles or concept.anchors)
        yield _allow_missing("SemBias stereotype", measure, question_words, space)


def _recoveries(space: WordSpace, concept: Concept, reference: Reference, seed: int | None) -> Iterator[Measure]:
    count = reference.count
    n_train = max(2, round(2 * count * _TRAINED_ON))
    yield partial(cluster_test, space, reference.biased, count=min(_CLUSTERED, count), random_state=seed)
    for kernel in ("linear", "rbf"):
        options: dict[str, Any] = {"kernel": kernel, "count": count, "n_train": n_train, "random_state": seed}
        yield partial(recovery_test, space, reference.biased, **options)
    neighbors = partial(neighbor_test, space, reference.biased, concept.neutral, k=min(100, count))
    yield _allow_missing("neighbour correlation", neighbors, concept.neutral, space)


def _models(space: WordSpace, concept: Concept, reference: Reference, seed: int | None) -> Iterator[Measure]:
    probed = (concept.probed or concept.lexicon).binarized()
    sides = probed.align(space, any_case=False).sides
    if min(int(np.sum(sides > 0)), int(np.sum(sides < 0))) >= _FOLDS:
        for model in ("linear", "nonlinear"):
            yield partial(probe, space, probed, model=model, n_folds=_FOLDS, random_state=seed)
    if concept.identities and concept.positive and concept.negative:
        words = (concept.identities, concept.positive, concept.negative)
        measure = partial(sentiment_bias, space, *words, n_resamples=_SENTIMENT_MODELS, random_state=seed)
        yield _allow_missing("RNSB", measure, chain(*words), space)


def _quality_measures(space: WordSpace, concept: Concept, reference: Reference, seed: int | None) -> Iterator[Measure]:
    for ratings in concept.similarities:
        yield _allow_missing(ratings.name, partial(similarity, space, ratings), chain(*ratings.pairs), space)
    if concept.analogies is not None:
        measure = partial(analogy_accuracy, space, concept.analogies, most=_QUESTIONS, random_state=seed)
        yield _allow_missing("analogies", measure, concept.analogies.words, space)
    yield partial(neighbor_overlap, space, reference.space, most=_OVERLAPPED)


def _allow_missing(name: str, measure: Measure, words: Iterable[str], space: WordSpace) -> Measure:
    """Wrap a measure so that missing words give NaN with the reason instead of an error."""

    def measured() -> Measurement:
        try:
            return measure()
        except CoverageError as error:
            return Measurement(name, float("nan"), missing=tuple(space.absent(words)), reason=str(error))

    return measured


ORIGINAL = "original"
_MEASURES = (Measurement, AnchorGap, Association, PairChoice, Probe, SentimentBias, Interval)


@dataclass(frozen=True)
class RemovalResult(Result):
    """Measures of the original space and of the space after each remover."""

    title = "What was removed, and what was kept"

    concept: str
    anchors: tuple[str, str]
    spaces: tuple[MeasuredSpace, ...]
    strength: float = 1.0
    remarks: tuple[str, ...] = ()
    remains: Mapping[str, Remains] = field(default_factory=dict)
    removed_spaces: tuple[WordSpace, ...] = field(default=(), repr=False, metadata={"report": False})

    def text(self) -> str:
        """Return how much of the concept remains after the best remover, and how well the rest is preserved."""
        if len(self.spaces) < 2:
            return ""
        return "\n".join([*_recovery_lines(self), *self._quality_line(), *self._remains_line()])

    @property
    def grade(self) -> str | None:
        """How well the best remover hides the concept: good, fair or weak; None without a remover."""
        if len(self.spaces) < 2:
            return None
        found = _strongest_test(best_removed(self))
        if found.value >= _SOME:
            return "weak"
        return "good" if found.interval is not None and found.interval.low <= 0.5 else "fair"

    def _quality_line(self) -> list[str]:
        before = self.spaces[0].kept[:1]
        values = [(each, best_removed(self)[each.name].value) for each in before if not each.reason]
        return [
            f"What else was kept: {meaning_of(each.name)[0]} (“{each.name}”), {show_number(each.value)} before and "
            f"{show_number(after)} after."
            for each, after in values
        ]

    def _remains_line(self) -> list[str]:
        best = best_removed(self).name
        left = self.remains.get(best)
        return [] if left is None or left.reason else [f"The labelled words, “{best}”: {left.summary}"]

    def _not_measured(self) -> list[str]:
        """Return why nothing is known about the labelled words after the best remover, if so."""
        best = best_removed(self).name if self.remains else ""
        left = self.remains.get(best)
        return [] if left is None or not left.reason else [f"The labelled words, “{best}”. {left.reason}"]

    def tables(self) -> list[Table]:
        """Return all spaces and measures and, folded, the meaning of the measures, their intervals and p-values."""
        overview = self.overview()
        overview = replace(overview, notes=[*overview.notes, *self._not_measured()])
        tables = [overview, self.meanings(), self.details()]
        return [*tables, self.unseen()] if self.remains else tables

    def unseen(self) -> Table:
        """Return how well models recover the concept in labelled words that were not used to erase."""
        rows = [{"remover": name, **row} for name, left in self.remains.items() for row in left.rows()]
        numbers = [Column(key, decimals=3) for key in ("before", "after", "low", "high")]
        notes = [f"{name}: {left.reason}" for name, left in self.remains.items() if left.reason]
        notes.append(
            "AUC of models cross-validated on labelled words that the erasure was not learned from, and the "
            "95% interval of the AUC after it."
        )
        columns: list[Column | str] = ["model", *numbers, Column("if_gone", "if gone", decimals=1)]
        return Table(
            "What remains in labelled words that were not used to erase",
            columns,
            rows,
            notes,
            group="remover",
            folded=True,
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per measure: its kind, its value in each space, and its value if the concept were gone."""
        first = self.spaces[0]
        kinds = (
            ("removed", "Remaining bias (closer to “if gone” is better)", first.removed),
            ("kept", "Preserved quality (higher is better)", first.kept),
        )
        return [
            {
                "kind": kind,
                "part": part,
                "measure": each.name,
                **{space.name: space[each.name].value for space in self.spaces},
                "if_gone": meaning_of(each.name)[1],
                "meaning": meaning_of(each.name)[0],
            }
            for kind, part, measures in kinds
            for each in measures
        ]

    def overview(self) -> Table:
        """Return measures as rows and spaces as columns, next to the value if the concept were gone."""
        first = self.spaces[0]
        columns: list[Column | str] = ["measure", Column("if_gone", "if gone", decimals=2)]
        columns += [Column(space.name, decimals=3) for space in self.spaces]
        notes = [
            "if gone: the value if nothing of the concept is left. For WEAT only the size matters: a negative value is "
            "a bias in the other direction.",
            *self._probe_notes(),
            *self._rating_notes(),
            *self.remarks,
            *(
                f"{each.name} has no number. {typeset(each.reason)}"
                for each in (*first.removed, *first.kept)
                if each.reason
            ),
        ]
        title = f"Concept “{self.concept}”: before and after"
        return Table(title, columns, self.rows(), notes, group="part")

    def meanings(self) -> Table:
        """Return the meaning of each measure."""
        return Table("Meaning of the measures", ["measure", "meaning"], self.rows(), group="part", folded=True)

    def _probe_notes(self) -> list[str]:
        probes = [each for space in self.spaces for each in space.removed if isinstance(each, Probe)]
        if all(each.value >= 0.5 for each in probes):
            return []
        return ["A probe below 0.5 is expected here: it is tested on the words that the removal was learned from."]

    def _rating_notes(self) -> list[str]:
        names = ", ".join(f"“{each.name}”" for each in self.spaces[0].kept if is_rated(each.name))
        description = (
            "pairs of words whose similarity people rated. The number is the rank correlation with their cosines."
        )
        return [f"{names}: {description}"] if names else []

    def details(self) -> Table:
        """Return one row per space and measure, with interval, p-value and coverage."""
        rows = self.interval_rows()
        numbers = [Column(key, decimals=3) for key in ("value", "low", "high")]
        chance = Column("p_value", "p", decimals=3, open_ends=True)
        absent = sorted({word for space in self.spaces for each in space.removed for word in each.missing})
        note = f"{len(absent):,} words of the lists are not in the space." if absent else "All words were found."
        columns = [Column("name", "measure"), *numbers, chance, Column("used")]
        return Table("Intervals (95%), p-values and coverage", columns, rows, [note], group="space", folded=True)

    def interval_rows(self) -> list[dict[str, Any]]:
        """Return one row per space and measure with its interval, as input for `densray.figures.interval_plot`."""
        kinds = {row["measure"]: row for row in self.rows()}
        return [
            {"space": space.name, "measure": each.name, **plain_measure(each)}
            | {key: kinds[each.name][key] for key in ("part", "if_gone")}
            for space in self.spaces
            for each in (*space.removed, *space.kept)
        ]

    def gap_rows(self) -> list[dict[str, Any]]:
        """Return one row per neutral word and space with its cosine to each anchor, as input for `anchor_scatter`."""
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
    removers: Iterable[str],
    *,
    keep: Iterable[str] = (),
    strength: float = 1.0,
    any_case: bool = False,
    random_state: int | None = 0,
    n_biased: int = MOST_BIASED,
    original: MeasuredSpace | None = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> RemovalResult:
    """Compare removers: how much of a concept each removes, and how well the rest of the space is preserved.

    Vectors are scaled to unit length first. Removers that equalise pairs (``"hard"``, ``"double-hard"``) leave the
    other words of the concept unchanged, as in their papers. All other removers change every word except those in
    `keep`. A remover that fails is left out, and a remark gives the reason; if all fail, an error is raised.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    concept : Concept
        Its word lists; see :func:`load_concept`.
    removers : iterable of str
        Such as ``"densray-unit"`` or ``"inlp:30"``; see ``densray.removers.REMOVERS``.
    keep : iterable of str
        Words that every remover leaves unchanged.
    strength : float
        How much of the change to apply.
    any_case : bool
        If a word is not in the space, whether to take the first word that differs only in case.
    random_state : int or None
        Seed for all random draws.
    n_biased : int
        Number of words per side that count as biased in the tests of Gonen & Goldberg (2019).
    original : MeasuredSpace, optional
        The result of :func:`measure_original` for the same space, concept and `n_biased`, so that it is not measured
        again.
    progress : callable, optional
        Called with the number of steps done and their total: a hundred for each space.
    journal : Journal, optional
        Stores the measures of each space until the run is done; see `densray.journal`.
    """
    space = as_space(space)
    started = Provenance.begin(seed=random_state)
    always = tuple(keep)
    unit = space.normalized(zeros="keep")
    concept = concept.spelled_as(unit) if any_case else concept
    reference = Reference.of(unit, concept, n_biased=n_biased)
    rows = concept.lexicon.align(unit, any_case=False, minimum=2, order="lexicon")
    erasures, remarks = _fit_erasures(rows, concept, removers, random_state)
    warn_of_missing_keep(unit.absent(always), space.name)
    run = (journal or Journal()).run("removal", unit, concept, always, strength, n_biased, random_state)
    total = 1 + len(erasures)
    parts = [part_of(progress, 100 * place, 100 * (place + 1), 100 * total) for place in range(total)]
    measured = [original or _measure_part(run, ORIGINAL, unit, concept, reference, parts[0], random_state)]
    spaces: list[WordSpace] = []
    remains: dict[str, Remains] = {}
    for number, erasure in enumerate(erasures, start=1):
        kept, equalize = concept.exceptions(erasure.method)
        kept = tuple(word for word in (*kept, *always) if word in unit)  # lists of a concept are for any space
        spaces.append(erasure.apply(unit, keep=kept, equalize=equalize, strength=strength))
        measured.append(_measure_part(run, erasure.method, spaces[-1], concept, reference, parts[number], random_state))
        left = partial(erasure.remains, keep=kept, strength=strength)
        name = f"{erasure.method}, unseen words"
        remains[erasure.method] = run.part(name, left, Remains, ProbeResult, Recovery, Interval)
    missing = sorted({word for each in measured[0].removed for word in each.missing})
    inputs = [Input.of("space", space), Input.of("lexicon", concept.lexicon)]
    provenance = started.finish(inputs=inputs, used=len(rows), missing=missing, resumed=run.n_reused)
    return RemovalResult(
        concept.name, concept.anchors, tuple(measured), strength, remarks, remains, tuple(spaces), provenance=provenance
    )


def _fit_erasures(
    rows: Rows, concept: Concept, removers: Iterable[str], random_state: int | None
) -> tuple[list[Erasure], tuple[str, ...]]:
    """Return the erasures of the removers that work, and remarks on all removers."""
    erasures: list[Erasure] = []
    remarks: list[str] = []
    failed: list[DensRayError] = []
    names = [remover.full_name(n_axes or remover.n_axes) for remover, n_axes in map(parse_remover, removers)]
    for name in names:
        try:
            erasure = Erasure.fit(rows, name, pairs=concept.pairs, normalize=False, random_state=random_state)
        except DensRayError as error:
            failed.append(error)
            remarks.append(f"“{name}” was left out. {error}")
            continue
        remarks += erasure.remarks
        erasures.append(erasure)
    if failed and not erasures:
        raise failed[0]
    return erasures, tuple(remarks)


def measure_original(
    space: WordSpace,
    concept: Concept,
    *,
    n_biased: int = MOST_BIASED,
    random_state: int | None = 0,
    progress: Progress | None = None,
) -> MeasuredSpace:
    """Return the measures of the original space: the first column of :func:`evaluate_removal`."""
    space = as_space(space)
    unit = space.normalized(zeros="keep")
    return _measure_part(
        None, ORIGINAL, unit, concept, Reference.of(unit, concept, n_biased=n_biased), progress, random_state
    )


def _measure_part(
    run: Run | None,
    name: str,
    space: WordSpace,
    concept: Concept,
    reference: Reference,
    progress: Progress | None,
    random_state: int | None,
) -> MeasuredSpace:
    def measure() -> MeasuredSpace:
        options: dict[str, Any] = {"random_state": random_state, "progress": progress}
        return MeasuredSpace(name, *measure_space(space, concept, reference, **options))

    aside = partial(run_in_thread, measure)
    return aside() if run is None else run.part(name, aside, MeasuredSpace, *_MEASURES)


#: Accuracies (chance: 0.5) above which the concept is clearly there, and above which some of it is.
_PLAIN, _SOME = 0.75, 0.6
_TESTS = ("recovery (linear)", "recovery (rbf)", "cluster accuracy")


#: Measures between 0 and 1 that are drawn together with similarity, analogies and neighbours kept.
DRAWN = (*_TESTS, "linear probe", "nonlinear probe", "neighbour correlation")


def best_removed(result: RemovalResult) -> MeasuredSpace:
    """Return the space after the remover that hides the concept best: its highest of three recovery tests is lowest."""
    return min(result.spaces[1:], key=lambda space: max(space[test].value for test in _TESTS))


def summarize_recovery(result: RemovalResult) -> str:
    """Return a summary of how well the old bias of words can be recovered after the best remover, and after others.

    It uses the best of three tests of Gonen & Goldberg (2019): a linear and an RBF classifier trained on a fifth
    of the most biased words, and two clusters.
    """
    return " ".join(_recovery_lines(result))


def _strongest_test(space: MeasuredSpace) -> Measurement:
    """Return the test that recovers most of the old bias."""
    return max((space[test] for test in _TESTS), key=lambda each: each.value)


def _recovery_lines(result: RemovalResult) -> list[str]:
    """Return the finding in one sentence, and a line on the test and on other removers."""
    original, erased = result.spaces[0], best_removed(result)
    test = _strongest_test(erased)
    finding = (
        "Covered up, not gone"
        if test.value >= _PLAIN
        else "Some of the concept is still there"
        if test.value >= _SOME
        else "These tests find hardly any of the concept"
    )
    is_clusters = test.name == _TESTS[-1]
    still = "still " if test.value >= _SOME else ""
    how = f"two clusters {still}match the old side" if is_clusters else f"a classifier {still}predicts the old side"
    of = "biased words" if is_clusters else "unseen biased words"
    before = show_share(original[test.name].value)
    headline = (
        f"{finding}: after “{erased.name}”, {how} of {show_share(test.value)} of {of} (before: {before}; chance: 50%)."
    )
    words = f"the {test.used:,} words that leaned most to either end"
    about = f"These are {words}." if is_clusters else f"It was trained on a fifth of {words}, and tested on the others."
    rest = [space for space in result.spaces[1:] if space is not erased]
    shares = ", ".join(f"{show_share(_strongest_test(each).value)} (“{each.name}”)" for each in rest)
    others = f" With other removers, the best of three such tests reaches {shares}." if rest else ""
    return [headline, about + others]
