"""A uniform random sample of rows that passes by, mergeable: the rows of lowest random priority."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RowSample", "Stratum"]


@dataclass(frozen=True)
class Stratum:
    """The rows of lowest priority among those of one label, and how many there were."""

    seen: int
    priorities: NDArray[np.float64]
    rows: NDArray[Any]
    values: NDArray[Any]
    weights: NDArray[np.float64]

    def merge(self, other: Stratum, limit: int) -> Stratum:
        """Return the `limit` rows of lowest priority of both."""
        pairs = zip(self.columns(), other.columns(), strict=True)
        return Stratum(self.seen + other.seen, *(np.concatenate(pair) for pair in pairs)).lowest(limit)

    def lowest(self, limit: int) -> Stratum:
        """Return the `limit` rows of lowest priority, in that order."""
        order = np.argsort(self.priorities, kind="stable")[:limit]
        return Stratum(self.seen, *(column[order] for column in self.columns()))

    def columns(self) -> tuple[NDArray[Any], ...]:
        """Return priorities, rows, values and weights."""
        return self.priorities, self.rows, self.values, self.weights


@dataclass(frozen=True)
class RowSample:
    """Up to `limit` rows of each label while there are two; of all rows together once there are more."""

    limit: int
    strata: dict[Any, Stratum]  # by label; one under None for scores

    @classmethod
    def of(
        cls,
        X: NDArray[Any],
        values: NDArray[Any],
        weights: NDArray[np.float64],
        *,
        limit: int,
        seed: tuple[int, int],
        cutoffs: Mapping[Any, float] | None = None,
    ) -> RowSample:
        """Return the sample of one block; equal seeds give equal priorities.

        `cutoffs` leaves out rows of a label above a priority that no row of the final sample will have.
        """
        priorities = np.random.default_rng(seed).random(len(X))
        distinct = np.unique(values).tolist()
        labels = distinct if len(distinct) <= 2 else [None]
        strata = {}
        for label in labels:
            rows = np.arange(len(X)) if label is None else np.flatnonzero(values == label)
            seen = len(rows)
            if cutoffs is not None:
                rows = rows[priorities[rows] < cutoffs.get(label, cutoffs.get(None, 1.0))]
            rows = rows[np.argsort(priorities[rows], kind="stable")[:limit]]
            strata[label] = Stratum(seen, priorities[rows], X[rows], values[rows], weights[rows])
        return cls(limit, strata)

    def merge(self, other: RowSample) -> RowSample:
        """Return the sample of both sets of rows together."""
        labels = {*self.strata, *other.strata}
        first, second = (self, other) if len(labels) <= 2 and None not in labels else (self._joined(), other._joined())
        strata = dict(first.strata)
        for label, stratum in second.strata.items():
            strata[label] = strata[label].merge(stratum, self.limit) if label in strata else stratum
        return RowSample(self.limit, strata)

    def _joined(self) -> RowSample:
        """Return the sample without regard to labels: the lowest of all are among the lowest of each."""
        parts = list(self.strata.values())
        joined = parts[0]
        for part in parts[1:]:
            joined = joined.merge(part, self.limit)
        return RowSample(self.limit, {None: joined})
