"""``densray reproduce table4|table5|table6``: set-based analogies, as the paper solved them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from densray.cli.long_runs import Fresh, long_run
from densray.cli.options import Json, Quiet
from densray.cli.output import print_json, show
from densray.cli.reproduce import app

__all__: list[str] = []

GivenSpace = Annotated[
    str, typer.Option("--space", metavar="SPACE", help="A file of vectors, or the name of a data set.")
]
Limit = Annotated[int, typer.Option("--limit", min=1, metavar="N", help="Words of the space that are used.")]
Embedding = Annotated[
    str, typer.Option("--embedding", metavar="GN|FT", help="Which of the paper's spaces this one stands for.")
]


@app.command("table4")
def table4_command(
    space: GivenSpace = "googlenews-26k",
    limit: Limit = 80_000,
    embedding: Embedding = "GN",
    fresh: Fresh = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Analogies by group: mean cosines, IntCos and LRCos, beside the published ones.

    Example: densray reproduce table4 --space GoogleNews-vectors-negative300.bin
    """
    _reproduce("table4", space, limit, embedding, fresh=fresh, as_json=as_json, quiet=quiet)


@app.command("table5")
def table5_command(
    space: GivenSpace = "googlenews-26k",
    limit: Limit = 80_000,
    embedding: Embedding = "GN",
    fresh: Fresh = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Analogies by category, cosines in the complement of the axis, beside the published ones.

    Example: densray reproduce table5 --json
    """
    _reproduce("table5", space, limit, embedding, fresh=fresh, as_json=as_json, quiet=quiet)


@app.command("table6")
def table6_command(
    space: GivenSpace = "googlenews-26k",
    limit: Limit = 80_000,
    embedding: Embedding = "GN",
    fresh: Fresh = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Analogies by category, cosines in the original space, beside the published ones.

    Example: densray reproduce table6 --json
    """
    _reproduce("table6", space, limit, embedding, fresh=fresh, as_json=as_json, quiet=quiet)


def _reproduce(table: str, space: str, limit: int, embedding: str, *, fresh: bool, as_json: bool, quiet: bool) -> None:
    from densray.datasets import load_analogies, load_space
    from densray.errors import DataError, TaskError
    from densray.paper.analogies import analogy_tables, reproduce_analogies
    from densray.report import Section

    if embedding not in ("GN", "FT"):
        raise TaskError(f"--embedding '{embedding}' is unknown. Use GN (GoogleNews) or FT (fastText).")
    sets = [load_analogies("google")]
    try:
        sets.append(load_analogies("bats"))
    except DataError as error:
        if not quiet:
            print(f"densray: without BATS: {' '.join(str(error).split())}", file=sys.stderr)
    vectors = load_space(space, limit=limit)
    with long_run(fresh=fresh, quiet=quiet) as run:
        with run.progress("Solving analogies") as advance:
            rows = reproduce_analogies(table, vectors, sets, embedding=embedding, advance=advance, journal=run.journal)
        if as_json:
            print_json([{key: row[key] for key in row if key != "difference"} for row in rows])
            return
        for drawn in analogy_tables(table, rows):
            show(Section("", tables=[drawn]), as_json=False)
