"""`densray data`, `densray demo` and `densray explore`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from densray.cli.options import (
    Details,
    Json,
    Limit,
    Overwrite,
    Quiet,
    TableOptions,
    changed_options,
    with_option_groups,
)
from densray.cli.tables import open_it, opens_as_table, refuse_given
from densray.cli.terminal import check_page, note, print_json, progress_bar, show

if TYPE_CHECKING:
    from densray.datasets import DataSet

Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="The name of a data set.")]


def list_all(
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="List only this kind: space, lexicon, analogies …")
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Also show the licence, the source and how downloads are verified.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the data sets with their kinds and sizes. Data sets on this machine come first.

    Example: densray data list --kind lexicon
    """
    from densray.datasets import list_datasets
    from densray.report import Table

    rows = [_row(entry) for entry in list_datasets(kind)]
    if as_json:
        print_json(rows)
        return
    names = ["name", *([] if kind else ["kind"]), "size", "title"]
    columns = [*names, *(["checked by", "licence", "source"] if details else [])]
    shown = [
        {**row, "checked by": row["checked_by"], "size": _size(row["size"]), "group": _PLACES[row["place"]]}
        for row in rows
    ]
    shown.sort(key=lambda row: list(_PLACES).index(row["place"]))
    notes = [] if details else ["--details adds licence, source and how a download is verified."]
    show(Table("Data sets", columns, shown, notes, group="group"), as_json=False)


