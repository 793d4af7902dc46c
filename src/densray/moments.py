"""Weighted moments of rows: the O(d²) statistics of additive methods, merged block by block.

Two kinds: :class:`ClassMoments` for labels of two classes, :class:`ScoreMoments` for real scores. Both are sums over
rows, so blocks of a file, workers of a cluster and calls of ``partial_fit`` can compute their own and merge them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from densray._arrays import (
    BLOCK_ROWS,
    HALF_TYPES,
    Array,
    ConvertedRows,
    block_rows,
    blocks_of,
    column_sums,
    distinct_labels,
    in_blocks,
    is_foreign,
    is_tensor,
    joined_scatter,
    namespace,
    part_of_rows,
    scatter_parts,
    summed_product,
    take_rows,
    to_host,
    type_name,
    whole_rows,
)
from densray.errors import LabelError

__all__ = [
    "ClassMoments",
    "LabelMoments",
    "MomentParts",
    "Moments",
    "ScoreMoments",
    "merge_moments",
    "moments_of_labels",
    "on_common_device",
    "on_host",
]

#: Number of rows whose mean is close enough to that of a block to serve as reference point.
REFERENCE_ROWS = 512
#: Rows that are summed at once if only means are needed; :func:`_is_exact` accounts for the rounding.
SUMMED_ROWS = 2**18
#: Largest error of a mean difference, in rounding units, before rows are centred first.
LARGEST_AMPLIFICATION = 400.0


@dataclass(frozen=True)
class Moments:
    """Weight, mean and unnormalised scatter of some rows, in float64."""

    weight: float
    mean: Array  # (d,)
    scatter: Array  # (d, d): sum of weight * (x - mean)(x - mean)ᵀ; None if only the mean is needed

    @classmethod
    def of(cls, X: Array, weight: Array | None = None, *, members: Array | None = None) -> Moments:
        """Return the moments of the rows at `members`, or of all; products keep their precision, sums are float64."""
        return cls.with_sums(X, weight, None, members=members)[0]

    @classmethod
    def with_sums(
        cls, X: Array, weight: Array | None, factors: Array | None, *, members: Array | None = None
    ) -> tuple[Moments, Array]:
        """Return the moments, and the sum of each row of `factors` times the rows, from one centred copy of a block.

        Each block has a reference point near its mean; on a device, all blocks share one, which saves small operations.
        """
        common = reference_point(X, members) if is_foreign(X) else None
        n_rows = int((X if members is None else members).shape[0])
        blocks = in_blocks(X, lambda block: _Sums.of_block(X, weight, factors, members, block, common), n_rows=n_rows)
        if common is not None:
            return reduce(_Sums.add, blocks, next(blocks).in_float64()).finish()
        moments, sums = next(blocks).finish()
        for more, its in (block.finish() for block in blocks):
            moments, sums = moments.merge(more), sums + its
        return moments, sums

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

    by_class: dict[Any, Moments]

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels, the lower one first."""
        return np.array(sorted(self.by_class))

    @classmethod
    def of(cls, X: Array, y: Array, classes: Any, weight: Array | None = None, *, scatter: bool = True) -> ClassMoments:
        """Return the moments of the rows of each class, read in blocks; without `scatter`, weights and means only."""
        if not scatter:
            means = _class_means(X, y, classes, weight, centred=False)
            return means if _is_exact(means, X) else _class_means(X, y, classes, weight, centred=True)
        total = cls({})
        for block in blocks_of(X.shape[0], X.shape[0] if is_foreign(X) else BLOCK_ROWS):  # in file order
            members = {value: namespace(X).nonzero(y[block] == value)[0] + block.start for value in classes}
            moments = {value: Moments.of(X, weight, members=at) for value, at in members.items() if at.shape[0]}
            total = total.merge(cls(moments))
        return total

    def merge(self, other: ClassMoments) -> ClassMoments:
        """Return the moments of both sets of rows together."""
        shared = {one: self.by_class[one].merge(other.by_class[one]) for one in self.by_class if one in other.by_class}
        return ClassMoments(self.by_class | other.by_class | shared)


