"""Results rendered for the terminal, as Markdown and as HTML."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from html import escape
from importlib import resources
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Literal

from densray._files import atomic_write
from densray._version import __version__
from densray.report._result import Figure, Report, Result, Section, sections_of
from densray.report._table import Table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderableType
    from rich.table import Table as RichTable
    from rich.text import Text

#: Words longer than this may be broken in narrow columns.
_LONGEST_WORD = 20
#: A table with more columns may be wider than a phone.
_FEW_COLUMNS = 4
#: A table with longer texts in its first column shows each row as a block on a phone.
_LONG_TEXT = 40
#: Number of columns of a table whose last column explains the other two.
_NAME_NUMBER_TEXT = 3
#: A table with more rows comes after the figures.
_FEW_ROWS = 15
_GRADES = {"good": "green", "fair": "cyan", "weak": "yellow", "unclear": "yellow", "none": "red"}


def to_terminal(
    shown: Report | Section | Result | Table, *, provenance: bool = True, details: bool = True, bibtex: bool = False
) -> Group:
    """Return a result for a rich console: headings, tables, notes, provenance, captions of figures.

    Without ``details``, only the titles of folded tables are shown; ``bibtex`` adds the entries of a citation.
    """
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    if isinstance(shown, Report):
        parts += [
            Text(shown.title, style="bold underline"),
            *([Text(without_marks(shown.text))] if shown.text else []),
            Text(),
        ]
    for section in sections_of(shown):
        parts += [Text(section.title, style="bold")] if section.title else []
        parts += [_paragraph(section), Text()] if section.text else []
        for table in [table for table in section.tables if details or not table.folded]:
            # not a rich title, which would wrap at the width of the columns
            parts += [Text(table.title, style="italic")] if table.title else []
            parts += [_Drawing(table), *(Text(without_marks(note), style="dim") for note in table.notes), Text()]
        if section.citation is not None:
            parts += [Text("To cite", style="italic"), Text(section.citation.sentence), Text()]
            parts += [Text(section.citation.bibtex), Text()] if bibtex else []
        left = [table.title for table in section.tables if table.folded and not details]
        foot = [f"--details shows: {'; '.join(left)}."] if left else []
        foot += [f"Figure: {figure.caption}" for figure in section.figures]
        foot += [_footer(section)] if section.provenance and provenance else []
        parts += [Text("\n".join(foot), style="dim"), Text()] if foot else []
    return Group(*parts)


def _paragraph(section: Section) -> Text:
    """Return the text of a section, its first line in the colour of the grade."""
    from rich.text import Text

    verdict, *others = without_marks(section.text).splitlines(keepends=True)
    return Text.assemble((verdict, _GRADES[section.grade] if section.grade else ""), *others)


class _Drawing:
    """A table that adapts to the width of the console when it is printed."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RichTable]:
        def fits(columns: Sequence[int]) -> bool:
            return sum(_least_widths(self._table, columns)) + _between(columns) <= options.max_width

        for columns in _parts(self._table.headings, fits, keys=self._table.keys):
            yield _draw(self._table, columns, options.max_width)


def _between(columns: Sequence[int]) -> int:
    """Return the width of the space between and around the columns."""
    return 2 * len(columns) + 1


def _parts(headings: Sequence[str], fits: Callable[[Sequence[int]], bool], *, keys: int = 1) -> list[list[int]]:
    """Return the columns of a table in parts that fit, printed one below the other, each with the key columns.

    A column with a repeated heading belongs to the column before it, and stays with it if both fit.

    >>> _parts(["party", "year", "mean", "error"], lambda columns: len(columns) <= 3, keys=2)
    [[0, 1, 2], [0, 1, 3]]
    """
    key_columns = list(range(keys))
    parts = [[*key_columns]]
    for column in range(keys, len(headings)):
        if headings.count(headings[column]) > 1 and len(parts[-1]) > keys and parts[-1][-1] == column - 1:
            unit = [parts[-1].pop(), column]
        else:
            unit = [column]
        for each in [unit] if fits([*key_columns, *unit]) else [[one] for one in unit]:
            if parts[-1] == key_columns or fits([*parts[-1], *each]):
                parts[-1] += each
            else:
                parts.append([*key_columns, *each])
    return [part for part in parts if part != key_columns] or [key_columns]


