"""Lets the gallery show altair charts, drawn as the library draws them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import altair
import vl_convert
from dark_pictures import GROUND, dark_name
from PIL import Image, ImageChops, ImageOps

from densray.figures._narrow import save_both
from densray.figures._style import on_dark

#: Charts already shown, by the example they belong to.
_shown: dict[str, list[Any]] = {}
#: The size of the panel on a card of the gallery, in which letters would be too small to read.
_CARD = {"width": 400, "height": 225}
#: Heights that a chart keeps on a card: parts of some are placed by pixels.
_OWN_HEIGHTS = range(200, 261)
_EDGE = 8  # pixels around the plot
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
                card.write_bytes(card_png(value.to_dict()))
            seen.append(value)
            path = Path(next(block_vars["image_path_iterator"]))
            save_both(value, path)
            save_both(on_dark(value, GROUND), path.with_name(dark_name(path.name)))
            place = path.relative_to(gallery_conf["src_dir"]).as_posix()
            said = " ".join(value.to_dict()["description"].split())
            shown.append(f"\n.. image:: /{place}\n   :alt: {said}\n")
    return "".join(shown)


def card_png(chart: dict[str, Any]) -> bytes:
    """Return a chart for a card: its plot alone, cut at its edges."""
    drawn = vl_convert.vegalite_to_png(_card(chart), scale=2)
    with Image.open(io.BytesIO(drawn)) as picture:
        plain = picture.convert("RGB")
    ground = Image.new("RGB", plain.size, "white")
    left, top, right, bottom = ImageChops.difference(plain, ground).getbbox()
    edges = left - _EDGE, top - _EDGE, right + _EDGE, bottom + _EDGE
    stream = io.BytesIO()
    ImageOps.expand(plain, _EDGE, "white").crop(
        tuple(edge + _EDGE for edge in edges)
    ).save(stream, "PNG")
    return stream.getvalue()


def _card(drawn: dict[str, Any]) -> dict[str, Any]:
    """Return the specification of a chart without letters, in the size of a card; of several panels the first."""
    shared = {
        name: part for name, part in drawn.items() if name not in ("hconcat", "vconcat")
    }
    first, *_ = drawn.get("hconcat", drawn.get("vconcat", [{}]))
    spec = shared | first
    own = spec.get("height")
    size = _CARD | ({"height": own} if own in _OWN_HEIGHTS else {})
    return _without_letters(spec | size)


def _without_letters(drawn: dict[str, Any]) -> dict[str, Any]:
    """Return a drawing without titles, legends, words beside points and the lines to them, and labels of its axes."""
    kept = {name: part for name, part in drawn.items() if name != "title"}
    if "layer" in kept:
        kept["layer"] = [
            _without_letters(layer)
            for layer in kept["layer"]
            if _mark(layer)["type"] != "text" and "x2Offset" not in _mark(layer)
        ]
    if "encoding" in kept:
        kept["encoding"] = {
            channel: _plain(channel, one) for channel, one in kept["encoding"].items()
        }
    return kept


def _mark(layer: dict[str, Any]) -> dict[str, Any]:
    """Return the mark of a layer with its properties."""
    mark = layer.get("mark")
    return mark if isinstance(mark, dict) else {"type": mark}


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
