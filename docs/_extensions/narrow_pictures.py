"""Shows `name-narrow.svg` instead of `name.svg` on a phone, if both files exist.

Every chart and every picture of the explorer must have both; a missing one is a warning, which fails the build.
"""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any
from urllib.parse import quote

from docutils import nodes
from sphinx.util import logging

#: Where the narrow picture is shown; `pages.css` has the same width.
_MEDIA = "(max-width: 720px)"


def narrow_name(name: str) -> str:
    """Return the file name of a picture for a phone."""
    path = Path(name)
    return path.with_name(f"{path.stem}-narrow{path.suffix}").as_posix()


def is_needed(name: str) -> bool:
    """Return whether a picture has letters that a phone would show too small."""
    return name.endswith(".svg") or "explorer-" in name


def add_narrow_pictures(app: Any, document: nodes.document) -> None:
    """Add the narrow layout before each picture that has one."""
    for wide in list(document.findall(nodes.image)):
        name = narrow_name(wide["uri"])
        if "://" in name:
            continue
        if not Path(app.env.relfn2path(name)[1]).is_file():
            if is_needed(wide["uri"]):
                logging.getLogger(__name__).warning(
                    "no picture for phones: %s", name, location=wide
                )
            continue
        narrow = nodes.image(uri=name, is_narrow=True)
        wide.parent.insert(wide.parent.index(wide), narrow)
        wide["has_narrow"] = True


def begin_image(self: Any, node: nodes.image) -> None:
    """Write a picture with its narrow layout, which comes before it, as another source."""
    if node.get("is_narrow"):
        self.narrow_place = posixpath.join(
            self.builder.imgpath, quote(self.builder.images[node["uri"]])
        )
        raise nodes.SkipNode
    if node.get("has_narrow"):
        source = f'<source media="{_MEDIA}" srcset="{self.narrow_place}" />'
        self.body.append(f"<picture>{source}")
    type(self).visit_image(self, node)
    if node.get("has_narrow"):
        self.body.append("</picture>")


def end_image(self: Any, node: nodes.image) -> None:
    """End a picture as Sphinx does."""
    type(self).depart_image(self, node)


def setup(app: Any) -> dict[str, bool]:
    """Run after the dark pictures are added, which have narrow layouts too."""
    app.add_node(nodes.image, override=True, html=(begin_image, end_image))
    app.connect("doctree-read", add_narrow_pictures, priority=110)
    return {"parallel_read_safe": True}
