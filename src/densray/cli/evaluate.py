"""`densray evaluate analogy` and `densray evaluate bias`."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Annotated

import typer

from densray.cli.options import (
    AnyCase,
    Details,
    LexiconOptions,
    LongAnswer,
    Overwrite,
    RandomState,
    ReportFile,
    Space,
    changed_options,
    grouped,
    split_names,
)
from densray.cli.terminal import check_report, long_run, print_json, show, write_report

if TYPE_CHECKING:
    from densray.debiasing import RemovalResult
    from densray.report import Figure


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


def _figures(result: RemovalResult) -> list[Figure]:
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
