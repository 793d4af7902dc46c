"""Evidence about an axis: its spread, its pairs, near misses in spelling."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from densray._vocabulary import unit_rows
from densray.axes._options import AxisOptions
from densray.axes._uncertainty import Scores
from densray.errors import LexiconError, checked_pairs, name_some
from densray.metrics import Interval
from densray.rotations import DensRay, PairDirection, Rotation
from densray.rows import Rows
from densray.space import WordSpace, as_space
from densray.statistics import ScoreFreedom


def degrees_between(axes: NDArray[np.float64], axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the angles (degrees) between unit rows, or one unit vector, and an axis; accurate for small angles.

    >>> float(degrees_between(np.array([1.0, 0.0]), np.array([0.0, 1.0])).round(6))
    90.0
    """
    chord = np.linalg.norm(axes - axis, axis=-1)
    return np.asarray(np.degrees(2.0 * np.arcsin(np.clip(chord / 2.0, 0.0, 1.0))))


@dataclass(frozen=True)
class VocabularySpread:
    """Spread of the whole vocabulary along the axis.

    Attributes
    ----------
    variance_share : float
        Share of the variance of all vectors that lies along the axis. If all d directions were equal, each would have
        1/d.
    reliability : float
        1 - (mean squared standard error) / (variance of the scores): the expected correlation with the scores from
        other seeds of the same number and kind.
    reliability_interval : Interval
        95% interval for the reliability that seed sets of this size and kind have on average.
    standard_error : float
        Median standard error over the vocabulary.
    """

    variance_share: float
    reliability: float
    reliability_interval: Interval
    standard_error: float

    @classmethod
    def of(cls, scores: Scores, variance: float, freedom: ScoreFreedom) -> VocabularySpread:
        """Return the spread of scores; `variance` is the total variance of the vectors."""
        along, errors = float(scores.score.var()), scores.standard_error
        assert errors is not None
        return cls(
            along / variance if variance > 0 else float("nan"),
            reliability(scores.score, errors),
            freedom.reliability_interval(float(np.mean(errors**2)) / along if along > 0 else float("nan")),
            float(np.median(errors)),
        )


def reliability(scores: NDArray[np.float64], errors: NDArray[np.float64]) -> float:
    """Return one minus the mean squared standard error over the variance of the scores, at least 0."""
    variance = float(scores.var())
    return max(1.0 - float(np.mean(errors**2)) / variance, 0.0) if variance > 0 else 0.0


def eigenvalues_of(rotation: Rotation, seeds: Rows) -> NDArray[np.float64] | None:
    """Return all eigenvalues, descending; None if the method has none."""
    if not isinstance(rotation, DensRay | PairDirection):
        return None
    full: Any = clone(rotation).set_params(n_components=None).fit(seeds.X, seeds.y, groups=seeds.groups)
    return np.asarray(full.eigenvalues_)


@dataclass(frozen=True)
class PairConsistency:
    """Agreement of the differences of pairs with each other and with the axis.

    Attributes
    ----------
    n_pairs : int
        Pairs with both words in the space.
    parallelism : float
        Mean cosine between the differences of two pairs (PairDir, Boutyline & Johnston 2023).
    alignment : float
        Mean cosine of a difference with the axis.
    ordered : float
        The share of pairs whose first word lies higher on the axis.
    worst : tuple of (first, second, cosine)
        The pairs whose difference agrees least with the differences of the other pairs.
    """

    n_pairs: int
    parallelism: float
    alignment: float
    ordered: float
    worst: tuple[tuple[str, str, float], ...]


def pair_consistency(
    pairs: Iterable[Sequence[str]], space: WordSpace, axis: NDArray[np.float64], options: AxisOptions
) -> PairConsistency:
    """Return the consistency of pairs (higher word first)."""
    word_pairs = checked_pairs(pairs, "pairs")
    left, right = (space.locate([pair[side] for pair in word_pairs], any_case=options.any_case) for side in (0, 1))
    usable = np.flatnonzero((left >= 0) & (right >= 0) & (left != right))
    if usable.size < 2:
        raise LexiconError(
            f"{usable.size} of {len(word_pairs)} pairs have both words in '{space.name}' "
            f"({name_some(' – '.join(pair) for pair in word_pairs)}); at least two are needed."
        )
    rows = [space.vectors_at(side[usable]) for side in (left, right)]
    high, low = (unit_rows(part) if options.normalize else part for part in rows)
    along = (high - low).astype(np.float64) @ axis
    offsets = unit_rows(high - low).astype(np.float64)
    count = usable.size
    # Σ_{j≠i} cos(d_i, d_j) = d_i·(Σ d) - |d_i|²
    agreement = (offsets @ offsets.sum(axis=0) - np.einsum("ij,ij->i", offsets, offsets)) / (count - 1)
    least = np.argsort(agreement, kind="stable")[:5]
    return PairConsistency(
        int(count),
        float(agreement.mean()),
        float(np.mean(offsets @ axis)),
        float(np.mean(along > 0)),
        tuple((*word_pairs[usable[row]], float(agreement[row])) for row in least.tolist()),
    )