def _draw(table: Table, columns: Sequence[int], room: int) -> RichTable:
    """Return some columns of a table; text is wrapped to fit, numbers are not."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    headings, numeric, rows = table.headings, table.numeric(), table.shown()
    for place, width in zip(columns, _widths(table, columns, room), strict=True):
        justify: Literal["left", "right"] = "right" if numeric[place] else "left"
        heading = Text("\n".join(wrap(headings[place], width)))
        grid.add_column(heading, justify=justify, width=width, overflow="fold")
    for number, cells in enumerate(rows):
        if title := table.group_heading(number):
            grid.add_row(Text(title, style="italic"))
        grid.add_row(*(Text(cells[at], style="bold" if table.is_best(number, at) else "") for at in columns))
    return grid


def _widths(table: Table, columns: Sequence[int], room: int) -> list[int]:
    """Return the widths of columns; spare room goes to the narrowest wrapped ones."""
    widths, left = _least_widths(table, columns), room - _between(columns)
    for _ in range(sum(widths) - left):  # even names must wrap, the longest first
        longest = max(range(min(table.keys, len(widths))), key=widths.__getitem__)
        widths[longest] = max(widths[longest] - 1, 1)
    full = [max(map(len, _lines(table, place))) for place in columns]
    for _ in range(left - sum(widths)):
        short = [at for at in range(len(columns)) if widths[at] < full[at]]
        if short:
            widths[min(short, key=widths.__getitem__)] += 1
    return widths


def _least_widths(table: Table, columns: Sequence[int]) -> list[int]:
    """Return the minimum widths of columns: the longest name or number, or the longest word of wrapped text."""
    numeric = table.numeric()
    widths = []
    for place in columns:
        words = [len(word) for word in table.headings[place].split()]
        lines = _lines(table, place)[1:]
        if numeric[place] or place < table.keys:
            words += map(len, lines)
        else:
            words += [min(len(word), _LONGEST_WORD) for line in lines for word in line.split()]
        widths.append(max(words, default=1))
    return widths


def _lines(table: Table, place: int) -> list[str]:
    """Return the texts of a column, its heading first; the first column includes names of groups."""
    groups = [table.group_heading(row) for row in range(len(table.rows))] if place == 0 else []
    return [table.headings[place], *(cells[place] for cells in table.shown()), *groups]


def _footer(section: Section) -> str:
    """Return the words that were not used, and one line on the origin; JSON and reports have the rest."""
    if section.provenance is None:
        return ""
    return "\n".join([*section.provenance.unused_lines(), section.provenance.line()])


def to_markdown(shown: Report | Section | Result | Table) -> str:
    """Return the tables as Markdown, rounded; figures are represented by their captions.

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
        if section.citation is not None:
            parts += ["**To cite**", section.citation.sentence, f"```bibtex\n{section.citation.bibtex}\n```"]
        parts += [_markdown_table(section.provenance.table())] if section.provenance else []
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: Table) -> str:
    rules = ["---:" if numeric else "---" for numeric in table.numeric()]
    lines = [_markdown_line([_escape(heading) for heading in table.headings]), _markdown_line(rules)]
    for number, cells in enumerate(table.shown()):
        if heading := table.group_heading(number):
            lines.append(_markdown_line([f"*{_escape(heading)}*", *[""] * (len(cells) - 1)]))
        escaped = [_escape(cell) for cell in cells]
        lines.append(_markdown_line([f"**{c}**" if table.is_best(number, i) else c for i, c in enumerate(escaped)]))
    title = [f"**{table.title}**", ""] if table.title else []
    notes = [line for note in table.notes for line in ("", note)]
    return "\n".join([*title, *lines, *notes])


def _markdown_line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escape(text: str) -> str:
    for character in "\\|*_`<":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


