"""Keeps “P. Dufter” at the start of a reference from being read as item P of a list."""

from __future__ import annotations

import re
from typing import Any

_INITIAL = re.compile(r"^(\s*(?:\.\. \[\d+\] )?)([A-Z])\. (?=[A-Z])")


def escape_initials(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Escape the full stop after an initial at the start of a line."""
    lines[:] = [_INITIAL.sub(r"\1\2\\. ", line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Run before numpydoc sees the lines."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", escape_initials, priority=100)
    return {"parallel_read_safe": True}
