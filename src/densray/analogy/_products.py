"""The unit vectors of a vocabulary, and their products with factors, block by block.

A factor is a vector that every word is multiplied with: a query, an axis, an example. Nothing of the size of the
vocabulary is kept, except the products if they are small. The products of an array on a device are
computed and kept there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, array_on, blocks_of, is_foreign, move, namespace, to_host
from densray._vocabulary import row_lengths, unit_rows
from densray.analogy._located import RowNumbers
from densray.errors import VectorError
from densray.space import WordSpace

Matrix = NDArray[np.float64]
#: Products by the name of their factors: arrays of shape (factors, words), on the device of the vectors.
Products = Mapping[str, Array]
#: The lowest and the highest product of each factor over the vocabulary, by the name of the factors.
Ranges = Mapping[str, tuple[Array, Array]]

_BLOCK = 8_192
_CACHED_BYTES = 128 * 2**20
#: Products computed at once, and cached, on a device: 1 GiB of float32.
_DEVICE_PRODUCTS = 2**28


class UnitVectors:
    """The vectors of all words of a space, used at unit length.

    Parameters
    ----------
    space : WordSpace
    vectors : array of shape (n_words, d), optional
        Used instead of the vectors of the space: for example a PyTorch or CuPy array, on whose device all products are
        computed.
    """

    def __init__(self, space: WordSpace, vectors: Array | None = None) -> None:
        self.space = space
        self.vectors = space.vectors if vectors is None else vectors
        lengths = space.lengths if vectors is None else _checked_lengths(space, vectors)
        xp = namespace(self.vectors)
        one = xp.ones_like(lengths)
        self.inverse_lengths = xp.where(lengths > 0, one / xp.where(lengths > 0, lengths, one), 0.0 * one)

    def __len__(self) -> int:
        return len(self.space)

    def at(self, rows: RowNumbers) -> Matrix:
        """Return a few rows as unit vectors in float64, on the host."""
        return unit_rows(np.asarray(to_host(self.take(rows)), dtype=np.float64))

    def take(self, rows: RowNumbers) -> Array:
        """Return a few rows at their own length, on the device of the vectors."""
        if not is_foreign(self.vectors):
            return np.asarray(self.vectors[rows])
        return namespace(self.vectors).take(self.vectors, array_on(rows, self.vectors), axis=0)

    def block_rows(self, factors: int) -> int:
        """Return the number of words to multiply at once with this many factors."""
        return max(1, _DEVICE_PRODUCTS // max(factors, 1)) if is_foreign(self.vectors) else _BLOCK

    def can_cache_products(self, factors: int) -> bool:
        """Return whether the products with this many factors are small enough to be cached."""
        entries = factors * len(self)
        return entries <= _DEVICE_PRODUCTS if is_foreign(self.vectors) else 4 * entries <= _CACHED_BYTES


def _checked_lengths(space: WordSpace, vectors: Array) -> Array:
    """Return the lengths of vectors that replace those of a space; raise if they are invalid."""
    xp = namespace(vectors)
    if getattr(vectors, "ndim", 0) != 2 or vectors.shape[0] != len(space):
        raise VectorError(
            f"vectors of shape {tuple(np.shape(vectors))} were given for the {len(space):,} words of '{space.name}'; "
            "one row per word is needed, in the order of the words."
        )
    if vectors.dtype not in (xp.float32, xp.float64):
        raise VectorError(
            f"the vectors are {str(vectors.dtype).removeprefix('torch.')}; float32 or float64 is needed. "
            "Convert them first."
        )
    lengths = xp.linalg.vector_norm(vectors, axis=1) if is_foreign(vectors) else row_lengths(vectors)
    bad = xp.nonzero(~xp.isfinite(lengths))[0]
    if bad.shape[0]:
        row = int(bad[0])
        raise VectorError(
            f"the vectors of {bad.shape[0]} of {len(space):,} words are not finite, or too large to be squared "
            f"(first: row {row}, '{space.words[row]}'). Repair them, or leave those words out."
        )
    return lengths


@dataclass(frozen=True)
class ProductBlock:
    """Some words of the vocabulary, and the products of the factors with their unit vectors.

    Attributes
    ----------
    rows : int array
        The rows of the words.
    products : mapping
    ranges : mapping
        Ranges of the factors for which they were measured.
    """

    rows: RowNumbers
    products: Products
    ranges: Ranges


class Blocks:
    """The vocabulary in blocks of words.

    Parameters
    ----------
    unit : UnitVectors
    factors : mapping from a name to an array of shape (any, d)
    cache : bool
        Whether products are cached for the next pass if they are small enough.
    ranges : mapping, optional
        The known ranges of factors; `measure_ranges` computes others.
    """

    def __init__(
        self, unit: UnitVectors, factors: Mapping[str, Matrix], *, cache: bool = True, ranges: Ranges | None = None
    ) -> None:
        self.unit = unit
        self.ranges = ranges or {}
        ends = np.cumsum([len(factor) for factor in factors.values()]).tolist()
        self._slices = {
            name: slice(end - len(factor), end) for (name, factor), end in zip(factors.items(), ends, strict=True)
        }
        stacked = np.vstack([np.zeros((0, unit.vectors.shape[1])), *factors.values()])
        self._factors = move(stacked, unit.vectors)
        self._size = unit.block_rows(len(stacked))
        self._cached: list[Array] | None = [] if cache and unit.can_cache_products(len(stacked)) else None

    def _block(self, rows: RowNumbers, product: Array) -> ProductBlock:
        return ProductBlock(rows, {name: product[part, :] for name, part in self._slices.items()}, self.ranges)

    def at(self, rows: RowNumbers) -> ProductBlock:
        """Return a few words as a block."""
        inverse = self.unit.inverse_lengths
        inverse = namespace(inverse).take(inverse, array_on(rows, inverse), axis=0)
        return self._block(rows, self._factors @ (self.unit.take(rows) * inverse[:, None]).T)

    def __iter__(self) -> Iterator[ProductBlock]:
        vectors, inverse = self.unit.vectors, self.unit.inverse_lengths
        for number, part in enumerate(blocks_of(len(self.unit), self._size)):
            if self._cached is not None and number < len(self._cached):
                product = self._cached[number]
            else:
                block = vectors[part, :]
                product = self._factors @ (block if is_foreign(block) else np.asarray(block)).T
                product *= inverse[part]
                if self._cached is not None:
                    self._cached.append(product)
            yield self._block(np.arange(part.start, part.start + product.shape[1]), product)

    def measure_ranges(self, names: Sequence[str]) -> None:
        """Find the lowest and highest product of these factors over the vocabulary, in one pass."""
        xp = namespace(self._factors)
        ranges: dict[str, tuple[Array, Array]] = {}
        for block in self if names else ():
            for name in names:
                low, high = xp.min(block.products[name], axis=1), xp.max(block.products[name], axis=1)
                if name in ranges:
                    low, high = xp.minimum(low, ranges[name][0]), xp.maximum(high, ranges[name][1])
                ranges[name] = low, high
        self.ranges = ranges


def coordinate_ranges(unit: UnitVectors, axes: Matrix, basis: Matrix) -> tuple[Matrix, Matrix]:
    """Return the lowest and highest coordinate of the vocabulary along axes in an orthonormal basis."""
    low, high = np.full(len(axes), np.inf), np.full(len(axes), -np.inf)
    xp, axes = namespace(unit.vectors), move(axes, unit.vectors)
    for block in Blocks(unit, {"basis": basis}, cache=False):
        coordinates = axes @ block.products["basis"]
        np.minimum(low, to_host(xp.min(coordinates, axis=1)), out=low)
        np.maximum(high, to_host(xp.max(coordinates, axis=1)), out=high)
    return low, high


def mean_direction(unit: UnitVectors) -> Matrix:
    """Return the unit vector along the mean of the unit vectors of the vocabulary."""
    total = np.zeros(unit.vectors.shape[1])
    for part in blocks_of(len(unit), unit.block_rows(1)):
        total += to_host(unit.inverse_lengths[part] @ unit.vectors[part, :])
    return total / max(float(np.linalg.norm(total)), 1e-12)
