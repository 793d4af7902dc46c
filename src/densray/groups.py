"""Groups: rows that are held out together because one reveals the label of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._arrays import category, check_unmasked, is_no_label, to_host
from densray._copies import first_copies, first_equal_rows, first_of_group
from densray._vocabulary import spread_rows, unit_rows
from densray.errors import Argument, LabelError, one_line, shorten
from densray.spelling import possible_forms, spelling_key

__all__ = [
    "GroupProposal",
    "WordForms",
    "check_named_groups",
    "find_equal_rows",
    "find_forms",
    "first_copies",
    "first_equal_rows",
    "first_of_group",
    "join_groups",
    "number_groups",
    "pairwise_rows",
    "propose_groups",
    "rows_of_groups",
]


def check_named_groups(groups: str, allowed: Sequence[str] = ("forms", "proposed")) -> None:
    """Raise unless a text given as groups is one of the allowed names."""
    if groups not in allowed:
        names = " or ".join(f"'{name}'" for name in allowed)
        raise LabelError(Argument("groups", groups), f" is given; use a group per row, None, or {names}.")


def number_groups(names: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """Return the group number of each row, counted from 0 in the order of appearance.

    A missing name is a group of its own: None, NaN, NaT, pandas.NA, a blank text, or a text such as NA or null. Spaces
    around a text do not count, and composed and decomposed letters are equal. The number 1 and the text "1" are two
    groups.

    >>> number_groups(["he", "she", None, "he", None]).tolist()
    [0, 1, 2, 0, 3]
    >>> number_groups(["he", "he ", "", " ", "NA"]).tolist()
    [0, 0, 1, 2, 3]
    >>> number_groups([1, "1", 1.0]).tolist()
    [0, 1, 0]
    """
    check_unmasked(names, "groups", LabelError)
    keys = [("alone", place) if is_no_label(name) else ("group", _key(name)) for place, name in enumerate(names)]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def _key(name: Any) -> Any:
    """Return a name as a dictionary key; equal numbers have the same key, whatever their type."""
    try:
        hash(name)
    except TypeError:
        return "unhashable", str(name)
    return (str(category(name)),) if isinstance(name, (str, bytes)) else name


def rows_of_groups(groups: NDArray[Any]) -> list[NDArray[np.intp]]:
    """Return the rows of each group, in the order of their numbers."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1) if len(order) else []