def fetch(
    name: Name,
    trust_unchecked: Annotated[
        bool, typer.Option("--trust-unchecked", help="Download even if neither the checksum nor the size is known.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Download and verify a data set, and print its path. A copy already on disk is reused.

    Example: densray data fetch glove-6b
    """
    from densray.datasets import data_folder
    from densray.datasets import fetch as fetch_dataset

    note(f"Fetching {name} into {data_folder()}", quiet=quiet)
    with progress_bar(f"Fetching {name}", quiet=quiet) as progress:
        path = fetch_dataset(name, trust_unchecked=trust_unchecked, progress=progress)
    if as_json:
        print_json({"name": name, "path": path})
    else:
        typer.echo(path)


def path(name: Name, as_json: Json = False) -> None:
    """Print the path of a data set on this machine.

    Example: densray data path googlenews-26k
    """
    from densray.datasets import path_of

    found = path_of(name)
    if as_json:
        print_json({"name": name, "path": found})
    else:
        typer.echo(found)


def _size(count: int | None) -> str:
    """Return a number of bytes in kB, MB or GB."""
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
        "checked_by": entry.checked_by,
        "embedded": entry.embedded,
        "place": _place(entry),
    }


#: Location of a data set, and its heading in the list, in order.
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
    """Find, measure and remove concepts in the bundled word vectors, offline, and write a report with figures.

    Example: densray demo
    """
    check_page(output, overwrite=overwrite or output == REPORT)  # its own report is replaced by the next one
    from densray.demonstration import demonstrate
    from densray.errors import how_to_install
    from densray.report import Section, write_html

    note(f"Writing {output} at the end", quiet=quiet)
    with progress_bar("Sentiment, gender, analogies, removal", quiet=quiet) as progress:
        report = demonstrate(progress)
    write_html(report, output, overwrite=True)
    if as_json:
        print_json(report)
        return
    show(report, as_json=False, quiet=quiet, details=details)
    print(f"\nThe report with its figures: {output.resolve()}")
    if not any(section.figures for section in report.sections if isinstance(section, Section)):
        print(f"It has none yet, because they need the extra figures. {how_to_install('figures')}")


@with_option_groups
def explore(
    columns: TableOptions,
    spaces: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SPACE|TABLE|FOLDER]...",
            help="Vector files or names of data sets, one table of documents, or a folder of hidden states. Default: "
            "googlenews-26k.",
        ),
    ] = None,
    label_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="For a table: the label column to show first on each page.")
    ] = None,
    group_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="For a table: the group column. Rows with the same value are held out together."
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", metavar="N", help="Port to listen on, on this machine only.")] = 8501,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Serve the page without opening a browser.")] = False,
    limit: Limit = None,
    quiet: Quiet = False,
) -> None:
    """Explore spaces or a table in the browser, along axes that you define.

    The page is served on 127.0.0.1 only and works offline. Press Ctrl-C to stop it. A file is treated as a table of
    documents if it contains duplicate texts, if most of its texts have several words, or if you give an option for
    tables, such as --label-column. A folder of hidden states (from `densray model read`) opens on the
    Layers page, together with the bundled space.

    Example: densray explore googlenews-26k --port 8600
    """
    from densray.explorer.server import check_ready, launch

    check_ready(port)
    from densray.datasets import load_space

    named = {"--label-column": label_column, "--group-column": group_column}
    options = [name for name, value in named.items() if value is not None] + changed_options(columns)
    table = _table_among(list(dict.fromkeys(spaces or [])), options)
    if table is not None:
        refuse_given({"--limit": limit}, "belongs to a space of words")
        _explore_table(table, columns, label_column, group_column, port=port, browser=not no_browser, quiet=quiet)
        return
    loaded, given = [], _opened_states(list(dict.fromkeys(spaces or ["googlenews-26k"])))
    with warnings.catch_warnings():
        # of a server stopped before it has begun
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        try:
            for space in given:
                note(f"Reading {space} …", quiet=quiet)
                with progress_bar(f"Reading {space}", quiet=quiet):
                    loaded.append(load_space(space, limit=limit))
            launch(*loaded, sources=given, port=port, browser=not no_browser, ready=None if quiet else _say_where)
        except KeyboardInterrupt:  # the way to end it: nothing is lost
            return


def _table_among(given: list[str], options: list[str]) -> str | None:
    """Return the table among the inputs; None if there is none. A table is opened alone."""
    from densray.errors import TaskError

    if options and not given:
        raise TaskError(f"{', '.join(options)} belongs to a table of documents, and no table is given. Give its file.")
    tables = [each for each in given if opens_as_table(each, asked=bool(options))]
    if tables and len(given) > 1:
        raise TaskError(
            f"{tables[0]} is a table of documents, and {len(given)} files or names are given. A table is explored "
            "alone: start the explorer once for each, with another --port."
        )
    return tables[0] if tables else None


def _explore_table(
    path: str,
    columns: TableOptions,
    label_column: str | None,
    group_column: str | None,
    *,
    port: int,
    browser: bool,
    quiet: bool,
) -> None:
    """Open the explorer on a table of documents."""
    from densray.explorer.server import launch_table
    from densray.explorer.table_bench import TableBench

    try:
        note(f"Reading {path} …", quiet=quiet)
        with progress_bar(f"Reading {path}", quiet=quiet) as progress:
            with warnings.catch_warnings(record=True) as caught:
                opened = open_it(path, columns)
            for each in caught:
                warnings.warn(each.message, stacklevel=1)
            bench = TableBench(
                opened,
                source=path,
                text_column=columns.text_column,
                label_column=label_column,
                group_column=group_column,
                classes=columns.classes,
                notes=[str(each.message) for each in caught],
                progress=progress,
            )
        launch_table(bench, port=port, browser=browser, ready=None if quiet else _say_where)
    except KeyboardInterrupt:  # the way to end it: nothing is lost
        return


def _opened_states(given: list[str]) -> list[str]:
    """Open the given hidden states for the Layers page; return the spaces, by default the bundled one."""
    from densray.states import States, is_states_folder

    folders = [each for each in given if is_states_folder(each)]
    if folders:
        from densray.explorer.views import layers

        layers.use(States.open(folders[0]))
    return [each for each in given if each not in folders] or ["googlenews-26k"]


def _say_where(address: str) -> None:
    typer.echo(f"Exploring at {address} (Ctrl-C stops it)", err=True)
