"""Directions in which the covariances of classes differ, and how many of them to remove."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from densray._arrays import to_host
from densray.affine import AffineMap
from densray.errors import LabelError, TaskError
from densray.folds import fold_numbers
from densray.metrics import Interval, auc, auc_deviations, auc_interval
from densray.moments import ClassMoments
from densray.probes import Recovery, held_out_scores, mean_recovery, transfer_scores
from densray.rows import Rows
from densray.statistics import HELD_OUT_INFLATION

__all__ = ["CurvePoint", "DirectionChoice", "choose_directions", "covariance_difference", "neighbors_kept"]

Matrix: TypeAlias = NDArray[np.float64]

#: Number of nearest neighbours to compare, and the smallest share of them that may be kept.
N_NEIGHBORS, LEAST_NEIGHBORS = 10, 0.5
#: Largest number of rows per half for probes and neighbours.
_MOST_ROWS = 1000
_FOLDS = 5
#: AUC up to which a concept counts as gone.
_GONE = 0.55


def covariance_difference(X: NDArray[np.floating], y: NDArray[np.floating], n_axes: int) -> AffineMap:
    r"""Return the map that removes the differences of class means, and directions in which class covariances differ.

    With the projection :math:`P` onto the complement of the differences of means, the shares :math:`w_c` of the
    classes and the mean covariance :math:`\bar\Sigma = \sum_c w_c \Sigma_c`, these directions are the leading
    eigenvectors of

    .. math::
        S = \sum_c w_c \left( P (\Sigma_c - \bar\Sigma) P \right)^2 .

    For two classes they are the eigenvectors of :math:`P (\Sigma_+ - \Sigma_-) P` with the largest absolute
    eigenvalues. A quadratic model sees classes by their means and covariances; along the removed directions both agree
    afterwards. Only class moments are needed, so blocks of rows can be merged.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Two or more classes, at least two rows of each.
    n_axes : int
        Number of covariance directions, in addition to the differences of means.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 3.0, 0.0], [1.0, -3.0, 0.0], [-1.0, 1.0, 1.0], [-1.0, -1.0, 1.0]])
    >>> covariance_difference(X, np.array([1.0, 1.0, -1.0, -1.0]), 1).apply(X).round(6)[:, 1]
    array([0., 0., 0., 0.])
    """
    directions = _Directions.of(X, y)
    most = len(directions.axes) - directions.n_means
    if not 1 <= n_axes <= most:
        raise TaskError(f"{n_axes} covariance directions were asked for; 1 to {most} can be removed.")
    return directions.remove(n_axes)


class _Directions(NamedTuple):
    """Orthonormal rows: first the differences of means, then directions ordered by how much covariances differ."""

    axes: Matrix  # (d, d)
    n_means: int

    @classmethod
    def of(cls, X: NDArray[np.floating], y: NDArray[np.floating]) -> _Directions:
        rows = np.asarray(to_host(X), dtype=np.float64)
        classes = np.unique(y)
        moments = [ClassMoments.of(rows, y, classes).by_class[value] for value in classes]
        if min(each.weight for each in moments) < 2:
            raise LabelError(
                "a class has only one row; its covariance needs at least two rows of each class. Add rows."
            )
        means = np.array([each.mean for each in moments])
        _, sizes, spread = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
        n_means = int(np.sum(sizes > sizes[0] * 1e-10)) if sizes[0] > 0.0 else 0
        if n_means == 0:
            raise LabelError("the class means are equal, so there is no mean difference to remove. Check the labels.")
        # Householder reflections: the first columns span the differences of means, the others their complement
        basis, _ = np.linalg.qr(spread[:n_means].T, mode="complete")
        across = basis[:, n_means:]
        shares = np.array([each.weight for each in moments]) / len(rows)
        covariances = [across.T @ (each.scatter / (each.weight - 1)) @ across for each in moments]
        pooled = sum(share * covariance for share, covariance in zip(shares, covariances, strict=True))
        squares = np.zeros_like(covariances[0])
        for share, covariance in zip(shares, covariances, strict=True):
            squares += share * (covariance - pooled) @ (covariance - pooled)
        _, vectors = np.linalg.eigh(squares)
        axes = np.vstack([basis[:, :n_means].T, (across @ vectors[:, ::-1]).T])
        return cls(np.ascontiguousarray(axes), n_means)

    def remove(self, n_axes: int) -> AffineMap:
        """Return the map that removes the differences of means and the first `n_axes` covariance directions."""
        return AffineMap.along(self.axes[: self.n_means + n_axes], method="covariance-difference")


@dataclass(frozen=True)
class CurvePoint:
    """AUC and neighbours kept for one number of directions, on rows that the directions were not learned from.

    Attributes
    ----------
    n_axes : int
        Number of covariance directions; 0 removes the differences of means only.
    strongest : Recovery
        AUC of the strongest of three nonlinear probes, with its interval.
    neighbors : float
        Share of the ten nearest neighbours that rows keep.
    error : float
        Standard error of the difference between this AUC and the lowest one, which is measured on the same rows.
    """

    n_axes: int
    strongest: Recovery
    neighbors: float
    error: float

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain Python values."""
        return {
            "n_axes": self.n_axes,
            "auc": self.strongest.auc,
            "low": self.strongest.interval.low,
            "high": self.strongest.interval.high,
            "neighbors": self.neighbors,
            "error": self.error,
        }

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> CurvePoint:
        """Return a point from the output of `to_dict`."""
        strongest = Recovery(float(entry["auc"]), Interval(float(entry["low"]), float(entry["high"])))
        return cls(int(entry["n_axes"]), strongest, float(entry["neighbors"]), float(entry["error"]))


