"""Lexicon files: tables, JSON and plain lists of words, with their labels."""

from __future__ import annotations

import json
import math
import re
import unicodedata
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from densray._arrays import MISSING_SIGNS, is_missing, is_no_label
from densray._notation import (
    DECIMAL_COMMAS,
    Numeral,
    decimal_delimiter,
    doubtful_number,
    explain_doubt,
    explain_number,
    uses_decimal_commas,
)
from densray._text_files import FilePath, JsonObject, Line, TextFile, unquoted
from densray.errors import Advice, Argument, HeaderDetectedWarning, LexiconError, Part, name_some, shorten, suggest

_NAMED = {
    "positive": 1.0,
    "pos": 1.0,
    "+": 1.0,
    "negative": -1.0,
    "neg": -1.0,
    "-": -1.0,
    "neutral": 0.0,
    "neu": 0.0,
}

#: Advice about a file whose words have no labels.
_TWO_LISTS = Advice(
    " Put each list in a file of its own, and give them as ",
    Argument("high", ...),
    " and ",
    Argument("low", ...),
    ".",
    python=" Put each list in a file of its own, and read them with Lexicon.from_word_lists(high, low).",
)

#: The end of a message about a label that is not a number.
_LABELS_NEEDED = (
    " is not a number. Use 1/-1 or a score.",
    Advice(
        " The words positive and negative are read too. For other words, use ",
        Argument("label_names", ("low", "high")),
        ". If there is no label, leave it empty.",
    ),
)


def parse_label(label: object, names: tuple[str, str] | None = None) -> float | None:
    """Return the number that a label stands for; None if there is none, and for NaN and infinity.

    `names` are further names of the lower and the higher label, in addition to the usual words.

    >>> parse_label("POS"), parse_label("-0,5"), parse_label("2.5"), parse_label("postive")
    (1.0, None, 2.5, None)
    >>> parse_label("Rich", ("poor", "rich")), parse_label("rich")
    (1.0, None)
    """
    if isinstance(label, str):
        text = _comparable(label)
        if names is not None and text in (own := [_comparable(name) for name in names]):
            return (-1.0, 1.0)[own.index(text)]
        if text in _NAMED:
            return _NAMED[text]
        if "_" in text:  # float() would read 1_000
            return None
        label = text
    try:
        number = float(label)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _comparable(label: str) -> str:
    """Return a label in lower case, with composed letters."""
    return unicodedata.normalize("NFC", label).strip().lower().replace("−", "-")


def is_neutral_label(labels: Collection[float]) -> bool:
    """Return whether 0 means neutral among these labels: if the other labels are exactly -1 and 1."""
    return set(labels) == {-1.0, 0.0, 1.0}


Conflicts = Literal["drop", "error", "mean"]
Neutral = Literal["drop", "keep"]
Label = float | str


@dataclass(frozen=True)
class Dropped:
    """Entries that a lexicon left out or merged.

    Attributes
    ----------
    conflicts : tuple of str
        Words with contradicting labels, left out.
    neutral : tuple of str
        Words labelled neutral only, left out.
    duplicates : tuple of str
        Words given more than once with the same label, kept once.
    averaged : tuple of str
        Words with several labels, kept with their mean.
    unlabelled : tuple of str
        Words without a label: an empty field, NA or NaN.
    """

    conflicts: tuple[str, ...] = ()
    neutral: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    averaged: tuple[str, ...] = ()
    unlabelled: tuple[str, ...] = ()

    def by_reason(self) -> dict[str, tuple[str, ...]]:
        """Return the words by the reason they were left out or merged; only reasons that occurred.

        >>> Dropped(conflicts=("odd",)).by_reason()
        {'conflicting': ('odd',)}
        """
        reasons = {
            "conflicting": self.conflicts,
            "neutral": self.neutral,
            "repeated": self.duplicates,
            "averaged": self.averaged,
            "unlabelled": self.unlabelled,
        }
        return {reason: words for reason, words in reasons.items() if words}


