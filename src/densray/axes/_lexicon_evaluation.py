"""Evaluate methods on lexicons: each is trained on labelled words and tested on held-out words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from densray._threads import run_in_thread
from densray.axes._protocol import (
    BEYOND_LIMIT,
    PAPER_METHODS,
    HeldOutTau,
    Protocol,
    TrainTest,
    fit_method,
    measure_tau,
    say_ceiling,
)
from densray.errors import Argument, TaskError, refuse_text, suggest
from densray.groups import GroupProposal
from densray.journal import Journal
from densray.lexicon import Groups, Lexicon
from densray.methods import check_method
from densray.metrics import (
    accuracy,
    auc,
    auc_interval,
    macro_mean,
    midpoint,
    pearson,
    spearman,
)
from densray.progress import Progress, part_of
from densray.report import Column, Input, Provenance, Result, Table, best_cells, joined_reasons, show_number, show_share
from densray.rotations import METHODS
from densray.space import WordSpace, as_space

#: The four methods of the paper, and further ones.
DEFAULT_METHODS = (*PAPER_METHODS, "mean-difference", "ridge")

Vector = NDArray[np.float64]

_ENDS = ("low", "high")


@dataclass(frozen=True, kw_only=True)
class MethodScore(HeldOutTau):
    """All scores of one method on the test words.

    Attributes
    ----------
    spearman, pearson : float
    auc, auc_low, auc_high, accuracy : float or None
        Only for gold labels of two classes: AUC with its interval over test words, and accuracy. The threshold lies
        half-way between the class means of the training words.
    """

    spearman: float
    pearson: float
    auc: float | None
    auc_low: float | None
    auc_high: float | None
    accuracy: float | None


@dataclass(frozen=True)
class LexiconInduction(Result):
    """All methods side by side on one lexicon.

    Attributes
    ----------
    scores : tuple of MethodScore
    lexicon, test, space : str
        Names of the training lexicon, the test lexicon and the space.
    n_training, n_test : int
        Number of words used.
    coverage : float
        Share of the words of both lexicons that are in the space; the provenance lists the others.
    overlap : tuple of str
        Test words that were also in the training lexicon.
    dropped_conflicts, dropped_neutral : int
        Words left out of the lexicons because their entries conflict, or are neutral.
    continuous : bool
        Whether the gold labels are scores.
    protocol : Protocol
    median : float or None
        Value at which training scores are split for two-class methods; None for labels of two classes.
    n_groups : int or None
        Number of groups, which are never split; None if every word is its own group.
    proposal : GroupProposal or None
        Words that should be in the same part of the split but were not grouped.
    """

    title: ClassVar[str] = "Lexicon induction"

    scores: tuple[MethodScore, ...]
    lexicon: str
    test: str
    space: str
    n_training: int
    n_test: int
    coverage: float
    overlap: tuple[str, ...]
    dropped_conflicts: int
    dropped_neutral: int
    continuous: bool
    protocol: Protocol
    median: float | None = None
    n_groups: int | None = None
    proposal: GroupProposal | None = None

    def __repr__(self) -> str:
        best = max(self.scores, key=lambda score: score.tau)
        return (
            f"LexiconInduction of '{self.lexicon}' in '{self.space}': {self.n_training:,} training and {self.n_test:,} "
            f"test words, highest τ {show_number(best.tau)} ({best.method})"
        )

    def score(self, method: str) -> MethodScore:
        """Return the scores of one method."""
        for score in self.scores:
            if score.method == method:
                return score
        raise TaskError(f"'{method}' was not measured. {suggest(method, [score.method for score in self.scores])}")

    def difference(self, first: str, second: str) -> tuple[float, float, float]:
        """Return the difference in τ between two methods, and its paired interval."""
        return self.score(first).ahead_of(self.score(second), level=self.protocol.level)

    def tables(self) -> list[Table]:
        """Return one row per method."""
        classes = ["auc", "auc_low", "auc_high", "accuracy", "tau", "spearman", "pearson"]
        keys = ["tau", "tau_low", "tau_high", "spearman", "pearson"] if self.continuous else classes
        titles = {"tau": "τ", "auc": "AUC", **{f"{name}_{end}": end for name in ("tau", "auc") for end in _ENDS}}
        rows = [
            {"method": score.method, **{key: getattr(score, key) for key in [*keys, "seconds"]}}
            for score in self.scores
        ]
        measures = [Column(key, titles.get(key), decimals=3) for key in keys]
        columns: list[Column | str] = ["method", *measures, Column("seconds", decimals=2)]
        best = best_cells(rows, [key for key in keys if not key.endswith(_ENDS)], within="column")
        return [Table(f"{self.lexicon} on {self.space}", columns, rows, self._notes(), best)]

    def _notes(self) -> list[str]:
        kind = "scores" if self.continuous else "two classes"
        share, coverage = show_share(self.n_test / (self.n_training + self.n_test)), show_share(self.coverage, 1)
        held_out = f"{share} held out" if self.lexicon == self.test else f"tested on {self.test}"
        notes = [
            f"{self.n_training:,} training and {self.n_test:,} test words ({kind}, {held_out}); {coverage} of the "
            f"lexicon is in the space. Interval: {show_share(self.protocol.level)}, over test words."
        ]
        notes += [say_ceiling(score.tau_ceiling) for score in self.scores[:1]]
        split = [each.method for each in self.scores if self.protocol.splits(each.method)]
        if self.median is not None and split:
            notes.append(f"Training scores are split at their median, {self.median:g}, for {', '.join(split)}.")
        if self.overlap:
            what = "taken out of" if self.protocol.disjoint else "left in"
            notes.append(f"{len(self.overlap)} test words were in the training lexicon and {what} it.")
        beyond = len(self.provenance.words_set_aside.get(BEYOND_LIMIT, ()))
        if beyond:
            limit = f"the first {self.protocol.training_limit:,} words of the space"
            notes.append(f"Training words come from {limit}; {beyond:,} later words were left out.")
        if self.n_groups is not None:
            notes.append(f"Words of one group stay together: {self.n_groups:,} groups.")
        return [*notes, *([] if self.proposal is None else [self.proposal.line])]


@dataclass(frozen=True)
class InductionSurvey(Result):
    """Several lexicons, and the macro mean of each method over them."""

    title: ClassVar[str] = "Lexicon induction"

    macro_means: Mapping[str, float]
    results: tuple[LexiconInduction, ...]

    def __repr__(self) -> str:
        best = max(self.macro_means, key=self.macro_means.__getitem__)
        mean = show_number(self.macro_means[best])
        return f"InductionSurvey: {len(self.results):,} lexicons, highest mean τ {mean} ({best})"

    def tables(self) -> list[Table]:
        """Return τ by lexicon and method, then the table of each lexicon."""
        methods = list(self.macro_means)
        rows: list[dict[str, Any]] = [
            {"lexicon": result.lexicon, **{score.method: score.tau for score in result.scores}}
            for result in self.results
        ]
        rows.append({"lexicon": "macro mean", **self.macro_means})
        columns: list[Column | str] = ["lexicon", *(Column(method, decimals=3) for method in methods)]
        overview = Table("Kendall τ", columns, rows, best=best_cells(rows, methods))
        return [overview, *(table for result in self.results for table in result.tables())]


@dataclass(frozen=True)
class RepeatedInduction(Result):
    """One lexicon, split several times: mean and spread of τ over the splits.

    Attributes
    ----------
    lexicon, space : str
    splits : list of dict
        For each method: mean, standard deviation, minimum and maximum of τ over splits.
    results : tuple of LexiconInduction
        One per split; the first equals the result of :func:`evaluate_induction`.
    """

    title: ClassVar[str] = "Lexicon induction, several splits"

    lexicon: str
    space: str
    splits: list[dict[str, Any]]
    results: tuple[LexiconInduction, ...]

    def __repr__(self) -> str:
        best = max(self.splits, key=lambda row: float(row["mean"]))
        return (
            f"RepeatedInduction of '{self.lexicon}' in '{self.space}': {len(self.results):,} splits, highest mean τ "
            f"{show_number(best['mean'])} ({best['method']})"
        )

    def tables(self) -> list[Table]:
        """Return one row per method."""
        names = {"mean": "mean τ", "std": "spread"}
        columns = [Column(key, names.get(key), decimals=3) for key in ("mean", "std", "lowest", "highest")]
        first = self.results[0]
        note = (
            f"{len(self.results)} splits of {first.n_training:,} training and {first.n_test:,} test words; spread: "
            "standard deviation of τ over splits, which share words: not the error of the mean."
        )
        best = best_cells(self.splits, ["mean"], within="column")
        return [Table(f"{self.lexicon} on {self.space}", ["method", *columns], self.splits, [note], best)]


def check_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Return the methods, each once, if all are known."""
    refuse_text(methods, "methods")
    for method in methods:
        check_method(method)
    if not methods:
        raise TaskError(f"no method was given. Known: {', '.join(METHODS)}.")
    return tuple(dict.fromkeys(methods))


