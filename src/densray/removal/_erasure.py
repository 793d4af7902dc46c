"""An erasure: the affine map that takes a concept out of vectors, whichever method found it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from densray.arrays import Array, move, namespace
from densray.errors import DensRayError, VectorError

if TYPE_CHECKING:
    from densray.rotations import Rotation

__all__ = ["Erasure", "check_strength"]


@dataclass(frozen=True)
class Erasure:
    r"""What removes a concept from vectors: one affine map, whichever method found it.

    .. math::
        x \mapsto x - s \left( b + (x - o) L R \right)

    for rows :math:`x`, with strength :math:`s`. For a rotation :math:`L = R^\top` are its first axes, and :math:`o` and
    :math:`b` vanish. LEACE reads one set of directions and takes another away (:math:`L \neq R^\top`), around the mean
    :math:`o`.

    Attributes
    ----------
    name : str
        The method that found it.
    left : array of shape (d, k)
        The directions along which vectors are read.
    right : array of shape (k, d)
        The directions that are taken away.
    origin : array of shape (d,)
        The point that is left where it is.
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
    rotation: Rotation | None = field(default=None, repr=False, compare=False)

    @classmethod
    def along(
        cls, axes: NDArray[np.float64], *, name: str = "axes", shift: NDArray[np.float64] | None = None
    ) -> Erasure:
        """Return the erasure of the span of orthonormal rows."""
        zero = np.zeros(axes.shape[1])
        return cls(name, axes.T.copy(), axes.copy(), zero, zero if shift is None else shift)

    @classmethod
    def of(cls, rotation: Rotation, n_axes: int = 1, *, name: str | None = None) -> Erasure:
        """Return the erasure of the first axes of a fitted rotation; more than it has are an error."""
        axes = rotation.leading_axes(n_axes)
        return replace(cls.along(axes, name=name or type(rotation).__name__), rotation=rotation)

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
        strength : float
            Share of the change to make, from 0 (none) to 1 (all).
        """
        check_strength(strength)
        X = X if namespace(X) is not np else np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.width:
            raise VectorError(
                f"X has shape {tuple(X.shape)}; the erasure '{self.name}' was fitted on vectors of width {self.width}. "
                f"Fit it on this space, or use that one."
            )
        if namespace(X) is np and X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        left, right, origin, shift = (move(part, X) for part in (self.left, self.right, self.origin, self.shift))
        erased = X - strength * (shift + ((X - origin) @ left) @ right)
        return erased if erased.dtype == X.dtype else namespace(X).astype(erased, X.dtype)


def check_strength(strength: float) -> None:
    """Raise unless a strength is a share from 0 to 1."""
    if not 0.0 <= strength <= 1.0:
        raise DensRayError(f"strength={strength} is given; a share from 0 (nothing) to 1 (all) is needed.")
