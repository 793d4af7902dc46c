"""``densray evaluate methods``: one concept by several methods, and where they part."""

from __future__ import annotations

from typing import Annotated

import typer

from densray.cli.evaluate import app
from densray.cli.evaluate_lexicon import Methods, split_names
from densray.cli.long_runs import Fresh, long_run
from densray.cli.options import High, Json, LabelColumn, Limit, Low, Quiet, Seed, Space, WordColumn, name_ends
from densray.cli.output import show

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
    from densray.datasets import load_lexicon, load_space
    from densray.tasks.method_comparison import compare_methods
    from densray.tasks.method_trials import QUICK_METHODS

    seeds = load_lexicon(lexicon, word_column=word_column, label_column=label_column, label_names=name_ends(low, high))
    vectors = load_space(space, limit=limit)
    chosen = split_names(methods) or QUICK_METHODS
    with long_run(fresh=fresh, quiet=quiet) as run:
        with run.progress("Trying methods", by_parts=False) as advance:  # its steps are folds
            result = compare_methods(
                vectors,
                seeds,
                methods=chosen,
                folds=folds,
                random_state=seed,
                n_words=words,
                advance=advance,
                journal=run.journal,
            )
        show(result, as_json=as_json, quiet=quiet)
