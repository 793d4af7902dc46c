"""One axis in two spaces: which words moved along it, in units of their error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from densray._vocabulary import unit_rows
from densray.axes._axis import Axis
from densray.axes._options import DEFAULTS, AxisChoices, AxisOptions
from densray.axes._tasks import find_rows
from densray.errors import Advice, Argument, LexiconError, TaskError
from densray.groups import first_of_group, number_groups, pairwise_rows
from densray.lexicon import Lexicon
from densray.report import Column, Input, Provenance, Result, Table, show_count, show_number
from densray.rows import Rows
from densray.space import WordSpace, as_space
from densray.spelling import locate_spellings
from densray.statistics import closed_form_deviations, is_closed_form, with_fewer_rows

#: Largest number of words to compare: the first ones that are in both spaces.
MOST_COMPARED = 100_000
#: Number of words of similar frequency used to estimate the noise of words that did not move.
WORDS_PER_GROUP = 500
#: Standard deviations per median distance from the median, for a normal distribution.
_NORMAL = 1.4826


@dataclass(frozen=True)
class SpaceComparison(Result):
    """One axis in two spaces: which words moved along it, in units of their error.

    Scores are standardised over the compared words, so that all spaces have the same scale.

    Attributes
    ----------
    spaces : pair of str
    n_words : int
        Number of compared words: those in both spaces, or the given pairs.
    n_seeds : pair of int
    is_paired : bool
        Whether both axes have the same seeds. If so, a change that other seeds would cause in both scores alike does
        not count as an error of the difference. If not, the errors of the two axes are treated as independent.
    correlation : float
        Pearson correlation of the two scores over the compared words.
    n_moved : int
        Number of words that moved, at a false discovery rate of 5% (Benjamini & Hochberg 1995).
    risen, fallen : lists of dict
        The words that moved most from the first space to the second; see :meth:`entries`.
    words : tuple of pairs of str
        Each word in the spelling of the first and of the second space.
    first, second : arrays of shape (n_words,)
        Standardised scores.
    first_error, second_error : arrays of shape (n_words,)
        Their standard errors, over seeds.
    seed_error : array of shape (n_words,)
        Standard error of the difference, over seeds.
    noise : array of shape (n_words,)
        Spread of the differences of words of similar frequency beyond the error from the seeds, estimated from median
        distances: the effect of corpora and training on words that did not move.
    moved : array of bool
    """

    title = "One axis in two spaces"

    spaces: tuple[str, str]
    n_words: int
    n_seeds: tuple[int, int]
    is_paired: bool
    correlation: float
    n_moved: int
    risen: list[dict[str, Any]]
    fallen: list[dict[str, Any]]
    words: tuple[tuple[str, str], ...] = field(repr=False, metadata={"report": False})
    first: NDArray[np.float64] = field(repr=False, metadata={"report": False})
    second: NDArray[np.float64] = field(repr=False, metadata={"report": False})
    first_error: NDArray[np.float64] = field(repr=False, metadata={"report": False})
    second_error: NDArray[np.float64] = field(repr=False, metadata={"report": False})
    seed_error: NDArray[np.float64] = field(repr=False, metadata={"report": False})
    noise: NDArray[np.float64] = field(repr=False, metadata={"report": False})
    moved: NDArray[np.bool_] = field(repr=False, metadata={"report": False})

    @property
    def difference(self) -> NDArray[np.float64]:
        """Standardised score in the second space minus the score in the first."""
        return np.asarray(self.second - self.first)

    @property
    def error(self) -> NDArray[np.float64]:
        """Standard error of the difference: from the seeds and from the noise of words that did not move."""
        return np.asarray(np.hypot(self.seed_error, self.noise))

    @property
    def ratio(self) -> NDArray[np.float64]:
        """The difference in units of its standard error; 0 if both are 0."""
        error = self.error
        return np.asarray(np.divide(self.difference, error, out=np.zeros_like(error), where=error > 0.0))

    def entries(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Return scores and errors of the compared words at these positions."""
        difference, error, ratio = self.difference, self.error, self.ratio
        return [
            {
                "word": " – ".join(dict.fromkeys(self.words[row])),
                "first": float(self.first[row]),
                "first_error": float(self.first_error[row]),
                "second": float(self.second[row]),
                "second_error": float(self.second_error[row]),
                "difference": float(difference[row]),
                "error": float(error[row]),
                "ratio": float(ratio[row]),
                "moved": bool(self.moved[row]),
            }
            for row in rows
        ]

    def lookup(self, words: Sequence[str]) -> list[dict[str, Any]]:
        """Return scores and errors of words of either space; words that are not compared are left out."""
        places: dict[str, int] = {}
        for place, pair in enumerate(self.words):
            for word in pair:
                places.setdefault(word, place)
        return self.entries(list(dict.fromkeys(places[word] for word in words if word in places)))

    def text(self) -> str:
        """Return how well the two orders agree, and how many words moved."""
        first, second = self.spaces
        warning = (
            "\nThe two orders hardly agree: the axes differ between the spaces, and single words cannot be compared."
            if self.correlation < _ONE_AXIS
            else ""
        )
        errors = "the same seeds, left out in both spaces at once" if self.is_paired else "independent errors"
        return (
            f"{show_count(self.n_words)} words of “{first}” and “{second}” correlate at "
            f"{show_number(self.correlation, 2)} along this axis; "
            f"{show_count(self.n_moved)} of them moved (false discovery rate 5%).\n"
            f"Errors are those of the seeds ({errors}) and of words of similar frequency that did not move.{warning}"
        )

    def tables(self) -> list[Table]:
        """Return the words that rose, and those that fell."""
        columns = [
            Column("word"),
            Column("first", self.spaces[0], decimals=2),
            Column("second", self.spaces[1], decimals=2),
            Column("difference", decimals=2),
            Column("error", "±", decimals=2),
            Column("ratio", "in errors", decimals=1),
        ]
        note = (
            "Scores are standardised over the compared words. A difference beyond 2 errors is not a finding by itself: "
            "of 20 words that did not move, one lies there."
        )
        return [Table("Risen most", columns, self.risen, [note]), Table("Fallen most", columns, self.fallen)]


