"""LEACE, by the library of its authors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from densray.errors import MissingExtraError
from densray.removal._erasure import Erasure

__all__ = ["leace"]


def leace(X: NDArray[np.floating], y: NDArray[np.floating]) -> Erasure:
    """Return the least change of vectors after which no linear model can tell the labels from them.

    Needs the library ``concept-erasure``: ``pip install 'densray[leace]'``.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Two classes, or scores.

    References
    ----------
    .. [1] N. Belrose, D. Schneider-Joseph, S. Ravfogel, R. Cotterell, E. Raff and S. Biderman. LEACE: Perfect Linear
       Concept Erasure in Closed Form. NeurIPS 2023.
    """
    try:
        from concept_erasure import LeaceEraser
    except ImportError as error:
        raise MissingExtraError(
            f"LEACE needs {error.name}, which is not installed. Install it with: pip install 'densray[leace]'"
        ) from error
    import torch  # it needs torch itself

    eraser = LeaceEraser.fit(
        torch.from_numpy(np.array(X, dtype=np.float64)), torch.from_numpy(np.array(y, dtype=np.float64))
    )
    # Theirs is x - (x - mean) rightᵀ leftᵀ: their right side reads, their left side is taken away.
    left, right, origin = (part.numpy() for part in (eraser.proj_right.T, eraser.proj_left.T, eraser.bias))
    return Erasure("leace", left, right, origin, np.zeros(X.shape[1]))