class _Sums(NamedTuple):
    """Sums over rows relative to a reference point r."""

    reference: Array
    weight: Array  # Σ w
    factors: Array  # Σ f of each factor, in a column; 0 if there is none
    rows: Array  # Σ w (x - r), and Σ f (x - r) of each factor
    squares: list[Array]  # Σ w (x - r)(x - r)ᵀ, see scatter_parts

    @classmethod
    def of_block(
        cls,
        X: Array,
        weight: Array | None,
        factors: Array | None,
        members: Array | None,
        block: slice,
        reference: Array | None,
    ) -> _Sums:
        """Return the sums over a block of rows, or over a block of the rows at `members`."""
        xp = namespace(X)
        place: Any = block if members is None else members[block]
        part = part_of_rows(X, block) if members is None else take_rows(X, place)
        reference = reference_point(part) if reference is None else reference
        centred = minus(part, reference, scratch=members is not None)
        total: Array = part.shape[0]
        sums: Array = 0.0
        del part  # keep only one copy of a block in memory
        if weight is None and factors is None:
            rows = column_sums(centred)[None, :]
        else:
            ones = xp.ones(centred.shape[0], dtype=X.dtype, device=X.device) if weight is None else weight[place]
            left = ones[None, :] if factors is None else xp.concat([ones[None, :], factors[:, place]])
            rows, sums = summed_product(left, centred), xp.sum(left, axis=1, dtype=xp.float64)[:, None]
            total, sums = sums[0, 0], sums[1:, :]
        if weight is not None:
            centred *= xp.sqrt(ones)[:, None]
        return cls(reference, total, sums, rows, scatter_parts(centred))

    def in_float64(self) -> _Sums:
        """Return the same sums with float64 squares, so that `add` can accumulate in them."""
        xp = namespace(self.rows)
        return self._replace(squares=[xp.astype(part, xp.float64, copy=False) for part in self.squares])

    def add(self, other: _Sums) -> _Sums:
        """Return the sums of both sets of rows with the same reference point; accumulates the squares in place."""
        for number, squares in enumerate(other.squares):
            self.squares[number] += squares
        return self._replace(
            weight=self.weight + other.weight, factors=self.factors + other.factors, rows=self.rows + other.rows
        )

    def finish(self) -> tuple[Moments, Array]:
        """Return the moments, and the sums of factors times rows."""
        # The scatter is exact for any reference point r once the remaining mean is subtracted:
        # S = Σ w (x-r)(x-r)ᵀ - W δδᵀ with δ = mean - r; r near the mean avoids cancellation in float32.
        xp = namespace(self.rows)
        origin, total = xp.astype(self.reference, xp.float64), float(self.weight)
        rest = self.rows[0, :] / (total or 1.0)  # rows of zero weight have no mean
        squares = xp.astype(joined_scatter(self.squares), xp.float64, copy=False)
        moments = Moments(total, origin + rest, squares - total * rest[:, None] * rest[None, :])
        return moments, self.rows[1:, :] + self.factors * origin[None, :]


