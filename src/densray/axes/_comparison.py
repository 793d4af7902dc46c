"""Methods side by side on one lexicon, on words held out."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from densray._threads import Progress, part_of, run_in_thread
from densray.alignment import Alignment, GroupProposal
from densray.axes._evidence import degrees_between
from densray.axes._lexicon_evaluation import check_methods
from densray.axes._model import AxisModel
from densray.axes._options import DEFAULTS, find_seeds, fit_rotation
from densray.axes._protocol import HeldOutTau, measure_tau
from densray.axes._resampling import count_folds, held_out_scores, stratified_folds
from densray.axes._scoring import Induction, score_vocabulary
from densray.axes._views import AxisChange, axis_change, standardized
from densray.errors import DensRayError, TaskError, suggest
from densray.lexicon import Groups, Lexicon
from densray.report import Column, Input, Provenance, Result, Table, best_cells
from densray.rotations import METHODS
from densray.space import WordSpace

#: Every method that is not another one's second name, the slow ones last.
COMPARABLE = tuple(
    sorted(
        (name for name, method in METHODS.items() if not method.stands_for),
        key=lambda name: -(METHODS[name].slow_from or math.inf),
    )
)
#: Methods that take about a second for thousands of seeds.
QUICK_METHODS = ("ridge", "mean-difference", "densray", "logistic", "densray-unit", "svm")

_RESAMPLES = 500


@dataclass(frozen=True, kw_only=True)
class MethodTrial(HeldOutTau):
    """One method on one concept: its axis, how it orders seeds that it has not seen, and the vocabulary in its order.

    Attributes
    ----------
    total_seconds : float
        Time of everything: the fit on all seeds, those without each fold, the interval.
    split : bool
        Whether scores were split at their median, for a method of two classes.
    axis : array of shape (d,)
    ranking : Induction
        The vocabulary along the axis.
    """

    total_seconds: float = field(compare=False, metadata={"report": False})
    split: bool
    axis: NDArray[np.float64] = field(repr=False, compare=False, metadata={"report": False})
    ranking: Induction = field(repr=False, compare=False, metadata={"report": False})


@dataclass(frozen=True)
class FailedTrial:
    """A method that found no axis, why, and the time it took."""

    method: str
    problem: str
    total_seconds: float = field(default=0.0, compare=False, metadata={"report": False})


def try_method(
    space: WordSpace,
    seeds: Alignment,
    method: str,
    *,
    folds: int = 10,
    random_state: int = 0,
    scale: str | None = None,
    progress: Progress | None = None,
) -> MethodTrial | FailedTrial:
    """Return one method on the seeds of a concept; what goes wrong with a known method is returned, not raised.

    Parameters
    ----------
    space : WordSpace
    seeds : Alignment
    method : str
    folds : int, default=10
        Of the cross-validation; fewer where the seeds are few.
    random_state : int, default=0
        Draws the folds and the resamples of the interval.
    scale : {None, "columns"}
        Whether axes are found in columns divided by their standard deviations.
    progress : callable, optional
        Called with the folds done and their number.
    """
    check_methods([method])
    numbers = stratified_folds(seeds, count_folds(seeds, folds), np.random.default_rng(random_state))
    return run_in_thread(lambda: _try_method(space, seeds, method, numbers, random_state, scale, progress))


def _try_method(
    space: WordSpace,
    seeds: Alignment,
    method: str,
    folds: NDArray[np.int64],
    random_state: int,
    scale: str | None,
    progress: Progress | None,
) -> MethodTrial | FailedTrial:
    split = METHODS[method].classes_only and not seeds.is_binary
    learned = replace(seeds, y=seeds.sides) if split else seeds
    start = time.perf_counter()
    try:
        rotation = fit_rotation(method, learned, scale=scale)
        seconds = time.perf_counter() - start
        scores = held_out_scores(rotation, learned, folds, progress=progress)[:, 0]
        measured = measure_tau(
            seeds.values, scores, n_resamples=_RESAMPLES, random_state=random_state, groups=seeds.groups
        )
    except DensRayError as error:
        return FailedTrial(method, str(error), time.perf_counter() - start)
    total, axis = time.perf_counter() - start, rotation.components_[0]
    ranking = score_vocabulary(space, AxisModel(axis), method=method, seeds=seeds)
    return MethodTrial(
        method=method, seconds=seconds, total_seconds=total, split=split, axis=axis, ranking=ranking, **measured
    )


def found_trials(trials: Sequence[MethodTrial | FailedTrial]) -> tuple[MethodTrial, ...]:
    """Return the trials that gave an axis, the highest τ first."""
    worked = (trial for trial in trials if isinstance(trial, MethodTrial))
    return tuple(sorted(worked, key=lambda trial: -trial.tau))


def trial_rows(trials: Sequence[MethodTrial | FailedTrial]) -> list[dict[str, Any]]:
    """Return one row per trial: τ with its interval, by how much it is behind the best, seconds, remarks."""
    best = found_trials(trials)[:1]
    return [
        _row(trial, best[0]) if isinstance(trial, MethodTrial) else {"method": trial.method, "remark": trial.problem}
        for trial in trials
    ]


def _row(trial: MethodTrial, best: MethodTrial) -> dict[str, Any]:
    row = {key: getattr(trial, key) for key in ("method", "tau", "tau_low", "tau_high", "seconds")}
    row |= dict(zip(("behind", "behind_low", "behind_high"), best.ahead_of(trial), strict=True))
    return {**row, "remark": "learned scores split at their median" if trial.split else ""}


@dataclass(frozen=True)
class MethodComparison(Result):
    """Several methods on one concept.

    Attributes
    ----------
    lexicon : str
    n_seeds : int
    trials : tuple of MethodTrial and FailedTrial
        In the order they were tried.
    angles : list of dict
        `first`, `second` and the `degrees` between their axes, for every two methods that worked, both ways round and
        with themselves.
    disagreements : list of dict
        The words of the vocabulary whose place depends most on the method: `word`, `spread` (standard deviation over
        methods of the percentile) and the rank each method gives it.
    n_groups : int or None
        Groups that were held out whole; None where every seed stood alone.
    proposal : GroupProposal or None
        Seeds that should be held out together and were not.
    """

    title: ClassVar[str] = "Methods compared"

    lexicon: str
    n_seeds: int
    trials: tuple[MethodTrial | FailedTrial, ...]
    angles: list[dict[str, Any]]
    disagreements: list[dict[str, Any]]
    n_groups: int | None = None
    proposal: GroupProposal | None = None

    @property
    def found(self) -> tuple[MethodTrial, ...]:
        """The trials that gave an axis, the highest τ first."""
        return found_trials(self.trials)

    def trial(self, method: str) -> MethodTrial:
        """Return the trial of a method that worked."""
        names = {trial.method: trial for trial in self.found}
        if method not in names:
            raise TaskError(f"'{method}' is none of the methods that found an axis. {suggest(method, list(names))}")
        return names[method]

    def between(self, first: str, second: str, *, n_words: int = 10) -> AxisChange:
        """Return how two methods differ; words that rose stand higher by the second."""
        one, other = self.trial(first), self.trial(second)
        return axis_change(one.ranking, other.ranking, (one.axis, other.axis), n_words=n_words)

    def agreement(self, first: str, second: str, *, n_words: int = 1000, n_apart: int = 20) -> list[dict[str, Any]]:
        """Return words with their standardised scores by two methods: what `agreement_scatter` draws.

        The first `n_words` of the vocabulary, usually the most frequent, and the `n_apart` furthest apart either way.
        """
        scores = [standardized(self.trial(method).ranking.scores.score) for method in (first, second)]
        order = np.argsort(scores[1] - scores[0], kind="stable")
        rows = dict.fromkeys([*order[:n_apart].tolist(), *order[::-1][:n_apart].tolist(), *range(n_words)])
        words = self.trial(first).ranking.words
        shown = [row for row in rows if row < len(words)]
        return [{"word": words[row], "first": float(scores[0][row]), "second": float(scores[1][row])} for row in shown]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per method: τ with its interval, by how much it is behind the best, seconds, remarks."""
        return trial_rows(self.trials)

    def tables(self) -> list[Table]:
        """Return the methods, the angles between them, and the words they disagree on."""
        rows, names = self.rows(), [trial.method for trial in self.found]
        numbers = {
            "tau": "τ",
            "tau_low": "low",
            "tau_high": "high",
            "behind": "behind the best",
            "behind_low": "at least",
            "behind_high": "at most",
        }
        columns: list[Column | str] = ["method", *(Column(key, name, decimals=3) for key, name in numbers.items())]
        columns += [Column("seconds", decimals=2), Column("remark", "")]
        units, alone = ("seeds", "it") if self.n_groups is None else (f"{self.n_groups:,} groups", "its group")
        notes = [
            f"τ over {self.n_seeds:,} seeds, each scored by an axis found without {alone}; "
            "the same folds for all methods.",
            f"Intervals (95%) are bootstraps over {units}, paired for the difference: "
            "at least above 0 is beyond chance.",
            *([] if self.proposal is None else [self.proposal.line]),
        ]
        found = [Table(f"{self.lexicon}: held-out τ", columns, rows, notes, best_cells(rows, ["tau"], within="column"))]
        if len(names) < 2:
            return found
        degrees = {(row["first"], row["second"]): row["degrees"] for row in self.angles}
        cells = [{"method": one, **{other: degrees[one, other] for other in names}} for one in names]
        found.append(Table("Angle between axes (°)", ["method", *(Column(name, decimals=1) for name in names)], cells))
        ranks: list[Column | str] = ["word", Column("spread", "spread (%)", decimals=1), *names]
        return [*found, Table("Words the methods disagree on most, by rank", ranks, self.disagreements)]


