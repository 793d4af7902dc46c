"""`densray evaluate lexicon`, `stability`, `methods`, `ratings`, `analogy`, `bias` and `retrieval`."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from os.path import isfile
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import typer

from densray.cli.axes import read_source
from densray.cli.options import (
    Answer,
    AnyCase,
    AnySpace,
    AxisFlags,
    FigureFile,
    Folds,
    LexiconName,
    LexiconOptions,
    LongAnswer,
    Method,
    Methods,
    Overwrite,
    RandomState,
    RatingOptions,
    ReportFile,
    Space,
    SpaceAnswer,
    SpaceOrTable,
    Standardize,
    TableOptions,
    WordGroups,
    WordGroupsOrNone,
    changed_options,
    split_names,
    split_numbers,
    with_option_groups,
)
from densray.cli.tables import holds_documents, rate_documents, refuse_given
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
    from densray.axes import Protocol
    from densray.debiasing import RemovalResult

TestLexicon: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--test", metavar="LEXICON", help="Test words with labels. Default: some words of the lexicon are held out."
    ),
]
TestSize: TypeAlias = Annotated[float, typer.Option("--test-size", metavar="SHARE", help="Share of words to hold out.")]
TrainingLimit: TypeAlias = Annotated[
    int,
    typer.Option(
        "--training-limit",
        min=0,
        metavar="N",
        help="Train only on words among the first N of the space (0: all words).",
    ),
]
Sizes: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--sizes",
        metavar="NUMBERS",
        help="Sample sizes, comma-separated. Default: 128,256,512, … up to the number of words.",
    ),
]
Samples: TypeAlias = Annotated[
    int, typer.Option("--n-samples", min=2, metavar="N", help="Number of samples of each size.")
]


@with_option_groups
def evaluate_lexicon(
    space: Space,
    lexicon_options: LexiconOptions,
    answer: LongAnswer,
    lexicons: Annotated[
        list[str] | None, typer.Argument(metavar="LEXICON...", help="Files of words and labels, or data sets.")
    ] = None,
    test: TestLexicon = None,
    methods: Methods = None,
    test_size: TestSize = 0.25,
    training_limit: TrainingLimit = 80_000,
    groups: WordGroupsOrNone = "none",
    repeats: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of random splits. The mean and spread of Kendall's τ over the splits are reported.",
        ),
    ] = 1,
    any_case: AnyCase = False,
    standardize: Standardize = False,
    random_state: RandomState = 0,
) -> None:
    """Train each method on part of a lexicon, and measure how well it ranks the other words.

    With several lexicons, their unweighted mean (“macro mean”) is also reported.

    Example: densray evaluate lexicon googlenews-26k hu-liu --methods densray-unit,svm,ridge
    """
    from densray.axes import DEFAULT_METHODS, evaluate_induction, repeat_induction
    from densray.datasets import load_space
    from densray.errors import TaskError
    from densray.report import Result

    names: Sequence[str | None] = lexicons or [None]
    if test is not None and len(names) > 1:
        raise TaskError(f"--test was given with {len(names)} training lexicons; it takes one.")
    if repeats > 1 and (test is not None or len(names) > 1):
        raise TaskError(f"--repeats {repeats} splits one lexicon again and again. Give one LEXICON, without --test.")
    loaded = [lexicon_options.load(name) for name in names]
    gold = None if test is None else lexicon_options.load_file(test)
    options: dict[str, Any] = {
        "methods": split_names(methods) or DEFAULT_METHODS,
        "protocol": _protocol(test_size, training_limit, any_case, random_state, standardize),
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


@with_option_groups
def evaluate_stability(
    space: Space,
    lexicon_options: LexiconOptions,
    answer: LongAnswer,
    lexicon: LexiconName = None,
    test: TestLexicon = None,
    methods: Methods = None,
    sizes: Sizes = None,
    n_samples: Samples = 40,
    test_size: TestSize = 0.25,
    training_limit: TrainingLimit = 80_000,
    any_case: AnyCase = False,
    standardize: Standardize = False,
    random_state: RandomState = 0,
    output: FigureFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Train on small to large samples of a lexicon, and report the mean and standard deviation of Kendall's τ.

    Example: densray evaluate stability googlenews-26k hu-liu --sizes 64,256,1024 -o stability.svg
    """
    check_figure(output, overwrite=overwrite, quiet=answer.quiet)
    from densray.axes import STABILITY_METHODS
    from densray.axes import evaluate_stability as evaluate
    from densray.datasets import load_space

    words, gold = lexicon_options.load(lexicon), None if test is None else lexicon_options.load_file(test)
    with long_run(fresh=answer.fresh, quiet=answer.quiet) as run:
        with run.progress("Sampling") as progress:
            result = evaluate(
                load_space(space, limit=answer.limit),
                words,
                test=gold,
                methods=split_names(methods) or STABILITY_METHODS,
                sizes=split_numbers(sizes) or None,
                n_samples=n_samples,
                protocol=_protocol(test_size, training_limit, any_case, random_state, standardize),
                progress=progress,
                journal=run.journal,
            )
        write_figure(result.figure, output, overwrite=overwrite, quiet=answer.quiet)
        show(result, as_json=answer.as_json, quiet=answer.quiet)