@dataclass(frozen=True)
class GroupProposal:
    """Words or texts that should be held out together, because one of them reveals the label of the other.

    Attributes
    ----------
    n_groups : int
        Number of groups, including those of one row.
    n_rows : int
        Number of rows that share their group with another row.
    reason : str
        Their common feature.
    example : tuple of str
        Two rows of one group.
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
        """The proposed groups and the advice, in one line."""
        pair = " and ".join(shorten(text, width=40) for text in self.example)
        return (
            f"{self.n_rows:,} of {len(self.numbers):,} rows {self.reason} ({pair}). Held out alone, one reveals the "
            f"label of the other, and results and penalties are biased. Held out together (groups: proposed) they make "
            f"{self.n_groups:,} groups; your own groups, such as the topics of texts, may be wider."
        )


@dataclass(frozen=True)
class WordForms:
    """Rows held out together: words that are forms of one word, such as *cat* and *cats*, or rows with equal vectors.

    Attributes
    ----------
    n_groups : int
        Number of groups with several forms.
    n_words : int
        Number of words, or rows, in these groups.
    examples : tuple of tuples of str
        The first groups.
    numbers : array of int
        The group of each row.
    equal : bool
        Whether the rows of a group have equal vectors.
    n_apart : int
        Number of rows whose vector is that of rows in many given groups, such as the vector of a blank text. They stay
        in their own groups.
    how : str
        In which way vectors are equal, such as "up to rounding"; empty if all numbers are equal.
    words : WordForms or None
        Forms of one word that are held out together as well.
    before : array of int or None
        The groups of the rows without those of equal vectors.
    """

    n_groups: int
    n_words: int
    examples: tuple[tuple[str, ...], ...]
    numbers: NDArray[np.int64] = field(repr=False, compare=False, metadata={"report": False})
    equal: bool = False
    n_apart: int = 0
    how: str = ""
    words: WordForms | None = None
    before: NDArray[np.int64] | None = field(default=None, repr=False, compare=False, metadata={"report": False})

    @property
    def line(self) -> str:
        """The rows that are held out together, in one line."""
        lines = [
            self._together if self.n_groups else "",
            self._apart if self.n_apart else "",
            "" if self.words is None else self.words.line,
        ]
        return " ".join(filter(None, lines))

    def take(self, places: NDArray[np.intp]) -> WordForms:
        """Return the same groups with the rows in another order."""
        before = None if self.before is None else self.before[places]
        words = None if self.words is None else self.words.take(places)
        return replace(self, numbers=self.numbers[places], before=before, words=words)

    @property
    def _apart(self) -> str:
        return (
            f"{self.n_apart:,} rows have the vector of rows in more than {MOST_JOINED} groups, as blank texts do, and "
            "are not held out together with them. Leave them out if they say nothing."
        )

    @property
    def _together(self) -> str:
        short = ([one_line(name, width=_LONGEST_NAME) for name in group] for group in self.examples)
        examples = ", ".join("/".join(dict.fromkeys(group)) for group in short)
        end = ", …" if self.n_groups > len(self.examples) else "."
        groups = "1 group" if self.n_groups == 1 else f"{self.n_groups:,} groups"
        if self.equal:
            equal = " ".join(filter(None, ["equal vectors", self.how]))
            return f"{self.n_words:,} rows in {groups} have {equal} and are held out together: {examples}{end}"
        return f"{self.n_words:,} words in {groups} are held out together as forms of one word: {examples}{end}"


#: Equal vectors join at most this many given groups: a vector in more of them is not that of a copied text.
MOST_JOINED = 10
#: Largest number of background rows used for the cosines of unrelated words.
CHANCE_ROWS = 400
#: Threshold for the cosine of two forms: above the median of random words, in units of median to 95% point.
PLAIN_COSINE, CLEAR_COSINE, VAGUE_COSINE = 0.7, 1.4, 2.5
#: Number of groups shown in a line, and of words shown per group.
NAMED_GROUPS, NAMED_FORMS = 3, 4
#: Number of characters shown of a name, which may be a whole text.
_LONGEST_NAME = 40


def find_forms(words: Sequence[str], X: NDArray[Any], background: Any = None) -> WordForms | None:
    """Return the words that are forms of one word, by their letters and their vectors; None if there are none.

    Two words are forms of one word if their spellings allow it (:func:`densray.spelling.possible_forms`) and their
    cosine is clearly higher than that of two random words of the background. Let s be the distance from the median to
    the 95% point of the cosines of random words. The cosine must exceed the median by 1.4 s; by 0.7 s if one word is
    the other with one or two more letters; by 2.5 s if the spelling is only weak evidence. The mean of the background
    is subtracted before cosines are computed. Labels are not used.

    Parameters
    ----------
    words : sequence of str
    X : array of shape (n, d)
        Their vectors.
    background : WordSpace or array, optional
        Source of the random words (default: the words themselves).

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> background, (cat, dog) = random.normal(size=(100, 50)), random.normal(size=(2, 50))
    >>> find_forms(["cat", "dog", "cats"], np.stack([cat, dog, cat + 0.3 * dog]), background).line
    '2 words in 1 group are held out together as forms of one word: cat/cats.'
    """
    pairs = possible_forms(words)
    if not any(pairs):
        return None
    origin, median, step = _chance_cosines(X if background is None else background)
    ends = np.array([pair for some in pairs for pair in some], dtype=np.intp)
    least = median + step * np.repeat([PLAIN_COSINE, CLEAR_COSINE, VAGUE_COSINE], [len(some) for some in pairs])
    rows, places = np.unique(ends, return_inverse=True)
    unit = unit_rows(unit_rows(np.asarray(to_host(X[rows]), dtype=np.float32)) - origin)
    places = places.reshape(ends.shape)
    cosines = np.einsum("ij,ij->i", unit[places[:, 0]], unit[places[:, 1]])
    return _link(words, ends[cosines > least].tolist())


def find_equal_rows(
    names: Sequence[str], X: NDArray[Any], groups: NDArray[np.int64] | None = None, *, width: int | None = None
) -> WordForms | None:
    """Return the rows that have equal vectors, which must be held out together; None if there are none.

    Vectors that rounding could explain are equal, too (:func:`first_copies`). With groups, only equal rows of different
    groups are returned, if they are in at most 10 groups. `width` is that of :func:`first_copies`.

    >>> find_equal_rows(["row 1", "row 2", "row 3"], np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])).line
    '2 rows in 1 group have equal vectors and are held out together: row 1/row 3.'
    """
    first = first_copies(X, width=width)
    links, n_apart = _links_to_first(first), 0
    exact = not links or np.array_equal(first, first_equal_rows(X))
    if groups is not None and links:
        reached: dict[int, set[int]] = {}
        for row, group in zip(first.tolist(), groups.tolist(), strict=True):
            reached.setdefault(row, set()).add(group)
        links = [link for link in links if 1 < len(reached[link[0]]) <= MOST_JOINED]
        n_apart = sum(len(reached[row]) > MOST_JOINED for row in first.tolist())
    forms = _link(names, links)
    if forms is None:
        alone = np.arange(len(first), dtype=np.int64)
        return WordForms(0, 0, (), alone, equal=True, n_apart=n_apart) if n_apart else None
    return replace(forms, equal=True, n_apart=n_apart, how="" if exact else "up to rounding")


def join_groups(*groupings: NDArray[Any]) -> NDArray[np.int64]:
    """Return groups of rows that are in one group of any of these groupings, directly or through other rows.

    >>> join_groups(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])).tolist()
    [0, 0, 0, 1]
    """
    links = [link for groups in groupings for link in pairwise_rows(groups.tolist())]
    return number_groups(first_of_group(links, len(groupings[0])).tolist())


def _link(names: Sequence[str], links: Sequence[Sequence[int]]) -> WordForms | None:
    if not links:
        return None
    numbers = number_groups(first_of_group(links, len(names)).tolist())
    groups = [group for group in rows_of_groups(numbers) if len(group) > 1]
    examples = tuple(tuple(names[row] for row in group[:NAMED_FORMS].tolist()) for group in groups[:NAMED_GROUPS])
    return WordForms(len(groups), sum(map(len, groups)), examples, numbers)


def _chance_cosines(background: Any) -> tuple[NDArray[np.float32], float, float]:
    """Return the mean unit vector of a background, the median cosine of its rows, and the distance to the 95% point."""
    places = spread_rows(len(background), CHANCE_ROWS)
    rows = background.vectors_at(places) if hasattr(background, "vectors_at") else background[places]
    unit = unit_rows(np.asarray(to_host(rows), dtype=np.float32))
    origin = unit.mean(axis=0)
    unit = unit_rows(unit - origin)
    cosines = (unit @ unit.T)[np.triu_indices(len(unit), 1)]
    if not len(cosines):
        return origin, 1.0, 0.0
    median, high = np.quantile(cosines, [0.5, 0.95])
    return origin, float(median), float(high - median)


#: If fewer rows than this share repeat others, no groups are proposed.
LEAST_SHARE = 0.02
#: Least number of words of a text that can have a twin, which differs in one word.
TWIN_WORDS = 3


def propose_groups(
    texts: Sequence[str],
    labels: NDArray[Any] | None = None,
    X: NDArray[Any] | None = None,
    *,
    pairs: Sequence[tuple[str, str]] = (),
    forms: WordForms | None = None,
) -> GroupProposal | None:
    """Return which words or texts should be held out together; None if nearly every row is its own group.

    A group joins the words of a given pair, texts that are equal except for case and spaces, rows with equal vectors,
    and *twins*. Twins are two texts that differ in exactly one word and have different labels. They are not twins if a
    third text differs from both in the same place only.

    Parameters
    ----------
    texts : sequence of str
    labels : array of shape (n,), optional
        Labels, which are needed to find twins.
    X : array of shape (n, d), optional
        Their vectors.
    pairs : pairs of str
        Words that were given as pairs.
    forms : WordForms, optional
        Forms of one word. They are added to the groups if there is a proposal. Forms alone do not lead to a proposal.

    Examples
    --------
    >>> texts = ["The nurse said he left.", "The nurse said she left.", "The cook said it."]
    >>> propose_groups(texts, np.array([1, -1, 1])).numbers.tolist()
    [0, 0, 1]
    """
    places = {text: row for row, text in enumerate(texts)}
    by_reason = {
        "come in pairs": [(places[a], places[b]) for a, b in pairs if a in places and b in places and a != b],
        "are repeated": pairwise_rows([" ".join(spelling_key(text, any_case=True).split()) for text in texts]),
        "have the vector of another": [] if X is None else _links_to_first(first_copies(X)),
        "differ from another in one word": [] if labels is None else _twins(texts, labels),
    }
    links = [link for some in by_reason.values() for link in some]
    if not links or len(np.unique(links)) < LEAST_SHARE * len(texts):
        return None
    links += [] if forms is None else pairwise_rows(forms.numbers.tolist())
    numbers = number_groups(first_of_group(links, len(texts)).tolist())
    sizes = np.bincount(numbers, minlength=1)
    n_rows = int(sizes[sizes > 1].sum())
    reason = max(by_reason, key=lambda name: len(by_reason[name]))
    example = tuple(texts[row] for row in by_reason[reason][0])
    return GroupProposal(len(sizes), n_rows, reason, example, numbers)


def pairwise_rows(keys: Sequence[Any]) -> list[tuple[int, int]]:
    """Return each row that repeats an earlier key, as a pair with the first row of that key.

    >>> pairwise_rows(["a", "b", "a", "a"])
    [(0, 2), (0, 3)]
    """
    first: dict[Any, int] = {}
    return [(first[key], row) for row, key in enumerate(keys) if first.setdefault(key, row) != row]


def _links_to_first(first: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Return each row that is not the first with its vector, as a pair with that row."""
    rows = np.flatnonzero(first != np.arange(len(first)))
    return list(zip(first[rows].tolist(), rows.tolist(), strict=True))