def compare_spaces(
    first: WordSpace,
    second: WordSpace,
    lexicon: Lexicon,
    *,
    other_lexicon: Lexicon | None = None,
    pairs: Iterable[tuple[str, str]] | None = None,
    method: str = "auto",
    n_words: int = 20,
    options: AxisOptions = DEFAULTS,
    **choices: Unpack[AxisChoices],
) -> SpaceComparison:
    r"""Find the words that moved along an axis from one space to another: decades, domains, models, languages.

    Let :math:`w, w'` be the axes of the two spaces. A word with the vectors x, x' has the scores z, z', standardised
    over the compared words. To first order, the seeds change z by

    .. math:: (x - c)^\top(\delta - (b^\top\delta) w) / s

    with the error δ of the axis, the mean c of the words, the standard deviation s of their scores and the slope b of
    vectors on scores. The jackknife gives δ. If both axes have the same seeds, each seed is left out of both at once.
    Words also move by chance, because corpora and training differ. This is estimated from the middle half of the
    differences among words of similar frequency, after subtracting the part that is due to the seeds.

    Parameters
    ----------
    first, second : WordSpace or KeyedVectors
        The two spaces may have different widths.
    lexicon : Lexicon
        The seeds. Without `other_lexicon`, only seeds that are in both spaces are used.
    other_lexicon : Lexicon, optional
        The seeds of the second space, for example in another language.
    pairs : pairs of str, optional
        The words to compare, each with its counterpart in the second space (default: the words that are in both, at
        most the first 100,000 of the first space).
    method : str, default="auto"
    n_words : int, default=20
        How many words to list in each direction.
    options : AxisOptions, optional
    **choices
        Fields of :class:`densray.axes.AxisOptions` by name.
    """
    from scipy.stats import false_discovery_control, norm

    first, second, options = as_space(first), as_space(second), options.changed(**choices)
    provenance = Provenance.begin(seed=options.random_state)
    seeds = _seeds_of_both((first, second), lexicon, other_lexicon, options)
    rows = _compared_rows(first, second, pairs)
    parts = [
        _StandardScores.of(space, place, own_seeds, method, options)
        for space, place, own_seeds in zip((first, second), rows, seeds, strict=True)
    ]
    paired_rows = other_lexicon is None and len(parts[0].deviations) == len(parts[1].deviations)
    is_paired = paired_rows and all(part.by_seed for part in parts)
    joint = _joint_deviations(parts, is_paired=is_paired, random=np.random.default_rng(options.random_state))
    seed_error = _lengths([part.centred for part in parts], joint)
    difference = parts[1].scores - parts[0].scores
    noise = _noise(difference, seed_error, np.maximum(*rows))
    error = np.hypot(seed_error, noise)
    ratio = np.divide(difference, error, out=np.zeros_like(error), where=error > 0.0)
    moved = false_discovery_control(2.0 * norm.sf(np.abs(ratio))) <= _FALSE_DISCOVERIES
    places = zip(*(each.tolist() for each in rows), strict=True)
    comparison = SpaceComparison(
        spaces=(first.name, second.name),
        n_words=len(ratio),
        n_seeds=(len(seeds[0]), len(seeds[1])),
        is_paired=is_paired,
        correlation=float(np.corrcoef(parts[0].scores, parts[1].scores)[0, 1]),
        n_moved=int(moved.sum()),
        risen=[],
        fallen=[],
        words=tuple((first.words[one], second.words[other]) for one, other in places),
        first=parts[0].scores,
        second=parts[1].scores,
        first_error=parts[0].errors,
        second_error=parts[1].errors,
        seed_error=seed_error,
        noise=noise,
        moved=moved,
        provenance=provenance.finish(
            inputs=[Input.of("space", first), Input.of("other space", second), Input.of("lexicon", lexicon)],
            used=len(ratio),
            method=method,
        ),
    )
    order = np.argsort(ratio, kind="stable")
    ends = [end for end in (order[::-1], order) if len(end)]
    risen, fallen = ([row for row in end[:n_words].tolist() if sign * ratio[row] > 0.0]
                     for end, sign in zip(ends, (1.0, -1.0), strict=True))  # fmt: skip
    return replace(comparison, risen=comparison.entries(risen), fallen=comparison.entries(fallen))


