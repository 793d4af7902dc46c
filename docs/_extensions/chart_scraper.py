"""Lets the gallery show altair charts, drawn as the library draws them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair
import vl_convert
from dark_pictures import GROUND, dark_name

from densray.figures._narrow import save_both
from densray.figures._style import on_dark

#: Charts already shown, by the example they belong to.
_shown: dict[str, list[Any]] = {}
#: The size of the panel on a card of the gallery, in which letters would be too small to read.
_CARD = {"width": 360, "height": 240}
_OWN_HEIGHT = 300  # a chart that is no higher keeps its height
_LETTERLESS = {"labels": False, "ticks": False, "title": None}


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
                card = Path(next(block_vars["image_path_iterator"]))
                card.write_bytes(vl_convert.vegalite_to_png(_card(value), scale=2))
            seen.append(value)
            path = Path(next(block_vars["image_path_iterator"]))
            save_both(value, path)
            save_both(on_dark(value, GROUND), path.with_name(dark_name(path.name)))
            place = path.relative_to(gallery_conf["src_dir"]).as_posix()
            said = " ".join(value.to_dict()["description"].split())
            shown.append(f"\n.. image:: /{place}\n   :alt: {said}\n")
    return "".join(shown)


def _card(chart: Any) -> dict[str, Any]:
    """Return the specification of a chart without letters, in the size of a card; of several panels the first."""
    first = chart
    for parts in ("hconcat", "vconcat"):
        panels = getattr(first, parts, altair.Undefined)
        if panels is not altair.Undefined:
            first = panels[0]
    size = dict(_CARD)
    own = getattr(first, "height", altair.Undefined)
    if isinstance(own, int | float) and own <= _OWN_HEIGHT:
        size["height"] = own
    return _without_letters(first.properties(config=chart.config, **size).to_dict())


def _without_letters(drawn: dict[str, Any]) -> dict[str, Any]:
    """Return a drawing without titles, legends, words beside points, and labels of its axes."""
    kept = {name: part for name, part in drawn.items() if name != "title"}
    if "layer" in kept:
        kept["layer"] = [
            _without_letters(layer) for layer in kept["layer"] if _mark(layer) != "text"
        ]
    if "encoding" in kept:
        kept["encoding"] = {
            channel: _plain(channel, one) for channel, one in kept["encoding"].items()
        }
    return kept


def _mark(layer: dict[str, Any]) -> str | None:
    """Return the kind of mark of a layer."""
    mark = layer.get("mark")
    return mark["type"] if isinstance(mark, dict) else mark


def _plain(channel: str, one: Any) -> Any:
    """Return an encoding whose axis or legend has no letters."""
    if not isinstance(one, dict) or not {"field", "aggregate"} & set(one):
        return one
    if channel in ("x", "y"):
        axis = one.get("axis")
        return one | {
            "axis": axis
            if axis is None and "axis" in one
            else (axis or {}) | _LETTERLESS
        }
    if channel in ("color", "fill", "stroke", "shape", "size", "opacity", "strokeDash"):
        return one | {"legend": None}
    return one
