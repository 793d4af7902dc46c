"""Types of the columns of text files: integers, numbers with a point or a comma, lists of numbers, or text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from densray._arrays import MISSING_SIGNS, MISSING_TEXTS
from densray._notation import CLEAR_POINT, GROUPED_POINT
from densray.tables._arrow import arrow

if TYPE_CHECKING:
    import pyarrow as pa

#: A number that is missing in a vector; an error names its row later.
_NOT_FINITE = "nan|none|null|na|[-+]?inf(inity)?"
_POINT_NUMBER = f"([-+.eE]*[0-9][-+0-9.eE]*|(?i:{_NOT_FINITE}))"
_LIST_NUMBER = f"([-+]?([0-9]*,)?[0-9]+([eE][-+]?[0-9]+)?|(?i:{_NOT_FINITE}))"
_COMMA_IN_LIST = f"([-+]?[0-9]*,[0-9]+([eE][-+]?[0-9]+)?|(?i:{_NOT_FINITE}))"
_THOUSANDS_IN_LIST = r"[-+]?[0-9]{1,3}(\.[0-9]{3})*,[0-9]+"

#: Forms that all values of a column may have. A number with a point is what Arrow reads as a number.
_FORMS = {
    "integer": r"^-?(0|[1-9][0-9]{0,18})$",  # of 64 bits
    # a decimal comma, or none
    "comma number": r"^[-+]?([0-9]+(,[0-9]+)?|,[0-9]+)([eE][-+]?[0-9]+)?$",
    "point number": None,
    # numbers between commas, between semicolons or between spaces
    "list": r"^\s*\[\s*(N(\s*,\s*N)*\s*,?|N(\s*;\s*N)*|N(\s+N)*)?\s*\]\s*$".replace("N", _POINT_NUMBER),
    # two numbers or more, with decimal commas; between commas and spaces, every number needs one
    "comma list": r"^\s*\[\s*(N(\s*;\s*N)+|N(\s+N)+|C(,\s+C)+)?\s*\]\s*$".replace("N", _LIST_NUMBER).replace(
        "C", _COMMA_IN_LIST
    ),
}
#: Signs that one value of a column may have, and the forms for which they matter.
_SIGNS = {
    # the point of a number, in a list or alone: a decimal point, perhaps a mark for thousands, none
    "clear point": (rf"(^|[^0-9.]){CLEAR_POINT}", ("point number", "list")),
    "doubtful point": (rf"(^|[^0-9.]){GROUPED_POINT}($|[^0-9.eE])", ("point number", "list")),
    "no point": (r"(^|[^0-9.])[0-9]+($|[^0-9.eE])", ("point number", "list")),
    "comma": (r",", ("comma number", "comma list")),
    "point": (r"\.", ("list",)),
    # a comma that cannot separate thousands, in a number and in a list
    "clear comma": (
        r"^[-+]?(0?,|[0-9]+,([0-9]{1,2}|[0-9]{4,})([eE]|$)|[0-9]{4,},|[0-9]*,[0-9]+[eE])",
        ("comma number",),
    ),
    "clear comma in list": (
        r"(^|[^0-9])0?,[0-9]|,([0-9]{1,2}|[0-9]{4,})([^0-9]|$)|[0-9]{4},|,[0-9]+[eE]",
        ("comma list",),
    ),
    # numbers split in two at their decimal comma: 0013, -0 among integers, 1.234,5 between commas and spaces
    "split number": (r"[\[,;\s][-+]?0[0-9]", ("list",)),
    "minus zero": (r",.*[\s,]-0\s*[,\]]|[\[\s]-0\s*,", ("list",)),
    "thousands": (r"^\s*\[\s*P(,\s+P)+\s*\]\s*$".replace("P", _THOUSANDS_IN_LIST), ("list",)),
    # an identifier: 007, +49123000, or more digits than a number with a point can hold
    "identifier": (r"^([-+]?0[0-9]|\+[0-9]{7,}$|[-+]?[0-9]{16,}$)", ("comma number", "point number")),
}
#: Fields of a column of numbers that mark a missing one. Arrow reads nan.
_NO_NUMBER = r"^\s*(?i:M)\s*$".replace(
    "M", "|".join(re.escape(text) for text in (*MISSING_TEXTS, *MISSING_SIGNS) if text not in ("", "nan"))
)


class ColumnEvidence:
    """The forms that all values of a column have, and the signs that some have. The order of the values is irrelevant.

    Marks such as NA are left out, so that a column of numbers may have them.
    """

    def __init__(self) -> None:
        self.forms = set(_FORMS)
        self.signs: set[str] = set()
        self.is_empty = True

    def add(self, column: Any) -> None:
        """Take the values of one more batch into account."""
        compute = arrow().compute
        if not self.forms:
            return
        values = column.drop_null()
        values = values.filter(compute.invert(compute.match_substring_regex(values, _NO_NUMBER)))
        if not len(values):
            return
        self.is_empty = False
        if "integer" in self.forms and _all_have(values, "integer"):
            self.forms &= {"integer", "comma number", "point number"}
            signs = {sign: _SIGNS[sign] for sign in ("no point", "identifier")}  # integers have none of the others
        else:
            self.forms = {form for form in self.forms - {"integer"} if _all_have(values, form)}
            signs = _SIGNS
        for sign, (pattern, forms) in signs.items():
            if sign in ("doubtful point", "no point") and "clear point" in self.signs:
                continue
            if sign not in self.signs and self.forms.intersection(forms) and _some_has(values, pattern):
                self.signs.add(sign)

    def kind(self, *, commas: bool) -> str:
        """Return the type of the column; `commas` says that numbers may have decimal commas.

        "comma", "grouped" and "grouped list" are not decided yet: 1,234 and 1.234 may be thousands.
        """
        if self.is_empty:
            return "text"
        if self.forms & {"list", "comma list"}:
            return self._kind_of_list()
        if "integer" in self.forms:
            return "integer"
        if "identifier" in self.signs:
            return "text"
        return self._kind_of_number(commas=commas)

    def _kind_of_list(self) -> str:
        signs = self.signs
        if "comma list" in self.forms and "comma" in signs:
            return "comma list" if "clear comma in list" in signs else "text"
        integers_split = "minus zero" in signs and "point" not in signs
        is_split = integers_split or signs & {"split number", "thousands"}
        return "text" if is_split or "list" not in self.forms else self._decide_point("list", "grouped list")

    def _kind_of_number(self, *, commas: bool) -> str:
        if commas and "comma number" in self.forms and "comma" in self.signs:
            return "decimal comma" if "clear comma" in self.signs else "comma"
        return self._decide_point("number", "grouped") if "point number" in self.forms else "text"

    def _decide_point(self, decimal: str, undecided: str) -> str:
        """Return the type of a column of numbers with points; see `densray._notation.doubtful_number`."""
        if "clear point" in self.signs or "doubtful point" not in self.signs:
            return decimal
        return "text" if "no point" in self.signs else undecided


def _all_have(values: Any, form: str) -> bool:
    """Return whether all values have a form."""
    pa, pattern = arrow(), _FORMS[form]
    if pattern is not None and not pa.compute.all(pa.compute.match_substring_regex(values, pattern)).as_py():
        return False
    if form not in ("integer", "point number"):
        return True
    try:
        values.cast(pa.int64() if form == "integer" else pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _some_has(values: Any, pattern: str) -> bool:
    compute = arrow().compute
    return bool(compute.any(compute.match_substring_regex(values, pattern)).as_py())


def decide_kinds(columns: Mapping[str, ColumnEvidence], *, commas: bool, semicolons: bool = False) -> dict[str, str]:
    """Return the types of columns, where the decimal mark of other columns decides what 1,234 and 1.234 are.

    If they have decimal commas, 1,234 is a decimal number, and 1.234 stays a text, since it is a thousand. If no column
    decides, 1,234 stays a text, and 1.234 is a decimal number, but not in files with `semicolons`. If some have commas
    and others points, both stay text.
    """
    kinds = {name: evidence.kind(commas=commas) for name, evidence in columns.items()}
    has_commas = bool(set(kinds.values()) & {"decimal comma", "comma list"})
    has_points = any("clear point" in columns[name].signs for name, kind in kinds.items() if kind in ("number", "list"))
    thousands = has_commas or (semicolons and not has_points)
    undecided = {
        "comma": "decimal comma" if has_commas and not has_points else "text",
        "grouped": "text" if thousands else "number",
        "grouped list": "text" if thousands else "list",
    }
    return {name: undecided.get(kind, kind) for name, kind in kinds.items()}


def arrow_type(kind: str) -> pa.DataType:
    """Return the Arrow type of a column of a kind."""
    pa = arrow()
    if kind in ("list", "comma list"):
        return pa.list_(pa.float64())
    return {"integer": pa.int64(), "number": pa.float64(), "decimal comma": pa.float64()}.get(kind, pa.string())


def read_values(column: Any, kind: str) -> Any:
    """Return the values of a column of text in the type of its kind."""
    pa = arrow()
    if kind == "text":
        return column
    if kind in ("list", "comma list"):
        return _read_lists(_without_marks(column), commas=kind == "comma list")
    if kind == "decimal comma":
        column = pa.compute.replace_substring(column, ",", ".")
    try:
        return column.cast(arrow_type(kind))
    except pa.ArrowInvalid:  # fields such as NA
        return _without_marks(column).cast(arrow_type(kind))


def _without_marks(column: Any) -> Any:
    """Return a column of text in which marks such as NA are missing values."""
    compute = arrow().compute
    marked = compute.match_substring_regex(column, _NO_NUMBER)
    return compute.if_else(marked, arrow().scalar(None, column.type), column)


def _read_lists(column: Any, *, commas: bool) -> Any:
    """Return lists of numbers from texts such as ``[0.1, 0.2]``, ``[0.1 0.2]``, or ``[0,1; 0,2]`` with `commas`."""
    import polars as pl

    texts = pl.Series(column.to_pylist(), dtype=pl.String)
    if commas:
        texts = texts.str.replace_all(r",(\s)", "$1").str.replace_all(",", ".", literal=True)
    texts = texts.str.strip_chars("[],; \t\r\n").str.replace_all(r"[\s,;]+", " ")
    texts = texts.str.replace_all("(?i)none|null|nan?", "NaN")  # only marks of missing numbers have these letters
    numbers = texts.replace("", None).str.split(" ").cast(pl.List(pl.Float64))
    empty = pl.lit([], dtype=pl.List(pl.Float64))
    return (
        pl.select(pl.when(texts == "").then(empty).otherwise(numbers)).to_series().to_arrow().cast(arrow_type("list"))
    )