_FALSE_DISCOVERIES = 0.05
#: If two orders correlate less than this, they do not belong to the same axis.
_ONE_AXIS = 0.5
_FEWEST_COMPARED = 10


@dataclass(frozen=True)
class _StandardScores:
    """Words of one space along its axis: standardised scores, their errors, and the parts of these errors.

    `deviations` of the axis are per unit of the standard deviation of scores; `by_seed` tells whether there is one row
    per seed or group of seeds.
    """

    scores: NDArray[np.float64]
    errors: NDArray[np.float64]
    centred: NDArray[np.float32]
    deviations: NDArray[np.float64]
    by_seed: bool

    @classmethod
    def of(
        cls, space: WordSpace, rows: NDArray[np.int64], seeds: Rows, method: str, options: AxisOptions
    ) -> _StandardScores:
        fitted = Axis.fit(seeds, method, options=options)
        axis, seeds = fitted.direction, fitted.known_rows
        X = space.vectors_at(rows)
        X = unit_rows(X) if options.normalize else X
        centred = X - X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        along = (centred @ axis.astype(X.dtype)).astype(np.float64)
        spread = float(along.std())
        if spread == 0.0:
            raise TaskError(f"the words compared all have the same score in '{space.name}'. Compare other words.")
        by_seed = is_closed_form(fitted.rotation, seeds)
        deviations = closed_form_deviations(fitted.rotation, seeds) if by_seed else fitted.errors.deviations
        slope = (along @ centred).astype(np.float64) / float(along @ along)
        # an axis has no scale: a change of all scores by one factor is not an error
        free = (deviations - np.outer(deviations @ slope, axis)) / spread
        return cls(along / spread, _lengths([centred], free), centred, free, by_seed)