def merge_entries(
    entries: Iterable[tuple[str, Label]], *, conflicts: Conflicts, neutral: Neutral
) -> tuple[dict[str, float], Dropped]:
    """Return one label per word, and the entries that were dropped; see `Lexicon` for the options."""
    for name, value, known in (("conflicts", conflicts, get_args(Conflicts)), ("neutral", neutral, get_args(Neutral))):
        if value not in known:
            raise LexiconError(Argument(name, value), f" is given. {suggest(str(value), known)}")
    listed = list(entries)
    given = [_checked_entry(entry) for entry in listed]
    doubtful = doubtful_number(label for _, label in listed if isinstance(label, str))
    if doubtful:
        raise LexiconError(f"label {explain_doubt(doubtful)}")
    kept, neutral_words = _without_neutral(given) if neutral == "drop" else (given, ())
    found: dict[str, list[float]] = {}
    for word, label in kept:
        found.setdefault(word, []).append(label)
    differing = tuple(word for word, labels in found.items() if len(set(labels)) > 1)
    if differing and conflicts == "error":
        raise LexiconError(
            f"{len(differing)} words have conflicting labels: {name_some(differing)}.",
            Advice(" Correct them, or use ", Argument("conflicts", "drop"), " or ", Argument("conflicts", "mean"), "."),
        )
    repeated = tuple(word for word, labels in found.items() if len(labels) > 1 and len(set(labels)) == 1)
    averaged = differing if conflicts == "mean" else ()
    barred = set(differing) - set(averaged)
    merged = {
        word: labels[0] if len(set(labels)) == 1 else mean_label(labels)
        for word, labels in found.items()
        if word not in barred
    }
    conflicting = () if averaged else differing
    return merged, Dropped(conflicting, neutral_words, repeated, averaged)


def mean_label(labels: Sequence[float]) -> float:
    """Return the mean of finite labels, finite even if their sum overflows."""
    mean = sum(labels) / len(labels)
    if math.isfinite(mean):
        return mean
    return min(max(sum(label / len(labels) for label in labels), min(labels)), max(labels))


def _checked_entry(entry: tuple[str, Label]) -> tuple[str, float]:
    try:
        word, label = entry
    except (TypeError, ValueError):
        raise LexiconError(f"{shorten(entry)} is not a word and its label, as in ('good', 1).") from None
    if not isinstance(word, str) or not word.strip() or not _is_text(word):
        raise LexiconError(f"{shorten(word)} (label {shorten(label)}) is not a word. Words are text and not empty.")
    number = parse_label(label)
    if number is None:
        raise LexiconError(f"'{word}': label {shorten(label)} is not a number. Use 1/-1 or a score.")
    return word, number


