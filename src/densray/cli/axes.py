"""``densray fit``, ``diagnose``, ``induce``, ``score`` and ``methods``: from a word list to an axis and to scores."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from densray.cli.options import (
    Answer,
    AnySpace,
    AxisFlags,
    Cluster,
    Encoder,
    Json,
    LabelOptions,
    LexiconName,
    LexiconOptions,
    Method,
    Output,
    Overwrite,
    RatingOptions,
    ReportFile,
    Space,
    SpaceAnswer,
    SpaceOrTable,
    TableOptions,
    changed_options,
    with_option_groups,
)
from densray.cli.tables import check_table, diagnose_table, embeds_words, fit_table, refuse_given, score_table
from densray.cli.terminal import (
    check_output,
    check_report,
    note,
    print_json,
    progress_bar,
    show,
    with_tensor_ending,
    write_report,
)

if TYPE_CHECKING:
    from densray.axes import Axis, ClassesDiagnosis, Diagnosis, Induction
    from densray.lexicon import Lexicon
    from densray.report import Figure, Result
    from densray.space import WordSpace

Pairs: TypeAlias = Annotated[
    bool, typer.Option("--pairs", help="LEXICON is a list of word pairs, the word of the high end first.")
]
Permutations: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--n-permutations",
        min=19,
        metavar="N",
        help="How often labels are shuffled for the p-value. Default: 999, or fewer for slow methods and for more "
        "than 5,000 seeds.",
    ),
]
Source: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="LEXICON|AXIS",
        help="Labelled words, or an axis saved by densray fit (.safetensors). Or give --high and --low.",
    ),
]


@with_option_groups
def fit(
    space: SpaceOrTable,
    output: Output,
    lexicon_options: LabelOptions,
    table: TableOptions,
    columns: RatingOptions,
    options: AxisFlags,
    answer: SpaceAnswer,
    lexicon: LexiconName = None,
    ratings: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A file of items rated by people. The axis is fitted to them and to the words of the LEXICON, which "
            "say which end is high.",
        ),
    ] = None,
    encoder: Encoder = None,
    method: Method = "auto",
    n_components: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of axes to save. The first is the concept, and scores use only this one. The others are "
            "used only by densray rotate and densray erase --n-axes. Default: as many axes as dimensions.",
        ),
    ] = None,
    judge: Annotated[
        bool,
        typer.Option(
            "--judge/--no-judge", help="Check how far the axis can be trusted (--judge), or only save it (--no-judge)."
        ),
    ] = True,
    pairs: Pairs = False,
    n_permutations: Permutations = None,
    card: Annotated[bool, typer.Option("--card", help="Also write a README.md that describes the axis.")] = False,
    overwrite: Overwrite = False,
) -> None:
    """Find the axis of labelled words or documents, save it, and report how far it can be trusted.

    For words, give a space and a LEXICON. For documents, give a table and --label-column. With more than two classes,
    each class gets its own axis. To score documents with an axis of words, give the table and a LEXICON. The words are
    then embedded with the encoder recorded in the table, or with --encoder.

    With --ratings, the words define the two ends of a scale, and a few items rated by people adjust the axis.

    Example: densray fit googlenews-26k hu-liu -o sentiment.safetensors
    """
    of_spaces = _of_spaces(options, answer, pairs=pairs) | {"--ratings": ratings}
    embedded = embeds_words(space, lexicon, lexicon_options, table, encoder)
    if check_table(lexicon, lexicon_options, table, others=of_spaces, embedded=embedded):
        fit_table(
            space,
            output,
            lexicon,
            lexicon_options,
            table,
            options,
            Answer(answer.as_json, answer.quiet),
            encoder=encoder,
            method=method,
            n_components=n_components,
            judge=judge,
            n_permutations=n_permutations,
            card=card,
            overwrite=overwrite,
        )
        return
    target = check_output(with_tensor_ending(output), overwrite=overwrite)
    from densray.axes import expected_agreement, fit_axis
    from densray.datasets import load_space
    from densray.errors import TaskError
    from densray.rotations import name_method

    words, paired = _read_lexicon(lexicon, pairs, lexicon_options)
    rated = None if ratings is None else columns.load(ratings)
    if rated is None and changed_options(columns):
        raise TaskError(f"{', '.join(changed_options(columns))} given without --ratings, which it belongs to.")
    note(f"Writing {target} at the end", quiet=answer.quiet)
    with progress_bar(f"Fitting {name_method(method)}", quiet=answer.quiet) as progress:
        axis = fit_axis(
            load_space(space, limit=answer.limit),
            words,
            target,
            ratings=rated,
            method=method,
            n_components=n_components,
            judge=judge,
            pairs=paired,
            n_permutations=n_permutations,
            label_names=lexicon_options.ends,
            overwrite=overwrite,
            card=card,
            progress=progress,
            **asdict(options),
        )
    if judge:
        _show_written(axis.diagnose(pairs=paired), target, answer)
    else:
        _show_saved(axis, target, answer)
    if rated is not None and not answer.as_json and not answer.quiet:
        for remark in (*rated.notes, *rated.doubtful_raters()):
            typer.echo(remark)
        check = f"densray evaluate ratings {space} RATINGS {target}"
        typer.echo(f"{expected_agreement(len(axis.known_rows))} Measure it on other items: {check}")


@with_option_groups
def diagnose(
    space: SpaceOrTable,
    lexicon_options: LabelOptions,
    table: TableOptions,
    options: AxisFlags,
    answer: SpaceAnswer,
    lexicon: LexiconName = None,
    encoder: Encoder = None,
    method: Method = "auto",
    pairs: Pairs = False,
    n_permutations: Permutations = None,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Also print the BibTeX entries to cite.")] = False,
    report: ReportFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Report how far an axis can be trusted, and which labelled words or documents contradict it.

    For words, give a space and a LEXICON. For documents, give a table and --label-column. To check an axis that is
    learned from words and used on documents, give a table and a LEXICON. The words are encoded with the encoder
    recorded in the table, or with --encoder.

    Example: densray diagnose googlenews-26k gender --method densray-unit
    """
    check_report(report, overwrite=overwrite, quiet=answer.quiet)
    of_spaces = _of_spaces(options, answer, pairs=pairs)
    embedded = embeds_words(space, lexicon, lexicon_options, table, encoder)
    if check_table(lexicon, lexicon_options, table, others=of_spaces, embedded=embedded):
        judged = diagnose_table(
            space,
            lexicon,
            lexicon_options,
            table,
            options,
            Answer(answer.as_json, answer.quiet),
            encoder=encoder,
            method=method,
            n_permutations=n_permutations,
        )
        from densray.axes import Diagnosis

        concept = judged.lexicon if isinstance(judged, Diagnosis) else judged.concept
        title = f"Axis “{concept}”: trust report"
        write_report(report, title, judged, _figures_of_diagnosis, overwrite=overwrite, quiet=answer.quiet)
        show(judged, as_json=answer.as_json, quiet=answer.quiet, bibtex=bibtex)
        return
    from densray.axes import diagnose as diagnose_lexicon
    from densray.datasets import load_space

    words, paired = _read_lexicon(lexicon, pairs, lexicon_options)
    with progress_bar(f"Diagnosing {method}", quiet=answer.quiet) as progress:
        diagnosis = diagnose_lexicon(
            load_space(space, limit=answer.limit),
            words,
            method=method,
            pairs=paired,
            n_permutations=n_permutations,
            label_names=lexicon_options.ends,
            progress=progress,
            **asdict(options),
        )
        title = f"Axis “{words.name}”: trust report"
        write_report(report, title, diagnosis, _figures_of_diagnosis, overwrite=overwrite, quiet=answer.quiet)
    show(diagnosis, as_json=answer.as_json, quiet=answer.quiet, bibtex=bibtex)


