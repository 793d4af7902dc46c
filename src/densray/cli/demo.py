"""``densray demo``: the main job on the embedded space, and a report of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from densray.cli.options import Json, Overwrite, Quiet
from densray.cli.output import check_output, note, print_json, show
from densray.cli.progress import progress

__all__ = ["demo"]

REPORT = Path("densray-demo.html")


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The report: one HTML page.")] = REPORT,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find, measure and remove concepts on the embedded space, offline; write a report with figures.

    Example: densray demo
    """
    check_output(output, overwrite=overwrite or output == REPORT)  # its own report is replaced by the next one
    from densray.demonstration import demonstrate
    from densray.report import to_html
    from densray.writing import replacing

    note(f"Writing {output} at the end", quiet=quiet)
    with progress("Sentiment, gender, analogies, removal", quiet=quiet) as advance:
        report = demonstrate(advance)
    with replacing(output, overwrite=True) as partial:
        partial.write_text(to_html(report), encoding="utf-8")
    if as_json:
        print_json(report)
        return
    show(report, as_json=False, quiet=quiet)
    print(f"\nThe report with its figures: {output.resolve()}")
