"""A measured number with its uncertainty and the words it was computed from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._vocabulary import unit_rows
from densray.errors import CoverageError, UnknownWordError, name_some
from densray.metrics import Interval
from densray.space import WordSpace


@dataclass(frozen=True)
class Measurement:
    """One measured number, with its uncertainty and the words used.

    Attributes
    ----------
    name : str
        Name of the measure.
    value : float
    interval : Interval or None
        95% confidence interval, if the measure has one.
    p_value : float or None
        Probability of a value at least as large by chance, if the measure has a test.
    used : int
        Number of words (or pairs, or questions) used.
    missing : tuple of str
        Words that are not in the space.
    reason : str
        Reason why there is no number; empty if there is one.
    """

    name: str
    value: float
    interval: Interval | None = None
    p_value: float | None = None
    used: int = 0
    missing: tuple[str, ...] = ()
    reason: str = ""


#: The meaning of each measure, and its value if nothing of the concept is left. WEAT is listed by its first word.
_MEANINGS: dict[str, tuple[str, float | None]] = {
    "anchor gap": ("how much nearer neutral words are to one anchor than to the other", 0.0),
    "direct bias": ("how much of neutral words lies along the direction of the pairs", 0.0),
    "indirect bias": ("how much of the similarity of neutral words comes from that direction", 0.0),
    "WEAT": ("how much more one group of words is associated with one end than another group (effect size)", 0.0),
    "SemBias stereotype": ("share of questions in which a stereotype is the pair most like the concept", 0.25),
    "cluster accuracy": ("share of the most biased words whose cluster matches their old side", 0.5),
    "recovery (linear)": ("share of the most biased words whose old side a linear classifier predicts", 0.5),
    "recovery (rbf)": ("share of the most biased words whose old side a curved classifier (RBF) predicts", 0.5),
    "neighbour correlation": ("correlation of a word's old bias with that of its neighbours", 0.0),
    "linear probe": ("share of unseen words of the concept that a linear model classifies correctly", 0.5),
    "nonlinear probe": ("share of unseen words of the concept that a curved model classifies correctly", 0.5),
    "RNSB": ("how unevenly negative sentiment is distributed over the words of the concept (divergence)", 0.0),
    "analogies": ("share of analogies answered correctly", None),
    "neighbour overlap": ("share of the nearest neighbours that a word keeps", None),
}
_RATINGS = ("agreement with people's ratings of the similarity of words", None)


def meaning_of(measure: str) -> tuple[str, float | None]:
    """Return the meaning of a measure, and its value if the concept were gone (None for measures of other tasks).

    >>> meaning_of("recovery (linear)")[1], meaning_of("WEAT 7")[1], meaning_of("men")
    (0.5, 0.0, ("agreement with people's ratings of the similarity of words", None))
    """
    return _MEANINGS.get(measure) or _MEANINGS.get(measure.split(maxsplit=1)[0], _RATINGS)


def is_rated(measure: str) -> bool:
    """Return whether a measure compares cosines with people's ratings of similarity: it has the name of a data set."""
    return meaning_of(measure) == _RATINGS


@dataclass(frozen=True)
class MeasuredSpace:
    """One space and its measures.

    Attributes
    ----------
    name : str
        "original", or the name of the remover.
    removed : tuple of Measurement
        Measures of the concept: lower means less of it. For WEAT, which may change its sign, only the size matters.
    kept : tuple of Measurement
        Measures of quality: higher is better.
    """

    name: str
    removed: tuple[Measurement, ...]
    kept: tuple[Measurement, ...]

    def __repr__(self) -> str:
        return f"MeasuredSpace '{self.name}': {len(self.removed)} measures of the concept, {len(self.kept)} of quality"

    def __getitem__(self, measure: str) -> Measurement:
        """Return a measure by its name."""
        return next(each for each in (*self.removed, *self.kept) if each.name == measure)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain values."""
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
    """Return further plain numbers of a measure, such as the control of a probe."""
    names: Sequence[str] = ("control", "selectivity", "definition", "stereotype", "other", "statistic", "exact")
    return {name: getattr(measure, name) for name in names if hasattr(measure, name)}


def find_words(
    space: WordSpace, words: Iterable[str], *, what: str, minimum: int = 1
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a list that are in the space, each once, and the missing ones.

    Parameters
    ----------
    space : WordSpace
    words : iterable of str
    what : str
        Name of the list in the error message.
    minimum : int
        Least number of words that must be found.
    """
    unique = tuple(dict.fromkeys(words))
    missing = tuple(space.absent(unique))
    absent = set(missing)
    present = tuple(word for word in unique if word not in absent)
    if len(present) < minimum:
        examples = f" (missing: {name_some(missing)})" if missing else ""
        raise CoverageError(
            f"{what}: {len(present)} of {len(unique)} words are in '{space.name}'{examples}; at least {minimum} "
            f"{'is' if minimum == 1 else 'are'} needed. Check case and language, or give another list."
        )
    return present, missing


def find_pairs(
    space: WordSpace, pairs: Iterable[tuple[str, str]], *, what: str, minimum: int = 1
) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Return the pairs with both words in the space, and the missing words; raise if there are too few pairs."""
    word_pairs = [(first, second) for first, second in pairs]
    usable = [(first, second) for first, second in word_pairs if first in space and second in space]
    missing = tuple(space.absent(word for pair in word_pairs for word in pair))
    if len(usable) < minimum:
        absent = f" (missing: {name_some(missing)})" if missing else ""
        raise CoverageError(
            f"{what}: {len(usable)} of {len(word_pairs)} pairs are in '{space.name}'{absent}; at least {minimum} "
            f"{'is' if minimum == 1 else 'are'} needed. Check case and language, or give other pairs."
        )
    return usable, missing


def require_words(space: WordSpace, words: Iterable[str], *, what: str) -> None:
    """Raise if a required word is not in the space."""
    missing = space.absent(words)
    if missing:
        raise UnknownWordError(
            f"{what}: {name_some(missing)} not in '{space.name}' ({len(space):,} words). Give words of the space."
        )


def unit_vectors(space: WordSpace, words: Sequence[str]) -> NDArray[np.float64]:
    """Return the vectors of words at unit length; vectors of zeros stay zero."""
    return unit_rows(space[list(words)].astype(np.float64))
