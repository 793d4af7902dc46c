"""The errors that densray raises on bad input: each names the input, the requirement and the remedy.

All of them are :class:`DensRayError`, which is a ``ValueError``: one ``except`` catches the family, and code
written for scikit-learn keeps working.

A message names an argument of a function with an :class:`Argument`, so that each program writes it in its own terms.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from numbers import Number
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from sklearn.exceptions import NotFittedError

__all__ = [
    "Advice",
    "AnalogyError",
    "Argument",
    "ColumnsNotWrittenWarning",
    "CoverageError",
    "CoverageWarning",
    "DataError",
    "DensRayError",
    "DeviceMemoryError",
    "EncodingDetectedWarning",
    "FormatError",
    "HeaderDetectedWarning",
    "LabelError",
    "LexiconError",
    "Message",
    "MissingCodeWarning",
    "MissingExtraError",
    "NotAdditiveError",
    "NotConvergedWarning",
    "OutputError",
    "PersistenceError",
    "RaterColumnWarning",
    "RotationNotFittedError",
    "RowError",
    "SignalWarning",
    "SimilarNamesWarning",
    "SpaceError",
    "TableError",
    "TaskError",
    "TooFewRowsError",
    "UnknownWordError",
    "VectorError",
    "VectorTypeError",
    "ZeroVectorWarning",
    "how_to_install",
    "level_of_caller",
    "load_extra",
    "name_some",
    "one_line",
    "shorten",
    "suggest",
]


class _NoValue:
    """Placeholder if a message names an argument without a value."""


def level_of_caller() -> int:
    """Return the ``stacklevel`` with which the calling function warns of the line that called the library."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    return level


@dataclass(frozen=True)
class Argument:
    """An argument of a function, as part of a message.

    The command line writes the name of an option in its place, and the explorer the name of a control.

    Parameters
    ----------
    name : str
        Its name in Python.
    value : object, optional
        Its value. Without a value, the message names only the argument. An ellipsis stands for a value to choose.

    >>> print(Argument("folds", 1), Argument("encoding", "latin-1"), Argument("words_file", ...), Argument("n_axes"))
    folds=1 encoding='latin-1' words_file=… n_axes
    """

    name: str
    value: object = _NoValue

    @property
    def has_value(self) -> bool:
        """Whether the value is known."""
        return self.value is not _NoValue and self.value is not ...

    def __str__(self) -> str:
        """Return the argument as Python writes it."""
        if self.value is _NoValue:
            return self.name
        if self.value is ...:
            return f"{self.name}=…"
        return f"{self.name}={self.value if isinstance(self.value, Number) else shorten(self.value)}"


class Advice:
    """A sentence of a message that says which arguments to use.

    The explorer leaves it out if one of the arguments has no control. It begins with the space that separates it
    from the sentence before.

    Parameters
    ----------
    *parts : str or Argument
    python : str, optional
        The sentence for Python, where another function is the way out and not an argument.

    >>> print("3 of 40 words are in the space.", Advice(" Use ", Argument("any_case", True), "."), sep="")
    3 of 40 words are in the space. Use any_case=True.
    >>> print(Advice(" Give them as ", Argument("high", ...), ".", python=" Use Lexicon.from_word_lists."))
     Use Lexicon.from_word_lists.
    """

    def __init__(self, *parts: Part, python: str = "") -> None:
        self.parts = parts
        self._python = python

    def __str__(self) -> str:
        """Return the sentence, with arguments as Python writes them."""
        return self._python or "".join(map(str, self.parts))


#: A part of a message.
Part: TypeAlias = str | Argument


class Message:
    """The text of an error or a warning, made of parts: strings, `Argument` and `Advice`.

    >>> error = TaskError(Argument("folds", 1), " is given; at least 2 are needed.")
    >>> print(error)
    folds=1 is given; at least 2 are needed.
    >>> print(error.written(lambda argument: f"--{argument.name} {argument.value}"))
    --folds 1 is given; at least 2 are needed.

    A message that repeats another one takes over its parts: ``TaskError("layer 3: ", *error.args)``.
    """

    args: tuple[Any, ...]

    def __str__(self) -> str:
        """Return the text, with arguments as Python writes them."""
        return "".join(map(str, self.args))

    def written(self, argument: Callable[[Argument], str], *, offers: Callable[[Argument], bool] | None = None) -> str:
        """Return the text; `argument` writes each argument.

        Parameters
        ----------
        argument : callable
            Returns how to write an argument.
        offers : callable, optional
            Returns whether the reader can set an argument. Advice that names another one is left out. Default: no
            advice is left out.
        """

        def write(part: object) -> str:
            if isinstance(part, Argument):
                return argument(part)
            if isinstance(part, Advice):
                named = [each for each in part.parts if isinstance(each, Argument)]
                return "".join(map(write, part.parts)) if offers is None or all(map(offers, named)) else ""
            return str(part)

        return "".join(map(write, self.args))


