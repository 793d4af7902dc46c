"""Relative norm-based sentiment bias, RNSB (Sweeney & Najafian 2019)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from densray.bias.measurement import Measurement, find_words, unit_rows
from densray.cores import one_core
from densray.errors import TaskError, name_some
from densray.metrics import percentile_interval
from densray.space import WordSpace

__all__ = ["SentimentBias", "sentiment_bias"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class SentimentBias(Measurement):
    """An RNSB result: the value is the divergence; `shares` is the share of negative sentiment each word gets."""

    shares: tuple[tuple[str, float], ...] = ()


def sentiment_bias(
    space: WordSpace,
    identities: Iterable[str],
    positive: Iterable[str],
    negative: Iterable[str],
    *,
    n_resamples: int = 50,
    random_state: int | None = 0,
) -> SentimentBias:
    """Return how unevenly negative sentiment falls on words that should be treated alike.

    A logistic model learns negative against positive words; its probabilities for the identity words, scaled to sum
    to one, are compared with equal shares by the Kullback–Leibler divergence. The p-value is the share of
    `n_resamples` models with shuffled labels whose divergence is at least as large; the interval is a bootstrap over
    the sentiment words.

    Parameters
    ----------
    space : WordSpace
    identities : iterable of str
        Such as nationalities or words for men and women; at least two must be in the space.
    positive, negative : iterables of str
        Sentiment words.
    n_resamples : int
        Models fitted for each of p-value and interval.
    random_state : int or None

    References
    ----------
    .. [1] C. Sweeney and M. Najafian. A Transparent Framework for Evaluating Unintended Demographic Bias in Word
       Embeddings. ACL 2019.
    """
    pleasant, unpleasant = list(positive), list(negative)
    shared = sorted(set(pleasant) & set(unpleasant))
    if shared:
        raise TaskError(f"the sentiment lists share {name_some(shared)}. Take these words out of one list.")
    people = find_words(space, identities, what="identity words", minimum=2)
    good = find_words(space, pleasant, what="positive words", minimum=2)
    bad = find_words(space, unpleasant, what="negative words", minimum=2)
    X = unit_rows(space, (*good.words, *bad.words))
    y = np.repeat([0, 1], [len(good), len(bad)])
    Z = unit_rows(space, people.words)
    with one_core():
        shares = _shares(X, y, Z)
        resampled, shuffled = _repeated(X, y, Z, n_resamples, random_state)
    value = _divergence(shares)
    return SentimentBias(
        name="RNSB",
        value=value,
        interval=percentile_interval(resampled) if resampled else None,
        p_value=(1 + sum(each >= value for each in shuffled)) / (n_resamples + 1),
        used=len(people) + len(good) + len(bad),
        missing=(*people.missing, *good.missing, *bad.missing),
        shares=tuple(zip(people.words, shares.tolist(), strict=True)),
    )


def _repeated(
    X: Vector, y: NDArray[np.intp], Z: Vector, count: int, random_state: int | None
) -> tuple[list[float], list[float]]:
    """Return the divergences of models of resampled words, and of models of shuffled labels."""
    random = check_random_state(random_state)
    resampled, shuffled = [], []
    for _ in range(count):
        rows = np.concatenate([random.choice(np.flatnonzero(y == side), int(np.sum(y == side))) for side in (0, 1)])
        resampled.append(_divergence(_shares(X[rows], y[rows], Z)))
        shuffled.append(_divergence(_shares(X, random.permutation(y), Z)))
    return resampled, shuffled


def _shares(X: Vector, y: NDArray[np.intp], Z: Vector) -> Vector:
    from sklearn.linear_model import LogisticRegression

    probabilities = LogisticRegression(C=1.0, max_iter=200).fit(X, y).predict_proba(Z)[:, 1]
    return np.asarray(probabilities / probabilities.sum())


def _divergence(shares: Vector) -> float:
    """Return the Kullback–Leibler divergence of shares from equal shares."""
    positive = shares[shares > 0]
    return float(np.sum(positive * np.log(positive * len(shares))))
