"""Reports: results as data, rendered as text, JSON, Markdown or HTML.

A task returns a :class:`Result`: unrounded numbers, their layout as tables, and their
:class:`Provenance`. The renderers show the same data as JSON, as Markdown, on a terminal and as
one self-contained HTML page; numbers are rounded nowhere else.
"""

from __future__ import annotations

from densray._files import check_writable
from densray.report._render import logo, to_html, to_markdown, to_terminal, without_marks, write_html
from densray.report._result import (
    Citation,
    Figure,
    Input,
    Provenance,
    Report,
    Result,
    Section,
    file_digest,
    joined_reasons,
    to_json,
    to_plain,
)
from densray.report._table import (
    CHART_CHANGE,
    CHART_COUNT,
    CHART_NUMBER,
    CHART_SHARE,
    MISSING,
    P_MARKS,
    PLAIN_SIGNS,
    Column,
    Record,
    Table,
    best_cells,
    show_count,
    show_estimate,
    show_number,
    show_p,
    show_share,
    typeset,
)

__all__ = [
    "CHART_CHANGE",
    "CHART_COUNT",
    "CHART_NUMBER",
    "CHART_SHARE",
    "MISSING",
    "PLAIN_SIGNS",
    "P_MARKS",
    "Citation",
    "Column",
    "Figure",
    "Input",
    "Provenance",
    "Record",
    "Report",
    "Result",
    "Section",
    "Table",
    "best_cells",
    "check_writable",
    "file_digest",
    "joined_reasons",
    "logo",
    "show_count",
    "show_estimate",
    "show_number",
    "show_p",
    "show_share",
    "to_html",
    "to_json",
    "to_markdown",
    "to_plain",
    "to_terminal",
    "typeset",
    "without_marks",
    "write_html",
]
