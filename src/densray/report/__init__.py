"""Reports: data first, rendering last.

A task returns a :class:`Result`: unrounded numbers, how they are laid out as tables, and the
:class:`Provenance` they came from. The renderers show that same data as JSON, Markdown, on a terminal and as
one self-contained HTML page; they are the only place where a number is rounded.
"""

from __future__ import annotations

from densray.report._render import to_html, to_markdown, to_terminal
from densray.report._result import (
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
    Column,
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
    "Column",
    "Figure",
    "Input",
    "Provenance",
    "Report",
    "Result",
    "Section",
    "Table",
    "best_cells",
    "file_digest",
    "joined_reasons",
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
]