def compare_methods(
    space: WordSpace,
    lexicon: Lexicon,
    *,
    methods: Sequence[str] = QUICK_METHODS,
    folds: int = 10,
    random_state: int = 0,
    n_words: int = 20,
    scale: str | None = None,
    groups: Groups = None,
    progress: Progress | None = None,
) -> MethodComparison:
    """Return how methods do on one concept: held-out τ, angles between their axes, words they disagree on.

    A method that fails says why in its row; the others go on. Methods for two classes learn scores split at their
    median, as in the paper, and are measured on the scores.

    Parameters
    ----------
    space : WordSpace
    lexicon : Lexicon
        The seeds.
    methods : sequence of str
        Names of methods; :data:`densray.axes.COMPARABLE` has all.
    folds : int, default=10
        Of the cross-validation, the same for all methods; fewer where the seeds are few.
    random_state : int, default=0
        Draws the folds and the resamples of the intervals.
    n_words : int, default=20
        How many words are named that the methods disagree on.
    scale : {None, "columns"}
        Whether axes are found in columns divided by their standard deviations.
    groups : mapping, sequence or "proposed", optional
        Which seeds are held out together, as for :func:`densray.axes.diagnose`.
    progress : callable, optional
        Called with the folds done and their number, over all methods.

    Examples
    --------
    >>> angles = np.linspace(0, np.pi, 9)
    >>> space = WordSpace(list("abcdefghi"), np.column_stack([np.cos(angles), np.sin(angles)]))
    >>> lexicon = Lexicon({"a": 1, "b": 1, "h": -1, "i": -1})
    >>> compare_methods(space, lexicon, methods=["mean-difference", "ridge"]).trial("ridge").tau.__round__(3)
    0.816
    """
    started = Provenance.begin(seed=random_state)
    chosen = check_methods(methods)
    seeds = find_seeds(space, lexicon, DEFAULTS.changed(groups=groups))
    n_folds = count_folds(seeds, folds)
    steps = [n_folds * place for place in range(len(chosen) + 1)]
    trials = [
        try_method(space, seeds, method, folds=folds, random_state=random_state, scale=scale,
                   progress=part_of(progress, start, stop, steps[-1]))
        for method, (start, stop) in zip(chosen, pairwise(steps), strict=True)
    ]  # fmt: skip
    found = compare_trials(space, lexicon, seeds, trials, random_state=random_state, n_words=n_words)
    whole = started.finish()
    return replace(found, provenance=replace(found.provenance, started=whole.started, seconds=whole.seconds))


