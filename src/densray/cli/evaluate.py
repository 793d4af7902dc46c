"""``densray evaluate …``: the tasks, on the user's own files."""

from __future__ import annotations

import typer

__all__ = ["app"]

app = typer.Typer(help="Measure a space, an axis or a method on the tasks.")


@app.callback()
def _evaluate() -> None:
    """Measure a space, an axis or a method on the tasks."""