def _seeds_of_both(
    spaces: tuple[WordSpace, WordSpace], lexicon: Lexicon, other: Lexicon | None, options: AxisOptions
) -> tuple[Rows, Rows]:
    """Return the seeds of each space: its own, or the seeds of one lexicon that are in both, in the same order."""
    first, second = spaces
    if other is not None:
        return find_rows(first, lexicon, options), find_rows(second, other, options)
    located = [locate_spellings(lexicon.words, space, any_case=options.any_case)[0] for space in spaces]
    shared = (located[0] >= 0) & (located[1] >= 0)
    if shared.sum() < 2:
        raise LexiconError(
            f"{int(shared.sum())} of {len(lexicon)} lexicon words are in both '{first.name}' and '{second.name}'; at "
            "least two are needed. Do they have different languages?",
            Advice(" Then give seeds for the second space (", Argument("other_lexicon", ...), ")."),
        )
    missing = [word for word, both in zip(lexicon.words, shared.tolist(), strict=True) if not both]
    kept = lexicon.without(missing) if missing else lexicon
    rows = find_rows(first, kept, options), find_rows(second, kept, options)
    if all(each.groups is None for each in rows) or len(rows[0]) != len(rows[1]):
        return rows
    # forms of one word in either space are left out together in both
    links = [link for each in rows if each.groups is not None for link in pairwise_rows(each.groups.tolist())]
    groups = number_groups(first_of_group(links, len(rows[0])).tolist())
    return replace(rows[0], groups=groups), replace(rows[1], groups=groups)


def _compared_rows(
    first: WordSpace, second: WordSpace, pairs: Iterable[tuple[str, str]] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of the compared words, in the first space and in the second."""
    if pairs is None:
        locations = second.locate(first.words[: 4 * MOST_COMPARED])
        rows = np.flatnonzero(locations >= 0)[:MOST_COMPARED], locations[locations >= 0][:MOST_COMPARED]
    else:
        word_pairs = list(dict.fromkeys(pairs))
        both = first.locate([pair[0] for pair in word_pairs]), second.locate([pair[1] for pair in word_pairs])
        in_both = (both[0] >= 0) & (both[1] >= 0)
        rows = both[0][in_both], both[1][in_both]
    if len(rows[0]) < _FEWEST_COMPARED:
        raise TaskError(
            f"{len(rows[0])} words are in both '{first.name}' and '{second.name}'; {_FEWEST_COMPARED} are needed to "
            "compare them.",
            Advice(" Give pairs of words of the two spaces (", Argument("pairs", ...), "), as from a dictionary."),
        )
    return rows


def _joint_deviations(
    parts: Sequence[_StandardScores], *, is_paired: bool, random: np.random.Generator
) -> NDArray[np.float64]:
    """Return a root of the joint covariance of the two axes, the first negated: rows over both widths."""
    first, second = (part.deviations for part in parts)
    if is_paired:
        return with_fewer_rows(np.hstack([-first, second]), random)
    deviations = np.zeros((len(first) + len(second), first.shape[1] + second.shape[1]))
    deviations[: len(first), : first.shape[1]], deviations[len(first) :, first.shape[1] :] = -first, second
    return deviations


def _lengths(parts: Sequence[NDArray[np.float32]], roots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lengths of the roots times the rows of matrices side by side."""
    lengths = np.empty(len(parts[0]))
    for start in range(0, len(lengths), _BLOCK):
        rows = np.hstack([part[start : start + _BLOCK] for part in parts])
        along = rows @ roots.T.astype(rows.dtype)
        lengths[start : start + _BLOCK] = np.sqrt(np.einsum("ij,ij->i", along, along, dtype=np.float64))
    return lengths


_BLOCK = 4096
_ROUNDING = 1e-5  # upper bound for the rounding of a standardised score in single precision


def _noise(
    difference: NDArray[np.float64], seed_error: NDArray[np.float64], rank: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the spread of words of similar rank beyond the errors of the seeds, from the middle half of them."""
    noise = np.empty_like(difference)
    order = np.argsort(rank, kind="stable")
    for group in np.array_split(order, max(len(order) // WORDS_PER_GROUP, 1)):
        changes = difference[group]
        middle = _NORMAL * float(np.median(np.abs(changes - np.median(changes))))
        noise[group] = np.sqrt(max(middle**2 - float(np.median(seed_error[group] ** 2)), _ROUNDING**2))
    return noise