def _protocol(test_size: float, training_limit: int, any_case: bool, random_state: int, standardize: bool) -> Protocol:
    from densray.axes import Protocol

    limit = training_limit or None
    return Protocol(
        test_size=test_size, training_limit=limit, any_case=any_case, random_state=random_state, standardize=standardize
    )


@with_option_groups
def evaluate_methods(
    space: Space,
    lexicon_options: LexiconOptions,
    answer: SpaceAnswer,
    lexicon: LexiconName = None,
    methods: Methods = None,
    folds: Folds = 10,
    standardize: Standardize = False,
    groups: WordGroups = "forms",
    n_words: Annotated[int, typer.Option(min=1, metavar="N", help="Number of disputed words to list.")] = 20,
    random_state: RandomState = 0,
) -> None:
    """Compare methods on one concept: held-out AUC and Kendall's τ, angles between axes, and words they disagree on.

    Example: densray evaluate methods googlenews-26k gender --methods ridge,svm,densray-unit
    """
    from densray.axes import QUICK_METHODS, compare_methods
    from densray.datasets import load_space

    words, vectors = lexicon_options.load(lexicon), load_space(space, limit=answer.limit)
    with progress_bar("Trying methods", quiet=answer.quiet) as progress:
        result = compare_methods(
            vectors,
            words,
            methods=split_names(methods) or QUICK_METHODS,
            folds=folds,
            standardize=standardize,
            groups=groups,
            random_state=random_state,
            n_words=n_words,
            progress=progress,
        )
    show(result, as_json=answer.as_json, quiet=answer.quiet)


