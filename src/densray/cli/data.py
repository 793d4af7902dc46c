"""``densray data …``: data sets with their source, licence, size and checksum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from densray.cli.options import Json, Quiet
from densray.cli.output import note, print_json, show
from densray.cli.progress import progress

if TYPE_CHECKING:
    from densray.datasets import DataSet

__all__ = ["app"]

app = typer.Typer(help="Data sets: list them, fetch them, say where they lie.")

Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="The name of a data set.")]


@app.command("list")
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


@app.command()
def fetch(name: Name, as_json: Json = False, quiet: Quiet = False) -> None:
    """Download a data set, verify it, and say where it lies; one that is there already is used.

    Example: densray data fetch bats
    """
    from densray.datasets import data_folder
    from densray.datasets import fetch as fetch_dataset

    note(f"Fetching {name} into {data_folder()}", quiet=quiet)
    with progress(f"Fetching {name}", quiet=quiet) as advance:
        path = fetch_dataset(name, progress=advance)
    if as_json:
        print_json({"name": name, "path": path})
    else:
        typer.echo(path)


@app.command()
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
