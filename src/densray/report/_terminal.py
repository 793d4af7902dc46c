"""Reports as rich renderables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from densray.report._result import Report, Result, Section, sections_of
from densray.report._table import Table
from densray.report._widths import Part, lay_out

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderableType
    from rich.table import Table as RichTable

__all__ = ["to_terminal"]

_MARGINS = 2  # a blank at either side of a table


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
            parts += [_Drawing(table), *(Text(note, style="dim") for note in table.notes), Text()]
        parts += [Text(f"Figure: {figure.caption}", style="dim") for figure in section.figures]
        parts += [Text(_footer(section), style="dim"), Text()] if section.provenance and provenance else []
    return Group(*parts)


class _Drawing:
    """A table that looks at the width of the screen when it is drawn."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RichTable]:
        for part in lay_out(self._table, options.max_width - _MARGINS):
            yield _draw(self._table, part)


def _draw(table: Table, part: Part) -> RichTable:
    """Return some columns of a table, each at its width; text is folded and never cut."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    padding = (0, 1) if part.gap > 2 else (0, 1, 0, 0)  # beside the blank between columns
    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=padding)
    headings, numeric = table.headings, table.numeric()
    for place, width in zip(part.columns, part.widths, strict=True):
        justify: Literal["left", "right"] = "right" if numeric[place] else "left"
        drawn.add_column(Text(headings[place]), justify=justify, width=width, overflow="fold")
    for number, cells in enumerate(table.shown()):
        shown = (Text(cells[at], style="bold" if table.is_best(number, at) else "") for at in part.columns)
        drawn.add_row(*shown)
    return drawn


def _footer(section: Section) -> str:
    rows = section.provenance.table().rows if section.provenance else []
    return "\n".join(f"{row['what']}: {row['value']}" for row in rows if row["what"] != "platform")
