"""Results shown: terminal, Markdown, HTML."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Literal

from densray._version import __version__
from densray.report._result import Figure, Report, Result, Section, sections_of
from densray.report._table import Table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderableType
    from rich.table import Table as RichTable

#: What separates two columns, in characters; the second where the first is too much.
GAPS = (3, 2)
#: Letters of a word beyond which it is folded where a column is narrow.
_LONGEST_WORD = 16


@dataclass(frozen=True)
class Part:
    """Columns that stand side by side: their numbers, their widths, and what separates them."""

    columns: tuple[int, ...]
    widths: tuple[int, ...]
    gap: int


def lay_out(table: Table, available: int) -> list[Part]:
    """Return the parts in which a table is drawn, one below the other; one part where the columns fit.

    Text is folded between words if need be. Numbers are not folded, nor is the first column, which names the row: it is
    repeated in every part. A column whose heading comes more than once says something only beside the one before it,
    and stays there.
    """
    cells = [[heading, *column] for heading, *column in zip(table.headings, *table.shown(), strict=True)]
    natural = [max(map(len, column)) for column in cells]
    least = [_least_width(column, whole=number) for column, number in zip(cells, table.numeric(), strict=True)]
    least[0] = natural[0]
    every = list(range(len(cells)))
    gap = next((gap for gap in GAPS if _total(least, every, gap) <= available), GAPS[0])
    groups = [every] if _total(least, every, gap) <= available else _group(table.headings, least, available)
    parts = []
    for group in groups:
        room = available - gap * (len(group) - 1)
        widths = share_width([natural[at] for at in group], [least[at] for at in group], room)
        widths[0] = max(min(widths[0], room - sum(widths[1:])), 1)  # on the narrowest screens the first is folded, too
        parts.append(Part(tuple(group), tuple(widths), gap))
    return parts


def share_width(natural: Sequence[int], least: Sequence[int], available: int) -> list[int]:
    """Return the widths of columns, at least the least, at most the natural ones; what is left goes to the narrowest.

    >>> share_width([5, 40, 12], [5, 10, 9], 38)
    [5, 21, 12]
    """
    widths = list(least)
    for _ in range(available - sum(widths)):
        wanting = [at for at, width in enumerate(widths) if width < natural[at]]
        if not wanting:
            break
        widths[min(wanting, key=widths.__getitem__)] += 1
    return widths


def _least_width(cells: Sequence[str], *, whole: bool) -> int:
    """Return the width below which a column is not drawn: of its longest word, or of its longest number."""
    heading, *values = cells
    longest = max((len(word) for word in heading.split()), default=0)
    if whole:
        return max([longest, *map(len, values)])
    words = max((len(word) for value in values for word in value.split()), default=0)
    return max(longest, min(words, _LONGEST_WORD))


def _group(headings: Sequence[str], least: Sequence[int], available: int) -> list[list[int]]:
    """Return the columns in groups that fit side by side, the first column in each."""
    units: list[list[int]] = []
    for place in range(1, len(least)):
        if units and list(headings).count(headings[place]) > 1:
            units[-1].append(place)
        else:
            units.append([place])
    groups: list[list[int]] = []
    for unit in _fitting(units, least, available):
        if groups and _total(least, [*groups[-1], *unit], GAPS[0]) <= available:
            groups[-1] += unit
        else:
            groups.append([0, *unit])
    return groups or [[0]]


def _fitting(units: Sequence[list[int]], least: Sequence[int], available: int) -> Iterator[list[int]]:
    """Yield the units that fit beside the first column as they are, and of others each column alone."""
    for unit in units:
        if _total(least, [0, *unit], GAPS[0]) <= available:
            yield unit
        else:
            yield from ([place] for place in unit)


def _total(least: Sequence[int], group: Sequence[int], gap: int) -> int:
    return sum(least[at] for at in group) + gap * (len(group) - 1)


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
        parts += [_markdown_table(table) for table in section.tables]
        parts += [f"*Figure: {figure.caption}*" for figure in section.figures]
        parts += [_markdown_table(section.provenance.table())] if section.provenance else []
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: Table) -> str:
    rules = ["---:" if numeric else "---" for numeric in table.numeric()]
    lines = [_markdown_line([_escape(heading) for heading in table.headings]), _markdown_line(rules)]
    for number, cells in enumerate(table.shown()):
        shown = [_escape(cell) for cell in cells]
        lines.append(_markdown_line([f"**{c}**" if table.is_best(number, i) else c for i, c in enumerate(shown)]))
    title = [f"**{table.title}**", ""] if table.title else []
    notes = [line for note in table.notes for line in ("", note)]
    return "\n".join([*title, *lines, *notes])


def _markdown_line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escape(text: str) -> str:
    for character in "\\|*_`<":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


# The policy makes the promise checkable: a page with it cannot ask the network for anything.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def to_html(shown: Report | Section | Result | Table, *, title: str = "") -> str:
    """Return one self-contained page: styles and figures inside, readable in light and dark, offline."""
    title = title or _title_of(shown)
    lead = f"<p>{escape(shown.text)}</p>" if isinstance(shown, Report) and shown.text else ""
    style = resources.files("densray.report").joinpath("page.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            f"<h1>{escape(title)}</h1>",
            lead,
            to_html_fragment(shown),
            f"<footer>densray {escape(__version__)}</footer>",
            "</body>",
            "</html>",
            "",
        ]
    )


def to_html_fragment(shown: Report | Section | Result | Table) -> str:
    """Return the sections alone, for a notebook or another page."""
    return "\n".join(_html_section(section) for section in sections_of(shown))


def _title_of(shown: Report | Section | Result | Table) -> str:
    return shown.title or "densray"


def _html_section(section: Section) -> str:
    parts = ["<section>"]
    parts += [f"<h2>{escape(section.title)}</h2>"] if section.title else []
    parts += [f"<p>{escape(section.text)}</p>"] if section.text else []
    parts += [_html_table(table) for table in section.tables]
    parts += [_html_figure(figure) for figure in section.figures]
    if section.provenance:
        table = _html_table(section.provenance.table())
        parts.append(f"<details><summary>Provenance</summary>{table}</details>")
    return "\n".join([*parts, "</section>"])


def _html_figure(figure: Figure) -> str:
    # As an image of its own: identifiers inside one SVG cannot meet those of another, and nothing in it runs.
    data = base64.b64encode(figure.svg.encode("utf-8")).decode("ascii")
    caption = escape(figure.caption, quote=True)
    image = f'<img alt="{caption}" src="data:image/svg+xml;base64,{data}">'
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def _html_table(table: Table) -> str:
    classes = [' class="number"' if numeric else "" for numeric in table.numeric()]
    head = "".join(
        f'<th scope="col"{kind}>{escape(heading)}</th>' for kind, heading in zip(classes, table.headings, strict=True)
    )
    body = "\n".join(
        "<tr>" + "".join(_html_cell(table, number, i, cell, classes[i]) for i, cell in enumerate(cells)) + "</tr>"
        for number, cells in enumerate(table.shown())
    )
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    return (
        f'<div class="table"><table>{caption}<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>{notes}"
    )


def _html_cell(table: Table, row: int, column: int, text: str, kind: str) -> str:
    shown = escape(text)
    return f"<td{kind}>" + (f"<strong>{shown}</strong>" if table.is_best(row, column) else shown) + "</td>"
