"""``densray fit``, ``induce``, ``diagnose`` and ``methods``: from a word list to an axis, a verdict, a lexicon."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from densray.cli.options import (
    High,
    Json,
    LabelColumn,
    Limit,
    Low,
    Output,
    Overwrite,
    Quiet,
    Seed,
    Space,
    WordColumn,
    name_ends,
)
from densray.cli.terminal import Fresh, check_output, long_run, named_npz, note, print_json, show

if TYPE_CHECKING:
    from densray.axes._files import SavedAxis
    from densray.lexicon import Lexicon
    from densray.report import Result

Seeds: TypeAlias = Annotated[
    str, typer.Argument(metavar="LEXICON", help="A file of words and labels, or the name of a data set.")
]
Method: TypeAlias = Annotated[
    str, typer.Option("--method", "-m", metavar="NAME", help="How to find the axis; densray methods lists them.")
]
Pairs: TypeAlias = Annotated[
    bool, typer.Option("--pairs", help="LEXICON holds pairs, the higher word first; their differences are compared.")
]
AnyCase: TypeAlias = Annotated[
    bool, typer.Option("--any-case", help="A seed the space lacks takes the first word that differs in case only.")
]
AsInFile: TypeAlias = Annotated[bool, typer.Option("--raw", help="Take vectors as they are, not at unit length.")]
Folds: TypeAlias = Annotated[int, typer.Option("--folds", min=2, metavar="N", help="Folds of the cross-validation.")]
Resamples: TypeAlias = Annotated[
    int | None, typer.Option("--resamples", min=2, metavar="N", help="Resampled axes; 200, or 50 if each is a fit.")
]
Permutations: TypeAlias = Annotated[
    int | None,
    typer.Option("--permutations", min=19, metavar="N", help="Shuffled labels; 999, or 99 if each is a fit."),
]


def fit(
    space: Space,
    lexicon: Seeds,
    output: Output,
    method: Method = "auto",
    axes: Annotated[
        int | None,
        typer.Option("--axes", min=1, metavar="N", help="Axes to keep; all, a lossless rotation, if absent."),
    ] = None,
    low: Low = None,
    high: High = None,
    bare: Annotated[
        bool, typer.Option("--bare", help="Save the axis alone: no verdict, no errors, no waiting.")
    ] = False,
    word_column: WordColumn = None,
    label_column: LabelColumn = None,
    pairs: Pairs = False,
    any_case: AnyCase = False,
    raw: AsInFile = False,
    folds: Folds = 10,
    resamples: Resamples = None,
    permutations: Permutations = None,
    seed: Seed = 0,
    limit: Limit = None,
    fresh: Fresh = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the axis of some labelled words, save it, and say how far it can be trusted.

    Example: densray fit googlenews-26k hu-liu -o sentiment.npz
    """
    file = named_npz(output)
    target = check_output(file, overwrite=overwrite)
    from densray.axes._files import fit_axis
    from densray.datasets import load_space
    from densray.rotations import name_method

    words, paired = _read_seeds(lexicon, pairs, word_column, label_column, name_ends(low, high))
    note(f"Writing {target} at the end", quiet=quiet)
    with long_run(fresh=fresh, quiet=quiet) as run:
        with run.progress(f"Fitting {name_method(method)}", by_parts=False) as progress:
            saved = fit_axis(
                load_space(space, limit=limit),
                words,
                target,
                method=method,
                n_components=axes,
                judge=not bare,
                pairs=paired,
                n_permutations=permutations,
                overwrite=overwrite,
                progress=progress,
                **_asked(raw, any_case, folds, resamples, seed, name_ends(low, high)),
            )
        if saved.diagnosis is None:
            _answer_bare(saved, as_json=as_json, quiet=quiet)
        else:
            _answer(saved.diagnosis, saved.path, as_json=as_json, quiet=quiet)


