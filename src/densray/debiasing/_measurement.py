"""A measured number with its uncertainty, and the word lists it was taken from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray._vocabulary import unit_rows
from densray.errors import CoverageError, UnknownWordError, name_some
from densray.metrics import Interval
from densray.space import WordSpace

_NORMAL_975 = 1.959963984540054  # the 97.5% quantile of the normal distribution


@dataclass(frozen=True)
class Measurement:
    """One number, how sure it is, and what it was taken from.

    Attributes
    ----------
    name : str
        What was measured.
    value : float
    interval : Interval or None
        95% confidence interval, where the measure has one.
    p_value : float or None
        The chance of a value at least as large if there were nothing to find, where the measure has a test.
    used : int
        Words (or pairs, or questions) the number rests on.
    missing : tuple of str
        What was asked for and is not in the space.
    reason : str
        Why there is no number, where there is none.
    """

    name: str
    value: float
    interval: Interval | None = None
    p_value: float | None = None
    used: int = 0
    missing: tuple[str, ...] = ()
    reason: str = ""


#: What a measure asks, and what it is where nothing of the concept is left; WEAT by its first word.
_MEANINGS: dict[str, tuple[str, float | None]] = {
    "anchor gap": ("how much nearer neutral words are to one anchor than to the other", 0.0),
    "direct bias": ("how much of neutral words lies along the direction of the pairs", 0.0),
    "indirect bias": ("how much of the similarity of neutral words comes from that direction", 0.0),
    "WEAT": ("how much more one group of words goes with one end than another group does (effect size)", 0.0),
    "SemBias stereotype": ("share of questions in which a stereotype is the pair most like the concept", 0.25),
    "cluster accuracy": ("share of the most biased words whose cluster is that of their old side", 0.5),
    "recovery (linear)": ("share of the most biased words whose old side a linear classifier tells", 0.5),
    "recovery (rbf)": ("share of the most biased words whose old side a curved classifier (RBF) tells", 0.5),
    "neighbour correlation": ("correlation of a word's old bias with that of its neighbours", 0.0),
    "linear probe": ("share of unseen words of the concept that a linear model tells apart", 0.5),
    "nonlinear probe": ("share of unseen words of the concept that a curved model tells apart", 0.5),
    "RNSB": ("how unevenly negative sentiment falls on the words of the concept (divergence)", 0.0),
    "analogies": ("share of analogies answered correctly", None),
    "neighbour overlap": ("share of the nearest neighbours that a word keeps", None),
}
_RATINGS = ("agreement with people's ratings of similarity", None)


def meaning_of(measure: str) -> tuple[str, float | None]:
    """Return what a measure asks, and what it is where nothing of the concept is left (None: it is no trace of it).

    >>> meaning_of("recovery (linear)")[1], meaning_of("WEAT 7")[1], meaning_of("men")
    (0.5, 0.0, ("agreement with people's ratings of similarity", None))
    """
    return _MEANINGS.get(measure) or _MEANINGS.get(measure.split(maxsplit=1)[0], _RATINGS)


@dataclass(frozen=True)
class MeasuredSpace:
    """One space and its measures.

    Attributes
    ----------
    name : str
        "original", or the remover that made it.
    removed : tuple of Measurement
        What the space holds of the concept: lower is less; of WEAT, which may turn round, its size.
    kept : tuple of Measurement
        What else it is good for: higher is better.
    """

    name: str
    removed: tuple[Measurement, ...]
    kept: tuple[Measurement, ...]

    def __getitem__(self, measure: str) -> Measurement:
        """Return a measure by its name."""
        return next(each for each in (*self.removed, *self.kept) if each.name == measure)

    def to_dict(self) -> dict[str, Any]:
        """Return every number in plain form."""
        return {
            "name": self.name,
            "removed": [plain_measure(each) for each in self.removed],
            "kept": [plain_measure(each) for each in self.kept],
        }


def plain_measure(measure: Measurement) -> dict[str, Any]:
    """Return a measure as plain numbers."""
    low, high = measure.interval or (None, None)
    return {
        "name": measure.name,
        "value": measure.value,
        "low": low,
        "high": high,
        "p_value": measure.p_value,
        "used": measure.used,
        "missing": list(measure.missing),
        "reason": measure.reason or None,
        **_more(measure),
    }


def _more(measure: Measurement) -> dict[str, Any]:
    """Return the further plain numbers a measure carries, such as a probe's control."""
    names: Sequence[str] = ("control", "selectivity", "definition", "stereotype", "other", "statistic", "exact")
    return {name: getattr(measure, name) for name in names if hasattr(measure, name)}


