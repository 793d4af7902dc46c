"""``densray reproduce table3|figure2``: removing gender, as the paper did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from densray.cli.options import Json, Overwrite, Quiet
from densray.cli.output import check_figure, note, print_json, show
from densray.cli.progress import progress
from densray.cli.reproduce import app, show_comparison

__all__: list[str] = []

GivenSpace = Annotated[
    str, typer.Option("--space", metavar="SPACE", help="A file of vectors, or the name of a data set.")
]


@app.command("table3")
def table3_command(space: GivenSpace = "googlenews-26k", as_json: Json = False, quiet: Quiet = False) -> None:
    """Occupations with the greatest gender bias, before and after removal, beside the published ones.

    Example: densray reproduce table3 --json
    """
    from densray.datasets import load_space
    from densray.paper.debiasing import occupation_gaps, table3

    with progress("Removing gender", quiet=quiet):
        rows = table3(occupation_gaps(load_space(space)))
    show_comparison("table3", rows, as_json=as_json)


@app.command("figure2")
def figure2_command(
    space: GivenSpace = "googlenews-26k",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the figure: .png, .svg, .pdf, .html.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Cosines of 320 occupations to "man" and "woman", before and after removal: two scatter plots.

    Example: densray reproduce figure2 -o figure2.svg
    """
    from densray.datasets import load_space
    from densray.paper.debiasing import ANCHORS, figure2, occupation_gaps
    from densray.report import Column, Table

    check_figure(output, overwrite=overwrite, quiet=quiet)
    with progress("Removing gender", quiet=quiet):
        gaps = occupation_gaps(load_space(space))
    if output is not None:
        from densray.figures import anchor_scatter, save

        title = "Cosines of occupations to “man” and “woman”"
        save(anchor_scatter(figure2(gaps), anchors=ANCHORS, title=title), output, overwrite=overwrite)
        note(f"Wrote {output}", quiet=quiet)
    if as_json:
        print_json(figure2(gaps))
        return
    rows = [
        {"space": block, "words": gap.used, "gap": gap.value, "low": gap.interval[0], "high": gap.interval[1]}
        for block, gap in gaps.items()
        if gap.interval is not None
    ]
    columns: list[Column | str] = ["space", "words", *(Column(key, decimals=4) for key in ("gap", "low", "high"))]
    show(Table("Figure 2: mean distance from the line, with 95 % interval", columns, rows), as_json=False)
