"""A table of words and labels: its delimiter, its header, and which column is which."""

from __future__ import annotations

from collections.abc import Iterator

from densray.errors import LexiconError, name_some
from densray.labels import LABELS_NEEDED, parse_label
from densray.lines import Line, TextFile, shorten

__all__ = ["Table"]

_WORD_NAMES = ("word", "words", "term", "token", "lemma", "entry", "mot", "wort", "palabra", "slovo")
_LABEL_NAMES = ("label", "score", "polarity", "valence", "rating", "value", "sentiment", "class", "conc.m")


class Table:
    """The lines of a file as fields.

    Parameters
    ----------
    file : TextFile
    delimiter : str, optional
        Found from the first line: a tab, else a semicolon, else a comma, else white space before the label.
    header : bool, optional
        Found: the first line is a header where it has the usual names of both columns, or of one and no label.
    label_names : pair of str, optional
        What the lower and the higher label are called.
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
            raise LexiconError("delimiter is empty. Give a tab, semicolon, comma or blank, or leave it out.")
        self._file = file
        self._label_names = label_names
        self._lines = list(file.lines())
        first = self._lines[0]
        found = next((mark for mark in ("\t", ";", ",") if mark in first.text), None)
        self._split_all = False
        self._delimiter = found if delimiter is None else (None if delimiter == " " else delimiter)
        names = file.split(first, self._delimiter)
        self._names: list[str] | None = names if (_is_header(names) if header is None else header) else None
        if self._names is not None:
            self._lines = self._lines[1:]
            if not self._lines:
                raise file.problem("there is a header and no entry after it.", first.number)

    def entries(
        self, word_column: str | int | None = None, label_column: str | int | None = None
    ) -> Iterator[tuple[str, float]]:
        """Yield each word with its label; a line that has none is an error with its number."""
        self._split_all = word_column is not None or label_column is not None
        word_at, label_at = self._columns(word_column, label_column)
        for line in self._lines:
            fields = self._fields(line, label_last=label_at != 0)
            if max(word_at, label_at) >= len(fields):
                raise self._file.problem(
                    f"{shorten(line.text)} has {len(fields)} of {max(word_at, label_at) + 1} columns. "
                    f"A word and its label are needed.",
                    line.number,
                )
            yield self._entry(fields[word_at], fields[label_at], line)

    def _entry(self, word: str, label: str, line: Line) -> tuple[str, float]:
        number = parse_label(label, self._label_names)
        if number is None:
            hint = "" if line.number > 1 else " If this line names the columns, say header=True."
            raise self._file.problem(f"label {shorten(label)} is not a number. {LABELS_NEEDED}{hint}", line.number)
        if not word:
            raise self._file.problem(f"{shorten(line.text)} has no word before its label.", line.number)
        return word, number

    def _fields(self, line: Line, *, label_last: bool) -> list[str]:
        """Return the fields; without delimiter and columns all but the label is the word, with its blanks."""
        if self._delimiter is not None or self._split_all:
            return self._file.split(line, self._delimiter)
        text = line.text.strip()
        return text.rsplit(None, 1) if label_last else text.split(None, 1)

    def _columns(self, word_column: str | int | None, label_column: str | int | None) -> tuple[int, int]:
        """Return the places of words and labels, from what was named or from what the first entry shows."""
        first = self._lines[0]
        fields = self._fields(first, label_last=True)
        word_at = self._place(word_column, _WORD_NAMES)
        label_at = self._place(label_column, _LABEL_NAMES)
        if word_at is None and label_at is None and len(fields) == 2:
            labelled_first = parse_label(self._fields(first, label_last=False)[0], self._label_names) is not None
            return (1, 0) if labelled_first and parse_label(fields[1], self._label_names) is None else (0, 1)
        if len(fields) == 2 and (word_at in (None, 0, 1)) and (label_at in (None, 0, 1)):
            word_at = word_at if word_at is not None else 1 - (label_at or 0)
            return word_at, label_at if label_at is not None else 1 - word_at
        if word_at is None or label_at is None:
            raise self._file.problem(
                f"{shorten(first.text)} has {len(fields)} columns. Give two, word and label, or name them so in a "
                f"first line, or say which they are: word_column=, label_column= (names, or numbers from 0).",
                first.number,
            )
        return word_at, label_at

    def _place(self, column: str | int | None, usual: tuple[str, ...]) -> int | None:
        """Return the place of a column that was named, or that a header names as usual."""
        names = self._names or []
        if isinstance(column, str) and column not in names and column.isdecimal():
            column = int(column)
        if isinstance(column, int):
            if column < 0:
                raise self._file.problem(f"column {column}: columns are numbered from 0.")
            return column
        if column is None:
            lowered = [name.lower() for name in names]
            return next((lowered.index(name) for name in usual if name in lowered), None)
        if column not in names:
            known = f"the columns are {name_some(names, most=12)}" if names else "the file has no header"
            raise self._file.problem(f"there is no column '{column}': {known}.")
        return names.index(column)


def _is_header(names: list[str]) -> bool:
    """Return whether a line names columns: both of the usual names, or one and nothing that is a label."""
    lowered = {name.lower() for name in names}
    named = [bool(lowered & set(usual)) for usual in (_WORD_NAMES, _LABEL_NAMES)]
    return all(named) or (any(named) and all(parse_label(name) is None for name in names))
