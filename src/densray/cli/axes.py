"""``densray fit``, ``diagnose``, ``induce``, ``score`` and ``methods``: from a word list to an axis and to scores."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from densray.cli.options import (
    AnySpace,
    AxisOptions,
    Json,
    LexiconName,
    LexiconOptions,
    Method,
    Output,
    Overwrite,
    ReportFile,
    Space,
    SpaceAnswer,
    changed_options,
    grouped,
)
from densray.cli.terminal import (
    check_output,
    check_report,
    named_npz,
    note,
    print_json,
    progress_bar,
    show,
    write_report,
)

if TYPE_CHECKING:
    from densray.axes import Diagnosis
    from densray.axes._files import SavedAxis
    from densray.axes._scoring import Induction
    from densray.lexicon import Lexicon
    from densray.report import Figure, Result
    from densray.space import WordSpace

Pairs: TypeAlias = Annotated[
    bool, typer.Option("--pairs", help="LEXICON holds pairs, the higher word first; their differences are compared.")
]
Permutations: TypeAlias = Annotated[
    int | None,
    typer.Option("--n-permutations", min=19, metavar="N", help="Shuffled labels; 999, or fewer if each is a fit."),
]
Source: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="LEXICON|AXIS",
        help="Labelled words, or an axis that densray fit saved (.npz); or give --high and --low.",
    ),
]


@grouped
def fit(
    space: Space,
    output: Output,
    seeds: LexiconOptions,
    options: AxisOptions,
    answer: SpaceAnswer,
    lexicon: LexiconName = None,
    method: Method = "auto",
    n_components: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Axes to keep; all, a lossless rotation, if absent.")
    ] = None,
    judge: Annotated[
        bool, typer.Option("--judge/--no-judge", help="Find out how far it can be trusted, or save the axis alone.")
    ] = True,
    pairs: Pairs = False,
    n_permutations: Permutations = None,
    overwrite: Overwrite = False,
) -> None:
    """Find the axis of some labelled words, save it, and say how far it can be trusted.

    Example: densray fit googlenews-26k hu-liu -o sentiment.npz
    """
    target = check_output(named_npz(output), overwrite=overwrite)
    from densray.axes._files import fit_axis
    from densray.datasets import load_space
    from densray.rotations import name_method

    words, paired = _read_seeds(lexicon, pairs, seeds)
    note(f"Writing {target} at the end", quiet=answer.quiet)
    with progress_bar(f"Fitting {name_method(method)}", quiet=answer.quiet) as progress:
        saved = fit_axis(
            load_space(space, limit=answer.limit),
            words,
            target,
            method=method,
            n_components=n_components,
            judge=judge,
            pairs=paired,
            n_permutations=n_permutations,
            label_names=seeds.ends,
            overwrite=overwrite,
            progress=progress,
            **asdict(options),
        )
    if saved.diagnosis is None:
        _show_saved(saved, answer)
    else:
        _show_written(saved.diagnosis, saved.path, answer)


@grouped
def diagnose(
    space: Space,
    seeds: LexiconOptions,
    options: AxisOptions,
    answer: SpaceAnswer,
    lexicon: LexiconName = None,
    method: Method = "auto",
    pairs: Pairs = False,
    n_permutations: Permutations = None,
    report: ReportFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Say how far the axis of some labelled words can be trusted, and which words stand in its way.

    Example: densray diagnose googlenews-26k gender --method densray-unit
    """
    check_report(report, overwrite=overwrite, quiet=answer.quiet)
    from densray.axes import diagnose as find
    from densray.datasets import load_space

    words, paired = _read_seeds(lexicon, pairs, seeds)
    with progress_bar(f"Diagnosing {method}", quiet=answer.quiet) as progress:
        found = find(
            load_space(space, limit=answer.limit),
            words,
            method=method,
            pairs=paired,
            n_permutations=n_permutations,
            label_names=seeds.ends,
            progress=progress,
            **asdict(options),
        )
        title = f"How far the axis of {words.name} can be trusted"
        write_report(report, title, found, _figures_of_diagnosis, overwrite=overwrite, quiet=answer.quiet)
    show(found, as_json=answer.as_json, quiet=answer.quiet)


