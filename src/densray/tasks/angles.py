"""Angles between axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["degrees_between"]


def degrees_between(axes: NDArray[np.float64], axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the angles between unit rows, or one unit vector, and an axis; by the chord, which small angles need.

    >>> float(degrees_between(np.array([1.0, 0.0]), np.array([0.0, 1.0])).round(6))
    90.0
    """
    chord = np.linalg.norm(axes - axis, axis=-1)
    return np.asarray(np.degrees(2.0 * np.arcsin(np.clip(chord / 2.0, 0.0, 1.0))))
