"""A lexicon: words with labels or scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from densray._arrays import is_missing, is_no_label
from densray._lexicon_files import (
    Conflicts,
    Dropped,
    Label,
    Neutral,
    column_names,
    groups_of,
    merge_entries,
    read_entries,
)
from densray._text_files import encoding_note, read_pairs, read_words, split_words
from densray.alignment import align_words
from densray.errors import Advice, Argument, LexiconError, name_some, refuse_text
from densray.folds import draw_test_words
from densray.groups import check_named_groups, number_groups, propose_groups
from densray.rows import Rows, note_unlabelled, sides_of, warn_of_missing_codes
from densray.space import WordSpace, as_space
from densray.spelling import spelling_key

if TYPE_CHECKING:
    import polars

__all__ = ["Dropped", "Lexicon", "column_names", "encoding_note", "read_words", "split_words"]

#: Names that say which end they are: the low one, the high one.
_NAMES_OF_ENDS = ({"low", "negative", "neg"}, {"high", "positive", "pos"})


def check_end_names(
    names: Sequence[str], labels: NDArray[np.float64], label_names: Sequence[str], *, files: Sequence[str] = ("", "")
) -> None:
    """Raise if the names of the ends of words with two labels seem to be swapped.

    `files` are the names of the files of the low and of the high end; see :meth:`Lexicon.check_label_names`.
    """
    is_high = labels == labels.max()
    words = [{word.casefold() for word, high in zip(names, is_high, strict=True) if high == end} for end in (0, 1)]
    of_files = [{file.casefold()} - {""} for file in files]
    given = tuple(map(str, label_names))
    for end, name in enumerate(given):
        is_clear = name.casefold() in _NAMES_OF_ENDS[end]
        own, others = (of_files[side] if is_clear else of_files[side] | words[side] for side in (end, 1 - end))
        if name.casefold() in others and name.casefold() not in own:
            what = "a word" if name.casefold() in words[1 - end] else "the file"
            raise LexiconError(
                Argument("label_names", given),
                f" is given, the low end first, and '{name}' is {what} of the {('high', 'low')[end]} end.",
                Advice(" Use ", Argument("label_names", given[::-1]), "."),
            )


class Lexicon:
    """Words and their labels or scores, each word once.

    Parameters
    ----------
    entries : mapping, pandas Series with words as its index, or iterable of (word, label)
        A label is a number, or one of ``positive``, ``negative``, ``neutral`` (also ``pos``, ``+``, …).
    name : str
        Name of the lexicon in reports.
    conflicts : {"drop", "error", "mean"}
        How to treat a word with conflicting labels. "drop": leave it out and list it in `dropped`; "error": raise;
        "mean": take the mean.
    neutral : {"drop", "keep"}
        How to treat neutral entries. An entry is neutral if its label is 0 and every other label in the lexicon is -1
        or 1. Neutral entries are dropped first, then conflicts are resolved. If the labels are real scores, or only 0
        and 1, then 0 is an ordinary label.
    groups : mapping of str to str, optional
        The group of each word. Words of one group are always held out together. A word without a group is held out
        alone.

    Attributes
    ----------
    words : tuple of str
    labels : array of float64, read-only
    dropped : Dropped
    groups : dict or None
    name : str
    notes : tuple of str
        How :meth:`read` read the file: the encoding if it was detected, and a first line that names the columns.

    Examples
    --------
    >>> lexicon = Lexicon([("good", 1), ("bad", -1), ("table", 0), ("odd", 1), ("odd", -1)])
    >>> lexicon
    Lexicon 'lexicon': 2 words, 1 at 1, 1 at -1; dropped 1 conflicting, 1 neutral
    >>> lexicon.dropped.conflicts
    ('odd',)
    """

    def __init__(
        self,
        entries: Mapping[str, Label] | Iterable[tuple[str, Label]],
        *,
        name: str = "lexicon",
        conflicts: Conflicts = "drop",
        neutral: Neutral = "drop",
        groups: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(entries, str | PathLike):
            raise LexiconError(f"'{entries}' is not a list of entries. Use Lexicon.read to read a file.")
        if hasattr(entries, "columns"):
            raise LexiconError(
                f"a {type(entries).__name__} is given, with the columns {name_some(entries.columns)}. Use "
                "Lexicon.from_frame, and name those of words and labels."
            )
        is_series = hasattr(entries, "index") and hasattr(entries, "items")
        pairs = cast(Any, entries).items() if is_series or isinstance(entries, Mapping) else entries
        merged, dropped = merge_entries(pairs, conflicts=conflicts, neutral=neutral)
        if not merged:
            raise LexiconError(
                f"'{name}' has no usable entry ({len(dropped.neutral)} words neutral, "
                f"{len(dropped.conflicts)} with conflicting labels). At least one labelled word is needed."
            )
        self._words = tuple(merged)
        self._by_word = merged
        self._labels = np.array(list(merged.values()), dtype=np.float64)
        self._labels.flags.writeable = False
        warn_of_missing_codes(self._labels, f"'{name}'")
        self.dropped = dropped
        self.name = name
        self.notes: tuple[str, ...] = ()
        self._conflicts = conflicts
        self._groups = None if groups is None else groups_of(groups, self._words, name)
        self._pairs: tuple[tuple[str, str], ...] = ()
        self._sheet_note = ""
        self._files: tuple[str, str] = ("", "")  # stems of the lists of the low and the high end

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        *,
        word_column: str | int | None = None,
        label_column: str | int | None = None,
        group_column: str | int | None = None,
        delimiter: str | None = None,
        header: bool | None = None,
        encoding: str = "utf-8",
        label_names: tuple[str, str] | None = None,
        name: str | None = None,
        conflicts: Conflicts = "drop",
        neutral: Neutral = "drop",
    ) -> Lexicon:
        """Return the lexicon of a file: TSV, CSV, space-separated (with or without a header), JSON or Excel.

        A word without a label (an empty field, NA) is left out and listed in ``dropped``. If the delimiter is a
        semicolon, labels may have a decimal comma.

        Parameters
        ----------
        path : str or path
        word_column, label_column : str or int, optional
            Names (in the header) or positions (from 0). They are needed if a table has more than two columns and no
            header with known names.
        group_column : str or int, optional
            Column of the groups, if any. Words of one group are held out together. An empty field is no group.
        delimiter : str, optional
            Tab, semicolon, comma or space (default: detected from the first line).
        header : bool, optional
            Whether the first line names the columns (default: detected; with a warning, if its names are not the usual
            ones).
        encoding : str
        label_names : pair of str, optional
            Names of the labels -1 and 1 in the file, such as ``("poor", "rich")``; ``negative`` and ``positive`` are
            known.
        name : str, optional
            Default: the name of the file without its extension.
        conflicts, neutral
            As for `Lexicon`.
        """
        file = read_entries(
            path,
            word_column=word_column,
            label_column=label_column,
            group_column=group_column,
            delimiter=delimiter,
            header=header,
            encoding=encoding,
            label_names=label_names,
        )
        if not file.entries:
            note = note_unlabelled(len(file.unlabelled), "words")
            raise LexiconError(f"'{name or file.stem}' has no labelled word.{note} {file.sheet_note}".rstrip())
        found = cls(file.entries, name=name or file.stem, conflicts=conflicts, neutral=neutral, groups=file.groups)
        found.dropped = replace(found.dropped, unlabelled=file.unlabelled)
        found.notes = file.notes
        found._sheet_note = file.sheet_note
        return found

    @classmethod
    def from_word_lists(
        cls,
        positive: str | PathLike[str] | Sequence[str],
        negative: str | PathLike[str] | Sequence[str],
        *,
        comment: str | None = None,
        encoding: str = "utf-8",
        name: str = "word lists",
        conflicts: Conflicts = "drop",
    ) -> Lexicon:
        """Make a lexicon from two word lists, labelled 1 and -1. Each is a file or a list of words.

        A file has a word per line, or one line of words between commas, semicolons, tabs or spaces. Lines that begin
        with `comment` are skipped. By default no line is a comment.
        """
        entries = [(word, 1.0) for word in read_words(positive, comment=comment, encoding=encoding)]
        entries += [(word, -1.0) for word in read_words(negative, comment=comment, encoding=encoding)]
        found = cls(entries, name=name, conflicts=conflicts)
        low, high = (Path(each).stem if isinstance(each, str | PathLike) else "" for each in (negative, positive))
        found._files = low, high
        return found

    @classmethod
    def from_pairs(
        cls,
        pairs: str | PathLike[str] | Iterable[Sequence[str]],
        *,
        encoding: str = "utf-8",
        name: str = "pairs",
        conflicts: Conflicts = "drop",
    ) -> Lexicon:
        """Return the lexicon of pairs, left 1 and right -1: a file with a pair per line, JSON, or a list.

        The pairs become groups with `grouped("proposed")`, or with ``groups="proposed"`` in functions that hold out
        words.
        """
        listed = [(left, right) for left, right in read_pairs(pairs, encoding=encoding)]
        entries = [entry for left, right in listed for entry in ((left, 1.0), (right, -1.0))]
        found = cls(entries, name=name, conflicts=conflicts)
        found._pairs = tuple(listed)
        return found

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        word_column: str = "word",
        label_column: str = "label",
        group_column: str | None = None,
        **options: Any,
    ) -> Lexicon:
        """Return the lexicon of two or three columns of a pandas or polars frame; words without a label are left out.

        Words with the same value in `group_column` are held out together.
        """
        for column in (word_column, label_column, *([] if group_column is None else [group_column])):
            if column not in frame.columns:
                raise LexiconError(
                    f"The frame has no column '{column}'; it has {name_some(frame.columns)}.",
                    Advice(
                        " Use ",
                        Argument("word_column", ...),
                        ", ",
                        Argument("label_column", ...),
                        " and ",
                        Argument("group_column", ...),
                        ".",
                    ),
                )
        if group_column is not None:
            named = zip(frame[word_column], frame[group_column], strict=True)
            options["groups"] = {word: group for word, group in named if not is_no_label(group)}
        rows = zip(frame[word_column], frame[label_column], strict=True)
        entries = [(word, label) for word, label in rows if not (_is_empty(word) and is_no_label(label))]
        found = cls([entry for entry in entries if not is_no_label(entry[1])], **options)
        unlabelled = tuple(str(word) for word, label in entries if is_no_label(label))
        found.dropped = replace(found.dropped, unlabelled=unlabelled)
        return found

    @classmethod
    def union(cls, *lexicons: Lexicon, name: str = "union", conflicts: Conflicts = "drop") -> Lexicon:
        """Return all entries of several lexicons; a word in conflict within or between them is left out."""
        barred = {word for lexicon in lexicons for word in lexicon.dropped.conflicts}
        entries = [entry for lexicon in lexicons for entry in lexicon.items() if entry[0] not in barred]
        joined = cls(entries, name=name, conflicts=conflicts, neutral="keep")
        conflicting = dict.fromkeys((*joined.dropped.conflicts, *sorted(barred)))
        neutral = dict.fromkeys(word for lexicon in lexicons for word in lexicon.dropped.neutral)
        unlabelled = tuple(word for word in neutral if word not in joined and word not in conflicting)
        joined.dropped = replace(joined.dropped, conflicts=tuple(conflicting), neutral=unlabelled)
        joined._pairs = tuple(pair for lexicon in lexicons for pair in lexicon._pairs)
        if any(lexicon._groups is not None for lexicon in lexicons):
            named = {word: group for lexicon in lexicons for word, group in (lexicon._groups or {}).items()}
            joined._groups = {word: group for word, group in named.items() if word in joined}
        return joined

    @property
    def words(self) -> tuple[str, ...]:
        """The words, in the order they were given."""
        return self._words

    @property
    def labels(self) -> NDArray[np.float64]:
        """The label of each word."""
        return self._labels

    @property
    def groups(self) -> dict[str, str] | None:
        """The group of each word that has one; None if the lexicon has no groups."""
        return None if self._groups is None else dict(self._groups)

    @property
    def is_binary(self) -> bool:
        """Whether there are exactly two labels."""
        return len(np.unique(self.labels)) == 2

    def items(self) -> Iterator[tuple[str, float]]:
        """Yield each word with its label."""
        return zip(self.words, self.labels.tolist(), strict=True)

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._by_word

    def __getitem__(self, word: str) -> float:
        try:
            return self._by_word[word]
        except KeyError:
            raise LexiconError(f"'{word}' is not among the {len(self)} words of '{self.name}'.") from None

    def binarized(self) -> Lexicon:
        """Return the lexicon with labels 1 and -1.

        Two labels become 1 (the higher) and -1. Scores are split at their median: 1 above it, -1 at or below
        it. If no score is above the median, scores equal to the median count as high.
        """
        if np.ptp(self.labels) == 0.0:
            raise LexiconError(
                f"All {len(self)} words of '{self.name}' have the label {self.labels[0]:g}; two different labels are "
                "needed."
            )
        return self._with(self.words, sides_of(self.labels))

    def check_label_names(self, label_names: Sequence[str] | None) -> None:
        """Raise if the name of the low end is a word of the high end only, or the reverse: they seem to be swapped.

        The name of the file of a list counts as one of its words. Names that say which end they are ("low", "negative",
        "neg" for the low end, "high", "positive", "pos" for the high end) may be words of the other end.

        Parameters
        ----------
        label_names : pair of str or None
            Names of the low and the high end.

        Examples
        --------
        >>> Lexicon.from_word_lists(["rich", "posh"], ["poor"]).check_label_names(("rich", "poor"))
        Traceback (most recent call last):
        densray.errors.LexiconError: label_names=('rich', 'poor') is given, the low end first, and 'rich' is a word of \
