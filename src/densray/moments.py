"""Weighted moments of rows: the O(d²) statistics that every additive method needs, merged block by block.

Two kinds: :class:`ClassMoments` for labels of two classes, :class:`ScoreMoments` for real scores. Both are sums over
rows, so blocks of a file, workers of a cluster and calls of ``partial_fit`` can each make their own and merge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, array_on, is_foreign, namespace, release_pages, to_host
from densray.errors import LabelError

__all__ = [
    "BLOCK_ROWS",
    "ClassMoments",
    "ColumnScaling",
    "LabelMoments",
    "MomentParts",
    "Moments",
    "ScoreMoments",
    "block_rows",
    "blocks_of",
    "distinct_labels",
    "merge_moments",
    "moments_of_labels",
    "on_common_device",
    "on_host",
]

#: Rows handled at once: large enough for a matrix product to run at full speed, small enough to stay in cache.
BLOCK_ROWS = 16_384
#: Rows whose mean is near enough to that of a block to count from.
REFERENCE_ROWS = 512
#: Entries handled at once on a device, where starting a product costs more than its memory: 2 GiB of float32.
DEVICE_BLOCK_ENTRIES = 2**29


@dataclass(frozen=True)
class Moments:
    """Weight, mean and unnormalised scatter of some rows, in float64."""

    weight: float
    mean: Array  # (d,)
    scatter: Array  # (d, d): sum of weight * (x - mean)(x - mean)ᵀ; None where only the mean is wanted

    @classmethod
    def of(cls, X: Array, weight: Array | None = None, *, scratch: bool = False) -> Moments:
        """Return the moments of the rows of `X`; products run in the precision of `X`, sums in float64.

        With `scratch` the rows may be overwritten.
        """
        xp = namespace(X)
        total = float(X.shape[0]) if weight is None else float(xp.sum(weight))
        ones = xp.ones(X.shape[0], dtype=X.dtype, device=X.device) if weight is None else weight
        if total == 0.0:  # rows that weigh nothing
            shape = X.shape[1]
            zero = xp.zeros((shape, shape), dtype=xp.float64, device=X.device)
            return cls(0.0, zero[0], zero)
        # Any reference point gives the exact scatter once the leftover mean is taken off again:
        # S = Σ w (x-r)(x-r)ᵀ - W δδᵀ with δ = mean - r; r ≈ mean, of some rows, keeps float32 from cancelling.
        reference = _reference(X)
        if scratch:
            X -= reference
        centred = X if scratch else X - reference
        weighted = centred if weight is None else centred * weight[:, None]
        rest = xp.astype(ones @ centred, xp.float64) / total
        scatter = xp.astype(weighted.T @ centred, xp.float64) - total * rest[:, None] * rest[None, :]
        return cls(total, xp.astype(reference, xp.float64) + rest, scatter)

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both sets of rows together (Chan, Golub & LeVeque 1983)."""
        if self.weight == 0.0 or other.weight == 0.0:
            return other if self.weight == 0.0 else self
        weight = self.weight + other.weight
        shift = other.mean - self.mean
        scatter = None
        if self.scatter is not None and other.scatter is not None:
            between = (self.weight * other.weight / weight) * shift[:, None] * shift[None, :]
            scatter = self.scatter + other.scatter + between
        return Moments(weight, self.mean + (other.weight / weight) * shift, scatter)


