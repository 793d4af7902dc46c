"""Commands on tables of documents: ``fit``, ``diagnose``, ``score``, ``erase`` and ``evaluate ratings``."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from densray.cli.options import (
    Answer,
    AxisFlags,
    LexiconOptions,
    RatingOptions,
    TableOptions,
    changed_options,
    split_names,
)
from densray.cli.terminal import (
    check_figure,
    check_output,
    check_report,
    note,
    print_json,
    progress_bar,
    say,
    show,
    with_tensor_ending,
    write_figure,
    write_report,
)

if TYPE_CHECKING:
    from densray.axes import Axis, ClassesDiagnosis, Diagnosis, MeanScores, RatingAgreement
    from densray.erasure import Erasure
    from densray.remains import Remains
    from densray.report import Figure
    from densray.rows import Rows
    from densray.tables import EncoderRecord, RewrittenTable, VectorTable


def check_table(
    lexicon: str | None,
    lexicon_options: LexiconOptions,
    columns: TableOptions,
    *,
    others: dict[str, Any] | None = None,
    embedded: bool = False,
) -> bool:
    """Return whether the input is a table; raise if it could be neither or both.

    A label column without a LEXICON and without word lists makes it a table; so do words that are `embedded`. `others`
    are options that only spaces accept; they are refused for a table.
    """
    from densray.errors import TaskError

    given = changed_options(columns)
    if embedded:
        labelled = {"--text-column": columns.text_column, "--classes": columns.classes}
        refuse_given({**labelled, **(others or {})}, "does not belong to words that an encoder embeds")
        return True
    if lexicon is not None or lexicon_options.has_lists:
        if given:
            source = "--high and --low" if lexicon is None else lexicon
            raise TaskError(
                f"{', '.join(given)} belongs to a table of documents, and {source} to a space of words. Give one."
            )
        return False
    if lexicon_options.label_column is None:
        raise TaskError(
            "no labels are given. For a space of words, give a LEXICON, or --high and --low. For a table of documents, "
            "give --label-column."
        )
    refused = changed_options(lexicon_options, but=("label_column", "group_column", "label_names"))
    refuse_given({**dict.fromkeys(refused, True), **(others or {})}, "belongs to a space of words")
    return True


def _names_a_space(path: str) -> bool:
    """Return whether there is no such file, and a data set of this name is a space."""
    from pathlib import Path

    from densray.datasets import list_datasets

    return not Path(path).exists() and path in {entry.name for entry in list_datasets("space")}


def embeds_words(
    path: str, lexicon: str | None, lexicon_options: LexiconOptions, columns: TableOptions, encoder: str | None
) -> bool:
    """Return whether labelled words are to be embedded for a table: an encoder is given, or the table records one."""
    from densray.errors import DensRayError, TaskError

    if lexicon is None and not lexicon_options.has_lists:
        if encoder is not None:
            raise TaskError("--encoder was given without words to embed. Give a LEXICON, or --high and --low.")
        return False
    if encoder is not None:
        return True
    if Path(path).suffix.lower() not in _WITH_RECORDS and not Path(path).is_dir():
        return False
    try:
        return open_it(path, columns).encoder is not None
    except DensRayError:  # a space of words in a file that is no table of documents
        return False


_WITH_RECORDS = (".parquet", ".pq", ".arrow", ".arrows", ".feather", ".ipc")


def refuse_given(options: dict[str, Any], why: str) -> None:
    """Raise if one of these options is given, since it would be ignored."""
    from densray.errors import TaskError

    given = [option for option, value in options.items() if value]
    if given:
        raise TaskError(f"{', '.join(given)} was given; it {why}. Leave it out here.")


#: Number of rows to look at to tell a space of words from a table of documents.
_LOOKED_AT = 10_000


def opens_as_table(path: str, *, asked: bool) -> bool:
    """Return whether a file is explored as a table of documents; raise if it could also be a space.

    It is a table if options of a table are given, or if its texts repeat or mostly have several words.
    """
    from densray.errors import DensRayError, TaskError
    from densray.states import is_states_folder
    from densray.tables import may_be_table

    if asked:
        return True
    if not may_be_table(path) or is_states_folder(path):
        return False
    try:
        names, others = _texts_of_table(path)
    except DensRayError:
        return False  # the reader of spaces says what is wrong
    if names is None or len(set(names)) < len(names) or 2 * sum(" " in name.strip() for name in names) > len(names):
        return True
    if not others:
        return False
    raise TaskError(
        f"{path} could be a space of words or a table of documents: its texts are single words, none of them twice, "
        f"and it has other columns ({', '.join(others[:5])}). For a table, name a column: --text-column or "
        f"--label-column. For a space: densray convert {path} words.densray, and explore that."
    )


def _texts_of_table(path: str) -> tuple[list[str] | None, list[str]]:
    """Return the first texts of the column that could be words (None if there is none), and the other columns."""
    from densray.tables import open_table

    table = open_table(path)
    names = [name for name in table.columns if name not in table.vector_columns.names]
    texts = [name for name in names if "string" in str(table.schema.field(name).type)]
    known = [name for name in texts if name in ("word", "words", "token", "tokens")] or (
        texts if len(texts) == 1 else []
    )
    if not known or Path(path).is_dir():
        return None, names
    found: list[str] = []
    for batch in table.source.batches(known[:1]):
        found += [str(value) for value in batch.column(0).to_pylist() if value is not None]
        if len(found) >= _LOOKED_AT:
            break
    return found, [name for name in names if name != known[0]]


def open_it(path: str, columns: TableOptions) -> VectorTable:
    """Return the table that the options describe."""
    from densray.errors import TaskError
    from densray.tables import open_table

    if _names_a_space(path):
        raise TaskError(
            f"'{path}' is a space of words, and no labelled words are given. Give a LEXICON, or --high and --low. "
            "--label-column names a column of the LEXICON, or of a table of documents."
        )
    return open_table(path, vectors=columns.vector_column, bad_rows=columns.bad_rows)  # type: ignore[arg-type]


def read_rows(
    path: str,
    lexicon: str | None,
    lexicon_options: LexiconOptions,
    columns: TableOptions,
    options: AxisFlags,
    encoder: str | None,
) -> Rows:
    """Return the labelled rows of a table, or labelled words embedded by its encoder."""
    if lexicon is not None or lexicon_options.has_lists:
        from densray.embedding import embed_lexicon

        words = lexicon_options.load(lexicon)
        words.check_label_names(lexicon_options.ends)
        return embed_lexicon(words, open_it(path, columns), encoder=encoder, groups=options.groups)  # type: ignore[arg-type]
    assert lexicon_options.label_column is not None
    return open_it(path, columns).rows(
        lexicon_options.label_column,
        groups=_groups_of(lexicon_options, options),
        names=columns.text_column,
        classes=columns.classes,
    )


def diagnose_table(
    path: str,
    lexicon: str | None,
    lexicon_options: LexiconOptions,
    columns: TableOptions,
    options: AxisFlags,
    answer: Answer,
    *,
    encoder: str | None,
    **given: Any,
) -> Diagnosis | ClassesDiagnosis:
    """Return the diagnosis of the axis of a label column, or of one axis per class."""
    from densray.axes import Axis, diagnose_classes

    with progress_bar(f"Diagnosing {given['method']}", quiet=answer.quiet) as progress:
        large = _fit_large(path, lexicon_options, columns, options, **given)
        if large is not None:
            return large.diagnose(progress=progress)
        rows = read_rows(path, lexicon, lexicon_options, columns, options, encoder)
        choices = _choices(options, lexicon_options, given["n_permutations"])
        if rows.is_multiclass:
            return diagnose_classes(rows, given["method"], progress=progress, **choices)
        axis = Axis.fit(rows, given["method"], n_components=given.get("n_components", 1), **choices)
        return axis.diagnose(progress=progress)


def fit_table(
    path: str,
    output: Path,
    lexicon: str | None,
    lexicon_options: LexiconOptions,
    columns: TableOptions,
    options: AxisFlags,
    answer: Answer,
    *,
    encoder: str | None,
    **given: Any,
) -> None:
    """Fit and save the axis of a label column or of embedded words, or one axis per class against the rest."""
    target = check_output(with_tensor_ending(output), overwrite=given["overwrite"])
    if not given["judge"]:
        from densray.axes import Axis

        axis = _fit_large(path, lexicon_options, columns, options, **given)
        if axis is None:
            rows = read_rows(path, lexicon, lexicon_options, columns, options, encoder)
            axis = Axis.fit(
                rows, given["method"], n_components=given["n_components"], **_choices(options, lexicon_options, None)
            )
        axis.save(target, overwrite=given["overwrite"], judge=False, card=given["card"])
        n_rows = axis.fitted_on if axis.rows is None else len(axis.rows)
        _say_written([target], {"method": axis.method, "n_rows": n_rows}, answer)
        return
    from densray.axes import ClassesDiagnosis

    found = diagnose_table(path, lexicon, lexicon_options, columns, options, answer, encoder=encoder, **given)
    saving = {"overwrite": given["overwrite"], "card": given["card"]}
    if isinstance(found, ClassesDiagnosis):
        with progress_bar(f"Writing {target.name}", quiet=answer.quiet) as progress:
            written = found.save(target, overwrite=given["overwrite"], progress=progress)
    else:
        written = [found.axis.save(target, **saving)]
    if not answer.as_json:
        show(found, as_json=False, quiet=answer.quiet)
    _say_written(written, found.to_dict(), answer)


def _fit_large(
    path: str, lexicon_options: LexiconOptions, columns: TableOptions, options: AxisFlags, **given: Any
) -> Axis | None:
    """Return the axis of a label column that is read block by block; None if the rows fit into memory."""
    from densray.axes import AxisOptions, fit_large

    if lexicon_options.label_column is None or lexicon_options.has_lists:
        return None
    return fit_large(
        open_it(path, columns),
        lexicon_options.label_column,
        given["method"],
        groups=_groups_of(lexicon_options, options),
        names=columns.text_column,
        classes=columns.classes,
        n_components=given.get("n_components", 1),
        options=AxisOptions(**_choices(options, lexicon_options, given.get("n_permutations"))),
    )


def _groups_of(lexicon_options: LexiconOptions, options: AxisFlags) -> str | None:
    return lexicon_options.group_column or ("proposed" if options.groups == "proposed" else None)


def _choices(options: AxisFlags, lexicon_options: LexiconOptions, n_permutations: int | None) -> dict[str, Any]:
    """Return the options of an axis without groups, which the rows already have."""
    return {**asdict(options), "groups": None, "n_permutations": n_permutations, "label_names": lexicon_options.ends}


def _say_written(paths: list[Path], plain: dict[str, Any], answer: Answer) -> None:
    if answer.as_json:
        print_json({"path": str(paths[0]), "paths": [str(path) for path in paths], **plain})
    elif not answer.quiet:
        for path in paths:
            typer.echo(f"Written: {path}")


def score_table(
    path: str,
    axis_file: str,
    output: Path | None,
    lexicon_options: LexiconOptions,
    columns: TableOptions,
    answer: Answer,
    *,
    keep_vectors: bool,
    any_space: bool,
    by: str | None,
    figure: Path | None,
    report: Path | None,
    cluster: str | None,
    overwrite: bool,
    details: bool,
) -> None:
    """Write a table with scores along a saved axis, and show mean scores by some columns."""
    from densray.axes import Axis, mean_scores, write_scores
    from densray.report import Input, Provenance, without_marks
    from densray.tables import check_table_output

    table = open_it(path, columns)
    target = None if output is None else check_table_output(table, output, overwrite=overwrite)
    if by is None:
        refuse_given(
            {"--figure": figure, "--report": report, "--details": details}, "shows mean scores, which need --by COLUMNS"
        )
    check_figure(figure, overwrite=overwrite, quiet=answer.quiet)
    check_report(report, overwrite=overwrite, quiet=answer.quiet)
    began, axis = Provenance.begin(), Axis.load(axis_file, any_space=any_space)
    _check_origin(axis, axis_file, path, any_space=any_space)
    _note_missing_encoder(axis.encoder, axis_file, table, path, answer)
    plain: dict[str, Any] = {"axis": axis_file, "concept": axis.concept, "even_odds": axis.even_odds}
    plain["label_names"] = axis.label_names
    empty = "" if axis.uncertainty is None else axis.uncertainty.explain_empty("row")
    if axis.verdict is not None:
        plain["verdict"] = axis.verdict.sentence
    if axis.fitted_rows is not None:
        plain["rows_fitted"] = len(axis.fitted_rows.held_out)
    if target is not None:
        note(f"Writing {target}", quiet=answer.quiet)
        with progress_bar(f"Scoring {path}", quiet=answer.quiet) as progress:
            written = write_scores(
                axis, table, target, keep_vectors=keep_vectors, cluster=cluster, overwrite=overwrite, progress=progress
            )
        plain |= {"path": str(written.path), "rows": written.rows, "rows_skipped": written.skipped}
        if not answer.as_json and not answer.quiet:
            typer.echo(f"{written.path}: {written.rows:,} rows{_say_skipped(written)}")
            if by is None:
                typer.echo(axis.orientation)
            if empty:
                typer.echo(without_marks(empty))
            if axis.fitted_rows is not None:
                typer.echo(
                    f"The axis was fitted on {plain['rows_fitted']:,} rows. If they are in this table, their scores "
                    "are closer to their labels than those of new rows. Means (--by) use held-out scores for them."
                )
            if axis.verdict is not None and by is None:
                typer.echo(f"The axis: {axis.verdict.sentence}")
    if by is not None:
        with progress_bar(f"Averaging by {by}", quiet=answer.quiet) as progress:
            means = mean_scores(axis, table, split_names(by), groups=lexicon_options.group_column, progress=progress)
        plain["means"] = means.to_dict()
        if not answer.as_json:
            show(means, as_json=False, quiet=answer.quiet, details=details)
        write_figure(lambda: _draw_means(means), figure, overwrite=overwrite, quiet=answer.quiet)
        title = f"{axis.concept} by {', '.join(means.by)}"
        write_report(report, title, means, _figures_of_means, overwrite=overwrite, quiet=answer.quiet)
    if answer.as_json:
        inputs = [Input("table", table.name, size=len(table)), Input.of("axis", axis_file)]
        print_json({**plain, "provenance": began.finish(inputs=inputs, method=axis.method).to_dict()})


def holds_documents(path: str, ratings: str, source: str | None, columns: TableOptions) -> bool:
    """Return whether ratings are compared with a table of documents: options of a table or its axis are given.

    If no axis follows RATINGS, then RATINGS is the axis, and the table contains the ratings.
    """
    from densray.axes import Axis
    from densray.persistence import is_tensor_file
    from densray.tables import may_be_table

    if changed_options(columns) or (source is None and is_tensor_file(ratings)):
        return True
    return (
        source is not None and may_be_table(path) and is_tensor_file(source) and Axis.load(source).space_record is None
    )


def rate_documents(
    path: str,
    ratings: str,
    source: str | None,
    rating_columns: RatingOptions,
    columns: TableOptions,
    answer: Answer,
    *,
    any_case: bool | None,
    any_space: bool,
) -> RatingAgreement:
    """Return the agreement of document scores with ratings from a file or from the table itself."""
    from densray.axes import Axis, evaluate_ratings
    from densray.errors import TaskError
    from densray.persistence import is_tensor_file

    refuse_given({"--classes": columns.classes}, "is about labels")
    axis_file = source if source is not None else ratings
    if not is_tensor_file(axis_file):
        raise TaskError(
            f"{axis_file} is not an axis that densray fit saved (.safetensors). A table of documents needs one: "
            "densray fit TABLE --label-column COLUMN -o AXIS."
        )
    with progress_bar(f"Scoring {path}", quiet=answer.quiet):
        table, axis = open_it(path, columns), Axis.load(axis_file)
        _check_origin(axis, axis_file, path, any_space=any_space)
        names = columns.text_column
        if source is None:
            names = names or rating_columns.item_column
            rated = rating_columns.of_table(table, names)
        else:
            rated = rating_columns.load(ratings)
            if names is None:
                raise TaskError(
                    f"the items of {ratings} cannot be matched with the documents of {path}. Give --text-column, "
                    "the column of the table with their names or texts."
                )
        return evaluate_ratings(table, rated, axis, names=names, any_case=any_case)


def _note_missing_encoder(
    encoder: EncoderRecord | None, file: str, table: VectorTable, path: str, answer: Answer
) -> None:
    """Print a note if the axis (or erasure) or the table does not record its encoder, so nothing was compared."""
    known = encoder or table.encoder
    if answer.quiet or (encoder is not None and table.encoder is not None):
        return
    if known is None:
        typer.echo(f"Neither {file} nor {path} records an encoder. densray assumes that it is the same one.", err=True)
    else:
        silent = path if table.encoder is None else file
        typer.echo(f"{silent} does not record its encoder. densray assumes '{known.name}'.", err=True)


def _check_origin(found: Axis | Erasure, file: str, path: str, *, any_space: bool) -> None:
    """Raise if an axis or erasure of a space of words is used on a table, unless `any_space`."""
    from densray.errors import TaskError

    if found.space_record is not None and not any_space:
        raise TaskError(
            f"{file} was learned on the space '{found.space_record.name}', and {path} is a table. If both come from "
            "one encoder, give --any-space. Otherwise, learn it from the table."
        )


def _draw_means(means: MeanScores) -> Any:
    from densray.figures import mean_scores

    return mean_scores(means)


def _figures_of_means(means: MeanScores) -> list[Figure]:
    from densray.figures import figure

    if all(row["difference_low"] is None for row in means.rows):
        return []
    caption = "Mean score of each group minus the mean score of all documents, with 95% intervals."
    if means.ordered and len(means.by) > 1 and len({tuple(_other_keys(means, row)) for row in means.rows}) > 2:
        caption += " Grey: the other groups."
    return [figure(_draw_means(means), caption)]


def _other_keys(means: MeanScores, row: dict[str, Any]) -> list[Any]:
    """Return the values of a group in the columns without an order."""
    return [row[name] for name in means.by if name != means.ordered]


def erase_table(
    path: str,
    output: Path,
    lexicon_options: LexiconOptions,
    columns: TableOptions,
    answer: Answer,
    *,
    keep_column: str | None,
    remover: str | None,
    strength: float,
    random_state: int,
    save_erasure: Path | None,
    cluster: str | None,
    report: Path | None,
    overwrite: bool,
) -> None:
    """Write a table whose vectors no longer predict some label columns."""
    from densray.erasure import Erasure
    from densray.removers import DEFAULT_REMOVER
    from densray.tables import check_table_output

    saved = None if save_erasure is None else check_output(with_tensor_ending(save_erasure), overwrite=overwrite)
    table = open_it(path, columns)
    target = check_table_output(table, output, overwrite=overwrite)
    check_report(report, overwrite=overwrite, quiet=answer.quiet)
    labels, kept = split_names(lexicon_options.label_column), split_names(keep_column)
    with progress_bar(f"Removing {', '.join(labels)}", quiet=answer.quiet) as progress:
        erasure = Erasure.fit_table(
            table,
            labels,
            remover or DEFAULT_REMOVER,
            keep=kept,
            groups=lexicon_options.group_column,
            names=columns.text_column,
            classes=columns.classes,
            random_state=random_state,
        )
        remains = erasure.remains(strength=strength, progress=progress)
    warn_of(erasure)
    note(f"Writing {target}", quiet=answer.quiet)
    with progress_bar(f"Writing {target.name}", quiet=answer.quiet) as progress:
        written = erasure.apply(
            table, output=target, strength=strength, cluster=cluster, overwrite=overwrite, progress=progress
        )
        if saved is not None:
            erasure.save(saved, overwrite=overwrite)
    write_removal_report(report, erasure, remains, overwrite=overwrite, quiet=answer.quiet)
    _answer_erased(written, erasure, remains, answer)


def takes_erasure(path: str, erasure_file: str | None, columns: TableOptions) -> bool:
    """Return whether a saved erasure is applied to a table: the input may be one, and no space is recorded."""
    from densray.erasure import Erasure
    from densray.persistence import is_tensor_file
    from densray.tables import may_be_table

    if erasure_file is None or not is_tensor_file(erasure_file) or not Erasure.is_file(erasure_file):
        return False
    return may_be_table(path) and (bool(changed_options(columns)) or Erasure.load(erasure_file).space_record is None)


def refuse_axis_of_table(path: str, axis_file: str) -> None:
    """Raise if the axis of a table is given to erase a table, which would lose its other columns."""
    from densray.axes import Axis
    from densray.erasure import Erasure
    from densray.errors import TaskError
    from densray.tables import may_be_table

    if not Erasure.is_file(axis_file) and may_be_table(path) and Axis.load(axis_file).space_record is None:
        raise TaskError(
            f"{axis_file} is the axis of a table, and {path} may be one. A table is erased by its labels "
            "(--label-column) or by an erasure that --save-erasure saved."
        )


def apply_erasure(
    path: str,
    erasure_file: str,
    output: Path,
    columns: TableOptions,
    answer: Answer,
    *,
    strength: float,
    any_space: bool,
    cluster: str | None,
    report: Path | None,
    overwrite: bool,
) -> None:
    """Write a table whose vectors went through a saved erasure."""
    from densray.erasure import Erasure

    check_report(report, overwrite=overwrite, quiet=answer.quiet)
    table, erasure = open_it(path, columns), Erasure.load(erasure_file, any_space=any_space)
    _check_origin(erasure, erasure_file, path, any_space=any_space)
    warn_of(erasure)
    if not any_space:
        _note_missing_encoder(erasure.encoder, erasure_file, table, path, answer)
    with progress_bar(f"Writing {output.name}", quiet=answer.quiet) as progress:
        written = erasure.apply(
            table, output=output, strength=strength, cluster=cluster, overwrite=overwrite, progress=progress
        )
    remains = erasure.remains(strength=strength)
    write_removal_report(report, erasure, remains, overwrite=overwrite, quiet=answer.quiet)
    _answer_erased(written, erasure, remains, answer)


def _answer_erased(written: RewrittenTable, erasure: Erasure, remains: Remains, answer: Answer) -> None:
    facts = {
        "path": str(written.path),
        "rows": written.rows,
        "rows_skipped": written.skipped,
        "width": erasure.width,
    }
    line = f"{written.path}: {written.rows:,} rows{_say_skipped(written)}, {erasure.width} dimensions"
    say_erased(facts, line, erasure, remains, answer)
    if remains.probes and not answer.as_json and not answer.quiet:
        say(
            "To test the new file yourself, use rows that the erasure was not learned from. On the others, linear "
            "models do worse than chance, and that means nothing."
        )


def warn_of(erasure: Erasure) -> None:
    """Warn if another method should be used."""
    from densray.errors import SignalWarning

    if erasure.warning:
        warnings.warn(erasure.warning, SignalWarning, stacklevel=3)


def write_removal_report(
    path: Path | None, erasure: Erasure, remains: Remains, *, overwrite: bool, quiet: bool
) -> None:
    """Write one HTML page on how much of a concept is left, if one was requested."""
    if path is None:
        return
    from densray.figures import figure, interval_plot
    from densray.report import Report, Section, write_html

    reason = [] if remains.probes else [remains.details]  # otherwise the table has the numbers behind the headline
    text = "\n".join([remains.headline, f"{_say_removed(erasure)}.", *reason, *erasure.remarks])
    chart = (
        [interval_plot(remains.intervals(), down="model", x="AUC", least=0.4, gone="chance")] if remains.probes else []
    )
    caption = "AUC of each model on unseen rows, with 95% intervals."
    figures = [figure(each, caption) for each in chart]
    section = Section("What remains", text, [remains.table()], figures, erasure.provenance, grade=remains.grade)
    known = [] if erasure.rows is None else [erasure.rows.concept, *(each.concept for each in erasure.more)]
    title = f"Removal of {', '.join(known)}" if known else "Removal"
    write_html(Report(title, [section]), path, overwrite=overwrite)
    note(f"Wrote {path}", quiet=quiet)


def _say_removed(erasure: Erasure) -> str:
    axes = "1 axis" if erasure.rank == 1 else f"{erasure.rank} axes"
    return f"{erasure.method}: {axes} removed"


def say_erased(facts: dict[str, Any], line: str, erasure: Erasure, remains: Remains, answer: Answer) -> None:
    """Print the output file, the removed axes and the remaining AUC; as JSON, all of them after the `facts`."""
    if answer.as_json:
        remarks = [*erasure.remarks, *([erasure.warning] if erasure.warning else [])]
        removed: dict[str, Any] = {"remover": erasure.method, "axes": erasure.rank, "choice": erasure.choice}
        removed |= {"remains": remains, "remarks": remarks}
        print_json({**facts, **removed, "provenance": erasure.provenance})
    elif answer.quiet:
        say(remains.summary)
    else:
        learned = "" if erasure.rows is not None or not remains.probes else "Measured when the erasure was learned. "
        headline = [remains.headline] if remains.probes else []
        for each in (line, _say_removed(erasure), *headline, f"{learned}{remains.details}", *erasure.remarks):
            say(each)


def _say_skipped(written: RewrittenTable) -> str:
    """Return a text on rows without a usable vector and on shards from an earlier run."""
    parts = [f"{written.skipped:,} without a usable vector"] if written.skipped else []
    parts += [f"{written.reused} of {written.files} files from an interrupted run"] if written.reused else []
    return f", {', '.join(parts)}" if parts else ""
