"""Removing a concept: one affine map, and its exceptions for the words of a space."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray import errors
from densray._arrays import HALF_TYPES, Array, ConvertedRows, is_tensor, map_rows, move, namespace, to_host, type_name
from densray.errors import (
    CoverageError,
    DensRayError,
    SpaceError,
    VectorError,
    name_some,
)

if TYPE_CHECKING:
    from densray.space import WordSpace

__all__ = ["Erasure", "HasAxes", "Removal", "equalized"]


class HasAxes(Protocol):
    """What an erasure asks of a fitted rotation: its axes, orthonormal rows, the concept first."""

    @property
    def components_(self) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class Erasure:
    r"""What removes a concept from vectors: one affine map, whichever method found it.

    .. math::
        x \mapsto x - s \left( b + (x - o) L R \right)

    for rows :math:`x`, with strength :math:`s`. For a rotation :math:`L = R^\top` are its first axes, :math:`b` is
    zero, and so is the origin :math:`o` unless one is given: a row at the origin stays where it is, and after the
    erasure every row has the origin's coordinates on the axes. LEACE reads one set of directions and takes another
    away (:math:`L \neq R^\top`), about the mean :math:`o`.

    Attributes
    ----------
    name : str
        The method that found it.
    left : array of shape (d, k)
        The directions along which vectors are read.
    right : array of shape (k, d)
        The directions that are taken away.
    origin : array of shape (d,)
        The point that is left where it is; zero for a rotation, the mean for LEACE.
    shift : array of shape (d,)
        What is taken away from every vector besides (the mean, for double-hard debiasing).
    rotation : Rotation, optional
        The fitted rotation whose first axes these are, where one found them.

    Examples
    --------
    >>> import numpy as np
    >>> from densray import MeanDifference
    >>> rotation = MeanDifference().fit(np.array([[1.0, 5.0], [-1.0, 5.0]]), [1, -1])
    >>> Erasure.of(rotation).erase(np.array([[3.0, 4.0]]))
    array([[0., 4.]])
    """

    name: str
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    origin: NDArray[np.float64]
    shift: NDArray[np.float64]
    rotation: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def along(
        cls,
        axes: NDArray[np.float64],
        *,
        name: str = "axes",
        origin: ArrayLike | None = None,
        shift: NDArray[np.float64] | None = None,
    ) -> Erasure:
        """Return the erasure of the span of orthonormal rows, about `origin` (zero where it is None)."""
        zero = np.zeros(axes.shape[1])
        point = zero if origin is None else np.array(to_host(origin), dtype=np.float64)
        if point.shape != zero.shape or not np.isfinite(point).all():
            raise VectorError(
                f"origin has shape {point.shape}; {zero.size} finite numbers, one per dimension, are needed."
            )
        return cls(name, axes.T.copy(), axes.copy(), point, zero if shift is None else shift)

    @classmethod
    def of(
        cls, rotation: HasAxes, n_axes: int = 1, *, origin: ArrayLike | None = None, name: str | None = None
    ) -> Erasure:
        """Return the erasure of the first axes of a fitted rotation; more than it has are an error.

        Parameters
        ----------
        rotation : fitted rotation
        n_axes : int, default=1
            How many axes to remove, counted from the concept.
        origin : array of shape (d,), optional
            The point that stays where it is, such as the mean of hidden states; absent: zero.
        name : str, optional
            The method that found the axes; absent: the class of the rotation.

        Examples
        --------
        >>> import numpy as np
        >>> from densray import MeanDifference
        >>> rotation = MeanDifference().fit(np.array([[1.0, 5.0], [-1.0, 5.0]]), [1, -1])
        >>> Erasure.of(rotation, origin=[2.0, 7.0]).erase(np.array([[3.0, 4.0], [2.0, 7.0]]))
        array([[2., 4.],
               [2., 7.]])
        """
        components = getattr(rotation, "components_", None)
        if components is None:
            raise errors.RotationNotFittedError(
                f"This {type(rotation).__name__} instance is not fitted yet. Call fit(X, y) first."
            )
        found = len(components)
        if not isinstance(n_axes, int | np.integer) or isinstance(n_axes, bool) or not 0 <= n_axes <= found:
            raise DensRayError(
                f"n_axes={n_axes!r} is given; {type(rotation).__name__} has {found} axes to erase. "
                "Use fewer, or fit with a larger n_components."
            )
        axes = np.asarray(components[:n_axes], dtype=np.float64)
        return replace(cls.along(axes, name=name or type(rotation).__name__, origin=origin), rotation=rotation)

    @property
    def is_linear(self) -> bool:
        """Whether zero stays zero: the map then does the same to vectors of any length."""
        return not self.origin.any() and not self.shift.any()

    @property
    def width(self) -> int:
        """The width of the vectors it was fitted on."""
        return int(self.left.shape[0])

    @property
    def rank(self) -> int:
        """How many dimensions are removed."""
        return int(np.linalg.matrix_rank(self.left @ self.right)) if self.left.size else 0

    @property
    def span(self) -> NDArray[np.float64]:
        """Orthonormal rows that span what is taken away."""
        if not self.right.size:
            return self.right
        _, sizes, rows = np.linalg.svd(self.right, full_matrices=False)
        return np.asarray(rows[sizes > sizes[0] * 1e-10])

    def erase(self, X: Array, *, strength: float = 1.0) -> Array:
        """Return vectors without the concept, in the same coordinates and precision.

        Parameters
        ----------
        X : array of shape (n, d)
        strength : float, default=1.0
            Share of the change to make, from 0 (none) to 1 (all).
        """
        check_strength(strength)
        X = X if namespace(X) is not np else np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.width:
            raise VectorError(
                f"X has shape {tuple(X.shape)}; the erasure '{self.name}' was fitted on vectors of width {self.width}. "
                f"Fit it on this space, or use that one."
            )
        if type_name(X) in HALF_TYPES:
            rows = ConvertedRows(X, namespace(X).float32, X.dtype)
            return map_rows(rows, lambda block: self.erase(block, strength=strength), self.width)
        if namespace(X) is np and X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        left, right = move(self.left, X), move(-strength * self.right, X)
        read = X @ left
        if self.origin.any():  # (x - o) L = x L - o L: no copy of the rows
            read = read - move(self.origin @ self.left, X)
        if self.shift.any():
            read = namespace(X).concat([read, namespace(X).ones_like(X[:, :1])], axis=1)
            right = namespace(X).concat([right, move(-strength * self.shift, X)[None, :]])
        if is_tensor(X) and read.shape[1] == 1:
            return X.addcmul(read, right) if hasattr(X, "addcmul") else _cupy_addcmul()(X, read, right)
        erased = read @ right
        erased += X
        return erased


@cache
def _cupy_addcmul() -> Callable[[Array, Array, Array], Array]:
    """Return what PyTorch has and CuPy has not: rows plus a column times a row, by one read and one write."""
    kernel = sys.modules["cupy"].ElementwiseKernel
    found: Callable[[Array, Array, Array], Array] = kernel("T x, T column, T row", "T sum", "sum = x + column * row")
    return found


def check_strength(strength: float) -> None:
    """Raise unless a strength is a share from 0 to 1."""
    if not isinstance(strength, int | float | np.number) or not 0.0 <= strength <= 1.0:
        raise DensRayError(f"strength={strength!r} is given; a share from 0 (nothing) to 1 (all) is needed.")


def equalized(space: WordSpace, erasure: Erasure, pairs: Iterable[tuple[str, str]]) -> dict[str, NDArray[np.float32]]:
    r"""Return the new vector of each word of the pairs; pairs not wholly in the space are left out.

    With the mean :math:`\mu` of a pair at unit length, the part :math:`w_B` of a word inside the removed span, and
    :math:`\nu = \mu - \mu_B`, a word becomes

    .. math::
        \nu + \sqrt{1 - \|\nu\|^2}\, \frac{w_B - \mu_B}{\|w_B - \mu_B\|},

    (Bolukbasi et al. 2016, step 2b of hard debiasing), and gets the mean length of its pair back. Any word without
    the concept is then equally near to both.
    """
    span = erasure.span
    vectors: dict[str, NDArray[np.float32]] = {}
    for pair in pairs:
        if any(word not in space for word in pair) or pair[0] == pair[1]:
            continue
        rows = space[list(pair)].astype(np.float64)
        lengths = np.linalg.norm(rows, axis=1)
        if not lengths.all():
            continue
        unit = rows / lengths[:, None]
        mean = unit.mean(axis=0)
        neutral = mean - (mean @ span.T) @ span
        inside = ((unit - mean) @ span.T) @ span
        sizes = np.linalg.norm(inside, axis=1, keepdims=True)
        apart = np.divide(inside, sizes, out=np.zeros_like(inside), where=sizes > 1e-12)
        reach = np.sqrt(max(0.0, 1.0 - float(neutral @ neutral)))
        new = (neutral + reach * apart) * lengths.mean()
        vectors.update(zip(pair, new.astype(np.float32), strict=True))
    return vectors


@dataclass(frozen=True)
class Removal:
    """An erasure with its exceptions: ``removal(words, vectors)`` returns the new vectors of a block of words.

    It is what :func:`densray.formats.rewrite` and :func:`densray.streaming.rewrite_space` take as ``change``, and what
    :meth:`densray.WordSpace.erased` uses.

    Attributes
    ----------
    erasure : Erasure
    keep : frozenset of str
        Words left as they are, to the bit.
    replaced : mapping
        Words with a vector of their own, such as equalised pairs; they win over `keep`.
    strength : float, default=1.0
        Share of the change to make.
    """

    erasure: Erasure
    keep: frozenset[str] = frozenset()
    replaced: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    strength: float = 1.0

    @classmethod
    def of(
        cls,
        erasure: Erasure | HasAxes,
        *,
        n_axes: int = 1,
        keep: Iterable[str] = (),
        equalize: Iterable[tuple[str, str]] = (),
        strength: float = 1.0,
        space: WordSpace | None = None,
    ) -> Removal:
        """Return a checked removal.

        Parameters
        ----------
        erasure : Erasure, or a fitted rotation
        n_axes : int, default=1
            How many axes of a rotation are removed; an erasure knows its own.
        keep : iterable of str
            Words that stay as they are.
        equalize : iterable of pairs
            Pairs to be set equally far from everything neutral, see :func:`equalized`; needs `space`.
        strength : float, default=1.0
            Share of the change to make, from 0 to 1. Removing every axis whole is refused: zeros would be left.
        space : WordSpace, optional
            Where the pairs are, and whose width must be that of the erasure.
        """
        check_strength(strength)
        if isinstance(erasure, Erasure):
            if n_axes != 1:
                raise DensRayError(
                    f"n_axes={n_axes!r} is given with the erasure '{erasure.name}', whose axes are chosen already. "
                    "Leave n_axes out, or give a rotation."
                )
            found = erasure
        else:
            found = Erasure.of(erasure, n_axes)
        if space is not None and space.width != found.width:
            raise SpaceError(
                f"The erasure '{found.name}' was fitted on {found.width} dimensions, '{space.name}' has "
                f"{space.width}. Fit it on this space, or use the one it was fitted on."
            )
        if found.left.shape[1] >= found.width and found.rank == found.width and strength == 1.0:
            raise VectorError(
                f"removing {found.rank} of {found.width} axes leaves vectors of zeros. Remove fewer, or a share of "
                "them (strength)."
            )
        pairs = list(equalize)
        replaced = equalized(space, found, pairs) if pairs and space is not None else {}
        if pairs and not replaced:
            raise CoverageError(
                f"None of the {len(pairs)} pairs to equalise is wholly in the space (first: {name_some(pairs[0])}). "
                f"Check case and language, or leave them out."
            )
        return cls(found, frozenset(keep), replaced, strength)

    def __call__(self, words: Sequence[str], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the vectors of these words after the removal."""
        changed: NDArray[np.float32] = np.asarray(self.erasure.erase(vectors, strength=self.strength), dtype=np.float32)
        if not self.keep and not self.replaced:
            return changed
        for row, word in enumerate(words):
            if word in self.replaced:
                changed[row] = vectors[row] + self.strength * (self.replaced[word] - vectors[row])
            elif word in self.keep:
                changed[row] = vectors[row]
        return changed