@with_option_groups
def evaluate_ratings(
    space: SpaceOrTable,
    lexicon_options: LexiconOptions,
    columns: RatingOptions,
    table: TableOptions,
    options: AxisFlags,
    answer: SpaceAnswer,
    ratings: Annotated[
        str | None,
        typer.Argument(
            metavar="RATINGS",
            help="A file of rated items: mean ratings, or one column per rater. Leave it out if the table of documents "
            "contains the ratings (--rating-column).",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="LEXICON|AXIS",
            help="Labelled words, or an axis saved by densray fit (.safetensors). Or give --high and --low.",
        ),
    ] = None,
    method: Method = "auto",
    phrases: Annotated[
        str,
        typer.Option(
            metavar="missing|mean",
            help="How to treat multi-word items: as missing, or as the mean of their word vectors.",
        ),
    ] = "missing",
    any_space: AnySpace = False,
    output: FigureFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Measure how well an axis agrees with human ratings: correlations, intervals and the noise ceiling.

    With one column per rater, the command also reports how well the raters agree with each other. This agreement limits
    the correlation (the noise ceiling).

    For documents, give a table, a file of ratings, and a saved axis. The rated items must be in a column of the table
    (--text-column): names or texts of documents. If the table itself contains the ratings, leave
    RATINGS out: densray evaluate ratings docs.parquet AXIS --rating-column stars.

    Example: densray evaluate ratings googlenews-26k danger.csv --high dangerous,deadly --low safe,harmless
    """
    check_figure(output, overwrite=overwrite, quiet=answer.quiet)
    from dataclasses import asdict

    from densray.axes import evaluate_ratings as evaluate
    from densray.datasets import load_space
    from densray.errors import TaskError

    if ratings is None:
        raise TaskError(
            "no RATINGS were given. Give a file of rated items. If a table contains the ratings, give the AXIS and "
            "--rating-column."
        )
    _refuse_swapped(space, ratings, source)
    if holds_documents(space, ratings, source, table):
        of_spaces = {"--phrases": phrases != "missing", "--limit": answer.limit, "--method": method != "auto"}
        of_spaces |= dict.fromkeys(changed_options(lexicon_options) + changed_options(options, but=("any_case",)), True)
        refuse_given(of_spaces, "belongs to a space of words")
        found = rate_documents(
            space,
            ratings,
            source,
            columns,
            table,
            Answer(answer.as_json, answer.quiet),
            any_case=options.any_case,
            any_space=any_space,
        )
        write_figure(found.figure, output, overwrite=overwrite, quiet=answer.quiet)
        show(found, as_json=answer.as_json, quiet=answer.quiet)
        return
    rated = columns.load(ratings)
    with progress_bar("Scoring items", quiet=answer.quiet):
        vectors = load_space(space, limit=answer.limit)
        axis = read_source(source, method, lexicon_options, options, vectors, any_space=any_space)
        result = evaluate(vectors, rated, axis, method=method, phrases=cast(Any, phrases), **asdict(options))
    write_figure(result.figure, output, overwrite=overwrite, quiet=answer.quiet)
    show(result, as_json=answer.as_json, quiet=answer.quiet)


def _refuse_swapped(space: str, ratings: str, source: str | None) -> None:
    """Raise if the axis or the name of a lexicon stands in the place of the file of ratings, which follows it."""
    from densray.datasets import list_datasets
    from densray.errors import TaskError
    from densray.persistence import is_tensor_file

    if source is None or is_tensor_file(source) or not isfile(source):
        return
    if is_tensor_file(ratings) or (not isfile(ratings) and ratings in {each.name for each in list_datasets("lexicon")}):
        raise TaskError(
            f"{ratings} is given before {source}; the file of ratings comes first: densray evaluate ratings {space} "
            f"{source} {ratings}."
        )


@with_option_groups
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
            "pairdistance, similartob or spelling. See docs/analogies.",
        ),
    ] = "intcos-original",
    rotation: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="For intcos and intrank: the method that finds the axis (`densray methods` lists them).",
        ),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            metavar="user|paper",
            help="Which pairs a solver learns from before it answers a question. user: all other pairs, as in normal "
            "use. paper: only pairs that share no word with the question.",
        ),
    ] = "user",
    categories: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Test only these categories or groups (comma-separated).")
    ] = None,
    any_case: Annotated[
        bool,
        typer.Option(
            "--any-case",
            help="If the space has a word only in other capitalisations, use the first match. Here the "
            "default is to do so only if the whole analogy set is in lower case.",
        ),
    ] = False,
    k: Annotated[int, typer.Option("--k", min=1, metavar="K", help="Number of answers to keep per question.")] = 10,
    predictions: Annotated[bool, typer.Option("--predictions", help="Like --full, and list every question.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Like --json, and add all measures, skipped pairs and provenance.")
    ] = False,
) -> None:
    """Measure how many analogies a solver answers correctly. Each pair is left out of training while it is tested.

    --json prints a summary: the solver, its mean precision (over pairs and over categories), and for each category the
    number of pairs and the precision. --full prints all measures as JSON.

    Example: densray evaluate analogy googlenews-26k --set google --solver lrcos
    """
    from densray.analogy import checked_protocol, evaluate_analogies, make_solver
    from densray.datasets import load_analogies, load_space

    checked = checked_protocol(protocol)
    analogy_set = load_analogies(analogies)
    if categories:
        analogy_set = analogy_set.subset(split_names(categories))
    vectors = load_space(space, limit=answer.limit)
    chosen_solver = make_solver(solver, vectors, rotation=rotation)
    with long_run(fresh=answer.fresh, quiet=answer.quiet) as run:
        with run.progress(f"Solving {analogy_set.name}") as progress:
            result = evaluate_analogies(
                vectors,
                analogy_set,
                chosen_solver,
                protocol=checked,
                any_case=any_case or None,  # None: only for a set in lower case
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


@with_option_groups
def evaluate_bias(
    lexicon_options: LexiconOptions,
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
            help="Removers to compare (comma-separated). Add :N to remove N axes (inlp:10).",
        ),
    ] = None,
    lexicon: Annotated[
        str | None,
        typer.Option(
            "--lexicon",
            metavar="LEXICON",
            help="Labelled words to learn the removal from, instead of the words of CONCEPT. Or give --high and --low.",
        ),
    ] = None,
    strength: Annotated[
        float,
        typer.Option(
            "--strength", min=0.0, max=1.0, metavar="S", help="Strength of the removal, from 0 (none) to 1 (full)."
        ),
    ] = 1.0,
    any_case: AnyCase = False,
    random_state: RandomState = 0,
    report: ReportFile = None,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Also show a description of each measure, its interval, its p-value and the words used.",
        ),
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Measure how much of a concept is in a space before and after removal, and how well the rest is preserved.

    A remover (-r) is leace, inlp, hard, double-hard, covariance-difference, or any method that finds an axis.

    Example: densray evaluate bias googlenews-26k --concept gender -r densray-unit,inlp:10 --report bias.html
    """
    check_report(report, overwrite=overwrite, quiet=answer.quiet)
    from densray.datasets import load_space
    from densray.debiasing import evaluate_removal, load_concept
    from densray.errors import TaskError

    lists = load_concept(concept)
    options = changed_options(lexicon_options)
    if lexicon is not None or lexicon_options.has_lists:
        lists = lists.with_lexicon(lexicon_options.load(lexicon))
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
    from densray.debiasing import DRAWN, best_removed
    from densray.figures import anchor_scatter, figure, interval_plot

    drawn = (*DRAWN, *(each.name for each in result.spaces[0].kept))
    rows = [row for row in result.interval_rows() if row["measure"] in drawn and isfinite(row["value"])]
    best = best_removed(result).name
    gaps = [row for row in result.gap_rows() if row["space"] in (result.spaces[0].name, best)]
    first, second = result.anchors
    return [
        figure(
            interval_plot(rows, gone="if gone"),
            "Remaining traces of the concept, and preserved qualities, with 95% intervals. “If gone”: the values if "
            "nothing of the concept were left.",
        ),
        figure(
            anchor_scatter(gaps, anchors=result.anchors),
            f"Neutral words by their cosines to “{first}” and “{second}”, before and after “{best}”; on the line both "
            "are equal.",
        ),
    ]


@with_option_groups
def evaluate_retrieval(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Documents with vectors: parquet, Arrow, CSV, JSONL.")],
    answer: Answer,
    pair_column: Annotated[
        str,
        typer.Option(
            "--pair-column", metavar="NAME", help="Column of pairs: documents with the same value are partners."
        ),
    ],
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="TABLE", help="The same documents after a change, in the same order."),
    ] = None,
    text_column: Annotated[
        str | None,
        typer.Option(
            "--text-column",
            metavar="NAME",
            help="Column of texts. A document with the same text as the partner counts as the partner.",
        ),
    ] = None,
    cluster_column: Annotated[
        str | None,
        typer.Option(
            "--cluster-column",
            metavar="NAME",
            help="Column of classes. Also report how well k-means clusters match them (purity).",
        ),
    ] = None,
    vector_column: Annotated[
        str | None,
        typer.Option(
            "--vector-column", metavar="NAME", help="Vector column, if more than one column could contain vectors."
        ),
    ] = None,
    at: Annotated[
        str, typer.Option("--at", metavar="NUMBERS", help="Numbers of neighbours to look at (comma-separated).")
    ] = "1,10",
    random_state: RandomState = 0,
    output: FigureFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Measure how often the partner of a document is among its nearest neighbours, before and after a change.

    Example: densray evaluate retrieval docs.parquet --pair-column case --against clean.parquet
    """
    check_figure(output, overwrite=overwrite, quiet=answer.quiet)
    from densray.retrieval import evaluate_retrieval as evaluate

    with progress_bar("Searching", quiet=answer.quiet) as progress:
        result = evaluate(
            table,
            pair_column,
            against=against,
            texts=text_column,
            clusters=cluster_column,
            vectors=vector_column,
            at=split_numbers(at),
            random_state=random_state,
            progress=progress,
        )
    write_figure(result.figure, output, overwrite=overwrite, quiet=answer.quiet)
    show(result, as_json=answer.as_json, quiet=answer.quiet)
