"""Measures of association: WEAT, sentiment, SemBias."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from densray._text_files import TextFile
from densray._threads import single_threaded_blas
from densray._vocabulary import unit_rows
from densray.datasets import AssociationTest
from densray.debiasing._measurement import (
    Measurement,
    find_words,
    require_words,
    unit_vectors,
)
from densray.errors import Argument, CoverageError, TaskError, name_some, refuse_text
from densray.metrics import percentile_interval, proportion_interval
from densray.space import WordSpace, as_space

Vector = NDArray[np.float64]

_MOST_SPLITS = 20_000  # up to this number, all splits are tried


@dataclass(frozen=True)
class Association(Measurement):
    """A WEAT result: the value is the effect size d; `statistic` is the sum used by the permutation test.

    Attributes
    ----------
    statistic : float
        Σ s(x) over the first targets minus Σ s(y) over the second.
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
    r"""Return how much more the first targets lean towards the first of two attributes than the second targets do.

    With :math:`s(w) = \overline{\cos}(w, A) - \overline{\cos}(w, B)` the effect size is

    .. math::
        d = \frac{\overline{s}(X) - \overline{s}(Y)}{\operatorname{std}_{w \in X \cup Y} s(w)}

    (population standard deviation, as in WEFE). The p-value is one-sided: the share of splits of the targets into
    parts of the same sizes whose statistic is at least as large. All splits are tried if there are at most 20,000,
    otherwise `n_permutations` random ones, including the given split. The interval is a bootstrap over target words.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    first_target, second_target, first_attribute, second_attribute : iterables of str
        Words that are not in the space are left out and reported; at least two of each list are needed. A repeated
        word counts once, with a warning.
    name : str
        Name of the test.
    n_permutations : int
    random_state : int or None

    References
    ----------
    .. [1] A. Caliskan, J. J. Bryson and A. Narayanan. Semantics Derived Automatically from Language Corpora Contain
       Human-like Biases. Science 356, 2017.
    """
    space = as_space(space)
    given = {
        "first target": first_target,
        "second target": second_target,
        "first attribute": first_attribute,
        "second attribute": second_attribute,
    }
    lists = {part: _word_list(words, f"{name}, {part}") for part, words in given.items()}
    _check_apart(lists["first target"], lists["second target"], f"{name}: the two target lists")
    _check_apart(lists["first attribute"], lists["second attribute"], f"{name}: the two attribute lists")
    matches = [find_words(space, words, what=f"{name}, {part}", minimum=2) for part, words in lists.items()]
    (X, _), (Y, _), (A, _), (B, _) = matches
    near, far = (space.cosines([*X, *Y], list(part)).mean(axis=1) for part in (A, B))
    scores = np.asarray(near - far)
    size = len(X)
    p_value, exact = _permutation_p(scores, size, n_permutations, random_state)
    return Association(
        name=name,
        value=_effect_size(scores, size),
        interval=percentile_interval(_resample(scores, size, random_state)),
        p_value=p_value,
        used=sum(len(words) for words, _ in matches),
        missing=tuple(word for _, missing in matches for word in missing),
        statistic=float(scores[:size].sum() - scores[size:].sum()),
        exact=exact,
    )


#: The Word Embedding Association Test, by its usual name.
weat = association


def association_test(
    space: WordSpace, test: AssociationTest, *, n_permutations: int = 10_000, random_state: int | None = 0
) -> Association:
    """Return the result of one of the ten published tests, or of your own test, on a space.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    test : AssociationTest
        For example one of the ten tests of :func:`densray.datasets.load_weat`.
    n_permutations, random_state
        As for :func:`association`.

    Examples
    --------
    >>> from densray.datasets import load_space, load_weat
    >>> found = association_test(load_space("googlenews-26k"), load_weat()[6])
    >>> found.name, round(found.value, 2), round(found.p_value, 3), found.exact
    ('WEAT 7', 0.91, 0.039, True)
    """
    space = as_space(space)
    groups = (test.first_target, test.second_target, test.first_attribute, test.second_attribute)
    return association(
        space,
        *(group.words for group in groups),
        name=f"WEAT {test.number}",
        n_permutations=n_permutations,
        random_state=random_state,
    )


