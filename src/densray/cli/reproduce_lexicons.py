"""``densray reproduce table1|figure1``: lexicon induction, as the paper did."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from densray.cli.evaluate_lexicon import Figure, Methods, Samples, Sizes, split_names, split_numbers, write_figure
from densray.cli.long_runs import Fresh, long_run
from densray.cli.options import Json, Limit, Overwrite, Quiet, Seed
from densray.cli.output import check_figure, print_json, show
from densray.cli.reproduce import app, show_comparison

if TYPE_CHECKING:
    from densray.report import Table
    from densray.space import WordSpace

__all__: list[str] = []

EN = "EN=googlenews-26k"


@app.command("table1")
def table1_command(
    space: Annotated[
        list[str] | None,
        typer.Option("--space", metavar="NAME=SPACE", help="CZ, DE, ES, FR, EN or EN(t), and a file or data set."),
    ] = None,
    methods: Methods = None,
    seed: Seed = 0,
    limit: Limit = None,
    fresh: Fresh = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Kendall's τ of lexicon induction, line by line beside the published one.

    Lines whose space is not given say where to get it; EN is the embedded slice unless given.

    Example: densray reproduce table1 --space FR=cc.fr.300.vec.gz
    """
    from densray.paper.lexicon_induction import table1
    from densray.tasks.protocol import PAPER_METHODS, Protocol

    spaces = _load_spaces([EN, *(space or [])], limit)
    chosen = split_names(methods) or PAPER_METHODS
    with long_run(fresh=fresh, quiet=quiet) as run:
        with run.progress("Inducing") as advance:
            rows = table1(spaces, methods=chosen, protocol=Protocol(seed=seed), advance=advance, journal=run.journal)
        if as_json:
            show_comparison("table1", rows, as_json=True)
        else:
            show(_readable(rows), as_json=False)


@app.command("figure1")
def figure1_command(
    space: Annotated[str, typer.Option("--space", metavar="SPACE", help="A file of vectors, or a data set.")] = (
        "googlenews-26k"
    ),
    lexicon: Annotated[
        str, typer.Option("--lexicon", metavar="LEXICON", help="Words and scores; the paper's: bwk.")
    ] = ("bwk"),
    methods: Methods = None,
    sizes: Sizes = None,
    samples: Samples = 40,
    solver: Annotated[
        str, typer.Option("--densifier", metavar="SOLVER", help="exact, or sgd: gradient descent, as published.")
    ] = "exact",
    output: Figure = None,
    overwrite: Overwrite = False,
    seed: Seed = 0,
    limit: Limit = None,
    fresh: Fresh = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Mean and standard deviation of τ by the size of the training lexicon; the paper's figure prints no numbers.

    Example: densray reproduce figure1 -o figure1.svg
    """
    check_figure(output, overwrite=overwrite, quiet=quiet)
    from densray.datasets import load_lexicon, load_space
    from densray.tasks.protocol import Protocol
    from densray.tasks.stability import DEFAULT_SIZES, STABILITY_METHODS, evaluate_stability

    with long_run(fresh=fresh, quiet=quiet) as run:
        with run.progress("Sampling") as advance:
            result = evaluate_stability(
                load_space(space, limit=limit),
                load_lexicon(lexicon),
                methods=split_names(methods) or STABILITY_METHODS,
                sizes=split_numbers(sizes) or DEFAULT_SIZES,
                n_samples=samples,
                protocol=Protocol(seed=seed, densifier_solver=solver),
                advance=advance,
                journal=run.journal,
            )
        write_figure(result, output, overwrite=overwrite, quiet=quiet)
        if as_json:
            print_json(result.rows())
        else:
            show(result, as_json=False, quiet=quiet)


def _readable(rows: list[dict[str, Any]]) -> Table:
    """Return the lines that were computed as a table, and what is to say of each line under it."""
    from densray.paper import compare, comparison_table, published

    notes: dict[str, list[str]] = {}
    for row in rows:
        lines = notes.setdefault(row["note"], [])
        if row["note"] and str(row["line"]) not in lines:
            lines.append(str(row["line"]))
    said = [f"Line {', '.join(lines)}: {note}." for note, lines in notes.items() if lines]
    computed = [row for row in compare(rows, published("table1")) if row["ours"] is not None]
    table = comparison_table("table1", [{key: row[key] for key in row if key != "note"} for row in computed])
    return replace(table, notes=[*table.notes, *said])


def _load_spaces(given: list[str], limit: int | None) -> dict[str, WordSpace]:
    """Return spaces from NAME=SPACE; a later one takes the place of an earlier one of the same name."""
    from densray.datasets import load_space
    from densray.errors import DataError
    from densray.paper.lexicon_induction import EMBEDDINGS

    sources: dict[str, str] = {}
    for pair in given:
        name, _, source = pair.partition("=")
        if name not in EMBEDDINGS or not source:
            raise DataError(f"--space {pair}: NAME=SPACE is needed, NAME one of {', '.join(EMBEDDINGS)}.")
        sources[name] = source
    return {name: load_space(source, limit=limit) for name, source in sources.items()}
