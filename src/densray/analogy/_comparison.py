"""Tests of the difference between two solvers: pair by pair, and category by category."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest, wilcoxon

from densray.analogy._result import AnalogyResult, CategoryResult
from densray.errors import TaskError
from densray.metrics import percentile_interval


@dataclass(frozen=True)
class PairedTest:
    """Two solvers on the same pairs.

    Attributes
    ----------
    gained, lost
        Number of pairs that only the first, and only the second, answers correctly.
    difference, low, high
        Micro precision of the first minus that of the second, with the 95% interval of a bootstrap over pairs.
    p_value
        McNemar's exact test: the probability of such an uneven split of the pairs they differ on, if both are equally
        good.
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
    """Return the differences between two results on the same set, pair by pair.

    If a pair was asked several times (methods of one example), the side with more correct answers wins.
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
    low, high = percentile_interval(means)
    p_value = float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    return PairedTest(len(ours), gained, lost, float(difference.mean()), low, high, p_value)


@dataclass(frozen=True)
class CategoryTest:
    """Two solvers on the same categories, with each category as one observation.

    Pairs of one category succeed and fail together, so tests over pairs (`PairedTest`) overstate the certainty of a
    difference.

    Attributes
    ----------
    up, down
        Number of categories in which the first, and the second, has the higher precision.
    difference, low, high
        Micro precision of the first minus that of the second, with the 95% interval of a bootstrap over categories.
    p_value
        Wilcoxon's signed-rank test of the differences in precision; 1 if no category differs.
    """

    categories: int
    pairs: int
    up: int
    down: int
    difference: float
    low: float
    high: float
    p_value: float


def compare_categories(
    first: AnalogyResult,
    second: AnalogyResult,
    *,
    at_least: int = 2,
    names: Collection[str] | None = None,
    n_resamples: int = 10_000,
    random_state: int = 0,
) -> CategoryTest:
    """Return the differences between two results on the same set, category by category.

    Parameters
    ----------
    first, second : AnalogyResult
    at_least : int
        Minimum number of usable pairs for a category to be counted.
    names : collection of str, optional
        The categories to compare (default: all).
    n_resamples, random_state : int
        Options of the bootstrap.
    """
    ours, theirs = (_categories_of(one, at_least, names) for one in (first, second))
    sizes = [one.pairs for one in ours]
    if first.analogies != second.analogies or sizes != [one.pairs for one in theirs] or not sizes:
        raise TaskError(
            f"{len(ours)} categories of '{first.analogies}' and {len(theirs)} of '{second.analogies}' cannot be "
            "paired. Compare two results on the same set and space."
        )
    weights = np.array(sizes, dtype=float)
    change = np.array(
        [(one.precision or 0.0) - (other.precision or 0.0) for one, other in zip(ours, theirs, strict=True)]
    )
    random = np.random.default_rng(random_state)
    samples = random.integers(len(sizes), size=(n_resamples, len(sizes)))
    low, high = percentile_interval((change * weights)[samples].sum(axis=1) / weights[samples].sum(axis=1))
    return CategoryTest(
        len(sizes),
        sum(sizes),
        int(np.sum(change > 0)),
        int(np.sum(change < 0)),
        float(change @ weights / weights.sum()),
        low,
        high,
        float(wilcoxon(change).pvalue) if change.any() else 1.0,
    )


def _categories_of(result: AnalogyResult, at_least: int, names: Collection[str] | None) -> list[CategoryResult]:
    return [one for one in result.asked(at_least=at_least) if names is None or one.category in names]
