"""Words, pairs, fields and JSON of small text files, with errors that carry file, line and the text found."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from densray._files import foreign_kind
from densray.errors import DensRayError, LexiconError, shorten

FilePath = str | PathLike[str]


class Line(NamedTuple):
    """One line of a file: its number, from 1, and its text without the line end."""

    number: int
    text: str


class TextFile:
    """A text file read whole, and the errors that point into it.

    Parameters
    ----------
    path : str or path
        The file. A byte-order mark and Windows line ends are understood.
    encoding : str
        Its encoding.
    error : class of error
        What is raised on bad input.
    """

    def __init__(self, path: FilePath, *, encoding: str, error: type[DensRayError]) -> None:
        self.path = Path(path)
        self._error = error
        self.text = self._decoded(self._bytes(), encoding)
        if not self.text.strip():
            raise self.problem("the file is empty. One entry per line is needed.")

    def _bytes(self) -> bytes:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            raise self.problem(f"no such file in {self.path.parent}.") from None
        except OSError as error:
            raise self.problem(f"cannot be read ({error.strerror}).") from error
        except ValueError as error:  # a null byte in the path
            raise self.problem(f"cannot be read ({shorten(error)}).") from error

    def _decoded(self, content: bytes, encoding: str) -> str:
        kind = foreign_kind(content, packed=True)
        if kind is not None:
            raise self.problem(f"this seems to be {kind}. A text file with one entry per line is needed.")
        try:
            return content.decode(encoding).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            if b"\0" in content[:4096] and content[:2] not in (b"\xff\xfe", b"\xfe\xff"):
                raise self.problem("this is not a text file. One entry per line is needed.") from None
            line = content.count(b"\n", 0, error.start) + 1
            found = content[error.start : error.start + 8]
            likely = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1"
            raise self.problem(
                f"byte {error.start} ({found!r}) is not {encoding}; it may be {likely}. Save it as UTF-8.",
                line,
            ) from None
        except LookupError:
            raise self.problem(f"unknown encoding {encoding!r}. Use 'utf-8' or 'latin-1'.") from None

    def problem(self, message: str, line: int | None = None) -> DensRayError:
        """Return the error that says what is wrong, where."""
        name = self.path.name or str(self.path)  # the root of a disk has no name
        where = f"{name}, line {line}" if line else name
        return self._error(f"{where}: {message}")

    def lines(self, *, comment: str | None = None) -> Iterator[Line]:
        """Yield the lines that are neither blank nor begin with `comment`."""
        end = "\n" if "\n" in self.text else "\r"
        for number, text in enumerate(self.text.split(end), start=1):
            line = text.removesuffix("\r")
            if line.strip() and not (comment and line.startswith(comment)):
                yield Line(number, line)

    def split(self, line: Line, delimiter: str | None) -> list[str]:
        """Return the fields of a line; a quote that is never closed is an error."""
        try:
            return split_fields(line.text, delimiter)
        except csv.Error as error:
            problem = f"{shorten(line.text)} is not a line of fields ({shorten(error)})."
            raise self.problem(problem, line.number) from error

    def words(self, *, comment: str | None = None) -> list[str]:
        """Return the words of the file, one per line; lines that begin with `comment` are none."""
        words = [line.text.strip() for line in self.lines(comment=comment)]
        if not words:
            raise self.problem(f"there are only comments ('{comment}'). One word per line is needed.")
        return words

    def pairs(self, needed: str = "a pair. Two words") -> Iterator[tuple[Line, str, str]]:
        """Yield the pairs of the file, each with its line: a tab, semicolon or comma between the words, else blanks."""
        for line in self.lines():
            fields = self.split(line, delimiter_of(line.text))
            if len(fields) != 2 or not all(fields):
                raise self.problem(
                    f"{shorten(line.text)} is not {needed} are needed, with a tab between them.", line.number
                )
            yield line, fields[0], fields[1]

    @property
    def is_json(self) -> bool:
        """Whether the file is JSON, by its name, or by beginning as only JSON does."""
        if self.path.suffix.lower() == ".json":
            return True
        start = self.text.lstrip()[:400]
        return start.startswith(('{"', '[["', "[{")) or start.split()[:1] == ["{"]

    def json(self) -> object:
        """Return the content of a JSON file, its objects as :class:`JsonObject`."""
        try:
            return json.loads(self.text, parse_constant=str, object_pairs_hook=JsonObject)
        except json.JSONDecodeError as error:
            raise self.problem(f"not valid JSON ({error.msg}).", error.lineno) from None
        except (RecursionError, ValueError) as error:
            raise self.problem(f"not usable JSON ({shorten(error)}).") from None


class TextTable:
    """The columns of a small file: ``.csv``, ``.tsv`` and ``.jsonl`` name them, of any other file each line is a row.

    Parameters
    ----------
    path : str or path
    only : str
        What the column of a file without names is called.
    error : class of error
        What is raised on bad input.

    Attributes
    ----------
    columns : dict of str to list of str
    lines : list of int
        The line at which each row begins.
    """

    def __init__(self, path: FilePath, only: str, *, error: type[DensRayError]) -> None:
        self.file = TextFile(path, encoding="utf-8", error=error)
        ending = self.file.path.suffix.lower()
        self.lines: list[int] = []
        if ending == ".jsonl":
            rows = [self._object(line.number, line.text) for line in self.file.lines()]
        elif ending in (".csv", ".tsv"):
            rows = self._fields("," if ending == ".csv" else "\t")
        else:
            whole = self.file.text.rstrip().splitlines()
            self.lines, rows = list(range(1, len(whole) + 1)), [{only: text} for text in whole]
        self.columns = {name: [row.get(name, "") for row in rows] for name in dict.fromkeys(n for r in rows for n in r)}

    def _object(self, number: int, text: str) -> dict[str, str]:
        try:
            row = json.loads(text)
        except ValueError as error:
            raise self.file.problem(f"{shorten(text)} is not JSON ({shorten(error)}).", number) from None
        if not isinstance(row, dict):
            raise self.file.problem(f"{shorten(text)} is not an object with a text.", number)
        self.lines.append(number)
        return {str(name): "" if value is None else str(value) for name, value in row.items()}

    def _fields(self, delimiter: str) -> list[dict[str, str]]:
        quoted: dict[str, Any] = {"quoting": csv.QUOTE_MINIMAL if delimiter == "," else csv.QUOTE_NONE}
        reader = csv.reader(io.StringIO(self.file.text, newline=""), delimiter=delimiter, **quoted)
        names, rows, before = next(reader), [], reader.line_num
        for fields in reader:
            if any(fields):
                if len(fields) != len(names):
                    raise self.file.problem(
                        f"{len(fields)} fields are given; there are {len(names)} columns.", before + 1
                    )
                self.lines.append(before + 1)
                rows.append(dict(zip(names, fields, strict=True)))
            before = reader.line_num
        if not rows:
            raise self.file.problem("there is a line of names and no row below it.")
        return rows

    def column(self, usual: str, name: str | None, *, needed: str = "") -> list[str]:
        """Return a column by its name, or the usual one; empty where that is not there and not needed."""
        if (name or usual) in self.columns:
            return self.columns[name or usual]
        if name is None and not needed:
            return []
        listed = ", ".join(self.columns)
        raise self.file.problem(f"there is no column '{name or usual}' among {listed}. Name one with {needed}='…'.")


class JsonObject(list[tuple[str, object]]):
    """The members of a JSON object, repeated names included."""


def read_words(source: FilePath | Iterable[str], *, comment: str | None = None, encoding: str = "utf-8") -> list[str]:
    """Return the words of a list, or of a file with one per line."""
    if not isinstance(source, str | PathLike):
        return list(source)
    return TextFile(source, encoding=encoding, error=LexiconError).words(comment=comment)


def read_pairs(source: FilePath | Iterable[Sequence[str]], *, encoding: str = "utf-8") -> list[tuple[str, str]]:
    """Return the pairs of a list, of a file with one per line (tab, comma or blank between), or of JSON."""
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
    if isinstance(pair, list | tuple) and len(pair) == 2:
        left, right = pair
        if isinstance(left, str) and isinstance(right, str) and left.strip() and right.strip():
            return left, right
    message = f"{shorten(str(pair))} is not a pair of words, as in ('she', 'he')."
    raise file.problem(message) if file else LexiconError(message)


def delimiter_of(text: str) -> str | None:
    """Return what stands between the fields of a line: a tab, else a semicolon, else a comma; None for white space."""
    return next((mark for mark in ("\t", ";", ",") if mark in text), None)


def split_fields(text: str, delimiter: str | None) -> list[str]:
    """Return the fields of a line without surrounding blanks; None splits at any white space.

    Commas and semicolons follow the rules of CSV, where a quoted field may contain them. Tabs and blanks do
    not: a quote is a word there.

    >>> split_fields('"well, well",1', ",")
    ['well, well', '1']
    >>> split_fields('"' + chr(9) + "-1", chr(9))
    ['"', '-1']
    """
    if delimiter in (",", ";"):
        fields = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True, strict=True), [])
    else:
        fields = text.split(delimiter)
    return [field.strip() for field in fields]
