"""The first sheet of an Excel file: its texts, and which of its cells are numbers."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from math import isclose
from pathlib import PurePosixPath
from typing import IO, NamedTuple
from xml.etree import ElementTree

from densray._notation import Numeral
from densray.errors import load_extra


class Sheet(NamedTuple):
    """The rows of the first sheet of a workbook, from its first row, and the names of all sheets.

    Cells that the workbook stores as numbers are `Numeral`, with all their digits.
    """

    rows: list[list[str]]
    names: list[str]


def read_first_sheet(content: bytes) -> Sheet:
    """Return the first sheet of a workbook; needs the extra ``excel``."""
    import polars

    load_extra("fastexcel", "An Excel file needs", extra="excel")
    frame = polars.read_excel(
        io.BytesIO(content),
        engine="calamine",
        has_header=False,
        read_options={"dtypes": "string"},
        drop_empty_rows=False,
        drop_empty_cols=False,
        raise_if_empty=False,
    )
    rows = [[" ".join((cell or "").split()) for cell in row] for row in frame.iter_rows()]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names, part = _sheets(archive)
        with archive.open(part) as sheet:
            cells = list(_cells(sheet))
    # the reader begins at the first row and the first column with a value
    first_row = min((row for row, _, _ in cells), default=0)
    first_column = min((column for _, column, _ in cells), default=0)
    for row, column, number in cells:
        at_row, at_column = row - first_row, column - first_column
        if number is not None and at_row < len(rows) and at_column < len(rows[at_row]):
            rows[at_row][at_column] = _numeral(rows[at_row][at_column], number)
    return Sheet([[]] * first_row + rows, names)


def _numeral(text: str, number: float) -> str:
    """Return the text of a number with all digits, of which the reader keeps nine decimals; dates are left as they are.

    >>> _numeral("0.123456789", 0.12345678901), _numeral("884", 884.0), _numeral("2024-01-01", 45292.0)
    ('0.12345678901', '884', '2024-01-01')
    """
    try:
        if not isclose(float(text), number, rel_tol=1e-8, abs_tol=1e-8):
            return text
    except ValueError:
        return text
    return Numeral(text if number.is_integer() else repr(number))


def _sheets(archive: zipfile.ZipFile) -> tuple[list[str], str]:
    """Return the names of the sheets, and the part of the archive with the first one."""
    sheets = [each for each in _parse(archive, "xl/workbook.xml") if _name(each) == "sheet"]
    link = next(value for key, value in sheets[0].attrib.items() if key.endswith("}id"))
    targets = {each.get("Id"): each.get("Target", "") for each in _parse(archive, "xl/_rels/workbook.xml.rels")}
    return [each.get("name", "") for each in sheets], str(PurePosixPath("/xl") / targets[link]).lstrip("/")


def _parse(archive: zipfile.ZipFile, part: str) -> Iterator[ElementTree.Element]:
    with archive.open(part) as file:
        return ElementTree.parse(file).iter()


def _cells(sheet: IO[bytes]) -> Iterator[tuple[int, int, float | None]]:
    """Yield the row and the column of each cell with a value, from 0, and its number; None for texts."""
    row = column = -1
    for event, element in ElementTree.iterparse(sheet, events=("start", "end")):
        name = _name(element)
        if event == "start" and name == "row":
            row, column = int(element.get("r", row + 2)) - 1, -1
        elif event == "start" and name == "c":
            column = _column(element.get("r", ""), column + 1)
        elif event == "end" and name == "c":
            value = next((each.text for each in element.iter() if _name(each) in ("v", "t")), None)
            if value:
                yield row, column, float(value) if element.get("t", "n") == "n" else None
        elif event == "end" and name == "row":
            element.clear()


def _column(reference: str, default: int) -> int:
    """Return the number of the column of a cell such as AB12, from 0.

    >>> _column("A1", 7), _column("AB12", 7), _column("", 7)
    (0, 27, 7)
    """
    letters = re.match("[A-Z]*", reference)
    number = 0
    for letter in letters[0] if letters else "":
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1 if number else default


def _name(element: ElementTree.Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]
