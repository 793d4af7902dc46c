"""Agreement of scores with gold labels, with confidence intervals.

The first argument of every function is the gold labels, the second the scores, one number per word.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from densray.errors import Argument, LabelError

__all__ = [
    "Interval",
    "accuracy",
    "auc",
    "auc_deviations",
    "auc_interval",
    "balanced_accuracy",
    "balanced_accuracy_interval",
    "correlation_interval",
    "kendall_tau",
    "kendall_tau_within",
    "macro_mean",
    "mean_interval",
    "midpoint",
    "pearson",
    "pearson_interval",
    "percentile_interval",
    "proportion_interval",
    "resampled_tau",
    "spearman",
    "spearman_interval",
    "tau_ceiling",
    "tau_interval",
    "weighted_auc",
]

Vector = NDArray[np.float64]

#: Rows of the n × n sign matrix computed at once.
BLOCK_ROWS = 1024


class Interval(NamedTuple):
    """The two ends of an interval."""

    low: float
    high: float


def balanced_accuracy(classes: ArrayLike, answers: ArrayLike) -> float:
    """Return the share of each class that is answered correctly, averaged over the classes.

    >>> balanced_accuracy([0, 0, 0, 1], [0, 0, 1, 1]).__round__(3)
    0.833
    """
    correct = np.asarray(answers) == np.asarray(classes)
    return float(np.mean([correct[np.asarray(classes) == value].mean() for value in np.unique(classes)]))


def balanced_accuracy_interval(
    classes: ArrayLike,
    answers: ArrayLike,
    *,
    level: float = 0.95,
    inflation: float = 1.0,
    groups: ArrayLike | None = None,
) -> Interval:
    """Return the interval of the balanced accuracy over rows, or over groups of rows.

    The interval is computed on the scale of log-odds, with a t quantile, so that it stays within 0 and 1. If all
    answers are correct, or all are wrong, it ends at the accuracy for which this happens with probability (1 − `level`)
    / 2.

    Parameters
    ----------
    classes, answers : array-like of shape (n,)
    level : float, default=0.95
    inflation : float, default=1.0
        Ratio of the standard error to that of fixed answers; 1.2 for held-out ones (docs/trust-details.md).
    groups : array-like of shape (n,), optional

    Examples
    --------
    >>> [round(end, 2) for end in balanced_accuracy_interval([0] * 50 + [1] * 50, [0] * 40 + [1] * 60)]
    [0.83, 0.94]
    """
    from scipy.stats import t as t_distribution

    truth, value = np.asarray(classes), balanced_accuracy(classes, answers)
    correct = (np.asarray(answers) == truth).astype(np.float64)
    numbers = np.unique(np.arange(len(truth)) if groups is None else np.asarray(groups), return_inverse=True)[1]
    n_groups = int(numbers.max()) + 1
    if value in (0.0, 1.0):
        bound = ((1.0 - level) / 2.0) ** (1.0 / n_groups)
        return Interval(bound, 1.0) if value else Interval(0.0, 1.0 - bound)
    values = np.unique(truth)
    deviations = np.zeros(len(truth))
    for each in values:
        own = truth == each
        deviations[own] = (correct[own] - correct[own].mean()) / (own.sum() * len(values))
    sums = np.bincount(numbers, deviations)
    variance = float(sums @ sums) * n_groups / max(n_groups - 1, 1)
    quantile = float(t_distribution.ppf((1.0 + level) / 2.0, max(n_groups - 1, 1)))
    half = quantile * inflation * np.sqrt(variance) / (value * (1.0 - value))
    odds = np.log(value / (1.0 - value))
    return Interval(*(float(1.0 / (1.0 + np.exp(-(odds + side * half)))) for side in (-1, 1)))


def kendall_tau(gold: ArrayLike, scores: ArrayLike) -> float:
    """Return Kendall's τ-b, which allows for ties.

    >>> kendall_tau([1, 2, 3, 3], [0.1, 0.4, 0.3, 0.9]).__round__(3)
    0.548
    """
    from scipy.stats import kendalltau  # slow to import

    return float(kendalltau(*_checked(gold, scores)).statistic)


def tau_ceiling(gold: ArrayLike) -> float:
    r"""Return the highest τ-b that scores without ties can reach: that of a perfect order.

    Equal labels cannot be ordered, and τ-b counts them half: with :math:`U` pairs of unlike labels among
    :math:`n` words the ceiling is :math:`\sqrt{U / \binom{n}{2}}`, about 0.71 for two classes of the same size.

    >>> tau_ceiling([1, 1, 1, 1, -1, -1, -1, -1]).__round__(3), tau_ceiling([1, 2, 3])
    (0.756, 1.0)
    """
    labels = np.asarray(gold, dtype=np.float64)
    return float(np.sqrt(_unequal_pairs(labels) / (labels.size * (labels.size - 1) / 2.0)))


def kendall_tau_within(gold: Vector, scores: Vector, groups: NDArray[np.int64] | None) -> float:
    """Return Kendall's τ-b over all pairs of rows, or over pairs within one group; 0 or NaN if scores are equal."""
    if groups is None:
        from scipy.stats import kendalltau  # slow to import

        return float(kendalltau(scores, gold).statistic)
    net = untied_scores = untied_gold = 0.0
    order = np.argsort(groups, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        by_score, by_gold = (np.sign(values[rows][:, None] - values[rows]) for values in (scores, gold))
        net += float(np.sum(by_score * by_gold))
        untied_scores += float(np.sum(by_score != 0))
        untied_gold += float(np.sum(by_gold != 0))
    if untied_gold == 0.0:
        raise LabelError("no group holds rows of different labels, so there is nothing to compare. Check groups.")
    return net / np.sqrt(untied_scores * untied_gold) if untied_scores else 0.0


def spearman(gold: ArrayLike, scores: ArrayLike) -> float:
    """Return Spearman's rank correlation."""
    from scipy.stats import spearmanr

    return float(spearmanr(*_checked(gold, scores)).statistic)


def pearson(gold: ArrayLike, scores: ArrayLike) -> float:
    """Return Pearson's correlation."""
    from scipy.stats import pearsonr

    return float(pearsonr(*_checked(gold, scores)).statistic)


def auc(gold: ArrayLike, scores: ArrayLike) -> float:
    """Return the probability that a word of the higher class scores above one of the lower; ties count half.

    >>> auc([1, 1, -1, -1], [0.9, 0.2, 0.2, 0.1])
    0.875
    """
    from scipy.stats import rankdata

    gold, scores = _checked(gold, scores)
    high = _higher_class(gold)
    positives, negatives = int(high.sum()), int((~high).sum())
    # Mann and Whitney 1947; bit-identical to scikit-learn's roc_auc_score, and ten times faster
    above = rankdata(scores)[high].sum() - positives * (positives + 1) / 2
    return float(above / (positives * negatives))


def weighted_auc(y: Vector, scores: Vector, weights: Vector) -> Vector:
    """Return the AUC of scores under each column of weights; ties count half, NaN if a class has no weight.

    `y` are 1 and -1, one per row of `weights`.
    """
    _, place = np.unique(scores, return_inverse=True)
    size = int(place.max()) + 1
    above, below = np.zeros((size, weights.shape[1])), np.zeros((size, weights.shape[1]))
    np.add.at(above, place[y > 0], weights[y > 0])
    np.add.at(below, place[y < 0], weights[y < 0])
    won = (above * (np.cumsum(below, axis=0) - 0.5 * below)).sum(axis=0)
    total = above.sum(axis=0) * below.sum(axis=0)
    return np.asarray(np.divide(won, total, out=np.full(total.shape, np.nan), where=total > 0))


def accuracy(gold: ArrayLike, scores: ArrayLike, *, threshold: float) -> float:
    """Return the share of words whose score is on the correct side of the threshold."""
    gold, scores = _checked(gold, scores)
    return float(np.mean(_higher_class(gold) == (scores > threshold)))


def midpoint(gold: ArrayLike, scores: ArrayLike) -> float:
    """Return the score half-way between the means of the two classes, to be used as a threshold.

    >>> midpoint([1, 1, -1], [2.0, 4.0, 0.0])
    1.5
    """
    gold, scores = _checked(gold, scores)
    high = _higher_class(gold)
    return float((scores[high].mean() + scores[~high].mean()) / 2)


def macro_mean(values: Iterable[float]) -> float:
    """Return the mean over lexicons, with equal weights whatever their sizes."""
    collected = np.array(list(values), dtype=np.float64)
    if not collected.size:
        raise LabelError("there are no values for the macro mean; at least one is needed.")
    return float(collected.mean())


def tau_interval(
    gold: ArrayLike,
    scores: ArrayLike,
    *,
    level: float = 0.95,
    inflation: float = 1.0,
    groups: ArrayLike | None = None,
) -> Interval:
    """Return the interval of Kendall's τ-b over samples of words, in closed form.

    For two classes, τ-b is the AUC on another scale, and so is its interval. Otherwise the standard error is that of
    the jackknife over words, on the scale of the inverse hyperbolic tangent, with a t quantile.

    Parameters
    ----------
    gold, scores : array-like of shape (n,)
    level : float, default=0.95
        The share of intervals that cover the true τ.
    inflation : float, default=1.0
        Ratio of the standard error to that of fixed scores; 1.2 for held-out ones (docs/trust-details.md).
    groups : array-like of shape (n,), optional
        Words that belong together: the jackknife leaves out whole groups.
    """
    from scipy.stats import t as t_distribution

    tau = kendall_tau(gold, scores)
    gold, scores = _checked(gold, scores)
    if np.unique(gold).size == 2:
        # τ-b = (2 AUC - 1) √(unlike pairs / pairs of unlike score)
        scale = np.sqrt(_unequal_pairs(gold) / _unequal_pairs(scores))
        interval = auc_interval(gold, scores, level=level, inflation=inflation, groups=groups)
        return Interval(*(float((2.0 * end - 1.0) * scale) for end in interval))
    own = np.array(_pair_counts(gold, scores))
    total, size = own.sum(axis=1, keepdims=True) / 2.0, gold.size
    if groups is not None:  # pairs of a group with all words; pairs within it count once
        numbers = np.unique(np.asarray(groups), return_inverse=True)[1]
        size = int(numbers.max()) + 1
        members = [np.flatnonzero(numbers == number) for number in range(size)]
        within = [np.array(_pair_counts(gold[rows], scores[rows])).sum(axis=1) / 2.0 for rows in members]
        own = np.column_stack([own[:, rows].sum(axis=1) - inner for rows, inner in zip(members, within, strict=True)])
    with np.errstate(invalid="ignore", divide="ignore"):
        net, untied_gold, untied_scores = total - own
        without = net / np.sqrt(untied_gold * untied_scores)
    without = without[np.isfinite(without)]  # skip words without which all labels are equal
    error = float(np.sqrt((size - 1) / size * np.sum((without - without.mean()) ** 2)))
    if abs(tau) > 1.0 - 1e-12:
        bound = 2.0 * _faultless(size // 2, size - size // 2, chance=(1.0 - level) / 2.0) - 1.0
        return Interval(bound, 1.0) if tau > 0 else Interval(-1.0, -bound)
    quantile = float(t_distribution.ppf((1.0 + level) / 2.0, max(size - 2, 1)))
    half = quantile * inflation * error / (1.0 - tau * tau)
    return Interval(*(float(np.tanh(np.arctanh(tau) + side * half)) for side in (-1, 1)))


def _unequal_pairs(values: Vector) -> float:
    """Return the number of pairs of words with different values."""
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float((values.size**2 - counts @ counts) / 2.0)


def _pair_counts(gold: Vector, scores: Vector) -> tuple[Vector, Vector, Vector]:
    """Return for each word its concordant minus its discordant pairs, and its pairs untied in gold and in scores."""
    counts = np.zeros((3, gold.size))
    for start in range(0, gold.size, BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, gold.size))
        signs = [np.sign(values[rows, None] - values[None, :]) for values in (gold, scores)]
        counts[0, rows] = np.einsum("ij,ij->i", *signs)
        counts[1:, rows] = [np.count_nonzero(each, axis=1) for each in signs]
    return counts[0], counts[1], counts[2]


def auc_interval(
    gold: ArrayLike,
    scores: ArrayLike,
    *,
    level: float = 0.95,
    inflation: float = 1.0,
    groups: ArrayLike | None = None,
) -> Interval:
    """Return the interval of the AUC over words, in closed form (DeLong, DeLong & Clarke-Pearson 1988).

    The interval is computed on the scale of log-odds, so that it stays within 0 and 1, with the t quantile of Welch
    (1947) for the variances of two small classes. If the classes are separated perfectly, there is no variance. One end
    of the interval is then 1 (or 0). The other end is the AUC at which perfect separation happens with probability (1 −
    `level`) / 2.

    Parameters
    ----------
    gold, scores : array-like of shape (n,)
    level : float, default=0.95
        The share of intervals that cover the true AUC.
    inflation : float, default=1.0
        Ratio of the standard error to that of fixed scores; 1.2 for held-out ones (docs/trust-details.md).
    groups : array-like of shape (n,), optional
        Words that belong together, such as a pair: their deviations are added up first (Obuchowski 1997).

    Examples
    --------
    >>> auc_interval([1, 1, 1, -1, -1, -1], [6, 5, 2, 3, 1, 0]).low.__round__(2)
    0.09
    """
    from scipy.stats import t as t_distribution

    value = auc(gold, scores)
    gold, scores = _checked(gold, scores)
    high = _higher_class(gold)
    own, parts, sizes = auc_deviations(gold, scores), [], (int(high.sum()), int((~high).sum()))
    for rows, size in ((high, sizes[0]), (~high, sizes[1])):
        parts.append(float(own[rows].var(ddof=1)) * size if size > 1 else 0.25)
    if groups is not None:
        numbers = np.unique(np.asarray(groups), return_inverse=True)[1]
        sums = [np.bincount(numbers[rows], own[rows], minlength=numbers.max() + 1) for rows in (high, ~high)]
        sizes = len(np.unique(numbers[high])), len(np.unique(numbers[~high]))
        products = sums[0] @ sums[0], sums[1] @ sums[1], 2.0 * (sums[0] @ sums[1])
        counts = (*sizes, int(numbers.max()) + 1)
        parts = [float(part) * n / max(n - 1, 1) for part, n in zip(products, counts, strict=True)]
    variance = max(sum(parts), 0.0)
    if value in (0.0, 1.0):
        bound = _faultless(*sizes, chance=(1.0 - level) / 2.0)
        return Interval(bound, 1.0) if value > 0.5 else Interval(0.0, 1.0 - bound)
    if groups is None:
        freedom = variance**2 / sum(part**2 / max(size - 1, 1) for part, size in zip(parts, sizes, strict=True))
    else:
        freedom = max(counts[-1] - 1, 1)
    quantile = float(t_distribution.ppf((1.0 + level) / 2.0, freedom))
    half = quantile * inflation * np.sqrt(variance) / (value * (1.0 - value))
    odds = np.log(value / (1.0 - value))
    return Interval(*(float(1.0 / (1.0 + np.exp(-(odds + side * half)))) for side in (-1, 1)))


def auc_deviations(gold: ArrayLike, scores: ArrayLike, groups: ArrayLike | None = None) -> Vector:
    """Return the contribution of each row, or of each group of rows, to the deviation of the AUC from its expectation.

    The root of the sum of their squares is the standard error of the AUC (DeLong, DeLong & Clarke-Pearson 1988). With
    the differences between two sets of scores of the same rows, it is the standard error of the difference of the AUCs.

    >>> first = auc_deviations([1, 1, 1, -1, -1, -1], [6, 5, 2, 3, 1, 0])
    >>> second = auc_deviations([1, 1, 1, -1, -1, -1], [5, 6, 2, 3, 1, 0])  # the order within a class does not matter
    >>> float(np.linalg.norm(first - second)), bool(np.linalg.norm(first) > 0.1)
    (0.0, True)
    """
    from scipy.stats import rankdata

    value = auc(gold, scores)
    gold, scores = _checked(gold, scores)
    high = _higher_class(gold)
    ranks, deviations = rankdata(scores), np.empty(len(scores))
    n_high, n_low = int(high.sum()), int((~high).sum())
    deviations[high] = ((ranks[high] - rankdata(scores[high])) / n_low - value) / n_high
    deviations[~high] = (1.0 - value - (ranks[~high] - rankdata(scores[~high])) / n_high) / n_low
    if groups is None:
        return deviations
    numbers = np.unique(np.asarray(groups), return_inverse=True)[1]
    return np.asarray(np.bincount(numbers, weights=deviations), dtype=np.float64)


def _faultless(positives: int, negatives: int, *, chance: float) -> float:
    """Return the AUC at which classes of these sizes are separated perfectly with this probability.

    For Lehmann alternatives, F₊ = F₋^θ, the AUC is θ / (1 + θ), and all words of the higher class lie above the lower
    class with probability Γ(x+1) Γ(m+1) / Γ(x+m+1), where x = n₋/θ and m = n₊.
    """
    from scipy.optimize import brentq
    from scipy.special import betaln

    def excess(logarithm: float) -> float:
        # Γ(x+1) Γ(m+1) / Γ(x+m+1) = x B(x, m+1)
        return float(logarithm + betaln(np.exp(logarithm), positives + 1) - np.log(chance))

    theta = negatives / np.exp(brentq(excess, -30.0, 30.0))
    return float(theta / (1.0 + theta))


def percentile_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Return the interval that cuts off equal shares of the values at both ends.

    >>> percentile_interval(range(101), 0.5)
    Interval(low=25.0, high=75.0)
    """
    if not 0.0 < level < 1.0:
        raise LabelError(Argument("level", level), " is given; a share between 0 and 1, such as 0.95, is needed.")
    low, high = np.quantile(np.asarray(values, dtype=np.float64), [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Interval(float(low), float(high))


def mean_interval(values: ArrayLike, level: float = 0.95, *, least: float = -np.inf, most: float = np.inf) -> Interval:
    """Return the interval of a mean by Student's t, cut at the least and the most that the mean can be.

    >>> low, high = mean_interval([1.0, 2.0, 3.0])
    >>> round(low, 2), round(high, 2)
    (-0.48, 4.48)
    """
    from scipy.special import stdtrit  # the quantile of Student's t

    sample = np.asarray(values, dtype=np.float64)
    mean = float(sample.mean())
    if sample.size < 2:
        return Interval(least, most)
    half = float(stdtrit(sample.size - 1, (1.0 + level) / 2.0) * sample.std(ddof=1) / np.sqrt(sample.size))
    return Interval(max(mean - half, least), min(mean + half, most))


def proportion_interval(share: float, size: int) -> Interval:
    """Return Wilson's 95% interval of a share of `size` trials (Wilson 1927).

    >>> low, high = proportion_interval(0.5, 100)
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    """
    from scipy.stats import binomtest

    low, high = binomtest(round(share * size), size).proportion_ci(method="wilson")
    return Interval(float(low), float(high))


def correlation_interval(correlation: float, size: int) -> Interval:
    """Return the 95% interval of Spearman's correlation by Fisher's transformation (Bonett & Wright 2000).

    >>> low, high = correlation_interval(0.78, 3000)
    >>> round(low, 2), round(high, 2)
    (0.76, 0.8)
    """
    if size < 4 or abs(correlation) >= 1:
        return Interval(-1.0, 1.0) if size < 4 else Interval(correlation, correlation)
    middle = np.arctanh(correlation)
    half = 1.959963984540054 * np.sqrt((1 + correlation**2 / 2) / (size - 3))
    return Interval(float(np.tanh(middle - half)), float(np.tanh(middle + half)))


def pearson_interval(
    gold: ArrayLike, scores: ArrayLike, *, level: float = 0.95, groups: ArrayLike | None = None
) -> Interval:
    """Return the jackknife interval of Pearson's correlation over words, on Fisher's scale, with a t quantile.

    Fisher's own interval holds only for normal data. With skewed or heavy-tailed data of correlation 0.8, it covers
    the truth in 80 to 92% of samples of 10 to 50 words instead of 95%, and the percentile bootstrap in 85 to 93%. The
    jackknife stays between 91 and 98% (tests/test_ratings.py measures all three). With groups, whole groups are left
    out, such as the copies of a document.

    >>> low, high = pearson_interval([1, 2, 3, 4, 5, 6], [1, 3, 2, 5, 4, 6])
    >>> round(low, 2), round(high, 2)
    (0.06, 0.99)
    """
    gold, scores = _checked(gold, scores)
    return _jackknife_interval(gold, scores, pearson(gold, scores), level, groups)


def spearman_interval(
    gold: ArrayLike, scores: ArrayLike, *, level: float = 0.95, groups: ArrayLike | None = None
) -> Interval:
    """Return the interval of Spearman's correlation over words: :func:`pearson_interval` of the ranks."""
    from scipy.stats import rankdata

    gold, scores = _checked(gold, scores)
    ranks = rankdata(gold), rankdata(scores)
    return _jackknife_interval(*ranks, pearson(*ranks), level, groups)


def _jackknife_interval(
    gold: Vector, scores: Vector, correlation: float, level: float, groups: ArrayLike | None
) -> Interval:
    from scipy.special import stdtrit  # the quantile of Student's t

    rows = np.arange(gold.size) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    members = np.bincount(rows)
    size = len(members)
    if size < 4:
        return Interval(-1.0, 1.0)
    if abs(correlation) > 1.0 - 1e-12:
        bound = 2.0 * _faultless(size // 2, size - size // 2, chance=(1.0 - level) / 2.0) - 1.0
        end = float(np.sin(np.pi / 2.0 * bound))  # Greiner: the correlation of normal variables with this τ
        return Interval(end, 1.0) if correlation > 0 else Interval(-1.0, -end)
    g, s = gold - gold.mean(), scores - scores.mean()
    others = gold.size - members

    def without_each(left: Vector, right: Vector) -> Vector:
        """Sums of products about the mean of the others: Σ lr - Σ_own lr - Σ_own l Σ_own r / n_others."""
        own: list[Vector] = [np.asarray(np.bincount(rows, x), dtype=np.float64) for x in (left * right, left, right)]
        return np.asarray(left @ right - own[0] - own[1] * own[2] / others)

    products, squares = without_each(g, s), without_each(g, g) * without_each(s, s)
    kept = squares > 1e-24 * (g @ g) * (s @ s)  # skip words without which all others are equal
    without = np.arctanh(np.clip(products[kept] / np.sqrt(squares[kept]), -1.0 + 1e-12, 1.0 - 1e-12))
    error = float(np.sqrt((size - 1) / size * np.sum((without - without.mean()) ** 2)))
    half = float(stdtrit(size - 2, (1.0 + level) / 2.0)) * error
    middle = float(np.arctanh(correlation))
    return Interval(float(np.tanh(middle - half)), float(np.tanh(middle + half)))


def resampled_tau(
    gold: ArrayLike,
    scores: ArrayLike,
    *,
    n_resamples: int = 1000,
    random_state: int | np.random.RandomState | None = 0,
    groups: ArrayLike | None = None,
) -> Vector:
    r"""Return Kendall's τ-b of resamples of the words, drawn with replacement.

    The same `random_state` draws the same words whatever the scores, so the difference between the values of two
    methods is a paired bootstrap. Words of one group are drawn together.

    Notes
    -----
    A resample contains each word :math:`c_v` times, so its concordant minus its discordant pairs are
    :math:`\sum_{v<w} c_v c_w \operatorname{sign}(g_v - g_w) \operatorname{sign}(s_v - s_w)`: one matrix product for
    all resamples, in blocks. 1,000 resamples of 3,800 words take a fraction of a second.
    """
    gold, scores = _checked(gold, scores)
    size = gold.size
    if groups is None:
        counts = _draw_counts(size, n_resamples, random_state)
    else:  # a group is drawn whole
        numbers = np.unique(np.asarray(groups), return_inverse=True)[1]
        counts = _draw_counts(int(numbers.max()) + 1, n_resamples, random_state)[:, numbers]
    order = np.argsort(scores, kind="stable")
    gold, scores, counts = gold[order], scores[order], counts[:, order]
    light = counts.astype(np.float32)  # small whole numbers: exact
    net = np.zeros(n_resamples)
    for start in range(0, size, BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, size))
        later = slice(start, size)
        above = scores[later] > scores[rows, None]
        signs = np.sign(gold[later] - gold[rows, None]).astype(np.float32) * above
        net += np.einsum("bi,bi->b", light[:, rows], light[:, later] @ signs.T, dtype=np.float64)
    untied = (_untied_pairs(np.argsort(gold, kind="stable"), gold, counts), _untied_pairs(None, scores, counts))
    with np.errstate(invalid="ignore", divide="ignore"):  # a resample of equal gold labels has no τ
        taus: Vector = net / np.sqrt(untied[0] * untied[1])
    return taus[np.isfinite(taus)]


def _draw_counts(size: int, n_resamples: int, random_state: int | np.random.RandomState | None) -> NDArray[np.int64]:
    """Return how often each of `size` words is drawn in each resample, shape (n_resamples, size)."""
    draws = check_random_state(random_state).randint(size, size=(n_resamples, size))
    draws += size * np.arange(n_resamples)[:, None]
    return np.bincount(draws.ravel(), minlength=n_resamples * size).reshape(n_resamples, size)


def _untied_pairs(order: NDArray[np.intp] | None, values: Vector, counts: NDArray[np.int64]) -> Vector:
    """Return the number of pairs of each resample that differ in `values`: (n² - Σ (size of a tie)²) / 2."""
    if order is not None:
        values, counts = values[order], counts[:, order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values) != 0]))
    ties = np.add.reduceat(counts, starts, axis=1).astype(np.float64)
    total = counts.sum(axis=1).astype(np.float64)  # groups differ in size
    untied: Vector = (total * total - np.sum(ties * ties, axis=1)) / 2.0
    return untied


def _checked(gold: ArrayLike, scores: ArrayLike) -> tuple[Vector, Vector]:
    gold, scores = np.asarray(gold, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if gold.ndim != 1 or gold.shape != scores.shape:
        raise LabelError(
            f"gold labels of shape {gold.shape} and scores of shape {scores.shape} are given; one of each per word is "
            "needed."
        )
    if not (np.isfinite(gold).all() and np.isfinite(scores).all()):
        raise LabelError("gold labels or scores hold NaN or infinity; every word needs finite ones. Drop the others.")
    for name, values in (("gold labels", gold), ("scores", scores)):
        if values.size < 2 or (values == values[0]).all():
            raise LabelError(
                f"the {name} of {values.size} words are all equal: so no order can be compared. Add words with another "
                "label or score."
            )
    return gold, scores


def _higher_class(gold: Vector) -> NDArray[np.bool_]:
    low, high = gold.min(), gold.max()
    if not np.isin(gold, [low, high]).all():
        raise LabelError(
            f"the gold labels hold {np.unique(gold).size} different values; two classes are needed. "
            "Split scores at their median, or use kendall_tau."
        )
    return np.asarray(gold == high)