def _class_means(X: Array, y: Array, classes: Any, weight: Array | None, *, centred: bool) -> ClassMoments:
    """Return weight and mean of each class, from sums of the raw rows or of rows that are centred first."""
    xp = namespace(X)
    shares = [xp.astype(y == value, X.dtype) for value in classes]
    shares = shares if weight is None else [share * weight for share in shares]
    reference = reference_point(X) if centred else None
    both = xp.stack(shares) if is_tensor(X) and not isinstance(X, ConvertedRows) else None  # one read of the rows

    def of_block(block: slice) -> list[Array]:
        rows = X[block, :] if reference is None else X[block, :] - reference
        if both is None:
            return [share[block] @ rows for share in shares]
        return list(summed_product(both[:, block], rows))

    # rows used unchanged need no copy, hence no blocks
    at_once = int(X.shape[0]) if reference is None and both is not None else min(block_rows(X), SUMMED_ROWS)
    parts = list(in_blocks(X, of_block, at_once=at_once))
    origin = 0.0 if reference is None else xp.astype(reference, xp.float64)
    by_class = {}
    for number, (value, share) in enumerate(zip(classes, shares, strict=True)):
        total = float(xp.sum(share, dtype=xp.float64))
        if total > 0.0:
            sums = xp.sum(xp.stack([part[number] for part in parts]), axis=0, dtype=xp.float64)
            by_class[value] = Moments(total, origin + sums / total, None)
    return ClassMoments(by_class)


def _is_exact(moments: ClassMoments, X: Array) -> bool:
    """Return whether plain sums give the difference of means to the last digits, without cancellation of a common mean.

    The sum of K rows has a rounding error of about √K units in the last place; the difference may be much smaller.
    """
    means = [to_host(one.mean) for one in moments.by_class.values()]
    if len(means) != 2:
        return False
    largest, difference = max(map(np.linalg.norm, means)), np.linalg.norm(means[1] - means[0])
    rounding = np.sqrt(min(X.shape[0], SUMMED_ROWS)) * largest
    return bool(rounding <= LARGEST_AMPLIFICATION * difference)


