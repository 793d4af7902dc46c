"""`densray evaluate lexicon`, `stability` and `methods`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from densray.cli.options import (
    AnyCase,
    Figure,
    Folds,
    Groups,
    LexiconName,
    LexiconOptions,
    LongAnswer,
    Methods,
    Overwrite,
    RandomState,
    Scale,
    Space,
    SpaceAnswer,
    grouped,
    split_names,
    split_numbers,
)
from densray.cli.terminal import check_figure, long_run, progress_bar, show, write_figure

if TYPE_CHECKING:
    from densray.axes._protocol import Protocol

TestLexicon: TypeAlias = Annotated[
    str | None, typer.Option("--test", metavar="LEXICON", help="Gold words; without it some words are held out.")
]
TestSize: TypeAlias = Annotated[float, typer.Option("--test-size", metavar="SHARE", help="Share of words held out.")]
TrainingLimit: TypeAlias = Annotated[
    int,
    typer.Option("--training-limit", min=0, metavar="N", help="Train on the first N words of the space; 0: on all."),
]
Sizes: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--sizes",
        metavar="NUMBERS",
        help="Words of a sample, separated by commas; 128,256,512 … as far as there are words.",
    ),
]
Samples: TypeAlias = Annotated[int, typer.Option("--n-samples", min=2, metavar="N", help="Samples of each size.")]


@grouped
def evaluate_lexicon(
    space: Space,
    seeds: LexiconOptions,
    answer: LongAnswer,
    lexicons: Annotated[
        list[str] | None, typer.Argument(metavar="LEXICON...", help="Files of words and labels, or data sets.")
    ] = None,
    test: TestLexicon = None,
    methods: Methods = None,
    test_size: TestSize = 0.25,
    training_limit: TrainingLimit = 80_000,
    groups: Groups = None,
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="Splits: mean and spread of τ over them.")] = 1,
    any_case: AnyCase = False,
    scale: Scale = None,
    random_state: RandomState = 0,
) -> None:
    """Train every method on some words of a lexicon and measure how it orders the others.

    Several lexicons give the macro mean as well, several splits (--repeats) mean and spread.

    Example: densray evaluate lexicon googlenews-26k hu-liu --methods densray-unit,svm,ridge
    """
    from densray.axes._lexicon_evaluation import DEFAULT_METHODS, evaluate_induction, repeat_induction
    from densray.datasets import load_space
    from densray.errors import TaskError
    from densray.report import Result

    names: Sequence[str | None] = lexicons or [None]
    if test is not None and len(names) > 1:
        raise TaskError(f"--test was given with {len(names)} training lexicons; it takes one.")
    if repeats > 1 and (test is not None or len(names) > 1):
        raise TaskError(f"--repeats {repeats} splits one lexicon again and again. Give one LEXICON, without --test.")
    loaded, gold = [seeds.load(name) for name in names], None if test is None else seeds.load_file(test)
    options: dict[str, Any] = {
        "methods": split_names(methods) or DEFAULT_METHODS,
        "protocol": _protocol(test_size, training_limit, any_case, random_state, scale),
        "groups": groups,
    }
    vectors = load_space(space, limit=answer.limit)
    result: Result
    with long_run(fresh=answer.fresh, quiet=answer.quiet) as run:
        with run.progress("Inducing") as progress:
            options |= {"progress": progress, "journal": run.journal}
            if repeats > 1:
                result = repeat_induction(vectors, loaded[0], repeats=repeats, **options)
            elif len(loaded) == 1:
                result = evaluate_induction(vectors, loaded[0], test=gold, **options)
            else:
                result = evaluate_induction(vectors, loaded, **options)
        show(result, as_json=answer.as_json, quiet=answer.quiet)


@grouped
def evaluate_stability(
    space: Space,
    seeds: LexiconOptions,
    answer: LongAnswer,
    lexicon: LexiconName = None,
    test: TestLexicon = None,
    methods: Methods = None,
    sizes: Sizes = None,
    n_samples: Samples = 40,
    test_size: TestSize = 0.25,
    training_limit: TrainingLimit = 80_000,
    any_case: AnyCase = False,
    scale: Scale = None,
    random_state: RandomState = 0,
    output: Figure = None,
    overwrite: Overwrite = False,
) -> None:
    """Train on samples of a lexicon, small to large: mean and standard deviation of Kendall's τ.

    Example: densray evaluate stability googlenews-26k hu-liu --sizes 64,256,1024 -o stability.svg
    """
    check_figure(output, overwrite=overwrite, quiet=answer.quiet)
    from densray.axes import _stability
    from densray.datasets import load_space

    words, gold = seeds.load(lexicon), None if test is None else seeds.load_file(test)
    with long_run(fresh=answer.fresh, quiet=answer.quiet) as run:
        with run.progress("Sampling") as progress:
            result = _stability.evaluate_stability(
                load_space(space, limit=answer.limit),
                words,
                test=gold,
                methods=split_names(methods) or _stability.STABILITY_METHODS,
                sizes=split_numbers(sizes) or None,
                n_samples=n_samples,
                protocol=_protocol(test_size, training_limit, any_case, random_state, scale),
                progress=progress,
                journal=run.journal,
            )
        write_figure(result, output, overwrite=overwrite, quiet=answer.quiet)
        show(result, as_json=answer.as_json, quiet=answer.quiet)


def _protocol(test_size: float, training_limit: int, any_case: bool, random_state: int, scale: str | None) -> Protocol:
    from densray.axes._protocol import Protocol

    limit = training_limit or None
    return Protocol(
        test_size=test_size, training_limit=limit, any_case=any_case, random_state=random_state, scale=scale
    )


@grouped
def evaluate_methods(
    space: Space,
    seeds: LexiconOptions,
    answer: SpaceAnswer,
    lexicon: LexiconName = None,
    methods: Methods = None,
    folds: Folds = 10,
    scale: Scale = None,
    groups: Groups = None,
    n_words: Annotated[int, typer.Option(min=1, metavar="N", help="Words named that methods disagree on.")] = 20,
    random_state: RandomState = 0,
) -> None:
    """Compare methods on one concept: cross-validated τ, angles between their axes, words they disagree on.

    Example: densray evaluate methods googlenews-26k gender --methods ridge,svm,densray-unit
    """
    from densray.axes._comparison import QUICK_METHODS, compare_methods
    from densray.datasets import load_space

    words, vectors = seeds.load(lexicon), load_space(space, limit=answer.limit)
    with progress_bar("Trying methods", quiet=answer.quiet) as progress:
        result = compare_methods(
            vectors,
            words,
            methods=split_names(methods) or QUICK_METHODS,
            folds=folds,
            scale=scale,
            groups=groups,
            random_state=random_state,
            n_words=n_words,
            progress=progress,
        )
    show(result, as_json=answer.as_json, quiet=answer.quiet)
