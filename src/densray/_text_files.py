"""Words, pairs, fields and JSON of small text files; errors name the file, the line and the offending text."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from densray._encodings import UTF16_MARKS, encoding_of, words_to_check
from densray._files import WORKBOOK, foreign_kind, unreadable_kind
from densray._notation import Numeral, named_delimiter
from densray.errors import (
    Advice,
    Argument,
    DensRayError,
    EncodingDetectedWarning,
    HeaderDetectedWarning,
    LexiconError,
    MissingExtraError,
    Part,
    as_pair,
    name_some,
    shorten,
)

if TYPE_CHECKING:
    from densray._workbooks import Sheet

FilePath = str | PathLike[str]

#: Usual names of a column of words.
NAMES_OF_WORDS = ("word", "words", "wort", "wörter", "item", "items", "stimulus", "stimuli", "term", "terms", "begriff",
                  "begriffe", "token", "tokens", "lemma", "lemmas", "lemmata", "mot", "mots", "palabra", "palabras",
                  "parola", "parole", "woord", "woorden")  # fmt: skip
#: Names of ends, which are headings of a list of words if they are written in another way than the words.
_NAMES_OF_ENDS = {"positive", "negative", "pos", "neg", "positiv", "negativ", "high", "low"}
#: Number of words of a title, and of single words below it.
_FEWEST_IN_TITLE, _FEWEST_BELOW_TITLE = 3, 5
#: Length of the longest path that errors repeat as it is.
_LONGEST_PATH = 255

_LARGEST_BYTES = 1 << 30
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
#: Characters of a row without content, apart from its delimiter.
_EMPTY_CELLS = ' \t;,"'
#: A number between spaces, perhaps with a decimal comma.
_SPACED_NUMBER = re.compile(r"[+−-]?\d+(,\d+)?")
#: Number of lines that are looked at for values below a title.
_TITLE_LINES = 22
#: What stands between two items of a JSON list.
_BETWEEN_ITEMS = re.compile(r"[\s,]*")


class Line(NamedTuple):
    """One line of a file: its number, from 1, and its text without the line end."""

    number: int
    text: str


class TextFile:
    """A text file read into memory; its errors name the file and the line.

    Parameters
    ----------
    path : str or path
        The file. A byte-order mark and Windows line ends are accepted. In an Excel file (``.xlsx``), the first sheet
        is read (extra ``excel``).
    encoding : str
        Its encoding. A file that should be UTF-8 but is not is read as UTF-16 or cp1252 if it is clearly one of them,
        with an `EncodingDetectedWarning`.
    error : class of error
        Exception class for bad input.

    Attributes
    ----------
    note : str
        The message of that warning; empty if the encoding was not detected.
    delimiter : str or None
        The delimiter that the first line names for Excel (``sep=;``). That line is left out of `text`.
    """

    def __init__(self, path: FilePath, *, encoding: str, error: type[DensRayError]) -> None:
        self.path = Path(path)
        self.note = ""
        self._error = error
        self._sheet: Sheet | None = None
        self.text = self._decode(self._bytes(), encoding)
        first = re.split(r"[\r\n]", self.text, maxsplit=1)[0]
        self.delimiter = named_delimiter(first)
        if self.delimiter is not None:
            self.text = self.text.removeprefix(first)  # the line stays, so that lines keep their numbers
        if not self.text.strip():
            raise self.problem("the file is empty. One entry per line is needed.")

    def _bytes(self) -> bytes:
        """Return the content of a regular file of limited size; devices and pipes may have no end."""
        kind = unreadable_kind(self.path)
        if kind not in (None, "a folder"):
            raise self.problem(f"this is {kind}, not a file. Write its content to a file first.")
        try:
            with self.path.open("rb") as stream:
                content = stream.read(_LARGEST_BYTES + 1)
            if len(content) > _LARGEST_BYTES:
                raise self.problem(
                    f"the file has more than {_LARGEST_BYTES >> 20} MB, too large for a list of words or texts."
                )
            return content
        except FileNotFoundError:
            raise self.problem(f"no such file in {self.path.parent.resolve()}.") from None
        except OSError as error:
            raise self.problem(f"cannot be read ({error.strerror}).") from error
        except ValueError as error:  # a null byte in the path
            raise self.problem(f"cannot be read ({shorten(error)}).") from error

    def _decode(self, content: bytes, encoding: str) -> str:
        kind = foreign_kind(content, packed=True)
        if kind == WORKBOOK:
            return self._first_sheet(content)
        if kind is not None:
            raise self.problem(f"this seems to be {kind}. A text file with one entry per line is needed.")
        # UTF-16 of ASCII letters is valid UTF-8 with NUL bytes
        detected = encoding_of(content) if encoding == "utf-8" and b"\0" in content else None
        try:
            text = content.decode(detected or encoding)
        except UnicodeDecodeError as error:
            detected = encoding_of(content) if encoding == "utf-8" else None
            if detected is None:
                raise self._undecodable(content, encoding, error) from None
            text = content.decode(detected)
        except LookupError:
            raise self.problem(f"unknown encoding {encoding!r}. Use 'utf-8' or 'latin-1'.") from None
        text = text.removeprefix("\ufeff")
        if detected is not None and text.strip():
            self._tell_encoding(text, detected)
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise self.problem("a NUL byte, which plain text does not have. Save the file as UTF-8.", line=line)
        return text

    def _first_sheet(self, content: bytes) -> str:
        """Return the first sheet of an Excel workbook as lines of fields between tabs."""
        from densray._workbooks import read_first_sheet

        try:
            self._sheet = read_first_sheet(content)
        except MissingExtraError as error:
            raise self.problem(f"{error} Or save it as .csv.") from error
        except Exception as error:  # fastexcel and polars raise their own exceptions
            raise self.problem(
                f"this seems to be an Excel file (.xlsx) that cannot be read ({shorten(error)}). Save it as .csv."
            ) from error
        rows = self._sheet.rows
        used = max((place + 1 for row in rows for place, cell in enumerate(row) if cell), default=0)
        return "\n".join("\t".join(row[:used]) for row in rows)

    def _undecodable(self, content: bytes, encoding: str, error: UnicodeDecodeError) -> DensRayError:
        if b"\0" in content[:4096] and content[:2] not in UTF16_MARKS:
            return self.problem("this is not a text file. One entry per line is needed.")
        line = content.count(b"\n", 0, error.start) + 1
        sample = content[error.start : error.start + 8]
        return self.problem(
            f"byte {error.start} ({sample!r}) is not {encoding}, and the encoding is not known. Save it as UTF-8.",
            line=line,
        )

    def _tell_encoding(self, text: str, encoding: str) -> None:
        """Warn that an encoding was detected, with words to check it by."""
        self.note = (
            f"{self.path.name} is not UTF-8. It was read as {encoding}.{words_to_check(text)} If that is wrong, save "
            "it as UTF-8."
        )
        warnings.warn(EncodingDetectedWarning(self.note), stacklevel=2)

    def problem(self, *message: Part | Advice, line: int | None = None) -> DensRayError:
        """Return the error with this message, prefixed by the file and the line."""
        name = self.path.name or str(self.path)  # the root of a disk has no name
        where = f"{name}, line {line}" if line else name
        return self._error(f"{where}: ", *message, f" {self.sheet_note}" if self.sheet_note else "")

    @property
    def sheet_note(self) -> str:
        """A note on the sheets of a workbook that were not read; empty for other files."""
        sheets = [] if self._sheet is None else self._sheet.names
        if not sheets[1:]:
            return ""
        others = f"the sheet {name_some(sheets[1:])} was" if len(sheets) == 2 else f"{name_some(sheets[1:])} were"
        return (
            f"Only the first sheet of {self.path.name}, '{sheets[0]}', was read; {others} not. If the data are there, "
            "move them to the first sheet, or save their sheet as CSV."
        )

    def lines(self, *, comment: str | None = None) -> Iterator[Line]:
        """Yield the lines that are neither blank nor begin with `comment`."""
        for number, line in enumerate(_LINE_ENDS.split(self.text), start=1):
            if line.strip() and not (comment and line.startswith(comment)):
                yield Line(number, line)

    def table_lines(self, delimiter: str | None = None) -> tuple[str | None, list[Line]]:
        """Return the delimiter of a table and its lines, without rows whose cells are all empty.

        The delimiter is the given one, or else the one that the file names, or that of the first row.
        """
        lines = list(self.lines())
        given = delimiter or self.delimiter
        first = next((line for line in lines if line.text.strip(_EMPTY_CELLS)), lines[0])
        mark = delimiter_of(first.text) if given is None or ("\t" in first.text and self._sheet is not None) else given
        mark = None if mark == " " else mark
        kept = [line for line in lines if line.text.strip(_EMPTY_CELLS + (mark or "")) or any(self.split(line, mark))]
        if not kept:
            raise self.problem("all cells are empty. One entry per line is needed.")
        if mark == "," and given is None:
            self._refuse_commas_between_spaces(kept)
        return mark, kept

    def _refuse_commas_between_spaces(self, lines: list[Line]) -> None:
        """Refuse lines such as "happy 5,3", where the comma may be a decimal mark between columns of spaces."""
        if all(map(_may_be_spaced, lines)):
            line = next(line for line in lines if "," in line.text)
            (word, number), (head, tail) = line.text.rsplit(None, 1), line.text.rsplit(",", 1)
            raise self.problem(
                f"{shorten(line.text)} may be {shorten(word)} and {number}, or {shorten(head)} and {tail}. "
                "Separate the columns by semicolons or tabs.",
                line=line.number,
            )

    def refuse_title(self, lines: list[Line], delimiter: str | None, is_value: Callable[[str], bool]) -> None:
        """Refuse a table with a title above the names of its columns.

        A title is one filled cell above a line of several texts that are no values, with values below. `delimiter` is
        None if it is not given; that of a title may differ.
        """
        if len(lines) < 3:
            return
        mark = delimiter or self.delimiter or delimiter_of(lines[1].text)
        if mark in (None, " "):
            return
        try:
            rows = [[cell for cell in split_fields(line.text, mark) if cell] for line in lines[:_TITLE_LINES]]
        except csv.Error:  # another delimiter
            return
        title, names, *others = rows
        if len(title) != 1 or len(names) < 2 or any(map(is_value, [*title, *names])):
            return
        if any(map(is_value, chain.from_iterable(others))):
            raise self.problem(
                f"{shorten(title[0])} seems to be a title, and line {lines[1].number} ({name_some(names)}) to name "
                "the columns. Delete the row of the title.",
                line=lines[0].number,
            )

    def split(self, line: Line, delimiter: str | None) -> list[str]:
        """Return the fields of a line; an unclosed quote is an error. Numbers of an Excel file are `Numeral`."""
        try:
            fields = split_fields(line.text, delimiter)
        except csv.Error as error:
            problem = f"{shorten(line.text)} is not a line of fields ({shorten(error)})."
            raise self.problem(problem, line=line.number) from error
        if self._sheet is None:
            return fields
        cells = self._sheet.rows[line.number - 1]
        return [cell if isinstance(cell, Numeral) else field for field, cell in zip(fields, cells, strict=False)]

    def words(self, *, comment: str | None = None) -> list[str]:
        """Return the words of the file, one per line; lines that begin with `comment` are skipped."""
        words = [line.text.strip() for line in self.lines(comment=comment)]
        if not words:
            raise self.problem(
                f"there are only comments (lines that begin with '{comment}'). One word per line is needed."
            )
        return words

    def pairs(self, needed: str = "a pair. Two words") -> Iterator[tuple[Line, str, str]]:
        """Yield the pairs of the file with their lines; a tab, semicolon, comma or white space separates the words."""
        for line in self.lines():
            fields = self.split(line, delimiter_of(line.text))
            if len(fields) != 2 or not all(fields):
                raise self.problem(
                    f"{shorten(line.text)} is not {needed} are needed, with a tab between them.", line=line.number
                )
            yield line, fields[0], fields[1]

    @property
    def is_json(self) -> bool:
        """Whether the file is JSON, by its extension or its first characters."""
        if self.path.suffix.lower() == ".json":
            return True
        start = self.text.lstrip()[:400]
        return start.startswith(('{"', '[["', "[{")) or start.split()[:1] == ["{"]

    def json(self) -> object:
        """Return the content of a JSON file, its objects as :class:`JsonObject`."""
        try:
            return json.loads(self.text, parse_constant=str, object_pairs_hook=JsonObject)
        except json.JSONDecodeError as error:
            raise self.problem(f"not valid JSON ({error.msg}).", line=error.lineno) from None
        except (RecursionError, ValueError) as error:
            raise self.problem(f"not usable JSON ({shorten(error)}).") from None


class TextTable:
    """The columns of a small file. ``.csv``, ``.tsv``, ``.jsonl`` and ``.json`` files name them; in other files, each
    line is a row.

    Parameters
    ----------
    path : str or path
    only : str
        Name of the only column of a file without column names.
    error : class of error
        Exception class for bad input.

    Attributes
    ----------
    columns : dict of str to list
        The cells are texts. A cell of a JSON file may also be a list or an object; numbers there become texts.
    lines : list of int
        The line at which each row begins.
    """

    def __init__(self, path: FilePath, only: str, *, error: type[DensRayError]) -> None:
        self.file = TextFile(path, encoding="utf-8", error=error)
        ending = self.file.path.suffix.lower()
        self.lines: list[int] = []
        rows: Sequence[Mapping[str, object]]
        if ending in (".jsonl", ".json"):
            values = self._json_lines() if ending == ".jsonl" else self._json_items()
            rows = [self._cells(number, value, only) for number, value in values]
        elif ending in (".csv", ".tsv"):
            rows = self._fields(self.file.delimiter or ("," if ending == ".csv" else "\t"))
        else:
            whole = self.file.text.rstrip().splitlines()
            self.lines, rows = list(range(1, len(whole) + 1)), [{only: text} for text in whole]
        self.columns = {name: [row.get(name, "") for row in rows] for name in dict.fromkeys(n for r in rows for n in r)}

    def _json_lines(self) -> Iterator[tuple[int, object]]:
        """Yield the value on each line, and the number of the line."""
        for number, text in self.file.lines():
            try:
                yield number, json.loads(text)
            except (ValueError, RecursionError) as error:
                raise self.file.problem(f"{shorten(text)} is not JSON ({shorten(error)}).", line=number) from None

    def _json_items(self) -> Iterator[tuple[int, object]]:
        """Yield the items of one JSON list with the lines at which they begin; JSON lines are read, too."""
        text = self.file.text
        try:
            whole = json.loads(text)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Extra data"):  # as after the first of several lines
                raise self.file.problem(f"not valid JSON ({error.msg}).", line=error.lineno) from None
            yield from self._json_lines()
            return
        except (RecursionError, ValueError) as error:
            raise self.file.problem(f"not usable JSON ({shorten(error)}).") from None
        if not isinstance(whole, list):
            yield 1, whole
            return
        decoder, place, number = json.JSONDecoder(), text.index("[") + 1, text.count("\n", 0, text.index("[")) + 1
        for _ in whole:
            start = _BETWEEN_ITEMS.match(text, place).end()  # type: ignore[union-attr]
            number += text.count("\n", place, start)
            value, place = decoder.raw_decode(text, start)
            yield number, value
            number += text.count("\n", start, place)

    def _cells(self, number: int, row: object, only: str) -> dict[str, object]:
        """Return the cells of a row of JSON; a text or a list of objects (a conversation) is the only cell."""
        if isinstance(row, str) or (isinstance(row, list) and row and all(isinstance(item, dict) for item in row)):
            row = {only: row}
        if not isinstance(row, dict):
            raise self.file.problem(f"{shorten(json.dumps(row))} is not an object with a text.", line=number)
        self.lines.append(number)
        return {
            str(name): "" if value is None else value if isinstance(value, list | dict) else str(value)
            for name, value in row.items()
        }

    def _fields(self, delimiter: str) -> list[dict[str, str]]:
        quoted: dict[str, Any] = {"quoting": csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL}
        reader = csv.reader(io.StringIO(self.file.text, newline=""), delimiter=delimiter, **quoted)
        names, rows = [unquoted(name) for name in next(filter(None, reader))], []
        before = reader.line_num
        for raw in reader:
            fields = [unquoted(field) for field in raw] if delimiter == "\t" else raw
            if any(fields):
                if len(fields) != len(names):
                    raise self.file.problem(
                        f"{len(fields)} fields are given; there are {len(names)} columns.", line=before + 1
                    )
                self.lines.append(before + 1)
                rows.append(dict(zip(names, fields, strict=True)))
            before = reader.line_num
        if not rows:
            raise self.file.problem("there is only a line of column names. Add rows below it.")
        return rows

    def column(self, usual: str, name: str | None, *, needed: str = "") -> list[str]:
        """Return a column of texts by its name, or the usual one; empty if that is missing and not needed."""
        texts = []
        for place, cell in enumerate(self.cells(usual, name, needed=needed)):
            if not isinstance(cell, str):
                kind = "a list" if isinstance(cell, list) else "an object"
                raise self.file.problem(
                    f"'{name or usual}' is {kind} ({shorten(json.dumps(cell))}); a text or a number is needed.",
                    line=self.lines[place],
                )
            texts.append(cell)
        return texts

    def cells(self, usual: str, name: str | None, *, needed: str = "") -> list[object]:
        """Return a column as `column` does, with the lists and objects of a JSON file."""
        if (name or usual) in self.columns:
            return self.columns[name or usual]
        if name is None and not needed:
            return []
        columns = ", ".join(self.columns)
        raise self.file.problem(
            f"there is no column '{name or usual}' among {columns}.",
            Advice(" Name one with ", Argument(needed, ...), "."),
        )


class JsonObject(list[tuple[str, object]]):
    """The members of a JSON object, repeated names included."""


def _may_be_spaced(line: Line) -> bool:
    """Return whether a line ends in a number between spaces, and has commas only inside such numbers.

    >>> [_may_be_spaced(Line(1, text)) for text in ("very sad 2,5", "New York,1", "a 1, 2")]
    [True, False, False]
    """
    others = line.text.split()[1:]
    numbers = [part for part in others if _SPACED_NUMBER.fullmatch(part)]
    return others[-1:] == numbers[-1:] != [] and line.text.count(",") == sum("," in part for part in numbers)


def encoding_note(path: FilePath, *, encoding: str = "utf-8") -> str:
    """Return a note on the encoding of a text file if it is detected; empty if the file has the given encoding."""
    return TextFile(path, encoding=encoding, error=LexiconError).note


def read_words(source: FilePath | Iterable[str], *, comment: str | None = None, encoding: str = "utf-8") -> list[str]:
    """Return the words of a list, or of a file: one per line, or all in one line, separated as in `split_words`."""
    if not isinstance(source, str | PathLike):
        return list(source)
    if isinstance(source, str) and "\0" not in source and not os.path.exists(source):  # Path.exists may raise
        raise LexiconError(
            f"{source if len(source) <= _LONGEST_PATH else shorten(source)}: no such file in "
            f"{Path(source).parent.resolve()}.",
            Advice(python=f" For words, give a list: [{shorten(source)}]."),
        )
    file = TextFile(source, encoding=encoding, error=LexiconError)
    lines = [Line(line.number, line.text.strip()) for line in file.lines(comment=comment)]
    if not lines:
        raise file.problem(f"there are only comments (lines that begin with '{comment}'). One word per line is needed.")
    words = _words_of_lines(file, lines) if len(lines) > 1 else split_words(unquoted(lines[0].text))
    if not words:
        raise file.problem("all cells are empty. One word per line is needed.")
    if len(lines) == 1:
        return words
    headings = _headings(words, file.path.stem)
    if headings:
        named = " and ".join(f"'{heading}'" for heading in headings)
        first = f"line, {named}, counts as a word" if len(headings) == 1 else f"two lines, {named}, count as words"
        warnings.warn(
            HeaderDetectedWarning(f"{file.path.name}: the first {first}. Delete what is a heading and not a word."),
            stacklevel=2,
        )
    return words


def _words_of_lines(file: TextFile, lines: list[Line]) -> list[str]:
    """Return the words of several lines, each without the empty fields after it; a line of several words is refused."""
    texts = [line.text for line in lines]
    if all(map(_QUOTED.fullmatch, texts)):
        return [unquoted(text).strip() for text in texts]
    mark, words = file.delimiter or _mark_between_words(texts), []
    for line in lines:
        is_word = mark is None or (file.delimiter is None and not _has_mark(line.text, mark))
        filled = [line.text] if is_word else [field for field in file.split(line, mark) if field]
        if len(filled) > 1:
            raise file.problem(
                f"{name_some(filled, most=3)} are {len(filled)} fields of one line. A list of words has one word per "
                "line. Delete the other columns, or give each word a line of its own.",
                line=line.number,
            )
        words += filled
    return words


def _mark_between_words(texts: list[str]) -> str | None:
    r"""Return the mark that separates the fields of lines; None if each line is one word.

    Tabs always do. Semicolons do between two words, or at the end of a word. Commas do if most lines have them, but not
    between digits.

    >>> _mark_between_words(["rich;", "wealthy"]), _mark_between_words([":)", ";)", ";D", "R&amp;B"])
    (';', None)
    >>> _mark_between_words(["rich, poor", "good, bad"]), _mark_between_words(["New York, N.Y.", "rich", "10,000"])
    (',', None)
    """
    if any("\t" in text for text in texts):
        return "\t"
    if any(text.strip("; ") and _has_mark(text, ";") for text in texts) or not "".join(texts).strip("; "):
        return ";"
    return "," if 2 * sum(_has_mark(text, ",") for text in texts) > len(texts) else None


def _has_mark(text: str, mark: str) -> bool:
    """Return whether a mark separates fields of a line, or all of them are empty. In ;) and R&amp;B it does not."""
    plain = _ENTITY.sub("", _QUOTES.sub("x", text))
    return mark == "\t" or not text.strip(f"{mark} ") or bool(_AFTER_WORD[mark].search(plain))


def _headings(words: list[str], stem: str) -> list[str]:
    """Return the first words of a list if they seem to be a title or the name of the column.

    >>> _headings(["Wort", "gut"], "liste"), _headings(["Gute Leute", "Wort", "gut", "nett"], "liste")
    (['Wort'], ['Gute Leute', 'Wort'])
    >>> _headings(["Rich", "good"], "rich"), _headings(["rich", "good"], "rich"), _headings(["High", "Rome"], "high")
    (['Rich'], [], [])
    """
    first, *others = words
    name, stem = first.removesuffix(":").casefold(), stem.casefold()
    if name in NAMES_OF_WORDS:
        return words[:1]
    if " " in first and others[:1] and others[0].removesuffix(":").casefold() in NAMES_OF_WORDS:
        return words[:2]
    if not _differs_in_form(first, others):
        return []
    if name in {*_NAMES_OF_ENDS, stem, stem.rpartition("_")[2]}:
        return words[:1]
    is_title = len(first.split()) >= _FEWEST_IN_TITLE and len(others) >= _FEWEST_BELOW_TITLE
    return [first, *_headings(others, stem)] if is_title and not any(" " in word for word in others) else []


def _differs_in_form(first: str, others: list[str]) -> bool:
    """Return whether a line alone ends in a colon, or alone has capital letters.

    >>> _differs_in_form("rich:", ["posh"]), _differs_in_form("Rich", ["posh"]), _differs_in_form("Rich", ["Posh"])
    (True, True, False)
    """
    if first.endswith(":"):
        return not any(word.endswith(":") for word in others)
    return first != first.lower() and all(word == word.lower() for word in others)


def read_pairs(source: FilePath | Iterable[Sequence[str]], *, encoding: str = "utf-8") -> list[tuple[str, str]]:
    """Return the pairs of a list, of a file with one per line (separated by tab, comma or space), or of JSON."""
    if not isinstance(source, str | PathLike):
        return [_checked_pair(pair) for pair in source]
    file = TextFile(source, encoding=encoding, error=LexiconError)
    if not file.is_json:
        return [(left, right) for _, left, right in file.pairs()]
    content = file.json()
    if not isinstance(content, list) or isinstance(content, JsonObject):
        raise file.problem('a list of pairs is needed, as in [["she", "he"]].')
    return [_checked_pair(pair, file) for pair in content]


def _checked_pair(pair: object, file: TextFile | None = None) -> tuple[str, str]:
    words = as_pair(pair)
    if words is not None:
        return words
    message = f"{shorten(str(pair))} is not a pair of words, as in ('she', 'he')."
    raise file.problem(message) if file else LexiconError(message)


def split_words(text: str) -> list[str]:
    """Return the words of a typed list, separated by line ends, commas, semicolons or tabs, or else by spaces.

    >>> split_words("good, New York"), split_words("good;nice"), split_words("good New_York")
    (['good', 'New York'], ['good', 'nice'], ['good', 'New_York'])
    """
    parts = re.split(r"[\n,;\t]", text) if re.search(r"[\n,;\t]", text.strip()) else text.split()
    return [word for part in parts if (word := part.strip())]


def delimiter_of(text: str) -> str | None:
    """Return the delimiter of the fields of a line: a tab, else a semicolon, else a comma; None for white space.

    Marks between quotes count only if there are no others.

    >>> delimiter_of('"well; well",1'), delimiter_of("good 1"), delimiter_of('"good;1"')
    (',', None, ';')
    """
    if "\t" in text:  # where quotes may be words
        return "\t"
    return next((mark for part in (_QUOTES.sub("", text), text) for mark in (";", ",") if mark in part), None)


def split_fields(text: str, delimiter: str | None) -> list[str]:
    """Return the fields of a line without surrounding white space; None splits at any white space.

    Commas and semicolons follow the rules of CSV, where a quoted field may contain them. With tabs and spaces, a
    field that is quoted as a whole loses its quotes; any other quote is part of the word.

    >>> split_fields('"well, well",1', ",")
    ['well, well', '1']
    >>> split_fields('"' + chr(9) + "-1", chr(9)), split_fields('"good"' + chr(9) + '"1"', chr(9))
    (['"', '-1'], ['good', '1'])
    """
    if delimiter in (",", ";"):
        fields = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True, strict=True), [])
    else:
        fields = [unquoted(field.strip()) for field in text.split(delimiter)]
    return [field.strip() for field in fields]


_QUOTES = re.compile(r'"(?:[^"]|"")*"')
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
#: A sign of HTML, such as &amp;, whose semicolon is part of the word.
_ENTITY = re.compile(r"&#?\w+;")
#: A semicolon between two words or after the last one, and a comma after a word that is not between digits.
_AFTER_WORD = {";": re.compile(r"\w\s*;[;\s]*$|\w[^;]*;.*\w"), ",": re.compile(r"\w[^,]*,(?!(?<=\d,)\d)")}


def unquoted(field: str) -> str:
    """Return a field without its surrounding quotes, and with doubled quotes as single ones."""
    match = _QUOTED.fullmatch(field)
    return field if match is None else match[1].replace('""', '"')
