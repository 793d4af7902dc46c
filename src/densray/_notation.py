"""How the numbers and fields of a file are written: decimal marks, marks that may separate thousands, delimiters.

A point or a comma with one to three digits before it (the first not 0) and exactly three after it is either a decimal
mark or a mark for thousands. The other numbers of the column and the file decide, or the column is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from densray.errors import shorten

#: Regular expressions for Python, Arrow and polars, without a sign in front.
GROUPED_POINT = r"[1-9][0-9]{0,2}\.[0-9]{3}"
#: The beginning of a number whose point cannot separate thousands, and numbers in scientific notation.
CLEAR_POINT = r"(0[0-9]*\.|\.[0-9]|[0-9]{4,}\.|[0-9]+\.([0-9]{0,2}|[0-9]{4,})([^0-9]|$)|[0-9.]+[eE])"
_SIGN = "[+−-]?"
_GROUPED_POINT, _CLEAR_POINT = re.compile(_SIGN + GROUPED_POINT), re.compile(_SIGN + CLEAR_POINT)
_WHOLE = re.compile(_SIGN + "[0-9]+")
_NUMBER = re.compile(_SIGN + r"[0-9]*\.?[0-9]*([eE][-+]?[0-9]+)?")
#: Decimal commas by the delimiter of the file. 1,234 between tabs may be one thousand; 0,234 and 1234,567 are not.
DECIMAL_COMMAS = {
    ";": re.compile(r"[+−-]?\d+,\d+"),
    "\t": re.compile(r"[+−-]?(0,\d+|\d{4,},\d+|\d+,(?!\d{3}$)\d+)"),
}
_GROUPED_COMMA = re.compile(r"[+−-]?[1-9]\d{0,2},\d{3}")
_THOUSANDS = re.compile(r"[+−-]?\d{1,3}(([.,'’ ])\d{3}(\2\d{3})*[.,]\d+|([.,'’ ])\d{3}(\4\d{3})+|['’ ]\d{3})")


#: A first line that names the delimiter for Excel, such as sep=; with the delimiters of the other columns.
_NAMED_DELIMITER = re.compile(r'"?sep=(?P<mark>[^\w\s"]|\t)"?[;,\t]*', re.IGNORECASE)


def named_delimiter(first_line: str) -> str | None:
    """Return the delimiter that the first line of a file names for Excel; None if the line is data.

    >>> named_delimiter("sep=;"), named_delimiter('"sep=,"'), named_delimiter("word;label")
    (';', ',', None)
    """
    match = _NAMED_DELIMITER.fullmatch(first_line.strip(" \r\n"))
    return None if match is None else match["mark"]


class Numeral(str):
    """The text of a cell that a workbook stores as a number: its point is a decimal point."""

    __slots__ = ()


def doubtful_number(texts: Iterable[str], *, uses_commas: bool = False) -> str:
    """Return the first number of a column whose point may separate thousands; empty if all points are decimal points.

    A point is a decimal point if another number of the column shows it, such as 0.5 or 2.54. Otherwise it is doubtful
    if other numbers have no point, or if the file uses commas as decimal marks.

    >>> doubtful_number(["2.543", "884"]), doubtful_number(["2.543", "884", "0.618"]), doubtful_number(["1.234", "2.5"])
    ('2.543', '', '')
    >>> doubtful_number(["1.234", "2.345"]), doubtful_number(["1.234", "2.345"], uses_commas=True)
    ('', '1.234')
    """
    column = list(texts)
    written = [text for text in column if not isinstance(text, Numeral)]
    grouped = next((text for text in written if _GROUPED_POINT.fullmatch(text.strip())), "")
    if not grouped or any(map(_has_decimal_point, written)):
        return ""
    whole = uses_commas or len(written) < len(column) or any(_WHOLE.fullmatch(text.strip()) for text in written)
    return grouped if whole else ""


def uses_decimal_commas(columns: Iterable[Collection[str]], delimiter: str | None) -> bool:
    """Return whether the decimal mark of a file seems to be a comma: a column shows it, or semicolons separate fields.

    Semicolons say so only if no column has a decimal point.

    >>> uses_decimal_commas([["0,5", "2"]], chr(9)), uses_decimal_commas([["1.234"], ["0.5"]], ";")
    (True, False)
    """
    texts = [text.strip() for column in columns for text in column if not isinstance(text, Numeral)]
    if any(map(DECIMAL_COMMAS["\t"].fullmatch, texts)):
        return True
    return delimiter == ";" and not any(map(_has_decimal_point, texts))


def _has_decimal_point(text: str) -> bool:
    text = text.strip()
    return _CLEAR_POINT.match(text) is not None and _NUMBER.fullmatch(text) is not None


def decimal_delimiter(fields: Iterable[str], delimiter: str | None) -> str | None:
    """Return the delimiter that says how numbers in a column are written: a semicolon if 1,234 is a decimal number.

    Between tabs it is one if another field of the column has a comma that cannot separate thousands.

    >>> decimal_delimiter(["1,234", "0,5"], chr(9)), decimal_delimiter(["1,234", "5"], chr(9)) == chr(9)
    (';', True)
    """
    comma = DECIMAL_COMMAS["\t"]
    return ";" if delimiter == "\t" and any(comma.fullmatch(field.strip()) for field in fields) else delimiter


def has_clear_comma(text: str) -> bool:
    """Return whether a text is a number with a comma that cannot separate thousands.

    >>> has_clear_comma("3,50"), has_clear_comma("3,500"), has_clear_comma("3.50")
    (True, False, False)
    """
    return DECIMAL_COMMAS["\t"].fullmatch(text.strip()) is not None


def explain_number(text: str) -> str:
    """Return what is wrong with a number with a comma or marks for thousands, and what to write; empty for other texts.

    >>> explain_number("1,234"), explain_number("x")
    ("'1,234' may be a decimal number or thousands. Write a decimal point, or no mark for thousands.", '')
    >>> explain_number("1.234,5")
    "'1.234,5' has marks for thousands. Write numbers without them, with a decimal point."
    """
    text = text.strip()
    if _GROUPED_COMMA.fullmatch(text):
        return f"{shorten(text)} may be a decimal number or thousands. Write a decimal point, or no mark for thousands."
    if re.fullmatch(r"[+−-]?\d*,\d+", text):
        return (
            f"{shorten(text)} has a decimal comma, which is read between semicolons or tabs, not between commas or "
            "spaces. Write a decimal point."
        )
    if _THOUSANDS.fullmatch(text):
        return f"{shorten(text)} has marks for thousands. Write numbers without them, with a decimal point."
    return ""


def explain_doubt(number: str) -> str:
    """Return why a number is doubtful (`doubtful_number`), and what to write instead.

    >>> explain_doubt("2.543")[-57:]
    'Write 2543 for thousands, or 2.5430 for a decimal number.'
    """
    number = number.strip()
    return (
        f"{shorten(number)} may be a decimal number or thousands, and the rest of the column does not tell. "
        f"Write {number.replace('.', '')} for thousands, or {number}0 for a decimal number."
    )
