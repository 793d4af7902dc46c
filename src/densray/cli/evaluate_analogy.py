"""``densray evaluate analogy``: leave one pair out, ask for its answer."""

from __future__ import annotations

from typing import Annotated

import typer

from densray.cli.evaluate import app
from densray.cli.long_runs import Fresh, long_run
from densray.cli.options import Json, Limit, Quiet, Space
from densray.cli.output import print_json, show

__all__: list[str] = []


@app.command("analogy")
def analogy_command(
    space: Space = "googlenews-26k",
    analogies: Annotated[
        str, typer.Option("--set", metavar="SET", help="google, msr, bats, or a file or folder of analogies.")
    ] = "google",
    solver: Annotated[
        str,
        typer.Option(
            "--solver",
            metavar="NAME",
            help="intcos-original, intcos-complement, lrcos, intrank, 3cosadd, 3cosmul, 3cosavg, pairdistance or "
            "similartob.",
        ),
    ] = "intcos-original",
    rotation: Annotated[
        str | None, typer.Option("--rotation", metavar="METHOD", help="What finds the axis of IntCos.")
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option("--category", metavar="NAME", help="Only this category or group; may be repeated."),
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, metavar="K", help="Answers kept for each question.")] = 10,
    predictions: Annotated[
        bool, typer.Option("--predictions", help="As --full, with every question and its answers.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="As --json, with all measures, skipped pairs and provenance.")
    ] = False,
    limit: Limit = None,
    fresh: Fresh = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """How many analogies of a set a space and a solver get right, each pair left out in turn.

    --json prints the solver, its two means, and pairs and precision of each category; --full prints everything.

    Example: densray evaluate analogy googlenews-26k --set google --solver lrcos
    """
    from densray.datasets import load_analogies, load_space
    from densray.tasks.analogy import evaluate_analogies, make_solver

    asked = load_analogies(analogies)
    if category:
        asked = asked.subset(category)
    vectors = load_space(space, limit=limit)
    made = make_solver(solver, vectors, rotation=rotation)
    with long_run(fresh=fresh, quiet=quiet) as run:
        with run.progress(f"Solving {asked.name}") as advance:
            result = evaluate_analogies(
                vectors, asked, made, k=k, predictions=predictions, advance=advance, journal=run.journal
            )
        if full or predictions:
            print_json(result)
        elif as_json:
            print_json(result.summary())
        else:
            show(result, as_json=False, quiet=quiet)
