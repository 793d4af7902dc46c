"""``densray convert``, ``rotate`` and ``erase``: a space in, a space out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from densray.cli.options import (
    Answer,
    AnyCase,
    AnySpace,
    Json,
    LexiconOptions,
    Limit,
    Output,
    Overwrite,
    Quiet,
    RandomState,
    Space,
    changed_options,
    grouped,
    words_of,
)
from densray.cli.terminal import check_output, note, print_json, progress_bar, show

if TYPE_CHECKING:
    from densray.debiasing import Concept, PlannedRemoval
    from densray.formats import Change
    from densray.lexicon import Lexicon
    from densray.streaming import Rewritten

Axis: TypeAlias = Annotated[Path, typer.Argument(metavar="AXIS", help="A saved rotation.")]
Format: TypeAlias = Annotated[
    str | None, typer.Option("--format", metavar="NAME", help="The format to write, if not by the ending.")
]
Normalize: TypeAlias = Annotated[bool, typer.Option("--normalize", help="Scale vectors to unit length first.")]


@grouped
def info(space: Space, answer: Answer, limit: Limit = None) -> None:
    """Say what a file of vectors holds: words, dimensions, lengths, case, the first words.

    Example: densray info googlenews-26k
    """
    from densray.datasets import load_space
    from densray.errors import name_some
    from densray.report import Table, show_number, show_share

    with progress_bar(f"Reading {space}", quiet=answer.quiet):
        found = load_space(space, limit=limit)
        lengths = found.lengths
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
    }
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
    }
    rows = [{"what": what, "value": value} for what, value in said.items()]
    show(Table(found.name, ["what", "value"], rows), as_json=False, quiet=answer.quiet)


@grouped
def neighbors(
    space: Space,
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words whose nearest others are wanted.")],
    answer: Answer,
    k: Annotated[int, typer.Option("--top", "--k", min=1, metavar="N", help="Neighbours per word.")] = 10,
    limit: Limit = None,
) -> None:
    """Say which words are nearest to some words, by cosine.

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
        typer.Option("--source-format", metavar="NAME", help="The format to read, if not by content."),
    ] = None,
    encoding: Annotated[str, typer.Option("--encoding", metavar="NAME", help="How words are encoded.")] = "utf-8",
    errors: Annotated[
        str, typer.Option("--errors", metavar="strict|replace", help="What to do with words not so encoded.")
    ] = "strict",
    member: Annotated[str | None, typer.Option("--member", metavar="NAME", help="The file to read of a zip.")] = None,
    words_file: Annotated[
        Path | None, typer.Option("--words-file", metavar="FILE", help="The words of a matrix (.npy), one per line.")
    ] = None,
    bad_rows: Annotated[
        str,
        typer.Option("--bad-rows", metavar="error|skip", help="What to do with damaged and repeated rows."),
    ] = "error",
    limit: Limit = None,
    normalize: Normalize = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a space in another format; the ending of FILE names it.

    Example: densray convert vectors.txt.gz -o vectors.densray
    """
    target = _checked_target(output, format, overwrite=overwrite)
    options: dict[str, Any] = {"format": format, "limit": limit, "normalize": normalize, "overwrite": overwrite}
    options |= {"source_format": source_format, "encoding": encoding, "errors": errors}
    options |= {"bad_rows": bad_rows, "member": member, "words_file": words_file}
    _write(space, target, change=None, options=options, as_json=as_json, quiet=quiet)


def rotate(
    space: Space,
    axis: Axis,
    output: Output,
    format: Format = None,
    limit: Limit = None,
    normalize: Normalize = False,
    any_space: AnySpace = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a space in the coordinates of a rotation: the first dimension is the concept.

    Example: densray rotate vectors.bin sentiment.npz -o rotated.bin
    """
    target = _checked_target(output, format, overwrite=overwrite)
    from densray.streaming import load_axis, rotating

    change = rotating(load_axis(axis, space, any_space=any_space).rotation)
    options = {"format": format, "limit": limit, "normalize": normalize, "overwrite": overwrite}
    _write(space, target, change=change, options=options, as_json=as_json, quiet=quiet)


