"""The pages, by their name in the address; each has a ``TITLE``, an ``ICON`` and ``show()``."""

from __future__ import annotations

from types import ModuleType

from densray.explorer import table_bench
from densray.explorer.views import analogies, axis, compare, layers, map, remove, table_axis, table_map, table_remove

__all__ = ["PAGES", "TABLE_PAGES", "first_page", "open_pages"]

PAGES: dict[str, ModuleType] = {
    "axis": axis,
    "map": map,
    "compare": compare,
    "remove": remove,
    "analogies": analogies,
    "layers": layers,
}
#: The pages of a table of documents.
TABLE_PAGES: dict[str, ModuleType] = {"map": table_map, "axis": table_axis, "remove": table_remove}


def open_pages() -> dict[str, ModuleType]:
    """Return the available pages: those of a table if the explorer was started with one, else those of spaces."""
    return TABLE_PAGES if table_bench.is_open() else PAGES


def first_page() -> str:
    """Return the first page: Map of a table, Layers of hidden states, else Axis."""
    return "map" if table_bench.is_open() else "layers" if layers.is_open() else "axis"
