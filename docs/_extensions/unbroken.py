"""Keeps together what belongs together in tables, and short code such as the name of an option.

In tables: “0.76 ± 0.01”, “[0.87, 0.98]”, “(0.57 to 0.62)”, “0.60, +2%, +3%” and “≤ 0.05”. Names of tests begin a
line, and may break after each of their parts.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

_SPACE = "\u00a0"
_BETWEEN = re.compile(r"(?<=[\d%]) ([±→]) (?=[\d+−–.-])")
_WITHIN = re.compile(r"(\[[-+−]?\d[\d.]*,) (?=[-+−]?\d[\d.]*\])")
_RANGE = re.compile(r"\((\d[\d.]*) to (\d[\d.]*)\)")
_CHANGES = re.compile(r"(?<=[\d%]), (?=[+−]\d)")
_SHORT = 26  # letters of code that fit into a line on a phone
_PART = re.compile(r"(?<=\w/)(?=\w)|(?<=::)(?=\w)|(?<=[a-z\d]_)(?=[a-z\d])")
_BEFORE = re.compile(r"([≤≥<>]) (?=\d)")


def unbroken(text: str) -> str:
    """Return a text with no-break spaces around signs between numbers, and within intervals and lists of changes."""
    text = _WITHIN.sub(rf"\1{_SPACE}", text)
    text = _RANGE.sub(rf"(\1{_SPACE}to{_SPACE}\2)", text)
    text = _CHANGES.sub(f",{_SPACE}", text)
    return _BEFORE.sub(rf"\1{_SPACE}", _BETWEEN.sub(rf"{_SPACE}\1{_SPACE}", text))


def break_between_parts(code: nodes.literal) -> None:
    """Let the name of a test break after `_`, `::` and `/`, and mark the name without its file."""
    file, sign, name = code.astext().partition("::")
    code.clear()
    code += broken(file + sign)
    code += [
        nodes.raw("", "<wbr>", format="html"),
        nodes.inline("", "", *broken(name), classes=["test"]),
    ]


def broken(name: str) -> list[nodes.Node]:
    """Return a name with a place to break after each of its parts."""
    first, *others = _PART.split(name)
    found: list[nodes.Node] = [nodes.Text(first)]
    for part in others:
        found += [nodes.raw("", "<wbr>", format="html"), nodes.Text(part)]
    return found


def list_tests(cell: nodes.entry) -> None:
    """Begin each name in a list of tests on a line of its own, without the commas between them."""
    for listed in cell.findall(nodes.paragraph):
        if "::" in listed.astext() and all(
            isinstance(part, nodes.literal) or part.astext() == ", " for part in listed
        ):
            for part in listed.children[1::2]:
                listed.replace(part, nodes.raw("", "<br>", format="html"))


def keep_together(app: Any, document: nodes.document) -> None:
    """Rewrite the texts in cells of tables, except code; mark short code, and code with a long word."""
    for code in list(document.findall(nodes.literal)):
        if len(code.astext()) <= _SHORT:
            code["classes"].append("short")
        elif max(map(len, code.astext().split())) > _SHORT:
            code["classes"].append("long")
            if "::" in code.astext():
                break_between_parts(code)
    for cell in list(document.findall(nodes.entry)):
        list_tests(cell)
        for text in list(cell.findall(nodes.Text)):
            if not isinstance(text.parent, nodes.literal):
                text.parent.replace(text, nodes.Text(unbroken(str(text))))


def setup(app: Any) -> dict[str, bool]:
    """Run on every page that was read."""
    app.connect("doctree-read", keep_together)
    return {"parallel_read_safe": True}