@grouped
def erase(
    space: Space,
    output: Output,
    seeds: LexiconOptions,
    answer: Answer,
    concept: Annotated[
        str | None,
        typer.Argument(
            metavar="LEXICON",
            help="Labelled words: a file, a data set, or a concept (gender, a TOML file of word lists); or a saved "
            "axis; or give --high and --low.",
        ),
    ] = None,
    remover: Annotated[
        str | None,
        typer.Option(
            "--remover",
            "-r",
            metavar="NAME[:AXES]",
            help="What removes the concept of labelled words: mean-difference (the default), densray, leace, inlp:30, "
            "hard, …; see docs/debiasing.",
        ),
    ] = None,
    n_axes: Annotated[
        int | None, typer.Option("--n-axes", min=1, metavar="N", help="How many axes of a saved axis to remove.")
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option("--keep", metavar="WORDS", help="Words to leave as they are: a file, or words between commas."),
    ] = None,
    strength: Annotated[
        float, typer.Option("--strength", min=0.0, max=1.0, metavar="S", help="Share of the concept to remove.")
    ] = 1.0,
    any_case: AnyCase = False,
    random_state: RandomState = 0,
    format: Format = None,
    limit: Limit = None,
    normalize: Normalize = False,
    any_space: AnySpace = False,
    overwrite: Overwrite = False,
) -> None:
    """Write a space without a concept, in its original coordinates, and say how much a model still finds of it.

    Example: densray erase vectors.bin hu-liu -o neutral.bin
    """
    target = _checked_target(output, format, overwrite=overwrite)
    from densray.axes._files import is_axis_file
    from densray.errors import SignalWarning

    kept = [] if keep is None else words_of(keep, "--keep")
    with progress_bar(f"Removing {concept or 'what two lists differ in'}", quiet=answer.quiet):
        if concept is not None and not seeds.has_lists and is_axis_file(concept):
            _refuse_beside_axis(remover, seeds, concept)
            plan = _plan_of_axis(space, concept, n_axes or 1, kept, strength, any_space=any_space)
        else:
            words = _read_concept(concept, seeds)
            _refuse_axes(n_axes, concept or words.name)
            options = {"keep": kept, "strength": strength, "any_case": any_case, "random_state": random_state}
            plan = _plan_of_words(space, words, remover, limit, options)
    if plan.warning:
        warnings.warn(plan.warning, SignalWarning, stacklevel=2)
    reading: dict[str, Any] = {"format": format, "limit": limit, "overwrite": overwrite}
    reading["normalize"] = normalize or plan.normalize
    note(f"Writing {target}", quiet=answer.quiet)
    with progress_bar(f"Writing {target.name}", quiet=answer.quiet) as progress:
        from densray.streaming import rewrite_space

        written = rewrite_space(
            space, target, change=plan.removal, progress=progress, expected=plan.removal.keep, **reading
        )
    _answer_erased(written, plan, kept, answer)


def _refuse_beside_axis(remover: str | None, seeds: LexiconOptions, axis: str) -> None:
    from densray.errors import TaskError

    if remover is not None:
        raise TaskError(
            f"--remover {remover} was given with the saved axis {axis}, which is removed as it is. Give labelled words "
            "in its place, or leave --remover out."
        )
    given = changed_options(seeds)
    if given:
        raise TaskError(
            f"{', '.join(given)} given with {axis}, an axis that is found already. Leave it out, or give the LEXICON "
            "in place of the axis."
        )


def _read_concept(given: str | None, seeds: LexiconOptions) -> Concept | Lexicon:
    """Return the concept of that name or TOML file, or the labelled words of a lexicon or of two lists."""
    from densray.debiasing import is_concept, load_concept
    from densray.errors import TaskError

    if given is None or seeds.has_lists or not is_concept(given):
        return seeds.load(given)
    options = changed_options(seeds)
    if options:
        raise TaskError(
            f"{', '.join(options)} given with the concept {given}, whose words are labelled already. Leave it out."
        )
    return load_concept(given)


def _refuse_axes(n_axes: int | None, lexicon: str) -> None:
    from densray.errors import TaskError

    if n_axes is not None:
        raise TaskError(
            f"--n-axes {n_axes} was given with the labelled words of {lexicon}; it belongs to a saved axis. Name the "
            f"axes after the remover: --remover densray-unit:{n_axes}."
        )


def _plan_of_axis(
    space: str, axis: str, n_axes: int, keep: list[str], strength: float, *, any_space: bool
) -> PlannedRemoval:
    from densray.debiasing import plan_axis_removal
    from densray.streaming import load_axis

    rotation = load_axis(axis, space, any_space=any_space).rotation
    return plan_axis_removal(rotation, n_axes=n_axes, keep=keep, strength=strength)


def _plan_of_words(
    space: str, concept: Concept | Lexicon, remover: str | None, limit: int | None, options: dict[str, Any]
) -> PlannedRemoval:
    """Plan the removal from the vectors of the words it needs; double-hard debiasing needs them all."""
    from densray.datasets import load_space
    from densray.debiasing import DEFAULT_REMOVER, make_remover, plan_removal, words_needed

    method = make_remover(remover or DEFAULT_REMOVER)
    needed = None if method.needs_space or options["any_case"] else words_needed(concept)
    part = load_space(space, limit=limit, words=needed)
    return plan_removal(part, concept, method, **options)


def _answer_erased(written: Rewritten, plan: PlannedRemoval, asked: list[str], answer: Answer) -> None:
    from densray.errors import name_some

    unchanged = len(plan.removal.keep.difference(written.missing, plan.removal.replaced))
    missing = sorted(set(asked).intersection(written.missing))
    if answer.as_json:
        told = {"path": written.path, "words": written.words, "width": written.width, "words_missing": missing}
        told |= {"words_changed": written.words - unchanged, "words_kept": unchanged, "remover": plan.remover}
        told |= {"axes": plan.removal.erasure.rank, "refit": plan.refit and plan.refit.to_dict()}
        print_json({**told, "remarks": [*plan.remarks, plan.warning] if plan.warning else plan.remarks})
    elif not answer.quiet:
        typer.echo(f"{written.path}: {written.words:,} words, {written.width} dimensions")
        axes = plan.removal.erasure.rank
        counted = f"{written.words - unchanged:,} words changed, {unchanged:,} kept as they are"
        typer.echo(f"{plan.remover}: {axes} {'axis' if axes == 1 else 'axes'} removed; {counted}")
        if plan.refit is not None:
            typer.echo(plan.refit.summary)
        for remark in plan.remarks:
            typer.echo(remark)
        if missing:
            typer.echo(f"To keep, and not in the space: {name_some(missing)}")


def _checked_target(output: Path, format: str | None, *, overwrite: bool) -> Path:
    """Return the output path; a name that says no format is refused as early as one that is taken."""
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
