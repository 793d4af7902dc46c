"""``densray explore``: the explorer, in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from densray.cli.options import Limit, Quiet
from densray.cli.progress import progress

__all__ = ["explore"]


def explore(
    space: Annotated[
        str, typer.Argument(metavar="SPACE", help="A file of vectors, or the name of a data set.")
    ] = "googlenews-26k",
    port: Annotated[int, typer.Option("--port", metavar="N", help="Where to listen, on this machine only.")] = 8501,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open the page, only serve it.")] = False,
    limit: Limit = None,
    quiet: Quiet = False,
) -> None:
    """Explore a space in the browser, along axes you name: on 127.0.0.1 only, offline, until Ctrl-C.

    Example: densray explore googlenews-26k --port 8600
    """
    from densray.explorer.server import check_ready, launch

    check_ready(port)
    from densray.datasets import load_space

    with progress(f"Opening {space}", quiet=quiet):
        vectors = load_space(space, limit=limit)
    launch(vectors, port=port, browser=not no_browser, ready=None if quiet else _say_where)


def _say_where(address: str) -> None:
    typer.echo(f"Exploring at {address} (Ctrl-C stops it)", err=True)
