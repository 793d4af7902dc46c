"""The pages, by the name they have in the address; each has a ``TITLE``, an ``ICON`` and ``show()``."""

from __future__ import annotations

from types import ModuleType

from densray.explorer.views import analogies, axis, compare, map, remove

__all__ = ["PAGES"]

PAGES: dict[str, ModuleType] = {
    "axis": axis,
    "map": map,
    "compare": compare,
    "remove": remove,
    "analogies": analogies,
}