class DensRayError(Message, ValueError):
    """Base class of every error that densray raises on bad input."""


class VectorError(DensRayError):
    """Vectors that cannot be used: NaN, infinite, zero, of the wrong width or too few."""


class DeviceMemoryError(VectorError):
    """A device has too little memory, even for a few rows at a time."""


class VectorTypeError(VectorError, TypeError):
    """Vectors of a type that cannot be used, such as sparse ones; also a ``TypeError``, as scikit-learn raises."""


class LabelError(DensRayError):
    """Labels that cannot be used: one class, constant scores, too many classes, or not one label per row."""


if TYPE_CHECKING:

    class RotationNotFittedError(DensRayError, NotFittedError):
        """A rotation was used before ``fit``."""


def __getattr__(name: str) -> Any:
    """Create the one class with a scikit-learn base on first use: reading lists and files needs no scikit-learn."""
    if name == "RotationNotFittedError":
        return _not_fitted_error()
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


@cache
def _not_fitted_error() -> type[DensRayError]:
    from sklearn.exceptions import NotFittedError

    documented = {"__doc__": "A rotation was used before ``fit``.", "__module__": __name__}
    return type("RotationNotFittedError", (DensRayError, NotFittedError), documented)


class NotAdditiveError(DensRayError, AttributeError):
    """An update or merge of an estimator whose statistics do not add up over blocks."""


class PersistenceError(DensRayError):
    """A saved rotation that cannot be trusted: wrong version, shape or digest, or a matrix that is not orthonormal."""


class SpaceError(DensRayError):
    """A word space that cannot be built or used: duplicate words, unknown words, a wrong shape."""


class UnknownWordError(SpaceError, KeyError):
    """A word that is not in the space; also a ``KeyError``, as for any mapping."""


class FormatError(DensRayError):
    """An embedding file that cannot be read or written; the message has the file, the line or byte, and the text."""


class TableError(DensRayError):
    """A table that cannot be used: no column of vectors or several, an unknown column, a damaged shard."""


class RowError(TableError, VectorError):
    """A row of a table whose vector cannot be used."""


class LexiconError(DensRayError):
    """A lexicon that cannot be read, or that has no words in common with the space."""


class AnalogyError(DensRayError):
    """An analogy set that cannot be read, or has no usable pair."""


class DataError(DensRayError):
    """A data set that is unknown, not on this machine, or does not match its checksum."""


class MissingExtraError(DensRayError, ImportError):
    """An optional library that is not installed; the message contains the command to install it."""


class OutputError(DensRayError):
    """A file that cannot be written: the folder does not exist, or the file already exists."""


class TaskError(DensRayError):
    """A task that cannot be run on the given input."""


class TooFewRowsError(TaskError):
    """Too few rows of a class, or too few groups, to hold some of them out."""


class CoverageError(TaskError):
    """Too few words of a list are in the space; the message names the first missing words."""


class ColumnsNotWrittenWarning(Message, UserWarning):
    """A file of words has other columns, which the new file does not have."""


class CoverageWarning(Message, UserWarning):
    """Words of a list are not in the space."""


class EncodingDetectedWarning(Message, UserWarning):
    """A text file was not UTF-8 and was read in a detected encoding."""


class HeaderDetectedWarning(Message, UserWarning):
    """The first line of a lexicon was read as the names of its columns, or seems to be a heading of a word list."""


class MissingCodeWarning(Message, UserWarning):
    """A number such as -99 that seems to mark missing answers was read as a score."""


class NotConvergedWarning(Message, RuntimeWarning):
    """A solver reached its maximum number of steps: its axis is approximate."""


class RaterColumnWarning(Message, UserWarning):
    """Items are rated several times, and a column that was not used seems to name the raters."""


class SignalWarning(Message, RuntimeWarning):
    """More axes were requested than carry signal; the others do not separate the labels."""


class SimilarNamesWarning(Message, UserWarning):
    """Names of classes or groups differ only in capitals."""


class ZeroVectorWarning(Message, RuntimeWarning):
    """Some vectors are all zeros. They have no direction, and count as points at the origin."""