def diagnose(
    space: Space,
    lexicon: Seeds,
    method: Method = "auto",
    low: Low = None,
    high: High = None,
    word_column: WordColumn = None,
    label_column: LabelColumn = None,
    pairs: Pairs = False,
    any_case: AnyCase = False,
    raw: AsInFile = False,
    folds: Folds = 10,
    resamples: Resamples = None,
    permutations: Permutations = None,
    seed: Seed = 0,
    limit: Limit = None,
    fresh: Fresh = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say how far the axis of some labelled words can be trusted, and which words stand in its way.

    Example: densray diagnose googlenews-26k gender --method densray-unit
    """
    from densray.axes import diagnose as find
    from densray.datasets import load_space

    words, paired = _read_seeds(lexicon, pairs, word_column, label_column, name_ends(low, high))
    with long_run(fresh=fresh, quiet=quiet) as run:
        with run.progress(f"Diagnosing {method}", by_parts=False) as progress:
            found = find(
                load_space(space, limit=limit),
                words,
                method=method,
                pairs=paired,
                n_permutations=permutations,
                progress=progress,
                **_asked(raw, any_case, folds, resamples, seed, name_ends(low, high)),
            )
        show(found, as_json=as_json, quiet=quiet)


def induce(
    space: Space,
    source: Annotated[
        str, typer.Argument(metavar="LEXICON|AXIS", help="Labelled words, or an axis that densray fit saved (.npz).")
    ],
    output: Output,
    method: Method = "auto",
    low: Low = None,
    high: High = None,
    word_column: WordColumn = None,
    label_column: LabelColumn = None,
    pairs: Pairs = False,
    any_case: AnyCase = False,
    raw: AsInFile = False,
    folds: Folds = 10,
    resamples: Resamples = None,
    seed: Seed = 0,
    any_space: Annotated[
        bool, typer.Option("--any-space", help="Use an axis that was fitted on another space.")
    ] = False,
    limit: Limit = None,
    fresh: Fresh = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score every word of a space: rank, percentile, probability, standard error (.csv, .tsv, .parquet).

    Given labelled words, it finds their axis first. An AXIS of densray fit knows its errors; --method, --pairs,
    --any-case, --raw, --folds, --resamples, --seed and the columns are of use with a LEXICON only.

    A score is the coordinate on the axis: 0 is not neutral; the answer says at which score the odds are even.

    Example: densray induce googlenews-26k hu-liu -o sentiment.tsv
    """
    target = check_output(output, overwrite=overwrite)
    from densray.axes import _scoring as induction
    from densray.axes._files import induce_by_axis, is_axis_file
    from densray.datasets import load_space

    induction.check_ending(target)
    note(f"Writing {target} at the end", quiet=quiet)
    with long_run(fresh=fresh, quiet=quiet) as run:
        with run.progress(f"Scoring {space}", by_parts=False) as progress:
            vectors = load_space(space, limit=limit)
            if is_axis_file(source):
                induced = induce_by_axis(vectors, source, any_space=any_space, label_names=name_ends(low, high))
            else:
                induced = induction.induce(
                    vectors,
                    _read_seeds(source, pairs, word_column, label_column, name_ends(low, high))[0],
                    method=method,
                    progress=progress,
                    **_asked(raw, any_case, folds, resamples, seed, name_ends(low, high)),
                )
            path = induced.write(target, overwrite=overwrite)
        if induced.scores.standard_error is None:
            note(f"{source} was saved without its errors: scores and ranks only. densray fit saves them.", quiet=quiet)
        _answer(induced, path, as_json=as_json, quiet=quiet)


def methods(as_json: Json = False) -> None:
    """List the methods that find an axis.

    Example: densray methods
    """
    from densray.report import Table
    from densray.rotations import METHODS

    rows = [
        {"method": name, "labels": "two classes" if found.classes_only else "classes or scores", "axis": found.summary}
        for name, found in METHODS.items()
    ]
    if as_json:
        print_json(rows)
    else:
        show(Table("Methods", ["method", "labels", "axis"], rows), as_json=False)


def _asked(
    raw: bool, any_case: bool, folds: int, resamples: int | None, seed: int, ends: tuple[str, str] | None
) -> dict[str, Any]:
    """Return the options of finding and judging an axis, as the library calls them."""
    judging = {"folds": folds, "n_resamples": resamples, "random_state": seed}
    return {"normalize": not raw, "any_case": any_case, **judging, "label_names": ends}


def _read_seeds(
    lexicon: str, pairs: bool, word_column: str | None, label_column: str | None, ends: tuple[str, str] | None
) -> tuple[Lexicon, list[tuple[str, str]] | None]:
    """Return the seeds, and the pairs they were given in."""
    if not pairs:
        from densray.datasets import load_lexicon

        return load_lexicon(lexicon, word_column=word_column, label_column=label_column, label_names=ends), None
    from densray.datasets import load_pairs
    from densray.lexicon import Lexicon

    listed = load_pairs(lexicon)
    return Lexicon.from_pairs(listed, name=Path(lexicon).stem), listed


def _answer_bare(saved: SavedAxis, *, as_json: bool, quiet: bool) -> None:
    path, method, seeds = saved.path, saved.method, saved.seeds
    if as_json:
        left = {"words_missing": seeds.missing, "words_set_aside": seeds.set_aside}
        print_json({"path": path, "method": method, "n_seeds": seeds.n_words, **left})
    elif not quiet:
        aside = "".join(f", {len(words)} {why}" for why, words in seeds.set_aside.items())
        typer.echo(f"Written: {path} ({method}; {seeds.n_words} seeds, {len(seeds.missing)} words missing{aside})")


def _answer(result: Result, path: Path, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        plain: dict[str, Any] = {"path": str(path), **result.to_dict()}
        print_json(plain)
        return
    show(result, as_json=False, quiet=quiet)
    if not quiet:
        typer.echo(f"Written: {path}")
