"""``densray convert``, ``rotate`` and ``erase``: a space in, a space out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from densray.cli.options import (
    Answer,
    AnySpace,
    Case,
    Cluster,
    Json,
    LabelOptions,
    LexiconOptions,
    Limit,
    Output,
    Overwrite,
    Quiet,
    RandomState,
    ReportFile,
    Space,
    SpaceOrTable,
    TableOptions,
    changed_options,
    with_option_groups,
    words_of,
)
from densray.cli.tables import (
    apply_erasure,
    check_table,
    erase_table,
    refuse_axis_of_table,
    refuse_given,
    say_erased,
    takes_erasure,
    warn_of,
    write_removal_report,
)
from densray.cli.terminal import check_output, check_report, note, print_json, progress_bar, show, with_tensor_ending

if TYPE_CHECKING:
    from densray.debiasing import Concept
    from densray.erasure import Erasure
    from densray.formats import Change

AxisFile: TypeAlias = Annotated[Path, typer.Argument(metavar="AXIS", help="An axis saved by `densray fit`.")]
Format: TypeAlias = Annotated[
    str | None, typer.Option("--format", metavar="NAME", help="Output format. Default: from the file extension.")
]
Normalize: TypeAlias = Annotated[bool, typer.Option("--normalize", help="Scale vectors to unit length first.")]


@with_option_groups
def info(
    space: Space,
    answer: Answer,
    limit: Limit = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read the whole file and compare its checksums, if it has any.")
    ] = False,
) -> None:
    """Describe a file of vectors: number of words and dimensions, vector lengths, share in lower case, first words.

    Example: densray info googlenews-26k
    """
    from densray.datasets import load_space, path_of
    from densray.errors import name_some
    from densray.report import Table, show_number, show_share

    with progress_bar(f"Reading {space}", quiet=answer.quiet):
        found = load_space(space, limit=limit)
        lengths = found.lengths
        verified = _verified(space, path_of) if verify else None
    first = [str(word) for word in found.words[:10]]
    lowered = sum(str(word) == str(word).lower() for word in found.words) / len(found)
    known: dict[str, Any] = {
        "name": found.name,
        "words": len(found),
        "width": found.width,
        "dtype": str(found.vectors.dtype),
        "bytes": int(found.vectors.nbytes),
        "unit_length": bool(abs(lengths - 1).max() < 1e-3),
        "shortest": float(lengths.min()),
        "longest": float(lengths.max()),
        "zero_vectors": int((lengths == 0).sum()),
        "lower_case": lowered,
        "first_words": first,
    } | ({} if verified is None else {"verified": verified})
    if answer.as_json:
        print_json(known)
        return
    said = {
        "words": f"{len(found):,}",
        "dimensions": f"{found.width:,}",
        "in memory": f"{show_number(known['bytes'] / 1e6, 1)} MB ({known['dtype']})",
        "lengths": "unit"
        if known["unit_length"]
        else f"{show_number(known['shortest'])} to {show_number(known['longest'])}",
        "zero vectors": f"{known['zero_vectors']:,}",
        "lower case": f"{show_share(lowered, 1)} of the words",
        "first words": name_some(first, most=10),
    } | ({} if verified is None else {"compared": verified})
    rows = [{"what": what, "value": value} for what, value in said.items()]
    show(Table(found.name, ["what", "value"], rows), as_json=False, quiet=answer.quiet)


def _verified(space: str, path_of: Callable[[str], Path]) -> str:
    """Return the kind of check that a file, or the file of a data set, has passed."""
    from densray.formats import verify_space

    path = Path(space) if Path(space).exists() else path_of(space)
    return "nothing: it comes with the package" if path.is_dir() else verify_space(path)


@with_option_groups
def neighbors(
    space: Space,
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words whose neighbours to list.")],
    answer: Answer,
    k: Annotated[int, typer.Option("--top", "--k", min=1, metavar="N", help="Number of neighbours per word.")] = 10,
    limit: Limit = None,
) -> None:
    """List the nearest words to each given word, by cosine.

    Example: densray neighbors googlenews-26k nurse engineer
    """
    from densray.datasets import load_space
    from densray.report import Column, Table

    with progress_bar(f"Reading {space}", quiet=answer.quiet):
        found = load_space(space, limit=limit)
        near = {word: found.neighbors(word, k=k) for word in words}
    if answer.as_json:
        print_json(
            [
                {"word": word, "neighbors": [{"word": other, "cosine": cosine} for other, cosine in others]}
                for word, others in near.items()
            ]
        )
        return
    for word, others in near.items():
        rows = [{"word": other, "cosine": cosine} for other, cosine in others]
        show(Table(word, ["word", Column("cosine", decimals=3)], rows), as_json=False, quiet=answer.quiet)


def convert(
    space: Space,
    output: Output,
    format: Format = None,
    source_format: Annotated[
        str | None,
        typer.Option("--source-format", metavar="NAME", help="Input format. Default: detected from the content."),
    ] = None,
    encoding: Annotated[str, typer.Option("--encoding", metavar="NAME", help="Text encoding of the words.")] = "utf-8",
    errors: Annotated[
        str,
        typer.Option(
            "--errors", metavar="strict|replace", help="How to handle words that are not valid in this encoding."
        ),
    ] = "strict",
    member: Annotated[
        str | None, typer.Option("--member", metavar="NAME", help="File to read inside a zip archive.")
    ] = None,
    words_file: Annotated[
        Path | None,
        typer.Option("--words-file", metavar="FILE", help="For a matrix (.npy): the words of its rows, one per line."),
    ] = None,
    bad_rows: Annotated[
        str,
        typer.Option("--bad-rows", metavar="error|skip", help="How to handle damaged and repeated rows."),
    ] = "error",
    limit: Limit = None,
    normalize: Normalize = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Convert a space to another format, chosen by the extension of the output file.

    Example: densray convert vectors.txt.gz -o vectors.densray
    """
    target = _checked_target(output, format, overwrite=overwrite)
    options: dict[str, Any] = {"format": format, "limit": limit, "normalize": normalize, "overwrite": overwrite}
    options |= {"source_format": source_format, "encoding": encoding, "errors": errors}
    options |= {"bad_rows": bad_rows, "member": member, "words_file": words_file}
    _write(space, target, change=None, options=options, as_json=as_json, quiet=quiet)


