"""`densray evaluate lexicon`, `stability`, `methods`, `analogy` and `bias`."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from densray.cli.options import (
    AnyCase,
    Details,
    Figure,
    Folds,
    Groups,
    LexiconName,
    LexiconOptions,
    LongAnswer,
    Methods,
    Overwrite,
    RandomState,
    ReportFile,
    Scale,
    Space,
    SpaceAnswer,
    changed_options,
    grouped,
    split_names,
    split_numbers,
)
from densray.cli.terminal import (
    check_figure,
    check_report,
    long_run,
    print_json,
    progress_bar,
    show,
    write_figure,
    write_report,
)

if TYPE_CHECKING:
    from densray import report as reports
    from densray.axes._protocol import Protocol
    from densray.debiasing import RemovalResult

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
        write_figure(result.figure, output, overwrite=overwrite, quiet=answer.quiet)
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


@grouped
def evaluate_analogy(
    answer: LongAnswer,
    space: Space = "googlenews-26k",
    analogies: Annotated[
        str, typer.Option("--set", metavar="SET", help="google, msr, bats, or a file or folder of analogies.")
    ] = "google",
    solver: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="intcos-original, intcos-complement, lrcos, intrank, intrank-space, 3cosadd, 3cosmul, 3cosavg, "
            "pairdistance or similartob.",
        ),
    ] = "intcos-original",
    rotation: Annotated[
        str | None, typer.Option(metavar="METHOD", help="What finds the axis of IntCos and IntRank.")
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            metavar="user|paper",
            help="While a pair is asked, train on all other pairs (user), or on them without any word of the pair "
            "(paper).",
        ),
    ] = "user",
    categories: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Only these categories or groups, separated by commas.")
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, metavar="K", help="Answers kept per question.")] = 10,
    predictions: Annotated[bool, typer.Option("--predictions", help="As --full, with every question asked.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="As --json, with all measures, skipped pairs and provenance.")
    ] = False,
) -> None:
    """How many analogies of a set a space and a solver get right, each pair left out in turn.

    --json prints the solver, its two means, and pairs and precision of each category; --full prints everything.

    Example: densray evaluate analogy googlenews-26k --set google --solver lrcos
    """
    from densray.analogy import evaluate_analogies, make_solver
    from densray.analogy._pairs import checked_protocol
    from densray.datasets import load_analogies, load_space

    chosen = checked_protocol(protocol)
    asked = load_analogies(analogies)
    if categories:
        asked = asked.subset(split_names(categories))
    vectors = load_space(space, limit=answer.limit)
    made = make_solver(solver, vectors, rotation=rotation)
    with long_run(fresh=answer.fresh, quiet=answer.quiet) as run:
        with run.progress(f"Solving {asked.name}") as progress:
            result = evaluate_analogies(
                vectors,
                asked,
                made,
                protocol=chosen,
                k=k,
                predictions=predictions,
                progress=progress,
                journal=run.journal,
            )
        if full or predictions:
            print_json(result)
        elif answer.as_json:
            print_json(result.summary())
        else:
            show(result, as_json=False, quiet=answer.quiet)


_DEFAULT_REMOVERS = ("densray-unit", "mean-difference", "hard")


@grouped
def evaluate_bias(
    seeds: LexiconOptions,
    answer: LongAnswer,
    space: Space = "googlenews-26k",
    concept: Annotated[
        str, typer.Option("--concept", metavar="CONCEPT", help="gender, or a TOML file of word lists.")
    ] = "gender",
    removers: Annotated[
        str | None,
        typer.Option(
            "--removers",
            "-r",
            metavar="NAMES",
            help="What removes the concept, separated by commas, each with :AXES where it takes several: any fitting "
            "method, inlp, hard, double-hard or leace.",
        ),
    ] = None,
    lexicon: Annotated[
        str | None,
        typer.Option("--lexicon", metavar="LEXICON", help="Learn from these words instead; or --high and --low."),
    ] = None,
    strength: Annotated[
        float, typer.Option("--strength", min=0.0, max=1.0, metavar="S", help="Share of the change to make.")
    ] = 1.0,
    any_case: AnyCase = False,
    random_state: RandomState = 0,
    report: ReportFile = None,
    details: Details = False,
    overwrite: Overwrite = False,
) -> None:
    """What a space holds of a concept before and after removers, and what else it kept: one table.

    --details adds what the measures ask, their intervals and p-values.

    Example: densray evaluate bias googlenews-26k --concept gender -r densray-unit,inlp:10 --report bias.html
    """
    check_report(report, overwrite=overwrite, quiet=answer.quiet)
    from densray.datasets import load_space
    from densray.debiasing import evaluate_removal, load_concept
    from densray.errors import TaskError

    lists = load_concept(concept)
    options = changed_options(seeds)
    if lexicon is not None or seeds.has_lists:
        lists = lists.with_lexicon(seeds.load(lexicon))
    elif options:
        raise TaskError(f"{', '.join(options)} given without --lexicon, which it belongs to. Give both or neither.")
    vectors = load_space(space, limit=answer.limit)
    chosen = split_names(removers) or _DEFAULT_REMOVERS
    with long_run(fresh=answer.fresh, quiet=answer.quiet) as run:
        with run.progress(f"Removing {lists.name}", by_parts=False) as progress:
            result = evaluate_removal(
                vectors,
                lists,
                chosen,
                strength=strength,
                any_case=any_case,
                random_state=random_state,
                progress=progress,
                journal=run.journal,
            )
        show(result, as_json=answer.as_json, quiet=answer.quiet, details=details)
        title = f"Removing {result.concept}"
        write_report(report, title, result, _figures, overwrite=overwrite, quiet=answer.quiet)


def _figures(result: RemovalResult) -> list[reports.Figure]:
    from densray.debiasing._evaluation import DRAWN, best_removed
    from densray.figures import anchor_scatter, figure, interval_plot

    drawn = (*DRAWN, *(each.name for each in result.spaces[0].kept))
    rows = [row for row in result.interval_rows() if row["measure"] in drawn and isfinite(row["value"])]
    best = best_removed(result).name
    gaps = [row for row in result.gap_rows() if row["space"] in (result.spaces[0].name, best)]
    first, second = result.anchors
    return [
        figure(
            interval_plot(rows),
            "What is left of the concept, and what else was kept, with 95% intervals. Grey lines: if it were gone.",
        ),
        figure(
            anchor_scatter(gaps, anchors=result.anchors),
            f"Neutral words by their cosines to “{first}” and “{second}”, before and after “{best}”; on the line both "
            "are equal.",
        ),
    ]
