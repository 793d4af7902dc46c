"""The arguments and flags that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

_LARGEST_SEED = 2**32 - 1  # what scikit-learn takes

Space: TypeAlias = Annotated[str, typer.Argument(metavar="SPACE", help="A file of vectors, or the name of a data set.")]
Output: TypeAlias = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")]
Overwrite: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace the output file where it exists.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the answer as JSON, unrounded, and nothing else.")]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print the answer alone: no progress, no notes, no provenance.")
]
Limit: TypeAlias = Annotated[
    int | None, typer.Option("--limit", min=1, metavar="N", help="Read the first N words only.")
]
Seed: TypeAlias = Annotated[
    int, typer.Option("--seed", min=0, max=_LARGEST_SEED, metavar="N", help="Of all that is drawn at random.")
]
WordColumn: TypeAlias = Annotated[
    str | None,
    typer.Option("--word-column", metavar="COLUMN", help="Where the words of a LEXICON file are: a name, or from 0."),
]
LabelColumn: TypeAlias = Annotated[
    str | None,
    typer.Option("--label-column", metavar="COLUMN", help="Where the labels are: a name of the first line, or from 0."),
]
Low: TypeAlias = Annotated[
    str | None, typer.Option("--low", metavar="NAME", help="What the low end is called; a LEXICON may use it as label.")
]
High: TypeAlias = Annotated[
    str | None, typer.Option("--high", metavar="NAME", help="What the high end is called; likewise.")
]


def name_ends(low: str | None, high: str | None) -> tuple[str, str] | None:
    """Return the names of the ends of an axis, where one was given."""
    return None if low is None and high is None else (low or "low", high or "high")
