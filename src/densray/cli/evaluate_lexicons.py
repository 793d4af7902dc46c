"""`densray evaluate lexicon`, `stability` and `methods`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from densray.cli.evaluate import app
from densray.cli.options import (
    High,
    Json,
    LabelColumn,
    Limit,
    Low,
    Overwrite,
    Quiet,
    Seed,
    Space,
    WordColumn,
    name_ends,
)
from densray.cli.terminal import Fresh, check_figure, long_run, note, show

if TYPE_CHECKING:
    from densray.axes._stability import Stability

Methods: TypeAlias = Annotated[
    str | None, typer.Option("--methods", metavar="NAMES", help="Methods to compare, separated by commas.")
]
TestLexicon: TypeAlias = Annotated[
    str | None, typer.Option("--test", metavar="LEXICON", help="Gold words; without it some words are held out.")
]
TestSize: TypeAlias = Annotated[float, typer.Option("--test-size", help="Share of the words held out.")]
AnyCase: TypeAlias = Annotated[bool, typer.Option("--any-case", help="Find words that differ from the space in case.")]
Sizes: TypeAlias = Annotated[
    str | None, typer.Option("--sizes", metavar="NUMBERS", help="Words of a sample, separated by commas.")
]
Samples: TypeAlias = Annotated[int, typer.Option("--samples", min=2, help="Samples of each size.")]
Figure: TypeAlias = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the figure: .png, .svg, .pdf, .html.")
]


@app.command("lexicon")
def lexicon_command(
    space: Space,
    lexicons: Annotated[
        list[str], typer.Argument(metavar="LEXICON...", help="Files of words and labels, or names of data sets.")
    ],
    test: TestLexicon = None,
    methods: Methods = None,
    word_column: WordColumn = None,
    label_column: LabelColumn = None,
    low: Low = None,
    high: High = None,
    test_size: TestSize = 0.25,
    seed: Seed = 0,
    any_case: AnyCase = False,
    limit: Limit = None,
    fresh: Fresh = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train every method on some words of a lexicon and measure how it orders the others.

    Several lexicons give the macro mean as well.

    Example: densray evaluate lexicon googlenews-26k hu-liu --methods densray-unit,svm,ridge
    """
    from densray.axes._lexicon_evaluation import DEFAULT_METHODS, evaluate_induction, evaluate_inductions
    from densray.axes._protocol import Protocol
    from densray.datasets import load_lexicon, load_space
    from densray.errors import TaskError
    from densray.report import Result

    if test is not None and len(lexicons) > 1:
        raise TaskError(f"--test was given with {len(lexicons)} training lexicons; it takes one.")
    protocol = Protocol(test_size=test_size, random_state=seed, any_case=any_case)
    chosen = split_names(methods) or DEFAULT_METHODS
    columns: dict[str, Any] = {
        "word_column": word_column,
        "label_column": label_column,
        "label_names": name_ends(low, high),
    }
    loaded, vectors = [load_lexicon(name, **columns) for name in lexicons], load_space(space, limit=limit)
    result: Result
    with long_run(fresh=fresh, quiet=quiet) as run:
        with run.progress("Inducing") as progress:
            options: dict[str, Any] = {"methods": chosen, "protocol": protocol, "progress": progress}
            if len(loaded) == 1:
                gold = None if test is None else load_lexicon(test, **columns)
                result = evaluate_induction(vectors, loaded[0], test=gold, journal=run.journal, **options)
            else:
                result = evaluate_inductions(vectors, loaded, journal=run.journal, **options)
        show(result, as_json=as_json, quiet=quiet)