# With this policy the page cannot load anything from the network.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def to_html(shown: Report | Section | Result | Table, *, title: str = "") -> str:
    """Return one self-contained HTML page, with styles and figures inside, light or dark, readable offline."""
    title, sections = title or _title_of(shown), sections_of(shown)
    lead = "\n".join(_paragraphs(shown.text)) if isinstance(shown, Report) else ""
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
            f'<h1><span class="logo">{logo()}</span> {escape(title)}</h1>',
            lead,
            "\n".join(_html_section(section, titled=len(sections) > 1) for section in sections),
            f"<footer>densray {escape(__version__)}</footer>",
            "</body>",
            "</html>",
            "",
        ]
    )


def logo() -> str:
    """Return the logo as SVG: points and their feet on an axis."""
    return resources.files("densray.report").joinpath("logo.svg").read_text(encoding="utf-8").strip()


def write_html(shown: Report | Section | Result | Table, path: Path, *, overwrite: bool = False) -> None:
    """Write the page of :func:`to_html` to a file, atomically."""
    page = to_html(shown)
    with atomic_write(path, overwrite=overwrite) as temporary:
        temporary.write_text(page, encoding="utf-8")


def to_html_fragment(shown: Report | Section | Result | Table) -> str:
    """Return the sections as HTML without a page, for a notebook or another page."""
    return "\n".join(_html_section(section) for section in sections_of(shown))


def _paragraphs(text: str) -> list[str]:
    """Return each line of a text as a paragraph; lines that begin with ``•`` become list items, commands code."""
    parts: list[str] = []
    for line in text.splitlines():
        item = line.startswith("• ")
        content = _with_code(line[2:] if item else line)
        if item and parts and parts[-1].endswith("</ul>"):
            parts[-1] = f"{parts[-1].removesuffix('</ul>')}<li>{content}</li></ul>"
        else:
            parts.append(f"<ul><li>{content}</li></ul>" if item else f"<p>{content}</p>")
    return parts


#: Commands and names with an underscore, as in Markdown; other backticks may be part of a word.
_CODE = re.compile(r"`(densray [^`]+|[a-z]+(?:_[a-z]+)+)`")


def without_marks(text: str) -> str:
    """Return a text for a terminal: commands and names of columns without backticks."""
    return _CODE.sub(r"\1", text)


