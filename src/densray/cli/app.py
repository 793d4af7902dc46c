"""All commands of ``densray``, gathered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer
from typer.main import get_command

from densray._version import __version__
from densray.cli import axes, data, evaluate, interventions, reproduce, spaces, states

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


#: The commands, in the order in which they are listed.
_COMMANDS: dict[str, Callable[..., None]] = {
    "demo": data.demo,
    "fit": axes.fit,
    "diagnose": axes.diagnose,
    "induce": axes.induce,
    "score": axes.score,
    "methods": axes.methods,
    "info": spaces.info,
    "neighbors": spaces.neighbors,
    "convert": spaces.convert,
    "rotate": spaces.rotate,
    "erase": spaces.erase,
    "states": states.states,
    "layers": states.layers,
    "intervene": interventions.intervene,
    "remove-preference": interventions.remove_preference,
    "sweep": interventions.sweep,
    "explore": data.explore,
}
_DATA: dict[str, Callable[..., None]] = {"list": data.list_all, "fetch": data.fetch, "path": data.path}
_EVALUATE: dict[str, Callable[..., None]] = {
    "lexicon": evaluate.evaluate_lexicon,
    "stability": evaluate.evaluate_stability,
    "methods": evaluate.evaluate_methods,
    "analogy": evaluate.evaluate_analogy,
    "bias": evaluate.evaluate_bias,
}
_ANALOGIES = {
    "table4": (
        "Analogies by group: mean cosines, IntCos and LRCos",
        "table4 --space GoogleNews.bin",
    ),
    "table5": ("Analogies by category, cosines in the complement of the axis", "table5 --json"),
    "table6": ("Analogies by category, cosines in the original space", "table6 --json"),
}
_REPRODUCE: dict[str, Callable[..., None]] = {  # as they come in the paper
    "table1": reproduce.table1,
    "figure1": reproduce.figure1,
    "table3": reproduce.table3,
    "figure2": reproduce.figure2,
    **{name: reproduce.analogy_command(name, *said) for name, said in _ANALOGIES.items()},
}


def _add_all(to: typer.Typer, commands: Mapping[str, Callable[..., None]]) -> None:
    for name, run in commands.items():
        to.command(name)(run)


def _add_group(name: str, help: str, commands: Mapping[str, Callable[..., None]]) -> None:
    group = typer.Typer(help=help)
    _add_all(group, commands)
    app.add_typer(group, name=name)


_add_all(app, _COMMANDS)
_add_group("data", "Data sets: list them, fetch them, say where they lie.", _DATA)
_add_group("evaluate", "Measure a space, an axis or a method on the tasks.", _EVALUATE)
_add_group("reproduce", "Put our numbers beside the published ones, cell by cell.", _REPRODUCE)


def options_of(group: Any, path: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Return every option of the command line, each with the commands that take it."""
    found: dict[str, list[str]] = {}
    for name, below in getattr(group, "commands", {}).items():
        for option, homes in options_of(below, (*path, name)).items():
            found.setdefault(option, []).extend(homes)
    if path and not hasattr(group, "commands"):
        found = {option: [" ".join(path)] for each in group.params for option in (*each.opts, *each.secondary_opts)}
    return found


def running(arguments: Sequence[str]) -> str:
    """Return the name of the command that arguments call, such as ``evaluate lexicon``; empty where they call none.

    >>> running(["evaluate", "lexicon", "space.bin"]), running(["--version"])
    ('evaluate lexicon', '')
    """
    at, names = get_command(app), []
    for argument in arguments:
        if argument not in getattr(at, "commands", {}):
            break
        at = at.commands[argument]  # type: ignore[attr-defined]
        names.append(argument)
    return " ".join(names)


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
