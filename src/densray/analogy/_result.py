"""The result of an evaluation: for each question, each category, each group, and the whole set."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray.analogies import AnalogyCategory, AnalogyPair
from densray.analogy._examples import BenchmarkProtocol
from densray.analogy._located import SkippedPair
from densray.report import Column, Provenance, Result, Table, show_number


@dataclass(frozen=True)
class Prediction:
    """One question and the answers of a solver.

    Attributes
    ----------
    example
        The only example pair, for methods that use one at a time; otherwise None.
    words, scores
        The best answers, best first.
    correct
        Whether the best answer is correct.
    rank
        Rank of the best correct answer; None if no correct answer is in the vocabulary.
    """

    category: str
    query: str
    answers: tuple[str, ...]
    example: tuple[str, str] | None
    words: tuple[str, ...]
    scores: tuple[float, ...]
    correct: bool
    rank: int | None

    def examples_of(self, category: AnalogyCategory, *, protocol: BenchmarkProtocol = "user") -> list[AnalogyPair]:
        """Return the pairs that the solver learned from: the one example, or all that the protocol allows."""
        if self.example is not None:
            return [AnalogyPair(self.example[0], (self.example[1],))]
        if protocol == "user":
            return [pair for pair in category if (pair.query, pair.answers) != (self.query, self.answers)]
        own = {word.lower() for word in (self.query, *self.answers)}
        return [pair for pair in category if own.isdisjoint((pair.query.lower(), pair.answer.lower()))]


@dataclass(frozen=True)
class CategoryResult:
    """One category: its coverage, the mean cosines of its words, and its precision.

    Attributes
    ----------
    pairs, pairs_total
        Number of pairs asked, and of pairs in the set.
    precision
        Share of queries whose best answer is correct; None if no pair could be asked.
    precision_at_k
        Share of queries with a correct answer among the k best.
    reciprocal_rank
        Mean of one over the rank of the best correct answer.
    inter, intra_left, intra_right
        Mean cosine of the pairs, of the left words and of the right words (including each word with itself).
    skipped
        Pairs that could not be asked, with the reason.
    hits
        For each pair asked, 1 if it was answered correctly, else 0; with several questions, the share answered
        correctly.
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
    """Means over the pairs of all categories of one group."""

    group: str
    pairs: int
    pairs_total: int
    precision: float | None
    reciprocal_rank: float | None
    inter: float | None
    intra_left: float | None
    intra_right: float | None

    @classmethod
    def of_categories(cls, group: str, categories: Sequence[CategoryResult]) -> GroupResult:
        """Return the result of a group from its categories."""
        members = [one for one in categories if one.group == group]
        measures = ("precision", "reciprocal_rank", "inter", "intra_left", "intra_right")
        return cls(
            group,
            sum(one.pairs for one in members if one.precision is not None),
            sum(one.pairs_total for one in members),
            *(weighted_mean(members, attrgetter(measure)) for measure in measures),
        )


