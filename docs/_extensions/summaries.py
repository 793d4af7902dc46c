"""Begins the description of a module with what is new: “Rows: labelled vectors” becomes “Labelled vectors”.

The reference shows the description next to the name of the module, which it would repeat.
"""

from __future__ import annotations

import re
from typing import Any

_SUMMARY = re.compile(r"((?:[\w-]+ ){0,2}[\w-]+): (\w.*)")
_STEM = 4  # letters in which “axis” and “axes”, or “analogy” and “analogies”, may differ at most


def without_name(module: str, summary: str) -> str:
    """Return the first line of a module without the words before its colon, if they are its name.

    >>> without_name("densray.rows", "Rows: labelled vectors, ready to find an axis.")
    'Labelled vectors, ready to find an axis.'
    >>> without_name("densray.methods", "The methods by name.")
    'The methods by name.'
    """
    match = _SUMMARY.fullmatch(summary)
    name = module.rpartition(".")[2]
    if match is None or name[: max(len(name) - _STEM, 3)] not in match[1].lower():
        return summary
    return match[2][0].upper() + match[2][1:]


def shorten(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Shorten the first line of the documentation of a module."""
    if what == "module" and lines:
        lines[0] = without_name(name, lines[0])


def setup(app: Any) -> dict[str, bool]:
    """Run before numpydoc sees the lines."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", shorten, priority=100)
    return {"parallel_read_safe": True}
