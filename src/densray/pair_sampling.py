"""The pair matrix of unit-length differences from random groups of rows: an unbiased estimate with its error.

All :math:`n^2` pairs of many rows are out of reach. Rows are dealt at random, class by class, into groups, and the
pairs inside each group stand for all: a pair of classes a and b with :math:`N_{ab}` ordered pairs in all and
:math:`M_{ab}` in the group counts :math:`N_{ab}/M_{ab}`-fold, so that the estimate from every single group has the
expectation A. A few independent deals are averaged; their spread is the error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, array_on, namespace
from densray.pairs import unit_pair_matrix

__all__ = ["PairEstimate", "estimate_pair_matrix"]

#: Independent deals of the rows: their spread is known to about 1/√(6 d), and each meets a quarter of the partners.
DEALS = 4
#: Parts of a deal whose spread tells how much drawing other rows would change.
BATCHES = 8

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class PairEstimate:
    """An estimate of A, and the estimates it is the mean of.

    Attributes
    ----------
    matrix : array of shape (d, d)
    deals : list of arrays
        One estimate for each deal of the rows.
    batches : list of arrays
        Estimates from parts of the first deal; empty where the rows dealt are all there are.
    share : float
        How many of all rows were dealt; of the class with the smaller share.
    """

    matrix: Matrix
    deals: list[Matrix]
    batches: list[Matrix]
    share: float

    def axis_error(self) -> float:
        r"""Return the standard error of the first axis, as an angle in radians.

        To first order a change of A turns its first eigenvector q by
        :math:`\sum_{j>0} q_j\, q_j^\top \delta A\, q / (\lambda_0 - \lambda_j)` (the delta method).
        """
        if len(self.deals) < 2:
            return 0.0
        values, vectors = np.linalg.eigh(self.matrix)
        gaps = values[-1] - values[:-1]
        if not gaps.size:
            return 0.0
        if gaps[-1] <= 0.0:
            return float(np.pi / 2)

        def spread(estimates: list[Matrix]) -> float:
            turns = np.array([(vectors[:, :-1].T @ (A @ vectors[:, -1])) / gaps for A in estimates])
            return float(np.sum(np.var(turns, axis=0, ddof=1)))

        dealing = spread(self.deals)  # which rows met which
        # The spread of batches holds that, and which rows were drawn at all; drawing all of them leaves none of it.
        drawing = max(spread(self.batches) / len(self.batches) - dealing, 0.0) if self.batches else 0.0
        return float(min(np.sqrt(dealing / len(self.deals) + (1.0 - self.share) * drawing), np.pi / 2))


def estimate_pair_matrix(
    X: Array,
    charge: Array,
    *,
    groups: Sequence[Array],
    couplings: Matrix,
    n_partners: int,
    random: np.random.Generator,
    population: Sequence[int] | None = None,
) -> PairEstimate:
    """Return an unbiased estimate of :func:`~densray.pairs.unit_pair_matrix`, each row meeting some others only.

    Parameters
    ----------
    X, charge, groups, couplings
        As for :func:`~densray.pairs.unit_pair_matrix`.
    n_partners : int
        How many others each row meets, over all deals; from here on exact, if there are no more rows.
    random : numpy.random.Generator
    population : sequence of int, optional
        How many rows each class has in all, where `X` is a random sample of them.
    """
    drawn = [int(rows.shape[0]) for rows in groups]
    population = drawn if population is None else list(population)
    share = min((few / many for few, many in zip(drawn, population, strict=True) if many), default=1.0)
    if share == 1.0 and sum(drawn) <= n_partners:
        exact = unit_pair_matrix(X, charge, groups=groups, couplings=couplings)
        return PairEstimate(exact, [exact], [], 1.0)
    size = max(n_partners // DEALS, 64)
    n_groups = max(sum(drawn) // size, 1)
    if share < 1.0:
        n_groups = max(n_groups, min(BATCHES, sum(drawn) // 8))
    deals: list[Matrix] = []
    batches: list[Matrix] = []
    for _ in range(DEALS):
        parts = [np.zeros((X.shape[1], X.shape[1])) for _ in range(min(BATCHES, n_groups))]
        for number, members in enumerate(_deal(drawn, n_groups, random)):
            parts[number % len(parts)] += _group_matrix(X, charge, groups, members, couplings, population)
        deals.append(sum(parts, np.zeros_like(parts[0])) / n_groups)
        if share < 1.0 and not batches and len(parts) > 1:
            counts = [len(range(number, n_groups, len(parts))) for number in range(len(parts))]
            batches = [part / count for part, count in zip(parts, counts, strict=True)]
    return PairEstimate(sum(deals, np.zeros_like(deals[0])) / DEALS, deals, batches, share)


def _deal(sizes: Sequence[int], n_groups: int, random: np.random.Generator) -> Iterator[list[NDArray[np.intp]]]:
    """Yield, for each group, the rows it gets of each class, as numbers within the class.

    Each row goes to one group; of a class that is too small to go round, every group draws its own.
    """
    fewest = max(2, sum(sizes) // n_groups // 8)
    hands: list[list[NDArray[np.intp]]] = []
    for size in sizes:
        if size // n_groups >= fewest:
            hands.append(np.array_split(random.permutation(size), n_groups))
        else:
            count = min(size, fewest)
            hands.append([random.choice(size, count, replace=False, shuffle=False) for _ in range(n_groups)])
    for group in range(n_groups):
        yield [hand[group] for hand in hands]


def _group_matrix(
    X: Array,
    charge: Array,
    groups: Sequence[Array],
    members: list[NDArray[np.intp]],
    couplings: Matrix,
    population: Sequence[int],
) -> Matrix:
    """Return the estimate of A from the pairs inside one group."""
    xp = namespace(X)
    counts = np.array([len(part) for part in members], dtype=np.float64)
    totals = np.array(population, dtype=np.float64)
    met = np.outer(counts, counts) - np.diag(counts)  # ordered pairs of different rows
    pairs = np.outer(totals, totals) - np.diag(totals)
    scaled = couplings * np.divide(pairs, met, out=np.zeros_like(met), where=met > 0)
    rows = xp.concat(
        [xp.take(of_class, array_on(part, X), axis=0) for of_class, part in zip(groups, members, strict=True)]
    )
    ends = np.cumsum([len(part) for part in members]).tolist()
    places = [array_on(np.arange(end - len(part), end), X) for end, part in zip(ends, members, strict=True)]
    return unit_pair_matrix(xp.take(X, rows, axis=0), xp.take(charge, rows, axis=0), groups=places, couplings=scaled)
