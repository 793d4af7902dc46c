"""Reports as rich renderables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from densray.report._result import Report, Result, Section, sections_of
from densray.report._table import Table

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table as RichTable

__all__ = ["to_terminal"]


def to_terminal(shown: Report | Section | Result | Table, *, provenance: bool = True) -> Group:
    """Return what a rich console prints: headings, tables, notes, provenance; figures appear by their captions."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    if isinstance(shown, Report):
        parts += [
            Text(shown.title, style="bold underline"),
            *([Text(shown.text)] if shown.text else []),
            Text(),
        ]
    for section in sections_of(shown):
        parts += [Text(section.title, style="bold")] if section.title else []
        parts += [Text(section.text)] if section.text else []
        for table in section.tables:
            # not the title of the drawing, which would be folded at the width of the columns
            parts += [Text(table.title, style="italic")] if table.title else []
            parts += [_table(table), *(Text(note, style="dim") for note in table.notes), Text()]
        parts += [Text(f"Figure: {figure.caption}", style="dim") for figure in section.figures]
        parts += [Text(_footer(section), style="dim"), Text()] if section.provenance and provenance else []
    return Group(*parts)


def _table(table: Table) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for place, (heading, numeric) in enumerate(zip(table.headings, table.numeric(), strict=True)):
        # What names a row stays whole however narrow the terminal: it is what one types next.
        drawn.add_column(Text(heading), justify="right" if numeric else "left", no_wrap=place == 0)
    for number, cells in enumerate(table.shown()):
        drawn.add_row(*(Text(cell, style="bold" if table.is_best(number, i) else "") for i, cell in enumerate(cells)))
    return drawn


def _footer(section: Section) -> str:
    rows = section.provenance.table().rows if section.provenance else []
    return "\n".join(f"{row['what']}: {row['value']}" for row in rows if row["what"] != "platform")