def reference_point(X: Array, members: Array | None = None) -> Array:
    """Return the mean of some evenly spread rows: a reference point that avoids cancellation in float32."""
    step = max(1, int((X if members is None else members).shape[0]) // REFERENCE_ROWS)
    some = X[::step, :] if members is None else whole_rows(take_rows(X, members[::step]))
    return namespace(X).mean(some, axis=0)


def minus(X: Array, reference: Array, *, scratch: bool) -> Array:
    """Return a widened copy of rows minus a point; rows marked `scratch` are changed in place."""
    if isinstance(X, ConvertedRows):
        return X.source - reference if type_name(X.source) in HALF_TYPES and X.change is None else X[:, :] - reference
    if scratch:
        X -= reference
    return X if scratch else X - reference


@dataclass(frozen=True)
class ScoreMoments:
    """Sums of rows with and without their scores, about a reference point; enough for any centring of the scores."""

    weight: float  # Σ w
    score: float  # Σ w (l - o)
    reference: Array  # r, (d,)
    rows: Array  # Σ w (x - r)
    scored_rows: Array  # Σ w (l - o) (x - r)
    scored_squares: Array | None  # Σ w l (x - r)(x - r)ᵀ; only for the uncentred form, where o = 0
    origin: float = 0.0  # o, near the mean score: scores may be far from zero
    squared_rows: Array | None = None  # Σ w (x - r)² per column; only for scaled columns

    @property
    def classes(self) -> NDArray[Any] | None:
        """None: scores are not classes."""
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
        sums = xp.astype(xp.stack([weights, weighted_scores]) @ centred, xp.float64)  # both sums in one product
        scored_squares = xp.astype((centred * weighted_scores[:, None]).T @ centred, xp.float64) if squares else None
        return cls(
            weight=float(xp.sum(weights, dtype=xp.float64)),
            score=float(xp.sum(weighted_scores, dtype=xp.float64)),
            reference=xp.astype(reference, xp.float64),
            rows=sums[0, :],
            scored_rows=sums[1, :],
            scored_squares=scored_squares,
            origin=origin,
            squared_rows=xp.astype(weights @ (centred * centred), xp.float64) if spread else None,
        )

    @classmethod
    def from_classes(cls, moments: ClassMoments, *, squares: bool) -> ScoreMoments:
        """Return the same sums from the moments of classes; the score of a row is the label of its class."""
        total: ScoreMoments | None = None
        for value, one in moments.by_class.items():
            score = float(value)
            zero = one.mean - one.mean
            part = cls(
                weight=one.weight,
                score=score * one.weight,
                reference=one.mean,
                rows=zero,
                scored_rows=zero,
                scored_squares=score * one.scatter if squares and one.scatter is not None else None,
                squared_rows=None if one.scatter is None else namespace(one.scatter).linalg.diagonal(one.scatter),
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
        return replace(
            self, reference=reference, rows=rows, scored_rows=scored, scored_squares=squares, squared_rows=squared
        )

    def counted_from(self, origin: float) -> ScoreMoments:
        """Return the same sums with scores measured from another origin."""
        shift = self.origin - origin
        if shift == 0.0:
            return self
        score, scored_rows = self.score + self.weight * shift, self.scored_rows + shift * self.rows
        # scored squares would need the squares without scores
        return replace(self, score=score, scored_rows=scored_rows, scored_squares=None, origin=origin)

    def merge(self, other: ScoreMoments) -> ScoreMoments:
        """Return the sums of both sets of rows together, about the first one's reference point."""
        moved = other.counted_from(self.origin).moved_to(self.reference)
        squares = None
        if self.scored_squares is not None and moved.scored_squares is not None:
            squares = self.scored_squares + moved.scored_squares
        squared = None
        if self.squared_rows is not None and moved.squared_rows is not None:
            squared = self.squared_rows + moved.squared_rows
        return replace(
            self,
            weight=self.weight + moved.weight,
            score=self.score + moved.score,
            rows=self.rows + moved.rows,
            scored_rows=self.scored_rows + moved.scored_rows,
            scored_squares=squares,
            squared_rows=squared,
        )


#: Moments of rows with labels of either kind.
LabelMoments = ClassMoments | ScoreMoments


def on_host(moments: LabelMoments) -> LabelMoments:
    """Return moments as NumPy arrays, whatever the device of their rows: d × d numbers to store, send and merge."""
    if isinstance(moments, ClassMoments):
        return ClassMoments({value: replace(one, **_host_arrays(one)) for value, one in moments.by_class.items()})
    return replace(moments, **_host_arrays(moments))


def _host_arrays(moments: ScoreMoments | Moments) -> dict[str, Any]:
    values = {field.name: getattr(moments, field.name) for field in fields(moments)}
    return {name: to_host(value) for name, value in values.items() if is_foreign(value)}


def on_common_device(first: LabelMoments, second: LabelMoments) -> tuple[LabelMoments, LabelMoments]:
    """Return two moments on one device: unchanged if they share one, else both as NumPy arrays."""
    means = [
        next(iter(one.by_class.values())).mean if isinstance(one, ClassMoments) else one.rows for one in (first, second)
    ]
    if not any(is_foreign(mean) for mean in means):
        return first, second
    places = {(type(mean), str(getattr(mean, "device", "cpu"))) for mean in means}
    return (first, second) if len(places) == 1 else (on_host(first), on_host(second))


class MomentParts(NamedTuple):
    """Which second moments a method needs, in addition to the means."""

    scatter: bool  # of the rows of each class
    squares: bool  # of the rows, times their scores
    spread: bool = False  # of each column; for classes, from their scatter


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
        if len({isinstance(value, str) for value in (*first.by_class, *second.by_class)}) > 1:
            raise LabelError("text labels were seen in one block and numbers in another. Use one kind throughout.")
        both = first.merge(second)
        return both if len(both.by_class) <= 2 else _as_scores(both, parts)
    return _as_scores(first, parts).merge(_as_scores(second, parts))


def _as_scores(moments: LabelMoments, parts: MomentParts) -> ScoreMoments:
    if isinstance(moments, ScoreMoments):
        return moments
    texts: list[Any] = [value for value in moments.by_class if isinstance(value, str)]
    if texts:
        raise LabelError(
            f"more than two labels were seen, the text {texts[0]!r} among them. Use two classes, or numbers."
        )
    return ScoreMoments.from_classes(moments, squares=parts.squares)