def _word_list(words: Iterable[str], what: str) -> list[str]:
    """Return the words of a list, each once; warn of repeated words, and raise for a single text."""
    refuse_text(words, what)
    every = list(words)
    repeated = [word for word, count in Counter(every).items() if count > 1]
    if repeated:
        warnings.warn(
            f"{what}: {name_some(repeated)} {'is' if len(repeated) == 1 else 'are'} listed more than once and "
            f"{'counts' if len(repeated) == 1 else 'count'} once. List each word once.",
            UserWarning,
            stacklevel=3,
        )
    return list(dict.fromkeys(every))


def _check_apart(first: list[str], second: list[str], what: str) -> None:
    shared = sorted(set(first) & set(second))
    if shared:
        raise TaskError(
            f"{what} share {name_some(shared)}. A word can be in only one of them. Take it out of the other."
        )


def _effect_size(scores: Vector, size: int) -> float:
    spread = float(scores.std())
    return float((scores[:size].mean() - scores[size:].mean()) / spread) if spread > 0 else 0.0


def _permutation_p(scores: Vector, size: int, n_permutations: int, random_state: int | None) -> tuple[float, bool]:
    """Return the share of splits that are at least as far apart as the given one, and whether all were tried."""
    from scipy.stats import permutation_test

    def difference(first: Vector, second: Vector, axis: int = -1) -> Vector:
        return np.asarray(first.sum(axis=axis) - second.sum(axis=axis))

    exact = comb(len(scores), size) <= _MOST_SPLITS
    test = permutation_test(
        (scores[:size], scores[size:]),
        difference,
        vectorized=True,
        n_resamples=_MOST_SPLITS if exact else n_permutations,
        batch=1024,
        alternative="greater",
        random_state=random_state,
    )
    return float(test.pvalue), exact


def _resample(scores: Vector, size: int, random_state: int | None, n_resamples: int = 1000) -> Vector:
    """Return effect sizes of targets drawn with replacement, separately for each side."""
    random = check_random_state(random_state)
    first = scores[:size][random.randint(size, size=(n_resamples, size))]
    rest = len(scores) - size
    second = scores[size:][random.randint(rest, size=(n_resamples, rest))]
    spread = np.hstack([first, second]).std(axis=1)
    effects: Vector = (first.mean(axis=1) - second.mean(axis=1))[spread > 0] / spread[spread > 0]
    return effects if effects.size else np.zeros(1)


@dataclass(frozen=True)
class SentimentBias(Measurement):
    """An RNSB result: the value is the divergence; `shares` are the shares of negative sentiment of the words."""

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
    """Return how unevenly negative sentiment is distributed over words that should be treated alike.

    A logistic model is trained to tell negative from positive words; its probabilities for the identity words, scaled
    to sum to one, are compared with equal shares by the Kullback–Leibler divergence. The p-value is the share of
    `n_resamples` models with shuffled labels whose divergence is at least as large; the interval is a bootstrap over
    the sentiment words.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    identities : iterable of str
        For example nationalities, or words for men and women; at least two must be in the space.
    positive, negative : iterables of str
        Sentiment words. A repeated word counts once, with a warning.
    n_resamples : int
        Number of models for the p-value, and again for the interval. With 0, both are None.
    random_state : int or None

    References
    ----------
    .. [1] C. Sweeney and M. Najafian. A Transparent Framework for Evaluating Unintended Demographic Bias in Word
       Embeddings. ACL 2019.
    """
    space = as_space(space)
    if n_resamples < 0:
        raise TaskError(Argument("n_resamples", n_resamples), " is given; it must be 0 or more.")
    pleasant, unpleasant = _word_list(positive, "positive words"), _word_list(negative, "negative words")
    shared = sorted(set(pleasant) & set(unpleasant))
    if shared:
        raise TaskError(f"the sentiment lists share {name_some(shared)}. Take these words out of one list.")
    people, absent = find_words(space, _word_list(identities, "identity words"), what="identity words", minimum=2)
    good, absent_good = find_words(space, pleasant, what="positive words", minimum=2)
    bad, absent_bad = find_words(space, unpleasant, what="negative words", minimum=2)
    X = unit_vectors(space, (*good, *bad))
    y = np.repeat([0, 1], [len(good), len(bad)])
    Z = unit_vectors(space, people)
    with single_threaded_blas():
        shares = _shares(X, y, Z)
        resampled, shuffled = _repeat(X, y, Z, n_resamples, random_state)
    value = _divergence(shares)
    return SentimentBias(
        name="RNSB",
        value=value,
        interval=percentile_interval(resampled) if resampled else None,
        p_value=(1 + sum(each >= value for each in shuffled)) / (n_resamples + 1) if shuffled else None,
        used=len(people) + len(good) + len(bad),
        missing=(*absent, *absent_good, *absent_bad),
        shares=tuple(zip(people, shares.tolist(), strict=True)),
    )