@dataclass(frozen=True)
class AnalogyResult(Result):
    """Precision of one solver on an analogy set, with each pair left out in turn.

    Attributes
    ----------
    protocol
        "user" or "paper": the words left out while a pair is asked; see `evaluate_analogies`.
    micro, macro, macro_std
        Precision over pairs; mean and population standard deviation over categories. Categories with fewer than two
        usable pairs do not count.
    predictions
        Every question with its answers, if requested.
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

    def __repr__(self) -> str:
        pairs = sum(one.pairs for one in self.categories)
        precision = show_number(self.micro)
        return f"AnalogyResult of {self.solver} on '{self.analogies}': precision {precision}, {pairs:,} pairs"

    @classmethod
    def of_categories(
        cls,
        categories: Sequence[CategoryResult],
        *,
        solver: str,
        space: str,
        analogies: str,
        protocol: BenchmarkProtocol,
        k: int,
        provenance: Provenance,
        predictions: Sequence[Prediction] = (),
    ) -> AnalogyResult:
        """Return the result of a whole set from its categories: means over pairs, over categories and by group."""
        precisions = [one.precision for one in categories if one.precision is not None]
        measured = [one for one in categories if one.precision is not None]
        groups = dict.fromkeys(one.group for one in categories if one.group)
        return cls(
            solver,
            space,
            analogies,
            protocol,
            k,
            micro=weighted_mean(measured, attrgetter("precision")),
            macro=float(np.mean(precisions)) if precisions else None,
            macro_std=float(np.std(precisions)) if precisions else None,
            precision_at_k=weighted_mean(measured, attrgetter("precision_at_k")),
            reciprocal_rank=weighted_mean(measured, attrgetter("reciprocal_rank")),
            categories=tuple(categories),
            groups=tuple(GroupResult.of_categories(group, categories) for group in groups),
            predictions=tuple(predictions),
            provenance=provenance,
        )

    def asked(self, *, at_least: int = 2) -> list[CategoryResult]:
        """Return the categories with at least this many usable pairs."""
        return [one for one in self.categories if one.precision is not None and one.pairs >= at_least]

    def means(self, *, at_least: int = 2) -> tuple[float, float]:
        """Return the micro and macro mean of the precision over categories with at least this many usable pairs."""
        kept = self.asked(at_least=at_least)
        micro = weighted_mean(kept, lambda one: one.precision)
        macro = weighted_mean(kept, lambda one: one.precision, weight=lambda one: 1)
        return (math.nan if micro is None else micro), (math.nan if macro is None else macro)

    def misses(self) -> list[Prediction]:
        """Return the questions whose first answer is wrong, if predictions were requested."""
        return [one for one in self.predictions if not one.correct]

    @property
    def hits(self) -> NDArray[np.float64]:
        """`CategoryResult.hits` of all categories in one array, as input for paired tests."""
        return np.concatenate([one.hits for one in self.categories] or [np.zeros(0)])

    def summary(self) -> dict[str, Any]:
        """Return the solver, its means, and the pairs and precision of each category."""
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
        summary = "; ".join(f"{count} × {reason}" for reason, count in reasons.items())
        columns = (
            "Inter: mean cosine of the pairs. IntraL, IntraR: of the left words, the right words among themselves."
        )
        return [*notes, *([f"Pairs left out: {summary}."] if summary else []), columns]

    def _coverage_notes(self) -> list[str]:
        """Return a note on pairs and categories that the means leave out, if there are any."""
        n_asked = sum(one.pairs for one in self.categories if one.precision is not None)
        total = sum(one.pairs_total for one in self.categories)
        if n_asked == total:
            return []
        unasked = [one.category for one in self.categories if one.precision is None]
        without = f"; no number for {', '.join(unasked)}" if unasked else ""
        coverage = (
            f"{n_asked} of {total} pairs, {len(self.categories) - len(unasked)} of {len(self.categories)} categories"
        )
        return [f"Both rest on {coverage}{without}. Compare them with figures of the same pairs only."]


def weighted_mean(
    items: Sequence[Any], value: Callable[[Any], float | None], weight: Callable[[Any], float] = lambda one: one.pairs
) -> float | None:
    """Return the mean of the values that are not None, by default weighted by pairs; None if there are none."""
    pairs = [(number, weight(one)) for one in items if (number := value(one)) is not None]
    total = sum(weights for _, weights in pairs)
    return sum(number * weights for number, weights in pairs) / total if total else None


def _columns(key: str, k: int | None) -> list[Column | str]:
    numbers = [("precision", "P@1"), ("precision_at_k", f"P@{k}"), ("reciprocal_rank", "MRR"), ("inter", "Inter")]
    numbers += [("intra_left", "IntraL"), ("intra_right", "IntraR")]
    measures = [Column(name, heading, decimals=2) for name, heading in numbers if k or name != "precision_at_k"]
    return [key, Column("coverage", "pairs"), *measures]
