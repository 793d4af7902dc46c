"""One method on one concept: how well it orders words it has not seen, and its axis."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray.errors import DensRayError
from densray.journal import Run
from densray.metrics import kendall_tau, percentile_interval, resampled_tau
from densray.rotations import METHODS
from densray.space import WordSpace
from densray.tasks.axis_model import AxisModel
from densray.tasks.held_out import count_folds, held_out_scores, stratified_folds
from densray.tasks.induction import Induction, score_vocabulary
from densray.tasks.lexicon_induction import check_methods
from densray.tasks.parallel import run_aside
from densray.tasks.seeds import Seeds, fitted
from densray.tasks.steps import Advance

__all__ = [
    "COMPARABLE",
    "QUICK_METHODS",
    "FailedTrial",
    "HeldOutAxis",
    "MethodTrial",
    "found_trials",
    "trial_rows",
    "try_method",
]

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


@dataclass(frozen=True)
class HeldOutAxis:
    """The axis a method finds, and how it orders seeds that it has not seen.

    Attributes
    ----------
    method : str
    tau : float
        Kendall's τ-b of the seeds' labels with the scores they get from axes found without them.
    tau_low, tau_high : float
        Its bootstrap interval over seeds.
    seconds : float
        Time of one fit on all seeds.
    total_seconds : float
        Time of everything: that fit, those without each fold, the interval.
    split : bool
        Whether scores were split at their median, for a method of two classes.
    axis : array of shape (d,)
    resamples : array
        τ of every bootstrap resample of the seeds, the same for all methods: what differences are paired by.
    """

    method: str
    tau: float
    tau_low: float
    tau_high: float
    seconds: float
    total_seconds: float = field(compare=False, metadata={"report": False})
    split: bool
    axis: NDArray[np.float64] = field(repr=False, metadata={"report": False})
    resamples: NDArray[np.float64] = field(repr=False, metadata={"report": False})


@dataclass(frozen=True)
class MethodTrial(HeldOutAxis):
    """One method on one concept: its axis, held out, and the vocabulary in its order (`ranking`)."""

    ranking: Induction = field(repr=False, metadata={"report": False})


@dataclass(frozen=True)
class FailedTrial:
    """A method that found no axis, why, and the time it took."""

    method: str
    problem: str
    total_seconds: float = field(default=0.0, compare=False, metadata={"report": False})


def try_method(
    space: WordSpace,
    seeds: Seeds,
    method: str,
    *,
    folds: int = 10,
    random_state: int = 0,
    advance: Advance | None = None,
    run: Run | None = None,
) -> MethodTrial | FailedTrial:
    """Return one method on the seeds of a concept; what goes wrong with a known method is returned, not raised.

    Parameters
    ----------
    space : WordSpace
    seeds : Seeds
    method : str
    folds : int, default=10
        Of the cross-validation; fewer where the seeds are few.
    random_state : int, default=0
        Draws the folds and the resamples of the interval.
    advance : callable, optional
        Called with the folds done and their number.
    run : Run, optional
        Of a journal: keeps what was found.
    """
    check_methods([method])
    numbers = stratified_folds(seeds, count_folds(seeds, folds), np.random.default_rng(random_state))
    find = partial(run_aside, lambda: _held_out(seeds, method, numbers, random_state, advance))
    found = find() if run is None else run.part(method, find, HeldOutAxis, FailedTrial)
    if isinstance(found, FailedTrial):
        return found
    return MethodTrial(
        **vars(found), ranking=score_vocabulary(space, AxisModel(found.axis), method=method, seeds=seeds)
    )


def _held_out(
    seeds: Seeds, method: str, folds: NDArray[np.int64], random_state: int, advance: Advance | None
) -> HeldOutAxis | FailedTrial:
    split = METHODS[method].classes_only and not seeds.binary
    learned = replace(seeds, y=seeds.sides) if split else seeds
    start = time.perf_counter()
    try:
        rotation = fitted(method, learned)
        seconds = time.perf_counter() - start
        scores = held_out_scores(rotation, learned, folds, advance=advance)[:, 0]
        resamples = resampled_tau(seeds.values, scores, n_resamples=_RESAMPLES, random_state=random_state)
        tau = kendall_tau(seeds.values, scores)
    except DensRayError as error:
        return FailedTrial(method, str(error), time.perf_counter() - start)
    ends, total = percentile_interval(resamples), time.perf_counter() - start
    return HeldOutAxis(method, tau, *ends, seconds, total, split, rotation.components_[0], resamples)


def found_trials(trials: Sequence[MethodTrial | FailedTrial]) -> tuple[MethodTrial, ...]:
    """Return the trials that gave an axis, the highest τ first."""
    worked = (trial for trial in trials if isinstance(trial, MethodTrial))
    return tuple(sorted(worked, key=lambda trial: -trial.tau))


def trial_rows(trials: Sequence[MethodTrial | FailedTrial]) -> list[dict[str, Any]]:
    """Return one row a trial: τ with its interval, by how much it is behind the best, seconds, remarks."""
    best = found_trials(trials)[:1]
    return [
        _row(trial, best[0]) if isinstance(trial, MethodTrial) else {"method": trial.method, "remark": trial.problem}
        for trial in trials
    ]


def _row(trial: MethodTrial, best: MethodTrial) -> dict[str, Any]:
    row = {key: getattr(trial, key) for key in ("method", "tau", "tau_low", "tau_high", "seconds")}
    ends = percentile_interval(best.resamples - trial.resamples)
    row |= {"behind": best.tau - trial.tau, "behind_low": ends.low, "behind_high": ends.high}
    return {**row, "remark": "learned scores split at their median" if trial.split else ""}
