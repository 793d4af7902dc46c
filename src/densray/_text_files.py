"""Lines and fields of small text files, with errors that carry file, line and the text found."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from densray.errors import DensRayError


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

    def __init__(self, path: str | PathLike[str], *, encoding: str, error: type[DensRayError]) -> None:
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
            raise self.problem(f"cannot be read ({error}).") from error

    def _decoded(self, content: bytes, encoding: str) -> str:
        try:
            return content.decode(encoding).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            found = content[error.start : error.start + 8]
            likely = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1"
            raise self.problem(
                f"byte {error.start} ({found!r}) is not {encoding}; it may be {likely}. Save it as UTF-8, or name its "
                "encoding.",
                line,
            ) from None
        except LookupError:
            raise self.problem(f"unknown encoding {encoding!r}. Use 'utf-8' or 'latin-1'.") from None

    def problem(self, message: str, line: int | None = None) -> DensRayError:
        """Return the error that says what is wrong, where."""
        where = f"{self.path.name}, line {line}" if line else f"{self.path.name}"
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
            raise self.problem(f"{shorten(line.text)} is not a line of fields ({error}).", line.number) from error


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


def shorten(text: str, *, width: int = 60) -> str:
    """Return a text quoted, and cut where it is long."""
    return repr(text if len(text) <= width else text[: width - 1] + "…")