@overload
def evaluate_induction(
    space: WordSpace,
    lexicon: Lexicon,
    *,
    test: Lexicon | None = ...,
    methods: Sequence[str] = ...,
    protocol: Protocol | None = ...,
    groups: Groups = ...,
    progress: Progress | None = ...,
    journal: Journal | None = ...,
) -> LexiconInduction: ...


@overload
def evaluate_induction(
    space: WordSpace,
    lexicon: Sequence[Lexicon],
    *,
    methods: Sequence[str] = ...,
    protocol: Protocol | None = ...,
    groups: Groups = ...,
    progress: Progress | None = ...,
    journal: Journal | None = ...,
) -> InductionSurvey: ...


def evaluate_induction(
    space: WordSpace,
    lexicon: Lexicon | Sequence[Lexicon],
    *,
    test: Lexicon | None = None,
    methods: Sequence[str] = DEFAULT_METHODS,
    protocol: Protocol | None = None,
    groups: Groups = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> LexiconInduction | InductionSurvey:
    """Train each method on labelled words and measure how well it ranks held-out words.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    lexicon : Lexicon, or sequence of Lexicon
        The training words. Without `test`, some of them are held out. If there are several lexicons, each is split on
        its own, and the result lists each lexicon and the mean over them.
    test : Lexicon, optional
        Test words with their labels. Only allowed if `lexicon` is a single lexicon.
    methods : sequence of str
        Names in `densray.rotations.METHODS`.
    protocol : Protocol, optional
        All other choices (default: those of the paper).
    groups : mapping, sequence, "forms" or "proposed", optional
        Words to keep in the same part of a split, as for :func:`densray.axes.diagnose` (default: groups of the
        lexicon).
    progress : callable, optional
        Called with the methods done and their number, over all lexicons.
    journal : Journal, optional
        Stores the scores of each method until the run is done; see `densray.journal`.

    Examples
    --------
    >>> from densray import load_space
    >>> from densray.datasets import load_lexicon
    >>> result = evaluate_induction(load_space("googlenews-26k"), load_lexicon("hu-liu"), methods=["ridge"])
    >>> result.score("ridge").tau > 0.65
    True
    """
    space = as_space(space)
    protocol, methods = protocol or Protocol(), check_methods(methods)
    if isinstance(lexicon, Lexicon):
        return _evaluate(space, lexicon, test, methods, protocol, groups, progress, journal)
    if test is not None or not lexicon:
        raise TaskError(f"{len(lexicon)} lexicons are given{' with a test lexicon' if test else ''}; "
                        "at least one lexicon is needed, and exactly one with a test lexicon.")  # fmt: skip
    provenance = Provenance.begin(seed=protocol.random_state)
    results: list[LexiconInduction] = []
    for each in lexicon:
        start = len(results) * len(methods)
        step = part_of(progress, start, start + len(methods), len(lexicon) * len(methods))
        results.append(_evaluate(space, each, None, methods, protocol, groups, step, journal))
    inputs = {each.name: each for result in results for each in result.provenance.inputs}
    finished = provenance.finish(
        inputs=list(inputs.values()),
        used=sum(result.n_training + result.n_test for result in results),
        missing=[word for result in results for word in result.provenance.words_missing],
        set_aside=joined_reasons(result.provenance.words_set_aside for result in results),
        resumed=sum(result.provenance.parts_resumed for result in results),
    )
    means = {method: macro_mean(result.score(method).tau for result in results) for method in methods}
    return InductionSurvey(means, tuple(results), provenance=finished)


def _evaluate(
    space: WordSpace,
    lexicon: Lexicon,
    test: Lexicon | None,
    methods: Sequence[str],
    protocol: Protocol,
    groups: Groups,
    progress: Progress | None,
    journal: Journal | None,
) -> LexiconInduction:
    """Return :func:`evaluate_induction` on one lexicon."""
    provenance = Provenance.begin(seed=protocol.random_state)
    data = TrainTest.of(space, lexicon, test, protocol=protocol, groups=groups)
    run = (journal or Journal()).run("lexicon induction", data, protocol)
    scores = []
    for count, method in enumerate(methods, start=1):
        measure = partial(run_in_thread, partial(_measure, method, data, protocol))
        scores.append(run.part(method, measure, MethodScore))
        if progress is not None:
            progress(count, len(methods))
    lexicons = [lexicon] if test is None else [lexicon, test]
    inputs = [Input.of("space", space), *(Input.of("lexicon", each) for each in lexicons)]
    return LexiconInduction(
        scores=tuple(scores),
        lexicon=lexicon.name,
        test=lexicon.name if test is None else test.name,
        space=space.name,
        n_training=len(data.training),
        n_test=len(data.test),
        coverage=data.coverage,
        overlap=data.overlap,
        dropped_conflicts=sum(len(each.dropped.conflicts) for each in lexicons),
        dropped_neutral=sum(len(each.dropped.neutral) for each in lexicons),
        continuous=not data.test.is_binary,
        protocol=protocol,
        median=None if data.training.is_binary else float(np.median(data.training.y)),
        n_groups=data.n_groups,
        proposal=data.training.proposal,
        provenance=provenance.finish(
            inputs=inputs,
            used=len(data.training) + len(data.test),
            missing=(*data.training.missing, *data.test.missing),
            set_aside=data.set_aside(lexicons),
            resumed=run.n_reused,
        ),
    )


def _measure(method: str, data: TrainTest, protocol: Protocol) -> MethodScore:
    training_scores, scores, seconds = fit_method(method, data, protocol)
    gold, binary = data.test.y, data.test.is_binary
    threshold = midpoint(data.training.sides, training_scores)
    interval = auc_interval(gold, scores, level=protocol.level, groups=data.test.groups) if binary else (None, None)
    measured = measure_tau(
        gold, scores, n_resamples=protocol.n_resamples, random_state=protocol.random_state, level=protocol.level,
        groups=data.test.groups,
    )  # fmt: skip
    return MethodScore(
        method=method,
        seconds=seconds,
        spearman=spearman(gold, scores),
        pearson=pearson(gold, scores),
        auc=auc(gold, scores) if binary else None,
        auc_low=interval[0],
        auc_high=interval[1],
        accuracy=accuracy(gold, scores, threshold=threshold) if binary else None,
        **measured,
    )


def repeat_induction(
    space: WordSpace,
    lexicon: Lexicon,
    *,
    repeats: int,
    methods: Sequence[str] = DEFAULT_METHODS,
    protocol: Protocol | None = None,
    groups: Groups = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> RepeatedInduction:
    """Return :func:`evaluate_induction` over several splits of one lexicon: mean and spread of τ.

    Parameters
    ----------
    space, lexicon, methods, groups, journal
        As for `evaluate_induction`.
    repeats : int
        Number of splits, at least 2, drawn with consecutive random states, starting at that of the protocol.
    protocol : Protocol, optional
    progress : callable, optional
        Called with the methods done and their number, over all splits.
    """
    space = as_space(space)
    if repeats < 2:
        raise TaskError(Argument("repeats", repeats), " is too small. A standard deviation needs at least 2 splits.")
    protocol, methods = protocol or Protocol(), check_methods(methods)
    provenance = Provenance.begin(seed=protocol.random_state)
    results: list[LexiconInduction] = []
    for number in range(repeats):
        step = part_of(progress, number * len(methods), (number + 1) * len(methods), repeats * len(methods))
        split = replace(protocol, random_state=protocol.random_state + number)
        results.append(
            evaluate_induction(
                space, lexicon, methods=methods, protocol=split, groups=groups, progress=step, journal=journal
            )
        )
    taus = {method: np.array([result.score(method).tau for result in results]) for method in methods}
    first = results[0].provenance
    return RepeatedInduction(
        lexicon=lexicon.name,
        space=space.name,
        splits=[
            {
                "method": method,
                "mean": float(each.mean()),
                "std": float(each.std(ddof=1)),
                "lowest": float(each.min()),
                "highest": float(each.max()),
            }
            for method, each in taus.items()
        ],
        results=tuple(results),
        provenance=provenance.finish(
            inputs=list(first.inputs),
            used=first.words_used,
            missing=first.words_missing,
            set_aside=lexicon.dropped.by_reason(),
            resumed=sum(result.provenance.parts_resumed for result in results),
        ),
    )
