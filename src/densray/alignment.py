"""Where labelled words meet a space: vectors, labels, the words found and the words missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from densray._vocabulary import check_seed, unit_rows
from densray.errors import LexiconError, TaskError, name_some, shorten

if TYPE_CHECKING:
    from densray.space import WordSpace

__all__ = [
    "Alignment",
    "GroupProposal",
    "align_words",
    "draw_test_words",
    "group_folds",
    "locate_spellings",
    "number_groups",
    "propose_groups",
    "rows_of_groups",
    "sides_of",
    "spelling_key",
]


#: What an alignment unpacks to: vectors, labels, words found, words missing.
Unpacked: TypeAlias = tuple[NDArray[np.float32], NDArray[np.float64], tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Alignment(Unpacked):
    """The labelled words of a lexicon that are in a space, with their vectors.

    It is a tuple of the first four: ``X, y, words, missing = lexicon.align(space)``.

    Attributes
    ----------
    X : array of shape (n, d), float32
        The vectors of the words found.
    y : array of shape (n,)
        Their labels as the lexicon gives them.
    words : tuple of str
        The words found, as the space spells them.
    missing : tuple of str
        The words of the lexicon that are not in the space.
    rows : array of shape (n,)
        The rows of the words found; empty for vectors that are not from a space.
    repeated : tuple of str
        The words that met a vector another word of the lexicon already has.
    dropped : dict of tuples of str
        The words that the lexicon itself left out or merged, by reason.
    groups : array of shape (n,) or None
        The number of each word's group: words that are held out together. None where every word stands alone.
    proposal : GroupProposal or None
        Groups that are not in force and should perhaps be.
    """

    X: NDArray[np.float32]
    y: NDArray[np.float64]
    words: tuple[str, ...]
    missing: tuple[str, ...] = ()
    rows: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    repeated: tuple[str, ...] = ()
    dropped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: NDArray[np.int64] | None = None
    proposal: GroupProposal | None = None

    def __new__(
        cls,
        X: NDArray[np.float32],
        y: NDArray[np.float64],
        words: tuple[str, ...],
        missing: tuple[str, ...] = (),
        *more: Any,
        **named: Any,
    ) -> Alignment:
        """Return the tuple; the fields are set by the dataclass."""
        return super().__new__(cls, (X, y, words, missing))

    def __getnewargs__(self) -> Unpacked:
        return self.X, self.y, self.words, self.missing

    @property
    def n_words(self) -> int:
        """How many words were found."""
        return len(self.y)

    @property
    def coverage(self) -> float:
        """The share of the lexicon that is in the space."""
        found = len(self.words) + len(self.repeated)
        return found / (found + len(self.missing))

    @property
    def set_aside(self) -> dict[str, tuple[str, ...]]:
        """The words left out or merged by reason, as :class:`densray.report.Provenance` has them."""
        return {**self.dropped, "same vector": self.repeated} if self.repeated else dict(self.dropped)

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes; else the labels are scores."""
        return len(np.unique(self.y)) == 2

    @property
    def sides(self) -> NDArray[np.float64]:
        """1 for the higher class, or a score above the median; else -1."""
        return sides_of(self.y)

    @property
    def values(self) -> NDArray[np.float64]:
        """-1 and 1 for two classes, else the scores."""
        return self.sides if self.is_binary else self.y

    @property
    def members(self) -> list[NDArray[np.intp]]:
        """The rows of each group; of each word where there are none."""
        return rows_of_groups(np.arange(self.n_words) if self.groups is None else self.groups)

    def unit(self) -> Alignment:
        """Return the words with vectors of unit length; a vector of zeros stays as it is."""
        return replace(self, X=unit_rows(self.X))

    def take(self, places: NDArray[np.intp]) -> Alignment:
        """Return some of the words found, by their places among them."""
        words = tuple(self.words[place] for place in places.tolist())
        rows = self.rows[places] if self.rows.size else self.rows
        groups = None if self.groups is None else self.groups[places]
        return replace(self, X=self.X[places], y=self.y[places], words=words, rows=rows, groups=groups)

    def mixed(self) -> Alignment:
        """Return the words with two classes spread evenly over the rows, each in its own order; scores as they are."""
        if not self.is_binary:
            return self
        places = np.empty(len(self.y))
        for label in np.unique(self.y):
            rows = np.flatnonzero(self.y == label)
            places[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
        return self.take(np.argsort(places, kind="stable"))


def number_groups(names: Sequence[Any]) -> NDArray[np.int64]:
    """Return the number of each one's group, counted from 0 as they come; None is a group of its own.

    >>> number_groups(["he", "she", None, "he", None]).tolist()
    [0, 1, 2, 0, 3]
    """
    keys = [("alone", place) if name is None else ("group", str(name)) for place, name in enumerate(names)]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def rows_of_groups(groups: NDArray[Any]) -> list[NDArray[np.intp]]:
    """Return the rows of each group, in the order of their numbers."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1) if len(order) else []


@dataclass(frozen=True)
class GroupProposal:
    """Words or texts that should be held out together, because one of them gives the other away.

    Attributes
    ----------
    n_groups : int
        Groups in all, those of one row included.
    n_rows : int
        Rows that are not alone in their group.
    reason : str
        What they have in common.
    example : tuple of str
        Two of them.
    numbers : array of int
        The group of each row.
    """

    n_groups: int
    n_rows: int
    reason: str
    example: tuple[str, ...]
    numbers: NDArray[np.int64] = field(repr=False, compare=False, metadata={"report": False})

    @property
    def line(self) -> str:
        """What was found and what to do about it, in one line."""
        named = " and ".join(shorten(text, width=40) for text in self.example)
        return (
            f"{self.n_rows:,} of {len(self.numbers):,} rows {self.reason} ({named}): left out alone, one is read from "
            f"the other, and figures and penalties are off. Held out together (groups: proposed) they make "
            f"{self.n_groups:,} groups; groups of your own, such as what a text is about, may be wider."
        )


#: Fewer rows that repeat others than this share of all make no difference worth a word.
LEAST_SHARE = 0.02
#: Words of a text, at least, of which one may differ in a twin.
TWIN_WORDS = 3


def propose_groups(
    texts: Sequence[str],
    labels: NDArray[Any] | None = None,
    X: NDArray[Any] | None = None,
    *,
    pairs: Sequence[tuple[str, str]] = (),
) -> GroupProposal | None:
    """Return which words or texts should be held out together; None where nearly all stand alone.

    Together go the two of a pair that was given, texts that are equal but for case and blanks, equal vectors, and
    *twins*: two texts of unlike labels that differ in one word, with no third of that pattern.

    Parameters
    ----------
    texts : sequence of str
    labels : array of shape (n,), optional
        Without them there are no twins.
    X : array of shape (n, d), optional
        Their vectors.
    pairs : pairs of str
        Words that were given as pairs.

    Examples
    --------
    >>> texts = ["The nurse said he left.", "The nurse said she left.", "The cook said it."]
    >>> propose_groups(texts, np.array([1, -1, 1])).numbers.tolist()
    [0, 0, 1]
    """
    places = {text: row for row, text in enumerate(texts)}
    found = {
        "come in pairs": [(places[a], places[b]) for a, b in pairs if a in places and b in places and a != b],
        "are repeated": pairwise_rows([" ".join(spelling_key(text, any_case=True).split()) for text in texts]),
        "have the vector of another": [] if X is None else pairwise_rows(_row_digests(X)),
        "differ from another in one word": [] if labels is None else _twins(texts, labels),
    }
    links = [link for some in found.values() for link in some]
    numbers = number_groups(_joined(links, len(texts)).tolist())
    sizes = np.bincount(numbers, minlength=1)
    n_rows = int(sizes[sizes > 1].sum())
    if not links or n_rows < LEAST_SHARE * len(texts):
        return None
    reason = max(found, key=lambda name: len(found[name]))
    example = tuple(texts[row] for row in found[reason][0])
    return GroupProposal(len(sizes), n_rows, reason, example, numbers)


def pairwise_rows(keys: Sequence[Any]) -> list[tuple[int, int]]:
    """Return each row with an equal key before it, and the first of those.

    >>> pairwise_rows(["a", "b", "a", "a"])
    [(0, 2), (0, 3)]
    """
    first: dict[Any, int] = {}
    return [(first[key], row) for row, key in enumerate(keys) if first.setdefault(key, row) != row]


def _row_digests(X: NDArray[Any]) -> list[bytes]:
    return [row.tobytes() for row in np.ascontiguousarray(X)]


def _twins(texts: Sequence[str], labels: NDArray[Any]) -> list[tuple[int, int]]:
    """Return the pairs of rows of unlike labels that alone share a text with one word struck out."""
    patterns: dict[tuple[str, ...], list[int]] = {}
    for row, text in enumerate(texts):
        words = tuple(text.lower().split())
        if len(words) >= TWIN_WORDS:
            for place in range(len(words)):
                patterns.setdefault((*words[:place], "", *words[place + 1 :]), []).append(row)
    return [(rows[0], rows[1]) for rows in patterns.values() if len(rows) == 2 and labels[rows[0]] != labels[rows[1]]]


def _joined(links: Sequence[tuple[int, int]], count: int) -> NDArray[np.int64]:
    """Return the first row of all that links lead to from each row."""
    first = list(range(count))

    def root(row: int) -> int:
        while first[row] != row:
            first[row] = first[first[row]]
            row = first[row]
        return row

    for one, other in links:
        low, high = sorted((root(one), root(other)))
        first[high] = low
    return np.array([root(row) for row in range(count)], dtype=np.int64)


def sides_of(labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 and -1: the higher and the lower of two labels, scores above their median and the others.

    Where no score lies above the median, it counts as high.

    >>> sides_of(np.array([0.0, 1.0, 1.0])), sides_of(np.array([1.0, 2.0, 5.0]))
    (array([-1.,  1.,  1.]), array([-1., -1.,  1.]))
    """
    high = labels.max()
    cut = labels.min() if len(np.unique(labels)) == 2 else np.median(labels)
    return np.where(labels > cut if cut < high else labels == high, 1.0, -1.0)


def draw_test_words(
    words: Sequence[str],
    labels: NDArray[np.float64],
    test_size: float,
    random_state: int | np.random.RandomState | None,
    groups: NDArray[np.int64] | None = None,
) -> NDArray[np.bool_]:
    """Return which words are held out for testing, groups whole; see `Lexicon.split`."""
    if not 0 < test_size < 1:
        raise LexiconError(f"test_size is {test_size}; it must lie between 0 and 1, for instance 0.2.")
    check_seed(random_state)
    spellings = [spelling_key(word, any_case=True) for word in words]
    if groups is not None:  # the first spelling met of a group, or of another word spelled alike, stands for all
        firsts = _joined([*pairwise_rows(spellings), *pairwise_rows(groups.tolist())], len(words))
        spellings = [spellings[row] for row in firsts.tolist()]
    together: dict[str, float] = {}
    for key, label in zip(spellings, labels.tolist(), strict=True):
        together.setdefault(key, label)
    from sklearn.utils import check_random_state

    random = check_random_state(random_state)
    strata = np.array(list(together.values())) if len(np.unique(labels)) == 2 else np.zeros(len(together))
    keys = np.array(list(together), dtype=object)
    test: set[str] = set()
    for stratum in np.unique(strata):
        members = random.permutation(keys[strata == stratum])
        test.update(members[: round(test_size * len(members))])
    in_test = np.array([key in test for key in spellings])
    if in_test.all() or not in_test.any():
        raise LexiconError(f"{len(words)} words cannot be split with test_size={test_size}: one side would be empty.")
    return in_test


def group_folds(
    values: NDArray[np.float64], groups: NDArray[np.int64], n_folds: int, random_state: int
) -> NDArray[np.int64]:
    """Return the fold of each row, groups whole: classes in their shares, or groups spread by their mean score."""
    folds = np.empty(len(values), dtype=np.int64)
    if len(np.unique(values)) == 2:
        from sklearn.model_selection import StratifiedGroupKFold

        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=random_state)
        for number, (_, test) in enumerate(splitter.split(values, values, groups)):
            folds[test] = number
    else:
        random, members = np.random.default_rng(random_state), rows_of_groups(groups)
        shuffled = random.permutation(len(members))
        order = shuffled[np.argsort([values[members[unit]].mean() for unit in shuffled.tolist()], kind="stable")]
        draws = np.concatenate([random.permutation(n_folds) for _ in range(-(-len(order) // n_folds))])
        for unit, number in zip(order.tolist(), draws.tolist(), strict=False):
            folds[members[unit]] = number
    for number in range(n_folds):
        if np.ptp(values[folds != number], axis=0) == 0.0:
            raise TaskError(
                f"outside one of {n_folds} folds there is one class only: {len(np.unique(groups))} groups are too few, "
                "or too large. Use fewer folds, or narrower groups."
            )
    return folds


def spelling_key(word: str, *, any_case: bool) -> str:
    """Return what two spellings of one word have in common: blanks for underscores, lower case on request."""
    joined = word.replace("_", " ")
    return joined.lower() if any_case else joined


def locate_spellings(
    words: Sequence[str], space: WordSpace, *, any_case: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the row of each word, -1 where it is missing, and how far its spelling was bent to find it.

    0: as it stands; 1: blanks for underscores or the reverse; 2, 3: the same without regard to case.
    """
    spellings = (("", ""), (" ", "_"), ("_", " "))
    rows = np.full(len(words), -1, dtype=np.int64)
    bent = np.zeros(len(words), dtype=np.int64)
    for anyhow in (False, True) if any_case else (False,):
        for number, (old, new) in enumerate(spellings):
            unmet = np.flatnonzero(rows < 0)
            asked = [words[place].replace(old, new) if old else words[place] for place in unmet.tolist()]
            rows[unmet] = found = space.locate(asked, any_case=anyhow)
            bent[unmet[found >= 0]] = min(number, 1) + (2 if anyhow else 0)
    return rows, bent


def align_words(
    words: Sequence[str],
    labels: NDArray[np.float64],
    space: WordSpace,
    *,
    any_case: bool,
    limit: int | None,
    minimum: int,
    groups: Sequence[str | None] | None = None,
) -> Alignment:
    """Return the words that are in the space with vectors and labels; see `Lexicon.align`."""
    searched = space if limit is None else space.limit(limit)
    rows, bent = locate_spellings(words, searched, any_case=any_case)
    chosen = _first_per_row(rows, bent)
    missing = tuple(word for word, row in zip(words, rows, strict=True) if row < 0)
    if len(chosen) < max(minimum, 1):
        raise LexiconError(_too_few(len(words), missing, space, minimum=minimum, limit=limit))
    chosen_places = set(chosen.tolist())
    return Alignment(
        X=np.array(space.vectors[rows[chosen]]),
        y=labels[chosen].copy(),
        rows=rows[chosen],
        words=tuple(space.words[row] for row in rows[chosen].tolist()),
        missing=missing,
        repeated=tuple(words[place] for place in np.flatnonzero(rows >= 0).tolist() if place not in chosen_places),
        groups=None if groups is None else number_groups([groups[place] for place in chosen.tolist()]),
    )


def _first_per_row(rows: NDArray[np.int64], bent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of the words found, one per row: the least bent spelling, then the first."""
    places = np.flatnonzero(rows >= 0)
    places = places[np.argsort(bent[places], kind="stable")]
    _, first = np.unique(rows[places], return_index=True)
    return np.sort(places[first])


def _too_few(total: int, missing: Sequence[str], space: WordSpace, *, minimum: int, limit: int | None) -> str:
    needed = "" if minimum <= 1 else f" At least {minimum} are needed."
    if not missing:
        return f"All {total} lexicon words are in the space, and they are too few.{needed}"
    return (
        f"{total - len(missing)} of {total} lexicon words are in the space (first missing: {name_some(missing[:5])})."
        f"{needed} "
        f"{_likely_cause(missing, space, limit)}"
    )


def _likely_cause(missing: Sequence[str], space: WordSpace, limit: int | None) -> str:
    sample = list(missing[:200])
    if limit is not None and (locate_spellings(sample, space)[0] >= 0).any():
        return f"They lie beyond the first {limit} words: raise limit."
    in_other_case = space.locate(sample, any_case=True)
    if (in_other_case >= 0).any():
        spelled = next(space.words[row] for row in in_other_case.tolist() if row >= 0)
        lowered = spelled == spelled.lower()
        question = "Was the space lower-cased?" if lowered else f"The space has '{spelled}'."
        return f"{question} Use any_case=True."
    return f"The space begins {name_some(space.words[:3])}: is it of another language or cut short?"
