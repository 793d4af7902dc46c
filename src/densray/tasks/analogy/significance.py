"""Whether one solver is better than another on the same pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from densray.errors import TaskError
from densray.tasks.analogy.result import AnalogyResult

__all__ = ["PairedTest", "compare_paired"]


@dataclass(frozen=True)
class PairedTest:
    """Two solvers on the same pairs.

    Attributes
    ----------
    gained, lost
        Pairs that only the first, and only the second, gets right.
    difference, low, high
        Micro precision of the first less that of the second, with the 95 % interval of a bootstrap over pairs.
    p_value
        McNemar's exact test: the chance of so uneven a split of the pairs they differ on, were both equally good.
    """

    pairs: int
    gained: int
    lost: int
    difference: float
    low: float
    high: float
    p_value: float


def compare_paired(
    first: AnalogyResult, second: AnalogyResult, *, n_resamples: int = 10_000, random_state: int = 0
) -> PairedTest:
    """Return how two results on the same set differ, pair by pair.

    Where a pair was asked several times (methods of one example), the side with the larger share is taken for right.
    """
    ours, theirs = first.hits, second.hits
    if first.analogies != second.analogies or len(ours) != len(theirs) or len(ours) == 0:
        raise TaskError(
            f"{len(ours)} pairs of '{first.analogies}' and {len(theirs)} of '{second.analogies}' cannot be paired. "
            "Compare two results on the same set and space."
        )
    difference = ours - theirs
    gained, lost = int(np.sum(difference > 0)), int(np.sum(difference < 0))
    random = np.random.default_rng(random_state)
    means = [float(random.choice(difference, size=len(difference)).mean()) for _ in range(n_resamples)]
    low, high = np.quantile(means, [0.025, 0.975])
    p_value = float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    return PairedTest(len(ours), gained, lost, float(difference.mean()), float(low), float(high), p_value)
