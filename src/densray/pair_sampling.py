"""The pair matrix of unit-length differences from random groups of rows: an unbiased estimate with its error.

All :math:`n^2` pairs of many rows are too many. A random partition puts the rows, class by class, into groups, and the
pairs inside each group stand for all: a pair of classes a and b with :math:`N_{ab}` ordered pairs in all and
:math:`M_{ab}` in the group counts :math:`N_{ab}/M_{ab}`-fold, so that the estimate from every single group has the
expectation A. A few independent partitions are averaged; the variance between them gives the error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from densray._arrays import Array, array_on, namespace
from densray.errors import DensRayError
from densray.pairs import unit_pair_matrix

__all__ = ["PairEstimate", "check_partners", "check_random_generator", "estimate_pair_matrix", "too_many_rows"]

#: Independent partitions of the rows, each for a quarter of the partners; their variance is known to about 1/√(6 d).
N_PARTITIONS = 4
#: Batches of groups of one partition, whose variance tells how much drawing other rows would change.
N_BATCHES = 8
#: Rows drawn from a file, a stream or a cluster where pairs are sampled.
SAMPLE_ROWS = 32_768

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class PairEstimate:
    """An estimate of A, and the estimates it is the mean of.

    Attributes
    ----------
    matrix : array of shape (d, d)
    of_partitions : list of arrays
        One estimate per random partition of the rows.
    of_batches : list of arrays
        Estimates from parts of the first partition; empty where the sample is all rows.
    share : float
        Share of all rows that are in the sample; of the class with the smaller share.
    """

    matrix: Matrix
    of_partitions: list[Matrix]
    of_batches: list[Matrix]
    share: float

    def axis_error(self) -> float:
        r"""Return the standard error of the first axis, as an angle in radians.

        To first order a change of A turns its first eigenvector q by
        :math:`\sum_{j>0} q_j\, q_j^\top \delta A\, q / (\lambda_0 - \lambda_j)` (the delta method).
        """
        if len(self.of_partitions) < 2:
            return 0.0
        values, vectors = np.linalg.eigh(self.matrix)
        gaps = values[-1] - values[:-1]
        if not gaps.size:
            return 0.0
        if gaps[-1] <= 0.0:
            return float(np.pi / 2)

        def variance(estimates: list[Matrix]) -> float:
            turns = np.array([(vectors[:, :-1].T @ (A @ vectors[:, -1])) / gaps for A in estimates])
            return float(np.sum(np.var(turns, axis=0, ddof=1)))

        between = variance(self.of_partitions)  # which rows were compared with which
        # The variance of batches holds that, and which rows were drawn; a sample of all rows has none of the latter.
        batches = self.of_batches
        drawing = max(variance(batches) / len(batches) - between, 0.0) if batches else 0.0
        return float(min(np.sqrt(between / len(self.of_partitions) + (1.0 - self.share) * drawing), np.pi / 2))


def estimate_pair_matrix(
    X: Array,
    row_weight: Array,
    *,
    groups: Sequence[Array],
    couplings: Matrix,
    n_partners: int,
    random: np.random.Generator,
    population: Sequence[int] | None = None,
) -> PairEstimate:
    """Return an unbiased estimate of :func:`~densray.pairs.unit_pair_matrix`, each row compared with some others only.

    Parameters
    ----------
    X, row_weight, groups, couplings
        As for :func:`~densray.pairs.unit_pair_matrix`.
    n_partners : int
        How many others each row is compared with, over all partitions; exact if there are no more rows than that.
    random : numpy.random.Generator
    population : sequence of int, optional
        How many rows each class has in all, where `X` is a random sample of them.
    """
    drawn = [int(rows.shape[0]) for rows in groups]
    population = drawn if population is None else list(population)
    share = min((few / many for few, many in zip(drawn, population, strict=True) if many), default=1.0)
    if share == 1.0 and sum(drawn) <= n_partners:
        exact = unit_pair_matrix(X, row_weight, groups=groups, couplings=couplings)
        return PairEstimate(exact, [exact], [], 1.0)
    size = max(n_partners // N_PARTITIONS, 64)
    n_groups = max(sum(drawn) // size, 1)
    if share < 1.0:
        n_groups = max(n_groups, min(N_BATCHES, sum(drawn) // 8))
    of_partitions: list[Matrix] = []
    of_batches: list[Matrix] = []
    for _ in range(N_PARTITIONS):
        parts = [np.zeros((X.shape[1], X.shape[1])) for _ in range(min(N_BATCHES, n_groups))]
        for number, members in enumerate(_random_partition(drawn, n_groups, random)):
            parts[number % len(parts)] += _group_matrix(X, row_weight, groups, members, couplings, population)
        of_partitions.append(sum(parts, np.zeros_like(parts[0])) / n_groups)
        if share < 1.0 and not of_batches and len(parts) > 1:
            counts = [len(range(number, n_groups, len(parts))) for number in range(len(parts))]
            of_batches = [part / count for part, count in zip(parts, counts, strict=True)]
    return PairEstimate(
        sum(of_partitions, np.zeros_like(of_partitions[0])) / N_PARTITIONS, of_partitions, of_batches, share
    )


def _random_partition(
    sizes: Sequence[int], n_groups: int, random: np.random.Generator
) -> Iterator[list[NDArray[np.intp]]]:
    """Yield, for each group, the rows it gets of each class, as numbers within the class.

    Each row goes to one group; of a class that is too small for that, every group draws its own.
    """
    fewest = max(2, sum(sizes) // n_groups // 8)
    parts: list[list[NDArray[np.intp]]] = []
    for size in sizes:
        if size // n_groups >= fewest:
            parts.append(np.array_split(random.permutation(size), n_groups))
        else:
            count = min(size, fewest)
            parts.append([random.choice(size, count, replace=False, shuffle=False) for _ in range(n_groups)])
    for group in range(n_groups):
        yield [part[group] for part in parts]


def _group_matrix(
    X: Array,
    row_weight: Array,
    groups: Sequence[Array],
    members: list[NDArray[np.intp]],
    couplings: Matrix,
    population: Sequence[int],
) -> Matrix:
    """Return the estimate of A from the pairs inside one group."""
    xp = namespace(X)
    counts = np.array([len(part) for part in members], dtype=np.float64)
    totals = np.array(population, dtype=np.float64)
    compared = np.outer(counts, counts) - np.diag(counts)  # ordered pairs of different rows
    pairs = np.outer(totals, totals) - np.diag(totals)
    scaled = couplings * np.divide(pairs, compared, out=np.zeros_like(compared), where=compared > 0)
    rows = xp.concat(
        [xp.take(of_class, array_on(part, X), axis=0) for of_class, part in zip(groups, members, strict=True)]
    )
    ends = np.cumsum([len(part) for part in members]).tolist()
    places = [array_on(np.arange(end - len(part), end), X) for end, part in zip(ends, members, strict=True)]
    return unit_pair_matrix(
        xp.take(X, rows, axis=0), xp.take(row_weight, rows, axis=0), groups=places, couplings=scaled
    )


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
