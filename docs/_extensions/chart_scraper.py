"""Lets the gallery show altair charts, drawn as the library draws them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair

from densray import figures
from densray.figures._narrow import save_both

#: Charts already shown, by the example they belong to.
_shown: dict[str, list[Any]] = {}
#: The size of the panel on a card of the gallery: so small that its letters can still be read there; with names of
#: words beside their points, as small as leaves room for them.
_CARD, _NAMED_CARD = {"width": 270, "height": 190}, {"width": 440, "height": 310}
_OWN_HEIGHT = 300  # a chart that is no higher keeps its height


def save_new_charts(
    block: tuple[Any, ...], block_vars: dict[str, Any], gallery_conf: dict[str, Any]
) -> str:
    """Save every chart that a block of an example has made, and return the text that shows them.

    The first picture of an example is that of its card, and not shown on its page.
    """
    seen = _shown.setdefault(block_vars["src_file"], [])
    shown = []
    for value in list(block_vars["example_globals"].values()):
        if isinstance(value, altair.TopLevelMixin) and not any(
            value is chart for chart in seen
        ):
            if not seen:
                figures.save(_small(value), next(block_vars["image_path_iterator"]))
            seen.append(value)
            path = Path(next(block_vars["image_path_iterator"]))
            save_both(value, path)
            place = path.relative_to(gallery_conf["src_dir"]).as_posix()
            said = " ".join(value.to_dict()["description"].split())
            shown.append(f"\n.. image:: /{place}\n   :alt: {said}\n")
    return "".join(shown)


def _small(chart: Any) -> Any:
    """Return a chart as small as a card; of several panels the first."""
    first = chart
    for parts in ("hconcat", "vconcat"):
        panels = getattr(chart, parts, altair.Undefined)
        if panels is not altair.Undefined:
            first = panels[0]
    size = dict(
        _NAMED_CARD if "'text': {'field': 'word'" in str(first.to_dict()) else _CARD
    )
    own = getattr(first, "height", altair.Undefined)
    if isinstance(own, int | float) and own <= _OWN_HEIGHT:
        size["height"] = own
    return first.properties(config=chart.config, **size)