def _twins(texts: Sequence[str], labels: NDArray[Any]) -> list[tuple[int, int]]:
    """Return the pairs of rows with different labels whose texts become equal, and unique, without one word."""
    patterns = _rows_by_pattern(texts)
    return [(rows[0], rows[1]) for rows in patterns if len(rows) == 2 and labels[rows[0]] != labels[rows[1]]]


def count_templated(texts: Sequence[str]) -> int:
    """Return the number of texts that differ from two or more others in the same word only, as filled templates do.

    >>> count_templated(["The cook is in.", "The nurse is in.", "The judge is in.", "The judge is out."])
    3
    """
    return len({row for rows in _rows_by_pattern(texts) if len({texts[row] for row in rows}) > 2 for row in rows})


def _rows_by_pattern(texts: Sequence[str]) -> list[list[int]]:
    """Return the rows whose texts are equal without the word at one place, for every such pattern.

    A text without one word is identified by a sum of the hashes of its other words and their positions: a text of n
    words has n such sums, while comparing the texts themselves would take n² words.
    """
    patterns: dict[tuple[int, int, int], list[int]] = {}
    for row, text in enumerate(texts):
        words = text.lower().split()
        if len(words) >= TWIN_WORDS:
            hashes = [hash((place, word)) for place, word in enumerate(words)]
            whole = sum(hashes)
            for place, value in enumerate(hashes):
                patterns.setdefault((len(words), place, whole - value), []).append(row)
    return list(patterns.values())
