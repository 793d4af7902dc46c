"""`densray data`, `densray demo` and `densray explore`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from densray._threads import ignored_warnings
from densray.cli.options import Details, Json, Limit, Overwrite, Quiet
from densray.cli.terminal import check_page, note, print_json, progress_bar, show

if TYPE_CHECKING:
    from densray.datasets import DataSet

Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="The name of a data set.")]


def list_all(
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="Only this kind: space, lexicon, analogies …")
    ] = None,
    details: Annotated[bool, typer.Option("--details", help="With licence and source.")] = False,
    as_json: Json = False,
) -> None:
    """List the data sets: what they are and how large, those at hand first.

    Example: densray data list --kind lexicon
    """
    from densray.datasets import list_datasets
    from densray.report import Table

    rows = [_row(entry) for entry in list_datasets(kind)]
    if as_json:
        print_json(rows)
        return
    names = ["name", *([] if kind else ["kind"]), "size", "title"]
    columns = [*names, *(["licence", "source"] if details else [])]
    shown = [{**row, "size": _size(row["size"]), "group": _PLACES[row["place"]]} for row in rows]
    shown.sort(key=lambda row: list(_PLACES).index(row["place"]))
    notes = [] if details else ["--details adds licence and source."]
    show(Table("Data sets", columns, shown, notes, group="group"), as_json=False)


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


def _size(count: int | None) -> str:
    """Return a number of bytes in the unit that fits it."""
    from densray.report import show_number

    if count is None:
        return show_number(None)
    size, unit = (count / 1e9, "GB") if count >= 1e9 else (count / 1e6, "MB") if count >= 1e6 else (count / 1e3, "kB")
    return f"{show_number(size, 0 if size >= 10 else 1)} {unit}"


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


#: Where a data set lies, and what is said of those that lie there, in the order of the list.
_PLACES = {
    "in the package": "at hand",
    "here": "at hand",
    "to fetch": "data fetch NAME",
    "by hand": "by hand: see source",
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
    details: Details = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find, measure and remove concepts on the embedded space, offline; write a report with figures.

    Example: densray demo
    """
    check_page(output, overwrite=overwrite or output == REPORT)  # its own report is replaced by the next one
    from densray._files import atomic_write
    from densray.demonstration import demonstrate
    from densray.report import Section, to_html

    note(f"Writing {output} at the end", quiet=quiet)
    with progress_bar("Sentiment, gender, analogies, removal", quiet=quiet) as progress:
        report = demonstrate(progress)
    with atomic_write(output, overwrite=True) as partial:
        partial.write_text(to_html(report), encoding="utf-8")
    if as_json:
        print_json(report)
        return
    show(report, as_json=False, quiet=quiet, details=details)
    print(f"\nThe report with its figures: {output.resolve()}")
    if not any(section.figures for section in report.sections if isinstance(section, Section)):
        print('It has none yet: pip install "densray[figures]" draws them.')


def explore(
    spaces: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SPACE|FOLDER]...",
            help="Files of vectors, names of data sets, or hidden states; googlenews-26k if none.",
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", metavar="N", help="Where to listen, on this machine only.")] = 8501,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open the page, only serve it.")] = False,
    limit: Limit = None,
    quiet: Quiet = False,
) -> None:
    """Explore one space or several in the browser, along axes you name: on 127.0.0.1 only, offline, until Ctrl-C.

    A folder that densray states has written opens on the page Layers, beside the embedded space.

    Example: densray explore googlenews-26k --port 8600
    """
    from densray.explorer.server import check_ready, launch

    check_ready(port)
    from densray.datasets import load_space

    loaded, given = [], _opened_states(list(dict.fromkeys(spaces or ["googlenews-26k"])))
    with ignored_warnings(RuntimeWarning, "coroutine .* was never awaited"):  # of a server stopped before it has begun
        try:
            for space in given:
                note(f"Reading {space} …", quiet=quiet)
                with progress_bar(f"Reading {space}", quiet=quiet):
                    loaded.append(load_space(space, limit=limit))
            launch(*loaded, sources=given, port=port, browser=not no_browser, ready=None if quiet else _say_where)
        except KeyboardInterrupt:  # the way to end it: nothing is lost
            return


def _opened_states(given: list[str]) -> list[str]:
    """Open the hidden states among what was given, for their page; return the spaces, at least the embedded one."""
    from densray.states import States
    from densray.states._storage import is_states_folder

    folders = [each for each in given if is_states_folder(each)]
    if folders:
        from densray.explorer.views import layers

        layers.use(States.open(folders[0]))
    return [each for each in given if each not in folders] or ["googlenews-26k"]


def _say_where(address: str) -> None:
    typer.echo(f"Exploring at {address} (Ctrl-C stops it)", err=True)
