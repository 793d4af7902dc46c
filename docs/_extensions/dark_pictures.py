"""Shows `name-dark.png` instead of `name.png` on a dark page, if both files exist.

A chart in an SVG file gets its dark version when the pages are built, unless it has one. Every picture of the explorer
must have both; a missing one is a warning, which fails the build.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util import logging

from densray.figures._style import dark_svg

#: Pictures of pages, which exist in light and dark.
_IN_BOTH = "explorer-"
#: The background of a dark page in the theme.
GROUND = "#14181e"
#: Folder of the dark charts, next to what Sphinx keeps between two builds.
_FOLDER = "dark-charts"


def dark_name(name: str) -> str:
    """Return the file name of the dark version of a picture."""
    path = Path(name)
    return path.with_name(f"{path.stem}-dark{path.suffix}").as_posix()


def write_dark_chart(chart: Path, folder: Path) -> Path:
    """Write the dark version of a chart, and that of its narrow layout if it has one, and return the first."""
    folder.mkdir(parents=True, exist_ok=True)
    dark = folder / dark_name(chart.name)
    for suffix in ("", "-narrow"):
        light = chart.with_name(f"{chart.stem}{suffix}.svg")
        if light.is_file():
            written = dark.with_name(f"{dark.stem}{suffix}.svg")
            written.write_text(dark_svg(light.read_text("utf-8"), GROUND), "utf-8")
    return dark


def dark_version(app: Any, uri: str) -> str | None:
    """Return the address of the dark version of a picture; None if it has none."""
    if "://" in uri:
        return None
    path = Path(app.env.relfn2path(uri)[1])
    if path.with_name(dark_name(path.name)).is_file():
        return dark_name(uri)
    if path.suffix != ".svg" or not path.is_file():
        return None
    dark = write_dark_chart(path, Path(app.doctreedir) / _FOLDER)
    return f"/{Path(os.path.relpath(dark, app.srcdir)).as_posix()}"


def add_dark_pictures(app: Any, document: nodes.document) -> None:
    """Add the dark version after each picture that has one; the theme shows one of the two."""
    for light in list(document.findall(nodes.image)):
        name = dark_version(app, light["uri"])
        if name is None:
            if Path(light["uri"]).name.startswith(_IN_BOTH):
                logging.getLogger(__name__).warning(
                    "no dark picture of %s; see scripts/take_pictures.py", light["uri"]
                )
            continue
        dark = light.deepcopy()
        dark["uri"] = name
        dark["classes"] = [*light["classes"], "only-dark"]
        light["classes"] = [*light["classes"], "only-light"]
        light.parent.insert(light.parent.index(light) + 1, dark)


def setup(app: Any) -> dict[str, bool]:
    """Run before Sphinx collects the pictures of a page."""
    app.connect("doctree-read", add_dark_pictures, priority=100)
    return {"parallel_read_safe": True}
