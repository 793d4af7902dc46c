"""The pages, by the name they have in the address; each has a ``TITLE``, an ``ICON`` and ``show()``."""

from __future__ import annotations

from types import ModuleType

from densray.explorer.views import analogies, axis, compare, layers, map, remove

__all__ = ["PAGES", "first_page"]

PAGES: dict[str, ModuleType] = {
    "axis": axis,
    "map": map,
    "compare": compare,
    "remove": remove,
    "analogies": analogies,
    "layers": layers,
}


def first_page() -> str:
    """Return the page to begin with: that of hidden states, where the explorer was started with some."""
    return "layers" if layers.is_open() else "axis"
