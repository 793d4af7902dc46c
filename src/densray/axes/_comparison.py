"""Compare methods on held-out words of one lexicon."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from densray._threads import run_in_thread
from densray.axes._axis import Axis
from densray.axes._diagnosis import inputs_of
from densray.axes._evidence import degrees_between
from densray.axes._induction import Induction, rank_words
from densray.axes._lexicon_evaluation import check_methods
from densray.axes._options import DEFAULTS
from densray.axes._protocol import HeldOutTau, measure_tau, say_ceiling
from densray.axes._tasks import find_rows
from densray.axes._views import AxisChange, axis_change, standardized
from densray.errors import DensRayError, TaskError, suggest
from densray.folds import count_folds, draw_folds
from densray.groups import GroupProposal, WordForms
from densray.lexicon import Groups, Lexicon
from densray.progress import Progress, part_of
from densray.report import Column, Provenance, Result, Table, best_cells, show_estimate
from densray.rotations import METHODS
from densray.rows import Rows
from densray.space import WordSpace
from densray.statistics import HELD_OUT_INFLATION

#: All methods except aliases, slow ones last.
COMPARABLE = tuple(
    sorted(
        (name for name, method in METHODS.items() if not method.stands_for),
        key=lambda name: -(METHODS[name].slow_from or math.inf),
    )
)
#: Methods that take about a second for thousands of seeds.
QUICK_METHODS = ("ridge", "mean-difference", "densray", "logistic", "densray-unit", "svm")

_RESAMPLES = 500


@dataclass(frozen=True)
class FailedMethod:
    """A method that found no axis, with the reason."""

    method: str
    problem: str
    total_seconds: float = field(default=0.0, compare=False, metadata={"report": False})


@dataclass(frozen=True, kw_only=True)
class MethodTrial(HeldOutTau):
    """One method on one concept: its axis, and how well it orders held-out seeds.

    Attributes
    ----------
    auc, auc_low, auc_high : float
        Held-out AUC with its 95% interval, as :func:`densray.axes.diagnose` gives it.
    total_seconds : float
        Time of the fit on all seeds, of the cross-validation and of the interval.
    split : bool
        Whether scores were split at their median, for a two-class method.
    axis : Axis
    """

    auc: float
    auc_low: float
    auc_high: float
    total_seconds: float = field(compare=False, metadata={"report": False})
    split: bool
    axis: Axis = field(repr=False, compare=False, metadata={"report": False})

    @cached_property
    def ranking(self) -> Induction:
        """The vocabulary ranked along the axis."""
        return rank_words(self.axis, self.axis.known_rows.background)


def try_method(
    rows: Rows,
    method: str,
    *,
    folds: int = 10,
    random_state: int = 0,
    standardize: bool = False,
    progress: Progress | None = None,
) -> MethodTrial | FailedMethod:
    """Cross-validate one method on labelled rows. If a known method fails, the error is returned, not raised.

    Parameters
    ----------
    rows : Rows
    method : str
    folds : int, default=10
        Number of cross-validation folds. Fewer are used if there are few rows.
    random_state : int, default=0
        Seed for the folds and the resamples of the interval.
    standardize : bool, default=False
        Whether columns are standardised.
    progress : callable, optional
        Called with the folds done and their number.
    """
    check_methods([method])
    rows = rows.held_together(normalize=DEFAULTS.normalize)
    # all methods share the folds; too few rows are an error, whatever the method
    numbers = draw_folds(rows, folds, random_state)
    return run_in_thread(lambda: _try_method(rows, method, folds, numbers, random_state, standardize, progress))


def _try_method(
    rows: Rows,
    method: str,
    folds: int,
    numbers: NDArray[np.int64],
    random_state: int,
    standardize: bool,
    progress: Progress | None,
) -> MethodTrial | FailedMethod:
    split = METHODS[method].classes_only and not rows.is_binary
    options = DEFAULTS.changed(folds=folds, random_state=random_state, standardize=standardize)
    start = time.perf_counter()
    try:
        axis = Axis.fit(rows.binarized() if split else rows, method, options=options)
        seconds = time.perf_counter() - start
        axis.folds = numbers
        axis.agreements(1, progress=progress)
        agreement = axis.agreement
        figures = measure_tau(
            rows.targets,
            axis.held_out,
            n_resamples=_RESAMPLES,
            random_state=random_state,
            inflation=HELD_OUT_INFLATION,
            groups=rows.groups,
        )
    except DensRayError as error:
        return FailedMethod(method, str(error), time.perf_counter() - start)
    total = time.perf_counter() - start
    figures |= dict(zip(("auc", "auc_low", "auc_high"), (agreement.auc, *agreement.auc_interval), strict=True))
    return MethodTrial(method=method, seconds=seconds, total_seconds=total, split=split, axis=axis, **figures)


def found_trials(trials: Sequence[MethodTrial | FailedMethod]) -> tuple[MethodTrial, ...]:
    """Return the trials that found an axis, the highest τ first; of equal ones, the default method."""
    worked = (trial for trial in trials if isinstance(trial, MethodTrial))
    usual = METHODS["auto"].stands_for
    return tuple(sorted(worked, key=lambda trial: (-trial.tau, trial.method != usual)))


def trial_rows(trials: Sequence[MethodTrial | FailedMethod]) -> list[dict[str, Any]]:
    """Return one row per trial: AUC and τ with intervals, the lag of τ behind the best, seconds, remarks.

    The highest AUC comes first; if they are equal to three decimals, the recommended method. Methods that found no axis
    come last.
    """
    best, recommended = found_trials(trials)[:1], recommended_method(trials)
    rows = [
        _row(trial, best[0]) if isinstance(trial, MethodTrial) else {"method": trial.method, "remark": trial.problem}
        for trial in trials
    ]
    return sorted(rows, key=lambda row: (-round(row.get("auc", -1.0), 3), row["method"] != recommended))


def method_verdict(trials: Sequence[MethodTrial | FailedMethod]) -> str:
    """Return a recommendation: which method to use, which one is best, and whether its lead is beyond chance.

    A lead is beyond chance if the 95% interval of the paired difference of τ lies above 0. Methods within chance of
    the best count as equal; among them, the recommended one is preferred.
    """
    worked = found_trials(trials)
    if not worked:
        return "No method found an axis: see the remarks."
    best, others = worked[0], worked[1:]
    figure = _best_figure(worked)
    if best.auc_low <= 0.5:
        subject = (
            f"No method ({best.method} is the best) clearly ranks" if others else f"{best.method} does not clearly rank"
        )
        return f"{subject} held-out words better than chance ({figure}): check the seeds, or add more."
    if not others:
        return f"{best.method} ranks held-out words with {figure}: add a second method to compare."
    return f"Use {_give_advice(worked, figure)}."


def recommended_method(trials: Sequence[MethodTrial | FailedMethod]) -> str | None:
    """Return the method that :func:`method_verdict` recommends; None if no method found an axis."""
    worked = found_trials(trials)
    if not worked:
        return None
    best, usual = worked[0].method, METHODS["auto"].stands_for
    return usual if usual in (best, *_level_with_best(worked)) else best


def _level_with_best(worked: Sequence[MethodTrial]) -> list[str]:
    """Return the methods whose distance from the best one is within chance."""
    best, *others = worked
    return [trial.method for trial in others if best.ahead_of(trial)[1] <= 0]


def _give_advice(worked: Sequence[MethodTrial], figure: str) -> str:
    """Return the recommended method with the reason."""
    best, *others = worked
    level, usual, recommended = _level_with_best(worked), METHODS["auto"].stands_for, recommended_method(worked)
    advised = f"{usual}, the default" if recommended == usual else best.method
    if all(trial.tau == best.tau for trial in others):
        methods = "both methods" if len(others) == 1 else f"all {len(others) + 1} methods"
        return f"{advised}: {methods} rank held-out words equally well ({figure})"
    if usual in level:
        return f"{advised}: {best.method} ranks held-out words best ({figure}), but its lead over {usual} may be chance"
    if level:
        rivals = "every other method" if len(level) == len(others) > 1 else _join_names(level)
        return f"{advised}: it ranks held-out words best ({figure}), but its lead over {rivals} may be chance"
    rivals = others[0].method if len(others) == 1 else "every other method"
    return f"{advised}: it ranks held-out words best ({figure}), and its lead over {rivals} is beyond chance"


def _best_figure(worked: Sequence[MethodTrial]) -> str:
    """Return the AUC of the best trial with its interval, or its τ if another trial has a higher AUC."""
    best = worked[0]
    if best.auc == max(trial.auc for trial in worked):
        return f"AUC {show_estimate(best.auc, best.auc_low, best.auc_high)}"
    return f"τ {show_estimate(best.tau, best.tau_low, best.tau_high)}"


def _join_names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _row(trial: MethodTrial, best: MethodTrial) -> dict[str, Any]:
    keys = ("method", "auc", "auc_low", "auc_high", "tau", "tau_low", "tau_high", "seconds")
    row = {key: getattr(trial, key) for key in keys}
    row |= dict(zip(("behind", "behind_low", "behind_high"), best.ahead_of(trial), strict=True))
    return {**row, "remark": "learned scores split at their median" if trial.split else ""}


@dataclass(frozen=True)
class MethodComparison(Result):
    """Several methods on one concept.

    Attributes
    ----------
    lexicon : str
    n_seeds : int
    trials : tuple of MethodTrial and FailedMethod
        In the order of the trials.
    angles : list of dict
        `first`, `second` and the `degrees` between their axes, for all pairs of methods that worked (both orders, and
        each method with itself).
    disagreements : list of dict
        The words whose rank depends most on the method: `word`, `spread` (standard deviation of the percentile over
        methods) and the rank by each method.
    n_groups : int or None
        Number of groups; None if every seed is its own group.
    proposal : GroupProposal or None
        Seeds that should be held out together but were not.
    """

    title: ClassVar[str] = "Methods compared"

    lexicon: str
    n_seeds: int
    trials: tuple[MethodTrial | FailedMethod, ...]
    angles: list[dict[str, Any]]
    disagreements: list[dict[str, Any]]
    n_groups: int | None = None
    proposal: GroupProposal | None = None
    forms: WordForms | None = None

    @property
    def found(self) -> tuple[MethodTrial, ...]:
        """The trials that found an axis, the highest τ first; of equal ones, the default method."""
        return found_trials(self.trials)

    def text(self) -> str:
        """Return the recommendation of :func:`method_verdict`."""
        return method_verdict(self.trials)

    def trial(self, method: str) -> MethodTrial:
        """Return the trial of a method that found an axis."""
        names = {trial.method: trial for trial in self.found}
        if method not in names:
            raise TaskError(f"'{method}' is not one of the methods that found an axis. {suggest(method, list(names))}")
        return names[method]

    def between(self, first: str, second: str, *, n_words: int = 10) -> AxisChange:
        """Return how the order changes from the first method to the second."""
        one, other = self.trial(first), self.trial(second)
        return axis_change(one.ranking, other.ranking, n_words=n_words)

    def agreement(self, first: str, second: str, *, n_words: int = 1000, n_apart: int = 20) -> list[dict[str, Any]]:
        """Return words with their standardised scores by two methods, as `agreement_scatter` plots them.

        These are the first `n_words` of the vocabulary, usually the most frequent ones, and the `n_apart` words with
        the largest differences in each direction.
        """
        scores = [standardized(self.trial(method).ranking.scores.score) for method in (first, second)]
        order = np.argsort(scores[1] - scores[0], kind="stable")
        rows = dict.fromkeys([*order[:n_apart].tolist(), *order[::-1][:n_apart].tolist(), *range(n_words)])
        words = self.trial(first).ranking.words
        word_rows = [row for row in rows if row < len(words)]
        return [
            {"word": words[row], "first": float(scores[0][row]), "second": float(scores[1][row])} for row in word_rows
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of :func:`trial_rows`, one per method, the highest AUC first."""
        return trial_rows(self.trials)

    def tables(self) -> list[Table]:
        """Return the methods, the angles between them, and the words they disagree on."""
        rows, names = self.rows(), [trial.method for trial in self.found]
        numbers = {
            "auc": "AUC",
            "auc_low": "low",
            "auc_high": "high",
            "tau": "τ",
            "behind": "behind the best",
            "behind_low": "at least",
            "behind_high": "at most",
        }
        columns: list[Column | str] = ["method", *(Column(key, name, decimals=3) for key, name in numbers.items())]
        columns += [Column("seconds", decimals=2), Column("remark", "")]
        units, alone = ("seeds", "it") if self.n_groups is None else (f"{self.n_groups:,} groups", "its group")
        notes = [
            f"AUC and τ over {self.n_seeds:,} seeds, each scored by an axis found without {alone}; "
            "the same folds for all methods. Intervals (95%) of the AUC are those of diagnose.",
            *(say_ceiling(trial.tau_ceiling) for trial in self.found[:1]),
            f"Behind the best in τ, with the 95% interval of a paired bootstrap over {units}: "
            "at least above 0 is beyond chance.",
            *(each.line for each in (self.forms, self.proposal) if each is not None),
        ]
        best = best_cells(rows, ["auc", "tau"], within="column")
        tables = [Table(f"{self.lexicon}: held-out AUC and τ", columns, rows, notes, best)]
        if len(names) < 2:
            return tables
        degrees = {(row["first"], row["second"]): row["degrees"] for row in self.angles}
        cells = [{"method": one, **{other: degrees[one, other] for other in names}} for one in names]
        tables.append(Table("Angle between axes (°)", ["method", *(Column(name, decimals=1) for name in names)], cells))
        ranks: list[Column | str] = ["word", Column("spread", "spread (%)", decimals=1), *names]
        return [*tables, Table("Words the methods disagree on most, by rank", ranks, self.disagreements)]


