"""``densray convert``, ``rotate`` and ``erase``: a space in, a space out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from densray.cli.options import Json, Limit, Output, Overwrite, Quiet, Space
from densray.cli.terminal import check_output, note, print_json, progress_bar

if TYPE_CHECKING:
    from densray.formats import Change

Axis: TypeAlias = Annotated[Path, typer.Argument(metavar="AXIS", help="A saved rotation.")]
Format: TypeAlias = Annotated[
    str | None, typer.Option("--format", metavar="NAME", help="The format to write, if not by the ending.")
]
Normalize: TypeAlias = Annotated[bool, typer.Option("--normalize", help="Scale vectors to unit length first.")]
AnySpace: TypeAlias = Annotated[bool, typer.Option("--any-space", help="Use an axis that was fitted on another space.")]


def convert(
    space: Space,
    output: Output,
    format: Format = None,
    source_format: Annotated[
        str | None, typer.Option("--from", metavar="NAME", help="The format to read, if the content should not decide.")
    ] = None,
    encoding: Annotated[str, typer.Option("--encoding", metavar="NAME", help="How words are encoded.")] = "utf-8",
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Leave out rows that are damaged or repeat a word.")
    ] = False,
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
    options = {"format": format, "limit": limit, "normalize": normalize, "overwrite": overwrite}
    options |= {"source_format": source_format, "encoding": encoding, "bad_rows": "skip" if skip_bad_rows else "error"}
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
    from densray.streaming import load_axis_for, rotating

    change = rotating(load_axis_for(space, axis, any_space=any_space))
    options = {"format": format, "limit": limit, "normalize": normalize, "overwrite": overwrite}
    _write(space, target, change=change, options=options, as_json=as_json, quiet=quiet)


def erase(
    space: Space,
    axis: Axis,
    output: Output,
    n_axes: Annotated[int, typer.Option("--axes", min=1, metavar="N", help="How many axes to remove.")] = 1,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="WORD", help="A word to leave as it is; may be repeated.")
    ] = None,
    keep_list: Annotated[
        Path | None, typer.Option("--keep-list", metavar="FILE", help="A file of words to leave, one a line.")
    ] = None,
    strength: Annotated[
        float, typer.Option("--strength", min=0.0, max=1.0, metavar="S", help="Share of the concept to remove.")
    ] = 1.0,
    format: Format = None,
    limit: Limit = None,
    normalize: Normalize = False,
    any_space: AnySpace = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a space without the concept of an axis, in its original coordinates.

    Example: densray erase vectors.bin gender.npz -o neutral.bin --keep queen --keep king
    """
    target = _checked_target(output, format, overwrite=overwrite)
    from densray._lexicon_files import read_words
    from densray.erasure import Removal
    from densray.streaming import load_axis_for

    kept = [*(keep or ()), *(read_words(keep_list) if keep_list is not None else ())]
    rotation = load_axis_for(space, axis, any_space=any_space)
    change = Removal.of(rotation, n_axes=n_axes, keep=kept, strength=strength)
    options = {"format": format, "limit": limit, "normalize": normalize, "overwrite": overwrite, "expected": kept}
    _write(space, target, change=change, options=options, as_json=as_json, quiet=quiet)


def _checked_target(output: Path, format: str | None, *, overwrite: bool) -> Path:
    """Return the output path; a name that says no format is refused as early as one that is taken."""
    target = check_output(output, overwrite=overwrite)
    from densray.formats import format_for

    format_for(target, format)
    return target


def _write(
    space: str, target: Path, *, change: Change | None, options: dict[str, Any], as_json: bool, quiet: bool
) -> None:
    from densray.errors import name_some
    from densray.streaming import rewrite_space

    note(f"Writing {target}", quiet=quiet)
    with progress_bar(f"Writing {target.name}", quiet=quiet) as progress:
        written = rewrite_space(space, target, change=change, progress=progress, **options)
    if as_json:
        missing = {"words_missing": written.missing} if "expected" in options else {}
        print_json({"path": written.path, "words": written.words, "width": written.width, **missing})
    elif not quiet:
        typer.echo(f"{written.path}: {written.words:,} words, {written.width} dimensions")
        if written.missing:
            typer.echo(f"To keep, and not in the space: {name_some(written.missing)}")