def load_extra(module: str, need: str, *, extra: str | None = None) -> Any:
    """Return an optional module; if it is missing, the error names the command to install it.

    Parameters
    ----------
    module : str
        Its name, such as ``"dask.array"``.
    need : str
        The feature that needs it, as the beginning of a sentence: ``"Dask collections need"``.
    extra : str, optional
        The extra of densray that installs it (default: it is installed by its own name).
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0].replace("_", "-")
        remedy = f"Run: pip install {package}" if extra is None else how_to_install(extra)
        raise MissingExtraError(f"{need} {package}, which is not installed. {remedy}") from error


def how_to_install(extra: str) -> str:
    """Return the sentence that says how to install an extra: from a checkout, since densray is not on an index yet.

    >>> how_to_install("explore").partition(" (once")[0]
    'Run python -m pip install ".[explore]" in your checkout of densray'
    """
    return (
        f'Run python -m pip install ".[{extra}]" in your checkout of densray '
        f'(once it is published: pip install "densray[{extra}]").'
    )


_LONGEST = 60  # characters shown of an item


def name_some(items: Iterable[object], *, most: int = 5) -> str:
    """Return the first few items quoted, and how many more there are.

    >>> name_some(["Good", "Bad"])
    "'Good', 'Bad'"
    >>> name_some(range(7), most=2)
    "'0', '1' and 5 more"

    Long items are cut.
    """
    listed = [f"'{text}'" if len(text) <= _LONGEST else f"'{text[: _LONGEST - 1]}…'" for text in map(str, items)]
    more = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {more} more" if more > 0 else "")


def first_missing(items: Iterable[object]) -> str:
    """Return the first missing items in parentheses, to follow a count; empty if none is missing.

    >>> first_missing(["Good", "Bad"]), first_missing([])
    (" (first missing: 'Good', 'Bad')", '')
    """
    named = name_some(items)
    return f" (first missing: {named})" if named else ""


def shorten(value: object, *, width: int = 60) -> str:
    r"""Return text or bytes quoted, or the first line of an error unquoted, cut to `width` characters.

    >>> shorten("good")
    "'good'"
    >>> shorten(b"\0" * 100, width=20)
    "b'\\x00\\x00\\x00\\x00…'"
    """
    if isinstance(value, BaseException):
        text = str(value).split("\n", maxsplit=1)[0]
        return text if len(text) <= width else text[: width - 1] + "…"
    text = repr(value)
    return text if len(text) <= width else text[: width - 2] + "…" + text[-1]


def one_line(text: str, *, width: int = 80) -> str:
    r"""Return a text without line ends, cut to `width` characters.

    >>> one_line("first\nsecond"), one_line("a long document", width=8)
    ('first second', 'a long …')
    """
    joined = " ".join(text.split())
    return joined if len(joined) <= width else joined[: width - 1] + "…"


def refuse_text(items: object, name: str) -> None:
    """Raise if one text is given where a list is needed: its letters would be taken for the items.

    >>> refuse_text("good", "words")
    Traceback (most recent call last):
    densray.errors.TaskError: words: 'good' is given; a list is needed. Write ['good'] for one item.
    """
    if isinstance(items, str | bytes):
        text = shorten(items)
        raise TaskError(f"{name}: {text} is given; a list is needed. Write [{text}] for one item.")


def check_flag(value: object, name: str) -> None:
    """Raise if a switch is neither true nor false: a text such as "no" would count as true.

    >>> check_flag("no", "normalize")
    Traceback (most recent call last):
    densray.errors.TaskError: normalize='no' is given; True or False is needed.
    """
    if value is not None and type(value).__name__ not in ("bool", "bool_"):  # of Python and of NumPy
        raise TaskError(Argument(name, value), " is given; True or False is needed.")


def checked_pairs(pairs: Iterable[Any], name: str) -> list[tuple[str, str]]:
    """Return pairs of words as a list; anything else raises an error that names it.

    >>> checked_pairs(("he", "she"), "equalize")
    Traceback (most recent call last):
    densray.errors.TaskError: equalize: 'he' is not a pair of words. Give a list of pairs, as in [('she', 'he')].
    """
    refuse_text(pairs, name)
    found = []
    for pair in pairs:
        words = as_pair(pair)
        if words is None:
            raise TaskError(
                f"{name}: {shorten(pair)} is not a pair of words. Give a list of pairs, as in [('she', 'he')]."
            )
        found.append(words)
    return found


def as_pair(value: Any) -> tuple[str, str] | None:
    """Return two words as a pair, or None for anything else, such as a blank word.

    >>> as_pair(["she", "he"]), as_pair(["she", " "]), as_pair("ab")
    (('she', 'he'), None, None)
    """
    words = tuple(value) if isinstance(value, list | tuple) else ()
    if len(words) != 2 or not all(isinstance(word, str) and word.strip() for word in words):
        return None
    return words[0], words[1]


def suggest(given: str, known: Iterable[str]) -> str:
    """Return a hint with the most similar known name, then all known names.

    >>> suggest("densrai", ["densray", "svm"])
    "Did you mean 'densray'? Known: densray, svm."
    """
    from difflib import get_close_matches

    names = list(known)
    spellings = {name.lower(): name for name in names}
    near = get_close_matches(given, names, n=1, cutoff=0.6)
    near = near or [spellings[name] for name in get_close_matches(given.lower(), spellings, n=1, cutoff=0.6)]
    hint = f"Did you mean '{near[0]}'? " if near else ""
    return f"{hint}Known: {', '.join(names)}."
