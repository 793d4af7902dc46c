"""All commands of ``densray``, gathered."""

from __future__ import annotations

from typing import Annotated

import typer

from densray._version import __version__
from densray.cli import (
    axes,
    data,
    demo,
    evaluate,
    evaluate_analogy,  # noqa: F401  (registers its commands)
    evaluate_bias,  # noqa: F401  (registers its commands)
    evaluate_lexicon,  # noqa: F401  (registers its commands)
    explore,
    reproduce,
    reproduce_analogies,  # noqa: F401  (registers its commands)
    reproduce_debiasing,  # noqa: F401  (registers its commands)
    reproduce_lexicons,  # noqa: F401  (registers its commands)
    spaces,
)

__all__ = ["app"]

app = typer.Typer(
    name="densray",
    help="Find, measure and remove concepts in embedding spaces.",
    pretty_exceptions_enable=False,
    epilog="Every command has its own page: densray COMMAND --help",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"densray {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _densray(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command()(demo.demo)
app.command()(axes.fit)
app.command()(axes.diagnose)
app.command()(axes.induce)
app.command()(axes.methods)
app.command()(spaces.convert)
app.command()(spaces.rotate)
app.command()(spaces.erase)
app.command()(explore.explore)
app.add_typer(data.app, name="data")
app.add_typer(evaluate.app, name="evaluate")
app.add_typer(reproduce.app, name="reproduce")