def _with_code(text: str) -> str:
    """Return a text as HTML, with commands and names of columns as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _title_of(shown: Report | Section | Result | Table) -> str:
    return shown.title or "densray"


def _html_section(section: Section, *, titled: bool = True) -> str:
    """Return a section; the page of a single one has its title already, so its tables have the headings below that."""
    parts, level = ["<section>"], 3 if titled else 2
    parts += [f"<h2>{escape(section.title)}</h2>"] if section.title and titled else []
    paragraphs, tables = _paragraphs(section.text), [table for table in section.tables if not table.folded]
    if section.grade and paragraphs:
        paragraphs[0] = paragraphs[0].replace("<p>", f'<p class="verdict {section.grade}">', 1)
    first = sum(len(table.rows) <= _FEW_ROWS for table in tables[: section.tables_before_figures])
    parts += [*paragraphs, *(_html_table(table, level) for table in tables[:first])]
    parts += [_html_figure(figure) for figure in section.figures]
    parts += [_html_table(table, level) for table in tables[first:]]
    parts += [_html_details(table) for table in section.tables if table.folded]
    if section.citation is not None:
        parts.append(f"<h{level}>To cite</h{level}><p>{escape(section.citation.sentence)}</p>")
        bibtex = f"<pre>{escape(section.citation.bibtex)}</pre>"
        parts.append(f"<details><summary>BibTeX</summary>{bibtex}</details>")
    if section.provenance:
        table = _html_table(section.provenance.table())
        parts.append(f"<details><summary>Provenance</summary>{table}</details>")
    return "\n".join([*parts, "</section>"])


def _html_details(table: Table) -> str:
    return f"<details><summary>{escape(table.title)}</summary>{_html_table(replace(table, title=''))}</details>"


#: What a picture of a figure is for; `page.css` has the same width.
_PHONE, _DARK = "(max-width: 720px)", "(prefers-color-scheme: dark)"


def _html_figure(figure: Figure) -> str:
    # As a separate image: identifiers of several SVGs cannot clash, and no script in it runs.
    caption = escape(figure.caption, quote=True)
    image = f'<img alt="{caption}" src="{_data_url(figure.svg)}">'
    others = (f"{_PHONE} and {_DARK}", figure.dark_narrow), (_PHONE, figure.narrow), (_DARK, figure.dark)
    sources = "".join(f'<source media="{media}" srcset="{_data_url(svg)}">' for media, svg in others if svg)
    return f"<figure><picture>{sources}{image}</picture><figcaption>{caption}</figcaption></figure>"


def _data_url(svg: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode('utf-8')).decode('ascii')}"


def _html_table(table: Table, level: int = 3) -> str:
    """Return a table below its title, a heading of that level."""
    classes = [_html_class(table, column, numeric) for column, numeric in enumerate(table.numeric())]
    is_named = _holds_texts(table)
    kind = ' class="texts"' if is_named else ' class="explained"' if _is_explained(table) else ""
    head = "".join(
        f'<th scope="col"{each}>{escape(heading)}</th>' for each, heading in zip(classes, table.headings, strict=True)
    )
    body = "\n".join(
        _html_group(table, number)
        + "<tr>"
        + "".join(_html_cell(table, number, i, cell, classes[i], named=is_named) for i, cell in enumerate(cells))
        + "</tr>"
        for number, cells in enumerate(table.shown())
    )
    notes = "".join(f'<p class="note">{_with_code(note)}</p>' for note in table.notes)
    heading = f"<h{level}>{escape(table.title)}</h{level}>\n" if table.title else ""
    label = escape(table.title or "table", quote=True)
    # a box that may scroll can be reached with the keyboard
    reached = f' tabindex="0" role="region" aria-label="{label}"' if len(table.headings) > _FEW_COLUMNS else ""
    return (
        f'{heading}<div class="table"{reached}><table{kind}><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>{notes}"
    )


def _holds_texts(table: Table) -> bool:
    """Return whether the first column has long texts: on a phone, each row becomes a block."""
    return len(table.headings) > 1 and any(len(cells[0]) > _LONG_TEXT for cells in table.shown())


def _is_explained(table: Table) -> bool:
    """Return whether rows are a name, a number and a long text: on a phone, the text goes below the other two."""
    shown = table.shown()
    return len(table.headings) == _NAME_NUMBER_TEXT and any(len(cells[-1]) > _LONG_TEXT for cells in shown)


def _html_class(table: Table, column: int, numeric: bool) -> str:
    """Return the class of a column: numbers are right-aligned, and several names of one row stay on one line each."""
    kinds = [*(["number"] if numeric else []), *(["key"] if column < table.keys != 1 else [])]
    return f' class="{" ".join(kinds)}"' if kinds else ""


def _html_group(table: Table, row: int) -> str:
    heading = table.group_heading(row)
    span = len(table.headings)
    return f'<tr><th scope="rowgroup" colspan="{span}" class="group">{escape(heading)}</th></tr>\n' if heading else ""


#: Texts up to this length stay on one line, where there is room: in a wide window and a table of few columns.
_SHORT = 22
#: An interval stays on one line, and so does a name such as “row 3,223”.
_UNBROKEN = re.compile(r"\[[-−+\d.,]+, [-−+\d.,]+\]|^row [\d,]+$")


def _html_cell(table: Table, row: int, column: int, text: str, kind: str, *, named: bool) -> str:
    """Return a cell; a `named` one has its heading, which blocks show on a phone."""
    content = _UNBROKEN.sub(lambda match: f'<span class="unbroken">{match[0]}</span>', escape(text))
    heading = f' data-heading="{escape(table.headings[column], quote=True)}"' if named and column else ""
    if len(text) <= _SHORT and " " in text and len(table.headings) <= _FEW_COLUMNS:
        content = f'<span class="short">{content}</span>'
    return f"<td{kind}{heading}>" + (f"<strong>{content}</strong>" if table.is_best(row, column) else content) + "</td>"