def rotate(
    space: Space,
    axis: AxisFile,
    output: Output,
    format: Format = None,
    limit: Limit = None,
    normalize: Normalize = False,
    any_space: AnySpace = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a space in rotated coordinates, with the concept as the first dimension.

    Example: densray rotate vectors.bin sentiment.safetensors -o rotated.bin
    """
    target = _checked_target(output, format, overwrite=overwrite)
    from densray.axes import Axis
    from densray.streaming import rotating

    change = rotating(Axis.load(axis, space, any_space=any_space).rotation)
    options = {"format": format, "limit": limit, "normalize": normalize, "overwrite": overwrite}
    _write(space, target, change=change, options=options, as_json=as_json, quiet=quiet)


@with_option_groups
def erase(
    space: SpaceOrTable,
    output: Output,
    lexicon_options: LabelOptions,
    table: TableOptions,
    answer: Answer,
    lexicon: Annotated[
        str | None,
        typer.Argument(
            metavar="LEXICON",
            help="What to remove: a file of labelled words, a data set (such as gender), a TOML file of word lists "
            "that describe a concept, a saved erasure, or a saved axis. Or give --high and --low.",
        ),
    ] = None,
    remover: Annotated[
        str | None,
        typer.Option(
            "--remover",
            "-r",
            metavar="NAME[:AXES]",
            help="Method that learns the removal: leace (default), mean-difference, densray, inlp:30, hard and "
            "others. See docs/debiasing.",
        ),
    ] = None,
    n_axes: Annotated[
        int | None,
        typer.Option(
            "--n-axes",
            min=1,
            metavar="N",
            help="For a file saved by densray fit: how many of its axes to remove, starting with the first (the "
            "concept). Default: 1.",
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep",
            metavar="WORDS",
            help="Words that keep the concept: a file, or a comma-separated list. The direction of their vectors does "
            "not change. Their lengths change only if all vectors are scaled to unit length.",
        ),
    ] = None,
    keep_column: Annotated[
        str | None,
        typer.Option(
            "--keep-column",
            metavar="COLUMNS",
            help="For a table: columns that models must still be able to predict (comma-separated).",
        ),
    ] = None,
    strength: Annotated[
        float,
        typer.Option(
            "--strength", min=0.0, max=1.0, metavar="S", help="Strength of the removal, from 0 (none) to 1 (full)."
        ),
    ] = 1.0,
    any_case: Case = None,
    random_state: RandomState = 0,
    format: Format = None,
    limit: Limit = None,
    normalize: Annotated[
        bool,
        typer.Option(
            "--normalize",
            help="Scale the vectors of the output to unit length before the concept is removed. leace and double-hard "
            "always do this. (Every remover learns from vectors of unit length, with or without this option.)",
        ),
    ] = False,
    any_space: Annotated[
        bool, typer.Option("--any-space", help="Accept an axis or erasure that was fitted on another space.")
    ] = False,
    save_erasure: Annotated[
        Path | None,
        typer.Option("--save-erasure", metavar="FILE", help="Also save the erasure, to apply it again later."),
    ] = None,
    report: ReportFile = None,
    cluster: Cluster = None,
    overwrite: Overwrite = False,
) -> None:
    """Remove a concept from a space or a table, and measure how much of it models can still recover.

    For words, give a space and a LEXICON. For documents, give a table and one or more columns (--label-column,
    comma-separated), or a table and a saved erasure. Only the vectors change. All other columns stay the same.

    Compared with leace (the default), --remover covariance-difference hides the concept better from nonlinear models,
    but words lose more of their nearest neighbours. It chooses its number of axes itself.

    Example: densray erase vectors.bin hu-liu -o neutral.bin
    """
    of_words: dict[str, Any] = {
        "--keep": keep, "--n-axes": n_axes, "--format": format, "--limit": limit, "--any-case": any_case is not None,
        "--normalize": normalize, "--any-space": any_space,
    }  # fmt: skip
    of_tables: dict[str, Any] = {"--keep-column": keep_column, "--cluster": cluster}
    writing = _Writing(space, output, keep, strength, format, limit, normalize, save_erasure, report, overwrite)
    saved = lexicon if lexicon is not None and not lexicon_options.has_lists and _is_saved(lexicon) else None
    if saved is not None:
        learning: dict[str, Any] = {"--remover": remover, "--keep-column": keep_column, "--save-erasure": save_erasure}
        learning |= {"--classes": table.classes, "--any-case": any_case is not None, "--random-state": random_state}
        learning |= dict.fromkeys(changed_options(lexicon_options), True)
        refuse_given(learning, f"belongs to labelled words or documents, and {saved} is learned already")
        if takes_erasure(space, saved, table):
            refuse_given(of_words | {"--any-space": None}, "belongs to a space of words")
            apply_erasure(
                space, saved, output, table, answer, strength=strength, any_space=any_space, cluster=cluster,
                report=report, overwrite=overwrite,
            )  # fmt: skip
        else:
            refuse_given(
                {**of_tables, **dict.fromkeys(changed_options(table), True)}, "belongs to a table of documents"
            )
            refuse_axis_of_table(space, saved)
            # found after the output was checked, since it takes longer
            writing.write(lambda: _Removal(_load(saved, space, n_axes, any_space=any_space)), saved, answer)
    elif check_table(lexicon, lexicon_options, table, others=of_words | {"--label-names": lexicon_options.label_names}):
        erase_table(
            space, output, lexicon_options, table, answer, keep_column=keep_column, remover=remover, strength=strength,
            random_state=random_state, save_erasure=save_erasure, cluster=cluster, report=report, overwrite=overwrite,
        )  # fmt: skip
    else:
        refuse_given({**of_tables, "--any-space": any_space}, "belongs to a table of documents or to a saved erasure")
        if lexicon_options.has_lists:
            refuse_given({"--label-names": lexicon_options.label_names}, "belongs to a LEXICON with other labels")
        concept = _read_concept(lexicon, lexicon_options)
        _refuse_axes(n_axes, lexicon or concept.name)
        writing.write(
            lambda: _learn(concept, space, remover, any_case=any_case, limit=limit, random_state=random_state),
            lexicon or "the difference of two lists",
            answer,
        )


@dataclass(frozen=True)
class _Removal:
    """An erasure, and the words that its published method keeps or equalises."""

    erasure: Erasure
    keep: tuple[str, ...] = ()
    equalize: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Writing:
    """Where and how to write a space without a concept."""

    space: str
    output: Path
    keep: str | None
    strength: float
    format: str | None
    limit: int | None
    normalize: bool
    save_erasure: Path | None
    report: Path | None
    overwrite: bool

    def write(self, find: Callable[[], _Removal], name: str, answer: Answer) -> None:
        """Find the removal, measure what remains, write the space and the erasure, and answer."""
        target = _checked_target(self.output, self.format, overwrite=self.overwrite)
        saved = self.save_erasure
        saved = None if saved is None else check_output(with_tensor_ending(saved), overwrite=self.overwrite)
        check_report(self.report, overwrite=self.overwrite, quiet=answer.quiet)
        asked = [] if self.keep is None else words_of(self.keep, "--keep")
        with progress_bar(f"Removing {name}", quiet=answer.quiet) as progress:
            removal = find()
            kept = (*removal.keep, *asked)
            equalized = (word for pair in removal.equalize for word in pair)
            remains = removal.erasure.remains(keep=(*kept, *equalized), strength=self.strength, progress=progress)
        warn_of(removal.erasure)
        note(f"Writing {target}", quiet=answer.quiet)
        with progress_bar(f"Writing {target.name}", quiet=answer.quiet) as progress:
            written = removal.erasure.apply(
                self.space,
                output=target,
                keep=kept,
                equalize=removal.equalize,
                strength=self.strength,
                normalize=self.normalize,
                limit=self.limit,
                format=self.format,
                overwrite=self.overwrite,
                progress=progress,
            )
            if saved is not None:
                removal.erasure.save(saved, overwrite=self.overwrite)
        erasure = removal.erasure
        if saved is not None and (kept or removal.equalize):
            lost = f"{saved} does not store the words to keep or to equalise: applied again, it changes every word."
            erasure = replace(erasure, remarks=(*erasure.remarks, lost))
        write_removal_report(self.report, erasure, remains, overwrite=self.overwrite, quiet=answer.quiet)
        changed = written.words - written.unchanged
        say_erased(
            {
                "path": written.path,
                "words": written.words,
                "width": written.width,
                "words_missing": written.missing,
                "words_changed": changed,
                "words_kept": written.unchanged,
            },
            f"{written.path}: {written.words:,} words, {written.width} dimensions; {changed:,} changed, "
            f"{written.unchanged:,} kept as they are",
            erasure,
            remains,
            answer,
        )


def _learn(
    concept: Concept, space: str, remover: str | None, *, any_case: bool | None, limit: int | None, random_state: int
) -> _Removal:
    """Learn an erasure from labelled words of the whole space."""
    from densray.datasets import load_space
    from densray.erasure import Erasure
    from densray.removers import DEFAULT_REMOVER

    method = remover or DEFAULT_REMOVER
    whole = load_space(space, limit=limit)
    rows = concept.lexicon.align(whole, any_case=any_case, minimum=2)
    concept = concept.spelled_as(whole) if any_case else concept
    keep, equalize = concept.exceptions(method)
    keep = tuple(word for word in keep if word in whole)  # the lists of a concept are for any space
    return _Removal(Erasure.fit(rows, method, pairs=concept.pairs, random_state=random_state), keep, equalize)


def _is_saved(path: str) -> bool:
    """Return whether a file is a saved erasure or axis."""
    from densray.persistence import is_tensor_file

    return is_tensor_file(path)


def _read_concept(given: str | None, lexicon_options: LexiconOptions) -> Concept:
    """Return the concept of that name or TOML file, or the labelled words of a lexicon or of two lists."""
    from densray.debiasing import Concept, is_concept, load_concept
    from densray.errors import TaskError

    if given is None or lexicon_options.has_lists or not is_concept(given):
        lexicon = lexicon_options.load(given)
        return Concept(lexicon.name, lexicon)
    options = changed_options(lexicon_options)
    if options:
        raise TaskError(
            f"{', '.join(options)} given with the concept {given}, whose words are labelled already. Leave it out."
        )
    return load_concept(given)


def _refuse_axes(n_axes: int | None, lexicon: str) -> None:
    from densray.errors import TaskError

    if n_axes is not None:
        raise TaskError(
            f"--n-axes {n_axes} was given with {lexicon}; it belongs to a saved axis. With labelled words, write the "
            f"number after the remover: --remover densray-unit:{n_axes}."
        )


def _load(path: str, space: str, n_axes: int | None, *, any_space: bool) -> Erasure:
    """Return a saved erasure, or the erasure of the first axes of a saved axis."""
    from densray.axes import Axis
    from densray.erasure import Erasure

    if Erasure.is_file(path):
        _refuse_axes(n_axes, path)
        return Erasure.load(path, space, any_space=any_space)
    return Erasure.of(Axis.load(path, space, any_space=any_space).rotation, n_axes or 1)


def _checked_target(output: Path, format: str | None, *, overwrite: bool) -> Path:
    """Return the output path; raise at once if its format is unknown or the file exists."""
    target = check_output(output, overwrite=overwrite)
    from densray.formats import format_for

    format_for(target, format)
    return target


def _write(
    space: str, target: Path, *, change: Change | None, options: dict[str, Any], as_json: bool, quiet: bool
) -> None:
    from densray.streaming import rewrite_space

    note(f"Writing {target}", quiet=quiet)
    with progress_bar(f"Writing {target.name}", quiet=quiet) as progress:
        written = rewrite_space(space, target, change=change, progress=progress, **options)
    if as_json:
        print_json({"path": written.path, "words": written.words, "width": written.width})
    elif not quiet:
        typer.echo(f"{written.path}: {written.words:,} words, {written.width} dimensions")