def compare_trials(
    space: WordSpace,
    lexicon: Lexicon,
    seeds: Alignment,
    trials: Sequence[MethodTrial | FailedTrial],
    *,
    random_state: int = 0,
    n_words: int = 20,
) -> MethodComparison:
    """Return trials of one concept beside each other; its seconds are those of the trials.

    Parameters
    ----------
    space : WordSpace
    lexicon : Lexicon
    seeds : Alignment
        Those of the lexicon in the space.
    trials : sequence of MethodTrial and FailedTrial
        What :func:`densray.axes.try_method` returned, for the same folds.
    random_state : int, default=0
        The seed they were made with.
    n_words : int, default=20
        How many words are named that the methods disagree on.
    """
    started = Provenance.begin(seed=random_state)
    found = found_trials(trials)
    axes = {trial.method: trial.axis for trial in found}
    degrees = {frozenset(pair): float(degrees_between(axes[pair[0]], axes[pair[1]])) for pair in combinations(axes, 2)}
    angles = [
        {"first": one, "second": other, "degrees": degrees.get(frozenset((one, other)), 0.0)}
        for one in axes
        for other in axes
    ]
    provenance = started.finish(
        inputs=[Input.of("space", space), Input.of("lexicon", lexicon)],
        used=seeds.n_words,
        missing=seeds.missing,
        set_aside=seeds.set_aside,
        method=", ".join(trial.method for trial in trials),
    )
    provenance = replace(provenance, seconds=sum(trial.total_seconds for trial in trials))
    words = _disagreements(found, n_words)
    return MethodComparison(
        lexicon.name,
        seeds.n_words,
        tuple(trials),
        angles,
        words,
        None if seeds.groups is None else len(seeds.members),
        seeds.proposal,
        provenance=provenance,
    )


def _disagreements(trials: Sequence[MethodTrial], n_words: int) -> list[dict[str, Any]]:
    """Return the words whose percentiles vary most from method to method."""
    if len(trials) < 2:
        return []
    total, squares = np.zeros((2, len(trials[0].ranking.words)))
    # one column at a time: a large vocabulary by a dozen methods need not lie side by side
    for trial in trials:
        centred = trial.ranking.percentile - 50.0
        total += centred
        squares += centred * centred
    spread = np.sqrt(np.maximum(squares / len(trials) - (total / len(trials)) ** 2, 0.0))
    most = np.argsort(-spread, kind="stable")[:n_words].tolist()
    words = trials[0].ranking.words
    return [
        {"word": words[row], "spread": float(spread[row]),
         **{trial.method: int(trial.ranking.rank[row]) for trial in trials}}
        for row in most
    ]  # fmt: skip
