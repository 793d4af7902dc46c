"""Do words still cluster by a concept that was removed?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from densray.cores import one_core

__all__ = ["cluster_accuracy"]


def cluster_accuracy(
    X: NDArray[np.floating], labels: NDArray[np.bool_], *, n_starts: int = 10, random_state: int | None = 0
) -> float:
    """Return how well two k-means clusters of the rows agree with two classes: from 0.5 (not at all) to 1.

    Examples
    --------
    >>> import numpy as np
    >>> cluster_accuracy(np.array([[0.0], [0.1], [9.0], [9.1]]), np.array([True, True, False, False]))
    1.0
    """
    from sklearn.cluster import KMeans

    with one_core():
        clusters = KMeans(2, n_init=n_starts, random_state=random_state).fit_predict(X)
    agreement = float(np.mean((clusters == 1) == np.asarray(labels, dtype=bool)))
    return max(agreement, 1.0 - agreement)
