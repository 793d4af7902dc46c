"""All commands of ``densray``, gathered."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.main import get_command

from densray._version import __version__
from densray.cli import axes, data, evaluate, reproduce, spaces
from densray.cli import data as demo
from densray.cli import data as explore

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


def command() -> Any:
    """Return the command line, ready to run; flags are shown without the type of value they do not take."""
    built = get_command(app)
    _hide_types_of_flags(built)
    return built


def _hide_types_of_flags(one: Any) -> None:
    for each in (*one.params, one.get_help_option(typer.Context(one))):
        if getattr(each, "is_flag", False):
            each.metavar = ""
    for below in getattr(one, "commands", {}).values():
        _hide_types_of_flags(below)
