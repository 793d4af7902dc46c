r"""The pair matrix A: the mathematics of DensRay, in closed form.

.. math::
    A = \alpha_{\neq} \sum_{l(v) \neq l(w)} d_{vw} d_{vw}^\top
      - \alpha_{=} \sum_{l(v) = l(w)} d_{vw} d_{vw}^\top, \qquad d_{vw} = e_v - e_w,

over ordered pairs (Dufter & Schütze 2019, eq. 2), or with each :math:`d_{vw}` scaled to unit length (section 2.4).
No function here loops over pairs of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, blocks_of, is_foreign, is_tensor, namespace, to_host
from densray.errors import Argument, DensRayError, NotAdditiveError
from densray.moments import ClassMoments, LabelMoments, ScoreMoments

__all__ = [
    "PairWeights",
    "class_pair_matrix",
    "pair_matrix",
    "score_pair_matrix",
    "toward_higher_label",
    "unit_pair_matrix",
    "unlike_pair_matrix",
]

#: Rows per block of the n × n matrix of distances: large enough for fast products; blocks on the diagonal are computed
#: in full, so smaller blocks waste less.
DISTANCE_BLOCK_ROWS = 512
#: The same on a device.
DEVICE_BLOCK_ROWS = 8192
#: Rows that a device multiplies together.
TILE_ROWS = 128
#: Share of near pairs above which a pair of blocks is computed in double precision, about its own mean.
NEAR_PAIR_SHARE = 0.01


class PairWeights(NamedTuple):
    """Weight of one unlike pair and of one like pair."""

    unlike: float
    like: float

    @classmethod
    def balanced(cls, high: float, low: float) -> PairWeights:
        """Return the inverse numbers of ordered unlike and like pairs for classes of these sizes (section 2.4)."""
        return cls(1.0 / (2.0 * high * low), 1.0 / (high * high + low * low))

    @classmethod
    def resolve(cls, weights: object, high: float, low: float) -> PairWeights:
        """Return the weights for "balanced" or a pair (unlike, like), with classes of these sizes."""
        if isinstance(weights, str) and weights == "balanced":
            return cls.balanced(high, low)
        try:
            unlike, like = (float(value) for value in weights)  # type: ignore[attr-defined]
        except (TypeError, ValueError):
            raise DensRayError(
                Argument("weights", weights),
                " is given; 'balanced' or a pair (unlike, like) such as (0.5, 0.5) is needed.",
            ) from None
        if not (np.isfinite(unlike) and np.isfinite(like)) or unlike < 0 or like < 0 or unlike == like == 0:
            raise DensRayError(
                Argument("weights", weights), " is given; two numbers of at least 0, not both 0, are needed."
            )
        return cls(unlike, like)

    def scatter_factor(self, weight: Any, total: float) -> Any:
        """Return the coefficient in A of the scatter of a class of this weight, among rows of this total weight.

        Σ_same = 2 Σ_c n_c S_c and Σ_different = 2 (n S - Σ_c n_c S_c), with S = Σ_c S_c + (n₊n₋/n) δδᵀ. Collecting the
        terms in S_c makes equal classes with equal weights cancel exactly, which leaves 2 α n₊n₋ δδᵀ.
        """
        return 2.0 * (self.unlike * (total - weight) - self.like * weight)


def pair_matrix(moments: LabelMoments, weights: object, *, center: bool) -> Array:
    """Return A for plain differences, from the moments of two classes or of rows with scores.

    Parameters
    ----------
    moments : ClassMoments or ScoreMoments
    weights : "balanced" or (float, float)
        Weight of an unlike and of a like pair; ignored for scores.
    center : bool
        Subtract the mean of the scores first; ignored for classes.
    """
    if isinstance(moments, ScoreMoments):
        return score_pair_matrix(moments, center=center)
    low, high = (moments.by_class[value].weight for value in sorted(moments.by_class))
    return class_pair_matrix(moments, PairWeights.resolve(weights, high, low))


def toward_higher_label(moments: LabelMoments) -> NDArray[np.float64]:
    """Return the difference of the class means, or the covariance of the scores with each coordinate."""
    if isinstance(moments, ScoreMoments):
        return score_covariance(moments)
    low, high = (moments.by_class[value].mean for value in sorted(moments.by_class))
    return to_host(high - low)


def class_pair_matrix(moments: ClassMoments, weights: PairWeights) -> Array:
    """Return A for two classes and plain differences (eq. 2), on the device of the moments."""
    low, high = (moments.by_class[value] for value in sorted(moments.by_class))
    total = low.weight + high.weight
    shift = high.mean - low.mean
    A = (2.0 * weights.unlike * high.weight * low.weight) * shift[:, None] * shift[None, :]
    for one in (low, high):
        factor = weights.scatter_factor(one.weight, total)
        if factor != 0.0:
            A = A + factor * one.scatter
    return A


def unlike_pair_matrix(moments: ClassMoments) -> NDArray[np.float64]:
    """Return the sum of d dᵀ over ordered pairs of different classes."""
    return to_host(class_pair_matrix(moments, PairWeights(1.0, 0.0)))


def score_pair_matrix(moments: ScoreMoments, *, center: bool) -> NDArray[np.float64]:
    """Return A = -Σ l(v) l(w) d dᵀ for real scores and plain differences (appendix of the paper)."""
    scored = score_covariance(moments, center=center)
    # A = 2 m mᵀ - 2 (Σ l) Xᵀ diag(l) X with m = Xᵀ l; centred scores have Σ l = 0.
    A = 2.0 * scored[:, None] * scored[None, :]
    if not center:
        if moments.scored_squares is None:
            raise NotAdditiveError(
                "statistics gathered with ",
                Argument("center_labels", True),
                " lack the second moments that ",
                Argument("center_labels", False),
                " needs. Fit again with one setting.",
            )
        A = A - 2.0 * moments.score * to_host(moments.scored_squares)
    return A


def score_covariance(moments: ScoreMoments, *, center: bool = True) -> NDArray[np.float64]:
    """Return m = Σ l (x - r): if centred, the (unnormalised) covariance of the scores with each coordinate."""
    mean = moments.score / moments.weight if center else 0.0
    return to_host(moments.scored_rows - mean * moments.rows)


@dataclass(frozen=True)
class _Block:
    """Rows of one class that are processed together."""

    label: int  # number of its class
    index: Array  # row numbers
    rows: Array  # x
    row_weight: Array  # u, a column
    weighted_rows: Array  # u x, with a further column u
    square: Array  # |x|², a column
    left_factor: Array  # [-2 x, |x|², 1]
    right_factor: Array  # [x, 1, |x|²]: left_factor @ right_factorᵀ are the squared distances
    max_square: float  # largest |x|²

    @classmethod
    def of(cls, label: int, index: Array, rows: Array, row_weight: Array) -> _Block:
        """Return a block with the factors of its distance products."""
        xp = namespace(rows)
        square = xp.sum(rows * rows, axis=1, keepdims=True)
        one = xp.ones_like(square)
        return cls(
            label=label,
            index=index,
            rows=rows,
            row_weight=row_weight,
            weighted_rows=_padded([rows * row_weight, row_weight]),
            square=square,
            left_factor=_padded([-2.0 * rows, square, one]),
            right_factor=_padded([rows, one, square]),
            max_square=float(xp.max(square)),
        )

    def about(self, reference: Array) -> _Block:
        """Return the block about another reference point, in double precision."""
        xp = namespace(self.rows)
        rows, row_weight = (xp.astype(part, xp.float64) for part in (self.rows, self.row_weight))
        return _Block.of(self.label, self.index, rows - reference, row_weight)


def unit_pair_matrix(
    X: Array,
    row_weight: Array,
    *,
    classes: Sequence[Array] | None = None,
    couplings: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    r"""Return :math:`\sum_{vw} c_{l(v)l(w)} u_v u_w\, d_{vw} d_{vw}^\top / \|d_{vw}\|^2` over ordered pairs.

    Parameters
    ----------
    X : array of shape (n, d)
    row_weight : array of shape (n,)
        u, one number per row: its weight (classes), or weight times score.
    classes : sequence of index arrays, optional
        The rows of each class (default: all rows are one class).
    couplings : array of shape (n_classes, n_classes), optional
        c, one number for each pair of classes (default: -1).

    Notes
    -----
    With :math:`W_{vw} = c\, u_v u_w / \|d_{vw}\|^2` the sum is the graph Laplacian
    :math:`2 X^\top (\mathrm{diag}(W 1) - W) X`. W is symmetric, so only blocks on and above its diagonal are computed:
    half of two n × n × d products. Distances come from one product of rows widened by two columns. For distances that
    are small relative to the lengths, :math:`2 - 2\cos` would cancel: such pairs are left out of W, and their unit
    :math:`d d^\top` is added directly. Pairs at distance zero have no weight. Blocks with many such pairs (tight
    clusters) are computed in double precision, about their own mean.
    """
    xp = namespace(X)
    rows = X - xp.mean(X, axis=0)  # leaves differences unchanged; float32 loses fewer digits
    largest = float(xp.max(xp.abs(rows)))
    rows = rows / largest if largest > 0 else rows  # unit differences do not depend on the scale
    row_weight = xp.astype(row_weight, X.dtype)
    if classes is None:
        classes = [xp.arange(X.shape[0], device=X.device)]
    if couplings is None:
        couplings = np.array([[-1.0]])
    blocks = [
        _Block.of(label, index, xp.take(rows, index, axis=0), xp.take(row_weight, index, axis=0)[:, None])
        for label, members in enumerate(classes)
        for index in (members[part] for part in _parts(members))
    ]
    laplacian = _Laplacian(X, [block.rows.shape[0] for block in blocks])
    for i, left in enumerate(blocks):
        for j in range(i, len(blocks)):
            laplacian.add_block_pair(i, j, left, blocks[j], float(couplings[left.label, blocks[j].label]))
        laplacian.finish_row(i, left)
    return to_host(laplacian.total())


def _padded(columns: list[Array]) -> Array:
    """Return columns side by side; on a device, padded with zeros to a multiple of eight for fast products."""
    xp, width = namespace(columns[0]), sum(int(part.shape[1]) for part in columns)
    if is_foreign(columns[0]) and width % 8:
        columns = [*columns, xp.zeros_like(columns[0][:, : 8 - width % 8])]
    return xp.concat(columns, axis=1)


def _parts(rows: Array) -> list[slice]:
    """Return blocks of rows; on a device, of equal size, so that no product is small."""
    count = int(rows.shape[0])
    if not is_foreign(rows):
        return list(blocks_of(count, DISTANCE_BLOCK_ROWS))
    size = -(-count // -(-count // DEVICE_BLOCK_ROWS))
    return list(blocks_of(count, size + -size % TILE_ROWS))


class _Laplacian:
    """Accumulates Xᵀ (diag(W1) - W) X over pairs of blocks."""

    def __init__(self, X: Array, sizes: list[int]) -> None:
        self.xp = namespace(X)
        self.whole = X
        width = X.shape[1]
        self.degree = [self._zeros(size) for size in sizes]  # Σ_w c u_w / |d|², for each row v
        self.half = self._zeros((width, width))  # the symmetric part of this is Xᵀ (diag(W1) - W) X
        self.near_pairs_sum = self._zeros((width, width))  # over near pairs, which are not in W; each counted once
        self.row_sum: Array = 0.0  # Σ_j c W_ij X_j of the current row of blocks, twice for j ≠ i

    def _zeros(self, shape: int | tuple[int, int]) -> Array:
        return self.xp.zeros(shape, dtype=self.xp.float64, device=self.whole.device)

    def add_block_pair(self, i: int, j: int, left: _Block, right: _Block, coupling: float) -> None:
        """Add all pairs of a row of one block with a row of the other."""
        xp, same = self.xp, i == j
        distances, near = _distances(left, right, same=same)
        if near is not None:
            if _share(near) > NEAR_PAIR_SHARE:
                self.near_pairs_sum += coupling * self._near_in_double(left, right, same=same)
                return
            self.near_pairs_sum += coupling * self._near_one_by_one(near, left, right, same=same)
            distances[near] = xp.inf
        self._add_inverse(i, j, left, right, coupling, _inverse(distances))

    def _add_inverse(self, i: int, j: int, left: _Block, right: _Block, coupling: float, inverse: Array) -> None:
        """Add all pairs of two blocks, given the inverse squared distances."""
        xp, width = self.xp, int(self.half.shape[0])
        product = inverse @ right.weighted_rows  # column d: Σ_w u_w / |d|²
        self.degree[i] += coupling * xp.astype(product[:, width], xp.float64)
        if i != j:
            self.degree[j] += coupling * xp.astype(left.weighted_rows[:, width] @ inverse, xp.float64)
        self.row_sum = self.row_sum + (coupling if i == j else 2.0 * coupling) * product[:, :width]

    def finish_row(self, i: int, left: _Block) -> None:
        """Add one row of blocks, once all of its pairs, including those with earlier rows, are known."""
        xp, width = self.xp, int(self.half.shape[0])
        rest = left.rows * xp.astype(self.degree[i], left.rows.dtype)[:, None] - self.row_sum
        self.half += xp.astype(left.weighted_rows[:, :width].T @ rest, xp.float64)
        self.row_sum = 0.0

    def _near_in_double(self, left: _Block, right: _Block, *, same: bool) -> Array:
        """Return the sum over the pairs of two blocks of close rows, in double precision and about their own mean."""
        xp, width = self.xp, int(self.half.shape[0])
        reference = xp.mean(xp.astype(left.rows, xp.float64), axis=0)
        left, right = left.about(reference), right.about(reference)
        distances, near = _distances(left, right, same=same)
        total = self._zeros(self.near_pairs_sum.shape)
        if near is not None:
            total += self._near_one_by_one(near, left, right, same=same)
            distances[near] = xp.inf
        inverse = _inverse(distances)
        product = inverse @ right.weighted_rows
        cross = left.weighted_rows[:, :width].T @ product[:, :width]
        pairs = -(cross + cross.T)
        of_right = left.weighted_rows[:, width] @ inverse
        for block, degree in ((left, product[:, width : width + 1]), (right, of_right[:, None])):
            pairs += (block.rows * (degree * block.row_weight)).T @ block.rows
        return total + (0.5 * pairs if same else pairs)  # within one block every pair is counted twice

    def _near_one_by_one(self, near: Array, left: _Block, right: _Block, *, same: bool) -> Array:
        """Return the sum of unit d dᵀ over the marked pairs, from the rows themselves."""
        xp = self.xp
        total = self._zeros(self.near_pairs_sum.shape)
        v, w = xp.nonzero(near)
        if same:
            v, w = v[v < w], w[v < w]
        for part in blocks_of(v.shape[0]):
            ends = []
            for block, place in ((left, v[part]), (right, w[part])):
                rows = xp.take(self.whole, xp.take(block.index, place, axis=0), axis=0)
                ends.append((xp.astype(rows, xp.float64), xp.take(block.row_weight[:, 0], place, axis=0)))
            d = ends[0][0] - ends[1][0]
            square = xp.sum(d * d, axis=1)
            safe = xp.where(square > 0, square, xp.ones_like(square))  # pairs at distance zero have no weight
            weight = xp.astype(ends[0][1], xp.float64) * xp.astype(ends[1][1], xp.float64) / safe
            total += (d * weight[:, None]).T @ d
        return total

    def total(self) -> Array:
        """Return the sum over ordered pairs."""
        return self.half + self.half.T + 2.0 * self.near_pairs_sum


def _distances(left: _Block, right: _Block, *, same: bool) -> tuple[Array, Array | None]:
    """Return squared distances, and a mask of those too small to be accurate; None if there are none.

    2 - 2 cos has an error of about eps, so pairs below a share of their squared lengths are computed from their
    difference.
    """
    xp = namespace(left.rows)
    distances = left.left_factor @ right.right_factor.T
    if same:
        distances = _without_diagonal(distances)
    closeness = _closeness(left)
    if float(xp.min(distances)) > closeness * (left.max_square + right.max_square):
        return distances, None
    near = distances <= closeness * (left.square + right.square.T)
    return distances, near if bool(xp.any(near)) else None


def _closeness(block: _Block) -> float:
    """Return the share of the squared lengths below which a squared distance is inaccurate."""
    return 1e-2 if block.rows.dtype == namespace(block.rows).float32 else 1e-6


def _share(marks: Array) -> float:
    xp = namespace(marks)
    return float(xp.mean(xp.astype(marks, xp.float64)))


def _inverse(distances: Array) -> Array:
    """Return 1 / distances, in place where that is possible."""
    if hasattr(distances, "reciprocal_"):  # PyTorch
        return distances.reciprocal_()
    xp = namespace(distances)
    return xp.divide(1.0, distances, out=distances) if xp is np or is_tensor(distances) else 1.0 / distances


def _without_diagonal(square: Array) -> Array:
    """Return the matrix with an infinite diagonal, because a word forms no pair with itself."""
    xp = namespace(square)
    if hasattr(square, "fill_diagonal_"):  # PyTorch
        square.fill_diagonal_(xp.inf)
    elif hasattr(xp, "fill_diagonal"):  # NumPy and CuPy
        xp.fill_diagonal(square, xp.inf)
    else:
        square[xp.eye(square.shape[0], dtype=xp.bool, device=square.device)] = xp.inf
    return square