#: A vector is outlying if it is longer than this multiple of the median length.
OUTLYING_LENGTH = 5.0


@dataclass(frozen=True)
class OutlyingRow:
    """A seed whose vector is far longer than the vectors of the other seeds.

    Attributes
    ----------
    word : str
    label : float
    length : float
        Euclidean length of its vector.
    times : float
        Its length divided by the median length.
    """

    word: str
    label: float
    length: float
    times: float


def lengths_of(X: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the length of each row, and the same divided by the median length."""
    lengths = np.linalg.norm(X.astype(np.float64), axis=1)
    return lengths, lengths / max(float(np.median(lengths)), np.finfo(np.float64).tiny)


def outlying_rows(seeds: Rows) -> list[OutlyingRow]:
    """Return the seeds whose vectors are more than five times as long as the median one, the longest first.

    There are none if vectors are scaled to unit length.
    """
    lengths, times = lengths_of(seeds.X)
    rows = np.argsort(-times, kind="stable")[: int(np.sum(times > OUTLYING_LENGTH))]
    return [
        OutlyingRow(seeds.names[row], float(seeds.y[row]), float(lengths[row]), float(times[row]))
        for row in rows.tolist()
    ]


#: Range of word lengths to look up: shorter words have too many near spellings; longer ones are too costly.
SHORTEST_LETTERS, LONGEST_LETTERS = 6, 60
#: Number of letters to try in addition to a to z: the most common ones in the missing words.
_MOST_LETTERS = 100


@dataclass(frozen=True)
class NearMiss:
    """A missing word, a similar word of the space, and the kind of difference."""

    word: str
    found: str
    difference: str


def near_misses(missing: Sequence[str], space: WordSpace, *, most: int = 1000) -> list[NearMiss]:
    """Return a near spelling from the space for each missing word that has one.

    All spellings one edit away are looked up, so the cost does not depend on the size of the vocabulary. (About four in
    five typos are one such edit, hardly ever of the first letter; Damerau 1964.) If several are in the space, the
    first, usually the most frequent, is returned. For words of up to five or of more than sixty letters, only case,
    accents and the character that joins their parts (such as a space or an underscore) may differ.

    Parameters
    ----------
    missing : sequence of str
    space : WordSpace or KeyedVectors
    most : int, default=1000
        Maximum number of missing words to look up.
    """
    space = as_space(space)
    words = list(missing[:most])
    misses: dict[str, NearMiss] = {}
    cased = space.locate(words, any_case=True)
    for word, row in zip(words, cased.tolist(), strict=True):
        if row >= 0:
            misses[word] = NearMiss(word, space.words[row], "case")
    letters = _letters(words)
    for word in words:
        for difference, spellings in _spellings(word, letters):
            if word in misses:
                break
            rows = [row for row in space.locate(spellings).tolist() if row >= 0]
            if rows:
                misses[word] = NearMiss(word, space.words[min(rows)], difference)
    return [misses[word] for word in words if word in misses]


def _letters(words: Sequence[str]) -> list[str]:
    """Return the letters to try when a letter is missing or wrong."""
    counts = Counter(letter for word in words if len(word) <= LONGEST_LETTERS for letter in word.lower())
    return sorted({letter for letter, _ in counts.most_common(_MOST_LETTERS)} | set("abcdefghijklmnopqrstuvwxyz"))


def _spellings(word: str, letters: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield other spellings with their kind of difference, the likeliest kind first."""
    joined = {word.replace(old, new) for old in "-_ '" for new in ("", "_", "-", " ")}
    yield "joint", sorted(joined - {word})
    decomposed = unicodedata.normalize("NFD", word)
    plain = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    forms = {plain, unicodedata.normalize("NFC", word), decomposed} - {word}
    if forms:
        yield "accent", sorted(forms)
    if SHORTEST_LETTERS <= len(word) <= LONGEST_LETTERS:
        yield "one letter", _one_edit_away(word, letters)


def _one_edit_away(word: str, letters: Sequence[str]) -> list[str]:
    halves = [(word[:cut], word[cut:]) for cut in range(1, len(word) + 1)]
    deletions = {left + right[1:] for left, right in halves if right}
    swaps = {left + right[1] + right[0] + right[2:] for left, right in halves if len(right) > 1}
    replacements = {left + letter + right[1:] for left, right in halves if right for letter in letters}
    insertions = {left + letter + right for left, right in halves for letter in letters}
    return sorted((deletions | swaps | replacements | insertions) - {word})
