"""The verdict: the grade of an axis with its reasons, and advice in one sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from densray.errors import one_line
from densray.report import show_estimate, show_number, show_p
from densray.statistics import HELD_OUT_INFLATION

#: From worst to best.
GRADES = ("none", "unclear", "weak", "fair", "good")

SIGNIFICANT_P = 0.05
GOOD_SHARE, FAIR_SHARE = 0.8, 0.7
#: An AUC and a reliability are shown with enough decimals to distinguish grades; an AUC of 0.5 is chance.
AUC_MARKS = (math.nextafter(0.5, 1.0), FAIR_SHARE, GOOD_SHARE)
RELIABILITY_MARKS = (FAIR_SHARE, GOOD_SHARE)


_PERCENTS = tuple(100 * mark for mark in AUC_MARKS)

#: If more than this multiple of the current seeds would be needed, the advice is to choose other seeds.
MOST_TIMES = 10.0
#: With fewer seeds, a p-value above 0.05 is not evidence against a concept, since the AUC may still be fair. For a real
#: concept, one in four sets of fifty seeds looks like chance, and one in 25 sets of seventy (docs/trust-details.md).
UNCLEAR_SEEDS = 70
#: Signal of a typical seed: reliability / (1 - reliability) of scores, over the number of seeds. The advice adds ten
#: typical seeds to the given ones. These and the next three numbers were chosen on seven lexicons;
#: docs/trust-details.md tests them on others.
TYPICAL_SIGNAL, TYPICAL_SEEDS = 0.018, 10
#: A typical AUC, weighted like that of this many seeds.
TYPICAL_AUC, TYPICAL_AUC_SEEDS = 0.9, 50
#: In four of five cases, this multiple of the seeds from the formulas is enough.
SAFE_FACTOR = 1.75
#: If the present seeds are not enough, advise at least this multiple of their number.
LEAST_TIMES = 1.1
#: Round numbers of seeds for the advice; larger numbers are ten times the last six.
ROUND_NUMBERS = (10, 20, 30, 40, 50, 70, 100, 150, 200, 300, 500, 700)


@dataclass(frozen=True)
class Verdict:
    """The grade of an axis, its reasons, all statistics in one line, and a sentence with advice.

    The grade measures how well the axis fits the labelled words. It does not tell whether people would agree;
    :func:`densray.evaluate_ratings` measures that. On the scales of docs/people.md, the grade did not predict it.

    Attributes
    ----------
    grade : str
        "good", "fair", "weak", "none", or "unclear" (too few seeds to tell).
    limits : tuple of str
        Reasons why the grade is not better.
    line : str
        The grade with its statistics.
    sentence : str
        The grade in plain words, with advice. The terminal, reports and the explorer show it first.
    """

    grade: str
    limits: tuple[str, ...]
    line: str
    sentence: str = ""

    @property
    def shown_grade(self) -> str:
        """The grade in the words of the sentence: "too few to tell" instead of "unclear"."""
        return show_grade(self.grade)


def judge(
    *,
    auc: float,
    auc_low: float,
    auc_high: float,
    p_value: float,
    reliability: float,
    reliability_low: float,
    reliability_high: float,
    seed_angle: float,
    n_high: int,
    n_low: int,
    contradicting: Sequence[str] = (),
    noun: str = "word",
    n_groups: int | None = None,
) -> Verdict:
    """Return the verdict on an axis from its held-out AUC, permutation p, reliability and seed angle (degrees).

    An axis is graded "none" or "unclear" if shuffled labels do as well, or if the interval of its AUC contains 0.5. All
    commands judge an axis here, by the same test, so their grades agree. The advice depends on the number of seeds on
    each side, and on seeds that score on the wrong side when they are left out. `noun` is what a row is called in the
    sentence, such as “word”. If there are at most half as many groups (`n_groups`) as rows, groups are counted instead
    of rows, because rows of one group (such as an author) are not independent.

    >>> seeds = {"n_high": 7, "n_low": 7, "seed_angle": 12.3, "p_value": 0.004}
    >>> steady = {"reliability": 0.9, "reliability_low": 0.84, "reliability_high": 0.94}
    >>> judge(auc=0.91, auc_low=0.88, auc_high=0.93, **steady, **seeds).line
    'Trust: good: held-out AUC 0.91 [0.88, 0.93], permutation p = 0.004, reliability 0.90 [0.84, 0.94], seed angle 12°.'
    >>> few, loose = {**seeds, "p_value": 0.2}, {"reliability": 0.4, "reliability_low": 0.0, "reliability_high": 0.7}
    >>> judge(auc=0.7, auc_low=0.4, auc_high=0.9, **loose, **few).sentence
    'Trust: too few to tell (14 seeds). Shuffled labels do as well, as they may with so few seeds. Add about 70 more \
seeds to tell.'
    >>> judge(auc=0.95, auc_low=0.88, auc_high=1.0, **loose, contradicting=["correct"], **seeds).sentence
    'Trust: weak (14 seeds). Scores from other seeds would correlate 0.40 (0.00 to 0.70) with these. Add 50 to 100 \
more seeds. “correct” contradicts the other seeds.'
    """
    is_reversed, n_seeds = auc_high < 0.5, n_high + n_low
    grouped = n_groups is not None and 2 * n_groups <= n_seeds
    n_draws, draws = (n_groups, "groups") if grouped and n_groups is not None else (n_seeds, "seeds")
    seeds = "seeds" if noun == "word" else f"labelled {noun}s"
    by_chance, at_random = p_value > SIGNIFICANT_P, auc_low <= 0.5
    failed = by_chance or at_random
    unclear = failed and n_draws < UNCLEAR_SEEDS and auc_high >= FAIR_SHARE
    chance = (
        f"unseen {noun}s lie on the wrong side, as happens after the difference between the lists was erased"
        if is_reversed
        else f"it may rank unseen {noun}s at random"
        if not by_chance
        else f"shuffled labels do as well, as they may with so few {draws}"
        if unclear
        else "shuffled labels do as well"
    )
    ordered = show_number(100 * auc_low, 0, marks=_PERCENTS)
    kept = show_number(reliability, 2, marks=RELIABILITY_MARKS)
    if math.isfinite(reliability_low):
        kept += f" ({show_number(reliability_low, 2)} to {show_number(reliability_high, 2)})"
    marks = {
        chance: "unclear" if unclear else "none" if failed else "good",
        f"it may order only {ordered} of 100 pairs of unseen {noun}s correctly": _grade(auc_low),
        f"scores from other {seeds} would correlate {kept} with these": _grade(reliability),
    }
    grade = min(marks.values(), key=GRADES.index)
    limits = tuple(reason for reason, mark in marks.items() if mark == grade and grade != GRADES[-1])
    figures = (
        f"held-out AUC {show_estimate(auc, auc_low, auc_high, 2, marks=AUC_MARKS)}, permutation {show_p(p_value)}, "
        f"reliability {show_reliability(reliability, reliability_low, reliability_high, 2)}, "
        f"seed angle {show_number(seed_angle, 0)}°"
    )
    reasons = f" ({'; '.join(limits)})" if limits else ""
    sentences, grade_name = list(limits), show_grade(grade)
    if grade == GRADES[-1]:
        sentences.append(f"it orders {show_number(100 * auc, 0, marks=[100])} of 100 pairs of unseen {noun}s correctly")
    elif not is_reversed:  # neither words to add nor words to blame
        target = GOOD_SHARE if grade == "fair" else FAIR_SHARE
        if grade == "unclear":
            more = f"add about {seeds_to_tell(n_draws)} more {draws} to tell{_say_where(n_high, n_low)}"
        elif grade == "none":
            more = f"more {noun}s like these would help little: {_say_others(noun)}"
        else:
            totals = seeds_wanted(n_draws, auc, reliability, target)
            where = "" if totals is None else _say_where(n_high, n_low)
            more = _say_more(totals, n_draws, draws, noun) + where
        sentences += [more, *_say_contradictions(contradicting)]
    sentence = " ".join(f"{part[0].upper()}{part[1:]}." for part in sentences)
    counts = f"{n_seeds:,} {seeds} in {n_groups:,} groups" if grouped else f"{n_seeds:,} {seeds}"
    sentence = f"Trust: {grade_name} ({counts}). {sentence}"
    return Verdict(grade, limits, f"Trust: {grade_name}{reasons}: {figures}.", sentence)


def show_grade(grade: str) -> str:
    """Return a grade in plain words.

    >>> show_grade("unclear"), show_grade("good")
    ('too few to tell', 'good')
    """
    return "too few to tell" if grade == "unclear" else grade


def show_reliability(value: float, low: float, high: float, decimals: int = 3) -> str:
    """Return a reliability with its interval, with enough decimals to distinguish grades.

    >>> show_reliability(0.7996, 0.7, 0.9), show_reliability(0.62, float("nan"), float("nan"), 2)
    ('0.7996 [0.700, 0.900]', '0.62')
    """
    estimate = show_number(value, decimals, marks=RELIABILITY_MARKS)
    if not math.isfinite(low + high):
        return estimate
    return f"{estimate} [{show_number(low, decimals)}, {show_number(high, decimals)}]"


def seeds_to_tell(n_seeds: int) -> int:
    """Return how many more seeds are needed to decide whether there is a concept.

    >>> seeds_to_tell(14), seeds_to_tell(42)
    (70, 30)
    """
    return next(step for step in ROUND_NUMBERS if step >= UNCLEAR_SEEDS - n_seeds)


def seeds_wanted(n_seeds: int, auc: float, reliability: float, wanted: float) -> tuple[float, float] | None:
    r"""Return the number of seeds that may bring AUC and reliability to a target, and one that does in 4 of 5 cases.

    The error variance of scores falls with the number of seeds, so :math:`\lambda = r / (1 - r)` grows with it
    (Spearman 1910, Brown 1910). A few seeds give a poor estimate of the signal per seed, :math:`\lambda / n`, so ten
    seeds of a typical signal are added as a prior. For the AUC, the lower end of the interval must reach the target;
    the number of seeds is that at which the interval is narrow enough (Hanley & McNeil 1982). The AUC rises with the
    reliability, since the same error is part of the spread of each class; 50 seeds of a typical AUC are added as a
    prior. The larger of the two numbers, and 1.75 times that number, are returned; None if it is more than ten times
    the present number.

    >>> likely, safe = seeds_wanted(40, 0.9, 0.5, 0.7)
    >>> round(likely), round(safe)
    (99, 173)
    >>> seeds_wanted(400, 0.55, 0.9, 0.8) is None
    True
    """
    from scipy.special import ndtr, ndtri

    signal = reliability / max(1.0 - reliability, 1e-9) + TYPICAL_SEEDS * TYPICAL_SIGNAL
    by_reliability = wanted / (1.0 - wanted) * (n_seeds + TYPICAL_SEEDS) / signal
    distance = ndtri(min(max(auc, 0.001), 0.999)) * math.sqrt(max(wanted / max(reliability, 0.2), 1.0))
    typical = TYPICAL_AUC_SEEDS * ndtri(TYPICAL_AUC)
    expected = float(ndtr((n_seeds * distance + typical) / (n_seeds + TYPICAL_AUC_SEEDS)))
    most = MOST_TIMES * max(n_seeds, UNCLEAR_SEEDS)  # few seeds are not evidence that more would not help
    totals = np.geomspace(4.0, most, 500)
    enough = _lower_end(expected, totals) >= wanted
    by_auc = float(totals[np.argmax(enough)]) if enough.any() else math.inf
    likely = max(by_reliability, by_auc, LEAST_TIMES * n_seeds)
    return None if likely > most else (likely, SAFE_FACTOR * likely)


def _lower_end(auc: float, n_seeds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lower end of the 95% interval of a held-out AUC from this number of seeds, half of them high."""
    from scipy.special import expit, logit
    from scipy.stats import t

    side = n_seeds / 2.0
    shared = auc / (2.0 - auc) + 2.0 * auc**2 / (1.0 + auc) - 2.0 * auc**2
    error = np.sqrt((auc * (1.0 - auc) + (side - 1.0) * shared) / side**2) * HELD_OUT_INFLATION
    return np.asarray(expit(logit(auc) - t.ppf(0.975, n_seeds - 2.0) * error / (auc * (1.0 - auc))))


