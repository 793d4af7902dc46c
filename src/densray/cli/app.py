"""All commands of ``densray``, gathered."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperCommand
from typer.main import get_command

from densray import __version__
from densray.cli import axes, data, evaluate, interventions, reproduce, spaces, states


class CommandOfOnce(TyperCommand):
    """A command that refuses a repeated option, of which only the last value would count."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; raise for a repeated option."""
        from densray.errors import TaskError

        options: list[Any] = self.make_parser(ctx).parse_args(list(args))[2]  # in the order of the command line
        for option, count in Counter(options).items():
            if count > 1 and option.param_type_name == "option" and not (option.multiple or option.is_flag):
                several = (option.metavar or "").endswith("S") and len(option.metavar) > 1
                remedy = f" Separate several values by commas: {option.opts[0]} A,B." if several else ""
                raise TaskError(f"{option.opts[0]} was given {count} times. Give it once.{remedy}")
        return super().parse_args(ctx, args)


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
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


Commands: TypeAlias = Mapping[str, tuple[Callable[..., None], str]]

#: Every command with its line in the help, by group, in the order of the help.
_COMMANDS: dict[str, Commands] = {
    "Start": {
        "demo": (data.demo, "Try everything on the bundled vectors, offline"),
        "explore": (data.explore, "Open the explorer in the browser"),
    },
    "Axes": {
        "fit": (axes.fit, "Find and save an axis"),
        "diagnose": (axes.diagnose, "Check how reliable an axis is"),
        "induce": (axes.induce, "Score every word of a space"),
        "score": (axes.score, "Score words, or the documents of a table"),
        "methods": (axes.methods, "List the methods"),
    },
    "Spaces and tables": {
        "info": (spaces.info, "Describe a file of vectors"),
        "neighbors": (spaces.neighbors, "Find the nearest words"),
        "convert": (spaces.convert, "Write a space in another format"),
        "rotate": (spaces.rotate, "Write a space with the concept as its first dimension"),
        "erase": (spaces.erase, "Remove a concept, and measure what remains"),
        "embed": (states.embed, "Add a column of vectors to a table of texts"),
    },
}
_MODEL: Commands = {
    "read": (states.read, "Read hidden states into a folder"),
    "layers": (states.layers, "Find the layer and method that detect a concept best"),
    "remove": (interventions.remove, "Remove a concept in the forward pass"),
    "steer": (interventions.steer, "Steer the text that a model generates"),
    "sweep": (interventions.sweep, "Try layers and strengths of saved removals"),
}
#: Names that users may type by mistake, and the command to suggest.
_MEANT = {
    "states": "model read",
    "layers": "model layers",
    "remove-preference": "model remove",
    "intervene": "model remove or densray model steer",
    "sweep": "model sweep",
    "compare": "evaluate methods",
    "benchmark": "evaluate methods",
    "train": "fit",
    "learn": "fit",
    "check": "diagnose",
    "test": "diagnose",
    "rank": "induce",
    "predict": "score",
    "transform": "rotate",
    "remove": "erase",
    "debias": "erase",
    "similar": "neighbors",
    "nearest": "neighbors",
    "most-similar": "neighbors",
    "neighbours": "neighbors",
    "analogy": "evaluate analogy",
    "bias": "evaluate bias",
    "weat": "evaluate bias",
    "steer": "model steer",
    "plot": "explore",
    "map": "explore",
    "gui": "explore",
    "serve": "explore",
    "ui": "explore",
    "visualise": "explore",
    "visualize": "explore",
    "web": "explore",
    "cite": "diagnose --bibtex",
    "help": "--help",
    "list": "data list",
    "load": "info or densray convert",
    "report": "diagnose --report or densray erase --report",
    "search": "neighbors",
    "encode": "embed",
    "datasets": "data list",
    "download": "data fetch",
}
_DATA: Commands = {
    "list": (data.list_all, "List the data sets"),
    "fetch": (data.fetch, "Download a data set"),
    "path": (data.path, "Print the path of a data set"),
}
_EVALUATE: Commands = {
    "lexicon": (evaluate.evaluate_lexicon, "Measure how well each method ranks unseen words of a lexicon"),
    "stability": (evaluate.evaluate_stability, "Show how the ranking improves with more words"),
    "methods": (evaluate.evaluate_methods, "Compare methods on one concept"),
    "ratings": (evaluate.evaluate_ratings, "Compare an axis with human ratings"),
    "analogy": (evaluate.evaluate_analogy, "Count the analogies that a solver answers correctly"),
    "bias": (evaluate.evaluate_bias, "Measure a concept before and after it is removed"),
    "retrieval": (evaluate.evaluate_retrieval, "Measure how often search finds the partner of a document"),
}
_ANALOGIES = {
    "table4": (
        "Analogies by group of categories",
        "Compare analogy results with the published values, by group of categories: precision of the solvers IntCos "
        "and LRCos, and mean cosine of the pairs.",
        "table4 --space GoogleNews.bin",
    ),
    "table5": (
        "Analogies by category, cosines after removal",
        "Compare analogy results by category with the published values. The cosines are measured after the axis of "
        "each category is removed.",
        "table5 --json",
    ),
    "table6": (
        "Analogies by category, cosines in the original space",
        "Compare analogy results by category with the published values. The cosines are measured in the original "
        "space.",
        "table6 --json",
    ),
}
_REPRODUCE: Commands = {  # as they come in the paper
    "table1": (reproduce.table1, "Lexicon induction"),
    "figure1": (reproduce.figure1, "Lexicon induction by number of words"),
    "table3": (reproduce.table3, "Gender before and after removal"),
    "figure2": (reproduce.figure2, "Occupations before and after removal"),
    **{name: (reproduce.analogy_command(name, *said[1:]), said[0]) for name, said in _ANALOGIES.items()},
}


