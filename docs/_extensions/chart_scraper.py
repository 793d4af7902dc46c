"""Lets the gallery show altair charts, drawn as the library draws them."""

from __future__ import annotations

from typing import Any

import altair
from sphinx_gallery.scrapers import figure_rst

from densray import figures

#: Charts already shown, by the example they belong to.
_shown: dict[str, list[Any]] = {}


def save_new_charts(block: tuple[Any, ...], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save every chart that a block of an example has made, and return the text that shows them."""
    seen = _shown.setdefault(block_vars["src_file"], [])
    files = []
    for value in list(block_vars["example_globals"].values()):
        if isinstance(value, altair.TopLevelMixin) and not any(value is chart for chart in seen):
            seen.append(value)
            files.append(str(figures.save(value, next(block_vars["image_path_iterator"]))))
    return str(figure_rst(files, gallery_conf["src_dir"]))
