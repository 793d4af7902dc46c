"""`densray data`, `densray demo` and `densray explore`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from densray.cli.options import Json, Limit, Overwrite, Quiet
from densray.cli.terminal import check_output, note, print_json, progress_bar, show

if TYPE_CHECKING:
    from densray.datasets import DataSet

Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="The name of a data set.")]


def list_all(
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="Only this kind: space, lexicon, analogies …")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the data sets: what they are, their licence and size, and where they lie.

    Example: densray data list --kind lexicon
    """
    from densray.datasets import list_datasets
    from densray.report import Column, Table

    rows = [_row(entry) for entry in list_datasets(kind)]
    if as_json:
        print_json(rows)
        return
    names = ["name", "title", "licence"] if kind else ["name", "kind", "title", "licence"]
    columns: list[Column | str] = [*names, Column("megabytes", "MB", decimals=1), "at hand"]
    shown = [{**row, "megabytes": row["size"] and row["size"] / 1e6, "at hand": row["place"]} for row in rows]
    show(Table("Data sets", columns, shown), as_json=False)


def fetch(name: Name, as_json: Json = False, quiet: Quiet = False) -> None:
    """Download a data set, verify it, and say where it lies; one that is there already is used.

    Example: densray data fetch bats
    """
    from densray.datasets import data_folder
    from densray.datasets import fetch as fetch_dataset

    note(f"Fetching {name} into {data_folder()}", quiet=quiet)
    with progress_bar(f"Fetching {name}", quiet=quiet) as progress:
        path = fetch_dataset(name, progress=progress)
    if as_json:
        print_json({"name": name, "path": path})
    else:
        typer.echo(path)


def path(name: Name, as_json: Json = False) -> None:
    """Say where a data set lies on this machine.

    Example: densray data path googlenews-26k
    """
    from densray.datasets import path_of

    found = path_of(name)
    if as_json:
        print_json({"name": name, "path": found})
    else:
        typer.echo(found)


def _row(entry: DataSet) -> dict[str, Any]:
    return {
        "name": entry.name,
        "kind": entry.kind,
        "title": entry.title,
        "source": entry.source,
        "licence": entry.licence,
        "citation": entry.citation,
        "size": entry.size,
        "checksums": entry.checksums,
        "embedded": entry.embedded,
        "place": _place(entry),
    }


def _place(entry: DataSet) -> str:
    from densray.datasets import is_at_hand

    if not is_at_hand(entry.name):
        return "to fetch" if entry.downloadable else "by hand"
    return "in the package" if entry.embedded else "here"


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
    from densray._files import atomic_write
    from densray.demonstration import demonstrate
    from densray.report import to_html

    note(f"Writing {output} at the end", quiet=quiet)
    with progress_bar("Sentiment, gender, analogies, removal", quiet=quiet) as progress:
        report = demonstrate(progress)
    with atomic_write(output, overwrite=True) as partial:
        partial.write_text(to_html(report), encoding="utf-8")
    if as_json:
        print_json(report)
        return
    show(report, as_json=False, quiet=quiet)
    print(f"\nThe report with its figures: {output.resolve()}")


def explore(
    space: Annotated[
        str, typer.Argument(metavar="SPACE", help="A file of vectors, or the name of a data set.")
    ] = "googlenews-26k",
    port: Annotated[int, typer.Option("--port", metavar="N", help="Where to listen, on this machine only.")] = 8501,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open the page, only serve it.")] = False,
    limit: Limit = None,
    quiet: Quiet = False,
) -> None:
    """Explore a space in the browser, along axes you name: on 127.0.0.1 only, offline, until Ctrl-C.

    Example: densray explore googlenews-26k --port 8600
    """
    from densray.explorer.server import check_ready, launch

    check_ready(port)
    from densray.datasets import load_space

    with progress_bar(f"Opening {space}", quiet=quiet):
        vectors = load_space(space, limit=limit)
    launch(vectors, source=space, port=port, browser=not no_browser, ready=None if quiet else _say_where)


def _say_where(address: str) -> None:
    typer.echo(f"Exploring at {address} (Ctrl-C stops it)", err=True)