def find_words(
    space: WordSpace, words: Iterable[str], *, what: str, minimum: int = 1
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a list that are in the space, each once, and those that are not.

    Parameters
    ----------
    space : WordSpace
    words : iterable of str
    what : str
        What the list is called in the error.
    minimum : int
        Fewer words found than this are an error.
    """
    listed = tuple(dict.fromkeys(words))
    missing = tuple(space.absent(listed))
    absent = set(missing)
    found = tuple(word for word in listed if word not in absent)
    if len(found) < minimum:
        named = f" (missing: {name_some(missing)})" if missing else ""
        raise CoverageError(
            f"{what}: {len(found)} of {len(listed)} words are in '{space.name}'{named}; at least {minimum} "
            f"{'is' if minimum == 1 else 'are'} needed. Check case and language, or give another list."
        )
    return found, missing


def find_pairs(
    space: WordSpace, pairs: Iterable[tuple[str, str]], *, what: str, minimum: int = 1
) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Return the pairs with both words in the space, and the words that are not; too few are an error."""
    listed = [(first, second) for first, second in pairs]
    found = [(first, second) for first, second in listed if first in space and second in space]
    missing = tuple(space.absent(word for pair in listed for word in pair))
    if len(found) < minimum:
        lost = f" (missing: {name_some(missing)})" if missing else ""
        raise CoverageError(
            f"{what}: {len(found)} of {len(listed)} pairs are in '{space.name}'{lost}; at least {minimum} "
            f"{'is' if minimum == 1 else 'are'} needed. Check case and language, or give other pairs."
        )
    return found, missing


def require_words(space: WordSpace, words: Iterable[str], *, what: str) -> None:
    """Raise if a word that cannot be done without is not in the space."""
    missing = space.absent(words)
    if missing:
        raise UnknownWordError(
            f"{what}: {name_some(missing)} not in '{space.name}' ({len(space):,} words). Give words of the space."
        )


def unit_vectors(space: WordSpace, words: Sequence[str]) -> NDArray[np.float64]:
    """Return the vectors of words at unit length; vectors of zeros stay zero."""
    return unit_rows(space[list(words)].astype(np.float64))


def mean_interval(values: ArrayLike) -> Interval:
    """Return the interval of a mean by Student's t.

    >>> low, high = mean_interval([1.0, 2.0, 3.0])
    >>> round(low, 2), round(high, 2)
    (-0.48, 4.48)
    """
    from scipy.special import stdtrit  # the quantile of Student's t

    sample = np.asarray(values, dtype=np.float64)
    mean = float(sample.mean())
    if sample.size < 2:
        return Interval(-np.inf, np.inf)
    half = float(stdtrit(sample.size - 1, 0.975) * sample.std(ddof=1) / np.sqrt(sample.size))
    return Interval(mean - half, mean + half)


def proportion_interval(share: float, size: int) -> Interval:
    """Return Wilson's interval of a share of `size` trials (Wilson 1927).

    >>> low, high = proportion_interval(0.5, 100)
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    """
    from scipy.stats import binomtest

    low, high = binomtest(round(share * size), size).proportion_ci(method="wilson")
    return Interval(float(low), float(high))


def correlation_interval(correlation: float, size: int) -> Interval:
    """Return the interval of Spearman's correlation by Fisher's transformation (Bonett & Wright 2000).

    >>> low, high = correlation_interval(0.78, 3000)
    >>> round(low, 2), round(high, 2)
    (0.76, 0.8)
    """
    if size < 4 or abs(correlation) >= 1:
        return Interval(-1.0, 1.0) if size < 4 else Interval(correlation, correlation)
    middle = np.arctanh(correlation)
    half = _NORMAL_975 * np.sqrt((1 + correlation**2 / 2) / (size - 3))
    return Interval(float(np.tanh(middle - half)), float(np.tanh(middle + half)))
