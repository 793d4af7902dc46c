"""Results of the analogy benchmark, and tests between two of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, wilcoxon

from densray.analogies import AnalogyCategory, AnalogyPair
from densray.analogy._pairs import BenchmarkProtocol, SkippedPair
from densray.errors import TaskError
from densray.report import Column, Result, Table, show_number


@dataclass(frozen=True)
class PairedTest:
    """Two solvers on the same pairs.

    Attributes
    ----------
    gained, lost
        Pairs that only the first, and only the second, gets right.
    difference, low, high
        Micro precision of the first less that of the second, with the 95% interval of a bootstrap over pairs.
    p_value
        McNemar's exact test: the chance of so uneven a split of the pairs they differ on, were both equally good.
    """

    pairs: int
    gained: int
    lost: int
    difference: float
    low: float
    high: float
    p_value: float


def compare_paired(
    first: AnalogyResult, second: AnalogyResult, *, n_resamples: int = 10_000, random_state: int = 0
) -> PairedTest:
    """Return how two results on the same set differ, pair by pair.

    Where a pair was asked several times (methods of one example), the side with the larger share is taken for right.
    """
    ours, theirs = first.hits, second.hits
    if first.analogies != second.analogies or len(ours) != len(theirs) or len(ours) == 0:
        raise TaskError(
            f"{len(ours)} pairs of '{first.analogies}' and {len(theirs)} of '{second.analogies}' cannot be paired. "
            "Compare two results on the same set and space."
        )
    difference = ours - theirs
    gained, lost = int(np.sum(difference > 0)), int(np.sum(difference < 0))
    random = np.random.default_rng(random_state)
    means = [float(random.choice(difference, size=len(difference)).mean()) for _ in range(n_resamples)]
    low, high = np.quantile(means, [0.025, 0.975])
    p_value = float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    return PairedTest(len(ours), gained, lost, float(difference.mean()), float(low), float(high), p_value)


@dataclass(frozen=True)
class CategoryTest:
    """Two solvers on the same categories, each of which is one observation.

    Pairs of one category succeed and fail together, so that tests over pairs (`PairedTest`) take a difference for surer
    than it is.

    Attributes
    ----------
    up, down
        Categories in which the first, and the second, has the higher precision.
    difference, low, high
        Micro precision of the first less that of the second, with the 95% interval of a bootstrap over categories.
    p_value
        Wilcoxon's signed-rank test of the differences in precision; 1 where no category differs.
    """

    categories: int
    pairs: int
    up: int
    down: int
    difference: float
    low: float
    high: float
    p_value: float


def compare_categories(
    first: AnalogyResult,
    second: AnalogyResult,
    *,
    at_least: int = 2,
    names: Collection[str] | None = None,
    n_resamples: int = 10_000,
    random_state: int = 0,
) -> CategoryTest:
    """Return how two results on the same set differ, category by category.

    Parameters
    ----------
    first, second : AnalogyResult
    at_least : int
        Usable pairs a category needs to count.
    names : collection of str, optional
        The categories that count; all by default.
    n_resamples, random_state : int
        Of the bootstrap.
    """
    ours, theirs = (_counted(one, at_least, names) for one in (first, second))
    sizes = [one.pairs for one in ours]
    if first.analogies != second.analogies or sizes != [one.pairs for one in theirs] or not sizes:
        raise TaskError(
            f"{len(ours)} categories of '{first.analogies}' and {len(theirs)} of '{second.analogies}' cannot be "
            "paired. Compare two results on the same set and space."
        )
    weights = np.array(sizes, dtype=float)
    change = np.array(
        [(one.precision or 0.0) - (other.precision or 0.0) for one, other in zip(ours, theirs, strict=True)]
    )
    random = np.random.default_rng(random_state)
    drawn = random.integers(len(sizes), size=(n_resamples, len(sizes)))
    low, high = np.quantile((change * weights)[drawn].sum(axis=1) / weights[drawn].sum(axis=1), [0.025, 0.975])
    return CategoryTest(
        len(sizes),
        sum(sizes),
        int(np.sum(change > 0)),
        int(np.sum(change < 0)),
        float(change @ weights / weights.sum()),
        float(low),
        float(high),
        float(wilcoxon(change).pvalue) if change.any() else 1.0,
    )


def _counted(result: AnalogyResult, at_least: int, names: Collection[str] | None) -> list[CategoryResult]:
    return [one for one in result.asked(at_least=at_least) if names is None or one.category in names]


@dataclass(frozen=True)
class Prediction:
    """One question and the words given for it.

    Attributes
    ----------
    example
        The pair that was the example, for methods that take one at a time; else None.
    words, scores
        The best answers, best first.
    rank
        Place of the best right answer; None where no right answer is in the vocabulary.
    """

    category: str
    query: str
    answers: tuple[str, ...]
    example: tuple[str, str] | None
    words: tuple[str, ...]
    scores: tuple[float, ...]
    right: bool
    rank: int | None

    def examples_of(self, category: AnalogyCategory, *, protocol: BenchmarkProtocol = "user") -> list[AnalogyPair]:
        """Return the pairs of its category it was asked with: the one example, or all that the protocol leaves."""
        if self.example is not None:
            return [AnalogyPair(self.example[0], (self.example[1],))]
        if protocol == "user":
            return [pair for pair in category if (pair.query, pair.answers) != (self.query, self.answers)]
        own = {word.lower() for word in (self.query, *self.answers)}
        return [pair for pair in category if own.isdisjoint((pair.query.lower(), pair.answer.lower()))]


@dataclass(frozen=True)
class CategoryResult:
    """One category: how much of it the space covers, how near its words are, how many queries came out right.

    Attributes
    ----------
    pairs, pairs_total
        Pairs asked, and pairs in the set.
    precision
        Share of queries whose best answer is right; None where fewer than two pairs could be asked.
    precision_at_k
        Share of queries with a right answer among the k best.
    reciprocal_rank
        Mean of one over the place of the best right answer.
    inter, intra_left, intra_right
        Mean cosine of the pairs, of the left words and of the right words among themselves (with themselves, too).
    skipped
        Pairs that could not be asked, with the reason.
    hits
        For each pair asked, whether it came out right: the share of its questions, where there are several.
    """

    category: str
    group: str
    pairs: int
    pairs_total: int
    questions: int
    precision: float | None
    precision_at_k: float | None
    reciprocal_rank: float | None
    inter: float | None
    intra_left: float | None
    intra_right: float | None
    skipped: tuple[SkippedPair, ...] = ()
    hits: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0), repr=False, metadata={"report": False})


@dataclass(frozen=True)
class GroupResult:
    """Several categories as one line: means over pairs."""

    group: str
    pairs: int
    pairs_total: int
    precision: float | None
    reciprocal_rank: float | None
    inter: float | None
    intra_left: float | None
    intra_right: float | None


@dataclass(frozen=True)
class AnalogyResult(Result):
    """An analogy set solved by one method, pair by pair left out.

    Attributes
    ----------
    protocol
        What was left out while a pair was asked: "user" or "paper", see `evaluate_analogies`.
    micro, macro, macro_std
        Precision over pairs; mean and population standard deviation over categories. Categories with fewer than two
        usable pairs do not count.
    predictions
        Every question with its answers, where they were asked for.
    """

    title = "Analogies"

    solver: str
    space: str
    analogies: str
    protocol: BenchmarkProtocol
    k: int
    micro: float | None
    macro: float | None
    macro_std: float | None
    precision_at_k: float | None
    reciprocal_rank: float | None
    categories: tuple[CategoryResult, ...]
    groups: tuple[GroupResult, ...]
    predictions: tuple[Prediction, ...] = field(default=(), repr=False)

    def asked(self, *, at_least: int = 2) -> list[CategoryResult]:
        """Return the categories with at least so many usable pairs."""
        return [one for one in self.categories if one.precision is not None and one.pairs >= at_least]

    def means(self, *, at_least: int = 2) -> tuple[float, float]:
        """Return the micro and macro mean of the precision over categories with at least so many usable pairs."""
        kept = self.asked(at_least=at_least)
        micro = weighted_mean(kept, lambda one: one.precision)
        macro = weighted_mean(kept, lambda one: one.precision, weight=lambda one: 1)
        return (math.nan if micro is None else micro), (math.nan if macro is None else macro)

    def misses(self) -> list[Prediction]:
        """Return the questions whose first answer is wrong, where predictions were asked for."""
        return [one for one in self.predictions if not one.right]

    @property
    def hits(self) -> NDArray[np.float64]:
        """Whether each pair asked came out right, category after category: what paired tests compare."""
        return np.concatenate([one.hits for one in self.categories] or [np.zeros(0)])

    def summary(self) -> dict[str, Any]:
        """Return the solver, its means, and pairs and precision of each category."""
        return {
            "solver": self.solver,
            "protocol": self.protocol,
            "micro": self.micro,
            "macro": self.macro,
            "categories": [
                {
                    "category": one.category,
                    "pairs": one.pairs,
                    "pairs_total": one.pairs_total,
                    "precision": one.precision,
                }
                for one in self.categories
            ],
        }

    def tables(self) -> list[Table]:
        """Return categories, then groups, with the means in the note."""
        rows = [{**vars(one), "coverage": f"{one.pairs}/{one.pairs_total}"} for one in self.categories]
        tables = [Table(f"{self.analogies}: {self.solver}", _columns("category", self.k), rows, self._notes())]
        if self.groups:
            rows = [{**vars(one), "coverage": f"{one.pairs}/{one.pairs_total}"} for one in self.groups]
            tables.append(Table("Groups (means over pairs)", _columns("group", None), rows))
        return tables

    def _notes(self) -> list[str]:
        if self.micro is None or self.macro is None or self.macro_std is None:
            return ["No category has two usable pairs."]
        notes = [
            f"Micro mean {show_number(self.micro)} (over pairs), macro mean {show_number(self.macro)} (over "
            f"categories; std {show_number(self.macro_std)}).",
            *self._coverage_notes(),
        ]
        reasons: dict[str, int] = {}
        for one in self.categories:
            for skipped in one.skipped:
                reasons[skipped.reason] = reasons.get(skipped.reason, 0) + 1
        told = "; ".join(f"{count} × {reason}" for reason, count in reasons.items())
        means = "Inter: mean cosine of the pairs. IntraL, IntraR: of the left words, the right words among themselves."
        return [*notes, *([f"Pairs left out: {told}."] if told else []), means]

    def _coverage_notes(self) -> list[str]:
        """Say what the means leave out, where they leave out anything."""
        asked, total = (sum(getattr(one, name) for one in self.categories) for name in ("pairs", "pairs_total"))
        if asked == total:
            return []
        unasked = [one.category for one in self.categories if one.precision is None]
        without = f"; no number for {', '.join(unasked)}" if unasked else ""
        covered = (
            f"{asked} of {total} pairs, {len(self.categories) - len(unasked)} of {len(self.categories)} categories"
        )
        return [f"Both rest on {covered}{without}. Compare them with figures of the same pairs only."]


def weighted_mean(
    items: Sequence[Any], value: Callable[[Any], float | None], weight: Callable[[Any], float] = lambda one: one.pairs
) -> float | None:
    """Return the mean of what is a number, by default over pairs; None where nothing is."""
    pairs = [(number, weight(one)) for one in items if (number := value(one)) is not None]
    total = sum(weights for _, weights in pairs)
    return sum(number * weights for number, weights in pairs) / total if total else None


def _columns(key: str, k: int | None) -> list[Column | str]:
    numbers = [("precision", "P@1"), ("precision_at_k", f"P@{k}"), ("reciprocal_rank", "MRR"), ("inter", "Inter")]
    numbers += [("intra_left", "IntraL"), ("intra_right", "IntraR")]
    shown = [Column(name, heading, decimals=2) for name, heading in numbers if k or name != "precision_at_k"]
    return [key, Column("coverage", "pairs"), *shown]
