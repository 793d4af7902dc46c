"""Weighted moments of rows: the O(d²) statistics that every additive method needs, merged block by block.

Two kinds: :class:`ClassMoments` for labels of two classes, :class:`ScoreMoments` for real scores. Both are sums over
rows, so blocks of a file, workers of a cluster and calls of ``partial_fit`` can each make their own and merge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from densray._arrays import (
    BLOCK_ROWS,
    HALF_TYPES,
    Array,
    blocks_of,
    given_rows,
    in_blocks,
    is_foreign,
    namespace,
    take_rows,
    to_host,
    type_name,
)
from densray.errors import LabelError

__all__ = [
    "ClassMoments",
    "LabelMoments",
    "MomentParts",
    "Moments",
    "ScoreMoments",
    "distinct_labels",
    "is_finite",
    "merge_moments",
    "moments_of_labels",
    "on_common_device",
    "on_host",
]

#: Rows whose mean is near enough to that of a block to count from.
REFERENCE_ROWS = 512
#: Rows whose plain sum is rounded by no more than :func:`_means` reckons with.
SUMMED_ROWS = 65_536
#: How much larger than the rounding unit the error of a mean difference may be before rows are centred first.
LARGEST_AMPLIFICATION = 200.0


@dataclass(frozen=True)
class Moments:
    """Weight, mean and unnormalised scatter of some rows, in float64."""

    weight: float
    mean: Array  # (d,)
    scatter: Array  # (d, d): sum of weight * (x - mean)(x - mean)ᵀ; None where only the mean is wanted

    @classmethod
    def of(cls, X: Array, weight: Array | None = None) -> Moments:
        """Return the moments of the rows of `X`; products run in the precision of `X`, sums in float64."""
        xp = namespace(X)
        total = float(X.shape[0]) if weight is None else float(xp.sum(weight))
        if total == 0.0:  # rows that weigh nothing
            shape = X.shape[1]
            zero = xp.zeros((shape, shape), dtype=xp.float64, device=X.device)
            return cls(0.0, zero[0], zero)
        # Any reference point gives the exact scatter once the leftover mean is taken off again:
        # S = Σ w (x-r)(x-r)ᵀ - W δδᵀ with δ = mean - r; r ≈ mean, of some rows, keeps float32 from cancelling.
        reference = _reference(X)
        centred = _minus(X, reference)
        weighted = centred if weight is None else centred * weight[:, None]
        ones = xp.ones(X.shape[0], dtype=X.dtype, device=X.device) if weight is None else weight
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
        if not scatter:
            found = _sums(X, y, classes, weight, centred=False)
            return found if _is_exact(found, X) else _sums(X, y, classes, weight, centred=True)
        total = cls({})
        for value, members in _class_members(X, y, classes):
            for part in in_blocks(X, _moments_of_members(X, weight, members), n_rows=members.shape[0]):
                total = total.merge(cls({value: part}))
        return total

    def merge(self, other: ClassMoments) -> ClassMoments:
        """Return the moments of both sets of rows together."""
        groups = dict(self.groups)
        for value, moments in other.groups.items():
            groups[value] = groups[value].merge(moments) if value in groups else moments
        return ClassMoments(groups)


def _class_members(X: Array, y: Array, classes: Any) -> Iterator[tuple[Any, Array]]:
    """Yield labels with the places of their rows: on a device of all, else block by block, as files are read."""
    xp = namespace(X)
    for block in blocks_of(X.shape[0], X.shape[0] if is_foreign(X) else BLOCK_ROWS):
        for value in classes:
            members = xp.nonzero(y[block] == value)[0]
            if members.shape[0]:
                yield value, members + block.start


def _moments_of_members(X: Array, weight: Array | None, members: Array) -> Callable[[slice], Moments]:
    xp = namespace(X)

    def of_block(block: slice) -> Moments:
        rows = members[block]
        return Moments.of(take_rows(X, rows), None if weight is None else xp.take(weight, rows, axis=0))

    return of_block


def _sums(X: Array, y: Array, classes: Any, weight: Array | None, *, centred: bool) -> ClassMoments:
    """Return weight and mean of each class: sums of all classes in one product with the rows, centred first or not."""
    xp = namespace(X)

    def of_block(block: slice) -> ClassMoments:
        rows = X[block, :]
        shares = xp.stack([xp.astype(y[block] == value, X.dtype) for value in classes])
        if weight is not None:
            shares = shares * weight[block]
        reference = _reference(rows) if centred else None
        sums = xp.astype(shares @ (rows if reference is None else rows - reference), xp.float64)
        origin = 0.0 if reference is None else xp.astype(reference, xp.float64)
        totals = to_host(xp.sum(shares, axis=1, dtype=xp.float64)).tolist()
        return ClassMoments(
            {
                value: Moments(total, origin + sums[row, :] / total, None)
                for row, (value, total) in enumerate(zip(classes, totals, strict=True))
                if total > 0.0
            }
        )

    total = ClassMoments({})
    for part in in_blocks(X, of_block, most=SUMMED_ROWS):
        total = total.merge(part)
    return total


def _is_exact(moments: ClassMoments, X: Array) -> bool:
    """Return whether plain sums give the difference of means to the last digits: not where a common mean cancels.

    The sum of K rows is rounded by about √K units of its own size, and the difference may be much smaller.
    """
    means = [to_host(one.mean) for one in moments.groups.values()]
    if len(means) != 2:
        return False
    largest, difference = max(map(np.linalg.norm, means)), np.linalg.norm(means[1] - means[0])
    rounding = np.sqrt(min(X.shape[0], SUMMED_ROWS)) * largest
    return bool(rounding <= LARGEST_AMPLIFICATION * difference)


def _reference(X: Array) -> Array:
    """Return the mean of some rows: a point to count all of them from, so that float32 does not cancel."""
    return namespace(X).mean(X[: min(X.shape[0], REFERENCE_ROWS), :], axis=0)


def _minus(X: Array, reference: Array) -> Array:
    """Return rows less a point; half precision is widened in the same pass."""
    if type_name(unconverted := given_rows(X)) in HALF_TYPES and X.change is None:
        return unconverted - reference
    return X[:, :] - reference


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
        origin = 0.0 if squares else float(xp.mean(xp.astype(y[: min(BLOCK_ROWS, X.shape[0])], xp.float64)))

        def of_block(block: slice) -> ScoreMoments:
            part = X[block, :]
            scores = xp.astype(xp.astype(y[block], xp.float64) - origin, X.dtype)
            weights = xp.ones(part.shape[0], dtype=X.dtype, device=X.device) if weight is None else weight[block]
            return cls._of_block(part, scores, weights, origin, squares=squares, spread=spread)

        for moments in in_blocks(X, of_block):
            total = moments if total is None else total.merge(moments)
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


def is_finite(moments: LabelMoments) -> bool:
    """Return whether all sums are finite; a number that is not makes its sums so."""
    if isinstance(moments, ScoreMoments):
        sums = [moments.reference, moments.rows, moments.scored_rows, moments.scored_squares]
    else:
        sums = [part for one in moments.groups.values() for part in (one.mean, one.scatter)]
    return all(np.isfinite(float(namespace(part).sum(part))) for part in sums if part is not None)


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
    """Return the distinct labels in order; of more than two numbers, three: nothing is sorted."""
    if not is_foreign(labels) and labels.dtype.kind not in "fiu":
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