@dataclass(frozen=True)
class ClassMoments:
    """Moments of each class, by the value of its label."""

    groups: dict[Any, Moments]

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels, the lower one first."""
        return np.array(sorted(self.groups))

    @classmethod
    def of(cls, X: Array, y: Array, classes: Any, weight: Array | None = None, *, scatter: bool = True) -> ClassMoments:
        """Return the moments of the rows of each class, read in blocks; without `scatter`, weights and means only."""
        of_block = _scatters if scatter else _means
        total = cls({})
        for block in blocks_of(X.shape[0], block_rows(X)):
            weights = None if weight is None else weight[block]
            total = total.merge(cls(of_block(X[block, :], y[block], classes, weights)))
            release_pages(X)
        return total

    def merge(self, other: ClassMoments) -> ClassMoments:
        """Return the moments of both sets of rows together."""
        groups = dict(self.groups)
        for value, moments in other.groups.items():
            groups[value] = groups[value].merge(moments) if value in groups else moments
        return ClassMoments(groups)


def _scatters(X: Array, y: Array, classes: Any, weight: Array | None) -> dict[Any, Moments]:
    """Return the moments of each class of a block, from a copy of its rows."""
    xp = namespace(X)
    groups: dict[Any, Moments] = {}
    for value in classes:
        rows = xp.nonzero(y == value)[0]
        if rows.shape[0]:
            weights = None if weight is None else xp.take(weight, rows, axis=0)
            groups[value] = Moments.of(xp.take(X, rows, axis=0), weights, scratch=True)
    return groups


def _means(X: Array, y: Array, classes: Any, weight: Array | None) -> dict[Any, Moments]:
    """Return weight and mean of each class of a block: sums of all classes in one product with the rows."""
    xp = namespace(X)
    shares = xp.stack([xp.astype(y == value, X.dtype) for value in classes])
    if weight is not None:
        shares = shares * weight
    reference = _reference(X)
    sums = xp.astype(shares @ (X - reference), xp.float64)
    totals = to_host(xp.sum(shares, axis=1, dtype=xp.float64)).tolist()
    return {
        value: Moments(total, xp.astype(reference, xp.float64) + sums[row, :] / total, None)
        for row, (value, total) in enumerate(zip(classes, totals, strict=True))
        if total > 0.0
    }


def _reference(X: Array) -> Array:
    """Return the mean of some rows: a point to count all of them from, so that float32 does not cancel."""
    return namespace(X).mean(X[: min(X.shape[0], REFERENCE_ROWS), :], axis=0)


@dataclass(frozen=True)
class ScoreMoments:
    """Sums of rows with and without their scores, about a reference point; enough for any centring of the scores."""

    weight: float  # Σ w
    score: float  # Σ w (l - o)
    reference: Array  # r, (d,)
    rows: Array  # Σ w (x - r)
    scored_rows: Array  # Σ w (l - o) (x - r)
    scored_squares: Array | None  # Σ w l (x - r)(x - r)ᵀ; only the uncentred form needs it, and there o = 0
    origin: float = 0.0  # o, near the mean score: scores may be far from zero
    squared_rows: Array | None = None  # Σ w (x - r)², column by column; only scaled columns need it

    @property
    def classes(self) -> NDArray[Any] | None:
        """None: scores are no classes."""
        return None

    @classmethod
    def of(
        cls, X: Array, y: Array, weight: Array | None = None, *, squares: bool, spread: bool = False
    ) -> ScoreMoments:
        """Return the moments of the rows of `X` with scores `y`, read in blocks."""
        xp = namespace(X)
        total: ScoreMoments | None = None
        origin = 0.0 if squares else float(xp.mean(xp.astype(y[: min(block_rows(X), X.shape[0])], xp.float64)))
        for block in blocks_of(X.shape[0], block_rows(X)):
            part = X[block, :]
            scores = xp.astype(xp.astype(y[block], xp.float64) - origin, X.dtype)
            weights = xp.ones(part.shape[0], dtype=X.dtype, device=X.device) if weight is None else weight[block]
            moments = cls._of_block(part, scores, weights, origin, squares=squares, spread=spread)
            total = moments if total is None else total.merge(moments)
            release_pages(X)
        assert total is not None  # the caller checked that there are rows
        return total

    @classmethod
    def _of_block(
        cls, X: Array, scores: Array, weights: Array, origin: float, *, squares: bool, spread: bool
    ) -> ScoreMoments:
        xp = namespace(X)
        reference = xp.mean(X, axis=0)
        centred = X - reference
        weighted_scores = weights * scores
        both = xp.astype(xp.stack([weights, weighted_scores]) @ centred, xp.float64)
        second = xp.astype((centred * weighted_scores[:, None]).T @ centred, xp.float64) if squares else None
        return cls(
            float(xp.sum(weights, dtype=xp.float64)),
            float(xp.sum(weighted_scores, dtype=xp.float64)),
            xp.astype(reference, xp.float64),
            both[0, :],
            both[1, :],
            second,
            origin,
            xp.astype(weights @ (centred * centred), xp.float64) if spread else None,
        )

    @classmethod
    def from_classes(cls, moments: ClassMoments, *, squares: bool) -> ScoreMoments:
        """Return the same sums from the moments of classes, each label being its class's score."""
        total: ScoreMoments | None = None
        for value, group in moments.groups.items():
            score = float(value)
            zero = group.mean - group.mean
            part = cls(
                group.weight,
                score * group.weight,
                group.mean,
                zero,
                zero,
                score * group.scatter if squares and group.scatter is not None else None,
                squared_rows=None if group.scatter is None else namespace(group.scatter).linalg.diagonal(group.scatter),
            )
            total = part if total is None else total.merge(part)
        assert total is not None
        return total

    def moved_to(self, reference: Array) -> ScoreMoments:
        """Return the same sums about another reference point."""
        shift = self.reference - reference  # x - r' = (x - r) + shift
        rows = self.rows + self.weight * shift
        scored = self.scored_rows + self.score * shift
        squares = self.scored_squares
        if squares is not None:
            cross = self.scored_rows[:, None] * shift[None, :]
            squares = squares + cross + cross.T + self.score * shift[:, None] * shift[None, :]
        squared = self.squared_rows
        if squared is not None:
            squared = squared + 2.0 * shift * self.rows + self.weight * shift * shift
        return ScoreMoments(self.weight, self.score, reference, rows, scored, squares, self.origin, squared)

    def counted_from(self, origin: float) -> ScoreMoments:
        """Return the same sums with scores counted from another number."""
        shift = self.origin - origin
        if shift == 0.0:
            return self
        return ScoreMoments(
            self.weight,
            self.score + self.weight * shift,
            self.reference,
            self.rows,
            self.scored_rows + shift * self.rows,
            None,  # would need the squares without scores
            origin,
            self.squared_rows,
        )

    def merge(self, other: ScoreMoments) -> ScoreMoments:
        """Return the sums of both sets of rows together, about the first one's reference point."""
        moved = other.counted_from(self.origin).moved_to(self.reference)
        squares = None
        if self.scored_squares is not None and moved.scored_squares is not None:
            squares = self.scored_squares + moved.scored_squares
        squared = None
        if self.squared_rows is not None and moved.squared_rows is not None:
            squared = self.squared_rows + moved.squared_rows
        return ScoreMoments(
            self.weight + moved.weight,
            self.score + moved.score,
            self.reference,
            self.rows + moved.rows,
            self.scored_rows + moved.scored_rows,
            squares,
            self.origin,
            squared,
        )