def _say_more(totals: tuple[float, float] | None, n_draws: int, draws: str, noun: str) -> str:
    """Return the advice to add seeds, or groups of them: a number that may be enough, and one that should be."""
    if totals is None:
        return f"it would take more than ten times as many {noun}s like these: {_say_others(noun)}"
    low, high = (round_number(total - n_draws) for total in totals)
    number = f"about {low:,}" if low == high else f"{low:,} to {high:,}"
    return f"add {number} more {draws}"


def round_number(number: float) -> int:
    """Return the nearest round number of seeds, on a logarithmic scale.

    >>> [round_number(number) for number in (-3, 14, 15, 65, 130, 880, 2600)]
    [10, 10, 20, 70, 150, 1000, 3000]
    """
    steps = [*ROUND_NUMBERS, *(step * tens for tens in (10, 100, 1000, 10_000) for step in ROUND_NUMBERS[-6:])]
    return min(steps, key=lambda step: abs(math.log(step / max(number, 1.0))))


def _say_where(n_high: int, n_low: int) -> str:
    """Return at which end to add seeds, if it has less than half as many as the other."""
    fewer = "high" if 2 * n_high < n_low else "low" if 2 * n_low < n_high else None
    return f", first at the {fewer} end" if fewer else ""


def _say_others(noun: str) -> str:
    return f"choose {noun}s that differ in nothing else"


def _say_contradictions(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    words = [one_line(name) for name in names]
    if len(words) <= 2:
        verb = "contradicts" if len(words) == 1 else "contradict"
        return [f"{' and '.join(f'“{word}”' for word in words)} {verb} the other seeds"]
    return [f"{len(words):,} seeds contradict the rest, most strongly “{words[0]}”"]


def _grade(value: float) -> str:
    return "good" if value >= GOOD_SHARE else "fair" if value >= FAIR_SHARE else "weak"