@with_option_groups
def induce(
    space: Space,
    output: Output,
    lexicon_options: LexiconOptions,
    options: AxisFlags,
    answer: SpaceAnswer,
    source: Source = None,
    method: Method = "auto",
    pairs: Pairs = False,
    any_space: AnySpace = False,
    top: Annotated[int, typer.Option("--top", min=1, metavar="N", help="Number of words to show at each end.")] = 10,
    report: ReportFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Score every word of a space, and write the scores to a file (.csv, .tsv, .parquet).

    For each word, the file gives its score, rank, percentile, probability, likeness to the seeds (like_seeds) and
    standard error. If the command fits the axis, it also gives the labels of the seeds. Words unlike the seeds have no
    probability.

    Given labelled words, the command fits their axis first. A saved AXIS is already fitted, so options that control the
    fit cannot be combined with it.

    A score is the coordinate on the axis. A score of 0 is not neutral. The output states the even-odds score: a word
    with this score is equally likely to belong to either end.

    Example: densray induce googlenews-26k hu-liu -o sentiment.tsv
    """
    target = check_output(output, overwrite=overwrite)
    check_report(report, overwrite=overwrite, quiet=answer.quiet)
    from densray.axes import check_ending

    check_ending(target)
    note(f"Writing {target} at the end", quiet=answer.quiet)
    induced = _induce(
        space, source, method, lexicon_options, options, answer, pairs=pairs, any_space=any_space, n_ends=top
    )[1]
    path = induced.write(target, overwrite=overwrite)
    if induced.scores.standard_error is None:
        note(
            f"{source} was saved without error estimates: only scores and ranks are written. densray fit --judge "
            f"saves them.",
            quiet=answer.quiet,
        )
    title = f"Induced lexicon: “{induced.axis.concept}” in {induced.space.name}"
    write_report(report, title, induced, _figures_of_induction, overwrite=overwrite, quiet=answer.quiet)
    _show_written(induced, path, answer)


@with_option_groups
def score(
    space: SpaceOrTable,
    lexicon_options: LexiconOptions,
    table: TableOptions,
    options: AxisFlags,
    answer: SpaceAnswer,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="LEXICON|AXIS",
            help="Labelled words (a file or the name of a data set), or an axis saved by densray fit. Leave it out "
            "with --high and --low.",
        ),
    ] = None,
    words: Annotated[list[str] | None, typer.Argument(metavar="WORD...", help="The words to score.")] = None,
    method: Method = "auto",
    pairs: Pairs = False,
    any_space: AnySpace = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="For a table: the scored table to write, or a folder."),
    ] = None,
    keep_vectors: Annotated[bool, typer.Option("--keep-vectors", help="For a table: write the vectors too.")] = False,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="COLUMNS",
            help="For a table: compare groups of documents by these columns (comma-separated).",
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure", metavar="FILE", help="With --by: save a figure of the means (.png, .svg, .pdf, .html)."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="With --by: write one HTML page with the means and a figure."),
    ] = None,
    cluster: Cluster = None,
    overwrite: Overwrite = False,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="With --by: also show the mean of each group and its standard error.",
        ),
    ] = False,
) -> None:
    """Score words or documents on an axis: score, standard error, probability.

    For words, list them after the LEXICON or AXIS. With --high and --low there is no AXIS, and every argument after
    SPACE is a word. For a table of documents, -o writes the table with scores, and --by compares groups of documents.

    Example: densray score googlenews-26k hu-liu lawyer nurse
    """
    if output is not None or by is not None:
        if source is None:
            from densray.errors import TaskError

            raise TaskError("no AXIS was given. Give one that densray fit saved, after the table.")
        given = [*(words or []), *changed_options(lexicon_options, but=("group_column",)), *changed_options(options)]
        _refuse_beside_table([*given, *(["--limit"] if answer.limit else [])])
        score_table(
            space,
            source,
            output,
            lexicon_options,
            table,
            Answer(answer.as_json, answer.quiet),
            keep_vectors=keep_vectors,
            any_space=any_space,
            by=by,
            figure=figure,
            report=report,
            cluster=cluster,
            overwrite=overwrite,
            details=details,
        )
        return
    refuse_given(
        {"--figure": figure, "--report": report, "--details": details},
        "shows mean scores of a table, which need --by COLUMNS",
    )
    listed = words or []  # with two lists there is no AXIS, so the first word stands in its place
    axis, asked = (None, [source, *listed] if source else []) if lexicon_options.has_lists else (source, listed)
    from densray.axes import near_misses
    from densray.errors import SpaceError, name_some
    from densray.report import Column, Table, show_number

    if not asked:
        place = "SPACE" if lexicon_options.has_lists else "the LEXICON or AXIS"
        raise SpaceError(
            f"no word was given. List the words to score after {place}. To score a table of documents, give -o FILE or "
            "--by COLUMN."
        )
    found, induced = _induce(space, axis, method, lexicon_options, options, answer, pairs=pairs, any_space=any_space)
    rows = found.locate(asked, any_case=options.any_case)
    missing = [word for word, row in zip(asked, rows.tolist(), strict=True) if row < 0]
    instead = {miss.word: miss.found for miss in near_misses(missing, found)} if missing else {}
    apart = _advise_spaces(missing, found)
    if len(missing) == len(asked):
        hint = f" It has {name_some(list(instead.values()))}." if instead else ""
        raise SpaceError(f"{name_some(missing)}: not in '{found.name}'.{apart or f'{hint} Give words of the space.'}")
    entries = induced.entries([row for row in dict.fromkeys(rows.tolist()) if row >= 0])
    assert induced.provenance is not None
    unused = induced.provenance.unused_lines()
    if answer.as_json:
        left = {
            "seeds_missing": induced.provenance.words_missing,
            "seeds_set_aside": induced.provenance.words_set_aside,
        }
        known = left | {"method": induced.method, "even_odds": induced.even_odds, "label_names": induced.label_names}
        print_json({**known, "n_words": induced.n_words, "words": entries, "words_missing": missing})
        return
    columns = [Column("word"), Column("score", decimals=3), Column("standard_error", "±", decimals=3)]
    columns += [Column("probability", decimals=3, open_ends=True), Column("rank"), Column("percentile", decimals=1)]
    notes = [f"Not in the space: {_name_missing(missing, instead)}.{apart}"] if missing else []
    if again := _same_words(asked, rows.tolist()):
        notes.append(f"One word of the space, listed once: {', '.join(again)}.")
    if unused and not answer.quiet:
        notes.append(f"Of the labelled words: {'; '.join(unused)}.")
    notes.append(induced.axis.orientation)
    if induced.even_odds is not None:
        notes.append(f"Even odds lie at {show_number(induced.even_odds)}.")
    if any(entry.get("probability", 0.0) is None for entry in entries):
        notes.append(induced.explain_empty())
    shown = [column for column in columns if column.key in entries[0]]
    title = f"{len(entries)} of {induced.n_words:,} words, by {induced.method}"
    show(Table(title, shown, entries, notes), as_json=False, quiet=answer.quiet)


def methods(as_json: Json = False) -> None:
    """List the methods that find an axis.

    Example: densray methods
    """
    from densray.methods import METHODS  # not from rotations, which waits for scikit-learn
    from densray.report import Table

    rows = [
        {"method": name, "labels": "two classes" if found.classes_only else "classes or scores", "axis": found.summary}
        for name, found in METHODS.items()
    ]
    if as_json:
        print_json(rows)
    else:
        show(Table("Methods", ["method", "labels", "axis"], rows), as_json=False)


def _refuse_beside_table(given: list[str]) -> None:
    from densray.errors import TaskError, name_some

    if given:
        raise TaskError(
            f"{name_some(given)} given with -o or --by, which score a table along a saved AXIS. Leave it out, or leave "
            "out -o and --by to look up words of a space."
        )


def _of_spaces(options: AxisFlags, answer: SpaceAnswer, *, pairs: bool) -> dict[str, Any]:
    """Return the options that only spaces of words accept, with their values."""
    return {"--pairs": pairs, "--any-case": options.any_case is not None, "--limit": answer.limit}


def _induce(
    space: str,
    source: str | None,
    method: str,
    lexicon_options: LexiconOptions,
    options: AxisFlags,
    answer: SpaceAnswer,
    *,
    pairs: bool,
    any_space: bool,
    n_ends: int = 10,
) -> tuple[WordSpace, Induction]:
    """Return a space and its words scored along a saved axis, or along the axis of labelled words."""
    from densray.axes import induce as induce_words
    from densray.datasets import load_space
    from densray.persistence import is_tensor_file

    if source is not None and is_tensor_file(source):
        _refuse_beside_axis(source, method, lexicon_options, options, pairs=pairs)
        with progress_bar(f"Scoring {space}", quiet=answer.quiet):
            vectors = load_space(space, limit=answer.limit)
            axis = _load_axis(source, lexicon_options, vectors, any_space=any_space)
            return vectors, induce_words(vectors, axis, n_ends=n_ends)
    words = _read_lexicon(source, pairs, lexicon_options)[0]
    with progress_bar(f"Scoring {space}", quiet=answer.quiet) as progress:
        vectors = load_space(space, limit=answer.limit)
        ends = lexicon_options.ends
        induced = induce_words(
            vectors, words, method=method, n_ends=n_ends, label_names=ends, progress=progress, **asdict(options)
        )
        return vectors, induced


def _load_axis(source: str, lexicon_options: LexiconOptions, space: WordSpace, *, any_space: bool) -> Axis:
    from densray.axes import Axis

    axis = Axis.load(source, space, any_space=any_space)
    axis.label_names = lexicon_options.ends or axis.label_names
    return axis


def read_source(
    source: str | None,
    method: str,
    lexicon_options: LexiconOptions,
    options: AxisFlags,
    space: WordSpace,
    *,
    any_space: bool,
) -> Axis | Lexicon:
    """Return a saved axis, or the labelled words to find one from."""
    from densray.persistence import is_tensor_file

    if source is None or not is_tensor_file(source):
        return lexicon_options.load(source)
    _refuse_beside_axis(source, method, lexicon_options, options, pairs=False)
    return _load_axis(source, lexicon_options, space, any_space=any_space)


def _refuse_beside_axis(
    source: str, method: str, lexicon_options: LexiconOptions, options: AxisFlags, *, pairs: bool
) -> None:
    """Raise if options that control a fit are given with a saved axis."""
    from densray.errors import TaskError

    given = ["--method"] if method != "auto" else []
    given += ["--pairs"] if pairs else []
    for group in (lexicon_options, options):
        given += changed_options(group, but=("label_names", "any_case"))
    if given:
        raise TaskError(
            f"{', '.join(given)} given with {source}, a saved axis, which is not fitted again. Leave it out, or give "
            "the LEXICON to fit another axis."
        )


def _read_lexicon(
    lexicon: str | None, pairs: bool, lexicon_options: LexiconOptions
) -> tuple[Lexicon, list[tuple[str, str]] | None]:
    """Return the labelled words, and the pairs if pairs were given."""
    if not pairs:
        return lexicon_options.load(lexicon), None
    from densray.datasets import load_pairs
    from densray.errors import TaskError
    from densray.lexicon import Lexicon

    given = changed_options(lexicon_options, but=("label_names",))
    if lexicon is None or given:
        raise TaskError(f"--pairs needs a LEXICON of pairs, without {', '.join(given) or '--high and --low'}.")

    listed = load_pairs(lexicon)
    return Lexicon.from_pairs(listed, name=Path(lexicon).stem), listed


def _advise_spaces(missing: list[str], space: WordSpace) -> str:
    """Return the advice to separate words by spaces, if some have commas between words of the space."""
    joined = [word.split(",") for word in missing if "," in word]
    parts = [part for each in joined if (space.locate(each) >= 0).any() for part in each if part]
    return f" Write words without commas: {' '.join(parts)}." if parts else ""


def _same_words(asked: list[str], rows: list[int]) -> list[str]:
    """Return the spellings of a word of the space that was already asked for, each next to the first."""
    first = {row: word for word, row in reversed([*zip(asked, rows, strict=True)])}
    pairs = dict.fromkeys((first[row], word) for word, row in zip(asked, rows, strict=True) if row >= 0)
    return [f"{earlier} and {word}" for earlier, word in pairs if word != earlier]


def _name_missing(missing: list[str], instead: dict[str, str]) -> str:
    return ", ".join(f"{word} (it has {instead[word]})" if word in instead else word for word in missing)


_WIDTH_OF_CHARTS = 640  # pixels, in the report of induce


def _figures_of_induction(induced: Induction) -> list[Figure]:
    from densray.figures import figure, ranked_words, score_histogram

    return [
        figure(
            ranked_words(induced, n_words=len(induced.highest)),
            f"The words at both ends of the axis{_even_odds(induced)} Bars: two standard errors.",
            width=_WIDTH_OF_CHARTS,
        ),
        figure(score_histogram(induced), f"Distribution of scores{_even_odds(induced)}", width=_WIDTH_OF_CHARTS),
    ]


def _even_odds(induced: Induction) -> str:
    """Return the end of a caption, with the meaning of the dashed line if there is one."""
    from densray.report import show_number

    even = induced.even_odds
    return "." if even is None else f"; the dashed line: even odds, at {show_number(even)}."


def _figures_of_diagnosis(diagnosis: Diagnosis | ClassesDiagnosis) -> list[Figure]:
    from densray.axes import Diagnosis
    from densray.figures import figure, seed_influence

    if not isinstance(diagnosis, Diagnosis) or not diagnosis.influential:
        return []
    measure = "turns the axis by (°) when left out"
    chart = seed_influence(diagnosis, n_seeds=20, measure=measure, ends=diagnosis.end_names)
    grouped = "" if diagnosis.n_groups is None else " Seeds of one group are left out together."
    return [figure(chart, f"Seeds that move the axis most.{grouped}")]


def _show_saved(axis: Axis, path: Path, answer: SpaceAnswer) -> None:
    """Show the file of an axis that was not judged."""
    rows = axis.known_rows
    if answer.as_json:
        left = {"words_missing": rows.missing, "words_set_aside": rows.set_aside}
        print_json({"path": path, "method": axis.method, "n_seeds": len(rows), **left})
    elif not answer.quiet:
        aside = "".join(f", {len(words)} {why}" for why, words in rows.set_aside.items())
        typer.echo(f"Written: {path} ({axis.method}; {len(rows)} seeds, {len(rows.missing)} words missing{aside})")


def _show_written(result: Result, path: Path, answer: SpaceAnswer) -> None:
    if answer.as_json:
        plain: dict[str, Any] = {"path": str(path), **result.to_dict()}
        print_json(plain)
        return
    show(result, as_json=False, quiet=answer.quiet)
    if not answer.quiet:
        typer.echo(f"Written: {path}")
