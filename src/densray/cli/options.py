"""Arguments and options shared by several commands; each option has the name of the library parameter it sets."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, cast, get_args, get_type_hints

import typer

if TYPE_CHECKING:
    from densray.lexicon import Lexicon
    from densray.ratings import Ratings
    from densray.tables import VectorTable

Space: TypeAlias = Annotated[str, typer.Argument(metavar="SPACE", help="A file of vectors, or the name of a data set.")]
SpaceOrTable: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="SPACE|TABLE",
        help="Words with vectors (a file or the name of a data set), or a table of documents (a file, a folder or a "
        "pattern).",
    ),
]
LexiconName: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="LEXICON", help="A file of words and labels, or the name of a data set. Or give --high and --low."
    ),
]
Method: TypeAlias = Annotated[
    str,
    typer.Option("--method", "-m", metavar="NAME", help="Method that finds the axis (`densray methods` lists them)."),
]
Methods: TypeAlias = Annotated[
    str | None, typer.Option("--methods", metavar="NAMES", help="Methods to compare (comma-separated).")
]
Output: TypeAlias = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")]
FigureFile: TypeAlias = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the figure: .png, .svg, .pdf, .html.")
]
ReportFile: TypeAlias = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write one HTML page with tables and figures.")
]
Overwrite: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace the output file if it exists.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print only the result, as unrounded JSON.")]
Quiet: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Print only the result: no progress, no names of written files, no note on inputs and versions.",
    ),
]
Limit: TypeAlias = Annotated[
    int | None, typer.Option("--limit", min=1, metavar="N", help="Read only the first N words.")
]
Details: TypeAlias = Annotated[bool, typer.Option("--details", help="Also show the detailed tables.")]
Fresh: TypeAlias = Annotated[
    bool, typer.Option("--fresh", help="Start over; do not reuse the finished parts of an interrupted run.")
]
RandomState: TypeAlias = Annotated[
    int,
    typer.Option("--random-state", metavar="N", help="Seed of the random numbers."),
]
AnyCase: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--any-case",
        help="If the space has a word only in other capitalisations, use the first match. Here the default is to count "
        "the word as missing. (Most other commands use the match if there is exactly one.)",
    ),
]
Case: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--any-case/--match-case",
        help="How to look up a word that the space has only in other capitalisations. --any-case: use the first match. "
        "--match-case: count it as missing. Default: use the match if there is exactly one.",
        show_default=False,
    ),
]
AnySpace: TypeAlias = Annotated[
    bool, typer.Option("--any-space", help="Accept an axis that was fitted on another space.")
]
Standardize: TypeAlias = Annotated[
    bool, typer.Option("--standardize", help="Divide each vector dimension by its standard deviation before fitting.")
]
_GROUPS = (
    "Words to hold out together. forms: inflected forms of one word, and words with equal vectors. proposed: "
    "everything under forms; also word pairs, repeated words or texts, and texts that differ in one word and have "
    "different labels. none: each word alone, unless there is a group column. See docs/trust."
)


def _named_groups(name: str | None) -> str | None:
    """Return the name of groups, or None for "none"."""
    return None if name == "none" else name


WordGroups: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="CHOICE",
        help=_GROUPS,
        callback=_named_groups,
    ),
]
WordGroupsOrNone: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="CHOICE",
        help=f"{_GROUPS} Here the default is none, as in the DensRay paper.",
        callback=_named_groups,
    ),
]
Folds: TypeAlias = Annotated[int, typer.Option("--folds", min=2, metavar="N", help="Number of cross-validation folds.")]


@dataclass(frozen=True)
class LexiconOptions:
    """Source of labelled words: two word lists, or columns of a table."""

    panel: ClassVar[str] = "Words and labels"

    high: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS", help="Words of the high end: a file with one word per line, or a list such as good,nice."
        ),
    ] = None
    low: Annotated[str | None, typer.Option(metavar="WORDS", help="Words of the low end: a file or a list.")] = None
    label_names: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH",
            help="Names of the two ends, the low end first, also if --high is given before --low. If the label column "
            "holds names, they must be these two.",
        ),
    ] = None
    word_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Word column of the LEXICON file: its name, or its number (the first is 0)."
        ),
    ] = None
    label_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Label column of the LEXICON file: its name, or its number (the first is 0)."
        ),
    ] = None
    group_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Group column: rows with the same value are held out together."),
    ] = None
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line of LEXICON names the columns.")
    ] = None
    conflicts: Annotated[
        str,
        typer.Option(
            metavar="CHOICE",
            help="What to do if a word has conflicting labels. drop: leave it out. mean: use their mean. error: stop.",
        ),
    ] = "drop"

    @property
    def has_lists(self) -> bool:
        """Whether the words come from two lists."""
        return self.high is not None or self.low is not None

    @property
    def ends(self) -> tuple[str, str] | None:
        """Names of the low and the high end, if given."""
        if self.label_names is None:
            return None
        names = split_names(self.label_names)
        if len(names) != 2:
            from densray.errors import LexiconError

            raise LexiconError(
                f"--label-names {self.label_names} has {len(names)} names; the low and the high end have one each, "
                "separated by a comma: --label-names poor,rich."
            )
        return names[0], names[1]

    def load(self, lexicon: str | None) -> Lexicon:
        """Return the lexicon of that name or file, or that of the two lists."""
        if self.has_lists:
            return self._load_lists(lexicon)
        if lexicon is None:
            from densray.errors import LexiconError

            raise LexiconError("no LEXICON was given. Give a file or a data set, or two lists with --high and --low.")
        return self.load_file(lexicon)

    def load_file(self, lexicon: str) -> Lexicon:
        """Return the lexicon of that name or file."""
        from densray.datasets import load_lexicon

        return load_lexicon(
            lexicon,
            word_column=self.word_column,
            label_column=self.label_column,
            group_column=self.group_column,
            label_names=self.ends,
            header=self.header,
            conflicts=cast(Any, self.conflicts),
        )

    def _load_lists(self, lexicon: str | None) -> Lexicon:
        from densray.errors import LexiconError
        from densray.lexicon import Lexicon

        if self.high is None or self.low is None:
            given, absent = ("--high", "--low") if self.low is None else ("--low", "--high")
            raise LexiconError(f"{given} was given without {absent}. An axis needs words at both ends: give both.")
        if lexicon is not None:
            raise LexiconError(
                f"'{lexicon}' was given together with --high and --low. Give a LEXICON or the two lists."
            )
        columns = {"--word-column": self.word_column, "--label-column": self.label_column,
                   "--group-column": self.group_column, "--header": self.header}  # fmt: skip
        columns["--conflicts"] = None if self.conflicts == "drop" else self.conflicts
        for option, value in columns.items():
            if value is not None:
                raise LexiconError(f"{option} was given with --high and --low, which have no columns. Leave it out.")
        ends = {"--high": self.high, "--low": self.low}
        lists = [given if isfile(given) else words_of(given, option) for option, given in ends.items()]
        name = " – ".join(Path(each).stem if isinstance(each, str) else each[0] for each in lists)
        return Lexicon.from_word_lists(*lists, name=name)


@dataclass(frozen=True)
class LabelOptions(LexiconOptions):
    """Source of labelled words, or of the labels of a table of documents."""

    label_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Label column of the LEXICON (its name, or its number; the first is 0), or of the table if no LEXICON "
            "is given (its name).",
        ),
    ] = None


Encoder: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="MODEL",
        help="For a table: the model that embeds the words of the LEXICON or of --high and --low. Default: the encoder "
        "recorded in the table.",
    ),
]
Cluster: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS|local",
        help="For a table in several files: process them on the workers of a Dask cluster.",
    ),
]


@dataclass(frozen=True)
class TableOptions:
    """Columns of a table of documents, and the treatment of bad rows."""

    panel: ClassVar[str] = "Tables of documents"

    text_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Text column. Its texts are used as row names, and to suggest which rows to hold out together.",
        ),
    ] = None
    vector_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Vector column, if more than one column could contain vectors."),
    ] = None
    classes: Annotated[bool, typer.Option("--classes", help="Treat numbers in the label column as class names.")] = (
        False
    )
    bad_rows: Annotated[str, typer.Option(metavar="error|skip", help="How to handle rows without a usable vector.")] = (
        "error"
    )


@dataclass(frozen=True)
class RatingOptions:
    """Columns of a file of ratings."""

    panel: ClassVar[str] = "Ratings"

    item_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the rated items: its name, or its number (the first is 0)."),
    ] = None
    rating_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="Column of mean ratings, or one column per rater (comma-separated)."),
    ] = None
    error_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the standard errors of mean ratings.")
    ] = None
    rater_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the raters, if the file has one rating per line.")
    ] = None

    def load(self, path: str) -> Ratings:
        """Return the ratings of a file."""
        from densray.ratings import Ratings

        columns = split_names(self.rating_column)
        return Ratings.read(
            path,
            item_column=self.item_column,
            rating_column=columns[0] if len(columns) == 1 else columns or None,
            error_column=self.error_column,
            rater_column=self.rater_column,
        )

    def of_table(self, table: VectorTable, names: str | None) -> Ratings:
        """Return the ratings in a table of documents."""
        from densray.errors import TaskError
        from densray.ratings import Ratings

        columns = split_names(self.rating_column)
        if not columns:
            raise TaskError(f"no column of {table.name} is named as its ratings. Give --rating-column, or RATINGS.")
        return Ratings.from_table(
            table,
            columns[0] if len(columns) == 1 else columns,
            names=names,
            errors=self.error_column,
            raters=self.rater_column,
        )


@dataclass(frozen=True)
class AxisFlags:
    """How an axis is fitted and checked."""

    panel: ClassVar[str] = "How the axis is found and checked"

    any_case: Case = None
    normalize: Annotated[bool, typer.Option("--normalize/--no-normalize", help="Scale vectors to unit length.")] = True
    standardize: Standardize = False
    groups: WordGroups = "forms"
    clip_labels: Annotated[
        bool | None,
        typer.Option(
            "--clip-labels/--keep-labels",
            help="Set outlying numeric labels to the nearest label that is not outlying. Default: only with --method "
            "auto.",
            show_default=False,
        ),
    ] = None
    folds: Folds = 10
    n_resamples: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Number of refits for the standard errors of methods that have no formula for them. Default: 50.",
        ),
    ] = None
    random_state: RandomState = 0


@dataclass(frozen=True)
class Answer:
    """How the result is shown."""

    panel: ClassVar[str] = "Output"

    as_json: Json = False
    quiet: Quiet = False


@dataclass(frozen=True)
class SpaceAnswer:
    """How much of a space is read, and how the result is shown."""

    panel: ClassVar[str] = "Output"

    limit: Limit = None
    as_json: Json = False
    quiet: Quiet = False


@dataclass(frozen=True)
class LongAnswer:
    """How much of a space is read, whether to start over, and how the result is shown."""

    panel: ClassVar[str] = "Output"

    limit: Limit = None
    fresh: Fresh = False
    as_json: Json = False
    quiet: Quiet = False


def changed_options(group: Any, *, but: tuple[str, ...] = ()) -> list[str]:
    """Return the options of a group that differ from their defaults, except those in `but`."""
    changed = (field.name for field in dataclasses.fields(group) if getattr(group, field.name) != field.default)
    return [f"--{name.replace('_', '-')}" for name in changed if name not in but]


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose dataclass parameters are replaced by their fields, as options."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if dataclasses.is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _options_of(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        command(**given, **made)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _options_of(group: Any) -> list[inspect.Parameter]:
    """Return the fields of a group as options, listed under its own heading in the help."""
    hints = get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(field.name, kind, default=field.default, annotation=_under(group.panel, hints[field.name]))
        for field in dataclasses.fields(group)
    ]


def _under(panel: str, hint: Any) -> Any:
    """Return the type of an option with the heading it is listed under."""
    value, option = get_args(hint)
    option = copy.copy(option)
    option.rich_help_panel = panel
    return Annotated[value, option]


def split_names(text: str | None) -> tuple[str, ...]:
    """Return the names in a comma-separated list."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def split_numbers(text: str | None) -> tuple[int, ...]:
    """Return the integers in a comma-separated list."""
    from densray.errors import TaskError

    try:
        return tuple(int(name) for name in split_names(text))
    except ValueError:
        raise TaskError(f"'{text}' is not a comma-separated list of integers such as 64,256,1024.") from None


def split_decimals(text: str | None) -> tuple[float, ...]:
    """Return the numbers in a comma-separated list."""
    from densray.errors import TaskError

    try:
        return tuple(float(name) for name in split_names(text))
    except ValueError:
        raise TaskError(f"'{text}' is not a comma-separated list of numbers such as 0.5,0.75,1.") from None


def words_of(given: str, option: str) -> list[str]:
    """Return the words given to an option: those of a file, one per line, or a list."""
    from densray.errors import LexiconError
    from densray.lexicon import read_words, split_words

    if isfile(given):
        return read_words(given)
    if Path(given).suffix.lower() in _LIST_ENDINGS or "/" in given:
        raise LexiconError(f"{option} {given}: there is no such file. Give a file of words, or a list: good,nice.")
    words = split_words(given)
    if not words:
        raise LexiconError(f"{option} contains no word. Give a file with one word per line, or a list: good,nice.")
    return words


_LIST_ENDINGS = (".txt", ".tsv", ".csv", ".list", ".json", ".xlsx")
