"""The diagnosis of an axis, and the verdict drawn from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from densray.alignment import GroupProposal
from densray.axes._evidence import OUTLYING_LENGTH, NearMiss, OutlyingRow, PairConsistency, VocabularySpread
from densray.axes._model import AxisModel
from densray.axes._permutation import PermutationTest
from densray.axes._resampling import SeedAngle
from densray.errors import shorten
from densray.metrics import Interval
from densray.report import Column, Result, Table, show_count, show_estimate, show_number, show_p, show_share
from densray.rotations import DensRay, Rotation

#: From worst to best.
GRADES = ("none", "weak", "fair", "good")

SIGNIFICANT_P = 0.05
GOOD_SHARE, FAIR_SHARE = 0.8, 0.7


#: More seeds than so many times those there are is no advice: other words are needed.
MOST_TIMES = 10.0
#: So few seeds that they cannot say whether more would do.
FEW_SEEDS = 20


@dataclass(frozen=True)
class Verdict:
    """The grade of an axis, what limits it, all figures in a line, and a sentence with what to do.

    Attributes
    ----------
    grade : str
        "good", "fair", "weak" or "none".
    limits : tuple of str
        Why it is no better.
    line : str
        The grade with its figures.
    sentence : str
        The grade in plain words, with advice: what terminal, reports and explorer show first.
    """

    grade: str
    limits: tuple[str, ...]
    line: str
    sentence: str = ""


def judge(
    *,
    auc: float,
    auc_low: float,
    auc_high: float,
    p_value: float | None,
    reliability: float,
    seed_angle: float,
    n_high: int,
    n_low: int,
    contradicting: Sequence[str] = (),
) -> Verdict:
    """Return the verdict on an axis from its held-out AUC, permutation p, reliability and seed angle (degrees).

    Where no permutation test was made (``p_value=None``) the other two answers decide, and the line says so. The advice
    comes from the number of seeds of either side and from those that score on the wrong side when left out.

    >>> seeds = {"n_high": 7, "n_low": 7, "seed_angle": 12.3, "p_value": 0.004}
    >>> judge(auc=0.91, auc_low=0.88, auc_high=0.93, reliability=0.9, **seeds).line
    'Trust: good: held-out AUC 0.91 [0.88, 0.93], permutation p = 0.004, reliability 0.90, seed angle 12°.'
    >>> judge(auc=0.95, auc_low=0.88, auc_high=1.0, reliability=0.6, contradicting=["correct"], **seeds).sentence
    'Trust: weak: 14 seeds; other seeds would keep 60% of the differences between words; add about 10 more; “correct” \
pulls the other way.'
    """
    turned = auc_high < 0.5
    chance = (
        "unseen words lie on the wrong side, as where the lists were made alike by erasing what they differ in"
        if turned
        else "shuffled labels do as well"
    )
    marks = {
        chance: "none" if p_value is not None and p_value > SIGNIFICANT_P else "good",
        (
            f"it may order no more than {show_number(100 * auc_low, 0)} of 100 pairs of unseen words correctly"
            if auc_low > 0.5
            else "it may order unseen words no better than chance"
        ): _grade(auc_low),
        f"other seeds would keep {show_share(reliability)} of the differences between words": _grade(reliability),
    }
    grade = min(marks.values(), key=GRADES.index)
    limits = tuple(reason for reason, mark in marks.items() if mark == grade and grade != GRADES[-1])
    test = "no permutation test" if p_value is None else f"permutation {show_p(p_value)}"
    figures = (
        f"held-out AUC {show_estimate(auc, auc_low, auc_high, 2)}, {test}, "
        f"reliability {show_number(reliability, 2)}, seed angle {show_number(seed_angle, 0)}°"
    )
    why = f" ({'; '.join(limits)})" if limits else ""
    said = [f"{n_high + n_low:,} seeds", *limits]
    if grade == GRADES[-1]:
        said.append(f"it orders {show_number(100 * auc, 0)} of 100 pairs of unseen words correctly")
    elif not turned:  # no words to add, and none to blame
        wanted = GOOD_SHARE if grade == "fair" else FAIR_SHARE
        times = seeds_wanted(auc, auc_low, reliability, wanted) if grade != "none" else None
        said += [_say_more(n_high, n_low, times), *_say_contradictions(contradicting)]
    return Verdict(grade, limits, f"Trust: {grade}{why}: {figures}.", f"Trust: {grade}: {'; '.join(said)}.")


def seeds_wanted(auc: float, auc_low: float, reliability: float, wanted: float) -> float | None:
    r"""Return how many times the seeds there are would bring both figures to a share; None where no number would.

    The error variance of scores falls with the number of seeds, so that k times as many have the reliability
    :math:`r_k = k r / (1 + (k - 1) r)` (Spearman 1910, Brown 1910). The same error is part of the spread of either
    class, so that the distance of their means, in standard deviations, grows with :math:`\sqrt{r_k / r}`, and with it
    :math:`\Phi^{-1}` of the AUC; the interval of the AUC narrows with :math:`\sqrt{k}`.

    >>> seeds_wanted(0.95, 0.9, 0.5, 0.8)
    4.0
    >>> seeds_wanted(0.55, 0.3, 0.9, 0.8) is None
    True
    """
    from scipy.special import ndtr, ndtri

    if reliability <= 0.0:
        return None
    times = np.linspace(1.0, MOST_TIMES, 181)
    reliabilities = times * reliability / (1.0 + (times - 1.0) * reliability)
    risen = ndtr(ndtri(min(auc, 0.999)) * np.sqrt(reliabilities / reliability))
    enough = (reliabilities >= wanted - 1e-9) & (risen - (auc - auc_low) / np.sqrt(times) >= wanted)
    return float(times[np.argmax(enough)]) if enough.any() else None


def _say_more(n_high: int, n_low: int, times: float | None) -> str:
    """Return how many seeds to add, and at which end where one has less than half of the other."""
    n_seeds = n_high + n_low
    if times is None and n_seeds >= FEW_SEEDS:
        return "more words like them would not do: choose words that differ in nothing else"
    more = FEW_SEEDS - n_seeds if times is None else n_seeds * (times - 1.0)
    step = 10 if more < 100 else 100
    fewer = "high" if 2 * n_high < n_low else "low" if 2 * n_low < n_high else None
    where = f", first at the {fewer} end" if fewer else ""
    return f"add about {max(math.ceil(more / step), 1) * step:,} more{where}"


def _say_contradictions(words: Sequence[str]) -> list[str]:
    if not words:
        return []
    if len(words) <= 2:
        verb = "pulls" if len(words) == 1 else "pull"
        return [f"{' and '.join(f'“{word}”' for word in words)} {verb} the other way"]
    return [f"{len(words):,} seeds pull the other way, “{words[0]}” most clearly"]


def _grade(value: float) -> str:
    return "good" if value >= GOOD_SHARE else "fair" if value >= FAIR_SHARE else "weak"


@dataclass(frozen=True)
class Agreement:
    """Held-out agreement of one axis with the labels; the interval is that of 95%, over seeds."""

    axis: int
    auc: float
    auc_interval: Interval
    tau: float


@dataclass(frozen=True)
class Diagnosis(Result):
    """How far an axis can be trusted.

    Attributes
    ----------
    verdict : Verdict
    method, lexicon : str
    n_seeds, n_high, n_low : int
        Alignment found; those of the higher class, or above the median score.
    labels : str
        "classes" or "scores".
    folds : int
    axes : list of Agreement
        Held-out agreement of the leading axes; the first is the concept.
    tau_interval : Interval
        Of the first axis, 95%.
    n_signal_axes : int
        Leading axes whose AUC is above 0.5 beyond its interval.
    permutation : PermutationTest
    seed_angle : SeedAngle
    vocabulary : VocabularySpread
    eigenvalues : list of float or None
        The ten largest, for methods that have them.
    eigenvalue_gap : float or None
        What the first eigenvalue is ahead of the second, as a share of it.
    pairs : PairConsistency or None
    influence : str
        How the axes without each seed were found.
    seeds : list of dict
        Each seed with its label, held-out score (a coordinate on the axis, as `induce` gives it), the probability of
        its own side (`agreement`) and the angle its removal turns the axis (`influence`, degrees); the most
        influential first.
    contradictions : list of dict
        The seeds that score on the wrong side when left out, the clearest first.
    coverage : float
        The share of the lexicon that is in the space.
    near_misses : list of NearMiss
        Words missing, and what the space has instead.
    n_groups : int or None
        Groups that were held out whole; None where every seed stood alone.
    proposal : GroupProposal or None
        Seeds that should be held out together and were not.
    outlying : list of OutlyingRow
        Seeds whose vectors are more than five times as long as the median one.
    label_names : pair of str or None
        What the low and the high end are called.
    """

    title = "How far the axis can be trusted"

    verdict: Verdict
    method: str
    lexicon: str
    n_seeds: int
    n_high: int
    n_low: int
    labels: str
    folds: int
    axes: list[Agreement]
    tau_interval: Interval
    n_signal_axes: int
    permutation: PermutationTest
    seed_angle: SeedAngle
    vocabulary: VocabularySpread
    eigenvalues: list[float] | None
    eigenvalue_gap: float | None
    pairs: PairConsistency | None
    influence: str
    seeds: list[dict[str, Any]]
    contradictions: list[dict[str, Any]]
    coverage: float
    near_misses: list[NearMiss]
    n_groups: int | None
    proposal: GroupProposal | None
    outlying: list[OutlyingRow]
    rotation: Rotation = field(repr=False, metadata={"report": False})
    model: AxisModel = field(repr=False, metadata={"report": False})
    label_names: tuple[str, str] | None = None

    def tables(self) -> list[Table]:
        """Return the figures behind the verdict, the seeds that matter, and the words missing."""
        together = [] if self.proposal is None else [self.proposal.line]
        notes = [*together, *self._outlying_notes()]
        tables = [Table("The figures behind it", ["figure", "value", "meaning"], self._figures(), notes)]
        seed_columns: list[Column | str] = [
            "word",
            Column("label"),
            Column("score", "held-out score", decimals=3),
            Column("agreement", "probability of its label", decimals=3),
            Column("influence", "turns the axis by (°)", decimals=2),
        ]
        title = f"Seeds that move the axis most ({self.influence})"
        moving = self.influential[:10]
        others = [row for row in self.contradictions if row not in moving]
        contradicting, above = len(self.contradictions), len(self.contradictions) - len(others)
        verb = "contradicts the rest: its" if contradicting == 1 else "contradict the rest: their"
        said = f"{contradicting:,} of {self.n_seeds:,} seeds {verb} label has a probability below 0.5"
        among = f"; {above} of them {'is' if above == 1 else 'are'} in this table" if others and above else ""
        notes = [f"{said}{among}."] if contradicting else []
        tables.append(Table(title, seed_columns, moving, [*notes, *self._score_notes()]))
        if others:
            title = f"{'Other seeds' if above else 'Seeds'} that contradict the rest, the clearest first"
            tables.append(Table(title, seed_columns, others[:10]))
        if self.near_misses:
            rows = [{"missing": m.word, "in the space": m.found, "difference": m.difference} for m in self.near_misses]
            title = f"Missing words the space may have otherwise: {len(rows)}"
            tables.append(Table(title, ["missing", "in the space", "difference"], rows[:10], self._case_notes()))
        return tables

    def text(self) -> str:
        """Return the verdict in plain words, with advice."""
        return self.verdict.sentence

    @property
    def influential(self) -> list[dict[str, Any]]:
        """The seeds whose influence is known, the greatest first: what `densray.figures.seed_influence` draws."""
        return [row for row in self.seeds if row["influence"] is not None]

    def _case_notes(self) -> list[str]:
        cased = sum(miss.difference == "case" for miss in self.near_misses)
        advice = "they are found where any case counts as the same"
        return [f"{cased} of them differ in case only: {advice}."] if cased else []

    def _outlying_notes(self) -> list[str]:
        if not self.outlying:
            return []
        count, most = len(self.outlying), 3
        named = ", ".join(f"{shorten(row.word)} ({show_number(row.times, 0)} times)" for row in self.outlying[:most])
        more = f" and {count - most:,} more" if count > most else ""
        what = "one seed has a vector" if count == 1 else f"{count:,} seeds have vectors"
        line = f"{what} more than {OUTLYING_LENGTH:g} times as long as the median: {named}{more}."
        unit = isinstance(self.rotation, DensRay) and self.rotation.normalize_differences
        advice = (
            "This method scales every difference to unit length and does not feel that."
            if unit
            else "It pulls the axis of any method that takes differences or means as they are. densray-unit scales "
            "every difference to unit length and does not feel it; or leave such seeds out."
        )
        return [f"{line[0].upper()}{line[1:]} {advice}"]

    def _score_notes(self) -> list[str]:
        even, notes = self.model.even_odds, []
        if self.labels == "scores":
            median = np.median([row["label"] for row in self.seeds])
            notes.append(f"Labels are split at their median, {median:g}: above it is the high side.")
        scale = "A score is a coordinate on the axis, as induce gives it"
        return [
            *notes,
            *([] if even is None else [f"{scale}; 0 is not neutral: even odds lie at {show_number(even)}."]),
        ]

    def _figures(self) -> list[dict[str, str]]:
        first, test, spread = self.axes[0], self.permutation, self.vocabulary
        low, high = self.label_names or ("lower", "higher")
        grouped = "" if self.n_groups is None else f"; left out in {self.n_groups} groups"
        rows = [
            ("seeds", show_count(self.n_seeds),
             f"{self.n_high:,} {high}, {self.n_low:,} {low}; {show_share(self.coverage)} found{grouped}"),
            (
                "held-out AUC",
                _with_interval(first.auc, first.auc_interval),
                f"an unseen {_pair_of(self.label_names)}",
            ),
            ("held-out τ", _with_interval(first.tau, self.tau_interval), f"Kendall τ-b with the {self.labels}"),
            ("permutation p", show_number(test.p_value, open_ends=True),
             f"{test.n_permutations:,} shuffles of {test.n_seeds:,} seeds"),
            ("seed angle", f"{show_number(self.seed_angle.upper, 1)}°", "from the average axis of sets of as many such "
             f"words, at most (95%); estimate {show_number(self.seed_angle.median, 1)}°"),
            ("reliability", show_number(spread.reliability), "of the vocabulary's scores, against other seeds"),
            ("standard error", show_number(spread.standard_error, 4), "median over the vocabulary"),
            ("variance", show_share(spread.variance_share, 2),
             f"of the space along the axis; even: {show_share(1 / self._width, 2)}"),
            ("signal axes", f"{self.n_signal_axes}", f"of the first {len(self.axes)} tell unseen words apart"),
        ]  # fmt: skip
        if self.eigenvalue_gap is not None:
            rows.append(("eigenvalue gap", show_number(self.eigenvalue_gap), "from the first to the second, relative"))
        if self.pairs is not None:
            pairs = self.pairs
            rows.append(
                ("pairs", show_number(pairs.parallelism), f"mean cosine of {pairs.n_pairs} differences (PairDir)")
            )
            alignment = show_number(pairs.alignment)
            rows.append(("pairs ordered", show_share(pairs.ordered), f"mean cosine with the axis {alignment}"))
        return [dict(zip(("figure", "value", "meaning"), row, strict=True)) for row in rows]

    @property
    def _width(self) -> int:
        return int(self.model.axis.size)


def _pair_of(label_names: tuple[str, str] | None) -> str:
    if label_names is None:
        return "higher word scores above a lower one"
    return f"word of “{label_names[1]}” scores above one of “{label_names[0]}”"


def _with_interval(value: float, interval: Interval) -> str:
    return show_estimate(value, interval.low, interval.high)