the high end. Use label_names=('poor', 'rich').
        """
        if label_names is None or len(label_names) != 2 or not self.is_binary:
            return
        check_end_names(self.words, self.labels, label_names, files=self._files)

    def without(self, words: Iterable[str], *, any_case: bool | None = False) -> Lexicon:
        """Return the lexicon without these words; ``"ice cream"`` also removes ``"ice_cream"``."""
        refuse_text(words, "words")
        barred = {spelling_key(word, any_case=any_case) for word in words}
        return self._where(np.array([spelling_key(word, any_case=any_case) not in barred for word in self.words]))

    def spelled_as(self, space: WordSpace) -> Lexicon:
        """Replace words that a space has only in another capitalisation by the spelling of the space.

        >>> from densray import WordSpace
        >>> Lexicon({"Good": 1, "bad": -1}).spelled_as(WordSpace(["good", "bad"], [[1, 0], [0, 1]])).words
        ('good', 'bad')
        """
        space = as_space(space)
        rows = space.locate(self.words, any_case=True).tolist()
        words = tuple(word if row < 0 else space.words[row] for word, row in zip(self.words, rows, strict=True))
        if words == self.words:
            return self
        found = self._with(words, self.labels)
        lists = {name: (*getattr(self.dropped, name), *getattr(found.dropped, name)) for name in vars(self.dropped)}
        found.dropped = replace(found.dropped, **lists)
        if self._groups is not None:
            renamed = zip(self.words, words, strict=True)
            found._groups = {new: self._groups[old] for old, new in renamed if old in self._groups and new in found}
        return found

    def grouped(self, groups: Groups) -> Lexicon:
        """Return the lexicon with groups of words, which are always held out together.

        Parameters
        ----------
        groups : mapping, sequence, "proposed" or None
            A mapping from words to groups, or one group per word in the order of `words`. "proposed": the groups that
            :func:`densray.groups.propose_groups` finds in the words, pairs first. None removes the groups (unlike in
            :meth:`align`).

        Examples
        --------
        >>> Lexicon.from_pairs([("he", "she"), ("king", "queen")]).grouped("proposed").groups
        {'he': '0', 'she': '0', 'king': '1', 'queen': '1'}
        """
        found = self._with(self.words, self.labels)
        found.dropped = self.dropped
        if isinstance(groups, str):
            check_named_groups(groups, ["proposed"])
            proposal = propose_groups(self.words, self.labels, pairs=self._pairs)
            groups = None if proposal is None else proposal.numbers.tolist()
        found._groups = None if groups is None else groups_of(groups, self.words, self.name)
        return found

    def split(
        self, test_size: float = 0.2, *, random_state: int | np.random.RandomState | None = None
    ) -> tuple[Lexicon, Lexicon]:
        """Return a training and a test lexicon that share no word.

        Words that differ only in case, or in the character that joins their parts (such as a space or an underscore),
        stay together, and so do words of one group. If there are two labels, both lexicons have the same share of each.

        Parameters
        ----------
        test_size : float
            Share of the words for the test, between 0 and 1.
        random_state : int, RandomState or None
            An int gives the same split every time.
        """
        groups = None if self._groups is None else number_groups([self._groups.get(word) for word in self.words])
        in_test = draw_test_words(self.words, self.labels, test_size, random_state, groups)
        return self._where(~in_test), self._where(in_test)

    def align(
        self,
        space: WordSpace,
        *,
        any_case: bool | None = None,
        limit: int | None = None,
        minimum: int = 1,
        order: Literal["mixed", "lexicon"] = "mixed",
        groups: Groups = "forms",
        pairs: Iterable[Sequence[str]] = (),
    ) -> Rows:
        """Return the words that are in the space as Rows. Missing words are listed in `rows.missing`.

        Two spellings can be one word of the space, such as *Bad* and *BAD* in a lower-cased space. If their labels
        differ, they conflict and are treated like a repeated word (`conflicts` of the lexicon): by default, they are
        left out and listed in `rows.set_aside`.

        Parameters
        ----------
        space : WordSpace or KeyedVectors
        any_case : bool, optional
            How to treat a word that the space has only in other capitalisations. None: take that spelling if there is
            exactly one; `rows.other_case` names such words. True: take the first. False: the word is missing.
        limit : int, optional
            Use only the first `limit` words of the space.
        minimum : int
            If fewer words are found, an error is raised. It names the first missing words and the likely cause.
        order : "mixed" or "lexicon", default="mixed"
            Many lexicons list one class after the other. "mixed" spreads two classes evenly over the rows and keeps the
            order within each class. Cross-validation without shuffling (``cv=5``) then finds both classes in every
            fold. "lexicon" keeps the order of the lexicon. With scores, that order is always kept.
        groups : mapping, sequence, "forms", "proposed" or None, default="forms"
            The words to hold out together. A mapping or a sequence, as for `grouped`, replaces the groups of the
            lexicon. "forms": the groups of the lexicon. If it has none, inflected forms of one word, such as *cat* and
            *cats* (:func:`densray.groups.find_forms`). "proposed": inflected forms, and the groups of
            :func:`densray.groups.propose_groups`, such as pairs, repeated words and equal vectors; they replace the
            groups of the lexicon. None: the groups of the lexicon if it has any; otherwise every word is held out
            alone.
        pairs : pairs of str
            Further pairs of words that belong together, which "proposed" puts into one group.
        """
        if groups is not None and not isinstance(groups, str):
            return self.grouped(groups).align(space, any_case=any_case, limit=limit, minimum=minimum, order=order)
        named = None if self._groups is None else [self._groups.get(word) for word in self.words]
        found = align_words(
            self.words,
            self.labels,
            space,
            any_case=any_case,
            limit=limit,
            minimum=minimum,
            groups=named,
            conflicts=self._conflicts,
            note=note_unlabelled(len(self.dropped.unlabelled), "words") + (self._sheet_note and f" {self._sheet_note}"),
        )
        earlier = self.dropped.by_reason()
        now = {reason: (*earlier.get(reason, ()), *words) for reason, words in found.dropped.items()}
        found = replace(found, dropped={**earlier, **now}, concept=self.name)
        if isinstance(groups, str):
            check_named_groups(groups)
        if named is None or groups == "proposed":
            together = [*self._pairs, *((str(left), str(right)) for left, right in pairs)]
            found = found.with_named_groups(groups, pairs=together, equal_vectors=True)
        return found.mixed() if order == "mixed" else found

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame with the columns ``word`` and ``label``, and ``group`` if there are groups."""
        import polars

        columns: dict[str, Any] = {"word": self.words, "label": self.labels}
        if self._groups is not None:
            columns["group"] = polars.Series([self._groups.get(word) for word in self.words], dtype=polars.String)
        return polars.DataFrame(columns)

    def _where(self, chosen: NDArray[np.bool_]) -> Lexicon:
        if not chosen.any():
            raise LexiconError(f"None of the {len(self)} words of '{self.name}' is left.")
        return self._with(tuple(np.array(self.words, dtype=object)[chosen]), self.labels[chosen])

    def _with(self, words: tuple[str, ...], labels: NDArray[np.float64]) -> Lexicon:
        entries = zip(words, labels.tolist(), strict=True)
        found = Lexicon(entries, name=self.name, conflicts=self._conflicts, neutral="keep")
        found._pairs = self._pairs
        found._sheet_note = self._sheet_note
        found._files = self._files
        if self._groups is not None:
            found._groups = {word: self._groups[word] for word in words if word in self._groups}
        return found

    def __repr__(self) -> str:
        values, counts = np.unique(self.labels, return_counts=True)
        if len(values) <= 3:
            labels = ", ".join(f"{n} at {v:g}" for v, n in zip(values[::-1], counts[::-1], strict=True))
        else:
            labels = f"scores from {values[0]:g} to {values[-1]:g}"
        lost = [
            f"{len(words)} {what}"
            for what, words in (("conflicting", self.dropped.conflicts), ("neutral", self.dropped.neutral))
            if words
        ]
        tail = f"; dropped {', '.join(lost)}" if lost else ""
        tail = tail if self._groups is None else f"; {len(set(self._groups.values()))} groups{tail}"
        return f"Lexicon '{self.name}': {len(self)} words, {labels}{tail}"


def _is_empty(word: object) -> bool:
    """Return whether the cell of a word has no text."""
    return is_missing(word) or (isinstance(word, str) and not word.strip())


#: Words to hold out together: a mapping, one group per word, or groups that the library proposes.
Groups: TypeAlias = Mapping[str, Any] | Sequence[Any] | None