#: Moments of rows with labels of either kind.
LabelMoments = ClassMoments | ScoreMoments


def block_rows(X: Array) -> int:
    """Return how many rows of `X` to handle at once."""
    return max(1, DEVICE_BLOCK_ENTRIES // int(X.shape[1])) if is_foreign(X) else BLOCK_ROWS


def on_host(moments: LabelMoments) -> LabelMoments:
    """Return moments as NumPy arrays, on whatever device their rows were: d × d numbers to store, send and merge."""
    if isinstance(moments, ClassMoments):
        return ClassMoments(
            {
                value: replace(
                    one, mean=to_host(one.mean), scatter=None if one.scatter is None else to_host(one.scatter)
                )
                for value, one in moments.groups.items()
            }
        )
    squares, squared = moments.scored_squares, moments.squared_rows
    return replace(
        moments,
        reference=to_host(moments.reference),
        rows=to_host(moments.rows),
        scored_rows=to_host(moments.scored_rows),
        scored_squares=None if squares is None else to_host(squares),
        squared_rows=None if squared is None else to_host(squared),
    )


def on_common_device(first: LabelMoments, second: LabelMoments) -> tuple[LabelMoments, LabelMoments]:
    """Return two moments on one device: unchanged if they share one, else both as NumPy arrays."""
    means = [
        next(iter(one.groups.values())).mean if isinstance(one, ClassMoments) else one.rows for one in (first, second)
    ]
    if not any(is_foreign(mean) for mean in means):
        return first, second
    places = {(type(mean), str(getattr(mean, "device", "cpu"))) for mean in means}
    return (first, second) if len(places) == 1 else (on_host(first), on_host(second))


class MomentParts(NamedTuple):
    """Which second moments a method needs; the means it always has."""

    scatter: bool  # of the rows of each class
    squares: bool  # of the rows, times their scores
    spread: bool = False  # of each column, for classes from their scatter


def distinct_labels(labels: Array) -> NDArray[Any]:
    """Return the distinct labels in order; of more than two on a device, three: the others stay there."""
    if not is_foreign(labels):
        return np.unique(labels)
    if labels.shape[0] == 0:
        return np.array([])
    xp = namespace(labels)
    low, high = xp.min(labels), xp.max(labels)
    between = xp.astype((labels != low) & (labels != high), xp.int8)
    place = int(xp.argmax(between))
    found = [float(low), float(high)]
    return np.unique([*found, float(labels[place])] if bool(between[place] > 0) else found)


def moments_of_labels(X: Array, labels: Array, weight: Array | None, parts: MomentParts) -> LabelMoments:
    """Return the moments of labelled rows: of classes for up to two distinct labels, of scores for more."""
    distinct = distinct_labels(labels).tolist()
    if len(distinct) <= 2:
        return ClassMoments.of(X, labels, distinct, weight, scatter=parts.scatter)
    if isinstance(distinct[0], str):
        raise LabelError(f"y holds {len(distinct)} different text labels. Use two classes, or numbers.")
    return ScoreMoments.of(X, labels, weight, squares=parts.squares, spread=parts.spread)


def merge_moments(first: LabelMoments, second: LabelMoments, parts: MomentParts) -> LabelMoments:
    """Return the moments of both sets of rows; classes become scores once there are more than two labels."""
    first, second = on_common_device(first, second)
    if isinstance(first, ClassMoments) and isinstance(second, ClassMoments):
        if len({isinstance(value, str) for value in (*first.groups, *second.groups)}) > 1:
            raise LabelError("text labels were seen in one block and numbers in another. Use one kind throughout.")
        both = first.merge(second)
        return both if len(both.groups) <= 2 else _as_scores(both, parts)
    return _as_scores(first, parts).merge(_as_scores(second, parts))


def _as_scores(moments: LabelMoments, parts: MomentParts) -> ScoreMoments:
    if isinstance(moments, ScoreMoments):
        return moments
    texts: list[Any] = [value for value in moments.groups if isinstance(value, str)]
    if texts:
        raise LabelError(
            f"more than two labels were seen, the text {texts[0]!r} among them. Use two classes, or numbers."
        )
    return ScoreMoments.from_classes(moments, squares=parts.squares)


@dataclass(frozen=True)
class ColumnScaling:
    r"""Columns counted from their mean, in their standard deviations: :math:`z = (x - \mu) / \sigma`.

    A constant column has no deviation to divide by and stays as it is (σ = 1), as in scikit-learn's StandardScaler.
    """

    mean: NDArray[np.float64]  # (d,)
    spread: NDArray[np.float64]  # (d,): σ

    @classmethod
    def of_moments(cls, moments: LabelMoments, precision: float) -> ColumnScaling:
        """Return the scaling of the rows that moments are of; `precision` is the rounding unit of those rows."""
        if isinstance(moments, ClassMoments):  # what the classes are called does not matter
            moments = ScoreMoments.from_classes(ClassMoments(dict(enumerate(moments.groups.values()))), squares=False)
        assert moments.squared_rows is not None  # moment_parts asked for it
        shift = to_host(moments.rows) / moments.weight
        mean = to_host(moments.reference) + shift
        spread = np.sqrt(np.maximum(to_host(moments.squared_rows) / moments.weight - shift * shift, 0.0))
        spread[spread <= 8.0 * precision * np.abs(mean)] = 1.0  # what rounding leaves of a constant
        return cls(mean, spread)

    @classmethod
    def of_rows(cls, X: Array, weight: Array | None, precision: float) -> ColumnScaling:
        """Return the scaling of rows, read in blocks."""
        unlabelled = namespace(X).zeros(X.shape[0], dtype=X.dtype, device=X.device)
        return cls.of_moments(ScoreMoments.of(X, unlabelled, weight, squares=False, spread=True), precision)

    def rows(self, X: Array) -> Array:
        """Return scaled rows, in their own precision."""
        mean, spread = (array_on(part, X, dtype=X.dtype) for part in (self.mean, self.spread))
        return (X - mean) / spread

    def moments(self, moments: LabelMoments) -> LabelMoments:
        """Return the moments that the scaled rows have; their origin is not moved, which no difference feels."""
        if isinstance(moments, ClassMoments):
            return ClassMoments({value: self._of_group(group) for value, group in moments.groups.items()})
        spread = array_on(self.spread, moments.rows)
        squares = moments.scored_squares
        return replace(
            moments,
            reference=moments.reference / spread,
            rows=moments.rows / spread,
            scored_rows=moments.scored_rows / spread,
            scored_squares=None if squares is None else squares / (spread[:, None] * spread[None, :]),
        )

    def _of_group(self, group: Moments) -> Moments:
        spread = array_on(self.spread, group.mean)
        return Moments(group.weight, group.mean / spread, group.scatter / (spread[:, None] * spread[None, :]))

    def axes(self, axes: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Return axes of the scaled columns as orthonormal axes of the columns as they are.

        A coordinate :math:`w^\top z` is :math:`(w / \sigma)^\top x` less a constant, so that :math:`w / \sigma` reads
        the rows in the same order; later axes are made orthogonal to earlier ones, in their own half-space.
        """
        Q, R = np.linalg.qr((axes / self.spread).T)
        return np.ascontiguousarray((Q * np.where(np.diag(R) < 0, -1.0, 1.0)).T)


def blocks_of(n_rows: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    """Yield slices that cover `n_rows` rows, `size` at a time."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