@grouped
def induce(
    space: Space,
    output: Output,
    seeds: LexiconOptions,
    options: AxisOptions,
    answer: SpaceAnswer,
    source: Source = None,
    method: Method = "auto",
    pairs: Pairs = False,
    any_space: AnySpace = False,
    top: Annotated[int, typer.Option("--top", min=1, metavar="N", help="Words of each end that are shown.")] = 10,
    report: ReportFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Score every word of a space: rank, percentile, probability, standard error (.csv, .tsv, .parquet).

    Given labelled words, it finds their axis first. An AXIS of densray fit is found already and knows its errors:
    options that say how to find one are refused beside it.

    A score is the coordinate on the axis: 0 is not neutral; the answer says at which score the odds are even.

    Example: densray induce googlenews-26k hu-liu -o sentiment.tsv
    """
    target = check_output(output, overwrite=overwrite)
    check_report(report, overwrite=overwrite, quiet=answer.quiet)
    from densray.axes._scoring import check_ending

    check_ending(target)
    note(f"Writing {target} at the end", quiet=answer.quiet)
    induced = _induce(space, source, method, seeds, options, answer, pairs=pairs, any_space=any_space)[1].with_ends(top)
    path = induced.write(target, overwrite=overwrite)
    if induced.scores.standard_error is None:
        note(f"{source} has no errors: scores and ranks only. densray fit --judge saves them.", quiet=answer.quiet)
    write_report(report, "Induced lexicon", induced, _figures_of_induction, overwrite=overwrite, quiet=answer.quiet)
    _show_written(induced, path, answer)


@grouped
def score(
    space: Space,
    source: Annotated[
        str, typer.Argument(metavar="LEXICON|AXIS", help="An axis that densray fit saved, or a LEXICON.")
    ],
    seeds: LexiconOptions,
    options: AxisOptions,
    answer: SpaceAnswer,
    words: Annotated[list[str] | None, typer.Argument(metavar="WORD...", help="The words to look up.")] = None,
    method: Method = "auto",
    pairs: Pairs = False,
    any_space: AnySpace = False,
) -> None:
    """Say where some words stand on an axis: score, rank, percentile, probability, standard error.

    With --high and --low, all that follows SPACE are words.

    Example: densray score googlenews-26k hu-liu lawyer nurse
    """
    axis, asked = (None, [source, *(words or [])]) if seeds.has_lists else (source, words or [])
    from densray.axes._evidence import near_misses
    from densray.errors import SpaceError, name_some
    from densray.report import Column, Table, show_number

    if not asked:
        raise SpaceError("no word was given. Name the words to look up after the axis.")
    found, induced = _induce(space, axis, method, seeds, options, answer, pairs=pairs, any_space=any_space)
    rows = found.locate(asked, any_case=options.any_case)
    missing = [word for word, row in zip(asked, rows.tolist(), strict=True) if row < 0]
    instead = {miss.word: miss.found for miss in near_misses(missing, found)} if missing else {}
    if len(missing) == len(asked):
        hint = f" It has {name_some(list(instead.values()))}." if instead else ""
        raise SpaceError(f"{name_some(missing)}: not in '{found.name}'.{hint} Give words of the space.")
    entries = induced.entries(rows[rows >= 0].tolist())
    if answer.as_json:
        known = {"method": induced.method, "even_odds": induced.even_odds, "label_names": induced.label_names}
        print_json({**known, "n_words": induced.n_words, "words": entries, "words_missing": missing})
        return
    columns = [Column("word"), Column("score", decimals=3), Column("standard_error", "±", decimals=3)]
    columns += [Column("probability", decimals=3, open_ends=True), Column("rank"), Column("percentile", decimals=1)]
    notes = [f"Not in the space: {_name_missing(missing, instead)}."] if missing else []
    if induced.even_odds is not None:
        notes.append(f"Even odds lie at {show_number(induced.even_odds)}.")
    shown = [column for column in columns if column.key in entries[0]]
    title = f"{len(entries)} of {induced.n_words:,} words, by {induced.method}"
    show(Table(title, shown, entries, notes), as_json=False, quiet=answer.quiet)


def methods(as_json: Json = False) -> None:
    """List the methods that find an axis.

    Example: densray methods
    """
    from densray._methods import METHODS  # not from rotations, which waits for scikit-learn
    from densray.report import Table

    rows = [
        {"method": name, "labels": "two classes" if found.classes_only else "classes or scores", "axis": found.summary}
        for name, found in METHODS.items()
    ]
    if as_json:
        print_json(rows)
    else:
        show(Table("Methods", ["method", "labels", "axis"], rows), as_json=False)


def _induce(
    space: str,
    source: str | None,
    method: str,
    seeds: LexiconOptions,
    options: AxisOptions,
    answer: SpaceAnswer,
    *,
    pairs: bool,
    any_space: bool,
) -> tuple[WordSpace, Induction]:
    """Return a space and its words scored by a saved axis, or by one that is found from labelled words."""
    from densray.axes import _scoring
    from densray.axes._files import induce_by_axis, is_axis_file
    from densray.datasets import load_space

    if source is not None and is_axis_file(source):
        _refuse_beside_axis(source, method, seeds, options, pairs=pairs)
        with progress_bar(f"Scoring {space}", quiet=answer.quiet):
            vectors = load_space(space, limit=answer.limit)
            return vectors, induce_by_axis(vectors, source, any_space=any_space, label_names=seeds.ends)
    words = _read_seeds(source, pairs, seeds)[0]
    with progress_bar(f"Scoring {space}", quiet=answer.quiet) as progress:
        vectors = load_space(space, limit=answer.limit)
        induced = _scoring.induce(
            vectors, words, method=method, label_names=seeds.ends, progress=progress, **asdict(options)
        )
        return vectors, induced


def _refuse_beside_axis(source: str, method: str, seeds: LexiconOptions, options: AxisOptions, *, pairs: bool) -> None:
    """Raise if options say how to find an axis, beside one that is found already."""
    from densray.errors import TaskError

    given = ["--method"] if method != "auto" else []
    given += ["--pairs"] if pairs else []
    for group in (seeds, options):
        given += changed_options(group, but=("label_names", "any_case"))
    if given:
        raise TaskError(
            f"{', '.join(given)} given with {source}, an axis that is found already. Leave it out, or give the LEXICON "
            "to find another axis."
        )


def _read_seeds(
    lexicon: str | None, pairs: bool, seeds: LexiconOptions
) -> tuple[Lexicon, list[tuple[str, str]] | None]:
    """Return the seeds, and the pairs they were given in."""
    if not pairs or lexicon is None:
        return seeds.load(lexicon), None
    from densray.datasets import load_pairs
    from densray.lexicon import Lexicon

    listed = load_pairs(lexicon)
    return Lexicon.from_pairs(listed, name=Path(lexicon).stem), listed


def _name_missing(missing: list[str], instead: dict[str, str]) -> str:
    return ", ".join(f"{word} (it has {instead[word]})" if word in instead else word for word in missing)


def _figures_of_induction(induced: Induction) -> list[Figure]:
    from densray.figures import figure, ranked_words, score_histogram

    return [
        figure(ranked_words(induced), "The words at both ends of the axis; bars: two standard errors."),
        figure(score_histogram(induced), "How many words score what."),
    ]


def _figures_of_diagnosis(diagnosis: Diagnosis) -> list[Figure]:
    from densray.figures import figure, seed_influence

    if not diagnosis.influential:
        return []
    chart = seed_influence(diagnosis, n_seeds=20, measure="turns the axis by (°) when left out")
    return [figure(chart, "Seeds that move the axis most.")]


def _show_saved(saved: SavedAxis, answer: SpaceAnswer) -> None:
    """Show what was written of an axis that was not judged."""
    path, method, seeds = saved.path, saved.method, saved.seeds
    if answer.as_json:
        left = {"words_missing": seeds.missing, "words_set_aside": seeds.set_aside}
        print_json({"path": path, "method": method, "n_seeds": seeds.n_words, **left})
    elif not answer.quiet:
        aside = "".join(f", {len(words)} {why}" for why, words in seeds.set_aside.items())
        typer.echo(f"Written: {path} ({method}; {seeds.n_words} seeds, {len(seeds.missing)} words missing{aside})")


def _show_written(result: Result, path: Path, answer: SpaceAnswer) -> None:
    if answer.as_json:
        plain: dict[str, Any] = {"path": str(path), **result.to_dict()}
        print_json(plain)
        return
    show(result, as_json=False, quiet=answer.quiet)
    if not answer.quiet:
        typer.echo(f"Written: {path}")