def _help_of(run: Callable[..., None]) -> str:
    """Return the help of a command with one line per paragraph, because typer keeps line breaks and wraps again."""
    return "\n\n".join(" ".join(each.split()) for each in (inspect.getdoc(run) or "").split("\n\n"))


def _add_group(name: str, help: str, commands: Commands, *, panel: str) -> None:
    group = typer.Typer(help=help)
    for each, (run, line) in commands.items():
        group.command(each, cls=CommandOfOnce, help=_help_of(run), short_help=line)(run)
    app.add_typer(group, name=name, rich_help_panel=panel)


for _panel, _listed in _COMMANDS.items():
    for _name, (_run, _line) in _listed.items():
        app.command(_name, cls=CommandOfOnce, help=_help_of(_run), short_help=_line, rich_help_panel=_panel)(_run)
_add_group("evaluate", "Measure methods, axes, spaces and removers", _EVALUATE, panel="Axes")
_add_group("model", "Read, compare, change and steer language models", _MODEL, panel="Language models")
_add_group("data", "List and fetch data sets", _DATA, panel="Data")
_add_group(
    "reproduce",
    "Recompute the figures and tables of the DensRay paper, and compare the tables with the published ones",
    _REPRODUCE,
    panel="Data",
)


def options_of(group: Any, path: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Return every option of the command line with the commands that accept it."""
    found: dict[str, list[str]] = {}
    for name, below in getattr(group, "commands", {}).items():
        for option, homes in options_of(below, (*path, name)).items():
            found.setdefault(option, []).extend(homes)
    if path and not hasattr(group, "commands"):
        found = {option: [" ".join(path)] for each in group.params for option in (*each.opts, *each.secondary_opts)}
    return found


def running(arguments: Sequence[str]) -> str:
    """Return the name of the command that arguments call, such as ``evaluate lexicon``; empty if they call none.

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


def renamed(arguments: Sequence[str]) -> str:
    """Return a message that names the command to use in place of one that does not exist; empty if there is none.

    >>> renamed(["states", "model.gguf"]), renamed(["induce"])
    ("There is no command 'states'. Use densray model read.", '')
    """
    meant = _MEANT.get(arguments[0]) if arguments else None
    return "" if meant is None else f"There is no command '{arguments[0]}'. Use densray {meant}."


def command() -> Any:
    """Return the command line, ready to run; the help shows flags without a value type."""
    built = get_command(app)
    _hide_types_of_flags(built)
    return built


def _hide_types_of_flags(one: Any) -> None:
    for each in (*one.params, one.get_help_option(typer.Context(one))):
        if getattr(each, "is_flag", False):
            each.metavar = ""
    for below in getattr(one, "commands", {}).values():
        _hide_types_of_flags(below)