def _is_text(word: str) -> bool:
    """Return whether a word can be written to a file: JSON can hold half a surrogate pair, which cannot."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_neutral(
    entries: list[tuple[str, float]],
) -> tuple[list[tuple[str, float]], tuple[str, ...]]:
    """Return the entries that are not neutral, and the words that have only neutral labels."""
    labels = {label for _, label in entries}
    if not is_neutral_label(labels):
        return entries, ()
    kept = [entry for entry in entries if entry[1] != 0]
    labelled = {word for word, _ in kept}
    neutral = dict.fromkeys(word for word, label in entries if label == 0 and word not in labelled)
    return kept, tuple(neutral)


#: Value of `groups` for groups that the library finds itself.
PROPOSED = "proposed"


def groups_of(groups: Mapping[str, Any] | Sequence[Any], words: Sequence[str], name: str) -> dict[str, str]:
    """Return the groups of words of a lexicon as text, given by word or one per word; None and NaN mean no group.

    Groups that differ but have the same text, such as 1 and "1", are refused.
    """
    if not isinstance(groups, Mapping):
        if len(groups) != len(words):
            raise LexiconError(
                f"{len(groups)} groups are given for the {len(words)} words of '{name}'; one per word, or a mapping "
                "from words to groups, is needed."
            )
        groups = dict(zip(words, groups, strict=True))
    known = set(words)
    found: dict[str, str] = {}
    values: dict[str, object] = {}
    for word, group in groups.items():
        if word in known and not is_missing(group):
            text = str(group)
            if isinstance(values.setdefault(text, group), str) != isinstance(group, str):
                raise LexiconError(f"groups holds {text} both as a number and as text. Use one of them for all words.")
            found[str(word)] = text
    if groups and not found:
        raise LexiconError(
            f"{len(groups)} words have groups ({name_some(groups)}), and none of them is in '{name}'. Give the group "
            "of each word by the word itself."
        )
    return found


#: Usual names of the column of words.
WORD_NAMES = ("word", "words", "term", "token", "lemma", "entry", "mot", "wort", "palabra", "slovo")


def parse_field(text: str, delimiter: str | None, names: tuple[str, str] | None = None) -> float | None:
    """Return the number of a label in a file; between semicolons or tabs, a comma may be the decimal point.

    >>> parse_field("7,28", ";"), parse_field("7,28", chr(9)), parse_field("1,234", chr(9)), parse_field("7,28", ",")
    (7.28, 7.28, None, None)
    >>> parse_field("0,618", chr(9))
    0.618
    """
    comma = DECIMAL_COMMAS.get(delimiter or "")
    return parse_label(text.replace(",", ".") if comma and comma.fullmatch(text.strip()) else text, names)


def parse_rating(text: str, delimiter: str | None = None) -> float | None:
    """Return the number of a rating, as `parse_field`; words and signs such as "-" are no ratings.

    >>> parse_rating("7,28", ";"), parse_rating("-"), parse_rating("positive")
    (7.28, None, None)
    """
    return None if text.strip().lower() in _NAMED else parse_field(text, delimiter)


_POINT, _COMMA, _SIGN, _SCORE = "has a decimal point", "has a decimal comma", "is only a sign", "is a score"
_MINUS, _MINUS_ONE = "is only a minus sign", "is a number"
_NOTATIONS = {
    _POINT: re.compile(r"[+−-]?\d*\.\d+(e[+-]?\d+)?", re.IGNORECASE),
    _COMMA: re.compile(r"[+−-]?\d*,\d+"),
    _SIGN: re.compile(r"[+−-]"),
    _MINUS: re.compile(r"[−-]"),
    _MINUS_ONE: re.compile(r"[−-]1([.,]0*)?"),
}
_CONTRADICTIONS = {
    _POINT: (_COMMA, "Use one decimal mark in the whole file."),
    _COMMA: (_POINT, "Use one decimal mark in the whole file."),
    _SIGN: (_SCORE, "Leave the field empty if there is no score, or write 1 or -1."),
    _SCORE: (_SIGN, "Where there is only a sign, leave the field empty if there is no score, or write 1 or -1."),
    _MINUS: (_MINUS_ONE, "Leave the field empty if there is no label, or write -1."),
    _MINUS_ONE: (_MINUS, "Where there is only a minus sign, leave the field empty if there is no label, or write -1."),
}


class Notation:
    """The notation of the numbers in one file. Two notations that contradict each other are an error.

    Next to 2,5 the number 1.770 may be 1770. Next to 3.2 and -1 a minus sign may mark a missing answer.
    """

    def __init__(self, file: TextFile) -> None:
        self._file = file
        self._first: dict[str, tuple[str, int]] = {}

    def check(self, text: str, number: float, line: Line) -> None:
        """Refuse a number whose notation contradicts that of an earlier line."""
        is_number, text = isinstance(text, Numeral), text.strip()
        found = [name for name, pattern in _NOTATIONS.items() if not is_number and pattern.fullmatch(text)]
        if text.lower() not in _NAMED and number not in (-1.0, 0.0, 1.0):
            found.append(_SCORE)
        for name in found:
            self._first.setdefault(name, (text, line.number))
            opposite, remedy = _CONTRADICTIONS[name]
            if opposite in self._first:
                other, at = self._first[opposite]
                raise self._file.problem(
                    f"{shorten(text)} {name}, and {shorten(other)} in line {at:,} {opposite}. {remedy}",
                    line=line.number,
                )


#: Names of columns that number the rows; "" is the index column that pandas writes.
_ROW_NUMBERS = ("", "id", "ids", "idx", "index", "key", "nr", "no", "number", "row", "row_id", "rowid", "uid",
                "unnamed: 0", "word_id")  # fmt: skip
_LABEL_NAMES = ("label", "score", "polarity", "valence", "rating", "value", "sentiment", "class", "conc.m")


#: A text with letters and without digits.
_WORDS = re.compile(r"\D*[^\W\d_]\D*")
#: A table has words and labels.
_FEWEST_COLUMNS = 2
#: Two lists side by side repeat few words: at most this many labels per different one. Names of labels repeat.
_SHARE_OF_NAMES = 4 / 3
#: A column given by its position has fewer digits than this; longer ones are names.
_LONGEST_PLACE = 10


class LexiconTable:
    """The lines of a file, split into fields.

    Parameters
    ----------
    file : TextFile
    delimiter : str, optional
        Detected from the first line: a tab, else a semicolon, else a comma, else white space before the label.
    header : bool, optional
        Detected: the first line is a header if it has the usual names of both columns, or one of them and no label;
        with a warning, also if it has a word where all other lines have numbers.
    label_names : pair of str, optional
        Names of the lower and the higher label.
    """

    def __init__(
        self,
        file: TextFile,
        *,
        delimiter: str | None = None,
        header: bool | None = None,
        label_names: tuple[str, str] | None = None,
    ) -> None:
        if delimiter == "":
            raise LexiconError("the delimiter is empty. Use a tab, semicolon, comma or space, or leave delimiter out.")
        self.unlabelled: list[str] = []
        self.groups: dict[str, str] = {}
        self.header_note = ""
        self._file = file
        self._notation = Notation(file)
        self._header = header
        self._label_names = label_names
        self._delimiter, self._lines = file.table_lines(delimiter)
        file.refuse_title(self._lines, delimiter, self._is_value)
        first = self._lines[0]
        self._split_all = False
        self._decimals = self._delimiter
        self._labels: list[str] = []
        names = file.split(first, self._delimiter)
        while len(names) > _FEWEST_COLUMNS and not names[-1] and not self._reach(len(names)):
            names.pop()  # a spreadsheet may write empty columns
        self._width = len(names)
        self._names: list[str] | None = names if (_is_header(names) if header is None else header) else None
        if self._names is not None:
            self._lines = self._lines[1:]
            if not self._lines:
                raise file.problem("there is only a header. At least one entry is needed after it.", line=first.number)

    def _reach(self, width: int) -> bool:
        """Return whether a line has a text in the last of so many columns, or after it."""
        return any(any(self._file.split(line, self._delimiter)[width - 1 :]) for line in self._lines)

    def entries(
        self,
        word_column: str | int | None = None,
        label_column: str | int | None = None,
        group_column: str | int | None = None,
    ) -> Iterator[tuple[str, float]]:
        """Yield each word with its label; a line whose label is neither valid nor missing is an error with its number.

        Words without a label (an empty field, NA) are collected in `unlabelled`, groups in `groups`.
        """
        self._split_all = any(column is not None for column in (word_column, label_column, group_column))
        word_at, label_at = self._columns(word_column, label_column, group_column)
        group_at = None if group_column is None else self._place(group_column, ())
        labels = self._labels = [self._label(line, label_at) for line in self._lines]
        self._decimals = decimal_delimiter(labels, self._delimiter)
        begins_with_names = self._begins_with_names(label_at)
        if begins_with_names:
            self._note_names()
        if self._names is not None or begins_with_names:
            self._note_header(self._names or self._fields(self._lines[0], label_last=label_at != 0), word_at, label_at)
        for line in self._lines[begins_with_names:]:
            fields = self._fields(line, label_last=label_at != 0)
            if max(word_at, label_at) >= len(fields):
                raise self._file.problem(
                    f"{shorten(line.text)} has {len(fields)} of {max(word_at, label_at) + 1} columns. "
                    f"A word and its label are needed.",
                    line=line.number,
                )
            if self._is_no_label(fields[label_at]) and fields[word_at]:
                self.unlabelled.append(fields[word_at])
            else:
                entry = self._entry(fields[word_at], fields[label_at], line)
                if group_at is not None:
                    self._note_group(entry[0], fields, group_at, line)
                yield entry
        self._refuse_doubtful(labels)

    def _refuse_doubtful(self, labels: list[str]) -> None:
        """Refuse labels whose points may separate thousands."""
        fields = (self._fields(line, label_last=True) for line in self._lines)
        doubtful = doubtful_number(labels, uses_commas=uses_decimal_commas(fields, self._delimiter))
        if doubtful:
            line = self._lines[labels.index(doubtful)]
            raise self._file.problem(f"label {explain_doubt(doubtful)}", line=line.number)

    def _note_header(self, names: list[str], word_at: int, label_at: int) -> None:
        """Store that the first line was read as the names of the columns, and which columns are used."""
        if max(word_at, label_at) < len(names):
            words, labels = shorten(names[word_at]), shorten(names[label_at])
            self.header_note = f"The first line names the columns. The words are in {words}, the labels in {labels}."

    def _note_group(self, word: str, fields: list[str], group_at: int, line: Line) -> None:
        """Store the group of a word; without a group column or with an empty field, nothing is stored."""
        group = fields[group_at] if group_at < len(fields) else ""
        if group and self.groups.setdefault(word, group) != group:
            raise self._file.problem(
                f"'{word}' is in the group {shorten(group)} and, further up, in {shorten(self.groups[word])}. "
                "Give each word one group.",
                line=line.number,
            )

    def _begins_with_names(self, label_at: int) -> bool:
        """Return whether the first line has a word where the other lines have numbers.

        If columns were given, one other line with a label is enough. Otherwise, at least two other lines and all their
        labels are looked at, and a first label of one letter or with a digit, such as 1O, is a wrong label, not a name.
        """
        if self._header is not None or self._names is not None or len(self._lines) < 2:
            return False
        first, *others = (self._label(line, label_at) for line in self._lines[: 2 if self._split_all else None])
        if self._is_no_label(first) or self._number(first) is not None:
            return False
        if self._split_all:
            return self._number(others[0]) is not None
        numbers = [label for label in others if not self._is_no_label(label)]
        return (
            len(numbers) > 1
            and len(first) > 1
            and not any(letter.isdigit() for letter in first)
            and all(parse_rating(label, self._decimals) is not None or explain_number(label) for label in numbers)
        )

    def _label(self, line: Line, label_at: int) -> str:
        fields = self._fields(line, label_last=label_at != 0)
        return fields[label_at] if label_at < len(fields) else ""

    def _note_names(self) -> None:
        """Warn that the first line was taken as the names of the columns."""
        first = self._lines[0]
        warnings.warn(
            HeaderDetectedWarning(
                f"{self._file.path.name}, line {first.number}: {shorten(first.text)} was read as the names of the "
                "columns, because it has no number where the other lines have labels. If it is an entry, correct its "
                "label."
            ),
            stacklevel=2,
        )

    def _explain(self, label: str, line: Line) -> tuple[Part | Advice, ...]:
        """Return what is wrong with a label that is not a number: the file has two lists, other classes, or a typo."""
        hint = Advice(" If this line names the columns, say ", Argument("header", True), ".")
        hints = (hint,) if line == self._lines[0] and self._header is None else ()
        if self._label_names is not None:
            return (*explain_class(label, self._label_names), *hints)
        labels = [each for each in self._labels if not self._is_no_label(each)]
        others = set(labels[1:])
        are_words = others and all(_WORDS.fullmatch(each) and self._number(each) is None for each in others)
        named = self._names is not None and _is_header(self._names)
        is_list = not named and self._width == 2 and not any(letter.isdigit() for letter in "".join(labels[:1]))
        if are_words and is_list and len(labels) - 1 <= _SHARE_OF_NAMES * len(others):
            return (
                f"the second column has words and no labels ({name_some(labels, most=3)}). The file seems to hold two "
                "lists side by side.",
                _TWO_LISTS,
                Advice(" If they are names of labels, use ", Argument("label_names", ("low", "high")), "."),
            )
        if are_words and len(others) > 2:
            return (
                f"label {shorten(label)} is not a number, and the labels are {name_some(sorted(others))}. A word list "
                "takes two classes, or scores. Leave the other labels empty.",
                Advice(" Name the two classes with ", Argument("label_names", ("low", "high")), "."),
            )
        return (f"label {shorten(label, width=40)}", *_LABELS_NEEDED, *hints)

    def _is_value(self, cell: str) -> bool:
        """Return whether a cell can be data that are not a word: a number, the name of a label, or a missing one."""
        number = parse_field(cell, ";", self._label_names)
        return number is not None or bool(explain_number(cell)) or is_no_label(cell) or cell in MISSING_SIGNS

    def _is_no_label(self, label: str) -> bool:
        """Return whether a label is missing. A minus sign is a label, and so are other dashes next to a plus sign."""
        if is_no_label(label):
            return True
        return label in MISSING_SIGNS and label not in _NAMED and "+" not in self._labels

    def _number(self, label: str) -> float | None:
        return parse_field(label, self._decimals, self._label_names)

    def _entry(self, word: str, label: str, line: Line) -> tuple[str, float]:
        number = self._number(label)
        if number is None and (problem := explain_number(label)):
            raise self._file.problem(f"label {problem}", line=line.number)
        if number is None:
            raise self._file.problem(*self._explain(label, line), line=line.number)
        self._notation.check(label, number, line)
        if not word:
            raise self._file.problem(f"{shorten(line.text)} has no word before its label.", line=line.number)
        return word, number

    def _fields(self, line: Line, *, label_last: bool) -> list[str]:
        """Return the fields; without delimiter and columns, everything before the label is the word, including spaces.

        A line with more fields than the first line of the file is an error; empty fields at its end do not count.
        """
        if self._delimiter is not None or self._split_all:
            fields = self._file.split(line, self._delimiter)
            if self._delimiter is not None and any(fields[self._width :]):
                raise self._file.problem(
                    f"{shorten(line.text)} has {len(fields)} fields, and the first line has {self._width}. "
                    "Quote fields that contain the delimiter, or use a decimal point.",
                    line=line.number,
                )
            return fields if self._delimiter is None else fields[: self._width]
        text = line.text.strip()
        fields = text.rsplit(None, 1) if label_last else text.split(None, 1)
        return [unquoted(field) for field in fields]

    def _columns(
        self, word_column: str | int | None, label_column: str | int | None, group_column: str | int | None
    ) -> tuple[int, int]:
        """Return the positions of words and labels, as named by the caller or detected from the first entry."""
        first = self._lines[0]
        fields = self._fields(first, label_last=True)
        named = [self._place(column, ()) for column in (word_column, label_column, group_column)]
        word_at = self._place(word_column, WORD_NAMES, taken=named)
        label_at = self._place(label_column, _LABEL_NAMES, taken=named)
        if len(fields) == 2 and (word_at is None) != (label_at is None):
            self._refuse_row_numbers(word_at, label_at)
        if word_at is None and label_at is None and len(fields) == 2:
            labelled_first = parse_label(self._fields(first, label_last=False)[0], self._label_names) is not None
            return (1, 0) if labelled_first and parse_label(fields[1], self._label_names) is None else (0, 1)
        if len(fields) == 2 and (word_at in (None, 0, 1)) and (label_at in (None, 0, 1)):
            word_at = word_at if word_at is not None else 1 - (label_at or 0)
            return word_at, label_at if label_at is not None else 1 - word_at
        if len(fields) == 1:
            raise self._file.problem(
                f"{shorten(first.text)} has a word and no label. Give a label after each word.",
                Advice(
                    " Or give two lists of words without labels: ",
                    Argument("high", ...),
                    ", ",
                    Argument("low", ...),
                    ".",
                    python=" Or read two lists of words without labels with Lexicon.from_word_lists(high, low).",
                ),
                line=first.number,
            )
        if word_at is None or label_at is None:
            columns = self._names or fields
            raise self._file.problem(
                f"{len(columns)} columns: {name_some(columns, most=12)}. A word and a label are needed.",
                Advice(
                    " Say which columns they are with ",
                    Argument("word_column", ...),
                    " and ",
                    Argument("label_column", ...),
                    ", or name them word and label in a first line.",
                ),
                line=1 if self._names else first.number,
            )
        return word_at, label_at

    def _refuse_row_numbers(self, word_at: int | None, label_at: int | None) -> None:
        """Refuse a table whose header names words or labels, and an identifier instead of the other."""
        known = label_at if word_at is None else word_at
        other = 1 - (known or 0)
        if known not in (0, 1) or self._names is None or self._names[other].strip().lower() not in _ROW_NUMBERS:
            return
        wanted = "words" if word_at is None else "labels"
        raise self._file.problem(
            f"the columns are {name_some(self._names)}, and {self._names[other]!r} seems to number the rows. Add a "
            f"column of {wanted}.",
            Advice(" Or say which it is: ", Argument("word_column", ...), ", ", Argument("label_column", ...), "."),
        )

    def _place(
        self, column: str | int | None, usual: tuple[str, ...], *, taken: Collection[int | None] = ()
    ) -> int | None:
        """Return the position of a column that was named, or of another than those `taken` that has a usual name."""
        names = self._names or []
        if isinstance(column, str) and column not in names and column.isdecimal() and len(column) < _LONGEST_PLACE:
            column = int(column)
        if isinstance(column, int):
            if column < 0:
                raise self._file.problem(f"column {column}: columns are numbered from 0.")
            return column
        if column is None:
            places = {name.lower(): place for place, name in reversed([*enumerate(names)]) if place not in taken}
            return next((places[name] for name in usual if name in places), None)
        if column not in names:
            known = f"the columns are {name_some(names, most=12)}" if names else "the file has no header"
            raise self._file.problem(f"there is no column '{column}': {known}.")
        return names.index(column)


def explain_class(label: object, names: tuple[str, str]) -> tuple[Part | Advice, ...]:
    """Return what is wrong with a label that is neither of the two names, and what to do."""
    return (
        f"label {shorten(label)} is neither '{names[0]}' nor '{names[1]}', and not a number. A word list takes two "
        "classes, or scores. Correct the label, leave it empty, or leave these words out.",
    )


def _is_header(names: list[str]) -> bool:
    """Return whether a line is a header: both of the usual names, or one of them and no label."""
    lowered = {name.lower() for name in names}
    named = [bool(lowered & set(usual)) for usual in (WORD_NAMES, _LABEL_NAMES)]
    return all(named) or (any(named) and all(parse_label(name) is None for name in names))


class LexiconFile(NamedTuple):
    """The (word, label) entries of a file, its words without a label, the stem of its name, groups of words, notes
    on how the file was read, and a note on sheets of a workbook that were not.
    """

    entries: list[tuple[str, float]]
    unlabelled: tuple[str, ...]
    stem: str
    groups: dict[str, str] | None = None
    notes: tuple[str, ...] = ()
    sheet_note: str = ""


def read_entries(
    path: FilePath,
    *,
    word_column: str | int | None = None,
    label_column: str | int | None = None,
    group_column: str | int | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    label_names: tuple[str, str] | None = None,
) -> LexiconFile:
    """Return the entries of a file of labelled words."""
    file = TextFile(path, encoding=encoding, error=LexiconError)
    if file.is_json:
        if group_column is not None:
            raise file.problem(
                Argument("group_column", group_column), " is given, and JSON has no columns. Use a table."
            )
        listed = list(_json_entries(file))
        doubtful = doubtful_number(label for _, label in listed if isinstance(label, str))
        if doubtful:
            raise file.problem(f"label {explain_doubt(doubtful)}")
        entries = [_json_entry(file, word, label, label_names) for word, label in listed]
        return LexiconFile(entries, (), file.path.stem, notes=tuple(filter(None, [file.note])))
    columns = (word_column, label_column, group_column)
    named = any(isinstance(column, str) and not column.isdecimal() for column in columns)
    header = True if named and header is None else header
    table = LexiconTable(file, delimiter=delimiter, header=header, label_names=label_names)
    entries = list(table.entries(*columns))
    groups = None if group_column is None else table.groups
    notes = tuple(filter(None, [file.note, table.header_note, file.sheet_note]))
    return LexiconFile(entries, tuple(table.unlabelled), file.path.stem, groups, notes, file.sheet_note)


def column_names(path: FilePath, *, encoding: str = "utf-8") -> list[str]:
    """Return the fields of the first line of a table: its header, if it has one; empty for JSON."""
    file = TextFile(path, encoding=encoding, error=LexiconError)
    if file.is_json:
        return []
    delimiter, lines = file.table_lines()
    return file.split(lines[0], delimiter)


def _json_entries(file: TextFile) -> Iterator[tuple[object, object]]:
    """Yield the entries of {word: label}, {"positive": [words]}, [[word, label]] or [{"word", "label"}]."""
    content = file.json()
    if isinstance(content, JsonObject):
        for key, value in content:
            if isinstance(value, list) and not isinstance(value, JsonObject):
                yield from ((word, key) for word in value)
            else:
                yield key, value
    elif isinstance(content, list):
        for item in content:
            if isinstance(item, JsonObject):
                record = dict(item)
                fields: list[object] = [record.get("word"), record.get("label", record.get("score"))]
            else:
                fields = list(item) if isinstance(item, list) else [item]
            if len(fields) != 2:
                raise file.problem(f"{shorten(json.dumps(item))} is not a word and its label.")
            yield fields[0], fields[1]
    else:
        raise file.problem('words and labels are needed, as in {"good": 1, "bad": -1}.')


def _json_entry(file: TextFile, word: object, label: object, names: tuple[str, str] | None) -> tuple[str, float]:
    if not isinstance(word, str) or not word.strip():
        raise file.problem(f"{shorten(word)} (label {shorten(label)}) is not a word.")
    number = None if isinstance(label, bool) else parse_label(label, names)
    if number is None and names is not None:
        raise file.problem(f"'{word}': ", *explain_class(label, names))
    if number is None:
        raise file.problem(f"'{word}': label {shorten(label)}", *_LABELS_NEEDED)
    return word, number