@dataclass(frozen=True)
class DirectionChoice:
    """How many directions to remove, and the trade-off behind it.

    Attributes
    ----------
    n_axes : int
        The chosen number of covariance directions.
    curve : tuple of CurvePoint
        0, 1, 2, 4, 8, … directions, up to the first number that keeps too few neighbours.
    """

    n_axes: int
    curve: tuple[CurvePoint, ...]

    def __getitem__(self, n_axes: int) -> CurvePoint:
        """Return the point of the curve for this number of directions."""
        return next(point for point in self.curve if point.n_axes == n_axes)

    @property
    def helps(self) -> bool:
        """Whether the chosen directions lower the strongest probe by more than one standard error."""
        return self[0].strongest.auc - self[self.n_axes].strongest.auc > self[0].error

    @property
    def hides(self) -> bool:
        """Whether the strongest probe is close to chance: the interval of its AUC reaches 0.55."""
        return self[self.n_axes].strongest.interval.low <= _GONE

    @property
    def summary(self) -> str:
        """The chosen number, the remaining AUC and the neighbours kept."""
        before, after = self[0], self[self.n_axes]
        if not self.helps:
            return (
                "Covariance directions do not help: on held-out rows the strongest nonlinear probe has AUC "
                f"{before.strongest.auc:.2f} without them, and no number of them that keeps "
                f"{LEAST_NEIGHBORS:.0%} of the neighbours lowers it by more than one standard error. "
                f"{_count(self.n_axes)} removed all the same."
            )
        verdict = "close to chance" if self.hides else "so it still recovers the labels"
        return (
            f"{_count(self.n_axes)} chosen on held-out rows: the strongest nonlinear probe falls from AUC "
            f"{before.strongest.auc:.2f} to {after.strongest.auc:.2f}, {verdict}. Rows keep {after.neighbors:.0%} "
            f"of their {N_NEIGHBORS} nearest neighbours ({before.neighbors:.0%} without these directions)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain Python values, and the summary."""
        return {
            "n_axes": self.n_axes,
            "least_neighbors": LEAST_NEIGHBORS,
            "curve": [point.to_dict() for point in self.curve],
            "summary": self.summary,
        }

    @classmethod
    def of(cls, curve: tuple[CurvePoint, ...]) -> DirectionChoice:
        """Return the number of directions chosen from a curve; see :func:`choose_directions`."""
        allowed = _allowed_points(curve)
        lowest = min(point.strongest.auc for point in allowed)
        enough = next(point for point in allowed if point.strongest.auc <= lowest + point.error)
        return cls(enough.n_axes, curve)


def _allowed_points(curve: Sequence[CurvePoint]) -> list[CurvePoint]:
    """Return the points that keep enough neighbours; if there are none, the point of one direction."""
    numbered = [point for point in curve if point.n_axes > 0]
    return [point for point in numbered if point.neighbors >= LEAST_NEIGHBORS] or numbered[:1]


def _count(n_axes: int) -> str:
    return "1 covariance direction was" if n_axes == 1 else f"{n_axes} covariance directions were"


def choose_directions(rows: Rows, *, random_state: int | None = 0) -> DirectionChoice:
    """Choose how many covariance directions to remove, on rows that the directions were not learned from.

    The rule: consider the numbers of directions for which rows keep at least half of their ten nearest neighbours. Of
    these, take the smallest for which the AUC of the strongest probe is within one standard error of the lowest such
    AUC. If no number keeps half of the neighbours, take 1. The numbers tried are 1, 2, 4, 8, … up to half of the
    dimensions. The standard error is that of the difference of the two AUCs, which are measured on the same rows
    (DeLong, DeLong & Clarke-Pearson 1988).

    The rows are split in half by groups. Directions are learned from one half and tested on the other; then the halves
    are swapped. The strongest probe is the best of three: an RBF support vector machine cross-validated on the unseen
    half, and an RBF and a quadratic one fitted on the half that the directions were learned from. A probe sees at most
    1,000 rows of a half. With several classes, its AUC is the mean of one class against the rest.

    Parameters
    ----------
    rows : Rows
        Two or more classes, at least ten rows of each.
    random_state : int or None, default=0
        For the halves and folds.
    """
    smallest = min(int(min(np.sum(sides > 0), np.sum(sides < 0))) for sides in rows.contrasts)
    if smallest < 2 * _FOLDS:
        raise TaskError(
            f"the number of covariance directions cannot be chosen: that needs {2 * _FOLDS} rows of each class, and "
            f"{smallest} were found. Give a number, such as covariance-difference:5."
        )
    try:
        halves = list(_halves(rows, random_state))
    except ValueError as error:  # scikit-learn also raises it for a single group
        raise TaskError(
            "the number of covariance directions cannot be chosen: the rows cannot be halved so that groups stay whole "
            "and both halves have every class. Give a number, such as covariance-difference:5."
        ) from error
    most = min(half.most for half in halves)
    if most < 1:
        raise TaskError(f"vectors of width {rows.width} have no covariance direction to choose.")
    points = [_measure(halves, 0, random_state)]
    n_axes = 1
    while n_axes <= most:
        points.append(_measure(halves, n_axes, random_state))
        if points[-1].point.neighbors < LEAST_NEIGHBORS:
            break
        n_axes *= 2
    lowest = min(_allowed_points([each.point for each in points]), key=lambda point: point.strongest.auc)
    deviations = next(each.deviations for each in points if each.point is lowest)
    curve = (replace(each.point, error=float(np.linalg.norm(each.deviations - deviations))) for each in points)
    return DirectionChoice.of(tuple(curve))


class _Half(NamedTuple):
    """Directions learned from one half of the rows, and rows of both halves."""

    directions: _Directions
    seen: Matrix
    unseen: Matrix
    seen_sides: list[NDArray[np.float64]]
    unseen_sides: list[NDArray[np.float64]]
    unseen_groups: NDArray[np.int64] | None

    @property
    def most(self) -> int:
        """The largest number of directions to try: half of the dimensions, and less than the number of rows."""
        width = len(self.directions.axes)
        return min(width // 2, width - self.directions.n_means, len(self.seen) - 1)


def _halves(rows: Rows, random_state: int | None) -> Iterator[_Half]:
    """Yield each half of the rows once as the training half."""
    X, groups, contrasts = np.asarray(to_host(rows.X), dtype=np.float64), rows.held_out_groups, rows.contrasts
    half_of = fold_numbers(rows.y if rows.is_multiclass else rows.sides, groups, 2, random_state)
    random = np.random.default_rng(random_state)
    for half in (0, 1):
        learned = np.flatnonzero(half_of != half)
        seen, unseen = (
            np.sort(random.permutation(places)[:_MOST_ROWS]) for places in (learned, np.flatnonzero(half_of == half))
        )
        yield _Half(
            _Directions.of(X[learned], rows.y[learned]),
            X[seen],
            X[unseen],
            [sides[seen] for sides in contrasts],
            [sides[unseen] for sides in contrasts],
            None if groups is None else groups[unseen],
        )


class _Measured(NamedTuple):
    """A point of the curve, and the contribution of each group of rows to the error of its AUC."""

    point: CurvePoint
    deviations: NDArray[np.float64]


class _Probe(NamedTuple):
    """The AUCs of one probe and their deviations, one array per half."""

    recoveries: list[Recovery]
    deviations: list[NDArray[np.float64]]


def _measure(halves: list[_Half], n_axes: int, random_state: int | None) -> _Measured:
    """Return the strongest probe and the share of neighbours kept, averaged over halves and class contrasts."""
    probes = {name: _Probe([], []) for name in ("rbf", "transferred rbf", "transferred quadratic")}
    kept = []
    for half in halves:
        change = half.directions.remove(n_axes)
        seen, unseen, groups = change.apply(half.seen), change.apply(half.unseen), half.unseen_groups
        kept.append(neighbors_kept(half.unseen, unseen))
        parts: dict[str, list[NDArray[np.float64]]] = {name: [] for name in probes}
        for seen_sides, sides in zip(half.seen_sides, half.unseen_sides, strict=True):
            scores = {
                "rbf": held_out_scores(unseen, sides, "rbf", n_folds=_FOLDS, groups=groups, random_state=random_state),
                "transferred rbf": transfer_scores(seen, seen_sides, unseen, "rbf"),
                "transferred quadratic": transfer_scores(seen, seen_sides, unseen, "quadratic"),
            }
            for name, each in scores.items():
                inflation = HELD_OUT_INFLATION if name == "rbf" else 1.0
                interval = auc_interval(sides, each, inflation=inflation, groups=groups)
                probes[name].recoveries.append(Recovery(auc(sides, each), interval))
                parts[name].append(auc_deviations(sides, each, groups))
        for name, of_contrasts in parts.items():
            probes[name].deviations.append(np.mean(of_contrasts, axis=0))
    means = {name: mean_recovery(probe.recoveries) for name, probe in probes.items()}
    strongest = max(means, key=lambda name: means[name].auc)
    deviations = np.concatenate(probes[strongest].deviations) / len(halves)
    return _Measured(CurvePoint(n_axes, means[strongest], float(np.mean(kept)), 0.0), deviations)


def neighbors_kept(before: Matrix, after: Matrix) -> float:
    """Return the mean share of the ten nearest neighbours by cosine that rows keep.

    >>> X = np.random.default_rng(0).normal(size=(50, 5))
    >>> neighbors_kept(X, 2 * X), neighbors_kept(X, X[::-1]) < 0.6
    (1.0, True)
    """
    count = min(N_NEIGHBORS, len(before) - 1)
    nearest = []
    for X in (before, after):
        unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
        cosines = unit @ unit.T
        np.fill_diagonal(cosines, -np.inf)
        nearest.append(np.argpartition(-cosines, count - 1, axis=1)[:, :count])
    shares = [len(np.intersect1d(first, second)) / count for first, second in zip(*nearest, strict=True)]
    return float(np.mean(shares))
