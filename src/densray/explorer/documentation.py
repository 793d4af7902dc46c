"""The built documentation, served by the explorer itself so that its link works offline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: The path of the documentation on the explorer's server.
ADDRESS = "/docs"


def find_pages() -> Path | None:
    """Return the folder of the built documentation; None if there is none.

    ``make explore`` and ``make docs`` in a checkout build it. A wheel does not contain it: the pages with their
    pictures have about 90 MB.
    """
    checkout = Path(__file__).resolve().parents[3]
    pages = checkout / "docs" / "_build"
    built_here = (checkout / "docs" / "conf.py").is_file() and (pages / "index.html").is_file()
    return pages if built_here else None


def serve_pages(folder: Path) -> Any:
    """Return an application that serves the files below a folder under `ADDRESS`, and nothing else."""
    from starlette.applications import Starlette
    from starlette.routing import Mount
    from starlette.staticfiles import StaticFiles

    # StaticFiles resolves each path and refuses paths outside the folder, by dots or by links
    return Starlette(routes=[Mount(ADDRESS, app=StaticFiles(directory=folder, html=True))])


def is_documentation(path: str) -> bool:
    """Return whether a path of the server is below that of the documentation.

    >>> is_documentation("/docs/index.html"), is_documentation("/docs"), is_documentation("/docstring")
    (True, True, False)
    """
    return path == ADDRESS or path.startswith(f"{ADDRESS}/")
