"""Shows `name-dark.png` instead of `name.png` on a dark page, if both files exist.

Every picture of the explorer must have both; a missing one is a warning, which fails the build.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util import logging

#: Pictures of pages, which exist in light and dark.
_IN_BOTH = "explorer-"


def dark_name(name: str) -> str:
    """Return the file name of the dark version of a picture."""
    path = Path(name)
    return path.with_name(f"{path.stem}-dark{path.suffix}").as_posix()


def add_dark_pictures(app: Any, document: nodes.document) -> None:
    """Add the dark version after each picture that has one; the theme shows one of the two."""
    folder = (Path(app.srcdir) / app.env.docname).parent
    for light in list(document.findall(nodes.image)):
        name = dark_name(light["uri"])
        if not (folder / name).is_file():
            if Path(name).name.startswith(_IN_BOTH):
                logging.getLogger(__name__).warning(
                    "no dark picture %s; see scripts/take_pictures.py", name
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