#: Relative Negative Sentiment Bias, by its usual name.
rnsb = sentiment_bias


def _repeat(
    X: Vector, y: NDArray[np.intp], Z: Vector, count: int, random_state: int | None
) -> tuple[list[float], list[float]]:
    """Return the divergences of models with resampled words, and with shuffled labels."""
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


@dataclass(frozen=True)
class SemBiasQuestion:
    """Four pairs: one that defines the concept, one stereotype, and two unrelated ones."""

    definition: tuple[str, str]
    stereotype: tuple[str, str]
    others: tuple[tuple[str, str], ...]

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All pairs: the definition, the stereotype, the others."""
        return (self.definition, self.stereotype, *self.others)


@dataclass(frozen=True)
class PairChoice(Measurement):
    """A SemBias result: the value is the share of questions answered by the stereotype.

    Attributes
    ----------
    definition, stereotype, other : float
        Shares of questions answered by each kind of pair.
    """

    definition: float = 0.0
    stereotype: float = 0.0
    other: float = 0.0


def read_sembias(path: str | Path) -> list[SemBiasQuestion]:
    """Return the questions of a SemBias file: four tab-separated ``first:second`` pairs per line.

    In the published file the definition comes first and the stereotype last.
    """
    questions = []
    for number, line in enumerate(TextFile(path, encoding="utf-8", error=TaskError).text.splitlines(), start=1):
        if not line.strip():
            continue
        pairs = [tuple(part.split(":")) for part in line.split("\t") if part]
        if len(pairs) < 3 or any(len(pair) != 2 or not all(pair) for pair in pairs):
            raise TaskError(f"{path}, line {number}: {line!r} is not a tab-separated list of pairs such as 'he:she'.")
        first, *middle, last = [(pair[0], pair[1]) for pair in pairs]
        questions.append(SemBiasQuestion(first, last, tuple(middle)))
    if not questions:
        raise TaskError(f"{path} holds no question. Give four tab-separated pairs per line.")
    return questions


def pair_choice(
    space: WordSpace, questions: Iterable[SemBiasQuestion], poles: tuple[str, str] = ("he", "she")
) -> PairChoice:
    """Return which kind of pair is most similar to the pair of poles, by the cosine of their differences.

    Questions with a word that is not in the space are left out; their words are reported.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    questions : iterable of SemBiasQuestion
    poles : pair of str

    References
    ----------
    .. [1] J. Zhao, Y. Zhou, Z. Li, W. Wang and K.-W. Chang. Learning Gender-Neutral Word Embeddings. EMNLP 2018.
    """
    space = as_space(space)
    require_words(space, poles, what="poles")
    all_questions = list(questions)
    usable = [each for each in all_questions if all(word in space for pair in each.pairs for word in pair)]
    missing = space.absent(word for each in all_questions for pair in each.pairs for word in pair)
    if not usable:
        raise CoverageError(
            f"none of {len(all_questions)} questions has all its words in '{space.name}'. Check case and language."
        )
    direction = _differences(space, [poles])[0]
    choices = np.array([int(np.argmax(_differences(space, each.pairs) @ direction)) for each in usable])
    shares = [float(np.mean(choices == 0)), float(np.mean(choices == 1)), float(np.mean(choices > 1))]
    return PairChoice(
        name="SemBias stereotype",
        value=shares[1],
        interval=proportion_interval(shares[1], len(usable)),
        used=len(usable),
        missing=tuple(missing),
        definition=shares[0],
        stereotype=shares[1],
        other=shares[2],
    )


def _differences(space: WordSpace, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    first, second = (unit_vectors(space, [pair[side] for pair in pairs]) for side in (0, 1))
    return unit_rows(first - second)
