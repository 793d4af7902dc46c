"""The affine map that removes a concept from vectors, and its exceptions for single words."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray import errors
from densray._arrays import (
    HALF_TYPES,
    Array,
    ConvertedRows,
    blocks_of,
    float_rows,
    map_rows,
    move,
    namespace,
    to_host,
    type_name,
)
from densray.errors import (
    Advice,
    Argument,
    CoverageError,
    CoverageWarning,
    DensRayError,
    TaskError,
    VectorError,
    checked_pairs,
    level_of_caller,
    name_some,
)

if TYPE_CHECKING:
    from densray.space import WordSpace

__all__ = ["AffineMap", "HasAxes", "check_leaves_something", "equalized", "erasing", "warn_of_missing_keep"]

#: Entries of a removed direction below this share of its largest are rounding.
_ROUNDING = 16 * float(np.finfo(np.float64).eps)

#: Coordinates of erased vectors below this count as zero.
_ORTHOGONAL = 1e-5

_Change: TypeAlias = Callable[[Sequence[str], NDArray[np.float32]], NDArray[np.float32]]
"""From the words and vectors of a block to its new vectors."""


class HasAxes(Protocol):
    """A fitted rotation: orthonormal rows, the concept first."""

    @property
    def components_(self) -> NDArray[np.float64]: ...


@dataclass(frozen=True, eq=False)
class AffineMap:
    r"""An affine map that removes directions from vectors.

    .. math::
        x \mapsto x - s \left( b + (x - o) L R \right)

    for rows :math:`x`, with strength :math:`s`. For a rotation, :math:`L = R^\top`, and the columns of :math:`L` are
    its first axes; :math:`b` and the origin :math:`o` are zero unless given. After the map every row has the
    coordinates of the origin on the axes. LEACE measures coordinates along one set of directions and removes another
    (:math:`L \neq R^\top`), relative to the mean :math:`o`.

    Attributes
    ----------
    method : str
        Name of the method that found the directions.
    left : array of shape (d, k)
        Directions that give the coordinates of vectors.
    right : array of shape (k, d)
        Directions that are removed.
    origin : array of shape (d,)
        The point that stays in place: zero for a rotation, the mean for LEACE.
    shift : array of shape (d,)
        Removed from every vector as well: part of the mean for double-hard debiasing, else zero.
    unit_length : bool
        Whether the map was learned from vectors at unit length. Vectors are scaled to unit length before the map only
        if it is not linear; see `needs_unit_length`.
    n_signal_axes : int or None
        Number of removed axes that carry signal, if the method reports it.

    Examples
    --------
    >>> import numpy as np
    >>> from densray import MeanDifference
    >>> rotation = MeanDifference().fit(np.array([[1.0, 5.0], [-1.0, 5.0]]), [1, -1])
    >>> AffineMap.of(rotation).apply(np.array([[3.0, 4.0]]))
    array([[0., 4.]])
    """

    method: str
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    origin: NDArray[np.float64]
    shift: NDArray[np.float64]
    unit_length: bool = False
    n_signal_axes: int | None = None

    def __post_init__(self) -> None:
        # Entries at the level of rounding are set to zero. Otherwise a tiny copy of the removed score would end up in a
        # column that is constant otherwise, and a model that standardises columns would recover the whole concept
        # there.
        largest = np.abs(self.right).max(axis=1, keepdims=True, initial=0.0)
        kept = np.abs(self.right) > _ROUNDING * largest
        object.__setattr__(self, "right", np.where(kept, self.right, 0.0))

    def __repr__(self) -> str:
        width, n_axes = self.left.shape
        return f"{type(self).__name__} by {self.method}: removes {n_axes} of {width:,} dimensions"

    @classmethod
    def along(
        cls,
        axes: NDArray[np.float64],
        *,
        method: str = "axes",
        origin: ArrayLike | None = None,
        shift: NDArray[np.float64] | None = None,
    ) -> Self:
        """Return the map that removes the span of orthonormal rows (default origin: zero)."""
        zero = np.zeros(axes.shape[1])
        point = zero if origin is None else np.array(to_host(origin), dtype=np.float64)
        if point.shape != zero.shape or not np.isfinite(point).all():
            raise VectorError(
                f"origin has shape {point.shape}; {zero.size} finite numbers, one per dimension, are needed."
            )
        return cls(method, axes.T.copy(), axes.copy(), point, zero if shift is None else shift)

    @classmethod
    def of(
        cls, rotation: HasAxes, n_axes: int = 1, *, origin: ArrayLike | None = None, method: str | None = None
    ) -> Self:
        """Return the map that removes the first axes of a fitted rotation.

        Parameters
        ----------
        rotation : fitted rotation
        n_axes : int, default=1
            How many axes to remove, counted from the concept. More than the rotation has are an error.
        origin : array of shape (d,), optional
            The point that stays in place, such as the mean of hidden states. Default: zero.
        method : str, optional
            Name of the method that found the axes. Default: the class of the rotation.

        Examples
        --------
        >>> import numpy as np
        >>> from densray import MeanDifference
        >>> rotation = MeanDifference().fit(np.array([[1.0, 5.0], [-1.0, 5.0]]), [1, -1])
        >>> AffineMap.of(rotation, origin=[2.0, 7.0]).apply(np.array([[3.0, 4.0], [2.0, 7.0]]))
        array([[2., 4.],
               [2., 7.]])
        """
        components = getattr(rotation, "components_", None)
        if components is None:
            raise errors.RotationNotFittedError(
                f"This {type(rotation).__name__} instance is not fitted yet. Call fit(X, y) first."
            )
        available = len(components)
        if not isinstance(n_axes, int | np.integer) or isinstance(n_axes, bool) or not 0 <= n_axes <= available:
            raise DensRayError(
                Argument("n_axes", n_axes),
                f" is given; {type(rotation).__name__} has {available} axes to erase.",
                Advice(" Use fewer, or fit with a larger ", Argument("n_components"), "."),
            )
        axes = np.asarray(components[:n_axes], dtype=np.float64)
        return cls.along(axes, method=method or type(rotation).__name__, origin=origin)

    @property
    def is_linear(self) -> bool:
        """Whether zero stays zero; vectors of any length are then changed in the same way."""
        return not self.origin.any() and not self.shift.any()

    @property
    def needs_unit_length(self) -> bool:
        """Whether vectors are scaled to unit length before the map."""
        return self.unit_length and not self.is_linear

    @property
    def width(self) -> int:
        """Width of the vectors."""
        return int(self.left.shape[0])

    @cached_property
    def rank(self) -> int:
        """Number of dimensions that the map removes."""
        if not self.left.size:
            return 0
        # the singular values of left @ right, from factors that are as narrow as the map
        narrow = np.linalg.qr(self.left)[1] @ np.linalg.qr(self.right.T)[1].T
        sizes = np.linalg.svd(narrow, compute_uv=False)
        return int(np.sum(sizes > sizes[0] * self.width * np.finfo(np.float64).eps))

    @property
    def span(self) -> NDArray[np.float64]:
        """Orthonormal rows that span the removed directions."""
        if not self.right.size:
            return self.right
        _, sizes, rows = np.linalg.svd(self.right, full_matrices=False)
        return np.asarray(rows[sizes > sizes[0] * 1e-10])

    def warn_of_other_space(self, space: WordSpace) -> None:
        """Warn if the map comes from another space. A map alone does not know where it comes from."""

    def apply(self, X: Array, *, strength: float = 1.0) -> Array:
        """Return vectors without the concept, in the same coordinates and precision.

        Parameters
        ----------
        X : array of shape (n, d)
            NumPy, PyTorch or CuPy, or a memory map.
        strength : float, default=1.0
            How much of the change to apply, from 0 (none) to 1 (all).
        """
        check_strength(strength)
        X = float_rows(X)
        if X.ndim == 1 and X.shape[0] == self.width:
            raise VectorError(f"X has shape {tuple(X.shape)}; rows are needed. For one vector pass X.reshape(1, -1).")
        if X.ndim != 2 or X.shape[1] != self.width:
            raise VectorError(
                f"X has shape {tuple(X.shape)}; the erasure '{self.method}' was fitted on vectors of width "
                f"{self.width}. Fit it on this space, or use that one."
            )
        rows = ConvertedRows(X, namespace(X).float32, X.dtype) if type_name(X) in HALF_TYPES else X

        def check(erased: Array, block: slice) -> None:
            xp = namespace(erased)
            if not bool(xp.isfinite(xp.sum(erased))):  # one pass; the sum alone may overflow
                _check_finite(X, erased, block)

        with np.errstate(over="ignore", invalid="ignore"):
            return map_rows(rows, lambda part: self.apply_unchecked(part, strength=strength), self.width, check=check)

    def apply_unchecked(self, X: Array, *, strength: float = 1.0) -> Array:
        """Return :meth:`apply` of rows of at least 32 bits that the caller has checked, or checks afterwards."""
        if self.needs_unit_length:
            X = _unit_length(X)
        left, right = move(self.left, X), move(-strength * self.right, X)
        coordinates = X @ left
        if self.origin.any():  # (x - o) L = x L - o L: no copy of the rows
            coordinates = coordinates - move(self.origin @ self.left, X)
        if self.shift.any():
            coordinates = namespace(X).concat([coordinates, namespace(X).ones_like(X[:, :1])], axis=1)
            right = namespace(X).concat([right, move(-strength * self.shift, X)[None, :]])
        if hasattr(X, "addcmul") and coordinates.shape[1] == 1:  # PyTorch: one read and one write of the rows
            return X.addcmul(coordinates, right)
        erased = coordinates @ right
        erased += X
        return erased


#: Below this length, the squares of a row have lost precision; by the number of bytes per number.
_SHORTEST_LENGTH = {"float32": 1e-16, "float64": 1e-146}


def _unit_length(X: Array) -> Array:
    """Return rows scaled to unit length; rows of zeros stay zero."""
    xp = namespace(X)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        lengths = xp.sqrt(xp.sum(X * X, axis=1))
        ordinary = (lengths > _SHORTEST_LENGTH.get(type_name(X), 0.0)) & xp.isfinite(lengths)
        if not bool(xp.all(ordinary)):  # the squares of long and short rows are not numbers of this type
            largest = xp.max(xp.abs(X), axis=1)
            scalable = ~ordinary & (largest > 0) & xp.isfinite(largest)
            X = X / xp.where(scalable, largest, xp.ones_like(largest))[:, None]
            lengths = xp.sqrt(xp.sum(X * X, axis=1))
        return X / xp.where(lengths > 0, lengths, xp.ones_like(lengths))[:, None]


def _check_finite(X: Array, erased: Array, block: slice) -> None:
    """Raise if erased rows are not finite: if rows of X are not, or if their numbers are too large."""
    xp = namespace(erased)
    bad = xp.nonzero(~xp.all(xp.isfinite(erased), axis=1))[0]
    if not bad.shape[0]:
        return
    broken = [
        part.start + row
        for part in blocks_of(int(X.shape[0]))
        for row in to_host(xp.nonzero(~xp.all(xp.isfinite(X[part, :]), axis=1))[0]).tolist()
    ]
    if broken:
        raise VectorError(
            f"Input X contains NaN or infinity in {len(broken)} of {X.shape[0]} rows (first: row {broken[0]}). Drop or "
            "repair those rows."
        )
    raise VectorError(
        f"row {block.start + int(bad[0])} of X has numbers too large for {type_name(X)}. Scale the vectors, for "
        "example to unit length."
    )


def check_strength(strength: float) -> None:
    """Raise unless a strength is a share from 0 to 1."""
    if not isinstance(strength, int | float | np.number) or not 0.0 <= strength <= 1.0:
        raise DensRayError(
            Argument("strength", strength), " is given; a number from 0 (no change) to 1 (full change) is needed."
        )


def equalized(space: WordSpace, erasure: AffineMap, pairs: Iterable[tuple[str, str]]) -> dict[str, NDArray[np.float32]]:
    r"""Return new vectors for the words of pairs, so that any word without the concept is equally near to both.

    Pairs with a word that is not in the space are left out; if no pair remains, an error is raised.

    With the mean :math:`\mu` of a pair at unit length, the part :math:`w_B` of a word inside the removed span, and
    :math:`\nu = \mu - \mu_B`, a word becomes

    .. math::
        \nu + \sqrt{1 - \|\nu\|^2}\, \frac{w_B - \mu_B}{\|w_B - \mu_B\|},

    (Bolukbasi et al. 2016, step 2b of hard debiasing), scaled to the mean length of its pair.

    The difference of the two words must be orthogonal to every erased vector. LEACE is refused: it keeps the mean, so
    erased vectors lie in a plane that does not contain zero, and only zero is orthogonal to all of them.
    """
    pairs = checked_pairs(pairs, "equalize")
    span = erasure.span
    if pairs and not _erases_coordinates(erasure, span):
        raise TaskError(
            f"the erasure '{erasure.method}' keeps the mean of the vectors, so no word can have the same cosine with "
            "both words of a pair, and pairs cannot be equalised.",
            Advice(" Use ", Argument("method", "mean-difference"), ", or leave ", Argument("equalize"), " out."),
        )
    vectors: dict[str, NDArray[np.float32]] = {}
    for pair in pairs:
        places = space.locate(pair).tolist()
        if -1 in places or places[0] == places[1]:
            continue
        rows = space[list(pair)].astype(np.float64)
        lengths = np.linalg.norm(rows, axis=1)
        if not lengths.all():
            continue
        if erasure.needs_unit_length:
            rows, lengths = rows / lengths[:, None], np.ones(2)
        unit = rows / lengths[:, None]
        mean = unit.mean(axis=0)
        neutral = mean - (mean @ span.T) @ span
        inside = ((unit - mean) @ span.T) @ span
        sizes = np.linalg.norm(inside, axis=1, keepdims=True)
        directions = np.divide(inside, sizes, out=np.zeros_like(inside), where=sizes > 1e-12)
        reach = np.sqrt(max(0.0, 1.0 - float(neutral @ neutral)))
        new = (neutral + reach * directions) * lengths.mean()
        spelled = [space.words[place] for place in places]  # as the space spells them
        vectors.update(zip(spelled, new.astype(np.float32), strict=True))
    if pairs and not vectors:
        raise CoverageError(
            f"None of the {len(pairs)} pairs to equalise has both words in the space (first: {name_some(pairs[0])}). "
            f"Check case and language, or leave them out."
        )
    return vectors


def _erases_coordinates(erasure: AffineMap, span: NDArray[np.float64]) -> bool:
    """Return whether all erased vectors have coordinates of zero along the orthonormal rows of the removed span."""
    inputs = span.T - erasure.left @ (erasure.right @ span.T)  # x M n with M = I - L R
    constant = ((erasure.origin @ erasure.left) @ erasure.right - erasure.shift) @ span.T
    scale = max(1.0, float(np.abs(erasure.origin).max(initial=0.0)), float(np.abs(erasure.shift).max(initial=0.0)))
    return bool(np.all(np.abs(inputs) <= _ORTHOGONAL) and np.all(np.abs(constant) <= _ORTHOGONAL * scale))


def check_leaves_something(erasure: AffineMap, strength: float) -> None:
    """Raise if a map would leave vectors of zeros, or if the strength is not between 0 and 1."""
    check_strength(strength)
    if erasure.left.shape[1] >= erasure.width and erasure.rank == erasure.width and strength == 1.0:
        raise VectorError(
            f"removing {erasure.rank} of {erasure.width} axes leaves only zeros. Remove fewer axes, or use a strength "
            "below 1."
        )


def warn_of_missing_keep(missing: Sequence[str], name: str) -> None:
    """Warn of words to keep that are not in a space: they may be misspelt, and the words that were meant change."""
    if missing:
        subject = "1 word is" if len(missing) == 1 else f"{len(missing):,} words are"
        warnings.warn(
            CoverageWarning(
                Argument("keep"),
                f": {subject} not in '{name}': {name_some(missing)}. Check the spelling, or leave them out.",
            ),
            stacklevel=level_of_caller(),
        )


def erasing(
    erasure: AffineMap,
    *,
    keep: Iterable[str] = (),
    replaced: Mapping[str, NDArray[np.float32]] | None = None,
    strength: float = 1.0,
) -> _Change:
    """Return a function that erases a block of words and vectors, for :func:`densray.streaming.rewrite_space`.

    Parameters
    ----------
    erasure : AffineMap
    keep : iterable of str
        Words that stay unchanged (scaled to unit length if the whole space is).
    replaced : mapping, optional
        New vectors of some words, such as those of :func:`equalized`; they take precedence over `keep`.
    strength : float, default=1.0
        How much of the change to apply, from 0 to 1. Removing every axis entirely is refused: only zeros would be left.
    """
    check_leaves_something(erasure, strength)
    kept, own = frozenset(keep), replaced or {}

    def change(words: Sequence[str], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        erased: NDArray[np.float32] = np.asarray(erasure.apply(vectors, strength=strength), dtype=np.float32)
        exceptions = [row for row, word in enumerate(words) if word in own or word in kept] if own or kept else []
        if exceptions:
            before = _unit_length(vectors) if erasure.needs_unit_length else vectors
            for row in exceptions:
                target = own.get(words[row])
                erased[row] = before[row] if target is None else before[row] + strength * (target - before[row])
        return erased

    return change
