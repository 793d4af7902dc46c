"""Reports as one HTML page that needs nothing but itself."""

from __future__ import annotations

import base64
from html import escape
from importlib import resources

from densray._version import __version__
from densray.report._result import Figure, Report, Result, Section, sections_of
from densray.report._table import Table

__all__ = ["to_html", "to_html_fragment"]

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
    return "\n".join(_section(section) for section in sections_of(shown))


def _title_of(shown: Report | Section | Result | Table) -> str:
    return shown.title or "densray"


def _section(section: Section) -> str:
    parts = ["<section>"]
    parts += [f"<h2>{escape(section.title)}</h2>"] if section.title else []
    parts += [f"<p>{escape(section.text)}</p>"] if section.text else []
    parts += [_table(table) for table in section.tables]
    parts += [_figure(figure) for figure in section.figures]
    if section.provenance:
        table = _table(section.provenance.table())
        parts.append(f"<details><summary>Provenance</summary>{table}</details>")
    return "\n".join([*parts, "</section>"])


def _figure(figure: Figure) -> str:
    # As an image of its own: identifiers inside one SVG cannot meet those of another, and nothing in it runs.
    data = base64.b64encode(figure.svg.encode("utf-8")).decode("ascii")
    caption = escape(figure.caption, quote=True)
    image = f'<img alt="{caption}" src="data:image/svg+xml;base64,{data}">'
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def _table(table: Table) -> str:
    classes = [' class="number"' if numeric else "" for numeric in table.numeric()]
    head = "".join(
        f'<th scope="col"{kind}>{escape(heading)}</th>' for kind, heading in zip(classes, table.headings, strict=True)
    )
    body = "\n".join(
        "<tr>" + "".join(_cell(table, number, i, cell, classes[i]) for i, cell in enumerate(cells)) + "</tr>"
        for number, cells in enumerate(table.shown())
    )
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    return (
        f'<div class="table"><table>{caption}<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>{notes}"
    )


def _cell(table: Table, row: int, column: int, text: str, kind: str) -> str:
    shown = escape(text)
    return f"<td{kind}>" + (f"<strong>{shown}</strong>" if table.is_best(row, column) else shown) + "</td>"
