"""`densray reproduce`: our numbers next to the paper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from densray.cli.evaluate import Samples, Sizes
from densray.cli.options import (
    Answer,
    FigureFile,
    Fresh,
    LongAnswer,
    Methods,
    Overwrite,
    RandomState,
    split_names,
    split_numbers,
    with_option_groups,
)
from densray.cli.terminal import check_figure, complain, long_run, note, print_json, progress_bar, show, write_figure

if TYPE_CHECKING:
    from densray.report import Table
    from densray.space import WordSpace


def show_comparison(table: str, rows: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    """Print our rows of a published table next to the paper's: a list of rows as JSON, or a table.

    ``rows`` carry the keys of the published table and ``ours``; see :func:`densray.paper.compare`.
    """
    from densray.paper import compare, comparison_table, published

    compared = compare(rows, published(table))
    if as_json:
        print_json([{key: row[key] for key in row if key != "difference"} for row in compared])
    else:
        show(comparison_table(table, compared), as_json=False)


GivenSpace = Annotated[
    str, typer.Option("--space", metavar="SPACE", help="A file of vectors, or the name of a data set.")
]
Vocabulary = Annotated[int, typer.Option("--limit", min=1, metavar="N", help="Read only the first N words.")]
Embedding = Annotated[
    str,
    typer.Option(
        "--embedding", metavar="GN|FT", help="Space of the paper to compare with: GN (GoogleNews) or FT (fastText)."
    ),
]


def analogy_command(table: str, summary: str, example: str) -> Callable[..., None]:
    """Return the command that reproduces one of the tables of analogies."""

    def reproduce(
        answer: Answer,
        space: GivenSpace = "googlenews-26k",
        limit: Vocabulary = 80_000,
        embedding: Embedding = "GN",
        fresh: Fresh = False,
    ) -> None:
        _reproduce_analogies(table, space, limit, embedding, answer, fresh=fresh)

    reproduce.__doc__ = f"{summary}\n\nExample: densray reproduce {example}"
    return with_option_groups(reproduce)


def _reproduce_analogies(table: str, space: str, limit: int, embedding: str, answer: Answer, *, fresh: bool) -> None:
    from densray.datasets import load_analogies, load_space
    from densray.errors import DataError, TaskError
    from densray.paper import analogy_tables, reproduce_analogies
    from densray.report import Section

    if embedding not in ("GN", "FT"):
        raise TaskError(f"--embedding '{embedding}' is unknown. Use GN (GoogleNews) or FT (fastText).")
    sets, missing = [load_analogies("google")], ""
    try:
        sets.append(load_analogies("bats"))
    except DataError as error:
        missing = f"without BATS: {' '.join(str(error).split())}"
    vectors = load_space(space, limit=limit)
    with long_run(fresh=fresh, quiet=answer.quiet) as run:
        with run.progress("Solving analogies") as progress:
            rows = reproduce_analogies(
                table, vectors, sets, embedding=embedding, progress=progress, journal=run.journal
            )
        if missing and not answer.quiet:  # here, since a run that is refused says one line
            complain(missing)
        if answer.as_json:
            print_json([{key: row[key] for key in row if key != "difference"} for row in rows])
            return
        for drawn in analogy_tables(table, rows):
            show(Section("", tables=[drawn]), as_json=False)


@with_option_groups
def table3(answer: Answer, space: GivenSpace = "googlenews-26k") -> None:
    """List the occupations with the greatest gender bias before and after removal, next to the published list.

    Example: densray reproduce table3 --json
    """
    from densray import paper
    from densray.datasets import load_space

    with progress_bar("Removing gender", quiet=answer.quiet):
        rows = paper.table3(paper.occupation_gaps(load_space(space)))
    show_comparison("table3", rows, as_json=answer.as_json)


@with_option_groups
def figure2(
    answer: Answer, space: GivenSpace = "googlenews-26k", output: FigureFile = None, overwrite: Overwrite = False
) -> None:
    """Plot the cosines of 320 occupations to "man" and "woman", before and after removal (two scatter plots).

    Example: densray reproduce figure2 -o figure2.svg
    """
    from densray import paper
    from densray.datasets import load_space
    from densray.report import Column, Table

    check_figure(output, overwrite=overwrite, quiet=answer.quiet)
    with progress_bar("Removing gender", quiet=answer.quiet):
        gaps = paper.occupation_gaps(load_space(space))
    if output is not None:
        from densray.figures import anchor_scatter, save

        title = "Cosines of occupations to “man” and “woman”"
        chart = anchor_scatter(paper.figure2(gaps), anchors=paper.ANCHORS, title=title)
        save(chart, output, overwrite=overwrite)
        note(f"Wrote {output}", quiet=answer.quiet)
    if answer.as_json:
        print_json(paper.figure2(gaps))
        return
    rows = [
        {"space": block, "words": gap.used, "gap": gap.value, "low": gap.interval[0], "high": gap.interval[1]}
        for block, gap in gaps.items()
        if gap.interval is not None
    ]
    columns: list[Column | str] = ["space", "words", *(Column(key, decimals=4) for key in ("gap", "low", "high"))]
    notes = [] if output is not None else ["-o figure2.svg writes the figure itself (.png, .svg, .pdf or .html)."]
    show(Table("Figure 2: mean distance from the line, with 95% interval", columns, rows, notes), as_json=False)


EN = "EN=googlenews-26k"


@with_option_groups
def table1(
    answer: LongAnswer,
    space: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SPACE",
            help="Vectors for the rows of one language. NAME: CZ, DE, ES, FR, EN or EN(t) (English tweets). SPACE: a "
            "file or data set (repeatable).",
        ),
    ] = None,
    methods: Methods = None,
    random_state: RandomState = 0,
) -> None:
    """Compare Kendall's τ of lexicon induction with the published values, for each row of table 1.

    If the vectors for a row are missing, a note says where to get them. By default, EN uses the bundled part of
    GoogleNews.

    Example: densray reproduce table1 --space FR=cc.fr.300.vec.gz
    """
    from densray import paper
    from densray.axes import PAPER_METHODS, Protocol

    spaces = _load_spaces([EN, *(space or [])], answer.limit)
    chosen, protocol = split_names(methods) or PAPER_METHODS, Protocol.paper(random_state=random_state)
    with long_run(fresh=answer.fresh, quiet=answer.quiet) as run:
        with run.progress("Inducing") as progress:
            rows = paper.table1(spaces, methods=chosen, protocol=protocol, progress=progress, journal=run.journal)
        _check_computed(rows)
        if answer.as_json:
            show_comparison("table1", rows, as_json=True)
        else:
            show(_readable(rows), as_json=False)


@with_option_groups
def figure1(
    answer: LongAnswer,
    space: GivenSpace = "googlenews-26k",
    lexicon: Annotated[str, typer.Option(metavar="LEXICON", help="Words and scores (the paper uses bwk).")] = "bwk",
    methods: Methods = None,
    sizes: Sizes = None,
    n_samples: Samples = 40,
    densifier_solver: Annotated[
        str, typer.Option(metavar="SOLVER", help="exact, or sgd (gradient descent, as published).")
    ] = "exact",
    random_state: RandomState = 0,
    output: FigureFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Plot the mean and standard deviation of Kendall's τ against the size of the training lexicon.

    The paper prints no numbers for this figure, so there are none to compare with.

    Example: densray reproduce figure1 -o figure1.svg
    """
    check_figure(output, overwrite=overwrite, quiet=answer.quiet)
    from densray.axes import DEFAULT_SIZES, STABILITY_METHODS, Protocol, evaluate_stability
    from densray.datasets import load_lexicon, load_space

    with long_run(fresh=answer.fresh, quiet=answer.quiet) as run:
        with run.progress("Sampling") as progress:
            result = evaluate_stability(
                load_space(space, limit=answer.limit),
                load_lexicon(lexicon),
                methods=split_names(methods) or STABILITY_METHODS,
                sizes=split_numbers(sizes) or DEFAULT_SIZES,
                n_samples=n_samples,
                protocol=Protocol.paper(random_state=random_state, densifier_solver=densifier_solver),
                progress=progress,
                journal=run.journal,
            )
        write_figure(result.figure, output, overwrite=overwrite, quiet=answer.quiet)
        if answer.as_json:
            print_json(result.rows())
        else:
            show(result, as_json=False, quiet=answer.quiet)
            if output is None:
                note("-o figure1.svg writes the figure itself (.png, .svg, .pdf or .html)", quiet=answer.quiet)


