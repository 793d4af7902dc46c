"""Axes as orthonormal rows: eigenvectors, completed to a basis, oriented, repeated, and found in scaled columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigh_tridiagonal, qr

from densray._arrays import (
    Array,
    ConvertedRows,
    array_on,
    block_rows,
    in_blocks,
    is_foreign,
    move,
    namespace,
    rows_of_a_product,
    symmetric_eigh,
    take_rows,
    tensor_core_products,
    to_host,
)
from densray.errors import VectorError
from densray.moments import ClassMoments, LabelMoments, Moments, ScoreMoments, minus, reference_point
from densray.pairs import PairWeights


def complete_basis(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the axes followed by further orthonormal rows that make them a full basis.

    One Householder reflection per axis; the added rows do not depend on the signs of the given ones.
    """
    count, width = axes.shape
    if count == width:
        return axes
    signs = np.sign(axes[np.arange(count), np.argmax(np.abs(axes), axis=1)])
    sign_fixed = axes * signs[:, None]
    rest = _reflect(sign_fixed[0])[1:] if count == 1 else qr(sign_fixed.T, mode="full")[0][:, count:].T
    return np.vstack([axes, rest])


def _reflect(axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows of the Householder reflection that takes the first unit vector to ± `axis`."""
    v = axis.copy()
    v[0] += 1.0 if axis[0] >= 0.0 else -1.0
    H: NDArray[np.float64] = np.eye(axis.size) - (2.0 / (v @ v)) * np.outer(v, v)
    return H


def orient(axes: NDArray[np.float64], toward: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the axes with fixed signs: the first along `toward`, the others by their largest entry."""
    pivots = np.argmax(np.abs(axes), axis=1)
    signs = np.sign(axes[np.arange(len(axes)), pivots])
    along = axes[0] @ toward
    if abs(along) > 1e-12 * np.linalg.norm(toward):
        signs[0] = np.sign(along)
    oriented: NDArray[np.float64] = axes * signs[:, None]
    return oriented


def repeat_in_complement(
    X: Array, count: int, find: Callable[[Array], NDArray[np.float64] | None]
) -> NDArray[np.float64]:
    """Return `count` orthonormal axes, each what `find` returns inside the complement of the earlier ones.

    Fewer where `find` returns None: it found nothing there.
    """
    axes = np.empty((0, X.shape[1]))
    for _ in range(count):
        basis = complete_basis(axes)[len(axes) :] if len(axes) else None
        found = find(X) if basis is None else find(product(X, move(basis, X).T))
        if found is None:
            return axes
        axis = found if basis is None else found @ basis
        axis = axis - (axes @ axis) @ axes  # orthogonal to the last digit
        axes = np.vstack([axes, axis / np.linalg.norm(axis)])
    return axes


def product(X: Array, matrix: Array) -> Array:
    """Return the rows times a matrix; of rows that are converted by blocks, in the type they are converted to."""
    if not isinstance(X, ConvertedRows):
        return X @ matrix
    parts = list(in_blocks(X, lambda block: X[block, :] @ matrix))
    return parts[0] if len(parts) == 1 else namespace(X).concat(parts)


#: Width up to which a whole decomposition takes no longer than the steps of an iteration.
NARROW = 64
#: Most steps of the iteration (on a device, where starting an operation takes time, at most the width over 16), and
#: steps between two looks at whether it is done.
LANCZOS_STEPS, LANCZOS_ROUND = 144, 12
#: Share of its size below which a matrix does not lead out of a subspace: steps beyond would be rounding.
INVARIANT = 1e-11
#: Added to a length that may be zero.
TINY = float(np.finfo(np.float64).tiny)


def leading_axis(
    A: Array, toward: NDArray[np.float64] | None = None
) -> tuple[float, NDArray[np.float64], float] | None:
    """Return the largest eigenvalue of a symmetric matrix, its eigenvector and the gap to the next eigenvalue.

    By Lanczos steps where the matrix lies; None where more of them would be needed than the whole decomposition is
    worth. The residual r bounds the angle to the eigenvector by r / gap; r ≤ 1e-11 gap, or rounding, ends the
    iteration.

    Parameters
    ----------
    A : array of shape (d, d)
        In float64.
    toward : array of shape (d,), optional
        A direction that the eigenvector is expected near.
    """
    xp, width = namespace(A), int(A.shape[0])
    start = _any_direction(width)
    if toward is not None and np.linalg.norm(toward) > 0.0:
        start = 0.5 * start + toward / np.linalg.norm(toward)
    steps = min(LANCZOS_STEPS, width // 16) if is_foreign(A) else min(LANCZOS_STEPS, width - 1)
    basis = xp.zeros((steps + 1, width), dtype=xp.float64, device=A.device)
    basis[0, :] = array_on(start / np.linalg.norm(start), A, dtype=xp.float64)
    known, diagonal, beside = basis[:1, :], [], []
    for step in range(steps):
        image, along = _less_along(A @ basis[step, :], known)
        if not is_foreign(A):  # once more, where the image nearly lies in what is known
            image, _ = _less_along(image, known)  # on a device every operation takes time: the residual tells there
        length = xp.linalg.vector_norm(image) + TINY
        diagonal.append(along[step])
        beside.append(length)
        basis[step + 1, :] = image / length
        known = basis[: step + 2, :]
        if (step + 1) % LANCZOS_ROUND and step + 1 < steps:
            continue
        on, off = to_host(xp.stack([*diagonal, *beside])).reshape(2, -1)  # a device is asked once
        ends = np.flatnonzero(off <= INVARIANT * max(np.abs(on).max(), off.max()))
        count = int(ends[0]) + 1 if ends.size else len(on)
        values, vectors = eigh_tridiagonal(on[:count], off[: count - 1])
        size, gap = float(np.abs(values).max()), float(values[-1] - values[-2]) if count > 1 else 0.0
        residual = abs(float(off[count - 1] * vectors[-1, -1]))
        if residual > max(1e-11 * gap, 4e-15 * size):
            continue
        found = array_on(vectors[:, -1].copy(), A, dtype=xp.float64) @ known[:count, :]
        apart = float(xp.linalg.vector_norm(A @ found - float(values[-1]) * found))
        axis = to_host(found)
        length = float(np.linalg.norm(axis))
        if abs(length - 1.0) < 1e-8 and apart <= max(1e-9 * gap, 1e-12 * size):
            return float(values[-1]), axis / length, gap
    return None


@cache
def _any_direction(width: int) -> NDArray[np.float64]:
    """Return a vector of about unit length, for all to read."""
    direction = np.random.default_rng(0).normal(scale=1.0 / np.sqrt(width), size=width)
    direction.flags.writeable = False
    return direction


def _less_along(vector: Array, basis: Array) -> tuple[Array, Array]:
    """Return a vector less what of it lies along orthonormal rows, and its coordinates on them."""
    along = basis @ vector
    if hasattr(vector, "addmv_"):  # PyTorch's: one operation, in place
        return vector.addmv_(basis.T, along, alpha=-1.0), along
    return vector - along @ basis, along


class Axes(NamedTuple):
    """Eigenvectors of a symmetric matrix."""

    eigenvalues: NDArray[np.float64]  # descending
    vectors: NDArray[np.float64]  # as rows
    n_signals: int  # how many eigenvalues are positive beyond rounding
    gap: float  # between the first eigenvalue and the next; zero where that was not computed


def principal_axes(
    A: Array, n_components: int | None, precision: float, *, toward: NDArray[np.float64] | None = None
) -> Axes:
    """Return the eigenvectors of the largest eigenvalues of a symmetric matrix.

    Where eigenvalues vanish their eigenvectors are arbitrary: they are replaced by the completion of the others,
    which is a function of the data and not of rounding. One axis is searched for near `toward`, without the others.
    """
    width = A.shape[0]
    count = width if n_components is None else n_components
    xp = namespace(A)
    norm = float(xp.linalg.matrix_norm(A))
    if not np.isfinite(norm):
        raise VectorError("products of the rows of X overflow. Scale the vectors, e.g. to unit length.")
    tolerance = 8.0 * precision * np.sqrt(width) * norm
    if count == 1 and width > NARROW:
        found = leading_axis(A, toward)
        if found is not None and abs(found[0]) > tolerance:
            return Axes(np.array([found[0]]), found[1][None, :], int(found[0] > tolerance), found[2])
    if count <= width // 4 and xp is np:  # few axes: no need for the whole decomposition
        values, vectors = eigh(A, subset_by_index=(width - count, width - 1))
        if np.all(np.abs(values) > tolerance):
            gap = float(values[-1] - values[-2]) if count > 1 else 0.0
            return Axes(values[::-1].copy(), vectors.T[::-1].copy(), int(np.sum(values > tolerance)), gap)
    values, vectors = (to_host(part) for part in symmetric_eigh(A))
    values, axes = values[::-1].copy(), vectors.T[::-1].copy()
    null = np.abs(values) <= tolerance
    if null[:count].any() and not null.all():
        axes[null] = complete_basis(axes[~null])[int(np.sum(~null)) :]
    gap = float(values[0] - values[1]) if width > 1 else 0.0
    return Axes(values[:count], axes[:count], int(np.sum(values > tolerance)), gap)


#: Most samples of a class on which products on tensor cores are compared with those of float64, and the most numbers
#: of a class in them, though never fewer than two samples.
FAST_SAMPLES, FAST_SAMPLE_ENTRIES = 8, 2**25


class FastSample(NamedTuple):
    """Some rows of a class, and what tensor cores and float32 make of them; PyTorch only."""

    rows: Array  # (k, m, d): k samples of m rows, as they were given
    origin: Array | None  # (d,): what they are counted from before they are multiplied; None: as they are
    roots: Array | None  # (k, m): the root of each row's weight; None: all weigh one
    sums: Array  # (k, d): of the rows, in float32
    products: list[Array]  # (k, d, d) each, see tensor_core_products

    @classmethod
    def of_class(cls, X: ConvertedRows, members: Array, weight: Array | None) -> FastSample:
        """Return samples of a class, given by the places of its rows.

        They are multiplied as all rows are: as many rows in a product, beside as many other products as in a block,
        since how tensor cores add up depends on both.
        """
        width, total = int(X.shape[1]), int(members.shape[0])
        size = min(rows_of_a_product(X), total)
        beside = max(1, min(block_rows(X), total) // size)
        count = min(FAST_SAMPLES, max(2, FAST_SAMPLE_ENTRIES // (width * max(size, width))), beside)
        places = members[:: max(1, total // (beside * size))][: beside * size]
        given, used, shape = take_rows(X, places), count * size, (count, size, width)
        if X.fast == "as given":
            rows, origin, roots = given.source, None, None
            sums = rows[:used].reshape(shape).sum(1, dtype=X.dtype)
        else:
            origin, roots = reference_point(X, members), given.source.new_ones(beside * size, dtype=X.dtype)
            roots = roots if weight is None else weight[places].sqrt()
            rows = minus(given, origin, scratch=False) * roots[:, None]
            roots = roots[:used].reshape(count, size)
            sums = (roots[:, None, :] @ rows[:used].reshape(shape))[:, 0]
        products = [found[:count].clone() for found in tensor_core_products(rows, size)]
        return cls(given.source[:used].reshape(shape).clone(), origin, roots, sums, products)

    def errors(self, q: Array) -> Array:
        """Return of each sample what is wrong with its scatter times an axis and with its sum, and its weight."""
        rows = self.rows.double()
        roots = q.new_ones(rows.shape[:2]) if self.roots is None else self.roots.double()
        if self.origin is not None:
            rows -= self.origin.double()
            rows *= roots[:, :, None]
        high, *cross = self.products
        made = high.double() @ q
        for part in cross:
            made += part.double() @ q + part.double().mT @ q
        wrong = made - ((rows @ q)[:, None, :] @ rows)[:, 0]  # of the squares about the origin
        sums, weight = (roots[:, None, :] @ rows)[:, 0], roots.square().sum(1)[:, None]
        off = self.sums.double() - sums
        wrong -= (sums * (off @ q)[:, None] + off * (sums @ q)[:, None]) / weight
        return namespace(q).concat([wrong, off, weight], axis=1)


def fast_angle(
    samples: Sequence[FastSample], moments: ClassMoments, weights: PairWeights, axis: NDArray[np.float64], gap: float
) -> float:
    """Return the degrees by which products on tensor cores may turn the first eigenvector of the pair matrix.

    What is wrong with them, E, is seen on some samples of the lower and of the higher class. To first order E turns the
    eigenvector q of A by the part of E q beside q, over the gap to the next eigenvalue. What samples share grows with
    the rows; by what they differ, rounding is as often up as down, and it grows with their root. Three times both.
    """
    low, high = (moments.groups[value] for value in sorted(moments.groups))
    shift, total = to_host(high.mean - low.mean), low.weight + high.weight
    xp, count = namespace(samples[0].sums), min(len(one.rows) for one in samples)
    q = array_on(axis, samples[0].sums, dtype=xp.float64)
    found = to_host(xp.stack([one.errors(q)[:count] for one in samples]))  # a device is asked once
    wrong, off, weight = np.split(found, [axis.size, 2 * axis.size], axis=2)
    weight, groups = weight.mean(axis=1), np.array([low.weight, high.weight])
    turned = np.tensordot(weights.scatter_factor(groups, total) * groups / weight[:, 0], wrong, 1)
    off = off[1] / weight[1] - off[0] / weight[0]
    turned += 2.0 * weights.unlike * high.weight * low.weight * (off * (shift @ axis) + shift * (off @ axis)[:, None])
    turned -= (turned @ axis)[:, None] * axis
    shared = turned.mean(axis=0)
    apart = float(np.sum((turned - shared) ** 2)) / max(count - 1, 1)
    used = min(1.0, float(weight.sum()) / total)
    size = np.sqrt(max(float(shared @ shared) - apart / count, 0.0) + apart * used)
    return float(np.degrees(3.0 * size / gap)) if gap > 0.0 else 90.0


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
        if isinstance(X, ConvertedRows):
            return ConvertedRows(X.source, X.dtype, X.out, lambda rows: (rows - mean) / spread)
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
