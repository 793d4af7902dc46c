"""Reports as Markdown."""

from __future__ import annotations

from densray.report._result import Report, Result, Section, sections_of
from densray.report._table import Table

__all__ = ["to_markdown"]


def to_markdown(shown: Report | Section | Result | Table) -> str:
    """Return the tables as Markdown, rounded as their columns say; figures appear by their captions.

    >>> print(to_markdown(Table("Sizes", ["word", "n"], [{"word": "a|b", "n": 3}])))
    **Sizes**
    <BLANKLINE>
    | word | n |
    | --- | ---: |
    | a\\|b | 3 |
    <BLANKLINE>
    """
    parts: list[str] = []
    if isinstance(shown, Report):
        parts += [f"# {shown.title}", *([shown.text] if shown.text else [])]
    for section in sections_of(shown):
        parts += [f"## {section.title}"] if section.title else []
        parts += [section.text] if section.text else []
        parts += [_table(table) for table in section.tables]
        parts += [f"*Figure: {figure.caption}*" for figure in section.figures]
        parts += [_table(section.provenance.table())] if section.provenance else []
    return "\n\n".join(parts) + "\n"


def _table(table: Table) -> str:
    rules = ["---:" if numeric else "---" for numeric in table.numeric()]
    lines = [_line([_escape(heading) for heading in table.headings]), _line(rules)]
    for number, cells in enumerate(table.shown()):
        shown = [_escape(cell) for cell in cells]
        lines.append(_line([f"**{c}**" if table.is_best(number, i) else c for i, c in enumerate(shown)]))
    title = [f"**{table.title}**", ""] if table.title else []
    notes = [line for note in table.notes for line in ("", note)]
    return "\n".join([*title, *lines, *notes])


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escape(text: str) -> str:
    for character in "\\|*_`<":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())