@app.command("stability")
def stability_command(
    space: Space,
    lexicon: Annotated[str, typer.Argument(metavar="LEXICON", help="A file of words and labels, or a data set.")],
    test: TestLexicon = None,
    methods: Methods = None,
    sizes: Sizes = None,
    samples: Samples = 40,
    output: Figure = None,
    overwrite: Overwrite = False,
    word_column: WordColumn = None,
    label_column: LabelColumn = None,
    low: Low = None,
    high: High = None,
    test_size: TestSize = 0.25,
    seed: Seed = 0,
    any_case: AnyCase = False,
    limit: Limit = None,
    fresh: Fresh = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train on samples of a lexicon, small to large: mean and standard deviation of Kendall's τ.

    Example: densray evaluate stability googlenews-26k hu-liu --sizes 64,256,1024 -o stability.svg
    """
    check_figure(output, overwrite=overwrite, quiet=quiet)
    from densray.axes._protocol import Protocol
    from densray.axes._stability import DEFAULT_SIZES, STABILITY_METHODS, evaluate_stability
    from densray.datasets import load_lexicon, load_space

    columns: dict[str, Any] = {
        "word_column": word_column,
        "label_column": label_column,
        "label_names": name_ends(low, high),
    }
    with long_run(fresh=fresh, quiet=quiet) as run:
        with run.progress("Sampling") as progress:
            result = evaluate_stability(
                load_space(space, limit=limit),
                load_lexicon(lexicon, **columns),
                test=None if test is None else load_lexicon(test, **columns),
                methods=split_names(methods) or STABILITY_METHODS,
                sizes=split_numbers(sizes) or DEFAULT_SIZES,
                n_samples=samples,
                protocol=Protocol(test_size=test_size, random_state=seed, any_case=any_case),
                progress=progress,
                journal=run.journal,
            )
        write_figure(result, output, overwrite=overwrite, quiet=quiet)
        show(result, as_json=as_json, quiet=quiet)


def split_names(text: str | None) -> tuple[str, ...]:
    """Return the names in a list separated by commas."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def split_numbers(text: str | None) -> tuple[int, ...]:
    """Return the whole numbers in a list separated by commas."""
    from densray.errors import TaskError

    try:
        return tuple(int(name) for name in split_names(text))
    except ValueError:
        raise TaskError(f"'{text}' is no list of whole numbers such as 64,256,1024.") from None


def write_figure(result: Stability, output: Path | None, *, overwrite: bool, quiet: bool) -> None:
    """Write the figure of a result where a file was asked for."""
    if output is None:
        return
    from densray.figures import save

    chart: Any = result.figure()
    save(chart, output, overwrite=overwrite)
    note(f"Wrote {output}", quiet=quiet)


__all__: list[str] = []


@app.command("methods")
def methods_command(
    space: Space,
    lexicon: Annotated[str, typer.Argument(metavar="LEXICON", help="A file of words and labels, or a data set.")],
    methods: Methods = None,
    word_column: WordColumn = None,
    label_column: LabelColumn = None,
    low: Low = None,
    high: High = None,
    folds: Annotated[int, typer.Option("--folds", min=2, metavar="N", help="Of the cross-validation.")] = 10,
    words: Annotated[int, typer.Option("--words", min=1, metavar="N", help="Words named that methods part on.")] = 20,
    seed: Seed = 0,
    limit: Limit = None,
    fresh: Fresh = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare methods on one concept: cross-validated τ, angles between their axes, words they disagree on.

    Example: densray evaluate methods googlenews-26k gender --methods ridge,svm,densray-unit
    """
    from densray.axes._comparison import QUICK_METHODS, compare_methods
    from densray.datasets import load_lexicon, load_space

    seeds = load_lexicon(lexicon, word_column=word_column, label_column=label_column, label_names=name_ends(low, high))
    vectors = load_space(space, limit=limit)
    chosen = split_names(methods) or QUICK_METHODS
    with long_run(fresh=fresh, quiet=quiet) as run:
        with run.progress("Trying methods", by_parts=False) as progress:  # its steps are folds
            result = compare_methods(
                vectors,
                seeds,
                methods=chosen,
                folds=folds,
                random_state=seed,
                n_words=words,
                progress=progress,
            )
        show(result, as_json=as_json, quiet=quiet)