def compare_methods(
    space: WordSpace,
    lexicon: Lexicon,
    *,
    methods: Sequence[str] = QUICK_METHODS,
    folds: int = 10,
    random_state: int = 0,
    n_words: int = 20,
    standardize: bool = False,
    groups: Groups = "forms",
    progress: Progress | None = None,
) -> MethodComparison:
    """Compare methods on one concept: held-out AUC and τ, angles between their axes, words they disagree on.

    If a method fails, its row gives the reason, and the comparison continues. If the labels are scores, methods for two
    classes are trained on scores split at the median, as in the paper, and tested on the original scores.

    Parameters
    ----------
    space : WordSpace
    lexicon : Lexicon
        The seeds.
    methods : sequence of str
        Names of methods; :data:`densray.axes.COMPARABLE` lists all.
    folds : int, default=10
        Number of cross-validation folds, the same for all methods; fewer are used if there are few seeds.
    random_state : int, default=0
        Random seed for the folds and the resamples of the intervals.
    n_words : int, default=20
        How many disputed words to list.
    standardize : bool, default=False
        Whether to divide columns by their standard deviations before fitting.
    groups : mapping, sequence, "forms", "proposed" or None, default="forms"
        Which seeds are held out together, as for :func:`densray.axes.diagnose`.
    progress : callable, optional
        Called with the number of folds done and their total, over all methods.

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
    rows = find_rows(space, lexicon, DEFAULTS.changed(groups=groups)).held_together(normalize=DEFAULTS.normalize)
    n_folds = count_folds(rows, folds)
    steps = [n_folds * place for place in range(len(chosen) + 1)]
    trials = [
        try_method(rows, method, folds=folds, random_state=random_state, standardize=standardize,
                   progress=part_of(progress, start, stop, steps[-1]))
        for method, (start, stop) in zip(chosen, pairwise(steps), strict=True)
    ]  # fmt: skip
    comparison = compare_trials(rows, trials, random_state=random_state, n_words=n_words)
    return replace(comparison, provenance=comparison.provenance.since(started))


def compare_trials(
    rows: Rows, trials: Sequence[MethodTrial | FailedMethod], *, random_state: int = 0, n_words: int = 20
) -> MethodComparison:
    """Return a comparison of trials on one concept. Its time is the total time of the trials.

    Parameters
    ----------
    rows : Rows
        The labelled words of a space.
    trials : sequence of MethodTrial and FailedMethod
        Results of :func:`densray.axes.try_method` on these rows.
    random_state : int, default=0
        The random seed of the trials.
    n_words : int, default=20
        Number of words to list that methods disagree on.
    """
    started = Provenance.begin(seed=random_state)
    rows = rows.held_together(normalize=DEFAULTS.normalize)
    worked = found_trials(trials)
    axes = {trial.method: trial.axis.direction for trial in worked}
    degrees = {frozenset(pair): float(degrees_between(axes[pair[0]], axes[pair[1]])) for pair in combinations(axes, 2)}
    angles = [
        {"first": one, "second": other, "degrees": degrees.get(frozenset((one, other)), 0.0)}
        for one in axes
        for other in axes
    ]
    provenance = started.finish(
        inputs=inputs_of(rows),
        used=len(rows),
        missing=rows.missing,
        set_aside=rows.set_aside,
        method=", ".join(trial.method for trial in trials),
    )
    provenance = replace(provenance, seconds=sum(trial.total_seconds for trial in trials))
    return MethodComparison(
        rows.concept,
        len(rows),
        tuple(trials),
        angles,
        _disagreements(worked, n_words),
        None if rows.groups is None else rows.n_groups,
        rows.proposal,
        rows.forms,
        provenance=provenance,
    )


def _disagreements(trials: Sequence[MethodTrial], n_words: int) -> list[dict[str, Any]]:
    """Return the words whose percentiles vary most from method to method."""
    if len(trials) < 2:
        return []
    total, squares = np.zeros((2, len(trials[0].ranking.words)))
    # one column at a time, to save memory for a large vocabulary and many methods
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
