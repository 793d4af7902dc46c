"""The arguments and options that commands share; an option is named like the parameter of the library that it sets."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast, get_type_hints

import typer

if TYPE_CHECKING:
    from densray.lexicon import Lexicon

Space: TypeAlias = Annotated[str, typer.Argument(metavar="SPACE", help="A file of vectors, or the name of a data set.")]
LexiconName: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="LEXICON", help="A file of words and labels, or the name of a data set; or give --high and --low."
    ),
]
Method: TypeAlias = Annotated[
    str, typer.Option("--method", "-m", metavar="NAME", help="How to find the axis; densray methods lists them.")
]
Methods: TypeAlias = Annotated[
    str | None, typer.Option("--methods", metavar="NAMES", help="Methods to compare, separated by commas.")
]
Output: TypeAlias = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")]
Figure: TypeAlias = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the figure: .png, .svg, .pdf, .html.")
]
ReportFile: TypeAlias = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write one HTML page with tables and figures.")
]
Overwrite: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace the output file where it exists.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the answer as JSON, unrounded, and nothing else.")]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print the answer alone: no progress, no notes, no provenance.")
]
Limit: TypeAlias = Annotated[
    int | None, typer.Option("--limit", min=1, metavar="N", help="Read the first N words only.")
]
Details: TypeAlias = Annotated[bool, typer.Option("--details", help="Show the folded tables as well.")]
Fresh: TypeAlias = Annotated[
    bool, typer.Option("--fresh", help="Compute everything again, also what an interrupted run has finished.")
]
RandomState: TypeAlias = Annotated[
    int,
    typer.Option("--random-state", metavar="N", help="Seed of all that is drawn at random."),
]
AnyCase: TypeAlias = Annotated[
    bool, typer.Option("--any-case", help="A word the space lacks takes the first that differs in case only.")
]
AnySpace: TypeAlias = Annotated[bool, typer.Option("--any-space", help="Use an axis that was fitted on another space.")]
Scale: TypeAlias = Annotated[
    str | None,
    typer.Option("--scale", metavar="columns", help="Find axes in columns divided by their standard deviations."),
]
Groups: TypeAlias = Annotated[
    str | None,
    typer.Option("--groups", metavar="proposed", help="Leave out pairs, repeated words and twin texts together."),
]
Folds: TypeAlias = Annotated[int, typer.Option("--folds", min=2, metavar="N", help="Folds of the cross-validation.")]


@dataclass(frozen=True)
class LexiconOptions:
    """Where labelled words come from: two lists of words, or the columns of a table."""

    high: Annotated[
        str | None,
        typer.Option(metavar="WORDS", help="Words of the high end: a file, one per line, or words between commas."),
    ] = None
    low: Annotated[str | None, typer.Option(metavar="WORDS", help="Words of the low end, likewise.")] = None
    label_names: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="What the ends are called; a LEXICON may use them as labels.")
    ] = None
    word_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Where the words of a LEXICON file are: a name, or from 0.")
    ] = None
    label_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Where the labels are: a name of the first line, or from 0.")
    ] = None
    group_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Where the groups are, if any: words of one group are left out together."),
    ] = None
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line of LEXICON names its columns.")
    ] = None
    conflicts: Annotated[
        str, typer.Option(metavar="drop|mean|error", help="What becomes of a word whose labels differ.")
    ] = "drop"

    @property
    def has_lists(self) -> bool:
        """Whether the words come from two lists."""
        return self.high is not None or self.low is not None

    @property
    def ends(self) -> tuple[str, str] | None:
        """What the low and the high end are called, where that was said."""
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
            raise LexiconError(f"'{lexicon}' was given beside --high and --low. Give a LEXICON or the two lists.")
        columns = {"--word-column": self.word_column, "--label-column": self.label_column,
                   "--group-column": self.group_column, "--header": self.header}  # fmt: skip
        for option, value in columns.items():
            if value is not None:
                raise LexiconError(f"{option} was given beside --high and --low, which have no columns. Leave it out.")
        lists = self.high, self.low
        name = " – ".join(Path(each).stem if isfile(each) else each.split(",")[0].strip() for each in lists)
        return Lexicon.from_word_lists(words_of(self.high, "--high"), words_of(self.low, "--low"), name=name)


@dataclass(frozen=True)
class AxisOptions:
    """How an axis is found and how far it is looked at."""

    any_case: AnyCase = False
    normalize: Annotated[
        bool, typer.Option("--normalize/--no-normalize", help="Take vectors at unit length, or as they are.")
    ] = True
    scale: Scale = None
    groups: Groups = None
    folds: Folds = 10
    n_resamples: Annotated[
        int | None,
        typer.Option(min=2, metavar="N", help="Fits without some seeds, where errors take fits; 50."),
    ] = None
    random_state: RandomState = 0


@dataclass(frozen=True)
class Answer:
    """How the answer is shown."""

    as_json: Json = False
    quiet: Quiet = False


@dataclass(frozen=True)
class SpaceAnswer:
    """How much of a space is read, and how the answer is shown."""

    limit: Limit = None
    as_json: Json = False
    quiet: Quiet = False


@dataclass(frozen=True)
class LongAnswer:
    """How much of a space is read, what is computed again, and how the answer is shown."""

    limit: Limit = None
    fresh: Fresh = False
    as_json: Json = False
    quiet: Quiet = False


def changed_options(group: Any, *, but: tuple[str, ...] = ()) -> list[str]:
    """Return the options of a group that differ from their defaults, as they are written, but for some fields."""
    changed = (field.name for field in dataclasses.fields(group) if getattr(group, field.name) != field.default)
    return [f"--{name.replace('_', '-')}" for name in changed if name not in but]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes, in place of each parameter that is a dataclass, its fields as options."""
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
    hints = get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(field.name, kind, default=field.default, annotation=hints[field.name])
        for field in dataclasses.fields(group)
    ]


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


def split_decimals(text: str | None) -> tuple[float, ...]:
    """Return the numbers in a list separated by commas."""
    from densray.errors import TaskError

    try:
        return tuple(float(name) for name in split_names(text))
    except ValueError:
        raise TaskError(f"'{text}' is no list of numbers such as 0.5,0.75,1.") from None


def words_of(given: str, option: str) -> list[str]:
    """Return words that were given after an option: those of a file, one per line, or separated by commas."""
    from densray.errors import LexiconError

    if isfile(given):
        from densray._text_files import read_words

        return read_words(given)
    if Path(given).suffix.lower() in _LIST_ENDINGS or "/" in given:
        raise LexiconError(f"{option} {given}: there is no such file. Name a file of words, or words between commas.")
    words = list(split_names(given))
    if not words:
        raise LexiconError(f"{option} names no word. Name a file of words, one per line, or words between commas.")
    return words


_LIST_ENDINGS = (".txt", ".tsv", ".csv", ".list", ".json")
