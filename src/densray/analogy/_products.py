"""The vectors that answers come from, and their products with probes, block by block.

Nothing of the size of the vocabulary is kept, except the products themselves where they are small. Given an array on a
device, they are made there and stay there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, array_on, blocks_of, is_foreign, move, namespace, to_host
from densray._vocabulary import row_lengths, unit_rows
from densray.errors import VectorError
from densray.space import WordSpace

Matrix = NDArray[np.float64]
Rows = NDArray[np.int64]
#: Products by the name of their probe: arrays of shape (probes, words), where the vectors lie.
Products = Mapping[str, Array]
#: The lowest and the highest product of each probe.
Ranges = Mapping[str, tuple[Array, Array]]

_BLOCK = 8_192
_KEPT_BYTES = 128 * 2**20
#: Products made at once, and kept, on a device: 1 GiB of float32.
_DEVICE_PRODUCTS = 2**28


class Vocabulary:
    """The words of a space and their vectors, used at unit length.

    Parameters
    ----------
    space : WordSpace
    vectors : array of shape (n_words, d), optional
        In place of the space's own: a PyTorch or CuPy array, say, on whose device all products are then made.
    """

    def __init__(self, space: WordSpace, vectors: Array | None = None) -> None:
        self.space = space
        self.vectors = space.vectors if vectors is None else vectors
        lengths = space.lengths if vectors is None else _checked_lengths(space, vectors)
        xp = namespace(self.vectors)
        one = xp.ones_like(lengths)
        self.scale = xp.where(lengths > 0, one / xp.where(lengths > 0, lengths, one), 0.0 * one)

    def __len__(self) -> int:
        return len(self.space)

    def unit_rows(self, rows: Rows) -> Matrix:
        """Return a few rows as unit vectors in float64, on the host."""
        return unit_rows(np.asarray(to_host(self.take(rows)), dtype=np.float64))

    def take(self, rows: Rows) -> Array:
        """Return a few rows, where the vectors lie."""
        if not is_foreign(self.vectors):
            return np.asarray(self.vectors[rows])
        return namespace(self.vectors).take(self.vectors, array_on(rows, self.vectors), axis=0)

    def block_rows(self, probes: int) -> int:
        """Return how many words to multiply with so many probes at once."""
        return max(1, _DEVICE_PRODUCTS // max(probes, 1)) if is_foreign(self.vectors) else _BLOCK

    def keeps(self, probes: int) -> bool:
        """Return whether the products with so many probes are small enough to be kept."""
        entries = probes * len(self)
        return entries <= _DEVICE_PRODUCTS if is_foreign(self.vectors) else 4 * entries <= _KEPT_BYTES


def _checked_lengths(space: WordSpace, vectors: Array) -> Array:
    """Return the lengths of vectors that are to stand for those of a space, once they are known to be able to."""
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


class Blocks:
    """The products of probes with the unit vectors of a vocabulary, one block of words after the other."""

    def __init__(self, vocabulary: Vocabulary, probes: Mapping[str, Matrix], *, keep: bool = True) -> None:
        self.vocabulary = vocabulary
        ends = np.cumsum([len(probe) for probe in probes.values()]).tolist()
        self.slices = {
            name: slice(end - len(probe), end) for (name, probe), end in zip(probes.items(), ends, strict=True)
        }
        self.matrix = move(np.vstack(list(probes.values())), vocabulary.vectors)
        self.size = vocabulary.block_rows(ends[-1])
        self.kept: list[Array] | None = [] if keep and vocabulary.keeps(ends[-1]) else None

    def _named(self, product: Array) -> Products:
        return {name: product[part, :] for name, part in self.slices.items()}

    def at(self, rows: Rows) -> Products:
        """Return the products with a few rows."""
        scale = self.vocabulary.scale
        scale = namespace(scale).take(scale, array_on(rows, scale), axis=0)
        return self._named(self.matrix @ (self.vocabulary.take(rows) * scale[:, None]).T)

    def __iter__(self) -> Iterator[tuple[int, Products]]:
        vectors, scale = self.vocabulary.vectors, self.vocabulary.scale
        for number, part in enumerate(blocks_of(len(self.vocabulary), self.size)):
            if self.kept is not None and number < len(self.kept):
                product = self.kept[number]
            else:
                block = vectors[part, :]
                product = self.matrix @ (block if is_foreign(block) else np.asarray(block)).T
                product *= scale[part]
                if self.kept is not None:
                    self.kept.append(product)
            yield part.start, self._named(product)

    def ranges(self, names: Sequence[str]) -> dict[str, tuple[Array, Array]]:
        """Return the lowest and highest product of each probe over the vocabulary."""
        xp = namespace(self.matrix)
        found: dict[str, tuple[Array, Array]] = {}
        for _, products in self if names else ():
            for name in names:
                low, high = xp.min(products[name], axis=1), xp.max(products[name], axis=1)
                if name in found:
                    low, high = xp.minimum(low, found[name][0]), xp.maximum(high, found[name][1])
                found[name] = low, high
        return found


def extremes(vocabulary: Vocabulary, axes: Matrix, basis: Matrix) -> tuple[Matrix, Matrix]:
    """Return the lowest and highest coordinate of the vocabulary along axes given in an orthonormal basis."""
    low, high = np.full(len(axes), np.inf), np.full(len(axes), -np.inf)
    xp, axes = namespace(vocabulary.vectors), move(axes, vocabulary.vectors)
    for _, products in Blocks(vocabulary, {"basis": basis}, keep=False):
        coordinates = axes @ products["basis"]
        np.minimum(low, to_host(xp.min(coordinates, axis=1)), out=low)
        np.maximum(high, to_host(xp.max(coordinates, axis=1)), out=high)
    return low, high


def mean_direction(vocabulary: Vocabulary) -> Matrix:
    """Return the unit vector along the mean of the unit vectors of the vocabulary."""
    total = np.zeros(vocabulary.vectors.shape[1])
    for part in blocks_of(len(vocabulary), vocabulary.block_rows(1)):
        total += to_host(vocabulary.scale[part] @ vocabulary.vectors[part, :])
    return total / max(float(np.linalg.norm(total)), 1e-12)
