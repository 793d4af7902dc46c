"""What DensRay's unit-length differences need of rows and labels: charges, classes and couplings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from densray.arrays import Array, array_on, namespace, to_host
from densray.errors import DensRayError
from densray.memory_maps import is_memory_mapped
from densray.moments import ClassMoments, ScoreMoments
from densray.pair_groups import PairEstimate, estimate_pair_matrix
from densray.pairs import PairWeights, score_covariance, unit_pair_matrix
from densray.rotations._labels import Labels

if TYPE_CHECKING:
    from densray.rotations._sample import RowSample

__all__ = [
    "SAMPLE_ROWS",
    "UnitPairs",
    "check_all_pairs",
    "check_partners",
    "check_random_generator",
    "pairs_of_rows",
    "pairs_of_sample",
    "resolve_weights",
    "share_out",
    "too_many_rows",
]

#: Rows drawn from a file, a stream or a cluster where pairs are sampled.
SAMPLE_ROWS = 32_768
#: Rows of a memory map above which all pairs are too many.
MAPPED_ROWS = 200_000


@dataclass(frozen=True)
class UnitPairs:
    """Rows with all that the sum over their pairs depends on."""

    X: Array
    charge: Array  # one number a row: its weight, or weight times score
    groups: Sequence[Array]  # the rows of each class; one group for scores
    couplings: NDArray[np.float64]  # what a pair of two classes counts
    population: Sequence[int] | None = None  # rows of each class in all, where X is a sample

    @classmethod
    def of_classes(cls, X: Array, groups: Sequence[Array], weight: Array, pair_weights: PairWeights) -> UnitPairs:
        """Return the terms for two classes, the lower one first."""
        unlike, like = pair_weights
        return cls(X, weight, groups, np.array([[-like, unlike], [unlike, -like]]))

    @classmethod
    def of_scores(cls, X: Array, charge: Array) -> UnitPairs:
        """Return the terms for scores, weighted and centred already."""
        return cls(X, charge, [namespace(X).arange(X.shape[0], device=X.device)], np.array([[-1.0]]))

    def matrix(self) -> NDArray[np.float64]:
        """Return A from all pairs."""
        return unit_pair_matrix(self.X, self.charge, groups=self.groups, couplings=self.couplings)

    def estimate(self, n_partners: int, random: np.random.Generator) -> PairEstimate:
        """Return A from some pairs of each row."""
        return estimate_pair_matrix(
            self.X,
            self.charge,
            groups=self.groups,
            couplings=self.couplings,
            n_partners=n_partners,
            random=random,
            population=self.population,
        )

    def sample(self, n_rows: int, random: np.random.Generator) -> UnitPairs:
        """Return at most `n_rows` random rows, as evenly from the classes as their sizes allow."""
        sizes = [int(rows.shape[0]) for rows in self.groups]
        if sum(sizes) <= n_rows:
            return self
        xp = namespace(self.X)
        drawn = [
            np.sort(random.choice(size, count, replace=False, shuffle=False))
            for size, count in zip(sizes, share_out(sizes, n_rows), strict=True)
        ]
        rows = xp.concat(
            [xp.take(whole, array_on(part, self.X), axis=0) for whole, part in zip(self.groups, drawn, strict=True)]
        )
        ends = np.cumsum([len(part) for part in drawn]).tolist()
        groups = [array_on(np.arange(end - len(part), end), self.X) for end, part in zip(ends, drawn, strict=True)]
        X, charge = (xp.take(values, rows, axis=0) for values in (self.X, self.charge))
        return UnitPairs(X, charge, groups, self.couplings, self.population or sizes)


def share_out(sizes: Sequence[int], total: int) -> list[int]:
    """Return how many rows to draw from each of one or two classes: alike, as far as there are so many.

    >>> share_out([1000, 10], 100)
    [90, 10]
    """
    if len(sizes) == 1:
        return [min(sizes[0], total)]
    low = min(sizes[0], max(total - total // 2, total - sizes[1]))
    return [low, min(sizes[1], total - low)]


def check_partners(n_partners: object, sample_rows: object) -> None:
    """Raise unless the two sizes of the sampled form are whole numbers that make groups."""
    for name, value, fewest in (("n_partners", n_partners, 32), ("sample_rows", sample_rows, 64)):
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if value is not None and (not whole or int(value) < fewest):  # type: ignore[call-overload]
            raise DensRayError(f"{name}={value!r} is given; None or a whole number of at least {fewest} is needed.")


def check_random_generator(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """Return a generator from what scikit-learn calls a random state."""
    return np.random.default_rng(check_random_state(random_state).randint(2**32, dtype=np.uint32))


def too_many_rows(what: str) -> DensRayError:
    """Return the error for unit-length differences on more rows than all pairs allow."""
    return DensRayError(
        f"normalize_differences=True compares every row with every other, which {what} cannot do. "
        "Use the plain form (normalize_differences=False), which adds up over blocks, or the sampled form "
        "(normalize_differences=True, n_partners=2000), which compares random rows and states its error in axis_error_."
    )


def check_all_pairs(X: Array) -> None:
    """Raise if `X` is a memory map of too many rows for all pairs."""
    if is_memory_mapped(X) and X.shape[0] > MAPPED_ROWS:
        raise too_many_rows(f"a memory map of {X.shape[0]:,} rows (more than {MAPPED_ROWS:,})")


def resolve_weights(weights: object, high: float, low: float) -> PairWeights:
    """Return the pair weights a user asked for; `high` and `low` are the sizes of the classes."""
    if isinstance(weights, str) and weights == "balanced":
        return PairWeights.balanced(high, low)
    try:
        unlike, like = (float(value) for value in weights)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise DensRayError(
            f"weights={weights!r} is given; 'balanced' or a pair (unlike, like) such as (0.5, 0.5) is needed."
        ) from None
    if not (np.isfinite(unlike) and np.isfinite(like)) or unlike < 0 or like < 0 or unlike == like == 0:
        raise DensRayError(f"weights={weights!r} is given; two numbers of at least 0, not both 0, are needed.")
    return PairWeights(unlike, like)


def pairs_of_rows(X: Array, labels: Labels, weight: Array | None, weights: object, *, center: bool) -> UnitPairs:
    """Return the terms of rows that are all at hand."""
    xp = namespace(X)
    row_weight = xp.ones(X.shape[0], dtype=X.dtype, device=X.device) if weight is None else weight
    if labels.binary:
        groups = labels.class_rows()
        low, high = (float(xp.sum(xp.take(row_weight, rows, axis=0))) for rows in groups)
        return UnitPairs.of_classes(X, groups, row_weight, resolve_weights(weights, high, low))
    scores, charge = xp.astype(labels.values, xp.float64), xp.astype(row_weight, xp.float64)
    if center:
        scores = scores - xp.sum(charge * scores) / xp.sum(charge)
    return UnitPairs.of_scores(X, charge * scores)


def pairs_of_sample(
    moments: ClassMoments | ScoreMoments, sample: RowSample, weights: object, *, center: bool
) -> tuple[UnitPairs, NDArray[np.float64]]:
    """Return the pairs of rows drawn from a stream, and the direction that the moments of all its rows point to."""
    if isinstance(moments, ClassMoments):
        low, high = (moments.groups[value] for value in sorted(moments.groups))
        strata = [sample.strata[value] for value in sorted(moments.groups)]
        counts = share_out([len(stratum.rows) for stratum in strata], sample.limit)
        strata = [stratum.lowest(count) for stratum, count in zip(strata, counts, strict=True)]
        ends = np.cumsum(counts).tolist()
        pairs = UnitPairs.of_classes(
            np.concatenate([stratum.rows for stratum in strata]),
            [np.arange(end - count, end) for end, count in zip(ends, counts, strict=True)],
            np.concatenate([stratum.weights for stratum in strata]),
            resolve_weights(weights, high.weight, low.weight),
        )
        toward = to_host(high.mean - low.mean)
    else:
        strata = [sample.strata[None].lowest(sample.limit)]
        mean = moments.origin + moments.score / moments.weight if center else 0.0
        charge = strata[0].weights * (strata[0].values.astype(np.float64) - mean)
        pairs = UnitPairs.of_scores(strata[0].rows, charge)
        toward = score_covariance(moments)
    return replace(pairs, population=[stratum.seen for stratum in strata]), toward