def _check_computed(rows: list[dict[str, Any]]) -> None:
    """Raise if no line of the table could be computed; name what the last line with a given space needs."""
    from densray.errors import DataError

    if all(row["ours"] is None for row in rows):
        lines = [row for row in rows if "--space" not in row["note"] and row["embedding"]]
        need = lines[-1]["note"].removeprefix("not computed: ")
        raise DataError(f"no line of table 1 can be computed. Line {lines[-1]['line']}: {need}")


def _readable(rows: list[dict[str, Any]]) -> Table:
    """Return the computed lines as a table, with notes on each line below it."""
    from densray.paper import compare, comparison_table, published

    notes: dict[str, list[str]] = {}
    for row in rows:
        lines = notes.setdefault(row["note"], [])
        if row["note"] and str(row["line"]) not in lines:
            lines.append(str(row["line"]))
    said = [f"Line {', '.join(lines)}: {note.rstrip('.')}." for note, lines in notes.items() if lines]
    computed = [row for row in compare(rows, published("table1")) if row["ours"] is not None]
    table = comparison_table("table1", [{key: row[key] for key in row if key != "note"} for row in computed])
    return replace(table, notes=[*table.notes, *said])


def _load_spaces(given: list[str], limit: int | None) -> dict[str, WordSpace]:
    """Return spaces from NAME=SPACE; a later one replaces an earlier one of the same name."""
    from densray.datasets import load_space
    from densray.errors import DataError
    from densray.paper import EMBEDDINGS

    sources: dict[str, str] = {}
    for pair in given:
        name, _, source = pair.partition("=")
        if name not in EMBEDDINGS or not source:
            raise DataError(f"--space {pair}: NAME=SPACE is needed, NAME one of {', '.join(EMBEDDINGS)}.")
        sources[name] = source
    return {name: load_space(source, limit=limit) for name, source in sources.items()}
