"""The word-embedding association test, WEAT (Caliskan, Bryson & Narayanan 2017)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from densray.bias.measurement import Measurement, WordsFound, find_words
from densray.datasets import AssociationTest
from densray.errors import TaskError, name_some
from densray.metrics import percentile_interval
from densray.space import WordSpace

__all__ = ["Association", "association", "association_test"]

Vector = NDArray[np.float64]

_MOST_SPLITS = 20_000  # up to here every split is tried


@dataclass(frozen=True)
class Association(Measurement):
    """A WEAT result: the value is the effect size d; `statistic` is the sum the permutation test is about.

    Attributes
    ----------
    statistic : float
        Σ s(x) over the first targets less Σ s(y) over the second.
    exact : bool
        Whether the p-value comes from all splits of the targets, or from a sample of them.
    """

    statistic: float = 0.0
    exact: bool = False


def association(
    space: WordSpace,
    first_target: Iterable[str],
    second_target: Iterable[str],
    first_attribute: Iterable[str],
    second_attribute: Iterable[str],
    *,
    name: str = "WEAT",
    n_permutations: int = 10_000,
    random_state: int | None = 0,
) -> Association:
    r"""Return how much more the first targets go with the first attributes than the second targets do.

    With :math:`s(w) = \overline{\cos}(w, A) - \overline{\cos}(w, B)` the effect size is

    .. math::
        d = \frac{\overline{s}(X) - \overline{s}(Y)}{\operatorname{std}_{w \in X \cup Y} s(w)}

    (population standard deviation, as in WEFE). The p-value is one-sided: the share of splits of the targets into
    parts of the same sizes whose statistic is at least as large; all splits are tried where there are at most 20,000,
    else `n_permutations` random ones, the given split among them. The interval is a bootstrap over target words.

    Parameters
    ----------
    space : WordSpace
    first_target, second_target, first_attribute, second_attribute : iterables of str
        Words not in the space are left out and reported; at least two of each list must be there.
    name : str
        What the test is called.
    n_permutations : int
    random_state : int or None

    References
    ----------
    .. [1] A. Caliskan, J. J. Bryson and A. Narayanan. Semantics Derived Automatically from Language Corpora Contain
       Human-like Biases. Science 356, 2017.
    """
    given = {
        "first target": list(first_target),
        "second target": list(second_target),
        "first attribute": list(first_attribute),
        "second attribute": list(second_attribute),
    }
    _check_apart(given["first target"], given["second target"], f"{name}: the two target lists")
    _check_apart(given["first attribute"], given["second attribute"], f"{name}: the two attribute lists")
    X, Y, A, B = (find_words(space, words, what=f"{name}, {part}", minimum=2) for part, words in given.items())
    scores = _scores(space, (*X.words, *Y.words), A, B)
    size = len(X)
    p_value, exact = _permutation_p(scores, size, n_permutations, random_state)
    return Association(
        name=name,
        value=_effect_size(scores, size),
        interval=percentile_interval(_resampled(scores, size, random_state)),
        p_value=p_value,
        used=sum(len(part) for part in (X, Y, A, B)),
        missing=tuple(word for part in (X, Y, A, B) for word in part.missing),
        statistic=float(scores[:size].sum() - scores[size:].sum()),
        exact=exact,
    )


def association_test(
    space: WordSpace, test: AssociationTest, *, n_permutations: int = 10_000, random_state: int | None = 0
) -> Association:
    """Return one of the ten published tests, or one of your own, on a space.

    Parameters
    ----------
    space : WordSpace
    test : AssociationTest
        Such as :func:`densray.datasets.load_weat` returns ten of.
    n_permutations, random_state
        As for :func:`association`.

    Examples
    --------
    >>> from densray.datasets import load_space, load_weat
    >>> found = association_test(load_space("googlenews-26k"), load_weat()[6])
    >>> found.name, round(found.value, 2), round(found.p_value, 3), found.exact
    ('WEAT 7', 0.91, 0.039, True)
    """
    groups = (test.first_target, test.second_target, test.first_attribute, test.second_attribute)
    return association(
        space,
        *(group.words for group in groups),
        name=f"WEAT {test.number}",
        n_permutations=n_permutations,
        random_state=random_state,
    )


def _check_apart(first: list[str], second: list[str], what: str) -> None:
    shared = sorted(set(first) & set(second))
    if shared:
        raise TaskError(f"{what} share {name_some(shared)}. A word can be on one side only: take it out of one list.")


def _scores(space: WordSpace, words: tuple[str, ...], A: WordsFound, B: WordsFound) -> Vector:
    near, far = (space.cosines(list(words), list(part.words)).mean(axis=1) for part in (A, B))
    return np.asarray(near - far)


def _effect_size(scores: Vector, size: int) -> float:
    spread = float(scores.std())
    return float((scores[:size].mean() - scores[size:].mean()) / spread) if spread > 0 else 0.0


def _permutation_p(scores: Vector, size: int, n_permutations: int, random_state: int | None) -> tuple[float, bool]:
    """Return the share of splits at least as far apart as the given one, and whether all were tried.

    With the total fixed, the sum over the first part alone orders the splits.
    """
    total = len(scores)
    bar = scores[:size].sum() - 1e-12
    if comb(total, size) <= _MOST_SPLITS:
        splits = np.fromiter((i for split in combinations(range(total), size) for i in split), dtype=np.intp)
        return float(np.mean(scores[splits.reshape(-1, size)].sum(axis=1) >= bar)), True
    draws = check_random_state(random_state).random_sample((n_permutations, total))
    parts = np.argpartition(draws, size, axis=1)[:, :size]
    as_large = int(np.sum(scores[parts].sum(axis=1) >= bar))
    return (as_large + 1) / (n_permutations + 1), False


def _resampled(scores: Vector, size: int, random_state: int | None, n_resamples: int = 1000) -> Vector:
    """Return effect sizes of targets drawn with replacement, each side by itself."""
    random = check_random_state(random_state)
    first = scores[:size][random.randint(size, size=(n_resamples, size))]
    rest = len(scores) - size
    second = scores[size:][random.randint(rest, size=(n_resamples, rest))]
    spread = np.hstack([first, second]).std(axis=1)
    effects: Vector = (first.mean(axis=1) - second.mean(axis=1))[spread > 0] / spread[spread > 0]
    return effects if effects.size else np.zeros(1)
